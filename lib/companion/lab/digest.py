"""One digest of the code behind a study's numbers: its module and all that this imports of the library.

Comments and docstrings do not count. The digest of your own study covers its file and what that imports from the file's
folder, or, in a notebook, the functions and constants that it names. It is taken where a cell is computed: ``Code``
travels with the study, and ``here`` gives the digest of this process.
"""

import ast
import functools
import hashlib
import importlib.util
import inspect
import os
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from regimes.validate import InputError

OURS = ("companion", "regimes")
# the machinery around a study: a change there does not change its numbers
MACHINERY = ("companion.paths", "companion.lab", "companion.studies", "regimes.validate")


class Edited(InputError):
    """A file has changed since this process loaded it."""


@dataclass(frozen=True)
class Code:
    """The code of a study.

    Attributes:
        own: digest of the script or notebook that defines it, which travels with it; empty for an importable module.
        modules: names of the modules it is made of, each found on the path where it is computed.
        digest: of all this, in the process that made the study.
    """

    own: str
    modules: tuple[str, ...]
    digest: str


@functools.cache
def code(function: Callable[..., Any]) -> Code:
    """The code behind a function; raises Edited if a module of the library was edited after this process loaded it."""
    source_digest, modules = "", {function.__module__}
    if function.__module__ == "__main__":
        script = file(function)
        text = script.read_text(encoding="utf-8") if script else ""
        source_digest, modules = (_bare_digest(text), _imports(text, "")) if script else _typed(function)
    folder = _folder(function)
    closure: set[str] = set()
    for name in modules:
        _closure(name, folder, closure)
    names = tuple(sorted(closure))
    return Code(source_digest, names, _digest(source_digest, names))


@functools.cache
def here(known: Code) -> str:
    """The digest of the same code as this process finds it; a missing module changes it."""
    return _digest(known.own, known.modules)


def file(function: Callable[..., Any]) -> Path | None:
    """The file that defines a function; ``None`` for one typed into a notebook or an interpreter."""
    path = Path(inspect.unwrap(function).__code__.co_filename)
    return path.resolve() if path.is_file() else None


def module_of(function: Callable[..., Any]) -> str:
    """The first half of a study's name: its module in the library, else its file, told from others of that name."""
    if _is_ours(function.__module__):
        return function.__module__.rpartition(".")[2]
    path = file(function)
    place = path or Path(os.environ.get("JPY_SESSION_NAME") or Path.cwd())
    return f"{path.stem if path else 'notebook'}-{_sha(str(place))[:6]}"


_LOADED: dict[str, str] = {}


def note_loaded(name: str) -> None:
    """Notes the files of the module ``name``, which is just being loaded, and of the library's as they are now."""
    _LOADED.pop(name, None)
    for module in [name, *list(sys.modules)]:
        if module not in _LOADED and (module == name or _is_ours(module)) and module != "__main__":
            origin = getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None)
            if origin and os.path.exists(origin):
                _LOADED[module] = _sha(Path(origin).read_text(encoding="utf-8"))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _digest(source_digest: str, modules: tuple[str, ...]) -> str:
    return _sha("\n".join([source_digest, *(f"{name} {_of_module(name)}" for name in modules)]))


def _of_module(name: str) -> str:
    path = _origin(name)
    if path is None:
        return "not here"
    text = path.read_text(encoding="utf-8")
    if _LOADED.get(name, _sha(text)) != _sha(text):
        raise Edited(f"{path} was edited after this process had loaded it: start again")
    c_source = path.with_suffix(".c")  # what a module compiles counts with it
    return _bare_digest(text) + (_sha(c_source.read_text(encoding="utf-8")) if c_source.exists() else "")


_parsing = threading.Lock()


def _parsed(text: str) -> ast.Module:
    """The syntax tree of a source; one at a time, as CPython 3.11 cannot build two in two threads."""
    with _parsing:
        return ast.parse(text)


