"""Chapter 5's scales set by depth, by hand: laws on a sphere, and networks of a finite width beside infinite ones."""

import math

import numpy as np
import pytest
import torch

from companion.studies import depth_scales as studies
from companion.theory.depth import finite
from regimes.seeds import draw_seeds
from tests.studies.test_depth_by_hand import DIGITS, SPHERE, by_offset, gram, images, points


def apart(found, f):
    return np.linalg.norm(found - f) / np.linalg.norm(f - f.mean(0))


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
        theta, cross = (by_offset(inner, 3000, name) for inner in (x @ x.T, z @ x.T))
        np.fill_diagonal(theta, 1)
        assert row[name] == pytest.approx(apart(cross @ np.linalg.solve(theta, y), f), rel=0.05, abs=1e-6), name
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
    wide, (draw,) = gram(x, 4), draw_seeds("weights", [2])
    narrow = finite.finite_kernel(torch.from_numpy(x), depth=4, width=60, seed=draw).numpy()
    f, g = (kernel[30:, :30] @ np.linalg.solve(kernel[:30, :30], y) for kernel in (wide, narrow))
    upper = np.triu_indices(30, 1)
    assert row["distance"] == pytest.approx(apart(g, f), rel=1e-6)
    assert row["signal"] == pytest.approx(wide[upper].std(ddof=1), rel=1e-6)
    assert row["noise"] == pytest.approx((narrow - wide)[upper].std(ddof=1), rel=1e-6)
    if cloud == "images":
        found = [(h.argmax(1) == labels[30:]).mean() for h in (g, f)]
        assert [row["accuracy"], row["wide_accuracy"]] == pytest.approx(found)
    else:
        assert math.isnan(row["accuracy"]) and math.isnan(row["wide_accuracy"])
