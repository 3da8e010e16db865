r"""Claims of chapter 3 on the end of lazy training: huge norms near jamming, by which means fail and votes do not."""

import math
from functools import cache

import numpy as np
import pandas as pd
from scipy.stats import norm as normal

from companion.book.claims import again, claim
from companion.estimates import FEWEST, jackknife, mean, ratio, slopes
from companion.papers.jamming.studies import voting
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.margins import gardner_margin

CHAPTER = "03"
TOP = 0.25  # share of the norms that the tail's index is read from
VARIANCE = 2  # the index from which a distribution has a variance
NETWORKS = ["weights", "norms", "holding", "fits", "errors"]  # columns with a number for each member


def mean_width_at_jamming(rows):
    """The width at which half of the networks fit, from shares over all training sets; NaN if the widths hold none."""
    widths, shares = zip(*rows.groupby("h").fitted.mean().items(), strict=True)
    if not shares[0] < 0.5 < shares[-1]:
        return math.nan
    return jamming.transition(np.array(widths, float), np.array(shares))


def mean_parameters_at_jamming(rows):
    """The number of parameters of which half of the networks fit, as :func:`mean_width_at_jamming`."""
    return mean_width_at_jamming(rows.assign(h=rows.parameters))


def _jamming_width(rows, *factors):
    """``h*`` of the rows, or ``None``: for a single training set, or widths that do not hold these multiples of it."""
    h_star = mean_width_at_jamming(rows)
    inside = all(rows.h.min() <= factor * h_star <= rows.h.max() for factor in factors)
    return h_star if inside and rows.seed.nunique() > 1 else None


def _everywhere(rows, width):
    """One width for all training sets."""
    return pd.Series(width, sorted(set(rows.seed)))


def each_network(rows):
    """A row for each network of the ensembles ``rows``, with the columns ``NETWORKS`` and ``seed``, ``h``, ``p``."""
    columns = [name for name in NETWORKS if name in rows]
    table = rows[["p", "seed", "h", "parameters", *columns]].explode(columns, ignore_index=True)
    return table.astype(float)


def parameters_at_the_end(*tables):
    """``N*`` of each training set at the end of lazy training, a row per ``seed``, a column per number of points.

    NaN where the widths of a set do not hold it.

    Args:
        tables: rows of ``voting.votes``.
    """
    sizes = {}
    for table in tables:
        for (p, seed), rows in table.groupby(["p", "seed"]):
            rows = rows.sort_values("parameters")
            inside = rows.fitted.iloc[0] < 0.5 < rows.fitted.iloc[-1]
            sizes[p, seed] = jamming.transition(rows.parameters, rows.fitted) if inside else math.nan
    return pd.Series(sizes, dtype=float).unstack(0) if sizes else pd.DataFrame()


@claim("B.Fig8A-rest-lazy", accept=(0.5, 0.95), rival=1, figure="fig-b-lines", at={"p": [250, 1000, 2000], "layers": 2})
def line_of_lazy_jamming(small=voting.votes["small"], large=voting.votes["large"], largest=voting.votes["largest"]):
    """On digits the number of parameters at lazy jamming grows more slowly than the number of points.

    Exponent in $P$ of the parameters of which half of the networks fit, by convex programs, 250 to 2000 points, mean
    over training sets.

    Rival: random labels, Cover's theorem
    Source: paper B, Fig. 8A and Sec. 2: for data with structure "sub-linear"
    Short: lazy, at the end: $N^*$ in $P$
    """
    sizes = parameters_at_the_end(small, large, largest).dropna()
    if len(sizes) < FEWEST or sizes.shape[1] < jamming.SIZES:
        return None
    return mean(slopes(sizes.columns.to_numpy(float), sizes.to_numpy()))


