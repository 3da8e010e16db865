"""Paper D's statements at initialisation: identities, and formulas whose false printings fail where they hold."""

import itertools
import math

import numpy as np
import pytest
import torch

from companion.papers.alignment.theory import data, egop, free_probability, predictions
from regimes.data import tasks
from regimes.measures import matrices
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.validate import InputError


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def relative(a, b):
    return float((a - b).norm() / b.norm())


# the dynamics at initialisation


def moved(model, x, y, time):
    """The network after gradient flow of the mean of (f - y)²/2 over ``time``: one step of Runge–Kutta."""

    def velocity(weights):
        at = model.with_parameters(weights)
        return at.tangents(x).vjp((y - at(x)) / x.shape[-2])

    start = model.parameters()
    slopes = [velocity(start)]
    for share in (0.5, 0.5, 1.0):
        slopes.append(velocity([w + share * time * v for w, v in zip(start, slopes[-1])]))
    weighted = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(*slopes)]
    return model.with_parameters([w + time * v for w, v in zip(start, weighted)])


@pytest.mark.parametrize("sigma", ["tanh", "quadratic", "relu"])
@pytest.mark.parametrize("layer", [1, 2])
def test_proposition_3_by_finite_differences_of_a_gradient_flow(sigma, layer):
    x, y, h = normal(20, 6, seed=1), normal(20, seed=2), 1e-5  # no unit of the ReLU switches within h
    model = fully_connected([6, 9, 8, 1], seeds=[0], sigma=sigma, parametrisation="standard", gain=0.5)
    start = matrices.sites(model, x)[layer - 1]

    def centred(time):
        now = matrices.sites(moved(model, x, y, time), x)[layer - 1]
        change = now.weights - start.weights
        return matrices.nfm(change), matrices.agop(change, now.delta)

    speed = matrices.velocity(start.inputs, start.delta, (y - model(x)))
    expected = 2 * matrices.nfm(speed), 2 * matrices.agop(speed, start.delta)
    for ahead, behind, right in zip(centred(h), centred(-h), expected):
        assert relative((ahead + behind) / h**2, right) < 1e-5
        assert float((ahead - behind).norm() / (2 * h)) < 1e-4 * float(right.norm())  # no first derivative


@pytest.mark.parametrize("sigma", ["tanh", "quadratic", "relu"])
@pytest.mark.parametrize("layer", [1, 2])
def test_proposition_4_holds_to_rounding(sigma, layer):
    x, y = normal(15, 6, seed=1), normal(15, seed=2)
    model = fully_connected([6, 9, 8, 1], seeds=[0, 1], sigma=sigma)
    at = matrices.sites(model, x)[layer - 1]
    residual = y - model(x)
    speed = matrices.velocity(at.inputs, at.delta, residual) * 15
    kernel = matrices.ptk_kernel(at.delta)
    labelled = at.inputs * residual.unsqueeze(-1)
    first = labelled.mT @ kernel @ labelled
    second = labelled.mT @ kernel @ kernel @ labelled
    assert relative(matrices.nfm(speed), first) < 1e-10
    assert relative(15 * matrices.agop(speed, at.delta), second) < 1e-10
    early = predictions.early_correlation(at.inputs, residual, kernel)
    assert torch.allclose(early, matrices.uc_nfa(speed, at.delta), atol=1e-10)


# the EGOP


@pytest.mark.parametrize(("r", "d"), [(2, 3), (3, 5), (4, 4), (5, 8), (8, 8)])
def test_egop_against_monte_carlo_of_automatic_gradients(r, d):
    blocks = torch.stack([egop.sampled_egop(tasks.chain_monomial(4000, d, r=r, seed=s)) for s in range(40)])
    error = blocks.std(0) / 40**0.5
    closed = egop.chain_monomial_egop(r, d)
    assert float(((blocks.mean(0) - closed).abs() - 4 * error).max()) <= 1e-12
    # paper D, Sec. 2.1, has the rank r; where 4 divides it two directions drop out
    assert (
        int(torch.linalg.matrix_rank(blocks.mean(0))) == int(torch.linalg.matrix_rank(closed)) == r - 2 * (r % 4 == 0)
    )


def test_egop_has_the_eigenvalues_of_a_ring():
    values = torch.linalg.eigvalsh(egop.chain_monomial_egop(5, 9))
    ring = 4 * np.cos(2 * np.pi * np.arange(5) / 5) ** 2 / 5
    assert np.allclose(values, np.sort(np.concatenate([np.zeros(4), ring])), atol=1e-12)


