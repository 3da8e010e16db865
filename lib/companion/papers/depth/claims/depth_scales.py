"""Claims of chapter 5 on the scales that depth sets: a width, an angle, a degree."""

import math

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import Estimate, exponent, least, mean, median, ratio
from companion.lab.parameters import PROFILES
from companion.papers.depth.studies import depth_scales as studies
from companion.papers.depth.theory import curves, degrees

CHAPTER = "05"
WIDEST = 32_000
SAME_SCALE = ((12, 500), (48, WIDEST))  # depths and widths with one width over the depth cubed
DERIVED = "derived in this chapter"
ONE_SCALE = (((5, 128), (10, 1024)), ((10, 128), (20, 1024)))  # the same for networks that are trained, twice


@claim(
    "C.Thm3-width-depth",
    accept=(1.25, 1.75),
    rival=0.5,
    figure="fig-c-width",
    given={"column": "depth", "fixed": ("width", WIDEST)},
    at={"depth": [12, 24, 48], "width": WIDEST},
)
@again(
    "C.Thm3-width-width",
    accept=(-0.6, -0.4),
    rival=(-1, "the mean kernel's distance from its limit, which is of order one over the width"),
    given={"column": "width", "fixed": ("depth", 12)},
    at={"depth": 12, "width": [500, 4000, WIDEST]},
    statement=("At one depth the predictor of a network's own kernel approaches that of infinite width as $m^{-1/2}$."),
    measure="Exponent in $m$ of the distance over the variation of the infinite predictor, at depth 12",
)
def exponent_of_the_distance(sphere=studies.finite_networks["sphere"], *, column, fixed):
    """At one width the predictor of a network's own kernel leaves that of infinite width as $L^{3/2}$.

    Exponent in $L$ of the distance over the variation of the infinite predictor, at the largest width

    Rival: the noise of an entry, a function of depth over width
    Source: derived in this chapter
    Short: distance of finite networks against {column}
    """
    name, value = fixed
    rows = sphere[sphere[name] == value]
    table = rows.pivot_table(index="seed", columns=column, values="distance")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Thm3-width-cubed",
    accept=(0.7, 1.4),
    rival=0.25,
    headline=True,
    figure="fig-c-width",
    at={"depth": [12, 48], "width": [500, WIDEST]},
)
def distance_at_one_scale(sphere=studies.finite_networks["sphere"]):
    r"""How far a network is from the limit of infinite width depends on $m/L^3$.

    Distance of the predictors at depth 48 and width 32000 over that at depth 12 and width 500, geometric mean

    Rival: a function of depth over width, $\sqrt{L/m}$; of the depth squared over the width: 0.5
    Source: derived in this chapter
    Short: distance at equal $m/L^3$
    """
    table = sphere.pivot_table(index="seed", columns=["depth", "width"], values="distance")
    shallow, deep = (table[pair] for pair in SAME_SCALE)
    return ratio((deep / shallow).to_numpy()), sphere


@claim(
    "C.Thm3-trained-distance",
    accept=(0.85, 1.15),
    rival=1.28,
    looks=2,
    figure="fig-c-width",
    at={"depth": [10, 20], "width": [128, 1024], "scale": 1},
)
def distance_after_training(trained=studies.trained_networks["main"]):
    """Trained to the end, networks lie as far from infinite width as their own kernels do at their start.

    Distance of the trained predictor over that of the kernel at the start, at depth 10 and width 128 and at depth 20
    and width 1024, geometric mean

    Rival: a motion that has nothing to do with the distance at the start, added in quadrature
    Source: derived in this chapter
    Short: distance after training over before
    """
    table = trained.pivot_table(index="seed", columns=["depth", "width"], values=["trained", "start"])
    logs = [np.log(table["trained"][pair] / table["start"][pair]) for pair in ONE_SCALE[1]]
    return ratio(np.exp(np.mean(logs, axis=0))), trained


@claim(
    "C.Thm3-trained-cubed",
    accept=(0.5, 1.5),
    rival=0.25,
    looks=2,
    figure="fig-c-width",
    at={"depth": [5, 10, 20], "width": [128, 1024], "scale": 1},
)
def motion_at_one_scale(trained=studies.trained_networks["main"]):
    """How far training takes a network from its linearisation depends on $m/L^3$, too.

    Distance of the trained predictor from that of the kernel at the start, at twice the depth and eight times the width
    over that before: depths 5 and 10, 10 and 20, geometric mean

    Rival: a function of depth over width, as the mean of the kernel's first step is
    Source: derived in this chapter
    Short: motion of the predictor at equal $m/L^3$
    """
    table = trained.pivot_table(index="seed", columns=["depth", "width"], values="moved")
    logs = [np.log(table[deep] / table[shallow]) for shallow, deep in ONE_SCALE]
    return ratio(np.exp(np.mean(logs, axis=0))), trained


