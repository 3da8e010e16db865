"""HTML: ``python -m companion.site.pages laptop`` builds the staged book; ``of_run`` the pages of a reader's run.

Jupyter Book builds both; the pages need no network. They are built in a new folder, which replaces the last good one by
one rename if the build succeeds.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import yaml

from companion import paths
from companion.experiments import parameters
from companion.experiments.cli import one_line_errors
from companion.report import changes, figures, ledger, views
from companion.site import locks, sources, versions
from regimes import validate

SETTINGS = ("_toc.yml", "_config.yml", "book/references.bib")  # where one changes all pages are read anew
STRICT = ("-n", "-W", "--keep-going")  # the book's: a reference that leads nowhere is an error
_LABEL = re.compile(  # in a chapter's source: of headings, equations, tables and figures
    r'^(?:# ?)?(?:\(([^()\s]+)\)=|:(?:label|name): *(\S+))|\$\$ *\(([^()\s]+)\)|\bid="([^"]+)"|"((?:fig|tab)-[\w-]+)"',
    re.M,
)


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
            build(paths.root(), out, *STRICT, cache=paths.build_folder(profile) / ".sphinx")
        except PagesError as error:
            print(f"{error}\nerror: the pages were not built; the last good ones stay as they were", file=sys.stderr)
            return 1
    return 0


def build(source: Path, out: Path, *options: str, cache: Path | None = None) -> None:
    """Builds a Jupyter Book; ``out``, a symbolic link, points at the new pages when all are built.

    Args:
        source: the book's sources.
        out: the link.
        options: of Jupyter Book.
        cache: Sphinx's cache; with it the next build reads only pages that have changed, by the time stamps of what
            they include and document, too.

    Raises:
        PagesError: if a page cannot be built; the last good ones stay.
    """
    fresh = versions.fresh(out)
    work, shown = cache or fresh / "sphinx", "\n".join(_text(source / name) for name in SETTINGS)
    noted = work / "settings"
    if _text(noted) != shown:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(exist_ok=True)
    noted.unlink(missing_ok=True)  # a build that fails or is killed leaves nothing to go on from
    program = "import sys, companion; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "build", str(source), "--path-output", str(work), "-q"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # its last words name a folder inside: they are shown only where it fails
    how = {"env": os.environ | {"PATH": path}, "cwd": source}  # some paths in the settings are seen from there
    done = subprocess.run([*command, *options], **how, capture_output=True, text=True)
    made, pages = work / "_build" / "html", fresh / "html"
    if done.returncode or not (made / "index.html").exists():
        shutil.rmtree(fresh, ignore_errors=True)
        said = (done.stderr or done.stdout).strip()
        raise PagesError(said.partition("Traceback")[0].strip() or said.rpartition("\n")[2])
    shutil.copytree(made, pages)
    _notebooks(pages)
    if cache is None:
        shutil.rmtree(work, ignore_errors=True)
    else:
        noted.write_text(shown, encoding="utf-8")
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


def of_run(folder: Path) -> Path:
    """Builds the pages of a run: chapters, changed parameters, verdicts; returns the first page."""
    with locks.alone(folder / ".html.lock", f"the pages of {folder.name} are being built"):
        with tempfile.TemporaryDirectory() as made:
            _lay_out(folder, Path(made))
            build(Path(made), folder / "html")
    return folder / "html" / "index.html"


def of_figure(folder: Path, number: str, label: str) -> Path:
    """Writes the page of a run of one figure or table, without Sphinx: its reader waits; returns the page."""
    path = folder / f"{figures.figures(number)[label].page.stem}.ipynb"
    chapter, outputs = _chapter([path]), [out for cell in _read(path).cells for out in cell.get("outputs", [])]
    tables = [out.data["text/html"] for out in outputs if out.get("metadata", {}).get("table") == label]
    with locks.alone(folder / ".html.lock", f"the pages of {folder.name} are being built"):
        fresh = versions.fresh(folder / "html")
        rows = path.resolve().parent / "rows" / f"{label}.csv"
        shown = {"output": _figures(path).get(label), "book": chapter["figures"].get(label, (None, None))[1]}
        shown |= {"tables": tables, "rows": rows.name if rows.exists() else "", "notebook": path.name}
        if rows.exists():
            shutil.copy(rows, fresh)
        static = os.path.relpath(paths.root() / "_static", folder.resolve() / "html")
        page = views.page("figure", name=folder.name, label=label, chapter=chapter, static=static, **shown)
        (fresh / "index.html").write_text(page, encoding="utf-8")
        versions.swap(fresh, folder / "html")
    return folder / "html" / "index.html"


def _lay_out(folder: Path, source: Path) -> None:
    """Writes the sources of a run's pages: a small book with the settings of the large one."""
    ran = {number: _ran(folder, number) for number in parameters.chapters() if _ran(folder, number)}
    overview = views.markdown("run", name=folder.name, chapters=[_chapter(notebooks) for notebooks in ran.values()])
    pages, measured = [], []
    for number, notebooks in ran.items():
        records = ledger.read(folder / f"{number}.ledger.json")
        measured += records
        for path in notebooks:
            book = {label: theirs for label, (_, theirs) in _changed(path).items()}
            page = sources.chapter_page(path, source / "extra", records, book)
            nbformat.write(page, source / path.name)
        first, *rest = [path.stem for path in notebooks]
        pages.append({"file": first} | ({"sections": [{"file": stem} for stem in rest]} if rest else {}))
    ledger.write(source / "extra" / "ledger.json", measured)
    references = paths.root() / "book" / "references.bib"
    if references.exists():
        shutil.copy(references, source)
        (source / "references.md").write_text("# References\n\n```{bibliography}\n```\n", encoding="utf-8")
        pages.append({"file": "references"})
    if (paths.root() / "_static").exists():
        (source / "_static").symlink_to(paths.root() / "_static")
    (source / "index.md").write_text(overview, encoding="utf-8")
    toc = {"format": "jb-book", "root": "index", "chapters": pages}
    (source / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    (source / "_config.yml").write_text(yaml.safe_dump(_config(folder.name, references.exists())), encoding="utf-8")


def _ran(folder: Path, number: str) -> list[Path]:
    """The notebooks of a chapter in a run's folder, in the order of its pages."""
    own = [folder / f"{page.stem}.ipynb" for page in parameters.page_sources(number)]
    return [path for path in own if path.exists()]


def _changed(run: Path) -> dict[str, tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
    """A run's figures that differ from the book's, and the book's, by label; equal rows draw equal pictures."""
    book, own = _figures(paths.build_folder("laptop") / run.name), _figures(run)
    pairs = {label: (own[label], book[label]) for label in own if label in book}
    same = [label for label, pair in pairs.items() if len({one.data["image/png"].strip() for one in pair}) == 1]
    return {label: pair for label, pair in pairs.items() if label not in same}


def _figures(path: Path) -> dict[str, nbformat.NotebookNode]:
    """The outputs of a notebook that show figures, by label; empty if there is no notebook."""
    cells = _read(path).cells if path.exists() else []
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    return {out.metadata.regimes.name: out for out in outputs if out.get("metadata", {}).get("regimes")}


def _read(path: Path) -> nbformat.NotebookNode:
    """A notebook of the runner's, which has checked it."""
    return nbformat.v4.reads(path.read_text(encoding="utf-8"))


def _config(name: str, cites: bool) -> dict[str, Any]:
    """The book's settings, for the pages of a run."""
    path = paths.root() / "_config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {"sphinx": {"config": {}}}
    config.pop("bibtex_bibfiles", None)
    config |= {"title": f"Run {name}", "exclude_patterns": []} | (
        {"bibtex_bibfiles": ["references.bib"]} if cites else {}
    )
    config["sphinx"]["extra_extensions"] = ["companion.site.extension"]
    config["sphinx"]["config"] |= {"html_extra_path": ["extra"], "book_labels": label_places()}
    return config


def _chapter(notebooks: Sequence[Path]) -> dict[str, Any]:
    """A chapter on a run's first page: changes against the laptop book (``results/`` if it is not built), verdicts."""
    first, built = notebooks[0], paths.build_folder("laptop")
    number = first.name[:2]
    given = dict(_read(first).metadata.papermill.parameters)
    profile, given = given.pop("profile"), given | given.pop("designs", {})
    book, usual = parameters.resolve(number), parameters.resolve(number, profile)
    own = {name: (book.get(name), value) for name, value in given.items() if usual.get(name) != value}
    records, kept = ledger.read(first.with_name(f"{number}.ledger.json")), paths.results() / "ledger.json"
    known = {r["id"]: r for r in ledger.read(built / f"{number}.ledger.json") or ledger.read(kept)}
    pairs = [(known[r["id"]], r) for r in records if r["id"] in known]
    is_built = (built / first.name).exists()
    places = {label: path.stem for path in notebooks for label in _figures(path)}
    shown: dict[str, Any] = {}
    for path in notebooks:
        shown |= _changed(path) if is_built else {label: (output, None) for label, output in _figures(path).items()}
    if own and not is_built and profile == "laptop" and len(shown) > 1:
        turned = changes.changes(number)
        shown = {label: pair for label, pair in shown.items() if label not in turned or turned[label].of(own)} or shown
    return {
        "number": int(number),
        "page": first.stem,
        "profile": profile,
        "own": own,
        "meanings": {name: parameter.meaning for name, parameter in parameters.declared(number).items()},
        "built": is_built,
        "records": records,
        "others": [pair for pair in pairs if len({one["verdict"] for one in pair}) > 1],
        "same": len(pairs),
        "figures": shown,
        "pages": places,
    }


def label_places() -> dict[str, str]:
    """The place of each label of a chapter, in words: ``chapter 5``."""
    found = {}
    for number, source in ((n, page) for n in parameters.chapters() for page in parameters.page_sources(n)):
        for groups in _LABEL.findall(source.read_text(encoding="utf-8")):
            found["".join(groups)] = f"chapter {int(number)}"
    return found


if __name__ == "__main__":
    sys.exit(main())
