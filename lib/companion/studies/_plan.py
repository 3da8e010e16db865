"""What a profile would take: cells, core-hours and memory, from the seconds of cells that were measured."""

import contextlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from companion import studies as registry
from companion.experiments import parameters, schedule
from companion.experiments.design import Entries
from companion.experiments.results import Results
from companion.experiments.store import Store
from companion.experiments.study import Study
from companion.experiments.sweep import cells
from companion.studies._images import as_fetched
from regimes import devices, validate
from regimes.validate import InputError

STEEPEST = 4.0  # the largest exponent: a Gram matrix costs the third power of its points, a Hessian's may cost one more
WEAK = 0.03  # weight of what holds exponents and factors at 1 where few cells tell
TOLD = 2.0  # times a size must vary in the measured cells to have an exponent
INTERVALS = ("every",)  # whole numbers that are no sizes: the larger, the fewer measurements
FAR = 4.0  # times the largest size that was measured: beyond, an exponent of small cells may be that of their overhead
Measured = Sequence[tuple[Entries, float]]  # settings, each with the seconds of a cell


@dataclass(frozen=True)
class Law:
    r"""Seconds a cell, a power law in the sizes with a factor for what is no size.

    :math:`s = e^a \prod_i x_i^{k_i} \prod_w f_w`, with :math:`0 \le k_i \le 4`. Sizes that the measured cells have
    alike go with the power 1, the two that grow most: those of different parts of a cell do not multiply.

    Attributes:
        level: ``a``.
        powers: ``k``, by name, of each size that varies in the cells that were measured.
        factors: ``log f``, by name and value, of what is no size.
        largest: of each size in those cells.
    """

    level: float
    powers: Mapping[str, float]
    factors: Mapping[tuple[str, str], float]
    largest: Mapping[str, int]

    def seconds(self, setting: Entries) -> float:
        """What a cell of the setting is expected to take on one core."""
        sizes = _sizes(setting)
        alike = [sizes.get(name, 1) / size for name, size in self.largest.items() if name not in self.powers]
        powers = sum(power * math.log(sizes.get(name, 1)) for name, power in self.powers.items())
        factors = sum(self.factors.get(word, 0.0) for word in _words(setting))
        return math.exp(self.level + powers + factors) * math.prod(sorted(alike)[-2:])


def fit_law(known: Measured) -> Law:
    """The law of the cells of one study, at least one, by least squares of ``log s``.

    A cell weighs as many times as it takes seconds: what small ones take is mostly an overhead.
    """
    sizes, words = [_sizes(setting) for setting, _ in known], [_words(setting) for setting, _ in known]
    every = {name: [own.get(name, 1) for own in sizes] for name in sorted(set().union(*sizes))}
    told = {name: own for name, own in every.items() if max(own) >= TOLD * min(own)}
    kinds = sorted(set.union(*words) - set.intersection(*words))
    columns = [np.log(own) for own in told.values()] + [[float(kind in own) for own in words] for kind in kinds]
    matrix = np.array(columns).reshape(-1, len(known)).T
    seconds = np.array([took for _, took in known])
    weights = seconds / seconds.max()
    middle, level = np.average(matrix, 0, weights), np.average(np.log(seconds), weights=weights)
    found = usual = np.r_[np.ones(len(told)), np.zeros(len(kinds))]
    if columns:
        left = np.r_[np.sqrt(weights)[:, None] * (matrix - middle), WEAK * np.eye(len(usual))]
        right = np.r_[np.sqrt(weights) * (np.log(seconds) - level), WEAK * usual]
        free = np.full(len(kinds), np.inf)
        ends = np.r_[np.zeros(len(told)), -free], np.r_[np.full(len(told), STEEPEST), free]
        found = lsq_linear(left, right, ends).x
    powers = dict(zip(told, found[: len(told)].tolist()))
    factors = dict(zip(kinds, found[len(told) :].tolist()))
    return Law(float(level - middle @ found), powers, factors, {name: max(own) for name, own in every.items()})