@claim(
    "B.Fig6-vote-large",
    accept=(0.3, math.inf),
    rival=0,
    headline=True,
    figure="fig-b-vote",
    given={"rows": voting.votes["large"]},
    at={"p": 1000, "members": 20},
)
@again(
    "B.Fig6-vote-second",
    given={"rows": voting.votes["second_data"]},
    at={"p": 1000, "data": "fashion_mnist", "members": 20},
    statement="At lazy jamming a vote has a smaller error than a mean on Fashion-MNIST, too.",
    measure="The same on 1000 points of Fashion-MNIST.",
    short="the same at jamming of clothes",
)
def mean_less_vote(rows):
    """At lazy jamming a majority vote of networks has a smaller error than their mean output.

    Error of the mean of twenty less that of their vote, at the width where half of the networks fit, 1000 points,
    percentage points.

    Rival: the bump belongs to the networks, not to the mean: a vote has it, too
    Source: derived in this chapter; paper B, Fig. 6
    Short: lazy, at jamming: mean less vote
    """
    h_star = _jamming_width(rows, 1)
    if h_star is None:
        return None
    table = rows.assign(excess=100 * (rows.mean_error - rows.vote_error))
    return mean(jamming.at_width(table, "excess", _everywhere(rows, h_star)))


@claim(
    "B.Fig6-vote-bump",
    accept=(-math.inf, 0.5),
    rival=1.8,
    figure="fig-b-vote",
    given={"rows": voting.votes["largest"], "column": "vote_error"},
    at={"members": 20, "p": 2000},
)
@again(
    "B.Fig6-rest-twenty-lazy",
    rival=(1.3, "the ensemble keeps the peak of single networks"),
    part_of="B.Fig6-rest-twenty",
    given={"rows": voting.votes["large"], "column": "mean_error"},
    at={"members": 20, "p": 1000},
    source="paper B, Fig. 6",
    statement="In the lazy regime, too, averaging twenty networks at rest eliminates the peak.",
    measure=(
        "The error of their mean at jamming minus the mean of those at $h/1.5$ and $1.5h$, at the end of lazy "
        "training, 1000 points, percentage points."
    ),
    short="bump of twenty networks at rest, lazy",
)
def bump_at_jamming(rows, *, column):
    """The vote of twenty lazy networks has no bump at jamming.

    Its error there minus the mean of those at $h/1.5$ and $1.5h$, 2000 points, percentage points.

    Rival: the bump of the mean of twenty
    Source: derived in this chapter; paper B, Fig. 6
    Short: bump of the vote at jamming
    """
    h_star = _jamming_width(rows, 1 / jamming.FACTOR, jamming.FACTOR)
    return mean(100 * jamming.bump(rows, column, _everywhere(rows, h_star))) if h_star else None


@claim(
    "B.Fig6-normalised",
    accept=(0.05, math.inf),
    rival=0,
    headline=True,
    figure="fig-b-vote",
    at={"members": 20, "p": 2000},
)
def gain_of_normalised(largest=voting.votes["largest"]):
    """The mean of networks, each first divided by its norm, has a smaller error than their vote.

    Error of the vote of twenty less that of the mean over norms, mean over all widths on either side of jamming, 2000
    points, percentage points.

    Rival: dividing by the norm is a vote by another name
    Source: derived in this chapter; paper B, Fig. 6
    Short: vote less mean over norms
    """
    gains = 100 * (largest.vote_error - largest.normalised_error)
    by_width = gains.groupby([largest.seed, largest.h]).mean().unstack().to_numpy()
    return mean(by_width.mean(1)) if len(by_width) > 1 and np.isfinite(by_width).all() else None


def hill_index(values):
    """The index of a distribution's tail from the largest ``TOP`` of its samples: one over the mean log excess.

    Below 2 there is no variance. Source: Hill, Annals of Statistics 3 (1975) 1163.

    Args:
        values: positive ``(n,)``.
    """
    ordered = np.sort(np.asarray(values, dtype=float))[::-1]
    count = max(2, int(TOP * len(ordered)))
    return float(1 / np.log(ordered[:count] / ordered[count]).mean())


