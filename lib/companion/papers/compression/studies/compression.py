"""Chapter 2: how weights align with what matters, and how far the amplification goes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor

from companion.lab.record import Count, Distinct, Each, Increasing, Positive, Setting, derived, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import (
    SHOWN,
    Followed,
    Size,
    Sizes,
    SmallScale,
    fastest_attractor,
    fastest_ring,
    predicted_amplification,
)
from companion.papers.compression.theory import (
    FixedPoint,
    Stripe,
    amplification,
    attractor_distance,
    neuron,
    neuron_vector,
    sees_data,
)
from companion.papers.compression.theory.learning_curves import compress
from companion.papers.compression.theory.neuron import Neurons
from companion.papers.compression.theory.stripe import time_unit
from companion.papers.tasks import DRAWN, Planes, StripeSet, TaskSet, TestPoints, draw_tasks, networks_of
from regimes import validate
from regimes.data.tasks import Task
from regimes.measures.errors import wrong
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Snapshot, run, snapshot
from regimes.training.state import Rule, State, fitted, satisfied, t_star
from regimes.validate import InputError

CHAPTER = "02"
NEAR = 0.2  # of an attractor: stated before the first run, claim A.Fig4-attractors
SECTORS = 36  # of the plane, in which directions are counted
TRAINED = {"data": DRAWN, "device": "any"}  # studies of networks on the stripe or cylinder
Until = Positive[1] | Literal["star", "end"] | None


@record
class Resting(Followed):
    """Networks whose neurons come to rest somewhere, ``until`` t* (``star``), zero loss (``end``) or a fraction."""

    until: str = derived()

    usual_end: ClassVar[str] = "star"

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its task says, which has attractors or a ring; with where training ends."""
        task = self.of_task()
        if task.shape == "stripe":
            needs_attractor(task.interfaces, task.d)
        elif fastest_ring(task.radius, task.d, task.d_parallel)[1] is None:
            raise InputError(f"radius must leave a ring of fixed points for neurons, got none for {task.radius:g}")
        completed = super().completed(seeds)
        return replace(completed, until=completed.until or self.usual_end)


@record
class OnPlanes(Resting, StripeSet):
    """Networks on the stripe, until ``t*``."""


@record
class OnSizes(OnPlanes):
    """Networks on the stripe, with three or more sizes ``p`` of the training set."""

    p: Sizes


@record
class AtScales(OnPlanes):
    """Networks on the stripe at three or more small scales ``alpha``."""

    alpha: Each[Increasing[SmallScale, 3]]


@record
class AtSmallScales(OnPlanes):
    """Networks on the stripe at two or more small scales ``alpha``."""

    alpha: Each[Increasing[SmallScale, 2]]


@record
class AmplificationPaths(OnPlanes):
    """Networks on the stripe, until ``t*`` or beyond."""

    p: Each[Increasing[Size]]
    until: Until = None


@record
class LateTraining(OnPlanes):
    """Networks on the stripe, until ``t*`` or beyond, and ``test`` points that tell their errors."""

    until: Until = None
    test: TestPoints


