"""From executed notebooks to the sources of the HTML book: ``python -m companion.site.sources laptop``.

Copies the notebooks of one profile beside their sources, turns each figure's caption into a numbered figure, and writes
the ledger, errata and status pages from the merged ledger. Jupyter Book then builds them without executing anything.
"""

import argparse
import base64
import functools
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import yaml

from companion import paths
from companion.book import captions, changes, figures, ledger, screen, views
from companion.book.errata import DRAWERS, Erratum, errata
from companion.lab import catalogue, parameters, results, store, verify
from companion.lab.cli import one_line_errors
from companion.lab.store import committed, needs_commit
from companion.site import graph, quotes, registered, start
from regimes import validate
from regimes.validate import InputError

APART = 0.1  # of a stored interval: how far another processor may move a value
README_MARKS = ("<!-- ledger -->", "<!-- /ledger -->")
FOLDED = {"parameters": "parameters", "injected-parameters": "values of this profile"}  # by tag; else code
_CLAIM = re.compile(r"\{claim\}`([^`]+)`")  # a number of the ledger
_SYMBOLS = re.compile(r"^(:{3,})\{dropdown\} Symbols\n(?s:.*?)^\1[ ]*$\n?", re.M)  # a fold of a page
_TERM = re.compile(r"\{term\}`([^`<]*?)(?:\s*<[^`>]+>)?`")  # a link to the glossary, which a saved notebook has not


def chapter_page(path: Path, extra: Path, entries: Sequence[Mapping[str, Any]]) -> nbformat.NotebookNode:
    """A notebook as the book shows it: code folded away, figures numbered and captioned.

    Args:
        path: of a page, executed; the rows of its figures lie beside it.
        extra: what goes beside the pages: its ``figures`` take the pictures, its ``rows`` the rows.
        entries: of the chapter's ledger: the verdicts of a figure are one row below it.
    """
    number = path.name[:2]
    notebook = nbformat.read(path, as_version=4)
    files = list((path.resolve().parent / "rows").glob("*.csv"))
    (extra / "rows").mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, extra / "rows")
    rows = {file.stem: f"../rows/{file.name}" for file in files}
    page_labels = {label for cell in notebook.cells for label in _labels(cell)}
    changed = changes.changes(number, page_labels)
    judged = {entry["id"]: entry for entry in entries if entry["figure"] in page_labels}
    cells = []
    for cell in notebook.cells:
        if captions.is_caption(cell):
            continue  # it is part of the figure
        if cell.cell_type == "code":
            cell.metadata["shows"] = bool(cell.outputs)
            cell.outputs = [it for it in cell.outputs if it.get("metadata", {}).get("claim") not in judged]
        if "parameters" in cell.metadata.get("tags", []):
            how = _how_to_change(number, page_labels)
            cells.append(nbformat.v4.new_markdown_cell(how, id=f"{cell.id}-how"))
        figures = [output for output in cell.get("outputs", []) if "regimes" in output.get("metadata", {})]
        if len(figures) > 1:  # a number and a label belong to one
            raise InputError(f"cell {cell.id} shows {len(figures)} figures; give each a cell of its own")
        cells.append(cell)
        labels = _labels(cell)
        for figure in figures:
            change = changed.get(figure.metadata.regimes.name)
            if change:
                stored_studies = [study.name for study in change.studies if study.name in results.files()]
                change = {**change._asdict(), "number": number, "stored": stored_studies}
            cells += _as_figure(cell, figure, rows, change)
            picture = screen.figure_html(figure, extra / "figures", "../figures/")
            for panel in shown_panels().get(figure.metadata.regimes.name, ()):
                screen.panel(figure, panel, extra / "figures")
            # the PNG, where there is one, is for the cards; the text would stand for a missing picture in a terminal
            figure.data = {kind: it for kind, it in figure.data.items() if kind == "image/png"} | {"text/html": picture}
        if verdicts := [entry for entry in judged.values() if entry["figure"] in labels]:
            row = nbformat.v4.new_output("display_data", {"text/html": views.show("verdicts", verdicts, views.ERRATA)})
            cells.append(_shows(f"{cell.id}-verdicts", row))
    return nbformat.from_dict({**notebook, "cells": _ideas_first(_folded(cells))})


