"""Sweeps: the grid, resuming after SIGKILL, changed numbers, shared work, the same numbers whatever the workers."""

import importlib
import itertools
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import psutil
import pytest
import torch

from companion.lab import progress, recheck, schedule, table, workers
from companion.lab.errors import CellError
from companion.lab.record import Count, Positive, Setting, record
from companion.lab.store import Cell, Result, Store, free
from companion.lab.sweep import cells, study, sweep
from companion.lab.table import provenance
from regimes import devices, validate
from regimes.validate import InputError
from tests.sizes import Size

ROOM = '''
"""A room for the tests."""
import json, os, time
from pathlib import Path
import numpy as np
from companion.lab.record import Count, Setting, record
from companion.lab.sweep import study, sweep
FACTOR = 1.0
@record
class Draws(Setting):
    """How many."""
    size: Count
@study(version=1, chunk=1)
def draws(setting: Draws, seeds):
    """Means of normal draws."""
    with open(os.environ["CALLS"], "a") as calls:
        for seed in seeds:
            print(setting.size, seed, file=calls)
    time.sleep(float(os.environ.get("SLOW", 0)))
    draw = lambda s: np.random.default_rng([s, setting.size]).normal(size=5).mean()
    return [{"seed": s, "mean": FACTOR * draw(s)} for s in seeds]
if __name__ == "__main__":
    import room
    table = sweep(room.draws, room.draws.grid.of(size=[1, 2, 3], seeds=4), jobs=int(os.environ.get("JOBS", 1)))
    print(json.dumps(table.sort_values(["size", "seed"]).to_dict("records")))
'''
ALL = {f"{size} {seed}" for size in (1, 2, 3) for seed in range(4)}


