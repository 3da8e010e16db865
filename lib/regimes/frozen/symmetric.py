"""Products with a symmetric matrix and its submatrices; on the CPU every entry is read once.

One triangle is read there: a matrix that is symmetric up to round-off stands for the one with that triangle twice.
"""

import torch
from scipy.linalg.blas import dsymv
from torch import Tensor


def product(Q: Tensor, x: Tensor) -> Tensor:
    """``Q x (p,)`` for a symmetric float64 ``Q (p, p)``."""
    if Q.device.type != "cpu" or not len(x):
        return Q @ x
    return torch.from_numpy(dsymv(1.0, Q.numpy().T, x.numpy()))


def among(Q: Tensor, i: Tensor) -> Tensor:
    """``Q`` among the points ``i (s,)``: ``(s, s)``."""
    if Q.device.type != "cpu":
        return Q[i[:, None], i]
    return torch.from_numpy(Q.numpy().take(i.numpy(), 0).take(i.numpy(), 1))
