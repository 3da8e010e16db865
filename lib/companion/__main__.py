"""One claim from its rows, and the registered run: ``python -m companion claim C.Thm3-ridge``, ``register --check``."""

import argparse
import difflib
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from companion import paths
from companion.book import claims, ledger, registration, replicate
from companion.book.everywhere import everywhere, unnamed
from companion.estimates import Drift, Estimate
from companion.lab import catalogue, draws, parameters, results
from companion.lab.cli import Parser, add_parameter_options, one_line_errors, overrides
from companion.lab.commands import TIME, amount
from companion.lab.plan import in_words
from companion.lab.study import Study
from companion.lab.table import STAMP, names_cell, origin, provenance
from companion.lab.workers import forking
from regimes import validate
from regimes.validate import InputError

NICE = 10  # of a registered run, which takes a day
SHOWN, KEYS, WIDTH = 8, 4, 48  # rows of a table and keys of cells that are printed; characters of a setting's values


@dataclass
class Rows:
    """The rows of a chapter's studies, from ``results/`` or the store; those of neither are computed.

    Attributes:
        number: the chapter's.
        parameters: its parameters.
        stored: the keys of the cells that ``results/`` holds, by the names of the studies that were asked for.
    """

    number: str
    parameters: Mapping[str, Any]
    stored: dict[str, Collection[str]] = field(default_factory=dict)

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""
        asked = catalogue.asked(self.number, study, self.parameters)
        self.stored[study.name] = asked.results.finished.keys()
        return asked.rows(design)


def place(function: Callable[..., Any]) -> str:
    """File and line of a function, ``lib/companion/…/depth_scales.py:272``, seen from the book's root."""
    function = inspect.unwrap(function)
    lines, first = inspect.getsourcelines(function)
    above = next(i for i, line in enumerate(lines) if line.lstrip().startswith("def "))  # its decorators
    file = Path(function.__code__.co_filename).resolve()
    root = paths.root().resolve()
    return f"{file.relative_to(root) if file.is_relative_to(root) else file}:{first + above}"


def rests_on(tables: Sequence[pd.DataFrame], stored: Mapping[str, Collection[str]]) -> Iterator[str]:
    """The cells under a claim, in lines: of each study the file that holds them, their settings and their keys.

    ``stored``: the keys of the cells that ``results/`` holds, by study.
    """
    found = provenance(*tables)
    for settings in found.settings:
        name = settings["study"]
        keys = [key for key in found.cells if origin(key).cell.study == name]
        file = f"results/{name}{results.SUFFIX}"
        for where, inside in ((f"of {file}", True), ("computed here, in the store", False)):
            if there := [key for key in keys if (key in stored[name]) == inside]:
                more = f" … ({len(there)})" if len(there) > KEYS else ""
                yield f"on {len(there)} cells {where}: {', '.join(there[:KEYS])}{more}"
        values = {axis: ", ".join(map(str, listed)) for axis, listed in settings["values"].items()}
        shown = [f"{axis} = {textwrap.shorten(text, WIDTH, placeholder=' …')}" for axis, text in values.items()]
        seeds = f"{settings['seeds']} seed{'s' * (settings['seeds'] != 1)}"
        yield f"   {'; '.join([*shown, seeds])}"


def said(measured: Estimate | Drift) -> str:
    """A number with its interval; of one that may change with the size that of the larger sizes, too."""
    if isinstance(measured, Estimate):
        return str(measured)
    ends = f"{measured.late_sizes[0]:g} to {measured.late_sizes[-1]:g}"
    return f"{measured.whole}; at sizes {ends} alone: {measured.late}"


def named(name: str) -> tuple[claims.Claim, str]:
    """A claim by its id, and its chapter; InputError for an unknown one, with the nearest."""
    numbers = {one.id: number for number, one in claims.all_claims()}
    if name not in numbers:
        near = ", ".join(difflib.get_close_matches(name, numbers, cutoff=0.3))
        raise InputError(f"there is no claim {name!r}; the nearest are {near}")
    return ledger.claims()[name], numbers[name]


def described(claim: claims.Claim) -> str:
    """A claim in words: its statement, then its place in the paper and, if it says so, which number is meant."""
    return f"{claim.id}: {claim.statement}\n{'; '.join(filter(None, (claim.source, claim.measure)))}"


