r"""The implicit equations of a step, :math:`q = -\ell'(m)` at its end, solved by correcting the multipliers.

So points kept on the margin do not limit a step. A few forward passes solve the equations to ``KKT`` times the
tolerance. Each corrects the multipliers of the *band* of relevant points through their Gram matrix
(:mod:`regimes.training.implicit`). The gates stay those of the first pass.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regimes import validate
from regimes.training.gradient_flow.batch import Band, Batch, Gates, band_of, rotate
from regimes.training.gradient_flow.constants import (
    APART,
    BAND,
    DEFINITE,
    EXACT,
    FAR,
    HOPELESS,
    KKT,
    LARGE,
    LARGE_BAND,
    ROUNDS,
    SYSTEM,
)  # fmt: skip
from regimes.training.implicit import box_qp, times


@dataclass(frozen=True)
class End:
    """The end of an attempted step.

    Attributes:
        u: weights there, with ``beta``; ``m`` are the margins, ``gates`` those before any multiplier was corrected.
        q: mean multipliers of the step; ``mean`` is its mean ``G``.
        error: of the margins, in multiples of the allowed one ``(e,)``; infinite if the step is refused unsolved.
        corrected: whether any multiplier was, so that the gates are not those of ``u``.
    """

    u: Tensor
    beta: Tensor
    gates: Gates
    m: Tensor
    q: Tensor
    mean: Tensor
    error: Tensor
    corrected: bool = False


def solve(batch: Batch, predicted: Tensor, mean: Tensor, wanted: Tensor, allowed: Tensor) -> End:
    """The end of a step at which the implicit equations hold, in each realisation whose error is finite.

    Args:
        batch: where the step begins.
        predicted: weights at its end ``(e, h, k)``; the step's gates are the mean of theirs and those at its start.
        mean: ``G (e, h, k)`` with these gates and the last step's multipliers.
        wanted: which realisations are worth solving ``(e,)``.
        allowed: allowed error of the margins ``(e,)``.
    """
    problem = batch.problem
    u, beta = _rotated(batch, mean)
    gates = problem.open_gates(u)
    first = problem.margins(gates, u, beta)
    end = End(u, beta, gates, first, batch.now.q, mean, torch.zeros_like(batch.dt))
    equations = _corner(batch, first)
    for rounds in range(ROUNDS + 1):
        wrong = equations.violation(end.m, end.q)
        # a point that this step does not move may still have the multiplier of the last one, in which it crossed
        refused = _refused(torch.minimum(wrong, (end.m - batch.now.m).abs()), wanted, allowed)
        end = replace(end, error=torch.where(refused, math.inf, end.error))
        wanted = wanted & ~refused
        bad = wanted & (wrong.amax(-1) > KKT * problem.tolerance)
        if not bool(bad.any()):
            break
        if rounds == ROUNDS:
            return replace(end, error=torch.where(bad, FAR, end.error))
        end = _corrected(batch, predicted, equations, end, wrong, bad)
        error = (end.m - first).abs().amax(-1).double() / (2 * allowed)
        end = replace(end, error=torch.where(wanted, error, end.error))
        wanted = wanted & (error < FAR)
    return end


def _refused(wrong: Tensor, wanted: Tensor, allowed: Tensor) -> Tensor:
    """Which steps are refused unsolved: beyond the range of floats, or not worth a large linear system.

    ``wrong (e, p)`` is the error of the step itself, so that a step that is short enough is not refused.
    """
    overflowing = ~torch.isfinite(wrong).all(-1)
    hopeless = wrong.amax(-1).double() > HOPELESS * allowed
    return overflowing | (wanted & hopeless)


def _rotated(batch: Batch, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Weights at the end of a step with mean ``G``."""
    return rotate(batch.now.u, batch.now.beta, mean * batch.dt.to(mean.dtype)[:, None, None])


def _corrected(batch: Batch, predicted: Tensor, equations: "_Corner", end: End, wrong: Tensor, bad: Tensor) -> End:
    """The end with better multipliers in the realisations marked in ``bad (e,)``."""
    q, mean = end.q.clone(), end.mean.clone()
    for band, new in equations.corrections(batch, end, wrong, bad):
        change = new - band.pick(end.q)
        q[band.rows[:, None], band.index] = new  # not added up: on a bound they stay exactly on it
        at_start = batch.problem.share(band, batch.now.u, change)
        at_end = batch.problem.share(band, predicted, change)
        mean[band.rows] += (at_start + at_end) / 2
    u, beta = _rotated(batch, mean)
    m = batch.problem.margins(end.gates, u, beta)
    return replace(end, u=u, beta=beta, m=m, q=q, mean=mean, corrected=True)


