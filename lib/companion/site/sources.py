"""From executed notebooks to the sources of the HTML book: ``python -m companion.site.sources laptop``.

Copies the notebooks of one profile beside their sources, turns each figure's caption into a numbered figure, and writes
the ledger, errata and status pages from the merged ledger. Jupyter Book then builds them without executing anything.
"""

import argparse
import base64
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import yaml

from companion import paths
from companion import studies as registry
from companion.book import captions, changes, figures, ledger, screen, views
from companion.book.errata import DRAWERS, Erratum, errata
from companion.lab import parameters, results, store, stored
from companion.lab.cli import one_line_errors
from companion.lab.store import committed, needs_commit
from companion.site import graph, start
from regimes import validate
from regimes.validate import InputError

APART = 0.1  # of a stored interval: how far another processor may move a value
README_MARKS = ("<!-- ledger -->", "<!-- /ledger -->")
FOLDED = {"parameters": "parameters", "injected-parameters": "values of this profile"}  # by tag; else code
_CLAIM = re.compile(r"\{claim\}`([^`]+)`")  # a number of the ledger
_TERM = re.compile(r"\{term\}`([^`<]*?)(?:\s*<[^`>]+>)?`")  # a link to the glossary, which a saved notebook has not


def chapter_page(path: Path, extra: Path, records: Sequence[Mapping[str, Any]]) -> nbformat.NotebookNode:
    """A notebook as the book shows it: code folded away, figures numbered and captioned.

    Args:
        path: of a page, executed; the rows of its figures lie beside it.
        extra: what goes beside the pages: its ``figures`` take the pictures, its ``rows`` the rows.
        records: of the chapter's ledger: the verdicts of a figure are one row below it.
    """
    notebook = nbformat.read(path, as_version=4)
    (extra / "rows").mkdir(parents=True, exist_ok=True)
    rows, cells = {}, []
    for file in (path.resolve().parent / "rows").glob("*.csv"):
        shutil.copy(file, extra / "rows")
        rows[file.stem] = f"../rows/{file.name}"
    places = {label for cell in notebook.cells for label in map(_label, cell.get("outputs", [])) if label}
    changed = changes.changes(path.name[:2], places)
    judged = {r["id"]: r for r in records if r["figure"] in places}
    for cell in notebook.cells:
        if captions.is_caption(cell):
            continue  # it is part of the figure
        if cell.cell_type == "code":
            cell.metadata["shows"] = bool(cell.outputs)
            cell.outputs = [o for o in cell.outputs if o.get("metadata", {}).get("claim") not in judged]
        if "parameters" in cell.metadata.get("tags", []):
            how = _how_to_change(path.name[:2], places)
            cells.append(nbformat.v4.new_markdown_cell(how, id=f"{cell.id}-how"))
        figures = [o for o in cell.get("outputs", []) if "regimes" in o.get("metadata", {})]
        if len(figures) > 1:  # a number and a label belong to one
            raise InputError(f"cell {cell.id} shows {len(figures)} figures; give each a cell of its own")
        cells.append(cell)
        labels = [label for label in map(_label, cell.get("outputs", [])) if label]
        if figures:
            own = changed.get(figures[0].metadata.regimes.name)
            stored = [study.name for study in own.studies if study.name in results.files()] if own else []
            change = own and own._asdict() | {"number": path.name[:2], "stored": stored}
            cells += _as_figure(cell, figures[0], rows, change)
            shown = screen.figure_html(figures[0], extra / "figures", "../figures/")
            # the PNG is for the cards; the text would stand for a missing picture in a terminal
            figures[0].data = {"image/png": figures[0].data["image/png"], "text/html": shown}
        if own := [record for record in judged.values() if record["figure"] in labels]:
            row = nbformat.v4.new_output("display_data", {"text/html": views.show("verdicts", own, views.ERRATA)})
            cells.append(_shows(f"{cell.id}-verdicts", row))
    return nbformat.from_dict({**notebook, "cells": _folded(cells)})


