"""The catalogue of studies: those of each chapter by name, and the cells that a chapter asks of one."""

import contextlib
import functools
import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pandas as pd

from companion.data import celeba
from companion.data.images import as_fetched, identity
from companion.lab import draws, parameters
from companion.lab.design import Designs, Entries
from companion.lab.names import chapters_of_papers, texts_of_papers
from companion.lab.parameters import Kind
from companion.lab.progress import say
from companion.lab.results import Results
from companion.lab.store import Cell
from companion.lab.sweep import Study, cells
from companion.lab.verify import in_order, sample
from regimes import validate
from regimes.data import datasets
from regimes.data.datasets import Absent
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
    studies = (item for module in _modules(number) for item in vars(module).values() if isinstance(item, Study))
    return {item.name: item for item in studies}


def find(name: str) -> tuple[str, Study]:
    """A study and the number of its chapter; InputError for an unknown name, with the known ones."""
    by_name = {full: (number, item) for number in modules() for full, item in of(number).items()}
    validate.one_of(sorted(by_name), study=name)
    return by_name[name]


def kinds(number: str) -> dict[str, Kind]:
    """What each parameter of a chapter may hold: that of all the axes that designs give it to, else its own."""
    values, declared = parameters.resolve(number), parameters.declared(number)
    lists = {name for name, parameter in declared.items() if isinstance(parameter.value, list)}
    found: dict[str, Kind] = {}
    for grid in (study.grid for study in of(number).values()):
        for design in grid.names(values):
            for name, kind in grid.kinds(values, design, lists):
                found[name] = found[name].both(kind) if name in found else kind
    return {name: found.get(name) or parameters.own_kind(number, name) for name in declared if name != "profile"}


def check(number: str, values: Mapping[str, Any]) -> None:
    """Raises InputError for a parameter of a chapter that is not of its kind."""
    for name, kind in kinds(number).items():
        kind.checked(name, values[name])


def grids(number: str, values: Mapping[str, Any], study: Study | None = None) -> dict[Study, list[Entries]]:
    """The grid of every study of a chapter, or of one, at the chapter's parameters.

    So a value that makes no sense is named, in an InputError, before anything is computed. Settings of data that a run
    does without are not among them. More memory than is free is an error for what is computed, see ``schedule``.
    """
    check(number, values)
    for module in _modules(number):
        getattr(module, "check_parameters", lambda values: None)(values)
    return {item: _grid(number, item, values) for item in ([study] if study else of(number).values())}


def _grid(number: str, study: Study, values: Mapping[str, Any]) -> list[Entries]:
    """The settings of all designs of a study whose data are on this machine."""
    try:
        return study.grid(values)
    except Absent:
        lacking = absent(number, study, values)
    there = [design for design in study.grid.names(values) if design not in lacking]
    return study.grid(values, there) if there else []


def absent(number: str, study: Study, values: Mapping[str, Any]) -> dict[str, str]:
    """Why the data of a design are not on this machine, by the designs that a run does without."""
    try:
        study.grid(values)
    except Absent:
        whys = {design: _settings(number, study, values, design)[1] for design in study.grid.names(values)}
        return {design: why for design, why in whys.items() if why}
    return {}


def _settings(number: str, study: Study, values: Mapping[str, Any], design: str) -> tuple[list[Entries], str]:
    """The settings of a design; where a run does without its data, none, and why these are not on this machine.

    A run does without data that the book's own values find missing, too: what stands in ``results/`` judges.

    Raises:
        Absent: at the papers' sizes, for a design that a reader has changed, and for data that a reader asks for.
    """
    try:
        return study.grid.settings(values, design), ""
    except Absent as error:
        usual = parameters.resolve(number, values["profile"])
        if values["profile"] == "paper" or study.grid.own(values, design) != study.grid.own(usual, design):
            raise
        try:
            study.grid.settings(usual, design)
        except Absent:
            return [], str(error)
        raise  # here are those that the book asks for


