"""Paper C's statements: each false one is rejected by a test that accepts its correction."""

import math
import re

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special
from sklearn import metrics

from companion.papers.depth.theory import embedding, hidden_motion, pairs, rate, regression, sigmoid_kernel, spectrum
from regimes import validate
from regimes.kernels import infinite_ntk, relu_recursion
from regimes.validate import InputError
from tests import quadrature


def kernel(rho, depth):
    return relu_recursion.kernel_of_angle(torch.acos(torch.as_tensor(rho, dtype=torch.float64)), depth)[0]


# the rate


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.5, 0.9, 0.99])
def test_theorem_2_rate_has_a_logarithm_with_constant_three_eighths(rho):
    scaled = [depth * (float(kernel(rho, depth)) - 0.25) for depth in (10**6, 10**8)]
    slope = (scaled[1] - scaled[0]) / math.log(100)
    assert abs(slope - 3 / 8) < 1e-3  # the correction
    assert not abs(slope) < 1e-3  # O(1/L)


@pytest.mark.parametrize("rho", [-1.0, -0.9, 0.0, 0.5, 0.9, 0.99, 0.9999])
def test_predicted_excess_is_right_to_the_next_order(rho):
    rho = torch.tensor(rho, dtype=torch.float64)
    offset = relu_recursion.offset(torch.acos(rho))
    for depth in (10**6, 10**7, 10**8):
        rest = depth * (float(kernel(rho, depth)) - 0.25 - float(rate.predicted_excess(offset, depth)))
        assert (
            abs(rest) < (float(offset) + math.log(depth)) ** 2 / depth + 1e-15 * depth
        )  # the next order, and round-off


def test_layer_map_is_its_closed_form_and_its_slope():
    rho = torch.linspace(-1, 1, 201, dtype=torch.float64)
    closed = ((1 - rho**2).clamp_min(0).sqrt() + rho * (math.pi - torch.acos(rho))) / math.pi
    assert torch.allclose(rate.correlation_map(rho), closed, atol=1e-15)
    inner = rho[1:-1]
    slope = (rate.correlation_map(inner + 1e-6) - rate.correlation_map(inner - 1e-6)) / 2e-6
    assert torch.allclose(slope, 1 - torch.acos(inner) / math.pi, atol=1e-8)


def test_layer_map_increases_above_the_identity_and_touches_it_at_1():
    rho = torch.linspace(-1, 1, 2001, dtype=torch.float64)
    value = rate.correlation_map(rho)
    contact = (value - rho)[:-1] / (1 - rho[:-1]) ** 1.5
    assert bool((value.diff() > 0).all()) and bool((contact > 2 * math.sqrt(2) / (3 * math.pi) - 1e-9).all())
    assert abs(float(contact[-1]) - 2 * math.sqrt(2) / (3 * math.pi)) < 1e-4


def test_corollary_1_takes_a_slope_three_times_that_of_theorem_2():
    gaps = [
        float(relu_recursion.kernel_of_angle(torch.acos(torch.tensor([0.3], dtype=torch.float64)), d)[1])
        for d in (10**6, 2 * 10**6)
    ]
    slope = (gaps[1] ** -0.5 - gaps[0] ** -0.5) / 10**6
    assert abs(slope - math.sqrt(2) / (3 * math.pi)) < 1e-5 and not abs(slope - math.sqrt(2) / math.pi) < 0.1


def test_corollary_1_has_a_constant_and_the_crossover_gives_it():
    for gap in (1e-4, 1e-6, 1e-8):
        scaled = rate.half_way_depth(1 - gap) / pairs.separation_depth(1 - gap)
        assert abs(scaled - 2.975) < 5e-3 and not 0.5 < scaled < 2
    u = torch.tensor([1e-9, 0.1, 1.0, 10.0, 1e6], dtype=torch.float64)
    printed = ((1 + u) - (1 + u) ** -3) / (4 * u)
    assert torch.allclose(rate.crossover(u)[1:], printed[1:], rtol=1e-12, atol=0)
    assert abs(float(rate.crossover(u[:1])) - 1) < 1e-8
    assert abs(float(rate.crossover(torch.tensor(0.4463115141462384, dtype=torch.float64))) - 0.625) < 1e-5


