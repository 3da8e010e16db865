"""The built smoke book: every page is there and needs no network; the ledger file keeps its contract."""

import json
import re
import subprocess

import nbformat
import pytest
import yaml

from regimes.book import ledger, sources
from tests.references import ROOT

HTML = ROOT / "build" / "smoke" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"]] + [entry["file"] for part in TOC["parts"] for entry in part["chapters"]]
OUTSIDE = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"')


@pytest.mark.parametrize("page", PAGES)
def test_page_is_built_and_loads_nothing_from_outside(page):
    text = (HTML / f"{page}.html").read_text(encoding="utf-8")
    assert not OUTSIDE.findall(text)
    assert 'class="section-title"' in text or "<h1>" in text


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("chapters/")])
def test_all_that_a_chapter_computed_is_on_its_page(page):
    """Players and folded settings, beside their figure: MyST-NB drops a cell that holds them and no source."""
    shown = (HTML / f"{page}.html").read_text(encoding="utf-8")
    outputs = [
        output
        for cell in nbformat.read(ROOT / "build" / "smoke" / f"{page.split('/')[1]}.ipynb", as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    html = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    figures = [output.metadata.regimes for output in outputs if "regimes" in output.get("metadata", {})]
    assert shown.count('class="slider"') == html.count('class="slider"') > 0
    assert shown.count('class="drawn') == len(figures)
    wanted = html.count('class="settings"') + sum(bool(figure.settings) for figure in figures)
    assert wanted and shown.count('class="settings"') == wanted


def test_every_chapter_has_a_page_and_every_page_a_place():
    sources = {f"chapters/{path.stem}" for path in (ROOT / "chapters").glob("[0-9][0-9]_*.py")}
    assert sources == {page for page in PAGES if page.startswith("chapters/")}
    built = {
        str(p.relative_to(HTML).with_suffix("")) for p in HTML.glob("*/*.html") if p.parts[-2] in ("book", "chapters")
    }
    assert built == set(PAGES)


def test_ledger_file_holds_every_claim_with_the_contracts_keys():
    records = json.loads((ROOT / "build" / "smoke" / "ledger.json").read_text())
    assert [record["id"] for record in records] == list(ledger.claims())
    keys = set(ledger.record(next(iter(ledger.claims().values()))))
    assert all(set(record) == keys for record in records)
    text = (HTML / "book" / "ledger.html").read_text(encoding="utf-8")
    for record in records:
        assert f"<code>{record['id']}</code>" in text
        assert ledger.measured(record) in text


def test_errata_name_declared_claims_and_corrections_name_errata():
    entries = yaml.safe_load((ROOT / "book" / "errata.yml").read_text())
    known = {entry["id"]: entry for entry in entries}
    assert len(known) == len(entries)
    for entry in entries:
        assert set(entry) == {"id", "item", "title", "says", "wrong", "corrected", "claims"}, entry["id"]
        assert entry["claims"] and set(entry["claims"]) <= set(ledger.claims()), entry["id"]
    for claim in ledger.claims().values():
        if claim.corrected:
            assert claim.id in known[claim.erratum]["claims"], claim.id


def test_readme_line_is_the_one_of_the_kept_ledger():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    line = text.partition(sources.README_MARKS[0])[2].partition(sources.README_MARKS[1])[0].strip()
    assert line == sources.readme_line(ledger.read(ROOT / "results" / "ledger.json"))


@pytest.mark.parametrize("edited", ["lib/regimes/validate.py", "book/claims.yml", "chapters/profiles/smoke.toml"])
def test_an_edit_runs_every_chapter_again(edited):
    """``make`` knows what a page depends on: nothing runs in a tree that is built, everything after an edit."""

    def planned(*options):
        make = ["make", "-n", *options, "pages", "PROFILE=smoke"]  # html makes these, and does not pass --what-if on
        return subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    chapters = re.findall(r"regimes\.runner (\d\d) ", planned(f"--what-if={edited}"))
    assert sorted(chapters) == sorted(page[9:11] for page in PAGES if page.startswith("chapters/"))
    assert "regimes.book.pages smoke" in planned()  # pages know nothing of the ledger: they are built each time


def test_every_module_is_on_the_api_page():
    listed = set(re.findall(r"automodule:: (regimes\.\S+)", (ROOT / "book" / "api.md").read_text(encoding="utf-8")))
    lib = ROOT / "lib"
    names = {".".join(path.relative_to(lib).with_suffix("").parts) for path in (lib / "regimes").rglob("*.py")}
    # a package's facade may only name what its modules define; studies are listed by their own command
    modules = {name for name in names if not name.endswith(("__init__", "__main__")) and ".studies." not in name}
    packages = {name.removesuffix(".__init__") for name in names}
    assert modules <= listed <= modules | packages and "regimes.studies" in listed
