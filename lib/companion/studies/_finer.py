"""The share of a study's errors that is numerical: ``results/finer.json``, by ``chapters/profiles/finer.toml``."""

import random
from collections.abc import Mapping
from typing import Any

from companion import paths
from companion import studies as registry
from companion.experiments import finer
from companion.experiments.parameters import read_toml
from companion.experiments.store import revision
from companion.experiments.sweep import Setting
from regimes import validate

SEEDS = 6  # of a setting, at most


def measure(name: str, settings: int, *, jobs: int = 1) -> dict[str, Any]:
    """What finer numerics change at some of the settings of a study's stored results, or of the laptop's.

    Args:
        name: of the study.
        settings: how many, at random.
        jobs: as for ``sweep``.

    Returns:
        ``study``, ``finer`` (in words), ``settings``, ``realisations`` (of a mean), ``columns`` (the rows of
        ``finer.numerical_changes``), and ``revision``.

    Raises:
        InputError: for a study whose numerics have nothing to make finer.
    """
    ways = read_toml(paths.profile_file("finer"))
    validate.one_of(ways, study=name)
    how, (number, item) = ways[name], registry.find(name)
    last = how.pop("last", False)
    grids: dict[str, list[Setting]] = {}
    registry.checked_parameters(number, "laptop", registry.stored_sizes().get(name, {}), study=item, grids=grids)
    usual = [setting for setting in grids[name] if _is_usual(setting, how, grids[name])]
    chosen = random.Random(name).sample(usual, min(settings, len(usual)))
    many = max(len(setting["seeds"]) for setting in usual)
    for setting in chosen:
        setting["seeds"] = list(range(max(finer.FEWEST, min(SEEDS, len(setting["seeds"])))))
    rows = finer.numerical_changes(item, chosen, how, many=many, last=last, jobs=jobs).to_dict("records")
    words = ", ".join(f"{entry}: {by}" if isinstance(by, str) else f"{entry} × {by:g}" for entry, by in how.items())
    about = {"study": name, "finer": words, "settings": len(chosen), "realisations": many, "revision": revision()}
    return about | {"columns": rows}


def _is_usual(setting: Setting, how: Mapping[str, Any], grid: list[Setting]) -> bool:
    """Whether a setting has numerics to make finer, and the grid does not hold the same at a larger tolerance."""
    any_of_it = {"tolerance": 0.0, "seeds": []}
    coarser = [other | any_of_it for other in grid if other.get("tolerance", 0.0) > setting.get("tolerance", 0.0)]
    return bool(set(how) & set(setting)) and ("tolerance" not in how or setting | any_of_it not in coarser)
