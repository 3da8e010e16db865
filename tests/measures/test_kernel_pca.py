"""Kernel principal components: against LAPACK, closed forms, quadrature and the kernels themselves."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn

import regimes
from companion.papers.kernel_pca.studies.kernel_pca import _frozen as frozen
from companion.papers.kernel_pca.theory import sectors
from companion.papers.kernel_pca.theory.norm import hinge_norms, least_norms
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
from tests.cases import for_each


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


@pytest.fixture(scope="module")
def gram():
    return ntk(one_hidden(5, 40, seeds=[0, 1]), tasks.stripe(450, 5, seed=3).x)


def test_lanczos_finds_what_lapack_finds(gram, monkeypatch):
    full = spectrum._scaled(*spectrum._lapack(gram, 10), spectrum.round_off(gram))
    monkeypatch.setattr(spectrum, "_lapack", None)  # where Lanczos fails, LAPACK would stand in
    few = spectrum.components(gram, 10)
    torch.testing.assert_close(full.values, few.values, rtol=1e-10, atol=0)
    torch.testing.assert_close(full.vectors, few.vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_products_with_the_jacobian_find_the_kernels_components(shared):
    net = one_hidden(5, 40, seeds=[0, 1])
    x = tasks.stripe(150, 5, seed=3 if shared else [3, 4]).x.double()
    ours = spectrum.tangent_components(net, x, 6)
    theirs = spectrum.components(ntk(net, x), 6)
    torch.testing.assert_close(ours.values, theirs.values, rtol=1e-9, atol=0)
    torch.testing.assert_close(ours.vectors, theirs.vectors, rtol=0, atol=1e-6)


@pytest.mark.parametrize("centred", [False, True])
def test_components_make_up_the_kernel(gram, centred):
    small = spectrum.centre(gram[:, :60, :60]) if centred else gram[:, :60, :60]
    first = spectrum.components(small, 60)
    assert bool((first.values[..., 1:] <= first.values[..., :-1] + 1e-15).all())
    kernel = (first.vectors * first.values[..., None, :]) @ first.vectors.mT
    torch.testing.assert_close(kernel, small)
    torch.testing.assert_close(first.vectors.mT @ first.vectors / 60, torch.eye(60).double().expand(2, 60, 60))
    largest = first.vectors.gather(-2, first.vectors.abs().argmax(-2, keepdim=True))
    assert bool((largest > 0).all())


def test_many_components_of_one_eigenvalue_are_found_too():
    components = spectrum.components(torch.eye(500).double()[None], 10)
    torch.testing.assert_close(components.values * 500, torch.ones(1, 10).double())


def test_centring_is_that_of_the_features():
    features = normal(30, 7)
    moved = features - features.mean(0)
    torch.testing.assert_close(spectrum.centre(features @ features.T), moved @ moved.T)


def test_projections_sum_to_the_mean_square_and_give_norm_and_alignment(gram):
    small = gram[:, :60, :60]
    y = tasks.stripe(60, 5, seed=3).y.double()
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
    dimension = spectrum.distance_dimension(points @ points.T, [100, 200, 400, 800, 1600])
    assert float(dimension) == pytest.approx(d, rel=0.15)


def test_dimension_by_distances_takes_every_group_of_points():
    """Once more by a loop; what is left over of 50 points in groups of 20 stays out."""
    points, means = normal(50, 3), []
    for m in (10, 20, 50):
        nearest = []
        for start in range(0, 50 - m + 1, m):
            group = points[start : start + m]
            nearest += [sorted((group - point).norm(dim=1).tolist())[1] for point in group]
        means.append(np.mean(nearest))
    slope = np.polyfit(np.log([10, 20, 50]), np.log(means), 1)[0]
    assert float(spectrum.distance_dimension(points @ points.T, [10, 20, 50])) == pytest.approx(-1 / slope)


def test_last_layer_kernel_is_the_gram_matrix_of_the_features():
    net = one_hidden(4, 30, seeds=[0, 1])
    task = tasks.stripe(40, 4, seed=0)
    x = task.x
    features = math.sqrt(2) * torch.relu(torch.einsum("ehd,pd->eph", net.omega, x) / 2 + net.b[:, None]) / 30
    torch.testing.assert_close(ntk(net, x, params=("beta",)), features @ features.mT)
    diagnosis = kernel_pca(net, x, task.y, params=("beta",), count=3)
    torch.testing.assert_close(diagnosis.values, torch.linalg.svdvals(features)[:, :3].square() / 40)


def test_last_layer_kernel_of_the_convolutional_network():
    """Its features are what the output is linear in: kernel = features' Gram, the constant one of the bias included."""
    net = convolutional(2, seeds=[0], shape=(1, 8, 8))
    x = normal(12, 64)
    base = net(x)
    unit = torch.eye(40).double()[:, None, None]
    heads = [net.with_parameters([*net.weights, unit[i], 0 * net.bias]) for i in range(40)]
    features = torch.stack([*(head(x)[0] for head in heads), torch.ones(12).double()], -1)
    torch.testing.assert_close(ntk(net, x, params=("w", "b"))[0], features @ features.T)
    assert base.shape == (1, 12)


