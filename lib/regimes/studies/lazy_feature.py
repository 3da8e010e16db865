"""Chapter 1: learning curves of lazy and feature learning, and what separates them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import special
from torch import Tensor

from regimes import validate
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.models import one_hidden
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.sweeps.sweep import Rows, Setting, product, study
from regimes.themes import learning_curves
from regimes.themes.compression import amplification
from regimes.themes.learning_curves import Lazy
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import Snapshot, Trajectory, run
from regimes.validate import InputError

CHAPTER = "01"
FEWEST_P = 3  # sizes that an exponent with an interval needs
NEVER = 1e-6  # a chance that is not worth a draw
DRAWN = "Gaussian points of the stripe or cylinder, drawn here"


def draw(setting: Setting, kind: str, p: int, seeds: list[int], *, first: int | None = None) -> Task:
    """Points and labels ``x (S, p, d)`` of the setting's task; more test points extend fewer.

    ``first`` leaves out all but the first so many of the ``p`` points.
    """
    seeds = draw_seeds(kind, seeds, size=0 if kind == "test" else p)
    if setting["shape"] == "stripe":
        return tasks.stripe(first or p, setting["d"], interfaces=setting["interfaces"], seed=seeds)
    shape = {name: setting[name] for name in ("d_parallel", "radius")}
    return tasks.cylinder(first or p, setting["d"], **shape, seed=seeds)


def check_parameters(p: Mapping[str, Any]) -> None:
    """Sizes suffice for exponents, names refer to each other, draws hold both labels."""
    for name in ("wide_p", "curve_p", "cylinder_p"):
        if sum(value >= p["fit_from"] for value in p[name]) < FEWEST_P:
            raise InputError(f"{name} must hold at least {FEWEST_P} sizes from fit_from on for an exponent: {p[name]}")
        if p["window"] > len(p[name]):
            raise InputError(f"window must be at most the number of sizes of {name}, got {p['window']}")
    needs_one_of(p, "width_d", "curve_d")
    needs_across(p)
    for shape in _shapes(p):
        curve = "curve" if shape["shape"] == "stripe" else "cylinder"
        needs_draws(p, shape, "wide_p", "wide_seeds")
        needs_draws(p, shape, f"{curve}_p", f"{curve}_seeds", kinds=("train", "fresh"))
    stripe = {"shape": "stripe", "interfaces": [p["interfaces"]]}
    needs_draws(p, stripe | {"d": p["width_d"]}, "curve_p", "width_seeds", kinds=("train", "fresh"))
    for name in ("scan", "rotation"):
        needs_draws(p, stripe | {"d": p[f"{name}_d"]}, f"{name}_p", f"{name}_seeds")


def needs_one_of(p: Mapping[str, Any], name: str, of: str) -> None:
    """Raises ``InputError`` unless a parameter, or each of its values, is one of another's values."""
    for value in np.atleast_1d(p[name]).tolist():
        if value not in p[of]:
            raise InputError(f"{name} must be one of {of} = {p[of]}, got {value}")


def needs_across(p: Mapping[str, Any]) -> None:
    """Raises ``InputError`` unless the cylinder has an uninformative direction."""
    if p["cylinder_d_parallel"] >= p["cylinder_d"]:
        raise InputError(
            f"cylinder_d_parallel must be below cylinder_d = {p['cylinder_d']}, to leave an uninformative direction, "
            f"got {p['cylinder_d_parallel']}"
        )


def needs_memory(p: Mapping[str, Any], points: str, widths: str | None = None, *, kernels: int = 4) -> None:
    """Kernels of the most points, and the gates of a flow at the largest width, must fit into the memory.

    Raises:
        InputError: naming the parameters, with the bytes.
    """
    n = int(np.max(p[points]))
    validate.memory(8 * kernels * n * n, f"{points} = {n}")
    if widths:
        h = int(np.max(p[widths]))
        validate.memory(32 * n * h, f"{points} = {n} with {widths} = {h}")


def needs_draws(
    p: Mapping[str, Any],
    shape: Setting,
    points: str,
    seeds: str,
    *,
    limits: str | None = None,
    kinds: tuple[str, ...] = ("train",),
) -> None:
    """All draws of a task must hold both labels.

    Args:
        p: all parameters.
        shape: the task's part of a setting.
        points: the parameter that says how many points.
        seeds: the parameter that says how many draws.
        limits: the parameter that says where the label changes (``interfaces`` or ``cylinder_radius``).
        kinds: of draws.

    Raises:
        InputError: naming the three parameters.
    """
    limits = limits or {"stripe": "interfaces", "cylinder": "cylinder_radius"}[shape["shape"]]
    for setting in product(**shape, p=p[points], seeds=range(p[seeds])):
        single = _single(setting, kinds)
        if single is not None:
            raise InputError(
                f"{points} must give both labels in every draw: {setting['p']} points of the {setting['shape']} in "
                f"d = {setting['d']} have a single one in draw {single} of {seeds}; take more points or other {limits}"
            )


