"""Chapter 2, neuron by neuron and point by point: where each amplification comes to rest, and the fit after ``t*``."""

import math
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr

from companion.lab.record import Positive, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import SHOWN, Followed, Sizes, SmallScale
from companion.papers.compression.theory import FixedPoint, Stripe, neuron_amplification, sees_data
from companion.papers.compression.theory.stripe import time_unit
from companion.papers.tasks import DRAWN, Fractions, StripeSet, TaskSet, draw_tasks, networks_of
from regimes.data.tasks import Task
from regimes.models.one_hidden import Network
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Trajectory, run
from regimes.training.state import satisfied, t_star

CHAPTER = "02"
HOME = 0.5  # of an attractor; two of one sign lie further apart, and few points move them
WIDTH, SHARE = 0.2, 0.05  # of a cluster: radians of the circle of planes, and the smallest share of the neurons


TRAINED = {"version": 1, "chunk": 1, "rtol": 1e-2, "data": DRAWN, "device": "any"}


@record
class Plateaus(Followed, StripeSet):
    """Networks on the stripe, with three or more sizes ``p`` of the training set."""

    p: Sizes


@record
class Clusters(Followed, StripeSet):
    """Networks on the stripe at a small scale ``alpha``, looked at where satisfied ``shares`` are first met."""

    alpha: SmallScale
    shares: Fractions


@record
class Exclusion(Followed, TaskSet):
    """Networks trained ``until`` a fraction of their points is satisfied."""

    until: Positive[1]


def _path(s: Followed, seed: int, **options: Any) -> tuple[Task, Trajectory]:
    """Training set and path of one realisation; ``options`` of :func:`run` say where it ends and what it stores."""
    (task,) = draw_tasks(s, [seed], "train")
    states = gradient_flow(networks_of(s, [seed]), task, alpha=s.alpha, tolerance=s.tolerance)
    return task, run(states, **options)


@study(columns=dict.fromkeys(("neurons", "size", "time"), STATISTICAL), **TRAINED)
def plateaus(s: Plateaus, seeds: list[int]) -> Rows:
    """The amplification of each attractor's neurons until ``t*``; one row per ``attractor`` that has some.

    Its ``neurons`` see data and are within 0.5 of ``z*`` at ``t*``; medians over them: ``size``, ``λ* = |ω_1|/|ω_⊥|``
    there, and ``time``, when λ first was half of it, the paper's ``τ_⊥``, in units of ``τ``. ``predicted``:
    ``c √p/|N(z*)|`` with the noise of these training points. Source: paper A, Eq. 8 and 9 and footnote 3.
    """
    return [row for seed in seeds for row in _plateaus(s, seed)]


def _plateaus(s: Plateaus, seed: int) -> Rows:
    stripe = Stripe(s.interfaces, s.d)
    task, path = _path(s, seed, until=t_star, save=lambda state: (float(state.t), state.model.omega[0]))
    times, omega = zip(*path.saved[0], strict=True)
    times = np.array(times) / time_unit(s.h, s.d)
    omega = torch.stack(omega).double().cpu()
    sizes = (neuron_amplification(omega, 1) / math.sqrt(stripe.d - 1)).numpy()
    sign = omega[-1, :, 0].sign().numpy()
    zeta = -np.tan(_angle(path.model))
    active = _active(path.model, task)
    rows = []
    for point in stripe.attractors():
        members = active & (abs(zeta - point.z) < HOME) & (sign == point.sign)
        if members.any():
            row = {"seed": seed, "attractor": point.z, "neurons": int(members.sum())}
            row["size"] = float(np.median(sizes[-1, members]))
            row["predicted"] = _plateau(stripe, task, point)
            row["time"] = _half_time(times, sizes[:, members])
            rows.append(row)
    return rows


def _active(network: Network, task: Task) -> np.ndarray:
    """Which neurons of one realisation see data, ``(h,)``."""
    return sees_data(network.omega, network.b, task.x.to(network.omega))[0].cpu().numpy()


def _plateau(stripe: Stripe, task: Task, point: FixedPoint) -> float:
    """``λ* = c √p/|N(z*)|`` on a training set."""
    x = task.x[0].double().cpu().numpy()
    noise = float(np.linalg.norm(stripe.noise(x, task.y[0].cpu().numpy(), point)))
    return point.constant * math.sqrt(len(x)) / noise


