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

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from regimes import validate
from regimes.measures import matrices
from regimes.measures.matrices import Site

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
