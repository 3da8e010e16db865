"""The tasks of papers A and B as studies take them: their records, draws and networks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from scipy import special

from companion.lab.record import Count, Increasing, Number, Positive, Setting, record
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
FIRST = 64  # points of a draw that most often have both labels
NEVER = 1e-6  # a chance that is not worth a draw
KERNELS = 7  # of all points, that a call of two realisations has at a time; that of one has four

Planes = Increasing[Number[-4, 4]]
Hidden = Count[10, 100_000]
TestPoints = Count[10, 1_000_000]
Fractions = Increasing[Positive[1]]


@record
class StripeSet(Setting):
    """A training set of ``p`` points in ``d`` dimensions, whose labels change at ``interfaces`` of the first axis."""

    shape: Literal["stripe"] | None = None
    d: Count[2, 100]
    interfaces: Planes
    p: Count[2, 100_000]

    both: ClassVar[tuple[str, ...]] = ("train",)  # draws that must hold both labels
    kernels: ClassVar[int] = KERNELS

    def completed(self, seeds: Sequence[int]) -> Self:
        """With its task alone; draws hold both labels, memory the kernels of all points."""
        needs_kernels(self.kernels, p=self.p)
        found = self.of_task()
        needs_labels(found, seeds, self.both)
        return found

    def of_task(self) -> Self:
        """Without what other tasks have."""
        return replace(self, shape="stripe")


@record
class TaskSet(StripeSet):
    """A training set of the stripe, or of a cylinder of this ``radius`` in the first ``d_parallel`` dimensions."""

    shape: Literal["stripe", "cylinder"]
    interfaces: Planes | None = None
    d_parallel: Count[99] | None = None
    radius: Positive[20] | None = None

    def of_task(self) -> Self:
        """Without what the other task has; InputError for one that lacks an axis or an uninformative direction."""
        own = OWN[self.shape]
        if any(getattr(self, axis) is None for axis in own):
            raise InputError(f"a {self.shape} needs {' and '.join(own)}")
        if self.shape == "cylinder" and self.d_parallel >= self.d:
            raise InputError(
                f"d_parallel must be below d = {self.d}, to leave an uninformative direction, got {self.d_parallel}"
            )
        return replace(self, **{axis: None for axis in sum(OWN.values(), ()) if axis not in own})


@record
class ByFlow(Setting):
    """Networks of width ``h`` that a flow trains at the scale ``alpha`` of the output, within a ``tolerance``."""

    h: Hidden
    alpha: Number[1e-20, 1e10]
    tolerance: Number[1e-4, 0.2]

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its task says; memory holds the flow of one network, too."""
        found = super().completed(seeds)
        needs_flow(found)
        return found


class OnTask(Protocol):
    """What draws read of a setting, beside ``interfaces`` of a stripe, ``d_parallel`` and ``radius`` of a cylinder."""

    shape: str | None
    d: int
    p: int


class WithNetworks(OnTask, Protocol):
    """What networks of width ``h`` read of one."""

    h: int


class Shape(NamedTuple):
    """What draws of a task depend on beside their size: its name, ``d``, and its own axes."""

    name: str
    d: int
    own: tuple[float, ...]

    @classmethod
    def of(cls, s: OnTask) -> Self:
        """That of a setting, by default the stripe."""
        if s.shape == "cylinder":
            return cls("cylinder", s.d, (s.d_parallel, s.radius))
        return cls("stripe", s.d, tuple(s.interfaces))

    def draw(self, kind: str, p: int, seeds: Sequence[int], *, first: int | None = None) -> Task:
        """Points and labels ``x (S, p, d)`` on the CPU; ``first`` leaves out all but the first so many points."""
        drawn = draw_seeds(kind, seeds, size=0 if kind == "test" else p)
        if self.name == "stripe":
            return tasks.stripe(first or p, self.d, interfaces=self.own, seed=drawn)
        d_parallel, radius = self.own
        return tasks.cylinder(first or p, self.d, d_parallel=d_parallel, radius=radius, seed=drawn)

    def positive_share(self) -> float:
        """The probability of the label +1."""
        if self.name == "cylinder":
            d_parallel, radius = self.own
            return float(special.gammaincc(d_parallel / 2, radius**2 / 2))
        below = special.ndtr(np.array([-np.inf, *self.own, np.inf]))
        return float(np.diff(below)[::2].sum())


