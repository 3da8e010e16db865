"""Claims of chapter 4: the components of the tangent kernel, before and after learning."""

import itertools
import math

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import jackknife, mean, slopes
from companion.papers.compression.theory.learning_curves import beta, beta_difference, by_size, drift
from companion.papers.kernel_pca.studies import isotropic, large_p
from companion.papers.kernel_pca.studies import kernel_pca as studies
from regimes.measures import information

CHAPTER = "04"
ENDED = ("zero loss", "fitted")  # of a frozen kernel, of a network
COMPONENTS = 10  # the first, which the papers look at
START, END = ("full", "start"), ("full", "end")  # the kernel of all parameters before and after training
NETWORK = ("network", "end")
PAPER_WIDTH = {"stripes": studies.stripes["wide"], "task": "stripe"}  # at the width of paper A


# Rows


def kernel_at(rows, kernel, moment):
    """The rows of one kernel at one moment, by seed, so that those of two moments are pairs."""
    return rows[(rows.kernel == kernel) & (rows.moment == moment)].sort_values("seed", kind="stable")


def by_component(rows, name):
    """A quantity of the components, ``(seeds, rank)``."""
    return np.array(rows[name].tolist(), dtype=float)


def largest_information(rows, kernel, moment):
    """``(seeds,)``: the most information that one of the first ten components carries."""
    return by_component(kernel_at(rows, kernel, moment), "information").max(1)


def first_share(rows, column):
    """``(seeds,)``: the first component's share of ten after training."""
    shares = by_component(kernel_at(rows, *END), column)
    return shares[:, 0] / shares.sum(1)


def first_stop(rows):
    """The earliest moment between start and end."""
    return min(set(rows.moment) - {"start", "end"}, key=float)


def furthest(found, by):
    """Of measurements of one statement, each an estimate with its rows, that with the largest ``by(value)``.

    ``None`` where one of them has no rows.
    """
    if any(one is None for one in found):
        return None
    return max(found, key=lambda one: by(getattr(one[0], "whole", one[0]).value))


def of_both(measure, stripes, curves, image_p, by):
    """The measurement on the stripe or on the largest sets of images, whichever has the larger ``by(value)``."""
    tables = (stripes, curves[curves.p == image_p[-1]])
    return furthest([None if rows.empty else measure(rows) for rows in tables], by)


def _of_task(task, stripes, curves, image_p):
    """The rows of the stripe, or of the largest sets of images."""
    return stripes if task == "stripe" else curves[curves.p == image_p[-1]]


# Components


ONE_PLANE = 0.4388  # what a component gains that follows one of the stripe's planes: 0.565 bits less 0.127 before
TWO_CLASSES = 0.122  # what one gains that tells two of ten classes from the others: 0.236 bits less 0.114


