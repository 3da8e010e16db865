"""Convex losses: the general saddle point against ridge, its parts against quadrature and scipy, and simulation."""

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats
from sklearn.svm import LinearSVC

from companion.papers.one_step.theory import convex_theory, fit_readout, network, ridge_theory, saddle_point
from companion.papers.one_step.theory.functions import function
from regimes.validate import InputError

BASE = dict(alpha=1.5, beta=0.8, lam=0.1, r=2.0, c=1.2, gamma=0.8)


@pytest.mark.parametrize("target", ["sign", "sin"])
@pytest.mark.parametrize("width", [np.inf, 300.0])
def test_square_loss_is_ridge(target, width):
    general = convex_theory.solve_loss("tanh", target, convex_theory.huber(np.inf), width=width, **BASE)
    ridge = ridge_theory.solve("tanh", target, width=width, **BASE)
    for name in ("test_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
        assert getattr(general, name) == pytest.approx(float(getattr(ridge, name)), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("target", ["sign", "He1+He3", "sin"])
@pytest.mark.parametrize("gamma", [0.5, 0.98, 0.99, 0.9999, 1.0])
@pytest.mark.parametrize("r, lam", [(1.0, 0.01), (8.0, 0.01), (8.0, 1.0)])
def test_square_loss_is_ridge_up_to_perfect_alignment_and_strong_spikes(target, gamma, r, lam):
    setting = dict(alpha=2.0, beta=1.0, lam=lam, r=r, c=1.2, gamma=gamma)
    general = convex_theory.solve_loss("tanh", target, convex_theory.huber(np.inf), **setting)
    assert general.test_error == pytest.approx(
        float(ridge_theory.solve("tanh", target, **setting).test_error), rel=1e-6
    )


@pytest.mark.parametrize("gamma", [0.8, 0.995, 1.0])
@pytest.mark.parametrize("target", ["sign", "He1+He3"])
def test_weights_are_a_probability_and_labels_keep_their_power(gamma, target):
    grid = convex_theory._Grid.build(function("tanh"), function(target), 2.0, 1.2, gamma, 0.0)
    power = {"sign": 1.0, "He1+He3": 2.0}[target]
    assert grid.w.sum() == pytest.approx(1, abs=1e-9)
    assert (grid.w * grid.y**2).sum() == pytest.approx(power, abs=1e-8)


def test_sign_error_of_a_cubic_target_against_draws():
    """The label changes its sign at three points; panels that end there give the share of wrong signs."""
    setting = dict(alpha=1.5, beta=1.0, lam=0.1, r=2.0, c=1.2, gamma=0.8)
    x = convex_theory.solve_loss("tanh", "He1+He3", convex_theory.huber(np.inf), **setting)
    k, s, xi = np.random.default_rng(0).standard_normal((3, 2_000_000))
    shift, w = 2.0 * k, np.exp(-((z := np.linspace(-8, 8, 81)) ** 2) / 2)
    table = np.linspace(-11, 11, 2001)
    values = np.tanh(table[:, None] + np.sqrt(1.2) * z)
    kappa0 = values @ w / w.sum()
    first = values @ (w * z) / w.sum()
    square = values**2 @ w / w.sum()
    kappa1 = first / np.sqrt(1.2)
    rest = square - kappa0**2 - first**2
    kappa0, kappa1, rest = (np.interp(shift, table, column) for column in (kappa0, kappa1, rest))
    spread = np.sqrt(kappa1**2 * (x.q1 - x.psi**2) + rest * x.q2)
    f = kappa0 * x.m + k * kappa1 * x.zeta + kappa1 * x.psi * s + spread * xi
    wrong = np.mean(f * function("He1+He3").array(0.8 * k + 0.6 * s) < 0)
    assert x.sign_error == pytest.approx(wrong, abs=4 * np.sqrt(wrong / len(k)))


def test_labels_in_one_variable_are_labels_in_two():
    grid = convex_theory._Grid.build(function("tanh"), function("sign"), 2.0, 1.2, 0.8, 0.0)
    state = dict(m=2.0, zeta=0.1, psi=0.8, q1=2.5, q2=1.7, V1=3.0, V2=4.0)
    one = convex_theory._labelled(grid, convex_theory.logistic(), state)
    two = convex_theory._averages(grid, convex_theory.logistic(), state)
    np.testing.assert_allclose(one, two, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.99, 1.0])
@pytest.mark.parametrize("loss", [convex_theory.logistic(), convex_theory.huber(0.2)])
def test_other_losses_converge_at_alignment_and_strong_spikes(gamma, loss):
    result = convex_theory.solve_loss(
        "tanh", "sign", loss, alpha=2.0, beta=1.0, lam=0.1, r=8.0, c=1.2, gamma=gamma, width=200.0
    )
    assert 0 < result.sign_error < np.arccos(gamma) / np.pi + 0.02


def test_huber_converges_where_the_plain_iteration_oscillates():
    setting = dict(alpha=2.0, beta=1.0, lam=0.1, r=8.0, c=1.2, gamma=0.8)
    assert np.isfinite(convex_theory.solve_loss("tanh", "sign", convex_theory.huber(0.2), **setting).test_error)


def test_wide_huber_is_square():
    huber = convex_theory.solve_loss("tanh", "sign", convex_theory.huber(50.0), **BASE)
    assert huber.test_error == pytest.approx(float(ridge_theory.solve("tanh", "sign", **BASE).test_error), rel=1e-6)


@pytest.mark.parametrize("mean, spread, V", [(0.3, 0.8, 2.0), (-1.5, 0.1, 0.5), (2.0, 1.4, 7.0)])
@pytest.mark.parametrize("name", ["huber", "logistic", "hinge"])
def test_moments_against_a_proximal_map_by_brute_force(name, mean, spread, V):
    delta, y = 0.4, 1.0
    kinds = {"huber": convex_theory.huber(delta), "logistic": convex_theory.logistic(), "hinge": convex_theory.hinge()}
    loss = kinds[name]

    def cost(f):
        u = abs(y - f)
        if name == "hinge":
            return max(0.0, 1 - y * f)
        return np.logaddexp(0, -y * f) if name == "logistic" else u**2 / 2 if u <= delta else delta * (u - delta / 2)

    def g(omega):
        result = optimize.minimize_scalar(
            lambda f: cost(f) + (f - omega) ** 2 / (2 * V),
            bounds=(omega - 9, omega + 9),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return (result.x - omega) / V

    arrays = (np.array([v]) for v in (y, mean, spread, V))
    first, second, slope = (m.item() for m in loss.moments(*arrays))
    density = stats.norm(mean, spread).pdf
    ends = (mean - 8 * spread, mean + 8 * spread)
    points = [1 - V, 1.0] if name == "hinge" else [y - delta * (1 + V), y + delta * (1 + V)]
    inside = [x for x in points if ends[0] < x < ends[1]]
    for value, power in ((first, 1), (second, 2)):
        exact = integrate.quad(lambda x, n=power: g(x) ** n * density(x), *ends, points=inside, epsabs=1e-9)[0]
        assert value == pytest.approx(exact, abs=2e-6)
    # integrating by parts: E dg = E[g (omega - mean)] / spread^2
    exact = integrate.quad(lambda x: g(x) * (x - mean) * density(x), *ends, points=inside)[0] / spread**2
    assert slope == pytest.approx(exact, abs=2e-5)


SLOPES = {
    "square": lambda y, f: f - y,
    "huber": lambda y, f: np.clip(f - y, -0.5, 0.5),
    "logistic": lambda y, f: -y / (1 + np.exp(y * f)),
}


@pytest.mark.parametrize("lam", [10.0, 0.3, 1e-3])
@pytest.mark.parametrize("n, p", [(40, 25), (40, 60)])
@pytest.mark.parametrize("loss", SLOPES)
def test_a_readout_has_no_gradient_left(loss, n, p, lam):
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((3, n, p)) / 5
    y = np.sign(rng.standard_normal((3, n)))
    a = fit_readout.readout(torch.from_numpy(phi), torch.from_numpy(y), loss, lam, delta=0.5).numpy()
    for one, rows, labels in zip(a, phi, y):
        first = np.linalg.norm(rows.T @ SLOPES[loss](labels, np.zeros(n)))
        assert np.linalg.norm(rows.T @ SLOPES[loss](labels, rows @ one) + lam * one) < 1e-10 * first
    if loss == "square":
        np.testing.assert_allclose(a, network.ridge(torch.from_numpy(phi), torch.from_numpy(y), lam), rtol=1e-6)


def test_a_hinge_readout_does_not_depend_on_its_batch():
    rng = np.random.default_rng(3)
    phi = torch.from_numpy(rng.standard_normal((6, 40, 25)) / 5)
    y = torch.from_numpy(rng.choice([-1.0, 1.0], (6, 40)))
    both = fit_readout.readout(phi, y, "hinge", 0.1)
    alone = [fit_readout.readout(phi[i : i + 1], y[i : i + 1], "hinge", 0.1) for i in range(6)]
    torch.testing.assert_close(both, torch.cat(alone), rtol=1e-10, atol=1e-12)


def test_hinge_readout_is_a_support_vector_machine():
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((2, 60, 25)) / 5
    y = np.sign(rng.standard_normal((2, 60)))
    a = fit_readout.readout(torch.from_numpy(phi), torch.from_numpy(y), "hinge", 0.3).numpy()
    for one, rows, labels in zip(a, phi, y):
        machine = LinearSVC(loss="hinge", C=1 / 0.3, fit_intercept=False, tol=1e-9, max_iter=10**6).fit(rows, labels)
        np.testing.assert_allclose(one, machine.coef_[0], atol=2e-3)
    with pytest.raises(InputError, match="labels -1 and"):
        fit_readout.readout(torch.from_numpy(phi), torch.zeros(2, 60, dtype=torch.float64), "hinge", 0.3)


SOLVERS = [
    ("logistic", convex_theory.logistic()),
    ("huber", convex_theory.huber(0.2)),
    ("hinge", convex_theory.hinge()),
]


@pytest.mark.parametrize("loss, solver", SOLVERS)
def test_classification_error_against_simulation(loss, solver):
    d, seeds = 100, range(48)
    result = convex_theory.solve_loss("tanh", "sign", solver, width=d, **BASE | {"beta": 1.0})
    weights = network.spiked_features(d=d, p=d, r=2.0, c=1.2, gamma=0.8, seeds=seeds)
    target = function("sign")
    x, y = network.second_batch(target, weights, round(1.5 * d), seeds)
    a = fit_readout.readout(network.feature_map(function("tanh"), weights, x), y, loss, 0.1, delta=0.2)
    x, y = network.test_set(target, weights, seeds)
    f = (network.feature_map(function("tanh"), weights, x) @ a[..., None]).squeeze(-1)
    wrong = (f * y < 0).double().mean(-1)
    error = float(wrong.std()) / len(seeds) ** 0.5
    assert abs(float(wrong.mean()) - result.sign_error) <= 3 * error + result.sign_error * 2 / d


def test_bad_input_gets_one_line(monkeypatch):
    with pytest.raises(InputError, match="delta must be"):
        convex_theory.huber(0.0)
    with pytest.raises(InputError, match="target must be one of sign"):
        convex_theory.solve_loss("tanh", "sin", convex_theory.logistic(), **BASE)
    with pytest.raises(InputError, match="alpha must be"):
        convex_theory.solve_loss("tanh", "sign", convex_theory.logistic(), **BASE | {"alpha": 0})
    with pytest.raises(InputError, match="width must be finite"):
        convex_theory.solve_loss("tanh", "sign", convex_theory.logistic(), **BASE | {"gamma": 1.0})
    with pytest.raises(InputError, match="loss must be one of"):
        fit_readout.readout(torch.zeros(1, 2, 2), torch.zeros(1, 2), "cubic", 0.1)
    monkeypatch.setattr(convex_theory, "_ITERATIONS", 2)
    with pytest.raises(saddle_point.NotConverged, match=r"Huber.*V1="):
        convex_theory.solve_loss("tanh", "sign", convex_theory.huber(0.2), **BASE)
