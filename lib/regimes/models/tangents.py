r"""Derivatives of a network's outputs by its parameters, kept in the form in which one backward pass gives them.

A linear layer ``z = m W h + s b`` has ``∂f/∂W = m δ hᵀ`` and ``∂f/∂b = s δ`` with ``δ = ∂f/∂z``. Its ``h`` and ``δ``
are all that is ever needed: for ``p`` points they hold ``p (n_in + n_out)`` numbers, the gradients ``p n_in n_out``.

With the Jacobian ``J (p, P)`` of the outputs by all ``P`` parameters, :class:`Tangents` gives ``J w``, ``Jᵀ v``, the
tangent kernel ``J Jᵀ`` and, where it fits into memory, ``J`` itself. Plain sums over points and parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor


class Part(Protocol):
    """The tangents of some of the parameters: those of one layer."""

    def gram(self, other: "Part") -> Tensor:
        """Its term of the tangent kernel, ``(E, n, m)``."""

    def pull(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, one tensor a parameter."""

    def push(self, w: Sequence[Tensor]) -> Tensor:
        """``J w`` for one tensor a parameter: ``(E, p)``."""

    def rows(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``."""

    def points(self, index: Tensor) -> "Part":
        """At some of the points, ``index (E, a)``."""

    def __getitem__(self, rows: Tensor) -> "Part":
        """Of some of the realisations."""

    count: int  # of parameter tensors


@dataclass(frozen=True)
class Layer:
    """The tangents of a linear layer ``z = m W h + s b``.

    Attributes:
        h: its inputs ``(E, p, n_in)``.
        delta: ``δ``, the derivatives of the output by the pre-activations ``z``, ``(E, p, n_out)``.
        multiplier: ``m``, a number or ``(E, 1, 1)``.
        bias_multiplier: ``s``; ``None`` without biases.
    """

    h: Tensor
    delta: Tensor
    multiplier: float | Tensor
    bias_multiplier: float | None = None

    @property
    def count(self) -> int:
        """Parameter tensors: the weights, and the biases where there are any."""
        return 1 if self.bias_multiplier is None else 2

    def gram(self, other: "Layer") -> Tensor:
        """``(m² h·h' + s²) (δ·δ')``, ``(E, n, m)``."""
        inner = (self.h @ other.h.mT) * self.multiplier**2
        if self.bias_multiplier is not None:
            inner = inner + self.bias_multiplier**2
        return inner * (self.delta @ other.delta.mT)

    def pull(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v``: ``m Σ v δ hᵀ (E, n_out, n_in)`` and ``s Σ v δ (E, n_out)``."""
        weighted = self.delta * v.unsqueeze(-1)
        found = [(weighted.mT @ self.h) * self.multiplier]
        if self.bias_multiplier is not None:
            found.append(weighted.sum(-2) * self.bias_multiplier)
        return found

    def push(self, w: Sequence[Tensor]) -> Tensor:
        """``J w``: ``δ·(m W h + s b)``, ``(E, p)``."""
        z = (self.h @ w[0].mT) * self.multiplier
        if self.bias_multiplier is not None:
            z = z + w[1].unsqueeze(-2) * self.bias_multiplier
        return (self.delta * z).sum(-1)

    def rows(self) -> Tensor:
        """``J (E, p, n_out n_in + n_out)``, the order that of ``pull``."""
        delta = self.delta * self.multiplier
        weights = (delta.unsqueeze(-1) * self.h.unsqueeze(-2)).flatten(-2)
        if self.bias_multiplier is None:
            return weights
        return torch.cat([weights, self.delta * self.bias_multiplier], -1)

    def points(self, index: Tensor) -> "Layer":
        """At some of the points of each realisation, ``index (E, a)``."""
        return replace(self, h=_at(self.h, index), delta=_at(self.delta, index))

    def __getitem__(self, rows: Tensor) -> "Layer":
        """Of some of the realisations."""
        own = isinstance(self.multiplier, Tensor)
        multiplier = self.multiplier[rows] if own else self.multiplier
        return replace(self, h=self.h[rows], delta=self.delta[rows], multiplier=multiplier)


def _at(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-2, index.unsqueeze(-1).expand(*index.shape, values.shape[-1]))


@dataclass(frozen=True)
class Tangents:
    """The Jacobian ``J (E, p, P)`` of the outputs by all parameters, in parts that need not be formed."""

    parts: tuple[Part, ...]

    def gram(self, other: "Tangents | None" = None) -> Tensor:
        """The tangent kernel ``J J'ᵀ (E, n, m)``."""
        pairs = zip(self.parts, (other or self).parts, strict=True)
        return sum(one.gram(two) for one, two in pairs)

    def pull(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, shaped as the parameters."""
        return [tensor for part in self.parts for tensor in part.pull(v)]

    def push(self, w: Sequence[Tensor]) -> Tensor:
        """``J w (E, p)`` for ``w`` shaped as the parameters."""
        found, at = None, 0
        for part in self.parts:
            term = part.push(w[at : at + part.count])
            found, at = term if found is None else found + term, at + part.count
        return found

    def points(self, index: Tensor) -> "Tangents":
        """At some of the points of each realisation, ``index (E, a)``."""
        return Tangents(tuple(part.points(index) for part in self.parts))

    def __getitem__(self, rows: Tensor) -> "Tangents":
        """Of some of the realisations."""
        return Tangents(tuple(part[rows] for part in self.parts))

    def rows(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``, the columns in the order of the flattened parameters."""
        return torch.cat([part.rows() for part in self.parts], -1)