def measure_again(args: argparse.Namespace) -> None:
    """Measures one claim again, and prints its rows, what it finds and the verdict."""
    own, number = named(args.name)
    changed = overrides(args)
    page = Rows(number, parameters.resolve(number, args.profile, *changed))
    print(f"{described(own)}\nat the {args.profile} profile", flush=True)
    if registration.is_running() and args.profile == "laptop" and not any(changed):
        print(registration.running(own))
        print("until the run is judged no number is shown: book/registered.md; --profile smoke measures at small sizes")
        return
    found = own.measured(page)
    if found is None:
        raise InputError(f"claim {own.id}: these rows cannot tell")
    measured, tables = found
    for table in tables:
        lists = {name for name in table.columns if table[name].map(lambda value: isinstance(value, list)).any()}
        columns = [name for name in table.columns if name not in {*STAMP, *lists} and not names_cell(name)]
        print(f"\n{len(table)} rows of {provenance(table).settings[0]['study']}:")
        print(table[columns].head(SHOWN).to_string(index=False, max_colwidth=24))
    verdict = (
        ledger.judge(own, measured, args.profile)
        or f"not tested at this size: its profiles are {', '.join(own.profiles)}"
    )
    rival = f"{own.alternative['value']:g}, {own.alternative['what']}"
    print(f"\nmeasured {said(measured)}; accepted {claims.band(own.accept)}; rival: {rival}\n{verdict}")
    print(f"by {place(own.function)}")
    if tables:  # a claim on formulas has none
        print("\n".join(rests_on(tables, page.stored)))
    if args.everywhere:
        print("\n".join(found_elsewhere(own, page)))


def found_elsewhere(claim: claims.Claim, page: claims.Page) -> Iterator[str]:
    """What a claim's estimator finds on all other rows that it can read, in lines; those that contradict it first."""
    found = everywhere(claim, page)
    judged, others = found or (None, [])
    left = unnamed(claim, judged, others) if judged else []
    yield f"\nelsewhere: {len(others)} other selections of rows that it can read"
    for other in sorted(others, key=lambda one: not one.contradicts(judged)):
        words = "; its words do not name this condition" if other in left else ""
        yield f"   {'DISJOINT' if other.contradicts(judged) else 'overlaps'}  {other.rows}: {other.estimate}{words}"


def replicate_claim(args: argparse.Namespace) -> None:
    """Draws the rows of one claim at seeds of your own, and prints paper, book and your own verdict side by side."""
    own, number = named(args.name)
    kept = {entry["id"]: entry for entry in ledger.read(paths.results() / "ledger.json")}.get(own.id)
    if kept is None:
        raise InputError(f"claim {own.id} is not in results/ledger.json yet: nothing to compare with")
    if not own.tables:
        raise InputError(f"claim {own.id} is a computation without draws: python -m companion claim {own.id}")
    first = replicate.own_first() if args.first is None else args.first
    page = replicate.page_for(own, number, first=first, seeds=args.seeds, jobs=args.jobs, stored=args.stored)
    print(described(own))
    print(f"seeds {first} to {first + args.seeds - 1}, about {in_words(replicate.seconds(own, page))} of one core")
    for why in (replicate.smaller(own, page), replicate.enough(own, kept, args.seeds)):
        if why:
            print(why, flush=True)
    with forking():
        found = own.measured(page)
    if found is None:
        raise InputError(f"claim {own.id}: these rows cannot tell")
    print("\n".join(replicate.side_by_side(own, kept, found[0])))


def check_registration(*chapters: str) -> int:
    """Prints why claims cannot be registered, of all chapters or some, a line each; exit code 1 if there are such."""
    every = sorted({number for number, _ in claims.all_claims()})
    for number in chapters:
        validate.one_of(every, chapter=number)
    numbers = chapters or every
    page_of = {number: Rows(number, parameters.resolve(number)) for number in numbers}
    kept = {entry["id"]: entry for entry in ledger.read(paths.results() / "ledger.json")}
    count = 0
    for refusal in registration.refusals(page_of, kept=kept):
        print(refusal, flush=True)
        count += 1
    print(f"{count} reasons against a registration")
    return int(count > 0)


