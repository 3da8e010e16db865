r"""Jamming of neural networks: which networks fit their data, the loss landscape at the transition, and fluctuations.

With the gaps :math:`\Delta_\mu = 1 - y_\mu F(x_\mu)` of the predictor :math:`F = \alpha (f - f_0)`, the quadratic hinge
is :math:`U = \frac12\sum_{\Delta_\mu > 0}\Delta_\mu^2` (a sum, as in paper B, not a mean). A network is *jammed* if it
ends with :math:`N_\Delta > 0` points whose gap is positive. Its Hessian is

.. math:: H = H_0 + H_p, \quad H_0 = \sum_{\Delta_\mu > 0} \nabla\Delta_\mu \nabla\Delta_\mu^\top, \quad
          H_p = \sum_{\Delta_\mu > 0} \Delta_\mu \nabla^2\Delta_\mu .

:math:`H_0` has rank :math:`N_\Delta` at most, and :math:`H_p` vanishes with the gaps. So a stable end has at least as
many unfitted points as :math:`H_p` has negative eigenvalues: :math:`N_- \le N_\Delta`.

Source: paper B, Sec. 2 and 3.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from scipy.optimize import isotonic_regression
from torch import Tensor

from companion import estimates
from companion.estimates import Estimate
from regimes import validate
from regimes.models import hessian as derivatives
from regimes.models.fully_connected import FullyConnected
from regimes.validate import InputError

SLACK = 1e-4  # gap up to which a point counts as fitted: the quadratic hinge only approaches the margin
ZERO = 1e-9  # eigenvalues below this part of the largest are zero
FACTOR = 1.5  # between the widths at which a curve is compared with itself
STEP = 1.5  # least factor between the widths that a local exponent is taken from
SIZES = 3  # that a slope is fitted to, at least
NEAR = math.log(1.1)  # of values above what they are to cross, over which their last line is followed on
NETWORK = ["p", "h", "seed", "member"]  # columns that name one
WINDOW = (1.1, 4.0)  # of ``N/N*``, in which a divergence at ``N*`` is looked for


def unsatisfied(margins: Tensor) -> Tensor:
    """``N_Δ (...)``, the number of margins ``(..., p)`` below 1 by more than ``SLACK``."""
    validate.arrays(margins=("... p", margins))
    return (margins < 1 - SLACK).sum(-1)


def hessian(model: FullyConnected, x: Tensor, y: Tensor, *, alpha: float, start: Tensor) -> tuple[Tensor, Tensor]:
    r"""``H_0`` and ``H_p`` of the quadratic hinge at the models' current weights, each ``(E, P, P)``.

    Parameters are in the order of ``model.parameters()``.

    Args:
        model: ``E`` realisations, without biases.
        x: points ``(p, d)``, the same for all.
        y: labels ``(p,)``.
        alpha: scale of the predictor.
        start: outputs ``f_0 (E, p)`` of the networks at time 0.

    Source: paper B, Eq. 13.
    """
    validate.positive(alpha=alpha)
    validate.arrays(x=("p d", x), y=("p", y), start=("E p", start))
    parameters = model.parameters()
    count = sum(weight[0].numel() for weight in parameters)
    validate.memory(32 * len(start) * count**2, f"Hessians of {len(start)} networks with {count} parameters")
    gaps = (1 - alpha * y * (model(x) - start)).clamp(min=0)
    zero = torch.zeros_like(gaps)
    curvature = alpha**2 * (gaps > 0).to(gaps)  # of the loss in the output
    H0 = derivatives.hessian(model, x, zero, curvature)
    Hp = derivatives.hessian(model, x, -alpha * gaps * y, zero)
    return H0, Hp


def negative(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers of negative and of non-zero eigenvalues of symmetric matrices ``(..., P, P)``, each ``(...)``."""
    validate.arrays(matrix=("... P P", matrix))
    values = torch.linalg.eigvalsh(matrix)
    threshold = ZERO * values.abs().amax(-1, keepdim=True)
    return (values < -threshold).sum(-1), (values.abs() > threshold).sum(-1)