@functools.cache
def _bare_digest(text: str) -> str:
    """Of the syntax tree of a source without its docstrings."""
    tree = _parsed(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return _sha(ast.dump(tree))


def _origin(name: str) -> Path | None:
    """The file of a module; ``None`` if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _folder(function: Callable[..., Any]) -> Path | None:
    """Where a reader's own modules lie; ``None`` for the library's studies, which import none."""
    if _is_ours(function.__module__):
        return None
    path = file(function)
    return path.parents[function.__module__.count(".")] if path else Path.cwd()


def _closure(name: str, folder: Path | None, closure: set[str]) -> None:
    """Adds ``name`` and, recursively, what it imports of the library and of ``folder``."""
    machinery = name.startswith(tuple(f"{module}." for module in MACHINERY)) or name in (*MACHINERY, *OURS)
    path = None if name in closure or machinery or not _counts(name, folder) else _origin(name)
    if path is None:
        return
    closure.add(name)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for imported in _imports(path.read_text(encoding="utf-8"), package):
        _closure(imported, folder, closure)


def _is_ours(module: str) -> bool:
    return "." in module and module.partition(".")[0] in OURS


def _counts(name: str, folder: Path | None) -> bool:
    """Whether a module belongs to the library or to the reader's folder; others are named by their versions."""
    top = name.split(".")[0]
    if top in OURS:
        return True
    path = _origin(top) if folder else None
    return path is not None and path.resolve().is_relative_to(folder) and "site-packages" not in path.parts


@functools.cache
def _imports(text: str, package: str) -> frozenset[str]:
    """Names of the modules that a source may import."""
    names = set()
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _typed(function: Callable[..., Any]) -> tuple[str, set[str]]:
    """Digest of a function typed into a notebook and of the functions and constants it names, and their modules."""
    parts, modules, todo = {}, set(), [function]
    while todo:
        item = todo.pop()
        parts[item.__qualname__] = _source(item)
        for name, value in _named(item).items():
            value = getattr(value, "function", value)  # a study's own
            if isinstance(value, ModuleType):
                modules.add(value.__name__)
            elif inspect.isfunction(value) or inspect.isclass(value):
                if value.__module__ != "__main__":
                    modules.add(value.__module__)
                elif value.__qualname__ not in parts:
                    todo.append(value)
            elif isinstance(value, (bool, int, float, complex, str, bytes, tuple, list, dict, set)):
                parts[name] = repr(value)
    return _sha("\n".join(f"{name} {text}" for name, text in sorted(parts.items()))), modules


def of_function(function: Callable[..., Any]) -> str:
    """Digest of what a function computes: of its source and of the functions of its module that it names."""
    parts, todo = {}, [function]
    while todo:
        item = todo.pop()
        parts[item.__qualname__] = ast.dump(_body(item))
        named = [inspect.unwrap(item).__globals__.get(name) for name in names_used(item)]
        of_module = [item for item in named if inspect.isfunction(item) and item.__module__ == function.__module__]
        todo += [item for item in of_module if item.__qualname__ not in parts]
    return _sha("\n".join(f"{name} {text}" for name, text in sorted(parts.items())))


def _body(function: Callable[..., Any]) -> ast.AST:
    """The syntax tree of a function without decorators and docstring."""
    (tree,) = _parsed(textwrap.dedent(inspect.getsource(function))).body
    tree.decorator_list = []
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    return tree


def _named(item: Any) -> dict[str, Any]:
    """What a function names: globals, and the record of its settings."""
    if not inspect.isfunction(item):
        return {}
    records = {
        name: value
        for name, value in item.__annotations__.items()
        if inspect.isclass(value) and value.__module__ == "__main__"
    }
    return {name: inspect.unwrap(item).__globals__.get(name) for name in names_used(item)} | records


def _source(item: Any) -> str:
    """The source of an item without comments; for a function without a source its bytecode."""
    try:
        return _bare_digest(textwrap.dedent(inspect.getsource(item)))
    except (OSError, TypeError, SyntaxError):
        return item.__code__.co_code.hex() if inspect.isfunction(item) else item.__qualname__


def names_used(item: Any) -> set[str]:
    """The global names a function uses, also in its inner functions."""
    code = item.__code__ if inspect.isfunction(item) else item
    if not isinstance(code, CodeType):
        return set()
    return set(code.co_names).union(*map(names_used, code.co_consts))
