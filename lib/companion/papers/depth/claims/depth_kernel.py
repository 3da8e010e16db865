"""Claims of chapter 5 on the kernel along depth: its limit, its rate, its range, its smallest eigenvalue."""

import math

import numpy as np
import torch

from companion.book.claims import claim
from companion.estimates import Estimate, exponent, least, mean, proportion
from companion.lab.parameters import PROFILES
from companion.papers.depth.studies import depth as studies
from companion.papers.depth.theory import pairs, rate, sigmoid_kernel
from regimes.kernels import infinite_ntk, relu_recursion

CHAPTER = "05"
CLOSEST = 10  # points of the grid next to 1, at which the layer map touches the identity
CHECKED_DEPTHS = range(2, 9)  # at which the kernel's range and growth are looked for
EXAMPLE_2 = 2**30, 128  # points and dimensions of Example 2
WITH_ANTIPODES = 30, 10  # points, more than dimensions, each with its antipode


@claim("C.Fig3-contact", accept=(1.45, 1.55), stated=1.5, rival=1, profiles=PROFILES, figure="tab-c-checked")
def contact_exponent(layer_map=studies.layer_map["main"]):
    """The map $h$ touches the identity at 1 with slope one, and the gap $h(z)-z$ closes as $(1-z)^{3/2}$.

    Exponent over the last ten points of the grid.

    Rival: a fixed point of slope below one, as with biases, which attracts geometrically
    Source: paper C, Fig. 3 and the expansion in the proof of Theorem 2
    Short: exponent of contact of $h$
    """
    closest = layer_map[layer_map.z < 1].sort_values("z").tail(CLOSEST)
    gap = (closest.h - closest.z).to_numpy()
    contact = exponent(1 - closest.z.to_numpy(), gap[None, :])
    return Estimate.exact(contact.value, 1e-9), closest


@claim(
    "C.Thm2-limit",
    accept=(0, 0.001),
    rival=0.75,
    profiles=PROFILES,
    headline=True,
    figure="fig-c-rate",
    at={"depth_max": 1_000_000, "rho": 0.9999},
)
def distance_from_a_quarter(curves=studies.normalised_kernel["main"], *, curve_depth):
    """Off the diagonal the normalised kernel tends to 1/4 from every initial correlation below 1.

    Largest distance at depth $10^6$, that of the nearest of seven pairs, of correlation 0.9999.

    Rival: a limit of 1, that of the correlation
    Source: paper C, Theorem 2
    Short: distance from 1/4, every pair
    """
    deepest = curves[curves.depth == curve_depth]
    return Estimate.exact((deepest.kernel - 0.25).abs().max(), 1e-12), deepest