def _half_time(times: np.ndarray, sizes: np.ndarray) -> float:
    """When half of the last of ``sizes (times, n)`` is first met, geometrically between states; the median over n."""
    logs = np.log(2 * sizes / sizes[-1])
    after = (logs >= 0).argmax(0).clip(1)
    low = np.take_along_axis(logs, after[None] - 1, 0)[0]
    high = np.take_along_axis(logs, after[None], 0)[0]
    share = np.divide(-low, high - low, out=np.ones_like(low), where=high > low).clip(0, 1)
    return float(np.median(times[after - 1] + share * (times[after] - times[after - 1])))


def _angle(network: Network) -> np.ndarray:
    """``atan2(√d b, ω_1)`` of one realisation, ``(h,)``: ``ζ = -tan``, and no jump where ``ω_1`` changes its sign."""
    height = math.sqrt(network.d) * network.b[0].double()
    return torch.atan2(height, network.omega[0, :, 0].double()).cpu().numpy()


@study(columns=dict.fromkeys(("count", "held", "moved", "angles"), STATISTICAL), **TRAINED)
def clusters(s: Clusters, seeds: list[int]) -> Rows:
    """Where the neurons that see data at the first satisfied ``share`` are when each is first met; one row per share.

    A neuron's plane meets the first axis at ``ζ = -tan(angle)``. ``count``: clusters, windows of 0.2 in the angle that
    hold a twentieth of the neurons or more; ``held``: the share of the neurons in them; ``moved``: the mean distance of
    the angles from those at the first share; ``angles``: of the first neurons. Source: paper A, Sec. 3.2.1 and Fig. 5.
    """
    return [row for seed in seeds for row in _clusters(s, seed)]


def _clusters(s: Clusters, seed: int) -> Rows:
    rules = {share: satisfied(share) for share in s.shares}
    task, path = _path(s, seed, until=rules[s.shares[-1]], events=rules)
    networks = {share: path.events[share][0].model for share in rules if 0 in path.events[share]}
    first = networks[s.shares[0]]
    active = _active(first, task)
    first_angles = _angle(first)[active]
    rows = []
    for share, network in networks.items():
        angles = _angle(network)[active]
        sizes = cluster_sizes(angles)
        row = {"seed": seed, "share": share, "count": len(sizes), "held": sum(sizes) / len(angles)}
        row["moved"] = float(_angular_distance(angles, first_angles).mean())
        row["angles"] = angles[:SHOWN].tolist()
        rows.append(row)
    return rows


def cluster_sizes(angles: np.ndarray) -> list[int]:
    """How many of the angles ``(n,)`` each cluster on the circle holds: windows that do not overlap, fullest first."""
    inside = _angular_distance(angles[:, None], angles) <= WIDTH / 2
    free = np.ones(len(angles), dtype=bool)
    sizes = []
    while True:
        counts = (inside & free).sum(1) * free
        if counts.max() < SHARE * len(angles):
            return sizes
        sizes.append(int(counts.max()))
        free &= _angular_distance(angles, angles[counts.argmax()]) > WIDTH


def _angular_distance(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return abs((first - second + math.pi) % (2 * math.pi) - math.pi)


@study(columns=dict.fromkeys(("rank", "before"), STATISTICAL), **TRAINED)
def exclusion(s: Exclusion, seeds: list[int]) -> Rows:
    """The order in which training points are first satisfied, against their distance from the nearest interface.

    ``rank``: Spearman's correlation of the distance and of how early ``yF`` first reaches 1, points that have not at
    the end all last; ``before``: for each tenth of the points by distance, the nearest first, the mean share of the
    points that are satisfied earlier. Source: paper A, Sec. 2.5, fitting regime.
    """
    rows = []
    for seed in seeds:
        task, path = _path(s, seed, until=satisfied(s.until), save=lambda state: (state.margins[0] >= 1).cpu())
        fits = torch.stack(path.saved[0])
        first_fit = torch.where(fits.any(0), fits.int().argmax(0), len(fits)).numpy()
        distance = (task.x - task.nearest(task.x)).norm(dim=-1)[0].cpu().numpy()
        rows.append({"seed": seed} | _order(distance, first_fit))
    return rows


def _order(distance: np.ndarray, first_fit: np.ndarray) -> dict[str, Any]:
    """How the steps at which points are first satisfied follow their distance from the nearest interface."""
    before = (rankdata(first_fit) - 1) / (len(first_fit) - 1)
    tenths = np.array_split(before[np.argsort(distance)], 10)
    rank = float(spearmanr(distance, -first_fit).statistic)
    return {"rank": rank, "before": [float(tenth.mean()) for tenth in tenths]}
