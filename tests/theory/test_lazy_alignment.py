"""The alignment of lazy training: the closed form against descent, step by step and of a network."""

import numpy as np
import pytest
import torch

from companion.theory.alignment.lazy import FrozenFlow
from regimes import ntk
from regimes.data import tasks
from regimes.measures import matrices
from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import optimise
from regimes.validate import InputError


def test_dual_coefficients_are_the_integral_of_the_residuals_of_the_flow():
    """Against descent in small steps; the kernel has a null space."""
    rng, dt = np.random.default_rng(0), 1e-4
    factor = rng.standard_normal((3, 8, 5))
    kernel, residual = torch.tensor(factor @ factor.transpose(0, 2, 1)), torch.tensor(rng.standard_normal((3, 8)))
    left, total = residual.clone(), torch.zeros_like(residual)
    for step in range(1, 20_001):
        total += dt * left
        left = left - dt * torch.einsum("eij,ej->ei", kernel, left) / 8
        if step in (10, 1000, 20_000):
            assert torch.allclose(FrozenFlow.of(kernel, residual).duals(step * dt), total, rtol=1e-3, atol=1e-4)


RATE = 0.002


def trained(scale, steps, k=256):
    """The C-NFA of both layers of a network, and its frozen law, after some numbers of steps."""
    model = fully_connected([6, k, k, 1], seeds=[0], parametrisation="standard", gain=1.0).to(dtype=torch.float64)
    task = tasks.chain_monomial(24, 6, r=2, seed=1)
    x, y = task.x.double()[None], scale * task.y.double()[None]
    flow = FrozenFlow.of(ntk(model, x), y)
    start, found = matrices.sites(model, x), {}
    for step, state in enumerate(optimise(model, x, y, rate=RATE, centred=True)):
        if step in steps:
            now = matrices.sites(state.model, x)
            own = [float(matrices.measure(one, begun)["c"]) for one, begun in zip(now, start, strict=True)]
            law = [float(flow.c_nfa(begun, RATE * step)) for begun in start]
            found[step] = own[:2], law[:2]
        if step == max(steps):
            return found


def test_a_lazy_network_follows_the_law_at_every_step_and_one_that_learns_features_does_not():
    """Small targets leave the kernel as it is: the network need not move. With large ones it turns."""
    for own, law in trained(1e-3, (1, 200, 1000)).values():
        assert own == pytest.approx(law, abs=2e-3)
    first, last = trained(1e-3, (1, 1000)).values()
    assert first[1][1] - last[1][1] > 0.1, "the law is not constant in time"
    own, law = trained(30.0, (200,), k=32)[200]
    assert law[0] - own[0] > 0.05


def test_times_and_shapes_are_checked():
    with pytest.raises(InputError, match="time must be"):
        FrozenFlow.of(torch.eye(3), torch.ones(3)).duals(0.0)
    with pytest.raises(InputError, match="residual"):
        FrozenFlow.of(torch.eye(3), torch.ones(4))
