"""Every page as a reader sees it: Chromium without a network, no console error, equations typeset, figures there."""

import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import threading
from collections import Counter
from urllib.parse import unquote, urlsplit

import nbformat
import pandas as pd
import pytest
from playwright.sync_api import TimeoutError, expect, sync_playwright

from companion import paths
from companion.lab import parameters
from tests.book.test_sources import CHAPTERS as FIRST
from tests.book.test_sources import HTML, PAGES
from tests.measure_pages import FIGURES, LONGEST, MEGABYTES, PARTED, SIZES, look, stories

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None and os.environ.get("CI") != "true":
    pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("smoke_pages")]
SHOTS = HTML.parent / "screenshots"
CHAPTERS = [name for name in PAGES if name.startswith("chapters/")]
STORIES = stories()
# pages of the interface are made alike: one of them, but every week
EVERY = [
    pytest.param(name, marks=pytest.mark.weekly)
    if name.startswith("book/api/") and name != "book/api/jamming"
    else name
    for name in PAGES
]
# those where something moves
SLIDERS = [
    f"chapters/{stem}"
    for stem in (page.stem for number in parameters.chapters() for page in parameters.page_sources(number))
    if "chapter.slider(" in (paths.chapters_folder() / f"{stem}.py").read_text(encoding="utf-8")
]
SCREENS = [(SLIDERS[0], 390, "dark")]
SCREENS += [
    pytest.param(name, *on, marks=pytest.mark.weekly)
    for name in SLIDERS
    for on in ((1400, "light"), (390, "dark"))
    if (name, *on) not in SCREENS
]
SCREENS += [pytest.param(SLIDERS[0], *on, marks=pytest.mark.weekly) for on in ((1400, "dark"), (390, "light"))]


def at(name, asked="open"):
    """The address of a page; of a story whose findings wait for a guess with them open."""
    return (HTML / f"{name}.html").as_uri() + (f"?{asked}" if name in STORIES and asked else "")


# whether nothing lies over an element, such as the filters, which stay
UNCOVERED = """e => {
    const box = e.getClientRects()[0];
    return e.contains(document.elementFromPoint(box.left + 4, box.top + box.height / 2));
}"""
LEFT = "net::ERR_ABORTED"  # a page that the test itself left, or loads again, before its icon came


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # no sandbox: CI containers run as root, and the pages are our own
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        made = launched.new_context

        def patient(**options):  # a busy machine may take more than the 30 seconds that are the default
            context = made(**options)
            context.set_default_navigation_timeout(180_000)
            return context

        launched.new_context = patient
        yield launched
        launched.close()


