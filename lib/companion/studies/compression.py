"""Chapter 2: how weights align with what matters, and how far the amplification goes."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from companion.experiments.sweep import STATISTICAL, Rows, Setting, study
from companion.studies._tasks import DRAWN, draw_task, needs_flow, networks_of, of_task
from companion.studies.lazy_feature import fastest_attractor, fastest_ring, predicted_amplification
from companion.theory.compression import (
    FixedPoint,
    Stripe,
    amplification,
    attractor_distance,
    neuron,
    neuron_vector,
    sees_data,
)
from companion.theory.compression.neuron import Neurons
from companion.theory.compression.stripe import time_unit
from companion.theory.learning_curves import compress
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
SHOWN = 60  # neurons whose weights a frame keeps; steps of a path
SIZE, SIZES = "count from 10 to 1e5", "increasing counts from 10 to 1e5"
SCALES = "increasing numbers from 1e-140 to 1e-2"
PLANES = {"interfaces": "increasing numbers from -4 to 4"}
STRIPE = PLANES | {"d": "count from 2 to 100", "p": SIZE, "h": SIZE}
STRIPE |= {"alpha": "number from 1e-20 to 1e10", "tolerance": "number from 1e-4 to 0.2"}
TASK = {"shape": "one of stripe, cylinder"} | STRIPE
TASK |= {"d_parallel": "optional count from 2 to 98", "radius": "optional positive to 20"}
STOP = {"until": "optional positive to 1"}  # a satisfied fraction


def aligned(network: Network, d_parallel: int) -> float:
    """Share of ``Σ (βω)²`` in the informative directions, of one realisation; ``d_parallel/d`` for isotropic weights.

    Source: paper A, Fig. 2 and 7, the length of whose arrows is ``βω``.
    """
    square = (network.beta[0, :, None] * network.omega[0]).square().sum(0)
    return float(square[:d_parallel].sum() / square.sum())


def until(setting: Setting) -> Rule:
    """When a run of the setting stops: at ``t*`` (``"star"``), at zero loss (``"end"``), or at a satisfied fraction."""
    named = {"star": t_star, "end": fitted}
    return named[setting["until"]] if isinstance(setting["until"], str) else satisfied(setting["until"])


def check_parameters(p: Mapping[str, Any]) -> None:
    """Sizes suffice for exponents."""
    for name in ("growth_p", "stop_p"):
        if sum(value >= p["growth_from"] for value in p[name]) < 2:
            raise InputError(f"{name} must hold at least 2 sizes from growth_from on: {p[name]}")


def _fits(setting: Setting) -> Setting:
    """A setting without the axes of other tasks; by default that of the stripe, trained until ``t*``.

    Raises:
        InputError: as ``_needs_rest``, for training sets of a single label, and for a flow that memory does not hold.
    """
    _needs_rest(setting)
    found = of_task({"shape": "stripe", "until": "star"} | setting)
    needs_flow(found)
    return found


TRAINED = {"complete": _fits, "data": DRAWN, "device": "any"}  # studies of networks on the stripe or cylinder


def _needs_rest(setting: Setting) -> Setting:
    """The setting, if neurons come to rest somewhere and a cylinder has an uninformative direction."""
    d, planes, along, radius = (setting.get(name) for name in ("d", "interfaces", "d_parallel", "radius"))
    if setting.get("shape") != "cylinder":
        if fastest_attractor(tuple(planes), d)[1] is None:
            raise InputError(f"interfaces must leave an attractor for neurons, got none for {planes}")
    elif not along or not radius:
        raise InputError("a cylinder needs d_parallel and radius")
    elif along >= d:
        raise InputError(f"d_parallel must be below d = {d}, to leave an uninformative direction, got {along}")
    elif fastest_ring(radius, d, along)[1] is None:
        raise InputError(f"radius must leave a ring of fixed points for neurons, got none for {radius:g}")
    return setting


def _drawn(setting: Setting, seeds: list[int]) -> tuple[Task, Network]:
    """Training set and initial networks of the setting, which do not depend on ``alpha`` and the end of training."""
    return draw_task(setting, "train", setting["p"], seeds), networks_of(setting, seeds)


def _one(setting: Setting, seed: int, *, dtype: Any = "auto") -> tuple[Task, list[Snapshot]]:
    """Training set and path of one realisation until ``setting["until"]``, in float64 and units of ``τ``.

    Both on the CPU: what is read from a path is cheap, or numpy's.
    """
    task, network = _drawn(setting, [seed])
    unit = time_unit(setting["h"], setting["d"])
    states = gradient_flow(network, task, alpha=setting["alpha"], tolerance=setting["tolerance"], dtype=dtype)

    def keep(state: State) -> Snapshot:
        found = snapshot(state)
        return found._replace(t=found.t / unit, model=found.model.to(dtype=torch.float64, device="cpu"))

    return task.to(device="cpu"), run(states, until=until(setting), save=keep).saved[0]


@study(
    version=2,
    axes=TASK | STOP | {"p": f"each of 3 or more {SIZES}"},
    chunk=1,
    rtol=1e-3,
    # float32 on thousands of points moves t* by 1e-3 from one processor to another; later is another draw
    columns=dict.fromkeys(("t_star", "star", "star_code"), 1e-2) | dict.fromkeys(("largest", "ended"), STATISTICAL),
    **TRAINED,
)
def growth(setting: Setting, seeds: list[int]) -> Rows:
    """Amplification along the path: ``star`` and ``star_code`` (the two means) at ``t_star``, ``largest`` so far.

    Runs go on to ``t*`` or to a satisfied fraction; times in units of ``τ``. ``predicted`` is theory's ``Λ*`` with the
    noise of these training points: of the fastest attractor of a stripe, of the ring of a cylinder.

    Source: paper A, Fig. 6 and 8 and Eq. 8 to 10.
    """
    return [_growth(setting, seed)[0] for seed in seeds]


def _growth(setting: Setting, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of one realisation, and its path."""
    task, network = _drawn(setting, [seed])
    along, unit = task.d_parallel, time_unit(setting["h"], setting["d"])
    states = gradient_flow(network, task, alpha=setting["alpha"], tolerance=setting["tolerance"])
    path = run(states, until=until(setting), observe=lambda s: {"size": amplification(s.model.omega, along)})
    rows, t_star, star, _ = path.at("t_star")
    if not rows:
        raise InputError(f"no run reached t*: {path.ended[0]}")
    t, size = (np.array([row[name] for row in path.path]) for name in ("t", "size"))
    row = {
        "seed": seed,
        "t_star": float(t_star) / unit,
        "star": float(amplification(star.omega.double(), along)),
        "star_code": float(amplification(star.omega.double(), along, mean="arithmetic")),
        "start": float(amplification(network.omega, along)),
        "largest": float(size.max()),
        "ended": path.ended[0],
        "predicted": predicted_amplification(setting, task.x[0], task.y[0]),
    }
    shown = np.unique(np.linspace(0, len(size) - 1, SHOWN).round().astype(int))
    return row, {"time": (t[shown] / unit).tolist(), "size": size[shown].tolist()}


