"""What the library's text declares beside its arithmetic: constants, what arguments are by default, and their ranges.

None of it has a right value that a test could compute; it is kept as it is (``tests/references/limits.txt``), so that
a number moved a little is a change that somebody declares. It is read, and not run: that takes a second.
"""

import ast
import copy
import functools
import re
from collections.abc import Iterator
from pathlib import Path

LIB = Path(__file__).resolve().parents[1] / "lib"
CHECKS = ("at_least", "between", "integer", "length", "positive", "whole", "within")  # of regimes.validate
_CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


@functools.cache
def modules(package: str = "") -> dict[str, ast.Module]:
    """The modules of the library, or of one package, by name."""
    files = sorted((LIB / package).rglob("*.py"))
    paths = {".".join(path.relative_to(LIB).with_suffix("").parts): path for path in files}
    by_name = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in by_name.items()}


def declared() -> list[str]:
    """A line for each constant of numbers, each function or record with defaults, each check of a range, each bound."""
    return [line for name, module in modules().items() for line in _of(name, module)]


def _of(name: str, module: ast.Module) -> Iterator[str]:
    for node in module.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and _CONSTANT.fullmatch(target.id) and _has_number(node.value):
            yield f"{name}.{target.id} = {_text(node.value)}"
    for place, node in _definitions(name, module):
        if ".claims." not in name:  # their designs and sizes are kept by the ledger
            if defaults := _defaults(node):
                yield f"{place}: {', '.join(f'{key} = {value}' for key, value in defaults.items())}"
            yield from (f"{place}: {check}" for check in _calls(node))
        yield from (f"{place}: if {bound}" for bound in _bounds(node))


def _definitions(name: str, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The functions and classes of a module, also of each other, by their full names."""
    for child in ast.iter_child_nodes(node):
        inner = f"{name}.{child.name}" if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else name
        if inner != name:
            yield inner, child
        yield from _definitions(inner, child)


def _defaults(node: ast.AST) -> dict[str, str]:
    """What arguments, or the fields of a record, are where nothing is given; none of those that are ``None``."""
    if isinstance(node, ast.ClassDef):
        fields = [
            argument for argument in node.body if isinstance(argument, ast.AnnAssign) and argument.value is not None
        ]
        defaults = {argument.target.id: argument.value for argument in fields}
    else:
        args = node.args
        places = [*args.posonlyargs, *args.args]
        defaults = dict(zip([argument.arg for argument in places[len(places) - len(args.defaults) :]], args.defaults))
        defaults |= {
            argument.arg: value for argument, value in zip(args.kwonlyargs, args.kw_defaults) if value is not None
        }
    return {name: _text(value) for name, value in defaults.items() if _text(value) != "None"}


def _calls(node: ast.AST) -> Iterator[str]:
    """The checks of ranges, and the options of a command line, in a function itself."""
    for call in _own_parts(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            if call.func.attr in CHECKS or call.func.attr == "add_argument":
                yield _text(call).removeprefix("validate.")


def _bounds(node: ast.AST) -> Iterator[str]:
    """The comparisons with a number that stands in a function itself, as with a residual that counts as none."""
    for part in _own_parts(node):
        if isinstance(part, ast.Compare) and any(map(_is_bound, ast.walk(part))):
            yield _text(part)


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in (0.0, 0.5, 1.0)


def records() -> dict[str, bool]:
    """The dataclasses of the library, and whether they are frozen."""
    frozen = {}
    for name, module in modules().items():
        for place, node in _definitions(name, module):
            for made in map(_text, node.decorator_list):
                if made.partition("(")[0] == "dataclass":
                    frozen[place] = "frozen=True" in made
    return frozen


def ranges(package: str) -> Iterator[tuple[str, str, list[str], str]]:
    """Each check of an argument by its name in a package: of which function, which check, its ends, which argument."""
    for name, module in modules(package).items():
        for place, node in _definitions(name, module):
            for call in _own_parts(node):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in CHECKS:
                    for keyword in (keyword for keyword in call.keywords if keyword.arg):
                        yield place, call.func.attr, list(map(_text, call.args)), keyword.arg


def _own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a function without those of the functions that it defines."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield child
            yield from _own_parts(child)


def _has_number(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) for part in ast.walk(node))


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(_Plain().visit(copy.deepcopy(node))).split())


class _Plain(ast.NodeTransformer):
    """Strings with values in them become plain ones: versions of Python write their quotes otherwise."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        parts = [
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}" for part in node.values
        ]
        return ast.Constant("".join(parts))
