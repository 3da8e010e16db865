r"""The centred ansatz while the kernel is frozen: its value at any step of lazy training, in closed form.

With a frozen tangent kernel :math:`\Theta` gradient descent of the mean of half the squares leaves the residuals
:math:`r_s=(1-\eta\Theta/n)^s\,r_0`. The change of a layer's weights is then :math:`\bar W=\frac\eta n\,\delta^\top C X`
with the pre-activation tangents :math:`\delta` of the start and the diagonal matrix ``C`` of

.. math:: c=\sum_{s<t}r_s=\bigl[1-(1-\eta\Theta/n)^t\bigr]\,(\eta\Theta/n)^{-1}\,r_0 ,

so that the C-NFA is Eq. 4 of paper D with the dual coefficients ``c`` in place of the labels. Early, ``c ∝ r_0``; at
the end ``c ∝ Θ⁻¹ r_0``, which weighs the directions that are learnt last.

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
class FrozenDescent:
    """Descent of the mean of half the squares with a frozen kernel, in the kernel's eigenvectors.

    Attributes:
        values: eigenvalues of ``η Θ/n``, ``(..., n)``.
        vectors: ``(..., n, n)``.
        along: the residual of the start along them, ``(..., n)``.
    """

    values: Tensor
    vectors: Tensor
    along: Tensor

    @classmethod
    def of(cls, kernel: Tensor, residual: Tensor, *, rate: float) -> Self:
        """The descent of a kernel ``Θ (..., n, n)``, the plain sum over weights, from ``residual (..., n)``.

        Raises:
            InputError: for a rate that is not positive, or shapes that do not fit.
        """
        validate.positive(rate=rate)
        kernel, residual = validate.tensors(kernel=("... n n", kernel), residual=("... n", residual))
        values, vectors = torch.linalg.eigh(kernel.double() * rate / kernel.shape[-1])
        return cls(values, vectors, (vectors.mT @ residual.double().unsqueeze(-1)).squeeze(-1))

    def duals(self, steps: int) -> Tensor:
        """``c``, the sum of the residuals over the first ``steps`` steps, 1 or more; ``(..., n)``, double precision."""
        validate.integer(1, steps=steps)
        small = self.values.abs() < NULL
        sums = (1 - (1 - self.values) ** steps) / torch.where(small, 1.0, self.values)
        sums = torch.where(small, float(steps), sums)
        return (self.vectors @ (sums * self.along).unsqueeze(-1)).squeeze(-1)

    def c_nfa(self, start: Site, steps: int) -> Tensor:
        """The C-NFA ``(...)`` of a layer after ``steps`` steps, if its tangents stayed those of the ``start``."""
        delta = start.delta.double()
        return matrices.uc_nfa(matrices.velocity(start.inputs.double(), delta, self.duals(steps)), delta)
