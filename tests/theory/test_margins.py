"""The least hinge loss against another program, its norm against Gardner's, and what these are at jamming."""

import math

import numpy as np
import pytest
from scipy.optimize import nnls

from companion.papers.jamming.theory import margins
from companion.papers.jamming.theory.jamming import WINDOW
from companion.papers.jamming.theory.separability import largest_margin
from regimes.validate import InputError


def drawn(seed, points, size, power=1.0):
    """Gaussian features whose variances fall as a power, and random labels."""
    random = np.random.default_rng(seed)
    spectrum = np.linspace(1, 20, size) ** -power
    x = random.standard_normal((points, size)) * np.sqrt(spectrum)
    return x, np.sign(random.standard_normal(points)), spectrum


@pytest.mark.parametrize("size", [80, 56, 40])
def test_the_least_hinge_loss_is_that_of_the_dual_program(size):
    x, y, _ = drawn(size, 100, size)
    weights, gaps = margins.least_hinge(x, y)
    signed = y[:, None] * x
    decay = 1e-9
    rows = np.concatenate([signed.T, math.sqrt(decay) * np.eye(100)])
    forces, _ = nnls(rows, np.concatenate([np.zeros(size), np.full(100, decay**-0.5)]), maxiter=10_000)
    assert weights == pytest.approx(signed.T @ forces, rel=1e-3, abs=1e-4 * np.abs(weights).max())
    assert ((gaps > 0) == (forces > 1e-9 * forces.max())).all(), "the same points hold it"
    assert (gaps.max() < margins.SLACK) == (largest_margin(x, y) > 1e-9)


def test_it_fits_where_a_linear_program_separates_also_at_jamming_and_with_a_wide_spectrum():
    for seed in range(8):
        x, y, _ = drawn(seed, 120, 60, 4.0)
        _, gaps = margins.least_hinge(x, y)
        assert (gaps.max() < margins.SLACK) == (largest_margin(x, y) > 1e-9), seed


def test_it_fits_what_can_be_separated_of_networks_features_too():
    """Their eigenvalues spread over many orders: a decay that stops too early leaves gaps that need not be there."""
    random = np.random.default_rng(1)
    agree = []
    for _ in range(10):
        first = random.standard_normal((5, 10))
        second = random.standard_normal((5, 5))
        last = random.standard_normal(5)
        x = random.standard_normal((150, 10))
        y = np.sign(random.standard_normal(150))
        hidden = np.tanh(0.3 * x @ first.T)
        upper = np.tanh(0.3 * hidden @ second.T)
        back = last * (1 - upper**2)
        lower = (back @ second) * (1 - hidden**2)
        parts = (upper, back[:, :, None] * hidden[:, None], lower[:, :, None] * x[:, None])
        features = np.concatenate([part.reshape(150, -1) for part in parts], axis=1)
        _, gaps = margins.least_hinge(features, y)
        agree.append((gaps.max() < margins.SLACK, largest_margin(features, y) > 1e-7))
    fits, separable = np.transpose(agree)
    assert 0 < separable.sum() < 10 and (fits == separable).all(), agree


def test_at_most_n_points_hold_a_network_that_fits_and_more_than_n_one_that_does_not():
    nearest = (0.0, 0)
    for points in (60, 90, 100, 110, 140):
        for seed in range(10):
            weights, gaps = margins.least_hinge(*drawn(seed, points, 50, 0.0)[:2])
            fits = gaps.max() < margins.SLACK
            holding = int((gaps > 0).sum())
            assert fits == (holding <= 50), (points, seed)
            if fits:
                nearest = max(nearest, (float(np.linalg.norm(weights)), holding))
    assert nearest[1] >= 46, "isostatic where the margin vanishes"


@pytest.mark.parametrize("power", [0.0, 1.5])
@pytest.mark.parametrize("load", [0.75, 1.0])
def test_the_norm_for_random_labels_is_that_of_theory(power, load):
    size = round(200 * load)
    logs = []
    for seed in range(12):
        x, y, _ = drawn(seed, 200, size, power)
        weights, _ = margins.least_hinge(x, y)
        logs.append(math.log(np.linalg.norm(weights)))
    spectrum = drawn(0, 200, size, power)[2]
    theory = math.log(margins.norm_of_random_labels(200, spectrum))
    assert np.mean(logs) == pytest.approx(theory, abs=3 * np.std(logs) / math.sqrt(12) + 0.02)
    if power:
        flat = margins.norm_of_random_labels(200, np.full(size, spectrum.mean()))
        assert np.mean(logs) - math.log(flat) > 0.3, "the spectrum counts"


def test_equal_features_are_gardners():
    assert margins.norm_of_random_labels(200, np.ones(300)) == pytest.approx(1 / margins.gardner_margin(1.5), rel=1e-4)
    assert margins.gardner_load(0) == 0.5, "Cover's theorem"
    assert margins.gardner_margin(0.4) != margins.gardner_margin(0.4), "no solution"
    assert margins.norm_of_random_labels(200, np.ones(100)) == math.inf


def test_the_norms_exponent_is_minus_one_at_jamming_alone():
    assert margins.norm_exponent_of_random_labels(1.0001, 1.0002) == pytest.approx(-1, abs=1e-3)
    assert margins.norm_exponent_of_random_labels(*WINDOW) == pytest.approx(-0.84, abs=0.01)
    assert margins.norm_exponent_of_random_labels(3, 4) == pytest.approx(-0.67, abs=0.02)


def test_labels_of_another_kind_are_refused():
    with pytest.raises(InputError, match="labels must be -1 or 1"):
        margins.least_hinge(np.eye(2), np.array([1.0, 0.0]))