def _folded(cells: Sequence[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """A page's cells with their code folded away: that of neighbours in one fold, with at most one figure.

    The code of a cell that shows nothing is in the next fold.
    """
    groups: list[list[nbformat.NotebookNode]] = []
    silent: list[nbformat.NotebookNode] = []
    apart = True  # words stand between this cell and the last code
    for cell in cells:
        if cell.cell_type != "code" or FOLDED.keys() & {*cell.metadata.get("tags", [])}:
            apart = True
            groups += [[cell]] * (cell.cell_type == "code")
        elif cell.metadata.get("shows") is False:
            silent.append(cell)
        elif cell.metadata.get("shows"):
            if apart or (_is_figure(cell) and any(map(_is_figure, groups[-1]))):
                groups.append([])
            groups[-1] += [*silent, cell]
            silent, apart = [], False
    for group in filter(None, [*groups, silent]):
        _fold(group)
    return list(cells)


def _fold(group: Sequence[nbformat.NotebookNode]) -> None:
    """Folds the code of cells away behind one line, which says what it is, above their figure or what shows first."""
    shown = [*filter(_is_figure, group), *(cell for cell in group if cell.outputs), group[0]][0]
    shown.source = "\n\n".join(cell.source for cell in group)
    for cell in group:
        tag = "hide-input" if cell is shown else "remove-input" if cell.outputs else "remove-cell"
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
    words = next((words for tag, words in FOLDED.items() if tag in shown.metadata.tags), "code of these numbers")
    words = f"code of {{{shown.metadata.mystnb.figure.name}}}" if _is_figure(shown) else words
    shown.metadata.setdefault("mystnb", {}).update(code_prompt_show=words, code_prompt_hide=words)


def _is_figure(cell: nbformat.NotebookNode) -> bool:
    return "figure" in cell.metadata.get("mystnb", {})


def _how_to_change(number: str, labels: Collection[str]) -> str:
    """How to run a page with other parameters: the command of the first of its figures that has one."""
    own = (pair for pair in changes.examples(number).items() if pair[0] in labels)
    label, example = next(own, (None, None))
    turned = {label: knob for label, knob in changes.knobs(number).items() if label in labels}
    return views.markdown("change", number=number, label=label, example=example, knobs=turned).strip()


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
    rest = [other for other in cell.outputs if other is not output]
    if about.settings:  # what a caption leaves out folds away below it
        shown = views.show("below", about, rows.get(about.name), change)
        rest.append(nbformat.v4.new_output("display_data", {"text/html": shown}))
    cell.outputs = [output]
    return [_shows(f"{cell.id}-rest", *rest)] if rest else []


def _shows(name: str, *outputs: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A cell that shows outputs and no code; MyST-NB leaves out the outputs of a cell without a source."""
    hidden = {"source": "# the rest of what the cell above shows", "metadata": {"tags": ["remove-input"]}}
    return nbformat.v4.new_code_cell(id=name, outputs=list(outputs), **hidden)


def _label(output: nbformat.NotebookNode) -> str | None:
    """The label of the figure or table that an output shows, if it shows one."""
    about = output.get("metadata", {})
    return about.get("table") or about.get("regimes", {}).get("name")


def stage(profile: str) -> list[Path]:
    """Copies every chapter's executed notebook beside its source, and one to download into ``extra/notebooks``."""
    validate.one_of(parameters.PROFILES, profile=profile)
    folder, extra = paths.build_folder(profile), paths.generated() / "extra"
    shutil.rmtree(extra, ignore_errors=True)
    (extra / "notebooks").mkdir(parents=True)
    staged = []
    for number, source in ((n, page) for n in parameters.chapters() for page in parameters.page_sources(n)):
        path = folder / f"{source.stem}.ipynb"
        if not path.exists():
            raise InputError(f"chapter {number} has not been run at the {profile} profile: make book PROFILE={profile}")
        notebook = nbformat.read(path, as_version=4)
        ran = notebook.metadata.papermill.parameters["profile"]
        if ran != profile:
            raise InputError(f"{path} was run at the {ran} profile, not {profile}")
        records = ledger.read(folder / f"{number}.ledger.json")
        nbformat.write(take_home(notebook, profile, records), extra / "notebooks" / path.name)
        page = chapter_page(path, extra, records)
        if source == parameters.source(number):
            _add_findings(page.cells[0], views.markdown("findings", records=records, number=number))
        staged.append(source.with_suffix(".ipynb"))
        write_changed(staged[-1], nbformat.writes(page) + "\n")
    for old in {*paths.chapters_folder().glob("*.ipynb")} - {*staged}:
        old.unlink()
    return staged


def _add_findings(cell: nbformat.NotebookNode, findings: str) -> None:
    """Puts the verdicts on a chapter's findings below them; without such a section, below the first one."""
    above, heading, below = cell.source.partition("\n## What we find\n")
    own, following, rest = (below if heading else above).partition("\n## ")
    cell.source = f"{above if heading else ''}{heading}{own}\n\n{findings}{following}{rest}"


def write_changed(path: Path, text: str) -> None:
    """Writes a file only if its content changes: Sphinx goes by time stamps."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def take_home(
    notebook: nbformat.NotebookNode, profile: str, records: Sequence[Mapping[str, Any]] = ()
) -> nbformat.NotebookNode:
    """A chapter to download: the first cell says what it needs, and its ``profile`` line takes effect when it is run.

    Args:
        notebook: of a chapter, executed at ``profile``; it is changed.
        profile: that the line is set to. What the run injected goes, since it would override the line.
        records: of its ledger, whose numbers its words name.
    """
    values = {record["id"]: ledger.measured_value(record) for record in records}
    glued = captions.glued(notebook.cells)
    cells = [cell for cell in notebook.cells if "injected-parameters" not in cell.metadata.get("tags", [])]
    for cell in cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = re.sub(r'^(profile: .*= )"\w+"', rf'\1"{profile}"', cell.source, count=1, flags=re.M)
        elif cell.cell_type == "markdown":
            words = captions.filled(_TERM.sub(r"\1", cell.source), glued)
            cell.source = _CLAIM.sub(lambda found: values.get(found[1], "—"), words)
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
    found = config.get("repository", {}).get("url") or ""
    if found and not re.fullmatch(r"https://[\w.-]+/\S+", found):
        raise InputError(f"_config.yml: the repository's url must be like https://host/owner/name, got {found!r}")
    return found.rstrip("/")


def ledger_page(records: Sequence[dict[str, Any]], profile: str, again: Mapping[str, Any] | None = None) -> str:
    """The ledger's index as Markdown: a sentence that counts, a bar for each paper, a graph for each chapter."""
    known = {record["id"]: record for record in records}
    papers = ledger.by_paper(record for record in records if record["kind"] == "paper")
    counts = {letter: _count(ledger.statements(own), "statement") for letter, own in papers.items()}
    api = (paths.root() / "book" / "api").glob("*.md")
    pages = {m: path.stem for path in api for m in re.findall(r"automodule:: (\S+)", path.read_text(encoding="utf-8"))}
    graphs = {number: graph.chapter_graph(number, known, pages) for number in parameters.chapters()}
    shown = {"papers": papers, "counts": counts, "again": again, "graphs": graphs, "titles": titles()}
    return views.markdown("ledger", records=records, profile=profile, **shown)


def paper_page(letter: str, records: Sequence[dict[str, Any]], profile: str) -> str:
    """What holds of a paper, as Markdown; ``records`` are those of its claims."""
    about, known = ledger.about_papers()[letter], {record["id"]: record for record in records}
    matters = [known[name] for name in about["matters"]]
    pictures = {record["id"]: picture for record in matters if (picture := _picture(record["figure"]))}
    own, ours = ([r for r in records if (r["kind"] == "paper") is theirs] for theirs in (True, False))
    own, ours = (sorted(found, key=lambda record: not record["headline"]) for found in (own, ours))
    large = {} if profile == "paper" else {record["id"]: record for record in ledger.read(paths.paper_ledger())}
    shown = {"matters": matters, "pictures": pictures, "links": figure_links(records), "large": large}
    said = {"letter": letter, "about": about, "records": records, "stated": own, "ours": ours, "profile": profile}
    return views.markdown("paper", **said, **shown)


def _picture(label: str | None) -> tuple[str, bool] | None:
    """The file of a figure, for a phone if there is one, and whether it holds photographs or maps; none of a table."""
    folder = paths.generated() / "extra" / "figures"
    found = [path for name in (f"{label}-phone", label) for path in folder.glob(f"{name}.*")]
    return (found[0].name, found[0].suffix != ".svg" or "<image" in found[0].read_text("utf-8")) if found else None


def recomputed(records: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """How far a laptop run gives the values of ``results/ledger.json``, and its studies' stored results.

    ``values`` counts those of both ledgers, ``others`` are pairs, here and there, that differ in a digit or in their
    verdict, ``most`` is the largest share by which they do, of the value or of half its interval. ``sampled``: the
    studies whose stored results were computed again in part, with what differed.
    """
    there = {one["id"]: one for one in ledger.read(paths.results() / "ledger.json") if one["value"] is not None}
    pairs = [(one, there[one["id"]]) for one in records if one["id"] in there and one["value"] is not None]
    others = [(a, b) for a, b in pairs if views.show("number", a) != views.show("number", b)]
    far = [abs(a["value"] - b["value"]) / max(abs(b["value"]), (b["high"] - b["low"]) / 2, 1e-300) for a, b in others]
    found = {"values": len(pairs), "others": others, "most": max(far, default=0.0), "sampled": {}}
    for number in parameters.chapters():
        path = (folder / f"{number}.ledger.json").resolve().with_name(f"{number}.sampled.json")
        found["sampled"] |= json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found | {"changed": sum(a["verdict"] != b["verdict"] for a, b in others)}


def finer_table(shown: int = 2) -> str:
    """What finer numerics change, the ``shown`` columns of each study where it weighs most, as Markdown."""
    found = json.loads((paths.results() / "finer.json").read_text(encoding="utf-8"))
    return views.markdown("finer", found=found, shown=shown)


def unchecked_table(records: Sequence[dict[str, Any]]) -> str:
    """The studies of whose stored results a run computes nothing again, each with why and its claims, as Markdown."""
    reasons = {name: stored.unchecked(registry.find(name)[1], registry.is_here) for name in results.files()}
    claims = {name: [] for name in reasons}
    for record in records:
        for study in {setting["study"] for setting in record["settings"] or ()} & claims.keys():
            claims[study].append(record["id"])
    return views.markdown("unchecked", reasons=reasons, claims=claims)


def cards(records: Sequence[dict[str, Any]]) -> str:
    """One card per chapter, as Markdown: its key figure, title and verdicts. Writes the pictures beside it."""
    found = []
    for number, source in parameters.chapters().items():
        path = source.with_suffix(".ipynb")
        figure = _key_figure(nbformat.read(path, as_version=4))
        (paths.generated() / f"card-{number}.png").write_bytes(base64.b64decode(figure.data["image/png"]))
        own = {"records": [record for record in records if record["chapter"] == number]}
        own |= {"number": number, "title": titles()[number][0], "page": path.stem}
        found.append(own | {"painted": figure.metadata.regimes.painted})
    return views.markdown("cards", cards=found)


def titles() -> dict[str, tuple[str, str]]:
    """Title and page of each chapter, by number."""
    sources = parameters.chapters().items()
    return {n: (re.search(r"^# # (.+)$", path.read_text("utf-8"), re.M)[1], path.stem) for n, path in sources}


def _key_figure(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The figure of a page whose cell has the tag ``key``, or its first."""
    shown = [cell for cell in notebook.cells if _is_figure(cell)]
    if not shown:
        raise InputError("the first page of a chapter needs a figure")
    key = [cell for cell in shown if "key" in cell.metadata.get("tags", [])]
    return (key or shown)[0].outputs[0]


def write_downloads(records: Sequence[dict[str, Any]], folder: Path) -> None:
    """The ledger as files to download: all of it, and as a table what a spreadsheet can hold."""
    extra = paths.generated() / "extra"
    shutil.copy(folder / "ledger.json", extra / "ledger.json")
    columns = ("id", "chapter", "kind", "statement", "source", "verdict", "value", "low", "high", "n", "interval")
    table = pd.DataFrame([{name: record[name] for name in columns} for record in records])
    table["accepted"] = [ledger.band(record["accept"]) for record in records]
    table["counter-hypothesis"] = [record["alternative"]["value"] for record in records]
    table.to_csv(extra / "ledger.csv", index=False)
    (extra / "stored").mkdir()  # "results" is among the names that Sphinx leaves out
    for name in results.files():
        results.Results(registry.find(name)[1]).export(extra / "stored" / f"{name}.csv")


def source_archive() -> dict[str, Any] | None:
    """The sources at the commit that the pages are built from, to download; ``None`` outside a checkout."""
    path, of = paths.generated() / "extra" / "source.tar.gz", store.revision()
    git = ["git", "-C", str(paths.root()), "archive", "--prefix=companion/", "-o", str(path), of.rstrip("+")]
    failed = of == "unknown" or subprocess.run(git, capture_output=True).returncode
    return None if failed else {"revision": of, "megabytes": path.stat().st_size / 1e6}


def figure_links(records: Sequence[dict[str, Any]]) -> dict[str, str]:
    """For each measured claim the address of the figure that shows it, seen from a page in ``book/``."""
    measured = [record for record in records if record["chapter"]]
    on = {label: one.page for n in {r["chapter"] for r in measured} for label, one in figures.figures(n).items()}
    stems = {r["id"]: on.get(r["figure"], parameters.source(r["chapter"])).stem for r in measured}
    return {r["id"]: f"../chapters/{stems[r['id']]}.html#{r['figure']}" for r in measured}


def errata_page(records: Sequence[dict[str, Any]]) -> str:
    """Errata as Markdown, by paper and drawer: what it says, why it fails, what holds instead, who had that before."""
    measured = {record["id"]: record for record in records}
    own = {one.id: [measured[name] for name in one.claims] for one in errata().values()}
    papers: dict[str, list[Erratum]] = {}
    for erratum in sorted(errata().values(), key=lambda one: one.item[0]):
        papers.setdefault(erratum.item[0], []).append(erratum)
    judged, counts = {}, {}
    for letter, found in papers.items():
        judged[letter] = [measured[name] for name in dict.fromkeys(name for one in found for name in one.claims)]
        drawers = {drawer: [one for one in found if one.drawer == drawer] for drawer in DRAWERS}
        counts[letter] = ", ".join(_count(inside, drawer) for drawer, inside in drawers.items() if inside)
    return views.markdown("errata", papers=papers, judged=judged, counts=counts, own=own, links=figure_links(records))


def _count(found: Sequence[Any], one: str) -> str:
    return f"{len(found)} {one if len(found) == 1 else one + 's'}"


def readme_line(records: Sequence[dict[str, Any]]) -> str:
    """The README's sentence on the ledger."""
    return f"The ledger of the last full run (`results/ledger.json`): {ledger.summary(records)}"


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
    there = {name for number in registry.modules() for name in registry.of(number)}
    known = (record for record in ledger.read(paths.paper_ledger()) if _still_declared(record))
    kept = {record["id"]: record for record in known if {one["study"] for one in record["settings"] or ()} <= there}
    if not (found := sorted(folder.glob("[0-9][0-9].ledger.json"))):
        raise InputError(f"there is no run with a ledger in {folder}")
    for path in found:
        kept |= {record["id"]: record for record in of_paper_size(path.name[:2], folder)}
    whole = [{k: v for k, v in kept[name].items() if k != "cells"} for name in ledger.claims() if name in kept]
    ledger.write(paths.paper_ledger(), whole)
    return whole


def _still_declared(record: Mapping[str, Any]) -> bool:
    """Whether a claim is declared now as it was when this was measured."""
    claim = ledger.claims().get(record["id"])
    empty = ledger.record_of(claim) if claim else {}
    return bool(claim) and record == ledger.record_of(
        claim, **{k: v for k, v in record.items() if empty.get(k) is None}
    )


def of_paper_size(number: str, folder: Path) -> list[dict[str, Any]]:
    """The records of a chapter's run that rest on nothing but cells of the paper profile's grids.

    A run that cannot afford all of them may have made other studies smaller: their claims are left out, as are those of
    formulas, which have no size.
    """
    ran = nbformat.read(folder / f"{parameters.source(number).stem}.ipynb", as_version=4)
    given = dict(ran.metadata.papermill.parameters)
    designs = given.pop("designs", {})
    if given.pop("profile", "laptop") != "paper":
        return []
    whole = registry.grids(number, parameters.resolve(number, "paper"))
    shown = {name: p.value for name, p in parameters.declared(number).items() if name != "profile"}
    values = parameters.resolve(number, "paper", shown | given, designs)
    own = registry.grids(number, values)
    there: set[str] = set()
    for study in (study for study, grid in whole.items() if grid == own[study]):
        there |= registry.asked(number, study, values).cells.keys()
    records = ledger.read(folder / f"{number}.ledger.json")
    return [record for record in records if record["cells"] and set(record["cells"]) <= there]


def compare(folder: Path) -> int:
    """Prints each verdict of a built ledger that is not the stored one's, and each value and end of an interval that is
    more than ``APART`` of the stored interval from it; 1 where there is any.
    """
    if not (folder / "ledger.json").exists():
        raise InputError(f"there is no {folder / 'ledger.json'}: build the book first")
    here, there = ({one["id"]: one for one in ledger.read(at / "ledger.json")} for at in (folder, paths.results()))
    pairs = {name: (ledger.word(here.get(name)), ledger.word(there.get(name))) for name in there | here}
    found = [f"{name}: {own} here, {old} in the stored ledger" for name, (own, old) in pairs.items() if own != old]
    for name in here.keys() & there.keys():
        if moved := ledger.apart(here[name], there[name], APART):
            found.append(f"{name}: {', '.join(moved)} in the stored ledger")
    print("\n".join(sorted(found)) or f"all {len(there)} claims have the verdicts and values of results/ledger.json")
    return int(bool(found))


def needs_commits(folder: Path) -> None:
    """A ledger that is kept rests on cells of commits, or on rows that are stored in ``results/``.

    Cells of an earlier commit are those with which the present code was found to agree
    (``companion.lab.recheck``). ``folder`` holds the chapters' ledgers.
    """
    needs_commit("the kept ledger and its verdicts")
    kept = {key for name in results.files() for key in results.Results(registry.find(name)[1]).records}
    for path in sorted(folder.glob("[0-9][0-9].ledger.json")):
        for record in ledger.read(path):
            own = {revision for key, revision in record["cells"].items() if key not in kept}
            own = own if record["cells"] else {record["revision"]}  # of formulas alone
            if loose := {revision for revision in own if not committed(revision)}:
                raise InputError(
                    f"claim {record['id']} rests on cells of {min(loose)}, uncommitted code, which are not stored in "
                    "results/ either: build it from an empty build/ folder"
                )


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m companion.site.sources", description=__doc__)
    parser.add_argument("profile", help="smoke, laptop or paper")
    keep = "make this ledger results/ledger.json and the README's; of paper results/ledger.paper.json, without pages"
    parser.add_argument("--publish-ledger", action="store_true", help=keep)
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
        records = ledger.merge(folder)
        again = recomputed(records, folder) if args.profile == "laptop" else None  # of which the stored ledger is
        write_changed(paths.generated() / "foot.html", views.markdown("foot", again=again) if again else "")
        stated = [record for record in records if record["kind"] == "paper"]
        every = {number: registry.of(number) for number in registry.modules()}
        made = {
            "summary": views.markdown("summary", profile=args.profile, records=records),
            "counts": views.markdown("counts", found={one["kind"]: one["count"] for one in ledger.tally(stated)}),
            "papers": views.markdown("papers", papers=ledger.by_paper(stated)),
            "ledger": ledger_page(records, args.profile, again),
            "errata": errata_page(records),
            "clone": views.markdown("clone", address=address(), archive=source_archive()),
            "cards": cards(records),
            "holds": start.holds(records, titles(), args.profile),
            "places": start.places(records, titles(), args.profile),
            "finer": finer_table(),
            "unchecked": unchecked_table(records),
            "studies": views.markdown("studies", chapters=every, stored=results.files(), doc=inspect.getdoc),
        }
        for letter, own in ledger.by_paper(records).items():
            made[f"paper-{letter.lower()}"] = paper_page(letter, own, args.profile)
        for name, text in made.items():
            write_changed(paths.generated() / f"{name}.md", text)
        write_downloads(records, folder)
        if args.publish_ledger:
            shutil.copy(folder / "ledger.json", paths.results() / "ledger.json")
            write_readme()
            shutil.copy(paths.generated() / "card-01.png", paths.root() / "_static" / "readme.png")
    print(ledger.summary(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
