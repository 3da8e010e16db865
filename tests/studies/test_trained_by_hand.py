"""Studies of chapters 3, 4 and 6 at tiny size, each against a few lines of numpy and autograd."""

import math

import numpy as np
import pytest
import torch

from companion.data import images
from companion.papers.alignment.studies import alignment, initial_alignment
from companion.papers.jamming.studies import jamming
from companion.papers.kernel_pca.studies import kernel_pca
from regimes.data import tasks
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.models.one_hidden import one_hidden
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run

NET = {"n": 30, "d": 6, "k": 9, "rank": 4, "test": 40, "steps": 6, "rate": 0.1, "penalty": 0.0}
NET |= {"spectrum": "isotropic", "second": 1.0, "scales": [0.25], "method": "gd"}


def chain(kind, seed, n, d=6, r=4):
    x = np.random.default_rng(draw_seeds(kind, [seed])[0]).standard_normal((n, d))
    return x, (x[:, :r] * np.roll(x[:, :r], -1, axis=1)).sum(1) / math.sqrt(r)


class Relu(torch.nn.Module):
    """A network of plain torch layers with the weights given."""

    def __init__(self, weights):
        super().__init__()
        self.layers = torch.nn.ParameterList([torch.nn.Parameter(w.double().clone()) for w in weights])

    def forward(self, x, layer=0):
        for w in self.layers[layer:-1]:
            x = (x @ w.T).relu()
        return (x @ self.layers[-1].T)[..., 0]

    def read(self, x, layer):
        """Weights of a layer, and the gradients of the output by what goes into its neurons, ``(n, k)``."""
        for w in self.layers[:layer]:
            x = (x @ w.T).relu()
        u = (x @ self.layers[layer].T).detach().requires_grad_()
        (delta,) = torch.autograd.grad(self.forward(u.relu(), layer + 1).sum(), u)
        return self.layers[layer].detach().numpy().copy(), delta.numpy()


def drawn(seed, setting=NET):
    result = fully_connected([6, 9, 9, 1], seeds=draw_seeds("weights", [seed]), parametrisation="standard", gain=1.0)
    first, second, last = (w[0] for w in result.weights)
    return Relu([first * setting["scales"][0] ** 0.5, second * setting["second"] ** 0.5, last])


def descend(net, x, y, steps, rate, decay=0.0, method=torch.optim.SGD):
    """On half the mean square; the decay pulls the weights, not the gradient of Adam."""
    optimiser = method(net.parameters(), lr=rate)
    for _ in range(steps):
        optimiser.zero_grad()
        ((net(x) - y) ** 2).mean().div(2).backward()
        for w in net.parameters():
            w.data.mul_(1 - rate * decay)
        optimiser.step()
    return net


def cosine(a, b):
    return np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)


def outer(rows):
    return rows.T @ rows


def test_inputs_have_the_covariance_that_their_spectrum_names():
    k = np.arange(1.0, 7)
    for name, values in {"isotropic": k**0, "1/(1+k)": 1 / (1 + k), "1/(1+k^2)": 1 / (1 + k**2)}.items():
        x = alignment._chain(alignment.OnChain.of(NET | {"spectrum": name}), "train", 20_000, [1]).x[0].numpy()
        assert np.linalg.eigvalsh(x.T @ x / len(x))[::-1] == pytest.approx(values, rel=0.1), name


def test_features_and_frames_by_autograd():
    x, y = map(torch.from_numpy, chain("train", 0, 30))
    net, start = descend(drawn(0), x, y, 6, 0.1), drawn(0)
    first, second = alignment.learned_features(NET | {"draws": 2}, [0])
    for row in (first, second):
        weights, delta = net.read(x, row["layer"] - 1)
        values = np.linalg.eigvalsh(outer(delta))
        assert row["uc"] == pytest.approx(cosine(outer(weights), outer(delta @ weights)), rel=1e-6)
        assert row["spread"] == pytest.approx(values.std() / values.mean(), rel=1e-6)
    weights, delta = net.read(x, 0)
    ring = np.roll(np.eye(4), 1, 0) + np.roll(np.eye(4), -1, 0)
    egop = np.pad(ring @ ring / 4, (0, 2))
    for name, matrix in (("egop_nfm", outer(weights)), ("egop_agop", outer(delta @ weights))):
        assert first[name] == pytest.approx(cosine(egop, matrix), rel=1e-6)
    _, row = alignment.first_layer_snapshots(NET | {"frames": [3, 6]}, [0])
    moved = weights - start.read(x, 0)[0]
    shown = {"nfm": weights, "agop": delta @ weights / 30**0.5, "moved": moved, "centred": delta @ moved / 30**0.5}
    for name, rows in shown.items():  # up to the number of points in the gradients' mean
        assert cosine(np.reshape(row[name], (6, 6)), outer(rows)) == pytest.approx(1, abs=1e-9), name
    assert np.reshape(row["nfm"], (6, 6)) == pytest.approx(outer(weights))


