"""Convex losses: the general saddle point against ridge, its parts against quadrature and scipy, and simulation."""

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, stats

from regimes.themes.spiked import convex_theory, fit_readout, network, ridge_theory
from regimes.themes.spiked.functions import function
from regimes.validate import InputError

BASE = dict(alpha=1.5, beta=0.8, lam=0.1, r=2.0, c=1.2, gamma=0.8)


@pytest.mark.parametrize("target", ["sign", "sin"])
@pytest.mark.parametrize("width", [np.inf, 300.0])
def test_square_loss_is_ridge(target, width):
    general = convex_theory.solve("tanh", target, convex_theory.square(), width=width, nodes=(100, 30), **BASE)
    ridge = ridge_theory.solve("tanh", target, width=width, **BASE)
    for name in ("test_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
        assert getattr(general, name) == pytest.approx(float(getattr(ridge, name)), rel=1e-6, abs=1e-8)


def test_wide_huber_is_square():
    huber = convex_theory.solve("tanh", "sign", convex_theory.huber(50.0), nodes=(100, 30), **BASE)
    assert huber.test_error == pytest.approx(float(ridge_theory.solve("tanh", "sign", **BASE).test_error), rel=1e-6)


@pytest.mark.parametrize("mean, spread, V", [(0.3, 0.8, 2.0), (-1.5, 0.1, 0.5), (2.0, 1.4, 7.0)])
@pytest.mark.parametrize("name", ["huber", "logistic"])
def test_moments_against_a_proximal_map_by_brute_force(name, mean, spread, V):
    delta, y = 0.4, 1.0
    loss = {"huber": convex_theory.huber(delta), "logistic": convex_theory.logistic()}[name]

    def cost(f):
        u = abs(y - f)
        return np.logaddexp(0, -y * f) if name == "logistic" else u**2 / 2 if u <= delta else delta * (u - delta / 2)

    def g(omega):
        found = optimize.minimize_scalar(
            lambda f: cost(f) + (f - omega) ** 2 / (2 * V),
            bounds=(omega - 9, omega + 9),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return (found.x - omega) / V

    arrays = (np.array([v]) for v in (y, mean, spread, V))
    first, second, slope = (m.item() for m in loss.moments(*arrays))
    density = stats.norm(mean, spread).pdf
    ends = (mean - 8 * spread, mean + 8 * spread)
    points = [y - delta * (1 + V), y + delta * (1 + V)]
    inside = [x for x in points if ends[0] < x < ends[1]]
    for value, power in ((first, 1), (second, 2)):
        exact = integrate.quad(lambda x, n=power: g(x) ** n * density(x), *ends, points=inside, epsabs=1e-9)[0]
        assert value == pytest.approx(exact, abs=2e-6)
    # integrating by parts: E dg = E[g (omega - mean)] / spread^2
    exact = integrate.quad(lambda x: g(x) * (x - mean) * density(x), *ends, points=inside)[0] / spread**2
    assert slope == pytest.approx(exact, abs=2e-5)


@pytest.mark.parametrize("loss", ["square", "huber", "logistic"])
def test_readout_is_stationary_and_beats_its_neighbours(loss):
    rng = np.random.default_rng(0)
    phi = torch.from_numpy(rng.standard_normal((2, 40, 25))) / 5
    y = torch.from_numpy(np.sign(rng.standard_normal((2, 40))))
    a = fit_readout.readout(phi, y, loss, 0.3, delta=0.5)
    value = fit_readout._LOSSES[loss][0]

    def objective(a):
        return value(y, (phi @ a[..., None]).squeeze(-1), 0.5).sum(-1) + 0.15 * (a**2).sum(-1)

    for seed in range(5):
        near = a + 1e-3 * torch.from_numpy(np.random.default_rng(seed).standard_normal(a.shape))
        assert (objective(near) > objective(a)).all()
    if loss == "square":
        torch.testing.assert_close(a, network.ridge(phi, y, 0.3))


@pytest.mark.parametrize("loss, solver", [("logistic", convex_theory.logistic()), ("huber", convex_theory.huber(0.2))])
def test_classification_error_against_simulation(loss, solver):
    d, seeds = 100, range(48)
    found = convex_theory.solve("tanh", "sign", solver, nodes=(40, 10), width=d, **BASE | {"beta": 1.0})
    weights = network.spiked_features(d=d, p=d, r=2.0, c=1.2, gamma=0.8, seeds=seeds)
    target = function("sign")
    x, y = network.second_batch(target, weights, round(1.5 * d), seeds)
    a = fit_readout.readout(network.features(function("tanh"), weights, x), y, loss, 0.1, delta=0.2)
    x, y = network.test_set(target, weights, seeds)
    f = (network.features(function("tanh"), weights, x) @ a[..., None]).squeeze(-1)
    wrong = (f * y < 0).double().mean(-1)
    error = float(wrong.std()) / len(seeds) ** 0.5
    assert abs(float(wrong.mean()) - found.sign_error) <= 3 * error + found.sign_error * 2 / d


def test_bad_input_gets_one_line(monkeypatch):
    with pytest.raises(InputError, match="delta must be"):
        convex_theory.huber(0.0)
    with pytest.raises(InputError, match="target must be one of sign"):
        convex_theory.solve("tanh", "sin", convex_theory.logistic(), **BASE)
    with pytest.raises(InputError, match="alpha must be"):
        convex_theory.solve("tanh", "sign", convex_theory.logistic(), **BASE | {"alpha": 0})
    with pytest.raises(InputError, match="loss must be one of"):
        fit_readout.readout(torch.zeros(1, 2, 2), torch.zeros(1, 2), "hinge", 0.1)
    monkeypatch.setattr(convex_theory, "_ITERATIONS", 2)
    with pytest.raises(ridge_theory.NotConverged, match=r"Huber.*V1="):
        convex_theory.solve("tanh", "sign", convex_theory.huber(0.2), **BASE)
