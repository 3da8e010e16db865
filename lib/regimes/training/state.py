"""The states that every solver yields, why a realisation ended, and rules about states."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self, cast

import torch
from torch import Tensor

from regimes import validate
from regimes.models.losses import Loss
from regimes.models.tangents import total
from regimes.validate import InputError

SECANTS = 10  # rounds in which the secant is alone to find an event


class Ended(StrEnum):
    """Why a realisation ended."""

    FITTED = "fitted"
    JAMMED = "jammed"
    STATIONARY = "stationary"
    NO_GRADIENT = "no gradient"
    UNTIL = "until"
    STEPS = "given up"
    OVERFLOW = "overflow"
    ROUND_OFF = "round-off"


class Ending(str):
    """Why a realisation ended, in one line; ``kind`` is for programs."""

    kind: Ended

    def __new__(cls, kind: Ended, detail: str = "") -> Self:
        """``kind`` and, if given, a detail."""
        ending = super().__new__(cls, f"{kind}{detail}")
        ending.kind = kind
        return ending


class Observed:
    """The fields or properties of each kind of state.

    - ``t``: times ``(e,)``, float64, in paper A's unit (:mod:`regimes.training.gradient_flow`); steps of an optimiser;
    - ``y``: labels ``(e, p)``; ``margins``: ``y F`` at the training points ``(e, p)``;
    - ``model``: the models now; ``initial``: those at time 0.
    """

    if TYPE_CHECKING:
        t = y = margins = property(lambda self: Tensor())
        model = initial = property(lambda self: cast(Any, None))


@dataclass(frozen=True)
class State(Observed):
    """A point of the path of the realisations ``rows`` of an ensemble, with leading axis ``e = len(rows)``.

    A state stays valid after the solver has moved on.

    Attributes:
        rows: indices of these realisations in the ensemble.
        objective: the loss function.
        slack: distance from the margin at which a loss that only approaches it counts as fitted.
        ended: realisation -> why it ended, shared with the solver.
    """

    rows: tuple[int, ...]
    objective: Loss
    slack: float
    ended: dict[int, Ending] = field(default_factory=dict, kw_only=True)

    def part(self, which: list[int]) -> Self:
        """The state of some of its realisations, by position."""
        rows = torch.tensor(which, device=self.t.device)
        names = [field.name for field in fields(self) if field.name not in ("rows", "ended")]
        values = {name: _part(getattr(self, name), rows) for name in names}
        return replace(self, rows=tuple(self.rows[e] for e in which), **values)

    @property
    def running(self) -> list[int]:
        """The positions of the realisations that have not ended."""
        return [e for e, row in enumerate(self.rows) if row not in self.ended]

    @property
    def given(self) -> torch.dtype:
        """The precision of the caller's models, in which they are handed back."""
        return self.initial.parameters()[0].dtype

    def returned(self, model: Any) -> Any:
        """One of this state's models as it is handed back: networks in the caller's precision.

        What has no ``to``, such as an expansion in kernels, is no network of the caller's and stays as it is.
        """
        return model.to(dtype=self.given) if hasattr(model, "to") else model

    def inside(self, share: Tensor) -> Self:
        """The state at ``share (e,)`` of the last step, 0 its start and 1 its end.

        A solver without a path between its states gives the end.
        """
        return self

    def margins_to(self, level: float) -> Tensor:
        """Margins ``(e, p)``, exact where they are below ``level``; the others may be any number from ``level`` on.

        A solver that follows satisfied points less closely has these at hand.
        """
        return self.margins

    @property
    def F(self) -> Tensor:
        """The predictor at the training points ``(e, p)``."""
        return self.y * self.margins

    @property
    def fitted(self) -> Tensor:
        """Whether every margin is at least 1, or within the slack if the loss only approaches it, ``(e,)``."""
        m = self.margins if self.objective.two_sided else self.margins_to(1)
        return self.objective.fitted(m, self.slack).all(-1)

    @property
    def satisfied(self) -> Tensor:
        """The fitted fraction, the share of training points with ``y F >= 1``, ``(e,)``, float64."""
        return (self.margins_to(1) >= 1).double().mean(-1)

    @property
    def loss(self) -> Tensor:
        """The mean loss over the training points ``(e,)``, float64 (no division by alpha)."""
        return self.objective.value(self.margins.double()).mean(-1)

    def finish(self, which: Tensor, why: Ending) -> None:
        """Ends the realisations marked in ``which (e,)``, with the reason."""
        for row, marked in zip(self.rows, which.tolist()):
            if marked:
                self.ended.setdefault(row, why)