def is_here(setting: Mapping[str, Any]) -> bool:
    """Whether the data set that a setting names, if it names one, is on this machine, and the same version of it."""
    named = setting.get("words") or setting.get("data")
    if not isinstance(named, str) or "," not in named:
        return True
    for name in datasets.NAMES if setting.get("data") != "celeba" else ():
        with contextlib.suppress(InputError):
            version = identity(name)
            if named == version or named.endswith(f"of {version}") or f"of {version}, " in named:
                return True
    with contextlib.suppress(InputError):
        return setting.get("data") == "celeba" and bool(celeba.needs_folder())
    return False


def stored_sizes() -> dict[str, dict[str, Any]]:
    """The studies with stored results, each with what is ``stored`` of its designs beside the laptop profile's."""
    sizes: dict[str, dict[str, Any]] = {}
    for number in modules():
        full_names = {item.function.__name__: name for name, item in of(number).items()}
        complete = [study for study, about in parameters.about_studies(number).items() if about.get("stored")]
        entries = parameters.designs(number, "stored")
        for study in [*complete, *(entry.split(".")[1] for entry in entries)]:
            validate.one_of(full_names, **{f"a study of chapter {number}": study})
            sizes.setdefault(full_names[study], {})
        for entry, value in entries.items():
            sizes[full_names[entry.split(".")[1]]][entry] = value
    return sizes


def finer() -> dict[str, dict[str, Any]]:
    """What makes the numerics of a study finer, by its name."""
    factors = {}
    for number in modules():
        about = parameters.about_studies(number)
        entries = {name: about.get(item.function.__name__, {}) for name, item in of(number).items()}
        factors |= {name: entry["finer"] for name, entry in entries.items() if "finer" in entry}
    return factors


@dataclass(frozen=True)
class Asked:
    """The cells that a chapter asks of a study.

    Attributes:
        results: what is stored of the study.
        cells: by their keys; by setting in order of appearance, then by seed.
        designs: the keys of each design's cells.
        absent: why the data of a design are not on this machine, where they are not.
    """

    results: Results
    cells: Mapping[str, Cell]
    designs: Mapping[str, Collection[str]]
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def new(self) -> list[Cell]:
        """Those that ``results/`` lacks."""
        return [cell for key, cell in self.cells.items() if key not in self.results.finished]

    def rows(self, design: str = "") -> pd.DataFrame:
        """The rows of a design, or of all; of a design without a cell none, and it is said; InputError if none has."""
        name = self.results.study.name
        none = "has no cell: results/ holds none, and its parameters ask for no realisation"
        if not self.cells:
            raise InputError(f"{name} {none}")
        if not design:
            return self.results.take(self.cells)
        validate.one_of(self.designs, **{f"a design of {name.rpartition('.')[2]}": design})
        selected = {key: cell for key, cell in self.cells.items() if key in self.designs[design]}
        if not selected:
            say(self.absent.get(design, f"design {design} of {name} {none}"))
            return self.results.take(self.cells)[:0]  # the columns alone
        return self.results.take(selected)


def asked(number: str, study: Study, values: Mapping[str, Any]) -> Asked:
    """The cells of a study at a chapter's parameters.

    With the laptop's values a design is as large as ``results/`` holds it; where that has no cell of a setting, it is
    computed, unless its data stand in for those of the results. A changed design has its own settings, and beside its
    own seeds the stored ones that all of them share. Seeds that a reader lists are taken as they are. A design
    whose data are not on this machine has the cells that ``results/`` holds, and at other values none.
    """
    results, laptop_values = Results.of(study), parameters.resolve(number)
    kept = _kept(results, laptop_values | parameters.designs(number, "stored"))
    designs: dict[str, dict[str, Cell]] = {}
    lacking = {}
    for design in study.grid.names(values):
        stored = kept.get(design, {})
        settings, why = _settings(number, study, values, design)
        if why:
            is_usual = study.grid.values(values, design) == study.grid.values(laptop_values, design)
            designs[design] = stored if is_usual and values["profile"] == "laptop" else {}
            lacking[design] = why
            continue
        laptop = settings if values == laptop_values else _at_laptop(study, laptop_values, design)
        if values["profile"] == "laptop" and settings == laptop and stored:
            data = {cell.setting.get("data") for cell in stored.values()}
            known = results.finished.keys() | results.refused.keys()  # what is refused is computed
            designs[design] = dict(stored)
            for cell in cells(study, settings):
                is_new = cell.key(seed=False) not in results.settings and cell.setting.get("data") in data
                if is_new or cell.key() in known:
                    designs[design][cell.key()] = cell
        else:
            seeds = (
                {cell.seed for cell in stored.values()}
                if _has_usual_seeds(settings, laptop, draws.first(values["profile"]))
                else set()
            )
            designs[design] = {cell.key(): cell for cell in cells(study, _with_shared(study, settings, seeds, results))}
    all_cells = in_order(cell for by_key in designs.values() for cell in by_key.values())
    return Asked(results, all_cells, {name: set(by_key) for name, by_key in designs.items()}, lacking)


