r"""Claims of chapter 2 on unequal labels: when a constant fits the first tenth, and planes are not selected."""

import numpy as np
import pandas as pd

from companion.book.claims import claim
from companion.estimates import mean, ratio
from companion.papers.compression.studies.compression import amplification_scaling
from companion.papers.compression.theory import Stripe

CHAPTER = "02"
FALLEN = 0.5  # of the amplification of balanced labels
UNEQUAL = 0.5  # mean label in units of 1/√d, well above which a constant is fitted first


def unbalanced(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of stripes with their mean label, ``imbalance``, and that times ``√d``, ``scaled``."""
    labels = [abs(Stripe(planes, int(d)).mean_label()) for planes, d in zip(rows.interfaces, rows.d)]
    rows = rows.assign(imbalance=np.round(labels, 3))
    return rows.assign(scaled=rows.imbalance * np.sqrt(rows.d))


def relative_amplification(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    r"""The logarithm of :math:`\Lambda^*` over that of balanced labels: one row per seed, one column per imbalance.

    Args:
        rows: of one dimension, as of :func:`unbalanced`; their sizes are averaged over.
        column: the imbalance.
    """
    logs = np.log(rows.star).groupby([rows.seed, rows[column]]).mean().unstack(column)
    return logs.sub(logs.iloc[:, 0], axis=0)


def fall_of_the_amplification(rows: pd.DataFrame, column: str = "scaled") -> pd.Series:
    r"""The imbalance at which :math:`\Lambda^*` has first fallen to half of that of balanced labels, one per seed.

    Geometric mean over sizes; the logarithm is interpolated between stripes. A seed where it never falls is left out.

    Args:
        rows: of one dimension, as of :func:`unbalanced`.
        column: the imbalance.
    """
    falls = {seed: _first_below(curve) for seed, curve in relative_amplification(rows, column).iterrows()}
    return pd.Series(falls, dtype=float).dropna()


def _first_below(curve: pd.Series) -> float:
    """Where a falling curve of logarithms first passes that of ``FALLEN``; NaN where it never does."""
    below = np.flatnonzero(curve.to_numpy() < np.log(FALLEN))
    if not len(below):
        return np.nan
    around = curve.iloc[below[0] - 1 : below[0] + 1]
    return float(np.interp(np.log(FALLEN), around.to_numpy()[::-1], around.index.to_numpy()[::-1]))


@claim(
    "A.Sec3-balance-d5",
    accept=(0.32, 0.44),
    rival=0.175,
    headline=True,
    figure="fig-a-balance",
    given={"d": 5, "theory": 0.392},
    at={"d": 5, "p": 4096},
)
def imbalance_at_the_fall(balance=amplification_scaling["balance"], *, d, theory):
    r"""Planes are selected until $t^*$ only if the labels balance to within about $0.4/\sqrt d$ (stripe, $d={d}$).

    mean label times $\sqrt d$ at which $\Lambda^*$ has half of its value for balanced labels, as the right plane moves
    inwards; the growth rates of the fixed points cross at {theory} (1024 to 4096 points, width 100)

    Rival: no dependence on $d$: the mean label of $d=20$
    Source: derived from paper A, Sec. 3.2.1, whose planes have $\langle y\rangle=0$
    Short: $\langle y\rangle\sqrt d$ where $\Lambda^*$ falls, $d={d}$
    """
    rows = balance[balance.d == d]
    if rows.empty:
        return None
    falls = fall_of_the_amplification(unbalanced(rows))
    return (mean(falls), rows) if len(falls) > 1 else None


@claim("A.Sec3-balance-dimension", accept=(1.6, 2.8), rival=1, figure="fig-a-balance", at={"d": [5, 20], "p": 4096})
def fall_in_two_dimensions(balance=amplification_scaling["balance"]):
    r"""The limit of the mean label falls as $1/\sqrt d$.

    mean label at which $\Lambda^*$ has half of its value for balanced labels in $d=5$, over that in $d=20$; theory:
    2.24 (1024 to 4096 points, width 100)

    Rival: one mean label, whatever the dimension
    Source: derived from paper A, Sec. 3.2.1, whose planes have $\langle y\rangle=0$
    Short: $\langle y\rangle$ where $\Lambda^*$ falls, $d=5$ over 20
    """
    falls = {d: fall_of_the_amplification(unbalanced(rows), "imbalance") for d, rows in balance.groupby("d")}
    ratios = (falls.get(5, pd.Series(dtype=float)) / falls.get(20, pd.Series(dtype=float))).dropna()
    return (ratio(ratios), balance) if len(ratios) > 1 else None


@claim("A.Sec3-balance-constant", accept=(0.85, 1.2), rival=5, figure="fig-a-balance", at={"d": [5, 20], "p": 4096})
def constant_of_unequal_labels(balance=amplification_scaling["balance"]):
    r"""Where the labels do not balance, $\Lambda^*$ is that of neurons that are active on all points.

    measured over predicted $\Lambda^*$ of the fastest fixed point, at $\langle y\rangle\sqrt d\ge0.5$, $d=5$ and 20,
    1024 to 4096 points

    Rival: the neurons of the balanced stripe's fixed point still set it
    Source: derived from paper A, Sec. 3.2.1, whose planes have $\langle y\rangle=0$
    Short: $\Lambda^*$ over theory, unequal labels
    """
    rows = unbalanced(balance)
    rows = rows[rows.scaled >= UNEQUAL]
    if rows.seed.nunique() < 2:
        return None
    logs = np.log(rows.star / rows.predicted).groupby(rows.seed).mean()
    return ratio(np.exp(logs)), rows


def balance_in_words(interfaces, dimensions) -> str:
    r"""What these planes mean for :math:`t^*`: whether planes are selected, in each dimension, in a sentence.

    Args:
        interfaces: where the label changes.
        dimensions: of the inputs.
    """
    imbalance = {d: abs(Stripe(interfaces, d).mean_label()) * np.sqrt(d) for d in dimensions}
    not_selected = [d for d in dimensions if not Stripe(interfaces, d).selects()]
    values = " and ".join(f"{value:.2f} in d = {d}" for d, value in imbalance.items())
    if not not_selected:
        return f"it is {values}: planes are selected"
    where = " and ".join(f"d = {d}" for d in not_selected)
    return f"it is {values}. WARNING: in {where} a constant fits the first tenth, and t* selects no planes"
