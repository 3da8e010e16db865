"""The compiled step of the flow against the one on tensors, along whole paths; what it leaves out; and no compiler."""

import itertools
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from regimes import compiler
from regimes.data import tasks
from regimes.models import one_hidden
from regimes.training.gradient_flow import compiled, constants, gradient_flow, implicit, pairs, step
from regimes.training.gradient_flow.batch import start
from regimes.training.run import run
from regimes.training.state import fitted, t_star

pytestmark = pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
STEPS = 300  # attempted ones
CASES = {
    "stripe": (tasks.stripe(100, 5, seed=0), 40, 1e-6, 1e-2),
    "plane": (tasks.stripe(120, 2, seed=1), 30, 1e-6, 2e-2),
    "lazy": (tasks.stripe(60, 3, seed=2), 100, 1e4, 1e-2),
    "cylinder, other dimensions": (tasks.cylinder(100, 8, d_parallel=2, radius=2.0, seed=3), 30, 1e-3, 1e-2),
}


def batch_of(task, h, alpha, tolerance, seeds=(5,)):
    net = one_hidden.one_hidden(task.x.shape[-1], h, seeds=list(seeds))
    x = task.x.to(net.omega).expand(len(seeds), -1, -1)
    y = task.y.to(net.omega).expand(len(seeds), -1)
    return start(net, x, y, alpha=alpha, tolerance=tolerance)


def reference(batch, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "suits", lambda batch: False)
        return step.advance(batch.exact())


def differences(ours, theirs):
    """The largest difference of each tensor of two batches, relative to its size."""
    pairs = {name: (getattr(ours.now, name), getattr(theirs.now, name)) for name in ("u", "beta", "m", "q", "push")}
    pairs |= {name: (getattr(ours.past, name), getattr(theirs.past, name)) for name in ("mean", "before")}
    pairs |= {"t": (ours.t, theirs.t)}
    return {name: float((a - b).abs().max() / b.abs().max().clamp(min=1e-300)) for name, (a, b) in pairs.items()}


def share(batch):
    return float((batch.now.m >= 1).double().mean())


@pytest.mark.parametrize("large_band", [constants.LARGE_BAND, 8])
@pytest.mark.parametrize("case", CASES)
def test_each_step_is_the_reference(case, large_band, monkeypatch):
    """Every attempted step until a fifth of the points are satisfied; later every step that both accept."""
    monkeypatch.setattr(constants, "LARGE_BAND", large_band)
    monkeypatch.setattr(implicit, "LARGE_BAND", large_band)
    batch, early, late = batch_of(*CASES[case]), 0, 0
    for _ in range(STEPS):
        if share(batch) == 1:
            break
        assert compiled.suits(batch)
        all_count = share(batch) < constants.EARLY
        (ours, moved), (batch, expected) = compiled.attempt(batch), reference(batch, monkeypatch)
        if all_count:
            assert bool(moved) == bool(expected)
            torch.testing.assert_close(ours.dt, batch.dt, rtol=1e-4, atol=0)
        if bool(moved) == bool(expected):
            assert max(differences(ours, batch).values()) < 1e-7  # the box problem is solved to a tolerance
        early = early + all_count
        late = late + (not all_count and bool(moved) == bool(expected))
    assert early > 20
    assert late > 20
    assert share(batch) > 0.7


def test_what_c_reads_at_a_first_step_is_held_until_it_returns(monkeypatch):
    """A first batch has no screen: the one that is made for it was free while C read it."""
    made, library, unscreened = [], pairs.shared(), compiled.unscreened
    first = batch_of(*CASES["plane"])

    def noted(m):
        screen = unscreened(m)
        made.append(weakref.ref(screen.until))
        return screen

    def walk(*given):
        assert all(until() is not None for until in made)
        return library.walk(*given)

    monkeypatch.setattr(compiled, "unscreened", noted)
    monkeypatch.setattr(pairs, "shared", lambda: SimpleNamespace(walk=walk))
    compiled.attempt(first)
    assert made


