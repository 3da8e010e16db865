r"""Where lazy training ends: the least weights of the least hinge loss, and their norm for random labels.

A lazy network is linear in its :math:`N` parameters. With tangent features :math:`\varphi_\mu` and labels
:math:`y_\mu`, the weights move by :math:`w`, and the gaps are :math:`\Delta_\mu=1-y_\mu\,w\cdot\varphi_\mu`. If the
points can be separated, the least :math:`w` without a gap is one over the largest margin; else some gaps remain.
"""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm as normal

from companion.papers.jamming.theory.jamming import SLACK
from regimes import validate
from regimes.validate import InputError

DECAYS = tuple(10.0**-power for power in range(1, 21))  # in units of the features' mean square eigenvalue
ROUNDS = 200  # Newton steps under one decay


def least_hinge(features: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""The weights ``(N,)`` and the gaps ``(P,)`` at the end of lazy training on the quadratic hinge, from zero.

    .. math:: \min_w \tfrac12\sum_\mu\max(0,1-y_\mu\,w\cdot\varphi_\mu)^2+\tfrac\lambda2\lvert w\rvert^2,

    with a decay that falls until all gaps are below ``SLACK``, or to the least of ``DECAYS``. Points with a gap above
    zero are those that hold the weights: support vectors where all can be fitted.

    Under each decay Newton's method with an exact line search ends after finitely many steps, since the loss is
    quadratic between the planes on which a gap vanishes.

    Args:
        features: ``(P, N)``.
        labels: -1 or 1, ``(P,)``.

    Source: Mangasarian, A finite Newton method for classification (2002).
    """
    features = np.asarray(features, dtype=float)
    labels = np.asarray(labels, dtype=float)
    validate.arrays(features=("P N", features), labels=("P", labels))
    if (np.abs(labels) != 1).any():
        raise InputError("labels must be -1 or 1")
    signed = labels[:, None] * features
    unit = float(np.square(signed).sum() / min(signed.shape))
    weights = np.zeros(signed.shape[1])
    for decay in DECAYS:
        weights = _newton(signed, weights, decay * unit)
        gaps = np.maximum(0, 1 - signed @ weights)
        if gaps.max() < SLACK:
            break
    return weights, gaps


def _newton(signed: np.ndarray, weights: np.ndarray, decay: float) -> np.ndarray:
    """The minimum under one decay, from ``weights``."""
    for _ in range(ROUNDS):
        active = signed @ weights < 1
        target = _ridge(signed[active], decay)
        if ((signed @ target < 1) == active).all():
            return target
        direction = target - weights
        weights = weights + _length(signed, weights, direction, decay) * direction
    return weights


def _ridge(active: np.ndarray, decay: float) -> np.ndarray:
    """The weights of ridge regression to a margin of one, in the smaller of its two forms."""
    count, size = active.shape
    if count < size:
        return active.T @ np.linalg.solve(active @ active.T + decay * np.eye(count), np.ones(count))
    return np.linalg.solve(active.T @ active + decay * np.eye(size), active.sum(0))


def _length(signed: np.ndarray, weights: np.ndarray, direction: np.ndarray, decay: float) -> float:
    """The step along a direction to the least loss, a convex function of it."""
    gaps = 1 - signed @ weights
    rates = signed @ direction
    linear = decay * (weights @ direction)
    quadratic = decay * (direction @ direction)

    def slope(step: float) -> float:
        return linear + quadratic * step - float(rates @ np.maximum(0, gaps - step * rates))

    if slope(0) >= 0:
        return 0.0
    upper = 1.0
    while slope(upper) < 0:
        upper *= 2
    return float(brentq(slope, 0, upper, xtol=1e-14))


def gardner_load(margin: float) -> float:
    r"""Parameters per point, ``N/P``, at which random labels can be fitted with a margin, for isotropic features.

    .. math:: N/P=(1+\kappa^2)\,\Phi(\kappa)+\kappa\,\varphi(\kappa),

    one half at no margin, which is Cover's theorem. ``Φ`` and ``φ`` are the normal distribution and its density.

    Source: Gardner, The space of interactions in neural network models (1988).

    Args:
        margin: of weights of norm 1, in units of the root of the features' variance.
    """
    return float((1 + margin**2) * normal.cdf(margin) + margin * normal.pdf(margin))


def gardner_margin(load: float) -> float:
    """The largest margin of random labels at ``load`` parameters per point, zero at one half; NaN below."""
    if load < 0.5:
        return math.nan
    high = 1.0
    while gardner_load(high) < load:
        high *= 2
    return float(brentq(lambda margin: gardner_load(margin) - load, 0, high, xtol=1e-14))


def norm_exponent_of_random_labels(low: float, high: float) -> float:
    r"""The exponent of the norm, one over the margin, in :math:`N-N^*` between two values of :math:`N/N^*`.

    It is -1 next to jamming and less steep beyond: -0.83 from 1.1 to 4. Isotropic features, :math:`N^*=P/2`; a
    least-squares fit to points that are equally far in the logarithm.

    Args:
        low: the smallest ``N/N*``, above 1.
        high: the largest.
    """
    beyond = np.geomspace(low - 1, high - 1, 60)
    margins = [gardner_margin((1 + distance) / 2) for distance in beyond]
    return float(np.polyfit(np.log(beyond), -np.log(margins), 1)[0])


def norm_of_random_labels(points: int, spectrum: np.ndarray) -> float:
    r"""The least norm of weights that fit random labels, for Gaussian features of any spectrum.

    With :math:`a_i=\lambda_i/(\lambda_i+\tau)` the features count as :math:`N_\tau=(\sum a_i)^2/\sum a_i^2`. The margin
    :math:`\kappa` of as many isotropic ones is Gardner's, and

    .. math:: \lvert w\rvert^2=\min_\tau\frac1{\kappa^2(N_\tau/P)}\,\frac{\sum a_i^2/\lambda_i}{\sum a_i^2}.

    It is infinite for ``N`` below half of the points. Equal eigenvalues give Gardner's curve.

    Source: derived here by Gordon's inequality, as in Montanari, Ruan, Sohn and Yan (2019).

    Args:
        points: ``P``.
        spectrum: eigenvalues of the features' second moments ``(N,)``, positive.
    """
    spectrum = np.asarray(spectrum, dtype=float)
    validate.arrays(spectrum=("N", spectrum))
    validate.positive(least=float(spectrum.min()))
    if len(spectrum) <= points / 2:
        return math.inf

    def log_norm(log_floor: float) -> float:
        shares = spectrum / (spectrum + math.exp(log_floor))
        squares = np.square(shares)
        count = shares.sum() ** 2 / squares.sum()
        margin = gardner_margin(count / points)
        if not margin > 0:
            return math.inf
        return 0.5 * math.log((squares / spectrum).sum() / squares.sum()) - math.log(margin)

    floors = np.linspace(math.log(spectrum.min()) - 12, math.log(spectrum.max()) + 4, 81)
    values = [log_norm(floor) for floor in floors]
    best = int(np.argmin(values))
    bounds = (floors[max(best - 1, 0)], floors[min(best + 1, len(floors) - 1)])
    minimum = minimize_scalar(log_norm, bounds=bounds, method="bounded", options={"xatol": 1e-6}).fun
    return math.exp(min(minimum, values[best]))
