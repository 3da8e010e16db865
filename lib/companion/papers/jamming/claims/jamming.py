"""Claims of chapter 3: where networks jam, what diverges there, and what averaging and width gain."""

import math

import numpy as np
import pandas as pd

from companion import estimates
from companion.book.claims import again, claim
from companion.estimates import Drift, Estimate, jackknife, least, mean
from companion.papers.compression.theory.learning_curves import drift
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


@claim("B.Fig4-crossover", accept=(-1, 1), rival=1.05, looks=2, part_of="B.Fig4-flat", figure="fig-b-4")
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


@claim("B.Fig4-crossover-second", accept=(-1, 1), rival=1.05, part_of="B.Fig4-flat", figure="fig-b-4")
def lazy_line_on_second_data(second_data=studies.ensembles["second_data"]):
    r"""On the second data set, too, the tangent kernel changes by its own norm at an output scale of order one.

    $\log_{10}$ of the scale at the largest width; found on these training sets.

    Rival: a cross-over at $\alpha=1$, where the scale is $h^{1/2}$ with $h=128$
    Source: paper B, Fig. 4 right and Sec. 4
    Short: the same on the second data set
    """
    widest = second_data[second_data.h == second_data.h.max()]
    crossed = jamming.crossings(studies.at_end(widest)).to_numpy()
    return (mean(crossed) if np.isfinite(crossed).all() else None), widest


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


@claim(
    "B.Fig4-best-near-widest",
    accept=(0.1, math.inf),
    rival=0,
    part_of="B.Fig4-best-near",
    figure="fig-b-4",
    at={"data": "mnist", "p": 1000},
)
def error_above_crossover_of_widest(
    widest=studies.ensembles["widest"], cross_over=studies.ensembles["cross_over"], *, map_scales
):
    """On 10 components of MNIST the ensemble error is smallest near the cross-over, also for the widest networks.

    Error at the smallest and at the largest scale minus that at the scale next to the cross-over, at the largest of the
    three widths, on 1000 points, smaller of the two, percentage points.

    Rival: one of the two ends has an equal error
    Elsewhere: 250 points 0.72, on the map's six scales 0.95
    Source: paper B, Sec. 4: "the best performance for MNIST 10 PCA appears to occur the cross-over region"
    Short: best error near the cross-over, widest
    """
    return _least_above_crossover(widest, cross_over, map_scales), widest


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


def parameters_at_jamming(table):
    """The numbers of points ``P (sizes,)``, and ``N*`` of each training set at each, ``(seeds, sizes)``.

    ``N*`` is the number of parameters of which half of the networks fit, between the widths that a bisection visits.

    Args:
        table: rows with ``p``, ``seed``, ``parameters`` and ``fitted``.
    """
    sizes = {}
    for (p, seed), rows in table.groupby(["p", "seed"]):
        rows = rows.sort_values("parameters")
        sizes[p, seed] = jamming.transition(rows.parameters, rows.fitted)
    by_size = pd.Series(sizes).unstack(0)
    return by_size.columns.to_numpy(float), by_size.to_numpy(float)


@claim("B.Fig8A-fewer", accept=(0.05, math.inf), rival=0, looks=4, figure="fig-b-8a", at={"data": "mnist"})
def jamming_of_random_over_digits(random=studies.fitting_width["random"], digits=studies.fitting_width["images"]):
    """The number of parameters at jamming grows with a smaller exponent of $P$ on MNIST than on random data of the
    same dimension.

    Difference of the exponents, on the same sizes.

    Rival: structure makes no difference: both are equally sub-linear
    Source: paper B, Fig. 8A and Sec. 2
    Short: digits need fewer parameters than random labels
    """
    p, random_sizes = parameters_at_jamming(random)
    _, digit_sizes = parameters_at_jamming(digits)
    return estimates.exponent(p, random_sizes / digit_sizes), pd.concat([random, digits])


@claim("B.Fig8A-random", accept=(0.9, 1.1), stated=1, rival=2, looks=3, figure="fig-b-8a")
def jamming_of_random_labels(random=studies.fitting_width["random"]):
    """The number of parameters at jamming grows linearly with $P$ on random data.

    Exponent.

    Rival: the width, not the number of parameters, is proportional to $P$
    Source: paper B, Fig. 8A
    Short: parameters at jamming, random labels, in $P$
    """
    return drift(lambda rows: estimates.exponent(*parameters_at_jamming(rows)), random)


