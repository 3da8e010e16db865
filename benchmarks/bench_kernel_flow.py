"""The frozen-kernel flow against the original step rule on the same Gram matrix, in CPU seconds of one core.

Baseline, written here: explicit Euler on the margins, a trial step accepted if the gradient turns by less than 1e-4
(squared, in the kernel's norm) and no output moves by 0.1/α; then 1.1 times longer if both are below half, else 10
times shorter; one product with the Gram matrix a trial. Its loss is the original code's default, the soft hinge of
softness 20: with the hinge itself it stalls at the first event, which the last line shows. Ours is exact for the hinge.

Both from the same start until every margin is 1. The ratio is that of the least times, and in brackets the median over
the rounds.

Then the path in C beside that on arrays of numpy, scikit-learn's SVC and piqp at the same Gram matrix, and their ends,
which are other functions. The flow's coefficients ``y c`` only grow; the machine's make the margin largest, and SVC's
has an intercept; piqp solves the machine without one. The norm ``cᵀK c`` is that of the function whose least margin is
1, the machine's objective; shares of wrong test labels, and their differences paired by seed. A solver that is not
installed is left out.

    python benchmarks/bench_kernel_flow.py [tiny | SIZE ...]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time

import numpy as np
import torch
from scipy.special import expit
from sklearn.svm import SVC

from regimes.data import tasks
from regimes.kernels import wide_one_hidden_ntk
from regimes.training import kernel_flow
from regimes.training.kernel_flow import hinge

try:
    import piqp
except ImportError:
    piqp = None

TINY = "tiny" in sys.argv
ROUNDS = 1 if TINY else 5000  # divided by p
STALL = 0.05 if TINY else 5.0  # CPU seconds given to the baseline on the hinge loss


def force(loss, m):
    return expit(20 * (1 - m)) if loss == "soft_hinge" else (m < 1).astype(float)


def original(gram, y, loss, *, limit=np.inf):
    """CPU seconds, trials and end."""
    Q = (y[:, None] * gram * y / len(y)).numpy()
    started = time.process_time()
    m, dt, trials = np.zeros(len(y)), 1.0, 0
    q = force(loss, m)
    rate = Q @ q
    while (m < 1).any() and time.process_time() - started < limit:
        trials += 1
        new = m + dt * rate
        new_q = force(loss, new)
        new_rate = Q @ new_q
        size = np.sqrt(max(q @ rate, 0) * max(new_q @ new_rate, 0))
        turned = (new_q - q) @ (new_rate - rate) / size if size > 0 else 0.0
        moved = np.abs(new - m).max()
        if turned < 1e-4 and moved < 0.1:
            m, q, rate = new, new_q, new_rate
            if turned < 0.5e-4 and moved < 0.05:
                dt *= 1.1
        else:
            dt /= 10
    return time.process_time() - started, trials, f"{int((m < 1).sum())} unmet"


def ours(gram, y):
    started = time.process_time()
    end = kernel_flow.fit(gram, y)
    return time.process_time() - started, end.steps, end.ended[0]


def report(p, d):
    task = tasks.stripe(p, d, seed=0)
    gram, y = wide_one_hidden_ntk(task.x), task.y
    kernel_flow.fit(gram[:64, :64], y[:64])  # loads what is loaded late
    # in turns, so that a slow moment of the machine touches both
    runs = [(original(gram, y, "soft_hinge"), ours(gram, y)) for _ in range(max(1, ROUNDS // len(y)))]
    print(f"stripe, d={d}, p={p}, infinite-width tangent kernel; least of {len(runs)} runs")
    for name, found in zip(("original rule, soft hinge", "ours, hinge, exact"), zip(*runs)):
        seconds, steps, end = min(found)
        median = np.median([base[0] / one[0] for (base, _), one in zip(runs, found)])
        speed_up = f"{min(base for base, _ in runs)[0] / seconds:5.2f} ({median:.2f})"
        print(f"  {name:28s} {seconds:8.3f} CPU s  {steps:6d} steps  {end:10s} speed-up {speed_up}")
    seconds, trials, end = original(gram, y, "hinge", limit=STALL)
    print(f"  {'original rule, hinge':28s} {seconds:8.3f} CPU s  {trials:6d} steps  {end} (stalled, stopped)")


def in_numpy(gram, y):
    """The flow's coefficients, without C."""
    compiled, hinge.compiled = hinge.compiled, lambda: None
    try:
        return in_c(gram, y)
    finally:
        hinge.compiled = compiled


def in_c(gram, y):
    return kernel_flow.fit(gram, y).coefficients[0].numpy(), 0.0


def by_svc(gram, y):
    machine = SVC(C=1e8, kernel="precomputed", tol=1e-4).fit(gram.numpy(), y.numpy())
    c = np.zeros(len(y))
    c[machine.support_] = machine.dual_coef_[0]
    return c, float(machine.intercept_[0])


def by_piqp(gram, y):
    """The machine without an intercept: ``min ½ aᵀQa - Σa`` over ``a >= 0``, ``Q = diag(y) K diag(y)``."""
    solver = piqp.DenseSolver()
    Q = (y[:, None] * gram * y).numpy()
    solver.setup(Q, -np.ones(len(y)), x_l=np.zeros(len(y)))
    solver.solve()
    return np.maximum(solver.result.x, 0) * y.numpy(), 0.0


SOLVERS = {"flow, in C": in_c, "flow, numpy": in_numpy, "SVC": by_svc} | ({"piqp": by_piqp} if piqp else {})


def beside_the_machine(p, d, seeds, test):
    """Prints each solver's CPU seconds, the norm of its end and its test error, and how far both are from the flow's.

    Seconds are over those of the flow in C, in turns on the same problems.
    """
    rows = []
    for seed in seeds:
        train, fresh = tasks.stripe(p, d, seed=[seed]), tasks.stripe(test, d, seed=[10_000 + seed])
        gram, cross = wide_one_hidden_ntk(train.x[0]), wide_one_hidden_ntk(fresh.x[0], train.x[0]).numpy()
        y, truth = train.y[0], fresh.y[0].numpy()
        for solve in SOLVERS.values():
            started = time.process_time()
            c, intercept = solve(gram, y)
            spent = time.process_time() - started
            f = gram.numpy() @ c + intercept
            norm = c @ gram.numpy() @ c / (f * y.numpy()).min() ** 2
            rows.append((spent, norm, ((cross @ c + intercept) * truth <= 0).mean()))
    found = np.array(rows).reshape(len(seeds), len(SOLVERS), 3)
    print(f"stripe, d={d}, p={p}, {len(seeds)} seeds    CPU s   over C      norm   wrong   less the flow's")
    for k, name in enumerate(SOLVERS):
        spent, norm, wrong = found[:, k].mean(0)
        over = np.median(found[:, k, 0] / found[:, 0, 0])
        apart = found[:, k, 2] - found[:, 0, 2]
        scatter = apart.std(ddof=1) / len(seeds) ** 0.5
        print(f"  {name:24s} {spent:9.4f} {over:8.2f} {norm:9.2f}  {wrong:.4f}   {apart.mean():+.4f} ± {scatter:.4f}")
    if piqp is None:
        print("  piqp is not installed: left out")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for size in [30] if TINY else map(int, sys.argv[1:] or [1000]):
        report(size, 5)
    for size in [30] if TINY else (250, 500, 1000):
        beside_the_machine(size, 5, range(2 if TINY else 8), test=100 if TINY else 4000)