@record
class AmplificationSizes(Resting, TaskSet):
    """Networks on three or more sizes ``p`` of the training set, until ``t*`` or beyond.

    Attributes:
        observe: what is measured beside the amplification, of :data:`OBSERVABLES`; a design that asks for none has the
            cells that it had before there were any.
    """

    p: Sizes
    until: Until = None
    observe: Distinct[Literal["directions"]] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its base; InputError for directions that are not in a plane."""
        whole = super().completed(seeds)
        if self.observe and whole.d_parallel != 2:
            raise InputError(f"observe asks for directions in a plane, d_parallel = 2, got {whole.d_parallel}")
        return whole


@record
class WeightSnapshots(Resting, TaskSet):
    """Networks to zero loss, stored at so many ``frames``."""

    frames: Count[2, 1000]

    usual_end: ClassVar[str] = "end"


@record
class Attractors(Setting):
    """The equations of motion on planes at ``interfaces``, in ``d`` dimensions."""

    interfaces: Planes
    d: Count[2, 100]

    def completed(self, seeds: Sequence[int]) -> Self:
        """If neurons have an attractor."""
        needs_attractor(self.interfaces, self.d)
        return self


@record
class NoiseSets(Setting):
    """So many ``sets`` of ``p`` points in the plane, labelled by planes at ``interfaces``."""

    interfaces: Planes
    p: Size
    sets: Count[10, 1_000_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """If memory holds the points, labels, gates and one product."""
        validate.memory(48 * self.sets * self.p, f"sets = {self.sets} with p = {self.p}")
        return self


def aligned(network: Network, d_parallel: int) -> float:
    """Share of ``Σ (βω)²`` in the informative directions, of one realisation; ``d_parallel/d`` for isotropic weights.

    Source: paper A, Fig. 2 and 7, the length of whose arrows is ``βω``.
    """
    square = (network.beta[0, :, None] * network.omega[0]).square().sum(0)
    return float(square[:d_parallel].sum() / square.sum())


def rule_of(until: float | str) -> Rule:
    """When a run stops: at ``t*`` (``"star"``), at zero loss (``"end"``), or at a satisfied fraction."""
    rules = {"star": t_star, "end": fitted}
    return rules[until] if isinstance(until, str) else satisfied(until)


def check_parameters(p: Mapping[str, Any]) -> None:
    """Sizes suffice for exponents."""
    for name in ("growth_p", "stop_p"):
        if sum(value >= p["growth_from"] for value in p[name]) < 2:
            raise InputError(f"{name} must hold at least 2 sizes from growth_from on: {p[name]}")


def needs_attractor(interfaces: Sequence[float], d: int) -> None:
    """Neurons must come to rest somewhere; InputError where planes leave no attractor."""
    if fastest_attractor(tuple(interfaces), d)[1] is None:
        raise InputError(f"interfaces must leave an attractor for neurons, got none for {interfaces}")


def _drawn(s: Resting, seed: int) -> tuple[Task, Network]:
    """Training set and initial network of a realisation, which do not depend on ``alpha`` and the end of training."""
    (train,) = draw_tasks(s, [seed], "train")
    return train, networks_of(s, [seed])


def _path(s: Resting, seed: int, dtype: str | torch.dtype = "auto") -> tuple[Task, list[Snapshot]]:
    """Training set and path of one realisation as far as the setting says, in float64 and units of ``τ``.

    Both on the CPU: what is read from a path is cheap, or numpy's.
    """
    task, network = _drawn(s, seed)
    unit = time_unit(s.h, s.d)
    states = gradient_flow(network, task, alpha=s.alpha, tolerance=s.tolerance, dtype=dtype)

    def save(state: State) -> Snapshot:
        moment = snapshot(state)
        return moment._replace(t=moment.t / unit, model=moment.model.to(dtype=torch.float64, device="cpu"))

    return task.to(device="cpu"), run(states, until=rule_of(s.until), save=save).saved[0]


def _star_index(path: Sequence[Snapshot]) -> int:
    """The number of the state at ``t*``."""
    return next(i for i, moment in enumerate(path) if moment.satisfied >= 0.1 - 1e-9)


@study(
    version=3,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    chunk=1,
    rtol=1e-3,
    # what is later than t* is another draw on another processor
    columns=dict.fromkeys(("t_star", "star", "star_code"), 1e-2) | dict.fromkeys(("largest", "ended"), STATISTICAL),
    **TRAINED,
)
def amplification_scaling(s: AmplificationSizes, seeds: list[int]) -> Rows:
    """Amplification along the path: ``star`` and ``star_code`` (the two means) at ``t_star``, ``largest`` so far.

    Runs go on to ``t*`` or to a satisfied fraction; times in units of ``τ``. ``predicted`` is theory's ``Λ*`` with the
    noise of these training points: of the fastest attractor of a stripe, of the ring of a cylinder. Where the setting
    observes ``directions``: how many the neurons have at ``t*`` in the informative plane, and ``directions_start``.

    Source: paper A, Fig. 6 and 8 and Eq. 8 to 10.
    """
    return [_growth(s, seed, s.observe or [])[0] for seed in seeds]


def directions(network: Network) -> float:
    """How many of ``SECTORS`` equal sectors of the informative plane hold the neurons of one realisation.

    ``1/Σ s²`` with their shares ``s`` of ``Σ (β ω_∥)²``: 1 where all have one direction, ``SECTORS`` where none stands
    out. Source: derived here; paper A, Fig. 7, shows arrows ``βω``.
    """
    omega = network.omega[0, :, :2].double().cpu()
    weights = (network.beta[0].double().cpu() ** 2 * omega.square().sum(-1)).numpy()
    angles = torch.atan2(omega[:, 1], omega[:, 0]).numpy()
    held, _ = np.histogram(angles, bins=SECTORS, range=(-np.pi, np.pi), weights=weights)
    return float(held.sum() ** 2 / np.square(held).sum())


OBSERVABLES = {"directions": directions}  # of a network, by the names that a design may ask for


def _growth(s: Resting, seed: int, observe: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of one realisation, and its path."""
    task, network = _drawn(s, seed)
    d_parallel = task.d_parallel
    unit = time_unit(s.h, s.d)
    states = gradient_flow(network, task, alpha=s.alpha, tolerance=s.tolerance)
    path = run(
        states, until=rule_of(s.until), observe=lambda state: {"size": amplification(state.model.omega, d_parallel)}
    )
    realisations, time, star, _ = path.at("t_star")
    if not realisations:
        raise InputError(f"no run reached t*: {path.ended[0]}")
    t = np.array([step["t"] for step in path.path])
    size = np.array([step["size"] for step in path.path])
    row = {
        "seed": seed,
        "t_star": float(time) / unit,
        "star": float(amplification(star.omega.double(), d_parallel)),
        "star_code": float(amplification(star.omega.double(), d_parallel, mean="arithmetic")),
        "start": float(amplification(network.omega, d_parallel)),
        "largest": float(size.max()),
        "ended": path.ended[0],
        "predicted": predicted_amplification(s, task.x[0], task.y[0]),
    }
    for name in observe:
        row[f"{name}_start"] = OBSERVABLES[name](network)
        row[name] = OBSERVABLES[name](star)
    steps = np.unique(np.linspace(0, len(size) - 1, SHOWN).round().astype(int))
    return row, {"time": (t[steps] / unit).tolist(), "size": size[steps].tolist()}


