"""A Sphinx extension, named in ``_config.yml``: what the book's pages have beyond Sphinx's own.

Links to the glossary hold the definition, links to equations and figures a preview. The download button saves a file,
and the search has the words of each page. The role ``claim`` gives the measured number. The pages need no network:
``templates`` leave out what would.
"""

import functools
import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst.states import Inliner
from sphinx import addnodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxTranslator
from sphinx.util.osutil import relative_uri

from companion.book import ledger, views
from companion.site import quotes

HOSTS = ("github", "gitlab", "bitbucket")  # the theme knows them, and stops at another's address
TEXTS = "window.BOOK_TEXTS = "  # what the search shows of each page: one on disk may not fetch another
_MATHS = r'<span class="math notranslate nohighlight">[^<]*</span>'
# a formula with what touches it, or with the mark behind the bold or slanted words that it ends
# (from a word's beginning only: from each of its letters, a picture written as one word of text takes minutes)
_WITH_MARKS = re.compile(rf"((?:(?:(?<![^\s<>])[^\s<>]*)?{_MATHS})+)(?:((?:</(?:em|strong)>)+)([,.;:!?)]+)|([^\s<>]*))")
_CODE_OF = re.compile(r"code of \{([^}]*)\}")  # of a figure, by its label
_TEX = re.compile(r"\\[()\[\]]|[\\{}]")  # what an excerpt of the search leaves out of a formula
# what the search leaves out: code and the marks behind headings
_NO_WORDS = re.compile(r'<(pre|script|style)\b.*?</\1>|<a class="headerlink".*?</a>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_NUMBER = re.compile(r'<a class="measured".*?>(.*?)</a>')  # which stands on its page alone


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers this extension with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")  # whose event is one of those below
    app.config.templates_path.insert(0, str(Path(__file__).with_name("templates")))
    app.add_role("claim", _measured)
    app.add_role("interval", _measured)
    app.add_node(nodes.reference, override=True, html=(_link, None))
    handlers = {
        "config-inited": _button,
        "autodoc-process-docstring": _as_mathematics,
        "env-get-updated": _out_of_date,
        "write-started": _define,
        "html-page-context": _page,
        "build-finished": _write_texts,
    }
    for event, handler in handlers.items():
        app.connect(event, handler, priority=900)
    app.connect("html-page-context", _list_pages, priority=100)  # before the theme makes the sidebar
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}


