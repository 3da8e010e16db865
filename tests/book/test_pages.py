"""Every page as a reader sees it: Chromium without a network, no console error, equations typeset, figures there."""

import json
import os
import shutil

import pandas as pd
import pytest
from playwright.sync_api import sync_playwright

from tests.book.test_sources import HTML, PAGES

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None and os.environ.get("CI") != "true":
    pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")
SHOTS = HTML.parent / "screenshots"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        # no sandbox: CI containers run as root, and the pages are our own
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.problems = []
    opened.on("console", lambda m: opened.problems.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on("requestfailed", lambda request: opened.problems.append(f"could not load {request.url}"))
    yield opened
    context.close()


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


@pytest.mark.parametrize("name", PAGES)
def test_page_as_a_reader_sees_it(page, name):
    page.goto((HTML / f"{name}.html").as_uri())
    maths = equations(page)
    assert maths["typeset"] >= maths["wanted"] and not maths["broken"], maths
    missing = page.evaluate("() => [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)")
    assert not missing and not page.problems, (missing, page.problems)
    if name.startswith("chapters/"):
        assert page.locator("figure img").count() > 0, "a chapter shows figures"
        assert page.locator("figure img:not([alt])").count() == 0, "every figure has a text for those who cannot see it"
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"{name.replace('/', '-')}.png", full_page=True)


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


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_one_way(phone, name):
    """Nothing makes a page wider than the screen: what is wider scrolls in a box of its own."""
    phone.goto((HTML / f"{name}.html").as_uri())
    equations(phone)
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    phone.screenshot(path=SHOTS / f"phone-{name.replace('/', '-')}.png")


def test_the_ledger_is_filtered_sorted_and_downloaded(page):
    page.goto((HTML / "book" / "ledger.html").as_uri())
    rows = page.locator("table.ledger tr[data-verdict]:visible")
    everything = rows.count()
    assert everything == len(json.loads((HTML / "ledger.json").read_text()))
    page.locator("#ledger-filters select[name=paper]").select_option("C")
    of_c = rows.count()
    assert 0 < of_c < everything and page.locator("h2:visible").count() == 1
    page.locator("#ledger-filters select[name=verdict]").select_option("corrected")
    assert 0 < rows.count() < of_c
    assert all("corrected" in rows.nth(i).get_attribute("data-verdict") for i in range(rows.count()))
    page.locator("#ledger-filters select[name=verdict]").select_option("")
    page.locator("#ledger-filters input").fill("theorem 2")
    assert 0 < rows.count() < of_c and f"{rows.count()} of {everything}" in page.locator("output").inner_text()
    equations(page)
    found = []
    for symbol in ("lambda", "Λ"):  # a symbol is found by itself and by its name
        page.locator("#ledger-filters input").fill(symbol)
        found.append(rows.count())
    assert 0 < found[1] <= found[0] < of_c
    page.locator("#ledger-filters input").fill("")
    page.locator("#ledger-filters select[name=order]").select_option("by verdict")
    found = [rows.nth(i).get_attribute("data-verdict") for i in range(rows.count())]
    assert found == sorted(found) and len(set(found)) > 1
    table = pd.read_csv(HTML / "ledger.csv")
    assert len(table) == everything and {"id", "verdict", "low", "high", "accepted"} <= set(table.columns)
    assert not page.problems


def test_code_is_folded_and_one_switch_opens_it(page):
    chapter = next(name for name in PAGES if name.startswith("chapters/05"))
    page.goto((HTML / f"{chapter}.html").as_uri())
    code = page.locator("div.cell_input:visible")
    assert code.count() == 0 and "make chapter-05" in page.locator("div.highlight-sh").first.inner_text()
    page.locator("button.all-code").click()
    assert code.count() > 10
    page.locator("button.all-code").click()
    assert code.count() == 0
    page.keyboard.press("Tab")
    assert not page.problems


@pytest.mark.parametrize("name", [page for page in PAGES if page.startswith("chapters/")])
def test_equations_fit_a_desk(browser, name):
    context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.goto((HTML / f"{name}.html").as_uri())
    equations(page)
    wide = (
        "() => [...document.querySelectorAll('div.math mjx-container')].every(e => e.scrollWidth <= e.clientWidth + 2)"
    )
    page.wait_for_function(wide, timeout=10_000)
    context.close()


def test_a_solution_opens_with_the_keyboard_and_fits(page):
    chapter = next(name for name in PAGES if name.startswith("chapters/02"))
    page.goto((HTML / f"{chapter}.html").as_uri())
    equations(page)
    solution = page.locator("details.solution").first
    assert solution.locator("p").first.is_hidden()
    solution.locator("summary").focus()
    page.keyboard.press("Enter")
    assert solution.locator("p").first.is_visible() and not page.problems
    shown = solution.locator("div.math mjx-container").first
    assert shown.evaluate("e => !e.style.fontSize && e.scrollWidth <= e.clientWidth + 2"), "set smaller though it fits"


def test_a_player_plays_and_pauses(page):
    name = next(name for name in PAGES if 'class="animation"' in (HTML / f"{name}.html").read_text(encoding="utf-8"))
    page.goto((HTML / f"{name}.html").as_uri())
    player = page.locator(".animation").first
    picture = player.locator("img").first
    player.locator("button[title=Play]").click()
    first = picture.get_attribute("src")
    page.wait_for_function("([e, old]) => e.src !== old", arg=[picture.element_handle(), first], timeout=10_000)
    player.locator("button[title=Pause]").click()
    held = picture.get_attribute("src")
    page.wait_for_timeout(1500)
    assert picture.get_attribute("src") == held and not page.problems


def test_the_start_page_leads_to_every_chapter(page):
    page.goto((HTML / "index.html").as_uri())
    page.goto((HTML / f"{PAGES[0]}.html").as_uri())
    cards = page.locator(".sd-card")
    assert cards.count() == sum(name.startswith("chapters/") for name in PAGES)
    links = {link.get_attribute("href").split("/")[-1] for link in page.locator(".sd-card a").all()}
    assert links == {f"{name.split('/')[1]}.html" for name in PAGES if name.startswith("chapters/")}
    assert all(bar.get_attribute("aria-label") for bar in page.locator(".verdict-bar").all())
