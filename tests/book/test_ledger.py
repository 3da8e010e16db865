"""The rule of verdicts on its boundaries, and the merged file."""

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest

from companion.book import ledger
from companion.book.errata import DRAWERS, Erratum
from companion.book.ledger import Claim, judge
from companion.book.views import markdown, maths, show
from companion.estimates import Drift, Estimate, exponent, jackknife, least, mean, proportion
from companion.lab import catalogue  # with the names that it has before a test replaces them
from companion.site import sources
from regimes.validate import InputError
from tests.sizes import Size

NULL = {"value": 0.0, "what": "nothing happens"}


def never():
    """What no test measures."""


GIVEN = {
    "item": "Z.Fig1", "kind": "paper", "statement": "…", "source": "paper Z", "profiles": ("laptop",),
    "function": never,
}  # fmt: skip
PLAIN = Claim(id="Z.Fig1-a", accept=(0.4, 0.6), alternative=NULL, **GIVEN)
WRONG = Claim(id="Z.Fig1-b", accept=(0.4, 0.6), alternative=NULL, corrected=(0.9, math.inf), erratum="z-error", **GIVEN)
SIZE = Claim(id="Z.Fig1-size", accept=(3, 3), alternative={"value": 2, "what": "one was lost"}, **GIVEN)
NONE = Claim(
    id="Z.Fig2-none",
    accept=(0, math.inf),
    alternative={"value": -1, "what": "somebody looks"},
    **GIVEN | {"item": "Z.Fig2", "kind": "beyond"},
)
PARTS = {"item": "Z.Fig1", "quote": "it is", "says": "s", "wrong": "w", "corrected": "c", "claims": ["Z.Fig1-b"]}
ERRATA = {
    f"z-{drawer}": Erratum(f"z-{drawer}", drawer, changes="number", title="It is $x^2$", **PARTS) for drawer in DRAWERS
}


@pytest.fixture
def three_drawers(monkeypatch):
    monkeypatch.setattr(ledger, "errata", lambda: ERRATA)


WHOLE = replace(PLAIN, accept=(0.3, 1.0), alternative={"value": 0, "what": "never"})


def jackknife_of_means(samples):
    return jackknife(samples, np.mean)


def least_of_two(samples):
    return least(np.stack([samples, samples + 0.01], 1))


def slope(samples):
    """The same numbers as exponents."""
    return exponent(np.array([1.0, math.e]), np.exp(np.stack([0 * samples, samples], 1)))


@pytest.mark.parametrize(
    ("claim", "low", "high", "verdict"),
    [
        (PLAIN, 0.4, 0.6, "reproduced"),
        (PLAIN, 0.45, 0.61, "undecided"),
        (PLAIN, 0.3, 0.9, "undecided"),
        (PLAIN, 0.61, 0.9, "not reproduced"),
        (PLAIN, 0.6, 0.9, "undecided"),
        (WRONG, 0.45, 0.5, "reproduced"),
        (WRONG, 0.9, 1e9, "corrected"),
        (WRONG, 0.8, 1.0, "undecided"),
        (WRONG, 0.5, 1.0, "undecided"),
        (WRONG, 0.7, 0.8, "not reproduced"),
        (WRONG, 0.1, 0.2, "not reproduced"),
    ],
)
def test_rule(claim, low, high, verdict, three_drawers):
    assert judge(claim, Estimate((low + high) / 2, low, high, 5), "laptop") == verdict


@pytest.mark.parametrize("drawer", ["limit", "reading"])
def test_only_an_error_corrects(drawer, three_drawers):
    """In the band of what holds, on its edge, and outside: what does not reproduce, says so."""
    claim = replace(WRONG, erratum=f"z-{drawer}")
    for low, high in ((0.9, 1e9), (0.8, 1.0), (0.7, 0.8)):
        assert judge(claim, Estimate((low + high) / 2, low, high, 5), "laptop") == "not reproduced"
    assert judge(claim, Estimate(0.5, 0.45, 0.55, 5), "laptop") == "reproduced"
    assert judge(claim, Estimate(0.75, 0.5, 1.0, 5), "laptop") == "undecided"


