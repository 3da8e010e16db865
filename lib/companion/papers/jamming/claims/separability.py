r"""Claims of chapter 3 on the lazy regime: where random labels can be fitted, by Cover's theorem."""

import numpy as np
import pandas as pd

from companion.book.claims import claim
from companion.estimates import FEWEST, jackknife, proportion
from companion.papers.jamming.studies import paired, separability
from companion.papers.jamming.theory.separability import effective_parameters

CHAPTER = "03"
FEWEST_SIZES = 3  # that a line is read from
FIRST = (6, 7, 12)  # widths on which the theorem was tried before the claims were declared


def _over_half(rows, points, share):
    """``2N*/P`` by the likeliest ``N*`` of Cover's formula, its error from leaving out one seed at a time."""
    sets = [group for _, group in rows.groupby("seed")]

    def ratio_of(indices):
        chosen = pd.concat([sets[int(index)] for index in indices])
        return 1 / effective_parameters(chosen[points], chosen[share], chosen.parameters)

    return jackknife(np.arange(len(sets)), ratio_of)


@claim("B.Sec2-cover", accept=(0.97, 1.03), rival=1.11, figure="fig-b-cover")
def parameters_at_cover(
    points=separability.random_labels["points"],
    shallow=separability.random_labels["shallow"],
    deep=separability.random_labels["deep"],
    images=separability.random_labels["images"],
):
    """A lazy network fits random labels where its tangent features separate them: from $N^*=P/2$ parameters on.

    $2N^*/P$ by the likeliest $N^*$ of Cover's formula, a linear program for each network; one, two and three hidden
    layers, random points and images, 210 to 220 parameters

    Rival: networks stopped after 200 steps: 133 parameters for 240 points
    Source: derived in this chapter (Cover 1965); paper B, Sec. 2
    Short: lazy jamming, random labels: $2N^*/P$
    """
    rows = pd.concat([points, shallow, deep, images])
    rows = rows[~rows.h.isin(FIRST)]
    return (_over_half(rows, "points", "separable"), rows) if rows.seed.nunique() > 1 else None


def points_per_parameter(*tables):
    """``P*/N`` at each number of parameters by Cover's formula: columns ``parameters`` and ``ratio``.

    Args:
        tables: rows of ``separability.random_labels``.
    """
    sizes = []
    for parameters, rows in pd.concat(tables).groupby("parameters"):
        factor = effective_parameters(rows["points"], rows.separable, rows.parameters)
        sizes.append({"parameters": parameters, "ratio": 2 * factor})
    return pd.DataFrame(sizes, columns=["parameters", "ratio"])


@claim("B.Fig8A-random", accept=(0.9, 1.1), stated=1, rival=2, figure="fig-b-lines", at={"layers": 3})
def jamming_of_random_labels(deep=separability.random_labels["deep"], wide=separability.random_labels["wide"]):
    """The number of parameters at jamming grows linearly with $P$ on random data.

    Exponent, of lazy networks of three layers, from 138 to 546 parameters: the points at which half of them can fit, by
    the likeliest of Cover's formula, a linear program for each network.

    Rival: the width, not the number of parameters, is proportional to $P$
    Source: paper B, Fig. 8A
    Short: parameters at lazy jamming, random labels, in $P$
    """
    rows = pd.concat([deep, wide])
    if rows.parameters.nunique() < FEWEST_SIZES or wide.seed.nunique() < FEWEST:
        return None
    sets = [rows[rows.seed == seed] for seed in sorted(set(deep.seed) & set(wide.seed))]

    def exponent(indices):
        found = points_per_parameter(*[sets[int(index)] for index in indices])
        points = np.log(found.ratio * found.parameters)
        return float(np.polyfit(points, np.log(found.parameters), 1)[0])

    return jackknife(np.arange(len(sets)), exponent), rows


@claim("B.Fig4-cover-paired", accept=(0.9, 1), stated=1, rival=0.82, figure="fig-b-cover", at={"steps": 3200})
def trained_where_separable(networks=paired.trained_and_decided["random"]):
    """Trained for long enough, lazy networks fit with a margin of one whatever a vanishing margin can separate.

    Share within 3200 steps of the networks whose tangent features a linear program separates, on the same networks and
    labels; random labels, two hidden layers, the largest output scale. That none beyond fits is no finding: no margin,
    however small, can be had there.

    Rival: the share after 200 steps, the budget of the map
    Source: paper B, Sec. 2: "For N < N∗, data cannot be fitted even with a vanishing margin"
    Short: share of separable networks that training fits
    """
    can = networks[networks.separable == 1]
    if can.seed.nunique() < FEWEST:
        return None
    return proportion((can.needed <= networks.steps.max()).to_numpy(float)), networks
