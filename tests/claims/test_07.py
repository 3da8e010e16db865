"""Headline claims of chapter 7 on made rows: reproduced where the statement is true, not where the rival is."""

import numpy as np
import pandas as pd
import pytest

from companion.papers.one_step.claims import reuse, spiked_features
from companion.papers.one_step.theory import bounds, measure
from tests.claims.test_05 import SEEDS, table, verdict

PAIRS = [("tanh", "sin", 0), ("erf", "sign", 1)]  # activation, target and number of two settings


@pytest.mark.parametrize(("over", "expected"), [(1.0, "reproduced"), (1.68, "not reproduced")])
def test_simulated_features_over_theory(over, expected):
    """What falls as 1/d is extrapolated away; the training error does not count."""
    parts = []
    for activation, target, case in PAIRS:
        part = table(lambda d, seed: {"test_error": over * (1 + 4 / d), "train_error": 3.0},
                     d=(100, 200, 400), seed=SEEDS, scatter=3e-3)  # fmt: skip
        kind = dict(activation=activation, target=target, alpha0=4.0, step=2.0, alpha=2.0, beta=1.0, lam=0.1, case=case)
        parts.append(part.assign(**kind))
    rows = pd.concat(parts, ignore_index=True)
    known = measure.predicted(rows)["test_error"]
    rows["test_error"] *= known
    assert verdict("E.Res3-mean", cases=rows) == expected


@pytest.mark.parametrize(("learned", "expected"), [("sin", "reproduced"), ("line", "not reproduced")])
def test_the_non_linear_part_of_the_learned_function(learned, expected):
    """With the most samples for the step alone."""
    shape = {"sin": np.sin, "line": lambda t: 0.6 * t}
    other = "line" if learned == "sin" else "sin"

    def fill(alpha0, seed, t):
        return {"output": 0.9 * shape[learned if alpha0 == 16 else other](t)}

    rows = table(fill, alpha0=(0.0, 4.0, 16.0), seed=SEEDS, t=tuple(np.linspace(-3, 3, 25)), scatter=1e-3)
    assert verdict("E.Fig1-nonlinear", profiles=rows, fig1_target="sin") == expected


@pytest.mark.parametrize(("above", "expected"), [(-0.07, "reproduced"), (0.32, "not reproduced")])
def test_the_gain_over_the_best_linear_estimator(above, expected):
    """On the second target, at the largest size, with the most samples of both kinds."""
    linear = bounds.best_linear("sign")

    def fill(target, d, alpha0, alpha, seed):
        judged = target == "sign" and d == 200 and alpha0 == 16 and alpha == 4
        return {"test_error": linear + (above if judged else -above)}

    rows = table(fill, target=("tanh", "sign"), d=(100, 200), alpha0=(0.0, 16.0), alpha=(1.0, 4.0), seed=SEEDS,
                 scatter=1e-3)  # fmt: skip
    given = {"fig2_targets": ["tanh", "sign"], "fig2_alphas": [1.0, 4.0], "fig2_alpha0": [0.0, 16.0]}
    assert verdict("E.Fig2-beats-linear", networks=rows, **given) == expected


@pytest.mark.parametrize(("many", "few", "expected"), [(0.78, 1.09, "reproduced"), (1.09, 0.78, "not reproduced")])
def test_the_network_over_the_better_kernel(many, few, expected):
    """The better of two kernels, each at its best penalty, at the larger size."""

    def fill(learner, d, alpha, penalty, seed):
        ratio = {20.0: many, 4.0: few}.get(alpha, 3.0) if d == 100 else 3.0
        kernel = 0.4 if learner == "tangent" else 0.5
        return {"test_error": 0.4 * ratio if learner == "network" else kernel + 0.5 * abs(penalty - 0.4)}

    rows = table(fill, learner=("conjugate", "tangent", "network"), d=(50, 100), alpha=(1.0, 4.0, 20.0),
                 penalty=(0.1, 0.2, 0.4), seed=SEEDS, scatter=1e-3)  # fmt: skip
    rows = rows[(rows.learner != "network") | (rows.penalty == 0.2)]
    rows = rows.assign(alphas=[[1.0, 4.0, 20.0]] * len(rows))
    assert {verdict(f"E.Fig2-kernel-{name}", learners=rows) for name in ("beaten", "ahead")} == {expected}


