"""A look at a torch module when it is first used: whether it is a function of each point with derivatives.

It takes two of the caller's points and a handful of passes, a forward pass of many points together, and some of these
alone. Points, parameters and random numbers stay as they are.
"""

import contextlib
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regimes.models import WORK
from regimes.models.realisation import PLAIN, Graph, Realisation, same
from regimes.validate import InputError

MEMORY = 2**24  # bytes of the points of the first batch that are computed together
ALONE = 16  # of them are computed alone, too
_LOOKING = threading.RLock()


@torch.inference_mode(False)
def look(network: Realisation, x: Tensor) -> None:
    """Refuses, in one line, a module whose kernel would be a wrong number.

    Args:
        network: one; its skeleton notes how many numbers a forward pass keeps, and that it was looked at.
        x: points ``(p, ...)``.

    Raises:
        InputError: for a module that draws random numbers, changes its parameters or buffers, gives two outputs for
            the same points, lets a point depend on the others of its batch, or has no derivatives by its parameters.
    """
    with _LOOKING:  # the generators of random numbers are the process's
        if not network.skeleton.looked:
            _look(network, x)


def _look(network: Realisation, x: Tensor) -> None:
    few = x[[0, -1]] if len(x) > 1 else x.clone()
    fixed = {name: value.detach().clone() for name, value in network.fixed.items()}
    tensors = tuple(tensor.detach().clone() for tensor in network.tensors)
    copied = replace(network, tensors=tensors, fixed=fixed)
    copied.skeleton.own()
    with _same_chance(x.device) as drawn:
        with _Named():
            copied.graph(few)
        _count(copied, few)
        graph = copied.graph(few)
        outputs = graph.outputs
        _needs_rest(network, copied, drawn())
        repeated = copied.graph(few).outputs
        if not torch.allclose(outputs, repeated, rtol=1e-6, atol=0.0, equal_nan=True):
            raise InputError("the module gives two outputs for the same points: something in it changes at each call")
        _needs_own_leaves(graph, (network.form or PLAIN).parts(few))
        if not outputs.requires_grad:
            hint = "forward runs under torch.no_grad, detaches or rounds"
            raise InputError(f"the module's output has no derivative by {_some(network.names)}: {hint}")
        v = torch.arange(1.0, len(few) + 1).to(outputs)
        pulled = copied.pull(graph, v)
        scale = _needs_separate(copied, few, v, outputs.detach(), pulled)
        _needs_separate_all(copied, x.detach(), scale)
        if not any(bool(gradient.any()) for gradient in pulled):
            _needs_slope(copied, few)
    network.skeleton.looked = len(x) > 1  # a single point says nothing about batches


@torch.inference_mode(False)
def count_outputs(network: Realisation, x: Tensor) -> int:
    """How many numbers a module gives for a point, out of ``x (p, ...)``; 1 where it fails: a look says why."""
    few = x[:2].detach()

    def numbers(module: Any) -> Any:
        return (network.form or PLAIN).outputs(module, few.clone())

    with _LOOKING, _same_chance(x.device), torch.enable_grad(), contextlib.suppress(Exception):
        given = network.run(network.tensors, numbers)
        if isinstance(given, Tensor) and given.ndim > 1 and len(given) == len(few):
            return given[0].numel()
    return 1


class _Named(TorchFunctionMode):
    """Refuses numbers that are nowhere: those of a parameter that a module also keeps under another name."""

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = kwargs or {}
        given = (*args, *options.values())
        if any(isinstance(value, Tensor) and value.is_meta for value in given):
            raise InputError("the module uses one of its parameters under another name than in named_parameters()")
        return function(*args, **options)


@contextlib.contextmanager
def _same_chance(device: torch.device) -> Iterator[Callable[[], bool]]:
    """Restores the generators of random numbers; gives a function that says whether one of them has moved."""
    before = _states(device)
    numpy = np.random.get_state()  # noqa: NPY002
    python = random.getstate()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield lambda: _states(device) != before
        finally:
            np.random.set_state(numpy)  # noqa: NPY002
            random.setstate(python)


def _states(device: torch.device) -> bytes:
    """The state of all generators that a module may draw from without one of its own."""
    cuda = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    bits = [state.numpy().tobytes() for state in (torch.get_rng_state(), *cuda)]
    return pickle.dumps((bits, np.random.get_state(), random.getstate()))  # noqa: NPY002


def _count(network: Realisation, few: Tensor) -> None:
    """Notes how many numbers the backward pass needs of each point."""
    registered = {tensor.untyped_storage().data_ptr() for tensor in (*network.tensors, *network.fixed.values())}
    saved: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage() if tensor.layout == torch.strided else None
        if storage is not None and storage.data_ptr() not in registered:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # an operation that saved its own result would keep itself alive

    # torch.func inside of the module takes no such hooks
    with contextlib.suppress(InputError), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        network.graph(few)
        network.skeleton.activations = sum(saved.values()) // (len(few) * network.tensors[0].element_size())


def _needs_rest(network: Realisation, copied: Realisation, drawn: bool) -> None:
    """Checks that a forward pass drew nothing and left parameters and buffers as they were."""
    if drawn:
        raise InputError("the module draws random numbers in its forward: call .eval() first, or fix what it draws")
    before = dict(zip(network.names, network.tensors)) | network.fixed
    after = dict(zip(copied.names, copied.tensors)) | copied.fixed
    for name, value in before.items():
        if not torch.equal(_filled(value), _filled(after[name])):
            raise InputError(f"the module changes its own {name} in its forward: call .eval() first")


