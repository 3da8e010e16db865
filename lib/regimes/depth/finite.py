"""Kernels of networks of finite width, before and after training, against the infinite-width law."""

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from regimes import check
from regimes.check import InputError
from regimes.descend import descend
from regimes.fully_connected import fully_connected, tangent_kernel
from regimes.kernels import infinite_diagonal, infinite_ntk


def compare(
    x: Tensor, y: Tensor, *, depth: int, width: int, steps: int, seeds: Sequence[int]
) -> list[dict[str, float]]:
    """One record a seed: kernel entries before and after ``steps`` of gradient descent, and in the limit.

    ``before``, ``after``, ``infinite``: mean off-diagonal entry of the kernel divided by the roots of its diagonal;
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

    Raises:
        InputError: for fewer than two inputs, targets that do not fit, sizes below 1, negative steps, or a network so
            narrow that its kernel vanishes at all inputs but one.

    Source: beyond paper C; Hanin and Nica 2020 for the ratio that matters, depth over width.
    """
    check.arrays(x=("n d", x))
    check.arrays(y=(f"{len(x)} 1", y))
    check.integer(1, depth=depth, width=width)
    check.integer(0, steps=steps)
    _needs_pairs(x)
    net = fully_connected([x.shape[-1], *[width] * (depth - 1), 1], seeds=seeds)
    before = tangent_kernel(net, x)
    rates = 0.5 * len(x) / torch.linalg.eigvalsh(before)[:, -1]
    losses = [state.loss for state in itertools.islice(descend(net, x, y, rate=rates), steps + 1)]
    with torch.no_grad():
        after = tangent_kernel(net, x)
    limit = 2.0**depth * infinite_diagonal(x, depth=depth)  # gain² = 2 in every layer
    columns = {
        "before": off_diagonal(before),
        "after": off_diagonal(after),
        "infinite": off_diagonal(infinite_ntk(x, depth=depth)).expand(len(seeds)),
        "diagonal": (before.diagonal(dim1=-2, dim2=-1) / limit).mean(-1),
        "change": torch.linalg.matrix_norm(after - before) / torch.linalg.matrix_norm(before),
        "loss": losses[-1] / losses[0],
    }
    return [{name: float(column[k]) for name, column in columns.items()} for k in range(len(seeds))]


def off_diagonal(gram: Tensor) -> Tensor:
    """The mean off-diagonal entry of ``(..., n, n)`` after division by the roots of the diagonal.

    Points at which a network is inactive, and the diagonal zero, have no direction and are left out.

    Raises:
        InputError: for fewer than two points, or a matrix with fewer than two positive entries on its diagonal.
    """
    check.arrays(gram=("... n n", gram))
    _needs_pairs(gram)
    diagonal = gram.diagonal(dim1=-2, dim2=-1)
    active = (diagonal > 0).sum(-1)
    if not bool((active > 1).all()):
        raise InputError("gram must be positive at two points or more: a network is inactive at the others, widen it")
    root = torch.where(diagonal > 0, diagonal, torch.inf).sqrt()
    unit = gram / (root.unsqueeze(-1) * root.unsqueeze(-2))
    return (unit.sum((-1, -2)) - active) / (active * (active - 1))


def _needs_pairs(points: Tensor) -> None:
    if points.shape[-2] < 2:
        raise InputError(f"two or more points are needed to have a pair, got {points.shape[-2]}")
