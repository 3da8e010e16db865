r"""Centred kernel alignment (CKA) of two kernels on the same points, without the bias of few points.

The plain CKA of features that have nothing to do with each other tends to 1 as features outnumber the points. With
the diagonals left out and the means taken off accordingly (*U-centring*), for :math:`i\neq j`

.. math:: \tilde K_{ij} = K_{ij} - \frac{\sum_l (K_{il} + K_{lj})}{n-2} + \frac{\sum_{kl} K_{kl}}{(n-1)(n-2)}, \qquad
   \mathrm{HSIC}_1(K, L) = \frac{\operatorname{tr}(\tilde K\tilde L)}{n(n-3)},

where sums leave out the diagonal, has the mean of the covariance of the two kernels at any number of points, and

.. math:: \mathrm{CKA} = \mathrm{HSIC}_1(K, L)\,/\sqrt{\mathrm{HSIC}_1(K, K)\,\mathrm{HSIC}_1(L, L)}

is around 0 for independent features. It may be negative.

Sources: Song et al., JMLR 13 (2012), Eq. 5 (the estimator); Kornblith et al., ICML 2019 (CKA); Nguyen et al., ICLR
2021, Eq. 3 (CKA with this estimator).
"""

import torch
from torch import Tensor

from regimes import validate
from regimes.validate import InputError

ROUND_OFF = 64  # rounding errors of an entry beside the largest one, below which nothing is left of a kernel


def cka(gram: Tensor, other: Tensor) -> Tensor:
    """The centred kernel alignment of two kernels, by the unbiased estimator of their covariance.

    It does not change if a kernel is multiplied by a number above 0, or if its features are shifted or turned.

    Args:
        gram: ``K (n, n)`` or ``(E, n, n)``, symmetric, of at least 4 points.
        other: ``L`` on the same points; either may lack the axis ``E``, which it then has in common.

    Returns:
        ``(E,)``, or a number without that axis, at most 1, in float64.

    Raises:
        InputError: for matrices of other shapes, and for a kernel that is the same for all pairs of points.

    Source: Nguyen et al., ICLR 2021, Eq. 3; Song et al., JMLR 13 (2012), Eq. 5.
    """
    gram, other = validate.tensors(gram=("... n n", gram), other=("... n n", other))
    if gram.ndim > 3 or other.ndim > 3 or (gram.ndim == other.ndim == 3 and len(gram) != len(other)):
        raise InputError(f"gram and other must be (n, n) or (E, n, n), got {tuple(gram.shape)}, {tuple(other.shape)}")
    validate.integer(4, **{"number of points": gram.shape[-1]})
    mine, theirs = (_centred(name, kernel) for name, kernel in (("gram", gram), ("other", other)))
    return torch.linalg.vecdot(mine.flatten(-2), theirs.flatten(-2))


def _centred(name: str, kernel: Tensor) -> Tensor:
    """The U-centred kernel, of norm 1."""
    n = kernel.shape[-1]
    eps = torch.finfo(kernel.dtype).eps
    kernel = kernel.detach().double()
    largest = kernel.abs().amax((-2, -1), keepdim=True)
    kernel = kernel / torch.where(largest > 0, largest, 1.0)
    if not torch.allclose(kernel, kernel.mT, rtol=0, atol=eps**0.5):
        raise InputError(f"{name} must be symmetric")
    kernel = kernel - kernel.mean((-2, -1), keepdim=True)  # a constant cancels: here, before it costs digits
    diagonal = torch.eye(n, dtype=torch.bool, device=kernel.device)
    kernel = kernel.masked_fill(diagonal, 0.0)
    rows = kernel.sum(-1, keepdim=True) / (n - 2)
    total = kernel.sum((-2, -1), keepdim=True) / ((n - 1) * (n - 2))
    centred = (kernel - rows - rows.mT + total).masked_fill(diagonal, 0.0)
    norm = torch.linalg.matrix_norm(centred)
    if bool((norm <= ROUND_OFF * n * eps).any()):
        raise InputError(f"{name} is the same for all pairs of points up to round-off: its alignment is undefined")
    return centred / norm[..., None, None]
