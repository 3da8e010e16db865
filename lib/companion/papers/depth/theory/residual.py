"""The ridge of deep ReLU networks with skip connections: it grows with depth unless the branches shrink as ``1/√L``.

A residual layer ``x -> x + β W σ(x)`` multiplies the variance by ``1 + β²``. Over that factor its kernel is that of
``√(1 - s) x + √s W σ(x)`` with the share ``s = β²/(1 + β²)``, whose recursion is closed
(``universality.along_depth``). Small angles shrink by ``s phi²/(3π)`` per layer, so that pairs merge ``1/s`` times
slower than in a plain network: against the plain kernel ``c`` one expects a ridge of ``3 s L``. It stays finite for
``β = 1/√L``.

Source: derived here; in Belfer et al. 2021 residual kernels get spiky with depth, or do not, by the branches' scale.
"""

import numpy as np
import torch
from torch import Tensor

from companion.papers.depth.theory import deep_limit, pairs, universality
from regimes import validate
from regimes.validate import InputError

BRANCHES = ("plain", "residual, scale 1", "residual, scale 1/√L")


def branch_share(branch: str, depth: int) -> float:
    """Variance that a layer's branch has in its output, ``β²/(1 + β²)``; 1 in a ``plain`` network."""
    validate.one_of(BRANCHES, branch=branch)
    validate.integer(1, depth=depth)
    return {"plain": 1.0, "residual, scale 1": 1 / 2, "residual, scale 1/√L": 1 / (depth + 1)}[branch]


def residual_kernel(rho: Tensor, *, depth: int, share: float) -> Tensor:
    """The normalised tangent kernel of residual networks of infinite width, by the inputs' correlation.

    The input layer is linear; ``depth - 1`` residual layers follow, all of them trained.

    Args:
        rho: inner products of unit inputs, float64, any shape.
        depth: ``L``.
        share: of the branch (:func:`branch_share`).

    Source: derived here (module head); paper C, Prop. 5 at the share 1.
    """
    validate.arrays(rho=("...", rho))
    flat = rho.clamp(-1, 1).reshape(-1).numpy()
    return torch.from_numpy(universality.along_depth(universality.kinked(share=share), flat, [depth])[0]).reshape(
        rho.shape
    )


def ridge_reading(x: Tensor, *, depth: int, branch: str) -> dict[str, float]:
    """What unit points at large angles show of a ridge beside the kernel ``c`` of plain networks.

    With the fit ``Θ̄_ij ≈ A + B c_ij`` over pairs, regression with ``Θ̄`` is one with ``c + A/B`` and the ``ridge``
    ``(1 - A)/B``. ``smallest``: the smallest eigenvalue of the kernel matrix over the mean of its other entries, which
    is 3 where all pairs have merged.

    Args:
        x: unit points ``(n, d)``, float64, no two of them equal.
        depth: ``L``.
        branch: one of ``BRANCHES``.

    Source: derived here; in a plain network the ridge is about ``3L`` (``deep_limit.depth_ridge``).
    """
    pairs.needs_distinct(x)
    if len(x) < 3:
        raise InputError(f"points must be three or more, to fit a line to their pairs, got {len(x)}")
    upper = torch.triu_indices(len(x), len(x), 1)
    c = deep_limit.offsets(x)[upper[0], upper[1]].numpy()
    entries = residual_kernel((x @ x.mT)[upper[0], upper[1]], depth=depth, share=branch_share(branch, depth))
    slope, level = np.polyfit(c, entries.numpy(), 1)
    gram = torch.eye(len(x), dtype=x.dtype)
    gram[upper[0], upper[1]] = gram[upper[1], upper[0]] = entries
    smallest = float(torch.linalg.eigvalsh(gram)[0] / entries.mean())
    return {"ridge": (1 - level) / slope, "smallest": smallest}


def small_angle_ridge(branch: str, depth: int) -> float:
    """What one expects at large depth for a share ``s`` that does not shrink, ``3 s L``: ``1/s`` layers do as one.

    Source: derived here (module head).
    """
    return 3 * branch_share(branch, depth) * depth
