"""Newton's method to a minimum: convex problems by scipy, ends by autograd and L-BFGS, saddles, other company."""

import numpy as np
import pytest
import torch
from scipy.optimize import brentq, minimize
from scipy.stats import norm
from sklearn.svm import SVC

from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.training.gauss_newton import gauss_newton
from regimes.training.newton import newton
from regimes.training.run import run
from regimes.training.state import Ended, after
from regimes.validate import InputError

SWISH = activation("swish", steepness=10.0, normalised=True)


def nets(*widths, seeds=(0,), sigma=SWISH):
    return fully_connected(widths, seeds=list(seeds), sigma=sigma, parametrisation="mean-field", gain=1.0)


def problem(p, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((p, d))), torch.from_numpy(np.sign(rng.standard_normal(p)))


def cost(model, start, x, y, alpha):
    """The mean quadratic hinge of one network as a function of its weights, with its gradient."""
    shapes = [weight.shape for weight in model.parameters()]
    f0 = start(x)

    def value(w):
        parts = torch.as_tensor(w).split([shape.numel() for shape in shapes])
        f = model.with_parameters([part.view(shape) for part, shape in zip(parts, shapes)])(x)
        return (1 - y * alpha * (f - f0)).clamp(min=0).square().mean() / 2

    def value_and_slope(w):
        w = torch.tensor(w, requires_grad=True)
        total = value(w)
        return total.item(), torch.autograd.grad(total, w)[0].numpy()

    return value, value_and_slope


def weights(model):
    return torch.cat([weight.flatten() for weight in model.parameters()])


def test_a_linear_model_ends_where_scipy_does():
    x, y = problem(60)
    model = nets(4, 1)
    done = run(newton(model, x, y, alpha=2.0))
    best = minimize(cost(model, model, x, y, 2.0)[1], weights(model).numpy(), jac=True, method="BFGS", tol=1e-12)
    assert done.ended[0].kind == Ended.JAMMED
    np.testing.assert_allclose(weights(done.model).numpy(), best.x, rtol=1e-5, atol=1e-6)


def penalised(model, start, x, y, alpha, decay):
    """The cost with the penalty of a decay, as a function of the weights, with its gradient."""
    value, _ = cost(model, start, x, y, alpha)
    initial = weights(start)

    def value_and_slope(w):
        w = torch.tensor(w, requires_grad=True)
        total = value(w) + alpha * decay / 2 * (w - initial).square().sum()
        return total.item(), torch.autograd.grad(total, w)[0].numpy()

    return value_and_slope


@pytest.mark.parametrize("widths", [(4, 1), (4, 3, 3, 1)], ids=["linear", "deep"])
def test_under_a_decay_it_ends_where_scipy_does(widths):
    x, y = problem(60)
    start = nets(*widths)
    done = run(newton(start, x, y, alpha=2.0, decay=0.01))
    value_and_slope = penalised(start, start, x, y, 2.0, 0.01)
    w = weights(done.model).numpy()
    best = minimize(value_and_slope, w, jac=True, method="BFGS", tol=1e-10)
    assert done.ended[0].kind == Ended.JAMMED and np.abs(w - weights(start).numpy()).max() > 0.1
    np.testing.assert_allclose(w, best.x, rtol=1e-3, atol=1e-4)


def test_as_the_decay_vanishes_support_vectors_hold_a_linear_network():
    x, _ = problem(60, d=8)
    y = torch.sign(x @ torch.arange(-3.0, 5.0, dtype=torch.float64))
    start = nets(8, 1)
    for decay in (1e-2, 1e-6, 1e-10):
        done = run(newton(start, x, y, alpha=2.0, decay=decay), until=after(3000))
        assert done.ended[0].kind == Ended.JAMMED
    gaps = (1 - y * 2.0 * (done.model(x) - start(x)))[0].clamp(min=0)
    machine = SVC(kernel="linear", C=1e9).fit(
        torch.cat([x, -x]).numpy(), torch.cat([y, -y]).numpy()
    )  # so without an offset
    assert set(gaps.nonzero().flatten().tolist()) == {int(i) % len(x) for i in machine.support_}
    assert 1 < int((gaps > 0).sum()) <= 8  # paper B, Eq. 12


