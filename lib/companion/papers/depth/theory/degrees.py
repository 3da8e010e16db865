r"""Eigenvalues of deep tangent kernels on a sphere, by degree: two powers that meet at the degree ``L/(3π)``.

The kernel ``c`` of very deep networks diverges as ``3π/phi`` for nearby inputs, so that its eigenvalues fall as
``l^-(n0 - 2)``. A depth ``L`` ends the divergence at the angle ``3π/L`` and leaves a cusp, as at every depth, whose
eigenvalues fall as ``l^-n0``.

Source: derived here. The second power is that of Bietti and Bach 2021, the pole that of the inverse cosine distances of
Terjék and González-Sánchez 2025.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from scipy import special

from regimes import validate
from regimes.kernels import relu_recursion

NODES = 3000  # of the quadrature in the angle: degrees to 1000, and cut-offs to 10^-5
HIGHEST = 1000


def degree_eigenvalues(n0: int, degrees: Sequence[int], depth: int | None = None) -> np.ndarray:
    """Eigenvalues ``mu_l`` of ``4L Θ̄^(L)`` on the uniform sphere of R^n0, by degree; without ``depth`` those of ``c``.

    By Funk and Hecke ``mu_l`` is the mean of the kernel times the normalised Gegenbauer polynomial. For ``l ≥ 1`` it
    tends to that of ``c`` as the depth grows.

    Args:
        n0: dimensions, from 3, which makes the pole of ``c`` integrable, to 50.
        degrees: whole numbers from 0 to 1000.
        depth: ``L``.

    Returns:
        ``(len(degrees))``, float64, in absolute terms to some ``10^-15`` of the largest.

    Source: derived here (module head).
    """
    validate.whole(3, 50, n0=n0)
    for degree in degrees:
        validate.whole(0, HIGHEST, degree=degree)
    phi, weight = _nodes()
    density = weight * np.sin(phi) ** (n0 - 2)
    angle = torch.from_numpy(phi)
    if depth is None:
        kernel = relu_recursion.offset(angle).numpy()
    else:
        kernel = 4 * depth * relu_recursion.kernel_of_angle(angle, depth)[0].numpy()
    middle = kernel[NODES // 2]  # taken off: a constant is all of degree 0
    shape = _polynomials(n0, tuple(degrees))
    return shape @ (density * (kernel - middle)) / density.sum() + middle * (np.array(degrees) == 0)


@lru_cache(maxsize=4)  # all degrees of a dimension are 24 MB; each depth uses them
def _polynomials(n0: int, degrees: tuple[int, ...]) -> np.ndarray:
    """Gegenbauer polynomials ``(len(degrees), NODES)`` at the angles of :func:`_nodes`, 1 at angle 0."""
    order = n0 / 2 - 1
    x = np.cos(_nodes()[0])
    shapes = [np.ones_like(x), 2 * order * x / (2 * order)]
    shape, change = x, x - 1
    # the recurrence of scipy's eval_gegenbauer, to the last digit, but once for all degrees: each alone takes seconds
    for l in range(1, max(degrees)):
        change = 2 * (l + order) / (l + 2 * order) * (x - 1) * shape + l / (l + 2 * order) * change
        shape = shape + change
        at_zero = special.binom(l + 2 * order, l + 1)
        shapes.append(at_zero * shape / at_zero)
    return np.stack([shapes[degree] for degree in degrees])


@lru_cache(maxsize=1)
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Angles between 0 and π and their weights, by Gauss and Legendre."""
    node, weight = special.roots_legendre(NODES)
    return (node + 1) * math.pi / 2, weight


def decay_exponent(n0: int, degree: int, depth: int | None = None) -> float:
    """The exponent of :func:`degree_eigenvalues` between a degree and its double, in ``l + n0/2 - 1``.

    In this variable eigenvalues of powers of the angle have no correction of the first order in ``1/l``.
    """
    low, high = degree_eigenvalues(n0, [degree, 2 * degree], depth)
    shift = n0 / 2 - 1
    return float(np.log(high / low) / np.log((2 * degree + shift) / (degree + shift)))
