r"""The matrices of the neural feature ansatz, and how well they agree.

With the pre-activation tangents :math:`\delta=\partial f(X)/\partial h` of a layer, ``(n, k)``,

.. math:: F = W^\top W, \qquad K = \delta^\top\delta, \qquad \mathcal K = \delta\delta^\top, \qquad
   \bar G = \frac1n W^\top K W = \frac1n(\delta W)^\top(\delta W),

and :math:`\rho(A, B) = \operatorname{tr}(A^\top B)/(\lVert A\rVert\,\lVert B\rVert)`. All follow from ``W`` and ``δ``
of each layer, which :func:`sites` takes from one forward and one backward pass. Correlations form no ``K``.

Source: paper D, Sec. 2 and App. B.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from regimes import validate
from regimes.data import tasks
from regimes.models import Model, checked
from regimes.validate import InputError


def nfm(weights: Tensor) -> Tensor:
    """The neural feature matrix ``F = Wᵀ W (..., d, d)`` of ``W (..., k, d)``.

    Source: paper D, Sec. 2.1.
    """
    (weights,) = validate.tensors(weights=("... k d", weights))
    return _gram(weights)


def ptk_covariance(delta: Tensor) -> Tensor:
    """The covariance ``K = δᵀ δ (..., k, k)`` of the pre-activation tangents ``δ (..., n, k)``: a sum, not a mean.

    Source: paper D, Sec. 2.2.
    """
    (delta,) = validate.tensors(delta=("... n k", delta))
    return _gram(delta)


def ptk_kernel(delta: Tensor) -> Tensor:
    """The pre-activation tangent kernel ``𝒦 = δ δᵀ (..., n, n)`` of ``δ (..., n, k)``.

    Source: paper D, Prop. 4.
    """
    (delta,) = validate.tensors(delta=("... n k", delta))
    return delta @ delta.mT


def agop(weights: Tensor, delta: Tensor) -> Tensor:
    r"""The average gradient outer product (AGOP) of a layer's inputs, ``Wᵀ K W / n (..., d, d)``.

    It is :math:`\frac1n\sum_\alpha \frac{\partial f}{\partial x}\frac{\partial f}{\partial x}^\top` with the layer's
    inputs ``x``. Centred weights or tangents give the AGOP of the ansatz centred in these.

    Args:
        weights: ``W (..., k, d)``.
        delta: ``δ (..., n, k)``.

    Source: paper D, Sec. 2.1 and Prop. 2.
    """
    weights, delta = validate.tensors(weights=("... k d", weights), delta=("... n k", delta))
    return _gram(delta @ weights).div_(delta.shape[-2])


def correlation(a: Tensor, b: Tensor) -> Tensor:
    r"""The cosine of two matrices, :math:`\rho(A,B)=\operatorname{tr}(A^\top B)/(\lVert A\rVert\,\lVert B\rVert)`.

    Args:
        a: ``(..., d1, d2)``.
        b: of the same shape.

    Returns:
        ``(...)``.

    Source: paper D, Ansatz 1.
    """
    a, b = validate.tensors(a=("... p q", a), b=("... p q", b))
    rho = _cosine(a, b)
    if not bool(torch.isfinite(rho).all()):
        raise InputError("the correlation of a zero matrix is undefined: weights or tangents vanish, or did not move")
    return rho


def pearson(a: Tensor, b: Tensor) -> Tensor:
    """The Pearson correlation ``(...)`` of two vectors ``(..., d)``.

    Source: paper D, App. I.
    """
    a, b = validate.tensors(a=("... d", a), b=("... d", b))
    a = a - a.mean(-1, keepdim=True)
    b = b - b.mean(-1, keepdim=True)
    rho = _cosine(a.unsqueeze(-1), b.unsqueeze(-1))
    if not bool(torch.isfinite(rho).all()):
        raise InputError("the Pearson correlation of a constant vector is undefined")
    return rho


def uc_nfa(weights: Tensor, delta: Tensor) -> Tensor:
    """The neural feature ansatz, ``ρ(Wᵀ W, Wᵀ K W) (...)``: uncentred (UC-NFA) for the weights ``W`` themselves.

    For their change ``W̄ = W - W_0`` it is centred (C-NFA). That does not depend on the size of ``W̄``: its limit at
    initialisation takes the velocity ``Ẇ`` (:func:`velocity`).

    Source: paper D, Prop. 2 and Sec. 2.3.
    """
    return correlation(nfm(weights), agop(weights, delta))


def velocity(inputs: Tensor, delta: Tensor, residual: Tensor) -> Tensor:
    r"""The velocity of a layer's weights under gradient flow of the mean loss, :math:`\dot W=\frac1n\delta^\top Y X`.

    Args:
        inputs: ``X (..., n, d)`` of the layer.
        delta: ``δ (..., n, k)``.
        residual: ``-∂ℓ/∂f (..., n)``, the diagonal of ``Y``: targets minus outputs for half the square loss.

    Returns:
        ``Ẇ (..., k, d)``.

    Source: paper D, Prop. 4 (proof).
    """
    inputs, delta, residual = validate.tensors(
        inputs=("... n d", inputs), delta=("... n k", delta), residual=("... n", residual)
    )
    return (delta * residual.unsqueeze(-1)).mT @ inputs / inputs.shape[-2]


def same_spectrum(matrix: Tensor, *, seeds: Sequence[int]) -> Tensor:
    """Symmetric matrices with the eigenvalues of ``matrix (E, k, k)`` and uniformly random eigenvectors.

    Args:
        matrix: symmetric.
        seeds: of the eigenvectors, one per realisation.

    Source: paper D, Sec. 2.2 and Fig. 1.
    """
    (matrix,) = validate.tensors(matrix=("E k k", matrix))
    validate.seeds(seeds, count=len(matrix))
    if not torch.allclose(matrix, matrix.mT, rtol=1e-4, atol=1e-6 * float(matrix.abs().max())):
        raise InputError("matrix must be symmetric to have real eigenvalues that a random matrix can share")
    turn = torch.stack([tasks.rotation(matrix.shape[-1], seed=seed) for seed in seeds]).to(matrix)
    return (turn * torch.linalg.eigvalsh(matrix).unsqueeze(-2)) @ turn.mT


@dataclass(frozen=True)
class Site:
    """A layer of a network at some points, with all that the ansatz needs.

    Attributes:
        weights: ``W (E, k, d)``, times the layer's multiplier.
        inputs: ``x (E, n, d)``; each position of a point counts as a point.
        delta: ``δ (E, n, k)``.
        name: of the layer: as in ``named_modules()`` of a torch module, else that of the weights, such as ``W1``.
        positions: of a point, which stand one after another along ``n``.
    """

    weights: Tensor
    inputs: Tensor
    delta: Tensor
    name: str = ""
    positions: int = 1

    @functools.cached_property
    def gradients(self) -> Tensor:
        """``∂f/∂x = δ W (E, n, d)``."""
        return self.delta @ self.weights

    @functools.cached_property
    def shape(self) -> Tensor:
        """``F = Wᵀ W (E, d, d)`` divided by its trace."""
        return _shape(self.weights)


def sites(model: Model, x: Any, *, convolutions: bool = False) -> list[Site]:
    """The layers of a network for which the ansatz is not trivial: linear ones with at least two outputs, in order.

    They take one forward pass and one or two backward ones. A layer with a single output is left out, because its ``F``
    and ``Ḡ`` have rank one and always agree; so are convolutions, unless these are asked for. Frozen layers and layers
    whose weights are computed from other parameters are among them: ``name`` says which layer one is. ``W`` of a torch
    module's layer is ``∂z/∂x``, with all that its class and its hooks do, so that ``δ W`` is the derivative by the
    layer's inputs. A layer that is called several times has the positions of all calls. A warning names what is used
    without the call of a layer, and layers whose rows are not the points
    (:meth:`regimes.models.module.ModuleModel.layers`).

    Args:
        model: fully connected, of one hidden layer, or a torch module (:mod:`regimes.models.module`). Each pair of a
            point and an output of a module of ``C`` outputs counts as a point: its AGOP is the sum over outputs and the
            mean over points, divided by ``C``.
        x: points ``(n, ...)`` shared by all realisations, or ``(E, n, ...)``; tuples, lists and dictionaries of tensors
            as of :func:`regimes.ntk`.
        convolutions: whether a ``Conv2d`` of one group is a layer: the linear map of a patch, ``d`` channels times
            window, at each position.

    Raises:
        InputError: for points that do not fit the model, or a network without such a layer.

    Source: paper D, Sec. 2.1.
    """
    validate.model(model)
    if hasattr(model, "paired"):
        model, x, _ = model.paired(x)
    x = checked(model, x)
    parts = model.layers(x) if hasattr(model, "layers") else model.tangents(x).parts
    values = dict(zip(model.names, model.parameters(), strict=True))
    layers = [_site(part, values) for part in parts if _is_linear(part, values, convolutions)]
    if not layers:
        raise InputError("the network has no linear layer with pre-activations: no weights to compare with the AGOP")
    return layers


def measure(now: Site, start: Site) -> dict[str, Tensor]:
    r"""The four correlations of a layer between initialisation and now, each ``(E,)``.

    With :math:`\bar W = W - W_0` and :math:`\bar K = K - K_0`: ``uc`` is :func:`uc_nfa`, ``c`` the same of ``W̄``,
    ``double`` the trace :math:`\mathrm{tr}(\bar W^\top\bar W\,\bar W^\top\bar K\bar W)` over the same with :math:`K`,
    and ``ptk`` is :math:`\rho(W_0^\top W_0, W_0^\top\bar K W_0)`. They are NaN where undefined, as all but the first at
    the start. Products are shared and no ``K`` is formed. Small differences are multiplied, not obtained by subtracting
    products, so that single precision is enough early in training.

    Source: paper D, Ansatz 5 and 6, Fig. 2, 4 and 5.
    """
    if now.weights.shape != start.weights.shape or now.delta.shape != start.delta.shape:
        raise InputError("the two sites must be of one layer at the same points, before and after")
    moved = now.weights - start.weights
    changed = now.delta - start.delta
    product = changed @ moved
    centred = product + start.delta @ moved  # δ W̄
    at_start = changed @ start.weights
    feature = _shape(moved)
    share = (_square(product) / _square(centred)) * _inner(feature, _shape(product))
    return {
        "uc": _inner(_shape(now.weights), _shape(centred + at_start + start.gradients), cosine=True),
        "c": _inner(feature, _shape(centred), cosine=True),
        "double": share / _inner(feature, _shape(centred)),
        "ptk": _inner(start.shape, _shape(at_start), cosine=True),
    }


def _is_linear(part: Any, values: dict[str, Tensor], convolutions: bool) -> bool:
    weights = _weights(part, values)
    if not hasattr(part, "delta") or weights is None or weights.ndim < 3 or weights.shape[1] == 1:
        return False
    return weights.ndim == 3 or (convolutions and part.groups == 1)


def _weights(part: Any, values: dict[str, Tensor]) -> Tensor | None:
    """``W`` of a layer: those that a module's layer used, or the parameters."""
    return part.weight if hasattr(part, "weight") else values.get(part.names[0])


