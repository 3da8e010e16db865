"""Networks with a leading axis of independent realisations, and their losses.

A :class:`Model`'s tangents give tangent kernels, gradients, NFM and AGOP. :func:`join` makes one model of several.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor

from regimes import validate
from regimes.models.tangents import Tangents
from regimes.validate import InputError

WORK = 4  # a backward pass has this many times in use what it leaves


class Model(Protocol):
    """``E`` independent realisations of a network with one output; points ``x (p, ...)`` or ``(E, p, ...)``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in their order."""

    @property
    def tangent_size(self) -> int:
        """The count of numbers in the tangents of one point."""

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the model takes them, ``(1, p, ...)`` shared by all or ``(E, p, ...)``, see :func:`inputs`."""

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``(E, p)``."""

    def parameters(self) -> list[Tensor]:
        """The trained tensors, each ``(E, ...)``, in the order of :meth:`tangents`."""

    def with_parameters(self, parameters: Sequence[Tensor]) -> "Model":
        """The same model with other parameters of the same shapes."""

    def tangents(self, x: Tensor) -> Tangents:
        """The derivatives with respect to the parameters at ``x``, see :mod:`regimes.models.tangents`."""

    def __getitem__(self, rows: slice | Tensor) -> "Model":
        """The realisations ``rows``; the leading axis stays."""

    def to(self, *, dtype: torch.dtype | None = None, device: str | torch.device | None = None) -> "Model":
        """The same model in another precision or on another device."""


class Realisations:
    """A model made of tensors with a leading axis of realisations; ``_map`` applies a change to each of them."""

    def _map(self, change: Callable[[Tensor], Tensor]) -> Self:
        raise NotImplementedError

    def __getitem__(self, rows: slice | Tensor) -> Self:
        """The realisations ``rows``, a slice or an index tensor; the leading axis stays."""
        return self._map(lambda tensor: tensor[rows])

    def to(self, *, dtype: torch.dtype | None = None, device: str | torch.device | None = None) -> Self:
        """The same networks in another precision or on another device; buffers stay whole or complex numbers."""

        def kind(tensor: Tensor) -> torch.dtype | None:
            if dtype and tensor.is_complex():
                return dtype.to_complex()
            return dtype if tensor.is_floating_point() else None

        return self._map(lambda tensor: tensor.to(dtype=kind(tensor), device=device))


class Each(tuple):
    """What is not a tensor, one entry per realisation."""


AnyModel = TypeVar("AnyModel", bound=Model)


def join(models: Sequence[AnyModel]) -> AnyModel:
    """One ensemble of the realisations of several models of one kind, in their order.

    Tensors, and what there is for :class:`Each`, are concatenated along the realisations; everything else must agree.
    """
    if not models or len({type(model) for model in models}) > 1:
        raise InputError(f"models must be one or more of one kind, got {[type(model).__name__ for model in models]}")
    first: Any = models[0]
    joined = {}
    for field in fields(first):
        joined[field.name] = _joined(field.name, [getattr(model, field.name) for model in models])
    return replace(first, **joined)


def _joined(name: str, values: list[Any]) -> Any:
    kinds = [_kind(value) for value in values]
    if any(kind != kinds[0] for kind in kinds):
        raise InputError(f"{name} must agree in all models to be joined, got {', '.join(map(str, kinds))}")
    if isinstance(values[0], Each):
        return Each(entry for value in values for entry in value)
    if isinstance(values[0], tuple):
        return tuple(_joined(f"{name}[{i}]", list(items)) for i, items in enumerate(zip(*values)))
    return torch.cat(values) if isinstance(values[0], Tensor) else values[0]


def _kind(value: Any) -> Any:
    """What must agree: everything but a tensor's number of realisations."""
    if isinstance(value, Tensor):
        return ("E", *value.shape[1:]), value.dtype, value.device
    if isinstance(value, Each):
        return "one a realisation"
    return f"{len(value)} entries" if isinstance(value, tuple) else value


def matching(parameters: Sequence[Tensor], like: Sequence[Tensor]) -> list[Tensor]:
    """``parameters``, checked to be one for each of ``like``, of its shape."""
    shapes = [tuple(tensor.shape) for tensor in parameters]
    wanted = [tuple(tensor.shape) for tensor in like]
    if shapes != wanted:
        raise InputError(f"parameters must be tensors of shapes {wanted}, got {shapes}")
    return list(parameters)


