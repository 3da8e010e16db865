"""Claims of chapter 1: learning curves of kernels and networks, lazy and with features."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import exponent, mean, ratio, slopes
from companion.papers.compression.studies import hard_margin, selection, sensitivity
from companion.papers.compression.studies import lazy_feature as studies
from companion.papers.compression.studies.lazy_feature import EARLY
from companion.papers.compression.theory.learning_curves import (
    beta,
    beta_difference,
    by_size,
    drift,
    feature_exponent,
    gain,
)

CHAPTER = "01"
STAR = 0.1  # the fitted fraction at t*
STOP = 0.98  # that at which the statements on the end of training are judged a second time
LAST_SIZES = 3  # neighbouring sizes that one local exponent is fitted on
LAST_SCALES = 3  # output scales at either end of a scan that a law is fitted to
ASYMPTOTIC = (1024, 16384)  # sizes, the larger half of ours, on which the exponent is judged at the end
FEWER = (512, 8192)  # those on which it is judged at 98 % fitted, up to the paper's 10000
ALIKE = (0.8, 1.25)  # a ratio of what a paper calls similar
KEPT = (0.5, math.inf)  # what is left of a compression that a paper says is not altered
NEARER = (0.889, 1.112)  # a network's exponent over paper A's: nearer to it than to paper B's, in $d=5$
BOTH = [5, 10]  # dimensions of the stripe over which a ratio is averaged, one number a seed
LARGE_SETS = 2048  # points from which the law d/p is held against the errors


# Rows


def curve_of(table, curve, share=None):
    """The rows of one curve, at one fitted fraction or at all; where no test point is wrong, half of one counts."""
    rows = table[table.curve == curve]
    rows = rows if share is None else rows[rows.share == share]
    if "error" in rows and (rows.error == 0).any():
        rows = rows.assign(error=rows.error.clip(lower=0.5 / rows.test))
    return rows


def of_dimension(table, d, fit_from=0):
    """The rows of one dimension, from a size on."""
    return table[(table.d == d) & (table.p >= fit_from)]


def on_all_sizes(rows):
    """The rows of the seeds that were trained on every size."""
    return rows[rows.groupby("seed").p.transform("nunique") == rows.p.nunique()]


def stripe_networks(nets, larger, share, fit_from):
    """The networks of one dimension at one fitted fraction, of the seeds that were trained on all sizes.

    Args:
        nets: rows of ``networks``.
        larger: rows of ``sensitivity.numerics``, of the largest size, of which a seed counts once.
        share: the fitted fraction.
        fit_from: the smallest size.
    """
    tables = [nets, larger.assign(curve="feature")]
    rows = pd.concat([curve_of(table, "feature", share) for table in tables])
    return on_all_sizes(rows[rows.p >= fit_from].drop_duplicates(["p", "seed"]))


def same_sets(rows, *kernels):
    """The rows of the infinitely wide network's kernel on the training sets of these rows; a set counts once."""
    columns = ["shape", "d", "p", "seed"]
    return pd.concat(kernels).drop_duplicates(columns).merge(rows[columns].drop_duplicates())


def last_sizes(rows):
    """The rows of the last sizes, over which a local exponent is taken."""
    return rows[rows.p.isin(sorted(rows.p.unique())[-LAST_SIZES:])]


def on_largest_sets(rows):
    """The rows of the largest size."""
    return rows[rows.p == rows.p.max()]


def over_on_same_sets(first, second, columns=("d", "p")):
    """The error of the first rows over that of the second on the same training sets: one per seed, over the columns."""
    keys = [*columns, "seed"]
    pairs = first.merge(second[[*keys, "error"]], on=keys, suffixes=("", "_second"))
    return np.exp(np.log(pairs.error / pairs.error_second).groupby(pairs.seed).mean())


def ratio_on_same_sets(first, second):
    """The mean of that ratio with the rows that it rests on; none of fewer than two seeds."""
    ratios = over_on_same_sets(first, second)
    return (ratio(ratios), first, second) if len(ratios) > 1 else None


# The kernel at t*


def learnt_by(rows, curve, learner="flow"):
    """The rows of one kernel and one learner."""
    return rows[(rows.curve == curve) & (rows.learner == learner)]


def law_of_planes(rows):
    r"""The geometric mean over networks and large sizes of :math:`\varepsilon\,p/d` of the kernel at t*, and its rows.

    Two planes that separate the labels with the largest margin have 1.
    """
    at_star = learnt_by(rows, "star")
    large = at_star[at_star.p >= min(LARGE_SETS, at_star.p.max())]
    scaled = (large.error * large.p / large.d).groupby(large.seed)
    by_network = scaled.agg(lambda values: np.exp(np.log(values).mean()))
    return ratio(by_network), large


def exponent_of(rows, column):
    """The exponent of a column in ``p``, over all sizes and over the larger ones, with its rows; none without rows."""
    if rows.empty:
        return None
    return drift(lambda table: exponent(*by_size(table, column)), rows), rows


