"""The frozen flow against tiny fixed steps, minimisation and closed forms."""

import math
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

from regimes.data import tasks
from regimes.kernels import wide_one_hidden_ntk
from regimes.models.losses import LOSSES
from regimes.training import kernel_flow
from regimes.training.kernel_flow import hinge
from regimes.training.run import run
from regimes.training.state import Ended, after
from regimes.validate import InputError

UNIQUE = 1e-5  # relative: rounding of the kernel, 1e-16 p, over the ridge, and more for what grows on the way


def problem(p, d=3, seed=0):
    """A Gram matrix and labels of the stripe; seeds without both classes are skipped."""
    drawn = (tasks.stripe(p, d, seed=1000 * seed + k) for k in range(99))
    task = next(task for task in drawn if task.y.unique().numel() == 2)
    return wide_one_hidden_ntk(task.x), task.y, task


def signed(gram, y, alpha=1.0):
    return (y[:, None] * gram * y * alpha / len(y)).numpy()


def margins_at(states, times):
    """Margins of the hinge path at given times, linear between events."""
    t = np.array([float(s.t) for s in states])
    m = np.stack([s.margins[0].numpy() for s in states])
    return np.stack([np.interp(times, t, column) for column in m.T], axis=1)


def tiny_steps(Q, until, interval, dt):
    """Explicit Euler of the hinge flow at a fixed step, margins at multiples of ``interval`` steps."""
    m, margins = np.zeros(len(Q)), []
    for k in range(until):
        if k % interval == 0:
            margins.append(m.copy())
        m = m + dt * (Q @ (m < 1))
    return np.array(margins)


def test_the_inverse_of_the_held_points_is_that_of_their_block():
    """Points come and go; in between, and after it was spoiled, the inverse and the responses are a solver's."""
    random = np.random.default_rng(0)
    features = random.standard_normal((40, 60))
    Q, members = features @ features.T / 60, []
    held = hinge._Held(Q)
    for _ in range(120):
        if len(members) < 2 or (len(members) < 30 and random.random() < 0.6):
            j = int(random.choice([i for i in range(40) if i not in members]))
            response, change = held.response(j)
            assert np.allclose(response, -np.linalg.solve(Q[np.ix_(members, members)], Q[members, j]))
            assert np.allclose(change, Q[j] + response @ Q[members])
            held.add(j, response, change[j])
            members.append(j)
        else:
            k = int(random.integers(len(members)))
            held.drop(k)
            members[k] = members[-1]
            members.pop()
        assert held.points.tolist() == members and np.array_equal(held.rows, Q[members])
        assert np.allclose(held.inverse, np.linalg.inv(Q[np.ix_(members, members)]))


def test_a_path_that_is_computed_anew_has_the_inverse_of_its_block():
    gram, y, _ = problem(40)
    path = hinge.HingePath(signed(gram, y))
    while path.held.count < 6:
        path.step()
    before = path.q.copy()
    exact = np.linalg.inv(path.Q[np.ix_(path.held.points, path.held.points)])
    path.held.inverse[:] *= 1 + 1e-4
    path._refresh()
    assert np.allclose(path.held.inverse, exact, rtol=1e-8) and np.allclose(path.q, before, rtol=1e-8)


needs_compiler = pytest.mark.skipif(hinge.compiled() is None, reason="no C compiler here")


def paths(Q, monkeypatch):
    """The path in C and the one on arrays of numpy, at their ends."""
    both = [hinge.HingePath(Q)]
    with monkeypatch.context() as patch:
        patch.setattr(hinge, "compiled", lambda: None)
        both.append(hinge.HingePath(Q))
    for path in both:
        path.step(math.inf)
    assert both[0].ended == both[1].ended and both[0]._events and not both[1]._events
    return both


def agree(compiled, reference, to=1e-10):
    """Times and integrals; margins where they are not far above 1."""
    assert compiled.t == pytest.approx(reference.t, rel=to)
    np.testing.assert_allclose(compiled.a, reference.a, rtol=0, atol=to * reference.a.max())
    np.testing.assert_allclose(compiled.m, reference.m, rtol=100 * to)


@needs_compiler
@pytest.mark.parametrize("alpha", [1e-16, 1.0, 1e8])
@pytest.mark.parametrize(("p", "d"), [(2, 1), (3, 1), (60, 2), (61, 20), (300, 5)])
def test_the_compiled_path_is_that_of_numpy(p, d, alpha, monkeypatch):
    gram, y, _ = problem(p, d)
    both = paths(signed(gram, y, alpha), monkeypatch)
    agree(*both)
    assert both[0].events == both[1].events
    assert p < 300 or len(both[0].held.arrays[0]) > 16  # there was more than the first room


