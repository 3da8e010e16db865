"""Ends, events, ensembles and what bad input gets."""

import functools
import itertools
import os
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from regimes import validate
from regimes.data import tasks
from regimes.models import fully_connected, losses, one_hidden
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import TOLERANCE, compiled, constants, gradient_flow, implicit
from regimes.training.kernel_flow import kernel_flow
from regimes.training.optimise import optimise
from regimes.training.run import run
from regimes.training.state import Ended, after, fitted, locate, satisfied, satisfied_of_each_label
from regimes.validate import InputError

ENDS = tuple(kind.value for kind in Ended if kind != Ended.UNTIL)


# all 200 at their full sizes take several minutes: REGIMES_FULL=1
FULL = bool(os.environ.get("REGIMES_FULL"))


def random_problem(i, largest):
    """Problem ``i`` of the 200: p log-uniform from 2, d to 20, alpha over 24 decades, one loss after the other."""
    rng = np.random.default_rng(i)
    p = round(2 * (largest / 2) ** rng.random())
    d = int(rng.integers(1, 21))
    alpha = 10 ** rng.uniform(-16, 8)
    task = tasks.stripe(p, d, seed=i)
    if (task.y == task.y[0]).all():
        task.y[0] *= -1
    return (
        one_hidden.one_hidden(d, 100, seeds=i),
        task,
        alpha,
        losses.named(list(losses.LOSSES)[i % len(losses.LOSSES)]),
    )


SLOW = {1, 8, 17, 18}  # of the first twenty those that take longer than a second: others have their losses


def is_weekly(i):
    return not FULL and (i >= 20 or i in SLOW)


@pytest.mark.parametrize(
    "i", [pytest.param(i, marks=[pytest.mark.weekly] * is_weekly(i)) for i in range(200 if FULL else 40)]
)
def test_random_problems_end_fitted_or_say_why(i):
    net, task, alpha, loss = random_problem(i, 500 if FULL else 30)
    done = run(gradient_flow(net, task, alpha=alpha, loss=loss))
    (why,) = done.ended
    margins = (done.F * task.y.to(done.F))[0]
    assert why.startswith(ENDS) and "\n" not in why
    assert (why == "fitted") == bool(loss.fitted(margins, TOLERANCE).all())
    # what the flow says holds for the network it hands back, in the precision of the one it was given
    outputs = alpha * (done.model(task.x) - done.initial(task.x))
    assert outputs.dtype == net(task.x).dtype
    torch.testing.assert_close(outputs, done.F.to(outputs), rtol=1e-4, atol=1e-4)


def test_a_run_alone_is_the_run_inside_an_ensemble():
    data = tasks.stripe(40, 4, seed=[0, 1, 2])
    net = one_hidden.one_hidden(4, 50, seeds=[5, 6, 7])
    together = run(gradient_flow(net, data, alpha=1e-4, tolerance=0.2))
    for e in range(3):
        task = tasks.Task(data.x[e], data.y[e], "")
        alone = run(gradient_flow(net[e : e + 1], task, alpha=1e-4, tolerance=0.2))
        assert alone.t[0] == together.t[e] and torch.equal(alone.F[0], together.F[e])


TOGETHER = {"hinge": (1e-6, 1.0, 1e4), "soft_hinge": (1e-3,), "quadratic_hinge": (1e2,), "logistic": (1e3,),
            "square": (1e3,)}  # fmt: skip


def ensemble(p, h, *, count=3, order=None):
    """An ensemble of a data set and a network each; those in ``order``."""
    data = tasks.stripe(p, 5, seed=range(count))
    net = one_hidden.one_hidden(5, h, seeds=range(5, 5 + count))
    order = list(order or range(count))
    return net[torch.tensor(order)], tasks.Task(data.x[order], data.y[order].double(), "")


def followed(net, task, together, until=fitted, **options):
    """A run with steps as coarse as they may be: whom a realisation feels does not hang on them."""
    states = gradient_flow(net, task, dtype=torch.float64, device="cpu", together=together, tolerance=0.2, **options)
    return run(states, until=until, observe=lambda s: {"satisfied": s.satisfied})


def assert_same(a, b, order=slice(None), *, tolerance=1e-11):
    """Equal at t* to rounding, or to how well implicit equations are solved; and what has become of it at the end."""
    torch.testing.assert_close(a.at("t_star")[1], b.at("t_star")[1][order], rtol=tolerance, atol=0)
    torch.testing.assert_close(a.at("t_star")[3], b.at("t_star")[3][order], rtol=0, atol=10 * tolerance)
    torch.testing.assert_close(a.t, b.t[order], rtol=1e-6, atol=0)
    torch.testing.assert_close(a.F, b.F[order], rtol=0, atol=1e-5)