def kernel_change(before: Tensor, after: Tensor) -> Tensor:
    """``‖Θ - Θ_0‖/‖Θ_0‖`` of Gram matrices ``(..., n, n)``, Frobenius.

    Source: paper B, Sec. 4.
    """
    validate.arrays(before=("... n m", before))
    validate.arrays(after=(" ".join(map(str, before.shape)), after))
    size = torch.linalg.matrix_norm(before)
    if not bool((size > 0).all()):
        raise InputError("before must not be zero: its change has no relative size")
    return torch.linalg.matrix_norm(after - before) / size


def fluctuation(F: Tensor) -> Tensor:
    """``‖F - ⟨F⟩‖ (...)``: root mean square over points and members of the deviation from the mean, ``F (..., E, n)``.

    It is unbiased for an infinite ensemble: the variance is divided by ``E - 1``.

    Source: paper B, Sec. 3 and Fig. 8D.
    """
    validate.arrays(F=("... E n", F))
    if F.shape[-2] < 2:
        raise InputError("a fluctuation needs an ensemble of at least 2 networks, got 1")
    return F.var(-2).mean(-1).sqrt()


def transition(sizes: np.ndarray, satisfied: np.ndarray) -> float:
    """The size ``N*`` at which half of the networks fit, from the share that fits at each size.

    Shares are made monotone by pooling neighbours, and interpolated in the logarithm of the size. If several sizes have
    one half, it is the middle of the first and the last.

    Args:
        sizes: increasing ``(k,)``, widths or numbers of parameters.
        satisfied: share of the networks that fit at each ``(k,)``.
    """
    sizes = np.asarray(sizes, dtype=float)
    satisfied = np.asarray(satisfied, dtype=float)
    validate.arrays(sizes=("k", sizes), satisfied=("k", satisfied))
    if (np.diff(sizes) <= 0).any() or sizes[0] <= 0:
        raise InputError(f"sizes must be positive and increase, got {sizes.tolist()}")
    if (satisfied < 0).any() or (satisfied > 1).any():
        raise InputError(f"satisfied must hold shares from 0 to 1, got {satisfied.tolist()}")
    share = _monotone(satisfied)
    if share[0] >= 0.5 or share[-1] <= 0.5:
        side, end = ("below", 0) if share[0] >= 0.5 else ("above", -1)
        raise InputError(
            f"sizes must hold the transition: add some {side} {sizes[end]:g}, where {share[end]:.0%} of networks fit"
        )
    below = np.flatnonzero(share < 0.5)[-1]
    above = np.flatnonzero(share > 0.5)[0]
    if above > below + 1:  # some at one half
        return math.sqrt(sizes[below + 1] * sizes[above - 1])
    part = (0.5 - share[below]) / (share[above] - share[below])
    return float(sizes[below] * (sizes[above] / sizes[below]) ** part)


def _monotone(share: np.ndarray) -> np.ndarray:
    """The nearest non-decreasing shares in least squares; one that is a half is not below it by rounding."""
    return isotonic_regression(share).x.round(12)


def crossing(scales: np.ndarray, values: np.ndarray) -> float:
    """The scale at which values that fall with it cross 1, by interpolating both logarithms; NaN if they do not.

    Values that end above 1 by less than ``NEAR`` are followed on by their last line.

    Args:
        scales: increasing ``(k,)``.
        values: positive ``(k,)``.
    """
    scales = np.asarray(scales, dtype=float)
    values = np.asarray(values, dtype=float)
    validate.arrays(scales=("k", scales), values=("k", values))
    if (np.diff(scales) <= 0).any() or scales[0] <= 0 or (values <= 0).any():
        raise InputError("scales must be positive and increase, and values be positive, to cross 1")
    logs = np.log(values)
    falls = np.flatnonzero((logs[:-1] >= 0) & (logs[1:] < 0))
    if not len(falls) and 0 <= logs[-1] < NEAR and logs[-2] > logs[-1]:
        falls = np.array([len(logs) - 2])
    if not len(falls):
        return math.nan
    i = falls[-1]
    share = logs[i] / (logs[i] - logs[i + 1])
    return float(np.exp(np.log(scales[i]) + share * np.log(scales[i + 1] / scales[i])))


