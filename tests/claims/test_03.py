"""Headline claims of chapter 3 on made rows: reproduced where the statement is true, not where the rival is."""

import numpy as np
import pandas as pd
import pytest

from companion.book import ledger
from companion.papers.jamming.claims.rest import followed_longest, heights_of_peak
from companion.papers.jamming.theory import jamming

SCALES = (0.01, 12.0, 1e6)
H = (3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128, 256)
SEEDS = range(12)
JAMMED = 5.5  # the width from which on made networks fit


def verdict(name, **tables):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **tables})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate.anytime() if claim.looks > 1 else estimate, "laptop")


def noise(*key):
    """A scatter of one per cent that is the same for the same key."""
    return float(np.exp(0.01 * np.random.default_rng([int(part) for part in key]).standard_normal()))


def cut(**columns):
    """Rows of three cuts of the map, at one stop on the way and at the end; columns are functions of N and N*."""
    sizes = [11 * h + h * h for h in H]
    n_star = jamming.transition(sizes, [float(h > JAMMED) for h in H])
    rows = []
    for seed in SEEDS:
        for scale in SCALES:
            for h, size in zip(H, sizes):
                for stop in (0.5, 1.0):
                    row = {"seed": seed, "scale": scale, "h": h, "parameters": size, "stop": stop}
                    row |= {"fitted": float(h > JAMMED), "cell": f"{seed} {scale} {h}"}
                    for name, function in columns.items():
                        row[name] = function(size, n_star, scale, stop) * noise(seed, h)
                    rows.append(row)
    return pd.DataFrame(rows)


def at_largest(function):
    """A column that follows the law at the largest scale and the end alone."""
    return lambda n, n_star, scale, stop: function(n, n_star) if (scale, stop) == (SCALES[-1], 1.0) else n**0.1


@pytest.mark.parametrize(("log", "expected"), [(0.8, "reproduced"), (1.05, "not reproduced")])
def test_the_scale_of_the_lazy_line(log, expected):
    rows = []
    for seed in SEEDS:
        for scale in (4.0, 12.0):
            change = 10**log / scale
            rows.append({"seed": seed, "scale": scale, "stop": 0.5, "kernel_change": 9 * change})
            rows.append({"seed": seed, "scale": scale, "stop": 1.0, "kernel_change": noise(seed) * change})
    assert verdict("B.Fig4-crossover", cross_over=pd.DataFrame(rows)) == expected


@pytest.mark.parametrize(("power", "expected"), [(-1, "reproduced"), (-0.5, "not reproduced")])
def test_the_divergence_of_the_norm(power, expected):
    norm = at_largest(lambda n, n_star: max(n - n_star, 1.0) ** power)
    assert verdict("B.Sec2-norm", slices=cut(norm=norm)) == expected


@pytest.mark.parametrize(("power", "expected"), [(-1, "reproduced"), (-0.27, "not reproduced")])
def test_the_divergence_of_the_norm_at_rest(power, expected):
    """After the last round; before it the exponent is another, and so is the width from which networks fit."""
    rows = []
    for seed in range(6):
        for n, jammed, exponent in ((0, 8, -1.27 - power), (1600, 5, power)):
            for h in (4, 5, 6, 8, 10, 13):
                row = {"p": 250, "h": h, "seed": seed, "scale": 12.0, "newton_steps": n}
                row["parameters"] = h * h + 11 * h
                row["fitted"] = (h > jammed) / 2 + (h >= jammed) / 2
                row["norm"] = max(row["parameters"] - 80, 1.0) ** exponent * noise(seed, h, n)
                rows.append(row)
    assert verdict("B.Sec2-norm-middle-rest", votes=pd.DataFrame(rows)) == expected
    assert ledger.claims()["B.Sec2-norm-middle-rest"].function(pd.DataFrame(rows).query("h < 9")) is None


