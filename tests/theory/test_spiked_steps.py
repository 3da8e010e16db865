"""Several steps against autograd, their recursion against simulation and limits; the kernel baseline in closed form."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from companion.papers.one_step.theory import bounds, kernel_baseline, network, population, several_steps
from companion.papers.one_step.theory.conditional_map import channel, equivalent, nodes
from companion.papers.one_step.theory.functions import derivative, function
from regimes import gaussian
from regimes.validate import InputError

TARGETS = ("sin", "tanh", "sign", "He1+He3")


@pytest.mark.parametrize("target", TARGETS)
def test_one_of_several_steps_is_the_step(target):
    for alpha0, step in ((0.5, 3.0), (8.0, 8.0), (np.inf, 2.0)):
        result = several_steps.predict("tanh", target, alpha0=alpha0, step=step, count=1)
        assert vars(result) == pytest.approx(vars(equivalent("tanh", target, alpha0=alpha0, step=step)), rel=1e-8)
    kind = dict(d=12, p=9, n0=20, step=1.3, seeds=[4, 7])
    network_of_one_step = network.one_step("tanh", target, **kind)
    torch.testing.assert_close(several_steps.train("tanh", target, count=1, **kind).w, network_of_one_step.w)


def test_each_step_is_the_gradient_of_the_loss_on_its_own_batch():
    d, p, n0, step, seeds = 10, 7, 24, 2.0, [1, 3]
    w = network.unit(network.draw(seeds, "weights", p, d, d=d))
    x = network.draw(seeds, "batch", n0, d, d=d)
    made = several_steps.train("tanh", "sin", d=d, p=p, n0=n0, step=step, count=3, seeds=seeds)
    y = torch.sin((x @ made.theta[..., None])[..., 0])
    for part in (slice(0, 8), slice(8, 16), slice(16, 24)):
        w = w.detach().requires_grad_()
        loss = ((y[:, part] - torch.tanh(x[:, part] @ w.mT).mean(-1)) ** 2).sum(-1) / (2 * 8)
        (gradient,) = torch.autograd.grad(loss.sum(), w)
        w = w.detach() - step / 3 * p * gradient
    torch.testing.assert_close(made.w, w)


def test_the_second_step_goes_down_the_slope_of_what_the_spike_can_fit():
    """With infinitely many samples: the strength moves by minus the derivative of half the squared distance."""
    first = several_steps.predict("tanh", "sign", alpha0=np.inf, step=1.0, count=1)
    second = several_steps.predict("tanh", "sign", alpha0=np.inf, step=2.0, count=2)

    def distance(r):
        e = channel(function("tanh"), function("sign"), r=r, c=1.0, gamma=1.0)
        return float(e.mean((e.h - e.kappa0) ** 2)[0]) / 2

    slope = (distance(first.r + 1e-4) - distance(first.r - 1e-4)) / 2e-4
    assert second.r - first.r == pytest.approx(-slope, rel=1e-4)
    assert second.gamma == pytest.approx(1) and second.c < 1 == pytest.approx(first.c)


@pytest.mark.parametrize(("target", "count"), [("sign", 2), ("sin", 4)])
def test_recursion_against_simulation(target, count):
    d, seeds, kind = 160, range(8), dict(step=5.0, count=count)
    made = several_steps.train("tanh", target, d=d, p=d, n0=6 * d, seeds=seeds, **kind)
    formula = several_steps.predict("tanh", target, alpha0=6.0, **kind)
    for name, values in network.measured_parameters(made).items():
        expected = getattr(formula, name)
        assert abs(float(values.mean()) - expected) < 3 * float(values.std()) / 8**0.5 + 3 / d * expected, name
    result = several_steps.spectrum(made, seeds)
    torch.testing.assert_close(result["along"], network.measured_parameters(made)["gamma"], rtol=0.02, atol=0)
    assert (result["second"] < 0.15 * result["first"]).all() and (result["second_along"] < 0.4).all()


@pytest.mark.parametrize(("target", "alpha0", "step"), [("sin", 8.0, 8.0), ("sign", 4.0, 3.0)])
def test_infinitely_many_steps_are_the_limit_of_many(target, alpha0, step):
    """The recursion's error falls like one over the count: extrapolated, it is the flow."""
    kind = dict(alpha0=alpha0, step=step)
    once, twice = (vars(several_steps.predict("tanh", target, count=count, **kind)) for count in (48, 96))
    flow = vars(several_steps.predict("tanh", target, count=np.inf, **kind))
    for name, value in flow.items():
        assert 2 * twice[name] - once[name] == pytest.approx(value, rel=1e-3)
        assert abs(twice[name] - value) > 3 * abs(2 * twice[name] - once[name] - value)


def test_infinitely_many_steps_against_simulation():
    d, seeds, kind = 120, range(6), dict(step=12.0, count=150)
    made = several_steps.train("tanh", "sin", d=d, p=d, n0=6 * d, seeds=seeds, **kind)
    flow = several_steps.predict("tanh", "sin", alpha0=6.0, step=12.0, count=np.inf)
    for name, values in network.measured_parameters(made).items():
        expected = getattr(flow, name)
        error = float(values.std()) / len(seeds) ** 0.5
        assert abs(float(values.mean()) - expected) <= 3 * error + 0.04 * expected


