"""What a function computes with: its syntax, and the functions, classes and constants that it names, and so on.

Comments, docstrings and the lines on which things stand do not count, nor does the version of Python. Of a class count
its fields, what its making runs, and the methods whose names somebody on the way asks for.
"""

import ast
import dataclasses
import enum
import functools
import hashlib
import inspect
import linecache
import re
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any, NamedTuple

OURS = ("companion", "regimes")
# the machinery around a study or a claim: a change there does not change its numbers
MACHINERY = ("companion.paths", "companion.lab", "companion.studies", "regimes.validate")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

_SHOWS = ("__str__", "__repr__", "__format__")  # how an object is printed is no number

Chain = tuple[str, ...]  # of names: ("jamming", "WINDOW")


def sha(text: str) -> str:
    """The first 16 digits of a text's digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_ours(module: str) -> bool:
    """Whether a module is one of the library."""
    return "." in module and module.partition(".")[0] in OURS


def is_within(module: str, *packages: str) -> bool:
    """Whether a module is one of ``packages`` or lies in one."""
    return module in packages or module.startswith(tuple(f"{package}." for package in packages))


_parsing = threading.Lock()


def parsed(text: str) -> ast.Module:
    """The syntax tree of a source; one at a time, as CPython 3.11 cannot build two in two threads."""
    with _parsing:
        return ast.parse(text)


def bare(text: str) -> ast.Module:
    """The syntax tree of a source without its docstrings."""
    tree = parsed(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree


def dumped(node: Any) -> str:
    """A syntax tree in words that are the same in every version of Python: what is empty is left out."""
    if isinstance(node, list):
        return f"[{', '.join(map(dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, getattr(node, name, None)) for name in node._fields]
    if isinstance(node, ast.JoinedStr):
        fields = [("values", _joined(node.values))]
    words = [f"{name}={dumped(value)}" for name, value in fields if value is not None and value != []]
    return f"{type(node).__name__}({', '.join(words)})"


def _joined(values: list[Any]) -> list[Any]:
    """The parts of a formatted string: neighbouring texts in one, which some versions split, and none that is empty."""
    parts: list[Any] = []
    for value in values:
        if not isinstance(value, ast.Constant):
            parts.append(value)
        elif parts and isinstance(parts[-1], ast.Constant):
            parts[-1] = ast.Constant(parts[-1].value + value.value)
        elif value.value:
            parts.append(ast.Constant(value.value))
    return parts


class Syntax(NamedTuple):
    """A definition as its source has it.

    Attributes:
        text: digest of what it says, without its decorators, and without the methods of a class.
        named: what its body names, as chains of names from a global one; local names are among them.
        asked: the attributes that it asks for.
        typed: what the annotations of its arguments name.
        decorators: the chain that each begins with, empty where it begins with none, and its digest.
    """

    text: str
    named: tuple[Chain, ...]
    asked: frozenset[str]
    typed: tuple[Chain, ...]
    decorators: tuple[tuple[Chain, str], ...]


@functools.lru_cache(maxsize=32)  # neighbouring claims name the functions of few files
def _definitions(text: str) -> dict[int | str, list[ast.AST]]:
    """The functions of a source by their first line, and its classes by their qualified name."""
    found: dict[int | str, list[ast.AST]] = {}

    def walk(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = f"{inside}{child.name}" if isinstance(child, _DEFINITIONS) else inside
            if isinstance(child, ast.ClassDef):
                found.setdefault(name, []).append(child)
            elif isinstance(child, _FUNCTIONS):
                lines = [child.lineno, *(it.lineno for it in getattr(child, "decorator_list", ()))]
                found.setdefault(min(lines), []).append(child)
            is_class = isinstance(child, ast.ClassDef)
            walk(child, f"{name}." if is_class else f"{name}.<locals>." if isinstance(child, _DEFINITIONS) else inside)

    walk(bare(text), "")
    return found


@functools.cache
def _syntax(text: str, place: int | str, name: str) -> Syntax | None:
    """The definition at a place of a source; of several lambdas in a line all; ``None`` if there is none."""
    nodes = [it for it in _definitions(text).get(place, ()) if getattr(it, "name", "<lambda>") == name]
    if not nodes:
        return None
    decorators = [one for node in nodes for one in getattr(node, "decorator_list", ())]
    types = [it.annotation for node in nodes for it in ast.walk(getattr(node, "args", ast.Pass())) if _is_typed(it)]
    contents = [content for node in nodes for content in _contents(node)]
    return Syntax(
        sha(" ".join(map(dumped, contents))),
        tuple(sorted({chain for it in contents for chain in _chains(it)})),
        frozenset(it.attr for content in contents for it in ast.walk(content) if isinstance(it, ast.Attribute)),
        tuple(chain for it in types for chain in _chains(it)),
        tuple((next(_chains(one), ()), sha(dumped(one))) for one in decorators),
    )


def _is_typed(node: ast.AST) -> bool:
    return getattr(node, "annotation", None) is not None


def _contents(node: Any) -> list[ast.AST]:
    """What a definition says: a function's arguments and body, a class's bases and fields."""
    if isinstance(node, ast.ClassDef):
        return [*node.bases, *node.keywords, *(it for it in node.body if not isinstance(it, _FUNCTIONS))]
    return [node.args, *(node.body if isinstance(node.body, list) else [node.body])]


def _chains(node: Any) -> Iterator[Chain]:
    """The names below a node, each with the attributes asked of it: ``jamming.WINDOW`` is ``("jamming", "WINDOW")``."""
    if not isinstance(node, ast.AST):
        return
    if isinstance(node, (ast.Attribute, ast.Name)):
        attributes: list[str] = []
        root: ast.AST = node
        while isinstance(root, ast.Attribute):
            attributes.insert(0, root.attr)
            root = root.value
        if isinstance(root, ast.Name):
            yield (root.id, *attributes)
            return
    for child in ast.iter_child_nodes(node):
        yield from _chains(child)


def parts_of(
    function: Callable[..., Any], counts: Callable[[str], bool], given: Mapping[str, Any] | None = None
) -> tuple[dict[str, str], set[str]]:
    """The digest of each part of what a function computes with, by name, and the modules that do not count.

    Args:
        function: where it begins.
        counts: whether the functions, classes and constants of a module count.
        given: what the function is called with.
    """
    walk = _Walk(counts)
    walk.reach(inspect.unwrap(function))
    for name, value in (given or {}).items():
        walk.parts[f"given {name}"] = sha(walk.words(value))
    walk.go()
    return walk.parts, walk.modules


class _Walk:
    """From a function to all that it names.

    Attributes:
        parts: the digest of each function, class and constant by its qualified name.
        modules: names of the modules, and of those of the functions and classes, that do not count.
    """

    def __init__(self, counts: Callable[[str], bool]) -> None:
        self.counts = counts
        self.parts: dict[str, str] = {}
        self.modules: set[str] = set()
        self._todo: list[Any] = []
        self._asked: set[str] = set()  # names of attributes
        self._methods: dict[str, list[Any]] = {}  # that nobody has asked for

    def reach(self, item: Any) -> str:
        """Notes a function or a class to be looked at, if it counts; returns its qualified name."""
        if not is_ours(item.__module__ or "") and item.__module__ != "__main__":
            self.modules.add(item.__module__ or "")
            return item.__name__  # in which module a package keeps it is the package's own affair
        if self.counts(item.__module__):
            self._todo.append(item)
        else:
            self.modules.add(item.__module__)
        return f"{item.__module__}.{item.__qualname__}"

    def go(self) -> None:
        """Looks at all that was noted, and at what that names."""
        while self._todo:
            item = self._todo.pop()
            look = self._class if inspect.isclass(item) else self._function
            key, syntax, names, chains, more = look(item)
            if key in self.parts:
                continue
            decorators, decorating = self._decorators(syntax, names)
            self.parts[key] = sha(" ".join([syntax.text, *more, *decorators]))
            for chain in [*chains, *decorating]:
                self._follow(item.__module__, chain, names)
            self._ask(syntax.asked)
            for method in _methods(item) if inspect.isclass(item) else ():
                name = method.__name__
                if name in self._asked or (name.startswith("__") and name not in _SHOWS):
                    self.reach(method)
                else:
                    self._methods.setdefault(name, []).append(method)

    def _ask(self, attributes: Collection[str]) -> None:
        """Reaches the methods of these names, of whatever class."""
        self._asked |= {*attributes}
        for name in self._methods.keys() & attributes:
            for method in self._methods.pop(name):
                self.reach(method)

    def _function(self, function: Any) -> tuple[str, Syntax, Mapping[str, Any], list[Chain], list[str]]:
        """Its name, syntax, globals, what it names of these, and the values that it holds."""
        code, names = function.__code__, function.__globals__
        lines = "".join(linecache.getlines(code.co_filename, names))
        syntax = _found(lines, code.co_firstlineno, code.co_name)
        used = names_used(code)
        if syntax is None:  # made by a program
            syntax = Syntax(code.co_code.hex(), tuple((name,) for name in sorted(used)), frozenset(used), (), ())
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        held = self.words([function.__defaults__, function.__kwdefaults__, dict(zip(code.co_freevars, cells))])
        key = f"{function.__module__}.{function.__qualname__}"
        if "<" in key:  # a name that several have
            key = f"{key} {sha(syntax.text + held)}"
        chains = [chain for chain in syntax.named if chain[0] in used]
        return key, syntax, names, [*chains, *syntax.typed], [held]

    def _class(self, item: type) -> tuple[str, Syntax, Mapping[str, Any], list[Chain], list[str]]:
        """Its name, syntax, globals and what it names of these."""
        names = vars(sys.modules[item.__module__]) if item.__module__ in sys.modules else {}
        key = f"{item.__module__}.{item.__qualname__}"
        syntax = _found(_lines(item), item.__qualname__, item.__name__) or Syntax(key, (), frozenset(), (), ())
        return key, syntax, names, [*syntax.named], []

    def _decorators(self, syntax: Syntax, names: Mapping[str, Any]) -> tuple[list[str], list[Chain]]:
        """The decorators' digests, and what they name, but for the machinery's, which declare and do not compute."""
        kept = []
        for chain, text in syntax.decorators:
            module = getattr(names.get(chain[0]) if chain else None, "__module__", None) or ""
            if not is_ours(module) or self.counts(module):
                kept.append((chain, text))
        return [text for _, text in kept], [chain for chain, _ in kept if chain]

    def _follow(self, module: str, chain: Chain, names: Mapping[str, Any]) -> None:
        """Adds what a chain of names leads to, through the library's modules."""
        if chain[0] not in names:
            return
        name, value = f"{module}.{chain[0]}", names[chain[0]]
        for attribute in chain[1:]:
            if not isinstance(value, ModuleType) or value.__name__.partition(".")[0] not in OURS:
                break
            name, value = f"{value.__name__}.{attribute}", getattr(value, attribute, None)
        if isinstance(value, ModuleType):
            self.modules.add(value.__name__)
            return
        words = self.words(value)
        if not _is_defined(value) or _unwrapped(value).__name__ != name.rpartition(".")[2]:  # under another name
            self.parts[name] = sha(words)

    def words(self, value: Any) -> str:
        """A value in words that say what it is, and neither where it lies in memory nor the last bits of a number.

        Another processor computes another last bit. Functions, classes and other objects go by their names; what
        counts of them is looked at later.
        """
        if _is_study(value):  # which has a digest of its own
            function = value.function
            own = self.reach(function) if function.__module__ == "__main__" else f"{value.name}"
            return f"study {own} {value.version}"
        if isinstance(value, enum.Enum):
            return f"{self.reach(type(value))}.{value.name}"
        if isinstance(value, (bool, int, str, bytes, range, slice, type(None))):
            return repr(value)
        if isinstance(value, (float, complex)):
            return f"{value:.12g}"
        if isinstance(value, functools.partial):
            return f"partial {self.words([value.func, value.args, value.keywords])}"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.words(key)}: {self.words(it)}' for key, it in value.items())}}}"
        if isinstance(value, (tuple, list, set, frozenset)):
            entries = map(self.words, value)
            ordered = sorted(entries) if isinstance(value, (set, frozenset)) else entries
            return f"{type(value).__name__}({', '.join(ordered)})"
        if _is_defined(value):
            return self.reach(_unwrapped(value))
        if inspect.ismethod(value):
            return f"{self.words(value.__self__)} {self.words(value.__func__)}"
        if hasattr(value, "dtype") and hasattr(value, "tolist"):  # an array, a tensor
            return f"{value.dtype} {tuple(value.shape)} {self.words(value.tolist())}"
        if "dtype" in type(value).__name__.lower():
            return str(value)
        if isinstance(value, re.Pattern):
            return repr(value.pattern)
        if callable(value) and hasattr(value, "__name__"):  # compiled
            return value.__name__
        fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
        kind = self.reach(type(value))
        return f"{kind} {self.words({it.name: getattr(value, it.name) for it in fields})}" if fields else kind


