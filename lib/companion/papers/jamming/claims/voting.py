r"""Claims of chapter 3 on the end of lazy training: huge norms near jamming, by which means fail and votes do not."""

import math

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import jackknife, mean, ratio
from companion.papers.jamming.studies import rest, voting
from companion.papers.jamming.theory import jamming

CHAPTER = "03"
TOP = 0.25  # share of the norms that the tail's index is read from


def mean_width_at_jamming(rows):
    """The width at which half of the networks fit, from shares over all training sets; NaN if the widths hold none."""
    widths, shares = zip(*rows.groupby("h").fitted.mean().items(), strict=True)
    if not shares[0] < 0.5 < shares[-1]:
        return math.nan
    return jamming.transition(np.array(widths, float), np.array(shares))


def _jamming_width(rows, *factors):
    """``h*`` of the rows, or ``None``: for a single training set, or widths that do not hold these multiples of it."""
    h_star = mean_width_at_jamming(rows)
    inside = all(rows.h.min() <= factor * h_star <= rows.h.max() for factor in factors)
    return h_star if inside and rows.seed.nunique() > 1 else None


def _everywhere(rows, width):
    """One width for all training sets."""
    return pd.Series(width, sorted(set(rows.seed)))


def _at_the_end(rows):
    """The rows at the end of training: of networks that Newton's method took to rest, after its last step."""
    return rows[rows.newton_steps == rows.newton_steps.max()] if "newton_steps" in rows else rows


@claim(
    "B.Fig6-vote",
    accept=(0.5, math.inf),
    rival=0,
    headline=True,
    figure="fig-b-vote",
    given={"rows": voting.votes["small"], "factor": 1},
    at={"members": 20},
)
@again(
    "B.Fig6-vote-far",
    accept=(-0.3, 0.3),
    stated=0,
    rival=(2, "votes are better than means at every width by what they are at jamming"),
    given={"rows": voting.votes["small"], "factor": 2},
    statement=("Far from jamming, where norms differ little, a mean of networks and their vote have the same error."),
    measure=("Error of the mean of twenty less that of their vote, at twice the width of jamming, percentage points."),
    short="the same at twice the width",
)
@again(
    "B.Fig6-vote-large",
    accept=(0.3, math.inf),
    given={"rows": voting.votes["large"], "factor": 1},
    statement="At lazy jamming a vote has a smaller error than a mean on 1000 points, too.",
    measure=(
        "Error of the mean of twenty less that of their vote, at the width where half of the networks "
        "fit, percentage points."
    ),
    short="the same at jamming of 1000 points",
)
@again(
    "B.Fig6-vote-second",
    accept=(0.3, math.inf),
    given={"rows": voting.votes["second_data"], "factor": 1},
    at={"data": "fashion_mnist", "members": 20},
    statement="At lazy jamming a vote has a smaller error than a mean on Fashion-MNIST, too.",
    measure=(
        "Error of the mean of twenty less that of their vote, at the width where half of the networks "
        "fit, percentage points."
    ),
    short="the same at jamming of clothes",
)
@again(
    "B.Fig6-vote-features",
    accept=(-1, 0.5),
    stated=0,
    rival=(4.7, "what a mean loses to a vote at lazy jamming, on the same training sets"),
    looks=2,
    given={"rows": rest.peak_at_jamming["votes"], "factor": 1},
    at={"scale": 12, "members": 20},
    statement="At output scale 12 the mean of networks loses nothing to their vote at jamming.",
    measure=(
        "Error of the mean of twenty less that of their vote, at rest, at the width where half of the "
        "networks fit, 250 points, percentage points."
    ),
    short="scale 12, at jamming: mean less vote",
)
@again(
    "B.Fig6-vote-below",
    rival=(0, "as at jamming"),
    looks=2,
    given={"rows": rest.peak_at_jamming["votes"], "factor": 0.8},
    at={"scale": 12, "members": 20},
    statement="Of networks at output scale 12 too narrow to fit a vote has at rest a smaller error than a mean.",
    measure="The same at 0.8 times that width.",
    short="scale 12, below jamming: mean less vote",
)
def mean_less_vote(rows, *, factor):
    """At lazy jamming a majority vote of networks has a smaller error than their mean output.

    Error of the mean of twenty less that of their vote, at the width where half of the networks fit, 250 points,
    percentage points.

    Rival: the bump belongs to the networks, not to the mean: a vote has it, too
    Elsewhere: at twice the width of jamming -0.18 on 1000 points
    Source: derived in this chapter; paper B, Fig. 6
    Short: lazy, at jamming: mean less vote
    """
    ends = _at_the_end(rows)
    h_star = _jamming_width(ends, factor)
    if h_star is None:
        return None
    table = ends.assign(excess=100 * (ends.mean_error - ends.vote_error))
    return mean(jamming.at_width(table, "excess", _everywhere(ends, factor * h_star)))


@claim("B.Fig6-vote-bump", accept=(-math.inf, 0.5), rival=1.8, figure="fig-b-vote", at={"members": 20})
def bump_of_vote(large=voting.votes["large"]):
    """The vote of twenty lazy networks has no bump at jamming.

    Its error there minus the mean of those at $h/1.5$ and $1.5h$, 1000 points, percentage points.

    Rival: the bump of the mean of twenty
    Source: derived in this chapter; paper B, Fig. 6
    Short: bump of the vote at jamming
    """
    h_star = _jamming_width(large, 1 / jamming.FACTOR, jamming.FACTOR)
    return mean(100 * jamming.bump(large, "vote_error", _everywhere(large, h_star))) if h_star else None


