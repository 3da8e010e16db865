"""The declarations: well formed, and no item of the five papers without a claim."""

import ast
import re
from dataclasses import replace

import jupytext
import pytest

from companion.book import captions, claims, ledger
from companion.lab import parameters
from companion.lab.parameters import PROFILES
from companion.papers.jamming.studies import voting
from regimes.validate import InputError

# every figure, table and statement that the book sets out to reproduce
ITEMS = {f"{letter}.{item}" for letter, paper in ledger.about_papers().items() for item in paper["items"]}


# every figure, table and statement of the papers with something to measure: all but drawings (B.Fig1, 2, 3, 7, C.Fig1)
# and photographs (B.Fig5)
# without drawings; A's App. A is an identity, which a test of the tasks holds
TO_JUDGE = {
    "A": "Fig1 Fig2 Fig3 Fig4 Fig5 Fig6 Fig7 Fig8 Fig9 Fig10 Fig11 Fig12 AppC AppD AppE",
    "B": "Fig4 Fig6 Fig8A Fig8B Fig8C Fig8D Fig9 Fig10 Fig11 Sec2 Sec3 Sec5",
    "C": "Fig2 Fig3 Fig4 Fig5 Fig6 Fig7 Fig8 Tab1 Tab2 Ex1 Ex2 Prop4 Prop5 Prop7 Prop8 Cor1 Thm2 Thm3 AppA AppB",
    "D": "Fig1 Fig2 Fig3 Fig4 Fig5 Fig6 Fig7 Fig8 Fig9 Prop2 Prop3 Prop4 Prop10 Eq20 Eq22 Eq28",
    "E": "Res1 Res2 Res3 Fig1 Fig2 Fig3 Fig4 Fig5 Fig6 Fig7 Fig8 Bounds Loss Net",
}


def test_every_item_of_the_papers_has_a_claim():
    assert not ITEMS - {claim.item for claim in ledger.claims().values()}


def test_no_figure_or_statement_of_a_paper_loses_its_claim():
    """Nor its entry among the items; one claim at least is on the paper's own statement."""
    items = {f"{letter}.{item}" for letter, names in TO_JUDGE.items() for item in names.split()}
    assert not items - ITEMS
    assert not items - {claim.item for claim in ledger.claims().values() if claim.kind == "paper"}


def test_declarations_are_well_formed():
    for claim in ledger.claims().values():
        assert claim.item in ITEMS or claim.kind == "beyond", claim.id
        assert re.fullmatch(rf"{re.escape(claim.item)}-[a-z0-9-]+", claim.id), claim.id
        assert claim.statement.endswith((".", ")")), claim.id
        assert re.search(rf"paper {claim.item[0]}\b|derived in this chapter", claim.source), claim.id
        assert claim.profiles and set(claim.profiles) <= set(PROFILES), claim.id
        for low, high in filter(None, (claim.accept, claim.corrected)):
            assert low < high, claim.id


def test_a_correction_can_be_told_from_the_statement_and_has_an_erratum():
    for claim in ledger.claims().values():
        if claim.corrected:
            assert claim.id in ledger.errata()[claim.erratum].claims, claim.id
            (low, high), (accepted_low, accepted_high) = claim.corrected, claim.accept
            assert low < accepted_low or high > accepted_high, claim.id


def test_no_statement_is_declared_twice():
    said = [(claim.item, claim.statement) for claim in ledger.claims().values()]
    assert len(set(said)) == len(said)


def test_what_a_claim_is_given_is_what_its_words_say():
    """A size beside its name in the short form, and where the claim is judged, is the one that its function takes."""
    count = 0
    for claim in ledger.claims().values():
        for name, value in claim.given.items():
            said = [float(found) for found in re.findall(rf"\${name}=([\d.]*\d)", f"{claim.short} {claim.statement}")]
            if isinstance(value, int | float) and said:
                assert value in said, claim.id
                count += 1
            assert claim.at.get(name, value) == value, claim.id
    assert count > 8


PLAIN = re.compile(
    r"[\^√²³⟨⟩∥⊥₀-₉α-ωΑ-Ω]|\b[a-zA-Z]_\w|\bsqrt\b|\b[a-zA-Z]\*|\b[a-zA-Z] = "
    r"|\b(?:alpha|beta|gamma|eta|zeta|kappa|lambda|psi|rho|pi|tau|omega)\d?\b"
)


