r"""One gradient step whose samples serve the readout as well: a training point's features hold its own label.

The step moves row ``i`` along each of its samples, ``w_i = ... + step/n0 y σ'(w0_i·x) x``. At that sample itself
``|x|^2/n0 = 1/alpha``, and the row's argument holds ``step/alpha y σ'(w0_i·x)`` in addition: the label *leaks* into its
own feature. The rest of the row is independent of the sample. So a training point has the features
``σ(r k + z + δ + step/alpha y σ'(z))`` and a fresh point ``σ(r k + z + δ)``. Here ``k`` is the projection on the spike
of the *other* samples, ``z = w0_i·x``, and ``δ`` the noise of the bulk. The saddle point keeps its three stages, with
the moments of training points in them and those of fresh points in the test error.

The spike is these samples' own correlation with their labels. So across it their inputs have none,
``X_perp^T y = 0``. Of the directions in the space of samples that the readout fits along the rest of the rows, that of
the labels is *spent*. For a resolvent one direction is nothing; for the labels it is all that is linear. With ``V`` as
before, residuals respond to ``1 + V(k)`` less the rank-one matrix of ``kappa1 y``: the second stage gets a direction
with the mean ``kappa1 y`` on the samples, none at fresh points, and the stiffness ``-V1/(alpha/beta E y^2)``. With the
spike of other samples there is no such direction.

As in Result 3.3 the rows of the bulk are isotropic, of one norm, and but for the spike independent of the samples.
"""

import numpy as np

from companion.papers.one_step.theory import saddle_point
from companion.papers.one_step.theory.conditional_map import Channel, equivalent
from companion.papers.one_step.theory.functions import Function, derivative, function, needs_step
from companion.papers.one_step.theory.ridge_theory import FINITE, needs_ratios
from companion.papers.one_step.theory.saddle_point import Solution
from regimes import gaussian, validate
from regimes.validate import InputError

_KINDS = 4  # squares: of initial rows, of these with the noise, of the noise, of the rest
_LEAST = 1e-15  # weight of a node that counts
_INNER = 40, 24  # nodes over z and over the noise
_CHUNK = 2_000_000  # elements of one temporary


def predict_reuse(
    activation: str | Function,
    target: str | Function,
    *,
    alpha: float,
    step: float,
    beta: float,
    lam: float,
    leak: float = 1.0,
    spent: bool = False,
    width: float = np.inf,
) -> Solution:
    """Errors of the network whose step and whose readout take the *same* ``alpha d`` samples.

    Args:
        activation: odd and smooth.
        target: function of ``theta·x``.
        alpha: samples over dimension, of the step and of the readout.
        step: ``eta / p``.
        beta: width over dimension.
        lam: ridge penalty.
        leak: share of the label in its own feature; 0 gives Result 3.3 with fresh samples for the readout.
        spent: whether the spike is that of the samples themselves; else it is that of as many other samples.
        width: number of neurons ``p`` for the finite-width rule; infinite for the limit.

    Source: Result 3.3 of paper E, with the leak and the spent correlation derived here.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_step(activation)
    needs_ratios(alpha=alpha, beta=beta, lam=lam, step=step, width=width)
    validate.between(0, 1, leak=leak)
    if activation.breaks:
        raise InputError(f"activation must be smooth, got {activation.name}")
    s = equivalent(activation, target, alpha0=alpha, step=step)
    across, noise = float(np.sqrt(max(0.0, 1 - s.gamma**2))), np.sqrt(s.c - 1)
    weight, k, aside, y = _points(target, s.r, s.gamma, across)
    size = float(weight @ y**2)
    own = spent * y / np.sqrt(alpha * size)  # what a sample adds to its projection on the spike
    trained = _leaky_moments(activation, s.r * k, noise, leak * step / alpha * y)
    tested = _leaky_moments(activation, s.r * k, noise, np.zeros_like(k))
    flat, squares = _functions(trained, k + across * own, aside - s.gamma * own, y * (own != 0))
    mean, initial, _, variance = trained
    train = Channel(
        k=k[None],
        weight=weight[None],
        kappa0=mean[None],
        kappa1=initial[None],
        kappa2=variance[None],
        h=y[None],
        h_s=0 * y[None],
        h2=y[None] ** 2,
    )
    return _of_both_bulks(
        noise,
        *saddle_point.solve_overlaps(
            train,
            lambda hats, _: tuple(part[None] for part in _two_bulks(hats[0], lam, beta)),
            saddle_point.linear(_stiffness(width, beta, -beta / alpha / size if spent else 0.0)),
            squares=squares,
            flat=flat,
            tilted=np.zeros_like(flat),
            ratio=np.array([alpha / beta]),
            start=np.array([[1.0, 0.0, 1.0, 1.0]]) / lam,
            setting={"alpha": np.array([alpha]), "step": np.array([step]), "lam": np.array([lam])},
            test_functions=_functions(tested, k, aside, np.zeros_like(k)),
        ),
    )


def _points(target: Function, r: float, gamma: float, across: float) -> tuple[np.ndarray, ...]:
    """Weights, projections on the spike and on ``theta_perp``, and labels, of nodes over ``theta·x`` and across it."""
    t_nodes, t_weights = gaussian.rule(target.breaks, step=1 / max(1.0, r * gamma))
    u_nodes, u_weights = gaussian.trapezoid(2 * max(20, int(17 * r * across) + 1))
    weight = np.outer(t_weights, u_weights).ravel()
    counts = weight > _LEAST
    t = np.repeat(t_nodes, len(u_nodes))[counts]
    u = np.tile(u_nodes, len(t_nodes))[counts]
    return weight[counts], gamma * t + across * u, across * t - gamma * u, target.array(t)


def _functions(
    kappa: tuple[np.ndarray, ...], along: np.ndarray, aside: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means along the directions ``(1, 7, K)``, and squares ``(1, 4, K)``.

    Directions: all ones; ``W_0 v``, noise along ``v``; both along ``theta_perp``; both along the spent correlation.
    """
    mean, initial, noisy, variance = kappa
    bulks = [factor * part for factor in (along, aside, labels) for part in (initial, noisy)]
    return np.stack([mean, *bulks])[None], np.stack([initial**2, 2 * initial * noisy, noisy**2, variance])[None]