@study(version=1, rtol=1e-3, columns={"t_star": 1e-2, "time": STATISTICAL, "size": STATISTICAL}, **TRAINED)
def amplification_along_training(s: AmplificationPaths, seeds: list[int]) -> Rows:
    """Some runs of :data:`amplification_scaling` once more: ``size`` Λ at ``SHOWN`` steps, with the first and the last.

    ``time`` of these steps and ``t_star`` in units of ``τ``. Source: paper A, Fig. 6 top.
    """
    runs = [_growth(s, seed) for seed in seeds]
    return [{"seed": row["seed"], "t_star": row["t_star"]} | path for row, path in runs]


@study(version=1, rtol=1e-3, **TRAINED)
def characteristic_time(s: AtScales, seeds: list[int]) -> Rows:
    """As :data:`amplification_scaling`, with ``rate``, ``τ/τ*`` of the fastest attractor, beside ``t_star``.

    Source: paper A, Sec. 2.5 and 3.2.1.
    """
    rate = max(point.rate for point in Stripe(s.interfaces, s.d).attractors())
    return [_growth(s, seed)[0] | {"rate": rate} for seed in seeds]


@study(
    version=2,
    chunk=2,
    rtol=1e-2,
    columns=dict.fromkeys(("error_b", "error_omega_perp"), 2e-2),  # small: 1.2 % on another processor, 10^4 points
    nonfinite=("rate_0", "rate_1", "rate_2"),  # where no neuron is near that attractor
    **TRAINED,
)
def neurons(s: OnSizes, seeds: list[int]) -> Rows:
    """All neurons that see data against the equations of motion, until ``t*``, and against the attractors there.

    A neuron's error is the largest along the path of ``|Δw|`` over the norm of ``(ω_1, ω_⊥, b, β)``. ``error`` is the
    median over neurons, ``error_90`` the quantile 0.9, ``error_free`` the median until the first margin is met, and
    ``error_omega_1`` and so on the medians of the four. ``near`` is the share within 0.2 of an attractor at ``t*``,
    ``off`` the mean distance of the intercept ``ζ`` from the nearest attractor of its sign, with weights ``(βω)²``.
    ``rate_k`` is the growth rate of ``ω_1`` over that predicted, at attractor ``k``.

    Source: paper A, Fig. 4 and 5.
    """
    return [_neurons(s, seed) for seed in seeds]


