r"""Learning curves of deep networks on a sphere: two powers of the number of points, that of low degrees in ``n/L``.

A target has the power ``P_l ~ l^-s`` in its degree ``l``. A deep kernel's eigenvalues ``mu_l`` (:mod:`degrees`) fall as
``l^-(n0 - 2)`` below the degree ``L/3π`` and carry there a ridge of ``3L``, so that ``n`` points learn the degrees with
``mu_l > 3L/n``, up to ``(n/L)^(1/(n0 - 2))``. What is left falls as ``(n/L)^-((s - 1)/(n0 - 2))``. Once ``n`` is of the
order of ``L^(n0 - 1)`` the kernel is as at a fixed depth: ``n`` points learn ``n`` polynomials, the degrees up to
``n^(1/(n0 - 1))``.

Source: derived here, with the average over data of Bordelon, Canatar and Pehlevan 2020.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from scipy import special
from torch import Tensor

from companion.papers.depth.theory import degrees
from regimes import validate
from regimes.kernels import infinite_ntk

DRAWN = (
    100  # highest degree of Gaussian features; n points learn less than n polynomials, in three dimensions √n degrees
)
GRID = 40_000  # of angles, on which a target's covariance is tabulated: some forty on its shortest wave


def target_powers(n0: int, power: float) -> np.ndarray:
    """Shares ``P_l`` of a target's variance by degree, ``~ (l + n0/2 - 1)^-s`` from 1 on, ``(HIGHEST + 1)``; sum 1."""
    validate.whole(3, 50, n0=n0)
    validate.between(1, 10, power=power)
    l = np.arange(degrees.HIGHEST + 1)
    powers = np.where(l > 0, (l + n0 / 2 - 1.0) ** -power, 0)
    return powers / powers.sum()


