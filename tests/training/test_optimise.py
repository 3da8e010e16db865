"""Optimisers against closed forms, torch's own, and differential equations."""

import itertools

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from regimes.models.fully_connected import fully_connected
from regimes.training.optimise import METHODS, optimise
from regimes.training.run import run
from regimes.training.state import Ended, after, satisfied
from regimes.validate import InputError


def task(n=5, d=3, k=None):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    y = rng.standard_normal((1, n, k) if k else n)
    return torch.from_numpy(x), torch.from_numpy(y)


def labels(n=12, d=3):
    x, y = task(n, d)
    return x, torch.sign(y)


def net(*widths, seeds=(0,), **kwargs):
    return fully_connected(list(widths), seeds=list(seeds), **kwargs)


def last(states, steps):
    (*_, state) = itertools.islice(states, steps + 1)
    return state


def flat(model):
    return torch.cat([weight.flatten(1) for weight in model.parameters()], 1)


def test_linear_network_follows_the_exact_recursion():
    """One layer: f_t - y = (1 - rate Θ/n)^t (f_0 - y)."""
    x, y = task()
    model, rate = net(3, 1, seeds=[3], gain=1.0), 0.3
    state = last(optimise(model, x, y, rate=rate), 20)
    decay = torch.linalg.matrix_power(torch.eye(5).double() - rate * (x @ x.T / 3) / 5, 20)
    torch.testing.assert_close(state.F[0], y + decay @ (model(x)[0] - y), atol=1e-12, rtol=0)
    assert float(state.t) == 20
    torch.testing.assert_close(state.loss[0], (state.F[0] - y).square().mean() / 2)


def test_parametrisations_start_alike_and_follow_each_other_at_matched_rates():
    """With all widths equal to n, standard descent at rate/n is NTK descent at rate (gain 1)."""
    x, y = task(d=6, k=2)
    ends = []
    for kind, rate in (("ntk", 1.0), ("standard", 1.0 / 6)):
        ends.append(last(optimise(net(6, 6, 6, 2, parametrisation=kind, gain=1.0), x, y, rate=rate), 30).F)
    torch.testing.assert_close(*ends, atol=1e-12, rtol=0)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("method", ["gd", "adam"])
