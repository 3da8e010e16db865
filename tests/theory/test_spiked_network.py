"""The simulated step against autograd, simulations against theory, the spectrum, and the network's own theory."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import optimize, special

from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import (
    bounds,
    measure,
    network,
    population,
    readout_values,
    ridge_theory,
    row_covariance,
    spectrum,
)
from companion.papers.one_step.theory.conditional_map import channel, equivalent
from companion.papers.one_step.theory.functions import function
from regimes import gaussian
from regimes.validate import InputError


def test_one_step_is_the_gradient_of_the_loss():
    d, p, n0, step, seeds = 12, 9, 20, 1.3, [4, 7]
    u = torch.linspace(-1, 2, p, dtype=torch.float64)
    made = network.one_step("erf", "sin", d=d, p=p, n0=n0, step=step, seeds=seeds, u=u)
    w0 = network.unit(network.draw(seeds, "weights", p, d, d=d)).requires_grad_()
    x, y = made.batch
    f = (torch.erf(x @ w0.mT) * u).mean(-1)  # a0 = u / sqrt(p)
    loss = ((y - f) ** 2).sum(-1) / (2 * n0)
    (gradient,) = torch.autograd.grad(loss.sum(), w0)
    torch.testing.assert_close(made.w, w0.detach() - step * p * gradient)


def test_a_seed_alone_gives_what_it_gives_in_a_batch():
    setting = dict(
        model="network",
        activation="tanh",
        target="sign",
        alpha0=1.0,
        step=2.0,
        beta=1.0,
        lam=0.1,
        d=40,
        alphas=[0.5, 2.0],
    )
    together = studies.learning_curves(setting, [0, 1, 2])
    alone = {(r["alpha"], r["seed"]): r["test_error"] for r in studies.learning_curves(setting, [1])}
    for row in together:
        if row["seed"] == 1:
            assert row["test_error"] == pytest.approx(alone[row["alpha"], 1], rel=1e-10)


def test_parameters_of_the_trained_network():
    seeds = range(16)
    formula = equivalent("tanh", "sin", alpha0=2.0, step=2.0)
    made = network.one_step("tanh", "sin", d=300, p=300, n0=600, step=2.0, seeds=seeds)
    for name, values in network.measured_parameters(made).items():
        error = 3 * float(values.std()) / 4 + 3 / 300 * getattr(formula, name)
        assert abs(float(values.mean()) - getattr(formula, name)) < error, name


def test_parameters_are_read_off_the_rows():
    made = network.one_step("tanh", "sin", d=60, p=90, n0=120, step=2.0, seeds=[0, 1])
    other = dataclasses.replace(made, r=2 * made.r, v=-made.v, batch=None)
    for name, values in network.measured_parameters(made).items():
        torch.testing.assert_close(network.measured_parameters(other)[name], values)
    turned = dataclasses.replace(made, w=made.w + made.theta[:, None, :])
    assert (network.measured_parameters(turned)["r"] > network.measured_parameters(made)["r"]).all()


def test_draws_of_one_seed_differ_by_kind_and_dimension():
    blocks = [network.draw([3], kind, 8, d=d) for kind in ("batch", "train") for d in (8, 16)]
    assert len({float(block[0, 0]) for block in blocks}) == 4
    torch.testing.assert_close(network.draw([3], "train", 12, d=8)[:, :8], network.draw([3], "train", 8, d=8))


@pytest.mark.parametrize("target, alpha", [("sin", 0.6), ("sign", 2.0), ("He1+He3", 1.5), ("tanh", 1.0)])
def test_theory_against_simulation(target, alpha):
    d, seeds = 160, range(24)
    setting = dict(r=1.6, c=1.3, gamma=0.8, beta=1.0, lam=0.1)
    drawn = dict(setting, model="srf", activation="tanh", target=target, d=d, alphas=[alpha], panel="r")
    result = ridge_theory.solve("tanh", target, alpha=alpha, **setting)
    measured = studies.spikes(drawn, seeds)
    for name in ("test_error", "train_error", "m", "psi", "q1", "q2"):
        values = np.array([row[name] for row in measured])
        exact = float(getattr(result, name))
        assert abs(values.mean() - exact) <= 3 * values.std() / np.sqrt(len(values)) + 8 / d * abs(exact), name


@pytest.mark.parametrize(
    "activation, noise, bias", [("tanh", 0.3, 0.0), ("tanh", 0.0, 0.7), ("tanh", 0.0, -0.5), ("softplus", 0.0, 0.5)]
)
def test_noise_and_bias_against_simulation(activation, noise, bias):
    """Without the noise or the bias theory is elsewhere."""
    names = (activation, "tanh(x+1)")
    numbers = dict(r=1.6, c=1.3, gamma=1.0, beta=1.0, lam=0.1, alpha=2.0)
    setting = numbers | dict(zip(("activation", "target"), names)) | dict(model="srf", loss="square", delta=1.0, d=160)
    rows = studies.losses(setting | {"noise": noise, "bias": bias}, list(range(24)))
    e = np.array([row["test_error"] for row in rows])
    exact, plain = (
        float(ridge_theory.solve(*names, **numbers, noise=v, bias=b).test_error) for v, b in ((noise, bias), (0, 0))
    )
    error = 3 * e.std() / len(e) ** 0.5 + 8 / 160 * exact
    assert abs(e.mean() - exact) <= error < abs(e.mean() - plain)


def test_the_trained_bias_is_at_the_minimum_of_the_theorys_objective():
    numbers = dict(alpha=2.0, beta=1.0, lam=0.1, r=2.0, c=1.2, gamma=1.0)
    setting = dict(numbers, activation="tanh", target="tanh(x+1)", model="srf", d=100)
    biases = np.array([row["bias"] for row in studies.biases(setting, list(range(24)))])
    shifts = np.linspace(-1.5, 3, 181)
    result = ridge_theory.solve("tanh", "tanh(x+1)", bias=shifts, **numbers)
    best = shifts[(result.train_error + 0.1 / 2 * result.q2).argmin()]
    assert abs(biases.mean() - best) < 3 * biases.std() / 24**0.5 + 0.0125  # half a step of the grid
    assert best > 1.5


@pytest.mark.parametrize("r", [0.4, 0.55, 0.8])
def test_the_learned_share_of_the_third_degree_against_simulation(r):
    kind = dict(alpha=4.0, lam=0.1, values=[0.5, 2.0])
    setting = dict(model="srf", activation="tanh", target="He1+He3", alpha0=16.0, exponent=1.0, r=r, d=200, **kind)
    shares = np.array([row["share"] for row in studies.third_degree_share(setting, list(range(12)))])
    two, one = (
        readout_values.learned_share("tanh", "He1+He3", 3, r=r, width=200, beta=1.0, **kind | {"values": values})
        for values in ([0.5, 2.0], [1.0])
    )
    error = shares.std() / 12**0.5
    assert abs(shares.mean() - two) < 3 * error + 0.005
    assert shares.mean() > one + 4 * error


def outside(profile, basis):
    """Share of a function's square under N(0, 1) on 25 levels that lies outside the span of others."""
    levels = np.linspace(-3, 3, 25)
    root = np.exp(-(levels**2) / 4)
    frame = np.linalg.qr((np.atleast_2d(basis) * root).T)[0]
    scaled = profile * root
    return ((scaled - frame @ (frame.T @ scaled)) ** 2).sum() / (scaled**2).sum()


