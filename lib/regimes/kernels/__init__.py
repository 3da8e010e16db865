"""Tangent kernels, finite and infinite width."""

from regimes.kernels.infinite import infinite_ntk
from regimes.kernels.residual import residual_ntk
from regimes.kernels.tangent import ntk, wide_one_hidden_ntk

__all__ = ["infinite_ntk", "ntk", "residual_ntk", "wide_one_hidden_ntk"]
