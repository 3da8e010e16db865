"""The ridge saddle point: invariances, limits, bounds, sampled spectra; and what it refuses."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.optimize import minimize_scalar

from companion.papers.one_step.theory import bounds, measure, readout_values, ridge_theory, row_covariance, saddle_point
from companion.papers.one_step.theory.conditional_map import channel, equivalent
from companion.papers.one_step.theory.functions import FUNCTIONS, Function, function, hermite
from regimes import gaussian
from regimes.validate import InputError
from tests.cases import for_each

BASE = dict(alpha=1.5, beta=0.8, lam=0.1, r=2.0, c=1.2, gamma=0.8)


def random_settings(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        alpha, beta = np.exp(rng.uniform(np.log(0.2), np.log(6), 2))
        target = str(rng.choice(["tanh", "sin", "sign", "He1+He3"]))
        yield target, dict(alpha=alpha, beta=beta, r=rng.uniform(0.1, 4), c=1 + rng.exponential(0.4))


@pytest.mark.parametrize("target", ["sin", "sign", "He1+He3"])
def test_without_a_spike_the_alignment_does_not_matter(target):
    errors = ridge_theory.solve(
        "tanh", target, **BASE | {"r": 0.0, "gamma": np.array([-1.0, 0.0, 0.3, 0.995, 1.0])}
    ).test_error
    np.testing.assert_allclose(errors, errors[0], rtol=1e-10)


@pytest.mark.parametrize("target, setting", list(random_settings(6)))
def test_infinite_penalty_reaches_the_upper_bound(target, setting):
    error = ridge_theory.solve("tanh", target, lam=1e13, **setting).test_error
    upper = bounds.bounds("tanh", target, r=setting["r"], c=setting["c"]).upper
    assert error == pytest.approx(upper, abs=1e-10)


@pytest.mark.parametrize("target, setting", list(random_settings(12, seed=1)))
def test_bounds_hold(target, setting):
    penalties = np.geomspace(1e-6, 1e10, 50)
    bound = bounds.bounds("tanh", target, r=setting["r"], c=setting["c"])
    errors = ridge_theory.solve("tanh", target, lam=penalties, **setting).test_error
    assert errors.min() <= bound.upper + 1e-9
    assert (errors >= bound.lower - 1e-9).all()


def test_many_samples_and_neurons_come_near_the_lower_bound():
    penalties = np.geomspace(1e-3, 1e4, 60)
    rich = ridge_theory.solve("tanh", "He1+He3", alpha=400.0, beta=100.0, lam=penalties, r=1.5).test_error.min()
    bound = bounds.bounds("tanh", "He1+He3", r=1.5)
    assert 0 < (rich - bound.lower) / (bound.upper - bound.lower) < 0.1


@pytest.mark.parametrize("target, setting", list(random_settings(6, seed=2)))
def test_bounds_hold_at_a_bias_and_over_steps(target, setting):
    plain = {name: setting[name] for name in ("alpha", "beta", "r")}
    for bias in (-1.2, 0.4):
        low = bounds.bounds("tanh", target, r=plain["r"], bias=bias).lower
        assert (
            ridge_theory.solve("tanh", target, lam=np.geomspace(1e-6, 1e4, 40), bias=bias, **plain).test_error >= low
        ).all()
    errors = ridge_theory.solve("tanh", target, lam=np.geomspace(1e-6, 1e10, 50), **plain).test_error
    result = [bounds.bounds("tanh", target, r=float(r)) for r in np.linspace(8 / 60, 8, 60)]
    lower = min(bound.lower for bound in result)
    upper = min(bound.upper for bound in result)
    assert lower <= errors.min() + 1e-9 and lower <= upper
    assert upper <= bounds.bounds("tanh", target, r=plain["r"]).upper + 1e-9


@pytest.mark.parametrize("target", ["sin", "sign", "He1+He3"])
def test_several_readout_values_span_more_than_one(target):
    one, two, three = (
        bounds.bounds("tanh", target, r=1.5, c=1.1, values=v).lower for v in ([1.0], [1.0, 0.5], [1.0, 0.5, 2.0])
    )
    assert one > 1.05 * two > 1.05**2 * three > 0


@pytest.mark.parametrize("name, strength", [("erf", np.sqrt(3)), ("erf(x/√2)", np.sqrt(2))])
def test_perfect_learning(name, strength):
    value = lambda r: bounds.bounds(name, name, r=float(r)).upper  # noqa: E731
    result = minimize_scalar(value, bounds=(0.1, 8), method="bounded", options={"xatol": 1e-9})
    assert result.x == pytest.approx(strength, abs=1e-5)
    assert bounds.bounds(name, name, r=strength).upper < 1e-15
    assert ridge_theory.solve(name, name, alpha=2, beta=1, lam=1e12, r=strength).test_error < 1e-9


@pytest.mark.parametrize("target", ["sign", "sin"])
def test_strong_spikes_against_the_limit_of_a_sign_network(target):
    """The features are sign(k) up to a layer 1/r: the departure from their limit falls as 1/r."""
    setting = dict(alpha=2.0, beta=1.0, lam=0.1, c=1.0, gamma=1.0)
    errors = ridge_theory.solve("tanh", target, r=np.array([125.0, 250.0, 500.0, 1000.0]), **setting).test_error
    steps = np.diff(errors)
    np.testing.assert_allclose(steps[1:] / steps[:-1], 0.5, rtol=0.05)


def test_perfect_step_in_closed_form():
    h = hermite(function("erf"), function("erf"))
    assert np.sqrt(3) / (h.h1 * h.t1) == pytest.approx(3 * np.sqrt(3) * np.pi / 4, rel=1e-10)


def test_best_linear_is_the_limit_of_random_features():
    large_error = ridge_theory.solve("tanh", "sin", alpha=1e5, beta=1e3, lam=1.0, r=0.0).test_error
    assert large_error == pytest.approx(bounds.best_linear("sin"), rel=2e-2)


def test_readout_values_that_are_equal_are_one():
    uniform = ridge_theory.solve("tanh", "sign", width=400, **BASE)
    split = readout_values.solve_readout_values("tanh", "sign", width=400, values=(1.0, 1.0), **BASE)
    assert split.test_error == pytest.approx(uniform.test_error, rel=1e-9)
    assert split.train_error == pytest.approx(uniform.train_error, rel=1e-9)
    assert split.m.sum() == pytest.approx(uniform.m, rel=1e-9)


def test_readout_values_of_opposite_sign_span_one_function_only():
    plain = dict(alpha=2.0, beta=1.0, lam=0.05, r=1.5, gamma=1.0)
    solution = readout_values.solve_readout_values("tanh", "sin", values=(1.0, -1.0), **plain)
    assert np.isfinite(solution.test_error)
    assert solution.m[0] == pytest.approx(-solution.m[1], rel=1e-6)


@pytest.mark.parametrize(
    ("degree", "values", "width"), [(3, (0.5, 2.0), 1e10), (3, (1.0, 2.0, -1.0), 1e10), (5, (0.5, 1.0, 2.0), 1e13)]
)
def test_weak_spikes_learn_a_share_of_a_degree_from_its_threshold_on(degree, values, width):
    """The closed prefactor against the rule's saddle point, at the target's part of that degree."""
    part = np.polynomial.hermite_e.HermiteE.basis(degree)
    target = Function("mixed", lambda x: x + torch.as_tensor(part(x.numpy())) / 10)
    kind = dict(alpha=4.0, beta=1.0, lam=0.1, values=values, width=width)
    for share in (0.25, 0.5):
        r = readout_values.threshold("tanh", degree, share=share, **kind)
        assert readout_values.learned_share("tanh", target, degree, r=r, **kind) == pytest.approx(share, abs=0.02)
    assert readout_values.threshold("tanh", degree, **kind | {"width": 100 * width}) == pytest.approx(
        readout_values.threshold("tanh", degree, **kind) * 100 ** (-1 / (2 * degree))
    )


def test_one_readout_value_has_no_threshold_but_the_linear_one():
    kind = dict(alpha=4.0, beta=1.0, lam=0.1, width=1e4)
    for values in ((1.0,), (2.0, -2.0), (0.0, 3.0)):
        assert readout_values.threshold("tanh", 3, values=values, **kind) == np.inf
    # its linear part depends on p r^2 alone
    errors = [
        float(ridge_theory.solve("tanh", "sign", alpha=2.0, beta=1.0, lam=1.0, r=r, width=0.1 / r**2).test_error)
        for r in (1e-2, 1e-3, 1e-4)
    ]
    assert errors[1] == pytest.approx(errors[2], rel=1e-4) and errors[0] == pytest.approx(errors[2], rel=1e-2)
    for change, message in (({"degree": 4}, "odd number from 3"), ({"share": 1.0}, "share"), ({"width": 0.0}, "width")):
        with pytest.raises(InputError, match=message):
            readout_values.threshold("tanh", **{"degree": 3, "values": (1.0, 2.0)} | kind | change)


def test_finite_width_rule_tends_to_the_limit():
    limit = ridge_theory.solve("tanh", "sin", **BASE).test_error
    gaps = [abs(ridge_theory.solve("tanh", "sin", width=p, **BASE).test_error - limit) for p in (1e2, 1e3, 1e4)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2] > 0


@pytest.mark.parametrize("beta", [0.4, 1.0, 2.5])
def test_marchenko_pastur_functionals_against_sampled_spectra(beta):
    d, c, B, s = 1200, 1.7, 0.6, 0.3
    p = round(beta * d)
    w = np.random.default_rng(5).standard_normal((p, d))
    w *= np.sqrt(c) / np.linalg.norm(w, axis=1, keepdims=True)
    D = np.linalg.eigvalsh(w @ w.T) if p <= d else np.r_[np.linalg.eigvalsh(w.T @ w), np.zeros(p - d)]
    S = s + B * D
    V, P = ridge_theory.marchenko_pastur(*(np.array(v) for v in (B, s, c, beta)))
    sampled = [np.mean(D / S), np.mean(1 / S), np.mean((D / S) ** 2), np.mean(D / S**2), np.mean(1 / S**2)]
    result = [*V, P[0, 0], P[0, 1], P[1, 1]]
    np.testing.assert_allclose(result, sampled, rtol=5e-3)


def test_marchenko_pastur_derivatives():
    at, step = np.array([0.6, 0.3]), 1e-6
    functionals = lambda at: ridge_theory.marchenko_pastur(*(np.array(v) for v in (*at, 1.7, 2.5)))  # noqa: E731
    P = functionals(at)[1]
    for i in range(2):
        up, down = (functionals(at + sign * step * np.eye(2)[i])[0] for sign in (1, -1))
        slope = -(up - down) / (2 * step)
        np.testing.assert_allclose(P[:, i], slope, rtol=1e-6)


def test_arrays_give_what_single_settings_give():
    alphas = np.array([0.3, 1.0, 3.0])
    together = ridge_theory.solve("tanh", "sign", **BASE | {"alpha": alphas, "r": np.array([[0.5], [2.0]])})
    assert together.test_error.shape == (2, 3)
    alone = ridge_theory.solve("tanh", "sign", **BASE | {"alpha": 3.0, "r": 0.5})
    assert together.test_error[0, 2] == pytest.approx(float(alone.test_error), rel=1e-10)


def test_a_row_gives_what_its_spike_gives_and_so_does_a_table():
    row = {"activation": "tanh", "target": "sin", "alpha0": 4.0, "alpha": 2.0, "beta": 1.0, "lam": 0.1, "step": 0.0}
    steps = np.array([0.0, 1.0, 8.0])
    result = measure.theory(pd.Series(row), step=steps)
    table = measure.predicted(pd.DataFrame([row | {"step": step} for step in steps[::-1]]))
    np.testing.assert_allclose(table["test_error"][::-1], result.test_error, rtol=1e-10)
    for step, error in zip(steps, result.test_error):
        kind = vars(equivalent("tanh", "sin", alpha0=4.0, step=step))
        alone = ridge_theory.solve("tanh", "sin", alpha=2.0, beta=1.0, lam=0.1, **kind)
        assert error == pytest.approx(alone.test_error, rel=1e-10)
        assert measure.theory(row, **kind).test_error == alone.test_error


def test_what_is_learned_along_the_target_bounds_the_error_and_is_all_of_it_with_many_samples():
    row = {"activation": "tanh", "target": "sin", "r": 2.0, "c": 1.0, "gamma": 1.0, "beta": 50.0, "lam": 1.0}
    t, w = gaussian.trapezoid(120)
    for alpha, part in ((0.5, 0.0), (400.0, 0.95)):
        error = measure.theory(row, alpha=alpha).test_error
        along = w @ (np.sin(t) - measure.learned(row, t, alpha=alpha)) ** 2
        assert part * error < along < error
    line = measure.learned(row, t, alpha=2.0, r=0.0)
    assert abs(line - line[-1] / t[-1] * t).max() < 1e-10


def test_the_fewest_seeds_of_any_key_at_any_size():
    seeds = {("a", 10): [0, 1], ("a", 20): [0, 5, 5], ("b", 10): [0, 0, 7, 8]}
    rows = [(*key, seed) for key, seeds_of_key in seeds.items() for seed in seeds_of_key]
    table = pd.DataFrame(rows, columns=["key", "d", "seed"])
    assert measure.block_count(table, ["key"]) == 2 and measure.block_count(table[table.key == "b"], ["key"]) == 3


def test_interpolation_peak_at_a_tiny_penalty():
    peak = ridge_theory.solve("tanh", "sin", alpha=np.linspace(0.8, 1.2, 41), beta=1.0, lam=1e-6, r=1.0, gamma=0.6)
    assert peak.test_error.argmax() == 20  # at n = p
    assert np.isfinite(peak.test_error).all() and peak.iterations.max() < 40


def test_no_step_is_no_spike():
    for zero in ({"alpha0": 0, "step": 2.0}, {"alpha0": 1.0, "step": 0}):
        result = equivalent("tanh", "sin", **zero)
        assert (result.c, result.r) == (1.0, 0.0)
    perfect = equivalent("tanh", "sin", alpha0=np.inf, step=2.0)
    assert (perfect.c, perfect.gamma) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"alpha": 0}, "alpha must be a number above 0"),
        ({"beta": -1}, "beta must be a number above 0"),
        ({"lam": -0.1}, "lam must be a number above 0"),
        ({"gamma": 1.1}, "gamma is the cosine"),
        ({"c": 0}, "c must be"),
        ({"noise": -1}, "noise must be"),
    ],
)
def test_numbers_that_make_no_sense_get_one_line(change, message):
    with pytest.raises(InputError, match=message) as caught:
        ridge_theory.solve("tanh", "sin", **BASE | change)
    assert "\n" not in str(caught.value)


def test_functions_that_make_no_sense_get_one_line():
    with pytest.raises(InputError, match=r"relu is not odd.*give the spiked features a bias"):
        ridge_theory.solve("relu", "sin", **BASE)
    assert np.isfinite(ridge_theory.solve("relu", "sin", bias=0.3, **BASE).test_error)
    with pytest.raises(InputError, match="relu is not odd"):
        equivalent("relu", "sin", alpha0=1.0, step=1.0)
    for name, f in (
        ("exp(x²/2)", lambda x: torch.exp(x**2 / 2)),
        ("1/x", lambda x: 1 / x),
        ("exp(x²/4)", lambda x: torch.exp(x**2 / 4)),
    ):
        with pytest.raises(InputError, match="no finite second moment"):
            ridge_theory.solve("tanh", Function(name, f), **BASE)
    with pytest.raises(InputError, match="target must be one of"):
        ridge_theory.solve("tanh", "nonsense", **BASE)


def test_failure_to_converge_names_the_state(monkeypatch):
    monkeypatch.setattr(saddle_point, "_ITERATIONS", 2)
    with pytest.raises(saddle_point.NotConverged, match=r"alpha=1.5, beta=0.8, lam=0.1.*V=.*residual"):
        ridge_theory.solve("tanh", "sin", **BASE)
    with pytest.raises(saddle_point.NotConverged, match=r"after 2 steps: beta=0.8, lam=0.1, V=.*relative residual"):
        readout_values.solve_readout_values("tanh", "sin", **BASE)


def test_one_saddle_point_for_three_bulks():
    """One readout value and isotropic rows are the plain bulk: traces, overlaps and norms obey the same equations."""
    setting = {**BASE, "width": 300.0}
    plain = ridge_theory.solve("tanh", "sign", **setting)
    letter = readout_values.solve_readout_values("tanh", "sign", **setting)
    rows = row_covariance.predict_features("tanh", "sign", **setting)
    for solution in (letter, rows):
        for name in ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
            assert np.squeeze(getattr(solution, name)) == pytest.approx(float(getattr(plain, name)), rel=1e-6), name
        assert solution.test_error == pytest.approx(float(plain.test_error), rel=1e-9)
        assert solution.train_error == pytest.approx(float(plain.train_error), rel=1e-9)


def test_fixed_point_and_its_curvature():
    """The functionals give the point back, and the curvature is minus the derivative of the hats."""
    e = channel(function("tanh"), function("sin"), r=1.5, c=1.2, gamma=0.7)
    ratio = np.array([2.0])

    def bulk(hats, _):
        return ridge_theory.marchenko_pastur(hats[:, 0], 0.1 + hats[:, 1], np.array([1.2]), np.array([0.8]))

    V, one_plus_V, steps = saddle_point.variances(bulk, e.squares, e.weight, ratio, np.array([[12.0, 10.0]]), {})
    assert steps[0] < 10
    np.testing.assert_allclose(one_plus_V, 1 + V @ e.squares[0], rtol=1e-15)
    plain, _ = bulk(saddle_point.hats(e.squares, e.weight, one_plus_V, ratio), None)
    np.testing.assert_allclose(plain, V, rtol=1e-11)
    curvature = saddle_point.curvature(e.squares, e.weight, one_plus_V, ratio)
    for i, step in enumerate(np.diag(1e-6 * V[0])):
        ends = (1 + (V + sign * step) @ e.squares[0] for sign in (1, -1))
        up, down = (saddle_point.hats(e.squares, e.weight, end, ratio) for end in ends)
        np.testing.assert_allclose(curvature[0, :, i], -(up - down)[0] / (2 * step[i]), rtol=1e-6)


def test_channel_at_zero_spike_is_constant():
    e = channel(function("tanh"), function("sign"), r=0.0, c=1.3, gamma=0.5)
    assert np.ptp(e.kappa1) == 0
    np.testing.assert_allclose(e.kappa0, 0, atol=1e-15)


def test_the_dimension_of_a_vocabulary():
    """Generically two functions for each size of a value; fewer where the activation is a polynomial."""
    assert [bounds.span_dimension("tanh", values, r=1.0) for values in ((1.0,), (0.5, 2.0), (0.5, 1.0, 2.0))] == [
        2,
        4,
        6,
    ]
    assert bounds.span_dimension("sin", (0.7, 1.9), r=1.5) == 4
    assert bounds.span_dimension("tanh", (-1.0, 1.0), r=1.0) == 2, "opposite values have the functions of one"
    assert bounds.span_dimension("identity", (0.5, 1.0, 2.0), r=1.0) == 1
    assert bounds.span_dimension("He1+He3", (0.5, 1.0, 2.0), r=1.0) == 2, "the odd polynomials to degree three"


def test_more_sizes_approach_the_target():
    lower = [
        bounds.bounds("tanh", "He1+He3", r=1.0, values=values).lower for values in ((1.0,), (0.5, 1.0), (0.5, 1.0, 2.0))
    ]
    assert lower == sorted(lower, reverse=True) and lower[-1] < 0.1 * lower[0]


@for_each(FUNCTIONS)
def test_breaks_are_where_a_function_or_its_slope_jumps(f):
    x, step = np.arange(-500, 501) / 100, 1e-6
    below, at, above = (f.array(x + shift) for shift in (-step, 0, step))
    jumps = (abs(above - below) > 1e-3) | (abs(above - 2 * at + below) > 1e-3 * step)
    assert tuple(x[jumps]) == f.breaks
