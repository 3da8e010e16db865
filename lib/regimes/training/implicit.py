r"""Implicit steps of a gradient flow in function space: one convex problem a step, solved to its optimality conditions.

A flow of the margins :math:`m = yF` under a kernel held fixed during a step of length :math:`\Delta t` obeys
:math:`m = m_0 + A s`, :math:`s = -\ell'(m)`, with :math:`A = \Delta t\,\alpha\,(y y^\top)\circ\Theta/p`. The hinge
loss has a multi-valued slope at its corner, and the step becomes the box problem of :func:`box_qp`; a smooth loss is
solved by :func:`implicit_step`. Both work on the CPU in float64, whatever the flow's own precision.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv

ROUNDS = 200  # linear systems (and four more a variable) before the best feasible point is handed back
PATIENCE, CROWD = 3, 100  # refused candidates, and one more per 100 variables, before the method that cannot cycle
SWEEPS = 2  # passes over the coordinates in place of the first refused candidate, one more for each further one
GUESSES = 6  # active sets guessed for a candidate
HALVINGS = 30  # of the interval in which a line search ends
RIDGE = 1e-13  # relative to the largest diagonal entry; keeps singular kernels (equal points) solvable


@dataclass(frozen=True)
class Solution:
    """Where a solver ended.

    Attributes:
        q: the minimiser ``(p,)``, float64.
        residual: largest violation of the optimality conditions, in units of ``b`` (of the margins).
        rounds: linear systems solved.
        converged: whether ``residual`` is within the asked tolerance.
    """

    q: np.ndarray
    residual: float
    rounds: int
    converged: bool


def box_qp(hessian: np.ndarray, b: np.ndarray, *, start: np.ndarray | None = None, tolerance: float = 1e-9) -> Solution:
    r"""Minimises :math:`\tfrac12 q^\top H q - b^\top q` over the box :math:`0 \le q \le 1`.

    The backward-Euler step of a hinge-loss flow: with ``H`` :math:`= A` and ``b`` :math:`= 1 - m_0` the margins at the
    end are :math:`m_0 + A q`, and ``q`` is 1 below the margin, 0 above it and in between for points that stay on it.

    Primal-dual active sets (all constraints may change at once), kept monotone: a candidate that does not lower the
    objective is replaced by sweeps of coordinate descent, which do, and after ``PATIENCE`` of those a primal
    active-set method takes over, which needs more linear systems but always ends. (Projected steps along the whole
    gradient would be one product each, but kernels of points in few dimensions are too flat for them: 3000 points in
    the plane took more than eighty times as long.) The end is exact up to one linear
    solve.

    Args:
        hessian: ``(p, p)``, symmetric, positive semi-definite.
        b: ``(p,)``.
        start: warm start ``(p,)``, clipped to the box; by default the best corner of the diagonal problem.
        tolerance: accepted violation of the optimality conditions, in the units of ``b``.

    Returns:
        The minimiser and how it was reached; ``converged`` is false if the rounds ran out (the point is feasible).
    """
    diagonal = np.maximum(hessian.diagonal(), RIDGE * max(hessian.diagonal().max(initial=0.0), 1e-300))
    q = np.clip(b / diagonal if start is None else start, 0.0, 1.0)
    gradient = hessian @ q - b
    patience = PATIENCE + len(b) // CROWD
    refused = rounds = 0
    while (residual := violation(q, gradient)) > tolerance and rounds < ROUNDS + 4 * len(b):
        rounds += 1
        if refused > patience:
            q, gradient = _pivot(hessian, q, gradient, tolerance)
            continue
        trial = _candidate(hessian, b, diagonal, q, gradient)
        slope = hessian @ trial - b
        if violation(trial, slope) <= tolerance or (trial - q) @ (slope + gradient) < 0.0:
            q, gradient = trial, slope
        else:
            q, gradient = _sweeps(hessian, diagonal, q, gradient, SWEEPS + refused)
            refused += 1
    return Solution(q, residual, rounds, residual <= tolerance)


def violation(q: np.ndarray, gradient: np.ndarray) -> float:
    """Largest violation of the box problem's optimality conditions: the gradient where ``q`` could still move."""
    can_move = np.where(gradient > 0, q > 0, q < 1)
    return float(np.abs(gradient[can_move]).max(initial=0.0))


def _candidate(
    hessian: np.ndarray, b: np.ndarray, diagonal: np.ndarray, q: np.ndarray, gradient: np.ndarray
) -> np.ndarray:
    """The feasible point that a few rounds of active-set guessing lead to, starting from ``q``."""
    guess = q - gradient / diagonal
    for _ in range(GUESSES):
        upper = guess >= 1.0
        free = np.flatnonzero((guess > 0.0) & ~upper)
        point = upper.astype(float)
        point[free] = _solve(hessian[np.ix_(free, free)], b[free] - hessian[free] @ point)
        inside = point[free]
        if (inside >= 0).all() and (inside <= 1).all():
            return point
        # variables outside stay out for the rest of this candidate; the next one may release them
        guess = np.where(upper, 1.0, 0.0)
        guess[free] = inside
    return np.clip(point, 0.0, 1.0)