@pytest.fixture
def room(tmp_path):
    """Runs the room's sweep in a process of its own: ``room(**env)`` gives its table."""
    source = tmp_path / "room.py"
    source.write_text(ROOM)

    def run(*, wait=True, **env):
        env = os.environ | {"REGIMES_STORE": str(tmp_path / "cells"), "CALLS": str(tmp_path / "calls")} | env
        env |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), env.get("PYTHONPATH", "")])}
        process = subprocess.Popen(
            [sys.executable, str(source)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        return table_of(process) if wait else process

    run.calls = lambda: (tmp_path / "calls").read_text().split("\n")[:-1]
    run.cells = lambda: [p for p in (tmp_path / "cells").glob("*/v1/*.json")]
    return run


def table_of(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return pd.DataFrame(json.loads(out))


def state(pid):
    """A process's state and parent; ``None`` where there is none."""
    try:
        found = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return found[0], int(found[1])


def children(parent):
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and (state(pid) or (0, 0))[1] == parent]


def alive(pids):
    return [pid for pid in pids if (state(pid) or "Z")[0] != "Z"]


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_killed_sweep_resumes_without_losing_or_repeating_a_cell_and_leaves_no_worker(room):
    process = room(wait=False, SLOW="1.0", JOBS="2")
    while len(room.cells()) < 4:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    started = children(process.pid)
    assert len(started) >= 2  # slow enough for worker processes
    process.send_signal(signal.SIGKILL)
    end = time.monotonic() + 10
    while alive(started):
        assert time.monotonic() < end, "a worker outlived its sweep"
        time.sleep(0.05)
    process.communicate()  # closes the pipes
    stored = [json.loads(path.read_text()) for path in room.cells()]
    assert 4 <= len(stored) < 12
    table = room()
    assert len(table) == 12 and len(room.cells()) == 12
    assert all(room.calls().count(f"{cell['setting']['size']} {cell['seed']}") == 1 for cell in stored)
    # lost at most: a cell that each worker had under way, and one that each had handed in and the sweep not yet stored
    assert set(room.calls()) == ALL and len(room.calls()) <= 12 + 4


@pytest.mark.weekly
@pytest.mark.xdist_group("signals")
def test_two_processes_on_one_store_share_the_work_and_agree(room, tmp_path):
    both = [room(wait=False, SLOW="0.2"), room(wait=False, SLOW="0.2")]
    one, other = (table_of(process) for process in both)
    assert sorted(room.calls()) == sorted(ALL)  # nothing twice
    pd.testing.assert_frame_equal(one, other)
    alone = room(REGIMES_STORE=str(tmp_path / "alone"))
    pd.testing.assert_series_equal(alone["mean"], one["mean"], check_exact=True)
    assert not list((tmp_path / "cells" / "locks").iterdir())


@pytest.mark.parametrize(
    ("jobs", "count", "seconds", "took", "inline", "workers_"),
    [
        (2, 3, 60.0, 0, 0, 2),  # known to take long: all workers from the first cell
        (4, 3, 60.0, 0, 0, 3),  # no more of them than there are chunks
        (1, 3, 60.0, 60, 3, 0),
        (2, 1, 60.0, 60, 1, 0),  # one chunk alone gains nothing
        (2, 3, 1.0, 0.3, 3, 0),  # known to end soon
        (2, 3, 0.0, 0.3, 3, 0),  # unknown: found out here
        (2, 3, 0.0, 3, 1, 2),
    ],
)
def test_workers_are_started_where_they_save_time(monkeypatch, jobs, count, seconds, took, inline, workers_):
    begun = []
    monkeypatch.setattr(workers, "_parallel", lambda chunks, number: begun.append(number) or ())
    monkeypatch.setattr(workers, "compute", lambda *given: workers.Computed([], {"seconds": took}))
    chunks = [workers.Chunk(squares, [Cell(squares.name, 1, {"n": 1}, seed)]) for seed in range(count)]
    here = len(list(workers.Local(jobs).results(iter(chunks), count, seconds)))
    assert (here, begun) == (inline, [workers_] if workers_ else [])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The room in this process: ``here(text)`` gives its study anew; ``here.sweep`` sweeps it over its grid."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    (tmp_path / "calls").write_text("")

    def load(text=ROOM):
        (tmp_path / "room.py").write_text(text)
        sys.modules.pop("room", None)
        importlib.invalidate_caches()
        return importlib.import_module("room").draws

    def run(text=ROOM, size=(1, 2, 3), **options):
        """The sorted table and the cells that were computed for it."""
        item = load(text)
        before = len((tmp_path / "calls").read_text().split("\n"))
        table = sweep(item, item.grid.of(size=[*size], seeds=4), **{"store": load.store, "jobs": 1} | options)
        calls = (tmp_path / "calls").read_text().split("\n")[before - 1 : -1]
        return table.sort_values(["size", "seed"]).reset_index(drop=True), calls

    load.sweep, load.store = run, Store(tmp_path / "cells")
    yield load
    sys.modules.pop("room", None)


def changed(old, new):
    assert old in ROOM
    return ROOM.replace(old, new)


def test_what_is_stored_is_not_computed_again(here):
    first, calls = here.sweep()
    assert sorted(calls) == sorted(ALL)
    again, calls = here.sweep()
    assert calls == [] and first.equals(again)
    more, calls = here.sweep(size=[3, 4])
    assert calls == [f"4 {seed}" for seed in range(4)] and len(more) == 8


def test_a_change_that_alters_the_numbers_voids_the_cells(here, capsys):
    before, _ = here.sweep()
    after, calls = here.sweep(changed("FACTOR = 1.0", "FACTOR = 2.0"))
    assert (after["mean"] == 2 * before["mean"]).all() and len(calls) == 13  # one to find out, then all twelve
    assert "the code and its rows changed; 12 stored cells are void" in capsys.readouterr().err
    assert len(list((here.store.folder / "void").rglob("*.json"))) == 12
    assert here.sweep(changed("FACTOR = 1.0", "FACTOR = 2.0"))[1] == []


def test_a_change_for_one_value_of_one_setting_is_noticed(here):
    before, _ = here.sweep()
    text = changed("FACTOR * draw", "(2 if setting.size == 3 else 1) * draw")
    after, calls = here.sweep(text)
    assert 13 <= len(calls) <= 15 and (after["mean"] / before["mean"]).round(12).tolist() == [1] * 8 + [2] * 4


def test_a_change_that_keeps_the_numbers_costs_one_cell_a_value_once(here):
    before, _ = here.sweep()
    text = changed("FACTOR * draw", "1.0 * FACTOR * draw")
    after, calls = here.sweep(text)
    assert sorted(call[0] for call in calls) == ["1", "2", "3"] and after.equals(before)
    assert here.sweep(text)[1] == []
    assert here.sweep(ROOM)[1] == []  # the old code again: its own cells
    here.sweep(text, size=[4])
    other = changed("FACTOR * draw", "FACTOR * 1.0 * draw")
    assert len(here.sweep(other, size=[1])[1]) == 1
    assert len(here.sweep(other)[1]) == 2  # 2 and 3 were not in the grid that was compared
    assert len(here.sweep(other, size=[4])[1]) == 1


def test_the_comparison_keeps_to_its_time(here, monkeypatch, capsys):
    here.sweep()
    monkeypatch.setattr(recheck, "SECONDS", 0.0)
    text = changed("FACTOR * draw", "1.0 * FACTOR * draw")
    assert len(here.sweep(text)[1]) == 1  # one cell in any case
    assert "1 of 3 cells agree, more take over 0 s" in capsys.readouterr().err
    assert here.sweep(text)[1] == []


def test_the_sample_is_the_cheapest_cell_of_each_value():
    cost = {(1, "a"): 5.0, (1, "b"): 1.0, (2, "a"): 2.0, (2, "b"): 3.0, (3, "b"): 9.0}

    def took(seconds, seed=0, **setting):
        cell = Cell("r.s", 1, setting, seed)
        return cell, Result(cell, [], {"seconds": seconds})

    cells = dict(took(seconds, n=n, k=k) for (n, k), seconds in cost.items())
    found = recheck._sample(cells, set())
    assert [(c.setting["n"], c.setting["k"]) for c in found] == [(1, "b"), (2, "a"), (3, "b")]
    assert [c.setting["n"] for c in recheck._sample(cells, {"n=1", 'k="b"', "r.s"})] == [2, 3]
    assert recheck._sample(cells, {"n=1", "n=2", "n=3", 'k="a"', 'k="b"', "r.s"}) == []
    assert len(recheck._sample(dict(took(s, seed=s) for s in (2, 1)), set())) == 1


def as_if_of_a_gpu(store, **made):
    """Rewrites all cells as a GPU's, of other code and with other numbers."""
    for path in store.folder.glob("*/v1/*.json"):
        record = json.loads(path.read_text())
        cell = Cell(record["study"], 1, record["setting"], record["seed"])
        rows = [row | {"mean": 100.0} for row in record["rows"]]
        store.save((cell, rows, record["provenance"] | {"class": "cuda", "digest": "other"} | made))


def test_a_cpu_never_voids_a_gpus_cells(here, capsys):
    here.sweep()
    as_if_of_a_gpu(here.store)
    table, calls = here.sweep()
    assert calls == [] and (table["mean"] == 100).all()
    assert "12 cells of a cuda machine under other code are taken as they are" in capsys.readouterr().err


def test_changed_code_voids_the_cells_of_its_own_class_only(here):
    here.sweep()
    as_if_of_a_gpu(here.store)
    grown, _ = here.sweep(size=[1, 4])
    text = changed("FACTOR = 1.0", "FACTOR = 2.0")
    after, calls = here.sweep(text, size=[1, 4])
    assert len(calls) == 5 and (after["mean"][:4] == 100).all()
    assert (after["mean"][4:] == 2 * grown["mean"][4:]).all()


def test_damaged_cells_are_computed_again_with_one_line(here, capsys):
    before, _ = here.sweep()
    for path in list(here.store.folder.glob("*/v1/*.json"))[:3]:
        path.write_text(path.read_text().replace('"mean":', '"mean":5,"was":'))
    after, calls = here.sweep()
    assert len(calls) == 3 and after["mean"].equals(before["mean"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "moved 3 damaged cells to" in line and "its checksum is not that of its content" in line


def test_a_cell_that_another_sweep_holds_is_left_to_it_and_then_taken(here):
    item = here()
    held = Cell(item.name, 1, {"size": 1}, 2)
    other = Store(here.store.folder)
    lock = other.claim(schedule.block(item, held))

    def finish():
        while len(other.names()) < 11:
            time.sleep(0.02)
        other.save((held, [{"seed": 2, "mean": 7.0}], {**next(other.finished(item.name, 1))[1].provenance}))
        free(lock)

    thread = threading.Thread(target=finish)
    thread.start()
    table, calls = here.sweep()
    thread.join()
    assert len(calls) == 11 and "1 2" not in calls and table["mean"][2] == 7.0 and len(table) == 12
    assert list((here.store.folder / "locks").iterdir()) == []


def test_a_sweep_out_of_budget_waits_for_nobody(here):
    item = here()
    lock = Store(here.store.folder).claim(schedule.block(item, Cell(item.name, 1, {"size": 1}, 2)))
    start = time.monotonic()
    table, calls = here.sweep(budget=1.0)
    assert table.attrs["missing"] == 1 and len(calls) == 11 and 1 <= time.monotonic() - start < 5
    free(lock)


def test_a_block_has_one_lock_whatever_is_missing():
    cells = [Cell(squares.name, 1, {"n": n}, seed) for n in (1, 2) for seed in (0, 1, 2, 3, 5)]
    found = schedule.chunks({squares.name: squares}, cells)
    assert [[c.seed for c in chunk.cells] for chunk in found] == [[0, 1], [2, 3], [5]] * 2
    names = [schedule.block(squares, cell) for cell in cells]
    assert names[0] == names[1] != names[2] and names[0] != names[5]


def test_a_store_that_vanishes_in_mid_run_is_one_line(here, monkeypatch, tmp_path):
    monkeypatch.setenv("SLOW", "0.02")
    watch = threading.Thread(target=lambda: (wait_for(here.store, 4), here.store.folder.rename(tmp_path / "gone")))
    watch.start()
    with pytest.raises(InputError, match="vanished"):  # while cells are written, or read
        here.sweep()
    watch.join()
    assert not here.store.folder.exists()


def test_cells_deleted_in_mid_run_are_missed(here, monkeypatch):
    monkeypatch.setenv("SLOW", "0.02")
    watch = threading.Thread(target=lambda: (wait_for(here.store, 4), [p.unlink() for p in files(here.store)[:2]]))
    watch.start()
    with pytest.raises(InputError, match=r"^2 of 12 cells vanished from the cell store"):
        here.sweep()
    watch.join()


def files(store):
    return [store.folder / name for name in store.names()]


def wait_for(store, count):
    while len(store.names()) < count:
        time.sleep(0.005)


def test_a_lock_that_cannot_be_taken_ends_the_sweep_in_one_line(here, monkeypatch):
    def claim(self, name, *, wait=False):
        raise InputError("no lock")

    monkeypatch.setattr(Store, "claim", claim)
    with pytest.raises(InputError, match="no lock"):
        here.sweep()


@study(version=1, data="counted", chunk=2)
def squares(setting: Size, seeds):
    """Squares."""
    return [{"seed": seed, "square": setting.n**2} for seed in seeds]


@study(version=1, data="counted", chunk=4, whole=True)
def crowds(setting: Size, seeds):
    """How many are together."""
    return [{"seed": seed, "together": len(seeds), "first": seeds[0]} for seed in seeds]


def test_a_whole_chunk_is_computed_whoever_asks(tmp_path):
    few = sweep(crowds, crowds.grid.of(n=1, seeds=[1, 6]), store=Store(tmp_path))
    assert list(few.seed) == [1, 6] and list(few.together) == [4, 4] and list(few["first"]) == [0, 4]
    assert crowds({"n": 1}, [2]) == [{"seed": 2, "together": 4, "first": 0}]
    assert pickle.loads(pickle.dumps(crowds)).whole


def test_table_holds_settings_measurements_and_provenance(tmp_path):
    table = sweep(squares, squares.grid.of(n=[2, 3], seeds=1), store=Store(tmp_path))
    assert list(table["square"]) == [4, 9] and list(table["seed"]) == [0, 0]
    assert {"n", "seed", "seconds", "device", "revision", "cell"} <= set(table.columns)
    found = provenance(table)
    assert found.axes() == ({"n": [2, 3]}, {}, [1]) and found.data == ("counted",) and table.attrs == {"missing": 0}
    (setting,) = found.settings
    assert setting["study"] == squares.name and re.fullmatch(r"test_sweep-[0-9a-f]{6}\.squares", squares.name)


def test_the_seconds_of_a_call_are_shared_by_its_cells(tmp_path, monkeypatch):
    ticks = itertools.count(10.0, 6.0)
    monkeypatch.setattr(workers.time, "perf_counter", lambda: next(ticks))
    table = sweep(squares, squares.grid.of(n=2, seeds=2), store=Store(tmp_path), jobs=1)
    assert list(table["seconds"]) == [3.0, 3.0] and provenance(table).seconds == 6.0


def test_budget_starts_no_further_cell(tmp_path):
    table = sweep(squares, squares.grid.of(n=[*range(50)], seeds=1), store=Store(tmp_path), budget=1e-9)
    assert table.attrs["missing"] == 50 - len(table) > 0
    assert (
        sweep(squares, squares.grid.of(n=[*range(50)], seeds=1), store=Store(tmp_path), budget=60).attrs["missing"] == 0
    )


def test_a_study_runs_on_one_thread_and_gives_the_threads_back(tmp_path):
    seen = []

    @study(version=1)
    def threads(setting: Size, seeds):
        seen.append(torch.get_num_threads())
        return [{"seed": 0}]

    torch.set_num_threads(2)
    try:
        sweep(threads, threads.grid.of(n=1, seeds=1), store=Store(tmp_path), jobs=1)
        assert seen == [1] and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.fixture
def gpu(monkeypatch):
    """A machine that says it has CUDA."""
    monkeypatch.delenv("REGIMES_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(devices, "_needs_kernels", lambda device: None)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")


def picking(device):
    @study(version=1, device=device)
    def picks(setting: Size, seeds):
        return [{"seed": 0, "on": devices.pick().type}]

    return picks


def test_a_study_says_what_it_runs_on_and_cells_record_it(gpu, tmp_path, monkeypatch):
    pools, local = [], schedule.Local
    monkeypatch.setattr(schedule, "Local", lambda jobs: pools.append(local(jobs)) or pools[-1])
    for device, on, jobs in (("cpu", "cpu", 3), ("any", "cuda", 1)):
        item = picking(device)
        table = sweep(item, item.grid.of(n=1, seeds=1), store=Store(tmp_path / device), jobs=3)
        assert (pools[-1].kind(item, {}), pools[-1].jobs) == (on, jobs)
        assert list(table["on"]) == [on] and (table["device"][0] == "A GPU") == (on == "cuda")
        (record,) = (record for _, record in Store(tmp_path / device).finished(item.name, 1))
        assert record.provenance["class"] == on
    monkeypatch.setenv("REGIMES_DEVICE", "cpu")
    assert workers.Local().kind(picking("any"), {}) == "cpu" and devices.pick("cuda").type == "cuda"


def test_cells_that_are_small_stay_on_the_cpu_and_run_together(gpu, tmp_path, monkeypatch):
    @record
    class Pairs(Setting):
        p: Count[1, 10_000]
        h: Count[1, 10_000]

    @study(version=1, device="any")
    def sized(setting: Pairs, seeds):
        return [{"seed": 0, "on": devices.pick().type}]

    pools, local = [], schedule.Local
    monkeypatch.setattr(schedule, "Local", lambda jobs: pools.append(local(jobs)) or pools[-1])
    table = sweep(sized, sized.grid.of(p=[10, 2000], h=700, seeds=1), store=Store(tmp_path), jobs=3)
    assert dict(zip(table["p"], table["on"])) == {10: "cpu", 2000: "cuda"} and {pool.jobs for pool in pools} == {1, 3}
    made = {
        record.cell.setting["p"]: record.provenance["class"] for _, record in Store(tmp_path).finished(sized.name, 1)
    }
    assert made == {10: "cpu", 2000: "cuda"}


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("mps", r"^device must be auto, cpu, cuda or cuda:N, got 'mps'$"),
        ("cuda:x", "got 'cuda:x'"),
        ("meta", "got 'meta'"),
        ("cuda:1", r"^device 'cuda:1' was asked for, but this machine has 1 CUDA device$"),
    ],
)
def test_a_device_that_is_not_there_is_one_line(gpu, monkeypatch, device, words):
    for ask in (lambda: devices.pick(device), lambda: monkeypatch.setenv("REGIMES_DEVICE", device) or devices.pick()):
        with pytest.raises(InputError, match=words):
            ask()


def test_a_card_that_this_torch_has_no_kernels_for_is_one_line(monkeypatch):
    """Builds of torch drop old cards, and still call them available."""

    def ones(*size, device):
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nCompile with ...")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch, "ones", ones)
    with pytest.raises(InputError, match=r"^device 'cuda:2' cannot be used: .*no kernel image is available .*=cpu"):
        devices.pick("cuda:2")


def test_a_card_that_is_too_small_is_one_line(gpu, tmp_path):
    @study(version=1, device="any")
    def large(setting: Size, seeds):
        devices.pick()
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has 3.94 GiB.")

    with pytest.raises(InputError, match=r"large at \{'n': 1\} does not fit on A GPU: .*allocate 9\.00 GiB \(REGIMES"):
        sweep(large, large.grid.of(n=1, seeds=1), store=Store(tmp_path), jobs=1)


def test_what_is_allowed_ends_with_its_block(gpu):
    with devices.allowed("cpu") as used:
        assert devices.pick().type == "cpu" and devices.pick("cuda").type == "cuda"
    assert {device.type for device in used} == {"cpu", "cuda"} and devices.names(used) == "A GPU"
    assert devices.pick().type == "cuda" and len(used) == 2
    assert devices.names({torch.device("cpu")}) == devices.names(set()) != "A GPU"


def test_what_is_allowed_inside_another_block_ends_with_the_inner_one(gpu):
    with devices.allowed("any") as outer:
        with devices.allowed("cpu") as inner:
            assert devices.pick().type == "cpu"
        assert [device.type for device in outer] == [device.type for device in inner] == ["cpu"]
        assert devices.pick().type == "cuda", "what the outer block allows"
    assert len(inner) == 1 and {device.type for device in outer} == {"cpu", "cuda"}


def bad(rows):
    @study(version=1, chunk=2)
    def wrong(setting: Size, seeds):
        return rows

    return wrong


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"seed": 0}], r"was asked for the seeds \[0, 1\], its rows have \[0\]"),
        ([{"seed": 0}, {"seed": 1}, {"seed": 2}], r"its rows have \[0, 1, 2\]"),
        ([{"seed": 0}, {"seed": "1"}], r"its rows have \[0, '1'\]"),
        ([{"x": 0}], "each a dictionary with its 'seed'"),
        ([{"seed": 0}, {"x": 1}], "each a dictionary with its 'seed'"),
        ([3], "each a dictionary with its 'seed'"),
        (None, "must return a list of rows"),
        ([{"seed": 0, "cell": 1}, {"seed": 1}], "names a setting or column 'cell'"),
        ([{"seed": 0, "cell_x": 1}, {"seed": 1}], "names a setting or column 'cell_x'"),
        ([{"seed": 0, "seconds": 1}, {"seed": 1}], "names a setting or column 'seconds'"),
        ([{"seed": 0}, {"seed": 1, "n": 1}], "measures a column 'n', which names a setting"),
    ],
)
def test_rows_that_are_not_what_was_asked_for_are_not_stored(tmp_path, rows, said):
    store, item = Store(tmp_path), bad(rows)
    with pytest.raises(InputError, match=said):
        sweep(item, item.grid.of(n=1, seeds=2), store=store, jobs=1)
    assert store.names() == [] and not list(tmp_path.rglob("*.lock"))


