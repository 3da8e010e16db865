"""The built smoke book: every page is there and needs no network; the ledger file keeps its contract."""

import functools
import inspect
import json
import pydoc
import re
import subprocess
import tarfile
from types import SimpleNamespace
from urllib.parse import urljoin

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from nbclient import NotebookClient
from sphinx import addnodes

from companion import paths
from companion.book import ledger, views
from companion.book.errata import DRAWERS
from companion.lab import parameters
from companion.site import extension, quotes, sources
from regimes.validate import InputError
from tests.references import ROOT

pytestmark = pytest.mark.usefixtures("smoke_pages")
HTML = ROOT / "build" / "smoke" / "html"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())


def listed(entries):
    """Every page of a table of contents, those below another too, in its order."""
    return [name for entry in entries for name in (entry["file"], *listed(entry.get("sections", [])))]


PAGES = [TOC["root"], *(name for part in TOC["parts"] for name in listed(part["chapters"]))]
WITH_PLAYER = ("chapters/01_lazy_vs_feature", "chapters/06_cnfa")
CHAPTERS = {  # the pages of each, its story first
    f"chapters/{path.stem}": [page for page in PAGES if page.startswith(f"chapters/{number}_")]
    for number, path in parameters.chapters().items()
}
DOCUMENTED = re.compile(r'<dt class="sig[^"]*" id="((?:regimes|companion)\.[^"]+)"')
OUTSIDE = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"')


@pytest.mark.parametrize("page", PAGES)
def test_page_is_built_and_loads_nothing_from_outside(page):
    text = (HTML / f"{page}.html").read_text(encoding="utf-8")
    assert not OUTSIDE.findall(text)
    assert 'class="section-title"' in text or "<h1>" in text
    head = BeautifulSoup(text.partition("<body")[0], "html.parser").head  # pages are long
    about = {one.get("property") or one.get("name"): one.get("content") for one in head.find_all("meta")}
    assert about["description"] == about["og:description"] and len(about["description"].split()) > 15
    assert about["og:title"] and (HTML / page).parent.joinpath(about["og:image"]).resolve().is_file()
    assert (HTML / page).parent.joinpath(head.find("link", rel="icon")["href"]).resolve().is_file()


@pytest.mark.parametrize("page", CHAPTERS)
def test_all_that_a_chapter_computed_is_on_its_pages(page):
    """Players and folded settings, beside their figure: MyST-NB drops a cell that holds them and no source."""
    shown = "".join((HTML / f"{part}.html").read_text(encoding="utf-8") for part in CHAPTERS[page])
    outputs = [
        output
        for part in CHAPTERS[page]
        for cell in nbformat.read(ROOT / "build" / "smoke" / f"{part.split('/')[1]}.ipynb", as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    html = "".join(output.get("data", {}).get("text/html", "") for output in outputs)
    figures = [output.metadata.regimes for output in outputs if "regimes" in output.get("metadata", {})]
    assert shown.count('class="slider') == html.count('class="slider')
    assert 'class="slider' in html or page not in WITH_PLAYER
    assert shown.count('class="drawn') == len(figures)
    wanted = html.count('class="settings"') + sum(bool(figure.settings) for figure in figures)
    assert wanted and shown.count('class="settings"') == wanted


def test_a_foot_says_how_far_this_machine_gave_the_stored_ledger(mini_book, monkeypatch):
    held = [entry for entry in ledger.read(ROOT / "results" / "ledger.json") if entry["verdict"] == "reproduced"]
    kept = held[:4]
    (mini_book / "results").mkdir()
    ledger.write(mini_book / "results" / "ledger.json", kept)
    monkeypatch.setattr(parameters, "chapters", lambda: {"99": mini_book / "chapters" / "99_mini.py"})
    (mini_book / "99.sampled.json").write_text('{"a.b": [], "a.c": ["x is 2 in row 1, computed 3"]}')
    same = sources.recomputed(kept, mini_book)
    assert (same["values"], same["others"], same["most"], same["changed"]) == (4, [], 0, 0)
    far = kept[1] | {"value": kept[1]["value"] * 1.25, "high": 1e6, "verdict": "not reproduced"}
    found = sources.recomputed([kept[0], far, *kept[2:]], mini_book)
    assert found["most"] == pytest.approx(0.25) and found["changed"] == 1
    said = " ".join(views.markdown("foot", again=found).split())
    assert "3 of 4 values to the digit, the others within 25 %, 1 verdict changed" in said
    assert "Of 2 stored tables a sample was computed again; 1 differs" in said
    details = views.show("again", found)
    assert kept[1]["id"] in details and "x is 2 in row 1, computed 3" in details and kept[0]["id"] not in details


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("a ($x$, or", 'a <span class="kept">($x$,</span> or'),
        ("a $x$ or $y$-fold", 'a $x$ or <span class="kept">$y$-fold</span>'),
        ("<b>$x$</b> <em>by $x$</em>, or", '<b>$x$</b> <em>by <span class="kept">$x$,</span></em> or'),
    ],
)
def test_a_formula_stays_with_the_marks_that_touch_it(body, shown):
    typeset = lambda text: re.sub(r"\$(.)\$", r'<span class="math notranslate nohighlight">\\(\1\\)</span>', text)  # noqa: E731
    assert extension.marks_kept(typeset(body)) == typeset(shown)


