"""Ends of ranges: the first and the last value are taken, the next one beyond is refused in one line.

The ranges are those that parameters, records of settings and functions of ``regimes`` declare, as they stand there.
"""

import functools
import importlib
import math
from dataclasses import replace

import torch

from companion.lab import catalogue, parameters
from regimes.data import datasets, tasks
from regimes.kernels import infinite_ntk, ntk, relu_asymptotics, relu_recursion
from regimes.measures import information, spectrum
from regimes.measures.kernel_pca import kernel_pca
from regimes.models import losses, one_hidden
from regimes.models.activations import activation
from regimes.models.convolutional import convolutional
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow
from regimes.training.kernel_flow import kernel_flow
from regimes.training.newton import newton
from regimes.training.optimise import optimise
from regimes.training.run import run
from regimes.training.state import after, satisfied
from tests import limits
from tests.cases import for_each, refused


def beyond(value, way):
    """The next number after ``value`` upwards or downwards."""
    return value + way if isinstance(value, int) else math.nextafter(value, way * math.inf)


def ends(kind):
    """The ends of a kind's range, and what is next to them outside."""
    if kind.word in ("text", "switch"):
        return [], [1]
    if kind.word == "share":
        return [beyond(0.0, 1), beyond(1.0, -1)], [0.0, 1.0]
    inside = list(kind.names)
    if kind.word == "one of":
        return inside, ["no name of these"]
    low = beyond(0.0, 1) if kind.word == "positive" and not kind.low else kind.low
    return [low, kind.high, *inside], [beyond(low, -1), beyond(kind.high, 1)]


def lists(kind):
    """The shortest list of a kind that reaches both ends, and lists that are not of the kind."""
    if not math.isfinite(kind.low):  # of names
        return [], [[]]
    (first, last, *_), (_, outside) = ends(kind.item)
    parts = range(kind.least)
    spread = [first + (last - first) * i // (kind.least - 1 or 1) for i in parts] if kind.word == "count" else [
        first + (last - first) * i / (kind.least - 1 or 1) for i in parts
    ]  # fmt: skip
    twice = [] if kind.order == "list of" else [[*spread, spread[-1]]]
    return [spread], [spread[:-1], [*spread[:-1], outside], [first] * (parameters.MOST + 1), *twice]


def kinds():
    """The kinds that chapters declare, and the records of settings, each once, with who declares it."""
    found = {}
    for number in parameters.chapters():
        found |= {kind: f"{number}.{name}" for name, kind in catalogue.kinds(number).items()}
        for study in catalogue.of(number).values():
            found |= {axis.kind: f"{study.name}.{name}" for name, axis in study.grid.axes.items()}
            found |= {axis.several: f"{study.name}.{name}" for name, axis in study.grid.axes.items() if axis.several}
    return {name: kind for kind, name in found.items()}


@for_each(kinds())
def test_ends_of_what_chapters_and_studies_declare(kind):
    taken, others = lists(kind) if kind.order else ends(kind)
    for value in taken:
        assert kind.checked("x", value) == value
    for value in others:
        refused(functools.partial(kind.checked, "x", value), r"^x(\[\d+\])? must ")


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


