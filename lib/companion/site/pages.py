"""HTML: ``python -m companion.site.pages laptop`` builds the staged book; ``of_run`` the page of a reader's run.

The pages need no network. They are built in a new folder, which replaces the last good one by one rename.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

from companion import paths
from companion.book import changes, figures, ledger, screen, views
from companion.lab import parameters
from companion.lab.cli import one_line_errors
from companion.site import locks, versions
from regimes import validate

SETTINGS = ("_toc.yml", "_config.yml", "book/references.bib")  # where one changes all pages are read anew
STRICT = ("-n", "-W", "--keep-going")  # the book's: a reference that leads nowhere is an error


class PagesError(RuntimeError):
    """Jupyter Book failed; the message is its own."""


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m companion.site.pages", description=__doc__)
    parser.add_argument("profile", help="smoke, laptop or paper; python -m companion.site.sources must have staged it")
    profile = parser.parse_args(argv).profile
    with one_line_errors():
        validate.one_of(parameters.PROFILES, profile=profile)
        out = paths.build_folder(profile) / "html"
        try:
            build(paths.root(), out, paths.build_folder(profile) / ".sphinx", *STRICT)
        except PagesError as error:
            print(f"{error}\nerror: the pages were not built; the last good ones stay as they were", file=sys.stderr)
            return 1
    return 0


def build(source: Path, out: Path, cache: Path, *options: str) -> None:
    """Builds a Jupyter Book; ``out``, a symbolic link, points at the new pages when all are built.

    Args:
        source: the book's sources.
        out: the link.
        cache: Sphinx's, so that the next build reads only pages that have changed, by the time stamps of what they
            include and document, too.
        options: of Jupyter Book.

    Raises:
        PagesError: if a page cannot be built; the last good ones stay.
    """
    fresh = versions.fresh(out)
    settings = "\n".join(_text(source / name) for name in SETTINGS)
    settings_file = cache / "settings"
    if _text(settings_file) != settings:
        shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(exist_ok=True)
    settings_file.unlink(missing_ok=True)  # a build that fails or is killed leaves nothing to go on from
    program = "import sys, companion; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "build", str(source), "--path-output", str(cache), "-q"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # its last words name a folder inside: they are shown only where it fails
    how = {"env": os.environ | {"PATH": path}, "cwd": source}  # some paths in the settings are seen from there
    done = subprocess.run([*command, *options], **how, capture_output=True, text=True)
    made, pages = cache / "_build" / "html", fresh / "html"
    if done.returncode or not (made / "index.html").exists():
        shutil.rmtree(fresh, ignore_errors=True)
        output = (done.stderr or done.stdout).strip()
        raise PagesError(output.partition("Traceback")[0].strip() or output.rpartition("\n")[2])
    shutil.copytree(made, pages)
    _notebooks(pages)
    settings_file.write_text(settings, encoding="utf-8")
    versions.swap(pages, out)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _notebooks(pages: Path) -> None:
    """Copies the notebooks to download in place of Sphinx's, also as scripts: a page on disk can save only these."""
    saved = {path.name for path in (pages / "notebooks").glob("*.ipynb")}
    for path in list(pages.rglob("*.ipynb")):
        if "_sources" in path.parts and path.name in saved:
            path.unlink()
            continue
        text = json.dumps(path.read_text(encoding="utf-8"))
        path.with_name(f"{path.name}.js").write_text(f"window.BOOK_NOTEBOOK = {text};\n", encoding="utf-8")


def of_run(folder: Path, number: str = "", label: str = "") -> Path:
    """Writes the page of a run, or of one figure or table of a chapter's run, without Sphinx: its reader waits.

    It has what its reader changed, the verdicts and figures that are no longer the book's, all tables and verdicts.
    Returns the page.
    """
    with locks.alone(folder / ".html.lock", f"the page of {folder.name} is being written"):
        fresh = versions.fresh(folder / "html")
        stems = [[page.stem for page in parameters.page_sources(chapter)] for chapter in parameters.chapters()]
        if label:
            stems = [[figures.figures(number)[label].page.stem]]
        existing = [[path for stem in pages if (path := folder / f"{stem}.ipynb").exists()] for pages in stems]
        chapters = [_chapter(notebooks, fresh, label) for notebooks in existing if notebooks]
        static = os.path.relpath(paths.root() / "_static", folder.resolve() / "html")
        page = views.page(
            "run", name=folder.name, label=label, chapters=chapters, static=static, address=screen.address
        )
        (fresh / "index.html").write_text(page, encoding="utf-8")
        versions.swap(fresh, folder / "html")
    return folder / "html" / "index.html"


