"""Tasks: labels where the papers put them, balance, and what bad input gets."""

import contextlib
import math

import numpy as np
import pytest
import torch

from regimes.data import tasks
from regimes.validate import InputError


def test_a_single_point_of_the_chain_monomial():
    task = tasks.chain_monomial(1, 4, r=4, seed=3)
    a, b, c, d = task.x[0].tolist()
    assert float(task.y[0]) == pytest.approx((a * b + b * c + c * d + d * a) / 2)


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


@pytest.mark.parametrize("r", [2, 3, 4, 5, 8])
def test_the_chain_is_the_sum_over_the_ring_at_unit_variance(r):
    task = tasks.chain_monomial(200_000, 9, r=r, seed=1)
    x = task.x.numpy()
    chain = sum(x[:, k] * x[:, (k + 1) % r] for k in range(r))
    deviation = math.sqrt(r if r > 2 else 4)  # the two products of a ring of two are the same one
    np.testing.assert_allclose(task.y.numpy(), chain / deviation, rtol=1e-12, atol=1e-12)
    assert task.y.var().item() == pytest.approx(1, abs=0.03) and task.d_parallel == r


def test_a_decaying_chain_has_its_spectrum_in_a_shared_basis_and_unit_variance():
    train, test = (tasks.chain_monomial(200_000, 6, r=3, decay=2.0, basis=7, seed=s) for s in (1, 2))
    expected = np.sort(1 / (1 + np.arange(1.0, 7) ** 2))
    for task in (train, test):
        np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(task.x.numpy().T)), expected, rtol=0.02)
        assert task.y.var().item() == pytest.approx(1, abs=0.03)
    np.testing.assert_allclose(np.cov(train.x.numpy().T), np.cov(test.x.numpy().T), atol=0.01)
    other = tasks.chain_monomial(200_000, 6, r=3, decay=2.0, basis=8, seed=1)
    assert np.abs(np.cov(train.x.numpy().T) - np.cov(other.x.numpy().T)).max() > 0.02


def test_rotations_are_uniform():
    # E q_ij = 0 and E q_ij^2 = 1/d for every entry; the plain QR factor has a negative mean on its diagonal
    draws = torch.stack([tasks.rotation(3, seed=s) for s in range(4000)])
    torch.testing.assert_close(draws @ draws.mT, torch.eye(3, dtype=draws.dtype).expand_as(draws), atol=1e-12, rtol=0)
    assert draws.mean(0).abs().max() < 5 / math.sqrt(3 * 4000)
    assert (draws.square().mean(0) - 1 / 3).abs().max() < 0.03
    assert abs(float(torch.linalg.det(draws).mean())) < 5 / math.sqrt(4000)  # both orientations


def test_a_rotated_task_keeps_its_labels_and_its_label_function():
    task = tasks.stripe(50, 4, seed=[1, 2])
    turn = tasks.rotation(4, seed=3)
    turned = tasks.rotated(task, turn)
    torch.testing.assert_close(turned.x[1, 7], turn @ task.x[1, 7])
    assert torch.equal(turned.y, task.y) and torch.equal(turned.label(turned.x), task.y)
    assert not torch.equal(task.label(turned.x), task.y) and turned.d_parallel is None
    turns = torch.stack([turn, turn.mT])
    torch.testing.assert_close(tasks.rotated(task, turns).x[1, 7], turn.mT @ task.x[1, 7])


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda: tasks.chain_monomial(10, 4), "r must be a whole number from 2 to 4"),
        (lambda: tasks.chain_monomial(10, 4, r=1), "r must be"),
        (lambda: tasks.chain_monomial(10, 8, decay=-1.0), "decay"),
        (lambda: tasks.rotated(tasks.stripe(10, 3), torch.ones(3, 3, dtype=torch.float64)), "orthogonal matrix"),
        (lambda: tasks.rotated(tasks.stripe(10, 3), tasks.rotation(4, seed=0)), "size 3, got shape"),
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


@pytest.mark.parametrize("shape", ["stripe", "cylinder"])
@pytest.mark.parametrize("turned", [False, True], ids=["as it is", "turned"])
def test_the_nearest_point_of_the_boundary(shape, turned):
    task = getattr(tasks, shape)(200, 4, seed=0)
    task = tasks.rotated(task, tasks.rotation(4, seed=0)) if turned else task
    on, step = task.nearest(task.x), 1e-6
    way = (task.x - on) / (task.x - on).norm(dim=-1, keepdim=True)
    assert (task.label(on + step * way) == task.y).all() and (task.label(on - step * way) == -task.y).all()
    # no label changes within nine tenths of the way, in any direction
    rng = torch.Generator().manual_seed(0)
    turn = torch.randn(50, *task.x.shape, generator=rng, dtype=torch.float64)
    reach = 0.9 * (task.x - on).norm(dim=-1, keepdim=True)
    assert (task.label(task.x + reach * turn / turn.norm(dim=-1, keepdim=True)) == task.y).all()


@pytest.mark.parametrize(
    ("x", "y", "fits"),
    [
        ((7, 3), (7,), True),
        ((2, 7, 3), (2, 7), True),
        ((2, 7, 3), (7,), True),
        ((2, 7, 3), (1, 7), True),
        ((7, 3), (2, 7), True),
        ((1, 7, 3), (7, 1), False),
        ((7, 1, 4, 4), (7,), True),
        ((7, 3), (7, 1), False),
        ((7, 3), (6,), False),
        ((7, 1), (7, 1), False),
        ((2, 7, 3), (3, 7), False),
    ],
)
def test_a_task_has_one_label_a_point(x, y, fits):
    """Labels ``(p, 1)`` beside outputs ``(p,)`` would be compared each with each."""
    with (
        contextlib.nullcontext()
        if fits
        else pytest.raises(InputError, match="the task's y must hold one label a point")
    ):
        tasks.Task(torch.zeros(x), torch.ones(y), "mine")


def test_draws_with_a_single_label_are_counted():
    y = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    with pytest.raises(InputError, match="a single one in 2 of 3 draws of 2 points"):
        tasks.needs_both_labels(y)
