"""Claims on one number over another, on made rows: of errors, of norms, of what is measured over theory."""

import functools

import numpy as np
import pandas as pd
import pytest

from companion.papers.compression.claims import curved, own_points, planes
from companion.papers.compression.theory.planes import gaussian_constant
from companion.papers.one_step.claims import reuse
from companion.papers.one_step.theory import bounds, measure
from tests.claims.made import SEEDS, Made, table, verdict

P = (128, 256, 512, 1024, 2048, 4096, 8192)
made = Made()


@functools.cache
def law_of(d, *places):
    """An integral, which thousands of made rows need."""
    return gaussian_constant(list(places), d)


# Errors over a law


PLACES = [-0.3, 1.18549]
STAR = {"d": (5, 10), "curve": ("star", "compressed"), "learner": ("flow", "machine"), "seed": SEEDS}


@made("A.Fig3-star-constant")
def _(constant, other):
    """From 2048 points on; below, and of another kernel or learner, it is the other constant."""

    def fill(row):
        judged = (row.curve, row.learner) == ("star", "flow") and row.p >= 2048
        return {"error": (constant if judged else other) * row.d / row.p}

    return {"kernels": table(fill, p=P[2:], **STAR)}


def losses_of(constant, other, loss):
    """Errors in units of the law from 24 to 12 effective points a dimension; of other losses, and before, the other."""

    def fill(row):
        law = law_of(row.d, *PLACES) * (row.at * row.d * row.d) ** 0.5 / row.p
        judged = row.loss == loss and 12 <= row.at <= 24
        return {"error": law * (constant if judged else other), "effective": row.at * row.d, "interfaces": PLACES}

    axes = {"at": (8, 12, 16, 24, 32), "loss": ("hinge", "quadratic_hinge", "logistic"), "seed": SEEDS}
    return pd.concat([table(fill, p=(p,), d=(d,), **axes) for d, p in ((5, 2048), (10, 4096))])


@made("A.Fig3-loss-hinge", "A.Fig3-loss-squared", "A.Fig3-loss-logistic")
def _(constant, other, loss):
    return {"rows": losses_of(constant, other, loss)}


def on_the_way(constant, other):
    """Errors in units of the law where planes are being placed; later, on fewer points, and of the kernel the other."""

    def fill(row):
        left = row.p - np.ceil(row.share * row.p - 1e-9)
        judged = row.share in (0.9, 0.95, 0.98) and 16 <= left / row.d <= 64 and row.curve == "feature"
        law = law_of(row.d, *PLACES) * (max(left, 1) * row.d) ** 0.5 / row.p
        return {"error": float(law * (constant if judged else other)), "interfaces": PLACES}

    axes = {"share": (0.5, 0.9, 0.95, 0.98, 0.99), "p": P, "seed": SEEDS}
    return table(fill, d=(5, 10), curve=("feature", "final"), **axes)


@made("A.Fig3-planes-constant")
def _(constant, other):
    return {"rows": on_the_way(constant, other)}


@pytest.mark.parametrize(("name", "places"), [("one", [0.0]), ("three", [-1.0, 0.0, 1.0])])
def test_other_planes_are_held_against_their_own_law(name, places):
    """In their own window: as many points for each plane."""

    def fill(row):
        factor = 1.0 if 8 <= row.at / len(places) <= 32 else 3.0
        law = law_of(5, *places) * 5 * row.at**0.5 / row.p
        return {"error": law * factor, "effective": 5.0 * row.at, "interfaces": places}

    axes = {"at": [len(places) * n for n in (4, 9, 16, 31, 40)], "p": (4096,), "d": (5,), "seed": SEEDS}
    rows = table(fill, scatter=1e-3, **axes)
    assert verdict(f"A.Fig3-planes-{name}", rows=rows) == "reproduced"
    two = np.sqrt(2 / len(places))  # the law of two planes
    assert verdict(f"A.Fig3-planes-{name}", rows=rows.assign(error=rows.error * two)) == "not reproduced"


