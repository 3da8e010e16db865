"""Studies over grids of settings: parallel, resumable, and void when their numbers change.

A *study* is a named pure function from one setting and a list of seeds to rows. ``sweep`` maps it over a grid and
returns a tidy table. A *cell* is one (study, version, setting, seed): it is stored the moment it is finished, so that a
killed sweep resumes where it stood, and two sweeps on one store share the work.

Each stored cell carries the digest of the code it came from. Under a new digest a sample of the stored cells is
computed again first (``regimes.sweeps.recheck``): if it agrees within the study's tolerance the rest stands, else the
cells of the study under that old digest are void.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from filelock import FileLock

from regimes import validate
from regimes.sweeps.cluster import Cluster
from regimes.sweeps.progress import Progress, say
from regimes.sweeps.recheck import Held, drop_changed
from regimes.sweeps.store import Cell, Damaged, Record, Store, free
from regimes.sweeps.study import STATISTICAL, Rows, Setting, Study, product, study
from regimes.sweeps.table import CELL, STAMP, Origin, remember
from regimes.sweeps.workers import Chunk, Local, Pool, Result, check_names
from regimes.validate import InputError

__all__ = ["STATISTICAL", "Rows", "Setting", "Study", "product", "stored", "study", "sweep"]
_LOOK_EVERY = 0.5  # seconds between looks at cells that another sweep computes


def sweep(
    study: Study,
    grid: Sequence[Setting],
    *,
    budget: float | None = None,
    store: Store | None = None,
    jobs: int | None = None,
) -> pd.DataFrame:
    """All rows of a study over a grid, computing only the cells that the store lacks.

    Args:
        study: the study.
        grid: settings, each with its ``seeds``; see ``product``.
        budget: seconds after which no further cell is started; ``None`` for all.
        store: where cells are kept; the default is ``$REGIMES_STORE``, else ``build/cells`` of the book.
        jobs: worker processes; the default is one a core (one in all where the study runs on CUDA).
            ``$REGIMES_SCHEDULER=tcp://...`` sends the cells to that Dask cluster instead.

    Returns:
        A table with one row a measurement, which holds the setting, ``seed``, the measured columns, the key of its
        ``cell`` (see ``regimes.sweeps.table``) and that cell's ``seconds``, ``device`` and ``revision``.
        ``attrs["missing"]`` counts the cells that the budget left out.

    Raises:
        InputError: for an empty grid, a budget or jobs that are not positive, a setting or row that uses the name
            ``cell``, rows of other seeds than were asked for, a store that vanishes or is full, or a cluster that is
            not there.
    """
    cells = _cells(study, grid)
    if budget is not None:
        validate.positive(budget=budget)
    if jobs is not None:
        validate.integer(1, jobs=jobs)
    store = store or Store.default()
    with _pool(study, jobs) as pool:
        held = drop_changed(study, store, {cell: store.load(cell) for cell in cells}, pool)
        _say_aside(study, store)
        _fill(study, store, held, pool, budget)
    return _table(study, held)


def stored(study: Study, grid: Sequence[Setting], store: Store | None = None) -> pd.DataFrame:
    """The table of the stored cells, as ``sweep``; nothing is computed, compared or moved.

    Raises:
        InputError: for an empty grid, or a setting that uses the name ``cell``.
    """
    held: Held = {}
    store = store or Store.default()
    for cell in _cells(study, grid):
        try:
            held[cell] = store.read(cell)
        except Damaged as error:
            say(f"{study.name}: the stored cell {cell.name} is left out: {error}")
            held[cell] = None
    return _table(study, held)


def _cells(study: Study, grid: Sequence[Setting]) -> list[Cell]:
    if not grid:
        raise InputError(f"the grid of {study.name} holds no setting")
    check_names(study, {name for setting in grid for name in setting})
    pairs = [({k: v for k, v in setting.items() if k != "seeds"}, setting["seeds"]) for setting in grid]
    return [Cell(study.name, study.version, setting, seed) for setting, seeds in pairs for seed in seeds]


@contextlib.contextmanager
def _pool(study: Study, jobs: int | None) -> Iterator[Pool]:
    address = os.environ.get("REGIMES_SCHEDULER")
    if not address:
        yield Local(study, jobs)
        return
    cluster = Cluster(study, address)
    try:
        yield cluster
    finally:
        cluster.close()


def _say_aside(study: Study, store: Store) -> None:
    if store.aside:
        count, (name, reason) = len(store.aside), store.aside[0]
        where = store.folder / "damaged"
        say(f"{study.name}: moved {count} damaged cells to {where}, to be computed again; {name}: {reason}")
        store.aside.clear()


def _fill(study: Study, store: Store, held: Held, pool: Pool, budget: float | None) -> None:
    """Computes what is missing into ``held``; what another sweep computes is waited for, and taken from the store."""
    end = None if budget is None else time.monotonic() + budget
    missing = [cell for cell, record in held.items() if record is None]
    progress = Progress(study.name, len(missing), len(held))
    todo = _chunks(missing, study.chunk)
    while todo:
        claims = _Claims(store, todo, study.chunk, held, end)
        try:
            for chunk, result in pool.results(iter(claims), len(todo)):
                held |= zip(chunk, _save(store, chunk, result))
                claims.release(chunk)
                progress.step(len(chunk))
        finally:
            claims.release_all()
        todo = claims.others
        if claims.error is not None:
            raise claims.error
        if todo:
            time.sleep(_LOOK_EVERY)
    lost = sum(held[cell] is not None and cell not in store for cell in missing)
    if lost:
        raise InputError(f"{lost} of {len(missing)} cells vanished from the cell store {store.folder} in mid-run")


def _chunks(cells: list[Cell], size: int) -> list[Chunk]:
    """Cells of equal setting whose seeds lie in one block ``[size i, size (i + 1))``, in the grid's order.

    A cell is in the same block in every sweep, so that sweeps exclude each other by one lock a block.
    """
    blocks: dict[str, Chunk] = {}
    for cell in cells:
        blocks.setdefault(_block(cell, size), []).append(cell)
    return list(blocks.values())


def _block(cell: Cell, size: int) -> str:
    return f"{cell.study}-{cell.key(seed=False)}-{cell.seed // size}"


class _Claims:
    """Chunks that no other sweep computes now, each locked until it is released.

    Attributes:
        others: the chunks that another sweep holds.
        error: what kept a lock from being taken.
    """

    def __init__(self, store: Store, chunks: list[Chunk], size: int, held: Held, end: float | None) -> None:
        self.store, self.chunks, self.size, self.held, self.end = store, chunks, size, held, end
        self.others: list[Chunk] = []
        self.error: InputError | None = None
        self._locks: dict[str, FileLock] = {}

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.chunks:
            if self.end is not None and time.monotonic() > self.end:
                self.others = []  # nothing is waited for either
                return
            try:
                mine = self._claim(chunk)
            except InputError as error:  # for the sweep to raise: in a thread of joblib it would be lost
                self.error = error
                return
            if mine:
                yield mine

    def _claim(self, chunk: Chunk) -> Chunk:
        """What is left to compute of a chunk, under its lock; nothing if another sweep holds that."""
        lock = self.store.claim(_block(chunk[0], self.size))
        if lock is None:
            self.others.append(chunk)
            return []
        self._locks[_block(chunk[0], self.size)] = lock
        self.held |= {cell: self.store.load(cell) for cell in chunk}
        mine = [cell for cell in chunk if self.held[cell] is None]
        if not mine:
            self.release(chunk)
        return mine

    def release(self, chunk: Chunk) -> None:
        """Gives a chunk's lock back."""
        free(self._locks.pop(_block(chunk[0], self.size)))

    def release_all(self) -> None:
        """Gives all locks back."""
        while self._locks:
            free(self._locks.popitem()[1])


def _save(store: Store, chunk: Chunk, result: Result) -> list[Record]:
    rows = {cell.seed: [row for row in result.rows if row["seed"] == cell.seed] for cell in chunk}
    return store.save_all([(cell, rows[cell.seed], result.provenance) for cell in chunk])


def _table(study: Study, held: Mapping[Cell, Record | None]) -> pd.DataFrame:
    rows, origins = [], {}
    for cell, record in held.items():
        if record is None:
            continue
        made, key = record["provenance"], cell.key()
        known = {name: made[name] for name in (*STAMP, "versions", "digest")}
        origins[key] = Origin(study.name, study.version, cell.setting, cell.seed, study.data, **known)
        extra = {CELL: key} | {name: made[name] for name in STAMP}
        rows += [cell.setting | row | extra for row in record["rows"]]
    remember(origins)
    table = pd.DataFrame(rows)
    table.attrs = {"missing": sum(record is None for record in held.values())}
    return table
