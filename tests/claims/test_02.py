"""Headline claims of chapter 2 on made rows: reproduced where the statement is true, not where the rival is."""

import numpy as np
import pandas as pd
import pytest

from companion.book import ledger
from companion.papers.compression.claims import balance
from companion.papers.compression.claims import compression as claims
from regimes.data import tasks

P = (256, 512, 1024, 2048, 4096, 8192, 16384)
SEEDS = range(12)


def verdict(name, **arguments):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **arguments})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate.anytime() if claim.looks > 1 else estimate, "laptop")


def noise(*key):
    """A scatter of one per cent that is the same for the same key."""
    return float(np.exp(0.01 * np.random.default_rng([int(part) for part in key]).standard_normal()))


def grown(power, power_elsewhere):
    """Networks of two dimensions: the power of the amplification in ``p``, and that below 1024 points and elsewhere."""
    rows = []
    for d in (3, 5, 10):
        for p in P:
            for seed in SEEDS:
                set_noise = 1 + seed / 10  # of the training set, which the claims divide out
                size = p ** (power if p >= 1024 and d != 3 else power_elsewhere)
                row = {"d": d, "p": p, "seed": seed, "predicted": set_noise * p**0.5}
                row["largest"] = size * noise(p, seed)
                row["star"] = set_noise * size * noise(seed, p)
                rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("power", "expected"), [(0.5, "reproduced"), (0.0, "not reproduced")])
@pytest.mark.parametrize("name", ["star-d5", "star-d10", "largest-d5"])
def test_the_square_root_of_the_stripe(name, power, expected):
    rows = {"maximum" if "largest" in name else "networks": grown(power, 0.5 - power)}
    assert verdict(f"A.Fig6-{name}", growth_from=1024, **rows) == expected
    claim = ledger.claims()[f"A.Fig6-{name}"]
    drift, _ = claim.function(**rows, growth_from=1024, **claim.given)
    assert drift.whole.value == pytest.approx(power, abs=0.02)


@pytest.mark.parametrize(("power", "expected"), [(0.5, "reproduced"), (0.0, "not reproduced")])
def test_the_square_root_of_the_cylinder(power, expected):
    rows = grown(power, 0.5 - power).query("d == 5")
    assert verdict("A.Fig8-star", networks=rows, growth_from=1024) == expected


@pytest.mark.parametrize(("factor", "expected"), [(1.0, "reproduced"), (1.18, "not reproduced")])
def test_the_constant_of_the_stripe(factor, expected):
    rows = grown(0.5, 0.1).query("d > 3")
    rows["star"] *= np.where((rows.p >= P[-3]) & (rows.d == 5), factor, 1.6 - 0.5 * factor)
    assert verdict("A.AppC-constant", stripe=rows, other_sets=rows[:0], growth_p=P) == expected


@pytest.mark.parametrize(
    ("name", "argument", "column", "true", "rival"),
    [("A.Fig4-ode", "neurons", "error", 0.1, 0.707), ("A.Fig5-attractors", "neurons", "off", 0.04, 0.2)],
)
def test_neurons_of_the_largest_training_sets(name, argument, column, true, rival):
    for large, small, expected in ((true, rival, "reproduced"), (rival, true, "not reproduced")):
        rows = []
        for p, value in ((1000, small), (10_000, large)):
            rows += [{"p": p, "seed": seed, column: value * noise(p, seed)} for seed in SEEDS]
        assert verdict(name, **{argument: pd.DataFrame(rows)}) == expected


@pytest.mark.parametrize(("slope", "expected"), [(1.0, "reproduced"), (0.5, "corrected")])
def test_formulas_with_an_erratum(slope, expected):
    times = [
        {"alpha": a, "seed": s, "rate": 1 + s, "t_star": (3 - slope * np.log(a) * noise(s)) / (1 + s)}
        for a in (1e-18, 1e-14, 1e-10, 1e-6)
        for s in SEEDS
    ]
    assert verdict("A.AppC-time", times=pd.DataFrame(times)) == expected
    exponents = pd.DataFrame([{"seed": s, "exponent": slope * noise(s)} for s in SEEDS])
    assert verdict("A.AppC-noise", noises=exponents) == expected
    ratios = pd.DataFrame({"ratio": np.full(6, 1.0 if slope == 1 else 0.399)})
    assert verdict("A.AppC-tau-perp", across=ratios) == expected


def at_scales(power):
    """Networks at several output scales, of which that for half of the plateau goes as a power of ``p``."""
    rows = []
    for p in (4096, 16384, 65536):
        half = 0.01 * (p / 4096) ** power
        for seed in SEEDS:
            for alpha in np.geomspace(1e-6, 1, 25):
                excess = 3 * alpha / half * noise(seed, p)
                row = {"p": p, "seed": seed, "alpha": alpha, "predicted": p**0.5}
                rows.append(row | {"star": (p / (1 + excess)) ** 0.5})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("power", "expected"), [(-1, "reproduced"), (-0.56, "not reproduced")])
def test_the_required_scale(power, expected):
    assert verdict("A.Fig6-idle-scale", scales=at_scales(power)) == expected
    for law, verdict_of_law in ((power, "reproduced"), (0.0, "not reproduced")):
        assert verdict("A.Fig6-scale", scales=at_scales(law).assign(d=5), interfaces=tasks.STRIPE) == verdict_of_law


def test_a_network_whose_training_has_ended_keeps_its_last_amplification():
    rows = pd.DataFrame({"time": [[0.0, 2.0], [0.0, 4.0]], "size": [[1.0, 3.0], [1.0, 9.0]]})
    assert claims.mean_course(rows, [0.0, 2.0, 4.0]) == pytest.approx([1.0, 4.0, 6.0])


def test_the_imbalance_at_which_the_amplification_has_halved():
    """Two seeds whose curves halve at 0.1 and 0.2 of a mean label; one that never halves is left out."""
    interfaces = [[-0.3, 1.18549], [-0.3, 0.9], [-0.3, 0.7]]
    rows = []
    for seed, halvings in ((0, 1.0), (1, 2.0), (2, 0.1)):
        for step, planes in enumerate(interfaces):
            for p in (100, 400):
                star = 8 * p * 0.5 ** (halvings * step)
                rows.append({"d": 4, "p": p, "seed": seed, "interfaces": planes, "star": star})
    rows = balance.unbalanced(pd.DataFrame(rows))
    imbalance = sorted(set(rows.imbalance))
    falls = balance.fall_of_the_amplification(rows, "imbalance")
    assert falls.to_dict() == pytest.approx({0: imbalance[1], 1: (imbalance[0] + imbalance[1]) / 2})
    assert balance.fall_of_the_amplification(rows)[0] == pytest.approx(2 * imbalance[1])


def test_unequal_labels_are_warned_of():
    assert "planes are selected" in balance.balance_in_words([-0.3, 1.18549], [5, 10])
    assert "WARNING: in d = 20 a constant" in balance.balance_in_words([-0.3, 0.95], [5, 10, 20])
