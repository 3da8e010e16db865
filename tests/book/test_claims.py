"""The declarations: well formed, and no item of the five papers without a claim."""

import ast
import re

import pytest
import yaml

from companion import paths
from companion.experiments import parameters
from companion.experiments.parameters import PROFILES
from companion.report import ledger
from regimes.validate import InputError

# every figure, table and statement that the book sets out to reproduce
ITEMS = """
A.Fig1 A.Fig2 A.Fig3 A.Fig4 A.Fig5 A.Fig6 A.Fig7 A.Fig8 A.Fig9 A.Fig10 A.Fig11 A.Fig12 A.AppA A.AppC A.AppD A.AppE
B.Fig4 B.Fig6 B.Fig8A B.Fig8B B.Fig8C B.Fig8D B.Sec2 B.Sec3 B.Fig9 B.Fig10 B.Fig11 B.Sec5
C.Fig2 C.Fig3 C.Fig4 C.Fig5 C.Fig6 C.Fig7 C.Fig8 C.Tab1 C.Tab2 C.Ex1 C.Ex2 C.Prop4 C.Prop5 C.Prop7 C.Prop8 C.Cor1
C.Thm2 C.Thm3 C.AppA C.AppB
D.Fig1 D.Fig2 D.Fig3 D.Fig4 D.Fig5 D.Fig6 D.Fig7 D.Fig8 D.Fig9 D.Prop2 D.Prop3 D.Prop4 D.Prop10 D.Eq5 D.Eq6 D.Eq20
D.Eq22 D.Eq28 D.Ass9 D.Stripe D.Descent
E.Res1 E.Res2 E.Res3 E.Fig1 E.Fig2 E.Fig3 E.Fig4 E.Fig5 E.Fig6 E.Fig8 E.Bounds E.Loss E.Net
E.Budget E.Scale E.Real E.Code
""".split()


def test_every_item_of_the_papers_has_a_claim():
    assert not set(ITEMS) - {claim.item for claim in ledger.claims().values()}


def test_declarations_are_well_formed():
    for claim in ledger.claims().values():
        assert claim.item in ITEMS and re.fullmatch(rf"{re.escape(claim.item)}-[a-z0-9-]+", claim.id), claim.id
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


PLAIN = re.compile(
    r"[\^√²³⟨⟩∥⊥₀-₉α-ωΑ-Ω]|\b[a-zA-Z]_\w|\bsqrt\b|\b[a-zA-Z]\*|\b[a-zA-Z] = "
    r"|\b(?:alpha|beta|gamma|eta|zeta|kappa|lambda|psi|rho|pi|tau|omega)\d?\b"
)


def test_symbols_are_set_as_mathematics():
    texts = [text for claim in ledger.claims().values() for text in (claim.statement, claim.alternative["what"])]
    texts += [claim.source for claim in ledger.claims().values()]
    texts += [change[part] for claim in ledger.claims().values() for change in claim.amended for part in ("was", "why")]
    texts += [erratum.title for erratum in ledger.errata().values()]
    for text in texts:
        words = re.sub(r"\$[^$]+\$", "", text)
        assert "$" not in words and not PLAIN.search(words), text
        assert all(part.count("{") == part.count("}") for part in re.findall(r"\$[^$]+\$", text)), text


def shown(path):
    """What a chapter says in sentences and captions, with a 0 for each number that is put in."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(getattr(call, "func", None), "attr", "")
        if name in ("say", "figure", "table", "slider"):
            strings = [arg for arg in call.args if isinstance(arg, (ast.Constant, ast.JoinedStr, ast.BinOp))]
            for arg in strings if name == "say" else strings[1:]:  # the first is a label
                parts = [part for part in ast.walk(arg) if isinstance(part, (ast.Constant, ast.FormattedValue))]
                yield "".join(
                    str(getattr(part, "value", "0")) if isinstance(part, ast.Constant) else "0" for part in parts
                )


def test_symbols_of_sentences_and_captions_are_set_as_mathematics():
    for number, source in parameters.chapters().items():
        texts = list(shown(source))
        assert texts, number
        for text in texts:
            words = re.sub(r"\$[^$]+\$", "", text)
            assert "$" not in words and not PLAIN.search(words), (number, text)


def test_every_claim_names_what_would_refute_it():
    """Loading has checked that each alternative lies outside its band; here, that the words are words."""
    for claim in ledger.claims().values():
        assert len(claim.alternative["what"]) > 5 and "TODO" not in claim.alternative["what"], claim.id


COMMON = "item: b, kind: paper, statement: s, source: t, accept: [0, 1]"
RIVAL = "alternative: {value: 2, what: a rival}"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"- {{id: A.Fig1-a, {COMMON}, {RIVAL}}}", "01.yml, A.Fig1-a.*profiles"),
        (f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke], colour: red}}", "colour"),
        (2 * f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke]}}\n", "declares a, which is declared already"),
        (f"- {{id: a, {COMMON}, profiles: [smoke]}}", "01.yml, a: .*alternative"),
        (f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke]}}".replace("kind: paper, ", ""), "01.yml, a: .*kind"),
        (f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke]}}".replace("value: 2", "value: 1"), "a: .*inside accept"),
        (
            f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke], amended: [{{was: x, verdict: undecided}}]}}",
            "01.yml, a: an amendment must say was, verdict, why",
        ),
        (f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke], part_of: c}}", "a: c is no claim of that kind that stands"),
        (
            f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke]}}\n"
            f"- {{id: b, {COMMON}, {RIVAL}, profiles: [smoke], part_of: a, kind: beyond}}\n",
            "b: a is no claim of that kind",
        ),
        (
            f"- {{id: a, {COMMON}, {RIVAL}, profiles: [smoke]}}\n"
            f"- {{id: b, {COMMON}, {RIVAL}, profiles: [smoke], amended: [{{id: a, was: x, verdict: y, why: z}}]}}",
            "b: a was amended to it, and is still declared",
        ),
    ],
)
def test_a_bad_declaration_gets_one_line(tmp_path, monkeypatch, text, names):
    entries, folder = yaml.safe_load(text), tmp_path / "book" / "claims"
    folder.mkdir(parents=True)
    history = {entry["id"]: entry.pop("amended") for entry in entries if "amended" in entry}
    (folder / "history.yml").write_text(yaml.safe_dump(history))
    (folder / "01.yml").write_text(yaml.safe_dump(entries))
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    ledger.claims.cache_clear()
    try:
        with pytest.raises(InputError, match=names):
            ledger.claims()
    finally:
        ledger.claims.cache_clear()
