"""Finer numerics: how much of a mean is the bias of a tolerance, a rate or a precision, beside its statistical error.

A mean over ``N`` realisations scatters by ``1.96 s/√N`` with the deviation ``s`` of one. The same data and weights
again, at a tenth of the tolerance or half the rate, show the bias. Where it is well below the scatter it needs no place
in an interval.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from companion.experiments.sweep import Setting, Study, sweep
from companion.experiments.table import STAMP
from regimes.validate import InputError

FEWEST = 4  # realisations a setting: fewer say little of the scatter


def refined(setting: Setting, how: Mapping[str, Any]) -> Setting:
    """A setting with the entries that ``how`` names multiplied by its factors, or replaced by its words."""
    return setting | {name: _changed(setting[name], by) for name, by in how.items() if name in setting}


def _changed(value: Any, by: float | str) -> Any:
    if isinstance(by, str):
        return by
    return round(value * by) if isinstance(value, int) else value * by


def numerical_changes(
    study: Study, settings: Sequence[Setting], how: Mapping[str, Any], *, many: int, last: bool = False, jobs: int = 1
) -> pd.DataFrame:
    """What finer numerics change in each column of numbers, over all rows of some settings.

    Args:
        study: what is measured.
        settings: at which settings, each with its ``seeds``, at least ``FEWEST``.
        how: a factor for a number of the setting, or a word in place of another: ``{"tolerance": 0.1}``.
        many: realisations ``N`` of the means that are asked about.
        last: compare only the last row of each realisation.
        jobs: as for ``sweep``.

    Returns:
        One row per column: ``column``, ``pairs`` (of realisations), ``bias`` and ``error`` (root mean squares over
        rows of the mean change and of its standard error, over that of the column), ``share``: the bias over the
        statistical error, with what the error of the bias adds taken off, and ``most``, that of the bias and twice
        its error. Late in training paths part: there few pairs only bound the bias.

    Raises:
        InputError: for too few seeds, or a setting that ``how`` does not concern.
    """
    rows = {"coarse": [], "fine": []}
    for place, setting in enumerate(settings):
        if len(setting["seeds"]) < FEWEST or not set(how) & set(setting):
            raise InputError(f"{study.name} needs {FEWEST} seeds and one of {', '.join(how)}, got {setting}")
        again = refined(setting, how)
        for name, one in (("coarse", setting), ("fine", again)):
            table = sweep(study, [one], jobs=jobs)
            rows[name].append(_in_order(table.groupby("seed", sort=False).tail(1) if last else table, place))
    coarse, fine = (pd.concat(tables) for tables in rows.values())
    columns = [c for c in coarse if c not in (*how, *STAMP) and coarse[c].dtype == fine[c].dtype == float]
    found = [{"column": name} | _change(coarse[name].unstack(), fine[name].unstack(), many) for name in columns]
    return pd.DataFrame([row for row in found if row["pairs"]])


def _in_order(table: pd.DataFrame, setting: int) -> pd.DataFrame:
    """A table by setting, place among the rows of a realisation, and seed."""
    place = table.groupby("seed", sort=False).cumcount()
    return table.assign(setting=setting, place=place).set_index(["setting", "place", "seed"])


def _change(coarse: pd.DataFrame, fine: pd.DataFrame, many: int) -> dict[str, float]:
    """Of tables with a row per row of a setting and a column per seed."""
    coarse, fine = coarse.align(fine, join="inner")
    moved = (fine - coarse).replace([np.inf, -np.inf], np.nan)
    scatter, size = (
        coarse.where(moved.notna()).std(axis=1),
        np.sqrt((coarse.where(moved.notna()) ** 2).mean(axis=1).mean()),
    )
    use = (moved.count(axis=1) >= FEWEST) & (scatter > 0)
    moved, statistical = moved[use], 1.96 * scatter[use] / np.sqrt(many)
    bias, error = moved.mean(axis=1), moved.std(axis=1) / np.sqrt(moved.count(axis=1))
    rms = lambda values: float(np.sqrt(max((values).mean(), 0)))  # noqa: E731 of squares
    shares = {
        "share": rms((bias**2 - error**2) / statistical**2),
        "most": rms(((bias.abs() + 2 * error) / statistical) ** 2),
    }
    return {"pairs": int(moved.count().sum()), "bias": rms(bias**2) / size, "error": rms(error**2) / size} | shares
