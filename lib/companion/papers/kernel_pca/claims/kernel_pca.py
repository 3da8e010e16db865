"""Claims of chapter 4: the components of the tangent kernel, before and after learning."""

import math

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import jackknife, mean, ratio, slopes
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


def _of_task(task, stripes, curves, image_p):
    """The rows of the stripe, or of the largest sets of images."""
    return stripes if task == "stripe" else curves[curves.p == image_p[-1]]


# Components


@claim(
    "A.Fig10-gain-stripe",
    accept=(0.2, 1),
    rival=0,
    looks=3,
    headline=True,
    figure="fig-a-10",
    given={"task": "stripe", "kernel": "full"},
)
@again(
    "A.Fig10-gain-mnist",
    looks=4,
    part_of="A.Fig10-gain-stripe",
    headline=True,
    given={"task": "mnist", "kernel": "full"},
    at={"data": "mnist"},
    source="paper A, Fig. 10c",
    statement="Learning greatly improves the mutual information (MNIST, CNN).",
    short="gain of largest information, images",
)
@again(
    "A.Fig10-last-layer-stripe",
    rival=(0, "the features do not change"),
    part_of="A.Fig10-gain-stripe",
    given={"task": "stripe", "kernel": "last"},
    statement="Learning greatly improves the mutual information of the last layer's features too (stripe).",
    measure="largest of their first ten components minus largest of the initial kernel, bits",
    short="gain in the last layer, stripe",
)
@again(
    "A.Fig10-last-layer-mnist",
    rival=(0, "the features do not change"),
    looks=4,
    part_of="A.Fig10-gain-stripe",
    given={"task": "mnist", "kernel": "last"},
    at={"data": "mnist"},
    source="paper A, Fig. 10c",
    statement="Learning greatly improves the mutual information of the last layer's features too (MNIST, CNN).",
    measure="largest of their first ten components minus largest of the initial kernel, bits",
    short="gain in the last layer, images",
)
@again(
    "A.Fig10-gain-wide",
    rival=(0, "in the lazy regime the kernel does not change, and wider networks are lazier at a fixed scale"),
    looks=1,
    part_of="A.Fig10-gain-stripe",
    given=PAPER_WIDTH | {"kernel": "full"},
    at={"h": 10000},
    statement="At paper A's width, too, learning greatly improves the mutual information (stripe).",
    measure="largest of ten components after training minus largest before, bits",
    short="gain of largest information, width $10^4$",
)
@again(
    "A.Fig10-last-layer-wide",
    rival=(0, "in the lazy regime the kernel does not change, and wider networks are lazier at a fixed scale"),
    looks=1,
    part_of="A.Fig10-gain-stripe",
    given=PAPER_WIDTH | {"kernel": "last"},
    at={"h": 10000},
    statement="At paper A's width learning greatly improves the last layer's information too.",
    measure="largest of ten components after training minus largest before, bits",
    short="gain in the last layer, width $10^4$",
)
def information_gained(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task, kernel):
    """Learning greatly improves the mutual information (stripe).

    largest after training minus largest at initialisation, bits

    Rival: the kernel does not change
    Source: paper A, Fig. 10a
    Short: gain of largest information, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    if rows.empty:
        return None
    gained = largest_information(rows, kernel, "end") - largest_information(rows, *START)
    return mean(gained), kernel_at(rows, *START), kernel_at(rows, kernel, "end")


@claim(
    "A.Fig10-projection-stripe",
    accept=(0.5, 1),
    corrected=(0, 0.5),
    rival=0.1,
    erratum="a-centred",
    looks=3,
    figure="fig-a-10",
    given={"task": "stripe", "column": "projections"},
)
@again(
    "A.Fig10-projection-mnist",
    looks=4,
    part_of="A.Fig10-projection-stripe",
    given={"task": "mnist", "column": "projections"},
    at={"data": "mnist"},
    source="paper A, Fig. 10d",
    statement="After training most of the label's projection is on the first component (MNIST, CNN).",
    short="share on the first component, images",
)
@again(
    "A.Fig10-centred-first-stripe",
    corrected=None,
    erratum=None,
    part_of="A.Fig10-projection-stripe",
    given={"task": "stripe", "column": "projections_centred"},
    source=(
        'paper A, Sec. 5.2: "most of the projection occurs along the first mode", if kernel PCA subtracts the mean'
    ),
    statement="With centred features most of the label's projection is on the first component (stripe).",
    short="the same share, centred, stripe",
)
@again(
    "A.Fig10-centred-first-mnist",
    corrected=None,
    erratum=None,
    looks=5,
    part_of="A.Fig10-projection-stripe",
    given={"task": "mnist", "column": "projections_centred"},
    at={"data": "mnist"},
    source=(
        'paper A, Sec. 5.2: "most of the projection occurs along the first mode", if kernel PCA subtracts the mean'
    ),
    statement="With centred features most of the label's projection is on the first component (MNIST, CNN).",
    short="the same share, centred, images",
)
@again(
    "A.Fig10-centred-first-wide",
    corrected=None,
    erratum=None,
    looks=1,
    part_of="A.Fig10-projection-stripe",
    given=PAPER_WIDTH | {"column": "projections_centred"},
    at={"h": 10000},
    source=(
        'paper A, Sec. 5.2: "most of the projection occurs along the first mode", if kernel PCA subtracts the mean'
    ),
    statement=("At paper A's width, too, most of the label's projection is on the first centred component (stripe)."),
    short="centred share on the first, width $10^4$",
)
def share_of_the_first(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task, column):
    """After training most of the label's projection is on the first component (stripe).

    the first component's share of the ten

    Rival: equal shares of the ten
    Source: paper A, Fig. 10b
    Short: share on the first component, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    if rows.empty:
        return None
    return mean(first_share(rows, column)), kernel_at(rows, *END)


