"""Six small torch modules and the dimension of their continuous symmetries, counted by hand beside each.

A symmetry moves the parameters and leaves the function as it is, so that the gradients of all points are orthogonal to
its direction: each dimension takes one from the rank of the tangent features.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import silu

from regimes.measures.separability import tangent_rank


def leaky() -> nn.LeakyReLU:
    """Leaky units, whose slope is 0.2 where they are off."""
    return nn.LeakyReLU(0.2)


class Swish(nn.Module):
    """A swish of steepness 3."""

    def forward(self, z: Tensor) -> Tensor:
        """Of any shape."""
        return silu(3 * z)


class LeakyWithBiases(nn.Module):
    """Two hidden layers of different widths, of leaky units with biases."""

    def __init__(self, d: int = 10, h: int = 7) -> None:
        super().__init__()
        self.first, self.second, self.readout = nn.Linear(d, h), nn.Linear(h, 5), nn.Linear(5, 1, bias=False)
        self.units = leaky()

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for points of ``d`` numbers."""
        return self.readout(self.units(self.second(self.units(self.first(x)))))


class LayerNormed(nn.Module):
    """Layer norm, with gain and shift, between two layers of leaky units."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(6, 7, bias=False), nn.LayerNorm(7, eps=0.0)
        self.second, self.readout = nn.Linear(7, 6, bias=False), nn.Linear(6, 1, bias=False)
        self.units = leaky()

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for points of 6 numbers."""
        return self.readout(self.units(self.second(self.units(self.norm(self.first(x))))))


class RootMeanSquared(nn.Module):
    """Each hidden layer over its root mean square, with a gain, then a swish."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 7, bias=False), nn.Linear(7, 6, bias=False)
        self.gains = nn.ParameterList([torch.ones(7), torch.ones(6)])
        self.readout = nn.Linear(6, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for points of 6 numbers."""
        for layer, gain in zip((self.first, self.second), self.gains):
            z = layer(x)
            x = silu(3 * gain * z / z.square().mean(-1, keepdim=True).sqrt())
        return self.readout(x)


class TwoHeads(nn.Module):
    """Attention of two heads on 5 tokens of 4 numbers, then a layer of leaky units and the mean over tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Parameter(torch.randn(2, 4, 2)) for _ in range(3))
        self.out = nn.Parameter(torch.randn(2, 2, 4) / 2)
        self.hidden, self.readout = nn.Linear(4, 7, bias=False), nn.Linear(7, 1, bias=False)
        self.units = leaky()

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for points of 5 tokens of 4 numbers."""
        q, k, v = (torch.einsum("ptc,hcd->phtd", x, weights) for weights in (self.query, self.key, self.value))
        seen = (q @ k.mT / 2).softmax(-1) @ v
        tokens = x + torch.einsum("phtd,hdc->ptc", seen, self.out)
        return self.readout(self.units(self.hidden(tokens))).mean(1)


class TwoConvolutions(nn.Module):
    """Two convolutions of leaky units on pictures of 6 by 6, then a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, bias=False), nn.Conv2d(4, 3, 2, bias=False)
        self.readout = nn.Linear(27, 1, bias=False)
        self.units = leaky()

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for pictures of 6 by 6."""
        return self.readout(self.units(self.second(self.units(self.first(x)))).flatten(1))


class ResidualBlocks(nn.Module):
    """A linear embedding, two residual blocks, and a linear readout."""

    def __init__(self, units: nn.Module) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Linear(6, 5, bias=False), nn.Linear(5, 1, bias=False)
        self.inner, self.outer = (nn.ModuleList(nn.Linear(5, 5, bias=False) for _ in range(2)) for _ in range(2))
        self.units = units

    def forward(self, x: Tensor) -> Tensor:
        """One number a point, for points of 6 numbers."""
        x = self.embedding(x)
        for inner, outer in zip(self.inner, self.outer):
            x = x + outer(self.units(inner(x)))
        return self.readout(x)


class Architecture(NamedTuple):
    """A module, the shape of one point, and the dimension of its symmetries."""

    build: Callable[[], nn.Module]
    shape: tuple[int, ...]
    symmetries: int


ARCHITECTURES = {
    # a factor in, and one over it out, of each of 7 + 5 units
    "leaky with biases": Architecture(LeakyWithBiases, (10,), 12),
    # the norm is blind to a shift of all its inputs (6 directions) and to a factor (1); a factor of each of 7 + 6 units
    "layer norm": Architecture(LayerNormed, (6,), 6 + 1 + 7 + 6),
    # a factor before each of two norms
    "root mean square": Architecture(RootMeanSquared, (6,), 2),
    # of each head a 2 by 2 matrix between queries and keys, and one between values and outputs; 7 units
    "two heads": Architecture(TwoHeads, (5, 4), 2 * (4 + 4) + 7),
    # a factor of each of 4 + 3 channels
    "two convolutions": Architecture(TwoConvolutions, (1, 6, 6), 7),
    # swish; a 5 by 5 matrix after the embedding, undone in all that reads the stream; of what each of the last 5 units
    # writes the readout sees one direction of 5
    "residual blocks": Architecture(lambda: ResidualBlocks(Swish()), (6,), 25 + 20),
    # leaky units in two whose points are not in general position: see fullest_part; a factor of each unit
    "leaky with biases, crowded": Architecture(lambda: LeakyWithBiases(6, 9), (6,), 14),
    "residual blocks, crowded": Architecture(lambda: ResidualBlocks(leaky()), (6,), 25 + 20 + 10),
}


def fullest_part(network: nn.Module, x: Tensor, features: np.ndarray) -> float:
    """Points over rank in the part of the points where this is largest, over that of all points; 1 in general position.

    Labels can be separated only if those of each part can. Parts are the linear pieces, on which all leaky units keep
    their sides, and the points on one side of one unit: a unit that is on at nearly all points is nearly linear, and
    gives few of these points a direction of their own.

    Args:
        network: whose leaky units are modules.
        x: points ``(P, ...)``.
        features: tangent features ``(P, N)``.
    """
    seen: list[Tensor] = []
    parts = [part for part in network.modules() if isinstance(part, nn.LeakyReLU)]
    hooks = [part.register_forward_hook(lambda _, z, __: seen.append(z[0].flatten(1) > 0)) for part in parts]
    with torch.no_grad():
        network(x)
    for hook in hooks:
        hook.remove()
    if not seen:
        return 1.0
    sides = torch.cat(seen, 1).numpy()
    _, pieces = np.unique(sides, axis=0, return_inverse=True)
    kept = [pieces == piece for piece in np.flatnonzero(np.bincount(pieces) > 2)]
    kept += [column == side for column in sides.T for side in (True, False)]
    load = len(x) / tangent_rank(features)
    fullest = max((part.sum() / tangent_rank(features[part]) for part in kept if part.sum() > load), default=load)
    return max(1.0, float(fullest / load))
