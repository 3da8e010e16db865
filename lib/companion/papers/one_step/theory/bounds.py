"""Bounds on what one step learns: (26), (27), (28), (132), the functions that attain them, and baselines.

All are distances in ``L2`` of the normal measure of ``k = v·x`` from the target to the span of ``kappa0`` (upper bound,
reached at infinite penalty) or of ``kappa0`` and ``k kappa1`` (lower bound, for every penalty), of each readout value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from companion.papers.one_step.theory.conditional_map import Channel, channel, channels_of_values, slope_in_c
from companion.papers.one_step.theory.functions import Function, function, hermite
from regimes import gaussian


@dataclass(frozen=True)
class Bounds:
    """Upper bound on the error at the best penalty, lower bound at every penalty, and the functions that attain them.

    Attributes:
        upper: ``min_m |σ* - m kappa0|^2``.
        lower: ``min_(m, zeta) |σ* - m kappa0 - zeta k kappa1|^2``.
        k: nodes ``(K,)``.
        upper_function: ``m kappa0`` at the nodes.
        lower_function: ``m kappa0 + zeta k kappa1`` at the nodes.
    """

    upper: float
    lower: float
    k: np.ndarray
    upper_function: np.ndarray
    lower_function: np.ndarray


def bounds(
    activation: str | Function,
    target: str | Function,
    *,
    r: float,
    c: float = 1.0,
    bias: float = 0.0,
    values: Sequence[float] = (1.0,),
) -> Bounds:
    """Bounds on the test error of ridge regression on spiked random features, for any ``alpha`` and ``beta``.

    Alignment is perfect. With several readout ``values`` ``u`` the features span ``kappa0`` and ``k kappa1`` of each,
    at the spike ``r u`` and the bulk variance ``1 + u^2 (c - 1)``.

    Source: paper E, Eqs. 26, 27, 132.
    """
    e = channels_of_values(function(activation, "activation"), function(target, "target"), values, r=r, c=c, bias=bias)
    w, h = e.weight[0], e.h[0]
    upper, upper_function = _project(w, h, e.kappa0)
    lower, lower_function = _project(w, h, np.concatenate([e.kappa0, e.k * e.kappa1]))
    return Bounds(upper, lower, e.k[0], upper_function, lower_function)


def span_dimension(activation: str | Function, values: Sequence[float], *, r: float, tolerance: float = 1e-9) -> int:
    """How many of the ``2 |V|`` functions ``kappa0``, ``k kappa1`` of readout ``values`` are linearly independent.

    Those with a singular value above ``tolerance`` times the largest, each function at norm 1. Opposite values have the
    functions of one, as the activation is odd.

    Source: paper E, Sec. 4.4 ("generically of dimension ``2 |V|``").
    """
    e = channels_of_values(function(activation, "activation"), function("identity"), values, r=r, c=1.0)
    basis = np.concatenate([e.kappa0, e.k * e.kappa1]) * np.sqrt(e.weight[0])
    sizes = np.linalg.svd(basis / np.linalg.norm(basis, axis=1, keepdims=True), compute_uv=False)
    return int((sizes > tolerance * sizes[0]).sum())


def network_bound(activation: str | Function, target: str | Function, *, r: float) -> float:
    """The lower bound of a network after a step on infinitely many samples, in place of (27).

    Its span has ``k kappa1 + 2 h3/h1 r dkappa0/dc`` where spiked features have ``k kappa1``, at ``c = 1``. For error
    functions ``dkappa0/dc = -rate^2/(1 + 2 rate^2 c) k kappa1`` and for the sine ``-kappa0/2``: the spans agree.

    Source: paper E, Eq. 27, for the corrected theory of :mod:`companion.papers.one_step.theory.row_covariance`.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    e = channel(activation, target, r=r, c=1.0, gamma=1.0)
    h = hermite(activation, target)
    second = e.k[0] * e.kappa1[0] + 2 * h.h3 / h.h1 * r * slope_in_c(activation, r * e.k[0], 1.0)
    return _project(e.weight[0], e.h[0], np.stack([e.kappa0[0], second]))[0]


def _project(w: np.ndarray, h: np.ndarray, basis: np.ndarray) -> tuple[float, np.ndarray]:
    """Squared distance from ``h (K,)`` to the span of ``basis (J, K)`` under the weights, and the nearest function."""
    root = np.sqrt(w)
    coefficients = np.linalg.lstsq((basis * root).T, h * root, rcond=1e-12)[0]
    nearest = coefficients @ basis
    return float(w @ (h - nearest) ** 2), nearest


def best_linear(target: str | Function) -> float:
    """Error of the best linear estimator, ``E σ*^2 - (E z σ*)^2 - (E σ*)^2``, which no kernel beats at ``n ~ d``.

    Source: paper E, Sec. 4.2 (for a centred target).
    """
    target = function(target, "target")
    h = hermite(function("identity"), target)
    return h.t2 - h.t1**2 - gaussian.expect(target.array, breaks=target.breaks) ** 2


def learned_function(e: Channel, t: np.ndarray, *, gamma: float, m: float, zeta: float, psi: float) -> np.ndarray:
    """Mean of the learned function given ``theta·x = t``, by interpolation on the channel's nodes.

    ``k = gamma t + sqrt(1 - gamma^2) u`` and ``s = sqrt(1 - gamma^2) t - gamma u`` with ``u`` normal.

    """
    u, w = gaussian.trapezoid(120)
    across = np.sqrt(max(0.0, 1 - gamma**2))
    k = gamma * t[:, None] + across * u
    s = across * t[:, None] - gamma * u
    order = np.argsort(e.k[0])
    kappa0, kappa1 = (np.interp(k, e.k[0][order], column[0][order]) for column in (e.kappa0, e.kappa1))
    return (kappa0 * m + kappa1 * (k * zeta + psi * s)) @ w
