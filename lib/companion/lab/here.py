"""Which of the data that settings name are on this machine."""

import contextlib
from collections.abc import Mapping
from typing import Any

from companion.data import celeba
from companion.data.images import identity
from regimes.data import datasets
from regimes.validate import InputError


def is_here(setting: Mapping[str, Any]) -> bool:
    """Whether the data set that a setting names, if it names one, is on this machine, and the same version of it."""
    named = setting.get("words") or setting.get("data")
    if not isinstance(named, str) or "," not in named:
        return True
    for name in datasets.NAMES if setting.get("data") != "celeba" else ():
        with contextlib.suppress(InputError):
            one = identity(name)
            if named == one or named.endswith(f"of {one}") or f"of {one}, " in named:
                return True
    with contextlib.suppress(InputError):
        return setting.get("data") == "celeba" and bool(celeba.needs_folder())
    return False