def test_symbols_are_set_as_mathematics():
    texts = [text for claim in ledger.claims().values() for text in (claim.statement, claim.alternative["what"])]
    texts += [text for claim in ledger.claims().values() for text in (claim.source, claim.elsewhere)]
    texts += [erratum.title for erratum in ledger.errata().values()]
    for text in texts:
        words = re.sub(r"\$[^$]+\$", "", text)
        assert "$" not in words and not PLAIN.search(words), text
        assert all(part.count("{") == part.count("}") for part in re.findall(r"\$[^$]+\$", text)), text


def shown(page):
    """The captions of a page's figures, and those of its tables with a 0 for each number that is put in."""
    cells = jupytext.read(page).cells
    yield from captions.of_cells(cells).values()
    code = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    for call in (node for tree in code for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if getattr(call.func, "attr", "") == "table":
            strings = [arg for arg in call.args[2:] if isinstance(arg, ast.Constant | ast.JoinedStr | ast.BinOp)]
            for arg in strings:  # before these come rows and a label
                parts = [part for part in ast.walk(arg) if isinstance(part, ast.Constant | ast.FormattedValue)]
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts)


def test_symbols_of_captions_are_set_as_mathematics():
    for number in parameters.chapters():
        texts = [text for page in parameters.page_sources(number) for text in shown(page)]
        assert texts, number
        for text in texts:
            words = re.sub(r"\$[^$]+\$", "", text)
            assert "$" not in words and not PLAIN.search(words), (number, text)


def test_every_claim_names_what_would_refute_it():
    """Their declaration has checked that each alternative lies outside its band; here, that the words are words."""
    for claim in ledger.claims().values():
        assert len(claim.alternative["what"]) > 5 and "TODO" not in claim.alternative["what"], claim.id


GIVEN = {"accept": (0, 1), "rival": 2, "figure": "fig-x"}


@pytest.fixture
def typed(monkeypatch):
    """The claims that this module declares, as if it were a notebook."""
    monkeypatch.setattr(claims, "TYPED", __name__)
    monkeypatch.setitem(claims._DECLARED, __name__, own := [])
    return own


def one(name, **change):
    """A claim on a function of its own, which has the claim's name."""

    def measured(rows=None, *, d=5):
        """Something holds in $d={d}$.

        its share

        Rival: a rival
        Source: paper A
        """

    measured.__name__ = name
    return claims.claim(name, **(GIVEN | change))(measured)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"colour": "red"}, "colour"),
        ({"rival": 1}, "inside accept"),
        ({"rival": (2, "")}, "must hold a value and what gives it"),
        ({"rival": "two"}, "must be a finite number"),
        ({"accept": 1}, "not subscriptable"),
        ({"accept": (0,)}, "out of range"),
        ({"accept": ("a", "b")}, "not supported"),
        ({"short": 3}, "no attribute 'split'"),
        ({"kind": "hope"}, "kind must be one of paper, beyond"),
        ({"statement": ""}, "needs a statement"),
        ({"source": ""}, "needs a source"),
        ({"corrected": (3, 4)}, "what is corrected needs an erratum"),
    ],
)
def test_a_bad_declaration_gets_one_line(typed, change, words):
    with pytest.raises(InputError, match=f"^claim A.Fig1-a: .*{words}") as error:
        one("A.Fig1-a", **change)
    assert "\n" not in str(error.value) and not typed


def test_a_function_without_words_states_nothing(typed):
    with pytest.raises(InputError, match=r"^claim A\.Fig1-a: it needs a statement: the first paragraph"):
        claims.claim("A.Fig1-a", **GIVEN)(lambda rows: None)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a": {}, "b": {}}, None),
        ({"a": {"part_of": "c"}}, "a: c is no claim of that kind that stands"),
        ({"a": {}, "b": {"part_of": "a", "kind": "beyond"}}, "b: a is no claim of that kind"),
        ({"a": {}, "b": {"part_of": "a"}, "c": {"part_of": "b"}}, "c: b is no claim of that kind"),
    ],
)
def test_claims_that_do_not_go_together_get_one_line(typed, declared, mini_book, changes, words):
    for name, change in changes.items():
        one(name, **change)
    assert [made.id for made in typed] == list(changes)
    if words is None:
        assert list(declared(*typed)) == list(changes)
        with pytest.raises(InputError, match="claim a is declared twice"):
            declared(*typed, typed[0])
    else:
        with pytest.raises(InputError, match=words):
            declared(*typed)


