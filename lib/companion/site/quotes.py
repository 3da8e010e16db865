"""Where pages quote claims: the sentences that have the measured number of each, to lead from its row back to them."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from companion import paths
from companion.book import captions, ledger

ROLE = re.compile(r"\{(?:claim|interval)\}`([^`]+)`")
_FENCE = re.compile(r"^\s*(?:`{3,}|:{3,}).*$|^\(.*\)=$", re.MULTILINE)  # the lines of directives and labels
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s)")  # paragraphs, entries of lists, rows, headings
_HEADING = re.compile(r"^(#+ .*)$", re.MULTILINE)
_MARKER = re.compile(r"^\s*(?:[-*>]|#+|\d+\.)\s+")
_SHORT = "".join(rf"(?<!\b{word})" for word in ("Fig", "Figs", "Eq", "Eqs", "Sec", "Tab", "App", "Prop", "Thm"))
_END = re.compile(rf"{_SHORT}[.?!]\)?(?:\*\*)?\s+(?=[^a-z\s])")
_PLACES = r"\{(?:numref|eq|ref|cite|cite:p)\}`[^`]*`"  # what only Sphinx can name
_ASIDES = re.compile(rf"\s*\((?:see\s+)?{_PLACES}(?:(?:,|;|\s+and)\s*{_PLACES})*\)|\s*\{{cite(?::p)?\}}`[^`]*`")
_NUMBERED = re.compile(r"\{(numref|eq)\}`[^`<]*`")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\([^)]*\)")
_ITALIC = re.compile(r"\$[^$]*\$|(?<![*\w])\*(?!\*)([^*$]+)\*(?![*\w])")  # or a formula, which stays


@dataclass(frozen=True)
class Quote:
    """A sentence that has the measured number of a claim.

    Attributes:
        page: the title of its page.
        address: of the number, seen from a page in ``book/``.
        words: the sentence as Markdown; the other numbers of the ledger stand in it.
    """

    page: str
    address: str
    words: str


def anchor(name: str, count: int) -> str:
    """The address on a page of the ``count``-th number, from one on, of a claim."""
    return f"quoted-{name}" + (f"-{count}" if count > 1 else "")


def quotes(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Quote]]:
    """The sentences of all pages that quote each claim, in the order of the pages; of staged chapters and ``book/``.

    ``entries`` of the ledger by claim give the numbers; of a claim that is not there Sphinx says so.
    """

    def number(role: re.Match[str]) -> str:
        interval = role[0].startswith("{interval")
        return ledger.in_text(entries[role[1]], interval=interval) if role[1] in entries else role[1]

    found: dict[str, list[Quote]] = {}
    for address, title, text in _pages():
        counts: Counter[str] = Counter()
        for sentence in sentences(text):
            words = _plain(ROLE.sub(number, sentence))
            for name in ROLE.findall(sentence):
                counts[name] += 1
                found.setdefault(name, []).append(Quote(title, f"{address}#{anchor(name, counts[name])}", words))
    return found


def sentences(text: str) -> Iterator[str]:
    """The sentences of Markdown that name a claim, each on one line, in order."""
    for block in _BLOCK.split(_HEADING.sub(r"\1\n", _FENCE.sub("\n", text))):
        line = " ".join(_MARKER.sub("", block).split())
        start = 0
        ends = [it.end() for it in _END.finditer(line) if line.count("$", 0, it.start()) % 2 == 0]  # in no formula
        for end in [*ends, len(line)]:
            if ROLE.search(line[start:end]):
                yield line[start:end].strip(" |")
            start = end


def _plain(sentence: str) -> str:
    """A sentence for a page without Sphinx: it names no place that only this can number."""
    words = _NUMBERED.sub(
        lambda match: "the figure" if match[1] == "numref" else "the equation", _ASIDES.sub("", sentence)
    )
    words = _ITALIC.sub(lambda match: match[1] or match[0], _LINK.sub(r"\1", words))
    return words if words.count("**") % 2 == 0 else words.replace("**", "")


def _pages() -> Iterator[tuple[str, str, str]]:
    """Address, title and Markdown of each page that may quote a claim: of chapters, of ``book/``, of the papers."""
    book = paths.root() / "book"
    for path in [*sorted(book.glob("*.md")), *sorted(book.glob("teach/*.md"))]:
        text = path.read_text(encoding="utf-8")
        if heading := re.search(r"^# (.+)$", text, re.MULTILINE):
            yield path.relative_to(book).with_suffix(".html").as_posix(), heading[1], text
    for path in sorted(paths.chapters_folder().glob("*.ipynb")):
        text = "\n\n".join(_shown(path))
        yield f"../chapters/{path.stem}.html", re.search(r"^# (.+)$", text, re.MULTILINE)[1], text
    for letter, about in ledger.about_papers().items():
        said = "\n\n".join(about[part] for part in ("stands", "fails", "open"))
        yield f"paper-{letter.lower()}.html", f"Paper {letter}: what holds", said


def _shown(path: Path) -> Iterator[str]:
    """The words of a staged page, cell by cell, with the captions of its figures."""
    cells = nbformat.read(path, as_version=4).cells
    kept = captions.glued(cells)
    for cell in cells:
        words = (
            cell.source
            if cell.cell_type == "markdown"
            else cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
        )
        yield captions.filled(words, kept)
