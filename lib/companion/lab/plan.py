r"""What a profile would take: cells, core-hours and memory, from what cells took that are stored.

The dearest studies have parts whose cost is known, such as a flow (``p h d``) and test points (``test h``): a cell
costs their sum (:data:`PARTS`), times a factor that stored cells give. Sizes of different parts do not multiply.

Any other study's cost is fitted as an overhead and a power law in its sizes, :math:`s = s_0 + c \prod_i x_i^{k_i}`
seconds a cell with exponents :math:`0 \le k_i \le 4`, and a factor for each value of a setting that is no size. The fit
is by least squares of :math:`\log(s - s_0)`, weighted by :math:`s - s_0`, with exponents of 1 where stored cells do not
tell. How far a law can be trusted is measured on the largest cells, predicted by the law of the smaller ones.
"""

import contextlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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

# Seconds of one core (2.5 GHz, AVX-512), one term a part of a cell; a list counts with its length, what a setting lacks
# with 1. Least squares of the relative error of cells with 500 and 10^4 neurons: a flow to t*, to zero loss; tangent
# kernels and their flows; their functions on test points; a network's error along lines; the infinitely wide kernel and
# its function; a support vector machine; eigenvectors of a Gram matrix.
TO_T_STAR, TO_ZERO_LOSS = "1e-7 p h d", "2.3e-8 p h d + 1.8e-6 p h + 4e-4 p"
FROZEN, TEST, LINES = "3.4e-11 p^2 h frozen + 6e-8 p^2 frozen", "9.6e-9 test h frozen", "3.1e-7 lines h shares"
WIDE, WIDE_TEST, MACHINE = "1e-7 p^2", "1e-8 test p", "1e-7 p^2"
KERNELS = "5e-11 n^2 h stops + 1e-9 n^3 stops"
PARTS = {
    "lazy_feature.networks": f"{TO_ZERO_LOSS} + {FROZEN} + {TEST} + {LINES}",
    "sensitivity.numerics": f"{TO_ZERO_LOSS} + 4e-6 lines h",
    "lazy_feature.compressed_by_network": f"{TO_T_STAR} + {WIDE} + {WIDE_TEST}",
    "lazy_feature.finite_width_lazy": f"{FROZEN} + {TEST}",
    "lazy_feature.infinite_width_lazy": f"{WIDE} + {WIDE_TEST}",
    "lazy_feature.compressed_by_factor": f"{WIDE} + {WIDE_TEST}",
    "hard_margin.star_kernel": f"{TO_T_STAR} + {FROZEN} + {FROZEN} + {TEST} + {TEST} + {WIDE} + {MACHINE} + {MACHINE}",
    "compression.amplification_scaling": "1e-7 p h d",
    "compression.amplification_along_training": TO_ZERO_LOSS,
    "compression.late_training": "1e-7 p h d + 1e-5 test h",
    "kernel_pca.stripes": f"{TO_ZERO_LOSS} + {KERNELS} + {TEST} + 1e-6 many h + {FROZEN}",
    "kernel_pca.stripe_spectra": f"{TO_ZERO_LOSS} + {KERNELS} + 1e-6 many h",
    "kernel_pca.stripe_norms": f"{TO_ZERO_LOSS} + {KERNELS} + 4e-9 n^3 stops",
}


@dataclass(frozen=True)
class Law:
    """Seconds a cell of a study: the sum of its parts, times what measured cells took of it.

    Attributes:
        parts: of each the seconds of a unit, and the power of each size.
        factor: of all parts alike: this machine, and what the parts leave out.
        factors: logarithm of the factor, by name and value, of what is no size.
        largest: value of each size in the cells that were measured.
        alike: the sizes that varied by less than ``TOLD`` where powers were fitted; they have the power 1.
    """

    parts: tuple[tuple[float, Mapping[str, float]], ...]
    factor: float
    factors: Mapping[tuple[str, str], float]
    largest: Mapping[str, float]
    alike: frozenset[str] = frozenset()

    def seconds(self, setting: Entries) -> float:
        """What a cell of the setting is expected to take on one core."""
        parts = (
            unit * math.prod(_count(setting.get(name)) ** power for name, power in powers.items())
            for unit, powers in self.parts
        )
        return self.factor * math.exp(_word_factor(self.factors, setting)) * sum(parts)


