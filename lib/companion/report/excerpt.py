"""The part of a chapter that one figure needs: its own cells, and those that define what they use.

``python -m companion.runner 01 --figure fig-a-fig3 -p curve_alpha 1`` runs these cells, and so computes
only the studies of that figure.
"""

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from companion.experiments import parameters
from companion.report import captions
from regimes import validate

DRAWN = {"ax", "axes", "fig"}  # what several cells may draw into, one of them through another


class _Flow(ast.NodeVisitor):
    """The names of a cell in the order in which they run: ``used`` before, ``defined``, and ``touched`` in place."""

    def __init__(self, local: Iterable[str] = ()) -> None:
        self.defined: set[str] = set()
        self.used: set[str] = set()
        self.touched: set[str] = set()
        self.imported: set[str] = set()
        self.later: set[str] = set()  # used in functions, when they are called
        self._local = set(local)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.defined.add(node.id)
        elif node.id not in self.defined | self._local:
            self.used.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._each([node.value, *node.targets])
        self.touched |= {_base(target) for target in node.targets if not isinstance(target, ast.Name)}

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._each([node.value, ast.Name(_base(node.target), ast.Load()), node.target])
        self.touched.add(_base(node.target))

    def visit_For(self, node: ast.For) -> None:
        self._each([node.iter, node.target, *node.body, *node.orelse])
        self.touched |= {part.id for part in ast.walk(node.iter) if isinstance(part, ast.Name)} & DRAWN

    def visit_Expr(self, node: ast.Expr) -> None:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and _base(node.value) != "chapter":  # which shows and judges
            self.touched |= {name for name in map(_base, node.value.args) if name in DRAWN}
            if isinstance(node.value.func, ast.Attribute):
                self.touched.add(_base(node.value.func))

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.imported |= {(name.asname or name.name).partition(".")[0] for name in node.names}
        self.defined |= self.imported

    visit_ImportFrom = visit_Import

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._each([*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)])
        self.defined.add(node.name)
        self._inside(node.args, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node.args, [node.body])

    def visit_ListComp(self, node: ast.AST) -> None:
        targets = [part.id for one in node.generators for part in ast.walk(one.target) if isinstance(part, ast.Name)]
        inner = _Flow(self._local | self.defined | set(targets))
        inner.generic_visit(node)
        self.used |= inner.used
        self.later |= inner.later

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _inside(self, given: ast.arguments, body: Sequence[ast.AST]) -> None:
        names = [one.arg for one in (*given.args, *given.kwonlyargs, given.vararg, given.kwarg) if one]
        inner = _Flow(self._local | self.defined | set(names))
        inner._each(body)
        self.later |= inner.used | inner.later - inner.defined

    def _each(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _base(node: ast.AST) -> str:
    """The name that an expression begins with, ``ax`` of ``ax[0].plot``; empty if it begins with none."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


@functools.cache
def flow(source: str) -> _Flow:
    """The names that the code of a cell uses, defines, and changes in place."""
    found = _Flow()
    found.visit(ast.parse(source))
    found.used |= found.later - found.defined
    return found


def figure_labels(cells: Iterable[nbformat.NotebookNode]) -> list[str]:
    """The labels of the figures and tables of a chapter, in order."""
    code = (cell.source for cell in cells if cell.cell_type == "code")
    return list(dict.fromkeys(label for source in code for label in re.findall(r'"((?:fig|tab)-[\w-]+)"', source)))


def needed(cells: Sequence[nbformat.NotebookNode], label: str) -> list[int]:
    """The cells that the figure or table ``label`` needs: those that show or judge it, and their dependencies."""
    validate.one_of(figure_labels(cells), figure=label)
    code = {i: flow(cell.source) for i, cell in enumerate(cells) if cell.cell_type == "code"}
    wanted = {i for i in code if f'"{label}"' in cells[i].source}
    judging = [node for i in wanted for node in ast.parse(cells[i].source).body if label in ast.unparse(node)]
    wanted |= {i for i in code if code[i].used & {getattr(node, "name", "") for node in judging}}  # who calls a judge
    first = [i for i, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
    while True:
        found = sorted({*first, *_behind({i: own for i, own in code.items() if i not in first}, wanted)})
        used, defined = (set().union(*(getattr(code[i], kind) for i in found)) for kind in ("used", "defined"))
        later = {i for i in code if code[i].defined & (used - defined)} - set(found)  # for a function before it
        if not later:
            return found
        wanted |= later


def _behind(code: Mapping[int, _Flow], wanted: Collection[int]) -> Iterator[int]:
    """The ``wanted`` cells, and those before them that define, or change in place, what they use."""
    fixed, names = set().union(*(one.imported for one in code.values())), set()
    for i in reversed(code):
        near = names | (DRAWN if names & DRAWN else set())
        if i in wanted or code[i].defined & names or (code[i].touched - fixed) & near:
            names = (names - code[i].defined) | code[i].used
            yield i


def excerpt(number: str, book: nbformat.NotebookNode, label: str) -> nbformat.NotebookNode:
    """A chapter's notebook cut down to one figure or table, with the chapter's title and the text above the figure."""
    cells, kept = book.cells, needed(book.cells, label)
    title = re.match(r"(?:\([\w-]+\)=\n)?# .*", cells[0].source)
    cells[0].source = f"{title[0] if title else parameters.source(number).stem}\n\nThe part that `{label}` needs."
    first = min(i for i in kept if f'"{label}"' in cells[i].source)
    above = max(i for i in range(first) if cells[i].cell_type == "markdown" and not captions.is_caption(cells[i]))
    below = {i + 1 for i in kept if i + 1 < len(cells) and captions.is_caption(cells[i + 1])}
    book.cells = [cells[i] for i in sorted({0, above, *kept, *below})]
    return book


def designs_asked(code: Iterable[str]) -> dict[str, set[str]]:
    """The designs of each study, by function, whose rows cells ask for: ``chapter.rows(studies.growth, "planes")``.

    A call that spells out no design asks for all, under no name.
    """
    asked: dict[str, set[str]] = {}
    for node in (node for source in code for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        if node.args and isinstance(node.args[0], ast.Attribute) and _base(node.func) == "chapter":
            named = node.args[1] if len(node.args) > 1 else None
            design = named.value if isinstance(named, ast.Constant) else ""
            asked.setdefault(node.args[0].attr, set()).add(design)
    return asked


def designs_judged(number: str, label: str) -> dict[str, set[str]]:
    """The designs of each study, by function, on which the claims of a figure rest.

    As the defaults of their functions say: ``slices=ensembles["slices"]``, or ``rows=ensembles`` for all.
    """
    asked: dict[str, set[str]] = {}
    for tree in _claims_of(number):
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and label in _figures_of(node):
                for wanted in node.args.defaults:
                    is_design = isinstance(wanted, ast.Subscript)
                    study = wanted.value if is_design else wanted
                    name = study.attr if isinstance(study, ast.Attribute) else study.id
                    asked.setdefault(name, set()).add(ast.literal_eval(wanted.slice) if is_design else "")
    return asked


@functools.cache
def _claims_of(number: str) -> list[ast.Module]:
    """The modules of a chapter's claims, as they are written: to load them takes seconds."""
    folder = Path(__file__).parents[1] / "claims"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("[a-z]*.py"))]
    return [ast.parse(text) for text in texts if f'CHAPTER = "{number}"' in text]


