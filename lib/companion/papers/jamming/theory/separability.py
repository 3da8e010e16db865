r"""When a lazy network can fit: Cover's theorem for its tangent features, and a linear program that decides each case.

A lazy network is linear in its :math:`N` parameters. It fits :math:`P` points with labels :math:`y_\mu` if and only if
some direction :math:`w` gives all of them a positive margin, :math:`y_\mu\,w\cdot\nabla f(x_\mu)>0`. For random labels
the chance of that is known exactly, whatever the features, so long as any :math:`N` of them are linearly independent.
"""

import math

import numpy as np
from scipy.optimize import linprog, minimize_scalar
from scipy.stats import binom

from regimes import validate
from regimes.validate import InputError


def separable_share(points: int | np.ndarray, parameters: float | np.ndarray) -> np.ndarray:
    r"""The chance that random labels of points in general position are linearly separable.

    .. math:: 2^{1-P}\sum_{k<N}\binom{P-1}{k},

    one half at :math:`P=2N`, in a window of width :math:`\sqrt P`. Between whole numbers of parameters it is linear.

    Source: Cover, Geometrical and statistical properties of systems of linear inequalities (1965), Theorem 1.

    Args:
        points: ``P``.
        parameters: ``N``, as many as a point has features.
    """
    count = np.asarray(parameters, dtype=float)
    below = np.floor(count)
    trials = np.asarray(points) - 1
    low = binom.cdf(below - 1, trials, 0.5)
    high = binom.cdf(below, trials, 0.5)
    return low + (count - below) * (high - low)


def largest_margin(features: np.ndarray, labels: np.ndarray) -> float:
    r"""The largest :math:`\min_\mu y_\mu\,w\cdot\varphi_\mu` over directions with :math:`\lvert w_k\rvert\le1`.

    It is positive if and only if the points can be separated. Features are divided by their norms before, which changes
    nothing of that. A linear program (HiGHS).

    Args:
        features: ``(P, N)``.
        labels: -1 or 1, ``(P,)``.

    Raises:
        InputError: for other labels, or if the program finds no optimum.
    """
    features = np.asarray(features, dtype=float)
    labels = np.asarray(labels, dtype=float)
    validate.arrays(features=("P N", features), labels=("P", labels))
    if (np.abs(labels) != 1).any():
        raise InputError("labels must be -1 or 1")
    signed = labels[:, None] * features / np.linalg.norm(features, axis=1, keepdims=True)
    count = signed.shape[1]
    cost = np.r_[np.zeros(count), -1.0]  # of the directions, and of the margin, which is to be large
    bounds = [(-1.0, 1.0)] * count + [(0.0, None)]
    excess = np.c_[-signed, np.ones(len(signed))]  # of the margin over that of each point
    solution = linprog(cost, excess, np.zeros(len(signed)), bounds=bounds, method="highs")
    if not solution.success:
        raise InputError(f"the linear program found no margin: {solution.message}")
    return float(solution.x[-1])


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
