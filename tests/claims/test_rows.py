"""What claims and figures make of rows on the way to a number."""

import numpy as np
import pandas as pd
import pytest

from companion.papers.alignment.claims import alignment
from companion.papers.compression.claims import balance, learning_curves, planes
from companion.papers.compression.claims import compression as claims
from companion.papers.compression.theory.planes import gaussian_constant
from companion.papers.depth.claims import depth_kernel
from companion.papers.depth.claims.depth_training import width_exponents
from companion.papers.kernel_pca.claims import kernel_pca
from companion.papers.one_step.claims import reuse, spiked_features
from tests.claims.made import SEEDS, table


def test_half_a_test_point_is_wrong_where_none_is():
    rows = pd.DataFrame({"curve": ["final", "final", "feature"], "error": [0.0, 0.1, 0.0], "test": 500, "share": 0.9})
    assert learning_curves.curve_of(rows, "final", 0.9).error.tolist() == [0.001, 0.1]
    assert learning_curves.curve_of(rows[rows.error > 0].drop(columns="test"), "final").error.tolist() == [0.1]


def test_a_network_whose_training_has_ended_keeps_its_last_amplification():
    rows = pd.DataFrame({"time": [[0.0, 2.0], [0.0, 4.0]], "size": [[1.0, 3.0], [1.0, 9.0]]})
    assert claims.mean_course(rows, [0.0, 2.0, 4.0]) == pytest.approx([1.0, 4.0, 6.0])


def test_the_imbalance_at_which_the_amplification_has_halved():
    """Two seeds whose curves halve at 0.1 and 0.2 of a mean label; one that never halves is left out."""
    interfaces = [[-0.3, 1.18549], [-0.3, 0.9], [-0.3, 0.7]]
    rows = []
    for seed, halvings in ((0, 1.0), (1, 2.0), (2, 0.1)):
        for step, pair in enumerate(interfaces):
            for p in (100, 400):
                star = 8 * p * 0.5 ** (halvings * step)
                rows.append({"d": 4, "p": p, "seed": seed, "interfaces": pair, "star": star})
    rows = balance.unbalanced(pd.DataFrame(rows))
    imbalance = sorted(set(rows.imbalance))
    falls = balance.fall_of_the_amplification(rows, "imbalance")
    assert falls.to_dict() == pytest.approx({0: imbalance[1], 1: (imbalance[0] + imbalance[1]) / 2})
    assert balance.fall_of_the_amplification(rows)[0] == pytest.approx(2 * imbalance[1])


def test_unequal_labels_are_warned_of():
    assert "planes are selected" in balance.balance_in_words([-0.3, 1.18549], [5, 10])
    assert "WARNING: in d = 20 a constant" in balance.balance_in_words([-0.3, 0.95], [5, 10, 20])


def test_the_power_of_the_distance_is_that_of_the_last_share_before_the_end():
    powers = {"start": 1, "0.5": 2, "0.9": -0.5, "end": 3}
    rows = [
        {"moment": moment, "amplification": factor, "departure": 0.1 * factor**power}
        for moment, power in powers.items()
        for factor in (10, 20, 50)
    ]
    assert kernel_pca.departure_power(pd.DataFrame(rows)) == pytest.approx(-0.5)


def test_the_exponents_of_table_1_are_found_for_each_training_and_step():
    """A power of the width for each; trainings without a rate of their own are one kind."""
    powers = {"gd": -0.5, "adam": 0.4}

    def fill(row):
        power = powers[row.optimiser]
        return {"norm": row.width**power, "largest": row.width ** (power - row.step / 10), "ratio": 1.0}

    axes = {"optimiser": tuple(powers), "parametrisation": ("ntk",), "rate": (None,), "targets": ("zero",)}
    rows = table(fill, scatter=1e-4, step=(1, 5), width=(64, 128, 256), seed=SEEDS, **axes)
    result = width_exponents(rows).set_index(["optimiser", "step"])
    assert len(result) == 4
    for (optimiser, step), exponents in result.iterrows():
        assert exponents.norm.value == pytest.approx(powers[optimiser], abs=1e-3)
        assert exponents.largest.value == pytest.approx(powers[optimiser] - step / 10, abs=1e-3)
        assert exponents.ratio.value == pytest.approx(0, abs=1e-3)


