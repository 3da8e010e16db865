"""Every benchmark at tiny sizes: its numbers say nothing there, but it starts, measures all it measures, and ends."""

import os
import runpy
import subprocess
import sys

import pytest
import torch

from companion import runner
from companion.lab import parameters
from regimes.training import gauss_newton
from tests.references import ROOT

FILES = sorted((ROOT / "benchmarks").glob("bench_*.py"))
TINY = {path.stem.removeprefix("bench_"): ["tiny"] for path in FILES}
del TINY["book"]  # it makes the whole book
CASES = [*TINY.items(), ("convolutional", ["ours of the module", "float32"])]


@pytest.fixture(autouse=True)
def as_before(monkeypatch):
    """A benchmark sets the threads of its process."""
    threads, seed = torch.get_num_threads(), torch.get_rng_state()
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(gauss_newton, "BLOCK", gauss_newton.BLOCK)
    yield
    torch.set_num_threads(threads)
    torch.set_rng_state(seed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "words"), CASES, ids=[" ".join([name, *words]) for name, words in CASES])
def test_a_benchmark_runs_to_its_end(name, words, monkeypatch, capsys):
    path = ROOT / "benchmarks" / f"bench_{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), *words])
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ended:
        assert not ended.code
    said = capsys.readouterr().out
    assert any(sign.isdigit() for sign in said) and "nan" not in said


def test_the_book_is_timed_by_commands_that_there_are(monkeypatch, tmp_path, capsys):
    """The commands are asked for what they would do."""
    from benchmarks import bench_book

    asked = []

    def seconds(*command, **env):
        asked.append(command)
        if command[0] == "make":
            subprocess.run([command[0], "-n", *command[1:]], cwd=ROOT, check=True, capture_output=True)
        else:
            assert command[1:3] == ("-m", runner.__name__)
            asked_for = list(command[3 : command.index("--profile")])
            assert asked_for == list(parameters.chapters()) or asked_for[1:3] == ["--figure", "tab-c-tab2"]
        return 3.0 * len(asked), 1.0

    monkeypatch.setattr(bench_book, "seconds", seconds)
    monkeypatch.setattr(bench_book, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench_book.py"])
    bench_book.main()
    assert len(asked) == 7 and "nothing changed              21.0" in capsys.readouterr().out


def test_make_bench_goes_on_after_a_failure_and_names_it(tmp_path):
    """``make`` with benchmarks of this test in place of the book's."""
    (tmp_path / "benchmarks").mkdir()
    for name, code in (("a", "raise SystemExit(3)"), ("b", "print('measured')"), ("c", "1 / 0")):
        (tmp_path / "benchmarks" / f"bench_{name}.py").write_text(code)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / ".venv" / ".ready").touch()
    command = ["make", "-f", str(ROOT / "Makefile"), "-o", ".venv/.ready", "bench"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "measured" in done.stdout
    assert "failed: benchmarks/bench_a.py benchmarks/bench_c.py" in done.stderr
