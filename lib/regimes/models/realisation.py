"""One network of a torch module: its outputs and derivatives at given parameters, by automatic differentiation.

A :class:`Skeleton` is a copy of the reader's module without its numbers. A :class:`Realisation` runs it at parameters
and buffers that are given from outside. A fast way of a derivative (``vmap`` for gradients of single points, forward
differentiation for ``J w``) is certified at each use: a backward pass over all of the points at once gives ``Jᵀ u``
for random ``u``, which the fast way's ``J`` must give, too. Where it fails, or differs at more than a few points,
backward passes for single points are taken, then and from then on.
"""

import collections
import contextlib
import copy
import threading
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jacrev, jvp, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.parameter import is_lazy

from regimes.models.bystanders import Bystanders
from regimes.models.outputs import Form
from regimes.models.tangents import total
from regimes.validate import InputError

LONGEST = 160  # characters of another library's message that are repeated
FEW = 16  # one row of so many may differ from the backward pass: rounding at a kink
SMALLEST = 1e-3  # rows that are smaller than this part of the largest have less weight in a certificate
ROUGH = 2.0**-17  # taken as the precision of float32 on a GPU, whose convolutions round to ten bits
PLAIN = Form()
Given = TypeVar("Given")


class Graph(NamedTuple):
    """The trained parameters as leaves, the outputs ``(p,)``, and the points."""

    leaves: list[Tensor]
    outputs: Tensor
    x: Tensor


class _Holder(nn.Module):
    """Runs a job on a module; :func:`torch.func.functional_call` on it lends the module its numbers meanwhile."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.held = module

    def forward(self, job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)``."""
        return job(self.held)


class _Own(threading.local):
    """What each thread has for itself; a copy begins empty."""

    copied: "tuple[nn.Module, Bystanders] | None" = None

    def __deepcopy__(self, memo: dict) -> "_Own":
        return _Own()

    def __reduce__(self) -> tuple:
        return (_Own, ())


class _Lock:
    """A lock that a copy has anew."""

    def __init__(self) -> None:
        self.held = threading.RLock()

    def __reduce__(self) -> tuple:
        return (_Lock, ())