def ends(heights, scale):
    """Rows of networks stopped and at rest, on 1000 and on 5000 points, with a peak of each height (per cent)."""
    rows = []
    for p, h in ((1000, (6, 8)), (5000, (12, 18))):
        for seed in range(1, 7):
            for rounds, height in zip((0, 25, 1600), heights):
                for width, above in zip(h, (0.0, height if p == 5000 else -9.0)):
                    row = {"p": p, "h": width, "seed": seed, "newton_steps": rounds, "members": 6, "scale": scale}
                    rows.append(row | {"error": 0.11 + above / 100 + 0.01 * noise(seed, width, rounds)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("name", ["cusp", "lazy"])
@pytest.mark.parametrize(("height", "expected"), [(1.2, "reproduced"), (0.0, "not reproduced")])
def test_the_peak_at_rest(name, height, expected):
    assert verdict(f"B.Fig6-rest-{name}", networks=ends((2.0, 2.0, height), 12.0)) == expected


def through_jamming(rest_height, stop_height, column="error"):
    """Rows of ensembles of all widths, with peaks of these heights at width 9 at rest, and at 12 where stopped."""
    rows = []
    for p in (1000, 2000):
        for seed in range(6):
            for n, height, centre in ((1600, rest_height, 9), (0, stop_height, 12)):
                for h in (5, 6, 8, 9, 10, 12, 14, 18):
                    peak = height * np.exp(-((h - centre) ** 2)) + 0.01 * noise(seed, h, n)
                    row = {"p": p, "words": "made", "h": h, "seed": seed, "newton_steps": n, "members": 20}
                    row["parameters"] = h * h + 11 * h
                    row["fitted"] = (h > centre) / 2 + (h >= centre) / 2
                    row["cell"] = f"{p} {h} {seed}"
                    rows.append(row | {column: 0.1 + peak / 100})
    return pd.DataFrame(rows)


def with_smaller(rows, smaller):
    """The rows, and smaller ensembles, which say something else: claims are on the largest."""
    return pd.concat([rows, smaller.assign(members=2)], ignore_index=True)


@pytest.mark.parametrize(("height", "expected"), [(0.1, "reproduced"), (2.0, "not reproduced")])
def test_the_peak_of_stopped_networks_is_read_at_their_own_jamming(height, expected):
    rows = through_jamming(2.0, height)
    assert verdict("B.Fig6-rest-stop", sizes=rows, all_images=rows[:0]) == expected


@pytest.mark.parametrize(("height", "expected"), [(0.1, "reproduced"), (1.5, "not reproduced")])
def test_the_bump_of_ensembles_at_rest(height, expected):
    large = through_jamming(height, 3.0, "ensemble_error")
    small = through_jamming(1.6 - height, 3.0, "ensemble_error")
    rows = with_smaller(large, small)
    assert verdict("B.Fig6-rest-twenty", networks=rows) == expected
    assert verdict("B.Fig6-rest-twenty-lazy", networks=rows) == expected


def lines_at_rest(power, of=0):
    """Rows through the transition at ``P`` to a power, at several numbers of points."""
    rows = []
    for p in (250, 500, 1000, 5000):
        for seed in range(3):
            for k, factor in enumerate((0.8, 0.95, 1.05, 1.3)):
                row = {"p": p, "words": "made", "seed": seed, "newton_steps": 1600, "h": k}
                row["parameters"] = factor * p**power * noise(seed, p, of)
                row["fitted"] = float(factor > 1)
                row["cell"] = f"{p} {seed} {k}"
                rows.append(row)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("power", "lazy", "less"), [(0.6, "reproduced", "reproduced"), (0.8, "reproduced", "not reproduced")]
)
def test_the_lines_of_jamming_at_rest(power, lazy, less):
    none = lines_at_rest(1.0)[:0]
    smooth = lines_at_rest(0.8, 1)
    assert verdict("B.Fig8A-rest-lazy", lazy=smooth, all_images_lazy=none) == lazy
    assert verdict("B.Fig8A-rest-lazy", lazy=lines_at_rest(1.0), all_images_lazy=none) == "not reproduced"
    tables = {"sizes": lines_at_rest(power), "all_images": none, "lazy": smooth, "all_images_lazy": none}
    assert verdict("B.Fig8A-rest-features", **tables) == less


def test_heights_are_those_of_the_networks_that_were_followed_longest():
    rows = ends((0.2, 2.0, 1.2), 12.0).assign(test=2500)
    rows["cell"] = rows.p.astype(str) + " " + rows.h.astype(str) + " " + rows.seed.astype(str)
    short = rows[rows.newton_steps < 1600].assign(members=4, cell="short")
    followed = followed_longest(short, rows, rows)
    assert len(followed) == len(rows) and set(followed.members) == {6}
    heights = heights_of_peak(followed, 1600).set_index("p")
    assert heights.height[5000] == pytest.approx(1.2, abs=0.05) and heights.height[1000] == pytest.approx(-9, abs=0.05)
    assert (heights.low < heights.height).all() and (heights.height < heights.high).all()
    assert heights_of_peak(followed, 0).set_index("p").height[5000] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize(("height", "expected"), [(0.1, "reproduced"), (1.4, "not reproduced")])
def test_the_bump_of_ensembles_of_twenty(height, expected):
    """Over a straight decrease, at the width of jamming."""
    slices = cut()
    rows = []
    jammed = jamming.transition(H, [float(h > JAMMED) for h in H])
    for seed in SEEDS:
        for h in (3, jammed / 1.5, jammed, 1.5 * jammed, 16):
            error = 10 - np.log(h) + (height if h == jammed else 0) * noise(seed)
            rows.append({"seed": seed, "h": h, "stop": 1.0, "ensemble_error": error / 100, "fewer_error": 0.5 / h})
    assert verdict("B.Fig6-twenty", large_ensemble=pd.DataFrame(rows), slices=slices) == expected


def bisection(power, of):
    """Rows of a bisection that finds N* = P^power, with a scatter of its own."""
    rows = []
    for p in (120, 240, 480, 960):
        for seed in range(6):
            n_star = p**power * noise(p, seed, of)
            for factor, share in ((0.5, 0.0), (0.9, 0.0), (1 / 0.9, 1.0), (2, 1.0)):
                rows.append({"p": p, "seed": seed, "parameters": n_star * factor, "fitted": share})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("power", "expected"), [(0.7, "reproduced"), (1.0, "not reproduced")])
