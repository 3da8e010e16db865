"""Chapter 7's studies, each against a few lines of numpy at tiny size: draws by the convention of seeds, no more."""

import numpy as np
import pytest
import torch
from scipy import optimize, special

from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import network, several_steps
from regimes.seeds import draw_seeds

ACTIVATIONS = {"tanh": torch.tanh, "erf": torch.erf, "sin": torch.sin}
TARGETS = {"sin": np.sin, "sign": np.sign, "tanh": np.tanh}
Z, WEIGHT = np.polynomial.hermite_e.hermegauss(60)
WEIGHT = WEIGHT / WEIGHT.sum()
COMMON = {"activation": "tanh", "target": "sin", "lam": 0.1, "d": 10}
STEP = COMMON | {"alpha0": 2.0, "step": 3.0}
FEATURES = COMMON | {"r": 1.2, "c": 1.3, "gamma": 0.8}


def normal(kind, seed, d, *shape):
    return np.random.default_rng(draw_seeds(kind, [seed], size=d)[0]).standard_normal(shape)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def act(name, z):
    """The activation and its slope."""
    z = torch.as_tensor(z, dtype=torch.float64).clone().requires_grad_()
    value = ACTIVATIONS[name](z)
    (slope,) = torch.autograd.grad(value.sum(), z)
    return value.detach().numpy(), slope.numpy()


def descended(setting, w, x, y, step):
    """Rows after one step on half the mean squared error of the mean over neurons, by autograd; ``eta = step p``."""
    w = torch.tensor(w, requires_grad=True)
    f = ACTIVATIONS[setting["activation"]](torch.as_tensor(x) @ w.T).mean(-1)
    ((f - torch.as_tensor(y)).square().mean() / 2).backward()
    return (w - step * len(w) * w.grad).detach().numpy()


def trained(setting, seed, count=1, beta=1.0):
    """The network after its steps: rows before, rows, target direction."""
    d = setting["d"]
    n0 = round(setting["alpha0"] * d)
    theta = unit(normal("direction", seed, d, d))
    x = normal("batch", seed, d, n0, d)
    start = w = unit(normal("weights", seed, d, round(beta * d), d))
    for part in np.array_split(np.arange(n0), count):
        w = descended(setting, w, x[part], TARGETS[setting["target"]](x[part] @ theta), setting["step"] / count)
    return start, w, theta


def spiked(setting, seed, u=1.0, c=None, rows="sphere"):
    """Spiked features: bulk, rows, target direction."""
    d = setting["d"]
    g = normal("weights", seed, d, d, d)
    frame, triangle = np.linalg.qr(g.T)
    frame = frame * np.sign(np.diag(triangle))  # uniform: no library's choice
    unit_bulk = {"sphere": unit(g), "gauss": g / d**0.5, "orthogonal": frame.T}[rows]
    bulk = np.sqrt(setting["c"] if c is None else c) * unit_bulk
    theta = np.eye(d)[0] * setting["gamma"] + np.eye(d)[1] * np.sqrt(1 - setting["gamma"] ** 2)
    return bulk, bulk + setting["r"] * np.outer(np.broadcast_to(u, d), np.eye(d)[0]), theta


def ridge(phi, y, lam):
    return np.linalg.lstsq(np.vstack([phi, lam**0.5 * np.eye(phi.shape[1])]), np.r_[y, 0 * phi[0]], rcond=None)[0]


def learnt(setting, seed, w, theta, alpha, lam=None, noise=0.0):
    """Readout, training error and test error by 200,000 points."""
    d = setting["d"]
    target = TARGETS[setting["target"]]
    x = normal("train", seed, d, round(alpha * d), d)
    y = target(x @ theta)
    phi = act(setting["activation"], x @ w.T)[0] / len(w) ** 0.5
    a = ridge(phi, y, lam or setting["lam"])
    test_x = np.random.default_rng(0).standard_normal((200_000, d))
    f = act(setting["activation"], test_x @ w.T)[0] @ a / len(w) ** 0.5
    return a, np.mean((phi @ a - y) ** 2), np.mean((f - target(test_x @ theta)) ** 2)


