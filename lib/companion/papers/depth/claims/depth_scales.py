"""Claims of chapter 5 on the scales that depth sets: a width, an angle, a degree."""

import math

import numpy as np
import torch

from companion.book.claims import again, claim
from companion.estimates import Estimate, exponent, least, mean, median, ratio, slopes
from companion.lab.parameters import PROFILES
from companion.papers.depth.studies import depth_scales as studies
from companion.papers.depth.theory import degrees, finite

CHAPTER = "05"
WIDEST = 32_000
SAME_SCALE = ((12, 500), (48, WIDEST))  # depths and widths with one width over the depth cubed
POWERS_AT = 30_000, 10  # depths at which degrees from 40 to 80 are below and above the degree of the depth
ONE_SCALE = (((5, 128), (10, 1024)), ((10, 128), (20, 1024)))  # the same for networks that are trained, twice


def _walked(depth):
    """The spread of ``3π/phi`` over plain networks of width 1, by theory, for orthogonal inputs."""
    phi = torch.tensor(math.pi / 2, dtype=torch.float64)
    return math.sqrt(float(finite.offset_variance(phi, depth=depth, width=1)))


@claim(
    "C.Thm3-width-depth",
    accept=(-0.15, 0.15),
    rival=0.19,
    figure="fig-c-width",
    at={"depth": [12, 24, 48], "width": WIDEST},
)
def growth_with_the_depth(sphere=studies.finite_networks["sphere"]):
    r"""At one width the predictor of a plain network's own kernel leaves that of infinite width as its offset walks.

    Exponent in $L$ of the distance over the variation of the infinite predictor, depths 12 to 48, less that of the
    spread of $3\pi/\phi_L$ over networks, 1.31 by theory

    Rival: the walk's asymptotic power, 3/2; a function of depth over width is at -0.81
    Source: derived in this chapter
    Short: distance against depth, less the walk
    """
    rows = sphere[sphere.width == WIDEST]
    table = rows.pivot_table(index="seed", columns="depth", values="distance")
    depths = table.columns.to_numpy()
    walk = np.array([[_walked(int(depth)) for depth in depths]])
    return exponent(depths, table.to_numpy() / walk), rows


@claim(
    "C.Thm3-walk", accept=(0.9, 1.2), rival=1.52, figure="fig-c-width", at={"depth": [12, 48], "architecture": "plain"}
)
def walk_over_its_law(walks=studies.walks["plain"]):
    r"""The offset of a pair of inputs walks from network to network, each layer adding its noise (plain networks).

    Variance of $3\pi/\phi_L$ over networks over theory of first order in $1/m$, largest and least of two depths

    Rival: at depth 12 the walk of small angles, $\frac2m\sum_l(3\pi/\phi_l)^2$, in units of theory
    Source: derived in this chapter
    Short: variance of the offset over theory
    """
    table = walks.assign(over=walks.variance / walks.law).pivot_table(index="seed", columns="depth", values="over")
    return _furthest_from_one(table), walks


def _furthest_from_one(table):
    """The mean over seeds of that column whose mean is furthest from 1."""
    means = table.mean()
    return mean(table[(means - 1).abs().idxmax()].to_numpy())


@claim(
    "C.Thm3-walk-shares",
    accept=(0.85, 1.35),
    rival=0.39,
    figure="fig-c-width",
    at={"architecture": ["pre-norm", "skip, scale 1"]},
)
def walk_by_tau(walks=studies.walks["shared"]):
    r"""With skips the offset walks by the shares of the layers, $\operatorname{var}c=\frac2m\sum_l s_l(3\pi/\phi_l)^2$,
    about $2\tau^3/3m$.

    Variance of $3\pi/\phi_L$ over networks over this, furthest from 1 of 200 pre-norm and of 48 skip layers

    Rival: $2L^3/3m$ in place of it, for the skip layers; in its unit the pre-norm network is below $10^{-3}$
    Source: derived in this chapter
    Short: variance of the offset, skips
    """
    table = walks.assign(over=walks.variance / walks.law).pivot_table(
        index="seed", columns="architecture", values="over"
    )
    return _furthest_from_one(table), walks


@claim(
    "C.Thm3-shares-width",
    accept=(0.7, 1.4),
    rival=4,
    headline=True,
    figure="fig-c-width",
    at={"depth": [6, 96], "width": 500},
)
def distance_at_one_tau(shared=studies.finite_networks["pre_norm"], plain=studies.finite_networks["shallow"]):
    r"""A pre-norm network of 96 layers is as far from infinite width as a plain one of 6: both have $\tau=6$.

    Distance of its own kernel's predictor over that of the plain network, width 500, geometric means over networks

    Rival: a function of the number of layers over the width, $\sqrt{96/6}$; of its cube: 64
    Elsewhere: over all pre-norm networks in place of the plain one 1.4
    Source: derived in this chapter
    Short: distance of 96 pre-norm layers over 6 plain
    """
    deep = shared[shared.depth == 96].set_index("seed").distance
    few = plain.set_index("seed").distance
    return ratio((deep / few).to_numpy()), shared, plain


