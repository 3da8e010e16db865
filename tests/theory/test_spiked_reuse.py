"""The same samples in the step and in the readout: limits of the theory, its simulation, and the study's data."""

import numpy as np
import pytest
import torch

from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import (
    bounds,
    given_samples,
    kernel_baseline,
    network,
    population,
    reused_samples,
    ridge_theory,
    row_covariance,
)
from companion.papers.one_step.theory.conditional_map import equivalent
from companion.papers.one_step.theory.functions import Function, derivative_at, function
from regimes.validate import InputError

FIELDS = ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2")
H1 = float(equivalent("tanh", "sign", alpha0=np.inf, step=1.0).r * (np.pi / 2) ** 0.5)  # the mean slope of tanh
CASES = (
    ("tanh", "sign", 2.0, 2.0, 1.0, 1.0),
    ("erf", "sin", 4.0, 2.0, 0.5, 0.3),
    ("sin", "He1+He3", 3.0, 1.0, 2.0, 0.5),
)


@pytest.mark.parametrize(("activation", "target", "alpha", "step", "beta", "lam"), CASES)
def test_without_the_leak_it_is_the_saddle_point_of_fresh_samples(activation, target, alpha, step, beta, lam):
    kind = dict(alpha=alpha, beta=beta, lam=lam, width=300.0)
    result = reused_samples.predict_reuse(activation, target, step=step, leak=0.0, **kind)
    theory = ridge_theory.solve(
        activation, target, **kind, **vars(equivalent(activation, target, alpha0=alpha, step=step))
    )
    for name in FIELDS:
        assert float(getattr(result, name)) == pytest.approx(float(getattr(theory, name)), rel=1e-6, abs=1e-8), name


def test_the_leak_fades_with_the_number_of_samples():
    """The price of using them twice falls faster than 1/alpha at a step of one size."""
    prices = []
    for alpha in (4.0, 16.0, 64.0):
        errors = [
            float(
                reused_samples.predict_reuse(
                    "tanh", "sign", alpha=alpha, step=4.0, beta=1.0, lam=1.0, leak=leak
                ).test_error
            )
            for leak in (1.0, 0.0)
        ]
        prices.append(abs(errors[0] / errors[1] - 1))
    assert prices[0] > 4 * prices[1] > 16 * prices[2]


def _leaky_features(*, alpha, step, lam, d, seeds):
    """Test errors of spiked features whose training points hold the label; each row's noise is across the row."""
    activation, target = function("tanh"), function("sign")
    s = equivalent(activation, target, alpha0=alpha, step=step)
    drawn = network.spiked_features(d=d, p=d, r=s.r, c=1.0, gamma=s.gamma, seeds=seeds)
    w0 = drawn.bulk
    noise = network.draw(seeds, "noise", d, d, d=d)
    noise = network.unit(noise - (noise * w0).sum(-1, keepdim=True) * w0) * (s.c - 1) ** 0.5
    w = drawn.w + noise
    x, y = network.second_batch(target, drawn, round(alpha * d), seeds)
    z = x @ w0.mT
    phi = torch.tanh(x @ w.mT + step / alpha * y[..., None] * derivative_at(activation, z)) / d**0.5
    a = network.ridge(phi, y, lam)
    return population.population_error(activation, target, w, drawn.theta, a[:, None])[:, 0].numpy()


@pytest.mark.parametrize(("alpha", "step", "lam"), [(1.5, 2.5, 0.5), (2.0, 3.0, 1.0)])
def test_features_that_hold_their_label_have_the_errors_of_the_theory(alpha, step, lam):
    """Towards the limit of large dimension; without the leak theory is far away."""
    d = 300
    errors = _leaky_features(alpha=alpha, step=step, lam=lam, d=d, seeds=range(700, 708))
    kind = dict(alpha=alpha, step=step, beta=1.0, lam=lam, width=float(d))
    theory, without_leak = (
        float(reused_samples.predict_reuse("tanh", "sign", leak=leak, **kind).test_error) for leak in (1.0, 0.0)
    )
    assert abs(errors.mean() / theory - 1) < 0.015
    assert abs(without_leak / theory - 1) > 0.03


def _given(alpha, step, lam, d, seeds, **changed):
    """The study's rows of networks that use their samples twice, with the spike of others and theory beside."""
    setting = dict(activation="tanh", target="sign", alpha=alpha, step=step, lam=lam, share=0.9, samples="same", d=d)
    return studies.reuse(setting | {"observe": "spike"} | changed, seeds)


