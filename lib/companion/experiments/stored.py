"""Stored results in place of most of a run: what ``results/`` holds is not computed again, but for a sample.

A table in ``results/`` (``chapters/profiles/stored.toml``) holds more of its study than the laptop profile asks for. A
run at that profile's parameters therefore takes the table as it is, and computes a few batches of it, which must agree
as far as the study's columns promise (``companion.experiments.compare``).
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from companion import paths
from companion.experiments.queue import block
from companion.experiments.store import Cell
from companion.experiments.study import Setting, Study
from companion.experiments.table import origin, read_csv, rows_by_cell

SECONDS = 3.0  # of stored results that a run computes again, a study, or the batch that took least
LONGEST = 10.0  # seconds of a batch above which a run leaves it to ``python -m companion.studies verify``


def table(study: Study) -> pd.DataFrame:
    """The stored results of a study, empty where there are none.

    Raises:
        InputError: as ``companion.experiments.table.read_csv``.
    """
    path = paths.results() / f"{study.name}.csv"
    return read_csv(path, version=study.version) if path.exists() else pd.DataFrame()


def remaining(
    study: Study,
    grid: Sequence[Setting],
    usual: Sequence[Setting],
    is_here: Callable[[Mapping[str, Any]], bool] = lambda setting: True,
) -> list[Setting]:
    """What a run has to compute of a grid: what no stored result holds, and some of these to check them.

    All of it where the grid is not the ``usual`` one, that of the laptop profile, and where nothing is stored. A
    setting with data that stand in for those of the stored results, which are not on this machine, is left out.

    Args:
        study: the study.
        grid: the settings asked for, each with its ``seeds``.
        usual: those of the laptop profile.
        is_here: whether the data of a setting are on this machine.
    """
    held = table(study) if list(grid) == list(usual) else pd.DataFrame()
    if held.empty:
        return list(grid)
    batches: dict[str, list[Cell]] = {}
    for cell in rows_by_cell(held):
        batches.setdefault(block(study, cell), []).append(cell)
    settings = [cells[0].setting for cells in batches.values()]
    data = {setting.get("data") for setting in settings}
    fresh = [s for s in grid if s.get("data") in data and {k: v for k, v in s.items() if k != "seeds"} not in settings]
    checks = _sample(study, [cells for cells in batches.values() if is_here(cells[0].setting)])
    return fresh + [cells[0].setting | {"seeds": [cell.seed for cell in cells]} for cells in checks]


def _sample(study: Study, batches: list[list[Cell]]) -> list[list[Cell]]:
    """Batches at random that took ``SECONDS`` together, else the one that took least; the same ones in every run."""
    took = {id(cells): sum(origin(cell).seconds for cell in cells) for cells in batches}
    batches = [cells for cells in batches if took[id(cells)] <= LONGEST]
    batches.sort(key=lambda cells: (took[id(cells)], cells[0].key()))
    chosen, left = batches[:1], SECONDS - sum(took[id(cells)] for cells in batches[:1])
    others = batches[1:]
    random.Random(study.name).shuffle(others)
    for cells in others:
        if took[id(cells)] <= left:
            chosen.append(cells)
            left -= took[id(cells)]
    return chosen