@study(version=1, chunk=1, rtol=1e-2, **TRAINED)
def attractor_shares(s: AtSmallScales, seeds: list[int]) -> Rows:
    """Where neurons are at ``t*``, for scales ``alpha`` down to those that leave them all the time they need.

    Of the neurons that saw data at the start: ``near``, the share within 0.2 of an attractor; ``blind``, the share that
    has moved to where it sees no training point, and rests there. ``near_seeing``: the near ones among those that still
    see data. Source: paper A, Fig. 4c.
    """
    return [_attractor_shares(s, seed) for seed in seeds]


def _attractor_shares(s: AtSmallScales, seed: int) -> dict[str, Any]:
    task, path = _path(s, seed)
    first = path[0].model
    last = path[-1].model
    x = task.x[0]
    active = sees_data(first.omega[0], first.b[0], x)
    distance = attractor_distance(last.omega[0], last.b[0], x, Stripe(s.interfaces, s.d).attractors())[active]
    near = distance < NEAR
    blind = torch.isnan(distance)
    return {
        "seed": seed,
        "t_star": path[-1].t,
        "near": float(near.double().mean()),
        "blind": float(blind.double().mean()),
        "near_seeing": float(near[~blind].double().mean()),
    }


def _weights(neurons: Neurons) -> np.ndarray:
    """``(ω_1, ω_⊥, b, β)`` along the last axis."""
    return np.concatenate([neurons.omega, neurons.b[..., None], neurons.beta[..., None]], -1)


def _neurons_of(network: Network, active: np.ndarray) -> Neurons:
    """The active neurons of one realisation."""
    return Neurons(network.omega[0].numpy()[active], network.b[0].numpy()[active], network.beta[0].numpy()[active])


@dataclass(frozen=True)
class _Prediction:
    """One run beside the equations of motion.

    Attributes:
        task: the training set.
        path: the states of the run, the first at time 0.
        active: which neurons see data at the start ``(h,)``.
        times: of all states but the first ``(k,)``.
        network: the weights of the active neurons at these times, ``(k, n, d + 2)``.
        ode: those of the equations of motion, likewise.
    """

    task: Task
    path: list[Snapshot]
    active: np.ndarray
    times: np.ndarray
    network: np.ndarray
    ode: np.ndarray


def _predicted(s: OnPlanes, seed: int) -> _Prediction:
    task, path = _path(s, seed)
    first = path[0].model
    active = sees_data(first.omega[0], first.b[0], task.x[0]).numpy()
    times = np.array([moment.t for moment in path[1:]])
    network = np.stack([_weights(_neurons_of(moment.model, active)) for moment in path[1:]])
    stripe = Stripe(s.interfaces, s.d)
    start = _neurons_of(first, active)
    ode = neuron.predicted_paths(stripe, start, task.x[0].numpy(), task.y[0].numpy(), times)
    return _Prediction(task, path, active, times, network, _weights(ode))


