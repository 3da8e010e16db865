"""The laptop's ledger from stored rows alone: each chapter's statements one by one, of which none computes a cell.

A statement that needs rows which are not stored is left out, with all that rests on it. ``python -m
tests.stored_ledger [01 ...]`` compares these entries with ``results/ledger.json``, to the last digit.
"""

import ast
import contextlib
import json
import math
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import ClassVar

import jupytext
import matplotlib.pyplot as plt
import pytest

from companion import paths
from companion.book import captions, claims, ledger, registration
from companion.book import chapter as module
from companion.estimates import Drift, Estimate
from companion.lab import catalogue, parameters, schedule
from companion.lab.study import Design
from tests import drawn

WRITE = ledger.write
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")


class NotStoredError(Exception):
    """A statement needs rows that are not stored."""


def refuse(*args, **options):
    """In place of what computes cells."""
    raise NotStoredError


class Stored:
    """What claims are measured on: a chapter's stored rows alone, where ``refuse`` stands for what computes."""

    def __init__(self, number):
        self.number, self.parameters = number, parameters.resolve(number)
        self.asked, self.tables = {}, {}

    def rows(self, study, design=""):
        """The rows of one design of a study, or of all."""
        if (study.name, design) not in self.tables:
            if study.name not in self.asked:
                self.asked[study.name] = catalogue.asked(self.number, study, self.parameters)
            self.tables[study.name, design] = self.asked[study.name].rows(design)
        return self.tables[study.name, design].copy()


class Absent:
    """Rows that are not stored: whatever is done with them raises."""

    def _refuse(self, *args):
        raise NotStoredError

    __getattr__ = __getitem__ = __iter__ = __len__ = __bool__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = None


class OfStored(module.Chapter):
    """A chapter that shows nothing, keeps what it says, and whose tables are what is stored.

    Its claims see these rows with reserved seeds, and find the same.
    """

    moved = False
    said: ClassVar[list[str]] = []  # sentences, captions, what figures show, and the lines of tables

    def rows(self, study, design=""):
        """As ``Chapter.rows``; ``Absent`` where a run would compute some of them. Many claims take the same rows."""
        known = vars(self).setdefault("tables", {})
        if (study, design) not in known:
            try:
                known[study, design] = super().rows(study, design)
            except NotStoredError:
                known[study, design] = Absent()
        found = known[study, design]
        return found if isinstance(found, Absent) else registration.moved(found) if self.moved else found.copy()

    def _judge(self, claim):
        """As ``Chapter._judge``; a claim that needs rows which are not stored has no record."""
        with contextlib.suppress(NotStoredError):
            for name, wanted in claim.tables.items():
                if isinstance(self.rows(*(wanted if isinstance(wanted, Design) else (wanted,))), Absent):
                    raise NotStoredError(name)
            self.moved = True
            try:
                super()._judge(claim)
            finally:
                self.moved = False

    def _compute_sample(self, results):
        """Computes none."""

    def _show(self, fig, name, *args, **about):
        """Keeps what it shows."""
        self.said += [f"{name}: {line}" for line in drawn.lines(fig)]

    def slider(self, fig, draw, labels, name, *tables, still=None, **about):
        """Keeps its labels, its last frame and what paper shows."""
        self.said.append(f"{name}: {', '.join(labels)}")
        draw(len(labels) - 1)
        self.said += [f"{name}: {line}" for shown in (fig, still) if shown for line in drawn.lines(shown)]

    def table(self, rows, name, caption, *tables, digits=4):
        """Keeps its lines."""
        self.said.append(f"{name}: {caption}")
        for line in module._without_provenance(rows).itertuples(index=False):
            self.said.append(f"{name}: {' | '.join(module._cell(value, digits) for value in line)}")

    def glue(self, name, value):
        """Keeps it."""
        self.said.append(f"{name}: {value:.2g}" if isinstance(value, float) else f"{name}: {value}")


def entries(number, folder, monkeypatch):
    """The entries, by claim, of a chapter that rest on stored rows or on formulas; ``folder`` is for its files.

    ``OfStored.said`` then has its sentences that do.
    """

    asked, known = catalogue.asked, {}

    def asked_once(number, study, values):  # all pages of a chapter have the laptop's values
        if study not in known:
            known[study] = asked(number, study, values)
        return known[study]

    monkeypatch.setattr(catalogue, "asked", asked_once, raising=False)
    monkeypatch.setenv("REGIMES_RUN", str(folder))
    monkeypatch.setattr(OfStored, "said", [])
    for place, name, value in (
        (module, "Chapter", OfStored), (module, "display", lambda *args, **about: None),
        (schedule, "fill", refuse), (ledger, "write", lambda *entries: None),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, value)
    by_claim = {}
    for page in parameters.page_sources(number):
        chapter = _executed(page)
        by_claim |= chapter.entries
    for claim in claims.claims_of(number):  # of figures that need other rows, too
        if claim.id not in by_claim:
            chapter._judge(claim)
    by_claim |= chapter.entries
    WRITE(folder / f"{number}.ledger.json", by_claim.values())  # once, and not after every claim
    return {record["id"]: record for record in ledger.read(folder / f"{number}.ledger.json")}


