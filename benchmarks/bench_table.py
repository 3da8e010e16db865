"""One table of this library beside what a user would take instead, in CPU seconds of one core: ``build/bench.md``.

Each call is what a reader writes: no precision is named. Ours and the peers' take turns on the same problem; each
number is the least of a few runs. Errors are those of t* against a run at a tolerance of 1e-4, shares of wrong test
labels, and gradients that are left. A peer that is not installed has a row that says so; ``none`` is no peer that does
this work at all, ``fails`` one that cannot. ``before`` is the ratio of an earlier revision (907ca1e, an AMD EPYC
without AVX-512), ``v3`` computes with code and libraries for processors without AVX-512, on whatever this machine is.

    python benchmarks/bench_table.py [tiny] [v3] [PART ...]
"""

import os
import sys

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
os.environ.update(
    {  # before anything is loaded
        "CFLAGS": "-march=x86-64-v3",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    }
    if "v3" in sys.argv
    else {}
)

import collections
import functools
import importlib.util
import itertools
import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.optimize import root
from sklearn.linear_model import LogisticRegression

from companion.papers.one_step.theory import convex_theory, fit_readout, network
from companion.papers.one_step.theory.functions import function
from regimes import gradient_flow, infinite_ntk, module, ntk, one_hidden, run, stripe
from regimes.kernels import wide_one_hidden_ntk
from regimes.models.fully_connected import fully_connected
from regimes.models.realisation import normal
from regimes.training.optimise import optimise
from regimes.training.state import fitted, t_star

sys.path.insert(0, str(Path(__file__).parent))
import bench_gradient_flow
import bench_kernel_flow
import bench_tangent

TINY, V3 = "tiny" in sys.argv, "v3" in sys.argv
REPEATS = 1 if TINY else 3
ENDS = ((1000, 500), (4096, 500), (4096, 2000), (10_000, 10_000))  # the last is paper A's, a minute
NAN = math.nan
Row = tuple[str, str, float, float | str, str]  # work, peer, our seconds, theirs (or why there are none), errors
# peer / ours of an earlier revision, on another processor
BEFORE = {
    ("t*, p = 1000, h = 200", "scipy RK45"): 0.7,
    ("t*, p = 1000, h = 200", "torchdiffeq dopri5"): 2.7,
    ("t*, p = 1000, h = 1000", "scipy RK45"): 6.2,
    ("t*, p = 1000, h = 1000", "torchdiffeq dopri5"): 10.8,
    ("frozen hinge flow, p = 500", "SVC"): 0.09,
    ("frozen hinge flow, p = 500", "piqp"): 0.18,
    ("frozen hinge flow, p = 2000", "SVC"): 0.06,
    ("finite NTK, perceptron, n = 256", "torch.func"): 25,
    ("finite NTK, convolutions, n = 128", "torch.func"): 0.9,
    ("finite NTK, residual blocks, n = 128", "torch.func"): 1.0,
    ("finite NTK, transformer, n = 64", "torch.func"): 0.84,
    ("100 steps, one network, float32", "autograd"): 1.02,
    ("100 steps, one network, float64", "autograd"): 1.01,
    ("100 steps, 16 networks, float32", "autograd"): 0.88,
    ("100 steps, 16 networks, float64", "autograd"): 1.07,
    ("saddle point, Huber", "scipy hybr"): 2.7,
    ("saddle point, logistic", "scipy hybr"): 1.5,
    ("logistic readout, 1600 x 800", "newton-cholesky"): 3.3,
    ("logistic readout, 1600 x 800", "newton-cg"): 0.84,
    ("logistic readout, 1600 x 800", "lbfgs"): 0.44,
}


def in_turns(*calls: Callable[[], Any], repeats: int = REPEATS) -> tuple[list[float], list[Any]]:
    """The least CPU seconds of each, and what each gave last."""
    seconds, results = [math.inf] * len(calls), [None] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            started = time.process_time()
            results[i] = call()
            seconds[i] = min(seconds[i], time.process_time() - started)
    return seconds, results


