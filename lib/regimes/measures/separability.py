r"""How many parameters a task needs when learning is lazy, by counting: nothing is trained and nothing is fitted.

A lazy network is linear in its :math:`N` parameters. It fits labels :math:`y_\mu=\pm1` of :math:`P` points if and only
if some direction :math:`w` gives all of them a positive margin, :math:`y_\mu\,w\cdot\nabla f(x_\mu)>0`. Neither the
scale of a parameter nor that of a point's gradient matters. Three counts follow, and a control:

- **Rank.** Each continuous symmetry of the parameters takes one direction from the tangent features: a unit of
  :math:`\max(0,z)` one, a layer norm one and more, the product of queries and keys of an attention head :math:`d_k^2`.
  What counts is the rank :math:`R\le N` (:func:`tangent_rank`).
- **Random labels** are separable with probability one half at :math:`P=2R`, whatever the features, as long as any
  :math:`R` of them are linearly independent (:func:`separable_share`; Cover 1965).
- **Your own labels.** If the columns of the features are independent Gaussians of covariance :math:`K` (over points),
  a plane of random directions meets the cone of what the labels allow from a dimension on that conic geometry knows
  exactly (:func:`cone_dimension`; Amelunxen, Lotz, McCoy and Tropp 2014). Gherardi (2021) has such a count for labels
  with structure in a solvable model. Columns of a network are no Gaussians, nor independent: this one is a prediction.
- **A linear program** decides each single network (:func:`largest_margin`).

:func:`parameters_to_fit` puts them together for any model.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog
from scipy.stats import binom
from torch import Tensor

from regimes import validate
from regimes.models import Model, checked
from regimes.models.outputs import opened
from regimes.validate import InputError

Points = Tensor | tuple | list | Mapping  # one tensor, or several of one row a point
RANK = 1e-10  # singular values below, over the largest, are zero: those of symmetries are near 1e-16
COLUMNS = 10  # columns of tangent features a point, from which their covariance is taken
SEPARABLE = 1e-7  # margin of features of norm 1, above the tolerance of the linear program
STEPS = (
    100  # of the simplex method for each point and parameter, where some three are usual: on some programs it cycles
)
PAIRS = 32  # of opposite Gaussian vectors
PROGRAMS = 8  # networks, at most, for which the rank is computed and the linear program is solved
SLACK = 1e-12  # of a residual over the largest force, below which a constraint is met
FULL_EXCHANGES = 10  # without progress, after which one constraint is exchanged at a time


def separable_share(points: int | np.ndarray, parameters: float | np.ndarray) -> np.ndarray:
    r"""The chance that random labels of points in general position are linearly separable.

    .. math:: 2^{1-P}\sum_{k<N}\binom{P-1}{k},

    one half at :math:`P=2N`, in a window of width :math:`\sqrt P`. Between whole numbers of parameters it is linear.

    Source: Cover, Geometrical and statistical properties of systems of linear inequalities (1965), Theorem 1.

    Args:
        points: ``P``.
        parameters: ``N``, as many as a point has features; if these are linearly dependent, their rank.
    """
    count = np.asarray(parameters, dtype=float)
    below = np.floor(count)
    trials = np.asarray(points) - 1
    low = binom.cdf(below - 1, trials, 0.5)
    high = binom.cdf(below, trials, 0.5)
    return low + (count - below) * (high - low)


def largest_margin(features: np.ndarray, labels: np.ndarray) -> float:
    r"""The largest :math:`\min_\mu y_\mu\,w\cdot\varphi_\mu` over directions with :math:`\lvert w_k\rvert\le1`.

    It is positive if and only if the points can be separated. Features are divided by their norms before, which changes
    nothing of that. A linear program (HiGHS), by the simplex method; where that cycles, by an interior-point method.

    Args:
        features: ``(P, N)``.
        labels: -1 or 1, ``(P,)``.

    Raises:
        InputError: for other labels, or if the program finds no optimum.
    """
    features = np.asarray(features, dtype=float)
    labels = _signs(labels)
    validate.arrays(features=("P N", features), labels=("P", labels))
    signed = labels[:, None] * features / np.linalg.norm(features, axis=1, keepdims=True)
    count = signed.shape[1]
    cost = np.r_[np.zeros(count), -1.0]  # of the directions, and of the margin, which is to be large
    bounds = [(-1.0, 1.0)] * count + [(0.0, None)]
    excess = np.c_[-signed, np.ones(len(signed))]  # of the margin over that of each point
    limit = {"maxiter": STEPS * sum(excess.shape)}
    for method in ("highs", "highs-ipm"):
        solution = linprog(cost, excess, np.zeros(len(signed)), bounds=bounds, method=method, options=limit)
        if solution.success:
            return float(solution.x[-1])
    raise InputError(f"the linear program found no margin: {solution.message}")


def _signs(labels: np.ndarray) -> np.ndarray:
    """Labels as numbers, checked to be -1 or 1."""
    labels = np.asarray(labels, dtype=float)
    if (np.abs(labels) != 1).any():
        raise InputError("labels must be -1 or 1")
    return labels


def _unit_columns(features: np.ndarray) -> np.ndarray:
    """Columns over their norms, without those that are zero: a parameter's scale is free."""
    norms = np.linalg.norm(features, axis=0)
    return features[:, norms > 0] / norms[norms > 0]