def test_crossover_law_is_the_limit_of_close_pairs():
    errors = []
    for phi in (1e-2, 1e-3, 1e-4):
        depth = round(3 * math.pi / phi)
        exact = float(relu_recursion.kernel_of_angle(torch.tensor([phi], dtype=torch.float64), depth)[0])
        errors.append(
            abs(exact - float(rate.crossover(torch.tensor(depth * phi / (3 * math.pi), dtype=torch.float64))))
        )
    assert errors[0] > errors[1] > errors[2] and errors[2] < 1e-4


# the range


def test_proposition_5_recursion_is_the_definition_by_gaussian_expectations():
    for rho in (-1.0, -0.9, -0.3, 0.0, 0.4, 0.9, 0.999):
        for depth in range(1, 9):
            assert abs(float(kernel(rho, depth)) - quadrature.kernel(rho, depth)) < 1e-11


def test_the_kernel_of_depth_2_turns_where_its_closed_form_does():
    psi = optimize.brentq(lambda psi: psi * math.tan(psi) - 0.5, 0.1, 1.5)
    rho = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    assert abs(float(rho[kernel(rho, 2).argmin()]) + math.cos(psi)) < 1e-4
    slopes = [float(kernel(-1 + h, 2) - kernel(-1.0, 2)) / h for h in (1e-4, 1e-6)]
    assert slopes[1] < 5 * slopes[0] < 0  # like -1/sqrt(h): no number is the smallest slope


def test_proposition_5_range_fails_at_depths_1_and_2_and_holds_from_3_on():
    rho = torch.linspace(-1, 1, 20001, dtype=torch.float64)
    lowest = {depth: float(kernel(rho, depth).min()) for depth in range(1, 31)}
    assert lowest[1] == -1 and -0.0685 < lowest[2] < -0.068  # [0, 1] is false
    assert all(lowest[depth] >= 0 for depth in range(3, 31))
    assert float(kernel(-0.3943, 2)) < 0 < float(kernel(-0.3941, 2))


def test_kernel_falls_near_minus_one_and_increases_beyond():
    for depth, turn in ((2, -0.794), (5, -0.915), (8, -0.956)):
        rho = torch.linspace(-1, 1, 20001, dtype=torch.float64)
        slope = kernel(rho, depth).diff()
        assert bool((slope[: int((turn + 1 - 0.002) * 10000)] < 0).all())
        assert bool((slope[int((turn + 1 + 0.002) * 10000) :] > 0).all())


# closest pairs


def test_one_pair_law_is_the_integral_and_the_simulation():
    for n0, angle in ((3, 0.4), (16, 1.2), (128, 1.3)):
        density = special.gamma(n0 / 2) / special.gamma((n0 - 1) / 2) / math.sqrt(math.pi)
        area = integrate.quad(lambda t, n0=n0: math.sin(t) ** (n0 - 2), 0, angle)[0]
        assert abs(pairs.angle_probability(angle, n0) - density * area) < 1e-12
    x = pairs.sphere(100_000, 5, seed=0)
    z = pairs.sphere(100_000, 5, seed=1)
    hits = ((x * z).sum(1) >= math.cos(0.8)).double()
    assert abs(float(hits.mean()) - pairs.angle_probability(0.8, 5)) < 4 * float(hits.std()) / math.sqrt(1e5)


def test_proposition_7_holds_for_angles_and_fails_for_inner_products():
    n, n0 = 60, 4
    closest = np.array([pairs.largest_correlation(pairs.sphere(n, n0, seed=s)) for s in range(300)])
    for delta in (0.05, 0.1):
        angle = (closest >= math.cos(delta)).mean()
        inner = (closest >= 1 - delta).mean()
        bound = pairs.pair_bound(n, n0, delta)
        error = 3 * math.sqrt(bound / 300)
        assert angle <= bound + error
        assert inner > bound + error
        assert abs(angle - pairs.chance_of_pair(n, n0, delta)) < error + 0.02


