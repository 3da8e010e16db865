"""Claims of chapter 5 on the scales that depth sets: a width, an angle, a degree."""

import math

from companion.estimates import Estimate, exponent, least, mean, median, ratio
from companion.experiments.parameters import PROFILES
from companion.report.claims import claim
from companion.studies import depth_scales as studies
from companion.theory.depth import degrees

CHAPTER = "05"
WIDEST = 32_000
SAME_SCALE = ((12, 500), (48, WIDEST))  # depths and widths with one width over the depth cubed
DERIVED = "derived in this chapter"
BY_DEGREE = "derived in this chapter, for Bietti and Bach 2021, whom paper C cites"
LOST = "Accuracy of the infinite kernel less that of a network's own, both at infinite time, on 250 images."


@claim(
    "C.Thm3-width-depth",
    DERIVED,
    kind="beyond",
    accept=(1.25, 1.75),
    rival=(0.5, "the noise of an entry, a function of depth over width"),
    figure="fig-c-width",
    short="distance of finite networks against depth",
    at={"depth": [12, 24, 48], "width": WIDEST},
    given={"column": "depth", "fixed": ("width", WIDEST)},
)
@claim(
    "C.Thm3-width-width",
    DERIVED,
    kind="beyond",
    accept=(-0.6, -0.4),
    rival=(-1, "the mean kernel's distance from its limit, which is of order one over the width"),
    figure="fig-c-width",
    short="distance of finite networks against width",
    at={"depth": 12, "width": [500, 4000, WIDEST]},
    statement="At one depth the predictor of a network's own kernel approaches that of infinite width as $m^{-1/2}$.",
    measure="Exponent in $m$ of the distance over the variation of the infinite predictor, at depth 12",
    given={"column": "width", "fixed": ("depth", 12)},
)
def exponent_of_the_distance(sphere=studies.finite_networks["sphere"], *, column, fixed):
    r"""At one width the predictor of a network's own kernel leaves that of infinite width as $L^{3/2}$.

    Exponent in $L$ of the distance over the variation of the infinite predictor, at the largest width
    """
    name, value = fixed
    rows = sphere[sphere[name] == value]
    table = rows.pivot_table(index="seed", columns=column, values="distance")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Thm3-width-cubed",
    DERIVED,
    kind="beyond",
    accept=(0.7, 1.4),
    rival=(0.25, r"a function of depth over width, $\sqrt{L/m}$; of the depth squared over the width: 0.5"),
    figure="fig-c-width",
    short="distance at equal $m/L^3$",
    at={"depth": [12, 48], "width": [500, WIDEST]},
    headline=True,
)
def distance_at_one_scale(sphere=studies.finite_networks["sphere"]):
    r"""How far a network is from the limit of infinite width depends on $m/L^3$.

    Distance of the predictors at depth 48 and width 32000 over that at depth 12 and width 500, geometric mean
    """
    table = sphere.pivot_table(index="seed", columns=["depth", "width"], values="distance")
    shallow, deep = (table[pair] for pair in SAME_SCALE)
    return ratio((deep / shallow).to_numpy()), sphere


@claim(
    "C.Thm3-width-images",
    DERIVED,
    kind="beyond",
    accept=(0.1, 1),
    rival=(0, "a width of seventy times the depth is wide"),
    figure="fig-c-width",
    statement="On images networks of depth 30 and width 2048 do not reach the limit of infinite width.",
    measure=LOST,
    given={"depth": 30},
    short="accuracy lost to the width, depth 30",
    at={"corpus": "mnist", "depth": 30, "width": 2048},
    headline=True,
)
@claim(
    "C.Thm3-width-shallow",
    DERIVED,
    kind="beyond",
    accept=(-0.02, 0.06),
    rival=(0.2, "what the same width loses at depth 30"),
    figure="fig-c-width",
    statement="On images networks of depth 6 and width 2048 are near the limit of infinite width.",
    measure=LOST,
    given={"depth": 6},
    short="accuracy lost to the width, depth 6",
    at={"corpus": "mnist", "depth": 6, "width": 2048},
)
def accuracy_lost_to_the_width(images=studies.finite_networks["images"], *, depth):
    """What a width of 2048 costs depends on the depth."""
    rows = images[(images.depth == depth) & (images.width == 2048)]
    return mean((rows.wide_accuracy - rows.accuracy).to_numpy()), rows