@claim(
    "C.Thm3-trained-width",
    accept=(-1.05, -0.6),
    rival=-0.5,
    looks=2,
    figure="fig-c-width",
    at={"depth": 5, "width": [128, 512, 1024], "scale": 1},
)
def motion_against_the_width(trained=studies.trained_networks["main"]):
    """In wide networks this motion falls faster with the width than the distance from infinite width does.

    Exponent in $m$ of the distance of the trained predictor from that of the kernel at the start, at depth 5

    Rival: the distance of the kernel at the start
    Source: derived in this chapter
    Short: motion of the predictor against width
    """
    rows = trained[trained.depth == 5]
    table = rows.pivot_table(index="seed", columns="width", values="moved")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Thm3-trained-far",
    accept=(-1.1, -0.9),
    rival=-0.69,
    figure="fig-c-kinks",
    at={"depth": 3, "width": [512, 2048], "scale": 1},
)
def motion_far_beyond(wide_networks=studies.trained_networks["wide"]):
    r"""Where $m\gg L^3$, training moves the predictor from its linearisation as $1/m$.

    Exponent in $m$ of the distance of the trained predictor from that of the kernel at the start, at depth 3, where
    $m/L^3$ is 19 to 76

    Rival: the exponent at depth 5, width 128 to 1024, where $m/L^3$ is 1 to 8
    Source: derived in this chapter
    Short: motion of the predictor, far beyond $L^3$
    """
    table = wide_networks.pivot_table(index="seed", columns="width", values="moved")
    return exponent(table.columns.to_numpy(), table.to_numpy()), wide_networks


@claim(
    "C.Thm3-kinks",
    accept=(-0.85, -0.65),
    rival=-1,
    figure="fig-c-kinks",
    given={"activation": "relu"},
    at={"depth": 3, "width": [256, 1024], "activation": "relu"},
)
@again(
    "C.Thm3-kinks-smooth",
    accept=(-1.1, -0.9),
    rival=(-0.75, "the motion of networks with kinks"),
    part_of="C.Thm3-kinks",
    given={"activation": "swish"},
    at={"depth": 3, "width": [256, 1024], "activation": "swish"},
    statement="Without kinks, training moves the predictor from its linearisation as $1/m$.",
    short="motion of smooth networks against width",
)
def motion_with_kinks(networks=studies.linearisations["main"], *, activation):
    r"""Training moves a ReLU network from its linearisation as $m^{-3/4}$: about $\sqrt m$ of its neurons switch at a
    point, and their contributions to the kernel, $1/m$ each, add like a random walk.

    Exponent in $m$ of the distance of the trained predictor from that of the kernel at the start, three layers, width
    256 to 1024

    Rival: the motion of smooth networks, of order one over the width
    Source: derived in this chapter
    Short: motion of ReLU networks against width
    """
    rows = networks[networks.activation == activation]
    table = rows.pivot_table(index="seed", columns="width", values="moved")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Thm3-trained-lazy",
    accept=(0, 0.15),
    rival=1,
    looks=2,
    figure="fig-c-width",
    at={"depth": [5, 10], "width": 128, "scale": [1, 100]},
)
def motion_of_lazy_networks(trained=studies.trained_networks["main"], lazy=studies.trained_networks["lazy"]):
    """With outputs a hundred times as large, weights hardly move, and the trained network is its linearisation.

    Distance of these two predictors at output scale 100 over that at 1, width 128, depths 5 and 10, geometric mean

    Rival: unfinished training, or another linearisation, neither of which depends on the scale
    Source: derived in this chapter
    Short: motion at output scale 100 over 1
    """
    motion, lazy_motion = (
        rows[rows.width == 128].pivot_table(index="seed", columns="depth", values="moved")[[5, 10]]
        for rows in (trained, lazy)
    )
    factor = np.exp(np.log(lazy_motion / motion).mean(axis=1))
    return ratio(factor.to_numpy()), trained, lazy


