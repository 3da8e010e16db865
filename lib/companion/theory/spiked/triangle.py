"""What every saddle point shares, whatever the bulk of its weights is: one setting or many.

The features have means along a few directions, and independent parts of variances ``squares_j(k)``. The first corner of
the triangle is ``V = F(hats(V))`` with the bulk's functionals ``F``; the last is the linear system for the norms ``q``,
whose matrix is the Jacobian of the first. Leading axes are settings, ``K`` the nodes over ``k``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

_TOLERANCE = 1e-12  # relative residual of V at which the iteration ends
_ITERATIONS = 500


class NotConverged(ArithmeticError):
    """A saddle point that was not found; the message holds the state it stopped in."""


@dataclass(frozen=True)
class Solution:
    """Order parameters of the trained readout and its errors.

    Every value has the settings' shape. Of ``J`` readout values ``m``, ``zeta``, ``psi``, ``q2``, ``V2`` are ``(J,)``
    and ``q1``, ``V1`` ``(J, J)``, with ``Omega`` and the readout restricted to the neurons of a value.

    Attributes:
        test_error: ``E (σ*(theta·x) - f(x))^2`` against the clean target.
        train_error: mean squared residual on the training set, without the penalty; NaN for a convex loss.
        m: ``1·a / sqrt(p)``.
        zeta: ``a·W_b v / sqrt(p)``.
        psi: ``a·W_b theta_perp / sqrt(p)``.
        q1: ``a·Omega a / p``, ``Omega = W_b (1 - v v^T) W_b^T``.
        q2: ``|a|^2 / p``.
        V1: ``tr(Omega S^-1) / p``.
        V2: ``tr(S^-1) / p``, ``S = lam + V2_hat + V1_hat Omega``.
        iterations: steps taken to ``V``, or to all of it.
        sign_error: of a convex loss, the share of wrong signs.

    Source: paper E, Eqs. 17, 25.
    """

    test_error: np.ndarray
    train_error: np.ndarray
    m: np.ndarray
    zeta: np.ndarray
    psi: np.ndarray
    q1: np.ndarray
    q2: np.ndarray
    V1: np.ndarray
    V2: np.ndarray
    iterations: np.ndarray
    sign_error: float | None = None


def hats(squares: np.ndarray, weight: np.ndarray, one: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """``V_hat_j = alpha/beta E[squares_j / (1 + V)]``, ``(..., J)``: ``squares (..., J, K)``, ``one = 1 + V(k)``."""
    return np.asarray(ratio)[..., None] * (squares @ (weight / one)[..., None])[..., 0]


def curvature(squares: np.ndarray, weight: np.ndarray, one: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Minus the derivative of the hats by ``V``, ``alpha/beta E[squares_i squares_j / (1 + V)^2]``: ``(..., J, J)``."""
    return np.asarray(ratio)[..., None, None] * ((squares * (weight / one**2)[..., None, :]) @ squares.swapaxes(-1, -2))


def variances(
    functionals: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    squares: np.ndarray,
    weight: np.ndarray,
    ratio: np.ndarray,
    start: np.ndarray,
    setting: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The fixed points ``V (B, J)``, ``1 + V(k) (B, K)`` there, and the steps each setting took ``(B,)``.

    The map is increasing and starts above its fixed point; Newton's step is taken where it keeps positive what starts
    so, the plain one elsewhere.

    Args:
        functionals: ``V_hat (b, J)`` of the settings ``rows (b,)`` to their ``V (b, J)``, and minus its Jacobian
            ``(b, J, J)``.
        squares: ``(B, J, K)``.
        weight: ``(B, K)``.
        ratio: ``alpha/beta (B,)``.
        start: ``V (B, J)``; what starts at 0 may have either sign.
        setting: what names a setting, arrays ``(B,)``.

    Raises:
        NotConverged: with the state of the worst setting.
    """
    V, steps, active = start.copy(), np.zeros(len(start), dtype=int), np.arange(len(start))
    for _ in range(_ITERATIONS):
        some = slice(None) if len(active) == len(V) else active
        now, parts, w, signed = V[some], squares[some], weight[some], start[some] == 0
        one = 1 + (now[..., None] * parts).sum(-2)
        plain, P = functionals(hats(parts, w, one, ratio[some]), active)
        matrix = np.eye(now.shape[1]) - P @ curvature(parts, w, one, ratio[some])
        newton = now - np.linalg.solve(matrix, (now - plain)[..., None])[..., 0]
        good = (((newton > 0) | signed) & np.isfinite(newton)).all(1, keepdims=True)
        if signed.any():
            good &= ((newton[..., None] * parts).sum(-2) > 0).all(1, keepdims=True)
        V[some] = np.where(good, newton, plain)
        steps[some] += 1
        gap = (np.abs(plain - now) / np.where(signed, np.abs(now).max(1, keepdims=True), now)).max(1)
        active = active[~(gap <= _TOLERANCE)]
        if not len(active):
            return V, 1 + (V[..., None] * squares).sum(-2), steps
    i = active[0]
    which = ", ".join(f"{name}={values[i]:g}" for name, values in setting.items())
    raise NotConverged(
        f"saddle point not found after {_ITERATIONS} steps: {which}, V={V[i]}, relative residual {np.nanmax(gap):.1e}"
    )


def variances_of_one(
    functionals: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    squares: np.ndarray,
    weight: np.ndarray,
    ratio: float,
    start: np.ndarray,
    setting: Mapping[str, float],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As ``variances``, of a single setting: no argument has the axis ``B``.

    Raises:
        NotConverged: with the state.
    """

    def batch(hats: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V, P = functionals(hats[0])
        return V[None], P[None]

    named = {name: np.array([value]) for name, value in setting.items()}
    found = variances(batch, squares[None], weight[None], np.array([ratio]), start[None], named)
    return found[0][0], found[1][0], found[2][0]


def readout_norms(
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
