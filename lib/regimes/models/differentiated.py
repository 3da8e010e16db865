"""The tangents of a torch module, by automatic differentiation on demand."""

import functools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regimes.models import WORK
from regimes.models.realisation import Graph, Realisation, needs_autograd

if TYPE_CHECKING:
    from regimes.models.module import ModuleModel

MEMORY = 2**28  # bytes of a Jacobian's rows at a time
SIDE = 64  # of a tile of a product: half of a symmetric one is spared


@dataclass(frozen=True)
class Differentiated:
    """The tangents of all parameters of a torch module.

    ``vjp`` is a backward pass (after a single forward one), ``jvp`` a pass of forward differentiation. Only
    ``jacobian`` and ``gram`` form gradients of single points, ``gram`` within ``memory`` bytes.

    Attributes:
        model: the module.
        x: points ``(1, p, ...)`` shared by all realisations or ``(E, p, ...)``.
        memory: bytes of gradients and of what making them takes, beside the result.
    """

    model: "ModuleModel"
    x: Tensor
    memory: int = MEMORY

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.model.names

    def only(self, names: Collection[str]) -> "Differentiated":
        """The same module with fewer parameters."""
        return replace(self, model=self.model.only(names))

    @functools.cached_property
    def _networks(self) -> list[tuple[Realisation, Tensor]]:
        """Every network with its points ``(p, ...)``."""
        needs_autograd()
        return self.model.each(self.x.detach())

    @functools.cached_property
    def _graphs(self) -> list[Graph]:
        return [network.graph(x) for network, x in self._networks]

    def outputs(self) -> Tensor:
        """The outputs ``(E, p)``."""
        return torch.stack([graph.outputs.detach() for graph in self._graphs])

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, one tensor per parameter."""
        pulled = []
        for (network, _), graph, weights in zip(self._networks, self._graphs, v, strict=True):
            pulled.append(network.pull(graph, weights))
        return [torch.stack(gradients) for gradients in zip(*pulled)]

    @functools.cached_property
    def _pushes(self) -> list[bool]:
        """Whether each network's forward differentiation is certified at these points."""
        return [network.pushes(graph) for (network, _), graph in zip(self._networks, self._graphs)]

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w`` for one tensor per parameter: ``(E, p)``."""
        products = []
        for e, (network, x) in enumerate(self._networks):
            weights = [tensor[e] for tensor in w]
            pushed = network.push(x, weights) if self._pushes[e] else None
            products.append(self._by_rows(e, weights) if pushed is None else pushed)
        return torch.stack(products)

    def _by_rows(self, e: int, w: Sequence[Tensor]) -> Tensor:
        """``J w (p,)`` from the gradients of single points, which are kept if they fit."""
        flat = torch.cat([tensor.flatten() for tensor in w])
        rows = _Rows(*self._networks[e])
        if len(rows) * rows.bytes * len(self._networks) <= self.memory:
            return self._stored_jacobian[e] @ flat
        parts = rows.split(slice(0, len(rows)), self.memory // 2)
        return torch.cat([torch.cat(rows.filled(some, self.memory // 2), 1) @ flat for some in parts])

    @functools.cached_property
    def _stored_jacobian(self) -> Tensor:
        return self.jacobian()

    def jacobian(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``."""
        jacobians = []
        for network, x in self._networks:
            rows = _Rows(network, x)
            jacobians.append(torch.cat(rows.filled(slice(0, len(rows)), self.memory // 4), 1))
        return torch.stack(jacobians)

    def gram(self, other: "Differentiated") -> Tensor:
        """The tangent kernel ``J J'ᵀ (E, n, m)``; exactly symmetric for a model with itself.

        As many gradients of one side's points are kept as ``memory`` holds, while those of the other side pass. Where
        all of one side fit, each point's gradient is made once.
        """
        mirrored = other is self
        first = self.model.tensors[0]
        out = first.new_empty(len(first), self.x.shape[1], other.x.shape[1])
        for kernel, mine, theirs in zip(out, self._networks, other._networks, strict=True):
            if mirrored:
                _symmetric(kernel, _Rows(*mine), self.memory)
            elif kernel.shape[0] <= kernel.shape[1]:
                _product(kernel, _Rows(*mine), _Rows(*theirs), self.memory)
            else:
                _product(kernel.mT, _Rows(*theirs), _Rows(*mine), self.memory)
        return out


@dataclass(frozen=True)
class _Rows:
    """The gradients of one network at points ``x (p, ...)``, made on demand."""

    network: Realisation
    x: Tensor

    def __len__(self) -> int:
        return len(self.x)

    @property
    def bytes(self) -> int:
        """Of the gradient of one point."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.network.tensors)

    @property
    def making(self) -> int:
        """Bytes in use while the gradient of one point is made, itself included."""
        return 2 * self.bytes + WORK * self.network.skeleton.activations * self.network.tensors[0].element_size()

    def split(self, rows: slice, memory: int) -> list[slice]:
        """``rows`` in parts that are made together, within ``memory`` bytes or of one point."""
        size = max(1, memory // self.making)
        outputs = self.network.form.classes if self.network.form else 0
        size -= size % outputs if size > outputs > 0 else 0  # all outputs of a point together
        return [slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size)]

    def filled(self, rows: slice, memory: int) -> list[Tensor]:
        """Some of them, one matrix ``(rows, ...)`` per parameter, made in parts of ``memory`` bytes."""
        parts = self.split(rows, memory)
        if len(parts) == 1:
            return [gradient.reshape(len(gradient), -1) for gradient in self._made(rows)]
        count = rows.stop - rows.start
        out = [tensor.new_empty(count, tensor.numel()) for tensor in self.network.tensors]
        for part in parts:
            place = slice(part.start - rows.start, part.stop - rows.start)
            for matrix, gradient in zip(out, self._made(part)):
                matrix[place] = gradient.reshape(matrix[place].shape)
        return out

    @functools.cached_property
    def _certified(self) -> Tensor:
        """Which rows have been found equal to a backward pass: those that are made again need not be compared."""
        return torch.zeros(len(self), dtype=torch.bool)

    def _made(self, rows: slice) -> list[Tensor]:
        return self.network.rows(self.x[rows], certified=self._certified[rows])

    def capacity(self, memory: int) -> tuple[int, int]:
        """The number of rows that are kept, and the bytes for making others: at least a sixteenth of all.

        Where not even half of the rows can be kept, a quarter: then products with those that pass take the time, less
        of it for more that pass together.
        """
        itemsize = self.network.tensors[0].element_size()
        tile_bytes = 4 * SIDE**2 * itemsize
        row_bytes = self.bytes + SIDE * itemsize

        def rows(share: int) -> tuple[int, int]:
            making = max(memory // share, self.making)
            count = min(len(self), max(1, (memory - making - tile_bytes) // row_bytes))
            return count, max(making, min(memory // 2, memory - tile_bytes - count * row_bytes))

        return rows(16) if 2 * rows(16)[0] >= len(self) else rows(4)


def _groups(rows: _Rows, memory: int) -> Iterator[tuple[slice, list[Tensor], int]]:
    """The rows that are kept at a time, with themselves and the bytes left for making others."""
    size, making = rows.capacity(memory)
    for start in range(0, len(rows), size):
        group = slice(start, min(start + size, len(rows)))
        yield group, rows.filled(group, making), making


def _product(out: Tensor, mine: _Rows, theirs: _Rows, memory: int) -> None:
    """Writes ``J J'ᵀ`` into ``out (n, m)``."""
    for group, stored, making in _groups(mine, memory):
        for columns in theirs.split(slice(0, len(theirs)), making):
            out[group, columns] = _inner(stored, theirs.filled(columns, making))
        del stored  # before the next ones take their memory


def _symmetric(out: Tensor, rows: _Rows, memory: int) -> None:
    """Writes ``J Jᵀ`` into ``out (n, n)``, the upper triangle and its mirror image."""
    for group, stored, making in _groups(rows, memory):
        _triangle(out[group, group], stored)
        for columns in rows.split(slice(group.stop, len(rows)), making):
            block = _inner(stored, rows.filled(columns, making))
            out[group, columns], out[columns, group] = block, block.mT
        del stored


def _triangle(out: Tensor, stored: list[Tensor]) -> None:
    """Writes ``J Jᵀ`` of rows that are all kept, in tiles of its upper triangle."""
    for start in range(0, len(out), SIDE):
        columns = slice(start, min(start + SIDE, len(out)))
        block = _inner([matrix[: columns.stop] for matrix in stored], [matrix[columns] for matrix in stored])
        corner = block[start:]
        corner.copy_(corner.triu() + corner.triu(1).mT)
        out[: columns.stop, columns], out[columns, : columns.stop] = block, block.mT


def _inner(mine: list[Tensor], theirs: list[Tensor]) -> Tensor:
    """``J J'ᵀ`` of the columns of all parameters."""
    out = mine[0] @ theirs[0].mT
    for a, b in zip(mine[1:], theirs[1:]):
        out.addmm_(a, b.mT)
    return out
