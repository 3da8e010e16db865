"""Tangent kernels, finite and infinite width."""

from regimes.kernels.finite import ntk, wide_one_hidden_ntk
from regimes.kernels.infinite import infinite_diagonal, infinite_ntk

__all__ = ["infinite_diagonal", "infinite_ntk", "ntk", "wide_one_hidden_ntk"]