def test_every_chapter_has_a_page_and_every_page_a_place():
    staged = [f"chapters/{path.stem}" for path in (ROOT / "chapters").glob("*.ipynb")]
    assert sorted(staged) == sorted(page for page in PAGES if page.startswith("chapters/"))
    assert all(pages[0] == name for name, pages in CHAPTERS.items())
    folders = (HTML / "book", HTML / "chapters")
    built = {str(p.relative_to(HTML).with_suffix("")) for folder in folders for p in folder.rglob("*.html")}
    assert built == set(PAGES)


def test_ledger_file_holds_every_claim_with_the_contracts_keys():
    records = json.loads((ROOT / "build" / "smoke" / "ledger.json").read_text())
    assert [record["id"] for record in records] == list(ledger.claims())
    keys = set(ledger.entry_of(next(iter(ledger.claims().values()))))
    assert all(set(record) == keys for record in records)
    papers = {letter: soup(f"book/paper-{letter.lower()}") for letter in ledger.about_papers()}
    assert [page for page in PAGES if page.startswith("book/paper-")] == [f"book/paper-{x.lower()}" for x in papers]
    for record in ledger.read(ROOT / "build" / "smoke" / "ledger.json"):
        row = papers[record["item"][0]].find("tr", id=record["id"])
        assert ledger.measured_value(record) in row.get_text() and row.select_one(f'a[href$="#{record["id"]}"]')


def test_every_measured_number_leads_to_its_row_and_the_row_back_to_it():
    numbers, there = {}, {}
    for name in (page for page in PAGES if not page.startswith("book/api/")):
        for link in soup(name).select(".measured"):
            claim = link["data-claim"]
            numbers[f"{name}.html#{link['id']}"] = claim
            row = urljoin(f"{name}.html", link["href"])
            assert row == f"book/paper-{claim[0].lower()}.html#{claim}" and link["data-definition"].endswith(claim)
            assert link.name == "a" and not link.find_parent("a")
    for letter in ledger.about_papers():
        page = f"book/paper-{letter.lower()}"
        for row in soup(page).select("table.ledger tr[id]"):
            quoting = [link["href"] for link in row.select("td:first-child a") if "#quoted-" in link["href"]]
            there |= {urljoin(f"{page}.html", address): row["id"] for address in quoting}
    assert there == numbers
    texts = [path.read_text("utf-8") for path in (ROOT / "chapters").glob("*.py")]
    texts += [path.read_text("utf-8") for path in (ROOT / "book" / "teach").glob("*.md")]
    texts += [(ROOT / "book" / name).read_text("utf-8") for name in ("intro.md", "tour.md", "yours.md", "papers.yml")]
    roles = [name for text in texts for name in quotes.ROLE.findall(text)]
    assert sorted(roles) == sorted(numbers.values()) and len({*roles}) > 350