def test_two_parts_are_the_kernel_of_a_network_without_uninformative_weights():
    net = one_hidden(6, 50, seeds=[0, 1])
    x = tasks.stripe(40, 6, seed=1).x
    lost = Network(net.omega.clone(), net.b, net.beta)
    lost.omega[..., 2:] = 0
    first, second = sectors.sector_kernels(net, x, 2)
    torch.testing.assert_close(first + second * (x[:, 2:] @ x[:, 2:].T), ntk(lost, x))
    none, some = (sectors.relative_residual(network, x, 2) for network in (lost, net))
    assert float(none.max()) < 1e-12 < 0.05 < float(some.min())
    small = Network(net.omega * torch.tensor([1, 1, *4 * [1e-3]]).double(), net.b, net.beta)
    assert float(sectors.relative_residual(small, x, 2).max()) < 0.02


def test_kinds_of_components():
    x = normal(1000, 4)
    in_plane = torch.tanh(x[:, 0])
    mixed = torch.cos(x[:, 0]) * (x[:, 1] - 2 * x[:, 3])
    noise, harmonic = normal(1000, seed=1), x[:, 1] * x[:, 2]
    kinds = sectors.sector_shares(torch.stack([in_plane, mixed, noise, harmonic], 1), x)
    assert kinds[0, 0] > 0.99 and kinds[1, 1] > 0.99
    assert float(kinds[0, 1]) < 0.1 and float(kinds[1, 0]) < 0.1
    assert float(kinds[2:].max()) < 0.1


def test_components_of_the_two_part_kernel_are_even_or_odd():
    net = one_hidden(4, 200, seeds=[0])
    x = normal(1500, 4, seed=2)
    net.omega[..., 1:] = 0
    diagnosis = diagnose(ntk(net, x), torch.tensor([1.0, -1.0]).repeat(750), count=6)
    assert float(sectors.sector_shares(diagnosis.vectors[0], x).amax(-1).min()) > 0.98


def test_least_norms():
    """In closed form for equal eigenvalues; else no other function at that distance has less."""
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    root = normal(40, 60)
    gram = root @ root.T / 60
    lefts = (0.5, 0.1)
    of_unit, larger, norms = (least_norms(kernel, y, lefts) for kernel in (torch.eye(40).double(), 3 * gram, gram))
    assert larger == pytest.approx(norms) and least_norms(gram, y, lefts[1:]) == norms[1:]
    for share, equal, bound in zip(lefts, of_unit, norms, strict=True):
        assert equal == pytest.approx(40 * (1 - share**0.5) ** 2)
        for seed in range(20):  # any other function at that distance
            f = y + (40 * share) ** 0.5 * torch.nn.functional.normalize(normal(40, seed=seed), dim=0)
            assert float(f @ torch.linalg.solve(gram, f) * gram.diagonal().mean()) > bound


def test_hinge_norms():
    """In closed form for equal eigenvalues; else no other function with that loss has less, if there is one."""
    y = torch.tensor([1.0, -1.0]).repeat(20).double()
    root = normal(40, 60)
    gram = root @ root.T / 60
    lefts = (0.5, 0.1, 0.02)
    of_unit, larger, norms = (hinge_norms(kernel, y, lefts) for kernel in (torch.eye(40).double(), 3 * gram, gram))
    assert larger == pytest.approx(norms) and [hinge_norms(gram, y, [share])[0] for share in lefts] == norms
    for share, equal, bound in zip(lefts, of_unit, norms, strict=True):
        assert equal == pytest.approx(40 * (1 - share) ** 2, rel=1e-4)
        for seed in range(20):  # any other function with that loss
            losses = np.random.default_rng(seed).exponential(size=40)
            f = y * (1 - share * torch.from_numpy(losses / losses.mean()))
            assert float(f @ torch.linalg.solve(gram, f) * gram.diagonal().mean()) > bound
    assert hinge_norms(torch.ones(40, 40).double(), y, [0.5]) == [np.inf]  # the constant: its loss is 1


