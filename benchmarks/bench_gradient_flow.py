"""Gradient flow against explicit Euler with the original step rule, in CPU seconds of one core, side by side.

The baseline: float32, explicit Euler on all weights, a step accepted if the relative change of the gradient
``|g - g'|^2 / (|g| |g'|)`` stays below 1e-4 and no output moves by more than 0.1/alpha; accepted below half of both,
the step grows by 1.1, refused it shrinks tenfold; one gradient a trial. Its gradient is the faster of the
closed form and autograd.

With the hinge loss a single point that meets its margin can change the gradient by more than the rule allows at any
step length: the baseline then creeps, and may never reach t* (10 % of the margins met). It is given ``LIMIT`` CPU
seconds; a ratio behind a ``>`` is a lower bound. So both are also timed to the moment the first margin is met, which
comes before any such event. Errors of times are against the flow of this library at tolerance 1e-4.

Every flow is in its default precision: ``dtype="auto"``, which takes float64 wherever the steps are taken in C.

The revision before, taken from git, runs beside this one in turns, on the same problems: the ratio of their CPU
seconds, and of those for a step, since late in training nearby paths part and need not be equally long.

scipy's explicit pairs RK45 and RK23, at its default tolerances and ten times coarser, go to t* on the same closed form,
beside the flow at nine tolerances, and are compared with it at equal errors of t*. The converged end of training
(tolerance 0.005) runs with the compiled step and on tensors, and beside the revision's coarse one; and beside
the revision's own at sizes up to the paper's, p = h = 10^4, with the peak of memory.

    python benchmarks/bench_gradient_flow.py [quick | tiny] [REVISION]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import contextlib
import functools
import itertools
import math
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from scipy.integrate import solve_ivp

from regimes.data import tasks
from regimes.models import one_hidden
from regimes.models.one_hidden import GAIN
from regimes.training.gradient_flow import compiled, gradient_flow, pairs
from regimes.training.gradient_flow.batch import start
from regimes.training.gradient_flow.step import advance
from regimes.training.run import run
from regimes.training.state import fitted, satisfied, t_star

torch.set_num_threads(1)
ALPHA, BOUND, MOVE = 1e-6, 1e-4, 0.1
TINY = "tiny" in sys.argv
LIMIT = 0.1 if TINY else 60.0  # CPU seconds for the baseline
P = H = 20 if TINY else 1000  # points and neurons where nothing else is said
FLOWS = (2e-2, 1e-2) if TINY else (5e-2, 2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4)  # tolerances beside scipy's
EXACT = 5e-3 if TINY else 1e-5
EVENTS = {"first margin met": satisfied(1e-6), "t*": t_star}


def problem(p, seed=0, h=H):
    return one_hidden.one_hidden(5, h, seeds=100 + seed), tasks.stripe(p, 5, seed=seed)


def closed_form(u, beta, x, y, base):
    """Margins and gradient of the baseline, as one writes it down."""
    h, p = len(beta), len(y)
    pre = u @ x.T
    hidden = pre.clamp(min=0)
    m = ALPHA * y * (GAIN / h * (beta @ hidden) - base)
    pull = y * (m < 1) * (GAIN / (h * p))
    return m, (beta[:, None] * ((pre > 0).to(x.dtype) @ (x * pull[:, None])), hidden @ pull)


def autograd(u, beta, x, y, base):
    u, beta = u.detach().requires_grad_(), beta.detach().requires_grad_()
    f = GAIN / len(beta) * (beta @ torch.relu(u @ x.T))
    m = ALPHA * y * (f - base)
    gradients = torch.autograd.grad((1 - m).clamp(min=0).mean() / ALPHA, (u, beta))
    return m.detach(), tuple(-g for g in gradients)


def euler(net, task, gradient, *, limit=LIMIT, trials=10**9):
    """The baseline: where each event was met, ``name -> (time, trials, CPU seconds)``; and the end in the same form."""
    started, net = time.process_time(), net.to(dtype=torch.float32)
    x = torch.cat([task.x.float() / math.sqrt(task.x.shape[1]), torch.ones(len(task.x), 1)], 1)
    y, u, beta = task.y.float(), torch.cat([net.omega[0], net.b[0, :, None]], 1), net.beta[0]
    base = GAIN / len(beta) * (beta @ (u @ x.T).clamp(min=0))
    m, g = gradient(u, beta, x, y, base)
    t, dt, count, events_met = 0.0, 1.0, 0, {}
    while count < trials and "t*" not in events_met and time.process_time() - started < limit:
        count += 1
        u1, beta1 = u + dt * g[0], beta + dt * g[1]
        m1, g1 = gradient(u1, beta1, x, y, base)
        norms = [math.sqrt(sum(float(a.square().sum()) for a in pair)) for pair in (g, g1)]
        change = sum(float((a - b).square().sum()) for a, b in zip(g, g1))
        change = change / (norms[0] * norms[1]) if norms[0] * norms[1] else 0.0
        moved = float((m1 - m).abs().max())
        if change >= BOUND or moved >= MOVE:
            dt /= 10
            continue
        u, beta, m, g, t = u1, beta1, m1, g1, t + dt
        if change < BOUND / 2 and moved < MOVE / 2:
            dt *= 1.1
        share = float((m >= 1).float().mean())
        for name, bound in (("first margin met", 1e-9), ("t*", 0.1)):
            if share >= bound and name not in events_met:
                events_met[name] = (t, count, time.process_time() - started)
    return events_met, (t, count, time.process_time() - started, float((m >= 1).float().mean()))


def ours(net, task, until, *, repeats=1, events=None, **options):
    """The trajectory and the least CPU seconds of a few runs."""
    best = math.inf
    for _ in range(repeats):
        started = time.process_time()
        done = run(gradient_flow(net, task, alpha=ALPHA, device="cpu", **options), until=until, events=events)
        best = min(best, time.process_time() - started)
    return done, best


def to_t_star(seeds):
    net, task = problem(P)
    ours(net, task, t_star)
    per = {f: euler(net, task, f, trials=200)[1][2] / 200 for f in (closed_form, autograd)}
    print("one trial of the baseline:", ", ".join(f"{f.__name__} {1e3 * s:.2f} ms" for f, s in per.items()))
    gradient = min(per, key=per.get)
    for seed in seeds:
        net, task = problem(P, seed)
        events_met, (t, count, spent, share) = euler(net, task, gradient)
        end = (
            ""
            if "t*" in events_met
            else f"; after {count} gradients and {spent:.0f} s it stands at t = {t:.0f}, {share:.1%} met"
        )
        print(f"\np=h={P}, d=5, alpha=1e-6, seed {seed}{end}")
        for name, rule in EVENTS.items():
            exact = float(ours(net, task, rule, tolerance=10 * EXACT, events=EVENTS)[0].at(name)[1])
            if name in events_met:
                at, trials, slow = events_met[name]
                print(
                    f"  {name:17s} Euler, {trials} gradients    {slow:8.3f} s             error {at / exact - 1:+.3%}"
                )
            else:
                slow = spent
                print(f"  {name:17s} Euler, not reached      > {slow:8.3f} s")
            for tolerance in (3e-2, 1e-2):
                done, fast = ours(net, task, rule, repeats=5, tolerance=tolerance, events=EVENTS)
                error, bound = float(done.at(name)[1]) / exact - 1, " " if name in events_met else ">"
                row = f"  {name:17s} flow, tolerance {tolerance:<5g}   {fast:8.3f} s"
                print(f"{row} {bound}{slow / fast:6.0f} times error {error:+.3%}")


def right_hand_side(net, task):
    """The flow's closed-form velocity in numpy, its first point, and the event t*, as scipy takes them."""
    x = np.concatenate([task.x.numpy() / math.sqrt(task.x.shape[1]), np.ones((len(task.x), 1))], 1)
    y, h = task.y.numpy(), net.h
    u = np.concatenate([net.omega[0].numpy(), net.b[0, :, None].numpy()], 1)
    beta, shape = net.beta[0].numpy(), u.shape
    base = GAIN / h * (beta @ np.maximum(u @ x.T, 0))

    def margins(w):
        z = w[: u.size].reshape(shape) @ x.T
        return z, ALPHA * y * (GAIN / h * (w[u.size :] @ np.maximum(z, 0)) - base)

    def velocity(t, w):
        z, m = margins(w)
        pull = y * (m < 1) * (GAIN / (h * len(y)))
        return np.concatenate([(w[u.size :, None] * ((z > 0) @ (x * pull[:, None]))).ravel(), np.maximum(z, 0) @ pull])

    def event(t, w):
        return np.partition(margins(w)[1], -len(y) // 10)[-len(y) // 10] - 1

    event.terminal = True
    return velocity, np.concatenate([u.ravel(), beta]), event


def peers(seeds, h=200):
    """CPU seconds and root mean square errors of t*; scipy's over the flow's at the tolerance that errs as much."""
    spent, errors = {}, {}
    for seed in seeds:
        net, task = one_hidden.one_hidden(5, h, seeds=100 + seed), tasks.stripe(P, 5, seed=seed)
        exact = float(ours(net, task, t_star, tolerance=EXACT)[0].t[0])

        def note(name, cpu, t, exact=exact):
            spent.setdefault(name, []).append(cpu)
            errors.setdefault(name, []).append(t / exact - 1)

        for method, rtol in itertools.product(("RK45", "RK23"), (1e-3, 1e-2)):
            velocity, first, event = right_hand_side(net, task)
            started = time.process_time()
            found = solve_ivp(velocity, (0, 10 * exact), first, method=method, rtol=rtol, atol=rtol / 1e3, events=event)
            note(f"scipy {method}, rtol {rtol:g}", time.process_time() - started, found.t_events[0][0])
        for tolerance in FLOWS:
            done, fast = ours(net, task, t_star, repeats=3, tolerance=tolerance)
            note(f"flow, tolerance {tolerance:g}", fast, float(done.t[0]))
    cpu = {name: statistics.mean(values) for name, values in spent.items()}
    error = {name: math.sqrt(statistics.mean(value**2 for value in values)) for name, values in errors.items()}
    flows = sorted((name for name in cpu if name.startswith("flow")), key=error.get)
    print(f"\nto t*, p={P}, d=5, {len(seeds)} seeds                  CPU s    error of t*   over the flow's then")
    for name in cpu:
        at = np.exp(np.interp(math.log(error[name]), *(np.log([one[f] for f in flows]) for one in (error, cpu))))
        bound = "<" if error[name] < error[flows[0]] else " "  # the flow is to err less still
        ratio = "" if name in flows else f"{bound}{cpu[name] / at:7.1f} at h = {h}"  # it grows with h
        print(f"  {name:38s} {cpu[name]:10.3f} {error[name]:12.3%} {ratio}")


def converged(revision, sizes, h=200):
    """To zero loss at tolerance 0.005: the compiled step, the one on tensors, and the revision's at 0.05."""
    print(f"\nto zero loss, h={h}, d=5      compiled 0.005   tensors 0.005   {revision} 0.05   ratios")
    suits = compiled.suits
    with revisions([revision]) as children:
        for p in sizes:
            net, task = one_hidden.one_hidden(5, h, seeds=100), tasks.stripe(p, 5, seed=0)
            now = ours(net, task, fitted, repeats=2, tolerance=5e-3)[1]
            compiled.suits = lambda batch: False
            tensors = ours(net, task, fitted, tolerance=5e-3)[1]
            compiled.suits = suits
            child = children[revision]
            print(p, 0, "zero_loss", h, 0.05, file=child.stdin, flush=True)
            before = float(child.stdout.readline().split()[0])
            print(f"  p={p:5d} {now:22.2f} {tensors:15.2f} {before:12.2f}   {tensors / now:.1f}, {before / now:.2f}")


def one_step():
    net, task = problem(P)
    batch = start(net, task.x[None], task.y[None], alpha=ALPHA, tolerance=1e-2)
    for _ in range(10):
        batch, _ = advance(batch)
    started, size = time.process_time(), 40
    for _ in range(size):
        advance(batch)
    spent = (time.process_time() - started) / size
    flops = 5 * 2 * H * P * 6  # five products of the neurons with the points
    print(f"\none step while margins are small: {1e3 * spent:.2f} ms, {flops / spent / 1e9:.1f} GFLOP/s")


def to_zero_loss(sizes):
    print(f"\nto zero hinge loss, h={H}, d=5     CPU s   time t       status")
    for p in sizes:
        done, fast = ours(*problem(p), fitted)
        print(f"  p={p:5d}                        {fast:8.2f}   {float(done.t[0]):.4g}   {done.ended[0]}")


def to_nearly_all(p=8192, h=500):
    """The largest problem of chapters 1 and 2: required 15 CPU seconds of one core."""
    net, task = one_hidden.one_hidden(5, h, seeds=100), tasks.stripe(p, 5, seed=0)
    done, fast = ours(net, task, satisfied(0.99))
    print(f"\np={p}, h={h}, d=5 to 99 % of the points: {fast:.1f} CPU s (required 15), t = {float(done.t[0]):.4g}")


def large(revision, cases):
    """To zero loss at tolerance 0.005, each case in new processes: CPU seconds, steps, and peak memory."""
    print(f"\nto zero loss, tolerance 0.005, d=5: {revision} / now")
    print("                       CPU s              ratio   steps           peak MB")
    for p, h in cases:
        found = {}
        with revisions([revision, ""]) as children:
            for name, child in children.items():
                print(p, 0, "zero_loss", h, 0.005, file=child.stdin, flush=True)
                found[name] = [float(value) for value in child.stdout.readline().split()]
        (before, steps_before, peak_before), (now, steps, peak) = found[revision], found[""]
        row = f"  p={p:5d}, h={h:5d}: {before:9.2f} {now:9.2f} {before / now:8.2f}   {steps_before:5.0f} {steps:5.0f}"
        print(f"{row}   {peak_before:6.0f} {peak:6.0f}", flush=True)


def by_share(cases):
    """Steps and CPU seconds until shares of the points are satisfied: where a faster step could gain."""
    print("\nto shares of the points, tolerance 0.005, d=5: steps, CPU s")
    for p, h in cases:
        net, task = one_hidden.one_hidden(5, h, seeds=100), tasks.stripe(p, 5, seed=0)
        started, left, row = time.process_time(), [0.1, 0.5, 0.9, 0.99, 1.0], ""
        states = gradient_flow(net, task, alpha=ALPHA, tolerance=5e-3, device="cpu")
        for steps, state in enumerate(states):
            share = float((state.margins_to(1) >= 1).double().mean())
            while left and share >= left[0]:
                row += f"   {left.pop(0):.0%} {steps:5d} {time.process_time() - started:7.2f}"
        print(f"  p={p:5d}, h={h:5d}:{row}", flush=True)


def rates(cases):
    """Each sum over pairs of neurons and points: operations a second, as a share of a product of matrices."""
    matrix = torch.rand(1500, 1500, dtype=torch.float64)
    matrix @ matrix
    started = time.process_time()
    matrix @ matrix
    peak = 2 * 1500**3 / (time.process_time() - started)
    print(f"\nsums over pairs, float64: share of dgemm ({peak / 1e9:.0f} GF/s)   outputs   own outputs   field")
    for p, h, d in cases:
        net, x = one_hidden.one_hidden(d, h, seeds=0), torch.randn(1, p, d, dtype=torch.float64)
        batch = start(net, x, torch.ones(1, p), alpha=1.0, tolerance=0.01)
        problem, now, k, shares = batch.problem, batch.now, d + 1, []
        sums = (
            (4 * k + 1, functools.partial(pairs.outputs, problem.xt, now.u, now.push)),
            (2 * k + 2, functools.partial(problem.own_margins, now.u, now.beta)),
            (4 * k, functools.partial(problem.own_push, now.u, now.q)),
        )
        for flops, product in sums:
            started, count = time.process_time(), 1 if TINY else max(1, 10**8 // (p * h))
            for _ in range(count):
                product()
            shares.append(count * flops * p * h / (time.process_time() - started) / peak)
        print(f"  p={p:5d}, h={h:5d}, d={d:2d}" + "".join(f"{share:12.0%}" for share in shares))


# one process a revision: reads "p seed until h tolerance", writes CPU seconds, accepted steps and the peak memory in MB
CHILD = """
import resource, sys, time, torch
try:
    from regimes import flow, nets, tasks
    gradient_flow, run, one_hidden = flow.flow, flow.run, nets.one_hidden
    until_of = {"t*": flow.t_star, "zero_loss": flow.fitted}
except ImportError:
    from regimes.data import tasks
    from regimes.models.one_hidden import one_hidden
    from regimes.training.gradient_flow import gradient_flow
    from regimes.training.run import run
    from regimes.training.state import fitted, t_star
    until_of = {"t*": t_star, "zero_loss": fitted}
torch.set_num_threads(1)
for line in sys.stdin:
    p, seed, until, h, tolerance = line.split()
    net = one_hidden(5, int(h), seeds=100 + int(seed))
    options = {"tolerance": float(tolerance), "alpha": 1e-6, "device": "cpu"}
    states, count = gradient_flow(net, tasks.stripe(int(p), 5, seed=int(seed)), **options), 0
    def counted():
        global count
        for state in states:
            count += 1
            yield state
    begun = time.process_time()
    run(counted(), until=until_of[until])
    print(time.process_time() - begun, count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, flush=True)
"""


@contextlib.contextmanager
def revisions(names):
    """The library of each revision, "" for the one at hand, in a process that times it."""
    here = Path(__file__).resolve().parents[1]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        children = {}
        for name in dict.fromkeys(names):
            lib = here / "lib"
            if name:
                archive, lib = Path(folder, "lib.tar"), Path(folder, name.replace("/", "_"), "lib")
                subprocess.run(
                    ["git", "-C", here, "archive", "-o", archive, name, "lib"], check=True, capture_output=True
                )
                tarfile.open(archive).extractall(lib.parent, filter="data")
            env = os.environ | {"PYTHONPATH": str(lib)}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            child = subprocess.Popen([sys.executable, "-c", CHILD], env=env, **pipes)
            children[name] = running.enter_context(child)
            running.callback(child.stdin.close)
        yield children


def against(revision, cases, repeats):
    """The revision before and this one in turns, alone: the ratio of CPU seconds before / now."""
    try:
        with revisions([revision, ""]) as children:
            print(
                f"\n{revision} / now, one realisation, h=1000, d=5, alpha=1e-6        CPU s          ratio   per step"
            )
            for p, until, seeds in cases:
                _ratio(children, revision, p, until, seeds, repeats)
    except (subprocess.CalledProcessError, FileNotFoundError):
        print(f"\nno revision {revision} in git here: no ratio to it")


def _ratio(children, revision, p, until, seeds, repeats):
    best = {name: [(math.inf, 1)] * len(seeds) for name in children}
    for _ in range(repeats):
        for i, seed in enumerate(seeds):
            for name, child in children.items():
                print(p, seed, until, 1000, 0.01, file=child.stdin, flush=True)
                seconds, steps, _ = child.stdout.readline().split()
                best[name][i] = min(best[name][i], (float(seconds), int(steps)))
    before, now = (sum(seconds for seconds, _ in best[name]) for name in (revision, ""))
    per_step = statistics.geometric_mean((b / n_b) / (a / n_a) for (b, n_b), (a, n_a) in zip(best[revision], best[""]))
    case = f"p={p:5d} to {until:9s} {len(seeds)} seeds, best of {repeats}"
    print(f"  {case}   {before:8.2f} {now:8.2f} {before / now:8.3f} {per_step:8.3f}")


def ensemble(count, h, p, *, d=5, share=1.0):
    """The same realisations, one per batch and all in one batch, on the CPU."""
    net = one_hidden.one_hidden(d, h, seeds=range(count))
    task = tasks.stripe(p, d, seed=list(range(count)))
    (one, alone), (all_, together) = (ours(net, task, satisfied(share), together=size) for size in (1, count))
    apart = float((one.at("t_star")[1] / all_.at("t_star")[1] - 1).abs().max())
    print(f"\n{count} realisations, d={d}, p={p}, h={h}, to {share:.0%} satisfied:", end=" ")
    print(f"CPU s one at a time {alone:.2f}, together {together:.2f}")
    print(f"t* differ by {apart:.0e}")


def main(quick, revision):
    to_t_star([0] if quick else [0, 1, 2])
    one_step()
    to_zero_loss([1000] if quick else [1000, 4000])
    to_nearly_all()
    seeds = range(2) if quick else range(6)
    cases = [(1000, "t*", seeds), (300, "zero_loss", seeds), (1000, "zero_loss", seeds)]
    against(revision, cases, 2 if quick else 3)
    for h in (200,) if quick else (200, 1000):
        peers(range(2) if quick else range(3), h)
    converged(revision, [1000] if quick else [1000, 4000])
    large(revision, [(1000, 500)] if quick else [(1000, 500), (4096, 500), (4096, 2000), (10_000, 10_000)])
    by_share([(1000, 500)] if quick else [(1000, 500), (4096, 500), (10_000, 10_000)])
    rates(((1000, 500, 5), (10_000, 10_000, 5), (2000, 1000, 10)))
    ensemble(8, 100, 100)
    ensemble(8, 1000, 300)
    # points in the plane: flat kernels, on which steps along the whole gradient creep
    ensemble(4, 300, 1000, d=2, share=0.99)


def tiny():
    """All but the comparisons with another revision, one of which runs with this one in its place."""
    to_t_star([0])
    one_step()
    to_zero_loss([P])
    to_nearly_all(P, H)
    peers([0, 1], H)
    converged("", [P], H)
    by_share([(P, H)])
    rates([(P, H, 5)])
    ensemble(2, H, P)


if __name__ == "__main__":
    named = [name for name in sys.argv[1:] if name not in ("quick", "tiny")]
    tiny() if TINY else main("quick" in sys.argv, named[0] if named else "HEAD~1")
