"""The flow against autograd, scipy's stiff solver, fixed tiny steps, and itself at other tolerances and precisions."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from regimes import validate
from regimes.data import tasks
from regimes.models import losses, one_hidden
from regimes.training.gradient_flow import batch as batches
from regimes.training.gradient_flow import compiled, flow_memory, gradient_flow, implicit, pairs, precision, step
from regimes.training.run import run
from regimes.training.state import after, t_star


def problem(p=12, d=3, h=20, seeds=(0,), seed=1):
    return one_hidden.one_hidden(d, h, seeds=list(seeds)), tasks.stripe(p, d, seed=seed)


def batch_of(net, task, *, alpha, tolerance=1e-2):
    x = task.x.expand(len(net.omega), *task.x.shape)
    y = task.y.expand(len(net.omega), -1)
    return batches.start(net, x, y, alpha=alpha, tolerance=tolerance)


def rates(net, task, *, alpha):
    """Minus the autograd gradient of the flow's objective, for every weight."""
    weights = [net.omega.clone().requires_grad_(), net.b.clone().requires_grad_(), net.beta.clone().requires_grad_()]
    now = one_hidden.Network(*weights)
    margins = alpha * task.y * (now(task.x) - net(task.x))
    objective = losses.named("hinge").value(margins).mean(-1).sum() / alpha
    return [-g for g in torch.autograd.grad(objective, weights)]


def test_closed_form_velocity_is_the_autograd_gradient():
    net, task = problem(seeds=(0, 1))
    omega, b, beta = rates(net, task, alpha=0.3)
    now = batch_of(net, task, alpha=0.3).now
    velocity = now.beta.unsqueeze(-1) * now.push
    torch.testing.assert_close(velocity[..., :-1], omega)
    torch.testing.assert_close(velocity[..., -1], b)
    torch.testing.assert_close((now.u * now.push).sum(-1), beta)


def test_rotation_is_the_exact_flow_of_a_constant_field():
    rng = np.random.default_rng(0)
    u, g, beta = (torch.from_numpy(rng.standard_normal(shape)) for shape in ((5, 3), (5, 3), (5,)))
    generator = torch.zeros(5, 4, 4, dtype=torch.float64)
    generator[:, :3, 3] = generator[:, 3, :3] = g
    exact = torch.linalg.matrix_exp(generator) @ torch.cat([u, beta[:, None]], -1).unsqueeze(-1)
    moved, last = batches.rotate(u, beta, g)
    torch.testing.assert_close(torch.cat([moved, last[:, None]], -1), exact.squeeze(-1))


def test_gram_of_a_step_is_the_autograd_kernel():
    net, task = problem(p=6, h=9)
    batch = batch_of(net, task, alpha=0.7)
    now = batch.now
    band = implicit.band_of(torch.ones(1, 6, dtype=torch.bool))
    matrix = implicit.gram(batch, band, batch.problem.open_gates(now.u), now.u, now.beta)[0]
    rows = []
    for i in range(6):
        weights = [
            net.omega.clone().requires_grad_(),
            net.b.clone().requires_grad_(),
            net.beta.clone().requires_grad_(),
        ]
        gradients = torch.autograd.grad(one_hidden.Network(*weights)(task.x[i : i + 1]).sum(), weights)
        rows.append(torch.cat([g.flatten() for g in gradients]))
    jacobian = torch.stack(rows) * task.y[:, None]
    torch.testing.assert_close(matrix, jacobian @ jacobian.T * 0.7 * float(batch.dt) / 6)


def after_equal_steps(count, last):
    """Weights after ``count`` equal steps to time ``last``, none refused."""
    net = one_hidden.one_hidden(3, 40, seeds=0)
    task = tasks.stripe(20_000, 3, seed=1)
    batch = batch_of(net, task, tolerance=0.99, alpha=1e-9)
    for _ in range(count):
        batch, moved = step.advance(replace(batch, dt=torch.full_like(batch.dt, last / count)))
        assert moved.all()
    return batch.now.u


def test_a_step_is_of_second_order():
    """In the gates, with so many points that they change almost continuously."""
    exact = after_equal_steps(96, 60.0)
    coarse, fine = (float((after_equal_steps(n, 60.0) - exact).norm()) for n in (3, 12))
    assert coarse / fine > 9  # 16 at second order, 4 at first


def augmented(net, task):
    """Inputs of the oracles: with a coordinate for the bias."""
    return np.concatenate([task.x.numpy() / math.sqrt(task.x.shape[1]), np.ones((len(task.x), 1))], 1)