@pytest.mark.parametrize("pattern", [(1.0, -1.0, -1.0, 1.0), (1.0, -1.0)])
def test_best_line_of_two_halves(pattern):
    y = torch.tensor(pattern).repeat(1000 // len(pattern)).double()
    clouds = normal(1000, 2) + 1.5 * y[:, None] * torch.tensor([0.6, -0.8]).double()
    assert separable(clouds, y) == pytest.approx(norm.cdf(1.5), abs=0.02)
    noise = [separable(normal(100, 2, seed=seed), y[:100]) for seed in range(20)]
    assert np.mean(noise) == pytest.approx(0.5, abs=0.03)  # judged on the points that chose the line: 0.6
    assert separable(torch.stack([y, y], 1), y) == 1


def test_a_frozen_last_layer_is_a_linear_model_of_its_features():
    train = tasks.stripe(20, 5, seed=[0])
    test = tasks.stripe(50, 5, seed=[2])
    net = one_hidden(5, 60, seeds=[0])
    learnt = frozen(net, train, test, params=("beta",))
    cross = ntk(net, test.x, train.x, params=("beta",))
    rank = torch.linalg.lstsq(cross[0].T @ cross[0], cross[0].T @ learnt.f[0]).solution
    torch.testing.assert_close(cross[0] @ rank, learnt.f[0], rtol=1e-4, atol=1e-4)


def test_a_frozen_kernel_is_that_of_float64_whatever_the_networks_precision():
    """Rounding to float32 would give the last layer of five neurons as many features as there are points."""
    train = tasks.stripe(40, 5, seed=[0]).to(dtype=torch.float32)
    test = tasks.stripe(50, 5, seed=[2])
    net = one_hidden(5, 5, seeds=[0]).to(dtype=torch.float32)
    test = test.to(dtype=torch.float32)
    ours = frozen(net, train, test, params=("beta",), ridge=1e-6)
    double = net.to(dtype=torch.float64)
    x = train.x.double()
    z = test.x.double()
    fit = kernel_flow.fit(ntk(double, x, params=("beta",)), train.y.double(), ridge=1e-6)
    assert ours.f.dtype == torch.float64 and ours.ended == ("zero loss",)
    torch.testing.assert_close(ours.f, fit.model(ntk(double, z, x, params=("beta",))), rtol=1e-6, atol=1e-6)
    assert frozen(net, train, test, params=("beta",)).ended[0].startswith("jammed")  # five features fit no forty points


def test_a_torch_module_is_what_its_twin_is():
    twin = fully_connected([3, 8, 1], seeds=[0], parametrisation="standard", gain=1.0, sigma="tanh")
    net = nn.Sequential(nn.Linear(3, 8, bias=False), nn.Tanh(), nn.Linear(8, 1, bias=False)).double()
    for layer, weight, scale in zip(net[::2], twin.weights, twin.multipliers, strict=True):
        layer.weight.data = weight[0] * scale
    task = tasks.stripe(60, 3, seed=0)
    ours = regimes.kernel_pca(net, task.x, task.y, count=4)
    slopes = [torch.autograd.grad(net(point)[0], tuple(net.parameters())) for point in task.x]
    rows = torch.stack([torch.cat([g.flatten() for g in gradients]) for gradients in slopes])
    theirs = diagnose((rows @ rows.T)[None], task.y, count=4)
    for name in ("values", "information", "projections", "dimension", "alignment", "norm", "separable"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9)


def test_images_come_as_maps_or_vectors():
    x = normal(24, 1, 8, 8)
    y = torch.tensor([1.0, -1.0]).repeat(12).double()
    net = convolutional(2, seeds=[0, 1], shape=(1, 8, 8))
    of_maps, of_vectors = (kernel_pca(net, points, y, count=3) for points in (x, x.flatten(1)))
    torch.testing.assert_close(of_maps.projections, of_vectors.projections)
    images = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 1)).double()
    assert kernel_pca(images, x, y, count=3).vectors.shape == (1, 24, 3)