@claim(
    "A.Fig3-star-constant",
    accept=(0.8, 1.25),
    stated=1,
    rival=0.5,
    headline=True,
    figure="fig-a-star-kernel",
    at={"d": BOTH, "p": [2048, 8192]},
)
def star_constant(kernels=hard_margin.star_kernel["stripe"]):
    r"""The kernel frozen at $t^*$ places two planes, so that its error is $d/p$ (stripe).

    geometric mean of $\varepsilon\,p/d$ on fresh sets of 2048 to 8192 points, $d=5$ and 10, one number a seed

    Rival: one plane
    Elsewhere: labels out of balance (planes at -0.3 and 0.5, $d=5$, 512 points) 14
    Source: derived from paper A, Fig. 3 and Sec. 3
    Short: kernel at $t^*$: error times $p/d$
    """
    return law_of_planes(kernels) if len(kernels) else None


@claim(
    "A.Fig3-early-exponent",
    accept=(0.9, 1.1),
    stated=1,
    rival=0.692,
    headline=True,
    figure="fig-a-star-kernel",
    at={"d": BOTH, "h": 500, "p": [128, 8192]},
)
def early_exponent(nets=studies.networks["stripe"], *, fit_from):
    """The kernel frozen when 90 % of the points are fitted offers finitely many directions, so that its error falls as
    $1/p$ (stripe).

    exponent of its test error in $p$, on a fresh training set, width 500, over all sizes from 128 to 8192 points,
    mean of $d=5$ and 10; read off rows that had been seen

    Rival: $(2d-1)/(3d-2)$, the exponent of compressed data, in $d=5$; 0.679 in $d=10$
    Source: derived from paper A, Fig. 3 and Sec. 3
    Short: exponent of the kernel at 90 %
    """
    rows = curve_of(nets[nets.p >= fit_from], "final", EARLY)
    if rows.empty:
        return None
    means = np.exp(np.log(rows.error).groupby([rows.p, rows.seed]).mean()).reset_index()
    return beta(means), rows


@claim("A.Fig8-star-kernel", accept=(0, 0.9), rival=1, figure="fig-a-star-kernel", at={"p": [512, 4096]})
def ring_star_exponent(kernels=hard_margin.star_kernel["cylinder"]):
    """The fixed points of the cylinder form a ring, which offers more directions than any finite number, so that the
    error of the kernel frozen at $t^*$ falls more slowly than $1/p$.

    exponent of its test error in $p$ on fresh sets of 512 to 4096 points

    Rival: finitely many planes
    Source: derived from paper A, Sec. 4
    Short: exponent of the kernel at $t^*$, cylinder
    """
    rows = learnt_by(kernels, "star")
    return drift(beta, rows), rows


# Exponents


@claim(
    "A.Fig3-beta-lazy-d5",
    accept=(0.345, 0.425),
    stated=0.38462,
    rival=0.2,
    headline=True,
    figure="fig-a-lazy",
    given={"d": 5},
    at={"d": 5, "p": [128, 2048, 8192]},
)
@again(
    "A.Fig3-beta-lazy-d10",
    accept=(0.317, 0.397),
    stated=0.35714,
    rival=0.1,
    part_of="A.Fig3-beta-lazy-d5",
    given={"d": 10},
    at={"d": 10, "p": [128, 2048, 8192]},
    statement="Lazy learning of the stripe in $d=10$ has exponent $d/(3d-2)=0.357$.",
    short="lazy exponent, $d=10$ (paper 0.357)",
)
def lazy_stripe_exponent(
    kernel=studies.infinite_width_lazy["stripe"],
    larger_sets=studies.infinite_width_lazy_large_p["stripe"],
    *,
    fit_from,
    d,
):
    """Lazy learning of the stripe in $d={d}$ has exponent $d/(3d-2)=0.385$.

    exponent of the test error of the infinitely wide network's kernel in $p$, 128 to 2048 points, and up to 8192 for
    the larger sizes alone

    Rival: $1/d$, the exponent of the nearest neighbour's error
    Source: paper A, Fig. 3 and Sec. 3.1
    Short: lazy exponent, $d=5$ (paper 0.385)
    """
    rows = of_dimension(kernel, d, fit_from)
    larger = of_dimension(last_sizes(larger_sets), d)
    return (drift(beta, rows, late=[larger]), rows, larger) if len(rows) else None


