"""Models of every kind, small: what holds for one holds for all."""

import numpy as np
import torch

from regimes.models import join
from regimes.models.activations import ACTIVATIONS, activation
from regimes.models.fully_connected import PARAMETRISATIONS, fully_connected
from regimes.models.one_hidden import one_hidden


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def _models():
    for sigma in ACTIVATIONS:
        for bias in (False, True):
            for kind in PARAMETRISATIONS:
                net = fully_connected([3, 5, 4, 1], seeds=[1, 2], sigma=sigma, bias=bias, parametrisation=kind)
                yield f"{sigma}-{kind}{'-bias' * bias}", net
    yield "steep-swish", fully_connected([3, 5, 4, 1], seeds=[1, 2], sigma=activation("swish", steepness=20.0))
    yield "one-layer", fully_connected([3, 1], seeds=[1, 2])
    yield "one-hidden", one_hidden(3, 6, seeds=[1, 2])
    yield "joined", join([one_hidden(3, 6, seeds=[1]), one_hidden(3, 6, seeds=[2])])


MODELS = dict(_models())  # each of two realisations, on three inputs
POINTS = {"shared": draw(7, 3), "own": draw(2, 7, 3, seed=1), "one": draw(1, 7, 3, seed=2)}
PAIRS = {f"{name}, {points}": (MODELS[name], POINTS[points]) for name in MODELS for points in POINTS}
