"""Named studies, one or more modules per chapter: what is measured, at which settings.

``python -m companion.studies list`` names them; ``python -m companion.studies run NAME`` computes one without Jupyter.
What computes is loaded at the first use of a name, so that the list is there at once.
"""

import importlib
from typing import Any

__all__ = ["Asked", "asked", "find", "finer", "grids", "is_here", "modules", "of", "stored_sizes", "to_compute"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'companion.studies' has no attribute {name!r}")
    return getattr(importlib.import_module("companion.studies._registry"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
