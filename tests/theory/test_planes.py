"""The placing of planes: closed forms against a model in which planes stand where the pulls on them cancel."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from companion.papers.compression.theory import planes
from regimes.models import losses
from regimes.validate import InputError


def test_the_reach_of_a_displacement_is_its_mean_over_points():
    rng = np.random.default_rng(0)
    for d in (2, 5, 10):
        points = np.c_[np.ones(200_000), rng.standard_normal((200_000, d - 1))]
        assert planes.reach(d) == pytest.approx(np.linalg.norm(points, axis=1).mean(), rel=3e-3)
    assert planes.reach(1) == 1
    assert planes.reach(400) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize(("d", "place"), [(3, 0.0), (6, 0.8)])
def test_a_plane_where_the_pulls_of_a_band_cancel_errs_as_the_formula_says(d, place):
    """One plane, moved by hand: Newton's steps on the offset and tilts of a band of fixed width, on drawn points.

    The pulls are those of ``left`` points within the margin; an independent program without a network.
    """
    rng, p, width, errors, left = np.random.default_rng(1), 40_000, 0.03, [], []
    for _ in range(60):
        x = rng.standard_normal((p, d))
        across, features = x[:, 0] - place, np.c_[np.ones(p), x[:, 1:]]
        delta = np.zeros(d)
        for _ in range(12):
            s = across - features @ delta
            near = np.abs(s) < width
            pull = (np.sign(across[near])[:, None] * features[near]).sum(0)
            delta -= pull / (2 * stats.norm.pdf(place) * p)
        errors.append(((s > 0) != (across > 0)).mean())
        left.append(near.sum())
    predicted = planes.placing_error(d, p, round(np.mean(left)), [stats.norm.pdf(place)])
    assert np.mean(errors) == pytest.approx(predicted, rel=0.12)


@pytest.mark.parametrize("name", ["quadratic_hinge", "logistic"])
def test_under_any_loss_points_count_with_the_square_of_their_force(name):
    """As above, with the margins of a predictor that is linear across the plane, and the forces of a smooth loss."""
    loss, d, p, width = losses.named(name), 4, 20_000, 0.02
    rng, errors, effective, unfitted = np.random.default_rng(2), [], [], []
    for _ in range(80):
        x = rng.standard_normal((p, d))
        label, features, delta = np.sign(x[:, 0]), np.c_[np.ones(p), x[:, 1:]], np.zeros(d)
        for _ in range(12):
            s = x[:, 0] - features @ delta
            margins = torch.from_numpy(label * s / width)
            force = -loss.slope(margins).numpy()
            delta -= features.T @ (label * force) / (2 * stats.norm.pdf(0) * p * -float(loss.slope(torch.zeros(()))))
        errors.append(stats.norm.pdf(0) * np.abs(features @ delta).mean())  # on fresh points
        effective.append(float(planes.effective_points(loss, margins)))
        unfitted.append(float((margins < 1).sum()))
    law = [planes.placing_error(d, p, np.mean(n), [1.0]) for n in (effective, unfitted)]
    assert np.mean(errors) == pytest.approx(law[0], rel=0.1)
    assert name == "logistic" or law[1] > 1.5 * np.mean(errors)


def test_the_effective_points_of_a_loss():
    margins = torch.tensor([[-0.5, 0.0, 0.5, 1.5], [2.0, 2.0, 2.0, 0.9]])
    hinge, squared = (planes.effective_points(losses.named(name), margins) for name in ("hinge", "quadratic_hinge"))
    assert hinge.tolist() == [3, 1] and squared[0] == pytest.approx(2.25 + 1 + 0.25)
    torch.testing.assert_close(squared, 2 * losses.named("quadratic_hinge").value(margins.double()).sum(-1))
    with pytest.raises(InputError, match="margins must hold finite numbers"):
        planes.effective_points(losses.named("logistic"), margins * torch.inf)


def test_the_densities_cancel_where_they_are_equal_and_nearly_where_they_are_not():
    for m in (1, 2, 3):
        whole = planes.placing_error(400, 1000, 90, [0.3] * m)
        assert whole == pytest.approx(planes.placing_constant(m) * math.sqrt(90 * 400) / 1000, rel=2e-3)
        assert planes.placing_error(400, 1000, 90, [0.05] * m) == pytest.approx(whole)
    uneven = planes.placing_error(5, 1000, 90, [0.381, 0.198])
    assert uneven / planes.placing_error(5, 1000, 90, [1, 1]) == pytest.approx(0.987, abs=1e-3)


def test_the_constant_of_normal_points():
    assert planes.gaussian_constant([0.0], 5) == pytest.approx(planes.reach(5) / math.sqrt(10 * math.pi))
    assert planes.gaussian_constant([-0.7, 0.7], 400) == pytest.approx(planes.placing_constant(2), rel=2e-3)
    with pytest.raises(InputError, match="a plane at least"):
        planes.gaussian_constant([], 5)


def test_sizes_and_densities_are_checked():
    with pytest.raises(InputError, match="density must be a number above 0"):
        planes.placing_error(5, 100, 10, [0.3, 0.0])
    for wrong in (lambda: planes.placing_error(0, 100, 10, [0.3]), lambda: planes.last_error(5, 0)):
        with pytest.raises(InputError, match="at least 1"):
            wrong()
    assert planes.last_error(5, 1000) == pytest.approx(0.005)
