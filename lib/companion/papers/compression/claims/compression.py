"""Claims of chapter 2: the compression of paper A, and its square root."""

import math

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import Estimate, exponent, mean, proportion, ratio, slopes
from companion.papers.compression.studies import compression as studies
from companion.papers.compression.studies import fitting
from companion.papers.compression.theory import Stripe
from companion.papers.compression.theory.learning_curves import by_size, drift

CHAPTER = "02"
FIXED_POINTS = ("fastest", "outer", "slowest")  # of the stripe, in the order of their growth rates


# Weights and neurons


def last_frame(rows, column):
    """``(seeds,)``: a column at the last frame of each run."""
    return rows.sort_values("frame").groupby("seed")[column].last().to_numpy()


def largest_sets(rows):
    """The rows of the largest training sets."""
    return rows[rows.p == rows.p.max()]


@claim("A.Fig1-inflation", accept=(5, math.inf), rival=1, figure="fig-a-2")
def inflation(feature=studies.weight_snapshots["feature"]):
    r"""During training the weights grow much more in the informative direction (stripe, feature learning).

    growth of the root mean square of $\omega_\parallel$ over that of $\omega_\perp$, from the start to $t^*$

    Rival: all directions grow alike
    Elsewhere: lazy training ($\alpha=10^4$) 1
    Source: paper A, Fig. 1
    Short: growth of $\omega_\parallel$ over that of $\omega_\perp$
    """
    at_star = feature[feature.star]
    return ratio(at_star.inflation), at_star


@claim("A.Fig2-feature", accept=(0.9, math.inf), rival=0.5, figure="fig-a-2")
def aligned_share(feature=studies.weight_snapshots["feature"]):
    r"""At the end of feature learning the weights have aligned with $e_1$.

    share of $\sum(\beta\omega)^2$ along $e_1$

    Rival: isotropic weights, $1/d$
    Elsewhere: lazy training ($\alpha=10^4$) 0.507
    Source: paper A, Fig. 2 right; paper B, Fig. 10 left
    Short: weight along the informative axis
    """
    return mean(last_frame(feature, "share"))


@claim("A.Fig2-lazy", accept=(-0.05, 0.05), stated=0, rival=0.49, figure="fig-a-2")
def share_gained_when_lazy(lazy=studies.weight_snapshots["lazy"]):
    r"""In the lazy regime the isotropic distribution of the weights "persists during the training" (stripe).

    share of $\sum(\beta\omega)^2$ along $e_1$ at the end minus at the start ($d=2$, $\alpha=10^4$)

    Rival: they align as in feature learning
    Elsewhere: feature learning ($\alpha=10^{-6}$) 0.483
    Source: paper A, Fig. 2, caption
    Short: share along $e_1$, end minus start, lazy
    """
    frames = lazy.sort_values("frame").groupby("seed").share
    return mean(frames.last() - frames.first())


@claim("A.Fig7-end", accept=(0.95, math.inf), rival=0.667, figure="fig-a-7")
def share_in_the_plane(cylinder=studies.weight_snapshots["cylinder"]):
    r"""At the end of training the cylinder's weights lie in the informative plane.

    share of $\sum(\beta\omega)^2$ in the plane

    Rival: isotropic weights, $d_\parallel/d$
    Source: paper A, Fig. 7 right
    Short: weight in the informative plane
    """
    return mean(last_frame(cylinder, "share"))


@claim("A.Fig4-ode", accept=(0, 0.15), rival=0.707, headline=True, figure="fig-a-4-error", at={"d": 2, "p": 10000})
def error_of_the_equations(neurons=studies.neurons["main"]):
    r"""A neuron follows Eqs. 6 and 8 until $t^*$.

    median over the neurons with training points on their active side of the largest error of
    $(\omega_1,\omega_\perp,b,\beta)$, relative to the norm of these four (stripe, $d=2$, $p=10000$)

    Rival: neurons at rest: the readout's part, half of the square of the norm
    Source: paper A, Fig. 4a
    Short: error of the equations of motion
    """
    largest = largest_sets(neurons)
    return ratio(largest.error), largest


