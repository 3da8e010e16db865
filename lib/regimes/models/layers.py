"""The linear layers and convolutions of a torch module as they are called: inputs, derivatives, weights.

Zeros are added to what a layer takes and to what it gives. The derivatives by these zeros are ``∂f/∂h`` and
``δ = ∂f/∂z`` of the layer as it is, with its hooks and whatever its class does. A second backward pass, with random
weights ``v`` of the points, says what belongs to which point, and holds the derivatives by the weights themselves. So
nothing is believed of a layer because of its class: where ``Σ v δ hᵀ`` is not the derivative by its weights, its
tangents come from the graph; where ``δ W`` is not ``∂f/∂h``, ``W`` is ``∂z/∂h``.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.nn.functional import pad, unfold
from torch.nn.utils import parametrize

from regimes.models.differentiated import Differentiated
from regimes.models.realisation import Realisation, normal, same, short
from regimes.models.tangents import Layer
from regimes.models.windows import Convolution
from regimes.validate import InputError

ENTRIES = 2**24  # of the derivatives of some of a layer's outputs by its inputs
QUIET = "runs under torch.no_grad or in a reentrant checkpoint: derivatives by it cannot be had"
MAPPED = "is called inside a transform of torch.func: derivatives by it cannot be had"
NAMED = 4  # layers that a message names

Arrange = Callable[[Tensor], Tensor]


class UncertifiedError(Exception):
    """A fast way does not give what a backward pass gives."""


@dataclass(frozen=True)
class Seen(Convolution):
    """The tangents of a ``Linear`` or ``Conv2d`` layer of a module.

    Attributes:
        layer: its name, as in ``named_modules()``.
        weight: the weights it used ``(E, ...)``, also where they are frozen or computed from other parameters; for a
            linear layer always ``∂z/∂h``.
    """

    layer: str = field(kw_only=True)
    weight: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class Derived(Seen):
    """A layer whose derivatives by its parameters are not ``δ hᵀ`` and ``δ``: they come from the module's graph.

    Attributes:
        by_graph: the tangents of its parameters.
    """

    by_graph: Differentiated = field(kw_only=True)

    def only(self, names: Collection[str]) -> "Derived":
        """The same layer with fewer parameters."""
        remaining = tuple(name for name in self.names if name in names)
        return replace(self, names=remaining, by_graph=self.by_graph.only(remaining))

    def gram(self, other: "Derived") -> Tensor:
        """Its term of the tangent kernel, ``(E, n, m)``."""
        return self.by_graph.gram(self.by_graph if other is self else other.by_graph)

    def vjp(self, v: Tensor) -> list[Tensor]:
        """``Jᵀ v``, one tensor per parameter."""
        return self.by_graph.vjp(v)

    def jvp(self, w: Sequence[Tensor]) -> Tensor:
        """``J w (E, p)``."""
        return self.by_graph.jvp(w)

    def jacobian(self) -> Tensor:
        """``J (E, p, P)``."""
        return self.by_graph.jacobian()


class Entry(NamedTuple):
    """A layer of one network: ``h (p, positions, n_in)``, ``δ``, weights, and whether ``δ hᵀ`` is all about them."""

    layer: str
    names: tuple[str, ...]
    h: Tensor
    delta: Tensor
    weight: Tensor
    bias: bool
    groups: int
    plain: bool


class Found(NamedTuple):
    """The layers of one network in the order of their first calls, and why others are left out, by name."""

    entries: list[Entry]
    left_out: dict[str, str]


@dataclass(frozen=True)
class _Call:
    """A call of a layer.

    Attributes:
        name: of the layer.
        layer: itself.
        h: what it took.
        into: the zeros that were added to this.
        out: what it gave.
        zero: the zeros that were added to that.
        weight: the weights that it holds.
        bias: its biases.
        slope: ``∂z/∂h`` of a linear layer, ``None`` where there is none.
    """

    name: str
    layer: Any
    h: Tensor
    into: Tensor | None
    out: Tensor
    zero: Tensor
    weight: Tensor
    bias: Tensor | None
    slope: Tensor | None = None


def seen_layers(network: Realisation, x: Tensor) -> Found:
    """All ``Linear`` and ``Conv2d`` layers of a network at points ``x (p, ...)``."""
    points = torch.cat([x, x]) if len(x) == 1 and network.skeleton.pairs else x
    watch = _Watch(network, points)
    by_weight: dict[int, list[_Call]] = {}
    for call in watch.calls:
        by_weight.setdefault(id(call.weight), []).append(call)
    entries = []
    for calls in by_weight.values():
        try:
            entry = _entry(watch, calls)
            entries.append(entry._replace(h=entry.h[: len(x)], delta=entry.delta[: len(x)]))
        except InputError as error:
            watch.left_out[calls[0].name] = f"{_called(calls[0].name)} {error}"
    watch.name_others()
    return Found(entries, watch.left_out)


def dense_layers(network: Realisation, x: Tensor) -> list[Layer]:
    """The tangents of all trained parameters, where these are the weights and biases of linear layers of vectors.

    Raises:
        UncertifiedError: where they are not, or a point has another output alone, also at these points only.
    """
    watch = _Watch(network, x, lean=True)
    if not watch.calls or not network.separates(x, watch.outputs):
        raise UncertifiedError
    parts = []
    pulled: list[tuple[str, Tensor]] = []
    for call in watch.calls:
        names = tuple(name for name in _names(call) if name in watch.leaves)
        if not names:
            continue
        delta, weighted = (slopes[id(call.zero)] for slopes in (watch.delta, watch.weighted))
        if delta.ndim != 2 or len(delta) != len(x) or not same([watch.v[:, None] * delta], [weighted]):
            raise UncertifiedError
        part = Layer(call.h[None], delta[None], 1.0, call.bias is not None, names=_names(call)).only(names)
        parts.append(part)
        pulled += zip(part.names, part.vjp(watch.v[None]))
    found = dict(pulled)
    expected = {name: watch.weighted[id(leaf)] for name, leaf in watch.leaves.items()}
    if len(found) != len(pulled) or found.keys() != expected.keys():
        raise UncertifiedError
    if not same([found[name][0] for name in expected], list(expected.values())):
        raise UncertifiedError
    return parts


def vector_parameters(network: Realisation, x: Tensor) -> tuple[str, ...]:
    """The weights and biases of the linear layers that take one vector a point, once each, as :func:`dense_layers`."""
    try:
        calls = _Watch(network, x, lean=True).calls
    except InputError:
        return ()
    names = [call.name for call in calls]
    once = [call for call in calls if call.h.ndim == 2 and len(call.h) == len(x) and names.count(call.name) == 1]
    return tuple(name for call in once for name in _names(call))


def reasons(left_out: dict[str, str]) -> str:
    """Why layers are left out, in one line."""
    return "; ".join(list(left_out.values())[:NAMED]) + ("; …" if len(left_out) > NAMED else "")


def _called(name: str) -> str:
    return f"layer {name}" if name else "the layer"


class _Watch:
    """One forward pass of a network with zeros, and two backward passes: of ``Σ f`` and of ``Σ v f`` for random ``v``.

    Attributes:
        outputs: ``f (p,)``.
        calls: of its layers, in order.
        left_out: why layers are not among them.
        leaves: the parameters by name; a ``lean`` watch has the trained ones alone, and no zeros at inputs.
        delta: the derivatives of ``Σ f`` by the zeros, by their ids.
        weighted: of ``Σ v f`` by zeros, weights and parameters.
    """

    def __init__(self, network: Realisation, x: Tensor, *, lean: bool = False) -> None:
        self.network = network
        self.x = x
        self.lean = lean
        self.outputs = x.new_empty(0)
        self.v = normal((len(x),), 0, network.tensors[0])
        self.calls: list[_Call] = []
        self.left_out: dict[str, str] = {}
        self.delta: dict[int, Tensor] = {}
        self.weighted: dict[int, Tensor] = {}
        self.parts: dict[str, nn.Module] = {}
        self.used: set[int] = set()
        self._forward = True
        self._computed: dict[str, Tensor] = {}
        self._taken: list[tuple[Tensor, Tensor | None] | None] = []
        values = dict(zip(network.names, network.tensors)) | network.fixed
        known = network.names if lean else [name for name, _ in network.skeleton.module.named_parameters()]
        self.leaves = {n: values[n].detach().requires_grad_() for n in known if values[n].is_floating_point()}
        with torch.enable_grad():
            network.skeleton.run(values | self.leaves, self._job)

    def _job(self, module: nn.Module) -> None:
        self.parts = dict(module.named_modules())
        kinds = nn.Linear if self.lean else nn.Linear | nn.Conv2d
        handles = []
        for name, part in self.parts.items():
            if isinstance(part, kinds):
                # before the reader's own hooks, and after them
                handles.append(part.register_forward_pre_hook(self._takes(name), prepend=True, with_kwargs=True))
                handles.append(part.register_forward_hook(self._gives(name)))
            if isinstance(part, parametrize.ParametrizationList):
                handles.append(part.register_forward_hook(self._computes(name)))
        try:
            outputs = self.network.called(module, self.x)
            self.outputs = outputs.detach()
            self._forward = False
            if self.calls:
                self._differentiate(outputs)
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            if self.left_out:
                raise InputError(reasons(self.left_out)) from error
            raise InputError(f"the derivatives by the module's layers cannot be had: {short(error)}") from error
        finally:
            for handle in handles:
                handle.remove()

    def _takes(self, name: str) -> Callable:
        def note(layer: nn.Module, args: tuple, options: dict[str, Any]) -> tuple[tuple, dict[str, Any]] | None:
            given: dict[Any, Any] = dict(enumerate(args)) | options
            place, h = next(((key, value) for key, value in given.items() if isinstance(value, Tensor)), (None, None))
            mapped = any(map(is_functorch_wrapped_tensor, (*given.values(), *layer.parameters())))
            if h is None or not h.is_floating_point() or not torch.is_grad_enabled() or mapped:
                if self._forward:
                    self.left_out[name] = f"{_called(name)} {MAPPED if mapped else QUIET}"
                self._taken.append(None)
                return None
            if self.lean:
                self._taken.append((h, None))
                return None
            zero = torch.zeros_like(h, requires_grad=True)
            given[place] = h + zero
            self._taken.append((given[place], zero))
            return tuple(given[i] for i in range(len(args))), {key: given[key] for key in options}

        return note

    def _computes(self, name: str) -> Callable:
        def note(_: nn.Module, given: tuple, output: Any) -> None:
            self._computed[name] = output

        return note

    def _gives(self, name: str) -> Callable:
        def note(layer: Any, given: tuple, output: Any) -> Any:
            taken = self._taken.pop() if self._taken else None
            if taken is None or not isinstance(output, Tensor):
                return None
            zero = torch.zeros_like(output, requires_grad=True)
            z = output + zero
            if self._forward:  # else it is computed again in the backward pass
                h, into = taken
                h = h.detach().clone()  # the module may change its own inputs in place later
                weight, bias = (self._used(name, layer, kind) for kind in ("weight", "bias"))
                self.calls.append(_Call(name, layer, h, into, output, zero, cast(Tensor, weight), bias))
            return z

        return note

    def _used(self, name: str, layer: nn.Module, kind: str) -> Tensor | None:
        """The weights or biases of the last call: a parametrised layer makes them anew whenever they are read."""
        place = f"{name}.parametrizations.{kind}" if name else f"parametrizations.{kind}"
        return self._computed[place] if place in self._computed else getattr(layer, kind, None)

    def _differentiate(self, outputs: Tensor) -> None:
        zeros = [zero for call in self.calls for zero in (call.zero, call.into) if zero is not None]
        # all weights of a watch that is not lean, also those that are computed from parameters
        used = [] if self.lean else [value for call in self.calls for value in (call.weight, call.bias)]
        by = [value for value in (*zeros, *used, *self.leaves.values()) if value is not None and value.requires_grad]
        slopes = torch.autograd.grad(outputs.sum(), zeros, retain_graph=True, materialize_grads=True)
        self.delta = dict(zip(map(id, zeros), slopes))
        weighted = torch.autograd.grad(outputs @ self.v, by, retain_graph=not self.lean, allow_unused=True)
        self.used = {id(value) for value, slope in zip(by, weighted) if slope is not None}
        for value, slope in zip(by, weighted):
            dense_slope = torch.zeros_like(value) if slope is None else slope.to_dense()
            self.weighted[id(value)] = dense_slope
        if not self.lean:
            self.calls = [replace(call, slope=_slope(call, self.delta)) for call in self.calls]

    def name_others(self) -> None:
        """Adds the matrices among the parameters that something else than a call of a layer uses."""
        known = {call.name for call in self.calls} | {*self.left_out}
        tied = {id(call.weight) for call in self.calls}
        for name, leaf in self.leaves.items():
            owner = name.rpartition(".")[0]
            embeds = isinstance(self.parts.get(owner), nn.Embedding | nn.EmbeddingBag)
            if leaf.ndim < 2 or embeds or id(leaf) in tied or id(leaf) not in self.used:
                continue
            if not any(f"{name}.".startswith(f"{part}." if part else "") for part in known):
                self.left_out[name] = f"{name} is used, but not by the call of a Linear or Conv2d"


def _names(call: _Call) -> tuple[str, ...]:
    """Those of its weights and biases, whether they are parameters or computed from others."""
    kinds = ("weight",) if call.bias is None else ("weight", "bias")
    return tuple(f"{call.name}.{kind}" if call.name else kind for kind in kinds)


def _slope(call: _Call, delta: dict[int, Tensor]) -> Tensor | None:
    """``∂z/∂h`` of a linear layer as it is: its weights, or what its class makes of them, or ``None``."""
    if not isinstance(call.layer, nn.Linear):
        return None
    h = call.h.flatten(0, -2) if call.h.ndim > 1 else call.h[None]
    out = call.out.detach().reshape(len(h), -1)
    slopes, given = (delta[id(cast(Tensor, zero))].reshape(len(h), -1) for zero in (call.zero, call.into))
    weight = call.weight.detach()
    if weight.shape == (out.shape[1], h.shape[1]):
        bias = 0.0 if call.bias is None else call.bias.detach()
        if same([h @ weight.mT + bias], [out]) and same([slopes @ weight], [given]):
            return weight
    weight = _by_outputs(call, len(h))
    straight = same([(h - h[:1]) @ weight.mT], [out - out[:1]], float(out.norm()))
    return weight if straight and same([slopes @ weight], [given]) else None


def _by_outputs(call: _Call, rows: int) -> Tensor:
    """``∂z/∂h`` of the first of the rows, an output at a time or as many as fit."""
    z = call.out.reshape(rows, -1)[0]
    eye = torch.eye(len(z)).to(z)
    into = cast(Tensor, call.into)
    size = max(1, ENTRIES // into.numel())
    parts = []
    for some in eye.split(size):
        slopes = [torch.autograd.grad(z, into, one, retain_graph=True)[0] for one in some]
        parts.append(torch.stack([slope.reshape(rows, -1)[0] for slope in slopes]))
    return torch.cat(parts).detach()


def _entry(watch: _Watch, calls: list[_Call]) -> Entry:
    """A layer with the positions of all its calls.

    Raises:
        InputError: where its rows are not the points, or it is no affine map.
    """
    first = calls[0]
    if isinstance(first.layer, nn.Linear):
        if any(call.slope is None for call in calls):
            raise InputError("has a forward that is no affine map of what it takes")
        slopes = [cast(Tensor, call.slope) for call in calls]
        if any(a.shape != slopes[0].shape or not same([a], [slopes[0]]) for a in slopes[1:]):
            raise InputError("has other weights at each call")
        weight = slopes[0]
    else:
        weight = first.weight.detach()
    h, delta = (torch.cat(tensors, 1) if len(calls) > 1 else tensors[0] for tensors in zip(*_positions(watch, calls)))
    groups = getattr(first.layer, "groups", 1)
    names = _names(first)
    bias = first.bias is not None
    everything = [name for name in _all_names(watch, calls) if id(watch.leaves[name]) in watch.used]
    held = {id(leaf) for leaf in watch.leaves.values()}
    plain = len({id(call.bias) for call in calls}) == 1 and (id(first.weight) in held or not everything)
    plain = plain and all(watch.leaves[name] is first.weight or watch.leaves[name] is first.bias for name in everything)
    if plain and first.weight.requires_grad:
        formula = Convolution(h[None], delta[None], 1.0, bias, groups, names=names).vjp(watch.v[None])
        by_graph = [watch.weighted[id(value)] for value in (first.weight, first.bias) if value is not None]
        plain = all(a.numel() == b.numel() for a, b in zip(formula, by_graph))
        plain = plain and same([a.flatten() for a in formula], [b.flatten() for b in by_graph])
    if not plain:
        names = _all_names(watch, calls)
    return Entry(first.name, names, h, delta, weight, bias, groups, plain)


def _all_names(watch: _Watch, calls: list[_Call]) -> tuple[str, ...]:
    """The parameters of a layer with all that is part of it, but for the layers within that are seen alone."""
    mine = {call.name for call in calls}
    others = {call.name for call in watch.calls} - mine

    def owned(name: str, layer: str) -> bool:
        return not layer or name.startswith(f"{layer}.")

    names = [name for name in watch.leaves if any(owned(name, layer) for layer in mine)]
    inner = [o for o in others if any(o != m and owned(o, m) for m in mine)]
    tied = [name for name, leaf in watch.leaves.items() if any(leaf is call.weight for call in calls)]
    return tuple(dict.fromkeys([n for n in names if not any(owned(n, o) for o in inner)] + tied))


def _positions(watch: _Watch, calls: list[_Call]) -> list[tuple[Tensor, Tensor]]:
    """``h`` and ``δ (p, positions, ...)`` of each call."""
    found = []
    for call in calls:
        h, delta, weighted = call.h, watch.delta[id(call.zero)], watch.weighted[id(call.zero)]
        if isinstance(call.layer, nn.Conv2d):
            if h.ndim != 4:
                raise InputError("takes a picture without an axis of points")
            h = _patches(call.layer, h).mT
            delta, weighted = (maps.flatten(2).mT for maps in (delta, weighted))
        if h.shape[:-1] != delta.shape[:-1]:
            raise InputError("has a forward whose positions are not those of its class")
        for arranged in _arrangements(delta.shape[:-1], len(watch.v)):
            if same([watch.v[:, None, None] * arranged(delta)], [arranged(weighted)]):
                found.append((arranged(h), arranged(delta)))
                break
        else:
            rows, points = len(delta), len(watch.v)
            if rows == points:
                raise InputError("takes the points in another order or mixes them: each must keep one row")
            raise InputError(f"takes {rows} rows for {points} points: each point must keep one row")
    return found


def _arrangements(lead: Sequence[int], p: int) -> Iterator[Arrange]:
    """The ways in which the points may lie in the leading axes of a layer's input: to ``(p, positions, n)``."""
    if not lead:
        return

    def reshaped(first: Arrange) -> Arrange:
        return lambda maps: first(maps).reshape(p, -1, maps.shape[-1])

    if lead[0] == p:
        yield reshaped(lambda maps: maps)
    if len(lead) > 1 and lead[1] == p:
        yield reshaped(lambda maps: maps.movedim(1, 0))
    if lead[0] > p and lead[0] % p == 0:  # tokens folded into rows
        yield reshaped(lambda maps: maps.unflatten(0, (p, -1)))
        yield reshaped(lambda maps: maps.unflatten(0, (-1, p)).movedim(1, 0))


def _patches(layer: nn.Conv2d, h: Tensor) -> Tensor:
    """The windows of a convolution, ``(p, n_in, positions)``."""
    sides = []
    for i, (size, spread) in enumerate(zip(layer.kernel_size, layer.dilation)):
        total = spread * (size - 1) if layer.padding == "same" else 0
        plain = 0 if isinstance(layer.padding, str) else layer.padding[i]
        sides.append((total // 2 + plain, total - total // 2 + plain))
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return unfold(pad(h, (*sides[1], *sides[0]), mode), layer.kernel_size, layer.dilation, stride=layer.stride)
