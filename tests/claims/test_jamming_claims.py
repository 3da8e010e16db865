"""Claims of chapter 3 on made rows: what diverges and peaks at jamming, at rest and by votes; Cover's theorem."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.book import ledger
from companion.papers.jamming.claims import jamming as claims
from companion.papers.jamming.claims import voting as claims_of_votes
from companion.papers.jamming.claims.rest import followed_longest, heights_of_peak
from companion.papers.jamming.claims.voting import hill_index
from companion.papers.jamming.studies import voting
from companion.papers.jamming.studies._ensembles import poll
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.margins import gardner_margin
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


@made("B.Fig4-change-diverges")
def _(power, _other):
    """Along the largest scale at the end of training; elsewhere there is no divergence."""

    def change(n, n_star, scale, stop):
        return max(n - n_star, 1.0) ** power if (scale, stop) == (SCALES[-1], 1.0) else n**0.1

    return {"slices": cut(kernel_change=change)}


@made("B.Fig8D-far-feature")
def _(power, other):
    """At the smallest scale; nearer to jamming and at other scales it falls otherwise."""

    def fluctuation(n, n_star, scale, stop):
        return n ** (power if (scale, stop) == (SCALES[0], 1.0) and n >= 4 * n_star else other)

    return {"slices": cut(fluctuation=fluctuation)}


@made("B.Sec3-improves", holds=0.3, fails=0.0)
def _(fall, _other):
    """From half of the largest width to the largest, mean over scales; before it falls anyhow."""
    share = {SCALES[0]: 0.5, SCALES[1]: 1.0, SCALES[2]: 1.5}
    rows = cut(error=lambda n, *_: 0.0)
    rows["error"] = 0.2 - 0.0005 * np.minimum(rows.h, 128) - (rows.h == 256) * fall / 100 * rows["scale"].map(share)
    return {"slices": rows.assign(error=rows.error + 1e-5 * rows.seed * (rows.h == 256))}


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


@made("B.Sec2-norm-middle-points", holds=-1.0)
def _(power, other):
    """After the last round, and from 500 points on; before, and on fewer, the exponent is another."""

    def fill(row):
        size = row.h**2 + 11 * row.h
        return {"norm": max(size - 80, 1.0) ** (power if row.newton_steps and row.p > 250 else other)}

    rows = table(fill, newton_steps=(0, 1600), h=(4, 5, 6, 8, 10, 13), seed=range(3), p=(250, 500, 1000))
    fitted = (rows.h > 5) / 2 + (rows.h >= 5) / 2
    return {"sizes": rows.assign(scale=12.0, parameters=rows.h**2 + 11 * rows.h, fitted=fitted)}


def test_a_divergence_is_not_read_from_few_widths():
    (maker, *_) = made["B.Sec2-norm-middle-points"]
    sizes = maker(-1.0, -0.5)["sizes"]
    assert ledger.claims()["B.Sec2-norm-middle-points"].function(sizes.query("h < 9")) is None


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


@made("B.Fig6-rest-twenty", holds=0.1, fails=1.5)
def _(height, other):
    """Of ensembles at rest; smaller ensembles have the other bump."""
    large, small = (through_jamming(at, 3.0, "ensemble_error", n) for at, n in ((height, 20), (other, 2)))
    return {"networks": pd.concat([large, small], ignore_index=True)}


@made("B.Fig6-rest-twenty-lazy", holds=0.1, fails=1.5)
def _(height, _other):
    """The bump of the mean alone, at the jamming of all sets."""
    rows = through_jamming(height, 3.0, "mean_error")
    return {"rows": rows[(rows.newton_steps > 0) & (rows.p == 1000)].assign(vote_error=0.1)}


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


FEW = 200


def ensembles(p=2000, sigma=0.03, centre=13, flat=False, tested=6000):
    """Networks of which seven in ten points are right, whose margins are normal and grow with N - N*.

    Beyond jamming two networks agree more, unless they are ``flat``. A point has a chance of its own to be right. Few
    points need be ``tested`` where margins alone matter.
    """
    rows = []
    n_star = centre**2 + 11 * centre
    for seed in range(10):
        for h in (8, 9, 11, 12, 13, 14, 15, 16, 18, 22, 27):
            random = np.random.default_rng([seed, h, p])
            common = 0.2 + (0 if flat else 0.4 * max(h / centre - 1, 0))
            odds = random.beta(3, 1, size=tested)
            shared = random.random(tested) < odds
            own = random.random((20, tested)) < odds
            right = np.where(random.random((20, tested)) < min(common, 0.9), shared, own)
            size = h**2 + 11 * h
            margins = size / n_star - 1 + sigma * random.standard_normal(20)
            outputs = torch.from_numpy(np.where(right, 1.0, -1.0) / abs(margins)[:, None])
            row = {"seed": seed, "h": h, "p": p, "parameters": size, "words": "made", "fits": (margins > 0).astype(int)}
            row |= {"fitted": float((h > centre) + (h == centre) / 2), "errors": 1 - right.mean(1)}
            row |= {"overlap": voting.overlap(outputs), "fluctuation": float(jamming.fluctuation(outputs))}
            row |= {"weights": 1 / abs(margins), "holding": 1 - np.abs(margins) * np.sign(margins)}
            rows.append(row | poll(outputs, torch.ones(tested, dtype=torch.float64)))
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def voters():
    return {"large": ensembles(), "thin": ensembles(sigma=1e-3), "flat": ensembles(flat=True)}


def test_votes_and_means_over_norms_have_no_bump_where_norms_have_no_variance(voters):
    rows = voters["large"]
    assert verdict("B.Fig6-vote-large", rows=rows) == verdict("B.Fig6-vote-bump", rows=rows) == "reproduced"
    assert verdict("B.Fig6-overlap", largest=rows) == "reproduced"
    assert verdict("B.Sec2-norm-index", small=rows, large=rows, largest=rows) == "reproduced"
    assert verdict("B.Sec2-norm-cusp", largest=rows) == "not reproduced", "errors are drawn whatever the norm"
    assert verdict("B.Fig6-overlap", largest=voters["flat"]) == "not reproduced"


def test_an_error_that_follows_the_norm_is_seen(voters):
    rows = voters["large"]
    follows = rows.assign(errors=[np.argsort(np.argsort(norms)) / 100 for norms in rows.norms])
    assert verdict("B.Sec2-norm-cusp", largest=follows) == "reproduced"


@made("B.Fig6-normalised", holds=0.3, fails=0.0)
def _(gain, _other):
    """What the mean over norms gains over the vote, at each width."""
    rows = table(lambda row: {"vote_error": 0.1}, scatter=0, h=(8, 13, 20), seed=range(6))
    return {"largest": rows.assign(normalised_error=rows.vote_error - gain / 100 + 1e-5 * rows.seed)}


@made("B.Fig6-vote-large", holds=0.03, fails=1e-4)
def _(sigma, _other):
    """A mean loses to the vote where margins scatter about zero."""
    return {"rows": ensembles(sigma=sigma, centre=12.5)}


@made("B.Sec2-norm-curve")
def _(ratio, _other):
    """Norms of Gaussian margins; norms without a tail, of margins about zero, do not follow the curve."""
    tables = {}
    for name, p in (("small", 250), ("large", 1000), ("largest", 2000), ("second_data", 1001)):
        rows = ensembles(p, 0.03, tested=FEW)
        if ratio < 0.6:
            random = np.random.default_rng(p)
            rows["norms"] = [list(1 + 0.05 * random.random(20)) for _ in range(len(rows))]
            rows["fits"] = [np.arange(20) % 2] * len(rows)
        tables[name] = rows
    return tables


def test_a_window_that_closes_and_one_that_does_not():
    """Its width goes as the scatter of the margins over their growth."""
    sizes = {"small": 250, "large": 1000, "largest": 2000}
    closing = {name: ensembles(p, 0.3 * 250 / p, tested=FEW) for name, p in sizes.items()}
    fixed = {name: ensembles(p, 0.1, tested=FEW) for name, p in sizes.items()}
    for tables, exponent in ((closing, -1), (fixed, 0)):
        found = ledger.claims()["B.Sec2-norm-window"].function(**tables)
        assert found.value == pytest.approx(exponent, abs=0.4)
    assert verdict("B.Sec2-norm-window", **fixed) == "not reproduced"
    curve = claims_of_votes.tails_beyond_jamming(*closing.values())
    assert np.exp(np.log(curve["index"] / curve.gaussian).mean()) == pytest.approx(1, abs=0.15)


def test_the_index_of_gaussian_margins_grows_with_their_mean_over_their_scatter():
    indices = [claims_of_votes.index_of_gaussian_margins([ratio]) for ratio in (0, 1, 2, 3)]
    assert indices == pytest.approx([1.0, 1.0, 1.5, 2.8], abs=0.25)


def test_votes_whose_widths_do_not_hold_jamming_or_of_one_training_set_say_nothing(voters):
    rows = voters["large"]
    at, bump = (ledger.claims()[name].function for name in ("B.Fig6-vote-large", "B.Fig6-vote-bump"))
    tail = ledger.claims()["B.Sec2-norm-index"].function
    for which in ("h > 13", "h < 13", "seed == 0"):
        assert at(rows.query(which)) is bump(rows.query(which), column="vote_error") is None
        assert tail(rows, rows, rows.query(which)) is None
    some = rows.query("h < 18")
    assert at(some) is not None and bump(some, column="vote_error") is None


@made("B.Sec2-norm-law", "B.Fig8D-quadratic-law", holds=0)
def _(power, _other):
    """Gardner's norm, times a power of the distance."""
    rows = table(lambda row: {}, scatter=0, h=(12, 13, 14, 15, 16, 18, 22), seed=range(6))
    rows = rows.assign(p=2000, fitted=(rows.h > 13) / 2 + (rows.h >= 13) / 2, parameters=rows.h**2 + 11 * rows.h)
    load = rows.parameters / 312
    norm = [x**power / gardner_margin((1 + x) / 2) if x > 0 else 1.0 for x in load - 1]
    norm = np.array(norm) * (1 + 1e-3 * rows.seed * np.sign(rows.h - 17))
    # the fluctuation of networks of the median norm does not know of the largest
    huge = rows.assign(fluctuation=norm * rows.h, norms=[[value, value, 1e6] for value in norm], overlap=0.4)
    return {"largest": huge}


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


