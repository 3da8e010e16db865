"""The start page's pictures and the papers' stated numbers: all are computed, or quoted word for word."""

import math
import os
import re
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml
from bs4 import BeautifulSoup

from companion.book import changes, figures, ledger, stated, views
from companion.lab import catalogue, parameters
from companion.site import sources, start
from regimes.validate import InputError
from tests.references import ROOT

ABOUT = {paper["paper"]: paper for paper in yaml.safe_load((ROOT / "book" / "papers.yml").read_text(encoding="utf-8"))}
STATED = [entry for paper in ABOUT.values() for entry in paper["stated"]]
# the papers as text, which the book may not hold
TEXTS = Path(os.environ.get("REGIMES_PAPERS", ROOT.parent / "shared" / "papers"))


@pytest.fixture(autouse=True)
def no_figures():
    yield
    plt.close("all")


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the papers' texts are not on this machine: REGIMES_PAPERS")
@pytest.mark.parametrize("entry", STATED, ids=lambda entry: entry["id"])
def test_what_a_paper_states_stands_in_it_word_for_word(entry):
    (path,) = TEXTS.glob(f"{entry['id'][0]}-*.txt")
    assert " ".join(entry["quote"].split()) in " ".join(path.read_text(encoding="utf-8").split())


def test_what_stands_of_a_paper_names_claims_of_it():
    for letter, paper in ABOUT.items():
        said = " ".join(paper[part] for part in ("stands", "fails", "open"))
        named = re.findall(r"\{claim\}`([^`]+)`", said)
        assert {*named} <= ledger.claims().keys() and all(name[0] == letter for name in named)


def test_what_papers_state_is_whole_and_drawn():
    code = "".join(
        page.read_text("utf-8") for number in parameters.chapters() for page in parameters.page_sources(number)
    )
    code += (ROOT / "lib" / "companion" / "site" / "start.py").read_text(encoding="utf-8")
    for entry in STATED:
        name, rest = entry["id"], {"place", "quote", "value"}
        assert (
            rest <= entry.keys() <= rest | {"id", "what", "axis"}
            and entry in ABOUT[name[0]]["stated"]
            and name[1] == "."
        )
        assert re.search(rf'"{name}"|{name.split("-")[0]}-\{{name\}}|B\.\{{name\}}', code), f"{name} is not drawn"
    assert max(Counter(entry["id"] for entry in STATED).values()) == 1
    with pytest.raises(InputError, match="what papers state"):
        stated.value("A.nothing")


def test_a_stated_number_is_drawn_where_it_lies():
    ax = plt.figure().add_subplot()
    stated.mark(ax, "C.accuracy", 30)
    stated.mark(ax, "B.fluctuation")
    star, line = ax.lines
    assert star.get_xydata().tolist() == [[30, 0.874]] and star.get_label() == "paper C, accuracy"
    assert set(line.get_ydata()) == {-0.25} and "paper B" in line.get_label()
    assert stated.both_sizes(250, "B.points") == "250 points (paper B: 5000)"


def test_the_map_has_every_network_of_the_designs():
    found = start.experiments("laptop")
    (scan,) = (one for one in catalogue.of("01").values() if one.name == "lazy_feature.scale_scan")
    whole = {(s["h"], s["alpha"]) for s in scan.grid(parameters.resolve("01"))}
    assert len(whole) > 10 and whole < found["01"]
    assert any(math.isinf(scale) for _, scale in found["01"]) and "05" not in found
    values = parameters.resolve("03")
    assert {(h, scale) for h in values["map_h"] for scale in values["map_scales"]} <= found["03"]
    fig = start.place_map(found, [{"id": start.LAZY, "value": 0.5}])
    drawn = {line.get_label(): line for line in fig.axes[0].lines}
    assert {f"chapter {int(number)}" for number in found} <= drawn.keys()
    assert len(drawn["chapter 3"].get_xdata()) == len(found["03"])
    assert drawn["… measured, chapter 3"].get_ydata()[0] == pytest.approx(10**0.5)


