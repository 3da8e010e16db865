"""Kernel principal components of a network against labels, for the book's networks and your own.

>>> found = regimes.kernel_pca(net, images, labels)  # doctest: +SKIP
>>> found.information, found.projections             # of each of the first ten components # doctest: +SKIP

Source: paper A, Sec. 5.2, Fig. 10 and 11.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import needs_both_labels
from regimes.kernels import ntk
from regimes.kernels.tangent import Points
from regimes.measures import spectrum
from regimes.measures.information import Estimate, informations, mutual_information, needs_repeated
from regimes.models import Model, checked
from regimes.models.module import module
from regimes.models.outputs import opened
from regimes.validate import InputError

COUNT = 10  # Source: paper A, Fig. 10
ANGLES = 180  # directions of a line in the plane that are tried
EQUAL = 1e-9  # of the largest: points nearer to each other along a direction are not parted by rounding


@dataclass(frozen=True)
class Diagnosis:
    """The first ``r`` components of ``E`` kernels on ``n`` points, and what they share with the labels.

    A kernel of fewer features than ``r`` has fewer components: beyond its numerical rank (:func:`spectrum.round_off`)
    ``values`` are 0, and ``vectors``, ``information`` and ``projections`` NaN.

    Attributes:
        values: ``λ (E, r)``, of ``K/n``.
        vectors: ``φ (E, n, r)``, mean square 1.
        information: ``Î(φ_r; y) (E, r)``, in bits, at most the entropy of the labels.
        projections: ``ω_r² (E, r)``; over all components they sum to 1.
        dimension: the effective dimension ``(Σ λ)²/Σ λ² (E,)``.
        alignment: of kernel and labels ``(E,)``, from 0 to 1.
        norm: ``Σ ω²/λ`` over those of the ``r`` components that exist times the mean of ``Θ(x, x)``, ``(E,)``.
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
    x: Points,
    y: Tensor,
    *,
    params: Collection[str] | None = None,
    count: int = COUNT,
    centred: bool = False,
) -> Diagnosis:
    """The components of a network's tangent kernel at its current weights, against labels.

    Take held-out points: on its training points any network that fits them seems informative.

    Args:
        model: any torch module, each output from its own row; or ``E`` realisations. The kernel of several outputs is
            the sum of theirs; ``model.output(c)`` of a ``regimes.module`` has that of one.
        x: points ``(n, ...)``, at least four; for a model of several realisations also ``(E, n, ...)``; tuples, lists
            and dictionaries of tensors as of :func:`regimes.ntk`.
        y: labels ``(n,)`` or ``(E, n)`` in {-1, +1} of any frequency, each at least twice: one class against the rest.
        params: parameters to differentiate with respect to, ``None`` for all; the last layer's alone give the kernel
            of its features.
        count: number of components, at most ``n``.
        centred: whether the features' mean is subtracted; not by default, as in paper A.

    Raises:
        InputError: before computing, for labels or points that do not fit these shapes.

    Source: paper A, Sec. 5.2; information by :func:`regimes.measures.information.mutual_information`.
    """
    y = _labels(y)
    if isinstance(model, torch.nn.Module):
        shape = x.shape[1:] if isinstance(x, torch.Tensor | np.ndarray) and x.ndim > 2 else None
        model = module(model, shape=shape, params=params)
        params = None  # all that the model trains
    validate.model(model)
    taking, (points,), several = opened(model, x)
    points = checked(taking.output(0) if several > 1 else taking, points)
    if y.shape[-1] != points.shape[1]:
        raise InputError(f"y must hold one label a point, {points.shape[1]}, got {tuple(y.shape)}")
    validate.whole(1, y.shape[-1], count=count)
    kernel = ntk(taking, points, params=params)
    return diagnose(kernel, y, count=count, centred=centred)


