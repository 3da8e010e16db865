"""Headline claims of chapter 6 on made rows: reproduced where the statement is true, not where the rival is."""

import itertools

import numpy as np
import pandas as pd
import pytest

from companion.book import ledger
from companion.papers.alignment.claims import alignment

SCALES = (1.0, 0.1, 0.01, 0.001)
ALPHAS = (1e-6, 1.0, 1e4)
SEEDS = range(12)


def verdict(name, **tables):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **tables})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate.anytime() if claim.looks > 1 else estimate, "laptop")


def table(fill, **axes):
    """A row for each combination of axes, with the columns that ``fill`` gives it, each with a scatter of its own."""
    rng, rows = np.random.default_rng(0), []
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, values))
        columns = fill(**row)
        rows.append(row | {name: value + 0.004 * rng.standard_normal() for name, value in columns.items()})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("name", "column"), [("agop", "uc"), ("random", "random")])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_correlation_of_a_trained_network(name, column, swapped):
    """The rival of each is the other; the second layer has values of neither."""
    own, other = (0.93, 0.53) if (column == "uc") != swapped else (0.53, 0.93)
    columns = {column: own, "random" if column == "uc" else "uc": other, "spread": 5.9, "egop_agop": 0.7}
    rows = table(lambda seed, layer: columns if layer == 1 else dict.fromkeys(columns, 0.2), seed=SEEDS, layer=(1, 2))
    assert verdict(f"D.Fig1-{name}", trained=rows) == ("not reproduced" if swapped else "reproduced")


@pytest.mark.parametrize(("least", "expected"), [(0.85, "reproduced"), (0.53, "not reproduced")])
def test_the_centred_alignment_at_step_5(least, expected):
    """One scale of one layer has the least; later it is low everywhere."""

    def fill(seed, scale, layer, step):
        early = least if (scale, layer) == (0.01, 2) else 0.95
        return {"c": early if step == 5 else 0.3, "uc": 0.4}

    rows = table(fill, seed=SEEDS, scale=SCALES, layer=(1, 2), step=(0, 5, 20))
    assert verdict("D.Fig2-cnfa", first_steps=rows) == expected


@pytest.mark.parametrize(
    ("least", "expected"), [(0.8, "reproduced"), (0.6, "not reproduced"), (0.53, "not reproduced")]
)
def test_the_centred_alignment_over_the_course(least, expected):
    """One layer has the least on the way; at the end, and at another scale, it is the other way round."""

    def fill(seed, scale, layer, step):
        return {"c": least if (scale, step, layer) == (0.1, 120, 2) else 0.4 if scale == 1 or step == 0 else 0.9}

    rows = table(fill, seed=SEEDS, scale=SCALES, layer=(1, 2), step=(0, 5, 120, 800))
    assert verdict("D.Fig2-throughout-tenth", rows=rows) == expected


@pytest.mark.parametrize(("large", "expected"), [(0.2, "reproduced"), (0.8, "not reproduced")])
def test_the_double_centred_ratio_in_the_scale(large, expected):
    """In one layer it does not fall if the rival is true; early it is the other way round."""

    def fill(seed, scale, layer, step):
        end = {1.0: large if layer == 2 else 0.2, 0.001: 0.8}.get(scale, 0.5)
        return {"double": end if step == 800 else 1 - end}

    rows = table(fill, seed=SEEDS, scale=SCALES, layer=(1, 2), step=(5, 800))
    assert verdict("D.AppB-large", throughout=rows) == expected


@pytest.mark.parametrize(("stripe", "expected"), [(0.8, "reproduced"), (0.5, "not reproduced")])
def test_the_lazy_end_of_two_tasks(stripe, expected):
    def fill(seed, task, layer, remains):
        return {"c": 1.3 - stripe if layer == 2 or remains > 0.01 else stripe if task == "stripe" else 0.5}

    rows = table(fill, seed=SEEDS, task=("stripe", "isotropic"), layer=(1, 2), remains=(1.0, 0.1, 0.01))
    assert verdict("D.Lazy-task", tasks=rows) == expected


def stripe(**of_ends):
    """Rows of the flow on the stripe: columns of functions of the output scale at the end; 0.1 before."""

    def fill(seed, alpha, moment):
        columns = {name: function(alpha) if moment == "end" else 0.1 for name, function in of_ends.items()}
        return columns | {"t": {"path": 1.0, "star": 2.0, "late": 3.0, "end": 4.0}[moment]}

    return table(fill, seed=SEEDS, alpha=ALPHAS, moment=("path", "star", "late", "end"))


@pytest.mark.parametrize(("value", "expected"), [(0.86, "reproduced"), (0.45, "not reproduced")])
def test_the_centred_alignment_of_lazy_training(value, expected):
    rows = stripe(c=lambda alpha: value if alpha == 1e4 else 1.3 - value, uc=lambda alpha: 0.6)
    assert verdict("D.Stripe-lazy", stripes=rows) == expected


@pytest.mark.parametrize(("feature", "expected"), [(0.95, "reproduced"), (0.45, "not reproduced")])
def test_the_uncentred_alignment_of_feature_and_lazy_training(feature, expected):
    rows = stripe(uc=lambda alpha: {1e-6: feature, 1.0: 1.4 - feature, 1e4: 0.45}[alpha], c=lambda alpha: 0.9)
    assert verdict("D.Stripe-uncentred", stripes=rows) == expected