def fit_law(known: Sequence[tuple[Entries, float]], parts: str = "") -> Law:
    """The law of cells of one study that took ``seconds``: pairs of a setting and those; at least one.

    Its ``parts`` as in :data:`PARTS`; without them an overhead and a power law, fitted too.
    """
    if parts:
        return _law(known, _terms(parts))
    least = min(took for _, took in known)
    laws = [_power_law(known, part * least) for part in (OVERHEADS if len(known) >= FEWEST else OVERHEADS[:1])]
    return min(laws, key=lambda law: sum(math.log(law.seconds(setting) / took) ** 2 for setting, took in known))


def _terms(parts: str) -> tuple[tuple[float, Mapping[str, float]], ...]:
    """The parts as numbers: ``"2e-8 p^2 h"`` is ``(2e-8, {"p": 2, "h": 1})``."""
    found = []
    for term in parts.split(" + "):
        unit, *sizes = term.split()
        powers = [size.partition("^") for size in sizes]
        found.append((float(unit), {name: float(power or 1) for name, _, power in powers}))
    return tuple(found)


def _law(known: Sequence[tuple[Entries, float]], parts: Any, alike: frozenset[str] = frozenset()) -> Law:
    """The law of these parts. Cells weigh what they should take: what a small one took may be a busy machine's."""
    plain = Law(parts, 1.0, {}, {})
    expected = np.array([plain.seconds(setting) for setting, _ in known])
    logs, weights = np.log(np.array([took for _, took in known]) / expected), expected / expected.max()
    _, factors = _least_squares(known, weights, logs, np.zeros((len(known), 0)))
    level = np.average([own - _word_factor(factors, s) for own, (s, _) in zip(logs, known)], weights=weights)
    names = _sizes(setting for setting, _ in known)
    largest = {name: max(_size(setting.get(name)) for setting, _ in known) for name in names}
    return Law(tuple(parts), math.exp(level), factors, largest, alike)


def _power_law(known: Sequence[tuple[Entries, float]], overhead: float) -> Law:
    """The law of an overhead and one product of powers; a size that hardly varies has the power 1."""
    names, net = _sizes(setting for setting, _ in known), np.array([took - overhead for _, took in known])
    sizes = np.array([[math.log(_size(setting.get(name))) for name in names] for setting, _ in known])
    told = np.ptp(sizes, 0) >= math.log(TOLD) - 1e-9
    weights = net / net.max()
    powers, _ = _least_squares(known, weights, np.log(net), sizes, told)
    unit = math.exp(np.average(np.log(net) - sizes @ powers, weights=weights))
    alike = frozenset(name for name, own in zip(names, told) if not own)
    return _law(known, ((overhead, {}), (unit, dict(zip(names, powers.tolist())))), alike)


def _least_squares(
    known: Sequence[tuple[Entries, float]], weights: Array, logs: Array, sizes: Array, told: Array | None = None
) -> tuple[Array, dict[tuple[str, str], float]]:
    """Powers of the sizes, 1 where the cells do not tell, and the logarithm of a factor for each word that varies."""
    words = [set(_words(setting)) for setting, _ in known]
    varied = sorted(set.union(*words) - set.intersection(*words))
    matrix = np.c_[sizes, np.array([[one in own for one in varied] for own in words], float).reshape(len(known), -1)]
    usual, free = np.r_[np.ones(sizes.shape[1]), np.zeros(len(varied))], np.full(len(varied), np.inf)
    if not len(usual):
        return usual, {}
    low = np.r_[np.where(told, 0.0, 1 - 1e-9), -free] if told is not None else -free
    high = np.r_[np.where(told, STEEPEST, 1 + 1e-9), free] if told is not None else free
    spread, level = matrix - np.average(matrix, 0, weights), np.average(logs, weights=weights)
    left = np.r_[np.sqrt(weights)[:, None] * spread, WEAK * np.eye(len(usual))]
    right = np.r_[np.sqrt(weights) * (logs - level), WEAK * usual]
    found = lsq_linear(left, right, (low, high)).x
    return found[: sizes.shape[1]], dict(zip(varied, found[sizes.shape[1] :].tolist()))


