"""The compiled step of the flow against the one on tensors, along whole paths; and machines without a compiler."""

import pytest
import torch

from regimes.data import tasks
from regimes.models import one_hidden
from regimes.training.gradient_flow import compiled, constants, gradient_flow, implicit, step
from regimes.training.gradient_flow.batch import start
from regimes.training.run import run

pytestmark = pytest.mark.skipif(compiled.routines() is None, reason="no C compiler here")
STEPS = 300  # attempted ones
CASES = {
    "stripe": (tasks.stripe(100, 5, seed=0), 40, 1e-6, 1e-2),
    "plane": (tasks.stripe(120, 2, seed=1), 30, 1e-6, 2e-2),
    "lazy": (tasks.stripe(60, 3, seed=2), 100, 1e4, 1e-2),
    "cylinder, other dimensions": (tasks.cylinder(100, 8, d_parallel=2, radius=2.0, seed=3), 30, 1e-3, 1e-2),
}


def batch_of(task, h, alpha, tolerance):
    net = one_hidden.one_hidden(task.x.shape[-1], h, seeds=[5])
    x, y = task.x[None].to(net.omega), task.y[None].to(net.omega)
    return start(net, x, y, alpha=alpha, tolerance=tolerance)


def reference(batch, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "suits", lambda batch: False)
        return step.advance(batch)


def differences(ours, theirs):
    """The largest difference of each tensor of two batches, relative to its size."""
    pairs = {name: (getattr(ours.now, name), getattr(theirs.now, name)) for name in ("u", "beta", "m", "q", "push")}
    pairs |= {name: (getattr(ours.past, name), getattr(theirs.past, name)) for name in ("mean", "before")}
    pairs |= {"t": (ours.t, theirs.t)}
    return {name: float((a - b).abs().max() / b.abs().max().clamp(min=1e-300)) for name, (a, b) in pairs.items()}


@pytest.mark.parametrize("large_band", [constants.LARGE_BAND, 8])
@pytest.mark.parametrize("case", CASES)
def test_each_step_is_the_reference(case, large_band, monkeypatch):
    monkeypatch.setattr(constants, "LARGE_BAND", large_band)
    monkeypatch.setattr(implicit, "LARGE_BAND", large_band)
    batch, count = batch_of(*CASES[case]), 0
    while bool((batch.now.m < 1).any()) and count < STEPS:
        assert compiled.suits(batch)
        (ours, moved), (batch, expected) = compiled.attempt(batch), reference(batch, monkeypatch)
        assert bool(moved) == bool(expected)
        assert max(differences(ours, batch).values()) < 1e-7  # the box problem is solved to a tolerance
        torch.testing.assert_close(ours.dt, batch.dt, rtol=1e-4, atol=0)
        count += 1
    assert count > 50
    assert float((batch.now.m >= 1).double().mean()) > 0.7


def test_t_star_and_the_end_are_those_of_the_reference(monkeypatch):
    task, h, alpha, tolerance = CASES["stripe"]
    net = one_hidden.one_hidden(5, h, seeds=[5])
    ends = []
    for suits in (compiled.suits, lambda batch: False):
        monkeypatch.setattr(compiled, "suits", suits)
        ends.append(run(gradient_flow(net, task, alpha=alpha, tolerance=tolerance)))
    (ours, theirs) = ends
    torch.testing.assert_close(ours.at("t_star")[1], theirs.at("t_star")[1], rtol=1e-7, atol=0)
    torch.testing.assert_close(ours.model.omega, theirs.model.omega, rtol=1e-4, atol=1e-4)


def test_a_large_system_is_left_to_the_reference_and_its_error(monkeypatch):
    monkeypatch.setattr(constants, "LARGE", 8 * constants.SYSTEM * 4)  # bands of at most two points
    batch, elsewhere = batch_of(*CASES["stripe"]), 0
    while bool((batch.now.m < 1).any()) and not elsewhere:
        elsewhere = compiled.attempt(batch) is None
        batch, _ = step.advance(batch)
    assert elsewhere


@pytest.mark.parametrize("change", [{"dtype": torch.float32}, {"seeds": [1, 2]}])
def test_what_is_left_to_the_reference(change):
    net = one_hidden.one_hidden(5, 20, seeds=change.get("seeds", [1])).to(dtype=change.get("dtype", torch.float64))
    task, count = tasks.stripe(20, 5, seed=0), len(net.omega)
    x, y = task.x.to(net.omega).expand(count, 20, 5), task.y.to(net.omega).expand(count, 20)
    assert not compiled.suits(start(net, x, y, alpha=1.0, tolerance=1e-2))


def fresh_routines():
    compiled.routines.cache_clear()
    try:
        return compiled.routines()
    finally:
        compiled.routines.cache_clear()


def test_no_compiler_is_no_error(monkeypatch):
    monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
    assert fresh_routines() is None


def test_turned_off(monkeypatch):
    monkeypatch.setenv("REGIMES_COMPILED", "0")
    assert fresh_routines() is None


def test_a_compiler_that_fails_is_said_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("REGIMES_CACHE", str(tmp_path))
    monkeypatch.setattr(compiled, "SOURCE", "no C at all")
    with pytest.warns(UserWarning, match="compiled step of the gradient flow is not used"):
        assert fresh_routines() is None
    assert not list(tmp_path.glob("*.so"))
