"""Every page as a reader sees it: Chromium without a network, no console error, equations typeset, figures there."""

import os
import shutil

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


def test_search_works_without_a_network(page):
    page.goto((HTML / "search.html").as_uri() + "?q=kernel")
    page.wait_for_selector("#search-results li", timeout=20_000)
    assert page.locator("#search-results li").count() > 0 and not page.problems
