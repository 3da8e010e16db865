"""Chapter 1: learning curves of lazy and feature learning, and what separates them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from companion.lab.record import Count, Distinct, Each, Increasing, Positive, Share, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import (
    FreshSets,
    LazyCurve,
    Learning,
    OnLines,
    Scales,
    Trained,
    compressed_tasks,
    lines,
    machine,
    train_network,
)
from companion.papers.compression.theory import amplification
from companion.papers.tasks import DRAWN, OWN, ByFlow, Fractions, Hidden, draw_tasks, needs_outputs, networks_of
from regimes.data.tasks import Task
from regimes.kernels import wide_one_hidden_ntk
from regimes.measures.errors import line_error, wrong
from regimes.measures.lazy import Lazy, lazy, wide_lazy, wide_predictor
from regimes.models.one_hidden import Network
from regimes.training.state import fitted, satisfied, t_star
from regimes.validate import InputError

CHAPTER = "01"
FEWEST_P = 3  # sizes that an exponent with an interval needs
EARLY = 0.9  # satisfied fraction of the kernel frozen early
PEAK = 0.95  # that where the amplification is set beside that at the end


@record
class LargeSizes(LazyCurve):
    """Training sets of three or more sizes ``p``, a single one at a time."""

    p: Each[Increasing[Count[2, 100_000], 3]]

    kernels: ClassVar[int] = 4


@record
class FiniteWidth(LazyCurve):
    """Learning with the kernel of networks of width ``h``."""

    h: Hidden

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its task says; memory holds a hidden layer, too."""
        needs_outputs(self.h, p=self.p)
        return super().completed(seeds)


@record
class Compression(LazyCurve):
    """Training sets whose uninformative directions are divided by a ``factor``."""

    factor: Each[Increasing[Positive]]


@record
class ScaleScan(Learning):
    """Networks trained at six or more scales ``alpha``."""

    alpha: Scales


@record
class OnTheWay(OnLines, FreshSets):
    """Networks looked at on the way to zero loss, and at the end.

    Attributes:
        shares: satisfied fractions at which they are looked at.
        frozen: those at which their kernels learn, too; with ``until`` none, if it is empty.
        stop: one more of the ``shares``.
        until: the satisfied fraction at which training ends; then only kernels named in ``frozen`` learn. Without it
            training goes on to zero loss, and the kernel at the end learns, too.
    """

    shares: Fractions
    frozen: Distinct[Positive[1], 0] | None = None
    stop: Share | None = None
    until: Positive[1] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the ``stop`` and the end among the satisfied fractions."""
        frozen = {*(self.frozen or [])}
        if self.until is None:
            frozen.add(1.0)
        end = self.until or 1.0
        if frozen and max(frozen) > end:
            raise InputError(f"frozen must not exceed until = {end:g}, got {sorted(frozen)}")
        shares = [share for share in sorted({*self.shares, self.stop or end, end}) if share <= end]
        found = super().completed(seeds)
        return replace(found, shares=shares, frozen=sorted(frozen) or None, stop=None)


def check_parameters(p: Mapping[str, Any]) -> None:
    """Sizes suffice for exponents, and what claims compare is measured."""
    fitted_curves = [(finite_width_lazy, "stripe")]
    fitted_curves += itertools.product((infinite_width_lazy, networks), OWN)
    for item, shape in fitted_curves:
        sizes = item.grid.values(p, shape)["p"]
        if sum(size >= p["fit_from"] for size in sizes) < FEWEST_P:
            where = f"{CHAPTER}.{item.function.__name__}.{shape}.p"
            parameter = f" ({p[where]})" if isinstance(p.get(where), str) else ""
            raise InputError(f"{where}{parameter} must hold at least {FEWEST_P} sizes from fit_from on, got {sizes}")
    for axis, needed in (("shares", {EARLY, PEAK}), ("frozen", {EARLY})):
        (fractions,) = networks.grid.values(p, "stripe")[axis]
        if not needed <= {*fractions}:
            raise InputError(f"{CHAPTER}.networks.stripe.{axis} must hold {sorted(needed)}, got {fractions}")
    for item in (compressed_by_factor, support_vectors):
        factors = item.grid.values(p, "stripe")["factor"]
        if factors[0] != 1 or len(factors) < 3:
            where = f"{CHAPTER}.{item.function.__name__}.stripe.factor"
            raise InputError(f"{where} must be 3 or more and begin with 1, the data as they are, got {factors}")


@study(version=1, chunk=2, data=DRAWN)
def infinite_width_lazy(s: LazyCurve, seeds: list[int]) -> Rows:
    """Lazy learning with the infinitely wide network's kernel, trained to zero loss: ``error``, ``ended``.

    Training and test points are those of ``networks`` and ``finite_width_lazy`` of the same size and seed.
    Source: paper A, Sec. 2.4 and 3.1; the kernel is exact, nothing is sampled.
    """
    train, test = draw_tasks(s, seeds, "train", "test")
    return _lazy_rows(seeds, wide_lazy(train, test))


@study(version=1, data=DRAWN)
def infinite_width_lazy_large_p(s: LargeSizes, seeds: list[int]) -> Rows:
    """As ``infinite_width_lazy``, of fewer seeds at larger sizes, nearer to theory's limit: ``error``, ``ended``."""
    return infinite_width_lazy.function(s, seeds)