@pytest.fixture
def on_tensors(monkeypatch):
    """Steps on tensors alone: the compiled one solves its box problems to the same tolerance, not to the same bits."""
    monkeypatch.setattr(compiled, "suits", lambda batch: False)


@pytest.mark.parametrize(("loss", "alpha"), [(loss, alpha) for loss in TOGETHER for alpha in TOGETHER[loss]])
def test_a_realisation_feels_no_neighbours(loss, alpha, on_tensors):
    """Alone as on the CPU, or in one batch as on CUDA, to the end of training, with as many steps."""
    if loss == "hinge":
        net, task = ensemble(60, 60) if alpha < 1e-3 else ensemble(40, 40)
    else:
        net, task = ensemble(25, 40, count=3)
    alone, together = (followed(net, task, size, alpha=alpha, loss=loss) for size in (1, len(net.omega)))
    assert alone.ended == together.ended == ["fitted"] * len(net.omega)
    assert_same(together, alone, tolerance=1e-11 if loss == "hinge" else 1e-6)
    assert Counter(row["realisation"] for row in alone.path) == Counter(row["realisation"] for row in together.path)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_order_of_an_ensemble_is_no_matter(loss):
    order = [2, 0, 1]
    straight, mixed = (followed(*ensemble(30, 30, order=given), 3, alpha=1e-3, loss=loss)
                       for given in (None, order))  # fmt: skip
    assert_same(mixed, straight, order)


def test_smaller_batches_of_an_ensemble_are_no_matter(on_tensors):
    net, task = ensemble(30, 30)
    assert_same(followed(net, task, 2, alpha=1e-3), followed(net, task, 1, alpha=1e-3))


def test_events_lie_inside_their_step():
    net = one_hidden.one_hidden(4, 80, seeds=[3, 4])
    task = tasks.stripe(50, 4, seed=2)
    rules = {"half": satisfied(0.5), "t=100": after(100.0), "t=300": after(300.0)}
    done = run(gradient_flow(net, task, alpha=1e-3, dtype=torch.float64), events=rules)
    rows, times, networks, predictor = done.at("t_star")
    margins = (predictor * task.y).sort(-1, descending=True).values
    assert rows == [0, 1] and networks.omega.shape == net.omega.shape
    torch.testing.assert_close(margins[:, 4], torch.ones(2, dtype=torch.float64), atol=1e-4, rtol=0)  # fifth of 50
    assert (times < done.at("half")[1]).all() and (done.at("half")[1] < done.t).all()
    torch.testing.assert_close(done.at("t=100")[1], torch.full((2,), 100.0, dtype=torch.float64), rtol=1e-6, atol=0)
    direct = 1e-3 * (networks(task.x) - net(task.x))
    torch.testing.assert_close(direct, predictor, atol=1e-9, rtol=1e-9)


class Step:
    """A step of length one whose states are their times."""

    def __init__(self, t):
        self.t = t

    def inside(self, share):
        return Step(share)


@pytest.mark.parametrize(
    ("rule", "root"),
    [
        (lambda t: t - 0.3, 0.3),
        (lambda t: t**9 - 1e-3, 1e-3 ** (1 / 9)),  # flat, then steep
        (lambda t: torch.minimum(t - 0.7, 20 * (t - 0.65)), 0.7),  # a corner, as where the points change places
        (lambda t: torch.exp(50 * (t - 1)) - 1e-9, 1 - 9 * np.log(10) / 50),  # all at the end
        (lambda t: torch.where(t < 0.123456, -1e-6, 1.0).double(), 0.123456),  # a jump
    ],
)
def test_an_event_is_located_in_few_passes(rule, root):
    calls = []

    def counted(state):
        calls.append(state.t)
        return rule(state.t)

    located = locate(Step(torch.ones(1, dtype=torch.float64)), counted)
    assert root - 1e-9 <= float(located.t) <= root + 1e-6 + 1e-9
    assert float(rule(located.t)) >= 0
    assert len(calls) <= 2 + 50


def test_a_smooth_event_needs_few_passes():
    """The secant lands beside it, and half the precision further on shows that it has: no halving of the interval."""
    calls = []
    locate(Step(torch.ones(1, dtype=torch.float64)), lambda state: (calls.append(1), state.t + state.t**2 - 0.3)[1])
    assert len(calls) <= 2 + 8


def test_a_smaller_margin_is_met_first():
    net = one_hidden.one_hidden(4, 80, seeds=0)
    task = tasks.stripe(30, 4, seed=2)
    rules = {"near": satisfied(0.5, margin=0.9), "there": satisfied(0.5)}
    done = run(gradient_flow(net, task, alpha=1.0), events=rules)
    first, second = (done.events[name][0] for name in ("near", "there"))
    assert first.t < second.t
    for moment, margin in ((first, 0.9), (second, 1.0)):
        assert float(moment.margins.sort(descending=True).values[14]) == pytest.approx(margin, abs=1e-3)
    with pytest.raises(InputError, match="margin must be"):
        satisfied(0.5, margin=0.0)


