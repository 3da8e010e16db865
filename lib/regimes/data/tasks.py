"""Tasks: points, labels, and the facts about them that theory needs.

All inputs are float64. Each generator has its own seed, separate from those of initialisation and batch order.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regimes import validate
from regimes.validate import InputError

STRIPE = (-0.3, 1.18549)  # equiprobable labels; Source: paper A, Sec. 2.1
RADIUS = math.sqrt(2 * math.log(2))  # median of |x_∥| in the plane, 1.17741; Source: paper A, Sec. 4


@dataclass(frozen=True)
class Task:
    """Points, labels and their origin; points and labels given as NumPy arrays become tensors.

    Attributes:
        x: inputs ``(..., p, d)``; a leading axis holds independent realisations.
        y: labels ``(..., p)`` in {-1, +1}, or real targets.
        source: the data set, its sizes and preprocessing, as a caption prints them.
        d_parallel: number of informative directions, which come first; ``None`` if there is no such notion.
        label: the label function, ``(..., d) -> (...)``; ``None`` for real data.
        classes: the classes behind the labels ``(..., p)``, for stratified splits; ``None`` for synthetic data.
        nearest: the nearest point of the boundary between labels, ``(..., d) -> (..., d)``; ``None`` for real data.

    Raises:
        InputError: for labels that are not one per point, as ``(p, 1)``, which would meet outputs ``(p,)`` as a table,
            and for points of several tensors.
    """

    x: Tensor
    y: Tensor
    source: str
    d_parallel: int | None = None
    label: Callable[[Tensor], Tensor] | None = None
    classes: Tensor | None = None
    nearest: Callable[[Tensor], Tensor] | None = None

    def __post_init__(self) -> None:
        if _is_several(self.x):
            instead = (
                "of such points kernel_flow.fit(ntk(model, x)[0], y).model(ntk(model, z, x)[0]) is what lazy learns"
            )
            raise InputError(f"the task's x must be one tensor, got a {type(self.x).__name__} of tensors: {instead}")
        for name in ("x", "y"):
            object.__setattr__(self, name, validate.tensor(f"the task's {name}", getattr(self, name)))
        at, labels = tuple(self.x.shape), tuple(self.y.shape)
        if not _one_per_point(at, labels):
            raise InputError(f"the task's y must hold one label a point, as x of {at} has points, got {labels}")

    def to(self, *, dtype: torch.dtype | None = None, device: str | torch.device | None = None) -> "Task":
        """The same task in another precision or on another device."""
        return replace(self, x=self.x.to(dtype=dtype, device=device), y=self.y.to(dtype=dtype, device=device))


def _is_several(x: Any) -> bool:
    """Whether points are made of several tensors, as modules may take them."""
    values = x.values() if isinstance(x, Mapping) else x if isinstance(x, tuple | list) else ()
    return any(isinstance(value, Tensor | np.ndarray) for value in values)


def _one_per_point(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    """Whether labels of a shape are one per point, where either may be shared by all realisations.

    Points have one axis of entries or more: which one counts the points follows from the labels. ``(p, 1)`` is a table.
    """
    if not y:
        return False
    p = y[-1]
    realisations = y[:-1]
    points = x[-2:-1]
    if p == 1 and points != (1,) and points == realisations[-1:]:  # a table
        return False
    for axis, count in enumerate(x[:-1]):
        if count == p and _shared(realisations, x[:axis]):
            return True
    return False


def _shared(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether axes of realisations agree, from the last, where an axis of 1 or none serves all of the other's."""
    return all(1 in (m, n) or m == n for m, n in zip(reversed(a), reversed(b)))


