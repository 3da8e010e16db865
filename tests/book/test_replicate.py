"""A reader's own verdict: other seeds than the book's, the sizes that a claim names, its own rule."""

import re
from types import SimpleNamespace

import pytest

from companion.__main__ import main
from companion.book import ledger, registration, replicate
from companion.book.claims import all_claims
from companion.lab import catalogue, draws
from regimes.validate import InputError

EVERY = [(number, claim) for number, claim in all_claims() if claim.tables]


@pytest.mark.parametrize("number", sorted(catalogue.modules()))
def test_every_claim_with_rows_can_be_replicated_at_the_sizes_that_its_words_name(number):
    own = [claim for of, claim in EVERY if of == number]
    assert own
    for claim in own:
        try:
            page = replicate.page_for(claim, number, first=replicate.OWN, seeds=2)
        except InputError as error:  # images that are not on this machine
            assert re.search("on this machine|ships with no package|the images of .* here", str(error)), (
                f"{claim.id}: {error}"
            )
            continue
        cells = [
            cell for study, named in claim.designs.items() for it in named for cell in page.cells(study, it).values()
        ]
        assert cells and {cell.seed for cell in cells} == {replicate.OWN, replicate.OWN + 1}, claim.id


def test_a_reader_is_told_of_sizes_that_are_not_the_books():
    """The law of placed planes is meant at many points: at few the same estimator gives more."""
    number, claim = next(one for one in EVERY if one[1].id == "A.Fig3-planes-constant")
    page = replicate.page_for(claim, number, first=replicate.OWN, seeds=2)
    assert "p = 128 … 1024, 4 values (the book: 128 … 8192, 7 values). With --stored" in replicate.smaller(claim, page)
    at_once = replicate.page_for(claim, number, first=replicate.OWN, seeds=2, stored=True)
    assert replicate.smaller(claim, at_once) == ""
    assert max(setting["p"] for setting in replicate._settings(claim, at_once)) == 8192


def test_a_readers_seeds_are_no_others():
    assert replicate.OWN > draws.RESERVED + 100_000
    assert all(replicate.OWN <= replicate.own_first() < replicate.LAST for _ in range(100))


def test_paper_book_and_reader_stand_side_by_side(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    command = ["replicate", "E.Reuse-theory", "--seeds", "5", "--first", "2000000", "--jobs", "1"]
    assert main(command) == 0
    *_, paper, book, own = capsys.readouterr().out.splitlines()
    assert paper.startswith(("paper: ", "expected: ")) and "accepted" in paper
    assert book.startswith("book: ") and own.startswith("you: ") and own.endswith("n = 5")
    kept = {entry["id"]: entry for entry in ledger.read(registration.paths.results() / "ledger.json")}
    assert ledger.word(kept["E.Reuse-theory"]) in book
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1] == own, "the same seeds give the same verdict"


def test_the_larger_sizes_need_their_own_seeds():
    claim = SimpleNamespace(accept=(0.9, 1.1), alternative={"value": 2.0})
    kept = {"value": 1.0, "low": 0.98, "high": 1.02, "n": 6, "interval": "mean, Student's t", "late": None}
    assert not replicate.enough(claim, kept, 6)
    said = replicate.enough(claim, kept | {"late": {"value": 1.0, "low": 0.8, "high": 1.2}}, 6)
    assert said.startswith("6 seeds may leave it undecided: ")


@pytest.mark.parametrize(
    "options, words",
    [
        (["E.Reuse-theory", "--first", "3"], "first must be"),
        (["E.Reuse-theory", "--seeds", "1"], "seeds must be"),
        (["E.Reuse-theorie"], "the nearest are E.Reuse-theory"),
    ],
)
def test_what_cannot_be_replicated_is_said_in_a_line(options, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["replicate", *options])
    assert ended.value.code == 2 and words in capsys.readouterr().err
