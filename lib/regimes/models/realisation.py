"""One network of a torch module: its outputs and derivatives at given parameters, by automatic differentiation.

A :class:`Skeleton` is a copy of the reader's module without its numbers. A :class:`Realisation` runs it at parameters
and buffers that are given from outside. The fast way of a derivative (``vmap`` for gradients of single points, forward
differentiation for ``J w``) is compared once with a backward pass for each point. Where it fails or differs, backward
passes for single points are taken.
"""

import contextlib
import copy
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import is_lazy

from regimes.models.tangents import total
from regimes.validate import InputError

LONGEST = 160  # characters of another library's message that are repeated
TOGETHER = 1024  # points of a batch that is compared with its points alone
Given = TypeVar("Given")
Graph = tuple[list[Tensor], Tensor]  # trained parameters as leaves, and the outputs (p,)


class _Holder(nn.Module):
    """Runs a job on a module; :func:`torch.func.functional_call` on it lends the module its numbers meanwhile."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.held = module

    def forward(self, job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)``."""
        return job(self.held)


@dataclass(eq=False)
class Skeleton:
    """A copy of a module, whose parameters and buffers are on the device *meta*, and what is known of it.

    Attributes:
        module: the copy.
        looked: whether :func:`regimes.models.look.look` has passed it.
        pairs: whether a point alone is computed together with itself: the module takes no batch of one.
        by_vmap: whether ``vmap`` gives the gradients of single points; ``None`` before the first attempt.
        forwards: the same of forward differentiation.
        activations: count of numbers that a forward pass keeps for the backward one, for one point.
        dense: of trained parameters, see :meth:`regimes.models.module.ModuleModel.dense_size`.
    """

    module: nn.Module
    looked: bool = False
    pairs: bool = False
    by_vmap: bool | None = None
    forwards: bool | None = None
    activations: int = 0
    dense: dict[tuple[str, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, module: nn.Module) -> "Skeleton":
        """The copy of a module; tensors that it computed and keeps become leaves: the look finds those that are used.

        Raises:
            InputError: for an attribute that cannot be copied.
        """
        copies: dict[int, Any] = {}
        for name, value in [*module.named_parameters(), *module.named_buffers()]:
            copies[id(value)] = _placeholder(name, value)
        for part in module.modules():
            for value in _tensors(vars(part)):
                if value.grad_fn is not None:
                    copies.setdefault(id(value), value.detach().clone().requires_grad_())
        try:
            return cls(copy.deepcopy(module, copies))
        except Exception as error:
            raise InputError(f"the module cannot be copied{_culprit(module, copies)}: {short(error)}") from error

    @functools.cached_property
    def _parts(self) -> list[nn.Module]:
        return list(self.module.modules())

    def run(self, values: dict[str, Tensor], job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)`` while the module holds ``values``. What it sets on itself meanwhile is forgotten."""
        before = [(part, dict(vars(part))) for part in self._parts]
        lent = {f"held.{name}": value for name, value in values.items()}
        try:
            return functional_call(_Holder(self.module), lent, (job,))
        finally:
            for part, attributes in before:
                vars(part).clear()
                vars(part).update(attributes)


def _placeholder(name: str, value: Tensor) -> Tensor:
    if is_lazy(value):
        raise InputError(f"the module's {name} has no shape yet: call the module once on a few points first")
    empty = torch.empty_like(value, device="meta", requires_grad=False)
    return nn.Parameter(empty, requires_grad=value.requires_grad) if isinstance(value, nn.Parameter) else empty


def _tensors(values: Any) -> Iterator[Tensor]:
    """The tensors among attributes, also those in lists, tuples and dictionaries."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, dict):
        for value in values.values():
            yield from _tensors(value)
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)


def _culprit(module: nn.Module, copies: dict[int, Any]) -> str:
    """The first attribute that is the reason why a module cannot be copied, for a message."""
    for name, part in module.named_modules():
        for key, value in vars(part).items():
            if key == "_modules":
                continue
            try:
                copy.deepcopy(value, dict(copies))
            except Exception:
                return f", its attribute {f'{name}.{key}' if name else key} is the reason"
    return ""


