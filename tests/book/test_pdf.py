"""The book as one file: sheets, outline and words; one line where it cannot be made."""

import os

import pytest
from pypdf import PdfReader

from companion.site import pdf
from regimes.validate import InputError
from tests.book.test_pages import CHROMIUM
from tests.book.test_sources import HTML

pytestmark = [
    pytest.mark.filterwarnings("ignore"), pytest.mark.weekly, pytest.mark.xdist_group("browser"),
    pytest.mark.usefixtures("smoke_pages"),
]  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None and os.environ.get("CI") != "true", reason="no Chromium on this machine")
def test_the_book_is_one_pdf(tmp_path, monkeypatch):
    monkeypatch.setattr(pdf, "pages", lambda: ["book/intro", "book/notation"])
    count = pdf.print_book(HTML, tmp_path / "book.pdf")
    book = PdfReader(tmp_path / "book.pdf")
    assert len(book.pages) == count >= 4 and len(book.outline) == 2
    words = "".join(page.extract_text() for page in book.pages)
    assert "Lazy and Feature Learning" in words and "Show all code" not in words
    monkeypatch.setattr(pdf, "pages", lambda: ["book/none"])
    with pytest.raises(InputError, match=r"none\.html is not there: make book PROFILE=smoke"):
        pdf.print_book(HTML, tmp_path / "book.pdf")
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(InputError, match="a PDF needs Chromium: none of no-such-browser is here"):
        pdf.print_book(HTML, tmp_path / "book.pdf")
