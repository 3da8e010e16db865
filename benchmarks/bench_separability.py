"""Parameters to fit by counting: all of it, and the cone alone beside scipy's non-negative least squares.

CPU seconds of one core. The squares of the projections differ by what is printed.

    python benchmarks/bench_separability.py [tiny | POINTS ...]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time

import numpy as np
import torch
from scipy.optimize import nnls

from regimes import fully_connected, parameters_to_fit
from regimes.measures import separability
from regimes.measures.separability import cone_dimension, tangent_covariance


def seconds(run):
    started = time.process_time()
    found = run()
    return found, time.process_time() - started


def report(points):
    random = np.random.default_rng(0)
    x = torch.from_numpy(random.standard_normal((points, 10)))
    y = torch.sign(x[:, 0])
    width = max(3, round(0.3 * points**0.5))
    networks = fully_connected([10, width, width, 1], seeds=range(12 * points // (11 * width) + 1), sigma="tanh")
    found, whole = seconds(lambda: parameters_to_fit(networks, x, y))
    covariance = tangent_covariance(networks, x)
    signed = covariance * torch.outer(y, y).numpy()
    signed = signed / np.sqrt(np.outer(np.diag(signed), np.diag(signed)))
    _, cone = seconds(lambda: cone_dimension(covariance, y.numpy(), pairs=8))
    root = np.linalg.cholesky(signed)
    gauss = random.standard_normal((16, points))
    theirs, slow = seconds(lambda: [int((nnls(root.T, g)[0] > 0).sum()) for g in gauss])
    ours = [separability._count_active(signed, root @ g) for g in gauss]
    apart = max(abs(a - b) for a, b in zip(ours, theirs))
    print(
        f"{points} points: all {whole:.2f} CPU s, of it 8 networks looked at one by one; the cone of 16 vectors "
        f"{cone:.3f}, by scipy's nnls {slow:.3f}, speed-up {slow / cone:.0f}; active points differ by {apart}; "
        f"N = {found.parameters}, random labels {found.random_labels:.0f}, own {found.own_labels:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for points in [60] if "tiny" in sys.argv else [int(size) for size in sys.argv[1:]] or [250, 1000]:
        report(points)