def strata(setting, seed, theta, size=2000):
    """The stratified test points: one in each quantile of ``theta·x``."""
    x = normal("test", seed, setting["d"], size, setting["d"])
    spread = special.ndtri((np.arange(size) + special.ndtr(x @ theta)) / size)
    return x + np.outer(spread - x @ theta, theta)


def equivalent(setting):
    """Spike and bulk of Result 3.1, by the trapezoid rule, to which smooth functions are no error."""
    z = np.linspace(-9, 9, 2001)
    weight = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    slope = act(setting["activation"], z)[1]
    y = TARGETS[setting["target"]](z)
    step = setting["step"]
    h1 = weight @ slope
    t1 = weight @ (z * y)
    scatter = weight @ y**2 / setting["alpha0"]
    size = np.sqrt(t1**2 + scatter)
    return {"r": step * h1 * size, "gamma": t1 / size, "c": 1 + step**2 * (weight @ slope**2 - h1**2) * scatter}


NETWORKS = {
    "learning_curves": (STEP | {"model": "network", "beta": 1.0, "alphas": [1.0, 4.0]}, {}),
    "widths": (STEP | {"model": "network", "beta": 2.0, "alphas": [2.0], "rule": "p"}, {"beta": 2.0}),
    "scaling": (STEP | {"activation": "sin", "alphas": [2.0], "exponent": 1.0}, {}),
    "network_kernels": (COMMON | {"step": 3.0, "alphas": [6.0], "share": 1 / 3, "lams": [0.5], "beta": 1.0}, {}),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_errors_of_the_network_after_a_step(name):
    setting, size = NETWORKS[name]
    rows = [row for row in getattr(studies, name)(setting, [0, 3]) if row.get("learner", "network") == "network"]
    assert len(rows) == 2 * len(setting.get("alphas", [4.0]))
    for row in rows:
        _, w, theta = trained({"alpha0": 2.0} | setting, row["seed"], **size)
        alpha = 4.0 if name == "network_kernels" else row["alpha"]
        a, train_error, test_error = learnt(setting, row["seed"], w, theta, alpha)
        assert row["test_error"] == pytest.approx(test_error, rel=0.03)
        if name != "network_kernels":
            assert row["train_error"] == pytest.approx(train_error, rel=1e-9)
            assert row["m"] == pytest.approx(a.sum() / len(a) ** 0.5) and row["q2"] == pytest.approx(a @ a / len(a))


SRF = {
    "agreement": (STEP | {"alpha": 2.0, "beta": 1.0, "case": 7}, {}),
    "spikes": (FEATURES | {"model": "srf", "panel": "r", "beta": 1.0, "alphas": [1.0, 4.0]}, {}),
    "norms": (STEP | {"model": "srf", "beta": 1.0, "alphas": [2.0], "rows": "gauss"}, {"rows": "gauss"}),
    "readout_vocabulary": (
        COMMON | {"r": 1.2, "c": 1.3, "alphas": [2.0], "rows": "orthogonal", "values": [-1.0, 2.0]},
        {"rows": "orthogonal", "u": np.repeat([-1.0, 2.0], 5), "c": 1 + np.repeat([1.0, 4.0], 5)[:, None] * 0.3},
    ),
}


@pytest.mark.parametrize("name", SRF)
def test_errors_and_overlaps_of_spiked_features(name):
    setting, kind = SRF[name]
    own = {"gamma": 1.0} | setting | (equivalent(setting) if "step" in setting else {})
    for row in getattr(studies, name)(setting, [0, 3]):
        bulk, w, theta = spiked(own, row["seed"], **kind)
        alpha = (setting | row)["alpha"]
        a, train_error, test_error = learnt(setting, row["seed"], w, theta, alpha)
        assert row["test_error"] == pytest.approx(test_error, rel=0.03)
        pulled = a @ bulk / len(a) ** 0.5
        result = {"m": a.sum() / len(a) ** 0.5, "zeta": pulled[0], "q1": (pulled[1:] ** 2).sum(), "q2": a @ a / len(a)}
        result |= {"psi": pulled[1] if own["gamma"] < 1 else 0.0, "train_error": train_error}
        for column, value in result.items():
            assert row[column] == pytest.approx(value, rel=1e-9, abs=1e-12), column


@pytest.mark.parametrize("model", ["network", "srf"])
def test_what_readout_values_learn_of_the_third_degree(model):
    """At the smallest size's strength; the third degree by Gauss's rule in place of the trapezoid."""
    setting = COMMON | {"model": model, "values": [0.5, 2.0], "exponent": 0.5, "r": 1.2, "alpha0": 2.0, "alpha": 3.0}
    u = np.repeat([0.5, 2.0], 5)
    for row in studies.third_degree_share(setting, [0, 3]):
        seed = row["seed"]
        _, w, theta = spiked(setting | {"c": 1.0, "gamma": 1.0}, seed, u=u)
        if model == "network":
            theta = unit(normal("direction", seed, 10, 10))
            x = normal("batch", seed, 10, 20, 10)
            start = w
            start = unit(normal("weights", seed, 10, 10, 10))
            h1, t1, t2 = (WEIGHT @ f for f in (Z * np.tanh(Z), Z * np.sin(Z), np.sin(Z) ** 2))
            value, slope = act("tanh", x @ start.T)
            error = np.sin(x @ theta) - value @ u / 10
            step = 1.2 / (h1 * np.sqrt(t1**2 + t2 / 2))
            w = start + step / 20 * u[:, None] * ((slope * error[:, None]).T @ x)
        a, _, test_error = learnt(setting, seed, w, theta, 3.0)
        assert row["test_error"] == pytest.approx(test_error, rel=0.03)
        along = w @ theta
        rest = np.linalg.norm(w - np.outer(w @ theta, theta), axis=1)
        means = np.tanh(along[:, None, None] * Z[:, None] + rest[:, None, None] * Z) @ WEIGHT  # neurons, levels
        third = WEIGHT * (Z**3 - 3 * Z)
        assert row["share"] == pytest.approx(a @ means @ third / 10**0.5 / (third @ np.sin(Z)), rel=2e-3, abs=1e-3)


def test_measured_spikes_over_result_3_1():
    setting = {name: value for name, value in STEP.items() if name != "lam"} | {"step": 2.0}
    formula = equivalent(setting)
    for row in studies.parameters(setting, [1, 2]):
        _, w, theta = trained(setting, row["seed"])
        mean = w.mean(0)
        result = {"r": np.linalg.norm(mean), "gamma": unit(mean) @ theta, "c": ((w - mean) ** 2).sum(1).mean()}
        for name, value in result.items():
            assert row[name] == pytest.approx(value) and row[f"{name}_ratio"] == pytest.approx(value / formula[name])


def test_features_of_the_first_batch_beside_the_network():
    setting = STEP | {"alpha": 2.0, "beta": 1.0, "panel": "size"}
    (row,) = studies.departure(setting, [2])
    w0, w, theta = trained(setting, 2)
    x = normal("batch", 2, 10, 20, 10)
    y, slope = np.sin(x @ theta), act("tanh", Z)[1]
    spike = 3.0 * (WEIGHT @ slope) * (y @ x) / 20
    c = 1 + 9.0 * (WEIGHT @ slope**2 - (WEIGHT @ slope) ** 2) * (y**2 * (x**2).sum(1)).sum() / 20**2
    drawn = network.one_step("tanh", "sin", d=10, p=10, n0=20, step=3.0, seeds=[2])
    result = network.equivalent_features("tanh", drawn, 3.0, [2])
    np.testing.assert_allclose(result.w[0], c**0.5 * w0 + spike, atol=1e-5)
    assert row["network"] == pytest.approx(learnt(setting, 2, w, theta, 2.0)[2], rel=0.03)
    assert row["features"] == pytest.approx(learnt(setting, 2, c**0.5 * w0 + spike, theta, 2.0)[2], rel=0.03)
    assert all(row[name] > 0 for name in ("srf", "rows", "corrected"))


def test_ridge_on_the_true_and_on_the_conditional_gaussian_features():
    """Given ``v·x`` a Gaussian feature has the mean, the slope in the bulk and the variance of the true one."""
    setting = FEATURES | {"alpha": 3.0, "beta": 2.0}
    (row,) = studies.gaussian_map(setting, [4])
    d, p, n, c = 10, 20, 30, 1.3
    bulk = c**0.5 * unit(normal("weights", 4, d, p, d))
    x = normal("train", 4, d, n, d)
    theta = np.eye(d)[0] * 0.8 + np.eye(d)[1] * 0.6
    points = strata(setting, 4, theta)
    noise = normal("fresh", 4, d, n + 2000, p)

    def gaussian(x, noise):
        value, slope = act("tanh", 1.2 * x[:, :1] + c**0.5 * Z)
        mean, tilt, square = (v @ WEIGHT for v in (value, slope, value**2))
        variance = square - mean**2 - c * tilt**2
        return (mean[:, None] + tilt[:, None] * (x @ bulk.T) + variance[:, None] ** 0.5 * noise) / p**0.5

    def true(x):
        return act("tanh", x @ (bulk + 1.2 * np.eye(d)[0]).T)[0] / p**0.5

    kinds = {"true": (true(x), true(points)), "gaussian": (gaussian(x, noise[:n]), gaussian(points, noise[n:]))}
    for name, (phi, test_phi) in kinds.items():
        a = ridge(phi, np.sin(x @ theta), 0.1)
        assert row[name] == pytest.approx(np.mean((test_phi @ a - np.sin(points @ theta)) ** 2), rel=1e-6), name


@pytest.mark.parametrize("name", ["profiles", "learned_function_bounds"])
def test_the_mean_output_given_the_target_direction(name):
    setting = STEP | {"alpha": 3.0} | ({"bound": "upper", "beta": 2.0} if name == "learned_function_bounds" else {})
    rows = getattr(studies, name)(setting, [1])
    _, w, theta = trained(setting, 1, beta=setting.get("beta", 1.0))
    a, _, _ = learnt(setting, 1, w, theta, 3.0)
    g = np.random.default_rng(0).standard_normal((100_000, 10))
    assert [row["t"] for row in rows] == pytest.approx(np.linspace(-3, 3, 25).tolist())
    for row in rows[::6]:
        f = act("tanh", (g + np.outer(row["t"] - g @ theta, theta)) @ w.T)[0] @ a / len(w) ** 0.5
        assert row["output"] == pytest.approx(f.mean(), abs=5 * f.std() / 100_000**0.5 + 1e-3)


def test_eigenvalues_of_the_features():
    setting = {"activation": "tanh", "r": 1.5, "alpha": 3.0, "d": 10}
    (row,) = studies.spectra(setting, [2])
    _, w, _ = spiked(setting | {"c": 1.0, "gamma": 1.0}, 2)
    phi = np.tanh(normal("train", 2, 10, 30, 10) @ w.T) / 10**0.5
    values = np.linalg.svd(phi, compute_uv=False)[::-1] ** 2
    assert row["top"] == pytest.approx(values[-1]) and row["second"] == pytest.approx(values[-2])
    assert row["bulk"] == pytest.approx(values[:-1], abs=1e-6)


LOSSES = {
    "square": lambda y, f: (y - f) ** 2 / 2,
    "logistic": lambda y, f: np.logaddexp(0, -y * f),
    "huber": lambda y, f: np.where(abs(y - f) < 0.5, (y - f) ** 2 / 2, 0.5 * abs(y - f) - 0.125),
}  # the hinge, which has a kink, is a support vector machine in the tests of its theory


@pytest.mark.parametrize("loss", LOSSES)
def test_readouts_of_convex_losses_by_a_general_minimiser(loss):
    setting = FEATURES | {"model": "srf", "alpha": 3.0, "beta": 1.0, "loss": loss, "target": "sign", "delta": 0.5}
    noise, bias = (0.3, 0.7) if loss == "square" else (0.0, 0.0)
    (row,) = studies.losses(setting | {"noise": noise, "bias": bias}, [1])
    _, w, theta = spiked(setting, 1)
    x = normal("train", 1, 10, 30, 10)
    y = np.sign(x @ theta) + noise**0.5 * normal("noise", 1, 10, 30)
    points = strata(setting, 1, theta)
    clean = np.sign(points @ theta)
    phi, test_phi = (np.tanh(z @ w.T + bias) / 10**0.5 for z in (x, points))
    a = optimize.minimize(lambda a: LOSSES[loss](y, phi @ a).sum() + 0.05 * a @ a, np.zeros(10), tol=1e-12).x
    assert row["test_error"] == pytest.approx(np.mean((test_phi @ a - clean) ** 2), rel=1e-4)
    assert row["sign_error"] == pytest.approx(np.mean(test_phi @ a * clean < 0), abs=2e-3)
    assert row["objective"] == pytest.approx((np.sum((phi @ a - y) ** 2) + 0.1 * a @ a) / 30, rel=1e-4)


def test_the_bias_that_the_training_objective_chooses():
    setting = FEATURES | {"model": "srf", "alpha": 3.0, "beta": 1.0, "activation": "tanh", "target": "tanh"}
    for row in studies.biases(setting, [0, 1, 2]):
        _, w, theta = spiked(setting, row["seed"])
        x = normal("train", row["seed"], 10, 30, 10)
        y = np.tanh(x @ theta)

        def objective(b, x=x, y=y, w=w):
            phi = np.tanh(x @ w.T + b) / 10**0.5
            return y @ np.linalg.solve(phi @ phi.T / 0.1 + np.eye(30), y)

        grid = np.linspace(-4, 4, 1601)
        assert row["bias"] == pytest.approx(grid[np.argmin([objective(b) for b in grid])], abs=0.03)


def test_spikes_singular_values_and_errors_after_several_steps():
    setting = STEP | {"alpha": 2.0, "count": 2}
    (row,) = studies.multiple_steps(setting, [5])
    w0, w, theta = trained(setting, 5, count=2)
    _, sizes, directions = np.linalg.svd(w - w0)
    mean = w.mean(0)
    result = {
        "first": sizes[0] / 10**0.5,
        "second": sizes[1] / 10**0.5,
        "along": abs(directions[0] @ theta),
        "second_along": abs(directions[1] @ theta),
        "r": np.linalg.norm(mean),
        "gamma": unit(mean) @ theta,
        "c": ((w - mean) ** 2).sum(1).mean(),
    }
    for name, value in result.items():
        assert row[name] == pytest.approx(value, rel=1e-6), name
    assert row["test_error"] == pytest.approx(learnt(setting, 5, w, theta, 2.0)[2], rel=0.03)


def test_the_spike_of_several_steps_is_the_mean_of_the_rows():
    result = several_steps.train("tanh", "sin", d=10, p=7, n0=20, step=3.0, count=2, seeds=[5])
    w = trained(STEP, 5, count=2, beta=0.7)[1]
    np.testing.assert_allclose(result.w[0], w, atol=1e-12)
    np.testing.assert_allclose(result.r[0] * result.v[0], w.mean(0), atol=1e-12)


def test_regression_with_the_networks_kernels_by_quadrature():
    setting = COMMON | {"d": 40, "step": 3.0, "alphas": [0.2], "share": 0.5, "lams": [0.5], "beta": 1.0}
    rows = {row["learner"]: row for row in studies.network_kernels(setting, [3])}
    theta = unit(normal("direction", 3, 40, 40))
    x = normal("train", 3, 40, 8, 40)
    points = strata(setting, 3, theta)
    z, weight = np.polynomial.hermite_e.hermegauss(16)
    weight = np.outer(weight, weight).ravel() / weight.sum() ** 2
    first, second = (v.ravel() for v in np.meshgrid(z, z))

    def kernel(x, z, tangent):
        a = (x**2).sum(1)[:, None] / 40
        b = (z**2).sum(1) / 40
        ab = x @ z.T / 40
        result = np.zeros_like(ab)
        for s, t, mass in zip(first, second, weight):  # u, u' from two independent normal numbers
            u = a**0.5 * s
            v = ab / a**0.5 * s + np.maximum(b - ab**2 / a, 0) ** 0.5 * t
            result += mass * (np.tanh(u) * np.tanh(v) + tangent * ab / (np.cosh(u) * np.cosh(v)) ** 2)
        return result

    for name in ("conjugate", "tangent"):
        gram = kernel(x, x, name == "tangent")
        cross = kernel(points, x, name == "tangent")
        f = cross @ np.linalg.solve(gram + 0.5 * np.eye(8), np.sin(x @ theta))
        error = np.mean((f - np.sin(points @ theta)) ** 2)
        assert rows[name]["test_error"] == pytest.approx(error, rel=1e-3), name
        assert rows[name]["penalty"] == 0.5 and rows[name]["alpha"] == 0.2


@pytest.mark.parametrize("target", ["random", "leading", "parity"])
def test_errors_on_images_and_on_normal_inputs_like_them(target):
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((60, 5)) * [2, 1, 1, 1, 1]
    labels = np.where(inputs[:, 1] + rng.standard_normal(60) > 0, 1.0, -1.0)
    setting = {"activation": "tanh", "target": target, "d": 5, "p": 6, "n0": 15, "n": 20, "step": 2.0, "lam": 0.1}
    (result,) = studies.on_images(studies.OnDigits(**setting), [3], *(torch.from_numpy(v) for v in (inputs, labels)))
    rng = np.random.default_rng([3, 5])
    order = rng.permutation(60)
    x = inputs[order]
    theta = unit(rng.standard_normal(5))
    if target == "leading":
        theta = np.eye(5)[0]
    normals = rng.standard_normal((60, 5))
    noise = rng.standard_normal(60)
    share = 1.0
    if target == "parity":  # the linear part that signs along one direction have is 2/pi
        share = np.clip(np.pi / 2 * (np.sum(np.mean(labels[:, None] * inputs, 0) ** 2) - 5 / 60), 0, 1)
    y = labels[order] if target == "parity" else np.sign(x @ theta)
    like = np.sign(share**0.5 * normals @ theta + (1 - share) ** 0.5 * noise)
    w0 = unit(rng.standard_normal((6, 5)))
    for name, (points, signs) in {"images": (x, y), "normal": (normals, like)}.items():
        w = descended(setting, w0, points[:15], signs[:15], 2.0)
        phi = np.tanh(points[15:] @ w.T) / 6**0.5
        f = phi[20:] @ ridge(phi[:20], signs[15:35], 0.1)
        assert result[name] == pytest.approx(np.mean((f - signs[35:]) ** 2), rel=1e-6), name


def test_without_samples_or_without_length_there_is_no_step():
    """The weights stay as drawn, which has no first batch to read a spike from."""
    for n0, step in ((0, 3.0), (20, 0.0)):
        drawn = network.one_step("tanh", "sin", d=10, p=10, n0=n0, step=step, seeds=[0, 1])
        assert drawn.batch is None and not drawn.r.any()
        np.testing.assert_allclose(drawn.w[1], unit(normal("weights", 1, 10, 10, 10)), atol=1e-15)