@study(
    version=1,
    axes=STRIPE | STOP | {"p": f"each of {SIZES}"},
    rtol=1e-3,
    columns={"t_star": 1e-2, "time": STATISTICAL, "size": STATISTICAL},
    **TRAINED,
)
def courses(setting: Setting, seeds: list[int]) -> Rows:
    """Some runs of :data:`growth` once more: ``size`` Λ at ``SHOWN`` steps, the first and the last among them.

    ``time`` of these steps and ``t_star`` in units of ``τ``. Source: paper A, Fig. 6 top.
    """
    runs = [_growth(setting, seed) for seed in seeds]
    return [{"seed": row["seed"], "t_star": row["t_star"]} | path for row, path in runs]


@study(version=1, axes=STRIPE | {"alpha": f"each of 3 or more {SCALES}"}, rtol=1e-3, **TRAINED)
def characteristic_time(setting: Setting, seeds: list[int]) -> Rows:
    """As :data:`growth`, with ``rate``, ``τ/τ*`` of the fastest attractor, beside ``t_star``.

    Source: paper A, Sec. 2.5 and 3.2.1.
    """
    rate = max(a.rate for a in Stripe(setting["interfaces"], setting["d"]).attractors())
    return [_growth(setting, seed)[0] | {"rate": rate} for seed in seeds]


