r"""The state of the flow of a batch of networks: the problem, the point, the last step, and the time.

With :math:`\tilde x = (x/\sqrt d, 1)`, :math:`u = (\omega, b)` and the gates
:math:`M_{n\mu} = [u_n\cdot\tilde x_\mu > 0]`, gradient flow reads :math:`\dot u_n = \beta_n G_n`,
:math:`\dot\beta_n = u_n\cdot G_n` with :math:`G_n = \frac{\sqrt2}{hp}\sum_\mu M_{n\mu} y_\mu q_\mu \tilde x_\mu` and
multipliers :math:`q = -\ell'(m)` of the hinge loss. For a fixed :math:`G` this is a hyperbolic rotation of
:math:`(u_n, \beta_n)`: exact at any step length, it conserves :math:`\beta_n^2 - |u_n|^2` to rounding.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from regimes.models.one_hidden import GAIN, Network
from regimes.training.gradient_flow import pairs
from regimes.training.gradient_flow.constants import FIRST_MOVE, FIRST_TURN, SLACK

GATES = 4  # arrays (h, p) that a step on tensors holds at once


def rotate(u: Tensor, beta: Tensor, push: Tensor) -> tuple[Tensor, Tensor]:
    """The hyperbolic rotation of ``u (..., h, k)``, ``beta (..., h)`` by ``push = G dt (..., h, k)``."""
    angle = push.square().sum(-1, keepdim=True).sqrt()
    axis = push / angle.clamp(min=torch.finfo(push.dtype).tiny)
    along = (u * axis).sum(-1, keepdim=True)
    last = beta.unsqueeze(-1)
    half = torch.sinh(angle / 2)
    sinh = torch.sinh(angle)
    cosh_1 = 2 * half * half  # cosh - 1, without cancellation
    moved = u + axis * (along * cosh_1 + last * sinh)
    return moved, (last + last * cosh_1 + along * sinh).squeeze(-1)


@dataclass(frozen=True)
class Band:
    """Points of some realisations that are treated together, equally many in each, padded with others.

    ``rows (r,)`` are the realisations, ``index (r, n)`` the points; ``inside (r, n)`` is false for padding.
    """

    rows: Tensor
    index: Tensor
    inside: Tensor

    def pick(self, values: Tensor) -> Tensor:
        """The band's entries ``(r, n, ...)`` of values ``(e, p, ...)``."""
        return values.index_select(1, self.index[0]) if len(values) == 1 else values[self.rows[:, None], self.index]

    def columns(self, gates: "Gates", xt: Tensor) -> Tensor:
        """The band's columns ``(r, h, n)`` of the gates of inputs ``xt (e, p, k)``."""
        if gates.array is None:
            return (gates.weights[self.rows] @ self.pick(xt).mT).gt_(0)
        if len(gates.array) == 1:
            return gates.array.index_select(2, self.index[0])
        return gates.array[self.rows[:, None], :, self.index].mT


def band_of(points: Tensor) -> Band:
    """The band of the points marked in ``(e, p)``, in the realisations that have any."""
    if len(points) == 1:
        index = points[0].nonzero().T
        return Band(index.new_zeros(1), index, torch.ones_like(index, dtype=torch.bool))
    counts = points.sum(-1).tolist()
    rows = torch.tensor([e for e, count in enumerate(counts) if count], device=points.device)
    points = points[rows]
    width = max(counts)
    index = points.to(torch.uint8).argsort(dim=-1, descending=True, stable=True)[:, :width]
    return Band(rows, index, points.gather(-1, index))


@dataclass(frozen=True)
class Gates:
    """The gates of weights ``(e, h, k)``, as an array of numbers 0 and 1 ``(e, h, p)`` unless sums find them again."""

    weights: Tensor
    array: Tensor | None