def test_example_2_is_right_as_arithmetic_and_speaks_of_angles():
    n, n0 = 2**30, 128
    delta = math.comb(n, 2) ** (-1 / (n0 - 1))
    assert abs(delta - 0.7247) < 1e-4
    assert abs(pairs.pair_bound(n, n0, delta) - 8 / (127 * math.sqrt(math.pi))) < 1e-12  # 0.0355, the paper's 0.04
    assert abs(pairs.separation_depth(1 - delta) - 1.371) < 1e-3
    assert pairs.chance_of_pair(n, n0, delta) < 1e-6 and pairs.chance_of_pair(n, n0, math.acos(1 - delta)) == 1


def test_a_chance_that_two_points_cannot_have_gets_one_line():
    with pytest.raises(InputError, match=r"chance must be below 0.632 for 2 points, got 0.9"):
        pairs.closest_quantile(2, 4, 0.9)


def test_closest_quantile_inverts_the_chance():
    for n, n0 in ((100, 8), (2**30, 128)):
        rho = pairs.closest_quantile(n, n0, 0.04)
        assert abs(pairs.chance_of_pair(n, n0, math.acos(rho)) - 0.04) < 1e-9


def test_largest_correlation_is_the_brute_force_at_any_block():
    x = pairs.sphere(37, 5, seed=0)
    brute = float((x @ x.T).fill_diagonal_(-1).max())
    assert all(abs(pairs.largest_correlation(x, block=b) - brute) < 1e-15 for b in (1, 7, 37, 100))


# eigenvalues, on data where the claims can fail


@pytest.mark.parametrize(("n", "d", "depth"), [(20, 3, 2), (150, 5, 4), (300, 128, 1), (300, 128, 30)])
def test_smallest_eigenvalue_equals_the_full_spectrum(n, d, depth):
    x = pairs.sphere(n, d, seed=0)
    full = torch.linalg.eigvalsh(infinite_ntk(x, depth=depth))[0]
    assert abs(spectrum.smallest_kernel_eigenvalue(x, depth=depth) - float(full)) < 2e-12


def test_smallest_eigenvalue_of_a_close_pair_is_the_angle():
    """(L - 1) phi/(2π) for a pair far closer than the rest: it can be as small as one likes, at any depth."""
    x = pairs.sphere(60, 20, seed=0)
    for phi in (1e-3, 1e-4):
        other = x[1] - (x[1] @ x[0]) * x[0]
        near = math.cos(phi) * x[0] + math.sin(phi) * other / other.norm()
        value = spectrum.smallest_kernel_eigenvalue(torch.cat([x, near[None]]), depth=5)
        assert abs(value / (4 * phi / (2 * math.pi)) - 1) < 0.02


def test_smallest_eigenvalue_rises_with_depth_towards_three_quarters():
    x = pairs.sphere(80, 128, seed=0)
    values = [spectrum.smallest_kernel_eigenvalue(x, depth=depth) for depth in (2, 5, 30, 1000, 10**6)]
    assert all(a < b for a, b in zip(values, values[1:])) and abs(values[-1] - 0.75) < 1e-4
    assert values[2] > 1.1 * values[1]  # depth 5 has not settled


# projectors and operators


def test_projector_distance_is_that_of_the_full_projectors():
    x = pairs.sphere(50, 6, seed=0)
    gram = infinite_ntk(x, depth=20)
    _, vectors = torch.linalg.eigh(gram)
    result = spectrum.projector_distance(gram)
    one = torch.full((50, 50), 0.02, dtype=torch.float64)
    rest = torch.eye(50).double() - one
    for mine, limit in ((vectors[:, -1:], one), (vectors[:, :-1], rest)):
        assert abs(float(torch.linalg.matrix_norm(mine @ mine.T - limit, 2)) - result) < 1e-12


