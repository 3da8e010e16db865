"""Chapter 1, the last points: how compressed the network's function is beside its weights."""

import math

import torch
from torch import Tensor

from companion.lab.record import Count, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import OnLines, lines
from companion.papers.compression.theory import amplification
from companion.papers.tasks import DRAWN, ByFlow, Fractions, TaskSet, TestPoints, draw_tasks, networks_of
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.measures.errors import line_error
from regimes.measures.matrices import sites
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Trajectory, run
from regimes.training.state import State, satisfied

CHAPTER = "01"
FEW = 0.01  # the share of neurons whose part of the uninformative weights is measured


@record
class AtBoundary(OnLines, ByFlow, TaskSet):
    """Networks on the way to zero loss.

    Attributes:
        points: on the true boundary, at which their gradients are.
        shares: satisfied fractions at which they are looked at.
    """

    points: TestPoints
    shares: Fractions


@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    data=DRAWN,
    device="any",
    columns=dict.fromkeys(("function", "weights", "few", "error", "peak", "left_half"), STATISTICAL),
    nonfinite=("left_half",),
)
def boundary(s: AtBoundary, seeds: list[int]) -> Rows:
    r"""A network to zero loss: one row per satisfied ``share``, where it is first met, with what is compressed there.

    ``function``: the root mean square gradient of the predictor :math:`F` along informative over that along
    uninformative directions, at ``points`` on the true boundary; ``weights``: Λ, the same ratio of first-layer weights.
    ``few``: the part of :math:`\sum_n \omega_{n,\perp}^2` that the largest hundredth of the neurons hold. ``left``:
    points with ``yF < 1``. Each row repeats ``peak``, the largest Λ of the path, and ``left_half``, the points left
    when Λ has first halved from there (none where it never does).

    Source: paper A, Sec. 2.5 and 3.2.1.
    """
    return [row for seed in seeds for row in _path(s, seed)]


def _path(s: AtBoundary, seed: int) -> Rows:
    (train,) = draw_tasks(s, [seed], "train")
    network = networks_of(s, [seed])
    normal = tasks.gaussian_points(s.points, s.d, seed=draw_seeds("test", [seed], size=0)[0])
    boundary_points = train.nearest(normal.to(train.x))
    path = run(
        gradient_flow(network, train, alpha=s.alpha, tolerance=s.tolerance),
        events={f"{share:g}": satisfied(share) for share in s.shares},
        observe=lambda state: _observed(state, train.d_parallel),
    )
    of_path = {"seed": seed, "ended": str(path.ended[0].kind)} | _halved(path)
    across, edges = lines(s, [seed])
    rows = []
    for share in s.shares:
        snapshots = path.events[f"{share:g}"]
        if 0 in snapshots:
            stop = snapshots[0].model.to(dtype=torch.float64)
            row = {"share": share, "left": s.p - math.ceil(share * s.p - 1e-9)}
            row["error"] = float(line_error(stop, network, across, edges))
            row |= _compressed(stop, network, boundary_points, train)
            rows.append(of_path | row)
    return rows


def _observed(state: State, d_parallel: int) -> dict[str, Tensor]:
    """Λ, and how many points have ``yF < 1``."""
    return {"size": amplification(state.model.omega, d_parallel), "left": (state.margins < 1).sum(-1)}


def _halved(path: Trajectory) -> dict[str, float | None]:
    """The largest Λ of a path, and the points left when it has first halved from there."""
    peak = max(range(len(path.path)), key=lambda i: path.path[i]["size"])
    largest = path.path[peak]["size"]
    points = (row["left"] for row in path.path[peak:] if row["size"] < largest / 2)
    return {"peak": largest, "left_half": next(points, None)}


def _compressed(stop: Network, start: Network, boundary_points: Tensor, task: Task) -> dict[str, float]:
    """What is compressed in a network: its function at points on the true boundary, and its weights."""
    slope = sites(stop, boundary_points)[0].gradients - sites(start, boundary_points)[0].gradients
    across = stop.omega[..., task.d_parallel :].square().sum(-1).sort(descending=True).values
    few = max(1, round(FEW * stop.h))
    return {
        "function": float(amplification(slope, task.d_parallel)),
        "weights": float(amplification(stop.omega, task.d_parallel)),
        "few": float(across[..., :few].sum(-1) / across.sum(-1)),
    }