def test_a_large_band_meets_the_equations_without_its_gram_matrix(monkeypatch):
    """Above 200 points: the margins of the reference, to the violation that a step may have."""
    system, sizes, count = implicit._system, [0], 0
    monkeypatch.setattr(implicit, "_system", lambda *a: sizes.append(a[2].index.shape[-1]) or system(*a))
    batch = batch_of(tasks.stripe(800, 3, seed=1), 30, 1e-3, 2e-2)
    for _ in range(70):
        sizes[:] = [0]
        (ours, moved), (batch, expected) = compiled.attempt(batch), reference(batch, monkeypatch)
        if max(sizes) > 200 and bool(moved) and bool(expected):
            count += 1
            torch.testing.assert_close(
                ours.exact().now.m, batch.now.m, atol=2 * constants.KKT * batch.problem.tolerance, rtol=0
            )
    assert count > 5


def inputs_norm(batch):
    return batch.problem.xt.norm(dim=-1)


@pytest.mark.parametrize("case", ["feature", "between", "lazy"])
def test_screening_never_loses_a_point(case):
    """All margins against exact ones after every step: the bound holds, and no point comes back unseen."""
    alpha = {"feature": 1e-6, "between": 1e-1, "lazy": 1e4}[case]
    batch = batch_of(tasks.stripe(200, 5, seed=4), 60, alpha, 1e-2)
    left_out = 0
    exact, size = batch.exact().now.m, inputs_norm(batch)
    for _ in range(600):
        before, previous = batch, exact
        batch, moved = compiled.attempt(batch)
        if not bool(moved):
            continue
        exact = batch.problem.own_margins(batch.now.u, batch.now.beta)
        drift = batch.screen.drift - (before.screen.drift if before.screen else 0)
        assert ((exact - previous).abs() <= size * drift * (1 + 1e-9) + 1e-12).all()
        stale = batch.now.m != exact
        assert int(stale.sum()) <= int(batch.screen.stale)
        assert (exact[stale] > batch.problem.corner).all()
        assert (batch.now.q[stale] == 0).all()
        assert ((exact >= 1) == (batch.now.m >= 1)).all()
        left_out += int(batch.screen.stale)
        if bool((exact >= 1).all()):
            break
    assert left_out > 200


def test_a_point_that_is_pulled_back_below_the_corner_is_seen():
    """Two equal inputs but for a hair, with opposite labels: the second pulls the first back, from far above."""
    task = tasks.stripe(40, 3, seed=1)
    batch = batch_of(task, 50, 1e-3, 1e-2)
    while share(batch) < 0.5:
        batch, _ = step.advance(batch)
    exact = batch.exact()
    first = int(exact.now.m[0].argmax())
    assert float(exact.now.m[0, first]) > 1.5
    # from now on the others push the other way: their labels are reversed
    y = -exact.problem.y
    y[0, first] *= -1
    problem = replace(exact.problem, y=y, base=exact.problem.base * y / exact.problem.y)
    m = problem.own_margins(exact.now.u, exact.now.beta)
    push = problem.own_push(exact.now.u, (m < 1).double())
    now = replace(exact.now, m=m, q=(m < 1).double(), push=push)
    past = replace(exact.past, mean=push, before=push)
    batch = replace(exact, problem=problem, now=now, past=past)
    lowest, left_out = float(m[0, first]), 0
    for _ in range(400):
        batch, _ = compiled.attempt(batch)
        margin = batch.problem.own_margins(batch.now.u, batch.now.beta)[0, first]
        left_out += bool(margin != batch.now.m[0, first])
        assert bool(margin >= 1) == bool(batch.now.m[0, first] >= 1)
        lowest = min(lowest, float(margin))
    assert lowest < batch.problem.corner + 0.1
    assert left_out > 0


