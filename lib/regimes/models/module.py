r"""Your own torch module as a model, with a leading axis of independent realisations.

Any module works whose output is one number per point and depends on that point alone: perceptrons, convolutions,
recurrent networks, transformers, with shared, frozen or reparametrised weights, in float32 or float64. These are the
rules, for all functions that take a model:

- **Axes.** ``shape`` says what one point is, such as ``(1, 28, 28)``; without it points are vectors. ``x`` is
  ``(p, *shape)`` or ``(E, p, *shape)``, or the points as vectors, ``(p, d)`` or ``(E, p, d)``
  (:func:`regimes.models.inputs`). Points are numbers in the parameters' precision, or whole numbers, such as the tokens
  of an embedding.
- **Copies.** The module, its parameters and its buffers are copied once; what it sets on itself during a call is
  forgotten after it. Points are copied at each call, so that a module may change them in place.
- **Realisations.** With ``seeds`` each network is a module of its own, with all that it holds: also tensors, masks,
  permutations and numbers that are neither parameters nor buffers.
- **A look.** The first call looks at its points, at two of them closely (:mod:`regimes.models.look`). It refuses a
  module that draws random numbers, changes its buffers, lets a point depend on its batch, or has no derivatives.
- **Derivatives.** Gradients of single points are made together where ``torch.func.vmap`` can, else by a backward pass
  for each, as for LSTMs, modules that ask for ``.item()``, and checkpoints. :math:`Jw` is taken by forward
  differentiation, or from those gradients. Both fast ways are compared with backward passes when first used.
- **Layers of vectors.** Where all trained parameters are those of linear layers of vectors, called once each, tangent
  kernels come from these layers' inputs and derivatives, without the gradients; this too is compared when first used.
- **Memory.** ``memory`` bounds gradients and what a forward pass keeps for them, in bytes beside the result. Each
  point's gradient is made once where all of them fit.
- **Errors.** Bad input gets one line; an error inside the module stands above it with its own traceback.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, unfold
from torch.nn.parameter import is_lazy

from regimes import validate
from regimes.models import Each, Realisations, inputs, matching
from regimes.models.differentiated import Differentiated
from regimes.models.look import look
from regimes.models.realisation import Realisation, Skeleton, needs_autograd, same, short
from regimes.models.tangents import Layer, Tangents
from regimes.models.windows import Convolution
from regimes.validate import InputError


class ReorderedError(InputError):
    """A layer whose rows are not the points."""


@dataclass(frozen=True)
class Seen(Convolution):
    """The tangents of a ``Linear`` or ``Conv2d`` layer of a module.

    Attributes:
        layer: its name, as in ``named_modules()``.
        weight: the weights it used ``(E, ...)``, also where they are frozen or computed from other parameters.
    """

    layer: str = field(kw_only=True)
    weight: Tensor = field(kw_only=True)


@dataclass(frozen=True)
class ModuleModel(Realisations):
    """A torch module at the parameters of ``E`` realisations.

    Attributes:
        skeletons: of each realisation, a copy of the module without its numbers.
        names: of the trained parameters.
        tensors: the trained parameters, each ``(E, ...)``.
        fixed_names: of the other parameters and the buffers.
        fixed: the other parameters and the buffers, each ``(E, ...)``.
        shape: of one point.
    """

    skeletons: Each
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    fixed_names: tuple[str, ...] = ()
    fixed: tuple[Tensor, ...] = ()
    shape: tuple[int, ...] | None = None

    @property
    def tangent_size(self) -> int:
        """The count of numbers that a backward pass needs of one point; before the first call, of the gradient."""
        activations = max(skeleton.activations for skeleton in self.skeletons)
        return activations or sum(tensor[0].numel() for tensor in self.tensors)

    def each(self, x: Tensor) -> list[tuple[Realisation, Tensor]]:
        """Every network alone with its points ``(p, ...)``, out of ``x (1, p, ...)`` or ``(E, p, ...)``."""
        return [(self._alone(e), x[e if len(x) > 1 else 0]) for e in range(len(self.skeletons))]

    def _alone(self, e: int) -> Realisation:
        tensors = tuple(_usable(tensor[e]) for tensor in self.tensors)
        fixed = {name: _usable(tensor[e]) for name, tensor in zip(self.fixed_names, self.fixed)}
        return Realisation(self.skeletons[e], self.names, tensors, fixed)

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the module takes them, see :func:`regimes.models.inputs`; at first, a look at the module.

        Raises:
            InputError: for points of another shape or precision, and as :func:`regimes.models.look.look`.
        """
        x = validate.tensor(name, x)
        shape = self.shape or tuple(x.shape[-1:])
        hint = "; module(shape=...) says the shape of one point" if x.ndim != 2 else ""
        x = inputs(x, shape, self.tensors[0], name=name, hint=hint, whole=True)
        if not x.numel():
            raise InputError(f"{name} must hold at least one point, got shape {tuple(x.shape)}")
        if not all(skeleton.looked for skeleton in self.skeletons):
            for network, points in self.each(x):
                look(network, points.detach())
        return x

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``(E, p)`` at points ``x (p, ...)`` shared by all realisations, or ``(E, p, ...)``."""
        x = self.points(x)
        return torch.stack([network.outputs(network.tensors, points) for network, points in self.each(x)])

    def pullback(self, x: Tensor) -> tuple[Tensor, Callable[[Tensor], list[Tensor]]]:
        """Outputs ``f (E, p)``, and ``v -> Jᵀ v`` for ``v`` of their shape, one tensor per parameter."""
        tangents = Differentiated(self, self.points(x))
        return tangents.outputs(), tangents.vjp

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives of the outputs with respect to the parameters."""
        return Tangents((Differentiated(self, self.points(x)),))

    def layers(self, x: Tensor) -> list[Seen]:
        """The tangents of each ``Linear`` and ``Conv2d``, in the order of calls; a shared layer appears at each call.

        Each holds the layer's inputs ``h (E, p, positions, n_in)`` and ``δ (E, p, positions, n_out)``; a linear layer
        of vectors has one position. Frozen and reparametrised layers are among them. The cost is one forward and one
        backward pass per realisation.

        Raises:
            InputError: as the call, for a module without such layers, or with some that run without derivatives, or
            whose rows are not the points in their order.
        """
        needs_autograd()
        x = self.points(x)
        by_network = [_probe(network, points) for network, points in self.each(x)]
        if not by_network[0]:
            raise InputError("the module has no Linear or Conv2d layers")
        called = [[layer.layer for layer in layers] for layers in by_network]
        if any(names != called[0] for names in called):
            raise InputError("the realisations must call the same layers in the same order")
        return [replace(calls[0], **_joined(calls)) for calls in zip(*by_network)]

    def dense_size(self, x: Tensor) -> int:
        """The count of numbers in :meth:`dense` of one point; 0 where other operations depend on trained parameters.

        It is found at two of the points ``x``, where :meth:`dense` is compared with backward passes. It is 0, too,
        where a point has another output in a batch than alone: :meth:`dense` takes them together.
        """
        needs_autograd()
        for network, points in self.each(x):
            if self.names not in network.skeleton.dense:
                network.skeleton.dense[self.names] = _dense_size(network, points[:2].detach())
        sizes = {skeleton.dense[self.names] for skeleton in self.skeletons}
        if sizes == {0} or len(sizes) != 1:
            return 0
        separate = all(network.separates(points) for network, points in self.each(x))
        return sizes.pop() if separate else 0

    def dense(self, x: Tensor) -> Tangents:
        """The tangents from the inputs and ``δ`` of linear layers, of a module that has a :meth:`dense_size`."""
        wanted = {*self.names}
        return Tangents(tuple(_dense(seen).only(wanted) for seen in self.layers(x) if wanted & {*seen.names}))

    def parameters(self) -> list[Tensor]:
        """The trained parameters, in the order of ``names``."""
        return list(self.tensors)

    def with_parameters(self, parameters: Sequence[Tensor]) -> "ModuleModel":
        """The same module at other parameters."""
        return replace(self, tensors=tuple(matching(parameters, self.tensors)))

    def only(self, names: Collection[str]) -> "ModuleModel":
        """The same module with fewer trained parameters."""
        values = dict(zip((*self.names, *self.fixed_names), (*self.tensors, *self.fixed)))
        wanted = tuple(name for name in self.names if name in names)
        others = tuple(name for name in values if name not in wanted)
        tensors = tuple(values[name] for name in wanted)
        fixed = tuple(values[name] for name in others)
        return replace(self, names=wanted, tensors=tensors, fixed_names=others, fixed=fixed)

    def __getitem__(self, rows: slice | Tensor) -> "ModuleModel":
        """The realisations ``rows``, a slice or an index tensor; the leading axis stays."""
        places = rows.cpu() if isinstance(rows, Tensor) else rows
        indices = torch.arange(len(self.skeletons))[places].tolist()
        return replace(super().__getitem__(rows), skeletons=Each(self.skeletons[e] for e in indices))

    def _map(self, change: Callable[[Tensor], Tensor]) -> "ModuleModel":
        return replace(self, tensors=tuple(map(change, self.tensors)), fixed=tuple(map(change, self.fixed)))


