"""Fully connected ReLU networks of any depth, in two parametrisations, with an axis of independent realisations.

``h_0 = x``, ``h_l = ReLU(m_l W_l h_{l-1})``, ``f = m_L W_L h_{L-1}``, without biases.

- ``ntk``: entries of ``W_l`` are N(0, 1) and ``m_l = gain/√n_{l-1}``; gradients with respect to ``W_l`` then have the
  scale at which one rate serves every width.
- ``standard``: entries are N(0, gain²/n_{l-1}) and ``m_l = 1``; the same function at the start, but its tangent kernel
  is ``n`` times as large, so that a stable rate of gradient descent falls as ``1/n``.

Paper C has ``gain = 1``; ``gain = √2`` keeps the size of the signal from layer to layer and differs by one factor only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regimes import devices, validate
from regimes.validate import InputError

PARAMETRISATIONS = ("ntk", "standard")


@dataclass(frozen=True)
class FullyConnected:
    """Weights ``W_l (s, n_l, n_{l-1})`` of ``s`` independent realisations and the multipliers ``m_l``."""

    weights: list[Tensor]
    multipliers: list[float]

    @property
    def depth(self) -> int:
        """The number of weight layers, ``L``."""
        return len(self.weights)

    def hidden(self, x: Tensor) -> list[Tensor]:
        """``[h_0, …, h_{L-1}]``, each ``(s, n, n_l)``, for inputs ``x (n, d)`` or ``(s, n, d)``.

        Raises:
            InputError: for inputs of another dimension, dtype or number of realisations.
        """
        first = self.weights[0]
        if (
            not isinstance(x, Tensor)
            or x.ndim not in (2, 3)
            or (x.shape[-1], x.dtype) != (first.shape[-1], first.dtype)
        ):
            raise InputError(
                f"x must be inputs (n, {first.shape[-1]}) in {first.dtype}, got {getattr(x, 'shape', x)!r}"
            )
        if x.ndim == 3 and len(x) not in (1, len(first)):
            raise InputError(f"x must hold {len(first)} realisations, one a network, got {len(x)}")
        layers = [x.expand(len(self.weights[0]), *x.shape[-2:])]
        for weight, multiplier in zip(self.weights[:-1], self.multipliers):
            layers.append(torch.relu(multiplier * (layers[-1] @ weight.mT)))
        return layers

    def __call__(self, x: Tensor) -> Tensor:
        """The output ``(s, n, n_L)``."""
        return self.multipliers[-1] * (self.hidden(x)[-1] @ self.weights[-1].mT)

    def parameters(self) -> list[Tensor]:
        """The weights, as an optimiser takes them."""
        return self.weights


def fully_connected(
    widths: Sequence[int],
    *,
    seeds: Sequence[int],
    parametrisation: str = "ntk",
    gain: float = math.sqrt(2),
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> FullyConnected:
    """Networks with layers of ``widths`` (input, hidden ones, output), one for each seed.

    Args:
        widths: ``n_0, n_1, …, n_L``, at least two.
        seeds: one initialisation each; a realisation does not depend on the others.
        parametrisation: ``ntk`` or ``standard``; see the module's head.
        gain: standard deviation of a weight in units of ``1/√fan-in``; 1 in paper C.
        dtype: of the weights; draws are made in that precision.
        device: where they live.

    Raises:
        InputError: for an unknown parametrisation or dtype, a width below 1, no seed, or a gain that is not positive.

    Source: paper C, Sec. 4 and Sec. 5.
    """
    validate.one_of(PARAMETRISATIONS, parametrisation=parametrisation)
    validate.positive(gain=gain)
    validate.seeds(seeds)
    validate.integer(1, layers=len(widths) - 1, **{f"widths[{i}]": n for i, n in enumerate(widths)})
    validate.one_of((torch.float32, torch.float64), dtype=dtype)
    weights = len(seeds) * sum(a * b for a, b in zip(widths, widths[1:]))
    validate.memory(8 * weights, f"the {weights} weights of {len(seeds)} networks")
    kind = {torch.float32: np.float32, torch.float64: np.float64}[dtype]
    generators = [np.random.default_rng(seed) for seed in seeds]
    weights, multipliers = [], []
    for fan_in, fan_out in zip(widths[:-1], widths[1:]):
        scale = gain / math.sqrt(fan_in)
        drawn = [torch.from_numpy(g.standard_normal((fan_out, fan_in), dtype=kind)) for g in generators]
        weight = torch.stack(drawn) if len(drawn) > 1 else drawn[0][None]
        weights.append((weight if parametrisation == "ntk" else weight.mul_(scale)).to(devices.pick(device)))
        multipliers.append(scale if parametrisation == "ntk" else 1.0)
    return FullyConnected(weights, multipliers)


def tangent_kernel(network: FullyConnected, x: Tensor) -> Tensor:
    """``Θ(x_i, x_j) = Σ_w ∂f(x_i)/∂w ∂f(x_j)/∂w`` of networks with one output, ``(s, n, n)``.

    Layer by layer it is a product of two Gram matrices, ``m_l² (δ_l·δ_l') (h_{l-1}·h_{l-1}')`` with ``δ_l`` the
    derivative by the pre-activation: no parameter gradient is formed.

    Args:
        network: networks with one output.
        x: inputs ``(n, d)``.

    Raises:
        InputError: for networks with more than one output, inputs that do not fit, or NaN.

    Source: paper C, Definition 2.
    """
    validate.arrays(x=("... n d", x))
    validate.one_of((1,), outputs=network.weights[-1].shape[-2])
    layers = network.hidden(x)
    delta = torch.ones_like(layers[0][..., :1])
    kernel = torch.zeros((), dtype=x.dtype, device=x.device)
    for weight, multiplier, below in zip(network.weights[::-1], network.multipliers[::-1], layers[::-1]):
        kernel = kernel + multiplier**2 * (delta @ delta.mT) * (below @ below.mT)
        delta = multiplier * (delta @ weight) * (below > 0)
    return kernel
