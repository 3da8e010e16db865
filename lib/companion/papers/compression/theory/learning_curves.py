r"""Learning curves of tasks with few informative directions: exponents of theory, compression, fits.

A curve is the test error ``ε(p) ~ p^(-β)``.

Source: paper A, Sec. 3.1, 4 and Fig. 3.
"""

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from companion import estimates
from companion.estimates import Drift, Estimate
from regimes import validate
from regimes.validate import InputError

HARD = 1e12  # bound on the coefficients of a machine, beyond any of separable points
ROUNDS = 1000  # steps of its search per point


def lazy_exponent(d: int, cusp: float = 1.0) -> float:
    """``β = (d - 1 + ξ)/(3(d - 1) + ξ)`` of a kernel that falls as ``r^ξ``, and smooth interfaces; ``d/(3d - 2)`` at 1.

    Args:
        d: the dimension.
        cusp: the kernel's exponent ``ξ``, above 0.

    Raises:
        InputError: for ``d < 1``, or a cusp that is not positive.

    Source: paper A, Sec. 3.1 and 4.
    """
    validate.integer(1, d=d)
    validate.positive(cusp=cusp)
    return (d - 1 + cusp) / (3 * (d - 1) + cusp)


def feature_exponent(d: int, d_parallel: int) -> float:
    """``β`` of feature learning: ``(2d - 1)/(3d - 2)`` for ``d_parallel = 1``, else ``(d + d_perp/2)/(3d - 2)``.

    It is the lazy exponent of data compressed by ``Λ ~ √p``, by the papers' argument. For ``d_parallel >= 3`` it
    exceeds ``d_parallel/(3 d_parallel - 2)``, that of the informative coordinates alone: it cannot hold at large ``p``.
    Source: paper A, Sec. 3.1 and 4.

    Raises:
        InputError: unless ``1 <= d_parallel < d``.
    """
    return lazy_exponent(d) + 0.5 * compression_gain(d, d_parallel)