def register(args: argparse.Namespace) -> int:
    """Declares all claims and studies in results/registered.json; then their rows are drawn anew, once, with --run.

    Without options it declares, or says how far the run is. What is in the way of a declaration is printed.
    """
    if args.check is not None:
        return check_registration(*args.check)
    if not registration.registered():
        if args.run:
            raise InputError("nothing is registered: python -m companion register")
        if code := check_registration():
            return code
        return declare()
    if registration.unregistered(registration.registered()) and not (args.run or args.judge):
        return declare()
    if args.run:
        budget = amount(args.budget, *TIME) if args.budget else None
        if hasattr(os, "nice"):  # other work goes first; Windows has no such call
            os.nice(NICE)
        with forking():
            registration.run(budget=budget, jobs=args.jobs)
    if args.judge:
        declared = registration.judge(args.because)
        print(f"{len(declared['claims'])} claims are judged on the cells of the registered run: make publish-ledger")
    else:
        print("\n".join(how_far()))
    return 0


def declare() -> int:
    """Declares what can be declared on this machine; exit code 1 where data of some designs are on another one."""
    declared = registration.register()
    left = registration.unregistered(declared)
    print(f"wrote {draws.registered_file()}: {len(declared['claims'])} claims, {len(declared['studies'])} studies")
    for words, seen in declared["data"].items():
        print(f"{words}: {seen}")
    if not left:
        print("commit it before its first cell")
        return 0
    print(f"{len(left)} designs are left: {'; '.join(left)}")
    print("their rows are of data that are not on this machine: register again where they are ($REGIMES_DATA)")
    return 1


def how_far() -> Iterator[str]:
    """How far the registered run is, in lines: the studies that are not done, the longest first, and the whole."""
    done = registration.progress()
    for one in done:
        if one.finished < one.cells:
            there = f", {one.elsewhere} of data that are not on this machine" if one.elsewhere else ""
            yield f"{one.name}: {one.finished} of {one.cells} cells, {in_words(one.seconds_left)} left{there}"
    names = ("finished", "cells", "seconds_left", "elsewhere")
    finished, wanted, left, elsewhere = (sum(getattr(one, name) for one in done) for name in names)
    there = f", and {elsewhere} cells of data that are not on this machine ($REGIMES_DATA)" if elsewhere else ""
    at = registration.registered()["revision"]
    yield f"registered at {at}: {finished} of {wanted} cells, {in_words(left)} of one core left{there}"


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = Parser(prog="python -m companion", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("claim", help="measure a claim again on its rows", description=measure_again.__doc__)
    one.add_argument("name", metavar="CLAIM", help="its id, such as A.Fig2-feature")
    one.add_argument("--everywhere", action="store_true", help="put its estimator on all other rows that it can read")
    add_parameter_options(one)
    one.set_defaults(command=measure_again)
    own = commands.add_parser("replicate", help="your own verdict on a claim", description=replicate_claim.__doc__)
    own.add_argument("name", metavar="CLAIM", help="its id, such as A.Fig2-feature")
    own.add_argument("--seeds", type=int, default=12, help="realisations of each setting (default: 12)")
    own.add_argument("--first", type=int, help="the first seed, to repeat a run (default: at random)")
    own.add_argument("--stored", action="store_true", help="at the sizes that the book is judged on, however long")
    own.add_argument("--jobs", type=int, help="worker processes (default: one per core)")
    own.set_defaults(command=replicate_claim)
    whole = commands.add_parser(
        "register", help="declare all claims, and draw their rows anew", description=register.__doc__
    )
    whole.add_argument("--check", nargs="*", metavar="CHAPTER", help="only say what is in the way, of all or of 05 …")
    whole.add_argument("--run", action="store_true", help="compute the registered cells")
    whole.add_argument("--judge", action="store_true", help="once all are there, put them in place of the others")
    whole.add_argument("--because", default="", help="why cells come from other code than was registered, if some do")
    whole.add_argument("--budget", help="start no further cell after this time: 30s, 9m, 2h")
    whole.add_argument("--jobs", type=int, help="worker processes (default: one per core)")
    whole.set_defaults(command=register)
    args = parser.parse_args(argv)
    with one_line_errors():
        return args.command(args) or 0


if __name__ == "__main__":
    sys.exit(main())