def _norms(rows):
    """The norms of one width's networks over the median of their training set, ``(seeds, members)``."""
    by_set = rows.sort_values("seed").norms
    return np.stack([np.array(members) / np.median(members) for members in by_set])


def index_of_norms(norms):
    """The index of the tail of norms of several training sets together ``(seeds, members)``."""
    return hill_index(norms.ravel())


def _from_jamming_on(rows, seeds):
    """``N/N* - 1`` from the width nearest to jamming on, and at each the norms of some sets, ``(seeds, members)``."""
    n_star = mean_parameters_at_jamming(rows)
    nearest = min(set(rows.parameters), key=lambda size: abs(math.log(size / n_star)))
    wider = rows[(rows.parameters >= nearest) & rows.seed.isin(seeds)]
    return np.sort(wider.parameters.unique()) / n_star - 1, [_norms(group) for _, group in wider.groupby("h")]


def _common_seeds(tables):
    """The seeds that all tables have, or ``None``: too few, or widths of a table do not hold jamming."""
    seeds = sorted(set.intersection(*({*table.seed} for table in tables)))
    enough = len(seeds) >= FEWEST and all(_jamming_width(table, 1) is not None for table in tables)
    return seeds if enough else None


@claim(
    "B.Sec2-norm-index",
    accept=(0.5, VARIANCE),
    rival=3,
    figure="fig-b-tail",
    at={"members": 20, "p": [250, 1000, 2000]},
)
def tail_of_norms(small=voting.votes["small"], large=voting.votes["large"], largest=voting.votes["largest"]):
    """At lazy jamming the norms of networks that differ in their initial weights have no variance.

    Index of their distribution's tail, from the largest quarter of the norms over the median of their training set, at
    the width that is nearest to the one where half of the networks fit; geometric mean over 250, 1000 and 2000 points.
    It is 1 for one over a margin whose density stays finite at zero, and there is no variance below 2.

    Rival: a variance: the density of the margin vanishes at no margin as its square
    Source: derived in this chapter; paper B, Sec. 2
    Short: tail index of norms, at lazy jamming
    """
    tables = [small, large, largest]
    seeds = _common_seeds(tables)
    if seeds is None:
        return None
    nearest = [_from_jamming_on(table, seeds)[1][0] for table in tables]

    def index(chosen):
        return float(np.exp(np.mean([math.log(index_of_norms(norms[chosen.astype(int)])) for norms in nearest])))

    return jackknife(np.arange(len(seeds)), index)


def window_without_variance(beyond, indices):
    """``N/N* - 1`` at which the tail's index first exceeds 2, its logarithm interpolated; NaN if that is not beyond 0.

    Args:
        beyond: ``N/N* - 1`` of each width from jamming on, increasing ``(k,)``; the first may lie below 0.
        indices: of the tail ``(k,)``.
    """
    above = np.flatnonzero(np.asarray(indices) > VARIANCE)
    if not len(above) or above[0] == 0:
        return math.nan
    i = above[0]
    logs = np.log(indices[i - 1 : i + 1])
    share = (math.log(VARIANCE) - logs[0]) / (logs[1] - logs[0])
    window = float(beyond[i - 1] + share * (beyond[i] - beyond[i - 1]))
    return window if window > 0 else math.nan


@claim("B.Sec2-norm-window", accept=(-math.inf, -0.25), rival=0, figure="fig-b-tail", at={"p": [250, 1000, 2000]})
def window_in_points(small=voting.votes["small"], large=voting.votes["large"], largest=voting.votes["largest"]):
    """The window around jamming in which norms have no variance closes as the data grow.

    Exponent in $P$, from 250 to 2000 points, of $N/N^*-1$ where the index of the norms' tail reaches 2.

    Rival: a window fixed in $N/N^*$
    Source: derived in this chapter; paper B, Sec. 2
    Short: window without variance, in $P$
    """
    tables = [small, large, largest]
    seeds = _common_seeds(tables)
    if seeds is None:
        return None
    points = [int(table.p.iloc[0]) for table in tables]
    parts = [_from_jamming_on(table, seeds) for table in tables]

    def exponent(chosen):
        windows = []
        for distances, by_width in parts:
            indices = [index_of_norms(width[chosen.astype(int)]) for width in by_width]
            windows.append(window_without_variance(distances, np.array(indices)))
        return float(np.polyfit(np.log(points), np.log(windows), 1)[0])

    numbers = np.arange(len(seeds))
    return jackknife(numbers, exponent) if math.isfinite(exponent(numbers)) else None