@made("A.Fig3-frozen-one", "A.Fig3-frozen-three")
def _(constant, other):
    def fill(row):
        judged = (row.curve, row.learner) == ("star", "flow")
        return {"error": (constant if judged else other) * row.d / row.p}

    return {"rows": table(fill, p=(1024, 2048), **STAR)}


# Errors over errors

ON_THE_WAY = {"d": (5, 10), "curve": ("feature", "final"), "p": P, "seed": SEEDS}


@made("A.Fig3-final-kernel", "A.Fig3-final-kernel-stop")
def _(ratio, other, share, nets=None):
    """Frozen at its share; at another it is the other."""

    def fill(row):
        return {"error": (ratio if row.share == share else other) if row.curve == "final" else 1.0}

    return {"nets": table(fill, share=(0.9, 0.98, 1.0), **ON_THE_WAY), "fit_from": 100}


@made("A.Fig3-own-learner", "A.Fig3-own-learner-stop", holds=1.0)
def _(ratio, other, curve, share):
    """Of the finite kernel over the network at its share, at the largest size that the kernel has."""
    axes = {"d": (5, 10), "p": (1024, 8192), "seed": SEEDS}

    def kernel(row):
        judged = (row.curve, row.learner, row.p) == (curve, "finite", 8192)
        return {"error": (ratio if judged else other) * (2.0 if share == 1 else 1.0)}

    kernels = table(kernel, curve=("compressed", "compressed_code"), learner=("finite", "infinite"), **axes)
    network = lambda row: {"error": 2.0 if row.share == 1 else 1.0}  # noqa: E731
    return {"kernels": kernels, "nets": table(network, draw=1, curve=("feature", "final"), share=(0.98, 1.0), **axes)}


@made("A.Fig3-early-equal", holds=0.7)
def _(ratio, other):
    """Of the kernel on half of the points over the network at 98 % on all of them, of the same seed."""

    def fill(row):
        judged = (row.curve, row.share, row.p) == ("final", 0.9, 4096)
        network = (row.curve, row.share) == ("feature", 0.98)
        return {"error": (ratio if judged else 1.0 if network else other) * (1 + row.seed)}

    return {"nets": table(fill, share=(0.9, 0.98, 1.0), **ON_THE_WAY), "stop": 0.98}


@made("A.Fig3-overfit", "A.Fig3-overfit-wide")
def _(ratio, other, nets=None):
    """At the end over 98 %, at the largest size; on fewer points, and of a kernel, it is the other."""

    def fill(row):
        judged = row.p == P[-1] and row.curve == "feature" and row.share == 1
        return {"error": ratio if judged else 1.0 if row.share == 0.98 and row.p == P[-1] else other}

    return {"nets": table(fill, share=(0.9, 0.98, 1.0), **ON_THE_WAY), "stop": 0.98}


@made("A.Fig6-amplification-end", "A.Fig6-amplification-stop", "A.Fig6-amplification-wide", holds=1.0)
def _(ratio, other, share, nets=None):
    """At its share over t*, at the largest size."""

    def fill(row):
        judged = row.p == P[-1] and row.curve == "feature" and row.share == share
        return {"amplification": 9 * (ratio if judged else other), "amplification_star": 9.0}

    return {"nets": table(fill, share=(0.9, 0.98, 1.0), **ON_THE_WAY)}


@made("A.Fig3-own-points", holds=1.0)
def _(ratio, other):
    """From 1024 points on, of the same sets; others have another error each."""

    def fill(row):
        judged = row.p >= 1024 and (row.curve, row.learner) == ("star", "flow")
        return {"error": (ratio if judged else other) * row.d / row.p * (1 + row.seed)}

    own = table(fill, p=(512, 1024, 2048), **STAR)
    fresh = table(lambda row: {"error": row.d / row.p * (1 + row.seed)}, draw=1, p=(1024, 2048, 4096), **STAR)
    return {"first": own, "second": fresh}


