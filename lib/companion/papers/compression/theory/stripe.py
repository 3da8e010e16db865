r"""Fixed points of neurons on the stripe at infinite amplification, before the first point is fitted, in closed form.

A neuron ``(ω_1, ω_⊥, b, β)`` with ``λ = ω_1/|ω_⊥|`` and intercept ``ζ = -√d b/ω_1`` moves at ``λ → ±∞`` as

``dω_1/dt = (β/τ) C_1^±(ζ)``,   ``db/dt = √d (β/τ) C_b^±(ζ)``,   ``dζ/dt = -(β/(τ ω_1)) [d C_b^± + ζ C_1^±]``,

with ``C_1^± = ⟨y x_1 Θ(±(x_1 - ζ))⟩``, ``C_b^± = ⟨y Θ(±(x_1 - ζ))⟩`` over a standard normal ``x_1``. The sign ``±`` is
the argument ``sign``, +1 or -1. Times are in units of ``τ = h √(d/2)`` in paper A's time (Eq. 2).

Source: paper A, Sec. 3.2.1 and App. C; departures from its text are marked.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from regimes import validate
from regimes.validate import InputError

EVERYWHERE = 0.99  # of the points, on which a neuron that is on everywhere is active at least
HALVINGS = 40  # of the interval in which a plane is sought
BEYOND = 12.0  # standard deviations beyond which the Gaussian holds nothing in float64


@dataclass(frozen=True)
class FixedPoint:
    """A zero ``z*`` of ``d C_b + ζ C_1``, at ``z = (z*, 0)``, for neurons of one sign of ``λ``.

    Attributes:
        z: position ``z*`` along the informative direction.
        sign: the sign of ``λ``, +1 or -1.
        c_1: ``C_1^±(z*)``; its sign is that of ``β ω_1`` once the neuron grows.
        rate: ``τ/τ*``, growth rate of ``ω_1``, ``b`` and ``β``: ``|C_1| √(1 + z*²/d)``.
        rate_perp: growth rate of ``|ω_⊥|`` without noise, ``± sgn(C_1) y(z*) √(1 + z*²/d) e^(-z*²/2)/√(2π)``; where
            positive, its inverse is ``τ*_⊥/τ``.
        constant: ``c`` of ``λ* = c √p / |N(z*)|``, which is ``(|C_1| ∓ sgn(C_1) y(z*) e^(-z*²/2)/√(2π)) / √D_⊥``; the
            network's ``Λ*`` tends to ``√(d - 1) λ*`` of the fastest stable fixed point. Derived here from paper A,
            Eq. 8, whose first term is of the order of the noise at saturation, so that it enters the constant.
        stable_along: whether ``dζ/dt`` decreases through 0 at ``z*``.
        stable_across: whether ``|λ|`` grows, ``rate > rate_perp``.

    Source: paper A, Eq. 15 and 16; there ``2π`` stands for ``√(2π)``, against the condition in Sec. 3.2.1.
    """

    z: float
    sign: int
    c_1: float
    rate: float
    rate_perp: float
    constant: float
    stable_along: bool
    stable_across: bool

    @property
    def attractor(self) -> bool:
        """Whether it is stable in both ways, so that neurons end here."""
        return self.stable_along and self.stable_across

    def crossover(self, p: int) -> float:
        """``τ_⊥/τ``, the time when an amplification of 1 has grown to ``√p``: ``ln √p / (rate - rate_perp)``.

        Raises:
            InputError: for ``p < 1``, or a fixed point that does not amplify.

        Source: paper A, Sec. 3.2.1 and its footnote 3 (``τ_⊥ ~ τ* log p``).
        """
        validate.integer(1, p=p)
        if not self.rate > self.rate_perp:
            raise InputError(f"the fixed point at z = {self.z:.4g} does not amplify: it has no crossover")
        return 0.5 * math.log(p) / (self.rate - self.rate_perp)


class Stripe:
    """Labels that change sign at each of the ``interfaces`` along ``x_1``, +1 before the first, in dimension ``d``.

    Raises:
        InputError: for interfaces that do not increase, none (a constant label function), some beyond 1e6, or ``d``
            outside 1 to 10^9.

    Source: paper A, Sec. 3 and App. C.
    """

    def __init__(self, interfaces: Sequence[float], d: int) -> None:
        validate.integer(1, d=d)
        validate.whole(1, 10**9, d=d)
        interfaces = list(interfaces) if isinstance(interfaces, Collection) else interfaces
        if not validate.is_number(interfaces) and not interfaces:
            raise InputError("interfaces must hold at least one position: without any the label function is constant")
        validate.increasing(interfaces=interfaces)
        validate.between(-1e6, 1e6, **{f"interfaces[{i}]": at for i, at in enumerate(interfaces)})
        self.interfaces, self.d = np.array(interfaces, dtype=float), d
        self.jumps = 2.0 * (-1.0) ** np.arange(len(interfaces))  # of -y at each interface

    def label(self, ζ: np.ndarray) -> np.ndarray:
        """``y(x_1)``, which is also ``C_⊥^±(ζ)``. Source: paper A, App. C.2."""
        return 1.0 - 2.0 * (np.searchsorted(self.interfaces, ζ) % 2)

    def c_1(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """``C_1^±(ζ) = ⟨y x_1 Θ(±(x_1 - ζ))⟩``. Source: paper A, App. C.2."""
        return self._half_line(ζ, sign, lambda x: -normal_pdf(x))

    def c_b(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """``C_b^±(ζ) = ⟨y Θ(±(x_1 - ζ))⟩``. Source: paper A, App. C.2."""
        return self._half_line(ζ, sign, ndtr)

    def d_perp(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """``D_⊥^±(ζ) = ⟨Θ(±(x_1 - ζ))⟩``, the *variance* of a point's perpendicular force.

        Paper A, Eq. 8, has ``D_⊥`` where the standard deviation ``√D_⊥`` belongs. Source: paper A, App. C.3.
        """
        return ndtr(-sign * np.asarray(ζ, dtype=float))

    def bracket(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """``d C_b^± + ζ C_1^±``, whose zeros are the fixed points. Source: paper A, Eq. 7 and Fig. 4b."""
        return self.d * self.c_b(ζ, sign) + ζ * self.c_1(ζ, sign)

    def velocity(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """``τ dζ/dt`` of a neuron that has grown, when ``β/ω_1 = sgn(C_1) √(1 + ζ²/d)``.

        Source: paper A, Eq. 7 and App. C.2.
        """
        return -np.sign(self.c_1(ζ, sign)) * np.sqrt(1 + np.square(ζ) / self.d) * self.bracket(ζ, sign)

    def amplifies(self, ζ: np.ndarray, sign: int) -> np.ndarray:
        """Whether ``|λ|`` grows, as the limit assumes: ``|C_1| > ± sgn(C_1) y e^(-ζ²/2)/√(2π)``.

        Source: paper A, Sec. 3.2.1.
        """
        c_1 = self.c_1(ζ, sign)
        return np.abs(c_1) > sign * np.sign(c_1) * self.label(ζ) * normal_pdf(ζ)

    def fixed_points(self) -> list[FixedPoint]:
        """All zeros of :meth:`bracket` for both signs, from left to right, stable or not.

        Between interfaces the second derivative, ``± y ρ(ζ) ζ (ζ² + d - 3)``, changes sign at known places only, so
        the zeros are bracketed without a search grid.
        """
        points = [self._fixed_point(z, sign) for sign in (1, -1) for z in self._zeros(sign)]
        return sorted(points, key=lambda point: (point.z, point.sign))

    def attractors(self) -> list[FixedPoint]:
        """The stable fixed points, on which neurons end. Source: paper A, Fig. 4."""
        return [point for point in self.fixed_points() if point.attractor]

    def mean_label(self) -> float:
        """``⟨y⟩``: 0 where both labels are equally frequent."""
        return float(self.c_b(-np.inf, 1))

    def constant_rate(self) -> float:
        r"""Growth rate of neurons that are active on all points, :math:`\sqrt{C_1^2+d\langle y\rangle^2}`, in ``1/τ``.

        ``(ω_1, b)`` of such a neuron grows along ``(C_1, √d ⟨y⟩)``. With these its plane lies at ``ζ = -d ⟨y⟩/C_1``; 0
        where that is among the points, so that no neuron stays on everywhere.

        Derived here; paper A's planes have ``⟨y⟩ = 0``.
        """
        mean = self.mean_label()
        slope = float(self.c_1(-np.inf, 1))
        outside = abs(slope) * ndtri(EVERYWHERE) < self.d * abs(mean)
        return math.hypot(slope, math.sqrt(self.d) * mean) if outside else 0.0

    def selects(self) -> bool:
        """Whether the neurons that grow fastest have their plane among the points, so that planes are selected by t*.

        Where it is not so, neurons that are on everywhere outgrow them, and a constant fits the first tenth.
        """
        among = [point.rate for point in self.attractors() if self.d_perp(point.z, point.sign) < EVERYWHERE]
        return self.constant_rate() < max(among, default=0.0)

    def noise(self, x: np.ndarray, y: np.ndarray, point: FixedPoint) -> np.ndarray:
        """``N(z*)`` of a training set: ``√p`` times the mean of ``x_⊥ y Θ(±(x_1 - z*))``, over ``√D_⊥``.

        Args:
            x: points ``(..., p, d)``.
            y: labels ``(..., p)``.
            point: the neurons' fixed point.

        Returns:
            ``(..., d - 1)``, components of variance 1.

        Source: paper A, Eq. 8 and App. C.3.
        """
        x, y = np.asarray(x), np.asarray(y, dtype=float)
        validate.arrays(x=(f"... p {self.d}", x), y=("... p", y))
        weight = y * (point.sign * (x[..., 0] - point.z) > 0)
        total = (weight[..., None] * x[..., 1:]).sum(-2)
        return total / np.sqrt(x.shape[-2] * self.d_perp(point.z, point.sign))

    def amplification(self, x: np.ndarray, y: np.ndarray, point: FixedPoint) -> float:
        """``Λ* = √(d - 1) c √p/|N(z*)|`` on the training points ``x (p, d)`` with labels ``y (p,)``.

        Source: paper A, Eq. 8 to 10, with the root of ``D_⊥``.
        """
        noise = float(np.linalg.norm(self.noise(x, y, point)))
        return math.sqrt((self.d - 1) * len(x)) * point.constant / noise

    def _half_line(self, ζ: np.ndarray, sign: int, primitive) -> np.ndarray:
        """``∫ y dF`` over ``±(x - ζ) > 0``: ``y F`` at the ends, and a jump of ``y`` at each interface inside."""
        validate.one_of((1, -1), sign=sign)
        ζ = np.asarray(ζ, dtype=float)
        inside = (self.interfaces >= ζ[..., None]) == (sign > 0)  # label(ζ) at an interface is that of its left
        inner = (inside * self.jumps * primitive(self.interfaces)).sum(-1)
        at_infinity = primitive(np.array(sign * np.inf)) * self.label(sign * np.inf)
        return sign * (at_infinity - self.label(ζ) * primitive(ζ)) + inner

    def _slope(self, ζ: float, sign: int, y: float) -> float:
        """Derivative of the bracket where the label is ``y``."""
        return float(self.c_1(ζ, sign) - sign * y * normal_pdf(ζ) * (self.d + ζ * ζ))

    def _zeros(self, sign: int) -> list[float]:
        mean = self.mean_label()
        slope = float(self.c_1(-np.inf, 1))
        reach = max(BEYOND, float(abs(self.interfaces).max()) + 1)
        if slope:  # a neuron that is active everywhere sees a linear bracket, with one zero
            reach = max(reach, 2 * self.d * abs(mean / slope))
        turn = math.sqrt(max(3 - self.d, 0))
        cuts = np.unique([-reach, reach, -turn, 0.0, turn, *self.interfaces])
        zeros = []
        for low, high in zip(cuts, cuts[1:]):
            y = float(self.label((low + high) / 2))
            monotonic = [low, high]
            if self._slope(low, sign, y) * self._slope(high, sign, y) < 0:
                monotonic.insert(1, brentq(self._slope, low, high, (sign, y), xtol=1e-14))
            for a, b in zip(monotonic, monotonic[1:]):
                if float(self.bracket(a, sign)) * float(self.bracket(b, sign)) < 0:
                    zeros.append(float(brentq(self.bracket, a, b, (sign,), xtol=1e-14)))
        return zeros

    def _fixed_point(self, z: float, sign: int) -> FixedPoint:
        c_1 = float(self.c_1(z, sign))
        y = float(self.label(z))
        stretch = math.sqrt(1 + z * z / self.d)
        pull = float(sign * np.sign(c_1) * y * normal_pdf(z))
        return FixedPoint(
            z=z,
            sign=sign,
            c_1=c_1,
            rate=abs(c_1) * stretch,
            rate_perp=pull * stretch,
            constant=(abs(c_1) - pull) / math.sqrt(float(self.d_perp(z, sign))),
            stable_along=bool(np.sign(c_1) * self._slope(z, sign, y) > 0),
            stable_across=abs(c_1) > pull,
        )


def imbalance_limit(interfaces: Sequence[float], d: int) -> float:
    """The mean label at which neurons that are on everywhere outgrow the others, as the last plane moves inwards.

    Args:
        interfaces: two planes or more; at these places planes are selected.
        d: the dimension.

    Raises:
        InputError: for fewer planes, or some that are not selected where they are.
    """
    *fixed, high = interfaces
    if not fixed or not Stripe(interfaces, d).selects():
        raise InputError(f"interfaces must be two or more planes that are selected by t*, got {list(interfaces)}")
    low = fixed[-1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if Stripe([*fixed, middle], d).selects():
            high = middle
        else:
            low = middle
    return Stripe([*fixed, high], d).mean_label()


def time_unit(h: int, d: int) -> float:
    """``τ = h √(d/2)``, in the time of paper A, Eq. 2. Source: paper A, Eq. 6."""
    validate.integer(1, h=h, d=d)
    return h * math.sqrt(d / 2)


def normal_pdf(x: np.ndarray) -> np.ndarray:
    """The density of a standard normal variable."""
    return np.exp(-np.square(x) / 2) / math.sqrt(2 * math.pi)
