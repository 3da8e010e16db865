r"""Fixed points of neurons on the cylinder, with several informative directions, in the mean field.

The label ``y`` is +1 where ``|x_∥| > R``, with ``d_parallel > 1`` informative directions. A neuron with small
uninformative weights points along a unit vector ``u`` in the informative space and is active where ``u·x_∥ > ζ``. By
symmetry no force acts across ``u``. Averaged over the other informative coordinates, the task is one in
``a = u·x_∥`` alone, with the soft label

``ȳ(a) = ⟨y | a⟩ = 1 - 2 P(χ²_{d_∥ - 1} < R² - a²)``,

A neuron moves as in a stripe (:mod:`companion.papers.compression.theory.stripe`) of that label: along ``u`` by
``C_1(ζ) = ⟨ȳ a θ(a - ζ)⟩`` and ``C_b(ζ) = ⟨ȳ θ(a - ζ)⟩``. A zero ``z*`` of ``d C_b + ζ C_1`` is a ring (a sphere) of
fixed points ``z = z* u``. The uninformative directions get the noise ``N_u √(D_⊥/p)`` of a training set, which depends
on ``u``. With neurons spread evenly over ``u``, ``λ_u = c √p/|N_u|`` and

``Λ*² = (d_⊥/d_∥) c² p / ⟨|N_u|²⟩_u``.

Source: derived here; paper A, Sec. 3.2.1 and App. C for the stripe, Sec. 4 for the cylinder's ``Λ* ~ √p``.
"""

import math

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammainc, ndtr

from companion.papers.compression.theory.stripe import BEYOND, FixedPoint, normal_pdf
from regimes import validate

EXACT = 1e-12  # below which a bracket is zero
DIRECTIONS = 256  # at which the noise of a training set is averaged
GRID = 61  # points of the axis among which zeros are bracketed


class Cylinder:
    """Labels that are -1 within ``radius`` of the last ``d - d_parallel`` axes, +1 outside.

    Raises:
        InputError: for a ``d_parallel`` outside ``2 … d - 1`` (one direction is a stripe), or a radius that is not
            positive.

    Source: paper A, Sec. 4.
    """

    def __init__(self, radius: float, d: int, d_parallel: int) -> None:
        validate.integer(3, d=d)
        validate.whole(2, d - 1, d_parallel=d_parallel)
        validate.positive(radius=radius)
        self.radius, self.d, self.d_parallel = float(radius), d, d_parallel

    def label(self, a: np.ndarray) -> np.ndarray:
        """``ȳ(a)``, the mean label where one informative coordinate is ``a``."""
        inside = np.maximum(self.radius**2 - np.square(a), 0)
        return 1 - 2 * gammainc((self.d_parallel - 1) / 2, inside / 2)

    def c_1(self, ζ: float) -> float:
        """``C_1(ζ) = ⟨ȳ a θ(a - ζ)⟩``."""
        return self._beyond(lambda a: a, ζ)

    def c_b(self, ζ: float) -> float:
        """``C_b(ζ) = ⟨ȳ θ(a - ζ)⟩``."""
        return self._beyond(lambda a: 1.0, ζ)

    def bracket(self, ζ: float) -> float:
        """``d C_b + ζ C_1``, whose zeros are the rings."""
        return self.d * self.c_b(ζ) + ζ * self.c_1(ζ)

    def rings(self) -> list[FixedPoint]:
        """The stable zeros ``z*``, from small to large; ``sign`` is +1.

        Source: derived here as paper A, App. C, with ``ȳ`` in place of the label.
        """
        reach = min(BEYOND, self.radius + 6)
        grid = np.linspace(-reach, reach, GRID)  # with 0, the zero of equiprobable labels
        values = [self.bracket(ζ) for ζ in grid]
        values = [value if abs(value) > EXACT else 0.0 for value in values]
        zeros = [float(ζ) for ζ, value in zip(grid, values) if value == 0 and abs(ζ) < self.radius]
        for low, high, at_low, at_high in zip(grid, grid[1:], values, values[1:]):
            if at_low * at_high < 0:
                zeros.append(float(brentq(self.bracket, low, high, xtol=1e-13)))
        points = [self._fixed_point(z) for z in sorted(zeros)]
        return [point for point in points if point.attractor]

    def amplification(self, x: np.ndarray, y: np.ndarray, ring: FixedPoint) -> float:
        """``Λ* = c √(p d_⊥/(d_∥ ⟨|N_u|²⟩_u))`` on the training points ``x (p, d)`` with labels ``y (p,)``.

        Source: derived here; for the stripe paper A, Eq. 8 and 9.
        """
        across = (self.d - self.d_parallel) / self.d_parallel
        return ring.constant * math.sqrt(len(x) * across / self.noise(x, y, ring))

    def noise(self, x: np.ndarray, y: np.ndarray, ring: FixedPoint) -> float:
        """``⟨|N_u|²⟩_u`` over directions ``u``; ``N_u`` is ``√p`` times the mean of ``x_⊥ y θ(u·x_∥ - z*)/√D_⊥``.

        Its mean over training sets is ``d_⊥``. Arguments as of :meth:`amplification`.
        """
        x, y = np.asarray(x), np.asarray(y, dtype=float)
        validate.arrays(x=(f"p {self.d}", x), y=("p", y))
        active = x[:, : self.d_parallel] @ directions(self.d_parallel).T > ring.z
        total = active.T @ (y[:, None] * x[:, self.d_parallel :])
        return float(np.square(total).sum(-1).mean() / (len(x) * ndtr(-ring.z)))

    def _beyond(self, weight, ζ: float) -> float:
        """``⟨ȳ f θ(a - ζ)⟩`` of a weight ``f(a)``: piece by piece, as the label bends at the radius."""

        def integrand(a: float) -> float:
            return self.label(a) * weight(a) * normal_pdf(a)

        edges = [edge for edge in (-self.radius, 0.0, self.radius) if edge > ζ]
        limits = [ζ, *edges, max(ζ, self.radius) + BEYOND]
        return sum(quad(integrand, low, high)[0] for low, high in zip(limits, limits[1:]))

    def _fixed_point(self, z: float) -> FixedPoint:
        c_1 = self.c_1(z)
        y = float(self.label(z))
        active = float(ndtr(-z))
        stretch = math.sqrt(1 + z * z / self.d)
        pull = float(np.sign(c_1)) * y * float(normal_pdf(z))
        slope = c_1 - y * float(normal_pdf(z)) * (self.d + z * z)
        return FixedPoint(
            z=z,
            sign=1,
            c_1=c_1,
            rate=abs(c_1) * stretch,
            rate_perp=pull * stretch,
            constant=(abs(c_1) - pull) / math.sqrt(active),
            stable_along=bool(np.sign(c_1) * slope > 0),
            stable_across=abs(c_1) > pull,
        )


def directions(d_parallel: int) -> np.ndarray:
    """Unit vectors ``(256, d_parallel)``: equal angles in a plane, else random ones with their opposites."""
    validate.integer(2, d_parallel=d_parallel)
    if d_parallel == 2:
        angle = 2 * math.pi * np.arange(DIRECTIONS) / DIRECTIONS
        return np.stack([np.cos(angle), np.sin(angle)], -1)
    drawn = np.random.default_rng(0).standard_normal((DIRECTIONS // 2, d_parallel))
    drawn /= np.linalg.norm(drawn, axis=-1, keepdims=True)
    return np.concatenate([drawn, -drawn])