@made("A.Fig8-star-initial", holds=1.3)
def _(ratio, other):
    """Of the kernel at t* over the initial one on the same sets."""
    axes = STAR | {"d": (3,), "p": (512, 1024, 2048, 4096)}
    judged = lambda row: (row.curve, row.learner) == ("star", "flow")  # noqa: E731
    kernels = table(lambda row: {"error": (ratio if judged(row) else other) / row.p * (1 + row.seed)}, **axes)
    initial = table(lambda row: {"error": (1 + row.seed) / row.p}, draw=1, d=(3,), p=P, seed=range(16))
    return {"kernels": kernels, "initial": initial}


FACTORS = (1.0, 8.0, 1e6)


def ball(error, *, p=(256, 1024, 4096), seeds=SEEDS):
    """Errors of support vector machines on compressed balls; that at the square root of the points is one of them."""
    parts = [table(lambda row: {"error": error(row)}, p=(n,), seed=seeds, factor=(*FACTORS, n**0.5)) for n in p]
    return pd.concat(parts)


@made("A.Sec4-ball-removed", holds=1.0)
def _(ratio, other):
    """From 1024 points on; below, and at other factors, it is the other way round."""

    def error(row):
        own = ratio if row.p >= 1024 else other
        return 0.1 * {1.0: 3.0, 8.0: 2.0, 1e6: 1.0}.get(row.factor, own)

    return {"ball": ball(error)}


@made("A.Sec4-ball-last-gain")
def _(gain, other):
    """Between factors 8 and the root of the points, from 1024 points on."""

    def error(row):
        own = gain if row.p >= 1024 else other
        return 0.1 * {8.0: (row.p**0.5 / 8) ** own}.get(row.factor, 1.0)

    return {"ball": ball(error)}


@made("A.Sec4-ball-network")
def _(ratio, other):
    """At the end over the machine at the root of the points, on the same sets, from 1024 points on."""
    machines = ball(lambda row: 0.1 * (1 + row.seed) * (1.0 if row.factor == row.p**0.5 else 9.0))

    def fill(row):
        judged = row.share == 1 and row.p >= 1024
        return {"error": 0.1 * (1 + row.seed) * (ratio if judged else other)}

    nets = table(fill, draw=1, share=(0.9, 1.0), p=(256, 1024, 4096), seed=SEEDS)
    other_ball = machines.assign(d_parallel=4, error=9.0)
    return {
        "nets": nets.assign(d=8, d_parallel=3),
        "ball": pd.concat([machines.assign(d_parallel=3), other_ball]).assign(d=8),
    }


def test_a_single_training_set_says_nothing():
    """However many sizes it has."""
    one = lambda row: 1.0  # noqa: E731
    assert curved._of_many_points(ball(one, p=(1024, 4096), seeds=[3])) is None
    assert curved._of_many_points(ball(one, p=(256, 512))) is None
    assert len(curved._of_many_points(ball(one, p=(256, 1024), seeds=[1, 2]))) == 2 * 4


def test_kernel_and_network_are_compared_at_equal_numbers_of_points_in_all():
    """Of 4096 points, half are the kernel's: its 2048 are set beside the network's 4096, not beside its 2048."""
    axes = {"p": (1024, 2048, 4096), "seed": SEEDS}
    kernels = table(lambda row: {"error": 10 / row.p}, d=(5, 7), curve=("final",), share=(0.9, 1.0), **axes)
    nets = table(lambda row: {"error": 40 / row.p}, draw=1, d=(5, 7), curve=("feature",), share=(0.98, 1.0), **axes)
    estimate, compared, _ = own_points.early_at_equal_points(pd.concat([kernels, nets]), stop=0.98)
    assert estimate.value == pytest.approx(0.5, rel=0.02)
    assert set(compared.p) == {2048} and set(compared.share) == {0.9}


# Amplifications


