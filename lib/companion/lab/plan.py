r"""What a profile would take: cells, core-hours and memory, from what cells took that are stored.

The seconds of a study's cells are an overhead and a power law in its sizes, :math:`s = s_0 + c \prod_i x_i^{k_i}` with
exponents :math:`0 \le k_i \le 4` and a factor for each value of what is no size, by least squares of
:math:`\log(s - s_0)`, weighted by :math:`s - s_0`. Where stored cells do not tell, an exponent is 1.

The dearest studies have parts whose cost is known, such as a flow (``p h d``) and test points (``test h``): a cell
costs their sum (``costs.toml``), times a factor that stored cells give. Sizes of different parts do not multiply. How
far to trust the laws is measured on the largest cells, which those of the smaller ones predict.
"""

import contextlib
import functools
import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from companion.data.images import as_fetched
from companion.lab import catalogue, parameters, schedule
from companion.lab.design import Entries
from companion.lab.results import Results
from companion.lab.store import Store
from companion.lab.study import Study
from companion.lab.sweep import cells
from regimes import devices
from regimes.validate import InputError

STEEPEST = 4.0  # the largest exponent: a Gram matrix costs the third power of its points, a Hessian's may cost one more
OVERHEADS = (0.0, 0.5, 0.9, 0.99)  # of the cheapest cell: which part of its seconds any cell takes; the best is chosen
WEAK = 0.03  # weight of what holds exponents at 1 where few cells tell
TOLD = 2.0  # times a size must vary in the stored cells for its exponent to be fitted; else that is 1
FEWEST = 5  # settings that tell of an overhead, or of larger ones
INTERVALS = ("every",)  # whole numbers that are no sizes: the larger, the fewer measurements
COLUMNS = "chapter", "study", "cells", "stored", "core time", "longest cell", "memory"
Measured = Sequence[tuple[Entries, float]]  # settings of one study, with the seconds of a cell
Law = Callable[[Entries], float]  # seconds of a cell by its setting


class Plan(NamedTuple):
    """What one study takes: its cells, those of them that are stored, and seconds on one core of each of the others."""

    study: Study
    cells: int
    stored: int
    seconds: list[float]
    memory: int  # bytes that its grid asks for at most in one call
    ratio: float  # of its largest known cells, predicted from the smaller ones, to what they took; NaN where unknown
    to_fetch: str = ""  # why it cannot run before ``make data``
    card: bool = False  # whether the seconds are those of a GPU


@functools.cache
def parts_of_studies() -> dict[str, str]:
    """The parts of the dearest studies, by name, as ``costs.toml`` has them: ``1e-7 p h d + 1e-8 test p``."""
    costs = tomllib.loads(Path(__file__).with_name("costs.toml").read_text(encoding="utf-8"))
    spelled_out = {study: [costs["parts"].get(it, it) for it in parts] for study, parts in costs["studies"].items()}
    return {study: " + ".join(parts) for study, parts in spelled_out.items()}


def fit_law(measured: Measured, parts: str = "") -> Law:
    """Seconds of a cell by its setting, from cells that were measured, at least one; of ``parts`` a factor alone."""
    if parts:
        return _law(measured, 0.0, [], functools.partial(_sum_of_parts, parts))
    names = sorted({name for setting, _ in measured for name in setting if _size(setting, name) > 1})
    overheads = OVERHEADS if len(measured) >= FEWEST else OVERHEADS[:1]
    laws = [_law(measured, part * min(took for _, took in measured), names) for part in overheads]
    return min(laws, key=lambda law: sum(math.log(law(setting) / took) ** 2 for setting, took in measured))


def _sum_of_parts(parts: str, setting: Entries) -> float:
    """``2e-8 p^2 h + 1e-3 p`` at the sizes of a setting; a list counts with its length."""
    seconds = 0.0
    for unit, *sizes in (term.split() for term in parts.split(" + ")):
        powers = [size.partition("^") for size in sizes]
        counts = {name: len(setting[name]) if isinstance(setting.get(name), list) else 0 for name, _, _ in powers}
        factors = ((counts[name] or _size(setting, name)) ** float(power or 1) for name, _, power in powers)
        seconds += float(unit) * math.prod(factors)
    return seconds


