"""Chapter 5's studies, each against a few lines of numpy at tiny size: points by the convention of seeds, no more."""

import functools
import math

import numpy as np
import pytest
import torch
from scipy import special, stats
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score

from companion.studies import depth as studies
from regimes.data import datasets
from regimes.seeds import draw_seeds

DIGITS = {"corpus": "digits", "data": ""}
SPHERE = {"cloud": "sphere", "n0": 6}


def biased(inner, own, depth, bias):
    """The normalised kernel from its definition, ``inner = x·x'/d``, layer by layer."""
    theta = s = inner + bias**2
    theta_own = s_own = own + bias**2
    for _ in range(depth - 1):
        phi = np.arccos(np.clip(s / s_own, -1, 1))
        theta, theta_own = theta * (np.pi - phi) / (2 * np.pi), theta_own / 2
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
    found = plain(x @ (x if z is None else z).T, depth)[0]
    if z is None:
        np.fill_diagonal(found, 1)
    return found


def layer(z):
    return (np.sqrt(1 - z**2) + z * (np.pi - np.arccos(z))) / np.pi


def test_a_pair_along_depth():
    rows = studies.normalised_kernel({"rho": 0.3, "depth_max": 2000}, [0])
    for row in rows:
        kernel, correlation = plain(0.3, row["depth"])
        assert row["kernel"] == pytest.approx(kernel, rel=1e-9) and row["gap"] == pytest.approx(1 - correlation)
        offset = row["offset"]
        said = (3 / 8 * math.log(row["depth"]) + offset / 4 - 1 / 8) / row["depth"]
        assert row["predicted"] == pytest.approx(said)
    deep = 3000  # what is left of the angle far down tells the offset
    phi = math.acos(1 - (1 - plain(0.3, deep)[1]))
    assert 3 * math.pi / phi - deep - 1.5 * math.log(deep) == pytest.approx(rows[0]["offset"], abs=0.01)


def test_one_layer_and_the_depth_at_which_a_close_pair_is_half_way():
    rows = studies.layer_map({"points": 5}, [0])
    assert [row["z"] for row in rows] == [-1, -0.5, 0, 0.5, 1]
    assert [row["h"] for row in rows] == pytest.approx([float(layer(z)) for z in (-1, -0.5, 0, 0.5, 1)], abs=1e-15)
    for gap in (1e-3, 0.02, 0.2, 0.29999):
        (row,) = studies.half_depth({"gap": gap}, [0])
        path = np.array([float(plain(1 - gap, depth)[0]) for depth in range(1, 150)])
        below = int(np.argmax(path <= 0.625))  # depth below + 1 is the first at or under it
        half = below + (path[below - 1] - 0.625) / (path[below - 1] - path[below])
        assert row["half"] == pytest.approx(half, rel=1e-9)
        assert row["scaled"] == pytest.approx(half * math.sqrt(1 - layer(1 - gap)))


def test_where_the_kernel_turns():
    rows = studies.kernel_shape({"points": 41, "depth_max": 9}, [0])
    assert [row["depth"] for row in rows] == [*range(1, 10)]
    rho = np.linspace(-1, 1, 41)
    for row in rows:
        kernel = plain(rho, row["depth"])[0]
        assert row["lowest"] == pytest.approx(kernel.min(), abs=1e-12)
        assert row["turning"] == pytest.approx(rho[kernel.argmin()]) and row["spacing"] == pytest.approx(0.05)
        assert ("definition" in row) == (row["depth"] <= 8) and row.get("definition", 0) < 1e-9


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
    theta, cross = gram(x[:12], depth), gram(x[12:], depth, x[:12])
    values, vectors = np.linalg.eigh(theta)
    assert row["depth"] == depth and row["smallest"] == pytest.approx(values[0])
    for name, time in {"early": 1, "norm": math.ceil(1 / values[0])}.items():
        kept = vectors @ np.diag((1 - np.exp(-time * values)) / values) @ vectors.T
        assert row[name] == pytest.approx(np.linalg.norm(cross @ kept, axis=1).mean())
    assert row["forever"] == pytest.approx(np.linalg.norm(cross @ np.linalg.inv(theta), axis=1).mean())

    for size in (12, 40):  # below and above the size from which Lanczos is taken
        x = points(size, 6, 1)
        rows = studies.smallest_eigenvalue(SPHERE | {"n": size, "depths": [2, 5]}, [1])
        for row in rows:
            assert row["smallest"] == pytest.approx(np.linalg.eigvalsh(gram(x, row["depth"]))[0], rel=1e-8)

    for row in studies.projectors(SPHERE | {"n": 12, "depths": [3, 5000]}, [1]):
        theta, x = gram(points(12, 6, 1), row["depth"]), points(12, 6, 1)
        top = np.linalg.eigh(theta)[1][:, -1]
        apart = np.linalg.norm(np.outer(top, top) - np.full((12, 12), 1 / 12), 2)
        assert row["projectors"] == pytest.approx(apart, rel=1e-5)
        assert row["matrix"] == pytest.approx(np.linalg.norm(theta - 0.25 - 0.75 * np.eye(12), 2) / 12, rel=1e-6)
        assert row["excess"] == pytest.approx((theta.sum() - 12) / 132 - 0.25)
    assert row["sharp"] == pytest.approx(5000 * apart, rel=0.02)


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