@contextlib.contextmanager
def opened(browser, width=1280, scheme="light"):
    """A page of that width, without a network; ``problems`` are what it complains of."""
    context = browser.new_context(offline=True, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.problems = []
    page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("requestfailed", lambda r: page.problems.append(f"could not load {r.url}") if r.failure != LEFT else None)
    yield page
    context.close()


@pytest.fixture
def shot(request):
    """Takes a picture of a page, for people to look at, where the weekly tests run; it takes longer than the tests."""
    weekly = "weekly or" in request.config.option.markexpr

    def take(page, name, **options):
        if weekly:
            page.screenshot(path=SHOTS / f"{name.replace('/', '-')}.png", **options)

    return take


@pytest.fixture
def page(browser):
    with opened(browser) as page:
        yield page


@pytest.fixture(scope="module")
def loaded(browser):
    """Opens a page from the disk, unless it was before; returns the files it took."""
    found = {}

    def load(name, page=None):
        with contextlib.ExitStack() as stack:
            if page is not None or name not in found:
                page = page or stack.enter_context(opened(browser))
                files = set()
                page.on("requestfinished", lambda request: files.add(unquote(urlsplit(request.url).path)))
                page.goto(at(name))
                equations(page)
                found[name] = frozenset(files)  # a phone's screen, later, takes more
        return found[name]

    return load


def equations(page):
    return page.evaluate(
        """async () => {
        const wanted = document.querySelectorAll('.math').length;
        if (wanted) { while (!window.MathJax?.startup?.promise) await new Promise(r => setTimeout(r, 20)); }
        await window.MathJax?.startup?.promise;
        return {wanted, typeset: document.querySelectorAll('.math mjx-container').length,
                broken: [...document.querySelectorAll('mjx-merror')].map(e => e.title || e.textContent)};
    }"""
    )


# [height, characters of the longest entry] of each row of a table
ROWS = """rows => rows.map(row => [row.getBoundingClientRect().height,
    Math.max(...[...row.cells].map(cell => cell.innerText.length))])"""


@pytest.fixture(scope="module")
def window(browser):
    """One page in which many are opened one after another: a process for each takes a third longer."""
    with opened(browser) as page:
        yield page


@pytest.mark.xdist_group("looks")
@pytest.mark.parametrize("name", EVERY)
def test_page_as_a_reader_sees_it(window, loaded, shot, name):
    page = window
    page.problems.clear()
    loaded(name, page)
    maths = equations(page)
    assert maths["typeset"] >= maths["wanted"] and not maths["broken"], maths
    missing = page.evaluate("() => [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)")
    assert not missing and not page.problems, (missing, page.problems)
    assert not (faults := page.evaluate(FAULTS)), faults[:9]
    if name.startswith("chapters/"):
        assert page.locator("figure img").count() > 0, "a chapter shows figures"
        assert page.locator("article img[src*='_images/']").count() == 0, "each with a caption"
        assert page.locator("figure img:not([alt])").count() == 0, "every figure has a text for those who cannot see it"
    assert {round(share, 2) for shown, share in page.evaluate(SIZES) if not shown} <= {1.0}, (
        "formulas have the text's size"
    )
    assert not (parted := page.evaluate(PARTED)), parted
    page.set_viewport_size({"width": 390, "height": 844})  # a phone: what is wider scrolls in a box of its own
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert not (parted := page.evaluate(PARTED)), parted
    if name in STORIES:  # each is short
        found = look(page)
        assert found["screens"] <= LONGEST and 0 < found["figures"] <= FIGURES, found
        assert found["words"] > 500 and 0 < found["verdicts"] < 0.1, found
    page.set_viewport_size({"width": 1280, "height": 900})
    shot(page, name, full_page=True)
    if not name.startswith(("book/api/", "chapters/")):  # no entry is broken over many lines for want of width
        page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        rows = page.locator("article table tr").evaluate_all(ROWS)
        assert not [(height, longest) for height, longest in rows if height > 110 and longest < 30]


# what a look at a page would find: source of formulas, text below 11 pixels (of what is folded away, too), a level of
# headings left out, a fold of nothing, a value that is none
FAULTS = r"""() => {
    const article = document.querySelector('article'), found = [];
    const size = (one) => parseFloat(getComputedStyle(one).fontSize);
    const leaves = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    while (leaves.nextNode()) {
        const words = leaves.currentNode.data.trim(), own = leaves.currentNode.parentElement;
        if (!words || own.closest('script, style, svg, mjx-container, .visually-hidden, .headerlink')) continue;
        if (size(own) && size(own) < 10.95) found.push(size(own) + ' px: ' + words.slice(0, 40));
        if (own.closest('pre, code, .math')) continue;
        if (/\$|\\\(|\(None\)|(^|[=:(] *)undefined\b/.test(words)) found.push('source: ' + words.slice(0, 60));
    }
    [...article.querySelectorAll('h1, h2, h3, h4, h5')].filter((one) => one.offsetHeight).forEach((one, i, all) => {
        if (i && +one.tagName[1] > +all[i - 1].tagName[1] + 1) found.push('level: ' + one.textContent);
    });
    if (article.querySelector('[role=list] > :not([role=listitem])')) found.push('a list of what is no item');
    article.querySelectorAll('details').forEach((one) => {
        const rest = [...one.childNodes].filter((node) => node.nodeName !== 'SUMMARY');
        const full = rest.some((node) => node.textContent.trim() || node.querySelector?.('img, input'));
        if (!full) found.push('empty: ' + one.textContent.trim());
    });
    return [...new Set(found)];
}"""


# leaves of each table's rows the first of a kind: with one verdict, and the same elements but for equations
KINDS = """() => {
    const seen = new Set(), tables = [...document.querySelectorAll('table')];
    document.querySelectorAll('tbody tr').forEach(row => {
        const parts = [...row.querySelectorAll(':not(mjx-container *)')].map(one => one.tagName + '.' + one.className);
        const alike = [row.className, row.dataset.verdict, ...new Set(parts)];
        const kind = [tables.indexOf(row.closest('table')), ...alike].join();
        seen.has(kind) ? row.remove() : seen.add(kind);
    });
    return seen.size;
}"""


# leaves of equations and of blocks of code the first of each kind of place
BLOCKS = """() => {
    const seen = new Set();
    document.querySelectorAll('article .math, article div.highlight').forEach(one => {
        const kind = [one.tagName, one.className, one.parentElement.tagName, one.parentElement.className].join();
        seen.has(kind) ? one.remove() : seen.add(kind);
    });
    return seen.size;
}"""


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.weekly)])
@pytest.mark.parametrize(
    "name",
    [
        PAGES[0], CHAPTERS[0], "book/ledger",
        *(pytest.param(name, marks=pytest.mark.weekly) for name in ("book/paper-c", "book/api/jamming")),
    ],
)  # fmt: skip
def test_a_checker_of_accessibility_finds_nothing(browser, name, scheme, width):
    """axe-core, of any weight, with all that folds away open."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with opened(browser, width, scheme) as page:
        page.goto(at(name))
        equations(page)
        page.evaluate("() => document.querySelectorAll('article details').forEach((one) => { one.open = true; })")
        page.wait_for_timeout(300)  # equations that were folded away are fitted
        if (width, scheme) == (1280, "light"):  # every week the others see all rows, equations and code
            assert page.evaluate(KINDS) >= page.locator("table").count()
            assert page.evaluate(BLOCKS) > 0
        found = axe.Axe().run(page, options={"resultTypes": ["violations"], "preload": False}).response["violations"]
        seen = [(one["id"], [node["html"][:150] for node in one["nodes"]][:5]) for one in found]
        assert not seen, seen


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.weekly)])
def test_a_link_to_an_equation_or_a_figure_shows_it(browser, shot, width):
    """Under pointer and keyboard, typeset, inside the window, unless it is on the screen already."""
    with opened(browser, width) as page:
        page.goto(at(CHAPTERS[0]))
        equations(page)
        page.evaluate("() => document.querySelectorAll('article details').forEach((one) => { one.open = true; })")
        tip = page.locator("#definition.preview")
        for kind, part in (("figure", "img"), ("equation", "mjx-container")):
            links = page.locator(f"a[data-preview][href*='#{'fig-' if kind == 'figure' else 'equation-'}']")
            assert links.count(), kind
            link = links.last
            for _ in range(9):  # the target may be on the screen until equations above it are set
                link.focus()
                with contextlib.suppress(TimeoutError):
                    page.wait_for_selector(f"#definition.preview {part}", timeout=1000)
                    break
                link.blur()
            page.wait_for_selector(f"#definition.preview {part}")
            if kind == "figure":
                page.wait_for_function("() => document.querySelector('#definition img').naturalWidth > 100")
            box = tip.bounding_box()
            assert (
                box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] >= 0 and box["y"] + box["height"] <= 900
            )
            shot(page, f"preview-{kind}-{width}")
            page.keyboard.press("Escape")
            assert not tip.is_visible()
        assert not page.problems


def test_below_a_figure_stand_its_code_its_studies_and_their_results(page):
    page.goto(at(CHAPTERS[0]))
    code = page.locator("a.to-code").first
    words = page.locator("details.hide.above-input > summary").all_inner_texts()
    drawn = page.locator("figure").count()
    assert len({one for one in words if one.startswith("code of Fig. 1.")}) == drawn <= len(words) <= drawn + 8, words
    assert not page.locator("details.hide > summary[aria-label]").count(), "its words are its name"
    code.click()
    figure = page.locator(code.get_attribute("href"))
    assert figure.locator("xpath=ancestor::div[contains(concat(@class, ' '), 'cell ')][1]//pre").first.is_visible()
    rows = page.locator(".below-figure a[href*='companion.studies']")
    assert rows.count() > 5
    for link in {row.get_attribute("href") for row in rows.all()}:
        name, _, anchor = link.partition("#")
        assert f'id="{anchor}"' in (HTML / "chapters" / name).read_text(encoding="utf-8"), link
    stored = [link.get_attribute("href") for link in page.locator(".below-figure a[href^='../stored/']").all()]
    assert stored and all(
        (HTML / "chapters" / link).read_text(encoding="utf-8").count("\n") > 1 for link in set(stored)
    )
    page.goto((HTML / "book" / "api" / "studies.html").as_uri())
    source = page.locator("dt.sig a[href*='_modules/companion/papers/']").first
    assert (HTML / "book" / "api" / source.get_attribute("href").partition("#")[0]).exists() and not page.problems


@pytest.mark.parametrize("name", [CHAPTERS[0], pytest.param("book/ledger", marks=pytest.mark.weekly)])
def test_the_dark_has_no_white_slab(browser, shot, name):
    """What has a light ground is turned dark with the page, but for photographs and maps."""
    with opened(browser, 1280, "dark") as page:
        page.goto(at(name))
        equations(page)
        assert page.locator("html").get_attribute("data-theme") == "dark", "the reader's system is dark"
        shot(page, f"dark-{name}", full_page=True)
        slabs = page.evaluate(
            """() => [...document.querySelectorAll('article *')].filter(e => {
            const style = getComputedStyle(e);
            const [r, g, b, a] = (style.backgroundColor.match(/[\\d.]+/g) || []).map(Number);
            return e.offsetWidth > 30 && Math.min(r, g, b) > 200 && (a ?? 1) > 0.5 && style.filter == 'none';
            }).map(e => e.outerHTML.slice(0, 100))"""
        )
        assert not slabs, slabs


def test_search_shows_the_words_around_a_hit_without_a_network(page):
    page.goto((HTML / "search.html").as_uri() + "?q=jamming")
    page.wait_for_selector("#search-results li .snippet", timeout=20_000)
    hits = page.locator("#search-results li")
    assert hits.count() > 0 and not page.problems
    assert any("03_jamming" in hit.locator("a").first.get_attribute("href") for hit in hits.all())
    assert all("jamming" in words.lower() for words in page.locator(".snippet").all_inner_texts())


@pytest.fixture
def phone(browser):
    context = browser.new_context(offline=True, viewport={"width": 390, "height": 844}, color_scheme="dark")
    yield context.new_page()
    context.close()


@pytest.mark.weekly
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_one_way(phone, shot, name):
    """Nothing makes a page wider than the screen: what is wider scrolls in a box of its own."""
    phone.goto(at(name))
    equations(phone)
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    tables = phone.locator(".pst-scrollable-table-container")
    said = "e => e.scrollWidth <= e.clientWidth + 1 || getComputedStyle(e, '::before').content.includes('scrolls')"
    assert all(table.evaluate(said) for table in tables.all()), "a table that scrolls says so"
    shot(phone, f"phone-{name}")


def test_the_claims_of_a_paper_are_filtered_sorted_and_downloaded(page):
    records = json.loads((HTML / "ledger.json").read_text())
    table = pd.read_csv(HTML / "ledger.csv")
    assert len(table) == len(records) and {"id", "verdict", "low", "high", "accepted"} <= set(table.columns)
    of_c = [record for record in records if record["item"][0] == "C"]
    rows = page.locator("table.ledger tr[data-verdict]:visible")
    page.goto((HTML / "book" / "paper-c.html").as_uri())
    parts = sum(record["part_of"] is not None for record in of_c)
    assert rows.count() == len(of_c) - parts < len(of_c)  # parts of statements are behind a button
    heights = {round(rows.nth(i).bounding_box()["height"]) for i in range(5)}
    assert max(heights) < 50, "a claim is a line or two"
    page.locator("button.all-claims").first.click()
    assert len(of_c) - parts < rows.count() <= len(of_c)
    part = next(record["id"] for record in of_c if record["part_of"])
    page.goto((HTML / "book" / "ledger.html").as_uri() + f"#{part}")  # where it stood in former editions
    page.wait_for_url(f"**/paper-c.html#{part}")
    row = page.locator(f'[id="{part}"]')
    assert row.is_visible() and row.locator("details").get_attribute("open") == ""
    widths = [one.bounding_box()["width"] for one in [row, *row.locator("small").all()]]
    assert max(widths[1:]) > 0.6 * widths[0], "what a claim says is no narrow column"
    assert row.evaluate("e => [...e.querySelectorAll('td')].slice(1).every(one => one.offsetTop < e.offsetTop + 5)")
    page.locator("#ledger-filters select[name=verdict]").select_option("corrected")
    assert 0 < rows.count() < len(of_c) and page.locator("#ledger-filters").is_visible()
    assert all("corrected" in rows.nth(i).get_attribute("data-verdict") for i in range(rows.count()))
    page.locator("#ledger-filters select[name=verdict]").select_option("")
    page.locator("#ledger-filters input").fill("theorem 2")
    assert 0 < rows.count() < len(of_c)
    assert f"{rows.count()} of {len(of_c)}" in page.locator("output").inner_text()
    equations(page)
    page.goto((HTML / "book" / "paper-a.html").as_uri() + "?chapter=04")
    equations(page)
    of_4 = rows.count()
    assert of_4 == sum(record["item"][0] == "A" and record["chapter"] == "04" for record in records)
    found = []
    for symbol in ("lambda", "Λ"):  # a symbol is found by itself and by its name
        page.locator("#ledger-filters input").fill(symbol)
        page.locator("#ledger-filters select[name=chapter]").select_option("02")
        found.append(rows.count())
    assert 0 < found[1] <= found[0]
    page.locator("#ledger-filters input").fill("")
    page.locator("#ledger-filters select[name=order]").select_option("by verdict")
    theirs = page.locator("table.ledger").first.locator("tr[data-verdict]:visible")
    found = [row.get_attribute("data-verdict") for row in theirs.all()]
    assert found == sorted(found) and len(set(found)) > 1
    assert not page.problems


def test_a_claim_is_found_among_those_of_all_papers(page):
    """By words in any order, its verdict and its paper; what was asked for stands in the address."""
    records = json.loads((HTML / "ledger.json").read_text())
    page.goto((HTML / "book" / "ledger.html").as_uri())
    rows, said = page.locator("details.index tr[data-verdict]:visible"), page.locator("#ledger-filters output")
    assert rows.count() == 0 and said.inner_text() == f"{len(records)} of {len(records)} claims"
    page.locator("#ledger-filters input").focus()
    page.keyboard.type("jamming ensemble")
    assert 0 < rows.count() < 30 and page.url.endswith("?q=jamming+ensemble")
    page.keyboard.press("Control+a")
    page.keyboard.type("c.thm2")
    ids = [record["id"] for record in records if "c.thm2" in record["id"].lower()]
    assert {*ids} <= {*rows.locator("small").all_inner_texts()} and rows.count() < 40
    page.locator("#ledger-filters input").fill("")
    page.locator("#ledger-filters select[name=paper]").select_option("D")
    assert rows.count() == sum(record["item"][0] == "D" for record in records)
    page.goto(page.url + "&q=eigenvalues")
    found = rows.count()
    assert 0 < found < 20 and said.inner_text().startswith(f"{found} of")
    rows.first.locator("a").click()
    page.wait_for_url("**/paper-d.html#D.*")
    opened = page.locator("table.ledger details[open]")
    assert opened.count() == 1 and opened.locator("summary").is_visible() and not page.problems


def test_all_claims_are_a_plain_list_without_a_script(browser):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((HTML / "book" / "ledger.html").as_uri())
    rows = page.locator("details.index tr[data-verdict]:visible")
    assert rows.count() == 0
    page.locator("details.index > summary").click()
    assert rows.count() == len(json.loads((HTML / "ledger.json").read_text()))
    context.close()


def test_a_phone_shows_the_claims_of_a_graph_without_scrolling_sideways(browser):
    with opened(browser, 390) as page:
        page.goto((HTML / "book" / "ledger.html").as_uri())
        graph = page.locator(".graph").first
        claims = graph.locator("a[data-node]:not(.use)")
        ends = claims.evaluate_all("e => e.map(one => one.getBoundingClientRect()).map(one => [one.left, one.right])")
        assert ends and all(0 <= left < right <= 390 for left, right in ends)
        assert graph.evaluate("e => e.scrollWidth <= e.clientWidth") and not graph.locator("a.use").first.is_visible()


def test_a_graph_shows_the_edges_of_the_node_that_has_the_focus(page):
    page.goto((HTML / "book" / "ledger.html").as_uri())
    graph = page.locator(".graph").first
    node, edges = graph.locator("a[data-node]").last, graph.locator("path.near")
    assert edges.count() == 0
    node.focus()
    name = node.get_attribute("data-node")
    assert edges.count() > 0 and all(name in edge.get_attribute("data-ends").split() for edge in edges.all())
    page.keyboard.press("Shift+Tab")
    assert name not in " ".join(edge.get_attribute("data-ends") for edge in edges.all()) and not page.problems


def test_code_is_folded_and_one_switch_opens_it(page):
    chapter = next(name for name in PAGES if name.startswith("chapters/05"))
    page.goto(at(chapter))
    code = page.locator("div.cell_input:visible")
    assert code.count() == 0 and "make chapter-05" in page.locator("div.highlight-sh").first.inner_text()
    page.locator("button.all-code").click()
    assert code.count() > 5
    page.locator("button.all-code").click()
    assert code.count() == 0
    page.keyboard.press("Tab")
    assert not page.problems


@pytest.mark.weekly
@pytest.mark.parametrize("name", [page for page in PAGES if page.startswith("chapters/")])
def test_equations_fit_a_desk(browser, name):
    context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto(at(name))
    equations(page)
    wide = (
        "() => [...document.querySelectorAll('div.math mjx-container')].every(e => e.scrollWidth <= e.clientWidth + 2)"
    )
    page.wait_for_function(wide, timeout=10_000)
    context.close()


def test_a_solution_opens_with_the_keyboard_and_fits(page):
    chapter = next(name for name in PAGES if name.startswith("chapters/02"))
    page.goto(at(chapter))
    equations(page)
    solution = page.locator("details.solution").first
    assert solution.locator("p").first.is_hidden()
    solution.locator("summary").focus()
    page.keyboard.press("Enter")
    assert solution.locator("p").first.is_visible() and not page.problems
    shown = solution.locator("div.math mjx-container").first
    assert shown.evaluate("e => !e.style.fontSize && e.scrollWidth <= e.clientWidth + 2"), "set smaller though it fits"


@pytest.mark.parametrize(("name", "width", "scheme"), SCREENS)
def test_a_slider_moves_by_keyboard_and_plays(browser, name, width, scheme):
    with opened(browser, width, scheme) as page:
        page.goto(at(name))
        equations(page)
        slider = page.locator(".slider").first
        knob, label, button = (slider.locator(part) for part in ("input", "output", "button"))
        picture = slider.locator(".frames img:visible")
        first, last = label.inner_text(), int(knob.get_attribute("max"))
        before = picture.get_attribute("src")
        knob.focus()
        page.keyboard.press("End")
        page.keyboard.press("ArrowLeft")
        assert knob.input_value() == str(last - 1) and picture.count() == 1
        page.keyboard.press("Home" if first != slider.locator(".frames img").first.get_attribute("alt") else "End")
        assert picture.get_attribute("src") != before and label.inner_text() != first
        assert label.inner_text() == knob.get_attribute("aria-valuetext") == picture.get_attribute("alt")
        button.click()
        played = label.inner_text()
        page.wait_for_function("([e, old]) => e.value !== old", arg=[label.element_handle(), played], timeout=10_000)
        button.click()
        held = label.inner_text()
        page.wait_for_timeout(1000)
        assert label.inner_text() == held and button.get_attribute("aria-pressed") == "false"
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width and not page.problems
        inverted = "e => e.every(one => getComputedStyle(one).filter.includes('invert'))"
        figures = page.locator(".drawn:not(.painted) img, .slider:not(.painted) .frames img")
        assert figures.evaluate_all(inverted) == (scheme == "dark")
        photos = page.locator(".painted img").evaluate_all("e => e.map(one => getComputedStyle(one).filter)")
        assert not any("invert" in one for one in photos)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_a_knob_turns_by_keyboard_in_place_and_not_on_paper(browser, shot, width, scheme):
    with opened(browser, width, scheme) as page:
        page.goto(at("chapters/07_spiked_features_details"))
        equations(page)
        knob = page.locator("fieldset.knob").first
        img, see = knob.locator("xpath=preceding-sibling::div//img"), knob.locator(".see > .shown")
        size = "e.getBoundingClientRect().height, document.body.scrollHeight"
        look = f"e => [e.currentSrc.split('/').pop(), e.alt, {size}]"
        knob.locator("input:checked").focus()
        assert knob.evaluate("e => getComputedStyle(e.querySelector('label:focus-within')).outlineStyle") == "solid"
        before, said = img.evaluate(look), see.inner_text()
        label = knob.evaluate("e => e.closest('figure').id")
        command = page.locator("details.change pre", has_text=f"FIGURE={label} ")
        books, sets = command.text_content(), knob.locator("input[data-sets]").first.get_attribute("data-sets")
        page.keyboard.press("ArrowRight" if knob.locator("input").first.is_checked() else "ArrowLeft")
        page.wait_for_function("e => e.currentSrc.endsWith('webp') && e.complete", arg=img.element_handle())
        after = img.evaluate(look)
        assert after[0].endswith("-phone.webp") == (width == 390) and after[1] != before[1] and see.inner_text() != said
        assert after[2:] == pytest.approx(before[2:], abs=0.5), "nothing moves"
        turned = knob.locator("input:checked").get_attribute("data-sets")
        assert turned == sets and command.text_content() == re.sub(r"'.*'", f"'{sets}'", books) != books
        told = command.locator("xpath=ancestor::details").locator(".see")
        assert told.text_content() == see.text_content(), "the command computes what the knob shows"
        knob.locator("input:not([data-sets])").check()
        assert command.text_content() == books
        knob.locator("input[data-sets]").first.check()
        shot(page, f"knob-{width}")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert img.evaluate("e => e.getAttribute('src')").endswith(before[0].replace("-phone", ""))
        page.emulate_media(media="print")
        assert not knob.is_visible() and not page.problems


@pytest.mark.weekly
@pytest.mark.parametrize("name", CHAPTERS)
def test_fonts_of_a_figure_are_legible_on_a_phone_or_it_scrolls(browser, name):
    with opened(browser, 390, "light") as page:
        page.goto(at(name))
        seen = page.evaluate(
            """() => [...document.querySelectorAll('figure .drawn img, .slider')].filter(e => e.offsetWidth).map(e => {
            const box = e.closest('.drawn'), wide = box && box.classList.contains('wide');
            return {name: e.closest('figure').id, font: e.dataset.font * e.getBoundingClientRect().width,
                    scrolls: wide ? box.scrollWidth > box.clientWidth : null,
                    shown: e.tagName != 'IMG' || !e.parentNode.querySelector('source')
                        || e.currentSrc.includes('-phone.') == !wide};})"""
        )
        assert seen and not [one for one in seen if one["font"] < 7.5 or one["scrolls"] is False or not one["shown"]]


@pytest.mark.weekly
@pytest.mark.parametrize("name", CHAPTERS)
def test_fonts_of_a_figure_are_legible_on_a_wide_page(browser, name):
    with opened(browser, 1400, "light") as page:
        page.goto(at(name))
        seen = page.evaluate(
            """() => [...document.querySelectorAll('figure .drawn img, .slider')].filter(e => e.offsetWidth).map(e => {
            const share = e.dataset.wideFont || e.dataset.font;
            return {name: e.closest('figure').id, exponents: 0.7 * share * e.getBoundingClientRect().width};})"""
        )
        assert seen and not [one for one in seen if one["exponents"] < 9]


def test_paper_has_the_still_of_what_moves(page):
    page.goto(at(SLIDERS[0]))
    still = page.locator(".slider + .still img")
    assert still.count() and not still.first.is_visible() and page.locator(".slider").first.is_visible()
    page.emulate_media(media="print")
    assert still.first.is_visible() and not page.locator(".slider:visible").count()
    assert "-phone" not in still.first.evaluate("e => e.currentSrc")
    scrolls = "all => all.filter(e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowY)).map(e => e.className)"
    there = page.locator("article :is(div.cell_output *, pre, table, .pst-scrollable-table-container)")
    assert there.evaluate_all(scrolls) == [], "paper does not scroll, and what scrolls is no frame without its table"


def test_paper_has_the_number_of_a_chapter_and_no_list_to_search(page):
    for name, words in (("chapters/03_jamming", "3. Jamming"), ("book/ledger", "Ledger of claims")):
        page.goto(at(name))
        page.emulate_media(media="print")
        assert page.locator("#jb-print-docs-body > h1").inner_text().startswith(words)
        assert not page.locator("#jb-print-toc").is_visible(), "a list of contents without pages"
    assert not page.locator("#find-a-claim").is_visible() and not page.problems
    page.set_viewport_size({"width": 700, "height": 900})
    for name in ("book/tour", "book/paper-a"):  # words and picture side by side, so that a page has several
        page.goto(at(name))
        page.emulate_media(media="print")
        columns = page.locator(".finding").first.evaluate("e => getComputedStyle(e).gridTemplateColumns")
        assert len(columns.split()) == 2
    bar = page.locator(".verdict-bar").first
    assert bar.evaluate("e => getComputedStyle(e).printColorAdjust") == "exact", "white numbers need their ground"


def test_a_picture_beside_a_claim_shows_its_first_panel_or_fades(page):
    page.goto((HTML / "book" / "paper-a.html").as_uri())
    for width in (1280, 700, 390):
        page.set_viewport_size({"width": width, "height": 900})
        links = page.locator(".finding > a.drawn").all()
        for link in links:
            assert link.locator("img").evaluate("e => e.getBoundingClientRect().width") <= 352.5
            alone = "panel" in link.get_attribute("class").split()
            assert alone != ("gradient" in link.evaluate("e => getComputedStyle(e).maskImage"))
        assert links


# what the keyboard reaches and does not show: no ring of its own or of what it stands in
UNSEEN = """() => [...document.querySelectorAll('a[href], button, input, select, summary')].filter((one) => {
    if (!one.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) || one.disabled) return false;
    one.focus({preventScroll: true});
    return document.activeElement !== one || ![one, one.parentElement].some((box) => {
        const style = getComputedStyle(box);
        return style.boxShadow !== 'none' || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    });
}).map((one) => one.outerHTML.slice(0, 100))"""


def test_the_start_page_leads_to_every_chapter(page):
    page.goto((HTML / "index.html").as_uri())
    page.wait_for_url(at(PAGES[0]))
    page.keyboard.press("Tab")  # from here on a focus is one of the keyboard's
    assert not (unseen := page.evaluate(UNSEEN)), unseen
    links = [link.get_attribute("href").split("/")[-1] for link in page.locator(".holds > div > a").all()]
    assert links == [f"{name.split('/')[1]}.html" for name in FIRST]
    assert all(bar.get_attribute("aria-label") for bar in page.locator(".verdict-bar").all())


def test_the_search_shows_chapters_before_the_api(page):
    page.goto((HTML / "search.html").as_uri() + "?q=amplification")
    page.wait_for_selector("#search-results li > a[href^='book/api']", timeout=20_000)  # hits come one by one
    hits = [link.get_attribute("href") for link in page.locator("#search-results li > a").all()]
    first_api = next((i for i, hit in enumerate(hits) if hit.startswith("book/api")), len(hits))
    assert hits[0].startswith("chapters/") and first_api < len(hits) > 5
    assert not any(hit.startswith("chapters/") for hit in hits[first_api:])


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.weekly)])
def test_a_term_tells_its_definition_under_pointer_and_keyboard(browser, shot, width):
    context = browser.new_context(offline=True, viewport={"width": width, "height": 844})
    page = context.new_page()
    page.goto(at(next(name for name in PAGES if name.startswith("chapters/01"))))
    equations(page)
    tip, links = page.locator("#definition"), page.locator("a[data-definition]")
    assert links.count() > 5
    formulas = page.locator("a[data-definition*='\\\\(']")
    for link in links.all() if width < 640 else (links.first, links.nth(1), formulas.first, formulas.last):
        link.focus()
        page.wait_for_function("() => !document.getElementById('definition').textContent.includes('\\\\(')")
        box = tip.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and len(tip.inner_text()) > 20
        assert box["y"] >= 0 and box["y"] + box["height"] <= 844
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert link.get_attribute("aria-describedby") == "definition"
    page.locator("summary:visible").first.focus()  # which tells nothing
    assert not tip.is_visible()
    links.last.focus()
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator("a[data-definition][href$='#term-lazy-regime']").first.hover()
    assert tip.is_visible() and "weights hardly move" in tip.inner_text()
    shot(page, f"definition-{width}")
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    context.close()


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.weekly)])
def test_a_measured_number_tells_its_interval_under_pointer_keyboard_and_finger(browser, width):
    context = browser.new_context(offline=True, viewport={"width": width, "height": 844}, has_touch=width < 640)
    page = context.new_page()
    page.goto(at(CHAPTERS[0]))
    tip, numbers = page.locator("#definition"), page.locator("article .measured")
    assert numbers.count() > 5
    said = re.compile(r"measured \S+.* · (paper|accepted|expected) .* · (not )?[a-z]+")
    for number in (numbers.nth(0), numbers.nth(3)):
        number.tap() if width < 640 else number.hover()
        assert said.match(tip.inner_text()) and tip.inner_text().endswith(number.get_attribute("data-claim"))
        assert page.url.partition("?")[0] == at(CHAPTERS[0], ""), "a finger shows the interval first"
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        number.blur()
        number.focus()
        assert tip.is_visible() and number.get_attribute("aria-describedby") == tip.get_attribute("id")
    name = number.get_attribute("data-claim")
    if width < 640:
        number.tap()
    number.tap() if width < 640 else number.press("Enter")
    page.wait_for_url(f"**/paper-*.html#{name}")
    context.close()


def comes_to_view(found):
    """Whether nothing covers it, which takes a second on a long page."""
    for _ in range(50):
        if found.evaluate(UNCOVERED):
            return True
        found.page.wait_for_timeout(100)
    return False


@pytest.mark.parametrize(
    ("name", "width", "clicks"),
    [
        ("book/intro", 1280, 1), (CHAPTERS[-1], 1280, 1),
        *(
            pytest.param(name, width, 3, marks=pytest.mark.weekly)
            for name in ("book/intro", "book/paper-b", "chapters/01_learning_curve_details", CHAPTERS[-1])
            for width in (1280, 390)
        ),
    ],
)  # fmt: skip
def test_a_number_leads_to_its_row_and_the_row_back_to_the_sentence(browser, name, width, clicks):
    """By a click: there, what was clicked stands open in the window; back, the same number does. Three every week."""
    with opened(browser, width) as page:
        address = at(name)
        page.goto(address)
        equations(page)
        anchors = page.locator("article a.measured").evaluate_all("all => all.map(one => one.id)")
        assert len(anchors) > 1
        for anchor in dict.fromkeys((anchors[-1], anchors[len(anchors) // 2], anchors[0])[:clicks]):
            number = page.locator(f'[id="{anchor}"]')
            claim, shown = number.get_attribute("data-claim"), number.inner_text()
            number.click()
            page.wait_for_url(f"**/paper-{claim[0].lower()}.html#{claim}")
            equations(page)
            row = page.locator(f'tr[id="{claim}"]')
            row.locator("details[open]").wait_for()
            expect(row.locator("summary")).to_be_in_viewport()
            assert comes_to_view(row.locator("summary"))
            back = row.locator(f'a[href$="#{anchor}"]')
            (link,) = [one for one in back.all() if one.evaluate("e => e.href").partition("#")[0] == address]
            assert shown in link.locator("xpath=..").inner_text()
            link.click()
            page.wait_for_url(f"{address}#{anchor}")
            equations(page)
            expect(page.locator(f'[id="{anchor}"]')).to_be_in_viewport()
            assert comes_to_view(page.locator(f'[id="{anchor}"]'))
        assert not page.problems


@pytest.mark.parametrize(("name", "asked"), [("book/ledger", "learns faster"), ("book/paper-a", "zzz")])
def test_a_search_without_a_hit_keeps_its_field_and_says_what_to_try(page, name, asked):
    page.goto(at(name))
    field, said = page.locator("#ledger-filters input"), page.locator("#ledger-filters output")
    rows = page.locator("table.ledger tr[data-verdict]:visible")
    total = page.locator("table.ledger tr[data-verdict]").count()
    field.focus()
    page.keyboard.type(asked)
    assert field.is_visible() and field.evaluate("e => e === document.activeElement") and field.input_value() == asked
    assert rows.count() == 0 and said.inner_text().startswith(f"0 of {total} claims; try ")
    assert not page.locator("table.ledger:visible").count(), "no head of an empty table"
    page.goto(page.url)  # the link that one sends
    page.reload()
    assert page.url.endswith(f"?q={asked.replace(' ', '+')}") and field.is_visible() and field.input_value() == asked
    words = said.locator("button").first.inner_text()
    said.locator("button").first.click()
    assert (
        field.input_value() == words and rows.count() > 0 and said.inner_text() == f"{rows.count()} of {total} claims"
    )
    assert not page.problems


@pytest.fixture(scope="module")
def served():
    """The address of a server of the pages on the loopback."""
    handler = functools.partial(Silent, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Says nothing."""


