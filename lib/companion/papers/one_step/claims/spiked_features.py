"""Claims of chapter 7 on spiked random features: Results 3.1 to 3.3, bounds, spectrum, losses, readout values."""

import math

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from companion.book.claims import again, claim
from companion.estimates import exponent, jackknife, least, mean, ratio
from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import (
    bounds,
    convex_theory,
    measure,
    readout_values,
    ridge_theory,
    row_covariance,
    spectrum,
)
from companion.papers.one_step.theory.conditional_map import channel, equivalent
from companion.papers.one_step.theory.functions import function

CHAPTER = "07"
SHARE, DEGREE = 0.25, 3  # of the target's part of that degree: what the thresholds ask for


def largest_size(table):
    """The rows of the largest dimension."""
    return table[table["d"] == table["d"].max()]


def furthest_mean(distances):
    """How far from 0 the furthest of several means lies, one column each; scatter pushes it outwards."""
    return -least(np.hstack([distances, -distances]))


def furthest_from_one(table, column, *keys):
    """How far from 1 the furthest of several means lies, one for each value of the keys."""
    means = table.groupby(["seed", *keys])[column].mean().unstack(list(keys))
    return furthest_mean(means.to_numpy() - 1)


def smallest_drop(table, key):
    """The smallest drop of the test error from one value of the key to the next."""
    errors = table.pivot(index="seed", columns=key, values="test_error").to_numpy()
    return least(-np.diff(errors, axis=1))


@claim("E.Res1-r", accept=(-math.inf, 0.04), rival=0.184, figure="tab-e-checked", given={"name": "r"})
@again(
    "E.Res1-gamma",
    rival=(0.225, "the step of infinitely many samples, perfect alignment"),
    given={"name": "gamma"},
    statement=("A trained network's spike, measured on the rows of its weights, has the alignment of the formula."),
    short="alignment of trained networks",
)
@again(
    "E.Res1-c",
    rival=(0.163, "a step that leaves the bulk alone, $c=1$"),
    given={"name": "c"},
    statement="The bulk of a trained network has the variance of the formula.",
    short="bulk variance of trained networks",
)
def spike_of_trained_networks(networks=studies.parameters["main"], *, name):
    r"""A trained network's spike, measured on the rows of its weights, has the strength of the formula.

    Relative distance, the furthest of four targets.

    Rival: the step of infinitely many samples, $r=\tilde\eta h_1h_1^\star$
    Source: paper E, Result 3.1, Eqs. 9-12
    Short: spike strength of trained networks
    """
    rows = largest_size(networks)
    return furthest_from_one(rows, f"{name}_ratio", "target"), rows


@claim("E.Res2-gaussian", accept=(-0.03, 0.03), stated=0, rival=-0.32, figure="tab-e-checked")
def difference_of_gaussian_features(features=studies.gaussian_map["main"]):
    """Ridge on the true features and on the conditional Gaussian ones has the same test error.

    Relative difference.

    Rival: the Gaussian map of plain random features, without the projection on the spike
    Source: paper E, Result 3.2
    Short: true against conditional Gaussian features
    """
    rows = largest_size(features).assign(difference=lambda x: x["true"] / x["gaussian"] - 1)
    return mean(rows.groupby("seed")["difference"].mean()), rows


def with_theory_of_cases(cases):
    """Rows of the twelve settings with what theory predicts, and the test error over it."""
    rows = cases.join(measure.predicted(cases).add_suffix("_theory"))
    return rows.assign(ratio=rows["test_error"] / rows["test_error_theory"])


@claim("E.Res3-mean", accept=(0.98, 1.02), stated=1, rival=1.68, headline=True, figure="fig-e-res3")
def features_over_theory(cases=studies.agreement["main"]):
    """Simulated spiked features have the test error of the theory.

    Simulation over theory, mean over 12 settings of activation, target, samples for the step, step size, samples for
    the readout, width and penalty, extrapolated to infinite dimension in $1/d$.

    Rival: features without the spike, theory at $r=0$
    Source: paper E, Result 3.3
    Short: simulated spiked features over theory
    """
    rows = with_theory_of_cases(cases)
    limits = measure.limits(rows, "ratio", ["case"], blocks=measure.block_count(rows, ["case"]))
    return mean(limits.to_numpy().ravel())


