"""Kernel principal components: against LAPACK, closed forms, quadrature and the kernels themselves."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch import nn

import regimes
from companion.studies.kernel_pca import _frozen as frozen
from companion.theory.kernel_pca import two_kinds
from companion.theory.kernel_pca.norm import hinge_norm, least_norm
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures import information, spectrum
from regimes.measures.kernel_pca import diagnose, kernel_pca, separable
from regimes.models.convolutional import convolutional
from regimes.models.fully_connected import fully_connected
from regimes.models.one_hidden import Network, one_hidden
from regimes.training import kernel_flow
from regimes.validate import InputError


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


@pytest.fixture(scope="module")
def gram():
    return ntk(one_hidden(5, 40, seeds=[0, 1]), tasks.stripe(450, 5, seed=3).x)


def test_lanczos_finds_what_lapack_finds(gram, monkeypatch):
    full = spectrum._scaled(*spectrum._lapack(gram, 10))
    monkeypatch.setattr(spectrum, "_lapack", None)  # where Lanczos fails, LAPACK would stand in
    few = spectrum.components(gram, 10)
    torch.testing.assert_close(full.values, few.values, rtol=1e-10, atol=0)
    torch.testing.assert_close(full.vectors, few.vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_products_with_the_jacobian_find_the_kernels_components(shared):
    net = one_hidden(5, 40, seeds=[0, 1])
    x = tasks.stripe(150, 5, seed=3 if shared else [3, 4]).x.double()
    ours, theirs = spectrum.tangent_components(net, x, 6), spectrum.components(ntk(net, x), 6)
    torch.testing.assert_close(ours.values, theirs.values, rtol=1e-9, atol=0)
    torch.testing.assert_close(ours.vectors, theirs.vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("centred", [False, True])
def test_components_make_up_the_kernel(gram, centred):
    small = spectrum.centre(gram[:, :60, :60]) if centred else gram[:, :60, :60]
    found = spectrum.components(small, 60)
    assert bool((found.values[..., 1:] <= found.values[..., :-1] + 1e-15).all())
    whole = (found.vectors * found.values[..., None, :]) @ found.vectors.mT
    torch.testing.assert_close(whole, small)
    torch.testing.assert_close(found.vectors.mT @ found.vectors / 60, torch.eye(60).double().expand(2, 60, 60))
    largest = found.vectors.gather(-2, found.vectors.abs().argmax(-2, keepdim=True))
    assert bool((largest > 0).all())


def test_many_components_of_one_eigenvalue_are_found_too():
    found = spectrum.components(torch.eye(500).double()[None], 10)
    torch.testing.assert_close(found.values * 500, torch.ones(1, 10).double())


def test_centring_is_that_of_the_features():
    features = normal(30, 7)
    moved = features - features.mean(0)
    torch.testing.assert_close(spectrum.centre(features @ features.T), moved @ moved.T)


def test_projections_sum_to_the_mean_square_and_give_norm_and_alignment(gram):
    small, y = gram[:, :60, :60], tasks.stripe(60, 5, seed=3).y.double()
    values, vectors = spectrum.components(small, 60)
    squares = spectrum.projections(vectors, y.expand(2, 60))
    torch.testing.assert_close(squares.sum(-1), torch.ones(2).double())
    inverse = torch.linalg.solve(small, y.expand(2, 60).unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(spectrum.rkhs_norm(values, squares), (inverse * y).sum(-1), rtol=1e-5, atol=0)
    aligned = (values * squares).sum(-1) / values.square().sum(-1).sqrt()
    torch.testing.assert_close(spectrum.alignment(small, y.expand(2, 60)), aligned)
    dimension = values.sum(-1).square() / values.square().sum(-1)
    torch.testing.assert_close(spectrum.effective_dimension(small), dimension)


def test_limits_of_dimension_and_alignment():
    y = torch.tensor([1.0, -1, 1, 1, -1, -1]).double()
    assert float(spectrum.alignment(torch.outer(y, y), y)) == pytest.approx(1)
    assert float(spectrum.effective_dimension(torch.outer(y, y))) == pytest.approx(1)
    assert float(spectrum.effective_dimension(torch.eye(6).double())) == pytest.approx(6)
    ones = torch.ones(6, 6).double()
    assert float(spectrum.alignment(spectrum.centre(ones + torch.outer(y, y)), y)) == pytest.approx(1)


@pytest.mark.parametrize("d", [1, 3])
def test_dimension_by_distances_is_that_of_the_points(d):
    points = torch.from_numpy(np.random.default_rng(0).random((1600, d))) @ normal(d, 20, seed=1)
    found = spectrum.distance_dimension(points @ points.T, [100, 200, 400, 800, 1600])
    assert float(found) == pytest.approx(d, rel=0.15)


def test_dimension_by_distances_takes_every_group_of_points():
    """Once more by a loop; what is left over of 50 points in groups of 20 stays out."""
    points, means = normal(50, 3), []
    for m in (10, 20, 50):
        nearest = []
        for start in range(0, 50 - m + 1, m):
            group = points[start : start + m]
            nearest += [sorted((group - one).norm(dim=1).tolist())[1] for one in group]
        means.append(np.mean(nearest))
    slope = np.polyfit(np.log([10, 20, 50]), np.log(means), 1)[0]
    assert float(spectrum.distance_dimension(points @ points.T, [10, 20, 50])) == pytest.approx(-1 / slope)


def exact_information(plus, minus, ends):
    """``I(x; y)`` in bits from the densities of ``x`` given each label, by quadrature between increasing ``ends``."""

    def lost(x):
        total = plus(x) + minus(x)
        return total / 2 * float(information.entropy(np.array(plus(x) / total))) if total > 0 else 0.0

    return 1 - sum(quad(lost, a, b, epsabs=1e-10, limit=200)[0] for a, b in zip(ends, ends[1:]))


@pytest.mark.parametrize(
    ("shift", "exact"), [(shift, information.shifted_gaussians(shift)) for shift in (0.7, 1.0, 1.5)]
)
def test_estimate_against_closed_form(shift, exact):
    """Smooth densities: within the bias of a Beta variable, which shrinks as more is told."""
    y = torch.tensor([1.0, -1.0]).repeat(4000).double()
    found = information.mutual_information(shift * y + normal(8000), y)
    assert found == pytest.approx(exact, abs=information.null_bias() * (1 - exact) + 0.02)
    assert abs(exact - exact_information(norm(shift).pdf, norm(-shift).pdf, [-9, 0, 9])) < 1e-8


def test_estimate_of_noise_is_the_null_bias_and_permuted_labels_are_noise():
    x, y = normal(40, 1000), torch.tensor([1.0, -1.0]).repeat(500).double()
    for itself in (False, True):
        found = np.mean([information.mutual_information(one, y, counts_itself=itself) for one in x])
        assert found == pytest.approx(information.null_bias(counts_itself=itself), abs=4e-3)
    assert information.null_bias() == pytest.approx(1 - sum(1 / m for m in range(6, 11)) / math.log(2))
    assert information.null_bias(500) < 1e-3
    telling = x[0] + 3 * y
    shuffled = y[torch.randperm(1000, generator=torch.Generator().manual_seed(0))]
    assert information.mutual_information(telling, y) > 0.8
    assert information.mutual_information(telling, shuffled) < 0.1


def test_estimate_by_its_definition():
    """Distances and the formula once more, by a loop over all pairs; its scale is of no effect."""
    x, y = normal(60, 2), torch.tensor([1.0, -1.0]).repeat(30).double()
    for itself in (False, True):
        total = 0.0
        for i in range(60):
            r = {}
            for side in (1.0, -1.0):
                others = [float((x[i] - x[j]).norm()) for j in range(60) if y[j] == side and (j != i or itself)]
                r[side] = sorted(others)[2]
            q = 1 / (1 + (r[1.0] / r[-1.0]) ** 2)
            total += 1 + q * math.log2(q) + (1 - q) * math.log2(1 - q)
        for scale in (1.0, 1e-7):
            found = information.mutual_information(scale * x, y, neighbours=3, counts_itself=itself)
            assert found == pytest.approx(total / 60)


def test_equal_points_tell_nothing_and_do_no_harm():
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    assert information.mutual_information(torch.zeros(40).double(), y) == 0
    assert information.mutual_information(y, y) == 1


def test_a_sharp_label_lacks_what_is_derived():
    n = 4000
    s = torch.from_numpy(np.random.default_rng(0).random(n)) * torch.tensor([1.0, -1.0]).repeat(n // 2)
    found = 1 - information.mutual_information(s, s.sign())
    assert found == pytest.approx(information.sharp_loss(n), rel=0.05)


def test_information_along_a_direction_of_the_stripe():
    assert information.stripe_information(0.0) == pytest.approx(0, abs=1e-12)
    assert information.stripe_information(1.0) == pytest.approx(1, abs=1e-9)
    c, s = 0.9, math.sqrt(1 - 0.81)

    def minus(t):
        return 2 * norm.pdf(t) * (norm.cdf((tasks.STRIPE[1] - c * t) / s) - norm.cdf((tasks.STRIPE[0] - c * t) / s))

    exact = exact_information(lambda t: 2 * norm.pdf(t) - minus(t), minus, [-8, -1, 0, 1, 2, 8])
    assert information.stripe_information(c) == pytest.approx(exact, abs=1e-6)
    three = information.stripe_information(1.0, [-1.0, 0.0, 1.0])
    assert three == pytest.approx(1, abs=1e-9)


def test_last_layer_kernel_is_the_gram_matrix_of_the_features():
    net = one_hidden(4, 30, seeds=[0, 1])
    task = tasks.stripe(40, 4, seed=0)
    x = task.x
    features = math.sqrt(2) * torch.relu(torch.einsum("ehd,pd->eph", net.omega, x) / 2 + net.b[:, None]) / 30
    torch.testing.assert_close(ntk(net, x, params=("beta",)), features @ features.mT)
    found = kernel_pca(net, x, task.y, params=("beta",), count=3)
    torch.testing.assert_close(found.values, torch.linalg.svdvals(features)[:, :3].square() / 40)


def test_last_layer_kernel_of_the_convolutional_network():
    """Its features are what the output is linear in: kernel = features' Gram, the constant one of the bias included."""
    net = convolutional(2, seeds=[0], shape=(1, 8, 8))
    x = normal(12, 64)
    base = net(x)
    unit = torch.eye(40).double()[:, None, None]
    heads = [net.with_parameters([*net.weights, unit[i], 0 * net.bias]) for i in range(40)]
    features = torch.stack([*(one(x)[0] for one in heads), torch.ones(12).double()], -1)
    torch.testing.assert_close(ntk(net, x, params=("w", "b"))[0], features @ features.T)
    assert base.shape == (1, 12)


