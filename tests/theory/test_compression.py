"""Compression: measures against their definitions, closed forms against quadrature, sampling and simulated neurons."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

from companion.papers.compression import theory as compression
from companion.papers.compression.theory import FixedPoint, Stripe, neuron
from companion.papers.compression.theory.neuron import Neurons
from companion.papers.compression.theory.stripe import imbalance_limit, normal_pdf, time_unit
from regimes.data import tasks
from regimes.validate import InputError

SHAPES = [tasks.STRIPE, (0.4,), (-1.0, 0.1, 0.2), (-2.0, -0.5, 0.7, 1.9)]


def integral(stripe, f, low=-10.0, high=10.0):
    """``⟨y f⟩`` over ``low < x_1 < high`` by quadrature between interfaces."""
    limits = [low, *(b for b in stripe.interfaces if low < b < high), high]
    total = 0.0
    for a, b in zip(limits, limits[1:]):
        part = quad(lambda x: normal_pdf(x) * f(x), a, b, epsabs=1e-12, limit=200)[0]
        total += float(stripe.label((a + b) / 2)) * part
    return total


def neurons(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return Neurons(rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(n))


def simulate(start, x, y, times, dt=0.02):
    """Eq. 5 of paper A at full force, one point at a time, by Runge-Kutta steps of order 4; times in units of τ."""
    d = start.omega.shape[1]

    def rate(state):
        ω, b, β = state[:, :d], state[:, d], state[:, d + 1]
        u = ω @ x.T / math.sqrt(d) + b[:, None]
        seen = (u > 0) * y
        force = np.column_stack([seen @ x, math.sqrt(d) * seen.sum(1)]) / len(x)
        return np.column_stack([β[:, None] * force, math.sqrt(d) * (seen * u).sum(1) / len(x)])

    state = np.column_stack([start.omega, start.b, start.beta])
    time = 0.0
    path = []
    for t in times:
        while time < t - 1e-9:
            h = min(dt, t - time)
            a = rate(state)
            b = rate(state + h / 2 * a)
            c = rate(state + h / 2 * b)
            state = state + h / 6 * (a + 2 * b + 2 * c + rate(state + h * c))
            time += h
        path.append(state)
    path = np.stack(path)
    return Neurons(path[..., :d], path[..., d], path[..., d + 1])


def flat(path):
    return np.concatenate([path.omega, path.b[..., None], path.beta[..., None]], axis=-1)


# measures


def test_both_amplifications_by_their_definitions():
    ω = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 50, 5)))
    sums = ω.square().sum(-2)
    paper = (4 * sums[:, 0] / sums[:, 1:].sum(-1)).sqrt()  # Eq. 10
    torch.testing.assert_close(compression.amplification(ω, 1), paper)
    rms = (sums / 50).sqrt()
    original = rms[:, 0] / rms[:, 1:].mean(-1)
    torch.testing.assert_close(compression.amplification(ω, 1, mean="arithmetic"), original)
    assert bool((original >= paper).all()) and bool((original > 1.0001 * paper).any())
    torch.testing.assert_close(compression.amplification(ω[:, :1], 2), compression.neuron_amplification(ω, 2)[:, 0])


@pytest.mark.parametrize("mean", compression.MEANS)
def test_amplification_is_one_for_isotropic_weights_and_sees_a_stretch(mean):
    ω = torch.from_numpy(np.random.default_rng(1).standard_normal((200_000, 6)))
    assert float(compression.amplification(ω, 2, mean=mean)) == pytest.approx(1, abs=0.01)
    stretched = torch.cat([7 * ω[:, :2], ω[:, 2:]], dim=1)
    assert float(compression.amplification(stretched, 2, mean=mean)) == pytest.approx(7, rel=0.01)


def test_the_neuron_vector_is_the_nearest_point_of_the_hyperplane():
    ω = torch.from_numpy(np.random.default_rng(2).standard_normal((9, 4)))
    b = torch.linspace(-2, 2, 9).double()
    z = compression.neuron_vector(ω, b)
    torch.testing.assert_close((ω * z).sum(-1) / 2 + b, torch.zeros(9).double(), rtol=0, atol=1e-14)  # √d = 2
    cosine = (ω * z).sum(-1).abs() / ω.norm(dim=-1) / z.norm(dim=-1)
    torch.testing.assert_close(cosine[b != 0], torch.ones(8).double())


def test_neurons_that_see_data_are_those_the_gradient_moves():
    x = tasks.gaussian_points(40, 3, seed=1)
    ω = tasks.gaussian_points(200, 3, seed=2)
    b = 2 * tasks.gaussian_points(200, 1, seed=3)[:, 0]
    weights = ω.clone().requires_grad_()
    output = torch.relu(weights @ x.T / math.sqrt(3) + b[:, None]).sum()
    moved = torch.autograd.grad(output, weights)[0].abs().sum(-1) > 0
    seen = compression.sees_data(ω, b, x)
    assert torch.equal(seen, moved) and 0 < int(seen.sum()) < 200


def test_distances_to_attractors():
    stripe = Stripe(tasks.STRIPE, 2)
    x = tasks.gaussian_points(50, 2, seed=0)
    points = stripe.attractors()
    ω = torch.tensor([[p.sign * 3.0, 0.0] for p in points] + [[3.0, 4.0], [1e-3, 0.0]], dtype=torch.float64)
    at = torch.tensor([p.z for p in points], dtype=torch.float64)
    b = torch.cat([-ω[:3, 0] * at / math.sqrt(2), torch.tensor([-1.0, -9.0], dtype=torch.float64)])
    distance = compression.attractor_distance(ω, b, x, points)
    torch.testing.assert_close(distance[:3], torch.zeros(3).double(), rtol=0, atol=1e-14)
    z = math.sqrt(2) * np.array([3.0, 4.0]) / 25
    assert float(distance[3]) == pytest.approx(min(np.hypot(z[0] - p.z, z[1]) for p in points if p.sign > 0))
    assert bool(distance[4].isnan())


# closed forms


@pytest.mark.parametrize("interfaces", SHAPES)
@pytest.mark.parametrize("sign", [1, -1])
def test_limits_by_quadrature(interfaces, sign):
    stripe = Stripe(interfaces, 3)
    for ζ in (-3.0, -0.7, 0.15, 0.5, 2.2):
        half_line = (ζ, 10.0) if sign > 0 else (-10.0, ζ)
        assert stripe.c_b(ζ, sign) == pytest.approx(integral(stripe, lambda x: 1.0, *half_line), abs=1e-10)
        assert stripe.c_1(ζ, sign) == pytest.approx(integral(stripe, lambda x: x, *half_line), abs=1e-10)
        assert stripe.d_perp(ζ, sign) == pytest.approx(quad(normal_pdf, *half_line)[0], abs=1e-10)


def force_by_quadrature(stripe, w, bias):
    root = math.sqrt(stripe.d)
    across = np.linalg.norm(w[1:])
    size = np.linalg.norm(w)

    def active(x):
        return ndtr((w[0] * x + root * bias) / across)

    middle, spread = -root * bias * w[0] / size**2, across / size  # of x_1 on the neuron's plane
    on_plane = Stripe([(k - middle) / spread for k in stripe.interfaces], stripe.d)
    on_perp = w[1:] / size * math.exp(-stripe.d * bias**2 / size**2 / 2) / math.sqrt(2 * math.pi)
    on_1 = integral(stripe, lambda x: x * active(x))
    on_b = root * integral(stripe, active)
    return [on_1, *(on_perp * integral(on_plane, lambda x: 1.0)), on_b]


@pytest.mark.parametrize("interfaces", SHAPES)
def test_forces_at_any_amplification_by_quadrature(interfaces):
    stripe, start = Stripe(interfaces, 4), neurons(12, 4)
    ω = start.omega * np.geomspace(0.02, 50, 12)[:, None] ** [1, 0, 0, 0]
    b = start.b
    expected = [force_by_quadrature(stripe, w, bias) for w, bias in zip(ω, b)]
    np.testing.assert_allclose(neuron.forces(stripe, ω, b), expected, atol=1e-8)


def test_forces_and_their_noise_by_sampling():
    """A million points: averages of C.1 within five standard errors; the perpendicular variance of C.3 is D, not D²."""
    stripe, d = Stripe(tasks.STRIPE, 3), 3
    task = tasks.stripe(1_000_000, d, seed=5)
    x, y = task.x.numpy(), task.y.numpy()
    ω = np.array([[1.0, -0.5, 0.3], [-2.0, 0.1, 0.4]])
    b = np.array([0.2, 0.5])
    for k in range(2):
        sample = (
            (x @ ω[k] + math.sqrt(d) * b[k] > 0)[:, None] * y[:, None] * np.column_stack([x, np.full(len(x), d**0.5)])
        )
        error = sample.std(0) / 1000
        assert (abs(sample.mean(0) - neuron.forces(stripe, ω, b)[k]) < 5 * error).all()
    for sign in (1, -1):
        variance = (y * (sign * (x[:, 0] - 0.6) > 0) * x[:, 1]).var()
        assert variance == pytest.approx(float(stripe.d_perp(0.6, sign)), rel=0.01)


def test_infinite_amplification_is_the_limit_of_the_forces():
    stripe, d = Stripe(tasks.STRIPE, 5), 5
    for sign in (1, -1):
        ζ = np.array([-1.3, 0.2, 0.9, 2.0])
        ω = np.column_stack([np.full(4, float(sign)), np.full((4, 4), 1e-9)])
        force = neuron.forces(stripe, ω, -ω[:, 0] * ζ / math.sqrt(d))
        np.testing.assert_allclose(force[:, 0], stripe.c_1(ζ, sign), atol=1e-8)
        np.testing.assert_allclose(force[:, -1], math.sqrt(d) * stripe.c_b(ζ, sign), atol=1e-8)
        np.testing.assert_allclose(force[:, 1] / 1e-9, normal_pdf(ζ) * stripe.label(ζ), rtol=1e-6)


# fixed points


@pytest.mark.parametrize("interfaces", [*SHAPES, (-1.8, -0.9, 0.1, 1.1), (-1.3, 0.0, 1.6)])  # two zeros between planes
@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_fixed_points_are_all_the_zeros_with_their_stability(interfaces, d):
    stripe = Stripe(interfaces, d)
    points = stripe.fixed_points()
    grid = np.linspace(-12, 12, 40_002)
    for sign in (1, -1):
        values = stripe.bracket(grid, sign)
        resolved = abs(values) > 1e-12  # beyond, the bracket of neurons without data is 0 to round-off
        changes = np.flatnonzero((values[:-1] * values[1:] < 0) & resolved[:-1] & resolved[1:])
        zeros = sorted(point.z for point in points if point.sign == sign and abs(point.z) < 12)
        np.testing.assert_allclose(zeros, grid[changes], atol=1e-3)
    for point in points:
        assert abs(stripe.bracket(point.z, point.sign)) < 1e-10
        before, after = (stripe.velocity(point.z + e, point.sign) for e in (-1e-6, 1e-6))
        assert point.stable_along == (before > 0 > after)
        assert point.stable_across == stripe.amplifies(point.z, point.sign)
        assert point.attractor == (before > 0 > after and bool(stripe.amplifies(point.z, point.sign)))


def test_the_papers_stripe_has_three_attractors_in_two_dimensions():
    points = Stripe(tasks.STRIPE, 2).attractors()
    assert [p.sign for p in points] == [1, -1, 1]
    assert points[0].z < tasks.STRIPE[0] < points[1].z < points[2].z < tasks.STRIPE[1]


@pytest.mark.parametrize("d", [2, 5, 10])
def test_where_the_papers_stripe_is_stable_along_the_axis_the_amplification_grows(d):
    """The paper's check (Sec. 3.2.1), at all points that are stable along the axis, not at those that satisfy it."""
    for point in Stripe(tasks.STRIPE, d).fixed_points():
        assert not point.stable_along or point.rate > point.rate_perp
    of_three_planes = Stripe((-1.5, -0.5, 0.5), d).fixed_points()  # it is a condition: a fixed point may fail it
    assert any(point.rate <= point.rate_perp for point in of_three_planes)


