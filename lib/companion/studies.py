"""The command ``python -m companion.studies``: studies by name, without Jupyter (``companion.lab.commands``).

``list`` names them and loads none; ``run NAME`` computes one. In Python they are in ``companion.lab.catalogue``.
"""

import sys

from companion.lab.cli import one_line_errors
from companion.lab.names import list_studies


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