@pytest.mark.parametrize("where", ["disk", "server"])
def test_the_download_button_saves_a_notebook(browser, served, tmp_path, where):
    name = next(name for name in PAGES if name.startswith("chapters/06"))
    page = browser.new_page()
    page.goto(f"{HTML.as_uri() if where == 'disk' else served}/{name}.html")
    page.locator(".dropdown-download-buttons > button").click()
    with page.expect_download() as saved:
        page.locator('a[download][href$=".ipynb"]').click()
    saved.value.save_as(tmp_path / "saved.ipynb")
    assert saved.value.suggested_filename == f"{name.split('/')[1]}.ipynb"
    assert nbformat.read(tmp_path / "saved.ipynb", as_version=4).cells[0].id == "needs"
    assert page.url.endswith(f"{name}.html")
    page.close()


@pytest.mark.weekly
@pytest.mark.xdist_group("looks")
def test_a_page_weighs_at_most_3_mb_beside_what_pages_share(browser, loaded):
    """What pages share is kept by a browser, and counts once; figures are each page's own: ``weights.json``."""
    files = {name: loaded(name) for name in PAGES}
    times = Counter(path for paths in files.values() for path in paths)
    size = {path: os.path.getsize(path) / 1e6 for path in times}
    shared = {path for path, count in times.items() if count > 1 and "/figures/" not in path}
    own = {name: sum(size[path] for path in paths - shared) for name, paths in files.items()}
    weights = {"own": own, "all": {name: sum(map(size.get, paths)) for name, paths in files.items()}}
    weights["shared"] = sum(map(size.get, shared))
    SHOTS.mkdir(exist_ok=True)
    (SHOTS / "weights.json").write_text(json.dumps(weights, indent=1))
    assert max(own.values()) <= MEGABYTES and 1.0 < weights["shared"] <= 2.5, weights


