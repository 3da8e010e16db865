"""Activations with their derivatives, arguments of the models."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import silu

from regimes import gaussian, validate
from regimes.validate import InputError

STEEPEST = 1e3  # slope of the swish up to which the quadrature of its normalisation is exact


@dataclass(frozen=True)
class Activation:
    """An activation ``σ``, elementwise on tensors of any shape.

    Attributes:
        name: as in :data:`ACTIVATIONS`.
        value: ``σ``.
        slope: ``σ'``, the left derivative at a kink.
    """

    name: str
    value: Callable[[Tensor], Tensor] = field(repr=False)
    slope: Callable[[Tensor], Tensor] = field(repr=False)

    def __call__(self, z: Tensor) -> Tensor:
        """``σ(z)``."""
        return self.value(z)


def _swish(steepness: float, factor: float = 1.0) -> Activation:
    """A steep swish times ``factor``, with one new tensor; stored results were computed in this order of operations."""
    return Activation(
        "swish",
        lambda z: silu(steepness * z, inplace=True).div_(steepness).mul_(factor),
        lambda z: _silu_slope(steepness * z).mul_(factor),
    )


def _silu_slope(z: Tensor) -> Tensor:
    """The slope in one pass over the tensor instead of five."""
    return torch.ops.aten.silu_backward(torch.ones((), dtype=z.dtype, device=z.device).expand_as(z), z)


ACTIVATIONS = {
    "relu": Activation("relu", torch.relu, lambda z: (z > 0).to(z.dtype)),
    "tanh": Activation("tanh", torch.tanh, lambda z: 1 - torch.tanh(z).square()),
    "erf": Activation("erf", torch.erf, lambda z: (2 / math.sqrt(math.pi)) * torch.exp(-z.square())),
    "quadratic": Activation("quadratic", torch.square, lambda z: 2 * z),
    "linear": Activation("linear", lambda z: z, torch.ones_like),
    "swish": Activation("swish", silu, _silu_slope),
}


def activation(name: str | Activation, *, steepness: float = 1.0, normalised: bool = False) -> Activation:
    r"""The activation a name stands for: ``relu``, ``tanh``, ``erf``, ``quadratic`` (``z²``), ``linear`` or ``swish``.

    Args:
        name: one of these, or an :class:`Activation`, which is returned (normalised if asked).
        steepness: ``β`` of the swish :math:`z/(1 + e^{-\beta z})`; it tends to the ReLU as ``β`` grows.
        normalised: whether to divide by :math:`\sqrt{E\sigma(z)^2}` for a standard normal ``z``; ``√2`` for the ReLU.
    """
    if isinstance(name, Activation):
        return _normalised(name) if normalised else name
    if name == "sign":
        raise InputError("activation sign has no derivative to train with: take tanh, erf or a steep swish")
    validate.one_of(ACTIVATIONS, activation=name)
    validate.between(1e-3, STEEPEST, steepness=steepness)
    if name != "swish" and steepness != 1.0:
        raise InputError(f"steepness is that of the swish alone, got {steepness!r} for {name}")
    return _named(name, float(steepness), bool(normalised))


@functools.cache  # the same activation is the same object
def _named(name: str, steepness: float, normalised: bool) -> Activation:
    sigma = ACTIVATIONS[name] if steepness == 1.0 else _swish(steepness)
    if normalised and steepness != 1.0:
        return _swish(steepness, _unit(sigma))
    return _normalised(sigma) if normalised else sigma


def _unit(sigma: Activation) -> float:
    """The factor that makes the mean square for a standard normal ``z`` one."""
    # panels that end at 0, where a kink or a steep swish bends, and shrink towards it
    fine = 2.0 ** np.arange(-14.0, 0.0)
    edges = np.unique(np.concatenate([-fine, [0.0], fine, np.linspace(-gaussian.REACH, gaussian.REACH, 37)]))
    nodes, weights = gaussian.panels(edges)
    return 1 / math.sqrt(weights @ sigma.value(torch.from_numpy(nodes)).numpy() ** 2)


def _normalised(sigma: Activation) -> Activation:
    factor = _unit(sigma)
    if sigma.name == "swish":  # values and slopes are fresh, and their own derivatives do not look at them
        return replace(sigma, value=lambda z: sigma.value(z).mul_(factor), slope=lambda z: sigma.slope(z).mul_(factor))
    return replace(sigma, value=lambda z: factor * sigma.value(z), slope=lambda z: factor * sigma.slope(z))
