r"""Full-batch optimisers of any model: gradient descent, Adam, and descent with momentum in continuous time.

The loss of a realisation is that of the flows, :math:`L = \frac1{\alpha p}\sum_\mu \ell(F(x_\mu), y_\mu)` with
:math:`F = \alpha (f - f_0)`, or :math:`\alpha f` where not *centred*; for the square loss with :math:`\alpha = 1` it is
:math:`\frac1{2p}\sum_\mu |f(x_\mu) - y_\mu|^2`, for any targets and several outputs. Realisations do not interact.

- ``gd``: :math:`W \leftarrow W - \eta\,(\partial_W L + \lambda W)`; ``rate`` :math:`\eta` is a time of the flow.
- ``adam``: with the constants 0.9, 0.999 and 1e-8 of Kingma and Ba; weight decay :math:`\lambda` is decoupled.
- ``momentum``: :math:`v \leftarrow x v - (1 - x)\,\partial_W L`, :math:`W \leftarrow W + v\,\delta t` with
  :math:`x = e^{-\delta t/\tau}`: :math:`\tau` is a time, and :math:`\tau = 0` the explicit Euler rule of the flow.
  Each realisation has its own :math:`\delta t`: a step is taken if the gradient turns by less than ``max_turn``,
  :math:`|g - g'|^2 < \text{max\_turn}\,|g||g'|`, and no :math:`F` moves by more than ``max_move``; else it is halved
  (the original code divides by ten, and needs nearly twice as many steps).

Source: paper C, Sec. 5 (gd and Adam); the public code of papers A and B (momentum).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor

from regimes import validate
from regimes.models import Model, checked, losses, needs_finite
from regimes.models.losses import Loss
from regimes.training import state
from regimes.training.state import Ended, Ending, expand_like, squared_norm, where_rows
from regimes.validate import InputError

METHODS = ("gd", "adam", "momentum")
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # Adam's constants


@dataclass(frozen=True)
class OptimiserState(state.State):
    """Models after a number of steps, see :class:`regimes.training.state.State`.

    Attributes:
        t: steps taken ``(e,)``; with momentum the time, in the flow's unit.
        y: labels ``(e, p)``, or targets ``(e, p, k)``.
        predictor: ``F``, shaped as the targets.
        model: the models now.
        initial: those at the start.
    """

    t: Tensor
    y: Tensor
    predictor: Tensor
    model: Model
    initial: Model

    @property
    def F(self) -> Tensor:
        """The predictor at the training points."""
        return self.predictor

    @property
    def margins(self) -> Tensor:
        """``y F``."""
        return self.y * self.predictor

    @property
    def loss(self) -> Tensor:
        """The mean loss over the points, summed over outputs, ``(e,)``, float64 (no division by alpha)."""
        cost = self.objective.cost(self.predictor.double(), self.y.double())
        return cost.flatten(2).sum(-1).mean(-1) if cost.ndim > 2 else cost.mean(-1)


def optimise(
    model: Model,
    x: Tensor,
    y: Tensor,
    *,
    method: str = "gd",
    rate: float | Tensor | None = None,
    tau: float = 0.0,
    decay: float = 0.0,
    loss: str | Loss = "square",
    alpha: float = 1.0,
    centred: bool = False,
    slack: float = 0.0,
    max_turn: float = 1e-2,
    max_move: float = 0.1,
) -> Iterator[OptimiserState]:
    """Trains, and yields the state at the start and after every step; the models passed in do not change.

    Args:
        model: ``E`` realisations.
        x: points ``(p, ...)`` shared by all, or ``(E, p, ...)``.
        y: labels or targets ``(p,)``, ``(1, p)`` or ``(E, p)``; ``(E, p, k)`` for a model with several ``outputs``.
        method: ``gd``, ``adam`` or ``momentum``.
        rate: of each step of gd and Adam; for gd also ``(E,)``.
        tau: memory of the momentum, in the flow's unit of time.
        decay: weight decay ``λ``, of gd and Adam.
        loss: a name in ``losses.LOSSES`` or a loss; targets other than ±1 need ``square``.
        alpha: scale of the predictor.
        centred: whether the predictor starts at zero, as in the flows.
        slack: distance from the margin at which a loss that only approaches it counts as fitted and ends a
            realisation; the square loss never ends by itself.
        max_turn: of the momentum rule; the original runs have 1e-4 to 1e-2.
        max_move: of the momentum rule; the original runs have 0.1.
    """
    loss = losses.named(loss)
    validate.one_of(METHODS, method=method)
    validate.positive(alpha=alpha)
    validate.at_least(0, tau=tau, decay=decay, slack=slack)
    rate = _needed_rate(method, rate, decay, tau)
    if method == "momentum":
        validate.positive(max_turn=max_turn, max_move=max_move)
    x = checked(model, x)
    y = validate.points("y", y).detach()
    if y.ndim > 2 and not hasattr(model, "outputs"):
        raise InputError(f"y must hold one label a point for a model of one output, got {tuple(y.shape)}")
    if not loss.two_sided and not bool(((y == 1) | (y == -1)).all()):
        raise InputError(f"targets other than ±1 need the square loss, got {loss.name}")
    with torch.no_grad():
        outputs = _outputs(model, x, y.ndim > 2)
    needs_finite(outputs, "outputs", model, x)
    if centred:
        state.needs_resolution(alpha, outputs)
    y = state.labels_of(y, outputs)
    if isinstance(rate, Tensor) and len(rate) != len(outputs):
        raise InputError(f"rate must be one number, or one for each of {len(outputs)} realisations, got {len(rate)}")
    base = outputs if centred else torch.zeros_like(outputs)
    problem = _Problem(x, y, base, float(alpha), loss)
    time = torch.zeros(len(outputs), dtype=torch.float64, device=outputs.device)
    rows = tuple(range(len(outputs)))
    first = OptimiserState(rows, loss, float(slack), time, problem.y, alpha * (outputs - base), model, model)
    if method == "momentum":
        return _relax(first, problem, tau, max_turn, max_move)
    return _descend(first, problem, cast(float | Tensor, rate), decay, adam=method == "adam")


def _needed_rate(method: str, rate: float | Tensor | None, decay: float, tau: float) -> float | Tensor | None:
    """The rate, checked; a rate, decay or memory must be given exactly if the method has one."""
    if method == "momentum":
        if rate is not None or decay:
            raise InputError(f"momentum takes its steps by itself and has no decay, got rate {rate!r}, decay {decay!r}")
        return None
    if tau:
        raise InputError(f"tau is that of momentum, got {tau!r} for {method}")
    if not getattr(rate, "ndim", 0):
        validate.positive(rate=rate)
        return float(cast(float, rate))
    rates = validate.tensor("rate", rate).detach()
    if method != "gd" or rates.ndim != 1 or not bool((rates > 0).all()) or not bool(rates.isfinite().all()):
        raise InputError(f"one rate a realisation is for gd alone, and must be positive; got {rates.tolist()}")
    return rates


def _outputs(model: Model, x: Tensor, several: bool) -> Tensor:
    return cast(Any, model).outputs(x) if several else model(x)


@dataclass(frozen=True)
class _Problem:
    """The problem: points, targets, outputs to subtract, scale and loss."""

    x: Tensor
    y: Tensor
    base: Tensor
    alpha: float
    loss: Loss

    def part(self, rows: Tensor) -> "_Problem":
        x = self.x[rows] if len(self.x) == len(self.y) else self.x
        return replace(self, x=x, y=self.y[rows], base=self.base[rows])

    def gradient(self, model: Model) -> tuple[Tensor, list[Tensor]]:
        """The predictor and ``-∂L/∂W``, one tensor per parameter."""
        if hasattr(model, "pullback"):
            f, pull = cast(Any, model).pullback(self.x)
            F = self.alpha * (f.reshape(self.y.shape) - self.base)
            force = self.loss.force(F, self.y) / self.y.shape[1]
            return F, pull(force.reshape(f.shape))
        leaves = [weight.detach().requires_grad_(True) for weight in model.parameters()]
        F = self.alpha * (_outputs(model.with_parameters(leaves), self.x, self.y.ndim > 2) - self.base)
        force = self.loss.force(F.detach(), self.y) / (self.alpha * self.y.shape[1])
        return F.detach(), list(torch.autograd.grad((F * force).sum(), leaves))


def _end(now: OptimiserState) -> None:
    """Ends the realisations that are fitted or have diverged."""
    if not now.objective.two_sided:
        done = now.objective.fitted(now.margins, now.slack).flatten(1).all(-1)
        now.finish(done, Ending(Ended.FITTED))
    broken = ~torch.isfinite(now.predictor).flatten(1).all(-1)
    now.finish(broken, Ending(Ended.OVERFLOW, ": the outputs left the range of the precision, take a smaller rate"))


def _descend(
    now: OptimiserState, problem: _Problem, rate: float | Tensor, decay: float, *, adam: bool
) -> Iterator[OptimiserState]:
    moments: list[list[Tensor]] = []  # Adam's, of the first and of the second order
    for _ in range(2 if adam else 0):
        moments.append([torch.zeros_like(weight) for weight in now.model.parameters()])
    step = 0
    while True:
        F, down = problem.gradient(now.model)
        now = replace(now, predictor=F)
        _end(now)
        yield now
        running = now.running
        if not running:
            return
        if len(running) < len(now.rows):
            rows = torch.tensor(running, device=now.t.device)
            now = now.part(running)
            problem = problem.part(rows)
            down = [g[rows] for g in down]
            moments = [[moment[rows] for moment in order] for order in moments]
            rate = rate[rows] if isinstance(rate, Tensor) else rate
        step += 1
        weights = now.model.parameters()
        moved = _adam(down, moments, step) if adam else down
        new = [_stepped(weight, move, rate, decay) for weight, move in zip(weights, moved, strict=True)]
        now = replace(now, t=now.t + 1, model=now.model.with_parameters(new))


def _stepped(weight: Tensor, move: Tensor, rate: float | Tensor, decay: float) -> Tensor:
    """``W + rate (move - λ W)``, a new tensor."""
    if decay:
        move = move - decay * weight
    if isinstance(rate, Tensor):
        return weight + expand_like(rate, weight) * move
    return torch.add(weight, move, alpha=rate)


def _adam(down: list[Tensor], moments: list[list[Tensor]], step: int) -> list[Tensor]:
    """Adam's direction; updates the moments in place."""
    correction = math.sqrt(1 - SECOND**step)
    moves = []
    for g, first, second in zip(down, *moments, strict=True):
        first.lerp_(g, 1 - FIRST)
        second.mul_(SECOND).addcmul_(g, g, value=1 - SECOND)
        spread = second.sqrt().div_(correction).add_(TINY)
        moves.append(torch.div(first, spread, out=spread).div_(1 - FIRST**step))
    return moves