@pytest.mark.parametrize("n", [4, 31, 32, 50])
def test_the_distance_from_the_limit_is_that_of_the_full_spectrum(n):
    """Below 32 points the whole spectrum, from there on Lanczos."""
    gram = infinite_ntk(pairs.sphere(n, 6, seed=0), depth=20)
    limit = torch.full((n, n), 0.25, dtype=torch.float64) + 0.75 * torch.eye(n).double()
    result = spectrum.distance_from_limit(gram)
    assert result == pytest.approx(float(torch.linalg.matrix_norm(gram - limit, 2)), rel=1e-9) and result > 1e-3
    assert spectrum.distance_from_limit(limit) == 0


def test_projectors_go_like_one_over_depth_with_the_predicted_constant_and_the_matrix_does_not():
    x = pairs.sphere(100, 8, seed=0)
    phi = torch.acos((x @ x.T).clamp(-1, 1)).fill_diagonal_(1)
    sharp = spectrum.row_mean_spread(relu_recursion.offset(phi))
    grams = {depth: infinite_ntk(x, depth=depth) for depth in (10**4, 10**6)}
    distances = {depth: depth * spectrum.projector_distance(gram) for depth, gram in grams.items()}
    assert abs(distances[10**6] / sharp - 1) < 0.02 and distances[10**6] < 4 * math.pi
    sizes = {depth: depth * spectrum.distance_from_limit(gram) / 100 for depth, gram in grams.items()}
    assert abs((sizes[10**6] - sizes[10**4]) / math.log(100) - 3 / 8) < 0.01  # O(n/L) would give 0


def test_operator_is_the_flow_and_obeys_the_norm_bound():
    x = pairs.sphere(40, 5, seed=0)
    test_x = pairs.sphere(30, 5, seed=1)
    gram = infinite_ntk(x, depth=3)
    cross = infinite_ntk(test_x, x, depth=3)
    times = [0.05, 1.0, 30.0, math.inf]
    result = spectrum.operators(gram, cross, times)
    for t, op in zip(times, result):
        decay = torch.linalg.matrix_exp(-min(t, 1e6) * gram)
        exact = cross @ torch.linalg.solve(gram, torch.eye(40).double() - decay)
        assert torch.allclose(op, exact, atol=1e-10)
        # √max_u (1 - e^-u)²/u, from |op|² = Σ (1 - e^{-tλ})²/λ · (v·k)²/λ and kᵀK^{-1}k ≤ 1
        assert float(op.norm(dim=-1).max()) <= 0.638173 * math.sqrt(t) + 1e-12
    smallest = torch.linalg.eigvalsh(gram)[0]
    assert float(result[-1].norm(dim=-1).max()) <= float(smallest) ** -0.5


def test_stopping_lowers_the_norm_by_at_most_a_factor_of_1_582_and_near_duplicates_come_close():
    """Theorem 3 b): beyond a close pair the prediction is an extrapolation, which its small eigenvalue makes large."""
    most, close = 1 / (1 - math.exp(-1)), 0.1
    angles = (
        torch.tensor([0.0, 1.0, 0.25, 5.0, 20.0], dtype=torch.float64) * close
    )  # two points; between and beyond them
    x = torch.stack([angles.cos(), angles.sin()], dim=-1)
    gram = infinite_ntk(x[:2], depth=2)
    cross = infinite_ntk(x[2:], x[:2], depth=2)
    stop = 1 / float(torch.linalg.eigvalsh(gram)[0])
    stopped, forever = spectrum.operators(gram, cross, [stop, math.inf]).norm(dim=-1)
    factors = forever / stopped
    assert bool((factors >= 1).all()) and bool((factors <= most + 1e-9).all())
    assert factors[0] < 1.1 and factors[1] > 1.4 and factors[2] > 1.58
    assert forever[1] > 1.8 and stopped[1] < 1.3


def test_regression_is_the_operator_after_infinite_time():
    x = pairs.sphere(30, 5, seed=0)
    test_x = pairs.sphere(10, 5, seed=1)
    gram = infinite_ntk(x, depth=3)
    cross = infinite_ntk(test_x, x, depth=3)
    y = torch.from_numpy(np.random.default_rng(0).standard_normal((30, 2)))
    (op,) = spectrum.operators(gram, cross, [math.inf])
    assert torch.allclose(regression.kernel_flow_prediction(gram, cross, y), op @ y, atol=1e-10)
    assert torch.allclose(regression.kernel_flow_prediction(gram, gram, y), y, atol=1e-10)


