"""Stored results: ``results/`` is a second folder of the store, with a file per study, which is only read.

A file has a line per cell, in the format of the store (``companion.lab.store``): the cell, its rows, their
provenance, its key and a checksum of all this. Numbers have nine digits. A cell that is damaged or forged is refused
by its name and counts as not stored; no other is lost. Which cells there should be, the designs say.
"""

import contextlib
import functools
import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from companion import paths
from companion.lab import schedule
from companion.lab.compare import differences, telling
from companion.lab.store import Cell, Damaged, Result, Store, decode, encode, write_atomically
from companion.lab.study import Rows, Study
from companion.lab.table import CELL, remember, tabulate
from regimes.validate import InputError

SUFFIX = ".cells.jsonl.gz"
LONG = 600  # entries of a list up to which it is kept


def files() -> dict[str, Path]:
    """The files of stored results, by their studies' names."""
    return {path.name.removesuffix(SUFFIX): path for path in sorted(paths.results().glob(f"*{SUFFIX}"))}


class Results:
    """What ``results/`` holds of a study.

    Attributes:
        study: whose cells they are.
        path: of the file.
        finished: by the keys of their cells, in the order of the file; empty where nothing is stored.
        refused: why a cell is damaged or forged, by its key. Such a cell counts as not stored.

    Raises:
        InputError: for a file that cannot be unpacked.
    """

    def __init__(self, study: Study, path: Path | None = None) -> None:
        self.study, self.path = study, path or paths.results() / f"{study.name}{SUFFIX}"
        self.finished: dict[str, Result] = {}
        self.refused: dict[str, str] = {}
        for number, line in enumerate(self._lines(), 1):
            try:
                self._add(decode(line))
            except Damaged as error:
                key, words = _named(line, number)
                self.finished.pop(key, None)
                self.refused[key] = f"{self.path.name} is refused, {words}: {error}; {self._remedy()}"
        self.finished = {key: result for key, result in self.finished.items() if result.cell.version == study.version}
        remember(study, self.finished.values())

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

    def _add(self, result: Result) -> None:
        """Takes a result that is of this study, and the first of its cell."""
        key = result.cell.key()
        if result.cell.study != self.study.name:
            raise Damaged("it is of another study")
        if key in self.finished or key in self.refused:
            raise Damaged("there are several of it")
        self.finished[key] = result

    def _remedy(self) -> str:
        return (
            f"take it from git again, or remove it and run: python -m companion.studies store-results {self.study.name}"
        )

    @classmethod
    def of(cls, study: Study) -> "Results":
        """Those of a study, which are read once as long as their file stays as it is."""
        path = paths.results() / f"{study.name}{SUFFIX}"
        state = path.stat() if path.exists() else None
        found = _read(study, path, state and (state.st_mtime_ns, state.st_size, state.st_ino))
        remember(study, found.finished.values())
        return found

    @functools.cached_property
    def rows(self) -> pd.DataFrame:
        """The table of all cells, in the order of the file."""
        return tabulate(self.study, self.finished.values())

    @functools.cached_property
    def settings(self) -> set[str]:
        """The keys of the settings that it has cells of."""
        return {result.cell.key(seed=False) for result in self.finished.values()}

    def of_data(self, is_here: Callable[[Mapping[str, Any]], bool]) -> list[Cell]:
        """The cells whose data are on this machine (``is_here``), by their settings, each data set asked for once."""
        cells = [result.cell for result in self.finished.values()]
        named = [(cell.setting.get("words"), cell.setting.get("data")) for cell in cells]
        first = {str(data): cell.setting for data, cell in zip(named, cells)}
        there = {data for data, setting in first.items() if is_here(setting)}
        return [cell for data, cell in zip(named, cells) if str(data) in there]

    def take(self, cells: Mapping[str, Cell]) -> pd.DataFrame:
        """The rows of cells by their keys: of those that are not here, which are computed; then of the others."""
        new = [cell for key, cell in cells.items() if key not in self.finished]
        parts = [tabulate(self.study, finished_cells(self.study, new).values())] if new else []
        if len(new) < len(cells):
            parts.append(self.rows[self.rows[CELL].isin(cells.keys())])
        return pd.concat(parts, ignore_index=True)

    def blind(self, recomputed: Mapping[str, Result]) -> list[str]:
        """The statistical columns in which these cells would not show a ``FACTOR`` in what is stored."""
        telling_columns = set().union(*(telling(self.study, result.rows) for result in self.finished.values()))
        return [column for column in sorted(telling_columns) if not self.differences(recomputed, forged=column)]

    def differences(self, recomputed: Mapping[str, Result], *, forged: str = "") -> list[str]:
        """The disagreements with cells that were computed again, one line each; as if a column was ``forged``."""
        stored = {result.cell: result.rows for result in self.finished.values()}
        written = _columns(self.finished.values())
        left_out = _columns(recomputed.values(), lambda value: isinstance(value, list)) - written
        rows = {result.cell: _without(result.rows, left_out) for result in recomputed.values()}
        return differences(self.study, stored, rows, repeated=self.repeated(recomputed), forged=forged)

    def repeated(self, recomputed: Mapping[str, Result]) -> set[Cell]:
        """The cells whose numbers must repeat: computed by the same code on the same kind of processor."""

        def arithmetic(result: Result) -> tuple[str, dict[str, str]]:
            return result.provenance["digest"], result.provenance["versions"]

        candidates = recomputed if self.study.repeats else {}
        pairs = [(result, self.finished[key]) for key, result in candidates.items()]
        return {result.cell for result, stored in pairs if arithmetic(result) == arithmetic(stored)}

    def export(self, path: Path) -> None:
        """Writes the table as CSV for spreadsheets: settings and measurements, lists as JSON."""

        def text(value: Any) -> Any:
            return json.dumps(value) if isinstance(value, list) else value

        words = self.rows.select_dtypes(object)
        self.rows.assign(**{name: words[name].map(text) for name in words}).to_csv(path, index=False)


