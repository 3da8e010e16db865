"""One queue: the missing cells of any number of studies, longest first, on one warm pool of workers.

Cells are pure, so that no number depends on the order or on the rest of the queue. Each is stored as soon as it is
finished. Two queues on one store share the work by one lock per chunk.
"""

import contextlib
import functools
import itertools
import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from filelock import FileLock

from companion import paths
from companion.lab.cluster import Cluster
from companion.lab.progress import Progress, say
from companion.lab.recheck import Held, drop_changed
from companion.lab.store import Cell, Store, free
from companion.lab.study import Study
from companion.lab.table import alike
from companion.lab.workers import Chunk, Local
from regimes import validate
from regimes.validate import InputError

_LOOK_EVERY = 0.5  # seconds between looks at cells that another queue computes
Wanted = Mapping[Study, Sequence[Cell]]


def fill(
    asked: Wanted,
    store: Store,
    *,
    budget: float | None = None,
    jobs: int | None = None,
    done: Callable[[Chunk], None] = lambda chunk: None,
) -> Held:
    """Computes the cells that the store lacks.

    Args:
        asked: cells by their study.
        store: where they are kept.
        budget: seconds after which no further cell is started; ``None`` for all.
        jobs: worker processes, by default one per core. Cells that run on CUDA go one after the other, which fills the
            card; those of the CPU before or after them.
        done: is called each time that a chunk has been stored.

    Returns:
        The result of every cell; ``None`` for cells that the budget left out.
    """
    end = math.inf if budget is None else time.monotonic() + budget
    address = os.environ.get("REGIMES_SCHEDULER")
    if address:
        with contextlib.closing(Cluster(address)) as pool:
            return _Queue(asked, store, pool, end, done).run()
    kinds: dict[str, dict[Study, list[Cell]]] = {}
    for study, cells in asked.items():
        for cell in cells:
            kinds.setdefault(study.kind(cell.setting), {}).setdefault(study, []).append(cell)
    held: Held = {}
    for kind, of_kind in kinds.items():
        held |= _Queue(of_kind, store, Local(1 if kind == "cuda" else jobs), end, done).run()
    return held


class _Queue:
    """The cells of studies that run on one kind of device, and the pool that computes them."""

    def __init__(
        self, asked: Wanted, store: Store, pool: Cluster | Local, end: float, done: Callable[[Chunk], None]
    ) -> None:
        self.done = done
        self.studies = {study.name: study for study in asked}
        self.store, self.pool, self.end = store, pool, end
        self.held: Held = {}
        self.locks: dict[str, FileLock] = {}  # of the chunks that are being computed
        self.error: InputError | None = None  # what kept a lock from being taken
        for study, cells in asked.items():
            self.held |= drop_changed(study, store, {cell: store.load(cell) for cell in cells}, pool)
            _report_damaged(study, store)

    def run(self) -> Held:
        """Computes the missing cells; waits for those that another queue computes, and loads them."""
        missing = [cell for cell, result in self.held.items() if result is None]
        if not isinstance(self.pool, Cluster):  # whose workers have memory of their own
            needs_memory(self.studies, missing)
        todo = sorted(chunks(self.studies, missing), key=seconds, reverse=True)
        name = next(iter(self.studies)) if len(self.studies) == 1 else f"{len(self.studies)} studies"
        progress = Progress(name, len(missing), len(self.held), sum(map(seconds, todo)))
        while todo:
            todo = self._pass(todo, progress)
            if todo:
                time.sleep(_LOOK_EVERY)
        lost = sum(self.held[cell] is not None and cell not in self.store for cell in missing)
        if lost:
            where = f"vanished from the cell store {self.store.folder} in mid-run"
            raise InputError(f"{lost} of {len(missing)} cells {where}")
        return self.held

    def _pass(self, todo: list[Chunk], progress: Progress) -> list[Chunk]:
        """Computes all chunks that no other queue holds; returns the others."""
        busy: list[Chunk] = []
        try:
            for chunk, result in self.pool.results(self._claimed(todo, busy), len(todo), sum(map(seconds, todo))):
                rows = {cell: [row for row in result.rows if row["seed"] == cell.seed] for cell in chunk.cells}
                saved = self.store.save(*((cell, rows[cell], result.provenance) for cell in rows))
                self.held |= zip(rows, saved)
                free(self.locks.pop(_name(chunk)))
                progress.step(len(chunk.cells), seconds(chunk))
                self.done(chunk)
        finally:
            while self.locks:
                free(self.locks.popitem()[1])
        if self.error is not None:
            raise self.error
        return busy

    def _claimed(self, todo: list[Chunk], busy: list[Chunk]) -> Iterator[Chunk]:
        """The missing part of each chunk, under its lock; chunks that another queue holds go to ``others``."""
        for chunk in todo:
            if time.monotonic() > self.end:
                busy.clear()  # nothing is waited for either
                return
            try:
                lock = self.store.claim(_name(chunk))
                if lock is None:
                    busy.append(chunk)
                    continue
                self.locks[_name(chunk)] = lock
                self.held |= {cell: self.store.load(cell) for cell in chunk.cells}
            except InputError as error:  # for the queue to raise: in a thread of joblib it would be lost
                self.error = error
                return
            missing = [cell for cell in chunk.cells if self.held[cell] is None]
            if missing:
                yield Chunk(chunk.study, missing)
            else:
                free(self.locks.pop(_name(chunk)))


