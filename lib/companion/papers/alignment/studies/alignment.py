"""Chapter 6: how the weights of trained networks align with the gradients of what they compute."""

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from companion.data import celeba
from companion.data.images import first_there, identity
from companion.lab import draws
from companion.lab.record import (
    Count,
    Distinct,
    Each,
    FirstOf,
    Increasing,
    Number,
    Positive,
    Setting,
    Share,
    derived,
    record,
)
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.alignment.theory.egop import chain_monomial_egop
from companion.papers.alignment.theory.lazy import FrozenFlow
from companion.papers.compression.theory import amplification
from companion.papers.tasks import ByFlow, StripeSet, draw_tasks, networks_of
from regimes import devices, validate
from regimes.data import datasets, tasks
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures import matrices
from regimes.measures.errors import wrong
from regimes.measures.matrices import Site, sites
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.models.module import module
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.optimise import OptimiserState, optimise
from regimes.training.run import run
from regimes.training.state import fitted, satisfied
from regimes.validate import InputError

CHAPTER = "06"
EARLY = 5  # the step that "early" means: paper D's first measurement
SPECTRA = {"isotropic": None, "1/(1+k)": 1.0, "1/(1+k^2)": 2.0}  # of the data's covariance -> decay
LAZY_TASKS = (*SPECTRA, "stripe", "one coordinate", "digits")  # a spectrum: of the chain monomial's points
CHAIN = 5  # coordinates of the chain monomial (paper D: 5)
ROUNDING = 1e-10  # of a mean square in single precision
DRAWN = "chain monomial of Gaussian points, drawn here"
LATE = 0.98  # of the points fitted: "the last 2 %" begin
MOMENTS = {"star": "t_star", "late": "late", "end": "end"}  # of the flow that are rows -> event
SPACING = 1.1  # of the times at which the flow is looked at
FACE, SIDE = (112, 92), 4  # pixels of a face, and how many of them along each axis are averaged
CELEBA = 32  # pixels of the sides of its faces, a choice: the paper's are not stated
ALBUMS = ("celeba", "faces", "mnist", "digits")

Points = Count[10, 100_000]
Width = Count[2, 10_000]
Size = Positive[10_000]  # of initial weights
Rate = Positive[100]
Draws = Count[1000]  # random matrices per network


@record
class OnChain(Setting):
    """Networks of two hidden layers of width ``k``, trained on the chain monomial of ``n`` points.

    Attributes:
        d: dimensions.
        rank: of the monomial.
        test: points of the test set.
        spectrum: of the points' covariance.
        second: size of the second layer's initial variance.
        method: of the descent.
        penalty: decay of the weights.
        scales: sizes of the first layer's initial variance, one per network.
    """

    n: Points
    d: Width
    k: Width
    rank: Width
    test: Points
    spectrum: Literal[*SPECTRA]
    second: Size
    method: Literal["gd", "adam"]
    rate: Rate
    penalty: Number[0, 100]
    steps: Count[100_000]
    scales: Distinct[Size]

    # of a network in single precision, that memory must hold: it is in double, and more is read from it
    copies: ClassVar[int] = 3

    def completed(self, seeds: Sequence[int]) -> Self:
        """The ring fits into its space, and memory holds the networks."""
        n, k, test = self.n, self.k, self.test
        if self.rank > self.d:
            raise InputError(f"rank must be at most d = {self.d}, got {self.rank}")
        # inputs and tangents of the two layers, and of the test points, for all networks that train together
        needed = 8 * self.copies * len(self.scales) * (8 * max(n, test) * k + 16 * k * k)
        validate.memory(needed, f"n = {n} and test = {test} with k = {k}")
        return self


@record
class ChainPaths(OnChain):
    """Networks on the chain monomial, measured ``every`` so many steps.

    Attributes:
        observe: what is measured beside the correlations: ``frozen``, what ``c`` would be with the kernel of the start;
            ``contained``, the share of the centred term in the numerator of ``uc``; ``fact``, the correlation of the
            NFM with what it is at convergence under weight decay.
    """

    steps: Count[EARLY, 1_000_000]
    every: Count[100_000]
    observe: Distinct[Literal["frozen", "contained", "fact"]] | None = None

    copies = 1

    def completed(self, seeds: Sequence[int]) -> Self:
        """The law of lazy training is one of plain descent."""
        if "frozen" in (self.observe or ()) and (self.method != "gd" or self.penalty):
            raise InputError("observe = frozen needs method = gd and penalty = 0")
        return super().completed(seeds)


