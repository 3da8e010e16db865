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

import copy
import ctypes
import operator
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
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
YES, NO = torch.tensor([True]), torch.tensor([False])
_Weights = Callable[[], tuple[Tensor, Tensor]]


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


def suits(batch: "Batch | Step") -> bool:
    """Whether ``compiled.c`` can take the step."""
    if isinstance(batch, Step):
        return True
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


class Step:
    """A step of one realisation that C has taken: its numbers are at hand, its arrays where somebody looks at them.

    It has those attributes of a :class:`Batch` that a flow reads at every step; :attr:`batch` is the whole one.
    """

    def __init__(self, problem: FlowProblem, room: "_Room", weights: _Weights, time: float, record: _Point) -> None:
        """From what C has written, the time at its end, and the weights where it began."""
        self.problem, self.room = problem, room
        self._weights = weights
        self.time = time
        self.past_dt, self.dt, self.drift, self._stale, *self._signs = _values(record)

    @property
    def t(self) -> Tensor:
        """As that of a batch."""
        return torch.tensor([self.time], dtype=torch.float64)

    @cached_property
    def m(self) -> Tensor:
        """The margins, of which satisfied ones may be of an earlier step."""
        return self.room.array(ARRAYS.index("m"))

    @property
    def fitted(self) -> Tensor:
        """Whether no margin is below 1 ``(1,)``."""
        return YES if self._signs[1] == self.problem.y.shape[-1] else NO

    def numbers(self) -> list[list[float]]:
        """See :meth:`Batch.numbers`."""
        return [[self.time, *self._signs]]

    @cached_property
    def batch(self) -> Batch:
        """The batch that the step has reached."""
        u, beta, m, q, push, before, mean, until = map(self.room.array, range(len(ARRAYS)))
        numbers = torch.tensor([self.past_dt, self.dt, self.drift, self._stale], dtype=torch.float64)
        past_dt, dt, drift, stale = numbers.split(1)
        now, past = Point(u, beta, m, q, push), Past(*self._weights(), mean, before, past_dt)
        signs = torch.tensor([self._signs], dtype=torch.float64)
        return Batch(self.problem, now, past, self.t, dt, Screen(until, drift, stale), signs)

    def waiting(self, dt: float) -> "Step":
        """The same place, with another length for the next step."""
        step = copy.copy(self)
        step.__dict__.pop("batch", None)
        step.dt = dt
        return step

    def part(self, rows: Tensor) -> Batch:
        """See :meth:`Batch.part`."""
        return self.batch.part(rows)