def _sizes(setting: Entries) -> dict[str, int]:
    return {name: value for name, value in setting.items() if _is_size(name, value)}


def _is_size(name: str, value: Any) -> bool:
    return name not in INTERVALS and type(value) is int and value > 0


def _words(setting: Entries) -> set[tuple[str, str]]:
    """What is no size: names of data and losses, scales and tolerances, lists."""
    words = {name: value for name, value in setting.items() if name != "seeds" and not _is_size(name, value)}
    return {(name, json.dumps(value)) for name, value in words.items()}


class Plan(NamedTuple):
    """What the grid of one study takes.

    Attributes:
        study: whose it is.
        cells: how many.
        stored: how many of them need not be computed.
        hours: on one core, of those that are left; NaN where no cell was measured.
        longest: seconds of the longest of them.
        memory: bytes that its grid asks for at most, in one call; 0 where it asks for less than anybody would notice.
        guessed: sizes ``FAR`` times beyond those that were measured.
        to_fetch: why it cannot run before ``make data``; empty if it can.
        card: whether hours and seconds are those of a GPU.
    """

    study: Study
    cells: int
    stored: int
    hours: float
    longest: float
    memory: int
    guessed: tuple[str, ...]
    to_fetch: str = ""
    card: bool = False


def of_chapter(number: str, profile: str, *overrides: Mapping[str, Any]) -> tuple[list[Plan], dict[str, str]]:
    """What a chapter takes at a profile with changed parameters, study by study; and what keeps others from a plan.

    Images that are not on this machine are taken as fetched.
    """
    values, found, refused = parameters.resolve(number, profile, *overrides), [], {}
    for item in registry.of(number).values():
        try:
            grid, memory, lacking = _grid(item, values)
        except InputError as error:
            refused[item.name] = str(error)
        else:
            known, card = _known(number, item, grid)
            with as_fetched() if lacking else contextlib.nullcontext():
                held = _held(number, item, values, grid)
            found.append(plan(item, grid, known, held, memory)._replace(to_fetch=lacking, card=card))
    return found, refused


def _grid(study: Study, values: Mapping[str, Any]) -> tuple[Sequence[Entries], int, str]:
    """A study's settings, the bytes that they ask for, and what they lack before ``make data``."""
    with validate.memory_asked() as asked:
        try:
            grid, lacking = study.grid(values), ""
        except InputError as error:
            with as_fetched():
                grid, lacking = study.grid(values), str(error)
    return grid, max(asked, default=0), lacking


def _held(number: str, study: Study, values: Mapping[str, Any], grid: Sequence[Entries]) -> set[str]:
    """The keys of a grid's cells that a run would not compute: it finds them in the cell store or in ``results/``."""
    store = Store.default()
    with validate.memory_asked():
        missing = {cell.key() for cell in registry.to_compute(number, study, values) if cell not in store}
    return {cell.key() for cell in cells(study, grid)} - missing


def _known(number: str, study: Study, grid: Sequence[Entries]) -> tuple[Measured, bool]:
    """Settings of a study with the median seconds of their cells, and whether a GPU took them.

    Known are those of the stored results, and of the laptop profile and this ``grid`` what was recorded. Where this
    machine computes the study on a GPU and results of one are stored, these alone.
    """
    took: dict[str, list[float]] = defaultdict(list)
    settings: dict[str, Entries] = {}
    found = Results(study).records.values()
    card = devices.kind(study.device) == "cuda" and any(own.provenance["class"] == "cuda" for own in found)
    for own in found:
        if (own.provenance["class"] == "cuda") == card:
            key = own.cell.key(seed=False)
            settings[key] = own.cell.setting
            took[key].append(own.provenance["seconds"])
    usual = [] if card else [*registry.grids(number, parameters.resolve(number), study)[study], *grid]
    for cell in cells(study, usual) if usual else ():
        key = cell.key(seed=False)
        if key not in settings and schedule.recorded(study).get(key):
            settings[key] = cell.setting
            took[key].append(schedule.recorded(study)[key])
    # the median: a cell that was computed on a busy machine does not count for many
    return [(settings[key], float(np.median(own))) for key, own in took.items() if np.median(own) > 0], card


