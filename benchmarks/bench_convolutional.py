"""The convolutional network's tangent kernel against torch.func Jacobians, its loss gradient against autograd.

The ways alternate in this process, in CPU seconds of one core; the peak of resident memory of each is that of a process
of its own.

    python benchmarks/bench_convolutional.py [tiny]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import math
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch.func import functional_call, grad, vmap

from regimes import devices
from regimes.models.convolutional import convolutional
from regimes.models.module import module as wrapped

TINY = "tiny" in sys.argv
IMAGES, REPEATS = (4, 1) if TINY else (500, 5)
CHUNK = 250  # the best for both precisions; from 100 to 500 they differ by less than a fifth
TRAINED = ((2, 3),) if TINY else ((1, 50), (1, 200), (5, 200))  # realisations and images of a loss gradient


class Module(torch.nn.Module):
    """One realisation with torch's own convolutions."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.weights = torch.nn.ParameterList(w[0].clone() for w in net.parameters())

    def forward(self, x):
        """``f (p,)`` of images ``x``."""
        *convolutions, readout, bias = self.weights
        outputs = []
        for stage, weight in zip(self.net.stages, convolutions):
            outputs.append(x)
            kernel, groups = stage.window.kernel, stage.into if stage.depthwise else 1
            weight = weight.reshape(stage.out, -1, kernel, kernel) * stage.multiplier
            x = torch.nn.functional.conv2d(x, weight, None, stage.window.stride, kernel // 2, groups=groups)
            x = self.net.sigma(x) if stage.active else x
            x = (x + outputs[-3]) * math.sqrt(0.5) if stage.residual else x
        return (x.mean((2, 3)) @ readout.T / readout.shape[1] + bias).squeeze(1)


def jacobian_gram(module, x):
    """The kernel of all parameters from rows by ``vmap(grad)``, ``CHUNK`` images at a time."""
    weights = {name: w.detach() for name, w in module.named_parameters()}

    def output(weights, point):
        return functional_call(module, weights, (point[None],)).squeeze(0)

    rows = vmap(grad(output), in_dims=(None, 0), chunk_size=CHUNK)(weights, x)
    rows = torch.cat([row.flatten(1) for row in rows.values()], 1)
    return rows @ rows.T


def autograd_pull(modules, x, v):
    for module, row in zip(modules, v):
        torch.autograd.grad(module(x), list(module.parameters()), row)


def kernels(dtype):
    """Three ways to the kernel of ``IMAGES`` images: by layers, by torch.func, by the library from the torch module."""
    net = convolutional(2 if TINY else 10, seeds=[0]).to(dtype=dtype)
    x, module = torch.randn(IMAGES, *net.shape, dtype=dtype), Module(net)
    return {
        "ours": lambda: net.tangents(x).gram()[0],
        "torch.func": lambda: jacobian_gram(module, x),
        "ours of the module": lambda: wrapped(module, shape=net.shape).tangents(x).gram()[0],
    }


def gradients(count, p, dtype):
    """The two ways to a loss gradient."""
    net = convolutional(2 if TINY else 10, seeds=range(count)).to(dtype=dtype)
    x, v = torch.randn(p, *net.shape, dtype=dtype), torch.randn(count, p, dtype=dtype)
    modules = [Module(net[e : e + 1]) for e in range(count)]
    return {"ours": lambda: net.tangents(x).vjp(v), "autograd": lambda: autograd_pull(modules, x, v)}


def compare(what, ways):
    """Medians of ``REPEATS`` alternating runs."""
    seconds = {name: [] for name in ways}
    for _ in range(REPEATS + 1):
        for name, run in ways.items():
            started = time.process_time()
            run()
            seconds[name].append(time.process_time() - started)
    first, *other_medians = [statistics.median(repeats[1:]) for repeats in seconds.values()]
    medians = dict(zip([*ways][1:], other_medians))
    compared = [f"{name} {median:.3f} CPU s ({median / first:.1f} times)" for name, median in medians.items()]
    print(f"{what}: {next(iter(ways))} {first:.3f} CPU s, {', '.join(compared)}", flush=True)


def peak(way, dtype):
    """MiB of resident memory at most in a process that makes the kernel once, and before it."""
    command = [sys.executable, __file__, way, dtype]
    before, after = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return f"{way} {after} MiB at most ({before} before)"


def resident():
    """MiB at most so far."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1]) // 1024


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if len(sys.argv) > 2:  # a way and a precision, in a process of its own
        run, before = kernels(getattr(torch, sys.argv[2]))[sys.argv[1]], resident()
        run()
        print(before, resident())
        sys.exit()
    devices.reuse_memory()
    for name in ("float32",) if TINY else ("float64", "float32"):
        ways = kernels(getattr(torch, name))
        reference, *others = (run() for run in ways.values())
        distances = [f"{float((reference - kernel).norm() / reference.norm()):.0e}" for kernel in others]
        print(f"kernels of {IMAGES} images in {name} differ by {', '.join(distances)}")
        compare(f"kernel of {IMAGES} images, {name}", ways)
        if not TINY:
            print("resident memory:", "; ".join(peak(way, name) for way in ways))
        for count, p in TRAINED:
            ways = gradients(count, p, getattr(torch, name))
            compare(f"loss gradient, {count} realisations, {p} images, {name}", ways)
