"""Stored results in place of most of a run, and their verification: some of their cells are computed again.

A table in ``results/`` (``stored`` in ``chapters/designs/``) holds more of its study than the laptop profile asks for.
A run at that profile's parameters takes the table, and computes a few batches of it again, which must agree within the
columns' tolerances (``companion.experiments.compare``). A checksum shows that a table is unchanged since it was
written; only another computation shows that it was right. Each week other batches are drawn.
"""

import datetime
import functools
import itertools
import math
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from companion import paths
from companion.experiments.compare import differences, enough
from companion.experiments.queue import chunks
from companion.experiments.store import Cell, Store, committed
from companion.experiments.study import STATISTICAL, Setting, Study
from companion.experiments.sweep import cells, sweep
from companion.experiments.table import CELL, origin, read_cells, remember, rows_by_cell
from regimes.validate import InputError

SECONDS = 3.0  # of stored results that a run computes again, a study, or one of the ``CHEAPEST`` batches
CHEAPEST = 3
LONGEST = 10.0  # seconds of a batch above which a run leaves it to ``python -m companion.studies verify``
Batch = list[Cell]  # of one setting and one block of seeds, as a sweep computes them


class Results:
    """What ``results/`` holds of a study: a second folder of the store, which is only read.

    Attributes:
        study: whose cells they are.
        rows: of all of them, in the order of the file; empty where nothing is stored.
        origins: where each comes from, by its key.
        refused: why a cell is damaged or forged, by its key. Such a cell counts as not stored.
    """

    def __init__(self, study: Study, path: Path | None = None) -> None:
        self.study = study
        self.rows, self.origins, self.refused = pd.DataFrame(), {}, {}
        path = path or paths.results() / f"{study.name}.csv"
        if path.exists():
            self.rows, self.origins, self.refused = read_cells(path, version=study.version)
            remember(self.origins)

    @functools.cached_property
    def settings(self) -> set[str]:
        """The keys of the settings that it has cells of."""
        return {origin.cell().key(seed=False) for origin in self.origins.values()}

    def of_data(self, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
        """The cells whose data are on this machine (``is_here``), by their settings."""
        return [origin.cell() for origin in self.origins.values() if is_here(origin.setting)]

    def take(self, cells: Mapping[str, Cell]) -> pd.DataFrame:
        """The rows of cells by their keys: of those that are not here, by ``sweep``; then of the others."""
        new = [cell for key, cell in cells.items() if key not in self.origins]
        parts = [sweep(self.study, _grid([[cell] for cell in new]))] if new else []
        if len(new) < len(cells):
            parts.append(self.rows[self.rows[CELL].isin(cells.keys())])
        return pd.concat(parts, ignore_index=True)

    def sample(self, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
        """The cells that a run computes again: batches that took ``SECONDS`` together, the same ones for a week."""
        return list(itertools.chain(*_sample(self.study, batches(self.study, self.of_data(is_here)))))

    def compute_again(self, cells: Sequence[Cell]) -> list[str]:
        """Computes some of its cells; what differs, and what was refused, one line each."""
        again = sweep(self.study, _grid([[cell] for cell in cells])) if cells else self.rows[:0]
        found = self.differences(again) if cells else []
        remember(self.origins)
        return [*self.refused.values(), *found]

    def differences(self, again: pd.DataFrame) -> list[str]:
        """The disagreements with rows of its cells that were computed again, one line each."""
        stored = rows_by_cell(self.rows)
        written = {column for rows in stored.values() for row in rows for column in row}
        lists = [c for c in again if again[c].map(lambda value: isinstance(value, (list, tuple))).any()]
        fresh = rows_by_cell(again.drop(columns=[column for column in lists if column not in written]))
        return differences(self.study, stored, fresh, repeated=self.repeated(again))

    def repeated(self, again: pd.DataFrame) -> set[Cell]:
        """The cells whose numbers must repeat: computed by the same code on the same kind of processor."""
        keys = again[CELL].unique() if self.study.repeats else ()
        pairs = [(self.origins[key], origin(key)) for key in keys]
        return {a.cell() for a, b in pairs if (a.digest, a.versions) == (b.digest, b.versions)}


def extended(study: Study, grid: Sequence[Setting], *, others: bool, jobs: int | None) -> tuple[pd.DataFrame, int]:
    """The stored results with those of a grid that they lack, in its order, and how many cells are new.

    Rows of code that is in no commit are computed again. Those of other settings are left out; with ``others``, first.
    """
    results = Results(study)
    asked = in_order(cells(study, grid))
    held = results.rows if results.rows.empty else results.rows[results.rows.revision.map(committed)]
    have = set() if held.empty else {*held[CELL]}
    new = [cell for key, cell in asked.items() if key not in have]
    fresh = sweep(study, _grid([[cell] for cell in new]), jobs=jobs) if new else held[:0]
    loose = {found for found in fresh.revision if not committed(found)}
    if loose:  # a worker's, on a cluster
        raise InputError(f"{study.name} is not written: a worker's code is that of no commit, {min(loose)!r}")
    joined = pd.concat([held, fresh], ignore_index=True) if have else fresh
    order = {key: place for place, key in enumerate(asked)}
    place = joined[CELL].map(order).fillna(-1)  # of no design that was asked for
    return joined.loc[place[place.ge(0) | others].sort_values(kind="stable").index], len(new)


def in_order(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Cells by their keys, each once: by setting in order of appearance, then by seed."""
    found: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        found.setdefault(cell.key(seed=False), {})[cell.seed] = cell
    return {own[seed].key(): own[seed] for own in found.values() for seed in sorted(own)}


@dataclass(frozen=True)
class Verified:
    """The result of verifying a stored table.

    Attributes:
        study: whose it is.
        computed: number of cells computed again.
        drawn: number of these whose statistical columns were compared as samples: another processor or other code
            computed what is stored.
        stored: number of cells.
        left: number of cells that cannot be computed here, because their data are not on this machine.
        said: disagreements with the stored rows, one line each.
    """

    study: Study
    computed: int
    drawn: int
    stored: int
    left: int
    said: tuple[str, ...]

    @property
    def undecided(self) -> str:
        """Why the cells computed again do not tell whether the table is right; empty if they do, or if they differ."""
        if self.said or (self.computed and not 0 < self.drawn < enough(self.study)):
            return ""
        names = [column for column, tolerance in self.study.columns.items() if tolerance == STATISTICAL]
        few = f"{', '.join(names)} would show a factor in {enough(self.study)} cells or more, not in {self.drawn}"
        return few if self.computed else "no cell could be computed"

    def __str__(self) -> str:
        parts = [f"{self.study.name}: {self.computed} of {self.stored} cells computed again"]
        if self.undecided:
            parts.append(f"not decided: {self.undecided}")
        else:
            parts.append(f"{len(self.said)} differences" if self.said else "all as stored")
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
        choose: which batches, of all that can be computed here, such as ``share`` chooses.
        here: whether the data of a setting are on this machine.
        jobs: as for ``sweep``.
    """
    results = Results(study, path)
    possible = results.of_data(here)
    chosen, said, drawn = choose(batches(study, possible)), [*results.refused.values()], 0
    if chosen:
        with tempfile.TemporaryDirectory() as folder:
            again = sweep(study, _grid(chosen), store=Store(folder), jobs=jobs)
        said += results.differences(again)
        drawn = again[CELL].nunique() - len(results.repeated(again)) if enough(study) else 0
    count = len(results.origins)
    return Verified(study, sum(map(len, chosen)), drawn, count, count - len(possible), tuple(said))


def unchecked(study: Study, here: Callable[[Mapping[str, Any]], bool]) -> str:
    """Why a run computes no batch of a study's stored results again; empty if it does."""
    possible = Results(study).of_data(here)
    if not possible:
        return "their data are not on this machine"
    shortest = min(map(duration, batches(study, possible)))
    return f"the shortest batch takes {shortest:.0f} s" if shortest > LONGEST else ""


def share(part: float, seed: int, study: Study) -> Callable[[list[Batch]], list[Batch]]:
    """Chooses batches at random until they hold ``part`` of all cells, at least one batch.

    For a study with statistical columns there are as many cells as tell a factor from chance, if it has so many.
    """

    def choose(batches: list[Batch]) -> list[Batch]:
        batches, count = sorted(batches, key=lambda cells: cells[0].key()), sum(map(len, batches))
        random.Random(f"{seed} {study.name}").shuffle(batches)
        least = enough(study) if enough(study) <= count else 0
        wanted, chosen = max(math.ceil(part * count), least), []
        while batches and sum(map(len, chosen)) < wanted:
            chosen.append(batches.pop())
        return chosen

    return choose


def _sample(study: Study, batches: list[Batch]) -> list[Batch]:
    """Batches at random that took ``SECONDS`` together, else one of the cheapest; the same ones for a week."""
    batches = sorted((b for b in batches if duration(b) <= LONGEST), key=lambda b: (duration(b), b[0].key()))
    draw, chosen, left = random.Random(f"{week()} {study.name}"), [], SECONDS
    for batch in draw.sample(batches, len(batches)):
        if duration(batch) <= left:
            chosen.append(batch)
            left -= duration(batch)
    return chosen or [draw.choice(batches[:CHEAPEST])] if batches else []


def week() -> str:
    """The week, such as ``2026-48``, for which samples stay the same."""
    year, number, _ = datetime.date.today().isocalendar()
    return f"{year}-{number:02}"


def duration(cells: Batch) -> float:
    """The time that a stored batch took."""
    return sum(origin(cell).seconds for cell in cells)


def batches(study: Study, cells: Sequence[Cell]) -> list[Batch]:
    """The cells as a sweep computes them, some at once."""
    return [chunk.cells for chunk in chunks({study.name: study}, cells)]


def _grid(batches: Sequence[Batch]) -> list[Setting]:
    return [cells[0].setting | {"seeds": [cell.seed for cell in cells]} for cells in batches]
