"""Simulation of the theory's network: one gradient step and a ridge readout, batched over seeds.

Everything is drawn by numpy by the convention of ``regimes.seeds``, the dimension being the size: target, weights,
each batch and the noise vary separately, and a seed alone gives the numbers it gives in a batch. Tensors carry a
leading axis of seeds ``S``.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from companion.papers.one_step.theory import population
from companion.papers.one_step.theory.conditional_map import feature_moments, needs_alignment
from companion.papers.one_step.theory.functions import Function, derivative_at, function, hermite, needs_step
from regimes import devices, validate
from regimes.seeds import draw_seeds
from regimes.validate import InputError

PARALLEL = 1e-12  # size of what is left of one unit vector across another that is the same but for rounding


def draw(seeds: Sequence[int], kind: str, *shape: int, d: int, device: str | torch.device = "cpu") -> Tensor:
    """Standard normal numbers ``(S, *shape)``, one generator per seed, kind of draw and dimension ``d``."""
    validate.seeds(seeds)
    validate.integer(1, d=d, **{f"shape[{i}]": size for i, size in enumerate(shape)})
    validate.memory(16 * len(seeds) * math.prod(shape), f"{kind}: {len(seeds)} draws of shape {shape}")
    blocks = [np.random.default_rng(seed).standard_normal(shape) for seed in draw_seeds(kind, seeds, size=d)]
    return torch.from_numpy(np.stack(blocks)).to(devices.pick(device))


def unit(x: Tensor) -> Tensor:
    """``x`` over its norm along the last axis."""
    return x / x.norm(dim=-1, keepdim=True)


@dataclass(frozen=True)
class Weights:
    """First-layer weights and their origin.

    Attributes:
        w: ``(S, p, d)``, rows.
        theta: target direction ``(S, d)``, unit norm.
        v: spike direction ``(S, d)``, unit norm.
        u: readout values ``(S, p)``; the initial readout is ``u / sqrt(p)``.
        r: spike strength of each seed ``(S,)``: ``w = bulk + r u v^T``.
        batch: samples ``(x0, y0)`` of the step, ``(S, n0, d)`` and ``(S, n0)``; ``None`` for drawn features.
    """

    w: Tensor
    theta: Tensor
    v: Tensor
    u: Tensor
    r: Tensor
    batch: tuple[Tensor, Tensor] | None = None

    @property
    def bulk(self) -> Tensor:
        """The weights without the spike, ``(S, p, d)``."""
        return self.w - (self.r[:, None] * self.u)[..., None] * self.v[:, None, :]


def readout_values(p: int, values: Sequence[float]) -> Tensor:
    """``p`` readout values ``(p,)`` in blocks that are as equal as whole neurons allow."""
    ends = np.rint(np.arange(1, len(values) + 1) / len(values) * p).astype(int)
    return torch.from_numpy(np.repeat(np.asarray(values, float), np.diff(ends, prepend=0)))


def one_step(
    activation: str | Function,
    target: str | Function,
    *,
    d: int,
    p: int,
    n0: int,
    step: float,
    seeds: Sequence[int],
    u: Tensor | None = None,
    device: str | torch.device = "cpu",
) -> Weights:
    """The weights after one full-batch gradient step of size ``eta = step * p`` on ``n0`` samples.

    ``w_i = w0_i + step u_i / n0 sum_mu (y - f0(x)) σ'(w0_i·x) x``, rows ``w0_i`` uniform on the unit sphere,
    ``f0 = sum_i u_i σ(w0_i·x) / p``.

    Args:
        activation: odd.
        target: function of ``theta·x``.
        d: dimension of the input.
        p: width.
        n0: samples of the step; 0 leaves the weights as drawn.
        step: ``eta / p``.
        seeds: independent realisations.
        u: values ``(p,)`` of the initial readout ``u / sqrt(p)``; all ones by default.
        device: where to compute.

    Source: paper E, Eqs. 1–3, 33–36.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_step(activation)
    validate.integer(1, d=d, p=p)
    validate.integer(0, n0=n0)
    validate.between(0, 1e50, step=step)
    theta = unit(draw(seeds, "direction", d, d=d, device=device))
    w0 = unit(draw(seeds, "weights", p, d, d=d, device=device))
    u = _of_each(u, w0)
    if n0 == 0 or step == 0:
        return Weights(w0, theta, theta, u, torch.zeros(len(seeds)).to(w0))
    x = draw(seeds, "batch", n0, d, d=d, device=device)
    y = labels(target, x, theta)
    w = gradient_step(activation, w0, x, y, step, u)
    # the spike as the theory defines it: the mean of σ' times the common part of the gradient
    h1 = hermite(activation, target).h1
    spike = step * h1 / n0 * (y[:, None, :] @ x).squeeze(1)
    return Weights(w, theta, unit(spike), u, spike.norm(dim=-1), (x, y))


