"""How fast does lazy learning improve with data? My kernel's learning curve."""

import numpy as np
from torch import nn

import regimes
from companion import estimates
from companion.papers.compression.theory.learning_curves import lazy_exponent


def build():
    """A network that is not trained, yours; drawn anew for each seed."""
    return nn.Sequential(nn.Linear(5, 300), nn.ReLU(), nn.Linear(300, 1)).double()


sizes, seeds = [64, 128, 256, 512, 1024], range(6)
test = regimes.stripe(2000, 5, seed=[1000])  # your task
errors = np.empty((len(seeds), len(sizes)))
for seed in seeds:
    start = regimes.module(build, seeds=[seed])
    for i, p in enumerate(sizes):
        train = regimes.stripe(p, 5, seed=[seed])
        errors[seed, i] = regimes.lazy(start, train, test).error.item()

for p, error in zip(sizes, errors.mean(0)):
    print(f"p = {p:4}: test error {error:.3f}")
for first in (64, 256):  # from all sizes, and from the largest
    found = estimates.exponent(np.array(sizes), errors, window=(first, 1024))
    print(f"from p = {first}: p^({found.value:.2f}), [{found.low:.2f}, {found.high:.2f}]")
print(f"theory, an infinitely wide network and large p: p^({-lazy_exponent(5):.2f})")
