"""The step in C: that of ``step``, and several times as fast, if there is a compiler.

It takes the steps of float64 on the CPU. Everything else, and machines without a compiler, use the reference
:mod:`regimes.training.gradient_flow.step`. Both take the same steps, to rounding and to the tolerance of the box
problem, until a fifth of the points are satisfied (``constants.EARLY``). From then on the compiled step leaves out what
cannot matter. It differs in three decisions, and the ends agree to the tolerance of the path, not to rounding:

* Points that are satisfied, far above the corner and without a multiplier keep the margin of an earlier step, as long
  as a proven bound on the change since then excludes that they came back (``compiled.c`` has the formula). They never
  come back unseen, so counts of satisfied points, the loss and all margins below the corner are exact in every state;
  :attr:`~regimes.training.gradient_flow.state.FlowState.margins` computes the others when it is asked for them.
* The error of the margins does not count where both the first pass and the end of the step are so far above the corner
  that an accepted error cannot reach it. It is taken with the gates of the new weights.
* Bands of more than 200 points are solved from products with their Gram matrix, to a tenth of the allowed violation
  instead of a thousandth. A step whose band would need many more free multipliers than are held is shortened.

Where the time goes (p = h = 10^4, ``benchmarks/bench_gradient_flow.py``): 15 % until t*, 70 % from there to nine tenths
of the points, and 10 % for the last per cent, with 700 of 1035 steps. So float32 until t* could save at most 8 %, and
half as many steps at the end at most 5 %, less what a better mean of the field costs in each; neither is done.

Threads, as many as torch's, share the sums of a large network, with the same bits on any number of them
(``products.h``). Studies fill the cores with realisations instead: their workers have one thread each.
"""

import ctypes
import operator
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch
from scipy.linalg import cython_blas, cython_lapack
from torch import Tensor

from regimes.models.one_hidden import GAIN
from regimes.training.gradient_flow import constants, pairs
from regimes.training.gradient_flow.batch import Batch, FlowProblem, Past, Point, Screen, choose, unscreened

NAMES = (
    "early early_share margin_share safety grow shrink refused reach kkt exact definite band apart hopeless far".split()
)
REFUSED, MOVED, ELSEWHERE = range(3)
STEPS = 16  # attempted in a row
HELD = 2**26  # bytes of their arrays
NUMBERS = ("past_dt", "dt", "drift", "stale")
SIGNS = ("largest", "satisfied", "finite", "pushed")
_values = operator.attrgetter(*NUMBERS, *SIGNS)
ARRAYS = ("u", "beta", "m", "q", "push", "before", "mean", "until")


def _of_kind(kind: Any, names: Iterable[str]) -> list[tuple[str, Any]]:
    """Fields of one kind, for a record in C."""
    return [(name, kind) for name in names]


class _Problem(ctypes.Structure):
    _fields_ = [
        *_of_kind(ctypes.c_int, ("h", "k", "p")),
        *_of_kind(ctypes.c_double, ("alpha", "tolerance", "corner", "gain")),
        *_of_kind(ctypes.c_void_p, ("x", "y", "base")),
        *_of_kind(ctypes.c_double, NAMES),
        *_of_kind(ctypes.c_int, ("rounds", "large_band", "largest")),
        *_of_kind(ctypes.c_void_p, ("dsyrk", "dgemm", "dposv")),
    ]


class _Point(ctypes.Structure):
    _fields_ = [
        *_of_kind(ctypes.c_void_p, ARRAYS),
        *_of_kind(ctypes.c_double, ("past_dt", "dt", "drift", "largest")),
        *_of_kind(ctypes.c_int, ("stale", "satisfied", "finite", "pushed")),
    ]


def _routine(module: Any, name: str) -> int:
    """The address of a routine of scipy's BLAS or LAPACK."""
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


def suits(batch: Batch) -> bool:
    """Whether ``compiled.c`` can take the step."""
    u, beta = batch.now.u, batch.now.beta
    return u.is_contiguous() and beta.is_contiguous() and pairs.compiles(u.dtype, u.device, u.shape[-1])


_latest: tuple[FlowProblem | None, list] = (None, [])  # that of the step before, most often this one's too


def _described(problem: FlowProblem, h: int) -> list[tuple[_Problem, list[Tensor]]]:
    """The problem of each realisation, with the arrays that it points to."""
    global _latest
    described_problem, records = _latest
    if described_problem is not problem:
        records = []
        for arrays in zip(problem.xt.mT, problem.y, problem.base):
            records.append(_record(problem, h, [array.double().contiguous() for array in arrays]))
        _latest = (problem, records)
    return records


