"""The deep predictor is a ridge regression with a kernel that does not depend on depth.

The kernel is ``Θ̄ = a 11ᵀ + (1 - a) I + C/(4L)``, with ``a = 1/4 + (3/8 ln L - 1/8)/L`` equal for all pairs and the
matrix ``C`` of offsets ``c_ij``, zero on its diagonal. Times ``4L`` it is the kernel ``c + 4La`` with the ridge
``4 (1 - a) L``, about ``3L`` (:func:`ridge_kernels`, :func:`depth_ridge`). If ``L`` is also large against ``n``, both
parts are inverted in closed form (:func:`operator`).

Source: derived here; paper C, Theorem 3 gives bounds.
"""

import math

import torch
from torch import Tensor

from companion.papers.depth.theory import pairs, rate
from companion.papers.depth.theory.regression import needs_symmetric
from regimes import validate
from regimes.kernels import relu_asymptotics, relu_recursion

ORDERS = ("first", "uniform")
SHALLOWEST = 5  # depth at which the series in 1/M still have a solution


def offsets(x: Tensor, z: Tensor | None = None) -> Tensor:
    """``c`` of all pairs of unit points, ``(n, m)``; between the rows of ``x`` alone the diagonal is zero.

    Args:
        x: unit points ``(n, d)``, float64.
        z: unit points ``(m, d)``, none of them in ``x``; ``None`` for ``x`` itself, whose points must differ.

    Source: derived here (``relu_recursion.offset``).
    """
    validate.arrays(x=("n d", x), z=("m d", x if z is None else z))
    for points in (x, z):
        if points is not None:
            pairs.needs_sphere(points)
    phi = torch.acos((x @ (x if z is None else z).mT).clamp(-1, 1))
    if z is not None:
        return relu_recursion.offset(phi)
    return relu_recursion.offset(phi.fill_diagonal_(1)).fill_diagonal_(0)


def of_offset(offset: Tensor, depth: int, order: str = "first") -> Tensor:
    """``Θ̄^(L)`` of pairs of different inputs from their offsets ``c`` alone, any shape.

    With ``M - (3/2) ln M + a_1 3π/M = L + c`` (``M = 3π/phi_L``) and ``a_1``, ``g_1`` of :mod:`relu_asymptotics`,
    ``L Θ̄ = M/4 - 1/8 + g_1 3π/M - (M_1/4 - 9/8) (M_1/M)³`` with the ``M_1`` of depth 1. The last term is for nearby
    inputs, with ``c`` of the order of ``L``, and makes the kernel 1 at infinite ``c``.

    This is the ``order`` ``uniform``, for any ``c``; ``first`` is ``a + c/(4L)``.

    Source: derived here, from the Abel function of the layer map.
    """
    validate.one_of(ORDERS, order=order)
    first = 1 / 4 + rate.predicted_excess(offset, depth)
    if order == "first":
        return first
    series = relu_asymptotics.local_series()
    a_1, g_1 = (3 * math.pi * values[1] for values in (series.a, series.g))
    validate.integer(SHALLOWEST, depth=depth)
    m, start = (_inverse_angle(layers + offset, a_1) for layers in (depth, 1))
    return (m / 4 - 1 / 8 + g_1 / m - (start / 4 - 9 / 8) * (start / m) ** 3) / depth


def _inverse_angle(total: Tensor, a_1: float) -> Tensor:
    """``M`` with ``M - (3/2) ln M + a_1/M = total``, by Newton's method; totals below 4 may have none: as at 4."""
    total = total.clamp_min(4)
    m = total + 1.5 * total.log()
    for _ in range(6):
        m = m - (m - 1.5 * m.log() + a_1 / m - total) / (1 - 1.5 / m - a_1 / m**2)
    return m


def ridge_kernels(
    gram_offsets: Tensor, cross_offsets: Tensor, depth: int, order: str = "first"
) -> tuple[Tensor, Tensor]:
    """The kernel matrices of training points and of fresh points against them, from offsets.

    Arguments as in :func:`operator`, :func:`of_offset`. In the first order regression with them is regression with
    ``c`` and a ridge. Source: derived here (module head).
    """
    validate.arrays(gram_offsets=("n n", gram_offsets), cross_offsets=("m n", cross_offsets))
    needs_symmetric(gram_offsets, "gram_offsets")
    gram = of_offset(gram_offsets, depth, order).fill_diagonal_(1)
    return gram, of_offset(cross_offsets, depth, order)


def depth_ridge(depth: int) -> float:
    """The ridge of a depth beside the kernel ``c``: ``4 (1 - a) L = 3L - (3/2) ln L + 1/2``.

    Source: derived here (module head).
    """
    return 4 * depth * (3 / 4 - float(rate.predicted_excess(torch.zeros((), dtype=torch.float64), depth)))


def operator(gram_offsets: Tensor, cross_offsets: Tensor, depth: int) -> Tensor:
    """The projection operator at infinite time to first order in ``C/L``, one row per fresh point.

    ``β 1 + (I - β 11ᵀ) (c_x - β C 1) / (4 (1 - a) L)`` with ``β = a/(1 + (n - 1) a)``.

    Args:
        gram_offsets: ``C (n, n)``, symmetric, zero on its diagonal.
        cross_offsets: ``c_x (m, n)``.
        depth: ``L``, large against the offsets.

    Returns:
        ``(m, n)``; times targets ``(n, k)`` it is the predictor from ``f_0 = 0``.

    Source: derived here (module head).
    """
    validate.arrays(gram_offsets=("n n", gram_offsets), cross_offsets=("m n", cross_offsets))
    needs_symmetric(gram_offsets, "gram_offsets")
    a = 1 / 4 + float(rate.predicted_excess(torch.zeros(()), depth))
    n = len(gram_offsets)
    beta = a / (1 + (n - 1) * a)
    tilt = (cross_offsets - beta * gram_offsets.sum(1)) / (4 * (1 - a) * depth)
    return beta + tilt - beta * tilt.sum(-1, keepdim=True)