def test_without_a_step_a_line_is_learned_and_after_one_a_function_of_the_pool():
    """The mean output along the target is a line, and after a step in the span of the step's three functions."""
    levels = np.linspace(-3, 3, 25)
    kind = dict(activation="tanh", target="sin", step=8.0, alpha=4.0, lam=1.0, d=100)
    profiles = {}
    for alpha0 in (0.0, 16.0):
        rows = pd.DataFrame(studies.profiles(kind | {"alpha0": alpha0}, list(range(8))))
        profiles[alpha0] = rows.pivot(index="seed", columns="t", values="output").to_numpy().mean(0)
    assert outside(profiles[0.0], levels) < 1e-3 and outside(profiles[16.0], levels) > 0.05
    s = equivalent("tanh", "sin", alpha0=16.0, step=8.0)
    e = channel(function("tanh"), function("sin"), r=s.r, c=s.c, gamma=s.gamma)
    overlaps = [dict(zip(("m", "zeta", "psi"), row)) for row in np.eye(3)]
    pool = np.array([bounds.learned_function(e, levels, gamma=s.gamma, **one) for one in overlaps])
    assert outside(profiles[16.0], pool) < 1e-6 < 1e-3 < outside(np.sin(levels), pool)


@pytest.mark.parametrize("kind", ["sphere", "orthogonal"])
def test_readout_values_against_simulation(kind):
    d, seeds, values = 200, range(16), [-1.0, 0.5, 2.0]
    u = network.readout_values(d, values)
    w = network.spiked_features(d=d, p=d, r=2.0, c=1 + 0.1 * u**2, gamma=1.0, seeds=seeds, u=u, rows=kind)
    e = network.learning_curve("tanh", "sin", w, alphas=[2.0], lam=0.01, seeds=seeds)[0]["test_error"]
    common = dict(alpha=2.0, beta=1.0, lam=0.01, r=2.0, c=1.1, values=values)
    rule = readout_values.solve_readout_values(
        "tanh", "sin", width=d, orthogonal=kind == "orthogonal", **common
    ).test_error
    limit = readout_values.solve_readout_values("tanh", "sin", orthogonal=kind == "orthogonal", **common).test_error
    assert abs(float(e.mean()) - rule) <= 3 * float(e.std()) / 4 + 12 / d * rule
    assert float(e.mean()) > 1.15 * limit


