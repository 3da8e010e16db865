"""Kernel principal components of tangent kernels: learning with a frozen kernel, the label's norm, the two kinds.

Source: paper A, Sec. 5 and App. D.
"""
