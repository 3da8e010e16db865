"""Claims of chapter 3: where networks jam, what diverges there, and what averaging and width gain."""

import math

import numpy as np
import pandas as pd

from companion import estimates
from companion.book.claims import again, claim
from companion.estimates import Drift, Estimate, jackknife, least, mean
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.theory import jamming

CHAPTER = "03"
LAZY = 256  # scale from which training takes place in the lazy regime
FARTHER = 4  # times the number of parameters at jamming: far from it


def _cuts(slices):
    """The rows of each output scale at the end of training, from the smallest scale to the largest."""
    return dict(list(studies.at_end(slices).groupby("scale")))


def _scale(cuts, position):
    """The smallest, middle or largest scale of the cuts."""
    return sorted(cuts)[{"smallest": 0, "middle": -2, "largest": -1}[position]]


def _mean_width(slices):
    """``h*`` at each scale, the mean over training sets, as a series over these.

    The transition of a single training set, of few networks, is not known well enough to stand on a peak.
    """
    widths = jamming.transitions(studies.at_end(slices), "h")
    return {scale: pd.Series(widths[scale].mean(), widths.index) for scale in widths}


def _changes_by_own_norm(rows):
    """``log10`` of the scale where the kernel changes by its own norm: a row per training set, a column per width."""
    by_width = studies.at_end(rows).groupby("h")
    return pd.DataFrame({h: jamming.crossings(group) for h, group in by_width})


def _widths_at_jamming(on_map, slices):
    """``h*`` of the map's training sets: a row per training set, a column per scale."""
    ends = studies.at_end(on_map)
    cuts = studies.at_end(slices)
    rows = pd.concat([ends, cuts[cuts.seed.isin(ends.seed)]]).drop_duplicates("cell")
    return jamming.transitions(rows, "h")


@claim("B.Fig4-crossover", accept=(-1, 1), rival=1.05, part_of="B.Fig4-flat", figure="fig-b-4")
def lazy_line(cross_over=studies.ensembles["cross_over"]):
    r"""The line where the tangent kernel changes by its own norm lies at an output scale of order one.

    $\log_{10}$ of the scale $h^{1/2}\alpha$ at the largest width.

    Rival: a cross-over at $\alpha=1$, where the scale is $h^{1/2}$ with $h=128$
    Elsewhere: on three scales of 1000 points 1.38
    Source: paper B, Fig. 4 and Sec. 4
    Short: log10 of the lazy line's scale
    """
    crossed = jamming.crossings(studies.at_end(cross_over)).to_numpy()
    return mean(crossed) if np.isfinite(crossed).all() else None


@claim("B.Fig4-flat", accept=(-0.2, 0.2), stated=0, rival=0.5, figure="fig-b-4")
def slope_of_lazy_line(on_map=studies.ensembles["map"]):
    r"""The line where the tangent kernel changes by its own norm does not depend on the width, far from jamming.

    Slope of its log in $\log h$ over the upper half of the widths.

    Rival: a cross-over at a given $\alpha$
    Source: paper B, Fig. 4 and Sec. 4
    Short: lazy line independent of the width
    """
    crossed = _changes_by_own_norm(on_map)
    widths = sorted(set(on_map.h))
    upper = [h for h in widths if h >= math.sqrt(widths[0] * widths[-1])]
    if len(upper) < 2:
        return None
    rows = on_map[on_map.h.isin(upper)]
    slopes = [np.polyfit(np.log10(upper), line[upper].to_numpy(), 1)[0] for _, line in crossed.iterrows()]
    if not np.isfinite(slopes).all():
        return None, rows
    return mean(np.array(slopes)), rows


