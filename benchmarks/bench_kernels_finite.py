"""The closed-form tangent kernel against per-sample gradients of the same network, in CPU seconds of one core."""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import time

import torch

from regimes.data import tasks
from regimes.kernels import ntk
from regimes.models import one_hidden

REPEATS = 3


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


def report(p, h, d, dtype):
    closed, x = one_hidden.one_hidden(d, h, seeds=0, dtype=dtype), tasks.stripe(p, d, seed=0).x.to(dtype)
    general = Module(closed)
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
