"""Ends of ranges: the first and the last value are taken, the next one beyond is refused in one line."""

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import torch

from regimes.data import datasets, tasks
from regimes.kernels import infinite_ntk, ntk, relu_asymptotics, relu_recursion
from regimes.measures import information, spectrum
from regimes.measures.kernel_pca import kernel_pca
from regimes.measures.separability import cone_dimension, parameters_to_fit
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
from tests.cases import for_each, refused


class Range(NamedTuple):
    """From ``low`` to ``high``, both of them in it unless it is open there."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def ends(self):
        """The values at its ends that are in it, and those next to them that are not."""
        inside, outside = [], []
        for end, way, is_open in ((self.low, -1, self.open_low), (self.high, 1, self.open_high)):
            if math.isfinite(end):
                (outside if is_open else inside).append(end)
                outside.append(end + way if isinstance(end, int) else math.nextafter(end, way * math.inf))
        return inside, outside


def above(low):
    return Range(low, open_low=True)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


X, Y = normal(6, 4), torch.tensor([1.0, -1, 1, -1, 1, -1], dtype=torch.float64)
GRAM = X @ X.mT + torch.eye(6)
DEEP, ONE = fully_connected([4, 8, 1], seeds=[0]), one_hidden.one_hidden(4, 8, seeds=[0])
TASK = tasks.Task(X, Y, "six points")
PHI = torch.tensor([0.01], dtype=torch.float64)
CALLS = {  # by module and name: a call whose arguments are all allowed
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
    "measures.separability.cone_dimension": lambda **given: cone_dimension(
        GRAM.numpy(), Y.numpy(), **{"pairs": 2} | given
    ),
    "measures.separability.parameters_to_fit": lambda **given: parameters_to_fit(DEEP, X[:2], **given),
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
RANGES = {  # of their arguments
    "data.datasets.balanced": {"seed": Range(0)},
    "data.datasets.coarse": {"size": Range(1)},
    "data.datasets.principal_components": {"count": Range(1, 4)},
    "data.datasets.split": {"seed": Range(0), "size": Range(1)},
    "data.datasets.split_classes": {"seed": Range(0), "share": Range(0.0, 1.0, open_low=True, open_high=True)},
    "data.tasks.chain_monomial": {"d": Range(2), "decay": Range(0.0), "p": Range(1), "r": Range(2, 3)},
    "data.tasks.cylinder": {"d": Range(2), "d_parallel": Range(1), "p": Range(1), "radius": above(0.0)},
    "data.tasks.gaussian_points": {"d": Range(1), "p": Range(1)},
    "data.tasks.rotation": {"d": Range(1), "seed": Range(0)},
    "data.tasks.stripe": {"d": Range(1), "p": Range(1)},
    "kernels.infinite.infinite_ntk": {"bias": Range(0.0)},
    "kernels.relu_asymptotics.jump": {"layers": Range(0, 10**15)},
    "kernels.relu_recursion.needs_depth": {"depth": Range(1, 10**15)},
    "kernels.tangent.ntk": {"memory": Range(1)},
    "measures.information.mutual_information": {"neighbours": Range(1)},
    "measures.information.null_bias": {"neighbours": Range(1)},
    "measures.information.paper_a_information": {"neighbours": Range(1)},
    "measures.information.sharp_loss": {"neighbours": Range(1, 3)},
    "measures.information.shifted_gaussians": {"shift": Range(0.0, 20.0)},
    "measures.information.stripe_information": {"cosine": Range(0.0, 1.0)},
    "measures.kernel_pca.kernel_pca": {"count": Range(1, 6)},
    "measures.separability.cone_dimension": {"pairs": Range(2), "seed": Range(0)},
    "measures.separability.parameters_to_fit": {"programs": Range(1), "seed": Range(0)},
    "measures.spectrum.components": {"count": Range(1, 6)},
    "measures.spectrum.distance_dimension": {"size": Range(2, 6)},
    "measures.spectrum.tangent_components": {"count": Range(1, 5)},
    "models.activations.activation": {"steepness": Range(0.001, 1000.0)},
    "models.convolutional.convolutional": {"h": Range(1)},
    "models.fully_connected.fully_connected": {"gain": above(0.0)},
    "models.losses.soft_hinge": {"softness": Range(1e-06, 1e6)},
    "models.module.ModuleModel.output": {"number": Range(0)},
    "models.one_hidden.one_hidden": {"d": Range(1), "h": Range(1)},
    "seeds.draw_seeds": {"size": Range(0)},
    "training.gauss_newton.gauss_newton": {
        "slack": Range(0.0, 0.5),
        "steps": Range(1),
        "tolerance": Range(1e-10, 10.0),
    },
    "training.gauss_newton.problem_of": {"alpha": Range(1e-200, 1e12), "decay": Range(0.0)},
    "training.gradient_flow.gradient_flow": {
        "alpha": Range(1e-200, 1e12),
        "together": Range(1),
        "tolerance": Range(1e-12, 1.0, open_high=True),
    },
    "training.kernel_flow.kernel_flow": {"alpha": Range(1e-200, 1e200), "ridge": Range(0.0, 1e12)},
    "training.newton.newton": {"slack": Range(0.0, 0.5), "steps": Range(1)},
    "training.optimise._needed_rate": {"rate": above(0.0)},
    "training.optimise.optimise": {
        "alpha": above(0.0),
        "decay": Range(0.0),
        "max_move": above(0.0),
        "max_turn": above(0.0),
        "slack": Range(0.0),
        "tau": Range(0.0),
    },
    "training.run.run": {"spacing": Range(1.0)},
    "training.state.after": {"time": above(0.0)},
    "training.state.satisfied": {"margin": above(0.0)},
}


@for_each({f"{place}: {name}": (place, name, own) for place, of in RANGES.items() for name, own in of.items()})
def test_ends_of_the_ranges_of_arguments(place, name, own):
    """Where the end is taken, and where the value next to it is refused by its name."""
    inside, outside = own.ends()
    for value in inside:
        CALLS[place](**{name: value})
    for value in outside:
        refused(functools.partial(CALLS[place], **{name: value}), rf"^{name} must ")


def test_every_call_has_its_ranges():
    assert RANGES.keys() == CALLS.keys()
