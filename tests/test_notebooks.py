"""The chapters as papermill executed them at the smoke profile, against stored references; nothing runs twice."""

import nbformat
import pytest
from pytest_notebook.diffing import diff_notebooks, diff_to_string

from regimes import ledger, parameters
from tests.references import FOLDER, ROOT, comparable, masked

CHAPTERS = sorted(parameters.chapters().items())
SMOKE = ROOT / "build" / "smoke"


def executed(number):
    path = SMOKE / f"{parameters.source(number).stem}.ipynb"
    assert path.exists(), "the smoke book is not built: make test (or make book PROFILE=smoke)"
    return nbformat.read(path, as_version=4)


@pytest.mark.parametrize(("number", "source"), CHAPTERS, ids=[n for n, _ in CHAPTERS])
def test_prints_what_the_reference_holds(number, source):
    reference = nbformat.read(FOLDER / f"{source.stem}.ipynb", as_version=4)
    fresh = comparable(executed(number))
    diff = diff_notebooks(reference, fresh)
    assert not diff, "\n" + diff_to_string(reference, diff, use_color=False) + "\nif this is meant: make references"


@pytest.mark.parametrize(("number", "source"), CHAPTERS, ids=[n for n, _ in CHAPTERS])
def test_every_cell_ran_without_a_warning_on_the_page(number, source):
    for cell in executed(number).cells:
        for output in cell.get("outputs", []):
            assert output.output_type != "error" and output.get("name") != "stderr", (cell.source, output)


@pytest.mark.parametrize(("number", "source"), CHAPTERS, ids=[n for n, _ in CHAPTERS])
def test_every_verdict_follows_from_its_numbers(number, source):
    records = ledger.read(SMOKE / f"{number}.ledger.json")
    assert records, "a chapter judges at least one claim"
    for record in records:
        claim = ledger.claims()[record["id"]]
        estimate = ledger.Estimate(record["value"], record["low"], record["high"], record["n"])
        assert record["verdict"] == ledger.judge(claim, estimate, "smoke")
        assert record["data"] and record["figure"] and record["device"] and record["revision"], record["id"]


def test_masking_keeps_two_digits_and_drops_noise():
    assert masked("β = 0.38471, n = 20, 1.2e-16, -3.0e+05") == "β = 0.38, n = 20, 0, -3e+05"
