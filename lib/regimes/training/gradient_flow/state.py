"""What a flow shows: states along the path, and the rules that say when something has happened."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from regimes import validate
from regimes.models.one_hidden import Network
from regimes.training.gradient_flow.step import Batch, rotate
from regimes.validate import InputError


@dataclass(frozen=True)
class State:
    """A point of the path of some realisations of an ensemble, those in ``rows``; leading axis ``e = len(rows)``.

    Properties are computed when asked for. A state stays valid after the flow has moved on.

    Attributes:
        rows: which realisations of the ensemble these are.
        batch: the integrator's own record.
        initial: the networks at time 0, ``(e, ...)``.
        ended: shared with the flow: realisation -> why it stopped.
    """

    rows: tuple[int, ...]
    batch: Batch
    initial: Network
    ended: dict[int, str] = field(default_factory=dict)

    @property
    def t(self) -> Tensor:
        """Times ``(e,)``, float64, in the unit of :mod:`regimes.training.gradient_flow`."""
        return self.batch.t

    @property
    def network(self) -> Network:
        """The networks now."""
        return _network(self.batch.u, self.batch.beta, self.initial.bias)

    @property
    def margins(self) -> Tensor:
        """``y F`` at the training points ``(e, p)``."""
        return self.batch.m

    @property
    def F(self) -> Tensor:
        """The predictor ``alpha (f - f_0)`` at the training points ``(e, p)``."""
        return self.batch.y * self.batch.m

    @property
    def satisfied(self) -> Tensor:
        """The fraction of training points with ``y F >= 1``, ``(e,)``, float64."""
        return (self.batch.m >= 1).double().mean(-1)

    @property
    def loss(self) -> Tensor:
        """The mean loss over the training points ``(e,)``, float64 (no division by alpha)."""
        return self.batch.loss.value(self.batch.m.double()).mean(-1)

    @property
    def multipliers(self) -> Tensor:
        """The mean of ``-l'`` over the last step, ``(e, p)``: which points drive the flow."""
        return self.batch.q

    @property
    def open_gates(self) -> Tensor:
        """How many training points activate each neuron, ``(e, h)``."""
        return self.batch.open_gates(self.batch.u).sum(-1).to(torch.int64)

    def predict(self, x: Tensor) -> Tensor:
        """The predictor ``F = alpha (f - f_0)`` at other points ``x (n, d)`` or ``(e, n, d)``: ``(e, n)``."""
        return self.batch.alpha * (self.network(x) - self.initial(x))

    def finish(self, which: Tensor, why: str) -> None:
        """Takes the realisations marked in ``which (e,)`` out of the flow, with the reason."""
        for e in which.nonzero().flatten().tolist():
            self.ended.setdefault(self.rows[e], why)

    def inside(self, share: Tensor) -> "State":
        """The state at ``share (e,)`` of the last step, 0 its start and 1 its end; on the integrator's own path."""
        batch = self.batch
        push = batch.mean * (share * batch.last).to(batch.u.dtype)[:, None, None]
        u, beta = rotate(batch.u0, batch.beta0, push)
        t = batch.t - (1 - share) * batch.last
        margins = batch.margins(batch.open_gates(u), u, beta)
        return replace(self, batch=replace(batch, u=u, beta=beta, m=margins, t=t))

    def part(self, which: list[int]) -> "State":
        """The state of some of its realisations, by position."""
        rows = torch.tensor(which, device=self.t.device)
        return replace(
            self, rows=tuple(self.rows[e] for e in which), batch=self.batch.part(rows), initial=self.initial[rows]
        )


def _network(u: Tensor, beta: Tensor, bias: bool) -> Network:
    if bias:
        return Network(u[..., :-1], u[..., -1], beta)
    return Network(u, torch.zeros_like(beta), beta, False)


Rule = Callable[[State], Tensor]
"""How far past an event a state is: ``(e,)``, zero or more where it has happened, continuous in time near it."""


def satisfied(fraction: float) -> Rule:
    """The event that a ``fraction`` of the training points has ``y F >= 1``.

    Raises:
        InputError: for a fraction outside ``(0, 1]``.
    """
    if not validate.is_number(fraction) or not 0 < fraction <= 1:
        raise InputError(f"fraction must lie in (0, 1], got {fraction!r}")

    def level(state: State) -> Tensor:
        p = state.margins.shape[-1]
        return state.margins.kthvalue(p + 1 - math.ceil(fraction * p - 1e-9), -1).values - 1

    return level


t_star = satisfied(0.1)
"""The characteristic time of paper A: 10 % of the training points have ``y F >= 1``. Source: paper A, Sec. 2.5."""


def fitted(state: State) -> Tensor:
    """The end of training: every margin at least 1, so zero hinge loss; within the slack of it where a loss only
    approaches that (see :class:`regimes.models.losses.Loss`).
    """
    batch = state.batch
    return torch.where(batch.loss.fitted(batch.m, batch.tolerance).all(-1), 0.0, -1.0)


def after(time: float) -> Rule:
    """The event that the time has come, in the unit of :mod:`regimes.training.gradient_flow`."""
    validate.positive(time=time)
    return lambda state: state.t / time - 1


def locate(state: State, rule: Rule, *, precision: float = 1e-6, rounds: int = 40) -> State:
    """The state inside the last step at which ``rule`` is first met, to ``precision`` of the step's length.

    Every realisation of ``state`` must meet the rule at its end and not at its start (else its end is taken).
    The Illinois variant of the secant rule: each round is one forward pass.
    """
    low, high = torch.zeros_like(state.t), torch.ones_like(state.t)
    below, above = rule(state.inside(low)).double(), rule(state).double()
    low = torch.where(below < 0, low, high)
    side = torch.zeros_like(low)
    for _ in range(rounds):
        if bool((high - low <= precision).all() | (above <= 0).all()):
            break
        middle = ((low * above - high * below) / (above - below).clamp(min=1e-300)).clamp(low, high)
        middle = torch.where((middle - low < precision / 2) | (high - middle < precision / 2), (low + high) / 2, middle)
        level = rule(state.inside(middle)).double()
        past = level >= 0
        # halving the weight of an end that stays twice keeps the secant from creeping
        below = torch.where(past, torch.where(side > 0, below / 2, below), level)
        above = torch.where(past, level, torch.where(side < 0, above / 2, above))
        low, high = torch.where(past, low, middle), torch.where(past, middle, high)
        side = torch.where(past, 1.0, -1.0)
    return state.inside(high)