@claim("C.Thm3-ensemble", accept=(0.85, 1.18), rival=2.83, figure="fig-c-ensemble", at={"depth": [12, 24], "draws": 8})
def ensemble_over_network(ensembles=studies.ensembles["sphere"]):
    r"""An ensemble of $k$ networks of width $m$ is as near to infinite width as one network of width $km$.

    Distance of the mean predictor of eight networks' own kernels over that of one network with eight times the neurons,
    geometric mean over depths 12 and 24

    Rival: a mean of eight predictors is no nearer than one of them, $\sqrt8$
    Source: derived in this chapter
    Short: ensemble of eight over one network
    """
    largest = ensembles[ensembles.draws == ensembles.draws.max()]
    table = largest.pivot_table(index="seed", columns="depth", values=["ensemble", "single"])
    factor = np.exp(np.log(table["ensemble"] / table["single"]).mean(axis=1))
    return ratio(factor.to_numpy()), largest


@claim(
    "C.Thm3-width-images",
    accept=(0.1, 1),
    rival=0,
    headline=True,
    figure="fig-c-width",
    given={"depth": 30},
    at={"corpus": "mnist", "depth": 30, "width": 2048},
)
@again(
    "C.Thm3-width-shallow",
    accept=(-0.02, 0.06),
    rival=(0.2, "what the same width loses at depth 30"),
    given={"depth": 6},
    at={"corpus": "mnist", "depth": 6, "width": 2048},
    statement="On images networks of depth 6 and width 2048 are near the limit of infinite width.",
)
def accuracy_lost_to_the_width(images=studies.finite_networks["images"], *, depth):
    """On images networks of depth 30 and width 2048 do not reach the limit of infinite width.

    Accuracy of the infinite kernel less that of a network's own, both at infinite time, on 250 images.

    Rival: a width of seventy times the depth is wide
    Source: derived in this chapter
    Short: accuracy lost to the width, depth {depth}
    """
    rows = images[(images.depth == depth) & (images.width == 2048)]
    return mean((rows.wide_accuracy - rows.accuracy).to_numpy()), rows


@claim(
    "C.Thm3-uniform",
    accept=(0, 0.02),
    rival=1.1,
    headline=True,
    figure="fig-c-laws",
    at={"depth": [20, 60, 25], "n": [300, 400, 500, 600]},
)
def distance_from_the_uniform_law(spheres=studies.sphere_laws["main"]):
    """One kernel of $L+c$ predicts as the deep network does at all angles, from twenty layers on.

    Distance from it over the predictor's variation, largest mean over spheres of 3, 4 and 5 dimensions and depths of 20
    to 60

    Rival: the ridge of first order on the 2-sphere, 200 points, depth 30
    Source: derived in this chapter
    Short: distance from uniform law, few dimensions
    """
    table = spheres.pivot_table(index="seed", columns=["n0", "depth"], values="uniform")
    return -least(-table.to_numpy()), spheres


@claim(
    "C.Thm3-ridge-fails",
    accept=(0.1, math.inf),
    rival=0.04,
    figure="fig-c-laws",
    at={"depth": [20, 60], "n": [300, 400]},
)
def distance_from_ridge_of_merged_pairs(spheres=studies.sphere_laws["main"]):
    r"""Where pairs are nearer than $3\pi/L$ the deep predictor is not ridge regression with the kernel $c$.

    Distance from the law of first order over the predictor's variation on the 2-sphere, median over data sets of the
    smaller of two depths

    Rival: the distance on 500 images at depth 30: a law that fails nowhere
    Source: derived in this chapter
    Short: distance from ridge, pairs merged by depth
    """
    rows = spheres[spheres.n0 == 3]
    distances = rows.pivot_table(index="seed", columns="depth", values="first")
    return median(distances.min(axis=1).to_numpy()), rows


@claim(
    "C.Thm3-powers-below",
    accept=(-3.2, -2.8),
    rival=-5,
    profiles=PROFILES,
    headline=True,
    figure="fig-c-degrees",
    given={"dimensions": 5, "depth": 30_000, "degree": 40},
)
@again(
    "C.Thm3-powers-seven",
    accept=(-5.2, -4.8),
    rival=-7,
    given={"dimensions": 7, "depth": 30_000, "degree": 40},
    statement=r"Below the degree $L/3\pi$ eigenvalues fall as $\ell^{-(n_0-2)}$ (seven dimensions).",
)
@again(
    "C.Thm3-powers-above",
    accept=(-5.2, -4.8),
    rival=(-3, "$-(n_0-2)$, as below that degree"),
    given={"dimensions": 5, "depth": 10, "degree": 40},
    statement=r"Above the degree $L/3\pi$ they fall as $\ell^{-n_0}$ (five dimensions, even degrees).",
    measure=r"Exponent in $\ell+n_0/2-1$ between the degrees 40 and 80 at depth 10.",
    short="decay of eigenvalues, high degrees, $n_0=5$",
)
def decay_of_eigenvalues(*, dimensions, depth, degree):
    r"""Below the degree $L/3\pi$ eigenvalues fall as $\ell^{-(n_0-2)}$ (five dimensions).

    Exponent in $\ell+n_0/2-1$ between the degrees 40 and 80 at depth 30000.

    Rival: $-n_0$, as at every fixed depth: deep equals shallow
    Source: derived in this chapter, for Bietti and Bach 2021, whom paper C cites
    Short: decay of eigenvalues, low degrees, $n_0={dimensions}$
    """
    return Estimate.exact(degrees.decay_exponent(dimensions, degree, depth), 1e-4)


