"""Chapter 3: which networks fit their data, what they have learnt then, and what averaging them gains."""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from companion.experiments.record import Count, FirstOf, Increasing, Number, Positive, Setting, derived, record
from companion.experiments.sweep import STATISTICAL, Rows, study
from companion.studies._images import first_there, identity, needs, shape
from companion.theory import jamming
from regimes import devices, validate
from regimes.data import datasets, tasks
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures.errors import wrong
from regimes.models import Model
from regimes.models.activations import activation
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton, step_bytes, together
from regimes.training.run import Trajectory, run
from regimes.training.state import Ended, State, satisfied
from regimes.validate import InputError

CHAPTER = "03"
STEEPNESS = 10.0  # of the swish of paper B's figures
NEAR = 0.9  # margin from which a point counts as satisfied on the way: the quadratic hinge only approaches 1
SHOWN = 64  # eigenvalues of a network that are kept to be drawn
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
        name = first_there(self.data, _words)
        if name != RANDOM:
            _, pixels = shape(name)
            if self.components > pixels:
                raise InputError(f"components must be at most the {pixels} pixels of {name}, got {self.components}")
            needs(name, self.test + self.kernel_p + self.p, "test + kernel_p + p")
        _needs_memory(self, self.components, self.layers)
        return replace(self, data=name, words=_words(name))


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


@record
class Ensemble(Networks):
    """Ensembles on images that are looked at on the way.

    Attributes:
        stops: satisfied fractions at which a network is looked at.
        decay: of the weights, in units of the rate at which a network learns a single point.
        fewer: members of smaller ensembles.
    """

    stops: Increasing[Number[0.05, 0.99]]
    decay: Number[0, None]
    fewer: Count[100] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """As on images; an ensemble of all its members is the ensemble."""
        if self.fewer and self.fewer > self.members:
            raise InputError(f"fewer must be at most members = {self.members}, got {self.fewer}")
        found = super().completed(seeds)
        return replace(found, fewer=None) if self.fewer == self.members else found


@record
class Threshold(TrainedEnsemble):
    """Ensembles of all widths, on images or random points."""

    data: FirstOf[(RANDOM, *IMAGES)]


@record
class Starts(Setting):
    """Networks of ``layers`` of width ``h`` at their start, on ``p`` random points in ``d`` dimensions."""

    d: Count[2, 1000]
    p: Count[10, 10_000]
    layers: Count[1, 8]
    h: Width


@functools.lru_cache(maxsize=4)
def _pool(data: str, words: str, components: int) -> Task:
    """All images, centred, scaled and projected on their principal components; labels are parities of the class."""
    pool = datasets.centred(datasets.load(data, labels="parity"))
    return datasets.principal_components(pool, components)


def _words(name: str) -> str:
    """What tells data of a name from others of it; nothing for random points, which are drawn."""
    return "" if name == RANDOM else identity(name)


class Draw(NamedTuple):
    """Data of one realisation: training set, test set, and points for the kernel, disjoint."""

    train: Task
    test: Task
    kernel: Task


def draw_sets(s: OnImages, seed: int) -> Draw:
    """The sets of a realisation, on the study's device: only the training set depends on its size."""
    pool = _pool(s.data, s.words, s.components)
    sizes = [s.test, s.kernel_p, s.p]
    parts = datasets.split(pool, sizes, seed=draw_seeds("train", [seed])[0])
    test, kernel, train = (part.to(device=devices.pick()) for part in parts)
    return Draw(train, test, kernel)


def swish_networks(s: OnImages, h: int, seeds: list[int]) -> FullyConnected:
    """``members`` networks of width ``h`` for each seed, one after the other: no biases, mean-field scale, steep swish.

    Source: paper B, Fig. 4 (its code).
    """
    each = [seed * s.members + member for seed in seeds for member in range(s.members)]
    sigma = activation("swish", steepness=STEEPNESS, normalised=True)
    widths = [s.components, *[h] * s.layers, 1]
    # one draw a width: a network of another width is another network
    drawn = draw_seeds("weights", each, size=h)
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    return fully_connected(widths, seeds=drawn, device="auto", **kind)


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
    return run(_states(s, model, x, y, decay=decay), events=events)