def flows() -> Iterator[Row]:
    """t* of a network against explicit pairs on the closed form."""
    for p, h in ((30, 30),) if TINY else ((1000, 200), (1000, 1000)):
        yield from _to_t_star(p, h)


def _to_t_star(p: int, h: int) -> Iterator[Row]:
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
        work = f"t*, p = {p}, h = {h}"
        if name.startswith("torchdiffeq") and not importlib.util.find_spec("torchdiffeq"):
            yield work, name, NAN, "not installed", ""
            continue
        (mine, other), (t, t_theirs) = in_turns(lambda: ours(1e-2), theirs)
        yield work, name, mine, other, f"{t / exact - 1:+.2%}; {t_theirs / exact - 1:+.2%}"


def ends() -> Iterator[Row]:
    """Zero hinge loss of a network, where no other solver goes."""
    for p, h in ((30, 30),) if TINY else ENDS[: -1 if V3 else None]:
        net, task, test = one_hidden(5, h, seeds=100), stripe(p, 5, seed=0), stripe(20 if TINY else 5000, 5, seed=1)

        def ours(net: Any = net, task: Any = task) -> Any:
            return run(gradient_flow(net, task, alpha=1e-6, tolerance=5e-3), until=fitted)

        (mine,), (done,) = in_turns(ours, repeats=1 if p > 5000 else REPEATS)
        wrong = float(((done.model(test.x) - done.initial(test.x)) * test.y <= 0).double().mean())
        yield f"zero loss, p = {p}, h = {h}", "none", mine, "none", f"wrong {wrong:.4f}"


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
            yield f"frozen hinge flow, p = {p}", "piqp", NAN, "not installed", ""