@pytest.mark.parametrize(("off", "expected"), [(0.01, "reproduced"), (0.24, "not reproduced")])
def test_the_prediction_of_single_networks(off, expected):
    """Observed lies above or below the prediction by as much; smaller networks do the contrary."""

    def fill(seed, n, balance, floor, network):
        own = off if n == 1024 else 0.25 - off
        return {"observed": 0.7 + (own if network % 2 else -own), "predicted": 0.7, "printed": 1.2, "first_order": 0.5}

    rows = table(fill, seed=SEEDS, n=(256, 1024), balance=(0.25, 0.5), floor=(0.1, 1.0), network=range(4))
    assert verdict("D.Fig3-well-posed", spike_free=rows) == expected


@pytest.mark.parametrize(("printed", "expected"), [(1.0, "reproduced"), (1.18, "corrected")])
def test_the_trace_of_equation_28(printed, expected):
    rows = table(lambda seed: {"eq20": 1.2, "eq22": 0.8, "eq28": 2.18 - printed, "eq28_printed": printed}, seed=SEEDS)
    assert verdict("D.Eq28-free", traces=rows) == expected


@pytest.mark.parametrize(("printed", "expected"), [(0.02, "reproduced"), (2.2, "corrected")])
def test_the_expectation_of_proposition_10(printed, expected):
    columns = {"agop_printed": printed, "agop": 2.2 - printed, "nfm": 0.3, "agop_printed_ratio": 1.0}
    assert verdict("D.Prop10-expectation", expectations=table(lambda seed: columns, seed=SEEDS)) == expected


@pytest.mark.parametrize(("off", "expected"), [(0.1, "reproduced"), (0.012, "not reproduced")])
def test_the_first_order_of_relu_networks(off, expected):
    """At the larger width; the smaller one, and quadratic networks, do the contrary."""

    def fill(seed, sigma, target, decay, k):
        own = off if (sigma, k) == ("relu", 1024) else 0.112 - off
        return {"observed": 0.8 + own, "predicted": 0.8, "residual": 0.5, "apart": 0.1}

    rows = table(
        fill, seed=SEEDS, sigma=("quadratic", "relu"), target=("low rank", "high rank"), decay=(0.0, 1.0), k=(128, 1024)
    )
    assert verdict("D.Fig6-relu", decays=rows) == expected


def test_the_networks_that_become_unstable_are_counted_at_the_largest_scale():
    """Those of other scales, of the other layer, and what happens after step 5 do not count."""

    def loss(seed, scale, layer, step):
        return 3.0 if (scale == 1 and step == 5 and seed % 4 == 0) or step == 20 else 2.0 - 0.1 * step

    axes = itertools.product(range(12), SCALES, (1, 2), (0, 5, 20))
    rows = [dict(zip(("seed", "scale", "layer", "step"), one)) | {"train_loss": loss(*one)} for one in axes]
    assert alignment.share_unstable(pd.DataFrame(rows)) == 0.25


@pytest.mark.parametrize(("slowest", "steps"), [(1.0, {1.0: 40, 0.1: 20}), (2.0, {1.0: 40, 0.1: 20})])
def test_networks_are_compared_at_equal_loss(slowest, steps):
    """At 0.03, or at the loss that all of them reach."""
    rows = [
        {"seed": seed, "scale": scale, "layer": layer, "step": step, "train_loss": factor * slowest * 0.6 / step}
        for seed, (scale, factor), layer, step in itertools.product(
            range(2), {1.0: 2, 0.1: 1}.items(), (1, 2), (10, 20, 40)
        )
    ]
    result = alignment.at_equal_loss(pd.DataFrame(rows))
    assert len(result) == 4 and set(result.layer) == {1}
    assert result.groupby("scale").step.unique().map(list).to_dict() == {scale: [step] for scale, step in steps.items()}


def courses_of(layer, dip, end, scale=0.1):
    """C-NFA of a layer that starts at 0.95, falls by ``dip`` and ends at ``end``, over a law that ends at 0.8."""
    rows = []
    for other, seed in itertools.product((1, 2), range(6)):
        # of the other layer the dip and the end are others
        own = (0.95 - dip, end) if other == layer else (0.6 + dip, 1.6 - end)
        for step, c, law in ((0, 0.95, 0.95), (5, 0.95, 0.95), (400, own[0], 0.9), (3200, own[1], 0.8)):
            row = {"scale": scale, "layer": other, "seed": seed, "step": step, "frozen": law}
            rows.append(row | {"c": c + 1e-3 * np.random.default_rng([seed, step]).normal()})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("dip", "expected"), [(0.02, "reproduced"), (0.3, "not reproduced")])
def test_what_the_second_layer_regains(dip, expected):
    assert verdict("D.Fig2-second-regained", rows=courses_of(2, dip, 0.95)) == expected
    assert verdict("D.Fig2-regained", rows=courses_of(1, 0.37 - dip, 0.95)) == "reproduced"


@pytest.mark.parametrize(("end", "expected"), [(0.95, "reproduced"), (0.8, "not reproduced")])
def test_what_the_second_layer_has_beyond_its_law(end, expected):
    assert verdict("D.Fig2-second-features", rows=courses_of(2, 0.02, end)) == expected
    assert verdict("D.Fig2-second-large", rows=courses_of(2, 0.02, end, scale=1.0)) == expected


@pytest.mark.parametrize(("dip", "expected"), [(0.1, "reproduced"), (0.4, "not reproduced")])
def test_what_the_second_layer_keeps(dip, expected):
    assert verdict("D.Fig2-throughout-slow", rows=courses_of(2, dip, 0.95, scale=1.0)) == expected
