"""Alignment: whether a layer's weights and the network's gradients with respect to its inputs pick the same directions.

:mod:`~regimes.measures.matrices` measures it on any network: the neural feature matrix (NFM), the average gradient
outer product (AGOP), the pre-activation tangent kernel (PTK) that relates them, and their uncentred (UC-NFA) and
centred (C-NFA) correlations.

In all modules a layer is ``h' = W x``, with weights ``W (..., k, d)`` that include the layer's multiplier, inputs
``x (..., n, d)`` at ``n`` points, and ``δ = ∂f/∂h' (..., n, k)``. Leading axes are independent realisations: seeds,
scales, or both.

Source: paper D.
"""
