"""Comparison of stored rows with rows that were computed again, each column to the tolerance that its study declares.

Processors round differently, and some measurements amplify it: the end of a long training may differ by tens of per
cent between two machines, while everything before agrees to eight digits. So a study declares for each column what
holds on every processor:

- a relative tolerance, or a pair ``(relative, absolute)`` for a column whose zeros are round-off;
- ``STATISTICAL``: a number that is computed again is another draw from the same distribution. Such columns are compared
  as samples. The stored and the fresh rows of a cell are exchangeable: to exchange them turns the signs of all their
  differences, and no such turn is likelier than another. So the largest lean of a column, its sum of differences over
  the root of their sum of squares, is compared with the largest lean under other turns of the cells. An alarm is false
  with probability ``ALARM`` at most, for any distribution and any dependence of the columns on each other. A factor
  common to all cells can be told from ``FEWEST`` cells on, and ``ENOUGH`` tell it in practice; with fewer, only values
  far from all stored ones are.

A cell may have another number of rows where it is computed again if its study declares all of its columns statistical:
then their means over its rows are compared.

Source: R. A. Fisher, The Design of Experiments (1935) 21, for the turns of signs.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from companion.lab.store import Cell
from companion.lab.study import STATISTICAL, Rows, Study

ALARM = 5e-4  # probability of a false alarm, per comparison of a study
FEWEST = math.ceil(1 - math.log2(ALARM))  # cells: with fewer, chance turns all differences one way more often than that
ENOUGH = FEWEST + 4  # so that a column still stands out where it varies, and beside others that do
FACTOR = 1.5  # which is to be noticed
TURNS = 9999  # drawn of the signs, where there are more
LEAST = 0.01  # mean relative difference below which two samples are the same for our ends
GROUP = 12  # stored realisations of a setting from which on a single value can be far from them
FAR = 5.0  # times their range beyond it
NARROW = 0.1  # relative width that a range has at least
NUMBER, BELOW = "a number", "a number below zero"
MEAN = -1  # in place of a row: the mean over a cell's rows
Place = tuple[int, str, str]  # row of a cell, column, place in the lists there
RowsByCell = Mapping[Cell, Rows]
Sample = dict[tuple[str, Place], list[float]]


def differences(
    study: Study, stored: RowsByCell, recomputed: RowsByCell, *, repeated: Collection[Cell] = (), forged: str = ""
) -> list[str]:
    """The disagreements with the stored rows, one line each; empty if there are none.

    Columns that begin with ``seconds`` are not compared. A missing entry, ``None`` and NaN are the same.

    Args:
        study: whose rows they are; it declares the tolerances.
        stored: the rows of all stored cells.
        recomputed: the rows of some of them, computed again.
        repeated: cells computed in the same batches on the same kind of processor. Their numbers repeat, so that
            statistical columns have the study's ``rtol``, too.
        forged: a column that is compared as if its numbers were stored times ``FACTOR``.
    """
    lines: list[str] = []
    leanings: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * len(recomputed))
    kinds: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    sample = _sample(study, stored, {cell.key(seed=False) for cell in recomputed})
    for number, (cell, rows) in enumerate(recomputed.items()):
        before, after = _flat(stored[cell]), _flat(rows)
        before |= {place: FACTOR * before[place] for place in _sizes(before) if place[1] == forged}
        if len(stored[cell]) != len(rows):
            measured = {column for row in stored[cell] + rows for column in row} - {*cell.setting, "seed"}
            if cell in repeated or any(study.tolerance(column) != STATISTICAL for column in measured):
                lines.append(f"{cell.description}: {len(stored[cell])} rows are stored, {len(rows)} computed")
                continue
            before, after = _means(study, before), _means(study, after)
        pairs = {place: (before.get(place, ""), after.get(place, "")) for place in sorted(before.keys() | after.keys())}
        drawn = {p: pair for p, pair in pairs.items() if study.tolerance(p[1]) == STATISTICAL and cell not in repeated}
        lines += _unlike(study, cell, {place: pair for place, pair in pairs.items() if place not in drawn})
        parts: dict[tuple[str, str], list[float]] = defaultdict(list)
        for place, pair in drawn.items():
            column = place[1]
            if _is_far(pair[1], sample.get((cell.key(seed=False), place), [])):
                complaint = "is far from all that is stored at this setting"
                lines.append(f"{cell.description}: {column} = {_in_words(pair[1])} {complaint}")
            for side, value in zip(kinds[column], pair):
                side.add(value if isinstance(value, str) else NUMBER)
            for kind, share in _parts(*pair, _within(study, column)):
                parts[column, kind].append(share)
        for name, shares in parts.items():
            leanings[name][number] = sum(shares) / len(shares)
    for column, (there, here) in sorted(kinds.items()):
        if not here & there and not here & _kinds(stored, column):
            lines.append(f"{column}: stored are {_list(there)}, computed {_list(here)}")
    return lines + _shifts(leanings)


def _kinds(stored: RowsByCell, column: str) -> set[str]:
    """The words that a column has in any stored row, numbers as one of them; empty places count."""
    found = set()
    for rows in stored.values():
        flat = _flat(rows)
        found |= {value if isinstance(value, str) else NUMBER for (_, name, _), value in flat.items() if name == column}
        found |= {""} if len({row for row, name, _ in flat if name == column}) < len(rows) else set()
    return found


def _unlike(study: Study, cell: Cell, pairs: Mapping[Place, tuple[Any, Any]]) -> list[str]:
    """The columns in which two values are not within the tolerance, with the first such pair."""
    first_pair = {}
    for (row, column, _), (stored, computed) in pairs.items():
        if not _same(stored, computed, _within(study, column)):
            words = f"{column} is {_in_words(stored)} in row {row + 1}, computed {_in_words(computed)}"
            first_pair.setdefault(column, words)
    return [f"{cell.description}: {line}" for line in first_pair.values()]


def _means(study: Study, values: Mapping[Place, Any]) -> dict[Place, Any]:
    """The mean of each statistical column's numbers over a cell's rows and lists."""
    numbers_of: dict[str, list[float]] = defaultdict(list)
    for (_, column, _), value in values.items():
        if study.tolerance(column) == STATISTICAL and not isinstance(value, str):
            numbers_of[column].append(value)
    return {(MEAN, column, ""): sum(numbers) / len(numbers) for column, numbers in numbers_of.items()}


def telling(study: Study, rows: Rows) -> set[str]:
    """The statistical columns in which a cell shows a factor: those that hold a number other than zero."""
    return {column for _, column, _ in _sizes(_flat(rows)) if study.tolerance(column) == STATISTICAL}


def _sizes(values: Mapping[Place, Any]) -> list[Place]:
    """The places of numbers other than zero, the lengths of lists left out."""
    return [at for at, value in values.items() if value and not (isinstance(value, str) or at[2].endswith("#"))]


def _shifts(leanings: Mapping[tuple[str, str], list[float]]) -> list[str]:
    """The columns whose differences have mostly one sign, or words that became rarer or more frequent."""
    names = [name for name, values in sorted(leanings.items()) if any(values)]
    if not names:
        return []
    differences = np.array([leanings[name] for name in names]).T  # (cells, columns)
    lines = []
    for (column, kind), mean, chance in zip(names, differences.mean(0), chances(differences)):
        if chance <= ALARM and abs(mean) > LEAST:
            how = "of what is stored" if kind in (NUMBER, BELOW) else f"more of {kind!r}"
            lines.append(f"{column}: over {len(differences)} cells the mean difference is {mean:+.0%} {how}")
    return lines


def chances(differences: np.ndarray) -> np.ndarray:
    """The probability that a column would lean so far, or another of them, if the signs of whole cells were chance.

    All turns of the signs are taken where there are no more than ``TURNS``, else so many at random.

    Args:
        differences: ``(cells, columns)``, no column all zero.

    Returns:
        ``(columns,)``.
    """
    cells = len(differences)
    scaled = differences / np.sqrt((differences**2).sum(0))
    leans = abs(scaled.sum(0)) * (1 - 1e-9)  # the same sum in another order rounds differently
    if 2**cells <= TURNS:
        turns = 1 - 2 * (np.arange(2**cells)[:, None] >> np.arange(cells) & 1)
        return (_leans(turns, scaled)[:, None] >= leans).mean(0)
    rng = np.random.default_rng(0)
    count = np.ones_like(leans)  # the turn that was found is one of them
    for _ in range(99):  # a part of them at a time, for the memory
        turns = rng.choice([-1.0, 1.0], (TURNS // 99, cells))
        count += (_leans(turns, scaled)[:, None] >= leans).sum(0)
    return count / (TURNS + 1)


def _leans(turns: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """The largest lean of a column under each turn."""
    return abs(turns @ scaled).max(1)


def _parts(stored: Any, computed: Any, within: tuple[float, float]) -> Iterator[tuple[str, float]]:
    """The difference of a pair: of two numbers over their mean size; -1 for a word lost, 1 for a word gained.

    Two numbers below zero differ by their sizes, apart from others: a factor turns all differences one way.
    """
    if isinstance(stored, str) or isinstance(computed, str):
        if stored != computed:
            yield (stored if isinstance(stored, str) else NUMBER + " there"), -1.0
            yield (computed if isinstance(computed, str) else NUMBER + " there"), 1.0
    else:
        kind = BELOW if stored < 0 and computed < 0 else NUMBER
        change = computed - stored if kind == NUMBER else stored - computed
        yield kind, 0.0 if _same(stored, computed, within) else 2 * change / (abs(stored) + abs(computed))


def _is_far(value: Any, stored: list[float]) -> bool:
    """Whether a number lies more than ``FAR`` times the stored ones' range outside it."""
    if isinstance(value, str) or len(stored) < GROUP:
        return False
    low, high = min(stored), max(stored)
    if low > 0 and value > 0:  # sizes that vary by factors
        low, high, value = math.log(low), math.log(high), math.log(value)
        width = max(high - low, NARROW)
    else:
        width = max(high - low, NARROW * max(abs(low), abs(high)))
    return width > 0 and not low - FAR * width <= value <= high + FAR * width


