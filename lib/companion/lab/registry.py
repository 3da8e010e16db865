"""The studies of each chapter, and the cells that a chapter asks of one."""

import functools
import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pandas as pd

from companion.lab import parameters
from companion.lab.design import Designs
from companion.lab.here import is_here
from companion.lab.names import chapters_of_papers, texts_of_papers
from companion.lab.progress import say
from companion.lab.results import Results
from companion.lab.store import Cell
from companion.lab.stored import in_order, sample
from companion.lab.sweep import Setting, Study, cells
from regimes import validate
from regimes.validate import InputError


def modules() -> dict[str, list[ModuleType]]:
    """The study modules by the number of the chapter they serve."""
    return {number: _modules(number) for number in chapters_of_papers("studies")}


@functools.cache
def _modules(number: str) -> list[ModuleType]:
    """The study modules of one chapter."""
    return [importlib.import_module(name) for name in texts_of_papers("studies", number)]


def of(number: str) -> dict[str, Study]:
    """The studies of a chapter, by their full names."""
    found = (item for module in _modules(number) for item in vars(module).values() if isinstance(item, Study))
    return {item.name: item for item in found}


def find(name: str) -> tuple[str, Study]:
    """A study and the number of its chapter; InputError for an unknown name, with the known ones."""
    known = {full: (number, item) for number in modules() for full, item in of(number).items()}
    validate.one_of(sorted(known), study=name)
    return known[name]


def grids(number: str, values: Mapping[str, Any], study: Study | None = None) -> dict[Study, list[Setting]]:
    """The grid of every study of a chapter, or of one, at the chapter's parameters.

    So a value that makes no sense is named, in an InputError, before anything is computed.
    """
    for module in _modules(number):
        getattr(module, "check_parameters", lambda values: None)(values)
    return {item: item.grid(values) for item in ([study] if study else of(number).values())}


def stored_sizes() -> dict[str, dict[str, Any]]:
    """The studies with stored results, each with what is ``stored`` of its designs beside the laptop profile's."""
    found: dict[str, dict[str, Any]] = {}
    for number in modules():
        own = {item.function.__name__: name for name, item in of(number).items()}
        whole = [study for study, about in parameters.about_studies(number).items() if about.get("stored")]
        entries = parameters.designs(number, "stored")
        for study in [*whole, *(entry.split(".")[1] for entry in entries)]:
            validate.one_of(own, **{f"a study of chapter {number}": study})
            found.setdefault(own[study], {})
        for entry, value in entries.items():
            found[own[entry.split(".")[1]]][entry] = value
    return found


def finer() -> dict[str, dict[str, Any]]:
    """What makes the numerics of a study finer, by its name."""
    return {
        name: about["finer"]
        for number in modules()
        for name, item in of(number).items()
        if "finer" in (about := parameters.about_studies(number).get(item.function.__name__, {}))
    }


@dataclass(frozen=True)
class Asked:
    """The cells that a chapter asks of a study.

    Attributes:
        results: what is stored of the study.
        cells: by their keys; by setting in order of appearance, then by seed.
        designs: the keys of each design's cells; of a grid without designs under no name.
    """

    results: Results
    cells: Mapping[str, Cell]
    designs: Mapping[str, Collection[str]]

    @property
    def new(self) -> list[Cell]:
        """Those that ``results/`` lacks."""
        return [cell for key, cell in self.cells.items() if key not in self.results.records]

    def rows(self, design: str = "") -> pd.DataFrame:
        """The rows of a design, or of all; of a design without a cell none, and it is said; InputError if none has."""
        name = self.results.study.name
        none = "has no cell: results/ holds none, and its parameters ask for no realisation"
        if not self.cells:
            raise InputError(f"{name} {none}")
        if not design:
            return self.results.take(self.cells)
        validate.one_of(self.designs, **{f"a design of {name.rpartition('.')[2]}": design})
        own = {key: cell for key, cell in self.cells.items() if key in self.designs[design]}
        if not own:
            say(f"design {design} of {name} {none}")
            return self.results.take(self.cells)[:0]  # the columns alone
        return self.results.take(own)


def asked(number: str, study: Study, values: Mapping[str, Any]) -> Asked:
    """The cells of a study at a chapter's parameters.

    With the laptop's values a design is as large as ``results/`` holds it; where that has no cell of a setting, it is
    computed, unless its data stand in for those of the results. A changed design has its own settings, and beside its
    own seeds the stored ones that all of them share. Seeds that a reader lists are taken as they are.
    """
    results, usual = Results(study), parameters.resolve(number)
    designs = {}
    for design in study.grid.names(values) if isinstance(study.grid, Designs) else [""]:
        own = study.grid.settings(values, design) if design else study.grid(values)
        with validate.memory_asked():  # no more than a measure
            laptop = study.grid.settings(usual, design) if design else own
        stored = results.of_design(design)
        if values["profile"] == "laptop" and own == laptop and stored:
            data = {cell.setting.get("data") for cell in stored.values()}
            more = {cell.key(): cell for cell in cells(study, own)}
            found = results.records.keys() | results.refused.keys()  # what is refused is computed
            designs[design] = stored | {k: c for k, c in more.items() if k in found or _is_new(c, results, data)}
        else:
            seeds = {cell.seed for cell in stored.values()} if _are_usual(own, laptop) else set()
            designs[design] = {cell.key(): cell for cell in cells(study, _with_shared(study, own, seeds, results))}
    every = in_order(cell for own in designs.values() for cell in own.values())
    return Asked(results, every, {name: set(own) for name, own in designs.items()})


def _is_new(cell: Cell, results: Results, data: Collection[Any]) -> bool:
    """Whether a cell's setting is not among stored ones, and of the same data."""
    return cell.key(seed=False) not in results.settings and cell.setting.get("data") in data


def _are_usual(own: Sequence[Setting], laptop: Sequence[Setting]) -> bool:
    """Whether the seeds of a design are counted, or those that the laptop profile lists."""
    seeds, usual = ({tuple(setting["seeds"]) for setting in settings} for settings in (own, laptop))
    return seeds == usual or all(found == (*range(len(found)),) for found in seeds)


def _with_shared(study: Study, own: Sequence[Setting], seeds: Collection[int], results: Results) -> list[Setting]:
    """The settings of a changed design, each with its seeds and those of ``seeds`` at which all of them are stored."""

    def is_stored(seed: int) -> bool:
        return all(
            cell.key() in results.records for cell in cells(study, [setting | {"seeds": [seed]} for setting in own])
        )

    shared = [seed for seed in seeds if is_stored(seed)]
    return [setting | {"seeds": sorted({*setting["seeds"], *shared})} for setting in own]


def to_compute(number: str, study: Study, values: Mapping[str, Any]) -> list[Cell]:
    """The cells that a run takes from the store or computes: those that ``results/`` lacks, and a sample of the others.

    The sample is of the laptop profile: smoke is to be quick, and a run of days is verified apart.
    """
    found = asked(number, study, values)
    return found.new + (sample(found.results, is_here) if values["profile"] == "laptop" else [])
