"""Captions: the Markdown cell with the tag ``caption`` below a cell that shows a figure.

::

    # %%
    fig, ax = plt.subplots()
    ...
    chapter.figure(fig, "fig-b-8d", rows)
    # %% [markdown] tags=["caption"]
    # **At the largest scale all three grow alike towards jamming.** Norm of the predictor on test points ...

Its bold first words are the answer, the rest says how to read the figure.
"""

import re
from collections.abc import Iterable, Sequence

import nbformat

from regimes.validate import InputError

TAG = "caption"
_SENTENCE = re.compile(r"(?<!\bFig)(?<!\bFigs)(?<!\bEq)(?<!\bSec)\.(?:\*\*)? ")
_SHOWS = re.compile(r"chapter\.(?:figure|slider)\(")


def is_caption(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell is the caption of the figure above it."""
    return cell.cell_type == "markdown" and TAG in cell.metadata.get("tags", [])


def of_cells(cells: Sequence[nbformat.NotebookNode]) -> dict[int, str]:
    """The captions below cells that show a figure, by the index of the cell.

    Raises:
        InputError: for a caption without a figure above it.
    """
    found = {}
    for index, cell in enumerate(cells):
        if is_caption(cell):
            if not index or not _SHOWS.search(cells[index - 1].source):
                raise InputError(f"no figure stands above the caption {cell.source[:40]!r}")
            found[index - 1] = " ".join(cell.source.split())
    return found


def without(cells: Iterable[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """The cells that are no captions: on a page these are part of the figure."""
    return [cell for cell in cells if not is_caption(cell)]


def first_sentence(caption: str) -> str:
    r"""The answer of a caption with words for symbols, for screen readers: ``$\Lambda^*$`` is ``Lambda^*``."""
    return re.sub(r"[$\\{}]|\*\*", "", re.sub(r"(?<=\w)\\", r" \\", _SENTENCE.split(caption)[0]))