def test_the_networks_that_become_unstable_are_counted_at_the_largest_scale():
    """Those of other scales, of the other layer, and what happens after step 5 do not count."""

    def loss(row):
        return 3.0 if (row.scale == 1 and row.step == 5 and row.seed % 4 == 0) or row.step == 20 else 2 - 0.1 * row.step

    axes = {"seed": SEEDS, "scale": (1.0, 0.1, 0.01), "layer": (1, 2), "step": (0, 5, 20)}
    assert alignment.share_unstable(table(lambda row: {"train_loss": loss(row)}, scatter=0, **axes)) == 0.25


def test_a_growing_step_has_the_strength_of_its_row_there():
    """At the row's own width, and where the step keeps its size in units of the width, only the width differs."""
    row = {"activation": "tanh", "target": "He1+He3", "alpha0": 16.0, "alpha": 4.0, "lam": 0.1, "d": 100, "r": 0.8}
    row |= {"values": [0.5, 2.0]}
    slow, fast = (
        [spiked_features.error_of_growing_step(row | {"exponent": s}, p) for p in (100, 400)] for s in (0.5, 1.0)
    )
    assert slow[0] == pytest.approx(fast[0])
    assert fast[1] < fast[0] < slow[1], "a spike that weakens learns less"


def test_made_rows_scatter_as_asked():
    rows = table(lambda row: {"x": 2.0, "words": "a", "list": [1.0]}, scatter=0.1, size=(1, 2), seed=range(400))
    assert rows.x.std() == pytest.approx(0.2, rel=0.1) and rows.x.mean() == pytest.approx(2, abs=0.03)
    assert set(rows.words) == {"a"} and rows.list.map(len).eq(1).all() and len(rows) == 800
    other = table(lambda row: {"x": 2.0}, scatter=0.1, draw=1, size=(1, 2), seed=range(400))
    assert not np.isclose(rows.x, other.x).any()


def test_points_that_are_left_to_fit_are_counted_whole():
    """Of 100 points ten are left at nine tenths, though 0.9 times 100 is no whole number to the last bit; at the end
    one direction's share stands for none."""
    rows = pd.DataFrame({"p": 100, "d": 2, "share": [0.9, 0.29, 1.0], "error": 0.02, "interfaces": [[0.0]] * 3})
    found = planes.unfitted(rows)
    assert [*found.left] == [10, 71, 0] and [*found.per_direction] == [5, 35.5, 0]
    assert [*found.reduced] == pytest.approx([1, 1, 1])
    assert [*found.constant] == pytest.approx([5**-0.5, 35.5**-0.5, 0.5**-0.5]) and [*found.per_pair] == [10, 71, 0]
    assert [*found.over_law * gaussian_constant([0.0], 2)] == pytest.approx([*found.constant])


def test_an_example_is_at_the_angles_of_its_words(monkeypatch):
    """The chance is 1 at any angle nearby: of 2^30 points of 128 coordinates, at 0.72 and at Cai's bound."""
    asked = []
    monkeypatch.setattr(depth_kernel.pairs, "chance_of_pair", lambda *at: asked.append(at) or 1.0)
    depth_kernel.chance_of_nearby_inputs()
    assert [at[:2] for at in asked] == [(2**30, 128)] * 2
    cosines = [1 - np.cos(angle) for *_, angle in asked]
    assert cosines == pytest.approx([2 ** (-59 / 127), 2 ** (-60 / 127)], rel=1e-3)


@pytest.mark.parametrize(("ratios", "crossing"), [
    ([2.0, 1.0, 0.5], 2.0), ([4.0, 2.0, 0.5], 2 * 2**0.5), ([3.0, 2.0, 1.5], np.inf), ([0.5, 0.4, 0.3], 1.0),
])  # fmt: skip
def test_where_a_falling_ratio_meets_one(ratios, crossing):
    """On logarithmic axes: at a point, between two, nowhere, before the first."""
    assert reuse._crossing(np.array(ratios), np.array([1.0, 2.0, 4.0])) == pytest.approx(crossing)