def _law(measured: Measured, overhead: float, names: Sequence[str], base: Law = lambda setting: 1.0) -> Law:
    """An overhead and ``base`` times powers of the sizes, with a factor for each word that not all cells share."""
    words = [_words(setting) for setting, _ in measured]
    varied = sorted(set.union(*words) - set.intersection(*words))

    def features(setting: Entries) -> np.ndarray:
        of_words = _words(setting)
        return np.array(
            [math.log(_size(setting, name)) for name in names] + [word in of_words for word in varied], float
        )

    matrix = np.array([features(setting) for setting, _ in measured])
    expected = np.array([base(setting) for setting, _ in measured])
    net = np.array([took - overhead for _, took in measured])
    weights, logs = (net if names else expected) / max(net if names else expected), np.log(net / expected)
    is_size = np.arange(matrix.shape[1]) < len(names)
    powers = is_size.astype(float)
    if len(powers):
        is_told = np.ptp(matrix, 0) >= math.log(TOLD) - 1e-9
        low = np.where(is_size, np.where(is_told, 0.0, 1 - 1e-9), -np.inf)
        high = np.where(is_size, np.where(is_told, STEEPEST, 1 + 1e-9), np.inf)
        spread = np.sqrt(weights)[:, None] * (matrix - np.average(matrix, 0, weights))
        target = np.r_[np.sqrt(weights) * (logs - np.average(logs, weights=weights)), WEAK * powers]
        powers = lsq_linear(np.r_[spread, WEAK * np.eye(len(powers))], target, (low, high)).x
    level = np.average(logs - matrix @ powers, weights=weights)
    return lambda setting: overhead + base(setting) * math.exp(level + features(setting) @ powers)


def _words(setting: Entries) -> set[tuple[str, str]]:
    """What is no size: names of data and losses, scales and tolerances, lists."""
    return {(name, json.dumps(value)) for name, value in setting.items() if name != "seeds" and type(value) is not int}


def _size(setting: Entries, name: str) -> float:
    """A whole number, as a size; 1 for what is none."""
    value = setting.get(name)
    return float(value) if type(value) is int and value > 0 and name not in INTERVALS else 1.0


def left_out(measured: Measured, parts: str = "") -> float:
    """What the law of smaller cells gives for the largest, over what these took; NaN where too few are smaller."""
    products = [math.prod(_size(setting, name) for name in setting) for setting, _ in measured]
    largest = [pair for pair, product in zip(measured, products) if product == max(products)]
    smaller = [pair for pair, product in zip(measured, products) if product < max(products)]
    if len(smaller) < FEWEST:
        return math.nan
    law = fit_law(smaller, parts)
    return sum(law(setting) for setting, _ in largest) / sum(took for _, took in largest)


def of_chapter(number: str, profile: str, *overrides: Mapping[str, Any]) -> tuple[list[Plan], dict[str, str]]:
    """What a chapter takes at a profile with changed parameters, study by study; and what keeps others from a plan.

    Images that are not on this machine are taken as fetched.
    """
    values = parameters.resolve(number, profile, *overrides)
    plans, refused = [], {}
    for study in catalogue.of(number).values():
        try:
            plans.append(_plan(number, study, values))
        except InputError as error:
            refused[study.name] = str(error)
    return plans, refused


def _plan(number: str, study: Study, values: Mapping[str, Any]) -> Plan:
    """What a study takes; its cells in ``results/`` and in the cell store need not be computed."""
    try:
        grid, lacking = study.grid(values), ""
    except InputError as error:
        with as_fetched():
            grid, lacking = study.grid(values), str(error)
    memory = max(map(study.grid.memory, grid), default=0)
    measured, card = measured_cells(number, study, grid)
    store = Store.default()
    with as_fetched() if lacking else contextlib.nullcontext():
        missing = {cell.key() for cell in catalogue.to_compute(number, study, values) if cell not in store}
    asked = cells(study, grid)
    parts = parts_of_studies().get(study.name, "")
    law = fit_law(measured, parts) if measured else lambda setting: math.nan
    seconds = [law(cell.setting) for cell in asked if cell.key() in missing]
    ratio = left_out(measured, parts)
    return Plan(study, len(asked), len(asked) - len(seconds), seconds, memory, ratio, lacking, card)


