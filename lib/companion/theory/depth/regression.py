"""Regression with a kernel matrix, stopped at any time, and how good it is as a classifier."""

import numpy as np
import torch
from torch import Tensor

from regimes import validate
from regimes.validate import InputError


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """Labels ``(n,)`` in ``0 … classes - 1`` as targets ``(n, classes)`` of zeros and ones.

    Raises:
        InputError: for labels outside that range, or that are not whole numbers.
    """
    _needs_labels(labels, classes)
    return torch.nn.functional.one_hot(labels.long(), classes).to(torch.float64)


def kernel_flow_prediction(gram: Tensor, cross: Tensor, y: Tensor, *, time: float | None = None) -> Tensor:
    """The kernel flow's prediction from ``f_0 = 0``: ``Θ(x, X) Θ(X, X)^{-1} (1 - e^{-t Θ(X, X)}) y``.

    Args:
        gram: kernel of the training points ``(n, n)``.
        cross: kernel between evaluation and training points ``(m, n)``.
        y: targets ``(n, k)``.
        time: ``t``, in units where the flow is ``df/dt = -Θ (f - y)`` (no 1/n); ``None`` for infinity.

    Returns:
        ``(m, k)``.

    Raises:
        InputError: for shapes or dtypes that do not fit, NaN, a matrix that is not symmetric, and at infinite time for
            one that cannot be inverted (duplicate or, where the kernel ignores norms, colinear points).

    Source: paper C, Prop. 3 and Prop. 6.
    """
    validate.arrays(gram=("n n", gram), cross=("m n", cross), y=("n k", y))
    needs_symmetric(gram)
    if time is not None:
        validate.at_least(0, time=time)
        values, vectors = torch.linalg.eigh(gram)
        safe = torch.where(values > 0, values, 1)
        weights = torch.where(values > 0, -torch.expm1(-time * safe) / safe, time)
        return cross @ (vectors * weights) @ (vectors.mT @ y)
    factor, failed = torch.linalg.cholesky_ex(gram)
    # a pivot at round-off stands for a singular matrix even where rounding let the factorisation pass
    if bool(failed.any()) or float(factor.diagonal(dim1=-2, dim2=-1).amin()) ** 2 < 1e-14 * len(gram):
        raise InputError("the kernel matrix cannot be inverted: two training points are the same, or colinear")
    return cross @ torch.cholesky_solve(y, factor)


def accuracy(predicted: Tensor, labels: Tensor) -> float:
    """The fraction of rows whose largest entry is at the label.

    Raises:
        InputError: for predictions that are not finite, or labels that are not one whole number a row.
    """
    validate.arrays(predicted=("n classes", predicted))
    _needs_predictions(predicted, labels, predicted.shape[-1])
    return float((predicted.argmax(-1) == labels).double().mean())


def macro_f1(predicted: Tensor, labels: Tensor, classes: int) -> float:
    """The mean over classes of ``2 TP / (2 TP + FP + FN)``; a class that is neither present nor predicted counts 0.

    Raises:
        InputError: for predictions that are not finite or not one a class, and labels outside ``0 … classes - 1``.
    """
    _needs_predictions(predicted, labels, classes)
    guess = predicted.argmax(-1)
    confusion = torch.bincount(labels.long() * classes + guess, minlength=classes**2).view(classes, classes).double()
    hits = confusion.diagonal()
    total = confusion.sum(0) + confusion.sum(1)
    return float((2 * hits / total.clamp_min(1)).mean())


def squared_error(predicted: Tensor, y: Tensor) -> float:
    """``mean_x |f(x) - y(x)|²`` over points, summed over the outputs.

    Raises:
        InputError: for predictions and targets of different shapes, or that are not finite.
    """
    validate.arrays(predicted=("n k", predicted), y=("n k", y))
    return float(((predicted - y) ** 2).sum(-1).mean())


def needs_symmetric(gram: Tensor, name: str = "gram") -> None:
    """Raises :class:`InputError` unless ``u·Kv = v·Ku`` for two fixed vectors; costs two products and no memory."""
    u, v = torch.from_numpy(np.random.default_rng(0).standard_normal((2, len(gram)))).to(gram)
    right = gram @ v
    if not float((u @ right - v @ (gram @ u)).abs()) <= 1e-8 * float(u.norm() * right.norm()):
        raise InputError(f"{name} must be symmetric")


def _needs_predictions(predicted: Tensor, labels: Tensor, classes: int) -> None:
    _needs_labels(labels, classes)
    validate.arrays(predicted=(f"{len(labels)} {classes}", predicted))


def _needs_labels(labels: Tensor, classes: int) -> None:
    """Raises :class:`InputError` unless labels are whole numbers ``(n,)`` in ``0 … classes - 1``."""
    validate.integer(1, classes=classes)
    if not isinstance(labels, Tensor) or labels.ndim != 1 or not len(labels):
        raise InputError(f"labels must be a tensor (n,) of at least one class, got {labels!r}")
    if not bool(((labels >= 0) & (labels < classes) & (labels == labels.long())).all()):
        raise InputError(
            f"labels must be whole numbers from 0 to {classes - 1}, got {float(labels.min()):g} to "
            f"{float(labels.max()):g}"
        )