@claim(
    "C.Thm3-width-cubed",
    accept=(0.7, 1.4),
    rival=0.25,
    figure="fig-c-width",
    at={"depth": [12, 48], "width": [500, WIDEST]},
)
def distance_at_one_scale(sphere=studies.finite_networks["sphere"]):
    r"""How far a plain network is from the limit of infinite width depends on $m/L^3$, with a slow correction.

    Distance of the predictors at depth 48 and width 32000 over that at depth 12 and width 500, geometric mean; theory
    of the walk has 0.77, and 1 for large depths

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
    accept=(0.7, 1.4),
    rival=0.5,
    figure="fig-c-width",
    at={"depth": [5, 10, 20], "width": [128, 1024], "scale": 1},
)
def motion_at_one_scale(trained=studies.trained_networks["main"]):
    """How far training takes a network from its linearisation depends on $m/L^3$, too.

    Distance of the trained predictor from that of the kernel at the start, at twice the depth and eight times the width
    over that before: depths 5 and 10, 10 and 20, geometric mean

    Rival: a function of the depth squared over the width; of depth over width, as the kernel's first step: 0.25
    Source: derived in this chapter
    Short: motion of the predictor at equal $m/L^3$
    """
    table = trained.pivot_table(index="seed", columns=["depth", "width"], values="moved")
    logs = [np.log(table[deep] / table[shallow]) for shallow, deep in ONE_SCALE]
    return ratio(np.exp(np.mean(logs, axis=0))), trained


@claim(
    "C.Thm3-kinks",
    accept=(0.1, 0.6),
    rival=0,
    figure="fig-c-kinks",
    at={"depth": 3, "width": [256, 1024], "activation": ["relu", "swish"]},
)
def motion_with_kinks(networks=studies.linearisations["main"]):
    r"""Kinks delay the lazy regime: training moves a ReLU network from its linearisation more slowly in $m$ than one
    without kinks.

    Exponent in $m$ of the distance of the trained predictor from that of the kernel at the start, ReLU less swish,
    three layers, width 256 to 1024

    Rival: kinks change no power of the width
    Source: derived in this chapter
    Short: motion of ReLU less smooth networks
    """
    powers = []
    for activation in ("relu", "swish"):
        rows = networks[networks.activation == activation]
        table = rows.pivot_table(index="seed", columns="width", values="moved")
        powers.append(slopes(table.columns.to_numpy(), table.to_numpy()))
    return mean(powers[0] - powers[1]), networks


@claim(
    "C.Thm3-kinks-count",
    accept=(0.4, 0.6),
    rival=0,
    figure="fig-c-kinks",
    given={"column": "switched"},
    at={"depth": 2, "width": [256, 4096]},
)
@again(
    "C.Thm3-kinks-balance",
    accept=(-0.85, -0.65),
    rival=(-0.5, "neurons that all switch the same way"),
    given={"column": "balance"},
    statement="What they change in the kernel there is of order $m^{-3/4}$, since as many switch on as off.",
    measure=(
        "Exponent in $m$ of the neurons that switch on less those that switch off, each with the square of its "
        "readout weight, over the width, root mean square over fresh points; two layers, width 256 to 4096"
    ),
    short="kernel of the neurons that switch",
)
def switched_neurons(networks=studies.linearisations["switched"], *, column):
    r"""In training about $\sqrt m$ of the $m$ ReLUs of a hidden layer switch at a fresh point.

    Exponent in $m$ of their mean number, two layers, width 256 to 4096

    Rival: as many at every width
    Source: derived in this chapter
    Short: neurons that switch, against width
    """
    table = networks.pivot_table(index="seed", columns="width", values=column)
    return exponent(table.columns.to_numpy(), table.to_numpy()), networks


@claim(
    "C.Thm3-kinks-two", accept=(-0.7, -0.5), rival=-0.75, figure="fig-c-kinks", at={"depth": 2, "width": [256, 4096]}
)
def motion_of_two_layers(networks=studies.linearisations["switched"]):
    r"""At these widths the predictor of two ReLU layers comes to its linearisation more slowly than the kernel's part
    of the neurons that switch does.

    Exponent in $m$ of the distance of the trained predictor from that of the kernel at the start, two layers, width 256
    to 4096

    Rival: the power of that part, $-3/4$, which we had claimed for the predictor
    Source: derived in this chapter
    Short: motion of two ReLU layers against width
    """
    table = networks.pivot_table(index="seed", columns="width", values="moved")
    return exponent(table.columns.to_numpy(), table.to_numpy()), networks


@claim("C.Thm3-ensemble", accept=(0.8, 1.25), rival=2.83, figure="fig-c-width", at={"depth": [12, 24], "draws": 8})
def ensemble_over_network(ensembles=studies.ensembles["sphere"]):
    r"""An ensemble of $k$ networks of width $m$ is as near to infinite width as one network of width $km$, at 12 and at
    24 layers.

    Distance of the mean predictor of eight networks' own kernels, of width 500, over that of one network with eight
    times the neurons, geometric mean, at the depth where it is further from 1

    Rival: a mean of eight predictors is no nearer than one of them, $\sqrt8$
    Source: derived in this chapter
    Short: ensemble of eight over one network
    """
    rows = ensembles[ensembles.draws == ensembles.draws.max()]
    logs = np.log(rows.ensemble / rows.single).groupby([rows.seed, rows.depth]).mean().unstack()
    return ratio(np.exp(logs[logs.mean().abs().idxmax()].to_numpy())), rows


@claim(
    "C.Thm3-width-images",
    accept=(-0.02, 0.06),
    rival=0.39,
    erratum="c-narrow",
    headline=True,
    figure="fig-c-width",
    given={"depth": 30},
    at={"corpus": "mnist", "depth": 30, "width": 2048},
)
@again(
    "C.Thm3-width-shallow",
    rival=(0.2, "what the same width loses at depth 30"),
    erratum=None,
    given={"depth": 6},
    at={"corpus": "mnist", "depth": 6, "width": 2048},
    source="derived in this chapter",
    statement="On images networks of depth 6 and width 2048 are near the limit of infinite width.",
)
def accuracy_lost_to_the_width(images=studies.finite_networks["images"], *, depth):
    """On images a plain network of depth 30 and width 2048 is in the limit of infinite width, since its depth is far
    below its width.

    Accuracy of the infinite kernel less that of a network's own, both at infinite time, on 250 images.

    Rival: half of this width, which is as small a ratio of depth to width, 0.03
    Source: paper C, Sec. 2.2: "the ratio of depth-to-width is essentially zero"; Sec. 7
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