@study(version=1, data="counted")
def faulty(setting: Size, seeds):
    """Fails at its last cell."""
    if (setting.n, seeds) == (2, [1]):
        raise ZeroDivisionError("by design")
    return [{"seed": seed} for seed in seeds]


def test_a_cell_that_raises_is_one_line_and_loses_no_finished_one(tmp_path):
    store = Store(tmp_path)
    line = r"^test_sweep-\w+\.faulty failed at {'n': 2}, seeds \[1\]: ZeroDivisionError: by design$"
    with pytest.raises(CellError, match=line):
        sweep(faulty, faulty.grid.of(n=[1, 2], seeds=2), store=store)
    assert len(store.names()) == 3 and not list(tmp_path.rglob("*.lock"))


def test_one_queue_computes_all_studies_longest_first(tmp_path, monkeypatch):
    store, order = Store(tmp_path), []
    monkeypatch.setattr(table, "_FINISHED", {})  # what other tests computed
    asked = {item: cells(item, item.grid.of(n=n, seeds=2)) for item, n in ((squares, [1, 2]), (crowds, 1))}
    key = asked[squares][2].key(seed=False)  # n = 2; the other setting is taken to cost as much as the mean, 2
    monkeypatch.setattr(
        schedule, "_recorded", lambda: {squares.name: {key: 3.0, "other": 1.0}, crowds.name: {"any": 1.0}}
    )
    monkeypatch.setattr(workers, "INLINE_SECONDS", 100.0)
    computed = workers.compute
    monkeypatch.setattr(workers, "compute", lambda chunk, code: order.append(chunk) or computed(chunk, code))
    held = schedule.fill(asked, store)
    assert [(chunk.study.name, schedule.seconds(chunk)) for chunk in order] == [
        (squares.name, 6.0), (squares.name, 4.0), (crowds.name, 4.0)
    ]  # fmt: skip
    assert len(held) == 6 == len(store.names()) and all(held.values())
    assert schedule.fill(asked, store) == held and len(order) == 3


