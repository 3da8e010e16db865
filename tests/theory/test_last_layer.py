"""A finite last hidden layer against networks whose lower layer is wide; what paper C says beside its theorems."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.theory import last_layer, pairs, regression
from regimes.kernels import infinite_ntk
from regimes.validate import InputError

WIDE = 6000  # neurons of a layer that stands for an infinite one


def descend(x, y, width, *, scale, seed, slack):
    """Pre-activations of the second hidden layer before and after, and its readout: all weights are trained."""
    n, random = len(y), torch.Generator().manual_seed(seed)
    sizes = ((x.shape[1], WIDE), (WIDE, width), (width, 1))
    weights = [torch.randn(size, dtype=torch.float64, generator=random) for size in sizes]
    start, readout = None, weights[2][:, 0].clone()
    while True:
        one = x @ weights[0]
        two = math.sqrt(2 / WIDE) * one.relu() @ weights[1]
        start = two if start is None else start
        r = scale * math.sqrt(2 / width) * (two[:n].relu() @ weights[2]) - y[:, None]
        if float(r.abs().max()) < slack:
            return start, two, readout
        back = math.sqrt(2 / width) / scale * r @ weights[2].T * (two[:n] > 0)
        below = math.sqrt(2 / WIDE) * back @ weights[1].T * (one[:n] > 0)
        rate = 0.02
        weights[2] = weights[2] - rate * math.sqrt(2 / width) / scale * two[:n].relu().T @ r
        weights[1] = weights[1] - rate * math.sqrt(2 / WIDE) * one[:n].relu().T @ back
        weights[0] = weights[0] - rate * x[:n].T @ below


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_layer_moves_as_in_a_network_with_a_wide_layer_below(scale):
    x = pairs.sphere(8, 3, seed=0)
    y = x[:5, 0].sign()
    before, after, readout = descend(x, y, 7, scale=scale, seed=1, slack=0.1)
    _, kernel = last_layer.below_last_layer(x, depth=3)
    result, _ = last_layer.train_layer(kernel, before, readout, y, scale=scale, slack=0.1)
    moved = after - before
    assert float((result - after).norm() / moved.norm()) < 0.06
    assert float(moved.norm() / before.norm()) > 0.15, "else the end is the start"
    other, _ = last_layer.train_layer(kernel, before, readout, y, scale=2 * scale, slack=0.1)
    assert float((other - after).norm() / moved.norm()) > 0.2, "another scale is told apart"


def test_the_layer_is_drawn_with_the_infinite_covariance():
    x = pairs.sphere(5, 4, seed=2)
    rho, kernel = last_layer.below_last_layer(x, depth=4)
    assert torch.allclose(kernel, 3 * infinite_ntk(x, depth=3), atol=1e-12)
    z, readout = last_layer.gaussian_layer(rho, 200_000, seed=0)
    assert torch.allclose(z @ z.T / 200_000, rho, atol=0.02) and abs(float(readout.square().mean()) - 1) < 0.02
    on = (z > 0).double()
    assert torch.allclose(on @ on.T / 200_000, 0.5 - rho.clamp(-1, 1).arccos() / (2 * math.pi), atol=0.01)


def test_the_motion_has_its_law_in_a_wide_layer():
    x = pairs.sphere(14, 6, seed=3)
    y = x[:8, 0].sign()
    rho, kernel = last_layer.below_last_layer(x, depth=3)
    off = {}
    for width in (20, 40_000):
        z, readout = last_layer.gaussian_layer(rho, width, seed=4)
        end, _ = last_layer.train_layer(kernel, z, readout, y, slack=1e-3)
        first = math.sqrt(2 / width) * z[:8].relu().T.mul(readout[:, None]).sum(0)
        law = last_layer.layer_motion(rho, kernel, torch.linalg.solve(3 * infinite_ntk(x[:8], depth=3), first - y))
        off[width] = float(((end.relu() - z.relu()).norm(dim=1) / law - 1).abs().mean())
    assert off[40_000] < 0.02 < off[20]


def test_smaller_steps_end_at_the_same_place():
    x = pairs.sphere(12, 5, seed=5)
    y = x[:6, 0].sign()
    rho, kernel = last_layer.below_last_layer(x, depth=3)
    z, readout = last_layer.gaussian_layer(rho, 50, seed=6)
    ends = [last_layer.train_layer(kernel, z, readout, y, slack=1e-4, step=step)[0] for step in (0.5, 0.05)]
    assert float((ends[0] - ends[1]).norm() / (ends[1] - z).norm()) < 0.01


def test_the_same_points_are_refused(monkeypatch):
    monkeypatch.setattr(last_layer, "MOST_STEPS", 100)
    kernel = torch.ones(2, 2).double()
    z = torch.ones(2, 3).double()
    y = torch.tensor([1.0, -1.0]).double()
    with pytest.raises(InputError, match="nearly the same"):
        last_layer.train_layer(kernel, z, torch.ones(3).double(), y, slack=1e-3)


def test_orthogonal_inputs_have_correlated_neurons_from_the_second_layer_on():
    """Footnote 5: one-hot words, 1/π; at the first hidden layer, which Yang and Hu treat, none."""
    words = torch.eye(6, dtype=torch.float64)
    off = ~torch.eye(6, dtype=torch.bool)
    first, second = (last_layer.below_last_layer(words, depth=depth)[0][off] for depth in (2, 3))
    assert float(first.abs().max()) < 1e-12
    assert torch.allclose(second, torch.full_like(second, 1 / math.pi), atol=1e-12)


def test_one_hot_words_have_kernel_rows_of_one_correlation():
    """So that on them it does not say which inner products change (end of Sec. 5)."""
    _, rows = last_layer.below_last_layer(torch.eye(6, dtype=torch.float64), depth=3)
    cosines = (rows @ rows.T / rows.square().sum(1))[~torch.eye(6, dtype=torch.bool)]
    assert float(cosines.max() - cosines.min()) < 1e-12


def variances_and_kernel(rho, depth, weights):
    """Of a pair of unit inputs by Theorem 1, at a variance of the weights: ``Σ(x,x)``, ``Σ(x,x')`` and the kernels."""
    own, both, theta_own, theta = weights, weights * rho, weights, weights * rho
    for _ in range(depth - 1):
        phi = math.acos(both / own)
        theta_own = theta_own / 2
        theta = theta * (math.pi - phi) / (2 * math.pi)
        both = own * (math.sin(phi) + (math.pi - phi) * math.cos(phi)) / (2 * math.pi)
        own /= 2
        own, both, theta_own, theta = (weights * value for value in (own, both, theta_own + own, theta + both))
    return own, both, theta_own, theta


def test_the_ordered_phase_is_one_of_the_variance_alone():
    """At weights of variance 1 it halves with each layer, at 2 it stays: correlation and predictor are the same."""
    x = pairs.sphere(2, 3, seed=0)
    rho = float(x[0] @ x[1])
    own, both, theta_own, theta = variances_and_kernel(rho, 30, 1.0)
    kept = variances_and_kernel(rho, 30, 2.0)
    assert own == pytest.approx(2.0**-29) and kept[0] == pytest.approx(2.0)
    assert both / own == pytest.approx(kept[1] / kept[0], rel=1e-9)
    assert theta / theta_own == pytest.approx(kept[3] / kept[2], rel=1e-9)
    assert theta / theta_own == pytest.approx(float(infinite_ntk(x, depth=30)[0, 1]), rel=1e-9)


def test_inputs_that_are_uncorrelated_with_the_data_have_one_prediction():
    """Footnote 7: that of the matrix of ones, the labels' mean, but for a factor ``n/(n + 3)``."""
    n = 60
    points = torch.linalg.qr(torch.from_numpy(np.random.default_rng(0).standard_normal((80, 80))))[0]
    x, test_x = points[:, :40], points[40:, 40:]
    x = torch.cat([x[:n], torch.zeros(n, 40)], 1)
    test_x = torch.cat([torch.zeros(40, 40), test_x], 1)
    x, test_x = (z / z.norm(dim=1, keepdim=True) for z in (x, test_x))
    y = torch.from_numpy(np.random.default_rng(1).choice([-1.0, 1.0, 1.0], (n, 1)))
    for depth in (3, 30, 3000):
        f = regression.kernel_flow_prediction(infinite_ntk(x, depth=depth), infinite_ntk(test_x, x, depth=depth), y)
        assert float(f.max() - f.min()) < 1e-9
        if depth == 3000:
            assert float(f.mean() / y.mean()) == pytest.approx(n / (n + 3), abs=0.01)


@pytest.mark.parametrize(("n0", "powers"), [(3, 3), (5, 5), (5, 7)])
def test_a_power_law_passes_on_the_noise_by_its_exponent(n0, powers):
    """``ℓ^-n0`` of the tangent kernel, ``ℓ^-(n0 + 2)`` of its readout alone: the mean square is the exponent less 1."""
    alpha = powers / (n0 - 1)
    values, n = np.arange(1.0, 1e6) ** -alpha, 1000
    rest = 1e6 ** (1 - alpha) / (alpha - 1)  # of the modes that are left out, a ridge
    low, high = 1e-12, 1.0
    for _ in range(80):
        kappa = math.sqrt(low * high)
        low, high = (kappa, high) if (values / (values + kappa)).sum() + rest / kappa > n else (low, kappa)
    gamma = ((values / (values + kappa)) ** 2).sum() / n
    assert gamma / (1 - gamma) == pytest.approx(alpha - 1, rel=0.02)
    assert powers != n0 or alpha - 1 == pytest.approx(1 / (n0 - 1))


def test_the_second_half_of_example_2():
    """The paper's arithmetic, and what it takes for equal."""
    delta = math.comb(2**30, 2) ** (-1 / 127)
    assert pairs.separation_depth(1 - delta) == pytest.approx(1.371, abs=1e-3)
    assert delta**-0.5 == pytest.approx(1.175, abs=1e-3)
    log_ratio = math.lgamma(64) - math.lgamma(64.5)
    assert -math.expm1(-math.exp(log_ratio) / (4 * math.sqrt(math.pi))) == pytest.approx(0.0175, abs=1e-4)


def test_data_off_the_sphere_are_learnt_as_on_it():
    """By the recursion for inputs of any norm: a factor ``|x|``, and labels over the norms."""
    random = np.random.default_rng(3)
    x = random.standard_normal((9, 4))
    y = random.standard_normal(6)
    norms = np.linalg.norm(x, axis=1)
    inner, own = x @ x.T, np.outer(norms, norms)
    theta, both = inner, inner
    for _ in range(6):
        phi = np.arccos(np.clip(both / own, -1, 1))
        both = own * (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / np.pi
        theta = theta * (np.pi - phi) / np.pi + both
    f = theta[6:, :6] @ np.linalg.solve(theta[:6, :6], y)
    unit = torch.from_numpy(x / norms[:, None])
    gram = infinite_ntk(unit[:6], depth=7)
    cross = infinite_ntk(unit[6:], unit[:6], depth=7)
    g = regression.kernel_flow_prediction(gram, cross, torch.from_numpy(y / norms[:6])[:, None])[:, 0].numpy()
    assert f == pytest.approx(norms[6:] * g, rel=1e-5)  # arccos near 1 has 1e-8
