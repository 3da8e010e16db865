"""Counting by hand: ranks and programs of torch modules, the dimension of a training set's cone, programs on images."""

import numpy as np
import pytest
import torch
from torch import nn

from companion.data import images
from companion.papers.jamming.studies import _architectures, _ensembles, counting
from companion.papers.jamming.theory.separability import layer_counts, mean_threshold, width_of
from regimes.data import datasets
from regimes.measures.separability import cone_dimension, largest_margin, tangent_covariance
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.seeds import draw_seeds
from regimes.validate import InputError

OWN = {"data": "digits", "components": 4, "layers": 2, "p": 30, "test": 40}


def task(seed):
    pool = _ensembles.projected_images("digits", images.identity("digits"), 4)
    _, _, train = datasets.split(pool, [40, 1, 30], seed=draw_seeds("train", [seed])[0])
    return train.x.double(), train.y.double().numpy()


def test_a_module_on_random_labels():
    rows = counting.architectures({"architecture": "two heads", "ratios": [1.5, 2.6]}, [5])
    assert [(row["parameters"], row["rank"], row["symmetries"]) for row in rows] == 2 * [(99, 76, 23)]
    assert [row["points"] for row in rows] == [114, 198] and [row["separable"] for row in rows] == [1, 0]
    assert rows[0]["margin"] > 1e-3 and rows[0]["fullest"] == 1


def test_a_program_on_which_the_simplex_method_cycles_ends():
    """Of the registered run, in which it did not: points that cannot be separated at a lower ratio cannot be here."""
    given = {"architecture": "residual blocks, crowded", "ratios": [2.0, 2.1, 2.25]}
    rows = counting.architectures(given, [1_200_011])
    assert [row["separable"] for row in rows] == [0, 0, 0] and max(abs(row["margin"]) for row in rows) < 1e-12


def test_a_part_of_the_points_may_be_fuller_than_all():
    """Three points are on the side of the one unit, and their gradients on a line."""

    class One(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.unit = nn.Linear(1, 1, bias=False), nn.LeakyReLU(0.5)

        def forward(self, x):
            return self.unit(self.first(x))

    x = torch.tensor([[1.0], [2.0], [3.0], [-1.0]])
    features = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    assert _architectures.fullest_part(One(), x, features) == pytest.approx((3 / 1) / (4 / 2))
    assert _architectures.fullest_part(nn.Linear(1, 1), x, features) == 1, "no units, no parts"


def test_the_cone_of_a_training_set():
    setting = OWN | {"words": images.identity("digits"), "h": 5, "networks": 40, "pairs": 12}
    (row,) = counting.cones(setting, [3])
    x, y = task(3)
    sigma = activation("swish", steepness=10.0, normalised=True)
    seeds = draw_seeds("weights", range(120, 160), size=5)
    networks = fully_connected([4, 5, 5, 1], seeds=seeds, sigma=sigma, parametrisation="mean-field", gain=1.0)
    h = width_of(30 / 4, 4, 2)
    for _ in range(2):
        found = cone_dimension(tangent_covariance(networks, x, [4 * h, h * h, h]), y, pairs=12, seed=3)
        h = width_of(found.value, 4, 2)
    assert row["dimension"] == found.value and row["error"] == found.error
    gram = sum(part.gram(part).mean(0) for part in networks.layers(x)).numpy()
    assert row["of_kernel"] == cone_dimension(gram, y, pairs=12, seed=3).value
    assert 0 < row["dimension"] < 15


def test_programs_on_images():
    setting = OWN | {"words": images.identity("digits"), "h": 2, "members": 6}
    (row,) = counting.programs(setting, [3])
    x, y = task(3)
    sigma = activation("swish", steepness=10.0, normalised=True)
    seeds = draw_seeds("weights", range(18, 24), size=2)
    networks = fully_connected([4, 2, 2, 1], seeds=seeds, sigma=sigma, parametrisation="mean-field", gain=1.0)
    margins = [largest_margin(features.numpy(), y) for features in networks.tangents(x).jacobian()]
    assert row["parameters"] == 14 and row["separable"] == np.mean(np.array(margins) > 1e-7)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_width_of_a_number_of_parameters(layers):
    assert width_of(sum(layer_counts(10, 6.5, layers)), 10, layers) == pytest.approx(6.5)
    assert sum(layer_counts(10, 6, layers)) == _ensembles.parameters_of(10, 6, layers)


def test_a_mean_threshold():
    assert mean_threshold(np.array([1.0, 3, 5]), np.array([0.0, 0.5, 1])) == pytest.approx(3)
    assert mean_threshold(np.array([1.0, 3, 5]), np.array([0.2, 0.1, 1])) == pytest.approx(0.15 * 1 + 0.85 * 4)
    with pytest.raises(InputError, match="must hold the transition"):
        mean_threshold(np.array([1.0, 3]), np.array([0.5, 1]))
    with pytest.raises(InputError, match="must increase"):
        mean_threshold(np.array([3.0, 1]), np.array([0.0, 1]))
