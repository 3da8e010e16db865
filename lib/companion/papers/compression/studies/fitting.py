"""Chapter 2, neuron by neuron and point by point: where each amplification comes to rest, and the fit after ``t*``."""

import math
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata, spearmanr

from companion.lab.record import Positive, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import SHOWN, Followed, Sizes, SmallScale
from companion.papers.compression.theory import Stripe, neuron_amplification, sees_data
from companion.papers.compression.theory.stripe import time_unit
from companion.papers.tasks import DRAWN, Fractions, StripeSet, TaskSet, draw_tasks, networks_of
from regimes.data.tasks import Task
from regimes.models.one_hidden import Network
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Trajectory, run
from regimes.training.state import satisfied, t_star

CHAPTER = "02"
HOME = 0.5  # of an attractor; two of one sign lie further apart, and few points move them
WIDTH, SHARE = 0.2, 0.05  # of a cluster: radians of the circle of planes, and the least share of the neurons


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


def _path(s: Followed, seed: int, **kept: Any) -> tuple[Task, Trajectory]:
    """Training set and path of one realisation; ``kept`` says to :func:`run` where it ends and what to keep."""
    (task,), network = draw_tasks(s, [seed], "train"), networks_of(s, [seed])
    return task, run(gradient_flow(network, task, alpha=s.alpha, tolerance=s.tolerance), **kept)


@study(columns=dict.fromkeys(("neurons", "size", "time"), STATISTICAL), **TRAINED)
def plateaus(s: Plateaus, seeds: list[int]) -> Rows:
    """The amplification of each attractor's neurons until ``t*``; a row an ``attractor``, unless no neuron is there.

    Its ``neurons`` see data and are within 0.5 of ``z*`` at ``t*``; medians over them: ``size``, ``λ* = |ω_1|/|ω_⊥|``
    there, and ``time``, when λ first was half of it, the paper's ``τ_⊥``, in units of ``τ``. ``predicted``:
    ``c √p/|N(z*)|`` with the noise of these training points. Source: paper A, Eq. 8 and 9 and footnote 3.
    """
    return [row for seed in seeds for row in _plateaus(s, seed)]


def _plateaus(s: Plateaus, seed: int) -> Rows:
    stripe, unit = Stripe(s.interfaces, s.d), time_unit(s.h, s.d)
    task, path = _path(s, seed, until=t_star, save=lambda state: (float(state.t) / unit, state.model.omega[0]))
    x, y = task.x[0].double().cpu().numpy(), task.y[0].cpu().numpy()
    times, omega = np.array([t for t, _ in path.saved[0]]), torch.stack([w for _, w in path.saved[0]]).double().cpu()
    sizes, sign = (neuron_amplification(omega, 1) / math.sqrt(stripe.d - 1)).numpy(), omega[-1, :, 0].sign().numpy()
    seen = sees_data(path.model.omega, path.model.b, task.x.to(path.model.omega))[0].cpu().numpy()
    zeta, rows = -np.tan(_angle(path.model)), []
    for point in stripe.attractors():
        own = seen & (abs(zeta - point.z) < HOME) & (sign == point.sign)
        if own.any():
            size, noise = sizes[:, own], float(np.linalg.norm(stripe.noise(x, y, point)))
            row = {"seed": seed, "attractor": point.z, "neurons": int(own.sum()), "size": float(np.median(size[-1]))}
            rows.append(row | {"predicted": point.constant * math.sqrt(len(x)) / noise, "time": _half(times, size)})
    return rows


def _half(times: np.ndarray, sizes: np.ndarray) -> float:
    """When half of the last of ``sizes (times, n)`` is first met, geometrically between states; the median over n."""
    logs = np.log(2 * sizes / sizes[-1])
    after = (logs >= 0).argmax(0).clip(1)
    low, high = (np.take_along_axis(logs, at[None], 0)[0] for at in (after - 1, after))
    share = np.divide(-low, high - low, out=np.ones_like(low), where=high > low).clip(0, 1)
    return float(np.median(times[after - 1] + share * (times[after] - times[after - 1])))


