"""The norm of a label in a kernel's Hilbert space, where the sum over all components, ``Σ ω²/λ``, has no limit."""

import math

import torch
from scipy.optimize import brentq
from torch import Tensor

from regimes import validate


def least_norm(gram: Tensor, y: Tensor, left: float) -> float:
    """The least ``‖f‖²`` of a function at a mean square distance ``left`` from labels, times the mean of ``Θ(x, x)``.

    Ridge regression attains it: ``Σ ω² λ/(λ + δ)²`` with the ridge ``δ`` that leaves ``Σ ω² δ²/(λ + δ)²``.

    Args:
        gram: ``(n, n)``.
        y: labels ``(n,)`` in {-1, +1}.
        left: from 0.05 to 0.95; with less, eigenvalues of the size of rounding errors would matter.
    """
    validate.arrays(gram=("n n", gram), y=(f"{len(gram)}", y))
    validate.between(0.05, 0.95, left=left)
    values, vectors = torch.linalg.eigh(gram / gram.trace())
    values, squares = values.clamp(min=1e-15), (vectors.mT @ y.to(gram)).square() / len(y)
    rest = lambda log: float((squares / (1 + values / math.exp(log)).square()).sum()) - left  # noqa: E731
    ridge = math.exp(brentq(rest, -36, 5))
    return float((squares * values / (values + ridge).square()).sum())
