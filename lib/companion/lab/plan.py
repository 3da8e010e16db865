r"""What a profile would take: cells, core-hours and memory, from what cells took that are stored.

The dearest studies have parts whose cost is known, such as a flow (``p h d``) and test points (``test h``): a cell
costs their sum (``costs.toml``), times a factor that stored cells give. Sizes of different parts do not multiply.

Any other study's cost is fitted as an overhead and a power law in its sizes, :math:`s = s_0 + c \prod_i x_i^{k_i}`
seconds per cell with exponents :math:`0 \le k_i \le 4`, and a factor for each value of a setting that is no size. The
fit is by least squares of :math:`\log(s - s_0)`, weighted by :math:`s - s_0`, with exponents of 1 where stored cells do
not tell. How far a law can be trusted is measured on the largest cells, predicted by the law of the smaller ones.
"""

import contextlib
import functools
import json
import math
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from companion import studies as registry
from companion.data.images import as_fetched
from companion.lab import parameters, schedule
from companion.lab.design import Entries
from companion.lab.results import Results
from companion.lab.store import Store
from companion.lab.study import Study
from companion.lab.sweep import cells
from regimes import devices, validate
from regimes.validate import InputError

STEEPEST = 4.0  # the largest exponent: a Gram matrix costs the third power of its points, a Hessian's may cost one more
OVERHEADS = (0.0, 0.5, 0.9, 0.99)  # of the cheapest cell: which part of its seconds any cell takes; the best is chosen
WEAK = 0.03  # weight of what holds exponents and factors at 1 where few cells tell
TOLD = 2.0  # times a size must vary in the stored cells for its exponent to be fitted; else that is 1
FEWEST = 5  # settings that tell of an overhead, or of larger ones
INTERVALS = ("every",)  # whole numbers that are no sizes: the larger, the fewer measurements
FAR = 4.0  # times the largest size that is known: beyond, an exponent of small cells may be that of their overhead
Array = np.ndarray
SHOWN = 10  # studies whose largest cells are predicted from smaller ones


@functools.cache
def parts_of_studies() -> dict[str, str]:
    """The parts of the dearest studies, by name, as ``costs.toml`` has them: ``1e-7 p h d + 1e-8 test p``."""
    costs = tomllib.loads(Path(__file__).with_name("costs.toml").read_text(encoding="utf-8"))
    spelled_out = {study: [costs["parts"].get(it, it) for it in parts] for study, parts in costs["studies"].items()}
    return {study: " + ".join(parts) for study, parts in spelled_out.items()}


@dataclass(frozen=True)
class Law:
    """Seconds per cell of a study: the sum of its parts, times what measured cells took of it.

    Attributes:
        parts: of each the seconds of a unit, and the power of each size.
        factor: of all parts alike: this machine, and what the parts leave out.
        factors: logarithm of the factor, by name and value, of what is no size.
        largest: value of each size in the cells that were measured.
        nearly_constant: the sizes that varied by less than ``TOLD`` where powers were fitted; they have the power 1.
    """

    parts: tuple[tuple[float, Mapping[str, float]], ...]
    factor: float
    factors: Mapping[tuple[str, str], float]
    largest: Mapping[str, float]
    nearly_constant: frozenset[str] = frozenset()

    def seconds(self, setting: Entries) -> float:
        """What a cell of the setting is expected to take on one core."""
        parts = (
            unit * math.prod(_count(setting.get(name)) ** power for name, power in powers.items())
            for unit, powers in self.parts
        )
        return self.factor * math.exp(_word_factor(self.factors, setting)) * sum(parts)


def fit_law(measured: Sequence[tuple[Entries, float]], parts: str = "") -> Law:
    """The law of cells of one study that took ``seconds``: pairs of a setting and those; at least one.

    Its ``parts`` as in :func:`parts_of_studies`; without them an overhead and a power law, fitted too.
    """
    if parts:
        return _law(measured, _terms(parts))
    cheapest = min(took for _, took in measured)
    laws = [_power_law(measured, part * cheapest) for part in (OVERHEADS if len(measured) >= FEWEST else OVERHEADS[:1])]
    return min(laws, key=lambda law: sum(math.log(law.seconds(setting) / took) ** 2 for setting, took in measured))


def _terms(parts: str) -> tuple[tuple[float, Mapping[str, float]], ...]:
    """The parts as numbers: ``"2e-8 p^2 h"`` is ``(2e-8, {"p": 2, "h": 1})``."""
    parsed = []
    for term in parts.split(" + "):
        unit, *sizes = term.split()
        powers = [size.partition("^") for size in sizes]
        parsed.append((float(unit), {name: float(power or 1) for name, _, power in powers}))
    return tuple(parsed)


