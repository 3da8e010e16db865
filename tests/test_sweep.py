"""Sweeps: the grid, resuming after SIGKILL, voiding on changed numbers, the same numbers whatever the workers."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from regimes.check import InputError
from regimes.store import Store
from regimes.sweep import product, study, sweep

ROOM = '''
"""A room for the tests."""
import json, os, time
from pathlib import Path
import numpy as np
from regimes.sweep import product, study, sweep
FACTOR = 1.0
@study(version=1, grid=lambda p: product(size=[1, 2, 3], seeds=range(4)), chunk=1)
def draws(setting, seeds):
    """Means of normal draws."""
    with open(os.environ["CALLS"], "a") as calls:
        for seed in seeds:
            print(setting["size"], seed, file=calls)
    time.sleep(float(os.environ.get("SLOW", 0)))
    draw = lambda s: np.random.default_rng([s, setting["size"]]).normal(size=5).mean()
    return [{"seed": s, "mean": FACTOR * draw(s)} for s in seeds]
if __name__ == "__main__":
    import room
    table = sweep(room.draws, room.draws.grid({}), jobs=int(os.environ.get("JOBS", 1)))
    print(json.dumps(table.sort_values(["size", "seed"]).to_dict("records")))
'''


@pytest.fixture
def room(tmp_path):
    """Runs the room's sweep in a process of its own: ``room(env, source=...)`` gives the process."""
    source = tmp_path / "room.py"
    source.write_text(ROOM)

    def run(*, wait=True, **env):
        env = os.environ | {"REGIMES_STORE": str(tmp_path / "cells"), "CALLS": str(tmp_path / "calls")} | env
        env |= {"PYTHONPATH": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, str(source)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        if not wait:
            return process
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return pd.DataFrame(json.loads(out))

    run.source, run.calls = source, lambda: (tmp_path / "calls").read_text().split("\n")[:-1]
    run.cells = lambda: [p for p in (tmp_path / "cells").glob("*/v1/*.json")]
    return run


def test_killed_sweep_resumes_without_losing_or_repeating_a_cell(room):
    process = room(wait=False, SLOW="0.3")
    while len(room.cells()) < 5:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()  # waits, and closes the pipes
    stored = len(room.cells())
    assert 5 <= stored < 12
    finished = room.calls()[:stored]
    table = room()
    assert len(table) == 12 and len(room.cells()) == 12
    assert all(room.calls().count(cell) == 1 for cell in finished)  # none of the finished cells was computed twice
    assert set(room.calls()) == {f"{size} {seed}" for size in (1, 2, 3) for seed in range(4)}


def test_two_processes_and_two_workers_give_the_same_numbers(room, tmp_path):
    alone = room()
    # slow enough that the sweep starts worker processes
    shared = room(REGIMES_STORE=str(tmp_path / "other"), JOBS="2", SLOW="0.6")
    pd.testing.assert_series_equal(alone["mean"], shared["mean"], check_exact=True)


def test_a_change_that_alters_the_numbers_voids_the_cells(room):
    before = room()
    calls = len(room.calls())
    room.source.write_text(ROOM.replace("FACTOR = 1.0", "FACTOR = 2.0"))
    # a study outside the library is digested by its own source, which must change too
    room.source.write_text(room.source.read_text().replace("FACTOR * draw", "2.0 * draw"))
    after = room()
    assert (after["mean"] == 2 * before["mean"]).all()
    assert len(room.calls()) == calls + 13  # one to find out, then all twelve


def test_a_change_that_keeps_the_numbers_costs_one_cell(room):
    before = room()
    calls = len(room.calls())
    room.source.write_text(ROOM.replace("FACTOR * draw", "1.0 * FACTOR * draw"))
    assert room()["mean"].equals(before["mean"]) and len(room.calls()) == calls + 1
    room()
    assert len(room.calls()) == calls + 1  # and only once


@study(version=1, grid=lambda p: product(n=p["n"], seeds=[0]), data="counted")
def squares(setting, seeds):
    """Squares."""
    return [{"seed": 0, "square": setting["n"] ** 2}]


def test_table_holds_settings_measurements_and_provenance(tmp_path):
    table = sweep(squares, squares.grid({"n": [2, 3]}), store=Store(tmp_path))
    assert list(table["square"]) == [4, 9]
    assert {"n", "seed", "seconds", "device", "revision"} <= set(table.columns)
    assert table.attrs["settings"] == {"n": [2, 3], "seeds": 1} and table.attrs["missing"] == 0


def test_budget_starts_no_further_cell(tmp_path):
    table = sweep(squares, squares.grid({"n": list(range(50))}), store=Store(tmp_path), budget=1e-9)
    assert table.attrs["missing"] == 50 - len(table) > 0


def test_archive_carries_cells_to_another_store(tmp_path):
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    sweep(squares, squares.grid({"n": [2, 3]}), store=one)
    sweep(squares, squares.grid({"n": [3, 4]}), store=other)
    assert one.pack(tmp_path / "cells.tar.gz") == 2
    assert other.add(tmp_path / "cells.tar.gz") == 1  # 3 was there
    assert sweep(squares, squares.grid({"n": [2, 3, 4]}), store=other, budget=1e-9).attrs["missing"] == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda store: sweep(squares, [], store=store), "holds no setting"),
        (
            lambda store: sweep(squares, squares.grid({"n": [1]}), store=store, budget=-1),
            "budget must be a number above 0",
        ),
        (lambda store: product(n=[], seeds=[0]), "n must hold at least one value"),
        (lambda store: product(n=1, seeds=[]), "seeds must hold at least one value"),
        (lambda store: store.add("/nowhere.tar.gz"), "cannot be read"),
    ],
)
def test_bad_input(tmp_path, call, said):
    with pytest.raises(InputError, match=said):
        call(Store(tmp_path))
