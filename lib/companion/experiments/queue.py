"""One queue: the missing cells of any number of studies, longest first, on one warm pool of workers.

Cells are pure, so that no number depends on the order, or on what else is in the queue. Each is stored the moment it is
finished; two queues on one store exclude each other by a lock a chunk, and so share the work.
"""

import contextlib
import functools
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from filelock import FileLock

from companion import paths
from companion.experiments.cluster import Cluster
from companion.experiments.progress import Progress, say
from companion.experiments.recheck import Held, drop_changed
from companion.experiments.store import Cell, Record, Store, free
from companion.experiments.study import Study
from companion.experiments.workers import Chunk, Local, Pool, Result
from regimes import devices
from regimes.validate import InputError

_LOOK_EVERY = 0.5  # seconds between looks at cells that another queue computes
Asked = Mapping[Study, Sequence[Cell]]


def fill(asked: Asked, store: Store, *, budget: float | None = None, jobs: int | None = None) -> Held:
    """Computes the cells that the store lacks.

    Args:
        asked: cells by their study.
        store: where they are kept.
        budget: seconds after which no further cell is started; ``None`` for all.
        jobs: worker processes; the default is one a core, and one in all for studies that run on CUDA.

    Returns:
        The record of every cell; ``None`` for what the budget left out.

    Raises:
        InputError: for rows of other seeds than were asked for, a store that vanishes or is full, or a cluster that is
            not there.
        CellError: if a study raises; what was finished is stored.
    """
    held, end = {}, None if budget is None else time.monotonic() + budget
    for kind in ("cuda", "cpu"):
        own = {study: cells for study, cells in asked.items() if devices.kind(study.device) == kind}
        if own:
            with _pool(kind, jobs) as pool:
                held |= _Queue(own, store, pool).run(end)
    return held


@contextlib.contextmanager
def _pool(kind: str, jobs: int | None) -> Iterator[Pool]:
    address = os.environ.get("REGIMES_SCHEDULER")
    pool = Cluster(address) if address else Local(jobs or (1 if kind == "cuda" else None))
    try:
        yield pool
    finally:
        pool.close()


class _Queue:
    """The cells of studies that run on one kind of device, and the pool that computes them.

    Attributes:
        held: what is known of each cell.
    """

    def __init__(self, asked: Asked, store: Store, pool: Pool) -> None:
        self.studies = {study.name: study for study in asked}
        self.store, self.pool = store, pool
        self.held: Held = {}
        for study, cells in asked.items():
            self.held |= drop_changed(study, store, {cell: store.load(cell) for cell in cells}, pool)
            _say_aside(study, store)

    def run(self, end: float | None) -> Held:
        """Computes what is missing; what another queue computes is waited for, and taken from the store."""
        missing = [cell for cell, record in self.held.items() if record is None]
        todo = sorted(chunks(self.studies, missing), key=seconds, reverse=True)
        progress = Progress(self._name(), len(missing), len(self.held), sum(map(seconds, todo)))
        while todo:
            todo = self._pass(todo, end, progress)
            if todo:
                time.sleep(_LOOK_EVERY)
        lost = sum(self.held[cell] is not None and cell not in self.store for cell in missing)
        if lost:
            raise InputError(
                f"{lost} of {len(missing)} cells vanished from the cell store {self.store.folder} in mid-run"
            )
        return self.held

    def _name(self) -> str:
        return next(iter(self.studies)) if len(self.studies) == 1 else f"{len(self.studies)} studies"

    def _pass(self, todo: list[Chunk], end: float | None, progress: Progress) -> list[Chunk]:
        """Computes all chunks that no other queue holds; returns the others."""
        claims = _Claims(self.store, todo, self.held, end)
        try:
            for chunk, result in self.pool.results(iter(claims), len(todo), sum(map(seconds, todo))):
                self.held |= zip(chunk.cells, _save(self.store, chunk, result))
                claims.release(chunk)
                progress.step(len(chunk.cells), seconds(chunk))
        finally:
            claims.release_all()
        if claims.error is not None:
            raise claims.error
        return claims.others


def _say_aside(study: Study, store: Store) -> None:
    if store.aside:
        count, (name, reason) = len(store.aside), store.aside[0]
        where = store.folder / "damaged"
        say(f"{study.name}: moved {count} damaged cells to {where}, to be computed again; {name}: {reason}")
        store.aside.clear()


