r"""Learning curves of tasks with few informative directions: errors, what theory says of their exponents, compression.

A curve is the test error ``ε(p) ~ p^(-β)``. The predictor of a frozen kernel of finite width is evaluated through the
weights it moves: ``f(z) = Σ_μ c_μ Θ(z, x_μ) = ∇f(z)·ΔW`` with ``ΔW = Σ_μ c_μ ∇f(x_μ)``; for one hidden layer at a cost
of ``O(h d)`` a test point, where the kernel between test and training points would cost ``O(h p)``.

Source: paper A, Sec. 3.1, 4 and Fig. 3.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from scipy.special import stdtrit
from torch import Tensor

from regimes import estimates, validate
from regimes.data.tasks import Task
from regimes.estimates import Drift, Estimate
from regimes.kernels import ntk, wide_one_hidden_ntk
from regimes.models import Model, blocks
from regimes.models.one_hidden import Network
from regimes.training import kernel_flow
from regimes.training.state import Ended, Ending
from regimes.validate import InputError

LINES = 2**24  # lines times neurons of one block; some fifteen arrays of it
BLOCK = 2**24  # entries of the infinitely wide kernel of one block of test points
MEMORY = 2**24  # bytes of the tangents of a block of points, with what making them takes: a few times a cache


def lazy_exponent(d: int) -> float:
    """``β = d/(3d - 2)`` of a kernel with a cusp (``ξ = 1``) and smooth interfaces. Source: paper A, Sec. 3.1 and 4.

    Raises:
        InputError: for ``d < 1``.
    """
    validate.integer(1, d=d)
    return d / (3 * d - 2)


def feature_exponent(d: int, d_parallel: int) -> float:
    """``β`` of feature learning: ``(2d - 1)/(3d - 2)`` for ``d_parallel = 1``, else ``(d + d_perp/2)/(3d - 2)``.

    It is the lazy exponent of data compressed by ``Λ ~ √p``. Source: paper A, Sec. 3.1 and 4.

    Raises:
        InputError: unless ``1 <= d_parallel < d``.
    """
    return lazy_exponent(d) + 0.5 * compression_gain(d, d_parallel)


def compression_gain(d: int, d_parallel: int) -> float:
    """The exponent ``g`` of the gain ``ε ~ Λ^(-g)`` by a compression of the uninformative directions.

    ``2(d - 1)/(3d - 2)`` for planar interfaces, ``d_perp/(3d - 2)`` for ``d_parallel > 1``.

    Raises:
        InputError: unless ``1 <= d_parallel < d``.

    Source: paper A, Sec. 3.1 and 4.
    """
    validate.integer(1, d_parallel=d_parallel)
    validate.integer(2, d=d)
    if d_parallel >= d:
        raise InputError(f"d_parallel must be below d = {d}, got {d_parallel}")
    return (2 * (d - 1) if d_parallel == 1 else d - d_parallel) / (3 * d - 2)


def compress(x: Tensor, d_parallel: int, factor: Tensor) -> Tensor:
    """Points with their uninformative coordinates divided by ``factor``.

    Args:
        x: ``(..., p, d)``.
        d_parallel: number of informative directions, which stay.
        factor: ``(...)``, one a realisation, positive.

    Returns:
        ``(..., p, d)``.

    Raises:
        InputError: for a factor that is not positive and finite, points that are no numbers, or ``d_parallel`` outside
            ``1 … d``.

    Source: paper A, Sec. 3.1.
    """
    validate.arrays(x=("... p d", x))
    validate.arrays(factor=("...", factor))
    validate.whole(1, x.shape[-1], d_parallel=d_parallel)
    if factor.shape not in ((), x.shape[:-2]):
        raise InputError(f"factor must be one a realisation, {tuple(x.shape[:-2])}, got {tuple(factor.shape)}")
    if not bool((torch.isfinite(factor) & (factor > 0)).all()):
        raise InputError("the compression factor must be positive and finite")
    scale = factor[..., None, None].expand(*factor.shape, 1, x.shape[-1]).clone()
    scale[..., :d_parallel] = 1
    return x / scale


def wrong(f: Tensor, y: Tensor) -> Tensor:
    """Share of points with ``f y <= 0``, over the last axis: ties are errors, as in the original code.

    Raises:
        InputError: for outputs and labels of different shapes, or that are no numbers.
    """
    validate.arrays(f=("... n", f))
    validate.arrays(y=("... n", y))
    if f.shape != y.shape:
        raise InputError(f"y must have the shape {tuple(f.shape)} of f, got {tuple(y.shape)}")
    return (f * y <= 0).double().mean(-1)


def line_error(network: Network, initial: Network, across: Tensor, edges: Tensor) -> Tensor:
    r"""Test error of ``α(f - f_0)``, exact along the first axis: a mean over ``n`` lines of a Gaussian measure.

    On a line the predictor is linear between the kinks of its neurons, so that its zeros are known. Only the lines are
    sampled: a few hundred of them tell a small error as well as ``10^5`` points do.

    Args:
        network: at the end of training, ``S`` realisations.
        initial: at time 0, the same shapes.
        across: the other coordinates of each line, standard normal, ``(S, n, d - 1)``.
        edges: where the label changes on a line, ``(S, n, k)``, increasing; it is +1 before the first. Two equal edges
            are none.

    Returns:
        ``(S,)``.

    Raises:
        InputError: for what is no number, or shapes that do not fit.

    Source: paper A, Eq. 1; the zeros are derived here.
    """
    count = len(network.beta)
    validate.arrays(across=(f"{count} n {network.d - 1}", across), edges=(f"{count} n k", edges))
    if edges.shape[1] != across.shape[1] or initial.omega.shape != network.omega.shape:
        raise InputError("edges must be given for every line, and initial must have the shapes of network")
    weights = [torch.cat([getattr(net, name) for net in (network, initial)], 1).double() for name in ("omega", "b")]
    beta = torch.cat([network.beta, -initial.beta], 1).double()
    rows = zip(*weights, beta, across, edges, strict=True)
    return torch.stack([_line_errors(*row).mean() for row in rows])


def _line_errors(omega: Tensor, b: Tensor, beta: Tensor, across: Tensor, edges: Tensor) -> Tensor:
    """Of one predictor ``Σ_n β_n max(0, ω_n·x/√d + b_n)`` on each line, ``(n,)``, so many lines at a time."""
    size = max(1, LINES // len(beta))
    pairs = zip(across.split(size), edges.split(size), strict=True)
    return torch.cat([_on_lines(omega, b, beta, *pair) for pair in pairs])


def _on_lines(omega: Tensor, b: Tensor, beta: Tensor, across: Tensor, edges: Tensor) -> Tensor:
    slope = omega[:, 0] / omega.shape[1] ** 0.5
    slope = torch.where(slope == 0, 1e-300, slope)  # a neuron that is constant along the line
    offset = across @ omega[:, 1:].mT / omega.shape[1] ** 0.5 + b
    cuts, order = torch.cat([-offset / slope, edges], 1).sort(1)
    turns = torch.cat([(beta * slope.abs()).expand_as(offset), torch.zeros_like(edges)], 1).gather(1, order)
    jumps = torch.cat([beta * slope.sign() * offset, torch.zeros_like(edges)], 1).gather(1, order)
    passed = torch.cat([torch.zeros_like(offset), torch.ones_like(edges)], 1).gather(1, order)
    on = beta * (slope < 0)  # active far to the left
    linear = torch.cat([(on * slope).sum().expand(len(cuts), 1), turns], 1).cumsum(1)
    constant = torch.cat([(on * offset).sum(1, keepdim=True), jumps], 1).cumsum(1)
    y = 1 - 2 * torch.remainder(torch.cat([torch.zeros_like(cuts[:, :1]), passed], 1).cumsum(1), 2)
    ends = torch.cat([torch.full_like(cuts[:, :1], -torch.inf), cuts, torch.full_like(cuts[:, :1], torch.inf)], 1)
    left, right = ends[:, :-1], ends[:, 1:]
    flat = linear == 0
    zero = torch.where(flat, right, -constant / torch.where(flat, 1.0, linear)).clamp(left, right)
    below, at, above = (torch.special.ndtr(x) for x in (left, zero, right))
    before = torch.where(flat, constant, -linear) * y <= 0  # the predictor is wrong before its zero
    return (before * (at - below) + (linear * y <= 0) * (above - at)).sum(1)


@dataclass(frozen=True)
class Lazy:
    """What a frozen kernel learnt, for each realisation.

    Attributes:
        error: test errors ``(S,)``.
        ended: how each flow ended, ``"zero loss"`` or what kept it from that.
        f: the learnt function on the test points ``(S, n)``.
    """

    error: Tensor
    ended: tuple[str, ...]
    f: Tensor


def in_words(why: Ending) -> str:
    """How a flow of the hinge loss ended, in a row's words: ``"zero loss"``, or what kept it from that."""
    return "zero loss" if why.kind == Ended.FITTED else str(why)