def test_a_gaussian_readout_against_simulation():
    """Even quantiles of a normal readout's size: as drawn values do, by the finite-width rule; one value does not."""
    d, setting = 60, {"alpha": 2.0, "lam": 0.3}
    half = special.erfinv((np.arange(6) + 0.5) / 6) * math.sqrt(2)
    drawn = torch.randn(d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    names = {"activation": "tanh", "target": "He1+He3"}
    errors = [
        float(network.learning_curve(
            weights=network.spiked_features(d=d, p=d, r=1.5, c=1.0, gamma=1.0, seeds=range(150), u=u),
            alphas=[setting["alpha"]], seeds=range(150), lam=setting["lam"], **names)[0]["test_error"].mean())
        for u in (network.readout_values(d, half), drawn * (half @ half / 6 / drawn.square().mean()).sqrt())
    ]  # fmt: skip
    rule, single = (
        readout_values.solve_readout_values(**names, **setting, beta=1.0, r=1.5, values=values, width=d).test_error
        for values in (half, (1.0,))
    )
    assert errors == pytest.approx([rule, rule], rel=0.08)
    assert errors != pytest.approx([single, single], rel=0.12)


@pytest.mark.parametrize("activation", population.CLOSED)
@pytest.mark.parametrize("target", ["sign", "He1+He3"])
def test_population_error_against_quadrature(activation, target):
    """Two neurons in the plane: the average over inputs is an integral."""
    rng = np.random.default_rng(3)
    w = torch.from_numpy(rng.standard_normal((1, 2, 2)))
    theta = network.unit(torch.from_numpy(rng.standard_normal((1, 2))))
    a = torch.tensor([[[1.3, -0.4], [0.2, 0.9]]], dtype=torch.float64)
    f, g = function(activation), function(target)
    result = population.population_error(f, g, w, theta, a)[0]
    frame = torch.stack([theta[0], theta[0].flip(0) * torch.tensor([-1.0, 1.0])])
    (t, wt), (z, wz) = gaussian.rule(g.breaks), gaussian.trapezoid(200)
    x = torch.tensor(np.stack(np.meshgrid(t, z, indexing="ij"), -1).reshape(-1, 2)) @ frame
    weight = np.outer(wt, wz).ravel()
    for readout, error in zip(a[0], result):
        out = (f.tensor(x @ w[0].T) @ readout / 2**0.5 - g.tensor(x @ theta[0])).numpy()
        assert float(error) == pytest.approx(weight @ out**2, rel=2e-4 if activation == "tanh" else 1e-7)


def test_tanh_is_a_mixture_of_error_functions():
    x = np.linspace(-20, 20, 4001)
    mixture = sum(share * special.erf(rate * x) for share, rate in population.MIXTURES["tanh"])
    assert np.abs(mixture - np.tanh(x)).max() < 1.1e-5


def test_equivalent_features_share_all_but_the_model():
    made = network.one_step("tanh", "sin", d=80, p=60, n0=160, step=2.0, seeds=[0, 1])
    like = network.equivalent_features("tanh", made, 2.0, [0, 1])
    torch.testing.assert_close(like.w.mean(1) @ made.v.mT, made.w.mean(1) @ made.v.mT, rtol=0.05, atol=0.05)
    sizes = like.bulk.norm(dim=-1)
    torch.testing.assert_close(sizes, sizes[:, :1].expand_as(sizes))
    torch.testing.assert_close(sizes[:, 0] ** 2, network.measured_parameters(made)["c"], rtol=0.05, atol=0.0)
    with pytest.raises(InputError, match="must come from a gradient step"):
        network.equivalent_features("tanh", network.spiked_features(d=8, p=8, r=1, c=1, gamma=1, seeds=[0]), 1.0, [0])


def test_trained_bias_is_stationary_for_its_own_objective():
    setting = dict(activation="tanh", target="tanh(x+1)", alpha=2.0, beta=1.0, lam=0.1, r=2.0, c=1.2, gamma=1.0, d=40)
    (row,) = studies.biases(setting | {"model": "srf"}, [3])
    w = network.spiked_features(d=40, p=40, r=2.0, c=1.2, gamma=1.0, seeds=[3])
    x, y = network.second_batch(function("tanh(x+1)"), w, 80, [3])

    def objective(bias):
        phi = network.feature_map(function("tanh"), w, x, bias)
        a = network.ridge(phi, y, 0.1)
        return float(((phi @ a[..., None])[..., 0] - y).square().sum() + 0.1 * a.square().sum())

    best = optimize.minimize_scalar(objective, bounds=(1.0, 3.0), method="bounded").x
    assert row["bias"] == pytest.approx(best, abs=0.02)


def test_limits_and_controls_of_made_up_tables():
    rng = np.random.default_rng(0)
    d, seed = (part.ravel() for part in np.meshgrid([50, 100, 200], np.arange(64), indexing="ij"))
    shared = rng.standard_normal(len(d)) / np.sqrt(d)
    table = pd.DataFrame({"d": d, "seed": seed, "kind": "one", "control": 1 + shared})
    table["ratio"] = 1.1 + 3 / d + 0.8 * shared + 0.01 * rng.standard_normal(len(d)) / np.sqrt(d)
    plain = measure.limits(table, "ratio", ["kind"], blocks=16)
    table["adjusted"] = measure.controlled(table, "ratio", "control", ["kind", "d"])
    better = measure.limits(table, "adjusted", ["kind"], blocks=16)
    assert plain.shape == better.shape == (16, 1)
    assert abs(float(better.mean().iloc[0]) - 1.1) < 1e-3
    assert float(better.std().iloc[0]) < 0.05 * float(plain.std().iloc[0])


def test_digits_are_normal_inputs_when_they_are():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3000, 20)))
    setting = dict(activation="tanh", target="random", d=20, p=20, n0=200, n=100, step=2.0, lam=0.5)
    rows = studies.on_images(studies.OnDigits(**setting), range(24), x, torch.sign(x[:, 0]))
    gap = np.array([row["images"] - row["normal"] for row in rows])
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(24)