def _lines(item: type) -> str:
    """The source of a class's file; empty for one without methods that is typed into an interpreter."""
    files = [it.__code__.co_filename for it in _methods(item) if it.__qualname__.startswith(f"{item.__qualname__}.")]
    try:
        return "".join(linecache.getlines(files[0] if files else inspect.getfile(item)))
    except (OSError, TypeError):
        return ""


def _methods(item: type) -> list[Any]:
    """The methods and properties that the source of a class defines."""
    made = [getattr(it, "fget", None) or getattr(it, "func", None) or it for it in vars(item).values()]
    functions = [inspect.unwrap(getattr(it, "__func__", it)) for it in made if callable(it) or hasattr(it, "__func__")]
    written = [it for it in functions if inspect.isfunction(it) and linecache.getlines(it.__code__.co_filename)]
    return [it for it in written if not it.__name__.startswith("__annotate")]  # which Python 3.14 makes of annotations


def _found(lines: str, place: int | str, name: str) -> Syntax | None:
    try:
        return _syntax(lines, place, name) if lines else None
    except SyntaxError:  # of a notebook's cell that is more than Python
        return None


def _unwrapped(value: Any) -> Any:
    """The function behind what decorators have made of it."""
    return inspect.unwrap(value) if hasattr(value, "__wrapped__") else value


def _is_defined(value: Any) -> bool:
    """Whether a value is a function or a class."""
    value = _unwrapped(value)
    return inspect.isfunction(value) or inspect.isclass(value)


def _is_study(value: Any) -> bool:
    """Whether a value is a study, whose module needs this one."""
    measures = inspect.isfunction(getattr(value, "function", None)) and hasattr(value, "version")
    return measures and not inspect.isclass(value)


def names_used(item: Any) -> set[str]:
    """The global names a function uses, also in its inner functions."""
    code = item.__code__ if inspect.isfunction(item) else item
    if not isinstance(code, CodeType):
        return set()
    return set(code.co_names).union(*map(names_used, code.co_consts))