@pytest.mark.parametrize(("alpha", "step", "lam"), [(2.0, 1.64, 0.21), (4.0, 3.14, 0.23)])
def test_networks_have_the_error_of_the_spent_correlation_and_with_the_spike_of_others_that_of_the_leak(
    alpha, step, lam
):
    rows = _given(alpha, step, lam, 100, list(range(800, 836)))
    kind = dict(alpha=alpha, step=step, beta=1.0, lam=lam, width=100.0)
    spent, leak = (
        float(reused_samples.predict_reuse("tanh", "sign", spent=own, **kind).test_error) for own in (True, False)
    )
    own, other, given = (np.mean([row[name] for row in rows]) for name in ("test_error", "swapped", "given"))
    assert spent > 1.06 * leak
    assert own == pytest.approx(spent, rel=0.03) and other == pytest.approx(leak, rel=0.03)
    assert own == pytest.approx(given, rel=0.015)


def test_without_a_label_to_spend_the_correlation_is_none():
    """At a vanishing step all theories are random features; given the samples it is their average over the neurons."""
    kind = dict(alpha=3.0, step=1e-6, beta=1.0, lam=0.5, width=150.0)  # the limit of widths would see any spike
    spent, others = (
        predict.test_error
        for predict in (
            reused_samples.predict_reuse("tanh", "sign", spent=True, **kind),
            reused_samples.predict_reuse("tanh", "sign", **kind),
        )
    )
    plain = ridge_theory.solve("tanh", "sign", alpha=3.0, beta=1.0, lam=0.5, r=0.0, c=1.0, gamma=0.5).test_error
    assert float(others) == pytest.approx(float(plain), rel=1e-3)
    assert float(spent) == pytest.approx(float(plain), rel=1e-3)
    start = network.one_step("tanh", "sign", d=150, p=150, n0=0, step=0.0, seeds=range(8))
    x, y = network.second_batch(function("sign"), start, 450, range(8))
    given = [
        given_samples.predict_reuse_given(
            "tanh", "sign", x=x[i].numpy(), y=y[i].numpy(), theta=start.theta[i].numpy(), step=0.0, width=150, lam=0.5
        )
        for i in range(8)
    ]
    assert np.mean(given) == pytest.approx(float(plain), rel=0.03)


def test_random_features_have_the_error_of_their_moments():
    """The closed form against features drawn from moments that are known exactly: Gaussian ones."""
    rng = np.random.default_rng(3)
    n, fresh_points, width, lam = 60, 300, 40, 0.3
    root = rng.standard_normal((n + fresh_points, 30)) / 30**0.5
    moments = root @ root.T + 0.2 * np.eye(n + fresh_points)
    y, target = np.sign(root[:n, 0]), np.sign(root[n:, 0])
    factor = np.linalg.cholesky(moments)
    errors = []
    for _ in range(300):
        phi = factor @ rng.standard_normal((n + fresh_points, width)) / width**0.5
        a = np.linalg.solve(phi[:n].T @ phi[:n] + lam * np.eye(width), phi[:n].T @ y)
        errors.append(np.mean((phi[n:] @ a - target) ** 2))
    s = moments[:n, n:]
    excess = given_samples.random_feature_excess(
        moments[:n, :n],
        y,
        with_target=s @ target / fresh_points,
        with_fresh=s @ s.T / fresh_points,
        fresh=float(np.mean(moments.diagonal()[n:])),
        width=width,
        lam=lam,
    )
    assert 1 + excess == pytest.approx(np.mean(errors), rel=0.02)


def test_the_spike_of_the_samples_themselves_is_the_default_but_for_each_samples_own_part():
    """Given the spike of others, theory given the samples is lower, as the networks are."""
    start = network.one_step("tanh", "sign", d=100, p=100, n0=0, step=0.0, seeds=[4])
    x, y = (part[0].numpy() for part in network.second_batch(function("sign"), start, 400, [4]))
    kind = dict(x=x[:200], y=y[:200], theta=start.theta[0].numpy(), step=1.64, width=100, lam=0.21)
    others = 1.64 * H1 / 200 * (y[200:] @ x[200:])
    own, swapped = (given_samples.predict_reuse_given("tanh", "sign", spike=spike, **kind) for spike in (None, others))
    assert own > 1.02 * swapped
    with pytest.raises(InputError, match="theta must have unit norm"):
        given_samples.predict_reuse_given("tanh", "sign", **kind | {"theta": 2 * kind["theta"]})
    with pytest.raises(InputError, match="activation must be smooth"):
        given_samples.predict_reuse_given(
            Function("clip", lambda z: z.clamp(-1, 1), breaks=(-1.0, 1.0)), "sign", **kind
        )