@claim(
    "A.Fig3-beta-feature-d5",
    accept=(0.615, 0.77),
    stated=0.69231,
    rival=0.538,
    headline=True,
    figure="fig-a-learners",
    given={"d": 5, "share": 1.0, "sizes": ASYMPTOTIC},
    at={"d": 5, "h": 500, "p": [1024, 16384]},
)
@again(
    "A.Fig3-beta-feature-d10",
    accept=(0.6, 0.76),
    stated=0.67857,
    rival=0.518,
    part_of="A.Fig3-beta-feature-d5",
    given={"d": 10, "share": 1.0, "sizes": ASYMPTOTIC},
    at={"d": 10, "h": 500, "p": [1024, 16384]},
    statement="Feature learning of the stripe in $d=10$ has exponent $(2d-1)/(3d-2)=0.679$.",
    short="network's exponent, $d=10$ (paper 0.679)",
)
@again(
    "B.Sec5-beta-feature-d5",
    accept=(0.461, 0.615),
    stated=0.53846,
    rival=(0.692, "paper A's $(2d-1)/(3d-2)$"),
    headline=True,
    source="paper B, Sec. 5",
    statement=(
        "Feature learning with planar interfaces has exponent $(d+d_\\perp/2)/(3d-2)$, which is 0.538 at $d=5$."
    ),
    short="network's exponent, $d=5$ (B 0.538)",
)
@again(
    "B.Sec5-beta-feature-d10",
    accept=(0.437, 0.598),
    stated=0.51786,
    rival=(0.679, "paper A's $(2d-1)/(3d-2)$"),
    part_of="B.Sec5-beta-feature-d5",
    given={"d": 10, "share": 1.0, "sizes": ASYMPTOTIC},
    at={"d": 10, "h": 500, "p": [1024, 16384]},
    source="paper B, Sec. 5",
    statement=(
        "Feature learning with planar interfaces has exponent $(d+d_\\perp/2)/(3d-2)$, which is 0.518 at $d=10$."
    ),
    short="network's exponent, $d=10$ (B 0.518)",
)
def network_exponent(nets=studies.networks["stripe"], larger=sensitivity.numerics["larger"], *, d, share, sizes):
    r"""Feature learning of the stripe in $d={d}$ has exponent $(2d-1)/(3d-2)=0.692$.

    exponent of the network's test error in $p$ at the end of training, 1024 to 16384 points, width 500

    Rival: paper B's $(d+d_\perp/2)/(3d-2)$
    Source: paper A, Fig. 3 and Sec. 3.1
    Short: network's exponent, $d=5$ (paper 0.692)
    """
    smallest, largest = sizes
    nets, larger = (rows[(rows.d == d) & (rows.p <= largest)] for rows in (nets, larger))
    rows = stripe_networks(nets, larger, share, smallest)
    return (beta(rows), rows) if rows.p.nunique() > 2 else None


@claim(
    "A.Fig3-beta-stop",
    accept=NEARER,
    stated=1,
    rival=0.777,
    figure="fig-a-one-stop",
    at={"d": BOTH, "h": 500, "p": [512, 8192]},
)
def stopped_exponent(nets=studies.networks["stripe"]):
    r"""Stopped when 98 % of the points are fitted, feature learning of the stripe has paper A's exponent
    $(2d-1)/(3d-2)$ on 512 to 8192 points.

    exponent of the network's test error in $p$ over 0.692 in $d=5$ and over 0.679 in $d=10$, mean of both; 512 to 8192
    points, width 500, smaller on larger sets; read off rows that had been seen

    Rival: paper B's exponent, 0.538, over paper A's, $d=5$; 0.763 in $d=10$
    Source: paper A, Fig. 3 and Sec. 3.1
    Short: network's exponent at 98 % over paper's
    """
    smallest, largest = FEWER
    rows = on_all_sizes(curve_of(nets[nets.p.between(smallest, largest)], "feature", STOP))
    if rows.p.nunique() < 3:
        return None
    found = []
    for d, of_d in rows.groupby("d"):
        p, errors = by_size(of_d)
        found.append(-slopes(p, errors) / feature_exponent(int(d), 1))
    return mean(np.mean(found, axis=0)), rows


@claim(
    "A.Fig3-gain-d5",
    accept=(0.231, 0.385),
    stated=0.30769,
    rival=0.154,
    figure="fig-a-learners",
    given={"d": 5},
    at={"d": 5},
)
@again(
    "A.Fig3-gain-d10",
    accept=(0.241, 0.402),
    stated=0.32143,
    rival=0.161,
    part_of="A.Fig3-gain-d5",
    given={"d": 10},
    at={"d": 10},
    statement=(
        "The exponent of feature learning exceeds that of lazy learning by $(d-1)/(3d-2)=0.321$ (stripe, $d=10$)."
    ),
    short="exponent gained at the end, $d=10$ (paper 0.321)",
)
def exponent_gained(
    nets=studies.networks["stripe"],
    kernel=studies.infinite_width_lazy["stripe"],
    of_networks=studies.infinite_width_lazy["stripe_networks"],
    larger_sets=studies.infinite_width_lazy_large_p["stripe"],
    *,
    fit_from,
    d,
):
    r"""The exponent of feature learning exceeds that of lazy learning by $(d-1)/(3d-2)=0.308$ (stripe, $d={d}$).

    difference of the exponents of the network at the end of training and of the infinitely wide network's kernel on the
    same data

    Rival: paper B's $(d_\perp/2)/(3d-2)$
    Source: paper A, Fig. 3 and Sec. 3.1
    Short: exponent gained at the end, $d=5$ (paper 0.308)
    """
    feature = curve_of(of_dimension(nets, d, fit_from), "feature", 1.0)
    if feature.empty:
        return None
    lazy = same_sets(feature, kernel, of_networks, larger_sets)
    return drift(beta_difference, feature, lazy), feature, lazy


