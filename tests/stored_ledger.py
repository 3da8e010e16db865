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
from companion import studies as registry
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

    def __init__(self, *args):
        super().__init__(*args)
        self._lacking = {}  # what a run would compute of a study's grid

    def rows(self, study, design=""):
        """As ``Chapter.rows``; ``Absent`` where a run would compute some of them."""
        table, grid = self._with_stored(study), study.grid(self.parameters)
        if study not in self._lacking:
            self._lacking[study] = [study.grid.identity(s) for s in stored.lacking(table, grid)] if len(table) else []
        own = study.grid.settings(self.parameters, design) if design else grid
        absent = table.empty or any(study.grid.identity(setting) in self._lacking[study] for setting in own)
        return Absent() if absent else super().rows(study, design)

    def _with_stored(self, study):
        if study not in self._tables:
            self._tables[study] = stored.table(study)
            absent = [cell for cell in stored.known(self._tables[study]) if not registry.is_here(cell.setting)]
            self._absent |= {cell.key() for cell in absent}
        return self._tables[study]

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
        (module, "sweep", compute), (sweep, "sweep", compute),
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


def differences(number):
    """The fields of each record of a chapter that are not those of ``results/ledger.json``, and how many records."""
    kept = {record["id"]: record for record in ledger.read(paths.results() / "ledger.json")}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        found = json.loads(json.dumps(records(number, Path(folder), patch)))
    fields = {name: kept[name].keys() & record.keys() for name, record in found.items()}
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