@claim(
    "C.Thm3-uniform",
    DERIVED,
    kind="beyond",
    accept=(0, 0.02),
    rival=(1.1, "the ridge of first order on the 2-sphere, 200 points, depth 30"),
    figure="fig-c-laws",
    short="distance from uniform law, few dimensions",
    at={"depth": [20, 60, 25], "n": [300, 400, 500, 600]},
    headline=True,
)
def distance_from_the_uniform_law(spheres=studies.sphere_laws["main"]):
    r"""One kernel of $L+c$ predicts as the deep network does at all angles, from twenty layers on.

    Distance from it over the predictor's variation, largest mean over spheres of 3, 4 and 5 dimensions and depths of 20
    to 60
    """
    table = spheres.pivot_table(index="seed", columns=["n0", "depth"], values="uniform")
    return -least(-table.to_numpy()), spheres


@claim(
    "C.Thm3-ridge-fails",
    DERIVED,
    kind="beyond",
    accept=(0.1, math.inf),
    rival=(0.04, "the distance on 500 images at depth 30: a law that fails nowhere"),
    figure="fig-c-laws",
    short="distance from ridge, pairs merged by depth",
    at={"depth": [20, 60], "n": [300, 400]},
)
def distance_from_ridge_of_merged_pairs(spheres=studies.sphere_laws["main"]):
    r"""Where pairs are nearer than $3\pi/L$ the deep predictor is not ridge regression with the kernel $c$.

    Distance from the law of first order over the predictor's variation on the 2-sphere, median over data sets of the
    smaller of two depths
    """
    rows = spheres[spheres.n0 == 3]
    return median(rows.pivot_table(index="seed", columns="depth", values="first").min(axis=1).to_numpy()), rows


@claim(
    "C.Thm3-powers-below",
    BY_DEGREE,
    kind="beyond",
    accept=(-3.2, -2.8),
    rival=(-5, r"$-n_0$, as at every fixed depth: deep equals shallow"),
    figure="fig-c-degrees",
    profiles=PROFILES,
    statement=r"Below the degree $L/3\pi$ eigenvalues fall as $\ell^{-(n_0-2)}$ (five dimensions).",
    measure=r"Exponent in $\ell+n_0/2-1$ between the degrees 40 and 80 at depth 30000.",
    given={"dimensions": 5, "depth": 30_000, "degree": 40},
    short="decay of eigenvalues, low degrees, $n_0=5$",
    headline=True,
)
@claim(
    "C.Thm3-powers-seven",
    BY_DEGREE,
    kind="beyond",
    accept=(-5.2, -4.8),
    rival=(-7, r"$-n_0$, as at every fixed depth: deep equals shallow"),
    figure="fig-c-degrees",
    profiles=PROFILES,
    statement=r"Below the degree $L/3\pi$ eigenvalues fall as $\ell^{-(n_0-2)}$ (seven dimensions).",
    measure=r"Exponent in $\ell+n_0/2-1$ between the degrees 40 and 80 at depth 30000.",
    given={"dimensions": 7, "depth": 30_000, "degree": 40},
    short="decay of eigenvalues, low degrees, $n_0=7$",
)
@claim(
    "C.Thm3-powers-above",
    BY_DEGREE,
    kind="beyond",
    accept=(-5.2, -4.8),
    rival=(-3, r"$-(n_0-2)$, as below that degree"),
    figure="fig-c-degrees",
    profiles=PROFILES,
    statement=r"Above the degree $L/3\pi$ they fall as $\ell^{-n_0}$ (five dimensions, even degrees).",
    measure=r"Exponent in $\ell+n_0/2-1$ between the degrees 40 and 80 at depth 10.",
    given={"dimensions": 5, "depth": 10, "degree": 40},
    short="decay of eigenvalues, high degrees, $n_0=5$",
)
def decay_of_eigenvalues(*, dimensions, depth, degree):
    """The eigenvalues of the kernel on a sphere fall with two powers of the degree."""
    return Estimate.exact(degrees.decay_exponent(dimensions, degree, depth), 1e-4)
