"""Claims of chapter 6 at initialisation: random matrices, the first order, and data that reverse alignment."""

import math

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import Estimate, least, mean
from companion.papers.alignment.studies import initial_alignment as studies
from companion.papers.alignment.theory import agreement

CHAPTER = "06"


def _largest_networks(rows):
    """The rows of the most points."""
    return rows[rows.n == rows.n.max()]


@claim(
    "D.Fig1-rank",
    accept=(3.5, 4.5),
    stated=4,
    corrected=(1.5, 2.5),
    rival=2,
    erratum="d-egop-rank",
    profiles=("smoke", "laptop", "paper"),
    figure="tab-d-1",
)
def rank_of_egop(four=studies.outer_products["four"]):
    r"""The EGOP of the chain monomial has rank $r$.

    Its rank at $r=4$.

    Rival: eigenvalues $4\cos^2(2\pi j/r)$, two of which vanish where 4 divides $r$
    Source: paper D, Sec. 2.1
    Short: rank of the EGOP at $r=4$
    """
    return Estimate.span(four.found)


@claim("D.Fig3-well-posed", accept=(0, 0.05), rival=0.24, headline=True, figure="fig-d-3")
def error_of_prediction(spike_free=studies.reversal["spike_free"]):
    """Predicted and observed C-NFA agree on data of the same design without spikes.

    Root mean square difference over single networks and data sets.

    Rival: the printed Eq. 28 against the corrected one, on these data
    Source: derived from paper D, Fig. 3 and App. F
    Short: prediction of single networks, no spikes
    """
    large = _largest_networks(spike_free)
    return mean(agreement.root_mean_square(large)), large


@claim("D.Fig3-self-averaging", accept=(0, 0.03), rival=0.29, figure="fig-d-3", at={"n": 1024})
def scatter_of_networks(spike_free=studies.reversal["spike_free"]):
    """A single network suffices at $N=1024$.

    Standard deviation of the observed C-NFA over networks (data without spikes), mean over the data sets.

    Rival: correlations spread evenly over 0 … 1
    Source: paper D, Sec. 3.2
    Short: scatter over networks at $N=1024$
    """
    large = _largest_networks(spike_free)
    scatter = large.groupby(["seed", "balance", "floor"])["observed"].std()
    return mean(scatter.groupby("seed").mean().to_numpy()), large


def _of_width(rows, sigma, width):
    """The rows of an activation at the smallest or the largest width."""
    k = rows.k.min() if width == "smallest" else rows.k.max()
    return rows[(rows.sigma == sigma) & (rows.k == k)]


@claim(
    "D.Fig6-quadratic", accept=(0, 0.05), rival=0.087, figure="fig-d-6", given={"sigma": "quadratic"}, at={"k": 1024}
)
@again(
    "D.Fig6-relu",
    accept=(0.05, 1),
    corrected=(0, 0.05),
    rival=(0.012, "the exact kernel of infinite width, a first run at initialisation"),
    erratum="d-relu",
    given={"sigma": "relu"},
    source="paper D, App. C",
    elsewhere="no decay (0) 0.0064, decay 2.5 alone 0.0015, 8 alone 0.000",
    statement="For ReLU networks the first-order prediction is not enough, and further terms are required.",
    measure="Root mean square difference at width 1024.",
    short="further terms needed for ReLU: error",
)
def error_of_first_order(decays=studies.decays["main"], *, sigma):
    """For quadratic networks the first-order prediction agrees with observation at width 1024.

    Root mean square difference over decay rates.

    Rival: $K$ a projector, correlation 1 at every rate
    Elsewhere: decay 2.5 alone 0.0006, 8 alone 0.000; high rank alone 0.0060
    Source: paper D, Fig. 6 and App. C
    Short: error of the prediction, quadratic
    """
    widest = _of_width(decays, sigma, "largest")
    return mean(agreement.root_mean_square(widest)), widest