def test_the_ansatz_on_the_stripe_by_autograd():
    setting = {"shape": "stripe", "d": 3, "interfaces": [-0.3, 1.18549], "p": 20, "h": 10, "test": 500, "alpha": 1.0}
    rows = alignment.stripes(setting | {"tolerance": 0.01}, [1])
    train, test = (
        tasks.stripe(n, 3, seed=draw_seeds(k, [1], size=s)) for k, n, s in (("train", 20, 20), ("test", 500, 0))
    )
    net = one_hidden(3, 10, seeds=draw_seeds("weights", [1], size=20))
    done = run(gradient_flow(net, train, alpha=1.0, tolerance=0.01))
    by = {row["moment"]: row for row in rows if row["moment"] != "path"}
    for moment, model in (("start", net), ("end", done.model.to(dtype=torch.float64))):
        omega, b, beta = (w[0] for w in (model.omega, model.b, model.beta))
        u = train.x[0] @ omega.T / 3**0.5 + b
        delta = ((u > 0) * beta).numpy()
        rows_ = {"size": omega.numpy(), "size_gradient": delta @ omega.numpy()}
        assert by[moment]["uc"] == pytest.approx(cosine(outer(omega.numpy()), outer(rows_["size_gradient"])), rel=1e-4)
        for name, value in rows_.items():
            square = (value**2).mean(0)
            assert by[moment][name] == pytest.approx(math.sqrt(square[0] / square[1:].mean()), rel=1e-4), name
    F = done.model.to(dtype=torch.float64)(test.x) - net(test.x)
    assert rows[0]["error"] == float(((F * test.y) <= 0).double().mean()) and by["end"]["t"] == float(done.t)


def test_pictures_by_a_plain_loop():
    setting = {"data": "digits", "words": "", "count": 60, "share": 0.75, "k": 8, "scale": 0.1, "rate": 1e-2}
    pool, _ = alignment.load_pictures("digits", 60, None)
    setting |= {"steps": 5, "draws": 2}
    train, test = alignment._split(alignment.Pictures.of(setting), pool, 0)
    assert len(train.y) == 45 and len(test.y) == 15
    result = fully_connected([64, 8, 8, 1], seeds=draw_seeds("weights", [0]), parametrisation="standard", gain=1.0)
    net = Relu([w[0] * s for w, s in zip(result.weights, (0.1**0.5, 1, 1))])
    x, y = train.x.double(), train.y.double()
    descend(net, x, y, 5, 1e-2, method=torch.optim.Adam)
    (row,) = alignment.saliency_maps(setting, [0])
    weights, delta = net.read(x, 0)
    nfm = np.diag(outer(weights))
    agop = np.diag(outer(delta @ weights))
    assert row["agop"] == pytest.approx(np.corrcoef(nfm, agop)[0, 1], rel=1e-3)
    assert row["train_loss"] == pytest.approx(float(((net(x) - y) ** 2).mean().detach()), rel=1e-3)
    assert row["error"] == float((net(test.x.double()) * test.y <= 0).double().mean())
    assert row["chance"] == pytest.approx(min((test.y > 0).double().mean(), (test.y < 0).double().mean()))
    assert row["random"] == pytest.approx(np.mean(row["single"])) and row["shown_nfm"] == pytest.approx(nfm, rel=1e-3)
    contrast = x[y > 0].mean(0) - x[y < 0].mean(0)
    assert row["shown_contrast"] == pytest.approx(contrast.numpy(), abs=1e-5)