@functools.cache
def shown_panels() -> dict[str, set[int]]:
    """The panels of figures that stand alone, on the tour or by ``book/papers.yml`` on a paper's page, by label."""
    path = paths.root() / "book" / "tour.md"
    tour = path.read_text(encoding="utf-8") if path.exists() else ""
    asked = [(label, int(number)) for label, number in re.findall(r"figures/([\w-]+)-panel-(\d+)\.", tour)]
    asked += [pair for about in ledger.about_papers().values() for pair in about.get("panels", {}).items()]
    found: dict[str, set[int]] = {}
    for label, number in asked:
        found.setdefault(label, set()).add(number)
    return found


def _ideas_first(cells: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """A page's cells with its symbols, its parameters and the command that changes them behind all else."""
    last, symbols = [], ""
    for cell in cells:
        if cell.id.endswith("-how") or FOLDED.keys() & {*cell.metadata.get("tags", [])}:
            last.append(cell)
        elif cell.cell_type == "markdown" and (found := _SYMBOLS.search(cell.source)):
            symbols = found[0].strip()
            cell.source = _SYMBOLS.sub("\n", cell.source)
    if not (last or symbols):
        return list(cells)
    head = "## Symbols and parameters\n\n" if symbols else "## Parameters\n\n"
    words = nbformat.v4.new_markdown_cell(f"{head}{symbols}".strip(), id="symbols-and-parameters")
    return [*(cell for cell in cells if cell not in last), words, *last]


def _folded(cells: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """A page's cells with their code folded away: that of neighbours in one fold, with at most one figure.

    The code of a cell that shows nothing is in the next fold.
    """
    groups: list[list[nbformat.NotebookNode]] = []
    silent: list[nbformat.NotebookNode] = []
    after_words = True  # words stand between this cell and the last code
    for cell in cells:
        is_code = cell.cell_type == "code"
        if not is_code or FOLDED.keys() & {*cell.metadata.get("tags", [])}:
            after_words = True
            groups += [[cell]] if is_code else []
        elif cell.metadata.get("shows") is False:
            silent.append(cell)
        elif cell.metadata.get("shows"):
            if after_words or (_is_figure(cell) and any(map(_is_figure, groups[-1]))):
                groups.append([])
            groups[-1] += [*silent, cell]
            silent, after_words = [], False
    for group in filter(None, [*groups, silent]):
        _fold(group)
    return list(cells)


def _fold(group: Sequence[nbformat.NotebookNode]) -> None:
    """Folds the code of cells away behind one line, which says what it is, above their figure or what shows first."""
    head = [*filter(_is_figure, group), *(cell for cell in group if cell.outputs), group[0]][0]
    head.source = "\n\n".join(cell.source for cell in group)
    for cell in group:
        tag = "hide-input" if cell is head else "remove-input" if cell.outputs else "remove-cell"
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
    words = next((words for tag, words in FOLDED.items() if tag in head.metadata.tags), "code of these numbers")
    words = f"code of {{{head.metadata.mystnb.figure.name}}}" if _is_figure(head) else words
    head.metadata.setdefault("mystnb", {}).update(code_prompt_show=words, code_prompt_hide=words)


def _is_figure(cell: nbformat.NotebookNode) -> bool:
    return "figure" in cell.metadata.get("mystnb", {})


def _how_to_change(number: str, labels: Collection[str]) -> str:
    """How to run a page with other parameters: the command of the first of its figures that has one."""
    examples = (pair for pair in changes.examples(number).items() if pair[0] in labels)
    label, example = next(examples, (None, None))
    knobs = {name: knob for name, knob in changes.knobs(number).items() if name in labels}
    return views.markdown("change", number=number, label=label, example=example, knobs=knobs).strip()


def _as_figure(
    cell: nbformat.NotebookNode,
    output: nbformat.NotebookNode,
    rows: Mapping[str, str],
    change: Mapping[str, Any] | None = None,
) -> list[nbformat.NotebookNode]:
    """Turns a cell into a numbered figure; returns a cell with its other outputs, which would be in the figure else."""
    about = output.metadata.regimes
    figure = {"name": about.name, "caption": about.caption, "align": "center"}
    cell.metadata["mystnb"] = nbformat.from_dict({"figure": figure})
    other_outputs = [other for other in cell.outputs if other is not output]
    if about.settings:  # what a caption leaves out folds away below it
        lines = views.show("below", about, rows.get(about.name), change)
        other_outputs.append(nbformat.v4.new_output("display_data", {"text/html": lines}))
    cell.outputs = [output]
    return [_shows(f"{cell.id}-rest", *other_outputs)] if other_outputs else []


def _shows(name: str, *outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A cell that shows outputs and no code; MyST-NB leaves out the outputs of a cell without a source."""
    hidden = {"source": "# the rest of what the cell above shows", "metadata": {"tags": ["remove-input"]}}
    return nbformat.v4.new_code_cell(id=name, outputs=list(outputs), **hidden)


def _labels(cell: nbformat.NotebookNode) -> list[str]:
    """The labels of the figures and tables that a cell shows."""
    metadata = [output.get("metadata", {}) for output in cell.get("outputs", [])]
    labels = [about.get("table") or about.get("regimes", {}).get("name") for about in metadata]
    return [label for label in labels if label]


def stage(profile: str) -> list[Path]:
    """Copies every chapter's executed notebook beside its source, and one to download into ``extra/notebooks``."""
    validate.one_of(parameters.PROFILES, profile=profile)
    folder = paths.build_folder(profile)
    extra = paths.generated() / "extra"
    shutil.rmtree(extra, ignore_errors=True)
    (extra / "notebooks").mkdir(parents=True)
    staged = []
    for source in (page for number in parameters.chapters() for page in parameters.page_sources(number)):
        number = source.name[:2]
        path = folder / f"{source.stem}.ipynb"
        if not path.exists():
            raise InputError(f"chapter {number} has not been run at the {profile} profile: make book PROFILE={profile}")
        notebook = nbformat.read(path, as_version=4)
        ran = notebook.metadata.papermill.parameters["profile"]
        if ran != profile:
            raise InputError(f"{path} was run at the {ran} profile, not {profile}")
        entries = ledger.read(folder / f"{number}.ledger.json")
        nbformat.write(take_home(notebook, profile, entries), extra / "notebooks" / path.name)
        page = chapter_page(path, extra, entries)
        if source == parameters.source(number):
            page.cells = _first_screen(page.cells, views.markdown("findings", entries=entries, number=number))
        staged.append(source.with_suffix(".ipynb"))
        write_changed(staged[-1], nbformat.writes(page) + "\n")
    for old in {*paths.chapters_folder().glob("*.ipynb")} - {*staged}:
        old.unlink()
    return staged


def _first_screen(cells: Sequence[nbformat.NotebookNode], findings: str) -> list[nbformat.NotebookNode]:
    """A story's cells: what it finds in words, its key figure, then the verdicts on its ``findings`` and all else.

    Without a section *What we find* the verdicts stand below the first section.
    """
    first, *others = cells
    start, heading, section = first.source.partition("\n## What we find\n")
    before, section = (start, section) if heading else ("", start)
    words, next_heading, following = section.partition("\n## ")
    key = next((cell.id for cell in others if _is_figure(cell) and "key" in cell.metadata.get("tags", [])), None)
    if not heading or key is None:
        first.source = f"{before}{heading}{words}\n\n{findings}{next_heading}{following}"
        return list(cells)
    first.source = f"{before}{heading}{words}"
    shown = [cell for cell in others if cell.id in (key, f"{key}-rest", f"{key}-verdicts")]
    verdicts = nbformat.v4.new_markdown_cell(f"{findings}{next_heading}{following}", id=f"{first.id}-verdicts")
    return [first, *shown, verdicts, *(cell for cell in others if cell not in shown)]


def write_changed(path: Path, text: str) -> None:
    """Writes a file only if its content changes: Sphinx goes by time stamps."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def take_home(
    notebook: nbformat.NotebookNode, profile: str, entries: Sequence[Mapping[str, Any]] = ()
) -> nbformat.NotebookNode:
    """A chapter to download: the first cell says what it needs, and its ``profile`` line takes effect when it is run.

    Args:
        notebook: of a chapter, executed at ``profile``; it is changed.
        profile: that the line is set to. What the run injected goes, since it would override the line.
        entries: of its ledger, whose numbers its words name.
    """
    values = {entry["id"]: ledger.measured_value(entry) for entry in entries}
    glued = captions.glued(notebook.cells)
    cells = [cell for cell in notebook.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for cell in cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub(r'^(profile: .*= )"\w+"', rf'\1"{profile}"', cell.source, count=1, flags=re.M)
        elif cell.cell_type == "markdown":
            words = captions.filled(_TERM.sub(r"\1", cell.source), glued)
            cell.source = _CLAIM.sub(lambda match: values.get(match[1], "—"), words)
    needs = views.markdown("needs", profile=profile, address=address()).strip()
    notebook.cells = [nbformat.v4.new_markdown_cell(needs, id="needs"), *cells]
    notebook.metadata.pop("papermill", None)
    return notebook


def address() -> str:
    """The public address of the repository, as ``_config.yml`` has it; empty where it names none."""
    path = paths.root() / "_config.yml"
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    except yaml.YAMLError:  # Jupyter Book says what is wrong
        return ""
    url = config.get("repository", {}).get("url") or ""
    if url and not re.fullmatch(r"https://[\w.-]+/\S+", url):
        raise InputError(f"_config.yml: the repository's url must be like https://host/owner/name, got {url!r}")
    return url.rstrip("/")


def kept_ledger() -> dict[str, dict[str, Any]]:
    """The entries of ``results/ledger.json`` by claim."""
    return {entry["id"]: entry for entry in ledger.read(paths.results() / "ledger.json")}


def ledger_page(entries: Sequence[dict[str, Any]], profile: str, again: Mapping[str, Any] | None = None) -> str:
    """The ledger's index as Markdown: a sentence that counts, a bar for each paper, a graph for each chapter."""
    papers = ledger.by_paper(entry for entry in entries if entry["kind"] == "paper")
    by_id, kept = {entry["id"]: entry for entry in entries}, kept_ledger()
    pages = {}  # of the interface, by the module that they document
    for path in (paths.root() / "book" / "api").glob("*.md"):
        pages |= dict.fromkeys(re.findall(r"automodule:: (\S+)", path.read_text(encoding="utf-8")), path.stem)
    counts = {letter: _count(ledger.statements(of_paper), "statement") for letter, of_paper in papers.items()}
    graphs = {number: graph.chapter_graph(number, by_id, pages) for number in parameters.chapters()}
    return views.markdown(
        "ledger", entries=entries, profile=profile, papers=papers, counts=counts, again=again, graphs=graphs,
        titles=titles(), kept=kept, rests=rests(entries),
        codes=Counter(ledger.standing(entry, kept) for entry in entries),
    )  # fmt: skip


def rests(entries: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each claim whose argument has other claims, and these: its words for a reader, and the claims that it is ``on``.

    These are those of ``book/rests.yml``, and the parts of its statement.
    """
    path = paths.root() / "book" / "rests.yml"
    named = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    by_id = {entry["id"]: entry for entry in entries}
    found: dict[str, list[str]] = {
        name: [one for one in on if one in by_id] for name, on in named.items() if name in by_id
    }
    for entry in entries:
        if entry["part_of"] in by_id:
            found.setdefault(entry["part_of"], []).append(entry["id"])
    shown = {*found, *(one for on in found.values() for one in on)}
    return {name: views.rest(by_id[name], found.get(name, [])) for name in by_id if name in shown}


def paper_page(
    letter: str, entries: Sequence[dict[str, Any]], profile: str, quoted: Mapping[str, Sequence[quotes.Quote]]
) -> str:
    """What holds of a paper, as Markdown; ``entries`` are those of its claims, ``quoted`` the sentences on each."""
    about, by_id = ledger.about_papers()[letter], {entry["id"]: entry for entry in entries}
    matters = [by_id[name] for name in about["matters"]]
    pictures = {entry["id"]: _picture(entry["figure"], about.get("panels", {})) for entry in matters}
    headlines_first = sorted(entries, key=lambda entry: not entry["headline"])
    stated = [entry for entry in headlines_first if entry["kind"] == "paper"]
    ours = [entry for entry in headlines_first if entry["kind"] != "paper"]
    large = {} if profile == "paper" else {entry["id"]: entry for entry in ledger.read(paths.paper_ledger())}
    rests_on = [name for name, one in rests(entries).items() if one["on"]]
    return views.markdown(
        "paper", letter=letter, rests=rests_on, about=about, entries=entries, stated=stated, ours=ours, profile=profile,
        matters=matters, pictures=pictures, links=figure_links(entries), large=large, quoted=quoted, kept=kept_ledger(),
    )  # fmt: skip


def _picture(label: str | None, panels: Mapping[str, int]) -> tuple[str, bool] | None:
    """The file of a figure, or of its named panel, and whether it holds photographs or maps; none of a table."""
    folder = paths.generated() / "extra" / "figures"
    of_panel = [*folder.glob(f"{label}-panel-{panels[label]}.*")] if label in panels else []
    files = [*of_panel, *folder.glob(f"{label}-phone.*"), *folder.glob(f"{label}.*")]
    return (files[0].name, files[0].suffix != ".svg" or "<image" in files[0].read_text("utf-8")) if files else None


def recomputed(entries: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """How far a laptop run gives the values of ``results/ledger.json``, and its studies' stored results.

    ``values`` counts those of both ledgers, ``others`` are pairs, here and there, that differ in a digit or in their
    verdict, ``most`` is the largest share by which they do, of the value or of half its interval. ``sampled``: the
    studies whose stored results were computed again in part, with what differed.
    """
    stored_ledger = kept_ledger()
    both = [(entry, stored_ledger[entry["id"]]) for entry in entries if entry["id"] in stored_ledger]
    pairs = [(here, there) for here, there in both if None not in (here["value"], there["value"])]
    others = [(here, there) for here, there in pairs if views.show("number", here) != views.show("number", there)]
    sampled: dict[str, Any] = {}
    for number in parameters.chapters():
        path = (folder / f"{number}.ledger.json").resolve().with_name(f"{number}.sampled.json")
        sampled |= json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    sizes = [max(abs(there["value"]), (there["high"] - there["low"]) / 2, 1e-300) for _, there in others]
    shares = [abs(here["value"] - there["value"]) / size for (here, there), size in zip(others, sizes)]
    changed = sum(here["verdict"] != there["verdict"] for here, there in others)
    counts = {"values": len(pairs), "others": others, "most": max(shares, default=0.0), "changed": changed}
    return counts | {"sampled": sampled}


def finer_table(shown: int = 2) -> str:
    """What finer numerics change, the ``shown`` columns of each study where it weighs most, as Markdown."""
    comparisons = json.loads((paths.results() / "finer.json").read_text(encoding="utf-8"))
    return views.markdown("finer", found=comparisons, shown=shown)


def unchecked_table(entries: Sequence[dict[str, Any]]) -> str:
    """The studies of whose stored results a run computes nothing again, each with why and its claims, as Markdown."""
    reasons = {name: verify.unchecked(catalogue.find(name)[1], catalogue.is_here) for name in results.files()}
    claims = {name: [] for name in reasons}
    for entry in entries:
        for study in {setting["study"] for setting in entry["settings"] or ()} & claims.keys():
            claims[study].append(entry["id"])
    return views.markdown("unchecked", reasons=reasons, claims=claims)


def counts(stated: Sequence[dict[str, Any]]) -> str:
    """One sentence that counts the papers' statements by verdict, as Markdown."""
    found = {verdict["kind"]: verdict["count"] for verdict in ledger.tally(stated)}
    return views.markdown("counts", found=found, near=sum(map(ledger.is_near, ledger.statements(stated))))


def cards(entries: Sequence[dict[str, Any]]) -> str:
    """One card per chapter, as Markdown: its key figure, title and verdicts. Writes the pictures beside it."""
    found = []
    for number, source in parameters.chapters().items():
        figure = _key_figure(nbformat.read(source.with_suffix(".ipynb"), as_version=4))
        (paths.generated() / f"card-{number}.png").write_bytes(base64.b64decode(figure.data["image/png"]))
        card = {"number": number, "title": titles()[number][0], "page": source.stem}
        card["entries"] = [entry for entry in entries if entry["chapter"] == number]
        card["painted"] = figure.metadata.regimes.painted
        found.append(card)
    return views.markdown("cards", cards=found)


def titles() -> dict[str, tuple[str, str]]:
    """Title and page of each chapter, by number."""
    texts = {number: path.read_text("utf-8") for number, path in parameters.chapters().items()}
    headings = {number: re.search(r"^# # (.+)$", text, re.M)[1] for number, text in texts.items()}
    return {number: (headings[number], path.stem) for number, path in parameters.chapters().items()}


def _key_figure(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The figure of a page whose cell has the tag ``key``: the runner keeps a PNG of it."""
    tagged = [cell for cell in notebook.cells if _is_figure(cell) and "key" in cell.metadata.get("tags", [])]
    if not tagged:
        raise InputError("the first page of a chapter needs a figure whose cell has the tag `key`")
    return tagged[0].outputs[0]


def write_downloads(entries: Sequence[dict[str, Any]], folder: Path) -> None:
    """The ledger as files to download: all of it, and as a table what a spreadsheet can hold."""
    extra = paths.generated() / "extra"
    shutil.copy(folder / "ledger.json", extra / "ledger.json")
    columns = ("id", "chapter", "kind", "statement", "source", "verdict", "value", "low", "high", "n", "interval")
    table = pd.DataFrame([{name: entry[name] for name in columns} for entry in entries])
    table["accepted"] = [ledger.band(entry["accept"]) for entry in entries]
    table["counter-hypothesis"] = [entry["alternative"]["value"] for entry in entries]
    table.to_csv(extra / "ledger.csv", index=False)
    (extra / "stored").mkdir()  # "results" is among the names that Sphinx leaves out
    for name in results.files():
        results.Results.of(catalogue.find(name)[1]).export(extra / "stored" / f"{name}.csv")


def source_archive() -> dict[str, Any] | None:
    """The sources at the commit that the pages are built from, to download; ``None`` outside a checkout."""
    revision = store.revision()
    path = paths.generated() / "extra" / "source.tar.gz"
    git = ["git", "-C", str(paths.root()), "archive", "--prefix=companion/", "-o", str(path), revision.rstrip("+")]
    failed = revision == "unknown" or subprocess.run(git, capture_output=True).returncode
    return None if failed else {"revision": revision, "megabytes": path.stat().st_size / 1e6}


def figure_links(entries: Sequence[dict[str, Any]]) -> dict[str, str]:
    """For each measured claim the address of the figure that shows it, seen from a page in ``book/``."""
    links = {}
    for entry in (entry for entry in entries if entry["chapter"]):
        figure = figures.figures(entry["chapter"]).get(entry["figure"])
        page = figure.page if figure else parameters.source(entry["chapter"])
        links[entry["id"]] = f"../chapters/{page.stem}.html#{entry['figure']}"
    return links


def registered_page(entries: Sequence[dict[str, Any]], profile: str) -> str:
    """The page of the registered run, whose claims are those of the laptop's ledger."""
    laptop = list(entries if profile == "laptop" else kept_ledger().values())
    return registered.page(laptop, registered.kept_exploratory())


def errata_page(entries: Sequence[dict[str, Any]]) -> str:
    """Errata as Markdown, by paper and drawer: what it says, why it fails, what holds instead, who had that before."""
    by_id = {entry["id"]: entry for entry in entries}
    papers: dict[str, list[Erratum]] = {}
    for erratum in sorted(errata().values(), key=lambda erratum: erratum.item[0]):
        papers.setdefault(erratum.item[0], []).append(erratum)
    judged, counts = {}, {}
    for letter, of_paper in papers.items():
        names = dict.fromkeys(name for erratum in of_paper for name in erratum.claims)
        judged[letter] = [by_id[name] for name in names]
        drawers = {drawer: [erratum for erratum in of_paper if erratum.drawer == drawer] for drawer in DRAWERS}
        counts[letter] = ", ".join(_count(inside, drawer) for drawer, inside in drawers.items() if inside)
    own = {erratum.id: [by_id[name] for name in erratum.claims] for erratum in errata().values()}
    return views.markdown("errata", papers=papers, judged=judged, counts=counts, own=own, links=figure_links(entries))


def _count(items: Sequence[Any], noun: str) -> str:
    return f"{len(items)} {noun if len(items) == 1 else noun + 's'}"


def readme_line(entries: Sequence[dict[str, Any]]) -> str:
    """The README's sentence on the ledger."""
    return f"The ledger of the last full run (`results/ledger.json`): {ledger.summary(entries)}"


def write_readme() -> None:
    """Puts the sentence of ``results/ledger.json`` between the README's marks."""
    path = paths.root() / "README.md"
    before, first, rest = path.read_text(encoding="utf-8").partition(README_MARKS[0])
    _, last, after = rest.partition(README_MARKS[1])
    line = readme_line(ledger.read(paths.results() / "ledger.json"))
    path.write_text(f"{before}{first}\n{line}\n{last}{after}", encoding="utf-8")


def keep_paper(folder: Path) -> list[dict[str, Any]]:
    """Puts what the chapters of a run measured at the paper's size into its kept ledger.

    What is declared anew goes, and what rests on a study that is no more.
    """
    study_names = {name for number in catalogue.modules() for name in catalogue.of(number)}
    declared = [entry for entry in ledger.read(paths.paper_ledger()) if _still_declared(entry)]
    used = {entry["id"]: {setting["study"] for setting in entry["settings"] or ()} for entry in declared}
    by_id = {entry["id"]: entry for entry in declared if used[entry["id"]] <= study_names}
    if not (ledger_files := sorted(folder.glob("[0-9][0-9].ledger.json"))):
        raise InputError(f"there is no run with a ledger in {folder}")
    for path in ledger_files:
        by_id |= {entry["id"]: entry for entry in of_paper_size(path.name[:2], folder)}
    entries = [ledger.without_cells(by_id[name]) for name in ledger.claims() if name in by_id]
    ledger.write(paths.paper_ledger(), entries)
    return entries


def _still_declared(entry: Mapping[str, Any]) -> bool:
    """Whether a claim is declared now as it was when this was measured."""
    if not (claim := ledger.claims().get(entry["id"])):
        return False
    empty = ledger.entry_of(claim)
    return entry == empty | {field: value for field, value in entry.items() if empty.get(field) is None}


def of_paper_size(number: str, folder: Path) -> list[dict[str, Any]]:
    """The entries of a chapter's run that rest on nothing but cells of the paper profile's grids.

    A run that cannot afford all of them may have made other studies smaller: their claims are left out, as are those of
    formulas, which have no size.
    """
    notebook = nbformat.read(folder / f"{parameters.source(number).stem}.ipynb", as_version=4)
    injected = dict(notebook.metadata.papermill.parameters)
    designs = injected.pop("designs", {})
    if injected.pop("profile", "laptop") != "paper":
        return []
    laptop_values = {name: it.value for name, it in parameters.declared(number).items() if name != "profile"}
    values = parameters.resolve(number, "paper", laptop_values | injected, designs)
    grids = catalogue.grids(number, values)
    cells: set[str] = set()
    for study, paper_grid in catalogue.grids(number, parameters.resolve(number, "paper")).items():
        if paper_grid == grids[study]:
            cells |= catalogue.asked(number, study, values).cells.keys()
    entries = ledger.read(folder / f"{number}.ledger.json")
    return [entry for entry in entries if entry["cells"] and set(entry["cells"]) <= cells]


def compare(folder: Path) -> int:
    """Prints each verdict of a built ledger that is not the stored one's, and each value and end of an interval that is
    more than ``APART`` of the stored interval from it; 1 where there is any.
    """
    if not (folder / "ledger.json").exists():
        raise InputError(f"there is no {folder / 'ledger.json'}: build the book first")
    here = {entry["id"]: entry for entry in ledger.read(folder / "ledger.json")}
    there = kept_ledger()
    words = {name: (ledger.word(here.get(name)), ledger.word(there.get(name))) for name in here | there}
    lines = [f"{name}: {now} here, {old} in the stored ledger" for name, (now, old) in words.items() if now != old]
    for name in here.keys() & there.keys():
        if moved := ledger.deviations(here[name], there[name], APART):
            lines.append(f"{name}: {', '.join(moved)} in the stored ledger")
    print("\n".join(sorted(lines)) or f"all {len(there)} claims have the verdicts and values of results/ledger.json")
    return int(bool(lines))


def needs_commits(folder: Path) -> None:
    """A ledger that is kept rests on cells of commits, or on rows that are stored in ``results/``.

    Cells of an earlier commit are those with which the present code was found to agree
    (``companion.lab.recheck``). ``folder`` holds the chapters' ledgers.
    """
    needs_commit("the kept ledger and its verdicts")
    stored_keys = {key for name in results.files() for key in results.Results.of(catalogue.find(name)[1]).finished}
    for path in sorted(folder.glob("[0-9][0-9].ledger.json")):
        for entry in ledger.read(path):
            revisions = {revision for key, revision in entry["cells"].items() if key not in stored_keys}
            revisions = revisions if entry["cells"] else {entry["revision"]}  # of formulas alone
            if uncommitted := [revision for revision in revisions if not committed(revision)]:
                raise InputError(
                    f"claim {entry['id']} rests on cells of {min(uncommitted)}, uncommitted code, which are not "
                    "stored in results/ either: build it from an empty build/ folder"
                )


def write_pages(entries: Sequence[dict[str, Any]], folder: Path, profile: str) -> None:
    """Writes the parts of pages that are computed from a run's ledger into ``book/_generated``."""
    again = recomputed(entries, folder) if profile == "laptop" else None  # the stored ledger is the laptop's
    write_changed(paths.generated() / "foot.html", views.markdown("foot", again=again) if again else "")
    stated = [entry for entry in entries if entry["kind"] == "paper"]
    studies = {number: catalogue.of(number) for number in catalogue.modules()}
    pages = {
        "summary": views.markdown("summary", profile=profile, entries=entries),
        "counts": counts(stated),
        "papers": views.markdown("papers", papers=ledger.by_paper(stated)),
        "ledger": ledger_page(entries, profile, again),
        "errata": errata_page(entries),
        "clone": views.markdown("clone", address=address(), archive=source_archive()),
        "cards": cards(entries),
        "holds": start.holds(entries, titles(), profile),
        "places": start.places(entries, titles(), profile),
        "registered": registered_page(entries, profile),
        "finer": finer_table(),
        "unchecked": unchecked_table(entries),
        "studies": views.markdown("studies", chapters=studies, stored=results.files(), doc=inspect.getdoc),
    }
    quoted = quotes.quotes({entry["id"]: entry for entry in entries})
    for letter, of_paper in ledger.by_paper(entries).items():
        pages[f"paper-{letter.lower()}"] = paper_page(letter, of_paper, profile, quoted)
    for name, text in pages.items():
        write_changed(paths.generated() / f"{name}.md", text)


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m companion.site.sources", description=__doc__)
    parser.add_argument("profile", help="smoke, laptop or paper")
    publish = "make this ledger results/ledger.json and the README's; of paper results/ledger.paper.json, without pages"
    parser.add_argument("--publish-ledger", action="store_true", help=publish)
    parser.add_argument("--name", help="with paper --publish-ledger: take what the run in runs/NAME measured")
    parser.add_argument("--compare", action="store_true", help="only say what differs from results/ledger.json")
    args = parser.parse_args(argv)
    with one_line_errors():
        if args.compare:
            return compare(paths.build_folder(args.profile))
        if args.name is not None and not (args.publish_ledger and args.profile == "paper"):
            raise InputError(f"name must go with paper --publish-ledger, got {args.name!r}")
        folder = paths.build_folder(args.profile) if args.name is None else paths.run_folder(args.name)
        if args.publish_ledger:
            needs_commits(folder)
        if args.publish_ledger and args.profile == "paper":
            print(ledger.summary(keep_paper(folder)))
            return 0
        stage(args.profile)
        entries = ledger.merge(folder)
        write_pages(entries, folder, args.profile)
        write_downloads(entries, folder)
        if args.publish_ledger:
            shutil.copy(folder / "ledger.json", paths.results() / "ledger.json")
            write_readme()
            shutil.copy(paths.generated() / "card-01.png", paths.root() / "_static" / "readme.png")
    print(ledger.summary(entries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