def _growth_left_of_jamming(rows):
    """Error at jamming less that at ``h/1.5`` in percentage points, mean over the numbers of points.

    ``None`` where jamming is too near to the smallest width, or for a single training set.
    """
    widths = sorted(set(rows.h))
    seeds = sorted(set(rows.seed))
    heights = []
    for _, group in rows.groupby("p"):
        jammed = jamming.transition(widths, group.groupby("h").fitted.mean())
        if jammed < jamming.FACTOR * widths[0] or len(seeds) < 2:
            return None
        heights.append(100 * jamming.rise(group, "error", pd.Series(jammed, seeds)))
    return mean(np.mean(heights, axis=0))


@claim("B.Fig6-peak", accept=(0.1, math.inf), rival=-2.3, looks=2, figure="fig-b-6")
def rise_to_jamming(sizes=studies.ensembles["sizes"]):
    """The test error has a cusp at jamming, the peak of a double descent.

    Error of single networks at jamming minus that at $h/1.5$ at the middle scale, mean over the numbers of points,
    percentage points.

    Rival: one descent: at 120 points the error falls by an equal amount on both sides
    Source: paper B, Fig. 6
    Short: peak at jamming, stopped networks
    """
    ends = studies.at_end(sizes)
    counts = sorted(set(ends.p))
    growth = _growth_left_of_jamming(ends)
    largest = _growth_left_of_jamming(ends[ends.p == counts[-1]])
    return Drift(growth, largest, tuple(counts), (counts[-1],)) if growth else None


@claim(
    "B.Fig6-twenty", accept=(-math.inf, 0.5), rival=1.4, looks=2, figure="fig-b-6", at={"members": 20, "scale": 1048576}
)
def bump_of_large_ensemble(large_ensemble=studies.ensembles["large_ensemble"], slices=studies.ensembles["slices"]):
    """Averaging an ensemble of twenty eliminates the cusp.

    Ensemble error at jamming minus the mean of those at $h/1.5$ and $1.5h$, at the largest scale, percentage points.

    Rival: the ensemble keeps the bump that five networks have
    Elsewhere: weight decay 0.1 -0.19
    Source: paper B, Fig. 6
    Short: twenty networks average the peak away
    """
    ends = studies.at_end(large_ensemble)
    widths = _mean_width(slices)
    h_star = widths[max(widths)].iloc[0]
    inside = ends.h.min() <= h_star / jamming.FACTOR and jamming.FACTOR * h_star <= ends.h.max()
    if not inside:
        return None
    return mean(100 * jamming.bump(ends, "ensemble_error", pd.Series(h_star, sorted(set(ends.seed)))))


@claim("B.Fig6-gain", accept=(0.1, math.inf), rival=0, looks=2, figure="fig-b-6")
def averaging_gain(slices=studies.ensembles["slices"]):
    """Averaging improves performance at intermediate width.

    Mean error minus ensemble error at twice the width of jamming, smallest of the three, percentage points.

    Rival: no gain
    Elsewhere: 7.1 at scale $2^{20}$ alone, 4.0 at 12, 3.5 there on 500 points; twenty networks, widths to 16, 9.1
    Source: paper B, Fig. 6
    Short: gain of averaging
    """
    widths = jamming.transitions(studies.at_end(slices), "h")
    gains = [jamming.gain_of_averaging(rows, 2 * widths[scale]) for scale, rows in _cuts(slices).items()]
    return least(np.array(gains).T)


@claim("B.Fig6-gain-second", accept=(0.1, math.inf), rival=0, figure="fig-b-4")
def averaging_gain_second_data(second_data=studies.ensembles["second_data"]):
    """On the second data set too averaging improves performance at intermediate width.

    Mean error minus ensemble error at twice the width of jamming, smallest over its scales, percentage points.

    Rival: no gain
    Elsewhere: 0.75 at scale 0.5 alone, 1.9 at 12, 3.9 at $2^{20}$
    Source: paper B, Fig. 6 and Sec. 2
    Short: gain of averaging, second data set
    """
    widths = jamming.transitions(studies.at_end(second_data), "h").dropna(axis=1).mean()
    gains = []
    for scale, rows in _cuts(second_data).items():
        twice = 2 * widths.get(scale, math.inf)
        if twice <= rows.h.max():
            gains.append(jamming.gain_of_averaging(rows, pd.Series(twice, sorted(set(rows.seed)))))
    return least(np.array(gains).T) if gains else None


