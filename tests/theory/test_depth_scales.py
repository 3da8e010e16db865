"""Networks of a finite width against their own tangent kernels; eigenvalues by degree against a decomposition."""

import math

import numpy as np
import pytest
import torch
from scipy import special

import regimes
from companion.papers.depth.theory import degrees, finite, pairs
from regimes.kernels import infinite_ntk, relu_recursion, residual
from regimes.validate import InputError

DRAWS = 1500  # of small networks


def of_drawn_weights(x, depth, width):
    """The kernels of networks with weights, by their derivatives, over their mean on the diagonal."""
    n0 = x.shape[1]
    networks = regimes.fully_connected([n0, *[width] * (depth - 1), 1], seeds=range(DRAWS), gain=1.0)
    return regimes.ntk(networks, x) * n0 * 2 ** (depth - 1) / depth


def test_kernels_without_weights_have_the_law_of_those_with_weights():
    x, depth, width = pairs.sphere(3, 3, seed=0), 4, 24
    drawn = torch.stack([finite.finite_kernel(x, depth=depth, width=width, seed=seed) for seed in range(DRAWS)])
    by_weights, wider = (of_drawn_weights(x, depth, m) for m in (width, 2 * width))
    error = by_weights.std(0) * math.sqrt(2 / DRAWS)
    assert bool(((drawn.mean(0) - by_weights.mean(0)).abs() < 4 * error).all())
    assert torch.allclose(drawn.std(0), by_weights.std(0), rtol=0.12)
    assert not torch.allclose(drawn.std(0), wider.std(0), rtol=0.25), "the spread tells a width from its double"
    upper = torch.triu_indices(3, 3)
    result, expected_correlation = (
        torch.corrcoef(kernels[:, upper[0], upper[1]].mT) for kernels in (drawn, by_weights)
    )
    assert float((result - expected_correlation).abs().max()) < 0.12 < 0.2 < float((result - torch.eye(6)).abs().max())


def test_wide_networks_have_the_infinite_kernel():
    x, depth = pairs.sphere(20, 5, seed=0), 8
    distances = [
        float((finite.finite_kernel(x, depth=depth, width=m, seed=0) - infinite_ntk(x, depth=depth)).norm())
        for m in (500, 20_000)
    ]
    assert distances[1] < distances[0] / 4 and distances[1] < 0.5


def angles_of_layers(rho, depth, width, draws):
    """``3π/phi_L`` of networks with weights: the points are two, so that a layer's neurons are pairs of Gaussians."""
    random, result = np.random.default_rng(0), []
    for _ in range(draws):
        gram = np.array([[1, rho], [rho, 1]])
        for _ in range(depth - 1):
            z = np.maximum(random.standard_normal((width, 2)) @ np.linalg.cholesky(gram).T, 0)
            gram = 2 * z.T @ z / width
        result.append(3 * math.pi / math.acos(gram[0, 1] / math.sqrt(gram[0, 0] * gram[1, 1])))
    return np.array(result)


@pytest.mark.parametrize(("rho", "depth", "width", "draws"), [(0.0, 12, 4000, 400), (0.9, 24, 4000, 250)])
def test_the_offset_of_a_pair_walks_with_growing_steps(rho, depth, width, draws):
    """To first order in one over the width; small angles alone are too high by half where inputs are orthogonal."""
    measured = angles_of_layers(rho, depth, width, draws).var()
    phi = torch.tensor([math.acos(rho)], dtype=torch.float64)
    result = float(finite.offset_variance(phi, depth=depth, width=width))
    assert result == pytest.approx(measured, rel=3 * math.sqrt(2 / draws))
    small = float(finite.small_angle_walk(phi, shares=[1.0] * (depth - 1), width=width))
    assert small > (1.35 if rho == 0 else 1.05) * result
    even = 2 * depth / width * (3 * math.pi / float(phi)) ** 2  # steps that do not grow
    assert even < 0.5 * measured
    cubes = [float(finite.offset_variance(phi, depth=L, width=1)) / (2 * L**3 / 3) for L in (300, 3000)]
    assert 0.97 < cubes[1] < 1.06 and abs(cubes[1] - 1) < abs(cubes[0] - 1) < 0.3


def test_the_noise_of_a_layer_is_that_of_its_neurons():
    for phi in (0.05, 1.0, 3.0):
        z = np.random.default_rng(0).standard_normal((2, 10**6))
        z[1] = math.cos(phi) * z[0] + math.sin(phi) * z[1]
        u, v = np.maximum(z, 0)
        h = (math.sin(phi) + (math.pi - phi) * math.cos(phi)) / math.pi
        expected = (2 * u * v - h * (u * u + v * v)).var()
        result = float(finite._correlation_noise(torch.tensor(phi, dtype=torch.float64)))
        assert result == pytest.approx(expected, rel=0.03)


def test_pairs_in_networks_with_skips_walk_by_their_shares():
    shares = residual.pre_norm_shares(30)
    angles = finite.pair_angle(1.0, shares=shares, width=1000, draws=200, seed=0)
    expected = float(finite.small_angle_walk(torch.tensor(1.0, dtype=torch.float64), shares=shares, width=1000))
    assert (3 * math.pi / angles).var() == pytest.approx(expected, rel=0.3)
    assert (3 * math.pi / angles).var() < 0.05 * 2 * 30**3 / 3000
    plain = finite.pair_angle(math.pi / 2, shares=[1.0] * 11, width=500, draws=400, seed=1)
    by_hand = angles_of_layers(0.0, 12, 500, 400)
    assert (3 * math.pi / plain).var() == pytest.approx(by_hand.var(), rel=0.3)
    assert (3 * math.pi / plain).mean() == pytest.approx(by_hand.mean(), rel=0.03)


