"""Regression with a kernel matrix, and its accuracy as a classifier."""

import numpy as np
import torch
from torch import Tensor

from companion.papers.depth.theory import pairs
from regimes import validate
from regimes.kernels import relu_recursion
from regimes.validate import InputError


def kernel_flow_prediction(gram: Tensor, cross: Tensor, y: Tensor) -> Tensor:
    """The kernel flow's prediction from ``f_0 = 0`` after infinite time: ``Θ(x, X) Θ(X, X)^{-1} y``.

    Equal training points, or colinear ones if the kernel ignores norms, have no invertible matrix.

    Args:
        gram: kernel of the training points ``(n, n)``.
        cross: kernel between evaluation and training points ``(m, n)``.
        y: targets ``(n, k)``.

    Returns:
        ``(m, k)``.

    Source: paper C, Prop. 3 and Prop. 6; at finite times see :func:`companion.papers.depth.theory.spectrum.operators`.
    """
    validate.arrays(gram=("n n", gram), cross=("m n", cross), y=("n k", y))
    needs_symmetric(gram)
    factor, failed = torch.linalg.cholesky_ex(gram)
    # a pivot at round-off stands for a singular matrix even where rounding let the factorisation pass
    if bool(failed.any()) or float(factor.diagonal(dim1=-2, dim2=-1).amin()) ** 2 < 1e-14 * len(gram):
        raise InputError("the kernel matrix cannot be inverted: two training points are the same, or colinear")
    return cross @ torch.cholesky_solve(y, factor)


def noise_slope(x: Tensor, fresh: Tensor, gram: Tensor, *, depth: int) -> float:
    r"""How fast the fully trained prediction of noise varies along the sphere, root mean square.

    ``f(x) = k(x)·Θ^{-1} ε`` with independent ``ε`` of variance 1 has
    ``E|∇f|² = |J Θ^{-1}|²``, ``J = Σ_j κ'(φ_j) ∇φ_j e_j``, with ``|∇φ_j| = 1`` on the sphere.

    Args:
        x: unit training points ``(n, d)``, float64.
        fresh: unit points ``(m, d)``, none of them a training point, at which the gradient is taken.
        gram: the normalised kernel of the training points ``(n, n)``.
        depth: ``L`` of the kernel.

    Returns:
        The root of the mean of ``E|∇f|²`` over fresh points.

    Raises:
        InputError: if the points are not on the sphere, or shapes do not fit.

    Source: derived here, for paper C, Sec. 6.
    """
    validate.arrays(x=("n d", x), fresh=("m d", fresh), gram=("n n", gram))
    validate.integer(1, depth=depth)
    pairs.needs_sphere(x)
    pairs.needs_sphere(fresh)
    rho = (fresh @ x.mT).clamp(-1, 1)
    phi = torch.acos(rho).requires_grad_()
    kernel, _ = relu_recursion.kernel_of_angle(phi, depth)
    (slope,) = torch.autograd.grad(kernel.sum(), phi)
    weights = slope / torch.sin(phi.detach())
    toward = weights[:, :, None] * (x[None] - rho[:, :, None] * fresh[:, None])  # up to a sign, (m, n, d)
    factor = torch.linalg.cholesky(gram)
    columns = toward.transpose(0, 1).reshape(len(x), -1)
    return float((torch.cholesky_solve(columns, factor).square().sum() / len(fresh)).sqrt())


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """The fraction of rows of ``predicted (n, classes)`` whose largest entry is at the label ``(n,)``."""
    return float((predicted.argmax(-1) == labels).double().mean())


def macro_f1(predicted: Tensor, labels: Tensor) -> float:
    """The mean over classes of ``2 TP / (2 TP + FP + FN)``; a class that is neither present nor predicted counts 0."""
    classes = predicted.shape[-1]
    pairs = labels.long() * classes + predicted.argmax(-1)
    confusion = torch.bincount(pairs, minlength=classes**2).view(classes, classes).double()
    total = confusion.sum(0) + confusion.sum(1)
    return float((2 * confusion.diagonal() / total.clamp_min(1)).mean())


def needs_symmetric(gram: Tensor, name: str = "gram") -> None:
    """Raises :class:`InputError` unless ``u·Kv = v·Ku`` for two fixed vectors; costs two products and no memory."""
    u, v = torch.from_numpy(np.random.default_rng(0).standard_normal((2, len(gram)))).to(gram)
    right = gram @ v
    if not float((u @ right - v @ (gram @ u)).abs()) <= 1e-8 * float(u.norm() * right.norm()):
        raise InputError(f"{name} must be symmetric")
