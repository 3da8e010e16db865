"""Runs in the peers' environment: neural-tangents' kernel of the points in one file, times and values into another."""

import sys
import time

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
from neural_tangents import stax  # noqa: E402  (after the switch to float64)


def main(points, result, depth, repeats):
    layers = [layer for _ in range(depth - 1) for layer in (stax.Dense(1, W_std=2**0.5), stax.Relu())]
    _, _, kernel = stax.serial(*layers, stax.Dense(1, W_std=2**0.5))
    compiled = jax.jit(lambda x: kernel(x, None, "ntk"))
    x = np.load(points)
    started = time.perf_counter()
    gram = np.asarray(compiled(x).block_until_ready())
    first, seconds = time.perf_counter() - started, []
    for _ in range(repeats):
        started = time.perf_counter()
        compiled(x).block_until_ready()
        seconds.append(time.perf_counter() - started)
    # by the diagonal's exact value: its computed one is off by the root of round-off, an arccosine near 1
    np.savez(result, gram=gram * x.shape[1] / (2 * depth), seconds=seconds, first=first)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