def _lazy_rows(seeds: list[int], learnt: Lazy) -> Rows:
    rows = zip(seeds, learnt.error.tolist(), learnt.ended, strict=True)
    return [{"seed": seed, "error": error, "ended": ended} for seed, error, ended in rows]


@study(version=1, chunk=2, data=DRAWN)
def finite_width_lazy(s: FiniteWidth, seeds: list[int]) -> Rows:
    """Lazy learning with the kernel of a network of width ``h`` at initialisation: ``error``, ``ended``.

    Training and test points are those of ``infinite_width_lazy``, weights those of ``networks`` of the same size.
    Source: paper A, Fig. 3 (lazy regime) and Fig. 12 (dashed line).
    """
    train, test = draw_tasks(s, seeds, "train", "test")
    return _lazy_rows(seeds, lazy(networks_of(s, seeds), train, test))


# until t* processors agree; what comes after amplifies how they round
@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    chunk=2,
    rtol=1e-3,
    data=DRAWN,
    device="any",
    columns={"t_star": 1e-5, "amplification_star": 1e-5}
    | dict.fromkeys(("error", "amplification", "amplification_max", "ended"), STATISTICAL),
)
def networks(s: OnTheWay, seeds: list[int]) -> Rows:
    """Feature learning to zero loss, as far as each satisfied fraction: one row per ``curve`` and ``share``.

    ``feature``: the network where a ``share`` of the points first has ``yF >= 1``, its ``amplification``, its ``error``
    exact along the first axis. ``final``: its kernel frozen there, trained to zero loss on an independent training set,
    for the shares in ``frozen``. A share that a run never met has no row, nor has one beyond ``until``.
    Each row repeats ``t_star``, ``amplification_star`` and ``amplification_max`` of its network.

    Source: paper A, Fig. 3, 6 and 8; paper B, Fig. 10.
    """
    train, test, fresh = draw_tasks(s, seeds, "train", "test", "fresh")
    network = networks_of(s, seeds)
    trained = train_network(network, train, s, shares=s.shares, until=satisfied(s.until) if s.until else fitted)
    across, edges = lines(s, seeds)
    rows = []
    for i, seed in enumerate(seeds):
        of_network = {
            "t_star": trained.t_star[i],
            "amplification_star": trained.star[i],
            "seed": seed,
            "amplification_max": trained.largest[i],
        }
        realisation = slice(i, i + 1)
        for share, stop in trained.stops[i].items():
            error = float(line_error(stop, network[realisation], across[realisation], edges[realisation]))
            size = {"amplification": float(amplification(stop.omega, train.d_parallel))}
            feature = {"curve": "feature", "share": share, "error": error, **size, "ended": trained.ended[i]}
            rows.append(of_network | feature)
            if share in (s.frozen or ()):
                kernel = lazy(stop, _only(fresh, realisation), _only(test, realisation))
                final = {"curve": "final", "share": share, "error": float(kernel.error), "ended": kernel.ended[0]}
                rows.append(of_network | final | size)
    return rows


def _only(task: Task, realisation: slice) -> Task:
    """One realisation of a task."""
    return replace(task, x=task.x[realisation], y=task.y[realisation])


def _until_t_star(s: Learning, network: Network, train: Task) -> tuple[Trained, Tensor]:
    """Networks trained until ``t*``, and their ``Λ*``, which all must have."""
    trained = train_network(network, train, s, until=t_star)
    if None in trained.star:
        raise InputError(f"no run reached t*: {trained.ended}")
    return trained, train.x.new_tensor(trained.star)