def _angle(network: Network) -> np.ndarray:
    """``atan2(√d b, ω_1)`` of one realisation, ``(h,)``: ``ζ = -tan``, and no jump where ``ω_1`` changes its sign."""
    return torch.atan2(math.sqrt(network.d) * network.b[0].double(), network.omega[0, :, 0].double()).cpu().numpy()


@study(columns=dict.fromkeys(("count", "held", "moved", "angles"), STATISTICAL), **TRAINED)
def clusters(s: Clusters, seeds: list[int]) -> Rows:
    """Where the neurons that see data at the first satisfied ``share`` are when each is first met; one row a share.

    A neuron's plane meets the first axis at ``ζ = -tan(angle)``. ``count``: clusters, windows of 0.2 in the angle that
    hold a twentieth of the neurons or more; ``held``: the share of the neurons in them; ``moved``: the mean distance of
    the angles from those at the first share; ``angles``: of the first neurons. Source: paper A, Sec. 3.2.1 and Fig. 5.
    """
    return [row for seed in seeds for row in _clusters(s, seed)]


def _clusters(s: Clusters, seed: int) -> Rows:
    rules = {share: satisfied(share) for share in s.shares}
    task, path = _path(s, seed, until=rules[s.shares[-1]], events=rules)
    met = {share: path.events[share][0].model for share in rules if 0 in path.events[share]}
    first = met[s.shares[0]]
    seen = sees_data(first.omega, first.b, task.x.to(first.omega))[0].cpu().numpy()
    angles, rows = {share: _angle(network)[seen] for share, network in met.items()}, []
    for share, angle in angles.items():
        found, moved = held_by_clusters(angle), _apart(angle, _angle(first)[seen]).mean()
        row = {"seed": seed, "share": share, "count": len(found), "held": sum(found) / len(angle)}
        rows.append(row | {"moved": float(moved), "angles": angle[:SHOWN].tolist()})
    return rows


def held_by_clusters(angles: np.ndarray) -> list[int]:
    """How many of the angles ``(n,)`` each cluster on the circle holds: windows that do not overlap, fullest first."""
    inside = _apart(angles[:, None], angles) <= WIDTH / 2
    free = np.ones(len(angles), dtype=bool)
    found = []
    while True:
        counts = (inside & free).sum(1) * free
        if counts.max() < SHARE * len(angles):
            return found
        found.append(int(counts.max()))
        free &= _apart(angles, angles[counts.argmax()]) > WIDTH


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return abs((one - other + math.pi) % (2 * math.pi) - math.pi)


@study(columns=dict.fromkeys(("rank", "before"), STATISTICAL), **TRAINED)
def exclusion(s: Exclusion, seeds: list[int]) -> Rows:
    """The order in which training points are first satisfied, against their distance from the nearest interface.

    ``rank``: Spearman's correlation of the distance and of how early ``yF`` first reaches 1, points that have not at
    the end all last; ``before``: for each tenth of the points by distance, the nearest first, the mean share of the
    points that are satisfied earlier. Source: paper A, Sec. 2.5, fitting regime.
    """
    rows, stop = [], satisfied(s.until)
    for seed in seeds:
        task, path = _path(s, seed, until=stop, save=lambda state: (state.margins[0] >= 1).cpu())
        met = torch.stack(path.saved[0])
        when = torch.where(met.any(0), met.int().argmax(0), len(met)).numpy()
        rows.append({"seed": seed} | _order((task.x - task.nearest(task.x)).norm(dim=-1)[0].cpu().numpy(), when))
    return rows


def _order(distance: np.ndarray, when: np.ndarray) -> dict[str, Any]:
    before = (rankdata(when) - 1) / (len(when) - 1)
    tenths = np.array_split(before[np.argsort(distance)], 10)
    rank = float(spearmanr(distance, -when).statistic)
    return {"rank": rank, "before": [float(tenth.mean()) for tenth in tenths]}