def _neurons(s: OnSizes, seed: int) -> dict[str, Any]:
    stripe = Stripe(s.interfaces, s.d)
    prediction = _predicted(s, seed)
    network = prediction.network
    active = prediction.active
    error = np.abs(prediction.ode - network) / np.linalg.norm(network, axis=-1, keepdims=True)
    free = sum(float(moment.margins.max()) < 1 for moment in prediction.path[1:])
    largest = error.max(-1).max(0)
    end = prediction.path[-1]
    x = prediction.task.x[0]
    distance = attractor_distance(end.model.omega[0], end.model.b[0], x, stripe.attractors()).numpy()[active]
    row = {
        "seed": seed,
        "t_star": end.t,
        "sees_data": float(active.mean()),
        "error": float(np.median(largest)),
        "error_90": float(np.quantile(largest, 0.9)),
        "error_free": float(np.median(error[:free].max(-1).max(0))),
        "near": float((distance < NEAR).mean()),
        "off": _off(stripe, network[-1]),
    }
    names = ("error_omega_1", "error_omega_perp", "error_b", "error_beta")
    row |= dict(zip(names, np.median(error.max(0), axis=0).tolist(), strict=True))
    return row | _rates(stripe, prediction.times, network, free)


def _off(stripe: Stripe, weights: np.ndarray) -> float:
    """Mean ``|ζ - z*|`` to the nearest attractor of a neuron's sign, by its ``(βω)²``; ``weights (n, d + 2)``."""
    omega = weights[:, : stripe.d]
    b = weights[:, stripe.d]
    beta = weights[:, stripe.d + 1]
    zeta = -math.sqrt(stripe.d) * b / omega[:, 0]
    weight = ((beta[:, None] * omega) ** 2).sum(-1)
    sign = np.sign(omega[:, 0])
    gaps = [np.where(sign == point.sign, abs(zeta - point.z), np.inf) for point in stripe.attractors()]
    nearest = np.min(gaps, axis=0)
    finite = np.isfinite(nearest)  # a sign without attractors has no weight worth counting
    return float(np.average(nearest[finite], weights=weight[finite]))


def _rates(stripe: Stripe, times: np.ndarray, network: np.ndarray, free: int) -> dict[str, float | None]:
    """Measured over predicted growth rates of ``ω_1``, from ``1/τ*`` before the first margin is met until then.

    Of neurons within 0.1 of the attractor all the while; ``None`` where there are fewer than five.
    """
    rates = {}
    last = free - 1
    for k, point in enumerate(stripe.attractors()):
        first = int(np.searchsorted(times, times[last] - 1 / point.rate))
        omega_1 = network[[first, last], :, 0]
        zeta = -math.sqrt(stripe.d) * network[[first, last], :, stripe.d] / omega_1
        members = ((abs(zeta - point.z) < NEAR / 2) & (np.sign(omega_1) == point.sign)).all(0)
        rates[f"rate_{k}"] = None
        if members.sum() >= 5 and first < last:
            growth = np.log(omega_1[1, members] / omega_1[0, members]) / (times[last] - times[first])
            rates[f"rate_{k}"] = float(np.median(growth)) / point.rate
    return rates


@study(version=1, rtol=1e-2, **TRAINED)
def neuron_paths(s: OnPlanes, seeds: list[int]) -> Rows:
    """The first neurons that see data until ``t*``, one row per ``neuron``: ``t``, ``z``, ``weights``, ``predicted``.

    ``weights (times, 4)`` are ``(ω_1, ω_⊥, b, β)`` of the network, ``predicted`` those of the equations of motion.
    Source: paper A, Fig. 4a and c.
    """
    rows = []
    for seed in seeds:
        prediction = _predicted(s, seed)
        vectors = [neuron_vector(moment.model.omega[0], moment.model.b[0]) for moment in prediction.path]
        z = torch.stack(vectors).numpy()[:, prediction.active]
        for n in range(min(SHOWN, prediction.network.shape[1])):
            row = {"seed": seed, "neuron": n, "t": prediction.times.tolist(), "z": z[:, n].tolist()}
            row["weights"] = prediction.network[:, n].tolist()
            row["predicted"] = prediction.ode[:, n].tolist()
            rows.append(row)
    return rows