@claim("D.Fig6-width", accept=(0.005, math.inf), rival=0, figure="fig-d-6", at={"k": [128, 1024]})
def error_of_first_order_in_width(decays=studies.decays["main"]):
    """For quadratic networks the first-order prediction agrees better at width 1024 than at 128.

    Difference of the two root mean squares.

    Rival: the width does not matter
    Elsewhere: decay 1.5 alone 0.001, 8 alone 0.000
    Source: paper D, App. C
    Short: prediction better at the larger width
    """
    narrowest = agreement.root_mean_square(_of_width(decays, "quadratic", "smallest"))
    widest = agreement.root_mean_square(_of_width(decays, "quadratic", "largest"))
    return mean(narrowest - widest), decays[decays.sigma == "quadratic"]


@claim("D.AppC-spectrum", accept=(0.01, 1), rival=0, figure="fig-d-6")
def distance_of_expected_kernel(decays=studies.decays["main"]):
    r"""The spectrum of the data sets how far $\mathbb E\mathcal K$ is from a projector: close to it at either end.

    $1-\rho(\mathbb E\mathcal K,(\mathbb E\mathcal K)^2)$ at its largest over decay rates less the larger of its values
    at the two ends, the least over activations

    Rival: the data's spectrum does not matter to the kernel's
    Elsewhere: quadratic alone 0.093
    Source: paper D, App. C: "the data covariance spectrum will also parameterize the eigenvalue decay"
    Short: expected kernel, far from a projector between
    """
    widest = decays[(decays.k == decays.k.max()) & (decays.target == decays.target.iloc[0])]
    curves = [rows.pivot(index="seed", columns="decay", values="apart") for _, rows in widest.groupby("sigma")]
    return least(np.stack([agreement.dip(-curve) for curve in curves], axis=1)), widest


@claim("D.Fig6-projector", accept=(-1, -0.7), rival=0, erratum="d-projector", figure="fig-d-6", at={"k": 1024})
def alignment_against_projector(decays=studies.decays["main"]):
    r"""The data's spectrum sets how far $\mathbb E\mathcal K$ is from a projector, and with that the C-NFA.

    Correlation over decay rates of $1-\rho(\mathbb E\mathcal K,(\mathbb E\mathcal K)^2)$ and the observed C-NFA at
    width 1024, the largest over activations and targets.

    Rival: the labels decide, and the distance says nothing
    Elsewhere: quadratic alone -0.645
    Source: paper D, App. C and Sec. 3.1
    Short: distance from a projector against C-NFA
    """
    widest = decays[decays.k == decays.k.max()]
    table = widest.pivot(index=["sigma", "target", "seed"], columns="decay", values=["apart", "observed"]).T
    correlations = table.loc["apart"].corrwith(table.loc["observed"]).unstack("seed").T
    return -least(-correlations.to_numpy(float)), widest


@claim(
    "D.Fig6-dip",
    accept=(0.02, 1),
    rival=0,
    figure="fig-d-6",
    given={"sigma": "quadratic", "targets": ["low rank"]},
    at={"k": 1024},
)
@again(
    "D.Fig6-dip-high",
    part_of="D.Fig6-dip",
    given={"sigma": "quadratic", "targets": ["high rank"]},
    statement="For the high-rank target, too, observed and predicted values dip at intermediate decay.",
    short="dip at intermediate decay, quadratic, high rank",
)
@again(
    "D.Fig6-dip-relu",
    given={"sigma": "relu", "targets": ["low rank", "high rank"]},
    statement="Observed and predicted values dip at intermediate decay for ReLU networks too.",
    measure="Smaller of the two ends minus the minimum (observed, width 1024), for both targets.",
    short="dip at intermediate decay, ReLU",
)
def dip_in_decay(decays=studies.decays["main"], *, sigma, targets):
    """Observed and predicted values dip at intermediate decay.

    Smaller of the two ends minus the minimum (observed, quadratic, width 1024).

    Rival: no dip
    Elsewhere: ReLU, high rank alone 0.19
    Source: paper D, App. C
    Short: dip at intermediate decay, quadratic, low rank
    """
    widest = _of_width(decays, sigma, "largest")
    widest = widest[widest.target.isin(targets)]
    curves = [rows.pivot(index="seed", columns="decay", values="observed") for _, rows in widest.groupby("target")]
    return least(np.stack([agreement.dip(curve) for curve in curves], axis=1)), widest


