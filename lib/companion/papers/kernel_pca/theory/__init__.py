"""Kernel principal components of tangent kernels: the label's norm, the even and the odd sector.

Source: paper A, Sec. 5 and App. D.
"""