# the first order


@pytest.mark.parametrize("sigma", ["quadratic", "relu"])
@pytest.mark.parametrize("hidden", [1, 2])
def test_expected_kernel_is_that_of_wide_networks(sigma, hidden):
    x = normal(7, 5, seed=1)
    model = fully_connected([5, *[1500] * hidden, 1], seeds=range(12), sigma=sigma, gain=1.0)
    kernels = matrices.ptk_kernel(matrices.sites(model, x)[0].delta)
    result = predictions.expected_kernel(x, sigma=sigma, hidden=hidden)
    assert relative(kernels.mean(0), result) < 0.04


def test_expected_kernel_against_quadrature_at_depth_three():
    x = normal(2, 4, seed=3)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    gram, kernel = (x @ x.mT / 4).numpy(), np.ones((2, 2))
    for _ in range(3):
        root = np.linalg.cholesky(gram)
        u, v = np.meshgrid(nodes, nodes, indexing="ij")
        z = np.stack([root[0, 0] * u, root[1, 0] * u + root[1, 1] * v])
        mass = weights[:, None] * weights
        kernel *= np.einsum("iab,jab,ab->ij", 2 * z, 2 * z, mass)
        gram = np.einsum("iab,jab,ab->ij", z**2, z**2, mass)
    assert np.allclose(predictions.expected_kernel(x, sigma="quadratic", hidden=3), kernel, rtol=1e-10, atol=0)


def test_one_layer_of_the_relu_against_monte_carlo():
    gram = torch.tensor([[2.0, 0.6], [0.6, 1.0]]).double()
    u = normal(400_000, 2, seed=4) @ torch.linalg.cholesky(gram).mT
    slopes, values = predictions._LAYERS["relu"](gram)
    assert float(((u > 0).all(-1)).double().mean()) == pytest.approx(float(slopes[0, 1]), rel=0.01)
    assert float(u.relu().prod(-1).mean()) == pytest.approx(float(values[0, 1]), rel=0.02)
    assert values.diagonal().tolist() == pytest.approx([1.0, 0.5])


def test_first_order_is_perfect_where_the_kernel_is_a_projector():
    q = tasks.rotation(12, seed=1)[:, :5]
    early = predictions.early_correlation(normal(12, 4), normal(12, seed=2), 3 * q @ q.mT)
    assert float(early) == pytest.approx(1, abs=1e-12)


# expectations at finite width


def sampled_speeds(x, y, k, draws, seed):
    """``ẆᵀẆ`` and ``ẆᵀKẆ`` of quadratic networks as the paper writes them, δ = a h: ``(draws, d, d)`` each."""
    rng = np.random.default_rng(seed)
    d = x.shape[-1]
    weights = torch.from_numpy(rng.standard_normal((draws, k, d))) / k**0.5
    readout = torch.from_numpy(rng.standard_normal((draws, 1, k)))
    delta = readout * (x @ weights.mT)
    speed = delta.mT @ (x * y[:, None])
    return speed.mT @ speed, (delta @ speed).mT @ (delta @ speed)


def z_score(blocks, formula):
    """The root mean square over entries of the deviation in standard errors."""
    error = blocks.std(0) / len(blocks) ** 0.5
    return float(((blocks.mean(0) - formula) / error).square().mean().sqrt())


@pytest.mark.parametrize(("n", "d", "k"), [(6, 5, 4), (5, 4, 2), (8, 3, 12)])
def test_proposition_10_corrected_is_accepted_and_printed_is_rejected(n, d, k):
    x, y = normal(n, d, seed=1), normal(n, seed=2)
    blocks = [[m.mean(0) for m in sampled_speeds(x, y, k, 4000, seed)] for seed in range(40)]
    features, outer = (torch.stack(part) for part in zip(*blocks))
    assert z_score(features, free_probability.data_matrices(x, y)[0]) < 3
    assert z_score(features, 4 * free_probability.data_matrices(x, y)[0]) > 10  # the derivative 2ah
    assert z_score(outer, predictions.expected_agop(x, y, k)) < 3
    assert z_score(outer, predictions.expected_agop(x, y, k, printing="printed")) > 10
    assert z_score(outer, predictions.expected_agop(x, y, k, printing="printed") / k) > 3  # not the factor alone


