"""Chapter 4: components of tangent kernels before, during and after training, and what they tell of the labels."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from companion.data.images import centred, identity, needs
from companion.lab import draws
from companion.lab.record import Count, Each, Increasing, Number, Setting, derived, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.theory import amplification
from companion.papers.kernel_pca.theory import sectors
from companion.papers.kernel_pca.theory.norm import hinge_norms, least_norms
from companion.papers.tasks import ByFlow, StripeSet, draw_task, needs_kernels, needs_outputs, networks_of
from regimes import devices, validate
from regimes.data import datasets
from regimes.data.tasks import STRIPE, Task
from regimes.kernels import ntk
from regimes.measures import information
from regimes.measures.errors import wrong
from regimes.measures.information import paper_a_information
from regimes.measures.kernel_pca import COUNT, Diagnosis, diagnose, separable
from regimes.measures.lazy import Lazy, lazy
from regimes.measures.spectrum import distance_dimension, tangent_components
from regimes.models import Model, losses
from regimes.models.convolutional import Convolutional, convolutional
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton
from regimes.training.gradient_flow import gradient_flow
from regimes.training.optimise import optimise
from regimes.training.run import Snapshot, Trajectory, run, snapshot
from regimes.training.state import State, satisfied
from regimes.validate import InputError

CHAPTER = "04"
DESCENTS = ("settle", "momentum")
PICTURE_COLUMNS = ("plane", "plane_centred", "labels")  # of the first realisation alone: pictures show one
LAST = {"stripe": ("beta",), "images": ("w", "b")}  # parameters of the last layer
TOGETHER = 2  # realisations that train as one batch: a call of the largest size takes less than a minute
PICTURE_POINTS = 200  # of a plane, kept to be drawn, for the first realisation
MEMORY = 2**27  # bytes of the tangents of a block of points
RIDGE = 1e-7  # of frozen kernels: half or twice of it moves errors by 0.005 at most, another processor by nothing
DRAWN = "Gaussian points of the stripe, drawn here"
SYNTHETIC = "numbers drawn here"
STRIPE_TASK = {"shape": "stripe", "interfaces": list(STRIPE)}
SQUARE_DISTANCES = (0.5, 0.1)  # of functions from the label, whose norms are measured
LOSSES = (0.5, 0.1, 0.02)  # mean hinge losses of functions whose norms are measured
FLOOR = 1e-6  # of a Gram matrix's trace: components of smaller eigenvalues are outside its span
DISTANCES = (8, 4, 2, 1)  # parts of the points among which nearest neighbours are sought
CASES = ("null", "near", "apart", "oblique", "sharp", "stripe")  # of one dimension, by what they tell
CASES_OF_SEVERAL = ("filled", "line")  # dimensions
SHIFTS = {"null": 0.0, "near": 0.5, "apart": 1.5}
# what a kernel's components tell, which a network's own rows do not have
DIAGNOSED = ("labels",) + tuple(
    f"{name}{ending}"
    for name in ("values", "information", "projections", "dimension", "alignment", "norm", "separable", "plane")
    for ending in ("", "_centred")
)
SECTOR_COLUMNS = ("distances", "kinds", "separable_many", "departure", "amplification")


def statistical_columns(*names: str) -> dict[str, str]:
    """The columns that another processor computes otherwise: measured at the end of training, or with what it gave."""
    return dict.fromkeys((*names, "error", "ended"), STATISTICAL)


Pictures = Literal["mnist", "fashion_mnist", "digits"]
Size = Count[16, 100_000]
Width = Count[2, 100_000]
Points = Count[60, 20_000]
Tested = Count[50, 100_000]
Scale = Number[1e-16, 1e8]
Softness = Number[1, 100]
Turn = Number[1e-6, 0.5]
Move = Number[1e-3, 1]
Descent = Literal[DESCENTS]
Stops = Increasing[Number[0.05, 0.99]]


@record
class StripeKernels(ByFlow, StripeSet):
    """Kernels of networks on the stripe of papers A and B.

    Attributes:
        n: points on which the components are.
        test: points that tell the error of what is learnt.
    """

    shape: str = derived()
    interfaces: list[float] = derived()
    d: Count[2, 30]
    h: Width
    n: Points
    test: Tested

    both: ClassVar[tuple[str, ...]] = ("train", "fresh")

    def of_task(self) -> Self:
        """With the stripe."""
        return replace(self, **STRIPE_TASK)

    def completed(self, seeds: Sequence[int]) -> Self:
        """With its task; memory holds networks and kernels on all points."""
        needs_kernels(n=self.n)
        needs_outputs(self.h, n=self.n)
        return super().completed(seeds)


@record
class AtStops(StripeKernels):
    """Kernels on the stripe at the start, the end, and the satisfied fractions of ``stops``."""

    stops: Stops


@record
class ManyPoints(AtStops):
    """As its base, and ``many`` points that suffice for the splines of the even and the odd sector."""

    many: Count[60, 100_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its base; InputError for too few points."""
        minimum = 4 * (sectors.PIECES + 3) * (self.d - 1)
        if self.many < minimum:
            raise InputError(f"many must be at least {minimum} for the splines of d = {self.d}, got {self.many}")
        needs_outputs(self.h, many=self.many)
        return super().completed(seeds)


