r"""Derivatives of a network's outputs with respect to its parameters, in the factors that one backward pass gives.

A linear layer ``z = m W h + b`` has ``∂f/∂W = m δ hᵀ`` and ``∂f/∂b = δ`` with ``δ = ∂f/∂z``. Only ``h`` and ``δ`` are
kept: ``p (n_in + n_out)`` numbers for ``p`` points, where the gradients have ``p n_in n_out``.

With the Jacobian ``J (p, P)`` of the outputs with respect to all ``P`` parameters, :class:`Tangents` gives ``J w``,
``Jᵀ v``, the tangent kernel ``J Jᵀ`` and, if it fits into memory, ``J``. Plain sums over points and parameters.
"""

import functools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, cast

import torch
from torch import Tensor

from regimes.validate import InputError


def chosen(params: Collection[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters ``params`` out of ``names``; ``None`` for all."""
    wanted = names if params is None else tuple(params)
    if isinstance(params, str) or not wanted or not set(wanted) <= set(names):
        raise InputError(f"params must be some of {', '.join(names)}; got {params!r}")
    return wanted


def total(terms: Iterable[Tensor]) -> Tensor:
    """The sum of one or more tensors."""
    return functools.reduce(torch.add, terms)


class Part(Protocol):
    """The tangents of some of the parameters: those of one layer."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of ``vjp``."""

    def only(self, names: Collection[str]) -> "Part":
        """The tangents of its parameters among ``names``, at least one."""

    def gram(self, other: Any) -> Tensor:
        """Its term of the tangent kernel with another of its kind, ``(E, n, m)``."""

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, one tensor per parameter."""

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w`` for one tensor per parameter: ``(E, p)``."""

    def jacobian(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``."""


def _at(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-2, index.unsqueeze(-1).expand(*index.shape, values.shape[-1]))


@dataclass(frozen=True)
class Affine:
    """The tangents of ``z = m W h + b``.

    Attributes:
        h: its inputs, ``n_in`` on the last axis.
        delta: ``δ``, the derivatives of the output by the pre-activations ``z``, ``n_out`` on the last axis.
        multiplier: ``m``; ``None`` if the weights are not among the parameters.
        bias: whether the biases are among the parameters.
        names: of the weights and the biases among the parameters.
    """

    h: Tensor
    delta: Tensor
    multiplier: float | None
    bias: bool = False
    names: tuple[str, ...] = field(kw_only=True)

    def only(self, names: Collection[str]) -> Self:
        """The same layer with fewer parameters."""
        multiplier = self.multiplier if self.names[0] in names else None
        bias = self.bias and self.names[-1] in names
        remaining = tuple(name for name in self.names if name in names)
        return replace(self, multiplier=multiplier, bias=bias, names=remaining)


class Layer(Affine):
    """The tangents of a linear layer: ``h (E, p, n_in)``, ``δ (E, p, n_out)``."""

    def gram(self, other: "Layer") -> Tensor:
        """``(m² h·h' + 1) (δ·δ')``, ``(E, n, m)``; the 1 is the biases'."""
        inner = 0.0 if self.multiplier is None else (self.h @ other.h.mT).mul_(self.multiplier**2)
        if self.bias:
            inner = inner + 1.0
        return (self.delta @ other.delta.mT).mul_(inner)

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v``: ``m Σ v δ hᵀ (E, n_out, n_in)`` and ``Σ v δ (E, n_out)``."""
        v = v.unsqueeze(-1)
        gradients = []
        if self.multiplier is not None:
            gradients.append((self.delta.mT @ (self.h * v)).mul_(self.multiplier))
        if self.bias:
            gradients.append((self.delta.mT @ v).squeeze(-1))
        return gradients

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w``: ``δ·(m W h + b)``, ``(E, p)``."""
        terms = []
        if self.multiplier is not None:
            terms.append((self.delta @ w[0]).mul_(self.multiplier).mul_(self.h).sum(-1))
        if self.bias:
            terms.append((self.delta @ w[-1].unsqueeze(-1)).squeeze(-1))
        return total(terms)

    def jacobian(self) -> Tensor:
        """``J (E, p, n_out n_in + n_out)``, in the order of ``vjp``."""
        columns = []
        if self.multiplier is not None:
            delta = self.delta * self.multiplier
            columns.append((delta.unsqueeze(-1) * self.h.unsqueeze(-2)).flatten(-2))
        if self.bias:
            columns.append(self.delta)
        return torch.cat(columns, -1)

    def at(self, index: Tensor) -> "Layer":
        """At some of the points of each realisation, ``index (E, a)``."""
        return replace(self, h=_at(self.h, index), delta=_at(self.delta, index))


@dataclass(frozen=True)
class Readout:
    """The tangents of the weights ``β (E, n)`` of a last layer with one output, ``f = m β·h``.

    Attributes:
        h: its inputs ``(E, p, n)``.
        multiplier: ``m``.
        names: that of the weights, alone.
    """

    h: Tensor
    multiplier: float
    names: tuple[str]

    def only(self, names: Collection[str]) -> "Readout":
        """Itself: there is one parameter."""
        return self

    def gram(self, other: "Readout") -> Tensor:
        """``m² h·h'``, ``(E, n, m)``."""
        return (self.h @ other.h.mT).mul_(self.multiplier**2)

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v = m Σ v h (E, n)``."""
        return [(v.unsqueeze(-2) @ self.h).squeeze(-2).mul_(self.multiplier)]

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w = m h·w``, ``(E, p)``."""
        return (self.h @ w[0].unsqueeze(-1)).squeeze(-1).mul_(self.multiplier)

    def jacobian(self) -> Tensor:
        """``J = m h (E, p, n)``."""
        return self.h * self.multiplier

    def at(self, index: Tensor) -> "Readout":
        """At some of the points of each realisation, ``index (E, a)``."""
        return replace(self, h=_at(self.h, index))


@dataclass(frozen=True)
class Tangents:
    """The Jacobian ``J (E, p, P)`` of the outputs with respect to all parameters, in parts that need not be formed."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in their order."""
        return tuple(name for part in self.parts for name in part.names)

    def only(self, names: Collection[str] | None) -> "Tangents":
        """The columns of some of the parameters; ``None`` for all."""
        wanted = set(chosen(names, self.names))
        return Tangents(tuple(part.only(wanted) for part in self.parts if wanted & set(part.names)))

    def gram(self, other: "Tangents | None" = None) -> Tensor:
        """The tangent kernel ``J J'ᵀ (E, n, m)``."""
        return total(mine.gram(theirs) for mine, theirs in zip(self.parts, (other or self).parts, strict=True))

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, shaped as the parameters."""
        return [tensor for part in self.parts for tensor in part.vjp(v)]

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w (E, p)`` for ``w`` shaped as the parameters."""
        weights = dict(zip(self.names, w, strict=True))
        return total(part.jvp([weights[name] for name in part.names]) for part in self.parts)

    def at(self, index: Tensor) -> "Tangents":
        """At some of the points of each realisation, ``index (E, a)``, if :meth:`divisible`."""
        return Tangents(tuple(cast(Any, part).at(index) for part in self.parts))

    @property
    def divisible(self) -> bool:
        """Whether :meth:`at` is available for all parts."""
        return all(hasattr(part, "at") for part in self.parts)

    def jacobian(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``, the columns in the order of the flattened parameters."""
        return torch.cat([part.jacobian() for part in self.parts], -1)