def test_test_set_is_stratified_and_unbiased():
    w = network.spiked_features(d=30, p=30, r=1.0, c=1.0, gamma=0.6, seeds=range(40))
    x, y = network.test_set(function("sin"), w, range(40), 500)
    along = (x @ w.theta[..., None]).squeeze(-1)
    torch.testing.assert_close(torch.sin(along), y, rtol=1e-8, atol=1e-8)
    ranks = torch.floor(torch.special.ndtr(along) * 500 + 1e-9)
    assert (ranks == torch.arange(500)).all()
    assert float((y**2).mean()) == pytest.approx((1 - np.exp(-2)) / 2, abs=1e-3)  # 20 000 free points: 2e-3
    assert float(x.var()) == pytest.approx(1.0, abs=0.01)


def test_density_and_outlier_against_sampled_features():
    r, alpha, d, seeds = 1.2, 2.0, 300, range(4)
    rows = studies.spectra(dict(r=r, activation="tanh", alpha=alpha, d=d), seeds)
    values = np.array([[*row["bulk"], row["top"]] for row in rows])
    x = np.geomspace(1e-4, 6, 900)
    density = spectrum.density("tanh", x, alpha=alpha, beta=1.0, r=r, height=1e-4)
    mass = np.concatenate([[0], np.cumsum(np.diff(x) * (density[1:] + density[:-1]) / 2)])
    assert mass[-1] == pytest.approx(1, abs=2e-3)
    bulk = np.sort(values[:, :-1].ravel())
    assert np.abs(np.searchsorted(bulk, x) / bulk.size - mass).max() < 0.015
    root = spectrum.outlier("tanh", alpha=alpha, beta=1.0, r=r, p=d)
    assert abs(values[:, -1].mean() - root) < 3 * values[:, -1].std() / 2 + 0.005 * root