def _stiffness(width: float, beta: float, spent: float) -> np.ndarray:
    """What the directions cost, by the ``V`` of each square: ``(1, 7, 7, 4)``; ``spent`` that of the labels'."""
    stiffness = np.zeros((1, 7, 7, _KINDS))
    stiffness[0, range(5), range(5), -1] = min(width, FINITE), beta, beta, beta, beta
    stiffness[0, [5, 5, 6, 6], [5, 6, 5, 6], [0, 1, 1, 2]] = spent
    return stiffness


def _of_both_bulks(
    noise: float,
    test: np.ndarray,
    train: np.ndarray,
    overlap: np.ndarray,
    q: np.ndarray,
    V: np.ndarray,
    steps: np.ndarray,
) -> Solution:
    """The solution, whose bulk is the initial rows plus ``noise`` times independent ones: sums over both."""
    m, zeta_initial, zeta_noise, psi_initial, psi_noise = overlap[0, :5]
    zeta = zeta_initial + noise * zeta_noise
    psi = psi_initial + noise * psi_noise
    both_bulks = np.array([1.0, 2 * noise, noise**2])
    q1 = both_bulks @ q[0, :3] + psi**2
    V1 = both_bulks @ V[0, :3]
    return Solution(test[0], train[0], m, zeta, psi, q1, q[0, 3], V1, V[0, 3], steps[0])


def _leaky_moments(activation: Function, shift: np.ndarray, noise: float, leak: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean of ``g = σ(shift + z + noise n + leak σ'(z))``, ``E z g``, ``E n g``, what else varies: ``(K,)``."""
    (z, wz), (n, wn) = (gaussian.trapezoid(count) for count in _INNER)
    slope = derivative(activation)(z)
    weights = np.stack([np.outer(a, b).ravel() for a, b in ((wz, wn), (wz * z, wn), (wz, wn * n))], axis=1)
    size = max(1, _CHUNK // len(weights))
    parts = []
    for i in range(0, len(shift), size):
        inner = shift[i : i + size, None] + z + leak[i : i + size, None] * slope
        g = activation.array((inner[:, :, None] + noise * n).reshape(len(inner), -1))
        parts.append(np.concatenate([g @ weights, (g * g) @ weights[:, :1]], axis=1))
    mean, initial, noisy, second = np.concatenate(parts).T
    return mean, initial, noisy, np.maximum(second - mean**2 - initial**2 - noisy**2, 0.0)


def _two_bulks(hats: np.ndarray, lam: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """``V`` and minus its Jacobian for ``S = lam + h_3 + sum M_ij W_i W_j^T`` of two independent bulks of unit rows.

    With ``M = [[h_0, h_1/2], [h_1/2, h_2]]`` and ``R = (1 + beta g M)^-1``: ``V_ij = g R_ij`` and ``V_3 = g``, where
    ``1/g = lam + h_3 + tr M R``.
    """
    M = np.array([[hats[0], hats[1] / 2], [hats[1] / 2, hats[2]]])
    s = lam + hats[3]
    eye = np.eye(2)
    load = np.maximum(np.linalg.eigvalsh(M), 0.0)
    g = 1 / (s + load.sum())
    for _ in range(200):  # from below, where the concave function's root is met by Newton's method
        x = beta * g * load
        move = (1 - s * g - (x / (1 + x)).sum() / beta) / (s + (load / (1 + x) ** 2).sum())
        g += move
        if abs(move) <= 1e-15 * g:
            break
    R = np.linalg.inv(eye + beta * g * M)
    width = 1 / g**2 - beta * np.trace(M @ R @ M @ R)
    basis = [np.diag([1.0, 0.0]), np.array([[0.0, 0.5], [0.5, 0.0]]), np.diag([0.0, 1.0]), np.zeros((2, 2))]
    columns = []
    for number, dM in enumerate(basis):
        dg = -(float(number == _KINDS - 1) + np.trace(R @ R @ dM)) / width
        dV = dg * R - beta * g * R @ (dg * M + g * dM) @ R
        columns.append([dV[0, 0], dV[0, 1], dV[1, 1], dg])
    V = g * R
    return np.array([V[0, 0], V[0, 1], V[1, 1], g]), -np.array(columns).T