def test_the_best_ridge_regression_has_the_error_of_the_linear_theory():
    seeds, target, d = range(40, 52), function("sign"), 200
    start = network.one_step("tanh", target, d=d, p=1, n0=0, step=0.0, seeds=seeds)
    x, y = network.second_batch(target, start, 3 * d, seeds)
    errors = kernel_baseline.best_ridge(target, x, y, start.theta)
    theory = float(kernel_baseline.linear_error(target, np.array(3.0)))
    assert float(errors.mean()) == pytest.approx(theory, rel=0.03)
    w = torch.linalg.solve(x[0].mT @ x[0] + 100 * torch.eye(d, dtype=x.dtype), x[0].mT @ y[0])
    test_x, clean = network.test_set(target, start, seeds)
    by_hand = float((test_x[0] @ w - clean[0]).square().mean())
    assert float(errors[0]) < 1.03 * by_hand


def _errors(samples, **changed):
    setting = dict(
        activation="tanh", target="sign", lam=0.5, step=2.0, alpha=3.0, samples=samples, share=0.8, d=60, kernels=[0.2]
    )
    return studies.reuse(setting | changed, [5, 6])


def test_the_learners_of_a_seed_have_the_same_data():
    """What has no step does not depend on how the network shares its samples; the network does."""
    same, *others = (_errors(samples) for samples in ("same", "split", "fresh"))
    for rows in others:
        for row_of_same, row in zip(same, rows):
            for name in ("linear", "conjugate", "tangent"):
                assert row_of_same[name] == row[name]
            assert row_of_same["test_error"] != row["test_error"]
    result = studies.network_kernels(
        dict(activation="tanh", target="sign", lam=1.0, step=2.0, alphas=[3.0], lams=[0.2], share=0.8, beta=1.0, d=60),
        [5, 6],
    )
    theory = [row["test_error"] for row in result if row["learner"] == "tangent"]
    assert [row["tangent"] for row in same] == pytest.approx(theory)


def test_all_samples_in_both_is_a_step_and_a_readout_on_them():
    (row, _) = _errors("same")
    start = network.one_step("tanh", "sign", d=60, p=60, n0=0, step=0.0, seeds=[5])
    x, y = network.second_batch(function("sign"), start, 180, [5])
    z = x @ start.w.mT
    f = torch.tanh(z).mean(-1)
    w = start.w + 2.0 / 180 * ((1 - torch.tanh(z) ** 2) * (y - f)[..., None]).mT @ x
    a = network.ridge(torch.tanh(x @ w.mT) / 60**0.5, y, 0.5)
    error = population.population_error(function("tanh"), function("sign"), w, start.theta, a[:, None])
    assert row["test_error"] == pytest.approx(float(error))


@pytest.mark.parametrize("activation", ["erf", "erf(x/√2)", "sin"])
def test_the_bound_of_networks_is_that_of_features_where_the_norms_add_no_function(activation):
    for r in (0.7, 2.5):
        theory = bounds.bounds(activation, "sign", r=r).lower
        assert bounds.network_bound(activation, "sign", r=r) == pytest.approx(theory, rel=1e-8)


@pytest.mark.parametrize(("target", "r"), [("He1+He3", 2.0), ("sign", 2.5)])
def test_networks_reach_their_bound_and_not_that_of_features(target, r):
    """The corrected theory with ever more samples and neurons at a small penalty."""
    step = r / equivalent("tanh", target, alpha0=np.inf, step=1.0).r
    kind = dict(step=step, alpha=1e6, beta=1e3, lam=1e-3)
    network_error, features_error = (
        row_covariance.predict_infinite_batch("tanh", target, norms=norms, **kind).test_error for norms in (True, False)
    )
    assert network_error == pytest.approx(bounds.network_bound("tanh", target, r=r), rel=4e-3)
    assert features_error == pytest.approx(bounds.bounds("tanh", target, r=r).lower, rel=4e-3)
    assert abs(network_error / features_error - 1) > 0.01
