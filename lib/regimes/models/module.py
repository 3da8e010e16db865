r"""Your own torch module as a model, with a leading axis of independent realisations.

Any module works whose outputs at a point depend on that point alone: perceptrons, convolutions, recurrent networks,
transformers, with shared, frozen or reparametrised weights, in float32 or float64. These are the rules, for all
functions that take a model:

- **Axes.** ``shape`` says what one point is, such as ``(1, 28, 28)``; without it points are vectors. ``x`` is
  ``(p, *shape)`` or ``(E, p, *shape)``, or the points as vectors, ``(p, d)`` or ``(E, p, d)``
  (:func:`regimes.models.inputs`). Points are numbers in the parameters' precision, or whole numbers, such as the tokens
  of an embedding.
- **Outputs.** ``ntk``, ``kernel_pca``, ``lazy`` and ``sites`` take modules of several outputs, as classifiers; the
  others take ``model.output(c)``, which is one of them.
- **Points of several tensors**, such as tokens and their mask, are tuples, lists or dictionaries of tensors of one row
  a point: the arguments of ``forward``, or its one argument.
- **Copies.** The module, its parameters and its buffers are copied once; what it sets on itself during a call is
  forgotten after it, and so is what its hooks write to lists, dictionaries and objects of yours
  (:mod:`regimes.models.bystanders`; tensors that they change in place are not put back). Points are copied at each
  call, so that a module may change them in place.
- **Realisations.** With ``seeds`` each network is a module of its own, with all that it holds: also tensors, masks,
  permutations and numbers that are neither parameters nor buffers.
- **A look.** The first call looks at its points, at two of them closely (:mod:`regimes.models.look`). It refuses a
  module that draws random numbers, changes its buffers, lets a point depend on its batch, or has no derivatives.
- **Derivatives.** Gradients of single points are made together where ``torch.func.vmap`` can, else by a backward pass
  for each, as for LSTMs, modules that ask for ``.item()``, and checkpoints. :math:`Jw` is taken by forward
  differentiation, or from those gradients.
- **Layers of vectors.** The part that linear layers of vectors, called once each, have in a tangent kernel comes from
  these layers' inputs and derivatives, without the gradients, where they have most of the trained parameters.
- **Certificates.** What a fast way gives is compared at each call, at its points and weights, with a plain backward
  pass over all of them: ``Jᵀ u`` for random ``u`` (and ``u·(J w)`` for random ``w``), up to the root of the precision.
  Where it differs, single backward passes are taken, then and from then on; where few points differ, as rounding
  makes at a kink, for these points.
- **Threads.** Each thread runs a copy of its own; several may use one model.
- **Memory.** ``memory`` bounds gradients and what a forward pass keeps for them, in bytes beside the result. Each
  point's gradient is made once where all of them fit.
- **Errors.** Bad input gets one line; an error inside the module stands above it with its own traceback.
"""

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from regimes import validate
from regimes.models import Each, Realisations, inputs, matching
from regimes.models.differentiated import Differentiated
from regimes.models.layers import (
    Derived,
    Entry,
    Seen,
    UncertifiedError,
    dense_layers,
    reasons,
    seen_layers,
    vector_parameters,
)
from regimes.models.look import count_outputs, look
from regimes.models.outputs import Form, by_output, is_structured, packed
from regimes.models.realisation import Realisation, Skeleton, lent_buffers, needs_autograd
from regimes.models.tangents import Layer, Tangents
from regimes.validate import InputError


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
        form: of points and outputs, see :mod:`regimes.models.outputs`; ``None`` for a tensor and all outputs.
    """

    skeletons: Each
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    fixed_names: tuple[str, ...] = ()
    fixed: tuple[Tensor, ...] = ()
    shape: tuple[int, ...] | None = None
    form: Form | None = None

    def output(self, number: int) -> "ModuleModel":
        """The model of one of a module's outputs, counted from 0, of which all functions here can be taken."""
        validate.integer(0, number=number)
        return replace(self, form=replace(self.form or Form(), column=int(number)))

    def taking(self, *points: Any) -> tuple["ModuleModel", list[Any]]:
        """The model that takes points as tensors, where a caller's may be several tensors each, and these points."""
        if not any(map(is_structured, points)):
            return self, list(points)
        like = self.tensors[0]
        taken = [None if x is None else packed(x, like) for x in points]
        forms = [found[1] for found in taken if found is not None]
        if any(form != forms[0] for form in forms):
            raise InputError("all points must be made of the same tensors, of the same shapes and precision")
        form = forms[0] if self.form is None else replace(forms[0], column=self.form.column)
        return replace(self, form=form, shape=None), [None if found is None else found[0] for found in taken]

    def count_outputs(self, x: Any) -> int:
        """How many numbers the module gives for a point, or 1 if the model takes one of them."""
        if self.form is not None and (self.form.column is not None or self.form.classes):
            return 1
        first = self.skeletons[0]
        if not first.outputs:
            network, points = self.each(self._shaped(x))[0]
            first.outputs = count_outputs(network, points)
        return first.outputs

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
        return Realisation(self.skeletons[e], self.names, tensors, fixed, self.form)

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the module takes them, see :func:`regimes.models.inputs`; at first, a look at the module.

        Raises:
            InputError: for points of another shape or precision, and as :func:`regimes.models.look.look`.
        """
        x = self._shaped(x, name)
        if (count := self.count_outputs(x)) > 1:
            several = "ntk, kernel_pca, lazy and sites take all of them, model.output(c) is the model of one"
            raise InputError(f"the module must give one number a point, it gives {count}: {several}")
        if not all(skeleton.looked for skeleton in self.skeletons):
            for network, points in self.each(x):
                look(network, points.detach())
        return x

    def _shaped(self, x: Any, name: str = "x") -> Tensor:
        """Points ``(1, p, ...)`` or ``(E, p, ...)``."""
        x = validate.tensor(name, x)
        shape = self.shape or tuple(x.shape[-1:])
        hint = "; module(shape=...) says the shape of one point" if x.ndim != 2 else ""
        x = inputs(x, shape, self.tensors[0], name=name, hint=hint, whole=True)
        if not x.numel():
            raise InputError(f"{name} must hold at least one point, got shape {tuple(x.shape)}")
        return x

    def paired(self, x: Any, name: str = "x") -> tuple["ModuleModel", Tensor, int]:
        """A model of one output at pairs of points and outputs, these pairs, and the number ``C`` of outputs.

        For a module of one output it is the model itself at its points.
        """
        model, (x,) = self.taking(x)
        x = validate.points(name, x)
        if (count := model.count_outputs(x)) == 1:
            return model, model.points(x, name), 1
        single, pairs = by_output(model, model._shaped(x, name), count)
        return single, single.points(pairs), count

    def __call__(self, x: Any) -> Tensor:
        """Outputs ``(E, p)`` at points ``x (p, ...)`` shared by all realisations, or ``(E, p, ...)``.

        A module of ``C`` outputs gives ``(E, p, C)``.
        """
        model, x, count = self.paired(x)
        f = torch.stack([network.outputs(network.tensors, points) for network, points in model.each(x)])
        return f if count == 1 else f.unflatten(1, (-1, count))

    def pullback(self, x: Tensor) -> tuple[Tensor, Callable[[Tensor], list[Tensor]]]:
        """Outputs ``f (E, p)``, and ``v -> Jᵀ v`` for ``v`` of their shape, one tensor per parameter."""
        tangents = Differentiated(self, self.points(x))
        return tangents.outputs(), tangents.vjp

    def tangents(self, x: Any) -> Tangents:
        """The derivatives of the outputs with respect to the parameters.

        Those of a module of ``C`` outputs have ``p C`` rows, as ``f (E, p, C)`` flattened.
        """
        model, x, _ = self.paired(x)
        return Tangents((Differentiated(model, x),))

    def layers(self, x: Tensor) -> list[Seen]:
        """The tangents of each ``Linear`` and ``Conv2d``, in the order of their first calls.

        Each holds the layer's inputs ``h (E, p, positions, n_in)`` and ``δ (E, p, positions, n_out)``; a linear layer
        of vectors has one position, one that is called several times, or shares its weights with another layer, has
        those of all calls. Frozen and reparametrised layers are among them. Layers of a class or with hooks of their
        own have the derivatives of the graph, whatever their forward is. The cost is one forward and two backward
        passes per realisation.

        Layers whose rows are not the points, and matrices that are used without the call of a layer, are left out, with
        a warning that names them.

        Raises:
            InputError: as the call, and for a module without such layers.
        """
        needs_autograd()
        x = self.points(x)
        by_network = [seen_layers(network, points) for network, points in self.each(x)]
        left_out = {name: why for found in by_network for name, why in found.left_out.items()}
        if not by_network[0].entries:
            why = f": {reasons(left_out)}" if left_out else ""
            raise InputError(f"the module has no Linear or Conv2d layers to be seen{why}")
        if left_out:
            warnings.warn(f"left out of the layers: {reasons(left_out)}", stacklevel=2)
        called = [[entry.layer for entry in found.entries] for found in by_network]
        if any(names != called[0] for names in called):
            raise InputError("the realisations must call the same layers in the same order")
        return [self._seen(entries, x) for entries in zip(*(found.entries for found in by_network))]

    def _seen(self, entries: Sequence[Entry], x: Tensor) -> Seen:
        """A layer of all realisations."""
        first = entries[0]
        h, delta, weight = (torch.stack([getattr(e, kind) for e in entries]) for kind in ("h", "delta", "weight"))
        seen = Seen(h, delta, 1.0, first.bias, first.groups, names=first.names, layer=first.layer, weight=weight)
        names = next((entry.names for entry in entries if not entry.plain), None)
        if names is None:
            return seen
        if not names:
            raise InputError(f"layer {first.layer} has no parameters of its own, and is no plain layer of its class")
        by_graph = Differentiated(self.of(names), x)
        return Derived(**vars(replace(seen, names=by_graph.names)), by_graph=by_graph)

    def dense_names(self, x: Tensor) -> tuple[str, ...]:
        """The trained parameters that :meth:`dense` is worth while for; none where that has failed.

        They are those of linear layers of vectors, and most of all: a small readout is not worth the passes.
        """
        needs_autograd()
        first = self.skeletons[0]
        if first.vectors is None:
            network, points = self.each(self.points(x))[0]
            first.vectors = vector_parameters(network, points[:2])
        sizes = {name: tensor[0].numel() for name, tensor in zip(self.names, self.tensors)}
        names = tuple(name for name in self.names if name in first.vectors)
        if 2 * sum(sizes[name] for name in names) <= sum(sizes.values()):
            return ()
        return () if any(("dense", names) in skeleton.slow for skeleton in self.skeletons) else names

    @property
    def dense_size(self) -> int:
        """The count of numbers in :meth:`dense` of one point."""
        parts = dict(self.skeletons[0].module.named_modules())
        owners = [cast(nn.Linear, parts[owner]) for owner in {name.rpartition(".")[0] for name in self.names}]
        return sum(layer.in_features + layer.out_features for layer in owners)

    def dense(self, x: Tensor) -> Tangents:
        """The tangents from the inputs and ``δ`` of linear layers, certified by a backward pass at these points.

        Raises:
            UncertifiedError: where they are not those of the backward pass; then :meth:`dense_names` has none.
        """
        try:
            by_network = [dense_layers(network, points) for network, points in self.each(self.points(x))]
            if len({tuple(part.names for part in parts) for parts in by_network}) > 1:
                raise UncertifiedError
        except (UncertifiedError, InputError) as error:
            for skeleton in self.skeletons:
                skeleton.slow.add(("dense", self.names))
            raise UncertifiedError from error
        return Tangents(tuple(_together(parts) for parts in zip(*by_network)))

    def parameters(self) -> list[Tensor]:
        """The trained parameters, in the order of ``names``."""
        return list(self.tensors)

    def with_parameters(self, parameters: Sequence[Tensor]) -> "ModuleModel":
        """The same module at other parameters."""
        return replace(self, tensors=tuple(matching(parameters, self.tensors)))

    def only(self, names: Collection[str]) -> "ModuleModel":
        """The same module with fewer trained parameters."""
        return self.of([name for name in self.names if name in names])

    def of(self, names: Collection[str]) -> "ModuleModel":
        """The same module with other trained parameters, also such as were fixed."""
        values = dict(zip((*self.names, *self.fixed_names), (*self.tensors, *self.fixed)))
        wanted = tuple(name for name in values if name in names)
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


def _together(parts: Sequence[Layer]) -> Layer:
    """A layer of all realisations."""
    h, delta = (torch.cat([getattr(part, kind) for part in parts]) for kind in ("h", "delta"))
    return replace(parts[0], h=h, delta=delta)


def _usable(tensor: Tensor) -> Tensor:
    """The tensor, or a copy of one that was made in inference mode, which autograd refuses."""
    return tensor.clone() if tensor.is_inference() and not torch.is_inference_mode_enabled() else tensor


def module(
    source: nn.Module | Callable[[], nn.Module],
    *,
    seeds: Sequence[int] | None = None,
    shape: int | Sequence[int] | None = None,
    params: Collection[str] | None = None,
) -> ModuleModel:
    """A torch module as a model, at its current parameters or built once for each seed.

    The module stays as it is, and later changes to it have no effect here. Buffers, such as the averages of a batch
    norm in ``eval()``, keep their values. The head of this page says what works and what is promised.

    Args:
        source: a module, which makes one realisation; or a function that builds one, for ``seeds``.
        seeds: one initialisation each, by ``source()`` with torch's generator at that seed; the generator's state
            outside is restored.
        shape: of one point, such as ``(1, 28, 28)`` or ``6``; points may then also be vectors. ``None`` for vectors.
        params: trained parameters, out of ``named_parameters()``; ``None`` for all that require gradients.

    Raises:
        InputError: for a module without parameters, of mixed precision, with dropout or batch norm in training mode,
            with an embedding that scales its weights or its derivatives (``max_norm``, ``scale_grad_by_freq``),
            compiled by ``torch.jit`` or spread by ``DataParallel``, for unknown ``params``, seeds for a module or none
            for a function, and a function that builds different modules, or one module for several seeds.
    """
    if shape is not None:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        validate.length(1, 8, shape=shape)
        validate.integer(1, **{f"shape[{i}]": n for i, n in enumerate(shape)})
    networks = _built(source, seeds)
    for network in networks:
        _needs_own_kind(network)
        _needs_separate_points(network)
    by_network = [dict([*network.named_parameters(), *lent_buffers(network)]) for network in networks]
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
    return ModuleModel(skeletons, names, tensors, fixed_names, fixed, shape)


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
        got = ", ".join(dtypes)
        raise InputError(f"parameters must be of one precision, float32 or float64, got {got}: module.float() converts")
    return tuple(name for name in names if params is None or name in params)
