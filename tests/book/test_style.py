"""The word list of ``book/STYLE.md`` over the prose of every page that has been edited by it."""

import ast
import json
import re

import jupytext
import pytest
import yaml

from companion.book import captions, claims
from companion.lab import parameters
from tests.references import ROOT

# pages edited by the style sheet, one a line: add yours
EDITED = """
book/errata.yml
README.md
CONTRIBUTING.md
book/api.md
book/cluster.md
book/glossary.md
book/notation.md
book/intro.md
book/tour.md
book/reading.md
book/errata.md
book/rerun.md
book/yours.md
book/teach.md
book/teach/01.md
book/teach/02.md
book/teach/05.md
""".split()
EDITED += [f"chapters/{page.name}" for number in parameters.chapters() for page in parameters.page_sources(number)]
# chapters whose Markdown has no measured number: the decimals and percentages there are these, with what they are
TYPED = {
    "01": {
        **dict.fromkeys(("0.4", "0.385", "0.357"), "d/(3d-2), the lazy exponent of both papers"),
        **dict.fromkeys(("0.692", "0.679"), "(2d-1)/(3d-2), paper A's exponent of feature learning"),
        **dict.fromkeys(("0.62", "0.64", "0.31", "0.32", "0.14"), "gains by paper A's formulas"),
        **dict.fromkeys(("10", "90", "95", "98"), "fitted fractions at which networks are looked at"),
        **dict.fromkeys(("0.538", "0.518"), "(d+d_perp/2)/(3d-2), paper B's exponent of feature learning"),
        **dict.fromkeys(("0.477", "0.455"), "(d+d_perp/2)/(3d-2), paper A's exponent on balls"),
        "0.227": "d_perp/(3d-2), paper A's gain on a ball",
        **dict.fromkeys(("0.40", "0.05"), "densities at planes"),
        **dict.fromkeys(("0.3", "0.5"), "where planes stand"),
    },
    "02": {
        **dict.fromkeys(("10", "98", "1"), "fitted fractions, and what remains"),
        **dict.fromkeys(("0.39", "0.44"), "growth rates of theory, and where they cross"),
        "2.24": "what theory has for the ratio of the dimensions",
        "1.79": "the exponent if all neurons grow and are late, by theory",
    },
    "03": {"1.5": "times the width at jamming"},
    "04": {
        "0.005": "the tolerance of the flow",
        **dict.fromkeys(("0.4", "0.1"), "paper B's exponents"),
        **dict.fromkeys(("0.07", "0.03"), "1/d_int, for the papers' dimensions"),
        **dict.fromkeys(("0.44", "0.12"), "what components gain that follow one plane or tell two digits"),
        "0.7": "the logarithm of two",
        "90": "the fitted fraction",
    },
}
SPOKEN = ("title", "says", "wrong", "corrected", "before", "uncorrected")
CLAIMS_OF = {number: {claim.id for claim in claims.claims_of(number)} for number in parameters.chapters()}
LISTED = (ROOT / "book" / "STYLE.md").read_text(encoding="utf-8").partition("| instead of | write |")[2]
WORDS = {
    phrase: instead
    for phrases, instead in re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", LISTED, re.M)
    for phrase in phrases.split(", ")
}


def pattern(phrase):
    """A phrase of the list as whole words over any white space, its ``(s)`` there or not."""
    words = re.escape(phrase).replace(r"\(s\)", "s?").replace(r"\ ", r"\s+")
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.I)


def prose(text):
    """A text without code, mathematics, links' targets and quotations."""
    for noise in (
        r"(?ms)^(`{3,}|:{3,})(?!\{dropdown).*?^\1$",
        r"(?s)\$\$.*?\$\$",
        r"\$[^$]*\$",
        r"\{(?:numref|eq|cite\S*)\}`[^`]*`",
        r"(?<=`)\s*<[^`>]*>(?=`)|(?<=\w)\s*<[\w-]+>(?=`)",
        r"(?<!\})`[^`]*`",
        r"\]\([^)]*\)",
        r"<[^>]+>",
        r"“[^”]*”",
        r'"[^"]*"',
    ):
        text = re.sub(noise, " ", text)
    return text


