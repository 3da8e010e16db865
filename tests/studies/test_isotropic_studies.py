"""Chapter 4's isotropic kernels: what they tell in many dimensions, and that their learning is what it says."""

import numpy as np
import pytest
import torch

from companion.papers.kernel_pca.studies import isotropic, kernel_pca, large_p
from companion.papers.kernel_pca.theory import harmonics
from regimes.data import datasets
from regimes.measures import information
from regimes.seeds import draw_seeds
from regimes.validate import InputError


def test_linear_functions_tell_one_dth_in_many_dimensions():
    """In one direction all: a Monte Carlo over directions says the same; ``d I`` tends to a constant."""
    normal = np.random.default_rng(0).standard_normal((4000, 5))
    cosines = abs(normal[:, 0]) / np.linalg.norm(normal, axis=1)
    drawn = np.mean([information.stripe_information(float(c)) for c in cosines])
    assert harmonics.linear_information(5) == pytest.approx(drawn, rel=0.08)
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


def test_components_of_the_untrained_kernel_tell_what_linear_functions_do():
    rows = isotropic.initial_components({"d": 10, "n": 1000}, list(range(8)))
    excess = np.mean([row["information"] for row in rows]) - information.null_bias()
    assert excess / rows[0]["exact"] == pytest.approx(harmonics.estimated_fraction(), abs=0.2)


def test_images_are_learnt_by_each_kernel():
    """The regression's error by hand; more images have nearer neighbours and errors that are smaller."""
    setting = {"data": "digits", "words": isotropic.identity("digits"), "p": 60, "test": 200}
    rows = isotropic.kernels_on_images(setting, [0])
    assert [row["kernel"] for row in rows] == [*isotropic.KERNELS]
    pool = datasets.centred(datasets.load("digits", labels="parity"))
    train, test = datasets.split(pool, [60, 200], seed=draw_seeds("train", [0])[0])
    inner = torch.exp(-torch.cdist(train.x, train.x) * 2 / 128**0.5)  # the Laplace kernel
    cross = torch.exp(-torch.cdist(test.x, train.x) * 2 / 128**0.5)
    f = cross @ torch.linalg.solve(inner, train.y)
    assert rows[0]["square"] == pytest.approx(float((f - test.y).square().mean()), rel=1e-6)
    nearest = torch.cdist(train.x, train.x).fill_diagonal_(torch.inf).amin(1).mean() / 128**0.5
    assert rows[0]["nearest"] == pytest.approx(float(nearest), rel=1e-6)
    for at_60, at_600 in zip(rows, isotropic.kernels_on_images(setting | {"p": 600}, [0]), strict=True):
        assert at_600["nearest"] < at_60["nearest"] and at_600["error"] < at_60["error"] < 0.5
        assert at_600["square"] < at_60["square"] < 1


def test_data_need_not_be_here_where_nothing_is_computed():
    asked = {"data": "cifar10", "p": 128, "test": 4000, "seeds": []}
    assert isotropic.kernels_on_images.grid.complete(asked)["words"] == ""
    with pytest.raises(InputError, match="test \\+ p must be at most 1797"):
        isotropic.kernels_on_images.grid.complete(asked | {"data": "digits", "seeds": [0]})


def test_a_larger_size_has_the_errors_of_the_learning_curves():
    images = {"data": "digits", "h": 2, "p": 24, "n": 60, "test": 60, "alpha": 10.0, "softness": 3.0,
              "max_turn": 0.3, "max_move": 0.5, "descent": "settle"}  # fmt: skip
    setting = large_p.LargeTrainingSets(**images).completed([0]).entries()
    rows = large_p.image_errors(setting, [0])
    assert {row["moment"] for row in rows} == {"start", "end"}
    curve = kernel_pca.image_curves(setting | {"stops": [0.5]}, [0])
    errors = [row["error"] for row in curve if row["moment"] != "0.5"]
    assert [row["error"] for row in rows] == errors and all("information" not in row for row in rows)