def test_the_network_of_proposition_10_is_a_quadratic_one():
    """δ = a h is half the true derivative of ``aᵀ(Wx)²``: 4 in ``ẆᵀẆ``, 16 in ``ẆᵀKẆ``."""
    x, y = normal(6, 5, seed=1), normal(6, seed=2)
    features, outer = sampled_speeds(x, y, 4, 3, seed=0)
    rng = np.random.default_rng(0)
    weights = torch.from_numpy(rng.standard_normal((3, 4, 5))) / 2
    readout = torch.from_numpy(rng.standard_normal((3, 1, 4)))
    template = fully_connected([5, 4, 1], seeds=[0], sigma="quadratic")
    model = FullyConnected((weights, readout), (1.0, 1.0), template.sigma)
    at = matrices.sites(model, x)[0]
    speed = matrices.velocity(at.inputs, at.delta, y) * 6
    assert relative(matrices.nfm(speed), 4 * features) < 1e-12
    assert relative(6 * matrices.agop(speed, at.delta), 16 * outer) < 1e-12


def test_expected_agop_tends_to_its_second_term_in_wide_networks():
    x, y = normal(6, 5, seed=1), normal(6, seed=2)
    m, b = x.mT @ (x * y[:, None]), x.mT @ x
    assert relative(predictions.expected_agop(x, y, 10**7), m @ b @ m) < 1e-5
    # one neuron: no pairs of different ones
    alone = 3 * b.trace() * m @ m + 6 * m @ b @ m
    assert relative(predictions.expected_agop(x, y, 1), alone) < 1e-12
    assert relative(predictions.expected_agop(x, y, 9, printing="printed"), alone) < 1e-12  # which is what is printed


# free probability


def set_partitions(items):
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for chosen in itertools.combinations(rest, size):
            left = [i for i in rest if i not in chosen]
            for others in set_partitions(left):
                yield [(first, *chosen), *others]


def cycles(permutation):
    left, result = set(permutation), []
    while left:
        cycle = [min(left)]
        while permutation[cycle[-1]] != cycle[0]:
            cycle.append(permutation[cycle[-1]])
        left -= set(cycle)
        result.append(cycle)
    return result


def free_trace(factors, cumulants):
    """``tr(c_1 R c_2 R …)`` with ``R`` free of the ``c``: the sum over non-crossing partitions (Nica and Speicher)."""
    n, total = len(factors), 0.0
    for blocks in set_partitions(list(range(n))):
        ahead = {b: block[(i + 1) % len(block)] for block in blocks for i, b in enumerate(block)}
        back = {value: key for key, value in ahead.items()}
        complement = cycles({i: back[(i + 1) % n] for i in range(n)})
        if len(blocks) + len(complement) != n + 1:  # it crosses
            continue
        term = math.prod(cumulants[len(block) - 1] for block in blocks)
        for cycle in complement:
            product = factors[cycle[0]]
            for i in cycle[1:]:
                product = product @ factors[i]
            term *= float(product.trace()) / len(product)
        total += term
    return total


def symmetric(d, seed):
    m = normal(d, d, seed=seed)
    return m + m.mT + 1.5 * torch.eye(d).double()


CUMULANTS = (0.7, 1.3, -0.4, 2.1)


def test_formulas_20_22_and_28_are_sums_over_non_crossing_partitions():
    a = symmetric(6, 1)
    b = symmetric(6, 2)
    one = torch.eye(6).double()
    r = [free_trace([one] * j, CUMULANTS) for j in range(1, 5)]
    t = free_probability.matrix_traces(a, b)
    assert float(free_probability.numerator(t, r)) == pytest.approx(free_trace([a, a, b], CUMULANTS), rel=1e-12)
    assert float(free_probability.first_denominator(t, r)) == pytest.approx(free_trace([a, a], CUMULANTS), rel=1e-12)
    right = free_trace([a, b, a, b], CUMULANTS)
    assert float(free_probability.second_denominator(t, r)) == pytest.approx(right, rel=1e-12)
    for printing in ("printed", "literal"):
        assert abs(float(free_probability.second_denominator(t, r, printing=printing)) / right - 1) > 0.05


def test_moments_of_the_readout_matrix_are_those_of_a_compound_free_poisson_law():
    one, c = torch.eye(2).double(), 0.6
    cumulants = [c**m * power for m, power in enumerate(free_probability.GAUSSIAN)]
    expected = [free_trace([one] * j, cumulants) for j in range(1, 5)]
    assert free_probability.readout_moments(c) == pytest.approx(expected, rel=1e-12)
    closed = (1, 1 + 3 * c, 1 + 9 * c + 15 * c**2, 1 + 18 * c + 78 * c**2 + 105 * c**3)
    assert free_probability.readout_moments(c) == pytest.approx(closed, rel=1e-12)


