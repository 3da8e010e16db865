"""A claim on all the rows that it could read: ``python -m companion claim ID --everywhere``.

A claim is judged on some designs of its studies, and often on their largest size. Its estimator can be put on the
stored rows of other designs that have its columns, and on the other sizes, data and settings of its own. Where the
interval there is disjoint from the judged one, the claim holds under a condition (``is_condition``), which its words
name: its ``at`` names the setting that it is judged at, or its paragraph ``Elsewhere: `` says what is found at the
other, as in ``Elsewhere: at 1000 points 3.1``. ``unnamed`` and ``stale`` hold these words to the rows.
"""

import functools
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from companion.book import ledger
from companion.book.claims import Claim, Page
from companion.estimates import Drift, Estimate
from companion.lab import catalogue
from companion.lab.results import Results
from companion.lab.study import Study
from companion.lab.table import CELL, origin

MOST_VALUES = 12  # of an axis, each of which is looked at alone
POINTS = ("p", "n")  # settings at the largest value of which other designs are looked at alone, too
LARGEST = ", at "
WHOLE = ("interfaces",)  # lists that are one thing; of another list more entries are more of the same
POWER = re.compile(r"(?:([\d.]+)\\times\s?)?(\d+)\^\{?(-?\d+)\}?")  # as TeX has it
NUMBER = re.compile(r"(?<![\w.^])-?\d+(?:\.\d+)?(?!\w)")
Values = Mapping[str, Sequence[Any]]  # of each setting, as JSON has them
Stored = Callable[[Study], Results]


@dataclass(frozen=True)
class Elsewhere:
    """What an estimator finds on rows on which its claim is not judged.

    Attributes:
        rows: which ones, ``design large`` or ``p = 1000``.
        estimate: its value there; of a claim on large sizes that of the larger half of them.
        differs: the settings that have other values there than where the claim is judged, with the values at both.
    """

    rows: str
    estimate: Estimate
    differs: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = field(default_factory=dict)

    def contradicts(self, judged: Estimate) -> bool:
        """Whether the interval is disjoint from the judged one."""
        return self.estimate.high < judged.low or self.estimate.low > judged.high

    def is_condition(self, at: Collection[str]) -> bool:
        """Whether it is the same quantity, at one other setting that the words of the claim do not name (``at``).

        Sizes, which are whole numbers, may differ, too; if they alone do, one of them is as large as where the claim is
        judged. What differs in more, or is smaller in a size that the words name, is another experiment.
        """
        differs = {name: values for name, values in self.differs.items() if name in WHOLE or not _is_more(*values)}
        sizes = {name: values for name, values in differs.items() if _are_sizes(values)}
        others = [name for name in differs if name not in sizes]
        if any(name in at and not _reaches(*values) for name, values in sizes.items()):
            return False
        if others:
            return len(others) == 1 and others[0] not in at
        return not sizes or any(_reaches(*values) for values in sizes.values())

    def is_said(self, words: str) -> bool:
        """Whether words have the number that is found there, and a value of a setting that differs."""
        numbers = _numbers(words)
        pairs = self.differs.values()
        values = [value for judged, there in pairs for value in (*_flat(list(there)), *_only_one_has(judged, there))]
        texts = [str(value).lower() for value in values if not _is_number(value)]
        named = any(_is_written(value, numbers) for value in values if _is_number(value))
        named = named or not values or any(text in words.lower() for text in texts)
        return named and _is_written(self.estimate.value, numbers)


