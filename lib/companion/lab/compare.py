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

ALARM = 5e-4  # probability of a false alarm, a comparison of a study
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
Held = Mapping[Cell, Rows]
Sample = dict[tuple[str, Place], list[float]]


def differences(
    study: Study, stored: Held, fresh: Held, *, repeated: Collection[Cell] = (), forged: str = ""
) -> list[str]:
    """The disagreements with the stored rows, one line each; empty if there are none.

    Columns that begin with ``seconds`` are not compared. A missing entry, ``None`` and NaN are the same.

    Args:
        study: whose rows they are; it declares the tolerances.
        stored: the rows of all stored cells.
        fresh: the rows of some of them, computed again.
        repeated: cells computed in the same batches on the same kind of processor. Their numbers repeat, so that
            statistical columns have the study's ``rtol``, too.
        forged: a column that is compared as if its numbers were stored times ``FACTOR``.
    """
    said: list[str] = []
    leanings: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * len(fresh))
    kinds: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    sample = _sample(study, stored, {cell.key(seed=False) for cell in fresh})
    for number, (cell, rows) in enumerate(fresh.items()):
        there, here = _flat(stored[cell]), _flat(rows)
        there |= {place: FACTOR * there[place] for place in _sizes(there) if place[1] == forged}
        if len(stored[cell]) != len(rows):
            if cell in repeated or not _all_statistical(study, cell, stored[cell] + rows):
                said.append(f"{cell.description}: {len(stored[cell])} rows are stored, {len(rows)} computed")
                continue
            there, here = _means(study, there), _means(study, here)
        pairs = {place: (there.get(place, ""), here.get(place, "")) for place in sorted(there.keys() | here.keys())}
        drawn = {p: pair for p, pair in pairs.items() if study.tolerance(p[1]) == STATISTICAL and cell not in repeated}
        said += _unlike(study, cell, {place: pair for place, pair in pairs.items() if place not in drawn})
        parts: dict[tuple[str, str], list[float]] = defaultdict(list)
        for place, pair in drawn.items():
            column = place[1]
            if _is_far(pair[1], sample.get((cell.key(seed=False), place), [])):
                far = "is far from all that is stored at this setting"
                said.append(f"{cell.description}: {column} = {_shown(pair[1])} {far}")
            for side, value in zip(kinds[column], pair):
                side.add(value if isinstance(value, str) else NUMBER)
            for what, part in _parts(*pair, _within(study, column)):
                parts[column, what].append(part)
        for name, found in parts.items():
            leanings[name][number] = sum(found) / len(found)
    said += [f"{c}: stored are {_list(a)}, computed {_list(b)}" for c, (a, b) in sorted(kinds.items()) if not a & b]
    return said + _shifts(leanings)


def _unlike(study: Study, cell: Cell, pairs: Mapping[Place, tuple[Any, Any]]) -> list[str]:
    """The columns in which two values are not within the tolerance, with the first such pair."""
    found = {}
    for (row, column, _), (one, other) in pairs.items():
        if not _same(one, other, _within(study, column)):
            found.setdefault(column, f"{column} is {_shown(one)} in row {row + 1}, computed {_shown(other)}")
    return [f"{cell.description}: {line}" for line in found.values()]


def _all_statistical(study: Study, cell: Cell, rows: Rows) -> bool:
    """Whether a study declares so all that it measures in some rows of a cell."""
    measured = {column for row in rows for column in row} - {*cell.setting, "seed"}
    return all(study.tolerance(column) == STATISTICAL for column in measured)


def _means(study: Study, values: Mapping[Place, Any]) -> dict[Place, Any]:
    """The mean of each statistical column's numbers over a cell's rows and lists."""
    found: dict[str, list[float]] = defaultdict(list)
    for (_, column, _), value in values.items():
        if study.tolerance(column) == STATISTICAL and not isinstance(value, str):
            found[column].append(value)
    return {(MEAN, column, ""): sum(numbers) / len(numbers) for column, numbers in found.items()}


def telling(study: Study, rows: Rows) -> set[str]:
    """The statistical columns in which a cell shows a factor: those that hold a number other than zero."""
    return {column for _, column, _ in _sizes(_flat(rows)) if study.tolerance(column) == STATISTICAL}


def _sizes(values: Mapping[Place, Any]) -> list[Place]:
    """The places of numbers other than zero, the lengths of lists left out."""
    return [at for at, value in values.items() if value and not (isinstance(value, str) or at[2].endswith("#"))]


