"""References of the smoke book: what each chapter shows, as a notebook without numbers, and its ledger, as numbers.
Beside them what the laptop's chapters say of stored rows and draw from them (``NN.said.txt``), and what the programs
print for which the reader has a model: ``book/yours/*.txt``.

``make references`` renews them; look at the diff before committing it. They catch drift: that a figure, a caption, a
table, a verdict or a sentence has come, gone or changed, and that an estimate, a number in a sentence or what a figure
shows has moved (``NN.smoke.txt``). What numbers should be is for the tests of theory and for the claims.
"""

import base64
import html
import io
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from companion.book import ledger
from companion.book.captions import GLUED
from companion.lab import parameters
from companion.lab.store import stamp
from tests import stored_ledger

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "references"
LEDGER = FOLDER / "ledger.csv"
SMOKE = ROOT / "build" / "smoke"
YOURS = sorted((ROOT / "book" / "yours").glob("*.py"))
_NUMBER = re.compile(r"(?<![\w.])(?<![A-Za-z]-)[-+−]?(?:\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|inf|nan)(?![\w.]*\w)")
_MATHS = re.compile(r"(\^|_)\{?[-−]?\d+(?:\.\d+)?\}?")
_LIST = re.compile(r"#(?:[\s,;:/–-]*(?:and |to )?#)+")
_WORD = re.compile(r"<!-- (.*?) -->", re.DOTALL)  # matplotlib draws letters as lines, and keeps the words beside them
_FRAME = re.compile(r'src="data:image/webp;base64,([^"]+)"')
_CLAIM = re.compile(r"<code>([A-Z]\.[\w-]+)</code>")


def without_numbers(text: str) -> str:
    """Every number, power and run of numbers as one ``#``: their values and how many there are differ by processor."""
    return _LIST.sub("#", _NUMBER.sub("#", _MATHS.sub(r"\1#", text)))


def executed(number: str) -> dict[str, nbformat.NotebookNode]:
    """The notebooks of a chapter's pages in the smoke book, by name."""
    paths = [SMOKE / f"{page.stem}.ipynb" for page in parameters.page_sources(number)]
    assert all(path.exists() for path in paths), "the smoke book is not built: make test (or make book PROFILE=smoke)"
    return {path.stem: nbformat.read(path, as_version=4) for path in paths}


