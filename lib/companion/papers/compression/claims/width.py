r"""Claims of chapter 2 at paper A's own width: what the width of a network does to its amplification."""

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import ratio
from companion.papers.compression.claims.compression import plateau_exponent
from companion.papers.compression.studies import compression as studies

CHAPTER = "02"


@claim(
    "A.Fig6-wide-d5",
    accept=(0.4, 0.6),
    stated=0.5,
    rival=0,
    figure="fig-a-width",
    given={"d": 5},
    at={"d": 5, "p": 1024, "h": 10000},
)
@again("A.Fig6-wide-d10", part_of="A.Fig6-wide-d5", given={"d": 10}, at={"d": 10, "p": 1024, "h": 10000})
def wide_stripe_exponent(networks=studies.amplification_scaling["wide"], *, growth_from, d):
    r"""At paper A's width the amplification factor at $t^*$ grows as the square root of $p$ (stripe, $d={d}$).

    exponent in $p$ from 1024 points to 8192 at width $10^4$, with the noise $|N|$ of each training set divided out

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Fig. 6 bottom and Eq. 9
    Short: exponent of $\Lambda^*$, width $10^4$, stripe $d={d}$
    """
    rows = networks[(networks.d == d) & (networks.p >= growth_from)]
    return (plateau_exponent(rows), rows) if rows.seed.nunique() > 1 else None


@claim("A.Fig8-wide", accept=(0.4, 0.6), stated=0.5, rival=0, figure="fig-a-width", at={"d": 3, "p": 1024, "h": 10000})
def wide_cylinder_exponent(networks=studies.amplification_scaling["wide_cylinder"], *, growth_from):
    r"""At paper A's width the amplification factor at $t^*$ grows as the square root of $p$ (cylinder, $d=3$).

    exponent in $p$ from 1024 points to 8192 at width $10^4$, with the noise $|N|$ of each training set divided out

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Fig. 8 top
    Short: exponent of $\Lambda^*$, width $10^4$, cylinder
    """
    rows = networks[networks.p >= growth_from]
    return (plateau_exponent(rows), rows) if rows.seed.nunique() > 1 else None


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
    at={"d": 5, "p": 1024, "h": [100, 10000], "alpha": 1e-06},
)
def width_ratio(
    wide=studies.amplification_scaling["wide"], narrow=studies.amplification_scaling["stripe_again"], *, growth_from
):
    r"""The width does not set the amplification factor: networks of width $10^4$ have that of width 100.

    $\Lambda^*$ at width $10^4$ over that at width 100 on the same training sets (stripe, $d=5$ and 10, from 1024 points
    on, $\alpha=10^{-6}$); geometric mean over sizes and dimensions, one a training set

    Rival: $\Lambda^*\propto h^{-1/4}$: it follows the fluctuations over initial weights
    Source: paper A, Fig. 6 bottom
    Short: $\Lambda^*$, width $10^4$ over width 100
    """
    ratios = width_ratios(wide[wide.p >= growth_from], narrow)
    if ratios.seed.nunique() < 2:
        return None
    logs = np.log(ratios.set_index(["seed", "d", "p"]).ratio).groupby("seed").mean()
    compared = narrow[narrow.seed.isin(logs.index) & narrow.p.isin(set(ratios.p))]
    return ratio(np.exp(logs.to_numpy())), wide, compared
