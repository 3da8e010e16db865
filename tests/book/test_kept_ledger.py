"""The ledgers that are kept, of the laptop's and of the papers' sizes, judged anew;
what they say, and their commits."""

import functools
import gzip
import json
import math
import re

import pytest

from companion import estimates
from companion.book import ledger
from companion.book.claims import claims_of
from companion.lab import catalogue, digest, parameters, results
from companion.lab.study import Design
from companion.papers.jamming.theory import jamming
from regimes.validate import InputError
from tests import stored_ledger
from tests.references import FOLDER, ROOT

LAPTOP, PAPER = (
    json.loads((ROOT / "results" / name).read_text(encoding="utf-8")) for name in ("ledger.json", "ledger.paper.json")
)
RECORDS = LAPTOP + PAPER
DECLARED = {name: vars(claim) for name, claim in ledger.claims().items()}


def ends(band):
    """A band of the file, whose ``null`` is no bound."""
    low, high = band
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def test_the_kept_ledger_holds_every_claim_and_the_papers_one_what_was_measured_there():
    assert [record["id"] for record in LAPTOP] == list(DECLARED)
    there = {record["id"]: record for record in PAPER}
    assert list(there) == [name for name in DECLARED if name in there] and len(there) == len(PAPER)
    assert all(record["profile"] == "paper" and record["value"] is not None for record in PAPER)
    studies = {name for number in catalogue.modules() for name in catalogue.of(number)}
    for record in PAPER:
        assert all(record[name] for name in ("data", "settings", "revision", "versions", "device")), record["id"]
        assert {setting["study"] for setting in record["settings"]} <= studies, record["id"]


def test_every_record_of_a_kept_ledger_has_the_verdict_of_its_numbers():
    for record in RECORDS:
        measured = record["value"] is not None
        assert record["verdict"] == (stored_ledger.judged(numbers(record)) if measured else None), record["id"]


def numbers(record):
    """A record of the file with the ends of its interval as numbers."""
    low, high = ends((record["low"], record["high"]))
    return record | {"low": low, "high": high}


# claims of each chapter, at most, that need rows which no file holds; the cold book of every week compares all. A bound
# on these, not on the others, is none the weaker where claims are withdrawn
FRESH = {"01": 20, "02": 7, "03": 17, "04": 2, "05": 25, "06": 7, "07": 22}


@pytest.mark.parametrize("number", FRESH)
def test_the_kept_ledger_is_what_the_chapters_make_of_stored_rows(number, tmp_path, monkeypatch):
    """To a thousandth, with the verdicts, and each number of a sentence, caption, table or figure to its last digit.

    A ledger that was edited, and arithmetic that has changed, are noticed.
    """
    kept = {record["id"]: record for record in ledger.read(ROOT / "results" / "ledger.json")}
    found = stored_ledger.entries(number, tmp_path, monkeypatch)
    fresh = {claim.id for claim in claims_of(number)} - set(found)
    assert len(fresh) <= FRESH[number], f"no file holds the rows of {', '.join(sorted(fresh))}"
    said = (FOLDER / f"{number}.said.txt").read_text(encoding="utf-8").splitlines()
    assert not stored_ledger.unlike(stored_ledger.OfStored.said, said), "if this is meant: make references"
    moved = {name: stored_ledger.moved(record, kept[name]) for name, record in found.items()}
    assert not {name: how for name, how in moved.items() if how}, "if this is meant: make publish-ledger"


def changed_since(record, claim):
    """What of a claim's code is not as it was when a record was measured, in one line; nothing if all is."""
    if record["digest"] == claim.measured_by["digest"]:
        return ""
    parts = digest.differing(claim.parts, record["parts"]) or [f"what {record['function']} names"]
    return f"{', '.join(parts)}: of claim {record['id']}, changed since its record"


def test_the_code_of_every_claim_is_the_code_that_measured_its_record():
    claims = ledger.claims()
    lines = [line for record in RECORDS if (line := changed_since(record, claims[record["id"]]))]
    how = "make publish-ledger; if another number is meant, its claim is exploratory"
    assert not lines, "\n".join([f"{how}:", *lines])


@pytest.mark.parametrize(
    ("module", "name", "value", "said"),
    [
        (jamming, "WINDOW", (1.1, 1.6), "companion.papers.jamming.theory.jamming.WINDOW"),
        (jamming, "divergence", jamming.slopes_beyond, "companion.papers.jamming.theory.jamming.slopes_beyond"),
        (estimates, "LEVEL", 0.5, "companion.estimates.LEVEL"),
    ],
)
def test_what_changed_since_a_record_is_named(module, name, value, said, monkeypatch):
    record = next(record for record in LAPTOP if record["id"] == "B.Fig4-change-diverges")
    monkeypatch.setattr(module, name, value)
    line = changed_since(record, ledger.claims()["B.Fig4-change-diverges"])
    assert said in line and line.endswith("of claim B.Fig4-change-diverges, changed since its record")