@dataclass(eq=False)
class Skeleton:
    """A copy of a module, whose parameters and buffers are on the device *meta*, and what is known of it.

    Attributes:
        module: the copy, which is never run: each thread runs one of its own.
        looked: whether :func:`regimes.models.look.look` has passed it.
        pairs: whether a point alone is computed together with itself: the module takes no batch of one.
        differentiates: whether the module takes derivatives itself, which it cannot where they are turned off.
        once: whether its graphs bear one backward pass each.
        activations: count of numbers that a forward pass keeps for the backward one, for one point.
        slow: the fast ways that have failed.
        outputs: numbers a point, 0 before it was called.
        vectors: the parameters of linear layers that take one vector a point; ``None`` before a kernel was asked for.
    """

    module: nn.Module
    looked: bool = False
    pairs: bool = False
    differentiates: bool = False
    once: bool = False
    activations: int = 0
    slow: set[Any] = field(default_factory=set)
    outputs: int = 0
    vectors: tuple[str, ...] | None = None
    _own: _Own = field(default_factory=_Own)
    _lock: _Lock = field(default_factory=_Lock)

    @classmethod
    def of(cls, module: nn.Module) -> "Skeleton":
        """The copy of a module; tensors that it computed and keeps become leaves: the look finds those that are used.

        Raises:
            InputError: for an attribute that cannot be copied.
        """
        copies: dict[int, Any] = {}
        for name, value in [*module.named_parameters(), *lent_buffers(module)]:
            copies[id(value)] = _placeholder(name, value)
        copies |= {id(value): value.detach().clone() for value in _sparse(module)}  # torch copies not all of them
        for part in module.modules():
            for value in _tensors(vars(part), set()):
                if value.grad_fn is not None:
                    copies.setdefault(id(value), value.detach().clone().requires_grad_())
        try:
            return cls(copy.deepcopy(module, dict(copies)))
        except Exception as error:
            raise InputError(f"the module cannot be copied{_culprit(module, copies)}: {short(error)}") from error

    def own(self) -> tuple[nn.Module, Bystanders]:
        """This thread's copy, which is made outside of ``vmap`` and the like, with what it may write to."""
        if self._own.copied is None:
            with self._lock.held:
                copied = copy.deepcopy(self.module, {id(value): value for value in _sparse(self.module)})
            self._own.copied = copied, Bystanders.of(copied)
        return self._own.copied

    def run(self, values: dict[str, Tensor], job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)`` while the module holds ``values``. What it sets meanwhile is forgotten.

        That is what it sets on itself, and what its hooks write to the reader's own lists and dictionaries. A module
        that does so is run by one thread at a time.
        """
        module, bystanders = self.own()
        lent = {f"held.{name}": value for name, value in values.items()}
        with self._lock.held if bystanders.shared else contextlib.nullcontext(), bystanders.kept():
            return functional_call(_Holder(module), lent, (job,))


def lent_buffers(module: nn.Module) -> list[tuple[str, Tensor]]:
    """The buffers that are lent to a skeleton; sparse ones, which torch cannot stack, stay in it."""
    return [(name, value) for name, value in module.named_buffers() if value.layout == torch.strided]


def _sparse(module: nn.Module) -> list[Tensor]:
    return [value for value in module.buffers() if value.layout != torch.strided]


def _placeholder(name: str, value: Tensor) -> Tensor:
    if is_lazy(value):
        raise InputError(f"the module's {name} has no shape yet: call the module once on a few points first")
    empty = torch.empty_like(value, device="meta", requires_grad=False)
    return nn.Parameter(empty, requires_grad=value.requires_grad) if isinstance(value, nn.Parameter) else empty


def _tensors(values: Any, seen: set[int]) -> Iterator[Tensor]:
    """The tensors among attributes, also those in containers and objects, and of those that hooks are methods of."""
    if id(values) in seen:
        return
    seen.add(id(values))
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, dict):
        for value in list(values.values()):
            yield from _tensors(value, seen)
    elif isinstance(values, (list, tuple, set, collections.deque)):
        for value in list(values):
            yield from _tensors(value, seen)
    elif isinstance(values, types.MethodType):
        yield from _tensors(values.__self__, seen)
    elif not isinstance(values, nn.Module | type | types.ModuleType | types.FunctionType):
        yield from _tensors(getattr(values, "__dict__", {}), seen)


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


class _Differentiable:
    """Settings of the whole process, in force while at least one thread needs them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.settings = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.users:
                self._set()
            self.users += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.settings.close()

    def _set(self) -> None:
        fast = torch.backends.mha.get_fastpath_enabled()
        self.settings.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message="There is a performance drop")
        warnings.filterwarnings("ignore", message=r"`torch\.jit\.")  # its kind differs between versions
        self.settings.enter_context(sdpa_kernel(SDPBackend.MATH))
        self.settings.callback(torch.backends.mha.set_fastpath_enabled, fast)
        torch.backends.mha.set_fastpath_enabled(False)


_DIFFERENTIABLE = _Differentiable()


def differentiable() -> _Differentiable:
    """Attention in the form that every derivative is known of, and without torch's remarks on its own workings."""
    return _DIFFERENTIABLE