@functools.cache
def _read(study: Study, path: Path, state: tuple[int, ...] | None) -> Results:
    return Results(study, path)


def finished_cells(
    study: Study, cells: Sequence[Cell], *, store: Store | None = None, jobs: int | None = None
) -> dict[str, Result]:
    """The results of cells by their keys, from a store or computed; see ``sweep``."""
    finished = schedule.fill({study: cells}, store or Store.default(), jobs=jobs) if cells else {}
    return {result.cell.key(): result for result in finished.values()}


def write_results(study: Study, finished: Sequence[Result], path: Path, *, as_drawn: bool = False) -> None:
    """Writes cells as stored results: numbers to nine digits, without lists of more than ``LONG`` entries.

    The same cells give the same bytes.

    Args:
        study: whose cells they are.
        finished: the cells.
        path: of the file.
        as_drawn: whatever they hold is written: a run that is done once must not lose what it drew.

    Raises:
        InputError: unless ``as_drawn``, if a column that the study does not declare ``nonfinite`` holds NaN or
            infinity, or lacks a value in some rows of a cell. A cell may lack a column: its design did not ask for
            that observable.
    """
    long = _columns(finished, lambda value: _entries(value) > LONG)
    if not as_drawn:
        _need_defined(study, finished, long, path)
    lines = []
    for result in finished:
        rows = [{name: _rounded(value) for name, value in row.items()} for row in _without(result.rows, long)]
        lines.append(encode(result.cell, rows, result.provenance) + "\n")
    write_atomically(path, gzip.compress("".join(lines).encode(), mtime=0))


def _need_defined(study: Study, finished: Sequence[Result], long: Collection[str], path: Path) -> None:
    """InputError for a cell with NaN, infinity or a gap in a column that is written and not ``nonfinite``."""
    for result in finished:
        for name in sorted(_columns([result]) - long - {*study.nonfinite}):
            for value in (row.get(name) for row in result.rows):
                if not _is_whole(value):
                    words = "nothing or NaN" if value is None or value != value else value
                    why = f"{name} holds {words}, and its study does not say so: @study(..., nonfinite=[{name!r}])"
                    raise InputError(f"{path.name} is not written, {result.cell.description}: {why}")


def _without(rows: Rows, columns: Collection[str]) -> Rows:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


def _columns(finished: Collection[Result], holds: Callable[[Any], bool] = lambda value: True) -> set[str]:
    """The columns of the rows of cells in which some value is such as ``holds`` says."""
    return {name for result in finished for row in result.rows for name, value in row.items() if holds(value)}


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
    match = re.search(r'"key": ?"([0-9a-f]{24})"', line)
    return (match[1], f"cell {match[1]}") if match else (f"line {number}", f"line {number}")