SKIPPED = "residual, scale 1"
SHRUNK = "residual, scale 1/√L"


@claim(
    "C.Thm3-skip-fixed",
    accept=(0.9, 1.1),
    rival=0,
    figure="fig-c-residual",
    given={"branch": SKIPPED},
    at={"depth": [30, 1000]},
)
@again(
    "C.Thm3-skip-shrunk",
    accept=(-0.1, 0.1),
    rival=(1, "the ridge of plain networks"),
    given={"branch": SHRUNK},
    statement=(
        r"In residual networks whose branches have the scale $1/\sqrt L$ the ridge does not grow with "
        "depth."
    ),
    short=r"growth of the ridge, scale $1/\sqrt{L}$",
)
def growth_of_the_ridge(ridges=studies.residual_ridges["main"], *, branch):
    """In residual networks whose branches keep their scale the ridge still grows as the depth.

    Exponent in $L$ of the ridge beside the plain kernel $c$, between the depths 30 and 1000, on a sphere.

    Rival: a skip connection keeps the input
    Source: derived in this chapter
    Short: growth of the ridge, residual, scale 1
    """
    rows = ridges[(ridges.branch == branch) & (ridges.depth >= 30)]
    table = rows.pivot_table(index="seed", columns="depth", values="ridge")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim("C.Thm3-skip-slower", accept=(1.6, 2.5), rival=1, figure="fig-c-residual", at={"depth": 1000})
def ridge_of_plain_over_residual(ridges=studies.residual_ridges["main"]):
    """Branches of scale 1 halve the ridge: half of a layer's output is its input, and pairs merge half as fast.

    Ridge of plain over that of residual networks at depth 1000, both beside the offsets c of plain ones, on which those
    of residual ones rise by 1.16: beside their own the ratio is 2

    Rival: the ridge is that of a plain network
    Source: derived in this chapter
    Short: plain over residual ridge, depth 1000
    """
    rows = ridges[(ridges.depth == 1000) & (ridges.branch != SHRUNK)]
    table = rows.pivot_table(index="seed", columns="branch", values="ridge")
    return ratio((table["plain"] / table[SKIPPED]).to_numpy()), rows


@claim(
    "C.Thm3-skip-eigenvalue",
    accept=(0, 1),
    rival=3,
    figure="fig-c-residual",
    at={"depth": [10, 30, 100, 300, 1000], "n": 200},
)
def eigenvalue_of_shrunk_branches(ridges=studies.residual_ridges["main"]):
    r"""With branches of scale $1/\sqrt L$ the diagonal of the kernel does not stand out at any depth.

    Smallest eigenvalue of the kernel of 200 points over the mean of its other entries, largest mean over depths

    Rival: all pairs have merged, as in plain networks of infinite depth
    Source: derived in this chapter
    Short: smallest eigenvalue, scale $1/\sqrt{L}$
    """
    rows = ridges[ridges.branch == SHRUNK]
    eigenvalues = rows.pivot_table(index="seed", columns="depth", values="smallest").to_numpy()
    return -least(-eigenvalues), rows


