"""What supports a boundary: the studies of chapter 1 against machines and kernels by hand."""

import pytest
import torch

from companion.papers.compression.studies import hard_margin
from companion.papers.compression.theory import learning_curves
from regimes.data import tasks
from regimes.kernels import wide_one_hidden_ntk
from regimes.validate import InputError


def test_a_machine_meets_its_optimality_conditions():
    """Margins of at least 1, 1 on the support vectors; coefficients of the labels' signs that add up to 0."""
    task = tasks.stripe(50, 3, seed=4)
    gram = wide_one_hidden_ntk(task.x.double())
    c, offset = learning_curves.hard_margin(gram, task.y.double())
    margins = task.y * (gram @ c + offset)
    assert float(margins.min()) > 1 - 1e-4
    torch.testing.assert_close(margins[c != 0], torch.ones(int((c != 0).sum()), dtype=torch.float64), atol=1e-4, rtol=0)
    assert bool((task.y * c >= 0).all()) and abs(float(c.sum())) < 1e-6 * float(c.abs().sum())


def at_star(shape, seed):
    boundary = {"interfaces": [-0.3, 1.18549]} if shape == "stripe" else {"d_parallel": 2, "radius": 1.1774}
    setting = {"shape": shape, "d": 3, "p": 80, "h": 60, "alpha": 1e-6, "tolerance": 0.05, "test": 500}
    return hard_margin.star_kernel(setting | boundary, [seed])


def test_points_that_a_kernel_of_few_neurons_cannot_separate_are_said():
    ended = {(row["curve"], row["learner"]): row["ended"] for row in at_star("cylinder", 0)}
    assert ended["star", "machine"] == "not separated" and ended["compressed", "machine"] == "separated"


UNEQUAL = {"shape": "stripe", "interfaces": [-0.3, 0.5], "d": 3, "p": 90, "h": 60}
UNEQUAL |= {"alpha": 1e-6, "tolerance": 0.05, "test": 500}


def test_a_setting_that_asks_for_none_has_the_key_it_always_had():
    assert hard_margin.AtStar.of(UNEQUAL).entries() == UNEQUAL
    assert hard_margin.AtStar.of(UNEQUAL | {"points": "own"}).entries() == UNEQUAL | {"points": "own"}


def test_the_kernel_learns_its_own_points_again():
    s = hard_margin.AtStar.of(UNEQUAL | {"interfaces": [-0.3, 1.18549], "points": "own"})
    train, test = hard_margin.draw_tasks(s, [2], "train", "test")
    trained = hard_margin.train_network(hard_margin.networks_of(s, [2]), train, s, until=hard_margin.t_star)
    flow, machine = hard_margin.star_kernel(s.entries(), [2])
    assert (flow["curve"], flow["learner"], machine["learner"]) == ("star", "flow", "machine")
    assert flow["error"] == pytest.approx(float(hard_margin.lazy(trained.network, train, test).error))


def test_with_a_t_star_of_each_label_the_kernel_separates_unequal_labels():
    of_all = hard_margin.star_kernel(UNEQUAL, [0])
    of_each_label = hard_margin.star_kernel(UNEQUAL | {"star": "of each label"}, [0])
    assert of_all[0]["error"] > 2 * of_each_label[0]["error"]
    assert of_each_label[2]["ended"] == "separated"


def test_a_kernel_frozen_later_learns_fresh_points_alone():
    s = hard_margin.AtStar.of(UNEQUAL | {"interfaces": [0.0], "frozen_at": 0.9})
    train, fresh, test = hard_margin.draw_tasks(s, [1], "train", "fresh", "test")
    trained = hard_margin.train_network(
        hard_margin.networks_of(s, [1]), train, s, until=hard_margin.satisfied(s.frozen_at)
    )
    flow, machine = hard_margin.star_kernel(s.entries(), [1])
    assert {flow["curve"], machine["curve"]} == {"star"} and machine["ended"] == "separated"
    assert flow["error"] == pytest.approx(float(hard_margin.lazy(trained.network, fresh, test).error))
    with pytest.raises(InputError, match="frozen_at is a moment after t"):
        hard_margin.AtStar.of(s.entries() | {"star": "of each label"}).completed([1])