@claim(
    "B.Sec5-machine-gain-d5",
    accept=(0.231, 0.4615),
    stated=0.30769,
    corrected=(0.4615, 0.769),
    rival=0.615,
    erratum="b-planar-exponent",
    headline=True,
    figure="fig-a-gain",
    given={"d": 5},
    at={"d": 5, "factor": 16, "p": [512, 8192]},
)
@again(
    "B.Sec5-machine-gain-d10",
    accept=(0.241, 0.482),
    stated=0.32143,
    corrected=(0.482, 0.804),
    rival=0.643,
    part_of="B.Sec5-machine-gain-d5",
    given={"d": 10},
    at={"d": 10, "factor": 16, "p": [512, 8192]},
    statement=(
        r"Feature learning with planar interfaces has exponent $(d+d_\perp/2)/(3d-2)$, since compressing "
        r"by $\Lambda$ improves lazy learning, by the support vector machine, as "
        r"$\Lambda^{-d_\perp/(3d-2)}$, which is 0.321 at $d=10$."
    ),
    short="gain by the machine, $d=10$ (B 0.321)",
)
@again(
    "A.Fig3-machine-gain-d5",
    accept=(0.4615, 0.769),
    stated=0.61538,
    corrected=None,
    rival=(0.308, "paper B's $(d-1)/(3d-2)$"),
    erratum=None,
    source="paper A, Sec. 3.1",
    statement=(
        r"Compressing by $\Lambda$ improves lazy learning of planar interfaces by "
        r"$\Lambda^{-2(d-1)/(3d-2)}$, which is 0.615 at $d=5$."
    ),
    short="gain by the machine, $d=5$ (A 0.615)",
)
@again(
    "A.Fig3-machine-gain-d10",
    accept=(0.482, 0.804),
    stated=0.64286,
    corrected=None,
    rival=(0.321, "paper B's $(d-1)/(3d-2)$"),
    erratum=None,
    part_of="A.Fig3-machine-gain-d5",
    given={"d": 10},
    at={"d": 10, "factor": 16, "p": [512, 8192]},
    source="paper A, Sec. 3.1",
    statement=(
        r"Compressing by $\Lambda$ improves lazy learning of planar interfaces by "
        r"$\Lambda^{-2(d-1)/(3d-2)}$, which is 0.643 at $d=10$."
    ),
    short="gain by the machine, $d=10$ (A 0.643)",
)
def planar_gain(machines=studies.support_vectors["stripe"], *, d):
    r"""Feature learning with planar interfaces has exponent $(d+d_\perp/2)/(3d-2)$, since compressing by $\Lambda$
    improves lazy learning, by the support vector machine, as $\Lambda^{-d_\perp/(3d-2)}$, which is 0.308 at $d={d}$.

    exponent of the error in an imposed $\Lambda$, infinitely wide kernel, hard-margin support vector machine, $p=512$
    to 8192 points, factors 1 to 16

    Rival: paper A's $2(d-1)/(3d-2)$
    Source: paper B, Sec. 5
    Short: gain by the machine, $d=5$ (B 0.308)
    """
    rows = of_dimension(machines, d)
    return (drift(gain, rows), rows) if len(rows) else None


@claim(
    "A.Fig8-machine-gain",
    accept=(0.071, 0.357),
    stated=0.14286,
    rival=0.571,
    figure="fig-a-gain",
    at={"factor": 16, "p": [512, 8192]},
)
def curved_gain(machines=studies.support_vectors["cylinder"]):
    r"""Compressing the cylinder's uninformative direction by $\Lambda$ improves lazy learning, by the support vector
    machine, as $\Lambda^{-d_\perp/(3d-2)}$, which is 1/7.

    exponent of the error in an imposed $\Lambda$, infinitely wide kernel, hard-margin support vector machine, $p=512$
    to 8192 points, factors 1 to 16

    Rival: $2(d-1)/(3d-2)$, the gain for planes
    Source: paper A, Sec. 4
    Short: gain by the machine, cylinder (0.143)
    """
    return drift(gain, machines)


# Kernels after training, and compressed data


@claim(
    "A.Fig3-final-kernel",
    accept=ALIKE,
    stated=1,
    rival=6.1,
    headline=True,
    figure="fig-a-one-stop",
    given={"share": 1.0},
    at={"d": BOTH, "p": 128},
)
@again(
    "A.Fig3-final-kernel-stop",
    rival=(1.63, "the ratio at the end, 8192 points"),
    part_of="A.Fig3-final-kernel",
    given={"share": STOP, "nets": studies.networks["frozen_late"]},
    at={"d": BOTH, "p": [128, 8192], "until": 0.99},
    statement=(
        'Where 98 % of the points are fitted, the kernel frozen there and the network have "very similar" '
        "performance (stripe)."
    ),
    measure=(
        "ratio of their test errors when 98 % of the points are fitted, 128 to 8192 points, $d=5$ and 10, one number a "
        "seed; declared before a kernel was frozen there in the book, after one program of a reviewer had shown 0.6 to "
        "2 on 2048 points"
    ),
    elsewhere="8192 points alone 0.53",
    short="kernel over network at 98 %",
)
def final_kernel_over_network(nets=studies.networks["stripe"], *, fit_from, share):
    """The kernel frozen after training and the network have "very similar" performance, "except for the largest
    training set size where it even outperforms it" (paper A), or "essentially identical" performance (paper B; stripe).

    ratio of their test errors at the end of training, over all sizes from 128 points on, the largest among them, where
    the exception would lower it; $d=5$ and 10, one number a seed

    Rival: training does not change the kernel: $p^{(d-1)/(3d-2)}$ at the mean size, $p=362$, in $d=5$
    Elsewhere: it grows with $p$: 1.71 at 8192 points
    Source: paper A, Fig. 3 and Sec. 5.2; paper B, Sec. 5
    Short: kernel after training over network
    """
    rows = nets[nets.p >= fit_from]
    return ratio_on_same_sets(curve_of(rows, "final", share), curve_of(rows, "feature", share))


