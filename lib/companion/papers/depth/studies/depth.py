"""Chapter 5: the normalised kernel against depth, what it predicts, and what a finite width changes."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from scipy.interpolate import CubicSpline

from companion.lab.record import Count, Distinct, Each, Increasing, Number, Positive, Setting, Share, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.depth.studies._clouds import (
    POINTS,
    Cloud,
    CloudOrImages,
    Corpus,
    Dimensions,
    clouds,
    corpus_identity,
    images_on_sphere,
    points_fit,
    relative_distance,
)
from companion.papers.depth.theory import (
    curves,
    deep_limit,
    embedding,
    hidden_motion,
    last_layer,
    pairs,
    rate,
    regression,
    sigmoid_kernel,
    spectrum,
    universality,
)
from regimes import devices, validate
from regimes.data import datasets
from regimes.data.tasks import Task, gaussian_points
from regimes.kernels import infinite_ntk, relu_recursion
from regimes.seeds import draw_seeds
from regimes.validate import InputError

CHAPTER = "05"
BYTES_PER_ENTRY = 32  # four float64: a kernel and what is made of it
TABLE_2 = 30  # the depth of paper C's Table 2: measured whatever else a reader asks for, as are those of
FIGURE_7 = (5, 30)  # its sentence on Fig. 7
PREDICTOR_DEPTHS = (30, 1_000_000)  # depths at which the deep predictor is judged
OPERATOR_DEPTHS = (30, 10_000)  # those at which operators are
EXACT = "none, the kernel is a function of one correlation"
REALISATIONS = Count[2, 1000]
WIDE_AS = 16  # neurons of the last hidden layer at which both readouts are the same
LEARNT = 1e-3  # residual at which it counts as trained
SMOOTH = 0.15  # width of the Gaussian kernel
LAYERS = {
    "ReLU": universality.kinked(),
    "leaky ReLU, slope 0.2": universality.kinked(0.2),
    "absolute value": universality.kinked(-1.0),
    "residual, share 1/2": universality.kinked(share=0.5),
    "tanh": universality.smooth("tanh"),
    "erf": universality.smooth("erf"),
    "swish": universality.smooth("swish"),
    "quadratic": universality.smooth("quadratic"),
}
LAYER_NAMES = (*LAYERS, "residual, share 1/L")

Few = Count[2, 1000]
Some = Count[3, 100_000]
Several = Count[10, 100_000]
Depths = Increasing[Count]


@record
class PairAlongDepth(Setting):
    """A pair of points of correlation ``rho``, down to the depth ``depth_max``."""

    rho: Number[-1, 0.999999]
    depth_max: Count[1000, 10_000_000]


@record
class EvenGrid(Setting):
    """An even grid of so many ``points``."""

    points: Some


@record
class OtherLayer(Setting):
    """Networks of a ``layer``, down to the depth ``depth_max``."""

    layer: Literal[*LAYER_NAMES]
    depth_max: Count[10, 1_000_000]


@record
class ImageSplit(Setting):
    """Disjoint images to learn, ``n``, and to ``test`` on, and the ``depths`` of the networks.

    Attributes:
        corpus: whose images; with ``data``, which tells it from others of its name.
    """

    corpus: Corpus
    data: str = derived()
    n: Several
    test: Several
    depths: Depths

    always: ClassVar[tuple[int, ...]] = (TABLE_2,)  # of the depths, whatever a reader asks for

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, if these and the memory suffice, and the depths that are always measured."""
        n, test = self.n, self.test
        validate.memory(BYTES_PER_ENTRY * n * max(n, test), f"n = {n} with test = {test}")
        words = corpus_identity(self.corpus, "n + test", n + test)
        return replace(self, data=words, depths=sorted({*self.always, *self.depths}))


@record
class DeepSplit(ImageSplit):
    """Images and depths, the ``classes`` in equal parts or as they are drawn."""

    classes: Literal["balanced", "drawn"]

    always = PREDICTOR_DEPTHS


@record
class LayerSplit(ImageSplit):
    """Images and depths of networks of a ``layer``."""

    layer: Literal[*LAYERS]

    always = ()


@record
class CloudSize(Cloud):
    """``n`` points of a cloud."""

    n: Some

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the points."""
        points_fit(self.n, self.n0)
        return self


@record
class CloudDepths(Cloud):
    """``n`` points of a cloud, and the ``depths`` of kernels whose smallest eigenvalue is looked for."""

    n: Count[2, 1_000_000]
    depths: Depths

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the depths of Fig. 7; memory holds what an eigenvalue takes."""
        points_fit(self.n, self.n0, spectrum.eigenvalue_bytes(self.n))
        return replace(self, depths=sorted({*FIGURE_7, *self.depths}))


@record
class CloudOperators(Cloud):
    """``n`` points of a cloud, and the ``depths`` of operators."""

    n: Each[Distinct[Count[2, 100_000], 2]]
    depths: Depths

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the depths at which they are judged; memory holds a kernel."""
        points_fit(self.n, self.n0, BYTES_PER_ENTRY * self.n**2)
        return replace(self, depths=sorted({*OPERATOR_DEPTHS, *self.depths}))


@record
class FollowedPoints(CloudOrImages):
    """``points`` and a fresh one, down to the depth ``depth_max``."""

    points: Count[2, 200]
    depth_max: Few

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, which must suffice."""
        return replace(self, data=self._words("points + 1", self.points + 1))