@claim(
    "A.Fig10-gain-stripe",
    accept=(0.5, 1),
    rival=ONE_PLANE,
    headline=True,
    figure="fig-a-10",
    given={"task": "stripe", "kernel": "full"},
)
@again(
    "A.Fig10-gain-mnist",
    accept=(0.2, 1),
    rival=(TWO_CLASSES, "a component that tells two of the ten digits from the others: 0.236 bits"),
    part_of="A.Fig10-gain-stripe",
    headline=True,
    given={"task": "mnist", "kernel": "full"},
    at={"data": "mnist"},
    source="paper A, Fig. 10c",
    statement="Learning greatly improves the mutual information (MNIST, CNN).",
    short="gain of largest information, images",
)
@again(
    "A.Fig10-gain-wide",
    part_of="A.Fig10-gain-stripe",
    given=PAPER_WIDTH | {"kernel": "full"},
    at={"h": 10000},
    statement="At paper A's width, too, learning greatly improves the mutual information (stripe).",
    measure="largest of ten components after training minus largest before, bits",
    short="gain of largest information, width $10^4$",
)
def information_gained(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task, kernel):
    """Learning greatly improves the mutual information (stripe).

    largest after training minus largest at initialisation, bits

    Rival: a component that follows one of the two planes, 0.565 bits
    Source: paper A, Fig. 10a
    Short: gain of largest information, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    return None if rows.empty else _gain(rows, kernel)


def _gain(rows, kernel):
    """The gain of the largest information, and its rows."""
    gained = largest_information(rows, kernel, "end") - largest_information(rows, *START)
    return mean(gained), kernel_at(rows, *START), kernel_at(rows, kernel, "end")


@claim("A.Fig10-last-layer", accept=(0.2, 1), rival=TWO_CLASSES, part_of="A.Fig10-gain-stripe", figure="fig-a-10")
def information_gained_in_last_layer(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    """Learning greatly improves the mutual information of the last layer's features too (stripe, and images by a CNN).

    largest of their first ten components minus largest of the initial kernel, bits; the smaller of the two tasks

    Rival: a component that tells two of the ten digits from the others
    Source: paper A, Sec. 5.2: "a fact that holds true for the NTK and for the kernel obtained from the last layer"
    Short: gain of largest information, last layer
    """
    return of_both(lambda rows: _gain(rows, "last"), stripes, curves, image_p, by=lambda value: -value)


@claim(
    "A.Fig10-projection",
    accept=(0.5, 1),
    corrected=(0, 0.5),
    rival=0.1,
    erratum="a-centred",
    figure="fig-a-10",
    given={"column": "projections", "sign": 1},
)
@again(
    "A.Fig10-centred-first",
    corrected=None,
    erratum=None,
    part_of="A.Fig10-projection",
    given={"column": "projections_centred", "sign": -1},
    source=(
        'paper A, Sec. 5.2: "most of the projection occurs along the first mode", if kernel PCA subtracts the mean'
    ),
    statement="With centred features most of the label's projection is on the first component (stripe, images).",
    measure="the first component's share of the ten; the smaller of the two tasks",
    short="the same share, centred",
)
def share_of_the_first(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, column, sign):
    """After training most of the label's projection is on the first component (stripe, and images by a CNN).

    the first component's share of the ten; the larger of the two tasks

    Rival: equal shares of the ten
    Source: paper A, Fig. 10b and d
    Short: share on the first component
    """
    measure = lambda rows: (mean(first_share(rows, column)), kernel_at(rows, *END))  # noqa: E731
    return of_both(measure, stripes, curves, image_p, by=lambda value: sign * value)


@claim("B.Fig11-projects", accept=(0.1, 1), rival=0.025, figure="fig-a-10")
def projection_gained(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    r"""The label's projection on the first ten components gets large after learning (stripe, and images by a CNN).

    the part of the label that they hold, after minus before; the smaller of the two tasks

    Rival: ten directions drawn at random among those of 400 images
    Source: paper B, Fig. 11: "their projection $\omega_\lambda$ get large after learning"
    Short: gain of ten projections
    """

    def measure(rows):
        before, after = kernel_at(rows, *START), kernel_at(rows, *END)
        gained = by_component(after, "projections").sum(1) - by_component(before, "projections").sum(1)
        return mean(gained), before, after

    return of_both(measure, stripes, curves, image_p, by=lambda value: -value)


@claim(
    "A.Fig11-only-first-matrix-stripe",
    accept=(-0.03, 0.03),
    corrected=(0.1, 1),
    rival=0.9,
    erratum="a-centred",
    figure="fig-a-10",
)
def information_of_the_second(stripes=studies.stripes["main"]):
    """After learning the second eigenvector of the matrix as the text has it carries no information on the label
    (stripe).

    its mutual information less the estimator's bias where there is no information, bits

    Rival: a component that carries the label, as the first does
    Source: paper A, Fig. 11, caption: "For the stripe model, only the first eigenvector of the final kernel contains
    information on the labels"
    Short: information of the second component, paper's matrix
    """
    trained = kernel_at(stripes, *END)
    return excess_of_the_second(trained, "information"), trained


def excess_of_the_second(trained, column):
    """The information of the second component less the estimator's bias, of the kernel as it is or centred."""
    return mean(by_component(trained, column)[:, 1] - information.null_bias())


