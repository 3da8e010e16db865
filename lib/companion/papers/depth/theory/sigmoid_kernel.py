"""The kernel ``eta``: paper C's second example of a kernel with a limit in depth, which is not positive definite.

``eta^(1) = x·x'``, ``eta^(L+1) = h(eta^(L))`` with ``h(z) = (1 + e^-z)^-2`` (the paper prints ``kappa`` for the second
``eta``). Source: paper C, Sec. 6.4 and Prop. 8.
"""

import math

import torch
from scipy import optimize
from torch import Tensor

from regimes import validate

SETTLED = 1000  # layers after which every value is the fixed point: errors fall by a third or more per layer


def eta(rho: Tensor, depth: int) -> Tensor:
    """``eta^(L)`` at inner products ``rho``, any shape; ``L`` at least 1."""
    validate.integer(1, depth=depth)
    validate.arrays(rho=("...", rho))
    for _ in range(min(depth - 1, SETTLED)):
        rho = torch.sigmoid(rho) ** 2
    return rho


def fixed_point() -> float:
    """The fixed point ``beta = h(beta)``, to which all values tend."""
    return optimize.brentq(lambda z: (1 + math.exp(-z)) ** -2 - z, 0, 1, xtol=1e-16)


def contraction() -> float:
    """``h'(beta)``, the ratio of successive errors in the limit."""
    s = 1 / (1 + math.exp(-fixed_point()))
    return 2 * s * s * (1 - s)


def circle(points: int) -> Tensor:
    """Equally spaced points of the unit circle, ``(points, 2)``, on which ``eta`` is not positive definite."""
    validate.integer(2, points=points)
    angle = 2 * math.pi * torch.arange(points, dtype=torch.float64) / points
    return torch.stack([angle.cos(), angle.sin()], dim=-1)
