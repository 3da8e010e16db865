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
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regimes.validate import InputError

NotebookCell = Any  # nbformat, whose it is, takes a second to load, and a chapter makes no notebook
TAG = "caption"
GLUED = "application/papermill.record/"  # before the type of what a cell keeps for the words of its page
_ROLE = re.compile(r"\{glue:text\}`([^`]+)`")
_SENTENCE = re.compile(r"(?<!\bFig)(?<!\bFigs)(?<!\bEq)(?<!\bSec)(?<!\bApp)\.(?:\*\*)? ")
_PANELS = ("Left", "Middle", "Right", "Top", "Bottom", "Above", "Below", "Upper", "Lower")
_WORDS = {  # of symbols
    r"\\ge(?![a-z])": " ≥ ",
    r"\\le(?![a-z])": " ≤ ",
    r"\\frac(\d)(\d)": r"\1/\2",
    r"(?<=[^\W_])\\": r" \\",
}
_SHOWS = re.compile(r"chapter\.(?:figure|slider)\(")


def is_caption(cell: NotebookCell) -> bool:
    """Whether a cell is the caption of the figure above it."""
    return cell.cell_type == "markdown" and TAG in cell.metadata.get("tags", [])


def of_cells(cells: Sequence[NotebookCell]) -> dict[int, str]:
    """The captions below cells that show a figure, by the index of the cell.

    Raises:
        InputError: for a caption without a figure above it.
    """
    by_cell = {}
    for index, cell in enumerate(cells):
        if is_caption(cell):
            if not index or not _SHOWS.search(cells[index - 1].source):
                raise InputError(f"no figure stands above the caption {cell.source[:40]!r}")
            by_cell[index - 1] = " ".join(cell.source.split())
    return by_cell


def glued(cells: Iterable[NotebookCell]) -> dict[str, str]:
    """What executed cells keep for the words of their page, by name."""
    outputs = (output for cell in cells for output in cell.get("outputs", []))
    recorded = [output for output in outputs if "scrapbook" in output.get("metadata", {})]
    return {output.metadata.scrapbook.name: output.data[f"{GLUED}text/plain"] for output in recorded}


def filled(text: str, glued: Mapping[str, str]) -> str:
    """Words with what cells keep in the place of its role; a dash where nothing was kept."""
    return _ROLE.sub(lambda match: glued.get(match[1], "—"), text)


def drawn(caption: str) -> str:
    r"""What a caption says is drawn, with words for symbols, for screen readers: ``$\Lambda^*$`` is ``Lambda^*``.

    It is the second sentence, after the answer, with those of the other panels; the answer where there is no other.
    """
    answer, *others = _SENTENCE.split(caption)
    last = next((i for i, sentence in enumerate(others[1:], 1) if not sentence.startswith(_PANELS)), len(others))
    plain = re.sub(r",?\s*\{[\w:]+\}`[^`]*`", "", ". ".join(others[:last]) or answer)
    for symbol, word in _WORDS.items():
        plain = re.sub(symbol, word, plain)
    return re.sub(r"[$\\{}]|\*\*", "", plain)