def _usable(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of one that was made in inference mode, which autograd refuses."""
    return tensor.clone() if tensor.is_inference() and not torch.is_inference_mode_enabled() else tensor


def module(
    source: nn.Module | Callable[[], nn.Module],
    *,
    seeds: Sequence[int] | None = None,
    shape: Sequence[int] | None = None,
    params: Collection[str] | None = None,
) -> ModuleModel:
    """A torch module as a model, at its current parameters or built once for each seed.

    The module stays as it is, and later changes to it have no effect here. Buffers, such as the averages of a batch
    norm in ``eval()``, keep their values. The head of this page says what works and what is promised.

    Args:
        source: a module, which makes one realisation; or a function that builds one, for ``seeds``.
        seeds: one initialisation each, by ``source()`` with torch's generator at that seed; the generator's state
            outside is restored.
        shape: of one point, such as ``(1, 28, 28)``; points may then also be vectors. ``None`` for vectors.
        params: trained parameters, out of ``named_parameters()``; ``None`` for all that require gradients.

    Raises:
        InputError: for a module without parameters, of mixed precision, with dropout or batch norm in training mode,
            with an embedding that scales its weights or its derivatives (``max_norm``, ``scale_grad_by_freq``),
            compiled by ``torch.jit`` or spread by ``DataParallel``, for unknown ``params``, seeds for a module or none
            for a function, and a function that builds different modules, or one module for several seeds.
    """
    if shape is not None:
        validate.length(1, 8, shape=shape)
        validate.integer(1, **{f"shape[{i}]": n for i, n in enumerate(shape)})
    networks = _built(source, seeds)
    for network in networks:
        _needs_own_kind(network)
        _needs_separate_points(network)
    by_network = [dict([*network.named_parameters(), *network.named_buffers()]) for network in networks]
    kinds = [[(name, value.shape, value.dtype) for name, value in values.items()] for values in by_network]
    if any(kind != kinds[0] for kind in kinds):
        raise InputError("source must build modules with the same parameters for all seeds")
    names = _trained(networks[0], params)
    fixed_names = tuple(name for name in by_network[0] if name not in names)
    skeletons = Each(map(Skeleton.of, networks))

    def stacked(name: str) -> Tensor:
        return torch.stack([values[name].detach() for values in by_network])

    tensors = tuple(map(stacked, names))
    fixed = tuple(map(stacked, fixed_names))
    return ModuleModel(skeletons, names, tensors, fixed_names, fixed, tuple(shape) if shape else None)


def _built(source: nn.Module | Callable[[], nn.Module], seeds: Sequence[int] | None) -> list[nn.Module]:
    if isinstance(source, nn.Module):
        if seeds is not None:
            raise InputError("seeds need a function that builds a module; a module that is there has its parameters")
        return [source]
    if seeds is None or not callable(source):
        raise InputError(f"source must be a torch module, or a function that builds one with seeds, got {source!r}")
    validate.seeds(seeds)
    networks = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            networks.append(source())
    if not all(isinstance(network, nn.Module) for network in networks):
        raise InputError(f"source must build torch modules, got {validate.shown(networks[0])}")
    if len({*map(id, networks)}) < len(networks):
        raise InputError("source must build a new module for each seed, it gives the same one again")
    return networks


def _needs_own_kind(network: nn.Module) -> None:
    """Checks that a module's parameters can be exchanged from outside, and have shapes."""
    for name, part in network.named_modules():
        where = f"the module's {_called(name)}" if name else "the module"
        if isinstance(part, torch.jit.ScriptModule):
            raise InputError(f"{where} is compiled by torch.jit, which fixes its parameters: give the module before")
        if isinstance(part, nn.DataParallel | nn.parallel.DistributedDataParallel):
            raise InputError(f"{where} is a {type(part).__name__}: give its .module")
    for name, value in [*network.named_parameters(), *network.named_buffers()]:
        if is_lazy(value):
            raise InputError(f"the module's {name} has no shape yet: call the module once on a few points first")


def _called(name: str) -> str:
    """A module's part in a message; those of ``nn.Sequential`` are numbers."""
    return f"layer {name}" if name[:1].isdigit() else name


def _needs_separate_points(network: nn.Module) -> None:
    """Checks that the output at a point depends neither on the other points nor on chance."""
    for name, part in network.named_modules():
        chance = part.p if isinstance(part, nn.modules.dropout._DropoutNd) else getattr(part, "dropout", 0)
        if part.training and isinstance(chance, float) and chance > 0:
            raise InputError(
                f"the module's {_called(name) or 'dropout'} draws at random in training mode: call .eval() first"
            )
        if getattr(part, "max_norm", None) is not None:
            raise InputError(f"the module's {_called(name) or 'embedding'} scales its weights in its forward: max_norm")
        if getattr(part, "scale_grad_by_freq", False):
            words = "has other derivatives in a batch than alone: scale_grad_by_freq"
            raise InputError(f"the module's {_called(name) or 'embedding'} {words}")
        if isinstance(part, nn.modules.batchnorm._BatchNorm) and (part.training or part.running_mean is None):
            remedy = "take a norm of each point alone" if part.running_mean is None else "call .eval() first"
            raise InputError(
                f"the module's {_called(name) or 'batch norm'} makes a point depend on the others: {remedy}"
            )


def _trained(network: nn.Module, params: Collection[str] | None) -> tuple[str, ...]:
    values = dict(network.named_parameters())
    names = tuple(name for name, value in values.items() if params is not None or value.requires_grad)
    if not names:
        raise InputError("the module has no parameters to train")
    if params is not None and (isinstance(params, str) or not params or not set(params) <= set(names)):
        raise InputError(f"params must be some of {', '.join(names)}; got {params!r}")
    dtypes = sorted({str(value.dtype) for value in values.values()})
    if len(dtypes) > 1 or dtypes[0] not in ("torch.float32", "torch.float64"):
        raise InputError(f"parameters must be of one precision, float32 or float64, got {', '.join(dtypes)}")
    return tuple(name for name in names if params is None or name in params)


class _Call(NamedTuple):
    """A call of a layer: its inputs ``h``, the zeros that were added to its output, and its weights."""

    name: str
    layer: Any
    h: Tensor
    zero: Tensor
    weight: Tensor


def _probe(network: Realisation, x: Tensor) -> list[Seen]:
    """The layers of one network: ``δ`` is the derivative with respect to zeros added to a layer's output."""
    calls: list[_Call] = []
    forward = True

    def hook(name: str) -> Callable:
        def note(layer: nn.Module, given: tuple[Tensor], output: Tensor) -> Tensor:
            zero = torch.zeros_like(output, requires_grad=True)
            if forward and not torch.is_grad_enabled():
                remedy = "derivatives by it cannot be had"
                raise InputError(f"layer {name} runs under torch.no_grad or in a reentrant checkpoint: {remedy}")
            if forward:  # else it is computed again in the backward pass
                # copies: the module may change its own inputs in place later
                h = given[0].detach().clone()
                weight = cast(Tensor, layer.weight).detach().clone()
                calls.append(_Call(name, layer, h, zero, weight))
            return output + zero

        return note

    def job(module: nn.Module) -> Sequence[Tensor]:
        nonlocal forward
        layers = [(name, part) for name, part in module.named_modules() if isinstance(part, nn.Linear | nn.Conv2d)]
        hooks = [layer.register_forward_hook(hook(name)) for name, layer in layers]
        try:
            outputs = network.called(module, x)
            forward = False
            zeros = [call.zero for call in calls]
            if not zeros:
                return ()
            deltas = torch.autograd.grad(outputs.sum(), zeros, retain_graph=True, materialize_grads=True)
            v = torch.randn(len(x), generator=torch.Generator().manual_seed(0)).to(outputs)
            weighted = torch.autograd.grad(outputs @ v, zeros, materialize_grads=True)
            _needs_order(v, deltas, weighted, [call.name for call in calls])
            return deltas
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            raise InputError(f"the derivatives by the module's layers cannot be had: {short(error)}") from error
        finally:
            for handle in hooks:
                handle.remove()

    with torch.enable_grad():
        deltas = network.run(network.tensors, job)
    return [_layer(call, delta, len(x)) for call, delta in zip(calls, deltas)]


def _needs_order(v: Tensor, deltas: Sequence[Tensor], weighted: Sequence[Tensor], names: Sequence[str]) -> None:
    """Checks by the derivatives of ``Σ f`` and ``Σ v f`` that each layer takes the points in their order."""
    for delta, weighted_delta, name in zip(deltas, weighted, names):
        weights = v.view(-1, *[1] * (delta.ndim - 1))
        if len(delta) == len(v) and not same([weights * delta], [weighted_delta]):
            raise ReorderedError(
                f"layer {name} takes the points in another order or mixes them: each must keep one row"
            )


def _dense(seen: Seen) -> Layer:
    return Layer(seen.h[:, :, 0], seen.delta[:, :, 0], seen.multiplier, seen.bias, names=seen.names)


def _dense_size(network: Realisation, few: Tensor) -> int:
    """As ``dense_size``, for one network."""
    try:
        seen = _probe(network, few)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # rows that are not points, layers that are computed again in the backward pass: gradients work
        return 0
    called = [name for layer in seen for name in layer.names]
    vectors = all(layer.weight.ndim == 3 and layer.h.shape[2] == 1 for layer in seen)
    if not (vectors and len(called) == len(set(called)) and set(network.names) <= set(called)):
        return 0
    trained = [layer for layer in seen if {*layer.names} & {*network.names}]
    parts = [_dense(layer).only(network.names) for layer in trained]
    rows = dict(zip(network.names, network.backwards(few)))
    expected = [torch.cat([rows[name].reshape(len(few), -1) for name in part.names], 1)[None] for part in parts]
    right = same([part.jacobian() for part in parts], expected)
    return sum(part.h.shape[-1] + part.delta.shape[-1] for part in parts) if right else 0


def _layer(call: _Call, delta: Tensor, points: int) -> Seen:
    """The tangents of a layer of one realisation, from a call and the derivatives ``δ`` with respect to its outputs."""
    name, layer, h = call.name, call.layer, call.h
    if len(h) != points:
        raise InputError(f"layer {name} takes {len(h)} rows for {points} points: each point must keep one row")
    if isinstance(layer, nn.Conv2d):
        h = _patches(layer, h).mT
        delta = delta.flatten(2).mT
    else:
        h, delta = (maps.flatten(1, -2) if maps.ndim > 2 else maps.unsqueeze(1) for maps in (h, delta))
    bias = layer.bias is not None
    kinds = ("weight", "bias") if bias else ("weight",)
    names = tuple(f"{name}.{kind}" if name else kind for kind in kinds)
    groups = getattr(layer, "groups", 1)
    h, delta, weight = (tensor.unsqueeze(0) for tensor in (h, delta, call.weight))
    return Seen(h, delta, 1.0, bias, groups, names=names, layer=name, weight=weight)


def _patches(layer: nn.Conv2d, h: Tensor) -> Tensor:
    """The windows of a convolution, ``(p, n_in, positions)``."""
    sides = []
    for i, (size, spread) in enumerate(zip(layer.kernel_size, layer.dilation)):
        total = spread * (size - 1) if layer.padding == "same" else 0
        plain = 0 if isinstance(layer.padding, str) else layer.padding[i]
        sides.append((total // 2 + plain, total - total // 2 + plain))
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    return unfold(pad(h, (*sides[1], *sides[0]), mode), layer.kernel_size, layer.dilation, stride=layer.stride)


def _joined(calls: Sequence[Seen]) -> dict[str, Tensor]:
    return {kind: torch.cat([getattr(layer, kind) for layer in calls]) for kind in ("h", "delta", "weight")}
