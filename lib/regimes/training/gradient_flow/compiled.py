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
"""

import ctypes
from collections.abc import Iterable
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
ARRAYS = ("u", "beta", "m", "q", "push", "before", "mean", "until")


class _Problem(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("h", "k", "p")),
        *((name, ctypes.c_double) for name in ("alpha", "tolerance", "corner", "gain")),
        *((name, ctypes.c_void_p) for name in ("x", "y", "base")),
        *((name, ctypes.c_double) for name in NAMES),
        *((name, ctypes.c_int) for name in ("rounds", "large_band", "largest")),
        *((name, ctypes.c_void_p) for name in ("dsyrk", "dposv")),
    ]


class _Point(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ARRAYS),
        *((name, ctypes.c_double) for name in ("past_dt", "dt", "drift")),
        ("stale", ctypes.c_int),
    ]


def _routine(module: Any, name: str) -> int:
    """The address of a routine of scipy's BLAS or LAPACK."""
    capsule = module.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
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
    known, records = _latest
    if known is not problem:
        arrays = zip(problem.xt.mT, problem.y, problem.base)
        records = [_one(problem, h, [array.double().contiguous() for array in one]) for one in arrays]
        _latest = (problem, records)
    return records


def _one(problem: FlowProblem, h: int, arrays: list[Tensor]) -> tuple[_Problem, list[Tensor]]:
    p, k = problem.xt.shape[1:]
    x, y, base = (array.data_ptr() for array in arrays)
    record = _Problem(
        h=h, k=k, p=p,
        alpha=problem.alpha, tolerance=problem.tolerance, corner=problem.corner, gain=GAIN,
        x=x, y=y, base=base,
        **{name: getattr(constants, name.upper()) for name in NAMES},
        rounds=constants.ROUNDS, large_band=constants.LARGE_BAND,
        largest=int((constants.LARGE / (8 * constants.SYSTEM)) ** 0.5),
        dsyrk=_routine(cython_blas, "dsyrk"), dposv=_routine(cython_lapack, "dposv"),
    )  # fmt: skip
    return record, arrays


def _records(tensors: list[Tensor], **numbers: list[float]) -> list[_Point]:
    """The records of a batch's realisations, from its arrays in the order of ``ARRAYS`` and its numbers."""
    starts = [tensor.data_ptr() for tensor in tensors]
    sizes = [tensor[0].numel() * tensor.element_size() for tensor in tensors]
    places = [[start + e * size for start, size in zip(starts, sizes)] for e in range(len(tensors[0]))]
    return [_Point(*place, **{name: values[e] for name, values in numbers.items()}) for e, place in enumerate(places)]


def attempt(batch: Batch) -> tuple[Batch, Tensor] | None:
    """As ``step.advance``; ``None`` if a step needs that one, for its errors or its memory."""
    found = pairs.routines()
    assert found is not None
    now, past, screen = batch.now, batch.past, batch.screen or unscreened(batch.now.m)
    here = [now.u, now.beta, now.m, now.q, now.push, past.before, past.mean, screen.until]
    there = [torch.empty_like(tensor) for tensor in here]
    starts = _records(here, past_dt=past.dt.tolist(), dt=batch.dt.tolist(), drift=screen.drift.tolist())
    ends = _records(there)
    codes = []
    for (problem, _), start, end in zip(_described(batch.problem, now.u.shape[1]), starts, ends):
        codes.append(found.advance(ctypes.byref(problem), ctypes.byref(start), ctypes.byref(end)))
        if codes[-1] == ELSEWHERE:
            return None
    moved = torch.tensor([code == MOVED for code in codes])
    waiting = Batch(batch.problem, now, past, batch.t, _numbers(end.dt for end in ends), screen)
    if MOVED not in codes:
        return waiting, moved
    u, beta, m, q, push, before, mean, until = there
    after = Batch(
        batch.problem, Point(u, beta, m, q, push), Past(now.u, now.beta, mean, before, batch.dt),
        batch.t + batch.dt, waiting.dt,
        Screen(until, _numbers(end.drift for end in ends), _numbers(end.stale for end in ends)),
    )  # fmt: skip
    return (choose(moved, after, waiting) if REFUSED in codes else after), moved


def _numbers(values: Iterable[float]) -> Tensor:
    """One number for each realisation ``(e,)``, float64."""
    return torch.tensor(list(values), dtype=torch.float64)