@pytest.mark.weekly
def test_the_start_page_paints_within_a_second(browser, served):
    times = []
    for _ in range(3):  # the machine may be busy with something else
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{served}/{PAGES[0]}.html")
        paint = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        times.append(page.wait_for_function(paint).json_value())
        context.close()
    assert min(times) < 1000, times


# how far what is seen moves by itself: each shift's share of the screen, but for those within half a second of a press
SHIFTS = """window.moved = 0;
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
    if (!one.hadRecentInput) window.moved += one.value;
})).observe({type: 'layout-shift', buffered: true});"""


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.weekly)])
@pytest.mark.parametrize(
    "name",
    [
        *(name if name == CHAPTERS[0] else pytest.param(name, marks=pytest.mark.weekly) for name in STORIES),
        "book/intro", "book/tour", "book/ledger",
    ],
)  # fmt: skip
def test_nothing_moves_by_itself_while_a_page_comes(browser, name, width):
    with opened(browser, width) as page:
        page.add_init_script(SHIFTS)
        page.goto(at(name, ""))
        equations(page)
        page.wait_for_timeout(500)
        assert page.evaluate("window.moved") < 0.1


@pytest.mark.parametrize("name", STORIES)
def test_a_story_asks_first_and_opens_with_the_answer(page, name):
    """By the keyboard."""
    page.goto(at(name, ""))
    box, findings = page.locator("div.guess"), page.locator("#what-we-find li").first
    answers, number = box.locator("li button"), box.locator("a.measured").first
    assert 3 <= answers.count() <= 4 and not findings.is_visible()
    assert number.count() and not number.is_visible(), "nothing is told before"
    key = page.locator(".cell.tag_key figure").first
    assert key.evaluate("e => getComputedStyle(e).visibility") == "hidden"
    answers.last.focus()
    page.keyboard.press("Enter")
    assert findings.is_visible() and number.is_visible() and page.url.endswith(f"?guess={answers.count() - 1}")
    assert key.evaluate("e => getComputedStyle(e).visibility") == "visible"
    assert box.locator(".told").inner_text().startswith("You said: ") and box.locator("button.right").count() == 1
    assert answers.last.get_attribute("aria-pressed") == "true" and not box.locator("button.all").is_visible()
    last = page.locator("#symbols-and-parameters")
    assert last.locator("summary", has_text="parameters").count()
    assert last.locator("xpath=following::section").count() == 0 and not page.problems