@pytest.mark.parametrize("load", [1.1, 1.5])
def test_at_capacity_as_many_points_hold_a_perceptron_as_it_has_weights(load):
    """Gardner, J. Phys. A 21 (1988) 257: random points, p = load d; the share held nears one at the capacity, 2."""
    d, count = 60, 12
    sets = [problem(round(load * d), d=d, seed=seed) for seed in range(count)]
    x, y = (torch.stack(part) for part in zip(*sets, strict=True))
    start = nets(d, 1, seeds=range(count))
    done = run(newton(start, x, y, alpha=2.0, decay=1e-6), until=after(3000))
    unfitted = (y * 2.0 * (done.model(x) - start(x)) < 1).sum(-1) / d
    margin = brentq(lambda k: load * ((1 + k**2) * norm.cdf(k) + k * norm.pdf(k)) - 1, -1, 9)
    few = unfitted.std() / count**0.5
    assert float(unfitted.mean()) == pytest.approx(load * norm.cdf(margin), abs=4 * float(few)) and few < 0.02


def test_jammed_is_a_minimum_that_no_other_optimiser_leaves():
    x, y = problem(100)
    start = nets(4, 2, 2, 1, seeds=range(8), sigma="tanh")
    done = run(newton(start, x, y, alpha=1.0, steps=1000))
    jammed = [e for e, why in enumerate(done.ended) if why.kind == Ended.JAMMED]
    assert len(jammed) >= 3
    for e in jammed[:3]:
        value, value_and_slope = cost(start[e : e + 1], start[e : e + 1], x, y, 1.0)
        w = weights(done.model[e : e + 1])
        values = torch.linalg.eigvalsh(torch.autograd.functional.hessian(value, w))
        assert float(values[0]) > -1e-6 * float(values[-1])
        options = {"maxiter": 2000, "maxcor": 40}
        lowest = minimize(value_and_slope, w.numpy(), jac=True, method="L-BFGS-B", options=options)
        assert lowest.fun > (1 - 1e-4) * float(value(w)) > 0


def test_it_goes_on_from_the_flow_and_fits_what_that_left():
    x, y = problem(24)
    start = nets(4, 6, 6, 1, seeds=range(6))
    flow = run(gauss_newton(start, x, y, alpha=1.0, rule="settle", steps=30))
    done = run(newton(flow.model, x, y, alpha=1.0, initial=start, steps=800))
    unfinished = [e for e, why in enumerate(flow.ended) if why.kind == Ended.STEPS]
    fits = [e for e in unfinished if done.ended[e].kind == Ended.FITTED]
    assert fits
    F = done.model(x) - start(x)
    torch.testing.assert_close(done.F, F, rtol=1e-12, atol=1e-12)
    assert float((y * F)[fits].min()) >= 1 - 1e-4


def test_the_loss_never_rises_and_a_saddle_is_left():
    x, y = problem(8)
    start = nets(4, 6, 1, sigma="tanh")
    near = start.with_parameters([1e-6 * weight for weight in start.parameters()])  # the origin is a saddle
    zero = start.with_parameters([0 * weight for weight in start.parameters()])
    losses = [float(state.loss[0]) for state in newton(near, x, y, alpha=1.0, initial=zero)]
    assert losses[-1] < 0.1 * losses[0]
    assert all(b <= a for a, b in zip(losses, losses[1:]))


def test_a_network_does_not_feel_the_others():
    x, y = problem(40)
    start = nets(4, 3, 3, 1, seeds=range(3))
    together = run(newton(start, x, y, alpha=1.0, steps=40))
    for e in range(3):
        alone = run(newton(start[e : e + 1], x, y, alpha=1.0, steps=40))
        torch.testing.assert_close(alone.F[0], together.F[e], rtol=1e-4, atol=1e-4)
        assert alone.ended[0].kind == together.ended[e].kind


def test_given_up_is_said():
    x, y = problem(60)
    done = run(newton(nets(4, 3, 3, 1), x, y, alpha=1.0, steps=2))
    assert done.ended[0] == "given up after 2 steps"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"loss": "hinge"}, "loss must be smooth for implicit steps, got hinge"),
        ({"alpha": 0.0}, "alpha"),
        ({"steps": 0}, "steps"),
        ({"decay": -1.0}, "decay"),
        ({"slack": 0.7}, "slack"),
        ({"y": torch.zeros(8, dtype=torch.float64)}, "labels must be -1 or \\+1"),
        ({"y": torch.ones(5, dtype=torch.float64)}, "y must have the shape"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(change, message):
    x, y = problem(8)
    asked = {"x": x, "y": y, "alpha": 1.0} | change
    with pytest.raises(InputError, match=message):
        next(newton(nets(4, 3, 1), **asked))
