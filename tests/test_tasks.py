"""Tasks: labels where the papers put them, balance, and what bad input gets."""

import math

import numpy as np
import pytest
import torch

from regimes import tasks
from regimes.check import InputError


def test_the_stripe_is_negative_between_its_interfaces():
    task = tasks.stripe(500, 3, seed=1)
    inside = (task.x[:, 0] > -0.3) & (task.x[:, 0] < 1.18549)
    assert torch.equal(task.y, 1.0 - 2.0 * inside.double())
    more = tasks.stripe(500, 3, interfaces=[-1.0, 0.0, 1.0], seed=1)
    crossed = sum((more.x[:, 0] > wall).long() for wall in (-1.0, 0.0, 1.0))
    assert torch.equal(more.y, torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)[crossed])


def test_the_cylinder_is_positive_outside_in_the_informative_plane_only():
    task = tasks.cylinder(400, 4, seed=2)
    radius = np.hypot(task.x[:, 0].numpy(), task.x[:, 1].numpy())
    assert np.array_equal(task.y.numpy(), np.where(radius > math.sqrt(2 * math.log(2)), 1.0, -1.0))
    assert task.d_parallel == 2
    tube = tasks.cylinder(400, 4, d_parallel=3, radius=1.5, seed=2)
    assert torch.equal(tube.y > 0, tube.x[:, :3].square().sum(1) > 1.5**2)


@pytest.mark.parametrize("make", [tasks.stripe, tasks.cylinder])
def test_labels_are_equiprobable_and_seeds_are_a_leading_axis(make):
    task = make(40_000, 3, seed=[4, 5])
    assert task.x.shape == (2, 40_000, 3)
    assert abs(float(task.y.mean())) < 4 / math.sqrt(80_000)
    assert torch.equal(task.x[1], make(40_000, 3, seed=5).x) and not torch.equal(task.x[0], task.x[1])
    assert torch.equal(task.label(task.x), task.y)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: tasks.cylinder(10, 2, d_parallel=2), "d_parallel must be below d = 2"),
        (lambda: tasks.cylinder(10, 3, d_parallel=0), "d_parallel"),
        (lambda: tasks.cylinder(10, 3, radius=0.0), "radius"),
        (lambda: tasks.cylinder(0, 3), "p must be"),
        (lambda: tasks.stripe(10, 3, interfaces=[1.0, -1.0]), "interfaces"),
        (lambda: tasks.stripe(0, 3), "p must be"),
        (lambda: tasks.needs_both_labels(tasks.stripe(20, 3, interfaces=[50.0, 60.0], seed=[1, 2]).y), "in 2 of 2"),
        (lambda: tasks.needs_both_labels(torch.tensor([1.0, 0.0])), "-1 or"),
    ],
)
def test_bad_input_gets_one_line(make, names):
    with pytest.raises(InputError, match=names) as error:
        make()
    assert "\n" not in str(error.value)