def test_the_steps_are_those_of_torch(method, decay):
    x, y = task(k=2)
    model = net(3, 8, 2, seeds=[4])
    state = last(optimise(model, x, y, method=method, rate=0.02, decay=decay), 25)
    leaves = [weight.clone().requires_grad_(True) for weight in model.parameters()]
    kind = {"gd": torch.optim.SGD, "adam": torch.optim.AdamW}[method]
    theirs = kind(leaves, lr=0.02, weight_decay=decay)
    for _ in range(25):
        theirs.zero_grad()
        residual = model.with_parameters(leaves).outputs(x) - y
        (residual.square().sum(-1).mean() / 2).backward()
        theirs.step()
    torch.testing.assert_close(flat(state.model), flat(model.with_parameters(leaves)).detach(), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_alone_is_the_run_inside_an_ensemble(method):
    x, y = labels()
    options = {"method": method, "loss": "soft_hinge", "alpha": 0.5, "centred": True}
    options |= {"momentum": {"tau": 2.0}, "gd": {"rate": 0.5}, "adam": {"rate": 0.01}}[method]
    model = net(3, 8, 1, seeds=[0, 1, 2])
    together = run(optimise(model, x, y, **options), until=satisfied(0.5))
    for e in range(3):
        alone = run(optimise(model[e : e + 1], x, y, **options), until=satisfied(0.5))
        assert alone.t[0] == together.t[e]
        torch.testing.assert_close(alone.F[0], together.F[e], atol=1e-10, rtol=1e-10)
    assert len(set(together.t.tolist())) == 3  # they left one after the other


def test_one_rate_a_realisation_and_points_of_ones_own():
    x, y = task()
    points = torch.stack([x, 2 * x])
    states = optimise(net(3, 8, 1, seeds=[0, 0]), points, y, rate=torch.tensor([0.1, 0.2], dtype=torch.float64))
    state = last(states, 5)
    for k, rate in enumerate((0.1, 0.2)):
        alone = last(optimise(net(3, 8, 1), points[k], y, rate=rate), 5)
        torch.testing.assert_close(state.F[k], alone.F[0], atol=1e-12, rtol=0)


def test_the_model_handed_in_stays_and_states_keep_their_own():
    x, y = task()
    model = net(3, 8, 1)
    before = flat(model).clone()
    first, *_, end = itertools.islice(optimise(model, x, y, rate=0.1), 10)
    assert torch.equal(flat(model), before) and torch.equal(flat(first.model), before)
    torch.testing.assert_close(end.model(x), end.F)


@pytest.mark.parametrize("tau", [0.0, 3.0])
def test_momentum_follows_its_differential_equation(tau):
    """``W' = v``, ``τ v' = -v - ∂L/∂W``; for ``τ = 0`` the gradient flow."""
    x, y = labels()
    model = net(3, 6, 1, sigma="tanh", parametrisation="mean-field", gain=1.0)
    time = 10.0
    shapes = [weight.shape for weight in model.parameters()]
    size = flat(model).shape[1]

    def at(w):
        parts = torch.from_numpy(np.asarray(w)).split([shape.numel() for shape in shapes])
        return model.with_parameters([part.view(shape) for part, shape in zip(parts, shapes)])

    def down(w):
        now = at(w)
        F = 0.7 * (now(x) - model(x))
        force = y * torch.sigmoid(20 * (1 - y * F)) / len(y)
        return torch.cat([g.flatten() for g in now.tangents(x).vjp(force)]).numpy()

    def rate(_, z):
        return down(z) if tau == 0 else np.concatenate([z[size:], (down(z[:size]) - z[size:]) / tau])

    start = flat(model)[0].numpy()
    start = start if tau == 0 else np.concatenate([start, np.zeros(size)])
    truth = solve_ivp(rate, (0, time), start, rtol=1e-10, atol=1e-12).y[:size, -1]
    errors = []
    for turn in (1e-4, 1e-6):
        options = {"method": "momentum", "tau": tau, "loss": "soft_hinge", "alpha": 0.7, "centred": True}
        done = run(
            optimise(model, x, y, max_turn=turn, **options), until=after(time), save=lambda s: (float(s.t), s.model)
        )
        times = [t for t, _ in done.saved[0]]
        weights = np.array([flat(saved)[0].numpy() for _, saved in done.saved[0]])
        path = np.array([np.interp(time, times, weights[:, i]) for i in range(size)])
        errors.append(np.abs(path - truth).max() / np.abs(truth - start[:size]).max())
    assert errors[1] < 0.01 and errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(("most_turn", "most_move"), [(0.05, 10.0), (10.0, 0.05), (0.3, 0.2)])
def test_steps_are_halved_where_they_are_refused_and_grow_where_they_are_gentle(most_turn, most_move):
    """One weight, one point and the explicit Euler rule, by hand: by a tenth where both changes are below half."""
    x, y, weight, outside = 1.3, 2.0, 0.4, 0
    dt, time, times = 1.0, 0.0, [0.0]
    while len(times) < 60:
        gradient = (y - weight * x) * x
        after_step = weight + dt * gradient
        turned = (y - after_step * x) * x
        turn = (turned - gradient) ** 2 / abs(turned * gradient)
        move = abs(after_step - weight) * x
        if turn >= most_turn or move >= most_move:
            dt, outside = dt / 2, outside + 1
            continue
        weight, time = after_step, time + dt
        dt = 1.1 * dt if turn < most_turn / 2 and move < most_move / 2 else dt
        times.append(time)
    model = net(1, 1, gain=1.0)
    model = model.with_parameters([torch.full_like(model.parameters()[0], 0.4)])
    point = torch.tensor([[x]], dtype=torch.float64)
    label = torch.tensor([y], dtype=torch.float64)
    options = {"method": "momentum", "max_turn": most_turn, "max_move": most_move}
    states = list(itertools.islice(optimise(model, point, label, **options), 60))
    np.testing.assert_allclose([float(state.t) for state in states], times, rtol=1e-9)
    np.testing.assert_allclose(float(flat(states[-1].model)), weight, rtol=1e-9)
    assert outside > 1 and max(np.diff(times)) > 1.3 * min(np.diff(times)), "steps shrink and grow"


def test_fitted_realisations_end():
    x, y = labels(6)
    options = {"method": "momentum", "loss": "soft_hinge", "alpha": 2.0, "centred": True, "max_turn": 1e-1}
    done = run(optimise(net(3, 100, 1, seeds=[0, 1]), x, y, **options))
    assert {why.kind for why in done.ended} == {Ended.FITTED} and float((done.F * y).min()) >= 1


def test_explicit_steps_on_the_hinge_shrink_to_nothing():
    """A point that reaches the margin changes the gradient by a jump, whatever the step: the original rule stalls."""
    x, y = labels(6)
    options = {"method": "momentum", "loss": "hinge", "alpha": 2.0, "centred": True, "max_turn": 1e-2}
    done = run(optimise(net(3, 100, 1), x, y, **options))
    assert done.ended[0].startswith("given up: the step has shrunk")


def test_a_rate_that_is_too_large_says_so():
    x, y = task()
    (*_, end) = optimise(net(3, 8, 8, 1), x, y, rate=1e6)
    assert end.ended[0].startswith("overflow") and "smaller rate" in end.ended[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sgd", "rate": 0.1}, "method must be one of gd, adam, momentum"),
        ({}, "rate must be a number above 0, got None"),
        ({"rate": 0}, "rate must be a number above 0"),
        ({"rate": torch.ones(1), "method": "adam"}, "one rate a realisation is for gd alone"),
        ({"rate": 0.1, "method": "momentum"}, "momentum takes its steps by itself"),
        ({"rate": 0.1, "tau": 1.0}, "tau is that of momentum"),
        ({"rate": 0.1, "loss": "hinge"}, "targets other than ±1 need the square loss, got hinge"),
        ({"rate": 0.1, "loss": "cubic"}, "loss must be one of"),
        ({"rate": 0.1, "alpha": 0.0}, "alpha must be"),
        ({"rate": 0.1, "slack": -1.0}, "slack must be"),
        ({"method": "momentum", "tau": -1.0}, "tau must be"),
        ({"method": "momentum", "max_turn": 0.0}, "max_turn must be"),
        ({"method": "momentum", "max_move": 0.0}, "max_move must be"),
        ({"rate": 0.1, "decay": -1.0}, "decay must be"),
    ],
)
def test_bad_input_is_one_line(options, message):
    x, y = task()
    with pytest.raises(InputError, match=message):
        optimise(net(3, 4, 1), x, y, **options)


def test_targets_must_fit_the_outputs():
    x, y = task()
    with pytest.raises(InputError, match=r"y must have the shape \(1, 5\)"):
        optimise(net(3, 4, 1), x, y[:4], rate=0.1)
    with pytest.raises(InputError, match="with one output is needed here, this one has 2"):
        optimise(net(3, 4, 2), x, y, rate=0.1)
