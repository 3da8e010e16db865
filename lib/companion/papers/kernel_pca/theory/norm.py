"""The norm of a label in a kernel's Hilbert space, where the sum over all components, ``Σ ω²/λ``, has no limit."""

import math
from collections.abc import Mapping, Sequence

import torch
from scipy.optimize import brentq
from torch import Tensor

from regimes import validate
from regimes.training.implicit import box_qp

LARGEST = 18.0  # log of the ``C`` whose loss is taken for the least that a kernel allows


def least_norms(gram: Tensor, y: Tensor, lefts: Sequence[float]) -> list[float]:
    """The least ``‖f‖²`` of functions at mean square distances ``lefts`` from labels, times the mean of ``Θ(x, x)``.

    Ridge regression attains it: ``Σ ω² λ/(λ + δ)²`` with the ridge ``δ`` that leaves ``Σ ω² δ²/(λ + δ)²``.

    Args:
        gram: ``(n, n)``.
        y: labels ``(n,)`` in {-1, +1}.
        lefts: each from 0.05 to 0.95. If the components above rounding leave more, the number is no norm: it is of the
            order of ``1e15``, the inverse of the least eigenvalue that is taken.
    """
    validate.arrays(gram=("n n", gram), y=(f"{len(gram)}", y))
    for left in lefts:
        validate.between(0.05, 0.95, left=left)
    values, vectors = torch.linalg.eigh(gram / gram.trace())
    values, squares = values.clamp(min=1e-15), (vectors.mT @ y.to(gram)).square() / len(y)
    rest = lambda log, left: float((squares / (1 + values / math.exp(log)).square()).sum()) - left  # noqa: E731
    ridges = [math.exp(brentq(rest, -36, 5, args=(left,))) for left in lefts]
    return [float((squares * values / (values + ridge).square()).sum()) for ridge in ridges]


def hinge_norms(gram: Tensor, y: Tensor, lefts: Sequence[float]) -> list[float]:
    """The least ``‖f‖²`` of functions with mean hinge losses ``lefts`` (0.01 to 0.99), times the mean of ``Θ(x, x)``.

    A support vector machine without offset attains it, ``f = C Σ q y Θ(x, ·)`` with ``0 ≤ q ≤ 1``, at the ``C`` that
    leaves so much. Infinite where no function leaves so little. Shapes are those of ``least_norms``.
    """
    validate.arrays(gram=("n n", gram), y=(f"{len(gram)}", y))
    for left in lefts:
        validate.between(0.01, 0.99, left=left)
    signed = y[:, None] * (gram / gram.diagonal().mean()) * y
    ends, q = {}, torch.zeros_like(y)[None]
    for log in (LARGEST, -LARGEST, LARGEST):  # as the search for each begins
        q, ends[log] = _machine(signed, log, q)
    return [_hinge_norm(signed, left, ends, q) for left in lefts]


def _machine(signed: Tensor, log: float, q: Tensor) -> tuple[Tensor, float]:
    """The multipliers ``(1, n)`` of the machine at the logarithm of ``C``, sought from ``q``, and its mean loss."""
    q = box_qp(math.exp(log) * signed[None], torch.ones_like(q), start=q, tolerance=1e-6)
    return q, float((1 - math.exp(log) * (signed @ q[0])).clamp(min=0).mean())


def _hinge_norm(signed: Tensor, left: float, ends: Mapping[float, float], q: Tensor) -> float:
    """The norm at one loss, with the losses at the ``ends`` of the search and the multipliers where it begins."""

    def rest(log: float) -> float:
        nonlocal q
        if log in ends:
            return ends[log] - left
        q, loss = _machine(signed, log, q)
        return loss - left

    if rest(LARGEST) > 0:
        return math.inf
    C = math.exp(brentq(rest, -LARGEST, LARGEST, xtol=1e-5))
    norm = C**2 * float(q[0] @ signed @ q[0])
    if norm + C * float(q.shape[-1] * left - q.sum()) > 1e-3 * norm:  # the duality gap
        raise RuntimeError(f"no solution of the support vector machine at a loss of {left:g}")
    return norm