def test_two_parts_are_the_kernel_of_a_network_without_uninformative_weights():
    net, x = one_hidden(6, 50, seeds=[0, 1]), tasks.stripe(40, 6, seed=1).x
    lost = Network(net.omega.clone(), net.b, net.beta)
    lost.omega[..., 2:] = 0
    first, second = two_kinds.two_parts(net, x, 2)
    torch.testing.assert_close(first + second * (x[:, 2:] @ x[:, 2:].T), ntk(lost, x))
    none, some = (two_kinds.relative_residual(network, x, 2) for network in (lost, net))
    assert float(none.max()) < 1e-12 < 0.05 < float(some.min())
    small = Network(net.omega * torch.tensor([1, 1, *4 * [1e-3]]).double(), net.b, net.beta)
    assert float(two_kinds.relative_residual(small, x, 2).max()) < 0.02


def test_kinds_of_components():
    x = normal(1000, 4)
    one, two = torch.tanh(x[:, 0]), torch.cos(x[:, 0]) * (x[:, 1] - 2 * x[:, 3])
    noise, harmonic = normal(1000, seed=1), x[:, 1] * x[:, 2]
    found = two_kinds.kinds(torch.stack([one, two, noise, harmonic], 1), x)
    assert found[0, 0] > 0.99 and found[1, 1] > 0.99
    assert float(found[0, 1]) < 0.1 and float(found[1, 0]) < 0.1
    assert float(found[2:].max()) < 0.1