def _law(measured: Sequence[tuple[Entries, float]], parts: Any, nearly_constant: frozenset[str] = frozenset()) -> Law:
    """The law of these parts. Cells weigh what they should take: what a small one took may be a busy machine's."""
    plain = Law(parts, 1.0, {}, {})
    expected = np.array([plain.seconds(setting) for setting, _ in measured])
    ratios = np.log(np.array([took for _, took in measured]) / expected)
    weights = expected / expected.max()
    _, factors = _least_squares(measured, weights, ratios, np.zeros((len(measured), 0)), np.zeros(0, bool))
    of_words = np.array([_word_factor(factors, setting) for setting, _ in measured])
    level = np.average(ratios - of_words, weights=weights)
    names = _sizes(setting for setting, _ in measured)
    largest = {name: max(_size(setting.get(name)) for setting, _ in measured) for name in names}
    return Law(tuple(parts), math.exp(level), factors, largest, nearly_constant)


def _power_law(measured: Sequence[tuple[Entries, float]], overhead: float) -> Law:
    """The law of an overhead and one product of powers; a size that hardly varies has the power 1."""
    names = _sizes(setting for setting, _ in measured)
    net = np.array([took - overhead for _, took in measured])
    sizes = np.array([[math.log(_size(setting.get(name))) for name in names] for setting, _ in measured])
    is_fitted = np.ptp(sizes, 0) >= math.log(TOLD) - 1e-9
    weights = net / net.max()
    powers, _ = _least_squares(measured, weights, np.log(net), sizes, is_fitted)
    unit = math.exp(np.average(np.log(net) - sizes @ powers, weights=weights))
    nearly_constant = frozenset(name for name, fitted in zip(names, is_fitted) if not fitted)
    return _law(measured, ((overhead, {}), (unit, dict(zip(names, powers.tolist())))), nearly_constant)


def _least_squares(
    measured: Sequence[tuple[Entries, float]], weights: Array, logs: Array, sizes: Array, is_fitted: Array
) -> tuple[Array, dict[tuple[str, str], float]]:
    """Powers of the sizes, 1 where the cells do not tell, and the logarithm of a factor for each word that varies."""
    words = [set(_words(setting)) for setting, _ in measured]
    varied = sorted(set.union(*words) - set.intersection(*words))
    has_word = np.array([[word in of_cell for word in varied] for of_cell in words], float)
    matrix = np.c_[sizes, has_word.reshape(len(words), -1)]
    prior = np.r_[np.ones(sizes.shape[1]), np.zeros(len(varied))]
    if not len(prior):
        return prior, {}
    free = np.full(len(varied), np.inf)
    low = np.r_[np.where(is_fitted, 0.0, 1 - 1e-9), -free]
    high = np.r_[np.where(is_fitted, STEEPEST, 1 + 1e-9), free]
    spread = matrix - np.average(matrix, 0, weights)
    level = np.average(logs, weights=weights)
    matrix_rows = np.r_[np.sqrt(weights)[:, None] * spread, WEAK * np.eye(len(prior))]
    targets = np.r_[np.sqrt(weights) * (logs - level), WEAK * prior]
    solution = lsq_linear(matrix_rows, targets, (low, high)).x
    return solution[: sizes.shape[1]], dict(zip(varied, solution[sizes.shape[1] :].tolist()))


def _word_factor(factors: Mapping[tuple[str, str], float], setting: Entries) -> float:
    """Logarithm of the factor of what is no size."""
    return sum(factors.get(word, 0.0) for word in _words(setting))


class LeftOut(NamedTuple):
    """The largest cells of a study that took a known time, and what the law of the smaller ones predicts for them.

    Attributes:
        sizes: of these cells, those that vary in the study.
        seconds: what they took in the mean.
        predicted: what they should have taken.
    """

    sizes: Mapping[str, int]
    seconds: float
    predicted: float


def left_out(measured: Sequence[tuple[Entries, float]], parts: str = "") -> LeftOut | None:
    """The known settings with the largest product of sizes; the law is of those that are smaller.

    ``None`` where fewer than ``FEWEST`` settings are smaller.
    """
    names = _sizes(setting for setting, _ in measured)
    products = [math.prod(_size(setting.get(name)) for name in names) for setting, _ in measured]
    largest = [pair for pair, product in zip(measured, products) if product == max(products)]
    smaller = [pair for pair, product in zip(measured, products) if product < max(products)]
    if len(smaller) < FEWEST:
        return None
    law = fit_law(smaller, parts)
    setting = largest[0][0]
    distinct = {name: {other.get(name) for other, _ in measured} for name in names if name in setting}
    sizes = {name: setting[name] for name, values in distinct.items() if len(values) > 1}
    seconds = float(np.mean([took for _, took in largest]))
    predicted = float(np.mean([law.seconds(setting) for setting, _ in largest]))
    return LeftOut(sizes, seconds, predicted)