def test_t_star_is_that_of_the_reference_and_the_end_agrees_to_the_tolerance(monkeypatch):
    task, h, alpha, tolerance = CASES["stripe"]
    net = one_hidden.one_hidden(5, h, seeds=range(2))
    test = tasks.stripe(2000, 5, seed=99)
    ends = []
    for suits in (compiled.suits, lambda batch: False):
        monkeypatch.setattr(compiled, "suits", suits)
        ends.append(run(gradient_flow(net, task, alpha=alpha, tolerance=tolerance / 2, dtype=torch.float64)))
    (ours, theirs) = ends
    assert ours.ended == theirs.ended == ["fitted"] * 2
    torch.testing.assert_close(ours.at("t_star")[1], theirs.at("t_star")[1], rtol=1e-7, atol=0)
    errors = [(end.model(test.x) * test.y <= 0).double().mean(-1) for end in ends]
    torch.testing.assert_close(errors[0], errors[1], atol=0.03, rtol=0)


def states_of(seed, count=250, **options):
    net = one_hidden.one_hidden(5, 40, seeds=[seed])
    task = tasks.stripe(100, 5, seed=seed)
    return itertools.islice(gradient_flow(net, task, alpha=1e-4, tolerance=5e-3, **options), count)


def test_flows_that_take_turns_or_run_in_threads_are_those_alone():
    alone = [list(states_of(seed)) for seed in (0, 1)]
    turns = list(zip(states_of(0), states_of(1)))
    with ThreadPoolExecutor(2) as pool:
        threads = list(pool.map(lambda seed: list(states_of(seed)), (0, 1)))
    for seed in (0, 1):
        for path in ([pair[seed] for pair in turns], threads[seed]):
            for ours, state in zip(path, alone[seed]):
                assert torch.equal(ours.batch.now.u, state.batch.now.u)
                assert torch.equal(ours.batch.now.m, state.batch.now.m)


def test_states_that_are_kept_have_exact_margins():
    states = list(states_of(0))
    assert sum(float(state.batch.screen.stale) for state in states[1:]) > 1000
    for state in states[::10]:
        x = state.batch.problem.xt[0, :, :-1] * 5**0.5
        F = 1e-4 * (state.model(x) - state.initial(x))
        torch.testing.assert_close(state.margins, state.y * F, rtol=1e-9, atol=1e-9)
        assert torch.equal(state.margins[state.margins < 1], state.margins_to(1)[state.margins < 1])
        assert torch.equal(state.margins, state.margins_to(1.5)), "beyond the corner they are computed"
        torch.testing.assert_close(state.loss, (1 - state.margins).clamp(min=0).mean(-1), rtol=1e-12, atol=0)
        assert float(state.satisfied) == float((state.margins >= 1).double().mean())


def test_a_batch_takes_the_steps_of_its_realisations_alone():
    net = one_hidden.one_hidden(5, 40, seeds=range(3))
    task = tasks.stripe(60, 5, seed=[0, 1, 2])
    alone, together = (run(gradient_flow(net, task, alpha=1e-4, tolerance=5e-3, together=size)) for size in (1, 3))
    assert alone.ended == together.ended
    assert torch.equal(alone.t, together.t)
    assert torch.equal(alone.model.omega, together.model.omega)
    assert torch.equal(alone.F, together.F)
    assert alone.events["t_star"].keys() == together.events["t_star"].keys()