@cache
def _normal_quantiles(count=2000):
    """Equally likely values of a standard normal variable."""
    return normal.ppf((np.arange(count) + 0.5) / count)


def index_of_gaussian_margins(ratios):
    r"""The tail's index of :math:`1/\lvert\mu+\sigma g\rvert` over its median, ``g`` normal, from its largest ``TOP``.

    Args:
        ratios: ``μ/σ`` of some training sets, whose values are taken together ``(seeds,)``.
    """
    sizes = [1 / np.abs(ratio + _normal_quantiles()) for ratio in np.asarray(ratios, dtype=float)]
    return hill_index(np.concatenate([size / np.median(size) for size in sizes]))


def margins_in_scatter(rows):
    """``μ/σ`` of each training set ``(seeds,)``: mean over standard deviation of its networks' margins at one width.

    A margin is one over a norm, negative where the network does not fit.
    """
    ratios = []
    for _, row in rows.sort_values("seed").iterrows():
        margins = np.where(row.fits, 1.0, -1.0) / np.array(row.norms)
        ratios.append(margins.mean() / margins.std(ddof=1))
    return np.array(ratios)


def tails_beyond_jamming(*tables):
    """Index of the norms' tail, as measured and for Gaussian margins, at each width of which most networks fit.

    Columns ``p``, ``words``, ``h``, ``scatter`` (mean ``μ/σ``), ``index`` and ``gaussian``.
    """
    found = []
    for table in tables:
        for h, rows in table.groupby("h"):
            if rows.fitted.mean() < 0.5:
                continue
            ratios = margins_in_scatter(rows)
            found.append(
                {
                    "p": rows.p.iloc[0],
                    "words": rows.words.iloc[0],
                    "h": h,
                    "scatter": ratios.mean(),
                    "index": index_of_norms(_norms(rows)),
                    "gaussian": index_of_gaussian_margins(ratios),
                }
            )
    return pd.DataFrame(found, columns=["p", "words", "h", "scatter", "index", "gaussian"])


@claim(
    "B.Sec2-norm-curve", accept=(0.8, 1.25), stated=1, rival=0.4, headline=True, figure="fig-b-tail", at={"members": 20}
)
def tail_on_one_curve(
    small=voting.votes["small"],
    large=voting.votes["large"],
    largest=voting.votes["largest"],
    second_data=voting.votes["second_data"],
):
    r"""The tail of the norms is that of one over a Gaussian margin, at each width, number of points and data set.

    Index of the tail over that of $1/\lvert\mu+\sigma g\rvert$, with mean $\mu$ and standard deviation $\sigma$ of the
    margins of each training set and width of which half of the networks fit; geometric mean over widths, 250 to 2000
    points of two data sets.

    Rival: the index 1 of jamming at every width
    Source: derived in this chapter; paper B, Sec. 2
    Short: tail index over that of Gaussian margins
    """
    tables = [small, large, largest, second_data]
    seeds = sorted(set.intersection(*({*table.seed} for table in tables)))
    if len(seeds) < FEWEST:
        return None

    def log_ratio(chosen):
        kept = [seeds[int(index)] for index in chosen]
        tails = tails_beyond_jamming(*[table[table.seed.isin(kept)] for table in tables])
        return float(np.log(tails["index"] / tails.gaussian).mean())

    found = jackknife(np.arange(len(seeds)), log_ratio)
    return type(found)(*np.exp([found.value, found.low, found.high]), found.n, f"{found.method}, of the logarithm")