@made("B.Fig8B-lazy-fits", "B.Fig8B-lazy-deep", holds=0.97)
def _(ratio, other):
    """Of the network of each set that fits with the largest motion of its weights, whatever holds it."""
    return {"rows": branches(ratio, other)}


def branches(fitting, stuck):
    """Networks of which the one with the largest motion is held so, of those that fit and of those that do not."""
    random = np.random.default_rng(0)
    rows = []
    for seed in range(8):
        for h in (6, 8, 10, 11, 14, 22):
            motion = 100 * random.random(20)
            fits = np.arange(20) % 2 if h == 10 else np.full(20, int(h > 10))
            held = np.where(fits == 1, 0.5, 2.0)
            for side, ratio in ((1, fitting), (0, stuck)):
                if h == 10:
                    largest = np.argmax(np.where(fits == side, motion, -1))
                    motion[largest] = 1e4 * (1 + random.random())
                    held[largest if side else fits == 0] = ratio * (1 + 1e-3 * seed)
            row = {"seed": seed, "h": h, "p": 2000, "parameters": 21 * h, "fitted": float(fits.mean())}
            rows.append(row | {"fits": fits, "holding": held, "weights": motion})
    return pd.DataFrame(rows)


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
    widths = {"points": 10, "shallow": 20, "deep": 8, "images": 10}
    return {name: pd.concat([programs(needed, h), programs(1.5, 7)]) for name, h in widths.items()}