@pytest.mark.parametrize("drawer", ["limit", "reading"])
def test_what_is_not_reproduced_names_the_drawer_in_line_row_and_findings(drawer, three_drawers):
    claim = replace(WRONG, erratum=f"z-{drawer}")
    entry = ledger.entry_of(claim, value=0.95, low=0.94, high=0.96, n=8, interval="t", verdict="not reproduced")
    held = f'errata.html#erratum-z-{drawer}">{drawer}: It is <span'
    for shown in (
        show("line", entry, "errata.html"),
        show("table", [entry]),
        markdown("findings", entries=[entry], number="99"),
    ):
        assert held in shown and ">corrected" not in shown
    assert "what holds: ≥ 0.9" in show("table", [entry])
    for other in (entry | {"erratum": None}, ledger.entry_of(claim)):
        assert drawer not in show("table", [other]) and "erratum-" not in markdown(
            "findings", entries=[other], number="99"
        )


def test_what_is_corrected_needs_an_erratum():
    with pytest.raises(InputError, match="needs an erratum that quotes it"):
        replace(WRONG, erratum=None)


@pytest.mark.parametrize("estimator", [mean, jackknife_of_means, least_of_two, slope])
def test_few_realisations_or_equal_ones_are_undecided(estimator):
    """Their mean may lie well inside what is accepted: five that scatter are judged."""
    few, many, equal = (0.5 + 1e-3 * np.array(v) for v in ([-1, 1, 0, 2], [-1, 1, 0, 2, 3], [1, 1, 1, 1, 1]))
    found = [judge(PLAIN, estimator(samples), "laptop") for samples in (few, many, equal)]
    assert found == ["undecided", "reproduced", "undecided"]


@pytest.mark.parametrize(
    ("whole", "late", "verdict"),
    [
        (0.5, 0.5, "reproduced"),
        (0.42, 0.58, "reproduced"),  # it drifts, and stays inside
        (0.5, 0.8, "not reproduced"),  # the larger sizes refute what all of them together support
        (0.8, 0.5, "not yet asymptotic"),
        (0.9, 0.7, "not yet asymptotic"),  # not there, and on its way
        (0.7, 0.9, "not reproduced"),  # on its way elsewhere
        (0.7, 0.69, "not reproduced"),  # no drift that one could see
        (0.6, 0.6, "undecided"),
    ],
)
def test_what_is_said_of_large_sizes_must_hold_at_the_larger_ones(whole, late, verdict):
    whole, late = (Estimate(v, v - 0.01, v + 0.01, 9, "mean, Student's t") for v in (whole, late))
    drift = Drift(whole, late, (128.0, 256.0, 512.0, 1024.0), (512.0, 1024.0))
    assert judge(PLAIN, drift, "laptop") == verdict
    assert judge(PLAIN, drift, "smoke") is None


@pytest.mark.parametrize(
    ("whole", "late", "verdict"),
    [
        ((0.37, 0.42), (0.43, 0.47), "not yet asymptotic"),  # its first interval straddles an end: on its way to 0.5
        ((0.56, 0.62), (0.63, 0.67), "not reproduced"),  # away from it
        ((0.56, 0.62), (0.50, 0.55), "not yet asymptotic"),
        ((0.45, 0.46), (0.54, 0.58), "reproduced"),
        ((0.51, 0.53), (0.54, 0.66), "undecided"),  # away, and straddling an end
        ((0.53, 0.58), (0.585, 0.615), "undecided"),
        ((0.58, 0.63), (0.52, 0.56), "not yet asymptotic"),
    ],
)
def test_only_a_value_that_nears_the_stated_one_is_not_yet_asymptotic(whole, late, verdict):
    """A curve that leaves the paper's number as the sizes grow is not on its way there: the larger sizes decide."""
    ends = (Estimate(sum(pair) / 2, *pair, 9, "mean, Student's t") for pair in (whole, late))
    drift = Drift(*ends, (128.0, 256.0, 512.0, 1024.0), (512.0, 1024.0))
    assert judge(replace(PLAIN, stated=0.5), drift, "laptop") == verdict


@pytest.mark.parametrize(
    ("value", "half", "verdict"),
    [
        (0.7, 0.01, "not reproduced"),
        (0.7, 0.11, "undecided"),
        (0.7, 0.09, "not reproduced"),
        (0.5, 0.09, "reproduced"),
        (0.5, 0.11, "undecided"),
    ],
)
def test_a_verdict_on_large_sizes_is_that_of_the_larger_ones_alone(value, half, verdict):
    """Few large sizes have a wide interval: where it meets the band's end, they decide nothing."""
    whole, late = (Estimate(value, value - h, value + h, 9, "mean, Student's t") for h in (0.01, half))
    assert judge(PLAIN, Drift(whole, late, (128.0, 256.0, 512.0), (512.0,)), "laptop") == verdict


