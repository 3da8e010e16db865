r"""Claims of chapter 2 at paper A's own width: what the width of a network does to its amplification."""

import numpy as np
import pandas as pd

from companion.book.claims import claim
from companion.estimates import ratio
from companion.papers.compression.studies import compression as studies

CHAPTER = "02"


def width_ratios(wide, narrow):
    r"""The ratio of :math:`\Lambda^*` of wide networks to that of narrow ones on the same training sets.

    Args:
        wide: rows of one width, as of :func:`~companion.papers.compression.studies.compression.amplification_scaling`.
        narrow: rows of another.

    Returns:
        A row for each training set that both hold, with ``p``, ``d``, ``seed`` and ``ratio``.
    """
    keys = ["d", "p", "seed"]
    pairs = pd.merge(wide[[*keys, "star"]], narrow[[*keys, "star"]], on=keys, suffixes=("", "_narrow"))
    return pairs.assign(ratio=pairs.star / pairs.star_narrow)


@claim(
    "A.Fig6-width",
    kind="beyond",
    accept=(0.9, 1.1),
    rival=0.32,
    figure="fig-a-width",
    at={"p": 1024, "h": [100, 10000], "alpha": 1e-06},
)
def width_ratio(
    stripe=studies.amplification_scaling["wide"],
    narrow_stripe=studies.amplification_scaling["stripe_again"],
    cylinder=studies.amplification_scaling["wide_cylinder"],
    narrow_cylinder=studies.amplification_scaling["cylinder_again"],
    *,
    growth_from,
):
    r"""The width does not set the amplification factor: networks of width $10^4$ have that of width 100.

    $\Lambda^*$ at width $10^4$ over that at width 100 on the same training sets (stripe, $d=5$ and 10, and cylinder,
    from 1024 points on, $\alpha=10^{-6}$); geometric mean over sizes and tasks, one a seed

    Rival: $\Lambda^*\propto h^{-1/4}$: it follows the fluctuations over initial weights
    Source: paper A, Fig. 6 bottom and Fig. 8 top
    Short: $\Lambda^*$, width $10^4$ over width 100
    """
    wide, narrow = pd.concat([stripe, cylinder]), pd.concat([narrow_stripe, narrow_cylinder])
    ratios = width_ratios(wide[wide.p >= growth_from], narrow)
    if ratios.seed.nunique() < 2:
        return None
    logs = np.log(ratios.set_index(["seed", "d", "p"]).ratio).groupby("seed").mean()
    compared = narrow[narrow.seed.isin(logs.index) & narrow.p.isin(set(ratios.p))]
    return ratio(np.exp(logs.to_numpy())), wide, compared
