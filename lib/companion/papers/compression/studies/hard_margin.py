"""Chapter 1, what supports a boundary: the kernel at ``t*`` beside compressed data, and the premises of the theory."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import torch
from torch import Tensor

from companion.lab.record import Count, Share, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import FreshSets, compressed_tasks, machine, train_network
from companion.papers.compression.theory import amplification, learning_curves
from companion.papers.tasks import DRAWN, StripeSet, TestPoints, draw_tasks, networks_of
from regimes.data.tasks import Task
from regimes.kernels import ntk, wide_one_hidden_ntk
from regimes.measures.errors import wrong
from regimes.measures.lazy import Lazy, lazy, tangent_predictor, wide_lazy, wide_predictor
from regimes.models.one_hidden import Network
from regimes.training.state import satisfied, t_star, t_star_of_each_label
from regimes.validate import InputError

CHAPTER = "01"
STEP = 1.01  # factor between the two distances at which the kernel's cusp is measured


@record
class SupportLayer(StripeSet):
    """A training set of the stripe, and ``test`` points that tell the error of a machine."""

    test: TestPoints


@record
class AtStar(FreshSets):
    """Networks that are frozen at ``t*``, and the points that their kernels learn.

    Attributes:
        star: a tenth of the points of each label is fitted at ``t*``; without it a tenth of all points.
        points: the kernel learns the network's own training set again; without it a fresh one. A design without these
            has the cells that it had before there were any.
        frozen_at: the satisfied fraction at which they are frozen, later than ``t*``; no data are compressed then.
    """

    star: Literal["of each label"] | None = None
    points: Literal["own"] | None = None
    frozen_at: Share | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its task says; a moment is named once."""
        if self.star and self.frozen_at:
            raise InputError("frozen_at is a moment after t*: give it or star, not both")
        return super().completed(seeds)


@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    rtol=1e-2,
    data=DRAWN,
    device="any",
    columns=dict.fromkeys(("error", "vectors", "ended"), STATISTICAL),
    nonfinite=("vectors",),
)
def star_kernel(s: AtStar, seeds: list[int]) -> Rows:
    """The kernel frozen at ``t*`` (``curve`` star), and the infinitely wide initial one on data compressed by ``Λ*``.

    Both learn one fresh training set, as a flow to zero loss and as a hard-margin machine with an offset: ``error``,
    ``ended``, and how many ``vectors`` support the machine. On its network's own points, and frozen later
    (``frozen_at``), the network's kernel is alone.

    Source: derived from paper A, Fig. 3 and Sec. 3.
    """
    return [row | {"seed": seed} for seed in seeds for row in _at_star(s, seed)]


def _at_star(s: AtStar, seed: int) -> Rows:
    train, fresh, test = draw_tasks(s, [seed], "train", "fresh", "test")
    learnt = train if s.points == "own" else fresh
    until = t_star_of_each_label if s.star else satisfied(s.frozen_at) if s.frozen_at else t_star
    trained = train_network(networks_of(s, [seed]), train, s, until=until)
    if trained.star[0] is None:
        raise InputError(f"no run reached t*: {trained.ended}")
    at_end = amplification(trained.network.omega, train.d_parallel)
    star = at_end.to(learnt.x) if s.star else learnt.x.new_tensor(trained.star)
    rows = _kernel_at_star(trained.network, learnt, test)
    if s.points is None and s.frozen_at is None:
        rows += _compressed_kernel(*compressed_tasks([learnt, test], star))
    return sorted(rows, key=lambda row: row["learner"])  # the flows first


def _kernel_at_star(network: Network, train: Task, test: Task) -> Rows:
    """A flow and a machine with the tangent kernel of one network."""

    def predictor(c: Tensor) -> Tensor:
        return tangent_predictor(network, train.x, c[None], test.x)[0]

    flow = _flow_row("star", lazy(network, train, test))
    return [flow, _machine_row("star", ntk(network, train.x)[0], predictor, train, test)]


