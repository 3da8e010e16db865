"""Claims of chapter 7 on a step and a readout that share their samples, bounds of networks, and readout values."""

import functools
import itertools
import math

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import Estimate, jackknife, least, mean, ratio
from companion.lab.parameters import PROFILES
from companion.papers.one_step.claims.spiked_features import largest_size, two_values_over_one
from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import bounds, measure, reused_samples

CHAPTER = "07"
LARGEST_ALPHA = 8  # samples over dimension up to which the price is judged
DOZEN = 12  # networks of a size that a crossing is read off
STRENGTHS = (0.5, 1.0, 1.5, 2.0, 3.0)  # of the spikes at which bounds are compared


def errors_of_sharing(rows):
    """Test errors of the largest size: one row per seed; columns by samples over dimension and how they are shared."""
    largest = largest_size(rows)
    return largest.pivot(index="seed", columns=["alpha", "samples"], values="test_error").dropna()


def _nearest(rows, samples):
    """The rows whose number of samples is nearest."""
    alphas = rows["alpha"].unique()
    nearest = np.abs(np.log(alphas / samples)).argmin()
    return rows[rows["alpha"] == alphas[nearest]]


@claim("E.Reuse-linear", accept=(-math.inf, 0.98), rival=1.074, headline=True, figure="fig-e-reuse", at={"alpha": 4})
def reused_over_linear(rows=studies.reuse["shared"]):
    """If the readout is trained on the samples of the step, the network has a smaller test error than the best linear
    ridge regression on the same samples.

    Ratio of test errors at the largest dimension, target sign, as many neurons as dimensions. The network has the step
    and the penalty that are best by theory, the linear regression on each data set the penalty with the smallest test
    error.

    Rival: samples split between step and readout at the best share, step and penalty, theory of spiked features
    Source: derived from paper E, Results 3.1 and 3.3
    Short: samples used twice: network over linear, $4d$
    """
    nearest = _nearest(largest_size(rows[rows["samples"] == "same"]), 4)
    pair = nearest[["test_error", "linear"]].to_numpy()
    return jackknife(pair, lambda x: x[:, 0].mean() / x[:, 1].mean()), nearest


@claim("E.Reuse-kernels", accept=(-math.inf, 0.99), rival=1.074, figure="fig-e-kernels", at={"alpha": 4})
def reused_over_kernels(rows=studies.reuse["kernels"]):
    """On the same samples it also has a smaller test error than the better of its own two kernels.

    Ratio of test errors at the largest dimension, target sign; each kernel has on each data set the penalty with the
    smallest test error.

    Rival: samples split between step and readout at the best share, step and penalty, theory of spiked features
    Source: derived from paper E, Sec. 4.2
    Short: samples used twice: network over better kernel
    """
    nearest = _nearest(largest_size(rows), 4)
    errors = nearest[["test_error", "conjugate", "tangent"]].to_numpy()
    return jackknife(errors, lambda x: x[:, 0].mean() / x[:, 1:].mean(0).min()), nearest


def _crossing(ratios, alphas):
    """Where mean ratios first fall to 1, between the numbers of samples on logarithmic axes."""
    log_ratio = np.log(ratios)
    log_alpha = np.log(alphas)
    below = np.flatnonzero(log_ratio <= 0)
    if not len(below):
        return math.inf
    first = below[0]
    if first == 0:
        return float(alphas[0])
    share = log_ratio[first - 1] / (log_ratio[first - 1] - log_ratio[first])
    return float(np.exp(log_alpha[first - 1] + share * (log_alpha[first] - log_alpha[first - 1])))