@pytest.mark.parametrize(
    "name", [name if name == CHAPTERS[0] else pytest.param(name, marks=pytest.mark.weekly) for name in STORIES]
)
def test_a_story_is_open_by_its_address_for_a_link_on_paper_and_without_a_script(browser, name):
    with opened(browser) as page:
        page.goto(at(name, ""))
        box, findings = page.locator("div.guess"), page.locator("#what-we-find li").first
        answers = box.locator("li button")
        page.goto(at(name, "") + "?guess=&old=1#%E0%A4%A")
        assert not findings.is_visible() and not page.problems, "an address without an answer has none"
        page.goto(at(name, ""))
        box.locator("button.all").click()
        assert findings.is_visible() and page.url.endswith("?open")
        page.goto(at(name, "guess=1"))
        assert findings.is_visible() and answers.nth(1).get_attribute("aria-pressed") == "true"
        page.goto(at(name, "") + "#what-we-find")
        assert findings.is_visible()
        page.goto(at(name, "x"))
        page.emulate_media(media="print")
        assert findings.is_visible() and box.locator("a.measured").first.is_visible() and not page.problems
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(at(name, ""))
    assert page.locator("#what-we-find li").first.is_visible() and page.locator("div.guess li strong").count() == 1
    edge = page.locator("div.guess").evaluate("e => getComputedStyle(e).borderTopWidth")
    assert edge == "1px" and page.locator("html").get_attribute("data-theme") == "light", "it has the theme's colours"
    assert not page.locator(".slider:has(+ .still):visible").count(), "a still in place of what does not move"
    context.close()