def hill_index(values):
    """The index of a distribution's tail from the largest ``TOP`` of its samples: one over the mean log excess.

    Below 2 there is no variance. Source: Hill, Annals of Statistics 3 (1975) 1163.

    Args:
        values: positive ``(n,)``.
    """
    ordered = np.sort(np.asarray(values, dtype=float))[::-1]
    count = max(2, int(TOP * len(ordered)))
    return float(1 / np.log(ordered[:count] / ordered[count]).mean())


@claim(
    "B.Sec2-norm-tail",
    accept=(0.5, 2),
    rival=3,
    headline=True,
    figure="fig-b-vote",
    given={"rows": voting.votes["small"], "low": 1, "high": 1.5},
    at={"members": 20},
)
@again(
    "B.Sec2-norm-tail-far",
    accept=(3, math.inf),
    rival=(1.5, "the tail at jamming"),
    given={"rows": voting.votes["small"], "low": 1.8, "high": 2.6},
    statement="Far from jamming the norms of networks have a variance.",
    measure="Index of the tail from the largest quarter, at the widths from 1.8 to 2.6 times that of jamming.",
    short="the same at twice the width",
)
@again(
    "B.Sec2-norm-tail-features",
    accept=(2, math.inf),
    rival=(0.84, "the tail at lazy jamming"),
    looks=2,
    given={"rows": rest.peak_at_jamming["votes"], "low": 1, "high": 1.5},
    at={"scale": 12, "members": 20},
    statement="At output scale 12 the norms of networks at rest have a variance at jamming.",
    measure="Index of the tail from the largest quarter, at the widths from that of jamming to 1.5 times it.",
    short="tail index of norms, scale 12, at jamming",
)
def tail_of_norms(rows, *, low, high):
    """Near lazy jamming of 250 points the norms of networks that differ in their initial weights have no variance.

    Index of their distribution's tail, from the largest quarter of the norms over the median of their training set, at
    the widths from the one where half of the networks fit to 1.5 times it; it is 1 for one over a margin whose density
    stays finite at zero, and there is no variance below 2. The window closes as the data grow: on 1000 points the same
    number is above 2.

    Rival: a variance: the density of the margin vanishes at no margin as its square
    Elsewhere: 1000 points 3.1
    Source: derived in this chapter; paper B, Sec. 2
    Short: tail index of norms, lazy, 250 points
    """
    ends = _at_the_end(rows)
    h_star = _jamming_width(ends, low, high)
    if h_star is None:
        return None
    norms = []
    for _, rows_of_width in ends[ends.h.between(low * h_star, high * h_star)].groupby("h"):
        by_set = rows_of_width.sort_values("seed").norms
        norms.append(np.stack([np.array(members) / np.median(members) for members in by_set]))
    if not norms:
        return None

    def mean_index(sets):
        return float(np.mean([hill_index(sets[:, i].ravel()) for i in range(len(norms))]))

    # one row per training set: its norms, a column per width and member
    return jackknife(np.stack(norms, axis=1), mean_index)


@claim(
    "B.Fig8B-lazy",
    accept=(0.85, 1.15),
    stated=1,
    rival=0.66,
    headline=True,
    figure="fig-b-isostatic",
    at={"members": 20},
)
def holding_at_lazy_jamming(large=voting.votes["large"]):
    """Lazy networks jam isostatically: where the margin vanishes as many points hold one as it has parameters.

    Points that hold a network over parameters, of the network of each training set that fits with the largest motion of
    its weights, 1000 points.

    Rival: as few as hold networks that learn features, at output scale 12
    Source: derived in this chapter; paper B, Fig. 8B
    Short: points that hold a lazy network, over $N$
    """
    table = large[["seed", "weights", "holding"]].explode(["weights", "holding"], ignore_index=True).astype(float)
    fits = table[table.holding <= 1]
    jammed = _jamming_width(large, 1) and fits.groupby("seed").nunique().weights.min() > 1
    return mean(fits.loc[fits.groupby("seed").weights.idxmax()].holding.to_numpy()) if jammed else None


@claim("B.Sec2-gardner", accept=(0.8, 1.25), stated=1, rival=0.12, figure="fig-b-isostatic", at={"members": 20})
def norm_over_theory(random=voting.votes["random"]):
    """Theory has the norm of lazy networks that fit random labels, from the spectrum of their features alone.

    Geometric mean of the weights' norm over the predicted one, mean over the widths from 1.1 to 4 times the parameters
    at jamming, 250 points.

    Rival: features of equal variance, with the same sum
    Source: derived in this chapter (Gardner 1988); paper B, Sec. 2
    Short: norm for random labels over theory's
    """
    low, high = jamming.WINDOW
    rows = random[(2 * random.parameters / random.p).between(low, high)]
    if rows.seed.nunique() < 2:
        return None
    logs = rows.weights.map(lambda norms: float(np.log(norms).mean())) - np.log(rows.predicted)
    return ratio(np.exp(logs.groupby(rows.seed).mean().to_numpy())), rows
