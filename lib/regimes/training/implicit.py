r"""The implicit problem of a step of a hinge flow in function space, one row per realisation.

A flow of the margins :math:`m = yF` under a kernel held fixed during a step of length :math:`\Delta t` obeys
:math:`m = m_0 + A s`, :math:`s = -\ell'(m)`, with :math:`A = \Delta t\,\alpha\,(y y^\top)\circ\Theta/p`. The hinge
loss has a multi-valued slope at its corner, and the step becomes the problem of :func:`box_qp`. It is solved in float64
at any precision of the flow. Rows are independent, so that each has the same solution alone or among others. Zeros in
the matrix pad shorter rows and have no effect.
"""

import numpy as np
import torch
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv
from torch import Tensor

ROUNDS = 200  # linear systems (and four more per variable) before the best feasible point is handed back
PATIENCE, VARIABLES = 3, 100  # refused candidates, and one more per 100 variables, before the method that cannot cycle
SWEEPS = 2  # passes over the coordinates in place of the first refused candidate, one more for each further one
GUESSES = 6  # active sets guessed for a candidate
RIDGE = 1e-13  # relative to the largest diagonal entry; keeps singular kernels (equal points) solvable
RIDGES = 8  # tries to make a matrix definite, each with a hundred times the ridge
TINY = 1e-300
DESCENTS = 8  # projected steps in place of the first refused candidate, as many more for each further one


def times(matrix: Tensor, vector: Tensor) -> Tensor:
    """The products ``(r, n)`` of matrices ``(r, n, n)`` with vectors ``(r, n)``."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def dot(a: Tensor, b: Tensor) -> Tensor:
    """The inner products ``(r, 1)`` of vectors ``(r, n)``."""
    return (a * b).sum(-1, keepdim=True)


def box_qp(hessian: Tensor, b: Tensor, *, start: Tensor, tolerance: float) -> Tensor:
    r"""Minimises :math:`\tfrac12 q^\top H q - b^\top q` over the box :math:`0 \le q \le 1`, row by row: ``(r, n)``.

    The backward-Euler step of a hinge-loss flow: with ``H`` :math:`= A` and ``b`` :math:`= 1 - m_0` the margins at the
    end are :math:`m_0 + A q`, and ``q`` is 1 below the margin, 0 above it and in between for points that stay on it.

    The method is primal-dual active sets (all constraints may change at once), kept monotone. Sweeps of coordinate
    descent replace a candidate that does not lower the objective. After ``PATIENCE`` of those a primal active-set
    method takes over, which needs more linear systems but always ends. The end is exact up to one linear solve.

    On the CPU, LAPACK solves the rows one after another: 4.5 to 5 times as fast for one row as operations on tensors of
    rows, and 2 to 3 times for eight. Another device solves its rows together, with projected steps along the gradient
    instead of sweeps. A row that refuses ``PATIENCE`` candidates there goes to the CPU, because projected steps are
    slow on flat kernels (more than eighty times as slow for 3000 points in the plane).

    Args:
        hessian: ``(r, n, n)``, symmetric, positive semi-definite, float64.
        b: ``(r, n)``.
        start: warm start ``(r, n)``, clipped to the box.
        tolerance: accepted violation of the optimality conditions, in the units of ``b``.

    Returns:
        The minimisers, or the best feasible point if the rounds ran out.

    Raises:
        LinAlgError: for a matrix that is not positive semi-definite.
    """
    q = start.clamp(0.0, 1.0)
    rows = list(range(len(b)))
    if len(b) > 1 and b.device.type != "cpu":
        q, rows = _together(hessian, b, q, tolerance)
    for row in rows:
        matrix, right, point = (value[row].cpu().numpy() for value in (hessian, b, q))
        q[row] = torch.from_numpy(_alone(matrix, right, point, tolerance)).to(b)
    return q


def _alone(hessian: np.ndarray, b: np.ndarray, q: np.ndarray, tolerance: float) -> np.ndarray:
    """The minimiser ``(n,)`` of one row, from the feasible point ``q``."""
    diagonal = np.maximum(hessian.diagonal(), RIDGE * max(hessian.diagonal().max(initial=0.0), TINY))
    gradient = hessian @ q - b
    patience = PATIENCE + len(b) // VARIABLES
    refused = 0
    for _ in range(ROUNDS + 4 * len(b)):
        if violation(q, gradient) <= tolerance:
            break
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
    return q


def violation(q: np.ndarray, gradient: np.ndarray) -> float:
    """Largest violation of the box problem's optimality conditions: the gradient where ``q`` could still move."""
    return float(np.abs(gradient[_movable(q, gradient)]).max(initial=0.0))


