"""Chapter 3's studies at tiny sizes: what they measure, and the theorems that hold of it."""

import numpy as np
import pytest

from companion.data import images
from companion.lab import parameters
from companion.lab.catalogue import asked
from companion.papers.jamming.studies import _ensembles
from companion.papers.jamming.studies import jamming as studies
from regimes.data import datasets
from regimes.validate import InputError
from tests.sizes import computable

SECOND = "03.ensembles.second_data"
BASE = {"data": "mnist", "components": 5, "layers": 2, "members": 3, "loss": "quadratic_hinge", "steps": 80}


@pytest.fixture(scope="module")
def setting():
    return BASE | {
        "words": images.identity("mnist"),
        "test": 100,
        "kernel_p": 20,
        "p": 40,
        "scale": 12.0,
        "stops": [0.5],
        "decay": 0.0,
    }


def without(setting, *names):
    return {name: value for name, value in setting.items() if name not in names}


def test_an_ensemble_is_its_members(setting):
    batch = studies.ensembles(setting | {"h": 6}, [0, 1])
    single = studies.ensembles(setting | {"h": 6}, [1])
    assert [(row["seed"], row["stop"]) for row in batch] == [(0, 1), (0, 0.5), (1, 1), (1, 0.5)]
    for name in ("error", "ensemble_error", "norm", "fluctuation", "fitted", "kernel_change"):
        for in_batch, by_itself in zip(batch[2:], single, strict=True):
            assert in_batch[name] == pytest.approx(by_itself[name], rel=1e-3, abs=1e-3), name
    assert batch[0]["norm"] != batch[1]["norm"] and batch[0]["fluctuation"] == batch[1]["fluctuation"]
    assert batch[0]["parameters"] == 5 * 6 + 36 + 6
    # the mean square over members is that of their mean plus the fluctuation
    assert 0 < batch[0]["fluctuation"] < 2 * batch[0]["norm"]


def test_smaller_ensembles_are_of_the_same_members(setting):
    """Those of one are the members, that of all is the ensemble; members that fill none are left out."""
    ones, all_, two = (studies.ensembles(setting | {"h": 6, "fewer": count}, [0])[0] for count in (1, 3, 2))
    assert ones["fewer_error"] == pytest.approx(ones["error"], abs=1e-12)
    assert all_["fewer_error"] == all_["ensemble_error"]
    pair = studies.ensembles(setting | {"h": 6, "members": 2}, [0])[0]  # the seed's first networks
    assert two["fewer_error"] == pytest.approx(pair["ensemble_error"], abs=0.011)


def test_many_parameters_fit_and_few_do_not(setting):
    narrow, wide = (studies.ensembles(setting | {"h": h, "scale": 1e6}, [0])[0] for h in (2, 16))
    assert narrow["fitted"] == 0 and narrow["unsatisfied"] > 0
    assert wide["fitted"] == 1 and wide["unsatisfied"] == 0 and wide["kernel_change"] < 0.1


def test_kernels_fluctuate_as_the_inverse_root_of_the_width():
    """Over initial weights, of the networks that an ensemble trains (paper B, Sec. 3)."""
    names = "data words components test kernel_p layers members p scale".split()
    setting = {"data": "digits", "words": images.identity("digits"), "components": 4, "test": 1, "kernel_p": 20}
    setting |= {"layers": 2, "members": 40, "p": 10, "scale": 1.0}
    assert {*names} == {*setting}
    narrow, wide = (studies.kernels(setting | {"h": h}, [1, 2]) for h in (16, 256))
    ratios = [two["fluctuation"] / one["fluctuation"] for one, two in zip(narrow, wide, strict=True)]
    assert np.mean(ratios) == pytest.approx(1 / 4, rel=0.15)


def test_an_ensemble_as_large_as_those_of_the_map_is_none_of_its_own():
    values = parameters.resolve("03", "laptop", {"members": 20})
    assert {s["members"] for s in studies.ensembles.grid(values)} == {20}
    assert all("fewer" not in s for s in studies.ensembles.grid.settings(values, "large_ensemble"))