@pytest.mark.parametrize(("share", "expected"), [(0.14, "reproduced"), (0.33, "not reproduced")])
def test_the_error_at_the_perfect_step(share, expected):
    """At the middle step, with the most samples for it."""
    linear = bounds.best_linear("erf")

    def fill(step, d, alpha0, seed):
        judged = step == 4 and d == 200 and alpha0 == 64
        return {"test_error": linear * (share if judged else 0.47 - share)}

    rows = table(fill, step=(2.0, 4.0, 8.0), d=(100, 200), alpha0=(4.0, 16.0, 64.0), seed=SEEDS, scatter=1e-3)
    assert verdict("E.Bounds-perfect", networks=rows) == expected


CASES = (("tanh", 4.0, 3.0), ("sin", 0.5, 3.0), ("sin", 32.0, 8.0))


APART = [("strong-apart", CASES[1], 1.09), ("large-batch-apart", CASES[2], 0.89)]


@pytest.mark.parametrize(("name", "case", "over"), APART)
def test_the_network_over_spiked_features(name, case, over):
    """In the limit of the sizes; other cases, and other theories, do not count."""
    for ratio, expected in ((over, "reproduced"), (1.0, "not reproduced")):
        parts = []
        for other in CASES:
            wanted = ratio if other == case else 2 - ratio
            part = table(lambda d, seed, wanted=wanted: {"network": wanted * (1 + 5 / d), "features": 1.0, "srf": 1.0},
                         d=(100, 200, 400), seed=SEEDS, scatter=5e-3)  # fmt: skip
            part["srf"] = 1.0
            part[["rows", "corrected"]] = 1.5
            parts.append(part.assign(**dict(zip(("target", "alpha0", "step"), other))))
        assert verdict(f"E.Net-{name}", networks=pd.concat(parts, ignore_index=True)) == expected


@pytest.mark.parametrize(("ratio", "expected"), [(0.31, "reproduced"), (1.0, "not reproduced")])
def test_eight_steps_over_one(ratio, expected):
    def fill(count, d, seed):
        own = {1: 1.0, 8: ratio}.get(count, 1.31 - ratio)
        return {"test_error": 0.05 * (own if d == 200 else 1.31 - own), "r": 2.0}

    assert verdict("E.Net-steps-best", networks=table(fill, count=(1, 4, 8, 400), d=(100, 200), seed=SEEDS)) == expected


@pytest.mark.parametrize(("ratio", "expected"), [(0.52, "reproduced"), (1.0, "not reproduced")])
def test_two_readout_values_over_one(ratio, expected):
    """Of spiked features at the largest size; networks have another ratio."""

    def fill(values):
        def errors(model, d, seed):
            judged = model == "srf" and d == 200
            return {"test_error": (ratio if judged else 1.5 - ratio) if values == "varied" else 1.0, "share": 0.4}

        scatter = {"varied": 2e-2, "uniform": 1e-2}[values]
        return table(errors, model=("srf", "network"), d=(100, 200), seed=SEEDS, scatter=scatter)

    assert verdict("E.Fig6-varied", varied=fill("varied"), uniform=fill("uniform")) == expected


SAMPLES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


