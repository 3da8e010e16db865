"""Chapter 1, what supports a boundary: the kernel at ``t*`` beside compressed data."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from torch import Tensor

from companion.lab.record import Count, Share, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import FreshSets, compressed_tasks, machine, train_network
from companion.papers.compression.theory import amplification
from companion.papers.tasks import DRAWN, draw_tasks, networks_of
from regimes.data.tasks import Task
from regimes.kernels import ntk, wide_one_hidden_ntk
from regimes.measures.lazy import Lazy, lazy, tangent_predictor, wide_lazy, wide_predictor
from regimes.models.one_hidden import Network
from regimes.training.state import satisfied, t_star, t_star_of_each_label
from regimes.validate import InputError

CHAPTER = "01"


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