def test_a_claim_is_shown_with_what_it_rests_on(page):
    """Statements, coloured by verdict, in the page of all claims; the row of a claim leads there."""
    page.goto((HTML / "book" / "ledger.html").as_uri() + "?focus=C.Thm3-uniform")
    equations(page)
    box = page.locator("#focus")
    shown = box.locator(".verdict")
    assert box.is_visible() and shown.count() > 2 and box.locator("a", has_text="C.Thm2-rate").count()
    assert not box.locator("span.math:not(:has(mjx-container))").count() and "\\(" not in box.inner_text()
    box.locator("button").click()
    assert not box.is_visible() and "focus" not in page.url
    page.goto((HTML / "book" / "paper-c.html").as_uri() + "#C.Thm3-uniform")
    row = page.locator('[id="C.Thm3-uniform"]')
    row.locator("a", has_text="what it rests on").click()
    page.wait_for_url("**/ledger.html?focus=C.Thm3-uniform")
    assert page.locator("#focus .verdict").count() == shown.count() and not page.problems
    page.goto((HTML / "book" / "ledger.html").as_uri() + "?focus=C.Thm3-old")
    assert page.locator("#focus").inner_text().startswith("The ledger has no claim C.Thm3-old.")


@pytest.mark.parametrize("name", ["book/tour", *(f"book/paper-{letter}" for letter in "abcde")])
def test_a_panel_that_stands_alone_has_its_labels_and_its_legend(page, name):
    """Of each picture of a panel: the axes' labels lie inside the part that is shown, and legends have a part."""
    page.goto(at(name))
    pictures = page.locator("a.panel img").evaluate_all("all => all.map((one) => one.src)")
    assert len(pictures) == 7 if name == "book/tour" else pictures
    for picture in pictures:
        if not picture.endswith(".svg"):
            continue
        page.goto(picture)
        number = int(re.search(r"-panel-(\d+)", picture)[1])
        found = page.evaluate(
            """(number) => {
            const parts = [...document.querySelectorAll('svg.part')].map((one) => one.viewBox.baseVal);
            const own = parts[parts.length - 1];
            const whole = document.querySelector('#whole'), axes = whole.querySelector('#axes_' + number);
            document.documentElement.append(whole); // drawn in its own units, to be measured
            const seen = axes.getBBox(), all = [...whole.querySelectorAll('#figure_1 > [id^=legend_]')];
            const legends = all.map((one) => one.getBBox());
            const inside = (box, part) => box.x >= part.x - 1 && box.y >= part.y - 1
                && box.x + box.width <= part.x + part.width + 1 && box.y + box.height <= part.y + part.height + 1;
            return [inside(seen, own), seen.width > 0, legends.every((one) => parts.some((part) => inside(one, part)))];
        }""",
            number,
        )
        assert found == [True, True, True], picture
    assert not page.problems


def test_a_lesson_pools_what_students_found(page):
    """Two addresses, three training sets, one estimate."""
    page.goto((HTML / "book" / "teach" / "05.html").as_uri() + "#try-C.Thm2-rate?seeds=5")
    box = page.locator('[id="try-C.Thm2-rate"]')
    box.locator(".said", has_text="You: ").wait_for(timeout=60_000)
    box.locator("input").fill("x#try-C.Thm2-rate?seeds=5-6 y#try-C.Thm2-rate?seeds=9")
    box.locator("input").blur()
    box.locator(".said", has_text="from 3 training sets").wait_for(timeout=60_000)
    assert page.url.endswith("seeds=5-6&seeds=9") and not page.problems