@pytest.fixture
def threads():
    """Sets how many share a sum; afterwards it is as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def sums(p, h, k):
    """The three sums over pairs, of the same numbers each time."""
    numbers = torch.Generator().manual_seed(p)
    xt, u, v, c = (
        torch.randn(1, n, m, dtype=torch.float64, generator=numbers) for n, m in ((p, k), (h, k), (h, k), (p, 1))
    )
    beta, y = v[..., 0].contiguous(), c[..., 0].sign()
    margins = pairs.margins(xt, y, torch.zeros_like(y), 2.0, u, beta)
    return pairs.outputs(xt, u, v), margins, pairs.field(xt, c[..., 0], u, 0.5)


@pytest.mark.parametrize(
    ("p", "h", "k"), [(1, 200_001, 2), (200_003, 1, 3), (1500, 301, 6), (2100, 77, 13), (20, 30, 4)]
)
def test_the_sums_have_the_same_bits_on_any_number_of_threads(p, h, k, threads):
    threads(1)
    alone = sums(p, h, k)
    for count in (2, 3, 4, 1):
        threads(count)
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(sums(p, h, k), alone))


def test_so_has_a_flow_to_zero_loss(threads):
    net, task = one_hidden.one_hidden(3, 300, seeds=0), tasks.stripe(900, 3, seed=0)
    ends = []
    for count in (1, 2, 3, 4):
        threads(count)
        ends.append(run(gradient_flow(net, task, alpha=1e-6, tolerance=1e-2)))
    assert ends[0].ended == ["fitted"]
    for end in ends[1:]:
        assert torch.equal(end.t, ends[0].t) and torch.equal(end.at("t_star")[1], ends[0].at("t_star")[1])
        assert torch.equal(end.model.omega, ends[0].model.omega) and torch.equal(end.F, ends[0].F)


def test_so_has_a_gram_matrix_in_blocks(threads, monkeypatch, tmp_path):
    """Of more than 16 points here, not 256; the last block is not whole."""
    monkeypatch.setenv("REGIMES_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "BAND", 1e6)  # every point is in the band
    text = pairs.SOURCES["band.h"].replace("#define WHOLE 256", "#define WHOLE 16").replace("BLOCK 64", "BLOCK 12")
    ends = []
    for where in ("", text):
        with monkeypatch.context() as patch:
            patch.setitem(pairs.SOURCES, "band.h", where or pairs.SOURCES["band.h"])
            library = pairs.CODE.load()
            patch.setattr(pairs, "routines", lambda library=library: library)
            for count in (1, 2, 4):
                threads(count)
                batch = batch_of(tasks.stripe(120, 3, seed=0), 300, 1e-3, 1e-2)
                for _ in range(160):
                    batch, _ = compiled.attempt(batch)
                ends.append(batch.exact().now.m)
    assert torch.equal(ends[0], ends[1]) and torch.equal(ends[0], ends[2])
    assert torch.equal(ends[3], ends[4]) and torch.equal(ends[3], ends[5]) and not torch.equal(ends[3], ends[0])
    torch.testing.assert_close(ends[3], ends[0], rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted as Linux does")
def test_threads_are_begun_for_large_sums_alone_and_a_copy_of_the_process_has_none():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0 2 True 0\n"), done.stderr


THREADS = """
import os, torch
from regimes.training.gradient_flow import pairs
torch.set_num_threads(3)
def field(p, h):
    numbers = torch.Generator().manual_seed(0)
    xt, u, c = (torch.randn(1, *shape, dtype=torch.float64, generator=numbers) for shape in ((p, 4), (h, 4), (p,)))
    return pairs.field(xt, c, u, 1.0)
field(10, 10)
started = len(os.listdir("/proc/self/task"))
field(100, 100)
print(len(os.listdir("/proc/self/task")) - started, end=" ")
found = field(1000, 1000)
print(len(os.listdir("/proc/self/task")) - started, end=" ", flush=True)
if (child := os.fork()) == 0:
    same = bool((field(1000, 1000) == found).all())
    print(same, len(os.listdir("/proc/self/task")) - 1, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("rule", [t_star, fitted])
def test_a_rule_sees_what_it_would_with_exact_margins(rule):
    for state in states_of(2):
        assert bool(rule(state) >= 0) == bool(rule(replace(state, at=state.batch.exact())) >= 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of memory is Linux's")
def test_a_routine_says_that_memory_is_short():
    """A billion points, of which no number is read: a process of its own has no memory for a copy of them."""
    done = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True)
    printed = "pair_outputs 0\npair_margins 0\npair_field 0\n"
    assert (done.returncode, done.stdout) == (0, printed), done.stderr


SHORT = """
import ctypes, resource
from regimes.training.gradient_flow import pairs
routines, room = pairs.routines(), (ctypes.c_double * 8)()
arrays = {"pair_outputs": 4, "pair_margins": 5, "pair_field": 3}
numbers = {"pair_outputs": 0, "pair_margins": 2, "pair_field": 1}
held = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (held + 2**24, held + 2**24))
size, where = [ctypes.c_int(number) for number in (2**30, 1, 2)], ctypes.cast(room, ctypes.c_void_p)
for name in arrays:
    last = [] if name == "pair_outputs" else [where]
    print(name, getattr(routines, name)(*size, *[where] * arrays[name], *[ctypes.c_double(1)] * numbers[name], *last))
"""


MEMORY = """
import itertools, resource, torch
from regimes.data import tasks
from regimes.models import one_hidden
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run
torch.set_num_threads(1)
size = 4000
def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def states(size, count):
    net, task = one_hidden.one_hidden(5, size, seeds=0), tasks.stripe(size, 5, seed=0)
    return itertools.islice(gradient_flow(net, task, alpha=1.0, tolerance=5e-3, dtype=torch.float64), count)
run(states(100, 100))
before = largest()
done = run(states(size, 60))
assert done.at("t_star")[0], "the event is not in it"
print((largest() - before) / (8 * size * size))
"""


def test_no_array_has_an_entry_for_a_pair_of_neuron_and_point():
    """The memory of a flow through t*, as a share of one array of gates."""
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True)
    assert float(done.stdout) < 0.4, done.stderr


