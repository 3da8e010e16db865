"""What learns: networks with a leading axis of independent realisations, and the losses they learn by.

Every model ``f`` has, for points ``x (p, ...)`` shared by all ``E`` realisations or ``(E, p, ...)``:

- ``model(x)``: its outputs ``(E, p)``;
- ``parameters()``: the tensors that are trained, each ``(E, ...)``; ``with_parameters(tensors)``: the same model with
  others;
- ``tangents(x)``: the derivatives of the outputs by all of them, see :mod:`regimes.models.tangents`; tangent kernels,
  gradients, NFM and AGOP follow from these;
- ``model[rows]``: some of the realisations, the leading axis stays; ``model.to(dtype=, device=)``.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from regimes.models.tangents import Tangents
from regimes.validate import InputError


class Model(Protocol):
    """``E`` independent realisations of a network with one output; see the package's head."""

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``(E, p)``."""

    def parameters(self) -> list[Tensor]:
        """The trained tensors, each ``(E, ...)``, in the order of :meth:`tangents`."""

    def with_parameters(self, parameters: Sequence[Tensor]) -> "Model":
        """The same model with other parameters, of the same shapes."""

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives of the outputs at ``x`` by the parameters."""

    def __getitem__(self, rows: slice | Tensor) -> "Model":
        """The realisations ``rows``."""

    def to(self, *, dtype: torch.dtype | None = None, device: str | torch.device | None = None) -> "Model":
        """The same model in another precision or on another device."""


def join(models: Sequence[Model]) -> Model:
    """The realisations of several models of one kind as one ensemble: every tensor field one after the other.

    Raises:
        InputError: for no model, or models of different kinds or shapes.
    """
    if not models or len({type(model) for model in models}) > 1:
        kinds = ", ".join(sorted({type(model).__name__ for model in models})) or "none"
        raise InputError(f"models to join must be at least one and of one kind, got {kinds}")
    first = models[0]
    fields = {f.name: [getattr(model, f.name) for model in models] for f in dataclasses.fields(first)}
    return dataclasses.replace(first, **{name: _joined(name, values) for name, values in fields.items()})


def _joined(name: str, values: list[Any]) -> Any:
    if isinstance(values[0], Tensor):
        if len({value.shape[1:] for value in values}) > 1:
            raise InputError(f"models to join must have the same shapes, {name} differs")
        return torch.cat(values)
    if isinstance(values[0], tuple):
        return tuple(_joined(name, list(items)) for items in zip(*values, strict=True))
    if any(value != values[0] for value in values):
        raise InputError(f"models to join must have the same {name}")
    return values[0]
