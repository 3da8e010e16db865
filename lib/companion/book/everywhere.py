"""A claim on all the rows that it could read: ``python -m companion claim ID --everywhere``.

A claim is judged on some designs of its studies, and often on their largest size. Its estimator can be put on the
stored rows of other designs that have its columns, and on the other sizes, data and settings of its own. Where the
interval there is disjoint from the judged one, the claim holds under a condition, which its words name.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from companion.book.claims import Claim, Page
from companion.estimates import Drift, Estimate
from companion.lab import catalogue
from companion.lab.results import Results
from companion.lab.study import Study
from companion.lab.table import CELL, origin

MOST_VALUES = 12  # of an axis, each of which is looked at alone


@dataclass(frozen=True)
class Elsewhere:
    """What an estimator finds on rows on which its claim is not judged.

    Attributes:
        rows: which ones, ``design large`` or ``p = 1000``.
        estimate: its value there; of a claim on large sizes that of the larger half of them.
    """

    rows: str
    estimate: Estimate

    def contradicts(self, judged: Estimate) -> bool:
        """Whether the interval is disjoint from the judged one."""
        return self.estimate.high < judged.low or self.estimate.low > judged.high


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


def everywhere(claim: Claim, page: Page) -> tuple[Estimate, list[Elsewhere]] | None:
    """What the estimator of a claim finds on its own rows, and on all others that it can read.

    Other designs take the place of each design that the claim takes; and of its own rows those at one value of an axis
    of the settings are looked at alone. Rows on which it fails, or finds nothing, are left out.
    """
    judged = _found(claim, page)
    if judged is None:
        return None
    seen = {frozenset(judged[1])}
    elsewhere = []
    for words, tables in _alternatives(claim, page):
        found = _found(claim, Others(page, tables))
        if found is not None and frozenset(found[1]) not in seen and found[0].judges:
            seen.add(frozenset(found[1]))
            elsewhere.append(Elsewhere(words, found[0]))
    return judged[0], elsewhere


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
    return (estimate.anytime() if claim.looks > 1 else estimate, cells) if cells else None


def _alternatives(claim: Claim, page: Page) -> Iterator[tuple[str, dict[tuple[str, str], pd.DataFrame]]]:
    """Tables in place of the claim's own, with the words for them."""
    taken = {(study, design) for study, designs in claim.designs.items() for design in designs}
    for study, design in sorted(taken, key=lambda one: (one[0].name, one[1])):
        stored = Results.of(study)
        kept = catalogue.kept_cells(catalogue.find(study.name)[0], stored) if design else {}
        for other in (name for name in kept if name != design):
            yield (
                f"design {other} for {design}",
                {(study.name, design): stored.rows[stored.rows[CELL].isin(kept[other])]},
            )
    own = {(study.name, design): page.rows(study, design) for study, design in taken}
    axes = {name for table in own.values() for name in _axes(table)}
    for axis in sorted(axes):
        values = sorted({value for table in own.values() if axis in table for value in table[axis].dropna()}, key=str)
        for value in values if 1 < len(values) <= MOST_VALUES else ():
            yield (
                f"{axis} = {value}",
                {key: table[table[axis] == value] if axis in table else table for key, table in own.items()},
            )


def _axes(table: pd.DataFrame) -> list[str]:
    """The settings, one number or name each, that a table has several of."""
    if table.empty:
        return []
    setting = origin(table[CELL].iloc[0]).cell.setting
    plain = [name for name in setting if name in table and not isinstance(setting[name], list | dict)]
    return [name for name in plain if table[name].nunique() > 1]
