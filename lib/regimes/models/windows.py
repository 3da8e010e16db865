"""Convolutions on maps that are kept channel by channel, ``(E, channels, p, positions)``, and their tangents.

A pointwise convolution is then one matrix product for all points and positions, and so is a depthwise one, channel by
channel, whose window is written out as a matrix between a few rows of the map: both run at the speed of matrix products
in either precision. The gradients of each point are products of maps as they lie.
"""

import functools
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, unfold

from regimes.models.tangents import Affine

ENTRIES = 2**24  # of a temporary
CACHED = 2**18  # of one that several passes are made over


@dataclass(frozen=True)
class Window:
    """A square window that moves over a map padded with zeros, centred on every ``stride``-th pixel.

    Attributes:
        kernel: its side, odd.
        stride: its step.
        height: of the map.
        width: of the map.
    """

    kernel: int
    stride: int
    height: int
    width: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the map of its positions."""
        return -(-self.height // self.stride), -(-self.width // self.stride)

    def _bands(self) -> list[tuple[slice, slice, slice]]:
        """For every row of positions: it, the pixels that it sees, and the part of :meth:`_matrix` for these."""
        rows, columns = self.size
        bands = []
        for row in range(rows):
            first = row * self.stride - self.kernel // 2
            top = max(0, first)
            end = min(self.height, first + self.kernel)
            positions = slice(row * columns, (row + 1) * columns)
            pixels = slice(top * self.width, end * self.width)
            part = slice((top - first) * self.width, (end - first) * self.width)
            bands.append((positions, pixels, part))
        return bands

    def _matrix(self, w: Tensor) -> Tensor:
        """The windows ``w (n, k²)`` as matrices ``(n, pixels, positions)`` from ``k`` rows of pixels to one row."""
        basis = _basis(self.kernel, self.stride, self.width, w.dtype, w.device)
        return (w @ basis.flatten(1)).unflatten(1, basis.shape[1:])

    def apply(self, w: Tensor, h: Tensor) -> Tensor:
        """``(n, p, positions)`` for maps ``h (n, p, pixels)``, each under its window of ``w (n, k²)``."""
        matrix = self._matrix(w)
        return torch.cat([product(h[..., pixels], matrix[:, part]) for _, pixels, part in self._bands()], -1)

    def back(self, w: Tensor, delta: Tensor) -> Tensor:
        """The transpose of :meth:`apply`: ``(n, p, pixels)`` for ``delta (n, p, positions)``."""
        if self.stride == 1:
            return self.apply(w.flip(1), delta)
        matrix = self._matrix(w)
        out = delta.new_zeros(*delta.shape[:2], self.height * self.width)
        for positions, pixels, part in self._bands():
            out[..., pixels] += product(delta[..., positions], matrix[:, part].mT)
        return out

    def correlate(self, delta: Tensor, h: Tensor) -> Tensor:
        """The derivative of ``Σ delta·apply(w, h)`` by the windows, ``(n, k²)``."""
        basis = _basis(self.kernel, self.stride, self.width, h.dtype, h.device)
        out = h.new_zeros(len(h), *basis.shape[1:])
        for positions, pixels, part in self._bands():
            out[:, part] += product(h[..., pixels].mT, delta[..., positions])
        return out.flatten(1) @ basis.flatten(1).T

    def correlations(self, delta: Tensor, h: Tensor) -> Tensor:
        """:meth:`correlate` for each point, ``(n, p, k²)``."""
        if h.dtype == torch.float64 and _by_numpy(delta, h):  # oneDNN knows no float64
            size = max(1, CACHED // (h.shape[1] * h.shape[2]))
            return torch.cat([self._taps(a, b) for a, b in zip(delta.split(size), h.split(size))])
        images = h.reshape(1, -1, self.height, self.width)
        kernels = delta.reshape(-1, 1, *self.size)
        out = conv2d(images, kernels, padding=self.kernel // 2, dilation=self.stride, groups=len(kernels))
        return out[..., : self.kernel, : self.kernel].reshape(*h.shape[:2], -1)

    def _taps(self, delta: Tensor, h: Tensor) -> Tensor:
        """With channels and points last, where sums over positions run along them."""

        def channels_last(maps: Tensor, size: tuple[int, int]) -> np.ndarray:
            return maps.flatten(0, 1).mT.contiguous().unflatten(0, size).numpy()

        deltas = channels_last(delta, self.size)
        inputs = channels_last(h, (self.height, self.width))
        columns = [self._overlap(self.width, tap) for tap in range(self.kernel)]
        sums = []
        for row in range(self.kernel):
            a, b = self._overlap(self.height, row)
            sums += [np.einsum("ijn,ijn->n", deltas[a, c], inputs[b, d]) for c, d in columns]
        return torch.from_numpy(np.stack(sums, -1)).unflatten(0, h.shape[:2])

    def _overlap(self, pixels: int, tap: int) -> tuple[slice, slice]:
        """Along one axis, the positions whose window has a pixel under its ``tap``-th place, and those pixels."""
        shift = tap - self.kernel // 2
        first = max(0, -(shift // self.stride))
        end = (pixels - 1 - shift) // self.stride + 1
        end = max(first, min(end, -(-pixels // self.stride)))
        start = first * self.stride + shift
        return slice(first, end), slice(start, start + (end - first) * self.stride, self.stride)


@functools.lru_cache(maxsize=64)
def _basis(kernel: int, stride: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``(k², pixels, positions)``: one where a place of the window at a position lies on a pixel, for one row."""
    pixels = torch.eye(kernel * width, dtype=dtype, device=device).reshape(-1, 1, kernel, width)
    return unfold(pixels, kernel, padding=(0, kernel // 2), stride=stride).permute(1, 0, 2).contiguous()


class _ByPieces:
    """What follows from the gradients of each point, a piece of the parameters at a time."""

    def gram(self, other: Any) -> Tensor:
        """Its term of the tangent kernel, ``(E, n, m)``."""
        mine = Blocks((self,))
        return mine.gram(mine if other is self else Blocks((other,)))

    def jacobian(self) -> Tensor:
        """``J (E, p, P)``, the order that of ``vjp``."""
        return Blocks((self,)).jacobian()


@dataclass(frozen=True)
class Convolution(_ByPieces, Affine):
    """The tangents of a convolution with the inputs of every position unfolded.

    ``h (E, p, positions, n_in)``: channels times window; ``δ (E, p, positions, n_out)``. Both may be views of memory
    that has the positions last: that is fastest.

    Attributes:
        groups: channels are connected within a group only; ``W`` is ``(E, n_out, n_in / groups)``.
    """

    groups: int = 1

    @property
    def by_pairs(self) -> bool:
        """Whether a kernel takes fewer products by pairs of positions than by the gradients of each point."""
        positions, n_in = self.h.shape[2:]
        n_out = self.delta.shape[-1]
        return self.groups == 1 and positions**2 * (n_in + n_out) < n_in * n_out

    @property
    def pieces(self) -> int:
        """Sets of parameters whose gradients can be had alone: those of one output."""
        return self.delta.shape[-1] if self.groups == 1 else 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """Realisations, points, parameters of a piece."""
        n_in = self.h.shape[-1] // self.groups
        n_out = self.delta.shape[-1] // self.pieces
        kinds = n_in * (self.multiplier is not None) + self.bias
        return (*self.delta.shape[:2], n_out * kinds)

    def _grouped(self, maps: Tensor) -> Tensor:
        """``(E, groups, n / groups, p positions)``."""
        return maps.permute(0, 3, 1, 2).flatten(2).unflatten(1, (self.groups, -1))

    def gradients(self, pieces: slice, out: Tensor) -> None:
        """Some columns of ``J`` into ``out (E, p, columns)``."""
        delta = self.delta[..., pieces] if self.groups == 1 else self.delta
        if self.bias:
            out[..., -delta.shape[-1] :] = delta.sum(2)
        if self.multiplier is not None:
            for e in range(len(out)):
                self._products(delta[e], self.h[e], out[e])

    def _products(self, delta: Tensor, h: Tensor, out: Tensor) -> None:
        """``m δ hᵀ`` of each point of one realisation."""
        deltas = delta.chunk(self.groups, -1)
        inputs = h.chunk(self.groups, -1)
        sizes = self.groups, deltas[0].shape[-1], inputs[0].shape[-1]
        into = out[:, : math.prod(sizes)].unflatten(1, sizes).unbind(1)
        for gradient, delta_group, input_group in zip(into, deltas, inputs):
            torch.mul(product(delta_group.mT, input_group), cast(float, self.multiplier), out=gradient)

    def pairs(self, other: "Convolution") -> Tensor:
        """:meth:`gram` by ``Σ (m² h_s·h'_t + 1) (δ_s·δ'_t)`` over pairs of positions; the 1 is the biases'."""
        count, _, positions, _ = self.h.shape
        size = max(1, math.isqrt(ENTRIES // count) // positions)
        columns = list(zip(other.h.split(size, 1), other.delta.split(size, 1)))
        rows = []
        for h, delta in zip(self.h.split(size, 1), self.delta.split(size, 1)):
            rows.append(torch.cat([self._tile(h, delta, *block) for block in columns], 2))
        return torch.cat(rows, 1)

    def _tile(self, h: Tensor, delta: Tensor, theirs: Tensor, deltas: Tensor) -> Tensor:
        count, n, positions, _ = h.shape
        inner = 0.0 if self.multiplier is None else (h.flatten(1, 2) @ theirs.flatten(1, 2).mT) * self.multiplier**2
        if self.bias:
            inner = inner + 1.0
        inner = (delta.flatten(1, 2) @ deltas.flatten(1, 2).mT).mul_(inner)
        return inner.reshape(count, n, positions, -1, positions).sum((2, 4))

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v``: ``m Σ v δ hᵀ (E, n_out, n_in / groups)`` and ``Σ v δ (E, n_out)``, over points and positions."""
        weighted = self._grouped(self.delta * v[..., None, None])
        gradients = []
        if self.multiplier is not None:
            gradients.append((weighted @ self._grouped(self.h).mT).flatten(1, 2) * self.multiplier)
        if self.bias:
            gradients.append(weighted.sum(-1).flatten(1))
        return gradients

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w``: ``δ·(m W h + b)``, ``(E, p)``."""
        z = 0.0
        if self.multiplier is not None:
            z = (w[0] * self.multiplier).unflatten(1, (self.groups, -1)) @ self._grouped(self.h)
        if self.bias:
            z = z + w[-1].unflatten(1, (self.groups, -1)).unsqueeze(-1)
        return (self._grouped(self.delta) * z).sum((1, 2)).unflatten(1, (self.h.shape[1], -1)).sum(2)


@dataclass(frozen=True)
class Depthwise(_ByPieces):
    """The tangents of a depthwise convolution: each channel under a window of its own.

    Attributes:
        h: its inputs ``(E, channels, p, pixels)``.
        delta: ``δ``, the derivatives of the output by its ``z``, ``(E, channels, p, positions)``.
        window: how it moves.
        multiplier: ``m``.
        names: that of the weights, alone.
    """

    h: Tensor
    delta: Tensor
    window: Window
    multiplier: float = 1.0
    names: tuple[str] = field(kw_only=True)
    by_pairs = False

    def only(self, names: Collection[str]) -> "Depthwise":
        """Itself: there is one parameter."""
        return self

    @property
    def pieces(self) -> int:
        """Sets of parameters whose gradients can be had alone: those of one channel."""
        return self.h.shape[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Realisations, points, parameters of a piece."""
        return (len(self.h), self.h.shape[2], self.window.kernel**2)

    def gradients(self, pieces: slice, out: Tensor) -> None:
        """Some columns of ``J`` into ``out (E, p, columns)``."""
        delta = self.delta[:, pieces]
        h = self.h[:, pieces]
        correlations = self.window.correlations(delta.flatten(0, 1), h.flatten(0, 1)).unflatten(0, h.shape[:2])
        torch.mul(correlations.transpose(1, 2), self.multiplier, out=out.unflatten(-1, (h.shape[1], -1)))

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v (E, channels, k²)``."""
        weighted = (self.delta * v[:, None, :, None]).flatten(0, 1)
        gradient = self.window.correlate(weighted, self.h.flatten(0, 1)) * self.multiplier
        return [gradient.unflatten(0, self.h.shape[:2])]

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w (E, p)``."""
        z = self.window.apply(w[0].flatten(0, 1) * self.multiplier, self.h.flatten(0, 1))
        return (self.delta * z.unflatten(0, self.h.shape[:2])).sum((1, 3))


@dataclass(frozen=True)
class Blocks:
    """The tangents of one layer in blocks of points: their arrays stay near the cache."""

    parts: tuple[Any, ...]  # all :class:`Convolution`, or all :class:`Depthwise`

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return self.parts[0].names

    def only(self, names: Collection[str]) -> "Blocks":
        """The same layer with fewer parameters."""
        return Blocks(tuple(part.only(names) for part in self.parts))

    @property
    def points(self) -> list[int]:
        """Their number in each block."""
        return [part.shape[1] for part in self.parts]

    def gram(self, other: "Blocks") -> Tensor:
        """Its term of the tangent kernel, ``(E, n, m)``, in the way that takes fewer products."""
        if self.parts[0].by_pairs:
            return torch.cat([torch.cat([a.pairs(b) for b in other.parts], -1) for a in self.parts], -2)
        kernel = self.parts[0].h.new_zeros(())
        for pieces in self._pieces(other):
            mine = self._gradients(pieces)
            term = _inner(mine, mine if other is self else other._gradients(pieces))
            kernel = kernel.add_(term) if kernel.ndim else term
        return kernel

    def _gradients(self, pieces: slice = slice(None)) -> Tensor:
        first = self.parts[0]
        count, _, columns = first.shape
        width = len(range(*pieces.indices(first.pieces))) * columns
        out = first.h.new_empty(count, sum(self.points), width)
        for part, rows in zip(self.parts, out.split(self.points, 1)):
            part.gradients(pieces, rows)
        return out

    def _pieces(self, other: "Blocks") -> Iterator[slice]:
        """Slices whose gradients have at most ``ENTRIES`` entries."""
        count, _, columns = self.parts[0].shape
        points = max(sum(blocks.points) for blocks in (self, other))
        step = max(1, ENTRIES // (count * points * columns))
        return (slice(start, start + step) for start in range(0, self.parts[0].pieces, step))

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, one tensor per parameter."""
        gradients = [part.vjp(mine) for part, mine in zip(self.parts, v.split(self.points, 1))]
        return [sum(tensors[1:], tensors[0]) for tensors in zip(*gradients)]

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w`` for one tensor per parameter: ``(E, p)``."""
        return torch.cat([part.jvp(w) for part in self.parts], 1)

    def jacobian(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``."""
        return self._gradients()


def _inner(a: Tensor, b: Tensor) -> Tensor:
    """``a bᵀ``, of a matrix with itself exactly symmetric."""
    out = product(a, b.mT)
    return out if a is not b or _by_numpy(a) else out.triu() + out.triu(1).mT


def _by_numpy(*tensors: Tensor) -> bool:
    return all(tensor.device.type == "cpu" and not tensor.requires_grad for tensor in tensors)


def product(a: Tensor, b: Tensor) -> Tensor:
    """``a b``. On the CPU by numpy, whose BLAS is faster for thin matrices and makes but one triangle of ``a aᵀ``."""
    return torch.from_numpy(np.matmul(a.numpy(), b.numpy())) if _by_numpy(a, b) else a @ b