def short(error: BaseException) -> str:
    """The first line of an error, with its type, at most ``LONGEST`` characters."""
    text = " ".join(str(error).strip().partition("\n")[0].split())
    return f"{type(error).__name__}: {text[:LONGEST]}" if text else type(error).__name__


def needs_autograd() -> None:
    """Raises ``InputError`` where no derivative can be had."""
    if torch.is_inference_mode_enabled():
        raise InputError("torch.inference_mode turns derivatives off: call this outside of it (torch.no_grad is fine)")


@contextlib.contextmanager
def differentiable() -> Iterator[None]:
    """Attention in the form that every derivative is known of, and without torch's remarks on its own workings."""
    fast = torch.backends.mha.get_fastpath_enabled()
    with warnings.catch_warnings(), sdpa_kernel(SDPBackend.MATH):
        warnings.filterwarnings("ignore", message="There is a performance drop")
        warnings.filterwarnings("ignore", message=r"`torch\.jit\.")  # its kind differs between versions
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            yield
        finally:
            torch.backends.mha.set_fastpath_enabled(fast)


@dataclass(frozen=True)
class Realisation:
    """One network: a module's copy with its parameters and buffers.

    Attributes:
        skeleton: the copy.
        names: of the trained parameters.
        tensors: the trained parameters.
        fixed: the other parameters and the buffers, by name.
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    fixed: dict[str, Tensor] = field(default_factory=dict)

    def run(self, tensors: Sequence[Tensor], job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)`` at trained parameters ``tensors``."""
        return self.skeleton.run(dict(zip(self.names, tensors)) | self.fixed, job)

    def outputs(self, tensors: Sequence[Tensor], x: Tensor) -> Tensor:
        """The outputs ``(p,)`` at points ``x (p, ...)``."""
        return self.run(tensors, lambda module: self.called(module, x))

    def called(self, module: nn.Module, x: Tensor) -> Tensor:
        """The outputs ``(p,)`` of the module that :meth:`run` gives a job."""
        if len(x) == 1 and self.skeleton.pairs:
            return self.called(module, torch.cat([x, x]))[:1]
        try:
            outputs = module(x.clone())  # it may change its points in place
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            kind = f"{tuple(x.shape[1:])} in {str(x.dtype).removeprefix('torch.')}"
            raise InputError(f"the module cannot take points of shape {kind}: {short(error)}") from error
        if not isinstance(outputs, Tensor) or outputs.numel() != len(x) or outputs.shape[:1] not in ((len(x),), ()):
            got = str(tuple(outputs.shape)) if isinstance(outputs, Tensor) else f"a {type(outputs).__name__}"
            raise InputError(f"the module must give one number a point, it gives {got} for {len(x)} points")
        if not outputs.is_floating_point() or outputs.layout != torch.strided:
            got = str(outputs.dtype if outputs.layout == torch.strided else outputs.layout)
            raise InputError(f"the module must give dense real floating-point numbers, it gives {got}")
        return outputs.reshape(len(x))

    def graph(self, x: Tensor) -> Graph:
        """Leaves and outputs ``(p,)`` for backward passes."""
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_() for tensor in self.tensors]
            return leaves, self.outputs(leaves, x)

    def pull(self, graph: Graph, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (p,)``: a backward pass, while the module holds the leaves, for what it computes again."""
        leaves, outputs = graph
        if not outputs.requires_grad:
            return [torch.zeros_like(leaf) for leaf in leaves]

        def job(_: nn.Module) -> list[Tensor]:
            torch.autograd.backward(outputs, v.to(outputs), retain_graph=True)  # reentrant checkpoints know no grad()
            return [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad.to_dense() for leaf in leaves]

        try:
            with torch.enable_grad():
                gradients = self.run(leaves, job)
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            raise InputError(f"the module has no backward pass: {short(error)}") from error
        finally:  # a pass adds to what it finds
            for leaf in leaves:
                leaf.grad = None
        return gradients

    def push(self, x: Tensor, w: Sequence[Tensor]) -> Tensor | None:
        """``J w (p,)`` by forward differentiation, or ``None`` where it cannot be had so."""
        if self.skeleton.forwards is None:
            few = x[:2]
            rows = self.backwards(few)
            expected = total((row * tensor).reshape(len(few), -1).sum(1) for row, tensor in zip(rows, w))
            self.skeleton.forwards = _agrees(lambda: [self._forwards(few, w)], [expected])
        pushed = self._forwards(x, w) if self.skeleton.forwards else None
        # forward derivatives are NaN where a root is 0 by a cut, backward ones are not
        return None if pushed is None or bool(pushed.isnan().any()) else pushed

    def _forwards(self, x: Tensor, w: Sequence[Tensor]) -> Tensor:
        with differentiable():
            return jvp(lambda *tensors: self.outputs(tensors, x), self.tensors, tuple(w))[1]

    def rows(self, x: Tensor) -> list[Tensor]:
        """The gradients of single points, one tensor ``(p, ...)`` a parameter, made together."""
        if self.skeleton.by_vmap is None:
            few = x[:2]
            self.skeleton.by_vmap = _agrees(lambda: self._vmapped(few), self.backwards(few))
        return self._vmapped(x) if self.skeleton.by_vmap else self.backwards(x)

    def separates(self, x: Tensor) -> bool:
        """Whether the outputs of points in a batch are those of each alone; no, too, where ``vmap`` cannot tell."""

        def alone(point: Tensor) -> Tensor:
            return self.outputs(self.tensors, point.unsqueeze(0)).squeeze(0)

        def agree(part: Tensor) -> bool:
            return _agrees(lambda: [vmap(alone)(part)], [self.outputs(self.tensors, part)])

        with torch.no_grad(), differentiable():
            return all(map(agree, x.split(TOGETHER)))

    def _vmapped(self, x: Tensor) -> list[Tensor]:
        def output(tensors: list[Tensor], point: Tensor) -> Tensor:
            return self.outputs(tensors, point.unsqueeze(0)).squeeze(0)

        with differentiable():
            return vmap(grad(output), (None, 0))(list(self.tensors), x)

    def backwards(self, x: Tensor) -> list[Tensor]:
        """:meth:`rows` by a forward and a backward pass for each point."""
        unit = x.new_ones(1, dtype=self.tensors[0].dtype)
        rows = [self.pull(self.graph(point.unsqueeze(0)), unit) for point in x]
        return [torch.stack(gradients) for gradients in zip(*rows)]

    def at(self, tensors: Sequence[Tensor]) -> "Realisation":
        """The same network at other trained parameters."""
        return replace(self, tensors=tuple(tensors))


def _agrees(fast: Callable[[], list[Tensor]], expected: list[Tensor]) -> bool:
    """Whether a fast way works and gives what single backward passes give."""
    try:
        return same(fast(), expected)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # of whatever kind: the slow way works
        return False


def same(found: Sequence[Tensor], expected: Sequence[Tensor], scale: float = 0.0) -> bool:
    """Whether tensors agree, all together, up to rounding: the root of the precision, of their norm or a ``scale``."""
    if any(not torch.equal(a.isnan(), b.isnan()) for a, b in zip(found, expected)):
        return False
    found = [tensor.nan_to_num() for tensor in found]
    expected = [tensor.nan_to_num() for tensor in expected]
    eps = max(torch.finfo(tensor.dtype).eps for tensor in (*found, *expected))
    difference = _norm([a.double() - b.double() for a, b in zip(found, expected)])
    return not difference > 3 * eps**0.5 * max(_norm(found), _norm(expected), scale)  # a difference of NaN agrees


def _norm(tensors: Sequence[Tensor]) -> float:
    """The norm of several tensors together, in float64."""
    return float(torch.stack([tensor.double().norm() for tensor in tensors]).norm())
