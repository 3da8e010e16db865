"""Gram matrix of 1000 points at depth 30, float64, against neural-tangents, compiled and warm.

Ours runs on one core, theirs on all of the same machine.

Required: 10 times faster, and equal to 1e-12 relative wherever |rho| < 0.999. Theirs runs between two measurements of
ours, so that a change in the machine's load would show. Depth 5 is shown for the record.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from regimes.kernels import infinite_ntk

N, D, REPEATS = 1000, 128, 9


def points():
    """Half uniform on the sphere, half at graded angles from those, so that correlations fill (-1, 1)."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N // 2, D))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    other = rng.standard_normal(x.shape)
    other -= (other * x).sum(1, keepdims=True) * x
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    angle = np.linspace(0.01, np.pi - 0.01, N // 2)[:, None]
    return np.concatenate([x, np.cos(angle) * x + np.sin(angle) * other])


def ours(x, depth):
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        gram = infinite_ntk(x, depth=depth)
        seconds.append(time.perf_counter() - started)
    return gram.numpy(), seconds[1:]  # the first one fits the interpolant


def main():
    x = points()
    script = Path(__file__).with_name("neural_tangents_kernel.py")
    torch.set_num_threads(1)  # ours on one core; theirs uses all there are
    good = True
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        for depth in (5, 30):
            gram, before = ours(torch.from_numpy(x), depth)
            environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
            command = [os.environ["PEER"], script, f"{folder}/x.npy", f"{folder}/r.npz", str(depth), str(REPEATS)]
            subprocess.run(list(map(str, command)), check=True, env=environment)
            theirs = np.load(f"{folder}/r.npz")
            _, after = ours(torch.from_numpy(x), depth)
            judged = abs(x @ x.T) < 0.999
            error = abs(gram / theirs["gram"] - 1)[judged].max()
            # the best of many runs: the least disturbed by whatever else the machine does
            mine, peer = min(before + after), theirs["seconds"].min()
            print(
                f"depth {depth}: ours {1e3 * mine:.1f} ms (median {1e3 * np.median(before + after):.1f}), "
                f"neural-tangents {1e3 * peer:.0f} ms (median {1e3 * np.median(theirs['seconds']):.0f}, first call "
                f"{theirs['first']:.1f} s): {peer / mine:.0f} times; largest relative difference {error:.1e} for "
                "|rho| < 0.999"
            )
            good &= depth != 30 or (peer > 10 * mine and error < 1e-12)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