@claim("B.Fig6-overlap", accept=(0.05, math.inf), rival=0, figure="fig-b-rest", at={"p": 2000, "members": 20})
def overlap_beyond_jamming(largest=voting.votes["largest"]):
    """Two lazy networks agree less at jamming than beyond it, whatever their norms.

    Mean cosine between the predictors of two networks on the same points, at 1.5 times the width where half of the
    networks fit less at that width, 2000 points.

    Rival: networks differ by their norms alone, and their predictors point the same way at each width
    Source: derived in this chapter; paper B, Sec. 3
    Short: overlap of two networks, beyond less at jamming
    """
    h_star = _jamming_width(largest, 1, jamming.FACTOR)
    if h_star is None:
        return None
    wider, there = (jamming.at_width(largest, "overlap", _everywhere(largest, f * h_star)) for f in (jamming.FACTOR, 1))
    return mean(wider - there)


@claim("B.Sec2-norm-cusp", accept=(0.7, 1), rival=0, figure="fig-b-rest", at={"p": 2000, "members": 20})
def error_with_norm(largest=voting.votes["largest"]):
    """The norm, which diverges at jamming, is responsible for the cusp of the error.

    Rank correlation of the errors of single networks with their norms, among the twenty of one width and training set,
    mean over the three widths nearest to lazy jamming; 2000 points. From 0.7 on more than half of the variance follows
    the norm.

    Rival: the error does not know of the norm: a sign does not change if its argument is divided by a number
    Source: paper B, Sec. 2: the norm "diverges [8], which is responsible in the cusp in the double descent displayed by
    the test error"
    Short: error with norm, networks of one width
    """
    h_star = _jamming_width(largest, 1)
    if h_star is None:
        return None
    nearest = sorted(set(largest.h), key=lambda h: abs(math.log(h / h_star)))[:3]
    near = largest[largest.h.isin(nearest)]
    ranks = each_network(near).groupby(["seed", "h"])[["norms", "errors"]].rank()
    networks = each_network(near)
    correlations = ranks.groupby([networks.seed, networks.h]).apply(lambda pair: pair.norms.corr(pair.errors))
    return mean(correlations.groupby("seed").mean().to_numpy()), near


@claim("B.Fig6-cusp-second", accept=(0.3, math.inf), rival=0, figure="fig-b-rest", at={"p": 1000})
def rise_to_jamming(second_data=voting.votes["second_data"]):
    """On the second data set, too, single networks have a cusp of the error at jamming.

    Their error at the width where half of them fit less that at $h/1.5$, at the end of lazy training, 1000 points of
    Fashion-MNIST, percentage points.

    Rival: no cusp: the error does not rise towards jamming
    Source: paper B, Fig. 6 right
    Short: rise to jamming, second data set
    """
    h_star = _jamming_width(second_data, 1 / jamming.FACTOR, 1)
    if h_star is None:
        return None
    return mean(100 * jamming.rise(second_data, "error", _everywhere(second_data, h_star)))


