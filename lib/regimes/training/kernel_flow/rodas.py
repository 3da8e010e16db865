r"""Linearly implicit steps of the flow of a frozen kernel, solved for the points near the margin alone.

``da/dt = q(m)``, ``m = Q a``, has the Jacobian ``-D Q`` with ``D = diag l''``, so that only points whose force changes
enter. With the other forces held, these *active* points are a system of their own. Each of the six stages solves

``(I + γ h Q D) u = h (γ Q r + ω v)``,   ``w = γ h (r - D u)``,

for the increments ``u`` of the margins and ``w + h ω q`` of the integrals, ``r`` being what the force differs from
``q``, that of the start, and the stages before; ``v = Q q``, and ``ω`` is the stage's share of a constant force. The
matrix is similar to the symmetric ``I + γ h √D Q √D``, one Cholesky factor of which serves all stages: with ``s``
active points ``s³/3 + O(s²)`` multiplications a step.

Source: the method is RODAS of order 4(3), L-stable, of Hairer and Wanner, Solving Ordinary Differential Equations II,
2nd ed. (1996), Sec. VI.4; the reduction to the active points is ours.
"""

from collections.abc import Callable

import numpy as np
import torch
from scipy.linalg.blas import dsymv
from torch.linalg import cholesky_ex, solve_triangular

from regimes.models.losses import Loss

ORDER = 4
GAMMA = 0.25
FLAT = 1e-12  # least ``γ h l'' Q_ii`` of an active point: its increment comes from a division by ``√l''``
# fmt: off
A = np.array([  # where the stages look, and where the step ends: parts of the stages' increments
    (0, 0, 0, 0, 0, 0),
    (1.544, 0, 0, 0, 0, 0),
    (0.9466785280815826, 0.2557011698983284, 0, 0, 0, 0),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817, 0, 0, 0),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 0, 0),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1, 0),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1, 1),
])
C = GAMMA * np.array([  # what the increments before add to the force of a stage
    (0, 0, 0, 0, 0, 0),
    (-5.6688, 0, 0, 0, 0, 0),
    (-2.430093356833875, -0.2063599157091915, 0, 0, 0, 0),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0, 0, 0),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616, 0, 0),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054, 0),
])
# fmt: on
SHARES = np.linalg.solve(np.eye(6) - C, np.full(6, GAMMA))  # of a constant force in the stages: ``ω``


def step(
    near: np.ndarray, loss: Loss, m: np.ndarray, v: np.ndarray, q: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of length ``h``, the forces on all but the active points being held.

    Args:
        near: ``Q`` among the active points ``(s, s)``.
        loss: a smooth loss.
        m: their margins ``(s,)``.
        v: their velocities ``Q q (s,)``.
        q: the forces on them ``(s,)``.
        h: time, ``> 0``.

    Returns:
        ``∫ (q - q(0)) dt`` over the step on the active points ``(s,)``, and the estimate of its error ``(s,)``;
        infinite where round-off leaves the matrix without a Cholesky factor.
    """
    D = np.maximum(of(loss.curvature, m), FLAT / (GAMMA * h * near.diagonal()))
    root = np.sqrt(D)
    lower, failed = _factor(near, root, h)
    if failed:
        return np.zeros_like(m), np.full_like(m, np.inf)
    upper = lower.mT
    scale, constant = GAMMA * h * root, SHARES[:, None] * (h * root * v)
    u, w = np.zeros((6, len(m))), np.zeros((6, len(m)))  # w in units of γ h
    for i in range(6):
        r = C[i, :i] @ w[:i] - of(loss.slope, m + A[i, :i] @ u[:i]) - q
        b = torch.from_numpy(constant[i] + scale * dsymv(1.0, near.T, r))[:, None]
        x = solve_triangular(upper, solve_triangular(lower, b, upper=False), upper=True)
        u[i] = x.numpy()[:, 0] / root
        w[i] = r - D * u[i]
    return GAMMA * h * (A[6] @ w), GAMMA * h * w[5]


def _factor(near: np.ndarray, root: np.ndarray, h: float) -> tuple[torch.Tensor, int]:
    matrix = near * (GAMMA * h * root)
    matrix *= root[:, None]
    matrix.ravel()[:: len(root) + 1] += 1
    lower, failed = cholesky_ex(torch.from_numpy(matrix))
    return lower, int(failed)


def of(function: Callable[[torch.Tensor], torch.Tensor], m: np.ndarray) -> np.ndarray:
    """A function of tensors at an array."""
    return function(torch.from_numpy(m)).numpy()