@claim(
    "C.Thm3-curve-below",
    accept=(-1.1, -0.7),
    rival=-0.5,
    looks=2,
    figure="fig-c-curves",
    given={"depth": 300},
    at={"depth": 300, "n": [400, 1200, 3600]},
)
@again(
    "C.Thm3-curve-above",
    accept=(-0.6, -0.4),
    rival=(-1, "$-(s-1)/(n_0-2)$, as on fewer points"),
    given={"depth": 5},
    at={"depth": 5, "n": [400, 1200, 3600]},
    statement=r"On more points than learn the degree $L/3\pi$ the error falls as $n^{-(s-1)/(n_0-1)}$.",
    measure="Exponent in $n$ of the error from 400 to 3600 points, depth 5, 2-sphere, $s=2$; the law: $-1/2$.",
    short="decay of the error, many points",
)
def decay_of_the_error(errors=studies.sphere_curves["main"], *, depth):
    r"""On fewer points than learn the degree $L/3\pi$ the error falls as $(n/L)^{-(s-1)/(n_0-2)}$.

    Exponent in $n$ of the error from 400 to 3600 points, depth 300, 2-sphere, $s=2$; the law: $-1$.

    Rival: $-(s-1)/(n_0-1)$, as at every fixed depth: deep equals shallow
    Source: derived in this chapter
    Short: decay of the error, few points
    """
    rows = errors[errors.depth == depth]
    table = rows.pivot_table(index="seed", columns="n", values="error")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Thm3-curve-collapse",
    accept=(0.8, 1.1),
    rival=0.5,
    looks=2,
    figure="fig-c-curves",
    at={"depth": [150, 600], "n": [600, 2400]},
)
def error_at_one_ratio(errors=studies.sphere_curves["main"]):
    """On few points four times the data in a network four times as deep learn the same of a rough target.

    Error of 2400 points at depth 600 over that of 600 points at depth 150

    Rival: a function of the number of points, as at every fixed depth
    Source: derived in this chapter
    Short: error of 600 layers over 150
    """
    table = errors.pivot_table(index="seed", columns="depth", values="error", aggfunc="last")
    return ratio((table[600] / table[150]).to_numpy()), errors


@claim(
    "C.Thm3-curve-theory",
    accept=(0, 0.05),
    rival=0.33,
    looks=2,
    figure="fig-c-curves",
    at={"depth": [5, 300, 150, 600], "n": [400, 1200, 3600, 600, 2400]},
)
def errors_against_theory(errors=studies.sphere_curves["main"]):
    """The errors are those of the eigenvalues by degree, nothing fitted.

    Distance of the mean error from theory over theory, largest of eight settings

    Rival: the law without its variance, on five layers
    Source: derived in this chapter
    Short: distance of the errors from theory
    """
    table = errors.pivot_table(index="seed", columns=["depth", "n"], values=["error", "law"])
    excess = (table["error"] / table["law"] - 1).to_numpy()
    return -least(-excess * np.sign(excess.mean(0))), errors


@claim(
    "C.Thm3-curve-gaussian",
    accept=(-0.02, 0.02),
    rival=0.05,
    figure="fig-c-curves",
    at={"depth": 5, "n": [400, 1200], "features": "Gaussian"},
)
def gaussian_errors_against_theory(errors=studies.sphere_curves["gaussian"]):
    """With independent Gaussians in place of the harmonics theory's errors are right.

    Distance of the mean error from theory over theory, larger of two settings

    Rival: the distance on the sphere at these sizes: an error of theory that any features show
    Source: derived in this chapter
    Short: distance from theory, Gaussian features
    """
    table = errors.pivot_table(index="seed", columns="n", values=["error", "law"])
    excess = (table["error"] / table["law"] - 1).to_numpy()
    return -least(-excess * np.sign(excess.mean(0))), errors


@claim(
    "C.Thm3-curve-whole",
    accept=(-0.56, -0.44),
    rival=-0.25,
    profiles=PROFILES,
    figure="fig-c-curves",
    given={"dimensions": 3, "power": 1.5},
)
@again(
    "C.Thm3-curve-fourth",
    rival=-1 / 3,
    given={"dimensions": 4, "power": 2.0},
    statement=r"Far below the degree $L/3\pi$ the power is $-(s-1)/(n_0-2)$ (four dimensions, $s=2$).",
    measure=(
        "Exponent in $n$ of theory's error between 10 and 30 million points at depth 100000: the law gives $-1/2$."
    ),
    short="theory's exponent, $n_0=4$, $s=2$",
)
def asymptotic_decay(*, dimensions, power):
    r"""Far below the degree $L/3\pi$ the power is $-(s-1)/(n_0-2)$ (three dimensions, $s=3/2$).

    Exponent in $n$ of theory's error between 1 and 3 million points at depth 100000: the law gives $-1/2$.

    Rival: $-(s-1)/(n_0-1)$: deep equals shallow
    Source: derived in this chapter
    Short: theory's exponent, $n_0=3$, $s=3/2$
    """
    n = 10 ** (dimensions + 3)
    error = curves.ridgeless_error(n, 100_000, dimensions, power, every_degree=True)
    error_of_thrice = curves.ridgeless_error(3 * n, 100_000, dimensions, power, every_degree=True)
    return Estimate.exact(math.log(error_of_thrice / error) / math.log(3), 1e-4)
