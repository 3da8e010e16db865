"""Chapter 5's studies, each against a few lines of numpy at tiny size: points by the convention of seeds, no more."""

import functools
import math

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.datasets import load_digits

from companion.papers.depth.studies import depth as studies
from companion.papers.depth.theory import last_layer, pairs, rate
from regimes.data import datasets
from regimes.seeds import draw_seeds
from regimes.validate import InputError

DIGITS = {"corpus": "digits", "data": ""}
SPHERE = {"cloud": "sphere", "n0": 6}


def biased(inner, variance, depth, bias):
    """The normalised kernel from its definition, ``inner = x·x'/d``, layer by layer."""
    theta = s = inner + bias**2
    theta_own = s_own = variance + bias**2
    for _ in range(depth - 1):
        phi = np.arccos(np.clip(s / s_own, -1, 1))
        theta = theta * (np.pi - phi) / (2 * np.pi)
        theta_own = theta_own / 2
        s = s_own * (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / (2 * np.pi) + bias**2
        s_own = s_own / 2 + bias**2
        theta, theta_own = theta + s, theta_own + s_own
    return theta / theta_own


def plain(rho, depth):
    """Without biases every layer keeps the variance when the weights' is doubled."""
    theta = s = np.clip(np.asarray(rho, dtype=float), -1, 1)
    for _ in range(depth - 1):
        phi = np.arccos(np.clip(s, -1, 1))
        s = (np.sin(phi) + (np.pi - phi) * np.cos(phi)) / np.pi
        theta = theta * (np.pi - phi) / np.pi + s
    return theta / depth, s


def points(n, d, seed):
    x = np.random.default_rng(draw_seeds("train", [seed])[0]).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def gram(x, depth, z=None):
    result = plain(x @ (x if z is None else z).T, depth)[0]
    if z is None:
        np.fill_diagonal(result, 1)
    return result


def layer(z):
    return (np.sqrt(1 - z**2) + z * (np.pi - np.arccos(z))) / np.pi


def test_a_pair_along_depth():
    rows = studies.normalised_kernel({"rho": 0.3, "depth_max": 2000}, [0])
    for row in rows:
        kernel, correlation = plain(0.3, row["depth"])
        assert row["kernel"] == pytest.approx(kernel, rel=1e-9) and row["gap"] == pytest.approx(1 - correlation)
        offset = row["offset"]
        law = (3 / 8 * math.log(row["depth"]) + offset / 4 - 1 / 8) / row["depth"]
        assert row["predicted"] == pytest.approx(law)
    deep = 3000  # what is left of the angle far down tells the offset
    phi = math.acos(1 - (1 - plain(0.3, deep)[1]))
    assert 3 * math.pi / phi - deep - 1.5 * math.log(deep) == pytest.approx(rows[0]["offset"], abs=0.01)


def test_one_layer():
    rows = studies.layer_map({"points": 5}, [0])
    assert [row["z"] for row in rows] == [-1, -0.5, 0, 0.5, 1]
    assert [row["h"] for row in rows] == pytest.approx([float(layer(z)) for z in (-1, -0.5, 0, 0.5, 1)], abs=1e-15)


def test_the_depth_at_which_a_close_pair_is_half_way():
    for gap in (1e-3, 0.02, 0.2, 0.29999):
        path = np.array([float(plain(1 - gap, depth)[0]) for depth in range(1, 150)])
        below = int(np.argmax(path <= 0.625))  # depth below + 1 is the first at or under it
        half = below + (path[below - 1] - 0.625) / (path[below - 1] - path[below])
        assert rate.half_way_depth(1 - gap) == pytest.approx(half, rel=1e-9)
        assert pairs.separation_depth(1 - gap) == pytest.approx(1 / math.sqrt(1 - layer(1 - gap)))


def test_three_kernels_along_depth():
    setting = {"cloud": "positive cube", "n0": 3, "points": 4, "depth_max": 5}
    rows = studies.trajectories(setting, [2])
    x = np.random.default_rng(draw_seeds("train", [2])[0]).uniform(0, 1, (5, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    rho = {"pair": (x[:4] @ x[:4].T)[np.triu_indices(4, 1)], "fresh": x[4] @ x[:4].T, "same": np.ones(1)}
    for row in rows:
        for name, value in rho.items():
            theta, correlation = plain(value, row["depth"])
            eta = value
            for _ in range(row["depth"] - 1):
                eta = (1 + np.exp(-eta)) ** -2.0
            expected = {"theta": theta, "rho": correlation, "eta": eta}[row["kernel"]]
            assert row[name] == pytest.approx(expected.tolist(), abs=1e-7)
    assert len(rows) == 15


def test_kernel_matrices_against_their_limit():
    (row,) = studies.projection_norm(SPHERE | {"n": 12, "fresh": 7}, [1])
    x = points(19, 6, 1)
    inner = (x[:12] @ x[:12].T)[np.triu_indices(12, 1)]
    depth = max(2, math.ceil((1 - layer(inner.max())) ** -0.5))
    theta = gram(x[:12], depth)
    cross = gram(x[12:], depth, x[:12])
    values, vectors = np.linalg.eigh(theta)
    assert row["depth"] == depth and row["smallest"] == pytest.approx(values[0])
    for name, time in {"early": 1, "norm": math.ceil(1 / values[0])}.items():
        learnt = vectors @ np.diag((1 - np.exp(-time * values)) / values) @ vectors.T
        assert row[name] == pytest.approx(np.linalg.norm(cross @ learnt, axis=1).mean())
    assert row["forever"] == pytest.approx(np.linalg.norm(cross @ np.linalg.inv(theta), axis=1).mean())

    for row in studies.projectors(SPHERE | {"n": 12, "depths": [3, 5000]}, [1]):
        theta = gram(points(12, 6, 1), row["depth"])
        x = points(12, 6, 1)
        top = np.linalg.eigh(theta)[1][:, -1]
        distance = np.linalg.norm(np.outer(top, top) - np.full((12, 12), 1 / 12), 2)
        assert row["projectors"] == pytest.approx(distance, rel=1e-5)
        assert row["matrix"] == pytest.approx(np.linalg.norm(theta - 0.25 - 0.75 * np.eye(12), 2) / 12, rel=1e-6)
        assert row["excess"] == pytest.approx((theta.sum() - 12) / 132 - 0.25)
    assert row["sharp"] == pytest.approx(5000 * distance, rel=0.02)


def test_the_closest_pair_and_its_law():
    (row,) = studies.depth_bound(SPHERE | {"n": 12}, [1])
    x = points(12, 6, 1)
    closest = (x @ x.T)[np.triu_indices(12, 1)].max()
    assert row["bound"] == pytest.approx((1 - layer(closest)) ** -0.5)
    # uniform on the sphere: (1 + x·x')/2 is a beta variable
    beta = stats.beta(2.5, 2.5)
    level = 2 * beta.isf(math.log(2) / 66) - 1
    assert row["median"] == pytest.approx((1 - layer(level)) ** -0.5, rel=1e-9)
    for measure, threshold in (("inner product", 0.9), ("angle", math.cos(0.1))):
        rows = studies.closest_pair({"n": 12, "n0": 6, "delta": 0.1, "measure": measure}, [1, 2, 3])
        for row in rows:
            x = points(12, 6, row["seed"])
            assert row["found"] == ((x @ x.T)[np.triu_indices(12, 1)].max() >= threshold)
            assert row["law"] == pytest.approx(1 - math.exp(-66 * beta.sf((1 + threshold) / 2)), rel=1e-9)
            assert row["bound"] == pytest.approx(66 * math.sqrt(3 / math.pi) * 0.1**5 / 5)


def images(draw, sizes):
    """Parts of the digits, on the sphere, with the images that the split says: their classes are in proportion."""
    pool = load_digits()
    x = pool.data / np.linalg.norm(pool.data, axis=1, keepdims=True)
    place = {row.tobytes(): i for i, row in enumerate(np.round(x, 9) + 0.0)}
    parts = datasets.split(datasets.to_sphere(datasets.load("digits")), sizes, seed=draw)
    result = [np.array([place[row.tobytes()] for row in np.round(part.x.numpy(), 9) + 0.0]) for part in parts]
    return [(x[index], pool.target[index]) for index in result]


def drawn(draw, sizes):
    """The same for images drawn without regard to their classes."""
    pool = load_digits()
    order = np.random.default_rng(draw).permutation(1797)[: sum(sizes)]
    x = pool.data[order] / np.linalg.norm(pool.data[order], axis=1, keepdims=True)
    return list(zip(np.split(x, sizes[:1]), np.split(pool.target[order], sizes[:1])))


@pytest.mark.parametrize(("classes", "sample"), [("balanced", images), ("drawn", drawn)])
def test_regression_far_down(classes, sample):
    rows = studies.deep_prediction(DIGITS | {"n": 60, "test": 40, "depths": [50, 3000], "classes": classes}, [3])
    (x, y), (z, labels) = sample(draw_seeds("train", [3])[0], [60, 40])
    offsets = [(inner, offset(inner)) for inner in (x @ x.T, z @ x.T)]
    for row in rows:
        f = gram(z, row["depth"], x) @ np.linalg.solve(gram(x, row["depth"]), np.eye(10)[y])
        assert row["accuracy"] == (f.argmax(1) == labels).mean()
        assert row["largest"] == (labels == np.bincount(y, minlength=10).argmax()).mean()
        for name in ("first", "uniform"):
            theta, cross = (by_offset(inner, c, row["depth"], name) for inner, c in offsets)
            np.fill_diagonal(theta, 1)
            distance = np.linalg.norm(cross @ np.linalg.solve(theta, np.eye(10)[y]) - f)
            assert row[name] == pytest.approx(distance / np.linalg.norm(f - f.mean(0)), rel=0.02, abs=1e-6), (
                name,
                row["depth"],
            )
    assert rows[1]["error"] < 0.1 < rows[0]["error"] and rows[1]["law_accuracy"] == rows[1]["accuracy"]
    assert rows[1]["uniform"] < rows[1]["first"] < rows[1]["closed"]


A, G = 6.92176, -3 * np.pi**3 / 4  # 3π a_1 and 3π g_1, by hand


def offset(inner):
    """The offset from 3000 layers."""
    e = 1 - np.clip(inner, -1, 1 - 1e-9)
    for _ in range(3000):
        phi = 2 * np.arcsin(np.sqrt(e / 2))
        lost = np.where(phi < 0.05, phi**3 / 3 - phi**5 / 30, np.sin(phi) - phi * np.cos(phi))
        e = e - lost / np.pi
    deep = 3 * np.pi / (2 * np.arcsin(np.sqrt(e / 2)))
    return deep - 1.5 * np.log(deep) + A / deep - 3001


def by_offset(inner, c, depth, order):
    """The laws by their equations: the offset ``c``, the series' coefficients by hand, bisection."""
    log = np.log(depth)
    if order == "first":
        return (depth / 4 + 3 * log / 8 - 1 / 8 + c / 4) / depth
    low, high = np.full_like(c, 4.0), c + depth + 1000
    for _ in range(80):
        m = (low + high) / 2
        above = m - 1.5 * np.log(m) + A / m > depth + c
        low = np.where(above, low, m)
        high = np.where(above, m, high)
    first = 3 * np.pi / np.arccos(np.clip(inner, -1, 1 - 1e-9))  # the M of depth 1, where it matters
    return (m / 4 - 1 / 8 + G / m - (first / 4 - 9 / 8) * (first / m) ** 3) / depth


def test_the_recipe():
    rows = studies.recipe(DIGITS | {"n": 60, "test": 40, "depths": [2, 30]}, [3])
    (x, y), (z, labels) = drawn(draw_seeds("train", [3])[0], [60, 40])
    inner = (x @ x.T)[np.triu_indices(60, 1)].max()
    layers = math.ceil((1 - layer(inner)) ** -0.5)
    assert [row["depth"] for row in rows] == [0, 2, 30] and [row["layers"] for row in rows] == [layers, 2, 30]
    for row in rows:
        theta = gram(x, row["layers"])
        cross = gram(z, row["layers"], x)
        values, vectors = np.linalg.eigh(theta)
        assert row["time"] == math.ceil(1 / values[0])
        result = {}
        for name, time in (("early", 1), ("stopped", row["time"]), ("accuracy", np.inf)):
            learnt = vectors @ np.diag((1 - np.exp(-time * values)) / values) @ vectors.T
            result[name] = cross @ learnt @ np.eye(10)[y]
            assert row[name] == (result[name].argmax(1) == labels).mean()
        early = result["early"]
        spread = np.linalg.norm(early - early.mean(0))
        assert row["unstopped"] == pytest.approx(np.linalg.norm(result["accuracy"] - early) / spread, rel=1e-6)
    theta, cross = (by_offset(inner, offset(inner), 30, "first") for inner in (x @ x.T, z @ x.T))
    np.fill_diagonal(theta, 1)
    values, vectors = np.linalg.eigh(theta)
    law = cross @ vectors @ np.diag((1 - np.exp(-values)) / values) @ vectors.T @ np.eye(10)[y]
    assert row["stop"] == pytest.approx(np.linalg.norm(law - early) / spread, rel=1e-3)


def test_what_is_left_at_a_depth_in_proportion():
    rows = studies.size_over_depth(SPHERE | {"n": 40, "ratio": 2.0, "test": 30}, [1])
    x = points(70, 6, 1)
    assert [row["degree"] for row in rows] == [1, 2, 3] and {row["depth"] for row in rows} == {20}
    for row in rows:
        y = x[:, : row["degree"]].prod(1)
        f = gram(x[40:], 20, x[:40]) @ np.linalg.solve(gram(x[:40], 20), y[:40])
        assert row["left"] == pytest.approx(((f - y[40:]) ** 2).sum() / ((y[40:] - y[40:].mean()) ** 2).sum())
    (row,) = studies.size_over_depth(DIGITS | {"cloud": "images", "n0": 64, "n": 60, "ratio": 12.0, "test": 40}, [3])
    ((x, y),) = images(draw_seeds("train", [3])[0], [100])
    f = gram(x[60:], 5, x[:60]) @ np.linalg.solve(gram(x[:60], 5), np.eye(10)[y[:60]])
    target = np.eye(10)[y[60:]]
    assert row["left"] == pytest.approx(((f - target) ** 2).sum() / ((target - target.mean(0)) ** 2).sum())
    assert row["degree"] == 0 and math.isnan(row["law"])


def test_pairs_of_near_duplicates():
    (row,) = studies.near_duplicates({"n": 5, "n0": 4, "gap": 0.01, "depths": [3]}, [1])
    x = points(10, 4, 1)
    first = x[:5]
    side = x[5:] - (x[5:] * x[:5]).sum(1, keepdims=True) * x[:5]
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    on = [math.cos(0.01 * k) * first + math.sin(0.01 * k) * side for k in range(6)]
    theta = gram(np.vstack(on[:2]), 3)
    cross = gram(np.vstack(on[2:]), 3, np.vstack(on[:2]))
    values, vectors = np.linalg.eigh(theta)
    assert row["smallest"] == pytest.approx(values[0], rel=1e-4)
    for name, time in (("stopped", values[0] ** -0.5), ("forever", np.inf)):
        learnt = vectors @ np.diag((1 - np.exp(-time * values)) / values) @ vectors.T
        assert row[name] == pytest.approx(np.linalg.norm(cross @ learnt, axis=1).max(), rel=1e-4)


def test_layers_of_other_kinds():
    """tanh with its critical scale and shift on a grid of Gaussian weights, kinks and a skipped half in closed form."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    scale = (weight @ np.cosh(z) ** -4.0) ** -0.5
    shift = (1 - scale**2 * (weight @ np.tanh(z) ** 2)) ** 0.5

    def tanh(rho):
        second = rho[:, None, None] * z[:, None] + np.sqrt(1 - rho[:, None, None] ** 2) * z
        values, slopes = (
            np.einsum("i,nij,j->n", weight, product, weight)
            for product in (np.tanh(z)[:, None] * np.tanh(second), (np.cosh(z)[:, None] * np.cosh(second)) ** -2.0)
        )
        return scale**2 * values + shift**2, scale**2 * slopes

    def leaky(rho, slope=0.0):
        phi = np.arccos(rho)
        relu = (np.sin(phi) + (np.pi - phi) * rho) / np.pi
        gate = (np.pi - phi) / np.pi
        part = (1 - slope) ** 2 / (1 + slope**2)
        return part * relu + (1 - part) * rho, part * gate + 1 - part

    cases = {"tanh": (tanh, 1.0), "ReLU": (leaky, 1.0), "residual, share 1/2": (leaky, 0.5)}
    for name, slope in (("leaky ReLU, slope 0.2", 0.2), ("absolute value", -1.0)):
        cases[name] = (functools.partial(leaky, slope=slope), 1.0)
    for name, (step, share) in cases.items():
        rows = studies.layer_kernels({"layer": name, "depth_max": 20}, [0])
        rho = theta = np.array([0.0, 0.5, 0.9])
        kernels = {1: rho}
        for depth in range(2, 21):
            new, slope = step(rho)
            rho = (1 - share) * rho + share * new
            theta = (1 - share) * theta + share * (theta * slope + new)
            kernels[depth] = theta / (1 + share * (depth - 1))
        for row in rows:
            expected = kernels[row["depth"]][[0.0, 0.5, 0.9].index(row["rho"])]
            assert row["kernel"] == pytest.approx(expected, abs=1e-6), (name, row)
        assert {row["depth"] for row in rows} >= {1, 2, 20}


def test_kernels_with_biases_and_colinear_points():
    x = points(20, 16, 1)
    for row in studies.biases({"bias": 0.5, "n": 20, "n0": 16}, [1]):
        theta = biased(x @ x.T / 16, 1 / 16, row["depth"], 0.5)
        off = theta[~np.eye(20, dtype=bool)]
        assert row["gap"] == pytest.approx(1 - off.min(), rel=1e-6, abs=2e-8)
        assert row["spread"] == pytest.approx(off.max() - off.min(), rel=1e-6, abs=2e-8)
        np.fill_diagonal(theta, 1)
        assert row["smallest"] == pytest.approx(np.linalg.eigvalsh(theta)[0], abs=2e-8)
    normal = np.random.default_rng(draw_seeds("train", [1])[0]).standard_normal((4, 3))
    (row,) = studies.colinear_points({"n": 4, "n0": 3, "depth": 3}, [1])
    pairs_of_points = np.vstack([normal, 2 * normal])
    unit = pairs_of_points / np.linalg.norm(pairs_of_points, axis=1, keepdims=True)
    assert row["plain"] == pytest.approx(np.linalg.eigvalsh(gram(unit, 3))[0], abs=1e-12)
    square = (pairs_of_points**2).sum(1, keepdims=True)
    lifted = np.hstack([2 * pairs_of_points, square - 1]) / (square + 1)
    assert row["embedded"] == pytest.approx(np.linalg.eigvalsh(gram(lifted, 3))[0], rel=1e-8)


def test_what_training_on_words_does_to_the_last_hidden_layer():
    """Gradient descent on half the mean of the squared residuals, by autograd, from the weights drawn."""
    from companion.papers.depth.theory import hidden_motion
    from regimes.models.fully_connected import fully_connected

    setting = {"text": "pydoc", "vocabulary": 6, "width": 10, "dtype": "float64", "optimiser": "gd"}
    setting |= {"parametrisation": "standard", "targets": "words", "looks": [1, 4], "rate": 0.3}
    row = studies.text_training(setting, [2])[-1]
    tokens, targets = hidden_motion.bigrams(datasets.corpus("pydoc").text, 6)
    assert float(targets.sum()) == pytest.approx(6)
    targets = torch.eye(6).double()[targets.argmax(1)]
    drawn = fully_connected([6, 10, 10, 6], seeds=draw_seeds("weights", [2]), parametrisation="standard", gain=1.0)
    weights = [w[0].double().clone().requires_grad_() for w in drawn.weights]

    def forward():
        hidden = tokens
        for w in weights[:2]:
            hidden = (hidden @ w.T).relu()
        return hidden, hidden @ weights[2].T

    before = forward()[0].detach().numpy()
    for _ in range(4):
        loss = ((forward()[1] - targets) ** 2).sum(1).mean() / 2
        grads = torch.autograd.grad(loss, weights)
        weights = [(w - 0.3 * g).detach().requires_grad_() for w, g in zip(weights, grads)]
    after = forward()[0].detach().numpy()
    norm = np.linalg.norm(after - before, axis=1)
    largest = abs(after - before).max(1)
    shift = after @ after.T - before @ before.T
    result = {"norm": norm.mean(), "largest": largest.mean(), "ratio": (norm / largest).mean()}
    result |= {"inner": abs(shift)[~np.eye(6, dtype=bool)].mean()}
    result |= {"relative": np.linalg.norm(shift) / np.linalg.norm(before @ before.T)}
    for name, value in result.items():
        assert row[name] == pytest.approx(value, rel=1e-6), name


def test_the_spread_over_networks_of_a_last_layer():
    """Other draws over the same points: fresh weights, the same kernel below; ``driver`` from its definition."""
    settings = {"n0": 4, "n": 4, "fresh": 3, "depth": 3, "width": 32, "readout": "NTK"}
    (plain,) = studies.finite_last_layer(settings, [0])
    (row,) = studies.finite_last_layer(settings | {"networks": 5}, [0])
    assert {name: row[name] for name in plain} == plain
    x = pairs.sphere(7, 4, seed=draw_seeds("train", [0])[0])
    rho, kernel = last_layer.below_last_layer(x, depth=3)
    (draw,) = draw_seeds("weights", [0])
    changes = []
    for seed in range(draw + 1, draw + 6):
        z, w = last_layer.gaussian_layer(rho, 32, seed=seed)
        end, _ = last_layer.train_layer(kernel, z, w, x[:4, 0].sign(), slack=studies.LEARNT)
        before, after = z.relu().numpy(), end.relu().numpy()
        changes.append((after @ after.T - before @ before.T)[np.triu_indices(7, 1)])
    assert row["spread"] == pytest.approx(math.sqrt(np.var(changes, axis=0, ddof=1).mean()))
    assert row["drift"] == pytest.approx(math.sqrt((np.mean(changes, axis=0) ** 2).mean()))
    z, w = last_layer.gaussian_layer(rho, 32, seed=draw)
    h = math.sqrt(2) * z[:4].relu().numpy()  # in units in which f = w·h/√m
    w = w.numpy()
    d = np.outer(h @ w / math.sqrt(32) - x[:4, 0].sign().numpy(), w) / math.sqrt(32)
    assert row["driver"] == pytest.approx(np.linalg.norm(d) / np.linalg.norm(h))


def test_the_gradient_under_label_noise_is_an_observable_of_its_own():
    settings = {"n0": 3, "n": 12, "fresh": 10, "depth": 2}
    (plain,) = studies.label_noise(settings, [0])
    (row,) = studies.label_noise(settings | {"observe": "slope"}, [0])
    assert row == plain | {"slope": row["slope"]} and row["slope"] > 0
    with pytest.raises(InputError, match="leave out kernel and time"):
        studies.NoisyLabels(**settings, observe="slope", time=1.0).completed([0])
