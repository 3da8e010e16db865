"""Names of studies and what they measure, read in the texts of their modules: to load these takes seconds."""

import ast
import functools
import re
from collections.abc import Iterator

from companion import paths


@functools.cache
def texts_of_papers(kind: str, number: str) -> dict[str, str]:
    """The texts of a chapter's modules of ``claims`` or ``studies`` in the folders of papers, by their full names."""
    return {name: text for name, (own, text) in _of_papers(kind).items() if own == number}


def chapters_of_papers(kind: str) -> list[str]:
    """The numbers of the chapters that have modules of that kind."""
    return sorted({number for number, _ in _of_papers(kind).values()})


@functools.cache
def _of_papers(kind: str) -> dict[str, tuple[str, str]]:
    """Chapter and text of each module of that kind; those that serve them begin with an underscore."""
    found = {}
    for file in sorted(paths.papers().glob(f"*/{kind}/[a-z]*.py")):
        text = file.read_text(encoding="utf-8")
        number = re.search(r'^CHAPTER = "(\d+)"', text, re.MULTILINE)[1]
        found[f"companion.papers.{file.parts[-3]}.{kind}.{file.stem}"] = number, text
    return found


def list_studies(_: object = None) -> None:
    """Names every study, with its chapter and the first line of what it measures."""
    for number in chapters_of_papers("studies"):
        for name, text in texts_of_papers("studies", number).items():
            for function in _studies(ast.parse(text)):
                study = f"{name.rpartition('.')[2]}.{function.name}"
                print(f"{number}  {study:44} {ast.get_docstring(function).splitlines()[0]}")


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
