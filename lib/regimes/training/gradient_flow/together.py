r"""The implicit problems of several realisations at once, on their device: those of ``training.implicit``, in rows.

Every row takes its own decisions, so that it meets the same points alone or among others. A row shorter than the rest
is padded with zeros in the matrix, which move nothing. A box problem is solved as by ``box_qp``, but that projected
steps along the whole gradient stand for sweeps over its coordinates, which have no rows. One row alone is handed to
that function, which is faster for a single one, and so is a row that refuses ``PATIENCE`` candidates: on the flat
kernels of points in few dimensions projected steps creep, and sweeps do not.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from regimes.training.implicit import GUESSES, PATIENCE, RIDGE, ROUNDS, LinAlgError, box_qp

Slope = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]
TINY = 1e-300
HALVINGS = 30  # of the interval in which a line search ends
DESCENTS = 8  # projected steps in place of the first refused candidate, as many more for each further one


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """The products ``(r, n)`` of matrices ``(r, n, n)`` with vectors ``(r, n)``."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The inner products ``(r, 1)`` of vectors ``(r, n)``."""
    return (a * b).sum(-1, keepdim=True)


def box_qps(hessian: Tensor, b: Tensor, *, start: Tensor, tolerance: float) -> Tensor:
    r"""Minimises :math:`\tfrac12 q^\top H q - b^\top q` over :math:`0 \le q \le 1`, row by row: ``(r, n)``, float64.

    Args:
        hessian: ``(r, n, n)``, symmetric, positive semi-definite, float64.
        b: ``(r, n)``.
        start: warm start ``(r, n)``, clipped to the box.
        tolerance: accepted violation of the optimality conditions, in the units of ``b``.
    """
    if len(b) == 1:
        return _alone(hessian[0], b[0], start[0], tolerance).unsqueeze(0)
    diagonal = hessian.diagonal(dim1=-2, dim2=-1)
    diagonal = diagonal.maximum(RIDGE * diagonal.amax(-1, keepdim=True).clamp(min=TINY))
    q = start.clamp(0.0, 1.0)
    gradient = times(hessian, q) - b
    refused = torch.zeros(len(b), dtype=torch.int64, device=b.device)
    for _ in range(ROUNDS):
        unsolved = violations(q, gradient) > tolerance
        rows = (unsolved & (refused < PATIENCE)).nonzero().flatten()
        if not len(rows):
            break
        part = hessian[rows], b[rows], diagonal[rows], q[rows], gradient[rows]
        q[rows], gradient[rows], worse = _improved(*part, refused[rows], tolerance)
        refused[rows] += worse
    for row in unsolved.nonzero().flatten().tolist():
        q[row] = _alone(hessian[row], b[row], q[row], tolerance)
    return q


def _alone(hessian: Tensor, b: Tensor, start: Tensor, tolerance: float) -> Tensor:
    """One row ``(n,)``, solved without the others."""
    arrays = (value.cpu().numpy() for value in (hessian, b, start))
    return torch.from_numpy(box_qp(next(arrays), next(arrays), start=next(arrays), tolerance=tolerance).q).to(b)


def violations(q: Tensor, gradient: Tensor) -> Tensor:
    """Largest violation of the box problem's optimality conditions in each row ``(r,)``."""
    can_move = torch.where(gradient > 0, q > 0, q < 1)
    return torch.where(can_move, gradient.abs(), 0.0).amax(-1)