def _movable(q: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Which variables a step down the gradient can move."""
    return np.where(gradient > 0, q > 0, q < 1)


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
    ridge = RIDGE * max(matrix.diagonal().max(), TINY)
    for _ in range(RIDGES):
        matrix = matrix.copy()
        matrix[np.diag_indices_from(matrix)] += ridge
        _, solution, failed = dposv(matrix, right, lower=1)
        if not failed:
            return solution
        ridge *= 100.0
    raise LinAlgError("the kernel matrix of an implicit step is not positive semi-definite")


def _pivot(hessian: np.ndarray, q: np.ndarray, gradient: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """One move of the primal active-set method, to the minimum over the free variables or as far as the box allows.

    At that minimum, the bound with the largest violation is released first. Every move lowers the objective, so no face
    returns and the method ends.
    """
    inside = (q > 0) & (q < 1)
    if np.abs(gradient[inside]).max(initial=0.0) <= 0.1 * tolerance:
        inside[np.argmax(np.where(_movable(q, gradient), np.abs(gradient), 0.0))] = True
    free = np.flatnonzero(inside)
    move = _solve(hessian[np.ix_(free, free)], -gradient[free])
    lengths = np.where(move > 0, 1 - q[free], q[free]) / np.maximum(np.abs(move), TINY)
    length = min(1.0, lengths.min())
    q = q.copy()
    q[free] = np.clip(q[free] + length * move, 0.0, 1.0)
    if length < 1.0:
        hit = np.argmin(lengths)
        q[free[hit]] = float(move[hit] > 0)
    return q, gradient + length * (hessian[:, free] @ move)


def _sweeps(
    hessian: np.ndarray, diagonal: np.ndarray, q: np.ndarray, gradient: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cyclic coordinate descent, ``count`` passes over the coordinates that can move; never raises the objective."""
    q, gradient = q.copy(), gradient.copy()
    for _ in range(count):
        for i in np.flatnonzero(_movable(q, gradient)):
            change = min(max(q[i] - gradient[i] / diagonal[i], 0.0), 1.0) - q[i]
            if change:
                q[i] += change
                gradient += change * hessian[i]
    return q, gradient


def _together(hessian: Tensor, b: Tensor, q: Tensor, tolerance: float) -> tuple[Tensor, list[int]]:
    """Points ``(r, n)`` of a lower objective from the feasible ``q``, and the unsolved rows."""
    diagonal = hessian.diagonal(dim1=-2, dim2=-1)
    diagonal = diagonal.maximum(RIDGE * diagonal.amax(-1, keepdim=True).clamp(min=TINY))
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
    return q, unsolved.nonzero().flatten().tolist()


def violations(q: Tensor, gradient: Tensor) -> Tensor:
    """Largest violation of the box problem's optimality conditions in each row ``(r,)``."""
    can_move = torch.where(gradient > 0, q > 0, q < 1)
    return torch.where(can_move, gradient.abs(), 0.0).amax(-1)


def _improved(
    hessian: Tensor, b: Tensor, diagonal: Tensor, q: Tensor, gradient: Tensor, refused: Tensor, tolerance: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Points of a lower objective, their gradients, and the rows whose candidate was refused ``(r,)``."""
    trial = _candidates(hessian, b, diagonal, q, gradient)
    slope = times(hessian, trial) - b
    solved = violations(trial, slope) <= tolerance
    lower = dot(trial - q, slope + gradient).squeeze(-1) < 0.0
    good = solved | lower
    if bool(good.all()):
        return trial, slope, ~good
    count = torch.where(good, 0, DESCENTS * (1 + refused))
    descended, steep = _descents(hessian, diagonal, q, gradient, count)
    accepted = good.unsqueeze(-1)
    return torch.where(accepted, trial, descended), torch.where(accepted, slope, steep), ~good


def _candidates(hessian: Tensor, b: Tensor, diagonal: Tensor, q: Tensor, gradient: Tensor) -> Tensor:
    """The feasible points that a few rounds of active-set guessing lead to, starting from ``q``."""
    guess = q - gradient / diagonal
    point = q
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
    for _ in range(RIDGES):
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