@pytest.mark.parametrize(("same", "split", "expected"), [(0.9, 1.1, "reproduced"), (1.1, 0.9, "not reproduced")])
def test_the_network_that_uses_its_samples_twice(same, split, expected):
    """At the largest size, on the samples of the claim, against the linear error; and the price over fresh samples."""

    def fill(d, alpha, samples, seed):
        judged = d == 200 and alpha == 4
        ratio = {"same": same, "split": split, "fresh": 0.87}[samples] if judged else 1.0
        return {"test_error": 0.5 * ratio, "linear": 0.5}

    rows = table(fill, d=(100, 200), alpha=SAMPLES, samples=("same", "split", "fresh"), seed=SEEDS, scatter=1e-3)
    assert verdict("E.Reuse-linear", rows=rows) == expected
    assert verdict("E.Reuse-price", rows=rows) == expected
    assert reuse.prices(rows, "same").mean()[4.0] == pytest.approx(same / 0.87, rel=1e-3)


@pytest.mark.parametrize(("first", "expected"), [(3.0, "reproduced"), (5.6, "not reproduced")])
def test_the_number_of_samples_from_which_the_network_leads(first, expected):
    """Where a power law of the ratio meets 1; with split samples the bands are the other ones."""
    rows = table(lambda alpha, seed: {"test_error": (alpha / first) ** -0.3, "linear": 1.0}, alpha=SAMPLES, seed=SEEDS)
    rows = rows.assign(d=200)
    estimate, _ = reuse.samples_from_which_the_network_leads(rows.assign(samples="same"), samples="same")
    assert estimate.value == pytest.approx(first, rel=0.01)
    assert verdict("E.Reuse-crossing", rows=rows.assign(samples="same")) == expected
    other = {"reproduced": "not reproduced", "not reproduced": "reproduced"}[expected]
    assert verdict("E.Reuse-crossing-split", rows=rows.assign(samples="split")) == other


@pytest.mark.parametrize(("over", "expected"), [(1.04, "reproduced"), (1.0, "not reproduced")])
def test_the_network_over_the_theory_of_the_leak(over, expected):
    """What falls as 1/d is extrapolated away."""
    known = reuse.error_with_the_leak("tanh", "sign", 4.0, 3.14, 0.23)
    rows = table(
        lambda d, seed: {"test_error": over * known * (1 + 4 / d)}, d=(100, 200, 400), seed=SEEDS, scatter=5e-3
    )
    kind = dict(activation="tanh", target="sign", alpha=4.0, step=3.14, lam=0.23, samples="same")
    assert verdict("E.Reuse-theory", rows=rows.assign(**kind)) == expected


@pytest.mark.parametrize(("ratio", "expected"), [(0.58, "reproduced"), (1.0, "not reproduced")])
def test_two_readout_values_over_one_at_their_best(ratio, expected):
    """At the largest size alone."""

    def rows(value, scatter):
        errors = {200: 1.58 - value, 400: value}
        return table(lambda d, seed: {"test_error": errors[d]}, d=(200, 400), seed=SEEDS, scatter=scatter)

    assert verdict("E.Fig6-best", two_values=rows(ratio, 2e-2), one_value=rows(1.0, 1e-2)) == expected


def test_the_ratio_of_errors_at_the_largest_size():
    """With the error of a quotient of independent means."""
    above, below = (
        pd.DataFrame({"d": [100, 200, 200], "alpha": 1.0, "test_error": [9.0, *errors]})
        for errors in ((1.9, 2.1), (0.9, 1.1))
    )
    (ratio,) = spiked_features.ratio_of_errors(above, below).itertuples()
    assert ratio.mean == pytest.approx(2.0)
    assert ratio.sem == pytest.approx(2 * np.hypot(0.1 / 2, 0.1 / 1))


def test_a_growing_step_has_the_strength_of_its_row_there():
    """At the row's own width, and where the step keeps its size in units of the width, only the width differs."""
    row = {"activation": "tanh", "target": "He1+He3", "alpha0": 16.0, "alpha": 4.0, "lam": 0.1, "d": 100, "r": 0.8}
    row |= {"values": [0.5, 2.0]}
    slow, fast = (
        [spiked_features.error_of_growing_step(row | {"exponent": s}, p) for p in (100, 400)] for s in (0.5, 1.0)
    )
    assert slow[0] == pytest.approx(fast[0])
    assert fast[1] < fast[0] < slow[1], "a spike that weakens learns less"
