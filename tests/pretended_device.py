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
        there = any(isinstance(one, Pretended) for one in _tensors([args, kwargs]))
        if there and func in PLACES:
            return PLACES[func]
        masked = func is Tensor.__getitem__ and any(one.dtype == torch.bool for one in _tensors(args[1:]))
        self.waits += there and (func in WAITS or masked)
        if there and func in ARRAYS:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")
        if there and func is not Tensor.copy_:
            _check(func, args, kwargs)
        place, args, kwargs = _placed(func, args, kwargs, GPU if there and func not in READS else CPU)
        return _each(_there if place.type == "cuda" else _here, func(*args, **kwargs))


def _tensors(found: Any) -> Iterator[Tensor]:
    """The tensors among arguments."""
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, (tuple, list)):
        for one in found:
            yield from _tensors(one)
    elif isinstance(found, dict):
        yield from _tensors(list(found.values()))


def _each(change: Callable[[Tensor], Tensor], found: Any) -> Any:
    """A result with each of its tensors changed."""
    if isinstance(found, Tensor):
        return change(found)
    if isinstance(found, (tuple, list)) and not isinstance(found, torch.Size):
        return type(found)([_each(change, one) for one in found])
    return found


def _check(func: Any, args: Any, kwargs: Any) -> None:
    """Raises where arrays of both devices are among the arguments."""
    asked = [args[0], kwargs] if func in INDEXED and isinstance(args[0], Pretended) else [args, kwargs]
    tensors = list(_tensors(asked))
    here = [one for one in tensors if not isinstance(one, Pretended)]
    if func is Tensor.to and len(here) < len(tensors):  # the second tensor only says where to
        return
    if func is Tensor.__setitem__ and isinstance(args[0], Pretended):
        here = [one for one in here if not any(one is index for index in _tensors(args[1]))]
    if any(one.ndim or func in JOINS for one in here):
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
    moved = [CPU if isinstance(one, (str, torch.device)) and str(one).startswith("cuda") else one for one in args]
    if isinstance(kwargs.get("device"), (str, torch.device)):
        kwargs = kwargs | {"device": CPU}
    return place, moved, kwargs


def _there(value: Tensor) -> Tensor:
    return value if isinstance(value, Pretended) else value.as_subclass(Pretended)


def _here(value: Tensor) -> Tensor:
    return value.as_subclass(Tensor) if isinstance(value, Pretended) else value


@contextlib.contextmanager
def pretended_gpu() -> Iterator[_Pretence]:
    """Within it, this machine says that it has CUDA; gives what counts in ``waits`` how often the GPU is read."""
    with pytest.MonkeyPatch.context() as patch, _Pretence() as pretence:
        patch.delenv("REGIMES_DEVICE", raising=False)
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "device_count", lambda: 1)
        patch.setattr(torch.cuda, "get_device_name", lambda device=None: "a pretended GPU")
        patch.setattr(torch.cuda, "mem_get_info", lambda device=None: (2**36, 2**36))
        yield pretence