def test_the_slope_of_fitted_noise_is_that_of_finite_differences():
    depth, step = 3, 1e-5
    x, fresh = pairs.sphere(60, 4, seed=0), pairs.sphere(7, 4, seed=1)
    gram = infinite_ntk(x, depth=depth)
    weights = torch.linalg.inv(gram)
    total = 0.0
    for point in fresh:
        axes = torch.linalg.svd(point[None])[2][1:]  # three directions along the sphere
        ahead, behind = (
            infinite_ntk(point * math.cos(step) + sign * math.sin(step) * axes, x, depth=depth) for sign in (1, -1)
        )
        total += float(((ahead - behind) / (2 * step) @ weights).square().sum())
    found = regression.noise_slope(x, fresh, gram, depth=depth)
    assert found == pytest.approx(math.sqrt(total / len(fresh)), rel=1e-5)
    with pytest.raises(InputError, match="unit sphere"):
        regression.noise_slope(x, 2 * fresh, gram, depth=depth)


def test_scores_equal_scikit_learn():
    rng = np.random.default_rng(0)
    f = torch.from_numpy(rng.standard_normal((200, 4)))
    labels = torch.from_numpy(rng.integers(4, size=200))
    guess = f.argmax(1).numpy()
    assert regression.accuracy(f, labels) == metrics.accuracy_score(labels, guess)
    assert abs(regression.macro_f1(f, labels) - metrics.f1_score(labels, guess, average="macro")) < 1e-14


def test_the_toy_network_of_example_1_has_gradients_of_order_one_at_every_alpha():
    """With readout weights of one: part of the first weights, and of the others, of its tangent kernel."""

    def parts(m, alpha):
        sizes, values = ((m, 3), (m, m), (1, m)), (1 / (math.sqrt(3) * m ** (1 + alpha)), 1 / math.sqrt(m), 1.0)
        weights = [
            torch.full(size, value, dtype=torch.float64, requires_grad=True) for size, value in zip(sizes, values)
        ]
        h = torch.ones(3, 1, dtype=torch.float64)
        for w in weights:
            h = w @ h / math.sqrt(w.shape[1])
        first, *others = (float(g.square().sum()) for g in torch.autograd.grad(h.squeeze(), weights))
        return np.array([first, sum(others)])

    for alpha in (0.0, 0.3):
        powers = np.log(parts(400, alpha) / parts(100, alpha)) / math.log(4)
        assert powers == pytest.approx([0, -2 - 2 * alpha], abs=1e-9)


# eta, biases, embedding


def test_eta_contracts_to_one_value_but_is_not_positive_definite():
    rho = torch.linspace(-1, 1, 101, dtype=torch.float64)
    assert float((sigmoid_kernel.eta(rho, 40) - sigmoid_kernel.fixed_point()).abs().max()) < 1e-15
    errors = [float((sigmoid_kernel.eta(rho, depth) - sigmoid_kernel.fixed_point()).abs().max()) for depth in (10, 11)]
    assert abs(errors[1] / errors[0] - sigmoid_kernel.contraction()) < 1e-4
    assert bool((sigmoid_kernel.eta(rho, 5).diff() > 0).all())  # so that the diagonal is the largest value
    few = torch.linalg.eigvalsh(sigmoid_kernel.eta(sigmoid_kernel.circle(12) @ sigmoid_kernel.circle(12).T, 2))[0]
    many = pairs.sphere(200, 127, seed=0)
    assert float(few) < -0.02  # Prop. 8 is false …
    assert float(torch.linalg.eigvalsh(sigmoid_kernel.eta(many @ many.T, 2))[0]) > 0  # … and random data hide it


