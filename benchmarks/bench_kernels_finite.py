"""The closed-form tangent kernel against per-sample gradients of the same network, in CPU seconds of one core."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import time

import numpy as np
import torch
from regimes import tasks
from regimes.kernels import ntk

REPEATS = 3


class OneHidden(torch.nn.Module):
    """The network as any module, for per-sample gradients."""

    def __init__(self, d, h, dtype):
        super().__init__()
        rng = np.random.default_rng(1)
        self.ω, self.b, self.β = (
            torch.nn.Parameter(torch.from_numpy(rng.standard_normal(shape)).to(dtype)) for shape in ((h, d), h, h)
        )

    def forward(self, x):
        """``f (n,)`` of ``x (n, d)``."""
        return (self.β * 2**0.5 * torch.relu(x @ self.ω.T / x.shape[-1] ** 0.5 + self.b)).mean(-1)


class Weights:
    """The same weights for the closed form."""

    def __init__(self, net):
        self.ω, self.b, self.β = net.ω.detach(), net.b.detach(), net.β.detach()


def seconds(run):
    def once():
        started = time.process_time()
        run()
        return time.process_time() - started

    return min(once() for _ in range(REPEATS))


def report(p, h, d, dtype):
    net, x = OneHidden(d, h, dtype), tasks.stripe(p, d, seed=0).x.to(dtype)
    closed, general = Weights(net), net
    ntk(closed, x[:10]), ntk(general, x[:10])
    a = torch.randn(p, h, dtype=dtype)
    floor = seconds(lambda: a @ a.T)
    fast, slow = seconds(lambda: ntk(closed, x)), seconds(lambda: ntk(general, x))
    print(
        f"p={p} h={h} d={d} {dtype}: closed form {fast:.3f} CPU s, {fast / floor:.1f} times one (p,h)(h,p) product; "
        f"per-sample gradients {slow:.3f} CPU s, speed-up {slow / fast:.1f}"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    for dtype in (torch.float64, torch.float32):
        report(1000, 1000, 5, dtype)