def stiff_path(net, task, *, alpha, loss, times):
    """Margins at ``times`` from scipy's stiff solver, on the plain gradient in numpy."""
    x = augmented(net, task)
    y, h, k = task.y.numpy(), net.h, x.shape[1]
    slope = losses.named(loss).slope

    def margins(w):
        pre = w[: h * k].reshape(h, k) @ x.T
        return alpha * y * (math.sqrt(2) / h * w[h * k :] @ np.maximum(pre, 0)), pre

    def velocity(_, w):
        m, pre = margins(w)
        pull = -slope(torch.from_numpy(m - base)).numpy() * y * math.sqrt(2) / h / len(y)
        u_dot = w[h * k :, None] * (((pre > 0) * pull) @ x)
        return np.concatenate([u_dot.ravel(), np.maximum(pre, 0) @ pull])

    start = np.concatenate([torch.cat([net.omega, net.b[..., None]], -1)[0].numpy().ravel(), net.beta[0].numpy()])
    base = margins(start)[0]
    done = solve_ivp(velocity, (0, times[-1]), start, method="LSODA", t_eval=times, rtol=1e-6, atol=1e-7)
    return torch.from_numpy(np.stack([margins(w)[0] - base for w in done.y.T]))


def at(*times):
    """Events at these times."""
    return {f"t={time:g}": after(time) for time in times}


def our_path(net, task, *, times, tolerance, **kwargs):
    states = gradient_flow(net, task, tolerance=tolerance, dtype=torch.float64, **kwargs)
    events = at(*times)
    done = run(states, until=after(times[-1]), events=events)
    return torch.cat([done.at(f"t={time:g}")[3] for time in times]) * task.y


# scipy's solver cannot pass a neuron's kink that stays on a point; these paths end before one does
@pytest.mark.parametrize(
    ("loss", "alpha", "last"),
    [
        ("soft_hinge", 1.0, 20.0),
        ("soft_hinge", 1e4, 0.02),
        ("logistic", 10.0, 3.0),
        ("square", 10.0, 5.0),
        ("square", 1e3, 1.0),
        ("quadratic_hinge", 100.0, 10.0),
    ],
)
def test_path_of_a_smooth_loss_is_scipys(loss, alpha, last):
    net, task = problem()
    times = [last / 8, last / 2, last]
    oracle = stiff_path(net, task, alpha=alpha, loss=loss, times=times)
    size = oracle.abs().max()
    assert size > 0.4  # the comparison reaches the stage where margins matter
    for tolerance, allowed in ((1e-2, 0.08), (1e-3, 0.025), (1e-4, 0.008)):
        ours = our_path(net, task, times=times, alpha=alpha, loss=loss, tolerance=tolerance)
        assert (ours - oracle).abs().max() < allowed * max(size, 1.0)


def tiny_steps(net, task, *, alpha, last, steps):
    """Margins at time ``last`` by explicit Euler with ``steps`` equal steps on the hinge loss, in plain numpy."""
    x = augmented(net, task)
    u = torch.cat([net.omega, net.b[..., None]], -1)[0].numpy().copy()
    beta = net.beta[0].numpy().copy()
    y, h, dt = task.y.numpy(), net.h, last / steps

    def output():
        return math.sqrt(2) / h * beta @ np.maximum(u @ x.T, 0)

    base = output()
    for _ in range(steps):
        pre = u @ x.T
        active = y * (alpha * y * (math.sqrt(2) / h * beta @ np.maximum(pre, 0) - base) < 1) * math.sqrt(2) / h / len(y)
        u = u + dt * beta[:, None] * (((pre > 0) * active) @ x)
        beta = beta + dt * np.maximum(pre, 0) @ active
    return alpha * y * (output() - base)


@pytest.mark.parametrize(("alpha", "last"), [(0.1, 300.0), (0.1, 500.0), (100.0, 2.0), (1e-3, 600.0)])
def test_hinge_path_is_that_of_tiny_fixed_steps(alpha, last):
    net, task = problem(p=20)
    coarse, fine = (tiny_steps(net, task, alpha=alpha, last=last, steps=steps) for steps in (10_000, 20_000))
    assert np.abs(coarse - fine).max() < 0.01  # the oracle has converged
    assert (fine > 0.98).mean() > 0.1  # and events have happened
    for tolerance, allowed in ((1e-2, 0.12), (1e-3, 0.03)):
        ours = our_path(net, task, times=[last], alpha=alpha, tolerance=tolerance)
        assert np.abs(ours[0].numpy() - fine).max() < allowed


