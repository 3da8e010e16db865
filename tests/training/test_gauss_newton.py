"""The linearly implicit flow against stiff solvers, closed forms, fine explicit steps, and itself in other company."""

import itertools

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import nn

from companion.papers.jamming.theory.jamming import unsatisfied
from regimes import devices
from regimes.data.tasks import Task
from regimes.models.activations import activation
from regimes.models.convolutional import convolutional
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.models.module import module
from regimes.training import gauss_newton as solver
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow
from regimes.training.optimise import optimise
from regimes.training.run import run
from regimes.training.state import Ended, after, satisfied
from regimes.validate import InputError

SWISH = activation("swish", steepness=10.0, normalised=True)


def net(*widths, seeds=(0,), sigma="tanh", **kwargs):
    kwargs = {"parametrisation": "mean-field", "gain": 1.0} | kwargs
    return fully_connected(list(widths), seeds=list(seeds), sigma=sigma, **kwargs)


def problem(p=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((p, d))), torch.from_numpy(np.sign(rng.standard_normal(p)))


def flat(model):
    return torch.cat([weight.flatten(1) for weight in model.parameters()], 1)


def exact(model, x, y, alpha, loss, time):
    """Weights at a time by scipy's stiff solver."""
    shapes = [weight.shape for weight in model.parameters()]
    start = model(x)

    def at(w):
        parts = torch.from_numpy(np.array(w)).split([shape.numel() for shape in shapes])
        return model.with_parameters([part.view(shape) for part, shape in zip(parts, shapes)])

    def rate(_, w):
        now = at(w)
        m = alpha * y * (now(x) - start)
        return torch.cat([g.flatten() for g in now.tangents(x).vjp(-y * loss.slope(m) / len(y))]).numpy()

    return solve_ivp(rate, (0, time), flat(model)[0].numpy(), method="LSODA", rtol=1e-11, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("loss", ["soft_hinge", "quadratic_hinge", "logistic", "square"])
@pytest.mark.parametrize("sigma", ["tanh", "swish"])
def test_the_path_is_that_of_a_stiff_solver_to_second_order(loss, sigma):
    from regimes.models import losses

    x, y = problem()
    model, alpha, time = net(3, 6, 5, 1, sigma=sigma), 2.0, 30.0
    truth = exact(model, x, y, alpha, losses.named(loss), time)
    moved = np.linalg.norm(truth - flat(model)[0].numpy())
    errors = []
    for tolerance in (1e-3, 1e-5):
        states = gauss_newton(model, x, y, alpha=alpha, loss=loss, tolerance=tolerance)
        done = run(states, until=after(time), events={f"t={time:g}": after(time)})
        weights = flat(done.at(f"t={time:g}")[2])[0].numpy()
        errors.append(np.linalg.norm(weights - truth) / moved)
    # the last step is crossed on a straight line, which is what the looser one errs by
    assert errors[1] < 2e-4 and errors[1] < 0.3 * errors[0] + 1e-6, errors


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_linear_model_follows_its_closed_form(decay):
    """Square loss: F = (A + λ)⁻¹ A (1 - exp(-(A + λ) t)) y with A = α Θ/p."""
    x, y = problem(5, 6)
    model, alpha, time = net(6, 1), 3.0, 40.0
    options = {"alpha": alpha, "loss": "square", "tolerance": 1e-5, "decay": decay}
    done = run(gauss_newton(model, x, y, **options), until=after(time), events={f"t={time:g}": after(time)})
    A = alpha / 5 * model.tangents(x).gram()[0]
    damped = A + decay * torch.eye(5, dtype=A.dtype)
    expected = y - torch.linalg.matrix_exp(-time * damped) @ y
    expected = torch.linalg.solve(damped, A @ expected)
    torch.testing.assert_close(done.at("t=40")[3][0], expected, atol=1e-3, rtol=0)


def test_decay_ends_where_the_gradients_of_loss_and_penalty_cancel():
    x, y = problem(20)
    model = net(3, 6, 6, 1, sigma=SWISH, seeds=range(3))
    alpha = 2.0
    decay = 0.02
    done = run(gauss_newton(model, x, y, alpha=alpha, loss="quadratic_hinge", rule="settle", decay=decay, steps=500))
    weights = [w.clone().requires_grad_() for w in done.model.parameters()]
    gaps = (1 - alpha * y * (done.model.with_parameters(weights)(x) - model(x))).clamp(min=0)
    distance = sum((w - w0).square().sum() for w, w0 in zip(weights, model.parameters(), strict=True))
    total = gaps.square().mean(-1).sum() / 2 + alpha * decay / 2 * distance
    slopes = torch.autograd.grad(total, weights)
    pull = sum((alpha * decay * (w - w0)).square().sum() for w, w0 in zip(weights, model.parameters(), strict=True))
    assert {done.ended[e].kind for e in range(3)} == {Ended.JAMMED}
    assert sum(g.square().sum() for g in slopes) < 1e-5 * pull


@pytest.mark.parametrize("rule", ["follow", "settle"])
def test_a_network_alone_is_the_network_in_an_ensemble(rule):
    x, y = problem(20)
    model = net(3, 5, 5, 1, sigma=SWISH, seeds=range(4))
    options = {"alpha": 1.0, "rule": rule, "steps": 150}
    together = run(gauss_newton(model, x, y, **options), until=satisfied(0.8))
    for e in range(4):
        alone = run(gauss_newton(model[e : e + 1], x, y, **options), until=satisfied(0.8))
        assert alone.ended[0].kind == together.ended[e].kind
        assert float(alone.t[0]) == pytest.approx(float(together.t[e]), rel=1e-6)
        torch.testing.assert_close(alone.F[0], together.F[e], atol=1e-6, rtol=1e-6)


def test_on_a_gpu_as_many_networks_step_together_as_half_of_its_memory_holds(monkeypatch):
    """However much of it is free: rounding depends on which networks are computed together."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device=None: (1, 10_000))
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert [solver.together(size, gpu) for size in (1, 1000, 1001, 10**9)] == [5000, 5, 4, 1]
    assert solver.together(1000, cpu) == devices.HELD // 1000


@pytest.mark.parametrize("own_points", [False, True])
def test_networks_in_turn_end_as_they_do_together(own_points, monkeypatch):
    x, y = problem(p=16)
    model = net(3, 8, 8, 1, seeds=range(5))
    if own_points:
        x = torch.stack([(1 + i / 10) * x for i in range(5)])
        y = y.expand(5, -1)
    together = run(gauss_newton(model, x, y, alpha=1.0, rule="settle"), events={"half": satisfied(0.5)})
    parameters = sum(weight[0].numel() for weight in model.parameters())
    monkeypatch.setattr(devices, "HELD", 2 * solver.step_bytes(16, parameters, model.tangent_size))
    started, largest = [], 0
    for state in gauss_newton(model, x, y, alpha=1.0, rule="settle"):
        started += [row for row in state.rows if not float(state.t.max())]
        largest = max(largest, len(state.rows))
    assert started == [0, 1, 2, 3, 4] and largest == 2
    turns = run(gauss_newton(model, x, y, alpha=1.0, rule="settle"), events={"half": satisfied(0.5)})
    assert turns.ended == together.ended and turns.events["half"].keys() == together.events["half"].keys()
    assert torch.allclose(turns.F, together.F, rtol=1e-6) and torch.allclose(turns.t, together.t, rtol=1e-6)
    assert torch.allclose(flat(turns.model), flat(together.model), rtol=1e-6)


@pytest.mark.parametrize("block", [5, 512])
def test_the_system_of_the_points_and_that_of_the_parameters_have_one_solution(monkeypatch, block):
    from regimes.training import gauss_newton as module

    monkeypatch.setattr(module, "BLOCK", block)  # of the points of the second system

    x, _ = problem(12)
    model = net(3, 4, 4, 1, seeds=range(3))
    tangents = model.tangents(x)
    root = torch.rand(3, 12, dtype=torch.float64) * 3
    g = tangents.vjp(torch.randn(3, 12, dtype=torch.float64))
    size = sum(part[0].numel() for part in g)
    for a, b in zip(module._dual(tangents, root)(g), module._primal(tangents, root, size)(g), strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)


def test_points_in_another_order_change_nothing():
    x, y = problem(20)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    given, permuted = (
        run(gauss_newton(net(3, 5, 1), a, b, alpha=1.0), until=after(10.0)) for a, b in ((x, y), (x[order], y[order]))
    )
    torch.testing.assert_close(given.F[0, order], permuted.F[0], atol=1e-9, rtol=1e-9)


def test_single_precision_gives_the_same_path():
    x, y = problem()
    model = net(3, 6, 1)
    late = {"t=15": after(15.0)}
    low = model.to(dtype=torch.float32)
    double = run(gauss_newton(model, x, y, alpha=1.0), until=after(20.0), events=late)
    single = run(gauss_newton(low, x.float(), y, alpha=1.0), until=after(20.0), events=late)
    torch.testing.assert_close(single.at("t=15")[3].double(), double.at("t=15")[3], atol=2e-3, rtol=0)


@pytest.mark.parametrize(("h", "fits"), [(2, False), pytest.param(14, True, marks=pytest.mark.weekly)])
def test_it_ends_where_fine_explicit_steps_end(h, fits):
    """On either side of the transition: the same verdict, and about as many points left over."""
    x, y = problem(60, 5, seed=1)
    model = net(5, h, h, 1, sigma=SWISH, seeds=range(3))
    implicit = run(gauss_newton(model, x, y, alpha=10.0, rule="settle", steps=600))
    fine = optimise(
        model, x, y, method="momentum", loss="quadratic_hinge", alpha=10.0, centred=True, max_turn=1e-2, slack=1e-4
    )
    # points that cannot be fitted are left early; the margin is only crept towards
    explicit = run(itertools.islice(fine, 8000 if fits else 3000), until=after(3e4))
    unfitted = [unsatisfied(done.F * y).double() for done in (implicit, explicit)]
    assert all((why.kind == Ended.FITTED) == fits for why in implicit.ended)
    if fits:
        assert float(unfitted[1].max()) <= 3  # explicit steps creep towards the margin
    else:
        ours, theirs = (float(count.mean()) for count in unfitted)
        assert (unfitted[0] > 0).all() and abs(ours - theirs) < 0.35 * theirs


def test_a_kernel_that_cannot_fit_is_jammed():
    """One weight and two points that want it on either side."""
    x = torch.tensor([[1.0], [2.0]], dtype=torch.float64)
    y = torch.tensor([1.0, -1.0], dtype=torch.float64)
    done = run(gauss_newton(net(1, 1), x, y, alpha=1.0, rule="settle"))
    assert done.ended[0].kind == Ended.JAMMED and "points below the margin" in done.ended[0]


def test_the_slack_of_a_met_margin_is_its_own():
    """The quadratic hinge only approaches the margin: how near counts as met is an argument, not the tolerance."""
    x, y = problem(6)
    for slack in (1e-2, 1e-5):
        done = run(gauss_newton(net(3, 30, 1), x, y, alpha=1.0, rule="settle", slack=slack))
        smallest = float((done.F * y).min())
        assert done.ended[0].kind == Ended.FITTED and 1 - slack <= smallest


def test_the_gradient_flow_of_another_model_goes_this_way():
    x, y = problem()
    model = net(3, 6, 1)
    flow = run(gradient_flow(model, Task(x, y, ""), alpha=1.0, loss="soft_hinge"), until=after(5.0))
    steps = run(gauss_newton(model, x, y, alpha=1.0, loss="soft_hinge", tolerance=1e-2), until=after(5.0))
    assert torch.equal(flow.F, steps.F)
    with pytest.raises(InputError, match="take soft_hinge"):
        gradient_flow(model, Task(x, y, ""), alpha=1.0)


@pytest.mark.parametrize("rule", ["follow", "settle"])
def test_a_torch_module_and_a_convolutional_network_learn_too(rule):
    """Tangents that cannot be divided by points are taken anew at the active ones."""
    x, y = problem(8, 5)
    options = {"alpha": 1.0, "rule": rule, "tolerance": 0.05 if rule == "follow" else 0.3}
    inner = nn.Sequential(nn.Linear(5, 12, bias=False), nn.Tanh(), nn.Linear(12, 1, bias=False)).double()
    weights = tuple(parameter.detach()[None] for parameter in inner.parameters())
    same = FullyConnected(weights, (1.0, 1.0), activation("tanh"))
    first, second = (run(gauss_newton(m, x, y, **options), until=after(20.0)) for m in (module(inner), same))
    torch.testing.assert_close(first.F, second.F, atol=1e-8, rtol=1e-8)
    images = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 64)))
    done = run(
        gauss_newton(convolutional(2, seeds=[0], shape=(1, 8, 8)), images, y[:6], **options), until=satisfied(0.5)
    )
    assert done.ended[0].kind in (Ended.UNTIL, Ended.FITTED) and float(done.F.abs().max()) > 0.5


X, Y = problem(4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss must be smooth for implicit steps, got hinge: take soft_hinge"),
        ({"loss": "cubic"}, "loss must be one of"),
        ({"rule": "jump"}, "rule must be one of follow, settle"),
        ({"alpha": 0.0}, "alpha must be"),
        ({"tolerance": 0.0}, "tolerance must be"),
        ({"slack": -1.0}, "slack must be"),
        ({"decay": -1.0}, "decay must be"),
        ({"steps": 0}, "steps must be"),
        ({"y": 2 * Y}, "labels must be -1 or \\+1"),
        ({"y": Y[:3]}, "y must have the shape"),
        ({"x": X * float("nan")}, "x must hold finite numbers"),
        ({"model": net(3, 2)}, "with one output is needed here"),
    ],
)
def test_bad_input_is_one_line(options, message):
    given = {"model": net(3, 4, 1), "x": X, "y": Y, "alpha": 1.0} | options
    with pytest.raises(InputError, match=message):
        gauss_newton(given.pop("model"), given.pop("x"), given.pop("y"), **given)