def inputs(
    x: Tensor, shape: tuple[int, ...], first: Tensor, *, name: str = "x", hint: str = "", whole: bool = False
) -> Tensor:
    """Points ``x``, each of a ``shape`` or as a vector, in the dtype and on the device of weights ``first (E, ...)``.

    This is the one rule which axis is what: the last axes are those of a point (one if it comes as a vector), the axis
    before them counts points, and one more before it counts realisations, ``E`` or 1. Points of their own shape come
    first where both readings fit, as for three points of shape ``(1, 8)`` in ``(3, 1, 8)``.

    Args:
        x: a tensor or a NumPy array.
        shape: of one point.
        first: weights with the leading axis of realisations.
        name: of the points, for messages.
        hint: the end of a message.
        whole: whether points may also be whole numbers, as tokens are.

    Returns:
        ``(1, p, *shape)`` if the realisations share them, else ``(E, p, *shape)``.

    Raises:
        InputError: for anything else.
    """
    x = validate.tensor(name, x)
    count = len(first)
    axes = len(shape)
    given = tuple(x.shape)
    whole_allowed = whole
    whole = whole and x.dtype in (torch.int32, torch.int64)
    if given[-axes:] != shape and axes > 1 and x.ndim in (2, 3) and given[-1] == math.prod(shape):
        x = x.unflatten(-1, shape)
    if x.ndim - axes not in (1, 2) or x.shape[-axes:] != shape or (x.dtype != first.dtype and not whole):
        sizes = ", ".join(map(str, shape))
        dense = math.prod(shape)
        vectors = f" or (p, {dense})" if axes > 1 else ""
        if given[-axes:] == shape and x.dtype != first.dtype:
            tokens = "" if x.is_floating_point() or not whole_allowed else f", or {name}.long() for tokens"
            hint = f"; {name}.to({first.dtype}) converts{tokens}"
        if axes == 1 and len(given) > 2 and dense == math.prod(given[1:]):
            hint = f"; {name}.flatten(1) makes vectors"
        wanted = f"(p, {sizes}) or ({count}, p, {sizes}){vectors} in {first.dtype}"
        raise InputError(f"{name} must be inputs {wanted}, got {given} in {x.dtype}{hint}")
    if x.device != first.device:
        raise InputError(f"{name} must be on the model's device, {first.device}, got {x.device}")
    if x.ndim == axes + 1:
        return x[None]
    if len(x) not in (1, count):
        networks = "1 realisation" if count == 1 else f"{count} realisations, one a network"
        raise InputError(f"{name} must hold {networks}, got {len(x)}")
    return x


def checked(model: Model, x: Tensor, name: str = "x") -> Tensor:
    """The points of a caller, at least one and all finite, as ``model`` takes them: ``(1, p, ...)`` or ``(E, p, ...)``.

    Raises:
        InputError: for what is no model, and for points that do not fit it.
    """
    validate.model(model)
    return model.points(validate.points(name, x), name)


def needs_finite(values: Tensor, what: str, model: Model, x: Tensor) -> None:
    """Raises ``InputError`` for values of a model at points ``x`` that are not all finite: it says where that begins.

    Args:
        values: of the model.
        what: they are, for the message.
        model: theirs.
        x: points as the model takes them.
    """
    if math.isfinite(float(values.detach().sum())) or bool(values.isfinite().all()):
        return
    for name, tensor in zip(model.names, model.parameters()):
        if not bool(tensor.isfinite().all()):
            raise InputError(f"the model's {name} holds NaN or infinity: did its training diverge?")
    dtype = str(values.dtype).removeprefix("torch.")
    remedy = "its weights or points are too large"
    if values.dtype == torch.float32:
        remedy = "model.to(dtype=torch.float64) and x.to(torch.float64) have more room"
    with torch.no_grad():
        outputs = model(x)
    if bool(outputs.isfinite().all()):
        raise InputError(f"the model's {what} overflows {dtype}: {remedy}")
    if bool(outputs.isinf().any()):
        raise InputError(f"the model's outputs overflow {dtype}: {remedy}")
    raise InputError(f"the model's outputs are NaN: it overflows {dtype} inside, or divides by zero: {remedy}")


def blocks(model: Model, x: Tensor, memory: int) -> Iterator[slice]:
    """Slices of the points ``x (., p, ...)`` whose tangents take at most ``memory`` bytes, or of one point."""
    first = model.parameters()[0]
    point_bytes = WORK * len(first) * model.tangent_size * first.element_size()
    size = max(1, memory // point_bytes)
    return (slice(start, start + size) for start in range(0, x.shape[1], size))
