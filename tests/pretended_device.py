"""A GPU that is not there: tensors of the CPU that say they are on CUDA, and refuse to meet others.

Within :func:`pretended_gpu`, ``devices.pick`` gives ``cuda``. What is made or moved there is a :class:`Pretended`
tensor, and so is what is computed from one. As on a real GPU, an operation on arrays of both devices raises, and so
does ``numpy()``; numbers without axes may meet any device, a CPU index may pick from a GPU array, and ``item()``,
``tolist()`` and ``cpu()`` read. Stricter than a real one: assigning an array of the CPU to a part of one on the GPU
raises, too, for it would be a copy that nobody asked for. The arithmetic is the CPU's, so that numbers can be compared.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from regimes import devices
from regimes.models import realisation
from regimes.training.gradient_flow import pairs

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")
INDEXED = (Tensor.__getitem__,)  # the index may be on the CPU
READS = (Tensor.cpu, Tensor.item, Tensor.tolist, Tensor.__repr__, Tensor.__format__)
WAITS = (*READS, Tensor.__bool__, Tensor.__int__, Tensor.__float__, Tensor.nonzero, torch.nonzero, Tensor.unique)
ARRAYS = (Tensor.numpy, Tensor.__array__, Tensor.data_ptr)
PLACES = {Tensor.device.__get__: GPU, Tensor.is_cuda.__get__: True, Tensor.is_cpu.__get__: False}
JOINS = (torch.cat, torch.stack, torch.concatenate, torch.hstack, torch.vstack)  # these take no number for an array


class MixedDevices(RuntimeError):
    """Arrays of the CPU and of the pretended GPU have met."""


class Pretended(Tensor):
    """A tensor of the CPU that stands for one on the GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class _Pretence(TorchFunctionMode):
    """Decides for every function of torch where its result lives; counts those for which the CPU waits for the GPU."""

    def __init__(self):
        super().__init__()
        self.waits = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.device:
            return func(*args, **kwargs)
        has_pretended = any(isinstance(tensor, Pretended) for tensor in _tensors([args, kwargs]))
        if has_pretended and func in PLACES:
            return PLACES[func]
        masked = func is Tensor.__getitem__ and any(tensor.dtype == torch.bool for tensor in _tensors(args[1:]))
        self.waits += has_pretended and (func in WAITS or masked)
        if has_pretended and func in ARRAYS:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")
        if has_pretended and func is not Tensor.copy_:
            _check(func, args, kwargs)
        place, args, kwargs = _placed(func, args, kwargs, GPU if has_pretended and func not in READS else CPU)
        return _each(_on_gpu if place.type == "cuda" else _on_cpu, func(*args, **kwargs))


def _tensors(arguments: Any) -> Iterator[Tensor]:
    """The tensors among arguments."""
    if isinstance(arguments, Tensor):
        yield arguments
    elif isinstance(arguments, (tuple, list)):
        for argument in arguments:
            yield from _tensors(argument)
    elif isinstance(arguments, dict):
        yield from _tensors(list(arguments.values()))


def _each(change: Callable[[Tensor], Tensor], result: Any) -> Any:
    """A result with each of its tensors changed."""
    if isinstance(result, Tensor):
        return change(result)
    if isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        return type(result)([_each(change, entry) for entry in result])
    return result


def _check(func: Any, args: Any, kwargs: Any) -> None:
    """Raises where arrays of both devices are among the arguments."""
    asked = [args[0], kwargs] if func in INDEXED and isinstance(args[0], Pretended) else [args, kwargs]
    tensors = list(_tensors(asked))
    on_cpu = [tensor for tensor in tensors if not isinstance(tensor, Pretended)]
    if func is Tensor.to and len(on_cpu) < len(tensors):  # the second tensor only says where to
        return
    if func is Tensor.__setitem__ and isinstance(args[0], Pretended):
        on_cpu = [tensor for tensor in on_cpu if not any(tensor is index for index in _tensors(args[1]))]
    if any(tensor.ndim or func in JOINS for tensor in on_cpu):
        name = getattr(func, "__name__", str(func))
        raise MixedDevices(f"expected all tensors on one device, {name} got cuda:0 and cpu")


def _placed(func: Any, args: Any, kwargs: Any, place: torch.device) -> tuple[torch.device, Any, Any]:
    """Where a function's result lives, and its arguments with the CPU in place of the GPU."""
    if func is Tensor.to and len(args) > 1 and isinstance(args[1], Tensor):
        place = GPU if isinstance(args[1], Pretended) else CPU
    named = [kwargs.get("device"), *(args[1:2] if func is Tensor.to else ())]
    for device in named:
        if isinstance(device, (str, torch.device)):
            place = torch.device(device)
    moved = [
        CPU if isinstance(argument, (str, torch.device)) and str(argument).startswith("cuda") else argument
        for argument in args
    ]
    if isinstance(kwargs.get("device"), (str, torch.device)):
        kwargs = kwargs | {"device": CPU}
    return place, moved, kwargs


def _on_gpu(value: Tensor) -> Tensor:
    return value if isinstance(value, Pretended) else value.as_subclass(Pretended)


def _on_cpu(value: Tensor) -> Tensor:
    return value.as_subclass(Tensor) if isinstance(value, Pretended) else value


def _vmap(function: Callable[..., Any], *dims: Any) -> Callable[..., Any]:
    """As torch's, which no mode sees: its results live where its arguments do."""
    mapped = torch.func.vmap(function, *dims)

    def run(*args: Any) -> Any:
        has_pretended = any(isinstance(tensor, Pretended) for tensor in _tensors(args))
        return _each(_on_gpu if has_pretended else _on_cpu, mapped(*args))

    return run


@contextlib.contextmanager
def pretended_gpu() -> Iterator[_Pretence]:
    """Within it, this machine says that it has CUDA; gives what counts in ``waits`` how often the GPU is read."""
    with pytest.MonkeyPatch.context() as patch, _Pretence() as pretence:
        patch.delenv("REGIMES_DEVICE", raising=False)
        patch.setattr(pairs, "kernels", lambda device: None)  # which a real one runs
        patch.setattr(devices, "WORTH", 0)
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "device_count", lambda: 1)
        patch.setattr(torch.cuda, "get_device_name", lambda device=None: "a pretended GPU")
        # its generator is the CPU's
        patch.setattr(torch.cuda, "get_rng_state", lambda device=None: torch.get_rng_state())
        patch.setattr(torch.cuda, "set_rng_state", lambda state, device=None: None)
        patch.setattr(realisation, "vmap", _vmap)
        patch.setattr(torch.cuda, "mem_get_info", lambda device=None: (2**36, 2**36))
        yield pretence