def test_the_mirror_image_and_the_opposite_labels():
    """Mirrored planes mirror the fixed points and swap signs; an odd number of planes also flips all labels."""
    for interfaces in SHAPES:
        points = Stripe(interfaces, 3).fixed_points()
        mirror_image = Stripe([-b for b in interfaces[::-1]], 3).fixed_points()
        mirrored = sorted((-p.z, -p.sign, p.rate, p.constant, p.attractor) for p in mirror_image)
        straight = sorted((p.z, p.sign, p.rate, p.constant, p.attractor) for p in points)
        np.testing.assert_allclose(straight, mirrored, atol=1e-9)


# labels that do not balance


def fastest_neuron(stripe):
    """Growth rate of the fastest of many neurons on the axis, and the share of points on which it is active.

    The direction of ``(ω_1, b)`` turns by Euler steps, with averages over a grid of points; no fixed point is used.
    """
    x = np.arange(-6.995, 7, 0.01)  # midpoints, with the planes at edges
    weight = normal_pdf(x) * 0.01
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    v = np.tile(np.stack([np.cos(angle), np.sin(angle)], -1), (2, 1))
    sign = np.repeat([1.0, -1.0], len(angle))[:, None]
    for _ in range(500):
        on = v[:, :1] * x / math.sqrt(stripe.d) + v[:, 1:] > 0
        force = sign * (on * weight * stripe.label(x)) @ np.stack([x, np.full_like(x, math.sqrt(stripe.d))], -1)
        rate = (v * force).sum(-1, keepdims=True)
        v = v + 0.1 * (force - rate * v)
        v = v / np.linalg.norm(v, axis=-1, keepdims=True)
    best = int(rate.argmax())
    return float(rate[best, 0]), float(on[best] @ weight)