def _overlap_slope(cases, name):
    """The slope of a measured overlap against theory over the settings, in the limit; ``(blocks)``."""
    rows = with_theory_of_cases(cases)
    theory = rows[f"{name}_theory"]
    variance = _scatter_of_overlap(rows, name)
    scale = (theory**2 / variance).groupby(rows["case"]).first().mean()
    products = rows.assign(product=rows[name] * theory / variance / scale)
    products["product"] = measure.controlled(products, "product", "ratio", ["case", "d"])
    limits = measure.limits(products, "product", ["case"], blocks=measure.block_count(rows, ["case"]))
    return limits.mean(axis=1).to_numpy()


def _scatter_of_overlap(rows, name):
    """What the variance of a measured overlap is in proportion to, by which the settings are weighted."""
    if name == "m":
        return 1.0
    if name in ("q1", "q2"):
        return rows[f"{name}_theory"] ** 2
    return rows["q1_theory"]


@claim("E.Res3-overlaps", accept=(-math.inf, 0.03), rival=1, figure="tab-e-checked")
def overlaps_against_theory(cases=studies.agreement["main"]):
    r"""The measured overlaps $m$, $\psi$, $q_1$, $q_2$ are those of the theory.

    Slope against theory over 12 settings, extrapolated to infinite dimension in $1/d$ with the test error as control;
    distance from 1, the furthest of four.

    Rival: the overlap m of plain random features, which vanishes
    Source: paper E, Result 3.3, Eq. 17
    Short: overlaps $m$, $\psi$, $q_1$, $q_2$ against theory
    """
    slopes = [_overlap_slope(cases, name) for name in ("m", "psi", "q1", "q2")]
    return furthest_mean(np.stack(slopes, axis=1) - 1)


@claim("E.Res3-zeta", accept=(0.9, 1.1), stated=1, rival=0, figure="tab-e-checked")
def zeta_against_theory(cases=studies.agreement["main"]):
    r"""The measured overlap $\zeta$, the smallest of the five, is that of the theory.

    Slope against theory over 12 settings, extrapolated to infinite dimension in $1/d$ with the test error as control.

    Rival: the solver of the authors' stored values, where $\zeta$ stays at 0
    Source: paper E, Result 3.3, Eq. 17
    Short: overlap $\zeta$ against theory
    """
    return mean(_overlap_slope(cases, "zeta"))


@claim("E.Fig4-theory", accept=(-math.inf, 0.05), rival=3.08, figure="fig-e-4")
def spikes_over_theory(strengths=studies.spikes["strengths"], alignments=studies.spikes["alignments"]):
    """Simulated spiked features have the test error of the theory at every strength and alignment.

    Each curve's mean over its points at the larger size; distance from 1, the furthest of all strengths and alignments.

    Rival: random features without a spike, theory
    Source: paper E, Sec. 4.1, Fig. 4
    Short: simulation over theory, all spikes
    """
    rows = largest_size(pd.concat([strengths, alignments], ignore_index=True))
    rows = rows.assign(ratio=rows["test_error"] / measure.predicted(rows)["test_error"])
    return furthest_from_one(rows, "ratio", "panel", "r", "gamma"), rows


@claim(
    "E.Fig4-strength",
    accept=(0.005, math.inf),
    rival=0,
    figure="fig-e-4",
    given={"spikes": studies.spikes["strengths"], "name": "r"},
)
@again(
    "E.Fig4-alignment",
    rival=(0, "the alignment does not matter, as at $r=0$"),
    given={"spikes": studies.spikes["alignments"], "name": "gamma"},
    statement="The test error falls with the alignment.",
    measure=r"Smallest drop between successive $\gamma$ at the largest $\alpha$.",
    short="better alignment, lower error",
)
def drop_with_the_spike(spikes, *, name):
    r"""The test error falls with the spike strength.

    Smallest drop between successive $r$ at the largest $\alpha$.

    Rival: the strength does not matter
    Source: paper E, Sec. 4.1, Fig. 4
    Short: stronger spike, lower error
    """
    rows = largest_size(spikes).query("alpha == alpha.max()")
    return smallest_drop(rows, name), rows