@dataclass
class Others:
    """A page on which some tables are others, by study and design; the rest are those of ``page``."""

    page: Page
    tables: Mapping[tuple[str, str], pd.DataFrame]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the page."""
        return self.page.parameters

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""
        other = self.tables.get((study.name, design))
        return self.page.rows(study, design) if other is None else other


def everywhere(
    claim: Claim, page: Page, *, kept: Mapping[str, Any] | None = None, stored: Stored = Results.of
) -> tuple[Estimate, list[Elsewhere]] | None:
    """What the estimator of a claim finds on its own rows, and on all others that it can read.

    Other designs take the place of each design that the claim takes, whole, or where this says nothing new at their
    largest number of points alone; and of its own rows those at one value of an axis of the settings are looked at
    alone. Rows on which it fails, or finds nothing, are left out.

    Args:
        claim: a claim of the book.
        page: has its rows.
        kept: its entry, for what it is judged by where the page lacks rows of it.
        stored: what ``results/`` holds of a study.
    """
    found = _found(claim, page) if claim.tables else None
    if found is None and (not claim.tables or kept is None or kept["value"] is None):
        return None
    kept_instead = (ledger.estimates_of(kept)[-1], _settings_kept(kept)) if not found else None
    judged, settings = kept_instead or (found[0], _settings(found[1]))
    seen = {frozenset(found[1])} if found else set()
    elsewhere = []
    for words, tables in _alternatives(claim, page, own=bool(found), stored=stored):
        other = _found(claim, Others(page, tables))
        if other is not None and frozenset(other[1]) not in seen and other[0].judges:
            seen.add(frozenset(other[1]))
            elsewhere.append(Elsewhere(words, other[0], _differing(settings, _settings(other[1]))))
    disjoint = {other.rows: other.estimate for other in elsewhere if other.contradicts(judged)}
    whole = {other.rows: disjoint.get(other.rows.partition(LARGEST)[0]) for other in elsewhere if LARGEST in other.rows}
    return judged, [it for it in elsewhere if not (of := whole.get(it.rows)) or it.contradicts(of)]


def unnamed(claim: Claim, judged: Estimate, elsewhere: Sequence[Elsewhere]) -> list[Elsewhere]:
    """The conditions that the words of a claim do not name: neither its ``at`` nor its ``Elsewhere``."""
    conditions = [other for other in elsewhere if other.contradicts(judged) and other.is_condition(claim.at)]
    return [other for other in conditions if not other.is_said(claim.elsewhere)]


def stale(claims: Sequence[Claim], found: Sequence[tuple[Estimate, Sequence[Elsewhere]]]) -> list[str]:
    """The numbers of an ``Elsewhere`` that several claims may share which are neither measured nor a setting."""
    known = [value for claim in claims for value in _flat([*claim.at.values(), *claim.given.values()])]
    known += [judged.value for judged, _ in found]
    for other in (other for _, elsewhere in found for other in elsewhere):
        known += [other.estimate.value, *_flat(list(other.differs.values()))]
    words = claims[0].elsewhere
    for text in (value for value in known if isinstance(value, str)):
        words = words.replace(text, "")  # as 1/(1+k^2), the name of a spectrum
    numbers = [value for value in known if _is_number(value)]
    return [it for it in _numbers(words) if not any(_is_written(value, [it]) for value in numbers)]


def _numbers(words: str) -> list[str]:
    """The numbers in words: ``3.1``, and ``1e-6`` where TeX has a power."""
    powers = [f"{float(factor or 1) * float(base) ** int(power):.6g}" for factor, base, power in POWER.findall(words)]
    return powers + NUMBER.findall(POWER.sub("", words.replace("\u2212", "-")))


def _is_written(value: float, numbers: Sequence[str]) -> bool:
    """Whether a value is among written numbers, to the digits that are written."""
    return any(f"{value:.{_digits(number)}f}" == number or f"{value:.6g}" == number for number in numbers)


def _digits(number: str) -> int:
    return len(number.partition(".")[2]) if "e" not in number else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_sizes(values: tuple[Sequence[Any], Sequence[Any]]) -> bool:
    """Whether all are whole numbers."""
    return all(isinstance(value, int) and not isinstance(value, bool) for side in values for value in side)


def _reaches(judged: Sequence[int], there: Sequence[int]) -> bool:
    """Whether sizes are as large as those judged."""
    return max(there, default=0) >= max(judged, default=0)


def _found(claim: Claim, page: Page) -> tuple[Estimate, set[str]] | None:
    """An estimate, and the cells that it rests on; ``None`` where the rows cannot tell."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of rows that were not meant
            result = claim.measured(page)
    except Exception:  # on other rows anything may fail
        return None
    if result is None:
        return None
    measured, tables = result
    estimate = measured.late if isinstance(measured, Drift) else measured
    cells = {key for table in tables if CELL in table for key in table[CELL]}
    return (estimate, cells) if cells else None


