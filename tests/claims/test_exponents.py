"""Claims on powers and slopes, on made rows: in the points, the width, the scale, the depth, the parameters."""

import math

import numpy as np
import pytest

from companion.papers.compression.theory.learning_curves import feature_exponent
from regimes.data import tasks
from tests.claims.made import SEEDS, Made, table, verdict

P = (128, 256, 512, 1024, 2048, 4096, 8192)
POINTS = {"p": P, "seed": SEEDS}
made = Made()


# In the points


@made("A.Fig3-early-exponent")
def _(beta, other):
    """Frozen at another fraction, and of the network itself, it is the other power."""
    judged = lambda row: (row.curve, row.share) == ("final", 0.9)  # noqa: E731
    axes = {"d": (5, 10), "curve": ("feature", "final"), "share": (0.1, 0.9, 1.0), "p": P, "seed": SEEDS}
    return {"nets": table(lambda row: {"error": row.p ** -(beta if judged(row) else other)}, **axes), "fit_from": 100}


NETWORK = ("A.Fig3-beta-feature-d5", "A.Fig3-beta-feature-d10", "B.Sec5-beta-feature-d5", "B.Sec5-beta-feature-d10")


def networks(judged, beta, other, d):
    """Networks whose error has one power where it is judged, and the other elsewhere, up to 16384 points."""
    axes = {"d": (d, 7), "share": (0.98, 1.0), "seed": SEEDS}
    error = lambda row: {"error": row.p ** -(beta if judged(row) else other)}  # noqa: E731
    nets = table(error, curve=("feature", "final"), p=P, **axes)
    return {"nets": nets, "larger": table(error, curve=("feature",), p=(16384,), **axes)}


@made(*NETWORK)
def _(beta, other, d, share, sizes):
    """At the end of training, from 1024 points on; before, in another dimension, of the kernel it is the other."""
    judged = lambda row: (row.d, row.curve, row.share) == (d, "feature", 1.0) and row.p >= 1024  # noqa: E731
    return networks(judged, beta, other, d)


@made("A.Fig3-beta-stop")
def _(ratio, other):
    """With 98 % fitted, from 512 to 8192 points, over paper A's exponent of each dimension."""

    def fill(row):
        judged = (row.curve, row.share) == ("feature", 0.98) and row.p >= 512
        return {"error": row.p ** -((ratio if judged else other) * feature_exponent(row.d, 1))}

    return {"nets": table(fill, d=(5, 10), share=(0.98, 1.0), curve=("feature", "final"), p=P, seed=SEEDS)}


@made("A.Fig3-beta-lazy-d5", "A.Fig3-beta-lazy-d10")
def _(beta, other, d):
    error = lambda row: {"error": row.p ** -(beta if row.d == d else other)}  # noqa: E731
    axes = {"d": (d, 7), "seed": SEEDS}
    return {"kernel": table(error, p=P[:5], **axes), "larger_sets": table(error, p=P[2:], **axes), "fit_from": 100}


@made("B.Sec5-machine-gain-d5", "B.Sec5-machine-gain-d10")
def _(gain, other, d):
    """In a factor imposed on the data, of one dimension."""
    error = lambda row: {"error": row.factor ** -(gain if row.d == d else other)}  # noqa: E731
    return {"machines": table(error, d=(d, 7), factor=(1, 2, 4, 8, 16), p=P[2:], seed=SEEDS)}


@made("A.Fig8-machine-gain")
def _(gain, _other):
    error = lambda row: {"error": row.factor**-gain}  # noqa: E731
    return {"machines": table(error, factor=(1, 2, 4, 8, 16), p=P[2:], seed=SEEDS)}


@made("A.Fig9-gain", holds=0.2)
def _(gain, other):
    """Of networks over their initial kernel; the kernel after training has the other."""
    powers = {("network", "end"): 0.3 + gain, ("full", "start"): 0.3, ("full", "end"): 0.3 + other}
    axes = {"kernel": ("network", "full"), "moment": ("start", "end"), "p": P, "seed": SEEDS}
    error = lambda row: {"error": row.p ** -powers.get((row.kernel, row.moment), 0)}  # noqa: E731
    return {"curves": table(error, scatter=2e-4, **axes)}


@made("B.Sec5-isotropic-mnist", "B.Sec5-isotropic-cifar10")
def _(beta, other):
    """Of each kernel; the mean square error has the other."""
    error = lambda row: {"error": row.p**-beta, "square": row.p**-other}  # noqa: E731
    return {"images": table(error, kernel=("laplace", "gaussian", "ntk"), **POINTS)}


def test_one_kernel_with_another_exponent_refuses_it_for_all():
    error = lambda row: {"error": row.p ** -(0.071 if row.kernel == "ntk" else 0.4)}  # noqa: E731
    rows = table(error, kernel=("laplace", "ntk"), **POINTS)
    assert verdict("B.Sec5-isotropic-mnist", images=rows) == "not reproduced"


