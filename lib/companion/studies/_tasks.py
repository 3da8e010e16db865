"""The tasks of papers A and B as studies take them: draws, networks, and what a setting must hold."""

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy import special

from companion.experiments.sweep import Setting
from regimes import devices, validate
from regimes.data import tasks
from regimes.data.tasks import Task
from regimes.models import one_hidden
from regimes.models.one_hidden import Network
from regimes.seeds import draw_seeds
from regimes.training.gradient_flow import flow_memory, precision
from regimes.validate import InputError

DRAWN = "Gaussian points of the stripe or cylinder, drawn here"
OWN = {"stripe": ("interfaces",), "cylinder": ("d_parallel", "radius")}  # axes that one of the tasks has alone
NEVER = 1e-6  # a chance that is not worth a draw


def of_task(setting: Setting, *, kinds: Sequence[str] = ("train",)) -> Setting:
    """A setting without the axes of the other task.

    Args:
        setting: with its task.
        kinds: of draws that must hold both labels.

    Raises:
        InputError: for a task that lacks an axis, a cylinder without an uninformative direction, and a draw of a single
            label.
    """
    own = OWN[setting["shape"]]
    found = {axis: value for axis, value in setting.items() if axis in own or axis not in sum(OWN.values(), ())}
    if not {*own} <= found.keys():
        raise InputError(f"a {setting['shape']} needs {' and '.join(own)}")
    if found.get("d_parallel", 0) >= found["d"]:
        raise InputError(f"d_parallel must be below d = {found['d']}, to leave an uninformative direction")
    single = _single(found, kinds)
    if single is not None:
        raise InputError(
            f"p must give both labels in every draw: {found['p']} points of the {found['shape']} in d = {found['d']} "
            f"have a single one in draw {single}; take more points or other {own[-1]}"
        )
    return found


def needs_memory(setting: Setting, *, points: str = "p", kernels: int = 7) -> None:
    """Kernels of all points, and where there is a width the flow and the hidden layer, must fit into the memory.

    A call of two realisations has seven ``kernels`` at a time, that of one has four.

    Raises:
        InputError: naming the axes, with the bytes.
    """
    n, h = setting[points], setting.get("h")
    validate.memory(8 * kernels * n * n, f"{points} = {n}")
    if h is not None:
        needs_flow(setting, points=points)


def needs_flow(setting: Setting, *, points: str = "p") -> None:
    """The flow of one network and its hidden layer, which is computed in blocks of points, must fit into the memory.

    Raises:
        InputError: naming the axes, with the bytes.
    """
    n, h = setting[points], setting["h"]
    needed = 16 * min(n * h, one_hidden.ENTRIES)
    if points == "p" and "tolerance" in setting:
        dtype = precision(setting["alpha"], setting["tolerance"])
        needed += flow_memory(h, n, setting["d"], dtype=dtype, device=devices.pick())
    validate.memory(needed, f"{points} = {n} with h = {h}")


def draw_task(setting: Setting, kind: str, p: int, seeds: list[int]) -> Task:
    """Points and labels ``x (S, p, d)`` of the setting's task, on the study's device; more test points extend fewer."""
    return _drawn(setting, kind, p, seeds).to(device=devices.pick())


def _drawn(setting: Setting, kind: str, p: int, seeds: list[int], *, first: int | None = None) -> Task:
    """As ``draw_task``, on the CPU; ``first`` leaves out all but the first so many of the ``p`` points."""
    seeds = draw_seeds(kind, seeds, size=0 if kind == "test" else p)
    if setting["shape"] == "stripe":
        return tasks.stripe(first or p, setting["d"], interfaces=setting["interfaces"], seed=seeds)
    shape = {name: setting[name] for name in ("d_parallel", "radius")}
    return tasks.cylinder(first or p, setting["d"], **shape, seed=seeds)


def networks_of(setting: Setting, seeds: list[int]) -> Network:
    """The networks of a setting as they are drawn, one a seed, on the study's device; others at each ``p``."""
    weights = draw_seeds("weights", seeds, size=setting["p"])
    return one_hidden.one_hidden(setting["d"], setting["h"], seeds=weights, device="auto")


def _single(setting: Setting, kinds: Sequence[str]) -> int | None:
    """The first realisation with a draw of a single label, ``None`` where all have both."""
    p, share = setting["p"], positive_share(setting)
    if len(setting["seeds"]) * len(kinds) * (share**p + (1 - share) ** p) < NEVER:
        return None
    names = ("shape", "d", "p", "interfaces", "d_parallel", "radius")
    task = json.dumps({name: setting[name] for name in names if name in setting}, sort_keys=True)
    return next((seed for seed in setting["seeds"] for kind in kinds if not _holds_both(task, kind, seed)), None)


@lru_cache(maxsize=2**16)  # the grids of a chapter's studies ask for the same draws
def _holds_both(task: str, kind: str, seed: int) -> bool:
    """Whether a draw has both labels; most often its first points do."""
    setting = json.loads(task)
    sizes = (min(64, setting["p"]), setting["p"])
    draws = (_drawn(setting, kind, setting["p"], [seed], first=first) for first in sizes)
    return any(len(drawn.y.unique()) == 2 for drawn in draws)


def positive_share(setting: Setting) -> float:
    """The probability of the label +1."""
    if setting["shape"] == "cylinder":
        return float(special.gammaincc(setting["d_parallel"] / 2, setting["radius"] ** 2 / 2))
    below = special.ndtr(np.array([-np.inf, *setting["interfaces"], np.inf]))
    return float(np.diff(below)[::2].sum())