def _compressed_kernel(train: Task, test: Task) -> Rows:
    """A flow and a machine with the infinitely wide kernel, on compressed data."""
    x, z = train.x[0], test.x[0]
    flow = _flow_row("compressed", wide_lazy(train, test))
    gram = wide_one_hidden_ntk(x)
    return [flow, _machine_row("compressed", gram, lambda c: wide_predictor(x, c, z), train, test)]


def _flow_row(curve: str, learnt: Lazy) -> dict[str, Any]:
    error = float(learnt.error)
    return {"curve": curve, "learner": "flow", "error": error, "ended": learnt.ended[0], "vectors": None}


def _machine_row(
    curve: str, gram: Tensor, predictor: Callable[[Tensor], Tensor], train: Task, test: Task
) -> dict[str, Any]:
    return {"curve": curve, "learner": "machine"} | machine(gram, train.y[0], predictor, test.y[0])


@study(version=1, rtol=1e-2, data=DRAWN)
def support_layer(s: SupportLayer, seeds: list[int]) -> Rows:
    r"""The hard-margin machine of the infinitely wide kernel on a stripe, and what theory assumes of it.

    ``error``; ``vectors``, the number of support vectors; ``width``, their mean distance from the nearest plane
    (:math:`\Delta`); ``coefficient``, their mean :math:`|c|`; ``spacing``, the mean distance along the plane to the
    nearest one of the same plane and label (:math:`r`); ``cusp``, the local exponent
    :math:`\xi = d\ln(K_0-K(r))/d\ln r` at that distance, of the kernel between points of mean norm.

    Source: paper A, Sec. 3.1.
    """
    return [{"seed": seed} | _supported(s, seed) for seed in seeds]


def _supported(s: SupportLayer, seed: int) -> dict[str, float]:
    train, test = draw_tasks(s, [seed], "train", "test")
    x = train.x[0].cpu().double()
    y = train.y[0].cpu().double()
    c, offset = learning_curves.hard_margin(wide_one_hidden_ntk(x), y)
    f = wide_predictor(x, c, test.x[0].to(x)) + offset
    vectors = x[c != 0]
    from_planes = (vectors[:, :1] - x.new_tensor(s.interfaces)).abs()
    side = 2 * from_planes.argmin(-1) + (y[c != 0] > 0)  # of which plane, and on which side of it
    along_plane = torch.cdist(vectors[:, 1:], vectors[:, 1:])
    itself = torch.eye(len(vectors), dtype=torch.bool)
    nearest = along_plane.masked_fill((side[:, None] != side) | itself, torch.inf).amin(-1)
    spacing = float(nearest[torch.isfinite(nearest)].mean())
    return {
        "error": float(wrong(f[None], test.y.to(f))),
        "vectors": len(vectors),
        "width": float(from_planes.amin(-1).mean()),
        "coefficient": float(c[c != 0].abs().mean()),
        "spacing": spacing,
        "cusp": kernel_cusp(float(vectors.norm(dim=-1).mean()), spacing, s.d),
    }


def kernel_cusp(norm: float, r: float, d: int) -> float:
    """The local exponent of ``K(0) - K(r)`` of the infinitely wide kernel, of points of one ``norm``, ``r`` apart."""
    sine_of_half_angle = torch.tensor([r, r * STEP], dtype=torch.float64) / (2 * norm)
    if float(sine_of_half_angle.max()) >= 1:
        return float("nan")
    angle = 2 * torch.asin(sine_of_half_angle)
    points = torch.zeros(3, d, dtype=torch.float64)
    points[0, 0] = norm
    points[1:, 0] = norm * torch.cos(angle)
    points[1:, 1] = norm * torch.sin(angle)
    kernel = wide_one_hidden_ntk(points)[0]
    fall = (kernel[0] - kernel[1:]).log()
    return float((fall[1] - fall[0]) / torch.tensor(STEP, dtype=torch.float64).log())
