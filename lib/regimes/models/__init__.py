"""What learns: networks with a leading axis of independent realisations, and the losses they learn by.

Every model ``f`` has, for points ``x (p, ...)`` shared by all ``E`` realisations or ``(E, p, ...)``:

- ``model(x)``: its outputs ``(E, p)``;
- ``parameters()``: the tensors that are trained, each ``(E, ...)``; ``with_parameters(tensors)``: the same model with
  others;
- ``tangents(x)``: the derivatives of the outputs by all of them, see :mod:`regimes.models.tangents`; tangent kernels,
  gradients, NFM and AGOP follow from these;
- ``model[rows]``: some of the realisations, the leading axis stays; ``model.to(dtype=, device=)``.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from regimes.models.tangents import Tangents


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