@claim("A.Fig3-final-initial", accept=(0, 0.9), rival=1, figure="fig-a-learners", at={"d": BOTH, "p": 128})
def final_kernel_over_initial(
    nets=studies.networks["stripe"],
    kernel=studies.infinite_width_lazy["stripe"],
    of_networks=studies.infinite_width_lazy["stripe_networks"],
    larger_sets=studies.infinite_width_lazy_large_p["stripe"],
    *,
    fit_from,
):
    """The kernel frozen at the end of training outperforms the one at initialisation (stripe).

    ratio of the test errors of the kernel at the end of training and of the infinitely wide initial kernel, over all
    sizes from 128 points on, $d=5$ and 10, one number a seed

    Rival: training does not change the kernel
    Elsewhere: in $d=10$ alone 0.36
    Source: paper A, Sec. 5.2 and Fig. 3
    Short: kernel after training over initial kernel
    """
    final = curve_of(nets[nets.p >= fit_from], "final", 1.0)
    return ratio_on_same_sets(final, same_sets(final, kernel, of_networks, larger_sets))


@claim(
    "A.Fig3-own-learner",
    accept=ALIKE,
    stated=1,
    rival=0.448,
    figure="fig-b-fig10",
    given={"curve": "compressed", "share": 1.0},
    at={"d": BOTH, "h": 10000, "p": 8192},
)
@again(
    "B.Fig10-own-learner",
    part_of="A.Fig3-own-learner",
    source="paper B, Fig. 10 right and Sec. 5",
    statement="Lazy learning of compressed data gives very similar performance as feature learning.",
    short="compressed kernel over network (B)",
)
@again(
    "A.Fig3-own-learner-stop",
    figure="fig-a-one-stop",
    rival=(0.62, "the ratio at the end"),
    part_of="A.Fig3-own-learner",
    given={"curve": "compressed", "share": STOP},
    statement=(
        "At paper A's width, lazy learning of data compressed by the amplification factor has the error of the network "
        "with 98 % of its points fitted (stripe)."
    ),
    measure=(
        "ratio of the test errors of the kernel of a network of width $10^4$ at its initial weights, the paper's own "
        "learner, and of the network when 98 % of its points are fitted, 8192 points, $d=5$ and 10, one number a seed; "
        "read off rows that had been seen"
    ),
    short="compressed kernel over network at 98 %",
)
@again(
    "A.Fig3-own-learner-code",
    rival=(0.677, "the infinitely wide kernel's at width 500, 1024 points, $d=10$; 0.608 in $d=5$"),
    part_of="A.Fig3-own-learner",
    given={"curve": "compressed_code", "share": 1.0},
    source="paper A, Fig. 3, public code",
    statement=(
        "At paper A's width, lazy learning of data compressed by the amplification factor over "
        r"$\sqrt{d-1}$, as in the authors' public code, has the error of feature learning (stripe)."
    ),
    short="compressed by the code's factor, width $10^4$",
)
def own_learner_over_network(
    kernels=studies.compressed_with_initial_kernel["largest"], nets=studies.networks["wide_largest"], *, curve, share
):
    """At paper A's width, lazy learning of data compressed by the amplification factor has the error of feature
    learning (stripe).

    ratio of the test errors of the kernel of a network of width $10^4$ at its initial weights, the paper's own learner,
    and of the network at the end of training, at the largest size, 8192 points, $d=5$ and 10, one number a seed

    Rival: the infinitely wide kernel's at width 500, 1024 points, $d=5$; 0.396 in $d=10$
    Source: paper A, Fig. 3 and text
    Short: compressed kernel over network, width $10^4$
    """
    kernel = on_largest_sets(curve_of(kernels[kernels.learner == "finite"], curve))
    network = curve_of(nets, "feature", share)
    return ratio_on_same_sets(kernel, network[network.p.isin(kernel.p)])


# The end of training


@claim(
    "A.Fig3-overfit",
    accept=ALIKE,
    stated=1,
    rival=1.7,
    figure="fig-a-one-stop",
    given={"nets": studies.networks["stripe"]},
    at={"d": BOTH, "p": 8192},
)
@again(
    "A.Fig3-overfit-wide",
    part_of="A.Fig3-overfit",
    given={"nets": studies.networks["paper_size"]},
    at={"d": [5, 10], "p": 10000, "h": 10000},
    statement=(
        "At paper A's own width and largest training set, $h=p=10^4$, \"the previous predictions are not significantly "
        'altered during this final regime" (stripe).'
    ),
    measure=(
        "network's test error at the end of training over that when 98 % of the points are fitted, 10 000 points, "
        "$d=5$ and 10, one number a seed"
    ),
    short="error, end over 98 %, $h=p=10^4$",
)
def error_of_the_last_points(nets, *, stop):
    """While the last points are fitted "the previous predictions are not significantly altered" (stripe).

    network's test error at the end of training over that when 98 % of the points are fitted, at the largest $p$, 8192
    points, $d=5$ and 10, one number a seed

    Rival: what runs before the first declaration had shown in $d=5$
    Source: paper A, Sec. 2.5
    Short: error at the end over 98 %
    """
    rows = on_largest_sets(nets)
    by_share = curve_of(rows, "feature").pivot(index=["d", "seed"], columns="share", values="error")
    if not {stop, 1.0} <= {*by_share.columns}:
        return None
    ratios = np.exp(np.log(by_share[1.0] / by_share[stop]).groupby("seed").mean())
    return ratio(ratios), rows[(rows.curve == "feature") & rows.share.isin([stop, 1.0])]


