"""HTML: ``python -m companion.site.pages laptop`` builds the staged book; a run of a reader's gets a page too.

Jupyter Book builds both; the pages need no network. They are made beside the last good ones and take their place by one
rename, when all went well.
"""

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import yaml

from companion import paths
from companion.experiments import parameters
from companion.experiments.cli import one_line_errors
from companion.report import ledger
from companion.site import locks, sources, versions
from regimes import validate

STRICT = ("-n", "-W", "--keep-going")  # the book's: a reference that leads nowhere is an error
# what the theme writes and a page on disk cannot use: font preloads (blocked, the icons load without them), the
# network client thebe, and MathJax and thebe a second time, each of which only logs errors; and what it has twice:
# the icons, as fonts and as a script of 1.5 MB
_USELESS = re.compile(
    r'rel="preload" as="font"|THEBE_JS_URL|sphinx-thebe\.js|<script src="[^"]*(?:mathjax|vendor/fontawesome)/'
)
_SAVED = re.compile(r'href="([^"]*)_sources/([^"]*?)([^"/]+)" target="_blank"')
_TERM = re.compile(r'<a class="reference internal" href="[^"]*#(term-[^"]+)"')
_ROLE = re.compile(r"\{(?:numref|eq|ref)\}`(?:([^`<]*?) *<([^`>]+)>|([^`<>]+))`")
_LABEL = re.compile(r'^\(([^()\s]+)\)=|^:(?:label|name): *(\S+)|\$\$ *\(([^()\s]+)\)|\bid="([^"]+)"', re.M)
_SEEN = re.compile(rf"^#+ .*|{_LABEL.pattern}", re.M)
_CODE = re.compile(r"<pre\b.*?</pre>", re.S)
_OUTWARD = re.compile(r'<a href="\.\./[^"]*">(.*?)</a>')  # to a page of the book, which a run has not


class PagesError(RuntimeError):
    """Jupyter Book failed; the message is what it said."""


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m companion.site.pages", description=__doc__)
    parser.add_argument("profile", help="smoke, laptop or paper; python -m companion.site.sources must have staged it")
    profile = parser.parse_args(argv).profile
    with one_line_errors():
        validate.one_of(parameters.PROFILES, profile=profile)
        out = paths.build(profile) / "html"
        try:
            build(paths.root(), out, *STRICT, cache=paths.build(profile) / ".sphinx")
        except PagesError as error:
            print(f"{error}\nerror: the pages were not built; the last good ones stay as they were", file=sys.stderr)
            return 1
    return 0


def build(source: Path, out: Path, *options: str, cache: Path | None = None) -> None:
    """Builds a Jupyter Book into ``out``, a link that points at the new pages once all of them are there.

    Args:
        source: the book's sources.
        out: the link.
        options: of Jupyter Book.
        cache: a folder that keeps what Sphinx has read and written, so that the next time only pages that have changed
            are read: by time stamps, those of what they include and document too.

    Raises:
        PagesError: if a page cannot be built; the last good ones stay.
    """
    fresh = versions.fresh(out)
    work, shown = cache or fresh / "sphinx", _outline(source)
    noted = work / "outline"
    if not noted.exists() or noted.read_text(encoding="utf-8") != shown:
        versions.drop(work)
    work.mkdir(exist_ok=True)
    noted.unlink(missing_ok=True)  # a build that fails or is killed leaves nothing to go on from
    program = "import sys, companion; from jupyter_book.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "build", str(source), "--path-output", str(work), "-q"]
    command += _button(source, work)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # its last words name a folder inside: they are shown only where it fails
    told = {"env": os.environ | {"PATH": path}, "cwd": source}  # some paths in the settings are seen from there
    done = subprocess.run([*command, *options], **told, capture_output=True, text=True)
    made, pages = work / "_build" / "html", fresh / "html"
    if done.returncode or not (made / "index.html").exists():
        versions.drop(fresh)
        raise PagesError((done.stderr or done.stdout).partition("Traceback")[0].strip())
    shutil.copytree(made, pages)
    saved, said = _notebooks(pages), definitions(pages)
    for page in pages.rglob("*.html"):
        lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = "".join(line for line in lines if not _USELESS.search(line))
        page.write_text(_with_definitions(_with_downloads(kept, saved), said), encoding="utf-8")
    (pages / "_static" / "texts.js").write_text(f"window.BOOK_TEXTS = {json.dumps(texts(pages))};\n", encoding="utf-8")
    if cache is None:
        versions.drop(work)
    else:
        noted.write_text(shown, encoding="utf-8")
    versions.swap(pages, out)