def _site(part: Any, values: dict[str, Tensor]) -> Site:
    positions = part.h.shape[2] if part.h.ndim > 3 else 1
    inputs, delta = (tensor.flatten(1, -2) if tensor.ndim > 3 else tensor for tensor in (part.h, part.delta))
    weights = cast(Tensor, _weights(part, values)).flatten(2)
    name = getattr(part, "layer", part.names[0])
    return Site(weights * part.multiplier, inputs.expand(len(weights), -1, -1), delta, name, positions)


def _gram(rows: Tensor) -> Tensor:
    return rows.mT @ rows


def _shape(rows: Tensor) -> Tensor:
    """The Gram matrix of rows over its trace, because fourth powers of small weights would underflow."""
    return _gram(rows / _square(rows).sqrt()[..., None, None])


def _square(rows: Tensor) -> Tensor:
    return torch.linalg.vecdot(rows.flatten(-2), rows.flatten(-2))


def _inner(a: Tensor, b: Tensor, *, cosine: bool = False) -> Tensor:
    """``tr(Aᵀ B)``, or ``ρ(A, B)``."""
    trace = torch.linalg.vecdot(a.flatten(-2), b.flatten(-2))
    return trace / (_square(a) * _square(b)).sqrt() if cosine else trace


def _cosine(a: Tensor, b: Tensor) -> Tensor:
    """``ρ``, NaN for a zero matrix; matrices are scaled first, because small squares would underflow."""
    a = a / a.abs().amax((-2, -1), keepdim=True)
    b = b / b.abs().amax((-2, -1), keepdim=True)
    return _inner(a, b, cosine=True)
