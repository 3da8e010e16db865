"""Label noise, and a finite last hidden layer, by hand at tiny size."""

import math

import numpy as np
import pytest
import torch

from companion.papers.depth.studies import depth as studies
from companion.papers.depth.theory import last_layer
from regimes.seeds import draw_seeds
from tests.studies.test_depth_by_hand import gram, points

NOISY = {"n0": 4, "n": 30, "fresh": 12, "depth": 3}


def fits(setting, labels):
    """Predictions at fresh points for each column of labels: fully trained, or by small steps up to a time."""
    x, z = np.split(points(42, 4, 5), [30])
    if setting.get("kernel"):
        theta, cross = (np.exp(-((a[:, None] - x) ** 2).sum(-1) / (2 * studies.SMOOTH**2)) for a in (x, z))
    else:
        theta, cross = gram(x, 3), gram(z, 3, x)
    if not setting.get("time"):
        return cross @ np.linalg.solve(theta, labels), theta
    f = np.zeros_like(labels)
    g = np.zeros((12, labels.shape[1]))
    h = setting["time"] / 20_000
    for _ in range(20_000):
        f, g = f + h * theta @ (labels - f), g + h * cross @ (labels - f)
    return g, theta


@pytest.mark.parametrize("more", [{}, {"time": 0.7}, {"kernel": "Gaussian"}], ids=["forever", "stopped", "smooth"])
def test_the_spread_over_label_noise(more):
    (row,) = studies.label_noise(NOISY | more, [5])
    weights, theta = fits(more, np.eye(30))
    noise = np.random.default_rng(0).standard_normal((30, 20_000))
    spread = math.sqrt((weights @ noise).var(axis=1).mean())
    assert row["norm"] == pytest.approx(spread, rel=0.02)
    assert row["worst"] == pytest.approx((weights * np.sign(weights)).sum(1).mean(), rel=1e-3)
    assert row["smallest"] == pytest.approx(np.linalg.eigvalsh(theta)[0], rel=1e-4)


@pytest.mark.parametrize(("readout", "width"), [("NTK", 40), ("mean field", 40), ("mean field", 16)])
def test_a_finite_last_layer(readout, width):
    setting = {"n0": 5, "n": 6, "fresh": 5, "depth": 3, "width": width, "readout": readout}
    (row,) = studies.finite_last_layer(setting, [7])
    x = torch.from_numpy(points(11, 5, 7))
    scale = math.sqrt(16 / width) if readout == "mean field" else 1.0
    rho, kernel = last_layer.below_last_layer(x, depth=3)
    z, w = last_layer.gaussian_layer(rho, width, seed=draw_seeds("weights", [7])[0])
    end, _ = last_layer.train_layer(kernel, z, w, x[:6, 0].sign(), scale=scale, slack=1e-3)
    before = z.relu().numpy()
    after = end.relu().numpy()
    k = kernel.numpy()
    moved = after - before
    change = after @ after.T - before @ before.T
    cross = moved @ before.T + before @ moved.T
    assert row["norm"] == pytest.approx(np.linalg.norm(moved, axis=1).mean())
    assert row["relative"] == pytest.approx(np.linalg.norm(change) / np.linalg.norm(before @ before.T))
    upper = np.triu_indices(11, 1)
    assert row["inner"] == pytest.approx(np.abs(change[upper]).mean())
    assert row["crossed"] == pytest.approx(math.sqrt((cross[upper] ** 2).mean() / (change[upper] ** 2).mean()))
    seen = k[6:, :6] / np.linalg.norm(k[6:, :6], axis=1, keepdims=True)
    pairs = np.triu_indices(5, 1)
    assert row["rows"] == pytest.approx(np.corrcoef((seen @ seen.T)[pairs], np.abs(change[6:, 6:][pairs]))[0, 1])
    residual = np.linalg.solve(3 * gram(x[:6].numpy(), 3), scale * math.sqrt(2 / width) * before[:6] @ w.numpy()
                               - np.sign(x[:6, 0].numpy()))  # fmt: skip
    law = last_layer.layer_motion(rho, kernel, torch.from_numpy(residual)) / scale
    assert row["law"] == pytest.approx(float(law.mean()), rel=1e-6)
