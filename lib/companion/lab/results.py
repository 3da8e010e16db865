"""Stored results: ``results/`` is a second folder of the store, with a file per study, which is only read.

A file has a line per cell, in the format of the store (``companion.lab.store``): the cell, its rows, their
provenance, its key and a checksum of all this. The provenance also holds ``designs``: those that the cell is stored
for, each with its number of cells. Numbers have nine digits. A cell that is damaged or forged is refused by its name
and counts as not stored; no other is lost.
"""

import contextlib
import functools
import gzip
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from companion import paths
from companion.lab import schedule
from companion.lab.compare import differences, telling
from companion.lab.store import Cell, Damaged, Record, Store, decode, encode, write_atomically
from companion.lab.study import Rows, Study
from companion.lab.table import CELL, remember, tabulate
from regimes.validate import InputError

SUFFIX = ".cells.jsonl.gz"
LONG = 512  # entries of a list up to which it is kept


def files() -> dict[str, Path]:
    """The files of stored results, by their studies' names."""
    return {path.name.removesuffix(SUFFIX): path for path in sorted(paths.results().glob(f"*{SUFFIX}"))}


class Results:
    """What ``results/`` holds of a study.

    Attributes:
        study: whose cells they are.
        path: of the file.
        records: by the keys of their cells, in the order of the file; empty where nothing is stored.
        refused: why a cell is damaged or forged, by its key. Such a cell counts as not stored.

    Raises:
        InputError: for a file that cannot be unpacked, or that lacks cells of a design.
    """

    def __init__(self, study: Study, path: Path | None = None) -> None:
        self.study, self.path = study, path or paths.results() / f"{study.name}{SUFFIX}"
        self.records: dict[str, Record] = {}
        self.refused: dict[str, str] = {}
        for number, line in enumerate(self._lines(), 1):
            try:
                self._add(decode(line))
            except Damaged as error:
                key, words = _named(line, number)
                self.records.pop(key, None)
                self.refused[key] = f"{self.path.name} is refused, {words}: {error}; {self._remedy()}"
        if not self.refused:
            self._count()
        self.records = {key: record for key, record in self.records.items() if record.cell.version == study.version}
        remember(study, self.records.values())

    def _lines(self) -> list[str]:
        if not self.path.exists():
            return []
        text = ""
        with contextlib.suppress(OSError, EOFError, zlib.error):
            text = gzip.decompress(self.path.read_bytes()).decode(errors="replace")
        if not text:
            why = "is damaged, or was not written by this book"
            raise InputError(f"{self.path.name} {why}; {self._remedy()}")
        return [line for line in text.split("\n") if line]

    def _add(self, record: Record) -> None:
        """Takes a record that is of this study, stored for designs, and the first of its cell."""
        designs, key = record.provenance.get("designs"), record.cell.key()
        if record.cell.study != self.study.name:
            raise Damaged("it is of another study")
        if not isinstance(designs, dict) or not all(isinstance(count, int) for count in designs.values()):
            raise Damaged("it does not say for which designs it is stored")
        if key in self.records or key in self.refused:
            raise Damaged("there are several of it")
        self.records[key] = record

    def _count(self) -> None:
        """InputError where cells of a design are missing: whoever removes a cell leaves the others' count."""
        counts = Counter(name for record in self.records.values() for name in record.provenance["designs"])
        for record in self.records.values():
            for name, count in record.provenance["designs"].items():
                if count != counts[name]:
                    why = f"it holds {counts[name]} of the {count} cells of the design {name}"
                    raise InputError(f"{self.path.name} is refused: {why}; {self._remedy()}")

    def _remedy(self) -> str:
        return (
            f"take it from git again, or remove it and run: python -m companion.studies store-results {self.study.name}"
        )

    @functools.cached_property
    def rows(self) -> pd.DataFrame:
        """The table of all cells, in the order of the file."""
        return tabulate(self.study, self.records.values())

    @functools.cached_property
    def settings(self) -> set[str]:
        """The keys of the settings that it has cells of."""
        return {record.cell.key(seed=False) for record in self.records.values()}

    def of_design(self, design: str) -> dict[str, Cell]:
        """The cells that are stored for a design, by their keys."""
        return {key: record.cell for key, record in self.records.items() if design in record.provenance["designs"]}

    def of_data(self, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
        """The cells whose data are on this machine (``is_here``), by their settings."""
        return [record.cell for record in self.records.values() if is_here(record.cell.setting)]

    def take(self, cells: Mapping[str, Cell]) -> pd.DataFrame:
        """The rows of cells by their keys: of those that are not here, which are computed; then of the others."""
        new = [cell for key, cell in cells.items() if key not in self.records]
        parts = [tabulate(self.study, records_of(self.study, new).values())] if new else []
        if len(new) < len(cells):
            parts.append(self.rows[self.rows[CELL].isin(cells.keys())])
        return pd.concat(parts, ignore_index=True)

    def blind(self, recomputed: Mapping[str, Record]) -> list[str]:
        """The statistical columns in which these cells would not show a ``FACTOR`` in what is stored."""
        telling_columns = set().union(*(telling(self.study, record.rows) for record in self.records.values()))
        return [column for column in sorted(telling_columns) if not self.differences(recomputed, forged=column)]

    def differences(self, recomputed: Mapping[str, Record], *, forged: str = "") -> list[str]:
        """The disagreements with cells that were computed again, one line each; as if a column was ``forged``."""
        stored = {record.cell: record.rows for record in self.records.values()}
        written = _columns(self.records.values())
        left_out = _columns(recomputed.values(), lambda value: isinstance(value, list)) - written
        rows = {record.cell: _without(record.rows, left_out) for record in recomputed.values()}
        return differences(self.study, stored, rows, repeated=self.repeated(recomputed), forged=forged)

    def repeated(self, recomputed: Mapping[str, Record]) -> set[Cell]:
        """The cells whose numbers must repeat: computed by the same code on the same kind of processor."""

        def arithmetic(record: Record) -> tuple[str, dict[str, str]]:
            return record.provenance["digest"], record.provenance["versions"]

        candidates = recomputed if self.study.repeats else {}
        pairs = [(record, self.records[key]) for key, record in candidates.items()]
        return {record.cell for record, stored in pairs if arithmetic(record) == arithmetic(stored)}

    def export(self, path: Path) -> None:
        """Writes the table as CSV for spreadsheets: settings and measurements, lists as JSON."""

        def text(value: Any) -> Any:
            return json.dumps(value) if isinstance(value, list) else value

        words = self.rows.select_dtypes(object)
        self.rows.assign(**{name: words[name].map(text) for name in words}).to_csv(path, index=False)


def records_of(
    study: Study, cells: Sequence[Cell], *, store: Store | None = None, jobs: int | None = None
) -> dict[str, Record]:
    """The records of cells by their keys, from a store or computed; see ``sweep``."""
    records = schedule.fill({study: cells}, store or Store.default(), jobs=jobs) if cells else {}
    return {record.cell.key(): record for record in records.values()}


def write_results(study: Study, records: Sequence[Record], path: Path, designs: Mapping[str, Collection[str]]) -> None:
    """Writes cells as stored results: numbers to nine digits, without lists of more than ``LONG`` entries.

    The same cells give the same bytes.

    Args:
        study: whose cells they are.
        records: of the cells.
        path: the file.
        designs: the keys of the cells of some designs, which are stored for these; other designs keep their cells.

    Raises:
        InputError: if a column that the study does not declare ``nonfinite`` holds NaN or infinity, or lacks a value in
            some rows of a cell. A cell may lack a column: its design did not ask for that observable.
    """
    long = _columns(records, lambda value: _entries(value) > LONG)
    for record in records:
        for name in sorted(_columns([record]) - long - {*study.nonfinite}):
            for value in (row.get(name) for row in record.rows):
                if not _is_whole(value):
                    words = "nothing or NaN" if value is None or value != value else value
                    why = f"{name} holds {words}, and its study does not say so: @study(..., nonfinite=[{name!r}])"
                    raise InputError(f"{path.name} is not written, {record.cell.description}: {why}")
    stored_for: dict[str, list[str]] = {}
    for record in records:
        key = record.cell.key()
        kept_designs = [name for name in record.provenance.get("designs", ()) if name not in designs]
        new_designs = [name for name, keys in designs.items() if key in keys]
        stored_for[key] = sorted(kept_designs + new_designs)
    counts = Counter(name for names in stored_for.values() for name in names)
    lines = []
    for record in records:
        rows = [{name: _rounded(value) for name, value in row.items()} for row in _without(record.rows, long)]
        designs_here = {name: counts[name] for name in stored_for[record.cell.key()]}
        lines.append(encode(record.cell, rows, record.provenance | {"designs": designs_here}) + "\n")
    write_atomically(path, gzip.compress("".join(lines).encode(), mtime=0))


def _without(rows: Rows, columns: Collection[str]) -> Rows:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


def _columns(records: Collection[Record], holds: Callable[[Any], bool] = lambda value: True) -> set[str]:
    """The columns of the rows of cells in which some value is such as ``holds`` says."""
    return {name for record in records for row in record.rows for name, value in row.items() if holds(value)}


def _is_whole(value: Any) -> bool:
    """Whether a value is a word, a finite number, or a list of such."""
    if isinstance(value, list):
        return all(map(_is_whole, value))
    return isinstance(value, str) or (value is not None and math.isfinite(value))


def _entries(value: Any) -> int:
    """The number of entries of a list, nested lists included; 0 for any other value."""
    return sum(max(1, _entries(entry)) for entry in value) if isinstance(value, list) else 0


def _rounded(value: Any) -> Any:
    """A number to nine digits, those of a list, too; any other value stays."""
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _named(line: str, number: int) -> tuple[str, str]:
    """The key of a cell that is refused and words for it, by what is left of its line; else the line's number."""
    with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError, RecursionError):
        parsed = json.loads(line)
        cell = Cell(parsed["study"], parsed["version"], parsed["setting"], parsed["seed"])
        if cell.key() == parsed["key"]:
            return parsed["key"], cell.description
    match = re.search(r'"key": "([0-9a-f]{24})"', line)
    return (match[1], f"cell {match[1]}") if match else (f"line {number}", f"line {number}")
