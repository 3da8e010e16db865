"""The saddle point of a discrete readout (App. D), with one set of order parameters for each of its values.

The initial readout is ``u_i / sqrt(p)`` with ``u_i`` in ``values``, equally often. After one step the neurons of a
value have the spike ``r u_j`` and bulk variance ``c_j = 1 + u_j^2 (c - 1)``. If their functions are nearly collinear,
no simulation reaches the limit ``p -> inf``; then compare with the finite-width rule.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from companion.papers.one_step.theory import ridge_theory, saddle_point
from companion.papers.one_step.theory.conditional_map import channels_of_values, feature_moments
from companion.papers.one_step.theory.functions import Function, function, needs_odd
from companion.papers.one_step.theory.ridge_theory import FINITE, needs_ratios
from companion.papers.one_step.theory.saddle_point import Solution
from regimes import gaussian, validate
from regimes.validate import InputError

_ITERATIONS = 20000
_TINY = 1e-30  # complex step: derivatives without cancellation


@dataclass(frozen=True)
class ReadoutBulk:
    """The bulk of ``J`` equally many kinds of rows.

    Attributes:
        c: variances ``c_j``.
        beta: ``p/d``.
        orthogonal: rows orthogonal (``beta = 1``, App. D.3) instead of independent.
    """

    c: np.ndarray
    beta: float
    orthogonal: bool = False

    def functionals(self, B: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``V1 (..., J, J)`` and ``V2 (..., J)`` of ``S = sum_j s_j P_j + sum_jl B_jl P_j Omega P_l``.

        Independent rows: ``R = B (1 + beta Delta B)^-1``, ``g_j = 1/(s_j + c_j R_jj)``, ``Delta = diag(c g)/J``.
        """
        eye = np.eye(len(self.c))
        share = 1 / len(self.c)
        if self.orthogonal:
            V2 = share / (s + self.c * np.einsum("...jj->...j", B))
            return eye * (self.c * V2)[..., None], V2
        g = 1 / s
        for _ in range(_ITERATIONS):
            weight = share * self.c * g
            R = B @ np.linalg.inv(eye + self.beta * weight[..., None] * B)
            new = 1 / (s + self.c * np.einsum("...jj->...j", R))
            move = new - g
            settled = np.abs(move).max() <= 1e-14 * np.abs(new).max()
            settled &= np.abs(move.imag).max() <= 1e-14 * max(np.abs(new.imag).max(), 1e-300)
            g = (new + g) / 2
            if settled:
                break
        delta = eye * (share * self.c * g)[..., None]
        return delta @ np.linalg.inv(eye + self.beta * B @ delta), share * g

    def jacobian(self, B: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Minus the derivative of ``(V1, V2)`` (flattened, ``J^2 + J``) by ``(B, s)``, by complex steps."""
        size = len(s)
        directions = np.eye(size**2 + size)
        steps = 1j * _TINY * directions
        V1, V2 = self.functionals(B + steps[:, : size**2].reshape(-1, size, size), s + steps[:, size**2 :])
        return -np.concatenate([V1.reshape(len(steps), -1), V2], axis=1).imag.T / _TINY


def solve_readout_values(
    activation: str | Function,
    target: str | Function,
    *,
    alpha: float,
    beta: float,
    lam: float,
    r: float,
    c: float = 1.0,
    values: Sequence[float] = (1.0,),
    gamma: float = 1.0,
    width: float = np.inf,
    orthogonal: bool = False,
) -> Solution:
    """Errors of ridge regression when the initial readout takes several values.

    Arguments as :func:`companion.papers.one_step.theory.ridge_theory.solve`, of one setting; ``r`` and ``c`` are those
    of the value 1, and ``orthogonal`` bulk rows (``beta = 1``) the special case D.3.

    Source: paper E, App. D; the closed form for independent rows and the finite-width rule are ours.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_odd(activation)
    needs_ratios(alpha=alpha, beta=beta, lam=lam, c=c, width=width)
    if orthogonal and beta != 1:
        raise InputError(f"orthogonal rows are solved at beta = 1, got {beta!r}")
    e = channels_of_values(activation, target, values, r=r, c=c, gamma=gamma)
    bulk = ReadoutBulk(1 + np.square(values) * (c - 1), beta, orthogonal)
    J = len(values)

    def functionals(hats: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        B = hats[0, : J**2].reshape(J, J)
        s = lam + hats[0, J**2 :]
        V1, V2 = bulk.functionals(B, s)
        return np.concatenate([V1.ravel(), V2])[None], bulk.jacobian(B, s)[None]

    stiffness = np.zeros((3, J, 3, J, J**2 + J))  # of each value's ones, W_b v and W_b theta_perp, by V1 and V2
    for j in range(J):
        stiffness[0, j, 0, j, J**2 + j] = min(width, FINITE)
        stiffness[1, j, 1, j, J**2 + j] = beta * bulk.c[j]
        stiffness[2, j, 2, :, j * J : (j + 1) * J] = beta * np.eye(J)
    none = np.zeros_like(e.k)
    test, train, overlap, q, V, steps = saddle_point.solve_overlaps(
        e.take([0]),
        functionals,
        saddle_point.linear(stiffness.reshape(1, 3 * J, 3 * J, -1)),
        # what multiplies (V1, V2) and (Q, q2) in the sums over values
        squares=np.concatenate([(e.kappa1[:, None] * e.kappa1).reshape(J**2, -1), e.kappa2])[None],
        flat=np.concatenate([e.kappa0, e.k * e.kappa1, none])[None],
        tilted=np.concatenate([none, none, e.kappa1])[None],
        ratio=np.array([alpha / beta]),
        start=np.concatenate([np.diag(bulk.c / J).ravel(), np.full(J, 1 / J)])[None] / lam,
        setting={"beta": np.array([beta]), "lam": np.array([lam])},
    )
    q1 = q[0, : J**2].reshape(J, J)
    q2 = q[0, J**2 :]
    V1 = V[0, : J**2].reshape(J, J)
    V2 = V[0, J**2 :]
    return Solution(test[0], train[0], *overlap.reshape(3, J), q1, q2, V1, V2, steps[0])


def learned_share(
    activation: str | Function, target: str | Function, degree: int, *, r: float, values: Sequence[float], **kind: float
) -> float:
    """The learned function's coefficient on ``He_degree(theta·x)`` over the target's: :func:`solve_readout_values`."""
    activation = function(activation, "activation")
    target = function(target, "target")
    solution = solve_readout_values(activation, target, r=r, values=values, **kind)
    e = channels_of_values(activation, target, values, r=r, c=kind.get("c", 1.0))
    m = np.reshape(solution.m, (-1, 1))
    zeta = np.reshape(solution.zeta, (-1, 1))
    learned = (m * e.kappa0 + zeta * e.k * e.kappa1).sum(0)
    moment = e.weight[0] * np.polynomial.hermite_e.HermiteE.basis(degree)(e.k[0])
    return float(moment @ learned / (moment @ e.h[0]))


def threshold(
    activation: str | Function,
    degree: int,
    *,
    values: Sequence[float],
    alpha: float,
    beta: float,
    lam: float,
    width: float,
    share: float = 0.5,
) -> float:
    """The weak strength ``r`` from which a ``share`` of the target's part of an odd ``degree l >= 3`` is learned.

    ``kappa0`` of the value ``u`` is ``sum_l h_l (r u)^l He_l(k)/l!``, ``h_l = E σ^(l)``. Overlaps ``m_j`` in which
    lower odd powers cancel learn degree ``l`` at the cost ``m_j^2/(p V_2j)``, and the share is ``x/(1 + x)`` with

    ``x = p V_2 alpha/beta / (1 + V) h_l^2 r^(2 l)/l! D_l``

    at ``V``, ``V_2`` of ``r = 0``, and ``D_l`` the squared distance of ``u^l`` to the span of ``u, u^3, ..., u^(l-2)``
    in the mean over the neurons. One value has ``D_l = 0``: then ``r`` is infinite.

    Source: the limit of small ``r`` of :func:`solve_readout_values` with its finite-width rule, derived here.
    """
    activation = function(activation, "activation")
    needs_odd(activation)
    needs_ratios(alpha=alpha, beta=beta, lam=lam, width=width)
    validate.between(1e-6, 1 - 1e-6, share=share)
    if degree not in range(3, 30, 2):
        raise InputError(f"degree must be an odd number from 3 to 29, got {degree!r}")
    bulk = ridge_theory.solve(activation, "identity", alpha=alpha, beta=beta, lam=lam, r=0.0)
    _, kappa1, kappa2 = (float(part[0]) for part in feature_moments(activation, np.zeros(1), 1.0))
    gain = alpha / beta / (1 + kappa1**2 * bulk.V1 + kappa2 * bulk.V2)
    u = np.asarray(values, float)
    basis = np.polynomial.hermite_e.HermiteE.basis(degree)
    lower_powers = u[:, None] ** np.arange(1, degree, 2)
    projection = lower_powers @ np.linalg.lstsq(lower_powers, u**degree, rcond=None)[0]
    distance = np.mean((u**degree - projection) ** 2)  # D_l
    h = gaussian.expect(lambda z: basis(z) * activation.array(z), breaks=activation.breaks)
    unit = width * float(bulk.V2) * gain * h**2 / math.factorial(degree) * distance
    if distance <= 1e-24 * np.mean(u ** (2 * degree)):
        return math.inf
    return float((share / (1 - share) / unit) ** (1 / (2 * degree)))
