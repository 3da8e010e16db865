"""Studies over grids of settings: parallel, resumable, and void when their numbers change.

A *study* is a named pure function from one setting and a list of seeds to rows. ``sweep`` maps it over a grid and
returns a tidy table. A *cell* is one (study, version, setting, seed): it is stored the moment it is finished, so that a
killed sweep resumes where it stood.

Each stored cell carries the digest of the code it came from. Under a new digest the cheapest stored cell is computed
again first: if it agrees within the study's tolerance the rest stands, else all cells of the study under that old
digest are void.
"""

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import torch

from regimes import check
from regimes.check import InputError
from regimes.store import Cell, Store, agree, digest, stamp
from regimes.table import CELL, STAMP, Origin, names_cell, remember

Setting = dict[str, Any]
Rows = list[dict[str, Any]]
# with less than this left to do, starting worker processes (they import torch) costs more than it saves
_INLINE_SECONDS = 5.0
_LINE_EVERY = 60.0  # seconds between progress lines where there is no terminal


@dataclass(frozen=True)
class Study:
    """A named measurement: ``function(setting, seeds) -> rows``, each row with its ``seed``.

    Attributes:
        function: the measurement; pure, importable from its module.
        version: raised by hand when the meaning of the numbers changes.
        grid: maps a chapter's parameters to the list of settings; raises InputError for values that make no sense.
        chunk: how many seeds one call gets.
        rtol: relative tolerance when stored numbers are compared with recomputed ones.
        data: the words a caption prints, where the rows carry no ``source``.
    """

    function: Callable[[Setting, list[int]], Rows] = field(repr=False)
    version: int
    grid: Callable[[Mapping[str, Any]], list[Setting]] = field(repr=False)
    chunk: int = 1
    rtol: float = 1e-6
    data: str = ""

    @property
    def name(self) -> str:
        """``room.function``, such as ``depth.mnist_regression``."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    def __call__(self, setting: Setting, seeds: Sequence[int]) -> Rows:
        """The rows at one setting; nothing is stored."""
        return self.function(dict(setting), list(seeds))

    def __reduce__(self) -> Any:
        module = sys.modules[self.function.__module__]
        if getattr(module, self.function.__name__, None) is self and module.__name__ != "__main__":
            return _lookup, (module.__name__, self.function.__name__)  # by name: the module's own object
        return Study, (self.function, self.version, self.grid, self.chunk, self.rtol, self.data)


def _lookup(module: str, name: str) -> Study:
    return getattr(__import__(module, fromlist=[name]), name)


def study(
    *,
    version: int,
    grid: Callable[[Mapping[str, Any]], list[Setting]],
    chunk: int = 1,
    rtol: float = 1e-6,
    data: str = "",
) -> Callable[[Callable[[Setting, list[int]], Rows]], Study]:
    """Decorator that makes a function a ``Study``; the arguments are its attributes."""

    def wrap(function: Callable[[Setting, list[int]], Rows]) -> Study:
        made = Study(function, version, grid, chunk, rtol, data)
        object.__setattr__(made, "__doc__", function.__doc__)
        return made

    return wrap


def product(*, seeds: Sequence[int], **axes: Any) -> list[Setting]:
    """The grid of all combinations: a list, tuple or range is an axis, anything else is fixed.

    A list as one value is written ``[[...]]``. Every setting gets ``seeds``.

    Raises:
        InputError: for an empty axis or no seed.
    """
    lists = {k: list(v) if isinstance(v, (list, tuple, range)) else [v] for k, v in axes.items()}
    for name, values in {**lists, "seeds": list(seeds)}.items():
        if not values:
            raise InputError(f"{name} must hold at least one value, got none")
    return [dict(zip(lists, values)) | {"seeds": list(seeds)} for values in itertools.product(*lists.values())]


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
        jobs: worker processes; the default is one a core (one in all on CUDA). ``$REGIMES_SCHEDULER=tcp://...`` sends
            the cells to that Dask cluster instead.

    Returns:
        A table with one row a measurement, which holds the setting, ``seed``, the measured columns, the key of its
        ``cell`` (see ``regimes.table``) and that cell's ``seconds``, ``device`` and ``revision``. ``attrs["missing"]``
        counts the cells that the budget left out.

    Raises:
        InputError: for an empty grid, a budget that is not positive, or a setting or row that uses the name ``cell``.
    """
    if not grid:
        raise InputError(f"the grid of {study.name} holds no setting")
    if budget is not None:
        check.positive(budget=budget)
    store = store or Store.default()
    code = digest(study.function)
    _void_changed(study, store, code)
    cells = [Cell(study.name, study.version, s, seed) for s, seed in _pairs(grid)]
    held = {cell: store.load(cell) for cell in cells}
    missing = [cell for cell in cells if held[cell] is None]
    for chunk, rows, made in _computed(study, _chunks(missing, study.chunk), jobs, budget, len(cells)):
        for cell in chunk:
            own = [row for row in rows if row["seed"] == cell.seed]
            held[cell] = store.save(cell, own, made | {"digest": code, "seconds": made["seconds"] / len(chunk)})
    return _table(study, held)


def _pairs(grid: Sequence[Setting]) -> Iterator[tuple[Setting, int]]:
    for setting in grid:
        for seed in setting["seeds"]:
            yield {k: v for k, v in setting.items() if k != "seeds"}, seed


