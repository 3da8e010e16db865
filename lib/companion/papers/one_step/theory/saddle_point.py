"""The saddle point of a ridge readout in three stages, for any bulk of the weights and one setting or many.

The features have means ``A_d(k) + s B_d(k)`` along a few directions in the space of neurons, and independent parts of
variances ``squares_j(k)``. The stages are the fixed point ``V = F(hats(V))`` with the bulk's functionals ``F``, a
linear system for the overlaps with the directions, and one for the norms ``q``, whose matrix is the Jacobian of the
first. Leading axes are settings ``B``, ``K`` the nodes over ``k``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from companion.papers.one_step.theory.conditional_map import Channel

_TOLERANCE = 1e-12  # relative residual of V at which the iteration ends
_ITERATIONS = 500
_SILENT = 1e-12  # root mean square of a direction's mean below which it is rounding
_DEPENDENT = 1e-13  # singular values of the overlaps' system that stand for directions which span nothing new

Functionals = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class NotConverged(ArithmeticError):
    """A saddle point that was not found; the message has the last state."""


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


def solve_overlaps(
    e: Channel,
    functionals: Functionals,
    stiffness: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    *,
    squares: np.ndarray,
    flat: np.ndarray,
    tilted: np.ndarray,
    ratio: np.ndarray,
    start: np.ndarray,
    setting: Mapping[str, np.ndarray],
    test_functions: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, ...]:
    """All three stages, on given conditional maps of ``B`` settings, for ``J`` variances and ``D`` directions.

    A direction has its mean in ``flat`` or in ``tilted``; overlaps ``o`` cost ``o·G^-1 o / 2`` beside the fit. Where
    the mean vanishes, as that of all ones without a spike, the overlap is 0; dependent ones share theirs.

    Args:
        e: targets and weights; ``B`` rows.
        functionals: ``V_hat (b, J)`` of the settings ``rows (b,)`` to their ``V (b, J)``, and minus its Jacobian.
        stiffness: ``V_hat``, ``V``, ``P`` to ``G (B, D, D)`` and minus its derivatives by ``V_hat``, ``(B, J, D, D)``.
        squares: ``(B, J, K)``.
        flat: ``A_d (B, D, K)``.
        tilted: ``B_d (B, D, K)``.
        ratio: ``alpha/beta (B,)``.
        start: where ``V (B, J)`` starts, see :func:`variances`.
        setting: what names a setting, arrays ``(B,)``.
        test_functions: ``flat`` and ``squares`` of points outside the training set, if theirs differ.

    Returns:
        Mean squared residual over all inputs, and over the training set, ``(B,)``; the overlaps ``(B, D)``; the norms
        ``q`` and the fixed point ``V``, ``(B, J)``; the steps to it ``(B,)``.

    Source: paper E, Eqs. 17-25.
    """
    V, one_plus_V, steps = variances(functionals, squares, e.weight, ratio, start, setting)
    hat_V = hats(squares, e.weight, one_plus_V, ratio)
    P = functionals(hat_V, np.arange(len(V)))[1]
    G, by_hats = stiffness(hat_V, V, P)
    over = e.weight / one_plus_V
    products = (flat * over[:, None]) @ flat.mT
    size = np.sqrt(np.einsum("bdd->bd", products))
    silent = size < _SILENT
    size = np.where(silent, 1.0, size)
    unit = ~silent / size
    G = size[:, :, None] * G * size[:, None, :]
    A = ratio[:, None, None] * unit[:, :, None] * products * unit[:, None, :]
    b = ratio[:, None, None] * (unit[..., None] * (flat @ (over * e.h)[..., None]) + tilted @ (over * e.h_s)[..., None])
    scale = np.maximum(1.0, np.einsum("bdd->bd", G))[:, None, :]  # G is infinite along all ones in the limit of widths
    solved = np.linalg.pinv(np.eye(G.shape[1]) / scale + A @ (G / scale), rcond=_DEPENDENT) @ b
    overlap = ((G / scale) @ solved)[..., 0]
    hat = solved[..., 0] / scale[:, 0] * size
    C = _combined(unit * overlap, flat)
    bias = e.h2 - 2 * C * e.h + C**2 - 2 * e.h_s * _combined(overlap, tilted)
    source = ratio[:, None, None] * P @ (squares @ (e.weight * bias / one_plus_V**2)[..., None])
    along = np.einsum("bd,bjde,be->bj", hat, by_hats, hat)
    matrix = np.eye(P.shape[-1]) - P @ curvature(squares, e.weight, one_plus_V, ratio)
    q = np.linalg.solve(matrix, source + along[..., None])[..., 0]
    residual = e.weight * (bias + _combined(q, squares))
    test_residual = residual
    if test_functions is not None:
        test_flat, test_squares = test_functions
        C = _combined(overlap / size, test_flat)
        bias = e.h2 - 2 * C * e.h + C**2 - 2 * e.h_s * _combined(overlap / size, tilted)
        test_residual = e.weight * (bias + _combined(q, test_squares))
    return test_residual.sum(-1), (residual / one_plus_V**2).sum(-1), overlap / size, q, V, steps


def linear(coefficients: np.ndarray) -> Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """The stiffness of directions that is linear in the bulk's ``V``, by its ``coefficients (B, D, D, J)``."""

    def stiffness(_: np.ndarray, V: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.einsum("bdej,bj->bde", coefficients, V), np.einsum("bdej,bij->bide", coefficients, P)

    return stiffness


def hats(squares: np.ndarray, weight: np.ndarray, one_plus_V: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """``V_hat_j = alpha/beta E[squares_j / (1 + V(k))]``, ``(B, J)``, of ``squares (B, J, K)``."""
    return ratio[:, None] * (squares @ (weight / one_plus_V)[..., None])[..., 0]


def curvature(squares: np.ndarray, weight: np.ndarray, one_plus_V: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Minus the derivative of the hats by ``V``, ``alpha/beta E[squares_i squares_j / (1 + V)^2]``: ``(B, J, J)``."""
    return ratio[:, None, None] * ((squares * (weight / one_plus_V**2)[:, None]) @ squares.mT)


def _combined(parts: np.ndarray, functions: np.ndarray) -> np.ndarray:
    """``sum_j parts_j functions_j(k)``, ``(B, K)``, of ``(B, J)`` and ``(B, J, K)``."""
    return (parts[:, None] @ functions)[:, 0]


def variances(
    functionals: Functionals,
    squares: np.ndarray,
    weight: np.ndarray,
    ratio: np.ndarray,
    start: np.ndarray,
    setting: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The fixed points ``V (B, J)``, ``1 + V(k) (B, K)`` there, and the steps each setting took ``(B,)``.

    The map is increasing and starts above its fixed point; Newton's step is taken where it keeps positive what starts
    so, the plain one elsewhere. What starts at 0 may have either sign. Arguments as in :func:`solve_overlaps`.
    """
    V = start.copy()
    steps = np.zeros(len(start), dtype=int)
    active = np.arange(len(start))
    for _ in range(_ITERATIONS):
        rows = slice(None) if len(active) == len(V) else active
        current = V[rows]
        parts = squares[rows]
        w = weight[rows]
        signed = start[rows] == 0
        one_plus_V = 1 + _combined(current, parts)
        plain, P = functionals(hats(parts, w, one_plus_V, ratio[rows]), active)
        matrix = np.eye(current.shape[1]) - P @ curvature(parts, w, one_plus_V, ratio[rows])
        newton = current - np.linalg.solve(matrix, (current - plain)[..., None])[..., 0]
        good = (((newton > 0) | signed) & np.isfinite(newton)).all(1, keepdims=True)
        if signed.any():
            good &= (_combined(newton, parts) > 0).all(1, keepdims=True)
        V[rows] = np.where(good, newton, plain)
        steps[rows] += 1
        scale = np.where(signed, np.abs(current).max(1, keepdims=True), current)
        gap = (np.abs(plain - current) / scale).max(1)
        active = active[~(gap <= _TOLERANCE)]
        if not len(active):
            return V, 1 + _combined(V, squares), steps
    i = active[0]
    words = ", ".join(f"{name}={values[i]:g}" for name, values in setting.items())
    raise NotConverged(
        f"saddle point not found after {_ITERATIONS} steps: {words}, V={V[i]}, relative residual {np.nanmax(gap):.1e}"
    )