def test_a_record_that_drifts_says_what_the_larger_sizes_say_and_what_size_would_decide():
    whole, late = (Estimate(v, v - 0.01, v + 0.01, 9, "mean, Student's t") for v in (0.9, 0.7))
    drift = Drift(whole, late, (128.0, 256.0, 512.0, 1024.0), (512.0, 1024.0))
    entry = ledger.entry_of(
        PLAIN, value=0.9, low=0.89, high=0.91, n=9, interval=whole.method, late=ledger.late(PLAIN, drift)
    )
    entry |= {"verdict": "not yet asymptotic", "data": ""}
    # two octaves from the centre 362 to 724 took it from 0.9 to 0.7: half an octave more to 0.6, at least the next size
    assert entry["late"]["decides"] == pytest.approx(2048)
    assert ledger.what_decides(entry) == "to decide: sizes of 2000 or more, if it goes on so"
    assert "at sizes 512 to 1024 alone: 0.7 [0.69, 0.71]" in show("line", entry, "")


def test_an_interval_without_the_stated_number_says_so():
    """Inside the band it is reproduced all the same, and counted."""
    claim = replace(PLAIN, stated=0.5)
    near, far = (Estimate(v, v - 0.01, v + 0.01, 9, "mean, Student's t") for v in (0.505, 0.45))
    entries = [
        ledger.entry_of(
            claim, value=e.value, low=e.low, high=e.high, n=9, interval=e.method, verdict=judge(claim, e, "laptop")
        )
        for claim, e in ((claim, near), (replace(claim, id="Z.Fig1-c"), far))
    ]
    assert [entry["verdict"] for entry in entries] == ["reproduced"] * 2
    assert [ledger.misses_stated(entry) for entry in entries] == [False, True]
    assert ledger.summary(entries) == (
        "Statements of the papers (2): 1 reproduced, 1 reproduced without the stated number in the interval."
    )
    assert "the stated 0.5 lies outside the interval" in show("line", entries[1] | {"data": ""}, "")
    assert not ledger.misses_stated(entries[1] | {"interval": ledger.EXACT})
    with pytest.raises(InputError, match=r"stated number 0\.7 lies outside accept"):
        replace(PLAIN, stated=0.7)


def test_an_event_in_all_of_a_few_realisations_has_an_interval():
    assert judge(WHOLE, proportion(np.ones(4)), "laptop") == "reproduced"


def test_a_profile_that_may_not_judge_gives_no_verdict():
    assert judge(PLAIN, Estimate.exact(0.5), "smoke") is None


def test_merge_holds_every_claim_once(mini_book, declared):
    folder = mini_book / "build" / "smoke"
    declared(SIZE, NONE)
    ledger.write(
        folder / "99.ledger.json", [ledger.entry_of(SIZE, value=3.0, low=3.0, high=3.0, n=1, verdict="reproduced")]
    )
    merged = ledger.merge(folder)
    assert [r["id"] for r in merged] == ["Z.Fig1-size", "Z.Fig2-none"]
    assert merged[0]["verdict"] == "reproduced" and merged[1]["verdict"] is None
    assert ledger.read(folder / "ledger.json") == merged
    assert json.loads((folder / "ledger.json").read_text())[1]["accept"] == [0, None]  # strict JSON: no Infinity
    keys = (
        "id item chapter kind statement short measure elsewhere source stated accept alternative corrected "
        "erratum part_of value low high n interval numerical late verdict profile data settings figure seconds "
        "device revision versions headline function digest parts"
    )
    assert set(merged[0]) == set(merged[1]) == set(keys.split())
    assert ledger.summary(merged) == (
        "Statements of the papers (1): 1 reproduced. Beyond the papers (1): 1 not measured yet."
    )


def test_a_claim_typed_into_a_notebook_comes_last(mini_book, declared):
    folder = mini_book / "build" / "smoke"
    declared(NONE)
    typed = ledger.entry_of(SIZE, value=3.0, low=3.0, high=3.0, n=1) | {"function": "__main__.number"}
    ledger.write(folder / "99.ledger.json", [typed])
    assert [record["id"] for record in ledger.merge(folder)] == ["Z.Fig2-none", "Z.Fig1-size"]
    shown = show("table", ledger.merge(folder))
    assert "measured by <code>number</code> of its page" in shown and "companion claim Z.Fig1-size" not in shown


def test_a_merged_ledger_lists_no_cells_and_a_chapters_does(mini_book, declared):
    folder = mini_book / "build" / "smoke"
    declared(SIZE)
    made = ledger.entry_of(SIZE, value=3.0, low=3.0, high=3.0, n=1, cells=["abc"])
    ledger.write(folder / "99.ledger.json", [made])
    assert "cells" not in ledger.merge(folder)[0] and ledger.read(folder / "99.ledger.json")[0]["cells"] == ["abc"]