def _filled(value: Tensor) -> Tensor:
    return value.nan_to_num() if value.is_floating_point() else value


def _needs_own_leaves(graph: Graph, points: list[Tensor]) -> None:
    """Checks that the output's graph ends at the parameters, not at tensors that the module does not register.

    It may end at the points, too, where the module takes its own derivative by them, as a force of an energy.
    """
    leaves, outputs, _ = graph
    registered = {id(leaf) for leaf in leaves}
    seen = set()
    waiting = [outputs.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting.extend(after for after, _ in node.next_functions)
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in registered and not any(_equal(leaf, part) for part in points):
            remedy = "register it (nn.Parameter, nn.ModuleList), compute it in forward or detach it"
            shape = tuple(leaf.shape)
            raise InputError(f"the module uses a tensor of shape {shape} outside of its named_parameters: {remedy}")


def _equal(a: Tensor, b: Tensor) -> bool:
    return (a.dtype, a.device) == (b.dtype, b.device) and torch.equal(_filled(a), _filled(b))


def _needs_separate(network: Realisation, few: Tensor, v: Tensor, outputs: Tensor, pulled: list[Tensor]) -> float:
    """Checks that two points give alone what they give in their batch, outputs and derivatives; gives their scale.

    A module that takes no batch of one, as with a ``squeeze``, may give it for a point beside itself, if it gives the
    same in a batch of three.
    """
    terms = [(tensor.double() * gradient.double()).norm() for tensor, gradient in zip(network.tensors, pulled)]
    scale = float(torch.stack(terms).norm())  # of the output's terms, where they cancel
    try:
        alone, summed = _alone(network, few, v)
        if same([outputs], [alone], scale) and same(pulled, summed):
            return scale
        wrong = _differing(outputs, alone, scale)
    except InputError as error:
        wrong = error
    network.skeleton.pairs = True
    with contextlib.suppress(InputError):
        alone, summed = _alone(network, few, v)
        three = network.outputs(network.tensors, torch.cat([few, few[:1]]))[: len(few)]
        if same([outputs], [alone], scale) and same([outputs], [three], scale) and same(pulled, summed):
            return scale
    network.skeleton.pairs = False
    raise wrong


def _alone(network: Realisation, few: Tensor, v: Tensor) -> tuple[Tensor, list[Tensor]]:
    """The outputs of single points, and the sum of their gradients with weights ``v``."""
    graphs = [network.graph(point.unsqueeze(0)) for point in few]
    outputs = torch.cat([graph.outputs.detach() for graph in graphs])
    rows = [network.pull(graph, weight[None]) for graph, weight in zip(graphs, v)]
    summed = [torch.stack(gradients).sum(0) for gradients in zip(*rows)]
    return outputs, summed


@torch.no_grad()
def _needs_separate_all(network: Realisation, x: Tensor, scale: float) -> None:
    """Checks that many points give together what some of them give alone: they may take another branch than two do."""
    point_bytes = max(1, WORK * network.skeleton.activations * network.tensors[0].element_size())
    x = x[_spread(len(x), max(2, MEMORY // point_bytes))]
    try:
        network.outputs(network.tensors, x[:1])
    except InputError:  # it was a function of these points when derivatives were on
        network.skeleton.differentiates = True
    some = _spread(len(x), ALONE)
    together = network.outputs(network.tensors, x)[some]
    alone = torch.cat([network.outputs(network.tensors, x[row : row + 1]) for row in some.tolist()])
    if not same([together], [alone], scale):
        raise _differing(together, alone, scale)


def _spread(count: int, limit: int) -> Tensor:
    """At most ``limit`` of ``count`` places, from the first to the last."""
    return torch.linspace(0, count - 1, min(count, limit)).long()


def _differing(outputs: Tensor, alone: Tensor, scale: float) -> InputError:
    worst = (outputs - alone).abs().argmax()
    words = f"gives {float(outputs[worst]):.6g} for a point in a batch, {float(alone[worst]):.6g}"
    if same([outputs], [alone], scale):
        words = "has other derivatives at a point in a batch than"
    hint = "is batch_first missing, a mean over the batch taken, or autocast on inside?"
    return InputError(f"the module {words} without the others: a point must not depend on the others ({hint})")


def _needs_slope(network: Realisation, few: Tensor) -> None:
    """Checks that derivatives that are all zero, as of dead neurons, are not so at other parameters and points, too."""
    generator = torch.Generator().manual_seed(0)

    def drawn(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, dtype=torch.float64).to(like)

    for _ in range(3):
        moved = network.at([drawn(tensor) for tensor in network.tensors])
        x = few + drawn(few) if few.is_floating_point() else few
        try:
            graph = moved.graph(x)
        except InputError:  # outside of its domain
            return
        if any(bool(gradient.any()) for gradient in moved.pull(graph, torch.ones_like(graph.outputs))):
            return
    hint = "is the output rounded, a sign or an argmax?"
    raise InputError(
        f"the module's output has zero derivatives by {_some(network.names)} wherever it was tried: {hint}"
    )


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
