"""Checks of input: one clear line before any computing.

Every check raises ``InputError``, whose message names the parameter, the value given and the values allowed. Command
lines print it and exit with code 2.
"""

import contextlib
import math
import operator
import os
import re
import reprlib
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

_ASKED: ContextVar[list[tuple[int, str, Any]] | None] = ContextVar("asked", default=None)
# the files of a control group, of version 2 and 1: what it may use, what it uses, and of that what was read from files
_GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


class InputError(ValueError):
    """Invalid input: the parameter, the value given and the values allowed, in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(re.sub(r"\s*\n\s*", " ", message))  # an array is shown in several


_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 12
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 60


def shown(value: Any) -> str:
    """``repr(value)`` for a message, in one short line."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except ValueError:  # a whole number of more digits than Python prints
        return f"a {type(value).__name__} too long to print"


def _need(values: dict[str, Any], fits: Callable[[Any], bool], wanted: str) -> None:
    for name, value in values.items():
        if not fits(value):
            raise InputError(f"{name} must {wanted}, got {shown(value)}")


def number(**values: Any) -> None:
    """Each keyword's value must be a finite number, of any sign."""
    _need(values, is_number, "be a finite number")


def at_least(low: float, /, **values: Any) -> None:
    """Each keyword's value must be a finite number ``>= low``."""
    _need(values, lambda value: is_number(value) and value >= low, f"be a number of at least {low:g}")


def positive(**values: Any) -> None:
    """Each keyword's value must be a finite number ``> 0``."""
    _need(values, lambda value: is_number(value) and value > 0, "be a number above 0")


def between(low: float, high: float, /, **values: Any) -> None:
    """Each keyword's value must be a number from ``low`` to ``high``, both allowed."""
    _need(values, lambda value: is_number(value) and low <= value <= high, f"be a number from {low:g} to {high:g}")


def within(low: float, high: float, /, **values: Any) -> None:
    """Each keyword's value must lie strictly between ``low`` and ``high``."""
    _need(values, lambda value: is_number(value) and low < value < high, f"lie strictly between {low:g} and {high:g}")


def integer(low: int, /, **values: Any) -> None:
    """Each keyword's value must be a whole number ``>= low`` (``True`` is not a number)."""
    _need(values, lambda value: is_whole(value) and value >= low, f"be a whole number of at least {low}")


def whole(low: int, high: int, /, **values: Any) -> None:
    """Each keyword's value must be a whole number from ``low`` to ``high``, both allowed."""
    _need(values, lambda value: is_whole(value) and low <= value <= high, f"be a whole number from {low} to {high:.6g}")


def length(low: int, high: int, /, **values: Sequence[Any]) -> None:
    """Each keyword's value must hold from ``low`` to ``high`` values."""
    _need(values, lambda value: len(value) >= low, f"hold at least {low} value{'s' * (low != 1)}")
    for name, value in values.items():
        if len(value) > high:
            raise InputError(f"{name} must hold at most {high} values, got {len(value)}")


def distinct(**values: Sequence[Any]) -> None:
    """Each keyword's value must hold no value twice."""

    def fits(value: Sequence[Any]) -> bool:
        return all(item not in value[:place] for place, item in enumerate(value))

    _need(values, fits, "hold no value twice")


def increasing(**values: Sequence[float]) -> None:
    """Each keyword's value must be a strictly increasing, non-empty sequence of numbers."""

    def fits(value: Any) -> bool:
        numbers = list(value) if isinstance(value, Sequence) else []
        if not numbers or not all(map(is_number, numbers)):
            return False
        return all(before < after for before, after in zip(numbers, numbers[1:]))

    _need(values, fits, "be a strictly increasing list of numbers")


def one_of(allowed: Collection[Any], /, **values: Any) -> None:
    """Each keyword's value must be one of ``allowed``."""
    for name, value in values.items():
        if not _is_among(value, allowed):
            raise InputError(f"{name} must be one of {', '.join(map(str, allowed))}; got {shown(value)}")