def stripe(p: int, d: int, *, interfaces: Sequence[float] = STRIPE, seed: int | Sequence[int] = 0) -> Task:
    """Gaussian points labelled by parallel planes across the first axis.

    ``y = +1`` left of the first interface, with a change of sign at each: by default ``y = -1`` for
    ``-0.3 < x_1 < 1.18549``.

    Args:
        p: number of points.
        d: dimension of the input.
        interfaces: increasing positions ``x_1`` of the planes.
        seed: one seed, giving ``x (p, d)``, or several, giving ``x (len(seed), p, d)``.

    Source: paper A, Sec. 2.1.
    """
    validate.integer(1, p=p, d=d)
    validate.increasing(interfaces=interfaces)
    planes = torch.tensor(list(interfaces), dtype=torch.float64)

    def label(x: Tensor) -> Tensor:
        return 1.0 - 2.0 * (torch.bucketize(x[..., 0].contiguous(), planes.to(x.device)) % 2)

    def nearest(x: Tensor) -> Tensor:
        positions = planes.to(x)
        return torch.cat([positions[(x[..., :1] - positions).abs().argmin(-1, keepdim=True)], x[..., 1:]], -1)

    x = gaussian_points(p, d, seed=seed)
    walls = ", ".join(f"{b:g}" for b in interfaces)
    source = f"stripe, d={d}, p={p}, interfaces at x₁ = {walls}"
    return Task(x, label(x), source, d_parallel=1, label=label, nearest=nearest)


def cylinder(p: int, d: int, *, d_parallel: int = 2, radius: float = RADIUS, seed: int | Sequence[int] = 0) -> Task:
    """Gaussian points labelled by a cylinder about the last ``d - d_parallel`` axes: ``y = +1`` for ``|x_∥| > radius``.

    ``x_∥`` holds the first ``d_parallel`` coordinates. By default the labels are equiprobable.

    Args:
        p: number of points.
        d: dimension of the input.
        d_parallel: number of informative directions, at least 1 and below ``d``.
        radius: radius of the cylinder.
        seed: one seed, giving ``x (p, d)``, or several, giving ``x (len(seed), p, d)``.

    Source: paper A, Sec. 4.
    """
    validate.integer(1, p=p, d_parallel=d_parallel)
    validate.integer(2, d=d)
    if d_parallel >= d:
        raise InputError(f"d_parallel must be below d = {d}, to leave an uninformative direction, got {d_parallel}")
    validate.positive(radius=radius)

    def label(x: Tensor) -> Tensor:
        return torch.where(x[..., :d_parallel].norm(dim=-1) > radius, 1.0, -1.0).to(x.dtype)

    def nearest(x: Tensor) -> Tensor:
        along = x[..., :d_parallel]
        return torch.cat([along * (radius / along.norm(dim=-1, keepdim=True)), x[..., d_parallel:]], -1)

    x = gaussian_points(p, d, seed=seed)
    source = f"cylinder, d={d}, p={p}, radius {radius:.4g} in the first {d_parallel} directions"
    return Task(x, label(x), source, d_parallel=d_parallel, label=label, nearest=nearest)


def chain_monomial(
    p: int, d: int, *, r: int = 5, decay: float | None = None, basis: int = 0, seed: int | Sequence[int] = 0
) -> Task:
    """Gaussian points and the sum of products of neighbours in a ring of ``r`` coordinates, at unit variance.

    ``y = sum_{k<r} x_k x_{(k+1) mod r} / sqrt(tr((A C)^2) / 2)``, with the covariance ``C`` of ``x`` and the Hessian
    ``A`` of the sum. For ``r >= 3`` and ``C = 1``, ``A`` is the adjacency matrix of the ring and the divisor is
    ``sqrt(r)``. This is the population's deviation, so that training and test labels are those of one function; the
    paper divides by the sample's.

    Args:
        p: number of points.
        d: dimension of the input.
        r: number of informative coordinates, which come first, from 2 to ``d``.
        decay: ``alpha`` of the covariance's eigenvalues ``1 / (1 + k^alpha)``, ``k = 1 ... d``, in a random
            eigenbasis; ``None`` for isotropic points.
        basis: seed of the eigenbasis, which training and test points share.
        seed: one seed, giving ``x (p, d)``, or several, giving ``x (len(seed), p, d)``.

    Source: paper D, Eq. 1, Apps. C and H.
    """
    validate.integer(1, p=p)
    validate.integer(2, d=d)
    validate.whole(2, d, r=r)
    x = gaussian_points(p, d, seed=seed)
    source = f"chain monomial, r={r}, d={d}, p={p}"
    covariance = torch.eye(d, dtype=x.dtype)
    if decay is not None:
        validate.at_least(0, decay=decay)
        root = rotation(d, seed=basis) * (1 + torch.arange(1.0, d + 1, dtype=x.dtype) ** decay).rsqrt()
        x = x @ root.mT
        covariance = root @ root.mT
        source = f"{source}, covariance 1/(1 + k^{decay:g})"
    scale = _chain_deviation(r, covariance)

    def label(x: Tensor) -> Tensor:
        ring = x[..., :r]
        return (ring * ring.roll(-1, dims=-1)).sum(-1) / scale

    return Task(x, label(x), source, d_parallel=r, label=label)