MARK = []  # of this process, and of copies of it


@study(version=1)
def marked(setting: Size, seeds):
    """Where a cell is computed."""
    time.sleep(0.4)
    return [{"seed": seeds[0], "process": os.getpid(), "marked": bool(MARK)}]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process with threads cannot be copied")
def test_workers_of_a_command_are_copies_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "MARK", ["here"])
    with workers.forking():
        assert torch.get_num_threads() == 1, "a copy would wait for torch's threads for ever"
        found = sweep(marked, marked.grid.of(n=1, seeds=6), store=Store(tmp_path), jobs=2)
    assert not workers.forks(), "a reader's process may have threads"
    apart = found[found.process != os.getpid()]
    assert len(apart) >= 4 and apart.process.nunique() == 2 and apart.marked.all()
    until = time.monotonic() + 5
    while time.monotonic() < until and any(psutil.pid_exists(int(pid)) for pid in apart.process):
        time.sleep(0.05)
    assert not any(psutil.pid_exists(int(pid)) for pid in apart.process), "they end with the queue"


@study(version=1)
def crowded(setting: Size, seeds):
    """More than ``n`` cells at a time are too many: one that finds so many beside it is killed."""
    folder = Path(os.environ["CROWD"])
    (mine := folder / str(os.getpid())).touch()
    time.sleep(0.6)
    if sum(psutil.pid_exists(int(path.name)) for path in folder.iterdir()) > setting.n:
        os.kill(os.getpid(), signal.SIGKILL)
    mine.unlink()
    return [{"seed": seeds[0], "process": os.getpid()}]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process with threads cannot be copied")