@record
class ChainDraws(OnChain):
    """Networks on the chain monomial, each beside ``draws`` random matrices."""

    draws: Draws


@record
class ChainFrames(OnChain):
    """Networks on the chain monomial, shown after each number of steps of ``frames``."""

    frames: Increasing[Count[100_000], 2]

    def completed(self, seeds: Sequence[int]) -> Self:
        """The last frame is of the last step."""
        if self.frames[-1] != self.steps:
            raise InputError(f"frames must end at steps = {self.steps}, got {self.frames[-1]}")
        return super().completed(seeds)


@record
class StripeFlow(ByFlow, StripeSet):
    """Paper A's networks on the stripe at three or more scales ``alpha``, and ``test`` points that tell their error."""

    alpha: Each[Increasing[Positive[1e12], 3]]
    test: Points


@record
class Pictures(Setting):
    """Networks of two hidden layers of width ``k`` on images.

    Attributes:
        data: their name; with ``words``, which tell data of this name from others of it.
        count: images at most.
        share: of the people, or images, that are trained on.
        scale: size of the first layer's initial variance.
        rate: of Adam.
    """

    data: FirstOf[ALBUMS]
    words: str = derived()
    count: Count[20, 100_000]
    share: Share
    k: Width
    scale: Size
    rate: Rate
    steps: Count[1_000_000]
    draws: Draws

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the first of its images that is here and the words for these, if they can be parted."""
        name = first_there(self.data, _identity)
        count = self.count
        k = self.k
        try:
            pool, _ = load_pictures(name, count, os.environ.get("REGIMES_DATA"))
            pictures = replace(self, data=name, words=pool.source)
            _split(pictures, pool, 0)
        except InputError as error:
            raise InputError(f"count = {count} images with share = {self.share:g} cannot be had: {error}") from None
        n, d = pool.x.shape
        validate.memory(16 * (n * (d + 8 * k) + 8 * k * (d + k)), f"count = {count} with k = {k}")
        return pictures


def check_parameters(p: Mapping[str, Any]) -> None:
    """What starts otherwise, or descends otherwise, does so at a scale that the isotropic networks have."""
    (isotropic_scales,) = correlations.grid.values(p, "isotropic")["scales"]
    for name in ("second_layer", "adam"):
        for scale in correlations.grid.values(p, name)["scales"][0]:
            validate.one_of(isotropic_scales, **{f"06.correlations.{name}.scales": scale})


class Batch(NamedTuple):
    """Networks of every seed at every scale, the seeds of one scale after those of the one before, and their data."""

    model: FullyConnected
    train: Task
    test: Task
    seeds: list[int]
    scales: list[float]


def batch(s: OnChain, seeds: list[int], dtype: torch.dtype = torch.float32) -> Batch:
    """Networks of two hidden layers whose first layer starts at each of ``scales``, on data of their seed.

    Weights are N(0, v/fan-in): ``v`` is ``scale`` in the first layer, ``second`` in the second, 1 in the last. The
    networks of one seed differ in nothing but the scale.

    Source: paper D, Sec. 2.1 and App. H.
    """
    scales = s.scales
    device = devices.pick()
    drawn = draw_seeds("weights", seeds)
    widths = [s.d, s.k, s.k, 1]
    model = fully_connected(widths, seeds=drawn, parametrisation="standard", gain=1.0, device=device).to(dtype=dtype)
    seed_index = torch.arange(len(seeds)).repeat(len(scales))  # of each network
    size = torch.tensor(scales, dtype=dtype, device=device).repeat_interleave(len(seeds)).sqrt()[:, None, None]
    first, second, last = model[seed_index].weights
    model = replace(model, weights=(first * size, second * s.second**0.5, last))

    def at_every_scale(task: Task) -> Task:
        return replace(task, x=task.x[seed_index], y=task.y[seed_index]).to(dtype=dtype, device=device)

    train = at_every_scale(_chain(s, "train", s.n, seeds))
    test = at_every_scale(_chain(s, "test", s.test, seeds))
    network_seeds = [seeds[i] for i in seed_index]
    network_scales = [scale for scale in scales for _ in seeds]
    return Batch(model, train, test, network_seeds, network_scales)


def _chain(s: OnChain, kind: str, n: int, seeds: list[int]) -> Task:
    """Points ``x (S, n, d)``, each realisation's in its own eigenbasis."""
    form = {"r": s.rank, "decay": SPECTRA[s.spectrum]}
    drawn = zip(draw_seeds(kind, seeds), draw_seeds("rotation", seeds), strict=True)
    realisations = [tasks.chain_monomial(n, s.d, **form, basis=basis, seed=seed) for seed, basis in drawn]
    x = torch.stack([task.x for task in realisations])
    y = torch.stack([task.y for task in realisations])
    return replace(realisations[0], x=x, y=y)


