"""Stored results in place of most of a run, and their verification: some of their cells are computed again.

A file in ``results/`` (``stored`` in ``chapters/designs/``) holds more of its study than the laptop profile asks for. A
run at that profile's parameters takes it, and computes a few batches of it again, which must agree within the columns'
tolerances (``companion.lab.compare``). A checksum shows that a cell is unchanged since it was written; only
another computation shows that it was right. Each week other batches are drawn, and dear ones take turns.
"""

import datetime
import itertools
import math
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from companion.lab.compare import ENOUGH, FACTOR, FEWEST, telling
from companion.lab.design import Entries
from companion.lab.results import Results, finished_cells
from companion.lab.schedule import chunks
from companion.lab.store import Cell, Result, Store, committed
from companion.lab.study import Study
from companion.lab.sweep import cells
from companion.lab.table import origin
from regimes.validate import InputError

SECONDS = 3.0  # of stored results that a run computes again, per study, or one of the ``CHEAPEST`` batches
CHEAPEST = 3
DEAR = 240.0  # seconds of a batch above which it is verified in turn, not by chance
YEAR = 52  # weeks, in one of which a dear batch has its turn
LONGEST = 10.0  # seconds of a batch above which a run leaves it to ``python -m companion.studies verify``
Batch = list[Cell]  # of one setting and one block of seeds, as a sweep computes them


def extended(study: Study, grid: Sequence[Entries], *, others: bool, jobs: int | None) -> tuple[list[Result], int]:
    """The stored cells with those of a grid that they lack, in its order, and how many are new.

    Cells of code that is in no commit are computed again. Those of other settings are left out; with ``others``, first.
    """
    asked = in_order(cells(study, grid))
    stored = {
        key: result for key, result in Results(study).finished.items() if committed(result.provenance["revision"])
    }
    fresh = finished_cells(study, [cell for key, cell in asked.items() if key not in stored], jobs=jobs)
    made = {result.provenance["revision"] for result in fresh.values()}
    if loose := [revision for revision in made if not committed(revision)]:  # a worker's, on a cluster
        raise InputError(f"{study.name} is not written: a worker's code is that of no commit, {min(loose)!r}")
    finished = stored | fresh
    first = [key for key in stored if key not in asked] if others else []
    return [finished[key] for key in (*first, *asked)], len(fresh)


