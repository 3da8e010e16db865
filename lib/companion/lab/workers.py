"""Computing chunks of cells: in this process while that is faster than starting workers, then on all cores.

``REGIMES_SCHEDULER`` sends them to a cluster instead, see ``companion.lab.cluster``.
"""

import contextlib
import itertools
import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

import joblib
import torch

from companion.lab import digest
from companion.lab.design import Entries
from companion.lab.errors import CellError
from companion.lab.progress import say
from companion.lab.store import Cell, stamp
from companion.lab.study import Rows, Study
from companion.lab.table import STAMP, names_cell
from regimes import devices
from regimes.training.gradient_flow import pairs
from regimes.validate import InputError

# with less than this left to do, starting worker processes costs more than it saves: new ones import torch
INLINE_SECONDS, FORKED_SECONDS = 5.0, 1.0
_WATCH_EVERY = 0.5  # seconds between a worker's looks at its parent


class Chunk(NamedTuple):
    """The input of one call of a study: its cells, of one setting and one block of seeds."""

    study: Study
    cells: list[Cell]


class Computed(NamedTuple):
    """Rows of one call of a study; device and its class, revision, versions, digest of the code, seconds per cell."""

    rows: Rows
    provenance: dict[str, Any]


class OtherCode(InputError):
    """This process has other code than the process that asks for the computation."""


def compute(chunk: Chunk, code: digest.Code) -> Computed:
    """One call of the study on one thread, so that its numbers do not depend on the number of workers.

    ``code`` is that of the process which asks: this one must have the same.
    """
    study, cells = chunk
    own_digest = digest.here(code)
    if own_digest != code.digest:
        raise OtherCode(f"a worker has other code of {study.name}: install the same revision everywhere")
    seeds, threads = [cell.seed for cell in cells], torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        start = time.perf_counter()
        with devices.allowed(study.device, study.pairs(cells[0].setting)) as used:
            rows = study(cells[0].setting, seeds)
        seconds = (time.perf_counter() - start) / len(cells)
    except InputError:
        raise
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        words, why = f"{study.name} at {cells[0].setting} does not fit on", str(error).partition(". GPU")[0]
        raise InputError(f"{words} {devices.names(used)}: {why} (REGIMES_DEVICE=cpu has other memory)") from None
    except Exception as error:
        words = ": ".join(filter(None, [type(error).__name__, str(error)]))
        raise CellError(f"{study.name} failed at {cells[0].setting}, seeds {seeds}: {words}") from error
    finally:
        torch.set_num_threads(threads)
    _check_rows(chunk, rows)
    made = {"class": study.kind(cells[0].setting), "digest": own_digest, "seconds": seconds}
    return Computed(rows, stamp(used) | made)


def _check_rows(chunk: Chunk, rows: Any) -> None:
    study, cells = chunk
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "seed" in row for row in rows):
        raise InputError(f"{study.name} must return a list of rows, each a dictionary with its 'seed'")
    seeds_asked, seeds_given = {cell.seed for cell in cells}, {row["seed"] for row in rows}
    if seeds_asked != seeds_given:
        raise InputError(
            f"{study.name} was asked for the seeds {sorted(seeds_asked)}, its rows have {sorted(seeds_given, key=str)}"
        )
    measured = list(dict.fromkeys(name for row in rows for name in row))
    check_names(study, measured)
    settings = {*cells[0].setting, *study.grid.axes}
    if clashing := [name for name in measured if name in settings]:
        raise InputError(f"{study.name} measures a column {clashing[0]!r}, which names a setting: rename the column")


def check_names(study: Study, names: Any) -> None:
    """Refuses settings or columns named like a column that a table adds to every row."""
    reserved = [name for name in names if names_cell(name) or name in STAMP]
    if reserved:
        raise InputError(f"{study.name} names a setting or column {reserved[0]!r}, which every table has for its cells")


