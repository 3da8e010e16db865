"""What is learned: points, labels, and what the theory needs to know about them.

All inputs are float64; every generator draws from its own seed, apart from those of initialisation and batch order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from regimes import check
from regimes.check import InputError

STRIPE = (-0.3, 1.18549)  # equiprobable labels; Source: paper A, Sec. 2.1


@dataclass(frozen=True)
class Task:
    """Points and labels, and where they come from.

    Attributes:
        x: inputs ``(..., p, d)``; a leading axis holds independent realisations.
        y: labels ``(..., p)`` in {-1, +1}, or real targets.
        source: the words a caption prints (data set, sizes, what was done to it).
        d_parallel: number of informative directions, the first ones; ``None`` where the notion does not apply.
        label: the label function, ``(..., d) -> (...)``; ``None`` for real data.
        classes: the classes behind the labels ``(..., p)``, for stratified splits; ``None`` for synthetic data.
    """

    x: Tensor
    y: Tensor
    source: str
    d_parallel: int | None = None
    label: Callable[[Tensor], Tensor] | None = None
    classes: Tensor | None = None

    def to(self, *, dtype: torch.dtype | None = None, device: str | torch.device | None = None) -> "Task":
        """The same task in another precision or on another device."""
        return replace(self, x=self.x.to(dtype=dtype, device=device), y=self.y.to(dtype=dtype, device=device))


def stripe(p: int, d: int, *, interfaces: Sequence[float] = STRIPE, seed: int | Sequence[int] = 0) -> Task:
    """Gaussian points labelled by parallel planes across the first axis.

    ``y = +1`` left of the first interface and changes sign at each: with the default two,
    ``y = -1`` exactly for ``-0.3 < x_1 < 1.18549``.

    Args:
        p: number of points.
        d: dimension of the input.
        interfaces: increasing positions ``x_1`` of the planes.
        seed: one seed, giving ``x (p, d)``, or several, giving ``x (len(seed), p, d)``.

    Raises:
        InputError: for ``p < 1``, ``d < 1``, or interfaces that do not increase.

    Source: paper A, Sec. 2.1.
    """
    check.integer(1, p=p, d=d)
    check.increasing(interfaces=list(interfaces))
    planes = torch.tensor(list(interfaces), dtype=torch.float64)

    def label(x: Tensor) -> Tensor:
        return 1.0 - 2.0 * (torch.bucketize(x[..., 0].contiguous(), planes) % 2)

    x = gaussian_points(p, d, seed=seed)
    walls = ", ".join(f"{b:g}" for b in interfaces)
    return Task(x, label(x), f"stripe, d={d}, p={p}, interfaces at x₁ = {walls}", d_parallel=1, label=label)


def gaussian_points(p: int, d: int, *, seed: int | Sequence[int]) -> Tensor:
    """Standard normal points ``(p, d)``, or ``(len(seed), p, d)`` for a list of seeds; the same on every device."""
    if isinstance(seed, Sequence):
        return torch.stack([gaussian_points(p, d, seed=s) for s in seed])
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((p, d)))


def needs_both_labels(y: Tensor) -> None:
    """Raises ``InputError`` unless every realisation has labels -1 and +1 and nothing else."""
    if not bool(((y == 1) | (y == -1)).all()):
        raise InputError("labels must be -1 or +1 for a classification loss")
    if not bool(((y == 1).any(-1) & (y == -1).any(-1)).all()):
        raise InputError("labels must hold both classes, got a single one")
