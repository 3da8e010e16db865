"""Chapter 3: which networks fit their data, what they have learnt then, and what averaging them gains."""

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from companion.experiments.sweep import STATISTICAL, Rows, Setting, study
from companion.studies._images import first_there, identity, needs, shape
from companion.studies._tasks import of_task
from companion.studies.lazy_feature import draw_task as draw_stripe
from companion.theory import jamming
from companion.theory.compression import amplification
from regimes import devices, validate
from regimes.data import datasets, tasks
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures.errors import wrong
from regimes.models import Model
from regimes.models.activations import activation
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.models.one_hidden import one_hidden
from regimes.seeds import draw_seeds
from regimes.training.gauss_newton import gauss_newton, step_bytes, together
from regimes.training.run import Trajectory, run
from regimes.training.state import Ended, State, satisfied
from regimes.validate import InputError

CHAPTER = "03"
STEEPNESS = 10.0  # of the swish of paper B's figures
NEAR = 0.9  # margin from which a point counts as satisfied on the way: the quadratic hinge only approaches 1
STRIPE = {"shape": "stripe", "interfaces": list(tasks.STRIPE)}
SHOWN = 64  # eigenvalues of a network that are kept to be drawn
TOGETHER = 4  # training sets whose ensembles are one batch: small networks are too small to fill a processor alone
ENSEMBLE = {"chunk": TOGETHER, "whole": True, "device": "any"}  # numbers depend on which are computed together
RANDOM = "random"  # in place of a data set: random points with random labels
DRAWN = "standard normal points with random labels, drawn here"

IMAGES = "mnist, fashion_mnist, cifar10, digits"
AXES = {
    "data": f"distinct any of {IMAGES}",  # the first of these that is on this machine
    "components": "count from 2 to 1000", "d": "count from 2 to 100", "p": "count from 10 to 1e5",
    "test": "count to 1e5", "kernel_p": "count to 1e4", "layers": "count to 8", "h": "count from 2 to 1e4",
    "scale": "positive", "loss": "one of quadratic_hinge, soft_hinge, logistic", "steps": "count from 10 to 1e6",
    "members": "count from 2 to 100", "stops": "2 or more increasing numbers from 0.05 to 1", "decay": "number from 0",
}  # fmt: skip


def _axes(names: str, **own: str) -> dict[str, str]:
    """The kinds of some axes, those of ``own`` in place of the module's."""
    return {name: (AXES | own)[name] for name in [*names.split(), *own]}


@functools.lru_cache(maxsize=4)
def _pool(data: str, words: str, components: int) -> Task:
    """All images, centred, scaled and projected on their principal components; labels are parities of the class."""
    pool = datasets.centred(datasets.load(data, labels="parity"))
    return datasets.principal_components(pool, components)


def _words(name: str) -> str:
    """What tells data of a name from others of it; nothing for random points, which are drawn."""
    return "" if name == RANDOM else identity(name)


def with_images(setting: Setting) -> Setting:
    """A setting with the first of its data sets that is on this machine, and the words for it."""
    name, components, members = first_there(setting["data"], _words), setting["components"], setting["members"]
    if name != RANDOM:
        _, pixels = shape(name)
        if components > pixels:
            raise InputError(f"components must be at most the {pixels} pixels of {name}, got {components}")
        needs(name, setting["test"] + setting["kernel_p"] + setting["p"], "test + kernel_p + p")
    if setting.get("fewer", 0) > members:
        raise InputError(f"fewer must be at most members = {members}, got {setting['fewer']}")
    _needs_memory(setting, components)
    found = {"data": name, "words": _words(name)} | setting | {"data": name}
    return {axis: value for axis, value in found.items() if axis != "fewer" or value < members}  # all: the ensemble


def _on_stripe(setting: Setting) -> Setting:
    """A setting with its task, whose draws hold both labels; memory holds the networks."""
    found = of_task(STRIPE | setting)
    _needs_memory(found, found["d"] + 1)  # and the bias
    return found