@claim(
    "B.Sec2-norm-law",
    accept=(-0.15, 0.15),
    stated=0,
    rival=0.34,
    figure="fig-b-8d",
    given={"quantity": "norm"},
    at={"p": 2000},
)
@again(
    "B.Fig8D-quadratic-law",
    rival=(-1, "a quadratic singularity of the fluctuation itself, which would outgrow the norm"),
    given={"quantity": "fluctuation"},
    source="paper B, Fig. 8D",
    statement="The explosion of the fluctuations at jamming is a quadratic singularity, of their square.",
    measure=(
        r"Exponent in $N-N^*$ of the fluctuation less that of Gardner's norm, as for the norm; the fluctuation of "
        r"networks of the median norm, $\sqrt{1-q}$ of it, with $q$ the mean cosine between two predictors."
    ),
    short="fluctuation diverges as Gardner's norm",
)
def divergence_less_gardner(largest=voting.votes["largest"], *, quantity):
    r"""The norm of the predictor diverges at lazy jamming as one over a margin that vanishes like $N-N^*$.

    Exponent in $N-N^*$ of the norm (median over networks) for $N/N^*$ from 1.1 to 4, less that of $1/\kappa$ at the
    same $N/N^*$ for Gardner's margin $\kappa$ of random labels, which is $-1$ next to $N^*$; end of lazy training, 2000
    points.

    Rival: least squares, where the squared norm diverges as $1/(N-N^*)$: an exponent of $-1/2$ for one of -0.84
    Source: paper B, Sec. 2: the divergence "is compatible with an inverse power-law"
    Short: norm diverges as Gardner's
    """
    loads = largest.parameters / mean_parameters_at_jamming(largest)
    rows = largest.assign(load=loads)[loads.between(*jamming.WINDOW)]
    if rows.h.nunique() < jamming.SIZES or rows.seed.nunique() < 2:
        return None
    # near jamming norms have no variance: a mean square over networks is that of the largest one
    medians = rows.norms.map(np.median)
    rows = rows.assign(norm=medians, fluctuation=medians * np.sqrt(1 - rows.overlap))
    measured = np.log(rows.pivot(index="seed", columns="load", values=quantity))
    distances = np.log(measured.columns.to_numpy(float) - 1)
    theory = -np.log([gardner_margin(load / 2) for load in measured.columns])
    slopes = [np.polyfit(distances, curve - theory, 1)[0] for curve in measured.to_numpy()]
    return mean(np.array(slopes)), rows


@claim(
    "B.Fig8B-lazy-fits",
    accept=(0.85, 1.15),
    stated=1,
    rival=0.66,
    headline=True,
    figure="fig-b-isostatic",
    given={"rows": voting.votes["largest"]},
    at={"members": 20, "p": 2000, "layers": 2},
)
@again(
    "B.Fig8B-lazy-deep",
    given={"rows": voting.votes["deep"]},
    at={"members": 20, "p": 1000, "layers": 3},
    statement="Lazy networks of three layers, too, jam isostatically, as many as those held at jamming with features.",
    measure="The same with three hidden layers, 1000 points.",
    short="the same with three layers",
)
def holding_at_lazy_jamming(rows):
    """Lazy networks jam isostatically: where the margin vanishes as many points hold one as it has parameters.

    Points that hold a network over parameters, of the network of each training set that fits with the largest motion of
    its weights, 2000 points. A network fits if its largest gap is below $10^{-4}$, whatever holds it.

    Rival: as few as hold networks that learn features, at output scale 12
    Source: derived in this chapter; paper B, Fig. 8B
    Short: points that hold a lazy network, over $N$
    """
    if _jamming_width(rows, 1) is None:
        return None
    networks = each_network(rows)
    fitting = networks[networks.fits == 1]
    if fitting.seed.nunique() < rows.seed.nunique():
        return None
    return mean(fitting.loc[fitting.groupby("seed").weights.idxmax()].holding.to_numpy())


@claim("B.Sec2-gardner-near", accept=(0.8, 1.25), stated=1, rival=0.12, figure="fig-b-8d", at={"members": 20})
def norm_over_theory(random=voting.votes["random"]):
    """Theory has the norm of lazy networks that fit random labels, from the spectrum of their features alone.

    Geometric mean of the weights' norm over the predicted one, at the width nearest to jamming, 1.2 times the
    parameters there, 250 points.

    Rival: features of equal variance, with the same sum
    Elsewhere: four times the parameters at jamming, $h=17$, 1.21
    Source: derived in this chapter (Gardner 1988); paper B, Sec. 2
    Short: norm for random labels over theory's
    """
    low, high = jamming.WINDOW
    rows = random[(2 * random.parameters / random.p).between(low, high)]
    if rows.seed.nunique() < 2:
        return None
    nearest = rows[rows.h == rows.h.min()]
    logs = nearest.weights.map(lambda norms: float(np.log(norms).mean())) - np.log(nearest.predicted)
    return ratio(np.exp(logs.groupby(nearest.seed).mean().to_numpy())), nearest