def test_the_parameters_at_jamming_on_digits_and_random_labels(power, expected):
    assert verdict("B.Fig8A-fewer", random=bisection(1.0, 1), digits=bisection(power, 2)) == expected


@pytest.mark.parametrize(("ratio", "expected"), [(0.6, "reproduced"), (1.0, "not reproduced")])
def test_the_unsatisfied_points_at_jamming(ratio, expected):
    """Of networks that can fit, whose loss goes with the square of the decay; narrower ones cannot, and have more."""
    tables = with_smaller(minima(ratio), minima(1.6 - ratio))
    assert verdict("B.Fig8B-jump", minima=tables) == expected


def minima(ratio):
    rows = []
    for seed in range(6):
        for p in (30, 60):
            for h, can in ((3, False), (4, True), (5, True)):
                size = 10 * h + 2 * h * h + h
                for member in range(3):
                    for decay in (0.001, 0.01, 0.1):
                        share = (ratio if h == 4 else 0.3) if can else 1.7
                        row = {"seed": seed, "p": p, "h": h, "member": member, "members": 3, "decay": decay}
                        row |= {"quadratic_hinge": decay**2 if can else 0.3, "ended": "jammed", "parameters": size}
                        rows.append(row | {"unsatisfied": share * size * noise(seed, p)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("power", "expected"), [(-0.25, "reproduced"), (-0.5, "not reproduced")])
def test_the_fluctuation_far_from_jamming(power, expected):
    """At the smallest scale; nearer to jamming and at other scales it falls otherwise."""

    def fluctuation(n, n_star, scale, stop):
        return n**power if (scale, stop) == (SCALES[0], 1.0) and n >= 4 * n_star else n**-0.9

    assert verdict("B.Fig8D-far-feature", slices=cut(fluctuation=fluctuation)) == expected


@pytest.mark.parametrize(("power", "expected"), [(2, "reproduced"), (1, "not reproduced")])
def test_the_excess_error_in_the_fluctuation(power, expected):
    def fluctuation(n, n_star, scale, stop):
        return n ** (-0.25 if stop == 1 else -0.6)

    slices = cut(fluctuation=fluctuation, ensemble_error=lambda *_: 0.05)
    levels = slices["scale"].map(dict(zip(SCALES, (0.3, 0.5, 0.7))))
    wobble = np.array([noise(seed, h, 7) for seed, h in zip(slices.seed, slices.h)])
    slices["error"] = slices.ensemble_error + levels * slices.fluctuation**power * wobble
    assert verdict("B.Sec3-quadratic", slices=slices) == expected