def states(s: OnChain, data: Batch) -> Iterator[OptimiserState]:
    """The training of a batch, with half the mean square as the loss, from the start to step ``steps``."""
    devices.reuse_memory()
    descent = {"method": s.method, "rate": s.rate, "decay": s.penalty}
    for step, state in enumerate(optimise(data.model, data.train.x, data.train.y, **descent)):
        if state.ended:
            raise InputError("rate must be small enough for every network's outputs to stay finite")
        yield state
        if step == s.steps:
            return


# One seed a cell, at all scales: the make-up of a batch decides on rounding, which grows where a network leaps.
@study(
    version=1,
    rtol=2e-2,
    columns={"double": (2e-2, 5e-4)},  # in single precision a difference of small ones: 1.8e-4 an ulp away
    data=DRAWN,
    device="any",
    nonfinite=("c_labels", "c_shrunk", "double", "ptk"),  # of some layers, tasks and steps
)
def correlations(s: ChainPaths, seeds: list[int]) -> Rows:
    """The correlations of both layers along training; one row per seed, ``scale``, ``layer`` and measured ``step``.

    ``uc``, ``c``, ``double`` and ``ptk`` as :func:`regimes.measures.matrices.measure` gives them. At step 0,
    ``c`` is the limit, from the velocity of the weights, and ``c_labels`` the same with the labels for the residuals.
    With weight decay ``c_shrunk`` is centred at what decay alone would have left of the initial weights.
    ``train_loss`` and ``test_loss`` are mean squared errors. Where the setting observes them: ``frozen``, the law of
    lazy training (:mod:`companion.papers.alignment.theory.lazy`), for descent without momentum or decay;
    :func:`contained`; :func:`fact`.

    Source: paper D, Fig. 2, 4, 5, 7 and 8, Prop. 3 and Eq. 4.
    """
    data = batch(s, seeds)
    initial_sites = sites(data.model, data.train.x)
    observed = s.observe or ()
    frozen = _frozen(s, data) if "frozen" in observed else None
    rows = []
    for step, state in enumerate(states(s, data)):
        if step % s.every == 0 or step in (EARLY, s.steps):
            current_sites = sites(state.model, data.train.x) if step else initial_sites
            errors = _errors(state, data)
            for layer, (site, start) in enumerate(zip(current_sites, initial_sites, strict=True), start=1):
                measured = _at_start(site, data.train.y, state.F) if step == 0 else _moved(s, step, site, start)
                if frozen is not None:
                    measured["frozen"] = frozen.c_nfa(start, s.rate * max(step, 1))
                if "contained" in observed:
                    measured["contained"] = contained(site, start)
                if "fact" in observed:
                    measured["fact"] = fact(site, data.train.y - state.F)
                rows += _table(data, {"step": step, "layer": layer}, measured | errors)
    return rows


def contained(site: Site, start: Site) -> Tensor:
    r"""The share of the centred term in the numerator of the uncentred ansatz, ``(E,)``; 0 at the start.

    :math:`\operatorname{tr}(\bar W^\top\bar W\,\bar W^\top K\bar W)/\operatorname{tr}(W^\top W\,W^\top KW)`.

    Source: paper D, Sec. 2.3.
    """

    def numerator(weights: Tensor) -> Tensor:
        return (matrices.nfm(weights) * matrices.nfm(site.delta @ weights)).sum((-2, -1))

    return numerator(site.weights - start.weights) / numerator(site.weights)


def fact(site: Site, residual: Tensor) -> Tensor:
    r"""The correlation of the NFM with what it is at convergence under weight decay, ``(E,)``.

    There :math:`W=\frac1{n\lambda}\sum_i r_i\,\delta_i x_i^\top` with the residuals ``r (E, n)``, targets minus outputs
    of the square loss, so that :math:`W^\top W\propto\sum_i r_i\,\frac{\partial f}{\partial x_i}x_i^\top`.

    Source: Boix-Adserà et al. 2025, the features at convergence theorem.
    """
    converged = (site.gradients * residual.unsqueeze(-1)).mT @ site.inputs
    return matrices.correlation(matrices.nfm(site.weights), converged)