@claim(
    "E.Reuse-crossing",
    accept=(0, 4),
    rival=5.6,
    figure="fig-e-reuse",
    given={"samples": "same"},
    at={"alpha": [2, 3, 4, 6, 8]},
)
@again(
    "E.Reuse-crossing-split",
    accept=(5, 8),
    rival=(4, "as many as where they are used twice, at most"),
    given={"samples": "split"},
    statement="With split samples the network takes more of them to pass the best linear ridge regression.",
    short="split: samples from which the network leads",
)
def samples_from_which_the_network_leads(rows=studies.reuse["shared"], *, samples):
    """The number of samples over the dimension from which the network has a smaller test error than the best linear
    ridge regression.

    Where the ratio of mean test errors falls to 1, interpolated on logarithmic axes; target sign, the largest dimension
    with a dozen networks.

    Rival: samples split between step and readout at the best share, step and penalty, theory of spiked features
    Source: derived from paper E, Results 3.1 and 3.3
    Short: used twice: samples from which it leads
    """
    rows = rows[rows["samples"] == samples]
    networks = rows.groupby("d")["seed"].nunique()
    largest = rows[rows["d"] == networks.index[networks >= min(DOZEN, networks.max())].max()]
    table = largest.pivot(index="seed", columns="alpha", values=["test_error", "linear"]).dropna()
    pairs = np.stack([table["test_error"].to_numpy(), table["linear"].to_numpy()], axis=1)
    alphas = table["linear"].columns.to_numpy(float)
    return jackknife(pairs, lambda x: _crossing(x[:, 0].mean(0) / x[:, 1].mean(0), alphas)), largest


def prices(rows, samples):
    """The test error over that with as many fresh samples in the readout, by seed and samples, to ``LARGEST_ALPHA``."""
    errors = errors_of_sharing(rows)
    alphas = sorted(alpha for alpha in rows["alpha"].unique() if 2 <= alpha <= LARGEST_ALPHA)
    return pd.DataFrame({alpha: errors[alpha, samples] / errors[alpha, "fresh"] for alpha in alphas})


@claim("E.Reuse-price", accept=(-math.inf, 0.1), rival=0.18, figure="fig-e-reuse", at={"alpha": [2, 3, 4, 6, 8]})
def price_of_reuse(rows=studies.reuse["shared"]):
    """If the samples of the step serve the readout again, the error is less than a tenth larger than with fresh ones.

    Test error over that with as many fresh samples in the readout, less 1; the largest of $2d$ to $8d$ samples, each
    network at its best step and penalty by theory, largest dimension, target sign.

    Rival: the split, theory of spiked features on $2d$ samples
    Source: derived from paper E, Results 3.1 and 3.3
    Short: excess error, samples used twice
    """
    return -least(1 - prices(rows, "same").to_numpy()), largest_size(rows)


@claim("E.Reuse-split", accept=(0.12, math.inf), rival=0.02, figure="fig-e-reuse", at={"alpha": [2, 3, 4, 6, 8]})
def price_of_the_split(rows=studies.reuse["shared"]):
    """The excess error of splitting the samples between step and readout is larger.

    Test error over that with all samples in the step and as many fresh ones in the readout, less 1; the smallest of
    $2d$ to $8d$ samples, nine tenths of the split in the step, each network at its best step and penalty by theory.

    Rival: the leak of the labels, by theory on $2d$ samples
    Source: derived from paper E, Results 3.1 and 3.3
    Short: excess error, samples split
    """
    return least(prices(rows, "split").to_numpy() - 1), largest_size(rows)


@claim(
    "E.Reuse-falls",
    accept=(-math.inf, -0.02),
    rival=0,
    figure="fig-e-reuse",
    given={"samples": "same"},
    at={"alpha": [2, 8]},
)
@again(
    "E.Reuse-split-rises",
    accept=(0.02, math.inf),
    given={"samples": "split"},
    statement="The excess error of the split rises with the number of samples.",
    short="split: excess at $8d$ less $2d$",
)
def change_of_the_excess(rows=studies.reuse["shared"], *, samples):
    """The excess error of samples used twice falls with their number.

    Test error over that with as many fresh samples in the readout, at $8d$ samples less that at $2d$; largest
    dimension, target sign, each network at its best step and penalty by theory.

    Rival: an excess in proportion to the error
    Source: derived from paper E, Results 3.1 and 3.3
    Short: used twice: excess at $8d$ less $2d$
    """
    ratios = prices(rows, samples)
    return mean(ratios[ratios.columns.max()] - ratios[ratios.columns.min()]), largest_size(rows)


@functools.lru_cache(maxsize=64)
def error_of_reuse(activation, target, alpha, step, lam, leak=1.0, spent=True):
    """Theory's test error of a network that uses its samples twice, in the limit, as many neurons as dimensions.

    Without ``spent`` its spike is that of other samples; without ``leak`` too, so are the samples of the readout.
    """
    setting = {"alpha": alpha, "step": step, "beta": 1.0, "lam": lam}
    return float(reused_samples.predict_reuse(activation, target, **setting, leak=leak, spent=spent).test_error)


