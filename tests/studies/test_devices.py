"""Every study that may use a GPU, on a pretended one: nothing in it mixes devices, and its numbers are the CPU's."""

import pytest
import torch

from companion.lab import catalogue, compare, parameters
from companion.lab.store import Cell
from companion.lab.sweep import study
from regimes import devices
from tests.pretended_device import pretended_gpu
from tests.sizes import Size

STUDIES = {name: (number, item) for number in catalogue.modules() for name, item in catalogue.of(number).items()}
# than the smoke profile, which is for more than devices
SMALLER = {
    "01": {"tolerance": 0.2, "01.networks.stripe.lines": 20, "01.networks.stripe.alpha": [1.0]},
    "02": {"02.attractor_shares.main.h": 12},
    "03": {"steps": 10},
    "04": {"image_p": [20, 21, 22], "image_h": 2},
}


ANY = [name for name, (_, item) in STUDIES.items() if item.device == "any"]
# in every run of the tests a setting of chapter 1, which mixed devices once, and of each other kind of training
OFTEN = ("lazy_feature.networks", "jamming.ensembles", "depth.text_training", "alignment.learned_features")
TIERS = [*((name, 1) for name in OFTEN), *(pytest.param(name, None, marks=pytest.mark.weekly) for name in ANY)]


@pytest.mark.parametrize("name, most", TIERS)
def test_a_study_on_a_pretended_gpu(name, most):
    """Every week at each kind of setting."""
    number, item = STUDIES[name]
    values = parameters.resolve(number, "smoke", SMALLER.get(number, {}))
    for setting in [*_kinds(catalogue.grids(number, values, item)[item])][:most]:
        seeds = setting.pop("seeds")[: min(2, item.chunk)]
        here = item(setting, seeds)
        with pretended_gpu(), devices.allowed(item.device) as used:
            there = item(setting, seeds)
        assert "cuda" in {device.type for device in used}
        cell = Cell(item.name, item.version, setting, seeds[0])
        assert compare.differences(item, {cell: here}, {cell: there}) == []


def _kinds(grid):
    """The first setting of each kind: with the same names and words."""
    kinds = {}
    for setting in grid:
        words = {name: value if isinstance(value, str) else "" for name, value in setting.items()}
        kinds.setdefault(tuple(sorted(words.items())), dict(setting))
    return kinds.values()


def test_rows_leave_the_device_where_a_study_is_called():
    @study(version=1, device="any")
    def made(setting: Size, seeds):
        x = torch.arange(4.0).reshape(2, 2).to(devices.pick())
        return [{"seed": 0, "matrix": x, "number": x[1, 1], "list": [x[0], {"deep": x.sum()}], "word": "so"}]

    expected = {"seed": 0, "matrix": [[0, 1], [2, 3]], "number": 3.0, "list": [[0, 1], {"deep": 6.0}], "word": "so"}
    with pretended_gpu():
        assert made({"n": 1}, [0]) == [expected]
    assert made({"n": 1}, [0]) == [expected]
