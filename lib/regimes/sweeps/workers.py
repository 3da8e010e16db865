"""Where chunks of cells are computed: in this process while that is cheaper than starting workers, then on all cores.

``REGIMES_SCHEDULER`` sends them to a cluster instead, see ``regimes.sweeps.cluster``.
"""

import math
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import joblib
import torch

from regimes import devices
from regimes.sweeps import digest
from regimes.sweeps.store import Cell, stamp
from regimes.sweeps.study import Rows, Study
from regimes.sweeps.table import STAMP, names_cell
from regimes.validate import InputError

Chunk = list[Cell]  # of one setting
# with less than this left to do, starting worker processes (they import torch) costs more than it saves
INLINE_SECONDS = 5.0
IDLE_SECONDS = 240.0  # workers that were used within this time are still there: they end themselves after five minutes
_WATCH_EVERY = 0.5  # seconds between a worker's looks at its parent


@dataclass(frozen=True)
class Result:
    """What one call of a study gave.

    Attributes:
        rows: its rows.
        provenance: device and its class, revision, versions, digest of the code, seconds a cell.
    """

    rows: Rows
    provenance: dict[str, Any]


class OtherCode(InputError):
    """This process has other code than the one that asks it to compute."""


class Pool(Protocol):
    """What computes chunks, as they are handed in, and gives results as they are finished."""

    @property
    def kind(self) -> str:
        """The class of device it computes on, ``"cpu"`` or ``"cuda"``."""

    def results(self, chunks: Iterator[Chunk], count: int) -> Iterator[tuple[Chunk, Result]]:
        """Results in the order they are finished; ``count`` is the most there may be."""


def compute(study: Study, chunk: Chunk, code: digest.Code) -> Result:
    """One call of the study on one thread, so that its numbers do not depend on the number of workers.

    Raises:
        InputError: if the rows are not those of the seeds asked for, or use a name that is taken.
        OtherCode: if this process has other code than ``code``, that of the process which asks.
    """
    found = digest.here(code)
    if found != code.digest:
        raise OtherCode(f"a worker has other code of {study.name}: install the same revision everywhere")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        start = time.perf_counter()
        with devices.allowed(study.device) as used:
            rows = study(chunk[0].setting, [cell.seed for cell in chunk])
        seconds = (time.perf_counter() - start) / len(chunk)
    finally:
        torch.set_num_threads(threads)
    _check_rows(study, chunk, rows)
    made = {"class": devices.kind(study.device), "digest": found, "seconds": seconds}
    return Result(rows, stamp(used) | made)


def _check_rows(study: Study, chunk: Chunk, rows: Any) -> None:
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "seed" in row for row in rows):
        raise InputError(f"{study.name} must return a list of rows, each a dictionary with its 'seed'")
    asked, given = {cell.seed for cell in chunk}, {row["seed"] for row in rows}
    if asked != given:
        raise InputError(
            f"{study.name} was asked for the seeds {sorted(asked)}, its rows have {sorted(given, key=str)}"
        )
    check_names(study, chunk[0].setting | dict.fromkeys(name for row in rows for name in row))


def check_names(study: Study, names: Any) -> None:
    """No setting or column may be called as what a table adds to every row.

    Raises:
        InputError: naming the first that is.
    """
    taken = [name for name in names if names_cell(name) or name in STAMP]
    if taken:
        raise InputError(f"{study.name} names a setting or column {taken[0]!r}, which every table has for its cells")


class Local:
    """This process and, when there is more to do, worker processes on this machine.

    Args:
        study: what they compute.
        jobs: worker processes; the default is one a core, and one in all where the study runs on CUDA.
    """

    _used = (0, -math.inf)  # how many workers were last at work for this process, and when

    def __init__(self, study: Study, jobs: int | None = None) -> None:
        self.study = study
        self.kind = devices.kind(study.device)
        self.jobs = jobs or (1 if self.kind == "cuda" else joblib.cpu_count())

    def results(self, chunks: Iterator[Chunk], count: int) -> Iterator[tuple[Chunk, Result]]:
        """As ``Pool.results``."""
        start, done = time.monotonic(), 0
        if count > 1 and self._ready(start):
            yield from self._parallel(chunks, Local._used[0])
            return
        for chunk in chunks:
            yield chunk, compute(self.study, chunk, self.study.code)
            done += 1
            if self.jobs > 1 and (time.monotonic() - start) / done * (count - done) >= INLINE_SECONDS:
                yield from self._parallel(chunks, min(self.jobs, count - done))

    def _ready(self, now: float) -> bool:
        """Whether an earlier sweep's workers are there for this one; not for a reader's study: they may not know it."""
        workers, last = Local._used
        return (
            1 < workers <= self.jobs
            and now - last < IDLE_SECONDS
            and self.study.function.__module__.startswith("regimes.")
        )

    def _parallel(self, chunks: Iterator[Chunk], jobs: int) -> Iterator[tuple[Chunk, Result]]:
        with joblib.parallel_config(backend="loky", initializer=die_with, initargs=(os.getpid(),)):
            pool = joblib.Parallel(n_jobs=jobs, pre_dispatch="n_jobs", batch_size=1, return_as="generator_unordered")
        code = self.study.code
        try:
            yield from pool(joblib.delayed(_with_chunk)(self.study, chunk, code) for chunk in chunks)
        finally:
            Local._used = (jobs, time.monotonic())


def _with_chunk(study: Study, chunk: Chunk, code: digest.Code) -> tuple[Chunk, Result]:
    return chunk, compute(study, chunk, code)


def die_with(parent: int) -> None:
    """Ends this process when its parent is gone, so that a killed sweep leaves no worker behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