def tangent_rank(features: np.ndarray) -> int:
    """How many of the features are linearly independent: ``N`` less one for each continuous symmetry, given the points.

    Columns, then rows, are divided by their norms. Singular values below ``1e-10`` of the largest are zero. Those of a
    symmetry are near ``1e-16``, so that neither the order of a sum nor that of points or parameters changes the count;
    a symmetry that is broken a little, as by the ``eps`` of a norm, does count as broken.

    Args:
        features: ``(P, N)`` in double precision, of points more than ``N``, or the rank is that of the points.
    """
    features = np.asarray(features, dtype=float)
    validate.arrays(features=("P N", features))
    columns = _unit_columns(features)
    norms = np.linalg.norm(columns, axis=1, keepdims=True)
    columns = columns / np.where(norms > 0, norms, 1)
    if not columns.size:
        return 0
    values = np.linalg.svd(columns, compute_uv=False)
    return int((values > RANK * values[0]).sum())


@dataclass(frozen=True)
class ConeDimension:
    """A statistical dimension.

    Attributes:
        value: the mean over pairs of Gaussian vectors.
        error: its standard error.
    """

    value: float
    error: float


def cone_dimension(kernel: np.ndarray, labels: np.ndarray, *, pairs: int = PAIRS, seed: int = 0) -> ConeDimension:
    r"""How many independent Gaussian columns of covariance ``K`` separate the labels with probability one half.

    .. math:: N^*=\mathbb E\,\lVert\Pi(g)\rVert^2,

    with :math:`\Pi` the projection on the cone spanned by :math:`-y_\mu K^{1/2}e_\mu`, and :math:`g` standard normal:
    the statistical dimension of the polar of the cone of separating directions. It is :math:`P/2` on average over
    random labels, because the cones of all labels tile space. :math:`\Pi(g)=K^{1/2}\mathrm{diag}(y)\,a` is a
    non-negative least-squares problem for each ``g``, and the mean of the number of its positive ``a`` is also
    :math:`N^*`, by the Steiner formula of cones, with a smaller variance; opposite ``g`` make it smaller again.

    Args:
        kernel: ``K (P, P)``, positive definite; the scales of its rows are free.
        labels: -1 or 1, ``(P,)``.
        pairs: of opposite Gaussian vectors, at least 2.
        seed: of these.

    Raises:
        InputError: for other labels, and for a kernel that is not symmetric and positive definite.

    Source: Amelunxen, Lotz, McCoy and Tropp, Living on the edge (2014), Theorem I and Definition 2.2.
    """
    kernel = np.asarray(kernel, dtype=float)
    labels = _signs(labels)
    validate.arrays(kernel=("P P", kernel), labels=("P", labels))
    validate.integer(2, pairs=pairs)
    validate.integer(0, seed=seed)
    scale = np.sqrt(np.clip(np.diag(kernel), 0, None))
    if not (scale > 0).all() or not np.allclose(kernel, kernel.T, rtol=1e-6, atol=1e-9 * scale.max() ** 2):
        raise InputError("kernel must be symmetric, with a positive diagonal")
    signed = (kernel + kernel.T) / 2 * np.outer(labels / scale, labels / scale)
    try:
        root = np.linalg.cholesky(signed)
    except np.linalg.LinAlgError:
        root = np.zeros(0)
    if not root.size or np.diag(root).min() ** 2 < len(labels) * np.finfo(float).eps:
        raise InputError("kernel must be positive definite: are two points the same, or are there too few networks?")
    random = np.random.default_rng(seed)
    counts = []
    for _ in range(pairs):
        force = root @ random.standard_normal(len(labels))
        counts.append((_count_active(signed, force) + _count_active(signed, -force)) / 2)
    return ConeDimension(float(np.mean(counts)), float(np.std(counts, ddof=1) / math.sqrt(pairs)))