def _figures_of(function: ast.FunctionDef) -> set[str]:
    """The figures of the claims that a function measures."""
    given = (keyword for one in function.decorator_list if isinstance(one, ast.Call) for keyword in one.keywords)
    return {ast.literal_eval(one.value) for one in given if one.arg == "figure"}


def both(one: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The designs of each study that stand in either."""
    return {study: one.get(study, set()) | other.get(study, set()) for study in {**one, **other}}


def figures_of_designs(number: str) -> dict[str, list[str]]:
    """The figures and tables of a chapter that show each design, ``ensembles.slices``, or one that extends it."""
    values, cells = parameters.designs(number), jupytext.read(parameters.source(number)).cells
    tables = list(dict.fromkeys(".".join(name.split(".")[1:3]) for name in values))
    found: dict[str, list[str]] = {table: [] for table in tables}
    for label in figure_labels(cells):
        drawn = designs_asked(cells[i].source for i in needed(cells, label)[1:])
        asked = both(drawn, designs_judged(number, label))
        for table in tables:
            study, _, design = table.partition(".")
            chain = _extended(number, study, design, values) if {design, ""} & asked.get(study, set()) else []
            for base in chain:
                found[base] += [label] * (label not in found[base])
    return found


def _extended(number: str, study: str, design: str, values: Mapping[str, Any]) -> list[str]:
    """A design and those that it extends."""
    chain = []
    while design and f"{study}.{design}" not in chain:
        chain.append(f"{study}.{design}")
        design = values.get(f"{number}.{study}.{design}.extends", "")
    return chain
