"""What changes a figure: the parameters, studies and designs that it depends on, and what these take."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from companion import paths
from companion.book import claims, figures
from companion.lab import catalogue, parameters, schedule
from companion.lab.design import Designs, Entries
from companion.lab.results import Results
from companion.lab.study import Study
from companion.lab.sweep import cells as cells_of
from regimes.validate import InputError

KINDS = {dict: "a table", list: "a list", str: "text"}  # of the parts of ``changes.toml``


class Example(NamedTuple):
    """A command to try: the values that it ``sets``, and what to ``see`` in the figure then."""

    sets: dict[str, Any]
    see: str


class Change(NamedTuple):
    """What a figure depends on: the chapter's parameters that change it, its studies, their core seconds.

    ``shown`` are the designs of its studies that it shows, by study, and ``designs`` these with those that they extend,
    ``study.design``; ``example`` is the one of ``chapters/changes.toml``.
    """

    knobs: list[parameters.Parameter]
    studies: list[Study]
    seconds: float
    shown: Mapping[Study, Collection[str]] = {}
    designs: frozenset[str] = frozenset()
    example: Example | None = None

    def of(self, names: Collection[str]) -> bool:
        """Whether any of the ``names``, of parameters or designs' entries (``05.recipe.main.n``), changes it."""
        dependences = {knob.name for knob in self.knobs} | self.designs
        designs = (".".join(name.split(".")[1:3]) if "." in name else name for name in names)
        return not dependences.isdisjoint(designs)


def examples(number: str) -> dict[str, Example]:
    """What ``chapters/changes.toml`` suggests to change of each figure of a chapter."""
    return {label: Example(entry["sets"], entry["see"]) for label, entry in _suggested(number).items()}


def knobs(number: str) -> dict[str, dict[str, Any]]:
    """The knob of a figure: what it ``turns``, and its ``choices``: ``name``, ``sets`` but of the book's, ``see``."""
    return {label: entry["knob"] for label, entry in _suggested(number).items() if "knob" in entry}


def _suggested(number: str) -> dict[str, Any]:
    path = paths.chapters_folder() / "changes.toml"
    by_label = parameters.read_toml(path).get(number, {}) if path.exists() else {}
    for label, entry in by_label.items():
        _check(where := f"{number}.{label}", entry, sets=dict, see=str)
        if "knob" in entry:
            _check(f"{where}.knob", entry["knob"], turns=str, choices=list)
            for choice in entry["knob"]["choices"]:
                complete = {"sets": {}} | choice if isinstance(choice, dict) else choice  # the book's sets nothing
                _check(f"{where}.knob.choices", complete, name=str, sets=dict, see=str)
    return by_label


def _check(where: str, given: Any, **parts: type) -> None:
    """InputError unless a table of ``changes.toml`` has these ``parts``, each of its kind; a figure may have a knob."""
    table = given if isinstance(given, dict) else {}
    for name in (*parts, *table.keys() - {"knob"}):
        if not isinstance(table.get(name), parts.get(name, ())):
            wanted = ", ".join(f"{part} ({KINDS[kind]})" for part, kind in parts.items())
            raise InputError(
                f"changes.toml, [{where}] must hold {wanted}: {name} is missing, unknown or of another kind"
            )


def changes(number: str, labels: Collection[str] | None = None) -> dict[str, Change]:
    """What each figure, or each of these ``labels``, depends on; seconds are those at the laptop's parameters."""
    values = parameters.resolve(number)
    suggested = examples(number)
    studies_here = {study.function.__name__: study for study in catalogue.of(number).values()}

    @functools.cache
    def seconds(name: str) -> float:
        study = studies_here[name]
        return _seconds(study, catalogue.grids(number, values, study)[study])

    figures_here, dependences = figures.figures(number), {}
    for label in figures_here if labels is None else labels:
        asked = figures.designs_of(number, label, figures_here[label])  # of studies that no module holds, too
        judging = [claim for claim in claims.claims_of(number) if claim.figure == label]
        used = figures_here[label].names.union(*(claim.knobs for claim in judging))
        bases, designs_shown = set(), {}
        for name, named in asked.items():
            grid = Designs(name, {})
            designs_shown[name] = grid.names(values) if "" in named else named
            for design in designs_shown[name]:
                used |= grid.knobs(values, design)
                bases |= {f"{grid.study}.{base}" for base in grid.inherits(values, design)}
        knobs = [it for name, it in parameters.declared(number).items() if name in used and name != "profile"]
        studies = {studies_here[name]: designs_shown[name] for name in studies_here if name in designs_shown}
        took = sum(seconds(study.function.__name__) for study in studies)
        dependences[label] = Change(knobs, [*studies], took, studies, frozenset(bases), suggested.get(label))
    return dependences


def _seconds(study: Study, grid: Sequence[Entries]) -> float:
    """The expected seconds of a grid; for a study with stored results only, those that they took."""
    stored = Results.of(study).finished if not schedule.recorded(study) else {}
    asked = {cell.key(): cell for cell in cells_of(study, grid)}
    remaining = schedule.chunks({study.name: study}, [cell for key, cell in asked.items() if key not in stored])
    took = [stored[key].provenance["seconds"] for key in asked.keys() & stored.keys()]
    return sum(map(schedule.seconds, remaining)) + sum(took)
