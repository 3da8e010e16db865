"""Claims of chapter 5 on finite networks that learn a text: Table 1, Proposition 4, Example 1."""

import math

import numpy as np
import pandas as pd

from companion.book import stated
from companion.book.claims import again, claim
from companion.estimates import Drift, Estimate, exponent, mean, ratio, slopes
from companion.lab.parameters import PROFILES
from companion.papers.compression.theory.learning_curves import drift
from companion.papers.depth.studies import depth as studies

CHAPTER = "05"
STEPS = 20  # after which exponents in the width are judged
TARGETS = ["bigrams", "words"]  # frequencies of the next word, and the likeliest one


def _growing_with_the_width(trained, column):
    """The exponent of a column in the width, over all widths and over the larger half, and the rows after the steps."""

    def power(some):
        table = some.pivot_table(index="seed", columns="width", values=column)
        return exponent(table.columns.to_numpy(), table.to_numpy())

    rows = trained[trained.step == STEPS]
    return drift(power, rows.assign(p=rows.width)), rows


def width_exponents(trained: pd.DataFrame) -> pd.DataFrame:
    """The exponents in the width of the three measures of Table 1, a row for each training and number of steps.

    Args:
        trained: rows of ``studies.depth.text_training``.

    Returns:
        ``optimiser``, ``parametrisation``, ``rate``, ``targets``, ``step``, and the estimated exponents of ``norm``,
        ``largest`` and ``ratio``.

    Source: paper C, Tab. 1.
    """
    kinds = ["optimiser", "parametrisation", "rate", "targets", "step"]
    exponents = []
    for kind, rows in trained.groupby(kinds, dropna=False, sort=False):
        row = dict(zip(kinds, kind))
        for measure in ("norm", "largest", "ratio"):
            table = rows.pivot_table(index="seed", columns="width", values=measure)
            row[measure] = exponent(table.columns.to_numpy(), table.to_numpy())
        exponents.append(row)
    return pd.DataFrame(exponents)


@claim(
    "C.Tab1-individual",
    accept=(-math.inf, -0.1),
    rival=0.332,
    erratum="c-table-1",
    figure="tab-c-tab1",
    at={"optimiser": "gd"},
)
def largest_change_under_descent(trained=studies.text_training["gd_ntk"]):
    """In the lazy regime individual neurons tend to their initial values as the width grows (gradient descent, NTK
    parametrisation, 20 steps).

    Exponent of the largest change is negative, which excludes the lazy regime from Tab. 1.

    Rival: the paper's own Tab. 1: 0.0955 and 0.1375 at widths 10000 and 30000
    Elsewhere: targets of words -0.38
    Source: derived in this chapter, for paper C, Tab. 1
    Short: lazy regime, single neurons near their start
    """
    return _growing_with_the_width(trained, "largest")


@claim("C.Tab1-neurons", accept=(-math.inf, -0.1), rival=0, erratum="c-table-1", profiles=PROFILES, figure="tab-c-tab1")
def largest_change_of_the_table():
    """By Tab. 1 individual neurons stay closer to their initial values the wider the network.

    Exponent of the table's own largest changes, 0.0955 and 0.1375, in its two widths, 10000 and 30000.

    Rival: single neurons that move as far at every width
    Source: paper C, Sec. 5 on Tab. 1: "we observe that the individual neuron deviations are close to their initial
    value"
    Short: single neurons stay near their start
    """
    widths, largest = (np.array(stated.value(name), dtype=float) for name in ("C.widths", "C.largest"))
    return Estimate.exact(exponent(widths, largest[None, :]).value, 1e-3)


@claim("C.Tab1-norm", accept=(-0.15, 0.15), rival=-0.5, figure="tab-c-tab1", at={"optimiser": "gd", "targets": TARGETS})
def norm_of_the_change(frequencies=studies.text_training["gd_ntk"], words=studies.text_training["words"]):
    """As the width grows the norm of the last hidden layer's change does not vanish (gradient descent, NTK
    parametrisation, 20 steps), whether the targets are next-word frequencies or single next words, of norm one.

    Exponent of the norm in the width, the one of the two that is further from 0.

    Rival: a norm that vanishes as single neurons do
    Elsewhere: targets of zero -0.062
    Source: paper C, abstract: "the aggregate norm of these deviations does not" vanish; Sec. 5
    Short: norm of the layer's change against width
    """
    found = [_growing_with_the_width(trained, "norm") for trained in (frequencies, words)]
    (furthest, _) = max(found, key=lambda one: abs(_value(one[0])))
    return furthest, *(rows for _, rows in found)