X, Y = normal(6, 4), torch.tensor([1.0, -1, 1, -1, 1, -1], dtype=torch.float64)
GRAM = X @ X.mT + torch.eye(6)
DEEP, ONE = fully_connected([4, 8, 1], seeds=[0]), one_hidden.one_hidden(4, 8, seeds=[0])
TASK = tasks.Task(X, Y, "six points")
PHI = torch.tensor([0.01], dtype=torch.float64)
CALLS = {  # of functions with a range, by module and name: a call whose arguments are all allowed
    "data.datasets.split": lambda seed=0, size=2: datasets.split(TASK, [size], seed=seed),
    "data.datasets.split_classes": lambda seed=0, share=0.5: datasets.split_classes(
        replace(TASK, classes=torch.arange(6)), share, seed=seed
    ),
    "data.datasets.balanced": lambda seed: datasets.balanced(TASK, seed=seed),
    "data.datasets.coarse": lambda size: datasets.coarse(TASK, (2, 2), size),
    "data.datasets.principal_components": lambda count: datasets.principal_components(TASK, count),
    "data.tasks.stripe": lambda p=3, d=3: tasks.stripe(p, d),
    "data.tasks.cylinder": lambda p=3, d=3, **given: tasks.cylinder(p, d, **{"d_parallel": 1} | given),
    "data.tasks.chain_monomial": lambda p=3, d=3, r=2, **given: tasks.chain_monomial(p, d, r=r, **given),
    "data.tasks.rotation": lambda d=3, seed=0: tasks.rotation(d, seed=seed),
    "data.tasks.gaussian_points": lambda p=3, d=3: tasks.gaussian_points(p, d, seed=0),
    "kernels.infinite.infinite_ntk": lambda bias: infinite_ntk(X, depth=2, bias=bias),
    "kernels.relu_asymptotics.jump": lambda layers: relu_asymptotics.jump(PHI, PHI, layers),
    "kernels.relu_recursion.needs_depth": relu_recursion.needs_depth,
    "kernels.tangent.ntk": lambda memory: ntk(DEEP, X, memory=memory),
    "measures.information.mutual_information": lambda neighbours: information.mutual_information(
        X[:, 0], Y, neighbours=neighbours
    ),
    "measures.information.paper_a_information": lambda neighbours: information.paper_a_information(
        X[:, 0], Y, neighbours=neighbours
    ),
    "measures.information.null_bias": information.null_bias,
    "measures.information.sharp_loss": lambda neighbours: information.sharp_loss(len(X), neighbours),
    "measures.information.shifted_gaussians": information.shifted_gaussians,
    "measures.information.stripe_information": information.stripe_information,
    "measures.kernel_pca.kernel_pca": lambda count: kernel_pca(DEEP, X, Y, count=count),
    "measures.spectrum.components": lambda count: spectrum.components(GRAM, count),
    "measures.spectrum.tangent_components": lambda count: spectrum.tangent_components(DEEP, X, count),
    "measures.spectrum.distance_dimension": lambda size: spectrum.distance_dimension(GRAM, sorted({3, 4, size})),
    "models.activations.activation": lambda steepness: activation("swish", steepness=steepness),
    "models.convolutional.convolutional": lambda h: convolutional(h, seeds=[0], shape=(1, 28, 28)),
    "models.fully_connected.fully_connected": lambda gain: fully_connected([4, 1], seeds=[0], gain=gain),
    "models.losses.soft_hinge": losses.soft_hinge,
    "models.module.ModuleModel.output": lambda number: module(torch.nn.Linear(4, 3)).output(number),
    "models.one_hidden.one_hidden": lambda d=4, h=5: one_hidden.one_hidden(d, h, seeds=[0]),
    "seeds.draw_seeds": lambda size: draw_seeds("train", [0], size=size),
    "training.gauss_newton.problem_of": lambda **given: gauss_newton(DEEP, X, Y, **{"alpha": 1.0} | given),
    "training.gauss_newton.gauss_newton": lambda **given: gauss_newton(DEEP, X, Y, alpha=1.0, **given),
    "training.gradient_flow.gradient_flow": lambda **given: gradient_flow(ONE, TASK, **{"alpha": 1.0} | given),
    "training.kernel_flow.kernel_flow": lambda **given: kernel_flow(GRAM, Y, **given),
    "training.newton.newton": lambda **given: newton(DEEP, X, Y, alpha=1.0, loss="quadratic_hinge", **given),
    "training.optimise.optimise": lambda tau=1.0, **given: optimise(
        DEEP, X, Y, **{"method": "momentum", "tau": tau} | given
    ),
    "training.optimise._needed_rate": lambda rate: optimise(DEEP, X, Y, rate=rate),
    "training.run.run": lambda spacing: run(kernel_flow(GRAM, Y), spacing=spacing),
    "training.state.satisfied": lambda margin: satisfied(0.1, margin=margin),
    "training.state.after": after,
}
WHOLE = ("integer", "whole")
HOLDS = {  # what a check lets through
    "at_least": lambda value, low: value >= low,
    "between": lambda value, low, high: low <= value <= high,
    "integer": lambda value, low: value >= low,
    "positive": lambda value, low=0.0: value > low,
    "whole": lambda value, low, high: low <= value <= high,
    "within": lambda value, low, high: low < value < high,
}


SIZES = {"n": len(X), "d": 3, "y": Y, "task": TASK, "gram": GRAM, "counts_itself": 0}  # of the calls

LEFT = (
    ("gaussian.rule", "step"),  # the smallest step of an integral takes a minute
    ("models.fully_connected.fully_connected", "layers"),  # how many widths there are
)


def _module_of(place):
    """The module of a function, or of a method, by its full name."""
    return next(name for name in limits.modules("regimes") if place.startswith(f"{name}.") and _is_last(name, place))


def _is_last(name, place):
    """Whether no module below this one has it."""
    return not any(place.startswith(f"{other}.") for other in limits.modules("regimes") if other.startswith(f"{name}."))


def functions():
    """The arguments of functions of ``regimes`` with a range, and each one's checks: which, and its ends."""
    found = {}
    for place, check, bounds, name in limits.ranges("regimes"):
        module = importlib.import_module(_module_of(place))
        low_high = [eval(one, vars(module) | SIZES) for one in bounds] or [0.0]
        own = place.removeprefix("regimes."), name
        if check != "length" and own not in LEFT:
            found.setdefault(own, []).append((check, low_high))
    return found


@for_each({f"{place}: {name}": (place, name, checks) for (place, name), checks in functions().items()})
def test_ends_of_what_functions_of_regimes_declare(place, name, checks):
    """Each end is taken where every check lets it through; what lies next to it is refused where a check does not."""
    for end in [end if check in WHOLE else float(end) for check, low_high in checks for end in low_high]:
        for value in (beyond(end, -1), end, beyond(end, 1)):
            call = functools.partial(CALLS[place], **{name: value})
            if not all(HOLDS[check](value, *low_high) for check, low_high in checks):
                refused(call, rf"^{name} must ")
            elif value == end:
                call()


def test_every_function_with_a_range_is_called():
    assert {place for place, _ in functions()} == CALLS.keys()