def test_what_ran_beside_a_worker_that_was_killed_is_computed_one_at_a_time(tmp_path, monkeypatch, capsys):
    """Two may need more memory than there is. Where one alone is killed, the queue ends in one line."""
    (tmp_path / "crowd").mkdir()
    monkeypatch.setenv("CROWD", str(tmp_path / "crowd"))

    def computed(n):
        chunks = [workers.Chunk(crowded, [one]) for one in cells(crowded, crowded.grid.of(n=n, seeds=4))]
        return list(workers.Local(2).results(iter(chunks), 4, 60.0))

    with workers.forking():
        assert sorted(result.rows[0]["seed"] for _, result in computed(1)) == [0, 1, 2, 3]
        assert "a worker was killed (short of memory?)" in capsys.readouterr().err
        with pytest.raises(InputError, match=r"crowded at \{'n': 0\} was killed .* what is finished is kept$"):
            computed(0)


@study(version=1, device="any")
def on_card(setting: Size, seeds):
    """What this machine is said to compute on CUDA."""
    return [{"seed": seed, "process": os.getpid()} for seed in seeds]


def test_a_study_that_runs_on_the_card_has_one_worker_and_others_all(tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "kind", {"any": "cuda", "cpu": "cpu"}.get)
    pools = []

    def pool(jobs):
        pools.append(jobs)
        return workers.Local(1)

    monkeypatch.setattr(schedule, "Local", pool)
    asked = {
        item: cells(item, item.grid.of(n=n, seeds=seeds)) for item, n, seeds in ((on_card, [1, 2], 1), (squares, 1, 2))
    }
    held = schedule.fill(asked, Store(tmp_path), jobs=3)
    assert pools == [1, 3] and len(held) == 4
    assert [held[cell].provenance["class"] for cell in (asked[on_card][0], asked[squares][0])] == ["cuda", "cpu"]


