"""The frozen-kernel flow against the original step rule on the same Gram matrix, in CPU seconds of one core.

Baseline, written here: explicit Euler on the margins, a trial step accepted if the gradient turns by less than 1e-4
(squared, in the kernel's norm) and no output moves by 0.1/α; then 1.1 times longer if both are below half, else 10
times shorter; one product with the Gram matrix a trial. Its loss is the original code's default, the soft hinge of
softness 20: with the hinge itself it stalls at the first event, which the last line shows. Ours is exact for the hinge.

Both from the same start until every margin is 1. The ratio is that of the least times, and in brackets the median over
the rounds.

Then the end of the path beside the hard-margin machine of the same kernel, which is another function: shares of wrong
test labels, and their difference paired by seed. The flow's coefficients ``y c`` only grow; the machine's make the
margin largest, and it has an intercept.

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


def beside_the_machine(p, d, seeds, test):
    """Prints the error of the flow's end and of scikit-learn's machine, which has an intercept, and their seconds."""
    rows = []
    for seed in seeds:
        train, fresh = tasks.stripe(p, d, seed=[seed]), tasks.stripe(test, d, seed=[10_000 + seed])
        gram, cross = wide_one_hidden_ntk(train.x[0]), wide_one_hidden_ntk(fresh.x[0], train.x[0])
        y, truth = train.y[0], fresh.y[0]
        spent, _, _ = ours(gram, y)
        flow = kernel_flow.fit(gram, y).model(cross)[0]
        machine = SVC(C=1e8, kernel="precomputed", tol=1e-4)
        started = time.process_time()
        machine.fit(gram.numpy(), y.numpy())
        theirs = time.process_time() - started
        found = torch.from_numpy(machine.decision_function(cross.numpy()))
        rows.append((spent, theirs, *(float((f * truth < 0).double().mean()) for f in (flow, found))))
    spent, theirs, flow, found = np.array(rows).T
    apart, scatter = (found - flow).mean(), (found - flow).std(ddof=1) / len(rows) ** 0.5
    print(f"stripe, d={d}, p={p}, {len(rows)} seeds: path {spent.mean():.3f} CPU s, SVC {theirs.mean():.3f}; ", end="")
    print(f"wrong: flow {flow.mean():.4f}, SVC {found.mean():.4f}, apart {apart:+.4f} ± {scatter:.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for size in [30] if TINY else map(int, sys.argv[1:] or [1000]):
        report(size, 5)
    for size in [30] if TINY else (250, 500, 1000):
        beside_the_machine(size, 5, range(2 if TINY else 8), test=100 if TINY else 4000)