def test_an_interval_of_a_single_realisation_is_written_and_read(tmp_path):
    made = {"id": "Z.Fig1-up", "value": 1.5, "low": -math.inf, "high": math.inf}
    ledger.write(tmp_path / "one.json", [made])
    assert "null" in (tmp_path / "one.json").read_text() and ledger.read(tmp_path / "one.json") == [made]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "hope"}, "kind must be one of paper, beyond; got 'hope'"),
        ({"statement": ""}, "needs a statement: the first paragraph"),
        (
            {"alternative": {"value": 0.5, "what": "x"}},
            r"alternative 0\.5 lies inside accept 0\.4 … 0\.6: .* cannot fail",
        ),
        ({"alternative": {"value": 0.6, "what": "the edge"}}, "lies inside accept"),
        ({"alternative": {"value": 1.0}}, "must hold a value and what gives it"),
        ({"alternative": {"value": 1.0, "what": " "}}, "must hold a value and what gives it"),
        ({"alternative": {"value": "one", "what": "x"}}, "must be a finite number, got 'one'"),
        ({"alternative": {"value": math.inf, "what": "x"}}, "must be a finite number"),
        ({"short": "one two three four five six seven eight nine"}, "short must have at most eight words"),
    ],
)
def test_a_claim_that_cannot_fail_is_refused(change, words):
    with pytest.raises(InputError, match=words) as error:
        Claim(**({"id": "Z.Fig1-a", "accept": (0.4, 0.6), "alternative": NULL} | GIVEN | change))
    assert "\n" not in str(error.value)


def undecided(value, half, n=8, interval="mean, Student's t", **change):
    entry = ledger.entry_of(PLAIN, value=value, low=value - half, high=value + half, n=n, interval=interval)
    return entry | {"verdict": "undecided"} | change


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (undecided(0.5, 0.2), "about 32 seeds in place of 8"),
        (undecided(0.7, 0.15), "about 18 seeds in place of 8"),
        (undecided(0.5999, 0.2), "on the edge of what is accepted"),
        (undecided(0.5, 0.2, interval=ledger.SPAN), "larger sizes, where the settings agree"),
        (undecided(0.5, math.inf, n=1), "5 seeds or more, not all equal"),
        (undecided(0.5, 0.05, verdict="reproduced"), "^$"),
        (
            undecided(0.9, 0.1, late={"sizes": [8, 32], "value": 0.7, "low": 0.5, "high": 0.9}),
            "about 32 seeds in place of 8 at sizes 8 to 32 alone",
        ),
        (
            undecided(0.5, 0.2, late={"sizes": [8, 32], "value": 0.5, "low": 0.45, "high": 0.55}),
            "about 32 seeds in place of 8, if the value stays",
        ),
        (
            undecided(0.5, 0.05, late={"sizes": [8, 32], "value": 0.5, "low": 0.3, "high": 0.7}),
            "about 32 seeds in place of 8 at sizes 8 to 32 alone",
        ),
    ],
)
def test_an_undecided_claim_says_what_would_decide_it(entry, words):
    assert re.search(words, ledger.what_decides(entry))


def test_a_row_of_the_page_shows_rival_estimator_and_what_decides():
    claim = Claim(id="Z.Fig1-c", accept=(0.4, 0.6), alternative=NULL, **GIVEN)
    entry = ledger.entry_of(claim, value=0.5, low=0.3, high=0.7, n=8, interval="mean, Student's t", verdict="undecided")
    text = show("table", [entry])
    for words in ("counter-hypothesis 0 (nothing happens)", "n = 8, mean, Student's t", "about 32 seeds"):
        assert words in text


def test_a_corrected_line_prints_what_holds_and_escapes_what_it_quotes(three_drawers):
    null = {"value": 0.0, "what": "a < b & c"}
    claim = Claim(id="Z.Fig1-d", accept=(0.4, 0.6), alternative=null, corrected=(0.9, 1.0), erratum="z-error", **GIVEN)
    entry = ledger.entry_of(claim, value=0.95, low=0.94, high=0.96, n=8, verdict="corrected", profile="laptop")
    line = show("line", entry, "errata.html")
    held, paper = line.split("The paper: ")
    held = held.replace(' <small class="exploratory">exploratory</small>', "")
    assert '<b>corrected</b> It is <span class="math notranslate nohighlight">\\(x^2\\)</span>' in held
    assert "errata.html#erratum-z-error" in held and "…" not in held
    assert paper.startswith("… measured 0.95") and "a &lt; b &amp; c" in line and "a < b" not in line
    assert maths("5 $ a < b") == "5 $ a &lt; b"