def _outline(source: Path) -> str:
    """What pages show of each other: headings, labels, terms and works. Where it changes Sphinx must write all anew."""
    toc, *others = ("_toc.yml", "_config.yml", "book/glossary.md", "book/references.bib")
    pages = re.findall(r"\b(?:root|file): *([^\s,}]+)", _text(source / toc))
    parts = [line for name in pages for line in (name, *(match[0] for match in _SEEN.finditer(_words(source / name))))]
    return "\n".join([*parts, *(_text(source / name) for name in (toc, *others))])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _words(page: Path) -> str:
    """The Markdown of a page, of a notebook with the labels of its figures; of none nothing."""
    if not page.with_suffix(".ipynb").exists():
        return _text(page.with_suffix(".md"))
    cells = nbformat.read(page.with_suffix(".ipynb"), as_version=4).cells
    figures = [f":name: {cell.metadata.mystnb.figure.name}" for cell in cells if "figure" in _shown_as(cell)]
    return "\n".join([*figures, *(cell.source for cell in cells if cell.cell_type == "markdown")])


def _shown_as(cell: nbformat.NotebookNode) -> Mapping[str, Any]:
    return cell.metadata.get("mystnb", {})


def _button(source: Path, folder: Path) -> list[str]:
    """The option by which the theme shows a button for the repository, where ``_config.yml`` names its address.

    The theme knows three hosts, and stops at another's address.
    """
    url = sources.address()
    if not url:
        return []
    config = yaml.safe_load((source / "_config.yml").read_text(encoding="utf-8"))
    known = any(host in url.rsplit("/", 2)[0] for host in ("github", "gitlab", "bitbucket"))
    config["repository"] = {"url": url if known else ""}
    config["html"] = config.get("html", {}) | {"use_repository_button": known}
    (folder / "_config.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    return ["--config", str(folder / "_config.yml")]


def _notebooks(pages: Path) -> set[str]:
    """The names of the notebooks to take home, in place of which Sphinx's own go; each is a script too.

    A page on disk may load a script and save what it holds, while its browser opens a link to a notebook as text.
    """
    saved = {path.name for path in (pages / "notebooks").glob("*.ipynb")}
    for path in (pages / "_sources").rglob("*.ipynb"):
        if path.name in saved:
            path.unlink()
    for path in list(pages.rglob("*.ipynb")):
        text = json.dumps(path.read_text(encoding="utf-8"))
        path.with_name(f"{path.name}.js").write_text(f"window.BOOK_NOTEBOOK = {text};\n", encoding="utf-8")
    return saved


def _with_downloads(page: str, saved: Container[str]) -> str:
    """A page whose download button saves a file, a chapter's the notebook to take home, and opens none."""

    def link(match: re.Match) -> str:
        up, folder, name = match.groups()
        return f'href="{up}{"notebooks/" if name in saved else f"_sources/{folder}"}{name}" download'

    return _SAVED.sub(link, page)


def definitions(pages: Path) -> dict[str, str]:
    """The glossary's definitions as HTML without links, by their term's anchor; none where there is no glossary."""
    from bs4 import BeautifulSoup

    path = pages / "book" / "glossary.html"
    soup = BeautifulSoup(path.read_text(encoding="utf-8") if path.exists() else "", "html.parser")
    for link in soup.select("dl.glossary dd a"):
        link.unwrap()
    return {
        term["id"]: term.find_next_sibling("dd").decode_contents().strip() for term in soup.select("dl.glossary dt[id]")
    }


def _with_definitions(page: str, said: Mapping[str, str]) -> str:
    """A page whose links to the glossary hold the definition, which ``book.js`` shows under pointer and keyboard."""

    def link(match: re.Match) -> str:
        text = said.get(match[1], "")
        return f'{match[0]} data-definition="{html.escape(text)}"' if text else match[0]

    return _TERM.sub(link, page)


def texts(pages: Path) -> dict[str, str]:
    """The words of each page, for what the search shows of it: a page on disk may not fetch another."""
    from bs4 import BeautifulSoup  # comes with Jupyter Book, which a machine that only runs chapters may lack

    found = {}
    for path in sorted(set(pages.rglob("*.html")) - set(pages.glob("_modules/**/*.html"))):  # code is not searched
        plain = _CODE.sub("", path.read_text(encoding="utf-8"))  # thousands of coloured words, which none searches
        article = BeautifulSoup(plain, "html.parser").find("article")
        if article is not None:
            for code in article.select("script, style, .headerlink"):
                code.decompose()
            name = str(path.relative_to(pages).with_suffix(""))
            found[name] = " ".join(article.get_text(" ").split())
    return found


def of_run(folder: Path) -> Path:
    """Pages for all that was run into ``folder``: its chapters, the changed parameters, the verdicts.

    Returns:
        Path: the first page, ``folder/html/index.html``.

    Raises:
        PagesError: as ``build``.
    """
    with locks.alone(folder / ".html.lock", f"the pages of {folder.name} are being built"):
        with tempfile.TemporaryDirectory() as made:
            _lay_out(folder, Path(made))
            build(Path(made), folder / "html")
    return folder / "html" / "index.html"


def _lay_out(folder: Path, source: Path) -> None:
    """The sources of a run's pages: a small book with the settings of the large one."""
    chapters = {path.name[:2]: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) if _finished(path)}
    places = labels()
    notebooks = {number: nbformat.read(path, as_version=4) for number, path in chapters.items()}
    first = _overview(folder.name, notebooks, [r for n in chapters for r in ledger.read(folder / f"{n}.ledger.json")])
    for number, notebook in notebooks.items():
        below = sources.stage_rows(chapters[number], source / "extra")
        below |= {
            name: below.get(name, "") + theirs for name, theirs in _of_the_book(chapters[number].name, notebook).items()
        }
        nbformat.write(
            alone(sources.page(notebook, number, below, source / "extra"), places), source / chapters[number].name
        )
    pages = [{"file": path.stem} for path in chapters.values()]
    references = paths.root() / "book" / "references.bib"
    if references.exists():
        shutil.copy(references, source)
        (source / "references.md").write_text("# References\n\n```{bibliography}\n```\n", encoding="utf-8")
        pages.append({"file": "references"})
    if (paths.root() / "_static").exists():
        (source / "_static").symlink_to(paths.root() / "_static")
    (source / "index.md").write_text(first, encoding="utf-8")
    toc = {"format": "jb-book", "root": "index", "chapters": pages}
    (source / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
    (source / "_config.yml").write_text(yaml.safe_dump(_config(folder.name, references.exists())), encoding="utf-8")


def _of_the_book(name: str, run: nbformat.NotebookNode) -> dict[str, str]:
    """For the label of each figure that a run has changed the book's, to look at below it."""
    return {
        label: f'<details class="book-figure" open><summary>the book\'s figure</summary>{_picture(theirs)}</details>'
        for label, (_, theirs) in _changed(name, run).items()
    }


def _changed(name: str, run: nbformat.NotebookNode) -> dict[str, tuple[nbformat.NotebookNode, nbformat.NotebookNode]]:
    """A run's figures that are not the book's, and the book's, by label; the same rows draw the same picture."""
    path = paths.build("laptop") / name
    book = _figures(nbformat.read(path, as_version=4)) if path.exists() else {}
    pairs = {label: (mine, book[label]) for label, mine in _figures(run).items() if label in book}
    return {
        label: (mine, theirs)
        for label, (mine, theirs) in pairs.items()
        if mine.data["image/png"].strip() != theirs.data["image/png"].strip()
    }


def _figures(notebook: nbformat.NotebookNode) -> dict[str, nbformat.NotebookNode]:
    """The outputs that show a chapter's figures, by label."""
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return {out.metadata.regimes.name: out for out in outputs if out.get("metadata", {}).get("regimes")}


def _picture(output: nbformat.NotebookNode) -> str:
    alt, data = html.escape(output.metadata.regimes.alt), output.data["image/png"].strip()
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


def _beside(page: str, changed: Mapping[str, tuple[nbformat.NotebookNode, nbformat.NotebookNode]]) -> str:
    """The changed figures of a run's chapter, whose ``page`` each leads to, beside the book's, as HTML."""
    return "\n".join(
        f'<div class="beside"><figure>{_picture(mine)}<figcaption><a href="{page}#{label}">this run</a></figcaption>'
        f"</figure><figure>{_picture(theirs)}<figcaption>the book</figcaption></figure></div>"
        for label, (mine, theirs) in changed.items()
    )


def _finished(path: Path) -> bool:
    return path.exists() and not path.name.endswith((".failed.ipynb", ".raw.ipynb"))


def _config(name: str, cites: bool) -> dict[str, Any]:
    """The book's settings, for pages that are no part of it."""
    path = paths.root() / "_config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {"sphinx": {"config": {}}}
    config |= {"title": f"Run {name}", "exclude_patterns": [], "bibtex_bibfiles": ["references.bib"]}
    if not cites:
        del config["bibtex_bibfiles"]
    config["sphinx"]["extra_extensions"] = []
    config["sphinx"]["config"]["html_extra_path"] = ["extra"]
    return config


def _differing(page: str, changed: Mapping[str, tuple[nbformat.NotebookNode, nbformat.NotebookNode]]) -> str:
    """What a run's first page shows of a chapter's figures."""
    if not (paths.build("laptop") / f"{page}.ipynb").exists():
        return "Build the book (`make book`) to see its figures beside those of this run."
    if not changed:
        return "No figure differs from the book's."
    return f"### Figures that differ from the book's\n\n{_beside(f'{page}.html', changed)}"


def _overview(name: str, notebooks: Mapping[str, nbformat.NotebookNode], records: Sequence[dict[str, Any]]) -> str:
    """A run's first page: what was changed, and the verdicts it led to."""
    parts = [f"# Run {name}"]
    for number, notebook in notebooks.items():
        given = dict(notebook.metadata.papermill.parameters)
        given |= given.pop("designs", {})
        rows = [f"| `{key}` | `{value!r}` |" for key, value in given.items() if key != "profile"]
        title = f"[Chapter {int(number)}]({parameters.source(number).stem}.ipynb), {given['profile']} profile"
        table = ["| changed | to |", "|---|---|", *rows] if rows else ["Nothing was changed."]
        page = parameters.source(number).stem
        parts += [f"## {title}", "\n".join(table), _differing(page, _changed(f"{page}.ipynb", notebook))]
    plain = [record | {"erratum": None} for record in records]  # the errata are a page of the book
    differ = _other_verdicts(records)
    # Sphinx sees no equations in a table: it loads MathJax for this one
    counted = "Below a measured value, $n$ counts the realisations that its interval rests on."
    return "\n\n".join([*parts, "## Verdicts", *differ, counted, ledger.html_table(plain)]) + "\n"


def _other_verdicts(records: Sequence[dict[str, Any]]) -> list[str]:
    """What a run's first page says of verdicts that are not the book's; nothing where there are none, or no book."""
    found = {path.name: ledger.read(path) for path in paths.build("laptop").glob("[0-9][0-9].ledger.json")}
    book = {record["id"]: record for own in found.values() for record in own}
    pairs = [(record, book[record["id"]]) for record in records if record["id"] in book]
    rows = [
        f"| `{mine['id']}` | {ledger.measured(mine)}, *{mine['verdict'] or 'not judged'}* "
        f"| {ledger.measured(theirs)}, *{theirs['verdict'] or 'not judged'}* |"
        for mine, theirs in pairs
        if mine["verdict"] != theirs["verdict"]
    ]
    if not rows:
        return []
    words = (
        "These are not the book's. A statement that names a size is about that size: a run at another is no test of it."
    )
    return [words, "\n".join(["| claim | this run | the book |", "|---|---|---|", *rows])]


def labels() -> dict[str, str]:
    """For each label of a chapter where it stands, in words: ``chapter 5``."""
    found = {}
    for number, source in parameters.chapters().items():
        text = re.sub(r"^# ?", "", source.read_text(encoding="utf-8"), flags=re.M)
        names = [next(filter(None, groups)) for groups in _LABEL.findall(text)]
        names += re.findall(r'"((?:fig|tab)-[\w-]+)"', text)
        found |= dict.fromkeys(names, f"chapter {int(number)}")
    return found


def alone(notebook: nbformat.NotebookNode, places: Mapping[str, str]) -> nbformat.NotebookNode:
    """A page whose references to other pages are plain words."""
    own = _own_labels(notebook)

    def words(match: re.Match) -> str:
        text, target, bare = match.groups()
        label = target or bare
        if label in own:
            return match[0]
        place = places.get(label, "in the book")
        return f"{text} ({place})" if text else f"`{label}` ({place})"

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = sources.without_terms(_ROLE.sub(words, cell.source))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for kind, change in (("text/markdown", words), ("text/html", None)):
                if kind in data:
                    data[kind] = _ROLE.sub(change, data[kind]) if change else _OUTWARD.sub(r"\1", data[kind])
    return notebook


def _own_labels(notebook: nbformat.NotebookNode) -> set[str]:
    """The labels that a page itself defines: of headings, equations, tables and figures."""
    own = set()
    for cell in notebook.cells:
        own.add(cell.metadata.get("mystnb", {}).get("figure", {}).get("name"))
        texts = [cell.source] if cell.cell_type == "markdown" else []
        texts += [data["text/html"] for o in cell.get("outputs", []) if "text/html" in (data := o.get("data", {}))]
        own |= {next(filter(None, groups)) for text in texts for groups in _LABEL.findall(text)}
    return own


if __name__ == "__main__":
    sys.exit(main())
