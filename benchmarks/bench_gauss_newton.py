"""Linearly implicit gradient flow of small networks to a verdict, in CPU seconds of one core.

Chapter 3's networks: two hidden layers, steep swish, quadratic hinge, parity of digits on ten principal components.
First eight of them that fit, against explicit Euler with the original step rule (the gradient may turn by 1e-2 of its
square a step, no output move by more than 0.1), which gets ``LIMIT`` CPU seconds: the ratio of times to the same loss,
with the share of the loss that the explicit one has left where it did not get there (``>``: a lower bound). Then 136
networks, 17 widths of 8, 500 points, scale 1: required 160 CPU seconds, aimed at 80. Last four networks that do not
fit: CPU seconds a network (median) until the loss is what 1600 more steps of the flow leave, by those steps, by
Newton's rounds with the whole Hessian (``regimes.training.newton``), and by scipy's L-BFGS with 50 corrections. Then
all three on networks that fit and on networks that hardly do. L-BFGS fits the easy ones 2 to 5 times as fast, but other
ones of the hard ones than the flow does: it cannot stand in for the flow where the width at which networks fit is
measured. For a low end Newton's rounds after the flow are the better way. And the matrix of a step of four networks,
three layers, 26 wide, 3840 points: in blocks of points, and from the whole Jacobian.

    python benchmarks/bench_gauss_newton.py [quick | tiny]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import math
import statistics
import sys
import time
from types import SimpleNamespace

import torch
from scipy.optimize import minimize

from companion.data import images
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies._ensembles import parameters_of
from regimes.data.tasks import gaussian_points
from regimes.training import gauss_newton as solver
from regimes.training.gauss_newton import gauss_newton
from regimes.training.newton import newton
from regimes.training.optimise import optimise
from regimes.training.run import run
from regimes.training.state import Ended

TINY = "tiny" in sys.argv
LIMIT = 0.2 if TINY else 120.0
SETTING = {"data": "mnist", "components": 10, "test": 1000, "kernel_p": 100, "layers": 2, "members": 8}
WIDTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24, 30]


def networks(p, h):
    setting = SimpleNamespace(**SETTING, words=images.identity("mnist"), p=p)
    sets = studies.draw_sets(setting, 0)
    return studies.swish_networks(setting, h, [0]), sets.train.x, sets.train.y


def against_explicit(h, max_turn, p=500):
    model, x, y = networks(p, h)
    started = time.process_time()
    done = run(gauss_newton(model, x, y, alpha=1.0, rule="settle", steps=1000))
    fast = time.process_time() - started
    goal = 0.5 * (1 - done.F * y).clamp(min=0).square().mean(-1)
    goal = goal.clamp(min=1e-6)  # of the mean loss: the explicit rule need not follow the last approach
    started = time.process_time()
    reached = torch.zeros(8, dtype=torch.bool)
    options = {"method": "momentum", "loss": "quadratic_hinge", "alpha": 1.0, "centred": True, "max_turn": max_turn}
    for state in optimise(model, x, y, **options):
        reached |= state.loss <= goal
        if bool(reached.all()) or time.process_time() - started > LIMIT:
            break
    slow = time.process_time() - started
    left = float((state.loss / 0.5).max())
    sign, fit = "" if bool(reached.all()) else ">", sum(why.kind == Ended.FITTED for why in done.ended)
    print(
        f"8 networks, h = {h}, P = {p}: implicit {fast:.2f} CPU s, {fit} fitted; "
        f"explicit (turn {max_turn:g}) {slow:.1f} CPU s, {int(reached.sum())} at that loss "
        f"(largest loss left: {left:.1e} of the first): {sign}{slow / fast:.0f} times"
    )


def to_a_verdict(widths, p=500):
    total = 0.0
    for h in widths:
        model, x, y = networks(p, h)
        started = time.process_time()
        done = run(gauss_newton(model, x, y, alpha=1.0, rule="settle", steps=400))
        total += time.process_time() - started
        fitted = sum(why.kind == Ended.FITTED for why in done.ended)
        left = ((done.F * y) < 1 - 1e-4).double().sum(-1).mean()
        print(
            f"  h = {h}: {fitted} of 8 fit, {float(left):.0f} points unsatisfied, {total:.1f} CPU s so far", flush=True
        )
    print(f"{8 * len(widths)} networks, P = {p}, to a verdict: {total:.0f} CPU s (required 160, aimed at 80)")


def to_rest(p=1000, h=8, scale=12.0, steps=1600):
    model, x, y = networks(p, h)
    model = model[:4]
    start = run(gauss_newton(model, x, y, alpha=scale, rule="settle", steps=200)).model
    started = time.process_time()
    goal = loss_of(
        model, run(gauss_newton(model, x, y, alpha=scale, rule="settle", steps=200 + steps)).model, x, y, scale
    )
    slow = (time.process_time() - started) * steps / (200 + steps) / 4
    fast, peer = [], []
    for e in range(4):
        started = time.process_time()
        options = {"alpha": scale, "initial": model[e : e + 1], "steps": 5000}
        next(state for state in newton(start[e : e + 1], x, y, **options) if float(state.loss) <= goal[e])
        fast.append(time.process_time() - started)
        started = time.process_time()
        reached = lbfgs(model[e : e + 1], start[e : e + 1], x, y, scale, goal=float(goal[e])) <= goal[e]
        peer.append(time.process_time() - started if reached else float("inf"))
    fast, peer = statistics.median(fast), statistics.median(peer)
    print(
        f"to the loss of {steps} more steps, P = {p}, h = {h}: Newton {fast:.2f} CPU s a network, "
        f"the flow {slow:.2f} ({slow / fast:.1f} times), L-BFGS {peer:.2f} ({peer / fast:.1f} times)"
    )


def normal_matrix(p=3840, h=26):
    setting = SimpleNamespace(components=10, layers=3, members=4)
    x = gaussian_points(p, 10, seed=0)
    tangents = studies.swish_networks(setting, h, [0]).tangents(x)
    root, size = torch.rand(4, p, dtype=torch.float64), parameters_of(10, h, 3)
    spent = {}
    for block in (p, solver.BLOCK) * 3:
        solver.BLOCK, started = block, time.process_time()
        solver._square(tangents, root, size)
        spent[block] = min(spent.get(block, math.inf), time.process_time() - started)
    print(
        f"normal matrix of 4 networks, P = {p}, N = {size}: in blocks {spent[block]:.2f} CPU s, "
        f"from the whole Jacobian {spent[p]:.2f} ({spent[p] / spent[block]:.2f} times)"
    )


def loss_of(start, model, x, y, scale):
    return (1 - scale * y * (model(x) - start(x))).clamp(min=0).square().mean(-1) / 2


def lbfgs(start, model, x, y, scale, goal=1e-9, most=20_000):
    """The loss to which scipy's L-BFGS gets, at most down to ``goal``."""
    shapes = [w[0].shape for w in model.parameters()]
    f0 = start(x)

    def both(w):
        parts = torch.from_numpy(w).split([shape.numel() for shape in shapes])
        now = start.with_parameters([part.view(1, *shape) for part, shape in zip(parts, shapes)])
        gaps = (1 - scale * y * (now(x) - f0)).clamp(min=0)
        slope = now.tangents(x).vjp(-scale * y * gaps / len(y))
        return float(gaps.square().mean() / 2), torch.cat([v.flatten() for v in slope]).numpy()

    def enough(intermediate_result):
        if intermediate_result.fun <= goal:
            raise StopIteration

    first = torch.cat([w.flatten() for w in model.parameters()]).numpy()
    options = {"maxiter": most, "maxfun": 2 * most, "maxcor": 50, "ftol": 0, "gtol": 0}
    return minimize(both, first, jac=True, method="L-BFGS-B", callback=enough, options=options).fun