def _single(setting: Setting, kinds: tuple[str, ...]) -> int | None:
    """The first realisation with a draw of a single label, ``None`` where all have both."""
    p, share = setting["p"], positive_share(setting)
    if len(setting["seeds"]) * len(kinds) * (share**p + (1 - share) ** p) < NEVER:
        return None
    return next((seed for seed in setting["seeds"] for kind in kinds if not _holds_both(setting, kind, seed)), None)


def _holds_both(setting: Setting, kind: str, seed: int) -> bool:
    """Whether a draw has both labels; most often its first points do."""
    draws = (draw(setting, kind, setting["p"], [seed], first=first) for first in (min(64, setting["p"]), setting["p"]))
    return any(len(task.y.unique()) == 2 for task in draws)


def positive_share(setting: Setting) -> float:
    """The probability of the label +1."""
    if setting["shape"] == "cylinder":
        return float(special.gammaincc(setting["d_parallel"] / 2, setting["radius"] ** 2 / 2))
    below = special.ndtr(np.array([-np.inf, *setting["interfaces"], np.inf]))
    return float(np.diff(below)[::2].sum())


def _shapes(p: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tasks of the curves: the stripe in each dimension, and the cylinder."""
    stripes = [{"shape": "stripe", "d": d, "interfaces": [p["interfaces"]]} for d in p["curve_d"]]
    cylinder = {"shape": "cylinder", "d": p["cylinder_d"], "d_parallel": p["cylinder_d_parallel"]}
    return [*stripes, cylinder | {"radius": p["cylinder_radius"]}]


def _wide_grid(p: Mapping[str, Any]) -> list[Setting]:
    """The sizes of the lazy curves, and those of the networks, whose training sets the kernel gets as well."""
    needs_memory(p, "wide_p")
    grid = []
    for shape in _shapes(p):
        kind = "curve" if shape["shape"] == "stripe" else "cylinder"
        seeds = dict.fromkeys(p["wide_p"], p["wide_seeds"])
        for size in p[f"{kind}_p"]:
            seeds[size] = max(seeds.get(size, 0), p[f"{kind}_seeds"])
        for size, count in sorted(seeds.items()):
            grid += product(**shape, p=size, test=p["test"], seeds=range(count))
    return grid


@study(version=1, grid=_wide_grid, chunk=2, data=DRAWN)
def wide_curve(setting: Setting, seeds: list[int]) -> Rows:
    """Lazy learning with the infinitely wide network's kernel, trained to zero loss: ``error``, ``ended``.

    Training and test points are those of ``five_curves`` and ``finite_curve`` of the same size and seed.
    Source: paper A, Sec. 2.4 and 3.1; the kernel is exact, nothing is sampled.
    """
    train, test = draw(setting, "train", setting["p"], seeds), draw(setting, "test", setting["test"], seeds)
    return _lazy_rows(seeds, learning_curves.wide_lazy(train, test))


def _lazy_rows(seeds: list[int], found: Lazy) -> Rows:
    rows = zip(seeds, found.error.tolist(), found.ended, strict=True)
    return [{"seed": seed, "error": error, "ended": ended} for seed, error, ended in rows]


def _finite_grid(p: Mapping[str, Any]) -> list[Setting]:
    needs_memory(p, "wide_p", "lazy_h")
    needs_memory(p, "scan_p", "scan_h")
    stripe = {"shape": "stripe", "interfaces": [p["interfaces"]], "test": p["test"]}
    curves = product(**stripe, d=p["curve_d"], p=p["wide_p"], h=p["lazy_h"], seeds=range(p["wide_seeds"]))
    scan = product(**stripe, d=p["scan_d"], p=p["scan_p"], h=p["scan_h"], seeds=range(p["scan_seeds"]))
    return [*curves, *scan]


@study(version=1, grid=_finite_grid, chunk=2, data=DRAWN)
def finite_curve(setting: Setting, seeds: list[int]) -> Rows:
    """Lazy learning with the kernel of a network of width ``h`` at initialisation: ``error``, ``ended``.

    Training and test points are those of ``wide_curve``, weights those of the trained networks of the same size.
    Source: paper A, Fig. 3 (lazy regime) and Fig. 12 (dashed line).
    """
    train, test = draw(setting, "train", setting["p"], seeds), draw(setting, "test", setting["test"], seeds)
    return _lazy_rows(seeds, learning_curves.lazy(_network(setting, seeds), train, test))


def _network(setting: Setting, seeds: list[int]) -> Network:
    return one_hidden.one_hidden(setting["d"], setting["h"], seeds=draw_seeds("weights", seeds, size=setting["p"]))


@dataclass(frozen=True)
class Trained:
    """Networks after training, for each realisation; ``None`` where a run ended before it met 10 % of its margins.

    Attributes:
        network: at the end, float64.
        error: test errors.
        ended: ``"zero loss"``, or why the run stopped before.
        t_star: paper A's unit of time.
        star: ``Λ*``, the amplification at ``t_star``.
        largest: ``Λ_max``, over the whole path.
        F: predictor on the test points ``(S, n)``.
    """

    network: Network
    error: list[float]
    ended: list[str]
    t_star: list[float | None]
    star: list[float | None]
    largest: list[float]
    F: Tensor


def train_network(network: Network, train: Task, test: Task, setting: Setting, *, dtype: Any = "auto") -> Trained:
    """Gradient flow of the hinge loss at ``setting["alpha"]`` to zero loss, with the amplification along the path."""
    states = gradient_flow(network, train, alpha=setting["alpha"], tolerance=setting["tolerance"], dtype=dtype)
    path = run(states, observe=lambda s: {"size": amplification(s.model.omega, train.d_parallel)})
    end = path.model.to(dtype=torch.float64)
    at = {row: (float(s.t), float(amplification(s.model.omega, train.d_parallel))) for row, s in _star(path).items()}
    both = [at.get(row, (None, None)) for row in range(len(path.ended))]
    F = setting["alpha"] * (end(test.x) - network(test.x))
    return Trained(
        network=end,
        error=learning_curves.wrong(F, test.y).tolist(),
        ended=[learning_curves.in_words(why) for why in path.ended],
        t_star=[t for t, _ in both],
        star=[size for _, size in both],
        largest=path.path.groupby("realisation")["size"].max().tolist(),
        F=F,
    )


def _star(path: Trajectory) -> dict[int, Snapshot]:
    return path.events.get("t_star", {})


def _curves_grid(p: Mapping[str, Any]) -> list[Setting]:
    for points, widths in (("curve_p", "curve_h"), ("curve_p", "width_h"), ("cylinder_p", "curve_h")):
        needs_memory(p, points, widths)
    net = {"alpha": p["curve_alpha"], "tolerance": p["tolerance"], "test": p["test"]}
    seeds = {"stripe": range(p["curve_seeds"]), "cylinder": range(p["cylinder_seeds"])}
    sizes = {"stripe": p["curve_p"], "cylinder": p["cylinder_p"]}
    grid = []
    for shape in _shapes(p):
        kind = shape["shape"]
        grid += product(**shape, p=sizes[kind], h=p["curve_h"], **net, seeds=seeds[kind])
    widths = [h for h in p["width_h"] if h != p["curve_h"]]
    stripe = {"shape": "stripe", "d": p["width_d"], "interfaces": [p["interfaces"]]}
    if widths:
        grid += product(**stripe, p=p["curve_p"], h=widths, **net, seeds=range(p["width_seeds"]))
    return grid


@study(version=2, grid=_curves_grid, chunk=2, rtol=1e-3, data=DRAWN, device="any")
def five_curves(setting: Setting, seeds: list[int]) -> Rows:
    """The learning curves of Fig. 3 at one size, all to zero loss; one row a ``curve``, with ``error`` and ``ended``.

    ``feature``: the network at small ``alpha``. ``lazy``: its kernel frozen at initialisation. ``compressed`` and
    ``compressed_code``: that kernel on data whose uninformative directions are divided by ``Λ*``, and by
    ``Λ*/√d_perp`` as in the original code; with ``_wide``, the infinitely wide network's kernel on the same data.
    ``final``: the kernel after training, on an independent training set.
    Each row repeats ``t_star``, ``amplification_star`` and ``amplification_max`` of its network.

    Source: paper A, Fig. 3 and 8; paper B, Fig. 10.
    """
    train, test = draw(setting, "train", setting["p"], seeds), draw(setting, "test", setting["test"], seeds)
    fresh, network = draw(setting, "fresh", setting["p"], seeds), _network(setting, seeds)
    trained = train_network(network, train, test, setting)
    curves = {
        "lazy": learning_curves.lazy(network, train, test),
        "final": learning_curves.lazy(trained.network, fresh, test),
    }
    if None not in trained.star:
        star = torch.tensor(trained.star, dtype=torch.float64)
        for name, factor in (
            ("compressed", star),
            ("compressed_code", star / (setting["d"] - train.d_parallel) ** 0.5),
        ):
            small = [replace(t, x=learning_curves.compress(t.x, t.d_parallel, factor)) for t in (train, test)]
            curves[name] = learning_curves.lazy(network, *small)
            curves[f"{name}_wide"] = learning_curves.wide_lazy(*small)
    along = {"t_star": trained.t_star, "amplification_star": trained.star, "amplification_max": trained.largest}
    rows = [row | {"curve": name} for name, found in curves.items() for row in _lazy_rows(seeds, found)]
    feature = zip(seeds, trained.error, trained.ended, strict=True)
    rows += [{"seed": seed, "error": error, "ended": why, "curve": "feature"} for seed, error, why in feature]
    return [row | {name: values[seeds.index(row["seed"])] for name, values in along.items()} for row in rows]


def _scan_grid(p: Mapping[str, Any]) -> list[Setting]:
    needs_memory(p, "scan_p", "scan_h")
    stripe = {"shape": "stripe", "interfaces": [p["interfaces"]], "d": p["scan_d"], "p": p["scan_p"]}
    rest = {"h": p["scan_h"], "test": p["test"], "tolerance": p["tolerance"], "seeds": range(p["scan_seeds"])}
    return product(**stripe, alpha=p["scan_alpha"], **rest)


@study(version=1, grid=_scan_grid, rtol=1e-3, data=DRAWN, device="any")
def scale_scan(setting: Setting, seeds: list[int]) -> Rows:
    """One network trained at one ``alpha``: error, ``t_star``, ``amplification_start``, ``_star`` and ``_max``.

    Data, test points and initial weights are the same for all ``alpha``, and for ``finite_curve`` at the same sizes.
    Source: paper A, Fig. 12 and App. B.
    """
    train, test = draw(setting, "train", setting["p"], seeds), draw(setting, "test", setting["test"], seeds)
    network = _network(setting, seeds)
    found, start = train_network(network, train, test, setting), amplification(network.omega, train.d_parallel)
    names = ("seed", "error", "ended", "t_star", "amplification_start", "amplification_star", "amplification_max")
    columns = (seeds, found.error, found.ended, found.t_star, start.tolist(), found.star, found.largest)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _rotation_grid(p: Mapping[str, Any]) -> list[Setting]:
    needs_memory(p, "rotation_p", "rotation_h")
    stripe = {"shape": "stripe", "interfaces": [p["interfaces"]], "d": p["rotation_d"], "p": p["rotation_p"]}
    net = {"h": p["rotation_h"], "alpha": p["curve_alpha"], "tolerance": p["tolerance"], "test": p["test"]}
    return product(**stripe, **net, seeds=range(p["rotation_seeds"]))


@study(version=1, grid=_rotation_grid, rtol=1e-3, data=DRAWN, device="any")
def rotation(setting: Setting, seeds: list[int]) -> Rows:
    """Training on rotated data: ``error`` as drawn, ``error_data`` with the data rotated, and the ``deviation``.

    The deviation is the relative change of the predictor on the test points when the initial weights turn with the
    data. Rotations are uniform, one a seed. Source: paper A, App. A.
    """
    train, test = draw(setting, "train", setting["p"], seeds), draw(setting, "test", setting["test"], seeds)
    network = _network(setting, seeds)
    turn = torch.stack([tasks.rotation(setting["d"], seed=s) for s in draw_seeds("rotation", seeds, size=setting["p"])])
    # the amplification along the path, which no longer means anything, is not used
    turned = [replace(tasks.rotated(task, turn), d_parallel=1) for task in (train, test)]
    plain = train_network(network, train, test, setting, dtype=torch.float64)
    data = train_network(network, *turned, setting, dtype=torch.float64)
    both = train_network(replace(network, omega=network.omega @ turn.mT), *turned, setting, dtype=torch.float64)
    deviation = (both.F - plain.F).norm(dim=-1) / plain.F.norm(dim=-1)
    ended = ["; ".join(sorted({a, b, c})) for a, b, c in zip(plain.ended, data.ended, both.ended, strict=True)]
    columns = (seeds, plain.error, data.error, deviation.tolist(), ended)
    names = ("seed", "error", "error_data", "deviation", "ended")
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