@needs_compiler
def test_the_compiled_path_is_that_of_numpy_where_events_are_at_one_time(monkeypatch):
    """Points of a cube, equal points, and a unit matrix: the order of events is free, their end is not."""
    x = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 5)
    gram, y, _ = problem(30)
    twice = torch.arange(30).repeat(2)
    for kernel, labels in (
        (wide_one_hidden_ntk(x), x[:, 0] * x[:, 1]),
        (gram[twice][:, twice], y[twice]),
        (torch.eye(8, dtype=torch.float64), torch.tensor([1.0, -1] * 4).double()),
    ):
        compiled, reference = paths(signed(kernel, labels), monkeypatch)
        assert compiled.t == pytest.approx(reference.t, rel=1e-9)
        np.testing.assert_allclose(compiled.m, reference.m, rtol=1e-9)


@needs_compiler
def test_a_path_in_c_ends_as_one_in_numpy_does(monkeypatch):
    """A single point; a kernel that cannot fit; one that is indefinite, far from it; numbers beyond the range."""
    compiled, reference = paths(np.array([[2.0]]), monkeypatch)
    assert compiled.t == reference.t == 0.5 and compiled.ended == "fitted" and compiled.events == 1
    x = torch.tensor([[-2.0], [-1], [1], [2.5], [3]], dtype=torch.float64)
    compiled, _ = paths(signed(x @ x.T, torch.tensor([1.0, -1, -1, 1, 1])), monkeypatch)
    assert compiled.ended.kind == Ended.JAMMED
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((60, 60))
    np.fill_diagonal(noise, 0.1)
    compiled, _ = paths(noise + noise.T, monkeypatch)
    assert compiled.ended.kind == Ended.JAMMED
    with np.errstate(all="ignore"):
        compiled, _ = paths(np.full((4, 4), 1e308) + 1e307 * np.eye(4), monkeypatch)
    assert compiled.ended.kind in (Ended.JAMMED, Ended.ROUND_OFF)


@needs_compiler
def test_an_inverse_that_is_none_is_computed_anew_within_an_event(monkeypatch):
    gram, y, _ = problem(120)
    Q = signed(gram, y)
    straight, spoilt = hinge.HingePath(Q), hinge.HingePath(Q)
    straight.step(math.inf)
    refresh, anew = hinge._Held.refresh, []
    monkeypatch.setattr(hinge._Held, "refresh", lambda held: (anew.append(spoilt.events), refresh(held)))
    for events in (30, 30, 30, math.inf):
        spoilt.step(events)
        spoilt.held.inverse[:] *= 1 + 1e-3
    assert anew[:3] == [31, 61, 91]
    agree(spoilt, straight, 1e-9)


def test_one_event_at_a_time_is_the_path_in_one_go():
    """To the last bit, where held points come and go, and paths of other threads are under way."""
    gram, y, _ = problem(150)
    Q = signed(gram, y)

    def ended(count):
        path = hinge.HingePath(Q)
        while not path.ended:
            path.step(count)
        return path

    with ThreadPoolExecutor(4) as pool:
        one, *others = pool.map(ended, [1, 7, math.inf, math.inf, 100])
    for other in others:
        assert other.t == one.t and other.events == one.events and np.array_equal(other.state, one.state)


def test_a_path_is_freed_with_its_matrix():
    path = hinge.HingePath(np.eye(8))
    path.step(3)
    gone = weakref.ref(path)
    del path
    assert gone() is None