@claim(
    "E.Reuse-theory",
    accept=(0.97, 1.03),
    rival=1.063,
    headline=True,
    figure="fig-e-reuse",
    given={"rows": studies.reuse["shared"], "samples": "same"},
)
@again(
    "E.Reuse-theory-fresh",
    rival=(1.05, "as far above theory as samples used twice are above the theory with the spike of others"),
    headline=False,
    given={"rows": studies.reuse["shared"], "samples": "fresh"},
    statement=("With fresh samples for the readout networks have the errors of spiked features at their best step."),
    measure=(
        "Ratio of test errors, mean over $2d$ to $8d$ samples, extrapolated to infinite dimension in "
        "$1/d$; target sign."
    ),
    short="fresh samples: network over theory",
)
@again(
    "E.Reuse-swap",
    rival=(1.069, "all else than the spike, such as the bulk's noise: the excess stays"),
    headline=False,
    given={"rows": studies.reuse["spike"], "samples": "swapped"},
    statement=(
        "Networks that use their samples twice, with their spike alone swapped for that of other samples, have the "
        "error of the leak alone."
    ),
    measure=(
        "Test error over that of the theory with the spike of other samples, mean over $2d$ to $8d$ samples, "
        "extrapolated to infinite dimension in $1/d$; target sign. Bulk, leak and each sample's own part of the spike "
        "stay."
    ),
    short="spike swapped: network over theory of the leak",
)
def network_over_theory(rows, *, samples):
    """Networks that use their samples twice have the error of a theory in which two things are left of the second use:
    the label leaks into its own feature, and the spike has spent the samples' correlation.

    Ratio of test errors at the best step and penalty, mean over $2d$ to $8d$ samples, extrapolated to infinite
    dimension in $1/d$; target sign.

    Rival: the leak is all that the second use adds, the theory with the spike of other samples
    Source: derived from paper E, Result 3.3
    Short: samples used twice: network over theory
    """
    column = "swapped" if samples == "swapped" else "test_error"
    rows = rows[rows["samples"] == ("same" if samples == "swapped" else samples)]
    rows = rows[(rows["alpha"] >= 2) & (rows["alpha"] <= LARGEST_ALPHA)]
    settings = rows[["activation", "target", "alpha", "step", "lam"]].itertuples(index=False, name=None)
    theory = [error_of_reuse(*setting, float(samples != "fresh"), samples == "same") for setting in settings]
    means = rows.assign(ratio=rows[column] / theory).groupby(["d", "seed"], as_index=False)["ratio"].mean()
    limits = measure.limits(means.assign(kind=samples), "ratio", ["kind"], blocks=measure.block_count(means, []))
    return mean(limits.to_numpy().ravel()), rows


@claim("E.Reuse-given", accept=(0.98, 1.02), rival=1.07, figure="fig-e-reuse")
def network_over_theory_given_the_samples(rows=studies.reuse["spike"]):
    """A theory given the samples, with the bulk's noise from these samples and its rows' norms, has the error of each
    network that uses them twice.

    Ratio of test errors at the largest dimension, geometric mean over $2d$ to $8d$ samples; target sign.

    Rival: the same theory with the spike of other samples
    Source: derived from paper E, Eqs. 1-5
    Short: network over theory given the samples
    """
    rows = largest_size(rows)
    logarithms = np.log(rows["test_error"] / rows["given"]).groupby(rows["seed"]).mean()
    return ratio(np.exp(logarithms).to_numpy()), rows


def theory_of_sharing(rows):
    """Theory's test error by samples over dimension: samples used twice, the same with the spike of others, a split."""
    names = ["activation", "target", "alpha", "step", "lam"]
    errors = {}
    for row in rows.drop_duplicates("alpha").sort_values("alpha").to_dict("records"):
        if row["name"] in ("same", "swapped"):
            errors[row["alpha"]] = error_of_reuse(*(row[name] for name in names), spent=row["name"] == "same")
        else:
            split = {"alpha0": row["share"] * row["alpha"], "alpha": (1 - row["share"]) * row["alpha"], "beta": 1.0}
            errors[row["alpha"]] = float(measure.theory(row, **split).test_error)
    return pd.Series(errors)


