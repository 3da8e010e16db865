"""A chapter's parameters and designs as a text: ``python -m companion.describe 05``.

It loads nothing that computes, so that it answers at once.
"""

import sys

from companion.experiments import parameters
from companion.experiments.cli import Parser, one_line_errors


def describe(number: str) -> str:
    """The parameters of a chapter: name, laptop value, allowed values, meaning; then its designs, a line each."""
    known = [p for p in parameters.declared(number).values() if p.name != "profile"]
    lines = [f"{p.name:20} {p.value!r}  {p.meaning}\n{'':20} {p.kind.allowed()}" for p in known]
    designs: dict[str, list[str]] = {}
    for name, value in parameters.designs(number).items():
        design, _, axis = name.rpartition(".")
        designs.setdefault(design, []).append(f"{axis} = {value!r}")
    if designs:
        lines.append(f'\nDesigns, of which any entry is changed so: -p {design}.{axis} "{value!r}"')
        lines += [f"{design:32} {', '.join(entries)}" for design, entries in designs.items()]
    return "\n".join([f"Chapter {number}: parameters, laptop values, meaning; what is allowed", *lines])


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
