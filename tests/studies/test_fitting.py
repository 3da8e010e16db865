"""Studies of chapter 2's fit: what is read from a path, on paths whose answer is known, and the limits of theory."""

import math

import numpy as np
import pytest
import torch

from companion.papers.compression.studies import fitting
from companion.papers.compression.theory import Stripe, neuron
from companion.papers.compression.theory.neuron import Neurons
from regimes.models.one_hidden import Network, one_hidden

INTERFACES = [-0.3, 1.18549]
STRIPE = {"shape": "stripe", "interfaces": INTERFACES, "d": 2, "h": 60, "alpha": 1e-6, "tolerance": 0.05}
CYLINDER = {"shape": "cylinder", "d": 3, "d_parallel": 2, "radius": math.sqrt(2 * math.log(2))}


def test_half_of_a_logistic_growth_is_at_its_middle():
    times = np.linspace(0, 60, 80)
    middles = np.array([11.3, 20.0, 28.7])
    sizes = 40 / (1 + np.exp(-0.8 * (times[:, None] - middles)))
    assert fitting._half_time(times, sizes) == pytest.approx(20.0, abs=0.05)
    assert fitting._half_time(times, 7 * sizes[:, :1]) == pytest.approx(11.3, abs=0.05)
    assert fitting._half_time(times[:3], np.full((3, 2), 5.0)) <= times[1]  # nothing grows: at once


def test_the_perpendicular_time_of_the_equations_of_motion_grows_as_half_the_logarithm_of_p():
    stripe = Stripe(INTERFACES, 5)
    times = np.linspace(0.01, 45, 300)
    point = max(stripe.attractors(), key=lambda a: a.rate)
    omega = np.array([[point.sign, 0.3, -0.3, 0.2, 0.4]])
    b = -point.z * omega[:, 0] / math.sqrt(5)
    start = Neurons(omega, b, np.sign(point.c_1) * point.sign * np.sqrt((omega**2).sum(1) + b**2))
    half_times = []
    for p in (10**5, 10**7):
        drift = np.array([math.sqrt(stripe.d_perp(point.z, point.sign) / p), 0, 0, 0])  # |N| = 1
        path = neuron.follow(stripe, start, times, drift=drift)
        size = np.abs(path.omega[..., 0]) / np.linalg.norm(path.omega[..., 1:], axis=-1)
        assert size[-1, 0] == pytest.approx(point.constant * math.sqrt(p), rel=0.02)
        half_times.append(fitting._half_time(times, size))
    delay = point.crossover(10**7) - point.crossover(10**5)
    assert half_times[1] - half_times[0] == pytest.approx(delay, rel=0.02)
    assert delay == pytest.approx(math.log(100) / 2 / (point.rate - point.rate_perp))


def test_each_attractors_neurons_come_to_rest_at_its_own_amplification():
    setting = STRIPE | {"d": 5, "h": 40, "p": 2048, "alpha": 1e-18}
    rows = fitting.plateaus(setting, [0, 1, 2])
    attractors = Stripe(INTERFACES, 5).attractors()
    assert {row["attractor"] for row in rows} == {point.z for point in attractors}
    for point in attractors:
        at_point = [row for row in rows if row["attractor"] == point.z]
        off = [math.log(row["size"] / row["predicted"]) for row in at_point]
        assert abs(np.mean(off)) < 0.25
        assert all(row["neurons"] >= 1 and row["time"] > 0 for row in at_point)
    sizes = [row["predicted"] for row in rows if row["seed"] == 0]
    assert max(sizes) > 1.3 * min(sizes)  # one constant for all would be seen
    assert fitting.plateaus(setting, [2]) == [r for r in rows if r["seed"] == 2]


def test_the_angle_of_a_plane_is_its_intercept_and_has_no_jump_where_that_is_infinite():
    network = one_hidden(4, 50, seeds=3)
    zeta = -2 * network.b[0] / network.omega[0, :, 0]
    np.testing.assert_allclose(-np.tan(fitting._angle(network)), zeta.double().numpy(), rtol=1e-5)
    unit = torch.ones(1, 1, dtype=torch.float64)
    omega = 1e-4 * torch.ones(1, 1, 4, dtype=torch.float64)
    before = fitting._angle(Network(omega, unit, unit))[0]
    after = fitting._angle(Network(-omega, unit, unit))[0]
    assert 0 < after - before < 1e-3


def test_clusters_on_the_circle():
    rng = np.random.default_rng(0)
    bundles = [at + 0.02 * rng.standard_normal(30) for at in (3.13, 0.4, -1.1)]  # the first across the end
    angles = (np.concatenate(bundles) + math.pi) % (2 * math.pi) - math.pi
    assert fitting.cluster_sizes(angles) == [30, 30, 30]
    strays = np.linspace(1.0, 2.4, 4)
    assert fitting.cluster_sizes(np.append(angles, strays)) == [30, 30, 30]
    assert len(fitting.cluster_sizes(np.append(angles, np.full(8, 1.5)))) == 4
    assert len(fitting.cluster_sizes(np.linspace(-3, 3, 2000))) == 0  # spread neurons are no cluster


def test_neurons_stay_in_as_many_clusters_and_move():
    setting = STRIPE | {"h": 40, "p": 1000, "alpha": 1e-40, "tolerance": 0.02, "shares": [0.1, 0.5, 0.9]}
    rows = fitting.clusters(setting, [2])
    assert [row["share"] for row in rows] == [0.1, 0.5, 0.9] and rows[0]["moved"] == 0
    assert {row["count"] for row in rows} == {len(Stripe(INTERFACES, 2).attractors())}
    assert min(row["held"] for row in rows) > 0.8 and min(row["moved"] for row in rows[1:]) > 0.1
    home = [math.atan2(-a.z * a.sign, a.sign) for a in Stripe(INTERFACES, 2).attractors()]
    near = fitting._angular_distance(np.array(rows[0]["angles"])[:, None], np.array(home)).min(1)
    assert np.median(near) < 0.15


def test_the_order_of_points_is_told_whatever_the_clock():
    distance = np.random.default_rng(1).permutation(40) / 7.0
    forward = fitting._order(distance, np.round(100 * np.exp(-distance)).astype(int))
    assert forward["rank"] > 0.99 and forward["before"] == sorted(forward["before"], reverse=True)
    assert fitting._order(distance, distance)["rank"] == pytest.approx(-1)
    assert np.mean(forward["before"]) == pytest.approx(0.5)
    rng = np.random.default_rng(2)
    assert abs(fitting._order(rng.random(4000), rng.integers(0, 50, 4000))["rank"]) < 0.05


def test_points_far_from_the_interfaces_are_satisfied_first():
    setting = {"p": 250, "h": 40, "until": 0.95}
    for task in (STRIPE, STRIPE | CYLINDER):
        (row,) = fitting.exclusion(task | setting, [0])
        assert row["rank"] > 0.5 and row["before"][0] > 0.7 > 0.3 > row["before"][-1]
