"""Alignment: do a layer's weights and the gradients of the network by that layer's inputs pick the same directions?

:mod:`~regimes.measures.matrices` measures it on any network: the neural feature matrix (NFM), the average
gradient outer product (AGOP), the pre-activation tangent kernel (PTK) between them, their correlations, uncentred
(UC-NFA), centred (C-NFA) and otherwise, and a random matrix of the same spectrum.

Conventions of all modules: a layer is ``h' = W x`` with weights ``W (..., k, d)`` that include the layer's multiplier,
inputs ``x (..., n, d)`` at ``n`` points, and ``δ = ∂f/∂h' (..., n, k)``. Leading axes are independent realisations:
seeds, scales, or both.

Source: paper D.
"""