@claim("A.Fig4-attractors", accept=(0.95, math.inf), rival=0.5, figure="fig-a-4", at={"d": 2, "p": 10000})
def arrived_share(arrivals=studies.attractor_shares["main"]):
    r"""All neurons converge to one of the fixed points, given time (the paper exempts those that are late at $t^*$).

    share within 0.2 of a fixed point at $t^*$, of the neurons that still have training points on their active side, at
    the smallest $\alpha$ (network, $d=2$, $p=10000$)

    Rival: the half of the neurons whose $\beta$ starts with the wrong sign never arrive
    Elsewhere: $\alpha=10^{-18}$ 0.866, $\alpha=10^{-6}$ 0.788
    Source: paper A, Fig. 4c and Sec. 3.2.1
    Short: share of active neurons at a fixed point
    """
    latest = arrivals[arrivals.alpha == arrivals.alpha.min()]
    return mean(latest.near_seeing), latest


@claim("A.Fig5-attractors", accept=(0, 0.1), rival=0.2, headline=True, figure="fig-a-4")
def distance_from_fixed_points(neurons=studies.neurons["main"]):
    r"""At $t^*$ the intercepts $\zeta_1$ lie at the predicted fixed points.

    mean distance to the nearest fixed point of a neuron's sign, weighted by $(\beta\omega)^2$

    Rival: neurons of the fastest fixed point lie at the slowest, $z^*=0.65$ in place of 0.45
    Source: paper A, Fig. 5 left
    Short: distance from the predicted fixed points
    """
    largest = largest_sets(neurons)
    return mean(largest.off), largest


# The square root


def without_noise(rows):
    r"""Rows with ``still``: :math:`\Lambda^*|N|` up to a constant, the noise of each training set divided out."""
    return rows.assign(still=rows.star / rows.predicted * np.sqrt(rows.p))


def growth_of(column):
    """The function that measures the exponent of a column in ``p``."""
    return lambda rows: exponent(*by_size(rows, column))


def plateau_exponent(rows):
    r"""The exponent of :math:`\Lambda^*` in ``p``, the noise divided out, over all sizes and over the larger ones."""
    return drift(growth_of("still"), without_noise(rows))


@claim(
    "A.Fig6-star-d5",
    accept=(0.4, 0.6),
    stated=0.5,
    rival=0,
    headline=True,
    figure="fig-a-6-p",
    given={"d": 5},
    at={"d": 5, "p": 1024},
)
@again("A.Fig6-star-d10", part_of="A.Fig6-star-d5", given={"d": 10}, at={"d": 10, "p": 1024})
def stripe_exponent(networks=studies.amplification_scaling["stripe_again"], *, growth_from, d):
    r"""The amplification factor at $t^*$ grows as the square root of $p$ (stripe, $d={d}$).

    exponent in $p$ from 1024 points on, with the noise $|N|$ of each training set divided out, on training sets other
    than those on which this window was chosen

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Fig. 6 bottom and Eq. 9
    Short: exponent of $\Lambda^*$, stripe $d={d}$
    """
    rows = networks[(networks.d == d) & (networks.p >= growth_from)]
    return (plateau_exponent(rows), rows) if len(rows) else None


@claim("A.Fig8-star", accept=(0.4, 0.6), stated=0.5, rival=0, headline=True, figure="fig-a-6-p", at={"d": 3, "p": 1024})
def cylinder_exponent(networks=studies.amplification_scaling["cylinder_again"], *, growth_from):
    r"""The amplification factor at $t^*$ grows as the square root of $p$ (cylinder, $d=3$).

    exponent in $p$ from 1024 points on, with the noise $|N|$ of each training set divided out, on training sets other
    than those on which this window was chosen

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Fig. 8 top
    Short: exponent of $\Lambda^*$, cylinder
    """
    rows = networks[networks.p >= growth_from]
    return plateau_exponent(rows), rows