def test_what_cells_took_is_recorded_for_the_next_queue(tmp_path, monkeypatch):
    asked, store = {squares: cells(squares, squares.grid.of(n=[1, 2], seeds=3))}, Store(tmp_path)
    monkeypatch.setattr(table, "_FINISHED", {})  # what other tests computed
    made = {"device": "", "class": "cpu", "revision": "", "versions": {}, "digest": ""}
    for cell in asked[squares][:4]:
        store.save((cell, [{"seed": cell.seed}], made | {"seconds": 1.0 + cell.seed}))
    monkeypatch.setattr(schedule.paths, "seconds_file", lambda profile="laptop": tmp_path / f"{profile}.json")
    schedule._recorded.cache_clear()
    try:
        assert [schedule.seconds(chunk) for chunk in schedule.chunks({squares.name: squares}, asked[squares])] == [
            0.0
        ] * 4
        schedule._recorded.cache_clear()
        schedule.record_seconds(asked, store)
        found = [schedule.seconds(chunk) for chunk in schedule.chunks({squares.name: squares}, asked[squares])]
        assert found == [4.0, 2.0, 2.0, 1.0]
        schedule._recorded.cache_clear()
        schedule.record_seconds({crowds: []}, store)  # the studies of other chapters stay
        store.save((asked[squares][4], [{"seed": 1}], made | {"seconds": 9.0}))
        schedule.record_seconds(asked, store, "paper")  # a profile's own
        assert [schedule.seconds(chunk) for chunk in schedule.chunks({squares.name: squares}, asked[squares])] == found
        (tmp_path / "laptop.json").unlink()
        schedule._recorded.cache_clear()
        assert schedule.recorded(squares)[asked[squares][4].key(seed=False)] == 5.0
    finally:
        schedule._recorded.cache_clear()


