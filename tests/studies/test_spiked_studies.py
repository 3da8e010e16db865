"""Chapter 7's studies: parameters that make no sense are named before anything runs; seeds do not depend on chunks."""

import pytest

from companion.lab import catalogue, parameters
from companion.papers.one_step.studies import spiked
from regimes.validate import InputError
from tests.sizes import computable


@pytest.mark.parametrize(
    "change, message",
    [
        ({"activation": "relu"}, "activation must be one of"),
        ({"fig2_targets": ["tanh", "cosh"]}, r"fig2_targets\[1\] must be one of"),
        ({"fig2_alpha0": [-1.0]}, r"fig2_alpha0\[0\] must be a number from 0 to 100"),
        ({"fig2_targets": ["tanh", "sign", "sin"]}, r"target and lam and step are zipped"),
        (
            {"fig2_targets": ["tanh", "tanh"], "07.learning_curves.main.lam": [0.1, 0.1]},
            "07.learning_curves.main .*: two of its settings are the same",
        ),
        ({"net_seeds": [4]}, r"07.departure.size \(d = \$net_d, seeds = \$net_seeds\): d and seeds are zipped"),
        ({"07.widths.main.beta": [0.5, 0.0]}, r"07.widths.main.beta\[1\] must be a number from 0.01"),
        ({"07.reuse.shared.share": 1.0}, r"07.reuse.shared.share must be a number from 0.01 to 0.99"),
        ({"07.white_images.main.n0": 2001}, "07.white_images.main.n0 must be a whole number from 1 to 2000"),
        (
            {"07.agreement.main.d": [40, 80, 120]},
            "07.agreement.main: d and seeds are zipped and must hold as many values",
        ),
        ({"07.departure.size.seeds": [4]}, "07.departure.size .*: d and seeds are zipped"),
        ({"07.departure.size.alpha0": [4.0]}, "target and alpha0 and step are zipped and must hold as many values"),
        ({"07.departure.map.alpha0": [0.0, 1.0]}, r"07.departure.map.alpha0\[0\] must be a number from 0.01"),
        ({"07.departure.size.lam": -0.1}, "07.departure.size.lam must be a number from 1e-06"),
        ({"07.departure.map.d": 0}, "07.departure.map.d must be a whole number"),
        (
            {"07.departure.map.d": 10**4, "07.departure.map.alpha0": [100.0]},
            "07.departure.map .*: d = 10000 with alpha0 = 100 with alpha = 1",
        ),
        (
            {"07.learned_function_bounds.upper.step": 0.0},
            "07.learned_function_bounds.upper.step must be a number from 1e-06",
        ),
        ({"07.spikes.alignments.gamma": [0.5, 1.2]}, r"07.spikes.alignments.gamma\[1\] must be a number from -1 to 1"),
        ({"07.losses.noisy.noise": -1.0}, "07.losses.noisy.noise must be a number from 0"),
        ({"07.losses.noisy.activation": "relu"}, "07.losses.noisy.activation must be one of tanh"),
        ({"07.reuse.spike.samples": "split"}, "needs the same samples in both, got samples = split"),
        ({"07.losses.biased.bias": []}, "07.losses.biased.bias must hold at least 1 value"),
        ({"07.multiple_steps.main.step": [4.0]}, "07.multiple_steps.main .*: target and alpha0 and step are zipped"),
        (
            {"07.multiple_steps.main.alpha0": [0.05, 8.0]},
            "alpha0 times d = 40 must give each of count = 3 steps a sample",
        ),
        (
            {"07.network_kernels.main.share": 0.99},
            "share must leave each batch one of the 40 samples, alphas times d, got 0.99",
        ),
        (
            {"07.network_kernels.main.d": 1000, "07.network_kernels.main.alphas": [100.0]},
            "d = 1000 with alphas = 100 would take",
        ),
        ({"07.readout_vocabulary.letters.c": -1.0}, "07.readout_vocabulary.letters.c must be a number from 0.01"),
        (
            {"07.readout_vocabulary.letters.c": 0.5},
            r"1 \+ u²\(c - 1\) for u = 2 of values, c = 0.5 must be .* above 0, got -1",
        ),
        ({"07.readout_vocabulary.letters.d": [2, 80]}, "values must be at most d = 2, one neuron each, got 3"),
        ({"07.third_degree_share.features.values": [0.5, 2.0] * 30}, "07.third_degree_share.features.values"),
        (
            {"07.third_degree_share.networks.exponent": 1.5},
            "07.third_degree_share.networks.exponent must be a number from 0 to 1",
        ),
        ({"07.parameters.main.alpha0": 0.0}, "07.parameters.main.alpha0 must be a number from 0.01"),
        ({"07.parameters.main.alpha0": 0.01}, "07.parameters.main .*: alpha0 must give at least one sample"),
    ],
)
def test_parameters_that_make_no_sense_get_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        computable("07", parameters.resolve("07", "smoke", change))
    assert "\n" not in str(caught.value)


def test_a_grid_asks_for_the_memory_of_as_many_seeds_as_a_call_gets():
    asked = [item for item in catalogue.of("07").values() if issubclass(item.record, spiked.Drawn)]
    assert len(asked) > 10 and all(item.chunk == item.record.chunk for item in asked)


STUDIES = [spiked.agreement, spiked.departure, spiked.gaussian_map, spiked.reuse, spiked.white_images]


@pytest.mark.parametrize("item", [*STUDIES, spiked.multiple_steps, spiked.network_kernels])
def test_a_seed_does_not_depend_on_its_chunk(item):
    values = parameters.resolve("07", "smoke")
    setting = {name: value for name, value in item.grid(values)[0].items() if name != "seeds"}
    together = [row for row in item(setting, [0, 1]) if row["seed"] == 1]
    for row, alone in zip(together, item(setting, [1]), strict=True):
        for name, value in alone.items():
            assert row[name] == (pytest.approx(value, rel=1e-6) if isinstance(value, float) else value), name