def _among_images(setting: Setting) -> Setting:
    """A setting with the words for its images, and those of its sizes that they suffice for."""
    name, wanted = first_there(setting["data"], _words), setting["p"]
    count, _ = shape(name)
    sizes = [size for size in wanted if size <= count]
    if len(sizes) < 2:
        raise InputError(f"p must hold at least 2 sizes of at most {count}, the images of {name}, got {wanted}")
    needs(name, setting["images"] * (max(setting["seeds"]) + 1), "images times seeds")
    return {"data": name, "words": identity(name)} | setting | {"data": name, "p": sizes}


class Draw(NamedTuple):
    """Data of one realisation: training set, test set, and points for the kernel, disjoint."""

    train: Task
    test: Task
    kernel: Task


def draw_sets(setting: Setting, seed: int) -> Draw:
    """The sets of a realisation, on the study's device: only the training set depends on its size."""
    pool = _pool(setting["data"], setting["words"], setting["components"])
    sizes = [setting["test"], setting["kernel_p"], setting["p"]]
    parts = datasets.split(pool, sizes, seed=draw_seeds("train", [seed])[0])
    test, kernel, train = (part.to(device=devices.pick()) for part in parts)
    return Draw(train, test, kernel)


def swish_networks(setting: Setting, d: int, seeds: list[int]) -> FullyConnected:
    """``members`` networks for each seed, one after the other: no biases, mean-field scale, steep swish.

    Source: paper B, Fig. 4 (its code).
    """
    count = setting["members"]
    each = [seed * count + member for seed in seeds for member in range(count)]
    sigma = activation("swish", steepness=STEEPNESS, normalised=True)
    widths = [d, *[setting["h"]] * setting["layers"], 1]
    # one draw a width: a network of another width is another network
    drawn = draw_seeds("weights", each, size=setting["h"])
    kind = {"sigma": sigma, "parametrisation": "mean-field", "gain": 1.0}
    return fully_connected(widths, seeds=drawn, device="auto", **kind)


def parameters_of(d: int, h: int, layers: int) -> int:
    """``N``, how many parameters a network without biases has."""
    return d * h + (layers - 1) * h * h + h


def train_to_verdict(setting: Setting, model: Model, x: Tensor, y: Tensor, stops: tuple[float, ...] = ()) -> Trajectory:
    """Trains to a verdict, with a snapshot at each satisfied fraction of ``stops``."""
    events = {f"{stop:g}": satisfied(stop, margin=NEAR) for stop in stops}
    return run(_states(setting, model, x, y), events=events)


def _states(setting: Setting, model: Model, x: Tensor, y: Tensor) -> Iterator[State]:
    # a point's kernel is of order 1/h: the decay is in units of the rate at which a network learns a single one
    decay = setting.get("decay", 0.0) and setting["decay"] * setting["scale"] / (setting["h"] * setting["p"])
    options = {"alpha": setting["scale"], "loss": setting["loss"], "rule": "settle", "steps": setting["steps"]}
    return gauss_newton(model, x, y, **options, decay=decay)


def _needs_memory(setting: Setting, d: int) -> None:
    """What a call takes must be free: steps of networks on ``d`` inputs, their weights, test outputs and kernels."""
    n, layers, members = setting["p"], setting.get("layers", 1), setting["members"]
    h = setting.get("h", 2 * round((n / layers) ** 0.5))  # without one the width at which they begin to fit
    size, count = parameters_of(d, h, layers), TOGETHER * members
    each = step_bytes(n, size, d + 2 * layers * h + 1)
    steps = each * min(count, together(each, torch.device("cpu")))
    weights = 8 * count * size * (4 + len(setting.get("stops", [])))  # now, before, at the start, on trial and at stops
    tested = members * setting["test"] * layers * h
    tested = min(tested, 2**26) if layers == 1 else tested  # a network of one layer takes its points in blocks
    read = 24 * (members * setting["kernel_p"] ** 2 + tested)
    validate.memory(weights + max(steps, read), f"p = {n} with h = {h} and members = {members}")


