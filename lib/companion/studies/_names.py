"""Names of studies and what they measure, read in the texts of their modules: to load these takes seconds."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path


@functools.cache
def chapters_of_modules() -> dict[str, str]:
    """The number of its chapter for each module of studies, by name."""
    return {name: re.search(r'^CHAPTER = "(\d+)"', text, re.MULTILINE)[1] for name, text in _texts().items()}


@functools.cache
def _texts() -> dict[str, str]:
    """The modules of studies by name; those that serve them begin with an underscore."""
    files = sorted(Path(__file__).parent.glob("[a-z]*.py"))
    return {file.stem: file.read_text(encoding="utf-8") for file in files}


def list_studies(_: object = None) -> None:
    """Names every study, with its chapter and the first line of what it measures."""
    for number, module in sorted((number, module) for module, number in chapters_of_modules().items()):
        for function in _studies(ast.parse(_texts()[module])):
            first = ast.get_docstring(function).splitlines()[0]
            print(f"{number}  {f'{module}.{function.name}':36} {first}")


def _studies(module: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions that ``study(...)`` decorates, or a part of it that the module makes."""
    made = {"study"}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made |= {_name(one) for one in node.targets if made & {*map(_name, node.value.args)}}
        calls = (one for one in getattr(node, "decorator_list", ()) if isinstance(one, ast.Call))
        if any(_name(one.func) in made for one in calls):
            yield node


def _name(node: ast.expr) -> str:
    return getattr(node, "id", "")
