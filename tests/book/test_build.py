"""How pages are built around Jupyter Book, for which a few lines stand in: what is kept, what is read anew."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from companion.site import extension, pages


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book's sources, and a Jupyter Book that writes the page ``says``, or fails in its words ``fails``."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "_toc.yml").write_text("one")
    made = SimpleNamespace(source=source, out=tmp_path / "html", cache=tmp_path / ".sphinx", says="a page", fails="")

    def run(command, **how):
        work = Path(command[command.index("--path-output") + 1])
        html = work / "_build" / "html"
        (html / "notebooks").mkdir(parents=True, exist_ok=True)
        (html / "index.html").write_text(made.says)
        (html / "notebooks" / "a.ipynb").write_text("{}")
        assert not (work / "settings").exists(), "a build that is killed leaves nothing to go on from"
        return SimpleNamespace(returncode=int(bool(made.fails)), stderr=made.fails, stdout="")

    monkeypatch.setattr(pages.subprocess, "run", run)
    return made


def build(book):
    pages.build(book.source, book.out, book.cache)
    return (book.out / "index.html").read_text()


def test_pages_replace_those_before_and_nothing_else_is_left(book):
    assert build(book) == "a page"
    book.says = "another"
    assert build(book) == "another"
    (folder,) = book.out.parent.glob(".html-*")
    assert book.out.resolve() == folder / "html" and [path.name for path in folder.iterdir()] == ["html"]
    assert (book.out / "notebooks" / "a.ipynb.js").read_text() == 'window.BOOK_NOTEBOOK = "{}";\n'


def test_a_cache_is_kept_until_the_settings_change(book):
    build(book)
    (book.cache / "read").touch()
    build(book)
    assert (book.cache / "read").exists()
    (book.source / "_toc.yml").write_text("two")
    build(book)
    assert not (book.cache / "read").exists()


def test_a_build_that_fails_says_why_and_leaves_the_last_pages(book):
    build(book)
    book.says, book.fails = "broken", "index.md: unknown reference\nTraceback (most recent call last):\n ..."
    with pytest.raises(pages.PagesError, match=r"^index\.md: unknown reference$"):
        build(book)
    assert (book.out / "index.html").read_text() == "a page" and len([*book.out.parent.glob(".html-*")]) == 1
    assert not (book.cache / "settings").exists()


def test_remains_that_cannot_be_deleted_stop_no_build(book, monkeypatch):
    def rmtree(path, ignore_errors=False):
        if not ignore_errors:
            raise OSError(f"{path} is busy")

    monkeypatch.setattr("shutil.rmtree", rmtree)
    assert build(book) == "a page"
    build(book)
    (book.source / "_toc.yml").write_text("two")
    assert build(book) == "a page"
    book.fails = "why"
    with pytest.raises(pages.PagesError, match=r"^why$"):
        build(book)


def test_words_for_the_search_are_those_of_the_pages_there_are(tmp_path):
    def written(pages, texts):
        app = SimpleNamespace(
            outdir=tmp_path, builder=SimpleNamespace(texts=texts), env=SimpleNamespace(found_docs=set(pages))
        )
        extension._write_texts(app, None)
        return json.loads((tmp_path / "_static" / "texts.js").read_text().removeprefix(extension.TEXTS)[:-2])

    (tmp_path / "_static").mkdir()
    assert written("ab", {"a": "one", "b": "two"}) == {"a": "one", "b": "two"}
    assert written("ac", {"a": "new", "c": "three"}) == {"a": "new", "c": "three"}
    assert written("ac", {}) == {"a": "new", "c": "three"}


def test_a_page_keeps_its_words_for_the_search_and_its_button_saves_the_notebook(tmp_path):
    saved = tmp_path / "extra" / "notebooks" / "a.ipynb"
    saved.parent.mkdir(parents=True)
    saved.touch()
    button = {"label": "download-source-button", "url": "a.ipynb.txt"}
    context = {
        "body": '<p>See <a href="../book/ledger.html">the ledger</a>, <a href="#b">below</a>.</p>',
        "header_buttons": [{"buttons": [button]}],
        "pathto": lambda name, _: f"to/{name}",
    }
    app = SimpleNamespace(
        env=SimpleNamespace(toc_fignumbers={}),
        builder=SimpleNamespace(texts={}),
        config=SimpleNamespace(html_extra_path=["extra"]),
        srcdir=tmp_path,
    )
    extension._page(app, "chapters/a", "", context, object())
    assert "../book/ledger.html" in context["body"] and 'href="#b"' in context["body"]
    assert app.builder.texts == {"chapters/a": "See the ledger , below ."}
    assert button["url"] == context["saved"] == "to/notebooks/a.ipynb"
