"""Chapter 7's studies, each against a few lines of numpy at tiny size: draws by the convention of seeds, no more."""

import numpy as np
import pytest
import torch
from scipy import special

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


NETWORKS = {"learning_curves": STEP | {"model": "network", "beta": 1.0, "alphas": [1.0, 4.0]}}


@pytest.mark.parametrize("name", NETWORKS)
def test_errors_of_the_network_after_a_step(name):
    setting = NETWORKS[name]
    rows = getattr(studies, name)(setting, [0, 3])
    assert len(rows) == 2 * len(setting["alphas"])
    for row in rows:
        _, w, theta = trained({"alpha0": 2.0} | setting, row["seed"])
        a, train_error, test_error = learnt(setting, row["seed"], w, theta, row["alpha"])
        assert row["test_error"] == pytest.approx(test_error, rel=0.03)
        assert row["train_error"] == pytest.approx(train_error, rel=1e-9)
        assert row["m"] == pytest.approx(a.sum() / len(a) ** 0.5) and row["q2"] == pytest.approx(a @ a / len(a))


SRF = {
    "spikes": (FEATURES | {"model": "srf", "panel": "r", "beta": 1.0, "alphas": [1.0, 4.0]}, {}),
    "norms": (STEP | {"model": "srf", "beta": 1.0, "alphas": [2.0], "rows": "gauss"}, {"rows": "gauss"}),
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


def test_measured_spikes_over_result_3_1():
    setting = {name: value for name, value in STEP.items() if name != "lam"} | {"step": 2.0}
    formula = equivalent(setting)
    for row in studies.parameters(setting, [1, 2]):
        _, w, theta = trained(setting, row["seed"])
        mean = w.mean(0)
        result = {"r": np.linalg.norm(mean), "gamma": unit(mean) @ theta, "c": ((w - mean) ** 2).sum(1).mean()}
        for name, value in result.items():
            assert row[name] == pytest.approx(value) and row[f"{name}_ratio"] == pytest.approx(value / formula[name])


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


def test_the_spike_of_several_steps_is_the_mean_of_the_rows():
    result = several_steps.train("tanh", "sin", d=10, p=7, n0=20, step=3.0, count=2, seeds=[5])
    w = trained(STEP, 5, count=2, beta=0.7)[1]
    np.testing.assert_allclose(result.w[0], w, atol=1e-12)
    np.testing.assert_allclose(result.r[0] * result.v[0], w.mean(0), atol=1e-12)


def test_without_samples_or_without_length_there_is_no_step():
    """The weights stay as drawn, which has no first batch to read a spike from."""
    for n0, step in ((0, 3.0), (20, 0.0)):
        drawn = network.one_step("tanh", "sin", d=10, p=10, n0=n0, step=step, seeds=[0, 1])
        assert drawn.batch is None and not drawn.r.any()
        np.testing.assert_allclose(drawn.w[1], unit(normal("weights", 1, 10, 10, 10)), atol=1e-15)
