"""``make gpu``: its table, on the CPU against itself; and what it says where there is no GPU."""

import subprocess
import sys

import pytest
import torch

from tests.references import ROOT


def gpu(*args):
    command = [sys.executable, "benchmarks/gpu.py", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_case_runs_and_agrees_with_itself():
    done = gpu("--device", "cpu", "--small")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("0.0e+00 (allowed") == 8 and "ensemble of 64" in done.stdout
    assert done.stdout.count("as on the CPU") == 2


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_and_passes():
    done = gpu()
    assert done.returncode == 0 and done.stdout == "no CUDA device on this machine: nothing to compare\n"
