"""Studies of chapter 2: the limits in which they must agree with theory, and what bad parameters get."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from companion.lab import parameters
from companion.papers.compression.studies import compression as studies
from companion.papers.compression.theory import Stripe
from regimes.models.one_hidden import Network
from regimes.validate import InputError
from tests.sizes import computable

INTERFACES = [-0.3, 1.18549]
STRIPE = {"shape": "stripe", "interfaces": INTERFACES, "d": 2, "alpha": 1e-6, "tolerance": 0.05}
CYLINDER = {"shape": "cylinder", "d": 3, "d_parallel": 2, "radius": math.sqrt(2 * math.log(2))}


def test_the_informative_share_of_arrows():
    omega = torch.zeros(1, 3, 2)
    beta = torch.tensor([[1.0, -2.0, 0.0]])
    omega[0, :, 0] = torch.tensor([3.0, 0.0, 7.0])
    omega[0, :, 1] = torch.tensor([0.0, 1.0, 7.0])
    assert studies.aligned(Network(omega, beta * 0, beta), 1) == pytest.approx(9 / 13)
    rng = np.random.default_rng(0)
    round_ = torch.from_numpy(rng.standard_normal((1, 20000, 4)))
    flat = torch.ones(1, 20000, dtype=torch.float64)
    assert studies.aligned(Network(round_, flat, flat), 3) == pytest.approx(3 / 4, abs=0.01)


def test_time_grows_by_half_the_growth_time_per_factor_e():
    scales, seeds = [1e-16, 1e-12, 1e-8], [0, 1, 2, 3, 4]
    setting = STRIPE | {"p": 600, "h": 100, "until": "star"}
    rows = [studies.characteristic_time(setting | {"alpha": alpha}, seeds) for alpha in scales]
    times = [[row["t_star"] * row["rate"] for row in at] for at in rows]
    slopes = np.polyfit(np.log(1 / np.array(scales)), times, 1)[0]
    assert np.median(slopes) == pytest.approx(0.5, abs=0.06)  # a training set's own rate is off by 1/sqrt(p)
    assert {"time", "size"}.isdisjoint(rows[0][0])


def test_paths_start_together_and_hold_the_neurons_of_the_network():
    rows = studies.neuron_paths(STRIPE | {"p": 400, "h": 80, "tolerance": 0.01, "until": "star"}, [0])
    assert len(rows) == studies.SHOWN and len({row["neuron"] for row in rows}) == len(rows)
    for row in rows[:10]:
        weights = np.array(row["weights"])
        predicted = np.array(row["predicted"])
        z = np.array(row["z"])
        assert weights.shape == predicted.shape == (len(row["t"]), 4)
        assert z.shape == (len(row["t"]) + 1, 2)
        np.testing.assert_allclose(weights[0], predicted[0], atol=0.3)
        size = (weights[:, :2] ** 2).sum(1)
        np.testing.assert_allclose(z[1:, 0], -math.sqrt(2) * weights[:, 2] * weights[:, 0] / size, rtol=1e-4, atol=1e-6)
        conserved = weights[:, 3] ** 2 - size - weights[:, 2] ** 2
        np.testing.assert_allclose(conserved, conserved[0], atol=1e-4 * (weights[-1] ** 2).sum() + 1e-4)


def test_frames_of_feature_lazy_and_cylinder():
    setting = STRIPE | {"p": 120, "h": 100, "frames": 8, "until": "end"}
    feature = studies.weight_snapshots(setting, [0])
    lazy = studies.weight_snapshots(setting | {"alpha": 1e4}, [0])
    for rows in (feature, lazy):
        assert sum(row["star"] for row in rows) == 1 and rows[0]["t"] == 0 and 8 <= len(rows) <= 9
        assert max(row["deviation"] for row in rows) < 1e-9 and rows[0]["inflation"] == pytest.approx(1)
        assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
    assert feature[0]["share"] == pytest.approx(lazy[0]["share"], rel=1e-6)  # one is in single precision
    assert feature[-1]["share"] > 0.9
    assert lazy[-1]["share"] == pytest.approx(lazy[0]["share"], abs=0.01)
    tube = studies.weight_snapshots(setting | CYLINDER, [0])
    assert tube[-1]["share"] > 0.9 > tube[0]["share"] and np.array(tube[0]["arrows"]).shape == (studies.SHOWN, 3)


def test_a_setting_holds_what_its_task_has_and_trains_until_t_star_if_nothing_else_is_said():
    p = parameters.resolve("02", "smoke", {"02.amplification_scaling.stripe_maximum.until": 0.5})
    settings = {
        name: studies.amplification_scaling.grid.settings(p, name)[0]
        for name in ("stripe", "cylinder", "cylinder_maximum")
    }
    assert [settings[name]["until"] for name in settings] == ["star", "star", 0.5]
    assert settings["stripe"].keys() - settings["cylinder"].keys() == {"interfaces"}
    assert settings["cylinder"].keys() - settings["stripe"].keys() == {"d_parallel", "radius"}


@pytest.mark.parametrize("interfaces", [INTERFACES, [-1.5, -0.5, 0.5]])
def test_perpendicular_times_of_equation_6_over_equation_16(interfaces):
    rows = studies.perpendicular({"interfaces": interfaces, "d": 3}, [0])
    assert len(rows) == len(Stripe(interfaces, 3).attractors())
    assert [row["ratio"] for row in rows] == pytest.approx([1 / math.sqrt(2 * math.pi)] * len(rows), rel=1e-4)


def test_the_noise_is_that_of_independent_training_sets():
    setting = {"interfaces": INTERFACES, "p": 100, "sets": 500}
    exponents = [row["exponent"] for row in studies.noise(setting, list(range(8)))]
    assert np.mean(exponents) == pytest.approx(0.5, abs=0.03)
    assert len(set(exponents)) == 8


BAD = [
    ({"interfaces": [1.0, -0.3]}, "interfaces must be a strictly increasing"),
    ({"interfaces": []}, "interfaces must hold at least 1 value"),
    (
        {"interfaces": [4.0]},
        r"\(interfaces = \$interfaces, p = \$growth_p.*\): p must give both labels .* or other interfaces",
    ),
    ({"growth_p": [64, 128]}, "growth_p must hold at least 3 values"),
    ({"growth_from": 64}, r"growth_p must hold at least 2 sizes from growth_from on: \[16, 32, 64\]"),
    ({"stop": 1.01}, "stop must be a number above 0 and at most 1, got 1.01"),
    (
        {"cylinder_radius": 0.3},
        r"02.amplification_scaling.cylinder \(radius = \$cylinder_radius\): radius must leave a ring",
    ),
    (
        {"02.amplification_scaling.planes.interfaces": [0.5, 0.5]},
        "02.amplification_scaling.planes.interfaces must be a strictly increasing",
    ),
    (
        {"02.amplification_scaling.planes.interfaces": [4.0]},
        "02.amplification_scaling.planes.*: p must give both labels in every draw",
    ),
    ({"02.amplification_scaling.planes.p": [64, 128]}, "02.amplification_scaling.planes.p must hold at least 3 values"),
    (
        {"02.amplification_scaling.cylinder.d_parallel": 3},
        "d_parallel must be below d = 3, to leave an uninformative direction, got 3",
    ),
    ({"02.amplification_scaling.stripe.shape": "cylinder"}, "a cylinder needs d_parallel and radius"),
    (
        {"02.amplification_scaling.sphere.radius": 9.0},
        "02.amplification_scaling.sphere.*: radius must leave a ring of fixed points",
    ),
    (
        {"02.amplification_along_training.main.p": [64, 32]},
        "02.amplification_along_training.main.p must be a strictly increasing",
    ),
    ({"02.late_training.main.until": 0.0}, "until must be a number above 0 and at most 1, or one of star, end, got 0"),
    (
        {"02.attractor_shares.main.alpha": [1e-300, 1e-20]},
        r"02.attractor_shares.main.alpha\[0\] must be a number from 1e-140 to 0.01",
    ),
    (
        {"02.attractor_shares.main.alpha": [1e-18, 1e-6, "$alpha"]},
        "02.attractor_shares.main.alpha must be a strictly increasing",
    ),
    ({"02.neurons.main.h": 5}, "02.neurons.main.h must be a whole number from 10"),
    ({"02.characteristic_time.main.alpha": [1e-6, 1e-9, 1e-12]}, "main.alpha must be a strictly increasing"),
    ({"02.perpendicular.main.interfaces": [[0.5], [0.5]]}, "02.perpendicular.main: two of its settings are the same"),
    *(
        ({f"02.{design}.interfaces": given}, "interfaces must leave an attractor for neurons, got none")
        for design, given in (("amplification_scaling.planes", [-0.05, 0.05]), ("perpendicular.main", [[-0.05, 0.05]]))
    ),
    ({"02.noise.main.p": 10**5, "02.noise.main.sets": 10**6}, "sets = 1000000 with p = 100000 would take"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_bad_parameters_get_one_line(change, words):
    with pytest.raises(InputError, match=words) as caught:
        computable("02", parameters.resolve("02", "smoke", change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["d_parallel", "radius"])
def test_a_cylinder_needs_both_of_its_own_numbers(missing):
    setting = studies.AmplificationSizes(**STRIPE | CYLINDER, p=100, h=10)
    assert setting.completed([0]) == replace(setting, interfaces=None, until="star")
    with pytest.raises(InputError, match="a cylinder needs d_parallel and radius"):
        replace(setting, **{missing: None}).completed([0])


def test_an_observable_is_asked_for_by_a_design_and_changes_no_other_cell():
    """The directions of the neurons at the start by hand; a setting that asks for none has the key it always had."""
    setting = {"shape": "cylinder", "d_parallel": 2, "radius": 1.18, "d": 3, "p": 40, "h": 200, "alpha": 1e-6}
    setting |= {"tolerance": 0.05, "until": "star"}
    (plain,) = studies.amplification_scaling(setting, [1])
    (observed,) = studies.amplification_scaling(setting | {"observe": ["directions"]}, [1])
    assert observed.items() >= plain.items() and {*observed} - {*plain} == {"directions", "directions_start"}
    s = studies.AmplificationSizes.of(setting)
    assert s.entries() == setting
    _, network = studies._drawn(s, 1)
    held = np.zeros(36)
    for omega, beta in zip(network.omega[0].tolist(), network.beta[0].tolist()):
        turn = (math.atan2(omega[1], omega[0]) + math.pi) / (2 * math.pi)
        held[int(36 * turn)] += beta**2 * math.hypot(*omega[:2]) ** 2
    assert observed["directions_start"] == pytest.approx(1 / np.square(held / held.sum()).sum(), rel=1e-3)
    assert 1 < observed["directions"] < observed["directions_start"] < 36
    stripe = studies.AmplificationSizes(**STRIPE, p=20, h=30, observe=["directions"])
    with pytest.raises(InputError, match="observe asks for directions in a plane"):
        stripe.completed([0])