def _sample(study: Study, stored: RowsByCell, settings: Collection[str]) -> Sample:
    """The stored numbers of statistical columns at some settings, at each place, over all realisations."""
    numbers: Sample = defaultdict(list)
    if STATISTICAL in study.columns.values():
        for cell, rows in stored.items():
            key = cell.key(seed=False)
            if key not in settings:
                continue
            for place, value in _flat(rows).items():
                if study.tolerance(place[1]) == STATISTICAL and not isinstance(value, str):
                    numbers[key, place].append(value)
    return numbers


def _within(study: Study, column: str) -> tuple[float, float]:
    """Relative and absolute tolerance of a column; of a statistical one the study's."""
    tolerance = study.tolerance(column)
    if tolerance == STATISTICAL:
        tolerance = study.rtol
    return tolerance if isinstance(tolerance, tuple) else (tolerance, 0.0)


def _same(stored: Any, computed: Any, within: tuple[float, float]) -> bool:
    if isinstance(stored, str) or isinstance(computed, str) or (isinstance(stored, int) and isinstance(computed, int)):
        return stored == computed
    return math.isclose(stored, computed, rel_tol=within[0], abs_tol=max(within[1], 1e-300))


def _flat(rows: Rows) -> dict[Place, Any]:
    """All numbers and words of a cell by their places; NaN counts as missing, infinity as a word."""
    by_place: dict[Place, Any] = {}
    for number, row in enumerate(rows):
        for column, value in row.items():
            if not column.startswith("seconds"):
                for path, entry in _entries(value, ""):
                    by_place[number, column, path] = entry
    return {place: value for place, value in by_place.items() if value != ""}


def _entries(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        yield f"{path}#", len(value)
        for i, entry in enumerate(value):
            yield from _entries(entry, f"{path}.{i}")
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield from _entries(entry, f"{path}.{name}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, "" if math.isnan(value) else str(value)
    else:
        yield path, "" if value is None else value


def _in_words(value: Any) -> str:
    if value == "":
        return "empty"
    return repr(value) if isinstance(value, str) else f"{value:.9g}"


def _list(words: set[str]) -> str:
    return ", ".join(repr(word) for word in sorted(words)[:3]) + (", …" if len(words) > 3 else "")
