"""A symmetric matrix that stays on its device, with vectors of the CPU."""

import numpy as np
import torch
from scipy.linalg.blas import dsymv
from torch import Tensor


class Symmetric:
    """A symmetric float64 matrix ``(p, p)``; on the CPU a product reads one triangle.

    Attributes:
        diagonal: ``(p,)``.
    """

    def __init__(self, Q: Tensor) -> None:
        self._Q, self._here = Q, Q.numpy() if Q.device.type == "cpu" else None
        self.diagonal = Q.diagonal().cpu().numpy()

    def __len__(self) -> int:
        return len(self.diagonal)

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        """``Q x (p,)``."""
        if self._here is None:
            return (self._Q @ torch.from_numpy(x).to(self._Q.device)).cpu().numpy()
        return dsymv(1.0, self._here.T, x)

    def rows(self, i: np.ndarray) -> np.ndarray:
        """The rows ``i (s,)``: ``(s, p)``."""
        if self._here is None:
            return self._Q[torch.from_numpy(i).to(self._Q.device)].cpu().numpy()
        return self._here.take(i, 0)
