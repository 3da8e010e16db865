"""Provenance: each row of a sweep's table names its cell, from which the row's provenance follows.

A *cell* is one unit of stored work: a study at one setting and one seed. ``sweep`` puts its key into the column
``cell`` and remembers its origin. A filter, ``concat`` or ``merge`` keeps the column (``merge`` under the names
``cell_x``, ``cell_y``), so that settings, seconds, device, revision and data of a selection of rows are those of
exactly these rows. An average over rows loses the column and is refused here: pass the rows that were averaged.
"""

import contextlib
import csv
import dataclasses
import gzip
import hashlib
import io
import json
import math
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from companion.experiments.store import Cell, write_atomically
from regimes.validate import InputError

CELL = "cell"
STAMP = ("seconds", "device", "revision")  # of its cell, in every row
LONG = 512  # entries of a list up to which it is kept in a table's file
BESIDE = ".cells.json.gz"
PROOF = {"rows", "checksum"}  # of a cell: how many rows it has, and the digest of these and of its origin
ABOUT = ("lists", "words", "nonfinite")  # of a table, beside its text's digest: which columns hold what
# what the file holds for each part of a cell's origin and proof
_HELD = {"study": str, "version": int, "setting": dict, "seed": int, "data": str, "seconds": float, "device": str}
_HELD |= {"revision": str, "versions": dict, "digest": str, "designs": list, "rows": int, "checksum": str}


@dataclass(frozen=True)
class Origin:
    """The origin of a cell, behind its key.

    Attributes:
        study: the study's name.
        version: the study's.
        setting: the setting, without the seed.
        seed: the realisation.
        data: the name of its data, if its rows carry no ``source``.
        seconds: its computing time.
        device: that computed it.
        revision: the checkout's commit.
        versions: of Python and the packages, and what decides rounding.
        digest: of the code.
        designs: of its study that it is stored for; none of a cell that was just computed.
    """

    study: str
    version: int
    setting: Mapping[str, Any]
    seed: int
    data: str
    seconds: float
    device: str
    revision: str
    versions: Mapping[str, str]
    digest: str
    designs: Sequence[str] = ()

    def cell(self) -> Cell:
        """The cell that this is the origin of."""
        return Cell(self.study, self.version, dict(self.setting), self.seed)


_ORIGINS: dict[str, Origin] = {}


def remember(origins: Mapping[str, Origin]) -> None:
    """Keeps the origins of cells while this process lives."""
    _ORIGINS.update(origins)


def names_cell(column: str) -> bool:
    """Whether a column holds cells' keys: ``cell``, or ``cell_...`` after a merge."""
    return column == CELL or str(column).startswith(f"{CELL}_")


