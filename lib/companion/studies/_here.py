"""Which of the data that settings name are on this machine."""

from collections.abc import Callable, Mapping
from typing import Any

from companion.studies._images import identity
from companion.theory.alignment import celeba
from regimes.data import datasets
from regimes.validate import InputError


def is_here(setting: Mapping[str, Any]) -> bool:
    """Whether the data set that a setting names, if it names one, is on this machine, and the same version of it."""
    named = setting.get("words") or setting.get("data")
    if not isinstance(named, str) or "," not in named:
        return True
    if setting.get("data") == "celeba":
        return _has(celeba.needs_folder)
    found = [identity(name) for name in datasets.NAMES if _has(lambda name=name: identity(name))]
    return any(named == one or named.endswith(f"of {one}") or f"of {one}, " in named for one in found)


def _has(look: Callable[[], object]) -> bool:
    try:
        look()
    except InputError:
        return False
    return True