def _value(measured):
    """The number that is judged: that of the larger widths, if there are several."""
    return measured.late.value if isinstance(measured, Drift) else measured.value


@claim(
    "C.Tab1-steps", accept=(0.2, math.inf), rival=0, erratum="c-table-1", figure="tab-c-tab1", at={"optimiser": "adam"}
)
def exponent_lost_in_training(trained=studies.text_training["adam_ntk"]):
    """The exponents of Tab. 1 depend on when training stops (Adam, NTK parametrisation).

    That of the norm after 1 step minus that after 80.

    Rival: exponents that belong to optimiser and parametrisation
    Elsewhere: standard parametrisation 0.78
    Source: derived in this chapter, for paper C, Tab. 1
    Short: exponents depend on when training stops
    """
    tables = [
        trained[trained.step == step].pivot_table(index="seed", columns="width", values="norm") for step in (1, 80)
    ]
    early, late = (slopes(table.columns.to_numpy(), table.to_numpy()) for table in tables)
    return mean(early - late), trained[trained.step.isin([1, 80])]


NARROWEST, BROADEST = 16, 4096  # widths of a last hidden layer between which exponents are judged
LAYER = {"n0": 10, "n": 20, "depth": 3, "width": [NARROWEST, BROADEST], "readout": "NTK"}


@claim(
    "C.Prop4-last-norm", accept=(-0.1, 0.1), rival=-0.5, figure="fig-c-last-layer", given={"column": "norm"}, at=LAYER
)
@again(
    "C.Prop4-last-inner",
    accept=(-0.25, 0.25),
    rival=(-1, r"the change of $\Sigma$, which the proof equates with the inner product: that over the width"),
    given={"column": "inner"},
    source="paper C, Prop. 4 and its proof",
    statement=(
        "With all other widths infinite the change of the inner product of two inputs' last hidden layers "
        "stays of order one."
    ),
    measure="Exponent of its mean size in the width, from 16 to 4096, labels fitted.",
    short="change of inner products, one finite layer",
)
@again(
    "C.Prop4-last-features",
    accept=(-1.15, -0.85),
    rival=(0, "features that evolve at every width"),
    erratum="c-proposition-4",
    given={"column": "relative"},
    source="derived in this chapter, for paper C, Prop. 4 and Sec. 5",
    statement=(
        "With all other widths infinite, too, the change of inner products relative to themselves "
        "vanishes like one over the width."
    ),
    measure="Exponent of the relative change in the width, from 16 to 4096, labels fitted.",
    short="relative change, one finite layer",
)
def motion_of_the_last_layer(layers=studies.finite_last_layer["main"], *, column):
    r"""With all other widths infinite the motion of the last hidden layer does not vanish with its width.

    Exponent of $\|h_t-h_0\|_2$ in the width, from 16 to 4096, labels fitted.

    Rival: neurons that move by one over the width
    Source: paper C, Sec. 5: "we study the layer norm variation $h_t$ when we have a finite dimension $n_{L-1}$"
    Short: norm of the last layer's motion
    """
    table = layers.pivot_table(index="seed", columns="width", values=column)
    return exponent(table.columns.to_numpy(), table.to_numpy()), layers


@claim("C.Prop4-last-law", accept=(0.95, 1.05), rival=1.3, figure="fig-c-last-layer", at=LAYER | {"width": BROADEST})
def motion_over_its_law(layers=studies.finite_last_layer["main"]):
    r"""The norm of the layer's motion has a closed law in the kernels and the initial outputs.

    Ratio to it at width 4096, geometric mean.

    Rival: the paper's $\partial_th_t$, in which the derivative of the last activation is missing
    Source: derived in this chapter, for paper C, Sec. 5
    Short: norm of the motion over its law
    """
    widest = layers[layers.width == BROADEST]
    return ratio((widest.norm / widest.law).to_numpy()), widest