class _Layout:
    """Where the arrays of a step stand in one block of memory, each with its realisations."""

    def __init__(self, tensors: list[Tensor]) -> None:
        self.shapes = [tensor.shape for tensor in tensors]
        self.starts = list(accumulate((tensor.numel() for tensor in tensors), initial=0))
        count = len(tensors[0])
        parts = [(end - first) // count for first, end in zip(self.starts, self.starts[1:])]
        self.offsets = [[8 * e * part for part in parts] for e in range(count)]  # of a realisation, in an array
        self.places = [[8 * first + it for first, it in zip(self.starts, offsets)] for offsets in self.offsets]


class _Room:
    """Memory for the arrays that a step writes."""

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.memory = torch.empty(layout.starts[-1], dtype=torch.float64)

    def array(self, i: int) -> Tensor:
        """The ``i``-th of :data:`ARRAYS`."""
        first, end = self.layout.starts[i : i + 2]
        return self.memory[first:end].view(self.layout.shapes[i])

    def weights(self) -> tuple[Tensor, Tensor]:
        """``u`` and ``beta``."""
        return self.array(0), self.array(1)

    def point(self, e: int, *numbers: float) -> _Point:
        """The record of realisation ``e`` for C."""
        first = self.memory.data_ptr()
        return _Point(*[first + place for place in self.layout.places[e]], *numbers)


def attempt(batch: Batch) -> tuple[Batch, Tensor] | None:
    """As ``step.advance``; ``None`` if a step needs that one, for its errors or its memory."""
    steps = _walk(batch, 1)
    if steps is None:
        return None
    ((at, moved),) = steps
    return at.batch, moved


def several(at: Batch | Step) -> list[tuple[Batch | Step, Tensor]] | None:
    """What up to ``STEPS`` attempts in a row lead to: each step that moved, or the batch as it waits.

    Only a single realisation takes several, and none before a fifth of its points are satisfied: there a step is dear,
    and the caller may stop at t*.
    """
    (_, _, satisfied, *_), *others = at.numbers()
    p = at.problem.y.shape[-1]
    if others or satisfied < constants.EARLY * p:
        return _walk(at, 1)
    weights = at.room.layout.starts[1] if isinstance(at, Step) else at.now.u.numel()
    step_bytes = 8 * (4 * weights + 4 * p)
    return _walk(at, max(1, min(STEPS, HELD // step_bytes)))


def _walk(at: Batch | Step, limit: int) -> list[tuple[Batch | Step, Tensor]] | None:
    """As :func:`several`, for at most ``limit`` attempts."""
    library = pairs.shared()
    if isinstance(at, Batch) and at.screen is None:
        at = replace(at, screen=unscreened(at.now.m))  # held here, as C reads from it
    layout, starts, weights = _begun(at)
    rooms = [_Room(layout) for _ in range(limit)]
    lengths, counts, records = [], [], []
    for e, (problem, _) in enumerate(_described(at.problem, layout.shapes[0][1])):
        ends = (_Point * limit)(*[room.point(e) for room in rooms])
        length = ctypes.c_double()
        count = library.walk(ctypes.byref(problem), ctypes.byref(starts[e]), ends, limit, ctypes.byref(length))
        if count < 0:
            return None
        lengths.append(length.value)
        counts.append(count)
        records.append(ends)
    if len(records) == 1 and counts[0]:
        return _in_a_row(at, weights, rooms[: counts[0]], records[0], lengths[0])
    if isinstance(at, Step):
        return [(at.waiting(lengths[0]), NO)]
    batch = at
    moved = torch.tensor(counts) > 0
    waiting = replace(batch, dt=torch.tensor(lengths, dtype=torch.float64), signs=batch.described())
    if not any(counts):
        return [(waiting, moved)]
    reached = replace(_reached(batch, rooms[0], [ends[0] for ends in records]), dt=waiting.dt)
    return [(reached if all(counts) else choose(moved, reached, waiting), moved)]


def _begun(at: Batch | Step) -> tuple[_Layout, list[_Point], _Weights]:
    """Where steps from here write their arrays, the records of the realisations for C, and their weights."""
    if isinstance(at, Step):
        return at.room.layout, [at.room.point(0, at.past_dt, at.dt, at.drift)], at.room.weights
    now, past, screen = at.now, at.past, at.screen
    assert screen is not None
    tensors = [now.u, now.beta, now.m, now.q, now.push, past.before, past.mean, screen.until]
    layout = _Layout(tensors)
    numbers = zip(layout.offsets, past.dt.tolist(), at.dt.tolist(), screen.drift.tolist())
    addresses = [tensor.data_ptr() for tensor in tensors]
    records = [_Point(*map(operator.add, addresses, offsets), *rest) for offsets, *rest in numbers]
    return layout, records, lambda: (now.u, now.beta)


def _in_a_row(
    at: Batch | Step, weights: _Weights, rooms: list[_Room], records: Any, length: float
) -> list[tuple[Batch | Step, Tensor]]:
    """The steps of one realisation; the next one's length is ``length``."""
    time = at.numbers()[0][0]
    steps = []
    for room, record in zip(rooms, records):
        time += record.past_dt
        steps.append(Step(at.problem, room, weights, time, record))
        weights = room.weights
    steps[-1].dt = length
    return [(step, YES) for step in steps]


def _reached(batch: Batch, room: _Room, records: list[_Point]) -> Batch:
    """The batch of several realisations after a step from ``batch``, of what the step has written."""
    u, beta, m, q, push, before, mean, until = map(room.array, range(len(ARRAYS)))
    values = torch.tensor([_values(record) for record in records], dtype=torch.float64)
    past_dt, dt, drift, stale = values[:, : len(NUMBERS)].unbind(-1)
    now = Point(u, beta, m, q, push)
    past = Past(batch.now.u, batch.now.beta, mean, before, past_dt)
    screen = Screen(until, drift, stale)
    signs = values[:, len(NUMBERS) :]
    return Batch(batch.problem, now, past, batch.t + past_dt, dt, screen, signs)
