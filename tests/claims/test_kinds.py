"""Claims whose rows are not stored, and those that need several training sets, on made rows.

The statement is true on some rows, and the rival on others; on too few the claim says nothing.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

from companion.papers.compression.claims import curved
from companion.papers.jamming.claims import jamming
from companion.papers.jamming.theory import jamming as theory
from companion.papers.one_step.claims import spiked_features
from companion.papers.one_step.theory import convex_theory
from tests.claims.test_05 import SEEDS, table, verdict

LIMITS = {"theta": 0.25, "rho": 1.0}


@pytest.mark.parametrize(
    ("name", "kernel", "left", "said"),
    [
        ("C.Fig4-correlation", "rho", 0.03, "reproduced"),
        ("C.Fig4-correlation", "rho", 0.3, "not reproduced"),
        ("C.Fig5-theta", "theta", 0.05, "reproduced"),
        ("C.Fig5-theta", "theta", 0.3, "not reproduced"),
    ],
)
def test_what_thirty_layers_leave_of_the_distance_from_the_limit(name, kernel, left, said):
    """Of one kernel, from depth 1 to depth 30; other kernels and depths have the other number."""
    rows = []
    for other, depth, seed in itertools.product(LIMITS, (1, 2, 30, 60), SEEDS):
        share = {1: 1.0, 30: left}.get(depth, 0.33 - left) if other == kernel else 0.33 - left
        apart = np.array([0.4, -0.1]) * share * (1 + 1e-3 * seed)
        rows.append({"kernel": other, "depth": depth, "seed": seed, "pair": list(LIMITS[other] + apart)})
    assert verdict(name, paths=pd.DataFrame(rows)) == said


@pytest.mark.parametrize(("power", "said"), [(0.05, "reproduced"), (0.0, "not reproduced"), (0.5, "not reproduced")])
def test_the_growth_of_the_depth_bound(power, said):
    rows = table(lambda n, seed: {"bound": 3 * n**power}, n=(50, 100, 200, 400), seed=SEEDS)
    assert verdict("C.Fig8-trend", bounds=rows) == said


@pytest.mark.parametrize(("slope", "said"), [(0.0, "reproduced"), (0.375, "corrected"), (0.2, "not reproduced")])
def test_the_logarithm_of_the_entries(slope, said):
    """Between the last two depths; before, and of other columns, the slope is another."""

    def fill(depth, seed):
        law = slope if depth >= 1000 else 0.6 - slope
        return {"excess": (2 + law * np.log(depth / 1000)) / depth, "projectors": 0.3 / depth}

    assert verdict("C.Thm3-rate", matrices=table(fill, depth=(10, 1000, 10_000), seed=SEEDS, scatter=1e-5)) == said


@pytest.mark.parametrize(("name", "loss", "more"), [
    ("E.Loss-logistic", convex_theory.logistic(), {}), ("E.Loss-huber", convex_theory.huber(0.5), {"delta": 0.5}),
])  # fmt: skip
@pytest.mark.parametrize(("over", "said"), [(1.0, "reproduced"), (1.3, "not reproduced")])
def test_the_squared_error_over_the_theory_of_a_loss(name, loss, more, over, said):
    """At the largest size, with the rule for that size."""
    setting = {"alpha": 2.0, "beta": 1.0, "lam": 0.1, "r": 1.2, "c": 1.0, "gamma": 1.0}
    known = convex_theory.solve_loss("tanh", "sign", loss, width=400, **setting).test_error
    rows = table(
        lambda d, seed: {"test_error": known * (over if d == 400 else 2.3 - over), "train_error": 0.2},
        d=(100, 400),
        seed=SEEDS,
        scatter=3e-3,
    )
    rows = rows.assign(activation="tanh", target="sign", **setting, **more)[::-1]
    assert verdict(name, features=rows) == said


@pytest.mark.parametrize(("ratio", "furthest"), [(1.0, 0.0), (1.3, 0.3), (0.6, 0.4)])
def test_the_furthest_of_several_means(ratio, furthest):
    """Above 0 or below it."""
    means = np.array([1.0, ratio, 1.1 if ratio == 1.3 else 1.0]) + 1e-3 * np.random.default_rng(0).normal(size=(12, 3))
    found = spiked_features.furthest_mean(means - 1)
    assert found.value == pytest.approx(furthest, abs=2e-3)


def stopped(height, *, seeds=range(6), widths=(4, 6, 9, 14), jammed=9):
    """Networks at two numbers of points that fit from ``jammed`` on, with an error ``height`` percent higher there."""
    rows = []
    for p, stop, h, seed in itertools.product((100, 200), (0.5, 1.0), widths, seeds):
        above = height if h == jammed and stop == 1 else 0.0
        row = {"p": p, "stop": stop, "h": h, "seed": seed, "fitted": float(h >= jammed), "parameters": 10 * h}
        rows.append(row | {"error": 0.2 + above / 100 + 1e-4 * seed, "ensemble_error": 0.1})
    return pd.DataFrame(rows)


def test_networks_have_a_peak_where_they_begin_to_fit():
    jammed = theory.transition((4, 6, 9, 14), (0.0, 0.0, 1.0, 1.0))
    grown = stopped(2.0, jammed=9).query("stop == 1")
    there = 2.0 * np.interp(np.log(jammed), np.log([6, 9]), [0, 1])
    found = jamming._growth_left_of_jamming(grown)
    assert found.value == pytest.approx(there, abs=0.3) and found.low > 0.1
    assert jamming._growth_left_of_jamming(stopped(-2.0).query("stop == 1")).high < 0.1
    assert jamming._growth_left_of_jamming(stopped(2.0, seeds=[0]).query("stop == 1")) is None, "one training set"
    near = stopped(2.0, widths=(8, 9, 14), jammed=9).query("stop == 1")
    assert jamming._growth_left_of_jamming(near) is None, "jamming too near to the smallest width"


def efforts(needed, widths=(4, 6, 9, 14, 20, 30)):
    """Networks that fit after so many steps, of 320."""
    rows = []
    for h, seed in itertools.product(widths, range(6)):
        row = {"seed": seed, "scale": 1.0, "h": h, "parameters": 10 * h, "steps": 320}
        rows.append(row | {"needed": needed(h) * (1 + 0.01 * seed)})
    return pd.DataFrame(rows)


def test_where_networks_begin_to_fit_in_steps():
    """Steps that fall as the cube of the width give it the power -1/3; two budgets that show it are too few."""
    assert jamming.jamming_in_steps(efforts(lambda h: 8 * (30 / h) ** 3)).value == pytest.approx(-1 / 3, abs=0.05)
    late = efforts(lambda h: 200 if h == 30 else np.inf)
    assert jamming.parameters_by_budget(late).dropna(axis=1).shape[1] == 2 and jamming.jamming_in_steps(late) is None


FACTORS = (1.0, 8.0, 1e6)


def ball(of_factor, *, p=(1024, 4096), seeds=range(6)):
    """Errors of support vector machines on compressed balls; that at the square root of the points is one of them."""
    rows = []
    rng = np.random.default_rng(0)
    for points, seed in itertools.product(p, seeds):
        for factor in (*FACTORS, points**0.5):
            error = of_factor(factor, points) * (1 + 0.01 * rng.standard_normal())
            rows.append({"p": points, "seed": seed, "factor": factor, "error": error})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("ratio", "said"), [(1.0, "reproduced"), (1.37, "not reproduced")])
def test_a_compression_by_the_root_over_a_removal(ratio, said):
    """From 1024 points on; below, and at other factors, it is the other way round."""

    def error(factor, p):
        own = ratio if p >= 1024 else 2.37 - ratio
        return 0.1 * {1.0: 3.0, 8.0: 2.0, 1e6: 1.0}.get(factor, own)

    rows = ball(error, p=(256, 1024, 4096))
    assert verdict("A.Sec4-ball-removed", ball=rows) == said
    assert verdict("A.Sec4-ball-4-removed", ball=rows) == said


@pytest.mark.parametrize(("power", "said"), [(0.0, "reproduced"), (0.227, "not reproduced")])
def test_the_last_gain_of_a_compression(power, said):
    rows = ball(lambda factor, p: factor**-power if 8 <= factor < 1e6 else factor ** (power - 0.3))
    assert verdict("A.Sec4-ball-last-gain", ball=rows) == said


def test_a_single_training_set_says_nothing():
    """However many sizes it has."""
    rows = ball(lambda factor, p: 1.0, p=(1024, 4096), seeds=[3])
    assert (
        curved._of_many_points(rows) is None
        and curved._of_many_points(ball(lambda factor, p: 1.0, p=(256, 512))) is None
    )
    assert len(curved._of_many_points(ball(lambda factor, p: 1.0, p=(256, 1024), seeds=[1, 2]))) == 2 * 4