@lru_cache(maxsize=8)
def _spectrum(n0: int, depth: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Eigenvalues of ``4L Θ̄`` with their multiplicities, and what higher degrees leave of its diagonal."""
    l = np.arange(degrees.HIGHEST + 1)
    mu = degrees.degree_eigenvalues(n0, l.tolist(), depth).clip(0)
    count = special.binom(n0 + l - 1, l) - np.where(l > 1, special.binom(n0 + l - 3, l - 2), 0)
    return mu, count, 4 * depth - float(count @ mu)


def ridgeless_error(n: int, depth: int, n0: int, power: float) -> float:
    """The share of a target's variance that ``n`` uniform points leave, without a ridge.

    ``E = Σ P_l E_l`` with the powers of :func:`target_powers` and the errors of :func:`degree_errors`.

    Args:
        n: points, so few that they do not learn degrees near 1000.
        depth: ``L``, from 3 on, where no degree's eigenvalue is zero.
        n0: dimensions of the sphere's space.
        power: ``s`` of :func:`target_powers`.

    Source: Bordelon, Canatar and Pehlevan 2020, for the eigenvalues of this chapter.
    """
    return float(target_powers(n0, power) @ degree_errors(n, depth, n0))


def degree_errors(n: int, depth: int, n0: int) -> np.ndarray:
    """The share of a polynomial's variance that ``n`` uniform points leave, by its degree, ``(HIGHEST + 1)``.

    ``E_l = (κ/(mu_l + κ))²/(1 - γ)``, ``n = Σ N_l mu_l/(mu_l + κ) + ε/κ``, ``γ = Σ N_l (mu_l/(mu_l + κ))²/n``; the
    degrees beyond 1000 act as the ridge ``ε``, their part of the diagonal ``4L``. Arguments as in
    :func:`ridgeless_error`. Where ``n`` and ``L`` are large, ``κ → 3L/n`` depends on ``n/L`` alone for low degrees.

    Source: Bordelon, Canatar and Pehlevan 2020, for the eigenvalues of this chapter.
    """
    validate.integer(2, n=n)
    validate.integer(3, depth=depth)
    mu, count, ridge = _spectrum(n0, depth)
    low, high = math.log(1e-12), math.log(4 * depth)  # of κ
    for _ in range(100):
        kappa = math.exp((low + high) / 2)
        if float(count @ (mu / (mu + kappa))) + ridge / kappa > n:
            low = math.log(kappa)
        else:
            high = math.log(kappa)
    learnt = mu / (mu + kappa)
    gamma = float(count @ learnt**2) / n
    return (1 - learnt) ** 2 / (1 - gamma)


def target_covariance(phi: Tensor, n0: int, power: float) -> Tensor:
    """Covariance at the angles ``phi`` of a Gaussian target with the powers :func:`target_powers`; 1 at angle 0."""
    validate.arrays(phi=("...", phi))
    grid, values = _tabulated(n0, power)
    return torch.from_numpy(np.interp(phi.numpy(), grid, values))


@lru_cache(maxsize=4)
def _tabulated(n0: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Angles, and ``Σ P_l p_l(cos phi)`` with Gegenbauer polynomials that are 1 at angle 0."""
    phi = np.linspace(0, math.pi, GRID + 1)
    weights = target_powers(n0, power)
    t = np.cos(phi)
    twice = n0 - 2  # the polynomials' parameter, doubled
    before = np.ones_like(t)
    p = t
    total = weights[1] * t
    for l in range(1, degrees.HIGHEST):
        following = ((2 * l + twice) * t * p - l * before) / (l + twice)
        before = p
        p = following
        total = total + weights[l + 1] * p
    return phi, total


def field_error(x: Tensor, fresh: Tensor, *, depth: int, power: float) -> float:
    """The share of variance that the deep kernel leaves of Gaussian targets, their average exact, on given points.

    With weights ``w = Θ̄(X, X)⁻¹ Θ̄(X, x)`` and the target's covariance ``k`` it is ``1 - 2 w·k(X, x) + w·k(X, X) w``.

    Args:
        x: unit points to learn ``(n, n0)``, float64.
        fresh: unit points ``(m, n0)`` over which it is averaged.
        depth: ``L``.
        power: ``s`` of :func:`target_powers`.

    Source: derived here.
    """
    n0 = x.shape[1]
    covariance, cross_covariance = (target_covariance((x @ z.mT).clamp(-1, 1).acos(), n0, power) for z in (x, fresh))
    gram = infinite_ntk(x, depth=depth)
    cross = infinite_ntk(fresh, x, depth=depth)
    weights = torch.cholesky_solve(cross.mT, torch.linalg.cholesky(gram))
    explained = 2 * (weights * cross_covariance).sum(0)
    return float((1 - explained + (weights * (covariance @ weights)).sum(0)).mean())


def gaussian_error(n: int, fresh: int, depth: int, n0: int, power: float, *, seed: int) -> float:
    """The share of variance that is left if harmonics were what theory takes them for: independent Gaussians.

    As :func:`field_error`, but each of the ``N_l`` polynomials of a degree up to 100 has standard normal values,
    independent over polynomials and points. Higher degrees add their part of the kernel's diagonal and of the target's
    variance to each point.

    Args:
        n: points to learn.
        fresh: points over which it is averaged.
        depth: ``L``, from 3 on.
        n0: dimensions of the sphere's space, of which the spectrum is.
        power: ``s`` of :func:`target_powers`.
        seed: of the draws.

    Source: derived here; the assumption is that of Bordelon, Canatar and Pehlevan 2020.
    """
    validate.integer(1, n=n, fresh=fresh)
    validate.integer(3, depth=depth)
    mu, count, ridge = _spectrum(n0, depth)
    target = target_powers(n0, power)
    validate.memory(16 * (n + fresh) * (n + fresh + int(count[: DRAWN + 1].max())), f"n = {n} with fresh = {fresh}")
    random = torch.Generator().manual_seed(seed)
    kernel, field = torch.zeros(2, n + fresh, n + fresh, dtype=torch.float64)
    for l in range(DRAWN + 1):
        drawn = torch.randn(n + fresh, round(count[l]), dtype=torch.float64, generator=random)
        products = drawn @ drawn.mT
        kernel.add_(products, alpha=float(mu[l]))
        field.add_(products, alpha=float(target[l] / count[l]))
    kernel.diagonal().add_(ridge + float(count[DRAWN + 1 :] @ mu[DRAWN + 1 :]))
    field.diagonal().add_(float(target[DRAWN + 1 :].sum()))
    weights = torch.cholesky_solve(kernel[:n, n:], torch.linalg.cholesky(kernel[:n, :n]))
    explained = 2 * (weights * field[:n, n:]).sum(0)
    remaining = field.diagonal()[n:] - explained + (weights * (field[:n, :n] @ weights)).sum(0)
    return float(remaining.mean())
