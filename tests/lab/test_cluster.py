"""A Dask cluster on the loopback: workers lost and late, other code refused, nobody there; each bounded in time."""

import importlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
import time

import pytest

from companion.lab import cluster
from companion.lab.store import Store
from companion.lab.sweep import sweep
from regimes.validate import InputError

pytestmark = [
    pytest.mark.weekly,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills processes"),
]
ROOM = '''
"""A room for the tests."""
import os, time
from companion.lab.record import Count, Setting, record
from companion.lab.sweep import study
@record
class Slow(Setting):
    """A number."""
    n: Count[0, 1000]
@study(version=1)
def slow(setting: Slow, seeds):
    """Where it ran."""
    time.sleep(0.2)
    return [{"seed": s, "twice": 2 * setting.n, "pid": os.getpid()} for s in seeds]
'''
WAIT = 60  # seconds for anything on a loaded machine


def grid(n):
    return [{"n": one, "seeds": [0]} for one in range(n)]


class Machines:
    """A scheduler and workers, each a process with the room in ``folder``."""

    def __init__(self, folder):
        self.folder, self.started = folder, []
        file = folder / "scheduler.json"
        self.scheduler = self.start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        until(file.exists)
        time.sleep(0.1)
        self.address = json.loads(file.read_text())["address"]

    def start(self, what, *args, path=None):
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(path or self.folder), os.environ.get("PYTHONPATH", "")])}
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *args]
        with (self.folder / f"{len(self.started)}.log").open("w") as log:
            self.started.append(subprocess.Popen(command, env=env, cwd=path or self.folder, stdout=log, stderr=log))
        return self.started[-1]

    def worker(self, **options):
        options_ = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder / "local"))
        return self.start("worker", self.address, *options_, **options)

    def close(self):
        for process in self.started:
            process.kill()
        for process in self.started:
            process.wait()


def until(found, seconds=WAIT):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.fixture
def machines(tmp_path, monkeypatch):
    """A scheduler, and the room of its workers."""
    (tmp_path / "room.py").write_text(ROOM)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(cluster, "SECONDS", WAIT)  # the tests below that wait for it set their own
    found = Machines(tmp_path)
    monkeypatch.setenv("REGIMES_SCHEDULER", found.address)
    yield found
    found.close()
    sys.modules.pop("room", None)


def run(store, n, **options):
    sys.modules.pop("room", None)
    importlib.invalidate_caches()
    slow = importlib.import_module("room").slow
    return sweep(slow, grid(n), store=store, **options)


def test_a_worker_killed_and_one_late_lose_nothing_and_the_client_computes_nothing(machines, tmp_path):
    store = Store(tmp_path / "cells")
    first = machines.worker()

    def meanwhile():
        until(lambda: len(store.names()) >= 5)
        machines.worker()
        until(lambda: len(store.names()) >= 8)
        first.kill()

    thread = threading.Thread(target=meanwhile)
    thread.start()
    table = run(store, 80).sort_values("n")
    thread.join()
    assert list(table.n) == list(range(80)) and list(table.twice) == list(range(0, 160, 2))
    assert set(table.pid) == {process.pid for process in machines.started[1:]} and len(store.names()) == 80
    assert not list((tmp_path / "cells" / "locks").iterdir())


def test_a_worker_with_other_code_is_named_and_once_it_has_gone_the_run_goes_on(machines, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "room.py").write_text(ROOM.replace("2 * setting", "3 * setting"))
    store = Store(tmp_path / "cells")
    bad = machines.worker(path=tmp_path / "other")
    with pytest.raises(InputError, match=r"^the worker tcp://.* is refused: .* install the same revision everywhere$"):
        run(store, 3)
    assert store.names() == []
    bad.kill()
    good = machines.worker()
    table = run(store, 6)
    assert set(table.pid) == {good.pid} and sorted(table.twice) == [0, 2, 4, 6, 8, 10]