def wide_lazy(train: Task, test: Task) -> Lazy:
    """Learning with the kernel of the infinitely wide network; tasks with a leading axis ``(S, ., d)``, float64.

    Raises:
        InputError: as ``regimes.training.kernel_flow.fit``, and for tasks whose realisations or dimensions differ.

    Source: paper A, Sec. 2.4 (NTK regime).
    """
    _needs_tasks(train, test)
    fitted = kernel_flow.fit(wide_one_hidden_ntk(train.x), train.y)
    f = torch.stack(
        [wide_predictor(x, c, z) for x, c, z in zip(train.x, fitted.coefficients.to(train.x), test.x, strict=True)]
    )
    return Lazy(wrong(f, test.y), tuple(in_words(fitted.ended[row]) for row in fitted.rows), f)


def wide_predictor(x: Tensor, c: Tensor, z: Tensor) -> Tensor:
    """``Σ_μ c_μ Θ(z, x_μ)`` with the infinitely wide network's kernel, in blocks; ``x (p, d)``, ``z (n, d)``.

    Raises:
        InputError: for what is no number, or shapes that do not fit.
    """
    validate.arrays(x=("p d", x), c=("p", c), z=("n d", z))
    step = max(1, BLOCK // len(x))
    return torch.cat([wide_one_hidden_ntk(part, x) @ c for part in z.split(step)])


def lazy(model: Model, train: Task, test: Task) -> Lazy:
    """Learning with the tangent kernel frozen at the model's present weights, initial or trained.

    Where a training point activates no neuron the kernel is zero and cannot fit it; ``ended`` says how many there are.

    Raises:
        InputError: as ``regimes.training.kernel_flow.fit`` and ``regimes.kernels.ntk``, and for tasks whose
            realisations or dimensions differ.

    Source: paper A, Eq. 4 at a fixed kernel.
    """
    _needs_tasks(train, test)
    fits = [_fit_seen(gram, y) for gram, y in zip(ntk(model, train.x), train.y, strict=True)]
    f = tangent_predictor(model, train.x, torch.stack([c for c, _ in fits]), test.x)
    return Lazy(wrong(f, test.y), tuple(why for _, why in fits), f)


def _fit_seen(gram: Tensor, y: Tensor) -> tuple[Tensor, str]:
    """Dual coefficients ``(p,)`` and why the flow ended; points that activate no neuron keep ``f = 0`` for ever."""
    seen = gram.diagonal() > 0
    fitted = kernel_flow.fit(gram[seen][:, seen], y[seen])
    c = gram.new_zeros(len(y))
    c[seen] = fitted.coefficients[0].to(c)
    blind = int((~seen).sum())
    why = in_words(fitted.ended[0])
    return c, f"{why}, but for points that activate no neuron: {blind}" if blind else why


@torch.no_grad()
def tangent_predictor(model: Model, x: Tensor, c: Tensor, z: Tensor) -> Tensor:
    """``f(z) = Σ_μ c_μ Θ(z, x_μ)`` with the kernel at the present weights, through their displacement ``Jᵀ c``.

    Args:
        model: ``S`` realisations.
        x: training points ``(S, p, d)``.
        c: dual coefficients ``(S, p)``.
        z: points ``(S, n, d)``.

    Returns:
        ``(S, n)``.

    Raises:
        InputError: for what is no number, or shapes that do not fit the model or each other.

    Source: paper A, Eq. 1 and Sec. 2.4.
    """
    count = len(model.parameters()[0])
    validate.arrays(x=(f"{count} p d", x), c=(f"{count} p", c), z=(f"{count} n d", z))
    moved = [torch.zeros_like(weights) for weights in model.parameters()]
    for rows in blocks(model, x, MEMORY):
        for total, more in zip(moved, model.tangents(x[:, rows]).pull(c[:, rows]), strict=True):
            total += more
    return torch.cat([model.tangents(z[:, rows]).push(moved) for rows in blocks(model, z, MEMORY)], -1)


def _needs_tasks(train: Task, test: Task) -> None:
    """Realisations of the same number and dimension, in training and test."""
    validate.arrays(**{"train.x": ("S p d", train.x), "test.x": ("S n d", test.x)})
    for name, task in (("train", train), ("test", test)):
        validate.arrays(**{f"{name}.y": (" ".join(map(str, task.x.shape[:2])), task.y)})


def by_size(table: pd.DataFrame, value: str = "error") -> tuple[np.ndarray, np.ndarray]:
    """Sizes ``(k,)`` and measurements ``(n, k)``, one realisation a row, of a table with ``seed`` and ``p``.

    Raises:
        InputError: if a realisation lacks a size.
    """
    wide = table.pivot(index="seed", columns="p", values=value)
    if wide.isna().any(axis=None):
        raise InputError(f"{value} must be measured at every size of every realisation")
    return wide.columns.to_numpy(dtype=float), wide.to_numpy(dtype=float)


def drift(
    measure: Callable[..., Estimate], *tables: pd.DataFrame, late: Sequence[pd.DataFrame] = ()
) -> Estimate | Drift:
    """``measure(*tables)`` over all sizes ``p`` of the tables, and over the larger half of them.

    The estimate alone where that half has fewer than two sizes, or ``late`` lies at no larger ones.

    Args:
        measure: what is measured, such as ``beta``.
        tables: rows with a size ``p``, the same sizes in each.
        late: what is measured at sizes beyond, in place of the larger half.
    """
    whole, sizes = measure(*tables), _sizes(tables)
    late = late or [table[table.p.isin(sizes[len(sizes) // 2 :])] for table in tables]
    beyond = _sizes(late)
    if len(beyond) < 2 or np.log(beyond).mean() <= np.log(sizes).mean():
        return whole
    return Drift(whole, measure(*late), sizes, beyond)


def _sizes(tables: Sequence[pd.DataFrame]) -> tuple[float, ...]:
    return tuple(sorted(set.intersection(*(set(table.p) for table in tables))))


def beta(table: pd.DataFrame, *, start: float = 0, centre: str = "mean") -> Estimate:
    """The exponent ``β`` of ``error ~ p^(-β)`` at sizes from ``start`` on; ``centre`` as in ``estimates.exponent``."""
    return -estimates.exponent(*by_size(table), window=(start, math.inf), centre=centre)


def beta_difference(first: pd.DataFrame, second: pd.DataFrame, *, start: float = 0) -> Estimate:
    """``β`` of the first curve minus that of the second, whose realisations share data: paired.

    Raises:
        InputError: if the two have not the same sizes and number of realisations.
    """
    (p, one), (_, two) = _paired(first, second)
    return estimates.mean(
        estimates.slopes(p, two, window=(start, math.inf)) - estimates.slopes(p, one, window=(start, math.inf))
    )


def error_ratio(first: pd.DataFrame, second: pd.DataFrame, *, start: float = 0) -> Estimate:
    """The geometric mean, over realisations and sizes from ``start`` on, of the first error over the second.

    Raises:
        InputError: if the two have not the same sizes and number of realisations, or an error is 0.
    """
    (p, one), (_, two) = _paired(first, second)
    if min(one.min(), two.min()) <= 0:
        raise InputError("two curves must have errors above 0 to have a ratio")
    return estimates.ratio(np.exp(np.log(one / two)[:, p >= start].mean(1)))


def converged(
    measure: Callable[..., Estimate], *tables: pd.DataFrame, finer: pd.DataFrame, gain: float = 1.0
) -> Estimate:
    """``measure(*tables)`` without the numerical error of the flow: Monte Carlo on two levels of accuracy.

    Many realisations at a coarse tolerance say what the coarse flow gives. A few of them, trained again at a finer one
    on the same data from the same weights, say by how much that is off; the difference scatters little. It is added,
    and its jackknife interval over realisations adds to that of the coarse estimate, in quadrature.

    Args:
        measure: of tables with ``seed``; smooth in averages over realisations.
        tables: rows of trained networks, and others that no tolerance concerns.
        finer: rows of some of the same realisations at a finer tolerance, with all settings; where it holds none of
            them, ``measure(*tables)`` is returned as it is.
        gain: the whole error over that between the two tolerances: 1 if the finer one is exact, ``a/(a - b)`` for
            tolerances ``a`` and ``b`` and an error that is linear in the tolerance.

    Raises:
        InputError: as ``measure``.

    Source: M. B. Giles, Operations Research 56 (2008) 607, for two levels.
    """
    estimate = measure(*tables)
    pairs = [(table, _in_place_of(table, finer)) for table in tables]
    seeds = set.intersection(*(set(new.seed) for _, new in pairs))
    if len(seeds) < 2 or all(new is old for old, new in pairs):
        return estimate

    def change(kept: set[int]) -> float:
        old, new = ([pair[side][pair[side].seed.isin(kept)] for pair in pairs] for side in (0, 1))
        return gain * (measure(*new).value - measure(*old).value)

    n, value = len(seeds), change(seeds)
    without = np.array([change(seeds - {seed}) for seed in sorted(seeds)])
    half = float(stdtrit(n - 1, 0.975)) * math.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    shift = Estimate(value, value - half, value + half, n)
    return estimate.plus(shift, f", moved by {value:+.2g} ± {half:.2g} to a finer tolerance (n = {n})")


def _in_place_of(table: pd.DataFrame, finer: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``finer`` that measure what those of ``table`` do; ``table`` where no tolerance concerns it."""
    if "tolerance" not in table or finer.empty:
        return table
    keys = [name for name in ("shape", "d", "p", "h", "alpha", "seed", "curve", "share") if name in table]
    return finer.merge(table[keys].drop_duplicates(), on=keys) if set(keys) <= set(finer) else table


def _paired(first: pd.DataFrame, second: pd.DataFrame) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    (p, one), (other_p, two) = by_size(first), by_size(second)
    if one.shape != two.shape or (p != other_p).any():
        raise InputError("two curves must have the same sizes and realisations to be compared")
    return (p, one), (p, two)