def _relax(
    now: OptimiserState, problem: _Problem, tau: float, max_turn: float, max_move: float
) -> Iterator[OptimiserState]:
    """Descent with momentum, each realisation with its own step."""
    F, down = problem.gradient(now.model)
    velocity = [torch.zeros_like(g) for g in down]
    dt = torch.ones_like(now.t)
    _end(now)
    yield now
    while running := now.running:
        if len(running) < len(now.rows):
            rows = torch.tensor(running, device=now.t.device)
            now = now.part(running)
            problem = problem.part(rows)
            dt, F = dt[rows], F[rows]
            down = [g[rows] for g in down]
            velocity = [v[rows] for v in velocity]
        trial_v = [_blend(v, g, dt, tau) for v, g in zip(velocity, down, strict=True)]
        new = [weight + expand_like(dt, v) * v for weight, v in zip(now.model.parameters(), trial_v, strict=True)]
        trial = now.model.with_parameters(new)
        trial_F, trial_down = problem.gradient(trial)
        turn = _turn(down, trial_down)
        move = (trial_F - F).flatten(1).abs().amax(-1).double()
        taken = (turn < max_turn) & (move < max_move)
        gentle = (turn < max_turn / 2) & (move < max_move / 2)
        chosen = now.model.with_parameters(where_rows(taken, new, now.model.parameters()))
        F, *down = where_rows(taken, [trial_F, *trial_down], [F, *down])
        velocity = where_rows(taken, trial_v, velocity)
        now = replace(now, t=now.t + torch.where(taken, dt, 0.0), predictor=F, model=chosen)
        dt = torch.where(taken, torch.where(gentle, 1.1 * dt, dt), dt / 2)
        now.finish(dt < 1e-12 * now.t.clamp(min=1e-30), Ending(Ended.STEPS, ": the step has shrunk to nothing"))
        _end(now)
        if bool(taken.any()):
            yield now


def _blend(v: Tensor, g: Tensor, dt: Tensor, tau: float) -> Tensor:
    """``x v + (1 - x) g`` with ``x = exp(-dt/tau)``."""
    return g if tau == 0 else torch.lerp(g, v, expand_like(torch.exp(-dt / tau), v))


def _turn(old: list[Tensor], new: list[Tensor]) -> Tensor:
    """``|g - g'|²/(|g||g'|)`` over all parameters ``(e,)``, 0 where a gradient is."""
    product = (squared_norm(old) * squared_norm(new)).sqrt()
    change = squared_norm([a - b for a, b in zip(old, new, strict=True)])
    return torch.where(product > 0, change / product.clamp(min=1e-300), 0.0)
