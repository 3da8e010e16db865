"""Provenance: each row of a table names its cell, from whose result the row's provenance follows.

A *cell* is one unit of stored work: a study at one setting and one seed. ``tabulate`` puts its key into the column
``cell`` and remembers its result. A filter, ``concat`` or ``merge`` keeps the column (``merge`` under the names
``cell_x``, ``cell_y``), so that settings, seconds, device, revision and data of a selection of rows are those of
exactly these rows. An average over rows loses the column and is refused here: pass the rows that were averaged.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from companion.lab.draws import RESERVED
from companion.lab.store import Cell, Result
from companion.lab.study import Study
from regimes.validate import InputError

CELL = "cell"
STAMP = ("seconds", "device", "revision")  # of its cell, in every row

_FINISHED: dict[str, Result] = {}  # of the cells in tables of this process, by their keys
_SETTINGS: dict[str, Result] = {}  # one of them for each setting, by its key
_DATA: dict[str, str] = {}  # of each study with such a cell, the name of the data of rows without a ``source``


def remember(study: Study, finished: Collection[Result]) -> None:
    """Keeps the results of a study's cells while this process lives."""
    _FINISHED.update({result.cell.key(): result for result in finished})
    _SETTINGS.update({result.cell.key(seed=False): result for result in finished})
    _DATA[study.name] = study.data


def tabulate(study: Study, finished: Collection[Result]) -> pd.DataFrame:
    """One row per measurement: the setting, ``seed``, the measured columns, the ``cell`` and its ``STAMP``."""
    rows = []
    settings: dict[str, None] = {}
    measured: dict[str, None] = {}
    for result in finished:
        stamp = {CELL: result.cell.key()} | {name: result.provenance[name] for name in STAMP}
        rows += [result.cell.setting | row | stamp for row in result.rows]
        settings |= dict.fromkeys(result.cell.setting)
        measured |= dict.fromkeys(name for row in result.rows for name in row)
    remember(study, finished)
    return pd.DataFrame(rows, columns=[*(settings | measured), CELL, *STAMP])


def origin(cell: Cell | str) -> Result:
    """The result of a cell, or of its key, by the sweep or the file that gave its rows."""
    return _FINISHED[cell if isinstance(cell, str) else cell.key()]


def alike(cell: Cell) -> Result | None:
    """A cell's result that a sweep or a file of this process gave; of a reserved seed one of its setting."""
    return _FINISHED.get(cell.key()) or (_SETTINGS.get(cell.key(seed=False)) if cell.seed >= RESERVED else None)


def names_cell(column: str) -> bool:
    """Whether a column holds cells' keys: ``cell``, or ``cell_...`` after a merge."""
    return column == CELL or str(column).startswith(f"{CELL}_")


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
        levels = {name: distinct(found) for name, found in sorted(values.items())}
        several = {name: found for name, found in levels.items() if len(found) > 1}
        varying = {name: found for name, found in several.items() if not isinstance(found[0], bool)}
        fixed = {name: found for name, found in levels.items() if len(found) == 1}
        return varying, fixed, distinct(setting["seeds"] for setting in self.settings)


def provenance(*tables: pd.DataFrame) -> Provenance:
    """The provenance of exactly these rows; InputError where there are none, or their cells are not known here."""
    keys = sorted({key for table in tables for key in _keys(table)})
    finished = [_FINISHED[key] for key in keys]
    made = [result.provenance for result in finished]
    studies = distinct(result.cell.study for result in finished)
    packages = dict.fromkeys(name for origin in made for name in origin["versions"])
    versions = {name: distinct(filter(None, (origin["versions"].get(name) for origin in made))) for name in packages}
    return Provenance(
        cells=tuple(keys),
        settings=tuple(_settings(study, [r.cell for r in finished if r.cell.study == study]) for study in studies),
        data=tuple(dict.fromkeys(words for table in tables for words in sources(table))),
        seconds=float(sum(origin["seconds"] for origin in made)),
        device=", ".join(distinct(origin["device"] for origin in made)),
        revision=", ".join(distinct(origin["revision"] for origin in made)),
        versions={name: ", ".join(listed) for name, listed in versions.items()},
    )


def sources(table: pd.DataFrame) -> list[str]:
    """The names of the data of these rows: their ``source``, else their studies' ``data``."""
    if "source" in table:
        return sorted(table["source"].dropna().unique())
    data = [_DATA[_FINISHED[key].cell.study] for key in _keys(table)]
    return distinct(words for words in data if words)


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


def _settings(study: str, cells: list[Cell]) -> dict[str, Any]:
    names = sorted({name for cell in cells for name in cell.setting})
    values = {name: distinct(cell.setting[name] for cell in cells if name in cell.setting) for name in names}
    return {"study": study, "values": values, "seeds": len({cell.seed for cell in cells})}


def _keys(table: pd.DataFrame) -> list[str]:
    """The distinct cells of a table's rows."""
    columns = list(filter(names_cell, table.columns))
    names = ", ".join(map(str, table.columns)) or "none"
    if table.empty:
        raise InputError(f"a table with the columns {names} holds no row")
    if not columns:
        lost = f"has no column {CELL!r}: pass the rows of the sweep, not their averages"
        raise InputError(f"a table with the columns {names} {lost}")
    if nameless := int(table[columns].isna().all(axis=1).sum()):
        raise InputError(f"{nameless} rows of a table name no cell")
    keys = sorted(table[columns].stack().dropna().unique())
    if unknown := [key for key in keys if key not in _FINISHED]:
        raise InputError(f"a table names the cell {unknown[0]!r}, which no sweep of this process has returned")
    return keys