@claim(
    "A.Fig6-amplification-end",
    accept=KEPT,
    rival=0.0127,
    figure="fig-a-one-stop",
    given={"nets": studies.networks["stripe"], "share": 1.0},
    at={"d": BOTH, "p": 8192},
)
@again(
    "A.Fig6-amplification-stop",
    rival=(0.15, "the ratio at the end"),
    part_of="A.Fig6-amplification-end",
    given={"nets": studies.networks["stripe"], "share": STOP},
    at={"d": [5, 10], "p": 8192},
    statement=(
        'Until 98 % of the points are fitted, the evolution after $t^*$ "doesn\'t alter significantly the picture" '
        "(stripe)."
    ),
    measure=(
        "amplification when 98 % of the points are fitted over that at $t^*$, 8192 points, $d=5$ and 10, one number a "
        "seed; read off rows that had been seen"
    ),
    elsewhere="in $d=10$ alone 1.6, in $d=5$ alone 3.6",
    short=r"$\Lambda$ at 98 % over $t^*$",
)
@again(
    "A.Fig6-amplification-wide",
    rival=(0.013, r"no compression is left: $\Lambda=1$ over theory's $\Lambda^*$"),
    part_of="A.Fig6-amplification-end",
    given={"nets": studies.networks["paper_size"], "share": 1.0},
    at={"d": [5, 10], "p": 10000, "h": 10000},
    statement=(
        "At paper A's own width and largest training set, $h=p=10^4$, the evolution after $t^*$ \"doesn't alter "
        'significantly the picture" (stripe).'
    ),
    measure="amplification at the end of training over that at $t^*$, 10 000 points, $d=5$ and 10, one number a seed",
    elsewhere="",
    short=r"$\Lambda$, end over $t^*$, $h=p=10^4$",
)
def amplification_since(nets, *, share):
    r"""The evolution after $t^*$ "doesn't alter significantly the picture" (stripe).

    amplification at the end of training over that at $t^*$, $p=8192$, $d=5$ and 10, one number a seed; a larger one is
    the paper's own $\Lambda_{\max}$

    Rival: no compression is left: $\Lambda=1$ over theory's $\Lambda^*$ at $p=8192$
    Elsewhere: in $d=10$ alone 0.14
    Source: paper A, Sec. 3.2.2
    Short: $\Lambda$ at the end over $t^*$
    """
    rows = curve_of(on_largest_sets(nets), "feature", share)
    if rows.empty:
        return None
    kept = np.log(rows.amplification / rows.amplification_star)
    return ratio(np.exp(kept.groupby(rows.seed).mean())), rows


@claim("A.Fig6-function-falls", accept=ALIKE, rival=0.55, figure="fig-a-function", at={"d": BOTH, "p": 4096})
def function_since(boundaries=selection.boundary["stripe"]):
    """The last two per cent of the points leave the function as compressed as it was: "the previous predictions are not
    significantly altered during this final regime" (stripe).

    compression on the true boundary, rms gradient along informative over that along uninformative directions, at the
    end of training over that when 98 % of the points are fitted, at the largest $p$, $d=5$ and 10, one number a seed

    Rival: the fall that rows before the declaration had shown
    Source: paper A, Sec. 2.5
    Short: function's compression, end over 98 %
    """
    rows = on_largest_sets(boundaries)
    by_share = rows.pivot(index=["d", "seed"], columns="share", values="function")
    if not {STOP, 1.0} <= {*by_share.columns}:
        return None
    changes = np.log(by_share[1.0] / by_share[STOP]).groupby("seed").mean()
    return ratio(np.exp(changes)), rows


def paper_statements(nets, late, wide, kernels, *, fit_from):
    r"""What paper A says of trained networks, at each fitted share from 90 % on: paper A's number is 1 in all.

    ``compressed``: error on compressed data over the network's, at paper A's width; ``exponent``: the network's over
    paper A's; ``kernel``: error of the kernel frozen there over the network's; ``amplification``:
    :math:`\Lambda/\Lambda^*`.

    Args:
        nets: rows of ``networks``, whose kernels are frozen at 90 % and at the end.
        late: those of kernels frozen in between.
        wide: those of paper A's width.
        kernels: rows of ``compressed_with_initial_kernel``.
        fit_from: the smallest size of a ratio over all sizes.

    Returns:
        A row for each ``statement``, ``d`` and ``share`` that has rows, with its ``estimate``.
    """
    table = []
    shares = sorted(share for share in nets.share.unique() if share >= EARLY)
    for d, share in itertools.product(sorted(nets.d.unique()), shares):
        frozen = nets if share in set(nets[nets.curve == "final"].share) else late
        own, frozen, wide_own, compressed = (of_dimension(rows, d) for rows in (nets, frozen, wide, kernels))
        measured = {
            "compressed": own_learner_over_network(compressed, wide_own, curve="compressed", share=share),
            "exponent": network_exponent(nets, nets[:0], d=d, share=share, sizes=FEWER),
            "kernel": final_kernel_over_network(frozen, fit_from=fit_from, share=share),
            "amplification": amplification_since(own, share=share),
        }
        found = {name: result[0] for name, result in measured.items() if result}
        if "exponent" in found:
            it, stated = found["exponent"], feature_exponent(d, 1)
            found["exponent"] = replace(it, value=it.value / stated, low=it.low / stated, high=it.high / stated)
        table += [{"statement": name, "d": d, "share": share, "estimate": it} for name, it in found.items()]
    return pd.DataFrame(table, columns=["statement", "d", "share", "estimate"])