def _shifts(leanings: Mapping[tuple[str, str], list[float]]) -> list[str]:
    """The columns whose differences have mostly one sign, or words that became rarer or more frequent."""
    names = [name for name, found in sorted(leanings.items()) if any(found)]
    if not names:
        return []
    differences = np.array([leanings[name] for name in names]).T  # (cells, columns)
    said = []
    for (column, what), mean, chance in zip(names, differences.mean(0), chances(differences)):
        if chance <= ALARM and abs(mean) > LEAST:
            how = "of what is stored" if what in (NUMBER, BELOW) else f"more of {what!r}"
            said.append(f"{column}: over {len(differences)} cells the mean difference is {mean:+.0%} {how}")
    return said


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
    own = abs(scaled.sum(0)) * (1 - 1e-9)  # the same sum in another order rounds differently
    if 2**cells <= TURNS:
        turns = 1 - 2 * (np.arange(2**cells)[:, None] >> np.arange(cells) & 1)
        return (_leans(turns, scaled)[:, None] >= own).mean(0)
    rng, count = np.random.default_rng(0), np.ones_like(own)  # the turn that was found is one of them
    for _ in range(99):  # a part of them at a time, for the memory
        turns = rng.choice([-1.0, 1.0], (TURNS // 99, cells))
        count += (_leans(turns, scaled)[:, None] >= own).sum(0)
    return count / (TURNS + 1)


def _leans(turns: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """The largest lean of a column under each turn."""
    return abs(turns @ scaled).max(1)


def _parts(one: Any, other: Any, within: tuple[float, float]) -> Iterator[tuple[str, float]]:
    """The difference of a pair: of two numbers over their mean size; -1 for a word lost, 1 for a word gained.

    Two numbers below zero differ by their sizes, apart from others: a factor turns all differences one way.
    """
    if isinstance(one, str) or isinstance(other, str):
        if one != other:
            yield (one if isinstance(one, str) else NUMBER + " there"), -1.0
            yield (other if isinstance(other, str) else NUMBER + " there"), 1.0
    else:
        what, change = (BELOW, one - other) if one < 0 > other else (NUMBER, other - one)
        yield what, 0.0 if _same(one, other, within) else 2 * change / (abs(one) + abs(other))


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


def _sample(study: Study, stored: Held, settings: Collection[str]) -> Sample:
    """The stored numbers of statistical columns at some settings, at each place, over all realisations."""
    found: Sample = defaultdict(list)
    if STATISTICAL in study.columns.values():
        for cell, rows in stored.items():
            key = cell.key(seed=False)
            for place, value in _flat(rows).items() if key in settings else ():
                if study.tolerance(place[1]) == STATISTICAL and not isinstance(value, str):
                    found[key, place].append(value)
    return found


def _within(study: Study, column: str) -> tuple[float, float]:
    """Relative and absolute tolerance of a column; of a statistical one the study's."""
    tolerance = study.tolerance(column)
    if tolerance == STATISTICAL:
        tolerance = study.rtol
    return tolerance if isinstance(tolerance, tuple) else (tolerance, 0.0)


def _same(one: Any, other: Any, within: tuple[float, float]) -> bool:
    if isinstance(one, str) or isinstance(other, str) or (isinstance(one, int) and isinstance(other, int)):
        return one == other
    return math.isclose(one, other, rel_tol=within[0], abs_tol=max(within[1], 1e-300))


def _flat(rows: Rows) -> dict[Place, Any]:
    """All numbers and words of a cell by their places; NaN counts as missing, infinity as a word."""
    found: dict[Place, Any] = {}
    for number, row in enumerate(rows):
        for column, value in row.items():
            if not column.startswith("seconds"):
                for path, entry in _entries(value, ""):
                    found[number, column, path] = entry
    return {place: value for place, value in found.items() if value != ""}


def _entries(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        yield f"{path}#", len(value)
        for i, one in enumerate(value):
            yield from _entries(one, f"{path}.{i}")
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from _entries(one, f"{path}.{name}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, "" if math.isnan(value) else str(value)
    else:
        yield path, "" if value is None else value


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) and value else "empty" if value == "" else f"{value:.9g}"


def _list(words: set[str]) -> str:
    return ", ".join(repr(word) for word in sorted(words)[:3]) + (", …" if len(words) > 3 else "")