# where networks end that fit in vain for long, or fit late; on another processor, in one training set of four hundred
_LATE = (
    *("jammed", "quadratic_hinge", "unsatisfied", "fluctuation", "kernel_change"),
    *(name + stop for name in ("norm", "error", "ensemble_error") for stop in ("", "_0.5", "_0.9", "_0.98")),
)


@study(
    version=5,
    axes=_axes(
        "data components test kernel_p layers members loss steps stops decay fewer p scale h",
        fewer="optional count to 100",
    ),
    complete=with_images,
    rtol=1e-2,
    columns=dict.fromkeys(_LATE, STATISTICAL),
    nonfinite=["fewer_error"],  # of the large ensembles alone
    **ENSEMBLE,
)
def ensembles(setting: Setting, seeds: list[int]) -> Rows:
    r"""Ensembles of networks on one training set, trained to a verdict; one row a training set (``seed``).

    ``parameters`` N; ``fitted``: share of the members that fit; ``unsatisfied``: their mean :math:`N_\Delta`;
    ``quadratic_hinge``: half the mean square of the gaps :math:`\max(0, 1 - yF)` of the training points, whatever loss
    was trained on; ``norm``: root mean square of F on the test points, mean over the members; ``fluctuation``
    ‖F - ⟨F⟩‖; ``error`` of the members and ``ensemble_error`` of their mean output, at the end and, as ``norm_S``,
    ``error_S`` and ``ensemble_error_S``, where a fraction S of the margins is beyond 0.9 (members that did not get
    there count as they ended); ``kernel_change`` ‖ΔΘ‖/‖Θ₀‖ (mean of the logarithms). Where the setting has ``fewer``,
    ``fewer_error``: mean error of ensembles of so many of the members, each in one of them.

    Source: paper B, Fig. 4, 6, 8D and Sec. 2 and 3.
    """
    data = [draw_sets(setting, seed) for seed in seeds]
    count, rows = setting["members"], []
    model = swish_networks(setting, setting["components"], seeds)
    x, y = repeated([d.train for d in data], count)
    stops = tuple(setting["stops"])
    done = train_to_verdict(setting, model, x, y, stops)
    for i, (seed, sets) in enumerate(zip(seeds, data, strict=True)):
        block = slice(i * count, (i + 1) * count)
        rows.append({"seed": seed, "source": sets.train.source} | _ensemble(setting, model, done, block, sets, stops))
    return rows


def repeated(data: list[Task], count: int) -> tuple[Tensor, Tensor]:
    """Points and labels of some training sets, each ``count`` times."""
    x, y = (torch.stack([getattr(task, name) for task in data]) for name in ("x", "y"))
    return x.repeat_interleave(count, 0), y.repeat_interleave(count, 0)


def _ensemble(
    setting: Setting, start: FullyConnected, done: Trajectory, block: slice, sets: Draw, stops: tuple[float, ...]
) -> dict[str, Any]:
    """The row of one training set, whose members are the realisations ``block``."""
    scale, begun, members = setting["scale"], start[block], range(block.start, block.stop)
    f0, end = begun(sets.test.x), done.model[block]
    F = scale * (end(sets.test.x) - f0)
    margins = done.F[block] * sets.train.y
    gaps = (1 - margins).clamp(min=0)
    row = {
        "parameters": parameters_of(setting["components"], setting["h"], setting["layers"]),
        "fitted": float(np.mean([done.ended[e].kind == Ended.FITTED for e in members])),
        "jammed": float(np.mean([done.ended[e].kind == Ended.JAMMED for e in members])),
        "unsatisfied": float(jamming.unsatisfied(margins).double().mean()),
        "quadratic_hinge": float(gaps.square().mean() / 2),
        "fluctuation": float(jamming.fluctuation(F)),
    }
    row |= norms_and_errors("", F, sets.test.y)
    if "fewer" in setting:
        groups = [group.mean(0) for group in F.split(setting["fewer"]) if len(group) == setting["fewer"]]
        row["fewer_error"] = float(np.mean([float(wrong(F, sets.test.y)) for F in groups]))
    for stop in stops:
        there = done.events[f"{stop:g}"]
        early = [
            scale * (there[e].model(sets.test.x)[0] - f0[k]) if e in there else F[k] for k, e in enumerate(members)
        ]
        row |= norms_and_errors(f"_{stop:g}", torch.stack(early), sets.test.y)
    change = jamming.kernel_change(ntk(begun, sets.kernel.x), ntk(end, sets.kernel.x))
    return row | {"kernel_change": float(change.log().mean().exp())}