@made("A.AppC-constant", holds=1.0)
def _(ratio, other):
    """From the third last size on, in five dimensions."""

    def fill(row):
        own = ratio if row.p >= 4096 and row.d == 5 else other
        return {"predicted": row.p**0.5 * (1 + row.seed), "star": own * row.p**0.5 * (1 + row.seed)}

    sizes = (*P, 16384)
    rows = table(fill, d=(5, 10), p=sizes, seed=SEEDS)
    return {"stripe": rows[rows.seed < 6], "other_sets": rows[rows.seed >= 6], "growth_p": sizes}


@made("A.Fig4-ode", holds=0.1)
def _(error, other):
    """Of the neurons of the largest sets."""
    fill = lambda row: {"error": error if row.p == 10_000 else other, "error_free": other, "off": other}  # noqa: E731
    return {"neurons": table(fill, p=(1000, 10_000), seed=SEEDS)}


# Through theory, in the limit of large sizes


PAIRS = [("tanh", "sin", 0), ("erf", "sign", 1)]  # activation, target and number of two settings


@made("E.Res3-mean")
def _(over, _other):
    """What falls as 1/d is extrapolated away; the training error does not count."""
    fill = lambda row: {"test_error": over * (1 + 4 / row.d), "train_error": 3.0}  # noqa: E731
    parts = []
    for activation, target, case in PAIRS:
        kind = dict(activation=activation, target=target, alpha0=4.0, step=2.0, alpha=2.0, beta=1.0, lam=0.1, case=case)
        parts.append(table(fill, d=(100, 200, 400), seed=SEEDS, scatter=3e-3, draw=case).assign(**kind))
    rows = pd.concat(parts, ignore_index=True)
    return {"cases": rows.assign(test_error=rows.test_error * measure.predicted(rows)["test_error"])}


CASES = (("tanh", 4.0, 3.0), ("sin", 0.5, 3.0), ("sin", 32.0, 8.0))


@made("E.Net-strong-apart", holds=1.09)
@made("E.Net-large-batch-apart", holds=0.89)
def _(over, other, case):
    """In the limit of the sizes; other cases, and other theories, do not count."""
    parts = []
    for draw, own in enumerate(CASES):
        wanted = over if own == tuple(case) else other
        fill = lambda row, wanted=wanted: {"network": wanted * (1 + 5 / row.d), "features": 1.0}  # noqa: E731
        part = table(fill, d=(100, 200, 400), seed=SEEDS, scatter=5e-3, draw=draw).assign(srf=1.0)
        part[["rows", "corrected"]] = 1.5
        parts.append(part.assign(**dict(zip(("target", "alpha0", "step"), own))))
    return {"networks": pd.concat(parts, ignore_index=True)}


# At the largest size, at the best of several


@made("E.Bounds-perfect", holds=0.14)
def _(share, other):
    """At the middle step, with the most samples for it."""

    def fill(row):
        judged = row.step == 4 and row.d == 200 and row.alpha0 == 64
        return {"test_error": bounds.best_linear("erf") * (share if judged else other)}

    axes = {"step": (2.0, 4.0, 8.0), "d": (100, 200), "alpha0": (4.0, 16.0, 64.0), "seed": SEEDS}
    return {"networks": table(fill, scatter=1e-3, **axes)}


@made("E.Net-steps-best", holds=0.31)
def _(ratio, other):
    """Eight steps over one, at the largest size."""

    def fill(row):
        own = {1: 1.0, 8: ratio}.get(row.count, other)
        return {"test_error": 0.05 * (own if row.d == 200 else 1.3 - own), "r": 2.0}

    return {"networks": table(fill, count=(1, 4, 8, 400), d=(100, 200), seed=SEEDS, scatter=4e-3)}


@made("E.Fig6-best", holds=0.58)
def _(ratio, other):
    errors = {200: other, 400: ratio}
    axes = {"d": (200, 400), "seed": SEEDS}
    two = table(lambda row: {"test_error": errors[row.d]}, **axes)
    return {"two_values": two, "one_value": table(lambda row: {"test_error": 1.0}, draw=1, **axes)}