def _count_active(matrix: np.ndarray, force: np.ndarray) -> int:
    r"""How many ``a`` are positive at the minimum of :math:`\tfrac12a^\top Qa-c\cdot a` over ``a >= 0``.

    All constraints that are not met are exchanged at once, and one at a time where that does not help.

    Source: Portugal, Judice and Vicente, A comparison of block pivoting and interior-point algorithms for linear
    least squares problems with nonnegative variables (1994).
    """
    size = len(force)
    slack = SLACK * np.abs(force).max()
    active = np.zeros(size, dtype=bool)
    a, residual = np.zeros(size), -force
    fewest, left = size + 1, FULL_EXCHANGES
    while True:
        wrong = (active & (a < 0)) | (~active & (residual < -slack))
        count = int(wrong.sum())
        if not count:
            return int(active.sum())
        if count < fewest:
            fewest, left = count, FULL_EXCHANGES
        elif left:
            left -= 1
        else:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        active ^= wrong
        (places,) = np.nonzero(active)
        a = np.zeros(size)
        if len(places):
            factor = cho_factor(matrix[np.ix_(places, places)], lower=True, check_finite=False)
            a[places] = cho_solve(factor, force[places], check_finite=False)
        residual = matrix[:, places] @ a[places] - force


@dataclass(frozen=True)
class ParametersToFit:
    """How many parameters a lazy network of one architecture needs, and what some networks of it can do.

    Attributes:
        points: ``P``.
        parameters: ``N`` of the networks at hand.
        rank: ``R``, how many of their tangent features are independent, mean over networks.
        random_labels: parameters at which half of the networks fit random labels of as many points, ``(P/2) N/R``.
        own_labels: the same for the labels given, ``N* N/R``; NaN without labels.
        own_error: its standard error, of the Gaussian vectors alone.
        separable: share of the networks at hand that can separate the labels given, by linear programs; NaN if no
            program was asked for.
    """

    points: int
    parameters: int
    rank: float
    random_labels: float
    own_labels: float
    own_error: float
    separable: float

    @property
    def random_points(self) -> float:
        """Points of random labels for each parameter, ``2R/N``."""
        return self.points / self.random_labels

    @property
    def own_points(self) -> float:
        """Points of the labels given for each parameter."""
        return self.points / self.own_labels