def measured_cells(number: str, study: Study, grid: Sequence[Entries]) -> tuple[Measured, bool]:
    """Settings of a study with the median seconds of their cells, and whether a GPU took them.

    Measured are those of the stored results, and of the laptop profile and this ``grid`` what was recorded. Where this
    machine computes the study on a GPU and results of one are stored, these alone.
    """
    finished = Results.of(study).finished.values()
    card = devices.kind(study.device) == "cuda" and any(result.provenance["class"] == "cuda" for result in finished)
    settings: dict[str, Entries] = {}
    took: dict[str, list[float]] = {}
    for result in (one for one in finished if (one.provenance["class"] == "cuda") == card):
        key = result.cell.key(seed=False)
        settings[key] = result.cell.setting
        took.setdefault(key, []).append(result.provenance["seconds"])
    grids = [] if card else [*catalogue.grids(number, parameters.resolve(number), study)[study], *grid]
    for cell in cells(study, grids) if grids else ():
        key = cell.key(seed=False)
        if key not in took and schedule.recorded(study).get(key):
            settings[key], took[key] = cell.setting, [schedule.recorded(study)[key]]
    # the median: a cell that was computed on a busy machine does not count for many
    return [(settings[key], float(np.median(seconds))) for key, seconds in took.items()], card


def in_words(seconds: float) -> str:
    """A time to two digits: ``24 s``, ``3.2 min``, ``3.2 h``."""
    if math.isnan(seconds):
        return "?"
    value, unit = (seconds, "s") if seconds < 60 else (seconds / 60, "min") if seconds < 3600 else (seconds / 3600, "h")
    return f"{value:.2g} {unit}" if value < 99.5 else f"{value:.0f} {unit}"


def cost_table(plans: Mapping[str, tuple[list[Plan], dict[str, str]]]) -> str:
    """Markdown: a line per study by chapter, dearest first; what the whole takes on one, two and a hundred cores."""
    lines = [_line(*COLUMNS), "|---" * len(COLUMNS) + "|"]
    for number, (of_chapter, refused) in plans.items():
        for row in sorted(of_chapter, key=lambda row: -np.nan_to_num(sum(row.seconds), nan=math.inf)):
            name = f"`{row.study.name}`" + r" \*" * bool(row.to_fetch)
            core_time = in_words(sum(row.seconds)) + " of a GPU" * row.card
            memory = f"{row.memory / 2**30:.1f} GiB" if row.memory > 2**28 else ""
            longest = in_words(max(row.seconds, default=0.0))
            lines.append(_line(int(number), name, row.cells, row.stored, core_time, longest, memory))
        lines += [_line(int(number), f"`{name}`", f"`{why}`", *[""] * 4) for name, why in refused.items()]
    priced = [row for rows, _ in plans.values() for row in rows if not math.isnan(sum(row.seconds))]
    on_cores, on_card = (sum(sum(row.seconds) for row in priced if row.card == card) for card in (False, True))
    longest = max((max(row.seconds, default=0.0) for row in priced), default=0.0)
    count, missing = sum(row.cells for row in priced), sum(len(row.seconds) for row in priced)
    one, two, many, most = map(in_words, (on_cores, max(on_cores / 2, longest), max(on_cores / 100, longest), longest))
    total = f"{missing} of {count} cells are to be computed: {one} on one core, {two} on 2, {many} on 100; "
    total += f"the longest cell takes {most}." + f" Beside it {in_words(on_card)} of a GPU." * (on_card > 0)
    total += r" \*: run `make data` first." * any(row.to_fetch for row in priced)
    ratios = [row.ratio for row in priced if not math.isnan(row.ratio)]
    close = sum(0.5 <= ratio <= 2 for ratio in ratios)
    trust = f"Of {len(ratios)} studies the largest stored cells are predicted from the smaller ones, of {close} within "
    return "\n".join([*lines, "", total, "", f"{trust}a factor of two."] if ratios else [*lines, "", total])


def _line(*parts: Any) -> str:
    return f"| {' | '.join(map(str, parts))} |"
