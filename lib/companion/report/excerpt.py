"""The part of a chapter that one figure needs: its own cells, and those that define what they use.

``python -m companion.runner 01 --figure fig-a-fig3 -p curve_alpha 1`` runs these cells, and so computes
only the studies of that figure.
"""

import ast
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import nbformat

from companion import paths
from companion import studies as registry
from companion.experiments import parameters, queue
from companion.experiments.design import Entries
from companion.experiments.results import Results
from companion.experiments.study import Study
from companion.experiments.sweep import cells as cells_of
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
    above = max(i for i in range(first) if cells[i].cell_type == "markdown")
    book.cells = [cells[i] for i in sorted({0, above, *kept})]
    return book


class Example(NamedTuple):
    """A command to try: the values that it ``sets``, and what to ``see`` in the figure then."""

    sets: dict[str, Any]
    see: str


class Change(NamedTuple):
    """What a figure depends on: the chapter's parameters that change it, its studies, their core seconds.

    ``designs`` are those of its studies that it shows, ``study.design``; ``example`` is the one of
    ``chapters/changes.toml``.
    """

    knobs: list[parameters.Parameter]
    studies: list[Study]
    seconds: float
    designs: frozenset[str] = frozenset()
    example: Example | None = None

    def of(self, names: Collection[str]) -> bool:
        """Whether any of the ``names``, of parameters or designs' entries (``05.half_depth.main.gap``), changes it."""
        own = {knob.name for knob in self.knobs} | self.designs
        return any((".".join(name.split(".")[1:3]) if "." in name else name) in own for name in names)


def examples(number: str) -> dict[str, Example]:
    """What ``chapters/changes.toml`` suggests to change of each figure of a chapter."""
    path = paths.chapters_folder() / "changes.toml"
    given = parameters.read_toml(path).get(number, {}) if path.exists() else {}
    return {label: Example(one["sets"], one["see"]) for label, one in given.items()}


def changes(number: str, book: nbformat.NotebookNode, labels: Collection[str] | None = None) -> dict[str, Change]:
    """What each figure, or each of these ``labels``, depends on; seconds are those at the laptop's parameters."""
    values, known, suggested = parameters.resolve(number), parameters.declared(number), examples(number)
    own = {study.function.__name__: study for study in registry.of(number).values()}

    @functools.cache
    def seconds(name: str) -> float:
        return _seconds(own[name], registry.grids(number, values, own[name])[own[name]])

    found = {}
    for label in figure_labels(book.cells) if labels is None else labels:
        code = [book.cells[i].source for i in needed(book.cells, label)[1:]]
        shown = _designs_shown(code, own, values)
        used = set().union(*(flow(source).used for source in code))
        for name, designs in shown.items():
            used = used.union(*(own[name].grid.knobs(values, design) for design in designs))
        knobs = [one for name, one in known.items() if name in used and name != "profile"]
        bases = {
            f"{name}.{base}" for name in shown for one in shown[name] for base in own[name].grid.inherits(values, one)
        }
        took = sum(map(seconds, shown))
        found[label] = Change(knobs, [own[name] for name in shown], took, frozenset(bases), suggested.get(label))
    return found


def _designs_shown(
    code: Iterable[str], own: Mapping[str, Study], values: Mapping[str, Any]
) -> dict[str, Collection[str]]:
    """The designs of each study for which cells ask, ``chapter.rows(studies.growth, "planes")``; all if unnamed."""
    asked: dict[str, set[str]] = {}
    for node in (node for source in code for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)):
        study = node.args[0].attr if node.args and isinstance(node.args[0], ast.Attribute) else None
        if study not in own or _base(node.func) != "chapter":
            continue
        named = node.args[1] if len(node.args) > 1 else None
        is_written = isinstance(named, ast.Constant)
        asked.setdefault(study, set()).update([named.value] if is_written else own[study].grid.names(values))
    return {name: asked[name] for name in own if name in asked}


def _seconds(study: Study, grid: Sequence[Entries]) -> float:
    """The expected seconds of a grid; for a study with stored results only, those that they took."""
    there = Results(study).records if not queue.recorded(study) else {}
    asked = {cell.key(): cell for cell in cells_of(study, grid)}
    left = queue.chunks({study.name: study}, [cell for key, cell in asked.items() if key not in there])
    return sum(map(queue.seconds, left)) + sum(there[key].provenance["seconds"] for key in asked.keys() & there.keys())