def points_at_half(rows):
    """One row per network, with the points left when the amplification has halved; one where it never does."""
    networks = rows.drop_duplicates(["p", "seed"])
    return networks.assign(left=networks.left_half.clip(lower=1).fillna(1))


def points_left_exponent(rows):
    """The exponent in ``p`` of the points left when the amplification has halved; a median, as some never halve."""
    return exponent(*by_size(points_at_half(rows), "left"), centre="median")


@claim("A.Fig6-points-left-d5", accept=(-0.25, 0.25), stated=0, rival=1, figure="fig-a-left", at={"d": 5})
def points_left(boundary=selection.boundary["stripe"]):
    r"""The suppression of perpendicular weights "remains true until the effective number of training points
    contributing to the dynamics becomes of order O(1)" (stripe, $d=5$).

    exponent in $p$ of the points left when $\Lambda$ has halved from its largest value

    Rival: the number is a fixed part of the points
    Source: paper A, Sec. 3.2.1
    Short: exponent of points left, $d=5$
    """
    rows = of_dimension(boundary, 5)
    return (points_left_exponent(rows), rows) if len(rows) else None


# The cylinder


@claim(
    "A.Fig8-lazy",
    accept=(0.379, 0.479),
    stated=0.42857,
    rival=0.333,
    figure="fig-a-fig8",
    at={"d": 3, "p": [1024, 16384]},
)
def lazy_cylinder_exponent(
    tube=studies.networks["cylinder"],
    kernel=studies.infinite_width_lazy["cylinder"],
    of_networks=studies.infinite_width_lazy["cylinder_networks"],
):
    """Lazy learning of the cylinder in $d=3$ has exponent 3/7.

    exponent of the infinitely wide network's kernel on the networks' training sets, 1024 to 16384 points

    Rival: $1/d$, the exponent of the nearest neighbour's error
    Source: paper A, Fig. 8 and Sec. 4
    Short: lazy exponent, cylinder (paper 0.43)
    """
    lazy = same_sets(cylinder_networks(tube), kernel, of_networks)
    return (beta(lazy), lazy) if lazy.p.nunique() > 2 else None


def cylinder_networks(tube):
    """The cylinder's networks at the end of training, of the sizes on which the stripe's exponents are judged."""
    return curve_of(tube[tube.p.between(*ASYMPTOTIC)], "feature", 1.0)


@claim(
    "A.Fig8-beta-feature",
    accept=(0.464, 0.57),
    stated=0.5,
    rival=0.714,
    figure="fig-a-fig8",
    at={"d": 3, "h": 500, "p": [1024, 16384]},
)
def cylinder_network_exponent(tube=studies.networks["cylinder"]):
    r"""Feature learning of the cylinder in $d=3$ has exponent $(d+d_\perp/2)/(3d-2)=1/2$.

    exponent of the network's test error in $p$ at the end of training, width 500, 1024 to 16384 points

    Rival: $(2d-1)/(3d-2)$, the exponent for planes
    Source: paper A, Fig. 8 and Sec. 4
    Short: network's exponent, cylinder (paper 0.5)
    """
    rows = cylinder_networks(tube)
    return (beta(rows), rows) if rows.p.nunique() > 2 else None


@claim(
    "A.Fig8-gain",
    accept=(0.036, 0.178),
    stated=0.07143,
    rival=0,
    figure="fig-a-fig8",
    at={"d": 3, "h": 500, "p": [1024, 16384]},
)
def cylinder_exponent_gained(
    tube=studies.networks["cylinder"],
    kernel=studies.infinite_width_lazy["cylinder"],
    of_networks=studies.infinite_width_lazy["cylinder_networks"],
):
    r"""The exponent of feature learning exceeds that of lazy learning by $(d_\perp/2)/(3d-2)=0.071$ (cylinder).

    difference of the exponents of the network at the end of training and of the infinitely wide network's kernel on the
    same data, width 500, 1024 to 16384 points

    Rival: no gain
    Source: paper A, Fig. 8 and Sec. 4
    Short: exponent gained at the end, cylinder (paper 0.071)
    """
    feature = cylinder_networks(tube)
    lazy = same_sets(feature, kernel, of_networks)
    return (beta_difference(feature, lazy), feature, lazy) if feature.p.nunique() > 2 else None


@claim(
    "A.Fig8-lazy-alike", accept=(-0.05, 0.05), stated=0, rival=0.214, figure="fig-a-fig8", at={"d": 3, "p": [128, 2048]}
)
def lazy_exponents_alike(
    stripe=studies.infinite_width_lazy["stripe_alike"], cylinder=studies.infinite_width_lazy["cylinder"], *, fit_from
):
    r""" "The performance of the lazy regime should not depend on $d_\parallel$".

    exponent of the infinitely wide kernel on the stripe minus that on the cylinder, both in $d=3$, 128 to 2048 points

    Rival: the difference of the two exponents of feature learning, $5/7-1/2$
    Source: paper A, Sec. 4
    Short: stripe's minus cylinder's lazy exponent, $d=3$
    """
    tables = [rows[rows.p >= fit_from] for rows in (stripe, cylinder)]
    sizes = set(tables[0].p) & set(tables[1].p)
    seeds = set(tables[0].seed) & set(tables[1].seed)
    tables = [rows[rows.p.isin(sizes) & rows.seed.isin(seeds)] for rows in tables]
    return beta_difference(*tables), *tables


