"""Named studies, one or more modules per chapter: what is measured, at which settings.

``python -m companion.studies list`` names them; ``python -m companion.studies run NAME`` computes one without Jupyter.
What computes is loaded at the first use of a name, so that the list is there at once.
"""

import importlib
import sys
from typing import Any

from companion.lab.cli import one_line_errors
from companion.lab.names import list_studies

NAMES = "Asked asked find finer grids is_here kept_cells missing modules of stored_sizes to_compute"
__all__ = [*NAMES.split()]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'companion.studies' has no attribute {name!r}")
    return getattr(importlib.import_module("companion.lab.registry"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    if given != ["list"]:
        from companion.lab import commands

        return commands.main(given)
    with one_line_errors():
        list_studies()
    return 0


if __name__ == "__main__":
    sys.exit(main())
