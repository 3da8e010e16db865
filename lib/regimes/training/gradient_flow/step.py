r"""One step of gradient flow for a batch of one-hidden-layer networks, each with its own step length.

A step is one rotation (``batch.rotate``), exact for a constant field. So it needs only good averages over its length:

* of the gates: the mean of those at its two ends (the far end predicted by extrapolating :math:`G`), second order;
* of the multipliers: implicit, :math:`q = -\ell'(m)` at the end of the step (``gradient_flow.implicit``).
"""

from dataclasses import replace

import torch
from torch import Tensor

from regimes import validate
from regimes.training.gradient_flow import compiled
from regimes.training.gradient_flow.batch import GATES, Batch, Past, Point, choose, rotate
from regimes.training.gradient_flow.constants import (
    EARLY,
    EARLY_SHARE,
    GROW,
    LARGE,
    MARGIN_SHARE,
    REACH,
    REFUSED,
    SAFETY,
    SHRINK,
)
from regimes.training.gradient_flow.implicit import End, solve


def advance(batch: Batch) -> tuple[Batch, Tensor]:
    """One attempted step: the batch afterwards, and which realisations moved ``(e,)``.

    A realisation whose step was refused keeps its place, with a shorter ``dt``.
    """
    attempted = compiled.attempt(batch) if compiled.suits(batch) else None
    return _on_tensors(batch) if attempted is None else attempted


def walk(at: Batch | compiled.Step) -> list[tuple[Batch | compiled.Step, Tensor]]:
    """One attempted step or several in a row: as :func:`advance`, in the order of the path."""
    attempted = compiled.several(at) if compiled.suits(at) else None
    return [_on_tensors(at.batch)] if attempted is None else attempted


def _on_tensors(batch: Batch) -> tuple[Batch, Tensor]:
    if batch.screen is not None:
        batch = replace(batch.exact(), signs=None)
        needed = 8 * GATES * batch.now.m.numel() * batch.now.u.shape[1]
        if needed > LARGE:
            validate.memory(needed, "the gates of a step")
    predicted, mean, error = _predict(batch)
    end = solve(batch, predicted, mean, error <= 1.0, _allowed(batch))
    error = torch.maximum(error, end.error)
    moved = error <= 1.0
    # a step beyond the range of the numbers is refused like one beyond the tolerance
    factor = (SAFETY * error.rsqrt()).nan_to_num(nan=0.0).clamp(SHRINK, GROW)
    waiting = replace(batch, dt=batch.dt * factor.clamp(max=REFUSED))
    taken = moved.tolist()
    if not any(taken):
        return waiting, moved
    after = _land(batch, end, factor)
    return (after if all(taken) else choose(moved, after, waiting)), moved


def _predict(batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Weights at the end of the step, its mean ``G``, and the error of the weights from it, in tolerances ``(e,)``."""
    now, past = batch.now, batch.past
    dtype = now.u.dtype
    ratio = (batch.dt / (2 * past.dt)).to(dtype)[:, None, None]
    guess = now.push + ratio * (now.push - past.before)
    predicted = rotate(now.u, now.beta, guess * batch.dt.to(dtype)[:, None, None])[0]
    mean = (now.push + batch.problem.push(predicted, now.q)) / 2
    weight = now.u.square().sum(-1) + now.beta.square()
    bent = (weight * (mean - guess).square().sum(-1)).sum(-1) / weight.sum(-1)
    return predicted, mean, batch.dt * bent.double().sqrt() / batch.problem.tolerance


def _allowed(batch: Batch) -> Tensor:
    """The allowed error of a step's margins ``(e,)``."""
    early = (batch.now.m >= 1).double().mean(-1) < EARLY
    return torch.where(early, EARLY_SHARE, MARGIN_SHARE) * batch.problem.tolerance


def _land(batch: Batch, end: End, factor: Tensor) -> Batch:
    """The batch at the end of an accepted step, with the gates, margins and field of the new weights."""
    problem = batch.problem
    gates, m = end.gates, end.m
    if end.corrected:
        gates = problem.open_gates(end.u)
        m = problem.margins(gates, end.u, end.beta)
    push = problem.push(end.u, end.q, gates)
    longest = REACH / push.square().sum(-1).amax(-1).sqrt().double().clamp(min=1e-300)
    now = Point(end.u, end.beta, m, end.q, push)
    past = Past(batch.now.u, batch.now.beta, end.mean, 2 * end.mean - push, batch.dt)
    return Batch(problem, now, past, batch.t + batch.dt, torch.minimum(batch.dt * factor, longest))
