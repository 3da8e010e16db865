"""Studies over grids of settings: parallel, resumable, and void when their numbers change.

A *study* is a named pure function from one setting and a list of seeds to rows. ``sweep`` maps it over a grid and
returns a tidy table. A *cell* is one (study, version, setting, seed). It is stored as soon as it is finished, so that a
killed sweep resumes, and two sweeps on one store share the work (``companion.lab.schedule``).

Each stored cell carries the digest of its code. Under a new digest a sample of the stored cells is computed again
(``companion.lab.recheck``): if it agrees within the study's tolerance the rest stays valid, else the cells of
the old digest are void.
"""

from collections.abc import Sequence

import pandas as pd

from companion.lab import schedule
from companion.lab.design import Entries
from companion.lab.store import Cell, Store
from companion.lab.study import STATISTICAL, Rows, Study, study
from companion.lab.table import tabulate
from companion.lab.workers import check_names
from regimes import validate
from regimes.validate import InputError

__all__ = ["STATISTICAL", "Rows", "Study", "cells", "study", "sweep"]


def sweep(
    study: Study,
    grid: Sequence[Entries],
    *,
    budget: float | None = None,
    store: Store | None = None,
    jobs: int | None = None,
) -> pd.DataFrame:
    """All rows of a study over a grid, computing only the cells that the store lacks.

    Args:
        study: the study.
        grid: settings, each with its ``seeds``, such as ``study.grid.of(n=[100, 200], seeds=5)``.
        budget: seconds after which no further cell is started; ``None`` for all.
        store: where cells are kept; the default is ``$REGIMES_STORE``, else ``build/cells`` of the book.
        jobs: worker processes; by default one per core (a single one if the study runs on CUDA).
            ``$REGIMES_SCHEDULER=tcp://...`` sends the cells to that Dask cluster instead.

    Returns:
        A table with one row per measurement, which holds the setting, ``seed``, the measured columns, the key of its
        ``cell`` (see ``companion.lab.table``) and that cell's ``seconds``, ``device`` and ``revision``.
        ``attrs["missing"]`` counts the cells that the budget left out.

    Raises:
        InputError: for invalid settings, rows of other seeds than asked for, a store that vanishes or is full, or a
            cluster that does not answer.
        CellError: if the study raises, in one line with the setting and the seeds.
    """
    asked = {study: cells(study, grid)}
    if budget is not None:
        validate.positive(budget=budget)
    if jobs is not None:
        validate.integer(1, jobs=jobs)
    held = schedule.fill(asked, store or Store.default(), budget=budget, jobs=jobs).values()
    table = tabulate(study, [record for record in held if record is not None])
    table.attrs = {"missing": sum(record is None for record in held)}
    return table


def cells(study: Study, grid: Sequence[Entries]) -> list[Cell]:
    """The cells of a grid, which must hold a setting, and none with a name that is taken."""
    if not grid:
        raise InputError(f"the grid of {study.name} holds no setting")
    check_names(study, {name for setting in grid for name in setting})
    pairs = [({k: v for k, v in setting.items() if k != "seeds"}, setting["seeds"]) for setting in grid]
    return [cell for setting, seeds in pairs for cell in Cell.of_seeds(study.name, study.version, setting, seeds)]