def test_moments_of_a_readout_of_another_size_scale_with_its_powers():
    """Of a readout ``s a`` the matrix is ``s² R``; here the mean square is not 1."""
    c, s = 0.6, 1.3
    powers = [s ** (2 * m) * power for m, power in enumerate(free_probability.GAUSSIAN, 1)]
    expected = [s ** (2 * m) * moment for m, moment in enumerate(free_probability.readout_moments(c), 1)]
    assert free_probability.readout_moments(c, powers) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("d", "k"), [(150, 150), (300, 300), (150, 600), (300, 150)])
def test_moments_against_sampled_matrices(d, k):
    """With a network's own readout in the formula its heavy tail drops out, and what is left is of order 1/d."""
    ratios = []
    for seed in range(6):
        weights = normal(k, d, seed=seed) / k**0.5
        a = normal(k, seed=100 + seed)
        result = free_probability.moments(free_probability.readout_matrix(weights, a))
        powers = [float((a ** (2 * j)).mean()) for j in range(1, 5)]
        ratios.append([float(f) / e for f, e in zip(result, free_probability.readout_moments(d / k, powers))])
    assert np.abs(np.mean(ratios, 0) - 1).max() < 25 / d


def unitary(d, count, seed):
    """Uniformly random unitary matrices, for which corrections to freeness are of order 1/d²."""
    rng = np.random.default_rng(seed)
    q, r = torch.linalg.qr(
        torch.from_numpy(rng.standard_normal((count, d, d)) + 1j * rng.standard_normal((count, d, d)))
    )
    phase = r.diagonal(dim1=-2, dim2=-1)
    return q * (phase / phase.abs()).unsqueeze(-2)


@pytest.fixture(scope="module")
def rotated():
    """Data matrices, the moments of ``R``, and the three traces over rotations of its eigenvectors."""
    d = 48
    x, y = normal(d, d, seed=5), normal(d, seed=6)
    a, b = free_probability.data_matrices(x / d**0.5, y)
    r = free_probability.readout_matrix(normal(d, d, seed=7) / d**0.5, normal(d, seed=8))
    turns = unitary(d, 1500, seed=9)
    spun = (turns * torch.linalg.eigvalsh(r).to(turns.dtype)) @ turns.mH
    complexes = [m.to(turns.dtype).expand_as(spun) for m in (a, b)]
    ar, br = complexes[0] @ spun, complexes[1] @ spun
    arbr = ar @ br
    sampled = [(left * right.mT).sum((-2, -1)).real / d for left, right in ((ar, arbr), (ar, ar), (arbr, arbr))]
    return free_probability.matrix_traces(a, b), free_probability.moments(r), sampled


def standard_errors(sampled, formula):
    return abs(float(sampled.mean() - formula)) / float(sampled.std() / len(sampled) ** 0.5)


def test_monte_carlo_accepts_20_22_and_28_corrected_and_rejects_28_as_printed(rotated):
    t, r, (twenty, twenty_two, twenty_eight) = rotated
    assert standard_errors(twenty, free_probability.numerator(t, r)) < 3
    assert standard_errors(twenty_two, free_probability.first_denominator(t, r)) < 3
    assert standard_errors(twenty_eight, free_probability.second_denominator(t, r)) < 3
    for printing in ("printed", "literal"):
        assert standard_errors(twenty_eight, free_probability.second_denominator(t, r, printing=printing)) > 10


def test_monte_carlo_rejects_19_as_printed(rotated):
    t, r, (twenty, *_) = rotated
    slipped = free_probability.numerator(t, r) - t.a**2 * t.b * (r[2] - r[0] ** 3)  # tr(R)³ for tr(R³)
    assert standard_errors(twenty, slipped) > 10


def test_observed_traces_are_those_of_the_networks_matrices():
    x, y = normal(20, 20, seed=1), normal(20, seed=2)
    weights = normal(3, 20, 20, seed=3)
    readout = normal(3, 20, seed=4)
    a, b = free_probability.data_matrices(x, y)
    r = free_probability.readout_matrix(weights, readout)
    result = free_probability.observed_traces(a.expand_as(r), b.expand_as(r), r)
    delta = readout.unsqueeze(-2) * (x @ weights.mT)
    speed = matrices.velocity(x.expand(3, -1, -1), delta, y.expand(3, -1))
    early = result[0] / (result[1] * result[2]).sqrt()
    assert torch.allclose(early, matrices.uc_nfa(speed, delta), rtol=1e-10, atol=0)


