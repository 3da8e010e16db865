"""What is learned: points, labels, and what the theory needs to know about them.

All inputs are float64; every generator draws from its own seed, apart from those of initialisation and batch order.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from regimes import check
from regimes.check import InputError

STRIPE = (-0.3, 1.18549)  # equiprobable labels; Source: paper A, Sec. 2.1
RADIUS = math.sqrt(2 * math.log(2))  # median of |x_∥| in the plane, 1.17741; Source: paper A, Sec. 4


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


def cylinder(p: int, d: int, *, d_parallel: int = 2, radius: float = RADIUS, seed: int | Sequence[int] = 0) -> Task:
    """Gaussian points labelled by a cylinder about the last ``d - d_parallel`` axes: ``y = +1`` for ``|x_∥| > radius``.

    ``x_∥`` are the first ``d_parallel`` coordinates. With the default two and the default radius the labels are
    equiprobable.

    Args:
        p: number of points.
        d: dimension of the input.
        d_parallel: number of informative directions, at least 1 and below ``d``.
        radius: radius of the cylinder.
        seed: one seed, giving ``x (p, d)``, or several, giving ``x (len(seed), p, d)``.

    Raises:
        InputError: for ``p < 1``, ``d_parallel`` below 1 or not below ``d``, or a radius that is not positive.

    Source: paper A, Sec. 4.
    """
    check.integer(1, p=p, d_parallel=d_parallel)
    check.integer(2, d=d)
    if d_parallel >= d:
        raise InputError(f"d_parallel must be below d = {d}, to leave an uninformative direction, got {d_parallel}")
    check.positive(radius=radius)

    def label(x: Tensor) -> Tensor:
        return torch.where(x[..., :d_parallel].norm(dim=-1) > radius, 1.0, -1.0).to(x.dtype)

    x = gaussian_points(p, d, seed=seed)
    source = f"cylinder, d={d}, p={p}, radius {radius:.4g} in the first {d_parallel} directions"
    return Task(x, label(x), source, d_parallel=d_parallel, label=label)


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
        single = int(((y == 1).all(-1) | (y == -1).all(-1)).sum())
        raise InputError(
            f"labels must hold both classes, got a single one in {single} of {y[..., 0].numel()} draws of "
            f"{y.shape[-1]} points: take more points, or other interfaces"
        )
