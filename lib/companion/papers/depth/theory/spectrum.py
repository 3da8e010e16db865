"""The kernel matrix and its limit 11ᵀ/4 + 3I/4: smallest eigenvalue, projectors, the projection operator.

Kernel matrices are ``(n, n)``, float64, with unit diagonal.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

from companion.papers.depth.theory import pairs
from companion.papers.depth.theory.regression import needs_symmetric
from regimes import validate
from regimes.kernels import infinite_ntk
from regimes.validate import InputError

POWER_STEPS = 1000  # at most, of the power method for the top eigenvector
SHIFT = 1e-12  # added to the diagonal and taken off again, so that a singular matrix can be factorised


def smallest_kernel_eigenvalue(x: Tensor, *, depth: int) -> float:
    """The smallest eigenvalue of ``Θ̄^(L)(X, X)`` to about 1e-12, by Lanczos on its inverse.

    It takes one Cholesky factorisation in place. Equal points, points off the sphere, and a matrix that does not fit
    into memory are refused.

    Args:
        x: distinct unit points ``(n, d)``.
        depth: ``L``.

    Source: paper C, Fig. 7.
    """
    n = len(x)
    pairs.needs_sphere(x)
    pairs.needs_distinct(x)
    validate.memory(eigenvalue_bytes(n), f"the smallest eigenvalue for {n} points", "cpu")
    gram = infinite_ntk(x, depth=depth)
    if n < 32:
        return float(torch.linalg.eigvalsh(gram)[0])
    gram.diagonal().add_(SHIFT)
    # the transposed view is the order LAPACK wants, so that nothing is copied
    factor, failed = linalg.lapack.dpotrf(gram.cpu().numpy().T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise InputError(f"the matrix of {n} points is not positive semi-definite (pivot {failed})")
    inverse = LinearOperator((n, n), matvec=lambda b: linalg.cho_solve((factor, False), b, check_finite=False))
    start = np.random.default_rng(0).standard_normal(n)
    # the error of the eigenvalue is quadratic in that of the vector, which tol bounds
    (largest,) = eigsh(inverse, k=1, which="LM", v0=start, tol=1e-8, ncv=min(60, n), return_eigenvectors=False)
    return float(1 / largest) - SHIFT


def eigenvalue_bytes(n: int) -> int:
    """Peak memory of ``smallest_kernel_eigenvalue``: the matrix, factorised in place, and the checks' temporaries."""
    return 8 * n * n + 8 * n * 64 + 2**25


def projector_distance(gram: Tensor) -> float:
    """``||P^(L) - P||_2`` between the projectors on the top eigenvector of ``gram`` and on ``1/√n``.

    It is the sine of the angle between the eigenvectors, also for the projectors on the two complements.

    Source: paper C, Theorem 3 a) and eq. (4).
    """
    _needs_kernel(gram)
    even = torch.full((len(gram),), len(gram) ** -0.5, dtype=gram.dtype, device=gram.device)
    # the even vector alone would never leave itself where it is an eigenvector, but not the top one
    start = torch.from_numpy(np.random.default_rng(0).standard_normal(len(gram))).to(gram)
    top = even + 0.1 * start / start.norm()
    tilt = torch.zeros_like(even)
    for _ in range(POWER_STEPS):  # the gap is of order n, so that few are needed
        top = gram @ top
        top = top / top.norm()
        before = tilt
        tilt = top - (top @ even) * even
        if float((tilt - before).norm()) <= 1e-15:
            break
    else:
        raise InputError(f"the top eigenvalue of gram is not separated from the next after {POWER_STEPS} steps")
    return float(tilt.norm())


def _needs_kernel(gram: Tensor) -> None:
    validate.arrays(gram=("n n", gram))
    needs_symmetric(gram)
    if gram.dtype != torch.float64:
        raise InputError(f"gram must be float64, got {gram.dtype}")


def distance_from_limit(gram: Tensor) -> float:
    """``||Θ̄ - (11ᵀ/4 + 3I/4)||_2``.

    Source: paper C, proof of Theorem 3.
    """
    _needs_kernel(gram)
    difference = gram - 0.25
    difference.diagonal().sub_(0.75)
    if len(gram) < 32 or not bool(difference.any()):  # where Lanczos has no vector to start from
        return float(torch.linalg.eigvalsh(difference).abs().max())
    start = np.random.default_rng(0).standard_normal(len(gram))  # else each call draws one, and rounds in its own way
    (value,) = eigsh(difference.cpu().numpy(), k=1, which="LM", v0=start, return_eigenvectors=False)
    return float(abs(value))


def operators(gram: Tensor, cross: Tensor, times: Sequence[float]) -> Tensor:
    """The projection operators ``Θ(x, X) Θ(X, X)^{-1} (1 - e^{-t Θ(X, X)})``, one row per point, for several times.

    Args:
        gram: ``(n, n)``, positive definite, its eigenvalues above round-off.
        cross: ``(m, n)``.
        times: ``t``; ``inf`` is allowed.

    Returns:
        ``(len(times), m, n)``.

    Source: paper C, Prop. 6 (with the sign that makes it a predictor).
    """
    _needs_kernel(gram)
    validate.arrays(gram=("n n", gram), cross=("m n", cross))
    if not len(times) or not all(t == math.inf or (validate.is_number(t) and t >= 0) for t in times):
        raise InputError(f"times must be numbers of at least 0, or infinite, got {times!r}")
    values, vectors = torch.linalg.eigh(gram)
    if float(values[0]) < 1e-14 * len(gram):
        raise InputError(f"the kernel matrix cannot be inverted: its smallest eigenvalue is {float(values[0]):.3g}")
    modes = cross @ vectors
    learnt = [-torch.expm1(-t * values) / values for t in times]  # of each mode, over its eigenvalue
    return torch.stack([(modes * weight) @ vectors.mT for weight in learnt])


def row_mean_spread(gram_offsets: Tensor) -> float:
    """``sd_i (1/n) Σ_{j≠i} c(rho_ij)``, the limit of ``L ||P^(L) - P||``; the deviation has ``1/n``, too.

    By first-order perturbation theory, ``(Θ̄ - limit) 1/√n`` tilts the top eigenvector, over a gap ``n/4``. So the
    divisor is ``n`` although the sums have ``n - 1`` terms.

    Args:
        gram_offsets: ``c(rho_ij) (n, n)``; the diagonal is ignored.

    Source: derived here; it sharpens paper C, eq. (4).
    """
    filled = gram_offsets.clone().fill_diagonal_(0)
    validate.arrays(gram_offsets=("n n", filled))
    return float((filled.sum(1) / len(filled)).std(correction=0))
