r"""Kernel ridge regression with the network's own kernels in place of a step, and its theory.

The infinitely wide network of rows ``g_i/sqrt(d)``, ``g_i`` normal, has the conjugate kernel ``K = E σ(u) σ(u')`` of
the readout, and with the first layer's part the tangent kernel ``K + x·x'/d E σ'(u) σ'(u')``; ``u = g·x/sqrt(d)``.
With ``n ~ d`` samples either is a multiple of ``x·x'/d`` plus one of the identity. Then regression is linear ridge
regression, for which the target's non-linear part is noise.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from companion.papers.one_step.theory import bounds, network
from companion.papers.one_step.theory.functions import Function, derivative, function, hermite, needs_slope
from regimes import gaussian, validate

KERNELS = ("conjugate", "tangent")
TERMS = 16  # of the series in the cosine; that of two inputs is of order d^(-1/2)


def conjugate_and_tangent(activation: str | Function, x: Tensor, z: Tensor | None = None) -> dict[str, Tensor]:
    """Both kernels ``(..., n, m)`` of inputs ``x (..., n, d)`` and ``z (..., m, d)``, by name; ``z``: ``x`` by default.

    ``K = Σ_k a_k a_k' rho^k`` and for the tangent kernel ``Σ_k (1 + k) a_k a_k' rho^k``, as ``E σ'σ' = dK/d(x·x'/d)``:
    ``a_k`` the Hermite coefficients of ``σ(|x|/sqrt(d) ·)`` and ``rho`` the cosine. The series ends after ``TERMS``; of
    an input with itself the values are exact.

    Source: Daniely et al. (2016); paper E, Sec. 4.2, names the conjugate kernel and the NTK.
    """
    activation = function(activation, "activation")
    needs_slope(activation)
    validate.arrays(x=("... n d", x), **({} if z is None else {"z": ("... m d", z)}))
    a_x = _coefficients(activation, x)
    a_z = a_x if z is None else _coefficients(activation, z)
    cosine = network.unit(x) @ network.unit(x if z is None else z).mT
    power = torch.ones_like(cosine)
    kernels = {name: torch.zeros_like(cosine) for name in KERNELS}
    for k in range(TERMS):
        if float(a_x[k].abs().max()) > 1e-12:  # none of even order for an odd activation
            term = a_x[k][..., :, None] * power * a_z[k][..., None, :]
            kernels["conjugate"].add_(term)
            kernels["tangent"].add_(term, alpha=1 + k)
        power.mul_(cosine)
    if z is None:
        scale = (x.square().sum(-1) / x.shape[-1]).cpu().numpy()
        value = gaussian.moments(activation.array, np.zeros_like(scale), np.sqrt(scale), breaks=activation.breaks)[2]
        slope = gaussian.moments(derivative(activation), np.zeros_like(scale), np.sqrt(scale))[2]
        kernels["conjugate"].diagonal(dim1=-2, dim2=-1).copy_(torch.from_numpy(value).to(x))
        kernels["tangent"].diagonal(dim1=-2, dim2=-1).copy_(torch.from_numpy(value + scale * slope).to(x))
    return kernels


def _coefficients(activation: Function, x: Tensor) -> Tensor:
    """``a_k = E σ(|x|/sqrt(d) z) He_k(z)/sqrt(k!)``: ``(TERMS, ..., n)``."""
    z, weight = gaussian.trapezoid(120)
    polynomials = [np.ones_like(z), z]
    for k in range(1, TERMS - 1):
        polynomials.append((z * polynomials[k] - np.sqrt(k) * polynomials[k - 1]) / np.sqrt(k + 1))
    scale = x.norm(dim=-1) / x.shape[-1] ** 0.5
    values = activation.tensor(scale[..., None] * torch.from_numpy(z.copy()).to(x))
    return (values @ torch.from_numpy(weight * np.array(polynomials)).to(x).mT).movedim(-1, 0)


def errors(
    activation: str | Function,
    target: str | Function,
    *,
    d: int,
    alphas: Sequence[float],
    lams: Sequence[float],
    seeds: Sequence[int],
) -> list[tuple[str, float, float, Tensor]]:
    """Kernel ridge regression on ``alpha d`` samples, nested: kernel, ``alpha``, ``lam``, test errors ``(S,)``.

    Samples and directions are those of the networks' second batches
    (:mod:`companion.papers.one_step.theory.network`), the error an average over stratified points.
    """
    validate.positive(**{f"alphas[{i}]": alpha for i, alpha in enumerate(alphas)})
    validate.positive(**{f"lams[{i}]": lam for i, lam in enumerate(lams)})
    target = function(target, "target")
    drawn = network.one_step("tanh", target, d=d, p=1, n0=0, step=0.0, seeds=seeds, device="auto")  # its direction
    sizes = [max(1, round(alpha * d)) for alpha in alphas]
    x, y = network.second_batch(target, drawn, max(sizes), seeds)
    test_x, clean = network.test_set(target, drawn, seeds)
    grams = conjugate_and_tangent(activation, x)
    crosses = conjugate_and_tangent(activation, test_x, x)
    rows = []
    for name in KERNELS:
        for lam in lams:
            gram = grams[name].clone()
            gram.diagonal(dim1=-2, dim2=-1).add_(lam)
            factor = torch.linalg.cholesky(gram)  # its corner is the factor of the corner
            for alpha, n in zip(alphas, sizes):
                weights = torch.cholesky_solve(y[:, :n, None], factor[:, :n, :n])
                outputs = (crosses[name][..., :n] @ weights)[..., 0]
                rows.append((name, alpha, lam, (outputs - clean).square().mean(-1)))
    return rows


def best_ridge(target: str | Function, x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
    """The population's error ``(S,)`` of ridge regression on inputs ``x (S, n, d)`` at each seed's own best penalty.

    The best of thirteen penalties from an eighth to eight times ``N d/t1^2``, that of :func:`linear_error`;
    ``y (S, n)``, ``theta (S, d)``. The error of the weights ``w`` is ``t2 - 2 t1 w·theta + |w|^2``.
    """
    target = function(target, "target")
    validate.arrays(x=("S n d", x), y=("S n", y), theta=("S d", theta))
    h = hermite(function("identity"), target)
    validate.positive(**{"t1^2 of the target": h.t1**2})
    values, vectors = torch.linalg.eigh(x.mT @ x)
    moved, along = (vectors.mT @ part[..., None] for part in ((y[:, None, :] @ x)[:, 0], theta))
    lams = (h.t2 - h.t1**2) * x.shape[-1] / h.t1**2 * 2.0 ** np.linspace(-3, 3, 13)
    w = moved / (values[..., None] + torch.from_numpy(lams).to(x))  # (S, d, penalties)
    return (h.t2 - 2 * h.t1 * (w * along).sum(1) + w.square().sum(1)).amin(-1)


def linear_error(target: str | Function, alpha: np.ndarray) -> np.ndarray:
    """Error of the best ridge regression on the inputs themselves, same shape as ``alpha = n/d``.

    With ``N = E σ*^2 - t1^2``, what no linear function explains, it is ``N + E``, ``E = 1/(1/t1^2 + alpha/(N + E))``:
    the posterior variance of a linear function of squared norm ``t1^2`` seen through noise of variance ``N``.

    Source: Tse and Hanly (1999).
    """
    target = function(target, "target")
    alpha = np.asarray(alpha, dtype=float)
    validate.arrays(alpha=("...", alpha))
    noise = bounds.best_linear(target)
    signal = hermite(function("identity"), target).t1 ** 2
    validate.positive(alpha=float(alpha.min()), **{"t1^2 of the target": signal})
    half = (noise + signal * (alpha - 1)) / 2  # E^2 + 2 half E = N t1^2
    return noise - half + np.sqrt(half**2 + noise * signal)
