"""The step in C: that of ``step`` to rounding, and several times as fast, if there is a compiler.

It takes the steps of one realisation in float64 on the CPU. Everything else, and machines without a compiler, use the
reference :mod:`regimes.training.gradient_flow.step`; both solve the box problem of a step to the same tolerance.
``REGIMES_COMPILED=0`` turns it off. Compiled code is kept in ``REGIMES_CACHE``, by default ``~/.cache/regimes``.
"""

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from scipy.linalg import cython_blas, cython_lapack
from torch import Tensor

from regimes.models.one_hidden import GAIN
from regimes.training.gradient_flow import constants
from regimes.training.gradient_flow.batch import Batch, FlowProblem, Past, Point

SOURCE = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
MOST = 128  # inputs of a neuron, as in compiled.c
NAMES = (
    "early early_share margin_share safety grow shrink refused reach kkt exact definite band apart hopeless far".split()
)
REFUSED, MOVED, ELSEWHERE = range(3)


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
        *((name, ctypes.c_void_p) for name in ("u", "beta", "m", "q", "push", "before", "mean")),
        *((name, ctypes.c_double) for name in ("past_dt", "dt")),
    ]


@functools.cache
def routines() -> ctypes.CDLL | None:
    """The compiled step; ``None`` without a compiler, or if it is turned off."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or os.environ.get("REGIMES_COMPILED") == "0":
        return None
    folder = Path(os.environ.get("REGIMES_CACHE") or Path.home() / ".cache" / "regimes")
    key = hashlib.sha256("\n".join([SOURCE, *FLAGS, _processor()]).encode()).hexdigest()[:16]
    path = folder / f"flow-{key}.so"
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _compile(compiler, path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.CalledProcessError) as error:
        warnings.warn(f"the compiled step of the gradient flow is not used: {error}", stacklevel=2)
        return None


def _processor() -> str:
    """The compiler's target: the machine's name and its instruction sets."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    return platform.platform() + next((line for line in lines if line.startswith(("flags", "Features"))), "")


def _compile(compiler: str, path: Path) -> None:
    """Compiles to ``path``, atomically for other processes."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, made = Path(folder, "compiled.c"), Path(folder, "flow.so")
        source.write_text(SOURCE, encoding="utf-8")
        subprocess.run([compiler, *FLAGS, "-o", made, source, "-lm"], check=True, capture_output=True)
        made.replace(path)


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
    u, problem = batch.now.u, batch.problem
    plain = len(u) == 1 and u.device.type == "cpu" and u.shape[-1] <= MOST
    arrays = (u, batch.now.beta, problem.xt.mT, problem.y, problem.base)
    rows = plain and all(array.dtype == torch.float64 and array.is_contiguous() for array in arrays)
    return rows and routines() is not None


_latest: tuple[FlowProblem | None, _Problem] = (None, _Problem())  # that of the step before, most often this one's too


def _described(problem: FlowProblem, h: int) -> _Problem:
    global _latest
    known, record = _latest
    if known is not problem:
        p, k = problem.xt.shape[1:]
        record = _Problem(
            h=h, k=k, p=p,
            alpha=problem.alpha, tolerance=problem.tolerance, corner=problem.corner, gain=GAIN,
            x=problem.xt.mT.data_ptr(), y=problem.y.data_ptr(), base=problem.base.data_ptr(),
            **{name: getattr(constants, name.upper()) for name in NAMES},
            rounds=constants.ROUNDS, large_band=constants.LARGE_BAND,
            largest=int((constants.LARGE / (8 * constants.SYSTEM)) ** 0.5),
            dsyrk=_routine(cython_blas, "dsyrk"), dposv=_routine(cython_lapack, "dposv"),
        )  # fmt: skip
        _latest = (problem, record)
    return record


def _record(at: Point, mean: Tensor, before: Tensor, past_dt: float, dt: float) -> _Point:
    tensors = {"u": at.u, "beta": at.beta, "m": at.m, "q": at.q, "push": at.push, "before": before, "mean": mean}
    return _Point(**{name: tensor.data_ptr() for name, tensor in tensors.items()}, past_dt=past_dt, dt=dt)


def attempt(batch: Batch) -> tuple[Batch, Tensor] | None:
    """As ``step.advance``; ``None`` if a step needs that one, for its errors or its memory."""
    now, past = batch.now, batch.past
    new = Point(*(torch.empty_like(value) for value in (now.u, now.beta, now.m, now.q, now.push)))
    mean, before = torch.empty_like(now.push), torch.empty_like(now.push)
    start = _record(now, past.mean, past.before, float(past.dt), float(batch.dt))
    end = _record(new, mean, before, 0.0, 0.0)
    found = routines()
    assert found is not None
    code = found.advance(
        ctypes.byref(_described(batch.problem, now.u.shape[1])), ctypes.byref(start), ctypes.byref(end)
    )
    if code == ELSEWHERE:
        return None
    dt = torch.full_like(batch.dt, end.dt)
    moved = torch.tensor([code == MOVED])
    if code == REFUSED:
        return Batch(batch.problem, now, past, batch.t, dt), moved
    return Batch(batch.problem, new, Past(now.u, now.beta, mean, before, batch.dt), batch.t + batch.dt, dt), moved
