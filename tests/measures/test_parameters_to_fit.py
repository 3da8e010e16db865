"""Parameters to fit by counting: ranks by hand, cones in closed form and against random planes, labels that tile."""

import functools

import numpy as np
import pytest
import torch
from scipy.optimize import linprog, nnls
from torch import nn

import regimes
from companion.papers.jamming.studies._architectures import ARCHITECTURES
from regimes.measures import separability
from regimes.measures.separability import (
    SEPARABLE,
    cone_dimension,
    largest_margin,
    parameters_to_fit,
    tangent_covariance,
    tangent_rank,
)
from regimes.validate import InputError
from tests.cases import for_each, refused


def normal(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def kernel(p, d=5):
    """The kernel of an infinitely wide network on normal points."""
    return regimes.infinite_ntk(normal(p, d), depth=3).numpy()


def tangents(architecture, seed, points=1.5):
    """The tangent features of a module at ``points`` times its parameters, and their number."""
    build, shape, _ = ARCHITECTURES[architecture]
    network = regimes.module(lambda: build().double(), seeds=[seed], shape=shape)
    size = sum(tensor[0].numel() for tensor in network.parameters())
    return network.tangents(normal(int(points * size), *shape, seed=seed)).jacobian()[0].detach().numpy(), size


@for_each({name: (name, of.symmetries) for name, of in ARCHITECTURES.items()})
def test_the_rank_is_the_number_of_parameters_less_the_symmetries_counted_by_hand(architecture, symmetries):
    """Of most of the draws: a unit that is on at all points is linear, which takes one direction more."""
    found = [size - tangent_rank(features) for features, size in (tangents(architecture, seed) for seed in (1, 2, 3))]
    assert sorted(found)[1] == symmetries and all(lost >= symmetries for lost in found), found


def test_no_rank_depends_on_the_order_of_sums_points_or_parameters_nor_on_scales():
    random = np.random.default_rng(0)
    for architecture in ARCHITECTURES:
        features, size = tangents(architecture, 1)
        rank = tangent_rank(features)
        turned, _ = np.linalg.qr(random.standard_normal((len(features), len(features))))
        assert tangent_rank(features[random.permutation(len(features))][:, random.permutation(size)]) == rank
        assert tangent_rank(features * np.exp(3 * random.standard_normal(size))) == rank
        assert tangent_rank(-turned[:, ::-1] @ features) == rank, "all sums over points in another order"
        ulps = 1 + 2e-16 * random.standard_normal(features.shape)
        assert tangent_rank(features * ulps) == rank


def test_a_rank_of_nothing_is_zero():
    assert tangent_rank(np.zeros((3, 2))) == 0 and tangent_rank(np.outer(np.arange(4.0), [1, 2])) == 1


@pytest.mark.parametrize("points", [125, 250, 500])
def test_random_labels_need_half_of_the_points_because_the_cones_of_all_labels_tile_space(points):
    random = np.random.default_rng(points)
    gram = kernel(points)
    values = [cone_dimension(gram, random.choice([-1.0, 1.0], points), pairs=8, seed=i).value for i in range(12)]
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - points / 2) < 3 * error < 0.06 * points


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.8])
@pytest.mark.parametrize("labels", [(1.0, 1.0), (1.0, -1.0)])
def test_two_points_have_the_dimension_of_a_wedge(correlation, labels):
    """A wedge of angle ``θ`` has ``1/2 + θ/π``."""
    angle = np.arccos(correlation * labels[0] * labels[1])
    gram = np.array([[1.0, 3 * correlation], [3 * correlation, 9.0]])
    found = cone_dimension(gram, np.array(labels), pairs=4000)
    assert found.value == pytest.approx(0.5 + angle / np.pi, abs=4 * found.error + 1e-9)


def test_the_dimension_is_the_mean_square_of_the_projection_by_another_solver():
    random = np.random.default_rng(0)
    gram = kernel(60)
    labels = np.sign(normal(60, 5).numpy()[:, 0])
    root = np.linalg.cholesky(np.outer(labels, labels) * gram).T
    squares = []
    for _ in range(600):
        g = random.standard_normal(60)
        squares.append(g @ g - nnls(root, g)[1] ** 2)
    error = np.std(squares) / np.sqrt(len(squares))
    assert cone_dimension(gram, labels, pairs=200).value == pytest.approx(np.mean(squares), abs=3.5 * error)
    assert np.mean(squares) < 25, "labels that follow a coordinate need fewer than half of the points"


@pytest.mark.parametrize("most", [{"highs": 50}, {"highs": 50, "highs-ipm": 1}])
def test_an_interior_point_method_finds_the_margin_where_the_simplex_method_does_not_end(monkeypatch, most):
    features, labels = np.random.default_rng(3).standard_normal((150, 100)), np.sign(normal(150, 5).numpy()[:, 1])
    simplex, ended = largest_margin(features, labels), []

    def program(*args, method, options, **about):
        limit = {"maxiter": most.get(method, options["maxiter"])}
        ended.append(linprog(*args, method=method, options=limit, **about))
        return ended[-1]

    monkeypatch.setattr(separability, "linprog", program)
    if "highs-ipm" in most:
        with pytest.raises(InputError, match="the linear program found no margin"):
            largest_margin(features, labels)
    else:
        assert largest_margin(features, labels) == pytest.approx(simplex, rel=1e-6) and simplex > 1e-4
    assert [found.success for found in ended] == [False, "highs-ipm" not in most]


