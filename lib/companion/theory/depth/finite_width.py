"""Kernels of networks of finite width, before and after training, against the infinite-width law."""

from collections.abc import Sequence
from itertools import islice

import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import infinite_diagonal, infinite_ntk, ntk
from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import optimise
from regimes.validate import InputError


def kernels_before_and_after(
    x: Tensor, y: Tensor, *, depth: int, width: int, steps: int, seeds: Sequence[int]
) -> list[dict[str, float]]:
    """One record a seed: kernel entries before and after ``steps`` of gradient descent, and in the limit.

    ``before``, ``after``, ``infinite``: mean off-diagonal entry of the kernel divided by the roots of its diagonal
    (``before`` and ``after`` are NaN for a network that is inactive at a point then: its kernel is zero there; what is
    measured after training is NaN for one whose outputs left the range of numbers on the way);
    ``diagonal``: the kernel's mean diagonal over its limit's; ``change``: its relative change in training (Frobenius);
    ``loss``: the last loss over the first. The rate is half the inverse of each kernel's largest eigenvalue (over n),
    stable for every realisation, deep or shallow.

    Args:
        x: unit inputs ``(n, d)``.
        y: targets ``(n, 1)``.
        depth: layers of weights.
        width: of all hidden layers.
        steps: of gradient descent.
        seeds: one network each.

    Source: beyond paper C; Hanin and Nica 2020 for the ratio that matters, depth over width.
    """
    validate.arrays(x=("n d", x))
    validate.arrays(y=(f"{len(x)} 1", y))
    validate.integer(1, depth=depth, width=width)
    validate.integer(0, steps=steps)
    if len(x) < 2:
        raise InputError(f"two or more points are needed to have a pair, got {len(x)}")
    net = fully_connected([x.shape[-1], *[width] * (depth - 1), 1], seeds=seeds, device=x.device)
    before = ntk(net, x)
    largest = torch.linalg.eigvalsh(before)[:, -1]
    rates = 0.5 * len(x) / torch.where(largest > 0, largest, 1.0)  # a network that is inactive everywhere rests
    states = optimise(net, x, y.squeeze(-1), rate=rates)
    first = end = next(states)
    for state in islice(states, steps):
        end = state
    after = torch.full_like(before, torch.nan)  # stays so for realisations that overflowed on the way
    after[list(end.rows)] = ntk(end.model, x)
    loss = torch.full_like(first.loss, torch.nan)
    loss[list(end.rows)] = end.loss
    limit = 2.0**depth * infinite_diagonal(x, depth=depth)  # gain² = 2 in every layer
    columns = {
        "before": off_diagonal(before),
        "after": off_diagonal(after),
        "infinite": off_diagonal(infinite_ntk(x, depth=depth)).expand(len(seeds)),
        "diagonal": (before.diagonal(dim1=-2, dim2=-1) / limit).mean(-1),
        "change": torch.linalg.matrix_norm(after - before) / torch.linalg.matrix_norm(before),
        "loss": loss / first.loss,
    }
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(len(seeds))]


def off_diagonal(gram: Tensor) -> Tensor:
    """The mean off-diagonal entry of ``(..., n, n)`` after division by the roots of the diagonal: ``(...)``.

    NaN where an entry of the diagonal is zero.
    """
    root = gram.diagonal(dim1=-2, dim2=-1).sqrt()
    unit = gram / (root.unsqueeze(-1) * root.unsqueeze(-2))
    n = gram.shape[-1]
    return (unit.sum((-1, -2)) - n) / (n * (n - 1))