@pytest.mark.parametrize("d", [3, 12])
@pytest.mark.parametrize("last", [1.18, 1.05, 0.6, 0.5])
def test_neurons_that_are_on_everywhere_outgrow_the_others_where_the_theory_says(d, last):
    stripe = Stripe((-0.3, last), d)
    rate, active = fastest_neuron(stripe)
    rates = [point.rate for point in stripe.attractors()]
    assert rate == pytest.approx(max(stripe.constant_rate(), *rates), rel=2e-2)
    assert stripe.selects() == (active < 0.99)


@pytest.mark.parametrize("d", [3, 5, 20])
def test_at_the_limit_of_the_imbalance_both_grow_alike_and_it_falls_as_the_root_of_the_dimension(d):
    limit = imbalance_limit(tasks.STRIPE, d)
    assert 0.34 < limit * math.sqrt(d) < 0.41
    x = float(brentq(lambda last: Stripe((-0.3, last), d).mean_label() - limit, 0.2, 1.2))
    stripe = Stripe((-0.3, x), d)
    among = max(point.rate for point in stripe.attractors() if abs(point.z) < 2)
    assert stripe.constant_rate() == pytest.approx(among, rel=1e-6)
    assert Stripe((-0.3, x + 1e-3), d).selects() and not Stripe((-0.3, x - 1e-3), d).selects()