def _part(value: Any, rows: Tensor) -> Any:
    """Some realisations of a field of a state: tensors, models or tuples of them; other values stay."""
    if isinstance(value, tuple):
        return tuple(_part(item, rows) for item in value)
    if hasattr(value, "part"):
        return value.part(rows)
    return value[rows] if hasattr(value, "__getitem__") else value


def expand_like(per: Tensor, like: Tensor) -> Tensor:
    """``per (e,)`` with the axes of ``like (e, ...)``, in its dtype."""
    return per.to(like).view(-1, *[1] * (like.ndim - 1))


def where_rows(taken: Tensor, new: Sequence[Tensor], old: Sequence[Tensor]) -> list[Tensor]:
    """The new tensors of realisations where ``taken (e,)``, the old ones of the others."""
    if not taken.is_cuda and bool(taken.all()):
        return list(new)
    return [torch.where(expand_like(taken, a).bool(), a, b) for a, b in zip(new, old, strict=True)]


def labels_of(y: Tensor, outputs: Tensor) -> Tensor:
    """Labels or targets ``y``, one for each of ``outputs (E, p, ...)``, of one realisation or all: ``(E, p, ...)``.

    Raises:
        InputError: for other shapes, and for values that are not finite.
    """
    shape = tuple(outputs.shape)
    if tuple(y.shape) not in (shape, shape[1:], (1, *shape[1:])):
        raise InputError(f"y must have the shape {shape} of the outputs or that of one, got {tuple(y.shape)}")
    y = y.to(outputs)
    validate.arrays(y=("...", y))
    return y.expand_as(outputs)


def squared_norm(tensors: Sequence[Tensor]) -> Tensor:
    """The squared norm over all tensors of each realisation, ``(e,)``, float64."""
    return total(tensor.reshape(len(tensor), -1).double().square().sum(-1) for tensor in tensors)


def norm(tensors: Sequence[Tensor]) -> Tensor:
    """The norm over all tensors of each realisation, ``(e,)``, float64."""
    return squared_norm(tensors).sqrt()


Rule = Callable[[State], Tensor]
"""How far past an event a state is: ``(e,)``, zero or more where it has happened, continuous in time near it."""


def satisfied(fraction: float, *, margin: float = 1.0) -> Rule:
    """The event that a ``fraction`` of the training points has ``y F >= margin``.

    A loss that only approaches the margin 1, such as the quadratic hinge, needs a smaller one.

    Raises:
        InputError: for a fraction outside ``(0, 1]``, or a margin that is not positive.
    """
    if not validate.is_number(fraction) or not 0 < fraction <= 1:
        raise InputError(f"fraction must lie in (0, 1], got {fraction!r}")
    validate.positive(margin=margin)

    def level(state: State) -> Tensor:
        m = state.margins_to(margin)
        return m.kthvalue(_rank(m.shape[-1], fraction), -1).values - margin

    return level


def _rank(count: int, fraction: float) -> int:
    """The rank of the margin that must reach an event's, so that a ``fraction`` of ``count`` points does."""
    return count + 1 - math.ceil(fraction * count - 1e-9)


t_star = satisfied(0.1)
"""The characteristic time of paper A: 10 % of the training points have ``y F >= 1``. Source: paper A, Sec. 2.5."""


