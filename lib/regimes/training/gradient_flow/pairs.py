"""Sums over all pairs of neurons and points, in which no array holds an entry for a pair, where they are compiled.

On the CPU that is ``compiled.c``, built as :mod:`regimes.compiler` says; on CUDA ``fused``, where there is Triton.
"""

import ctypes
import functools
import importlib.util
import os
import warnings
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

from regimes import compiler
from regimes.models.one_hidden import GAIN

FILES = ("compiled.c", "threads.h", "products.h", "box.h", "band.h")  # the first is compiled
SOURCES = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in FILES}
CODE = compiler.Code(
    "flow",
    SOURCES,
    (*compiler.FLAGS, "-pthread"),
    "the gradient flow takes its steps on tensors, not in C, several times as slowly",
)
MOST = 128  # inputs of a neuron, as in products.h
MOST_FUSED = 32  # of a kernel, which is unrolled over them


@functools.cache
def routines() -> ctypes.CDLL | None:
    """The compiled code, if there is a compiler."""
    return CODE.load()


@functools.cache
def kernels(device: torch.device) -> ModuleType | None:
    """The sums for a CUDA device, where Triton is, which torch brings for CUDA; one line of warning if it fails there.

    ``REGIMES_COMPILED=0`` turns them off, too.
    """
    if device.type != "cuda" or os.environ.get("REGIMES_COMPILED") == "0" or not importlib.util.find_spec("triton"):
        return None
    try:
        from regimes.training.gradient_flow import fused

        one = torch.ones(1, 1, 1, device=device)
        fused.own(one, one, one[0]).item()
    except Exception as error:  # it needs a C compiler, and a card that it knows
        why = str(error).partition("\n")[0]
        warnings.warn(f"sums over pairs on {device} are taken on tensors: {type(error).__name__}: {why}", stacklevel=2)
        return None
    return fused


def fuses(xt: Tensor) -> ModuleType | None:
    """The kernels that sum over pairs with these inputs ``(e, p, k)``, if they do."""
    return kernels(xt.device) if xt.shape[-1] <= MOST_FUSED else None


def holds_none(dtype: torch.dtype, device: torch.device, k: int) -> bool:
    """Whether no array holds an entry for a pair: in C or in a kernel."""
    return compiles(dtype, device, k) or (k <= MOST_FUSED and kernels(device) is not None)


_copied = False  # of another process, whose threads it has not


def _after_fork() -> None:
    global _copied
    _copied = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def shared() -> ctypes.CDLL:
    """The compiled code; the sums of this thread's next calls are shared by as many threads as torch's, if large."""
    library = routines()
    assert library is not None
    library.use(1 if _copied else torch.get_num_threads())
    return library


def compiles(dtype: torch.dtype, device: torch.device, k: int) -> bool:
    """Whether networks of this precision, device and number of inputs are computed in C."""
    return dtype == torch.float64 and device.type == "cpu" and k <= MOST and routines() is not None


def outputs(xt: Tensor, gates: Tensor, slopes: Tensor) -> Tensor:
    r"""``(e, p)``: :math:`\sum_n [g_n\cdot x_\mu > 0]\, s_n\cdot x_\mu`, with the gates of weights ``g``, slopes ``s``.

    Args:
        xt: inputs ``(e, p, k)``.
        gates: weights ``g (e, h, k)``, whose gates are open where their product with an input is positive.
        slopes: ``s (e, h, k)``; a network's own outputs have :math:`g_n = u_n` and :math:`s_n = \beta_n u_n`.
    """
    if fused := fuses(xt):
        return fused.outputs(xt, gates, slopes)
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        return ((slopes.mT @ (gates @ xt.mT).gt_(0)) * xt.mT).sum(1)
    out = torch.empty(xt.shape[:2], dtype=xt.dtype)
    for f, *arrays in zip(out, xt.mT, gates, slopes):
        _call("pair_outputs", xt, gates, arrays, (f,))
    return out


def margins(xt: Tensor, y: Tensor, base: Tensor, alpha: float, u: Tensor, beta: Tensor) -> Tensor:
    r"""``m (e, p)``: :math:`\alpha\,(y_\mu f(x_\mu) - b_\mu)` with the network's own gates; in C, a step's own bits.

    Args:
        xt: inputs ``(e, p, k)``.
        y: labels ``(e, p)``.
        base: ``b (e, p)``.
        alpha: scale of the predictor.
        u: weights ``(e, h, k)``.
        beta: last-layer weights ``(e, h)``.
    """
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        fused = fuses(xt)
        f = fused.own(xt, u, beta) if fused else outputs(xt, u, u * beta.unsqueeze(-1))
        return alpha * (y * f * (GAIN / u.shape[1]) - base)
    out = torch.empty(xt.shape[:2], dtype=xt.dtype)
    for m, *arrays in zip(out, xt.mT, u, beta, y, base):
        _call("pair_margins", xt, u, arrays, (ctypes.c_double(alpha), ctypes.c_double(GAIN), m))
    return out


def field(xt: Tensor, c: Tensor, weights: Tensor, scale: float) -> Tensor:
    r"""``(e, h, k)``: scale :math:`\sum_\mu [u_n\cdot x_\mu > 0]\, c_\mu x_\mu` for weights ``u (e, h, k)``.

    Args:
        xt: inputs ``(e, p, k)``.
        c: numbers ``(e, p)``.
        weights: ``u (e, h, k)``.
        scale: a factor.
    """
    if fused := fuses(xt):
        return fused.field(xt, c, weights, scale)
    if not compiles(xt.dtype, xt.device, xt.shape[-1]):
        return (weights @ xt.mT).gt_(0) @ (xt * c.unsqueeze(-1) * scale)
    out = torch.empty_like(weights, memory_format=torch.contiguous_format)
    for G, *arrays in zip(out, xt.mT, c, weights):
        _call("pair_field", xt, weights, arrays, (ctypes.c_double(scale), G))
    return out


def _call(name: str, xt: Tensor, weights: Tensor, arrays: list[Tensor], others: tuple) -> None:
    """Calls a routine with the sizes, the contiguous arrays of one realisation, and the other arguments."""
    contiguous = [array.double().contiguous() for array in arrays]
    arguments = [_pointer(value) if isinstance(value, Tensor) else value for value in (*contiguous, *others)]
    sizes = [ctypes.c_int(size) for size in (xt.shape[1], weights.shape[1], weights.shape[2])]
    if not getattr(shared(), name)(*sizes, *arguments):
        raise MemoryError(f"no memory for {xt.shape[1]} points of {xt.shape[2]} inputs")


def _pointer(array: Tensor) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data_ptr())
