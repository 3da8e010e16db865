"""The book as one PDF: ``python -m companion.site.pdf laptop`` prints the built pages with Chromium and joins them.

The style sheet for print leaves out what works on a screen only: players, folded code, filters.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from companion import paths
from companion.experiments import parameters
from companion.experiments.cli import one_line_errors
from regimes import validate
from regimes.validate import InputError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
MARGIN = dict.fromkeys(("top", "bottom", "left", "right"), "16mm")
LEFT_OUT = ("book/api",)  # hundreds of pages, for a screen


def browser() -> str:
    """The Chromium of this machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise InputError(
            f"a PDF needs Chromium: none of {', '.join(BROWSERS)} is here (Debian: apt-get install chromium)"
        )
    return found


def pages() -> list[str]:
    """The book's pages in their order, ``chapters/01_…``, except those that paper does not need."""
    toc = yaml.safe_load((paths.root() / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [entry for part in toc["parts"] for entry in part["chapters"] if entry["file"] not in LEFT_OUT]
    return [toc["root"], *(one["file"] for entry in chapters for one in (entry, *entry.get("sections", ())))]


def print_book(html: Path, out: Path) -> int:
    """Prints the pages in ``html`` into one PDF with an outline; returns its number of sheets."""
    program, names = browser(), pages()
    for name in names:
        if not (html / f"{name}.html").exists():
            raise InputError(f"{html / name}.html is not there: make book PROFILE={html.parent.name} builds it")
    from pypdf import PdfReader, PdfWriter

    joined = PdfWriter()
    for title, printed in _printed(program, html, names):
        start = len(joined.pages)
        joined.append(PdfReader(printed), import_outline=False)
        joined.add_outline_item(title, start)
    joined.write(out)
    return len(joined.pages)


def _printed(program: str, html: Path, names: list[str]) -> Iterator[tuple[str, Path]]:
    """Title and PDF of each page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        # no sandbox: containers run as root, and the pages are our own
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = launched.new_context(offline=True, color_scheme="light").new_page()
        page.set_default_timeout(300_000)
        for name in names:
            page.goto((html / f"{name}.html").as_uri())
            page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
            printed = Path(folder, f"{name.replace('/', '-')}.pdf")
            page.pdf(path=printed, format="A4", margin=MARGIN, print_background=True)
            yield page.title().partition(" — ")[0], printed
        launched.close()


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m companion.site.pdf", description=__doc__)
    parser.add_argument("profile", help="smoke, laptop or paper; its pages must have been built")
    profile = parser.parse_args(argv).profile
    with one_line_errors():
        validate.one_of(parameters.PROFILES, profile=profile)
        out = paths.build_folder(profile) / "book.pdf"
        count = print_book(paths.build_folder(profile) / "html", out)
        print(f"the book on {count} sheets: {out.relative_to(paths.root())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
