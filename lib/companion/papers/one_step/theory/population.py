"""The test error of a readout without test points: the average over all inputs, given the weights.

``E (σ*(theta·x) - f(x))^2 = E σ*^2 - 2 b·a + a·K a`` with ``b_i = E σ* σ(w_i·x) / sqrt(p)`` and
``K_ij = E σ(w_i·x) σ(w_j·x) / p``. Both are closed forms for error functions and the sine. The hyperbolic tangent is a
mixture of error functions; four of them approximate it to 1.1e-5. Two thousand test points would scatter each error by
3 %, at twice the cost.
"""

import math

import torch
from torch import Tensor

from companion.papers.one_step.theory.functions import Function
from regimes import gaussian, validate
from regimes.validate import InputError

# σ(x) = sum of share * erf(rate x); those of tanh by least squares on [0, 14]
MIXTURES = {
    "erf": ((1.0, 1.0),),
    "erf(x/√2)": ((1.0, math.sqrt(0.5)),),
    "tanh": ((0.06149555, 0.45483591), (0.37194886, 0.67174684), (0.45817109, 0.98628648), (0.10838305, 1.44340507)),
}
CLOSED = (*MIXTURES, "sin")


def population_error(activation: Function, target: Function, w: Tensor, theta: Tensor, a: Tensor) -> Tensor:
    """The population's squared error of readouts ``a`` against the clean target.

    Args:
        activation: one of :data:`CLOSED`.
        target: function of ``theta·x``.
        w: rows ``(S, p, d)``.
        theta: ``(S, d)``, unit norm.
        a: ``(S, A, p)``, several readouts of each realisation.

    Returns:
        ``(S, A)``.
    """
    if activation.name not in CLOSED:
        raise InputError(f"activation must be one of {', '.join(CLOSED)}, got {activation.name}")
    validate.arrays(w=("S p d", w), theta=("S d", theta), a=("S A p", a))
    t, weight = (torch.from_numpy(column).to(w) for column in gaussian.rule(target.breaks))
    y = target.tensor(t)
    along = (w @ theta[..., None])[..., 0]
    across = w.square().sum(-1) - along**2
    with_target = smoothed(activation, along[..., None] * t, across[..., None]) @ (weight * y)  # E σ* σ(w_i·x)
    p = w.shape[1]
    cross = (a @ with_target[..., None])[..., 0] / p**0.5
    return weight @ y**2 - 2 * cross + mean_square(activation, w @ w.mT, a) / p


def mean_output(activation: Function, w: Tensor, theta: Tensor, a: Tensor, t: Tensor) -> Tensor:
    """``E[f(x) | theta·x = t]``: ``(S, T)`` from one readout ``a (S, p)`` each and levels ``t (T,)``."""
    along = (w @ theta[..., None])[..., 0]
    across = w.square().sum(-1) - along**2
    return (a[:, None] @ smoothed(activation, along[..., None] * t, across[..., None]))[:, 0] / a.shape[-1] ** 0.5


def smoothed(activation: Function, mean: Tensor, variance: Tensor) -> Tensor:
    """``E_z σ(mean + sqrt(variance) z)``, elementwise."""
    if activation.name == "sin":
        return torch.exp(-variance / 2) * torch.sin(mean)
    return sum(
        share * torch.erf(rate * mean / (1 + 2 * rate**2 * variance).sqrt())
        for share, rate in MIXTURES[activation.name]
    )


def mean_square(activation: Function, gram: Tensor, a: Tensor) -> Tensor:
    """``a·E[σ(u) σ(u)^T] a`` for ``u ~ N(0, gram)``: ``(S, A)`` from ``gram (S, p, p)``, ``a (S, A, p)``.

    ``E erf(b u) erf(b' u') = 2/pi arcsin(2 b b' E u u' / sqrt((1 + 2 b^2 E u^2) (1 + 2 b'^2 E u'^2)))``.
    """
    size = gram.diagonal(dim1=-2, dim2=-1)
    if activation.name == "sin":
        decay = torch.exp(-size / 2)
        return torch.einsum("sai,sij,saj->sa", a * decay[:, None], torch.sinh(gram), a * decay[:, None])
    terms = MIXTURES[activation.name]
    total = torch.zeros_like(gram)
    for i, (share_i, rate_i) in enumerate(terms):
        for j, (share_j, rate_j) in enumerate(terms[: i + 1]):
            scale_i, scale_j = (rate * (2 / (1 + 2 * rate**2 * size)).sqrt() for rate in (rate_i, rate_j))
            # (i, j) and (j, i) are transposes of one another: the same quadratic form
            part = (gram * scale_i[:, :, None]).mul_(scale_j[:, None, :]).asin_()
            total.add_(part, alpha=share_i * share_j * 2 / math.pi * (1 if i == j else 2))
    return torch.einsum("sai,sai->sa", a @ total, a)