def test_what_a_cell_keeps_for_the_text_is_no_link():
    """It is no claim and has no row."""
    page = soup("chapters/01_learning_curve_details")
    words = (ROOT / "chapters" / "01_learning_curve_details.py").read_text(encoding="utf-8")
    assert (
        "{glue:text}" in words and {link["data-claim"] for link in page.select("a.measured")} <= ledger.claims().keys()
    )


def test_the_ledger_shows_what_headline_claims_rest_on():
    page = soup("book/ledger")
    graphs = page.select(".graph")
    nodes = [{node["data-node"] for node in graph.select("[data-node]")} for graph in graphs]
    head = {claim.id for claim in ledger.claims().values() if claim.headline}
    assert len(graphs) == len(CHAPTERS) and head <= set().union(*nodes)
    for graph, own in zip(graphs, nodes, strict=True):
        ends = [edge["data-ends"].split() for edge in graph.select("path")]
        assert {end for edge in ends for end in edge} <= own and len(ends) > 5
    for link in page.select(".graph a, .papers a, .ratios a"):
        name, _, anchor = link["href"].partition("#")
        assert not anchor or soup(f"book/{name.removesuffix('.html')}").find(id=anchor), link["href"]


def test_the_sources_are_there_to_download():
    with tarfile.open(HTML / "source.tar.gz") as archive:
        assert {"companion/Makefile", "companion/book/papers.yml"} <= set(archive.getnames())
    size = (HTML / "source.tar.gz").stat().st_size / 1e6
    assert f"source.tar.gz</a> ({size:.0f} MB)" in (HTML / "book" / "rerun.html").read_text(encoding="utf-8")


def test_readme_line_is_the_one_of_the_kept_ledger():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    line = text.partition(sources.README_MARKS[0])[2].partition(sources.README_MARKS[1])[0].strip()
    assert line == sources.readme_line(ledger.read(ROOT / "results" / "ledger.json"))


@pytest.mark.parametrize(
    ("edited", "again"),
    [
        ("lib/regimes/validate.py", sorted(parameters.chapters())),
        ("book/papers.yml", sorted(parameters.chapters())),
        ("chapters/designs/03.toml", ["03"]),
    ],
)
def test_an_edit_runs_what_depends_on_it_again(edited, again):
    """``make`` knows what a page depends on: nothing runs in a tree that is built."""

    def planned(*options, target="chapters"):
        make = ["make", "-n", *options, target, "PROFILE=smoke"]  # html makes these, and does not pass --what-if on
        return subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    (chapters,) = re.findall(r"companion\.runner ((?:\d\d )+)", planned(f"--what-if={edited}"))  # as one queue
    assert chapters.split() == again
    pages = planned(f"--what-if={edited}", target="build/smoke/.pages")
    assert "companion.site.pages smoke" in pages and "companion" not in planned() + planned(target="build/smoke/.pages")


def test_every_module_is_on_one_api_page_and_the_overview_leads_to_each():
    overview = (ROOT / "book" / "api.md").read_text(encoding="utf-8")
    rooms = {page for page in PAGES if page.startswith("book/api/")}
    assert rooms == {f"book/api/{path.stem}" for path in (ROOT / "book" / "api").glob("*.md")}
    assert rooms == {f"book/{name}" for name in re.findall(r"\]\((api/\w+)\.md\)", overview)}
    texts = [overview, *((ROOT / f"{page}.md").read_text(encoding="utf-8") for page in sorted(rooms))]
    named = [name for text in texts for name in re.findall(r"automodule:: ((?:regimes|companion)\.\S+)", text)]
    listed = set(named)
    assert len(named) == len(listed)
    lib = ROOT / "lib"
    names = {".".join(path.relative_to(lib).with_suffix("").parts) for path in lib.rglob("*.py")}
    # a package's facade may only name what its modules define; studies are listed by their own command
    modules = {name for name in names if not name.endswith(("__init__", "__main__")) and ".studies." not in name}
    modules = {name for name in modules if not name.rpartition(".")[2].startswith("_")}
    # kernels that only a machine with a card can import, and what builds wheels
    modules -= {"regimes.training.gradient_flow.fused", "setup"}
    packages = {name.removesuffix(".__init__") for name in names}
    assert modules <= listed <= modules | packages and "companion.studies" in listed