def _count(value: Any) -> float:
    """A size, or how many a list holds; 1 where there is none."""
    return float(len(value)) if isinstance(value, (list, tuple)) else _size(value)


def _sizes(settings: Iterable[Entries]) -> list[str]:
    return sorted({name for setting in settings for name, value in setting.items() if _is_size(name, value)})


def _is_size(name: str, value: Any) -> bool:
    return name not in INTERVALS and isinstance(value, int) and not isinstance(value, bool) and value > 0


def _size(value: Any) -> float:
    return float(value) if _is_size("", value) else 1.0


def _words(setting: Entries) -> list[tuple[str, str]]:
    """What is no size: names of data and losses, scales and tolerances, lists."""
    words = {name: value for name, value in setting.items() if name != "seeds" and not _is_size(name, value)}
    return [(name, json.dumps(value)) for name, value in words.items()]


class Plan(NamedTuple):
    """What the grid of one study takes.

    Attributes:
        study: whose it is.
        cells: how many.
        stored: how many of them need not be computed.
        hours: on one core, of those that are left.
        longest: seconds of the longest of them.
        memory: bytes that its grid asks for at most, in one call; 0 where it asks for less than anybody would notice.
        guessed: sizes beyond those of stored cells, where these vary by less than ``TOLD``; or ``FAR`` times beyond.
        left_out: how the largest known are predicted.
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
    left_out: LeftOut | None
    to_fetch: str = ""
    card: bool = False


def of_chapter(number: str, profile: str, *overrides: Mapping[str, Any]) -> tuple[list[Plan], dict[str, str]]:
    """What a chapter takes at a profile with changed parameters, study by study; and what keeps others from a plan.

    Images that are not on this machine are taken as fetched.
    """
    values = parameters.resolve(number, profile, *overrides)
    plans, refused = [], {}
    for item in registry.of(number).values():
        try:
            grid, memory, lacking = _grid(item, values)
        except InputError as error:
            refused[item.name] = str(error)
        else:
            measured, card = _measured_cells(number, item, grid)
            with as_fetched() if lacking else contextlib.nullcontext():
                stored = _stored_keys(number, item, values, grid)
            plans.append(plan(item, grid, measured, stored, memory)._replace(to_fetch=lacking, card=card))
    return plans, refused


def _grid(study: Study, values: Mapping[str, Any]) -> tuple[Sequence[Entries], int, str]:
    """A study's settings, the bytes that they ask for, and what they lack before ``make data``."""
    with validate.memory_asked() as asked:
        try:
            grid, lacking = study.grid(values), ""
        except InputError as error:
            with as_fetched():
                grid, lacking = study.grid(values), str(error)
    return grid, max(asked, default=0), lacking


def _stored_keys(number: str, study: Study, values: Mapping[str, Any], grid: Sequence[Entries]) -> set[str]:
    """The keys of a grid's cells that a run would not compute: it finds them in the cell store or in ``results/``."""
    store = Store.default()
    with validate.memory_asked():
        missing = {cell.key() for cell in registry.to_compute(number, study, values) if cell not in store}
    return {cell.key() for cell in cells(study, grid)} - missing


def _measured_cells(number: str, study: Study, grid: Sequence[Entries]) -> tuple[list[tuple[Entries, float]], bool]:
    """Settings of a study with the median seconds of their cells, and whether a GPU took them.

    Measured are those of the stored results, and of the laptop profile and this ``grid`` what was recorded. Where this
    machine computes the study on a GPU and results of one are stored, these alone.
    """
    took: dict[str, list[float]] = defaultdict(list)
    settings: dict[str, Entries] = {}
    records = Results.of(study).records.values()
    card = devices.kind(study.device) == "cuda" and any(record.provenance["class"] == "cuda" for record in records)
    for record in records:
        if (record.provenance["class"] == "cuda") == card:
            key = record.cell.key(seed=False)
            settings[key] = record.cell.setting
            took[key].append(record.provenance["seconds"])
    grids = [] if card else [*registry.grids(number, parameters.resolve(number), study)[study], *grid]
    for cell in cells(study, grids) if grids else ():
        key = cell.key(seed=False)
        if key not in settings and schedule.recorded(study).get(key):
            settings[key] = cell.setting
            took[key].append(schedule.recorded(study)[key])
    # the median: a cell that was computed on a busy machine does not count for many
    medians = {key: float(np.median(seconds)) for key, seconds in took.items()}
    return [(settings[key], seconds) for key, seconds in medians.items() if seconds > 0], card


