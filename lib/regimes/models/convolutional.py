r"""The convolutional network of paper A, with a leading axis of independent realisations.

Sixteen convolutions without biases, each :math:`z = m\,W * h` with ``m = 1/√fan-in`` and entries of ``W`` drawn from
N(0, 1): a stem (5×5, stride 2), a depthwise and a pointwise one; four inverted residual blocks (expand threefold by
1×1, 5×5 depthwise, project by 1×1 without activation; those of stride 1 give ``(input + output)/√2``); a head of
``20 h`` channels. The output is ``f = w·a/(20 h) + b`` with ``a`` the averages over the head's positions, the
mean-field scale; ``b`` starts at zero.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import unfold

from regimes import devices, validate
from regimes.models import WORK, Realisations, inputs
from regimes.models.activations import Activation, activation
from regimes.models.tangents import Part, Tangents
from regimes.models.windows import Blocks, Convolution, Depthwise, Window, product

# of all realisations in one pass: beyond it the maps leave a core's cache, or a GPU is filled
POINTS = {"cpu": 100, "cuda": 8192}


@dataclass(frozen=True)
class Stage:
    """One convolution of the network.

    Attributes:
        window: how it moves; a pointwise convolution has one of side 1.
        into: channels it takes.
        out: channels it makes.
        depthwise: whether each channel has a window of its own.
        active: whether the activation follows.
        residual: whether the input of the convolution two before is added, the sum divided by ``√2``.
    """

    window: Window
    into: int
    out: int
    depthwise: bool = False
    active: bool = True
    residual: bool = False

    @property
    def fan_in(self) -> int:
        """Products in one output."""
        return self.window.kernel**2 * (1 if self.depthwise else self.into)

    @property
    def multiplier(self) -> float:
        """``m = 1/√fan-in``."""
        return self.fan_in**-0.5

    def forward(self, weight: Tensor, h: Tensor) -> Tensor:
        """``z (E, out, p, positions)``."""
        weight = weight * self.multiplier
        if self.depthwise:
            return self.window.apply(weight.flatten(0, 1), h.flatten(0, 1)).unflatten(0, h.shape[:2])
        return product(weight, h.flatten(2)).unflatten(2, h.shape[2:])

    def back(self, weight: Tensor, delta: Tensor) -> Tensor:
        """The derivatives by ``h`` from those by ``z``."""
        weight = weight * self.multiplier
        if self.depthwise:
            return self.window.back(weight.flatten(0, 1), delta.flatten(0, 1)).unflatten(0, delta.shape[:2])
        return product(weight.mT, delta.flatten(2)).unflatten(2, delta.shape[2:])

    def part(self, h: Tensor, delta: Tensor, name: str) -> Part:
        """The tangents of its weights."""
        if self.depthwise:
            return Depthwise(h, delta, self.window, self.multiplier, names=(name,))
        return Convolution(h.permute(0, 2, 3, 1), delta.permute(0, 2, 3, 1), self.multiplier, names=(name,))


def _stages(h: int, shape: tuple[int, int, int]) -> tuple[Stage, ...]:
    """The sixteen convolutions for inputs of a shape ``(channels, height, width)``."""
    stages: list[Stage] = []
    channels, *size = shape

    def add(out: int, kernel: int = 1, stride: int = 1, **kinds: bool) -> None:
        into, (height, width) = (stages[-1].out, stages[-1].window.size) if stages else (channels, size)
        stages.append(Stage(Window(kernel, stride, height, width), into, out, **kinds))

    add(4 * h, kernel=5, stride=2)
    add(4 * h, kernel=5, depthwise=True)
    add(2 * h)
    for into, out, stride in ((2 * h, h, 2), (h, h, 1), (h, 3 * h, 2), (3 * h, 3 * h, 1)):
        add(3 * into)
        add(3 * into, kernel=5, stride=stride, depthwise=True)
        add(out, active=False, residual=stride == 1)  # those of stride 1 have equal channels
    add(20 * h)
    return tuple(stages)


@dataclass(frozen=True)
class Convolutional(Realisations):
    """Weights of ``E`` independent realisations.

    Attributes:
        weights: of the sixteen convolutions, each ``(E, out, fan-in)``; the fan-in runs over channels, then rows and
            columns of the window.
        readout: ``w (E, 1, 20 h)``.
        bias: ``b (E, 1)``.
        stages: what each convolution does.
        sigma: the activation.

    Source: paper A, Fig. 9, and its public code (network "mnas").
    """

    weights: tuple[Tensor, ...]
    readout: Tensor
    bias: Tensor
    stages: tuple[Stage, ...]
    sigma: Activation

    @property
    def h(self) -> int:
        """The width: channels are multiples of it."""
        return self.stages[0].out // 4

    @property
    def shape(self) -> tuple[int, int, int]:
        """``(channels, height, width)`` of the inputs."""
        first = self.stages[0]
        return (first.into, first.window.height, first.window.width)

    @property
    def names(self) -> tuple[str, ...]:
        """``W1``, …, ``W16`` of the convolutions, ``w`` and ``b``."""
        return (*(f"W{i}" for i in range(1, len(self.stages) + 1)), "w", "b")

    @property
    def tangent_size(self) -> int:
        """Numbers that the tangents of one point hold."""
        first = self.stages[0]
        patches = first.fan_in * math.prod(first.window.size)
        maps = [stage.out * math.prod(stage.window.size) for stage in self.stages]
        return patches + 2 * sum(maps) - maps[-1] + 20 * self.h + 1  # of the head the averages alone

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the network takes them, see :func:`regimes.models.inputs`."""
        return inputs(x, self.shape, self.readout, name=name)

    def _patches(self, x: Tensor) -> Tensor:
        """The windows of the first convolution, ``(E, fan-in, p, positions)``, for checked inputs."""
        first = self.stages[0].window
        windows = unfold(x.flatten(0, 1), first.kernel, padding=first.kernel // 2, stride=first.stride)
        return windows.unflatten(0, x.shape[:2]).transpose(1, 2).expand(len(self.readout), -1, -1, -1)

    def _forward(self, x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """The inputs of all convolutions and of the average, and the ``z``, each ``(E, channels, p, positions)``."""
        hidden = [self._patches(x)]
        before = []
        for stage, weight in zip(self.stages, self.weights):
            z = stage.forward(weight, hidden[-1])
            out = self.sigma(z) if stage.active else z
            if stage.residual:
                out = (out + hidden[-3]) * math.sqrt(0.5)
            before.append(z)
            hidden.append(out)
        return hidden, before

    def _blocks(self, x: Tensor) -> tuple[Tensor, ...]:
        points = POINTS.get(x.device.type, 1024)
        if x.device.type == "cuda":
            points = min(points, devices.room(x.device) // (WORK * self.tangent_size * x.element_size()))
        return x.split(max(1, points // len(self.readout)), 1)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``f (E, p)`` for images ``x (p, channels, height, width)`` or ``(E, p, …)``, also as vectors."""
        x = self.points(x)
        if torch.is_grad_enabled() and not x.requires_grad and any(w.requires_grad for w in self.parameters()):
            return _ByTangents.apply(self, x, *self.parameters())
        heads = [self._forward(block)[0][-1].mean(-1) for block in self._blocks(x)]
        return self._last(heads).jvp([self.readout, self.bias])

    def _last(self, averages: Sequence[Tensor]) -> Convolution:
        """The last layer's tangents, from the averages ``(E, 20 h, p)`` of each block of points."""
        h = torch.cat(list(averages), -1).mT.unsqueeze(2)
        return Convolution(h, torch.ones_like(h[..., :1]), 1 / h.shape[-1], True, names=("w", "b"))

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives of the output by all parameters, by one forward and one backward pass for all points.

        No gradient of a single point is made before ``rows`` or ``gram`` ask for it. The last part is the last layer's;
        its ``jvp`` of the last two parameters is the output.
        """
        x = self.points(x)
        self._needs_memory(x)
        averages, layers = zip(*(self._layers(block) for block in self._blocks(x)))
        return Tangents((*map(Blocks, zip(*layers)), self._last(averages)))

    def _layers(self, x: Tensor) -> tuple[Tensor, list[Part]]:
        """The averages over the head's positions, and the tangents of each convolution."""
        hidden, before = self._forward(x)
        head = hidden.pop()
        parts = []
        skipped = {}  # the derivatives by what a residual convolution adds, by the place of its input
        gradient = (self.readout.mT / (self.readout.shape[-1] * head.shape[-1])).unsqueeze(-1).expand_as(head)
        for i, (stage, weight) in reversed(list(enumerate(zip(self.stages, self.weights)))):
            if stage.residual:
                gradient = skipped[i - 2] = gradient * math.sqrt(0.5)
            z = before.pop()
            delta = self.sigma.slope(z).mul_(gradient) if stage.active else gradient
            parts.append(stage.part(hidden.pop(), delta, self.names[i]))
            if i:
                gradient = stage.back(weight, delta)
            if i in skipped:
                gradient = gradient.add_(skipped.pop(i))
        return head.mean(-1), parts[::-1]

    def _needs_memory(self, x: Tensor) -> None:
        count, p = len(self.readout), x.shape[1]
        needed = count * p * self.tangent_size * x.element_size()
        validate.memory(needed, f"the layers of {count} networks at {p} points", x.device)

    def parameters(self) -> list[Tensor]:
        """The convolutions' weights, ``w`` and ``b``."""
        return [*self.weights, self.readout, self.bias]

    def with_parameters(self, parameters: Sequence[Tensor]) -> "Convolutional":
        """The same network with other parameters."""
        *weights, readout, bias = parameters
        return replace(self, weights=tuple(weights), readout=readout, bias=bias)

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Convolutional":
        return self.with_parameters([change(tensor) for tensor in self.parameters()])


class _ByTangents(torch.autograd.Function):
    """The outputs; their derivatives by the parameters are the tangents', in two thirds of autograd's own time."""

    @staticmethod
    def forward(ctx: Any, model: Convolutional, x: Tensor, *parameters: Tensor) -> Tensor:
        ctx.tangents = model.tangents(x)
        return ctx.tangents.parts[-1].jvp(parameters[-2:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, v: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.tangents.vjp(v)


def convolutional(
    h: int,
    *,
    seeds: Sequence[int],
    shape: Sequence[int] = (1, 28, 28),
    sigma: str | Activation | None = None,
    device: str | torch.device = "cpu",
) -> Convolutional:
    """Networks with standard normal weights and no bias at the start, one realisation per seed.

    A seed gives the same weights alone or among others, on every device and (up to rounding) in every precision.

    Args:
        h: width; 10 in paper A, which makes 23 251 parameters for its images.
        seeds: one initialisation each.
        shape: ``(channels, height, width)`` of the inputs.
        sigma: the activation; ``None`` for paper A's, the swish ``z/(1 + e^{-z})`` normalised to ``E σ² = 1``.
        device: where they live; ``"auto"`` picks CUDA where there is one.

    Source: paper A, Sec. 2.6 and Fig. 9.
    """
    validate.integer(1, h=h)
    validate.length(3, 3, shape=shape)
    validate.integer(1, **{f"shape[{i}]": n for i, n in enumerate(shape)})
    validate.seeds(seeds)
    sigma = activation("swish", normalised=True) if sigma is None else activation(sigma)
    channels, height, width = shape
    stages = _stages(h, (channels, height, width))
    sizes = [(stage.out, stage.fan_in) for stage in stages] + [(1, 20 * h)]
    count = len(seeds) * sum(map(math.prod, sizes))
    validate.memory(8 * count, f"the {count} weights of {len(seeds)} networks")
    generators = [np.random.default_rng(seed) for seed in seeds]
    drawn = [torch.from_numpy(np.stack([g.standard_normal(size) for g in generators])) for size in sizes]
    *weights, readout = (tensor.to(devices.pick(device)) for tensor in drawn)
    return Convolutional(tuple(weights), readout, torch.zeros_like(readout[..., 0]), stages, sigma)
