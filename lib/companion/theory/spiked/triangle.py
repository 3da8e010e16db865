"""What every saddle point of a ridge readout shares, whatever the bulk of its weights is: one setting or many.

The features have means along a few directions, and independent parts of variances ``squares_j(k)``. The first corner of
the triangle is ``V = F(hats(V))`` with the bulk's functionals ``F``; the last is the linear system for the norms ``q``,
whose matrix is the Jacobian of the first. Leading axes are settings, ``K`` the nodes over ``k``.
"""

from collections.abc import Callable

import numpy as np

_TOLERANCE = 1e-12  # relative change of V at which the iteration ends
_ITERATIONS = 500


class NotConverged(ArithmeticError):
    """A saddle point that was not found; the message holds the state it stopped in."""


def hats(squares: np.ndarray, weight: np.ndarray, one: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """``V_hat_j = alpha/beta E[squares_j / (1 + V)]``, ``(..., J)``: ``squares (..., J, K)``, ``one = 1 + V(k)``."""
    return np.asarray(ratio)[..., None] * (squares @ (weight / one)[..., None])[..., 0]


def curvature(squares: np.ndarray, weight: np.ndarray, one: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Minus the derivative of the hats by ``V``, ``alpha/beta E[squares_i squares_j / (1 + V)^2]``: ``(..., J, J)``."""
    return np.asarray(ratio)[..., None, None] * ((squares * (weight / one**2)[..., None, :]) @ squares.swapaxes(-1, -2))


def fixed_point(
    functionals: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    squares: np.ndarray,
    weight: np.ndarray,
    ratio: float,
    start: np.ndarray,
) -> np.ndarray:
    """``V (J,)`` of one setting: Newton's step where it leaves ``V(k)`` positive, the plain one elsewhere.

    Args:
        functionals: ``V_hat (J,) -> V (J,)`` and minus its Jacobian ``(J, J)``.
        squares: ``(J, K)``.
        weight: ``(K,)``.
        ratio: ``alpha/beta``.
        start: ``V (J,)``, above the fixed point.

    Raises:
        NotConverged: with the state.
    """
    V = start
    for _ in range(_ITERATIONS):
        one = 1 + V @ squares
        plain, P = functionals(hats(squares, weight, one, ratio))
        newton = V - np.linalg.solve(np.eye(len(V)) - P @ curvature(squares, weight, one, ratio), V - plain)
        gap = np.abs(plain - V).max() / np.abs(plain).max()
        V = newton if (newton @ squares > 0).all() else plain
        if gap <= _TOLERANCE:
            return V
    raise NotConverged(f"saddle point not found after {_ITERATIONS} steps: V={V}, relative change {gap:.1e}")


def norms(
    P: np.ndarray,
    squares: np.ndarray,
    weight: np.ndarray,
    one: np.ndarray,
    known: np.ndarray,
    ratio: np.ndarray,
    along: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The norms ``q = P (A q + B) + along``, and mean residuals over all inputs and over the training set.

    Args:
        P: minus the Jacobian of the bulk's functionals, ``(..., J, J)``.
        squares: ``(..., J, K)``.
        weight: ``(..., K)``.
        one: ``1 + V(k)``, ``(..., K)``.
        known: the residual less the part of ``q``, ``(..., K)``.
        ratio: ``alpha/beta``.
        along: what the directions of the means add, ``(..., J)``.

    Returns:
        ``q (..., J)``, test error and training error ``(...)``.
    """
    source = (P @ (np.asarray(ratio)[..., None, None] * (squares @ (weight * known / one**2)[..., None])))[..., 0]
    matrix = np.eye(P.shape[-1]) - P @ curvature(squares, weight, one, ratio)
    q = np.linalg.solve(matrix, (source + along)[..., None])[..., 0]
    residual = known + (q[..., None] * squares).sum(-2)
    return q, (weight * residual).sum(-1), (weight * residual / one**2).sum(-1)