@claim("A.Fig10-init", accept=(0, 0.2), rival=0.236, figure="fig-4-initial")
def information_before(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    """At initialisation no component carries more than a small part of the label (stripe, and images by a CNN).

    largest mutual information of the first ten components, bits; the larger of the two tasks

    Rival: a component that tells two of the ten digits from the others
    Source: paper A, Fig. 10a and c, Sec. 5.2: "small and essentially independent of $r$"
    Short: largest information before training
    """
    measure = lambda rows: (mean(largest_information(rows, *START)), kernel_at(rows, *START))  # noqa: E731
    return of_both(measure, stripes, curves, image_p, by=lambda value: value)


@claim("A.Fig10-flat", accept=(-0.05, 0.05), rival=-0.098, part_of="A.Fig10-init", figure="fig-4-initial")
def change_with_rank(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    """At initialisation the mutual information is essentially independent of the rank (stripe, and images by a CNN).

    change over the first ten components by a fitted line, bits; the larger of the two tasks

    Rival: all of the 0.2 bit that "small" allows in the first component, none in the others
    Source: paper A, Fig. 10a and c
    Short: change of information with rank
    """

    def measure(rows):
        before = kernel_at(rows, *START)
        slope = np.polyfit(np.arange(COMPONENTS), by_component(before, "information").T, 1)[0]
        return mean((COMPONENTS - 1) * slope), before

    return of_both(measure, stripes, curves, image_p, by=abs)


@claim("A.Fig10-trend", accept=(-0.05, 0.05), rival=1, figure="fig-a-10", at={"data": "mnist"})
def trend_of_projection(curves=studies.image_curves["main"], *, image_p):
    """At initialisation the projection "does not show a significant trend with rank within the first 10 eigenvectors"
    (MNIST, CNN).

    change over the ten by a fitted line, over their mean; any trend that is significant on 60 networks contradicts it

    Rival: a rise by its own mean, as the uncentred kernel has if its first component alone has none of the label
    Source: paper A, Sec. 5.2
    Short: trend of the projection with rank, images
    """
    before = kernel_at(curves[curves.p == image_p[-1]], *START)
    return relative_trend(before), before


def relative_trend(before):
    """The change of the mean projection over the first ten ranks by a fitted line, over their mean."""
    ranks = np.arange(COMPONENTS)

    def change(rows):
        means = rows.mean(0)
        return (COMPONENTS - 1) * np.polyfit(ranks, means, 1)[0] / means.mean()

    return jackknife(by_component(before, "projections"), change)


@claim(
    "A.Fig10-sizable-mnist",
    accept=(2, math.inf),
    rival=1,
    part_of="A.Fig10-projection",
    figure="fig-a-10",
    at={"data": "mnist"},
)
def projection_on_the_second(curves=studies.image_curves["main"], *, image_p):
    """After training the second component has a sizable projection, too (MNIST, CNN).

    mean projection on it, over that on a component before training

    Rival: it has no more than a component of the untrained kernel
    Source: paper A, Sec. 5.2: "with the second mode also showing a sizable projection for MNIST"
    Short: projection on the second, over untrained
    """
    rows = curves[curves.p == image_p[-1]]
    before, after = kernel_at(rows, *START), kernel_at(rows, *END)
    pairs = np.stack([by_component(after, "projections")[:, 1], by_component(before, "projections").mean(1)], 1)
    return jackknife(pairs, lambda seeds: seeds[:, 0].mean() / seeds[:, 1].mean()), before, after


def excess_information(untrained):
    """Information of untrained components less the estimator's bias, a row per seed and a column per dimension."""
    return untrained.pivot(index="seed", columns="d", values="information") - information.null_bias()


@claim("A.Fig10-init-dimension", accept=(-math.inf, -0.5), rival=0, figure="fig-4-initial", at={"d": 10})
def information_in_dimension(untrained=isotropic.initial_components["main"]):
    r"""At initialisation the information of the components falls with the dimension $d$ at a fixed $d_\parallel$
    (stripe, infinite width).

    exponent in $d$ of the mean over the first $\min(d, 10)$, less the estimator's bias

    Rival: the information does not depend on $d$
    Source: paper A, Sec. 5.1: "as the overall dimension $d$ grows, the value of a given spherical harmonics leads to
    vanishing information on the specific components $x_\parallel$"
    Short: exponent of the information in $d$
    """
    if untrained.d.nunique() < 2:
        return None
    excess = excess_information(untrained)
    log_d = np.log(excess.columns.to_numpy(dtype=float))

    def slope(sets):
        return np.polyfit(log_d, np.log(sets.mean(0).clip(1e-6)), 1)[0]

    return jackknife(excess.to_numpy(), slope)


# Planes and dimensions


@claim("A.Fig11-init", accept=(0.45, 0.65), rival=0.882, figure="fig-a-11")
def line_before(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    """At initialisation the first two components look like noise (stripe, and images by a CNN).

    accuracy of the best line in their plane; the larger of the two tasks

    Rival: a component along $x_1$, which follows one of the stripe's planes
    Source: paper A, Fig. 11 left
    Short: best line before training
    """
    measure = lambda rows: (mean(kernel_at(rows, *START).separable), kernel_at(rows, *START))  # noqa: E731
    return of_both(measure, stripes, curves, image_p, by=lambda value: value)


@claim(
    "A.Fig11-after-stripe",
    accept=(0.9, 1),
    rival=0.882,
    figure="fig-a-11",
    given={"task": "stripe", "column": "separable_many"},
)
@again(
    "A.Fig11-after-mnist",
    accept=(0.8, 0.999),
    rival=(0.5, "a component that carries no information on the label"),
    given={"task": "mnist", "column": "separable"},
    at={"data": "mnist"},
    source="paper A, Fig. 11 centre and caption",
    statement="After learning the classes are separated, not completely (MNIST, CNN).",
    short="best line after training, images",
)
def line_after(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task, column):
    """After learning the classes are well separated clouds (stripe).

    accuracy of the best line in the plane of the first two components

    Rival: a component along $x_1$, which follows one of the two planes
    Source: paper A, Fig. 11 centre
    Short: best line after training, stripe
    """
    after = kernel_at(_of_task(task, stripes, curves, image_p), *END)
    return mean(after[column]), after


@claim("A.Fig11-last-centred-stripe", accept=(0.95, 1), rival=0.882, headline=True, figure="fig-a-11")
def line_in_last_layer(stripes=studies.stripes["main"]):
    """Two components of the last layer separate the stripe linearly.

    accuracy of the best line in the plane of the first two principal components of its activations, the mean subtracted

    Rival: a component along $x_1$, which follows one of the two planes
    Source: paper A, Fig. 11 right and caption: "two informative eigenvectors are necessary to linearly separate the
    stripe data"; they are "principal components"
    Short: best line in the last layer, stripe
    """
    last = kernel_at(stripes, "last", "end")
    if last.empty:
        return None
    return mean(last.separable_centred), last


@claim("A.Fig11-one-stripe", accept=(0.5, 0.93), rival=0.972, figure="fig-a-11")
def threshold_in_last_layer(lines=studies.stripe_lines["main"]):
    """One component of the last layer does not separate the stripe: "two informative eigenvectors are necessary".

    accuracy of the best threshold of the first principal component of its activations, the mean subtracted

    Rival: the accuracy of two: one is enough
    Source: paper A, Fig. 11, caption, (3)
    Short: best threshold in the last layer, stripe
    """
    last = lines[lines.kernel == "last"]
    return mean(last.one), last


@claim("A.Fig11-line", accept=(1, 1.5), rival=2, figure="tab-a-11")
def dimension_of_last_layer(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p):
    r"""In the last layer the data are nearly on a line (stripe, and images by a CNN).

    effective dimension of its centred kernel, $(\sum\lambda)^2/\sum\lambda^2$; the larger of the two tasks

    Rival: a disc in the plane of two components
    Source: paper A, Sec. 5.2: "data organize into a smaller manifold, which is approximately one-dimensional"
    Short: effective dimension of the last layer
    """

    def measure(rows):
        last = kernel_at(rows, "last", "end")
        return mean(last.dimension_centred), last

    return of_both(measure, stripes, curves, image_p, by=lambda value: value)


@claim("A.Fig11-dimension", accept=(4, 8), stated=6, rival=1, figure="tab-a-11")
def dimension_by_neighbours(curves=studies.image_curves["main"], *, image_p):
    """By distances between neighbours the trained CNN's last layer has dimension about 6, though it looks like a line
    in the plane of two components.

    dimension by the distances of nearest neighbours

    Rival: a line, as the plane of two components suggests
    Source: paper A, Sec. 5.2, footnote 5
    Short: dimension by neighbours, images
    """
    last = kernel_at(curves[curves.p == image_p[-1]], "last", "end")
    return mean(last.distances), last


# Learning curves of images


def log_error_ratio(rows, first, second):
    """Log of the first error over the second, over the seeds of which both ended, and their rows."""
    first = kernel_at(rows, *first).set_index("seed", drop=False)
    second = kernel_at(rows, *second).set_index("seed", drop=False)
    ended = first.ended.isin(ENDED) & second.ended.isin(ENDED)
    return np.log(first.error / second.error)[ended], first[ended], second[ended]


def _mean_log_ratio(rows, first, second):
    """The mean of ``log_error_ratio``, and its rows."""
    logs, *tables = log_error_ratio(rows, first, second)
    return mean(logs), *tables


@claim(
    "B.Fig9-cnn",
    accept=(0.1, math.inf),
    rival=0,
    figure="fig-a-9",
    given={"first": ["full", "start"], "second": ["network", "end"]},
)
@again(
    "A.Fig9-final-gain",
    rival=(0, "the kernel does not change"),
    headline=True,
    given={"first": ["full", "start"], "second": ["full", "end"]},
    source=('paper A, Sec. 5.2: "the NTK obtained at the end of training outperforms the NTK at initialization"'),
    statement=("At the largest $p$ the kernel frozen after training has a smaller error than the one frozen before."),
    measure="difference of log errors, before minus after",
    short="log error, kernel before over after",
)
@again(
    "A.Fig9-final-kernel",
    accept=(-0.1, math.inf),
    rival=(-0.32, "training leaves the kernel as it was: the initial one's"),
    given={"first": ["network", "end"], "second": ["full", "end"]},
    source=('paper A, Sec. 5.2: it performs "as well as the network", and "slightly better for the largest $p$"'),
    statement=(
        "Given as many other images, the kernel frozen after training has at most the network's error at the largest "
        "$p$."
    ),
    measure="difference of log errors, network minus kernel, which learns from as many other images",
    short="log error, network over final kernel",
)
@again(
    "B.Sec5-identical-400",
    accept=(-0.1, 0.1),
    stated=0,
    rival=(-0.32, "training leaves the kernel as it was: the initial one's"),
    given={"first": ["network", "end"], "second": ["full", "end"]},
    at={"data": "mnist", "p": 400},
    source=(
        'paper B, Sec. 5: "using a kernel method based on the NTK obtained at the end of training leads to '
        'essentially identical performance than the neural net itself"'
    ),
    statement="The kernel frozen after training, given as many other images, has the network's error (MNIST, CNN).",
    measure="log of the network's error over the kernel's, 400 images each",
    short="the same for paper B",
)
@again(
    "A.Fig9-last-layer",
    accept=(0.05, math.inf),
    rival=(0, "the last layer's features hold all that the network learnt"),
    given={"first": ["last", "end"], "second": ["network", "end"]},
    source='paper A, Sec. 5.2: it performs "well but generally less so than the network itself"',
    statement="The kernel of the trained last layer has a larger error than the network.",
    measure="difference of log errors at the largest $p$",
    short="log error, last layer over network",
)
def error_against(curves=studies.image_curves["main"], *, image_p, first, second):
    """For a CNN feature learning outperforms the lazy regime: the network's error lies below its initial kernel's.

    difference of log errors, kernel minus network, at the largest $p$

    Rival: equal errors
    Source: paper B, Sec. 4: "For CNN architectures, feature learning outperforms the NTK regime"; paper A, Fig. 9
    Short: log error, initial kernel over network
    """
    return _mean_log_ratio(curves[curves.p == image_p[-1]], first, second)


@claim("A.Fig9-equal-totals", accept=(0.05, math.inf), rival=-0.1, figure="fig-a-9", at={"p": [25, 100]})
def error_at_equal_totals(curves=studies.image_curves["main"]):
    """At equal totals of images the CNN's kernel frozen after training has a larger error than the network.

    log error of the kernel of 25 (100) images that learns from 25 (100) others, over that of the network of 50 (200),
    which is taken from its learning curve by a power law between neighbouring sizes; mean of the two

    Rival: images that train the kernel come for free: given as many others it has 0.1 less than the network
    Source: derived from paper A, Sec. 5.2, which takes "different data for the training set"
    Short: log error, kernel over network, equal totals
    """
    kernel, network = kernel_at(curves, *END), kernel_at(curves, *NETWORK)
    logs = [np.log(rows.pivot(index="seed", columns="p", values="error")) for rows in (kernel, network)]
    pairs = [(small, large) for small, large in itertools.pairwise(sorted(logs[1])) if large >= 2 * small]
    if not pairs:
        return None
    behind = [logs[0][small] - _between(logs[1], small, large, 2 * small) for small, large in pairs]
    return mean(sum(behind) / len(behind)), kernel, network


def _between(logs, small, large, size):
    """The log error at a size, by a power law between two others."""
    part = math.log(size / small) / math.log(large / small)
    return (1 - part) * logs[small] + part * logs[large]


@claim("A.Fig9-gain", accept=(0.001, math.inf), rival=0, headline=True, figure="fig-a-9", at={"data": "mnist"})
def image_exponent_gained(curves=studies.image_curves["main"]):
    r"""Feature learning of MNIST parity has the larger exponent.

    exponent of the network minus that of the frozen initial kernel

    Rival: no gain
    Source: paper A, Fig. 9: about 0.5 and 0.3, "and consequently $\beta_{\rm Lazy}<\beta_{\rm Feature}$"
    Short: gain in exponent, network over initial kernel
    """
    network = kernel_at(curves, *NETWORK)
    lazy = kernel_at(curves, *START)
    return drift(beta_difference, network, lazy), network, lazy


@claim("A.Fig9-own-images", accept=(-0.1, 0.1), rival=0.2, figure="fig-a-9", at={"data": "mnist", "p": 400})
def error_on_own_images(own=large_p.own_images["main"]):
    """On its own images the CNN's kernel frozen after training has the error of the network.

    log of the network's error over that of its kernel, frozen at the end and trained on the network's 400 images

    Rival: own images serve as well as others, which give it this advantage over the network
    Source: derived in this chapter; paper A, Sec. 5.2, takes "different data"
    Short: log error, network over kernel, own images
    """
    network, kernel = (own[own.curve == it].set_index("seed", drop=False).sort_index() for it in ("network", "own"))
    ended = network.ended.isin(ENDED) & kernel.ended.isin(ENDED)
    logs = np.log(network.error / kernel.error)[ended]
    return (mean(logs), network[ended], kernel[ended]) if len(logs) > 1 else None


# The course of training


def alignment_ahead(course):
    """Log of the alignment over that at the end, ``(seeds, frames)``, NaN beyond the end of a training."""
    alignments = course.pivot(index="seed", columns="frame", values="alignment").to_numpy()
    final = np.array([course[~np.isnan(course)][-1] for course in alignments])
    return np.log(alignments / final[:, None])


@claim("A.Fig10-peak-split", accept=(0.05, math.inf), rival=-0.6, headline=True, figure="fig-4-course")
def alignment_peak(course=studies.kernel_along_training["stripe"]):
    """The kernel is aligned with the label most before the end of training (stripe).

    log of the alignment over that at the end, each half of the seeds at the state where the other half have the largest
    mean

    Rival: as on images, where it grows to the end: half-way over the end
    Source: derived in this chapter
    Short: log alignment, largest over final, stripe
    """
    before_end = alignment_ahead(course)[:, :-1]
    peaks = []
    for half in (0, 1):
        other_half = np.nan_to_num(before_end[1 - half :: 2], nan=-9.0)
        frame = np.argmax(other_half.mean(0))
        peaks.append(before_end[half::2, frame])
    return mean(np.concatenate(peaks))


@claim("A.Fig10-late-stripe", accept=(-math.inf, -0.1), rival=0, figure="fig-4-course", given={"task": "stripe"})
@again(
    "A.Fig10-late-mnist",
    accept=(0.1, math.inf),
    given={"task": "mnist"},
    at={"data": "mnist"},
    statement=("Late in training the first centred component goes on gaining projection of the label (MNIST, CNN)."),
    short="log projection on the first, late, images",
)
def late_projection_on_the_first(
    stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task
):
    """Late in training the first centred component loses projection of the label (stripe).

    log of the label's squared projection on it at the end over that when half of the points are fitted, geometric means
    over seeds

    Rival: eigenvalues alone change, as where the kernel stretches along fixed components
    Source: derived in this chapter, from paper A, Sec. 5.2
    Short: log projection on the first, late, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    rows = rows[rows.kernel == "full"]
    if rows.empty:
        return None
    halfway = rows[rows.moment == first_stop(rows)]
    end = rows[rows.moment == "end"]
    change = (_log_first_projection(end) - _log_first_projection(halfway)).dropna()
    return (mean(change), halfway, end) if len(change) > 1 else None


def _log_first_projection(rows):
    """Log of the projection on the first centred component, by seed."""
    return np.log(rows.set_index("seed").projections_centred.str[0].astype(float))


# Estimates of information


def _with_most_points(rows):
    """The rows with the most points."""
    return rows[rows.n == rows.n.max()]


@claim(
    "A.AppE-bias",
    accept=(0, 0.05),
    corrected=(0.05, 0.25),
    rival=0.069,
    erratum="a-information",
    profiles=("smoke", "laptop", "paper"),
    figure="fig-a-appe",
)
def largest_bias(lines=studies.estimators["one_dimension"]):
    r"""In one dimension the estimate of the mutual information agrees with the exact value on synthetic data.

    largest error, bits

    Rival: a label that carries no information: $q$ is Beta(5, 5), whose mean of $1-h_2$ is $1-(H_{10}-H_5)/\ln2$
    Elsewhere: case by case 0.068 (null), 0.048 (sharp), 0.035 (near), 0.020 (apart), 0.0008 (oblique); in more
    dimensions (line) 0.193
    Source: paper A, App. E
    Short: largest error of the estimate, bits
    """
    largest = _with_most_points(lines)
    table = largest.assign(bias=largest.estimate - largest.exact)
    worst = table[table.case == table.groupby("case").bias.mean().abs().idxmax()]
    return mean(worst.bias * np.sign(worst.bias.mean())), worst


def _largest_dimension(rows, case):
    """The rows of a case in the most dimensions."""
    return rows[(rows.d == rows.d.max()) & (rows.case == case)]


@claim(
    "A.AppE-dimension",
    accept=(-1, -0.05),
    rival=0,
    profiles=("smoke", "laptop", "paper"),
    figure="fig-a-appe",
    given={"case": "filled"},
    at={"d": 20},
)
@again(
    "A.AppE-manifold",
    accept=(0.05, 1),
    given={"case": "line"},
    at={},
    statement="On a line in a larger space $q$ is biased towards its extrema.",
    measure="estimate with the space's dimension minus exact value, bits",
    short="error on a line, bits",
)
def bias_in_dimensions(clouds=studies.estimators["more_dimensions"], *, case):
    """In large dimension the estimate of $q$ is biased towards 1/2.

    estimate minus exact value of the mutual information in $d=20$, bits

    Rival: no bias
    Source: paper A, App. E
    Short: error in $d=20$, bits
    """
    rows = _largest_dimension(clouds, case)
    return mean(rows.estimate - rows.exact), rows


# Even and odd components


def by_sector(rows):
    """Information of the first ten components, means weighted by their shares of either sector, ``(seeds, 2)``."""
    weights = by_component(rows, "kinds").clip(0)
    bits = by_component(rows, "information")
    return (weights * bits[..., None]).sum(1) / weights.sum(1)


def next_components(spectra, moment, stripe_d):
    """``(seeds,)``: the mean share that both sectors explain of the components beyond the linear functions."""
    shares = by_component(spectra[spectra.moment == moment], "kinds")
    return shares[:, stripe_d + 1 :].sum(-1).mean(-1)


def departure_power(full):
    """The power of the amplification with which the distance from the form varies over seeds, at the last fitted share
    before the end.

    Expected: -1/2, if the side of a fraction ``1/Λ`` of the points changes.
    """
    latest = max(set(full.moment) - {"start", "end"}, key=float)
    late = full[full.moment == latest]
    return float(np.polyfit(np.log(late.amplification), np.log(late.departure), 1)[0])


@claim("A.AppD-harmonics", accept=(0.9, 1), rival=0.185, figure="fig-a-appd", at={"d": 10})
def share_of_both_sectors(spectra=studies.stripe_spectra["main"], *, stripe_d):
    """After learning the eigenvectors 12 to 22, second harmonics before training, are in the even and odd sectors, too
    (stripe, $d=10$).

    mean share that both sectors explain

    Rival: an isotropic kernel, as before training: ten of its 54 second harmonics are in the sectors
    Source: paper A, Sec. 5.1 and App. D: "eigenvectors with non-vanishing eigenvalues are then of two kind"
    Short: share of both sectors, next eleven
    """
    return mean(next_components(spectra, "end", stripe_d)), spectra[spectra.moment == "end"]


@claim("A.AppD-first-kind", accept=(0.1, 1), rival=0, figure="fig-a-appd")
def even_over_odd(stripes=studies.stripes["main"]):
    r"""Even components, functions of $x_\parallel$, carry more information on the label than odd ones, such functions
    times $u\cdot x_\perp$ (stripe, after learning).

    information of even minus odd components, in bits; each is the mean over the first ten components weighted by their
    share of the sector

    Rival: even and odd components carry equal information
    Source: paper A, Sec. 5.1: "generically more informative on the label $y(x_\parallel)$ than spherical harmonics. It
    is also true, but to a lesser extent, for the eigenvectors" of the second kind
    Short: information, even minus odd components
    """
    end = kernel_at(stripes, *END).sort_values("seed")
    even, odd = by_sector(end).T
    return mean(even - odd), end


@claim("A.AppD-second-kind", accept=(0.03, 1), rival=0, figure="fig-a-appd")
def odd_over_untrained(stripes=studies.stripes["main"]):
    r"""Odd components, too, carry more information than the components of the kernel before training (stripe).

    information of odd components after learning, weighted likewise, minus the mean of the first ten at initialisation,
    in bits

    Rival: the kernel does not change
    Elsewhere: 2048 points and width $10^4$ 0.037
    Source: paper A, Sec. 5.1: "generically more informative on the label $y(x_\parallel)$ than spherical harmonics. It
    is also true, but to a lesser extent, for the eigenvectors" of the second kind
    Short: information, odd minus untrained components
    """
    start = kernel_at(stripes, *START).sort_values("seed")
    end = kernel_at(stripes, *END).sort_values("seed")
    return mean(by_sector(end)[:, 1] - by_component(start, "information").mean(1)), start, end


# Norms


def norm_change(rows):
    """``(seeds, parts)``: log of the least norms at the end over those at the start, by the part of the label left."""
    rows = rows.sort_values("seed")
    start = by_component(rows[rows.moment == "start"], "norms")
    end = by_component(rows[rows.moment == "end"], "norms")
    return np.log(end / start)


@claim("A.Fig10-norm-half", accept=(-math.inf, -0.7), rival=0, headline=True, figure="tab-4-norms")
def norm_of_half(spectra=studies.stripe_spectra["main"]):
    r"""Learning reduces the label's squared norm in the space of the stripe's kernel.

    log of the least norm of a function that leaves half of the label, times the mean of $\Theta(x,x)$, at the end over
    that at initialisation

    Rival: the kernel does not change; at -0.7 the norm is halved
    Source: paper A, Sec. 6: "effectively reducing the RKHS norm of the function being learnt"
    Short: log change of the norm, half left
    """
    return mean(norm_change(spectra)[:, 0])


@claim("A.Fig10-norm-last", accept=(-math.inf, -0.7), rival=0, part_of="A.Fig10-norm-half", figure="tab-4-norms")
def norm_of_the_last_part(norms=studies.stripe_norms["main"]):
    r"""Learning reduces the norm of a function that leaves a fiftieth of the hinge loss (stripe).

    log of the least norm of a function with the mean hinge loss 0.02 on new points, times the mean of $\Theta(x,x)$, at
    the end over that at initialisation

    Rival: the kernel does not change; at -0.7 the norm is halved
    Source: paper A, Sec. 6: "effectively reducing the RKHS norm of the function being learnt"
    Short: log change of the norm, fiftieth left
    """
    return mean(norm_change(norms)[:, 2])


@claim("A.Fig10-norm-error", accept=(-math.inf, -0.1), rival=0, figure="tab-4-norms", at={"p": 512, "h": 300})
def error_as_the_norm_falls(norms=studies.stripe_norms["main"], stripes=studies.stripes["main"]):
    """Of two kernels that in whose space the label has the smaller norm has the smaller error (stripe, 90 % fitted and
    the end).

    log error of the kernel frozen at the end over that of the kernel frozen at 90 % fitted, on networks in whose
    training the norm falls in between, of a function that leaves a tenth of the hinge loss

    Rival: the error does not follow the norm
    Source: paper A, Sec. 5.1: "a kernel is expected to perform well if the RKHS norm ... of the function ... is small"
    Short: log error as the norm falls, late
    """
    networks = [name for name in ("p", "h") if name in norms and name in stripes]
    if networks:  # of others the norm is not known
        stripes = stripes.merge(norms[networks].drop_duplicates())
    found = {}
    for name, rows in {"norm": norms.assign(value=norms.norms.str[1]), "error": of_full_kernel(stripes)}.items():
        logs = np.log(rows.pivot(index="seed", columns="moment", values="value").astype(float))
        late = max(set(logs) - {"start", "end"}, key=float)
        found[name] = logs["end"] - logs[late]
    falls = found["norm"].index[found["norm"] < 0]
    if len(falls) < 2:
        return None
    return mean(found["error"].reindex(falls).dropna()), norms, stripes[stripes.kernel == "full"]


def of_full_kernel(stripes):
    """The rows of the full kernel, its error as ``value``; one that is right everywhere has half an error."""
    full = stripes[stripes.kernel == "full"]
    return full.assign(value=full.error.clip(lower=5e-4))


# Isotropic kernels


def square_exponent(rows):
    """The exponent of the mean square error in ``p``."""
    return mean(-slopes(*by_size(rows, "square")))


def intrinsic_dimension(rows):
    """The intrinsic dimension by the distance of the nearest, ``p^(-1/d)``, of which each seed gives a slope."""
    return mean(-1 / slopes(*by_size(rows, "nearest")))


@claim(
    "B.Sec5-isotropic-mnist",
    accept=(0.3, 0.5),
    stated=0.4,
    rival=0.071,
    headline=True,
    figure="fig-4-isotropic",
    given={"images": isotropic.kernels_on_images["mnist"], "stated": 0.4},
    at={"data": "mnist"},
)
@again(
    "B.Sec5-isotropic-cifar10",
    accept=(0.05, 0.15),
    stated=0.1,
    rival=(0.033, r"$1/d_{\rm int}$ with the paper's 30, the curse of dimensionality"),
    headline=True,
    given={"images": isotropic.kernels_on_images["cifar10"], "stated": 0.1},
    at={"data": "cifar10"},
    source=(
        r'paper B, Sec. 5: "but $\beta\approx0.1$ for CIFAR10, which implies very slow learning as the '
        'number of data increases"'
    ),
    statement=(
        "With a Laplace, a Gaussian kernel and the NTK of a fully connected network the learning curve of CIFAR-10 has "
        "the exponent 0.1 (two sets of classes)."
    ),
    short="exponent on CIFAR-10, three kernels",
)
def exponent_of_images(images, *, stated):
    r"""With a Laplace, a Gaussian kernel and the NTK of a fully connected network the learning curve of MNIST has the
    exponent {stated} (parity).

    test error of the hard-margin classifier; of the three exponents that furthest from {stated}

    Rival: $1/d_{\rm int}$ with the paper's 14, the curse of dimensionality
    Source: paper B, Sec. 5: "Laplace or Gaussian kernels (which are very similar to the NTK of fully connected nets)
    lead to $\beta\approx0.4$ for MNIST"
    Short: exponent on MNIST, three kernels
    """
    found = [(drift(beta, rows), rows) for _, rows in images.groupby("kernel", sort=False)]
    return furthest(found, by=lambda value: abs(value - stated)) if found else None


MANY_IMAGES = 1024  # from which on the distance of neighbours is fitted: with fewer the dimension still grows


@claim(
    "B.Sec5-dimension-mnist",
    accept=(12, 16),
    stated=14,
    rival=30,
    figure="fig-4-isotropic",
    given={"images": isotropic.kernels_on_images["mnist"]},
    at={"data": "mnist", "p": [1024, 8192]},
)
@again(
    "B.Sec5-dimension-cifar10",
    accept=(24, 36),
    stated=30,
    rival=(14, "the dimension of MNIST"),
    part_of="B.Sec5-dimension-mnist",
    given={"images": isotropic.kernels_on_images["cifar10"]},
    at={"data": "cifar10", "p": [1024, 8192]},
    statement="The intrinsic dimension of CIFAR-10 is about 30.",
    measure="by the distance to the nearest of $p$ images, from 1024 to 8192; with fewer it still grows",
    short="intrinsic dimension of CIFAR-10",
)
def dimension_of_images(images):
    r"""The intrinsic dimension of MNIST is about 14.

    by the distance to the nearest of $p$ images, which falls as $p^{-1/d_{\rm int}}$, from 1024 to 8192; with fewer it
    still grows

    Rival: the dimension of CIFAR-10
    Source: paper B, Sec. 5: "the intrinsic dimensions remain significant ($d_{\rm int}\approx14$ and $d_{\rm
    int}\approx30$ respectively)"
    Short: intrinsic dimension of MNIST
    """
    rows = images[(images.kernel == "laplace") & (images.p >= MANY_IMAGES)]
    return (intrinsic_dimension(rows), rows) if rows.p.nunique() > 1 else None
