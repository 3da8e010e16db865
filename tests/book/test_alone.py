"""A figure is one cell: it needs the imports, the parameters and its own rows, and so it can be copied and changed."""

import ast
import builtins

import jupytext
import pytest

from companion.experiments import parameters
from companion.report import captions

LINES = 30  # of a cell
SHOWS = {"figure", "slider", "table"}


def code_of(number):
    """The cells with code of a chapter: its parameters, what all share, and those of its figures."""
    cells = jupytext.read(parameters.source(number)).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    (first,) = [cell.source for cell in code if "parameters" in cell.metadata.get("tags", [])]
    (shared,) = [cell.source for cell in code if "Chapter(" in cell.source]
    return first, shared, [cell.source for cell in code if cell.source not in (first, shared)]


def names(source):
    """The names that code reads, and those that it gives a value."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    given = {node.id for node in nodes if not isinstance(node.ctx, ast.Load)}
    given |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    given |= {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}
    for one in ast.walk(tree):
        if isinstance(one, ast.Import | ast.ImportFrom):
            given |= {(name.asname or name.name).partition(".")[0] for name in one.names}
    return {node.id for node in nodes if isinstance(node.ctx, ast.Load)}, given


def calls(source):
    """The methods of the chapter that code calls."""
    found = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [one.attr for one in found if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "chapter"]


def is_told_in_cells(number):
    return "chapter.say(" not in parameters.source(number).read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [number for number in parameters.chapters() if is_told_in_cells(number)])
def test_each_figure_is_one_cell_of_its_own(number):
    first, shared, figures = code_of(number)
    known = set(dir(builtins)) | names(first)[1] | names(shared)[1]
    for source in figures:
        used, given = names(source)
        assert used <= known | given, f"{used - known - given} of another cell: {source}"
        shown = [call for call in calls(source) if call in SHOWS]
        assert len(shown) == 1, f"it shows {len(shown)}: {source}"
        assert len(source.splitlines()) <= LINES, source
        assert not {"say", "check"} & {*calls(source)}
    assert not [node for node in ast.parse(shared).body if isinstance(node, ast.FunctionDef)], "these are the library's"


@pytest.mark.parametrize("number", parameters.chapters())
def test_a_caption_stands_below_each_figure(number):
    cells = jupytext.read(parameters.source(number)).cells
    found = captions.of_cells(cells)
    for index, caption in found.items():
        assert caption.startswith("**") and caption.count("**") == 2, caption
        assert {"figure", "slider"} & {*calls(cells[index].source)}
    if is_told_in_cells(number):
        shown = {
            i
            for i, cell in enumerate(cells)
            if cell.cell_type == "code" and {"figure", "slider"} & {*calls(cell.source)}
        }
        assert shown == found.keys()