def test_a_record_without_a_declaration_is_named(mini_book):
    folder = mini_book / "build" / "smoke"
    ledger.write(folder / "99.ledger.json", [{"id": "Z.Fig9-gone"}])
    with pytest.raises(InputError, match=r"Z\.Fig9-gone"):
        ledger.merge(folder)


def test_bands_read_as_words():
    assert ledger.band((0.4, 0.6)) == "0.4 … 0.6"
    assert (
        ledger.band([None, 1]) == "≤ 1" and ledger.band((0, math.inf)) == "≥ 0" and ledger.band([None, None]) == "any"
    )


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [
        (0.37504, 0.0005, "0.375"),
        (0.992, 0.03, "0.99"),
        (-1.56, 0.1, "−1.6"),
        (1.69e-6, 1e-7, "1.7\u202f×\u202f10⁻⁶"),
        (1.004, 0.05, "1.0"),
        (-4.998, 0.01, "−5.0"),
        (13.0, 2.0, "13"),
        (2.0, 0.0, "2"),
    ],
)
def test_a_number_of_a_sentence_has_two_digits_unless_its_interval_needs_more(value, half, words):
    entry = ledger.entry_of(PLAIN, value=value, low=value - half, high=value + half, n=8, verdict="reproduced")
    assert ledger.in_text(entry) == words and ledger.in_text(ledger.entry_of(PLAIN)) == "—"
    said = f"measured {ledger.measured_value(entry)} · accepted 0.4 … 0.6 · reproduced · {entry['id']}"
    assert f'data-definition="{said}">{words}</span>' in show("number", entry) and "href" not in show("number", entry)
    link = show("number", entry, "../book/paper-z.html#Z.Fig1-b", "quoted-Z.Fig1-b-2")
    assert link.startswith(
        '<a class="measured" href="../book/paper-z.html#Z.Fig1-b" id="quoted-Z.Fig1-b-2" data-claim='
    )
    assert f'data-definition="{said}">{words}</a>' in link and "tabindex" not in link
    assert " · paper 0.5 · " in show("number", entry | {"stated": 0.5})


def test_a_row_says_whether_its_code_and_its_verdict_are_those_of_the_kept_ledger():
    kept = {PLAIN.id: ledger.entry_of(PLAIN, value=0.5, low=0.45, high=0.55, n=8, verdict="reproduced")}
    here = kept[PLAIN.id]
    said = {
        ledger.SAME: here,
        ledger.CHANGED: here | {"digest": "another"},
        ledger.MOVED: here | {"verdict": "undecided"},
        "": here | {"id": "Z.Fig9-new"},
    }
    for words, record in said.items():
        assert ledger.standing(record, kept) == words
        row = show("row", record | {"data": ""}, None, None, None, kept=kept)
        assert ('data-code="' in row) == bool(words) and row.count(f'data-code="{words}"') == bool(words)
        beside = row.rpartition("<td>")[2]
        assert (words in beside) == (words != ledger.SAME) and words in row, "words, not colour alone"
    assert "verdict moved: it was reproduced" in show("row", said[ledger.MOVED], None, None, None, kept=kept)
    # what this profile may not judge has not moved
    assert ledger.standing(here | {"verdict": None}, kept) == ledger.SAME


def test_papers_come_in_order_with_what_was_not_measured_last():
    def entry(name, value):
        claim = Claim(**(GIVEN | {"id": f"{name}-a", "item": name}), accept=(0.4, 0.6), alternative=NULL)
        return ledger.entry_of(claim, value=value, low=value, high=value, n=1 if value else None, verdict=None)

    found = ledger.by_paper([entry("E.Fig1", None), entry("B.Fig9", None), entry("B.Fig1", 0.5), entry("B.Fig2", None)])
    assert {letter: [record["item"] for record in own] for letter, own in found.items()} == {
        "B": ["B.Fig1", "B.Fig9", "B.Fig2"],
        "E": ["E.Fig1"],
    }
    assert list(found) == ["B", "E"]
    page = show("papers", found, {"B": "3 claims", "E": "1 claim"}, "#claims-LETTER")
    assert (
        '<a href="#claims-b">Paper B: Landscape and training regimes in deep learning</a><span>3 claims</span>' in page
    )
    assert page.count('class="verdict-bar"') == 2 and ledger.paper_title("Z") == "Paper Z"