SAMPLES = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)


def reused(same, split, fresh=0.87):
    """Networks over the linear error, at the largest size and four samples a dimension; 1 elsewhere."""

    def fill(row):
        judged = row.d == 200 and row.alpha == 4
        return {"test_error": 0.5 * ({"same": same, "split": split, "fresh": fresh}[row.samples] if judged else 1.0)}

    axes = {"d": (100, 200), "alpha": SAMPLES, "samples": ("same", "split", "fresh"), "seed": SEEDS}
    return table(fill, scatter=1e-3, **axes).assign(linear=0.5)


@made("E.Reuse-linear", holds=0.9)
def _(ratio, other):
    """Of the samples of the step; halves of them have the other."""
    return {"rows": reused(ratio, other)}


def test_prices_are_over_fresh_samples():
    assert reuse.prices(reused(0.9, 1.1), "same").mean()[4.0] == pytest.approx(0.9 / 0.87, rel=1e-3)


@pytest.mark.parametrize(("first", "expected"), [(3.0, "reproduced"), (5.6, "not reproduced")])
def test_the_number_of_samples_from_which_the_network_leads(first, expected):
    """Where a power law of the ratio meets 1; with split samples the bands are the other ones."""
    rows = table(lambda row: {"test_error": (row.alpha / first) ** -0.3}, scatter=1e-4, alpha=SAMPLES, seed=SEEDS)
    rows = rows.assign(d=200, linear=1.0)
    estimate, _ = reuse.samples_from_which_the_network_leads(rows.assign(samples="same"), samples="same")
    assert estimate.value == pytest.approx(first, rel=0.01)
    assert verdict("E.Reuse-crossing", rows=rows.assign(samples="same")) == expected
    other = {"reproduced": "not reproduced", "not reproduced": "reproduced"}[expected]
    assert verdict("E.Reuse-crossing-split", rows=rows.assign(samples="split")) == other


@made("E.Reuse-theory", holds=1.0)
def _(over, _other):
    """In the limit of large sizes, of samples used twice from $2d$ on; a split and less do not count."""
    errors = {2.0: (1.64, 0.21), 4.0: (3.14, 0.23)}

    def fill(row):
        step, lam = errors.get(row.alpha, (1.0, 1.0))
        judged = row.alpha in errors and row.samples == "same"
        theory = reuse.error_of_reuse("tanh", "sign", row.alpha, step, lam) if judged else 1.0
        return {"test_error": (over if judged else 3.0) * theory * (1 + 2 / row.d), "step": step, "lam": lam}

    axes = {"d": (100, 200), "alpha": (1.0, 2.0, 4.0), "samples": ("same", "split"), "seed": SEEDS}
    return {"rows": table(fill, scatter=1e-3, **axes).assign(activation="tanh", target="sign")}


def test_each_task_is_held_against_its_law_one_number_a_setting():
    places = (-0.5, 0.5)  # equal densities

    def fill(row):
        left = row.p - np.ceil(row.share * row.p - 1e-9)
        return {"error": 0.9 * gaussian_constant(places, row.d) * (left * row.d) ** 0.5 / row.p}

    rows = table(fill, p=(4096,), d=(5, 7), share=(0.5, 0.9, 0.95), interfaces=(places,), seed=SEEDS)
    found = planes.in_window({"two": rows})
    assert [*zip(found.task, found.d, found.per_pair)] == [("two", 5, 40.8), ("two", 7, 29.14), ("two", 7, 58.43)]
    assert [estimate.value for estimate in found.measured] == pytest.approx([0.9] * 3, rel=0.02)
    assert planes.in_window({"none": rows[:0]}).empty


@pytest.mark.parametrize("name", made)
def test_a_ratio_is_found_and_its_rival_refused(name):
    made.check(name)
