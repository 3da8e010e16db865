"""Claims of chapter 3 on networks at rest, held at jamming, or descending by batches."""

import math

import numpy as np
import pandas as pd

from companion import estimates
from companion.book.claims import again, claim
from companion.estimates import jackknife, mean
from companion.papers.jamming.studies import jamming as ensembles
from companion.papers.jamming.studies import rest as studies
from companion.papers.jamming.theory import jamming

CHAPTER = "03"
WIDTHS = 5  # the fewest from which a divergence at jamming is read


def _largest_ensembles(rows):
    """The rows of the largest ensembles: the stored ones, where these are there."""
    return rows[rows.members == rows.members.max()]


def _at_most_points(rows):
    """The rows of the largest ensembles at the most points."""
    return _largest_ensembles(rows[rows.p == rows.p.max()])


def _height_at_rest(rows, value="error"):
    """The height of the peak after the last round, ``(seeds,)``."""
    return jamming.peak_height(rows, rows.newton_steps.max(), value)


def followed_longest(*tables):
    """The rows of the networks that were followed for the most Newton steps, each once: those stored, if there are any.

    Args:
        tables: rows of ``rest.peak_at_jamming``.
    """
    rows = pd.concat(tables).drop_duplicates(["cell", "newton_steps"])
    longest = rows[rows.newton_steps == rows.newton_steps.max()]
    return rows[rows.cell.isin(longest.cell)]


def parameters_at_rest(*tables):
    """``N*`` of each training set after the last round: columns ``p``, ``seed``, ``words`` and ``parameters``.

    Sets whose widths do not hold it are left out.

    Args:
        tables: rows of ``rest.peak_at_jamming`` of one output scale.
    """
    rows = followed_longest(*tables)
    rows = rows[rows.newton_steps == rows.newton_steps.max()]
    sizes = []
    for (p, words, seed), group in rows.groupby(["p", "words", "seed"]):
        group = group.drop_duplicates("h").sort_values("h")
        if group.fitted.iloc[0] < 0.5 < group.fitted.iloc[-1]:
            size = jamming.transition(group.parameters, group.fitted)
            sizes.append({"p": p, "seed": seed, "words": words, "parameters": size})
    return pd.DataFrame(sizes, columns=["p", "seed", "words", "parameters"])


def bumps_at_own_jamming(rows, value):
    """The height of a curve at the width where half of the networks fit at rest, per cent; one per training set.

    The width is that of all sets of a number of points. Sets whose widths do not hold it and a factor 1.5 around it
    are left out. See ``jamming.bump``.

    Args:
        rows: of ``rest.peak_at_jamming`` at one output scale.
        value: a column.
    """
    rows = followed_longest(rows)
    rows = rows[rows.newton_steps == rows.newton_steps.max()]
    heights = {}
    for (p, words), group in rows.groupby(["p", "words"]):
        counts = group.groupby("seed").h.nunique()
        complete = group[group.seed.isin(counts.index[counts == group.h.nunique()])]
        shares = group.groupby("h").fitted.mean()
        if complete.empty or not shares.iloc[0] < 0.5 < shares.iloc[-1]:
            continue
        h_star = jamming.transition(shares.index.to_numpy(float), shares.to_numpy())
        if not shares.index[0] <= h_star / jamming.FACTOR <= h_star * jamming.FACTOR <= shares.index[-1]:
            continue
        seeds = sorted(set(complete.seed))
        for seed, height in zip(seeds, jamming.bump(complete, value, pd.Series(h_star, seeds)), strict=True):
            heights[p, words, seed] = 100 * height
    return pd.Series(heights, dtype=float)