def _states(s: Flow, model: Model, x: Tensor, y: Tensor, *, decay: float = 0.0) -> Iterator[State]:
    return gauss_newton(model, x, y, alpha=s.scale, loss=s.loss, rule="settle", steps=s.steps, decay=decay)


def _needs_memory(s: OnImages, d: int, layers: int = 1) -> None:
    """What a call takes must be free: steps of networks on ``d`` inputs, their weights, test outputs and kernels."""
    h = getattr(s, "h", 2 * round((s.p / layers) ** 0.5))  # without one the width at which they begin to fit
    size, count = parameters_of(d, h, layers), TOGETHER * s.members
    each = step_bytes(s.p, size, d + 2 * layers * h + 1)
    steps = each * min(count, together(each, torch.device("cpu")))
    weights = 8 * count * size * (4 + len(getattr(s, "stops", [])))  # now, before, at the start, on trial and at stops
    tested = s.members * s.test * layers * h
    tested = min(tested, 2**26) if layers == 1 else tested  # a network of one layer takes its points in blocks
    read = 24 * (s.members * s.kernel_p**2 + tested)
    validate.memory(weights + max(steps, read), f"p = {s.p} with h = {h} and members = {s.members}")


# where networks end that fit in vain for long, or fit late; on another processor, in one training set of four hundred
_LATE = "jammed quadratic_hinge unsatisfied fluctuation kernel_change norm error ensemble_error".split()
END = 1.0  # the ``stop`` of networks as they end


@study(
    version=5,
    rtol=1e-2,
    columns=dict.fromkeys(_LATE, STATISTICAL),
    nonfinite=["fewer_error"],  # of the large ensembles alone
    **ENSEMBLE,
)
def ensembles(s: Ensemble, seeds: list[int]) -> Rows:
    r"""Ensembles of networks on one training set, trained to a verdict; one row a training set (``seed``) and ``stop``.

    ``parameters`` N; ``fitted``: share of the members that fit; ``unsatisfied``: their mean :math:`N_\Delta`;
    ``quadratic_hinge``: half the mean square of the gaps :math:`\max(0, 1 - yF)` of the training points, whatever loss
    was trained on; ``fluctuation`` ‖F - ⟨F⟩‖; ``kernel_change`` ‖ΔΘ‖/‖Θ₀‖ (mean of the logarithms). Where the setting
    has ``fewer``, ``fewer_error``: mean error of ensembles of so many of the members, each in one of them. All these
    are of the end, in every row. ``norm``: root mean square of F on the test points, mean over the members, ``error``
    of the members and ``ensemble_error`` of their mean output are those where the fraction ``stop`` of the margins is
    beyond 0.9 (members that did not get there count as they ended); ``stop`` = 1 is the end, and comes first.

    Source: paper B, Fig. 4, 6, 8D and Sec. 2 and 3.
    """
    data = [draw_sets(s, seed) for seed in seeds]
    count, rows = s.members, []
    model = swish_networks(s, s.h, seeds)
    x, y = repeated([d.train for d in data], count)
    # a point's kernel is of order 1/h
    done = train_to_verdict(s, model, x, y, s.stops, decay=s.decay * s.scale / (s.h * s.p))
    for i, (seed, sets) in enumerate(zip(seeds, data, strict=True)):
        block = slice(i * count, (i + 1) * count)
        rows += [{"seed": seed, "source": sets.train.source} | row for row in _ensemble(s, model, done, block, sets)]
    return rows


def repeated(data: list[Task], count: int) -> tuple[Tensor, Tensor]:
    """Points and labels of some training sets, each ``count`` times."""
    x, y = (torch.stack([getattr(task, name) for task in data]) for name in ("x", "y"))
    return x.repeat_interleave(count, 0), y.repeat_interleave(count, 0)


