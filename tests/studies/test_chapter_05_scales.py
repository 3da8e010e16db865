"""Chapter 5's scales set by depth, by hand: laws on a sphere, and networks of a finite width beside infinite ones."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.studies import depth_scales as studies
from companion.papers.depth.theory import finite
from regimes.kernels import ntk
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.training.optimise import optimise
from tests.studies.test_depth_by_hand import DIGITS, SPHERE, by_offset, gram, images, offset, points


def relative_distance(result, f):
    return np.linalg.norm(result - f) / np.linalg.norm(f - f.mean(0))


@pytest.mark.parametrize(("n", "test"), [(30, 30), (20, 10), (10, 30)])
def test_laws_on_a_sphere(n, test):
    """As many fresh points as are learnt, fewer, and more; ten are enough."""
    (row,) = studies.sphere_laws({"n0": 6, "n": n, "test": test, "depth": 3000}, [1])
    x, z = np.split(points(n + test, 6, 1), [n])
    y = np.stack([np.sign(x[:, 0]), x[:, 0] * x[:, 1]], 1)
    f = gram(z, 3000, x) @ np.linalg.solve(gram(x, 3000), y)
    nearest = math.acos((x @ x.T - 2 * np.eye(n)).max())
    assert row["nearest"] == pytest.approx(nearest * 3000 / (3 * math.pi))
    for name in ("first", "second", "uniform"):
        theta, cross = (by_offset(inner, offset(inner), 3000, name) for inner in (x @ x.T, z @ x.T))
        np.fill_diagonal(theta, 1)
        assert row[name] == pytest.approx(
            relative_distance(cross @ np.linalg.solve(theta, y), f), rel=0.05, abs=1e-6
        ), name
        if name == "first":
            assert row["smallest"] == pytest.approx(np.linalg.eigvalsh(theta)[0], rel=1e-3)
    assert row["uniform"] < row["second"] < row["first"] < 0.1


@pytest.mark.parametrize("cloud", ["sphere", "images"])
def test_networks_of_a_finite_width(cloud):
    setting = (SPHERE if cloud == "sphere" else DIGITS | {"cloud": "images", "n0": 6}) | {
        "n": 30,
        "test": 20,
        "depth": 4,
    }
    (row,) = studies.finite_networks(setting | {"width": 60}, [2])
    if cloud == "sphere":
        x = points(50, 6, 2)
        y = math.sqrt(6) * x[:30, :1]
    else:
        ((x, labels),) = images(draw_seeds("train", [2])[0], [50])
        y = np.eye(10)[labels[:30]]
    infinite, (draw,) = gram(x, 4), draw_seeds("weights", [2])
    narrow = finite.finite_kernel(torch.from_numpy(x), depth=4, width=60, seed=draw).numpy()
    f, g = (kernel[30:, :30] @ np.linalg.solve(kernel[:30, :30], y) for kernel in (infinite, narrow))
    upper = np.triu_indices(30, 1)
    assert row["distance"] == pytest.approx(relative_distance(g, f), rel=1e-6)
    assert row["signal"] == pytest.approx(infinite[upper].std(ddof=1), rel=1e-6)
    assert row["noise"] == pytest.approx((narrow - infinite)[upper].std(ddof=1), rel=1e-6)
    if cloud == "images":
        result = [(h.argmax(1) == labels[30:]).mean() for h in (g, f)]
        assert [row["accuracy"], row["wide_accuracy"]] == pytest.approx(result)
    else:
        assert math.isnan(row["accuracy"]) and math.isnan(row["wide_accuracy"])


def test_trained_networks_against_small_steps_of_descent():
    """Another solver: gradient descent at a small rate, until the residual is below that of the study."""
    setting = {"n0": 4, "n": 12, "test": 10, "depth": 3, "width": 40, "scale": 0.5}
    (row,) = studies.trained_networks(setting, [3])
    x = points(22, 4, 3)
    y = np.sign(x[:, 0])
    z = torch.from_numpy(x) * math.sqrt(2)
    net = fully_connected([4, 40, 40, 1], seeds=draw_seeds("weights", [3]))
    base = net(z)[0]
    targets = (base[:12] + torch.from_numpy(y[:12]) / 0.5)[None, :, None]  # scale (f - f_0) = y
    rate = 0.2 / float(torch.linalg.eigvalsh(ntk(net, z[:12])[0])[-1]) * 12
    states = optimise(net, z[:12], targets, rate=rate, method="gd")
    for state in states:
        if float((state.model(z[:12])[0] - targets[0, :, 0]).abs().max()) < 1e-3:
            break
    h = 0.5 * (state.model(z[12:])[0] - base[12:]).numpy()
    infinite, tangent = gram(x, 3), ntk(net, z)[0].numpy()
    f, g = (kernel[12:, :12] @ np.linalg.solve(kernel[:12, :12], y[:12]) for kernel in (infinite, tangent))
    variation = np.linalg.norm(f - f.mean())
    assert row["start"] == pytest.approx(np.linalg.norm(g - f) / variation, rel=1e-6)
    assert row["trained"] == pytest.approx(np.linalg.norm(h - f) / variation, rel=0.02)
    assert row["moved"] == pytest.approx(np.linalg.norm(h - g) / variation, rel=0.02)
    assert row["residual"] < 1e-3 and row["kernel_change"] > 0.05
    assert row["error"] == pytest.approx(((h - y[12:]) ** 2).mean(), rel=0.05)
    assert row["wide_error"] == pytest.approx(((f - y[12:]) ** 2).mean())
    (lazy,) = studies.trained_networks(setting | {"scale": 500.0}, [3])
    assert lazy["start"] == row["start"] and lazy["moved"] < 0.1 * row["moved"]
