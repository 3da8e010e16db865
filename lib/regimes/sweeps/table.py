"""Where rows come from: each row of a sweep's table names its cell, and provenance is computed from those rows.

A *cell* is one unit of stored work: a study at one setting and one seed. ``sweep`` puts its key into the column
``cell`` and remembers what the key stands for; a filter, ``concat`` or ``merge`` keeps the column (``merge`` under the
names ``cell_x``, ``cell_y``), so that settings, seconds, device, revision and data of any selection of rows are those
of these rows and no others. What averages over rows loses the column, and is refused here: pass the rows that were
averaged.
"""

import dataclasses
import gzip
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from regimes.sweeps.store import Cell
from regimes.validate import InputError

CELL = "cell"
STAMP = ("seconds", "device", "revision")  # of its cell, in every row
LONG = 64  # entries of a list up to which it is kept in a table's file


@dataclass(frozen=True)
class Origin:
    """What a cell's key stands for.

    Attributes:
        study: the study's name.
        setting: the setting, without the seed.
        seed: the realisation.
        data: the words for its data, where its rows carry no ``source``.
        seconds: what it took.
        device: what computed it.
        revision: the checkout's commit then.
        versions: of Python and the packages that computed it.
    """

    study: str
    setting: Mapping[str, Any]
    seed: int
    data: str
    seconds: float
    device: str
    revision: str
    versions: Mapping[str, str]


_ORIGINS: dict[str, Origin] = {}


def remember(origins: Mapping[str, Origin]) -> None:
    """Keeps what cells' keys stand for, for as long as this process lives."""
    _ORIGINS.update(origins)