def _ensemble(s: Ensemble, start: FullyConnected, done: Trajectory, block: slice, sets: Draw) -> Rows:
    """The rows of one training set, whose members are the realisations ``block``."""
    scale, begun, members = s.scale, start[block], range(block.start, block.stop)
    f0, end = begun(sets.test.x), done.model[block]
    F = scale * (end(sets.test.x) - f0)
    margins = done.F[block] * sets.train.y
    gaps = (1 - margins).clamp(min=0)
    row = {
        "parameters": s.parameters,
        "fitted": float(np.mean([done.ended[e].kind == Ended.FITTED for e in members])),
        "jammed": float(np.mean([done.ended[e].kind == Ended.JAMMED for e in members])),
        "unsatisfied": float(jamming.unsatisfied(margins).double().mean()),
        "quadratic_hinge": float(gaps.square().mean() / 2),
        "fluctuation": float(jamming.fluctuation(F)),
    }
    if s.fewer:
        groups = [group.mean(0) for group in F.split(s.fewer) if len(group) == s.fewer]
        row["fewer_error"] = float(np.mean([float(wrong(F, sets.test.y)) for F in groups]))
    change = jamming.kernel_change(ntk(begun, sets.kernel.x), ntk(end, sets.kernel.x))
    row["kernel_change"] = float(change.log().mean().exp())
    stopped = {END: F}
    for stop in s.stops:
        there = done.events[f"{stop:g}"]
        early = [
            scale * (there[e].model(sets.test.x)[0] - f0[k]) if e in there else F[k] for k, e in enumerate(members)
        ]
        stopped[stop] = torch.stack(early)
    return [row | {"stop": stop} | norms_and_errors(F, sets.test.y) for stop, F in stopped.items()]


