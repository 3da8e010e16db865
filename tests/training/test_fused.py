"""The sums over pairs as Triton kernels against those in C: on a card, else in Triton's interpreter."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from regimes.data import tasks
from regimes.models import one_hidden
from regimes.training.gradient_flow import gradient_flow, pairs, step
from regimes.training.gradient_flow.batch import start
from regimes.training.run import run
from regimes.training.state import after

if importlib.util.find_spec("triton") is None:
    pytest.skip("no Triton here: builds of torch for CUDA bring it", allow_module_level=True)
CARD = torch.cuda.is_available()
DEVICE = "cuda" if CARD else "cpu"
with pytest.MonkeyPatch.context() as patch:
    if not CARD:
        patch.setenv("TRITON_INTERPRET", "1")
    from regimes.training.gradient_flow import fused


@pytest.fixture(autouse=True)
def interpreted(monkeypatch):
    """Triton looks at it when a kernel runs, too."""
    if not CARD:
        monkeypatch.setenv("TRITON_INTERPRET", "1")


@pytest.fixture
def small_pieces(monkeypatch):
    """Tiles and pieces of a few neurons and points, so that small sums have several of them."""
    for name, size in (("SUMMED", 4), ("KEPT", 16), ("PIECE", 24)):
        monkeypatch.setattr(fused, name, size)


@pytest.mark.parametrize(("dtype", "allowed"), [(torch.float64, 3e-15), (torch.float32, 3e-6)])
@pytest.mark.parametrize(
    ("e", "p", "h", "k"), [(1, 50, 40, 6), (2, 17, 33, 3), (3, 48, 16, 2), (1, 1, 1, 1), (1, 9, 30, 13)]
)
def test_the_sums_are_those_in_c(e, p, h, k, dtype, allowed, small_pieces):
    numbers = torch.Generator().manual_seed(k)
    shapes = (e, k, p), (e, h, k), (e, h, k), (e, h), (e, p)
    xt, u, slopes, beta, c = (torch.randn(*shape, dtype=dtype, generator=numbers) for shape in shapes)
    xt = xt.mT
    on = [it.to(DEVICE) for it in (xt, u, slopes, beta, c)]
    ours = fused.outputs(*on[:3]), fused.own(on[0], on[1], on[3]), fused.field(on[0], on[4], on[1], 0.3)
    xt, u, slopes, beta, c = (it.double() for it in (xt, u, slopes, beta, c))
    theirs = pairs.outputs(xt, u, slopes), pairs.outputs(xt, u, u * beta[..., None]), pairs.field(xt, c, u, 0.3)
    for here, there in zip(ours, theirs):
        assert here.dtype == dtype and here.shape == there.shape
        assert float((here.cpu() - there).abs().max()) <= allowed * k * (h + p) ** 0.5 * (1 + float(there.abs().max()))


@pytest.fixture
def on_kernels(monkeypatch):
    """Flows on ``DEVICE`` sum by the kernels; ``used`` are the routines that they call."""
    used = []
    monkeypatch.setattr(fused, "SUMMED", 32)  # the interpreter's time is that of its tiles
    for name in ("outputs", "own", "field"):
        routine = getattr(fused, name)
        monkeypatch.setattr(fused, name, lambda *a, routine=routine, name=name: used.append(name) or routine(*a))
    monkeypatch.setattr(pairs, "kernels", lambda device: fused)
    return used


def test_a_step_is_that_on_tensors_and_holds_no_gates(on_kernels, monkeypatch):
    monkeypatch.setattr(pairs, "compiles", lambda *a: False)
    task, networks = tasks.stripe(30, 3, seed=[0, 1]), one_hidden.one_hidden(3, 20, seeds=[0, 1])
    batch = start(networks.to(device=DEVICE), task.x.to(DEVICE), task.y.to(DEVICE), alpha=1e-2, tolerance=2e-2)
    assert batch.problem.open_gates(batch.now.u).array is None
    count = 0
    for _ in range(45):
        with monkeypatch.context() as patch:
            patch.setattr(pairs, "kernels", lambda device: None)
            expected, moved = step.advance(batch)
        batch, ours = step.advance(batch)
        assert ours.tolist() == moved.tolist()
        count += int(((batch.now.q > 0) & (batch.now.q < 1)).sum())
        for name in ("u", "beta", "m", "q", "push"):
            here, there = getattr(batch.now, name), getattr(expected.now, name)
            assert float((here - there).abs().max()) <= 1e-8 * (1 + float(there.abs().max())), name
    assert {*on_kernels} == {"outputs", "own", "field"} and count > 10


@pytest.mark.skipif(not CARD, reason="no CUDA here")
def test_a_flow_on_a_card_takes_the_kernels_and_no_array_of_pairs():
    task, network = tasks.stripe(4000, 5, seed=0), one_hidden.one_hidden(5, 4000, seeds=0, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    run(gradient_flow(network, task, alpha=1e-3, dtype=torch.float64, device="cuda"), until=after(1.0))
    assert torch.cuda.max_memory_allocated() < 4 * 4000 * 4000


KERNELS = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from regimes.training.gradient_flow import fused
weights = {"_own": ("x", "u", "beta", "f"), "_outputs": ("x", "gates", "slopes", "f"), "_field": ("x", "c", "u", "G")}
for name, arrays in weights.items():
    for number in ("fp32", "fp64"):
        rows = ("P", "N") if name == "_field" else ("N", "P")
        sizes = {"K": 6, rows[0]: fused.SUMMED, rows[1]: fused.KEPT, "SIZE": fused.PIECE}
        sizes |= {"COLUMNS": 8} if name == "_field" else {}
        kinds = {it: "*" + number for it in arrays} | {"h": "i32", "p": "i32"} | {it: "constexpr" for it in sizes}
        made = triton.compile(ASTSource(getattr(fused, name), kinds, sizes), target=GPUTarget("cuda", 90, 32))
        print(name, number, "shfl" in made.asm["ptx"], "cubin" in made.asm)
"""


@pytest.mark.weekly
def test_the_kernels_compile_for_a_card_and_threads_add_alone(tmp_path):
    """For the H200, on any machine: no thread passes a number to another, so that sums cost their operations."""
    named = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    done = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, env=os.environ | named)
    assert done.returncode == 0, done.stderr
    names = [f"{name} {number}" for name in ("_own", "_outputs", "_field") for number in ("fp32", "fp64")]
    assert done.stdout.splitlines() == [f"{name} False True" for name in names]


def test_what_keeps_the_kernels_from_running_is_said_in_a_line(monkeypatch):
    """Here: a card that is not there."""
    if CARD:
        pytest.skip("there is a card")
    monkeypatch.delenv("REGIMES_COMPILED", raising=False)
    with pytest.warns(UserWarning, match="sums over pairs on cuda are taken on tensors: ") as said:
        assert pairs.kernels.__wrapped__(torch.device("cuda")) is None
    assert len(said) == 1 and "\n" not in str(said[0].message)
    monkeypatch.setenv("REGIMES_COMPILED", "0")
    assert pairs.kernels.__wrapped__(torch.device("cuda")) is None
