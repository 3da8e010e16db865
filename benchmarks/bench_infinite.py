"""The infinite-width kernel: Gram matrix, a million layers, memory, smallest eigenvalue; each beside a plain baseline.

Required: a million layers for six inputs in 5 s (target 1 s); a 5000 × 5000 Gram matrix within 1.5 times its memory;
the smallest eigenvalue for n = 5000 within the memory stated before it runs. The comparison with neural-tangents is
`make bench-peers`. Each line runs in a process of its own, so that its peak memory is its own.

    python benchmarks/bench_infinite.py [tiny]
"""

import os
import resource
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from companion.papers.depth.theory import pairs, spectrum
from regimes.kernels import infinite_ntk, relu_recursion

MIB = 2**20
POINTS, MANY, LAYERS, LAYERED = (20, 40, 100, 10) if "tiny" in sys.argv else (1000, 5000, 10**6, 20_000)


def peak():
    """Peak resident memory of this process, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def best(call, repeats):
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def layer_by_layer(x, depth):
    """The baseline: the recursion over whole matrices."""
    phi = torch.acos((x @ x.mT).clamp(-1, 1))
    e, s = 2 * torch.sin(phi / 2) ** 2, torch.cos(phi)
    for _ in range(depth - 1):
        phi, e, s = relu_recursion.layer(phi, e, s)
    return s / depth


def gram():
    x = pairs.sphere(POINTS, 128, seed=0)
    infinite_ntk(x, depth=30)
    ours, plain = best(lambda: infinite_ntk(x, depth=30), 9), best(lambda: layer_by_layer(x, 30), 2)
    worst = float((infinite_ntk(x, depth=30) - layer_by_layer(x, 30)).fill_diagonal_(0).abs().max())
    print(
        f"Gram {POINTS}, depth 30, one core: {1e3 * ours:.1f} ms, layer by layer {1e3 * plain:.0f} ms; "
        f"they differ by {worst:.0e}"
    )
    return plain > 10 * ours and worst < 1e-13


def million():
    phi = torch.acos(torch.tensor([-0.9, 0.0, 0.5, 0.9, 0.99, 0.9999], dtype=torch.float64))
    first = best(lambda: relu_recursion.kernel_of_angle(phi, LAYERS), 1)
    again = best(lambda: relu_recursion.kernel_of_angle(phi, LAYERS), 5)
    e, s, angle = 2 * torch.sin(phi / 2) ** 2, torch.cos(phi), phi
    started = time.perf_counter()
    for _ in range(LAYERED):
        angle, e, s = relu_recursion.layer(angle, e, s)
    plain = (time.perf_counter() - started) * LAYERS / LAYERED
    text = f"{LAYERS} layers, six inputs: {first:.3f} s at first, {again:.4f} s after"
    print(f"{text}; the plain recursion takes {plain:.0f} s")
    return first < 5


def offsets():
    phi = torch.acos((x := pairs.sphere(POINTS, 128, seed=0)) @ x.mT * 0.999)
    relu_recursion.offset(phi[:2])
    ours, plain = (
        best(lambda call=call: call(phi), 2) for call in (relu_recursion.offset, relu_recursion.layered_offset)
    )
    worst = float((relu_recursion.offset(phi) / relu_recursion.layered_offset(phi) - 1).abs().max())
    print(
        f"offsets of {POINTS}² angles: {1e3 * ours:.0f} ms, layer by layer {1e3 * plain:.0f} ms; "
        f"they differ by {worst:.0e}"
    )
    return plain > 5 * ours and worst < 1e-12


def memory():
    x, n = pairs.sphere(MANY, 128, seed=0), MANY
    infinite_ntk(x[:300], depth=30)
    before, started = peak(), time.perf_counter()
    infinite_ntk(x, depth=30)
    seconds, used = time.perf_counter() - started, (peak() - before) / (8 * n * n)
    print(f"Gram {MANY}, depth 30: {seconds:.2f} s, {used:.2f} times the matrix ({8 * n * n / MIB:.0f} MiB)")
    return used < 1.5


def eigenvalue():
    x, n = pairs.sphere(MANY, 128, seed=0), MANY
    spectrum.smallest_kernel_eigenvalue(x[:300], depth=5)
    stated, before, started = spectrum.eigenvalue_bytes(n), peak(), time.perf_counter()
    value = spectrum.smallest_kernel_eigenvalue(x, depth=5)
    used, seconds = peak() - before, time.perf_counter() - started
    print(
        f"smallest eigenvalue, n = {MANY}, depth 5: {value:.6f} in {seconds:.1f} s; stated {stated / MIB:.0f} MiB, "
        f"took {used / MIB:.0f} MiB"
    )
    return used <= stated


CASES = {case.__name__: case for case in (gram, million, offsets, memory, eigenvalue)}


def main(names):
    if names == ["tiny"]:
        for case in CASES.values():
            case()
        return 0
    if names:
        return 0 if CASES[names[0]]() else 1
    return max(subprocess.run([sys.executable, __file__, name]).returncode for name in CASES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