def test_a_large_system_is_left_to_the_reference_and_its_error(monkeypatch):
    monkeypatch.setattr(constants, "LARGE", 8 * constants.SYSTEM * 4)  # bands of at most two points
    batch, elsewhere = batch_of(*CASES["stripe"]), 0
    while bool((batch.now.m < 1).any()) and not elsewhere:
        elsewhere = compiled.attempt(batch) is None
        batch, _ = step.advance(batch)
    assert elsewhere


def test_float32_is_left_to_the_reference():
    net = one_hidden.one_hidden(5, 20, seeds=[1]).to(dtype=torch.float32)
    task = tasks.stripe(20, 5, seed=0)
    x = task.x.to(net.omega)[None]
    y = task.y.to(net.omega)[None]
    assert not compiled.suits(start(net, x, y, alpha=1.0, tolerance=1e-2))


@pytest.mark.parametrize(
    ("d", "count", "taken"), [(pairs.MOST - 1, 1, True), (pairs.MOST, 1, False), (2, pairs.MOST + 1, True)]
)
def test_so_many_inputs_of_a_neuron_are_taken_and_any_number_of_realisations(d, count, taken):
    batch = batch_of(tasks.stripe(4, d, seed=0), 3, 1.0, 1e-2, range(count))
    assert batch.now.u.shape == (count, 3, d + 1) and compiled.suits(batch) is taken