def test_prediction_is_a_correlation_and_the_printed_one_is_not():
    task = data.spike_free(256, balance=1 / 16, floor=0.01, seed=0)
    t = free_probability.matrix_traces(*free_probability.data_matrices(task.x, task.y))
    r = free_probability.readout_moments(1.0)
    assert 0 < float(free_probability.correlation(t, r)) < 1
    assert float(free_probability.correlation(t, r, printing="printed")) > 1.2


def test_alternating_words_of_equations_12_to_15():
    """Of two matrices in general position, the same in every place; Eq. 15 needs both of its pairs."""
    n = 800
    turn = tasks.rotation(800, seed=3)
    raw = normal(2, 800, seed=4)
    C = raw[0] - raw[0].mean()
    R = (turn * (raw[1] + 1)) @ turn.mT
    words = itertools.accumulate([C[:, None] * R] * 4, torch.matmul)
    one, two, three, four = (float(word.diagonal().mean()) for word in words)
    r, apart = float(R.diagonal().mean()), float((R * R).sum() / n) - float(R.diagonal().mean()) ** 2  # tr R̄²
    c2, c3, c4 = (float((C**j).mean()) for j in (2, 3, 4))
    assert [one, two - r**2 * c2, three - r**3 * c3] == pytest.approx([0, 0, 0], abs=0.15)
    assert four == pytest.approx(r**4 * c4 + 2 * r**2 * apart * c2**2, rel=0.05)
    assert four != pytest.approx(r**4 * c4 + r**2 * apart * c2**2, rel=0.1)


def test_equation_6_is_equation_20_of_isotropic_data():
    y, r = normal(9, seed=5), (1.1, 4.2, 26.0, 210.0)
    a, b = free_probability.data_matrices(tasks.rotation(9, seed=2), y)
    six = (y**2).mean() ** 2 * r[2] + r[0] * r[1] * (y**2).var(correction=0)
    assert float(free_probability.numerator(free_probability.matrix_traces(a, b), r)) == pytest.approx(
        float(six), rel=1e-10
    )


def test_the_covariance_term_is_all_but_the_product_of_the_means():
    x, y = normal(7, 7, seed=8), normal(7, seed=9)
    t = free_probability.matrix_traces(*free_probability.data_matrices(x, y))
    for k in (7, 70):  # what is left out of Prop. 10 in the limit is 5/k of its second term
        nfm = free_probability.data_matrices(x, y)[0]
        agop = predictions.expected_agop(x, y, k)
        a, b = free_probability.data_matrices(x, y)
        first = float((nfm * agop).sum() - 5 / k * (a @ a * b).sum()) / 7
        whole = float(free_probability.numerator(t, free_probability.readout_moments(7 / k)))
        assert float(free_probability.covariance_share(t, 7 / k)) == pytest.approx(1 - first / whole, rel=1e-9)
    assert abs(float(free_probability.covariance_share(t, 1e-9))) < 1e-6


def test_isotropic_data_are_the_special_case():
    d = 60
    y = normal(d, seed=1)
    a, b = free_probability.data_matrices(tasks.rotation(d, seed=2), y)
    spread = float(y.square().var(correction=0) / y.square().mean() ** 2)
    r = free_probability.readout_moments(0.5)
    whole = float(free_probability.correlation(free_probability.matrix_traces(a, b), r))
    assert free_probability.isotropic(spread, 0.5) == pytest.approx(whole, rel=1e-10)
    assert free_probability.isotropic(2.0, 1.0) == pytest.approx(33 / math.sqrt(1404), rel=1e-12)
    least = min(free_probability.isotropic(spread, 1.0) for spread in np.linspace(0, 5, 501))
    assert least == pytest.approx(0.878, abs=1e-3), "chapter 6 says that it is at least 0.87 on isotropic data"
    assert free_probability.isotropic(2.0, 1e-9) == pytest.approx(1, abs=1e-6)  # infinite width: K is its expectation


# the data


@pytest.mark.parametrize("balance", [0.25, 0.5])
@pytest.mark.parametrize("floor", [1.0, 0.1])
def test_data_without_spikes_are_what_the_construction_wants(balance, floor):
    task = data.spike_free(64, balance=balance, floor=floor, seed=3)
    ones = task.x[task.y == 1]
    m, b = ones.mT @ ones, task.x.mT @ task.x
    values = torch.linalg.eigvalsh(m)[-int(balance * 64) :]
    assert np.allclose(values, np.geomspace(floor, 1, int(balance * 64)), rtol=1e-9, atol=0)
    product = m @ b @ m
    assert relative(product @ product, product) < 1e-9 and product.trace() == pytest.approx(balance * 64, rel=1e-9)
    assert torch.linalg.matrix_norm(m - free_probability.data_matrices(task.x, task.y)[0], 2) < 1 + 1e-9


