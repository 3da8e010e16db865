"""Devices of tensors: ``device="auto"`` picks CUDA if the machine has it; ``$REGIMES_DEVICE`` overrides it.

Within ``allowed("cpu")``, for studies that gain nothing from CUDA, ``"auto"`` is the CPU on every machine; within
``allowed("any", pairs)`` it is the CPU for less than ``WORTH`` pairs.
"""

import contextlib
import ctypes
import functools
import math
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import torch

from regimes.validate import InputError

# pairs of neurons and points, of all networks together, from which a step of the flow takes a card less time than one
# core: 3.3 ms of launches and 12 ps a pair against 2.6 ns a pair, by the rows of results/gpu
WORTH = 1_300_000
HELD = 2**32  # bytes of arrays that are made together on the CPU
_ALLOWED: ContextVar[str] = ContextVar("allowed", default="any")
_PICKED: ContextVar[set[torch.device] | None] = ContextVar("picked", default=None)


def pick(device: str | torch.device = "auto") -> torch.device:
    """The device a name stands for.

    Args:
        device: ``"auto"`` (``$REGIMES_DEVICE`` if set, else CUDA if present and ``allowed``, else the CPU), ``"cpu"``,
            ``"cuda"`` or ``"cuda:N"``.
    """
    if device == "auto" and _ALLOWED.get() == "cpu":
        device = "cpu"
    elif device == "auto":
        device = os.environ.get("REGIMES_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", str(device)):
        raise InputError(f"device must be auto, cpu, cuda or cuda:N, got {str(device)!r}")
    picked = torch.device(device)
    if picked.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (picked.index or 0) >= count:
            raise InputError(f"device {str(device)!r} was asked for, but this machine has {count or 'no'} CUDA device")
        _needs_kernels(picked)
    used = _PICKED.get()
    if used is not None:
        used.add(picked)
    return picked


@functools.cache
def _needs_kernels(device: torch.device) -> None:
    """Refuses a card for which this build of torch has no kernels; turns TF32's ten bits off where they are on."""
    torch.backends.cudnn.allow_tf32 = False
    try:
        torch.ones(1, device=device).add_(1.0)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"device '{device}' cannot be used: {reason} (REGIMES_DEVICE=cpu does without)") from None


def room(device: torch.device) -> int:
    """Bytes for arrays that are made together: half of a GPU's memory, ``HELD`` on the CPU.

    Rounding depends on what is computed together. So this is a part of all memory, not of what happens to be free.
    """
    return torch.cuda.mem_get_info(device)[1] // 2 if device.type == "cuda" else HELD


@contextlib.contextmanager
def allowed(device: str, pairs: float = math.inf) -> Iterator[set[torch.device]]:
    """A context in which code may use ``device`` (``"cpu"`` or ``"any"``); gives the set of devices that it picks.

    The set of an outer block includes those of the blocks inside.

    Args:
        device: what it may use.
        pairs: of neurons and points that it computes together. Fewer than ``WORTH`` are the CPU's, unless
            ``$REGIMES_DEVICE`` names another device.
    """
    if pairs < WORTH and not os.environ.get("REGIMES_DEVICE"):
        device = "cpu"
    used: set[torch.device] = set()
    outer = _PICKED.get()
    tokens = _ALLOWED.set(device), _PICKED.set(used)
    try:
        yield used
    finally:
        _ALLOWED.reset(tokens[0])
        _PICKED.reset(tokens[1])
        if outer is not None:
            outer |= used


def kind(device: str, pairs: float = math.inf) -> str:
    """The class of device, ``"cpu"`` or ``"cuda"``, on which this machine runs what may use ``device``.

    Args:
        device: ``"cpu"`` or ``"any"``.
        pairs: as in :func:`allowed`.
    """
    with allowed(device, pairs):
        return pick().type


def names(used: set[torch.device]) -> str:
    """The names of the CUDA devices among those used, else that of the processor."""
    cuda = sorted({torch.cuda.get_device_name(device) for device in used if device.type == "cuda"})
    return ", ".join(cuda) or _processor()


@functools.cache
def _processor() -> str:
    try:
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        match = None
    return match[1] if match else platform.processor() or platform.machine()


def reuse_memory() -> None:
    """Lets this process keep the memory it frees, which spares large arrays on the CPU their page faults.

    Page faults are a fifth of the time of a loop over arrays of some MB. Only glibc; elsewhere it does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3
        mallopt(mmap_threshold, 32 << 20)  # the largest that glibc takes
        mallopt(trim_threshold, 1 << 30)