@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    rtol=1e-3,
    data=DRAWN,
    device="any",
    columns={"star": 1e-2, "error": (1e-2, 5e-4)},  # some test points
)
def compressed_with_initial_kernel(s: Learning, seeds: list[int]) -> Rows:
    """Lazy learning of compressed data by the network's own kernel at its initial weights, as in paper A's code.

    ``error`` of each ``curve``, ``compressed``, where uninformative directions are divided by the network's ``Λ*``, and
    ``compressed_code``, by ``Λ*/√d_perp``, and of each ``learner``: ``finite``, the kernel of width ``h``, and
    ``infinite``, that of infinite width. ``star`` is ``Λ*``. The kernels learn the training set of the network.

    Source: paper A, Fig. 3; paper B, Fig. 10.
    """
    train, test = draw_tasks(s, seeds, "train", "test")
    network = networks_of(s, seeds)
    trained, star = _until_t_star(s, network, train)
    d_perp = s.d - train.d_parallel
    rows = []
    for curve, factor in {"compressed": star, "compressed_code": star / d_perp**0.5}.items():
        small = compressed_tasks([train, test], factor)
        for learner, learnt in {"finite": lazy(network, *small), "infinite": wide_lazy(*small)}.items():
            rows += [row | {"curve": curve, "learner": learner} for row in _lazy_rows(seeds, learnt)]
    stars = dict(zip(seeds, trained.star, strict=True))
    return [row | {"star": stars[row["seed"]]} for row in rows]


@study(version=1, chunk=2, data=DRAWN)
def compressed_by_factor(s: Compression, seeds: list[int]) -> Rows:
    """Lazy learning, at infinite width, of data compressed by a given ``factor``: ``error``, ``ended``.

    All factors share training and test points, so that their ratios are the gain of the compression alone.
    Source: paper A, Sec. 3.1 and 4; paper B, Sec. 5.
    """
    return _lazy_rows(seeds, wide_lazy(*_compressed_tasks(s, seeds)))


def _compressed_tasks(s: Compression, seeds: list[int]) -> list[Task]:
    """Training and test set, compressed by the setting's factor."""
    drawn = draw_tasks(s, seeds, "train", "test")
    return compressed_tasks(drawn, drawn[0].x.new_full((len(seeds),), s.factor))


@study(version=1, chunk=2, rtol=1e-2, data=DRAWN)
def support_vectors(s: Compression, seeds: list[int]) -> Rows:
    """As ``compressed_by_factor``, by the hard-margin support vector machine of the same kernel: ``error``, ``ended``.

    The machine, with an offset, is theory's; ``vectors`` is how many points support it. Source: paper A, Sec. 3.1, 4.
    """
    train, test = (task.to(dtype=torch.float64, device="cpu") for task in _compressed_tasks(s, seeds))
    rows = []
    for seed, x, y, z, labels in zip(seeds, train.x, train.y, test.x, test.y, strict=True):
        predictor = lambda c, x=x, z=z: wide_predictor(x, c, z)  # noqa: E731
        rows.append({"seed": seed} | machine(wide_one_hidden_ntk(x), y, predictor, labels))
    return rows


@study(
    version=1,
    rtol=1e-3,
    data=DRAWN,
    device="any",
    # a flow in float32
    columns=dict.fromkeys(("t_star", "amplification_star"), 1e-2)
    | dict.fromkeys(("error", "ended", "amplification_max"), STATISTICAL),
)
def scale_scan(s: ScaleScan, seeds: list[int]) -> Rows:
    """One network trained at one ``alpha``: error, ``t_star``, ``amplification_start``, ``_star`` and ``_max``.

    Data, test points and initial weights are the same for all ``alpha``, and those of ``finite_width_lazy`` at a size.
    Source: paper A, Fig. 12 and App. B.
    """
    train, test = draw_tasks(s, seeds, "train", "test")
    network = networks_of(s, seeds)
    trained = train_network(network, train, s)
    columns = {
        "seed": seeds,
        "error": wrong(_predictor(trained, network, test, s), test.y).tolist(),
        "ended": trained.ended,
        "t_star": trained.t_star,
        "amplification_start": amplification(network.omega, train.d_parallel).tolist(),
        "amplification_star": trained.star,
        "amplification_max": trained.largest,
    }
    return _rows_of(columns)


def _rows_of(columns: Mapping[str, Sequence]) -> Rows:
    """The rows of a table that is given by its columns."""
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _predictor(trained: Trained, network: Network, test: Task, s: ByFlow) -> Tensor:
    """``F`` of the trained networks on the test points ``(S, n)``."""
    return s.alpha * (trained.network(test.x) - network(test.x))
