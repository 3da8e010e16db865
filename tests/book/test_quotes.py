"""From a number to its row and back: the sentences that quote a claim, and the command that measures it again."""

import inspect
import json
import re
import zlib

import nbformat
import pytest

from companion import __main__ as command
from companion.book import ledger
from companion.site import quotes
from tests.references import ROOT

ROLE = "{claim}`A.Fig2-a`"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"One. It is {ROLE}. Three.", [f"It is {ROLE}."]),
        (f"# Title\nIt is {ROLE} in\n  Fig. 3 of a line. Not this.", [f"It is {ROLE} in Fig. 3 of a line."]),
        (f"- One has {ROLE}.\n- **Two has {ROLE}.** More.", [f"One has {ROLE}.", f"**Two has {ROLE}.**"]),
        (f"A note:\n\n:::{{note}}\nIt is {ROLE}\n:::\n\n(label)=\n## Next", [f"It is {ROLE}"]),
        (f"It is {ROLE} by Prop. 10 and $x. Y$", [f"It is {ROLE} by Prop. 10 and $x. Y$"]),
        (f"| a | {ROLE} |\n| b | {ROLE} |", [f"a | {ROLE}", f"b | {ROLE}"]),
    ],
)
def test_a_number_stands_in_one_sentence(text, found):
    assert list(quotes.sentences(text)) == found


def test_a_sentence_names_nothing_that_only_its_page_can_number():
    said = "*It* grows ({numref}`fig-a`, {eq}`b`) as {cite:t}`c` says, {cite}`d` and [there](e.md), in {numref}`fig-f`."
    assert quotes._plain(said) == "It grows as {cite:t}`c` says, and there, in the figure."
    assert quotes._plain("**It grows.** More") == "**It grows.** More"
    assert quotes._plain("**It grows.") == "It grows.", "of a sentence whose other half is bold, too"


def test_a_number_may_have_its_interval_behind_it():
    record = {"value": 0.512, "low": -0.031, "high": 1.2}
    assert ledger.in_text(record, interval=True) == "0.51 [−0.031, 1.2]"
    assert [role[1] for role in quotes.ROLE.finditer(ROLE + ROLE.replace("claim", "interval"))] == ["A.Fig2-a"] * 2


def test_the_sentences_of_all_pages_are_found_with_their_place(mini_book):
    (mini_book / "book" / "papers.yml").write_text(
        json.dumps([{"paper": "A", "stands": f"So {ROLE}.", "fails": "", "open": f"Or {ROLE}."}])
    )
    (mini_book / "book" / "tour.md").write_text(f"# Tour\n\nOne {ROLE}. Two {ROLE} and {ROLE}.\n")
    cells = [nbformat.v4.new_markdown_cell("# Mini"), nbformat.v4.new_code_cell("1")]
    cells[1].metadata["mystnb"] = {"figure": {"name": "f", "caption": f"**Three {ROLE}** is it."}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells), mini_book / "chapters" / "99_mini.ipynb")
    ledger.about_papers.cache_clear()
    try:
        found = quotes.quotes({"A.Fig2-a": {"value": 0.512, "low": 0.5, "high": 0.52}})["A.Fig2-a"]
    finally:
        ledger.about_papers.cache_clear()
    assert [(one.page, one.address, one.words) for one in found] == [
        ("Tour", "tour.html#quoted-A.Fig2-a", "One 0.51."),
        ("Tour", "tour.html#quoted-A.Fig2-a-2", "Two 0.51 and 0.51."),
        ("Tour", "tour.html#quoted-A.Fig2-a-3", "Two 0.51 and 0.51."),
        ("Mini", "../chapters/99_mini.html#quoted-A.Fig2-a", "**Three 0.51** is it."),
        ("Paper A: what holds", "paper-a.html#quoted-A.Fig2-a", "So 0.51."),
        ("Paper A: what holds", "paper-a.html#quoted-A.Fig2-a-2", "Or 0.51."),
    ]


def test_the_command_of_a_claim_names_the_line_of_its_function_and_the_cells_it_rests_on(capsys):
    assert command.main(["claim", "C.Thm3-ridge"]) == 0
    said = capsys.readouterr().out
    file, line = re.search(r"^by (lib/companion/papers/\S+\.py):(\d+)$", said, re.MULTILINE).groups()
    function = ledger.claims()["C.Thm3-ridge"].function
    assert (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].startswith(f"def {function.__name__}(")
    assert str(ROOT / file) == inspect.getsourcefile(function)
    count, stored, keys = re.search(r"^on (\d+) cells of (results/\S+): (.*)$", said, re.MULTILINE).groups()
    lines = zlib.decompress((ROOT / stored).read_bytes(), wbits=31).decode().splitlines()
    there = {json.loads(line)["key"] for line in lines}
    (record,) = (one for one in ledger.read(ROOT / "results" / "ledger.json") if one["id"] == "C.Thm3-ridge")
    assert {*re.findall(r"[0-9a-f]{24}", keys)} <= there and int(count) == record["settings"][0]["seeds"]
    assert "n = 500; test = 1000; 6 seeds" in said


def test_the_command_of_a_claim_says_what_the_larger_sizes_alone_give(capsys):
    assert command.main(["claim", "A.Fig3-beta-lazy-d5"]) == 0
    number = r"[−\d.]+ \[[^]]+\]"
    said = capsys.readouterr().out
    assert re.search(rf"^measured {number}; at sizes \d+ to \d+ alone: {number}; accepted ", said, re.MULTILINE)