@study(
    version=2,
    axes=STRIPE | {"p": f"each of 3 or more {SIZES}"},
    chunk=2,
    rtol=1e-2,
    nonfinite=("rate_0", "rate_1", "rate_2"),  # where no neuron is near that attractor
    **TRAINED,
)
def neurons(setting: Setting, seeds: list[int]) -> Rows:
    """All neurons that see data against the equations of motion, until ``t*``, and against the attractors there.

    A neuron's error is the largest along the path of ``|Δw|`` over the norm of ``(ω_1, ω_⊥, b, β)``. ``error`` is the
    median over neurons, ``error_90`` the quantile 0.9, ``error_free`` the median until the first margin is met, and
    ``error_omega_1`` and so on the medians of the four. ``near`` is the share within 0.2 of an attractor at ``t*``,
    ``off`` the mean distance of the intercept ``ζ`` from the nearest attractor of its sign, with weights ``(βω)²``.
    ``rate_k`` is the growth rate of ``ω_1`` over that predicted, at attractor ``k``.

    Source: paper A, Fig. 4 and 5.
    """
    return [_neurons(setting, seed) for seed in seeds]


@study(version=1, axes=STRIPE | {"alpha": f"each of 2 or more {SCALES}"}, chunk=1, rtol=1e-2, **TRAINED)
def arrivals(setting: Setting, seeds: list[int]) -> Rows:
    """Where neurons are at ``t*``, for scales ``alpha`` down to those that leave them all the time they need.

    Of the neurons that saw data at the start: ``near``, the share within 0.2 of an attractor; ``blind``, the share that
    has moved to where it sees no training point, and rests there. ``near_seeing``: the near ones among those that still
    see data. Source: paper A, Fig. 4c.
    """
    return [_arrivals(setting, seed) for seed in seeds]


def _arrivals(setting: Setting, seed: int) -> dict[str, Any]:
    task, path = _one(setting, seed)
    first, last, x = path[0].model, path[-1].model, task.x[0]
    seen = sees_data(first.omega[0], first.b[0], x)
    distance = attractor_distance(last.omega[0], last.b[0], x, Stripe(setting["interfaces"], setting["d"]).attractors())
    near, blind = (distance < NEAR)[seen], torch.isnan(distance)[seen]
    return {
        "seed": seed,
        "t_star": path[-1].t,
        "near": float(near.double().mean()),
        "blind": float(blind.double().mean()),
        "near_seeing": float(near[~blind].double().mean()),
    }


def _pack(*parts: np.ndarray) -> np.ndarray:
    """``(ω_1, ω_⊥, b, β)`` along the last axis."""
    omega, b, beta = parts
    return np.concatenate([omega, b[..., None], beta[..., None]], -1)


def _both(setting: Setting, seed: int) -> tuple[Stripe, Task, list[Snapshot], np.ndarray, np.ndarray, np.ndarray]:
    """One run and its prediction: the weights of neurons that see data, ``(times, n, d + 2)``, network and ODE."""
    stripe = Stripe(setting["interfaces"], setting["d"])
    task, path = _one(setting, seed)
    begun = path[0].model
    seen = sees_data(begun.omega[0], begun.b[0], task.x[0]).numpy()
    start = Neurons(begun.omega[0].numpy()[seen], begun.b[0].numpy()[seen], begun.beta[0].numpy()[seen])
    times = np.array([moment.t for moment in path[1:]])
    found = neuron.predicted_paths(stripe, start, task.x[0].numpy(), task.y[0].numpy(), times)
    weights = [_pack(*(w[0].numpy()[seen] for w in (m.model.omega, m.model.b, m.model.beta))) for m in path[1:]]
    return stripe, task, path, seen, np.stack(weights), _pack(found.omega, found.b, found.beta)