def draw_task(s: OnTask, kind: str, p: int, seeds: Sequence[int]) -> Task:
    """Points and labels ``x (S, p, d)`` of a setting's task, on the study's device; more test points extend fewer."""
    return Shape.of(s).draw(kind, p, seeds).to(device=devices.pick())


def draw_tasks(s: OnTask, seeds: Sequence[int], *kinds: str) -> list[Task]:
    """A draw of each kind: ``test`` of the setting's ``test`` points, others of its ``p``."""
    return [draw_task(s, kind, s.test if kind == "test" else s.p, seeds) for kind in kinds]


def networks_of(s: WithNetworks, seeds: Sequence[int]) -> Network:
    """The networks of a setting as they are drawn, one a seed, on the study's device; others at each ``p``."""
    return one_hidden.one_hidden(s.d, s.h, seeds=draw_seeds("weights", seeds, size=s.p), device="auto")


def needs_labels(s: OnTask, seeds: Sequence[int], kinds: Sequence[str] = ("train",)) -> None:
    """All draws of these kinds must hold both labels; InputError names the first realisation with a single one."""
    single = _single(Shape.of(s), s.p, seeds, kinds)
    if single is not None:
        raise InputError(
            f"p must give both labels in every draw: {s.p} points of the {s.shape} in d = {s.d} have a single one in "
            f"draw {single}; take more points or other {OWN[s.shape][-1]}"
        )


def _single(shape: Shape, p: int, seeds: Sequence[int], kinds: Sequence[str]) -> int | None:
    """The first realisation with a draw of a single label, ``None`` where all have both."""
    share = shape.positive_share()
    if len(seeds) * len(kinds) * (share**p + (1 - share) ** p) < NEVER:
        return None
    found = {seed for kind in kinds for seed in _of_one_label(shape, p, kind, tuple(seeds))}
    return next((seed for seed in seeds if seed in found), None)


@lru_cache(maxsize=2**12)  # the grids of a chapter's studies ask for the same draws
def _of_one_label(shape: Shape, p: int, kind: str, seeds: tuple[int, ...]) -> list[int]:
    """The realisations whose draw has a single label; most often its first points have both."""
    y = shape.draw(kind, p, seeds, first=min(FIRST, p)).y
    left = [seed for seed, same in zip(seeds, (y == y[:, :1]).all(1).tolist()) if same]
    return [seed for seed in left if len(shape.draw(kind, p, [seed]).y.unique()) == 1]


def needs_kernels(kernels: int = KERNELS, **points: int) -> None:
    """So many Gram matrices of points must fit into the memory; InputError has their name, and the bytes."""
    for name, n in points.items():
        validate.memory(8 * kernels * n * n, f"{name} = {n}")


def needs_outputs(h: int, **points: int) -> None:
    """The hidden layer of one network, computed in blocks of points, must fit into the memory."""
    for name, n in points.items():
        validate.memory(16 * min(n * h, one_hidden.ENTRIES), f"{name} = {n} with h = {h}")


def needs_flow(s: ByFlow) -> None:
    """The flow of one network and its hidden layer must fit into the memory; InputError has sizes and bytes."""
    device = devices.pick()
    dtype = precision(s.alpha, s.tolerance, device)
    flow = flow_memory(s.h, s.p, s.d, dtype=dtype, device=device)
    validate.memory(flow + 16 * min(s.p * s.h, one_hidden.ENTRIES), f"p = {s.p} with h = {s.h}")