def test_with_biases_the_limit_is_singular_and_without_it_is_not():
    x = pairs.sphere(10, 6, seed=0)
    smallest = [float(torch.linalg.eigvalsh(infinite_ntk(x, depth=200, bias=bias))[0]) for bias in (0.5, 0.0)]
    assert abs(smallest[0]) < 1e-12 and smallest[1] > 0.7
    pair = [1 - float(infinite_ntk(x, depth=depth, bias=0.5).min()) for depth in (40, 41)]
    assert abs(pair[1] / pair[0] - 2**-0.5) < 1e-3
    least = [float(torch.linalg.eigvalsh(infinite_ntk(x, depth=depth, bias=0.5))[0]) for depth in (40, 41)]
    assert (
        abs(least[1] / least[0] - 2**-0.5) < 1e-3
    )  # the correlation's slope is 1/2, of which the angle takes the root


def test_embedding_lands_on_the_sphere_and_separates_colinear_points():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((15, 3)))
    doubled = torch.cat([x, 2 * x, torch.zeros(1, 3).double()])
    z = embedding.stereographic(doubled)
    pairs.needs_sphere(z)
    assert torch.allclose(z[:, :-1] / (1 - z[:, -1:]), doubled, atol=1e-12)  # projecting back
    assert abs(float(torch.linalg.eigvalsh(infinite_ntk(doubled[:-1], depth=3))[0])) < 1e-13
    assert float(torch.linalg.eigvalsh(infinite_ntk(z, depth=3))[0]) > 1e-3


# features


def test_bigrams_count_words():
    tokens, targets = hidden_motion.bigrams("a b a b a c", 3)
    assert torch.equal(tokens, torch.eye(3).double())
    counts = torch.tensor([[0, 2, 1], [2, 0, 0], [0, 0, 0]]).double() + 1 / 3  # a, b, c by frequency
    assert torch.allclose(targets, counts / counts.sum(1, keepdim=True))


def test_change_is_what_it_says():
    before = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    moved = hidden_motion.change(before, before + torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    assert moved["norm"] == 2.5 and moved["largest"] == 2.0
    assert moved["inner"] == 8.0  # <(4, 4), (0, 2)> was 0


# bad input


def test_bad_input_is_one_line(monkeypatch):
    x = pairs.sphere(40, 4, seed=0)
    with pytest.raises(InputError, match="points must lie on the unit sphere; a squared norm is off by 3"):
        spectrum.smallest_kernel_eigenvalue(2 * x, depth=3)
    with pytest.raises(InputError, match="points 3 and 40 are the same"):
        spectrum.smallest_kernel_eigenvalue(torch.cat([x, x[3:4]]), depth=3)
    with pytest.raises(InputError, match="kernel matrix cannot be inverted"):
        regression.kernel_flow_prediction(
            infinite_ntk(torch.cat([x, x[:1]]), depth=3), torch.ones(1, 41).double(), torch.ones(41, 1).double()
        )
    with pytest.raises(InputError, match="correlations must lie in"):
        rate.correlation_map(torch.tensor(1.5, dtype=torch.float64))
    with pytest.raises(InputError, match="depth must be a whole number of at least 1, got 0"):
        sigmoid_kernel.eta(torch.zeros(1), 0)
    with pytest.raises(InputError, match="vocabulary must be at most 2"):
        hidden_motion.bigrams("a b a", 5)
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 10**6)
    with pytest.raises(InputError, match=re.escape(f"{spectrum.eigenvalue_bytes(5000)} bytes")):
        spectrum.smallest_kernel_eigenvalue(pairs.sphere(5000, 3, seed=0), depth=3)


@pytest.mark.parametrize(("pivot", "taken"), [(4e-14, True), (1e-14, False), (0.0, False)])
def test_a_pivot_at_round_off_is_a_singular_matrix(pivot, taken):
    """Twice the round-off of two points is one; the smaller eigenvalue of this matrix is known."""
    gram = torch.diag(torch.tensor([1.0, pivot]).double())
    y = torch.ones(2, 1).double()
    if taken:
        result = regression.kernel_flow_prediction(gram, torch.eye(2).double(), y)
        torch.testing.assert_close(result[:, 0], 1 / gram.diagonal())
    else:
        with pytest.raises(InputError, match="kernel matrix cannot be inverted"):
            regression.kernel_flow_prediction(gram, torch.eye(2).double(), y)
