"""What a reader has before them, page by page: ``python -m tests.measure_pages laptop`` prints a table of a built book.

Screens of 1100 pixels at a width of 1400, words that are not folded away, figures, the share of the height that
verdicts take while they are folded, and the weight of what this page alone loads.
"""

import os
import shutil
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import Browser, Page, sync_playwright

from companion.lab import parameters
from tests.references import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SCREEN, WIDTH = 1100, 1400
LONGEST, FIGURES, MEGABYTES = 12, 6, 3.0  # screens and figures of a story, and weight of a page, at most
LOOK = """async (screen) => {
    const wanted = document.querySelector('.math');
    while (wanted && !window.MathJax?.startup?.promise) await new Promise(r => setTimeout(r, 20));
    await window.MathJax?.startup?.promise;
    const article = document.querySelector('article'), tall = (one) => one.getBoundingClientRect().height;
    const sum = (what) => [...article.querySelectorAll(what)].map(tall).reduce((a, b) => a + b, 0);
    const unread = article.querySelectorAll('pre, script, .headerlink, mjx-assistive-mml');
    unread.forEach((one) => { one.style.display = 'none'; });
    const words = article.innerText.split(/\\s+/).filter(Boolean).length;
    unread.forEach((one) => { one.style.display = ''; });
    return {
        screens: tall(article) / screen, words,
        figures: article.querySelectorAll('figure').length,
        verdicts: sum('.verdicts, .verdict-bar, .verdict:not(.verdicts .verdict)') / tall(article),
    };
}"""

# marks that a line's end parts from the formula that they touch
PARTED = r"""() => {
    const beside = (node, way) => { // the text before or after a formula, on the same line or not
        while (node) {
            let next = node[way];
            if (!next) {
                node = node.parentElement;
                if (getComputedStyle(node).display !== 'inline') return null;
                continue;
            }
            if (next.tagName === 'BR' || next.className === 'headerlink') return null;
            while (next.nodeType === 1 && next.childNodes.length) {
                if (getComputedStyle(next).display !== 'inline' || next.tagName.startsWith('MJX')) return null;
                next = way === 'nextSibling' ? next.firstChild : next.lastChild;
            }
            if (next.nodeType === 3 && next.length) return next;
            node = next;
        }
    };
    return [...document.querySelectorAll('article span.math')].flatMap((one) => {
        const box = one.getBoundingClientRect();
        if (!box.width) return [];
        return ['previousSibling', 'nextSibling'].filter((way) => {
            const text = beside(one, way), after = way === 'nextSibling', at = after || !text ? 0 : text.length - 1;
            if (!text || /\s/.test(text.data[at])) return false;
            const range = document.createRange();
            range.setStart(text, at);
            range.setEnd(text, at + 1);
            const mark = range.getBoundingClientRect();
            return mark.width && (after ? mark.left < box.left : mark.left > box.right);
        }).map((way) => way + ' of ' + one.parentElement.textContent.slice(0, 60));
    });
}"""
# sizes of formulas over those of the text around them
SIZES = """() => {
    const size = (one) => parseFloat(getComputedStyle(one).fontSize);
    const seen = [...document.querySelectorAll('article mjx-container')].filter((one) => one.getClientRects().length);
    return seen.map((one) => [one.getAttribute('display') === 'true', size(one) / size(one.parentElement)]);
}"""


def stories() -> dict[str, list[str]]:
    """The pages of each chapter, its story first, by the story's name."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [entry for part in toc["parts"] for entry in part["chapters"] if entry["file"].startswith("chapters/")]
    return {one["file"]: [one["file"], *(below["file"] for below in one.get("sections", []))] for one in entries}


def look(page: Page) -> dict[str, float]:
    """Screens, words, figures and share of verdicts of the page that is open."""
    page.set_viewport_size({"width": WIDTH, "height": SCREEN})
    return page.evaluate(LOOK, SCREEN)


def table(browser: Browser, html: Path, names: list[str]) -> dict[str, dict[str, float]]:
    """What ``look`` finds of pages, and their weight in MB: ``own`` is loaded by no other, ``all`` is everything."""
    found, files = {}, {}
    for name in names:
        context = browser.new_context(offline=True)
        page, files[name] = context.new_page(), set()
        page.on("requestfinished", lambda request, own=files[name]: own.add(unquote(urlsplit(request.url).path)))
        page.goto((html / f"{name}.html").as_uri() + "?open", timeout=180_000)  # a story's findings, without a guess
        found[name] = look(page)
        context.close()
    times = Counter(path for paths in files.values() for path in paths)
    for name, paths in files.items():
        size = {path: os.path.getsize(path) / 1e6 for path in paths if os.path.exists(path)}
        found[name] |= {"own": sum(size[p] for p in size if times[p] == 1), "all": sum(size.values())}
    return found


def main(profile: str = "laptop") -> None:
    """Prints the table of a built book, of all pages of all chapters and of the start page."""
    assert profile in parameters.PROFILES, profile
    html = (ROOT / "build" / profile / "html").resolve()
    if not (html / "index.html").exists():
        sys.exit(f"build/{profile}/html is not there: run make book PROFILE={profile}")
    pages = stories()
    names = ["book/intro", *(name for own in pages.values() for name in own)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        found = table(browser, html, names)
        browser.close()
    print("| page | screens | words | figures | verdicts | own MB | all MB |\n|---|---|---|---|---|---|---|")
    for name, one in found.items():
        long = name in pages and (one["screens"] > LONGEST or one["figures"] > FIGURES)
        over = long or one["own"] > MEGABYTES
        numbers = f"{one['screens']:.1f} | {one['words']:.0f} | {one['figures']:.0f} | {one['verdicts']:.1%}"
        print(f"| {name}{' **over**' * over} | {numbers} | {one['own']:.2f} | {one['all']:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
