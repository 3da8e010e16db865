"""Computing chunks on a Dask cluster only (``REGIMES_SCHEDULER=tcp://host:8786``, or ``tls``).

Each worker must have the code, Python and libraries of the process that asks. The digest is taken where the cell is
computed, and a worker with another one ends the run. Workers may come and go; the chunks of a lost one go to another.
This process submits two chunks per thread, stores the cells that come back, and must run until the end.
"""

import contextlib
import logging
import pickle
import queue
import time
from collections.abc import Iterator
from typing import Any

from companion.lab import _remote, digest
from companion.lab.design import Entries
from companion.lab.store import Cell, libraries
from companion.lab.study import Study
from companion.lab.workers import Chunk, Computed, OtherCode, compute
from regimes.validate import InputError

SECONDS = 15.0  # for a scheduler to answer, and for a first worker, or another when all have gone
_TICK = 1.0  # seconds between looks at the scheduler while no result comes
_MOST = 400  # chunks handed in at once: each holds a lock, which is an open file


class Cluster:
    """The cluster of the scheduler at ``address``; the connection is made with the first chunk."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._client: Any = None
        self._seen = 0.0  # when there last was a worker

    def close(self) -> None:
        """Leaves the cluster."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=2)

    def kind(self, study: Study, setting: Entries) -> str:
        """The class of device on which a worker with the study's code computes a setting."""
        ((_, kind),) = self._map(_kind, iter([Chunk(study, [Cell(study.name, study.version, dict(setting), 0)])]))
        return kind

    def results(self, chunks: Iterator[Chunk], count: int, seconds: float) -> Iterator[tuple[Chunk, Computed]]:
        """As ``Local.results``; InputError if no scheduler or worker is there within 15 s, or one has other code."""
        yield from self._map(compute, chunks)

    def _map(self, function: Any, items: Iterator[Chunk]) -> Iterator[tuple[Chunk, Any]]:
        import cloudpickle  # which also takes a study that a script or notebook defines

        client = self._connected()
        flight: dict[Any, Chunk] = {}
        back: queue.SimpleQueue = queue.SimpleQueue()
        try:
            while True:
                free = min(_MOST, 2 * sum(self._workers().values())) - len(flight)
                for _, item in zip(range(free), items):
                    work = cloudpickle.dumps((function, item, item.study.code, libraries()))
                    future = client.submit(_remote.on_worker, work, pure=False)
                    flight[future] = item
                    future.add_done_callback(back.put)
                if not flight:
                    return
                with contextlib.suppress(queue.Empty):
                    future = back.get(timeout=_TICK)
                    item = flight.pop(future)
                    yield item, self._answer(future, item.study)
        finally:
            with contextlib.suppress(Exception):
                client.cancel(list(flight))

    def _answer(self, future: Any, study: Study) -> Any:
        from distributed.scheduler import KilledWorker

        if future.status == "cancelled" or self._client.status != "running":
            raise self._gone()
        try:
            return future.result(timeout=SECONDS)
        except KilledWorker:
            why = "ended several workers, one after another (short of memory?)"
            raise InputError(f"a cell of {study.name} {why}") from None
        except ModuleNotFoundError as error:
            raise InputError(f"a worker at {self.address} cannot load the library: {error}") from None

    def _connected(self) -> Any:
        if self._client is None:
            self._client = _connect(self.address)
            self._seen = time.monotonic()
        while not self._workers():
            time.sleep(0.1)
        return self._client

    def _workers(self) -> dict[str, int]:
        """The workers and their numbers of threads; InputError where there has been none for 15 s."""
        try:
            threads = self._client.nthreads()
        except Exception:
            raise self._gone() from None
        if self._client.status != "running":
            raise self._gone()
        if threads:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > SECONDS:
            raise InputError(f"the scheduler at {self.address} has had no worker for {SECONDS:g} s")
        return threads

    def _gone(self) -> InputError:
        return InputError(f"the scheduler at {self.address} has gone away; what is stored stays")


def _connect(address: str) -> Any:
    try:
        from distributed import Client, Security
    except ImportError:
        missing = "distributed is not installed: pip install 'regimes-companion[cluster]'"
        raise InputError(f"REGIMES_SCHEDULER is set, but {missing}") from None
    if address.startswith("tls://") and not Security().get_connection_args("client").get("ssl_context"):
        raise InputError(f"REGIMES_SCHEDULER: {address!r} asks for a certificate, and none is set here")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said in one line
    try:
        return Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = "is no address" if isinstance(error, (ValueError, TypeError)) else f"gives no answer for {SECONDS:g} s"
        raise InputError(f"REGIMES_SCHEDULER: {address!r} {why}, it must be such as tcp://host:8786") from None


def _kind(chunk: Chunk, code: digest.Code) -> str:
    return chunk.study.kind(chunk.cells[0].setting)


def answer(work: bytes) -> Any:
    """On a worker: computes, or says in one line why it cannot."""
    from distributed import get_worker

    refused = f"the worker {get_worker().address} is refused"
    try:
        function, item, code, wanted = pickle.loads(work)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{refused}: it cannot load the study ({error})") from None
    differing = [f"{name} {it}, not {wanted[name]}" for name, it in libraries().items() if it != wanted[name]]
    if differing:
        raise InputError(f"{refused}: it has {', '.join(differing)}: install the same versions everywhere")
    try:
        return function(item, code)
    except (OtherCode, digest.Edited) as error:
        raise InputError(f"{refused}: {error}") from None