def _record(problem: FlowProblem, h: int, arrays: list[Tensor]) -> tuple[_Problem, list[Tensor]]:
    p, k = problem.xt.shape[1:]
    x, y, base = (array.data_ptr() for array in arrays)
    record = _Problem(
        h=h, k=k, p=p,
        alpha=problem.alpha, tolerance=problem.tolerance, corner=problem.corner, gain=GAIN,
        x=x, y=y, base=base,
        **{name: getattr(constants, name.upper()) for name in NAMES},
        rounds=constants.ROUNDS, large_band=constants.LARGE_BAND,
        largest=int((constants.LARGE / (8 * constants.SYSTEM)) ** 0.5),
        dsyrk=_routine(cython_blas, "dsyrk"), dgemm=_routine(cython_blas, "dgemm"),
        dposv=_routine(cython_lapack, "dposv"),
    )  # fmt: skip
    return record, arrays


def attempt(batch: Batch) -> tuple[Batch, Tensor] | None:
    """As ``step.advance``; ``None`` if a step needs that one, for its errors or its memory."""
    steps = _walk(batch, 1)
    return steps[0] if steps else None


def several(batch: Batch) -> list[tuple[Batch, Tensor]] | None:
    """What up to ``STEPS`` attempts in a row lead to: the batch after each step that moved, or one that waits.

    Only a single realisation takes several, and none before a fifth of its points are satisfied: there a step is dear,
    and the caller may stop at t*.
    """
    early = len(batch.t) > 1 or float((batch.now.m >= 1).double().mean()) < constants.EARLY
    if early:
        return _walk(batch, 1)
    step_bytes = 8 * (4 * batch.now.u.numel() + 4 * batch.now.m.numel())
    return _walk(batch, max(1, min(STEPS, HELD // step_bytes)))


def _walk(batch: Batch, limit: int) -> list[tuple[Batch, Tensor]] | None:
    """As :func:`several`, for at most ``limit`` attempts."""
    library = pairs.shared()
    now, past = batch.now, batch.past
    screen = batch.screen or unscreened(now.m)
    tensors = [now.u, now.beta, now.m, now.q, now.push, past.before, past.mean, screen.until]
    sizes = [tensor.numel() for tensor in tensors]
    rooms = [torch.empty(sum(sizes), dtype=torch.float64) for _ in range(limit)]
    starts = list(accumulate(sizes, initial=0))
    numbers = list(zip(past.dt.tolist(), batch.dt.tolist(), screen.drift.tolist()))
    lengths, counts, records = [], [], []
    for e, (problem, _) in enumerate(_described(batch.problem, now.u.shape[1])):
        offsets = [8 * e * size // len(numbers) for size in sizes]
        addresses = [tensor.data_ptr() + offset for tensor, offset in zip(tensors, offsets)]
        start = _Point(*addresses, *numbers[e])
        places = [8 * first + offset for first, offset in zip(starts, offsets)]
        ends = (_Point * limit)()
        for i, room in enumerate(rooms):
            ends[i] = _Point(*[room.data_ptr() + place for place in places])
        length = ctypes.c_double()
        counts.append(library.walk(ctypes.byref(problem), ctypes.byref(start), ends, limit, ctypes.byref(length)))
        if counts[-1] < 0:
            return None
        lengths.append(length.value)
        records.append(ends)
    moved = torch.tensor(counts) > 0
    after = [batch]
    for i in range(max(counts)):
        arrays = [part.view(tensor.shape) for part, tensor in zip(rooms[i].split(sizes), tensors)]
        after.append(_reached(after[-1], arrays, [ends[i] for ends in records]))
    last = replace(after[-1], dt=torch.tensor(lengths, dtype=torch.float64))
    if 0 in counts:
        waiting = replace(batch, dt=last.dt, screen=screen, signs=batch.described())
        last = choose(moved, last, waiting) if any(counts) else waiting
    return [(reached, moved) for reached in (*after[1:-1], last)]


def _reached(batch: Batch, arrays: list[Tensor], records: list[_Point]) -> Batch:
    """The batch after a step from ``batch``, of what the step has written."""
    u, beta, m, q, push, before, mean, until = arrays
    values = torch.tensor([_values(record) for record in records], dtype=torch.float64)
    past_dt, dt, drift, stale = values[:, : len(NUMBERS)].unbind(-1)
    now = Point(u, beta, m, q, push)
    past = Past(batch.now.u, batch.now.beta, mean, before, past_dt)
    screen = Screen(until, drift, stale)
    signs = values[:, len(NUMBERS) :]
    return Batch(batch.problem, now, past, batch.t + past_dt, dt, screen, signs)
