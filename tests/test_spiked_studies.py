"""Chapter 7's studies: parameters that make no sense are named before anything runs; seeds do not depend on chunks."""

import pytest

from regimes import studies
from regimes.check import InputError
from regimes.studies import spiked


@pytest.mark.parametrize(
    "change, message",
    [
        ({"activation": "relu"}, "relu is not odd"),
        ({"activation": "step"}, "activation must be one of"),
        ({"fig2_targets": ["tanh", "cosh"]}, "fig2_targets must be one of"),
        ({"fig5_betas": [0.5, 0.0]}, "fig5_betas must be a number above 0"),
        ({"res3_alphas": [-1.0]}, "res3_alphas must be a number above 0"),
        ({"net_lam": -0.1}, "net_lam must be a number above 0"),
        ({"fig4_gammas": [0.5, 1.2]}, "cosine between spike and target"),
        ({"loss_noise": -1.0}, "loss_noise must be a number of at least 0"),
        ({"map_d": 0}, "map_d must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense_get_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        studies.resolve("07", "smoke", change)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("one", [spiked.agreement, spiked.departure, spiked.gaussian_map])
def test_a_seed_does_not_depend_on_its_chunk(one):
    values = studies.resolve("07", "smoke")
    setting = {name: value for name, value in one.grid(values)[0].items() if name != "seeds"}
    together = [row for row in one(setting, [0, 1]) if row["seed"] == 1]
    for row, alone in zip(together, one(setting, [1]), strict=True):
        for name, value in alone.items():
            assert row[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), name