def test_what_holds_counts_the_papers_statements_at_both_sizes():
    records = ledger.read(ROOT / "results" / "ledger.json")
    page = BeautifulSoup(start.holds(records, sources.titles(), "laptop"), "html.parser")
    bars = [bar["aria-label"] for bar in page.select(".verdict-bar")]
    own = [r for r in records if r["kind"] == "paper"]
    large = [r for r in own if stated.at_size(r)]
    large += [r for r in ledger.read(ROOT / "results" / "ledger.paper.json") if r["kind"] == "paper"]
    for found in (own, large):
        for number in sorted({r["chapter"] for r in found if r["chapter"]}):
            parts = ledger.tally(r for r in found if r["chapter"] == number)
            assert ", ".join(f"{part['count']} {part['word']}" for part in parts) in bars
    words = page.get_text()
    assert f"Statements of the papers ({len(ledger.statements(own))}, in {len(own)} claims): " in words
    assert words.count("not run") == len(sources.titles()) - len({r["chapter"] for r in large})
    assert f"{len(large)} in all" in words and {"01", "03", "04"} <= {r["chapter"] for r in large}
    widths = [float(re.search(r"[\d.]+", one["style"])[0]) for one in page.select(".scaled")]
    assert max(widths) == 100 and min(widths) > 0


def test_a_claim_is_at_the_papers_size_where_its_rows_have_a_size_that_the_paper_states():
    records = {record["id"]: record for record in ledger.read(ROOT / "results" / "ledger.json")}
    wide = {name for name, record in records.items() if "10000" in str(record["settings"]) and stated.at_size(record)}
    assert {"A.Fig3-own-learner", "A.Fig3-overfit-wide", "A.Fig10-gain-wide", "A.Fig6-amplification-wide"} <= wide
    assert len([name for name in wide if name[0] == "A"]) == 8
    assert stated.at_size(records["B.Fig6-rest-cusp"]) and not stated.at_size(records["B.Sec5-machine-gain-d5"])
    record = records["A.Fig6-amplification-wide"]
    (setting,) = record["settings"]
    narrow = setting | {"values": setting["values"] | {"h": [500]}}
    assert not stated.at_size(record | {"settings": [narrow]}) and not stated.at_size(record | {"settings": None})
    assert not stated.at_size(record | {"item": "C.Fig1"})  # paper C states another width


def test_the_widest_network_on_the_start_page_is_that_of_the_judged_rows(monkeypatch):
    records = ledger.read(ROOT / "results" / "ledger.json")
    monkeypatch.setattr(start, "shown", lambda fig, name, alt: "")
    said = start.places(records, sources.titles(), "laptop")
    widest = max(h for pairs in start.experiments("laptop").values() for h, _ in pairs)
    assert "with at most 10000 neurons in the rows" in said and widest == 10000 == stated.value("A.width")
    narrow = [record for record in records if "10000" not in str(record["settings"])]
    (less,) = re.findall(r"with at most (\d+) neurons", start.places(narrow, sources.titles(), "laptop"))
    assert int(less) < widest


def test_the_start_page_counts_apart_what_holds_without_the_stated_number():
    own = [record for record in ledger.read(ROOT / "results" / "ledger.json") if record["kind"] == "paper"]
    said = " ".join(sources.counts(own).split())
    found = [int(number) for number in re.findall(r"(\d+) (?:statements|hold|more hold|do not)", said)]
    reproduced = [
        one for one in ledger.statements(own) if {record["verdict"] for record in one} <= {"reproduced", None}
    ]
    reproduced = [one for one in reproduced if any(record["verdict"] for record in one)]
    near = [one for one in reproduced if any(map(ledger.misses_stated, one))]
    assert found[0] == len(ledger.statements(own)) and found[1] + found[2] == len(reproduced) and found[2] == len(near)


def test_the_tour_stops_at_each_chapter_and_shows_a_figure_of_it():
    """Its pictures are of figures that the chapters have, with their descriptions."""
    said = (ROOT / "book" / "tour.md").read_text(encoding="utf-8")
    shown = re.findall(
        r'href="../chapters/(\d\d)_\w+\.html#([\w-]+)".*?figures/([\w-]+)-panel-\d+\.svg" alt="([^"]+)"', said
    )
    assert [number for number, *_ in shown] == sorted(parameters.chapters())
    for number, label, picture, _ in shown:
        assert label == picture and label in figures.figures(number)


def test_the_example_of_the_start_page_shows_something():
    """It is the command below its figure: what else would it turn red?"""
    for name in ("book/intro.md", "book/rerun.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        number, label, more = re.search(r"make chapter-(\d+) FIGURE=(\S+)(?: NAME=\w+)? PARAMS='(.*)'", text).groups()
        assert more == views.command(changes.examples(number)[label]), name


def test_three_claims_of_a_paper_matter_most():
    for letter, paper in ABOUT.items():
        known = [ledger.claims()[name] for name in paper["matters"]]
        assert len({claim.figure for claim in known}) == 3 and all(claim.item[0] == letter for claim in known)
