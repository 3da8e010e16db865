"""Studies from the command line, without Jupyter: ``python -m companion.studies --help``."""

import argparse
import datetime
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from companion import paths
from companion.lab import catalogue, parameters, plan, results
from companion.lab.catalogue import absent
from companion.lab.cli import Parser, add_parameter_options, one_line_errors, overrides
from companion.lab.design import Entries
from companion.lab.names import list_studies
from companion.lab.progress import say
from companion.lab.store import Store, committed, needs_commit
from companion.lab.sweep import Study, sweep
from companion.lab.table import provenance
from companion.lab.verify import extended, share, verify
from companion.lab.workers import forking
from regimes import validate
from regimes.validate import InputError

TIME = {"s": 1, "m": 60, "h": 3600}, "budget must be a positive time such as 30s, 9m or 2h"
_PART = {"%": 0.01}, "sample must be a part of the cells such as 5%"
MOST = 20  # differences of a study that are shown


def amount(text: str, units: Mapping[str, float], allowed: str) -> float:
    """A positive number with its unit, such as ``30s``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(.)", text)
    if not match or match[2] not in units or not float(match[1]):
        raise InputError(f"{allowed}, got {text!r}")
    return float(match[1]) * units[match[2]]


def _study(args: argparse.Namespace) -> tuple[Study, list[Entries]]:
    """The study a command names, and its grid, or that of the designs named, at the profile and parameters given."""
    number, item = catalogue.find(args.name)
    values = parameters.resolve(number, args.profile, *overrides(args))
    if args.designs:  # as a reader asks for them, whatever the others hold
        return item, item.grid(values, args.designs)
    grid = catalogue.grids(number, values, item)[item]
    for why in absent(number, item, values).values():
        say(f"left out: {why}")
    return item, grid


def run(args: argparse.Namespace) -> None:
    """Computes as many cells of one study as fit the budget, and says what is stored."""
    budget = amount(args.budget, *TIME) if args.budget else None
    if args.jobs is not None:
        validate.integer(1, jobs=args.jobs)
    if args.csv and (args.csv.is_dir() or not os.access(args.csv.parent, os.W_OK)):
        raise InputError(f"csv must name a file in a folder that can be written, got {str(args.csv)!r}")
    item, grid = _study(args)
    table = sweep(item, grid, budget=budget, jobs=args.jobs)
    count = sum(len(setting["seeds"]) for setting in grid)
    seconds = 0.0 if table.empty else provenance(table).seconds
    print(f"{item.name}: {count - table.attrs['missing']} of {count} cells stored, {seconds:.1f} s in all")
    if args.csv:
        table.to_csv(args.csv, index=False)
        print(f"wrote {args.csv}: {len(table)} rows")


def store_results(args: argparse.Namespace) -> None:
    """Computes what the book keeps in results/ (hours), as its designs say, or that of one study or its designs.

    Cells of committed code in results/ or the store are not computed again: remove the study's file and its folder in
    the store to force it. With designs its other cells stay, else they go.
    """
    sizes = catalogue.stored_sizes()
    if args.name is not None:
        validate.one_of(sorted(sizes), study=args.name)
    needs_commit("stored results")
    grids: dict[Study, dict[str, list[Entries]]] = {}
    for name in [args.name] if args.name else sizes:
        number, item = catalogue.find(name)
        values = parameters.resolve(number, "laptop", sizes[item.name])
        if not args.designs:
            catalogue.grids(number, values, item)  # which checks the whole
        designs = args.designs or item.grid.names(values)
        grids[item] = {design: item.grid.settings(values, design) for design in designs}
    for item, designs in grids.items():
        count = Store.default().void(item.name, item.version, lambda made: not committed(made["revision"]))
        if count:
            print(f"{item.name}: {count} stored cells come from code that no commit holds; they are computed anew")
        grid = [setting for settings in designs.values() for setting in settings]
        finished, new = extended(item, grid, others=bool(args.designs), jobs=args.jobs)
        path = paths.results() / f"{item.name}{results.SUFFIX}"
        path.parent.mkdir(exist_ok=True)
        results.write_results(item, finished, path)
        print(f"wrote {path}: {len(finished)} cells, {new} of them new")


def verify_sample(args: argparse.Namespace) -> int:
    """Computes a random sample of the results in results/ again; exit code 1 if some are not what is stored.

    The last lines count the tables that are not as stored, and those of which the sample cannot tell.
    """
    part = amount(args.sample, *_PART)
    if part > 1:
        raise InputError(f"{_PART[1]}, got {args.sample!r}")
    seed = (datetime.date.today().toordinal() - 1) // 7 if args.seed is None else args.seed
    files = results.files()
    if args.name is not None:
        validate.one_of(files, study=args.name)
    print(f"--sample {args.sample} --seed {seed}")
    different, undecided = [], []
    for name in [args.name] if args.name else files:
        number, item = catalogue.find(name)
        try:
            stored = results.Results.of(item)
            verified = verify(stored, share(part, seed, item), is_here=catalogue.is_here, jobs=args.jobs)
            lacking = catalogue.missing(number, stored)
            verified = replace(verified, differences=(*lacking, *verified.differences))
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            different.append(name)
        else:
            print("\n  ".join([str(verified), *verified.differences[:MOST]]), flush=True)
            different += [name] * bool(verified.differences)
            undecided += [name] * bool(verified.undecided)
    for names, word in ((different, "not as stored"), (undecided, "not decided")):
        print(f"{len(names)} {word}{': ' * bool(names)}{', '.join(names)}")
    return int(bool(different))


def tell_plan(args: argparse.Namespace) -> None:
    """Prints what chapters would take at a profile: cells, core time, memory, and what is stored already."""
    numbers = parameters.chapters()
    for number in args.chapter:
        validate.one_of(sorted(numbers), chapter=number)
    given = overrides(args)
    plans = {number: plan.of_chapter(number, args.profile, *given) for number in args.chapter or numbers}
    print(plan.cost_table(plans))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m companion.studies", description=__doc__)
    commands = parser.add_subparsers(required=True)

    def command(verb: str, function: Callable[..., int | None], **name: Any) -> argparse.ArgumentParser:
        subparser = commands.add_parser(verb, help=function.__doc__.partition("\n")[0])
        subparser.set_defaults(function=function)
        if name:
            subparser.add_argument("name", **name)
        return subparser

    study, optional_study = {"help": "such as depth.mnist_regression"}, {"help": "of one study only", "nargs": "?"}
    jobs = {"type": int, "help": "worker processes (default: one per core)"}
    command("list", list_studies)
    designs = {"nargs": "*", "help": "of the study, such as main (default: all)"}
    subparser = command("run", run, **study)
    subparser.add_argument("designs", **designs)
    add_parameter_options(subparser)
    subparser.add_argument("--budget", help="start no further cell after this time: 30s, 9m, 2h")
    subparser.add_argument("--jobs", **jobs)
    subparser.add_argument("--csv", type=Path, help="also write the table to this file")
    subparser = command("plan", tell_plan)
    subparser.add_argument("chapter", nargs="*", help="the chapters' numbers (default: all)")
    add_parameter_options(subparser)
    subparser = command("store-results", store_results, **optional_study)
    subparser.add_argument("designs", **designs)
    subparser.add_argument("--jobs", **jobs)
    subparser = command("verify", verify_sample, **optional_study)
    sampled = "of the cells of each study, or as many as tell (default: 5%%)"
    subparser.add_argument("--sample", default="5%", help=sampled)
    subparser.add_argument("--seed", type=int, help="of the choice (default: the number of the week)")
    subparser.add_argument("--jobs", **jobs)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    args = _parser().parse_args(argv)
    with one_line_errors(), forking():
        return args.function(args) or 0
