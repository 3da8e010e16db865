r"""The box problem of an implicit step of a hinge-loss flow in function space, solved to its optimality conditions.

A flow of the margins :math:`m = yF` under a kernel held fixed during a step of length :math:`\Delta t` obeys
:math:`m = m_0 + A s`, :math:`s = -\ell'(m)`, with :math:`A = \Delta t\,\alpha\,(y y^\top)\circ\Theta/p`. The hinge
loss has a multi-valued slope at its corner, and the step becomes the problem of :func:`box_qp`. It is solved on the CPU
in float64, whatever the flow's own precision.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv

ROUNDS = 200  # linear systems (and four more a variable) before the best feasible point is handed back
PATIENCE, CROWD = 3, 100  # refused candidates, and one more per 100 variables, before the method that cannot cycle
SWEEPS = 2  # passes over the coordinates in place of the first refused candidate, one more for each further one
GUESSES = 6  # active sets guessed for a candidate
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