def test_subsampling_keeps_an_inverse_that_the_pseudo_inverse_does_not_have():
    """``X_2ᵀX_2 = (X_1ᵀX_1)^{-2}`` holds before rows are left out; the labels and the noise are as written."""
    x1, other = normal(40, 40, seed=1), normal(40, 40, seed=2)
    x2 = data._inverse_rows(x1, other, single=False)
    gram = x1.mT @ x1
    assert relative(x2.mT @ x2, torch.linalg.inv(gram @ gram)) < 1e-6
    for reading in data.READINGS:
        task = data.reversing(64, balance=0.25, reading=reading, seed=0)
        assert task.x.shape == (64, 64) and int((task.y > 0.5).sum()) == 16
        assert set(task.y.tolist()) == {data.SHIFT, 1 + data.SHIFT}
    assert bool((data.reversing(64, balance=1, reading="scaled", seed=0).y > 0.5).all())


def test_full_rank_target_has_unit_deviation_on_the_chain_monomials_points():
    task = data.full_rank(50, 6, decay=1.0, basis=1, mixing=2, seed=[3, 4])
    assert torch.equal(task.x, tasks.chain_monomial(50, 6, decay=1.0, basis=1, seed=[3, 4]).x)
    assert torch.allclose(task.y.std(-1), torch.ones(2).double()) and float(task.y.min()) > 0


X, Y = normal(4, 3), normal(4)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: egop.chain_monomial_egop(1, 5), "r must be a whole number from 2 to 5"),
        (lambda: egop.chain_monomial_egop(6, 5), "r must be a whole number from 2 to 5"),
        (lambda: egop.sampled_egop(tasks.Task(X, Y, "drawn")), "a label function is needed"),
        (lambda: data.reversing(16, balance=0, reading="scaled", seed=0), r"round\(balance \* n\) must be"),
        (lambda: data.reversing(16, balance=1.01, reading="scaled", seed=0), "balance must be a number from 0 to 1"),
        (
            lambda: data.reversing(16, balance=0.01, reading="scaled", seed=0),
            "must be a whole number of at least 1, got 0",
        ),
        (lambda: data.reversing(16, balance=0.5, reading="guess", seed=0), "reading must be one of"),
        (
            lambda: data.spike_free(16, balance=0.6, floor=0.5, seed=0),
            r"round\(balance \* n\) must be a whole number from 2 to 8",
        ),
        (lambda: data.spike_free(16, balance=-1, floor=0.5, seed=0), "balance must be a number from 0 to 1"),
        (lambda: data.spike_free(16, balance=0.5, floor=0, seed=0), "floor must be a number from 1e-100 to 1"),
        (lambda: data.full_rank(1, 5, decay=1.0, basis=0, mixing=0), "p must"),
        (lambda: predictions.expected_kernel(X, sigma="tanh", hidden=1), "sigma must be one of quadratic, relu"),
        (lambda: predictions.expected_kernel(X, sigma="relu", hidden=0), "hidden must"),
        (lambda: predictions.expected_kernel(X, sigma="relu", hidden=101), "hidden must"),
        (lambda: predictions.expected_agop(X, Y, 0), "k must"),
        (lambda: predictions.expected_agop(X, Y, 2, printing="guess"), "printing must be one of"),
        (lambda: free_probability.data_matrices(X, Y[:3]), "y must have shape"),
        (lambda: predictions.early_correlation(X, Y, torch.zeros(4, 4).double()), "zero matrix"),
        (lambda: free_probability.readout_moments(0.0), "ratio must"),
        (lambda: free_probability.readout_moments(1.0, (1.0, 3.0)), "powers must"),
        (lambda: free_probability.isotropic(-1.0, 1.0), "spread must"),
        (lambda: free_probability.moments(X), "matrix must have shape"),
        (
            lambda: free_probability.second_denominator(None, (1, 1, 1, 1), printing="guess"),
            "printing must be one of corrected",
        ),
    ],
)
def test_bad_input_gets_one_line(call, named):
    with pytest.raises(InputError, match=named) as raised:
        call()
    assert "\n" not in str(raised.value)