def tangent_covariance(model: Model, x: Points, counts: Sequence[int] | None = None) -> np.ndarray:
    r"""The mean :math:`K` of :math:`\varphi\varphi^\top/\lvert\varphi\rvert^2` over columns of tangent features.

    A column :math:`\varphi` is the derivative with respect to one parameter at all points. A linear network does not
    see its scale, so that each counts alike; those that are zero do not count.

    Args:
        model: networks of one output, at the start of their training.
        x: points ``(P, ...)``, as the model takes them.
        counts: of columns, one for each of the model's tensors, by which these are weighted; ``None`` for its own.

    Returns:
        ``K (P, P)``.
    """
    model, points = _shared(model, x)
    sizes = _sizes(model)
    counts = sizes if counts is None else tuple(counts)
    if len(counts) != len(sizes):
        raise InputError(f"counts must hold a number for each of {', '.join(model.names)}, got {len(counts)}")
    kernels = [np.zeros((points.shape[1], points.shape[1])) for _ in sizes]
    used = np.zeros(len(sizes))
    for network in _each(model):
        for i, part in enumerate(np.split(_features(network, points), np.cumsum(sizes)[:-1], axis=1)):
            columns = _unit_columns(part)
            kernels[i] += columns @ columns.T
            used[i] += columns.shape[1]
    shares = [count / many if many else 0.0 for count, many in zip(counts, used)]
    return np.add.reduce([share * kernel for share, kernel in zip(shares, kernels)]) / sum(counts)


def parameters_to_fit(
    model: Model,
    x: Points,
    y: Tensor | None = None,
    *,
    wide: Model | None = None,
    kernel: np.ndarray | Tensor | None = None,
    generic: Points | None = None,
    pairs: int = PAIRS,
    programs: int = PROGRAMS,
    seed: int = 0,
) -> ParametersToFit:
    r"""How many parameters a lazy network needs for ``P`` points: with random labels, and with your own.

    .. math:: \text{random labels: }\ \frac P2\,\frac NR,\qquad\text{own labels: }\ N^*\,\frac NR,

    with the rank :math:`R` of the tangent features (:func:`tangent_rank`) and the dimension :math:`N^*` of a cone
    (:func:`cone_dimension`) of their covariance over points (:func:`tangent_covariance`). That hardly depends on the
    width, so that the networks at hand give it if there are enough. The control is a linear program for each of the
    first networks: where ``N`` is above ``own_labels``, most of them should separate the labels.

    The count is for learning with the tangent features of the start. A network that learns features may need fewer.

    Args:
        model: networks of one output in double precision, at their start, such as
            ``regimes.module(build, seeds=range(100), shape=...)``.
        x: points ``(P, ...)``, as the model takes them.
        y: labels -1 or 1, ``(P,)``; ``None`` for the count of random labels alone.
        wide: networks from which to take the covariance, as wider ones of the same kind: of the same tensors, each of
            which counts by its size in ``model``. They, or ``model`` in their place, must have 10 parameters a point.
        kernel: the covariance itself, ``(P, P)``, in place of networks.
        generic: points at which the rank is taken, more than ``N``; ``None`` for ``x`` if there are ``2N``, else for
            ``2N`` points each of whose numbers is that of some point of ``x``, drawn by itself.
        pairs: of opposite Gaussian vectors for ``N*``.
        programs: of the networks, how many are looked at one by one.
        seed: of the Gaussian vectors, and of the points for the rank.

    Raises:
        InputError: for several outputs, single precision, labels other than -1 and 1, points that do not fit the model
            or differ between networks, too few networks, and both ``wide`` and ``kernel``.

    Source: Cover (1965); Amelunxen, Lotz, McCoy and Tropp (2014); derived here for tangent features.
    """
    model, taken = _shared(model, x)
    validate.integer(1, programs=programs)
    validate.integer(0, seed=seed)
    points, size = taken.shape[1], sum(_sizes(model))
    labels = None if y is None else _signs(validate.tensor("y", y).detach().cpu().numpy())
    if labels is not None and labels.shape != (points,):
        raise InputError(f"y must hold one label a point, {points}, got the shape {tuple(labels.shape)}")
    at = _mixed(taken, 2 * size, seed) if generic is None else _shared(model, generic, "generic")[1]
    if at.shape[1] <= size:
        raise InputError(f"generic must hold more points than the {size} parameters, got {at.shape[1]}")
    validate.memory(24 * size * max(at.shape[1], points), f"the tangent features of {size} parameters")
    if labels is None:
        kernel = None
    elif wide is not None and kernel is not None:
        raise InputError("give wide networks or the kernel, not both")
    elif kernel is None:
        kernel = _covariance(model, x, points, wide)
    else:
        kernel = validate.tensor("kernel", kernel).detach().cpu().numpy()
    networks = list(_each(model[:programs]))
    rank = float(np.mean([tangent_rank(_features(network, at)) for network in networks]))
    if not rank:
        raise InputError("no parameter of the model changes its output")
    cone, separable = ConeDimension(math.nan, math.nan), math.nan
    if labels is not None:
        cone = cone_dimension(np.asarray(kernel), labels, pairs=pairs, seed=seed)
        margins = [largest_margin(_features(network, taken), labels) for network in networks]
        separable = float(np.mean([margin > SEPARABLE for margin in margins]))
    each = size / rank
    return ParametersToFit(points, size, rank, points / 2 * each, cone.value * each, cone.error * each, separable)


