"""Networks of papers A and B that a flow trains on the stripe or cylinder, as several studies take them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from companion.lab.record import Count, Each, Increasing, Number, Setting, record
from companion.papers.compression.theory import FixedPoint, Stripe, amplification, learning_curves
from companion.papers.compression.theory.ring import Cylinder
from companion.papers.tasks import ByFlow, Hidden, TaskSet, TestPoints
from regimes import devices
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.measures.errors import wrong
from regimes.measures.lazy import in_words
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Trajectory, run
from regimes.training.state import fitted, satisfied

SHOWN = 60  # neurons whose weights a frame keeps; steps of a path
Scales = Each[Increasing[Number[1e-20, 1e10], 6]]
Size = Count[10, 100_000]
Sizes = Each[Increasing[Size, 3]]
SmallScale = Number[1e-140, 1e-2]


@record
class LazyCurve(TaskSet):
    """A training set, and ``test`` points that tell the error of what is learnt from it."""

    test: TestPoints


@record
class Learning(ByFlow, LazyCurve):
    """Networks trained on a training set, and the points that tell their errors."""


@record
class FreshSets(Learning):
    """Trained networks whose kernels learn another training set of the same size."""

    both: ClassVar[tuple[str, ...]] = ("train", "fresh")


@record
class OnLines(Setting):
    """Networks on a task whose error is measured on so many ``lines`` along the first axis."""

    lines: Hidden


@dataclass(frozen=True)
class Trained:
    """Networks after training, for each realisation; ``None`` where a run ended before it met 10 % of its margins.

    Attributes:
        network: at the end, float64.
        ended: ``"zero loss"``, or why the run stopped before.
        t_star: paper A's unit of time.
        star: ``Λ*``, the amplification at ``t_star``.
        largest: ``Λ_max``, over the whole path.
        stops: satisfied fraction -> the network where it was first met, in float64; fractions never met are missing.
    """

    network: Network
    ended: list[str]
    t_star: list[float | None]
    star: list[float | None]
    largest: list[float]
    stops: list[dict[float, Network]]


def train_network(
    network: Network, train: Task, s: ByFlow, *, dtype: Any = "auto", shares: Sequence[float] = (), until=fitted
) -> Trained:
    """Gradient flow of the hinge loss at the scale ``s.alpha`` to zero loss, with the amplification along the path."""

    def size(model: Network) -> Tensor:
        return amplification(model.omega, train.d_parallel)

    states = gradient_flow(network, train, alpha=s.alpha, tolerance=s.tolerance, dtype=dtype)
    path = run(
        states,
        observe=lambda state: {"size": size(state.model)},
        events={_event(share): satisfied(share) for share in shares},
        until=until,
    )
    realisations = range(len(path.ended))
    stars = [path.events.get("t_star", {}).get(i) for i in realisations]
    largest = [max(step["size"] for step in path.path if step["realisation"] == i) for i in realisations]
    return Trained(
        network=path.model.to(dtype=torch.float64),
        ended=[in_words(why) for why in path.ended],
        t_star=[None if snapshot is None else float(snapshot.t) for snapshot in stars],
        star=[None if snapshot is None else float(size(snapshot.model)) for snapshot in stars],
        largest=largest,
        stops=[_stops(path, i, shares) for i in realisations],
    )


def _event(share: float) -> str:
    """The name of the event that a fraction of the points is satisfied."""
    return f"{share:g}"


def _stops(path: Trajectory, i: int, shares: Sequence[float]) -> dict[float, Network]:
    """The networks of realisation ``i`` where it first met the satisfied fractions that it met, in float64."""
    snapshots = {share: path.events.get(_event(share), {}).get(i) for share in shares}
    return {share: at.model.to(dtype=torch.float64) for share, at in snapshots.items() if at is not None}


def lines(s: OnLines, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Lines along the first axis on which networks' errors are exact: ``across (S, n, d - 1)``, ``edges (S, n, k)``.

    More lines extend fewer; they are the same for all networks of a realisation.
    """
    across = tasks.gaussian_points(s.lines, s.d - 1, seed=draw_seeds("test", seeds, size=1)).to(devices.pick())
    if s.shape == "stripe":
        return across, across.new_tensor(s.interfaces).expand(*across.shape[:2], -1)
    square = s.radius**2 - across[..., : s.d_parallel - 1].square().sum(-1)
    half_chord = square.clamp(min=0).sqrt()
    return across, torch.stack([-half_chord, half_chord], -1)


def predicted_amplification(s: TaskSet, x: Tensor, y: Tensor) -> float | None:
    """``Λ*`` that theory gives on a training set ``x (p, d)``: of the fastest attractor, of the fastest ring.

    ``None`` where labels leave neurons neither.
    Source: paper A, Eq. 8, corrected; :mod:`companion.papers.compression.theory.ring`.
    """
    if s.shape == "stripe":
        theory, fastest = fastest_attractor(tuple(s.interfaces), s.d)
    else:
        theory, fastest = fastest_ring(s.radius, s.d, s.d_parallel)
    return None if fastest is None else theory.amplification(x.cpu().numpy(), y.cpu().numpy(), fastest)


@cache
def fastest_attractor(interfaces: tuple[float, ...], d: int) -> tuple[Stripe, FixedPoint | None]:
    """The theory of planes, and its attractor of the largest growth rate."""
    theory = Stripe(interfaces, d)
    return theory, max(theory.attractors(), key=lambda point: point.rate, default=None)


@cache
def fastest_ring(radius: float, d: int, d_parallel: int) -> tuple[Cylinder, FixedPoint | None]:
    """The theory of a cylinder, and its ring of fixed points of the largest growth rate."""
    theory = Cylinder(radius, d, d_parallel)
    return theory, max(theory.rings(), key=lambda point: point.rate, default=None)


def compressed_tasks(drawn: Sequence[Task], factor: Tensor) -> list[Task]:
    """The tasks with their uninformative coordinates divided by a ``factor`` of each realisation."""
    return [replace(task, x=learning_curves.compress(task.x, task.d_parallel, factor)) for task in drawn]


def machine(gram: Tensor, y: Tensor, predictor: Callable[[Tensor], Tensor], labels: Tensor) -> dict[str, Any]:
    """What the hard-margin machine of a kernel makes of one training set: ``y (p,)``, test ``labels (n,)``."""
    c, offset = learning_curves.hard_margin(gram, y)
    ended = "separated" if bool((y * (gram @ c + offset) > 0).all()) else "not separated"
    error = float(wrong((predictor(c) + offset)[None], labels[None]))
    return {"error": error, "ended": ended, "vectors": int((c != 0).sum())}


@record
class Followed(ByFlow):
    """Networks whose way is looked at; no kernel is computed."""

    kernels: ClassVar[int] = 0