def memory(needed: int, what: str, device: Any = "cpu") -> None:
    """``needed`` bytes for ``what`` must be free on ``device`` (torch device or its name) before they are asked for."""
    if (asked := _ASKED.get()) is not None:
        asked.append((needed, what, device))
        return
    free = free_memory(device)
    if needed > free:
        needed_gib, free_gib = needed / 2**30, free / 2**30
        raise InputError(f"{what} would take {needed} bytes ({needed_gib:.1f} GiB), but {free_gib:.1f} GiB are free")


@contextlib.contextmanager
def memory_asked() -> Iterator[list[tuple[int, str, Any]]]:
    """A context in which ``memory`` refuses nothing, and adds what it was given to the list."""
    asked: list[tuple[int, str, Any]] = []
    token = _ASKED.set(asked)
    try:
        yield asked
    finally:
        _ASKED.reset(token)


def free_memory(device: Any = "cpu") -> int:
    """Bytes that can be allocated on ``device`` now; on Linux within the container's limit."""
    if str(device).startswith("cuda"):
        import torch

        reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by torch, to use again
        return int(torch.cuda.mem_get_info(device)[0]) + reserved
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        free = int(meminfo.read_text().split("MemAvailable:")[1].split()[0]) * 1024
    return int(min(free, _free_in_container()))


def _free_in_container() -> float:
    """Bytes that a container's limit leaves; without one infinite. The kernel drops files that were read when asked."""
    for folder, limit, used, dropped in _GROUPS:
        group = Path(folder)
        if not (group / limit).exists() or not (group / used).exists():
            continue
        allowed = (group / limit).read_text().strip()
        if allowed == "max":
            continue
        statistics = (group / "memory.stat").read_text() if (group / "memory.stat").exists() else ""
        cache = dict(line.split() for line in statistics.splitlines()).get(dropped, 0)
        return max(0, int(allowed) - int((group / used).read_text()) + int(cache))
    return math.inf


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite real number; booleans, NaN, infinities and strings are not."""
    try:
        return not isinstance(value, (bool, str)) and hasattr(value, "__float__") and math.isfinite(float(value))
    except (TypeError, ValueError, RuntimeError, OverflowError):  # an array of several, or beyond float64
        return False


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number; booleans and arrays of several are not."""
    try:
        return not isinstance(value, bool) and operator.index(value) is not None
    except (TypeError, ValueError):
        return False


def _is_among(value: Any, allowed: Collection[Any]) -> bool:
    try:
        return value in allowed
    except (TypeError, ValueError, RuntimeError):  # a list among names, an array of several
        return False


def seeds(values: Any, *, count: int | None = None) -> None:
    """Seeds must be whole numbers from 0 on, at least one, or ``count`` of them if given."""
    try:
        given = list(values)
    except TypeError:
        raise InputError(f"each of seeds must be a whole number of at least 0, got {values!r}") from None
    if not given or not all(is_whole(seed) and seed >= 0 for seed in given):
        raise InputError(f"each of seeds must be a whole number of at least 0, at least one, got {values!r}")
    if count is not None and len(given) != count:
        raise InputError(f"seeds must be {count}, one a realisation, got {len(given)}")


def tensors(**given: tuple[str, Any]) -> "tuple[Tensor, ...]":
    """Each keyword's ``(shape, array)`` as a tensor of finite floating-point numbers, checked as by :func:`arrays`.

    This is the library's rule for what a reader hands in: a torch tensor is taken as it is, a NumPy array is copied
    into one of its precision on the CPU, anything else is refused.
    """
    converted = {name: (shape, tensor(name, value)) for name, (shape, value) in given.items()}
    arrays(**converted)
    return tuple(value for _, value in converted.values())


def tensor(name: str, value: Any) -> "Tensor":
    """A dense tensor of real numbers, from a tensor or a NumPy array; whole numbers stay whole, shapes are free."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        _needs_numbers(name, value)
        refused = value.is_inference() and not torch.is_inference_mode_enabled()
        return value.clone() if refused else value  # no gradient passes a tensor made in inference mode
    if type(value) is not np.ndarray:  # a masked array or a table would lose what it has beside its numbers
        raise InputError(f"{name} must be a torch tensor or a NumPy array of real numbers, got {_kind(value)}")
    if value.dtype.kind not in "fiub" or value.dtype.itemsize > 8:
        raise InputError(f"{name} must hold real numbers that torch has, up to float64, got {value.dtype}")
    # a copy in this machine's byte order: torch takes neither the other one nor a reversed view
    return torch.from_numpy(np.array(value, dtype=value.dtype.newbyteorder("="), order="C"))


def points(name: str, value: Any) -> "Tensor":
    """A model's inputs: as :func:`tensor`, not empty, and finite; whole numbers, such as tokens, stay whole."""
    array = tensor(name, value)
    if not array.numel() or not array.ndim:
        raise InputError(f"{name} must hold at least one point, got the shape {tuple(array.shape)}")
    if array.is_floating_point():
        arrays(**{name: ("...", array)})
    return array


