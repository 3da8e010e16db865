"""Every solver, kernel and study on CUDA against the CPU: same seeds, stated tolerance, seconds, memory. ``make gpu``.

A table of one row per case, kept in ``results/gpu/`` under the card's name: the largest relative difference from the
CPU and that allowed, seconds of both, peak memory. First the three sums over pairs of the flow, beside their operations
at the rate of a matrix product, and beside arrays of gates (``said``). Then the time of a step of the flow at
p = h = 10⁴, beside what writing and reading its gates would cost at the memory's bandwidth, for ensembles that fit, and
one network of that size to zero loss; and solvers and kernels. Of every study that may use a GPU one cell of the smoke
profile, compared column by column to the tolerance that the study states; the cheapest on the CPU first. What a card
cannot compute is said in its row, and the others go on.

The table is written after each row. ``--first`` names the part to begin with, ``--seconds`` the time after which no
further row is begun: what is left then is said. Where there is no CUDA device it says so and exits 0.

    python benchmarks/gpu.py [--device cuda] [--small] [--first steps] [--seconds 480]
"""

import argparse
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import torch
from torch import Tensor

from companion import paths
from companion.lab import catalogue, parameters, schedule
from companion.lab.compare import differences
from companion.lab.store import Cell
from companion.lab.study import Rows, Study
from regimes import devices
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.kernels import infinite_ntk, ntk
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.models.one_hidden import one_hidden
from regimes.training import kernel_flow
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow, pairs
from regimes.training.optimise import optimise
from regimes.training.run import run
from regimes.training.state import after, fitted, t_star
from regimes.validate import InputError

CHEAP = ("hard_margin.star_kernel", "depth.text_training")  # the studies of ``--small``
PARTS = ("sums", "steps", "solvers", "studies")  # what a card that is lent for eight minutes has time for comes first
COLUMNS = "case p h members cpu_seconds seconds floor_seconds difference allowed agrees peak_MB said".split()
WRITES = 4.0  # times the gates are written or read in a step of the flow on tensors, at least
OPERATIONS = {"own": 2, "outputs": 4, "field": 4}  # a pair and input


def on(task: Task, device: str) -> Task:
    return Task(task.x.to(device), task.y.to(device), task.source, task.d_parallel)