def error_with_fresh_samples(rows):
    """Theory's test error by samples over dimension, of networks with as many fresh samples for the readout."""
    settings = rows[rows["samples"] == "fresh"].drop_duplicates("alpha").sort_values("alpha")
    names = ["activation", "target", "alpha", "step", "lam"]
    return pd.Series(
        {row["alpha"]: error_of_reuse(*(row[n] for n in names), 0.0, False) for _, row in settings.iterrows()}
    )


def excess_by_theory(rows, alpha, spent=True):
    """By theory the excess error of samples used twice over fresh ones in the readout, each at its best; at one number.

    Without ``spent`` that of the leak alone.
    """
    errors = {}
    for samples in ("same", "fresh"):
        row = rows[(rows["samples"] == samples) & (rows["alpha"] == alpha)].iloc[0]
        setting = [row[name] for name in ("activation", "target", "alpha", "step", "lam")]
        errors[samples] = error_of_reuse(*setting, float(samples == "same"), spent and samples == "same")
    return errors["same"] / errors["fresh"] - 1


def largest_distance_of_bounds(activation):
    """How far the network's lower bound lies from (27), relative: the furthest of three targets and five strengths."""
    distances = [
        bounds.network_bound(activation, target, r=r) / bounds.bounds(activation, target, r=r).lower - 1
        for target, r in itertools.product(("sign", "sin", "He1+He3"), STRENGTHS)
    ]
    return max(map(abs, distances))


@claim("E.Fig6-best", accept=(0, 0.75), rival=1, headline=True, figure="fig-e-two-values", at={"d": 400})
def gain_of_two_values_at_their_best(
    two_values=studies.third_degree_share["two"], one_value=studies.third_degree_share["one"]
):
    """A readout of two values lets spiked features express more, each at its own best strength and penalty.

    Test error over that of one value at the largest size; values 1/2 and 2, target He1+He3, strength and penalty by the
    finite-width rule.

    Rival: variability of the readout does not help
    Source: paper E, Sec. 4.4
    Short: two readout values over one, each best
    """
    rows = largest_size(pd.concat([two_values.assign(kind="varied"), one_value.assign(kind="uniform")]))
    return two_values_over_one(rows), rows


@claim(
    "E.Fig6-gauss",
    kind="beyond",
    accept=(0, 0.75),
    rival=1,
    figure="fig-e-two-values",
    given={"gaussian": studies.third_degree_share["best_gauss"], "discrete": studies.third_degree_share["best_single"]},
    at={"d": 400},
)
@again(
    "E.Fig6-gauss-two",
    accept=(1, 1.3),
    rival=(0.9, "the more readout values, the more is learned"),
    given={"gaussian": studies.third_degree_share["best_gauss"], "discrete": studies.third_degree_share["best_pair"]},
    statement=r"A Gaussian readout does not learn more than the two values $\frac12$ and 2.",
    measure=(
        "Test error of twelve even quantiles over that of two values, in spiked features of width 400, on "
        "the same data, each at its best strength and penalty by the finite-width rule; target He1+He3"
    ),
    short="Gaussian readout over two values",
)
def gain_of_gaussian_readouts(gaussian, discrete):
    """A Gaussian readout, the usual initialisation, lets spiked features express more than one value.

    Test error of twelve even quantiles over that of one value, in spiked features of width 400, on the same data, each
    at its best strength and penalty by the finite-width rule; target He1+He3

    Rival: variability of the readout does not help
    Source: paper E, Sec. 4.4
    Short: Gaussian readout over one value
    """
    rows = pd.concat([gaussian.assign(kind="varied"), discrete.assign(kind="uniform")])
    return two_values_over_one(rows), pd.concat([gaussian, discrete])


@claim(
    "E.Fig6-dimension",
    accept=(5.5, 6.5),
    stated=6,
    rival=3,
    profiles=PROFILES,
    figure="fig-e-two-values",
    given={"values": (0.5, 1.0, 2.0)},
)
def dimension_of_values(*, activation, values):
    r"""With readout values $V$ the functions have generically the dimension $2|V|$.

    Independent functions among those of the values 1/2, 1 and 2 at strength 1, by singular values.

    Rival: one function $\kappa_0$ for each value
    Source: paper E, Sec. 4.4
    Short: dimension of three readout values
    """
    return Estimate.exact(bounds.span_dimension(activation, values, r=1.0))
