r"""Fully connected networks of any depth, with a leading axis of independent realisations.

.. math:: h_0 = x, \quad z_l = m_l W_l h_{l-1} + b_l, \quad h_l = \sigma(z_l), \quad f = m_L W_L h_{L-1}.

The multipliers ``m_l`` and the scale of the weights are the *parametrisation*:

- ``ntk``: entries of ``W_l`` are N(0, 1) and ``m_l = gain/√n_{l-1}``; one learning rate then suits every width.
- ``standard``: entries are N(0, gain²/n_{l-1}) and ``m_l = 1``; the same function at the start, but its tangent kernel
  is ``n`` times as large, so that a stable rate of gradient descent falls as ``1/n``.
- ``mean-field``: as ``ntk``, but ``m_L = gain/n_{L-1}``: outputs start at order ``1/√n``, features move at order one.

Paper C has ``gain = 1`` with ReLU; papers A and B ``gain = 1`` with an activation normalised to ``E σ² = 1``, biases
(paper A) or none (paper B), and the mean-field scale.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from regimes import devices, validate
from regimes.models import Realisations, inputs, matching
from regimes.models.activations import ACTIVATIONS, Activation, activation
from regimes.models.tangents import Layer, Tangents
from regimes.validate import InputError

threshold_backward = torch.ops.aten.threshold_backward
RELU = ACTIVATIONS["relu"]
PARAMETRISATIONS = ("ntk", "standard", "mean-field")


@dataclass(frozen=True)
class FullyConnected(Realisations):
    """Weights of ``E`` independent realisations.

    Attributes:
        weights: ``W_l (E, n_l, n_{l-1})``, from the first layer to the last.
        biases: ``b_l (E, n_l)`` of all layers but the last; empty without biases.
        multipliers: ``m_l``.
        sigma: the activation.
    """

    weights: tuple[Tensor, ...]
    multipliers: tuple[float, ...]
    sigma: Activation
    biases: tuple[Tensor, ...] = ()

    @property
    def depth(self) -> int:
        """The number of weight layers, ``L``."""
        return len(self.weights)

    @property
    def widths(self) -> tuple[int, ...]:
        """``n_0, n_1, …, n_L``."""
        return (self.weights[0].shape[-1], *(weight.shape[-2] for weight in self.weights))

    @property
    def names(self) -> tuple[str, ...]:
        """``W1, b1, W2, …, WL``."""
        return tuple(name for layer in range(1, self.depth + 1) for name in self._names(layer))

    def _names(self, layer: int) -> tuple[str, ...]:
        return (f"W{layer}", f"b{layer}") if self.biases and layer < self.depth else (f"W{layer}",)

    @property
    def tangent_size(self) -> int:
        """``Σ_l (n_{l-1} + n_l)``."""
        return sum(self.widths[:-1]) + sum(self.widths[1:])

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the network takes them, see :func:`regimes.models.inputs`."""
        return inputs(x, self.weights[0].shape[2:], self.weights[0], name=name)

    def _forward(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """``[h_0, …, h_{L-1}]`` and ``[z_1, …, z_{L-1}]``."""
        first = self.weights[0]
        hidden = [self.points(x).expand(len(first), -1, -1)]
        before = []
        for layer, (weight, multiplier) in enumerate(zip(self.weights[:-1], self.multipliers)):
            z = (hidden[-1] @ weight.mT).mul_(multiplier)
            if self.biases:
                z = z.add_(self.biases[layer].unsqueeze(-2))
            before.append(z)
            hidden.append(self.sigma(z))
        return hidden, before

    def hidden(self, x: Tensor) -> list[Tensor]:
        """``[h_0, …, h_{L-1}]``, each ``(E, p, n_l)``, for inputs ``x (p, d)`` or ``(E, p, d)``."""
        return self._forward(x)[0]

    def preactivations(self, x: Tensor) -> list[Tensor]:
        """``[z_1, …, z_{L-1}]``, the arguments of the activation, each ``(E, p, n_l)``; inputs as of :meth:`hidden`."""
        return self._forward(x)[1]

    def outputs(self, x: Tensor) -> Tensor:
        """All outputs ``(E, p, n_L)``."""
        return self.multipliers[-1] * (self.hidden(x)[-1] @ self.weights[-1].mT)

    def __call__(self, x: Tensor) -> Tensor:
        """The output ``(E, p)`` of a network with one."""
        self._needs_one_output()
        return self.outputs(x).squeeze(-1)

    def _needs_one_output(self) -> None:
        if self.widths[-1] != 1:
            raise InputError(f"a network with one output is needed here, this one has {self.widths[-1]}")

    def layers(self, x: Tensor) -> list[Layer]:
        """Each layer's inputs ``h`` and derivatives ``δ``, in one forward and one backward pass.

        Raises:
            InputError: for a network with several outputs, and as :meth:`hidden`.
        """
        self._needs_one_output()
        hidden, before = self._forward(x)
        delta = torch.ones_like(hidden[-1][..., :1])
        layers = [Layer(hidden[-1], delta, self.multipliers[-1], names=self._names(self.depth))]
        for layer in range(self.depth - 1, 0, -1):
            delta = (delta @ self.weights[layer]).mul_(self.multipliers[layer]).mul_(self.sigma.slope(before.pop()))
            multiplier = self.multipliers[layer - 1]
            names = self._names(layer)
            layers.append(Layer(hidden[layer - 1], delta, multiplier, bool(self.biases), names=names))
        return layers[::-1]

    def pullback(self, x: Tensor) -> tuple[Tensor, Callable[[Tensor], list[Tensor]]]:
        """All outputs ``f (E, p, n_L)``, and ``v -> Jᵀ v`` for ``v`` of their shape, one tensor per parameter.

        The multipliers go into the products, and nothing is kept but layers' inputs and slopes: a step of one network
        takes two thirds of the time of one by automatic differentiation in float32, three quarters in float64.
        """
        hidden = [self.points(x).expand(len(self.weights[0]), -1, -1)]
        slopes = []
        nothing = x.new_empty(())
        for layer, (weight, multiplier) in enumerate(zip(self.weights[:-1], self.multipliers)):
            bias = self.biases[layer].unsqueeze(-2) if self.biases else nothing
            z = _product(bias, hidden[-1], weight.mT, multiplier)
            slopes.append(None if self.sigma is RELU else self.sigma.slope(z))
            hidden.append(z.relu_() if self.sigma is RELU else self.sigma(z))

        def pull(v: Tensor) -> list[Tensor]:
            gradients = [_product(nothing, v.mT, hidden[-1], self.multipliers[-1])]
            delta = v
            for layer in range(self.depth - 2, -1, -1):
                delta = _product(nothing, delta, self.weights[layer + 1], self.multipliers[layer + 1])
                slope = slopes[layer]
                delta = threshold_backward(delta, hidden[layer + 1], 0) if slope is None else delta.mul_(slope)
                if self.biases:
                    gradients.append(delta.sum(-2))
                gradients.append(_product(nothing, delta.mT, hidden[layer], self.multipliers[layer]))
            return gradients[::-1]

        return _product(nothing, hidden[-1], self.weights[-1].mT, self.multipliers[-1]), pull

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives of the output with respect to all parameters."""
        return Tangents(tuple(self.layers(x)))

    def parameters(self) -> list[Tensor]:
        """``W_1, b_1, W_2, …, W_L``."""
        if not self.biases:
            return list(self.weights)
        pairs = zip(self.weights, self.biases)
        return [tensor for pair in pairs for tensor in pair] + [self.weights[-1]]

    def with_parameters(self, parameters: Sequence[Tensor]) -> "FullyConnected":
        """The same network with other weights and biases, of the same shapes."""
        tensors = matching(parameters, self.parameters())
        step = 2 if self.biases else 1
        return replace(self, weights=tuple(tensors[::step]), biases=tuple(tensors[1::2] if self.biases else ()))

    def _map(self, change: Callable[[Tensor], Tensor]) -> "FullyConnected":
        return replace(self, weights=tuple(map(change, self.weights)), biases=tuple(map(change, self.biases)))


def fully_connected(
    widths: Sequence[int],
    *,
    seeds: Sequence[int],
    sigma: str | Activation = "relu",
    parametrisation: str = "ntk",
    gain: float = math.sqrt(2),
    bias: bool = False,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> FullyConnected:
    """Networks with layers of ``widths`` (input, hidden ones, output), one for each seed.

    Args:
        widths: ``n_0, n_1, …, n_L``, at least two.
        seeds: one initialisation each, independent of the others.
        sigma: the activation, a name in ``activations.ACTIVATIONS`` or from ``activations.activation``.
        parametrisation: ``ntk``, ``standard`` or ``mean-field``; see the module's head.
        gain: standard deviation of a weight in units of ``1/√fan-in``; 1 in paper C.
        bias: whether the hidden layers have (trained) biases, standard normal at the start.
        dtype: of the weights and of their draws.
        device: of the weights.

    Source: paper C, Sec. 4 and 5; paper B, Sec. 3.
    """
    validate.one_of(PARAMETRISATIONS, parametrisation=parametrisation)
    validate.positive(gain=gain)
    validate.seeds(seeds)
    validate.integer(1, layers=len(widths) - 1, **{f"widths[{i}]": n for i, n in enumerate(widths)})
    validate.one_of((torch.float32, torch.float64), dtype=dtype)
    sigma = activation(sigma)
    count = len(seeds) * sum(a * b for a, b in zip(widths, widths[1:]))
    validate.memory(8 * count, f"the {count} weights of {len(seeds)} networks")
    generators = [np.random.default_rng(seed) for seed in seeds]
    weights = [_drawn(generators, (out, into), dtype) for into, out in zip(widths, widths[1:])]
    biases = [_drawn(generators, (n,), dtype) for n in widths[1:-1]] if bias else []  # after the weights: those stay
    multipliers = [gain / math.sqrt(n) for n in widths[:-1]]
    if parametrisation == "mean-field":
        multipliers[-1] = gain / widths[-2]
    if parametrisation == "standard":
        weights = [weight.mul_(scale) for weight, scale in zip(weights, multipliers)]
        multipliers = [1.0] * len(weights)
    place = devices.pick(device)
    placed_weights = tuple(weight.to(place) for weight in weights)
    placed_biases = tuple(tensor.to(place) for tensor in biases)
    return FullyConnected(placed_weights, tuple(multipliers), sigma, placed_biases)


def _product(start: Tensor, a: Tensor, b: Tensor, multiplier: float) -> Tensor:
    """``start + m a b`` in one pass over the result; a ``start`` without axes adds nothing."""
    return torch.baddbmm(start, a, b, beta=int(start.ndim > 0), alpha=multiplier)


def _drawn(generators: list[np.random.Generator], shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    kind = np.float32 if dtype == torch.float32 else np.float64
    return torch.from_numpy(np.stack([generator.standard_normal(shape, kind) for generator in generators]))
