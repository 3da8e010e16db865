"""The figures and tables of a chapter: each is one cell of a page, so that one can be run, and changed, alone.

``python -m companion.runner 01 --figure fig-a-fig8 -p curve_alpha 1`` runs that cell, after the page's parameters and
imports, and so computes only the designs that it and its claims ask for.
"""

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import nbformat

from companion.book import captions, claims
from companion.lab import parameters

SHOWS = ("figure", "slider", "table")  # the methods of a chapter that show one
ASKS = ("rows", "design")  # and those that are given a study
_LABEL = re.compile(r"(?:fig|tab)-[\w-]+")


class Figure(NamedTuple):
    """Where a figure or a table is drawn: the source of its page, and the code of its cell."""

    page: Path
    code: str

    @property
    def names(self) -> set[str]:
        """The names that its cell uses, and those in its text."""
        return {node.id for node in ast.walk(ast.parse(self.code)) if isinstance(node, ast.Name)}


def figures(number: str) -> dict[str, Figure]:
    """The figures and tables of a chapter by label, in the order of its pages."""
    pages = {path: _cells(path.read_text(encoding="utf-8")) for path in parameters.page_sources(number)}
    return {label: Figure(path, code) for path, cells in pages.items() for label, code in cells}


@functools.lru_cache(maxsize=64)
def _cells(text: str) -> list[tuple[str, str]]:
    """The labels of the figures of a page, each with the code of its cell."""
    code = (cell.source for cell in jupytext.reads(text, "py:percent").cells if cell.cell_type == "code")
    return [(label, source) for source in code for label in labels_shown(source)]


def labels_shown(code: str) -> list[str]:
    """The labels of the figures and tables that code shows."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and _is_shown(node.func))
    words = (argument.value for call in calls for argument in call.args if isinstance(argument, ast.Constant))
    return [word for word in words if isinstance(word, str) and _LABEL.fullmatch(word)]


def _is_shown(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in SHOWS and _base(function) == "chapter"


def _base(node: ast.expr) -> str:
    """The name that an expression begins with, ``chapter`` of ``chapter.rows``; empty if it begins with none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def on_its_own(book: nbformat.NotebookNode, label: str) -> nbformat.NotebookNode:
    """A page's notebook cut down to one figure or table.

    Its title, the cells that show nothing (parameters, imports), the text above the figure, its cell and its caption.
    """
    cells = book.cells
    (at,) = [i for i, cell in enumerate(cells) if cell.cell_type == "code" and label in labels_shown(cell.source)]
    title = re.match(r"(?:\([\w-]+\)=\n)?# .*", cells[0].source)
    cells[0].source = f"{title[0] if title else '# A figure'}\n\nThe part that `{label}` needs."
    silent = {i for i, cell in enumerate(cells[:at]) if cell.cell_type == "code" and not labels_shown(cell.source)}
    above = max(i for i in range(at) if cells[i].cell_type == "markdown" and not captions.is_caption(cells[i]))
    below = {at + 1} if at + 1 < len(cells) and captions.is_caption(cells[at + 1]) else set()
    book.cells = [cells[i] for i in sorted({0, *silent, above, at} | below)]
    return book


def designs_asked(code: str) -> dict[str, set[str]]:
    """The designs of each study, by function, whose rows code asks for: ``chapter.rows(studies.growth, "planes")``.

    A call that spells out no design asks for all, under no name. A study that is typed in the page has no module.
    """
    asked: dict[str, set[str]] = {}
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and _base(node.func) == "chapter"]
    for node in (node for node in calls if node.args and getattr(node.func, "attr", "") in ASKS):
        named = node.args[1] if len(node.args) > 1 else None
        design = named.value if isinstance(named, ast.Constant) else ""
        asked.setdefault(ast.unparse(node.args[0]).rpartition(".")[2], set()).add(design)
    return asked


def designs_judged(number: str, label: str) -> dict[str, set[str]]:
    """The designs of each study, by function, on which the claims of a figure rest; all under no name."""
    asked: dict[str, set[str]] = {}
    for claim in (claim for claim in claims.claims_of(number) if claim.figure == label):
        for study, designs in claim.designs.items():
            asked.setdefault(study.function.__name__, set()).update(designs)
    return asked


def designs_of(number: str, label: str, figure: Figure) -> dict[str, set[str]]:
    """The designs of each study, by function, that a figure shows or its claims rest on; all under no name."""
    drawn, judged = designs_asked(figure.code), designs_judged(number, label)
    return {study: drawn.get(study, set()) | judged.get(study, set()) for study in {**drawn, **judged}}


def figures_of_designs(number: str) -> dict[str, list[str]]:
    """The figures and tables of a chapter that show each design, ``ensembles.slices``, or one that extends it."""
    values = parameters.designs(number)
    tables = list(dict.fromkeys(".".join(name.split(".")[1:3]) for name in values))
    by_table: dict[str, list[str]] = {table: [] for table in tables}
    for label, figure in figures(number).items():
        asked = designs_of(number, label, figure)
        for table in tables:
            study, _, design = table.partition(".")
            chain = _extended(number, study, design, values) if {design, ""} & asked.get(study, set()) else []
            for base in chain:
                by_table[base] += [label] * (label not in by_table[base])
    return by_table


def _extended(number: str, study: str, design: str, values: Mapping[str, Any]) -> list[str]:
    """A design and those that it extends."""
    chain: list[str] = []
    while design and f"{study}.{design}" not in chain:
        chain.append(f"{study}.{design}")
        design = values.get(f"{number}.{study}.{design}.extends", "")
    return chain
