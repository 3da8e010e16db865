"""Ensembles of paper B's networks on images, as several studies take them: their records, draws, training and marks."""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from companion.data.images import first_there, identity, needs, shape
from companion.lab.record import Count, FirstOf, Positive, Setting, derived, record
from companion.papers.jamming.theory import jamming
from regimes import devices, validate
from regimes.data import datasets, tasks
from regimes.data.tasks import Task
from regimes.measures.errors import wrong
from regimes.models import Model
from regimes.models.activations import activation
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton, step_bytes, together
from regimes.training.run import Trajectory, run
from regimes.training.state import Ended, State, satisfied
from regimes.validate import InputError

STEEPNESS = 10.0  # of the swish of paper B's figures
NEAR = 0.9  # margin from which a point counts as satisfied on the way: the quadratic hinge only approaches 1
PICTURE_EIGENVALUES = 64  # of a network, kept to be drawn
TOGETHER = 4  # training sets whose ensembles are one batch: small networks are too small to fill a processor alone
ENSEMBLE = {"chunk": TOGETHER, "whole": True, "device": "any"}  # numbers depend on which are computed together
RANDOM = "random"  # in place of a data set: random points with random labels
DRAWN = "standard normal points with random labels, drawn here"
IMAGES = ("mnist", "fashion_mnist", "cifar10", "digits")
Points = Count[10, 100_000]
Width = Count[2, 10_000]
Loss = Literal["quadratic_hinge", "soft_hinge", "logistic"]


@record
class OnImages(Setting):
    """Ensembles of networks on images.

    Attributes:
        data: their name; with ``words``, which tell data of this name from others of it.
        components: principal components of the images that a network sees.
        test: points of the test set.
        kernel_p: points at which the tangent kernel is compared.
        layers: hidden layers of a network.
        members: networks on one training set.
        p: points of a training set.
        scale: ``α̃`` of the output.
    """

    data: FirstOf[IMAGES]
    words: str = derived()
    components: Count[2, 1000]
    test: Count[1, 100_000]
    kernel_p: Count[1, 10_000]
    layers: Count[1, 8]
    members: Count[2, 100]
    p: Points
    scale: Positive

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the first of its data sets that is on this machine, whose images and the memory must suffice."""
        name = first_there(self.data, words_of)
        if name != RANDOM:
            _, pixels = shape(name)
            if self.components > pixels:
                raise InputError(f"components must be at most the {pixels} pixels of {name}, got {self.components}")
            needs(name, self.test + self.kernel_p + self.p, "test + kernel_p + p")
        _needs_memory(self, self.components, self.layers)
        return replace(self, data=name, words=words_of(name))


@record
class TrainedEnsemble(OnImages):
    """Ensembles on images, trained on a ``loss`` in at most ``steps``."""

    loss: Loss
    steps: Count[10, 1_000_000]


@record
class Networks(TrainedEnsemble):
    """Ensembles on images, of one width ``h``."""

    h: Width

    @property
    def parameters(self) -> int:
        """N of a network."""
        return parameters_of(self.components, self.h, self.layers)


@functools.lru_cache(maxsize=4)
def projected_images(data: str, words: str, components: int) -> Task:
    """All images, centred, scaled and projected on their principal components; labels are parities of the class."""
    pool = datasets.centred(datasets.load(data, labels="parity"))
    return datasets.principal_components(pool, components)


def words_of(name: str) -> str:
    """What tells data of a name from others of it; nothing for random points, which are drawn."""
    return "" if name == RANDOM else identity(name)


class Draw(NamedTuple):
    """Data of one realisation: training set, test set, and points for the kernel, disjoint."""

    train: Task
    test: Task
    kernel: Task


def draw_sets(s: OnImages, seed: int) -> Draw:
    """The sets of a realisation, on the study's device: only the training set depends on its size."""
    pool = projected_images(s.data, s.words, s.components)
    sizes = [s.test, s.kernel_p, s.p]
    parts = datasets.split(pool, sizes, seed=draw_seeds("train", [seed])[0])
    test, kernel, train = (part.to(device=devices.pick()) for part in parts)
    return Draw(train, test, kernel)


def swish_networks(s: OnImages, h: int, seeds: list[int]) -> FullyConnected:
    """``members`` networks of width ``h`` for each seed, one after the other: no biases, mean-field scale, steep swish.

    Source: paper B, Fig. 4 (its code).
    """
    numbers = [seed * s.members + member for seed in seeds for member in range(s.members)]
    sigma = activation("swish", steepness=STEEPNESS, normalised=True)
    widths = [s.components, *[h] * s.layers, 1]
    # one draw per width: a network of another width is another network
    drawn = draw_seeds("weights", numbers, size=h)
    return fully_connected(widths, seeds=drawn, sigma=sigma, parametrisation="mean-field", gain=1.0, device="auto")


def parameters_of(d: int, h: int, layers: int) -> int:
    """``N``, how many parameters a network without biases has."""
    return d * h + (layers - 1) * h * h + h


class Flow(Protocol):
    """What a flow is trained at: the ``scale`` of the output, its ``loss`` and the most ``steps``."""

    scale: float
    loss: str
    steps: int


