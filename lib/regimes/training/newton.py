r"""The nearest minimum, by Newton steps in a trust region: the end that gradient flow approaches only slowly.

A network that cannot fit its points moves for ever along the flow (:mod:`regimes.training.gauss_newton`). In the flow's
units, with the direction :math:`g = -\frac1\alpha\nabla U` of the mean loss :math:`U` and its *whole* Hessian
:math:`A = \frac1\alpha\nabla^2 U`, a step solves :math:`(A + \mu) s = g` and predicts a fall of the loss by
:math:`\frac\alpha2 (g\cdot s + \mu |s|^2)`. If the loss falls by much of that, :math:`\mu` decreases, else it
increases; also where :math:`A + \mu` is not positive, so that saddle points are escaped.

A realisation ends *fitted*, or *jammed*: no eigenvalue of ``A`` is below ``-FLAT`` times the largest, and the whole
step, with :math:`\mu` there, predicts a fall below ``REST`` of the loss. Each end is a minimum to that precision. Which
minimum it is depends on the method and on the start. Under a weight decay :math:`\lambda` to the initial weights "loss"
is its sum with the penalty: as :math:`\lambda\to0` networks that can fit are held just below their margins.

Source: paper B, Sec. 2 (jamming), footnote 8 (decay); Moré and Sorensen, SIAM J. Sci. Stat. Comput. 4 (1983) 553 (trust
regions).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from regimes import validate
from regimes.models.fully_connected import FullyConnected
from regimes.models.hessian import hessian
from regimes.models.losses import Loss
from regimes.training.gauss_newton import SLACK, ImplicitState, problem_of
from regimes.training.state import Ended, Ending, fitted, where_rows

STEPS = 2000
REST = 1e-6  # part of the loss
FLAT = 1e-8  # part of the largest eigenvalue
FIRST = 1e-3  # the first μ, in the largest element of the Hessian
TAKEN, GOOD, POOR = 1e-3, 0.75, 0.25  # parts of what was promised: a step is taken, μ goes down, μ goes up
DOWN, UP = 0.2, 4.0


def newton(
    model: FullyConnected,
    x: Tensor,
    y: Tensor,
    *,
    alpha: float,
    loss: str | Loss = "quadratic_hinge",
    initial: FullyConnected | None = None,
    slack: float = SLACK,
    decay: float = 0.0,
    steps: int = STEPS,
) -> Iterator[ImplicitState]:
    r"""The path of :math:`F = \alpha(f - f_0)` from ``model`` to a minimum, one state per round of attempted steps.

    A state's ``t`` counts the rounds. A round takes the Hessian over the points below the margin, ``2 a P²`` operations
    for ``a`` of them and ``P`` weights, and a Cholesky factor, ``P³/3``.

    Args:
        model: ``E`` networks without biases, initial or trained.
        x: points ``(p, d)`` shared by all, or ``(E, p, d)``.
        y: labels ``(p,)`` or ``(E, p)`` in {-1, +1}.
        alpha: scale of the predictor.
        loss: one with a continuous slope.
        initial: the networks at time 0, which give ``f_0``; by default ``model``.
        slack: distance from the margin at which a point counts as fitted.
        decay: ``λ`` as in :func:`regimes.training.gauss_newton.gauss_newton`; a minimum is then also one where all fit.
        steps: rounds after which a realisation is given up.

    Source: paper B, Sec. 2.
    """
    validate.between(0, 0.5, slack=slack)
    validate.integer(1, steps=steps)
    initial = model if initial is None else initial
    problem = problem_of(initial, x, y, alpha=alpha, loss=loss, decay=decay)
    zero = torch.zeros(len(problem.y), dtype=torch.float64, device=problem.base.device)
    rows = tuple(range(len(problem.y)))
    with torch.no_grad():
        margins = problem.margins(model(x))
    models = model, model, initial
    return _rounds(ImplicitState(rows, problem.loss, float(slack), problem, zero, zero, *models, margins), steps)


@torch.no_grad()
def _rounds(now: ImplicitState, steps: int) -> Iterator[ImplicitState]:
    yield now
    now.finish(_finished(now), Ending(Ended.FITTED))
    g, A = _derivatives(now)
    mu = FIRST * _size(A)
    for _ in range(steps):
        running = now.running
        if not running:
            return
        if len(running) < len(now.rows):
            now = now.part(running)
            g, A, mu = g[running], A[running], mu[running]
        s, promised = _step(g, A, mu, now.problem.alpha)
        trial = _landed(now, s)
        part = ((now.cost - trial.cost) / promised).nan_to_num(nan=-1.0)
        _end(now, g, A, promised)
        factor = torch.where(part > GOOD, DOWN, torch.where(part < POOR, UP, 1.0))
        mu = (mu * factor).clamp(min=1e-4 * FLAT * _size(A))
        moved = part > TAKEN
        now = _choose(moved, trial, now)
        if bool(moved.any()):
            index = moved.nonzero().flatten()
            g, A = g.clone(), A.clone()
            g[index], A[index] = _derivatives(now.part(index.tolist()))
            now.finish(moved & _finished(now), Ending(Ended.FITTED))
        yield now
    now.finish(torch.ones_like(now.t, dtype=torch.bool), Ending(Ended.STEPS, f" after {steps} steps"))


def _finished(now: ImplicitState) -> Tensor:
    """Where all points are fitted and nothing pulls the weights any further."""
    return (fitted(now) >= 0) & (now.problem.decay == 0)


def _derivatives(now: ImplicitState) -> tuple[Tensor, Tensor]:
    """``g (e, P)`` and ``A (e, P, P)``, over the points below the margin."""
    problem = now.problem
    force = problem.force(now.margins)
    stiffness = problem.stiffness(now.margins)
    count = max(1, int((force != 0).sum(-1).max()))
    index = force.abs().topk(count, -1, sorted=False).indices
    x = problem.points(index)
    force = force.gather(-1, index)
    stiffness = stiffness.gather(-1, index)
    g = torch.cat([tensor.flatten(1) for tensor in now.model.tangents(x).vjp(force)], 1)
    A = hessian(cast(FullyConnected, now.model), x, -force, stiffness)
    if problem.decay:
        g = g - problem.decay * torch.cat([departure.flatten(1) for departure in now.departure()], 1)
        A.diagonal(dim1=-2, dim2=-1).add_(problem.decay)
    return g, A


def _size(A: Tensor) -> Tensor:
    """The largest element of each ``(e,)``."""
    return A.diagonal(dim1=-2, dim2=-1).abs().amax(-1)


def _step(g: Tensor, A: Tensor, mu: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """The step ``s (e, P)`` and the predicted fall of the loss ``(e,)``; NaN where ``A + mu`` is not positive."""
    factor, failed = torch.linalg.cholesky_ex(A + torch.diag_embed(mu.unsqueeze(-1).expand_as(g)))
    s = torch.cholesky_solve(g.unsqueeze(-1), factor).squeeze(-1)
    s = s.masked_fill((failed > 0).unsqueeze(-1), torch.nan)
    promised = alpha / 2 * ((g * s).sum(-1) + mu * s.square().sum(-1))
    return s, promised


def _landed(now: ImplicitState, s: Tensor) -> ImplicitState:
    """The state after a move of the weights."""
    weights = now.model.parameters()
    moves = s.split([w[0].numel() for w in weights], 1)
    model = now.model.with_parameters([w + k.view_as(w) for w, k in zip(weights, moves, strict=True)])
    margins = now.problem.margins(model(now.problem.x))
    return replace(now, t=now.t + 1, model=model, before=now.model, margins=margins)


def _choose(moved: Tensor, new: ImplicitState, old: ImplicitState) -> ImplicitState:
    """The new state, with the old weights where it did not move."""
    weights = where_rows(moved, new.model.parameters(), old.model.parameters())
    (margins,) = where_rows(moved, [new.margins], [old.margins])
    return replace(new, model=new.model.with_parameters(weights), margins=margins)


def _end(now: ImplicitState, g: Tensor, A: Tensor, promised: Tensor) -> None:
    """Ends the realisations at rest: those whose predicted fall is small, if the whole step confirms it."""
    candidates = (promised < REST * now.cost).nonzero().flatten()
    if not len(candidates):
        return
    _, whole_fall = _step(g[candidates], A[candidates], FLAT * _size(A[candidates]), now.problem.alpha)
    for e in candidates[whole_fall < REST * now.cost[candidates]].tolist():
        mark = torch.zeros_like(now.t, dtype=torch.bool)
        mark[e] = True
        below = int((now.margins[e] < 1 - now.slack).sum())
        now.finish(mark, Ending(Ended.JAMMED, f" at a minimum with {below} points below the margin"))
