"""``make gpu``: its table, on the CPU against itself; what it says where no GPU is there, or one that is too small."""

import pandas as pd
import pytest
import torch

from benchmarks import gpu as table
from regimes import validate


def test_every_case_runs_and_agrees_with_itself(capsys):
    assert table.main(["--device", "cpu", "--small"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all("agrees True" in line and "difference" not in line for line in lines)  # none is above 0
    words = "allowed", "with arrays of gates", *table.CHEAP, "a step, 64 together", "to zero loss"
    assert [sum(word in line for line in lines) for word in words] == [15, 6, 1, 1, 1, 1] and len(lines) == 21


def test_the_part_named_first_comes_first_and_what_is_left_is_said(tmp_path, monkeypatch, capsys):
    """A machine that is lent for minutes begins with what matters, and keeps what it has."""
    clock = iter([0.0, *[1.0] * 5, 500.0])
    monkeypatch.setattr(table.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(table, "planned", lambda device, small: small_parts(device))
    path = tmp_path / "gpu.csv"
    assert table.main(["--device", "cpu", "--first", "steps", "--seconds", "420", "--csv", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[1] for line in lines[:4]] == [f" {n} together" for n in (1, 4, 16, 64)]
    assert "to zero loss" in lines[4]
    assert lines[5] == "left after 420 s: ntk, one hidden layer and what follows" and len(lines) == 6
    assert len(pd.read_csv(path)) == 5


def small_parts(device):
    return {"solvers": table.solvers(device, 30, 40), "steps": table.steps(device, 20, 30, count=2)}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_and_passes(capsys):
    assert table.main([]) == 0
    assert capsys.readouterr().out == "no CUDA device on this machine: nothing to compare\n"


def broken(device):
    raise RuntimeError("CUDA error: launch failed\nsee the log")


def test_what_fails_or_does_not_fit_is_said_in_its_row_and_the_others_go_on(monkeypatch, capsys):
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 2**21)
    cases = table.cases(30, 40)
    first_case = dict([*cases.items()][:1])
    for ends, tried in ((0, first_case), (1, {"broken": (broken, 1e-9)} | first_case)):
        monkeypatch.setattr(table, "cases", lambda p, h, tried=tried: tried)
        assert table.main(["--device", "cpu", "--small"]) == ends
        lines = capsys.readouterr().out.splitlines()
        refusals = [line for line in lines if " would take " in line]
        assert [line.split(",")[1] for line in refusals] == [" 4 together", " 16 together", " 64 together"]
        assert len(lines) == 21 - len(cases) + len(tried)
    assert lines[11].startswith("case broken") and lines[11].endswith("said RuntimeError: CUDA error: launch failed")