def feature_net(dtype=torch.float64):
    """A network with four features in its last layer."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 1)).to(dtype)


@for_each({"float64": torch.float64, "float32": torch.float32})
def test_components_beyond_the_rank_are_no_numbers(dtype):
    """A kernel of four features has four components, whatever number is asked for."""
    net = feature_net(dtype)
    task = tasks.stripe(100, 6, seed=0).to(dtype=dtype)
    ten, four = (kernel_pca(net, task.x, task.y, params=["2.weight"], count=count) for count in (10, 4))
    assert bool((ten.values[0, :4] > 0).all()) and ten.values[0, 4:].tolist() == [0.0] * 6
    for name in ("information", "projections"):
        values = getattr(ten, name)[0]
        assert bool(values[4:].isnan().all())
        torch.testing.assert_close(values[:4], getattr(four, name)[0])
    assert bool(ten.vectors[0, :, 4:].isnan().all()) and not bool(four.vectors.isnan().any())
    torch.testing.assert_close(ten.norm, four.norm)
    size = ntk(regimes.module(net, params=["2.weight"]), task.x).double().diagonal(dim1=-1, dim2=-2).mean(-1)
    torch.testing.assert_close(spectrum.rkhs_norm(ten.values, ten.projections) * size, ten.norm)


def test_the_norm_of_a_function_of_few_features_is_that_of_its_weights():
    """``f = w·φ`` with four orthogonal features: ``‖f‖² = w·w``, from all components as from the four that exist."""
    features = torch.linalg.qr(normal(50, 4))[0] * torch.tensor([4.0, 3.0, 2.0, 1.0]).double()
    weights = torch.tensor([0.5, -1.0, 2.0, 1.0]).double()
    f, gram = features @ weights, features @ features.T
    for count in (4, 10, 50):
        values, vectors = spectrum.components(gram, count)
        assert float(spectrum.rkhs_norm(values, spectrum.projections(vectors, f))) == pytest.approx(
            float(weights @ weights)
        )


def test_a_centred_kernel_lacks_what_the_constant_had():
    """Two features and a large constant: centred, two components, however large the constant was."""
    features = normal(60, 2)
    features = (features - features.mean(0)) @ torch.diag(torch.tensor([1.0, 1e-2]).double())
    gram = features @ features.T + 1e6
    diagnosis = diagnose(gram[None], Y[:2].repeat(30), count=5, centred=True)
    assert (diagnosis.values[0] > 0).tolist() == [True, True, False, False, False]


def test_products_find_no_component_beyond_the_rank():
    model = regimes.module(feature_net(), params=["2.weight"])
    components = spectrum.tangent_components(model, tasks.stripe(100, 6, seed=0).x, 10)
    assert (components.values[0] > 0).tolist() == [True] * 4 + [False] * 6


def test_a_single_component_has_no_plane():
    ones = torch.ones(1, 24, 24).double() + 0.5 * torch.outer(Y, Y)
    assert math.isnan(float(diagnose(torch.outer(Y, Y)[None], Y, count=2).separable))
    assert math.isnan(float(diagnose(ones, Y, count=1).separable))
    assert float(diagnose(ones, Y, count=2).separable) == 1


def test_one_class_against_the_rest():
    """Labels of a tenth of the points: noise tells nothing of them, and what tells all is at their entropy."""
    y = torch.where(torch.arange(500) % 10 == 0, 1.0, -1.0).double()
    noise = normal(500, 5)
    bound = information.label_entropy(y.numpy())
    features = torch.cat([3 * (y * (1 + 0.1 * normal(500, seed=1).abs()))[:, None], noise], 1)
    informations = diagnose((features @ features.T)[None], y, count=4).information[0]
    assert bound == pytest.approx(0.469, abs=1e-3)
    assert float(informations[0]) == pytest.approx(bound, abs=0.01) and float(informations[1:].max()) < 0.05
    assert float(informations.max()) <= bound


X = normal(24, 3)
Y = torch.tensor([1.0, -1.0]).repeat(12).double()
SKEW = torch.tensor([[1.0, 0.5, 0.1], [0.4, 1.0, 0.2], [0.1, 0.2, 1.0]], dtype=torch.float64)
ONE_OF_NINE = torch.tensor([-1.0, *[1.0] * 8]).double()
INDEFINITE = torch.diag(torch.tensor([1.0, -0.5, *[0.0] * 22]).double())[None]
LINEAR = nn.Linear(3, 1).double()
CONVOLUTION = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 1)).double()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernel_pca(CONVOLUTION, normal(24, 1, 9, 9), Y), "the module cannot take"),
        (lambda: kernel_pca(convolutional(2, seeds=[0]), normal(24, 1, 8, 8), Y), "x must be inputs"),
        (lambda: kernel_pca(LINEAR, X, torch.ones(24)), "labels must hold both classes, got a single one"),
        (lambda: kernel_pca(LINEAR, X, torch.arange(24.0)), "labels must be -1 or \\+1"),
        (lambda: kernel_pca(LINEAR, X[:8], Y[:8]), "count must be a whole number from 1 to 8, got 10"),
        (lambda: kernel_pca(LINEAR, X[:3], Y[:3], count=2), "y must hold one label for each of at least four points"),
        (lambda: kernel_pca(LINEAR, X[:9], ONE_OF_NINE, count=3), "y must hold each label at least twice, got -1"),
        (lambda: kernel_pca(LINEAR, X, (Y + 1) / 2), "labels must be -1 or .1 .*, got 0.0: 2 . y - 1 makes them"),
        (lambda: kernel_pca(LINEAR, X, Y > 0), "labels must be -1 or .1 .*, got False: 2 . y - 1 makes them"),
        (lambda: kernel_pca(LINEAR, X, Y[:, None]), "y must hold one label for each .*, got .24, 1."),
        (lambda: kernel_pca(LINEAR, X, Y * math.nan), "labels must be -1 or .1 for two classes, got nan"),
        (lambda: diagnose(X @ X.T - 9 * torch.eye(24), Y), "gram must have shape"),
        (lambda: diagnose(INDEFINITE, Y, count=24), "gram must be positive semi-definite, got an eigenvalue -0.5"),
        (lambda: kernel_pca(LINEAR, X, Y, count=25), "count must be a whole number from 1 to 24, got 25"),
        (lambda: kernel_pca(LINEAR, X, Y, count=0), "count must be a whole number from 1 to 24, got 0"),
        (lambda: kernel_pca(LINEAR, X, Y[:22]), "y must hold one label a point"),
        (lambda: kernel_pca(LINEAR, X, Y, params=["nothing"]), "params must be some of"),
        (lambda: kernel_pca(LINEAR, X[0], Y), r"x must be inputs \(p, 3\) or \(1, p, 3\).*got \(3,\)"),
        (lambda: diagnose(normal(1, 24, 24), Y), "gram must be symmetric"),
        (lambda: diagnose(torch.zeros(1, 24, 24).double(), Y), "gram must have a positive trace"),
        (lambda: spectrum.rkhs_norm(torch.zeros(3), torch.ones(3)), "values must be positive"),
        (lambda: spectrum.projections(X, Y[:3]), "y must have shape"),
        (lambda: spectrum.distance_dimension(X @ X.T, [2, 30]), "size must be a whole number from 2 to 24"),
        (lambda: spectrum.rkhs_norm(torch.tensor([1.0, -1e-9]), torch.ones(2)), "values must be positive, or 0 beyond"),
        (lambda: spectrum.rkhs_norm(torch.ones(2), torch.ones(3)), "squares must have shape"),
        (lambda: sectors.sector_shares(X, X), "points must be a whole number of at least"),
        (lambda: sectors.sector_kernels(one_hidden(3, 5, seeds=[0]), X, 4), "d_parallel must be"),
        (lambda: spectrum.tangent_components(one_hidden(3, 5, seeds=[0]), X, 24), "count must be a whole number from"),
        (
            lambda: spectrum.tangent_components(one_hidden(3, 5, seeds=[0]), X.float(), 2),
            "x must be inputs .* in torch.float64, got .* in torch.float32",
        ),
        (lambda: separable(X, Y), "points must have shape"),
        (lambda: spectrum.effective_dimension(SKEW), "gram must be symmetric"),
        (lambda: spectrum.alignment(SKEW, Y[:3]), "gram must be symmetric"),
        (lambda: spectrum.distance_dimension(SKEW, [2, 3]), "gram must be symmetric"),
        (lambda: frozen(one_hidden(3, 5, seeds=[0]), Task(X[:, :2], Y, ""), Task(X, Y, "")), "train.x must be inputs"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(InputError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("n", [4, 60])
def test_what_is_rounding_does_not_grow_with_the_points(n):
    """Thirty roundings of the mean diagonal, in the precision of the kernel, for each of a batch."""
    diagonal = torch.stack([torch.linspace(1, 3, n), torch.linspace(4, 8, n)])
    floors = spectrum.round_off(torch.diag_embed(diagonal))
    torch.testing.assert_close(floors, 30 * 2**-23 * torch.tensor([2.0, 6.0]))
    torch.testing.assert_close(
        spectrum.round_off(torch.diag_embed(diagonal.double())),
        30 * 2**-52 * torch.tensor([2.0, 6.0], dtype=torch.float64),
    )