@record
class ImageKernels(Setting):
    """Kernels of convolutional networks on images.

    Attributes:
        data: the images; ``words`` tell data of this name from others of it.
        alpha: scale of the output.
        softness: of the soft hinge loss.
        max_turn: bound on how far a step of a descent turns the velocity.
        max_move: bound on how far it moves an output.
        h: channels.
        n: points on which the components are.
        test: points that tell the error of what is learnt.
        p: points of a training set.
    """

    data: Pictures
    words: str = derived()
    alpha: Scale
    softness: Softness
    max_turn: Turn
    max_move: Move
    h: Width
    n: Points
    test: Tested
    p: Size

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, which suffice for all sets; memory holds the networks."""
        words = identity(self.data)
        needs(self.data, self.test + self.n + 2 * self.p, "test + n + 2 p")
        memory = int(8 * 23251 * (self.h / 10) ** 2 * TOGETHER * (64 + 2 * self.p))
        validate.memory(memory, f"h = {self.h} with p = {self.p}")
        return replace(self, words=words)


@record
class Descending(ImageKernels):
    """Convolutional networks trained by a ``descent``."""

    descent: Descent


@record
class ImageCurve(Descending):
    """Convolutional networks at three or more sizes ``p``.

    Attributes:
        stops: satisfied fractions at which they are looked at.
        sizes: all of them.
        panels: whether components are measured: at the largest size.
    """

    p: Each[Increasing[Count[20, 100_000], 3]]
    stops: Stops
    sizes: Increasing[Count[20, 100_000], 3] | None = None
    panels: bool = derived()

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its base; with whether its size is the largest."""
        sizes = self.sizes or [self.p]
        validate.one_of(sizes, p=self.p)
        return replace(super().completed(seeds), sizes=None, panels=self.p == sizes[-1])


@record
class Course(Setting):
    """The course of one training, on the stripe or on images, looked at in so many ``frames``."""

    shape: Literal["stripe", "images"]
    interfaces: list[float] = derived()
    data: Pictures | None = None
    words: str = derived()
    d: Count[2, 30] | None = None
    alpha: Scale | None = None
    softness: Softness | None = None
    max_turn: Turn | None = None
    max_move: Move | None = None
    h: Width | None = None
    n: Points | None = None
    test: Tested | None = None
    p: Size | None = None
    tolerance: Number[1e-4, 0.2] | None = None
    descent: Descent | None = None
    frames: Count[3, 100]

    def completed(self, seeds: Sequence[int]) -> Self:
        """With what belongs to its shape, whose axes it must have."""
        record = {"stripe": StripeKernels, "images": Descending}[self.shape]
        entries = {name: value for name, value in self.entries().items() if name not in ("shape", "frames")}
        if entries.keys() != record.axes().keys():
            raise InputError(f"shape = {self.shape} takes the axes {', '.join((*record.axes(), 'shape', 'frames'))}")
        return replace(self, **record(**entries).completed(seeds).entries())