def gradient_step(
    activation: str | Function, w0: Tensor, x: Tensor, y: Tensor, step: float, u: Tensor | None = None
) -> Tensor:
    """Rows ``(..., p, d)`` after one step from ``w0`` on ``x (..., n0, d)``, ``y (..., n0)``; readout ``u (..., p)``.

    Source: paper E, Eqs. 2, 3.
    """
    activation = function(activation, "activation")
    u = torch.ones_like(w0[..., 0]) if u is None else u
    z = x @ w0.mT  # (..., n0, p)
    error = y - (activation.tensor(z) * u[..., None, :]).mean(-1)
    return w0 + step / y.shape[-1] * u[..., None] * ((derivative_at(activation, z) * error[..., None]).mT @ x)


def equivalent_features(activation: str | Function, weights: Weights, step: float, seeds: Sequence[int]) -> Weights:
    """Spiked features with the network's own samples of the step and initial rows, so that only the model differs.

    ``sqrt(c) w0_i + r u_i v`` with the batch's ``r``, ``v`` and ``c = 1 + step^2 h1_check/n0^2 sum_mu y^2 |x|^2``.
    """
    activation = function(activation, "activation")
    validate.seeds(seeds, count=len(weights.w))
    if weights.batch is None:
        raise InputError("weights must come from a gradient step, got features that were drawn")
    x, y = weights.batch
    p, d = weights.w.shape[1:]
    scale = step**2 * hermite(activation, activation).h1_check / y.shape[1] ** 2
    c = 1 + scale * (y**2 * x.square().sum(-1)).sum(-1)
    w0 = unit(draw(seeds, "weights", p, d, d=d, device=x.device))
    w = c.sqrt()[:, None, None] * w0 + (weights.r[:, None] * weights.u)[..., None] * weights.v[:, None, :]
    return dataclasses.replace(weights, w=w)


def spiked_features(
    *,
    d: int,
    p: int,
    r: float,
    c: float,
    gamma: float,
    seeds: Sequence[int],
    u: Tensor | None = None,
    rows: str = "sphere",
    device: str | torch.device = "cpu",
) -> Weights:
    """Spiked random features of Definition 3.1, with ``v = e_1`` and ``theta`` in the plane of ``e_1, e_2``.

    Args:
        d: dimension of the input, at least 2.
        p: width.
        r: spike strength.
        c: squared norm of the bulk rows; a number, or one per row ``(p,)``.
        gamma: cosine between spike and target.
        seeds: independent realisations.
        u: readout values ``(p,)``; all ones by default.
        rows: ``"sphere"`` (norm ``sqrt(c)``), ``"gauss"`` (entries ``N(0, c/d)``), ``"orthogonal"`` (``p <= d``).
        device: where to compute.

    Source: paper E, Definition 3.1, Eq. 133.
    """
    validate.integer(2, d=d)
    validate.between(-1e50, 1e50, r=r)
    needs_alignment(gamma)
    validate.integer(1, p=p)
    if isinstance(c, Tensor):
        validate.arrays(c=(str(p), c))
    validate.between(1e-50, 1e50, c=float(torch.as_tensor(c).min()))
    validate.one_of(("sphere", "gauss", "orthogonal"), rows=rows)
    if rows == "orthogonal" and p > d:
        raise InputError(f"orthogonal rows need p <= d, got p={p}, d={d}")
    g = draw(seeds, "weights", p, d, d=d, device=device)
    if rows == "orthogonal":
        q, triangle = torch.linalg.qr(g.mT)
        signs = triangle.diagonal(dim1=-2, dim2=-1).sign()  # with them the frame is uniform, and no library's
        bulk = (q * signs.unsqueeze(-2)).mT
    else:
        bulk = unit(g) if rows == "sphere" else g / d**0.5
    bulk = bulk * torch.as_tensor(c, dtype=g.dtype, device=g.device).sqrt().reshape(-1, 1)
    axes = torch.eye(d, dtype=g.dtype, device=g.device)[:2].expand(len(seeds), 2, d)
    v = axes[:, 0]
    theta = gamma * axes[:, 0] + (1 - gamma**2) ** 0.5 * axes[:, 1]
    u = _of_each(u, g)
    strength = torch.full((len(seeds),), float(r), dtype=g.dtype, device=g.device)
    return Weights(bulk + r * u[..., None] * v[:, None, :], theta, v, u, strength)