def compression_gain(d: int, d_parallel: int) -> float:
    """The exponent ``g`` of the gain ``ε ~ Λ^(-g)`` from compressing the uninformative directions.

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
        factor: ``(...)``, one per realisation, positive.

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


def hard_margin(gram: Tensor, y: Tensor) -> tuple[Tensor, float]:
    """The hard-margin support vector machine of a kernel ``(p, p)``: ``c (p,)`` and ``b`` of ``F = Σ c K + b``.

    Points that the kernel cannot separate have none; the search then ends after ``ROUNDS`` steps per point.
    Source: paper A, Sec. 3.1, whose exponents are the machine's.
    """
    from sklearn.svm import SVC

    machine = SVC(C=HARD, kernel="precomputed", tol=1e-6, cache_size=1000, max_iter=ROUNDS * max(len(y), 100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged: whether it separates the points is what counts
        machine.fit(gram.cpu().numpy(), y.cpu().numpy())
    c = torch.zeros_like(gram[0])
    c[machine.support_] = torch.as_tensor(machine.dual_coef_[0]).to(c)
    return c, float(machine.intercept_[0])


def by_size(table: pd.DataFrame, value: str = "error") -> tuple[np.ndarray, np.ndarray]:
    """Sizes ``(k,)`` and measurements ``(n, k)``, one row per realisation, of a table with ``seed`` and ``p``.

    Raises:
        InputError: if a realisation lacks a size.
    """
    measured = table.pivot(index="seed", columns="p", values=value)
    if measured.isna().any(axis=None):
        raise InputError(f"{value} must be measured at every size of every realisation")
    return measured.columns.to_numpy(dtype=float), measured.to_numpy(dtype=float)


def drift(
    measure: Callable[..., Estimate], *tables: pd.DataFrame, late: Sequence[pd.DataFrame] = ()
) -> Estimate | Drift:
    """``measure(*tables)`` over all sizes of the tables, and over the larger half of them.

    Only the first is returned if that half has fewer than two sizes, or if ``late`` has no larger ones.

    Args:
        measure: the measure, such as ``beta``.
        tables: rows with a size, the same sizes in each.
        late: a measurement at larger sizes, instead of the larger half.
    """
    over_all_sizes = measure(*tables)
    sizes = _sizes(tables)
    if not late:
        larger_half = sizes[len(sizes) // 2 :]
        late = [table[table.p.isin(larger_half)] for table in tables]
    late_sizes = _sizes(late)
    if len(late_sizes) < 2 or np.log(late_sizes).mean() <= np.log(sizes).mean():
        return over_all_sizes
    return Drift(over_all_sizes, measure(*late), sizes, late_sizes)


def _sizes(tables: Sequence[pd.DataFrame]) -> tuple[float, ...]:
    """The sizes that all tables have, in increasing order."""
    sizes = [set(table.p) for table in tables]
    return tuple(sorted(set.intersection(*sizes)))


def beta(table: pd.DataFrame, *, start: float = 0) -> Estimate:
    """The exponent ``β`` of ``error ~ p^(-β)`` at sizes from ``start`` on."""
    return -estimates.exponent(*by_size(table), window=(start, math.inf))


def beta_difference(first: pd.DataFrame, second: pd.DataFrame) -> Estimate:
    """``β`` of the first curve minus ``β`` of the second, paired by realisation."""
    p, first_errors, second_errors = _paired(first, second)
    return estimates.mean(estimates.slopes(p, second_errors) - estimates.slopes(p, first_errors))


def error_ratio(first: pd.DataFrame, second: pd.DataFrame) -> Estimate:
    """The geometric mean, over realisations and sizes, of the first error over the second.

    Raises:
        InputError: if the sizes or numbers of realisations differ, or an error is 0.
    """
    _, first_errors, second_errors = _paired(first, second)
    if min(first_errors.min(), second_errors.min()) <= 0:
        raise InputError("two curves must have errors above 0 to have a ratio")
    return estimates.ratio(np.exp(np.log(first_errors / second_errors).mean(1)))


def error_ratios(first: pd.DataFrame, second: pd.DataFrame) -> dict[int, Estimate]:
    """The first error over the second at each size that both have, of the seeds that both have: geometric means."""
    pairs = first.merge(second, on=["p", "seed"], suffixes=("", "_of"))
    ratios = pairs.assign(ratio=pairs.error / pairs.error_of)
    return {int(p): estimates.ratio(rows.ratio.to_numpy()) for p, rows in ratios.groupby("p")}


def error_change(changed: pd.DataFrame, reference: pd.DataFrame) -> pd.Series:
    """The root mean square change of ``ln error`` from some runs to others, by ``p`` and fitted ``share``.

    Changes below the resolution of floats are set to it, so that a logarithmic axis holds them.

    Args:
        changed: rows of the others, perhaps several per realisation.
        reference: rows that each is compared with, of the same sizes and realisations.
    """
    keys = ["p", "seed", "share"]
    logs = np.log(changed.set_index(keys).error)
    reference_logs = np.log(reference.set_index(keys).error)
    square = (logs - reference_logs.reindex(logs.index)) ** 2
    return np.sqrt(square.groupby(["p", "share"]).mean()).clip(lower=1e-16)


def by_factor(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Factors ``(k,)`` of an imposed compression and errors ``(n, k)``, a realisation's geometric means over sizes."""
    logs = table.assign(log=np.log(table.error)).pivot_table(index="seed", columns="factor", values="log")
    return logs.columns.to_numpy(dtype=float), np.exp(logs.to_numpy(dtype=float))


def gain(table: pd.DataFrame) -> Estimate:
    """The exponent ``g`` of ``error ~ factor^(-g)`` over all imposed factors; see ``compression_gain``."""
    return -estimates.exponent(*by_factor(table))


def _paired(first: pd.DataFrame, second: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes ``(k,)`` and errors ``(n, k)`` of two curves."""
    p, first_errors = by_size(first)
    second_p, second_errors = by_size(second)
    if first_errors.shape != second_errors.shape or (p != second_p).any():
        raise InputError("two curves must have the same sizes and realisations to be compared")
    return p, first_errors, second_errors