@claim("A.Fig8-generic", accept=(0.4, 0.6), stated=0.5, rival=0, figure="tab-a-generic", at={"p": [1024, 16384]})
def generic_exponent(planes=studies.amplification_scaling["planes"], sphere=studies.amplification_scaling["sphere"]):
    r"""The compression "is expected to occur generically in linear invariant models" (three planes, $d=5$; three
    informative directions, $d=4$).

    exponent of $\Lambda^*$ in $p$ from 1024 points on, noise divided out; of the two that furthest from one half

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Sec. 4
    Short: exponent of $\Lambda^*$, other tasks
    """
    return furthest([(plateau_exponent(rows), rows) for rows in (planes, sphere)], 0.5)


def furthest(found, stated):
    """Of measurements of one statement, each an estimate with its rows, the one furthest from a stated number."""
    return max(found, key=lambda one: abs(getattr(one[0], "whole", one[0]).value - stated))


def mean_course(rows, times):
    """``Λ`` at given times, averaged over networks; one whose training has ended keeps its last value.

    Args:
        rows: of ``studies.compression.amplification_along_training``.
        times: increasing, in units of ``τ``; ``(k,)``.
    """
    sizes = [np.interp(times, network["time"], network["size"]) for _, network in rows.iterrows()]
    return np.mean(sizes, axis=0)


@claim("A.Fig6-largest", accept=(-0.1, 0.1), stated=0, rival=-0.5, figure="fig-a-6-p", at={"p": [1024, 16384]})
def exponent_of_the_growth_after(
    stripe=studies.amplification_scaling["stripe_maximum"],
    cylinder=studies.amplification_scaling["cylinder_maximum"],
    *,
    growth_from,
):
    r"""The largest amplification factor over time has the exponent of $\Lambda^*$ (stripe, $d=5$ and 10, and cylinder).

    exponent in $p$ of $\Lambda_{\max}/\Lambda^*$ of the same networks, mean of the three tasks; until 98 % of the
    points are fitted, tolerance 0.005 in float64, from 1024 to 16384 points

    Rival: $\Lambda_{\max}$ is set by $\alpha$ alone
    Source: paper A, Sec. 3.2.2: "the same scaling applies to the maximum", Fig. 6 bottom and Fig. 8 top
    Short: exponent of $\Lambda_{\max}/\Lambda^*$
    """
    rows = pd.concat([stripe, cylinder])
    rows = rows[rows.p >= growth_from].assign(factor=lambda rows: rows.largest / rows.star)
    return drift(mean_exponent_of_the_factor, rows), rows


def mean_exponent_of_the_factor(rows):
    """The exponent in ``p`` of the growth after ``t*``, averaged over the tasks of each seed."""
    of_tasks = [slopes(*by_size(task, "factor")) for _, task in rows.groupby(["shape", "d"])]
    return mean(np.mean(of_tasks, axis=0))


def over_theory(rows):
    r"""Measured over predicted :math:`\Lambda^*`: a geometric mean over sizes and training sets, these the unit."""
    logs = np.log(rows.star / rows.predicted)
    return ratio(np.exp(logs.groupby(rows.seed).mean()))


@claim(
    "A.AppC-constant",
    accept=(0.91, 1.09),
    rival=1.18,
    headline=True,
    figure="fig-a-time",
    at={"d": 5, "p": 4096, "alpha": 1e-06},
)
def stripe_constant(
    stripe=studies.amplification_scaling["stripe"],
    other_sets=studies.amplification_scaling["stripe_again"],
    *,
    growth_p,
):
    r"""The constant in $\lambda^*=c\sqrt p$ is the one that follows from Eq. 8 with the root of $D_\perp$, its first
    term kept (App. C.3).

    measured $\Lambda^*$ over predicted ($d=5$, from $p=4096$ on, $\alpha=10^{-6}$)

    Rival: Eq. 8 as printed, with $D_\perp$ in place of its root
    Source: derived from paper A, App. C.3
    Short: $\Lambda^*$ over theory, stripe $d=5$
    """
    rows = pd.concat([stripe, other_sets])
    rows = rows[(rows.d == rows.d.min()) & rows.p.isin(growth_p[-3:])]
    return over_theory(rows), rows