def test_how_an_erratum_was_decided_counts_verdicts_and_leads_to_chapters():
    measured = ledger.entry_of(PLAIN, value=0.5, low=0.5, high=0.5, n=3, chapter="05", figure="fig-c-1")
    records = [
        measured | {"id": "a", "verdict": "corrected"},
        measured | {"id": "b", "verdict": "corrected"},
        measured | {"id": "c", "verdict": None, "chapter": "07"},
        ledger.entry_of(PLAIN) | {"id": "d"},
    ]
    links = {"a": "../chapters/05_x.html#fig-1", "b": "../chapters/05_x.html#fig-2", "c": "../chapters/07_y.html#fig-3"}
    assert show("decided", records, links) == (
        "✎ 2 corrected, · 1 not tested at this size, · 1 not measured yet, in "
        '<a href="../chapters/05_x.html#fig-1">chapter 5</a> and <a href="../chapters/07_y.html#fig-3">chapter 7</a>.'
    )
    assert show("decided", records[3:], links) == "· 1 not measured yet."


def test_a_ledger_is_kept_of_commits_or_of_stored_rows(mini_book, monkeypatch):
    from companion.lab import store
    from companion.site import sources

    made = ledger.entry_of(SIZE, value=3.0, low=3.0, high=3.0, n=1, revision="new")

    def kept(now="new", **change):
        monkeypatch.setattr(store, "revision", lambda: now)
        ledger.write(mini_book / "build" / "smoke" / "99.ledger.json", [made | change])
        return sources.needs_commits(mini_book / "build" / "smoke")

    kept(cells={"a": "new"})
    kept(cells={})  # formulas
    for revision in ("new+", "unknown"):
        with pytest.raises(InputError, match=r"^the kept ledger and its verdicts name the commit they come from"):
            kept(revision, cells={"a": "new"})
    for change in ({"cells": {"a": "new", "b": "old+"}}, {"cells": {}, "revision": "old+"}):
        with pytest.raises(InputError, match=r"^claim Z\.Fig1-size rests on cells of old\+, uncommitted code"):
            kept(**change)
    (mini_book / "results").mkdir()
    (mini_book / "results" / f"depth.layer_map{sources.results.SUFFIX}").touch()
    held = SimpleNamespace(finished={"b": None})
    monkeypatch.setattr(sources.results.Results, "of", lambda study: held)
    kept(cells={"a": "new", "b": "old+"})


def test_a_row_says_what_was_measured_at_the_papers_size():
    laptop = [
        ledger.entry_of(Claim(id=name, accept=(0.4, 0.6), alternative=NULL, **GIVEN), **found, profile="laptop")
        for name, found in (
            ("Z.Fig1-a", {"value": 0.5, "low": 0.45, "high": 0.55, "n": 8, "verdict": "reproduced"}),
            ("Z.Fig1-b", {"value": 0.5, "low": 0.3, "high": 0.7, "n": 8, "verdict": "undecided"}),
            ("Z.Fig1-c", {"value": 0.5, "low": 0.3, "high": 0.7, "n": 8, "verdict": "undecided"}),
        )
    ]
    finer = {"value": 0.52, "low": 0.51, "high": 0.53, "n": 64, "verdict": "reproduced", "profile": "paper"}
    page = show("table", laptop, paper={entry["id"]: entry | finer for entry in laptop[:2]})
    assert page.count("<th>") == 4 and page.count("<td>") == 12
    assert page.count("at the paper's size: 0.52 [0.51, 0.53], n = 64") == 2
    page = page.replace(' <small class="exploratory">exploratory</small>', "")
    cells = re.findall(r"<td>((?:(?!</td>).)*)</td></tr>", page)
    assert cells[0] == "✔ reproduced" and cells[2] == "? undecided"  # the same verdict is not said twice
    assert cells[1] == "? undecided<br><small>paper's size: <b>✔ reproduced</b></small>"


DESIGNS = """
paper.size = 9
[sized.main]
n = 1
seeds = "$size"
[fixed.main]
n = 1
seeds = 1
"""