class Local:
    """This process and, for longer work, ``jobs`` workers (default: one per core), which stay for the next queue."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or joblib.cpu_count()

    def kind(self, study: Study, setting: Entries) -> str:
        """The class of device that a setting of a study is computed on, ``"cpu"`` or ``"cuda"``."""
        return study.kind(setting)

    def results(self, chunks: Iterator[Chunk], count: int, seconds: float) -> Iterator[tuple[Chunk, Computed]]:
        """Computes chunks in the order given, and yields results as they are finished.

        Args:
            chunks: what to compute, in that order.
            count: their largest number.
            seconds: their expected time on one core; 0 if unknown.
        """
        spent, done = 0.0, 0
        few = FORKED_SECONDS if forks() else INLINE_SECONDS
        while min(self.jobs, count - done) < 2 or seconds < few:
            chunk = next(chunks, None)
            if chunk is None:
                return
            result = compute(chunk, chunk.study.code)
            yield chunk, result
            done += 1
            spent += result.provenance["seconds"] * len(chunk.cells)  # without what a first call looks up once
            seconds = spent / done * (count - done)
        pairs.routines()  # compiled, or why not, once and not by every worker
        yield from (_forked if forks() else _parallel)(chunks, min(self.jobs, max(count - done, 2)))


def _parallel(chunks: Iterator[Chunk], jobs: int) -> Iterator[tuple[Chunk, Computed]]:
    # a queue that ends early says why itself
    warnings.filterwarnings("ignore", ".*tasks (which|have been)", UserWarning)
    with joblib.parallel_config(backend="loky", initializer=die_with, initargs=(os.getpid(),)):
        pool = joblib.Parallel(n_jobs=jobs, pre_dispatch="n_jobs", batch_size=1, return_as="generator_unordered")
    return pool(joblib.delayed(_with_chunk)(chunk, chunk.study.code) for chunk in chunks)


def _forked(chunks: Iterator[Chunk], jobs: int) -> Iterator[tuple[Chunk, Computed]]:
    """The same in copies of this process, which have imported all there is to import; they end with the queue.

    Where one is killed, what ran then is computed again one chunk at a time: two may need more memory than there is.
    """
    while lost := (yield from _pool(chunks, jobs)):
        say(
            f"a worker was killed (short of memory?): its cells, and those beside it, one at a time: {len(lost)} chunks"
        )
        for chunk in lost:
            if (yield from _pool(iter([chunk]), 1)):
                at = f"{chunk.study.name} at {chunk.cells[0].setting}"
                raise InputError(
                    f"the worker that computed {at} was killed (short of memory?); what is finished is kept"
                )


def _pool(chunks: Iterator[Chunk], jobs: int) -> Generator[tuple[Chunk, Computed], None, list[Chunk]]:
    """The results of copies of this process; returns the chunks that ran when one of them was killed."""
    context, siblings = multiprocessing.get_context("fork"), set(multiprocessing.active_children())
    # not loky's, which forks again, beside its own threads, for a worker whose memory has grown
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=die_with, initargs=(os.getpid(),))
    running: dict[Future, Chunk] = {}
    lost: list[Chunk] = []
    by_value = joblib.wrap_non_picklable_objects  # a notebook may have defined the study

    def begin(count: int) -> None:
        for chunk in itertools.islice(chunks, count):
            try:
                running[pool.submit(compute, by_value(chunk, keep_wrapper=False), chunk.study.code)] = chunk
            except BrokenProcessPool:
                lost.append(chunk)

    try:
        begin(jobs)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                chunk = running.pop(future)
                if isinstance(future.exception(), BrokenProcessPool):
                    lost.append(chunk)
                    continue
                if not lost:
                    begin(1)
                yield chunk, future.result()
        return lost
    finally:
        for worker in set(multiprocessing.active_children()) - siblings:
            worker.kill()  # where the queue ended early; else they have nothing to do
        pool.shutdown(cancel_futures=True)


_allowed = False


@contextlib.contextmanager
def forking() -> Iterator[None]:
    """Within, this process is a command of the book's: it has no threads of a reader's, and may be copied.

    Nor has it torch's: a copy would wait for them for ever.
    """
    global _allowed
    before, _allowed = _allowed, True
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        _allowed = before
        torch.set_num_threads(threads)


def forks() -> bool:
    """Whether workers may be copies of this process: not beside CUDA, which a copy cannot use."""
    return _allowed and sys.platform == "linux" and not torch.cuda.is_available()


def _with_chunk(chunk: Chunk, code: digest.Code) -> tuple[Chunk, Computed]:
    return chunk, compute(chunk, code)


def die_with(parent: int) -> None:
    """Ends this process when its parent is gone, so that a killed sweep leaves no worker behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