def test_stieltjes_at_a_negative_point_is_the_ridge_variance():
    e = channel(function("tanh"), function("identity"), r=1.5, c=1.2, gamma=1.0)
    result = spectrum.stieltjes(e, np.array([-0.3 + 1e-12j]), alpha=2.0, beta=0.7, c=1.2)
    ridge = ridge_theory.solve("tanh", "identity", alpha=2.0, beta=0.7, lam=0.3, r=1.5, c=1.2)
    np.testing.assert_allclose(result[:, 0].real, [ridge.V1, ridge.V2], rtol=1e-6)


def batch(target, alpha0, step, d, seed=3):
    made = network.one_step("tanh", target, d=d, p=d, n0=round(alpha0 * d), step=step, seeds=[seed])
    x0, y0 = (t[0].numpy() for t in made.batch)
    return made, dict(x0=x0, y0=y0, theta=made.theta[0].numpy(), step=step, alpha=1.0, beta=1.0, lam=0.1)


def test_without_corrections_the_network_theory_is_the_saddle_point():
    made, kind = batch("sin", 1.0, 2.0, 400)
    own = row_covariance.predict_network("tanh", "sin", rows=False, norms=False, **kind)
    m = {name: float(v) for name, v in network.measured_parameters(made).items()}
    c = 1 + float(np.trace(kind["x0"].T * kind["y0"] ** 2 @ kind["x0"])) * 4.0 / 400**2 * (
        bounds.hermite(function("tanh"), function("sin")).h1_check
    )
    plain = ridge_theory.solve("tanh", "sin", alpha=1.0, beta=1.0, lam=0.1, r=m["r"], c=c, gamma=m["gamma"], width=400)
    # the projection orthogonal to the spike takes one of 400 dimensions
    for name in ("test_error", "train_error", "m", "psi", "q1", "q2"):
        assert getattr(own, name) == pytest.approx(float(getattr(plain, name)), rel=2e-2), name


