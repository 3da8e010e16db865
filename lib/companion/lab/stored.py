"""Stored results in place of most of a run, and their verification: some of their cells are computed again.

A file in ``results/`` (``stored`` in ``chapters/designs/``) holds more of its study than the laptop profile asks for. A
run at that profile's parameters takes it, and computes a few batches of it again, which must agree within the columns'
tolerances (``companion.lab.compare``). A checksum shows that a cell is unchanged since it was written; only
another computation shows that it was right. Each week other batches are drawn.
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
from companion.lab.results import Results, records_of
from companion.lab.schedule import chunks
from companion.lab.store import Cell, Record, Store, committed
from companion.lab.study import Study
from companion.lab.sweep import cells
from companion.lab.table import origin
from regimes.validate import InputError

SECONDS = 3.0  # of stored results that a run computes again, a study, or one of the ``CHEAPEST`` batches
CHEAPEST = 3
LONGEST = 10.0  # seconds of a batch above which a run leaves it to ``python -m companion.studies verify``
Batch = list[Cell]  # of one setting and one block of seeds, as a sweep computes them


def extended(study: Study, grid: Sequence[Entries], *, others: bool, jobs: int | None) -> tuple[list[Record], int]:
    """The stored cells with those of a grid that they lack, in its order, and how many are new.

    Cells of code that is in no commit are computed again. Those of other settings are left out; with ``others``, first.
    """
    asked = in_order(cells(study, grid))
    held = {key: own for key, own in Results(study).records.items() if committed(own.provenance["revision"])}
    fresh = records_of(study, [cell for key, cell in asked.items() if key not in held], jobs=jobs)
    made = {record.provenance["revision"] for record in fresh.values()}
    if loose := [revision for revision in made if not committed(revision)]:  # a worker's, on a cluster
        raise InputError(f"{study.name} is not written: a worker's code is that of no commit, {min(loose)!r}")
    found = held | fresh
    first = [key for key in held if key not in asked] if others else []
    return [found[key] for key in (*first, *asked)], len(fresh)


def in_order(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Cells by their keys, each once: by setting in order of appearance, then by seed."""
    found: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        found.setdefault(cell.key(seed=False), {})[cell.seed] = cell
    return {own[seed].key(): own[seed] for own in found.values() for seed in sorted(own)}


@dataclass(frozen=True)
class Verified:
    """The result of verifying stored results.

    Attributes:
        study: whose it is.
        computed: number of cells computed again.
        blind: the statistical columns in which these cells would not show a factor; none where something differs.
        stored: number of cells.
        left: number of cells that cannot be computed here, because their data are not on this machine.
        said: disagreements with the stored rows, one line each.
    """

    study: Study
    computed: int
    blind: tuple[str, ...]
    stored: int
    left: int
    said: tuple[str, ...]

    @property
    def undecided(self) -> str:
        """Why the cells computed again do not tell whether they are right; empty if they do, or if they differ."""
        if not self.computed and not self.said:
            return "no cell could be computed"
        return f"a factor of {FACTOR:g} would not be noticed in {', '.join(self.blind)}" if self.blind else ""

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
    results: Results,
    choose: Callable[[list[Batch]], list[Batch]],
    *,
    here: Callable[[Mapping[str, Any]], bool] = lambda setting: True,
    jobs: int | None = None,
) -> Verified:
    """Computes batches of a study's stored cells again, in a store of their own, and compares them.

    Args:
        results: what is stored of the study.
        choose: which batches, of all that can be computed here, such as ``share`` chooses.
        here: whether the data of a setting are on this machine.
        jobs: as for ``sweep``.
    """
    study, possible = results.study, results.of_data(here)
    chosen, said, blind = choose(batches(study, possible)), [*results.refused.values()], []
    if chosen:
        with tempfile.TemporaryDirectory() as folder:
            again = records_of(study, list(itertools.chain(*chosen)), store=Store(folder), jobs=jobs)
        said += results.differences(again)
        blind = [] if said else results.blind(again)
    count = len(results.records)
    return Verified(study, sum(map(len, chosen)), tuple(blind), count, count - len(possible), tuple(said))


def _held(study: Study, cells: Iterable[Cell]) -> Counter[str]:
    """In how many stored cells each statistical column would show a factor; how many there are by no name."""
    return Counter(column for cell in cells for column in ("", *telling(study, origin(cell).rows)))


def unchecked(study: Study, here: Callable[[Mapping[str, Any]], bool]) -> str:
    """Why a run computes no batch of a study's stored results again; empty if it does."""
    possible = Results(study).of_data(here)
    if not possible:
        return "their data are not on this machine"
    shortest = min(map(duration, batches(study, possible)))
    return f"the shortest batch takes {shortest:.0f} s" if shortest > LONGEST else ""


def share(part: float, seed: int, study: Study) -> Callable[[list[Batch]], list[Batch]]:
    """Chooses batches at random until they hold ``part`` of all cells, at least one batch.

    They hold each statistical column in as many cells as tell a factor from chance, if so many are stored.
    """

    def choose(batches: list[Batch]) -> list[Batch]:
        batches = sorted(batches, key=lambda cells: cells[0].key())
        random.Random(f"{seed} {study.name}").shuffle(batches)
        held, chosen = _held(study, itertools.chain(*batches)), []
        short = {column: min(number, ENOUGH) for column, number in held.items() if number >= FEWEST}
        short[""] = math.ceil(part * held[""])
        while batches and max(short.values()) > 0:
            own = _held(study, batch := batches.pop())
            if any(short.get(column, 0) > 0 for column in own):
                chosen.append(batch)
                short = {column: number - own[column] for column, number in short.items()}
        return chosen

    return choose


def sample(results: Results, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
    """The cells that a run computes again: batches that took ``SECONDS`` together, the same ones for a week."""
    return list(itertools.chain(*_sample(results.study, batches(results.study, results.of_data(is_here)))))


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
    return sum(origin(cell).provenance["seconds"] for cell in cells)


def batches(study: Study, cells: Sequence[Cell]) -> list[Batch]:
    """The cells as a sweep computes them, some at once."""
    return [chunk.cells for chunk in chunks({study.name: study}, cells)]