def in_order(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Cells by their keys, each once: by setting in order of appearance, then by seed."""
    by_setting: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        by_setting.setdefault(cell.key(seed=False), {})[cell.seed] = cell
    return {by_seed[seed].key(): by_seed[seed] for by_seed in by_setting.values() for seed in sorted(by_seed)}


@dataclass(frozen=True)
class Verified:
    """The result of verifying stored results.

    Attributes:
        study: whose it is.
        computed: number of cells computed again.
        blind: the statistical columns in which these cells would not show a factor; none where something differs.
        stored: number of cells.
        without_data: number of cells that cannot be computed here, because their data are not on this machine.
        differences: disagreements with the stored rows, one line each.
    """

    study: Study
    computed: int
    blind: tuple[str, ...]
    stored: int
    without_data: int
    differences: tuple[str, ...]

    @property
    def undecided(self) -> str:
        """Why the cells computed again do not tell whether they are right; empty if they do, or if they differ."""
        if not self.computed and not self.differences:
            return "no cell could be computed"
        return f"a factor of {FACTOR:g} would not be noticed in {', '.join(self.blind)}" if self.blind else ""

    def __str__(self) -> str:
        parts = [f"{self.study.name}: {self.computed} of {self.stored} cells computed again"]
        if self.undecided:
            parts.append(f"not decided: {self.undecided}")
        else:
            parts.append(f"{len(self.differences)} differences" if self.differences else "all as stored")
        if self.without_data:
            parts.append(f"{self.without_data} left out, whose data are not on this machine")
        return ", ".join(parts)


def verify(
    results: Results,
    choose: Callable[[list[Batch]], list[Batch]],
    *,
    is_here: Callable[[Mapping[str, Any]], bool] = lambda setting: True,
    jobs: int | None = None,
) -> Verified:
    """Computes batches of a study's stored cells again, in a store of their own, and compares them.

    Args:
        results: what is stored of the study.
        choose: which batches, of all that can be computed here, such as ``share`` chooses.
        is_here: whether the data of a setting are on this machine.
        jobs: as for ``sweep``.
    """
    study, possible = results.study, results.of_data(is_here)
    chosen = choose(batches(study, possible))
    differences, blind = [*results.refused.values()], []
    if chosen:
        with tempfile.TemporaryDirectory() as folder:
            finished = finished_cells(study, list(itertools.chain(*chosen)), store=Store(folder), jobs=jobs)
        differences += results.differences(finished)
        blind = [] if differences else results.blind(finished)
    count = len(results.finished)
    return Verified(study, sum(map(len, chosen)), tuple(blind), count, count - len(possible), tuple(differences))


def _telling_counts(study: Study, cells: Iterable[Cell]) -> Counter[str]:
    """In how many stored cells each statistical column would show a factor; how many there are by no name."""
    return Counter(column for cell in cells for column in ("", *telling(study, origin(cell).rows)))


def unchecked(study: Study, is_here: Callable[[Mapping[str, Any]], bool]) -> str:
    """Why a run computes no batch of a study's stored results again; empty if it does."""
    possible = Results.of(study).of_data(is_here)
    if not possible:
        return "their data are not on this machine"
    shortest = min(map(duration, batches(study, possible)))
    return f"the shortest batch takes {shortest:.0f} s" if shortest > LONGEST else ""


def share(part: float, seed: int, study: Study) -> Callable[[list[Batch]], list[Batch]]:
    """Chooses batches at random until they hold ``part`` of all cells, at least one batch.

    They hold each statistical column in as many cells as tell a factor from chance, if so many are stored. Batches of
    more than ``DEAR`` seconds take turns instead: each is chosen at one of ``YEAR`` seeds that follow each other, and
    always where ``part`` is 1.
    """
    turns = 1 if part == 1 else YEAR

    def choose(batches: list[Batch]) -> list[Batch]:
        batches = sorted(batches, key=lambda cells: cells[0].key())
        dear = [batch for batch in batches if duration(batch) > DEAR]
        others = [batch for batch in batches if duration(batch) <= DEAR]
        turn = seed + random.Random(study.name).randrange(turns)  # not all studies in the same week
        chosen = dear[turn % turns :: turns]
        random.Random(f"{seed} {study.name}").shuffle(others)
        counts = _telling_counts(study, itertools.chain(*batches))
        short = {column: min(number, ENOUGH) for column, number in counts.items() if number >= FEWEST}
        short[""] = math.ceil(part * counts[""])
        for batch in chosen:
            of_batch = _telling_counts(study, batch)
            short = {column: number - of_batch[column] for column, number in short.items()}
        while others and max(short.values()) > 0:
            of_batch = _telling_counts(study, batch := others.pop())
            if any(short.get(column, 0) > 0 for column in of_batch):
                chosen.append(batch)
                short = {column: number - of_batch[column] for column, number in short.items()}
        return chosen or [dear[turn % len(dear)]] if batches else []

    return choose


def sample(results: Results, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
    """The cells that a run computes again: batches that took ``SECONDS`` together, the same ones for a week."""
    return list(itertools.chain(*_sample(results.study, batches(results.study, results.of_data(is_here)))))


def _sample(study: Study, batches: list[Batch]) -> list[Batch]:
    """Batches at random that took ``SECONDS`` together, else one of the cheapest; the same ones for a week."""
    batches = sorted((it for it in batches if duration(it) <= LONGEST), key=lambda it: (duration(it), it[0].key()))
    draw = random.Random(f"{week()} {study.name}")
    chosen, seconds_left = [], SECONDS
    for batch in draw.sample(batches, len(batches)):
        if duration(batch) <= seconds_left:
            chosen.append(batch)
            seconds_left -= duration(batch)
    return chosen or [draw.choice(batches[:CHEAPEST])] if batches else []


def week() -> str:
    """The week, such as ``2026-48``, for which samples stay the same."""
    year, number, _ = datetime.date.today().isocalendar()
    return f"{year}-{number:02}"


def duration(cells: Batch) -> float:
    """The time that a stored batch took."""
    return sum(origin(cell).provenance["seconds"] for cell in cells)


def batches(study: Study, cells: Sequence[Cell]) -> list[Batch]:
    """The cells as a sweep computes them, some at once."""
    return [chunk.cells for chunk in chunks({study.name: study}, cells)]
