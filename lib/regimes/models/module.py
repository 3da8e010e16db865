"""Your own torch module as a model, with a leading axis of independent realisations.

Any module works whose output is one number per point and depends on that point alone. The page *API* trains one lazily
and with features.
"""

import copy
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vmap
from torch.nn.functional import pad, unfold

from regimes import validate
from regimes.models import Realisations, inputs
from regimes.models.tangents import Tangents
from regimes.models.windows import Convolution
from regimes.validate import InputError

MEMORY = 2**28  # bytes of a Jacobian's rows at a time


@dataclass(frozen=True)
class ModuleModel(Realisations):
    """A torch module at the parameters of ``E`` realisations.

    Attributes:
        skeleton: the module; its own parameters are not used.
        names: of the trained parameters.
        tensors: the trained parameters, each ``(E, ...)``.
        fixed_names: of the other parameters and the buffers.
        fixed: the other parameters and the buffers, each ``(E, ...)``.
        shape: of one point.
    """

    skeleton: nn.Module
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    fixed_names: tuple[str, ...] = ()
    fixed: tuple[Tensor, ...] = ()
    shape: tuple[int, ...] | None = None

    @property
    def tangent_size(self) -> int:
        """The count of numbers in the tangents of one point, its gradient."""
        return sum(tensor[0].numel() for tensor in self.tensors)

    def _inputs(self, x: Tensor) -> Tensor:
        """Checked points, ``(p, ...)`` if all realisations share them."""
        shape = self.shape or tuple(x.shape[-1:] if isinstance(x, Tensor) else "d")
        found = inputs(x, shape, self.tensors[0], hint="; module(shape=...) says the shape of one point")
        return found[0] if len(found) == 1 else found

    def _own(self, x: Tensor) -> bool:
        """Whether each realisation has points of its own, for checked ones."""
        return x.ndim == len(self.shape or "d") + 2

    def _one(self, tensors: Sequence[Tensor], fixed: Sequence[Tensor], x: Tensor) -> Tensor:
        """The outputs ``(p,)`` of one realisation."""
        values = dict(zip((*self.names, *self.fixed_names), (*tensors, *fixed)))
        try:
            found = functional_call(self.skeleton, values, (x,))
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise InputError(f"the module cannot take {len(x)} points of shape {tuple(x.shape[1:])}: {error}") from None
        if not isinstance(found, Tensor) or found.shape[:1] != x.shape[:1] or found.numel() != len(x):
            got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise InputError(f"the module must give one number a point, it gives {got} for {len(x)} points")
        return found.reshape(len(x))

    def _outputs(self, tensors: Sequence[Tensor], x: Tensor) -> Tensor:
        """The outputs ``(E, p)`` at checked points."""
        if len(tensors[0]) == 1:
            alone = [tensor[0] for tensor in tensors], [tensor[0] for tensor in self.fixed]
            return self._one(*alone, x[0] if self._own(x) else x).unsqueeze(0)
        return vmap(self._one, (0, 0, 0 if self._own(x) else None))(list(tensors), list(self.fixed), x)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``(E, p)`` at points ``x (p, ...)`` shared by all realisations, or ``(E, p, ...)``."""
        return self._outputs(self.tensors, self._inputs(x))

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives of the outputs with respect to the parameters."""
        return Tangents((Differentiated(self, self._inputs(x)),))

    def layers(self, x: Tensor) -> list[Convolution]:
        """The tangents of each ``Linear`` and ``Conv2d``, in the order of calls; a shared layer appears at each call.

        Each holds the layer's inputs ``h (E, p, positions, n_in)`` and ``δ (E, p, positions, n_out)``; a linear layer
        of vectors has one position. The cost is one forward and one backward pass per realisation.

        Raises:
            InputError: as the call, for a module without such layers, or one whose points do not stay in their rows.
        """
        x = self._inputs(x)
        found = [self[e : e + 1]._probe(x[e] if self._own(x) else x) for e in range(len(self.tensors[0]))]
        if not found[0]:
            raise InputError("the module has no Linear or Conv2d layers")
        return [replace(same[0], **_joined(same)) for same in zip(*found)]

    def _probe(self, x: Tensor) -> list[Convolution]:
        """The layers of one realisation: ``δ`` is the derivative with respect to zeros added to a layer's output."""
        seen: list[tuple[str, Any, Tensor, Tensor]] = []

        def hook(name: str) -> Callable:
            def look(layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
                zero = torch.zeros_like(output, requires_grad=True)
                seen.append((name, layer, inputs[0].detach(), zero))
                return output + zero

            return look

        layers = [
            (name, part) for name, part in self.skeleton.named_modules() if isinstance(part, nn.Linear | nn.Conv2d)
        ]
        hooks = [layer.register_forward_hook(hook(name)) for name, layer in layers]
        try:
            with torch.enable_grad():
                total = self._outputs(self.tensors, x).sum()
        finally:
            for handle in hooks:
                handle.remove()
        deltas = torch.autograd.grad(total, [zero for *_, zero in seen], materialize_grads=True) if seen else ()
        return [_layer(name, layer, h, delta, len(x)) for (name, layer, h, _), delta in zip(seen, deltas)]

    def parameters(self) -> list[Tensor]:
        """The trained parameters, in the order of ``names``."""
        return list(self.tensors)

    def with_parameters(self, parameters: Sequence[Tensor]) -> "ModuleModel":
        """The same module at other parameters."""
        return replace(self, tensors=tuple(parameters))

    def only(self, names: Collection[str]) -> "ModuleModel":
        """The same module with fewer trained parameters."""
        values = dict(zip((*self.names, *self.fixed_names), (*self.tensors, *self.fixed)))
        wanted = tuple(name for name in self.names if name in names)
        rest = tuple(name for name in values if name not in wanted)
        tensors, fixed = (tuple(values[name] for name in kept) for kept in (wanted, rest))
        return replace(self, names=wanted, tensors=tensors, fixed_names=rest, fixed=fixed)

    def _map(self, change: Callable[[Tensor], Tensor]) -> "ModuleModel":
        return replace(self, tensors=tuple(map(change, self.tensors)), fixed=tuple(map(change, self.fixed)))


@dataclass(frozen=True)
class Differentiated:
    """The tangents of all parameters of a torch module, by automatic differentiation on demand.

    ``vjp`` is a backward pass (after a single forward one), ``jvp`` a pass of forward differentiation. Only ``rows``
    and ``gram`` form gradients of single points, ``gram`` within ``memory`` bytes.

    Attributes:
        model: the module.
        x: points ``(p, ...)`` shared by all realisations or ``(E, p, ...)``.
        memory: bytes of rows at a time.
    """

    model: ModuleModel
    x: Tensor
    memory: int = MEMORY

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.model.names

    @property
    def points(self) -> int:
        """Their number."""
        return self.x.shape[1 if self.model._own(self.x) else 0]

    def only(self, names: Collection[str]) -> "Differentiated":
        """The same module with fewer parameters."""
        return replace(self, model=self.model.only(names))

    @functools.cached_property
    def _graph(self) -> tuple[list[Tensor], Tensor]:
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_() for tensor in self.model.tensors]
            return leaves, self.model._outputs(leaves, self.x)

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (E, p)``, one tensor a parameter."""
        leaves, outputs = self._graph
        return list(torch.autograd.grad(outputs, leaves, v, retain_graph=True, materialize_grads=True))

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w`` for one tensor a parameter: ``(E, p)``."""
        return jvp(lambda *tensors: self.model._outputs(tensors, self.x), self.model.tensors, tuple(w))[1]

    def jacobian(self) -> Tensor:
        """``J`` itself, ``(E, p, P)``."""
        return self._rows(slice(None))

    def _rows(self, points: slice) -> Tensor:
        model, own = self.model, self.model._own(self.x)

        def output(tensors: list[Tensor], fixed: list[Tensor], point: Tensor) -> Tensor:
            return model._one(tensors, fixed, point.unsqueeze(0)).squeeze(0)

        found = []
        for e in range(len(model.tensors[0])):
            tensors, fixed = ([tensor[e] for tensor in every] for every in (model.tensors, model.fixed))
            x = self.x[e, points] if own else self.x[points]
            gradients = vmap(grad(output), (None, None, 0), chunk_size=self._fitting(16))(tensors, fixed, x)
            found.append(torch.cat([gradient.flatten(1) for gradient in gradients], 1))
        return torch.stack(found)

    def _fitting(self, share: int) -> int:
        """The number of points whose rows take a share of the memory, for all realisations."""
        first = self.model.tensors[0]
        return max(1, self.memory // (share * len(first) * self.model.tangent_size * first.element_size()))

    @functools.cached_property
    def _kept(self) -> Tensor:
        return self.jacobian()

    def _tiles(self, size: int, start: int = 0) -> Iterator[tuple[slice, Tensor]]:
        """Rows in tiles from ``start`` on, made on demand; those of few points are made once."""
        points = [slice(i, min(i + size, self.points)) for i in range(start, self.points, size)]
        few = self.points <= self._fitting(2)
        return ((rows, self._kept[:, rows] if few else self._rows(rows)) for rows in points)

    def gram(self, other: "Differentiated") -> Tensor:
        """The tangent kernel ``J J'ᵀ (E, n, m)``, tile by tile; exactly symmetric for a model with itself."""
        mirrored, first = other is self, self.model.tensors[0]
        out = first.new_empty(len(first), self.points, other.points)
        for rows, mine in self._tiles(self._fitting(2)):
            for columns, theirs in other._tiles(self._fitting(8), rows.start if mirrored else 0):
                out[:, rows, columns] = mine @ theirs.mT
        return out.triu() + out.triu(1).mT if mirrored else out


def module(
    source: nn.Module | Callable[[], nn.Module],
    *,
    seeds: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    params: Collection[str] | None = None,
) -> ModuleModel:
    """A torch module as a model, at its current parameters or built once for each seed.

    Parameters are copied: the module stays as it is, and later changes to it have no effect here. Buffers, such as the
    averages of a batch norm in ``eval()``, keep their values.

    Args:
        source: a module, which makes one realisation; or a function that builds one, for ``seeds``.
        seeds: one initialisation each, by ``source()`` with torch's generator at that seed; the generator's state
            outside is restored.
        shape: of one point, such as ``(1, 28, 28)``; points may then also be vectors. ``None`` for vectors.
        params: trained parameters, out of ``named_parameters()``; ``None`` for all that require gradients.

    Raises:
        InputError: for a module without parameters, of mixed precision, with dropout or batch norm in training mode,
            for unknown ``params``, seeds for a module or none for a function, and a function that builds different
            modules.
    """
    if shape is not None:
        validate.length(1, 8, shape=shape)
        validate.integer(1, **{f"shape[{i}]": n for i, n in enumerate(shape)})
    built = _built(source, seeds)
    for one in built:
        _needs_separate_points(one)
    every = [dict([*one.named_parameters(), *one.named_buffers()]) for one in built]
    kinds = [[(name, value.shape, value.dtype) for name, value in values.items()] for values in every]
    if any(kind != kinds[0] for kind in kinds):
        raise InputError("source must build modules with the same parameters for all seeds")
    names = _trained(built[0], params)
    fixed = tuple(name for name in every[0] if name not in names)
    tensors, others = ([torch.stack([v[name].detach() for v in every]) for name in kept] for kept in (names, fixed))
    skeleton = copy.deepcopy(built[0])
    return ModuleModel(skeleton, names, tuple(tensors), fixed, tuple(others), tuple(shape) if shape else None)


def _built(source: nn.Module | Callable[[], nn.Module], seeds: Sequence[int] | None) -> list[nn.Module]:
    if isinstance(source, nn.Module):
        if seeds is not None:
            raise InputError("seeds need a function that builds a module; a module that is there has its parameters")
        return [source]
    if seeds is None or not callable(source):
        raise InputError(f"source must be a torch module, or a function that builds one with seeds, got {source!r}")
    validate.seeds(seeds)
    found = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found.append(source())
    if not all(isinstance(one, nn.Module) for one in found):
        raise InputError(f"source must build torch modules, got {validate.shown(found[0])}")
    return found


def _needs_separate_points(one: nn.Module) -> None:
    """Checks that the output at a point depends neither on the other points nor on chance."""
    for name, part in one.named_modules():
        chance = part.p if isinstance(part, nn.modules.dropout._DropoutNd) else getattr(part, "dropout", 0)
        if part.training and isinstance(chance, float) and chance > 0:
            raise InputError(f"the module's {name or 'dropout'} draws at random in training mode: call .eval() first")
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and (part.training or part.running_mean is None):
            remedy = "take a norm of each point alone" if part.running_mean is None else "call .eval() first"
            raise InputError(f"the module's {name or 'batch norm'} makes a point depend on the others: {remedy}")


def _trained(one: nn.Module, params: Collection[str] | None) -> tuple[str, ...]:
    values = dict(one.named_parameters())
    names = tuple(name for name, value in values.items() if params is not None or value.requires_grad)
    if not names:
        raise InputError("the module has no parameters to train")
    if params is not None and (isinstance(params, str) or not params or not set(params) <= set(names)):
        raise InputError(f"params must be some of {', '.join(names)}; got {params!r}")
    dtypes = sorted({str(value.dtype) for value in values.values()})
    if len(dtypes) > 1 or dtypes[0] not in ("torch.float32", "torch.float64"):
        raise InputError(f"parameters must be of one precision, float32 or float64, got {', '.join(dtypes)}")
    return tuple(name for name in names if params is None or name in params)


def _layer(name: str, layer: nn.Linear | nn.Conv2d, h: Tensor, delta: Tensor, points: int) -> Convolution:
    """The tangents of a layer of one realisation, from its inputs and the derivatives with respect to its outputs."""
    if len(h) != points:
        raise InputError(f"layer {name} takes {len(h)} rows for {points} points: each point must keep one row")
    if isinstance(layer, nn.Conv2d):
        h, delta = _patches(layer, h).mT, delta.flatten(2).mT
    else:
        h, delta = (maps.flatten(1, -2) if maps.ndim > 2 else maps.unsqueeze(1) for maps in (h, delta))
    names = tuple(f"{name}.{kind}" for kind in ("weight", "bias") if getattr(layer, kind) is not None)
    groups = getattr(layer, "groups", 1)
    return Convolution(h.unsqueeze(0), delta.unsqueeze(0), 1.0, layer.bias is not None, groups, names=names)


def _patches(layer: nn.Conv2d, h: Tensor) -> Tensor:
    """The windows of a convolution, ``(p, n_in, positions)``."""
    sides = []
    for i, (size, spread) in enumerate(zip(layer.kernel_size, layer.dilation)):
        total = spread * (size - 1) if layer.padding == "same" else 0
        plain = 0 if isinstance(layer.padding, str) else layer.padding[i]
        sides.append((total // 2 + plain, total - total // 2 + plain))
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return unfold(pad(h, (*sides[1], *sides[0]), mode), layer.kernel_size, layer.dilation, stride=layer.stride)


def _joined(same: Sequence[Convolution]) -> dict[str, Tensor]:
    return {kind: torch.cat([getattr(layer, kind) for layer in same]) for kind in ("h", "delta")}