def test_the_limits_that_the_claims_and_chapter_2_name():
    stated = {5: 0.392, 20: 0.350}
    assert {d: round(imbalance_limit(tasks.STRIPE, d) * math.sqrt(d), 3) for d in stated} == stated


def test_a_plane_that_moves_alone_or_is_not_selected_has_no_limit():
    assert imbalance_limit((-0.6745, 0.6745), 5) < imbalance_limit((-0.6745, 0.6745), 2)
    for planes in ((0.4,), (-0.3, 0.5)):
        with pytest.raises(InputError, match="two or more planes that are selected"):
            imbalance_limit(planes, 5)


# single neurons


def test_neurons_fall_onto_attractors_at_the_predicted_rates():
    stripe, start = Stripe(tasks.STRIPE, 2), neurons(60, 2)
    path = neuron.follow(stripe, start, [60.0, 80.0])
    last = Neurons(path.omega[-1], path.b[-1], path.beta[-1])
    arrived = 0
    for point, members in neuron.attracted(stripe, last):
        ζ = -math.sqrt(2) * last.b[members] / last.omega[members, 0]
        settled = members[abs(ζ - point.z) < 1e-3]
        arrived += len(settled)
        growth = np.log(path.omega[1, settled, 0] / path.omega[0, settled, 0]) / 20
        np.testing.assert_allclose(growth, point.rate, rtol=1e-3)
        shrinks = np.log(abs(path.omega[1, settled, 1] / path.omega[0, settled, 1])) / 20
        np.testing.assert_allclose(shrinks, point.rate_perp, rtol=1e-2)
        np.testing.assert_array_equal(np.sign(path.beta[1, settled] * path.omega[1, settled, 0]), np.sign(point.c_1))
    assert arrived > 45  # those left are far out, where forces are small