def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solves a symmetric positive semi-definite system, with the smallest ridge that makes it definite."""
    if not len(right):
        return right
    ridge = RIDGE * max(matrix.diagonal().max(), 1e-300)
    for _ in range(8):
        matrix = matrix.copy()
        matrix[np.diag_indices_from(matrix)] += ridge
        _, solution, failed = dposv(matrix, right, lower=1)
        if not failed:
            return solution
        ridge *= 100.0
    raise LinAlgError("the kernel matrix of an implicit step is not positive semi-definite")


def _pivot(hessian: np.ndarray, q: np.ndarray, gradient: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """One move of the primal active-set method: to the minimum over the free variables, or as far as the box allows.

    Where that minimum is already reached, the bound that is most in the way is released first. Every move lowers the
    objective, so no face returns and the method ends.
    """
    inside = (q > 0) & (q < 1)
    if np.abs(gradient[inside]).max(initial=0.0) <= 0.1 * tolerance:
        inside[np.argmax(np.where(np.where(gradient > 0, q > 0, q < 1), np.abs(gradient), 0.0))] = True
    free = np.flatnonzero(inside)
    move = _solve(hessian[np.ix_(free, free)], -gradient[free])
    room = np.where(move > 0, 1 - q[free], q[free])
    length = min(1.0, (room / np.maximum(np.abs(move), 1e-300)).min())
    q = q.copy()
    q[free] = np.clip(q[free] + length * move, 0.0, 1.0)
    if length < 1.0:
        hit = np.argmin(room / np.maximum(np.abs(move), 1e-300))
        q[free[hit]] = float(move[hit] > 0)
    return q, gradient + length * (hessian[:, free] @ move)


def _sweeps(
    hessian: np.ndarray, diagonal: np.ndarray, q: np.ndarray, gradient: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cyclic coordinate descent, ``count`` passes over the coordinates that can move; never raises the objective."""
    q, gradient = q.copy(), gradient.copy()
    for _ in range(count):
        for i in np.flatnonzero(np.where(gradient > 0, q > 0, q < 1)):
            change = min(max(q[i] - gradient[i] / diagonal[i], 0.0), 1.0) - q[i]
            if change:
                q[i] += change
                gradient += change * hessian[i]
    return q, gradient


def implicit_step(
    matrix: np.ndarray,
    margins: np.ndarray,
    slope: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    *,
    start: np.ndarray | None = None,
    tolerance: float = 1e-9,
) -> Solution:
    r"""Solves :math:`s = -\ell'(m_0 + A s)` for a smooth convex loss.

    The minimiser of :math:`\tfrac12 s^\top A s + \sum_\mu \ell(m_{0\mu} + (As)_\mu)`.

    Newton's method with a line search; only points with :math:`\ell'' > 0` enter the
    linear system.

    Args:
        matrix: ``A (p, p)``, symmetric, positive semi-definite.
        margins: ``m_0 (p,)``.
        slope: ``m -> (l, l', l'')``, each ``(p,)``.
        start: warm start of ``s``; by default :math:`-\ell'(m_0)`.
        tolerance: accepted error, in the units of the margins: what :math:`s + \ell'(m)` would move its own point.
    """
    s = -slope(margins)[1] if start is None else start.astype(float)
    product, own = matrix @ s, matrix.diagonal()
    for rounds in range(ROUNDS):
        _, first, second = slope(margins + product)
        rest = s + first
        residual = float((np.abs(rest) * own / (1 + own * second)).max(initial=0.0))
        # margins that are sums of huge terms are known no better than their rounding
        floor = 8 * np.finfo(float).eps * (np.abs(matrix) @ np.abs(s)).max(initial=0.0)
        if residual <= max(tolerance, floor):
            return Solution(s, residual, rounds, True)
        step = _newton(matrix, rest, second)
        moved = matrix @ step
        length = _length(slope, s, margins + product, step, moved)
        s, product = s + length * step, product + length * moved
    return Solution(s, residual, ROUNDS, False)


def _length(slope: Callable, s: np.ndarray, margins: np.ndarray, step: np.ndarray, moved: np.ndarray) -> float:
    """A share of the Newton step up to which the objective falls: by its derivative, which rounding spares longer."""

    def derivative(share: float) -> float:
        return float(moved @ (s + share * step + slope(margins + share * moved)[1]))

    start = derivative(0.0)
    low, high, length = 0.0, 1.0, 1.0
    for _ in range(HALVINGS):
        here = derivative(length)
        if abs(here) <= 0.3 * abs(start) or (here < 0 and length == 1.0):
            break
        low, high = (length, high) if here < 0 else (low, length)
        length = (low + high) / 2
    return length


def _newton(matrix: np.ndarray, rest: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The Newton direction ``-(1 + D A)^-1 rest``, ``D = diag(second)``, in the symmetric form that Cholesky needs."""
    curved = np.flatnonzero(second > 0)
    root = np.sqrt(second[curved])
    inner = root[:, None] * matrix[np.ix_(curved, curved)] * root
    inner[np.diag_indices_from(inner)] += 1.0
    step = -rest.copy()
    step[curved] += root * _solve(inner, root * (matrix[curved] @ rest))
    return step