@study(
    version=2,
    rtol=1e-2,
    # after t* another processor takes other steps: the lists are another path's
    columns=dict.fromkeys("t loss error error_end profile_t profile zeta".split(), STATISTICAL),
    **TRAINED,
)
def late_training(s: LateTraining, seeds: list[int]) -> Rows:
    """The fit after ``t*``, until a fraction of the points: ``t``, ``loss`` and ``error`` of each state as lists.

    ``profile_t``: ``t*``, a time half-way in the logarithm of the loss, and the end; ``profile (3, 121)`` is ``F`` on
    ``e_1`` for ``x_1`` from -3 to 3 there, ``zeta`` the intercepts. Source: paper A, Fig. 5.
    """
    return [_late_training(s, seed) for seed in seeds]


def _late_training(s: LateTraining, seed: int) -> dict[str, Any]:
    _, path = _path(s, seed)
    (test,) = draw_tasks(s, [seed], "test")
    test = test.to(device="cpu")
    first = path[0].model
    error = [float(wrong(moment.model(test.x) - first(test.x), test.y)) for moment in path]
    loss = [moment.loss for moment in path]
    star = _star_index(path)
    halfway = math.sqrt(loss[star] * loss[-1])
    middle = star + int(np.argmin([abs(value - halfway) for value in loss[star:]]))
    axis = torch.zeros(121, s.d, dtype=torch.float64)
    axis[:, 0] = torch.linspace(-3, 3, 121)
    moments = [path[star], path[middle], path[-1]]
    return {
        "seed": seed,
        "t": [moment.t for moment in path],
        "loss": loss,
        "error": error,
        "error_star": error[star],
        "error_end": error[-1],
        "profile_t": [moment.t for moment in moments],
        "profile": [(s.alpha * (moment.model(axis) - first(axis)))[0].tolist() for moment in moments],
        "zeta": [_intercepts(moment.model).tolist() for moment in moments],
    }


def _intercepts(network: Network) -> Tensor:
    """``ζ_1 = -√d b/ω_1`` of one realisation."""
    return -math.sqrt(network.d) * network.b[0] / network.omega[0, :, 0]


@study(
    version=1,
    rtol=1e-2,
    # a mean that round-off alone keeps from zero; and what comes after t*, where another processor steps otherwise
    columns={"deviation": (1e-2, 1e-12)}
    | dict.fromkeys(("t", "loss", "share", "arrows", "amplification", "inflation"), STATISTICAL),
    **TRAINED,
)
def weight_snapshots(s: WeightSnapshots, seeds: list[int]) -> Rows:
    """Weights along training to zero loss, one row per ``frame``: ``t``, ``share`` of ``Σ (βω)²`` that is informative.

    ``arrows (n, d)`` are ``βω`` of the first neurons over the root mean square of all; ``points`` and ``labels`` a part
    of the training set. ``inflation``: growth of rms ``ω_∥`` over that of rms ``ω_⊥`` from the start. ``deviation``:
    largest relative difference between the network and the one with ``ω_⊥`` times ``Λ`` on compressed points.
    Source: paper A, Fig. 1, 2 and 7.
    """
    return [row for seed in seeds for row in _weight_snapshots(s, seed)]