@dataclass(frozen=True)
class Realisation:
    """One network: a module's copy with its parameters and buffers.

    Attributes:
        skeleton: the copy.
        names: of the trained parameters.
        tensors: the trained parameters.
        fixed: the other parameters and the buffers, by name.
        form: of its points and outputs, where these are not a tensor and one number each.
    """

    skeleton: Skeleton
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    fixed: dict[str, Tensor] = field(default_factory=dict)
    form: Form | None = None

    def run(self, tensors: Sequence[Tensor], job: Callable[[nn.Module], Given]) -> Given:
        """``job(module)`` at trained parameters ``tensors``."""
        return self.skeleton.run(dict(zip(self.names, tensors)) | self.fixed, job)

    def outputs(self, tensors: Sequence[Tensor], x: Tensor) -> Tensor:
        """The outputs ``(p,)`` at points ``x (p, ...)``."""
        if self.skeleton.differentiates and not torch.is_grad_enabled():
            with torch.enable_grad():
                return self.run(tensors, lambda module: self.called(module, x)).detach()
        return self.run(tensors, lambda module: self.called(module, x))

    def called(self, module: nn.Module, x: Tensor) -> Tensor:
        """The outputs ``(p,)`` of the module that :meth:`run` gives a job."""
        if len(x) == 1 and self.skeleton.pairs:
            return self.called(module, torch.cat([x, x]))[:1]
        try:
            outputs = (self.form or PLAIN).outputs(module, x.clone())  # it may change its points in place
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            kind = f"{tuple(x.shape[1:])} in {str(x.dtype).removeprefix('torch.')}"
            why = short(error) + self._another_precision(module)
            raise InputError(f"the module cannot take points of shape {kind}: {why}") from error
        if not isinstance(outputs, Tensor) or outputs.numel() != len(x) or outputs.shape[:1] not in ((len(x),), ()):
            got = str(tuple(outputs.shape)) if isinstance(outputs, Tensor) else f"a {type(outputs).__name__}"
            raise InputError(f"the module must give one number a point, it gives {got} for {len(x)} points")
        if not outputs.is_floating_point() or outputs.layout != torch.strided:
            got = str(outputs.dtype if outputs.layout == torch.strided else outputs.layout)
            raise InputError(f"the module must give dense real floating-point numbers, it gives {got}")
        return outputs.reshape(len(x))

    def _another_precision(self, module: nn.Module) -> str:
        """The attributes that are no buffers and stay in their precision, for a message."""
        mine = self.tensors[0].dtype
        others = []
        for name, part in module.named_modules():
            for key, value in vars(part).items():
                if isinstance(value, Tensor) and value.is_floating_point() and value.dtype != mine:
                    others.append(f"{name}.{key}" if name else key)
        if not others:
            return ""
        return f" (its {others[0]} is no buffer and stays in another precision than {mine}: call register_buffer)"

    def graph(self, x: Tensor) -> Graph:
        """Leaves and outputs ``(p,)`` for backward passes."""
        with torch.enable_grad():
            leaves = [tensor.detach().requires_grad_() for tensor in self.tensors]
            return Graph(leaves, self.whole(x).outputs(leaves, x), x)

    def whole(self, x: Tensor) -> "Realisation":
        """The same network, which calls the module once a point where ``x`` holds all pairs of points and outputs."""
        form = self.form or PLAIN
        if not form.classes or len(x) % form.classes:
            return self
        pairs = x.unflatten(0, (-1, form.classes))
        first = pairs[:, :1].repeat(1, form.classes, 1)
        first[..., -1] = torch.arange(form.classes, device=x.device)
        return replace(self, form=replace(form, whole=True)) if torch.equal(pairs, first) else self

    def pull(self, graph: Graph, v: Tensor) -> list[Tensor]:
        """``Jᵀ v`` for ``v (p,)``: a backward pass, while the module holds the leaves, for what it computes again."""
        try:
            return self._pulled(self.graph(graph.x) if self.skeleton.once else graph, v)
        except (torch.OutOfMemoryError, InputError):
            raise
        except Exception as error:
            if "donated" in str(error) and not self.skeleton.once:  # buffers of a compiled module
                self.skeleton.once = True
                return self.pull(graph, v)
            raise InputError(f"the module has no backward pass: {short(error)}") from error

    def _pulled(self, graph: Graph, v: Tensor) -> list[Tensor]:
        leaves, outputs, _ = graph
        if not outputs.requires_grad:
            return [torch.zeros_like(leaf) for leaf in leaves]

        def job(_: nn.Module) -> list[Tensor]:
            # reentrant checkpoints know no grad()
            torch.autograd.backward(outputs, v.to(outputs), retain_graph=not self.skeleton.once)
            return [torch.zeros_like(leaf) if leaf.grad is None else leaf.grad.to_dense() for leaf in leaves]

        try:
            with torch.enable_grad():
                return self.run(leaves, job)
        finally:  # a pass adds to what it finds
            for leaf in leaves:
                leaf.grad = None

    def push(self, x: Tensor, w: Sequence[Tensor]) -> Tensor | None:
        """``J w (p,)`` by forward differentiation, or ``None`` where it cannot be had so; not certified."""
        if "forward" in self.skeleton.slow:
            return None
        self.skeleton.own()
        try:
            with differentiable():
                pushed = jvp(lambda *tensors: self.outputs(tensors, x), self.tensors, tuple(w))[1]
        except torch.OutOfMemoryError:
            raise
        except Exception:  # of whatever kind: the slow way works
            self.skeleton.slow.add("forward")
            return None
        # forward derivatives are NaN where a root is 0 by a cut, backward ones are not
        return None if bool(pushed.isnan().any()) else pushed

    def pushes(self, graph: Graph) -> bool:
        """Whether forward differentiation has the ``J`` of the backward pass, at the points of a graph.

        ``u·(J w)`` must be ``(Jᵀ u)·w`` for random ``u`` and ``w``.
        """
        w = [normal(tensor.shape, seed, tensor) for seed, tensor in enumerate(self.tensors)]
        pushed = self.push(graph.x, w)
        if pushed is None:
            return False
        u = weights(pushed.abs())
        forth = (u * pushed).double()
        back = float(total((g.double() * t.double()).sum() for g, t in zip(self.pull(graph, u), w)))
        agrees = abs(float(forth.sum()) - back) <= tolerance(pushed) * float(forth.norm())
        if not agrees:
            self.skeleton.slow.add("forward")
        return agrees

    def rows(self, x: Tensor, *, certified: Tensor | None = None) -> list[Tensor]:
        """The gradients of single points, one tensor ``(p, ...)`` a parameter, made together.

        They are certified by a backward pass. At a kink two ways round to two sides, and both are right: the rows of a
        few points that differ are taken from single backward passes.

        Args:
            x: points ``(p, ...)``.
            certified: which of them have been found equal before, and need not be compared; noted here.
        """
        if len(x) > 1 and "vmap" not in self.skeleton.slow:
            rows = self._vmapped(x)
            if rows is not None and certified is not None and bool(certified.all()):
                return rows
            wrong = None if rows is None else self._wrong(rows, x)
            if rows is not None and wrong is not None:
                if certified is not None:
                    certified[:] = True
                    certified[wrong] = False
                return _put(rows, wrong, self.backwards(x[wrong])) if wrong else rows
            self.skeleton.slow.add("vmap")
        return self.backwards(x)

    def _wrong(self, rows: list[Tensor], x: Tensor) -> list[int] | None:
        """The few rows that no backward pass certifies, found by halves; ``None`` where they are more than a few."""
        wrong: list[int] = []
        waiting = [slice(0, len(x))]
        try:
            while waiting:
                part = waiting.pop()
                if self._are([row[part] for row in rows], x[part]):
                    continue
                middle = (part.start + part.stop) // 2
                if middle == part.start:
                    wrong.append(part.start)
                    if len(wrong) > max(1, len(x) // FEW):
                        return None
                else:
                    waiting += [slice(middle, part.stop), slice(part.start, middle)]
        except InputError:  # a module that takes its points only one by one
            return None
        return wrong

    def _are(self, rows: list[Tensor], x: Tensor) -> bool:
        """Whether ``Σ u J`` over rows is the ``Jᵀ u`` of a backward pass, for random ``u``."""
        flat = [row.reshape(len(x), -1) for row in rows]
        u = weights(torch.stack([part.norm(dim=1) for part in flat]).norm(dim=0))
        expected = self.pull(self.graph(x), u)
        return same([u @ part for part in flat], [gradient.flatten() for gradient in expected])

    def separates(self, x: Tensor, outputs: Tensor) -> bool:
        """Whether the outputs of points in a batch are those of each alone; no, too, where ``vmap`` cannot tell."""

        def alone(point: Tensor) -> Tensor:
            return self.outputs(self.tensors, point.unsqueeze(0)).squeeze(0)

        self.skeleton.own()
        try:
            with torch.no_grad(), differentiable():
                return same([vmap(alone)(x)], [outputs])
        except torch.OutOfMemoryError:
            raise
        except Exception:  # of whatever kind: the slow way works
            return False

    def _vmapped(self, x: Tensor) -> list[Tensor] | None:
        whole = self.whole(x)
        if whole is not self and "whole" not in self.skeleton.slow:
            pairs = x.unflatten(0, (-1, cast(Form, whole.form).classes))
            if (rows := self._mapped(jacrev(whole.outputs), pairs)) is not None:
                return [row.flatten(0, 1) for row in rows]
            self.skeleton.slow.add("whole")

        def output(tensors: list[Tensor], point: Tensor) -> Tensor:
            return self.outputs(tensors, point.unsqueeze(0)).squeeze(0)

        return self._mapped(grad(output), x)

    def _mapped(self, gradients: Callable[..., list[Tensor]], x: Tensor) -> list[Tensor] | None:
        """Gradients by the parameters at each of ``x``, together, or ``None`` where they cannot be had so."""
        self.skeleton.own()
        try:
            with differentiable():
                return vmap(gradients, (None, 0))(list(self.tensors), x)
        except torch.OutOfMemoryError:
            raise
        except Exception:  # of whatever kind: the slow way works
            return None

    def backwards(self, x: Tensor) -> list[Tensor]:
        """:meth:`rows` by a forward and a backward pass for each point."""
        unit = x.new_ones(1, dtype=self.tensors[0].dtype)
        rows = [self.pull(self.graph(point.unsqueeze(0)), unit) for point in x]
        return [torch.stack(gradients) for gradients in zip(*rows)]

    def at(self, tensors: Sequence[Tensor]) -> "Realisation":
        """The same network at other trained parameters."""
        return replace(self, tensors=tuple(tensors))


def _put(rows: list[Tensor], places: list[int], others: list[Tensor]) -> list[Tensor]:
    """``rows`` with others at some places."""
    for row, other in zip(rows, others):
        row[places] = other
    return rows


def normal(shape: Sequence[int], seed: int, like: Tensor) -> Tensor:
    """Random normal numbers of a seed, in the precision and on the device of a tensor."""
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(like)


def weights(sizes: Tensor) -> Tensor:
    """Random ``u (p,)`` that give rows of these sizes like weight, and none hardly any: a small one shows, too."""
    drawn = normal(sizes.shape, 0, sizes)
    drawn = drawn + drawn.sign()
    largest = sizes.nan_to_num(posinf=0.0).amax()
    small = sizes.nan_to_num(posinf=0.0).clamp(min=float(largest) * SMALLEST)
    return drawn / small if largest > 0 else drawn


def tolerance(*tensors: Tensor) -> float:
    """The relative difference that rounding may make: three times the root of the precision."""
    return 3 * max(map(_precision, tensors)) ** 0.5


def _precision(tensor: Tensor) -> float:
    rounds = tensor.is_cuda and tensor.dtype == torch.float32 and torch.backends.cudnn.allow_tf32
    return ROUGH if rounds else torch.finfo(tensor.dtype).eps


def same(found: Sequence[Tensor], expected: Sequence[Tensor], scale: float = 0.0) -> bool:
    """Whether tensors agree, all together, up to rounding: the root of the precision, of their norm or a ``scale``."""
    if any(not torch.equal(a.isnan(), b.isnan()) for a, b in zip(found, expected)):
        return False
    found = [tensor.nan_to_num() for tensor in found]
    expected = [tensor.nan_to_num() for tensor in expected]
    difference = _norm([a.double() - b.double() for a, b in zip(found, expected)])
    # a difference of NaN agrees
    return not difference > tolerance(*found, *expected) * max(_norm(found), _norm(expected), scale)


def _norm(tensors: Sequence[Tensor]) -> float:
    """The norm of several tensors together, in float64."""
    return float(torch.stack([tensor.double().norm() for tensor in tensors]).norm())
