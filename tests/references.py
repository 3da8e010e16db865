"""Reference notebooks: what a chapter prints at the smoke profile, with numbers masked and pictures left out.

``make references`` renews them; look at the diff before committing it. They catch drift; tolerances that mean something
are tests over the ledger.
"""

import re
import sys
from pathlib import Path

import nbformat

from regimes.sweeps import parameters

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "references"
_FLOAT = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)")
_WHERE = re.compile(r"; \d+ cells, [^<]*</details>")  # seconds, device and revision of folded settings
_PICTURE = re.compile(r"data:image/[^\"]*")
_NOISE = 1e-9  # numbers below are round-off
_DIGITS = 2


def masked(text: str) -> str:
    """Every decimal number to two significant digits, so that another processor's round-off does not show.

    Nor does it show when and where a table's cells were computed, nor the frames of a slider.
    """

    def short(match: re.Match) -> str:
        value = float(match[0])
        return "0" if abs(value) < _NOISE else f"{value:.{_DIGITS}g}"

    return _FLOAT.sub(short, _WHERE.sub("</details>", _PICTURE.sub("", text)))


def comparable(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook's code and printed outputs: no pictures, metadata, counts or prose."""
    cells = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        timed = "wall-time" in cell.metadata.get("tags", [])  # seconds differ from run to run
        outputs = [] if timed else [_output(output) for output in cell.outputs if output.get("name") != "stderr"]
        cells.append(nbformat.v4.new_code_cell(cell.source, id=cell.id, outputs=outputs))
    return nbformat.v4.new_notebook(cells=cells)


def _output(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    output = nbformat.from_dict({k: v for k, v in output.items() if k not in ("metadata", "execution_count")})
    if "text" in output:
        output.text = masked(output.text)
    if "data" in output:
        kept = {kind: masked(text) for kind, text in output.data.items() if kind.startswith("text/")}
        output.data = {kind: text for kind, text in kept.items() if len(text) < 50_000}
        output.metadata = {}
    if output.output_type == "execute_result":
        output.execution_count = None
    return output


def main() -> int:
    """Writes the references from the notebooks of the smoke profile."""
    FOLDER.mkdir(exist_ok=True)
    for source in parameters.chapters().values():
        notebook = nbformat.read(ROOT / "build" / "smoke" / f"{source.stem}.ipynb", as_version=4)
        nbformat.write(comparable(notebook), FOLDER / f"{source.stem}.ipynb")
        print(f"wrote tests/references/{source.stem}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main())