def _shared(model: Model, x: Points, name: str = "x") -> tuple[Any, Tensor]:
    """A model of one output in double precision, and points that its networks share, ``(1, P, ...)``."""
    validate.model(model)
    if model.parameters()[0].dtype != torch.float64:
        raise InputError("a rank needs double precision: model.to(dtype=torch.float64), and points likewise")
    model, (taken,), count = opened(model, x)
    if count > 1:
        raise InputError(f"the module must give one number a point, it gives {count}: take model.output(c)")
    points = checked(model, taken, name)
    if len(points) > 1:
        raise InputError(f"{name} must be shared by all networks, got points of {len(points)} realisations")
    return model, points


def _sizes(model: Model) -> tuple[int, ...]:
    """Numbers of parameters of each tensor."""
    return tuple(tensor[0].numel() for tensor in model.parameters())


def _each(model: Model) -> Iterator[Model]:
    """The networks, one by one."""
    return (model[e : e + 1] for e in range(len(model.parameters()[0])))


def _features(network: Model, x: Tensor) -> np.ndarray:
    """Tangent features ``(P, N)`` of one network at points ``(1, P, ...)``."""
    return network.tangents(x).jacobian()[0].detach().cpu().numpy()


def _mixed(x: Tensor, count: int, seed: int) -> Tensor:
    """``x`` if there are as many points, else points each of whose numbers is that of some point, drawn by itself."""
    if x.shape[1] >= count:
        return x
    flat = x[0].flatten(1)
    drawn = np.random.default_rng(seed).integers(len(flat), size=(count, flat.shape[1]))
    return flat.gather(0, torch.from_numpy(drawn).to(flat.device)).unflatten(1, x.shape[2:])[None]


def _covariance(model: Model, x: Points, points: int, wide: Model | None) -> np.ndarray:
    """The covariance of columns, of enough networks."""
    source = model if wide is None else wide
    validate.model(source, "wide")
    each = sum(_sizes(source))
    least = math.ceil(COLUMNS * points / each)
    if len(source.parameters()[0]) < least:
        hint = f"{COLUMNS} parameters a point give the covariance: take {least} networks, by seeds=range({least})"
        raise InputError(f"{hint}, or wider ones (wide=...), got {len(source.parameters()[0])} of {each} parameters")
    if wide is not None and tuple(wide.names) != tuple(model.names):
        raise InputError(f"wide must have the tensors {', '.join(model.names)}, got {', '.join(wide.names)}")
    return tangent_covariance(source, x, _sizes(model))