def _executed(page):
    """The chapter of a page whose cells have run as far as they can."""
    names = {"__name__": "__main__"}
    cells = jupytext.read(page).cells
    below = captions.of_cells(cells)
    for index, cell in enumerate(cells):
        if cell.cell_type == "code":
            for statement in ast.parse(cell.source).body:
                _execute(statement, names)
            plt.close("all")
        if index in below:
            OfStored.said.append(f"caption: {below[index]}")
    return names["chapter"]


def _execute(statement, names):
    """Runs a statement; where it cannot, the names that it would have set are unknown from there on."""
    try:
        with warnings.catch_warnings(action="ignore"):  # as of a legend whose lines need rows that are absent
            exec(compile(ast.Module([statement], []), "chapter", "exec"), names)
    except Exception:  # of rows that are absent anything may fail
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.pop(node.id, None)


def judged(record):
    """The verdict that a record's numbers have by the rule, which ``tests/book/test_ledger.py`` holds at its bounds."""
    found = Estimate(*(record[name] for name in ("value", "low", "high", "n", "interval")))
    if late := record["late"]:
        low, high = (
            end if late[name] is None else late[name] for name, end in (("low", -math.inf), ("high", math.inf))
        )
        later = Estimate(late["value"], low, high, record["n"], record["interval"])
        found = Drift(found, later, (1.0, 2.0), (2.0, 4.0))  # sizes decide nothing
    return ledger.judge(ledger.claims()[record["id"]], found, record["profile"])


def moved(record, kept):
    """What of a record is not as it is kept, its numbers to a thousandth; empty if all is.

    Among it are the settings of the rows that it rests on, and the sizes that decide of a claim on large ones.
    """
    return ledger.deviations(record, kept, 1e-3) or [
        f"{name} {record[name]} for {kept[name]}"
        for name in ("verdict", "n", "interval", "settings", "late")
        if _exactly(name, record) != _exactly(name, kept)
    ]


def _exactly(name, record):
    """What of an entry no processor changes: of the estimate on larger sizes, which these are."""
    entry = record[name]
    return [*entry["sizes"]] if name == "late" and entry else entry


def unlike(now, was, share=0.0):
    """The lines that differ: in a word, or in a number by more than a unit of its last digit and a ``share`` of it."""
    if len(now) != len(was):
        return sorted({*now} ^ {*was})
    return [f"{line}  <-  {stored_line}" for line, stored_line in zip(now, was) if not _agree(line, stored_line, share)]


def _agree(line, stored_line, share):
    if NUMBER.sub("#", line) != NUMBER.sub("#", stored_line):
        return False
    pairs = zip(NUMBER.findall(line), NUMBER.findall(stored_line))
    return all(abs(float(a) - float(b)) <= 1.01 * max(_unit(a), _unit(b)) + share * abs(float(b)) for a, b in pairs)


def _unit(number):
    """A unit of the last digit of a written number."""
    digits, _, power = number.lower().partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


# what a run notes of its machine; of cells that a chapter draws, and for formulas, this is no other run's
WHERE = {"device", "revision", "versions", "seconds"}


def differences(number):
    """The fields of each entry of a chapter that are not those of ``results/ledger.json``, and how many entries."""
    stored = {record["id"]: record for record in ledger.read(paths.results() / "ledger.json")}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        computed = json.loads(json.dumps(entries(number, Path(folder), patch)))
    for record in (*computed.values(), *stored.values()):
        record["data"] = record["data"].replace(f" ({ledger.ABSENT})", "")  # what a machine lacks changes no number
    fields = {name: (stored[name].keys() & record.keys()) - WHERE for name, record in computed.items()}
    differing = {
        name: sorted(f for f in names if computed[name][f] != stored[name][f]) for name, names in fields.items()
    }
    return {name: names for name, names in differing.items() if names}, len(computed)


def main(numbers):
    """Prints the differences of the chapters; returns the exit code."""
    code = 0
    for number in numbers or parameters.chapters():
        unlike, count = differences(number)
        print(f"chapter {number}: {count} entries of stored rows, {len(unlike)} of them differ", flush=True)
        for name, fields in unlike.items():
            print(f"  {name}: {', '.join(fields)}")
        code = max(code, bool(unlike))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