def test_the_conserved_quantity():
    start = neurons(30, 4)
    path = neuron.follow(Stripe(tasks.STRIPE, 4), start, [5.0, 15.0], drift=0.01)
    conserved = path.beta**2 - (path.omega**2).sum(-1) - path.b**2
    at_start = start.beta**2 - (start.omega**2).sum(-1) - start.b**2
    np.testing.assert_allclose(conserved[1], at_start, atol=1e-6 * path.beta[1].max() ** 2)


@pytest.mark.parametrize("d", [2, 4])
def test_the_equations_of_motion_against_simulated_neurons(d):
    """The error at finite p falls as 1/√p without noise, and the noise term takes most of it from ω_⊥ at late times."""
    stripe = Stripe(tasks.STRIPE, d)
    start = neurons(40, d, seed=3)
    times = np.array([1.0, 16.0])
    central = abs(start.b) < 1  # far-out neurons meet few of the points
    start = Neurons(start.omega[central], start.b[central], start.beta[central])
    plain = neuron.follow(stripe, start, times)
    size = np.linalg.norm(flat(plain), axis=-1)
    typical = []
    for p in (500, 8000):
        task = tasks.stripe(p, d, seed=9)
        x, y = task.x.numpy(), task.y.numpy()
        true = simulate(start, x, y, times, dt=0.1)
        typical.append(np.median(np.linalg.norm(flat(true) - flat(plain), axis=-1)[0] / size[0]))
    assert typical[1] < 0.02 and 2 < typical[0] / typical[1] < 8  # √16 = 4
    noisy = neuron.predicted_paths(stripe, start, x, y, times)

    def error_across(path):
        return np.median(np.linalg.norm(path.omega[1, :, 1:] - true.omega[1, :, 1:], axis=-1))

    assert error_across(noisy) < 0.35 * error_across(plain)


def saturated(stripe, point, p, seed):
    """``ω_⊥/|ω_1|`` of a neuron of a training set, long after its start at the attractor, and its prediction."""
    task = tasks.stripe(p, stripe.d, seed=seed)
    x, y = task.x.numpy(), task.y.numpy()
    ω = np.eye(1, stripe.d) * point.sign
    b = -ω[:, 0] * point.z / math.sqrt(stripe.d)
    β = np.sign(point.c_1 * ω[:, 0]) * np.sqrt(1 + b**2)
    end = simulate(Neurons(ω, b, β), x, y, [16.0], dt=0.2)
    expected = np.sign(β) * stripe.noise(x, y, point) / (point.constant * math.sqrt(p))
    return end.omega[0, 0, 1:] / abs(end.omega[0, 0, 0]), expected