class Transformer(torch.nn.Module):
    """Two layers of attention and a mean over positions."""

    def __init__(self) -> None:
        super().__init__()
        size = 8 if TINY else 64
        kind = {"batch_first": True, "norm_first": True}
        layers = [torch.nn.TransformerEncoderLayer(size, 4, 2 * size, 0.0, **kind) for _ in range(2)]
        self.blocks, self.head = torch.nn.Sequential(*layers), torch.nn.Linear(size, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One output of positions ``(p, positions, size)``."""
        return self.head(self.blocks(x).mean(1))


class Recurrent(torch.nn.Module):
    """A GRU and a readout of its last state."""

    def __init__(self) -> None:
        super().__init__()
        self.cells, self.head = torch.nn.GRU(16, 32, batch_first=True), torch.nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One output of positions ``(p, positions, 16)``."""
        return self.head(self.cells(x)[0][:, -1])


def kernels() -> Iterator[Row]:
    """Finite kernels of a reader's modules against torch.func, which is timed first.

    The same with a check of every row by one backward pass, as ours has, is another row.
    """
    few = 4 if TINY else 128
    perceptron, size = bench_tangent.perceptron, (8 if TINY else 64)
    yield from _finite("perceptron", lambda: perceptron(torch.nn.ReLU), (20,), 2 * few)
    yield from _finite("with PReLU", lambda: perceptron(torch.nn.PReLU), (20,), 2 * few)
    yield from _finite("convolutions", bench_tangent.pictures, (1, 28, 28), few)
    yield from _finite("residual blocks", bench_tangent.residual, (3, 16, 16), few)
    yield from _finite("transformer", Transformer, (32, size), few // 2)
    yield from _finite("recurrent", Recurrent, (10, 16), few)


def _finite(name: str, make: Callable[[], torch.nn.Module], shape: tuple[int, ...], points: int) -> Iterator[Row]:
    torch.manual_seed(0)
    net, x = make(), torch.randn(points, *shape)
    weights = {name: weight.detach() for name, weight in net.named_parameters()}

    def output(weights: dict, point: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, weights, (point[None],)).squeeze()

    def rows() -> dict[str, torch.Tensor]:
        return torch.func.vmap(torch.func.grad(output), (None, 0))(weights, x)

    def theirs() -> torch.Tensor:
        return functools.reduce(torch.Tensor.add_, (row.flatten(1) @ row.flatten(1).T for row in rows().values()))

    def checked() -> torch.Tensor:
        u, made = normal((points,), 0, x), rows()
        slopes = torch.autograd.grad(net(x).flatten() @ u, list(net.parameters()))
        equal = [torch.dist(u @ row.flatten(1), g.flatten()) <= 0.1 * g.norm() for row, g in zip(made.values(), slopes)]
        assert sum(map(bool, equal)) >= len(equal) - 1
        return functools.reduce(torch.Tensor.add_, (row.flatten(1) @ row.flatten(1).T for row in made.values()))

    model, work = module(net, shape=shape), f"finite NTK, {name}, n = {points}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs()
        except Exception:  # of whatever kind
            ntk(model, x[:2])
            (mine,), _ = in_turns(lambda: ntk(model, x))
            yield work, "torch.func", mine, "fails", ""
            return
        (alone, with_check), (other, _) = in_turns(theirs, checked)
        ntk(model, x[:2])  # the look
        (mine,), (ours,) = in_turns(lambda: ntk(model, x)[0])
    errors = f"differ {float((ours - other).abs().max() / other.abs().max()):.0e}"
    yield work, "torch.func", mine, alone, errors
    yield work, "torch.func, checked", mine, with_check, errors


def infinite() -> Iterator[Row]:
    """The kernel of infinite width with biases."""
    x = torch.randn(10 if TINY else 1000, 20, dtype=torch.float64)
    for depth in (5, 30):
        calls = [functools.partial(infinite_ntk, x, depth=depth, bias=bias) for bias in (0.5, 0.0)]
        for call in calls:
            call()
        seconds, _ = in_turns(*calls)
        yield f"infinite NTK with biases, depth {depth}, n = {len(x)}", "ours without biases", *seconds, ""


def steps() -> Iterator[Row]:
    """Steps of gradient descent by the network's own backward pass and by autograd."""
    for members, name in ((1, "one network"), (16, "16 networks")):
        for dtype in (torch.float32, torch.float64):
            count = 2 if TINY else 100
            seconds, _ = in_turns(*_descents(members, dtype, count))
            yield f"{count} steps, {name}, {str(dtype)[6:]}", "autograd", *seconds, ""


def _descents(members: int, dtype: torch.dtype, count: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Descents of ``members`` networks by this library, and as one writes them with autograd."""
    widths, p = ([5, 8, 1], 10) if TINY else ([50, 128, 128, 1], 200)
    net = fully_connected(widths, seeds=range(members), dtype=dtype)
    x = torch.randn(p, widths[0], dtype=dtype, generator=torch.Generator().manual_seed(0))
    y = torch.where(x[:, 0] > 0, 1.0, -1.0).to(dtype)

    def ours() -> None:
        collections.deque(itertools.islice(optimise(net, x, y, rate=1e-3), count + 1), maxlen=0)

    def autograd() -> None:
        now = [weight.clone().requires_grad_() for weight in net.weights]
        for _ in range(count):
            h = x.expand(members, *x.shape)
            for i, (weight, multiplier) in enumerate(zip(now, net.multipliers)):
                h = multiplier * (h @ weight.mT)
                h = torch.relu(h) if i + 1 < len(now) else h
            slopes = torch.autograd.grad((h[..., 0] - y).square().mean(-1).sum() / 2, now)
            with torch.no_grad():
                for weight, slope in zip(now, slopes):
                    weight -= 1e-3 * slope

    return ours, autograd


def saddles() -> Iterator[Row]:
    """Saddle points of losses against scipy's root finder on the same equations."""
    kind = {"alpha": 2.0, "beta": 1.0, "lam": 0.1, "r": 1.0, "c": 1.2, "gamma": 0.8}
    mixing = convex_theory._fixed_point

    def hybrid(step: Callable, x: np.ndarray) -> tuple[np.ndarray, float, int]:
        def residual(x: np.ndarray) -> np.ndarray:
            return np.array([*step(np.append(x[:3], np.abs(x[3:]))).values()]) - x

        found = root(residual, x, method="hybr", tol=1e-9)
        return found.x, 0.0 if found.success else 1.0, found.nfev

    for name, loss in (("Huber", convex_theory.huber(1.0)), ("logistic", convex_theory.logistic())):

        def solve(by: Callable, loss: Any = loss) -> Any:
            convex_theory._fixed_point = by
            try:
                return convex_theory.solve_loss("tanh", "sign", loss, **kind)
            finally:
                convex_theory._fixed_point = mixing

        solve(mixing)
        seconds, found = in_turns(*[functools.partial(solve, by) for by in (mixing, hybrid)], repeats=3 * REPEATS)
        apart = abs(found[0].test_error / found[1].test_error - 1)
        said = f"{found[0].iterations}; {found[1].iterations} evaluations, differ {apart:.0e}"
        yield f"saddle point, {name}", "scipy hybr", *seconds, said


def readouts() -> Iterator[Row]:
    """Logistic readouts against scikit-learn's solvers, with the gradient that is left."""
    d, lam = (20 if TINY else 800), 0.1
    drawn = network.spiked_features(d=d, p=d, r=2.0, c=1.2, gamma=0.8, seeds=[0])
    x, y = network.second_batch(function("sign"), drawn, 2 * d, [0])
    phi = network.feature_map(function("tanh"), drawn, x)
    rows, labels = phi[0].numpy(), y[0].numpy()

    def left(a: np.ndarray) -> float:
        gradient = lam * a - rows.T @ (labels / (1 + np.exp(labels * (rows @ a))))
        return float(np.linalg.norm(gradient) / np.linalg.norm(rows.T @ labels / 2))

    def ours() -> np.ndarray:
        return fit_readout.readout(phi, y, "logistic", lam)[0].numpy()

    for solver in ("newton-cholesky", "newton-cg", "lbfgs"):
        machine = LogisticRegression(C=1 / lam, fit_intercept=False, solver=solver, tol=1e-12, max_iter=10_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as near as it comes
            seconds, (mine, _) = in_turns(ours, functools.partial(machine.fit, rows, labels))
        said = f"gradient {left(mine):.0e}; {left(machine.coef_[0]):.0e}"
        yield f"logistic readout, {2 * d} x {d}", solver, *seconds, said


PARTS = {part.__name__: part for part in (flows, ends, machines, kernels, infinite, steps, saddles, readouts)}


def main() -> None:
    """Prints the table and writes it."""
    torch.set_num_threads(1)
    processor = next((line for line in _cpuinfo() if line.startswith("model name")), platform.processor())
    code = "code without AVX-512" if V3 else "its own code"
    lines = [
        f"{processor.split(':')[-1].strip()}, one core, {code}",
        "",
        "| work | peer | ours, CPU s | peer, CPU s | peer / ours | before | errors, ours; peer's |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for part in [PARTS[name] for name in PARTS if name in sys.argv] or PARTS.values():
        for work, peer, mine, theirs, errors in part():
            numbers = (
                f"{mine:.4f} | {theirs} | "
                if isinstance(theirs, str)
                else f"{mine:.4f} | {theirs:.4f} | {theirs / mine:.2f}"
            )
            before = BEFORE.get((work, peer), "")
            lines.append(f"| {work} | {peer} | {numbers} | {before} | {errors} |".replace("nan", ""))
            print(lines[-1], flush=True)
    if not TINY:
        place = Path(__file__).parents[1] / "build" / ("bench.v3.md" if V3 else "bench.md")
        place.parent.mkdir(exist_ok=True)
        place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"written to {place}")


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


if __name__ == "__main__":
    main()