def satisfied_of_each_label(fraction: float) -> Rule:
    """The event that a ``fraction`` of the training points of *each* label has ``y F >= 1``.

    Labels are +1 and -1. A realisation that lacks one of them is judged by the other.

    Raises:
        InputError: for a fraction outside ``(0, 1]``.
    """
    if not validate.is_number(fraction) or not 0 < fraction <= 1:
        raise InputError(f"fraction must lie in (0, 1], got {fraction!r}")

    def rule(state: State) -> Tensor:
        margins = state.margins_to(1)
        return torch.stack([_least_of_labels(m, y, fraction) for m, y in zip(margins, state.y)])

    return rule


def _least_of_labels(margins: Tensor, y: Tensor, fraction: float) -> Tensor:
    """How far the margins ``(p,)`` of one realisation are past the event, by the label that is behind."""
    by_label = [margins[y == label] for label in (1, -1)]
    levels = [m.kthvalue(_rank(len(m), fraction)).values - 1 for m in by_label if len(m)]
    return torch.stack(levels).amin()


t_star_of_each_label = satisfied_of_each_label(0.1)
"""10 % of the training points of each label have ``y F >= 1``: a :data:`t_star` that unequal labels leave its sense."""


def needs_resolution(alpha: float, base: Tensor) -> None:
    """Raises ``InputError`` where the first rounding of outputs ``f_0`` in ``F = α (f - f_0)`` is as large as a margin.

    Args:
        alpha: scale of the predictor.
        base: the outputs ``f_0``.
    """
    rounding = torch.finfo(base.dtype).eps * float(base.abs().max())
    if alpha * rounding > 1:
        dtype = str(base.dtype).removeprefix("torch.")
        why = f"beyond, alpha (f - f_0) is round-off in {dtype} for outputs of {float(base.abs().max()):.3g}"
        raise InputError(f"alpha must be at most {1 / rounding:.3g}: {why}, got {alpha:g}")


def fitted(state: State) -> Tensor:
    """The end of training, :attr:`State.fitted`."""
    return torch.add(state.fitted, -1.0)


def after(time: float) -> Rule:
    """The event that ``time`` is reached, in the solver's unit.

    Raises:
        InputError: for a time that is not positive.
    """
    validate.positive(time=time)
    return lambda state: state.t / time - 1


def level(rule: Rule, state: State, name: str = "the rule") -> Tensor:
    """``rule(state) (e,)``, float64.

    Raises:
        InputError: for a rule that does not give one number per realisation.
    """
    values = rule(state)
    count = len(state.t)
    if not isinstance(values, Tensor) or values.shape != (count,) or values.is_complex():
        got = tuple(values.shape) if isinstance(values, Tensor) else validate.shown(values)
        raise InputError(f"{name} must give one number a realisation, a tensor ({count},), got {got}")
    return values.double()


def locate(state: State, rule: Rule, *, precision: float = 1e-6, rounds: int = 60) -> State:
    """The state inside the last step at which ``rule`` is first met, to ``precision`` of the step's length.

    A realisation that meets the rule at the start of the step gives its end. The method is the Illinois variant of the
    secant rule, with halvings if that takes long; each round is one forward pass.
    """
    low = torch.zeros_like(state.t)
    high = torch.ones_like(state.t)
    below = level(rule, state.inside(low))
    above = level(rule, state)
    low = torch.where(below < 0, low, high)
    side = torch.zeros_like(low)
    for count in range(rounds):
        if bool((high - low <= precision).all() | (above <= 0).all()):
            break
        middle = (low * above - high * below) / (above - below).clamp(min=1e-300)
        # no nearer to an end than half the precision: where that end is the root, the next round closes the interval
        distance = ((high - low) / 2).clamp(max=precision / 2)
        middle = middle.clamp(low + distance, high - distance)
        if count > SECANTS and count % 2:  # one that has not found it by now is helped
            middle = (low + high) / 2
        value = level(rule, state.inside(middle))
        past = value >= 0
        # halving the weight of an end that stays twice keeps the secant from creeping
        below = torch.where(past, torch.where(side > 0, below / 2, below), value)
        above = torch.where(past, value, torch.where(side < 0, above / 2, above))
        low = torch.where(past, low, middle)
        high = torch.where(past, middle, high)
        side = torch.where(past, 1.0, -1.0)
    return state.inside(high)