def _weight_snapshots(s: WeightSnapshots, seed: int) -> Rows:
    task, path = _path(s, seed)
    star = _star_index(path)
    spaced = np.linspace(0, len(path) - 1, s.frames).astype(int).tolist()
    d_parallel = task.d_parallel
    start = float(amplification(path[0].model.omega, d_parallel))
    rows = []
    for frame, i in enumerate(sorted({*spaced, star})):
        network = path[i].model
        arrows = network.beta[0, :, None] * network.omega[0]
        arrows = arrows / arrows.square().sum(-1).mean().sqrt()
        size = float(amplification(network.omega, d_parallel))
        row = {
            "seed": seed,
            "frame": frame,
            "t": path[i].t,
            "star": i == star,
            "loss": path[i].loss,
            "share": aligned(network, d_parallel),
            "inflation": size / start,
            "amplification": size,
            "deviation": _deviation(network, task.x[0], d_parallel, size),
            "arrows": arrows[:SHOWN].tolist(),
            "points": task.x[0, :200].tolist(),
            "labels": task.y[0, :200].tolist(),
        }
        rows.append(row)
    return rows


def _deviation(network: Network, x: Tensor, d_parallel: int, size: float) -> float:
    """Of the network on ``x`` from the one with larger ``ω_⊥`` on compressed points. Source: paper A, Fig. 1."""
    omega = network.omega.clone()
    omega[..., d_parallel:] *= size
    stretched = Network(omega, network.b, network.beta)
    compressed = compress(x, d_parallel, torch.tensor(size, dtype=torch.float64))
    f = network(x)
    return float((stretched(compressed) - f).abs().max() / f.abs().max())


@study(version=1, data="equations of motion, no network")
def perpendicular(s: Attractors, seeds: list[int]) -> Rows:
    """Time constants of ``ω_⊥`` without noise, from Eq. 6, over Eq. 16 as printed; one row per ``attractor``.

    Source: paper A, App. C.2.
    """
    stripe = Stripe(s.interfaces, s.d)
    ratios = [(point.z, _perpendicular(stripe, point)) for point in stripe.attractors()]
    return [{"seed": seed, "attractor": z, "ratio": ratio} for seed in seeds for z, ratio in ratios]


def _perpendicular(stripe: Stripe, point: FixedPoint) -> float:
    stretch = math.sqrt(1 + point.z**2 / stripe.d)
    omega = np.zeros((1, stripe.d))
    omega[0, 0], omega[0, 1] = point.sign, 1e-7
    beta = np.array([np.sign(point.c_1) * point.sign * stretch])
    start = Neurons(omega, -point.z * omega[:, 0] / math.sqrt(stripe.d), beta)
    end = neuron.follow(stripe, start, np.array([0.2]))
    rate = math.log(end.omega[0, 0, 1] / omega[0, 1]) / 0.2
    printed = stretch * math.exp(-(point.z**2) / 2) / (2 * math.pi)
    return printed / abs(rate)


@study(version=1, data="Gaussian training sets, drawn here")
def noise(s: NoiseSets, seeds: list[int]) -> Rows:
    """The force on ``ω_⊥`` over many training sets: ``exponent`` of its standard deviation in ``D_⊥``.

    Each training set has ``p`` points; intercepts lie at -1.5, -0.7, 0, 0.7 and 1.5.
    Source: paper A, Eq. 8 and App. C.3.
    """
    stripe = Stripe(s.interfaces, 2)
    return [{"seed": seed, "exponent": _noise_exponent(stripe, s, seed)} for seed in seeds]


def _noise_exponent(stripe: Stripe, s: NoiseSets, seed: int) -> float:
    (seed,) = draw_seeds("noise", [seed], size=s.p)
    x = np.random.default_rng(seed).standard_normal((s.sets, s.p, 2))
    y = stripe.label(x[..., 0])
    intercepts = np.array([-1.5, -0.7, 0.0, 0.7, 1.5])
    force = [(y * (x[..., 0] > z) * x[..., 1]).mean(-1).std() for z in intercepts]
    return float(np.polyfit(np.log(stripe.d_perp(intercepts, 1)), np.log(force), 1)[0])
