"""Measuring the four correlations of both layers at every fifth step against the training itself, side by side.

Paper D's networks (Fig. 2: two hidden ReLU layers of width 256, 256 points in 32 dimensions), at four scales and
several seeds as one batch. CPU seconds of one core; the two alternate within one run.

    python benchmarks/bench_alignment.py [tiny]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import itertools
import sys
import time

import torch

from companion.papers.alignment.studies import alignment as studies
from regimes.measures.matrices import measure, sites

STEPS, EVERY, POINTS, WIDTH = (5, 5, 16, 8) if "tiny" in sys.argv else (100, 5, 256, 256)
SETTING = studies.OnChain(
    n=POINTS,
    d=32,
    k=WIDTH,
    rank=5,
    test=10,
    spectrum="isotropic",
    second=1.0,
    method="gd",
    rate=0.05,
    penalty=0.0,
    steps=STEPS,
    scales=[1.0, 0.1, 0.01, 0.001],
)


def seconds(seeds, dtype):
    """CPU seconds of training and of measuring."""
    data = studies.batch(SETTING, seeds)
    train = data.train.to(dtype=dtype)
    data = data._replace(model=data.model.to(dtype=dtype), train=train)
    start, training, measuring = sites(data.model, train.x), 0.0, 0.0
    states = studies.states(SETTING, data)
    next(states)
    for step in itertools.count(1):
        started = time.process_time()
        state = next(states)
        training += time.process_time() - started
        if step % EVERY == 0:
            started = time.process_time()
            for after, before in zip(sites(state.model, train.x), start, strict=True):
                measure(after, before)
            measuring += time.process_time() - started
        if step == STEPS:
            return training, measuring


if __name__ == "__main__":
    torch.set_num_threads(1)
    for dtype in (torch.float32, torch.float64):
        for seeds in ([0], [0, 1, 2, 3]):
            seconds(seeds, dtype)  # memory and caches warm
            training, measuring = seconds(seeds, dtype)
            print(
                f"{len(seeds) * 4} networks, {dtype}: {STEPS} steps {training:.2f} CPU s, "
                f"{STEPS // EVERY} measurements {measuring:.2f} CPU s, ratio {measuring / training:.2f}"
            )