def heights_of_peak(rows, newton_steps, value="error"):
    """The mean height of the peak and its interval: a row for each number of points ``p`` and pool of images.

    Columns are ``p``, ``height``, ``low`` and ``high``, in percentage points; see ``jamming.peak_height``. Pools differ
    in the number of ``test`` images.

    Args:
        rows: of ``rest.peak_at_jamming``, at two widths for each ``p`` and ``test``.
        newton_steps: after which the value is read.
        value: a column.
    """
    heights = []
    for (p, _), sets in rows.groupby(["p", "test"]):
        height = mean(jamming.peak_height(sets, newton_steps, value))
        heights.append({"p": p, "height": height.value, "low": height.low, "high": height.high})
    return pd.DataFrame(heights)


@claim(
    "B.Fig6-rest-cusp",
    accept=(0.3, math.inf),
    rival=0,
    headline=True,
    figure="fig-b-heights",
    given={"networks": studies.peak_at_jamming["fresh_whole"]},
    at={"p": 5000, "scale": 12},
)
@again(
    "B.Fig6-rest-lazy",
    headline=True,
    given={"networks": studies.peak_at_jamming["fresh_whole_lazy"]},
    at={"p": 5000},
    statement="In the lazy regime, too, single networks at rest have their largest error at jamming.",
    measure=(
        "Error at the width of the norm's peak minus the least of narrower ones, both widths chosen on "
        "another training set, largest scale, 5000 points, percentage points."
    ),
    short="peak at rest, lazy",
)
def peak_at_rest(networks):
    """Trained to rest, single networks have their largest error at jamming, the peak of a double descent.

    Their error at the width of the norm's peak minus the least of narrower ones, both widths chosen on another training
    set, scale 12, 5000 points, percentage points.

    Rival: no peak: the error does not rise towards jamming
    Source: paper B, Fig. 6 and Sec. 2
    Short: peak at rest, scale 12
    """
    large = _at_most_points(networks)
    return mean(_height_at_rest(large)), large


@claim(
    "B.Fig6-rest-ensemble-feature",
    accept=(-math.inf, 0.3),
    rival=(0.39, "the peak of the single networks"),
    figure="fig-b-heights",
    part_of="B.Fig6-rest-twenty",
    at={"p": 1000, "scale": 0.00390625},
)
def peak_of_ensemble(networks=studies.peak_at_jamming["fresh_feature"]):
    """In the feature regime, too, averaging networks at rest eliminates the peak.

    Error of the mean of six at the width of the norm's peak minus that at the width of the least error of narrower
    single networks, both chosen on another training set, smallest scale, 1000 points, percentage points.

    Rival: the ensemble keeps the peak of single networks
    Source: paper B, Fig. 6
    Short: peak of an ensemble at rest, feature
    """
    large = _at_most_points(networks)
    return mean(_height_at_rest(large, "ensemble_error")), large


@claim("B.Fig6-rest-twenty", accept=(-math.inf, 0.5), rival=1.3, figure="fig-b-rest", at={"scale": 12, "members": 20})
def bump_left_by_averaging(networks=studies.peak_at_jamming["sizes"]):
    """Averaging twenty networks at rest eliminates the peak.

    The ensemble's error at jamming minus the mean of those at $h/1.5$ and $1.5h$, scale 12, 250 to 2000 points,
    percentage points; found on these training sets.

    Rival: the ensemble keeps the peak of single networks
    Source: paper B, Fig. 6
    Short: bump of twenty networks at rest, scale 12
    """
    heights = bumps_at_own_jamming(_largest_ensembles(networks), "ensemble_error")
    return mean(heights.to_numpy()) if len(heights) > 1 else None


