"""What a module's forward writes to beside its outputs, put back after a call.

Hooks keep activations in a dictionary of the reader's, forwards append to a list: a call by this library, under
``vmap`` or at other weights, must leave none of it behind. A copy of the module does not help, as a function is not
copied with what it refers to. So the lists, dictionaries, sets and objects that a module's functions can reach, by
closures, globals and attributes, are noted before a call and put back after it.
"""

import collections
import contextlib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

DEPTH = 3  # a list in a dictionary of an object
ENTRIES = 1000  # a longer list is noted by its length
FUNCTIONS = 200  # that call each other
KINDS = (dict, list, set, collections.deque, bytearray)
HOOKS = [name for name in vars(nn.Module()) if name.endswith("hooks") or name.endswith("pre_hooks")]
ITS_OWN = {*vars(nn.Module())}


@dataclass(frozen=True)
class Bystanders:
    """The state beside the parameters and buffers that a module's forward may change.

    Attributes:
        parts: the module's parts, whose attributes are their own.
        inside: containers among these attributes.
        functions: the reader's functions that a call may run.
    """

    parts: list[nn.Module]
    inside: list[Any]
    functions: list[types.FunctionType]

    @classmethod
    def of(cls, module: nn.Module) -> "Bystanders":
        """Those of a module."""
        parts = list(module.modules())
        inside: dict[int, Any] = {}
        functions: dict[int, types.FunctionType] = {}
        for part in parts:
            for key, value in vars(part).items():
                if key not in ITS_OWN:
                    _reach(value, inside, functions)
            for key in HOOKS:
                for hook in list(vars(part).get(key, {}).values()):
                    _reach(hook, inside, functions)
            _reach(type(part).forward, inside, functions)
        return cls(parts, list(inside.values()), _with_called(functions))

    @property
    def shared(self) -> bool:
        """Whether functions may write to what other threads have, too."""
        return any(True for _ in self._outside())

    def _outside(self) -> Iterator[Any]:
        """Containers and objects that functions refer to, as they are now."""
        found: dict[int, Any] = {}
        for function in self.functions:
            for value in _referred(function).values():
                _reach(value, found, {})
        yield from found.values()

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """A context after which all is as before."""
        attributes = [(part, dict(vars(part))) for part in self.parts]
        notes = [(value, _noted(value)) for value in (*self.inside, *self._outside())]
        referred = [(function, _referred(function)) for function in self.functions]
        try:
            yield
        finally:
            for part, before in attributes:
                vars(part).clear()
                vars(part).update(before)
            for value, note in notes:
                _put_back(value, note)
            for function, held in referred:
                _rebind(function, held)


def _reach(value: Any, found: dict[int, Any], functions: dict[int, types.FunctionType], depth: int = DEPTH) -> None:
    """Adds the containers and functions at and below a value."""
    if (
        id(value) in found
        or id(value) in functions
        or depth == 0
        or isinstance(value, Tensor | type | types.ModuleType)
    ):
        return
    if isinstance(value, types.FunctionType):
        if not value.__module__ or not value.__module__.startswith("torch."):
            functions[id(value)] = value
    elif isinstance(value, types.MethodType):
        _reach(value.__func__, found, functions, depth)
        _reach(value.__self__, found, functions, depth)
    elif isinstance(value, KINDS):
        found[id(value)] = value
        if len(value) <= ENTRIES:
            for entry in list(value.values() if isinstance(value, dict) else value):
                _reach(entry, found, functions, depth - 1)
    elif isinstance(value, tuple):
        for entry in value[:ENTRIES]:
            _reach(entry, found, functions, depth - 1)
    elif _is_readers(value):
        found[id(value)] = value
        for entry in list(vars(value).values()):
            _reach(entry, found, functions, depth - 1)
    elif hasattr(value, "func") and hasattr(value, "args"):  # functools.partial
        for entry in (value.func, *value.args, *value.keywords.values()):
            _reach(entry, found, functions, depth - 1)


def _is_readers(value: Any) -> bool:
    """Whether a value is an object with attributes of a class that is not of torch, numpy or another library's core."""
    if isinstance(value, types.SimpleNamespace | nn.Module):
        return True
    known = type(value).__module__.partition(".")[0] in ("torch", "numpy", "builtins", "threading", "logging")
    return not known and isinstance(getattr(value, "__dict__", None), dict)


def _with_called(functions: dict[int, types.FunctionType]) -> list[types.FunctionType]:
    """The functions and those that they call by name."""
    known = dict(functions)
    waiting = list(functions.values())
    while waiting and len(known) < FUNCTIONS:
        for value in _referred(waiting.pop()).values():
            called = getattr(value, "__func__", value)
            is_new = isinstance(called, types.FunctionType) and id(called) not in known
            if is_new and not (called.__module__ or "").startswith("torch."):
                known[id(called)] = called
                waiting.append(called)
    return list(known.values())


def _referred(function: types.FunctionType) -> dict[str | int, Any]:
    """What a function's globals, by name, and closure, by place, hold; also for functions that are written in it."""
    held: dict[str | int, Any] = {}
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        held |= {name: function.__globals__[name] for name in code.co_names if name in function.__globals__}
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    for place, cell in enumerate(function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # an empty one
            held[place] = cell.cell_contents
    return held


def _rebind(function: types.FunctionType, before: dict[str | int, Any]) -> None:
    now = _referred(function)
    for place, value in before.items():
        if now.get(place) is value:
            continue
        if isinstance(place, str):
            function.__globals__[place] = value
        elif function.__closure__:
            function.__closure__[place].cell_contents = value


def _noted(value: Any) -> Any:
    if not isinstance(value, KINDS):
        return dict(vars(value))
    if len(value) > ENTRIES and isinstance(value, list):
        return len(value)
    return value.copy()


def _put_back(value: Any, note: Any) -> None:
    """Gives a container or an object its entries of before, where they are others now."""
    if isinstance(note, int):
        del value[note:]
    elif isinstance(value, list | bytearray):
        if not _alike(value, note):
            value[:] = note
    elif isinstance(value, dict):
        if not _alike(list(value.items()), list(note.items())):
            value.clear()
            value.update(note)
    elif isinstance(value, set | collections.deque):
        if not _alike(list(value), list(note)):
            value.clear()
            (value.update if isinstance(value, set) else value.extend)(note)
    else:
        attributes = vars(value)
        if not _alike(list(attributes.items()), list(note.items())):
            attributes.clear()
            attributes.update(note)


def _alike(now: Any, before: Any) -> bool:
    """Whether two sequences hold the very same objects."""
    if len(now) != len(before):
        return False
    return all(a is b or (isinstance(a, tuple) and _same_pair(a, b)) for a, b in zip(now, before))


def _same_pair(a: Any, b: Any) -> bool:
    return isinstance(b, tuple) and len(a) == len(b) and all(x is y for x, y in zip(a, b))
