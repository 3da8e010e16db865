"""Exponents and intervals against power laws made for the purpose."""

import math

import numpy as np
import pytest

from regimes import estimates
from regimes.check import InputError
from regimes.estimates import Estimate, bootstrap, exponent, local_exponents

X = np.array([64.0, 128, 256, 512, 1024])


def noisy(slope, n, scatter=0.3, seed=0):
    return 7 * X**slope * np.exp(scatter * np.random.default_rng(seed).standard_normal((n, len(X))))


def coverage(covers, trials=300):
    return np.mean([covers(seed) for seed in range(trials)])


@pytest.mark.parametrize("centre", ["median", "mean"])
@pytest.mark.parametrize("slope", [-0.7, 0.5, 2.0])
def test_a_pure_power_law_gives_its_exponent_exactly(slope, centre):
    found = exponent(X, np.outer([1, 2, 5], X**slope), centre=centre)
    assert abs(found.value - slope) < 1e-12 and found.high - found.low < 1e-12 and found.n == 3


def test_the_exponent_is_the_slope_of_polyfit_on_the_centre():
    y = noisy(-0.4, 9)
    for centre, of in (("median", np.median), ("mean", np.mean)):
        expected = np.polyfit(np.log(X), np.log(of(y, axis=0)), 1)[0]
        assert exponent(X, y, centre=centre).value == pytest.approx(expected, abs=1e-12)


def test_the_window_and_the_units_of_x_and_y():
    y = noisy(0.5, 6)
    inside = exponent(X, y, window=(100, 600))
    assert inside == exponent(X[1:4], y[:, 1:4])
    rescaled = exponent(3 * X, 1e-9 * y)
    assert rescaled.value == pytest.approx(exponent(X, y).value, abs=1e-12)


@pytest.mark.parametrize(("n", "centre", "least"), [(5, "mean", 0.86), (20, "mean", 0.91), (20, "median", 0.93)])
def test_intervals_of_exponents_cover_the_truth(n, centre, least):
    """Covers 0.91, 0.945 and 0.97 in 2000 trials; here 300, with bounds three standard errors below."""

    def covers(seed):
        found = exponent(X, noisy(-0.4, n, seed=seed), centre=centre, resamples=1000, seed=seed)
        return found.low <= -0.4 <= found.high

    assert least <= coverage(covers) <= 0.995


def test_intervals_of_means_cover_the_truth_where_plain_percentiles_would_not():
    def covers(seed):
        found = bootstrap(np.random.default_rng(seed).standard_normal(6), resamples=1000, seed=seed)
        return found.low <= 0 <= found.high

    assert 0.905 <= coverage(covers) <= 0.99  # plain percentiles at n = 6 cover about 0.87


def test_the_interval_shrinks_as_one_over_root_n():
    widths = [np.ptp([e.low, e.high]) for e in (bootstrap(np.arange(n) % 7) for n in (70, 7000))]
    assert widths[0] / widths[1] == pytest.approx(10, rel=0.15)


def test_local_exponents_follow_a_bend():
    x = np.geomspace(10, 1e5, 9)
    y = np.outer([1, 1.1, 0.9], np.where(x < 1e3, x**-1, 1e-3 * (x / 1e3) ** -0.25))
    found = local_exponents(x[::-1], y[:, ::-1], size=4)
    centres, slopes = zip(*found)
    assert len(found) == 6 and centres[0] == pytest.approx(np.exp(np.log(x[:4]).mean()))
    assert slopes[0].value == pytest.approx(-1) and slopes[-1].value == pytest.approx(-0.25)


def test_one_realisation_has_no_interval():
    for found in (exponent(X, X**0.5), bootstrap([3.0])):
        assert (found.low, found.high, found.n) == (-math.inf, math.inf, 1)


def test_the_opposite_of_an_estimate():
    assert -Estimate(-0.4, -0.5, -0.2, 7) == Estimate(0.4, 0.2, 0.5, 7)


@pytest.mark.parametrize(
    ("x", "y", "options", "words"),
    [
        (X, np.ones((2, 3)), {}, "shape"),
        (X, np.full((2, 5), np.nan), {}, "NaN"),
        (-X, np.ones((2, 5)), {}, "positive"),
        (X, np.zeros((2, 5)), {}, "above 0"),
        (X, np.ones((2, 5)), {"window": (600, 700)}, "two distinct"),
        (X, np.ones((2, 5)), {"centre": "mode"}, "median, mean"),
        (np.ones(5), np.ones((2, 5)), {}, "two distinct"),
    ],
)
def test_what_has_no_exponent_is_said_in_one_line(x, y, options, words):
    with pytest.raises(InputError, match=words) as error:
        exponent(x, y, **options)
    assert "\n" not in str(error.value)


def test_other_bad_input():
    for bad in ([], [np.nan], 3.0):
        with pytest.raises(InputError, match="samples"):
            bootstrap(bad)
    with pytest.raises(InputError, match="size"):
        local_exponents(X, np.ones((2, 5)), size=6)
    with pytest.raises(InputError, match="low <= value"):
        estimates.Estimate(1, 2, 3)