def test_observers_states_and_the_callers_rule():
    net = one_hidden.one_hidden(3, 50, seeds=0)
    task = tasks.stripe(30, 3, seed=2)

    def observe(state):
        return {"sat": state.satisfied, "loss": state.loss, "size": state.model.omega.square().mean((-1, -2))}

    done = run(gradient_flow(net, task, alpha=0.1, dtype=torch.float64), until=satisfied(0.5), observe=observe)
    assert done.ended == ["until"]
    path = pd.DataFrame(done.path)
    assert path.t.is_monotonic_increasing and path.loss.iloc[0] == 1.0 and path.sat.iloc[-1] >= 0.5
    assert path["size"].iloc[0] == float(net.omega.square().mean())
    sparse = run(gradient_flow(net, task, alpha=0.1), observe=lambda s: {"sat": s.satisfied}, spacing=1.5).path
    sparse = pd.DataFrame(sparse)
    assert (sparse.t.iloc[2:-1].to_numpy() >= 1.5 * sparse.t.iloc[1:-2].to_numpy()).all()


def every_solver():
    """By name: the models of three realisations, and their states by one solver."""
    net = one_hidden.one_hidden(5, 20, seeds=[0, 1, 2])
    task = tasks.stripe(30, 5, seed=2)
    deep = fully_connected.fully_connected([5, 8, 1], seeds=[0, 1, 2])
    kernels = torch.stack([task.x @ task.x.T + (1 + e) * torch.eye(30, dtype=torch.float64) for e in range(3)])
    flow = functools.partial(gradient_flow, net, task, alpha=1e-6)
    return {
        "alone": (net, flow(together=1)),
        "in pairs": (net, flow(together=2)),
        "implicit": (deep, gauss_newton(deep, task.x, task.y, alpha=1.0)),
        "descent": (deep, optimise(deep, task.x, task.y, rate=1e-2)),
        "kernels": (None, kernel_flow(kernels, task.y.expand(3, 30))),
    }, task


@pytest.mark.parametrize("solver", ["alone", "in pairs", "implicit", "descent", "kernels"])
@pytest.mark.parametrize("count", [4, 12])
def test_a_stream_that_is_cut_off_keeps_the_partial_trajectory_of_every_realisation(solver, count):
    solvers, task = every_solver()
    model, states = solvers[solver]
    done = run(itertools.islice(states, count))
    assert done.ended == ["given up: its states were cut off"] * 3
    assert done.F.shape == (3, 30) and (done.t >= 0).all() and float(done.t[0]) > 0
    if model is not None:  # in the order of the ensemble
        torch.testing.assert_close(done.initial(task.x).double(), model(task.x), rtol=1e-4, atol=1e-5)


def test_points_without_a_neuron_are_named():
    net = one_hidden.Network(-torch.ones(1, 3, 1), torch.zeros(1, 3), torch.ones(1, 3))
    task = tasks.Task(torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, -1.0]), "")
    assert run(gradient_flow(net, task, alpha=1.0)).ended[0].startswith("no gradient: no neuron is active on the 2")


def test_a_flow_that_comes_to_rest_says_so():
    """Three neurons in the lazy regime cannot fit alternating labels on a line."""
    x = torch.linspace(-2, 2, 20, dtype=torch.float64)[:, None]
    task = tasks.Task(x, torch.tensor([1.0, -1.0], dtype=torch.float64).repeat(10), "")
    done = run(gradient_flow(one_hidden.one_hidden(1, 3, seeds=0), task, alpha=1e6))
    assert done.ended[0].startswith("stationary with")
    assert f"{int((done.F[0] * task.y < 1).sum())} points" in done.ended[0]


def points(x, y):
    return tasks.Task(torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64), "")


GOOD = points([[0.0], [1.0], [2.0]], [1, -1, 1])


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        (points([[1.0]], [1]), {}, "at least 2 points"),
        (points([[0.0], [1.0]], [1, 0]), {}, "labels must be -1 or \\+1"),
        (points([[0.0], [1.0]], [1, 1]), {}, "got a single one"),
        (points([[0.0], [float("nan")]], [1, -1]), {}, "NaN"),
        (points([[0.0], [1.0], [0.0]], [1, -1, -1]), {}, "points 0 and 2 are equal and have opposite labels"),
        (points([[0.0, 1.0], [1.0, 1.0]], [1, -1]), {}, "inputs of dimension 1, the task has 2"),
        (GOOD, {"alpha": 0.0}, "alpha must be a number above 0"),
        (GOOD, {"alpha": float("nan")}, "alpha must be a number above 0"),
        (GOOD, {"tolerance": 1.0}, "tolerance must lie strictly between 0 and 1"),
        (GOOD, {"loss": "cubic"}, "loss must be one of hinge"),
        (GOOD, {"device": "abacus"}, "device must be"),
        (GOOD, {"together": 0}, "together must be a whole number of at least 1"),
    ],
)
def test_bad_input_gets_one_line_before_any_computing(task, options, message):
    with pytest.raises(InputError, match=message):
        gradient_flow(one_hidden.one_hidden(1, 4, seeds=0), task, **({"alpha": 1.0} | options))