def test_outer_products_of_the_gradients_by_numpy():
    (points,) = draw_seeds("train", [3])
    (row,) = initial_alignment.outer_products({"rank": 5, "d": 7, "points": 300}, [3])
    x = np.random.default_rng(points).standard_normal((300, 7))
    slopes = np.pad((np.roll(x[:, :5], 1, 1) + np.roll(x[:, :5], -1, 1)) / math.sqrt(5), ((0, 0), (0, 2)))
    ring = np.roll(np.eye(5), 1, 0) + np.roll(np.eye(5), -1, 0)
    closed = np.pad(ring @ ring / 5, (0, 2))
    far = np.linalg.norm(outer(slopes) / 300 - closed) / np.linalg.norm(closed)
    assert row["far"] == pytest.approx(far) and row["found"] == 5


ENSEMBLE = {"data": "digits", "components": 4, "layers": 2, "members": 3, "loss": "quadratic_hinge", "steps": 60}


@pytest.fixture(scope="module")
def ensemble():
    sizes = {"test": 50, "kernel_p": 8, "p": 20, "scale": 5.0, "h": 4, "stops": [0.5], "decay": 0.0}
    return ENSEMBLE | sizes | {"words": images.identity("digits")}


def swish(setting, seed, d):
    each = draw_seeds("weights", [seed * 3 + member for member in range(3)], size=setting["h"])
    sigma = activation("swish", steepness=10.0, normalised=True)
    return fully_connected([d, 4, 4, 1], seeds=each, sigma=sigma, parametrisation="mean-field", gain=1.0)


def jacobian(model, x):
    """The derivatives of one realisation's outputs by all weights, one row per point, by autograd."""
    weights = [w.detach() for w in model.parameters()]
    f = lambda *w: model.with_parameters(w)(x)[0]  # noqa: E731
    return torch.cat([j.flatten(1) for j in torch.autograd.functional.jacobian(f, tuple(weights))], 1)


def test_ensembles_are_read_as_stated(ensemble):
    row, early = jamming.ensembles(ensemble, [1])
    sets = jamming.draw_sets(jamming.Ensemble.of(ensemble), 1)
    start = swish(ensemble, 1, 4)
    flow = gauss_newton(start, sets.train.x, sets.train.y, alpha=5.0, loss="quadratic_hinge", rule="settle", steps=60)
    done = run(flow)
    F = (5.0 * (done.model(sets.test.x) - start(sets.test.x))).numpy()
    y = sets.test.y.numpy()
    margins = (done.F * sets.train.y).numpy()
    assert row["parameters"] == 4 * 4 + 4 * 4 + 4
    assert row["error"] == pytest.approx(np.mean(F * y <= 0), abs=0.02)
    assert row["ensemble_error"] == pytest.approx(np.mean(F.mean(0) * y <= 0), abs=0.02)
    assert row["norm"] == pytest.approx(np.sqrt((F**2).mean(1)).mean(), rel=1e-3)
    assert early["stop"] == 0.5 and early["norm"] < row["norm"] and early["fitted"] == row["fitted"]
    assert row["fluctuation"] == pytest.approx(math.sqrt(F.var(0, ddof=1).mean()), rel=1e-3)
    assert row["quadratic_hinge"] == pytest.approx((np.maximum(1 - margins, 0) ** 2).mean() / 2, rel=1e-2, abs=1e-9)
    assert row["fitted"] == np.mean([why == "fitted" for why in done.ended])
    changes = []
    for e in range(3):
        kernels = [outer(jacobian(model[e : e + 1], sets.kernel.x).numpy().T) for model in (start, done.model)]
        changes.append(np.linalg.norm(kernels[1] - kernels[0]) / np.linalg.norm(kernels[0]))
    assert row["kernel_change"] == pytest.approx(np.exp(np.mean(np.log(changes))), rel=1e-2)
    alone = {name: value for name, value in ensemble.items() if name not in ("stops", "decay")}
    result = jamming.steps_to_fit(alone, [1])
    assert [r["needed"] < math.inf for r in result] == [why == "fitted" for why in done.ended]
    assert [r["time"] for r in result if r["time"] < math.inf] == pytest.approx(
        [float(t) for t, why in zip(done.t, done.ended) if why == "fitted"], rel=1e-3
    )


