"""``python -m companion.studies``: the list at once, other commands as soon as what computes is loaded."""

import sys

from companion.experiments.cli import one_line_errors
from companion.studies._names import list_studies


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    given = sys.argv[1:] if argv is None else argv
    if given != ["list"]:
        from companion.studies import _commands

        return _commands.main(given)
    with one_line_errors():
        list_studies()
    return 0


if __name__ == "__main__":
    sys.exit(main())