def test_what_rests_on_the_papers_own_grids_is_kept_and_nothing_else(mini_book, declared, monkeypatch):
    from companion import paths
    from companion.lab.study import study
    from companion.lab.sweep import cells
    from companion.site import sources

    @study(version=1)  # the paper's cells are the laptop's and more
    def sized(setting: Size, seeds):
        """Nothing."""

    @study(version=1)
    def fixed(setting: Size, seeds):
        """Nothing."""

    monkeypatch.setattr(catalogue, "of", lambda number: {item.name: item for item in (sized, fixed)})
    (mini_book / "chapters" / "designs" / "99.toml").write_text(DESIGNS)
    first, second = declared(SIZE, NONE).values()

    def run(name, size, profile="paper"):
        folder = paths.run_folder(name)
        asked = [*cells(sized, sized.grid.of(n=1, seeds=size)), *cells(fixed, fixed.grid.of(n=1, seeds=1))]
        measured = {"chapter": "99", "value": float(size), "low": 1.0, "high": 99.0, "n": 1, "profile": profile}
        made = [
            ledger.entry_of(claim, **measured, cells={cell.key(): "new" for cell in own})
            for claim, own in ((first, asked), (second, asked[-1:]))
        ]
        ledger.write(folder / "99.ledger.json", made if size != 5 else [entry | {"cells": {}} for entry in made])
        ran = nbformat.v4.new_notebook(metadata={"papermill": {"parameters": {"profile": profile, "size": size}}})
        nbformat.write(ran, folder / "99_mini.ipynb")
        return [(record["id"], record["value"]) for record in sources.keep_paper(folder)]

    paths.results().mkdir()
    assert run("whole", 9, profile="laptop") == [] == run("formulas", 5)
    assert run("part", 4) == [(second.id, 4.0)]  # what rests on a study of another size is left out
    assert run("whole", 9) == [(first.id, 9.0), (second.id, 9.0)]
    assert run("part", 4) == [(first.id, 9.0), (second.id, 4.0)]  # and what is kept of it stays
    kept = ledger.read(paths.paper_ledger())
    assert all("cells" not in record for record in kept)
    about = dict.fromkeys(("cite", "title", "asks", "stands", "fails", "open"), "z") | {"matters": [first.id]}
    monkeypatch.setattr(ledger, "about_papers", lambda: {"Z": about})
    page = sources.paper_page("Z", [kept[0] | {"profile": "laptop", "figure": "f"}], "laptop", {})
    assert "at the paper's size: " in page and page.count('class="finding"') == 1 and "<img" not in page
    assert "at the paper's size: " not in sources.paper_page("Z", kept[:1], "paper", {})
    ledger.write(paths.paper_ledger(), [kept[0] | {"statement": "another"}, kept[1] | {"id": "Z.Fig9-gone"}])
    assert run("part", 4) == [(second.id, 4.0)]  # what was declared otherwise goes
    ledger.write(paths.paper_ledger(), [kept[0] | {"settings": [{"study": "mini.gone"}]}])
    assert run("part", 4) == [(second.id, 4.0)]  # and what rests on a study that is no more
    with pytest.raises(InputError, match=r"there is no run with a ledger in .*typo"):
        sources.keep_paper(paths.run_folder("typo"))


def test_a_run_is_named_for_the_papers_ledger_alone(mini_book, capsys):
    from companion.site import sources

    with pytest.raises(SystemExit, match="2"):
        sources.main(["laptop", "--publish-ledger", "--name", "mine"])
    assert capsys.readouterr().err == "error: name must go with paper --publish-ledger, got 'mine'\n"


def counted(name, verdict, part_of=None):
    return ledger.entry_of(replace(PLAIN, id=name, part_of=part_of), value=1.0, low=0.9, high=1.1, n=9, verdict=verdict)


def test_a_statement_counts_once_whatever_the_number_of_its_claims():
    whole = [counted("a", "reproduced"), counted("a2", "reproduced", "a"), counted("b", "undecided")]
    parts = [counted("c", "reproduced"), counted("c2", "not reproduced", "c"), counted("c3", None, "c")]
    assert ledger.summary([*whole, *parts]) == (
        "Statements of the papers (3, in 6 claims): 1 reproduced, 1 undecided, 1 in part."
    )
    assert 'aria-label="1 reproduced, 1 undecided, 1 in part"' in show("bar", [*whole, *parts])
    assert ledger.summary([counted("d", None), counted("d2", "corrected", "d")]).endswith(
        "(1, in 2 claims): 1 corrected."
    )


