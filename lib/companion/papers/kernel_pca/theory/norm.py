"""The norm of a label in a kernel's Hilbert space, where the sum over all components, ``Σ ω²/λ``, has no limit."""

import math
from collections.abc import Mapping, Sequence

import torch
from scipy.optimize import brentq
from torch import Tensor

from regimes import validate
from regimes.training.implicit import box_qp

LARGEST = 18.0  # log of the ``C`` whose loss is taken for the least that a kernel allows


def least_norms(gram: Tensor, y: Tensor, distances: Sequence[float]) -> list[float]:
    """The least ``‖f‖²`` of functions at mean square ``distances`` from labels, times the mean of ``Θ(x, x)``.

    Ridge regression attains it: ``Σ ω² λ/(λ + δ)²`` with the ridge ``δ`` that leaves ``Σ ω² δ²/(λ + δ)²``.

    Args:
        gram: ``(n, n)``.
        y: labels ``(n,)`` in {-1, +1}.
        distances: each from 0.05 to 0.95. If the components above rounding leave more, the number is no norm: it is of
            the order of ``1e15``, the inverse of the least eigenvalue that is taken.
    """
    validate.arrays(gram=("n n", gram), y=(f"{len(gram)}", y))
    for distance in distances:
        validate.between(0.05, 0.95, distance=distance)
    values, vectors = torch.linalg.eigh(gram / gram.trace())
    values = values.clamp(min=1e-15)
    squares = (vectors.mT @ y.to(gram)).square() / len(y)

    def excess(log_ridge: float, distance: float) -> float:
        return float((squares / (1 + values / math.exp(log_ridge)).square()).sum()) - distance

    norms = []
    for distance in distances:
        ridge = math.exp(brentq(excess, -36, 5, args=(distance,)))
        norms.append(float((squares * values / (values + ridge).square()).sum()))
    return norms


def hinge_norms(gram: Tensor, y: Tensor, losses: Sequence[float]) -> list[float]:
    """The least ``‖f‖²`` of functions with mean hinge ``losses`` (0.01 to 0.99), times the mean of ``Θ(x, x)``.

    A support vector machine without offset attains it, ``f = C Σ q y Θ(x, ·)`` with ``0 ≤ q ≤ 1``, at the ``C`` that
    leaves so much. Infinite where no function leaves so little. Shapes are those of ``least_norms``.
    """
    validate.arrays(gram=("n n", gram), y=(f"{len(gram)}", y))
    for loss in losses:
        validate.between(0.01, 0.99, loss=loss)
    signed = y[:, None] * (gram / gram.diagonal().mean()) * y
    extremes = {}
    q = torch.zeros_like(y)[None]
    for log_C in (LARGEST, -LARGEST, LARGEST):  # as the search for each begins
        q, extremes[log_C] = _machine(signed, log_C, q)
    return [_hinge_norm(signed, loss, extremes, q) for loss in losses]


def _machine(signed: Tensor, log_C: float, q: Tensor) -> tuple[Tensor, float]:
    """The multipliers ``(1, n)`` of the machine at the logarithm of ``C``, sought from ``q``, and its mean loss."""
    C = math.exp(log_C)
    q = box_qp(C * signed[None], torch.ones_like(q), start=q, tolerance=1e-6)
    return q, float((1 - C * (signed @ q[0])).clamp(min=0).mean())


def _hinge_norm(signed: Tensor, loss: float, extremes: Mapping[float, float], q: Tensor) -> float:
    """The norm at one loss, with the losses at the ``extremes`` of ``log C`` and the multipliers where it begins."""

    def excess(log_C: float) -> float:
        nonlocal q
        if log_C in extremes:
            return extremes[log_C] - loss
        q, machine_loss = _machine(signed, log_C, q)
        return machine_loss - loss

    if excess(LARGEST) > 0:
        return math.inf
    C = math.exp(brentq(excess, -LARGEST, LARGEST, xtol=1e-5))
    norm = C**2 * float(q[0] @ signed @ q[0])
    duality_gap = norm + C * float(q.shape[-1] * loss - q.sum())
    if duality_gap > 1e-3 * norm:
        raise RuntimeError(f"no solution of the support vector machine at a loss of {loss:g}")
    return norm