def test_operators_at_infinite_time():
    rows = studies.operators_apart(SPHERE | {"n": 10, "depths": [30, 3000]}, [1])
    x, y = points(50, 6, 1), np.random.default_rng(draw_seeds("labels", [1])[0]).choice([-1.0, 1.0], 10)
    for row in rows:
        op = gram(x[10:], row["depth"], x[:10]) @ np.linalg.inv(gram(x[:10], row["depth"]))
        apart = row["depth"] * np.linalg.norm(op[::2] - op[1::2], axis=1)
        assert row["apart"] == pytest.approx(apart.mean()) and row["least"] == pytest.approx(apart.min())
        assert row["away"] == pytest.approx(abs((op - 1 / 13) @ y).mean(), rel=1e-6)
        assert row["worst"] == pytest.approx(abs(op - 1 / 13).sum(1).mean(), rel=1e-6)
    assert row["law"] == pytest.approx(1, abs=0.03)  # deep down


def images(draw, sizes):
    """Parts of the digits, on the sphere, with the images that the split says: their classes are in proportion."""
    pool = load_digits()
    x = pool.data / np.linalg.norm(pool.data, axis=1, keepdims=True)
    place = {row.tobytes(): i for i, row in enumerate(np.round(x, 9) + 0.0)}
    parts = datasets.split(datasets.to_sphere(datasets.load("digits")), sizes, seed=draw)
    found = [np.array([place[row.tobytes()] for row in np.round(part.x.numpy(), 9) + 0.0]) for part in parts]
    return [(x[index], pool.target[index]) for index in found]


def drawn(draw, sizes):
    """The same for images drawn without regard to their classes."""
    pool, order = load_digits(), np.random.default_rng(draw).permutation(1797)[: sum(sizes)]
    x = pool.data[order] / np.linalg.norm(pool.data[order], axis=1, keepdims=True)
    return list(zip(np.split(x, sizes[:1]), np.split(pool.target[order], sizes[:1])))


@pytest.mark.parametrize(("study", "sample"), [("mnist_regression", images), ("drawn_regression", drawn)])
def test_regression_on_images(study, sample):
    rows = getattr(studies, study)(DIGITS | {"n": 60, "test": 40, "depths": [2, 5]}, [3])
    (x, y), (z, labels) = sample(draw_seeds("train", [3])[0], [60, 40])
    for row in rows:
        f = gram(z, row["depth"], x) @ np.linalg.solve(gram(x, row["depth"]), np.eye(10)[y])
        assert row["accuracy"] == (f.argmax(1) == labels).mean()
        assert row["f1"] == pytest.approx(f1_score(labels, f.argmax(1), average="macro"))
        assert row["mse"] == pytest.approx(((f - np.eye(10)[labels]) ** 2).sum(1).mean())
        assert row["residual"] == pytest.approx(np.linalg.norm(f - np.eye(10)[labels], axis=1).mean())


