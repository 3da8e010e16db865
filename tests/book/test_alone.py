"""A figure is one cell: it needs the imports, the parameters and its own rows, and so it can be copied and changed."""

import ast
import builtins

import jupytext
import pytest

from companion.book import captions, changes
from companion.book import figures as places
from companion.lab import parameters

SHOWS = {"figure", "slider", "table"}


PAGES = [page for number in parameters.chapters() for page in parameters.page_sources(number)]


def code_of(page):
    """The cells with code of a page: its parameters, what all share, and those of its figures."""
    code = [cell for cell in jupytext.read(page).cells if cell.cell_type == "code"]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_figure_is_one_cell_of_its_own(page):
    first, shared, figures = code_of(page)
    known = set(dir(builtins)) | names(first)[1] | names(shared)[1]
    for source in figures:
        used, given = names(source)
        assert used <= known | given, f"{used - known - given} of another cell: {source}"
        shown = [call for call in calls(source) if call in SHOWS]
        assert len(shown) == 1, f"it shows {len(shown)}: {source}"
        assert not {"say", "check"} & {*calls(source)}
    assert not [node for node in ast.parse(shared).body if isinstance(node, ast.FunctionDef)], "these are the library's"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_caption_stands_below_each_figure(page):
    cells = jupytext.read(page).cells
    found = captions.of_cells(cells)
    for caption in found.values():
        assert caption.startswith("**") and caption.count("**") == 2, caption
    code = {index: cell.source for index, cell in enumerate(cells) if cell.cell_type == "code"}
    shown = {index for index, source in code.items() if {"figure", "slider"} & {*calls(source)}}
    assert shown == found.keys()


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("number", parameters.chapters())
def test_a_page_declares_the_parameters_that_change_its_figures(number):
    """So that who opens it in Jupyter can turn them; and no others."""
    found = changes.changes(number)
    for page in parameters.page_sources(number):
        drawn = [label for label, figure in places.figures(number).items() if figure.page == page]
        used = {knob.name for label in drawn for knob in found[label].knobs}
        declared = parameters.declared_by(page).keys() - {"profile"}
        others = names("".join(code_of(page)[1]))[0]
        assert used <= declared, (page.name, used - declared)
        assert declared <= used | others, (page.name, declared - used)
