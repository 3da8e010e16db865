"""The inverse stereographic projection, which separates colinear points."""

import torch
from torch import Tensor


def stereographic(x: Tensor) -> Tensor:
    """Points of R^m on the unit sphere of R^(m+1): ``(2x, |x|² - 1) / (|x|² + 1)``.

    Args:
        x: ``(..., m)``.

    Returns:
        ``(..., m + 1)``, of unit norm; different points stay different.

    Source: paper C, Definition 6, seen from the pole ``(0, ..., 0, 1)``.
    """
    square = (x * x).sum(-1, keepdim=True)
    return torch.cat([2 * x, square - 1], dim=-1) / (square + 1)
