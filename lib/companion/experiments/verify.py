"""Stored tables verified: some of their cells are computed again, and compared column by column.

A checksum shows that a table was not changed since it was written; that it was right then, only another computation
shows. Cells are chosen at random, in the batches in which they were computed.
"""

import math
import random
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from companion.experiments.compare import differences, enough
from companion.experiments.store import Cell, Store
from companion.experiments.study import STATISTICAL, Study
from companion.experiments.sweep import sweep
from companion.experiments.table import Origin, origin, read_csv, rows_by_cell

Batch = list[Cell]


@dataclass(frozen=True)
class Verified:
    """What became of a stored table.

    Attributes:
        study: whose it is.
        computed: how many cells were computed again.
        stored: how many there are.
        left: how many cannot be computed here: their data are not on this machine.
        said: what speaks against the stored rows, a line each.
    """

    study: Study
    computed: int
    stored: int
    left: int
    said: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{self.study.name}: {self.computed} of {self.stored} cells computed again"]
        parts.append(f"{len(self.said)} differences" if self.said else "all as stored")
        samples = sum(tolerance == STATISTICAL for tolerance in self.study.columns.values())
        if samples:
            few = f", of which only outliers show in fewer than {enough(self.study)} cells"
            parts.append(f"{samples} columns as samples{few * (self.computed < enough(self.study))}")
        if self.left:
            parts.append(f"{self.left} left out, whose data are not on this machine")
        return ", ".join(parts)


def verify(
    study: Study,
    path: Path,
    choose: Callable[[list[Batch]], list[Batch]],
    *,
    here: Callable[[Mapping[str, Any]], bool] = lambda setting: True,
    jobs: int | None = None,
) -> Verified:
    """Computes batches of a stored table's cells again, in a store of their own, and compares them.

    Args:
        study: whose table it is.
        path: its CSV file.
        choose: which batches, of all that can be computed here.
        here: whether the data of a setting are on this machine.
        jobs: as for ``sweep``.

    Raises:
        InputError: as ``read_csv`` and ``sweep``.
    """
    held = read_csv(path, version=study.version)
    stored = rows_by_cell(held)
    possible = [cell for cell in stored if here(cell.setting)]
    batches = choose(_batches(study, possible))
    if not batches:
        return Verified(study, 0, len(stored), len(stored) - len(possible), ())
    grid = [cells[0].setting | {"seeds": [cell.seed for cell in cells]} for cells in batches]
    made = {cell: origin(cell) for cell in stored}
    with tempfile.TemporaryDirectory() as folder:
        table = sweep(study, grid, store=Store(folder), jobs=jobs)
    said = disagreements(study, held, table, made)
    return Verified(study, sum(map(len, batches)), len(stored), len(stored) - len(possible), tuple(said))


def disagreements(study: Study, held: pd.DataFrame, table: pd.DataFrame, made: Mapping[Cell, Origin]) -> list[str]:
    """What speaks against stored results, in a line each.

    Args:
        study: the study.
        held: its stored results.
        table: some of their cells, computed again.
        made: where the stored cells come from, noted before they were computed again.
    """
    stored = rows_by_cell(held)
    written = {column for rows in stored.values() for row in rows for column in row}
    known = [column for column in table.columns if column in written or not table[column].map(_is_long).any()]
    fresh = rows_by_cell(table[known])
    now = {cell: origin(cell) for cell in fresh}
    same = {c for c in fresh if (made[c].digest, made[c].versions) == (now[c].digest, now[c].versions)}
    return differences(study, stored, fresh, repeated=same if study.repeats else ())


def share(part: float, seed: int, name: str) -> Callable[[list[Batch]], list[Batch]]:
    """Chooses batches at random until they hold ``part`` of all cells, at least one batch."""

    def choose(batches: list[Batch]) -> list[Batch]:
        batches = sorted(batches, key=lambda cells: cells[0].key())
        random.Random(f"{seed} {name}").shuffle(batches)
        wanted, chosen = math.ceil(part * sum(map(len, batches))), []
        while batches and sum(map(len, chosen)) < wanted:
            chosen.append(batches.pop())
        return chosen

    return choose


def cheapest(batches: list[Batch]) -> list[Batch]:
    """Chooses the batch that took least."""
    return sorted(batches, key=lambda cells: (sum(origin(cell).seconds for cell in cells), cells[0].key()))[:1]


def _batches(study: Study, cells: Collection[Cell]) -> list[Batch]:
    """Cells of one setting and one block of seeds, as a sweep computes them."""
    found: dict[tuple[str, int], Batch] = {}
    for cell in cells:
        found.setdefault((cell.key(seed=False), cell.seed // study.chunk), []).append(cell)
    return list(found.values())


def _is_long(value: Any) -> bool:
    return isinstance(value, (list, tuple))