def diagnose(
    gram: Tensor, y: Tensor, *, count: int = COUNT, centred: bool = False, estimate: Estimate = mutual_information
) -> Diagnosis:
    """As :func:`kernel_pca`, for Gram matrices ``(E, n, n)`` of any kernel and labels ``(n,)`` or ``(E, n)``.

    Args:
        gram: positive semi-definite.
        y: labels in {-1, +1}.
        count: number of components.
        centred: whether the features' mean is subtracted.
        estimate: of the information of a component ``(n,)`` and the labels ``(n,)``; the book's figures have paper A's.
    """
    (gram,) = validate.tensors(gram=("E n n", gram))
    y = _labels(y)
    if y.shape not in (gram.shape[:2], gram.shape[1:2]):
        raise InputError(f"y must hold one label a point, {tuple(gram.shape[:2])}, got {tuple(y.shape)}")
    floor = spectrum.round_off(gram)
    gram = gram.detach().double()
    y = y.to(gram.device).double().expand(gram.shape[:2])
    gram = spectrum.centre(gram) if centred else gram
    components = spectrum.components(gram, count, least=floor)
    n = gram.shape[-1]
    if bool((components.values < 0).any()):
        raise InputError(f"gram must be positive semi-definite, got an eigenvalue {n * components.values.min():.3g}")
    squares = spectrum.projections(components.vectors, y)
    missing = components.values == 0
    vectors = components.vectors.masked_fill(missing.unsqueeze(-2), math.nan)
    size = gram.diagonal(dim1=-1, dim2=-2).mean(-1)
    planes = zip(vectors[..., :2], y, strict=True)
    return Diagnosis(
        values=components.values,
        vectors=vectors,
        information=informations(vectors, y, estimate),
        projections=squares.masked_fill(missing, math.nan),
        dimension=spectrum.effective_dimension(gram),
        alignment=spectrum.alignment(gram, y),
        norm=spectrum.rkhs_norm(components.values, squares) * size,
        separable=torch.tensor([_separable(plane, label) for plane, label in planes]),
    )


def _labels(y: Tensor) -> Tensor:
    """Labels in {-1, +1}, each of at least two points in every realisation, of four points at least."""
    y = validate.tensor("y", y).detach()
    if y.ndim not in (1, 2) or y.shape[-1] < 4:
        raise InputError(
            f"y must hold one label for each of at least four points, (n,) or (E, n), got {tuple(y.shape)}"
        )
    needs_both_labels(y)
    for labels in y.reshape(-1, y.shape[-1]):
        needs_repeated(labels.cpu().numpy())
    return y


def _separable(plane: Tensor, y: Tensor) -> float:
    """:func:`separable`; NaN without two components."""
    if plane.shape[-1] < 2 or bool(plane.isnan().any()):
        return math.nan
    return separable(plane, y)


def separable(points: Tensor, y: Tensor) -> float:
    """The share of points ``(n, 2)`` on the right side of the best line, fitted on one half and tested on the other.

    Every second point of each label is in one half. Tested on its own half, a line would seem to separate noise; with
    other proportions of labels, it would do worse than chance.

    Source: paper A, Fig. 11 (in words: linearly separable, noise).
    """
    (points,) = validate.tensors(points=("n 2", points))
    (y,) = validate.tensors(y=(f"{len(points)}", y))
    validate.integer(4, **{"number of points": len(points)})
    needs_both_labels(y)
    order = y.argsort(stable=True)
    halves = [(points[rows], y[rows].to(points)) for rows in (order[::2], order[1::2])]
    right = []
    for (fit_points, fit_y), (test_points, test_y) in (halves, halves[::-1]):
        normal, threshold = _best_line(fit_points, fit_y)
        right.append(_on_side(test_points, test_y, normal, threshold))
    return float(torch.cat(right).double().mean())


def _best_line(points: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Normal ``(2,)`` and threshold of the line with the fewest errors, on a grid of angles."""
    turn = torch.arange(2 * ANGLES, dtype=points.dtype) * (math.pi / ANGLES)
    normals = torch.stack([turn.cos(), turn.sin()]).to(points)
    along, order = (points @ normals).sort(0)
    # labels beyond a threshold minus those before it, for thresholds before each point and after the last
    before = torch.cat([torch.zeros_like(along[:1]), y[order].cumsum(0)])
    gaps = along.diff(dim=0) > EQUAL * along.abs().amax()
    open_ends = torch.ones_like(gaps[:1])
    parted = torch.cat([open_ends, gaps, open_ends])
    best = int((before[-1] - 2 * before).masked_fill(~parted, -math.inf).argmax())
    row, column = divmod(best, along.shape[1])
    edges = along[[max(row - 1, 0), min(row, len(along) - 1)], column]
    return normals[:, column], edges.mean()


def _on_side(points: Tensor, y: Tensor, normal: Tensor, threshold: Tensor) -> Tensor:
    return (points @ normal - threshold) * y > 0