@claim("E.Fig4-small", accept=(0, 0.8), rival=1, figure="fig-e-4")
def gain_of_a_weak_spike(strengths=studies.spikes["strengths"]):
    r"""Even rather small spike strengths already yield test errors sizably lower than those of random features.

    Test error at $r=\frac12$ over that at $r=0$ at the largest $\alpha$, geometric mean.

    Rival: a weak spike does not help
    Source: paper E, Sec. 4.1
    Short: error at strength 1/2 over none
    """
    rows = largest_size(strengths).query("alpha == alpha.max()")
    errors = rows.pivot(index="seed", columns="r", values="test_error")
    return ratio((errors[0.5] / errors[0.0]).to_numpy()), rows


def readout_values_curve(row, alphas, width):
    """Test error and norm q2 by theory with readout values in equal shares, independent or orthogonal rows: (2, n)."""
    common = {name: row[name] for name in ("activation", "target", "lam", "r", "c", "values")}
    common |= dict(beta=1.0, orthogonal=row["rows"] == "orthogonal")
    solutions = [readout_values.solve_readout_values(**common, alpha=alpha, width=width) for alpha in alphas]
    return np.array([[solution.test_error, solution.q2.sum()] for solution in solutions]).T


@claim("E.Fig6-agreement", accept=(0.97, 1.03), stated=1, rival=1.98, figure="tab-e-checked")
def three_values_over_theory(features=studies.readout_vocabulary["letters"]):
    r"""The theory of several readout values agrees with simulations, if it keeps what overlaps cost at finite width.

    Simulation over theory with the finite-width rule, mean over points and the two larger sizes; readout values $-1$,
    $\frac12$ and 2, target sine, strength 2, independent and orthogonal rows.

    Rival: the theory of the limit $p\to\infty$
    Source: paper E, App. D, Fig. 6
    Short: three readout values: simulation over theory
    """
    rows = features[features["d"] > features["d"].min()]
    alphas = features.iloc[0]["alphas"]
    theory = {}
    for (width, kind), part in rows.groupby(["d", "rows"]):
        errors, _ = readout_values_curve(part.iloc[0], alphas, width)
        theory |= {(width, kind, alpha): error for alpha, error in zip(alphas, errors)}
    expected = np.array([theory[key] for key in zip(rows["d"], rows["rows"], rows["alpha"])])
    ratios = rows.assign(ratio=rows["test_error"] / expected).groupby(["d", "seed"])["ratio"].mean()
    return mean(ratios), rows


def two_values_over_one(rows):
    """Test error with two values over that with one value of the readout, on the same data."""
    pair = rows.pivot(index="seed", columns="kind", values="test_error")[["varied", "uniform"]].to_numpy()
    return jackknife(pair, lambda x: x[:, 0].mean() / x[:, 1].mean())


def gain_by_width(rows):
    """The widths, :func:`two_values_over_one` at each, and how far its interval reaches below and above."""
    ratios = {d: two_values_over_one(of_width) for d, of_width in rows.groupby("d")}
    value = np.array([ratio.value for ratio in ratios.values()])
    low = np.array([ratio.low for ratio in ratios.values()])
    high = np.array([ratio.high for ratio in ratios.values()])
    return np.array([*ratios]), value, [value - low, high - value]


def density_of_features(activation, r, alpha, top):
    """The eigenvalues' density by theory: where it is taken, and its values."""
    x = np.geomspace(1e-4, 1.3 * top, 1200)
    return x, spectrum.density(activation, x, alpha=alpha, beta=1.0, r=r, height=1e-4)


def _densities(spectra, activation):
    """The density of each strength."""
    return {
        r: density_of_features(activation, r, rows["alpha"].iloc[0], rows["bulk"].map(max).max())
        for r, rows in spectra.groupby("r")
    }


def _kolmogorov_distance(eigenvalues, x, density):
    """Kolmogorov's distance between the eigenvalues of one seed and a density."""
    mass = np.concatenate([[0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)])
    return np.abs(np.searchsorted(np.sort(eigenvalues), x) / len(eigenvalues) - mass).max()


