"""One digest of the code behind a study's numbers: its module and all that this imports of the library.

Comments and docstrings do not count; files that are no Python and that a module of the library reads do, and what it
compiles. The digest of your own study covers its file and what that imports from the file's folder, or, in a
notebook, the functions and constants that it names. It is taken where a cell is computed: ``Code`` travels with the
study, and ``here`` gives the digest of this process.
"""

import ast
import functools
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companion.lab import closure
from companion.lab.closure import MACHINERY, OURS, is_ours, is_within, sha
from regimes.validate import InputError

SHOWS = ("companion.book", "companion.site")  # pages: they show numbers and make none


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
    found: set[str] = set()
    for name in modules:
        _closure(name, folder, found)
    names = tuple(sorted(found))
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
    if is_ours(function.__module__):
        return function.__module__.rpartition(".")[2]
    path = file(function)
    place = path or Path(os.environ.get("JPY_SESSION_NAME") or Path.cwd())
    return f"{path.stem if path else 'notebook'}-{sha(str(place))[:6]}"


_LOADED: dict[str, str] = {}


def note_loaded(name: str) -> None:
    """Notes the files of the module ``name``, which is just being loaded, and of the library's as they are now."""
    _LOADED.pop(name, None)
    for module in [name, *list(sys.modules)]:
        if module not in _LOADED and (module == name or is_ours(module)) and module != "__main__":
            origin = getattr(getattr(sys.modules.get(module), "__spec__", None), "origin", None)
            if origin and os.path.exists(origin):
                path = Path(origin)
                _LOADED[module] = sha(path.read_text(encoding="utf-8") + _beside(module, path))


def _digest(source_digest: str, modules: tuple[str, ...]) -> str:
    return sha("\n".join([source_digest, *(f"{name} {_of_module(name)}" for name in modules)]))


def _of_module(name: str) -> str:
    path = _origin(name)
    if path is None:
        return "not here"
    text, beside = path.read_text(encoding="utf-8"), _beside(name, path)
    if _LOADED.get(name, sha(text + beside)) != sha(text + beside):
        raise Edited(f"{path} was edited after this process had loaded it: start again")
    return _bare_digest(text) + (sha(beside) if beside else "")


def _beside(name: str, path: Path) -> str:
    """What a module of the library reads beside itself: each file, or folder of such, whose name its source quotes.

    A suffix is enough for a file of the module's own name. What it compiles is among it.
    """
    if not is_ours(name):
        return ""
    text = path.read_text(encoding="utf-8")
    return "\n".join(
        f"{file.name} {sha(file.read_bytes().hex())}"
        for entry in _not_python(path.parent)
        if f'"{entry.name}"' in text or (entry.stem == path.stem and f'"{entry.suffix}"' in text)
        for file in (sorted(entry.rglob("*")) if entry.is_dir() else [entry])
        if file.is_file()
    )


@functools.cache
def _not_python(folder: Path) -> list[Path]:
    """The files of a folder that hold no code of Python, and the folders with none in them."""
    entries = sorted(it for it in folder.iterdir() if it.name != "__pycache__" and it.suffix not in (".py", ".pyc"))
    return [it for it in entries if it.is_file() or not any(it.rglob("*.py"))]


@functools.cache
def _bare_digest(text: str) -> str:
    """Of the syntax tree of a source without its docstrings."""
    return sha(closure.dumped(closure.bare(text)))


def _origin(name: str) -> Path | None:
    """The file of a module; ``None`` if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _folder(function: Callable[..., Any]) -> Path | None:
    """Where a reader's own modules lie; ``None`` for the library's studies, which import none."""
    if is_ours(function.__module__):
        return None
    path = file(function)
    return path.parents[function.__module__.count(".")] if path else Path.cwd()


def _closure(name: str, folder: Path | None, found: set[str]) -> None:
    """Adds to ``found`` the module ``name`` and, recursively, what it imports of the library and of ``folder``."""
    passed = name in found or name in OURS or is_within(name, *MACHINERY)
    path = None if passed or not _counts(name, folder) else _origin(name)
    if path is None:
        return
    found.add(name)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for imported in _imports(path.read_text(encoding="utf-8"), package):
        _closure(imported, folder, found)


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
    for node in ast.walk(closure.parsed(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(part for part in (above, node.module) if part)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _typed(function: Callable[..., Any]) -> tuple[str, set[str]]:
    """Digest of a function typed into a notebook and of the functions and constants it names, and their modules."""
    parts, modules = closure.parts_of(function, lambda module: module == "__main__")
    return of_parts(parts), modules


def parts(function: Callable[..., Any], given: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The digests of what a function computes with, by name: functions, classes and constants of papers and library.

    What studies compute is not among it: of these their names and versions.
    """
    return closure.parts_of(function, _measures, given)[0]


def _measures(module: str) -> bool:
    return module == "__main__" or (is_ours(module) and not is_within(module, *MACHINERY, *SHOWS))


def of_parts(parts: Mapping[str, str]) -> str:
    """One digest of all parts."""
    return sha("\n".join(f"{name} {text}" for name, text in sorted(parts.items())))


DIGITS = 4  # of a part's digest, in a record: enough to say which part changed


def brief(parts: Mapping[str, str]) -> str:
    """The first digits of the digest of each part, with its name, in a row."""
    return "".join(sorted(_digits(name, text) for name, text in parts.items()))


def differing(parts: Mapping[str, str], known: str) -> list[str]:
    """The names of the parts that are not among those ``known``, which ``brief`` gave: they changed or are new."""
    there = {known[start : start + DIGITS] for start in range(0, len(known), DIGITS)}
    return [name for name, text in sorted(parts.items()) if _digits(name, text) not in there]


def _digits(name: str, text: str) -> str:
    return sha(f"{name} {text}")[:DIGITS]
