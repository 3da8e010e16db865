"""Kernel principal components of tangent kernels, and what they tell of the labels.

``spectrum``: the components and what follows from them alone; ``information``: how much one tells of a label;
``diagnosis``: all of it for any network; ``two_kinds``: the components of a kernel that has lost most directions.

Source: paper A, Sec. 5, App. D and E.
"""
