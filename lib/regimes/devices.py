"""Where tensors live: ``device="auto"`` picks CUDA where there is one; ``$REGIMES_DEVICE`` overrides it."""

import os

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
