"""Chapter 1, the function beside its weights: gradients against autograd, a path against its states."""

from types import SimpleNamespace

import pytest
import torch

from companion.papers.compression.studies import selection
from companion.papers.compression.studies.selection import boundary
from companion.papers.compression.theory import amplification
from regimes.data import tasks
from regimes.models.one_hidden import one_hidden

SETTING = {
    "shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 3, "p": 24, "h": 30, "alpha": 1e-6, "tolerance": 0.02,
    "lines": 40, "points": 200, "shares": [0.1, 0.5, 1.0],
}  # fmt: skip


def test_the_gradient_of_the_predictor_is_that_of_autograd():
    start = one_hidden(4, 7, seeds=0)
    stop = one_hidden(4, 7, seeds=1)
    task = tasks.cylinder(30, 4, seed=0)
    points = task.nearest(task.x).requires_grad_(True)
    (slope,) = torch.autograd.grad((stop(points) - start(points)).sum(), points)
    compression = selection._compressed(stop, start, points.detach(), task)
    assert compression["function"] == pytest.approx(float(amplification(slope, 2)), rel=1e-12)
    across = stop.omega[0, :, 2:].square().sum(-1)
    assert compression["few"] == pytest.approx(float(across.max() / across.sum()), rel=1e-12)  # 1 % of 7 neurons is one


def test_a_function_is_as_compressed_as_the_weights_where_only_their_size_across_is_changed():
    task = tasks.stripe(200, 3, seed=0)
    start = one_hidden(3, 400, seeds=0)
    silent = start.with_parameters([start.omega, start.b, 0 * start.beta])  # no gradient
    flat = start.omega * torch.tensor([1.0, 1e-3, 1e-3])
    stop = start.with_parameters([flat, start.b, start.beta])
    compression = selection._compressed(stop, silent, task.nearest(task.x), task)
    assert 300 < compression["function"] < 3000
    assert compression["weights"] == pytest.approx(1000, rel=0.1)


def test_the_points_left_when_the_amplification_has_halved():
    path = [{"size": size, "left": left} for size, left in ((1.0, 9), (0.4, 9), (8.0, 6), (5.0, 4), (3.9, 3), (1.0, 0))]
    assert selection._halved(SimpleNamespace(path=path)) == {"peak": 8.0, "left_half": 3}
    assert selection._halved(SimpleNamespace(path=path[:4])) == {"peak": 8.0, "left_half": None}


def test_one_row_per_share_with_the_points_left():
    rows = boundary(SETTING, [0, 1])
    assert [row["seed"] for row in rows] == [0] * 3 + [1] * 3
    assert [(row["share"], row["left"]) for row in rows] == [(0.1, 21), (0.5, 12), (1.0, 0)] * 2
    assert all(row["peak"] >= row["weights"] * (1 - 1e-2) and 0 < row["few"] <= 1 for row in rows)
    assert boundary(SETTING, [1]) == rows[3:]
