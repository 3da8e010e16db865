"""A chapter's parameters and designs as a text: ``python -m companion.describe 05``."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from companion.experiments import parameters
from companion.experiments.cli import Parser, one_line_errors
from companion.report.figures import figures_of_designs

WIDE = 120  # characters of a line


def describe(number: str) -> str:
    """The parameters of a chapter: name, laptop value, allowed values, meaning; then each design and its figures."""
    known = [p for p in parameters.declared(number).values() if p.name != "profile"]
    lines = [f"{p.name:20} {p.value!r}  {p.meaning}\n{'':20} {p.kind.allowed()}" for p in known]
    designs: dict[str, dict[str, Any]] = {}
    for name, value in parameters.designs(number).items():
        design, _, axis = name.removeprefix(f"{number}.").rpartition(".")
        designs.setdefault(design, {})[axis] = value
    if designs:
        figures = figures_of_designs(number)
        lines.append(f'\nDesigns and the figures they feed. Any entry is changed so: -p {design}.{axis} "{value!r}"')
        lines += [line for design, entries in designs.items() for line in _design(design, entries, figures[design])]
    return "\n".join([f"Chapter {number}: parameters, laptop values, meaning; what is allowed", *lines])


def _design(name: str, entries: Mapping[str, Any], figures: Iterable[str]) -> list[str]:
    """A line with a design's figures, and one with its entries."""
    first = f"{name:28} {', '.join(figures) or 'no figure of its own'}"
    second = ", ".join(f"{axis} = {_short(value)}" for axis, value in entries.items())
    return [_cut(first), _cut(f"    {second}")]


def _short(value: Any) -> str:
    """A value, or the ends of a long list."""
    if isinstance(value, list) and len(value) > 4:
        return f"[{value[0]!r} … {value[-1]!r}] ({len(value)})"
    return str(value) if isinstance(value, str) else repr(value)


def _cut(line: str) -> str:
    return line if len(line) <= WIDE else f"{line[: WIDE - 2].rpartition(',')[0]}, …"


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
