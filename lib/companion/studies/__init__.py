"""Named studies, one or more modules per chapter: what is measured, at which settings.

``python -m companion.studies list`` names them; ``python -m companion.studies run NAME`` computes one without Jupyter.
"""

import functools
import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from companion import paths
from companion.experiments import parameters, stored
from companion.experiments.store import Cell
from companion.experiments.sweep import Setting, Study
from companion.experiments.table import rows_by_cell
from companion.studies._here import is_here
from regimes import validate
from regimes.validate import InputError


def modules() -> dict[str, list[ModuleType]]:
    """The study modules by the number of the chapter they serve."""
    return {number: _modules(number) for number in sorted(set(_chapters().values()))}


@functools.cache
def _chapters() -> dict[str, str]:
    """The number of its chapter for each study module, by name: its text says so, and loading all of them is dear."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    texts = {name: Path(__path__[0], f"{name}.py").read_text(encoding="utf-8") for name in names}
    return {name: re.search(r'^CHAPTER = "(\d+)"', text, re.MULTILINE)[1] for name, text in texts.items()}


@functools.cache
def _modules(number: str) -> list[ModuleType]:
    """The study modules of one chapter."""
    return [importlib.import_module(f"{__name__}.{name}") for name, own in _chapters().items() if own == number]


def of(number: str) -> dict[str, Study]:
    """The studies of a chapter, by their full names."""
    found = (item for module in _modules(number) for item in vars(module).values() if isinstance(item, Study))
    return {item.name: item for item in found}


def find(name: str) -> tuple[str, Study]:
    """A study and the number of its chapter; InputError for an unknown name, with the known ones."""
    known = {full: (number, item) for number in modules() for full, item in of(number).items()}
    validate.one_of(sorted(known), study=name)
    return known[name]


def grids(number: str, values: Mapping[str, Any], study: Study | None = None) -> dict[Study, list[Setting]]:
    """The grid of every study of a chapter, or of one, at the chapter's parameters.

    So a value that makes no sense is named, in an InputError, before anything is computed.
    """
    for module in _modules(number):
        getattr(module, "check_parameters", lambda values: None)(values)
    return {item: item.grid(values) for item in ([study] if study else of(number).values())}


def stored_sizes() -> dict[str, dict[str, Any]]:
    """The studies with stored results, each with what ``stored.toml`` changes of its designs at the laptop profile."""
    found = {}
    for number in modules():
        own = {item.function.__name__: name for name, item in of(number).items()}
        for function, designs in _stored_designs(number).items():
            validate.one_of(own, **{f"a study of chapter {number}": function})
            found[own[function]] = {number: {function: designs}}
    return found


def _stored_designs(number: str) -> dict[str, Any]:
    path = paths.profile_file("stored")
    return parameters.read_toml(path).get(number, {}) if path.exists() else {}


def stored_settings(number: str, study: Study, design: str, own: Sequence[Setting]) -> list[Setting]:
    """What is stored of a design: all where its ``own`` settings are the laptop's, else more seeds of these.

    Of data that are not on this machine it is what is stored of such data.
    """
    with validate.memory_asked():  # they are stored: nothing is computed
        usual = study.grid.settings(parameters.resolve(number), design)
        more = {number: {study.function.__name__: _stored_designs(number).get(study.function.__name__, {})}}
        values = parameters.resolve(number, "laptop", more)
        try:
            found = study.grid.settings(values, design)
        except InputError:
            asked = study.grid.values(values, design)
            cells = [cell for cell in rows_by_cell(stored.table(study)) if not is_here(cell.setting)]
            found = [cell.setting | {"seeds": [cell.seed]} for cell in cells if _among(cell, asked)]
    known = [study.grid.identity(setting) for setting in own]
    return [setting for setting in found if own == usual or study.grid.identity(setting) in known]


def _among(cell: Cell, asked: Mapping[str, list[Any]]) -> bool:
    """Whether a cell has values of those asked for; of data and seeds each names several."""
    own = cell.setting | {"seeds": cell.seed}
    several = {axis: [v for one in ones if isinstance(one, list) for v in one] for axis, ones in asked.items()}
    return all(
        own[axis] in ones or (axis in ("data", "seeds") and own[axis] in several[axis])
        for axis, ones in asked.items()
        if axis in own
    )


def usual(number: str, study: Study) -> list[Setting]:
    """A study's grid at the laptop profile, which stored results stand in for."""
    return grids(number, parameters.resolve(number), study)[study]


def remaining_settings(number: str, study: Study, grid: Sequence[Setting]) -> list[Setting]:
    """What a run has to compute of a study's grid beside its stored results: ``stored.remaining``."""
    return stored.remaining(study, grid, usual(number, study), is_here)