def test_several_claims_of_one_function_stand_in_order_and_differ_in_what_is_given(typed):
    @claims.claim("A.Fig1-d5", given={"d": 5}, headline=True, part_of="A.Fig1-d10", stated=0.5, **GIVEN)
    @claims.again("A.Fig1-d10", given={"d": 10})
    @claims.again(
        "A.Fig1-other", given={"d": 20}, rival=(3, "another rival"), statement="More holds.", source="derived"
    )
    def share(rows=None, *, d):
        r"""Something holds in $d={d}$.

        its share,
        in $d={d}$

        Rival: a rival
          in $d={d}$
        Source: paper A, Fig. 1
        Short: a share, {d}
        """

    five, ten, other = typed
    assert [made.id for made in typed] == ["A.Fig1-d5", "A.Fig1-d10", "A.Fig1-other"], "as they are written"
    assert (five.statement, ten.statement) == ("Something holds in $d=5$.", "Something holds in $d=10$.")
    assert (five.measure, ten.measure) == ("its share, in $d=5$", "its share, in $d=10$")
    assert (five.alternative, ten.alternative["what"]) == (
        {"value": 2, "what": "a rival in $d=5$"},
        "a rival in $d=10$",
    )
    assert (five.short, ten.short, five.source) == ("a share, 5", "a share, 10", "paper A, Fig. 1")
    assert (five.headline, ten.headline, ten.part_of) == (True, False, None), "each claim's own"
    assert (five.stated, ten.stated, ten.item) == (0.5, 0.5, "A.Fig1")
    assert (other.alternative, other.statement) == ({"value": 3, "what": "another rival"}, "More holds.")
    assert (five.kind, other.kind) == ("paper", "beyond"), "what is derived no paper says"
    with pytest.raises(InputError, match=r"claim A\.Fig1-x: .*'figur'"):
        one("A.Fig1-x", figur="fig-y")


def test_the_words_of_a_docstring_come_back_from_it():
    said = claims.paragraphs(
        "A statement\nof two lines.\n\nHow: it is measured.\n\nRival: none\nElsewhere: on 9\npoints 2\n"
        "Source: paper A\nShort: two\n"
    )
    assert said == {
        "statement": "A statement of two lines.", "measure": "How: it is measured.", "rival": "none",
        "elsewhere": "on 9 points 2", "source": "paper A", "short": "two",
    }  # fmt: skip


def test_a_design_may_be_given_to_a_claim(typed):
    small, large = voting.votes["small"], voting.votes["large"]

    @claims.claim("B.Fig6-a", given={"rows": small}, **GIVEN)
    @claims.again("B.Fig6-b", given={"rows": large, "d": 3})
    def measured(rows=None, *, d):
        """Something holds.

        Rival: a rival
        Source: paper A
        """

    class Rows:
        def __init__(self):
            self.parameters = {"d": 5}

        def rows(self, study, design=""):
            return f"{study.name} {design}"

    first, second = typed
    assert (first.tables, second.tables) == ({"rows": small}, {"rows": large})
    assert (first.knobs, second.knobs) == (["d"], [])
    for made, name in ((first, "small"), (second, "large")):
        told = replace(made, function=lambda rows, *, d: (f"{rows} {d}", rows))
        assert told.measured(Rows())[1] == [f"voting.votes {name}"]


def test_a_cell_that_runs_again_replaces_its_claims(typed):
    def number(rows=None):
        """It holds.

        Rival: a rival
        Source: paper A
        """

    claims.claim("A.Fig1-a", **GIVEN)(number)
    one("A.Fig1-b")

    def number(rows=None):
        """It holds, too.

        Rival: a rival
        Source: paper A
        """

    claims.claim("A.Fig1-c", **GIVEN)(number)
    assert [made.id for made in typed] == ["A.Fig1-b", "A.Fig1-c"]


def test_claims_of_a_notebook_are_judged_with_those_of_its_chapter_and_are_none_of_the_book(typed):
    book = claims.claims_of("05")
    one("A.Fig1-typed")
    assert claims.claims_of("05") == [*book, *typed] and claims.claims_of("99") == typed
    assert "A.Fig1-typed" not in {made.id for _, made in claims.all_claims()}
    assert ledger.of_book(typed[0]) is typed[0]
    for change, words in (
        ({"part_of": book[0].id}, "is of a notebook: an erratum and part_of need one of the book"),
        ({"erratum": "z-one"}, "is of a notebook"),
        ({"id": book[0].id}, "is declared twice"),
    ):
        with pytest.raises(InputError, match=words):
            ledger.of_book(replace(typed[0], **change))