def _of_each(u: Tensor | None, w: Tensor) -> Tensor:
    """Readout values ``(S, p)`` for rows ``(S, p, d)``."""
    if u is None:
        return torch.ones_like(w[..., 0])
    validate.arrays(u=(str(w.shape[1]), u))
    return u.to(w).expand(w.shape[:2])


def labels(target: Function, x: Tensor, theta: Tensor) -> Tensor:
    """``σ*(theta·x)``: ``(S, n)`` from ``(S, n, d)``."""
    return target.tensor((x @ theta[..., None]).squeeze(-1))


def feature_map(activation: Function, weights: Weights, x: Tensor, bias: float = 0.0) -> Tensor:
    """``σ(W x + b) / sqrt(p)``: ``(S, n, p)``; the readout ``a`` multiplies it."""
    validate.arrays(w=("S p d", weights.w), x=("S n d", x))
    z = x @ weights.w.mT
    return activation.tensor(z + bias if bias else z) / weights.w.shape[1] ** 0.5


def draw_conditional(activation: Function, weights: Weights, x: Tensor, noise: Tensor, c: float) -> Tensor:
    """Gaussian features with the conditional moments of the true ones, ``(S, n, p)``; ``noise`` is normal.

    ``(kappa0(k) + kappa1(k) W_b x + kappa_*(k) noise) / sqrt(p)`` at the bulk variance ``c`` and ``u = 1``.

    Source: paper E, Result 3.2.
    """
    shift = weights.r[:, None] * (x @ weights.v[..., None]).squeeze(-1)
    moments = feature_moments(activation, shift.cpu().numpy(), c)
    kappa0, kappa1, kappa2 = (torch.from_numpy(k).to(x)[..., None] for k in moments)
    return (kappa0 + kappa1 * (x @ weights.bulk.mT) + kappa2.sqrt() * noise) / noise.shape[-1] ** 0.5


def ridge(phi: Tensor, y: Tensor, lam: float) -> Tensor:
    """``argmin_a |y - phi a|^2 + lam |a|^2`` by Cholesky in the smaller dimension: ``(S, p)``.

    A ``lam`` that is too small beside the features' rounding is refused.
    """
    validate.arrays(phi=("S n p", phi), y=("S n", y))
    validate.positive(lam=lam)
    n, p = phi.shape[-2:]
    gram = phi.mT @ phi if p <= n else phi @ phi.mT
    gram.diagonal(dim1=-2, dim2=-1).add_(lam)
    right = (phi.mT @ y[..., None]) if p <= n else y[..., None]
    factor, failed = torch.linalg.cholesky_ex(gram)
    if bool(failed.any()):
        raise InputError(f"lam must be above the rounding of the features' covariance, got {lam!r}")
    solved = torch.cholesky_solve(right, factor)
    return (solved if p <= n else phi.mT @ solved).squeeze(-1)


def second_batch(target: Function, weights: Weights, n: int, seeds: Sequence[int], noise: float = 0.0) -> tuple:
    """A fresh training set ``x (S, n, d)``, ``y (S, n)``; smaller ``n`` give its first rows."""
    validate.seeds(seeds, count=len(weights.w))
    validate.between(0, 1e50, noise=noise)
    d, device = weights.w.shape[-1], weights.w.device
    x = draw(seeds, "train", n, d, d=d, device=device)
    return x, labels(target, x, weights.theta) + noise**0.5 * draw(seeds, "noise", n, d=d, device=device)