def train_to_verdict(
    s: Flow, model: Model, x: Tensor, y: Tensor, stops: Sequence[float] = (), *, decay: float = 0.0
) -> Trajectory:
    """Trains to a verdict, with a snapshot at each satisfied fraction of ``stops``."""
    events = {f"{stop:g}": satisfied(stop, margin=NEAR) for stop in stops}
    return run(flow_states(s, model, x, y, decay=decay), events=events)


def flow_states(s: Flow, model: Model, x: Tensor, y: Tensor, *, decay: float = 0.0) -> Iterator[State]:
    """The states of a flow until all points are satisfied, none moves, or the steps are used up."""
    return gauss_newton(model, x, y, alpha=s.scale, loss=s.loss, rule="settle", steps=s.steps, decay=decay)


def steps_of_fits(s: Flow, model: Model, x: Tensor, y: Tensor) -> dict[int, tuple[int, float]]:
    """The own steps and the time of the flow after which each network that fits had fitted, by its number."""
    steps = Counter[int]()
    time_before = defaultdict[int, float](float)
    fitted: dict[int, tuple[int, float]] = {}
    for state in flow_states(s, model, x, y):
        for network, t in zip(state.rows, state.t.tolist(), strict=True):
            steps[network] += t > time_before[network]  # a state comes with every step of any network
            time_before[network] = t
            if network in state.ended and state.ended[network].kind == Ended.FITTED:
                fitted.setdefault(network, (steps[network], t))
    return fitted


def _needs_memory(s: OnImages, d: int, layers: int = 1) -> None:
    """What a call takes must be free: steps of networks on ``d`` inputs, their weights, test outputs and kernels."""
    h = getattr(s, "h", 2 * round((s.p / layers) ** 0.5))  # without one the width at which they begin to fit
    size = parameters_of(d, h, layers)
    count = TOGETHER * s.members
    step = step_bytes(s.p, size, d + 2 * layers * h + 1)
    steps = step * min(count, together(step, torch.device("cpu")))
    copies = 4 + len(getattr(s, "stops", []))  # now, before, at the start, on trial and at stops
    weights = 8 * count * size * copies
    activations = s.members * s.test * layers * h
    if layers == 1:  # such a network takes its points in blocks
        activations = min(activations, 2**26)
    outputs = 24 * (s.members * s.kernel_p**2 + activations)
    validate.memory(weights + max(steps, outputs), f"p = {s.p} with h = {h} and members = {s.members}")


def repeated(data: list[Task], count: int) -> tuple[Tensor, Tensor]:
    """Points and labels of some training sets, each ``count`` times."""
    x = torch.stack([task.x for task in data])
    y = torch.stack([task.y for task in data])
    return x.repeat_interleave(count, 0), y.repeat_interleave(count, 0)


def norms_and_errors(F: Tensor, y: Tensor) -> dict[str, float]:
    """Norm and errors of the members, error of their mean output."""
    mean = F.mean(0)
    return {
        "norm": float(F.square().mean(-1).sqrt().mean()),
        "error": float(wrong(F, y.expand_as(F)).mean()),
        "ensemble_error": float(wrong(mean, y)),
    }


def spectrum_row(values: np.ndarray) -> dict[str, Any]:
    """The share of zeros among eigenvalues, ascending, and some of the others."""
    nonzero = values[values > jamming.ZERO * values[-1]]
    indices = np.unique(np.linspace(0, max(len(nonzero) - 1, 0), PICTURE_EIGENVALUES).round().astype(int))
    indices = indices[: len(nonzero)]
    return {"flat": 1 - len(nonzero) / len(values), "eigenvalues": nonzero[indices].tolist()}


def poll(F: Tensor, y: Tensor) -> dict[str, object]:
    """Norms of predictors ``F (E, n)`` and the errors of the members, of two means and of the majority.

    Args:
        F: predictors on test points.
        y: their labels ``(n,)``.
    """
    norms = F.square().mean(-1).sqrt()
    majority = F.sign().sum(0) * y
    return {
        "norms": norms.tolist(),
        "error": float(wrong(F, y.expand_as(F)).mean()),
        "mean_error": float(wrong(F.mean(0), y)),
        "normalised_error": float(wrong((F / norms[:, None]).mean(0), y)),
        "vote_error": float((majority < 0).double().mean() + (majority == 0).double().mean() / 2),
    }


def training_set(s: OnImages, seed: int) -> tuple[Tensor, Tensor, str]:
    """Points, labels and what they are called: of images, or random points with random labels."""
    if s.data != RANDOM:
        sets = draw_sets(s, seed)
        return sets.train.x, sets.train.y, sets.train.source
    (points_seed,) = draw_seeds("train", [seed], size=s.p)
    (labels_seed,) = draw_seeds("labels", [seed], size=s.p)
    x = tasks.gaussian_points(s.p, s.components, seed=points_seed)
    y = np.sign(np.random.default_rng(labels_seed).standard_normal(s.p))
    return x.to(devices.pick()), torch.from_numpy(y).to(devices.pick()), DRAWN
