"""Where tensors live: ``device="auto"`` picks CUDA where there is one; ``$REGIMES_DEVICE`` overrides it."""

import ctypes
import os
import sys

import torch

from regimes.check import InputError


def pick(device: str | torch.device = "auto") -> torch.device:
    """The device a name stands for.

    Args:
        device: ``"auto"`` (CUDA if present, else CPU; ``$REGIMES_DEVICE`` decides where set), or any torch device name.

    Raises:
        InputError: for CUDA on a machine without it, or a name torch does not know.
    """
    if device == "auto":
        device = os.environ.get("REGIMES_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        picked = torch.device(device)
    except RuntimeError:
        raise InputError(f"device must be auto, cpu, cuda or cuda:N, got {device!r}") from None
    if picked.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device!r} was asked for, but this machine has no CUDA device")
    return picked


def reuse_memory() -> None:
    """Lets this process keep the memory it frees, so that large arrays on the CPU come without page faults.

    A loop that makes and drops arrays of some MB otherwise spends a fifth of its time on them. glibc only; elsewhere
    it does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        trim_threshold, mmap_threshold = -1, -3
        mallopt(mmap_threshold, 32 << 20)  # the largest that glibc takes
        mallopt(trim_threshold, 1 << 30)
