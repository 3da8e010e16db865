"""What a very deep predictor says: its operator to first order in ``1/L``, in closed form.

Far down, the kernel is ``Θ̄ = a 11ᵀ + (1 - a) I + C/(4L)`` with ``a = 1/4 + (3/8 ln L - 1/8)/L`` the same for every pair
and ``C`` the matrix of offsets ``c_ij``, zero on its diagonal. Both parts are inverted by hand: with
``β = a/(1 + (n - 1) a)``,

``op(x) = β 1 + (I - β 11ᵀ) (c_x - β C 1) / (4 (1 - a) L) + O((ln L / L)²)``,

where ``β → 1/(n + 3)`` and ``4 (1 - a) → 3``. Source: derived here; it says what paper C, Theorem 3 bounds.
"""

import torch
from torch import Tensor

from companion.theory.depth import pairs, rate
from companion.theory.depth.regression import needs_symmetric
from regimes import validate
from regimes.kernels import relu_recursion


def offsets(x: Tensor, z: Tensor | None = None) -> Tensor:
    """``c`` of all pairs of unit points, ``(n, m)``; between the rows of ``x`` alone the diagonal is zero.

    Args:
        x: unit points ``(n, d)``, float64.
        z: unit points ``(m, d)``, none of which is in ``x``; ``None`` for ``x`` itself, whose points must differ.

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


def operator(gram_offsets: Tensor, cross_offsets: Tensor, depth: int) -> Tensor:
    """The projection operator at infinite time to first order in ``1/L``, one row a fresh point.

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
    a, n = 1 / 4 + float(rate.predicted_excess(torch.zeros(()), depth)), len(gram_offsets)
    beta = a / (1 + (n - 1) * a)
    tilt = (cross_offsets - beta * gram_offsets.sum(1)) / (4 * (1 - a) * depth)
    return beta + tilt - beta * tilt.sum(-1, keepdim=True)