def networks(h: int, d: int, device: str, count: int = 2):
    sigma = activation("swish", steepness=10.0, normalised=True)
    widths, kind = [d, h, h, 1], {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    return fully_connected(widths, seeds=range(count), device=device, **kind)


def cases(p: int, h: int) -> dict[str, tuple[Callable[[str], Tensor], float]]:
    """Name -> what is computed on a device, and the allowed relative difference."""
    stripe, d = tasks.stripe(p, 5, seed=[0, 1]), 5

    def shallow(device: str):
        return one_hidden(d, h, seeds=[0, 1], device=device)

    def flow(device: str, loss: str = "hinge") -> Tensor:
        states = gradient_flow(
            shallow(device), on(stripe, device), alpha=1e-3, loss=loss, dtype=torch.float64, device=device
        )
        return run(states, until=t_star).at("t_star")[1]

    def deep(device: str) -> Tensor:
        model, task = networks(20, d, device), on(stripe, device)
        states = gauss_newton(model, task.x, task.y, alpha=1.0)
        return run(states, until=after(50.0), events={"late": after(40.0)}).at("late")[3]

    def frozen(device: str) -> Tensor:
        task = on(stripe, device)
        return kernel_flow.fit(ntk(shallow(device), task.x), task.y).coefficients

    def adam(device: str) -> Tensor:
        task = on(stripe, device)
        states = optimise(networks(50, d, device), task.x, task.y, method="adam", rate=1e-3)
        return [next(states) for _ in range(20)][-1].F

    return {
        "ntk, one hidden layer": (lambda device: ntk(shallow(device), on(stripe, device).x), 1e-10),
        "ntk, two hidden layers": (lambda device: ntk(networks(h // 4, d, device), on(stripe, device).x), 1e-10),
        "infinite_ntk": (lambda device: infinite_ntk(on(stripe, device).x, depth=3), 1e-10),
        "gradient_flow, hinge: t*": (flow, 1e-4),
        "gradient_flow, soft hinge: t*": (lambda device: flow(device, "soft_hinge"), 1e-4),
        "gauss_newton, quadratic hinge: F": (deep, 1e-4),
        "kernel_flow: coefficients": (frozen, 1e-6),
        "optimise, Adam: F": (adam, 1e-8),
    }


def wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def timed(function: Callable[[str], Tensor], device: str, *, warm: bool = True) -> tuple[Tensor, float]:
    """What a function gives on a device, and its seconds; those of its second call, where it is to be ``warm``."""
    if warm:
        function(device)
    wait(device)
    started = time.perf_counter()
    found = function(device)
    wait(device)
    seconds = time.perf_counter() - started
    return found.cpu().double(), seconds


Planned = tuple[dict[str, Any], Callable[[], dict[str, Any]]]  # what a row is of, and what measures it


def solvers(device: str, p: int, h: int) -> Iterator[Planned]:
    """Solvers and kernels on both devices."""
    for name, (function, allowed) in cases(p, h).items():
        yield {"case": name, "p": p, "h": h, "allowed": allowed}, partial(one_case, function, allowed, device)


def sums(device: str, p: int, h: int) -> Iterator[Planned]:
    """The three sums over pairs of the flow, in both precisions."""
    for dtype, allowed in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        for name in OPERATIONS:
            row = {"case": f"{name}, {str(dtype).removeprefix('torch.')}", "p": p, "h": h, "allowed": allowed}
            yield row, partial(one_sum, name, dtype, allowed, device, p, h)


def one_sum(name: str, dtype: torch.dtype, allowed: float, device: str, p: int, h: int, k: int = 6) -> dict[str, Any]:
    drawn = torch.Generator().manual_seed(0)
    xt, u, slopes, beta, y = (
        torch.randn(1, *shape, dtype=torch.float64, generator=drawn) for shape in ((k, p), (h, k), (h, k), (h,), (p,))
    )

    def summed(place: str) -> Tensor:
        on = dtype if place == device else torch.float64
        x, weights, along, last, c = (it.to(device=place, dtype=on) for it in (xt, u, slopes, beta, y))
        sums = {
            "own": lambda: pairs.margins(x.mT, c, torch.zeros_like(c), 1.0, weights, last),
            "outputs": lambda: pairs.outputs(x.mT, weights, along),
            "field": lambda: pairs.field(x.mT, c, weights, 1.0 / p),
        }
        return sums[name]()

    found = one_case(summed, allowed, device)
    with mock.patch.object(pairs, "kernels", lambda device: None):
        _, gates = timed(summed, device)
    a = torch.randn(min(p, 4096), min(p, 4096), dtype=dtype, device=device)
    _, seconds = timed(lambda _: (a @ a)[:1], device)
    floor = OPERATIONS[name] * k * p * h * seconds / (2 * len(a) ** 3)
    return found | {"floor_seconds": floor, "said": f"{gates:.2g} s with arrays of gates"}


def one_case(function: Callable[[str], Tensor], allowed: float, device: str, *, warm: bool = True) -> dict[str, Any]:
    cuda = device.startswith("cuda")
    if cuda:
        torch.cuda.reset_peak_memory_stats(device)
    there, fast = timed(function, device, warm=warm)
    memory = torch.cuda.max_memory_allocated(device) / 1e6 if cuda else 0.0
    here, slow = timed(function, "cpu", warm=warm)
    off = float((there - here).abs().max() / here.abs().max())
    return {"difference": off, "agrees": off <= allowed, "cpu_seconds": slow, "seconds": fast, "peak_MB": memory}


def attempted(row: dict[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A row with what is measured, or with the line that says why not."""
    try:
        return row | measure()
    except (InputError, RuntimeError) as error:
        return row | {"agrees": False, "said": f"{type(error).__name__}: {error}".partition("\n")[0]}


def studies(device: str, only: tuple[str, ...] = ()) -> Iterator[Planned]:
    """One cell of each study that may use a GPU, or of some, on both devices; those that took least first."""
    numbers = {
        item: number
        for number in catalogue.modules()
        for name, item in catalogue.of(number).items()
        if item.device == "any" and (not only or name in only)
    }
    for item in sorted(numbers, key=lambda item: sum(schedule.recorded(item).values())):
        yield {"case": item.name}, partial(one_study, numbers[item], item, device)


def one_study(number: str, item: Study, device: str) -> dict[str, Any]:
    first = catalogue.grids(number, parameters.resolve(number, "smoke"), item)[item][0]
    setting = {key: value for key, value in first.items() if key != "seeds"}
    cell = Cell(item.name, item.version, setting, first["seeds"][0])
    (on_cpu, slow), (on_device, fast) = (cell_on(place, item, cell) for place in ("cpu", device))
    lines = differences(item, {cell: on_cpu}, {cell: on_device})
    return {"agrees": not lines, "cpu_seconds": slow, "seconds": fast, "said": "; ".join(lines)}


def cell_on(device: str, study: Study, cell: Cell) -> tuple[Rows, float]:
    """The rows of a cell as a device computes it, and its seconds; on a GPU those of the second time."""
    with mock.patch.dict(os.environ, {"REGIMES_DEVICE": device}):
        for _ in range(2 if device.startswith("cuda") else 1):
            started = time.perf_counter()
            rows = study(cell.setting, [cell.seed])
            wait(device)
    return rows, time.perf_counter() - started


def bandwidth(device: str, size: int) -> float:
    """Bytes a second of a copy."""
    a = torch.empty(size, device=device)
    b = torch.empty_like(a)
    return 2 * a.numel() * 4 / timed(lambda _: b.copy_(a)[:1], device)[1]


def steps(device: str, p: int, h: int, count: int = 20) -> Iterator[Planned]:
    """Seconds a step of the flow, for ensembles, beside what arrays of gates cost; and one network to zero loss."""
    rate = bandwidth(device, min(p * h, 2**28))
    for members in (1, 4, 16, 64):
        row = {"case": f"a step, {members} together", "members": members, "p": p, "h": h}
        yield row, partial(one_step, device, members, p, h, rate, count)
    row = {"case": "gradient_flow to zero loss: t*", "p": p, "h": h, "allowed": 1e-4}
    yield row, partial(one_case, partial(to_zero_loss, p, h), 1e-4, device, warm=False)


def to_zero_loss(p: int, h: int, device: str) -> Tensor:
    """``t*`` of one network that is trained until all its points are fitted."""
    task, model = tasks.stripe(p, 5, seed=[0]), one_hidden(5, h, seeds=[0], device=device)
    states = gradient_flow(model, on(task, device), alpha=1e-6, tolerance=0.005, dtype=torch.float64, device=device)
    return run(states, until=fitted, events={"t_star": t_star}).at("t_star")[1]


def one_step(device: str, members: int, p: int, h: int, rate: float, count: int) -> dict[str, Any]:
    task, model = tasks.stripe(p, 5, seed=list(range(members))), one_hidden(5, h, seeds=range(members))
    states = gradient_flow(model, task, alpha=1e-6, dtype=torch.float32, device=device, together=members)
    for _ in range(5):
        next(states)
    wait(device)
    started = time.perf_counter()
    for _ in range(count):
        next(states)
    wait(device)
    each = (time.perf_counter() - started) / count
    return {"agrees": True, "seconds": each, "floor_seconds": WRITES * 4 * p * h * members / rate}


def planned(device: str, small: bool) -> dict[str, Iterator[Planned]]:
    """The parts of the table by name, in their order."""
    sizes, step_sizes = ((30, 40), (200, 300)) if small else ((1000, 2000), (10_000, 10_000))
    return {
        "sums": sums(device, *step_sizes),
        "steps": steps(device, *step_sizes),
        "solvers": solvers(device, *sizes),
        "studies": studies(device, CHEAP if small else ()),
    }


def measured(parts: list[Iterator[Planned]], seconds: float) -> Iterator[dict[str, Any]]:
    """The rows, one after the other, until the time is over."""
    started = time.monotonic()
    for part in parts:
        for row, measure in part:
            if time.monotonic() - started > seconds:
                print(f"left after {seconds:g} s: {row['case']} and what follows", flush=True)
                return
            yield attempted(row, measure)


def write(rows: list[dict[str, Any]], stamp: dict[str, Any], path: Path) -> None:
    """The table to three digits, with the card and the version of torch in each row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(rows, columns=[*COLUMNS]).assign(**stamp)
    table[["p", "h", "members"]] = table[["p", "h", "members"]].astype("Int64")
    table.to_csv(path, index=False, float_format="%.3g")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes of a test")
    parser.add_argument("--first", choices=PARTS, default=PARTS[0], help="part to begin with")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no further row after this time")
    parser.add_argument("--csv", type=Path, help="where the table is written (default: results/gpu/, the card's name)")
    args = parser.parse_args(arguments)
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        print("no CUDA device on this machine: nothing to compare")
        return 0
    parts = planned(args.device, args.small)
    order = [parts.pop(args.first), *parts.values()]
    stamp, rows = {"device": devices.names({devices.pick(args.device)}), "torch": torch.__version__}, []
    for row in measured(order, args.seconds):
        rows.append(row)
        entries = {name: f"{value:.2g}" if isinstance(value, float) else value for name, value in row.items() if value}
        print(", ".join(f"{name} {value}" for name, value in entries.items()), flush=True)
        if not args.small:
            name = re.sub(r"\W+", "-", stamp["device"])
            write(rows, stamp, args.csv or paths.results() / "gpu" / f"{name}.csv")
    return 0 if all(row["agrees"] for row in rows if "members" not in row) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