def norms_and_errors(name: str, F: Tensor, y: Tensor) -> dict[str, float]:
    """Norm and errors of the members, error of their mean output."""
    mean = F.mean(0)
    return {
        f"norm{name}": float(F.square().mean(-1).sqrt().mean()),
        f"error{name}": float(wrong(F, y.expand_as(F)).mean()),
        f"ensemble_error{name}": float(wrong(mean, y)),
    }


@study(
    version=2,
    axes=_axes(
        "data components members loss layers test kernel_p scale steps p", data=f"distinct any of {RANDOM}, {IMAGES}"
    ),
    complete=with_images,
    rtol=1e-2,
    device="any",
)
def thresholds(setting: Setting, seeds: list[int]) -> Rows:
    """The width at which networks begin to fit, by bisection from both sides; one row a width and training set.

    All widths that the bisection visits, ``members`` networks each: ``h``, ``parameters``, ``fitted`` (share of the
    members). It starts from a width of which fewer than half fit and one of which at least half do, halves the gap
    until neighbouring widths have been trained, and goes on until more than half do.
    ``data = "random"``: standard normal points with random labels.

    Source: paper B, Fig. 8A.
    """
    rows = []
    for seed in seeds:
        x, y, source = _labelled(setting, seed)
        guess = max(2, round((len(y) / 3 / setting["layers"]) ** 0.5))
        for h, share in sorted(_search(functools.partial(_fitting, setting, seed, x, y), guess).items()):
            size = parameters_of(setting["components"], h, setting["layers"])
            rows.append({"seed": seed, "h": h, "parameters": size, "fitted": share, "source": source})
    return rows


def _fitting(setting: Setting, seed: int, x: Tensor, y: Tensor, h: int) -> float:
    """The share of the members of width ``h`` that fit."""
    done = train_to_verdict(setting, swish_networks(setting | {"h": h}, x.shape[-1], [seed]), x, y)
    return float(np.mean([why.kind == Ended.FITTED for why in done.ended]))


def _search(fitting: Callable[[int], float], guess: int) -> dict[int, float]:
    """The share that fits at each width that the search visits, once each."""
    known: dict[int, float] = {}

    def share(h: int) -> float:
        if h not in known:
            known[h] = fitting(h)
        return known[h]

    low = high = guess
    while share(high) < 0.5:
        low, high = high, max(high + 1, round(1.4 * high))
    while low > 1 and share(low) >= 0.5:
        low, high = max(1, min(low - 1, round(low / 1.4))), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if share(middle) < 0.5 else (low, middle)
    while share(max(known)) <= 0.5:  # half is neither side: wider ones, one by one
        share(max(known) + 1)
    return known