def _last_decade(curves, deepest):
    """The rows at the ends of the last decade of depth, then those of either end by the correlation of the inputs."""
    ends = curves[curves.depth.isin([deepest // 10, deepest])]
    start = ends[ends.depth == deepest // 10].set_index("rho")
    end = ends[ends.depth == deepest].set_index("rho")
    return ends, start, end


@claim(
    "C.Thm2-rate",
    accept=(-0.01, 0.01),
    stated=0,
    corrected=(0.365, 0.385),
    rival=0.375,
    erratum="c-rate",
    profiles=PROFILES,
    headline=True,
    figure="fig-c-rate",
)
def logarithmic_growth(curves=studies.normalised_kernel["main"], *, curve_depth):
    r"""The distance from 1/4 is $O(1/L)$, so that $L$ times it has slope 0 in $\ln L$.

    Rival: the rate $\log L/L$ with the constant 3/8, derived in the chapter
    Source: paper C, Theorem 2
    Short: slope of $L$ times the distance
    """
    decade, start, end = _last_decade(curves, curve_depth)
    rise = (end.kernel - 0.25) * end.depth - (start.kernel - 0.25) * start.depth
    return Estimate.span(rise / np.log(end.depth / start.depth)), decade


@claim("C.Fig2-logarithmic", accept=(0.999, 1), rival=0.7071, profiles=PROFILES, figure="fig-c-rate")
def ratio_of_successive_errors(curves=studies.normalised_kernel["main"], *, curve_rho, curve_depth):
    """The convergence is logarithmic (Definition 7): the ratio of successive errors tends to 1.

    At the largest depth, of the four pairs of the figure, least to largest.

    Rival: geometric convergence, as with biases: $2^{-1/2}$ a layer
    Source: paper C, Sec. 6.4 and Definition 7
    Short: ratio of successive errors
    """
    drawn = curves[curves.rho.isin(curve_rho[:4])]  # the correlations of the figure
    last = drawn[drawn.depth == curve_depth]
    before = drawn[drawn.depth == curve_depth - 1]
    errors, errors_before = (rows.set_index("rho").kernel - 0.25 for rows in (last, before))
    return Estimate.span(errors / errors_before), last, before


@claim(
    "C.Cor1-slope",
    accept=(0.44, 0.46),
    stated=0.45016,
    corrected=(0.149, 0.151),
    rival=0.15,
    erratum="c-corollary-1",
    profiles=PROFILES,
    figure="fig-c-rate",
)
def growth_per_layer(curves=studies.normalised_kernel["main"], *, curve_depth):
    r"""$1/\sqrt{1-\rho}$ grows by $\sqrt2/\pi=0.450$ a layer, which makes $1/\sqrt{1-\rho^{(2)}}$ the unit of depth.

    Mean growth over the last decade of depth.

    Rival: $\sqrt2/(3\pi)$, by the proof of Theorem 2
    Source: paper C, proof of Corollary 1
    Short: growth of $1/\sqrt{1-\rho}$ a layer
    """
    decade, start, end = _last_decade(curves, curve_depth)
    return Estimate.span((end.gap**-0.5 - start.gap**-0.5) / (end.depth - start.depth)), decade


@claim(
    "C.Thm2-classes",
    accept=(0.99, 1.01),
    rival=0.75,
    profiles=PROFILES,
    figure="fig-c-layers",
    at={"layer": ["ReLU", "absolute value", "tanh", "erf"]},
)
def limit_of_layers(layers=studies.layer_kernels["main"]):
    """Layers with a non-smooth activation have the limit 1/4, smooth critical layers 1/3.

    Kernel over the limit $1/(1+k)$ of its class, $k=3$ and $k=2$, at the largest depth: of four non-smooth kinds of
    layers (ReLU, absolute value and others) and four smooth ones (tanh, erf and others) that furthest from 1.

    Rival: one limit for all, 1/4, at a smooth layer
    Source: derived in this chapter; the classes are those of Hayou et al. 2019
    Short: kernel of other layers over its limit
    """
    deepest = layers[(layers.depth == layers.depth.max()) & layers.limit.notna()]
    over = (deepest.kernel / deepest.limit).to_numpy()
    return Estimate.exact(over[np.abs(over - 1).argmax()], 1e-6), deepest


LIMITS = {"rho": 1.0, "theta": 0.25, "eta": sigmoid_kernel.fixed_point()}


def _remaining_share(paths, kernel):
    """What depth 30 leaves of a kernel's mean distance from its limit over all pairs, by data set, and the rows."""
    ends = paths[(paths.kernel == kernel) & paths.depth.isin([1, 30])]
    distance = ends.pair.map(lambda values: np.abs(np.array(values) - LIMITS[kernel]).mean())
    table = ends.assign(distance=distance).pivot_table(index="seed", columns="depth", values="distance")
    return (table[30] / table[1]).to_numpy(), ends


@claim(
    "C.Fig4-quick",
    accept=(0, 0.1),
    rival=0.266,
    profiles=PROFILES,
    figure="fig-c-fig4",
    at={"n0": 128, "depth_max": 30},
)
def distance_left_on_the_cube(paths=studies.trajectories["cube"]):
    r"""On points of the cube $[-1,1]^{128}$, projected on the sphere, thirty layers show that the correlation and
    $\eta$ converge.

    Less than a tenth of the mean distance from the limit is left, larger of the two kernels.

    Rival: the tangent kernel's law at depth 30 for orthogonal points, over 1/4
    Source: paper C, Sec. 6.4 of Fig. 4: correlation and $\eta$ converge "rather quickly"
    Short: remaining distance of correlation and $\eta$, cube
    """
    found = [_remaining_share(paths, kernel) for kernel in ("rho", "eta")]
    shares = np.stack([share for share, _ in found], axis=1)
    return -least(-shares), *(ends for _, ends in found)


@claim(
    "C.Fig5-theta",
    accept=(0, 0.1),
    corrected=(0.15, 0.6),
    rival=0.522,
    erratum="c-depth-30",
    profiles=PROFILES,
    figure="fig-c-fig4",
    at={"corpus": "mnist", "depth_max": 30},
)
def distance_left_on_images(paths=studies.trajectories["images"]):
    r"""On MNIST digits, the tangent kernel at depth 30 is close to its limit.

    Less than a tenth of the mean distance from 1/4 is left off the diagonal.

    Rival: the law $\log L/L$ at depth 30 for correlation 0.4, over 0.15
    Source: paper C, Fig. 5, Sec. 6.4 and App. D
    Short: tangent kernel's remaining distance, digits
    """
    shares, ends = _remaining_share(paths, "theta")
    return mean(shares), ends


@claim("C.Fig7-depth", accept=(1e-06, math.inf), rival=0, profiles=PROFILES, figure="tab-c-checked", at={"depths": 30})
def step_of_the_smallest_eigenvalue(eigenvalues=studies.smallest_eigenvalue["main"]):
    r"""The smallest eigenvalue increases with depth for $L=1,\dots,30$ at every $n$.

    Smallest mean step.

    Rival: no change with depth
    Elsewhere: $n=2000$ alone 0.0269
    Source: paper C, Fig. 7 and Sec. 6.4
    Short: smallest eigenvalue grows with depth
    """
    table = eigenvalues.pivot_table(index="seed", columns=["n", "depth"], values="smallest")
    steps = [np.diff(table[n].to_numpy(), axis=1) for n in sorted(set(eigenvalues.n))]
    return least(np.concatenate(steps, axis=1))


def _at_five_and_thirty(eigenvalues):
    """The smallest eigenvalue at depths 5 and 30 for the most points, one row per data set, and the rows."""
    rows = eigenvalues[(eigenvalues.n == eigenvalues.n.max()) & eigenvalues.depth.isin([5, 30])]
    return rows.pivot_table(index="seed", columns="depth", values="smallest"), rows


@claim("C.Fig7-away", accept=(0.375, 0.75), rival=0, figure="tab-c-checked", at={"n": 2000})
def smallest_eigenvalue_at_five(eigenvalues=studies.smallest_eigenvalue["main"]):
    """For large $n$ a depth of 5 stabilises the smallest eigenvalue, that is, keeps it away from 0 (to $n=2000$; at
    the paper profile 5000).

    Its value there at the largest $n$, of which at least half of the limit 3/4 is asked.

    Rival: depth 1, where more points than dimensions make the matrix singular
    Source: paper C, Sec. 6.4
    Short: smallest eigenvalue at depth 5
    """
    table, rows = _at_five_and_thirty(eigenvalues)
    return mean(table[5].to_numpy()), rows


@claim("C.Fig7-stabilised", accept=(1.2, 2), rival=1, erratum="c-depth-5", figure="tab-c-checked", at={"depths": 30})
def growth_from_five_to_thirty(eigenvalues=studies.smallest_eigenvalue["main"]):
    """At depth 5 the smallest eigenvalue has not settled: to depth 30 it still grows.

    Ratio of its values at depths 30 and 5, at the largest $n$.

    Rival: stabilised means settled: the eigenvalue grows no further
    Source: derived in this chapter, for paper C, Sec. 6.4
    Short: smallest eigenvalue, depth 30 over 5
    """
    table, rows = _at_five_and_thirty(eigenvalues)
    return mean((table[30] / table[5]).to_numpy()), rows


@claim("C.Fig8-trend", accept=(0.005, 0.1), rival=0, profiles=PROFILES, figure="tab-c-checked")
def growth_of_the_depth_bound(bounds=studies.depth_bound["main"]):
    """The depth bound of Theorem 3 grows slowly with $n$ on the sphere.

    Exponent in $n$.

    Rival: no growth
    Source: paper C, Fig. 8
    Short: depth bound against $n$
    """
    table = bounds.pivot_table(index="seed", columns="n", values="bound")
    return exponent(table.columns.to_numpy(), table.to_numpy())


@claim("C.Fig8-invertible", accept=(1, 2), rival=4.62, erratum="c-depth-bound", figure="tab-c-checked")
def depth_bound_of_most_points(bounds=studies.depth_bound["main"]):
    r"""Taken as a depth, the bound that Fig. 8 plots, $\max1/\sqrt{1-h}$, rounds up to 2 on the paper's sphere data,
    the least depth at which the kernel of points without antipodes is invertible.

    Its mean at the largest $n$.

    Rival: the depth at which the closest of $10^4$ points is half-way to 1/4, 2.975 in this unit
    Source: derived in this chapter, for paper C, Fig. 8
    Short: depth bound on the sphere
    """
    of_most_points = bounds[bounds.n == bounds.n.max()]
    return mean(of_most_points.bound), of_most_points


def _on_a_fine_grid():
    """Correlations, and the kernel of each at the depths that are checked: ``(20001)``, ``(depths, 20001)``."""
    rho = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    kernel, _ = relu_recursion.along_depth(torch.acos(rho), CHECKED_DEPTHS)
    return rho, kernel


def _with_antipodes(depth):
    """The smallest eigenvalue of the kernel on points of a sphere, each with its antipode."""
    x = pairs.sphere(*WITH_ANTIPODES, seed=0)
    return float(torch.linalg.eigvalsh(infinite_ntk(torch.cat([x, -x]), depth=depth))[0])


@claim(
    "C.Sec4-invertible",
    accept=(0.001, math.inf),
    corrected=(-1e-7, 1e-7),
    rival=0,
    erratum="c-invertible",
    profiles=PROFILES,
    headline=True,
    figure="tab-c-checked",
)
def invertible_at_two():
    r"""If all data points lie on the unit sphere, the kernel is invertible for $L\ge2$.

    Its smallest eigenvalue at $L=2$ on 30 points of the sphere in ten dimensions and their antipodes.

    Rival: the odd part of the kernel at $L=2$ is $\rho$ itself, of rank $n_0$
    Source: paper C, Sec. 4
    Short: smallest eigenvalue with antipodes, $L=2$
    """
    return Estimate.exact(_with_antipodes(2), 1e-8)


@claim(
    "C.Prop5-range",
    accept=(0, 1),
    corrected=(-1, -1e-06),
    rival=-0.0684,
    erratum="c-range",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def smallest_kernel_value():
    """The normalised kernel takes values in $[0,1]$.

    Its smallest value at $L=2$.

    Rival: the closed form at correlation -0.794, where it turns
    Source: paper C, Prop. 5
    Short: smallest value of the kernel, $L=2$
    """
    rho, kernel = _on_a_fine_grid()
    spacing = float(rho[1] - rho[0])  # the slope is below 1 there
    return Estimate.exact(float(kernel[0].min()), spacing)


@claim(
    "C.Prop5-monotone",
    accept=(-1, -0.999),
    corrected=(-0.8, -0.79),
    rival=-0.7941,
    erratum="c-range",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def turning_correlation():
    r"""The normalised kernel increases with the inner product for any $L$.

    The correlation from which on it does, largest over $L=2,\dots,8$.

    Rival: $L=2$: $-\cos\psi$ with $\psi\tan\psi=\frac12$, from the closed form
    Source: paper C, Sec. 6.3
    Short: kernel increases from this correlation on
    """
    rho, kernel = _on_a_fine_grid()
    return Estimate.exact(float(rho[kernel.argmin(1)].max()), float(rho[1] - rho[0]))


@claim(
    "C.Prop8-definite",
    accept=(0, math.inf),
    corrected=(-math.inf, -0.01),
    rival=-0.0273,
    erratum="c-eta",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def smallest_eigenvalue_of_eta():
    r"""The kernels $\eta$ are positive definite on the sphere.

    Smallest eigenvalue of $\eta$ at depth 2 on 12 evenly spaced points of a circle.

    Rival: the third harmonic, from the power series to fifth order: $6\,(5/7680-1/192)$
    Source: paper C, Prop. 8
    Short: smallest eigenvalue of $\eta$
    """
    circle = sigmoid_kernel.circle(12)
    eta = sigmoid_kernel.eta((circle @ circle.T).clamp(-1, 1), 2)
    return Estimate.exact(float(torch.linalg.eigvalsh(eta)[0]), 1e-14)


@claim(
    "C.Ex2-probability",
    accept=(0, 0.045),
    corrected=(0.99, 1),
    rival=1,
    erratum="c-angle",
    profiles=PROFILES,
    part_of="C.Prop7-bound",
    figure="tab-c-checked",
)
def chance_of_nearby_inputs():
    r"""For $n=2^{30}$ and $n_0=128$ a pair with inner product at least $1-\delta$ has a probability of at most 0.04
    with $\delta=0.72$ (Prop. 7), and of at most 0.02 with $\delta=n^{-2/(n_0-1)}$ (Cai et al. 2013).

    Smaller of the two probabilities.

    Rival: the exact law of one pair, at the angle that belongs to that inner product
    Source: paper C, Example 2
    Short: probability of nearby inputs, $n=2^{30}$
    """
    n, n0 = EXAMPLE_2
    by_the_bound = math.exp(-math.log(n * (n - 1) / 2) / (n0 - 1))
    by_the_theorem = n ** (-2 / (n0 - 1))
    return Estimate.exact(
        min(pairs.chance_of_pair(n, n0, math.acos(1 - delta)) for delta in (by_the_bound, by_the_theorem))
    )


@claim(
    "C.Ex2-depth",
    accept=(1, 1.375),
    corrected=(1.9, 2.2),
    rival=1.97,
    erratum="c-angle",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def depth_bound_of_many_points():
    r"""With high probability the depth bound $1/\sqrt{1-\rho^{(2)}}$ is at most 1.37 for $n=2^{30}$.

    Its 96 % quantile.

    Rival: the exact law of one pair: inner product 0.690
    Source: paper C, Example 2
    Short: depth bound, $n=2^{30}$
    """
    level = pairs.closest_quantile(*EXAMPLE_2, 0.04)
    error = abs(pairs.chance_of_pair(*EXAMPLE_2, float(np.arccos(level))) - 0.04)  # the quantile, put back into the law
    return Estimate.exact(pairs.separation_depth(level), error)


@claim("C.Ex2-fast", accept=(1, 30), rival=88, erratum="c-depth-30", profiles=PROFILES, figure="tab-c-checked")
def depth_of_orthogonal_points():
    r"""In 128 dimensions the kernel converges fast, "for small values of $L$".

    Depth from which on inputs at a right angle, as most are there, are within a tenth of 1/4 from the limit; 30 is what
    the paper calls sufficient.

    Rival: the law $\log L/L$ at right angles
    Source: paper C, Example 2: "we still obtain fast convergence […] for small values of $L$"
    Short: depth with a tenth left, right angle
    """
    deepest = 1000
    kernel, _ = relu_recursion.along_depth(torch.tensor([math.pi / 2], dtype=torch.float64), range(1, deepest + 1))
    last_outside = int(torch.nonzero((kernel[:, 0] - 0.25).abs() > 0.025)[-1]) + 1  # depths count from 1
    return Estimate.exact(last_outside + 1)


@claim(
    "C.Sec6-closest",
    accept=(-0.05, 0.05),
    stated=0,
    rival=1,
    erratum="c-componentwise",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def growth_of_the_depth_for_all_pairs():
    r"""The convergence of the kernel's entries does not depend on the number $n$ of points, if all entries are meant.

    Exponent in $n$, from 100 to 10000 points on the 2-sphere, of the depth at which the closest pair is half-way to
    1/4, median by its exact law.

    Rival: the depth is one over the angle of the closest pair, $n^{2/(n_0-1)}$
    Source: paper C, Sec. 6.3: "the component-wise convergence to $\frac14$ does not depend on the size $n$ of the
    dataset"
    Short: depth for all pairs, against $n$
    """
    sizes = np.array([100, 1000, 10_000])
    depths = [rate.half_way_depth(pairs.closest_quantile(int(n), 3, 0.5)) for n in sizes]
    return Estimate.exact(exponent(sizes, np.array([depths])).value, 1e-3)


@claim(
    "C.Sec6-criteria",
    accept=(0.01, math.inf),
    corrected=(0, 0.001),
    rival=0,
    erratum="c-criteria",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def smallest_eigenvalue_of_the_correlation():
    r"""A kernel that is largest on the diagonal, and positive definite from some depth on, behaves as in Theorem 3.

    Smallest eigenvalue, at depth 1000, of a kernel that has both: the correlation $\rho^{(L)}$ of 20 points on a sphere
    in ten dimensions. With the tangent kernel it tends to 3/4.

    Rival: the limit of $\rho^{(L)}$, the matrix of ones
    Source: paper C, Sec. 6.4: "the essential characteristics of sequences of general kernels that exhibit similar
    limiting behaviour"
    Short: smallest eigenvalue of the correlation
    """
    return Estimate.exact(correlation_eigenvalue(1000), 1e-10)


def correlation_eigenvalue(depth: int) -> float:
    """The smallest eigenvalue of the correlations ``ρ^(L)`` of 20 points on a sphere in ten dimensions."""
    x = pairs.sphere(20, 10, seed=0)
    _, gap = relu_recursion.along_depth(torch.acos((x @ x.mT).clamp(-1, 1)).fill_diagonal_(0), [depth])
    return float(torch.linalg.eigvalsh(1 - gap[0])[0])


@claim(
    "C.Prop7-bound",
    accept=(0, 3.04e-05),
    corrected=(0.9, 1),
    rival=1,
    erratum="c-angle",
    profiles=PROFILES,
    figure="tab-c-checked",
    at={"delta": 0.3, "n": 200, "n0": 16},
)
def frequency_of_nearby_inputs(draws=studies.closest_pair["inner"]):
    r"""The probability of a pair with inner product at least $1-\delta$ is at most the bound, $3.04\cdot10^{-5}$ for
    200 points, $n_0=16$, $\delta=0.3$.

    Measured probability.

    Rival: the exact law of one pair, at the angle that belongs to that inner product
    Source: paper C, Prop. 7
    Short: probability of nearby inputs
    """
    return proportion(draws.found)


@claim(
    "C.AppA-limit",
    accept=(0.01, 1),
    corrected=(-1e-06, 1e-06),
    rival=0,
    erratum="c-biases",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def distance_from_singular_with_biases(biases=studies.biases["main"]):
    """With biases the limit is invertible.

    One minus off-diagonal over diagonal at depth 100, largest over pairs.

    Rival: the correlation's fixed point has slope 1/2: all entries tend to the diagonal
    Source: paper C, App. A
    Short: with biases, is the limit invertible
    """
    deepest = biases[biases.depth == 100]
    return Estimate.exact(deepest.gap.abs().max(), 1e-13), deepest


@claim("C.AppA-equal", accept=(-1e-06, 1e-06), stated=0, rival=0.00512, profiles=PROFILES, figure="tab-c-checked")
def spread_with_biases(biases=studies.biases["main"]):
    """With biases the off-diagonal entries become equal.

    Their spread at depth 100.

    Rival: without biases: $(c(0.5)-c(0))/(4L)$ at $L=100$
    Source: paper C, App. A
    Short: with biases, off-diagonal entries equal
    """
    deepest = biases[biases.depth == 100]
    return Estimate.exact(deepest.spread.max(), 1e-13), deepest


@claim("C.AppB-embedded", accept=(1e-05, math.inf), rival=0, profiles=PROFILES, figure="tab-c-checked", at={"depth": 2})
def smallest_eigenvalue_of_embedded_points(colinear=studies.colinear_points["main"]):
    """The inverse stereographic embedding makes the kernel of collinear points invertible.

    Its smallest eigenvalue at depth 2, the least at which it is.

    Rival: the same points without the embedding
    Source: paper C, Sec. 4 and App. B
    Short: embedded colinear points, smallest eigenvalue
    """
    rows = colinear[colinear.depth == 2]
    return mean(rows.embedded), rows