@made("A.Fig6-largest")
def _(power, other):
    """Of the largest amplification over that at the characteristic time, from 1024 points on."""

    def fill(row):
        factor = (row.p / 1024) ** (power if row.p >= 1024 else other)
        return {"star": row.p**0.5, "largest": 4 * row.p**0.5 * factor}

    axes = {"p": (256, 1024, 4096, 16384), "seed": SEEDS}
    cylinder = table(fill, shape=("cylinder",), d=(3,), scatter=1e-3, **axes)
    return {"stripe": table(fill, shape=("stripe",), d=(5, 10), **axes), "cylinder": cylinder, "growth_from": 1024}


@made("A.Fig8-directions")
def _(power, other):
    fill = lambda row: {"directions": row.p**power, "directions_start": row.p**other}  # noqa: E731
    return {"ring": table(fill, p=(512, 2048, 8192), seed=SEEDS)}


@made("A.Fig8-star-trend", holds=-0.2)
def _(power, other):
    """Of the kernel at the characteristic time over the initial one; at the end of training it has the other."""

    def fill(row):
        judged = (row.curve, row.share) == ("final", 0.1)
        return {"error": row.p**-0.4 * (row.p / 512) ** (power if judged else other)}

    axes = {"d": (3,), "p": (512, 2048, 8192), "seed": SEEDS}
    nets = table(fill, curve=("final", "feature"), share=(0.1, 1.0), scatter=1e-3, **axes)
    return {"nets": nets, "initial": table(lambda row: {"error": row.p**-0.4}, draw=1, scatter=1e-3, **axes)}


def grown(power, other, d):
    """Networks: the power of the amplification from 1024 points on, with the noise of each set divided out."""

    def fill(row):
        size = row.p ** (power if row.p >= 1024 and row.d == d else other)
        of_set = 1 + row.seed / 10
        return {"predicted": of_set * row.p**0.5, "star": of_set * size, "largest": size}

    return table(fill, d=(3, 5, 10), p=(*P[1:], 16384), seed=SEEDS)


@made("A.Fig6-star-d5", "A.Fig6-star-d10")
def _(power, other, d):
    return {"networks": grown(power, other, d), "growth_from": 1024}


@made("A.Fig8-star")
def _(power, other):
    return {"networks": grown(power, other, 3).query("d == 3"), "growth_from": 1024}


@made("A.Fig6-wide")
def _(power, other):
    """Of wide networks, on few of the training sets; narrow ones, and few points, have the other."""

    def of_width(power, draw, seeds, **tasks):
        def fill(row):
            noise = 1 + 0.5 * float(np.sin(17.0 * row.seed + row.p))
            return {"star": row.p ** (power if row.p >= 1024 else other) / noise, "predicted": row.p**0.5 / noise}

        return table(fill, p=P, seed=seeds, draw=draw, **tasks)

    tables = {}
    for name, at in {"stripe": {"d": (5, 10)}, "cylinder": {"d": (3,)}}.items():
        tables[name] = of_width(power, 1, range(2, 8), **at)
        tables[f"narrow_{name}"] = of_width(other, 2, range(24), **at)
    return tables | {"growth_from": 1024}


def at_scales(power):
    """Networks at several output scales, of which that for half of the plateau goes as a power of ``p``."""

    def fill(row):
        half = 0.01 * (row.p / 4096) ** power
        return {"predicted": row.p**0.5, "star": (row.p / (1 + 3 * row.alpha / half)) ** 0.5}

    return table(fill, p=(4096, 16384, 65536), seed=SEEDS, alpha=np.geomspace(1e-6, 1, 25)).assign(d=5)


@made("A.Fig6-scale", holds=-1.0)
def _(power, _other):
    return {"scales": at_scales(power), "interfaces": tasks.STRIPE}


# Slopes in a logarithm


@made("A.AppC-time")
def _(slope, _other):
    def fill(row):
        return {"rate": 1.0 + row.seed, "t_star": (3 - slope * np.log(row.alpha)) / (1 + row.seed)}

    times = table(fill, alpha=(1e-18, 1e-14, 1e-10, 1e-6), seed=SEEDS)
    return {"times": times.assign(rate=1.0 + times.seed)}