def _chain_deviation(r: int, covariance: Tensor) -> float:
    """Standard deviation of ``x^T A x / 2`` for centred Gaussian ``x``: ``sqrt(tr((A C)^2) / 2)``."""
    ring = torch.eye(r, dtype=covariance.dtype).roll(1, dims=0)
    product = (ring + ring.mT) @ covariance[:r, :r]
    return math.sqrt(float((product @ product).trace()) / 2)


def rotation(d: int, *, seed: int) -> Tensor:
    """A uniformly random orthogonal matrix ``(d, d)``."""
    validate.integer(1, d=d)
    validate.integer(0, seed=seed)
    q, r = torch.linalg.qr(gaussian_points(d, d, seed=seed))
    return q * r.diagonal().sign()  # without the signs of the factorisation it would not be uniform


def rotated(task: Task, turn: Tensor) -> Task:
    """The task in rotated coordinates: inputs ``turn x``, the same labels, informative directions off the axes.

    Args:
        task: with ``x (..., p, d)``.
        turn: orthogonal ``(d, d)``, or one per realisation ``(..., d, d)``.

    Source: paper A, App. A.
    """
    d = task.x.shape[-1]
    validate.arrays(turn=("... d d", turn))
    if turn.shape[-2:] != (d, d) or not torch.allclose(turn @ turn.mT, torch.eye(d).to(turn), atol=1e-8):
        raise InputError(f"turn must be an orthogonal matrix of size {d}, got shape {tuple(turn.shape)}")
    old, near = task.label, task.nearest
    label = None if old is None else (lambda x: old(x @ turn))
    nearest = None if near is None else (lambda x: near(x @ turn) @ turn.mT)
    words = f"{task.source}, rotated"
    return replace(task, x=task.x @ turn.mT, label=label, d_parallel=None, source=words, nearest=nearest)


def gaussian_points(p: int, d: int, *, seed: int | Sequence[int]) -> Tensor:
    """Standard normal points ``(p, d)``, or ``(len(seed), p, d)`` for a list of seeds; the same on every device."""
    validate.integer(1, p=p, d=d)
    seeds = seed if isinstance(seed, Sequence) and not isinstance(seed, str) else None
    validate.seeds([seed] if seeds is None else seeds)
    count = 1 if seeds is None else 2 * len(seeds)  # sets, and their stack
    validate.memory(8 * count * p * d, f"{p} points in dimension {d}")
    if seeds is not None:
        return torch.stack([gaussian_points(p, d, seed=s) for s in seeds])
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((p, d)))


def needs_labels(y: Tensor) -> None:
    """Raises ``InputError`` unless ``y (..., p)`` holds -1 and +1 and nothing else, and at least one of them."""
    if not isinstance(y, Tensor) or not y.ndim or not y.numel():
        raise InputError(f"labels must be a tensor (..., p) with at least one point, got {validate.shown(y)}")
    allowed = (y == 1) | (y == -1)
    if not bool(allowed.all()):
        refused = y[~allowed].flatten()[0].item()
        remedy = ": 2 * y - 1 makes them of 0 and 1" if bool(((y == 0) | (y == 1)).all()) else ""
        raise InputError(f"labels must be -1 or +1 for two classes, got {refused}{remedy}")


def needs_both_labels(y: Tensor) -> None:
    """Raises ``InputError`` unless every realisation has labels -1 and +1 and nothing else."""
    needs_labels(y)
    if not bool(((y == 1).any(-1) & (y == -1).any(-1)).all()):
        single = int(((y == 1).all(-1) | (y == -1).all(-1)).sum())
        draws = y[..., 0].numel()
        where = f" in {single} of {draws} draws" if draws > 1 else ""
        raise InputError(f"labels must hold both classes, got a single one{where} of {y.shape[-1]} points")