@claim(
    "B.Fig8A-rest-features", accept=(-math.inf, -0.05), rival=0, headline=True, figure="fig-b-lines", at={"scale": 12}
)
def line_at_rest_less_lazy(
    sizes=studies.peak_at_jamming["sizes"],
    all_images=studies.peak_at_jamming["whole"],
    lazy=studies.peak_at_jamming["lazy"],
    all_images_lazy=studies.peak_at_jamming["whole_lazy"],
):
    """At output scale 12 the number of parameters at jamming grows with a smaller exponent than in the lazy regime.

    Exponent of the parameters over those of lazy networks on the same training sets, after 1600 rounds, 250 to 5000
    points; at scale 12 jamming still moves with the rounds; found on these training sets.

    Rival: the exponent of the lazy line: features save a factor
    Source: derived in this chapter; paper B, Fig. 8A
    Short: the same at scale 12, less lazy
    """
    keys = ["p", "words", "seed"]
    middle_sizes = parameters_at_rest(sizes, all_images).set_index(keys)
    lazy_sizes = parameters_at_rest(lazy, all_images_lazy).set_index(keys)
    pairs = middle_sizes.join(lazy_sizes, rsuffix="_lazy", how="inner").reset_index()
    if len(pairs) < estimates.FEWEST or pairs.p.nunique() < 3:
        return None
    logs = np.log(pairs[["p", "parameters", "parameters_lazy"]].to_numpy(float))
    return jackknife(logs, lambda rows: float(np.polyfit(rows[:, 0], rows[:, 1] - rows[:, 2], 1)[0]))


@claim(
    "B.Sec2-norm-middle-points",
    accept=(-1.3, -0.7),
    stated=-1,
    rival=-0.5,
    part_of="B.Sec2-norm-law",
    figure="fig-b-8d",
    at={"p": [500, 1000, 2000], "scale": 12},
)
def divergence_at_rest(sizes=studies.peak_at_jamming["sizes"]):
    """Trained to rest, the norm of the predictor diverges like $1/(N-N^*)$ at the middle output scale, too.

    Exponent in $N-N^*$ at scale 12 after the last round, for $N/N^*$ from 1.1 to 4, 500 to 2000 points, mean over
    training sets; found on these.

    Rival: least squares, where the squared norm diverges as $1/(N-N^*)$
    Source: paper B, Sec. 2, of the peak that this divergence makes: "as shown in Fig. 6 this phenomenon occurs
    independently"
    Short: norm's exponent at scale 12, at rest
    """
    ends = sizes[(sizes.newton_steps == sizes.newton_steps.max()) & (sizes.p >= 500)]
    exponents = []
    for _, rows in ends.groupby("p"):
        jammed = jamming.transitions(rows, "parameters").iloc[:, 0].dropna()
        kept = rows[rows.seed.isin(jammed.index)]
        if len(jammed) and kept.h.nunique() >= WIDTHS:
            exponents += jamming.divergence(kept, "norm", jammed).tolist()
    return (mean(np.array(exponents)), ends) if len(exponents) > 1 else None


@claim("B.Sec2-stochastic", accept=(-0.3, 0.3), stated=0, rival=-1, figure="fig-b-sec2")
def divergence_under_descent(stochastic=studies.stochastic["lazy"], slices=ensembles.ensembles["slices"]):
    """Stochastic gradient descent removes the divergence of the predictor's norm.

    Exponent in $N-N^*$ of the norm after as many steps as 400 times through the points, largest scale.

    Rival: it diverges as under gradient flow
    Source: paper B, Sec. 2
    Short: with stochastic descent, no divergence
    """
    jammed = jamming.transitions(ensembles.at_end(slices), "parameters")
    jammed = jammed[max(jammed)]
    seeds = set(stochastic.seed) & set(jammed.index)
    steps = sorted(set(stochastic["look"]))
    if len(seeds) < estimates.FEWEST or len(steps) < 3:
        return None
    middle = stochastic[(stochastic["look"] == steps[1]) & stochastic.seed.isin(seeds)]
    return mean(jamming.divergence(middle, "norm", jammed)), stochastic


