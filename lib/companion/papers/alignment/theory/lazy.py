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
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import ntk
from regimes.measures import matrices
from regimes.measures.matrices import Site, sites
from regimes.models import Model
from regimes.models.layers import Derived
from regimes.models.module import ModuleModel, module
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
        """The C-NFA ``(...)`` of a layer at a ``time``, if its tangents stayed those of the ``start``.

        Of a layer that acts at several positions all of a point have its dual coefficient.
        """
        delta = start.delta.double()
        duals = self.duals(time).repeat_interleave(start.positions, -1)
        return matrices.uc_nfa(matrices.velocity(start.inputs.double(), delta, duals), delta)

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


def lazy_alignment(
    model: Model | torch.nn.Module,
    x: Any,
    y: Tensor,
    times: Sequence[float],
    *,
    alpha: float = 1.0,
    centred: bool = False,
    layers: Collection[str] | None = None,
) -> dict[str, Tensor]:
    r"""The C-NFA that lazy training on half the mean square would show, by layer; nothing is trained.

    The correlation of :math:`\bar W^\top\bar W` and :math:`\bar W^\top K\bar W` for
    :math:`\bar W\propto\sum_{\mu t}c_\mu\,\delta_{\mu t}\,x_{\mu t}^\top`, over points ``μ`` and the positions
    ``t`` at which the layer acts: tokens, or the patches of a convolution. All positions of a point have its dual
    coefficient :math:`c_\mu`.

    What a network has beyond it is due to features, if its step is so small that the loss never rises. A high value by
    itself is not: queries and keys of attention have one with a frozen kernel.

    Args:
        model: of :mod:`regimes.models`, or any torch module with one output. Layers are those of
            :func:`regimes.measures.matrices.sites` with convolutions: linear ones, at any number of positions, and
            ``Conv2d`` of one group. One with a single output has the value 1 at any time and is left out.
        x: points ``(n, ...)``.
        y: targets ``(n)``, or ``(E, n)``.
        times: of gradient flow, above 0: steps times their rate.
        alpha: output scale of the predictor ``α f``, whose loss is divided by ``α``, as in
            :func:`regimes.training.optimise.optimise`.
        centred: whether the predictor is ``α (f - f_0)``, which starts at zero.
        layers: names of those wanted; ``None`` for all.

    Returns:
        For each layer, by name in the order of its calls, ``(E, times)`` in double precision.

    Raises:
        InputError: for targets that do not fit the points, several outputs, ``layers`` without a law, and in one
            message that names them for all trained matrices without one: convolutions in groups, weights that are
            computed from other parameters, embeddings, and what is used without the call of a layer.

    Derived from paper D, Eq. 4 and Prop. 4.
    """
    validate.positive(alpha=alpha)
    if not len(times):
        raise InputError("times must hold at least one time")
    for i, time in enumerate(times):
        validate.positive(**{f"times[{i}]": time})
    model = model if hasattr(model, "names") else module(model)
    if hasattr(model, "paired"):
        model, x, count = model.paired(x)
        if count > 1:
            raise InputError(f"the module must give one number a point, it gives {count}: take model.output(c)")
    outputs = model(x)
    (y,) = validate.tensors(y=("... n", y))
    if y.shape not in (outputs.shape, outputs.shape[1:]):
        raise InputError(f"y must hold a target for each of {outputs.shape[1]} points, got shape {tuple(y.shape)}")
    found = _with_law(model, x) if isinstance(model, ModuleModel) else (sites(model, x), {})
    start = alpha * outputs if not centred else torch.zeros_like(outputs)
    flow = FrozenFlow.of(alpha * ntk(model, x), y.to(outputs) - start)
    return {site.name: torch.stack([flow.c_nfa(site, time) for time in times], -1) for site in _wanted(found, layers)}


def _with_law(model: ModuleModel, x: Tensor) -> tuple[list[Site], dict[str, str]]:
    """The layers of a module whose change is that of the law, and why other matrices that are trained have none."""
    with warnings.catch_warnings():  # what these name is refused here
        warnings.filterwarnings("ignore", message="left out of the layers")
        parts = model.layers(x)
        found = {site.name: site for site in sites(model, x, convolutions=True)}
    trained = dict(zip(model.names, model.parameters(), strict=True))
    lawful, refused, seen = [], {}, set()
    for part in parts:
        names = {*part.names} & {*trained}
        if isinstance(part, Derived) and names:
            refused[part.layer] = "its change is not that of its weights alone"
        elif part.groups > 1 and names:
            refused[part.layer] = "a convolution in groups"
        elif part.names[0] in names and part.weight.shape[1] > 1:
            lawful.append(found[part.layer])
        seen |= names
    missed = [name for name, value in trained.items() if value.ndim > 2 and name not in seen]
    return lawful, refused | dict.fromkeys(missed, "used without the call of a Linear or Conv2d")


def _wanted(found: tuple[list[Site], dict[str, str]], layers: Collection[str] | None) -> list[Site]:
    """The layers that are asked for; all of them, if no other matrix is trained."""
    lawful, refused = found
    names = [site.name for site in lawful]
    if layers is not None:
        if isinstance(layers, str) or not layers or not {*layers} <= {*names}:
            raise InputError(f"layers must be some of {', '.join(names) or 'none'}; got {layers!r}")
        return [site for site in lawful if site.name in layers]
    if refused:
        why = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise InputError(f"no law of lazy training for {why}. layers={names} asks for the others")
    if not lawful:
        raise InputError("no layer with more than one output is trained")
    return lawful
