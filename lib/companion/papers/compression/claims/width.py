"""Claims of chapter 2 at paper A's own width: what the width of a network does to its amplification."""

import numpy as np
import pandas as pd

from companion.book.claims import claim
from companion.estimates import Estimate, jackknife, ratio, slopes
from companion.papers.compression.claims.compression import without_noise
from companion.papers.compression.studies import compression as studies
from companion.papers.compression.theory.learning_curves import by_size

CHAPTER = "02"


def width_ratios(wide: pd.DataFrame, narrow: pd.DataFrame) -> pd.DataFrame:
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


def mean_width_ratio(ratios: pd.DataFrame) -> Estimate:
    """The geometric mean of ``width_ratios`` over sizes and tasks, one number a seed."""
    logs = np.log(ratios.set_index(["seed", "d", "p"]).ratio).groupby("seed").mean()
    return ratio(np.exp(logs.to_numpy()))


def exponents_by_seed(rows: pd.DataFrame) -> pd.Series:
    r"""The exponent of :math:`\Lambda^*|N|` in ``p``, averaged over the tasks, of each seed that all tasks have."""
    of_tasks = {}
    for d, task in without_noise(rows).groupby("d"):
        sizes, still = by_size(task, "still")
        of_tasks[d] = pd.Series(slopes(sizes, still), index=np.sort(task.seed.unique()))
    return pd.DataFrame(of_tasks).dropna().mean(axis=1)


@claim(
    "A.Fig6-wide",
    accept=(0.4, 0.6),
    stated=0.5,
    rival=0,
    figure="fig-a-width",
    at={"p": [1024, 8192], "h": [100, 10000], "alpha": 1e-06},
)
def exponent_of_wide_networks(
    stripe=studies.amplification_scaling["wide"],
    narrow_stripe=studies.amplification_scaling["stripe_again"],
    cylinder=studies.amplification_scaling["wide_cylinder"],
    narrow_cylinder=studies.amplification_scaling["cylinder_again"],
    *,
    growth_from,
):
    r"""At paper A's own width, $h=10^4$, the amplification factor at $t^*$ grows as the square root of $p$ (stripe in
    $d=5$ and 10, and cylinder).

    exponent in $p$ from 1024 to 8192 points, $|N|$ divided out, $\alpha=10^{-6}$, mean of the three tasks: that of
    width 100 on all training sets plus the difference between the widths on the training sets that both have

    Rival: no noise: $\Lambda^*$ is set by $\alpha$ alone
    Source: paper A, Fig. 6 bottom and Fig. 8 top
    Short: exponent of $\Lambda^*$ at width $10^4$
    """
    wide, narrow = pd.concat([stripe, cylinder]), pd.concat([narrow_stripe, narrow_cylinder])
    wide = wide[wide.p >= growth_from]
    narrow = narrow[narrow.p.isin(set(wide.p))]
    if wide.p.nunique() < 2 or set(narrow.d) != set(wide.d):
        return None
    of_narrow = exponents_by_seed(narrow)
    difference = (exponents_by_seed(wide) - of_narrow).reindex(of_narrow.index)
    paired = difference.notna()
    if paired.sum() < 2:
        return None

    def exponent(sets):
        return sets[:, 0].mean() + sets[:, 1].sum() / sets[:, 2].sum()

    table = np.stack([of_narrow, difference.fillna(0), paired], axis=1).astype(float)
    return jackknife(table, exponent), wide, narrow[narrow.seed.isin(of_narrow.index)]
