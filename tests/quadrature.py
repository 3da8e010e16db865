"""The kernel from its definition by Gaussian expectations, with no closed form: an oracle for the recursion."""

import math

import numpy as np

from regimes import validate


def relu_expectations(rho: float) -> tuple[float, float]:
    """``2 E[ReLU(u) ReLU(v)]`` and ``2 E[1(u>0) 1(v>0)]`` of unit Gaussians at correlation ``rho``.

    In polar coordinates the radial integrals are 2 and 1, and the angle runs over the wedge where both are positive:
    Gauss-Legendre quadrature there, where the integrand is smooth.

    Source: paper C, Definition 1.
    """
    validate.between(-1, 1, rho=rho)
    phi = math.acos(rho)
    node, weight = np.polynomial.legendre.leggauss(40)
    low, high = phi - math.pi / 2, math.pi / 2
    theta = (high + low) / 2 + node * (high - low) / 2
    scale = weight * (high - low) / 2 / (2 * math.pi)
    return float(2 * (2 * np.cos(theta) * np.cos(theta - phi)) @ scale), float(2 * scale.sum())


def kernel(rho: float, depth: int) -> float:
    """``Θ̄^(L)`` by ``Θ ← E[σ'σ'] Θ + E[σσ]``, with quadrature in every layer.

    Source: paper C, Theorem 1.
    """
    validate.between(-1, 1, rho=rho)
    validate.integer(1, depth=depth)
    theta, correlation = rho, rho
    for _ in range(depth - 1):
        correlation, slope = relu_expectations(max(-1.0, min(1.0, correlation)))
        theta = slope * theta + correlation
    return theta / depth