@claim("B.Fig8B-jump", accept=(0.05, 0.9), rival=1, headline=True, figure="fig-b-8bc")
def unsatisfied_at_jamming(minima=studies.minima_at_jamming["sizes"]):
    """The number of unsatisfied points per parameter jumps from zero at jamming to a finite value below one.

    Mean over training sets and $P$ of networks held at a minimum by a vanishing weight decay, at the narrowest width of
    which a quarter can fit.

    Rival: isostatic jamming, as of spheres
    Source: paper B, Fig. 8B and footnote 8
    Short: unsatisfied points jump at jamming
    """
    largest = _largest_ensembles(minima)
    jammed = jamming.networks_at_jamming(largest)
    ratios = jammed.unsatisfied / jammed.parameters
    by_seed = ratios.groupby([jammed.seed, jammed.p]).mean().groupby("seed").mean()
    return (mean(by_seed.to_numpy()) if len(by_seed) > 1 else None), largest


@claim("B.Fig8C-gap", accept=(-1, math.inf), stated=0, rival=-2, figure="fig-b-8bc")
def gap_in_parameters(minima=studies.minima_at_jamming["sizes"]):
    """At jamming the spectrum of $H_0$ has a gap between its delta at zero and its continuous part, which stays as
    networks grow.

    Exponent in $N$ of the smallest non-zero eigenvalue over their mean, over all networks that can fit and are held at
    a minimum by the weakest decay.

    Rival: isostatic jamming: the smallest singular value of a square matrix, squared
    Source: paper B, Fig. 8C and footnote 8
    Short: gap of $H_0$ against $N$
    """
    largest = _largest_ensembles(minima)
    weakest = largest[largest.decay == largest.decay.min()]
    resting = weakest[jamming.can_fit(largest)[weakest.index] & (weakest.ended == "jammed")]
    if resting.p.nunique() < 2 or resting.seed.nunique() < 2:
        return None
    logs = np.log(resting[["parameters", "gap"]].to_numpy(float))
    return jackknife(logs, lambda rows: float(np.polyfit(*rows.T, 1)[0])), largest


@claim("B.Sec2-unstable", accept=(-0.2, math.inf), stated=0, rival=-1, figure="fig-b-8bc")
def unstable_share_in_parameters(minima=studies.minima_at_jamming["sizes"]):
    """At jamming the share of negative eigenvalues of $H_p$ stays as networks grow.

    Exponent in $N$ of the negative eigenvalues over $N$, of networks held at jamming as for the number of unsatisfied
    points; found on these networks.

    Rival: a given number of unstable directions, whatever the size
    Source: paper B, Sec. 2: "We conjecture $C_0$ to remain bounded by a strictly positive value"
    Short: share of unstable directions of $H_p$, in $N$
    """
    largest = _largest_ensembles(minima)
    jammed = jamming.networks_at_jamming(largest)
    jammed = jammed[jammed.negative > 0]
    if jammed.p.nunique() < 2 or jammed.seed.nunique() < 2:
        return None
    table = pd.DataFrame({"size": jammed.parameters, "share": jammed.negative / jammed.parameters})
    logs = np.log(table.to_numpy(float))
    return jackknife(logs, lambda rows: float(np.polyfit(*rows.T, 1)[0])), largest


@claim("B.Sec2-stable", accept=(0, 0.9), rival=1, figure="fig-b-8bc")
def unstable_over_unsatisfied(minima=studies.minima_at_jamming["sizes"]):
    r"""A stable minimum has more points with a gap than its curvature has unstable directions, $N_\Delta\ge N_-$.

    $N_-/N_\Delta$ of networks held at jamming as for the number of unsatisfied points, mean over training sets and $P$.

    Rival: minima as unstable as the bound allows, as of spheres, where both are $N$
    Source: paper B, Eq. 14
    Short: unstable directions over unsatisfied points
    """
    largest = _largest_ensembles(minima)
    jammed = jamming.networks_at_jamming(largest)
    ratios = (jammed.negative / jammed.unsatisfied).groupby([jammed.seed, jammed.p]).mean().groupby("seed").mean()
    return (mean(ratios.to_numpy()) if len(ratios) > 1 else None), largest