def _frozen(s: ChainPaths, data: Batch) -> FrozenFlow:
    """The training of a batch as it would be with the tangent kernels of the start."""
    x = data.train.x
    return FrozenFlow.of(ntk(data.model, x), data.train.y - data.model(x))


@record
class LazyPredictions(Setting):
    """Networks of two hidden layers of width ``k`` on one of several tasks, as lazy training would align them.

    Attributes:
        task: the chain monomial on points of a spectrum, the stripe of paper A, one coordinate, or digits by parity.
        n: points.
        d: dimensions; digits have their own.
        left: shares of the training loss at which the law is read, besides the start.
    """

    task: Literal[*LAZY_TASKS]
    n: Points
    k: Width
    d: Width | None = None
    left: Distinct[Number[1e-6, 0.99]]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Dimensions are named where points are drawn."""
        if (self.d is None) != (self.task == "digits"):
            raise InputError("d must be given for drawn points, and for them alone")
        validate.memory(8 * self.n * (self.n + 8 * self.k), f"n = {self.n} with k = {self.k}")
        return self


@study(version=1, rtol=1e-3, device="any", data="points drawn here, and scikit-learn's digits")
def lazy_predictions(s: LazyPredictions, seeds: list[int]) -> Rows:
    """The C-NFA of lazy training on several tasks, without training; one row per seed, ``layer`` and share ``remains``.

    ``remains``: of the training loss, 1 at the start; ``c``: the law
    (:mod:`companion.papers.alignment.theory.lazy`) when so much is left; ``time``: then, in units of the inverse rate.

    Derived from paper D, Eq. 4.
    """
    rows = []
    for seed in seeds:
        task = _lazy_task(s, seed).to(dtype=torch.float64, device=devices.pick())
        widths = [task.x.shape[-1], s.k, s.k, 1]
        drawn = draw_seeds("weights", [seed])
        model = fully_connected(widths, seeds=drawn, parametrisation="standard", gain=1.0, device=devices.pick())
        model = model.to(dtype=torch.float64)
        flow = FrozenFlow.of(ntk(model, task.x), task.y - model(task.x))
        for remaining in (1.0, *s.left):
            time = flow.time_of_share(remaining)
            for layer, site in enumerate(sites(model, task.x), start=1):
                c = float(flow.c_nfa(site, time))
                rows.append({"seed": seed, "layer": layer, "remains": remaining, "time": time, "c": c})
    return rows


def _lazy_task(s: LazyPredictions, seed: int) -> Task:
    """Points and labels of mean square 1."""
    point, basis = (draw_seeds(kind, [seed])[0] for kind in ("train", "rotation"))
    if s.task == "digits":
        return datasets.split(datasets.load("digits", labels="parity"), [s.n], seed=point)[0]
    if s.task == "stripe":
        return tasks.stripe(s.n, s.d, seed=point)
    spectrum = s.task if s.task in SPECTRA else "isotropic"
    drawn = tasks.chain_monomial(s.n, s.d, r=CHAIN, decay=SPECTRA[spectrum], basis=basis, seed=point)
    return replace(drawn, y=drawn.x[..., 0]) if s.task == "one coordinate" else drawn


class Tokens(nn.Module):
    """A perceptron at each token, and the mean over tokens."""

    def __init__(self, d: int, k: int, side: int) -> None:
        super().__init__()
        self.first, self.second, self.out = nn.Linear(d, k), nn.Linear(k, k), nn.Linear(k, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(p, 1)`` at points ``x (p, positions, d)``."""
        return self.out(torch.relu(self.second(torch.relu(self.first(x))))).mean(-2)