@functools.cache
def soup(page):
    return BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


def test_no_name_of_the_library_is_documented_twice():
    pages = [(HTML / f"{page}.html").read_text(encoding="utf-8") for page in PAGES if page.startswith("book/api/")]
    names = [name for text in pages for name in DOCUMENTED.findall(text)]
    assert len(names) > 500 and len(names) == len(set(names))
    found = [pydoc.locate(name) for name in names]
    defined = [f"{it.__module__}.{it.__qualname__}" for it in found if inspect.isclass(it) or inspect.isfunction(it)]
    assert len(defined) == len(set(defined))


def test_errata_stand_by_paper_each_with_how_it_was_decided():
    page, entries = soup("book/errata"), list(ledger.errata().values())
    records = {record["id"]: record for record in ledger.read(ROOT / "build" / "smoke" / "ledger.json")}
    papers = [heading.get_text() for heading in page.select("article h2")]
    assert [title[6] for title in papers] == sorted({entry.item[0] for entry in entries})
    lines = page.select(".papers > a")
    assert len(lines) == len(papers) and all(page.find(id=line["href"][1:]) for line in lines)
    for entry in entries:
        section = page.find(id=f"erratum-{entry.id}").find_parent("section")
        drawer = section.find_parent("section")
        assert drawer.h3.get_text().startswith(DRAWERS[entry.drawer]), entry.id
        assert drawer.find_parent("section").h2.get_text().startswith(f"Paper {entry.item[0]}: "), entry.id
        said = section.get_text()
        assert section.blockquote.get_text().strip().startswith("“"), entry.id
        assert "Who had it before." in said and "How it was decided." in said, entry.id
        for record in map(records.get, entry.claims):
            assert {record["id"], ledger.measured_value(record), ledger.band(record["accept"])} <= set(
                section.find("code", string=record["id"]).find_parent("tr").stripped_strings
            ), record["id"]
            if record["chapter"]:
                assert section.select_one(f'a[href*="chapters/{record["chapter"]}_"][href$="#{record["figure"]}"]')