def _neurons(setting: Setting, seed: int) -> dict[str, Any]:
    stripe, task, path, seen, network, ode = _both(setting, seed)
    error = np.abs(ode - network) / np.linalg.norm(network, axis=-1, keepdims=True)
    free = sum(float(moment.margins.max()) < 1 for moment in path[1:])
    largest = error.max(-1).max(0)
    end = path[-1].model
    distance = attractor_distance(end.omega[0], end.b[0], task.x[0], stripe.attractors()).numpy()[seen]
    row = {
        "seed": seed,
        "t_star": path[-1].t,
        "sees_data": float(seen.mean()),
        "error": float(np.median(largest)),
        "error_90": float(np.quantile(largest, 0.9)),
        "error_free": float(np.median(error[:free].max(-1).max(0))),
        "near": float((distance < NEAR).mean()),
        "off": _off(stripe, network[-1]),
    }
    names = ("error_omega_1", "error_omega_perp", "error_b", "error_beta")
    row |= dict(zip(names, np.median(error.max(0), axis=0).tolist(), strict=True))
    return row | _rates(stripe, np.array([m.t for m in path[1:]]), network, free)


def _off(stripe: Stripe, weights: np.ndarray) -> float:
    """Mean ``|ζ - z*|`` to the nearest attractor of a neuron's sign, by its ``(βω)²``; ``weights (n, d + 2)``."""
    omega, b, beta = weights[:, : stripe.d], weights[:, stripe.d], weights[:, stripe.d + 1]
    zeta, weight = -math.sqrt(stripe.d) * b / omega[:, 0], (beta[:, None] * omega).__pow__(2).sum(-1)
    gaps = [np.where(np.sign(omega[:, 0]) == a.sign, abs(zeta - a.z), np.inf) for a in stripe.attractors()]
    nearest = np.min(gaps, axis=0)
    there = np.isfinite(nearest)  # a sign without attractors has no weight worth counting
    return float(np.average(nearest[there], weights=weight[there]))


def _rates(stripe: Stripe, times: np.ndarray, network: np.ndarray, free: int) -> dict[str, float | None]:
    """Measured over predicted growth rates of ``ω_1``, from ``1/τ*`` before the first margin is met until then.

    Of neurons within 0.1 of the attractor all the while; ``None`` where there are fewer than five.
    """
    found = {}
    last = free - 1
    for k, point in enumerate(stripe.attractors()):
        first = int(np.searchsorted(times, times[last] - 1 / point.rate))
        omega_1 = network[[first, last], :, 0]
        zeta = -math.sqrt(stripe.d) * network[[first, last], :, stripe.d] / omega_1
        at = ((abs(zeta - point.z) < NEAR / 2) & (np.sign(omega_1) == point.sign)).all(0)
        growth = np.log(omega_1[1, at] / omega_1[0, at]) / (times[last] - times[first]) if first < last else []
        found[f"rate_{k}"] = float(np.median(growth)) / point.rate if at.sum() >= 5 and first < last else None
    return found


