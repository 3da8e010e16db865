"""Chapter 4's isotropic kernels: what they tell in many dimensions, and that their learning is what it says."""

import numpy as np
import pytest

from companion.papers.kernel_pca.studies import isotropic
from companion.papers.kernel_pca.theory import harmonics
from regimes.measures import information
from regimes.validate import InputError


def test_linear_functions_tell_one_dth_in_many_dimensions():
    """In one direction all: a Monte Carlo over directions says the same; ``d I`` tends to a constant."""
    normal = np.random.default_rng(0).standard_normal((1000, 5))
    cosines = abs(normal[:, 0]) / np.linalg.norm(normal, axis=1)
    drawn = np.mean([information.stripe_information(float(c)) for c in cosines])
    assert harmonics.linear_information(5) == pytest.approx(drawn, rel=0.08)
    uniform = (np.arange(harmonics.DIRECTIONS) + 0.5) / harmonics.DIRECTIONS  # cosines on a sphere in three dimensions
    known = np.mean([information.stripe_information(float(cosine)) for cosine in uniform])
    assert harmonics.linear_information(3) == pytest.approx(known, rel=1e-9)
    at_1000, at_4000 = (d * harmonics.linear_information(d) for d in (1000, 4000))
    assert at_4000 == pytest.approx(at_1000, rel=0.01)
    with pytest.raises(InputError, match="d must be"):
        harmonics.linear_information(1)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_part_of_little_information_that_is_shown(k):
    """By quadrature over the Beta variable: the mean of ``1 - h_2`` at log odds ``s`` against what is told."""
    q = (np.arange(400_000) + 0.5) / 400_000
    weight = q ** (k - 1) * (1 - q) ** (k - 1)
    s = 0.05
    logit = np.log(q / (1 - q))

    def bits(log_odds):
        return 1 - information.entropy(1 / (1 + np.exp(-log_odds)))

    estimated = np.average(bits(logit + s) + bits(logit - s) - 2 * bits(logit), weights=weight) / 2
    assert harmonics.estimated_fraction(k) == pytest.approx(estimated / bits(np.array(s)), rel=1e-3)


def test_data_need_not_be_here_where_nothing_is_computed():
    asked = {"data": "cifar10", "p": 128, "test": 4000, "seeds": []}
    assert isotropic.kernels_on_images.grid.complete(asked)["words"] == ""
    with pytest.raises(InputError, match="test \\+ p must be at most 1797"):
        isotropic.kernels_on_images.grid.complete(asked | {"data": "digits", "seeds": [0]})
