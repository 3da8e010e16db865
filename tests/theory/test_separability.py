"""Cover's theorem against an enumeration of all labels; the linear program against a perceptron."""

import itertools

import numpy as np
import pytest

from companion.papers.jamming.theory import separability
from regimes.validate import InputError


@pytest.mark.parametrize(("points", "dimension"), [(5, 2), (6, 3), (7, 3)])
def test_the_share_of_separable_labels_is_that_of_an_enumeration(points, dimension):
    x = np.random.default_rng(points).standard_normal((points, dimension))
    labels = np.array(list(itertools.product([-1.0, 1.0], repeat=points)))
    share = np.mean([separability.largest_margin(x, y) > 1e-9 for y in labels])
    assert share == pytest.approx(float(separability.separable_share(points, dimension)), abs=1e-12)


def test_one_half_at_two_points_a_parameter_and_a_window_of_the_root():
    counts = np.array([50, 200, 800])
    assert separability.separable_share(2 * counts, counts) == pytest.approx(0.5, abs=1e-12)
    near = separability.separable_share(np.round(2 * counts + 2 * np.sqrt(counts)), counts)
    assert near == pytest.approx(0.079, abs=0.02), "the same at the same number of widths from the middle"
    assert float(separability.separable_share(100, 50.5)) == pytest.approx(0.54, abs=0.01)


def perceptron(x, labels, rounds=20000):
    """Whether the perceptron rule finds a direction that separates, another way to decide it."""
    w = np.zeros(x.shape[1])
    for _ in range(rounds):
        wrong = np.flatnonzero(labels * (x @ w) <= 0)
        if not len(wrong):
            return True
        w = w + labels[wrong[0]] * x[wrong[0]] / np.linalg.norm(x[wrong[0]])
    return False


def test_the_linear_program_decides_as_the_perceptron_does():
    random = np.random.default_rng(0)
    for count in (10, 16, 22, 30):
        x = random.standard_normal((count, 10))
        labels = np.sign(random.standard_normal(count))
        margin = separability.largest_margin(x, labels)
        assert (margin > 1e-9) == perceptron(x, labels)
        assert separability.largest_margin(100 * x, labels) == pytest.approx(margin, abs=1e-9)


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_the_likeliest_number_of_parameters_is_that_which_made_the_outcomes(factor):
    random = np.random.default_rng(1)
    points = np.tile(np.arange(160, 260, 4), 200)
    share = separability.separable_share(points, factor * 100)
    outcomes = (random.random(len(points)) < share).astype(float)
    likeliest = separability.effective_parameters(points, outcomes, np.full(len(points), 100.0))
    assert likeliest == pytest.approx(factor, abs=0.006)


def test_labels_of_another_kind_are_refused():
    with pytest.raises(InputError, match="labels must be -1 or 1"):
        separability.largest_margin(np.eye(2), np.array([1.0, 0.0]))
