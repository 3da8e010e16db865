"""A chapter's parameters and designs as a text: ``python -m companion.describe 05``.

It loads the chapter's studies, whose axes say what is allowed.
"""

import functools
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

from companion.book.figures import figures_of_designs
from companion.lab import catalogue, parameters
from companion.lab.cli import Parser, one_line_errors

_wrapped = functools.partial(textwrap.wrap, width=120, break_on_hyphens=False)


def describe(number: str) -> str:
    """The parameters of a chapter, then its designs: the laptop's entries, and those that other sizes have in place."""
    declared, kinds = parameters.declared(number), catalogue.kinds(number)
    described = {name: f"{declared[name].value!r}  {declared[name].meaning}" for name in kinds}
    lines = [f"{name:20} {described[name]}\n{'':20} {kind.allowed()}" for name, kind in kinds.items()]
    sizes = {size: _by_design(parameters.designs(number, size)) for size in ("laptop", *parameters.SIZES)}
    figures = figures_of_designs(number)
    if figures:
        name, value = list(parameters.designs(number).items())[-1]
        example = f'-p {name.removeprefix(f"{number}.")} "{value!r}"'
        lines.append(f"\nDesigns and the figures they feed. Any entry is changed so: {example}")
    for design, labels in figures.items():
        lines += _wrapped(f"{design:28} {', '.join(labels) or 'no figure of its own'}", subsequent_indent=" " * 29)
        for size in (size for size, designs in sizes.items() if design in designs):
            entries = ", ".join(f"{axis}={value}" for axis, value in sizes[size][design].items())
            lines += _wrapped(f"    {size:11}{entries}", subsequent_indent=" " * 15)
    return "\n".join([f"Chapter {number}: parameters, laptop values, meaning; what is allowed", *lines])


def _by_design(entries: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of each design, ``ensembles.slices``, by axis."""
    by_design: dict[str, dict[str, Any]] = {}
    for name, value in entries.items():
        _, study, design, axis = name.split(".")
        by_design.setdefault(f"{study}.{design}", {})[axis] = value
    return by_design


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = Parser(prog="python -m companion.describe", description=__doc__)
    parser.add_argument("chapter", nargs="+", help="the chapters' numbers, such as 05")
    args = parser.parse_args(argv)
    with one_line_errors():
        print("\n\n".join(map(describe, args.chapter)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