def test_fewer_samples_than_steps_are_refused():
    with pytest.raises(InputError, match="n0"):
        several_steps.train("tanh", "sin", d=10, p=10, n0=2, step=1.0, count=3, seeds=[0])


def test_conjugate_kernel_is_that_of_error_functions():
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((1, 9, 30)))
    pairs = torch.eye(9, dtype=x.dtype)
    sums = (pairs[:, None] + pairs).reshape(1, 81, 9)
    gram = x @ x.mT / 30
    for name, near in (("tanh", 1e-7), ("erf", 1e-7)):
        both = population.mean_square(function(name), gram, sums).reshape(9, 9)
        alone = population.mean_square(function(name), gram, pairs[None])[0]
        expected = (both - alone[:, None] - alone) / 2
        expected.diagonal().copy_(alone)
        result = kernel_baseline.conjugate_and_tangent(name, x)["conjugate"][0]
        torch.testing.assert_close(result, expected, rtol=0, atol=near)


def test_tangent_kernel_adds_the_first_layer():
    rng = np.random.default_rng(2)
    x, z = (torch.from_numpy(rng.standard_normal((1, 1, 20))) for _ in range(2))
    (s, q, t) = (float((a @ b.mT)[0, 0, 0]) / 20 for a, b in ((x, x), (x, z), (z, z)))
    u, weight = gaussian.trapezoid(200)
    right = q / np.sqrt(s) * u[:, None] + np.sqrt(t - q**2 / s) * u
    slope = derivative(function("tanh"))
    slopes = weight @ (slope(np.sqrt(s) * u)[:, None] * slope(right)) @ weight
    result = kernel_baseline.conjugate_and_tangent("tanh", x, z)
    assert float(result["tangent"] - result["conjugate"]) == pytest.approx(q * slopes, rel=1e-6)
    kernels = kernel_baseline.conjugate_and_tangent("tanh", x)
    assert float(kernels["tangent"] - kernels["conjugate"]) == pytest.approx(
        s * (weight @ slope(np.sqrt(s) * u) ** 2), rel=1e-6
    )


def test_best_linear_ridge_in_its_limits_and_against_simulation():
    target = function("sign")
    few_samples, many_samples = kernel_baseline.linear_error(target, np.array([1e-9, 1e9]))
    assert few_samples == pytest.approx(1, rel=1e-6) and many_samples == pytest.approx(
        bounds.best_linear(target), rel=1e-6
    )
    rng, d, alpha, errors = np.random.default_rng(3), 150, 1.5, []
    noise = bounds.best_linear(target)
    for _ in range(30):  # theta is the first axis
        x = rng.standard_normal((round(alpha * d), d))
        w = np.linalg.solve(x.T @ x + noise / (1 - noise) * d * np.eye(d), x.T @ np.sign(x[:, 0]))
        w[0] -= np.sqrt(2 / np.pi)
        errors.append(noise + w @ w)
    assert abs(np.mean(errors) - kernel_baseline.linear_error(target, np.array(alpha))) < 3 * np.std(errors) / 30**0.5


def test_kernels_learn_what_the_best_linear_ridge_does():
    kind = dict(d=60, lams=[0.1, 0.2, 0.4], seeds=range(6))
    result = kernel_baseline.errors("tanh", "sign", alphas=[2.0, 6.0], **kind)
    for name in kernel_baseline.KERNELS:
        for alpha in (2.0, 6.0):
            best = min((e for n, a, _, e in result if (n, a) == (name, alpha)), key=lambda e: float(e.mean()))
            expected = float(kernel_baseline.linear_error("sign", np.array(alpha)))
            assert abs(float(best.mean()) - expected) < 3 * float(best.std()) / 6**0.5 + 2 / 60 * expected


def test_a_corner_of_the_factor_is_the_factor_of_the_corner():
    """Smaller training sets by hand."""
    kind = dict(d=20, lams=[0.3], seeds=[0])
    (_, _, _, small), _ = kernel_baseline.errors("tanh", "sin", alphas=[1.0, 2.0], **kind)[:2]
    drawn = network.one_step("tanh", "sin", d=20, p=1, n0=0, step=0.0, seeds=[0])
    x, y = network.second_batch(function("sin"), drawn, 40, [0])
    points, clean = network.test_set(function("sin"), drawn, [0], 2000)
    gram = kernel_baseline.conjugate_and_tangent("tanh", x[:, :20])["conjugate"] + 0.3 * torch.eye(20, dtype=x.dtype)
    cross = kernel_baseline.conjugate_and_tangent("tanh", points, x[:, :20])["conjugate"]
    fit = cross @ torch.linalg.solve(gram, y[:, :20, None])
    torch.testing.assert_close(small, (fit[..., 0] - clean).square().mean(-1))


@pytest.mark.parametrize("gamma", [0.99, 0.999, 0.999999, -0.9999])
@pytest.mark.parametrize("at", [0.0, 0.7, -1.3])
@pytest.mark.parametrize("r", [0.5, 4.0])
def test_nodes_take_a_jump_that_the_cosine_blurs(gamma, at, r):
    """The mean of ``k`` times a step at ``b`` along the target is ``γ φ(b)``, however sharp it is along the spike."""
    k, weights = nodes([at], r, gamma)
    step = ndtr((gamma * k - at) / np.sqrt(1 - gamma**2))
    np.testing.assert_allclose(weights @ (k * step), gamma * np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi), atol=1e-10)