def _chunks(cells: list[Cell], size: int) -> list[list[Cell]]:
    """Cells of equal setting, at most ``size`` seeds together, in the grid's order."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.key(seed=False), []).append(cell)
    return [group[i : i + size] for group in groups.values() for i in range(0, len(group), size)]


def _compute(study: Study, chunk: list[Cell]) -> tuple[list[Cell], Rows, dict[str, Any]]:
    """One call of the study on one thread, so that its numbers do not depend on the number of workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        start = time.perf_counter()
        rows = study(chunk[0].setting, [cell.seed for cell in chunk])
        return chunk, rows, stamp() | {"seconds": time.perf_counter() - start}
    finally:
        torch.set_num_threads(threads)


def _computed(
    study: Study, chunks: list[list[Cell]], jobs: int | None, budget: float | None, total: int
) -> Iterator[tuple[list[Cell], Rows, dict[str, Any]]]:
    """Results as they finish: in this process while that is cheaper than starting workers, then on all cores."""
    start = time.monotonic()
    progress = _Progress(study.name, sum(map(len, chunks)), total)
    queue = iter(chunks)
    jobs = jobs or (1 if torch.cuda.is_available() else joblib.cpu_count())

    def in_time() -> Iterator[list[Cell]]:
        for chunk in queue:
            if budget is not None and time.monotonic() - start > budget:
                return
            yield chunk

    done = 0
    for chunk in in_time():
        yield progress.step(_compute(study, chunk))
        done += 1
        spent = time.monotonic() - start
        if not os.environ.get("REGIMES_SCHEDULER") and (
            jobs == 1 or spent / done * (len(chunks) - done) < _INLINE_SECONDS
        ):
            continue
        break
    if done < len(chunks):
        for result in _parallel(study, in_time(), jobs):
            yield progress.step(result)


def _parallel(study: Study, chunks: Iterator[list[Cell]], jobs: int) -> Iterator[Any]:
    address = os.environ.get("REGIMES_SCHEDULER")
    if address:
        from dask.distributed import Client  # only where a cluster is named

        with Client(address), joblib.parallel_config("dask"):
            yield from joblib.Parallel(return_as="generator_unordered")(
                joblib.delayed(_compute)(study, chunk) for chunk in chunks
            )
        return
    with joblib.parallel_config("loky", initializer=_end_with, initargs=(os.getpid(),)):
        pool = joblib.Parallel(n_jobs=jobs, pre_dispatch="n_jobs", batch_size=1, return_as="generator_unordered")
    yield from pool(joblib.delayed(_compute)(study, chunk) for chunk in chunks)


def _end_with(parent: int) -> None:
    """Ends this process soon after ``parent`` has: who is killed cannot tell its workers to go."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _void_changed(study: Study, store: Store, code: str) -> None:
    """Tries each older digest among the stored cells once; voids its cells if the numbers have changed."""
    for old, cell in store.cheapest_by_digest(study.name, study.version).items():
        if old == code or store.accepted(study.name, old, code):
            continue
        _, rows, _ = _compute(study, [cell])
        if agree(store.load(cell)["rows"], rows, study.rtol):
            store.accept(study.name, old, code)
            continue
        count = store.void(study.name, study.version, old)
        _say(f"{study.name}: the code changed and so did its numbers; {count} stored cells are void")


def _table(study: Study, held: Mapping[Cell, dict[str, Any] | None]) -> pd.DataFrame:
    rows, origins = [], {}
    for cell, stored in held.items():
        if stored is None:
            continue
        made, key = stored["provenance"], cell.key()
        origins[key] = Origin(
            study.name, cell.setting, cell.seed, study.data, **{name: made[name] for name in (*STAMP, "versions")}
        )
        extra = {CELL: key} | {name: made[name] for name in STAMP}
        rows += [cell.setting | row | extra for row in stored["rows"]]
        taken = [
            name for name in (cell.setting | dict.fromkeys(n for r in stored["rows"] for n in r)) if names_cell(name)
        ]
        if taken:
            raise InputError(
                f"{study.name} names a setting or column {taken[0]!r}; {CELL!r} is the name of a row's cell"
            )
    remember(origins)
    table = pd.DataFrame(rows)
    table.attrs = {"missing": sum(stored is None for stored in held.values())}
    return table


class _Progress:
    """A bar on a terminal, a line a minute otherwise; silent for sweeps that end sooner."""

    def __init__(self, name: str, missing: int, total: int) -> None:
        self.name, self.missing, self.done = name, missing, 0
        self.start = self.last = time.monotonic()
        if missing < total:
            _say(f"{name}: {total - missing} of {total} cells were stored", quiet=True)

    def step(self, result: tuple[list[Cell], Rows, dict[str, Any]]) -> Any:
        """Counts a finished chunk and passes it on."""
        self.done += len(result[0])
        now = time.monotonic()
        text = f"{self.name}: {self.done}/{self.missing} cells, {now - self.start:.0f} s"
        if _log_path() is None and sys.stderr.isatty():
            print(f"\r{text}", end="\n" if self.done == self.missing else "", file=sys.stderr, flush=True)
        elif now - self.last > _LINE_EVERY or (self.done == self.missing and now - self.start > _LINE_EVERY):
            self.last = now
            _say(text)
        return result


def _log_path() -> Path | None:
    """Where progress goes inside a notebook, whose stderr would land on the page; the runner shows that file."""
    path = os.environ.get("REGIMES_LOG")
    return Path(path) if path else None


def _say(text: str, *, quiet: bool = False) -> None:
    path = _log_path()
    if path is not None:
        with path.open("a", encoding="utf-8") as log:
            print(text, file=log)
    elif not quiet:
        print(text, file=sys.stderr, flush=True)
