r"""Losses as functions of the margin :math:`m = yF`: value, slope and curvature.

A point costs ``value(m)``; the flows minimise :math:`\frac{1}{\alpha p}\sum_\mu \ell(m_\mu)`. All losses drive margins
to at least 1. For labels :math:`\pm 1` the square loss :math:`\tfrac12 (1 - m)^2` is :math:`\tfrac12 (y - F)^2`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from regimes import validate

SOFTNESS = 20.0  # of the soft hinge; Source: paper B's public commands


@dataclass(frozen=True)
class Loss:
    """A loss of the margin ``m``, elementwise on tensors of any shape.

    Attributes:
        name: the key in :data:`LOSSES`.
        value: the loss.
        slope: its derivative (for the hinge: the right one at the corner).
        curvature: its second derivative (for the hinge: zero).
        corner: whether the slope jumps at ``m = 1``, where it takes every value in ``[-1, 0]``.
        reaches: whether the flow fits fittable data, ``m >= 1``, in finite time; the quadratic hinge and the square
            loss only approach it.
        two_sided: whether margins above 1 cost too, so that training ends at ``m = 1``.
    """

    name: str
    value: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor], Tensor]
    curvature: Callable[[Tensor], Tensor]
    corner: bool = False
    reaches: bool = True
    two_sided: bool = False

    def fitted(self, m: Tensor, slack: float) -> Tensor:
        """The fitted points: ``m >= 1``, or within ``slack`` of it for a loss that only approaches it."""
        if self.reaches:
            return m >= 1
        return (m - 1).abs() <= slack if self.two_sided else m >= 1 - slack

    def cost(self, F: Tensor, y: Tensor) -> Tensor:
        """The loss of predictions ``F`` for labels ``y``; the square loss takes any targets."""
        return (F - y).square() / 2 if self.two_sided else self.value(y * F)

    def force(self, F: Tensor, y: Tensor) -> Tensor:
        """Minus the derivative of :meth:`cost` with respect to ``F``."""
        return y - F if self.two_sided else -y * self.slope(y * F)


def soft_hinge(softness: float = SOFTNESS) -> Loss:
    r"""The smooth hinge :math:`\frac1b \log(1 + e^{b(1-m)})` with softness ``b``; the hinge as ``b`` grows."""
    validate.between(1e-6, 1e6, softness=softness)

    def sigma(m: Tensor) -> Tensor:
        return torch.sigmoid(softness * (1 - m))

    return Loss(
        "soft_hinge",
        lambda m: softplus(1 - m, beta=softness, threshold=700.0 if m.dtype == torch.float64 else 80.0),
        lambda m: -sigma(m),
        lambda m: softness * sigma(m) * (1 - sigma(m)),
    )


LOSSES = {
    "hinge": Loss(
        "hinge", lambda m: (1 - m).clamp(min=0), lambda m: -(m < 1).to(m.dtype), torch.zeros_like, corner=True
    ),
    "soft_hinge": soft_hinge(),
    "quadratic_hinge": Loss(
        "quadratic_hinge",
        lambda m: (1 - m).clamp(min=0).square() / 2,
        lambda m: -(1 - m).clamp(min=0),
        lambda m: (m < 1).to(m.dtype),
        reaches=False,
    ),
    "logistic": Loss(
        "logistic", lambda m: softplus(-m), lambda m: -torch.sigmoid(-m), lambda m: torch.sigmoid(m) * torch.sigmoid(-m)
    ),
    "square": Loss(
        "square", lambda m: (1 - m).square() / 2, lambda m: m - 1, torch.ones_like, reaches=False, two_sided=True
    ),
}


def named(loss: str | Loss) -> Loss:
    """The loss a name stands for: ``hinge``, ``soft_hinge``, ``quadratic_hinge``, ``logistic`` or ``square``."""
    if isinstance(loss, Loss):
        return loss
    validate.one_of(LOSSES, loss=loss)
    return LOSSES[loss]