@pytest.mark.parametrize(("classes", "sample"), [("balanced", images), ("drawn", drawn)])
def test_regression_far_down(classes, sample):
    rows = studies.deep_prediction(DIGITS | {"n": 60, "test": 40, "depths": [50, 3000], "classes": classes}, [3])
    (x, y), (z, labels) = sample(draw_seeds("train", [3])[0], [60, 40])
    for row in rows:
        f = gram(z, row["depth"], x) @ np.linalg.solve(gram(x, row["depth"]), np.eye(10)[y])
        assert row["accuracy"] == (f.argmax(1) == labels).mean()
        assert row["largest"] == (labels == np.bincount(y, minlength=10).argmax()).mean()
    assert rows[1]["error"] < 0.1 < rows[0]["error"] and rows[1]["law_accuracy"] == rows[1]["accuracy"]


def test_layers_of_other_kinds():
    """tanh with its critical scale and shift on a grid of Gaussian weights, kinks and a skipped half in closed form."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    scale = (weight @ np.cosh(z) ** -4.0) ** -0.5
    shift = (1 - scale**2 * (weight @ np.tanh(z) ** 2)) ** 0.5

    def tanh(rho):
        second = rho[:, None, None] * z[:, None] + np.sqrt(1 - rho[:, None, None] ** 2) * z
        values, slopes = (
            np.einsum("i,nij,j->n", weight, both, weight)
            for both in (np.tanh(z)[:, None] * np.tanh(second), (np.cosh(z)[:, None] * np.cosh(second)) ** -2.0)
        )
        return scale**2 * values + shift**2, scale**2 * slopes

    def leaky(rho, slope=0.0):
        phi = np.arccos(rho)
        relu, gate = (np.sin(phi) + (np.pi - phi) * rho) / np.pi, (np.pi - phi) / np.pi
        part = (1 - slope) ** 2 / (1 + slope**2)
        return part * relu + (1 - part) * rho, part * gate + 1 - part

    cases = {"tanh": (tanh, 1.0), "ReLU": (leaky, 1.0), "residual, share 1/2": (leaky, 0.5)}
    for name, slope in (("leaky ReLU, slope 0.2", 0.2), ("absolute value", -1.0)):
        cases[name] = (functools.partial(leaky, slope=slope), 1.0)
    for name, (step, share) in cases.items():
        rows = studies.other_layers({"layer": name, "depth_max": 20}, [0])
        rho = theta = np.array([0.0, 0.5, 0.9])
        known = {1: rho}
        for depth in range(2, 21):
            new, slope = step(rho)
            rho = (1 - share) * rho + share * new
            theta = (1 - share) * theta + share * (theta * slope + new)
            known[depth] = theta / (1 + share * (depth - 1))
        for row in rows:
            expected = known[row["depth"]][[0.0, 0.5, 0.9].index(row["rho"])]
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
    (row,) = studies.colinear({"n": 4, "n0": 3, "depth": 3}, [1])
    both = np.vstack([normal, 2 * normal])
    unit = both / np.linalg.norm(both, axis=1, keepdims=True)
    assert row["plain"] == pytest.approx(np.linalg.eigvalsh(gram(unit, 3))[0], abs=1e-12)
    square = (both**2).sum(1, keepdims=True)
    lifted = np.hstack([2 * both, square - 1]) / (square + 1)
    assert row["embedded"] == pytest.approx(np.linalg.eigvalsh(gram(lifted, 3))[0], rel=1e-8)


def test_the_kernel_eta():
    (row,) = studies.eta_definite({"depth": 3}, [0])
    angle = 2 * np.pi * np.arange(12) / 12
    eta = [np.cos(angle[:, None] - angle), np.linspace(-1, 1, 2001)]
    for _ in range(2):
        eta = [special.expit(values) ** 2 for values in eta]
    assert row["smallest"] == pytest.approx(np.linalg.eigvalsh(eta[0])[0], abs=1e-14)
    assert row["diagonal"] == pytest.approx((eta[1][-1] - eta[1][:-1]).min())


@pytest.mark.parametrize("study", ["text_features", "text_training"])
def test_what_training_does_to_the_last_hidden_layer(study):
    """Gradient descent on half the mean of the squared residuals, by autograd, from the weights drawn."""
    from companion.theory.depth import hidden_motion
    from regimes.models.fully_connected import fully_connected

    setting = {"text": "pydoc", "vocabulary": 6, "width": 10, "dtype": "float64", "optimiser": "gd"}
    setting |= {"parametrisation": "standard"}
    setting |= {"steps": 4} if study == "text_features" else {"rate": 0.3, "targets": "zero", "looks": [1, 4]}
    row = getattr(studies, study)(setting, [2])[-1]
    tokens, targets = hidden_motion.bigrams(datasets.corpus("pydoc").text, 6)
    assert float(targets.sum()) == pytest.approx(6)
    targets = targets if study == "text_features" else 0 * targets
    drawn = fully_connected([6, 10, 10, 6], seeds=draw_seeds("weights", [2]), parametrisation="standard", gain=1.0)
    weights = [w[0].double().clone().requires_grad_() for w in drawn.weights]
    rate = 0.3 if study == "text_training" else 2 * 6 / 10

    def forward():
        hidden = tokens
        for w in weights[:2]:
            hidden = (hidden @ w.T).relu()
        return hidden, hidden @ weights[2].T

    before = forward()[0].detach().numpy()
    for _ in range(4):
        loss = ((forward()[1] - targets) ** 2).sum(1).mean() / 2
        grads = torch.autograd.grad(loss, weights)
        weights = [(w - rate * g).detach().requires_grad_() for w, g in zip(weights, grads)]
    after = forward()[0].detach().numpy()
    norm, largest = np.linalg.norm(after - before, axis=1), abs(after - before).max(1)
    shift = after @ after.T - before @ before.T
    found = {"norm": norm.mean(), "largest": largest.mean(), "ratio": (norm / largest).mean()}
    found |= {"inner": abs(shift)[~np.eye(6, dtype=bool)].mean()}
    found |= {"relative": np.linalg.norm(shift) / np.linalg.norm(before @ before.T)}
    for name, value in found.items():
        assert row[name] == pytest.approx(value, rel=1e-6), name


def test_the_toy_network():
    for alpha in (0.0, 0.1):
        first, second = studies.toy_network({"alpha": alpha, "width": 64}, [0])
        for row, layer_ in ((first, 1), (second, 2)):
            assert row["layer"] == layer_  # identity activations, all neurons at width^-(1 + alpha)
            assert row["sum"] == pytest.approx(64 ** (-alpha)) and row["norm"] == pytest.approx(64 ** (-0.5 - alpha))


def test_kernels_of_finite_networks_by_autograd():
    setting = {"depth": 3, "width": 9, "n": 4, "n0": 5, "steps": 3}
    (row,) = studies.finite_kernel(setting, [2])
    from regimes.models.fully_connected import fully_connected

    x = torch.from_numpy(points(4, 5, 0))
    y = torch.from_numpy(np.random.default_rng(draw_seeds("labels", [0])[0]).choice([-1.0, 1.0], (4, 1)))[:, 0]
    weights = [w[0].double() for w in fully_connected([5, 9, 9, 1], seeds=draw_seeds("weights", [2])).weights]

    def f(*weights):
        hidden = x
        for w in weights[:-1]:
            hidden = (hidden @ w.T * (2 / w.shape[1]) ** 0.5).relu()
        return (hidden @ weights[-1].T)[:, 0] * (2 / weights[-1].shape[1]) ** 0.5

    def kernel():
        jacobians = torch.autograd.functional.jacobian(f, tuple(weights))
        rows = torch.cat([j.flatten(1) for j in jacobians], 1)
        return (rows @ rows.T).numpy()

    def off(k):
        k = k / np.sqrt(np.outer(np.diag(k), np.diag(k)))
        return k[~np.eye(4, dtype=bool)].mean()

    before, first = kernel(), float((f(*weights) - y).square().mean())
    rate = 0.5 * 4 / np.linalg.eigvalsh(before)[-1]
    for _ in range(3):
        weights = [w.requires_grad_() for w in weights]
        loss = (f(*weights) - y).square().mean() / 2
        weights = [(w - rate * g).detach() for w, g in zip(weights, torch.autograd.grad(loss, weights))]
    after, last = kernel(), float((f(*weights) - y).square().mean())
    theta = gram(x.numpy(), 3)
    found = {"before": off(before), "after": off(after), "infinite": off(theta), "loss": last / first}
    found |= {"change": np.linalg.norm(after - before) / np.linalg.norm(before)}
    for name, value in found.items():
        assert row[name] == pytest.approx(value, rel=1e-6), name
