r"""Components of a kernel on ``n`` points, and how a function on these points projects on them.

The Gram matrix :math:`K_{\mu\nu} = \Theta(x_\mu, x_\nu) = \sum_r \lambda_r\,\varphi_r(x_\mu)\varphi_r(x_\nu)` of ``n``
points has eigenvalues :math:`\lambda_r` of :math:`K/n` and eigenvectors with
:math:`\frac1n\sum_\mu\varphi_r(x_\mu)^2 = 1`. For points from a density they tend to those of the integral operator of
:math:`\Theta` as ``n`` grows. As in paper A the kernel is not centred. Leading axes are independent realisations.

Source: paper A, Sec. 5.1.
"""

from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from torch import Tensor

from regimes import validate
from regimes.models import Model, checked
from regimes.models.tangents import Tangents
from regimes.validate import InputError

LANCZOS = 400  # points from which ten components are found faster by Lanczos than by a full decomposition
SHARE = 20  # and at most one component in so many points
ROUNDED = 30  # eigenvalues below so many roundings of the kernel's mean diagonal are zero: rounding gives up to four


class Components(NamedTuple):
    """The first components, by decreasing eigenvalue.

    Attributes:
        values: ``λ (..., r)``, of ``K/n``; 0 beyond the kernel's numerical rank.
        vectors: ``φ (..., n, r)``, mean square 1, with the sign that makes the largest entry positive; where ``λ`` is 0
            any orthonormal ones, which mean nothing.
    """

    values: Tensor
    vectors: Tensor


def components(gram: Tensor, count: int, *, least: Tensor | None = None) -> Components:
    """The first ``count`` components of a kernel, to rounding; few components of many points by Lanczos on the CPU.

    Args:
        gram: ``K (..., n, n)``, symmetric.
        count: their number, from 1 to ``n``.
        least: the ``λ (...)`` below which an eigenvalue is taken as zero, :func:`round_off` by default; that of the
            original kernel if ``gram`` was centred or cast to another precision.

    Source: paper A, Sec. 5.1.
    """
    gram = needs_gram(gram)
    n = gram.shape[-1]
    validate.whole(1, n, count=count)
    solver = _lanczos if n >= max(LANCZOS, SHARE * count) and not gram.is_cuda else _lapack
    values, vectors = solver(gram.detach(), count)
    return _scaled(values, vectors, round_off(gram) if least is None else least)


def round_off(gram: Tensor) -> Tensor:
    """The ``λ (...)`` below which a component of ``K (..., n, n)`` is rounding alone, by the precision of ``K``."""
    return ROUNDED * torch.finfo(gram.dtype).eps * gram.detach().diagonal(dim1=-1, dim2=-2).mean(-1)


def _scaled(values: Tensor, vectors: Tensor, floor: Tensor) -> Components:
    n = vectors.shape[-2]
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
    values = values / n
    exist = values.abs() > floor.to(values).unsqueeze(-1)
    return Components(torch.where(exist, values, 0.0), vectors * largest.sign() * n**0.5)


@torch.no_grad()
def tangent_components(model: Model, x: Tensor, count: int) -> Components:
    """:func:`components` of a tangent kernel on many points, by products with its Jacobian, without its matrix.

    ``K v = J (Jᵀ v)`` costs as much as a gradient, so that the time is linear in the number of points.

    Args:
        model: ``E`` realisations, float64.
        x: points ``(n, ...)`` shared by all or ``(E, n, ...)``, as the model takes them.
        count: their number, from 1 to ``n - 1``.

    Source: paper A, Sec. 5.1.
    """
    x = checked(model, x)
    first = model.parameters()[0]
    n = x.shape[1]
    validate.one_of((torch.float64,), **{"the model's dtype": first.dtype})
    validate.whole(1, n - 1, count=count)
    pairs = []
    for e in range(len(first)):
        tangents = model[e : e + 1].tangents(x[[e if len(x) > 1 else 0]])
        pairs.append(_by_products(tangents, first.new_empty(n), count))
    values, vectors = (torch.stack(part) for part in zip(*pairs))
    return _scaled(values, vectors, ROUNDED * torch.finfo(first.dtype).eps * values[..., 0] / n)