@claim("A.Fig8-ring", accept=(0.91, 1.09), rival=0.44, figure="fig-a-ring", at={"d": 3, "p": [8192, 32768]})
def ring_constant(ring=studies.amplification_scaling["ring"]):
    r"""The cylinder's $\Lambda^*$ is that of one ring of fixed points, $z^*=0$, $c\sqrt{p/(2\langle N^2\rangle)}$ with
    $c=0.530$.

    measured over predicted with each training set's own noise ($d=3$, from $p=8192$ on), on training sets of which none
    had been looked at

    Rival: $c=0.236$, without the force of the ring's own label on $\omega_\perp$
    Source: derived in this chapter; other training sets had shown 1.1 to 1.3 from $p=512$ on, for paper A, Fig. 8
    Short: $\Lambda^*$ over theory, cylinder
    """
    sizes = sorted({*ring.p})
    rows = ring[ring.p.isin(sizes[len(sizes) // 2 :])]
    return (over_theory(rows), rows) if rows.seed.nunique() > 1 else None


@claim(
    "A.Fig8-directions",
    accept=(-0.1, 0.1),
    stated=0,
    corrected=(0.2, 0.6),
    rival=0.25,
    erratum="a-ring",
    figure="fig-a-ring",
    at={"d": 3, "p": [512, 32768]},
)
def growth_of_the_directions(ring=studies.amplification_scaling["ring"]):
    r"""Before $t^*$ neurons converge to "a finite number of fixed points", in all linear invariant problems (cylinder).

    exponent in $p$, from 512 to 32768 points, of the number of 10 degree sectors of the informative plane that hold the
    neurons at $t^*$, $1/\sum s^2$ with the shares $s$ of $\sum(\beta\omega_\parallel)^2$

    Rival: a ring on which the rate varies by $1/\sqrt p$: neurons near its maxima fill an angle $\propto p^{1/4}$, and
    in the end all of it
    Source: paper A, Sec. 2.5 and 4
    Short: exponent of the number of directions, cylinder
    """
    return growth_of("directions")(ring), ring


# Fixed points and rates


def at_fixed_point(rests, interfaces, place):
    """The rows of the neurons at a fixed point, of the training sets on which it has neurons at every size.

    Args:
        rests: rows of ``fitting.plateaus``, of one dimension.
        interfaces: where the stripe's label changes.
        place: one of ``FIXED_POINTS``.
    """
    attractors = Stripe(interfaces, int(rests.d.iloc[0])).attractors()
    by_rate = sorted(attractors, key=lambda point: -point.rate)
    points = dict(zip(FIXED_POINTS, by_rate))
    if place not in points:  # other interfaces may have fewer
        return rests[:0]
    rows = rests[np.isclose(rests.attractor, points[place].z)]
    return rows[rows.groupby("seed").p.transform("nunique") == rests.p.nunique()]


@claim("A.Fig4-lambda", accept=(0.4, 0.6), stated=0.5, rival=0, figure="fig-a-lambda", at={"d": 5})
def fixed_point_exponent(rests=fitting.plateaus["main"], *, interfaces):
    r"""Each fixed point has its own amplification: "the amplification factor converges to a finite value $\lambda^*$
    that scales as $\lambda^*\sim\sqrt p$" (stripe, $d=5$).

    exponent in $p$ over a factor of 16, median over the neurons at rest there, noise divided out; of the fixed points'
    exponents that furthest from one half

    Rival: no noise: $\lambda$ is set by $\alpha$ alone
    Source: paper A, Eq. 9 and Sec. 3.2.1
    Short: exponent of $\lambda^*$, each fixed point
    """
    tables = [at_fixed_point(rests, interfaces, place) for place in FIXED_POINTS]
    found = [(exponent_of_plateau(rows), rows) for rows in tables if len(rows)]
    return furthest(found, 0.5) if found else None


def exponent_of_plateau(rows):
    """The exponent of the amplification of neurons at rest, the noise divided out."""
    return drift(growth_of("still"), without_noise(rows.assign(star=rows["size"])))


def growth_rates(rests, interfaces):
    r"""The rates of the fastest fixed point in :math:`1/\tau`: that of its weights, and that of :math:`\lambda`."""
    fastest = max(Stripe(interfaces, int(rests.d.iloc[0])).attractors(), key=lambda point: point.rate)
    return fastest.rate, fastest.rate - fastest.rate_perp


def time_of_the_plateau(rests, interfaces):
    r"""The neurons at the fastest fixed point, with the time at which :math:`\lambda` is half of its plateau.

    In units of the growth time of :math:`\lambda`: as it is (``late``), and with the noise taken out (``steady``).
    """
    rows = at_fixed_point(rests, interfaces, "fastest")
    _, rate_of_lambda = growth_rates(rests, interfaces)
    late = rows.time * rate_of_lambda
    return rows.assign(late=late, steady=late - np.log(rows.predicted / np.sqrt(rows.p)))


def slope_in_log_p(rows):
    """The slope of the time in ``log p``, averaged over training sets."""
    sizes, late = by_size(rows, "steady")
    return mean(np.polyfit(np.log(sizes), late.T, 1)[0])


@claim("A.Fig4-perpendicular", accept=(0.25, math.inf), rival=0, figure="fig-a-late", at={"d": 5})
def perpendicular_time(rests=fitting.plateaus["main"], *, interfaces):
    r"""The time at which the noise takes over grows as $\log p$: "the definition of the perpendicular timescale yields
    $\tau_\perp\sim\tau^*\log p$" (fastest fixed point, stripe, $d=5$).

    slope in $\log p$ of the time at which $\lambda$ reaches half of $\lambda^*$, noise taken out, in units of the rate
    at which $\lambda$ grows, where a start at a $\lambda$ of order one gives $\frac12$

    Rival: the plateau is reached at a time that does not depend on $p$
    Source: paper A, footnote 3
    Short: slope of $\tau_\perp$ in $\log p$
    """
    rows = time_of_the_plateau(rests, interfaces)
    return (drift(slope_in_log_p, rows), rows) if len(rows) else None


@claim("A.AppC-tau", accept=(0.9, 1.1), stated=1, rival=1.15, figure="tab-a-attractors")
def time_constant(neurons=studies.neurons["main"]):
    r"""$\omega_1$ grows exponentially with the time constant $\tau^*$ of Eq. 15.

    measured over predicted, geometric mean over the fixed points that a network's neurons reach

    Rival: no factor $(1+z^{*2}/d)^{1/2}$, mean of the three fixed points
    Source: paper A, Eq. 15
    Short: $\tau^*$ over Eq. 15
    """
    largest = largest_sets(neurons)
    slowness = slowness_of(largest)
    return None if slowness.empty else (ratio(np.exp(np.log(slowness).mean(axis=1))), largest)


def slowness_of(rows):
    """Measured over predicted time constants, a column per fixed point that has enough neurons, a row per network."""
    slowness = 1 / rows.filter(regex=r"^rate_\d").astype(float)
    return slowness.dropna(how="all").dropna(how="all", axis=1)


@claim(
    "A.AppC-tau-perp",
    accept=(0.9, 1.1),
    stated=1,
    corrected=(0.38, 0.42),
    rival=0.399,
    erratum="a-perpendicular-time",
    profiles=("smoke", "laptop", "paper"),
    headline=True,
    figure="tab-a-attractors",
)
def perpendicular_time_constant(across=studies.perpendicular["main"]):
    r"""Without noise $\omega_\perp$ grows or falls with the time constant of Eq. 16.

    time constant of Eq. 6 (integrated, no network) over the printed one

    Rival: Eq. 6, with the root of $2\pi$
    Source: paper A, Eq. 16
    Short: $\tau_\perp^*$ of Eq. 6 over Eq. 16
    """
    return Estimate.span(across.ratio)


@claim(
    "A.AppC-noise",
    accept=(0.95, 1.05),
    stated=1,
    corrected=(0.45, 0.55),
    rival=0.5,
    erratum="a-noise",
    profiles=("smoke", "laptop", "paper"),
    headline=True,
    figure="tab-a-attractors",
)
def noise_exponent(noises=studies.noise["main"]):
    r"""The finite-$p$ force on $\omega_\perp$ has the amplitude $D_\perp$ of Eq. 8.

    exponent of the force's standard deviation in $D_\perp$

    Rival: $D_\perp$ is the variance
    Source: paper A, Eq. 8
    Short: exponent of the force in $D_\perp$
    """
    return mean(noises.exponent)


def scaled_times(times):
    r"""``log(1/alpha)`` and :math:`t^*/\tau^*`, a row per seed and a column per scale."""
    scaled = times.assign(scaled=times.t_star * times.rate).pivot(index="seed", columns="alpha", values="scaled")
    return -np.log(scaled.columns.to_numpy()), scaled


@claim(
    "A.AppC-time",
    accept=(0.9, 1.1),
    stated=1,
    corrected=(0.45, 0.55),
    rival=0.5,
    erratum="a-characteristic-time",
    headline=True,
    figure="fig-a-time",
)
def fitting_time(times=studies.characteristic_time["main"]):
    r"""The predictor grows as $\exp(t/\tau^*)$ before $t^*$, so that $t^*$ is $\tau^*\log(1/\alpha)$.

    slope of $t^*/\tau^*$ in $\log(1/\alpha)$

    Rival: the predictor is quadratic in the weights
    Source: paper A, Sec. 2.5
    Short: slope of $t^*/\tau^*$ in $\log(1/\alpha)$
    """
    logs, scaled = scaled_times(times)
    if len(logs) < 2:  # one scale has no slope
        return None
    return mean(np.polyfit(logs, scaled.to_numpy().T, 1)[0])


# The output scale


def half_scale(rows):
    r"""The scale at which a training set's :math:`\Lambda^*` is half of its plateau.

    Between scales, by logarithms of :math:`\Lambda^{*2}/\Lambda^2-1`.
    """
    rows = rows.sort_values("alpha")
    excess = np.log(np.maximum((rows.predicted / rows.star) ** 2 - 1, 0.1))
    return np.exp(np.interp(np.log(3), np.maximum.accumulate(excess), np.log(rows.alpha)))


def half_scales(scales, power):
    """The scale at half of the plateau (``half``) of each training set, and ``still``: the noise divided out.

    Args:
        scales: rows at several output scales.
        power: of :math:`N^{-2}` in the scale, by the law in question.
    """
    columns = ["alpha", "star", "predicted"]
    halves = scales.groupby(["seed", "p"])[columns].apply(half_scale).rename("half").reset_index()
    noise = scales.groupby(["seed", "p"]).predicted.first().to_numpy() ** 2 / halves.p
    return halves.assign(still=halves.half * noise**power)


@claim(
    "A.Fig6-scale",
    accept=(-math.inf, -0.2),
    rival=0,
    headline=True,
    figure="fig-a-late",
    at={"d": 5, "alpha": [1e-05, 0.1]},
)
def required_scale(scales=studies.amplification_scaling["scales"], *, interfaces):
    r"""To reach its plateau by $t^*$ the amplification needs $\tau_\perp<t^*$: "Hence the larger the training set size,
    the smaller $\alpha$ needs to be" (stripe, $d=5$).

    exponent in $p$ of the scale at which $\Lambda^*$ is half of the plateau, among those from $10^{-5}$ to 0.1, noise
    divided out (the footnote speaks of one neuron's $\lambda$)

    Rival: one scale is small enough at every $p$
    Source: paper A, footnote 3
    Short: exponent of the required $\alpha$ (paper negative)
    """
    rate, rate_of_lambda = growth_rates(scales, interfaces)
    return drift(growth_of("still"), half_scales(scales, rate / rate_of_lambda)), scales


@claim(
    "A.Fig6-idle",
    accept=(0.9, 1.1),
    stated=1,
    rival=1.79,
    figure="fig-a-late",
    at={"alpha": [0.0001, 0.1], "d": 5, "p": 65536},
)
def idle_exponent(scales=studies.amplification_scaling["scales"]):
    r"""Neurons that have not grown bound the amplification by the scale alone, $1/\Lambda^2=1/\Lambda^{*2}+B\,\alpha$
    (stripe, $d=5$).

    exponent of $1/\Lambda^2-1/\Lambda^{*2}$ in $\alpha$, from $10^{-4}$ to $10^{-1}$ at 65536 points, on training sets
    other than those on which the law was found

    Rival: $\kappa\tau^*$, if all neurons grow and are late
    Source: derived in this chapter; rows of twelve other training sets to 16384 points had shown 1.05 from $10^{-3}$ on
    Short: exponent of $1/\Lambda^2-1/\Lambda^{*2}$ in $\alpha$
    """
    rows = scales[(scales.p == scales.p.max()) & (scales.alpha >= 1e-4)]
    excess = rows.assign(excess=rows.star**-2 - rows.predicted**-2)
    excess = excess.pivot(index="seed", columns="alpha", values="excess")
    if not (excess > 0).all(axis=None):  # few points have no plateau
        return None
    return exponent(excess.columns, excess), rows


# The fit


@claim("A.Fig5-order", accept=(0.5, math.inf), rival=0, figure="fig-a-5", at={"p": 2048})
def exclusion_order(stripe=fitting.exclusion["stripe"], cylinder=fitting.exclusion["cylinder"]):
    """ "The first points to be excluded are the furthest from the interfaces separating distinct labels" (stripe,
    $d=5$, and cylinder).

    rank correlation of a point's distance from the nearest interface with how early it is first fitted ($p=2048$, until
    98 % of the points are); the smaller of the two tasks

    Rival: the order does not depend on the distance
    Source: paper A, Sec. 2.5, fitting regime
    Short: rank correlation of distance and order
    """
    return min(((mean(rows["rank"]), rows) for rows in (stripe, cylinder)), key=lambda one: one[0].value)


@claim("A.Fig5-number", accept=(0.75, math.inf), rival=0, figure="fig-a-5", at={"d": 2})
def number_of_clusters(groups=fitting.clusters["main"]):
    """After $t^*$ "the neurons are still sparsely distributed on the same number of fixed points as in the previous
    regime" (stripe, $d=2$).

    share of the networks whose neurons form as many clusters where 50 % and where 90 % of the points are fitted as at
    $t^*$

    Rival: one cluster for each interface, two in place of three
    Source: paper A, Sec. 3.2.1, fitting regime
    Short: networks with as many clusters as before
    """
    counts = groups.pivot(index="seed", columns="share", values="count")
    return proportion(counts[[0.5, 0.9]].eq(counts.iloc[:, 0], axis=0).all(axis=1))


@claim("A.Fig5-moved", accept=(0.1, math.inf), rival=0, part_of="A.Fig5-number", figure="fig-a-5", at={"d": 2})
def rotation_of_the_planes(groups=fitting.clusters["main"]):
    r""" "The location of the fixed points is however changing to fit the stripe" (stripe, $d=2$).

    mean angle by which the neurons' planes have moved in the plane of $\omega_1$ and $\sqrt d\,b$, from $t^*$ to where
    half of the points are fitted

    Rival: neurons stay where they are at $t^*$
    Source: paper A, Sec. 3.2.1, fitting regime
    Short: mean rotation of the neurons' planes
    """
    halfway = groups[groups.share == 0.5]
    return mean(halfway.moved), halfway