def test_infinite_batch_is_the_limit_of_growing_batches_and_not_the_saddle_point():
    target = "He1+He3"
    setting = dict(step=3.0, alpha=1.0, beta=1.0, lam=0.1)
    d = 100
    limit = row_covariance.predict_infinite_batch("tanh", target, width=d, **setting).test_error
    bare = row_covariance.predict_infinite_batch("tanh", target, norms=False, **setting).test_error
    spiked = equivalent("tanh", target, alpha0=np.inf, step=3.0)
    plain = ridge_theory.solve("tanh", target, alpha=1.0, beta=1.0, lam=0.1, r=spiked.r)
    assert bare == pytest.approx(float(plain.test_error), rel=1e-6)
    theta = np.eye(d)[0]
    x0 = np.random.default_rng(0).standard_normal((400 * d, d))
    y0 = function(target).array(x0 @ theta)
    own = row_covariance.predict_network("tanh", target, x0=x0, y0=y0, theta=theta, **setting).test_error
    assert own == pytest.approx(limit, rel=4e-3)
    assert limit < 0.93 * bare


def test_norms_that_do_not_fluctuate_give_the_saddle_point():
    setting = dict(alpha=1.5, beta=0.8, lam=0.1, r=2.0, c=1.2, gamma=0.8)
    own = row_covariance.predict_features("tanh", "sign", **setting)
    plain = ridge_theory.solve("tanh", "sign", **setting)
    for name in ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2"):
        assert getattr(own, name) == pytest.approx(float(getattr(plain, name)), rel=1e-6), name


def test_gaussian_rows_against_simulation():
    d, seeds = 120, range(64)
    s = equivalent("tanh", "He1+He3", alpha0=8.0, step=4.0)
    kind = dict(r=s.r, c=s.c, gamma=s.gamma, beta=1.0, lam=0.1)
    drawn = dict(
        model="srf", activation="tanh", target="He1+He3", alpha0=8.0, step=4.0, beta=1.0, lam=0.1, alphas=[1.0]
    )
    sphere, gauss = (
        np.array([r["test_error"] for r in studies.norms(drawn | {"d": d, "rows": k}, seeds)])
        for k in ("sphere", "gauss")
    )
    predicted = [
        row_covariance.predict_features("tanh", "He1+He3", alpha=1.0, spread=v, **kind).test_error
        for v in (0.0, 2 * s.c**2)
    ]
    gap = gauss - sphere
    assert abs(gap.mean() - (predicted[1] - predicted[0])) < 3 * gap.std() / 8
    assert abs(gap.mean()) > 5 * gap.std() / 8


def test_row_functionals_and_their_derivatives():
    rng = np.random.default_rng(0)
    inside = rng.standard_normal((60, 3)) / 8
    bulk = row_covariance.Bulk(rng.uniform(0.2, 4, 60), inside, np.diag([0.5, 0.2, 0.0]), beta=1.4)
    B, s, step = 0.7, 0.3, 1e-6
    _, P, _, by_B, by_s = bulk.functionals(B, s)
    for i, shift in enumerate(np.eye(2) * step):
        up = bulk.functionals(B + shift[0], s + shift[1])
        down = bulk.functionals(B - shift[0], s - shift[1])
        np.testing.assert_allclose(-(up[0] - down[0]) / (2 * step), P[:, i], rtol=1e-6)
        np.testing.assert_allclose(-(up[2] - down[2]) / (2 * step), (by_B, by_s)[i], rtol=1e-5)