@made("B.Fig8A-random", holds=1.0)
def _(power, _other):
    """Random labels that networks of ``N`` parameters can separate where a half of them has the points to a power."""
    random = np.random.default_rng(0)

    def fill(row):
        half = 2 * 138 * (row.parameters / 138) ** (1 / power)  # points of which half can be separated
        points = round(row.ratio * half)
        return {"points": points, "separable": int(random.random() < separable_share(points, half / 2))}

    axes = {"ratio": (0.9, 0.95, 1.0, 1.05, 1.1), "parameters": (138, 216, 546), "seed": range(16)}
    rows = table(fill, scatter=0, **axes)
    return {"deep": rows[rows.parameters < 546], "wide": rows[rows.parameters == 546]}


def test_networks_that_could_fit_and_are_not_trained_to_count_against_the_budget():
    rows = table(lambda row: {"needed": 100.0 if row.member else 900.0}, scatter=0, member=range(8), seed=range(6))
    rows = rows.assign(p=240, separable=1, steps=3200)
    late = rows.assign(needed=rows.needed.mask(rows.member < 3, np.inf))
    assert verdict("B.Fig4-cover-paired", networks=rows) == "reproduced"
    assert verdict("B.Fig4-cover-paired", networks=late) == "not reproduced"
    stuck = rows.assign(separable=rows.member % 2, needed=rows.needed.mask(rows.member % 2 == 0, np.inf))
    assert verdict("B.Fig4-cover-paired", networks=stuck) == "undecided", "24 networks that can fit leave room to 0.86"