def _settings(cells: Collection[str]) -> Values:
    """The values of each setting of cells."""
    found: dict[str, dict[str, Any]] = {}
    for key in cells:
        for name, value in origin(key).cell.setting.items():
            found.setdefault(name, {})[json.dumps(value)] = value
    return {name: [values[text] for text in sorted(values)] for name, values in found.items() if name != "seeds"}


def _settings_kept(entry: Mapping[str, Any]) -> Values:
    """The values of each setting of an entry."""
    found: dict[str, list[Any]] = {}
    for one in entry["settings"]:
        for name, values in one["values"].items():
            found.setdefault(name, []).extend(values)
    return found


def _differing(judged: Values, there: Values) -> dict[str, tuple[Sequence[Any], Sequence[Any]]]:
    """The settings with other values, of those at both."""
    pairs = {name: (judged.get(name, ()), there.get(name, ())) for name in sorted({*judged, *there})}
    return {name: pair for name, pair in pairs.items() if _only_one_has(*pair)}


def _only_one_has(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """The values, of lists the entries, that one side has alone."""
    sides = [{json.dumps(value): value for value in values} for values in (one, other)]
    sides = [
        {json.dumps(value): value for value in _flat(list(side.values()))} if _are_lists((one, other)) else side
        for side in sides
    ]
    return [value for side in sides for text, value in side.items() if not all(text in other for other in sides)]


def _are_lists(values: tuple[Sequence[Any], Sequence[Any]]) -> bool:
    return any(isinstance(value, list) for side in values for value in side)


def _is_more(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether these are lists, of which one side has all entries of the other."""
    entries = [{json.dumps(value) for value in _flat(list(side))} for side in (one, other)]
    return _are_lists((one, other)) and (entries[0] <= entries[1] or entries[1] <= entries[0])


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, list | tuple):
        for value in values:
            yield from _flat(value)
    else:
        yield values


@functools.cache
def _kept(results: Results) -> dict[str, frozenset[str]]:
    """The keys of what ``results/`` holds of each design of a study."""
    number, _ = catalogue.find(results.study.name)
    return {design: frozenset(cells) for design, cells in catalogue.kept_cells(number, results).items()}


def _alternatives(
    claim: Claim, page: Page, *, own: bool, stored: Stored
) -> Iterator[tuple[str, dict[tuple[str, str], pd.DataFrame]]]:
    """Tables in place of the claim's own, with the words for them; of its ``own`` parts, too."""
    taken = {(study, design) for study, designs in claim.designs.items() for design in designs}
    for study, design in sorted(taken, key=lambda one: (one[0].name, one[1])):
        results = stored(study)
        kept = _kept(results) if design else {}
        for other in sorted(kept.keys() - {design}):
            rows = results.rows[results.rows[CELL].isin(kept[other])]
            yield f"design {other} for {design}", {(study.name, design): rows}
            for axis in _axes(rows) if own else ():
                if axis in POINTS:
                    largest = rows[axis].max()
                    yield (
                        f"design {other} for {design}{LARGEST}{axis} = {largest}",
                        {(study.name, design): rows[rows[axis] == largest]},
                    )
    if not own:
        return
    tables = {(study.name, design): page.rows(study, design) for study, design in taken}
    axes = {name for table in tables.values() for name in _axes(table)}
    for axis in sorted(axes):
        values = sorted(
            {value for table in tables.values() if axis in table for value in table[axis].dropna()}, key=str
        )
        for value in values if 1 < len(values) <= MOST_VALUES else ():
            yield (
                f"{axis} = {value}",
                {key: table[table[axis] == value] if axis in table else table for key, table in tables.items()},
            )


def _axes(table: pd.DataFrame) -> list[str]:
    """The settings, one number or name each, that a table has several of."""
    if table.empty:
        return []
    setting = origin(table[CELL].iloc[0]).cell.setting
    plain = [name for name in setting if name in table and not isinstance(setting[name], list | dict)]
    return [name for name in plain if table[name].nunique() > 1]
