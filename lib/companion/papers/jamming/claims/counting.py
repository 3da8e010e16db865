"""Claims of chapter 3 on the lazy regime by counting: the rank of tangent features, and the dimension of a cone."""

import numpy as np
import pandas as pd

from companion.book.claims import claim
from companion.estimates import FEWEST, jackknife, ratio
from companion.papers.jamming.studies import counting
from companion.papers.jamming.theory.separability import effective_parameters, mean_threshold

CHAPTER = "03"


def over_rank(rows):
    """``2R*/P`` by the likeliest rank ``R*`` of Cover's formula, its error from leaving out one seed at a time."""
    sets = [group for _, group in rows.groupby("seed")]

    def ratio_of(indices):
        chosen = pd.concat([sets[int(index)] for index in indices])
        return 1 / effective_parameters(chosen["points"], chosen.separable, chosen["rank"])

    return jackknife(np.arange(len(sets)), ratio_of)


def cones_and_programs(cones, *programs):
    """``N*`` of each training set by its cone, ``dimension``, and by linear programs, ``found``: a row for each.

    Training sets whose widths do not hold the transition are left out.

    Args:
        cones: rows of ``counting.cones``.
        programs: rows of ``counting.programs``.
    """
    found = {}
    for key, rows in pd.concat(programs).groupby(["words", "layers", "p", "seed"]):
        rows = rows.sort_values("parameters")
        if rows.separable.iloc[0] <= 0.25 and rows.separable.iloc[-1] >= 0.75:
            found[key] = mean_threshold(rows.parameters.to_numpy(), rows.separable.to_numpy())
    measured = pd.Series(found, dtype=float, name="found").rename_axis(["words", "layers", "p", "seed"])
    return cones.drop_duplicates(["words", "layers", "p", "seed"]).merge(measured.reset_index())


@claim("B.Sec2-cover-rank", accept=(0.97, 1.03), rival=0.82, headline=True, figure="fig-b-cover")
def rank_at_cover(networks=counting.architectures["six"]):
    """A lazy network of any architecture fits random labels up to two points for each independent tangent feature, if
    the features of its points are in general position.

    $2R^*/P$ by the likeliest rank $R^*$ of Cover's formula, over the rank that was computed; a linear program for each
    network: leaky units, layer norm, root mean square, two heads of attention, two convolutions, two residual blocks

    Rival: every parameter counts, also those that a symmetry takes
    Source: derived in this chapter (Cover 1965); paper B, Sec. 2
    Short: six architectures, random labels: $2R^*/P$
    """
    return (over_rank(networks), networks) if networks.seed.nunique() > 1 else None


@claim(
    "B.Fig8A-cone",
    accept=(0.95, 1.05),
    rival=0.92,
    headline=True,
    figure="fig-b-lines",
    at={"p": 250, "layers": [1, 2, 3]},
)
def cone_over_program(
    cones=counting.cones["sets"],
    one=counting.programs["one"],
    two=counting.programs["two"],
    three=counting.programs["three"],
):
    """The number of parameters at lazy jamming of digits is the statistical dimension of a cone that labels and tangent
    features span: nothing is trained, nothing fitted.

    That dimension over the mean number of parameters from which on linear programs find a margin, geometric mean over
    training sets; one, two and three hidden layers, 250 digits.

    Rival: the tangent kernel itself, in which a column counts by its square
    Source: derived in this chapter (Amelunxen et al. 2014); paper B, Fig. 8A
    Short: counted over found, 250 digits
    """
    pairs = cones_and_programs(cones, one, two, three)
    if pairs.seed.nunique() < FEWEST:
        return None
    logs = np.log(pairs.dimension / pairs.found).groupby(pairs.seed).mean()
    return ratio(np.exp(logs.to_numpy())), pairs


@claim("B.Fig8A-cone-large", accept=(0.95, 1.05), rival=0.92, figure="fig-b-lines", at={"p": 1000, "layers": 2})
def cone_over_program_large(cones=counting.cones["large"], large=counting.programs["large"]):
    """The count holds at four times the points.

    The dimension of the cone over the mean number of parameters from which on linear programs find a margin, geometric
    mean over training sets; two hidden layers, 1000 digits.

    Rival: the tangent kernel itself, in which a column counts by its square
    Source: derived in this chapter (Amelunxen et al. 2014); paper B, Fig. 8A
    Short: counted over found, 1000 digits
    """
    pairs = cones_and_programs(cones, large)
    return (ratio((pairs.dimension / pairs.found).to_numpy()), pairs) if pairs.seed.nunique() > 1 else None


@claim("B.Fig8A-cone-sets", accept=(0.5, 1), rival=0, figure="fig-b-lines", at={"p": 250, "layers": [1, 2, 3]})
def cone_with_program(
    cones=counting.cones["sets"],
    one=counting.programs["one"],
    two=counting.programs["two"],
    three=counting.programs["three"],
):
    """It says which training set needs more parameters, and which fewer.

    Correlation of the logarithms of the two numbers over training sets, each less its mean over the sets of its depth;
    one, two and three hidden layers, 250 digits.

    Rival: all sets of a size need the same: what differs between them is chance
    Source: derived in this chapter (Amelunxen et al. 2014)
    Short: counted against found, correlation over sets
    """
    pairs = cones_and_programs(cones, one, two, three)
    if pairs.seed.nunique() < FEWEST:
        return None
    logs = np.log(pairs[["dimension", "found"]]).assign(seed=pairs.seed, layers=pairs.layers)
    wide = logs.pivot(index="seed", columns="layers", values=["dimension", "found"]).dropna()

    def correlation(rows):
        apart = (rows - rows.mean(0)).reshape(len(rows), 2, -1)
        return float(np.corrcoef(apart[:, 0].ravel(), apart[:, 1].ravel())[0, 1])

    return jackknife(wide.to_numpy(), correlation), pairs
