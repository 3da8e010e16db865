"""Designs: the settings of a study by name, as data in TOML.

::

    # chapters/designs/05.toml
    [projectors.sphere]      # study, design
    cloud = "sphere"         # one value
    n = [100, 200]           # an axis: each of these
    n0 = "$n0"               # what the chapter's parameter of that name holds
    depths = [5, 30]         # one value, where a setting holds a list
    seeds = [6, 2]           # how many realisations, here with each n
    zip = [["n", "seeds"]]   # axes that go together, value by value
    smoke.n = [20, 40]       # of another profile, in place of that of the laptop
    paper.n = [1000, 2000]
    stored.seeds = 40        # of what results/ holds
    registered.seeds = 50    # of what the registered run draws, where that is not what is stored
    least.n = 2              # a figure needs so many values of an axis
    [projectors.images]
    extends = "sphere"       # all its entries, except those given here
    [projectors]
    stored = true            # the laptop's sizes of all designs
    finer.tolerance = 0.1    # a factor, or another word, that makes the numerics finer; see benchmarks/finer.py

Readers replace entries, too. The axes are the fields of the study's record (``companion.lab.record``). If ``seeds`` may
be 0, no run computes a design with none; its stored results may have some.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from companion.lab import draws
from companion.lab.parameters import Kind
from companion.lab.record import Axis
from regimes import validate
from regimes.data.datasets import Absent
from regimes.validate import InputError

Entries = dict[str, Any]  # of a setting, by name, as a cell stores them; and in a grid its ``seeds``
MOST = 100_000  # settings of a design: they are built in memory
LISTED = replace(Kind.of("count", 0), order="distinct")  # seeds
COUNTED = Kind.of("count", 1, 1000)


class _Memory(NamedTuple):
    """The memory that a setting asks for, as ``validate.memory`` was given it, and the entries that asked."""

    asked: list[tuple[int, str, Any]]
    where: str
    table: Mapping[str, Any]


@dataclass(frozen=True)
class Designs:
    """The grid of a study: the settings of all its designs.

    Attributes:
        study: the name of the study's function.
        axes: of a setting, by name.
        seeds: how many there may be.
        complete: adds to a setting what follows from its axes; raises InputError for one that cannot be computed.
    """

    study: str
    axes: Mapping[str, Axis] = field(hash=False)
    seeds: Kind = COUNTED
    complete: Callable[[Entries], Entries] = dict
    _memory: dict[str, "_Memory"] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, values: Mapping[str, Any], designs: Collection[str] = ()) -> list[Entries]:
        """The settings of these designs, by default of all, each once, with the seeds of all; none without."""
        by_identity: dict[str, Entries] = {}
        tables = self._tables(values)
        for design in designs or tables:
            for setting in self.settings(values, design):
                merged = by_identity.setdefault(self.identity(setting), setting)
                merged["seeds"] = sorted({*merged["seeds"], *setting["seeds"]})
        some = [setting for setting in by_identity.values() if setting["seeds"]]
        if by_identity and not some:
            where = next(iter(tables.values()))[0].rpartition(".")[0]
            raise InputError(f"{where} must have seeds in one design at least, got none")
        return some

    def of(self, **entries: Any) -> list[Entries]:
        """The settings of one design that is written here, as in a file: ``grid.of(n=[100, 200], seeds=5)``."""
        return self.settings({f"own.{self.study}.main.{axis}": value for axis, value in entries.items()}, "main")

    def axes_alone(self) -> "Designs":
        """The same designs without what follows from their axes: where their data are not on this machine."""
        return replace(self, complete=dict)

    def identity(self, setting: Entries) -> str:
        """The identity of a setting within the study: its values on the axes, without its seeds."""
        return json.dumps([setting.get(axis) for axis in self.axes])

    def choices(self, setting: Entries) -> list[str]:
        """The identities of a setting of axes alone: one for each data set of which it holds the first that is here."""
        names = [name for name, axis in self.axes.items() if axis.alternatives and isinstance(setting.get(name), list)]
        chosen = itertools.product(*(setting[name] for name in names))
        return [self.identity(setting | dict(zip(names, one))) for one in chosen]

    def settings(self, values: Mapping[str, Any], design: str) -> list[Entries]:
        """The settings of a design: all combinations of its axes; zipped axes vary together.

        More memory than is free is no error here, see ``needs_memory``: many settings are stored, and not computed.

        Raises:
            Absent: where its data are not on this machine.
            InputError: for entries that make no setting.
        """
        where, table, groups = self._merged_table(values, design)
        axes = self.values(values, design)
        try:
            settings = [self._completed(setting, where, table) for setting in _combined(axes, groups)]
            if len({self.identity(setting) for setting in settings}) < len(settings):
                raise InputError("two of its settings are the same")
            return settings
        except InputError as error:
            kind = Absent if isinstance(error, Absent) else InputError
            raise kind(f"{where}{_knobs(table, str(error))}: {error}") from None

    def _completed(self, given: Entries, where: str, table: Mapping[str, Any]) -> Entries:
        """A setting with what follows from its axes; the memory that it asks for is kept."""
        with validate.memory_asked() as asked:
            setting = self.complete(given)
        if asked:
            self._memory[self.identity(setting)] = _Memory(asked, where, table)
        return setting

    def memory(self, setting: Entries) -> int:
        """The bytes that a setting of these designs asks for; 0 if it asks for none."""
        kept = self._memory.get(self.identity(setting))
        return max(needed for needed, _, _ in kept.asked) if kept else 0

    def needs_memory(self, setting: Entries) -> None:
        """Raises InputError for a setting that asks for more memory than is free now; before it is computed."""
        kept = self._memory.get(self.identity(setting))
        try:
            for asked in kept.asked if kept else ():
                validate.memory(*asked)
        except InputError as error:
            raise InputError(f"{kept.where}{_knobs(kept.table, str(error))}: {error}") from None

    def values(self, values: Mapping[str, Any], design: str) -> dict[str, list[Any]]:
        """The values of each axis of a design, each of its kind."""
        where, table, groups = self._merged_table(values, design)
        axis_names = [*self.axes, "seeds"]
        needed = {"seeds", *(name for name, axis in self.axes.items() if not axis.optional)}
        if not needed <= table.keys() <= {*axis_names}:
            wrong = *(needed - table.keys()), *(table.keys() - {*axis_names})
            raise InputError(f"{where} needs the axes {', '.join(axis_names)}; missing or unknown: {', '.join(wrong)}")
        by_axis = {}
        for axis in (axis for axis in axis_names if axis in table):
            given, name, together = table[axis], f"{where}.{axis}", any(axis in group for group in groups)
            given = [_of_knob(name, one, values) for one in given] if isinstance(given, list) else given
            if _names_knob(given):
                given, name = _of_knob(name, given, values), given[1:]
            if axis == "seeds":
                by_axis[axis] = self._seeds(name, given, together, draws.first(values.get("profile", "")))
            else:
                by_axis[axis] = self.axes[axis].values(name, given, together=together)
        return by_axis

    def names(self, values: Mapping[str, Any]) -> list[str]:
        """The names of the study's designs."""
        return [*self._tables(values)]

    def own(self, values: Mapping[str, Any], design: str) -> Entries:
        """The entries that a design has of its own, without those that it inherits."""
        return self._tables(values)[design][1]

    def knobs(self, values: Mapping[str, Any], design: str) -> set[str]:
        """The chapter's parameters that the entries of a design name."""
        entries = [entry for value in self._merged_table(values, design)[1].values() for entry in _as_list(value)]
        return {entry[1:] for entry in entries if _names_knob(entry)}

    def kinds(self, values: Mapping[str, Any], design: str, lists: Collection[str]) -> Iterator[tuple[str, Kind]]:
        """The chapter's parameters that the entries of a design name, with what each may hold; ``lists`` hold lists."""
        _, table, groups = self._merged_table(values, design)
        for axis, given in table.items():
            together = any(axis in group for group in groups)
            for entry in filter(_names_knob, _as_list(given)):
                listed = given == entry and entry[1:] in lists
                if axis == "seeds":
                    some = replace(self.seeds, low=max(1, self.seeds.low))  # a page has a figure of them
                    of_list = replace(some, order="list of") if together else LISTED
                    yield entry[1:], of_list if listed else some
                elif axis in self.axes:
                    own = self.axes[axis]
                    yield entry[1:], own.listed(together=together) if listed else own.kind.item

    def inherits(self, values: Mapping[str, Any], design: str) -> list[str]:
        """A design and those that it extends, by name."""
        tables = self._tables(values)
        validate.one_of(tables, **{f"a design of {self.study}": design})
        chain = [design]
        while base := tables[chain[-1]][1].get("extends"):
            chain.append(base)
        return chain

    def _seeds(self, name: str, given: Any, together: bool, start: int) -> list[list[int]]:
        """The realisations of each setting: those counted, or those listed, from a first one on."""
        if together and isinstance(given, list):
            return [self._seeds(f"{name}[{i}]", entry, False, start)[0] for i, entry in enumerate(given)]
        if isinstance(given, list):
            return [[start + seed for seed in LISTED.checked(name, given)]]
        return [[*range(start, start + self.seeds.checked(name, given))]]

    def _tables(self, values: Mapping[str, Any]) -> dict[str, tuple[str, dict[str, Any]]]:
        """The full name of each design of the study, and its own entries."""
        tables: dict[str, tuple[str, dict[str, Any]]] = {}
        marker = f".{self.study}."  # a chapter has hundreds of entries
        for name in (name for name in values if marker in name):
            if name.count(".") == 3 and name.split(".")[1] == self.study:
                where, _, axis = name.rpartition(".")
                tables.setdefault(where.rpartition(".")[2], (where, {}))[1][axis] = values[name]
        return tables

    def _merged_table(self, values: Mapping[str, Any], design: str) -> tuple[str, dict[str, Any], list[list[str]]]:
        """The full name of a design, its entries with those it inherits, and the axes that it zips."""
        tables = self._tables(values)
        validate.one_of(tables, **{f"a design of {self.study}": design})
        full_name, table = tables.pop(design)
        while "extends" in table:
            base = table.pop("extends")
            validate.one_of(tables, **{f"{full_name}.extends": base})
            table = tables.pop(base)[1] | table
        zipped = table.pop("zip", [])
        lists = isinstance(zipped, list) and all(isinstance(group, list) for group in zipped)
        names = [axis for group in zipped for axis in group] if lists else []
        if not lists or any(names.count(axis) > 1 or axis not in [*table] for axis in names):
            raise InputError(f"{full_name}.zip must hold lists of axes, each once, got {validate.shown(zipped)}")
        return full_name, table, zipped


