"""Spectrum of the feature covariance: the bulk from the saddle point at a complex penalty, the outliers from a root.

``K = Phi^T Phi / p`` (``p x p``; ``Phi (n, p)`` holds the features of ``n`` samples), so that
``tr (K - z)^-1 / p = V2`` at the penalty ``lam = -z``. The covariance ``Phi^T Phi / n`` has the eigenvalues of ``K``
times ``p/n``.
"""

import numpy as np
from scipy import optimize

from companion.papers.one_step.theory.conditional_map import Channel, channel
from companion.papers.one_step.theory.functions import Function, function
from companion.papers.one_step.theory.ridge_theory import needs_ratios
from companion.papers.one_step.theory.saddle_point import NotConverged
from regimes import validate
from regimes.validate import InputError

DOWN = 0.95  # steps of the search for the outlier


def stieltjes(e: Channel, z: np.ndarray, *, alpha: float, beta: float, c: float) -> np.ndarray:
    """``(V1, V2)`` at the penalty ``-z``, array ``(2, len(z))``; ``V2`` is the Stieltjes transform of ``K``.

    The iteration stays in the upper half plane and so finds the physical root. It starts far above the real axis and
    comes down in steps, each finished by Newton's method.

    Args:
        e: the conditional map of one setting.
        z: points with positive imaginary part, or real points above the bulk.
        alpha: ``n/d``.
        beta: ``p/d``.
        c: bulk variance.

    Source: paper E, Eqs. 189, 190.
    """
    needs_ratios(alpha=alpha, beta=beta, c=c)
    if (z.imag < 0).any():
        raise InputError(f"z must hold points with imaginary parts of at least 0, got {z!r}")
    top = 10 * (1 + np.abs(z).max())
    V = np.stack([-c / (z + 1j * top), -1 / (z + 1j * top)])
    heights = np.geomspace(top, 1e-3, 24)
    for height in [*heights, 0.0]:
        V = _relax(e, z + 1j * height, V, alpha, beta, c)
    return V


def _map(e: Channel, z: np.ndarray, V: np.ndarray, alpha: float, beta: float, c: float) -> np.ndarray:
    linear = e.kappa1[0] ** 2
    nonlinear = e.kappa2[0]
    over = e.weight[0] / (1 + V[0][:, None] * linear + V[1][:, None] * nonlinear)
    B = alpha / beta * (over @ linear)
    s = alpha / beta * (over @ nonlinear) - z
    g = 1 / (s + c * B / (1 + beta * c * B * V[1]))
    return np.stack([c * g / (1 + beta * c * B * g), g])


def _relax(e: Channel, z: np.ndarray, V: np.ndarray, alpha: float, beta: float, c: float) -> np.ndarray:
    """Newton's method while it keeps the upper half plane, averaged iteration where it does not."""
    for _ in range(200):
        new = _map(e, z, V, alpha, beta, c)
        gap = np.abs(new - V).max(0) / np.abs(V).max(0)
        if gap.max() < 1e-10:
            return V
        newton = _newton(e, z, V, new, alpha, beta, c)
        good = np.isfinite(newton).all(0) & (newton.imag > 0).all(0)
        V = np.where(good, newton, (V + new) / 2)
    if gap.max() > 1e-6:
        i = int(gap.argmax())
        raise NotConverged(f"spectrum not found at z={z[i]:.4g}: V1={V[0, i]:.4g}, V2={V[1, i]:.4g}, gap {gap[i]:.1e}")
    return V


def _newton(
    e: Channel, z: np.ndarray, V: np.ndarray, new: np.ndarray, alpha: float, beta: float, c: float
) -> np.ndarray:
    """One step for ``V = map(V)``; the map is analytic, so a small step in each variable gives its Jacobian."""
    columns = []
    for i in range(2):
        moved = V.copy()
        shift = 1e-7 * V[i]
        moved[i] += shift
        columns.append((_map(e, z, moved, alpha, beta, c) - new) / shift)
    a, b = 1 - columns[0][0], -columns[1][0]
    f, g = -columns[0][1], 1 - columns[1][1]
    residual = V - new
    step = np.stack([g * residual[0] - b * residual[1], a * residual[1] - f * residual[0]]) / (a * g - b * f)
    return V - step


def density(
    activation: str | Function,
    x: np.ndarray,
    *,
    alpha: float,
    beta: float,
    r: float,
    c: float = 1.0,
    height: float = 1e-3,
) -> np.ndarray:
    """Density at ``x`` of the eigenvalues of ``K = Phi^T Phi / p``, without atoms and outliers.

    Args:
        activation: of the features.
        x: positions, ``> 0``.
        alpha: ``n/d``.
        beta: ``p/d``.
        r: spike strength.
        c: bulk variance.
        height: distance from the real axis; the density is smoothed over that width.
    """
    validate.positive(height=height)
    x = np.asarray(x, dtype=float)
    if x.ndim != 1 or not len(x) or not np.isfinite(x).all() or not (x > 0).all():
        raise InputError(f"x must hold positions (n,) above 0, got {x!r}")
    activation = function(activation, "activation")
    e = channel(activation, function("identity"), r=r, c=c, gamma=1.0)
    return stieltjes(e, x + 1j * height, alpha=alpha, beta=beta, c=c)[1].imag / np.pi


def outlier(activation: str | Function, *, alpha: float, beta: float, r: float, p: float, c: float = 1.0) -> float:
    """The isolated eigenvalue of ``K`` at width ``p``: the largest root of ``det(I + G Q) = 0``.

    To leading order it is ``n E kappa0^2``, the population's. If the spike is too weak to leave the bulk there is none
    (:class:`NotConverged`).

    Source: paper E, Eq. 191; the determinant is ours.
    """
    needs_ratios(alpha=alpha, beta=beta, c=c, width=p)
    e = channel(function(activation, "activation"), function("identity"), r=r, c=c, gamma=1.0)
    guess = p * alpha / beta * float(e.mean(e.kappa0**2)[0])

    def determinant(x: float) -> float:
        V = _outside(e, x, alpha, beta, c)
        over = e.weight[0] / (1 + V[0] * e.kappa1[0] ** 2 + V[1] * e.kappa2[0])
        f = np.stack([e.kappa0[0], e.k[0] * e.kappa1[0]])
        Q = alpha / beta * (f * over) @ f.T
        return float(np.linalg.det(np.eye(2) + np.diag([p * V[1], beta * c * V[1]]) @ Q))

    top = low = high = 1.5 * guess + 10
    try:
        while determinant(low) > 0:  # downwards from where there is none, until the root or the bulk
            low, high = DOWN * low, low
    except NotConverged:
        raise NotConverged(
            f"no isolated eigenvalue between {low:.4g} and {top:.4g}: the spike r={r:g} is in the bulk"
        ) from None
    return float(optimize.brentq(determinant, low, high, xtol=1e-8 * high))


def _outside(e: Channel, x: float, alpha: float, beta: float, c: float) -> np.ndarray:
    """``(V1, V2)`` at a real point above the bulk, where the plain iteration contracts."""
    V = np.array([[-c / x], [-1 / x]])
    for _ in range(2000):
        new = _map(e, np.array([x]), V, alpha, beta, c)
        if np.abs(new - V).max() <= 1e-13 * np.abs(V).max():
            return new[:, 0]
        V = new
    raise NotConverged(f"the point x={x:.4g} is not above the bulk: V1={V[0, 0]:.4g}, V2={V[1, 0]:.4g}")