@study(version=1, axes=STRIPE, rtol=1e-2, **TRAINED)
def paths(setting: Setting, seeds: list[int]) -> Rows:
    """The first neurons that see data until ``t*``, one row a ``neuron``: ``t``, ``z`` and ``weights``, ``predicted``.

    ``weights (times, 4)`` are ``(ω_1, ω_⊥, b, β)`` of the network, ``predicted`` those of the equations of motion.
    Source: paper A, Fig. 4a and c.
    """
    rows = []
    for seed in seeds:
        _, _, path, seen, network, ode = _both(setting, seed)
        z = torch.cat([neuron_vector(m.model.omega[0], m.model.b[0])[None] for m in path]).numpy()[:, seen]
        t = [moment.t for moment in path[1:]]
        for n in range(min(SHOWN, network.shape[1])):
            row = {"seed": seed, "neuron": n, "t": t, "z": z[:, n].tolist(), "weights": network[:, n].tolist()}
            rows.append(row | {"predicted": ode[:, n].tolist()})
    return rows


@study(
    version=1,
    axes=STRIPE | STOP | {"test": "count from 10 to 1e6"},
    rtol=1e-2,
    # after t* another processor takes other steps: the lists are another path's
    columns=dict.fromkeys("t loss error error_end profile_t profile zeta".split(), STATISTICAL),
    **TRAINED,
)
def fit(setting: Setting, seeds: list[int]) -> Rows:
    """The fit after ``t*``, until a fraction of the points: ``t``, ``loss`` and ``error`` of each state as lists.

    ``profile_t``: ``t*``, a time half-way in the logarithm of the loss, and the end; ``profile (3, 121)`` is ``F`` on
    ``e_1`` for ``x_1`` from -3 to 3 there, ``zeta`` the intercepts. Source: paper A, Fig. 5.
    """
    return [_fit(setting, seed) for seed in seeds]


def _fit(setting: Setting, seed: int) -> dict[str, Any]:
    _, path = _one(setting, seed)
    test, first = draw_task(setting, "test", setting["test"], [seed]).to(device="cpu"), path[0].model
    error = [float(wrong(m.model(test.x) - first(test.x), test.y)) for m in path]
    star = next(i for i, m in enumerate(path) if m.satisfied >= 0.1 - 1e-9)
    middle = star + int(np.argmin([abs(m.loss - math.sqrt(path[star].loss * path[-1].loss)) for m in path[star:]]))
    axis = torch.zeros(121, setting["d"], dtype=torch.float64)
    axis[:, 0] = torch.linspace(-3, 3, 121)
    shown = [path[i] for i in (star, middle, len(path) - 1)]
    return {
        "seed": seed,
        "t": [m.t for m in path],
        "loss": [m.loss for m in path],
        "error": error,
        "error_star": error[star],
        "error_end": error[-1],
        "profile_t": [m.t for m in shown],
        "profile": [(setting["alpha"] * (m.model(axis) - first(axis)))[0].tolist() for m in shown],
        "zeta": [_intercepts(m.model).tolist() for m in shown],
    }


def _intercepts(network: Network) -> Tensor:
    """``ζ_1 = -√d b/ω_1`` of one realisation."""
    return -math.sqrt(network.d) * network.b[0] / network.omega[0, :, 0]


@study(
    version=1,
    axes=TASK | {"frames": "count from 2 to 1000"},
    rtol=1e-2,
    # a mean that round-off alone keeps from zero; and what comes after t*, where another processor steps otherwise
    columns={"deviation": (1e-2, 1e-12)}
    | dict.fromkeys(("t", "loss", "share", "arrows", "amplification", "inflation"), STATISTICAL),
    **TRAINED | {"complete": lambda setting: _fits({"until": "end"} | setting)},
)
def frames(setting: Setting, seeds: list[int]) -> Rows:
    """Weights along training to zero loss, one row a ``frame``: ``t``, ``share`` of ``Σ (βω)²`` that is informative.

    ``arrows (n, d)`` are ``βω`` of the first neurons over the root mean square of all; ``points`` and ``labels`` a part
    of the training set. ``inflation``: growth of rms ``ω_∥`` over that of rms ``ω_⊥`` from the start. ``deviation``:
    largest relative difference between the network and the one with ``ω_⊥`` times ``Λ`` on compressed points.
    Source: paper A, Fig. 1, 2 and 7.
    """
    return [row for seed in seeds for row in _frames(setting, seed)]