@record
class Rated(Size):
    """A size, and a rate that may be left out."""

    rate: Positive | None = None


@study(version=1)
def rated(setting: Rated, seeds):
    """Has a setting of its own name, which this one leaves out."""
    return [{"seed": seed, "rate": 1.0} for seed in seeds]


def test_a_column_named_like_a_setting_that_is_left_out_is_refused(tmp_path):
    with pytest.raises(InputError, match="rated measures a column 'rate', which names a setting: rename"):
        sweep(rated, rated.grid.of(n=1, seeds=1), store=Store(tmp_path), jobs=1)


@pytest.mark.parametrize(
    "text",
    ["[1, 2]", '{"a": {"b": "x"}}', '{"a": [1]}', '{"a": {"b": true}}', '{"a": {"b": -1}}', "null", "<<<<", "\xff"],
)
def test_seconds_that_were_merged_wrongly_are_one_line(tmp_path, monkeypatch, text):
    (tmp_path / "seconds.json").write_text(text, encoding="latin-1")
    monkeypatch.setattr(schedule.paths, "results", lambda: tmp_path)
    schedule._recorded.cache_clear()
    with pytest.raises(InputError, match=r"seconds.json must hold seconds by study and setting: take it from git"):
        schedule.recorded(squares)


@pytest.mark.parametrize(("error", "said"), [(KeyError("x"), "KeyError: 'x'"), (ValueError(), "ValueError")])
def test_a_study_that_raises_is_named_with_or_without_words(tmp_path, error, said):
    @study(version=1)
    def fails(setting: Size, seeds):
        raise error

    with pytest.raises(CellError, match=rf"fails failed at {{'n': 1}}, seeds \[0\]: {said}$"):
        sweep(fails, fails.grid.of(n=1, seeds=1), store=Store(tmp_path), jobs=1)


def test_a_queue_that_ends_early_warns_of_nothing(recwarn):
    item = squares
    chunks = schedule.chunks({item.name: item}, cells(item, item.grid.of(n=1, seeds=40)))
    results = workers._parallel(iter(chunks), 2)
    next(results)
    results.close()
    assert [str(one.message) for one in recwarn] == []


def test_a_process_with_other_code_computes_nothing(tmp_path):
    code = type(squares.code)(squares.code.own, squares.code.modules, "other")
    with pytest.raises(workers.OtherCode, match="has other code of test_sweep-"):
        workers.compute(workers.Chunk(squares, [Cell(squares.name, 1, {"n": 1}, 0)]), code)