def test_the_book_is_judged_at_the_settings_that_claims_name():
    named = {name: claim for name, claim in ledger.claims().items() if claim.at}
    assert len(named) > 150
    for record in (record for record in LAPTOP if record["id"] in named):
        assert not ledger.lacks(named[record["id"]], record["settings"]), record["id"]


SIZES = ("p", "h", "d", "n", "k", "r", "width", "members", "rounds", "test", "data", "words")  # may be stored larger


@functools.cache
def laptop_axes(number, study, design):
    """The values of each axis that a design has on a laptop; ``None`` where its data are not here."""
    try:
        values = parameters.resolve(number, "laptop")
        settings = study.grid.settings(values, design) if design else study.grid(values)
    except InputError:
        return None
    axes = {name for setting in settings for name in setting} - {"seeds", *SIZES}
    return {axis: json.loads(json.dumps([own[axis] for own in settings if axis in own])) for axis in axes}


def strays(claim, settings, number):
    """The axes of a record's settings with a value that no design of the claim's tables has."""
    designs = {}
    for wanted in claim.tables.values():
        study, design = wanted if isinstance(wanted, Design) else (wanted, "")
        designs.setdefault(study.name, []).append(laptop_axes(number, study, design))
    found = []
    for setting in settings:
        own = designs[setting["study"]]
        if None not in own:
            axes = {axis: values for axis, values in setting["values"].items() if axis not in SIZES}
            there = {axis: [value for one in own for value in one.get(axis, [])] for axis in axes}
            found += [axis for axis, values in axes.items() if any(value not in there[axis] for value in values)]
    return found


def test_the_kept_records_are_of_the_designs_that_claims_name():
    """Sizes, which may be stored larger, and data aside: an axis has no value that no design of the claim has."""
    claims = ledger.claims()
    by_id = {record["id"]: record["settings"] for record in LAPTOP}
    assert strays(claims["C.Fig4-quick"], by_id["C.Fig5-theta"], "05"), "of images, and not of the cube"
    for record in LAPTOP:
        if record["settings"]:
            number = f"{int(record['chapter']):02d}"
            assert not strays(claims[record["id"]], record["settings"], number), record["id"]


def test_claims_are_judged_at_profiles_that_there_are():
    for name, claim in ledger.claims().items():
        assert claim.profiles and {*claim.profiles} <= {*parameters.PROFILES}, name


REPEATED = ("item", "kind", "statement", "short", "measure", "source", "alternative", "part_of", "headline")


def test_every_record_of_a_kept_ledger_says_what_was_declared():
    for record in RECORDS:
        entry = DECLARED[record["id"]]
        for name in REPEATED:
            assert record[name] == entry[name], (record["id"], name)
        shown = record["profile"] == "laptop"  # the papers' sizes were measured before some figures had their labels
        assert not shown or record["figure"] == entry["figure"], record["id"]
        assert record["stated"] == entry.get("stated") and record["erratum"] == entry.get("erratum"), record["id"]
        assert ends(record["accept"]) == ends(entry["accept"]), record["id"]
        assert (record["corrected"] and ends(record["corrected"])) == (
            entry.get("corrected") and ends(entry["corrected"])
        ), record["id"]


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").glob("0*.py")), ids=lambda path: path.stem)
def test_prose_calls_no_claim_undecided_that_is_not(path):
    """A paragraph with the name of this verdict, or of *not reproduced*, has a claim with it, if it has any."""
    verdicts = {record["id"]: record["verdict"] for record in LAPTOP}
    prose = "\n".join(
        line[2:] if line.startswith("#") else "" for line in path.read_text(encoding="utf-8").splitlines()
    )
    for paragraph in re.split(r"\n\s*\n|\n- ", prose):
        named = re.findall(r"\{claim\}`([^`]+)`", paragraph)
        for word in ("undecided", "not reproduced"):
            if named and re.search(rf"\b{word}\b", paragraph):
                assert word in {verdicts[name] for name in named}, f"{word}: {named}"


def test_kept_ledgers_are_of_commits_but_for_stored_rows():
    stored = set()
    for path in results.files().values():
        lines = gzip.decompress(path.read_bytes()).splitlines()
        stored |= {json.loads(line)["provenance"]["revision"] for line in lines}
    revisions = {found for record in RECORDS if record["value"] is not None for found in record["revision"].split(", ")}
    assert not any(found.endswith("+") for found in revisions - stored), "make publish-ledger"
