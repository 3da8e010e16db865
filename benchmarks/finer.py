"""Finer numerics: how much of a mean is the bias of a tolerance, a rate or a precision, beside its statistical error.

``python benchmarks/finer.py [NAME] [--settings 2] [--jobs 1]``, of one study or of all.

A mean over ``N`` realisations scatters by ``1.96 s/√N`` with the deviation ``s`` of one. The same data and weights
again, at a tenth of the tolerance or half the rate (``finer`` in ``chapters/designs/``), show the bias. Where it is
well below the scatter it needs no place in an interval. ``results/finer.json`` holds what was measured.
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from companion import paths
from companion.lab import catalogue, parameters
from companion.lab.cli import one_line_errors
from companion.lab.design import Entries
from companion.lab.store import needs_commit, revision, write_atomically
from companion.lab.sweep import Study, sweep
from companion.lab.table import STAMP
from regimes import validate
from regimes.validate import InputError

FEWEST = 4  # realisations a setting: fewer say little of the scatter
MOST = 6  # of a setting of a study


def measure(name: str, settings: int, *, jobs: int = 1) -> dict[str, Any]:
    """What finer numerics change at some of the settings of a study's stored results, or of the laptop's.

    Args:
        name: of the study.
        settings: how many, at random.
        jobs: as for ``sweep``.

    Returns:
        ``study``, ``finer`` (in words), ``settings``, ``realisations`` (of a mean), ``columns`` (the rows of
        ``numerical_changes``), and ``revision``.
    """
    ways = catalogue.finer()
    validate.one_of(ways, study=name)
    how, (number, item) = dict(ways[name]), catalogue.find(name)
    last = how.pop("last", False)
    values = parameters.resolve(number, "laptop", catalogue.stored_sizes().get(name, {}))
    grid = catalogue.grids(number, values, item)[item]
    candidates = [setting for setting in grid if _is_coarsest(setting, how, grid)]
    chosen = random.Random(name).sample(candidates, min(settings, len(candidates)))
    many = max(len(setting["seeds"]) for setting in candidates)
    for setting in chosen:
        setting["seeds"] = list(range(max(FEWEST, min(MOST, len(setting["seeds"])))))
    rows = numerical_changes(item, chosen, how, many=many, last=last, jobs=jobs).to_dict("records")
    words = ", ".join(f"{entry}: {by}" if isinstance(by, str) else f"{entry} × {by:g}" for entry, by in how.items())
    about = {"study": name, "finer": words, "settings": len(chosen), "realisations": many, "revision": revision()}
    return about | {"columns": rows}


def _is_coarsest(setting: Entries, how: Mapping[str, Any], grid: list[Entries]) -> bool:
    """Whether a setting has numerics to make finer, and the grid does not hold the same at a larger tolerance."""
    any_numerics = {"tolerance": 0.0, "seeds": []}
    coarser = [other | any_numerics for other in grid if other.get("tolerance", 0.0) > setting.get("tolerance", 0.0)]
    return bool(set(how) & set(setting)) and ("tolerance" not in how or setting | any_numerics not in coarser)


def refined(setting: Entries, how: Mapping[str, Any]) -> Entries:
    """A setting with the entries that ``how`` names multiplied by its factors, or replaced by its words."""
    finer = dict(setting)
    for name, by in how.items():
        if name in setting:
            value = setting[name]
            finer[name] = by if isinstance(by, str) else round(value * by) if isinstance(value, int) else value * by
    return finer


def numerical_changes(
    study: Study, settings: Sequence[Entries], how: Mapping[str, Any], *, many: int, last: bool = False, jobs: int = 1
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
    """
    rows = {"coarse": [], "fine": []}
    for place, setting in enumerate(settings):
        if len(setting["seeds"]) < FEWEST or not set(how) & set(setting):
            raise InputError(f"{study.name} needs {FEWEST} seeds and one of {', '.join(how)}, got {setting}")
        for name, refined_setting in (("coarse", setting), ("fine", refined(setting, how))):
            table = sweep(study, [refined_setting], jobs=jobs)
            by_seed = (table.groupby("seed", sort=False).tail(1) if last else table).assign(setting=place)
            by_seed["place"] = by_seed.groupby("seed", sort=False).cumcount()
            rows[name].append(by_seed.set_index(["setting", "place", "seed"]))
    coarse, fine = (pd.concat(tables) for tables in rows.values())
    columns = [c for c in coarse if c not in (*how, *STAMP) and coarse[c].dtype == fine[c].dtype == float]
    changes = [{"column": name} | _change(coarse[name].unstack(), fine[name].unstack(), many) for name in columns]
    return pd.DataFrame([row for row in changes if row["pairs"]])


def _change(coarse: pd.DataFrame, fine: pd.DataFrame, many: int) -> dict[str, float]:
    """Of tables with a row per row of a setting and a column per seed."""
    coarse, fine = coarse.align(fine, join="inner")
    change = (fine - coarse).replace([np.inf, -np.inf], np.nan)
    coarse = coarse.where(change.notna())
    scatter, size = coarse.std(axis=1), np.sqrt((coarse**2).mean(axis=1).mean())
    use = (change.count(axis=1) >= FEWEST) & (scatter > 0)
    change, statistical = change[use], 1.96 * scatter[use] / np.sqrt(many)
    bias, error = change.mean(axis=1), change.std(axis=1) / np.sqrt(change.count(axis=1))
    rms = lambda squares: float(np.sqrt(max(squares.mean(), 0)))  # noqa: E731
    return {
        "pairs": int(change.count().sum()),
        "bias": rms(bias**2) / size,
        "error": rms(error**2) / size,
        "share": rms((bias**2 - error**2) / statistical**2),
        "most": rms(((bias.abs() + 2 * error) / statistical) ** 2),
    }


def main(argv: list[str] | None = None) -> int:
    """Computes some cells of a study, or of all, with finer numerics: the share of errors that is numerical."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("name", nargs="?", help="of one study only")
    parser.add_argument("--settings", type=int, default=2, help="how many of a study's settings (default: 2)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes (default: 1)")
    args = parser.parse_args(argv)
    with one_line_errors():
        needs_commit("what finer numerics change")
        path = paths.results() / "finer.json"
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        by_study = {entry["study"]: entry for entry in entries}
        names = list(catalogue.finer())
        for name in [args.name] if args.name else names:
            by_study[name] = measure(name, args.settings, jobs=args.jobs)
            write_atomically(path, json.dumps([by_study[entry] for entry in names if entry in by_study], indent=1))
            largest = max((entry["share"] for entry in by_study[name]["columns"]), default=0)
            print(f"{name}: {largest:.2g} of the statistical error at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