def strings(node):
    """The words of a string, a number for what is put in; nothing of what is no string."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "0" for part in node.values)
    if isinstance(node, ast.BinOp):
        return strings(node.left) + strings(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def calls(source):
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def texts(path):
    """What a page says: Markdown; of a chapter also sentences and captions; of errata their words."""
    whole = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".yml"):
        entries = yaml.safe_load(whole)
        return [entry[name] for entry in entries for name in SPOKEN if isinstance(entry.get(name), str)]
    if not path.endswith(".py"):
        return [whole]
    found = [cell.source for cell in jupytext.reads(whole, "py:percent").cells if cell.cell_type == "markdown"]
    given = [arg for call in calls(whole) for arg in (*call.args, *(keyword.value for keyword in call.keywords))]
    return found + [text for text in map(strings, given) if " " in text]


def unlisted(texts):
    """The words of texts for which the list has others."""
    return [
        f"{hit[0]!r} (write: {instead}) in: …{text[max(hit.start() - 40, 0) : hit.end() + 40]}…"
        for text in map(prose, texts)
        for phrase, instead in WORDS.items()
        for hit in pattern(phrase).finditer(text)
    ]


@pytest.mark.parametrize("path", EDITED)
def test_a_page_that_was_edited_has_the_fields_words(path):
    found = unlisted(texts(path))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("number", parameters.chapters())
def test_claims_have_the_fields_words(number):
    declared = claims.claims_of(number)
    words = [text for claim in declared for text in (claim.statement, claim.short, claim.measure)]
    found = unlisted(words + [claim.alternative["what"] for claim in declared])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", sorted(path for path in EDITED if path.endswith(".yml")))
def test_words_of_a_table_have_no_character_that_an_escape_made(path):
    """YAML reads a backslash within double quotes: ``"$\\Lambda$"`` with one of them begins with a line separator."""
    entries = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    said = [str(part) for entry in entries for part in entry.values()]
    assert not [text for text in said if not text.isprintable()]


def test_every_figure_is_in_words_too():
    """For readers who cannot see it: what is drawn, in the caption after its answer, or else in words of its own."""
    found = 0
    for page in sorted((ROOT / "chapters").glob("0*.py")):
        cells = jupytext.read(page).cells
        for index, caption in captions.of_cells(cells).items():
            own = [one for call in calls(cells[index].source) for one in call.keywords if one.arg == "alt"]
            drawn = captions.drawn(caption)
            assert own or (len(drawn.split()) > 8 and not caption.startswith(f"**{drawn}")), f"{page.name}: {caption}"
            found += 1
    assert found > 80


def measured():
    records = json.loads((ROOT / "results" / "ledger.json").read_text(encoding="utf-8"))
    return {one["id"]: one["value"] for one in records if one["value"] is not None}


def typed(text):
    """The decimal numbers and percentages of a text outside formulas, roles, exercises and places in a paper."""
    words = prose(re.sub(r"\{[\w:]+\}`[^`]*`", " ", text.partition("## Exercises")[0]))
    words = re.sub(r"\b(?:Sec|App|Eq|Fig)s?\.\s+[\w.]+", " ", words)
    return re.findall(r"(?<![\w.])\d+\.\d+(?!\.?\d)|(?<![\w.])\d+(?= (?:%|per cent))", words)


@pytest.mark.parametrize("number", TYPED)
def test_no_measured_number_is_typed(number):
    """Numbers come from the ledger or from the run, and sentences follow where these are measured anew."""
    values, known = measured(), TYPED[number]
    own = [f"{value:.{n}f}" for claim, value in values.items() if claim in CLAIMS_OF[number] for n in (2, 3)]
    cells = [cell for page in parameters.page_sources(number) for cell in jupytext.read(page).cells]
    found = {one for cell in cells if cell.cell_type == "markdown" for one in typed(cell.source)}
    new = {
        one: "a claim's: write {claim}`ID`" if one in own else "say what it is in TYPED" for one in found - set(known)
    }
    assert not new, new
    assert not set(known) - found, "no longer there"


def test_a_typed_number_is_found_in_prose_alone():
    for text, found in (
        ("falls by 0.63 bits", ["0.63"]),
        ("$0.63$ {claim}`x` “0.63” 0.630 1.63", ["0.630", "1.63"]),
        ("of 98 % (Sec. 3.2.1, Eq. 2.5), in 5 runs and 0.6", ["98", "0.6"]),
        ("## Exercises\n0.6", []),
    ):
        assert typed(text) == found, text


def test_the_list_is_read_and_finds_words_in_prose_alone():
    assert len(WORDS) > 40 and WORDS["zero loss"] == "the end of training"
    for phrase in WORDS:
        assert pattern(phrase).search(prose(f"Here {phrase.replace('(s)', 's')} stands.")), phrase
    for text in (
        "`zero loss`",
        "“at zero\nloss”",
        "$zero loss$",
        "{numref}`zero loss`",
        "```\nzero loss\n```",
        "nonzero loss",
    ):
        assert not pattern("zero loss").search(prose(text)), text
    assert pattern("zero loss").search(prose("{term}`at Zero\nloss <end>` is linked"))
    assert pattern("slip(s)").search(prose("two slips")) and not pattern("slip(s)").search(prose("slippery"))


@pytest.mark.parametrize("number", parameters.chapters())
def test_a_story_asks_its_reader_to_guess_first(number):
    """Before its key figure."""
    before, _, _ = parameters.source(number).read_text(encoding="utf-8").partition('tags=["key"]')
    assert re.search(r"\*\*Guess first\.\*\*[^?]*\?", before.replace("\n# ", " "))