def test_half_of_gaussian_features_separate_at_the_dimension():
    random = np.random.default_rng(1)
    root = np.linalg.cholesky(kernel(80))
    labels = np.sign(normal(80, 5).numpy()[:, 0])
    number = cone_dimension(root @ root.T, labels).value

    def share(count):
        draws = (root @ random.standard_normal((80, count)) for _ in range(60))
        return np.mean([largest_margin(features, labels) > SEPARABLE for features in draws])

    assert 0.25 <= share(round(number)) <= 0.75
    assert share(round(number - 9)) < 0.15 and share(round(number + 9)) > 0.85


def task(p=60, d=4):
    x = normal(p, d, seed=3)
    return x, torch.sign(x[:, 0] + 0.1)


def deep(width=6, seeds=range(30), **given):
    return regimes.fully_connected([4, width, width, 1], seeds=seeds, sigma="tanh", gain=1.0, **given)


def test_neither_the_parametrisation_nor_the_width_of_the_covariance_matters():
    x, y = task()
    found = [parameters_to_fit(deep(parametrisation=kind), x, y) for kind in ("ntk", "standard", "mean-field")]
    assert len({(it.own_labels, it.separable, it.rank) for it in found}) == 1
    wide = parameters_to_fit(deep(), x, y, wide=deep(width=40, seeds=range(3))).own_labels
    assert wide == pytest.approx(found[0].own_labels, rel=0.05)


def test_all_counts_of_a_module():
    """Units of ``max(0, z)``: of 6 in either layer, a factor in and one over it out."""
    x, y = task()

    def build():
        layers = [nn.Linear(a, b, bias=False).double() for a, b in ((4, 6), (6, 6), (6, 1))]
        return nn.Sequential(layers[0], nn.LeakyReLU(0.2), layers[1], nn.LeakyReLU(0.2), layers[2])

    found = parameters_to_fit(regimes.module(build, seeds=range(20)), x, y)
    assert (found.points, found.parameters, found.rank) == (60, 66, 66 - 12)
    assert found.random_labels == pytest.approx(30 * 66 / 54)
    assert found.random_points == pytest.approx(2 * 54 / 66)
    assert found.own_labels < found.random_labels and found.own_points == pytest.approx(60 / found.own_labels)
    assert 0 < found.own_error < 2 and 0 <= found.separable <= 1
    alone = parameters_to_fit(regimes.module(build, seeds=range(20)), x)
    assert alone.random_labels == found.random_labels and np.isnan(alone.own_labels) and np.isnan(alone.separable)
    covariance = tangent_covariance(regimes.module(build, seeds=range(20)), x)
    given = parameters_to_fit(regimes.module(build, seeds=[0]), x, y, kernel=covariance)
    assert given.own_labels * given.rank == pytest.approx(found.own_labels * found.rank)


def test_tokens_have_a_rank():
    """Each token's embedding is one of three numbers, a readout is for each place."""

    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.readout = nn.Embedding(3, 1), nn.Linear(4, 1, bias=False)

        def forward(self, x):
            return self.readout(self.table(x)[..., 0])

    tokens = torch.from_numpy(np.random.default_rng(0).integers(3, size=(40, 4)))
    found = parameters_to_fit(regimes.module(lambda: Embedded().double(), seeds=range(3)), tokens)
    assert (found.parameters, found.rank) == (7, 6), "a factor of the table, and one over it of the readout"


X, Y = task(20)
NET = deep(seeds=range(8))


@for_each(
    {
        "labels": (lambda: parameters_to_fit(NET, X, 2 * Y), "labels must be -1 or 1"),
        "labels of other points": (lambda: parameters_to_fit(NET, X, Y[:5]), "y must hold one label a point, 20"),
        "single precision": (lambda: parameters_to_fit(NET.to(dtype=torch.float32), X, Y), "double precision"),
        "too few networks": (lambda: parameters_to_fit(NET[:1], X, Y), r"take 4 networks, by seeds=range\(4\)"),
        "both": (lambda: parameters_to_fit(NET, X, Y, wide=NET, kernel=kernel(20)), "not both"),
        "another kind": (lambda: parameters_to_fit(NET, X, Y, wide=regimes.one_hidden(4, 90, seeds=[0])), "W1, W2, W3"),
        "few generic points": (lambda: parameters_to_fit(NET, X, Y, generic=X), "generic must hold more"),
        "points of each": (lambda: parameters_to_fit(NET, X.expand(8, 20, 4), Y), "shared by all networks"),
        "a classifier": (
            lambda: parameters_to_fit(regimes.module(nn.Linear(4, 3).double()), X, Y),
            "take model.output",
        ),
        "two equal points": (
            lambda: parameters_to_fit(NET, X[[0, *range(19)]], Y),
            "positive definite: are two points",
        ),
        "a kernel of others": (lambda: parameters_to_fit(NET, X, Y, kernel=kernel(5)), "kernel|labels"),
        "no kernel": (lambda: cone_dimension(-np.eye(2), np.ones(2)), "symmetric, with a positive diagonal"),
        "counts": (lambda: tangent_covariance(NET, X, [1, 2]), "a number for each of W1, W2, W3"),
        "frozen": (functools.partial(parameters_to_fit, deep(seeds=[0]), X[:0]), "at least one point|must hold"),
    }
)
def test_bad_input_is_refused_in_one_line(call, words):
    refused(call, words)