@record
class Estimated(Setting):
    """``n`` points of a synthetic ``case`` in ``d`` dimensions, and the ``neighbours`` of a point for an estimate."""

    neighbours: Count[100]
    case: Literal[CASES + CASES_OF_SEVERAL]
    d: Count[100]
    n: Count[40, 100_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """If its case has so many dimensions, and enough points for its neighbours."""
        several = self.case in CASES_OF_SEVERAL
        if (self.d > 1) != several:
            raise InputError(f"d must be {'above 1' if several else '1'} where case = {self.case}, got {self.d}")
        largest = self.n // 4 - 5
        if self.neighbours > largest:
            words = f"a quarter of n = {self.n} less five"
            raise InputError(f"neighbours must be at most {largest}, {words}, got {self.neighbours}")
        return self


ON_STRIPE = {"rtol": 1e-2, "data": DRAWN, "device": "any"}


def _stack(tasks: list[Task], dtype: torch.dtype) -> Task:
    x = torch.stack([task.x for task in tasks])
    y = torch.stack([task.y for task in tasks])
    return Task(x, y, tasks[0].source).to(dtype=dtype, device=devices.pick())


def draw_images(s: ImageKernels | Course, seeds: list[int], *, dtype: torch.dtype = torch.float32) -> dict[str, Task]:
    """Disjoint sets of each realisation: ``test``, ``points`` of the components, ``fresh`` and ``train`` of equal size.

    The first two do not depend on the size of the others.
    """
    sizes = {"test": s.test, "points": s.n, "fresh": s.p, "train": s.p}
    pool = centred(s.data, s.words)
    sets = [datasets.split(pool, list(sizes.values()), seed=seed) for seed in draw_seeds("train", seeds)]
    return {name: _stack([parts[i] for parts in sets], dtype) for i, name in enumerate(sizes)}


def draw_points(s: StripeKernels | Course, seeds: list[int]) -> dict[str, Task]:
    """The same sets of the stripe, each a draw of its own; ``train`` and ``fresh`` those of chapter 1."""
    sets = {
        "test": draw_task(s, "test", s.test, seeds),
        "points": draw_task(s, "pairs", s.n, seeds),
        "fresh": draw_task(s, "fresh", s.p, seeds),
        "train": draw_task(s, "train", s.p, seeds),
    }
    return {name: task.to(dtype=torch.float64) for name, task in sets.items()}


def convolutional_networks(s: ImageKernels | Course, seeds: list[int]) -> Convolutional:
    """Paper A's network, one for each seed."""
    side = round(centred(s.data, s.words).x.shape[-1] ** 0.5)
    drawn = draw_seeds("weights", seeds, size=s.h)
    return convolutional(s.h, seeds=drawn, shape=(1, side, side), device="auto").to(dtype=torch.float32)


def descend(s: ImageKernels | Course, model: Model, train: Task, how: str) -> Iterator[State]:
    """Training of a network on images: paper A's descent with momentum, or implicit steps to where the flow leads.

    Source: paper A, Fig. 9 (its code): soft hinge, a momentum of the memory ``τ = h``.
    """
    common = {"alpha": s.alpha, "loss": losses.soft_hinge(s.softness)}
    if how == "momentum":
        bounds = {"max_turn": s.max_turn, "max_move": s.max_move}
        memory = {"method": "momentum", "tau": float(s.h), "centred": True}
        return optimise(model, train.x, train.y, **memory, **bounds, **common)
    return gauss_newton(model, train.x, train.y, rule="settle", **common)


def _frozen(model: Model, train: Task, test: Task, **options: Any) -> Lazy:
    """Learning with the model's kernel: in float64, since in float32 one of few features seems to have many."""
    double = torch.float64
    return lazy(model.to(dtype=double), train.to(dtype=double), test.to(dtype=double), memory=MEMORY, **options)


def frozen_error(model: Model, train: Task, test: Task, e: int) -> dict[str, Any]:
    """The ``error`` of the realisation ``e`` that learns with the model's kernel frozen, and how that ``ended``."""
    train, test = (Task(task.x[e : e + 1], task.y[e : e + 1], task.source) for task in (train, test))
    learnt = _frozen(model, train, test, ridge=RIDGE)
    return {"error": float(learnt.error[0]), "ended": learnt.ended[0]}


def _observed(model: Model, start: bool, panels: bool, sets: dict[str, Task], kind: str) -> Rows:
    """Rows of one realisation: the full kernel and the last layer's at its weights, on fresh data."""
    train = sets["train" if start else "fresh"]
    points = sets["points"]
    rows = []
    for kernel, params in {"full": None, "last": LAST[kind]}.items():
        learnt = _frozen(model, train, sets["test"], params=params, ridge=RIDGE)
        row = {"kernel": kernel, "error": float(learnt.error[0]), "ended": learnt.ended[0], "source": points.source}
        if panels:
            gram = ntk(model, points.x, params=params).double()
            sizes = sorted({points.y.shape[-1] // part for part in DISTANCES})
            columns, _ = _component_columns(gram, points.y)
            row |= columns | {"distances": float(distance_dimension(gram, sizes)[0])}
        rows.append(row)
    return rows


def _component_columns(gram: Tensor, y: Tensor, before: Tensor | None = None) -> tuple[dict[str, Any], Tensor]:
    """What the components tell of one realisation, of the kernel as it is and centred; and the centred ones.

    Signs of the centred components are the nearest to those ``before``. On the CPU: most of it is scipy's.
    """
    gram, y = gram.cpu(), y.cpu()
    plain = diagnose(gram, y, centred=False, estimate=paper_a_information)
    centred_kernel = diagnose(gram, y, centred=True, estimate=paper_a_information)
    vectors = centred_kernel.vectors[0]
    if before is not None:
        vectors = vectors * torch.where((vectors * before).sum(0) < 0, -1.0, 1.0)
    columns = _diagnosis_columns(plain) | _diagnosis_columns(centred_kernel, "_centred")
    columns["plane"] = _plane(plain.vectors[0])
    columns["plane_centred"] = _plane(vectors)
    columns["labels"] = y[0, :PICTURE_POINTS].tolist()
    return columns, vectors


def _diagnosis_columns(diagnosis: Diagnosis, ending: str = "") -> dict[str, Any]:
    """The numbers of the first realisation's diagnosis."""
    lists = {name: getattr(diagnosis, name)[0].tolist() for name in ("values", "information", "projections")}
    single = {name: float(getattr(diagnosis, name)[0]) for name in ("dimension", "alignment", "norm", "separable")}
    return {f"{name}{ending}": value for name, value in (lists | single).items()}


def _plane(vectors: Tensor) -> list[list[float]]:
    """The first two components of the points that are kept to be drawn."""
    return vectors[:PICTURE_POINTS, :2].double().numpy().round(4).tolist()


def _numbered(seeds: Sequence[int], rows: list[Rows]) -> Rows:
    """The rows of all realisations with their seeds, without the points that only the first one shows."""
    numbered = []
    for seed, seed_rows in zip(seeds, rows, strict=True):
        left_out = () if draws.is_first(seed) else PICTURE_COLUMNS
        for row in seed_rows:
            columns = {name: value for name, value in row.items() if name not in left_out}
            numbered.append({"seed": seed} | columns)
    return numbered


def _moments(path: Trajectory, stops: list[float]) -> dict[str, dict[int, Model]]:
    """Models of each realisation at the start, at the satisfied fractions, and at the end."""
    realisations = range(len(path.ended))
    moments = {"start": {e: path.initial[e : e + 1] for e in realisations}}
    for stop in stops:
        reached = path.events[f"{stop:g}"]
        moments[f"{stop:g}"] = {e: state.model for e, state in reached.items()}
    moments["end"] = {e: path.model[e : e + 1] for e in realisations}
    return moments


def _at_moments(path: Trajectory, s: AtStops | ImageCurve, sets: dict[str, Task]) -> list[Rows]:
    """The rows of all moments of a training, one list per realisation, with those of the network itself."""
    on_stripe = isinstance(s, AtStops)
    kind = "stripe" if on_stripe else "images"
    dtype = torch.float64 if on_stripe else torch.float32
    panels = on_stripe or s.panels
    rows: list[Rows] = [[] for _ in path.ended]
    for moment, models in _moments(path, s.stops).items():
        for e, model in models.items():
            model = model.to(dtype=dtype)
            seed_sets = {name: Task(task.x[e : e + 1], task.y[e : e + 1], task.source) for name, task in sets.items()}
            kernel_rows = _observed(model, moment == "start", panels, seed_sets, kind)
            rows[e] += [{"moment": moment} | row for row in kernel_rows]
            if moment != "start":
                start = path.initial[e : e + 1].to(dtype=dtype)
                test = seed_sets["test"]
                F = model(test.x) - start(test.x)
                row = {"kernel": "network", "moment": moment, "error": float(wrong(F, test.y))}
                rows[e].append(row | {"ended": str(path.ended[e].kind), "source": test.source})
    return rows


@study(
    version=3,
    columns=statistical_columns(*DIAGNOSED, *SECTOR_COLUMNS),
    nonfinite=(*DIAGNOSED, *SECTOR_COLUMNS),
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    **ON_STRIPE,
)
def stripes(s: ManyPoints, seeds: list[int]) -> Rows:
    """Kernels of the one-hidden-layer network on the stripe, before and after training; one row per kernel and moment.

    ``kernel``: ``full`` or ``last`` (the last layer's); ``moment``: ``start``, a satisfied fraction of the training
    points, ``end`` (zero loss). On ``n`` points that trained nothing: ``values``, ``information``, ``projections`` of
    ten components, ``dimension``, ``alignment``, ``norm``, ``separable`` (``regimes.measures.kernel_pca``),
    ``distances`` (dimension by nearest neighbours); ``plane`` and ``labels`` of some points, at seed 0. ``error``: of
    learning with that kernel frozen and a ridge of ``RIDGE``, after training on a training set of its own; ``ended``:
    how, "zero loss" being that of margins with the ridge (``training.kernel_flow``). Names that end in ``_centred``: of
    the kernel of centred features. ``kernel = "network"``: its own ``error``.
    The full kernel's rows have, on ``many`` points, ``kinds``, shares of the even and the odd sector in each
    component, and ``separable_many``; ``departure`` from ``Θ_1 + Θ_2 x_⊥·z_⊥`` and ``amplification`` Λ.

    Source: paper A, Fig. 10 a, b, Fig. 11 and App. D.
    """
    sets = draw_points(s, seeds)
    many = draw_task(s, "test", s.many, seeds).to(dtype=torch.float64)
    path = _train_on_stripe(s, seeds, sets["train"])
    rows = _at_moments(path, s, sets)
    moments = _moments(path, s.stops)
    for e, seed_rows in enumerate(rows):
        x, y = many.x[e], many.y[e]
        for row in seed_rows:
            if row["kernel"] != "full":
                continue
            network = moments[row["moment"]][e].to(dtype=torch.float64)
            vectors = tangent_components(network, x, COUNT).vectors[0].cpu()
            row["kinds"] = sectors.sector_shares(vectors, x.cpu()).tolist()
            row["separable_many"] = separable(vectors[:, :2], y.cpu())
            row["departure"] = float(sectors.relative_residual(network, sets["points"].x[e]))
            row["amplification"] = float(amplification(network.omega, 1))
    return _numbered(seeds, rows)


def _train_on_stripe(s: AtStops, seeds: list[int], train: Task) -> Trajectory:
    """Training on the stripe to zero loss, with events at the satisfied fractions."""
    flow = gradient_flow(networks_of(s, seeds), train, alpha=s.alpha, tolerance=s.tolerance)
    return run(flow, events={f"{stop:g}": satisfied(stop) for stop in s.stops})


@study(version=1, columns=dict.fromkeys(("kinds", "norms"), STATISTICAL), **ON_STRIPE)
def stripe_spectra(s: ManyPoints, seeds: list[int]) -> Rows:
    """Sectors of the first ``2(d + 1)`` components of the stripe's kernel, and norms of the label; one row per moment.

    The first ``d + 1`` of an isotropic kernel, the constant and linear functions, are even or odd (``kinds``: shares
    of either sector); of its second harmonics, which follow, ``d`` in ``d(d + 1)/2 - 1`` are. ``norms``:
    ``least_norms`` at each of ``SQUARE_DISTANCES``, on ``n`` points. Networks, moments and points are those of
    ``stripes``.

    Source: paper A, App. D and Sec. 6.
    """
    sets = draw_points(s, seeds)
    points = sets["points"]
    many = draw_task(s, "test", s.many, seeds).x.double()
    path = _train_on_stripe(s, seeds, sets["train"])
    rows = []
    for moment, models in _moments(path, s.stops).items():
        for e, model in models.items():
            network = model.to(dtype=torch.float64)
            vectors = tangent_components(network, many[e], 2 * (s.d + 1)).vectors[0].cpu()
            row = {"seed": seeds[e], "moment": moment, "source": points.source}
            row["kinds"] = sectors.sector_shares(vectors, many[e].cpu()).tolist()
            gram = ntk(network, points.x[e])[0].cpu()
            row["norms"] = least_norms(gram, points.y[e].cpu(), SQUARE_DISTANCES)
            rows.append(row)
    return rows


@study(version=1, columns=dict.fromkeys(("norms", "span", "own"), STATISTICAL), nonfinite=["norms"], **ON_STRIPE)
def stripe_norms(s: AtStops, seeds: list[int]) -> Rows:
    """Norms in the stripe's kernel of functions with a given hinge loss, and what the kernel spans; one row per moment.

    ``norms``: ``hinge_norms`` at each of ``LOSSES``, then at the trained network's loss (NaN out of its range).
    ``span``: how many eigenvalues of the Gram matrix exceed ``FLOOR`` of its trace, and the part of the label that
    their components leave. ``own``: the network's hinge loss, its square distance from the label at the best scale.
    Networks, moments and ``n`` points are those of ``stripes``.

    Source: paper A, Sec. 6.
    """
    sets = draw_points(s, seeds)
    points = sets["points"]
    path = _train_on_stripe(s, seeds, sets["train"])
    margins = (points.y * s.alpha * (path.model(points.x) - path.initial(points.x))).double().cpu()
    hinge = (1 - margins).clamp(min=0).mean(-1)
    distance = 1 - margins.mean(-1) ** 2 / margins.square().mean(-1)
    rows = []
    for moment, models in _moments(path, s.stops).items():
        for e, model in models.items():
            gram = ntk(model.to(dtype=torch.float64), points.x[e])[0].cpu()
            y = points.y[e].double().cpu()
            values, vectors = torch.linalg.eigh(gram / gram.trace())
            inside = values > FLOOR
            explained = (vectors[:, inside].mT @ y).square().sum() / len(y)
            last = float(hinge[e])
            norms = hinge_norms(gram, y, [*LOSSES, last] if 0.01 < last < 0.99 else LOSSES)
            norms += [np.nan] * (len(LOSSES) + 1 - len(norms))
            row = {"seed": seeds[e], "moment": moment, "source": points.source, "own": [last, float(distance[e])]}
            row["span"] = [int(inside.sum()), float(1 - explained)]
            rows.append(row | {"norms": norms})
    return rows


@study(version=1, columns=dict.fromkeys(("one", "two"), STATISTICAL), **ON_STRIPE)
def stripe_lines(s: StripeKernels, seeds: list[int]) -> Rows:
    """What one component of a trained network's kernel tells of the stripe, and what two do; one row per ``kernel``.

    ``one``: the share of new points on the right side of the best threshold of the first centred component; ``two``: of
    the best line in the plane of the first two. Networks and ``n`` points are those of ``stripes``, at the end.

    Source: paper A, Fig. 11, caption, (3).
    """
    sets = draw_points(s, seeds)
    points = sets["points"]
    path = run(gradient_flow(networks_of(s, seeds), sets["train"], alpha=s.alpha, tolerance=s.tolerance))
    rows = []
    for e, seed in enumerate(seeds):
        network = path.model[e : e + 1].to(dtype=torch.float64)
        y = points.y[e].cpu()
        for kernel, params in {"full": None, "last": LAST["stripe"]}.items():
            gram = ntk(network, points.x[e], params=params).cpu()
            vectors = diagnose(gram, points.y[e : e + 1].cpu(), centred=True, estimate=paper_a_information).vectors[0]
            first = torch.stack([vectors[:, 0], torch.zeros_like(vectors[:, 0])], -1)
            row = {"seed": seed, "kernel": kernel, "source": points.source}
            rows.append(row | {"one": separable(first, y), "two": separable(vectors[:, :2], y)})
    return rows


@study(
    version=3,
    chunk=TOGETHER,
    rtol=2e-2,
    device="any",
    columns=statistical_columns("distances", *DIAGNOSED),
    nonfinite=("distances", *DIAGNOSED),
)
def image_curves(s: ImageCurve, seeds: list[int]) -> Rows:
    """Paper A's convolutional network on images at one size ``p``: rows as in ``stripes``, without the sectors.

    The components at the largest size alone (``panels``). Errors of the network, and of its full and last-layer kernels
    at the start, at satisfied fractions and at the end.

    Source: paper A, Fig. 9, 10 c, d and 11; paper B, Fig. 9 and 11.
    """
    sets = draw_images(s, seeds)
    model = convolutional_networks(s, seeds)
    events = {f"{stop:g}": satisfied(stop) for stop in s.stops}
    path = run(descend(s, model, sets["train"], s.descent), events=events)
    return _numbered(seeds, _at_moments(path, s, sets))


@study(
    version=2,
    rtol=2e-2,
    device="any",
    columns=statistical_columns(*DIAGNOSED, "t", "satisfied", "loss", "network"),
    nonfinite=PICTURE_COLUMNS,
)
def kernel_along_training(s: Course, seeds: list[int]) -> Rows:
    """The full kernel along training, at some of the solver's steps; one row per ``frame``.

    ``t``, ``satisfied``, ``loss``; as in ``stripes`` what the kernel's components on fresh points tell, the ``error``
    of learning with it frozen; ``network``: the test error of the network then. Signs of the components in
    ``plane_centred`` follow those of the frame before.

    Source: paper A, Sec. 5.2; the time course is not in the paper.
    """
    rows = []
    for seed in seeds:
        sets = draw_points(s, [seed]) if s.shape == "stripe" else draw_images(s, [seed])
        path = _path(s, seed, sets["train"])
        indices = sorted(set(np.linspace(0, len(path) - 1, s.frames).round().astype(int).tolist()))
        seed_rows = []
        vectors = None
        for frame, i in enumerate(indices):
            row, vectors = _frame(path[i], path[0].model, sets, vectors)
            row["frame"] = frame
            if s.shape == "stripe":
                row["source"] = DRAWN
            seed_rows.append(row)
        rows.append(seed_rows)
    return _numbered(seeds, rows)


def _path(s: Course, seed: int, train: Task) -> list[Snapshot]:
    """All states of a training."""
    if s.shape == "stripe":
        flow = gradient_flow(networks_of(s, [seed]), train, alpha=s.alpha, tolerance=s.tolerance)
    else:
        flow = descend(s, convolutional_networks(s, [seed]), train, s.descent)
    return run(flow, save=snapshot).saved[0]


def _frame(
    state: Snapshot, start: Model, sets: dict[str, Task], before: Tensor | None
) -> tuple[dict[str, Any], Tensor]:
    """The row of one state, and its centred components, with the signs that are nearest to those before."""
    points, test = sets["points"], sets["test"]
    model = state.model.to(dtype=points.x.dtype)
    start = start.to(dtype=points.x.dtype)
    columns, vectors = _component_columns(ntk(model, points.x), points.y, before)
    learnt = _frozen(model, sets["fresh"], test)
    row = {
        "t": state.t,
        "satisfied": state.satisfied,
        "loss": state.loss,
        "error": float(learnt.error[0]),
        "ended": learnt.ended[0],
        "network": float(wrong(model(test.x) - start(test.x), test.y)[0]),
        "source": points.source,
    }
    return row | columns, vectors


@study(version=1, seeds=Count[2, 1000], chunk=20, data=SYNTHETIC, nonfinite=["nearest"])
def estimators(s: Estimated, seeds: list[int]) -> Rows:
    """Estimates of mutual information beside the ``exact`` one: ``estimate`` (paper A's text), ``code``, ``nearest``.

    ``code``: a point counts among its own neighbours, as in paper A's code. ``nearest``: scikit-learn's estimator
    (Kraskov et al.; Ross), one dimension alone. Cases of one dimension: two Gaussians ``x = y s + z`` (``null``,
    ``near``, ``apart``), a Gaussian coordinate of the stripe at an angle (``oblique``) or along its axis (``stripe``),
    the sign of a uniform variable (``sharp``). ``filled``: two Gaussians in ``d`` dimensions, apart along one.
    ``line``: those on a line in ``d`` dimensions.

    Source: paper A, App. E.
    """
    from sklearn.feature_selection import mutual_info_classif

    k = s.neighbours
    rows = []
    for seed in seeds:
        rng = np.random.default_rng(draw_seeds("pairs", [seed], size=s.n)[0])
        x, y, exact = _case(s.case, s.n, s.d, rng)
        row = {"seed": seed, "exact": exact}
        row["estimate"] = paper_a_information(x, y, neighbours=k, counts_itself=False)
        row["code"] = paper_a_information(x, y, neighbours=k, counts_itself=True)
        if s.d == 1:
            nats = mutual_info_classif(x.numpy()[:, None], y.numpy(), n_neighbors=k, random_state=0)
            row["nearest"] = float(nats[0] / np.log(2))
        rows.append(row)
    return rows


def _case(case: str, n: int, d: int, rng: np.random.Generator) -> tuple[Tensor, Tensor, float]:
    """Points, labels and the exact information in bits."""
    y = np.where(rng.permutation(n) % 2, 1.0, -1.0)
    if case in SHIFTS:
        x = y * SHIFTS[case] + rng.standard_normal(n)
        exact = information.shifted_gaussians(SHIFTS[case])
    elif case == "sharp":
        x = y * rng.random(n)
        exact = 1.0
    elif case in ("oblique", "stripe"):
        along = rng.standard_normal(n)
        cosine = 0.9 if case == "oblique" else 1.0
        y = np.where((along > STRIPE[0]) & (along < STRIPE[1]), -1.0, 1.0)
        x = cosine * along + (1 - cosine**2) ** 0.5 * rng.standard_normal(n)
        exact = information.stripe_information(cosine)
    else:
        x = rng.standard_normal((n, d))
        exact = information.shifted_gaussians(SHIFTS["apart"])
        x[:, 0] += y * SHIFTS["apart"]
        if case == "line":
            x = x[:, :1] * np.full(d, d**-0.5)
    return torch.from_numpy(x), torch.from_numpy(y), exact