# From one regime to the other


def largest_scan(scans):
    """The scan of the largest problem, and its scales in increasing order."""
    return on_largest_sets(scans), sorted(scans.alpha.unique())


def kernels_of_scan(scan, *frozen):
    """The frozen kernels of finite width on the training sets of a scan."""
    finite = pd.concat(frozen).drop_duplicates("cell")
    return finite.merge(scan[["d", "p", "h", "seed"]].drop_duplicates())


def error_over_kernel(rows, kernels):
    """The test error of networks over that of their frozen kernels."""
    return ratio(rows.set_index("seed").error / kernels.set_index("seed").error)


@claim("A.Fig12-feature-error", accept=(0, 0.9), rival=1, figure="fig-a-fig12")
def feature_error(
    scans=studies.scale_scan["main"],
    frozen=studies.finite_width_lazy["stripe"],
    of_scan=studies.finite_width_lazy["scan"],
):
    r"""At small $\alpha$ the test error is below that of the frozen kernel.

    ratio of the two test errors at the smallest $\alpha$

    Rival: no gain by learning features
    Source: paper A, Fig. 12 and App. B
    Short: error over frozen kernel's, smallest $\alpha$
    """
    scan, scales = largest_scan(scans)
    kernels = kernels_of_scan(scan, frozen, of_scan)
    smallest = scan[scan.alpha == scales[0]]
    return error_over_kernel(smallest, kernels), smallest, kernels


@claim("A.Fig12-lazy-error", accept=(0.95, 1.05), stated=1, rival=0.117, figure="fig-a-fig12")
def lazy_error(
    scans=studies.scale_scan["main"],
    frozen=studies.finite_width_lazy["stripe"],
    of_scan=studies.finite_width_lazy["scan"],
):
    r"""At the largest $\alpha$ the network is its frozen kernel.

    ratio of the two test errors

    Rival: the ratio in feature learning
    Source: paper A, App. B
    Short: error over frozen kernel's, largest $\alpha$
    """
    scan, scales = largest_scan(scans)
    kernels = kernels_of_scan(scan, frozen, of_scan)
    largest = scan[scan.alpha == scales[-1]]
    return error_over_kernel(largest, kernels), largest, kernels


def at_scales(scan, scales, column):
    """The rows of a scan at some scales, and a column of them, ``(seeds, scales)``."""
    rows = scan[scan.alpha.isin(scales)]
    return rows, rows.pivot(index="seed", columns="alpha", values=column).to_numpy()


@claim(
    "A.Fig12-feature-time",
    accept=(0.9, 1.1),
    stated=1,
    rival=100,
    profiles=("smoke", "laptop", "paper"),
    figure="fig-a-fig12",
)
def feature_time(scans=studies.scale_scan["main"]):
    r"""At small $\alpha$ the time grows as $\log(1/\alpha)$.

    increase of $t^*$ per decade at the smallest $\alpha$ over that one step of $\alpha$ above

    Rival: $t^*\sim1/\alpha$, as on the lazy side, at steps of two decades
    Source: paper A, Fig. 12 and App. B
    Short: growth of $t^*$ per decade, ratio
    """
    scan, scales = largest_scan(scans)
    scales = scales[:LAST_SCALES]
    rows, times = at_scales(scan, scales, "t_star")
    per_decade = -np.diff(times) / np.diff(np.log10(scales))
    return mean(per_decade[:, 0] / per_decade[:, 1]), rows


@claim(
    "A.Fig12-feature-amplification",
    accept=(-0.01, 0.01),
    rival=-0.874,
    profiles=("smoke", "laptop", "paper"),
    figure="fig-a-fig12",
)
def feature_plateau(scans=studies.scale_scan["main"]):
    r"""At small $\alpha$ the amplification factor reaches a plateau.

    exponent of $\Lambda^*$ in $\alpha$ at the smallest $\alpha$

    Rival: no noise: $(\tau^*/\tau_\perp^*-1)/2$ of the fastest fixed point; $\Lambda^*$ grows as long as a smaller
    $\alpha$ gives more time
    Source: paper A, Fig. 12 and App. B
    Short: exponent of $\Lambda^*$ at the smallest $\alpha$
    """
    scan, scales = largest_scan(scans)
    scales = scales[:LAST_SCALES]
    rows, amplifications = at_scales(scan, scales, "amplification_star")
    return exponent(scales, amplifications), rows


@claim("A.Fig12-lazy-time", accept=(-1.05, -0.95), stated=-1, rival=0, figure="fig-a-fig12")
def lazy_time(scans=studies.scale_scan["main"]):
    r"""At large $\alpha$ the time to reach a margin of 1 falls as $1/\alpha$.

    exponent of $t^*$ in $\alpha$ at the largest $\alpha$

    Rival: the time grows with the logarithm of $\alpha$ only, as at small $\alpha$
    Source: paper A, App. B
    Short: exponent of $t^*$ at the largest $\alpha$
    """
    scan, scales = largest_scan(scans)
    scales = scales[-LAST_SCALES:]
    rows, times = at_scales(scan, scales, "t_star")
    return exponent(scales, times), rows