def names_cell(column: str) -> bool:
    """Whether a column holds cells' keys: ``cell``, or ``cell_...`` after a merge."""
    return column == CELL or str(column).startswith(f"{CELL}_")


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Writes a sweep's table as CSV (nine digits), and beside it (``.cells.json.gz``) what its cells' keys stand for.

    Settings and stamps stand with the cells and not in the rows. Lists of more than ``LONG`` entries are left out.

    Raises:
        InputError: as ``provenance``.
    """
    origins = {key: dataclasses.asdict(_ORIGINS[key]) for key in _keys(table)}
    told = [origins[key]["setting"] for key in table[CELL]]
    rows = table.drop(columns=[n for n in table.columns if n in STAMP or table[n].map(_entries).max() > LONG])
    own = [n for n in rows.columns if any(n not in setting or setting[n] != v for setting, v in zip(told, rows[n]))]
    lists = [n for n in own if rows[n].map(_entries).max() > 0]
    rows[own].assign(**{n: rows[n].map(_text) for n in lists}).to_csv(path, index=False, float_format="%.9g")
    # no time stamp: the same table gives the same bytes
    beside = gzip.compress(json.dumps({"lists": lists, "cells": origins}).encode(), mtime=0)
    path.with_suffix(".cells.json.gz").write_bytes(beside)


def read_csv(path: Path, *, version: int) -> pd.DataFrame:
    """A table that ``write_csv`` wrote, whose cells are known again; rows of another ``version`` of it are left out.

    Raises:
        InputError: if the file of its cells is not there.
    """
    beside = path.with_suffix(".cells.json.gz")
    if not beside.exists():
        raise InputError(f"{path.name} lies in {path.parent} without its {beside.name}: export the study again")
    held = json.loads(gzip.decompress(beside.read_bytes()))
    origins = {key: Origin(**origin) for key, origin in held["cells"].items()}
    origins = {key: o for key, o in origins.items() if Cell(o.study, version, dict(o.setting), o.seed).key() == key}
    # a cell that a sweep of this process has returned stands for that
    remember({key: origin for key, origin in origins.items() if key not in _ORIGINS})
    table = pd.read_csv(path)
    table = table[table[CELL].isin(origins)].reset_index(drop=True)
    table = table.assign(**{n: table[n].map(json.loads, na_action="ignore") for n in held["lists"]})
    told = [dict(origins[key].setting) | {n: getattr(origins[key], n) for n in STAMP} for key in table[CELL]]
    settings = pd.DataFrame(told)
    return pd.concat([settings.drop(columns=table.columns, errors="ignore"), table], axis=1)


def _entries(value: Any) -> int:
    """How many numbers or words a list holds, in lists within it too; 0 for what is no list."""
    return sum(max(1, _entries(one)) for one in value) if isinstance(value, (list, tuple)) else 0


def _text(value: Any) -> Any:
    """A list as JSON of nine digits; what is no list stays."""
    return json.dumps(_rounded(value)) if isinstance(value, (list, tuple)) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def alike(kept: pd.DataFrame, rows: pd.DataFrame, *free: str) -> pd.DataFrame:
    """Those of the ``kept`` rows that differ from ``rows`` in the settings ``free`` and in the seed alone.

    None of a data set (setting ``data``) of which some setting of ``rows`` was not kept: part of a changed grid would
    have more realisations than the rest. A cell that ``rows`` hold already is left out.
    """
    held = set(rows[CELL])
    wanted, known = ({_fixed(key, free) for key in keys} for keys in (held, kept[CELL]))
    changed = {data for data, _ in wanted - known}
    joins = {fixed for fixed in wanted if fixed[0] not in changed}
    return kept[[key not in held and _fixed(key, free) in joins for key in kept[CELL]]]


def balanced(table: pd.DataFrame, *by: str) -> pd.DataFrame:
    """The rows of those seeds that every point of a grid has, so that each realisation can be followed over it.

    Args:
        table: rows with ``seed`` and the axes of the grid.
        by: the axes.

    Raises:
        InputError: if no seed is everywhere.
    """
    sets = [set(rows.seed) for _, rows in table.groupby(list(by))]
    common = set.intersection(*sets) if sets else set()
    if not common:
        raise InputError(f"no seed is at each of the {len(sets)} points of {', '.join(by)}: use the same seeds there")
    return table[table.seed.isin(common)]


def _fixed(key: str, free: Collection[str]) -> tuple[str, str]:
    """A cell's data set, and its study and setting without what is free, to compare."""
    origin = _ORIGINS[key]
    rest = {name: value for name, value in origin.setting.items() if name not in free}
    return str(origin.setting.get("data")), json.dumps([origin.study, rest], sort_keys=True)


@dataclass(frozen=True)
class Provenance:
    """Where a selection of rows comes from.

    Attributes:
        cells: the keys of the cells, sorted.
        settings: for each study its name, the distinct values of each setting, sorted, and the number of ``seeds``.
        data: the words for the data, one each.
        seconds: what the cells took together.
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

        Both by name in alphabetical order, with all values over all studies. A switch that is on in some rows and off
        in others is in neither: it says what else was measured there, which the rows themselves show.
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
    """The provenance of exactly these rows.

    Raises:
        InputError: for a table without rows or without cells, or with rows whose cells are not known here.
    """
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
    """The words for the data of these rows: their ``source``, else what their studies say."""
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
    """The distinct cells of a table's rows.

    Raises:
        InputError: as ``provenance``.
    """
    columns = [name for name in table.columns if names_cell(name)]
    if table.empty or not columns:
        lost = (
            "holds no row" if table.empty else f"has no column {CELL!r}: pass the rows of the sweep, not their averages"
        )
        raise InputError(f"a table with the columns {', '.join(map(str, table.columns)) or 'none'} {lost}")
    if table[columns].isna().all(axis=1).any():
        raise InputError(f"{int(table[columns].isna().all(axis=1).sum())} rows of a table name no cell")
    keys = sorted({key for name in columns for key in table[name].dropna().unique()})
    unknown = [key for key in keys if key not in _ORIGINS]
    if unknown:
        raise InputError(f"a table names the cell {unknown[0]!r}, which no sweep of this process has returned")
    return keys