def test_works_are_listed_by_author_and_lead_to_where_they_are():
    page, source = soup("book/bibliography"), (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    works = page.select(".citation")
    assert len(works) == len(re.findall(r"^@", source, re.M))
    authors = [work.p.get_text() for work in works]
    assert authors[0].startswith("Dennis Amelunxen") and authors[-1].startswith("Libin Zhu")
    links = {link["href"] for work in works for link in work.select("a.external")}
    for kind, start in (("doi", "https://doi.org/"), ("eprint", "https://arxiv.org/abs/"), ("url", "")):
        assert {start + name for name in re.findall(rf"^  {kind} = {{(.*)}}", source, re.M)} <= links
    assert "https://arxiv.org/abs/2511.07272v2" in links


def test_every_chapter_links_its_first_words_of_the_field_to_the_glossary():
    glossary = soup("book/glossary")
    meant = {term["id"]: term.find_next_sibling("dd").get_text() for term in glossary.select("dl.glossary dt[id]")}
    assert 25 <= len(set(meant.values())) <= 45 and all(text.strip().endswith(".") for text in meant.values())
    for name, parts in CHAPTERS.items():
        links = [link for part in parts for link in soup(part).select("a[data-definition]:not([data-claim])")]
        anchors = [link["href"].partition("#")[2] for link in links]
        assert len(anchors) >= 4 and len(anchors) == len(set(anchors)), name  # at the first use, and no other
        for link, anchor in zip(links, anchors, strict=True):
            words = BeautifulSoup(link["data-definition"], "html.parser").get_text()
            assert words.split() == meant[anchor].split(), (name, anchor)


def test_the_repositorys_address_stands_in_one_place(mini_book):
    """None: no clone line, and none invented. One: clone lines, the saved notebook, the theme's button."""
    for text in ("title: t\n", 'title: t\nrepository: {url: ""}\n'):
        (mini_book / "_config.yml").write_text(text)
        assert sources.address() == "" and "git clone" not in views.markdown(
            "clone", address=sources.address(), archive=None
        )
        assert "```sh\nmake book\n```" in views.markdown("clone", address=sources.address(), archive=None)
    config = "title: t\nrepository: {url: https://%s/someone/the-book.git}\n"
    (mini_book / "_config.yml").write_text(config % "github.com")
    assert "git clone https://github.com/someone/the-book.git\ncd the-book\nmake book\n" in views.markdown(
        "clone", address=sources.address(), archive=None
    )
    (mini_book / "_config.yml").write_text("repository: {url: somewhere}\n")
    with pytest.raises(InputError, match="url must be like https://host/owner/name, got 'somewhere'"):
        sources.address()


@pytest.mark.parametrize(("host", "known"), [("github.com", True), ("code.example.org", False)])
def test_the_theme_has_a_button_for_a_host_that_it_knows(tmp_path, host, known):
    url = f"https://{host}/someone/the-book.git"
    config = SimpleNamespace(html_theme_options={"repository_url": url})
    extension._button(SimpleNamespace(srcdir=tmp_path), config)
    button = {"repository_url": url if known else "", "use_repository_button": known}
    assert config.html_theme_options == button | {"extra_footer": ""}


def test_all_pages_are_written_anew_where_one_has_another_title_or_definition():
    terms = {("term", "margin"): ("glossary", "term-margin")}
    env = SimpleNamespace(
        domaindata={"std": {"labels": {}, "objects": terms}, "math": {"objects": {}}},
        titles={"intro": nodes.title("", "One")},
        toc_secnumbers={},
        toc_fignumbers={},
        get_doctree=lambda name: nodes.paragraph("", "a margin"),
        found_docs={"intro", "glossary"},
    )
    app = SimpleNamespace()
    assert extension._out_of_date(app, env) == env.found_docs and not extension._out_of_date(app, env)
    env.titles["intro"] = nodes.title("", "Two")
    assert extension._out_of_date(app, env) == env.found_docs and not extension._out_of_date(app, env)
    env.get_doctree = lambda name: nodes.paragraph("", "another")
    assert extension._out_of_date(app, env) == env.found_docs


def test_the_search_has_the_words_that_a_parser_finds_and_no_code():
    page = """<h1>A &lt;law&gt;<a class="headerlink" href="#a" title="Link">#</a></h1><p data-definition="a &gt; b">of
    <em>lazy</em>\n learning<br>&amp; <span class="math">\\(x^{2}\\)</span></p><pre>code <b>in</b> it</pre>
    <style>p { x: y }</style><script>window.x = "<p>";</script><table><td>.97</td><td>.90</td></table>"""
    parsed = BeautifulSoup(page, "html.parser")
    for part in parsed.select("pre, script, style, .headerlink"):
        part.decompose()
    expected = " ".join(re.sub(r"\\[()]|[{}]", "", parsed.get_text(" ")).split())
    assert extension.search_text(page) == expected
    assert expected == "A <law> of lazy learning & x^2 .97 .90"


def test_the_sidebar_has_the_title_of_a_page_and_the_pages_below_but_no_heading():
    def entry(words, *below):
        return nodes.list_item("", addnodes.compact_paragraph("", "", nodes.reference("", words)), *below)

    pages = addnodes.toctree(entries=[(None, "chapters/details")])
    headings = nodes.bullet_list("", entry("a heading", nodes.bullet_list("", entry("another"))), pages)
    toc = nodes.bullet_list("", entry("A chapter", headings))
    titles = extension._without_headings(toc)
    assert titles.astext().strip() == "A chapter" and "heading" in toc.astext()
    (kept,) = titles.findall(addnodes.toctree)
    assert kept["entries"] == pages["entries"]


def test_a_saved_notebook_says_what_it_needs_runs_elsewhere_and_its_profile_line_counts(ran_book):
    executed = nbformat.read(ran_book / "build" / "laptop" / "99_mini.ipynb", as_version=4)
    saved = sources.take_home(executed, "laptop")
    nbformat.validate(saved)
    assert "Python 3.11 to 3.13" in saved.cells[0].source and "make lab" in saved.cells[0].source
    assert not any("injected-parameters" in cell.metadata.get("tags", []) for cell in saved.cells)
    (cell,) = (cell for cell in saved.cells if "parameters" in cell.metadata.get("tags", []))
    assert '= "laptop"  # chosen' in cell.source and "size = 3  # how many numbers" in cell.source
    elsewhere = ran_book / "runs" / "elsewhere"
    elsewhere.mkdir(parents=True)
    cell.source = cell.source.replace('= "laptop"  # chosen', '= "smoke"  # chosen')
    NotebookClient(saved, resources={"metadata": {"path": str(elsewhere)}}).execute()
    (record,) = ledger.read(ran_book / "runs" / "interactive" / "99.ledger.json")
    assert record["profile"] == "smoke" and record["value"] == 2


def test_what_the_download_button_saves_is_the_notebook_to_take_home():
    for name in (page for page in PAGES if page.startswith("chapters/")):
        links = [link for link in soup(name).select("a[download]") if link["href"].endswith(".ipynb")]
        whole = f"{name.removeprefix('chapters/')}.ipynb"
        assert [link["href"] for link in links] == [f"../notebooks/{whole}"]
        saved = nbformat.read(HTML / "notebooks" / whole, as_version=4)
        assert saved.cells[0].source.startswith("**What this notebook needs.**")
        assert "{term}" not in "".join(cell.source for cell in saved.cells)
    assert not list((HTML / "_sources").rglob("*.ipynb"))


SHARES = [("error", 0.2), ("early", 0.0), ("late", 0.4)]


def test_the_table_of_stored_results_that_no_run_checks(monkeypatch):
    reasons = {"depth.recipe": "the shortest batch takes 11 s"}
    monkeypatch.setattr(sources.verify, "unchecked", lambda study, here: reasons.get(study.name, ""))
    settings = [[{"study": "depth.recipe"}, {"study": "depth.recipe"}], [{"study": "depth.text_training"}], None]
    records = [{"id": str(i), "settings": one} for i, one in enumerate(settings)]
    assert sources.unchecked_table(records).splitlines()[2:] == [
        "| `depth.recipe` | the shortest batch takes 11 s | 1 |"
    ]


def test_the_table_of_numerical_error_lists_where_it_weighs_most(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "results", lambda: tmp_path)
    columns = [
        {"column": name, "pairs": 6, "bias": 0.01, "error": 0.001, "share": share, "most": 0.9}
        for name, share in SHARES
    ]
    about = {"study": "a.b", "finer": "tolerance × 0.1", "settings": 2, "realisations": 60}
    (tmp_path / "finer.json").write_text(json.dumps([about | {"columns": columns}]))
    lines = sources.finer_table().splitlines()
    assert len(lines) == 4 and "`late`" in lines[2] and "`error`" in lines[3] and lines[3].startswith("|  |")
    assert "`a.b`<br>tolerance × 0.1; N = 60" in lines[2] and "| 1 ± 0.2 % | 0.4, ≤ 0.9 |" in lines[2].replace(
        "\u00a0", " "
    )