@dataclass(frozen=True)
class FlowProblem:
    """The problem and the tolerance; tensors have the leading axis ``e`` of realisations.

    ``xt (e, p, k)`` are the inputs with a constant coordinate, ``y (e, p)`` the labels, ``base (e, p)`` is ``y f_0``,
    ``alpha`` the scale of the predictor and ``tolerance`` that of a step (``gradient_flow``).
    """

    xt: Tensor
    y: Tensor
    base: Tensor
    alpha: float
    tolerance: float

    @property
    def corner(self) -> float:
        """The hinge's corner in the step."""
        return 1.0 + SLACK * self.tolerance

    def field(self, gates: Gates, q: Tensor) -> Tensor:
        """``G (e, h, k)`` for given gates and multipliers."""
        scale = GAIN / (gates.weights.shape[1] * self.y.shape[1])
        if gates.array is None:
            return pairs.field(self.xt, self.y * q, gates.weights, scale)
        weighted = self.xt * (self.y * q).unsqueeze(-1) * scale
        return gates.array @ weighted.to(gates.array.dtype)

    def share(self, band: Band, u: Tensor, q: Tensor) -> Tensor:
        """The share ``(r, h, k)`` in ``G`` at weights ``u`` of the points of a band with multipliers ``q (r, n)``."""
        x, scale = band.pick(self.xt), GAIN / (u.shape[1] * self.y.shape[1])
        if pairs.fuses(x):
            return pairs.field(x, band.pick(self.y) * q, u[band.rows], scale)
        gates = (u[band.rows] @ x.mT).gt_(0)
        weighted = x * (band.pick(self.y) * q).unsqueeze(-1) * scale
        return gates @ weighted.to(gates.dtype)

    def push(self, u: Tensor, q: Tensor, gates: Gates | None = None) -> Tensor:
        """``G (e, h, k)`` at weights ``u``, from the points that push, or from the gates of all if most of them do.

        Late in training few points push: finding their gates again is faster than multiplying those of all.
        """
        band = band_of(q != 0)
        if 2 * band.index.shape[-1] > q.shape[-1]:
            return self.field(self.open_gates(u) if gates is None else gates, q)
        push = torch.zeros_like(u)
        push[band.rows] = self.share(band, u, band.pick(q))
        return push

    def open_gates(self, u: Tensor) -> Gates:
        """The gates of weights ``u (e, h, k)``."""
        return Gates(u, None if pairs.fuses(self.xt) else (u @ self.xt.mT).gt_(0))

    def outputs(self, gates: Gates, u: Tensor, beta: Tensor) -> Tensor:
        """``y f`` at the training points ``(e, p)``."""
        slopes = u * beta.unsqueeze(-1)
        if gates.array is None:
            f = pairs.outputs(self.xt, gates.weights, slopes)
        else:
            f = ((slopes.mT @ gates.array) * self.xt.mT).sum(1)
        return self.y * f * (GAIN / u.shape[1])

    def margins(self, gates: Gates, u: Tensor, beta: Tensor) -> Tensor:
        """``m = y F (e, p)``, with ``F = alpha (f - f_0)``."""
        return self.alpha * (self.outputs(gates, u, beta) - self.base)

    def own_margins(self, u: Tensor, beta: Tensor) -> Tensor:
        """``m = y F (e, p)`` with the gates of ``u``, which are not kept in memory if there is a compiler."""
        return pairs.margins(self.xt, self.y, self.base, self.alpha, u, beta)

    def own_push(self, u: Tensor, q: Tensor) -> Tensor:
        """``G (e, h, k)`` at weights ``u``, without gates in memory as :meth:`own_margins`."""
        return pairs.field(self.xt, self.y * q, u, GAIN / (u.shape[1] * self.y.shape[1]))

    def speed(self, now: "Point") -> Tensor:
        """``dm/dt (e, p)`` at a point of the path, for its multipliers, without gates in memory as well."""
        along = (now.u * now.push).sum(-1, keepdim=True)
        slopes = now.beta.square().unsqueeze(-1) * now.push + along * now.u
        return self.alpha * self.y * pairs.outputs(self.xt, now.u, slopes) * (GAIN / now.u.shape[1])


@dataclass(frozen=True)
class Point:
    """A point of the path.

    ``u (e, h, k)`` and ``beta (e, h)`` are the weights, ``m (e, p)`` the margins, ``q (e, p)`` the multipliers of the
    step that led here, and ``push (e, h, k)`` is ``G`` with these.
    """

    u: Tensor
    beta: Tensor
    m: Tensor
    q: Tensor
    push: Tensor


@dataclass(frozen=True)
class Past:
    """The last step: the path inside it, and what the next one extrapolates.

    It began at ``u`` and ``beta``; ``mean`` is its mean ``G``, ``before`` the ``G`` at its beginning, from its mean and
    its end. ``dt (e,)`` is its length, infinite before the first.
    """

    u: Tensor
    beta: Tensor
    mean: Tensor
    before: Tensor
    dt: Tensor


@dataclass(frozen=True)
class Screen:
    """Which margins a compiled step looks at. The others are those of an earlier step; all of them are still above 1.

    ``drift (e,)`` bounds the change of any margin since time 0, over the norm of its input. A margin is of an earlier
    step until ``drift`` comes near to the point's ``until (e, p)``. ``stale (e,)`` counts those that are.
    """

    until: Tensor
    drift: Tensor
    stale: Tensor


