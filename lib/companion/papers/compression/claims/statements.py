r"""Claims of chapter 1 on single statements: large scales, kernels that know the invariant, the cylinder."""

import numpy as np

from companion.book.claims import claim
from companion.estimates import exponent, mean, ratio
from companion.papers.compression.claims.learning_curves import curve_of
from companion.papers.compression.studies import lazy_feature as studies

CHAPTER = "01"
ALONE = 1e6  # a compression that all but removes the uninformative directions
ENOUGH = 1024  # points, as of the other claims on curved boundaries
EARLY = 0.1  # the fitted fraction at t*


@claim("A.Fig12-lazy-amplification", accept=(0.95, 1.05), stated=1, rival=32, figure="fig-a-fig12", at={"alpha": 1e8})
def amplification_when_lazy(scans=studies.scale_scan["main"]):
    r"""For $\alpha\to\infty$ "the global amplification factor equals one" (stripe, $d=10$).

    $\Lambda^*$ at $\alpha=10^8$, about 1000 points

    Rival: that of feature learning, at $\alpha=10^{-6}$
    Source: paper A, App. B
    Short: $\Lambda^*$ at the largest scale
    """
    rows = scans[(scans.p == scans.p.max()) & (scans.alpha == scans.alpha.max())]
    return mean(rows.amplification_star), rows


@claim(
    "B.Sec5-informative-alone",
    accept=(1.1, np.inf),
    rival=1,
    figure="fig-a-curved",
    at={"d": 8, "d_parallel": [2, 3, 4]},
)
def plain_over_informative(
    disc=studies.support_vectors["disc"], ball=studies.support_vectors["ball"], ball_4=studies.support_vectors["ball_4"]
):
    r"""Kernels that depend on the informative coordinates only "would perform better ... than isotropic kernels"
    (curved boundaries of two, three and four informative directions of eight).

    error of the support vector machine on plain data over that with the others removed ($\Lambda=10^6$), from 1024
    points on, geometric mean over sizes; the least of the three

    Rival: the others do no harm
    Source: paper B, Sec. 5: "Clearly kernel methods whose kernel are designed to only depends on $x_\parallel$"
    Short: error, all directions over informative ones alone
    """
    found = []
    for rows in (disc, ball, ball_4):
        rows = rows[rows.p >= ENOUGH]
        if rows.seed.nunique() < 2:
            return None
        logs = np.log(rows.pivot(index=["seed", "p"], columns="factor", values="error"))
        found.append(ratio(np.exp((logs[1.0] - logs[ALONE]).groupby("seed").mean())))
    return min(found, key=lambda one: one.value), disc, ball, ball_4


@claim(
    "A.Fig8-star-trend",
    kind="beyond",
    accept=(-np.inf, -0.02),
    rival=0,
    figure="fig-a-fig8",
    at={"d": 3, "p": [512, 8192], "h": 10000},
)
def trend_of_the_ring_star(
    nets=studies.networks["wide_cylinder"], initial=studies.infinite_width_lazy["cylinder_networks"]
):
    r"""On the cylinder the disadvantage of the kernel frozen at $t^*$ vanishes with the number of points.

    exponent in $p$ of its test error over that of the infinitely wide initial kernel, 512 to 8192 points, width $10^4$

    Rival: a constant factor
    Source: paper A, Fig. 8 and Sec. 4
    Short: kernel at $t^*$ over initial, exponent, cylinder
    """
    ratios = star_over_initial(nets, initial)
    if len(ratios) < 2 or ratios.shape[1] < 2:
        return None
    return exponent(ratios.columns.to_numpy(dtype=float), ratios.to_numpy())


def star_over_initial(nets, initial):
    """The error of the kernel frozen at ``t*`` over that of the initial one: a row per seed, a column per size."""
    at_star = curve_of(nets, "final", EARLY)
    pairs = at_star.merge(initial[["d", "p", "seed", "error"]], on=["d", "p", "seed"], suffixes=("", "_initial"))
    pairs = pairs.assign(ratio=pairs.error / pairs.error_initial)
    return pairs.pivot(index="seed", columns="p", values="ratio").dropna()
