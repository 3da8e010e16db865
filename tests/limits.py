"""The ranges of arguments that functions of the library declare: which check, and its ends, read off its text."""

import ast
import copy
import functools
from collections.abc import Iterator
from pathlib import Path

LIB = Path(__file__).resolve().parents[1] / "lib"
CHECKS = ("at_least", "between", "integer", "length", "positive", "whole", "within")  # of regimes.validate


@functools.cache
def modules(package: str = "") -> dict[str, ast.Module]:
    """The modules of the library, or of one package, by name."""
    files = sorted((LIB / package).rglob("*.py"))
    paths = {".".join(path.relative_to(LIB).with_suffix("").parts): path for path in files}
    by_name = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in by_name.items()}


def _definitions(name: str, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The functions and classes of a module, also of each other, by their full names."""
    for child in ast.iter_child_nodes(node):
        inner = f"{name}.{child.name}" if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else name
        if inner != name:
            yield inner, child
        yield from _definitions(inner, child)


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


def _text(node: ast.AST) -> str:
    return " ".join(ast.unparse(_Plain().visit(copy.deepcopy(node))).split())


class _Plain(ast.NodeTransformer):
    """Strings with values in them become plain ones: versions of Python write their quotes otherwise."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        parts = [
            part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}" for part in node.values
        ]
        return ast.Constant("".join(parts))