def plan(
    study: Study, grid: Iterable[Entries], measured: Sequence[tuple[Entries, float]], stored: set[str], memory: int
) -> Plan:
    """What a grid takes.

    Args:
        study: the study.
        grid: its settings, each with ``seeds``.
        measured: settings of cells that are stored, with the seconds they took; empty where none are.
        stored: keys of the cells that need not be computed.
        memory: bytes that the grid asks for.
    """
    parts = parts_of_studies().get(study.name, "")
    law = fit_law(measured, parts) if measured else None
    all_cells = list(cells(study, list(grid)))
    settings = {cell.key(seed=False): cell.setting for cell in all_cells}
    remaining = Counter(cell.key(seed=False) for cell in all_cells if cell.key() not in stored)
    seconds = {key: law.seconds(settings[key]) if law else math.nan for key in remaining}
    hours = sum(count * seconds[key] for key, count in remaining.items()) / 3600
    longest = max(seconds.values(), default=0.0)
    guessed: set[str] = set()
    for name, largest in law.largest.items() if law else ():
        limit = largest * (1.01 if name in law.nearly_constant else FAR)
        if any(_size(settings[key].get(name)) > limit for key in remaining):
            guessed.add(name)
    count, missing = len(all_cells), remaining.total()
    predicted = left_out(measured, parts)
    return Plan(study, count, count - missing, hours, longest, memory, tuple(sorted(guessed)), predicted)


def in_words(hours: float) -> str:
    """Core-hours to two digits: ``24 s``, ``3.2 min``, ``3.2 h``."""
    if math.isnan(hours):
        return "?"
    if hours < 1 / 60:
        return _seconds(3600 * hours)
    if hours < 1:
        return f"{60 * hours:.2g} min"
    return f"{hours:.2g} h" if hours < 99.5 else f"{hours:.0f} h"


def in_gigabytes(memory: int) -> str:
    """Bytes as ``3.2 GiB``; nothing where they are less than a quarter of one."""
    return f"{memory / 2**30:.1f} GiB" if memory > 2**28 else ""


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:.0f} s"


def cost_table(plans: Mapping[str, tuple[list[Plan], dict[str, str]]]) -> str:
    """Markdown: a line per study by chapter, dearest first; what the whole takes on one, two and a hundred cores.

    Below that stands, for the dearest studies, what the law of smaller cells predicts for the largest measured.
    """
    names = "chapter", "study", "cells", "stored", "core time", "longest cell", "memory", "guessed"
    lines = [_line(*names), "|---" * len(names) + "|"]
    for number, (of_chapter, refused) in plans.items():
        for row in sorted(of_chapter, key=lambda row: math.inf if math.isnan(row.hours) else row.hours, reverse=True):
            hours = in_words(row.hours) + " of a GPU" * row.card
            taken = hours, in_words(row.longest / 3600), in_gigabytes(row.memory), ", ".join(row.guessed)
            name = f"`{row.study.name}`" + r" \*" * bool(row.to_fetch)
            lines.append(_line(int(number), name, row.cells, row.stored, *taken))
        lines += [_line(int(number), f"`{name}`", f"`{why}`", *[""] * 5) for name, why in refused.items()]
    every_plan = [row for of_chapter, _ in plans.values() for row in of_chapter]
    priced = sorted((row for row in every_plan if not math.isnan(row.hours)), key=lambda row: -row.hours)
    hours = sum(row.hours for row in priced if not row.card)
    on_card = sum(row.hours for row in priced if row.card)
    longest = max((row.longest for row in priced), default=0.0) / 3600
    count = sum(row.cells for row in priced)
    missing = count - sum(row.stored for row in priced)
    total = (
        f"{missing} of {count} cells are to be computed: {in_words(hours)} on one core, "
        f"{in_words(max(hours / 2, longest))} on 2, {in_words(max(hours / 100, longest))} on 100; "
        f"the longest cell takes {in_words(longest)}."
    )
    total += f" Beside it {in_words(on_card)} of a GPU." * (on_card > 0)
    total += r" \*: run `make data` first." * any(row.to_fetch for row in priced)
    lines += ["", total]
    dearest = [row for row in priced if row.left_out][:SHOWN]
    if dearest:
        names = "study", "largest cells measured, left out of the fit", "predicted", "measured", "ratio"
        lines += ["", _line(*names), "|---" * len(names) + "|"]
    for row in dearest:
        sizes, seconds, predicted = row.left_out
        words = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        ratio = f"{predicted / seconds:.2g}"
        lines.append(_line(f"`{row.study.name}`", words, _seconds(predicted), _seconds(seconds), ratio))
    return "\n".join(lines)


def _line(*parts: Any) -> str:
    return f"| {' | '.join(map(str, parts))} |"
