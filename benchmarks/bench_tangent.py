"""Tangent kernels from the layers' inputs and derivatives against per-sample gradients of the same network.

Then a reader's modules in float32 and ``memory`` of 286 MB against torch.func, which holds the gradients of all points:
a perceptron of 261 501 parameters at 256 points, from its linear layers; the same with a trained factor; a
convolutional network of 420 481, most of them in a linear layer; residual blocks, of gradients of single points alone,
where the pass of the certificate makes torch.func the faster. And the predictor of a frozen kernel through the moved
weights against the kernel between test and training points.
CPU seconds of one core, the least of three runs.

    python benchmarks/bench_tangent.py [tiny]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time

import torch

from regimes.data import tasks
from regimes.kernels import ntk
from regimes.measures.lazy import tangent_predictor
from regimes.models import one_hidden
from regimes.models.differentiated import Differentiated
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module

TINY = "tiny" in sys.argv
REPEATS, POINTS, WIDTH, TEST = (1, 20, 20, 40) if TINY else (3, 1000, 1000, 10_000)
READERS, HIDDEN, PICTURES = (8, 20, 4) if TINY else (256, 500, 128)  # points, neurons and pictures of a reader


class Module(torch.nn.Module):
    """The network as any module, for per-sample gradients."""

    def __init__(self, net):
        super().__init__()
        self.omega, self.b, self.beta = (torch.nn.Parameter(w[0]) for w in (net.omega, net.b, net.beta))

    def forward(self, x):
        """``f (n,)`` of ``x (n, d)``."""
        return (self.beta * 2**0.5 * torch.relu(x @ self.omega.T / x.shape[-1] ** 0.5 + self.b)).mean(-1)


def seconds(run):
    def once():
        started = time.process_time()
        run()
        return time.process_time() - started

    return min(once() for _ in range(REPEATS))


def layers(widths, model):
    """The fully connected network as a torch module."""
    linear = [torch.nn.Linear(n, m, bias=False, dtype=model.weights[0].dtype) for n, m in zip(widths, widths[1:])]
    for layer, weights, multiplier in zip(linear, model.weights, model.multipliers, strict=True):
        layer.weight.data = weights[0] * multiplier
    return torch.nn.Sequential(*[part for layer in linear for part in (layer, torch.nn.ReLU())][:-1])


def report(name, model, plain, x):
    plain = module(plain)
    ntk(model, x[:10]), ntk(plain, x[:10])
    p, held = len(x), model.tangent_size
    a = torch.randn(p, held // 2, dtype=x.dtype)
    floor = seconds(lambda: a @ a.T)
    rows = Differentiated(plain, x[None])
    fast, slow = seconds(lambda: ntk(model, x)), seconds(lambda: rows.gram(rows))
    print(
        f"{name}, p={p}, {x.dtype}: layers {fast:.3f} CPU s, {fast / floor:.1f} times one (p,k)(k,p) product of half "
        f"the {held} numbers per point; per-sample gradients {slow:.3f} CPU s, speed-up {slow / fast:.1f}"
    )


def perceptron(activation):
    """A reader's perceptron."""
    first, second = torch.nn.Linear(20, HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN)
    return torch.nn.Sequential(first, activation(), second, torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1))


def pictures():
    """Two convolutions with pools, and two linear layers."""
    first, second = torch.nn.Conv2d(1, 32, 3, padding=1), torch.nn.Conv2d(32, 64, 3, padding=1)
    maps = [first, torch.nn.ReLU(), torch.nn.MaxPool2d(2), second, torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    head = [torch.nn.Flatten(), torch.nn.Linear(3136, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1)]
    return torch.nn.Sequential(*maps, *head)


class Block(torch.nn.Module):
    """A residual block of two convolutions with norms."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.second = (torch.nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norms = torch.nn.ModuleList(torch.nn.GroupNorm(4, channels) for _ in range(2))

    def forward(self, x):
        """Maps of the shape of ``x``."""
        inner = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(x + self.norms[1](self.second(inner)))


def residual():
    """Three residual blocks and a mean."""
    head = [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(16, 1)]
    return torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), *[Block(16) for _ in range(3)], *head)


def readers(name, make, shape, points):
    """A reader's module: CPU seconds of our kernel and of torch.func's."""
    torch.manual_seed(0)
    net = make()
    x = torch.randn(points, *shape)
    model, weights = module(net, shape=shape), {name: weight.detach() for name, weight in net.named_parameters()}

    def output(weights, point):
        return torch.func.functional_call(net, weights, (point[None],)).squeeze()

    def theirs():
        rows = torch.func.vmap(torch.func.grad(output), (None, 0))(weights, x)
        return sum(row.flatten(1) @ row.flatten(1).T for row in rows.values())

    mine = ntk(model, x, memory=286 * 10**6)[0]
    assert torch.allclose(mine, theirs(), rtol=1e-3, atol=1e-4 * float(mine.abs().max())), "not the same kernel"
    ours, peer = seconds(lambda: ntk(model, x, memory=286 * 10**6)), seconds(theirs)
    print(f"{name}: {ours:.3f} CPU s, torch.func {peer:.3f}, {peer / ours:.1f} x")


def predictor(model, p, n):
    x, z = (tasks.stripe(size, model.d, seed=[seed]).x for seed, size in enumerate((p, n)))
    c = torch.ones(1, p, dtype=torch.float64)
    moved = seconds(lambda: tangent_predictor(model, x, c, z))
    kernel = seconds(lambda: ntk(model, z, x) @ c[..., None])
    print(f"predictor, h={model.h}, p={p}, {n} points: weights {moved:.3f} CPU s, kernel {kernel:.3f} CPU s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for dtype in (torch.float64, torch.float32):
        x = tasks.stripe(POINTS, 20, seed=0).x.to(dtype)
        net = one_hidden.one_hidden(5, WIDTH, seeds=0).to(dtype=dtype)
        report(f"one hidden layer, d=5, h={WIDTH}", net, Module(net), x[:, :5])
        widths = [20, 300, 300, 1]
        deep = fully_connected(widths, seeds=[0], dtype=dtype)
        report(f"fully connected {widths}", deep, layers(widths, deep), x)
    readers("a perceptron with ReLU", lambda: perceptron(torch.nn.ReLU), (20,), READERS)
    readers("a perceptron with PReLU", lambda: perceptron(torch.nn.PReLU), (20,), READERS)
    readers("a convolutional network", pictures, (1, 28, 28), PICTURES)
    readers("residual blocks", residual, (3, 16, 16), PICTURES)
    predictor(one_hidden.one_hidden(5, WIDTH, seeds=0), POINTS, TEST)