def at_end(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of :data:`ensembles` that are of the end."""
    return rows[rows.stop == END]


def norms_and_errors(F: Tensor, y: Tensor) -> dict[str, float]:
    """Norm and errors of the members, error of their mean output."""
    mean = F.mean(0)
    return {
        "norm": float(F.square().mean(-1).sqrt().mean()),
        "error": float(wrong(F, y.expand_as(F)).mean()),
        "ensemble_error": float(wrong(mean, y)),
    }


@study(version=2, rtol=1e-2, device="any")
def thresholds(s: Threshold, seeds: list[int]) -> Rows:
    """The width at which networks begin to fit, by bisection from both sides; one row a width and training set.

    All widths that the bisection visits, ``members`` networks each: ``h``, ``parameters``, ``fitted`` (share of the
    members). It starts from a width of which fewer than half fit and one of which at least half do, halves the gap
    until neighbouring widths have been trained, and goes on until more than half do.
    ``data = "random"``: standard normal points with random labels.

    Source: paper B, Fig. 8A.
    """
    rows = []
    for seed in seeds:
        x, y, source = _labelled(s, seed)
        guess = max(2, round((len(y) / 3 / s.layers) ** 0.5))
        for h, share in sorted(_search(functools.partial(_fitting, s, seed, x, y), guess).items()):
            size = parameters_of(s.components, h, s.layers)
            rows.append({"seed": seed, "h": h, "parameters": size, "fitted": share, "source": source})
    return rows


def _fitting(s: Threshold, seed: int, x: Tensor, y: Tensor, h: int) -> float:
    """The share of the members of width ``h`` that fit."""
    done = train_to_verdict(s, swish_networks(s, h, [seed]), x, y)
    return float(np.mean([why.kind == Ended.FITTED for why in done.ended]))


def _search(fitting: Callable[[int], float], guess: int) -> dict[int, float]:
    """The share that fits at each width that the search visits, once each."""
    known: dict[int, float] = {}

    def share(h: int) -> float:
        if h not in known:
            known[h] = fitting(h)
        return known[h]

    low = high = guess
    while share(high) < 0.5:
        low, high = high, max(high + 1, round(1.4 * high))
    while low > 1 and share(low) >= 0.5:
        low, high = max(1, min(low - 1, round(low / 1.4))), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if share(middle) < 0.5 else (low, middle)
    while share(max(known)) <= 0.5:  # half is neither side: wider ones, one by one
        share(max(known) + 1)
    return known


def _labelled(s: Threshold, seed: int) -> tuple[Tensor, Tensor, str]:
    if s.data != RANDOM:
        sets = draw_sets(s, seed)
        return sets.train.x, sets.train.y, sets.train.source
    first, second = draw_seeds("train", [seed], size=s.p) + draw_seeds("labels", [seed], size=s.p)
    x = tasks.gaussian_points(s.p, s.components, seed=first)
    y = np.sign(np.random.default_rng(second).standard_normal(s.p))
    return x.to(devices.pick()), torch.from_numpy(y).to(devices.pick()), DRAWN


@study(version=3, rtol=0.1, nonfinite=("needed", "time"), **ENSEMBLE)
def efforts(s: Networks, seeds: list[int]) -> Rows:
    """How much effort networks need to fit; one row a network (``member``).

    ``needed``: its own steps, and ``time``: of the flow, after which all points were met; both infinite where that did
    not come about in ``steps`` attempts. ``parameters`` N.

    Source: paper B, Fig. 4 (its three lines of jamming, for three wall times).
    """
    data, count = [draw_sets(s, seed).train for seed in seeds], s.members
    model = swish_networks(s, s.h, seeds)
    x, y = repeated(data, count)
    met: dict[int, tuple[float, float]] = {}
    steps, before = Counter[int](), defaultdict[int, float](float)
    for state in _states(s, model, x, y):
        for row, t in zip(state.rows, state.t.tolist(), strict=True):
            steps[row] += t > before[row]  # a state comes with every step of any network
            before[row] = t
            if row in state.ended and state.ended[row].kind == Ended.FITTED:
                met.setdefault(row, (steps[row], t))
    names = ("needed", "time")
    return [
        {"seed": seed, "member": k, "parameters": s.parameters, "source": data[i].source}
        | dict(zip(names, met.get(i * count + k, (math.inf, math.inf)), strict=True))
        for i, seed in enumerate(seeds)
        for k in range(count)
    ]


def spectrum_row(values: np.ndarray) -> dict[str, Any]:
    """The share of zeros among eigenvalues, ascending, and some of the others."""
    curved = values[values > jamming.ZERO * values[-1]]
    chosen = np.unique(np.linspace(0, max(len(curved) - 1, 0), SHOWN).round().astype(int))
    return {"flat": 1 - len(curved) / len(values), "eigenvalues": curved[chosen[: len(curved)]].tolist()}


@study(version=1, seeds="count from 6 to 1e4", chunk=25, data=DRAWN)
def starts(s: Starts, seeds: list[int]) -> Rows:
    """Networks at their start: ``negative`` share of the non-zero eigenvalues of H_p, and their tangent kernel.

    ReLU networks on random data. ``kernel``: the kernel on the points, its upper triangle as a list, times ``h`` (so
    that it has a limit).

    Source: paper B, Sec. 2 (N₋ ≈ N/2) and Sec. 3 (fluctuations of the kernel).
    """
    rows, (h, layers) = [], (s.h, s.layers)
    x = tasks.gaussian_points(s.p, s.d, seed=draw_seeds("test", [0])[0])
    upper = torch.triu_indices(len(x), len(x))
    sigma = activation("relu", normalised=True)
    for seed, weights, labels in zip(seeds, draw_seeds("weights", seeds, size=h), draw_seeds("labels", seeds, size=h)):
        y = torch.from_numpy(np.sign(np.random.default_rng(labels).standard_normal(len(x))))
        widths = [s.d, *[h] * layers, 1]
        model = fully_connected(widths, seeds=[weights], sigma=sigma, parametrisation="mean-field", gain=1.0)
        row = {"seed": seed, "kernel": (h * ntk(model, x)[0][upper[0], upper[1]]).tolist()}
        if h <= 12:  # all second derivatives of larger ones are not worth their time
            below, curved = jamming.negative(jamming.hessian(model, x, y, alpha=1.0, start=model(x))[1])
            row["negative"] = float(below / curved)
        rows.append(row)
    return rows
