"""The frozen-kernel flow against the original step rule on the same Gram matrix, in CPU seconds of one core.

Baseline, written here: explicit Euler on the margins, a trial step accepted if the gradient turns by less than 1e-4
(squared, in the kernel's norm) and no output moves by 0.1/α; then 1.1 times longer if both are below half, else 10
times shorter; one product with the Gram matrix a trial. Its loss is the original code's default, the soft hinge of
softness 20: with the hinge itself it stalls at the first event, which the last line shows.

Accuracy: the time at which half the margins are met, margins linear between states, against the flow of the same loss
at tolerance 1e-6; the hinge path has no step and no such error. Required: 6 times, target 10 times.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import sys
import time

import numpy as np
import torch
from scipy.special import expit

from regimes.data import tasks
from regimes.kernels import wide_one_hidden_ntk
from regimes.training import kernel_flow

REPEATS = 3
STALL = 5.0  # CPU seconds given to the baseline on the hinge loss


def original(gram, y, loss, limit=np.inf):
    """Seconds, trials, end, and the time at which half of the margins are met."""
    Q = (y[:, None] * gram * y / len(y)).numpy()
    force = {"hinge": lambda m: (m < 1).astype(float), "soft_hinge": lambda m: expit(20 * (1 - m))}[loss]
    started = time.process_time()
    m, t, dt, trials, half = np.zeros(len(y)), 0.0, 1.0, 0, np.nan
    q = force(m)
    rate = Q @ q
    while (m < 1).any() and time.process_time() - started < limit:
        trials += 1
        new = m + dt * rate
        new_q = force(new)
        new_rate = Q @ new_q
        size = np.sqrt(max(q @ rate, 0) * max(new_q @ new_rate, 0))
        turned = (new_q - q) @ (new_rate - rate) / size if size > 0 else 0.0
        moved = np.abs(new - m).max()
        if turned < 1e-4 and moved < 0.1:
            t, m, q, rate = t + dt, new, new_q, new_rate
            half = t if np.isnan(half) and (m >= 1).mean() >= 0.5 else half
            if turned < 0.5e-4 and moved < 0.05:
                dt *= 1.1
        else:
            dt /= 10
    return time.process_time() - started, trials, f"{int((m < 1).sum())} unmet", half


def ours(gram, y, loss, tolerance=1e-3):
    started = time.process_time()
    end = kernel_flow.fit(gram, y, loss=loss, tolerance=tolerance)
    return time.process_time() - started, end.steps, end.ended[0], half_time(gram, y, loss, tolerance)


def half_time(gram, y, loss, tolerance):
    before = None
    for state in kernel_flow.kernel_flow(gram, y, loss=loss, tolerance=tolerance):
        if met(state.margins) >= 0.5:
            break
        before = state
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        enough = met(torch.lerp(before.margins, state.margins, middle)) >= 0.5
        low, high = (low, middle) if enough else (middle, high)
    return float(torch.lerp(before.t, state.t, high))


def met(margins):
    return float((margins >= 1).double().mean())


def report(p, d):
    task = tasks.stripe(p, d, seed=0)
    gram, y = wide_one_hidden_ntk(task.x), task.y
    kernel_flow.fit(gram[:64, :64], y[:64])  # loads what is loaded late
    rows = {
        "original rule, soft hinge": (original, "soft_hinge", {}),
        "ours, soft hinge, 1e-2": (ours, "soft_hinge", {"tolerance": 1e-2}),
        "ours, soft hinge, 1e-3": (ours, "soft_hinge", {"tolerance": 1e-3}),
        "ours, hinge, exact": (ours, "hinge", {}),
    }
    exact = {"soft_hinge": half_time(gram, y, "soft_hinge", 1e-6), "hinge": half_time(gram, y, "hinge", 0.5)}
    runs = {name: [] for name in rows}
    for _ in range(REPEATS):  # in turns, so that a slow moment of the machine touches all
        for name, (run, loss, settings) in rows.items():
            runs[name].append(run(gram, y, loss, **settings))
    base = min(r[0] for r in runs["original rule, soft hinge"])
    print(f"stripe, d={d}, p={p}, infinite-width tangent kernel; least of {REPEATS} runs")
    for name, found in runs.items():
        seconds, steps, end, half = min(found)
        error = half / exact[rows[name][1]] - 1
        print(
            f"  {name:28s} {seconds:8.3f} CPU s  {steps:6d} steps  {end:10s} error of half time {error:+.1e}"
            f"  speed-up {base / seconds:5.1f}"
        )
    seconds, trials, end, _ = original(gram, y, "hinge", STALL)
    print(f"  {'original rule, hinge':28s} {seconds:8.3f} CPU s  {trials:6d} steps  {end} (stalled, stopped)")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for size in map(int, sys.argv[1:] or [1000]):
        report(size, 5)
