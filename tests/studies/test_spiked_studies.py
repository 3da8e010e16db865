"""Chapter 7's studies: parameters that make no sense are named before anything runs; seeds do not depend on chunks."""

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
        ({"res3_d": [40, 80, 120]}, r"res3_d and res3_seeds must be lists of one length, got \[3, 2\]"),
        ({"order_seeds": [4]}, "order_d and order_seeds must be lists of one length"),
        ({"pool_r": 0.0}, "pool_r must be a number from 0.1"),
        ({"net_lam": -0.1}, "net_lam must be a number from 1e-06"),
        ({"fig4_gammas": [0.5, 1.2]}, r"fig4_gammas\[1\] must be a number from -1 to 1"),
        ({"loss_noise": -1.0}, "loss_noise must be a number from 0"),
        ({"map_d": 0}, "map_d must be a whole number"),
        (
            {"net_alpha0": [4.0]},
            r"net_targets and net_alpha0 and net_step must be lists of one length, got \[5, 1, 5\]",
        ),
        ({"fig2_step": [3.0, 3.0, 3.0]}, "fig2_targets and fig2_lam and fig2_step must be lists of one length"),
        (
            {"fig2_targets": ["tanh", "tanh"], "fig2_lam": [0.1, 0.1], "fig2_step": [3.0, 3.0]},
            "fig2_targets with fig2_lam and fig2_step must",
        ),
        ({"steps_seeds": [4]}, "steps_d and steps_seeds must be lists of one length"),
        ({"steps_step": [4.0]}, "steps_targets and steps_alpha0 and steps_step must be lists of one length"),
        ({"steps_alpha0": [0.05, 8.0]}, "steps_alpha0 times steps_d must give each of steps_counts = 4 steps a sample"),
        (
            {"kernels_share": 0.99},
            "kernels_share must leave each batch one of the 40 samples of kernels_alphas times kernels_d, got 0.99",
        ),
        ({"kernels_d": [1000], "kernels_alphas": [100.0]}, "kernels_d = 1000 with kernels_alphas = 100 would take"),
        ({"net_seeds": [4]}, "net_d and net_seeds must be lists of one length"),
        ({"fig4_gamma": 1.7}, "fig4_gamma must be a number from -1 to 1, got 1.7"),
        ({"fig6_c": -1.0}, "fig6_c must be a number from 0.01"),
        ({"fig6_c": 0.5}, r"1 \+ u²\(fig6_c - 1\) for u = fig6_letters\[2\] = 2 must be a number above 0"),
        ({"res1_alpha0": 0.0}, "res1_alpha0 must be a number from 0.01"),
        ({"res1_alpha0": 0.01}, "res1_alpha0 must give at least one sample or neuron in res1_d = 50"),
        ({"map_alpha0": [0.0, 1.0]}, r"map_alpha0\[0\] must be a number from 0.01"),
        ({"loss_biases": []}, "loss_biases must hold at least 1 value"),
        ({"map_d": 10**4, "map_alpha0": [100.0]}, "map_d = 10000 with map_alpha0 = 100 and net_alpha = 1 would take"),
    ],
)
def test_parameters_that_make_no_sense_get_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        studies.resolve("07", "smoke", change)
    assert "\n" not in str(caught.value)


def test_a_grid_asks_for_the_memory_of_as_many_seeds_as_a_call_gets(monkeypatch):
    asked, seeds, values = {}, [], studies.resolve("07", "smoke")
    monkeypatch.setattr(spiked, "_needs_memory", lambda *at, chunk=spiked.CHUNK, **kind: seeds.append(chunk))
    for name, item in studies.of("07").items():
        seeds.clear()
        item.grid(values)
        asked[name] = set(seeds) - {item.chunk}
    assert not any(asked.values()), asked


STUDIES = [spiked.agreement, spiked.departure, spiked.gaussian_map, spiked.budget, spiked.images]


@pytest.mark.parametrize("one", [*STUDIES, spiked.several, spiked.kernels])
def test_a_seed_does_not_depend_on_its_chunk(one):
    values = studies.resolve("07", "smoke")
    setting = {name: value for name, value in one.grid(values)[0].items() if name != "seeds"}
    together = [row for row in one(setting, [0, 1]) if row["seed"] == 1]
    for row, alone in zip(together, one(setting, [1]), strict=True):
        for name, value in alone.items():
            assert row[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), name
