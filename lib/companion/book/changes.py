"""What changes a figure: the parameters, studies and designs that it depends on, and what these take."""

import functools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from companion import paths
from companion import studies as registry
from companion.book import claims, figures
from companion.lab import parameters, schedule
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
        own = {knob.name for knob in self.knobs} | self.designs
        return any((".".join(name.split(".")[1:3]) if "." in name else name) in own for name in names)


def examples(number: str) -> dict[str, Example]:
    """What ``chapters/changes.toml`` suggests to change of each figure of a chapter."""
    return {label: Example(one["sets"], one["see"]) for label, one in _suggested(number).items()}


def knobs(number: str) -> dict[str, dict[str, Any]]:
    """The knob of a figure: what it ``turns``, and its ``choices``: ``name``, ``sets`` but of the book's, ``see``."""
    return {label: one["knob"] for label, one in _suggested(number).items() if "knob" in one}


def _suggested(number: str) -> dict[str, Any]:
    path = paths.chapters_folder() / "changes.toml"
    found = parameters.read_toml(path).get(number, {}) if path.exists() else {}
    for label, one in found.items():
        _check(where := f"{number}.{label}", one, sets=dict, see=str)
        if "knob" in one:
            _check(f"{where}.knob", one["knob"], turns=str, choices=list)
            for choice in one["knob"]["choices"]:
                whole = {"sets": {}} | choice if isinstance(choice, dict) else choice  # the book's sets nothing
                _check(f"{where}.knob.choices", whole, name=str, sets=dict, see=str)
    return found


def _check(where: str, given: Any, **parts: type) -> None:
    """InputError unless a table of ``changes.toml`` has these ``parts``, each of its kind; a figure may have a knob."""
    found = given if isinstance(given, dict) else {}
    for name in (*parts, *found.keys() - {"knob"}):
        if not isinstance(found.get(name), parts.get(name, ())):
            wanted = ", ".join(f"{part} ({KINDS[kind]})" for part, kind in parts.items())
            raise InputError(
                f"changes.toml, [{where}] must hold {wanted}: {name} is missing, unknown or of another kind"
            )


def changes(number: str, labels: Collection[str] | None = None) -> dict[str, Change]:
    """What each figure, or each of these ``labels``, depends on; seconds are those at the laptop's parameters."""
    values, known, suggested = parameters.resolve(number), parameters.declared(number), examples(number)
    own = {study.function.__name__: study for study in registry.of(number).values()}

    @functools.cache
    def seconds(name: str) -> float:
        return _seconds(own[name], registry.grids(number, values, own[name])[own[name]])

    every, found = figures.figures(number), {}
    for label in every if labels is None else labels:
        asked = figures.designs_of(number, label, every[label])  # of studies that no module holds, too
        shown = {name: Designs(name, {}).names(values) if "" in named else named for name, named in asked.items()}
        used = {knob for claim in claims.claims_of(number) if claim.figure == label for knob in claim.knobs}
        used |= every[label].names
        bases = set()
        for grid, designs in ((Designs(name, {}), designs) for name, designs in shown.items()):
            used = used.union(*(grid.knobs(values, design) for design in designs))
            bases |= {f"{grid.study}.{base}" for design in designs for base in grid.inherits(values, design)}
        knobs = [one for name, one in known.items() if name in used and name != "profile"]
        studies = {own[name]: shown[name] for name in own if name in shown}
        took = sum(seconds(study.function.__name__) for study in studies)
        found[label] = Change(knobs, [*studies], took, studies, frozenset(bases), suggested.get(label))
    return found


def _seconds(study: Study, grid: Sequence[Entries]) -> float:
    """The expected seconds of a grid; for a study with stored results only, those that they took."""
    there = Results(study).records if not schedule.recorded(study) else {}
    asked = {cell.key(): cell for cell in cells_of(study, grid)}
    left = schedule.chunks({study.name: study}, [cell for key, cell in asked.items() if key not in there])
    took = [there[key].provenance["seconds"] for key in asked.keys() & there.keys()]
    return sum(map(schedule.seconds, left)) + sum(took)