def from_the_start(widths, members=4, p=500):
    """Means over networks: CPU seconds of one, how many fit, and the loss that the others have left."""
    for h in widths:
        model, x, y = networks(p, h)
        each_ = [model[e : e + 1] for e in range(members)]
        rows = [row for one in each_ for row in all_ways(one, x, y)]
        print(f"from the start, P = {p}, h = {h}, {members} networks:")
        for name in dict.fromkeys(name for name, _, _ in rows):
            spent, left = zip(*[(seconds, loss) for one, seconds, loss in rows if one == name])
            unfitted = [loss for loss in left if loss > 1e-8]
            rest = f", the others' loss {statistics.mean(unfitted):.1e}" if unfitted else ""
            print(f"  {name:22} {statistics.mean(spent):6.2f} CPU s, {members - len(unfitted)} fit{rest}", flush=True)


def all_ways(network, x, y):
    """Of each way for one network: its name, CPU seconds and the loss left."""

    def flow():
        return run(gauss_newton(network, x, y, alpha=1.0, rule="settle", steps=400)).model

    def rounds():
        return run(newton(flowed, x, y, alpha=1.0, initial=network, steps=2000)).model

    flowed, rows = flow(), []
    ways = {
        "flow": lambda: loss_of(network, flow(), x, y, 1.0),
        "L-BFGS 300": lambda: lbfgs(network, network, x, y, 1.0, most=300),
        "L-BFGS 3000": lambda: lbfgs(network, network, x, y, 1.0, most=3000),
        "Newton after the flow": lambda: loss_of(network, rounds(), x, y, 1.0),
    }
    for name, way in ways.items():
        started = time.process_time()
        loss = float(way())
        rows.append((name, time.process_time() - started, loss))
    return rows


def main(quick):
    images.identity("mnist")
    for h, max_turn in ((14, 1e-2), (14, 1e-4), (10, 1e-2)):
        against_explicit(h, max_turn)
    to_a_verdict(WIDTHS[::4] if quick else WIDTHS)
    to_rest(*(200, 5, 12.0, 200) if quick else ())
    from_the_start([14] if quick else [14, 12, 10, 8])
    normal_matrix(*(600, 8) if quick else ())


def tiny():
    against_explicit(10, 1e-2, p=10)
    to_a_verdict([10], p=10)
    to_rest(20, 3, 1.0, 2)
    from_the_start([10], members=1, p=10)
    normal_matrix(20, 3)


if __name__ == "__main__":
    tiny() if TINY else main("quick" in sys.argv)