def crossings(table: pd.DataFrame) -> pd.Series:
    """``log10`` of the scale at which the kernel changes by its own norm, for each training set; NaN if it does not.

    Args:
        table: rows of one width with ``seed``, ``scale`` and ``kernel_change``.
    """
    scales = {}
    for seed, group in table.groupby("seed"):
        group = group.sort_values("scale")
        scales[seed] = crossing(group["scale"], group.kernel_change)
    return np.log10(pd.Series(scales))


def transitions(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The transition of each training set at each scale: one row per ``seed``, one column per ``scale``.

    Args:
        table: rows with ``seed``, ``scale``, ``fitted`` and the sizes.
        column: the sizes, ``h`` or ``parameters``.

    Returns:
        Values of :func:`transition`; NaN if the sizes hold none.
    """
    table = table.sort_values(["seed", "scale", column])
    tried, fitted = table[column].to_numpy(), table["fitted"].to_numpy(float)
    sizes = {}
    for key, rows in table.groupby(["seed", "scale"]).indices.items():
        share = _monotone(fitted[rows])
        crosses = share[0] < 0.5 < share[-1]
        sizes[key] = transition(tried[rows], fitted[rows]) if crosses else math.nan
    return pd.Series(sizes).unstack()


def at_width(table: pd.DataFrame, value: str, widths: pd.Series) -> np.ndarray:
    """``value`` at one width per training set, ``(seeds,)``, interpolated in the logarithm of the width ``h``.

    Args:
        table: rows with ``seed``, ``h`` and the value.
        value: a column.
        widths: by seed.
    """
    interpolated = []
    for seed, width in widths.items():
        curve = table[table.seed == seed].sort_values("h")
        h = curve.h.to_numpy()
        if not (len(h) and h[0] <= width <= h[-1]):
            side, end = ("above", max(h, default=np.nan)) if not len(h) or width > h[-1] else ("below", h[0])
            raise InputError(f"widths must hold {width:.3g}, where {value} is asked for: add some {side} {end:g}")
        interpolated.append(np.interp(np.log(width), np.log(h), curve[value].to_numpy()))
    return np.array(interpolated)


def bump(table: pd.DataFrame, value: str, widths: pd.Series) -> np.ndarray:
    """The height of a curve at ``widths`` above its mean a ``FACTOR`` to either side, ``(seeds,)``.

    Zero for a curve that is straight in the logarithm of the width, however steep.
    """
    narrower = at_width(table, value, widths * (1 / FACTOR))
    wider = at_width(table, value, widths * FACTOR)
    return at_width(table, value, widths) - (narrower + wider) / 2


def rise(table: pd.DataFrame, value: str, widths: pd.Series) -> np.ndarray:
    """The height of a curve at ``widths`` above its value a ``FACTOR`` to the left, ``(seeds,)``.

    It is positive at the peak of a double descent, where a curve rises before it falls.
    """
    return at_width(table, value, widths) - at_width(table, value, widths / FACTOR)


def peak_height(table: pd.DataFrame, newton_steps: int, value: str = "error") -> np.ndarray:
    """``value`` at the larger of the table's two widths less that at the smaller, in percentage points ``(seeds,)``.

    The two are the widths of a peak and of the least error to its left, as other training sets have them.

    Args:
        table: rows with ``seed``, ``newton_steps``, ``h`` and the value.
        newton_steps: after which the value is read.
        value: a column.
    """
    by_width = table[table["newton_steps"] == newton_steps].pivot(index="seed", columns="h", values=value)
    if by_width.shape[1] != 2:
        raise InputError(f"table must hold two widths h, got {by_width.columns.tolist()}")
    return 100 * (by_width.iloc[:, 1] - by_width.iloc[:, 0]).to_numpy()


def gain_of_averaging(table: pd.DataFrame, widths: pd.Series) -> np.ndarray:
    """Error of single networks minus error of their ensemble at ``widths``, per cent ``(seeds,)``.

    Source: paper B, Fig. 6.
    """
    return 100 * (at_width(table, "error", widths) - at_width(table, "ensemble_error", widths))


def gain_of_width(table: pd.DataFrame, widths: pd.Series) -> np.ndarray:
    """Fall of the ensemble's and of single networks' error from ``widths`` to the widest, per cent ``(seeds, 2)``.

    Source: paper B, Sec. 3.
    """
    widest = pd.Series(table.h.max(), widths.index)
    falls = [at_width(table, e, widths) - at_width(table, e, widest) for e in ("ensemble_error", "error")]
    return 100 * np.stack(falls, axis=1)


def against_one(table: pd.DataFrame, widths: pd.Series, members: int) -> np.ndarray:
    """Error of one network of ``members`` times ``N`` minus the ensemble's at ``widths``, per cent ``(seeds,)``.

    The number of parameters is interpolated as a power of the width, the one network's error in its logarithm.
    """
    by_size = table.assign(h=table.parameters)
    size = members * np.exp(at_width(table.assign(log=np.log(table.parameters)), "log", widths))
    size = pd.Series(np.minimum(size, table.parameters.max()), widths.index)
    return 100 * (at_width(by_size, "error", size) - at_width(table, "ensemble_error", widths))


def beyond(table: pd.DataFrame, value: str, size: float) -> pd.DataFrame:
    """``value`` at and beyond a number of parameters, at least ``SIZES`` numbers: one row per seed, one column each."""
    by_size = table.pivot(index="seed", columns="parameters", values=value).sort_index(axis=1)
    larger = by_size.loc[:, by_size.columns >= size]
    return larger if larger.shape[1] >= SIZES else by_size.iloc[:, -SIZES:]


def common_exponent(curves: Sequence[pd.DataFrame], against: Sequence[pd.DataFrame] = ()) -> Estimate:
    r"""The common exponent ``b`` of several curves :math:`y_i \sim A_i x^b`, each with its own level.

    It is a least-squares fit to the logarithms of the means over realisations, weighted by their inverse variances,
    with a jackknife over realisations.

    Args:
        curves: one row per realisation, the same in all, one column per number of parameters ``N``; see :func:`beyond`.
        against: for each curve its abscissae ``x``, measured on the same rows and columns; by default ``N``.
    """
    level = np.repeat(np.arange(len(curves)), [curve.shape[1] for curve in curves])
    values = np.concatenate([curve.to_numpy(float) for curve in curves], axis=1)
    validate.integer(2, realisations=len(values))
    sizes = [np.tile(curve.columns.to_numpy(float), (len(values), 1)) for curve in curves]
    x = np.concatenate([curve.to_numpy(float) for curve in against] or sizes, axis=1)
    weight = values.mean(0) / values.std(0, ddof=1)  # of the logarithm: one over its standard deviation, up to a factor

    def slope(rows: np.ndarray) -> float:
        abscissae, mean = rows.mean(0)
        validate.positive(mean=float(mean.min()), abscissae=float(abscissae.min()))
        design = np.column_stack([np.log(abscissae), level[:, None] == np.arange(len(curves))])
        return float(np.linalg.lstsq(weight[:, None] * design, weight * np.log(mean), rcond=None)[0][0])

    return estimates.jackknife(np.stack([x, values], axis=1), slope)


def exponents_by_width(table: pd.DataFrame, value: str) -> pd.DataFrame:
    """Exponents in ``N`` of the mean of ``value`` over training sets, from each width to one ``STEP`` wider.

    Columns are ``h`` (the geometric mean of the two widths), ``exponent``, ``low`` and ``high`` of a jackknife. A row
    is left out if the mean of all training sets but one is not positive.

    Args:
        table: rows of one scale with ``seed``, ``h``, ``parameters`` and the value.
        value: a column.
    """
    by_width = table.pivot(index="seed", columns="h", values=value)
    sizes = table.groupby("h").parameters.first()
    rows = []
    for h in by_width.columns:
        wider = [width for width in by_width.columns if width >= STEP * h]
        if not wider:
            break
        pair = by_width[[h, wider[0]]].dropna().to_numpy(float)
        if ((pair.sum(0) - pair) <= 0).any():
            continue
        distance = np.log(sizes[wider[0]] / sizes[h])
        rate = estimates.jackknife(pair, lambda sets, d=distance: float(np.diff(np.log(sets.mean(0)))[0] / d))
        rows.append({"h": math.sqrt(h * wider[0]), "exponent": rate.value, "low": rate.low, "high": rate.high})
    return pd.DataFrame(rows, columns=["h", "exponent", "low", "high"])


def slopes_beyond(table: pd.DataFrame, value: str, sizes: pd.Series) -> np.ndarray:
    """Slopes of ``log value`` in ``log parameters`` at and beyond ``sizes`` (by seed), from at least ``SIZES`` sizes.

    Values that are not positive are left out.
    """
    slopes = []
    for seed, group in table[table[value] > 0].groupby("seed"):
        group = group.sort_values("parameters")
        larger = group[group.parameters >= sizes[seed]]
        if len(larger) < SIZES:
            larger = group.iloc[-SIZES:]
        slopes.append(np.polyfit(np.log(larger.parameters), np.log(larger[value]), 1)[0])
    return np.array(slopes)


def divergence(table: pd.DataFrame, value: str, sizes: pd.Series) -> np.ndarray:
    """Slopes of ``log value`` in ``log(N - N*)`` for ``N/N*`` in the ``WINDOW``, with ``N*`` from ``sizes`` by seed.

    If it holds fewer than ``SIZES`` sizes, the ``SIZES`` smallest above its lower end are taken.

    Source: paper B, Sec. 2.
    """
    slopes = []
    for seed, group in table.groupby("seed"):
        above = group[group.parameters >= WINDOW[0] * sizes[seed]].sort_values("parameters")
        window = above[above.parameters <= WINDOW[1] * sizes[seed]]
        if len(window) < SIZES:
            window = above.iloc[:SIZES]
        slopes.append(np.polyfit(np.log(window.parameters - sizes[seed]), np.log(window[value]), 1)[0])
    return np.array(slopes)


def relative_fluctuation(samples: np.ndarray) -> float:
    """Root mean square over entries of the deviation over samples ``(n, k)``, divided by that of their mean.

    Source: paper B, Sec. 3.
    """
    validate.arrays(samples=("n k", samples))
    validate.integer(2, samples=len(samples))
    return float(np.sqrt(samples.var(axis=0, ddof=1).mean() / np.square(samples.mean(axis=0)).mean()))


def can_fit(table: pd.DataFrame) -> pd.Series:
    """Whether a row's network can fit: its loss falls faster than the power 1.5 of the weakest two ``decay``.

    The loss is ``quadratic_hinge``. The exponent is 2 if it can, and 0 if not. Source: paper B, footnote 8.
    """
    loss = table.pivot(index=NETWORK, columns="decay", values="quadratic_hinge")
    weakest, weak = sorted(loss)[:2]
    exponents = np.log(loss[weakest] / loss[weak]) / math.log(weakest / weak)
    fits = (exponents > 1.5).reindex(pd.MultiIndex.from_frame(table[NETWORK]))
    return pd.Series(fits.to_numpy(), table.index)


def networks_at_jamming(table: pd.DataFrame, share: float = 0.25) -> pd.DataFrame:
    """The networks held at jamming: at a minimum, and ``can_fit``, at the narrowest width of which a ``share`` can."""
    rows = table[table.decay == table.decay.min()].assign(fits=can_fit(table))
    shares = rows.groupby(["p", "h"]).fits.mean()
    widths = shares[shares >= share].reset_index().groupby("p").h.min()
    return rows[rows.fits & (rows.ended == "jammed") & (rows.h == rows.p.map(widths))]


def gap(eigenvalues: np.ndarray) -> float:
    """The smallest non-zero eigenvalue of ``(P,)`` divided by the mean of the non-zero ones.

    Source: paper B, Fig. 8C.
    """
    validate.arrays(eigenvalues=("P", eigenvalues))
    validate.positive(largest=float(eigenvalues.max()))
    nonzero = eigenvalues[eigenvalues > ZERO * eigenvalues.max()]
    return float(nonzero.min() / nonzero.mean())