@claim(
    "B.Fig6-losses",
    accept=(-0.5, 0.5),
    rival=0.9,
    figure="fig-b-6",
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


@claim("B.Fig4-weakly", accept=(-0.3, 0.5), rival=1, looks=2, figure="fig-b-6")
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
    "B.Sec3-limited-width",
    accept=(0.1, math.inf),
    rival=0,
    profiles=("laptop",),
    figure="fig-b-6",
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


@claim(
    "B.Sec2-norm",
    accept=(-1.3, -0.7),
    stated=-1,
    rival=-0.5,
    looks=2,
    figure="fig-b-8d",
    given={"quantity": "norm", "at_scale": "largest"},
)
@again(
    "B.Sec2-norm-middle",
    part_of="B.Sec2-norm",
    given={"quantity": "norm", "at_scale": "middle"},
    source=(
        'paper B, Sec. 2, of the peak that this divergence makes: "as shown in Fig. 6 this phenomenon '
        'occurs independently"'
    ),
    statement="The norm of the predictor diverges like $1/(N-N^*)$ at the middle output scale, too.",
    measure="Exponent at the middle scale of the cuts, next to the cross-over, on the same window.",
    short="the same at the middle scale",
)
@again(
    "B.Fig8D-quadratic",
    rival=(-2, "a quadratic singularity of the fluctuation itself, which would outgrow the norm"),
    given={"quantity": "fluctuation", "at_scale": "largest"},
    source="paper B, Fig. 8D",
    statement="The explosion of the fluctuations at jamming is a quadratic singularity, of their square.",
    measure="Exponent in $N-N^*$ of the fluctuation at the largest scale, on the window of the norm's.",
    short="fluctuation diverges at jamming",
    at={"scale": 1048576},
)
@again(
    "B.Fig4-change-diverges",
    rival=(0, "a lazy network stays lazy down to jamming"),
    looks=3,
    given={"quantity": "kernel_change", "at_scale": "largest"},
    source="paper B, Sec. 4",
    statement="Near jamming networks leave the lazy regime since their output explodes.",
    measure=(
        "Exponent in $N-N^*$ of the relative change of the tangent kernel at the largest scale, that of "
        "the output's norm."
    ),
    short="kernel change diverges at jamming",
    at={"scale": 1048576},
)
def divergence_at_jamming(slices=studies.ensembles["slices"], *, quantity, at_scale):
    """The norm of the predictor diverges like $1/(N-N^*)$ (the largest output scale).

    Exponent at the largest output scale.

    Rival: least squares, where the squared norm diverges as $1/(N-N^*)$
    Elsewhere: the norm -0.27 at scale 12, -0.60 at 256 (the map), -0.07 at $2^{-8}$; the fluctuation -0.40 at 12, -0.24
    at $2^{-8}$; the kernel's change -0.36 and -0.05
    Source: paper B, Sec. 2
    Short: norm diverges as $1/(N-N^*)$
    """
    cuts = _cuts(slices)
    scale = _scale(cuts, at_scale)
    jammed = jamming.transitions(studies.at_end(slices), "parameters")[scale]
    return mean(jamming.divergence(cuts[scale], quantity, jammed)), cuts[scale]


def _early(slices):
    """The rows of the first stop on the way, by their cells."""
    return slices[slices.stop == slices.stop.min()].set_index("cell")


@claim(
    "B.Sec2-early-stopping",
    accept=(-0.3, 0.3),
    stated=0,
    rival=-1,
    looks=2,
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


@claim("B.Sec2-near-jamming", accept=(0.5, math.inf), rival=0, looks=2, figure="fig-b-gain")
def stopping_near_jamming(slices=studies.ensembles["slices"]):
    """Regularisation is most efficient near jamming.

    What single networks gain from a stop at half of the margins there, less what they gain at eight times the width,
    least of three scales, percentage points.

    Rival: early stopping helps equally far from jamming
    Elsewhere: 3.1 at scale $2^{20}$ alone, 1.5 at 12, 1.6 there on 500 points; twenty networks, widths to 16, 0.81
    Source: paper B, Sec. 2
    Short: stopping helps most near jamming
    """
    return least(_gain_near_jamming(slices))


@claim(
    "B.Sec2-near-jamming-lazy",
    accept=(0.5, math.inf),
    rival=0,
    looks=3,
    part_of="B.Sec2-near-jamming",
    figure="fig-b-gain",
    at={"scale": 1048576},
)
def stopping_near_jamming_lazy(slices=studies.ensembles["slices"]):
    """Where the norm diverges, regularisation is most efficient near jamming.

    The same at the largest scale, percentage points.

    Rival: early stopping helps equally far from jamming
    Elsewhere: 1.5 at scale 12, 0.10 at $2^{-8}$; twenty networks, widths to 16, 0.81
    Source: paper B, Sec. 2: "any perturbation to gradient flow ... will destroy this divergence. Such regularizations
    are thus most efficient near jamming"
    Short: stopping helps most near jamming, lazy regime
    """
    cuts = _cuts(slices)
    return mean(_gain_near_jamming(slices)[:, -1]), cuts[_scale(cuts, "largest")]


@claim(
    "B.Sec2-near-jamming-middle", accept=(0.5, math.inf), rival=0, part_of="B.Sec2-near-jamming", figure="fig-b-gain"
)
def stopping_near_jamming_middle(slices=studies.ensembles["slices"]):
    """At the middle scale, too, regularisation is most efficient near jamming.

    The same next to the cross-over, percentage points; found on these training sets.

    Rival: early stopping helps equally far from jamming
    Source: paper B, Sec. 2: "any perturbation to gradient flow ... will destroy this divergence. Such regularizations
    are thus most efficient near jamming"
    Short: stopping helps most near jamming, scale 12
    """
    cuts = _cuts(slices)
    middle = sorted(cuts).index(_scale(cuts, "middle"))
    return mean(_gain_near_jamming(slices)[:, middle]), cuts[_scale(cuts, "middle")]


def _far_from_jamming(slices):
    """One window for all scales: the numbers of parameters from this on, far from the transition of the last to jam."""
    return FARTHER * jamming.transitions(studies.at_end(slices), "parameters").mean().max()


@claim(
    "B.Fig8D-far-feature",
    accept=(-0.3, -0.2),
    stated=-0.25,
    rival=-0.5,
    looks=5,
    headline=True,
    figure="fig-b-local",
    given={"at_scale": "smallest"},
    at={"scale": 0.00390625},
)
@again(
    "B.Fig8D-far-lazy",
    looks=3,
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
    looks=3,
    figure="fig-b-local",
    given={"in_fluctuation": False},
)
@again(
    "B.Sec3-quadratic",
    accept=(1.7, 2.3),
    stated=2,
    rival=(1, "the excess is proportional to the fluctuation: every point that it moves becomes an error"),
    looks=1,
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
    Elsewhere: in the fluctuation 0.21 at widths to 16, 1.2 on 500 points at scale 12
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


@claim("B.Sec3-kernel", accept=(-0.55, -0.45), stated=-0.5, rival=-1, figure="fig-b-sec3")
def kernel_fluctuation_in_width(networks=studies.initialisation["widths"]):
    """The relative fluctuations of the tangent kernel at initialisation fall as $h^{-1/2}$.

    Exponent.

    Rival: $1/h$, as the kernel's change in training
    Source: paper B, Sec. 3
    Short: kernel fluctuates as $h^{-1/2}$
    """
    kernels = {}
    for h, rows in networks.groupby("h"):
        kernels[h] = np.stack([np.array(kernel) for kernel in rows.sort_values("seed").kernel])
    widths = list(kernels)

    def slope(seeds):
        scatter = [jamming.relative_fluctuation(seeds[:, i]) for i in range(len(widths))]
        return np.polyfit(np.log(widths), np.log(scatter), 1)[0]

    return jackknife(np.stack([kernels[h] for h in widths], axis=1), slope)


@claim("B.Fig9-fc", accept=(0.1, math.inf), rival=0, looks=2, figure="fig-b-9")
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