def _labelled(setting: Setting, seed: int) -> tuple[Tensor, Tensor, str]:
    if setting["data"] != RANDOM:
        sets = draw_sets(setting, seed)
        return sets.train.x, sets.train.y, sets.train.source
    first, second = draw_seeds("train", [seed], size=setting["p"]) + draw_seeds("labels", [seed], size=setting["p"])
    x = tasks.gaussian_points(setting["p"], setting["components"], seed=first)
    y = np.sign(np.random.default_rng(second).standard_normal(setting["p"]))
    return x.to(devices.pick()), torch.from_numpy(y).to(devices.pick()), DRAWN


@study(
    version=3,
    axes=_axes("data components test kernel_p layers loss p scale members steps h"),
    complete=with_images,
    rtol=0.1,
    nonfinite=("needed", "time"),
    **ENSEMBLE,
)
def efforts(setting: Setting, seeds: list[int]) -> Rows:
    """How much effort networks need to fit; one row a network (``member``).

    ``needed``: its own steps, and ``time``: of the flow, after which all points were met; both infinite where that did
    not come about in ``steps`` attempts. ``parameters`` N.

    Source: paper B, Fig. 4 (its three lines of jamming, for three wall times).
    """
    data, count = [draw_sets(setting, seed).train for seed in seeds], setting["members"]
    model = swish_networks(setting, setting["components"], seeds)
    x, y = repeated(data, count)
    met: dict[int, tuple[float, float]] = {}
    steps, before = Counter[int](), defaultdict[int, float](float)
    for state in _states(setting, model, x, y):
        for row, t in zip(state.rows, state.t.tolist(), strict=True):
            steps[row] += t > before[row]  # a state comes with every step of any network
            before[row] = t
            if row in state.ended and state.ended[row].kind == Ended.FITTED:
                met.setdefault(row, (steps[row], t))
    size = parameters_of(setting["components"], setting["h"], setting["layers"])
    names = ("needed", "time")
    return [
        {"seed": seed, "member": k, "parameters": size, "source": data[i].source}
        | dict(zip(names, met.get(i * count + k, (math.inf, math.inf)), strict=True))
        for i, seed in enumerate(seeds)
        for k in range(count)
    ]


def spectrum_row(values: np.ndarray) -> dict[str, Any]:
    """The share of zeros among eigenvalues, ascending, and some of the others."""
    curved = values[values > jamming.ZERO * values[-1]]
    chosen = np.unique(np.linspace(0, max(len(curved) - 1, 0), SHOWN).round().astype(int))
    return {"flat": 1 - len(curved) / len(values), "eigenvalues": curved[chosen[: len(curved)]].tolist()}


@study(
    version=1,
    axes=_axes("d p layers h", d="count from 2 to 1000", p="count from 10 to 1e4", seeds="count from 6 to 1e4"),
    chunk=25,
    data=DRAWN,
)
def starts(setting: Setting, seeds: list[int]) -> Rows:
    """Networks at their start: ``negative`` share of the non-zero eigenvalues of H_p, and their tangent kernel.

    ReLU networks on random data. ``kernel``: the kernel on the points, its upper triangle as a list, times ``h`` (so
    that it has a limit).

    Source: paper B, Sec. 2 (N₋ ≈ N/2) and Sec. 3 (fluctuations of the kernel).
    """
    rows, (h, layers) = [], (setting["h"], setting["layers"])
    x = tasks.gaussian_points(setting["p"], setting["d"], seed=draw_seeds("test", [0])[0])
    upper = torch.triu_indices(len(x), len(x))
    sigma = activation("relu", normalised=True)
    for seed, weights, labels in zip(seeds, draw_seeds("weights", seeds, size=h), draw_seeds("labels", seeds, size=h)):
        y = torch.from_numpy(np.sign(np.random.default_rng(labels).standard_normal(len(x))))
        widths = [setting["d"], *[h] * layers, 1]
        model = fully_connected(widths, seeds=[weights], sigma=sigma, parametrisation="mean-field", gain=1.0)
        row = {"seed": seed, "kernel": (h * ntk(model, x)[0][upper[0], upper[1]]).tolist()}
        if h <= 12:  # all second derivatives of larger ones are not worth their time
            below, curved = jamming.negative(jamming.hessian(model, x, y, alpha=1.0, start=model(x))[1])
            row["negative"] = float(below / curved)
        rows.append(row)
    return rows