def _improved(
    hessian: Tensor, b: Tensor, diagonal: Tensor, q: Tensor, gradient: Tensor, refused: Tensor, tolerance: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Lower points, their gradients, and where the candidate was refused ``(r,)``."""
    trial = _candidates(hessian, b, diagonal, q, gradient)
    slope = times(hessian, trial) - b
    good = (violations(trial, slope) <= tolerance) | (dot(trial - q, slope + gradient).squeeze(-1) < 0.0)
    if bool(good.all()):
        return trial, slope, ~good
    lower, steep = _descents(hessian, diagonal, q, gradient, torch.where(good, 0, DESCENTS * (1 + refused)))
    keep = good.unsqueeze(-1)
    return torch.where(keep, trial, lower), torch.where(keep, slope, steep), ~good


def _candidates(hessian: Tensor, b: Tensor, diagonal: Tensor, q: Tensor, gradient: Tensor) -> Tensor:
    """The feasible points that a few rounds of active-set guessing lead to, starting from ``q``."""
    guess, point = q - gradient / diagonal, q
    done = torch.zeros_like(q[:, :1], dtype=torch.bool)
    for _ in range(GUESSES):
        upper = guess >= 1.0
        free = (guess > 0.0) & ~upper
        bound = upper.to(q)
        guess = bound + _solves(hessian, free, b - times(hessian, bound))
        point = torch.where(done, point, guess)
        done = done | ((guess >= 0) & (guess <= 1)).all(-1, keepdim=True)
        if bool(done.all()):
            break
    return point.clamp(0.0, 1.0)


def _solves(matrix: Tensor, free: Tensor, right: Tensor) -> Tensor:
    """Solves the systems of the free variables; zero elsewhere."""
    matrix = torch.where(free.unsqueeze(-1) & free.unsqueeze(-2), matrix, 0.0)
    diagonal = matrix.diagonal(dim1=-2, dim2=-1)
    diagonal += torch.where(free, 0.0, diagonal.amax(-1, keepdim=True).clamp(min=TINY))
    return _definite(matrix, torch.where(free, right, 0.0))


def _definite(matrix: Tensor, right: Tensor) -> Tensor:
    """Solves systems, whose matrices it changes, with the smallest ridge that makes them definite."""
    diagonal = matrix.diagonal(dim1=-2, dim2=-1)
    ridge = RIDGE * diagonal.amax(-1, keepdim=True).clamp(min=TINY)
    diagonal += ridge
    for _ in range(8):
        factor, failed = torch.linalg.cholesky_ex(matrix)
        if not bool(failed.any()):
            return torch.cholesky_solve(right.unsqueeze(-1), factor).squeeze(-1)
        ridge = 100.0 * ridge
        diagonal += torch.where((failed > 0).unsqueeze(-1), ridge, 0.0)
    raise LinAlgError("the kernel matrix of an implicit step is not positive semi-definite")


def _descents(hessian: Tensor, diagonal: Tensor, q: Tensor, gradient: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """Projected steps along the scaled gradient, ``count (r,)``, each as long as lowers the objective most."""
    for done in range(int(count.max())):
        target = (q - gradient / diagonal).clamp(0.0, 1.0)
        move = target - q
        bent = times(hessian, move)
        length = (-dot(gradient, move) / dot(move, bent).clamp(min=TINY)).clamp(max=1.0)
        length = torch.where(done < count.unsqueeze(-1), length, 0.0)
        q = torch.where(length == 1.0, target, q + length * move)
        gradient = gradient + length * bent
    return q, gradient


def implicit_steps(matrix: Tensor, margins: Tensor, slope: Slope, *, start: Tensor, tolerance: float) -> Tensor:
    r"""Solves :math:`s = -\ell'(m_0 + A s)` for a smooth convex loss, row by row: ``(r, n)``, float64.

    The minimisers of :math:`\tfrac12 s^\top A s + \sum_\mu \ell(m_{0\mu} + (As)_\mu)`, by Newton's method with a line
    search; margins that are sums of huge terms are known no better than their rounding.

    Args:
        matrix: ``A (r, n, n)``, symmetric, positive semi-definite, float64.
        margins: ``m_0 (r, n)``.
        slope: ``m -> (l, l', l'')``, elementwise.
        start: warm start of ``s (r, n)``.
        tolerance: accepted error, in the units of the margins.
    """
    s, own = start, matrix.diagonal(dim1=-2, dim2=-1)
    product, size = times(matrix, s), matrix.abs()
    for _ in range(ROUNDS):
        _, first, second = slope(margins + product)
        rest = s + first
        residual = (rest.abs() * own / (1 + own * second)).amax(-1, keepdim=True)
        floor = 8 * torch.finfo(s.dtype).eps * times(size, s.abs()).amax(-1, keepdim=True)
        unsolved = residual > floor.clamp(min=tolerance)
        if not bool(unsolved.any()):
            break
        step = _newtons(matrix, rest, second)
        moved = times(matrix, step)
        length = torch.where(unsolved, _lengths(slope, s, margins + product, step, moved), 0.0)
        s, product = s + length * step, product + length * moved
    return s


def _lengths(slope: Slope, s: Tensor, margins: Tensor, step: Tensor, moved: Tensor) -> Tensor:
    """Shares ``(r, 1)`` of the Newton steps up to which the objective falls, by its derivative along them."""

    def derivative(share: Tensor) -> Tensor:
        return dot(moved, s + share * step + slope(margins + share * moved)[1])

    low, high = torch.zeros_like(s[:, :1]), torch.ones_like(s[:, :1])
    begin, length, done = derivative(low), high, torch.zeros_like(low, dtype=torch.bool)
    for _ in range(HALVINGS):
        here = derivative(length)
        done = done | (here.abs() <= 0.3 * begin.abs()) | ((here < 0) & (length == 1.0))
        if bool(done.all()):
            break
        low, high = torch.where(here < 0, length, low), torch.where(here < 0, high, length)
        length = torch.where(done, length, (low + high) / 2)
    return length


def _newtons(matrix: Tensor, rest: Tensor, second: Tensor) -> Tensor:
    """The Newton directions ``-(1 + D A)^-1 rest``, ``D = diag(second)``, in the symmetric form that Cholesky needs."""
    root = second.clamp(min=0.0).sqrt()
    inner = root.unsqueeze(-1) * matrix * root.unsqueeze(-2)
    inner.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return root * _definite(inner, root * times(matrix, rest)) - rest