def test_a_worker_with_another_library_is_refused_and_both_versions_are_named(machines, tmp_path, monkeypatch):
    machines.worker()
    here = cluster.libraries()
    monkeypatch.setattr(cluster, "libraries", lambda: here | {"torch": "1.0"})
    with pytest.raises(InputError, match=rf"is refused: it has torch {re.escape(here['torch'])}, not 1\.0: install"):
        run(Store(tmp_path / "cells"), 3)
    assert Store(tmp_path / "cells").names() == []


def test_a_study_that_a_script_defines_travels_with_its_code(machines, tmp_path):
    (tmp_path / "script.py").write_text(ROOM)
    worker = machines.worker()
    slow = runpy.run_path(str(tmp_path / "script.py"), run_name="__main__")["slow"]
    table = sweep(slow, grid(2), store=Store(tmp_path / "cells"))
    assert set(table.pid) == {worker.pid} and slow.name.startswith("script-")


def test_a_scheduler_that_is_killed_ends_the_sweep_and_keeps_what_is_stored(machines, tmp_path, monkeypatch):
    store = Store(tmp_path / "cells")
    machines.worker()
    killed = []

    def meanwhile():
        until(lambda: len(store.names()) >= 5)
        machines.scheduler.kill()
        killed.append(time.monotonic())

    thread = threading.Thread(target=meanwhile)
    thread.start()
    with pytest.raises(InputError, match="has gone away; what is stored stays"):
        run(store, 400)
    assert time.monotonic() - killed[0] < 15
    thread.join()
    done = len(store.names())
    assert 5 <= done < 400
    monkeypatch.delenv("REGIMES_SCHEDULER")
    assert run(store, 400, budget=1e-9).attrs["missing"] == 400 - done


def test_a_scheduler_without_workers_is_one_line(machines, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 3.0)
    start = time.monotonic()
    with pytest.raises(InputError, match=r"has had no worker for 3 s$"):
        run(Store(tmp_path / "cells"), 3)
    assert time.monotonic() - start < 15


def test_nobody_there_is_one_line_within_15_seconds(tmp_path):
    (tmp_path / "room.py").write_text(ROOM)
    code = "import sys, room; from companion.lab.sweep import sweep; from regimes.validate import InputError\n"
    code += f"import time; start = time.monotonic()\ntry:\n    sweep(room.slow, {grid(2)})\n"
    code += "except InputError as error:\n    print(error, '|', time.monotonic() - start)"
    env = os.environ | {"REGIMES_SCHEDULER": "tcp://127.0.0.1:9", "REGIMES_STORE": str(tmp_path / "cells")}
    env |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), env.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=WAIT)
    said, seconds = done.stdout.split("|")
    assert said.strip().endswith("gives no answer for 15 s, it must be such as tcp://host:8786") and done.stderr == ""
    assert float(seconds) < 20  # 15 s, and the import of distributed on a loaded machine


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "udp://127.0.0.1:1"])
def test_no_address_is_one_line(tmp_path, monkeypatch, address):
    monkeypatch.setenv("REGIMES_SCHEDULER", address)
    monkeypatch.setattr(cluster, "SECONDS", 1.0)
    (tmp_path / "room.py").write_text(ROOM)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"^REGIMES_SCHEDULER: .* it must be such as tcp://host:8786$"):
        run(Store(tmp_path / "cells"), 2)


def test_without_distributed_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_SCHEDULER", "tcp://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "distributed", None)
    (tmp_path / "room.py").write_text(ROOM)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"pip install 'regimes-companion\[cluster\]'$"):
        run(Store(tmp_path / "cells"), 2)


def test_what_is_stored_needs_no_cluster(tmp_path, monkeypatch):
    (tmp_path / "room.py").write_text(ROOM)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(Store(tmp_path / "cells"), 2)
    monkeypatch.setenv("REGIMES_SCHEDULER", "tcp://127.0.0.1:9")
    assert len(run(Store(tmp_path / "cells"), 2)) == 2