def _by_products(tangents: Tangents, like: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of the kernel, as ``like (n,)`` in precision and device."""
    n = len(like)

    def product(v: np.ndarray) -> np.ndarray:
        pulled = tangents.vjp(torch.from_numpy(v.reshape(1, n)).to(like))
        return tangents.jvp(pulled)[0].cpu().numpy()

    start = np.random.default_rng(0).standard_normal(n)
    values, vectors = eigsh(LinearOperator((n, n), matvec=product, dtype=float), count, which="LA", v0=start)
    largest, directions = (torch.from_numpy(np.flip(part, -1).copy()).to(like) for part in (values, vectors))
    return largest, directions


def _lapack(gram: Tensor, count: int) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(gram)
    return values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)


def _lanczos(gram: Tensor, count: int) -> tuple[Tensor, Tensor]:
    n = gram.shape[-1]
    start = np.random.default_rng(0).standard_normal(n)  # a random one is orthogonal to no component
    try:
        pairs = [eigsh(matrix, count, which="LA", v0=start) for matrix in gram.reshape(-1, n, n).cpu().numpy()]
    except ArpackNoConvergence:  # many components of nearly one eigenvalue
        return _lapack(gram, count)
    values, vectors = (torch.from_numpy(np.stack(part)).to(gram).flip(-1) for part in zip(*pairs))
    return values.reshape(*gram.shape[:-2], count), vectors.reshape(*gram.shape[:-1], count)


def needs_gram(gram: Tensor) -> Tensor:
    """``gram (..., n, n)`` as a tensor; raises ``InputError`` unless it is symmetric with a positive trace."""
    (gram,) = validate.tensors(gram=("... n n", gram))
    size = gram.abs().amax((-1, -2))
    if bool(((gram - gram.mT).abs().amax((-1, -2)) > 1e-4 * size).any()):
        raise InputError("gram must be symmetric")
    if bool((gram.diagonal(dim1=-1, dim2=-2).sum(-1) <= 0).any()):
        raise InputError("gram must have a positive trace: the kernel is zero on all points")
    return gram


def centre(gram: Tensor) -> Tensor:
    """The kernel ``(..., n, n)`` of features whose mean over the points is subtracted."""
    mean = gram.mean(-1, keepdim=True)
    return gram - mean - mean.mT + mean.mean(-2, keepdim=True)


def projections(vectors: Tensor, y: Tensor) -> Tensor:
    r"""``ω_r² = (1/n Σ_μ φ_r(x_μ) y_μ)²``, ``(..., r)``; over all ``n`` components they sum to the mean of ``y²``.

    Args:
        vectors: ``φ (..., n, r)``.
        y: ``(..., n)``, labels or any function's values.

    Source: paper A, Sec. 5.1 and Fig. 10 b, d.
    """
    (vectors,) = validate.tensors(vectors=("... n r", vectors))
    (y,) = validate.tensors(y=(f"... {vectors.shape[-2]}", y))
    return (vectors * y.unsqueeze(-1).to(vectors)).mean(-2).square()


def rkhs_norm(values: Tensor, squares: Tensor) -> Tensor:
    r"""``Σ_r ω_r²/λ_r`` over the components given, ``(...)``: the squared norm of ``y`` in the kernel's Hilbert space.

    All ``n`` components give ``yᵀ K⁻¹ y``, fewer a lower bound. Components of eigenvalue 0 hold no function of that
    space: they are left out, and so is the part of ``y`` along them, whose norm would be infinite. The norm scales as
    ``1/Θ``: compare kernels by its product with the mean of ``Θ(x, x)``, the sum of all ``λ``.

    Args:
        values: ``λ (..., r)``, at least one above 0; 0 beyond the kernel's rank, as :func:`components` has them.
        squares: ``ω² (..., r)``; of any value, NaN included, where ``λ`` is 0.

    Source: paper A, Sec. 5.1.
    """
    values = validate.tensor("values", values)
    squares = validate.tensor("squares", squares)
    if values.shape == squares.shape:
        squares = squares.masked_fill(values == 0, 0.0)
    values, squares = validate.tensors(values=("... r", values), squares=("... r", squares))
    if bool((values < 0).any()) or not bool((values > 0).any(-1).all()):
        raise InputError("values must be positive, or 0 beyond the kernel's rank, with one above 0 at least")
    return (squares / values.masked_fill(values == 0, 1.0)).sum(-1)


def effective_dimension(gram: Tensor) -> Tensor:
    r"""The effective dimension ``(Σ λ)²/Σ λ²``, ``(...)``, from the entries: ``k`` for ``k`` equal eigenvalues."""
    gram = needs_gram(gram)
    return gram.diagonal(dim1=-1, dim2=-2).sum(-1).square() / gram.square().sum((-1, -2))


def alignment(gram: Tensor, y: Tensor) -> Tensor:
    r"""Kernel–target alignment ``yᵀ K y/(‖K‖_F ‖y‖²) = Σ λ ω²/(ȳ² √(Σ λ²))``, ``(...)``: 1 for ``K = y yᵀ``.

    Args:
        gram: ``(..., n, n)``.
        y: ``(..., n)``.

    Source: paper B, Sec. 5 (its reference on alignment); Cristianini et al. (2001).
    """
    gram = needs_gram(gram)
    (y,) = validate.tensors(y=(f"... {gram.shape[-1]}", y))
    y = y.to(gram)
    along = (y.unsqueeze(-2) @ gram @ y.unsqueeze(-1)).squeeze((-1, -2))
    return along / (gram.square().sum((-1, -2)).sqrt() * y.square().sum(-1))


def distance_dimension(gram: Tensor, sizes: list[int]) -> Tensor:
    r"""The dimension ``d`` of the points in feature space, from nearest-neighbour distances ``~ m^(-1/d)``, ``(...)``.

    Distances are ``|ψ(x) - ψ(z)|² = Θ(x, x) + Θ(z, z) - 2 Θ(x, z)``. A least-squares slope is fitted to the mean
    distance within groups of ``m`` points, for each ``m`` of ``sizes``, averaged over all consecutive groups.

    Source: paper A, Sec. 5.2, footnote 5.
    """
    gram = needs_gram(gram)
    validate.length(2, 1000, sizes=sizes)
    validate.distinct(sizes=sizes)
    for size in sizes:
        validate.whole(2, gram.shape[-1], size=size)
    square = gram.diagonal(dim1=-1, dim2=-2)
    distance = (square.unsqueeze(-1) + square.unsqueeze(-2) - 2 * gram).clamp(min=0).sqrt()
    distance.diagonal(dim1=-1, dim2=-2).fill_(torch.inf)
    nearest = torch.stack([_nearest(distance, m) for m in sizes], -1).log()
    x = torch.tensor(sizes, dtype=gram.dtype).log().to(gram)
    x = x - x.mean()
    return -x.square().sum() / (nearest * x).sum(-1)


def _nearest(distance: Tensor, m: int) -> Tensor:
    """The mean distance to the nearest within disjoint groups of ``m`` points, ``(...)``."""
    starts = range(0, distance.shape[-1] - m + 1, m)
    return torch.cat([distance[..., i : i + m, i : i + m].amin(-1) for i in starts], -1).mean(-1)