def plan(study: Study, grid: Sequence[Entries], known: Measured, held: set[str], memory: int) -> Plan:
    """What a grid takes.

    Args:
        study: the study.
        grid: its settings, each with ``seeds``.
        known: settings of cells that are stored, with the seconds they took; empty where none are.
        held: keys of the cells that need not be computed.
        memory: bytes that the grid asks for.
    """
    every = cells(study, grid)
    missing = [cell for cell in every if cell.key() not in held]
    left = Counter(cell.key(seed=False) for cell in missing)
    settings = {cell.key(seed=False): cell.setting for cell in missing}
    law = fit_law(known) if known else None
    took = {key: law.seconds(own) if law else math.nan for key, own in settings.items()}
    hours = sum(left[key] * seconds for key, seconds in took.items()) / 3600
    largest = law.largest if law else {}
    sizes = [pair for own in settings.values() for pair in _sizes(own).items()]
    beyond = {name for name, size in sizes if size > FAR * largest.get(name, math.inf)}
    longest = max(took.values(), default=0.0)
    return Plan(study, len(every), len(every) - len(missing), hours, longest, memory, tuple(sorted(beyond)))


def in_words(hours: float) -> str:
    """Core-hours to two digits: ``24 s``, ``3.2 min``, ``3.2 h``."""
    if math.isnan(hours):
        return "?"
    if hours < 1 / 60:
        return f"{3600 * hours:.2g} s"
    if hours < 1:
        return f"{60 * hours:.2g} min"
    return f"{hours:.2g} h" if hours < 99.5 else f"{hours:.0f} h"


def in_gigabytes(memory: int) -> str:
    """Bytes as ``3.2 GiB``; nothing where they are less than a quarter of one."""
    return f"{memory / 2**30:.1f} GiB" if memory > 2**28 else ""


def cost_table(plans: Mapping[str, tuple[list[Plan], dict[str, str]]]) -> str:
    """Markdown: a line a study by chapter, dearest first; what the whole takes on one, two and a hundred cores."""
    names = "chapter", "study", "cells", "stored", "core time", "longest cell", "memory", "guessed"
    lines = [_line(*names), "|---" * len(names) + "|"]
    for number, (own, refused) in plans.items():
        for one in sorted(own, key=lambda one: -one.hours if one.hours == one.hours else -math.inf):
            hours = in_words(one.hours) + " of a GPU" * one.card
            taken = hours, in_words(one.longest / 3600), in_gigabytes(one.memory), ", ".join(one.guessed)
            name = f"`{one.study.name}`" + r" \*" * bool(one.to_fetch)
            lines.append(_line(int(number), name, one.cells, one.stored, *taken))
        lines += [_line(int(number), f"`{name}`", f"`{why}`", *[""] * 5) for name, why in refused.items()]
    known = [one for own, _ in plans.values() for one in own if not math.isnan(one.hours)]
    hours, on_card = (sum(one.hours for one in known if one.card == card) for card in (False, True))
    longest = max((one.longest for one in known), default=0.0) / 3600
    count, left = sum(one.cells for one in known), sum(one.cells - one.stored for one in known)
    total = (
        f"{left} of {count} cells are to be computed: {in_words(hours)} on one core, "
        f"{in_words(max(hours / 2, longest))} on 2, {in_words(max(hours / 100, longest))} on 100; "
        f"the longest cell takes {in_words(longest)}."
    )
    total += f" Beside it {in_words(on_card)} of a GPU." * (on_card > 0)
    total += r" \*: run `make data` first." * any(one.to_fetch for one in known)
    return "\n".join([*lines, "", total])


def _line(*parts: Any) -> str:
    return f"| {' | '.join(map(str, parts))} |"