def test_an_estimate_is_compared_with_its_reference_by_the_references_interval():
    was = {"value": 2.0, "low": 1.0, "high": 3.0}
    assert not ledger.deviations(was | {"value": 2.19, "high": 3.19}, was, 0.1)
    assert ledger.deviations(was | {"value": 2.3}, was, 0.1) == ["value 2.3 for 2"]
    # a wider interval excuses nothing
    assert ledger.deviations({"value": 2.3, "low": -9.0, "high": 9.0}, was, 0.1) == [
        "value 2.3 for 2", "low -9 for 1", "high 9 for 3",
    ]  # fmt: skip
    none = {"value": None, "low": None, "high": None}
    assert (
        not ledger.deviations(none, none, 0.1)
        and ledger.deviations(none, was, 0.1)
        and ledger.deviations(was, none, 0.1)
    )
    single = {"value": 2.0, "low": -math.inf, "high": math.inf}
    assert not ledger.deviations(single | {"value": 2.19}, single, 0.1) and ledger.deviations(
        single | {"value": 200.0}, single, 0.1
    )
    assert ledger.deviations(single, was, 0.1) and ledger.deviations(was, single, 0.1)
    exact = {"value": 2.0, "low": 2.0, "high": 2.0}
    assert not ledger.deviations(exact | {"value": 2.001}, exact, 0.1) and ledger.deviations(
        exact | {"value": 2.01}, exact, 0.1
    )


def test_a_built_ledger_is_compared_with_the_stored_one(mini_book, capsys):
    """In verdicts, values and the ends of intervals: another processor may move these by a tenth of the interval."""
    built = mini_book / "build" / "laptop" / "ledger.json"
    entry = ledger.entry_of(SIZE, value=3.0, low=2.9, high=3.1, n=5, verdict="reproduced")
    built.parent.mkdir(parents=True)
    ledger.write(mini_book / "results" / "ledger.json", [entry])
    with pytest.raises(SystemExit, match="2"):
        sources.main(["laptop", "--compare"])
    assert "build the book first" in capsys.readouterr().err
    ledger.write(built, [entry | {"value": 3.01, "high": 3.11}])
    assert sources.main(["laptop", "--compare"]) == 0 and "all 1 claims" in capsys.readouterr().out
    for change in ({"value": 3.03}, {"high": 3.13}, {"low": 2.87}, {"low": -math.inf}, {"value": None}):
        ledger.write(built, [entry | change])
        assert sources.main(["laptop", "--compare"]) == 1
        assert f"Z.Fig1-size: {next(iter(change))} " in capsys.readouterr().out
    ledger.write(built, [entry | {"verdict": "undecided"}, ledger.entry_of(NONE)])
    assert sources.main(["laptop", "--compare"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "Z.Fig1-size: undecided here, reproduced in the stored ledger",
        "Z.Fig2-none: not measured yet here, not declared in the stored ledger",
    ]


@pytest.mark.parametrize("text", ["{", "3", "[1]", '{"a": 1}', '[{"value": 1}]', '[{"id": "a", "value": 1}]', "null"])
def test_a_file_that_is_no_ledger_is_named_in_one_line(tmp_path, text):
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(InputError, match=r"ledger.json is not a ledger: take it from git again"):
        ledger.read(tmp_path / "ledger.json")


def record(name, value, stated=None, verdict="reproduced"):
    measured = {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 6, "interval": "t", "verdict": verdict}
    return ledger.entry_of(replace(PLAIN, id=name), **measured) | {"stated": stated}


def test_measured_over_stated_is_in_order_and_a_negative_number_does_not_turn_its_interval():
    records = [record("Z.a", -0.5, -0.25), record("Z.b", 0.5, 1.0), record("Z.c", 0.5), record("Z.d", 0.5, 0.0)]
    found = ledger.over_stated([*records, record("Z.e", 0.5, -0.5), ledger.entry_of(PLAIN)])
    assert [one["entry"]["id"] for one in found] == ["Z.b", "Z.a"]
    np.testing.assert_allclose([list(one.values())[1:] for one in found], [[0.5, 0.4, 0.6], [2, 1.6, 2.4]])
    np.testing.assert_allclose(
        [ledger.on_axis(x) for x in (-1, 0.01, 0.25, 0.5, 1, 2, 4, 9)], [0, 0, 0, 25, 50, 75, 100, 100]
    )


def test_a_number_that_no_paper_states_is_called_expected_and_is_not_drawn():
    ours = record("Z.b", 0.5, 1.0) | {"kind": "beyond"}
    assert ledger.over_stated([ours]) == [] and ledger.words(ours)["whose"] == "expected"
    theirs = show("table", [record("Z.c", 0.5, 1.0), record("Z.d", 0.5)])
    assert "<th>expected</th>" in show("table", [ours]) and "<th>paper</th>" in theirs
    assert "<td>1</td>" in theirs and "<td><small>0.4 … 0.6</small></td>" in theirs