def large(p):
    """A task of ``p`` points, and a network so narrow that its gates take little."""
    return one_hidden.one_hidden(1, 2, seeds=0), points(np.arange(p)[:, None], np.where(np.arange(p) % 2, 1, -1))


def test_a_smooth_loss_on_too_many_points_gets_one_line(monkeypatch):
    """It solves for all of them: 2000 take 96 MB, on a machine with 80."""
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 80 * 2**20)
    _, task = large(2000)
    net = one_hidden.one_hidden(1, 1000, seeds=0)
    with pytest.raises(InputError, match="linear system of a step for 2000 points would take 96000000 bytes"):
        gradient_flow(net, task, alpha=1.0, loss="logistic")
    gradient_flow(net, task, alpha=1.0, loss="hinge")  # whose band is seldom so large


def test_a_band_too_large_for_the_memory_gets_one_line(monkeypatch):
    for module in (implicit, constants):
        monkeypatch.setattr(module, "LARGE", 0)
    states = gradient_flow(*large(50), alpha=1e8)
    monkeypatch.setattr(validate, "free_memory", lambda device="cpu": 100)
    with pytest.raises(InputError, match=r"the implicit equations of a step for \d+ points would take \d+ bytes"):
        run(states)


def test_bad_rules_get_one_line():
    states = gradient_flow(one_hidden.one_hidden(1, 4, seeds=0), GOOD, alpha=1.0)
    with pytest.raises(InputError, match="spacing"):
        run(states, spacing=0.5)
    with pytest.raises(InputError, match="fraction"):
        satisfied(1.5)


def test_a_fraction_of_each_label_is_met_when_it_is_met_by_the_label_that_is_behind():
    """Counted by hand at random margins; continuous past the event as the single point that decides."""
    rng = np.random.default_rng(3)
    y = torch.tensor([[1.0] * 30 + [-1.0] * 10, [1.0] * 7 + [-1.0] * 33])
    rule = satisfied_of_each_label(0.1)
    for _ in range(50):
        margins = torch.tensor(rng.normal(0, 1.5, y.shape))
        level_of_rule = rule(SimpleNamespace(margins_to=lambda level, m=margins: m, y=y))
        for m, labels, level in zip(margins, y, level_of_rule):
            reached = all((m[labels == label] >= 1).double().mean() >= 0.1 for label in (1, -1))
            assert bool(level >= 0) == reached
        assert all(any(abs(m - 1 - past) < 1e-12) for m, past in zip(margins, level_of_rule))
    task = tasks.stripe(80, 3, interfaces=(-0.3, 0.5), seed=0)
    net = one_hidden.one_hidden(3, 40, seeds=0)
    done = run(gradient_flow(net, task, alpha=1e-6), until=rule, events={"each": rule})
    labels = task.y.flatten()
    for F, most in ((done.at("each")[-1][0], 0.1), (done.F[0], 1.0)):  # at the event, and where its step ends
        share = [float((F * labels)[labels == label].ge(1 - 1e-6).double().mean()) for label in (1, -1)]
        assert 0.1 <= min(share) <= most
    with pytest.raises(InputError, match="fraction must lie in"):
        satisfied_of_each_label(0)


def test_a_rule_that_is_an_event_and_the_end_is_asked_once_a_state():
    """At points that share their first coordinate, too, which are compared in full."""
    net, task = one_hidden.one_hidden(3, 20, seeds=0), tasks.stripe(30, 3, seed=0)
    task.x[:, 0] = task.x[:, 0].round()
    rule, asked, met = satisfied(0.3), [], []

    def counted(state):
        values = rule(state)
        (met if met or bool(values >= 0) else asked).append(float(state.t))
        return values

    done = run(gradient_flow(net, task, alpha=1e-3), until=counted, events={"mine": counted})
    plain = run(gradient_flow(net, task, alpha=1e-3), until=rule)
    assert done.ended == ["until"] and float(done.t) == float(plain.t)
    assert len(asked) > 3 and asked == sorted(set(asked))
    assert float(done.at("mine")[1]) <= float(done.t)