def _combined(axes: Mapping[str, list[Any]], groups: list[list[str]]) -> list[Entries]:
    """All combinations of axes; axes of a group vary together."""
    blocks = {}
    for axis in axes:
        group = next((group for group in groups if axis in group), [axis])
        if len({len(axes[name]) for name in group}) > 1:
            raise InputError(f"{' and '.join(group)} are zipped and must hold as many values")
        blocks[group[0]] = [dict(zip(group, row)) for row in zip(*(axes[name] for name in group))]
    if (count := math.prod(map(len, blocks.values()))) > MOST:
        raise InputError(f"the axes must have at most {MOST} combinations, got {count}")
    rows = ({k: v for part in row for k, v in part.items()} for row in itertools.product(*blocks.values()))
    return [{axis: row[axis] for axis in axes} for row in rows]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _names_knob(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("$")


def _knobs(table: Mapping[str, Any], message: str) -> str:
    """The chapter's parameters behind the axes that a message names, or else behind all of them."""
    entries = {axis: _as_list(value) for axis, value in table.items()}
    knobs_of = {axis: knobs for axis, given in entries.items() if (knobs := [*filter(_names_knob, given)])}
    named = {axis for axis in knobs_of if re.search(rf"\b{axis}\b", message)} or knobs_of.keys()
    words = [f"{axis} = {', '.join(knobs)}" for axis, knobs in knobs_of.items() if axis in named]
    return f" ({', '.join(words)})" if words else ""


def _of_knob(name: str, given: Any, values: Mapping[str, Any]) -> Any:
    """A value, or that of the chapter's parameter it names."""
    if _names_knob(given) and given[1:] not in values:
        raise InputError(f"{name} names {given}, and the chapter has no such parameter")
    return values[given[1:]] if _names_knob(given) else given