@claim("B.Fig11-projects-stripe", accept=(0.1, 1), rival=0, looks=4, figure="fig-a-10", given={"task": "stripe"})
@again(
    "B.Fig11-projects-mnist",
    looks=5,
    part_of="B.Fig11-projects-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    statement="The label's projection on the first ten components gets large after learning (MNIST, CNN).",
    short="gain of ten projections, images",
)
def projection_gained(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    r"""The label's projection on the first ten components gets large after learning (stripe).

    the part of the label that they hold, after minus before

    Rival: the kernel does not change
    Source: paper B, Fig. 11: "their projection $\omega_\lambda$ get large after learning"
    Short: gain of ten projections, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    before = kernel_at(rows, *START)
    after = kernel_at(rows, *END)
    gained = by_component(after, "projections").sum(1) - by_component(before, "projections").sum(1)
    return mean(gained), before, after


@claim(
    "A.Fig11-only-first-stripe",
    accept=(-0.03, 0.03),
    rival=0.9,
    figure="fig-a-10",
    given={"column": "information_centred"},
)
@again(
    "A.Fig11-only-first-matrix-stripe",
    corrected=(0.1, 1),
    erratum="a-centred",
    part_of="A.Fig11-only-first-stripe",
    given={"column": "information"},
    statement=(
        "After learning the second eigenvector of the matrix as the text has it carries no information on "
        "the label (stripe)."
    ),
    measure="mutual information of the second eigenvector less the estimator's bias, bits",
    short="the same, paper's matrix",
)
def information_of_the_second(stripes=studies.stripes["main"], *, column):
    """After learning the second eigenvector carries no information on the label (stripe, centred).

    its mutual information less the estimator's bias where there is no information, bits

    Rival: a component that carries the label, as the first does
    Source: paper A, Fig. 11, caption: "For the stripe model, only the first eigenvector of the final kernel contains
    information on the labels"
    Short: information of the second component, centred
    """
    trained = kernel_at(stripes, *END)
    return mean(by_component(trained, column)[:, 1] - information.null_bias()), trained


@claim("A.Fig10-init-stripe", accept=(0, 0.2), rival=1, looks=3, figure="fig-4-initial", given={"task": "stripe"})
@again(
    "A.Fig10-init-mnist",
    looks=4,
    part_of="A.Fig10-init-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    source="paper A, Fig. 10c",
    statement="At initialisation no component carries more than a small part of the label (MNIST, CNN).",
    short="largest information before training, images",
)
def information_before(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    """At initialisation no component carries more than a small part of the label (stripe).

    largest mutual information of the first ten components, bits

    Rival: a component that carries the label: one bit
    Source: paper A, Fig. 10a
    Short: largest information before training, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    return mean(largest_information(rows, *START)), kernel_at(rows, *START)


@claim(
    "A.Fig10-flat-stripe",
    accept=(-0.05, 0.05),
    rival=-0.098,
    looks=3,
    part_of="A.Fig10-init-stripe",
    figure="fig-4-initial",
    given={"task": "stripe"},
)
@again(
    "A.Fig10-flat-mnist",
    looks=4,
    part_of="A.Fig10-init-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    source="paper A, Fig. 10c",
    statement="At initialisation the mutual information is essentially independent of the rank (MNIST, CNN).",
    short="change of information with rank, images",
)
def change_with_rank(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    """At initialisation the mutual information is essentially independent of the rank (stripe).

    change over the first ten components by a fitted line, bits

    Rival: all of the 0.2 bit that "small" allows in the first component, none in the others
    Source: paper A, Fig. 10a
    Short: change of information with rank, stripe
    """
    before = kernel_at(_of_task(task, stripes, curves, image_p), *START)
    slope = np.polyfit(np.arange(COMPONENTS), by_component(before, "information").T, 1)[0]
    return mean((COMPONENTS - 1) * slope), before


@claim("A.Fig10-trend-stripe", accept=(-0.25, 0.25), rival=-1, looks=2, figure="fig-a-10", given={"task": "stripe"})
@again(
    "A.Fig10-trend-mnist",
    part_of="A.Fig10-trend-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    statement=("At initialisation the projection has no significant trend with rank in the first ten (MNIST, CNN)."),
    short="trend of the projection with rank, images",
)
def trend_of_projection(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    """At initialisation the projection has no significant trend with rank in the first ten (stripe).

    change over the ten by a fitted line, over their mean

    Rival: it falls by its own mean, as where the smooth components hold more of the label
    Source: paper A, Sec. 5.2: "does not show a significant trend with rank within the first 10 eigenvectors"
    Short: trend of the projection with rank, stripe
    """
    before = kernel_at(_of_task(task, stripes, curves, image_p), *START)
    projections = by_component(before, "projections")
    ranks = np.arange(COMPONENTS)

    def change(rows):
        means = rows.mean(0)
        return (COMPONENTS - 1) * np.polyfit(ranks, means, 1)[0] / means.mean()

    return jackknife(projections, change), before


@claim(
    "A.Fig10-second-mnist",
    accept=(0.1, 1),
    rival=0.05,
    looks=2,
    part_of="A.Fig10-projection-stripe",
    figure="fig-a-10",
    at={"data": "mnist"},
)
def share_of_the_second(curves=studies.image_curves["main"], *, image_p):
    """After training the second component has a sizable projection (MNIST, CNN).

    its share of the ten; an equal share is a tenth

    Rival: half of an equal share of the ten
    Source: paper A, Sec. 5.2: "with the second mode also showing a sizable projection for MNIST"
    Short: share on the second component, images
    """
    rows = kernel_at(curves[curves.p == image_p[-1]], *END)
    projections = by_component(rows, "projections")
    return mean(projections[:, 1] / projections.sum(1)), rows


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


@claim("A.Fig11-init-stripe", accept=(0.45, 0.65), rival=0.882, looks=3, figure="fig-a-11", given={"task": "stripe"})
@again(
    "A.Fig11-init-mnist",
    rival=(1, "separate classes, as after training"),
    looks=4,
    part_of="A.Fig11-init-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    statement="At initialisation the first two components look like noise (MNIST, CNN).",
    short="best line before training, images",
)
def line_before(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    """At initialisation the first two components look like noise (stripe).

    accuracy of the best line in their plane

    Rival: a component along $x_1$, which follows one of the two planes
    Source: paper A, Fig. 11 left
    Short: best line before training, stripe
    """
    before = kernel_at(_of_task(task, stripes, curves, image_p), *START)
    return mean(before.separable), before


@claim(
    "A.Fig11-after-stripe",
    accept=(0.9, 1),
    rival=0.882,
    looks=3,
    figure="fig-a-11",
    given={"task": "stripe", "column": "separable_many"},
)
@again(
    "A.Fig11-after-mnist",
    accept=(0.8, 0.999),
    rival=(0.5, "a component that carries no information on the label"),
    looks=5,
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


@claim("A.Fig11-last-centred-stripe", accept=(0.95, 1), rival=0.882, looks=3, headline=True, figure="fig-a-11")
@again(
    "A.Fig11-last-centred-wide",
    looks=1,
    part_of="A.Fig11-last-centred-stripe",
    given={"stripes": studies.stripes["wide"]},
    at={"h": 10000},
    statement="At paper A's width, too, two components of the last layer separate the stripe linearly.",
    short="best line in the last layer, width $10^4$",
)
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


@claim("A.Fig11-line-stripe", accept=(1, 1.5), rival=2, looks=3, figure="tab-a-11", given={"task": "stripe"})
@again(
    "A.Fig11-line-mnist",
    looks=4,
    part_of="A.Fig11-line-stripe",
    given={"task": "mnist"},
    at={"data": "mnist"},
    statement="In the last layer the data are nearly on a line (MNIST, CNN).",
    short="effective dimension of the last layer, images",
)
def dimension_of_last_layer(stripes=studies.stripes["main"], curves=studies.image_curves["main"], *, image_p, task):
    r"""In the last layer the data are nearly on a line (stripe).

    effective dimension of its centred kernel, $(\sum\lambda)^2/\sum\lambda^2$

    Rival: a disc in the plane of two components
    Elsewhere: 2048 points and width $10^4$ 1.16 (stripe)
    Source: paper A, Sec. 5.2: "data organize into a smaller manifold, which is approximately one-dimensional"
    Short: effective dimension of the last layer, stripe
    """
    last = kernel_at(_of_task(task, stripes, curves, image_p), "last", "end")
    return mean(last.dimension_centred), last


@claim("A.Fig11-dimension", accept=(4, 8), stated=6, rival=1, looks=4, figure="tab-a-11")
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
    "A.Fig9-order",
    accept=(0.1, math.inf),
    rival=0,
    looks=4,
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
    rival=(-1.02, r"training leaves the kernel as it was: $-0.2\ln(6944/42)$, by the paper's exponents"),
    headline=True,
    given={"first": ["network", "end"], "second": ["full", "end"]},
    source=('paper A, Sec. 5.2: it performs "as well as the network", and "slightly better for the largest $p$"'),
    statement="At the largest $p$ the kernel frozen after training has at most the network's error.",
    measure="difference of log errors, network minus kernel, which learns from as many other images",
    short="log error, network over final kernel",
)
@again(
    "A.Fig9-last-layer",
    accept=(0.05, math.inf),
    rival=(0, "the last layer's features hold all that the network learnt"),
    looks=5,
    given={"first": ["last", "end"], "second": ["network", "end"]},
    source='paper A, Sec. 5.2: it performs "well but generally less so than the network itself"',
    statement="The kernel of the trained last layer has a larger error than the network.",
    measure="difference of log errors at the largest $p$",
    short="log error, last layer over network",
)
@again(
    "A.Fig9-last-layer-gain",
    rival=(0, "features as at initialisation"),
    given={"first": ["last", "start"], "second": ["last", "end"]},
    statement=(
        "The kernel of the trained last layer has a smaller error than that of the last layer at initialisation."
    ),
    measure="difference of log errors at the largest $p$",
    short="log error, last layer before over after",
)
def error_against(curves=studies.image_curves["main"], *, image_p, first, second):
    """At the largest $p$ the network's error lies below that of its frozen initial kernel.

    difference of log errors, kernel minus network

    Rival: equal errors
    Source: paper A, Fig. 9
    Short: log error, initial kernel over network
    """
    return _mean_log_ratio(curves[curves.p == image_p[-1]], first, second)


@claim("A.Fig9-early", accept=(0.05, math.inf), rival=0, looks=4, figure="fig-4-course")
def error_of_early_kernel(curves=studies.image_curves["main"], *, image_p):
    """The CNN's kernel is better frozen when half of the training points are fitted than at the end.

    difference of log errors, end minus half, at the largest $p$

    Rival: the last points do not raise the error
    Source: derived in this chapter, as chapter 1 found for the stripe
    Short: log error, kernel end over half-way
    """
    largest = curves[curves.p == image_p[-1]]
    return _mean_log_ratio(largest, END, ("full", first_stop(largest)))


@claim("B.Sec5-identical-mnist", accept=(-0.1, 0.1), stated=0, rival=-0.25, figure="fig-a-9", at={"data": "mnist"})
@again(
    "A.Fig9-better-far",
    accept=(0, math.inf),
    stated=None,
    rival=(-0.1, "a kernel with a tenth more error than the network"),
    at={},
    source=(
        'paper A, Sec. 5.2: the kernels "perform as well as the network in the feature learning regime, '
        'and even once again slightly better for the largest $p$"'
    ),
    statement=(
        "At a size beyond those of the learning curves the kernel frozen after training has a slightly "
        "smaller error than the network."
    ),
    short="the same for paper A",
)
def error_on_more_images(images=large_p.image_errors["images"]):
    """The kernel of the CNN frozen at the end of training leads to essentially identical performance as the network
    itself (MNIST, at a size beyond those of the learning curves).

    log of the network's error over the kernel's

    Rival: the kernel does not change: the initial one has about a quarter more error than the network
    Source: paper B, Sec. 5: "using a kernel method based on the NTK obtained at the end of training leads to
    essentially identical performance than the neural net itself"
    Short: log error, network over kernel, larger size
    """
    return _mean_log_ratio(images[images.p == images.p.max()], NETWORK, END)


@claim("A.Fig9-gain", accept=(0.001, math.inf), rival=0, looks=7, headline=True, figure="fig-a-9", at={"data": "mnist"})
@again(
    "A.Fig9-gain-size",
    accept=(0.15, 0.25),
    stated=0.2,
    part_of="A.Fig9-gain",
    source="paper A, Fig. 9: about 0.5 and 0.3",
    statement=("The exponent of the network exceeds that of the frozen initial kernel by 0.2, to the digit given."),
    short="size of this gain",
)
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


@claim(
    "A.Fig9-feature",
    accept=(0.4, 0.6),
    stated=0.5,
    rival=0.3,
    looks=4,
    profiles=("paper",),
    figure="tab-4-exponents",
    given={"kernel": NETWORK},
    at={"data": "mnist"},
)
@again(
    "A.Fig9-lazy",
    accept=(0.25, 0.35),
    stated=0.3,
    rival=(0.5, "the network's exponent"),
    given={"kernel": START},
    at={},
    statement="The frozen initial kernel of the CNN has exponent 0.3.",
    short="exponent of the initial kernel",
)
def image_exponent(curves=studies.image_curves["main"], *, kernel):
    """The CNN's test error on MNIST parity falls with $p$ with exponent 1/2.

    exponent of the learning curve

    Rival: the frozen kernel's exponent
    Source: paper A, Fig. 9
    Short: exponent of the network
    """
    rows = kernel_at(curves, *kernel)
    return drift(beta, rows), rows


@claim("B.Fig9-cnn-scan", accept=(0.1, math.inf), rival=0, looks=2, figure="fig-b-9-cnn")
def error_of_scales(scan=studies.image_ensembles["main"]):
    """For a CNN feature learning outperforms the lazy regime.

    ensemble error of lazy minus feature, per cent, on 50 images

    Rival: no difference
    Source: paper B, Fig. 9 centre
    Short: ensemble error, lazy minus feature, %
    """
    smallest, largest = scan.alpha.min(), scan.alpha.max()
    errors = scan.pivot(index="seed", columns="alpha", values="ensemble_error")
    difference = mean(100 * (errors[largest] - errors[smallest]))
    return difference, scan[scan.alpha == smallest], scan[scan.alpha == largest]


@claim("A.Fig9-own-images", accept=(-0.1, 0.1), rival=0.2, figure="fig-a-9", at={"data": "mnist", "p": 400})
def error_on_own_images(own=large_p.own_images["main"]):
    """On its own images the CNN's kernel frozen after training has the error of the network.

    log of the network's error over that of its kernel, frozen at the end and trained on the network's 400 images

    Rival: own images serve as well as others, which give it this advantage over the network
    Source: derived in this chapter; paper A, Sec. 5.2, takes "different data"
    Short: log error, network over kernel, own images
    """
    network, kernel = (own[own.curve == curve].set_index("seed", drop=False) for curve in ("network", "own"))
    ended = network.ended.isin(ENDED) & kernel.ended.isin(ENDED)
    logs = np.log(network.error / kernel.error)[ended]
    return (mean(logs), network[ended], kernel[ended]) if len(logs) > 1 else None


# The course of training


def alignment_ahead(course):
    """Log of the alignment over that at the end, ``(seeds, frames)``, NaN beyond the end of a training."""
    alignments = course.pivot(index="seed", columns="frame", values="alignment").to_numpy()
    final = np.array([course[~np.isnan(course)][-1] for course in alignments])
    return np.log(alignments / final[:, None])


@claim("A.Fig10-peak-split", accept=(0.05, math.inf), rival=-0.6, looks=5, headline=True, figure="fig-4-course")
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


@claim("A.Fig10-halfway-mnist", accept=(0.05, math.inf), rival=0, looks=5, figure="fig-4-course", at={"data": "mnist"})
def alignment_halfway(curves=studies.image_curves["main"], *, image_p):
    """The kernel is aligned with the label more when half of the training points are fitted than at the end (MNIST,
    CNN).

    log of its alignment half-way over that at the end, at the largest $p$

    Rival: the alignment no longer grows
    Source: derived in this chapter, as on the stripe
    Short: log alignment, half-way over final, images
    """
    largest = curves[curves.p == image_p[-1]]
    halfway = kernel_at(largest, "full", first_stop(largest)).set_index("seed", drop=False)
    end = kernel_at(largest, *END).set_index("seed", drop=False)
    return mean(np.log(halfway.alignment / end.alignment)), halfway, end


COURSES = {"stripe": 24, "mnist": 6}  # stored seeds whose course was looked at before the next claims were declared


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
    over seeds whose course had not been looked at

    Rival: eigenvalues alone change, as where the kernel stretches along fixed components
    Source: derived in this chapter, from paper A, Sec. 5.2
    Short: log projection on the first, late, stripe
    """
    rows = _of_task(task, stripes, curves, image_p)
    rows = rows[(rows.kernel == "full") & (rows.seed >= COURSES[task])]
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
    Elsewhere: case by case 0.069 (null), 0.048 (sharp), 0.037 (near), 0.019 (apart), 0.000 (oblique); in more
    dimensions (line) 0.194
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


@claim("A.AppD-two-kinds", accept=(0.9, 1), rival=0.66, looks=3, figure="fig-a-appd")
def share_of_one_sector(stripes=studies.stripes["main"]):
    r"""After learning each of the top ten eigenvectors is in the even or in the odd sector of
    $\Theta_1+\Theta_2\,x_\perp\cdot z_\perp$ (stripe).

    smallest share of an eigenvector explained by one sector, over the first ten

    Rival: an isotropic kernel, as before training: $x_1$ lies anywhere among ten linear functions of equal eigenvalue
    Source: paper A, Sec. 5.1 and App. D: "eigenvectors with non-vanishing eigenvalues are then of two kind"
    Short: least share of one sector, first ten
    """
    end = kernel_at(stripes, *END)
    return mean(by_component(end, "kinds").max(-1).min(-1)), end


@claim("A.AppD-harmonics", accept=(0.9, 1), rival=0.185, part_of="A.AppD-two-kinds", figure="fig-a-appd", at={"d": 10})
def share_of_both_sectors(spectra=studies.stripe_spectra["main"], *, stripe_d):
    """After learning the eigenvectors 12 to 22, second harmonics before training, are in the even and odd sectors, too
    (stripe, $d=10$).

    mean share that both sectors explain

    Rival: an isotropic kernel, as before training: ten of its 54 second harmonics are in the sectors
    Source: paper A, Sec. 5.1 and App. D: "eigenvectors with non-vanishing eigenvalues are then of two kind"
    Short: share of both sectors, next eleven
    """
    return mean(next_components(spectra, "end", stripe_d)), spectra[spectra.moment == "end"]


@claim("A.AppD-form", accept=(0, 0.5), rival=1, looks=2, part_of="A.AppD-two-kinds", figure="fig-a-appd", at={"p": 512})
def distance_from_the_form(stripes=studies.stripes["main"]):
    r"""The stripe's kernel "after learning in the limit $\Lambda\sim\sqrt p\to\infty$" is of the form
    $\Theta_1+\Theta_2\,x_\perp\cdot z_\perp$, tested at one finite $\Lambda$.

    relative distance of the kernel from the form, at the end of training over before training, at 512 points alone,
    where $\Lambda$ is about 20

    Rival: the kernel is as far from the form as before training
    Source: paper A, Sec. 5.1: "after learning in the limit ... The NTK can then generically be rewritten" so
    Short: distance from the form, end over start
    """
    full = stripes[stripes.kernel == "full"]
    departure = full.pivot(index="seed", columns="moment", values="departure")
    return ratio(departure["end"] / departure["start"]), full


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
    Elsewhere: 2048 points and width $10^4$ 0.048
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


@claim(
    "A.Fig10-norm-own",
    accept=(-math.inf, -0.7),
    rival=0,
    looks=2,
    part_of="A.Fig10-norm-half",
    figure="tab-4-norms",
    given={"part": 3},
)
@again(
    "A.Fig10-norm-last",
    rival=(0, "the kernel does not change"),
    part_of="A.Fig10-norm-half",
    given={"part": 2},
    statement="Learning reduces the norm of a function that leaves a fiftieth of the hinge loss (stripe).",
    measure=(
        "log of the least norm of a function with the mean hinge loss 0.02 on new points, times the mean "
        r"of $\Theta(x,x)$, at the end over that at initialisation"
    ),
    short="log change of the norm, fiftieth left",
)
def norm_of_loss(norms=studies.stripe_norms["main"], *, part):
    r"""Learning reduces the norm of a function with the network's own hinge loss (stripe).

    log of the least norm of a function with the hinge loss that the trained network has on new points, times the mean
    of $\Theta(x,x)$, at the end over that at initialisation

    Rival: the kernel does not change; at -0.7 the norm is halved
    Source: paper A, Sec. 6: "effectively reducing the RKHS norm of the function being learnt"
    Short: log change of the norm, network's loss left
    """
    return mean(norm_change(norms)[:, part])


# Isotropic kernels


def square_exponent(rows):
    """The exponent of the mean square error in ``p``."""
    return mean(-slopes(*by_size(rows, "square")))


def intrinsic_dimension(rows):
    """The intrinsic dimension by the distance of the nearest, ``p^(-1/d)``, of which each seed gives a slope."""
    return mean(-1 / slopes(*by_size(rows, "nearest")))


def _of_kernel(rows, kernel, measure):
    """A measure of one kernel over all sizes and over the larger ones, and its rows."""
    group = rows[rows.kernel == kernel]
    return drift(measure, group), group


@claim(
    "B.Sec5-isotropic-mnist",
    accept=(0.3, 0.5),
    stated=0.4,
    rival=0.071,
    looks=2,
    headline=True,
    figure="fig-4-isotropic",
    given={"images": isotropic.kernels_on_images["mnist"], "kernel": "laplace"},
    at={"data": "mnist"},
)
@again(
    "B.Sec5-isotropic-mnist-gaussian",
    part_of="B.Sec5-isotropic-mnist",
    given={"images": isotropic.kernels_on_images["mnist"], "kernel": "gaussian"},
    statement="With a Gaussian kernel, too, the learning curve of MNIST has the exponent 0.4 (parity).",
    measure="exponent of the hard-margin classifier's test error",
    short="exponent on MNIST, Gauss",
)
@again(
    "B.Sec5-isotropic-cifar10",
    accept=(0.05, 0.15),
    stated=0.1,
    rival=(0.4, "the exponent of MNIST"),
    headline=True,
    given={"images": isotropic.kernels_on_images["cifar10"], "kernel": "laplace"},
    at={"data": "cifar10"},
    source=(
        r'paper B, Sec. 5: "but $\beta\approx0.1$ for CIFAR10, which implies very slow learning as the '
        'number of data increases"'
    ),
    statement="With a Laplace kernel the learning curve of CIFAR-10 has the exponent 0.1 (two sets of classes).",
    short="exponent on CIFAR-10, Laplace",
)
@again(
    "B.Sec5-isotropic-cifar10-gaussian",
    accept=(0.05, 0.15),
    stated=0.1,
    rival=(0.4, "the exponent of MNIST"),
    part_of="B.Sec5-isotropic-cifar10",
    given={"images": isotropic.kernels_on_images["cifar10"], "kernel": "gaussian"},
    at={"data": "cifar10"},
    source=(
        r'paper B, Sec. 5: "but $\beta\approx0.1$ for CIFAR10, which implies very slow learning as the '
        'number of data increases"'
    ),
    statement="With a Gaussian kernel, too, the learning curve of CIFAR-10 has the exponent 0.1.",
    measure="exponent of the hard-margin classifier's test error",
    short="exponent on CIFAR-10, Gauss",
)
def exponent_of_images(images, *, kernel):
    r"""With a Laplace kernel the learning curve of MNIST has the exponent 0.4 (parity).

    test error of the hard-margin classifier

    Rival: $1/d_{\rm int}$ with the paper's 14, the curse of dimensionality
    Source: paper B, Sec. 5: "Laplace or Gaussian kernels (which are very similar to the NTK of fully connected nets)
    lead to $\beta\approx0.4$ for MNIST"
    Short: exponent on MNIST, Laplace
    """
    return _of_kernel(images, kernel, beta)


@claim(
    "B.Sec5-isotropic-mnist-square",
    accept=(0.3, 0.5),
    stated=0.4,
    rival=0.071,
    looks=2,
    part_of="B.Sec5-isotropic-mnist",
    figure="fig-4-isotropic",
    given={"images": isotropic.kernels_on_images["mnist"]},
    at={"data": "mnist"},
)
@again(
    "B.Sec5-isotropic-cifar10-square",
    accept=(0.05, 0.15),
    stated=0.1,
    rival=(0.4, "the exponent of MNIST"),
    part_of="B.Sec5-isotropic-cifar10",
    given={"images": isotropic.kernels_on_images["cifar10"]},
    at={"data": "cifar10"},
    source=(
        r'paper B, Sec. 5: "but $\beta\approx0.1$ for CIFAR10, which implies very slow learning as the '
        'number of data increases", of which its source says that it holds for regression and '
        "classification"
    ),
    statement=("For regression, too, the learning curve of CIFAR-10 has the exponent 0.1 (Laplace kernel, no ridge)."),
    short="exponent on CIFAR-10, mean square error",
)
def square_exponent_of_images(images):
    r"""For regression, too, the learning curve of MNIST has the exponent 0.4 (parity, Laplace kernel, no ridge).

    exponent of the mean square error

    Rival: $1/d_{\rm int}$ with the paper's 14, the curse of dimensionality
    Source: paper B, Sec. 5: "Laplace or Gaussian kernels (which are very similar to the NTK of fully connected nets)
    lead to $\beta\approx0.4$ for MNIST", of which its source says that it holds for regression and classification
    Short: exponent on MNIST, mean square error
    """
    return _of_kernel(images, "laplace", square_exponent)


@claim(
    "B.Sec5-dimension-mnist",
    accept=(12, 16),
    stated=14,
    rival=30,
    looks=3,
    figure="fig-4-isotropic",
    given={"images": isotropic.kernels_on_images["mnist"]},
    at={"data": "mnist"},
)
@again(
    "B.Sec5-dimension-cifar10",
    accept=(24, 36),
    stated=30,
    rival=(14, "the dimension of MNIST"),
    looks=2,
    part_of="B.Sec5-dimension-mnist",
    given={"images": isotropic.kernels_on_images["cifar10"]},
    at={"data": "cifar10"},
    statement="The intrinsic dimension of CIFAR-10 is about 30.",
    measure="by the distance to the nearest of $p$ images",
    short="intrinsic dimension of CIFAR-10",
)
def dimension_of_images(images):
    r"""The intrinsic dimension of MNIST is about 14.

    by the distance to the nearest of $p$ images, which falls as $p^{-1/d_{\rm int}}$

    Rival: the dimension of CIFAR-10
    Source: paper B, Sec. 5: "the intrinsic dimensions remain significant ($d_{\rm int}\approx14$ and $d_{\rm
    int}\approx30$ respectively)"
    Short: intrinsic dimension of MNIST
    """
    return _of_kernel(images, "laplace", intrinsic_dimension)
