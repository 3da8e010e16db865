"""The page of the registered run, on made-up results: before it, while it is on, and once it is judged."""

import gzip
import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from companion import estimates, paths
from companion.book import ledger, registration
from companion.site import registered
from tests import stored_ledger
from tests.references import ROOT

KNOWN = {
    "revision": "0123456789ab",
    "date": "2026-12-01",
    "first seed": 1_200_000,
    "data": {"digits": "finite"},
    "claims": {"A.Fig1-a": {}, "A.Fig1-b": {}},
    "studies": {"depth.one": {"cells": {"": 40}}, "depth.two": {"cells": {"": 5, "digits": 5}}},
}
JUDGED = KNOWN | {"judged": "ba9876543210", "core hours": 30.5, "devices": ["cpu"]}


@pytest.fixture(autouse=True)
def figures_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "generated", lambda: tmp_path / "generated")
    yield
    plt.close("all")


def say(monkeypatch, known):
    monkeypatch.setattr(registration, "registered", lambda: known)


def test_before_a_registration_it_says_that_there_is_none(monkeypatch):
    say(monkeypatch, {})
    assert registered.page([], []) == (
        "Nothing is registered yet: all verdicts of this book rest on exploratory rows.\n"
    )


def test_while_the_run_is_on_it_says_how_far_and_no_number(monkeypatch, tmp_path):
    say(monkeypatch, KNOWN)
    monkeypatch.setattr(registration, "folder", lambda: tmp_path)
    (tmp_path / "depth.two.cells.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 10))
    (tmp_path / "depth.one.cells.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 7))
    text = registered.page([], [])
    assert "Declared on 2026-12-01, from the commit `0123456789ab`: 2 claims" in text and "of 50 cells" in text
    assert "17 of 50 cells are there" in text and "- digits\n" in text
    assert re.findall(r"^\| `(.+)` \| (\d+) \| (\w+) \|$", text, re.M) == [
        ("depth.one", "40", "7"),
        ("depth.two", "10", "all"),
    ]


@pytest.fixture(scope="module")
def book():
    """The book's ledger, and a second run of it with other draws of the same errors: no truth has changed."""
    random = np.random.default_rng(3)
    before, now = [], []
    for entry in ledger.read(ROOT / "results" / "ledger.json"):
        if entry["value"] is None:
            continue
        entry = entry | {"late": None}
        (found,) = ledger.estimates_of(entry)
        entry["verdict"] = stored_ledger.judged(entry)
        before.append({name: entry[name] for name in registration.KEPT})
        move = 0.0
        if found.method not in registered.NOT_DRAWN and math.isfinite(found.high - found.low) and found.n > 1:
            move = math.sqrt(2) * estimates.standard_error(found) * random.normal()
        again = entry | {name: entry[name] + move for name in ("value", "low", "high")}
        now.append(again | {"verdict": stored_ledger.judged(again)})
    return before, now


def test_where_no_truth_has_changed_the_coverage_is_what_it_should_be(book):
    before, now = book
    found = registered.pairs(now, before)
    assert len(found) == len(now) > 300
    covered = registered.coverage(found)
    assert covered["equal"] == pytest.approx(0.834, abs=1e-3)
    deviation = math.sqrt(covered["expected"] * (1 - covered["expected"]) / covered["count"])
    assert covered["held"] == pytest.approx(covered["expected"], abs=3 * deviation)
    moved = [registered.Pair(pair.now | {"value": pair.before["high"] * 1.0 + 1e-9}, pair.before) for pair in found]
    far = [pair for pair in moved if pair.now["low"] <= pair.now["value"] <= pair.now["high"]]
    assert registered.coverage(far)["held"] < 0.1, "values beyond the end of the first interval"


def test_once_judged_what_changed_stands_first_with_its_cause_the_papers_statements_before_ours(book, monkeypatch):
    before, now = book
    say(monkeypatch, JUDGED)
    text = registered.page(now, before)
    changed = [pair for pair in registered.pairs(now, before) if pair.is_changed]
    papers = sum(pair.now["kind"] == "paper" for pair in changed)
    words = f"{len(changed)} have another verdict than on exploratory rows: {papers} on statements of the papers"
    assert f"Of {len(now)} claims {words}" in text and "30.5 core hours on cpu" in text
    rows = re.findall(r'^<tr><td><a href="paper-[a-e].html#.*</tr>$', text, re.M)
    ours = [" (ours): " in line for line in rows]
    assert len(rows) == len(changed) and ours == sorted(ours) and sum(ours) == len(changed) - papers
    assert all(re.search(r"<td>[a-z][^<]+</td></tr>$", line) for line in rows), "each has a cause"
    assert [*(paths.generated() / "extra" / "figures").glob("registered*.svg")]
    unpublished = registered.page([one | {"kind": "paper"} | entry for one, entry in zip(now, before)], before)
    assert unpublished.endswith("not made of these cells yet (`make publish-ledger`).\n")


def pair(before, now, **about):
    method = {"n": 12, "interval": "mean, Student's t", "accept": [0.8, 1.1], "late": None}
    ends = [dict(zip(("value", "low", "high", "verdict"), one, strict=True)) | method for one in (before, now)]
    return registered.Pair(ends[1] | about, ends[0])


@pytest.mark.parametrize(
    "before, now, cause",
    [
        ((1, 0.9, 1.1, "reproduced"), (1.05, 0.95, 1.15, "reproduced"), ""),
        ((1, 0.9, 1.1, "reproduced"), (1.5, 1.4, 1.6, "not reproduced"), "the value moved"),
        ((1, 0.9, 1.1, "undecided"), (1.05, 0.95, 1.15, "reproduced"), "as many realisations decide now"),
        ((1, 0.9, 1.1, "reproduced"), (1.05, 0.95, 1.15, "undecided"), "reaches over the edge"),
        ((1, 0.9, 1.1, "not yet asymptotic"), (1.05, 0.95, 1.15, "reproduced"), "another verdict"),
    ],
)
def test_a_cause_is_read_off_the_intervals(before, now, cause):
    found = pair(before, now).cause
    assert cause in found and bool(cause) == bool(found)
    if cause == "as many realisations decide now":
        assert pair(before, now, n=40).cause == "decided by 40 in place of 12 realisations"
    if cause == "reaches over the edge":
        later = pair(before, now, accept=[0.8, 1.2], late={"value": 1.0, "low": 0.7, "high": 1.3})
        assert later.cause == "the interval of the larger sizes alone reaches over the edge of the band"


def test_the_page_says_what_turned_into_its_opposite_and_what_is_not_as_it_was_registered(book, monkeypatch):
    before, now = book
    refuted = [entry | {"verdict": "not reproduced"} for entry in now[:1]]
    known = [entry | {"verdict": "reproduced"} for entry in before if entry["id"] == now[0]["id"]]
    say(monkeypatch, JUDGED | {"deviations": {"cells": ["depth.one, cell 7"], "because": "It did not end."}})
    text = registered.page(refuted, known)
    assert f"1 from *reproduced* to *not reproduced*. The opposite came out for {now[0]['id']}." in text
    assert "**Not as it was registered:** 1 of 50 cells (depth.one, cell 7). It did not end." in text
    undecided = [entry | {"verdict": "undecided"} for entry in refuted]
    assert "1 from *reproduced* to *undecided*. No verdict turned into its opposite." in registered.page(
        undecided, known
    )


@pytest.mark.parametrize(
    "value, accept, rival, place",
    [(1.0, (0.9, 1.1), 0.7, 0.5), (0.7, (0.9, 1.1), 0.7, -1), (1.3, (0.9, 1.1), 0.7, -1), (3, (1, None), 0, 2)],
)
def test_a_place_is_measured_from_the_nearest_end_in_distances_of_the_rival(value, accept, rival, place):
    assert registered.place(value, accept, rival) == pytest.approx(place)


def test_the_picture_shows_every_claim(book):
    before, now = book
    found = registered.pairs(now, before)
    (ax,) = registered.picture(found).axes
    marks = [line for line in ax.lines if line.get_marker() in (".", "o")]
    assert sum(len(line.get_xdata()) for line in marks) == len(found)