def test_finite_networks_with_skips_are_those_of_wide_ones_with_norms():
    """Against networks with weights: pre-norm layers of a finite width, their mean kernel and its spread."""
    x, depth, width, draws = pairs.sphere(3, 3, seed=0), 4, 24, 400
    shares = [*residual.pre_norm_shares(depth - 1), 1.0]
    drawn = torch.stack(
        [finite.finite_kernel(x, depth=depth, width=width, seed=s, shares=shares) for s in range(draws)]
    )

    def output(weights, point):
        stream = weights[0] @ point
        for weight in weights[1:-1]:
            stream = stream + math.sqrt(2 / width) * weight @ (stream / stream.square().mean().sqrt()).relu()
        return math.sqrt(2 / width) * weights[-1] @ (stream / stream.square().mean().sqrt()).relu()

    kernels, top = [], 1 + sum(shares)
    for seed in range(draws):
        random = torch.Generator().manual_seed(seed)
        shapes = [(width, 3), *[(width, width)] * (depth - 2), (width,)]
        weights = [torch.randn(*shape, generator=random, dtype=x.dtype) for shape in shapes]
        parts = torch.func.vmap(torch.func.grad(output), (None, 0))(weights, x)
        kernels.append(sum(part.flatten(1) @ part.flatten(1).mT for part in parts) / top)
    by_weights = torch.stack(kernels)
    error = by_weights.std(0) * math.sqrt(2 / draws)
    assert bool(((drawn.mean(0) - by_weights.mean(0)).abs() < 4 * error).all())
    assert torch.allclose(drawn.std(0), by_weights.std(0), rtol=0.2)


def test_what_a_finite_network_refuses():
    x = pairs.sphere(30, 5, seed=0)
    with pytest.raises(InputError, match="width must be at least 30"):
        finite.finite_kernel(x, depth=3, width=20, seed=0)
    with pytest.raises(InputError, match="merges two points"):
        finite.finite_kernel(x, depth=60, width=30, seed=0)
    with pytest.raises(InputError, match="shares must be 2 numbers"):
        finite.finite_kernel(x, depth=3, width=30, seed=0, shares=[1.0, 0.5])


def on_a_grid(kernel, rings, points):
    """Eigenvalues of a kernel of the angle on the 2-sphere, on a grid with weights, falling."""
    z, weight = special.roots_legendre(rings)
    turn = 2 * np.pi * np.arange(points) / points
    flat = np.sqrt(1 - z**2)
    plane = [np.outer(flat, np.cos(turn)), np.outer(flat, np.sin(turn)), np.outer(z, np.ones(points))]
    x = np.stack(plane, -1).reshape(-1, 3)
    root = np.sqrt(np.repeat(weight / 2 / points, points))
    phi = torch.from_numpy(np.arccos(np.clip(x @ x.T, -1, 1)))
    return np.linalg.eigvalsh(root[:, None] * kernel(phi) * root)[::-1]


@pytest.mark.parametrize("depth", [3, 10])
def test_eigenvalues_by_degree_are_those_of_a_matrix(depth):
    result = on_a_grid(lambda phi: 4 * depth * relu_recursion.kernel_of_angle(phi, depth)[0].numpy(), 16, 32)
    expected = degrees.degree_eigenvalues(3, range(4), depth)
    repeated = np.sort(np.repeat(expected, [1, 3, 5, 7]))[::-1]
    assert result[:16] == pytest.approx(repeated, rel=0.03)
    wrong = np.sort(np.repeat(degrees.degree_eigenvalues(4, range(4), depth), [1, 3, 5, 7]))[::-1]
    assert result[:16] != pytest.approx(wrong, rel=0.1)


def test_eigenvalues_of_the_offset_are_the_limit_of_those_of_deep_kernels():
    at = [1, 2, 5, 20]
    eigenvalues = degrees.degree_eigenvalues(6, at)
    assert degrees.degree_eigenvalues(6, at, 10**7) == pytest.approx(eigenvalues, rel=1e-4)
    assert degrees.degree_eigenvalues(6, at, 30) != pytest.approx(eigenvalues, rel=0.1)


@pytest.mark.parametrize("n0", [3, 4, 8])
def test_the_powers_meet_at_the_degree_of_the_depth(n0):
    assert degrees.decay_exponent(n0, 30) == pytest.approx(-(n0 - 2), abs=0.05)
    steeper = [degrees.decay_exponent(n0, 16, depth) for depth in (10**5, 1000, 100, 10)]
    assert steeper == sorted(steeper, reverse=True) and steeper[0] - steeper[-1] == pytest.approx(2, abs=0.25)


def test_the_kernel_of_two_layers_has_no_odd_degrees_but_the_first():
    odd = [3, 5, 7]
    assert np.abs(degrees.degree_eigenvalues(6, odd, 2)).max() < 1e-13
    assert degrees.degree_eigenvalues(6, odd, 3).min() > 1e-5


@pytest.mark.parametrize(("n", "n0"), [(12, 3), (20, 6), (5, 8)])
def test_antipodes_make_the_kernel_of_two_layers_singular_and_that_of_three_not(n, n0):
    """The odd part at ``L = 2`` is the inner product, of rank ``n0``: the nullity is ``n - n0``, if that is positive.

    An angle next to π is known to the root of round-off.
    """
    x = pairs.sphere(n, n0, seed=0)
    points = torch.cat([x, -x])
    two, three = (torch.linalg.eigvalsh(infinite_ntk(points, depth=depth)) for depth in (2, 3))
    assert int((two < 1e-7).sum()) == max(0, n - n0)
    assert float(three[0]) > 0.01
    assert float(torch.linalg.eigvalsh(infinite_ntk(x, depth=2))[0]) > 1e-3, "without the antipodes"