def test_row_functionals_against_sampled_rows():
    d, p, rng = 900, 1100, np.random.default_rng(1)
    e = rng.uniform(0.2, 4, d)
    w = rng.standard_normal((p, d)) * np.sqrt(e / d)
    b = rng.standard_normal(d) / np.sqrt(d)
    B, s = 0.7, 0.3
    S = np.linalg.inv(s * np.eye(p) + B * w @ w.T)
    bulk = row_covariance.Bulk(e, b[:, None], np.zeros((1, 1)), beta=p / d)
    V, _, G, _, _ = bulk.functionals(B, s)
    np.testing.assert_allclose(V, [np.trace(w @ w.T @ S) / p, np.trace(S) / p], rtol=1e-2)
    assert G[0, 0] == pytest.approx((w @ b) @ S @ (w @ b), rel=3e-2)


def test_corrected_theory_meets_the_network_where_spiked_features_do_not():
    setting = dict(activation="tanh", target="sin", alpha0=0.5, step=3.0, alpha=1.0, beta=1.0, lam=0.1, d=160)
    setting |= {"panel": "size"}
    result = pd.DataFrame(studies.departure(setting, list(range(32))))
    ratio = {name: (result["network"] / result[name]).to_numpy() for name in ("srf", "corrected")}
    error = {name: r.std() / np.sqrt(len(r)) for name, r in ratio.items()}
    assert ratio["srf"].mean() - 1 > 3 * error["srf"]
    assert abs(ratio["corrected"].mean() - 1) < 3 * error["corrected"] + 3 / 160


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: network.one_step("relu", "sin", d=5, p=5, n0=5, step=1, seeds=[0]), "relu is not odd"),
        (lambda: network.one_step("tanh", "sin", d=0, p=5, n0=5, step=1, seeds=[0]), "d must be a whole number"),
        (lambda: network.spiked_features(d=5, p=9, r=1, c=1, gamma=1, seeds=[0], rows="orthogonal"), "p <= d"),
        (lambda: network.spiked_features(d=5, p=9, r=1, c=1, gamma=1, seeds=[0], rows="cubes"), "rows must be one of"),
        (
            lambda: readout_values.solve_readout_values("tanh", "sin", alpha=1, beta=2, lam=1, r=1, orthogonal=True),
            "beta = 1",
        ),
        (lambda: spectrum.density("tanh", [1.0], alpha=0, beta=1, r=1), "alpha must be"),
        (lambda: spectrum.density("tanh", [[1.0]], alpha=1, beta=1, r=1), "x must hold positions"),
        (lambda: spectrum.density("tanh", [], alpha=1, beta=1, r=1), "x must hold positions"),
        (lambda: spectrum.density("tanh", [1.0, np.inf], alpha=1, beta=1, r=1), "x must hold positions"),
        (lambda: spectrum.density("tanh", [1.0, 0.0], alpha=1, beta=1, r=1), "x must hold positions"),
    ],
)
def test_bad_input_gets_one_line(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("target, alpha0, step", [("sin", 2.0, 6.0), ("sign", 1.0, 4.0)])
def test_norms_of_the_trained_rows(target, alpha0, step):
    d, p = 300, 6000
    made = network.one_step("tanh", target, d=d, p=p, n0=round(alpha0 * d), step=step, seeds=[1])
    x0, y0 = (t[0].numpy() for t in made.batch)
    w0 = network.unit(network.draw([1], "weights", p, d, d=d))[0].numpy()
    bulk, v = made.bulk[0].numpy(), made.v[0].numpy()
    h = bounds.hermite(function("tanh"), function(target))
    along, spread, skew = row_covariance._norms(function("tanh"), h.h1, h.h3, float(made.r[0]), step, x0, y0)
    norms = (bulk**2).sum(1) - (bulk**2).sum(1).mean()
    slope = norms @ (w0 @ v) / ((w0 @ v) ** 2).sum()
    assert slope == pytest.approx(along, rel=0.1)
    assert d * np.var(norms - slope * (w0 @ v)) == pytest.approx(spread, rel=0.1)
    moved = (bulk - w0) @ v  # even in w0: what correlates it with the norms is the skewness of the slope
    assert d * np.mean(norms * moved) == pytest.approx(skew @ v, rel=0.15, abs=0.1 * np.sqrt(spread))