@made("C.Thm2-rate", holds=0.0)
def _(slope, other):
    """In the last decade; the offsets of the pairs do not count."""
    deepest = 10**6

    def fill(row):
        rest = slope * np.log(row.depth) + 10 * row.rho if row.depth >= deepest // 10 else 50 * other
        return {"kernel": 0.25 + rest / row.depth}

    rows = table(fill, rho=(-1.0, 0.5, 0.9), depth=(100, deepest // 10, deepest), scatter=0)
    return {"curves": rows, "curve_depth": deepest}


@made("C.Thm3-perturbation", holds=0.0)
def _(slope, other):
    """Between the last two depths; before, and of other columns, the slope is another."""

    def fill(row):
        law = slope if row.depth >= 1000 else other
        return {"matrix": (2 + law * np.log(row.depth / 1000)) / row.depth, "projectors": 0.3 / row.depth}

    return {"matrices": table(fill, depth=(10, 1000, 10_000), seed=SEEDS, scatter=1e-5)}


# In the depth, the width


@made("C.Fig8-trend", holds=0.05)
def _(power, _other):
    return {"bounds": table(lambda row: {"bound": 3 * row.n**power}, n=(50, 100, 200, 400), seed=SEEDS, scatter=1e-3)}


DISTANCES = {"seed": SEEDS, "depth": (12, 24, 48), "width": (500, 4000, 32_000)}


@made("C.Thm3-shares-width", holds=1.0)
def _(ratio, other):
    """At 96 layers, over the plain network; other depths have another distance."""
    shared = table(lambda row: {"distance": 0.2 * (ratio if row.depth == 96 else other)}, depth=(6, 96), seed=SEEDS)
    return {"shared": shared, "plain": table(lambda row: {"distance": 0.2}, draw=1, depth=(6,), seed=SEEDS)}


@made("C.Thm3-width-cubed", holds=1.0)
def _(ratio, _other):
    """Distances that are a function of the width over a power of the depth: 64 times the width at 4 times the depth."""
    power = 3 + math.log(ratio) / math.log(2)
    return {"sphere": table(lambda row: {"distance": 0.8 * (row.depth**power / row.width) ** 0.5}, **DISTANCES)}


@made("C.Prop4-concentrates", holds=-0.5)
def _(power, other):
    """Of the spread, not of its mean."""
    fill = lambda row: {"spread": row.width**power, "drift": row.width**other}  # noqa: E731
    return {"networks": table(fill, width=(256, 4096), seed=SEEDS)}


@made("C.Sec6-sensitive", holds=0.5)
def _(power, other):
    """Of the gradient, at every depth; the norm has the other power."""
    fill = lambda row: {"slope": row.depth * row.n**power, "norm": row.n**other}  # noqa: E731
    return {"noise": table(fill, depth=(2, 3), n=(200, 600, 1800), seed=SEEDS)}


@made("C.Sec6-unstable", holds=0.3)
def _(power, other):
    """The larger of two powers, here that of the worst labels; of the spread it is smaller."""
    fill = lambda row: {"worst": row.n**power, "norm": row.n ** (min(power, other) - 0.1)}  # noqa: E731
    return {"noise": table(fill, depth=(2, 3), n=(200, 600, 1800), seed=SEEDS)}


@made("C.Tab1-norm", holds=0.0)
def _(power, _other):
    """After 20 steps, of the targets whose power is further from 0."""
    fill = lambda row: {"norm": row.width ** (power if row.step == 20 else 0.3)}  # noqa: E731
    axes = {"width": (256, 512, 1024, 2048), "step": (1, 20, 80), "seed": SEEDS}
    words = table(fill, **axes)
    return {"frequencies": words.assign(norm=words.norm * words.width**-0.01), "words": words}


# In the parameters at jamming


def lines_at_rest(power, of=0):
    """Rows through the transition at ``P`` to a power, at several numbers of points."""
    axes = {"p": (250, 500, 1000, 5000), "seed": range(6), "k": range(4)}
    rng = np.random.default_rng(of)

    def fill(row):
        factor = (0.8, 0.95, 1.05, 1.3)[row.k]
        return {"parameters": factor * row.p**power * math.exp(0.003 * rng.standard_normal())}

    rows = table(fill, scatter=0, **axes).assign(words="made", newton_steps=1600)
    rows["cell"] = rows.p.astype(str) + " " + rows.seed.astype(str) + " " + rows.k.astype(str)
    return rows.assign(fitted=(rows.k > 1).astype(float), h=rows.k)


@made("B.Fig8A-rest-lazy", holds=0.8)
def _(power, _other):
    """On the training sets that hold jamming at each number of points."""
    rows = lines_at_rest(power)
    cut = {"small": 250, "large": 1000, "largest": 5000}
    return {name: rows[rows.p == p] for name, p in cut.items()}


@made("B.Fig8A-rest-features", holds=-0.2)
def _(less, _other):
    rows, lazy = lines_at_rest(0.8 + less), lines_at_rest(0.8, 1)
    return {"sizes": rows, "all_images": rows[:0], "lazy": lazy, "all_images_lazy": rows[:0]}


@pytest.mark.parametrize("name", made)
def test_a_power_is_found_and_its_rival_refused(name):
    made.check(name)
