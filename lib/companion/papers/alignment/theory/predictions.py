r"""Predictions of the early C-NFA: to first order, with the expected kernel, and expectations at finite width.

At initialisation the centred matrices grow as ``t²`` times

.. math:: \dot W^\top\dot W = X^\top Y\mathcal KYX, \qquad \dot W^\top K\dot W = X^\top Y\mathcal K^2YX

(``Y`` is the diagonal matrix of the residuals), so that the C-NFA begins at their correlation. To first order the
kernel's expectation replaces the kernel.

Source: paper D, Props. 3, 4 and 10, Eqs. 4 and 5, App. C.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import relu_recursion
from regimes.measures.matrices import correlation

PRINTINGS = ("corrected", "printed")


def early_correlation(x: Tensor, y: Tensor, kernel: Tensor) -> Tensor:
    """The C-NFA at initialisation, ``ρ(XᵀY𝒦YX, XᵀY𝒦²YX) (...)``.

    Args:
        x: inputs ``(..., n, d)`` of the layer.
        y: residuals ``(..., n)``; labels where the outputs are near 0.
        kernel: ``𝒦 (..., n, n)``, or its expectation for the prediction to first order. Any scale.

    Source: paper D, Eq. 4 and App. C.
    """
    validate.arrays(x=("... n d", x), y=("... n", y), kernel=("... n n", kernel))
    labelled = x * y.unsqueeze(-1)
    moved = kernel @ labelled
    return correlation(labelled.mT @ moved, moved.mT @ moved)


def expected_kernel(x: Tensor, *, sigma: str, hidden: int) -> Tensor:
    r"""The first layer's expected tangent kernel ``E 𝒦 (..., n, n)`` at large width, of a network without biases.

    .. math:: \mathbb E\mathcal K = \prod_{l=1}^{L} \mathbb E[\sigma'(u)\sigma'(v)],\quad
       (u, v)\sim N(0,\Sigma^{l}),\quad \Sigma^1 = \frac1d XX^\top,\quad
       \Sigma^{l+1} = \mathbb E[\sigma(u)\sigma(v)]

    over the ``L`` hidden layers, with weights of variance ``1/fan-in``. It is exact at any width for one hidden layer.

    Args:
        x: inputs ``(..., n, d)``.
        sigma: ``quadratic`` (``z²``) or ``relu``.
        hidden: ``L``, hidden layers, from 1 to 100.

    Source: paper D, App. C (E[𝒦] is not given there); the arc-cosine kernels of paper C, Definition 5.
    """
    validate.one_of(_LAYERS, sigma=sigma)
    validate.whole(1, 100, hidden=hidden)
    validate.arrays(x=("... n d", x))
    gram = (1 / x.shape[-1]) * (x @ x.mT)
    kernel = torch.ones_like(gram)
    for _ in range(hidden):
        slopes, gram = _LAYERS[sigma](gram)
        kernel = slopes * kernel
    return kernel


def _quadratic(gram: Tensor) -> tuple[Tensor, Tensor]:
    """``E 2u 2v`` and ``E u²v²`` by Wick's theorem."""
    variance = gram.diagonal(dim1=-2, dim2=-1)
    return 4 * gram, variance.unsqueeze(-1) * variance.unsqueeze(-2) + 2 * gram**2


def _relu(gram: Tensor) -> tuple[Tensor, Tensor]:
    """The arc-cosine kernels of orders 0 and 1."""
    scale = gram.diagonal(dim1=-2, dim2=-1).sqrt()
    norms = scale.unsqueeze(-1) * scale.unsqueeze(-2)
    cosine = (gram / norms).clamp(-1, 1)
    cosine.diagonal(dim1=-2, dim2=-1).fill_(1)  # rounding of an entry near 1 would be an angle of 1e-8
    phi = torch.acos(cosine)
    return (1 - phi / math.pi) / 2, norms / 2 * (1 - relu_recursion.contract(1 - cosine, phi))


_LAYERS: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {"quadratic": _quadratic, "relu": _relu}


def expected_agop(x: Tensor, y: Tensor, k: int, *, printing: str = "corrected") -> Tensor:
    r"""``E[ẆᵀKẆ] (..., d, d)`` of ``f = aᵀ(Wx)²``, ``a ~ N(0, 1)``, ``W ~ N(0, 1/k)``, at width ``k``.

    Here :math:`\dot W = \delta^\top YX` with ``δ = a ⊙ h``, as in the paper; the derivative ``2a ⊙ h`` gives four times
    as much. ``E[ẆᵀẆ]`` is the ``A`` of :func:`free_probability.data_matrices` at any width.

    .. math:: \tfrac3k\operatorname{tr}(X^\top X)(X^\top YX)^2 + (1+\tfrac5k)\,X^\top YX\,X^\top X\,X^\top YX

    where ``tr`` is the sum of the eigenvalues. Pairs of equal neurons give the first term and ``6/k`` of the second,
    pairs of different ones ``1 - 1/k`` of the second.

    Args:
        x: inputs ``(..., n, d)``.
        y: residuals ``(..., n)``.
        k: width, at least 1.
        printing: ``corrected``, or ``printed`` for the paper's coefficients 3 and 6.

    Source: paper D, Prop. 10; corrected here.
    """
    validate.arrays(x=("... n d", x), y=("... n", y))
    validate.integer(1, k=k)
    validate.one_of(PRINTINGS, printing=printing)
    m = x.mT @ (x * y.unsqueeze(-1))
    b = x.mT @ x
    trace = b.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    first, second = (3 / k, 1 + 5 / k) if printing == "corrected" else (3.0, 6.0)
    return first * trace * (m @ m) + second * (m @ b @ m)