@pytest.mark.parametrize(("p", "seed"), [(2, 0), (12, 1), (40, 2)])
def test_the_hinge_path_is_the_limit_of_tiny_steps(p, seed):
    gram, y, _ = problem(p, seed=seed)
    states = list(kernel_flow.kernel_flow(gram, y))
    span = min(float(states[-1].t), 60.0)
    error = []
    for steps in (4000, 16_000):
        dt = span / steps
        margins = tiny_steps(signed(gram, y), steps, steps // 40, dt)
        error.append(abs(margins_at(states, np.arange(len(margins)) * dt * (steps // 40)) - margins).max())
    assert error[1] < 0.02 and error[0] / error[1] > 2.5  # first order: a factor 4 for each 4 times smaller step


@pytest.mark.parametrize("p", [2, 7, 60, 300])
def test_the_forces_are_a_subgradient_all_along(p):
    """Velocities are ``Q q`` with ``q`` in [0, 1], 1 below the margin, 0 above: the definition of the flow."""
    gram, y, _ = problem(p)
    states = list(kernel_flow.kernel_flow(gram, y))
    Q = signed(gram, y)
    for before, following in zip(states, states[1:]):
        dt = float(following.t - before.t)
        if dt < 1e-6:
            continue
        q = (len(y) * y * (following.coefficients - before.coefficients))[0].numpy() / dt
        m = (before.margins[0].numpy() + following.margins[0].numpy()) / 2
        slack = 1e-7
        assert q.min() > -slack and q.max() < 1 + slack
        assert abs(q[m < 1 - 1e-6] - 1).max(initial=0) < slack and abs(q[m > 1 + 1e-6]).max(initial=0) < slack
        np.testing.assert_allclose(Q @ q * dt, (following.margins - before.margins)[0], atol=1e-7)


def test_the_end_has_zero_loss_and_margins_that_belong_to_the_coefficients():
    gram, y, task = problem(120)
    end = kernel_flow.fit(gram, y)
    assert end.ended == {0: "fitted"}
    assert float(end.margins.min()) >= 1
    torch.testing.assert_close(y * end.model(gram), end.margins, rtol=1e-9, atol=1e-9)
    test = tasks.stripe(2000, 3, seed=77)
    error = (end.model(wide_one_hidden_ntk(test.x, task.x)) * test.y <= 0).double().mean()
    assert float(error) < 0.25


def test_equal_points_stay_equal():
    """A singular kernel: points twice, and others a hair apart."""
    x = tasks.gaussian_points(12, 3, seed=5)
    x = torch.cat([x, x[:6], x[6:] * (1 + 1e-9)])
    gram = wide_one_hidden_ntk(x)
    y = torch.tensor([1.0, -1.0]).repeat(12)
    end = kernel_flow.fit(gram, y)
    assert end.ended == {0: "fitted"}
    torch.testing.assert_close(end.margins[:, 12:18], end.margins[:, :6], rtol=1e-9, atol=1e-9)


def test_alpha_is_the_unit_of_time_over_24_decades():
    gram, y, _ = problem(40)
    ends = {alpha: kernel_flow.fit(gram, y, alpha=alpha) for alpha in (1e-16, 1.0, 1e8)}
    for alpha, end in ends.items():
        assert float(end.t) * alpha == pytest.approx(float(ends[1.0].t), rel=1e-5)
        torch.testing.assert_close(end.margins, ends[1.0].margins, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(alpha * y * end.model(gram), end.margins, rtol=1e-6, atol=1e-6)


def test_one_realisation_in_an_ensemble_is_the_one_alone():
    grams, labels, _ = zip(*(problem(30, seed=seed) for seed in range(4)))
    together = kernel_flow.fit(torch.stack(grams), torch.stack(labels))
    assert together.ended == dict.fromkeys(range(4), "fitted")
    for k in range(4):
        alone = kernel_flow.fit(grams[k], labels[k])
        assert float(alone.t) == float(together.t[k])
        assert torch.equal(alone.margins[0], together.margins[k]) and alone.t.shape == (1,)


def test_tstar_is_the_time_at_which_a_tenth_of_the_margins_is_met():
    gram, y, _ = problem(50)
    first = next(s for s in kernel_flow.kernel_flow(gram, y) if (s.margins >= 1).double().mean() >= 0.1)
    coarse = tiny_steps(signed(gram, y), 40_000, 1, 1.5 * float(first.t) / 40_000)
    oracle = 1.5 * float(first.t) / 40_000 * np.argmax((coarse >= 1).mean(1) >= 0.1)
    assert float(first.t) == pytest.approx(oracle, rel=1e-3)


def test_random_small_problems_all_end():
    """100 problems, sizes and dimensions at random, some with equal points of equal labels."""
    rng = np.random.default_rng(0)
    for trial in range(100):
        p = int(rng.integers(2, 80))
        d = int(rng.integers(1, 20))
        x = torch.from_numpy(rng.standard_normal((p, d)))
        y = torch.from_numpy(rng.choice([-1.0, 1.0], p))
        y[:2] = torch.tensor([-1.0, 1.0])
        if trial % 3 == 0:
            x = torch.cat([x, x[: p // 2]])
            y = torch.cat([y, y[: p // 2]])
        alpha = float(10 ** rng.uniform(-16, 8))
        end = kernel_flow.fit(wide_one_hidden_ntk(x), y, alpha=alpha)
        assert end.ended == {0: "fitted"} and float(end.margins.min()) >= 1, (trial, p, d, end.ended)


def test_a_lattice_of_equal_distances_ends():
    """Many events at one time: the kernel sees points of a cube, all ties."""
    x = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 5)
    y = x[:, 0] * x[:, 1]
    assert kernel_flow.fit(wide_one_hidden_ntk(x), y).ended == {0: "fitted"}


def test_unit_gram_gives_independent_points():
    """``K = 1``: every margin grows at 1/p and stops at 1."""
    states = list(kernel_flow.kernel_flow(torch.eye(8, dtype=torch.float64), torch.tensor([1.0, -1] * 4)))
    assert float(states[-1].t) == pytest.approx(8) and states[-1].ended == {0: "fitted"}


def test_what_a_singular_kernel_cannot_fit_is_named():
    """A linear kernel in one dimension with labels that no half-line separates: the least loss over all slopes."""
    x = torch.tensor([[-2.0], [-1], [1], [2.5], [3]], dtype=torch.float64)
    y = torch.tensor([1.0, -1, -1, 1, 1])
    end, loss = kernel_flow.fit(x @ x.T, y), LOSSES["hinge"]
    assert end.ended[0].startswith("jammed with") and "cannot fit" in end.ended[0]
    minimum = minimize_scalar(lambda w: float(loss.value(w * x[:, 0] * y).mean()), (-3, 3), tol=1e-12).fun
    assert float(loss.value(end.margins).mean()) == pytest.approx(minimum, abs=1e-6)


def faint(p=160, features=60, seed=0):
    """A Gram matrix of fewer features than points, eigenvalues down to 1e-12 of it; labels; the test kernel."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** -np.linspace(0, 6, features)
    train = rng.standard_normal((p, features)) * size
    test = rng.standard_normal((300, features)) * size
    y = np.where(rng.permutation(p) % 2, 1.0, -1.0)
    train[:, 0] += 0.5 * y
    return [torch.from_numpy(a) for a in (train @ train.T, y, test @ train.T)]


@pytest.mark.parametrize("ridge", [1e-2, 1e-5, 1e-8])
def test_a_ridge_gives_equal_points_their_mean_label(ridge):
    """One feature, three equal points: with ``ε`` a point's own, margins end at 1 and ``f = Σy/(p + ε)``, exactly."""
    y = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    gram = torch.ones(3, 3, dtype=torch.float64)
    end = kernel_flow.fit(gram, y, ridge=ridge)
    assert end.ended == {0: "fitted"}
    torch.testing.assert_close(end.model(gram)[0], torch.full_like(y, 1 / (3 + ridge)), rtol=1e-6, atol=0)
    torch.testing.assert_close(end.margins[0], torch.ones_like(y), rtol=0, atol=1e-7)
    time = 3 / (1 + ridge) + 6 * (2 + ridge) / (ridge * (1 + ridge) * (3 + ridge))  # two points, then the third's own
    assert float(end.t) == pytest.approx(time, rel=1e-6)


def test_a_ridge_is_a_multiple_of_the_unit_matrix_that_predictions_do_not_see():
    gram, y, _ = problem(40)
    grams = torch.stack([gram, 5 * gram])
    end = kernel_flow.fit(grams, y.expand(2, -1), ridge=0.1)
    for k, kernel in enumerate(grams):
        ridged = kernel + 0.1 * kernel.diagonal().mean() * torch.eye(40, dtype=torch.float64)
        alone = kernel_flow.fit(ridged, y)
        torch.testing.assert_close(end.margins[k], alone.margins[0], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(y * alone.model(ridged)[0], end.margins[k], rtol=1e-9, atol=1e-9)
        assert float((y * end.model(grams)[k] - end.margins[k]).abs().max()) > 1e-2


def test_the_end_without_a_ridge_is_the_limit_of_small_ones():
    gram, y, task = problem(60)
    cross = wide_one_hidden_ntk(tasks.stripe(200, 3, seed=77).x, task.x)
    without = kernel_flow.fit(gram, y).model(cross)
    error = [float((kernel_flow.fit(gram, y, ridge=r).model(cross) - without).abs().max()) for r in (1e-7, 1e-9)]
    assert error[0] < 1e-2 and 30 < error[0] / error[1] < 300  # linear in the ridge


@pytest.mark.parametrize(("features", "ridge"), [(3, 1e-6), (60, 1e-7)])
def test_the_end_with_a_ridge_is_unique_where_a_kernel_has_few_features(features, ridge):
    """Order of the points, and errors as another processor makes them: nothing that shows in the function learnt.

    Three features cannot fit at all; of sixty the faintest weigh 1e-12 of the first.
    """
    gram, y, cross = faint(features=features)
    end = kernel_flow.fit(gram, y, ridge=ridge)
    assert end.ended == {0: "fitted"} and float(end.margins.min()) >= 1
    rng = np.random.default_rng(1)
    order = torch.from_numpy(rng.permutation(len(y)))
    turned = kernel_flow.fit(gram[order][:, order], y[order], ridge=ridge)
    noise = torch.from_numpy(rng.standard_normal(gram.shape))
    perturbed = kernel_flow.fit(gram + 1e-15 * (noise + noise.T) * gram.diagonal().max(), y, ridge=ridge)
    f = end.model(cross)
    for fit, columns in ((turned, cross[:, order]), (perturbed, cross)):
        assert fit.ended == {0: "fitted"}
        assert float((fit.model(columns) - f).abs().max()) < UNIQUE * float(f.abs().max())


def test_a_realisation_that_cannot_be_fitted_leaves_the_others_alone():
    x = torch.tensor([[-2.0], [-1], [1], [2.5]], dtype=torch.float64)
    grams = torch.stack([x @ x.T, torch.eye(4, dtype=torch.float64)])
    y = torch.tensor([[1.0, -1, -1, 1]] * 2)
    end = kernel_flow.fit(grams, y)
    assert end.ended[0].startswith("jammed") and end.ended[1] == "fitted"


def test_a_path_that_does_not_end_is_given_up_and_says_so(monkeypatch):
    monkeypatch.setattr(hinge, "EVENTS", 0.1)
    path = hinge.HingePath(np.eye(80) + 0.5)
    while not path.ended:
        path.step()
    assert path.ended.kind == Ended.ROUND_OFF and path.events == 11
    assert "given up after 11 events" in path.ended and np.isfinite(path.state).all()


def test_moments_between_the_events_of_several_kernels():
    """``K = a`` on its diagonal alone: margins grow at ``a/p`` until they are met, the integrals of the force as 1."""
    grams = torch.stack([a * torch.eye(8, dtype=torch.float64) for a in (1.0, 2.0)])
    y = torch.tensor([1.0, -1] * 4, dtype=torch.float64)
    done = run(kernel_flow.kernel_flow(grams, y.expand(2, 8)), events={"t=3": after(3.0)})
    rows, times, models, F = done.at("t=3")
    assert rows == [0, 1] and times.tolist() == pytest.approx([3, 3], rel=1e-5)
    torch.testing.assert_close(F, y * torch.tensor([[3 / 8], [6 / 8]]).double(), rtol=1e-5, atol=1e-9)
    torch.testing.assert_close(models.coefficients, (y * 3 / 8).expand(2, 8), rtol=1e-5, atol=1e-9)
    assert done.t.tolist() == pytest.approx([8, 4])


def test_float32_input_is_followed_in_float64():
    gram, y, _ = problem(30)
    end = kernel_flow.fit(gram.float(), y.float())
    assert end.margins.dtype == torch.float64 and float(end.t) == pytest.approx(
        float(kernel_flow.fit(gram, y).t), rel=0.05
    )


def bad(change):
    gram, y, _ = problem(6)
    settings = {"gram": gram.clone(), "y": y.clone()}
    return {**settings, **change(settings["gram"], settings["y"])}


def opposite_twins(_gram, y):
    x = tasks.gaussian_points(6, 3, seed=1)
    x[4] = x[1]
    y = torch.tensor([1.0, 1, 1, -1, -1, -1])
    return {"gram": wide_one_hidden_ntk(x), "y": y}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda k, y: {"alpha": 0.0}, "alpha"),
        (lambda k, y: {"alpha": math.nan}, "alpha"),
        (lambda k, y: {"ridge": -1e-9}, "ridge must be a number from 0 to 1e.12"),
        (lambda k, y: {"ridge": math.nan}, "ridge"),
        (lambda k, y: {"ridge": "small"}, "ridge"),
        (lambda k, y: {"y": torch.ones(6)}, "both classes"),
        (lambda k, y: {"y": 2 * y}, "-1 or"),
        (lambda k, y: {"y": y[:5]}, "gram must be"),
        (lambda k, y: {"gram": k[:1, :1], "y": y[:1]}, "p >= 2"),
        (lambda k, y: {"gram": k * torch.nan}, "gram must hold finite numbers"),
        (lambda k, y: {"gram": k + torch.arange(6)}, "symmetric"),
        (lambda k, y: {"gram": -k}, "positive diagonal"),
        (opposite_twins, "points 1 and 4 are equal .* opposite labels"),
    ],
)
def test_bad_input_gets_one_line_before_any_step(change, words):
    settings = bad(change)
    with pytest.raises(InputError, match=words) as error:
        kernel_flow.kernel_flow(settings.pop("gram"), settings.pop("y"), **settings)
    assert "\n" not in str(error.value)