def described(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """What the cells of an executed chapter show, one Markdown cell for each cell that shows something."""
    lines_of_cells = [list(filter(None, map(_line, cell.get("outputs", [])))) for cell in notebook.cells]
    cells = [nbformat.v4.new_markdown_cell("\n".join(_joined(lines))) for lines in lines_of_cells if lines]
    for cell in cells:
        del cell["id"]  # of chance
    return nbformat.v4.new_notebook(cells=cells, nbformat_minor=4)


def _line(output: nbformat.NotebookNode) -> str:
    """One output in a line: a figure, a table, a verdict, a sentence."""
    if output.output_type == "stream":
        return without_numbers(f"printed: {output.text.strip()}") if output.name == "stdout" else ""
    about, page = output.get("metadata", {}).get("regimes"), output.get("data", {}).get("text/html", "")
    if about:
        moves = " (a slider)" if page else ""
        marks = _drawn(output.data.get("image/svg+xml", ""))
        return f"{about['name']}{moves}: {without_numbers(about['caption'])}{marks}"
    if page.startswith('<div class="verdict'):
        return f"claim {', '.join(_CLAIM.findall(page))}"
    if page.startswith("<table"):
        name = re.search(r'id="([^"]*)"', page)[1]
        caption = _words(re.search(r"<caption>(.*?)</caption>", page, re.S)[1])
        columns = " | ".join(map(_words, re.findall(r"<th[^>]*>(.*?)</th>", page.partition("</thead>")[0], re.S)))
        return f"{name}: {without_numbers(caption)} [{columns}]"
    glued = output.get("metadata", {}).get("scrapbook")
    return f"number {glued['name']}" if glued else without_numbers(output.data.get("text/markdown", "something else"))


def _drawn(svg: str) -> str:
    """The marks of a drawing's panels, by kind, and its words but for usual ticks; of one in pixels nothing."""
    if not svg:
        return ""
    kinds = Counter(kind for kind, _ in _marks(svg))
    marks = [f"{kinds[kind]} {kind or 'image'}" for kind in sorted(kinds) if kind not in ("matplotlib.axis", "patch")]
    words = dict.fromkeys(without_numbers(html.unescape(word)) for word in _WORD.findall(svg) if "mathdef" not in word)
    return f" [{', '.join(marks)}: {' | '.join(word for word in words if word not in ('#', '$#$', '$#^#$'))}]"


def _marks(svg: str) -> list[tuple[str, ElementTree.Element]]:
    """The parts of a drawing's panels, each with its kind, such as ``line2d``."""
    panels = [part for part in ElementTree.fromstring(svg).iter() if part.get("id", "").startswith("axes_")]
    return [(mark.get("id", "").rpartition("_")[0], mark) for panel in panels for mark in panel]


def numbers(notebook: nbformat.NotebookNode) -> list[str]:
    """What is measured in the sentences of an executed chapter; the size of figures, and where lines and areas lie."""
    lines = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data, about = output.get("data", {}), output.get("metadata", {}).get("regimes", {})
        if about and "image/svg+xml" in data:
            lines.append(" ".join([f"{about['name']}:", *_places(data["image/svg+xml"])]))
            lines += [f"{about['name']}, film: {shade}" for shade in _shades(data.get("text/html", ""))]
        elif glued := output.get("metadata", {}).get("scrapbook"):
            lines.append(f"{glued['name']}: {data[GLUED + 'text/plain']}")
    return lines


def _places(svg: str) -> list[str]:
    """A picture's size in points; over it the mean place of lines and areas, and that which counts later ones more.

    Then the same of bars and other shapes, and how thick, pale and dashed all these are.
    """
    size = np.array([float(end) for end in ElementTree.fromstring(svg).get("viewBox").split()[2:]])
    means: dict[bool, list] = {False: [], True: []}
    for kind, mark in _marks(svg):
        if kind in ("line2d", "patch") or "Collection" in kind:
            lines = [part.get("d") for part in mark.iter() if part.get("d") and not part.get("id")]
            points = [place for line in lines for place in re.findall(r"(-?[\d.]+) (-?[\d.]+)", line)]
            points += [(part.get("x"), part.get("y")) for part in mark.iter() if part.get("y") and part.get("x")]
            if points and (kind != "patch" or _is_shape(mark, len(points))):
                means[kind == "patch"].append(np.array(points, dtype=float).mean(0) / size)
    words = [f"{length:.0f}" for length in size] + ["pt"]
    for places in filter(len, means.values()):
        weights = np.linspace(0, 2, len(places))[:, None]
        words += [f"{x:.3f}" for x in (*np.mean(places, 0), *np.mean(weights * places, 0))]
    return [*words, _styles(svg)]


def _is_shape(mark: ElementTree.Element, points: int) -> bool:
    """Whether a patch is neither a panel's frame, of two points a side, nor the white of its ground."""
    return points > 2 and not any("fill: #ffffff" in part.get("style", "") for part in mark.iter())


def _styles(svg: str) -> str:
    """Widths, dashes and opacities of the marks of all panels, and the colours of lines and shapes, in a word.

    It is compared to the letter.
    """
    styles = set()
    for kind, mark in _marks(svg):
        text = " ".join(part.get("style", "") for part in mark.iter())
        if kind in ("line2d", "patch") or "Collection" in kind:
            styles |= {*re.findall(r"(?:width|dasharray|opacity): ([\d.,]+)", text)}
        if kind in ("line2d", "patch"):
            styles |= {*re.findall(r"(?:stroke|fill): #([0-9a-f]{6})", text)} - {"ffffff", "000000", "262626"}
    return "_".join(["drawn", *sorted(styles)])


def _shades(page: str) -> list[str]:
    """Of the pictures of a film, which have no marks: how much ink the first, the middle one and the last have."""
    films = [base64.b64decode(frame) for frame in _FRAME.findall(page)]
    inks = [255 - np.asarray(Image.open(io.BytesIO(frame)).convert("L"), dtype=float) for frame in films]
    return [" ".join(f"{inks[i].mean():.2f}" for i in (0, len(inks) // 2, -1))] if inks else []


def _words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def _joined(lines: list[str]) -> list[str]:
    """Claims that follow each other in one line."""
    joined: list[str] = []
    for line in lines:
        if joined and line.startswith("claim ") and joined[-1].startswith("claim "):
            joined[-1] += f", {line.removeprefix('claim ')}"
        else:
            joined.append(line)
    return joined


def measured() -> pd.DataFrame:
    """The estimates and verdicts of the smoke book, by claim."""
    records = [r for number in parameters.chapters() for r in ledger.read(SMOKE / f"{number}.ledger.json")]
    rows = pd.DataFrame(records)[["id", "value", "low", "high", "verdict"]]
    return rows.sort_values("id").set_index("id").fillna({"verdict": ""})


def printed(program: Path) -> str:
    """What a program of ``book/yours`` prints."""
    return subprocess.run([sys.executable, program], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def main() -> int:
    """Writes the references from the smoke book."""
    FOLDER.mkdir(exist_ok=True)
    for number in parameters.chapters():
        notebooks = executed(number)
        for stem, notebook in notebooks.items():
            nbformat.write(described(notebook), FOLDER / f"{stem}.ipynb")
            print(f"wrote tests/references/{stem}.ipynb")
        lines = [line for notebook in notebooks.values() for line in numbers(notebook)]
        (FOLDER / f"{number}.smoke.txt").write_text("\n".join([stamp()["device"], *lines, ""]), encoding="utf-8")
    for number in parameters.chapters():
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            stored_ledger.entries(number, Path(folder), patch)
            sentences = stored_ledger.OfStored.said
        (FOLDER / f"{number}.said.txt").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
        print(f"wrote tests/references/{number}.said.txt")
    measured().to_csv(LEDGER, float_format="%.6g")
    print("wrote tests/references/ledger.csv")
    for program in YOURS:
        program.with_suffix(".txt").write_text(printed(program), encoding="utf-8")
        print(f"wrote book/yours/{program.stem}.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