def test_components_of_the_two_part_kernel_are_of_the_two_kinds():
    net, x = one_hidden(4, 200, seeds=[0]), normal(1500, 4, seed=2)
    net.omega[..., 1:] = 0
    found = diagnose(ntk(net, x), torch.tensor([1.0, -1.0]).repeat(750), count=6)
    assert float(two_kinds.kinds(found.vectors[0], x).amax(-1).min()) > 0.98


def test_least_norm():
    """In closed form for equal eigenvalues; else no other function at that distance has less."""
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    root = normal(40, 60)
    gram = root @ root.T / 60
    for left in (0.5, 0.1):
        assert least_norm(torch.eye(40).double(), y, left) == pytest.approx(40 * (1 - left**0.5) ** 2)
        found = least_norm(3 * gram, y, left)
        assert found == pytest.approx(least_norm(gram, y, left))
        for seed in range(20):  # any other function at that distance
            f = y + (40 * left) ** 0.5 * torch.nn.functional.normalize(normal(40, seed=seed), dim=0)
            assert float(f @ torch.linalg.solve(gram, f) * gram.diagonal().mean()) > found


def test_hinge_norm():
    """In closed form for equal eigenvalues; else no other function with that loss has less, if there is one."""
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    root = normal(40, 60)
    gram = root @ root.T / 60
    for left in (0.5, 0.1, 0.02):
        assert hinge_norm(torch.eye(40).double(), y, left) == pytest.approx(40 * (1 - left) ** 2, rel=1e-4)
        found = hinge_norm(3 * gram, y, left)
        assert found == pytest.approx(hinge_norm(gram, y, left))
        for seed in range(20):  # any other function with that loss
            losses = np.random.default_rng(seed).exponential(size=40)
            f = y * (1 - left * torch.from_numpy(losses / losses.mean()))
            assert float(f @ torch.linalg.solve(gram, f) * gram.diagonal().mean()) > found
    assert hinge_norm(torch.ones(40, 40).double(), y, 0.5) == np.inf  # the constant: its loss is 1