class Attention(nn.Module):
    """One head between normed tokens, a layer on top of another norm, and the mean over tokens."""

    def __init__(self, d: int, k: int, side: int) -> None:
        super().__init__()
        self.norm, self.again = nn.LayerNorm(d), nn.LayerNorm(d)
        self.queries, self.keys, self.values = (nn.Linear(d, d) for _ in range(3))
        self.top, self.out = nn.Linear(d, k), nn.Linear(k, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(p, 1)`` at points ``x (p, positions, d)``."""
        normed = self.norm(x)
        scores = self.queries(normed) @ self.keys(normed).mT / normed.shape[-1] ** 0.5
        mixed = x + scores.softmax(-1) @ self.values(normed)
        return self.out(torch.relu(self.top(self.again(mixed)))).mean(-2)


class Convolutions(nn.Module):
    """Tokens as a square picture of ``d`` channels: a convolution and a dense layer."""

    def __init__(self, d: int, k: int, side: int) -> None:
        super().__init__()
        self.side = side
        self.windows, self.dense, self.out = nn.Conv2d(d, d, 3, padding=1), nn.Linear(d * side**2, k), nn.Linear(k, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs ``(p, 1)`` at points ``x (p, side², d)``."""
        picture = x.mT.unflatten(-1, (self.side, self.side))
        return self.out(torch.relu(self.dense(torch.relu(self.windows(picture)).flatten(1))))


ARCHITECTURES: dict[str, Callable[[int, int, int], nn.Module]] = {
    "tokens": Tokens,
    "attention": Attention,
    "convolutions": Convolutions,
}


@record
class LazyLayers(Setting):
    """Networks whose layers act at several positions of a point, as lazy training would align them.

    Attributes:
        architecture: what is built, at torch's initial weights.
        n: points.
        side: of the square of positions.
        d: numbers at each position, standard normal.
        k: width.
        left: shares of the training loss at which the law is read, besides the start.
    """

    architecture: Literal[*ARCHITECTURES]
    n: Points
    side: Count[2, 16]
    d: Width
    k: Width
    left: Distinct[Number[1e-6, 0.99]]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the inputs and tangents of all positions."""
        validate.memory(8 * self.n * (self.n + self.side**2 * (12 * self.d + 4 * self.k)), f"n = {self.n}")
        return self


@study(version=1, rtol=1e-3, device="any", data="standard normal tokens and a target of third degree, drawn here")
def lazy_layers(s: LazyLayers, seeds: list[int]) -> Rows:
    """The C-NFA of lazy training of layers at positions, without training; one row per seed, ``layer`` and share.

    ``layer``: its name; ``remains``, ``time`` and ``c`` as in :func:`lazy_predictions`. The targets are products of
    neighbouring coordinates and a cube, summed over positions, of mean square 1.

    Derived from paper D, Eq. 4.
    """
    rows = []
    for seed, points, weights in zip(seeds, draw_seeds("train", seeds), draw_seeds("weights", seeds), strict=True):
        x = tasks.gaussian_points(s.n, s.side**2 * s.d, seed=points).unflatten(-1, (s.side**2, s.d))
        y = (x[..., 0] * x[..., 1] + x[..., 1] * x[..., 2] + x[..., 3] ** 3).sum(-1)
        x, y = (tensor.to(devices.pick()) for tensor in (x, y / y.square().mean().sqrt()))

        def build() -> nn.Module:
            return ARCHITECTURES[s.architecture](s.d, s.k, s.side).double()

        model = module(build, seeds=[weights], shape=(s.side**2, s.d)).to(device=devices.pick())
        flow = FrozenFlow.of(ntk(model, x), y - model(x))
        layers = sites(model, x, convolutions=True)
        for remaining in (1.0, *s.left):
            time = flow.time_of_share(remaining)
            for site in layers:
                c = float(flow.c_nfa(site, time))
                rows.append({"seed": seed, "layer": site.name, "remains": remaining, "time": time, "c": c})
    return rows


def _errors(state: OptimiserState, data: Batch) -> dict[str, Tensor]:
    """Mean squared errors; below single precision's they are rounding, and 0."""
    test = (state.model(data.test.x) - data.test.y).square().mean(-1)
    train = (state.F - data.train.y).square().mean(-1)
    return {"train_loss": torch.where(train < ROUNDING, 0.0, train), "test_loss": test}


def _at_start(site: Site, y: Tensor, outputs: Tensor) -> dict[str, Tensor]:
    """The UC-NFA, and the limit of the C-NFA, with the residuals and with the labels in their place."""
    measured = {"uc": matrices.measure(site, site)["uc"]}
    for name, residual in (("c", y - outputs), ("c_labels", y)):
        velocity = matrices.velocity(site.inputs, site.delta, residual)
        measured[name] = matrices.uc_nfa(velocity, site.delta)
    return measured


def _moved(s: ChainPaths, step: int, site: Site, start: Site) -> dict[str, Tensor]:
    """The correlations of a layer that has moved from its ``start``."""
    measured = matrices.measure(site, start)
    if s.penalty:
        shrinkage = (1 - s.rate * s.penalty) ** step
        shrunk_start = replace(start, weights=shrinkage * start.weights)
        measured["c_shrunk"] = matrices.measure(site, shrunk_start)["c"]
    return measured


def _table(data: Batch, common: Mapping[str, Any], columns: Mapping[str, Tensor]) -> Rows:
    """One row per network."""
    values = {name: column.tolist() for name, column in columns.items()}
    rows = []
    for e, (seed, scale) in enumerate(zip(data.seeds, data.scales, strict=True)):
        measured = {name: column[e] for name, column in values.items()}
        rows.append({"seed": seed, "scale": scale, **common, **measured})
    return rows


@study(
    version=1,
    rtol=1e-4,
    device="any",
    data=DRAWN,
    nonfinite=("egop_agop", "egop_nfm"),  # of the first layer
)
def learned_features(s: ChainDraws, seeds: list[int]) -> Rows:
    """Trained networks and what they have learnt, read three ways; one row per seed and ``layer``.

    ``uc``: correlation of NFM and AGOP; ``random``: with a random matrix of K's spectrum in its place, mean over
    ``draws``; ``c`` and ``c_random``: the same of what training has added to the weights; ``spread``: standard
    deviation over mean of K's eigenvalues; ``train_loss``, ``test_loss``. The first layer also has ``egop_agop`` and
    ``egop_nfm``, correlations with the task's expected gradient outer product, and seed 0 the matrices themselves,
    ``egop``, ``nfm``, ``agop`` and ``random_agop``, flattened.

    Source: paper D, Fig. 1 and Sec. 2.2.
    """
    data = batch(s, seeds, torch.float64)
    initial_sites = sites(data.model, data.train.x)
    *_, state = states(s, data)
    trained_sites = sites(state.model, data.train.x)
    egop = chain_monomial_egop(s.rank, s.d).to(devices.pick())
    rows = []
    for layer, (site, start) in enumerate(zip(trained_sites, initial_sites, strict=True), start=1):
        nfm = matrices.nfm(site.weights)
        agop = matrices.agop(site.weights, site.delta)
        K = matrices.ptk_covariance(site.delta)
        moved = site.weights - start.weights
        random_agops = _randomised(site.weights, K, s.draws, data.seeds)
        eigenvalues = torch.linalg.eigvalsh(K.double())
        measured = _errors(state, data)
        measured["uc"] = matrices.correlation(nfm, agop)
        measured["random"] = _mean_correlation(nfm, random_agops)
        measured["c"] = matrices.uc_nfa(moved, site.delta)
        measured["c_random"] = _mean_correlation(matrices.nfm(moved), _randomised(moved, K, s.draws, data.seeds))
        measured["spread"] = eigenvalues.std(-1, correction=0) / eigenvalues.mean(-1)
        if layer == 1:
            measured["egop_agop"] = matrices.correlation(egop.expand_as(agop), agop)
            measured["egop_nfm"] = matrices.correlation(egop.expand_as(nfm), nfm)
        rows += _table(data, {"layer": layer}, measured)
        if layer == 1 and 0 in seeds:
            pictures = {"egop": egop, "nfm": nfm[0], "agop": agop[0], "random_agop": random_agops[0][0]}
            rows[seeds.index(0)] |= {name: matrix.flatten().tolist() for name, matrix in pictures.items()}
    return rows


def _randomised(weights: Tensor, K: Tensor, draws: int, seeds: Sequence[int]) -> list[Tensor]:
    """``Wᵀ Q W`` for several random ``Q`` of K's spectrum, each ``(E, d, d)``."""
    products = []
    for i in range(draws):
        directions = draw_seeds("direction", [draws * seed + i for seed in seeds])
        Q = matrices.same_spectrum(K.double(), seeds=directions)
        products.append(weights.mT @ Q.to(weights) @ weights)
    return products


def _mean_correlation(matrix: Tensor, others: Sequence[Tensor]) -> Tensor:
    """The correlation of a matrix with others, mean over these, ``(E,)``."""
    return torch.stack([matrices.correlation(matrix, other) for other in others]).mean(0)


@study(version=1, rtol=1e-4, device="any", data=DRAWN)
def first_layer_snapshots(s: ChainFrames, seeds: list[int]) -> Rows:
    """The first layer of one network along training, matrices flattened, one row per ``step``.

    ``nfm`` WᵀW and ``agop`` WᵀKW; ``moved`` W̄ᵀW̄ and ``centred`` W̄ᵀKW̄; ``egop`` of the task.
    """
    data = batch(s, seeds, torch.float64)
    start = sites(data.model, data.train.x)[0]
    rows = []
    for step, state in enumerate(states(s, data)):
        if step in s.frames:
            site = sites(state.model, data.train.x)[0]
            moved = site.weights - start.weights
            factors = {"nfm": site.weights, "agop": site.gradients, "moved": moved, "centred": site.delta @ moved}
            pictures = {name: matrices.nfm(factor)[0] for name, factor in factors.items()}
            pictures["egop"] = chain_monomial_egop(s.rank, s.d)
            flat = {name: matrix.flatten().tolist() for name, matrix in pictures.items()}
            rows.append({"seed": seeds[0], "step": step, **flat})
    return rows


# a flow in float32: after t* another processor takes other steps, and as many rows more or less
@study(
    version=1,
    rtol=2e-2,
    device="any",
    data="Gaussian points of the stripe, drawn here",
    columns=dict.fromkeys("moment t satisfied uc c size size_gradient error ended".split(), STATISTICAL),
)
def stripes(s: StripeFlow, seeds: list[int]) -> Rows:
    """Paper A's network on the stripe: compression beside alignment along the flow; one row per seed and ``moment``.

    ``moment``: ``start`` (the limit), ``star`` (10 % of the margins met), ``late`` (98 %), ``end`` (all), and ``path``
    for the states between. ``size`` is the amplification Λ of the weights, ``size_gradient`` that of the gradients by
    the inputs, which the ansatz makes equal; ``uc`` and ``c`` the ansatz, ``satisfied`` the fraction of points fitted,
    ``t`` the time, ``error`` the test error at the end and ``ended`` why it did.

    Source: paper A, Fig. 4 and 6; paper D, Sec. 2.3.
    """
    rows = []
    for seed in seeds:
        train, test = draw_tasks(s, [seed], "train", "test")
        network = networks_of(s, [seed])
        flow = gradient_flow(network, train, alpha=s.alpha, tolerance=s.tolerance)
        events = {"late": satisfied(LATE), "end": fitted}
        path = run(flow, observe=functools.partial(_along_flow, train), spacing=SPACING, events=events)
        F = s.alpha * (path.model.to(dtype=torch.float64)(test.x) - network(test.x))
        of_network = {"seed": seed, "error": float(wrong(F, test.y)), "ended": str(path.ended[0].kind)}
        moments = [{"moment": "start", **_limit_at_start(network, train)}]
        for row in path.path[1:-1]:
            measured = {name: value for name, value in row.items() if name != "realisation"}
            moments.append({"moment": "path", **measured})
        for moment, event in MOMENTS.items():
            snapshot = path.events.get(event, {}).get(0)
            if snapshot is not None:
                numbers = _numbers(_compared(snapshot.model.to(dtype=torch.float64), network, train))
                moments.append({"moment": moment, "t": snapshot.t, "satisfied": snapshot.satisfied, **numbers})
        rows += [of_network | moment for moment in moments]
    return rows


def _along_flow(task: Task, state: Any) -> dict[str, Tensor]:
    """Amplification and ansatz of a state of the flow."""
    model = state.model.to(dtype=torch.float64)
    start = state.initial.to(dtype=torch.float64)
    task = replace(task, x=task.x[list(state.rows)])
    return _compared(model, start, task) | {"satisfied": state.satisfied}


def _compared(model: Network, start: Network, task: Task) -> dict[str, Tensor]:
    """The ansatz of a network's first layer, uncentred and centred at its ``start``, and the amplifications."""
    site = sites(model, task.x)[0]
    measured = matrices.measure(site, sites(start, task.x)[0])
    return {"uc": measured["uc"], "c": measured["c"]} | _sizes(site, task.d_parallel)


def _sizes(site: Site, d_parallel: int) -> dict[str, Tensor]:
    """The amplification of the weights, and that of the gradients by the inputs."""
    return {"size": amplification(site.weights, d_parallel), "size_gradient": amplification(site.gradients, d_parallel)}


def _limit_at_start(network: Network, task: Task) -> dict[str, Any]:
    """The same as training begins, the C-NFA by the velocity of the weights."""
    site = sites(network, task.x)[0]
    velocity = matrices.velocity(site.inputs, site.delta, task.y.to(site.inputs))
    ansatz = {"uc": matrices.uc_nfa(site.weights, site.delta), "c": matrices.uc_nfa(velocity, site.delta)}
    return {"t": 0.0, "satisfied": 0.0} | _numbers(ansatz | _sizes(site, task.d_parallel))


def _numbers(values: Mapping[str, Tensor]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


@functools.lru_cache(maxsize=2)
def load_pictures(name: str, count: int, folder: str | None) -> tuple[Task, tuple[int, int]]:
    """The images of Fig. 9 or what stands for them, with height and width: faces with and without glasses, or digits.

    Args:
        name: ``celeba``, ``faces``, ``mnist`` or ``digits``.
        count: how many at most; of the 400 faces those with glasses and as many without are taken in any case.
        folder: ``$REGIMES_DATA``; another one is another pool.
    """
    if name == "celeba":
        return celeba.celeba(count, side=CELEBA), (CELEBA, CELEBA)
    pool = datasets.load(name, labels="parity")
    if name == "faces":
        small = datasets.balanced(datasets.coarse(pool, FACE, SIDE), seed=0)
        return small, (FACE[0] // SIDE, FACE[1] // SIDE)
    side = round(pool.x.shape[-1] ** 0.5)
    return datasets.split(pool, [min(count, len(pool.y))], seed=0)[0], (side, side)


def _identity(name: str) -> object:
    """What tells images of this name from others of it; for CelebA, that its folder is there."""
    return celeba.needs_folder() if name == "celeba" else identity(name)


@study(version=1, rtol=2e-2, device="any", nonfinite=["height"])
def saliency_maps(s: Pictures, seeds: list[int]) -> Rows:
    """Which pixels a network looks at, by its weights and by its gradients; one row per seed: a split and a network.

    ``agop``: Pearson correlation of the diagonals of NFM and AGOP (first layer), ``random``: with a random matrix of
    K's spectrum in its place, mean over ``draws``, each in ``single``; ``train_loss``: mean squared error; ``error`` on
    people or images not seen, ``chance`` that of always saying the commoner label. Seed 0 has the maps as lists: the
    diagonals, the mean image and the difference of the labels' mean images, ``height`` pixels high.

    Source: paper D, Fig. 9 and App. H and I.
    """
    pool, shape = load_pictures(s.data, s.count, os.environ.get("REGIMES_DATA"))
    rows = []
    for seed in seeds:
        train, test = (part.to(device=devices.pick()) for part in _split(s, pool, seed))
        x = train.x.float()
        y = train.y.float()
        path = optimise(_deep(s, x, seed), x, y, method="adam", rate=s.rate)
        state = next(itertools.islice(path, s.steps, None))
        site = sites(state.model, x)[0]
        nfm = matrices.nfm(site.weights)[0].diagonal()
        agop = matrices.agop(site.weights, site.delta)[0].diagonal()
        random_agops = _randomised(site.weights, matrices.ptk_covariance(site.delta), s.draws, [seed])
        random_maps = [matrix[0].diagonal() for matrix in random_agops]
        correlations_with_random = [float(matrices.pearson(nfm, random_map)) for random_map in random_maps]
        share = (test.y > 0).double().mean()
        row = {
            "seed": seed,
            "source": train.source,
            "train_loss": float((state.F - y).square().mean()),
            "agop": float(matrices.pearson(nfm, agop)),
            "random": sum(correlations_with_random) / len(correlations_with_random),
            "single": correlations_with_random,
            "error": float(wrong(state.model(test.x.float())[0], test.y)),
            "chance": float(torch.minimum(share, 1 - share)),
        }
        if draws.is_first(seed):
            maps = {
                "shown_nfm": nfm,
                "shown_agop": agop,
                "shown_random": random_maps[0],
                "shown_mean": x.mean(0),
                "shown_contrast": x[y > 0].mean(0) - x[y < 0].mean(0),
            }
            row["height"] = shape[0]
            row |= {name: pixels.tolist() for name, pixels in maps.items()}
        rows.append(row)
    return rows


def _split(s: Pictures, pool: Task, seed: int) -> tuple[Task, Task]:
    """Training and test images; faces are split by person."""
    seed = draw_seeds("train", [seed])[0]
    if s.data in ("celeba", "faces"):
        return datasets.split_classes(pool, s.share, seed=seed)
    count = round(s.share * len(pool.y))
    return datasets.split(pool, [count, len(pool.y) - count], seed=seed)


def _deep(s: Pictures, x: Tensor, seed: int) -> FullyConnected:
    widths = [x.shape[-1], s.k, s.k, 1]
    drawn = draw_seeds("weights", [seed])
    model = fully_connected(widths, seeds=drawn, parametrisation="standard", gain=1.0, device="auto")
    model = model.to(dtype=torch.float32)
    first, second, last = model.weights
    return replace(model, weights=(first * s.scale**0.5, second, last))