def test_set(target: Function, weights: Weights, seeds: Sequence[int], size: int = 2000) -> tuple:
    """Fresh points and clean labels, with ``theta·x`` stratified: one point in each of ``size`` equal quantiles.

    The mean test error is unchanged; its variance loses the part from the target's tails.
    """
    validate.seeds(seeds, count=len(weights.w))
    validate.integer(1, size=size)
    d = weights.w.shape[-1]
    x = draw(seeds, "test", size, d, d=d, device=weights.w.device)
    along = (x @ weights.theta[..., None]).squeeze(-1)
    within = torch.special.ndtr(along)  # uniform, independent of the orthogonal part
    levels = (torch.arange(size, dtype=x.dtype, device=x.device) + within) / size
    spread = torch.special.ndtri(levels.clamp(1e-300, 1 - 1e-16))
    x = x + (spread - along)[..., None] * weights.theta[:, None, :]
    return x, target.tensor(spread)


def overlaps(weights: Weights, a: Tensor) -> dict[str, Tensor]:
    """The order parameters ``m, zeta, psi, q1, q2`` of a readout ``a (S, p)``, each ``(S,)``.

    Where ``v`` is along ``theta`` there is no direction across, and ``psi`` is 0.

    Source: paper E, Eq. 17.
    """
    validate.arrays(w=("S p d", weights.w), a=("S p", a))
    p = a.shape[-1]
    gamma = (weights.v * weights.theta).sum(-1, keepdim=True)
    across = weights.theta - gamma * weights.v
    size = across.norm(dim=-1, keepdim=True)
    across = across / size.clamp_min(1e-300) * (size > PARALLEL)
    pulled = (a[:, None, :] @ weights.bulk).squeeze(1)  # a^T W_b
    zeta = (pulled * weights.v).sum(-1)
    return {
        "m": a.sum(-1) / p**0.5,
        "zeta": zeta / p**0.5,
        "psi": (pulled * across).sum(-1) / p**0.5,
        "q1": ((pulled**2).sum(-1) - zeta**2) / p,
        "q2": (a**2).sum(-1) / p,
    }


def learning_curve(
    activation: str | Function,
    target: str | Function,
    weights: Weights,
    *,
    alphas: Sequence[float],
    lam: float,
    seeds: Sequence[int],
) -> list[dict[str, Tensor]]:
    """Ridge readouts on nested training sets of ``alpha d`` samples: errors and overlaps, one dictionary per ``alpha``.

    Returns:
        For each ``alpha`` the ``test_error`` (the population's, :mod:`companion.papers.one_step.theory.population`),
        ``train_error`` and the overlaps, each ``(S,)``.

    Source: paper E, Eqs. 4, 5.
    """
    validate.positive(lam=lam, **{f"alphas[{i}]": alpha for i, alpha in enumerate(alphas)})
    validate.integer(1, **{"number of alphas": len(alphas)})
    activation = function(activation, "activation")
    target = function(target, "target")
    sizes = [max(1, round(alpha * weights.w.shape[-1])) for alpha in alphas]
    x, y = second_batch(target, weights, max(sizes), seeds)
    phi = feature_map(activation, weights, x)
    readouts = [ridge(phi[:, :n], y[:, :n], lam) for n in sizes]
    errors = population.population_error(activation, target, weights.w, weights.theta, torch.stack(readouts, dim=1))
    return [
        {"test_error": error, "train_error": squared_error(phi[:, :n], a, y[:, :n])} | overlaps(weights, a)
        for n, a, error in zip(sizes, readouts, errors.unbind(1))
    ]


def squared_error(phi: Tensor, a: Tensor, y: Tensor) -> Tensor:
    """Mean squared error ``(S,)`` of readouts ``a (S, p)`` on features ``phi (S, n, p)`` with labels ``y (S, n)``."""
    return ((phi @ a[..., None]).squeeze(-1) - y).square().mean(-1)


def measured_parameters(weights: Weights) -> dict[str, Tensor]:
    """``r``, ``gamma`` and ``c`` of trained weights, each ``(S,)``, from the rows alone.

    The spike ``r v`` is the mean of the rows, weighted by the readout; ``c`` is the mean squared norm of the rest.
    """
    spike = (weights.u[:, None, :] @ weights.w).squeeze(1) / weights.u.square().sum(-1, keepdim=True)
    bulk = weights.w - weights.u[..., None] * spike[:, None, :]
    return {
        "r": spike.norm(dim=-1),
        "gamma": (unit(spike) * weights.theta).sum(-1),
        "c": bulk.square().sum(-1).mean(-1),
    }