def _frames(setting: Setting, seed: int) -> Rows:
    task, path = _one(setting, seed)
    star = next(i for i, m in enumerate(path) if m.satisfied >= 0.1 - 1e-9)
    chosen = sorted({*np.linspace(0, len(path) - 1, setting["frames"]).astype(int).tolist(), star})
    along, start = task.d_parallel, float(amplification(path[0].model.omega, task.d_parallel))
    rows = []
    for number, i in enumerate(chosen):
        network = path[i].model
        arrows = network.beta[0, :, None] * network.omega[0]
        arrows = arrows / arrows.square().sum(-1).mean().sqrt()
        size = float(amplification(network.omega, along))
        row = {"seed": seed, "frame": number, "t": path[i].t, "star": i == star, "loss": path[i].loss}
        row |= {"share": aligned(network, along), "inflation": size / start, "amplification": size}
        row |= {"deviation": _deviation(network, task.x[0], along, size), "arrows": arrows[:SHOWN].tolist()}
        rows.append(row | {"points": task.x[0, :200].tolist(), "labels": task.y[0, :200].tolist()})
    return rows


def _deviation(network: Network, x: Tensor, along: int, size: float) -> float:
    """Of the network on ``x`` from the one with larger ``ω_⊥`` on compressed points. Source: paper A, Fig. 1."""
    stretched = network.omega.clone()
    stretched[..., along:] *= size
    f = network(x)
    other = Network(stretched, network.b, network.beta)(compress(x, along, torch.tensor(size, dtype=torch.float64)))
    return float((other - f).abs().max() / f.abs().max())


@study(
    version=1, axes=PLANES | {"d": "count from 2 to 100"}, complete=_needs_rest, data="equations of motion, no network"
)
def perpendicular(setting: Setting, seeds: list[int]) -> Rows:
    """Time constants of ``ω_⊥`` without noise, from Eq. 6, over Eq. 16 as printed; one row an ``attractor``.

    Source: paper A, App. C.2.
    """
    stripe = Stripe(setting["interfaces"], setting["d"])
    points = [{"attractor": point.z, "ratio": _perpendicular(stripe, point)} for point in stripe.attractors()]
    return [{"seed": seed} | row for seed in seeds for row in points]


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


def _noise_fits(setting: Setting) -> Setting:
    p, sets = setting["p"], setting["sets"]
    validate.memory(48 * sets * p, f"sets = {sets} with p = {p}")  # points, labels, gates and one product
    return setting


@study(
    version=1,
    axes=PLANES | {"p": SIZE, "sets": "count from 10 to 1e6"},
    complete=_noise_fits,
    data="Gaussian training sets, drawn here",
)
def noise(setting: Setting, seeds: list[int]) -> Rows:
    """The force on ``ω_⊥`` over many training sets: ``exponent`` of its standard deviation in ``D_⊥``.

    Each training set has ``p`` points; intercepts lie at -1.5, -0.7, 0, 0.7 and 1.5.
    Source: paper A, Eq. 8 and App. C.3.
    """
    stripe = Stripe(setting["interfaces"], 2)
    return [{"seed": seed, "exponent": _noise_exponent(stripe, setting, seed)} for seed in seeds]


def _noise_exponent(stripe: Stripe, setting: Setting, seed: int) -> float:
    (seed,) = draw_seeds("noise", [seed], size=setting["p"])
    x = np.random.default_rng(seed).standard_normal((setting["sets"], setting["p"], 2))
    y, places = stripe.label(x[..., 0]), np.array([-1.5, -0.7, 0.0, 0.7, 1.5])
    force = [(y * (x[..., 0] > z) * x[..., 1]).mean(-1).std() for z in places]
    return float(np.polyfit(np.log(stripe.d_perp(places, 1)), np.log(force), 1)[0])