def test_networks_before_training():
    (row,) = jamming.initialisation({"d": 3, "p": 10, "layers": 2, "h": 5}, [2])
    x = torch.from_numpy(np.random.default_rng(draw_seeds("test", [0])[0]).standard_normal((10, 3)))
    sigma = activation("relu", normalised=True)
    model = fully_connected(
        [3, 5, 5, 1], seeds=draw_seeds("weights", [2], size=5), sigma=sigma, parametrisation="mean-field", gain=1.0
    )
    y = np.sign(np.random.default_rng(draw_seeds("labels", [2], size=5)[0]).standard_normal(10))
    weights = [w.detach() for w in model.parameters()]
    sizes = [w.numel() for w in weights]

    def energy(flat):
        parts = [part.reshape(w.shape) for part, w in zip(flat.split(sizes), weights)]
        return -(torch.from_numpy(y) * model.with_parameters(parts)(x)[0]).sum()

    start = torch.cat([w.flatten() for w in weights])
    values = np.linalg.eigvalsh(torch.autograd.functional.hessian(energy, start).numpy())
    large = np.abs(values) > 1e-9 * np.abs(values).max()
    assert row["negative"] == pytest.approx((values[large] < 0).mean())


LINES = {"shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 3, "p": 20, "h": 12, "n": 60, "many": 300}
LINES |= {"alpha": 1.0, "tolerance": 0.05, "test": 200, "stops": [0.5]}


def test_components_of_a_kernel_by_a_plain_decomposition():
    row = next(r for r in kernel_pca.stripes(LINES, [0]) if (r["kernel"], r["moment"]) == ("full", "start"))
    net = one_hidden(3, 12, seeds=draw_seeds("weights", [0], size=20))
    task = tasks.stripe(60, 3, interfaces=[-0.3, 1.18549], seed=draw_seeds("pairs", [0], size=60)[0])
    y = task.y.numpy()
    for ending, shift in (("", 0), ("_centred", 1 / 60)):
        gram = outer(jacobian(net, task.x).numpy().T)
        middle = np.eye(60) - shift
        gram = middle @ gram @ middle
        values, vectors = np.linalg.eigh(gram / 60)
        values, vectors = values[::-1][:10], vectors[:, ::-1][:, :10]
        squares = (y @ vectors) ** 2 / 60
        result = {"values": values, "projections": squares, "dimension": np.trace(gram) ** 2 / (gram**2).sum()}
        result |= {"alignment": y @ gram @ y / np.linalg.norm(gram) / 60}
        result |= {"norm": (squares / values).sum() * np.trace(gram) / 60}
        for name, value in result.items():
            np.testing.assert_allclose(row[f"{name}{ending}"], value, rtol=1e-6, atol=1e-9, err_msg=name)
        plane = np.array(row[f"plane{ending}"])
        assert abs(np.diag(plane.T @ vectors[:, :2])) / 60**0.5 == pytest.approx([1, 1], rel=1e-3)
    gram = outer(jacobian(net, task.x).numpy().T)
    apart = np.sqrt(np.maximum(np.diag(gram)[:, None] + np.diag(gram) - 2 * gram, 0)) + np.diag(np.full(60, np.inf))
    nearest = [np.mean([apart[i : i + m, i : i + m].min(0) for i in range(0, 60 - m + 1, m)]) for m in (7, 15, 30, 60)]
    assert row["distances"] == pytest.approx(-1 / np.polyfit(np.log([7, 15, 30, 60]), np.log(nearest), 1)[0])


def test_networks_on_images_are_read_as_stated():
    setting = {"data": "digits", "words": kernel_pca.identity("digits"), "h": 2, "p": 16, "n": 60, "test": 60}
    setting |= {"alpha": 10.0, "softness": 3.0, "max_turn": 0.3, "max_move": 0.5}
    s = kernel_pca.ImageKernels(**setting)
    sets = kernel_pca.draw_images(s, [1])
    models = kernel_pca.convolutional_networks(s, [1], members=2)
    x = sets["train"].x.expand(2, -1, -1)
    y = sets["train"].y.expand(2, -1)
    done = run(kernel_pca.descend(s, models, tasks.Task(x, y, ""), "settle"))
    (row,) = kernel_pca.image_ensembles(setting | {"members": 2}, [1])
    F = (done.model(sets["test"].x[0]) - models(sets["test"].x[0])) * sets["test"].y[0]
    assert row["error"] == pytest.approx(float((F <= 0).double().mean()), abs=0.02)
    assert row["ensemble_error"] == pytest.approx(float((F.mean(0) <= 0).double().mean()), abs=0.02)