@claim("E.Fig8-density", accept=(0, 0.02), rival=0.14, figure="tab-e-checked", at={"r": [0.7, 1.5]})
def distance_from_the_density(spectra=studies.spectra["main"], *, activation):
    """The eigenvalues of one feature covariance follow the predicted density.

    Kolmogorov's distance, mean, the larger of the strengths 0.7 and 1.5.

    Rival: the density of plain random features
    Source: paper E, App. F, Fig. 8
    Short: eigenvalues against the predicted density
    """
    rows = largest_size(spectra)
    densities = _densities(rows, activation)
    distances = [_kolmogorov_distance(bulk, *densities[r]) for bulk, r in zip(rows["bulk"], rows["r"])]
    table = rows.assign(distance=distances).pivot(index="seed", columns="r", values="distance")
    return -least(-table.to_numpy()), rows


@claim("E.Fig8-outlier", accept=(-math.inf, 0.01), rival=0.0225, figure="tab-e-checked")
def isolated_eigenvalue(spectra=studies.spectra["main"], *, activation):
    """The isolated eigenvalue over that of the population covariance tends to 1.

    Limit in $1/d$; distance from 1, the larger of two strengths.

    Rival: the root of the finite-width determinant at $p=200$, if it did not fall with $p$
    Elsewhere: at $d=400$ alone 0.012
    Source: paper E, App. F, Eq. 191
    Short: isolated eigenvalue against the population's
    """
    population = {}
    squares = {}
    for r, rows in spectra.groupby("r"):
        e = channel(function(activation), function("identity"), r=r, c=1.0, gamma=1.0)
        alpha = rows["alpha"].iloc[0]
        population[r] = alpha * float(e.mean(e.kappa0**2)[0])
        squares[r] = alpha * float(e.mean(e.kappa0**2 + e.kappa1**2 + e.kappa2)[0])
    pulls = spectra.assign(pull=spectra["top"] / spectra["d"] / spectra["r"].map(population))
    pulls["control"] = (pulls["top"] + pulls["bulk"].map(sum)) / pulls["d"] / pulls["r"].map(squares)
    pulls["pull"] = measure.controlled(pulls, "pull", "control", ["r", "d"])
    limits = measure.limits(pulls, "pull", ["r"], blocks=measure.block_count(pulls, ["r"]))
    return furthest_mean(limits.to_numpy() - 1)


@claim("E.Fig8-single", accept=(-math.inf, 0.05), rival=0.65, figure="tab-e-checked")
def second_eigenvalue(spectra=studies.spectra["main"], *, activation):
    """Only a single eigenvalue lies outside the bulk.

    Relative distance, the larger of two strengths.

    Rival: the bulk's edge for plain random features
    Source: paper E, App. F
    Short: second eigenvalue at the bulk's edge
    """
    rows = largest_size(spectra)
    edges = {r: x[density > 0.01].max() for r, (x, density) in _densities(rows, activation).items()}
    rows = rows.assign(edge=rows["second"] / rows["r"].map(edges))
    return furthest_from_one(rows, "edge", "r"), rows


def _lower_bound(row, activation, target, bias):
    """The bound that holds for every penalty, at a uniform bias and the spike of a row."""
    return bounds.bounds(activation, target, r=row["r"], c=row["c"], bias=bias).lower


@claim("E.Bounds-27", accept=(0, math.inf), rival=-0.00085, figure="tab-e-checked")
def error_less_its_bound(features=studies.losses["biased"], *, activation, loss_bias_target):
    """Simulated spiked features at perfect alignment do no better than bound (27).

    Test error less bound, the smallest of five biases.

    Rival: an error of 0 at the bias with the lowest bound
    Elsewhere: at one bias alone 0.280 (-0.5), 0.142 (0), 0.194 (0.5), 0.090 (1)
    Source: paper E, Eqs. 27, 132
    Short: error less bound (27)
    """
    rows = largest_size(features)
    errors = rows.pivot(index="seed", columns="bias", values="test_error")
    lower = [_lower_bound(features.iloc[0], activation, loss_bias_target, bias) for bias in errors.columns]
    return least(errors.to_numpy() - lower), rows