def _needs_numbers(name: str, value: "Tensor") -> None:
    """Raises ``InputError`` for tensors without entries that can be read, or with complex ones."""
    import torch

    if value.is_nested or value.layout != torch.strided:
        kind = "a nested one" if value.is_nested else f"{value.layout}: pass {name}.to_dense()"
        raise InputError(f"{name} must be a dense tensor, got {kind}")
    if value.is_meta:
        raise InputError(f"{name} must hold numbers, got a tensor on the device meta, which has none")
    if value.is_complex() or value.is_quantized:
        raise InputError(f"{name} must hold real numbers, got {value.dtype}")


def _kind(value: Any) -> str:
    """What a value is, for a message: ``None``, a class, or a thing of some type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return "None" if value is None else f"a {type(value).__name__}"


def model(value: Any, name: str = "model") -> None:
    """``value`` must be a model of ``E`` realisations (:class:`regimes.models.Model`)."""
    if isinstance(value, type) or not all(hasattr(value, part) for part in ("names", "parameters", "tangents")):
        made = "regimes.module(...) makes one of a torch module"
        raise InputError(f"{name} must be a model of E realisations, got {_kind(value)}: {made}")


def arrays(**given: tuple[str, Any]) -> None:
    """Each keyword's ``(shape, array)`` must hold finite floating-point numbers in that shape; torch: of one dtype.

    The shape names the axes, as in ``"... n d"``: equal names are equal sizes in all the arrays, a number is a size,
    and ``...`` stands for any leading axes. No axis may be empty.
    """
    sizes: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for name, (shape, value) in given.items():
        kind = str(getattr(value, "dtype", ""))
        if kind.startswith("torch."):
            _needs_numbers(name, value)
        if not kind.removeprefix("torch.").startswith("float"):
            raise InputError(f"{name} must be an array ({shape}) of floating-point numbers, got {kind or repr(value)}")
        if not _fits(shape.split(), tuple(value.shape), sizes):
            axis_sizes = [f"{axis} = {sizes[axis]}" for axis in sizes if axis in shape.split()]
            given_sizes = f" with {', '.join(axis_sizes)}" if axis_sizes else ""
            is_all_numbers = shape.replace(" ", "").isdigit()
            wanted = shape.replace(" ", ", ") if is_all_numbers else shape
            raise InputError(f"{name} must have shape ({wanted}){given_sizes}, got {tuple(value.shape)}")
        if not _all_finite(value):
            raise InputError(f"{name} must hold finite numbers, got NaN or infinity among them")
        if kind.startswith("torch.") and kinds.setdefault("torch", kind) != kind:
            raise InputError(f"{name} must be {kinds['torch']} as the arrays before it, got {kind}")


def _fits(axes: list[str], shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    """Whether a shape fits the named axes; adds the sizes of new names."""
    if 0 in shape or (axes[:1] != ["..."] and len(axes) != len(shape)):
        return False
    named = [axis for axis in axes if axis != "..."]
    if len(shape) < len(named):
        return False
    trailing = shape[len(shape) - len(named) :]
    noted = dict(sizes)
    for axis, size in zip(named, trailing):
        wanted = int(axis) if axis.isdigit() else noted.setdefault(axis, size)
        if size != wanted:
            return False
    sizes.update(noted)
    return True


def _all_finite(value: Any) -> bool:
    """Whether all entries are finite, in one pass; a second one only if the sum overflows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if math.isfinite(float(value.sum())):
            return True
        return bool((value - value == 0).all())  # infinity less itself is not a number
