"""Kernel principal components of a network against labels, for the book's networks and your own.

>>> found = regimes.kernel_pca(net, images, labels)  # doctest: +SKIP
>>> found.information, found.projections             # of each of the first ten components # doctest: +SKIP

Source: paper A, Sec. 5.2, Fig. 10 and 11.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import needs_both_labels
from regimes.kernels import ntk
from regimes.measures import spectrum
from regimes.measures.information import informations
from regimes.models import Model
from regimes.models.module import module
from regimes.validate import InputError

COUNT = 10  # Source: paper A, Fig. 10
ANGLES = 180  # directions of a line in the plane that are tried


@dataclass(frozen=True)
class Diagnosis:
    """The first ``r`` components of ``E`` kernels on ``n`` points, and what they share with the labels.

    Attributes:
        values: ``λ (E, r)``, of ``K/n``.
        vectors: ``φ (E, n, r)``, mean square 1.
        information: ``Î(φ_r; y) (E, r)``, in bits.
        projections: ``ω_r² (E, r)``; over all components they sum to 1.
        dimension: the effective dimension ``(Σ λ)²/Σ λ² (E,)``.
        alignment: of kernel and labels ``(E,)``, from 0 to 1.
        norm: ``Σ ω²/λ`` over the ``r`` components times the mean of ``Θ(x, x)``, ``(E,)``.
        separable: share of points on the right side of the best line in the plane of the first two components,
            fitted on one half and tested on the other, ``(E,)``; NaN for a single component.
    """

    values: Tensor
    vectors: Tensor
    information: Tensor
    projections: Tensor
    dimension: Tensor
    alignment: Tensor
    norm: Tensor
    separable: Tensor


def kernel_pca(
    model: torch.nn.Module | Model,
    x: Tensor,
    y: Tensor,
    *,
    params: Collection[str] | None = None,
    count: int = COUNT,
    centred: bool = False,
) -> Diagnosis:
    """The components of a network's tangent kernel at its current weights, against labels.

    Take held-out points: on its training points any network that fits them seems informative.

    Args:
        model: any torch module with one output per point, each from its own row; or ``E`` realisations.
        x: points ``(n, ...)``; for a model of several realisations also ``(E, n, ...)``.
        y: labels ``(n,)`` or ``(E, n)`` in {-1, +1}.
        params: parameters to differentiate with respect to, ``None`` for all; the last layer's alone give the kernel
            of its features.
        count: number of components.
        centred: whether the features' mean is subtracted; not by default, as in paper A.

    Source: paper A, Sec. 5.2.
    """
    needs_both_labels(y)
    validate.arrays(x=("...", x))
    if isinstance(model, torch.nn.Module):
        kernel = ntk(
            module(model, shape=x.shape[1:] if x.ndim > 2 else None, params=params), x.flatten(1) if x.ndim > 2 else x
        )
    else:
        kernel = ntk(model, x.flatten(-3) if x.ndim > 3 else x, params=params)
    return diagnose(kernel, y, count=count, centred=centred)


def diagnose(gram: Tensor, y: Tensor, *, count: int = COUNT, centred: bool = False) -> Diagnosis:
    """As :func:`kernel_pca`, for Gram matrices ``(E, n, n)`` of any kernel and labels ``(n,)`` or ``(E, n)``."""
    validate.arrays(gram=("E n n", gram))
    needs_both_labels(y)
    if y.shape not in (gram.shape[:2], gram.shape[1:2]):
        raise InputError(f"y must hold one label a point, {tuple(gram.shape[:2])}, got {tuple(y.shape)}")
    gram, y = gram.double(), y.double().expand(gram.shape[:2])
    gram = spectrum.centre(gram) if centred else gram
    found = spectrum.components(gram, count)
    values = found.values.clamp(min=1e-300)
    squares = spectrum.projections(found.vectors, y)
    size = gram.diagonal(dim1=-1, dim2=-2).mean(-1)
    planes = zip(found.vectors[..., :2], y, strict=True)
    return Diagnosis(
        values=found.values,
        vectors=found.vectors,
        information=informations(found.vectors, y),
        projections=squares,
        dimension=spectrum.effective_dimension(gram),
        alignment=spectrum.alignment(gram, y),
        norm=spectrum.rkhs_norm(values, squares) * size,
        separable=torch.tensor([separable(plane, label) if count > 1 else math.nan for plane, label in planes]),
    )


def separable(points: Tensor, y: Tensor) -> float:
    """The share of points ``(n, 2)`` on the right side of the best line, fitted on one half and tested on the other.

    Every second point of each label is in one half. Tested on its own half, a line would seem to separate noise; with
    other proportions of labels, it would do worse than chance.

    Source: paper A, Fig. 11 (in words: linearly separable, noise).
    """
    validate.arrays(points=("n 2", points))
    validate.arrays(y=(f"{len(points)}", y))
    validate.integer(4, **{"number of points": len(points)})
    needs_both_labels(y)
    order = y.argsort(stable=True)
    halves = [(points[rows], y[rows].to(points)) for rows in (order[::2], order[1::2])]
    right = [_on_side(*other, *_best_line(*one)) for one, other in (halves, halves[::-1])]
    return float(torch.cat(right).double().mean())


def _best_line(points: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Normal ``(2,)`` and threshold of the line with the fewest errors, on a grid of angles."""
    turn = torch.arange(2 * ANGLES, dtype=points.dtype) * (math.pi / ANGLES)
    normals = torch.stack([turn.cos(), turn.sin()]).to(points)
    along, order = (points @ normals).sort(0)
    # labels beyond a threshold minus those before it, for thresholds before each point and after the last
    before = torch.cat([torch.zeros_like(along[:1]), y[order].cumsum(0)])
    best = int((before[-1] - 2 * before).argmax())
    row, column = divmod(best, along.shape[1])
    edges = along[[max(row - 1, 0), min(row, len(along) - 1)], column]
    return normals[:, column], edges.mean()


def _on_side(points: Tensor, y: Tensor, normal: Tensor, threshold: Tensor) -> Tensor:
    return (points @ normal - threshold) * y > 0
