"""One table of this library beside what a user would take instead, in CPU seconds of one core: ``build/bench.md``.

Each call is what a reader writes: no precision is named. Ours and the peers' take turns on the same problem; each
number is the least of a few runs. Errors are those of t* against a run at a tolerance of 1e-4, and shares of wrong test
labels. A peer that is not installed has a row that says so.

    python benchmarks/bench_table.py [tiny]
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import functools
import importlib.util
import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from scipy.integrate import solve_ivp

from regimes import gradient_flow, infinite_ntk, module, ntk, one_hidden, run, stripe
from regimes.kernels import wide_one_hidden_ntk
from regimes.training.state import t_star

sys.path.insert(0, str(Path(__file__).parent))
import bench_gradient_flow
import bench_kernel_flow

TINY = "tiny" in sys.argv
REPEATS = 1 if TINY else 3
Row = tuple[str, str, float, float, str]  # work, peer, our seconds, theirs (not a number: not installed), errors


def in_turns(*calls: Callable[[], Any]) -> tuple[list[float], list[Any]]:
    """The least CPU seconds of each, and what each gave last."""
    seconds, results = [math.inf] * len(calls), [None] * len(calls)
    for _ in range(REPEATS):
        for i, call in enumerate(calls):
            started = time.process_time()
            results[i] = call()
            seconds[i] = min(seconds[i], time.process_time() - started)
    return seconds, results


def flows() -> Iterator[Row]:
    """t* of a network against explicit pairs on the closed form."""
    p = h = 30 if TINY else 1000
    net, task = one_hidden(5, h, seeds=100), stripe(p, 5, seed=0)

    def ours(tolerance: float) -> float:
        return float(run(gradient_flow(net, task, alpha=1e-6, tolerance=tolerance), until=t_star).t)

    exact = ours(5e-3 if TINY else 1e-4)

    def scipy_s() -> float:
        velocity, first, event = bench_gradient_flow.right_hand_side(net, task)
        found = solve_ivp(velocity, (0, 10 * exact), first, method="RK45", rtol=1e-2, atol=1e-5, events=event)
        return float(found.t_events[0][0])

    def torchdiffeq_s() -> float:
        velocity, first, event = bench_gradient_flow.right_hand_side(net, task)
        odeint_event = importlib.import_module("torchdiffeq").odeint_event
        t, _ = odeint_event(
            lambda t, w: torch.from_numpy(velocity(float(t), w.numpy())),
            torch.from_numpy(first),
            torch.tensor(0.0, dtype=torch.float64),
            event_fn=lambda t, w: torch.tensor(float(event(float(t), w.numpy()))),
            rtol=1e-2,
            atol=1e-5,
        )
        return float(t)

    ours(1e-2)  # what is loaded late
    for name, theirs in (("scipy RK45", scipy_s), ("torchdiffeq dopri5", torchdiffeq_s)):
        work = f"t*, p = h = {p}"
        if name.startswith("torchdiffeq") and not importlib.util.find_spec("torchdiffeq"):
            yield work, name, math.nan, math.nan, ""
            continue
        (mine, other), (t, t_theirs) = in_turns(lambda: ours(1e-2), theirs)
        yield work, name, mine, other, f"{t / exact - 1:+.2%}; {t_theirs / exact - 1:+.2%}"


def machines() -> Iterator[Row]:
    """The end of a frozen kernel's flow against maximal-margin machines, another function."""
    for p in (30,) if TINY else (500, 2000):
        train, test = stripe(p, 5, seed=[0]), stripe(2000, 5, seed=[1])
        gram, cross = wide_one_hidden_ntk(train.x[0]), wide_one_hidden_ntk(test.x[0], train.x[0]).numpy()
        names = [name for name in bench_kernel_flow.SOLVERS if not name.startswith("flow")]
        for name in names:
            solvers = [bench_kernel_flow.SOLVERS[it] for it in ("flow, in C", name)]
            seconds, found = in_turns(*[functools.partial(solve, gram, train.y[0]) for solve in solvers])
            wrong = [((cross @ c + offset) * test.y[0].numpy() <= 0).mean() for c, offset in found]
            yield f"frozen hinge flow, p = {p}", name, *seconds, f"wrong {wrong[0]:.4f}; {wrong[1]:.4f}"
        if "piqp" not in names:
            yield f"frozen hinge flow, p = {p}", "piqp", math.nan, math.nan, ""


def kernels() -> Iterator[Row]:
    """The tangent kernel of a reader's perceptron against torch.func; that of infinite width with biases."""
    n, h = (10, 20) if TINY else (256, 500)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(20, h), torch.nn.ReLU(), torch.nn.Linear(h, h), torch.nn.ReLU(), torch.nn.Linear(h, 1)]
    net, x = torch.nn.Sequential(*layers), torch.randn(n, 20)
    weights = {name: weight.detach() for name, weight in net.named_parameters()}

    def output(weights: dict, point: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, weights, (point[None],)).squeeze()

    def theirs() -> torch.Tensor:
        rows = torch.func.vmap(torch.func.grad(output), (None, 0))(weights, x)
        return sum(row.flatten(1) @ row.flatten(1).T for row in rows.values())

    ntk(module(net), x[:2]), theirs()  # what is loaded late
    seconds, (mine, other) = in_turns(lambda: ntk(module(net), x)[0], theirs)
    yield (
        f"finite NTK, 20-{h}-{h}-1, n = {n}",
        "torch.func",
        *seconds,
        f"differ {float((mine / other - 1).abs().max()):.0e}",
    )
    x = torch.randn(n if TINY else 1000, 20, dtype=torch.float64)
    for depth in (5, 30):
        calls = [functools.partial(infinite_ntk, x, depth=depth, bias=bias) for bias in (0.5, 0.0)]
        seconds, _ = in_turns(*calls)
        yield f"infinite NTK with biases, depth {depth}, n = {len(x)}", "ours without biases", *seconds, ""


def main() -> None:
    """Prints the table and writes it."""
    torch.set_num_threads(1)
    processor = next((line for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    lines = [
        f"{processor.split(':')[-1].strip()}, one core",
        "",
        "| work | peer | ours, CPU s | peer, CPU s | peer / ours | errors, ours; peer's |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for part in (flows, machines, kernels):
        for work, peer, mine, theirs, errors in part():
            numbers = "not installed | | " if math.isnan(theirs) else f"{mine:.4f} | {theirs:.4f} | {theirs / mine:.2f}"
            lines.append(f"| {work} | {peer} | {numbers} | {errors} |")
    table = "\n".join(lines)
    print(table)
    if not TINY:
        place = Path(__file__).parents[1] / "build" / "bench.md"
        place.parent.mkdir(exist_ok=True)
        place.write_text(table + "\n", encoding="utf-8")
        print(f"written to {place}")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