def write_csv(
    table: pd.DataFrame,
    path: Path,
    *,
    nonfinite: Collection[str] = (),
    designs: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Writes a sweep's table as CSV (nine digits), and beside it (``.cells.json.gz``) the origin of each cell.

    Settings and stamps are with the cells, not in the rows. Lists of more than ``LONG`` entries are left out. The
    second file also holds a checksum of each cell's rows and origin, and one of the whole.

    Args:
        table: of a sweep.
        path: the CSV file.
        nonfinite: columns that may hold NaN or infinity, or nothing in some rows; InputError where others do.
        designs: the keys of the cells of some designs, which are stored for these; other designs keep their cells.
    """
    marks = designs or {}
    origins = {key: dataclasses.asdict(_ORIGINS[key]) for key in _keys(table)}
    for key, origin in origins.items():
        others = [name for name in origin["designs"] if name not in marks]
        origin["designs"] = sorted([*others, *(name for name, keys in marks.items() if key in keys)])
    told = [origins[key]["setting"] for key in table[CELL]]
    rows = table.drop(columns=[n for n in table.columns if n in STAMP or table[n].map(_entries).max() > LONG])
    own = [n for n in rows.columns if any(n not in setting or setting[n] != v for setting, v in zip(told, rows[n]))]
    settings = {name for setting in told for name in setting}
    for name in sorted({*own} - {*settings, *nonfinite}):
        for key, value in zip(rows[CELL], rows[name]):
            if not _is_whole(value):
                shown = "nothing or NaN" if pd.isna(value) is True else value
                what = f"{name} holds {shown}, and its study does not say so: @study(..., nonfinite=[{name!r}])"
                raise InputError(f"{path.name} is not written, cell {key}: {what}")
    lists = [n for n in own if rows[n].map(_entries).max() > 0]
    words = [n for n in own if n not in lists and rows[n].map(lambda value: isinstance(value, str)).any()]
    about = {"lists": lists, "words": words, "nonfinite": sorted(nonfinite)}
    text = rows[own].assign(**{n: rows[n].map(_text) for n in lists}).to_csv(index=False, float_format="%.9g")
    seen = _columns(*_split(text))
    if unlike := sorted({*seen["lists"]} ^ {*lists} | {*seen["words"]} ^ {*words}):
        raise InputError(
            f"{path.name} is not written: the words in {', '.join(unlike)} would be read as numbers or lists"
        )
    _write_pair(path, text, about, origins)


def _write_pair(path: Path, text: str, about: Mapping[str, Any], origins: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes both files; one who reads in between finds that they do not belong together."""
    cells, (head, found) = {key: json.loads(json.dumps(origin)) for key, origin in origins.items()}, _split(text)
    proofs = {key: {"rows": len(found[key]), "checksum": _checksum(key, cells[key], head, found[key])} for key in cells}
    held = {"csv": _sha(text)} | dict(about) | {"cells": {key: cells[key] | proofs[key] for key in cells}}
    write_atomically(path, text)
    # no time stamp: the same table gives the same bytes
    write_atomically(path.with_suffix(BESIDE), gzip.compress(json.dumps(held).encode(), mtime=0))


def read_cells(path: Path, *, version: int) -> tuple[pd.DataFrame, dict[str, Origin], dict[str, str]]:
    """The whole cells of a table that ``write_csv`` wrote: their rows and origins; and why others are refused, by key.

    A cell that is damaged or forged is left out alone. InputError where a file is missing or no such file, or where its
    cells are whole and the file is not.
    """
    text, held = _read_pair(path)
    if "\r" in text and held["csv"] != _sha(text):
        why = "its line ends were changed, as git does where core.autocrlf is on"
        raise InputError(f"{path.name} is refused: {why}; switch that off, remove the file and check it out again")
    head, found = _split(text)
    refused = {}
    for key in dict.fromkeys([*held["cells"], *found]):
        if reason := _changed(key, held["cells"].get(key), head, found.get(key, [])):
            refused[key] = f"{path.name} is refused, {_named(key, held['cells'].get(key))}: {reason}; {_remedy(path)}"
            held["cells"].pop(key, None)
            found.pop(key, None)
    if not held["cells"]:
        return pd.DataFrame(), {}, refused
    if refused:
        text = _joined(head, found)
    elif held["csv"] != _sha(text):
        raise InputError(f"{path.name} is refused: its rows were moved since they were written; {_remedy(path)}")
    seen, about = _columns(head, found), {name: sorted(held[name]) for name in ("lists", "words")}
    is_other = any({*seen[name]} - {*about[name]} for name in seen) if refused else seen != about
    if is_other or not set(held["nonfinite"]) <= set(head):
        raise InputError(f"{path.name} is refused: its columns hold other things than was written; {_remedy(path)}")
    own = {key: held["cells"][key] for key in found if held["cells"][key]["version"] == version}
    origins = {key: Origin(**{n: v for n, v in cell.items() if n not in PROOF}) for key, cell in own.items()}
    # an empty field is what a row lacks; a word such as "None" is a word
    texts = dict.fromkeys([*held["words"], *held["lists"]], str)
    table = pd.read_csv(io.StringIO(text), dtype=texts, keep_default_na=False, na_values=[""])
    table = table.assign(**{n: table[n].map(json.loads, na_action="ignore") for n in held["lists"]})
    table = table[table[CELL].isin(origins)].reset_index(drop=True)
    told = [dict(origins[key].setting) | {n: getattr(origins[key], n) for n in STAMP} for key in table[CELL]]
    return pd.concat([pd.DataFrame(told).drop(columns=table.columns, errors="ignore"), table], axis=1), origins, refused


def _joined(head: list[str], found: Mapping[str, list[list[str]]]) -> str:
    """The text of a table from its columns and its rows by cell."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([head, *(row for rows in found.values() for row in rows)])
    return text.getvalue()


def rows_by_cell(table: pd.DataFrame) -> dict[Cell, list[dict[str, Any]]]:
    """The rows of each cell of a table, without their stamps, to compare."""
    rows = table.drop(columns=list(STAMP)).to_dict("records")
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.pop(CELL), []).append(row)
    return {_ORIGINS[key].cell(): own for key, own in found.items()}


def origin(cell: Cell | str) -> Origin:
    """Where the rows of a cell, or of its key, come from, by the sweep or the file that gave them."""
    return _ORIGINS[cell if isinstance(cell, str) else cell.key()]


def _read_pair(path: Path) -> tuple[str, dict[str, Any]]:
    """Both files of a table, each whole."""
    beside = path.with_suffix(BESIDE)
    for file, other in ((path, beside), (beside, path)):
        if not file.exists():
            raise InputError(f"{other.name} lies in {path.parent} without its {file.name}; {_remedy(path)}")
    try:
        held = json.loads(gzip.decompress(beside.read_bytes()))
        columns = [name for names in ABOUT for name in held[names]]
        if {*map(type, held["cells"].values())} - {dict} or {*map(type, [held["csv"], *columns])} != {str}:
            raise ValueError
    except (OSError, EOFError, zlib.error, ValueError, KeyError, AttributeError, TypeError):
        raise InputError(f"{beside.name} is damaged, or was not written by this book; {_remedy(path)}") from None
    try:
        return path.read_bytes().decode(), held
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path.name} cannot be read; {_remedy(path)}") from None


def _is_cell(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of the file holds all parts, each of its kind, and took some time."""
    kinds = {"designs": list} | {name: type(value) for name, value in cell.items()}  # older tables name no designs
    words = [*cell["versions"].values(), *cell.get("designs", [])] if kinds == _HELD else [None]
    return {*map(type, words)} <= {str} and 0 < cell["seconds"] < math.inf


def _columns(head: list[str], rows: Mapping[str, list[list[str]]]) -> dict[str, list[str]]:
    """The columns of a text that hold ``lists``, and those that hold ``words``, with the cells' keys."""
    fields = {name: {row[i] for own in rows.values() for row in own} - {""} for i, name in enumerate(head)}
    lists = {name for name, values in fields.items() if values and all(value[0] == "[" for value in values)}
    words = {n for n, values in fields.items() if n == CELL or (n not in lists and not all(map(_is_number, values)))}
    return {"lists": sorted(lists), "words": sorted(words)}


def _is_number(field: str) -> bool:
    """Whether a field of a text is a number or a truth value, as they are written."""
    with contextlib.suppress(ValueError):
        return isinstance(float(field), float)
    return field in ("True", "False")


def _changed(key: str, cell: Mapping[str, Any] | None, head: list[str], rows: list[list[str]]) -> str:
    """Why a cell of a table's file is refused; empty if it is good."""
    if cell is None:
        return "no such cell was written"
    if not _is_cell(cell):
        return "where it comes from is damaged"
    if len(rows) != cell["rows"]:
        return f"{cell['rows']} rows were written, {len(rows)} are there"
    origin = {name: value for name, value in cell.items() if name not in PROOF}
    if Origin(**origin).cell().key() != key:
        return "its setting is another cell's"
    if cell["checksum"] != _checksum(key, origin, head, rows):
        return "its rows, or where they come from, were changed since they were written"
    return ""


def _named(key: str, cell: Mapping[str, Any] | None) -> str:
    """A cell with its setting and seed, where these are its own."""
    if cell and _is_cell(cell):
        own = Cell(cell["study"], cell["version"], cell["setting"], cell["seed"])
        return own.description if own.key() == key else f"cell {key}"
    return f"cell {key}"


def _split(text: str) -> tuple[list[str], dict[str, list[list[str]]]]:
    """The columns of a CSV text, and its rows by cell, as they are written; what is cut is of the cell with no name."""
    head, *rows = list(csv.reader(io.StringIO(text, newline=""))) or [[]]
    place = head.index(CELL) if CELL in head else math.inf
    found: dict[str, list[list[str]]] = {}
    for row in rows:
        found.setdefault(row[place] if place < len(row) == len(head) else "", []).append(row)
    return head, found


def _checksum(key: str, origin: Mapping[str, Any], head: list[str], rows: list[list[str]]) -> str:
    """Digest of a cell: its origin, and its rows as they are written."""
    return _sha(json.dumps([key, origin, head, rows], sort_keys=True))[:16]


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _remedy(path: Path) -> str:
    return f"take both files from git again, or remove them and run: python -m companion.studies keep {path.stem}"


def _is_whole(value: Any) -> bool:
    """Whether a value is a word, a finite number, or a list of such."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_whole, value))
    return isinstance(value, str) or (value is not None and math.isfinite(value))


def _entries(value: Any) -> int:
    """The number of entries of a list, nested lists included; 0 for any other value."""
    return sum(max(1, _entries(one)) for one in value) if isinstance(value, (list, tuple)) else 0


def _text(value: Any, *, inside: bool = False) -> Any:
    """A list as JSON of nine digits; any other value stays."""
    if isinstance(value, (list, tuple)):
        found = [_text(one, inside=True) for one in value]
        return found if inside else json.dumps(found)
    return float(f"{value:.9g}") if inside and isinstance(value, float) else value


@dataclass(frozen=True)
class Provenance:
    """The provenance of a selection of rows.

    Attributes:
        cells: the keys of the cells, sorted.
        settings: for each study its name, the distinct values of each setting, sorted, and the number of ``seeds``.
        data: the names of the data.
        seconds: total time of the cells.
        device: all that computed them.
        revision: all revisions they were computed at.
        versions: of Python and packages; several are listed.
    """

    cells: tuple[str, ...]
    settings: tuple[dict[str, Any], ...]
    data: tuple[str, ...]
    seconds: float
    device: str
    revision: str
    versions: dict[str, str]

    def axes(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]], list[int]]:
        """The settings that vary over these rows, those that do not, and the numbers of seeds of the studies.

        Both are in alphabetical order, with all values over all studies. A switch that is on in some rows and off in
        others is in neither.
        """
        values: dict[str, list[Any]] = {}
        for setting in self.settings:
            for name, found in setting["values"].items():
                values.setdefault(name, []).extend(found)
        merged = {name: distinct(found) for name, found in sorted(values.items())}
        varying = {name: found for name, found in merged.items() if len(found) > 1 and not isinstance(found[0], bool)}
        fixed = {name: found for name, found in merged.items() if len(found) == 1}
        return varying, fixed, distinct(setting["seeds"] for setting in self.settings)


def provenance(*tables: pd.DataFrame) -> Provenance:
    """The provenance of exactly these rows; InputError where there are none, or their cells are not known here."""
    keys = sorted({key for table in tables for key in _keys(table)})
    origins = [_ORIGINS[key] for key in keys]
    studies = distinct(origin.study for origin in origins)
    packages = dict.fromkeys(name for origin in origins for name in origin.versions)
    versions = {name: distinct(o.versions[name] for o in origins if name in o.versions) for name in packages}
    return Provenance(
        cells=tuple(keys),
        settings=tuple(_settings(study, [o for o in origins if o.study == study]) for study in studies),
        data=tuple(dict.fromkeys(words for table in tables for words in sources(table))),
        seconds=float(sum(origin.seconds for origin in origins)),
        device=", ".join(distinct(origin.device for origin in origins)),
        revision=", ".join(distinct(origin.revision for origin in origins)),
        versions={name: ", ".join(found) for name, found in versions.items()},
    )


def sources(table: pd.DataFrame) -> list[str]:
    """The names of the data of these rows: their ``source``, else their studies' ``data``."""
    if "source" in table:
        return sorted(table["source"].dropna().unique())
    return distinct(_ORIGINS[key].data for key in _keys(table) if _ORIGINS[key].data)


def distinct(values: Iterable[Any]) -> list[Any]:
    """Distinct values, sorted where they can be, else in order of appearance."""
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    try:
        return sorted(seen)
    except TypeError:
        return seen


def _settings(study: str, origins: list[Origin]) -> dict[str, Any]:
    names = sorted({name for origin in origins for name in origin.setting})
    values = {n: distinct(o.setting[n] for o in origins if n in o.setting) for n in names}
    return {"study": study, "values": values, "seeds": len({origin.seed for origin in origins})}


def _keys(table: pd.DataFrame) -> list[str]:
    """The distinct cells of a table's rows."""
    columns, shown = list(filter(names_cell, table.columns)), ", ".join(map(str, table.columns)) or "none"
    if table.empty:
        raise InputError(f"a table with the columns {shown} holds no row")
    if not columns:
        lost = f"has no column {CELL!r}: pass the rows of the sweep, not their averages"
        raise InputError(f"a table with the columns {shown} {lost}")
    if nameless := int(table[columns].isna().all(axis=1).sum()):
        raise InputError(f"{nameless} rows of a table name no cell")
    keys = sorted(table[columns].stack().dropna().unique())
    if unknown := [key for key in keys if key not in _ORIGINS]:
        raise InputError(f"a table names the cell {unknown[0]!r}, which no sweep of this process has returned")
    return keys