ONE = squares.grid.of(n=1, seeds=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda store: sweep(squares, [], store=store), "holds no setting"),
        (lambda store: sweep(squares, ONE, store=store, budget=-1), "budget must be a number above 0"),
        (lambda store: sweep(squares, ONE, store=store, jobs=0), "jobs must be a whole number"),
        (lambda store: sweep(squares, [{"cell": 1, "seeds": [0]}], store=store), "setting or column 'cell'"),
        (lambda store: sweep(squares, [{"device": 1, "seeds": [0]}], store=store), "setting or column 'device'"),
        (lambda store: squares.grid.of(n=[], seeds=1), r"squares\.main\.n must hold at least 1 value, got"),
        (lambda store: squares.grid.of(n=1, seeds=[]), r"squares\.main\.seeds must hold at least 1 value, got"),
        (lambda store: squares.grid.of(n=1), "needs the axes n, seeds; missing or unknown: seeds"),
        (lambda store: study(version=0)(squares.function), "version must be a whole number of at least 1"),
        (lambda store: study(version=1, chunk=0)(squares.function), "chunk must be a whole number"),
        (lambda store: study(version=1, device="tpu")(squares.function), "device must be one of cpu, any"),
        (lambda store: study(version=1)(lambda setting, seeds: []), "its first argument, setting, must be annotated"),
    ],
)
def test_bad_input(tmp_path, call, said):
    with pytest.raises(InputError, match=said):
        call(Store(tmp_path))


@pytest.mark.parametrize(("count", "seconds", "inline"), [(10, 0.0, 10), (12, 0.0, 1), (12, 5.0, 0), (1, 5.0, 1)])
def test_workers_start_for_what_is_left_if_that_is_long(monkeypatch, count, seconds, inline):
    """Ten chunks of a tenth of a second: after the first, too little is left for a second process."""
    chunk = SimpleNamespace(study=SimpleNamespace(code=None), cells=["cell"])
    each = SimpleNamespace(provenance={"seconds": workers.FORKED_SECONDS / 10})
    here, there = [], []
    monkeypatch.setattr(workers, "forks", lambda: True)
    monkeypatch.setattr(workers, "compute", lambda chunk, code: here.append(chunk) or each)
    monkeypatch.setattr(workers, "_forked", lambda chunks, jobs: ((there.append(it), each) for it in chunks))
    assert len([*workers.Local(2).results(iter([chunk] * count), count, seconds)]) == count
    assert (len(here), len(there)) == (inline, count - inline)


def test_progress_says_a_line_a_minute_and_nothing_in_short_sweeps(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    short, long = progress.Progress("s", 2, 2), progress.Progress("l", 100, 100)
    short.step(2)
    for second in range(0, 130, 10):
        now[0] = second
        long.step(5)
    assert capsys.readouterr().err.splitlines() == ["l: 40/100 cells, 70 s, about 105 s left"]
    half = progress.Progress("h", 100, 100, seconds=80.0)
    now[0] += 70
    half.step(1, 20.0)  # a long one first: a quarter of the work
    assert capsys.readouterr().err.splitlines() == ["h: 1/100 cells, 70 s, about 210 s left"]


def test_a_chunk_of_unknown_time_is_expected_to_take_what_its_stored_cells_took(tmp_path, monkeypatch):
    """Else the longest of what is computed again would come last."""
    monkeypatch.setattr(schedule, "_recorded", lambda: {})
    monkeypatch.setattr(table, "_FINISHED", {})
    (chunk,) = schedule.chunks({squares.name: squares}, cells(squares, squares.grid.of(n=1, seeds=2)))
    assert schedule.seconds(chunk) == 0.0
    table.remember(squares, [Result(cell, [], {"seconds": 12.0}) for cell in chunk.cells])
    assert schedule.seconds(chunk) == 24.0
    monkeypatch.setattr(schedule, "_recorded", lambda: {squares.name: {chunk.cells[0].key(seed=False): 3.0}})
    assert schedule.seconds(chunk) == 6.0, "what this book recorded goes before"


@record
class Large(Setting):
    """As many bytes as it names."""

    size: Count

    def completed(self, seeds):
        validate.memory(self.size, f"size = {self.size}")
        return self


@study(version=1)
def large(setting: Large, seeds):
    """Nothing."""
    return [{"seed": seed, "value": setting.size} for seed in seeds]


def test_memory_is_asked_for_what_is_computed_and_before_the_first_cell(tmp_path, monkeypatch):
    store, computed = Store(tmp_path), []
    grid = large.grid.of(size=[3, 2000], seeds=1)
    assert len(sweep(large, grid, store=store, jobs=1)) == 2
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 1000)
    monkeypatch.setattr(workers, "compute", lambda chunk, code: computed.append(chunk))
    assert len(sweep(large, grid, store=store, jobs=1)) == 2  # both are stored
    with pytest.raises(InputError, match=r"own\.large\.main: size = 3000 would take 3000 bytes .*, but 0\.0 GiB"):
        sweep(large, large.grid.of(size=[3, 4, 2000, 3000], seeds=1), store=store, jobs=1)
    assert not computed
