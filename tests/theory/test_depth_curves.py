"""Residual kernels against networks with weights; errors by degree against regression on points."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.theory import curves, deep_limit, pairs, residual, universality
from regimes.kernels import infinite_ntk
from regimes.validate import InputError

DRAWS = 24  # of wide networks


def of_residual_weights(x, depth, width, scale, seed):
    """Tangent kernel of ``x -> x + scale W σ(x)`` layers with a linear input layer, by derivatives of the output."""
    random = torch.Generator().manual_seed(seed)
    drawn = [torch.randn(width, x.shape[1], generator=random, dtype=x.dtype)]
    drawn += [torch.randn(width, width, generator=random, dtype=x.dtype) for _ in range(depth - 1)]
    readout = torch.randn(width, generator=random, dtype=x.dtype) / math.sqrt(width)

    def output(weights, point):
        stream = weights[0] @ point
        for weight in weights[1:]:
            stream = stream + scale * math.sqrt(2 / width) * weight @ stream.relu()
        return readout @ stream

    jacobian = torch.func.vmap(torch.func.grad(output), (None, 0))(drawn, x)
    return sum(torch.einsum("iab,jab->ij", part, part) for part in jacobian)


@pytest.mark.parametrize("scale", [1.0, 0.4])
def test_residual_kernels_are_those_of_wide_networks(scale):
    x, depth = pairs.sphere(5, 4, seed=0), 4
    kernels = torch.stack([of_residual_weights(x, depth, 256, scale, seed) for seed in range(DRAWS)])
    mean = kernels.mean(0)
    result = mean / mean.diagonal().mean()
    share = scale**2 / (1 + scale**2)
    expected, plain = (residual.residual_kernel(x @ x.mT, depth=depth, share=s) for s in (share, 1.0))
    assert torch.allclose(result, expected, atol=0.06)
    assert not torch.allclose(result, plain, atol=0.12), "the kernel tells a residual network from a plain one"
    grown = (1 + scale**2) ** (depth - 2) * (1 + scale**2 + scale**2 * (depth - 1))  # of the diagonal
    assert float(mean.diagonal().mean()) == pytest.approx(grown, rel=0.1)


def test_the_plain_reading_is_the_ridge_of_depth():
    x = pairs.sphere(80, 10, seed=1)
    result = residual.ridge_reading(x, depth=1000, branch="plain")
    assert result["ridge"] == pytest.approx(deep_limit.depth_ridge(1000, "second"), rel=0.005)
    assert result["smallest"] == pytest.approx(3, rel=0.1)
    assert residual.small_angle_ridge("plain", 1000) == pytest.approx(result["ridge"], rel=0.02)
    with pytest.raises(InputError, match="three or more"):
        residual.ridge_reading(x[:2], depth=10, branch="plain")


def test_beside_its_own_offsets_a_residual_ridge_grows_half_as_fast_as_the_plain_one():
    """And beside the plain ones, which rise less, more slowly than that: the kernel is another one."""
    x, share = pairs.sphere(60, 10, seed=2), 0.5
    above = torch.triu_indices(60, 60, 1)
    rho = (x @ x.mT)[above[0], above[1]]
    h = rho.numpy().copy()
    for _ in range(4000):  # the map of a layer, from its arc-cosine kernel
        angle = np.arccos(np.clip(h, -1, 1))
        h = (1 - share) * h + share * (np.sin(angle) + (math.pi - angle) * h) / math.pi
    own, plain = 3 * math.pi / np.arccos(h), deep_limit.offsets(x)[above[0], above[1]].numpy()

    def growth(offsets, share):
        ridges = []
        for depth in (500, 1000):
            entries = residual.residual_kernel(rho, depth=depth, share=share).numpy()
            slope, level = np.polyfit(offsets, entries, 1)
            ridges.append((1 - level) / slope)
        return ridges[1] - ridges[0]

    assert growth(plain, 1.0) / growth(own, share) == pytest.approx(2, rel=0.01)
    assert growth(plain, 1.0) / growth(plain, share) > 2.2


def test_shares_of_branches():
    assert residual.branch_share("residual, scale 1", 30) == 0.5
    assert residual.branch_share("residual, scale 1/√L", 99) == pytest.approx(0.01)
    depths = (1000, 4000)  # a share of one over the depth is a unit of time
    kernels = [residual.residual_kernel(torch.tensor([0.5]).double(), depth=L, share=1 / (L + 1)) for L in depths]
    assert float(kernels[0]) == pytest.approx(float(kernels[1]), rel=2e-3)
    assert float(kernels[0]) == pytest.approx(float(universality.along_depth(
        universality.kinked(share=1 / 1001), np.array([0.5]), [1000])[0, 0]))  # fmt: skip


def test_errors_by_degree_are_those_of_points():
    """Two programs: eigenvalues by degree, and regression on drawn points."""
    n0, power, n = 4, 2.5, 150
    for depth in (6, 60):
        clouds = [pairs.sphere(n + 200, n0, seed=seed) for seed in range(8)]
        result = np.mean([curves.field_error(x[:n], x[n:], depth=depth, power=power) for x in clouds])
        assert result == pytest.approx(curves.ridgeless_error(n, depth, n0, power), rel=0.06)
        assert result != pytest.approx(curves.ridgeless_error(n, 10 * depth, n0, power), rel=0.2)


def test_theory_is_right_of_gaussian_features_and_off_on_the_sphere():
    """What errors by degree assume, drawn: there they hold to a few thousandths."""
    n0, power, n, depth = 3, 2.0, 80, 5
    law = curves.ridgeless_error(n, depth, n0, power)
    result = [curves.gaussian_error(n, 100, depth, n0, power, seed=seed) for seed in range(12)]
    assert np.mean(result) == pytest.approx(law, rel=0.015)
    clouds = [pairs.sphere(n + 200, n0, seed=seed) for seed in range(12)]
    sphere = np.mean([curves.field_error(x[:n], x[n:], depth=depth, power=power) for x in clouds])
    assert sphere / law - 1 > 0.03


def test_the_average_over_targets_is_that_of_drawn_ones():
    x = pairs.sphere(90, 3, seed=2)
    k = curves.target_covariance((x @ x.mT).clamp(-1, 1).acos().fill_diagonal_(0), 3, 2.0)
    values, modes = torch.linalg.eigh(k)
    assert float(k[0, 0]) == pytest.approx(1) and float(values[0]) > -1e-5
    y = modes @ (values.clamp_min(0).sqrt()[:, None] * torch.randn(90, 4000, dtype=k.dtype,
        generator=torch.Generator().manual_seed(0)))  # fmt: skip
    predicted = infinite_ntk(x[60:], x[:60], depth=10) @ torch.linalg.solve(infinite_ntk(x[:60], depth=10), y[:60])
    exact = curves.field_error(x[:60], x[60:], depth=10, power=2.0)
    assert float(((predicted - y[60:]) ** 2).mean()) == pytest.approx(exact, rel=0.05)


def test_the_powers_of_the_error_meet_at_the_points_of_the_depth():
    """At depth L the exponent goes from -(s - 1)/(n0 - 2) to -(s - 1)/(n0 - 1)."""
    n0, power, L = 3, 2.0, 2000

    def slope(n):
        low, high = (curves.ridgeless_error(m, L, n0, power) for m in (n, 2 * n))
        return math.log(high / low) / math.log(2)

    assert slope(30_000) == pytest.approx(-1, abs=0.1)
    low, high = (curves.ridgeless_error(m, 3, n0, power) for m in (1000, 2000))
    assert math.log(high / low) / math.log(2) == pytest.approx(-0.5, abs=0.06)
    with pytest.raises(InputError, match="depth"):
        curves.ridgeless_error(100, 2, n0, power)
