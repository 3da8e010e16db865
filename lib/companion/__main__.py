"""One claim from its rows: ``python -m companion claim B.Sec2-norm``."""

import argparse
import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from companion import studies as registry
from companion.book import claims, ledger
from companion.lab import parameters
from companion.lab.cli import Parser, add_parameter_options, one_line_errors, overrides
from companion.lab.study import Study
from companion.lab.table import STAMP, names_cell, provenance
from regimes.validate import InputError

SHOWN = 8  # rows of a table that are printed


@dataclass
class Rows:
    """The rows of a chapter's studies, from ``results/`` or the store; those of neither are computed.

    Attributes:
        number: the chapter's.
        parameters: its parameters.
    """

    number: str
    parameters: Mapping[str, Any]

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""
        return registry.asked(self.number, study, self.parameters).rows(design)


def measure_again(args: argparse.Namespace) -> None:
    """Measures one claim again, and prints its rows, what it finds and the verdict."""
    numbers = {one.id: number for number, one in claims.all_claims()}
    if args.name not in numbers:
        near = ", ".join(difflib.get_close_matches(args.name, numbers, cutoff=0.3))
        raise InputError(f"there is no claim {args.name!r}; the nearest are {near}")
    own, number = ledger.claims()[args.name], numbers[args.name]
    page = Rows(number, parameters.resolve(number, args.profile, *overrides(args)))
    print(f"{own.id}: {own.statement}\n{own.source}; {own.measure}\nat the {args.profile} profile", flush=True)
    found = own.measured(page)
    if found is None:
        raise InputError(f"claim {own.id}: these rows cannot tell")
    measured, tables = found
    for table in tables:
        lists = {name for name in table.columns if table[name].map(lambda value: isinstance(value, list)).any()}
        columns = [name for name in table.columns if name not in {*STAMP, *lists} and not names_cell(name)]
        print(f"\n{len(table)} rows of {provenance(table).settings[0]['study']}:")
        print(table[columns].head(SHOWN).to_string(index=False, max_colwidth=24))
    measured = measured.anytime() if own.looks > 1 else measured
    verdict = (
        ledger.judge(own, measured, args.profile)
        or f"not tested at this size: its profiles are {', '.join(own.profiles)}"
    )
    rival = f"{own.alternative['value']:g}, {own.alternative['what']}"
    print(f"\nmeasured {measured}; accepted {claims.band(own.accept)}; rival: {rival}\n{verdict}")
    print(f"by {own.measured_by['function']}")


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = Parser(prog="python -m companion", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("claim", help="measure a claim again on its rows", description=measure_again.__doc__)
    one.add_argument("name", metavar="CLAIM", help="its id, such as A.Fig2-feature")
    add_parameter_options(one)
    one.set_defaults(run=measure_again)
    args = parser.parse_args(argv)
    with one_line_errors():
        args.run(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
