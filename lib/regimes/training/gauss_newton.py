r"""Gradient flow of any model under any smooth loss, by linearly implicit steps.

The flow, in paper A's unit of time (:mod:`regimes.training.gradient_flow`), is

.. math:: \dot W = g(W) = \frac1p J^\top (y q), \qquad q = -\ell'(m), \qquad m = y F,\quad F = \alpha (f - f_0),

with the Jacobian :math:`J` of the outputs. It is stiff: fast along the few directions that change the outputs, slow
along all others. A step solves a linear system with :math:`1 + \gamma\,\delta t\,A`, where :math:`A = J^\top D J`,
:math:`D = \frac{\alpha}{p}\ell''(m)`, is the Gauss–Newton part of the Hessian. Only points with :math:`\ell'' > 0`
(*active* ones) enter it. Of its two forms, that of the ``P`` parameters and that of the ``a`` active points, the
smaller is solved: ``a P² + P³/3`` or ``a² (n_in + n_out) + a³/3`` operations.

Weight decay ``λ`` pulls the weights back to their initial values: :math:`\dot W = g(W) - \lambda (W - W_0)`, the flow
of the mean loss with the penalty :math:`\frac{\alpha\lambda}2 \lVert W - W_0\rVert^2`; ``λ`` then joins ``A``.

There are two rules for the steps:

- ``follow``: a Rosenbrock W-method of second order, :math:`(1 + \gamma\,\delta t A) k_1 = g(W)`,
  :math:`(1 + \gamma\,\delta t A) k_2 = g(W + \delta t\,k_1) - 2 k_1`,
  :math:`W \leftarrow W + \delta t\,(\tfrac32 k_1 + \tfrac12 k_2)` with :math:`\gamma = 1 - 1/\sqrt2`. Its local error,
  in the margins and relative in the weights, stays below the tolerance.
- ``settle``: implicit Euler steps, as long as the loss falls and no margin that matters departs from its linearisation
  by more than the tolerance. Late in training these steps are longer by orders of magnitude. They follow the flow
  downhill, but not at its exact times. L-BFGS fits an easy network in a quarter of the time, but of the networks that
  hardly fit other ones than the flow does. For a lower end of an unfitted network :mod:`regimes.training.newton` goes
  on from here (``benchmarks/bench_gauss_newton.py``).

Source: the flow is paper A, Eq. 2; decay: paper B, footnote 8; W-methods:
Steihaug and Wolfbrandt, Math. Comp. 33 (1979) 521.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from scipy.linalg import get_blas_funcs
from torch import Tensor

from regimes import devices, validate
from regimes.data.tasks import needs_labels
from regimes.models import WORK, Model, checked, losses, needs_finite
from regimes.models.losses import Loss
from regimes.models.tangents import Tangents
from regimes.training import state
from regimes.training.state import Ended, Ending, expand_like, fitted, norm, where_rows
from regimes.validate import InputError

GAMMA = 1 - 1 / math.sqrt(2)  # the W-method is then L-stable
RULES = ("follow", "settle")
TOLERANCE = {"follow": 1e-2, "settle": 0.3}
MATTERS = 2.0  # margins beyond are alike to a loss that asks for 1
GROW, SHRINK = 2.0, 0.25  # bounds of the change of a step
STILL, AGE = 1e-3, 100.0  # jammed: the loss fell by less than this part of it while the flow grew so many times as old
SLACK = 1e-4  # nearer to the margin a point is met, for losses that only approach it
STEPS = 20_000
REST = 1e-6  # at rest under decay: the gradient could lower the cost by less than this part against the penalty alone
ROUNDING = 1e-12  # part of the cost by which it may seem to rise where it is least
BLOCK = 512  # points of a part of the normal matrix: their Jacobian stays in the caches
BEGUN = 0.99  # part of the first loss: above it, at small alpha, nothing moves visibly for long

Solve = Callable[[list[Tensor]], list[Tensor]]


@dataclass(frozen=True)
class ImplicitState(state.State):
    """Models during training, see :class:`regimes.training.state.State`.

    Attributes:
        problem: points, labels and loss.
        t: the time ``(e,)``; ``last`` is the length of the last step.
        model: the models now; ``before`` holds those at the start of the last step, ``initial`` those at time 0.
        margins: ``y F (e, p)``.
    """

    problem: "Problem"
    t: Tensor
    last: Tensor
    model: Model
    before: Model
    initial: Model
    margins: Tensor

    @property
    def y(self) -> Tensor:
        """Labels ``(e, p)``."""
        return self.problem.y

    @property
    def cost(self) -> Tensor:
        """The loss ``(e,)`` with the penalty of the decay, which the flow minimises."""
        if not self.problem.decay:
            return self.loss
        return self.loss + self.problem.alpha * self.problem.decay / 2 * norm(self.departure()).square()

    def departure(self) -> list[Tensor]:
        """``W - W_0``."""
        return [w - w0 for w, w0 in zip(self.model.parameters(), self.initial.parameters(), strict=True)]

    def inside(self, share: Tensor) -> "ImplicitState":
        """The state at ``share (e,)`` of the last step, on the straight line between its ends."""
        pairs = zip(self.before.parameters(), self.model.parameters(), strict=True)
        model = self.model.with_parameters([torch.lerp(a, b, expand_like(share, b)) for a, b in pairs])
        t = self.t - (1 - share) * self.last
        return replace(self, model=model, t=t, margins=self.problem.margins(model(self.problem.x)))


@dataclass(frozen=True)
class Problem:
    """The problem of ``e`` realisations: points ``(e, p, ...)``, or ``(1, p, ...)`` shared by all, labels ``(e, p)``,
    outputs at time 0, scale, loss and decay.
    """

    x: Tensor
    y: Tensor
    base: Tensor
    alpha: float
    loss: Loss
    decay: float

    def margins(self, f: Tensor) -> Tensor:
        """``y F`` of outputs ``f``."""
        return self.alpha * self.y * (f - self.base)

    def force(self, m: Tensor) -> Tensor:
        """``y q/p``, the weight of each point in the flow."""
        return -self.y * self.loss.slope(m) / m.shape[-1]

    def stiffness(self, m: Tensor) -> Tensor:
        """``D``."""
        return self.loss.curvature(m) * (self.alpha / m.shape[-1])

    def points(self, index: Tensor) -> Tensor:
        """The points ``index (e, a)`` of each realisation, ``(e, a, ...)``."""
        if len(self.x) == 1:
            return self.x[0][index]
        return self.x[torch.arange(len(index), device=index.device)[:, None], index]

    def part(self, rows: Tensor | slice) -> "Problem":
        """The problem of some realisations."""
        x = self.x[rows] if len(self.x) == len(self.y) else self.x
        return replace(self, x=x, y=self.y[rows], base=self.base[rows])


def problem_of(initial: Model, x: Tensor, y: Tensor, *, alpha: float, loss: str | Loss, decay: float = 0.0) -> Problem:
    """The problem of models that are ``initial`` at time 0; arguments as of :func:`gauss_newton`."""
    loss = losses.named(loss)
    if loss.corner:
        raise InputError(f"loss must be smooth for implicit steps, got {loss.name}: take soft_hinge")
    validate.between(1e-200, 1e12, alpha=alpha)
    validate.at_least(0, decay=decay)
    x = checked(initial, x)
    y = validate.points("y", y).detach()
    needs_labels(y)
    with torch.no_grad():
        base = initial(x)
    needs_finite(base, "outputs", initial, x)
    state.needs_resolution(alpha, base)
    y = state.labels_of(y, base)
    return Problem(x, y, base, float(alpha), loss, float(decay))


def gauss_newton(
    model: Model,
    x: Tensor,
    y: Tensor,
    *,
    alpha: float,
    loss: str | Loss = "quadratic_hinge",
    rule: str = "follow",
    tolerance: float | None = None,
    slack: float = SLACK,
    decay: float = 0.0,
    steps: int = STEPS,
) -> Iterator[ImplicitState]:
    r"""Gradient flow of :math:`F = \alpha(f - f_0)`, one state per accepted step of any realisation.

    Realisations have independent times and steps, and leave when they end: *fitted*; *jammed*, with unfitted points and
    a loss that has not fallen by a thousandth while the time grew a hundredfold (or, under decay, with a vanished
    gradient); or by the caller's rule.

    Args:
        model: ``E`` realisations.
        x: points ``(p, ...)`` shared by all, or ``(E, p, ...)``.
        y: labels ``(p,)``, ``(1, p)`` or ``(E, p)`` in {-1, +1}.
        alpha: scale of the predictor.
        loss: a smooth one, not the hinge.
        rule: ``follow`` or ``settle``, see the module.
        tolerance: of a step, in margins; 0.01 for ``follow`` and 0.3 for ``settle`` by default.
        slack: distance from the margin at which a point counts as fitted, for losses that only approach it.
        decay: ``λ``, towards the initial weights, per unit of time.
        steps: attempted steps after which a realisation is given up.

    Raises:
        InputError: before computing, for invalid data and options, for outputs or a gradient that are not finite, and
            for an ``alpha`` that makes the rounding of the outputs as large as a margin.

    Source: paper A, Eq. 2; paper B, Sec. 2.
    """
    validate.one_of(RULES, rule=rule)
    tolerance = TOLERANCE[rule] if tolerance is None else tolerance
    validate.between(1e-10, 10, tolerance=tolerance)
    validate.between(0, 0.5, slack=slack)
    validate.integer(1, steps=steps)
    problem = problem_of(model, x, y, alpha=alpha, loss=loss, decay=decay)
    base = problem.base
    devices.reuse_memory()
    parameters = sum(tensor[0].numel() for tensor in model.parameters())
    p = base.shape[-1]
    itemsize = base.element_size()
    validate.memory(step_bytes(p, parameters, 0, itemsize), f"the linear system of a step for {p} points", base.device)
    size = together(step_bytes(p, parameters, model.tangent_size, itemsize), base.device)
    groups = [slice(i, min(i + size, len(base))) for i in range(0, len(base), size)]
    parts = ((problem.part(rows), model[rows], rows.start) for rows in groups)
    return _in_turn([_states(*part, rule, float(tolerance), float(slack), steps) for part in parts])


def step_bytes(p: int, parameters: int, held: int, itemsize: int = 8) -> int:
    """Bytes that a step of one network takes, with all of its ``p`` points active.

    They are those of the smaller linear system with its factors, and of the tangents of the points.

    Args:
        p: training points.
        parameters: of the network.
        held: numbers in the tangents of one point (``Model.tangent_size``).
        itemsize: bytes of a number.
    """
    system = 3 * p * p if p <= parameters else parameters * (2 * p + 3 * parameters)
    return itemsize * (system + WORK * held * p)


def together(each: int, device: torch.device) -> int:
    """The number of networks that take their steps together, at ``each`` bytes; the others are trained in turn."""
    return max(1, devices.room(device) // each)


def _in_turn(groups: list[Iterator[ImplicitState]]) -> Iterator[ImplicitState]:
    """The initial states of all groups, then the states of one group after another."""
    for states in groups:
        yield next(states)
    for states in groups:
        yield from states


@torch.no_grad()
def _states(
    problem: Problem, model: Model, first: int, rule: str, tolerance: float, slack: float, steps: int
) -> Iterator[ImplicitState]:
    """The states of some realisations, whose numbers begin with ``first``."""
    y = problem.y
    zero = torch.zeros(len(y), dtype=torch.float64, device=y.device)
    rows = tuple(range(first, first + len(y)))
    initial = ImplicitState(rows, problem.loss, slack, problem, zero, zero, model, model, model, torch.zeros_like(y))
    yield initial
    batch = _Batch.at(initial, zero, zero, initial.cost)
    if not bool(norm(batch.gradient).isfinite().all()):
        raise InputError(f"the gradient at the start overflows {str(y.dtype).removeprefix('torch.')}")
    batch = replace(batch, dt=_first(batch))
    step = _follow if rule == "follow" else _settle
    for _ in range(steps):
        running = batch.state.running
        if not running:
            return
        if len(running) < len(batch.state.rows):
            batch = batch.part(running)
        batch, moved = step(batch, tolerance)
        if any(moved.tolist()):
            _end(batch, moved)
            yield batch.state
    unfinished = torch.ones(len(batch.state.rows), dtype=torch.bool)
    batch.state.finish(unfinished, Ending(Ended.STEPS, f" after {steps} steps"))


@dataclass(frozen=True)
class _Batch:
    """A state with what the next step needs: derivatives, gradient ``g`` and the step's length ``dt (e,)``.

    ``since`` and ``cost_since``: the time of the cost's last fall by a part ``STILL``, and the cost there ``(e,)``.
    """

    state: ImplicitState
    tangents: Tangents
    gradient: list[Tensor]
    dt: Tensor
    since: Tensor
    cost_since: Tensor

    @classmethod
    def at(cls, now: ImplicitState, dt: Tensor, since: Tensor, cost_since: Tensor) -> "_Batch":
        tangents = now.model.tangents(now.problem.x)
        cost = now.cost
        fell = cost < (1 - STILL) * cost_since
        since = torch.where(fell, now.t, since)
        cost_since = torch.where(fell, cost, cost_since)
        return cls(now, tangents, _gradient(now, tangents), dt, since, cost_since)

    def part(self, places: list[int]) -> "_Batch":
        return _Batch.at(self.state.part(places), self.dt[places], self.since[places], self.cost_since[places])

    def active(self, index: Tensor) -> Tangents:
        """The tangents at some of the points of each realisation, ``index (e, a)``."""
        if self.tangents.divisible:
            return self.tangents.at(index)
        return self.state.model.tangents(self.state.problem.points(index))


def _gradient(now: ImplicitState, tangents: Tangents) -> list[Tensor]:
    """``g`` minus the pull of the decay."""
    gradient = tangents.vjp(now.problem.force(now.margins))
    if not now.problem.decay:
        return gradient
    return [g - now.problem.decay * departure for g, departure in zip(gradient, now.departure(), strict=True)]


def _first(batch: _Batch) -> Tensor:
    """A first step that moves no margin by more than a twentieth, nor the weights by more than a hundredth."""
    now = batch.state
    speed = now.problem.alpha * batch.tangents.jvp(batch.gradient).abs().amax(-1).double()
    growth = norm(batch.gradient) / norm(now.model.parameters()).clamp(min=1e-300)
    return 1 / (20 * speed + 100 * growth).clamp(min=1e-300)


def _settle(batch: _Batch, tolerance: float) -> tuple[_Batch, Tensor]:
    """An attempted implicit Euler step."""
    now = batch.state
    problem = now.problem
    solve = _solver(batch, batch.dt)
    move = [expand_like(batch.dt, k) * k for k in solve(batch.gradient)]
    linear = now.margins + problem.alpha * problem.y * batch.tangents.jvp(move)
    after = _landed(batch, move)
    bent = _relevant(problem.loss, after.margins) - _relevant(problem.loss, linear)
    error = bent.abs().amax(-1).double() / tolerance
    rises = after.cost > (1 + ROUNDING) * now.cost
    error = torch.where(rises, error.clamp(min=4.0), error).nan_to_num(nan=1e6)
    return _judged(batch, after, error)


def _follow(batch: _Batch, tolerance: float) -> tuple[_Batch, Tensor]:
    """An attempted step of the W-method."""
    now = batch.state
    problem = now.problem
    solve = _solver(batch, GAMMA * batch.dt)
    first = solve(batch.gradient)
    trial = _landed(batch, [expand_like(batch.dt, k) * k for k in first])
    gradient = _gradient(trial, trial.model.tangents(problem.x))
    second = solve([g - 2 * k for g, k in zip(gradient, first, strict=True)])
    move = [expand_like(batch.dt, a) * (1.5 * a + 0.5 * b) for a, b in zip(first, second, strict=True)]
    wrong = [expand_like(batch.dt / 2, a) * (a + b) for a, b in zip(first, second, strict=True)]
    margins = problem.alpha * batch.tangents.jvp(wrong) / now.margins.abs().clamp(min=1.0)
    relative = norm(wrong) / norm(now.model.parameters()).clamp(min=1e-300)
    error = margins.abs().amax(-1).double() + relative
    return _judged(batch, _landed(batch, move), (error / tolerance).nan_to_num(nan=1e6))


def _relevant(loss: Loss, m: Tensor) -> Tensor:
    return m if loss.two_sided else m.clamp(max=MATTERS)


def _landed(batch: _Batch, move: list[Tensor]) -> ImplicitState:
    """The state after a move of the weights."""
    now = batch.state
    model = now.model.with_parameters([w + s for w, s in zip(now.model.parameters(), move, strict=True)])
    margins = now.problem.margins(model(now.problem.x))
    return replace(now, t=now.t + batch.dt, last=batch.dt, model=model, before=now.model, margins=margins)


def _judged(batch: _Batch, after: ImplicitState, error: Tensor) -> tuple[_Batch, Tensor]:
    """The batch after a step with an ``error`` in tolerances ``(e,)``, and which realisations took it."""
    moved = error <= 1.0
    factor = (0.9 * error.clamp(min=1e-6).rsqrt()).clamp(SHRINK, GROW)
    dt = batch.dt * torch.where(moved, factor, factor.clamp(max=0.7))
    taken = moved.tolist()
    if all(taken):
        return _Batch.at(after, dt, batch.since, batch.cost_since), moved
    if not any(taken):
        return replace(batch, dt=dt), moved
    return _Batch.at(_choose(moved, after, batch.state), dt, batch.since, batch.cost_since), moved


def _choose(moved: Tensor, new: ImplicitState, old: ImplicitState) -> ImplicitState:
    """The new state of each realisation that moved, the old one of the others."""

    def mixed(a: Model, b: Model) -> Model:
        return a.with_parameters(where_rows(moved, a.parameters(), b.parameters()))

    t, last, margins = where_rows(moved, [new.t, new.last, new.margins], [old.t, old.last, old.margins])
    model = mixed(new.model, old.model)
    before = mixed(new.before, old.before)
    return replace(new, t=t, last=last, margins=margins, model=model, before=before)


def _end(batch: _Batch, moved: Tensor) -> None:
    """Ends the realisations that are fitted or at rest; the device is read once."""
    now = batch.state
    below = (now.margins < 1 - now.slack).sum(-1)
    first = float(now.objective.value(torch.zeros((), dtype=torch.float64)))
    still = (now.t > AGE * batch.since) & (now.cost < BEGUN * first)
    if now.problem.decay:
        still |= norm(batch.gradient).square() * now.problem.alpha < 2 * now.problem.decay * REST * now.cost
    is_fitted = moved & (fitted(now) >= 0)
    is_lost = ~torch.isfinite(now.margins).all(-1)
    is_jammed = moved & still & (below > 0)
    columns = torch.stack([is_fitted, is_lost, is_jammed, below]).tolist()
    for row, fits, lost, jams, count in zip(now.rows, *columns):
        if fits:
            now.ended.setdefault(row, Ending(Ended.FITTED))
        elif lost:
            now.ended.setdefault(row, Ending(Ended.OVERFLOW, ": the weights left the precision's range"))
        elif jams:
            now.ended.setdefault(row, Ending(Ended.JAMMED, f" with {count} points below the margin"))


def _solver(batch: _Batch, dt: Tensor) -> Solve:
    """``g -> (1 + dt (λ + A))^-1 g`` for tensors shaped as the parameters, by the smaller of the two systems."""
    decay = batch.state.problem.decay
    if not decay:
        return _undamped(batch, dt)
    damping = 1 + dt * decay
    solve = _undamped(batch, dt / damping)
    return lambda g: [k / expand_like(damping, k) for k in solve(g)]


def _undamped(batch: _Batch, dt: Tensor) -> Solve:
    """``g -> (1 + dt A)^-1 g``."""
    now = batch.state
    D = now.problem.stiffness(now.margins) * dt.to(now.margins)[:, None]
    count = int((D > 0).sum(-1).max())
    size = sum(weight[0].numel() for weight in batch.gradient)
    if not count:
        return lambda g: g
    if count == D.shape[-1]:
        root = D.sqrt()
        active = batch.tangents
    else:
        top = D.topk(count, -1, sorted=False)
        root = top.values.sqrt()
        active = batch.active(top.indices)
    return _dual(active, root) if count <= size else _primal(active, root, size)


def _dual(active: Tangents, root: Tensor) -> Solve:
    """``g - Jᵀ√D (1 + √D J Jᵀ √D)^-1 √D J g`` over the active points."""
    matrix = active.gram() * root[:, :, None] * root[:, None, :]
    factor = _cholesky(matrix)

    def solve(g: list[Tensor]) -> list[Tensor]:
        right = (root * active.jvp(g)).unsqueeze(-1)
        inner = torch.cholesky_solve(right, factor).squeeze(-1)
        return [a - b for a, b in zip(g, active.vjp(root * inner), strict=True)]

    return solve


def _primal(active: Tangents, root: Tensor, size: int) -> Solve:
    """The same by ``1 + Jᵀ D J``, of all ``size`` parameters."""
    factor = _cholesky(_square(active, root, size))

    def solve(g: list[Tensor]) -> list[Tensor]:
        flat = torch.cat([tensor.reshape(len(tensor), -1) for tensor in g], 1).unsqueeze(-1)
        solution = torch.cholesky_solve(flat, factor).squeeze(-1).split([tensor[0].numel() for tensor in g], 1)
        return [part.view_as(tensor) for part, tensor in zip(solution, g, strict=True)]

    return solve


def _square(active: Tangents, root: Tensor, size: int) -> Tensor:
    """The lower triangle of ``Jᵀ D J``; on the CPU at half the cost of the whole, in blocks that its caches hold."""
    if root.is_cuda:
        rows = active.jacobian() * root[..., None]
        return rows.mT @ rows
    (rank_k,) = get_blas_funcs(("syrk",), dtype=root.numpy().dtype)
    matrix = root.new_zeros(len(root), size, size)
    points = torch.arange(root.shape[-1]).expand_as(root)
    for index in points.split(BLOCK if active.divisible else root.shape[-1], -1):
        part = active.at(index) if active.divisible else active
        rows = part.jacobian() * root.gather(-1, index)[..., None]
        for jacobian, result in zip(rows.numpy(), matrix.numpy()):
            # its upper triangle by columns is ours by rows
            rank_k(1.0, jacobian.T, c=result.T, beta=1.0, overwrite_c=True)
    return matrix


def _cholesky(matrix: Tensor) -> Tensor:
    """The Cholesky factor of ``1 + matrix``, given its lower triangle; NaN if rounding has made it indefinite."""
    matrix.diagonal(dim1=-2, dim2=-1).add_(1.0)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    damaged = failed.is_cuda or bool(failed.any())  # a GPU is not asked
    return factor.masked_fill_((failed > 0)[:, None, None], torch.nan) if damaged else factor
