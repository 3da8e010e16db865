"""The same samples in the step and in the readout: limits of the theory, its simulation, and the study's data."""

import numpy as np
import pytest
import torch

from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import (
    bounds,
    kernel_baseline,
    network,
    population,
    reused_samples,
    ridge_theory,
    row_covariance,
)
from companion.papers.one_step.theory.conditional_map import equivalent
from companion.papers.one_step.theory.functions import derivative_at, function

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


@pytest.mark.parametrize(("alpha", "step", "lam"), [(2.0, 1.64, 0.21), (4.0, 3.14, 0.23)])
def test_what_networks_pay_beyond_the_leak_is_the_spike_of_their_own_samples(alpha, step, lam):
    """With the spike of other samples, and the bulk and the leak of their own, they are no longer above the theory."""
    d, seeds, target = 100, range(800, 836), function("sign")
    n = round(alpha * d)
    start = network.one_step("tanh", target, d=d, p=d, n0=0, step=0.0, seeds=seeds)
    inputs, labels = network.second_batch(target, start, 2 * n, seeds)
    spikes = []
    for x, y in ((inputs[:, :n], labels[:, :n]), (inputs[:, n:], labels[:, n:])):
        slopes = derivative_at(function("tanh"), x @ start.w.mT)
        residual = (y - torch.tanh(x @ start.w.mT).mean(-1))[..., None]
        spikes.append(step / n * H1 * (residual.mT @ x))
        if len(spikes) == 1:
            own, leak = (x, y), step / n * H1 * residual * x.square().sum(-1, keepdim=True)
            w = start.w + step / n * (slopes * residual).mT @ x
    x, y = own
    errors = []
    for rows, at_training in ((w, 0), (w - spikes[0] + spikes[1], leak)):
        a = network.ridge(torch.tanh(x @ rows.mT + at_training) / d**0.5, y, lam)
        errors.append(population.population_error(function("tanh"), target, rows, start.theta, a[:, None])[:, 0])
    theory = float(reused_samples.predict_reuse("tanh", "sign", alpha=alpha, step=step, beta=1.0, lam=lam).test_error)
    own_error, other_error = (torch.stack(errors) / theory).mean(-1).tolist()
    assert own_error > 1.05 and 0.95 < other_error < 1.01


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