def kept_cells(number: str, results: Results) -> dict[str, dict[str, Cell]]:
    """The cells of each design of a study that ``results/`` holds, by their keys: of the sizes that are to be stored.

    Where the data of another machine are in them, they are taken as fetched; where nobody here knows these data, the
    cells are found by the axes alone.
    """
    return _kept(results, parameters.resolve(number) | parameters.designs(number, "stored"))


def _kept(results: Results, values: Mapping[str, Any]) -> dict[str, dict[str, Cell]]:
    """The stored cells of each design at the ``values`` that are to be stored."""
    grid = results.study.grid
    kept = {}
    for design in grid.names(values) if results.finished else ():
        found: set[str] = set()
        for how in (contextlib.nullcontext, as_fetched):
            with contextlib.suppress(InputError), how():
                wanted = {cell.key() for cell in cells(results.study, grid.settings(values, design))}
                found = max(wanted & results.finished.keys(), found, key=len)
                if found == wanted:
                    break
        if not found:
            settings = grid.axes_alone().settings(values, design)
            asked_for = {(one, seed) for it in settings for one in grid.choices(it) for seed in it["seeds"]}
            found = {key for key, it in results.finished.items() if _of_axes(grid, it.cell) in asked_for}
        kept[design] = {key: result.cell for key, result in results.finished.items() if key in found}
    return kept


def _of_axes(grid: Designs, cell: Cell) -> tuple[str, int]:
    return grid.identity(cell.setting), cell.seed


def missing(number: str, results: Results) -> list[str]:
    """The designs of which ``results/`` holds fewer cells than are to be stored, in a line each."""
    axes = results.study.grid.axes_alone()
    values = parameters.resolve(number, "laptop", parameters.designs(number, "stored"))
    lines = []
    for design, held in kept_cells(number, results).items():
        count = sum(len(setting["seeds"]) for setting in axes.settings(values, design))
        if len(held) < count:
            lines.append(f"{results.path.name} holds {len(held)} of the {count} cells of the design {design}")
    return lines


def _at_laptop(study: Study, values: Mapping[str, Any], design: str) -> list[Entries]:
    """The settings of a design at the laptop's values; of data that are not here, its axes alone."""
    try:
        return study.grid.settings(values, design)
    except Absent:
        return study.grid.axes_alone().settings(values, design)


def _has_usual_seeds(settings: Sequence[Entries], laptop: Sequence[Entries], start: int) -> bool:
    """Whether the seeds of a design are counted, or those that the laptop profile lists."""
    seeds = {tuple(setting["seeds"]) for setting in settings}
    counted = all(listed == (*range(start, start + len(listed)),) for listed in seeds)
    return counted or seeds == {tuple(setting["seeds"]) for setting in laptop}


def _with_shared(study: Study, settings: Sequence[Entries], seeds: Collection[int], results: Results) -> list[Entries]:
    """The settings of a changed design, each with its seeds and those of ``seeds`` at which all of them are stored."""
    shared = []
    for seed in seeds:
        wanted = cells(study, [setting | {"seeds": [seed]} for setting in settings])
        if all(cell.key() in results.finished for cell in wanted):
            shared.append(seed)
    return [setting | {"seeds": sorted({*setting["seeds"], *shared})} for setting in settings]


def to_compute(number: str, study: Study, values: Mapping[str, Any]) -> list[Cell]:
    """The cells that a run takes from the store or computes: those that ``results/`` lacks, and a sample of the others.

    The sample is of the laptop profile: smoke is to be quick, and a run of days is verified apart.
    """
    cells_asked = asked(number, study, values)
    return cells_asked.new + (sample(cells_asked.results, is_here) if values["profile"] == "laptop" else [])
