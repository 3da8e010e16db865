"""What can be learned with one step: bounds (26), (27), (28), (132), the functions that reach them, and baselines.

All are distances in ``L2`` of the normal measure of ``k = v·x`` from the target to the span of ``kappa0`` (upper bound,
reached at infinite penalty) or of ``kappa0`` and ``k kappa1`` (lower bound, for every penalty).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from companion.theory.spiked.conditional_map import Channel, channel, needs_alignment
from companion.theory.spiked.functions import Function, function, hermite
from regimes import validate
from regimes.validate import InputError


@dataclass(frozen=True)
class Bounds:
    """Upper bound on the error at the best penalty, lower bound at every penalty, and the functions reaching them.

    Attributes:
        upper: ``min_m |σ* - m kappa0|^2``.
        lower: ``min_(m, zeta) |σ* - m kappa0 - zeta k kappa1|^2`` (less the part along the rest of the target).
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
    gamma: float = 1.0,
    noise: float = 0.0,
    bias: float = 0.0,
) -> Bounds:
    """Bounds on the test error of ridge regression on spiked random features, whatever ``alpha`` and ``beta``.

    For ``gamma < 1`` the target is replaced by its mean given ``k``, its spread is added, and the lower bound loses
    ``<kappa1, H'>^2 / |kappa1|^2``, the most that the orthogonal part can explain.

    Raises:
        InputError: for numbers that make no sense.

    Source: paper E, Eqs. 26, 27, 132; the extension to ``gamma < 1`` is ours.
    """
    e = channel(
        function(activation, "activation"), function(target, "target"), r=r, c=c, gamma=gamma, noise=noise, bias=bias
    )
    w, h = e.weight[0], e.h[0]
    spread = float(w @ (e.h2[0] - h**2)) - noise
    up, near = project(w, h, e.kappa0)
    down, nearest = project(w, h, np.concatenate([e.kappa0, e.k * e.kappa1]))
    explained = (w @ (e.kappa1[0] * e.h_s[0])) ** 2 / (w @ e.kappa1[0] ** 2)
    return Bounds(up + spread, max(0.0, down + spread - float(explained)), e.k[0], near, nearest)


def project(w: np.ndarray, h: np.ndarray, basis: np.ndarray) -> tuple[float, np.ndarray]:
    """Squared distance from ``h (K,)`` to the span of ``basis (J, K)`` under the weights, and the nearest function.

    Raises:
        InputError: for shapes that do not fit, or what is no number.
    """
    validate.arrays(w=("K", w), h=("K", h), basis=("J K", basis))
    root = np.sqrt(w)
    coefficients = np.linalg.lstsq((basis * root).T, h * root, rcond=1e-12)[0]
    nearest = coefficients @ basis
    return float(w @ (h - nearest) ** 2), nearest


def letters_bound(
    activation: str | Function, target: str | Function, *, r: float, values: Sequence[float], c: Sequence[float]
) -> float:
    """Lower bound for a readout drawn from a vocabulary: the span of all letters' ``kappa0`` and ``k kappa1``.

    Raises:
        InputError: for letters and bulk variances that are not as many, at least one, or numbers that make no sense.
    """
    if len(values) != len(c) or not len(values):
        raise InputError(f"values and c must be as many, at least one, got {list(values)} and {list(c)}")
    validate.number(r=r, **{f"values[{i}]": u for i, u in enumerate(values)})
    activation, target = function(activation, "activation"), function(target, "target")
    strongest = r * max(map(abs, values))
    maps = [channel(activation, target, r=r * u, c=cj, gamma=1.0, resolve=strongest) for u, cj in zip(values, c)]
    basis = np.concatenate([part for e in maps for part in (e.kappa0, e.k * e.kappa1)])
    return project(maps[0].weight[0], maps[0].h[0], basis)[0]


def best_linear(target: str | Function) -> float:
    """Error of the best linear estimator, ``E σ*^2 - (E z σ*)^2 - (E σ*)^2``, which no kernel beats at ``n ~ d``.

    Source: paper E, Sec. 4.2 (for a centred target).
    """
    from regimes import gaussian

    target = function(target, "target")
    h = hermite(function("identity"), target)
    return h.t2 - h.t1**2 - gaussian.expect(target.array, breaks=target.breaks) ** 2


def learned_function(e: Channel, t: np.ndarray, *, gamma: float, m: float, zeta: float, psi: float) -> np.ndarray:
    """Mean of the learned function given ``theta·x = t``, by interpolation on the channel's nodes.

    ``k = gamma t + sqrt(1 - gamma^2) u`` and ``s = sqrt(1 - gamma^2) t - gamma u`` with ``u`` normal.

    Raises:
        InputError: for ``t`` that is no array of numbers ``(n,)``, ``|gamma| > 1``, or overlaps that are no numbers.
    """
    from regimes import gaussian

    needs_alignment(gamma)
    validate.number(m=m, zeta=zeta, psi=psi)
    validate.arrays(t=("n", t))
    u, w = gaussian.trapezoid(120)
    across = np.sqrt(max(0.0, 1 - gamma**2))
    k = gamma * t[:, None] + across * u
    s = across * t[:, None] - gamma * u
    order = np.argsort(e.k[0])
    kappa0, kappa1 = (np.interp(k, e.k[0][order], column[0][order]) for column in (e.kappa0, e.kappa1))
    return (kappa0 * m + kappa1 * (k * zeta + psi * s)) @ w