@claim(
    "E.Loss-logistic",
    accept=(0.95, 1.05),
    rival=0.2,
    figure="tab-e-checked",
    given={"features": studies.losses["logistic"]},
    at={"loss": "logistic"},
)
@again(
    "E.Loss-hinge",
    rival=(2.6, "the logistic loss, theory"),
    given={"features": studies.losses["hinge"]},
    at={"loss": "hinge"},
    statement="With the hinge loss the squared error is that of the theory.",
    short="hinge loss, squared error",
)
def convex_loss_over_theory(features):
    """With the logistic loss the squared error is that of the theory.

    Simulation over theory at the largest size.

    Rival: the square loss, theory
    Source: paper E, App. C.5
    Short: logistic loss, squared error
    """
    rows = largest_size(features)
    row = rows.iloc[0]
    loss = {"logistic": convex_theory.logistic, "hinge": convex_theory.hinge}[row["loss"]]()
    numbers = {name: row[name] for name in ("alpha", "beta", "lam", "r", "c", "gamma")}
    theory = convex_theory.solve_loss(row["activation"], row["target"], loss, width=row["d"], **numbers)
    return mean(rows["test_error"] / theory.test_error), rows


@claim("E.Loss-noisy", accept=(0.97, 1.03), stated=1, rival=0.643, figure="tab-e-checked", at={"noise": 0.25})
def noisy_target_over_theory(features=studies.losses["noisy"]):
    """With noisy labels the error against the clean target is that of the theory.

    Simulation over theory with the finite-width rule at the largest size; noise of variance 1/4, target sine.

    Rival: labels without noise, theory
    Source: paper E, App. C.8, noisy target
    Short: noisy target, squared error
    """
    rows = largest_size(features)
    row = rows.iloc[0]
    names = ("activation", "target", "alpha", "beta", "lam", "r", "c", "gamma", "noise")
    theory = ridge_theory.solve(**{name: row[name] for name in names}, width=row["d"])
    return mean(rows["test_error"] / float(theory.test_error)), rows


@claim("E.Loss-bias", accept=(-0.1, 0.1), stated=0, rival=-0.94, figure="tab-e-checked")
def trained_bias_less_theory(features=studies.biases["main"]):
    r"""The uniform bias that training chooses is where the theory's objective is smallest.

    Bias less that of theory, mean at the largest size; target $\tanh(x+1)$, whose own shift is 1.

    Rival: the shift of the target
    Source: paper E, App. C.8, around Eq. 132
    Short: trained bias less that of theory
    """
    rows = largest_size(features)
    row = rows.iloc[0]
    names = ("activation", "target", "alpha", "beta", "lam", "r", "c", "gamma")
    grid = np.linspace(0, 4, 401)
    theory = ridge_theory.solve(**{name: row[name] for name in names}, bias=grid, width=row["d"])
    objective = theory.train_error + row["lam"] * row["beta"] / row["alpha"] * theory.q2
    return mean(rows["bias"] - grid[objective.argmin()]), rows


@claim("E.Net-norms", kind="beyond", accept=(0.8, 1.2), stated=1, rival=0.5, erratum="e-norms", figure="tab-e-checked")
def effect_of_gaussian_rows(features=studies.norms["main"]):
    """Gaussian rows in place of rows of equal norm change the error as fluctuating norms predict.

    Relative change of the error over the one that fluctuating norms predict.

    Rival: norms of half the variance; 0, the paper's expectation, by which rows' norms do not matter
    Source: paper E, App. C.4, around Eq. 117
    Short: Gaussian rows: change over prediction
    """
    rows = largest_size(features)
    setting = features.iloc[0]
    spike = vars(equivalent(setting["activation"], setting["target"], alpha0=setting["alpha0"], step=setting["step"]))
    common = {name: setting[name] for name in ("activation", "target", "alpha", "beta", "lam")} | spike
    equal_norms = row_covariance.predict_features(**common, spread=0.0).test_error
    gaussian_norms = row_covariance.predict_features(**common, spread=2 * spike["c"] ** 2).test_error
    predicted_change = gaussian_norms / equal_norms - 1
    pair = rows.pivot(index="seed", columns="rows", values="test_error")[["sphere", "gauss"]].to_numpy()
    change = jackknife(pair, lambda x: (x[:, 1].mean() / x[:, 0].mean() - 1) / predicted_change)
    return change, rows