def gram(batch: Batch, band: Band, gates: Gates, u: Tensor, beta: Tensor) -> Tensor:
    r"""``A (r, n, n)``, float64: the change of a band's margins over the step by its multipliers; 0 in padding."""
    problem = batch.problem
    x = band.pick(problem.xt)
    open_ = band.columns(gates, problem.xt)
    hidden = (u[band.rows] @ x.mT) * open_
    opened = open_ * beta[band.rows].unsqueeze(-1)
    kernel = hidden.mT @ hidden + (x @ x.mT) * (opened.mT @ opened)
    signs = band.pick(problem.y).double() * band.inside
    scale = 2 * problem.alpha * batch.dt[band.rows, None, None] / (u.shape[1] ** 2 * problem.y.shape[1])
    return kernel.double().mul_(scale).mul_(signs.unsqueeze(-1) * signs.unsqueeze(-2))


def system_bytes(size: int, points: int) -> int:
    """The memory for the implicit equations of ``points`` points, in ``size`` realisations together."""
    return SYSTEM * 8 * size * points**2


def _system(batch: Batch, end: End, band: Band) -> tuple[Tensor, Tensor, Tensor]:
    """The Gram matrices of the band, definite to the precision of the flow, its margins and its multipliers."""
    size, points = band.index.shape
    needed = system_bytes(size, points)
    if needed > LARGE:
        validate.memory(needed, f"the implicit equations of a step for {points} points", end.m.device)
    matrix = gram(batch, band, end.gates, end.u, end.beta)
    matrix.diagonal(dim1=-2, dim2=-1).mul_(1.0 + DEFINITE * torch.finfo(end.m.dtype).eps)
    return matrix, band.pick(end.m).double(), band.pick(end.q).double()


@dataclass(frozen=True)
class _Corner:
    """The hinge's equations: multipliers at the upper bound below the corner, at the lower above, between on it.

    Attributes:
        low, high: bounds of the mean multipliers ``(e, p)``. A point that reaches the corner after a share of the step
            was pushed during that share in any case.
        corner: of the hinge. tolerance: of the step.
    """

    low: Tensor
    high: Tensor
    corner: float
    tolerance: float

    def violation(self, m: Tensor, q: Tensor) -> Tensor:
        """The violation of the equations at each point ``(e, p)``, as a margin."""
        above = m - self.corner
        return torch.where(torch.where(above > 0, q > self.low, q < self.high), above.abs(), 0.0)

    def corrections(self, batch: Batch, end: End, wrong: Tensor, bad: Tensor) -> Iterator[tuple[Band, Tensor]]:
        """Bands, and new multipliers there ``(r, n)``, for the realisations marked in ``bad (e,)``.

        If many points cross the corner in one step, nearly all end on the bound of their side. The first pass puts them
        there without a linear system, and the next one solves for the exceptions.
        """
        between = (end.q > self.low) & (end.q < self.high)
        needed = (wrong > 0) | between
        near = (end.m - self.corner).abs() < BAND * self.tolerance
        large = bad.unsqueeze(-1) & ((needed | near).sum(-1, keepdim=True) > LARGE_BAND)
        crossing = large & needed & ~between & (not end.corrected)
        if bool(crossing.any()):
            band = band_of(crossing)
            side = torch.where(end.m > self.corner, self.low, self.high)
            yield band, torch.where(band.inside, band.pick(side), band.pick(end.q))
            bad = bad & ~crossing.any(-1)
        if not bool(bad.any()):
            return
        band = band_of((needed | (near & ~large)) & bad.unsqueeze(-1))
        matrix, m, old = _system(batch, end, band)
        low = band.pick(self.low).double()
        high = band.pick(self.high).double()
        width = (high - low) * band.inside
        right = width * (self.corner - m + times(matrix, old - low))
        scaled = width.unsqueeze(-1) * matrix * width.unsqueeze(-2)
        start = (old - low) / width.clamp(min=1e-12)
        part = box_qp(scaled, right, start=start, tolerance=EXACT * KKT * self.tolerance)
        new = torch.where(part == 1, high, low + width * part)
        yield band, torch.where(band.inside, new, old).to(end.q)


def _corner(batch: Batch, m: Tensor) -> _Corner:
    """The hinge's equations over a step that would end at margins ``m`` with the last step's multipliers."""
    problem = batch.problem
    below = problem.corner - batch.now.m
    path = m - batch.now.m
    crosses = (below * (problem.corner - m) < 0) & (below.abs() > APART * problem.tolerance)
    share = torch.where(crosses, below / path, 0.0)
    low = torch.where(below > 0, share, 0.0)
    high = torch.where(below < 0, 1 - share, 1.0)
    return _Corner(low, high, problem.corner, problem.tolerance)