@claim("B.Fig4-bends", accept=(0.1, math.inf), rival=0, figure="fig-b-4")
def lazy_line_at_jamming(on_map=studies.ensembles["map"], slices=studies.ensembles["slices"]):
    r"""The line where the tangent kernel changes by its own norm bends up near jamming.

    $\log_{10}$ of its scale at the width of jamming over that at the largest width.

    Rival: a straight line down to jamming
    Source: paper B, Sec. 4
    Short: lazy line bends up near jamming, log10
    """
    crossed = _changes_by_own_norm(on_map)
    h_star = _widths_at_jamming(on_map, slices)
    scales = sorted(set(slices["scale"]))
    middle = scales[len(scales) // 2]
    if crossed.isna().any(axis=None) or h_star[middle].isna().any():
        return None
    table = crossed.rename_axis("h", axis=1).stack().rename("crossing").rename_axis(["seed", "h"]).reset_index()
    bends = jamming.at_width(table, "crossing", h_star.loc[crossed.index, middle]) - crossed[max(crossed)]
    return mean(bends.to_numpy()), on_map


@claim(
    "B.Fig4-jamming-points",
    accept=(0.05, math.inf),
    rival=0,
    part_of="B.Fig4-jamming",
    figure="fig-b-lines",
    at={"h": 128, "p": [250, 1000]},
)
def error_order_in_points(widest=studies.ensembles["widest"], slices=studies.ensembles["slices"]):
    """Jamming needs fewer parameters where the ensemble error is small, on few points and on many.

    Ensemble error of the largest scale less that at 12 at width 128 on 1000 points, less the same on 250, of the same
    draws, percentage points: from the one size to the other the lines of jamming cross, at rest, and so do the errors;
    read off stored rows.

    Rival: which scale has the smaller error does not hang on the number of points
    Source: paper B, Sec. 2: "the jamming transition occurs with less parameters when the test error of the
    ensemble-averaged predictor is small"
    Short: errors cross as the lines do
    """
    gaps = []
    for table in (widest, slices):
        ends = studies.at_end(table)
        errors = 100 * ends[ends.h == widest.h.max()].pivot(index="seed", columns="scale", values="ensemble_error")
        middle, last = sorted(errors)[-2:]
        gaps.append(errors[last] - errors[middle])
    differences = (gaps[0] - gaps[1]).dropna().to_numpy()
    return mean(differences) if len(differences) > 1 else None


@claim("B.Fig4-jamming", accept=(0.25, 1), rival=0, figure="fig-b-4")
def jamming_against_error(on_map=studies.ensembles["map"], slices=studies.ensembles["slices"]):
    """Jamming needs fewer parameters where the ensemble error is small.

    Correlation over output scales of log width at jamming with the ensemble error.

    Rival: no relation
    Source: paper B, Sec. 2
    Short: jamming earlier where the error is small
    """
    h_star = _widths_at_jamming(on_map, slices).dropna(axis=1)
    ends = studies.at_end(on_map)
    widest = ends[ends.h == ends.h.max()]
    error = widest.pivot(index="seed", columns="scale", values="ensemble_error")[h_star.columns]
    pairs = np.stack([np.log(h_star.loc[error.index]).to_numpy(), error.to_numpy()], axis=1)
    # in Fisher's z, where the interval of a correlation is symmetric
    z = jackknife(pairs, lambda rows: np.arctanh(np.corrcoef(rows.mean(0))[0, 1]))
    return Estimate(*np.tanh([z.value, z.low, z.high]), z.n, f"{z.method}, in Fisher's z"), on_map


def _least_above_crossover(rows, cross_over, scales):
    """The ensemble's error at either end of the scales less that at the one next to the cross-over, the smaller.

    In percentage points, a mean over the widths of each training set; ``None`` where no scale is near the cross-over.
    """
    crossed = np.mean(jamming.crossings(studies.at_end(cross_over)).to_numpy())
    near = min(scales, key=lambda scale: abs(np.log10(scale) - crossed))
    ends = studies.at_end(rows)
    first, *between, last = sorted(set(ends["scale"]))
    if near not in between or not abs(np.log10(near) - crossed) < 1:
        return None
    errors = 100 * ends.pivot(index=["seed", "h"], columns="scale", values="ensemble_error").dropna()
    return least(errors[[first, last]].sub(errors[near], axis=0).groupby("seed").mean().to_numpy())


@claim("B.Fig4-best-near", accept=(0.1, math.inf), rival=0, figure="fig-b-4", at={"data": "mnist", "p": 1000})
def error_above_crossover(near=studies.ensembles["near"], cross_over=studies.ensembles["cross_over"], *, map_scales):
    """On 10 components of MNIST the ensemble error is smallest near the cross-over.

    Error at the smallest and at the largest scale minus that at the scale next to the cross-over, mean over three
    widths far beyond jamming on 1000 points (the paper has 5000), smaller of the two, percentage points.

    Rival: one of the two ends has an equal error
    Elsewhere: 250 points 0.72
    Source: paper B, Sec. 4: "the best performance for MNIST 10 PCA appears to occur the cross-over region"
    Short: best error near the cross-over
    """
    return _least_above_crossover(near, cross_over, map_scales), near


@claim("B.Fig4-time", accept=(-0.05, 0.05), stated=0, rival=-2, figure="fig-b-4", at={"scale": 256})
def time_in_scale(timed=studies.steps_to_fit["scales"]):
    r"""With the loss over $\alpha^2$ training takes a time that does not depend on the scale where it is large.

    Exponent of that time in $\alpha$, from 256 on.

    Rival: the time under the loss itself
    Source: paper B, Sec. 4
    Short: training time independent of the scale
    """
    fitted = timed[np.isfinite(timed.time)].assign(log=lambda rows: np.log(rows.time * rows["scale"]))
    times = np.exp(fitted.groupby(["seed", "scale"]).log.mean().unstack().dropna(axis=1))
    large = times.loc[:, times.columns >= LAZY]
    return estimates.exponent(large.columns.to_numpy(), large.to_numpy()), fitted


@claim("B.Fig4-slowing", accept=(3, math.inf), rival=1, figure="fig-b-effort", at={"scale": 12})
def slowing_near_jamming(budgets=studies.steps_to_fit["step_budget"]):
    """Networks that fit near jamming take many times as many steps as wide ones.

    Median number of steps to fit at the narrowest width of which at least half of the networks fit within the budget,
    over that at the largest width; geometric mean over training sets; found on these.

    Rival: networks that fit take as many steps at each width
    Source: paper B, Fig. 4: "the usual critical slowing down occurring near phase transitions"
    Short: steps to fit, near jamming over far
    """
    shares = budgets.assign(fitted=np.isfinite(budgets.needed)).groupby("h").fitted.mean()
    narrow = shares[shares >= 0.5].index.min()
    steps = budgets[np.isfinite(budgets.needed)].groupby(["seed", "h"]).needed.median().unstack()
    if not shares.index.min() < narrow < shares.index.max():
        return None
    factors = (steps[narrow] / steps[shares.index.max()]).dropna().to_numpy()
    return (estimates.ratio(factors) if len(factors) > 1 else None), budgets


def parameters_by_budget(budgets):
    """``N*`` of each training set within a number of steps: a row per set, a column per number, NaN if none is seen.

    Args:
        budgets: rows with ``seed``, ``scale``, ``h``, ``parameters``, ``steps`` (the most) and those ``needed`` to fit.
    """
    largest = budgets.steps.max()
    by_count = {}
    for count in np.unique(np.geomspace(max(largest // 64, 5), largest, 13).round()):
        fits = budgets.assign(fitted=budgets.needed <= count)
        shares = fits.groupby(["seed", "scale", "h", "parameters"]).fitted.mean().reset_index()
        by_count[count] = jamming.transitions(shares, "parameters").iloc[:, 0]
    return pd.DataFrame(by_count)


@claim("B.Fig4-step-budget", accept=(-math.inf, -0.02), rival=0, figure="fig-b-effort")
def jamming_in_steps(budgets=studies.steps_to_fit["step_budget"]):
    """Where networks begin to fit depends on the step budget, from some tens of steps to 2400.

    Exponent of $N^*$ in the number of steps that are allowed.

    Rival: jamming is a property of the landscape alone
    Source: derived from paper B, Fig. 4 (its three lines of jamming, for three wall times)
    Short: jamming depends on the step budget
    """
    reached = parameters_by_budget(budgets).dropna(axis=1)
    if reached.shape[1] < 3:
        return None
    return estimates.exponent(reached.columns.to_numpy(float), reached.to_numpy())


@claim(
    "B.Fig6-gain-both", accept=(0.1, math.inf), rival=0, figure="fig-b-4", at={"scale": [0.00390625, 12.0, 1048576.0]}
)
def averaging_gain(slices=studies.ensembles["slices"], second_data=studies.ensembles["second_data"]):
    """Averaging improves performance at intermediate width, on both data sets.

    Mean error minus ensemble error at twice the width of jamming, the smallest over the output scales of both, of the
    training sets that both have, percentage points.

    Rival: no gain
    Source: paper B, Fig. 6
    Short: gain of averaging, both data sets
    """
    gains = []
    for table in (slices, second_data):
        rows = table[table.seed.isin(set(slices.seed) & set(second_data.seed))]
        widths = jamming.transitions(studies.at_end(rows), "h").dropna(axis=1).mean()
        for scale, cut in _cuts(rows).items():
            twice = 2 * widths.get(scale, math.inf)
            if twice <= cut.h.max():
                gains.append(jamming.gain_of_averaging(cut, pd.Series(twice, sorted(set(cut.seed)))))
    return least(np.array(gains).T) if gains else None


@claim(
    "B.Fig6-losses",
    accept=(-0.5, 0.5),
    rival=0.9,
    figure="fig-b-4",
    at={"loss": ["logistic", "soft_hinge"], "scale": 12},
)
def losses_apart(
    soft_hinge=studies.ensembles["soft_hinge"],
    cross_entropy=studies.ensembles["cross_entropy"],
    slices=studies.ensembles["slices"],
):
    """The choice of the loss does not influence performance much.

    Ensemble error beyond jamming with the soft hinge and with cross-entropy, both to a margin of one, less that with
    the quadratic hinge, at scale 12, larger of the two in size, percentage points.

    Rival: the gain of the best scale over the lazy regime at a width of 16
    Source: paper B, Sec. 1.1
    Short: influence of the loss
    """
    scale = soft_hinge["scale"].iloc[0]
    quadratic = _cuts(slices)[scale].set_index(["seed", "h"])
    fitting = jamming.FACTOR * _mean_width(slices)[scale].iloc[0]
    differences = []
    for table in (soft_hinge, cross_entropy):
        rows = studies.at_end(table)
        excess = rows[rows.h >= fitting].set_index(["seed", "h"]).ensemble_error - quadratic.ensemble_error
        differences.append(mean(100 * excess.dropna().groupby("seed").mean().to_numpy()))
    return max(differences, key=lambda difference: abs(difference.value))


@claim("B.Fig4-weakly", accept=(-0.3, 0.5), rival=1, figure="fig-b-4")
def width_gain_of_ensembles(slices=studies.ensembles["slices"]):
    """Beyond jamming the ensemble's error weakly varies with the width.

    Its fall from twice the width at jamming to the widest networks, over that of single networks, mean over three
    scales.

    Rival: the ensemble gains from width as much as a single network
    Elsewhere: 0.31 at scale $2^{20}$ alone; of twenty networks, widths to 16, 0.32
    Source: paper B, Sec. 3 and Fig. 4
    Short: ensemble's error hardly varies with width
    """
    widths = _mean_width(slices)
    falls = [jamming.gain_of_width(rows, 2 * widths[scale]) for scale, rows in _cuts(slices).items()]

    def mean_ratio(sets):
        ensemble_falls, single_falls = sets.mean(0).T
        return float((ensemble_falls / single_falls).mean())

    return jackknife(np.stack(falls, axis=1), mean_ratio)


@claim(
    "B.Sec3-improves",
    accept=(0.1, math.inf),
    rival=0,
    figure="fig-b-local",
    at={"h": 256, "scale": [0.00390625, 12.0, 1048576.0]},
)
def gain_of_the_last_width(slices=studies.ensembles["slices"]):
    """Beyond jamming the performance of single networks continuously improves with the width.

    Fall of their error from half of the largest width to the largest, mean over three output scales, percentage points.

    Rival: the error of wide networks no longer hangs on the width
    Source: paper B, Sec. 3: performance "continuously improves" as networks widen
    Short: single networks improve to the last
    """
    falls = []
    for rows in _cuts(slices).values():
        by_width = 100 * rows.pivot(index="seed", columns="h", values="error")
        widest = by_width.columns.max()
        if widest / 2 not in by_width:
            return None
        falls.append(by_width[widest / 2] - by_width[widest])
    gains = pd.concat(falls, axis=1).dropna().mean(axis=1).to_numpy()
    return mean(gains) if len(gains) > 1 else None


@claim(
    "B.Sec3-limited-width",
    accept=(0.1, math.inf),
    rival=0,
    profiles=("laptop",),
    figure="fig-b-4",
    at={"h": 16, "members": 20},
)
def ensemble_of_limited_width(large_ensemble=studies.ensembles["large_ensemble"], slices=studies.ensembles["slices"]):
    """Optimal performance is found by averaging networks of limited width.

    Error of one network of the largest width less that of an ensemble of twenty of width 16, largest scale, percentage
    points.

    Rival: one wide network has an equal error
    Elsewhere: weight decay 0.1 0.85
    Source: paper B, Sec. 3
    Short: twenty narrow networks against the widest
    """
    cuts = _cuts(slices)
    scale = _scale(cuts, "largest")
    ends = studies.at_end(large_ensemble)
    lazy = cuts[scale]
    single_errors = lazy[lazy.h == lazy.h.max()].set_index("seed").error
    ensemble_errors = ends[ends.h == ends.h.max()].set_index("seed").ensemble_error
    differences = 100 * (single_errors - ensemble_errors).dropna().to_numpy()
    beyond_jamming = ends.h.max() >= jamming.FACTOR * _mean_width(slices)[scale].iloc[0]
    return mean(differences) if len(differences) > 1 and beyond_jamming else None


@claim("B.Fig4-change-diverges", accept=(-1.3, -0.7), stated=-1, rival=0, figure="fig-b-8d", at={"scale": 1048576})
def change_at_jamming(slices=studies.ensembles["slices"]):
    """Near jamming networks leave the lazy regime since their output explodes.

    Exponent in $N-N^*$ of the relative change of the tangent kernel at the largest scale, that of the output's norm.

    Rival: a lazy network stays lazy down to jamming
    Elsewhere: -0.36 at scale 12, -0.05 at $2^{-8}$
    Source: paper B, Sec. 4
    Short: kernel change diverges at jamming
    """
    cuts = _cuts(slices)
    scale = _scale(cuts, "largest")
    jammed = jamming.transitions(studies.at_end(slices), "parameters")[scale]
    return mean(jamming.divergence(cuts[scale], "kernel_change", jammed)), cuts[scale]


def _early(slices):
    """The rows of the first stop on the way, by their cells."""
    return slices[slices.stop == slices.stop.min()].set_index("cell")


@claim(
    "B.Sec2-early-stopping",
    accept=(-0.3, 0.3),
    stated=0,
    rival=-1,
    figure="fig-b-sec2",
    at={"stops": 0.9, "scale": 1048576},
)
def divergence_when_stopped(slices=studies.ensembles["slices"]):
    """Early stopping removes the divergence of the predictor's norm.

    Exponent in $N-N^*$ of the norm when half of the points have margins beyond 0.9.

    Rival: the norm diverges as at the end of training
    Elsewhere: -0.06 at scale 12, -0.01 at $2^{-8}$
    Source: paper B, Sec. 2
    Short: stopped early, no divergence
    """
    cuts = _cuts(slices)
    scale = _scale(cuts, "largest")
    jammed = jamming.transitions(studies.at_end(slices), "parameters")[scale]
    rows = cuts[scale]
    stopped_rows = rows.assign(norm=rows.cell.map(_early(slices).norm))
    return mean(jamming.divergence(stopped_rows, "norm", jammed)), rows


@claim("B.Sec2-weight-decay", accept=(-0.3, 0.3), stated=0, rival=-1, figure="fig-b-sec2", at={"decay": 0.1})
def divergence_under_decay(decayed=studies.ensembles["weight_decay"], slices=studies.ensembles["slices"]):
    """Weight decay towards the initial weights removes the divergence of the predictor's norm too.

    Exponent in $N-N^*$ of the norm, decay 0.1.

    Rival: the norm diverges as without weight decay
    Source: paper B, Sec. 2
    Short: with weight decay, no divergence
    """
    jammed = jamming.transitions(studies.at_end(slices), "parameters")
    return mean(jamming.divergence(studies.at_end(decayed), "norm", jammed[max(jammed)])), decayed


def _gain_near_jamming(slices):
    """What a stop gains at jamming less what it gains at eight times the width, ``(seeds, scales)``."""
    early = _early(slices)
    widths = _mean_width(slices)
    by_scale = []
    for scale, rows in _cuts(slices).items():
        table = rows.assign(gain=100 * (rows.error - rows.cell.map(early.error)))
        h_star = widths[scale].clip(upper=rows.h.max())
        beyond = (8 * widths[scale]).clip(upper=rows.h.max())
        by_scale.append(jamming.at_width(table, "gain", h_star) - jamming.at_width(table, "gain", beyond))
    return np.array(by_scale).T


@claim(
    "B.Sec2-near-jamming-lazy",
    accept=(0.5, math.inf),
    rival=0,
    figure="fig-b-sec2",
    given={"at_scale": "largest"},
    at={"scale": 1048576},
)
@again(
    "B.Sec2-near-jamming-middle",
    part_of="B.Sec2-near-jamming-lazy",
    given={"at_scale": "middle"},
    at={"scale": 12},
    statement="At the middle scale, too, regularisation is most efficient near jamming.",
    measure="The same next to the cross-over, percentage points; found on these training sets.",
    short="stopping helps most near jamming, scale 12",
)
def stopping_near_jamming(slices=studies.ensembles["slices"], *, at_scale):
    """Where the norm diverges, regularisation is most efficient near jamming.

    What single networks gain from a stop at half of the margins there, less what they gain at eight times the width, at
    the largest scale, percentage points.

    Rival: early stopping helps equally far from jamming
    Elsewhere: 0.10 at $2^{-8}$; twenty networks, widths to 16, 0.81
    Source: paper B, Sec. 2: "any perturbation to gradient flow ... will destroy this divergence. Such regularizations
    are thus most efficient near jamming"
    Short: stopping helps most near jamming, lazy regime
    """
    cuts = _cuts(slices)
    scale = _scale(cuts, at_scale)
    return mean(_gain_near_jamming(slices)[:, sorted(cuts).index(scale)]), cuts[scale]


def _far_from_jamming(slices):
    """One window for all scales: the numbers of parameters from this on, far from the transition of the last to jam."""
    return FARTHER * jamming.transitions(studies.at_end(slices), "parameters").mean().max()


@claim(
    "B.Fig8D-far-feature",
    accept=(-0.3, -0.2),
    stated=-0.25,
    rival=-0.5,
    headline=True,
    figure="fig-b-local",
    given={"at_scale": "smallest"},
    at={"scale": 0.00390625},
)
@again(
    "B.Fig8D-far-lazy",
    given={"at_scale": "largest"},
    source="paper B, Sec. 3",
    statement="In the lazy regime too the fluctuations of the output over initialisations fall as $N^{-1/4}$.",
    short="fluctuation far from jamming, lazy",
    at={"scale": 1048576},
)
def fluctuation_far_from_jamming(slices=studies.ensembles["slices"], *, at_scale):
    """In the feature regime the fluctuations of the output over initialisations fall as $N^{-1/4}$.

    Exponent far from the jamming of all scales.

    Rival: independent parameters: the central limit in $N$
    Elsewhere: nearer to jamming, on 1000 points, -0.37 (feature), -0.38 (lazy); far from the jamming of one scale alone
    -0.344 at $2^{20}$, -0.292 at 12; widths to 16 -2.2; weight decay 0.1 -0.255
    Source: paper B, Fig. 8D and Sec. 3
    Short: fluctuation far from jamming, feature
    """
    cuts = _cuts(slices)
    rows = cuts[_scale(cuts, at_scale)]
    if rows.h.nunique() < 2:
        return None
    window = pd.Series(_far_from_jamming(slices), sorted(set(rows.seed)))
    return mean(jamming.slopes_beyond(rows, "fluctuation", window)), rows


@claim(
    "B.Sec3-far-excess",
    accept=(-0.6, -0.4),
    stated=-0.5,
    rival=-1,
    figure="fig-b-local",
    given={"in_fluctuation": False},
)
@again(
    "B.Sec3-quadratic",
    accept=(1.7, 2.3),
    stated=2,
    rival=(1, "the excess is proportional to the fluctuation: every point that it moves becomes an error"),
    given={"in_fluctuation": True},
    statement="The excess error is quadratic in the fluctuation.",
    measure=(
        "Exponent of the one in the other, common to three output scales, far from the jamming of all; "
        "the larger half of the widths decides."
    ),
    short="excess quadratic in the fluctuation",
)
def excess_far_from_jamming(slices=studies.ensembles["slices"], *, in_fluctuation):
    """The excess error over the ensemble's falls as $N^{-1/2}$.

    Exponent common to three output scales, far from the jamming of all; the larger half of the widths decides.

    Rival: independent parameters: the variance falls as $1/N$
    Elsewhere: in the fluctuation 0.21 at widths to 16
    Source: paper B, Sec. 3
    Short: excess error far from jamming
    """
    if slices.h.nunique() < 2:
        return None
    smallest = _far_from_jamming(slices)
    excess, against = [], []
    for rows in _cuts(slices).values():
        table = rows.assign(excess=100 * (rows.error - rows.ensemble_error))
        excess.append(jamming.beyond(table, "excess", smallest))
        if in_fluctuation:
            against.append(jamming.beyond(table, "fluctuation", smallest))
    exponent = jamming.common_exponent(excess, against=against)
    sizes = excess[0].columns
    larger = sizes[len(sizes) // 2 :]
    if not 1 < len(larger) < len(sizes):
        return exponent
    late = jamming.common_exponent([curve[larger] for curve in excess], against=[curve[larger] for curve in against])
    return Drift(exponent, late, tuple(sizes), tuple(larger))


@claim("B.Sec2-half-negative", accept=(0, 0.05), stated=0, rival=0.14, figure="fig-b-8bc")
def apart_from_half(networks=studies.initialisation["widths"]):
    r"""At initialisation half of the eigenvalues of $H_p$ of a ReLU network on random data are negative.

    Root mean square deviation from 1/2 of the share among the non-zero eigenvalues of single networks, at the largest
    width; random labels, two hidden layers. With labels $y$ and $-y$ alike the mean is one half exactly.

    Rival: the share where training gets stuck: 0.36 of all are negative
    Source: paper B, Sec. 2: "for a fully-connected Relu net and random data at initialization, Hp has a symmetric
    spectrum and N− ≈ N/2"
    Short: half of $H_p$'s eigenvalues are negative
    """
    widest = networks[networks.h == networks.h.max()]
    return jackknife(widest.negative.to_numpy(), lambda share: float(np.sqrt(np.square(share - 0.5).mean()))), widest


@claim("B.Sec3-same", accept=(-0.1, 0.1), stated=0, rival=0.5, figure="fig-b-local", at={"scale": 1048576})
def fluctuations_alike(slices=studies.ensembles["slices"], kernels=studies.kernels["widths"]):
    """In the lazy regime the predictor acquires the same fluctuations over initial weights as the tangent kernel.

    Exponent in $h$, from 32 to 256, of the output's fluctuation after training less that of the kernel's relative
    fluctuation at the start, on as many images of the same networks; largest output scale.

    Rival: an output that settles at a fluctuation of its own, or a kernel's that does not matter
    Elsewhere: nearer to jamming, on 1000 points at widths from 32 to 128, -0.23
    Source: paper B, Sec. 3: "the predictor fN must acquire the same fluctuations [63], as observed"
    Short: output fluctuates as the kernel
    """
    cuts = _cuts(slices)
    lazy = cuts[_scale(cuts, "largest")].pivot(index="seed", columns="h", values="fluctuation")
    by_width = kernels.pivot(index="seed", columns="h", values="fluctuation")
    widths = [h for h in by_width.columns if h in lazy.columns]
    seeds = by_width.index.intersection(lazy.index)
    if len(widths) < jamming.SIZES or len(seeds) < 2:
        return None
    h = np.array(widths, float)
    of_output, of_kernel = (estimates.slopes(h, table.loc[seeds, widths].to_numpy()) for table in (lazy, by_width))
    return mean(of_output - of_kernel)


@claim("B.Fig9-fc", accept=(0.1, math.inf), rival=0, figure="fig-b-4")
def lazy_against_feature(second_data=studies.ensembles["second_data"]):
    """For fully connected networks the lazy regime tends to outperform feature learning.

    Ensemble error of feature minus lazy, percentage points.

    Rival: no difference
    Source: paper B, Fig. 9 left and Sec. 4
    Short: lazy better than feature
    """
    ends = studies.at_end(second_data)
    widest = ends[ends.h == ends.h.max()]
    errors = 100 * widest.pivot(index="seed", columns="scale", values="ensemble_error")
    return mean((errors.iloc[:, 0] - errors.iloc[:, -1]).to_numpy()), widest