def _outputs(notebooks: Sequence[Path]) -> list[nbformat.NotebookNode]:
    """What the cells of notebooks show; of those that are not there nothing."""
    cells = [cell for path in notebooks if path.exists() for cell in _read(path).cells]
    return [output for cell in cells for output in cell.get("outputs", [])]


def _figures(notebooks: Sequence[Path]) -> dict[str, nbformat.NotebookNode]:
    """The outputs that show figures, by label."""
    outputs = [output for output in _outputs(notebooks) if output.get("metadata", {}).get("regimes")]
    return {output.metadata.regimes.name: output for output in outputs}


def _tables(notebooks: Sequence[Path]) -> dict[str, str]:
    """The tables, as HTML, by label."""
    outputs = [output for output in _outputs(notebooks) if output.get("metadata", {}).get("table")]
    return {output.metadata.table: output.data["text/html"] for output in outputs}


def _read(path: Path) -> nbformat.NotebookNode:
    """A notebook of the runner's, which has checked it."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def _chapter(notebooks: Sequence[Path], fresh: Path, label: str = "") -> dict[str, Any]:
    """A chapter of a run: changes against the laptop book (``results/`` if it is not built), verdicts, figures.

    A figure is shown where its picture differs from the book's (equal rows draw equal ones); one that was asked for by
    its ``label`` anyway. Its rows are copied into ``fresh``.
    """
    first = notebooks[0]
    number = first.name[:2]
    injected = dict(_read(first).metadata.papermill.parameters)
    profile = injected.pop("profile")
    injected |= injected.pop("designs", {})
    laptop_values, profile_values = parameters.resolve(number), parameters.resolve(number, profile)
    changed = {n: (laptop_values.get(n), value) for n, value in injected.items() if profile_values.get(n) != value}
    built = paths.build_folder("laptop")
    entries = ledger.read(first.with_name(f"{number}.ledger.json"))
    of_book = ledger.read(built / f"{number}.ledger.json") or ledger.read(paths.results() / "ledger.json")
    by_id = {entry["id"]: entry for entry in of_book}
    pairs = [(by_id[entry["id"]], entry) for entry in entries if entry["id"] in by_id]
    is_built = (built / first.name).exists()
    here, there = _figures(notebooks), _figures([built / path.name for path in notebooks])
    same = {n for n in here.keys() & there.keys() if screen.shown(here[n].data) == screen.shown(there[n].data)}
    shown = [name for name in here if name == label or (not label and name not in same)]
    if changed and not is_built and profile == "laptop" and len(shown) > 1:
        dependences = changes.changes(number)
        shown = [n for n in shown if n not in dependences or dependences[n].of(changed)] or shown
    rows = {path.stem: path for path in (first.resolve().parent / "rows").glob("*.csv") if path.stem in shown}
    for path in rows.values():
        shutil.copy(path, fresh)
    return {
        "number": int(number),
        "profile": profile,
        "own": changed,
        "meanings": {name: parameter.meaning for name, parameter in parameters.declared(number).items()},
        "built": is_built,
        "entries": entries,
        "others": [(old, new) for old, new in pairs if old["verdict"] != new["verdict"]],
        "compared": len(pairs),
        "figures": {name: (here[name], None if name in same else there.get(name)) for name in shown},
        "same": same,
        "rows": {*rows},
        "tables": [page for name, page in _tables(notebooks).items() if label in ("", name)],
        "notebooks": [path.name for path in notebooks],
    }


if __name__ == "__main__":
    sys.exit(main())