def _word_factor(factors: Mapping[tuple[str, str], float], setting: Entries) -> float:
    """Logarithm of the factor of what is no size."""
    return sum(factors.get(one, 0.0) for one in _words(setting))


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


def left_out(known: Sequence[tuple[Entries, float]], parts: str = "") -> LeftOut | None:
    """The known settings with the largest product of sizes; the law is of those that are smaller.

    ``None`` where fewer than ``FEWEST`` settings are smaller.
    """
    names = _sizes(setting for setting, _ in known)
    products = [math.prod(_size(setting.get(name)) for name in names) for setting, _ in known]
    largest = [pair for pair, product in zip(known, products) if product == max(products)]
    rest = [pair for pair, product in zip(known, products) if product < max(products)]
    if len(rest) < FEWEST:
        return None
    law, (setting, _) = fit_law(rest, parts), largest[0]
    varied = [name for name in names if name in setting and len({other.get(name) for other, _ in known}) > 1]
    predicted = float(np.mean([law.seconds(setting) for setting, _ in largest]))
    return LeftOut({name: setting[name] for name in varied}, float(np.mean([s for _, s in largest])), predicted)


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
            one = plan(item, grid, known, held, memory)
            found.append(one._replace(to_fetch=lacking, card=card))
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


def _known(number: str, study: Study, grid: Sequence[Entries]) -> tuple[list[tuple[Entries, float]], bool]:
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


def plan(
    study: Study, grid: Iterable[Entries], known: Sequence[tuple[Entries, float]], held: set[str], memory: int
) -> Plan:
    """What a grid takes.

    Args:
        study: the study.
        grid: its settings, each with ``seeds``.
        known: settings of cells that are stored, with the seconds they took; empty where none are.
        held: keys of the cells that need not be computed.
        memory: bytes that the grid asks for.
    """
    parts = PARTS.get(study.name, "")
    law, left, count = fit_law(known, parts) if known else None, defaultdict(int), 0
    kinds: dict[str, Entries] = {}
    for cell in cells(study, list(grid)):
        key, count = cell.key(seed=False), count + 1
        kinds[key] = cell.setting
        left[key] += cell.key() not in held
    took = {key: law.seconds(own) if law else math.nan for key, own in kinds.items() if left[key]}
    hours = sum(left[key] * seconds for key, seconds in took.items()) / 3600
    beyond = {
        name
        for key in took
        for name in (law.largest if law else ())
        if _size(kinds[key].get(name)) > law.largest[name] * (1.01 if name in law.alike else FAR)
    }
    here, longest = count - sum(left.values()), max(took.values(), default=0.0)
    return Plan(study, count, here, hours, longest, memory, tuple(sorted(beyond)), left_out(known, parts))


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
    """Markdown: a line a study by chapter, dearest first; what the whole takes on one, two and a hundred cores.

    Below that stands, for the dearest studies, what the law of smaller cells predicts for the largest measured.
    """
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
    lines += ["", total]
    shown = [(one, one.left_out) for one in sorted(known, key=lambda one: -one.hours) if one.left_out][:SHOWN]
    if shown:
        names = "study", "largest cells measured, left out of the fit", "predicted", "measured", "ratio"
        lines += ["", _line(*names), "|---" * len(names) + "|"]
    for one, it in shown:
        sizes = ", ".join(f"{size} = {value}" for size, value in it.sizes.items())
        ratio = f"{it.predicted / it.seconds:.2g}"
        lines.append(_line(f"`{one.study.name}`", sizes, _seconds(it.predicted), _seconds(it.seconds), ratio))
    return "\n".join(lines)


def _line(*parts: Any) -> str:
    return f"| {' | '.join(map(str, parts))} |"
