"""Headline claims of chapter 5 on made rows: reproduced where the statement is true, not where the rival is."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from companion.book import ledger
from companion.papers.depth.claims.depth_training import width_exponents

SEEDS = range(12)
SCATTER = 1e-4  # of a value, relative


def verdict(name, **rows_and_parameters):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **rows_and_parameters})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate.anytime() if claim.looks > 1 else estimate, "laptop")


def table(fill, *, scatter=SCATTER, **axes):
    """A row for each combination of axes, with the columns that ``fill`` gives it, each with a scatter of its own."""
    rng, rows = np.random.default_rng(0), []
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, values))
        columns = fill(**row)
        rows.append(row | {name: value * (1 + scatter * rng.standard_normal()) for name, value in columns.items()})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("limit", "expected"), [(0.25, "reproduced"), (1.0, "not reproduced")])
def test_the_limit_of_the_kernel(limit, expected):
    """At the largest depth alone, at every pair."""
    deepest = 10**6
    rows = table(
        lambda rho, depth: {"kernel": limit + 2e-4 if depth == deepest else 0.6},
        rho=(0.0, 0.5, 0.9),
        depth=(1, deepest - 1, deepest),
        scatter=0,
    )
    assert verdict("C.Thm2-limit", curves=rows, curve_depth=deepest) == expected
    if expected == "reproduced":
        rows.loc[(rows.rho == 0.9) & (rows.depth == deepest), "kernel"] = 0.3
        assert verdict("C.Thm2-limit", curves=rows, curve_depth=deepest) == "not reproduced"


@pytest.mark.parametrize(("slope", "expected"), [(0.0, "reproduced"), (0.375, "corrected"), (0.2, "not reproduced")])
def test_the_rate_of_the_kernel(slope, expected):
    """The offsets of the pairs do not count, nor what happens before the last decade."""
    deepest = 10**6

    def fill(rho, depth):
        rest = slope * np.log(depth) + 10 * rho if depth >= deepest // 10 else 50.0
        return {"kernel": 0.25 + rest / depth}

    rows = table(fill, rho=(-1.0, 0.5, 0.9), depth=(100, deepest // 10, deepest), scatter=0)
    assert verdict("C.Thm2-rate", curves=rows, curve_depth=deepest) == expected


@pytest.mark.parametrize(("smooth", "kinked"), [(1 / 3, 0.25), (0.25, 1 / 3)])
def test_the_limits_of_two_classes_of_layers(smooth, kinked):
    def fill(limit, rho, depth):
        return {"kernel": (0.5 if depth < 10**5 else smooth if limit == 1 / 3 else kinked)}

    rows = table(fill, limit=(1 / 3, 1 / 4), rho=(0.0, 0.5), depth=(100, 10**5), scatter=1e-3)
    expected = "reproduced" if smooth > kinked else "not reproduced"
    assert {verdict(f"C.Thm2-{name}", layers=rows) for name in ("smooth", "kinked")} == {expected}


@pytest.mark.parametrize(("name", "law", "depth", "low", "high"), [
    ("C.Thm3-ridge", "first", 30, 0.019, 1.5), ("C.Thm3-ridge-close", "uniform", 10, 0.024, 0.098),
])  # fmt: skip
def test_the_distance_from_two_laws(name, law, depth, low, high):
    """Other laws, and other depths, have the other number."""
    laws = ("closed", "first", "second", "uniform")
    depths = (10, 30, 100)
    for own, other, expected in ((low, high, "reproduced"), (high, low, "not reproduced")):
        rows = table(
            lambda seed, at, own=own, other=other: {one: own if (one, at) == (law, depth) else other for one in laws},
            seed=SEEDS,
            at=depths,
        ).rename(columns={"at": "depth"})
        assert verdict(name, predictions=rows) == expected


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.05, "reproduced"), (0.7, "not reproduced"), (1.4, "not reproduced")]
)
def test_the_error_at_equal_points_over_depth(factor, expected):
    """The largest over the ratios, of the most points over the fewest."""

    def fill(seed, n, ratio):
        return {"left": 0.1 * ratio * (factor if n == 1000 and (ratio == 5 or factor < 1) else 1.0)}

    rows = table(fill, seed=SEEDS, n=(125, 500, 1000), ratio=(1.0, 5.0, 20.0), scatter=1e-3)
    assert verdict("C.Thm3-collapse-all", shares=rows) == expected


@pytest.mark.parametrize(
    ("gain", "expected"), [(0.04, "reproduced"), (0.0, "not reproduced"), (-0.04, "not reproduced")]
)
def test_the_gain_of_the_prescribed_depth(gain, expected):
    """Depth 0 stands for it; the accuracy at infinite time counts."""

    def fill(seed, depth):
        return {"accuracy": 0.86 + gain * (depth == 0), "stopped": 0.8 - gain * (depth == 0), "early": 0.5}

    assert verdict("C.Thm3-recipe-depth", tried=table(fill, seed=SEEDS, depth=(0, 2, 30), scatter=1e-3)) == expected


@pytest.mark.parametrize(("name", "own", "rival"), [("balanced", 0.8, 0.1), ("drawn", 0.1, 0.81)])
def test_the_argmax_far_down(name, own, rival):
    for value, other, expected in ((own, rival, "reproduced"), (rival, own, "not reproduced")):

        def fill(seed, depth, value=value, other=other):
            return {"accuracy": value if depth == 10**6 else other, "law_accuracy": other, "ridge_accuracy": other}

        rows = table(fill, seed=SEEDS, depth=(30, 10**6), scatter=1e-3)
        assert verdict(f"C.Thm3-accuracy-{name}", predictions=rows) == expected


@pytest.mark.parametrize(("gap", "expected"), [(0.2, "reproduced"), (1e-15, "corrected")])
def test_the_limit_with_biases(gap, expected):
    rows = table(lambda seed, bias, depth: {"gap": gap if depth == 100 else 0.5, "spread": 0.3},
                 seed=SEEDS, bias=(0.1, 1.0), depth=(40, 100))  # fmt: skip
    assert verdict("C.AppA-limit", biases=rows) == expected


def test_the_exponents_of_table_1_are_found_for_each_training_and_step():
    """A power of the width for each; trainings without a rate of their own are one kind."""
    powers = {"gd": -0.5, "adam": 0.4}
    rows = table(
        lambda optimiser, step, width, **_: {
            "norm": width ** powers[optimiser],
            "largest": width ** (powers[optimiser] - step / 10),
            "ratio": 1.0,
        },
        optimiser=tuple(powers),
        parametrisation=("ntk",),
        rate=(None,),
        targets=("zero",),
        step=(1, 5),
        width=(64, 128, 256),
        seed=SEEDS,
    )
    result = width_exponents(rows).set_index(["optimiser", "step"])
    assert len(result) == 4
    for (optimiser, step), exponents in result.iterrows():
        assert exponents.norm.value == pytest.approx(powers[optimiser], abs=1e-3)
        assert exponents.largest.value == pytest.approx(powers[optimiser] - step / 10, abs=1e-3)
        assert exponents.ratio.value == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("power", "expected"), [(3, "reproduced"), (1, "not reproduced"), (2, "not reproduced")])
def test_the_width_against_a_power_of_the_depth(power, expected):
    """Distances that are a function of the width over that power of the depth."""
    axes = {"seed": SEEDS, "depth": (12, 24, 48), "width": (500, 4000, 32_000)}
    rows = table(lambda seed, depth, width: {"distance": 0.8 * (depth**power / width) ** 0.5}, scatter=0.02, **axes)
    assert verdict("C.Thm3-width-cubed", sphere=rows) == expected
    assert verdict("C.Thm3-width-width", sphere=rows) == "reproduced"
    deep = {1: "not reproduced", 2: "not reproduced", 3: "reproduced"}[power]
    assert verdict("C.Thm3-width-depth", sphere=rows) == deep


@pytest.mark.parametrize(("lost", "expected"), [(0.2, "reproduced"), (0.0, "not reproduced")])
def test_what_the_width_costs_at_depth_30(lost, expected):
    def fill(seed, depth, width):
        return {"accuracy": 0.8 - (lost if depth == 30 else 0.01), "wide_accuracy": 0.8}

    rows = table(fill, seed=SEEDS, depth=(6, 30), width=(1024, 2048), scatter=1e-3)
    assert verdict("C.Thm3-width-images", images=rows) == expected
    assert verdict("C.Thm3-width-shallow", images=rows) == "reproduced"


@pytest.mark.parametrize(("uniform", "first", "expected"), [(0.004, 1.0, "reproduced"), (1.0, 0.04, "not reproduced")])
def test_the_laws_on_spheres(uniform, first, expected):
    rows = table(lambda seed, n0, depth: {"uniform": uniform * (n0 == 5) + 1e-3, "first": first},
                 seed=SEEDS, n0=(3, 5), depth=(20, 60), scatter=1e-2)  # fmt: skip
    assert verdict("C.Thm3-uniform", spheres=rows) == expected
    assert verdict("C.Thm3-ridge-fails", spheres=rows) == expected


@pytest.mark.parametrize(("power", "expected"), [(3, "reproduced"), (1, "not reproduced")])
def test_what_training_adds_to_the_width(power, expected):
    """A motion that is a function of the width over that power of the depth, beside a distance of the depth cubed."""
    axes = {"seed": SEEDS, "depth": (5, 10, 20), "width": (128, 512, 1024)}

    def fill(away):
        def row(seed, depth, width):
            start = 0.4 * (depth**3 / width) ** 0.5
            moved = 0.2 * (depth**power / width) ** 0.8
            return {"start": start, "moved": moved, "trained": math.hypot(start, away * moved)}

        return table(row, scatter=0.02, **axes)

    rows = fill(0.1)
    assert verdict("C.Thm3-trained-cubed", trained=rows) == expected
    assert verdict("C.Thm3-trained-width", trained=rows) == "reproduced"
    assert verdict("C.Thm3-trained-distance", trained=rows) == "reproduced"
    assert power == 1 or verdict("C.Thm3-trained-distance", trained=fill(2)) == "not reproduced"
    for factor, words in ((0.08, "reproduced"), (1, "not reproduced")):
        lazy = rows.assign(moved=factor * rows.moved * (1 + 0.02 * rows.seed / len(SEEDS)))
        assert verdict("C.Thm3-trained-lazy", trained=rows, lazy=lazy) == words


@pytest.mark.parametrize(("off", "expected"), [(0.004, "reproduced"), (0.055, "not reproduced")])
def test_theory_of_the_error_on_gaussian_features(off, expected):
    rows = table(lambda seed, n: {"error": (1 + off * (n == 400)) / n, "law": 1 / n},
                 seed=SEEDS, n=(400, 1200), scatter=1e-3)  # fmt: skip
    assert verdict("C.Thm3-curve-gaussian", errors=rows) == expected


LAYERS = {"seed": SEEDS, "width": (16, 64, 256, 1024, 4096)}


@pytest.mark.parametrize(("move", "expected"), [(0.0, "reproduced"), (-0.5, "not reproduced"), (0.5, "not reproduced")])
def test_the_motion_of_a_finite_last_layer(move, expected):
    """Powers of the width; the relative change has that of the control where neurons move by order one."""

    def fill(seed, width):
        power = width**move
        return {"norm": 0.8 * power, "inner": 0.7 * power**2, "relative": 3 * power**2 / width}

    rows = table(fill, scatter=0.01, **LAYERS)
    names = ("C.Prop4-last-norm", "C.Prop4-last-inner", "C.Prop4-last-features")
    assert {verdict(name, layers=rows) for name in names} == {expected}
    assert verdict("C.Prop4-mean-field", layers=rows) == ("reproduced" if move == 0.5 else "not reproduced")


@pytest.mark.parametrize(("off", "crossed", "rows", "expected"), [
    (0.99, 0.05, 0.1, "reproduced"), (1.3, 1.0, 0.0, "not reproduced"),
])  # fmt: skip
def test_law_terms_and_rows_of_a_finite_last_layer(off, crossed, rows, expected):
    """The law and the terms at the largest width alone; kernel rows from 64 neurons on."""

    def fill(seed, width):
        widest = width == 4096
        own = {"norm": off if widest else 2.0, "crossed": crossed if widest else 0.5, "law": 1.0}
        return own | {"rows": rows + 0.01 * (-1) ** seed if width >= 64 else 0.5}

    result = table(fill, scatter=0.001, **LAYERS)
    assert {verdict(f"C.Prop4-{name}", layers=result) for name in ("last-law", "cross", "rows")} == {expected}


@pytest.mark.parametrize(("power", "expected"), [(0.0, "corrected"), (0.5, "reproduced")])
def test_predictions_from_noisy_labels(power, expected):
    """The exponent is that of the mean over depths of the logarithm; depths may differ by a factor."""
    axes = {"seed": SEEDS, "depth": (2, 3), "n": (200, 600, 1800, 5000)}
    rows = table(
        lambda seed, depth, n: {
            "norm": n**power / depth,
            "worst": depth * n**power,
            "smallest": n ** (-2 * power - 0.1),
        },
        scatter=0.01,
        **axes,
    )
    reading = "not reproduced" if expected == "corrected" else expected
    assert verdict("C.Sec6-unstable", noise=rows) == verdict("C.Sec6-worst", noise=rows) == reading
    assert verdict("C.Sec6-eigenvalue", noise=rows) == ("reproduced" if power else "not reproduced")
    assert verdict("C.Sec6-smooth", noise=rows.assign(norm=rows.norm**1.2)) == (
        "reproduced" if power else "not reproduced"
    )
    assert verdict("C.Thm3-stopped", noise=rows) == "reproduced"
    assert verdict("C.Thm3-stopped", noise=rows.assign(norm=rows.n**1.5 / rows.norm**0.01)) == "not reproduced"
    fall = rows.assign(norm=rows.norm * rows.n**-0.25)
    assert verdict("C.Sec6-stopped", noise=fall) == ("not reproduced" if power else "reproduced")
    assert verdict("C.Sec6-stopped", noise=rows) == "not reproduced"


@pytest.mark.parametrize(("factor", "expected"), [(0.95, "reproduced"), (1.73, "not reproduced")])
def test_the_spread_that_a_power_law_leaves(factor, expected):
    """At the most points alone, in two spaces."""
    axes = {"seed": SEEDS, "depth": (2, 3), "n": (200, 5000)}
    for space, name in ((3, "C.Sec6-tempered"), (5, "C.Sec6-tempered-five")):
        own = table(lambda seed, depth, n, space=space: {"norm": factor * (space - 1) ** -0.5 if n == 5000 else 3.0},
                    scatter=0.01, **axes)  # fmt: skip
        assert verdict(name, noise=own) == expected