def learned_third_degree(row, activation, r, p, **changed):
    """Share of the third degree that spiked features learn at a row's setting, by the finite-width rule."""
    setting = {name: row[name] for name in ("alpha", "lam", "values")} | {"beta": 1.0}
    return readout_values.learned_share(activation, row["target"], DEGREE, r=float(r), width=p, **setting | changed)


def strength_by_the_rule(row, activation, p):
    """The strength at which the share is learned by the rule, searched from the weak spike's law up."""
    low = 0.9 * weak_spike_threshold(row, activation, p)

    def excess(log_r):
        return learned_third_degree(row, activation, np.exp(log_r), p) - SHARE

    return np.exp(brentq(excess, np.log(low), np.log(2 * low)))


def weak_spike_threshold(row, activation, p):
    """The strength at which the share is learned by the power law of weak spikes."""
    setting = {name: row[name] for name in ("alpha", "lam", "values")} | {"beta": 1.0}
    return readout_values.threshold(activation, DEGREE, width=p, share=SHARE, **setting)


def error_of_growing_step(row, p):
    """Test error of the finite-width rule for a network of width p whose step grows from a row's as p^exponent."""
    unit = equivalent(row["activation"], row["target"], alpha0=row["alpha0"], step=1.0)
    strength = row["r"] * (p / row["d"]) ** (row["exponent"] - 1)
    bulk = 1 + (strength / unit.r) ** 2 * (unit.c - 1)
    setting = {name: row[name] for name in ("activation", "target", "alpha", "lam", "values")} | {"beta": 1.0}
    return readout_values.solve_readout_values(**setting, r=strength, c=bulk, gamma=unit.gamma, width=p).test_error


def _crossing(strengths, shares):
    """The strength at which a line through shares against its logarithm meets the share asked for."""
    slope, start = np.polyfit(np.log(strengths), shares, 1)
    return np.exp((SHARE - start) / slope)


def measured_strengths(features):
    """The sizes, and the strength that learns the share at each: one row per group of seeds."""
    blocks = measure.block_count(features, ["r"])
    sizes = sorted(features["d"].unique())
    means = features.assign(block=features["seed"] % blocks).groupby(["block", "d", "r"])["share"].mean()
    strengths = np.zeros((blocks, len(sizes)))
    for column, d in enumerate(sizes):
        table = means.xs(d, level="d").unstack("r")
        strengths[:, column] = [_crossing(table.columns, shares) for shares in table.to_numpy()]
    return sizes, strengths


@claim("E.Scale-exponent", accept=(-0.36, -0.24), rival=0, figure="fig-e-two-values", at={"d": [100, 1600]})
def exponent_of_the_threshold(features=studies.third_degree_share["features"]):
    r"""The strength at which a quarter of the third degree is learned falls with the width.

    Exponent in $p$ over all sizes; $-0.30$ by the rule from $p=100$ to 1600, on its way to $-\frac16$.

    Rival: a strength of order one is needed, as with one readout value
    Source: derived from paper E, App. D
    Short: exponent in $p$ of that strength
    """
    sizes, strengths = measured_strengths(features)
    return exponent(np.array(sizes, float), strengths)


@claim("E.Scale-networks", accept=(0.3, 0.65), rival=-0.044, figure="fig-e-two-values", at={"d": 800})
def third_degree_of_networks(networks=studies.third_degree_share["networks"]):
    """Networks with two readout values learn the third degree of the target when their step grows like $p^{5/6}$.

    Share of its coefficient that is learned, at the largest size.

    Rival: one readout value, theory
    Source: derived from paper E, App. D
    Short: share of the third degree, networks
    """
    rows = largest_size(networks[networks["exponent"] > 0.6])
    return mean(rows["share"]), rows
