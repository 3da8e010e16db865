r"""Several gradient steps on the first layer, each on a fresh batch: simulation and theory.

From the second step on the network's output is of order one, ``f(x) = kappa0(k)``, ``k = v·x``. To leading order all
neurons still move alike, by the gradient of ``E (σ* - kappa0)^2 / 2`` in the spike ``q = r v``, which keeps rank one:

``q -> q + step E[(σ* - kappa0) kappa1 x] + noise``, ``kappa0 = E_z σ(r k + sqrt(c) z)``, ``kappa1 = E_z σ'``.

One step of any size moves by ``step h1 t1`` along the target; several converge to the strength at which ``kappa0`` is
optimal. The curvature ``E_z σ''`` pulls each bulk row along itself, except at ``r = 0``.
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from companion.papers.one_step.theory import network
from companion.papers.one_step.theory.conditional_map import Spiked, channel
from companion.papers.one_step.theory.functions import Function, derivative, function, needs_step
from regimes import gaussian, validate


def predict(activation: str | Function, target: str | Function, *, alpha0: float, step: float, count: float) -> Spiked:
    """Spike and bulk after ``count`` steps of size ``step/count``, each on ``alpha0 d/count`` fresh samples.

    With ``δ = step/count``, ``a = alpha0/count`` and ``R = E_s (σ* - kappa0)^2`` given ``k``, one step takes ``r v`` to
    ``(r + δ E[(H - kappa0) kappa1 k]) v + δ E[kappa1 H'] theta_perp``, plus noise of squared norm
    ``δ^2/a E[R kappa1^2]`` across, and ``c`` to
    ``c (1 + δ E[(H - kappa0) E_z σ''])^2 + δ^2/a E[R (E_z σ'^2 - kappa1^2)]``.
    The noises of infinitely many steps stay, as ``δ^2/a = step^2/(alpha0 count)``, and make a flow of these numbers.

    Args:
        activation: odd.
        target: function of ``theta·x``.
        alpha0: samples of all steps over ``d``; ``inf`` for perfect alignment.
        step: the steps' sizes together, ``eta / p``.
        count: how many; one gives Result 3.1, ``inf`` the flow.

    Source: Result 3.1 of paper E is the first step; the others are derived here.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_step(activation)
    validate.positive(step=step, alpha0=min(alpha0, 1e300))
    flow = isinstance(count, float) and count == np.inf
    if not flow:
        validate.integer(1, count=count)

    def forces(r: float, gamma: float, c: float) -> tuple[float, float, float, float, float]:
        """Drift along ``v`` and ``theta_perp``, noise; relative drift of ``sqrt(c)``, noise: each per unit of step."""
        e = channel(activation, target, r=r, c=c, gamma=gamma)
        k, kappa0, kappa1, h, h_s, h2 = (column[0] for column in (e.k, e.kappa0, e.kappa1, e.h, e.h_s, e.h2))
        residual = h2 - 2 * h * kappa0 + kappa0**2  # R of the formulas
        _, bend, square = gaussian.moments(derivative(activation), r * k, np.sqrt(c))  # sqrt(c) E_z σ'', E_z σ'^2
        along_v = (h - kappa0) * kappa1 * k
        along_theta = kappa1 * h_s
        noise = residual * kappa1**2
        growth = (h - kappa0) * bend / np.sqrt(c)
        bulk_noise = residual * (square - kappa1**2)
        return tuple(float(e.mean(force)[0]) for force in (along_v, along_theta, noise, growth, bulk_noise))

    def slopes(_: float, state: np.ndarray) -> list[float]:
        along, across, c = state  # the latter squared
        r = float(np.sqrt(along**2 + max(across, 0.0)))
        cosine = along / max(r, 1e-300)
        sine = np.sqrt(1 - cosine**2)
        drift, turn, noise, pull, blur = forces(r, cosine, c)
        outwards = 2 * r * sine * (sine * drift - cosine * turn) + step / alpha0 * noise
        return [step * x for x in (cosine * drift + sine * turn, outwards, 2 * c * pull + step / alpha0 * blur)]

    if flow:
        along, across, c = solve_ivp(slopes, (0, 1), [0.0, 0.0, 1.0], rtol=1e-7, atol=1e-9).y[:, -1]
        r = np.sqrt(along**2 + across)
        return Spiked(float(c), float(r), float(along / r))
    size = step / count
    share = count / alpha0
    r, gamma, c = 0.0, 1.0, 1.0
    for _ in range(count):
        drift, turn, noise, pull, blur = forces(r, gamma, c)
        along = r + size * drift
        across = size * turn
        c = c * (1 + size * pull) ** 2 + size**2 * share * blur
        r = np.sqrt(along**2 + across**2 + size**2 * share * noise)
        gamma = float(np.clip((gamma * along + np.sqrt(1 - gamma**2) * across) / r, -1, 1))
    return Spiked(float(c), float(r), gamma)


def train(
    activation: str | Function,
    target: str | Function,
    *,
    d: int,
    p: int,
    n0: int,
    step: float,
    count: int,
    seeds: Sequence[int],
) -> network.Weights:
    """The weights ``(S, p, d)`` after ``count`` full-batch gradient steps of size ``step p/count``.

    Each has its own ``count``-th part of the ``n0`` samples of
    :func:`companion.papers.one_step.theory.network.one_step`, which this is for ``count = 1``; the readout stays at
    ``1/sqrt(p)``. The spike is the mean of the rows.
    """
    validate.integer(1, count=count)
    validate.integer(count, n0=n0)
    start = network.one_step(activation, target, d=d, p=p, n0=0, step=0.0, seeds=seeds, device="auto")
    x = network.draw(seeds, "batch", n0, d, d=d, device=start.w.device)
    y = network.labels(function(target, "target"), x, start.theta)
    w = start.w
    for part in torch.arange(n0).tensor_split(count):
        w = network.gradient_step(activation, w, x[:, part], y[:, part], step / count)
    spike = w.mean(1)
    return network.Weights(w, start.theta, network.unit(spike), start.u, spike.norm(dim=-1))


def spectrum(weights: network.Weights, seeds: Sequence[int]) -> dict[str, Tensor]:
    """Singular values of ``W - W_0`` and their directions, each ``(S,)``.

    Returns:
        ``first`` and ``second`` singular value over ``sqrt(p)``; ``along``, cosine of the first right singular vector
        with ``theta``; ``second_along``, that of the second.
    """
    p, d = weights.w.shape[1:]
    moved = weights.w - network.unit(network.draw(seeds, "weights", p, d, d=d, device=weights.w.device))
    values, vectors = torch.linalg.eigh(moved.mT @ moved / p)
    cosines = (vectors[:, :, -2:].mT @ weights.theta[..., None])[..., 0].abs()
    first = values[:, -1].sqrt()
    second = values[:, -2].clamp_min(0).sqrt()
    return {"first": first, "second": second, "along": cosines[:, 1], "second_along": cosines[:, 0]}