@study(
    version=2,
    axes=_axes("data p images", p="2 or more increasing counts from 10 to 1e5", images="count to 1e4"),
    complete=_among_images,
)
def neighbours(setting: Setting, seeds: list[int]) -> Rows:
    """Mean ``distance`` of ``images`` of the pool to the nearest among ``size`` ones; one row a size of ``p``.

    All pixels, centred and normalised. Each ``seed`` looks from images of its own, at all of the pool.

    Source: paper B, Sec. 5.
    """
    pool, rows, count = datasets.centred(datasets.load(setting["data"])), [], setting["images"]
    order = np.random.default_rng(draw_seeds("train", [0])[0]).permutation(len(pool.x))
    for seed in seeds:
        chosen = pool.x[order[seed * count : (seed + 1) * count]]
        found = jamming.nearest_distances(pool.x, chosen, setting["p"])
        rows += [
            {"seed": seed, "size": size, "distance": distance, "source": pool.source}
            for size, distance in zip(setting["p"], found.tolist(), strict=True)
        ]
    return rows


def samples(name: str, components: int, count: int) -> tuple[Tensor, Tensor]:
    """Images of a data set ``(count, pixels)``, centred and normalised, and what their principal components keep.

    Source: paper B, Fig. 5.
    """
    pool = datasets.centred(datasets.load(name))
    mean = pool.x.mean(0)
    _, vectors = torch.linalg.eigh(torch.cov(pool.x.T))
    kept, shown = vectors[:, -components:], pool.x[:: len(pool.x) // count][:count]
    return shown, mean + (shown - mean) @ kept @ kept.T


@study(
    version=3,
    axes=_axes("d p members test kernel_p loss steps scale h"),
    complete=_on_stripe,
    rtol=1e-2,
    data="Gaussian points of the stripe, drawn here",
    **ENSEMBLE,
)
def stripes(setting: Setting, seeds: list[int]) -> Rows:
    """Ensembles of chapter 1's network on chapter 1's stripe, trained as all others here; one row a training set.

    ``parameters``, ``fitted``, ``error``, ``ensemble_error`` and ``kernel_change`` as in ``ensembles``;
    ``amplification``: Λ at the end, geometric mean over the members.

    Source: paper B, Fig. 4; paper A, Eq. 1.
    """
    train_set, test = (draw_stripe(setting, kind, setting[n], seeds) for kind, n in (("train", "p"), ("test", "test")))
    kernel = draw_stripe(setting, "fresh", setting["kernel_p"], seeds)
    count = setting["members"]
    each = [seed * count + member for seed in seeds for member in range(count)]
    drawn = draw_seeds("weights", each, size=setting["h"])
    start = one_hidden(setting["d"], setting["h"], seeds=drawn, device="auto")
    done = train_to_verdict(setting, start, *(v.repeat_interleave(count, 0) for v in (train_set.x, train_set.y)))
    size, rows = amplification(done.model.omega, train_set.d_parallel).log(), []
    for i, seed in enumerate(seeds):
        block = slice(i * count, (i + 1) * count)
        begun, end = start[block], done.model[block]
        F = setting["scale"] * (end(test.x[i]) - begun(test.x[i]))
        change = jamming.kernel_change(ntk(begun, kernel.x[i]), ntk(end, kernel.x[i]))
        rows.append(
            {
                "seed": seed,
                "parameters": setting["h"] * (setting["d"] + 2),
                "fitted": float(np.mean([why.kind == Ended.FITTED for why in done.ended[block]])),
                "kernel_change": float(change.log().mean().exp()),
                "amplification": float(size[block].mean().exp()),
            }
            | norms_and_errors("", F, test.y[i])
        )
    return rows