def fresh_routines():
    pairs.routines.cache_clear()
    try:
        return pairs.routines()
    finally:
        pairs.routines.cache_clear()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A folder of its own for what is compiled, and short code, which takes no time."""
    monkeypatch.setenv("REGIMES_CACHE", str(tmp_path / "a" / "cache"))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CFLAGS", raising=False)
    monkeypatch.setitem(
        pairs.SOURCES, "compiled.c", "#ifndef ANSWER\n#define ANSWER 1\n#endif\nint it(void) { return ANSWER; }"
    )
    return tmp_path / "a" / "cache"


def test_no_compiler_is_one_line_and_no_error(monkeypatch, cache):
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    with pytest.warns(UserWarning, match=r"steps on tensors, .* as slowly: no C compiler is found") as said:
        pairs.routines.cache_clear()
        assert pairs.routines() is pairs.routines() is None
    pairs.routines.cache_clear()
    assert len(said) == 1 and "\n" not in str(said[0].message)


def test_a_wheels_code_goes_into_a_folder_that_need_not_be_there(cache, tmp_path):
    pairs.CODE.build(tmp_path / "lib" / "compiled")
    assert {path.suffix for path in (tmp_path / "lib" / "compiled").iterdir()} == {".so"}


def test_turned_off(monkeypatch):
    monkeypatch.setenv("REGIMES_COMPILED", "0")
    assert fresh_routines() is None


@pytest.mark.parametrize(("code", "why"), [("no C at all", "fails: .*error"), ("#include <no.h>", "fails: .*no.h")])
def test_a_compiler_that_fails_is_said_in_one_line(monkeypatch, cache, code, why):
    monkeypatch.setitem(pairs.SOURCES, "compiled.c", code)
    with pytest.warns(UserWarning, match=rf"not in C, several times as slowly: \S+ {why}") as said:
        assert fresh_routines() is None
    assert len(said) == 1 and "\n" not in str(said[0].message) and not list(cache.iterdir())


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [("CC", "no-such-compiler", "no-such-compiler"), ("CC", "cc 'x", "No closing"), ("CFLAGS", "-fno-such", "fails: ")],
)
def test_a_compiler_that_is_not_there_is_said_in_one_line(monkeypatch, cache, name, value, why):
    monkeypatch.setenv(name, value)
    with pytest.warns(UserWarning, match=f"not in C, several times as slowly: .*{why}"):
        assert fresh_routines() is None


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch, cache):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("REGIMES_CACHE")
    monkeypatch.setattr(pairs.Path, "home", no_home)
    with pytest.warns(UserWarning, match="no home directory .*: set REGIMES_CACHE to a folder$"):
        assert fresh_routines() is None


def compiled_with(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return fresh_routines().it()


def test_each_compiler_and_its_flags_have_a_file_of_their_own(monkeypatch, cache, tmp_path):
    """A wrapper stands for a compiler that is renewed in its place."""
    assert compiled_with(monkeypatch) == 1 and compiled_with(monkeypatch, CFLAGS="-DANSWER=2 -O1") == 2
    wrapper = tmp_path / "a compiler"
    real = compiler.shutil.which("cc") or compiler.shutil.which("gcc") or compiler.shutil.which("clang")
    for version, answer in (("1.0", 3), ("2.0", 4)):
        asked = f'case "$*" in *--version) echo {version}; exit; esac'
        wrapper.write_text(f'#!/bin/sh\n{asked}\nexec {real} -DANSWER={answer} "$@"\n')
        wrapper.chmod(0o755)
        assert compiled_with(monkeypatch, CC=f"'{wrapper}' -g0", CFLAGS="") == answer
    assert len(list(cache.iterdir())) == 4
    monkeypatch.delenv("CC")
    assert compiled_with(monkeypatch) == 1 and len(list(cache.iterdir())) == 4


def test_a_flag_for_this_processor_that_is_refused_is_left_out_and_said(monkeypatch, cache, tmp_path):
    """As Apple's compiler did on its own processors; what is built so is found again without a word."""
    real = compiler.shutil.which("cc") or compiler.shutil.which("gcc") or compiler.shutil.which("clang")
    wrapper = tmp_path / "cc"
    refusal = 'case "$*" in *--version) ;; *-march=native*) echo "error: unsupported argument" >&2; exit 1; esac'
    wrapper.write_text(f'#!/bin/sh\n{refusal}\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CC", str(wrapper))
    with pytest.warns(UserWarning, match="refuses -march=native: flow is built for any processor") as said:
        assert fresh_routines().it() == 1
    assert len(said) == 1 and fresh_routines().it() == 1 and len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [lambda whole: whole[:2000], lambda whole: whole[:-1] + b"x", lambda whole: b""])
def test_a_damaged_file_is_said_and_compiled_again(cache, damage):
    """A file cut short ends every process that loads it by SIGBUS."""
    assert fresh_routines().it() == 1
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.rename(cache.parent / "elsewhere")  # this process has loaded it
    path.write_bytes(damage(whole))
    with pytest.warns(UserWarning, match=r"flow-\S+\.so is not what was written there, and is compiled again") as said:
        assert fresh_routines().it() == 1
    assert len(said) == 1 and [pairs.CODE._is_whole(it, it.name.split("-")[1]) for it in cache.iterdir()] == [True]


def test_what_is_compiled_reaches_the_disk_before_it_has_its_name(monkeypatch, cache):
    seen, sync = [], compiler.os.fsync
    monkeypatch.setattr(compiler.os, "fsync", lambda file: seen.append(list(cache.glob("*.so"))) or sync(file))
    assert fresh_routines() is not None and seen == [[]]
