"""The expected gradient outer product of the chain monomial, in closed form.

The gradient of ``Σ_k x_k x_{k+1}`` is ``A x`` with the adjacency matrix ``A`` of a ring of ``r`` coordinates. For
isotropic inputs the EGOP is ``A²`` divided by the labels' variance ``tr(A²)/2``, that is ``A²/r`` (``r >= 3``), with
eigenvalues ``4 cos²(2πj/r)/r``, ``j = 0 … r - 1``. Two of them vanish if 4 divides ``r``.
"""

import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import Task
from regimes.validate import InputError


def chain_monomial_egop(r: int, d: int) -> Tensor:
    """``E[∇y ∇yᵀ] (d, d)`` of :func:`regimes.data.tasks.chain_monomial`, whose labels have unit variance.

    Args:
        r: number of informative coordinates, from 2 to ``d``.
        d: dimension of the isotropic input.

    Source: paper D, Eqs. 1 and 2; the closed form is ours.
    """
    validate.integer(2, d=d)
    validate.whole(2, d, r=r)
    ring = torch.zeros(d, d, dtype=torch.float64)
    step = torch.eye(r).roll(1, dims=0).to(ring)
    ring[:r, :r] = step + step.mT
    square = ring @ ring
    return square * (2 / square.trace())


def sampled_egop(task: Task) -> Tensor:
    """The mean outer product of the label function's gradients over the task's points, ``(..., d, d)``.

    Source: paper D, Eq. 2.
    """
    if task.label is None:
        raise InputError(f"a label function is needed to take its gradient, and {task.source} has none")
    x = task.x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(task.label(x).sum(), x)
    return gradient.mT @ gradient / x.shape[-2]
