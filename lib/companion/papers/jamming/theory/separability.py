r"""Where lazy networks jam, read from shares of them that fit: the likeliest number of parameters by Cover's theorem.

The theorem, and the linear program that decides each network, are :mod:`regimes.measures.separability`.
"""

import math

import numpy as np
from scipy.optimize import isotonic_regression, minimize_scalar

from regimes import validate
from regimes.measures.separability import largest_margin, separable_share
from regimes.validate import InputError

__all__ = ["effective_parameters", "largest_margin", "separable_share"]


def effective_parameters(points: np.ndarray, shares: np.ndarray, parameters: np.ndarray) -> float:
    r"""The factor by which ``parameters`` must be multiplied for Cover's theorem to be likeliest for what was found.

    One if the theorem holds: half of random labels are then separable at :math:`P=2N`.

    Args:
        points: ``P`` of each case ``(n,)``.
        shares: of the networks of each case, equally many, those that could separate its labels ``(n,)``.
        parameters: ``N`` of each ``(n,)``.
    """
    points = np.asarray(points, dtype=float)
    parameters = np.asarray(parameters, dtype=float)
    shares = np.asarray(shares, dtype=float)
    validate.arrays(points=("n", points), shares=("n", shares), parameters=("n", parameters))

    def surprise(log_factor: float) -> float:
        chance = np.clip(separable_share(points, math.exp(log_factor) * parameters), 1e-12, 1 - 1e-12)
        return -float((shares * np.log(chance) + (1 - shares) * np.log(1 - chance)).sum())

    bounds = (math.log(0.5), math.log(2.0))
    return math.exp(minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)


def layer_counts(d: int, h: float, layers: int) -> list[float]:
    """Weights of each layer of a network of one output and no biases: ``d h``, ``h²`` for each further one, and ``h``.

    Args:
        d: dimension of the points.
        h: width, also between whole numbers.
        layers: hidden ones.
    """
    return [d * h, *[h * h] * (layers - 1), h]


def width_of(parameters: float, d: int, layers: int) -> float:
    """The width, also between whole numbers, at which a network has so many parameters; see :func:`layer_counts`."""
    if layers == 1:
        return parameters / (d + 1)
    return (math.sqrt((d + 1) ** 2 + 4 * (layers - 1) * parameters) - d - 1) / (2 * (layers - 1))


def mean_threshold(sizes: np.ndarray, shares: np.ndarray) -> float:
    r"""The mean size from which on a network fits, from the shares that fit at some sizes.

    .. math:: \sum_i(s_{i+1}-s_i)\,(N_i+N_{i+1})/2.

    Shares are made monotone by pooling neighbours, and what lies beyond the sizes counts at the first or the last.

    Args:
        sizes: increasing, ``(k,)``.
        shares: at each ``(k,)``; below one quarter at the first, above three quarters at the last.

    Raises:
        InputError: for sizes that do not hold the transition.

    Source: Spearman (1908) and Kaerber (1931), for doses.
    """
    sizes = np.asarray(sizes, dtype=float)
    shares = np.asarray(shares, dtype=float)
    validate.arrays(sizes=("k", sizes), shares=("k", shares))
    if (np.diff(sizes) <= 0).any():
        raise InputError(f"sizes must increase, got {sizes.tolist()}")
    monotone = isotonic_regression(shares).x
    if monotone[0] > 0.25 or monotone[-1] < 0.75:
        raise InputError(f"sizes must hold the transition, got shares from {monotone[0]:.2f} to {monotone[-1]:.2f}")
    between = np.r_[sizes[0], (sizes[1:] + sizes[:-1]) / 2, sizes[-1]]
    return float(np.diff(np.r_[0, monotone, 1]) @ between)
