"""Tangent kernels, finite and infinite width."""