def needs_memory(studies: Mapping[str, Study], cells: Iterable[Cell]) -> None:
    """Raises InputError for a cell, of these studies by name, that asks for more memory than is free here."""
    for cell in {cell.key(seed=False): cell for cell in cells}.values():
        studies[cell.study].grid.needs_memory(cell.setting)


def _report_damaged(study: Study, store: Store) -> None:
    if store.aside:
        count, (name, reason) = len(store.aside), store.aside[0]
        where = store.folder / "damaged"
        say(f"{study.name}: moved {count} damaged cells to {where}, to be computed again; {name}: {reason}")
        store.aside.clear()


def chunks(studies: Mapping[str, Study], cells: Iterable[Cell]) -> list[Chunk]:
    """Cells of equal setting whose seeds lie in one block ``[size i, size (i + 1))``, in the given order.

    A cell is in the same block in every queue, so that queues exclude each other by one lock per block.
    """
    by_block: dict[str, Chunk] = {}
    for cell in cells:
        study = studies[cell.study]
        by_block.setdefault(block(study, cell), Chunk(study, [])).cells.append(cell)
    return list(by_block.values())


def block(study: Study, cell: Cell) -> str:
    """The name of the block that a cell is in."""
    return f"{cell.study}-{cell.key(seed=False)}-{cell.seed // study.chunk}"


def seconds(chunk: Chunk) -> float:
    """The expected time of a chunk: as recorded, else as its cells took that are stored; 0 where nothing is known."""
    recorded_seconds, first = recorded(chunk.study), chunk.cells[0]
    count = chunk.study.chunk if chunk.study.whole else len(chunk.cells)
    if first.key(seed=False) not in recorded_seconds and (stored := alike(first)):
        return count * stored.provenance["seconds"]
    mean = sum(recorded_seconds.values()) / len(recorded_seconds) if recorded_seconds else 0.0
    return count * recorded_seconds.get(first.key(seed=False), mean)


def recorded(study: Study) -> dict[str, float]:
    """Seconds per cell of a study by the key of its setting, as ``record_seconds`` wrote them."""
    return _recorded().get(study.name, {})


@functools.cache
def _recorded() -> dict[str, dict[str, float]]:
    """Seconds per cell by study and setting, as ``record_seconds`` wrote them."""
    paper, laptop = map(_written, ("paper", "laptop"))
    return {name: paper.get(name, {}) | laptop.get(name, {}) for name in paper | laptop}


def _written(profile: str) -> dict[str, dict[str, float]]:
    try:
        path = paths.seconds_file(profile)
        tables = json.loads(path.read_text(encoding="utf-8"))
        seconds = [number for table in tables.values() for number in table.values()]
    except (InputError, FileNotFoundError):
        return {}
    except (ValueError, AttributeError):  # no JSON, or other tables
        seconds = [math.nan]
    if not all(validate.is_number(number) and number >= 0 for number in seconds):
        raise InputError(f"{path} must hold seconds by study and setting: take it from git again, or remove it")
    return tables


def record_seconds(asked: Wanted, store: Store, profile: str = "laptop") -> None:
    """Writes the seconds of stored cells on the CPU, by which queues begin with the longest; other entries stay."""
    measured: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in itertools.chain(*asked.values()):
        if (stored := store.load(cell)) and stored.provenance["class"] == "cpu":
            measured[cell.study][cell.key(seed=False)].append(stored.provenance["seconds"])
    means = {
        study: {key: float(f"{sum(seconds) / len(seconds):.2g}") for key, seconds in of_study.items()}
        for study, of_study in measured.items()
    }
    text = json.dumps(_written(profile) | means, indent=0, sort_keys=True) + "\n"
    paths.seconds_file(profile).write_text(text, encoding="utf-8")


def _name(chunk: Chunk) -> str:
    return block(chunk.study, chunk.cells[0])
