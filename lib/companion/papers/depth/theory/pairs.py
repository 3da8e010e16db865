"""Points on a sphere and their closest pair, which limits the depth at which a network still separates them."""

import math

import numpy as np
import torch
from scipy import spatial, special
from torch import Tensor

from companion.papers.depth.theory import rate
from regimes import validate
from regimes.data.tasks import gaussian_points
from regimes.validate import InputError

LARGEST = 10**15  # points and dimensions that a formula takes
TOLERANCE = 1e-9  # how far a squared norm may be from 1, or two points from each other, to count as on it, or the same


def sphere(n: int, d: int, *, seed: int) -> Tensor:
    """``n`` points uniform on the unit sphere of R^d, ``(n, d)``; a larger ``n`` extends a smaller one."""
    x = gaussian_points(n, d, seed=seed)
    return x / x.norm(dim=-1, keepdim=True)


def cube(n: int, d: int, *, seed: int, low: float = -1.0) -> Tensor:
    """``n`` points uniform in ``[low, 1]^d``, each scaled to unit norm, ``(n, d)``.

    Source: paper C, Fig. 4.
    """
    validate.integer(1, n=n, d=d)
    validate.integer(0, seed=seed)
    validate.within(-1e100, 1, low=low)
    validate.memory(16 * n * d, f"{n} points in dimension {d}")
    x = torch.from_numpy(np.random.default_rng(seed).uniform(low, 1, (n, d)))
    return x / x.norm(dim=-1, keepdim=True)


def needs_sphere(x: Tensor) -> None:
    """Raises :class:`InputError` unless the rows of ``x (n, d)`` have unit norm."""
    validate.arrays(points=("n d", x))
    worst = float(((x * x).sum(-1) - 1).abs().max())
    if not worst <= TOLERANCE:
        raise InputError(f"points must lie on the unit sphere; a squared norm is off by {worst:.3g} (scale them first)")


def needs_distinct(x: Tensor) -> None:
    """Raises :class:`InputError` if two rows of ``x`` are equal, so that no kernel matrix of them can be inverted."""
    validate.arrays(points=("n d", x))
    if same := spatial.KDTree(x.cpu()).query_pairs(TOLERANCE, p=math.inf):
        i, j = min(same)
        raise InputError(f"points {i} and {j} are the same; the kernel matrix needs distinct points to be inverted")


def largest_correlation(x: Tensor, *, block: int = 2048) -> float:
    """``max_{i<j} x_i·x_j`` of unit rows, in blocks of ``block²`` products with ``8 block²`` bytes of memory."""
    validate.arrays(points=("n d", x))
    validate.integer(1, block=block)
    if len(x) < 2:
        raise InputError("points must be two or more, to have a closest pair, got 1")
    best = -1.0
    for i in range(0, len(x), block):
        for j in range(i, len(x), block):
            product = x[i : i + block] @ x[j : j + block].mT
            if i == j:
                product.fill_diagonal_(-1)
            best = max(best, float(product.max()))
    return min(best, 1.0)


def separation_depth(rho: float) -> float:
    """``1/√(1 - h(rho))``, the depth up to which paper C says that a pair at ``rho`` stays separate.

    Source: paper C, Theorem 3 and Fig. 8; the constant of ``rate.half_way_depth`` is ``2.975``.
    """
    validate.within(-1.000001, 1, rho=rho)
    return float((1 - rate.correlation_map(torch.tensor(rho, dtype=torch.float64))) ** -0.5)


def angle_probability(angle: float, n0: int) -> float:
    """``P(theta ≤ angle)`` for two independent uniform points of the sphere of R^n0, ``0 < angle ≤ π/2``.

    Source: Cai, Fan and Jiang 2013, as quoted in paper C, Prop. 7; in closed form a regularised beta function.
    """
    validate.whole(2, LARGEST, n0=n0)
    validate.within(0, math.pi / 2 + 1e-12, angle=angle)
    return float(special.betainc((n0 - 1) / 2, 0.5, math.sin(angle) ** 2) / 2)


def pair_bound(n: int, n0: int, delta: float) -> float:
    """``C(n, 2) √(n0/2) delta^(n0-1) / (√π (n0 - 1))``: a bound for *angles* up to ``delta``, not for ``1 - x·x'``.

    Source: paper C, Prop. 7.
    """
    validate.whole(2, LARGEST, n=n)
    validate.whole(3, LARGEST, n0=n0)
    validate.within(0, math.pi + 1e-12, delta=delta)
    logarithm = math.log(math.comb(n, 2)) + 0.5 * math.log(n0 / 2 / math.pi) + (n0 - 1) * math.log(delta)
    return math.exp(logarithm) / (n0 - 1) if logarithm < 700 else math.inf


def chance_of_pair(n: int, n0: int, angle: float) -> float:
    """``P(some pair within angle) = 1 - exp(-C(n, 2) p)``, with pairs taken as independent (Poisson).

    The error is of order ``n³ p²``, far below one where it is used here.
    """
    validate.whole(2, LARGEST, n=n)
    return -math.expm1(-math.comb(n, 2) * angle_probability(angle, n0))


def closest_quantile(n: int, n0: int, chance: float) -> float:
    """The inner product that the closest pair exceeds with probability ``chance`` (Poisson, as above).

    A chance that so few points reach at no inner product is refused.
    """
    validate.within(0, 1, chance=chance)
    validate.whole(2, LARGEST, n=n, n0=n0)
    single = -math.log1p(-chance) / math.comb(n, 2)
    if single >= 1:
        raise InputError(f"chance must be below {-math.expm1(-math.comb(n, 2)):.3g} for {n} points, got {chance!r}")
    sine_squared = special.betaincinv((n0 - 1) / 2, 0.5, 2 * min(single, 1 - single))
    return math.copysign(math.sqrt(1 - sine_squared), 0.5 - single)
