"""HTML and Markdown of chapters and pages, by the templates of this folder and of ``site``."""

import functools
import html
import json
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from companion import paths
from companion.book import errata, ledger, registration
from companion.estimates import NARROW, plain

FOLDERS = (Path(__file__).with_name("templates"), Path(__file__).parents[1] / "site" / "templates")
ERRATA = "../book/errata.html"  # seen from a chapter's page
_ASIDE = re.compile(r"(\$[^$]*\$|`[^`]*`|\{[^}]*\}|<[^>]*>|\]\([^)]*\))")  # mathematics, code, roles, tags, addresses
_ROLE = re.compile(r"\{[a-z:]+\}`([^`<]*?)(?:\s*<[^>`]+>)?`")  # a link, by its words
_NUMBER = re.compile(  # no part of a word, a date, a range or an address; its thousands may be apart
    r"(?<![\w.…/-])-?(?:[1-9]\d{1,2}(?: \d{3})+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w/]|[.-]\w| \d)"
)


@functools.cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDERS),
        autoescape=lambda name: name.endswith(".html"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"maths": maths, "captioned": captioned, "command": command}
    environment.globals |= {"ledger": ledger, "DRAWERS": errata.DRAWERS, "CHANGES": errata.CHANGES, "live": live}
    environment.globals |= {"registration": registration}
    environment.tests |= {"exploratory": registration.exploratory}
    return environment


@functools.cache
def live() -> dict[str, str]:
    """The claims that a page measures itself, each with the scripts that it uses, in this order."""
    files = {"live": "stripe depth jam live", "dense": "depth dense"}
    texts = {name: paths.root() / "_static" / "explore" / f"{name}.js" for name in files}
    return {
        claim: files[name]
        for name, path in texts.items()
        if path.exists()
        for claim in re.findall(r'^ *live\["([^"]+)"\] =', path.read_text(encoding="utf-8"), re.M)
    }


def quoted(value: Any) -> str:
    """A parameter's value as a shell's word, inside the single quotes of ``PARAMS='...'`` too."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if re.fullmatch(r"[\w.+-]+", text) else '"' + text.replace('"', '\\"') + '"'


def command(example: Any) -> str:
    """The options that set an example's values, ``-p curve_depth 2000``."""
    return " ".join(f"-p {name} {quoted(value)}" for name, value in example.sets.items())


def show(macro: str, /, *args: Any, **values: Any) -> str:
    """HTML by a macro of ``show.html``."""
    return str(getattr(_templates().get_template("show.html").module, macro)(*args, **values))


def rest(entry: Any, on: list[str]) -> dict[str, Any]:
    """A claim as the ledger shows it among those that another rests on; ``on``: those that it rests on itself."""
    address = f"paper-{entry['item'][0].lower()}.html#{entry['id']}"
    return {"word": ledger.word(entry), "html": show("rest", entry), "address": address, "on": on}


def markdown(name: str, /, **values: Any) -> str:
    """Markdown of a page, or a part of one, by the template of that name."""
    return f"{_templates().get_template(f'{name}.md').render(values).strip()}\n"


def page(name: str, /, **values: Any) -> str:
    """A whole page of HTML by the template of that name."""
    return _templates().get_template(f"{name}.html").render(values)


def typeset(text: str) -> str:
    """Text whose numbers have one form (``estimates.plain``), a percentage ``98 %``; mathematics and code stay."""
    parts = _ASIDE.split(text)
    words = [_NUMBER.sub(lambda match: plain(match[0].replace(" ", "")), part) for part in parts[::2]]
    parts[::2] = [re.sub(r"(?<=\d) ?%", f"{NARROW}%", part) for part in words]
    return "".join(parts)


def maths(text: str) -> Markup:
    """Text as HTML, ``typeset``; between dollar signs it is set as mathematics."""
    text = typeset(text)
    parts = html.escape(text, quote=False).split("$")
    if len(parts) % 2 == 0:  # a dollar of its own
        return Markup(html.escape(text, quote=False))
    inside = [f'<span class="math notranslate nohighlight">\\({part}\\)</span>' for part in parts[1::2]]
    return Markup("".join(a + b for a, b in zip(parts[::2], [*inside, ""], strict=True)))


def captioned(text: str) -> Markup:
    """A caption as HTML, for a page without Sphinx: ``maths``, bold and code; of references their words."""
    text_html = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(maths(_ROLE.sub(r"\1", text))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", text_html))