@claim("C.Thm3-powers", accept=(1.8, 2.2), rival=0, profiles=PROFILES, figure="fig-c-degrees")
def gain_of_low_degrees():
    r"""Below the degree $L/3\pi$ eigenvalues fall as $\ell^{-(n_0-2)}$, above it as $\ell^{-n_0}$: by two powers more.

    Exponent in $\ell+n_0/2-1$ at depth 30000 less that at depth 10, even degrees from 40 to 80, five dimensions.

    Rival: as at every fixed depth: deep equals shallow
    Source: derived in this chapter, for Bietti and Bach 2021, whom paper C cites
    Short: powers between low and high degrees
    """
    below, above = (degrees.decay_exponent(5, 40, depth) for depth in POWERS_AT)
    return Estimate.exact(below - above, 1e-4)


@claim(
    "C.Thm3-shares-ridge",
    accept=(0.9, 1.15),
    rival=2,
    headline=True,
    figure="fig-c-tau",
    at={"depth": 10_000, "n0": 10, "architecture": ["plain", "skip, scale 0.3", "pre-norm"]},
)
def ridge_over_three_tau(networks=studies.one_depth["main"]):
    r"""Beside the kernel of its own last angles, every network's ridge is three times the sum of its layers' shares,
    $3\tau$: plain, with skips, pre-norm.

    Ridge over $3\tau$ at the largest depth, five kinds of networks, of $\tau$ from 9.8 on, on 200 points of a sphere in
    ten dimensions, least to largest mean

    Rival: the number of layers in place of $\tau$, at the nearest of the networks with skips
    Source: derived in this chapter
    Short: ridge over $3\tau$, five architectures
    """
    rows = networks[(networks.depth == networks.depth.max()) & (networks.tau > 9) & networks.ridge.notna()]
    return Estimate.span((rows.ridge / (3 * rows.tau)).groupby(rows.architecture).mean()), rows


SMALL_STEPS = ("skip, scale 0.3", "skip, scale 1/√L", "pre-norm", "pre-norm, scale 0.3")


@claim(
    "C.Thm3-shares-flow",
    accept=(0, 0.03),
    rival=0.17,
    figure="fig-c-tau",
    at={"depth": [30, 300, 3000], "n0": 10, "architecture": list(SMALL_STEPS)},
)
def distance_from_the_flow(networks=studies.one_depth["main"]):
    r"""Networks whose layers have small shares predict the same at one $\tau$: as the flow $dS/d\tau=h-\phi S/\pi$,
    $d\rho/d\tau=h-\rho$ does.

    Distance of the predictor from that of the flow's kernel, over its variation, largest mean over four kinds of
    networks of 30 to 3000 layers

    Rival: the flow at $3\tau$, at the nearest of them
    Source: derived in this chapter
    Short: distance from the flow at $\tau$
    """
    rows = networks[networks.architecture.isin(SMALL_STEPS) & networks.depth.isin([30, 300, 3000])]
    table = rows.pivot_table(index="seed", columns=["architecture", "depth"], values="flow")
    return -least(-table.to_numpy()), rows


@claim(
    "C.Thm3-curve-below",
    accept=(-1.1, -0.7),
    rival=-0.5,
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
