"""Modules of several outputs a point, and points of several tensors: as models of one output at vectors.

Everything in this library counts points with one number each. A module of ``C`` outputs is such a model in two ways: of
one of its outputs (:meth:`regimes.models.module.ModuleModel.output`), or of all pairs of a point and an output, where
the number of the output is one more entry of the point. Points that are tuples, lists or dictionaries of tensors, as
``torch.utils.data.default_collate`` gives them, are vectors of all their entries.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from regimes import validate
from regimes.validate import InputError

if TYPE_CHECKING:
    from regimes.models.module import ModuleModel

Leaf = tuple[tuple[int, ...], torch.dtype]  # shape of a point, and precision


@dataclass(frozen=True)
class Form:
    """How a module is called with points that are vectors, and which of its outputs is taken.

    Attributes:
        leaves: of the tensors that one point is made of; none if points come as the module takes them.
        tree: the numbers of the leaves, in the tuples, lists and dictionaries of the caller.
        classes: number of outputs; above 0, a point's last entry says which is taken.
        column: the output that is taken of all points.
        whole: whether points come with all of their outputs, in order: the module is called once for each.
    """

    leaves: tuple[Leaf, ...] = ()
    tree: Any = 0
    classes: int = 0
    column: int | None = None
    whole: bool = False

    def outputs(self, module: nn.Module, x: Tensor) -> Any:
        """What the module gives at points ``x``, one number each if its outputs are tensors."""
        column: Tensor | int | None = self.column
        if self.classes:
            column = x[:, -1].round() if x.is_floating_point() else x[:, -1]
            column = column.long().clamp(0, self.classes - 1)
        points = x[:: self.classes] if self.whole else x
        parts = self.parts(points)
        given = _called(module, _arranged(self.tree, parts)) if self.leaves else module(parts[0])
        if column is None or not isinstance(given, Tensor) or given.shape[:1] != points.shape[:1]:
            return given
        given = given.flatten(1) if given.ndim > 1 else given.unsqueeze(1)
        if isinstance(column, int):
            if column >= given.shape[1]:
                raise InputError(f"output {column} is asked for, the module gives {given.shape[1]} a point, from 0 on")
            return given[:, column]
        if given.shape[1] != self.classes:
            raise InputError(f"the module gives {given.shape[1]} numbers a point, and {self.classes} for two points")
        return given.flatten() if self.whole else given.gather(1, column.unsqueeze(1)).squeeze(1)

    def parts(self, x: Tensor) -> list[Tensor]:
        """The tensors that a module takes, of points ``x``."""
        if not self.leaves:
            return [x]
        x = x[:, :-1] if self.classes else x
        sizes = [torch.Size(shape).numel() for shape, _ in self.leaves]
        parts = x.split(sizes, 1)
        return [part.reshape(len(x), *shape).to(kind) for part, (shape, kind) in zip(parts, self.leaves)]


def _called(module: nn.Module, points: Any) -> Any:
    """A tuple or list holds the arguments of ``forward``, a dictionary its keywords; else it is the argument.

    Raises:
        InputError: where a ``forward`` of several arguments takes others than these.
    """
    if not is_structured(points):
        return module(points)
    signature = inspect.signature(module.forward)
    try:
        bound = signature.bind(**points) if isinstance(points, Mapping) else signature.bind(*points)
    except TypeError as error:
        _needs_one_argument(signature, points, error)
        return module(points)
    return module(*bound.args, **bound.kwargs)


def _needs_one_argument(signature: inspect.Signature, points: Any, error: TypeError) -> None:
    """Checks that ``forward`` may take a point as one argument, where its tensors are not its arguments."""
    asked = [one for one in signature.parameters.values() if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    required = [one.name for one in asked if one.default is one.empty]
    names = [one.name for one in asked]
    given = [key for key in points if key in names] if isinstance(points, Mapping) else []
    if len(required) < 2 and (len(names) < 2 or not given):
        return
    others = [key for key in points if key not in names] if isinstance(points, Mapping) else []
    remedy = f": leave {', '.join(map(repr, others))} out of the points" if others else ""
    raise InputError(f"the module's forward takes {', '.join(names)}, not these points ({error}){remedy}") from error


def is_structured(x: Any) -> bool:
    """Whether points are made of tensors in tuples, lists or dictionaries."""
    if not isinstance(x, tuple | list | Mapping):
        return False
    values = x.values() if isinstance(x, Mapping) else x
    return any(isinstance(value, Tensor | np.ndarray) or is_structured(value) for value in values)


def packed(x: Any, like: Tensor, name: str = "x") -> tuple[Tensor, Form]:
    """Points of several tensors, each ``(p, ...)``, as vectors ``(p, D)`` in the precision of weights, and their form.

    Raises:
        InputError: for other numbers of points in them, another precision, and whole numbers that it does not hold.
    """
    leaves: list[Tensor] = []

    def leaf(value: Any, place: str) -> int:
        leaves.append(validate.points(place, value))
        return len(leaves) - 1

    tree = _mapped(x, leaf, name)
    counts = {len(value) for value in leaves}
    if len(counts) > 1:
        raise InputError(f"all tensors of {name} must have one row a point, got {sorted(counts)} rows")
    columns = []
    for value in leaves:
        if value.is_floating_point() and value.dtype != like.dtype:
            raise InputError(f"{name} must be in the weights' precision, {like.dtype}, got a tensor in {value.dtype}")
        column = value.flatten(1).to(like) if value.ndim > 1 else value.unsqueeze(1).to(like)
        if not torch.equal(column.to(value.dtype).flatten(), value.to(like.device).flatten()):
            raise InputError(
                f"{name} holds whole numbers that {like.dtype} does not: take the model .to(torch.float64)"
            )
        columns.append(column)
    kinds = tuple((tuple(value.shape[1:]), value.dtype) for value in leaves)
    return torch.cat(columns, 1), Form(kinds, tree)


def _mapped(x: Any, leaf: Callable[[Any, str], Any], name: str) -> Any:
    if isinstance(x, Mapping):
        return {key: _mapped(value, leaf, f"{name}[{key!r}]") for key, value in x.items()}
    if isinstance(x, tuple | list):
        return [_mapped(value, leaf, f"{name}[{i}]") for i, value in enumerate(x)]
    return leaf(x, name)


def _arranged(tree: Any, tensors: list[Tensor]) -> Any:
    if isinstance(tree, dict):
        return {key: _arranged(value, tensors) for key, value in tree.items()}
    return [_arranged(value, tensors) for value in tree] if isinstance(tree, list) else tensors[tree]


def opened(model: Any, *points: Any) -> tuple[Any, list[Any], int]:
    """A model with its points as tensors, and how many outputs it has at each.

    Args:
        model: any; only torch modules have more than one output, or points of several tensors.
        points: as a caller gives them, ``None`` for none.
    """
    if not hasattr(model, "count_outputs"):
        return model, list(points), 1
    model, taken = model.taking(*points)
    return model, taken, model.count_outputs(taken[0])


def by_output(model: "ModuleModel", x: Tensor, count: int) -> tuple["ModuleModel", Tensor]:
    """The model of all pairs of a point and an output, and these pairs ``(., p C, D)``: outputs run fastest.

    Args:
        model: of ``count`` outputs.
        x: points ``(1, p, ...)`` or ``(E, p, ...)``.
        count: ``C``.
    """
    form = model.form or Form(((tuple(x.shape[2:]), x.dtype),))
    flat = x.flatten(2).repeat_interleave(count, 1)
    column = torch.arange(count, device=x.device).repeat(x.shape[1]).to(x.dtype)
    pairs = torch.cat([flat, column.expand(len(x), -1).unsqueeze(-1)], -1)
    return replace(model, form=replace(form, classes=count), shape=None), pairs