def _as_mathematics(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Sets what stands between dollars in the docstrings of claims, whose words are those of the ledger."""
    if ".claims." in name:
        lines[:] = re.sub(r"\$([^$]+)\$", r":math:`\1`", "\n".join(lines)).split("\n")


def _button(app: Sphinx, config: Config) -> None:
    """A button for the repository, where ``_config.yml`` names its address; the foot of all pages."""
    options = config.html_theme_options
    host = (options.get("repository_url") or "").rstrip("/").rsplit("/", 2)[0]
    options["use_repository_button"] = any(name in host for name in HOSTS)
    if not options["use_repository_button"]:
        options["repository_url"] = ""
    foot = Path(app.srcdir, "book", "_generated", "foot.html")  # all pages are written anew where it changes
    options["extra_footer"] = foot.read_text(encoding="utf-8") if foot.exists() else ""


def _measured(
    role: str, raw: str, name: str, line: int, inliner: Inliner, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The measured value of a claim, by these pages' ledger: ``{claim}`C.Thm2-limit```; interval as a tooltip.

    ``{interval}`C.Thm2-limit``` shows the interval behind the value.
    It leads to the claim's row, which leads back to it (``companion.site.quotes``).
    """
    env = inliner.document.settings.env
    for path in (Path(env.srcdir, folder, "ledger.json") for folder in env.config.html_extra_path):
        env.note_dependency(str(path))
        if record := _records(path, path.stat().st_mtime_ns if path.exists() else 0).get(name):
            counts = env.temp_data.setdefault("book_quoted", Counter())  # of the page that is read
            counts[name] += 1
            place = _row(env, name), quotes.anchor(name, counts[name])
            shown = views.show("number", record, *place, interval=role == "interval")
            return [nodes.raw(raw, shown, format="html")], []
    return [], [inliner.reporter.error(f"{name} is no claim of the ledger", line=line)]


def _row(env: BuildEnvironment, name: str) -> str:
    """The address of a claim's row, seen from the page that is read; empty for a claim of no paper of the book."""
    page = f"book/paper-{name[0].lower()}"
    return f"{relative_uri(f'{env.docname}.html', f'{page}.html')}#{name}" if page in env.found_docs else ""


@functools.lru_cache(maxsize=4)
def _records(path: Path, written: int) -> dict[str, dict[str, Any]]:
    """The records of a ledger that was ``written`` at a time, by their claims: hundreds of roles ask for one."""
    return {record["id"]: record for record in ledger.read(path)}


def _out_of_date(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """All pages if anything that they show of each other has changed: titles, numbers, labels, terms, definitions."""
    parts = [env.domaindata[name][part] for name, part in (("std", "labels"), ("std", "objects"), ("math", "objects"))]
    titles = {name: title.astext() for name, title in env.titles.items()}
    terms = {name: env.get_doctree(name).astext() for name in _glossaries(env)}
    app.labelled = _labelled(env)
    texts = {anchor: node.astext() for anchor, (_, node) in app.labelled.items()}
    parts += [titles, terms, texts, env.toc_secnumbers, env.toc_fignumbers]
    parts_now = [sorted(map(repr, part.items())) for part in parts]  # a page that is read again comes last
    before, env.book_shown = getattr(env, "book_shown", None), parts_now
    return [] if parts_now == before else env.found_docs


def _glossaries(env: BuildEnvironment) -> list[str]:
    terms = env.domaindata["std"]["objects"].items()
    return sorted({page for (kind, _), (page, _) in terms if kind == "term"})


def _labelled(env: BuildEnvironment) -> dict[str, tuple[str, nodes.Element]]:
    """The labelled equations, and the captions of figures, each with its page, by anchor."""
    by_anchor = {}
    for page in sorted(env.found_docs):
        for node in env.get_doctree(page).findall(lambda node: isinstance(node, (nodes.math_block, nodes.caption))):
            labelled = node if isinstance(node, nodes.math_block) else node.parent
            by_anchor |= {anchor: (page, node) for anchor in labelled["ids"]}
    return by_anchor


def _preview(app: Sphinx, anchor: str, node: nodes.Element) -> str:
    """An equation, or the bold first words of a figure's caption, as HTML; its picture lies in ``FOLDER``."""
    if isinstance(node, nodes.math_block):
        return f"\\[{html.escape(node.astext())}\\]"
    folders = [Path(app.srcdir, folder, "figures") for folder in app.config.html_extra_path]
    files = [file for folder in folders for file in folder.glob(f"{anchor}.*")]
    bold = next(iter(node.findall(nodes.strong)), node).deepcopy()
    for link in [*bold.findall(nodes.reference), *bold.findall(pending_xref)]:
        link.replace_self(link.children)
    words = _NUMBER.sub(r"\1", app.builder.render_partial(bold)["fragment"])
    painted = " painted" * any('painted"' in raw.astext() for raw in node.parent.findall(nodes.raw))
    pictures = [f'<div class="drawn{painted}"><img alt="" src="FOLDER{file.name}"></div>' for file in files]
    return "".join(pictures) + words


def _define(app: Sphinx, builder: StandaloneHTMLBuilder) -> None:
    """Stores the glossary's definitions as HTML without links, and the previews, by their anchors."""
    builder.definitions, builder.texts = {}, {}
    builder.titles = {name: _without_headings(toc) for name, toc in builder.env.tocs.items()}
    builder.previews = {anchor: _preview(app, anchor, node) for anchor, (_, node) in app.labelled.items()}
    for name in _glossaries(builder.env):
        page = builder.env.get_and_resolve_doctree(name, builder)
        for link in list(page.findall(nodes.reference)):
            link.replace_self(link.children)
        for item in page.findall(nodes.definition_list_item):
            definition = "".join(builder.render_partial(part)["fragment"] for part in item[-1])
            builder.definitions |= {term["ids"][0]: definition.strip() for term in item.findall(nodes.term)}


def _without_headings(toc: nodes.bullet_list) -> nodes.bullet_list:
    """What the sidebar shows of a page: its title, and the pages below it."""
    below = [nodes.bullet_list("", tree.deepcopy()) for tree in toc.findall(addnodes.toctree)]
    return nodes.bullet_list("", nodes.list_item("", toc[0][0].deepcopy(), *below))


def _list_pages(app: Sphinx, name: str, _: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Gives the sidebar titles alone: Sphinx would copy all headings of the book for each page, and drop them again."""
    toctree = context["toctree"]

    def titles(**options: Any) -> str:
        headings, app.env.tocs = app.env.tocs, app.builder.titles
        try:
            return toctree(**options)
        finally:
            app.env.tocs = headings

    context["toctree"] = titles


def _link(self: SphinxTranslator, node: nodes.reference) -> None:
    """A link with the definition or the preview that ``book.js`` shows on hover and on keyboard focus."""
    type(self).visit_reference(self, node)
    anchor = node.get("refid") or node.get("refuri", "").partition("#")[2]
    for kind, texts in {"definition": self.builder.definitions, "preview": self.builder.previews}.items():
        if text := texts.get(anchor):
            page = self.builder.get_target_uri(self.builder.current_docname)
            text = text.replace("FOLDER", relative_uri(page, "figures/"))
            self.body[-1] = f'{self.body[-1][:-1]} data-{kind}="{html.escape(text)}">'


def _page(app: Sphinx, name: str, _: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Stores a page's words, and makes its download button save a file: on a chapter the notebook."""
    if doctree is None:
        return
    figures = app.env.toc_fignumbers.get(name, {}).get("figure", {})
    numbers = {label: ".".join(map(str, number)) for label, number in figures.items()}
    text = marks_kept(context["body"]).replace(' aria-label="Toggle hidden content"', "")
    context["body"] = _CODE_OF.sub(lambda match: f"code of Fig. {numbers.get(match[1], '?')}", text)
    app.builder.texts[name] = search_text(context["body"])
    for button in (button for group in context["header_buttons"] for button in group.get("buttons", ())):
        if button["label"] == "download-source-button":
            for folder in app.config.html_extra_path:
                for saved in Path(app.srcdir, folder, "notebooks").glob(f"{Path(name).name}.ipynb"):
                    button["url"] = context["pathto"](f"notebooks/{saved.name}", 1)
            context["saved"] = button["url"]


def search_text(page: str) -> str:
    """The words of a page's HTML, without code, for the search."""
    text = _TAG.sub(" ", _NO_WORDS.sub(" ", page))
    return " ".join(_TEX.sub("", html.unescape(text)).split())


def marks_kept(page: str) -> str:
    """HTML with each formula and the marks that touch it on one line; one behind bold or slanted words joins these."""

    def joined(match: re.Match[str]) -> str:
        formula, closing_tags, marks, rest = match.groups()
        text = formula + (marks or rest or "")
        span = text if re.fullmatch(_MATHS, text) else f'<span class="kept">{text}</span>'
        return span + (closing_tags or "")

    return _WITH_MARKS.sub(joined, page)


def _write_texts(app: Sphinx, error: Exception | None) -> None:
    """Writes the words of all pages for the search; pages that were not rebuilt keep theirs."""
    path = Path(app.outdir, "_static", "texts.js")
    if error is None:
        before = json.loads(path.read_text(encoding="utf-8")[len(TEXTS) : -2]) if path.exists() else {}
        texts_of_pages = before | getattr(app.builder, "texts", {})  # none where no page was written
        texts = {name: texts_of_pages[name] for name in sorted(app.env.found_docs & texts_of_pages.keys())}
        path.write_text(f"{TEXTS}{json.dumps(texts)};\n", encoding="utf-8")
