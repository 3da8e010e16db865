"""Named studies, one module a room: what is measured, at which settings.

``python -m regimes.studies list`` names them; ``python -m regimes.studies run NAME`` computes one without Jupyter.
"""

import importlib
import pkgutil
from types import ModuleType

from regimes import check, parameters
from regimes.sweep import Study


def rooms() -> dict[str, ModuleType]:
    """The study modules by the number of the chapter they serve."""
    names = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return {module.CHAPTER: module for module in modules}


def studies(module: ModuleType) -> dict[str, Study]:
    """The studies that a module defines, by their full names."""
    return {item.name: item for item in vars(module).values() if isinstance(item, Study)}


def find(name: str) -> tuple[str, Study]:
    """A study and the number of its chapter.

    Raises:
        InputError: for an unknown name, with the known ones.
    """
    known = {full: (number, item) for number, module in rooms().items() for full, item in studies(module).items()}
    check.one_of(sorted(known), study=name)
    return known[name]


def validate(number: str, values: dict[str, object]) -> None:
    """Builds every grid of a chapter, so that a value that makes no sense is named before anything is computed.

    Raises:
        InputError: for the first such value.
    """
    module = rooms().get(number)
    if module is None:
        return
    getattr(module, "check_parameters", lambda values: None)(values)
    for item in studies(module).values():
        item.grid(values)


def resolve(number: str, profile: str = "laptop", *overrides: dict[str, object]) -> dict[str, object]:
    """A chapter's parameters, resolved and validated; see ``parameters.resolve``."""
    values = parameters.resolve(number, profile, *overrides)
    validate(number, values)
    return values