@pytest.mark.parametrize("pattern", [(1.0, -1.0, -1.0, 1.0), (1.0, -1.0)])
def test_best_line_of_two_halves(pattern):
    y = torch.tensor(pattern).repeat(1000 // len(pattern)).double()
    clouds = normal(1000, 2) + 1.5 * y[:, None] * torch.tensor([0.6, -0.8]).double()
    assert separable(clouds, y) == pytest.approx(norm.cdf(1.5), abs=0.02)
    noise = [separable(normal(100, 2, seed=seed), y[:100]) for seed in range(20)]
    assert np.mean(noise) == pytest.approx(0.5, abs=0.03)  # judged on the points that chose the line: 0.6
    assert separable(torch.stack([y, y], 1), y) == 1


def test_a_frozen_last_layer_is_a_linear_model_of_its_features():
    train, test = tasks.stripe(20, 5, seed=[0]), tasks.stripe(50, 5, seed=[2])
    net = one_hidden(5, 60, seeds=[0])
    found = frozen(net, train, test, params=("beta",))
    cross = ntk(net, test.x, train.x, params=("beta",))
    rank = torch.linalg.lstsq(cross[0].T @ cross[0], cross[0].T @ found.f[0]).solution
    torch.testing.assert_close(cross[0] @ rank, found.f[0], rtol=1e-4, atol=1e-4)


def test_a_frozen_kernel_is_that_of_float64_whatever_the_networks_precision():
    """Rounding to float32 would give the last layer of five neurons as many features as there are points."""
    train, test = tasks.stripe(40, 5, seed=[0]).to(dtype=torch.float32), tasks.stripe(50, 5, seed=[2])
    net, test = one_hidden(5, 5, seeds=[0]).to(dtype=torch.float32), test.to(dtype=torch.float32)
    ours = frozen(net, train, test, params=("beta",), ridge=1e-6)
    wide, x, z = net.to(dtype=torch.float64), train.x.double(), test.x.double()
    fit = kernel_flow.fit(ntk(wide, x, params=("beta",)), train.y.double(), ridge=1e-6)
    assert ours.f.dtype == torch.float64 and ours.ended == ("zero loss",)
    torch.testing.assert_close(ours.f, fit.model(ntk(wide, z, x, params=("beta",))), rtol=1e-6, atol=1e-6)
    assert frozen(net, train, test, params=("beta",)).ended[0].startswith("jammed")  # five features fit no forty points


def test_a_torch_module_is_what_its_twin_is():
    twin = fully_connected([3, 8, 1], seeds=[0], parametrisation="standard", gain=1.0, sigma="tanh")
    net = nn.Sequential(nn.Linear(3, 8, bias=False), nn.Tanh(), nn.Linear(8, 1, bias=False)).double()
    for layer, weight, scale in zip(net[::2], twin.weights, twin.multipliers, strict=True):
        layer.weight.data = weight[0] * scale
    task = tasks.stripe(60, 3, seed=0)
    ours = regimes.kernel_pca(net, task.x, task.y, count=4)
    slopes = [torch.autograd.grad(net(point)[0], tuple(net.parameters())) for point in task.x]
    rows = torch.stack([torch.cat([g.flatten() for g in one]) for one in slopes])
    theirs = diagnose((rows @ rows.T)[None], task.y, count=4)
    for name in ("values", "information", "projections", "dimension", "alignment", "norm", "separable"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9)


def test_images_come_as_maps_or_vectors():
    x, y = normal(24, 1, 8, 8), torch.tensor([1.0, -1.0]).repeat(12).double()
    net = convolutional(2, seeds=[0, 1], shape=(1, 8, 8))
    one, two = (kernel_pca(net, points, y, count=3) for points in (x, x.flatten(1)))
    torch.testing.assert_close(one.projections, two.projections)
    own = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 1)).double()
    assert kernel_pca(own, x, y, count=3).vectors.shape == (1, 24, 3)


