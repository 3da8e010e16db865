"""Claims of chapter 3 on made rows: what diverges and peaks at jamming, at rest and by votes; Cover's theorem."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.book import ledger
from companion.papers.jamming.claims import jamming as claims
from companion.papers.jamming.claims.rest import followed_longest, heights_of_peak
from companion.papers.jamming.claims.voting import hill_index
from companion.papers.jamming.studies._ensembles import poll
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.separability import separable_share
from tests.claims.made import SEEDS, Made, table, verdict

SCALES = (0.01, 12.0, 1e6)
H = (3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128, 256)
JAMMED = 5.5  # the width from which on made networks fit
made = Made()


# At the transition of a map


def cut(**columns):
    """Rows of three cuts of the map, at one stop on the way and at the end; columns are functions of N and N*."""
    n_star = jamming.transition([11 * h + h * h for h in H], [float(h > JAMMED) for h in H])

    def fill(row):
        size = 11 * row.h + row.h**2
        return {name: float(function(size, n_star, row.scale, row.stop)) for name, function in columns.items()}

    rows = table(fill, seed=SEEDS, scale=SCALES, h=H, stop=(0.5, 1.0))
    rows["cell"] = rows.seed.astype(str) + " " + rows["scale"].astype(str) + " " + rows.h.astype(str)
    return rows.assign(parameters=11 * rows.h + rows.h**2, fitted=(rows.h > JAMMED).astype(float))


@made("B.Sec2-norm")
def _(power, _other):
    """Along the largest scale at the end of training; elsewhere there is no divergence."""

    def norm(n, n_star, scale, stop):
        return max(n - n_star, 1.0) ** power if (scale, stop) == (SCALES[-1], 1.0) else n**0.1

    return {"slices": cut(norm=norm)}


@made("B.Fig8D-far-feature")
def _(power, other):
    """At the smallest scale; nearer to jamming and at other scales it falls otherwise."""

    def fluctuation(n, n_star, scale, stop):
        return n ** (power if (scale, stop) == (SCALES[0], 1.0) and n >= 4 * n_star else other)

    return {"slices": cut(fluctuation=fluctuation)}


def stopped(height, *, seeds=range(6), widths=(4, 6, 9, 14), jammed=9):
    """Networks at two numbers of points that fit from ``jammed`` on, with an error ``height`` percent higher there."""

    def fill(row):
        above = height if row.h == jammed and row.stop == 1 else 0.0
        return {"error": 0.2 + above / 100 + 1e-4 * row.seed}

    rows = table(fill, scatter=0, p=(100, 200), stop=(0.5, 1.0), h=widths, seed=seeds)
    return rows.assign(fitted=(rows.h >= jammed).astype(float), parameters=10 * rows.h, ensemble_error=0.1)


def test_networks_have_a_peak_where_they_begin_to_fit():
    begin = jamming.transition((4, 6, 9, 14), (0.0, 0.0, 1.0, 1.0))
    there = 2.0 * np.interp(np.log(begin), np.log([6, 9]), [0, 1])
    found = claims._growth_left_of_jamming(stopped(2.0).query("stop == 1"))
    assert found.value == pytest.approx(there, abs=0.3) and found.low > 0.1
    assert claims._growth_left_of_jamming(stopped(-2.0).query("stop == 1")).high < 0.1
    assert claims._growth_left_of_jamming(stopped(2.0, seeds=[0]).query("stop == 1")) is None, "one training set"
    near = stopped(2.0, widths=(8, 9, 14)).query("stop == 1")
    assert claims._growth_left_of_jamming(near) is None, "jamming too near to the smallest width"


def efforts(needed):
    """Networks that fit after so many steps, of 320."""
    rows = table(lambda row: {"needed": float(needed(row.h))}, h=(4, 6, 9, 14, 20, 30), seed=range(6))
    return rows.assign(scale=1.0, parameters=10 * rows.h, steps=320)


def test_where_networks_begin_to_fit_in_steps():
    """Steps that fall as the cube of the width give it the power -1/3; two budgets that show it are too few."""
    assert claims.jamming_in_steps(efforts(lambda h: 8 * (30 / h) ** 3)).value == pytest.approx(-1 / 3, abs=0.05)
    late = efforts(lambda h: 200 if h == 30 else np.inf)
    assert claims.parameters_by_budget(late).dropna(axis=1).shape[1] == 2 and claims.jamming_in_steps(late) is None


# At rest


@made("B.Sec2-norm-middle-rest", holds=-1.0)
def _(power, other):
    """After the last round; before it the exponent is another, and so is the width from which networks fit."""

    def fill(row):
        size = row.h**2 + 11 * row.h
        return {"norm": max(size - 80, 1.0) ** (power if row.newton_steps else other)}

    rows = table(fill, newton_steps=(0, 1600), h=(4, 5, 6, 8, 10, 13), seed=range(6))
    jammed = np.where(rows.newton_steps > 0, 5, 8)
    fitted = (rows.h > jammed) / 2 + (rows.h >= jammed) / 2
    return {"votes": rows.assign(p=250, scale=12.0, parameters=rows.h**2 + 11 * rows.h, fitted=fitted)}


def test_a_divergence_is_not_read_from_few_widths():
    (maker, *_) = made["B.Sec2-norm-middle-rest"]
    votes = maker(-1.0, -0.27)["votes"]
    assert ledger.claims()["B.Sec2-norm-middle-rest"].function(votes.query("h < 9")) is None


def ends(heights, scale=12.0):
    """Rows of networks stopped and at rest, on 1000 and on 5000 points, with a peak of each height (per cent)."""
    parts = []
    for p, widths in ((1000, (6, 8)), (5000, (12, 18))):
        high = dict(zip((0, 25, 1600), heights)) if p == 5000 else dict.fromkeys((0, 25, 1600), -9.0)
        fill = lambda row, high=high, top=widths[1]: {  # noqa: E731
            "error": 0.12 + (high[row.newton_steps] if row.h == top else 0.0) / 100
        }
        axes = {"p": (p,), "newton_steps": (0, 25, 1600), "h": widths, "seed": range(1, 7)}
        parts.append(table(fill, scatter=0, plus=1e-4, draw=p, **axes))
    return pd.concat(parts, ignore_index=True).assign(members=6, scale=scale)


@made("B.Fig6-rest-cusp", "B.Fig6-rest-lazy", holds=1.2)
def _(height, _other):
    """After the last round, on the most points."""
    return {"networks": ends((2.0, 2.0, height))}


def test_heights_are_those_of_the_networks_that_were_followed_longest():
    rows = ends((0.2, 2.0, 1.2)).assign(test=2500)
    rows["cell"] = rows.p.astype(str) + " " + rows.h.astype(str) + " " + rows.seed.astype(str)
    short = rows[rows.newton_steps < 1600].assign(members=4, cell="short")
    followed = followed_longest(short, rows, rows)
    assert len(followed) == len(rows) and set(followed.members) == {6}
    heights = heights_of_peak(followed, 1600).set_index("p")
    assert heights.height[5000] == pytest.approx(1.2, abs=0.05) and heights.height[1000] == pytest.approx(-9, abs=0.05)
    assert (heights.low < heights.height).all() and (heights.height < heights.high).all()
    assert heights_of_peak(followed, 0).set_index("p").height[5000] == pytest.approx(0.2, abs=0.05)


def through_jamming(rest_height, stop_height, column="error", members=20):
    """Rows of ensembles of all widths, with peaks of these heights at width 9 at rest, and at 12 where stopped."""
    centres = {1600: (rest_height, 9), 0: (stop_height, 12)}

    def fill(row):
        height, centre = centres[row.newton_steps]
        return {column: float(0.1 + height * np.exp(-((row.h - centre) ** 2)) / 100)}

    axes = {"p": (1000, 2000), "newton_steps": (1600, 0), "h": (5, 6, 8, 9, 10, 12, 14, 18), "seed": range(6)}
    rows = table(fill, scatter=0, plus=1e-4, **axes)
    rows["cell"] = rows.p.astype(str) + " " + rows.h.astype(str) + " " + rows.seed.astype(str)
    centre = np.where(rows.newton_steps > 0, 9, 12)
    fitted = (rows.h > centre) / 2 + (rows.h >= centre) / 2
    return rows.assign(words="made", members=members, parameters=rows.h**2 + 11 * rows.h, fitted=fitted)


@made("B.Fig6-rest-stop", holds=0.1, fails=2.0)
def _(height, _other):
    """The peak of stopped networks is read at their own jamming."""
    rows = through_jamming(2.0, height)
    return {"sizes": rows, "all_images": rows[:0]}


@made("B.Fig6-rest-twenty", "B.Fig6-rest-twenty-lazy", holds=0.1, fails=1.5)
def _(height, other):
    """Of ensembles at rest; smaller ensembles have the other bump."""
    large, small = (through_jamming(at, 3.0, "ensemble_error", n) for at, n in ((height, 20), (other, 2)))
    return {"networks": pd.concat([large, small], ignore_index=True)}


@made("B.Fig8B-jump", holds=0.6)
def _(ratio, other):
    """Of networks that can fit, whose loss goes with the square of the decay; narrower ones have more; small ensembles
    have the other."""

    def minima(own, members):
        def fill(row):
            size = 10 * row.h + 2 * row.h**2 + row.h
            return {"unsatisfied": (1.7 if row.h == 3 else own if row.h == 4 else 0.3) * size}

        axes = {"p": (30, 60), "h": (3, 4, 5), "member": range(3), "decay": (0.001, 0.01, 0.1), "seed": range(6)}
        rows = table(fill, **axes)
        loss = np.where(rows.h > 3, rows.decay**2, 0.3)
        size = 10 * rows.h + 2 * rows.h**2 + rows.h
        return rows.assign(members=members, ended="jammed", parameters=size, quadratic_hinge=loss)

    return {"minima": pd.concat([minima(ratio, 3), minima(other, 2)], ignore_index=True)}


# Means and votes


def ensembles(index, centre=5):
    """Predictors of which seven in ten points are right, with norms whose tail has an index at jamming."""
    rows = []
    for seed in range(8):
        for h in (3, 4, 5, 6, 7, 8, 10, 12, 14):
            random = np.random.default_rng([seed, h])
            # each point has a chance of its own to be right
            odds = random.beta(3, 1, size=8000)
            right = np.where(random.random((20, 8000)) < odds, 1.0, -1.0)
            near = index if abs(h - centre) <= 2 else 40
            sizes = (1 - random.random(20)) ** (-1 / near)
            polled = poll(torch.from_numpy(right * sizes[:, None]), torch.ones(8000, dtype=torch.float64))
            rows.append({"seed": seed, "h": h, "fitted": float(h > centre) / 2 + float(h >= centre) / 2} | polled)
    return pd.DataFrame(rows)


@made("B.Fig6-vote", holds=0.7, fails=40)
def _(index, _other):
    """A mean loses to the vote where norms have no variance, by the index of their tail."""
    return {"rows": ensembles(index)}


@made("B.Sec2-norm-tail", holds=1.2, fails=8)
def _(index, _other):
    return {"rows": ensembles(index)}


def test_far_from_jamming_a_mean_loses_nothing_and_norms_have_a_variance():
    rows = ensembles(0.7)
    assert verdict("B.Fig6-vote-far", rows=rows) == verdict("B.Fig6-vote-bump", large=rows) == "reproduced"
    assert verdict("B.Sec2-norm-tail-far", rows=rows) == "reproduced"


def test_votes_whose_widths_do_not_hold_jamming_or_of_one_training_set_say_nothing():
    """The claim at jamming needs the width there on both sides, that at a multiple of it that one, too."""
    at, far, bump = (ledger.claims()[name] for name in ("B.Fig6-vote", "B.Fig6-vote-far", "B.Fig6-vote-bump"))
    rows = ensembles(0.7)
    for which in ("h > 5", "h < 5", "seed == 0"):
        assert at.function(rows.query(which), factor=1) is None and bump.function(rows.query(which)) is None
    narrow = rows.query("h < 8")  # and jamming is at 5
    assert at.function(narrow, factor=1) is not None
    assert far.function(narrow, factor=far.given["factor"]) is None and bump.function(rows.query("h < 7")) is None


def stops(needed):
    """Steps to fit at six widths within a budget, six training sets."""
    return table(lambda row: {"needed": float(needed(row.h))}, h=(4, 6, 9, 14, 20, 30), member=(0, 1), seed=range(6))


@made("B.Fig4-slowing", holds=8.0)
def _(factor, _other):
    """At the narrowest width of which half fit, and not at the next."""
    rows = stops(lambda h: {6: factor, 9: 2.0}.get(h, 1.0) * 100)
    return {
        "budgets": rows.assign(needed=rows.needed.mask((rows.h < 6) | ((rows.h == 6) & (rows.member == 1)), np.inf))
    }


def test_a_slowing_is_not_read_where_all_fit_or_one_set_alone_does():
    slowing = ledger.claims()["B.Fig4-slowing"].function
    rows = stops(lambda h: 100.0)
    assert slowing(rows) is None, "the narrowest fit: jamming is narrower"
    held = rows.assign(needed=rows.needed.mask(rows.h < 30, np.inf))
    assert slowing(held) is None, "only the widest fit"
    near = rows.assign(needed=rows.needed.mask((rows.h < 9) | ((rows.h == 9) & (rows.seed % 2 > 0)), np.inf))
    assert slowing(near.query("seed < 2"))[0] is None, "one set that fits near jamming"
    assert slowing(near.query("seed < 4"))[0].n == 2


def test_hills_index_is_that_of_a_power_law():
    samples = (1 - np.random.default_rng(0).random(40_000)) ** (-1 / 1.5)
    assert hill_index(samples) == pytest.approx(1.5, abs=0.05)


@made("B.Fig8B-lazy")
def _(ratio, _other):
    """Of the network of each set that fits with the largest motion of its weights."""
    random = np.random.default_rng(0)
    rows = []
    for seed in range(8):
        for h in (6, 8, 10, 11, 14, 22):
            sizes = (1 - 0.1 * random.random(20)) * 10 / h
            row = {"seed": seed, "h": h, "fitted": float(h > 10), "holding": [1.4] * 20, "weights": [1000.0] * 20}
            if h > 10:
                row |= {"holding": list(ratio * sizes * h / 10), "weights": list(100 * sizes)}
            rows.append(row)
    return {"large": pd.DataFrame(rows)}


def test_a_vote_that_is_even_is_half_an_error():
    outputs = torch.tensor([[1.0, 3.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    row = poll(outputs, torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert row["vote_error"] == 0.25 and row["mean_error"] == 0.5 and row["error"] == 0.25


# Cover's theorem


def programs(needed, h):
    """Networks of which half fit where they have ``needed`` times P/2 parameters, 210 of them."""
    random = np.random.default_rng(h)

    def fill(row):
        return {"separable": int(random.random() < separable_share(row.points, 210 / needed))}

    points = tuple(round(ratio * 210) for ratio in (1.75, 1.9, 2.0, 2.1, 2.25))
    return table(fill, scatter=0, h=(h,), points=points, parameters=(210,), seed=range(48))


@made("B.Sec2-cover", holds=1.0)
def _(needed, _other):
    """Widths on which it was tried first do not count."""
    widths = {"points": 10, "shallow": 20, "deep": 8}
    return {name: pd.concat([programs(needed, h), programs(1.5, 7)]) for name, h in widths.items()}


@pytest.mark.parametrize("name", made)
def test_a_number_at_jamming_is_found_and_its_rival_refused(name):
    made.check(name)