def unscreened(m: Tensor) -> Screen:
    """The screen of margins ``(e, p)`` of which none is of an earlier step."""
    zero = torch.zeros(len(m), dtype=torch.float64, device=m.device)
    return Screen(torch.zeros_like(m), zero, zero)


@dataclass(frozen=True)
class Batch:
    """The state of a batch of realisations: problem, point reached, last step, time and next step ``(e,)``.

    Times are float64, in the unit of :mod:`regimes.training.gradient_flow`. ``screen`` says which margins of ``now``
    are of an earlier step; none of them are if it is ``None``. ``signs`` is :meth:`described` where the step told it.
    """

    problem: FlowProblem
    now: Point
    past: Past
    t: Tensor
    dt: Tensor
    screen: Screen | None = None
    signs: Tensor | None = None

    def exact(self) -> "Batch":
        """The same batch with all margins those of its weights."""
        if self.screen is None:
            return self
        m = self.now.m
        if bool(self.screen.stale.any()):
            m = self.problem.own_margins(self.now.u, self.now.beta)
        return replace(self, now=replace(self.now, m=m), screen=None)

    def described(self) -> Tensor:
        """The largest margin, the number of satisfied points, whether all margins are finite, and any ``G`` is not 0.

        Shape ``(e, 4)``, float64.
        """
        if self.signs is not None:
            return self.signs
        m = self.now.m
        largest = m.amax(-1)
        satisfied = (m >= 1).sum(-1)
        finite = torch.isfinite(m).all(-1)
        pushed = self.now.push.flatten(1).any(-1)
        return torch.stack([column.double() for column in (largest, satisfied, finite, pushed)], -1)

    def numbers(self) -> list[list[float]]:
        """The time and :meth:`described` of each realisation; the device is read once."""
        return torch.cat([self.t.unsqueeze(-1), self.described()], -1).tolist()

    @property
    def m(self) -> Tensor:
        """Margins ``(e, p)``, of which satisfied ones may be of an earlier step."""
        return self.now.m

    @property
    def fitted(self) -> Tensor:
        """Whether no margin is below 1 ``(e,)``."""
        return (self.now.m >= 1).all(-1)

    @property
    def batch(self) -> "Batch":
        """Itself, as :class:`regimes.training.gradient_flow.compiled.Step` has it."""
        return self

    def part(self, rows: Tensor) -> "Batch":
        """The realisations ``rows`` (an index tensor), as a batch of their own."""
        return each(lambda value: value[rows], self)


def each(change: Callable[..., Tensor], record: Any, *others: Any) -> Any:
    """The record with ``change`` applied to each tensor at any depth, together with the same one of the others."""
    if isinstance(record, Tensor):
        return change(record, *others)
    if not is_dataclass(record):
        return record
    parts = {}
    for field in fields(record):
        values = [getattr(other, field.name) for other in others]
        parts[field.name] = each(change, getattr(record, field.name), *values)
    return replace(cast(Any, record), **parts)


def choose(moved: Tensor, new: Batch, old: Batch) -> Batch:
    """The new batch in the rows that moved ``(e,)``, the old one in the others."""

    def row(ours: Tensor, theirs: Tensor) -> Tensor:
        return ours if ours is theirs else torch.where(moved.view(-1, *[1] * (ours.ndim - 1)), ours, theirs)

    return each(row, new, old)


def start(network: Network, x: Tensor, y: Tensor, *, alpha: float, tolerance: float) -> Batch:
    """A batch at time 0, from networks and the points ``x (e, p, d)``, ``y (e, p)`` of each, in the networks' dtype."""
    xt = torch.cat([x * network.d**-0.5, torch.ones_like(x[..., :1])], -1)
    u = torch.cat([network.omega, network.b[..., None]], -1)
    beta = network.beta
    xt = xt.mT.contiguous().mT  # the product with the weights is twice as fast for this layout
    y = y.to(u)
    zero = torch.zeros_like(y)
    base = pairs.margins(xt, y, zero, 1.0, u, beta)
    problem = FlowProblem(xt, y, base, alpha, tolerance)
    q = torch.ones_like(y)
    push = problem.own_push(u, q)
    now = Point(u, beta, zero, q, push)
    time = torch.zeros(len(u), dtype=torch.float64, device=u.device)
    past = Past(u, beta, push, push, time + math.inf)
    return Batch(problem, now, past, time, _first(problem, now))


def _first(problem: FlowProblem, now: Point) -> Tensor:
    """The length of the first step ``(e,)``; 1 if nothing moves."""
    largest = now.push.square().sum(-1).amax(-1).sqrt().double()
    dt = torch.minimum(FIRST_TURN / largest, FIRST_MOVE / problem.speed(now).abs().amax(-1).double())
    return torch.where(largest > 0, dt, 1.0)