X, Y = normal(24, 3), torch.tensor([1.0, -1.0]).repeat(12).double()
SKEW = torch.tensor([[1.0, 0.5, 0.1], [0.4, 1.0, 0.2], [0.1, 0.2, 1.0]], dtype=torch.float64)
LINEAR = nn.Linear(3, 1).double()
CONVOLUTION = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 1)).double()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kernel_pca(CONVOLUTION, normal(24, 1, 9, 9), Y), "the module cannot take"),
        (lambda: kernel_pca(convolutional(2, seeds=[0]), normal(24, 1, 8, 8), Y), "x must be inputs"),
        (lambda: kernel_pca(LINEAR, X, torch.ones(24)), "labels must hold both classes, got a single one"),
        (lambda: kernel_pca(LINEAR, X, torch.arange(24.0)), "labels must be -1 or \\+1"),
        (lambda: kernel_pca(LINEAR, X[:10], Y[:10], count=3), "neighbours must be at most 4, .* got 5"),
        (lambda: kernel_pca(LINEAR, X, Y, count=25), "count must be a whole number from 1 to 24, got 25"),
        (lambda: kernel_pca(LINEAR, X, Y, count=0), "count must be a whole number from 1 to 24, got 0"),
        (lambda: kernel_pca(nn.Linear(3, 2).double(), X, Y), "the module must give one number a point"),
        (lambda: kernel_pca(LINEAR, X, Y[:22]), "y must hold one label a point"),
        (lambda: kernel_pca(LINEAR, X, Y, params=["nothing"]), "params must be some of"),
        (lambda: kernel_pca(LINEAR, X[0], Y), "x must have shape"),
        (lambda: diagnose(normal(1, 24, 24), Y), "gram must be symmetric"),
        (lambda: diagnose(torch.zeros(1, 24, 24).double(), Y), "gram must have a positive trace"),
        (lambda: spectrum.rkhs_norm(torch.zeros(3), torch.ones(3)), "values must be positive"),
        (lambda: spectrum.projections(X, Y[:3]), "y must have shape"),
        (lambda: spectrum.distance_dimension(X @ X.T, [2, 30]), "size must be a whole number from 2 to 24"),
        (lambda: information.mutual_information(X[:, 0], Y[:3]), "y must hold one label a point"),
        (lambda: information.stripe_information(1.1), "cosine must be a number from 0 to 1"),
        (lambda: two_kinds.kinds(X, X), "points must be a whole number of at least"),
        (lambda: two_kinds.two_parts(one_hidden(3, 5, seeds=[0]), X, 4), "d_parallel must be"),
        (lambda: spectrum.tangent_components(one_hidden(3, 5, seeds=[0]), X, 24), "count must be a whole number from"),
        (lambda: spectrum.tangent_components(one_hidden(3, 5, seeds=[0]), X.float(), 2), "x.dtype must be"),
        (lambda: separable(X, Y), "points must have shape"),
        (lambda: spectrum.effective_dimension(SKEW), "gram must be symmetric"),
        (lambda: spectrum.alignment(SKEW, Y[:3]), "gram must be symmetric"),
        (lambda: spectrum.distance_dimension(SKEW, [2, 3]), "gram must be symmetric"),
        (lambda: frozen(one_hidden(3, 5, seeds=[0]), Task(X, Y, ""), Task(X, Y, "")), "train.x must have shape"),
    ],
)
def test_bad_input_gets_one_line(call, said):
    with pytest.raises(InputError, match=said) as raised:
        call()
    assert "\n" not in str(raised.value)
