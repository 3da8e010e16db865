"""Losses against autograd and each other."""

import pytest
import torch

from regimes.models import losses
from regimes.validate import InputError

M = torch.linspace(-3, 4, 141, dtype=torch.float64) + 0.013  # never on the corner


@pytest.mark.parametrize("name", losses.LOSSES)
def test_slope_and_curvature_are_the_derivatives(name):
    loss = losses.named(name)
    m = M.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss.value(m).sum(), m, create_graph=True)
    torch.testing.assert_close(loss.slope(M), slope.detach())
    curvature = torch.autograd.grad(slope.sum(), m)[0] if slope.requires_grad else torch.zeros_like(M)
    torch.testing.assert_close(loss.curvature(M), curvature, atol=1e-9, rtol=1e-7)


@pytest.mark.parametrize("name", losses.LOSSES)
def test_losses_are_convex_and_push_below_the_margin(name):
    loss = losses.named(name)
    assert (loss.curvature(M) >= 0).all() and (loss.slope(M[M < 1]) < 0).all() and (loss.value(M) >= 0).all()


def test_soft_hinge_becomes_the_hinge():
    hinge, soft = losses.named("hinge"), losses.soft_hinge(500.0)
    torch.testing.assert_close(soft.value(M), hinge.value(M), atol=0.002, rtol=0)


def test_soft_hinge_keeps_its_tail():
    """Far above the margin the slope is small, not zero (a truncated softplus would make it zero)."""
    m = torch.tensor([2.5], dtype=torch.float64)
    torch.testing.assert_close(losses.named("soft_hinge").value(m) * 20, torch.exp(-20 * (m - 1)), rtol=1e-9, atol=0)


def test_fitted_is_two_sided_only_for_the_square_loss():
    m = torch.tensor([0.98, 0.995, 1.0, 1.3])
    fitted = {name: losses.named(name).fitted(m, 0.01).tolist() for name in losses.LOSSES}
    assert fitted["hinge"] == fitted["soft_hinge"] == fitted["logistic"] == [False, False, True, True]
    assert fitted["quadratic_hinge"] == [False, True, True, True] and fitted["square"] == [False, True, True, False]


def test_unknown_losses_are_named():
    with pytest.raises(InputError, match="loss must be one of hinge"):
        losses.named("hunge")
    with pytest.raises(InputError, match="softness"):
        losses.soft_hinge(0.0)