@record
class FreshPoints(CloudOrImages):
    """``n`` points, and ``fresh`` ones."""

    n: Count[2, 100_000]
    fresh: Count[10_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, if these and the memory suffice."""
        points_fit(self.n, self.n0, BYTES_PER_ENTRY * self.n**2)
        return replace(self, data=self._words("n + fresh", self.n + self.fresh))


@record
class MatrixAlongDepth(CloudOrImages):
    """``n`` points, and the ``depths`` of kernels."""

    n: Some
    depths: Increasing[Count, 2]

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, if these and the memory suffice."""
        points_fit(self.n, self.n0, BYTES_PER_ENTRY * self.n**2)
        return replace(self, data=self._words("n", self.n))


@record
class SizeOverDepth(CloudOrImages):
    """``n`` points to learn and others to ``test`` on, and networks of the depth ``n/ratio``."""

    n: Several
    ratio: Positive
    test: Several

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, if these and the memory suffice."""
        n, n0, test = self.n, self.n0, self.test
        validate.memory(
            BYTES_PER_ENTRY * n * max(n, test) + POINTS * n * n0, f"n = {n} with test = {test} with n0 = {n0}"
        )
        return replace(self, data=self._words("n + test", n + test))


@record
class SphereDraws(Setting):
    """Draws of ``n`` points of the sphere of ``n0`` dimensions, of which a pair may be within ``delta``.

    Attributes:
        measure: what ``delta`` is of: the angle, or 1 less the inner product.
    """

    n: Some
    n0: Dimensions
    delta: Share
    measure: Literal["inner product", "angle"]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the points."""
        points_fit(self.n, self.n0)
        return self


@record
class SpherePoints(Setting):
    """``n`` points of the sphere of ``n0`` dimensions."""

    n: Few
    n0: Dimensions


@record
class NearDuplicates(SpherePoints):
    """Points of the sphere, each with another at the angle ``gap``, and the ``depths`` of networks."""

    gap: Positive[1]
    depths: Depths


@record
class WithBias(SpherePoints):
    """Points of the sphere, and networks with biases of this size."""

    bias: Number[0, 100]


@record
class Colinear(Setting):
    """``n`` Gaussian points of ``n0`` dimensions, each with its double, and the ``depth`` of a network."""

    n: Few
    n0: Dimensions
    depth: Few


@record
class TextTraining(Setting):
    """Networks of two hidden layers of a ``width`` that learn a text.

    Attributes:
        rate: of a step; without one that of :func:`companion.papers.depth.theory.hidden_motion.learn`.
        targets: what is learnt: a token's distribution of next words, the likeliest of them, or zero.
        looks: numbers of steps after which they are measured.
        vocabulary: words of the text.
    """

    optimiser: Literal["gd", "adam"]
    parametrisation: Literal["ntk", "standard"]
    rate: Positive[1000] | None = None
    targets: Literal["bigrams", "words", "zero"]
    looks: Increasing[Count[10_000]]
    text: Literal[*datasets.CORPORA]
    vocabulary: Count[2, 100_000]
    dtype: Literal["float32", "float64"]
    width: Each[Distinct[Count[100_000], 2]]

    def completed(self, seeds: Sequence[int]) -> Self:
        """Its text has as many words, and memory holds the network."""
        h, v, text = self.width, self.vocabulary, self.text
        try:
            words = _words(text)
        except InputError as error:
            raise InputError(f"text {text} cannot be used: {error}") from None
        if v > words:
            raise InputError(f"vocabulary must be at most {words}, the words of text {text}, got {v}")
        validate.memory(24 * (h * (h + 2 * v) + v * v), f"width = {h} with vocabulary = {v}")
        return self

    def entries(self) -> dict[str, Any]:
        """Its values by name; its cells are known by a rate of ``None`` where it has none of its own."""
        return super().entries() | {"rate": self.rate}


@record
class LastLayer(Setting):
    """Networks of a ``depth`` whose last hidden layer alone has a ``width``; ``n`` points to learn, and ``fresh`` ones.

    Attributes:
        readout: how the output depends on the width of the layer.
        networks: how many more to draw over the same points, for the spread of what the first does.
    """

    n0: Count[3, 1000]
    n: Count[3, 500]
    fresh: Count[3, 500]
    depth: Count[2, 100]
    width: Each[Distinct[Count[WIDE_AS, 1_000_000], 2]]
    readout: Literal["NTK", "mean field"]
    networks: Count[2, 1000] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the layer."""
        validate.memory(100 * (self.n + self.fresh) * self.width, f"width = {self.width}")
        return self


@record
class NoisyLabels(Setting):
    """``n`` points of a sphere with noisy labels, ``fresh`` ones, and the ``depth`` of a network.

    Attributes:
        time: at which training stops; without one it does not.
        kernel: a control, a smooth kernel in place of the tangent kernel.
        observe: how fast a prediction varies with its input, too.
    """

    n0: Count[3, 1000]
    n: Each[Distinct[Count[10, 20_000], 2]]
    fresh: Count[10, 10_000]
    depth: Count[2, 1000]
    time: Positive | None = None
    kernel: Literal["Gaussian"] | None = None
    observe: Literal["slope"] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """Memory holds the kernels; slopes are those of the tangent kernel without stopping."""
        if self.observe and (self.kernel or self.time):
            raise InputError("the slope is one of the tangent kernel without stopping: leave out kernel and time")
        validate.memory(BYTES_PER_ENTRY * self.n * (self.n + self.fresh), f"n = {self.n} with fresh = {self.fresh}")
        return self


@functools.cache
def _words(text: str) -> int:
    """How many different words a text holds."""
    return len(set(datasets.corpus(text).text.split()))


@study(version=1, data=EXACT, columns={"kernel": (1e-6, 1e-12)})
def normalised_kernel(s: PairAlongDepth, seeds: list[int]) -> Rows:
    """The kernel of one pair against depth: ``kernel``, ``gap = 1 - rho^(L)``, ``offset`` c, ``predicted`` excess.

    Depths are eight a decade, with the last one's neighbour and tenth. Source: paper C, Prop. 5 and Theorem 2.
    """
    deepest = s.depth_max
    phi = torch.acos(torch.tensor(s.rho, dtype=torch.float64))
    spaced = {int(d) for d in np.geomspace(1, deepest, 1 + round(8 * np.log10(deepest)))}
    depths = sorted({*range(1, 31), *spaced, deepest // 10, deepest - 1, deepest})
    offset = relu_recursion.offset(phi)
    rows = []
    for depth, kernel, gap in zip(depths, *relu_recursion.along_depth(phi, depths)):
        row = {
            "seed": seeds[0],
            "depth": depth,
            "kernel": float(kernel),
            "gap": float(gap),
            "offset": float(offset),
            "predicted": float(rate.predicted_excess(offset, depth)),
        }
        rows.append(row)
    return rows


@study(
    version=1,
    data=EXACT,
    columns={"z": (1e-6, 1e-12)},  # zero but for round-off
)
def layer_map(s: EvenGrid, seeds: list[int]) -> Rows:
    """``h(z)`` on an even grid of [-1, 1]. Source: paper C, Definition 5 and Fig. 3."""
    z = torch.linspace(-1, 1, s.points, dtype=torch.float64)
    return [{"seed": seeds[0], "z": float(a), "h": float(b)} for a, b in zip(z, rate.correlation_map(z))]


@study(version=2)
def mnist_regression(s: ImageSplit, seeds: list[int]) -> Rows:
    """One-hot regression from ``f_0 = 0`` to infinite time on disjoint stratified splits, one per seed.

    Rows hold ``accuracy``, macro ``f1``, ``mse`` (squared residual norm a point) and ``residual`` (its mean norm)
    for each depth. Source: paper C, Tab. 2.
    """
    return _scores(s, seeds, balanced=True)


def _scores(s: ImageSplit, seeds: list[int], *, balanced: bool) -> Rows:
    """What a kernel of each depth learns of one-hot targets, on one split per seed."""
    rows = []
    for seed, train, test in _splits(s, seeds, balanced=balanced):
        y = _one_hot(train)
        target = _one_hot(test)
        for layers in s.depths:
            f = regression.kernel_flow_prediction(*_kernels(train.x, test.x, layers), y)
            row = {
                "seed": seed,
                "depth": layers,
                "source": train.source,
                "accuracy": regression.accuracy(f, test.y),
                "f1": regression.macro_f1(f, test.y),
                "mse": float((f - target).square().sum(-1).mean()),
                "residual": float((f - target).norm(dim=-1).mean()),
            }
            rows.append(row)
    return rows


def _splits(s: ImageSplit, seeds: list[int], *, balanced: bool) -> Iterator[tuple[int, Task, Task]]:
    """Training and test images of each seed, the classes in equal parts or as they come."""
    pool = images_on_sphere(s.corpus)
    sizes = [s.n, s.test]
    for seed, draw in zip(seeds, draw_seeds("train", seeds)):
        if balanced:
            train, test = datasets.split(pool, sizes, seed=draw)
        else:
            order = torch.from_numpy(np.random.default_rng(draw).permutation(len(pool.y))[: sum(sizes)])
            parts = order.split(sizes)
            train, test = (replace(pool, x=pool.x[part], y=pool.y[part], classes=None) for part in parts)
        yield seed, replace(train, source=pool.source), replace(test, source=pool.source)


def _one_hot(task: Task) -> torch.Tensor:
    return torch.nn.functional.one_hot(task.y.long(), 10).double()


def _kernels(x: torch.Tensor, test_x: torch.Tensor, depth: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the training points, and between fresh ones and them."""
    return infinite_ntk(x, depth=depth), infinite_ntk(test_x, x, depth=depth)


@study(version=2)
def trajectories(s: FollowedPoints, seeds: list[int]) -> Rows:
    """Three kernels along depth on a few points: the values of all pairs, of one fresh point, and of the diagonal.

    Each row is one kernel at one depth: ``pair``, ``fresh`` and ``same`` are lists. Source: paper C, Figs. 4 and 5.
    """
    rows = []
    for x, start in clouds(s.cloud, s.n0, s.points + 1, seeds, s.corpus):
        n = s.points
        correlations = x @ x.mT
        i, j = torch.triu_indices(n, n, 1)
        groups = {"pair": correlations[i, j], "fresh": correlations[n, :n], "same": torch.ones(1).double()}
        depths = range(1, s.depth_max + 1)
        paths = {name: _along_depth(rho, depths) for name, rho in groups.items()}
        for i, depth in enumerate(depths):
            for kernel in ("theta", "rho", "eta"):
                values = {name: path[kernel][i].tolist() for name, path in paths.items()}
                rows.append(start | {"depth": depth, "kernel": kernel, **values})
    return rows


def _along_depth(rho: torch.Tensor, depths: range) -> dict[str, torch.Tensor]:
    """Three kernels, each ``(len(depths), n)``."""
    theta, gap = relu_recursion.along_depth(torch.acos(rho.clamp(-1, 1)), depths)
    eta = torch.stack([sigmoid_kernel.eta(rho, depth) for depth in depths])
    return {"theta": theta, "rho": 1 - gap, "eta": eta}


@study(version=3)
def projection_norm(s: FreshPoints, seeds: list[int]) -> Rows:
    """The norm of the projection operator at the depth and times of Theorem 3, mean over fresh points.

    ``early`` at ``t = 1``, the first of Fig. 6's times after 0; ``norm`` at the last, ``t = ⌈1/λ_n⌉``; ``forever`` at
    infinite time. Source: paper C, Fig. 6.
    """
    n = s.n
    rows = []
    for x, start in clouds(s.cloud, s.n0, n + s.fresh, seeds, s.corpus):
        pairs.needs_distinct(x[:n])
        depth = max(2, math.ceil(pairs.separation_depth(pairs.largest_correlation(x[:n]))))
        gram, cross = _kernels(x[:n], x[n:], depth)
        smallest = float(torch.linalg.eigvalsh(gram)[0])
        times = {"early": 1, "norm": math.ceil(1 / smallest), "forever": math.inf}
        norms = spectrum.operators(gram, cross, list(times.values())).norm(dim=-1).mean(-1)
        norm_at_times = {name: float(norm) for name, norm in zip(times, norms)}
        rows.append({**start, "depth": depth, "smallest": smallest, **norm_at_times})
    return rows


@study(version=2, columns={"smallest": (1e-6, 1e-12)})  # where it is zero there is round-off
def smallest_eigenvalue(s: CloudDepths, seeds: list[int]) -> Rows:
    """The smallest eigenvalue against depth; the points of a smaller ``n`` are the first of a larger one.

    ``gigabytes`` is the memory that was stated before it ran. Source: paper C, Fig. 7.
    """
    stated = spectrum.eigenvalue_bytes(s.n) / 2**30
    return [
        start | {"depth": depth, "smallest": spectrum.smallest_kernel_eigenvalue(x, depth=depth), "gigabytes": stated}
        for x, start in clouds(s.cloud, s.n0, s.n, seeds)
        for depth in s.depths
    ]


@study(version=2)
def depth_bound(s: CloudSize, seeds: list[int]) -> Rows:
    """``max_ij 1/√(1 - h(x_i·x_j))``, and its median by the law of the closest pair. Source: paper C, Fig. 8."""
    median = pairs.separation_depth(pairs.closest_quantile(s.n, s.n0, 0.5))
    return [
        start | {"bound": pairs.separation_depth(pairs.largest_correlation(x)), "median": median}
        for x, start in clouds(s.cloud, s.n0, s.n, seeds)
    ]


@study(version=2, seeds=Count[100_000], chunk=1000, data="uniform on unit spheres")
def closest_pair(s: SphereDraws, seeds: list[int]) -> Rows:
    """Whether a data set has a pair within ``delta`` (of angle, or of 1 in inner product).

    ``law``: its probability by the exact law of one pair; ``bound``: the paper's. Source: paper C, Prop. 7.
    """
    delta, n, n0 = s.delta, s.n, s.n0
    level = 1 - delta if s.measure == "inner product" else math.cos(delta)
    probability = {"law": pairs.chance_of_pair(n, n0, math.acos(level)), "bound": pairs.pair_bound(n, n0, delta)}
    rows = []
    for seed, draw in zip(seeds, draw_seeds("train", seeds)):
        x = pairs.sphere(n, n0, seed=draw)
        within = pairs.largest_correlation(x) >= level
        rows.append({"seed": seed, "found": float(within), **probability})
    return rows


@study(version=2)
def projectors(s: MatrixAlongDepth, seeds: list[int]) -> Rows:
    """Kernel matrix and limit along depth: distance of the ``projectors``, of the ``matrix`` (over n), mean ``excess``.

    ``sharp`` is the predicted limit of L times the projectors' distance. Source: paper C, Theorem 3 and eq. (4).
    """
    n = s.n
    rows = []
    for x, start in clouds(s.cloud, s.n0, n, seeds, s.corpus):
        sharp = spectrum.row_mean_spread(deep_limit.offsets(x))
        for depth in s.depths:
            gram = infinite_ntk(x, depth=depth)
            row = {
                "depth": depth,
                "sharp": sharp,
                "projectors": spectrum.projector_distance(gram),
                "matrix": spectrum.distance_from_limit(gram) / n,
                "excess": float((gram.sum() - n) / (n * (n - 1)) - 0.25),
            }
            rows.append(start | row)
    return rows


@study(version=3)
def operator_distances(s: CloudOperators, seeds: list[int]) -> Rows:
    """Operators at infinite time for 40 fresh points, two by two, and against that of the limit, ``1/(n + 3)``.

    ``apart``: mean of ``L |op(x) - op(x')|``; ``least`` of them; ``law``: ``apart`` over that of the closed law.
    ``away``: mean ``|f - f̂|`` for random labels ±1; ``worst``: for the labels that make it largest.
    Source: paper C, eq. (5) and Theorem 3 a).
    """
    n = s.n
    rows = []
    for (x, start), labels in zip(clouds(s.cloud, s.n0, n + 40, seeds), draw_seeds("labels", seeds)):
        y = torch.from_numpy(np.random.default_rng(labels).choice([-1.0, 1.0], n))
        offsets = deep_limit.offsets(x[:n]), deep_limit.offsets(x[n:], x[:n])
        for depth in s.depths:
            (op,) = spectrum.operators(*_kernels(x[:n], x[n:], depth), [math.inf])
            distance = depth * _pair_distances(op)
            law = depth * _pair_distances(deep_limit.operator(*offsets, depth))
            from_limit = op - 1 / (n + 3)
            row = {
                "depth": depth,
                "apart": float(distance.mean()),
                "least": float(distance.min()),
                "law": float((distance / law).mean()),
                "away": float((from_limit @ y).abs().mean()),
                "worst": float(from_limit.abs().sum(-1).mean()),
            }
            rows.append(start | row)
    return rows


def _pair_distances(op: torch.Tensor) -> torch.Tensor:
    """Distances of the operators of points 0 and 1, of 2 and 3, and so on."""
    return (op[::2] - op[1::2]).norm(dim=-1)


@study(
    version=3,
    seeds=REALISATIONS,
    columns=dict.fromkeys(("error", "closed", *deep_limit.ORDERS), (1e-4, 1e-9)),  # rounding at depth 10^6: 5e-10
)
def deep_prediction(s: DeepSplit, seeds: list[int]) -> Rows:
    """One-hot regression at many depths against its laws, classes in equal parts or as they are drawn.

    ``error``: distance of the predictor from the closed law, over that of the law from its own mean (Frobenius);
    ``closed``, ``first``, ``uniform``: distances from that law and from ridge regression with the kernel
    ``c`` (``deep_limit.ridge_kernels``), over the predictor's from its own mean; ``accuracy`` of the predictor,
    ``law_accuracy`` and ``ridge_accuracy`` (first order); ``largest``: that of always saying the most frequent class.
    Source: paper C, Sec. 6.4; the laws are derived here.
    """
    rows = []
    for seed, train, test in _splits(s, seeds, balanced=s.classes == "balanced"):
        y = _one_hot(train)
        offsets = deep_limit.offsets(train.x), deep_limit.offsets(test.x, train.x)
        largest = float((test.y == y.sum(0).argmax()).double().mean())
        for layers in s.depths:
            f = regression.kernel_flow_prediction(*_kernels(train.x, test.x, layers), y)
            law = deep_limit.operator(*offsets, layers) @ y
            row = {
                "seed": seed,
                "depth": layers,
                "source": train.source,
                "largest": largest,
                "error": float((f - law).norm() / (law - law.mean(0)).norm()),
                "closed": relative_distance(law, f),
            }
            for order in deep_limit.ORDERS:
                gram, cross = deep_limit.ridge_kernels(*offsets, layers, order)
                ridge = cross @ torch.linalg.solve(gram, y)  # a law's matrix need not be positive
                row[order] = relative_distance(ridge, f)
                if order == "first":
                    row["ridge_accuracy"] = regression.accuracy(ridge, test.y)
            row["accuracy"] = regression.accuracy(f, test.y)
            row["law_accuracy"] = regression.accuracy(law, test.y)
            rows.append(row)
    return rows


@study(version=1, seeds=REALISATIONS, columns={"stop": 1e-4}, nonfinite=("stop",))
def recipe(s: ImageSplit, seeds: list[int]) -> Rows:
    """One-hot regression at the depth and times of the paper's recipe and at others, images as they are drawn.

    Rows are depths, 0 for the recipe's ``⌈max 1/√(1 - h)⌉`` (``layers``): ``accuracy`` at infinite time, ``stopped`` at
    ``⌈1/λ_n⌉``, ``early`` at 1; ``stop``: distance of the predictor at time 1 from the ridge law's (first order),
    ``unstopped`` that from itself at infinite time, both over its variation. Source: paper C, Sec. 6.4.
    """
    rows = []
    for seed, train, test in _splits(s, seeds, balanced=False):
        y = _one_hot(train)
        offsets = deep_limit.offsets(train.x), deep_limit.offsets(test.x, train.x)
        recipe_depth = math.ceil(pairs.separation_depth(pairs.largest_correlation(train.x)))
        for depth in (0, *s.depths):
            layers = depth or recipe_depth
            gram, cross = _kernels(train.x, test.x, layers)
            recipe_time = math.ceil(1 / float(torch.linalg.eigvalsh(gram)[0]))
            f_early, f_recipe, f = (op @ y for op in spectrum.operators(gram, cross, [1, recipe_time, math.inf]))
            row = {
                "seed": seed,
                "source": train.source,
                "depth": depth,
                "layers": layers,
                "time": recipe_time,
                "early": regression.accuracy(f_early, test.y),
                "stopped": regression.accuracy(f_recipe, test.y),
                "accuracy": regression.accuracy(f, test.y),
                "unstopped": relative_distance(f, f_early),
                "stop": math.nan,
            }
            if layers >= TABLE_2:
                (op,) = spectrum.operators(*deep_limit.ridge_kernels(*offsets, layers), [1])
                row["stop"] = relative_distance(op @ y, f_early)
            rows.append(row)
    return rows


@study(version=2, nonfinite=("law",))
def size_over_depth(s: SizeOverDepth, seeds: list[int]) -> Rows:
    """The share of a target's variance that ``n`` points leave at the depth ``n/ratio``, at infinite time.

    On the sphere targets are polynomials of ``degree`` 1, 2, 3 (``law``: ``curves.degree_errors``, from three layers
    on); on images ten classes (``degree`` 0). Source: derived here.
    """
    n = s.n
    rows = []
    depth = max(1, round(n / s.ratio))
    images = s.cloud == "images"
    law = [math.nan] * 4 if images or depth < 3 else curves.degree_errors(n, depth, s.n0)
    for seed, draw in zip(seeds, draw_seeds("train", seeds)):
        if images:
            (task,) = datasets.split(images_on_sphere(s.corpus), [n + s.test], seed=draw)
            x = task.x
            y = _one_hot(task)[:, None]
            source = task.source
        else:
            ((x, start),) = clouds(s.cloud, s.n0, n + s.test, [seed])
            y = torch.stack([x[:, :degree].prod(1) for degree in (1, 2, 3)], 1)[..., None]
            source = start["source"]
        f = regression.kernel_flow_prediction(*_kernels(x[:n], x[n:], depth), y[:n].flatten(1)).view_as(y[n:])
        errors = (f - y[n:]).square().sum((0, 2)) / (y[n:] - y[n:].mean(0)).square().sum((0, 2))
        first_degree = 0 if images else 1
        for degree, share in enumerate(errors.tolist(), start=first_degree):
            row = {"seed": seed, "source": source, "depth": depth, "degree": degree, "left": share}
            row["law"] = float(law[degree])
            rows.append(row)
    return rows


@study(version=1)
def near_duplicates(s: NearDuplicates, seeds: list[int]) -> Rows:
    """Norms of the operator where each of ``n`` points of the sphere has a second one at the angle ``gap``.

    ``forever`` at infinite time and ``stopped`` at ``λ_n^(-1/2)``, largest over 4 ``n`` points on the circles through
    the pairs, at 1 to 4 gaps beyond them; ``smallest``: ``λ_n``. Source: paper C, Theorem 3 b).
    """
    n, gap = s.n, s.gap
    rows = []
    for x, start in clouds("sphere", s.n0, 2 * n, seeds):
        first = x[:n]
        side = x[n:] - (x[n:] * first).sum(1, keepdim=True) * first  # orthogonal to the first points
        side = side / side.norm(dim=1, keepdim=True)
        second, *beyond = (math.cos(k * gap) * first + math.sin(k * gap) * side for k in (1, 2, 3, 4, 5))
        for depth in s.depths:
            gram, cross = _kernels(torch.cat([first, second]), torch.cat(beyond), depth)
            smallest = float(torch.linalg.eigvalsh(gram)[0])
            operators = spectrum.operators(gram, cross, [smallest**-0.5, math.inf])
            norm_stopped, norm_forever = operators.norm(dim=-1).amax(1).tolist()
            row = {"depth": depth, "smallest": smallest, "stopped": norm_stopped, "forever": norm_forever}
            rows.append(start | row)
    return rows


@study(version=1, seeds=REALISATIONS, columns={"smallest": (1e-4, 1e-10)})
def label_noise(s: NoisyLabels, seeds: list[int]) -> Rows:
    """How far the noise of labels moves predictions at fresh points of a sphere; one row per data set.

    ``norm`` of the operator, root mean square over fresh points: the standard deviation of a prediction where labels
    have independent noise of variance 1; ``worst``: mean over fresh points of ``Σ|op_i|``, the largest change where no
    label changes by more than 1; ``smallest``: ``λ_n``; ``slope``, if asked for: root mean square over fresh points and
    noise of the prediction's gradient on the sphere. Source: paper C, Sec. 6 and Theorem 3 b).
    """
    n = s.n
    rows = []
    for x, start in clouds("sphere", s.n0, n + s.fresh, seeds):
        if s.kernel:
            gram, cross = (torch.exp((z @ x[:n].mT - 1) / SMOOTH**2) for z in (x[:n], x[n:]))
        else:
            gram, cross = _kernels(x[:n], x[n:], s.depth)
        if s.time:
            (op,) = spectrum.operators(gram, cross, [s.time])
        else:
            op = torch.cholesky_solve(cross.mT, torch.linalg.cholesky(gram)).mT
        row = {"norm": float(op.square().sum(1).mean().sqrt()), "worst": float(op.abs().sum(1).mean())}
        if s.kernel:
            row["smallest"] = float(torch.linalg.eigvalsh(gram)[0])
        else:
            row["smallest"] = spectrum.smallest_kernel_eigenvalue(x[:n], depth=s.depth)
        if s.observe:
            row["slope"] = regression.noise_slope(x[:n], x[n:], gram, depth=s.depth)
        rows.append(start | row)
    return rows


@study(version=1, data=EXACT)
def layer_kernels(s: OtherLayer, seeds: list[int]) -> Rows:
    """The normalised kernel of other layers against depth, four depths a decade, at correlations 0, 0.5 and 0.9.

    ``limit`` and ``log``: the predicted limit and coefficient of ``ln L/L`` (NaN where a branch's share is ``1/L``).
    Source: beyond paper C; compare Hayou et al. 2019.
    """
    deepest = s.depth_max
    rho = np.array([0.0, 0.5, 0.9])
    spaced = {int(d) for d in np.geomspace(1, deepest, 1 + round(4 * np.log10(deepest)))}
    depths = sorted({*spaced, deepest // 10, deepest})
    layer = LAYERS.get(s.layer)
    if layer:
        kernels = universality.along_depth(layer, rho, depths)
        law = {"limit": layer.limit, "log": layer.log}
    else:
        kernels = [universality.along_depth(universality.kinked(share=1 / depth), rho, [depth])[0] for depth in depths]
        law = {"limit": math.nan, "log": math.nan}
    return [
        {"seed": seeds[0], "depth": depth, "rho": float(r), "kernel": float(value), **law}
        for depth, values in zip(depths, kernels)
        for r, value in zip(rho, values)
    ]


@study(version=1, columns={"first": 1e-4})
def layer_prediction(s: LayerSplit, seeds: list[int]) -> Rows:
    """One-hot regression with other layers' kernels against ridge regression with their offsets, on drawn images.

    ``first``: their distance over the predictor's variation; ``accuracy`` and ``ridge_accuracy``; ``k``: the ridge over
    the depth, in the limit. Kernels and offsets are splines in the angle. Source: derived here.
    """
    layer = LAYERS[s.layer]
    depths = s.depths
    rows = []
    for seed, train, test in _splits(s, seeds, balanced=False):
        y = _one_hot(train)
        correlations = (torch.cat([train.x, test.x]) @ train.x.T).fill_diagonal_(0).clamp(0, 1)
        angle = torch.acos(correlations).numpy()
        node = np.linspace(0.9 * angle.min(), math.pi / 2, 300)
        regular_part = universality.offset(layer, np.cos(node)) - layer.unit(1 - np.cos(node))  # unit diverges at 0
        c = CubicSpline(node, regular_part)(angle) + layer.unit(1 - np.cos(angle))
        for depth, values in zip(depths, universality.along_depth(layer, np.cos(node), depths)):
            f = _layer_regression(CubicSpline(node, values)(angle), y)
            g = _layer_regression(universality.of_layer_offset(layer, c, depth), y)
            row = {
                "seed": seed,
                "source": train.source,
                "depth": depth,
                "k": 1 / layer.limit - 1,
                "first": relative_distance(g, f),
                "accuracy": regression.accuracy(f, test.y),
                "ridge_accuracy": regression.accuracy(g, test.y),
            }
            rows.append(row)
    return rows


def _layer_regression(kernel: np.ndarray, y: torch.Tensor) -> torch.Tensor:
    """Predictions of regression with a kernel ``(n + m, n)``, first the ``n`` training points, then ``m`` others."""
    n = len(y)
    kernel = torch.from_numpy(kernel)
    return kernel[n:] @ torch.linalg.solve(kernel[:n].fill_diagonal_(1), y)


# at large depths all three are zero but for round-off
@study(version=2, columns=dict.fromkeys(("gap", "spread", "smallest"), (1e-6, 1e-12)))
def biases(s: WithBias, seeds: list[int]) -> Rows:
    """With biases, along depth: ``gap`` (1 minus the smallest ratio to the diagonal), ``spread``, ``smallest``.

    Source: paper C, App. A.
    """
    rows = []
    for x, start in clouds("sphere", s.n0, s.n, seeds):
        for depth in (1, 2, 5, 10, 20, 30, 40, 41, 60, 100):
            gram = infinite_ntk(x, depth=depth, bias=s.bias)
            off = gram[~torch.eye(len(x), dtype=torch.bool)]
            row = {
                "depth": depth,
                "gap": float(1 - off.min()),
                "spread": float(off.max() - off.min()),
                "smallest": float(torch.linalg.eigvalsh(gram)[0]),
            }
            rows.append(start | row)
    return rows


@study(version=2, data="Gaussian points x and 2x", columns={"plain": (1e-6, 1e-12)})  # zero but for round-off
def colinear_points(s: Colinear, seeds: list[int]) -> Rows:
    """Smallest eigenvalue for points ``x`` and ``2x``, ``plain`` and ``embedded``. Source: paper C, App. B."""
    rows = []
    for seed, draw in zip(seeds, draw_seeds("train", seeds)):
        x = gaussian_points(s.n, s.n0, seed=draw)
        doubled = torch.cat([x, 2 * x])
        kernel = infinite_ntk(doubled, depth=s.depth)
        embedded_kernel = infinite_ntk(embedding.stereographic(doubled), depth=s.depth)
        plain = float(torch.linalg.eigvalsh(kernel)[0])
        embedded = float(torch.linalg.eigvalsh(embedded_kernel)[0])
        rows.append({"seed": seed, "plain": plain, "embedded": embedded})
    return rows


@study(version=1, seeds=REALISATIONS, rtol=1e-3, device="any")
def text_training(s: TextTraining, seeds: list[int]) -> Rows:
    """How far the last hidden layer moves while two hidden layers learn a text (``hidden_motion.learn``).

    Over optimisers, parametrisations, rates, steps (``step``) and targets: a token's distribution of next words, the
    likeliest of them alone, or zero. With zero nothing is learnt: what moves is the unlearning of ``f_0``.
    Source: paper C, Tab. 1 and Prop. 4.
    """
    text = datasets.corpus(s.text)
    dtype = getattr(torch, s.dtype)
    bigrams = hidden_motion.bigrams(text.text, s.vocabulary)
    tokens, targets = (tensor.to(dtype=dtype, device=devices.pick()) for tensor in bigrams)
    if s.targets == "words":
        targets = tokens[targets.argmax(1)]
    elif s.targets == "zero":
        targets = torch.zeros_like(targets)
    start = {"source": f"bigrams of {s.vocabulary} words, {text.source}"}
    network = {name: getattr(s, name) for name in ("width", "optimiser", "parametrisation", "rate")}
    rows = []
    for seed, draw in zip(seeds, draw_seeds("weights", seeds)):
        records = hidden_motion.learn(tokens, targets, seed=draw, steps=s.looks, **network)
        rows += [{"seed": seed, **start, **record} for record in records]
    return rows


@study(version=2, seeds=REALISATIONS, rtol=1e-5)
def finite_last_layer(s: LastLayer, seeds: list[int]) -> Rows:
    """How far a last hidden layer of finite width moves above infinitely wide ones, trained; one row per draw.

    The labels are the first coordinate's sign. ``norm``, ``largest``, ``ratio``, ``inner`` and ``relative``:
    ``hidden_motion.change``, over all points; ``law``: the norm in the lazy limit, from the initial outputs
    (``last_layer.layer_motion``). ``crossed``: size of the change of inner products without the term
    ``(h_t - h_0)·(h_t' - h_0')``, over its size with it (root mean squares over pairs). ``rows``: correlation, over
    pairs of fresh points, of the cosine of their kernel rows with the size of the change of their inner product.

    With ``networks``: ``spread``, standard deviation over these of the change of an inner product, root mean square
    over pairs, ``drift``, that of its mean, and ``driver``, size of ``d_i = w_i (f - y)/√m`` over that of ``h_i`` at
    the start, root mean squares over neurons and points to learn.
    Source: paper C, Sec. 5 and Prop. 4.
    """
    n = s.n
    rows = []
    scale = 1.0 if s.readout == "NTK" else math.sqrt(WIDE_AS / s.width)
    for (x, start), draw in zip(clouds("sphere", s.n0, n + s.fresh, seeds), draw_seeds("weights", seeds)):
        y = x[:n, 0].sign()
        rho, kernel = last_layer.below_last_layer(x, depth=s.depth)
        z, readout = last_layer.gaussian_layer(rho, s.width, seed=draw)
        end, _ = last_layer.train_layer(kernel, z, readout, y, scale=scale, slack=LEARNT)
        before = z.relu()
        after = end.relu()
        initial_outputs = scale * math.sqrt(2 / s.width) * (before[:n] @ readout)
        residual = torch.linalg.solve(s.depth * infinite_ntk(x[:n], depth=s.depth), initial_outputs - y)
        row = hidden_motion.change(before, after)
        row["law"] = float(last_layer.layer_motion(rho, kernel, residual).mean()) / scale
        moved = after - before
        gram_change = after @ after.mT - before @ before.mT
        pairs_of_all = torch.triu_indices(len(x), len(x), 1).unbind()
        first_order = gram_change - moved @ moved.mT
        row["crossed"] = float(first_order[pairs_of_all].norm() / gram_change[pairs_of_all].norm())
        kernel_rows = torch.nn.functional.normalize(kernel[n:, :n])
        pairs_of_fresh = torch.triu_indices(s.fresh, s.fresh, 1).unbind()
        cosines = (kernel_rows @ kernel_rows.mT)[pairs_of_fresh]
        changes = gram_change[n:, n:][pairs_of_fresh].abs()
        row["rows"] = float(torch.corrcoef(torch.stack([cosines, changes]))[0, 1])
        if s.networks:
            others = []
            for other in range(1, s.networks + 1):
                z, others_readout = last_layer.gaussian_layer(rho, s.width, seed=draw + other)
                end, _ = last_layer.train_layer(kernel, z, others_readout, y, scale=scale, slack=LEARNT)
                h, end = z.relu(), end.relu()
                others.append((end @ end.mT - h @ h.mT)[pairs_of_all])
            spread, drift = torch.var_mean(torch.stack(others), dim=0)
            row["spread"], row["drift"] = float(spread.mean().sqrt()), float(drift.square().mean().sqrt())
            pushed = (initial_outputs - y).square().mean() * readout.square().mean() / s.width
            row["driver"] = float((pushed / (2 * before[:n].square().mean())).sqrt())
        rows.append(start | row)
    return rows
