"""Chapter 7's studies: parameters that make no sense are named before anything runs; seeds do not depend on chunks."""

import inspect

import pytest

from companion import studies
from companion.studies import spiked
from regimes.validate import InputError


@pytest.mark.parametrize(
    "change, message",
    [
        ({"activation": "relu"}, "activation must be one of"),
        ({"activation": "step"}, "activation must be one of"),
        ({"fig2_targets": ["tanh", "cosh"]}, r"fig2_targets\[1\] must be one of"),
        ({"fig5_betas": [0.5, 0.0]}, r"fig5_betas\[1\] must be a number from 0.01"),
        ({"split_shares": [0.5, 1.0]}, r"split_shares\[1\] must be a number from 0.01 to 0.99"),
        ({"image_n0": 2001}, "image_n0 must be a whole number from 1 to 2000"),
        (
            {"res3_d": [40, 80, 120]},
            r"d = \$res3_d, seeds = \$res3_seeds\): d and seeds are zipped and must hold as many values",
        ),
        ({"order_seeds": [4]}, r"07.departure.order \(d = \$order_d, seeds = \$order_seeds\): d and seeds are zipped"),
        ({"pool_r": 0.0}, "pool_r must be a number from 0.1"),
        ({"net_lam": -0.1}, "net_lam must be a number from 1e-06"),
        ({"fig4_gammas": [0.5, 1.2]}, r"fig4_gammas\[1\] must be a number from -1 to 1"),
        ({"loss_noise": -1.0}, "loss_noise must be a number from 0"),
        ({"map_d": 0}, "map_d must be a whole number"),
        (
            {"net_alpha0": [4.0]},
            r"target and alpha0 and step are zipped and must hold as many values",
        ),
        ({"fig2_step": [3.0, 3.0, 3.0]}, r"target and lam and step are zipped"),
        (
            {"fig2_targets": ["tanh", "tanh"], "fig2_lam": [0.1, 0.1], "fig2_step": [3.0, 3.0]},
            r"07.learning_curves.main .*: two of its settings are the same",
        ),
        ({"steps_seeds": [4]}, r"d = \$steps_d, seeds = \$steps_seeds\): d and seeds are"),
        ({"steps_step": [4.0]}, r"alpha0 = \$steps_alpha0, step = \$steps_step\): target and"),
        ({"steps_alpha0": [0.05, 8.0]}, "steps_alpha0 times steps_d must give each of steps_counts = 4 steps a sample"),
        (
            {"kernels_share": 0.99},
            "kernels_share must leave each batch one of the 40 samples of kernels_alphas times kernels_d, got 0.99",
        ),
        ({"kernels_d": [1000], "kernels_alphas": [100.0]}, r"d = \$kernels_d\): d = 1000 with alphas = 100 would take"),
        ({"net_seeds": [4]}, r"d = \$net_d, seeds = \$net_seeds\): d and seeds"),
        ({"fig4_gamma": 1.7}, "fig4_gamma must be a number from -1 to 1, got 1.7"),
        ({"fig6_c": -1.0}, "fig6_c must be a number from 0.01"),
        ({"fig6_c": 0.5}, r"1 \+ u²\(fig6_c - 1\) for u = fig6_letters\[2\] = 2 must be a number above 0"),
        ({"res1_alpha0": 0.0}, "res1_alpha0 must be a number from 0.01"),
        ({"res1_alpha0": 0.01}, r"alpha0 = \$res1_alpha0, .*alpha0 must give at least one sample"),
        ({"map_alpha0": [0.0, 1.0]}, r"map_alpha0\[0\] must be a number from 0.01"),
        ({"loss_biases": []}, "loss_biases must hold at least 1 value"),
        ({"map_d": 10**4, "map_alpha0": [100.0]}, r"d = \$map_d\): d = 10000 with alpha0 = 100 with alpha = 1"),
    ],
)
def test_parameters_that_make_no_sense_get_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        studies.resolve("07", "smoke", change)
    assert "\n" not in str(caught.value)


def test_a_grid_asks_for_the_memory_of_as_many_seeds_as_a_call_gets():
    asked = {}
    for item in studies.of("07").values():
        known = inspect.getclosurevars(item.grid.complete).nonlocals
        asked |= {item: known["chunk"]} if "chunk" in known else {}
    assert len(asked) > 10 and all(item.chunk == chunk for item, chunk in asked.items())


STUDIES = [spiked.agreement, spiked.departure, spiked.gaussian_map, spiked.budget, spiked.images]


@pytest.mark.parametrize("one", [*STUDIES, spiked.several, spiked.kernels])
def test_a_seed_does_not_depend_on_its_chunk(one):
    values = studies.resolve("07", "smoke")
    setting = {name: value for name, value in one.grid(values)[0].items() if name != "seeds"}
    together = [row for row in one(setting, [0, 1]) if row["seed"] == 1]
    for row, alone in zip(together, one(setting, [1]), strict=True):
        for name, value in alone.items():
            assert row[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), name
