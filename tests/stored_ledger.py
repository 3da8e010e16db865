"""The laptop's ledger from stored rows alone: each chapter's statements one by one, of which none computes a cell.

A statement that needs rows which are not stored is left out, with all that rests on it. ``python -m
tests.stored_ledger [01 ...]`` compares these records with ``results/ledger.json``, to the last digit.
"""

import ast
import json
import sys
import tempfile
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt
import pytest

from companion import paths
from companion.experiments import parameters, stored, sweep
from companion.report import chapter as module
from companion.report import ledger


class NotStoredError(Exception):
    """A statement needs rows that are not stored."""


class Absent:
    """Rows that are not stored: whatever is done with them raises."""

    def _refuse(self, *args):
        raise NotStoredError

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = None


class OfStored(module.Chapter):
    """A chapter that shows nothing, and whose tables are what is stored."""

    def rows(self, study, design=""):
        """As ``Chapter.rows``; ``Absent`` where a run would compute some of them."""
        try:
            return super().rows(study, design)
        except NotStoredError:
            return Absent()

    def _compute_sample(self, results):
        """Computes none."""

    def _show(self, *args, **about):
        """Draws nothing."""

    slider = table = say = _show


def records(number, folder, monkeypatch):
    """The records, by claim, of a chapter that rest on stored rows or on formulas; ``folder`` is for its files."""

    def compute(study, *args, **options):
        raise NotStoredError

    monkeypatch.setenv("REGIMES_RUN", str(folder))
    for place, name, value in (
        (module, "Chapter", OfStored), (module, "display", lambda *args, **about: None),
        (stored, "sweep", compute), (sweep, "sweep", compute),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, value)
    names = {"__name__": "__main__"}
    for cell in jupytext.read(parameters.source(number)).cells:
        if cell.cell_type == "code":
            for statement in ast.parse(cell.source).body:
                _execute(statement, names)
            plt.close("all")
    return {record["id"]: record for record in ledger.read(folder / f"{number}.ledger.json")}


def _execute(statement, names):
    """Runs a statement; where it cannot, the names that it would have set are unknown from there on."""
    try:
        exec(compile(ast.Module([statement], []), "chapter", "exec"), names)
    except Exception:  # of rows that are absent anything may fail
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.pop(node.id, None)


# what a run notes of its machine; of cells that a chapter draws, and for formulas, this is no other run's
WHERE = {"device", "revision", "versions", "seconds"}


def differences(number):
    """The fields of each record of a chapter that are not those of ``results/ledger.json``, and how many records."""
    kept = {record["id"]: record for record in ledger.read(paths.results() / "ledger.json")}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        found = json.loads(json.dumps(records(number, Path(folder), patch)))
    fields = {name: (kept[name].keys() & record.keys()) - WHERE for name, record in found.items()}
    unlike = {name: sorted(f for f in own if found[name][f] != kept[name][f]) for name, own in fields.items()}
    return {name: own for name, own in unlike.items() if own}, len(found)


def main(numbers):
    """Prints the differences of the chapters; returns the exit code."""
    code = 0
    for number in numbers or parameters.chapters():
        unlike, count = differences(number)
        print(f"chapter {number}: {count} records of stored rows, {len(unlike)} of them differ", flush=True)
        for name, fields in unlike.items():
            print(f"  {name}: {', '.join(fields)}")
        code = max(code, bool(unlike))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