@pytest.mark.parametrize("kind", [0, 1])
def test_the_constant_of_the_saturated_amplification(kind):
    """``λ* = c √p / |N(z*)|``, direction and all; over training sets the log has scatter 0.06, as p^(-1/4)."""
    stripe = Stripe(tasks.STRIPE, 6)
    point = stripe.attractors()[kind]
    pairs = [saturated(stripe, point, 10_000, seed) for seed in range(4)]
    measured = np.array([pair[0] for pair in pairs])
    expected = np.array([pair[1] for pair in pairs])
    ratio = np.linalg.norm(measured, axis=1) / np.linalg.norm(expected, axis=1)
    assert abs(np.log(ratio).mean()) < 0.1
    cosine = (measured * expected).sum(1) / np.linalg.norm(measured, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosine.min() > 0.97


def test_noise_has_variance_one_and_no_mean():
    point = Stripe(tasks.STRIPE, 3).attractors()[0]
    task = tasks.stripe(2000, 3, seed=list(range(400)))
    noise = Stripe(tasks.STRIPE, 3).noise(task.x.numpy(), task.y.numpy(), point)
    assert noise.shape == (400, 2) and abs(noise.mean()) < 5 / math.sqrt(800)
    assert noise.var() == pytest.approx(1, abs=5 * math.sqrt(2 / 800))


def test_the_fitting_time_grows_by_half_the_growth_time():
    """The predictor, quadratic in weights that grow as ``e^(t/τ*)``, reaches ``1/α`` on a tenth of the points.

    Source: paper A, Sec. 2.5, without the 2: it writes ``e^(t*/τ) α ~ 1``.
    """
    stripe, d = Stripe(tasks.STRIPE, 2), 2
    times = np.linspace(5, 60, 150)
    path = neuron.follow(stripe, neurons(300, d), times)
    task = tasks.stripe(100, d, seed=0)
    u = path.omega @ task.x.numpy().T / math.sqrt(d) + path.b[..., None]
    f = math.sqrt(2) * (path.beta[..., None] * np.maximum(u, 0)).mean(1)
    level = np.log(np.quantile(f * task.y.numpy(), 0.9, axis=1))
    reached = [np.interp(-math.log(alpha), level, times) for alpha in (1e-8, 1e-14)]
    fastest = max(stripe.attractors(), key=lambda point: point.rate)
    predicted = math.log(1e14 / 1e8) / (2 * fastest.rate)
    assert reached[1] - reached[0] == pytest.approx(predicted, rel=0.02)


def test_time_scales():
    assert time_unit(10_000, 2) == 10_000
    point = FixedPoint(0, 1, 1, rate=0.3, rate_perp=-0.2, constant=1, stable_along=True, stable_across=True)
    assert point.crossover(10_000) == pytest.approx(math.log(100) / 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Stripe((0.5, 0.5), 2), "increasing"),
        (lambda: Stripe((1.0, 0.5), 2), "increasing"),
        (lambda: Stripe((), 2), "constant"),
        (lambda: Stripe((0.5,), 0), "d must"),
        (lambda: Stripe((0.5,), 2).c_1(0.0, 0), "sign"),
        (lambda: compression.amplification(torch.ones(5, 3), 3), "below d = 3"),
        (lambda: compression.amplification(torch.ones(5, 3), 0), "d_parallel"),
        (lambda: compression.amplification(torch.ones(5, 3), 1, mean="harmonic"), "quadratic, arithmetic"),
        (
            lambda: compression.attractor_distance(torch.ones(5, 2), torch.full((5,), -99.0), torch.ones(3, 2), []),
            "no neuron",
        ),
        (lambda: neuron.follow(Stripe((0.5,), 3), neurons(4, 2), [1.0]), r"ω \(n, 3\)"),
        (lambda: neuron.follow(Stripe((0.5,), 2), neurons(4, 2), [1.0, 1.0]), "times"),
    ],
)
def test_bad_input_gets_one_line(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