def chunks(studies: Mapping[str, Study], cells: Iterable[Cell]) -> list[Chunk]:
    """Cells of equal setting whose seeds lie in one block ``[size i, size (i + 1))``, in the given order.

    A cell is in the same block in every queue, so that queues exclude each other by one lock a block.
    """
    found: dict[str, Chunk] = {}
    for cell in cells:
        study = studies[cell.study]
        found.setdefault(block(study, cell), Chunk(study, [])).cells.append(cell)
    return list(found.values())


def block(study: Study, cell: Cell) -> str:
    """The name of the block that a cell is in."""
    return f"{cell.study}-{cell.key(seed=False)}-{cell.seed // study.chunk}"


def seconds(chunk: Chunk) -> float:
    """What a chunk is expected to take; 0 where nothing is known of its study."""
    known = recorded(chunk.study)
    mean = sum(known.values()) / len(known) if known else 0.0
    count = chunk.study.chunk if chunk.study.whole else len(chunk.cells)
    return count * known.get(chunk.cells[0].key(seed=False), mean)


def recorded(study: Study) -> dict[str, float]:
    """Seconds a cell of a study by the key of its setting, as ``record_seconds`` wrote them."""
    return _recorded().get(study.name, {})


@functools.cache
def _recorded() -> dict[str, dict[str, float]]:
    """Seconds a cell by study and setting, as ``record_seconds`` wrote them."""
    found: dict[str, dict[str, float]] = {}
    for profile in ("paper", "laptop"):
        for name, own in _written(profile).items():
            found[name] = found.get(name, {}) | own
    return found


def _written(profile: str) -> dict[str, dict[str, float]]:
    with contextlib.suppress(InputError, OSError, ValueError):
        return json.loads(paths.seconds_file(profile).read_text(encoding="utf-8"))
    return {}


def record_seconds(asked: Asked, store: Store, profile: str = "laptop") -> None:
    """Writes what the stored cells took, for the next queue to begin with the longest; studies not asked for stay.

    Raises:
        Damaged: for a stored cell that is none.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for study, cells in asked.items():
        for cell in cells:
            stored = store.read(cell.name)
            if stored is not None:
                own = found.setdefault(study.name, {}).setdefault(cell.key(seed=False), [])
                own.append(stored["provenance"]["seconds"])
    rounded = {name: {key: float(f"{sum(s) / len(s):.2g}") for key, s in own.items()} for name, own in found.items()}
    whole = json.dumps(_written(profile) | rounded, indent=0, sort_keys=True) + "\n"
    paths.seconds_file(profile).write_text(whole, encoding="utf-8")


class _Claims:
    """Chunks that no other queue computes now, each locked until it is released.

    Attributes:
        others: the chunks that another queue holds.
        error: what kept a lock from being taken.
    """

    def __init__(self, store: Store, todo: list[Chunk], held: Held, end: float | None) -> None:
        self.store, self.todo, self.held, self.end = store, todo, held, end
        self.others: list[Chunk] = []
        self.error: InputError | None = None
        self._locks: dict[str, FileLock] = {}

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.todo:
            if self.end is not None and time.monotonic() > self.end:
                self.others = []  # nothing is waited for either
                return
            try:
                mine = self._claim(chunk)
            except InputError as error:  # for the queue to raise: in a thread of joblib it would be lost
                self.error = error
                return
            if mine.cells:
                yield mine

    def _claim(self, chunk: Chunk) -> Chunk:
        """What is left to compute of a chunk, under its lock; nothing if another queue holds that."""
        lock = self.store.claim(_name(chunk))
        if lock is None:
            self.others.append(chunk)
            return Chunk(chunk.study, [])
        self._locks[_name(chunk)] = lock
        self.held |= {cell: self.store.load(cell) for cell in chunk.cells}
        mine = Chunk(chunk.study, [cell for cell in chunk.cells if self.held[cell] is None])
        if not mine.cells:
            self.release(chunk)
        return mine

    def release(self, chunk: Chunk) -> None:
        """Gives a chunk's lock back."""
        free(self._locks.pop(_name(chunk)))

    def release_all(self) -> None:
        """Gives all locks back."""
        while self._locks:
            free(self._locks.popitem()[1])


def _name(chunk: Chunk) -> str:
    return block(chunk.study, chunk.cells[0])


def _save(store: Store, chunk: Chunk, result: Result) -> list[Record]:
    rows = {cell.seed: [row for row in result.rows if row["seed"] == cell.seed] for cell in chunk.cells}
    return store.save(*((cell, rows[cell.seed], result.provenance) for cell in chunk.cells))