@made("B.Sec2-cover-rank", holds=1.0)
def _(needed, _other):
    """Of 250 parameters, of which 210 count."""
    rows = pd.concat([programs(needed, h) for h in (8, 10, 20)])
    return {"networks": rows.rename(columns={"parameters": "rank"}).assign(parameters=250)}


def separated(needed, layers):
    """Shares of networks of some sizes that can separate labels, from ``needed[seed]`` parameters on."""

    def fill(row):
        return {"separable": float(row.parameters > needed[row.seed])}

    sizes = tuple(range(30, 150, 2))
    rows = table(fill, scatter=0, parameters=sizes, seed=range(len(needed)), layers=(layers,), p=(250,))
    return rows.assign(words="made")


def counted(needed, layers):
    """What a count says of the same training sets."""
    return pd.DataFrame({"dimension": needed, "seed": range(len(needed)), "layers": layers, "p": 250, "words": "made"})


@made("B.Fig8A-cone", holds=1.0)
def _(ratio, _other):
    """Whatever a training set and a depth need."""
    needed = {layers: 60 + 10 * layers + 4 * np.random.default_rng(layers).standard_normal(8) for layers in (1, 2, 3)}
    cones = pd.concat([counted(ratio * of, layers) for layers, of in needed.items()])
    return {"cones": cones} | {name: separated(needed[i], i) for i, name in enumerate(("one", "two", "three"), 1)}


@made("B.Fig8A-cone-large", holds=1.0)
def _(ratio, _other):
    needed = 90 + 4 * np.random.default_rng(0).standard_normal(8)
    return {"cones": counted(ratio * needed, 2), "large": separated(needed, 2)}


@made("B.Fig8A-cone-sets", holds=0.95)
def _(correlation, _other):
    """Within a depth, however much the depths differ."""
    random = np.random.default_rng(0)
    tables, cones = {}, []
    for layers, name in enumerate(("one", "two", "three"), 1):
        own, shared = np.linalg.qr(random.standard_normal((12, 3)) - 0.0)[0][:, :2].T
        own, shared = own - own.mean(), shared - shared.mean()
        own = own - (own @ shared) / (shared @ shared) * shared
        own, shared = own / own.std(), shared / shared.std()
        level = 50 * np.exp(0.2 * layers)
        tables[name] = separated(level * np.exp(0.07 * shared), layers)
        said = correlation * shared + np.sqrt(1 - correlation**2) * own
        cones.append(counted(level * np.exp(0.07 * said), layers))
    return tables | {"cones": pd.concat(cones)}


@pytest.mark.parametrize("name", made)
def test_a_number_at_jamming_is_found_and_its_rival_refused(name):
    made.check(name)
