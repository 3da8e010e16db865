"""Saddle points of spiked random features against the simulation that each replaces, on one core.

Baseline: one realisation at ``d = 1000`` (one gradient step on ``n0 = d`` samples, ridge on ``n = 2 d``, ``p = d``, the
population's test error), which gives one point of a learning curve with a realisation's scatter. Beside it the error on
4000 points, which scatters by 2 %. Required: at most 10 ms a saddle point (penalties down to 1e-6, the interpolation
peak included), 10^4 different ones in at most 20 s, at least 1000 times faster than the simulation. Saddle points of
logistic regression by Anderson's mixing beside plain damped steps, to the same gap. Logistic readouts beside
scikit-learn's three solvers, each with the gradient that it leaves, over the first one.

    python benchmarks/bench_spiked.py [quick | tiny]
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"

import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from companion.papers.one_step.theory import convex_theory, fit_readout, network, population, ridge_theory
from companion.papers.one_step.theory.conditional_map import equivalent
from companion.papers.one_step.theory.functions import function

SIZE, COUNT = 1000, 10_000
if "quick" in sys.argv:
    SIZE, COUNT = 200, 200
if "tiny" in sys.argv:
    SIZE, COUNT = 30, 10


def cpu(call: Callable[[], object], repeats: int = 1) -> float:
    """Least CPU seconds over the repeats."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def simulation() -> None:
    """One realisation of one point of a learning curve."""
    weights = network.one_step("tanh", "sin", d=SIZE, p=SIZE, n0=SIZE, step=2.0, seeds=[0])
    network.learning_curve("tanh", "sin", weights, alphas=[2.0], lam=0.1, seeds=[0])


def errors() -> tuple[float, float]:
    """CPU seconds of one readout's error: the population's, and on 4000 points."""
    tanh, sin = function("tanh"), function("sin")
    weights = network.spiked_features(d=SIZE, p=SIZE, r=1.0, c=1.2, gamma=0.9, seeds=[0])
    a = torch.ones(1, 1, SIZE, dtype=torch.float64) / SIZE**0.5

    def sampled() -> None:
        x, y = network.test_set(sin, weights, [0], 4000)
        (a @ network.feature_map(tanh, weights, x).mT - y[:, None]).square().mean()

    return cpu(lambda: population.population_error(tanh, sin, weights.w, weights.theta, a), 3), cpu(sampled, 3)


def worst_single() -> tuple[float, int]:
    """Slowest single saddle point over penalties and around the peak, with its Newton steps."""
    s = equivalent("tanh", "sin", alpha0=1.0, step=2.0)
    kind = dict(r=s.r, c=s.c, gamma=s.gamma, beta=1.0)
    worst = (0.0, 0)
    for lam in (1e-6, 1e-3, 0.1, 10.0):
        for alpha in (0.5, 0.999, 1.0, 1.001, 4.0):
            spent = cpu(lambda a=alpha, l=lam: ridge_theory.solve("tanh", "sin", alpha=a, lam=l, **kind), 5)
            steps = int(ridge_theory.solve("tanh", "sin", alpha=alpha, lam=lam, **kind).iterations)
            worst = max(worst, (spent, steps))
    return worst


def many(distinct: bool) -> float:
    """Seconds for ``COUNT`` saddle points; distinct ones each have their own spike and target alignment."""
    rng = np.random.default_rng(0)
    size = COUNT if distinct else 1
    kind = dict(r=rng.uniform(0.1, 5, size), c=rng.uniform(1, 3, size), gamma=rng.uniform(0, 1, size))
    kind |= dict(alpha=rng.uniform(0.1, 4, COUNT), beta=rng.uniform(0.1, 4, COUNT), lam=10 ** rng.uniform(-6, 1, COUNT))
    return cpu(lambda: ridge_theory.solve("tanh", "sin", **kind))


def logistic() -> tuple[float, float]:
    """CPU seconds of a saddle point of logistic regression: by Anderson's mixing, and by plain damped steps."""
    kind = dict(alpha=2.0, beta=1.0, lam=0.1, r=1.0, c=1.2, gamma=0.8)
    solve = lambda: convex_theory.solve_loss("tanh", "sign", convex_theory.logistic(), **kind)  # noqa: E731
    mixed, best = convex_theory._mixed, cpu(solve, 3)
    convex_theory._mixed = lambda points, moves, scale: points[-1] + convex_theory._MIX * moves[-1]
    try:
        return best, cpu(solve, 3)
    finally:
        convex_theory._mixed = mixed


def readouts(d: int, seeds: int, lam: float) -> None:
    """Prints CPU seconds of a realisation and the gradient left: ours, and scikit-learn's solvers."""
    drawn = network.spiked_features(d=d, p=d, r=2.0, c=1.2, gamma=0.8, seeds=range(seeds))
    x, y = network.second_batch(function("sign"), drawn, 2 * d, range(seeds))
    phi = network.feature_map(function("tanh"), drawn, x)
    rows, labels = phi[0].numpy(), y[0].numpy()

    def left(a: np.ndarray) -> float:
        gradient = lam * a - rows.T @ (labels / (1 + np.exp(labels * (rows @ a))))
        return float(np.linalg.norm(gradient) / np.linalg.norm(rows.T @ labels / 2))

    found = fit_readout.readout(phi, y, "logistic", lam)
    spent = cpu(lambda: fit_readout.readout(phi, y, "logistic", lam), 3) / seeds
    row = f"logistic, {2 * d} x {d}, lam {lam:g}: {spent * 1e3:8.2f} ms ({left(found[0].numpy()):.0e})"
    for solver in ("newton-cholesky", "newton-cg", "lbfgs"):
        machine = LogisticRegression(C=1 / lam, fit_intercept=False, solver=solver, tol=1e-12, max_iter=10_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # as near as it comes
            theirs = cpu(lambda fit=machine.fit: fit(rows, labels), 3)
        row += f"; {solver} {theirs * 1e3:.2f} ms ({left(machine.coef_[0]):.0e}), {theirs / spent:.1f} x"
    print(row)


def main() -> None:
    """Prints the table; the last column is what is required."""
    torch.set_num_threads(1)
    simulation()  # warm
    single, steps = worst_single()
    simulated = cpu(simulation, 3)
    distinct, curve = many(True), many(False)
    print(f"simulation, d = {SIZE}, one realisation    {simulated:10.3f} s CPU")
    closed, sampled = errors()
    print(f"error of the population, of 4000 points {closed:9.3f} {sampled:9.3f} s CPU")
    print(f"slowest single saddle point            {single * 1e3:10.2f} ms  ({steps} Newton steps; at most 10 ms)")
    print(f"{COUNT} saddle points, all different     {distinct:10.2f} s   (at most 20 s)")
    print(f"{COUNT} saddle points of one channel     {curve:10.2f} s")
    best, plain = logistic()
    print(f"logistic regression, mixed and plain   {best * 1e3:10.1f} {plain * 1e3:9.1f} ms")
    for d, seeds in ((50, 24), (200, 8), (800, 1)) if SIZE > 200 else ((50, 24),):
        for lam in (0.1, 0.01):
            readouts(d, seeds, lam)
    print(f"simulation over single                 {simulated / single:10.0f} x")
    print(f"simulation over one of many, different {simulated / distinct * COUNT:10.0f} x  (at least 1000 x)")
    print(f"simulation over one of many, a curve   {simulated / curve * COUNT:10.0f} x")


if __name__ == "__main__":
    main()
