"""Errata: three drawers, each entry with the sentence that it is about; how they hang together with the claims."""

import re
from dataclasses import replace

import pytest

from companion.book import errata as errata_file
from companion.book import ledger
from companion.book.claims import Claim
from companion.book.errata import DRAWERS, errata
from companion.site import sources
from regimes.validate import InputError


def number(rows=None):
    """It is one."""


PLAIN = {
    "item": "Z.Fig1", "kind": "paper", "statement": "s", "source": "t", "accept": (0, 1), "profiles": ("smoke",),
    "alternative": {"value": 2, "what": "a rival"}, "function": number,
}  # fmt: skip
CLAIM = Claim(id="Z.Fig1-a", corrected=(3, 4), erratum="z-one", **PLAIN)
ENTRY = """\
- {id: z-one, drawer: error, changes: number, item: Z.Fig1, title: t, quote: q, says: s, wrong: w, corrected: c,
   claims: [Z.Fig1-a]}
"""


def test_every_entry_quotes_the_paper_and_stands_in_a_drawer():
    """That the papers do say so cannot be tested here: they are not in the repository."""
    assert {erratum.drawer for erratum in errata().values()} == set(DRAWERS)
    for erratum in errata().values():
        assert erratum.id.split("-")[0].upper() == erratum.item[0], erratum.id
        assert 2 <= len(erratum.quote.split()) <= 60 and not re.search('[“”"]', erratum.quote), erratum.id
        for text in (erratum.quote, erratum.says, erratum.wrong, erratum.corrected, erratum.before or ""):
            assert text.count("$") % 2 == 0 and text.count("{") == text.count("}"), erratum.id
        assert not erratum.uncorrected or erratum.drawer == "error", erratum.id
    quotes = [erratum.quote for erratum in errata().values()]
    assert len(set(quotes)) == len(quotes), "two entries on one statement"


@pytest.fixture
def in_a_book(mini_book, declared):
    """A book of these errata and claims; returns the claims."""

    def made(entries, *claims):
        (mini_book / "book" / "errata.yml").write_text(entries)
        errata_file._read.cache_clear()
        return declared(*claims)

    yield made
    errata_file._read.cache_clear()


def test_claims_and_errata_that_agree(in_a_book):
    assert list(in_a_book(ENTRY, CLAIM)) == ["Z.Fig1-a"]
    assert errata()["z-one"].before is None


@pytest.mark.parametrize(
    ("entries", "claims", "names"),
    [
        (ENTRY.replace("error", "mistake"), [CLAIM], "errata.yml, z-one: drawer must be one of error, limit, reading"),
        (
            ENTRY.replace("changes: number", "changes: much"),
            [CLAIM],
            "z-one: changes must be one of conclusion, number",
        ),
        (ENTRY.replace("quote: q, ", ""), [CLAIM], "errata.yml, z-one: .*quote"),
        (ENTRY.replace("quote: q", "quote: ' '"), [CLAIM], "errata.yml, z-one: quote must be a str that is not empty"),
        (ENTRY.replace("[Z.Fig1-a]", "[]"), [CLAIM], "errata.yml, z-one: claims must be a list that is not empty"),
        (ENTRY.replace("quote: q", "quote: q, before: 2019"), [CLAIM], "errata.yml, z-one: before must be a str"),
        (ENTRY.replace("quote: q", "quote: q, colour: red"), [CLAIM], "errata.yml, z-one: .*colour"),
        (2 * ENTRY, [CLAIM], "errata.yml has z-one twice"),
        (ENTRY.replace("[Z.Fig1-a]", "[Z.Fig1-a, Z.Fig1-b]"), [CLAIM], "z-one: Z.Fig1-b is no claim"),
        (ENTRY, [CLAIM, replace(CLAIM, id="Z.Fig1-b")], "z-one: Z.Fig1-b points to it and is not among its claims"),
        (ENTRY, [replace(CLAIM, corrected=None)], "z-one: an error needs a claim with a corrected band, or"),
        ("[]", [CLAIM], "Z.Fig1-a: z-one is no erratum"),
    ],
)
def test_what_does_not_agree_gets_one_line(in_a_book, entries, claims, names):
    with pytest.raises(InputError, match=names) as error:
        in_a_book(entries, *claims)
    assert "\n" not in str(error.value)


WRONG = {
    "[1, 2]": "must hold a list of tables",
    "a: 1": "must hold a list of tables",
    "": "must hold a list of tables",
    "3": "must hold a list of tables",
    "- {a: 1": "is not valid YAML: while parsing",
    "<<<<<<< HEAD\n=======": "(is not valid YAML|must hold a list of tables)",
    "- ? [a]\n  : 1": "is not valid YAML: while constructing",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_was_merged_wrongly_is_named_in_one_line(in_a_book, mini_book, text):
    with pytest.raises(InputError, match=f"^errata.yml {WRONG[text]}") as error:
        in_a_book(text, CLAIM)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("drawer", ["limit", "reading"])
def test_only_an_error_needs_a_band(in_a_book, mini_book, drawer):
    without = replace(CLAIM, corrected=None)
    in_a_book(ENTRY.replace("error", drawer), without)
    in_a_book(ENTRY.replace("quote: q", "quote: q, uncorrected: it is a proof"), without)


def test_the_page_goes_by_paper_then_drawer_and_shows_each_part():
    records = [ledger.entry_of(claim) for claim in ledger.claims().values()]
    page = sources.errata_page(records)
    letters = sorted({erratum.item[0] for erratum in errata().values()})
    assert re.findall(r"^\(errata-(.)\)=$", page, re.M) == [letter.lower() for letter in letters]
    headings = re.findall(r"^(?:### .+|## Paper .|\(erratum-\S+\)=)", page, re.M)
    expected = []
    for letter in letters:
        expected.append(f"## Paper {letter}")
        for drawer, words in DRAWERS.items():
            own = [one.id for one in errata().values() if (one.item[0], one.drawer) == (letter, drawer)]
            expected += [f"### {words}", *(f"(erratum-{name})=" for name in own)] if own else []
    assert headings == expected
    for erratum in errata().values():
        part = page.partition(f"(erratum-{erratum.id})=")[2].partition("(err")[0]
        assert part.index(f"> “{erratum.quote}”") < part.index(erratum.wrong) < part.index(erratum.corrected), (
            erratum.id
        )
        assert f"**Who had it before.** {erratum.before or 'Nobody that we know of.'}" in part, erratum.id
    assert re.search(r">Paper B: [^<]+</a><span>1 error</span>", page)