@claim(
    "C.Prop4-cross",
    accept=(0.9, 1.1),
    stated=1,
    corrected=(0, 0.1),
    rival=0.022,
    erratum="c-concentrates",
    figure="fig-c-last-layer",
    at=LAYER | {"width": BROADEST},
)
def what_drives_a_neuron(networks=studies.finite_last_layer["networks"]):
    r"""In the second and third term of its expansion (1) the proof has $d_{s,i}(X)\to h_{0,i}(X)$, by "the law of large
    numbers".

    Size of $d_{s,i}=w_i(f_s-f^*)/\sqrt m$ over that of $h_{0,i}$ at $s=0$, width 4096, root mean squares over neurons
    and points, geometric mean.

    Rival: a sum of independent signs: $w_i$ is independent of $h_i$, and $d_i$ is of order $1/\sqrt m$
    Source: paper C, proof of Prop. 4: "where we used the law of large numbers in the third step"
    Short: what drives a neuron, over its output
    """
    widest = networks[networks.width == BROADEST]
    return ratio(widest.driver.to_numpy()), widest


@claim(
    "C.Prop4-concentrates",
    accept=(-math.inf, -0.3),
    corrected=(-0.15, 0.15),
    rival=0,
    erratum="c-concentrates",
    figure="fig-c-last-layer",
    at=LAYER | {"width": [256, BROADEST], "networks": 16},
)
def spread_of_the_change(networks=studies.finite_last_layer["networks"]):
    r"""The change of an inner product in training "concentrates tightly around its deterministic, infinite-width
    counterpart".

    Exponent in the width of its standard deviation over networks at the same points, from 256 to 4096, labels fitted; a
    mean over neurons would have $-1/2$.

    Rival: a sum over neurons of terms of either sign and of size $1/\sqrt m$, as random at every width
    Source: paper C, end of the proof of Prop. 4
    Short: spread over networks of the change
    """
    rows = networks[networks.width.isin([256, BROADEST])]
    table = rows.pivot_table(index="seed", columns="width", values="spread")
    return exponent(table.columns.to_numpy(), table.to_numpy()), rows


@claim(
    "C.Prop4-rows",
    accept=(0.3, 1),
    rival=0,
    erratum="c-proposition-4",
    figure="fig-c-last-layer",
    at=LAYER | {"width": BROADEST},
)
def change_against_kernel_rows(layers=studies.finite_last_layer["main"]):
    r"""A "high correlation between $\Theta^{(L-1)}_\infty(Xx)$ and $\Theta^{(L-1)}_\infty(Xx')$ drives a variation in
    statistical dependency": inner products of inputs with similar kernel rows change more.

    Correlation of the rows' cosine with the size of the change over pairs of fresh inputs, mean over widths from 64 on.

    Rival: labels and chance alone decide which inner products change
    Source: paper C, end of Sec. 5
    Short: kernel rows and change of inner products
    """
    of_wide_layers = layers[layers.width >= 64]
    return mean(of_wide_layers.groupby("seed")["rows"].mean().to_numpy()), of_wide_layers


@claim(
    "C.Ex1-norm",
    accept=(-0.001, 0.001),
    stated=0,
    corrected=(-0.501, -0.499),
    rival=-0.5,
    erratum="c-example-1",
    profiles=PROFILES,
    figure="tab-c-checked",
)
def norm_of_the_toy_layer():
    r"""The norm of a hidden layer of the toy network is $n^{-\alpha}$.

    Exponent in $n$ at $\alpha=0$.

    Rival: the Euclidean norm of $n$ neurons at $1/n$
    Source: paper C, Example 1
    Short: norm of the toy layer
    """
    widths = np.array([64, 256, 1024])
    norms = np.array([np.linalg.norm(np.full(width, 1 / width)) for width in widths])
    return Estimate.exact(exponent(widths, norms[None, :]).value, 1e-9)
