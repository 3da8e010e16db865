"""The inverse stereographic projection, which separates colinear points."""

import torch
from torch import Tensor

from regimes import validate


def stereographic(x: Tensor) -> Tensor:
    """Points of R^m on the unit sphere of R^(m+1): ``(2x, |x|² - 1) / (|x|² + 1)``.

    Args:
        x: ``(..., m)``, of any size.

    Returns:
        ``(..., m + 1)``, of unit norm; different points stay different, up to precision.

    Source: paper C, Definition 6, seen from the pole ``(0, ..., 0, 1)``.
    """
    validate.arrays(x=("... m", x))
    scale = x.abs().amax(-1, keepdim=True).clamp_min(1)  # squares of distant points would overflow
    x = x / scale
    unit = scale**-2
    square = (x * x).sum(-1, keepdim=True)
    return torch.cat([2 * x / scale, square - unit], dim=-1) / (square + unit)