@pytest.mark.usefixtures("read_once")
def test_stored_results_of_a_data_set_that_is_not_here_are_the_rows_of_its_design(monkeypatch):
    def identity(name):
        if name in ("cifar10", "fashion_mnist"):
            raise datasets.Absent(f"{name} is not here")
        return datasets.identity(name)

    monkeypatch.setattr(_ensembles, "identity", identity)
    values = parameters.resolve("03")
    settings = studies.ensembles.grid.settings(values, "second_data")
    wanted = asked("03", studies.ensembles, values)
    cells = [wanted.cells[key] for key in wanted.designs["second_data"]]
    assert {s["data"] for s in settings} == {"digits"} and {cell.setting["data"] for cell in cells} == {"fashion_mnist"}
    widths = {cell.setting["h"] for cell in cells}
    scales = {s["scale"] for s in settings}
    assert widths > {s["h"] for s in settings} and len(cells) == 28 * len(widths) * len(scales)
    # at other parameters there is none of them
    changed = asked("03", studies.ensembles, parameters.resolve("03", "laptop", {f"{SECOND}.h": [3, 6]}))
    cells = [changed.cells[key] for key in changed.designs["second_data"]]
    assert {cell.setting["data"] for cell in cells} == {"digits"} and len(cells) == 2 * 2 * 4


def test_decay_keeps_predictors_small(setting):
    free, decayed = (studies.ensembles(setting | {"h": 8, "scale": 1e6, "decay": d}, [0])[0] for d in (0.0, 1.0))
    assert decayed["norm"] < free["norm"] and decayed["kernel_change"] < free["kernel_change"]


def test_what_fits_within_a_step_budget_is_what_fits_in_an_ensemble(setting):
    rows = studies.steps_to_fit(without(setting, "stops", "decay") | {"h": 6}, [0, 1])
    for row in studies.ensembles(setting | {"h": 6}, [0, 1])[::2]:
        needed = [r["needed"] for r in rows if r["seed"] == row["seed"]]
        assert np.mean([steps <= 80 for steps in needed]) == row["fitted"]
    assert all((r["needed"] == np.inf) == (r["time"] == np.inf) for r in rows)


def test_steps_are_counted_of_the_network_itself_not_of_its_batch(setting):
    entries = without(setting, "stops", "decay") | {"h": 12, "steps": 300}
    rows = studies.steps_to_fit(entries, [0])
    s = studies.Networks.of(entries)
    model = studies.swish_networks(s, 12, [0])
    x, y = studies.repeated([studies.draw_sets(s, 0).train], 3)
    counts = []
    for k in range(3):
        e = slice(k, k + 1)
        counts.append(len([*_ensembles.flow_states(s, model[e], x[e], y[e])]) - 1)
    assert len({*counts}) > 1 and [r["needed"] for r in rows] == counts


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"map_p": 4_000}, "p = \\$map_p.*test \\+ kernel_p \\+ p must be at most 5000, the images of mnist"),
        ({"components": 800}, "components must be at most the 784 pixels"),
        ({"members": 21}, "large_ensemble .*fewer must be at most members = 20, got 21"),
        ({"members": 1}, "members must be a whole number from 2"),
        ({"map_h": [0, 8, 16]}, "map_h.* must"),
        ({"map_h": [4, 8, 10_000], "members": 20}, "p = 250 with h = 10000 and members = 20 would take"),
        ({f"{SECOND}.data": ["digits"], f"{SECOND}.p": 700}, "test \\+ kernel_p \\+ p must be at most 1797"),
        ({f"{SECOND}.data": ["random"]}, "03.ensembles.second_data.data\\[0\\] must be one of mnist"),
        ({"03.ensembles.weight_decay.decay": -1.0}, "03.ensembles.weight_decay.decay must be"),
    ],
)
def test_bad_input_is_one_line_before_any_computing(changed, message, monkeypatch):
    monkeypatch.delenv("REGIMES_DATA", raising=False)
    with pytest.raises(InputError, match=message):
        computable("03", parameters.resolve("03", "laptop", changed))


def test_a_grid_without_a_transition_says_which_widths_to_add():
    from companion.papers.jamming.theory.jamming import transition

    with pytest.raises(InputError, match="add some above 8"):
        transition([2, 4, 8], [0, 0, 0.25])
