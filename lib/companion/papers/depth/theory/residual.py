r"""One number for depth, ``τ``: the sum of the shares that a network's layers have in their outputs.

A layer of share ``s`` moves a small angle by ``s phi²/(3π)`` and multiplies the kernel by ``1 - s phi/π``
(:mod:`regimes.kernels.residual`). So with ``M = 3π/phi`` it adds ``s`` to ``M`` and ``s/4`` to ``S``, whatever its
kind: ``4 S = M - s/2`` up to ``O(1/M)``, while the diagonal of ``4 S`` is ``4τ``. Beside the network's own kernel
``c = M - τ`` regression therefore has the ridge ``3τ``. It has no logarithm: that of a plain network beside a kernel
that does not depend on depth, ``3L - (3/2) ln L``, is in ``M = τ + (3/2) Σ s_l²/τ_l + const`` and comes from large
steps.

Source: derived here. Belfer et al. 2021 and Tian and Yu 2024 have for which scales of the branches residual kernels get
spiky with depth.
"""

import math

import numpy as np
import torch
from torch import Tensor

from companion.papers.depth.theory import pairs
from regimes import validate
from regimes.kernels import residual
from regimes.validate import InputError

NORM_AFTER = "norm after the ReLU"
ARCHITECTURES = (
    "plain",
    "skip, scale 1",
    "skip, scale 0.3",
    "skip, scale 1/√L",
    "plain and skip in turn",
    "pre-norm",
    "pre-norm, scale 0.3",
    NORM_AFTER,
)
IN_TURN = 0.3  # scale of the skip layers between plain ones


def layer_shares(architecture: str, depth: int) -> np.ndarray:
    """Shares of the layers after the linear input layer, ``(depth - 1,)``, as ``regimes.residual_ntk`` takes them.

    With layers ``x + β W σ(x)``: ``skip`` of a scale ``β``, or ``plain and skip in turn`` (``β = 0.3``). ``pre-norm``
    has ``x + β W σ(LN x)``. A ``norm after the ReLU``, without a skip, has shares of 1, as a ``plain`` network.

    Source: derived here (``regimes.kernels.residual``).
    """
    validate.one_of(ARCHITECTURES, architecture=architecture)
    validate.integer(2, depth=depth)
    if architecture in ("plain", NORM_AFTER):
        return np.ones(depth - 1)
    if architecture == "plain and skip in turn":
        between = residual.skip_shares(2, IN_TURN)[0]
        return np.where(np.arange(depth - 1) % 2 == 0, 1.0, between)
    kind, _, words = architecture.partition(", scale ")
    scale = 1 / math.sqrt(depth) if words == "1/√L" else float(words or 1)
    return (residual.skip_shares if kind == "skip" else residual.pre_norm_shares)(depth, scale)


def kernel_and_angle(phi: Tensor, *, depth: int, architecture: str) -> tuple[Tensor, Tensor]:
    """The normalised kernel at angles ``phi`` of inputs, and the angle after the last layer. Source: module head."""
    shares = layer_shares(architecture, depth)
    return residual.kernel_of_angle(phi, shares, centred=architecture == NORM_AFTER)


def ridge_reading(x: Tensor, *, depth: int, architecture: str) -> dict[str, float]:
    """The ridge that unit points show beside the kernel of their own network, ``c = 3π/phi_L - τ``.

    With the fit ``Θ̄_ij ≈ A + B c_ij`` over pairs, regression with ``Θ̄`` is one with ``c + A/B`` and the ``ridge``
    ``(1 - A)/B``. ``smallest``: the smallest eigenvalue of the kernel matrix over the mean of its other entries, which
    is 3 where all pairs have merged. ``tau``: ``τ``. With a norm after the ReLU pairs part, and the ridge is NaN.

    Args:
        x: unit points ``(n, d)``, float64, no two of them equal.
        depth: ``L``.
        architecture: one of ``ARCHITECTURES``.

    Source: derived here (module head).
    """
    pairs.needs_distinct(x)
    if len(x) < 3:
        raise InputError(f"points must be three or more, to fit a line to their pairs, got {len(x)}")
    upper = torch.triu_indices(len(x), len(x), 1)
    phi = torch.acos((x @ x.mT)[upper[0], upper[1]].clamp(-1, 1))
    entries, angles = kernel_and_angle(phi, depth=depth, architecture=architecture)
    tau = 1 + float(layer_shares(architecture, depth).sum())
    ridge = math.nan
    if architecture != NORM_AFTER:  # whose pairs part
        slope, level = np.polyfit((3 * math.pi / angles).numpy() - tau, entries.numpy(), 1)
        ridge = float((1 - level) / slope)
    gram = torch.eye(len(x), dtype=x.dtype)
    gram[upper[0], upper[1]] = gram[upper[1], upper[0]] = entries
    smallest = float(torch.linalg.eigvalsh(gram)[0] / entries.mean())
    return {"tau": tau, "ridge": ridge, "smallest": smallest}
