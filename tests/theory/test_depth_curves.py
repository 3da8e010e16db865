"""One number for depth; errors by degree against regression on points."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.theory import curves, deep_limit, pairs, residual
from regimes.kernels import infinite_ntk
from regimes.validate import InputError


@pytest.mark.parametrize("architecture", ["plain", "skip, scale 1", "skip, scale 0.3", "plain and skip in turn"])
def test_every_ridge_is_three_tau(architecture):
    """Beside its own kernel; with the number of layers in its place, only that of plain networks is."""
    x, depth = pairs.sphere(80, 10, seed=1), 1000
    result = residual.ridge_reading(x, depth=depth, architecture=architecture)
    shares = residual.layer_shares(architecture, depth)
    assert result["tau"] == pytest.approx(1 + shares.sum())
    assert result["ridge"] == pytest.approx(3 * result["tau"], rel=0.01)
    assert result["smallest"] == pytest.approx(3, rel=0.3)
    assert architecture == "plain" or result["ridge"] < 0.6 * 3 * depth


def test_a_ridge_without_its_logarithm_is_that_of_the_limit():
    """Beside the offsets of infinite depth a plain network has one, which the shift from the last angles brings."""
    x, depth = pairs.sphere(80, 10, seed=1), 3000
    above = torch.triu_indices(80, 80, 1)
    phi = torch.acos((x @ x.mT)[above[0], above[1]])
    _, angle = residual.kernel_and_angle(phi, depth=depth, architecture="plain")
    shift = 3 * math.pi / angle - depth - deep_limit.offsets(x)[above[0], above[1]]
    assert float(shift.mean()) == pytest.approx(1.5 * math.log(depth), abs=0.05) and float(shift.std()) < 0.01
    own = residual.ridge_reading(x, depth=depth, architecture="plain")["ridge"]
    assert own - float(shift.mean()) == pytest.approx(deep_limit.depth_ridge(depth), rel=2e-3)


def test_shares_of_architectures():
    assert residual.layer_shares("skip, scale 1", 30).tolist() == [0.5] * 29
    assert residual.layer_shares("skip, scale 1/√L", 99).sum() == pytest.approx(0.98)
    assert residual.layer_shares("pre-norm", 5).tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert residual.layer_shares("plain and skip in turn", 4).tolist() == pytest.approx([1, 0.09 / 1.09, 1])
    with pytest.raises(InputError, match="three or more"):
        residual.ridge_reading(pairs.sphere(2, 4, seed=0), depth=10, architecture="plain")
    with pytest.raises(InputError, match="architecture must be one of plain"):
        residual.layer_shares("recurrent", 10)


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
    low, high = (curves.ridgeless_error(m, 100_000, 4, 3.0) for m in (10**7, 3 * 10**7))
    assert math.log(high / low) / math.log(3) == pytest.approx(-1, abs=0.06)
    with pytest.raises(InputError, match="depth"):
        curves.ridgeless_error(100, 2, n0, power)
