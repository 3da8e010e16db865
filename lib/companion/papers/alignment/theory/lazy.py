r"""The centred ansatz while the kernel is frozen: its value at any time of lazy training, in closed form.

With a frozen tangent kernel :math:`\Theta` gradient flow of the mean of half the squares leaves the residuals
:math:`r_s=e^{-\Theta s/n}\,r_0`. The change of a layer's weights is then :math:`\bar W=\frac1n\,\delta^\top C X`
with the pre-activation tangents :math:`\delta` of the start and the diagonal matrix ``C`` of

.. math:: c=\int_0^t r_s\,ds=\bigl[1-e^{-\Theta t/n}\bigr]\,(\Theta/n)^{-1}\,r_0 ,

so that the C-NFA is Eq. 4 of paper D with the dual coefficients ``c`` in place of the labels. Early, ``c ∝ r_0``; at
the end ``c ∝ Θ⁻¹ r_0``, which weighs the directions that are learnt last. Descent follows the flow where its rate times
the largest eigenvalue of ``Θ/n`` is well below 2; beyond, descent with a frozen kernel has no end.

Derived from paper D, Eq. 4 and Prop. 4; the paper has the first step alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import ntk
from regimes.measures import matrices
from regimes.measures.matrices import Site, sites
from regimes.models import Model
from regimes.models.module import module
from regimes.validate import InputError

NULL = 1e-12  # an eigenvalue below it leaves the residual as it is


@dataclass(frozen=True)
class FrozenFlow:
    """Gradient flow of the mean of half the squares with a frozen kernel, in the kernel's eigenvectors.

    Attributes:
        values: eigenvalues of ``Θ/n``, ``(..., n)``.
        vectors: ``(..., n, n)``.
        along: the residual of the start along them, ``(..., n)``.
    """

    values: Tensor
    vectors: Tensor
    along: Tensor

    @classmethod
    def of(cls, kernel: Tensor, residual: Tensor) -> Self:
        """The flow of a kernel ``Θ (..., n, n)``, the plain sum over weights, from ``residual (..., n)``.

        Raises:
            InputError: for shapes that do not fit.
        """
        kernel, residual = validate.tensors(kernel=("... n n", kernel), residual=("... n", residual))
        values, vectors = torch.linalg.eigh(kernel.double() / kernel.shape[-1])
        return cls(values, vectors, (vectors.mT @ residual.double().unsqueeze(-1)).squeeze(-1))

    def duals(self, time: float) -> Tensor:
        """``c``, the integral of the residuals to a ``time`` above 0; ``(..., n)``, double precision."""
        validate.positive(time=time)
        small = self.values.abs() * time < NULL
        integral = -torch.expm1(-self.values * time) / torch.where(small, 1.0, self.values)
        integral = torch.where(small, float(time), integral)
        return (self.vectors @ (integral * self.along).unsqueeze(-1)).squeeze(-1)

    def c_nfa(self, start: Site, time: float) -> Tensor:
        """The C-NFA ``(...)`` of a layer at a ``time``, if its tangents stayed those of the ``start``."""
        delta = start.delta.double()
        return matrices.uc_nfa(matrices.velocity(start.inputs.double(), delta, self.duals(time)), delta)

    def remaining_share(self, time: float) -> Tensor:
        """The share ``(...)`` of the mean square of the residuals that is left at a ``time`` of at least 0."""
        validate.at_least(0, time=time)
        residual = torch.exp(-self.values.clamp(min=0) * time) * self.along
        return residual.square().sum(-1) / self.along.square().sum(-1)

    def time_of_share(self, share: float) -> float:
        """The time at which a ``share`` of the loss is left in the mean over networks; a first step for a share of 1.

        Raises:
            InputError: if the kernel leaves more than that for ever.
        """
        validate.positive(share=share)
        first = 1e-6 / float(self.values.max())
        if share >= 1:
            return first
        low = first
        high = 1e15 * first
        if float(self.remaining_share(high).mean()) > share:
            raise InputError(f"the kernel fits less: no time at which a share of {share:g} of the loss is left")
        for _ in range(100):
            middle = math.sqrt(low * high)
            if float(self.remaining_share(middle).mean()) > share:
                low = middle
            else:
                high = middle
        return high


def lazy_alignment(model: Model | torch.nn.Module, x: Tensor, y: Tensor, times: Sequence[float]) -> Tensor:
    """The C-NFA that lazy training on half the mean square would show, ``(layers, E, times)``; nothing is trained.

    Args:
        model: of :mod:`regimes.models`, or any torch module with one output; layers are those of
            :func:`regimes.measures.matrices.sites`.
        x: points ``(n, ...)``.
        y: targets ``(n)``.
        times: of gradient flow, above 0: steps times their rate.

    Derived from paper D, Eq. 4 and Prop. 4.
    """
    model = model if hasattr(model, "names") else module(model)
    flow = FrozenFlow.of(ntk(model, x), y - model(x))
    layers = [torch.stack([flow.c_nfa(site, time) for time in times], -1) for site in sites(model, x)]
    return torch.stack(layers)
