"""The cylinder's ring: soft label and averages by sampling and in closed form, the noise, and simulated neurons."""

import math

import numpy as np
import pytest

from companion.papers.compression.theory.neuron import Neurons
from companion.papers.compression.theory.ring import Cylinder, directions
from companion.papers.compression.theory.stripe import normal_pdf
from regimes.data import tasks
from regimes.validate import InputError
from tests.theory.test_compression import simulate

TUBES = [(tasks.RADIUS, 3, 2), (1.5381722544550522, 4, 3), (0.9, 6, 4)]


@pytest.mark.parametrize("tube", TUBES)
def test_label_and_averages_by_sampling(tube):
    """A million points within five standard errors; a force across the direction has no mean."""
    radius, d, along = tube
    task, theory = tasks.cylinder(1_000_000, d, d_parallel=along, radius=radius, seed=3), Cylinder(*tube)
    x, y = task.x.numpy(), task.y.numpy()
    thin = abs(x[:, 0] - 0.4) < 0.02
    assert y[thin].mean() == pytest.approx(float(theory.label(0.4)), abs=5 / math.sqrt(thin.sum()))
    for ζ in (-0.6, 0.0, 0.5, 1.8):
        active = y * (x[:, 0] > ζ)
        for sample, said in ((active * x[:, 0], theory.c_1(ζ)), (active, theory.c_b(ζ)), (active * x[:, 1], 0.0)):
            assert sample.mean() == pytest.approx(said, abs=5 * sample.std() / 1000)


def test_the_ring_of_equiprobable_labels_in_closed_form():
    """``C_1 = (2(R/2 + √(2π)(1/2 - Φ(R))) + √(π/2))/π`` by polar coordinates, and ``ȳ(0) = 1 - 2 erf(R/√2)``."""
    (ring,) = Cylinder(tasks.RADIUS, 3, 2).rings()
    R = tasks.RADIUS
    inside = math.sqrt(math.pi / 2) * math.erf(R / math.sqrt(2)) - R * math.exp(-(R**2) / 2)
    c_1 = (math.sqrt(math.pi / 2) - 2 * inside) / math.pi
    y = 1 - 2 * math.erf(R / math.sqrt(2))
    assert ring.z == 0 and ring.c_1 == pytest.approx(c_1, rel=1e-9) and ring.rate == pytest.approx(0.1666, abs=1e-4)
    assert ring.constant == pytest.approx((c_1 - y * normal_pdf(0.0)) * math.sqrt(2), rel=1e-9)
    assert ring.constant == pytest.approx(0.530, abs=5e-4) and ring.attractor


@pytest.mark.parametrize("tube", TUBES)
def test_rings_are_stable_zeros_and_grow(tube):
    theory = Cylinder(*tube)
    for ring in theory.rings():
        assert theory.bracket(ring.z) == pytest.approx(0, abs=1e-9)
        before, after = (-np.sign(ring.c_1) * theory.bracket(ring.z + e) for e in (-1e-4, 1e-4))
        assert before > 0 > after and ring.rate > ring.rate_perp


def test_the_noise_over_all_directions_is_a_sum_over_pairs():
    """At ``z* = 0`` two points are active together for a share ``(π - angle)/2π`` of the directions."""
    task, theory = tasks.cylinder(60, 5, d_parallel=2, seed=1), Cylinder(tasks.RADIUS, 5, 2)
    (ring,) = theory.rings()
    x, y = task.x.numpy(), task.y.numpy()
    unit = x[:, :2] / np.linalg.norm(x[:, :2], axis=1, keepdims=True)
    together = (math.pi - np.arccos(np.clip(unit @ unit.T, -1, 1))) / (2 * math.pi)
    exact = (np.outer(y, y) * (x[:, 2:] @ x[:, 2:].T) * together).sum() / (60 * 0.5)
    assert theory.noise(x, y, ring) == pytest.approx(exact, rel=0.02)
    task = tasks.cylinder(400, 5, d_parallel=2, seed=list(range(200)))
    found = [theory.noise(x, y, ring) for x, y in zip(task.x.numpy(), task.y.numpy())]
    assert np.mean(found) == pytest.approx(3, abs=0.25)


@pytest.mark.parametrize("along", [2, 3, 5])
def test_directions_are_unit_vectors_without_a_mean(along):
    u = directions(along)
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 1)
    np.testing.assert_allclose(u.mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(along * u.T @ u / len(u), np.eye(along), atol=0.25)  # of 128 random pairs


@pytest.mark.parametrize("tube", TUBES[:2])
def test_the_constant_against_simulated_neurons(tube):
    """Neurons set on the ring of a training set saturate at the predicted size, their Λ at the predicted one."""
    radius, d, along = tube
    theory = Cylinder(*tube)
    (ring,) = theory.rings()
    ratios = []
    for seed in range(4):
        task = tasks.cylinder(8000, d, d_parallel=along, radius=radius, seed=seed)
        x, y = task.x.numpy(), task.y.numpy()
        ω = np.concatenate([directions(along)[::16], np.zeros((16, d - along))], 1)
        b = np.full(16, -ring.z / math.sqrt(d))
        end = simulate(Neurons(ω, b, np.sign(ring.c_1) * np.sqrt(1 + b**2)), x, y, [24.0], dt=0.2).omega[0]
        size = np.linalg.norm(end[:, :along], axis=1)
        mean = (np.square(end[:, along:]).sum(1) / size**2).mean()  # all neurons alike, whatever they have grown to
        ratios.append(math.sqrt((d - along) / along / mean) / theory.amplification(x, y, ring))
    assert abs(np.log(ratios).mean()) < 0.15


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Cylinder(1.0, 3, 3), "d_parallel must be a whole number from 2 to 2"),
        (lambda: Cylinder(1.0, 3, 1), "d_parallel must be a whole number from 2 to 2"),
        (lambda: Cylinder(0.0, 3, 2), "radius must be a number above 0"),
        (lambda: Cylinder(1.0, 2, 2), "d must be a whole number of at least 3"),
        (lambda: directions(1), "d_parallel must be"),
        (lambda: Cylinder(1.0, 3, 2).noise(np.ones((4, 2)), np.ones(4), None), r"x must have shape \(p 3\)"),
        (lambda: Cylinder(1.0, 3, 2).noise(np.ones((4, 3)), np.ones((4, 1)), None), r"y must have shape \(p\)"),
        (
            lambda: Cylinder(1.0, 3, 2).amplification(np.ones((4, 3)), np.ones(3), Cylinder(1.0, 3, 2).rings()[0]),
            r"y must have shape \(p\) with p = 4",
        ),
    ],
)
def test_bad_input_gets_one_line(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