@pytest.mark.parametrize(
    ("loss", "alpha", "last"),
    [("hinge", 100.0, 2.0), ("soft_hinge", 10.0, 2.0), ("quadratic_hinge", 100.0, 2.0), ("logistic", 10.0, 3.0),
     ("square", 10.0, 2.0)],
)  # fmt: skip
def test_every_loss_alone_and_together(loss, alpha, last):
    """Two realisations, one at a time and in one batch, against the oracle of each."""
    net = one_hidden.one_hidden(3, 20, seeds=[0, 1])
    task = tasks.stripe(12, 3, seed=1)
    ones = [net[e : e + 1] for e in range(2)]
    if loss == "hinge":
        oracle = torch.stack(
            [torch.from_numpy(tiny_steps(network, task, alpha=alpha, last=last, steps=6000)) for network in ones]
        )
    else:
        oracle = torch.cat([stiff_path(network, task, alpha=alpha, loss=loss, times=[last]) for network in ones])
    assert oracle.abs().max() > 0.4
    for size in (1, 2):
        states = gradient_flow(net, task, alpha=alpha, loss=loss, tolerance=1e-3, dtype=torch.float64, together=size)
        margins = run(states, events=at(last), until=after(last)).at(f"t={last:g}")[3] * task.y
        torch.testing.assert_close(margins, oracle, atol=0.03, rtol=0)


def test_many_points_that_cross_the_corner_meet_the_same_equations_by_smaller_systems(monkeypatch):
    """Alone and together, on tensors, against tiny steps; a band of more than four points is large here."""
    monkeypatch.setattr(compiled, "suits", lambda batch: False)
    alpha, last = 1e-3, 600.0
    net = one_hidden.one_hidden(3, 20, seeds=[0, 1])
    task = tasks.stripe(24, 3, seed=1)
    ones = [tiny_steps(net[e : e + 1], task, alpha=alpha, last=last, steps=6000) for e in (0, 1)]
    oracle = torch.from_numpy(np.stack(ones))
    system = implicit._system
    sizes = []
    monkeypatch.setattr(implicit, "_system", lambda *a: sizes.append(a[2].index.shape[-1]) or system(*a))
    work = {}
    for large in (10**6, 4):
        monkeypatch.setattr(implicit, "LARGE_BAND", large)
        for together in (1, 2):
            states = gradient_flow(net, task, alpha=alpha, tolerance=1e-2, dtype=torch.float64, together=together)
            margins = run(states, events=at(last), until=after(last)).at(f"t={last:g}")[3] * task.y
            torch.testing.assert_close(margins, oracle, atol=0.12, rtol=0)
        work[large] = sum(size**3 for size in sizes)
        sizes.clear()
    assert work[4] < work[10**6]


def test_points_of_a_large_band_that_cross_go_to_the_bounds_of_their_sides(monkeypatch):
    """Two realisations: six points have crossed in the first, two more lie near; one has in the second."""
    monkeypatch.setattr(implicit, "LARGE_BAND", 4)
    low = torch.full((2, 9), 0.25)
    high = torch.full((2, 9), 0.75)
    corners = implicit._Corner(low, high, corner=1.0, tolerance=0.01)
    above = torch.tensor([0.5, 0.4, 0.3, -0.3, -0.4, -0.5, 0.001, -0.001, 0.9])
    q = torch.tensor([0.75, 0.75, 0.75, 0.25, 0.25, 0.25, 0.25, 0.75, 0.5])
    m = torch.stack([1 + above, torch.full((9,), 0.5).index_fill(0, torch.tensor(4), 2.0)])
    zero = torch.zeros(2)
    end = implicit.End(zero, zero, zero, m, torch.stack([q, torch.full((9,), 0.75)]), zero, zero)
    used = []
    monkeypatch.setattr(implicit, "_system", lambda batch, end, band: used.append(band) or None)
    wrong = corners.violation(end.m, end.q)
    passes = corners.corrections(None, end, wrong, torch.tensor([True, True]))
    band, new = next(passes)
    assert band.rows.tolist() == [0] and sorted(band.index[0].tolist()) == [0, 1, 2, 3, 4, 5]
    assert dict(zip(band.index[0].tolist(), new[0].tolist())) == {0: 0.25, 1: 0.25, 2: 0.25, 3: 0.75, 4: 0.75, 5: 0.75}
    with pytest.raises(TypeError):  # the second realisation's band goes to the linear system, which is cut off here
        next(passes)
    assert used[0].rows.tolist() == [1] and used[0].index.tolist() == [[4]]
    # in the next pass those that are still wrong, and those between, are solved for; those merely near are not
    corrected = replace(end, corrected=True)
    with pytest.raises(TypeError):
        next(corners.corrections(None, corrected, wrong, torch.tensor([True, False])))
    assert sorted(used[1].index[0].tolist()) == [0, 1, 2, 3, 4, 5, 8]


@pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
def test_arrays_of_a_state_are_made_only_where_somebody_looks(monkeypatch):
    """A run to the end looks at margins until t*, at the weights there and at the end."""
    net, task = one_hidden.one_hidden(5, 60, seeds=[0, 1]), tasks.stripe(100, 5, seed=[0, 1])
    array, made = compiled._Room.array, []
    monkeypatch.setattr(compiled._Room, "array", lambda room, i: (made.append(i), array(room, i))[1])
    count = sum(1 for _ in gradient_flow(net, task, alpha=1e-4))
    assert count > 200 and set(made) <= {compiled.ARRAYS.index("m")} and len(made) < count / 50
    made.clear()
    states = []
    done = run(states.append(state.t) or state for state in gradient_flow(net, task, alpha=1e-4))
    assert len(states) == count and set(done.events["t_star"]) == {0, 1}
    assert made.count(0) < 12 and made.count(2) < count / 2


@pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
def test_what_a_step_tells_is_what_its_batch_holds():
    net, task = one_hidden.one_hidden(5, 40, seeds=[0]), tasks.stripe(60, 5, seed=[0])
    before, ends = None, set()
    for state in gradient_flow(net, task, alpha=1e-4):
        batch = replace(state.batch, signs=None)
        assert state.at.numbers() == batch.numbers() and torch.equal(state.t, batch.t)
        assert torch.equal(state.at.m, batch.now.m) and torch.equal(state.fitted, batch.fitted)
        assert before is None or torch.equal(batch.past.u, before.now.u)
        assert before is None or torch.equal(batch.t, before.t + batch.past.dt)
        ends.add(bool(state.fitted))
        before = batch
    assert ends == {True, False} and isinstance(state.at, compiled.Step)


def test_a_multiplier_that_the_last_step_left_behind_does_not_stop_the_flow():
    """A point that crossed the corner, by much more than a step may err, while few are satisfied; alone and not."""
    net = one_hidden.one_hidden(3, 40, seeds=[0, 1])
    task = tasks.stripe(64, 3, seed=[0, 1])
    states = gradient_flow(net, task, alpha=1e-2, tolerance=5e-3, dtype=torch.float64, together=2)
    batch = next(state.batch for state in states if (state.margins > 1.15).any(-1).all())
    now, first = batch.now, batch.now.m.argmax(-1)
    assert ((now.m >= 1).double().mean(-1) < step.EARLY).all() and (now.q[[0, 1], first] == 0).all()
    stale = replace(batch, now=replace(now, q=now.q.index_put((torch.arange(2), first), torch.tensor(0.5).double())))
    moved = torch.zeros(2, dtype=torch.bool)
    for _ in range(40):
        stale, now_moved = step.advance(stale)
        moved |= now_moved
    assert moved.all() and (stale.dt > batch.dt / 10).all()


def test_the_memory_asked_for_is_that_of_the_gates_only_on_tensors(monkeypatch):
    net, task = problem(p=50, d=5, h=40)
    pairs_ = 8 * 50 * 40
    with validate.memory_asked() as asked:
        gradient_flow(net, task, alpha=1.0, dtype=torch.float64)
        gradient_flow(net, task, alpha=1.0, dtype=torch.float32)
        monkeypatch.setattr(pairs, "routines", lambda: None)
        gradient_flow(net, task, alpha=1.0, dtype=torch.float64)
        assert flow_memory(10**4, 10**4, 5) == 32 * 10**8
    assert [needed for needed, _, _ in asked[1:]] == [2 * pairs_, 4 * pairs_]


@pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
def test_the_memory_of_a_compiled_flow_grows_with_neurons_and_points_not_with_pairs():
    assert flow_memory(10**4, 10**4, 5) < 10**8
    assert flow_memory(10**4, 10**4, 5) == 10 * flow_memory(10**3, 10**3, 5)


def conserved(net):
    """``beta_n² - |omega_n|² - b_n²``, neuron by neuron."""
    return net.beta.square() - net.omega.square().sum(-1) - net.b.square()


