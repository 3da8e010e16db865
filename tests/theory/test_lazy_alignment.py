"""The alignment of lazy training: the closed form against descent, step by step and of a network."""

import numpy as np
import pytest
import torch

from companion.theory.alignment.lazy import FrozenDescent
from regimes import ntk
from regimes.data import tasks
from regimes.measures import matrices
from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import optimise
from regimes.validate import InputError


def test_dual_coefficients_are_the_sum_of_the_residuals_of_descent():
    rng = np.random.default_rng(0)
    factor = rng.standard_normal((3, 8, 5))  # a kernel with a null space
    kernel, residual = torch.tensor(factor @ factor.transpose(0, 2, 1)), torch.tensor(rng.standard_normal((3, 8)))
    left, total = residual.clone(), torch.zeros_like(residual)
    for step in range(1, 60):
        total += left
        left = left - 0.1 * torch.einsum("eij,ej->ei", kernel, left) / 8
        if step in (1, 7, 59):
            found = FrozenDescent.of(kernel, residual, rate=0.1).duals(step)
            assert torch.allclose(found, total, rtol=1e-9)


def trained(scale, steps, k=256):
    """The C-NFA of both layers of a network, and its frozen law, after some numbers of steps."""
    model = fully_connected([6, k, k, 1], seeds=[0], parametrisation="standard", gain=1.0).to(dtype=torch.float64)
    task = tasks.chain_monomial(24, 6, r=2, seed=1)
    x, y = task.x.double()[None], scale * task.y.double()[None]
    descent = FrozenDescent.of(ntk(model, x), y, rate=0.02)
    start, found = matrices.sites(model, x), {}
    for step, state in enumerate(optimise(model, x, y, rate=0.02, centred=True)):
        if step in steps:
            now = matrices.sites(state.model, x)
            own = [float(matrices.measure(one, begun)["c"]) for one, begun in zip(now, start, strict=True)]
            law = [float(descent.c_nfa(begun, step)) for begun in start]
            found[step] = own[:2], law[:2]
        if step == max(steps):
            return found


def test_a_lazy_network_follows_the_law_at_every_step_and_one_that_learns_features_does_not():
    """Small targets leave the kernel as it is: the network need not move. With large ones it turns."""
    for own, law in trained(1e-3, (1, 20, 100)).values():
        assert own == pytest.approx(law, abs=1e-4)
    first, last = trained(1e-3, (1, 100)).values()
    assert first[1][1] - last[1][1] > 0.1, "the law is not constant in time"
    own, law = trained(30.0, (20,), k=32)[20]
    assert law[0] - own[0] > 0.2


def test_steps_and_shapes_are_checked():
    with pytest.raises(InputError, match="rate must be"):
        FrozenDescent.of(torch.eye(3), torch.ones(3), rate=0.0)
    with pytest.raises(InputError, match="steps must be"):
        FrozenDescent.of(torch.eye(3), torch.ones(3), rate=0.1).duals(0)
    with pytest.raises(InputError, match="residual"):
        FrozenDescent.of(torch.eye(3), torch.ones(4), rate=0.1)