@claim(
    "D.Prop10-expectation",
    accept=(0, 0.05),
    corrected=(0.5, math.inf),
    rival=2.2,
    erratum="d-proposition-10",
    profiles=("smoke", "laptop", "paper"),
    headline=True,
    figure="tab-d-formulas",
)
def printed_expectation(expectations=studies.expectations["main"]):
    r"""The expected $\dot W^\top K\dot W$ is $3\operatorname{tr}(X^\top X)(X^\top YX)^2$ $+\,6X^\top YX\,X^\top
    X\,X^\top YX$.

    Relative error against Monte Carlo at $(n,d,k)=(6,5,4)$.

    Rival: the sum over all pairs of neurons, $(n,d,k)=(6,5,4)$
    Source: paper D, Proposition 10
    Short: error of Prop. 10 as printed
    """
    return mean(expectations.agop_printed.to_numpy())


@claim("D.Eq20-free", accept=(0.97, 1.03), stated=1, rival=1.79, figure="tab-d-formulas", given={"column": "eq20"})
@again(
    "D.Eq22-free",
    rival=(1.57, "the first term alone, no fluctuation of $R$"),
    given={"column": "eq22"},
    source="paper D, Eq. 22",
    statement=r"The formula for $\operatorname{tr}(ARAR)$ holds.",
    short="Eq. 22, observed over predicted",
)
@again(
    "D.Eq28-free",
    corrected=(1.05, 1.35),
    rival=(
        1.18,
        (
            r"the last term as in Eq. 27, $(\operatorname{tr}B)^2\operatorname{tr}(\bar "
            r"A^2)\operatorname{tr}(R^2)^2$"
        ),
    ),
    erratum="d-equation-28",
    headline=True,
    given={"column": "eq28_printed"},
    at={"n": 1024},
    source="paper D, Eq. 28",
    statement=r"The formula for $\operatorname{tr}(ARBRARBR)$ holds as printed.",
    measure="Observed over predicted at $N=1024$ (normal labels).",
    short="Eq. 28 as printed, observed over predicted",
)
def trace_over_formula(traces=studies.traces["main"], *, column):
    r"""The free-probability formula for $\operatorname{tr}(ARARBR)$ holds.

    Observed over predicted.

    Rival: Eq. 19 as printed, $\operatorname{tr}(R)^3$ in place of $\operatorname{tr}(R^3)$
    Source: paper D, Eq. 20
    Short: Eq. 20, observed over predicted
    """
    return mean(traces[column].to_numpy())


@claim("D.Eq5-covariance", accept=(-1.1, -0.6), rival=0, figure="tab-d-covariance")
def covariance_in_width(widths=studies.averages["widths"]):
    """The covariance term of Eq. 5 tends to 0 as the width tends to infinity with points and dimension fixed.

    Exponent in the width of its share in the left side, between 4 and 16 times the dimension.

    Rival: the term stays
    Source: paper D, Sec. 3.1, Eq. 5
    Short: exponent of Eq. 5's covariance
    """
    *_, second, largest = sorted(set(widths.k))
    shares = widths.pivot(index="seed", columns="k", values="covariance")
    exponents = np.log(shares[largest] / shares[second]) / np.log(largest / second)
    return mean(exponents.to_numpy()), widths[widths.k >= second]


@claim("D.Eq6-isotropic", accept=(0.97, 1.03), stated=1, rival=1.32, figure="tab-d-formulas")
def trace_of_isotropic_data(isotropic=studies.averages["isotropic"]):
    r"""Eq. 6 holds on isotropic data, $X^\top X=1$.

    Observed over predicted, with each network's own moments.

    Rival: the first term alone
    Source: paper D, Eq. 6
    Short: Eq. 6, observed over predicted
    """
    return mean(isotropic.eq20.to_numpy())


@claim(
    "D.Ass9-commutes", accept=(0.98, 1.02), stated=1, rival=1.044, figure="tab-d-covariance", at={"k": 1024, "n": 1024}
)
def ratio_of_means(proportional=studies.averages["proportional"]):
    """The expectation commutes with ratio and square root at $N=1024$.

    Mean of the networks' correlations over the correlation of their mean traces.

    Rival: networks of 64 neurons, a first run
    Source: paper D, App. E, Assumption 9 (Eq. 11)
    Short: mean of ratios over ratio of means
    """
    large = _largest_networks(proportional)
    return mean(large.commutes.to_numpy()), large