def test_equal_points_may_have_a_label_in_common():
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    task = tasks.Task(x, torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64), "two points, twice each")
    state = next(gradient_flow(one_hidden.one_hidden(2, 8, seeds=[0]), task, alpha=1.0))
    assert state.ended == (None,) or float(state.t[0]) == 0


def test_conservation_over_a_whole_run():
    net, task = problem(p=60, d=5, h=100)
    for dtype in (torch.float32, torch.float64):
        done = run(gradient_flow(net, task, alpha=1e-6, dtype=dtype))
        scale = done.model.beta.square() + done.model.omega.square().sum(-1) + done.model.b.square()
        drift = ((conserved(done.model) - conserved(done.initial)).abs() / scale).max()
        assert done.ended == ["fitted"] and drift < (1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("alpha", [pytest.param(1e-16, marks=pytest.mark.weekly), 1e-6, 1.0, 1e8])
def test_t_star_does_not_depend_on_the_tolerance(alpha):
    count = 6 if alpha >= 1 else 2
    net = one_hidden.one_hidden(5, 100, seeds=range(count))
    task = tasks.stripe(60, 5, seed=list(range(1, count + 1)))

    def time_at(tolerance):
        return run(gradient_flow(net, task, alpha=alpha, tolerance=tolerance), until=t_star).at("t_star")[1]

    exact = time_at(1e-4 if alpha > 1 else 4e-4)
    for tolerance in (1e-2, 2e-3):
        assert (time_at(tolerance) / exact - 1).abs().max() < 2 * tolerance


def test_auto_is_float64_on_a_cpu_and_coarse_flows_take_float32_on_a_card():
    net, task = problem(p=20, d=5, h=30)
    assert next(gradient_flow(net, task, alpha=1e-3)).batch.now.u.dtype == torch.float64
    assert next(gradient_flow(net, task, alpha=1e-3, dtype=torch.float32)).batch.now.u.dtype == torch.float32
    card = torch.device("cuda")
    assert precision(1.0, 1e-2, torch.device("cpu")) == torch.float64
    assert precision(1.0, 1e-2, card) == torch.float32
    assert precision(1.0, 9e-3, card) == torch.float64
    assert precision(1e7, 1e-2, card) == torch.float64


def test_float32_follows_float64_where_a_card_picks_it():
    net, task = problem(p=60, d=5, h=100)
    for alpha in (1e-10, 1.0):
        assert precision(alpha, 1e-2, torch.device("cuda")) == torch.float32
        pair = [run(gradient_flow(net, task, alpha=alpha, dtype=dtype)) for dtype in (torch.float32, torch.float64)]
        t32, t64 = (done.at("t_star")[1] for done in pair)
        assert abs(float(t32 / t64) - 1) < 2e-3
        torch.testing.assert_close(pair[0].at("t_star")[3].double(), pair[1].at("t_star")[3], atol=0.02, rtol=0)
        assert [done.ended for done in pair] == [["fitted"], ["fitted"]]


def test_float64_where_float32_would_not_do():
    """At large alpha float32 loses the increments of the weights: the reason for the upper bound of ``precision``."""
    net, task = problem(p=100, d=5, h=150)
    pair = [run(itertools.islice(gradient_flow(net, task, alpha=1e7, dtype=dtype), 1000), until=t_star)
            for dtype in (torch.float32, torch.float64)]  # fmt: skip
    (*_, single), (*_, double) = (done.at("t_star") for done in pair)
    assert single.numel() == 0 or (single - double).abs().max() > 0.1


@pytest.mark.parametrize("points", [(), (1,), (2,)])
@pytest.mark.parametrize("labels", [(), (1,), (2,)])
def test_points_and_labels_have_an_axis_of_realisations_or_are_shared(points, labels):
    net, task = problem(p=8, seeds=(0, 1))
    given = replace(task, x=task.x.expand(*points, *task.x.shape), y=task.y.expand(*labels, -1))
    shaped, plain = (run(gradient_flow(net, data, alpha=0.3), until=after(0.1)).model for data in (given, task))
    torch.testing.assert_close(shaped.omega, plain.omega, rtol=0, atol=0)
    for wrong in (replace(task, x=task.x.expand(3, *task.x.shape)), replace(task, y=task.y.expand(3, -1))):
        with pytest.raises(validate.InputError, match=r"^the task('s labels must be|  *holds 3 realisations)"):
            gradient_flow(net, wrong, alpha=0.3)
