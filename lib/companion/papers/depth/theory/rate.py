"""The approach of a pair's normalised kernel to 1/4: rate, trace of the input, and crossover of nearby inputs.

All functions take correlations ``rho`` of unit inputs as float64 tensors of any shape and depths as whole numbers.
"""

import bisect
import math

import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import relu_recursion
from regimes.validate import InputError


def correlation_map(rho: Tensor) -> Tensor:
    """``h(rho) = (√(1 - rho²) + rho (π - arccos rho))/π``, the next layer's correlation.

    Source: paper C, Definition 5.
    """
    validate.arrays(rho=("...", rho))
    if not bool((rho.abs() <= 1).all()):
        raise InputError(f"correlations must lie in [-1, 1], got {float(rho.min()):g} … {float(rho.max()):g}")
    return 1 - relu_recursion.contract(1 - rho, torch.acos(rho))


def predicted_excess(offset: Tensor, depth: int) -> Tensor:
    """``Θ̄^(L) - 1/4`` to order ``1/L``: ``[(3/8) ln L + c/4 - 1/8] / L`` for pairs of offset ``c``.

    Source: derived here; it replaces the ``O(1/L)`` of paper C, Theorem 2.
    """
    depth = relu_recursion.needs_depth(depth)
    if not isinstance(offset, Tensor) or bool(offset.isnan().any()):
        raise InputError(f"offset must be a tensor without NaN, got {offset!r}")
    return (3 / 8 * math.log(depth) + offset / 4 - 1 / 8) / depth


def crossover(u: Tensor) -> Tensor:
    """``F(u) = [(1 + u) - (1 + u)^-3] / (4u)``: ``Θ̄^(L)`` of nearby inputs, ``u = L phi / (3π)``.

    ``F(0) = 1``, ``F(∞) = 1/4``, ``F - 1/4 ~ 1/(4u)``. With ``w = 1/(1 + u)`` it is ``(1 + w + w² + w³)/4``, without
    cancellation or overflow; ``u`` may be infinite.

    Source: derived here; it makes paper C, Corollary 1 quantitative.
    """
    if not isinstance(u, Tensor) or not bool((u >= 0).all()):
        raise InputError(f"u must be a tensor of numbers of at least 0, got {u!r}")
    w = 1 / (1 + u)
    return (1 + w * (1 + w * (1 + w))) / 4


def half_way_depth(rho: float) -> float:
    """The (interpolated) depth at which ``Θ̄`` of a pair has fallen half-way, to 0.625.

    Args:
        rho: correlation in ``(0.7, 1)``, for which the kernel decreases with depth.
    """
    validate.within(0.7, 1, rho=rho)
    phi = torch.acos(torch.tensor([rho], dtype=torch.float64))

    def kernel(depth: int) -> float:
        return float(relu_recursion.kernel_of_angle(phi, depth)[0])

    deepest = 10 * math.ceil(10 / float(phi))  # the crossover is at 4.2/phi
    low = bisect.bisect_left(range(1, deepest), -0.625, key=lambda depth: -kernel(depth))
    return low + (kernel(low) - 0.625) / (kernel(low) - kernel(low + 1))
