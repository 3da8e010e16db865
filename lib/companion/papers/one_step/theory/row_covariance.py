r"""The network's own asymptotics: effects that spiked random features leave out, given the samples of the step.

Two effects are of order one and do not vanish at large ``d``:

* *rows*: given the first batch ``(x0, y0)`` the bulk rows have covariance ``C/d``,
  ``C = I + step^2 h1_check d/n0^2 x0^T diag(y0^2) x0``, largest along the spike, instead of ``c I/d``;
* *norms*: ``|w_i|^2 - c`` is of order ``d^(-1/2)`` but multiplies the function ``dkappa0/dc`` along a direction of
  order one in the space of neurons, the same order as the retained ``k kappa1 W_b v``.

The solver works with deterministic equivalents of the resolvent of ``W_b W_b^T``; nothing but the first batch is drawn.
"""

import functools
from dataclasses import dataclass

import numpy as np

from companion.papers.one_step.theory import saddle_point
from companion.papers.one_step.theory.conditional_map import Channel, channel, equivalent, slope_in_c
from companion.papers.one_step.theory.functions import Function, derivative, function, hermite, needs_step
from companion.papers.one_step.theory.ridge_theory import FINITE, needs_ratios
from companion.papers.one_step.theory.saddle_point import Solution
from regimes import gaussian, validate
from regimes.validate import InputError

_channel = functools.lru_cache(maxsize=8)(channel)  # several theories are asked for one batch


@dataclass(frozen=True)
class Bulk:
    """The bulk as the readout needs it: eigenvalues, and the directions along which the features have a mean.

    Attributes:
        eigenvalues: of ``(1 - v v^T) C (1 - v v^T)``, ``(d,)``.
        inside: the directions' components in the row space, in that eigenbasis, ``(d, J)``.
        outside: covariance of what is independent of the rows, ``(J, J)``.
        beta: ``p/d``.
    """

    eigenvalues: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    beta: float

    def functionals(self, B: float, s: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """``(V1, V2)``, minus its Jacobian ``P``, the overlaps ``G``, minus its derivatives by ``B`` and ``s``."""
        e, beta = self.eigenvalues, self.beta
        g = self._trace(B, s)
        t = 1 / (1 + beta * B * g * e)
        first = np.mean(e * t**2)
        second = np.mean((e * t) ** 2)
        slope = g / (s + B * first)  # -dg/ds
        P = np.array([[slope * first**2 + beta * g**2 * second, slope * first], [slope * first, slope]])

        def form(weights: np.ndarray) -> np.ndarray:
            return self.inside.T @ (weights[:, None] * self.inside)

        grown = form(beta * e * t**2) + beta * self.outside  # dG/dg
        V = np.array([g * np.mean(e * t), g])
        G = form(beta * g * e * t) + beta * g * self.outside
        G_by_B = slope * first * grown + form((beta * g * e * t) ** 2)
        G_by_s = slope * grown
        return V, P, G, G_by_B, G_by_s

    def _trace(self, B: float, s: float) -> float:
        """``V2 = g``: the root of ``g (s + B mean(e / (1 + beta B g e))) = 1``, by Newton from below."""
        e, beta = self.eigenvalues, self.beta
        g = 1 / (s + B * np.mean(e))
        for _ in range(200):
            x = beta * B * g * e
            move = (1 - s * g - np.mean(x / (1 + x)) / beta) / (s + B * np.mean(e / (1 + x) ** 2))
            g += move
            if abs(move) <= 1e-14 * g:
                break
        return g


def predict_network(
    activation: str | Function,
    target: str | Function,
    *,
    x0: np.ndarray,
    y0: np.ndarray,
    theta: np.ndarray,
    step: float,
    alpha: float,
    beta: float,
    lam: float,
    rows: bool = True,
    norms: bool = True,
) -> Solution:
    """Errors of the network after one step on the first batch ``(x0, y0)`` and ridge regression of the readout.

    Args:
        activation: odd and smooth.
        target: function of ``theta·x``.
        x0: ``(n0, d)``.
        y0: ``(n0,)``.
        theta: ``(d,)``, unit norm.
        step: ``eta / p``.
        alpha: samples of the second batch over ``d``.
        beta: width over ``d``; the finite-width rule uses ``p = beta d``.
        lam: ridge penalty.
        rows: keep the covariance of the rows; else ``C = c I``.
        norms: keep the fluctuations of the rows' norms; with neither this is the spiked random features at the
            batch's own ``c``, ``r``, ``gamma``.

    Source: Sec. 3.1 of paper E names the approximation; this correction is ours.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_step(activation)
    needs_ratios(alpha=alpha, beta=beta, lam=lam, step=step)
    validate.arrays(x0=("n0 d", x0), y0=("n0", y0), theta=("d", theta))
    if abs(np.linalg.norm(theta) - 1) > 1e-9:
        raise InputError(f"theta must have unit norm, got {np.linalg.norm(theta):.6g}")
    n0, d = x0.shape
    h = hermite(activation, target)
    spike = step * h.h1 / n0 * (y0 @ x0)
    r = float(np.linalg.norm(spike))
    if not r > 0:
        raise InputError("the first batch leaves no spike: its labels do not correlate with its inputs")
    v = spike / r
    gamma = float(np.clip(theta @ v, -1, 1))
    covariance = np.eye(d) + step**2 * h.h1_check * d / n0**2 * (x0.T * y0**2) @ x0
    c = float(np.trace(covariance) / d)
    extra = _norms(activation, h.h1, h.h3, r, step, x0, y0) if norms else (0.0, 0.0, np.zeros(d))
    bulk = _bulk(covariance if rows else c * np.eye(d), v, theta, gamma, beta, extra)
    e = _channel(activation, target, r=r, c=c, gamma=gamma)
    return _solve(activation, bulk, e, r=r, c=c, ratio=alpha / beta, lam=lam, p=beta * d)


def predict_features(
    activation: str | Function,
    target: str | Function,
    *,
    r: float,
    c: float,
    gamma: float,
    alpha: float,
    beta: float,
    lam: float,
    spread: float = 0.0,
    along: float = 0.0,
    width: float = np.inf,
) -> Solution:
    """Spiked random features whose rows' squared norms fluctuate, by ``along w·v`` and the variance ``spread/d``.

    Without either it is Result 3.3; Gaussian rows ``N(0, c I/d)`` have ``spread = 2 c^2``.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_ratios(alpha=alpha, beta=beta, lam=lam, width=width)
    validate.between(0, 1e50, spread=spread)
    e = _channel(activation, target, r=r, c=c, gamma=gamma)
    outside = np.diag([0.0, spread, 0.0]) + c * np.outer([1.0, along, 0.0], [1.0, along, 0.0])
    bulk = Bulk(np.array([c]), np.array([[0.0, 0.0, 1.0]]), outside, beta)
    return _solve(activation, bulk, e, r=r, c=c, ratio=alpha / beta, lam=lam, p=min(width, FINITE))


def predict_infinite_batch(
    activation: str | Function,
    target: str | Function,
    *,
    step: float,
    alpha: float,
    beta: float,
    lam: float,
    width: float = np.inf,
    norms: bool = True,
) -> Solution:
    """The network after a step on infinitely many samples: ``c = gamma = 1``, and yet not spiked features.

    The rows' norms are ``|w_i|^2 = 1 + 2 h3/h1 r w0_i·v``, so that ``dkappa0/dc`` joins ``k kappa1`` along ``W_0 v``.
    Without ``norms`` this is Result 3.3 at ``alpha0 = inf``.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    s = equivalent(activation, target, alpha0=np.inf, step=step)
    h = hermite(activation, target)
    along = 2 * h.h3 / h.h1 * s.r if norms else 0.0
    return predict_features(
        activation, target, r=s.r, c=s.c, gamma=s.gamma, alpha=alpha, beta=beta, lam=lam, along=along, width=width
    )


def _bulk(covariance: np.ndarray, v: np.ndarray, theta: np.ndarray, gamma: float, beta: float, extra: tuple) -> Bulk:
    """Directions: ``W_b v``, the norms ``|w|^2 - c``, ``W_b theta_perp``."""
    across = theta - gamma * v
    across = across / max(np.linalg.norm(across), 1e-300)
    project = np.eye(len(v)) - np.outer(v, v)
    values, vectors = np.linalg.eigh(project @ covariance @ project)
    positive = values > 1e-10 * values[-1]  # the spike direction itself is projected out
    along, spread, skew = extra
    # d times the covariance of each direction with the rows, in the eigenbasis
    with_rows = vectors.T @ project @ np.stack([covariance @ v, skew, covariance @ across], axis=1)
    inside = np.where(positive[:, None], with_rows / np.where(positive, values, 1.0)[:, None], 0.0)
    total = np.zeros((3, 3))
    total[0, 0] = v @ covariance @ v
    total[1, 1] = along**2 + spread
    total[0, 1] = total[1, 0] = along + skew @ v
    explained = inside.T @ (values[:, None] * inside)
    outside = total - explained
    outside[2, :] = outside[:, 2] = 0.0  # the target's direction lies in the row space
    return Bulk(np.where(positive, values, 0.0), inside, outside, beta)


def _norms(
    activation: Function, h1: float, h3: float, r: float, step: float, x0: np.ndarray, y0: np.ndarray
) -> tuple[float, float, np.ndarray]:
    """Fluctuation of the rows' squared norms, in units of ``d^(-1/2)``.

    Returns:
        The coefficient of ``w0·v``, the variance of the independent part, and ``d`` times the covariance of that part
        with the rows ``(d,)``. With ``t = σ' - h1``: the first from ``E[z t]' = h3``; the others from the non-linear
        part of ``z t`` and from ``|Delta|^2``, diagonal and off-diagonal.
    """
    n0, d = x0.shape
    zt, second, third, fourth = _slope_moments(activation, h1)
    alpha0 = n0 / d
    y2 = np.mean(y0**2)
    y4 = np.mean(y0**4)
    along = 2 * h3 / h1 * r
    variance = 4 * step**2 * y2 / alpha0 * (zt - h3**2)
    variance += step**4 / alpha0**3 * y4 * (fourth - second**2) + 2 * (step**2 * y2 * second / alpha0) ** 2
    with_rows = step**3 * d**2 / n0**3 * third * (y0**3 @ x0)
    return along, float(variance), with_rows


@functools.lru_cache(maxsize=16)
def _slope_moments(activation: Function, h1: float) -> tuple[float, float, float, float]:
    """``E (z t)^2``, ``E t^2``, ``E t^3``, ``E t^4`` of ``t = σ'(z) - h1``."""
    z, w = gaussian.trapezoid(400)
    t = derivative(activation)(z) - h1
    return tuple(float(w @ f) for f in ((z * t) ** 2, t**2, t**3, t**4))


def _solve(
    activation: Function, bulk: Bulk, e: Channel, *, r: float, c: float, ratio: float, lam: float, p: float
) -> Solution:
    """The stages with the directions of all ones, ``W_b v``, the norms and ``W_b theta_perp``."""

    def functionals(hats: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        V, P, *_ = bulk.functionals(hats[0, 0], lam + hats[0, 1])
        return V[None], P[None]

    def stiffness(hats: np.ndarray, V: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        forms = np.zeros((3, 4, 4))  # G, and minus its derivatives; all ones lie outside the rows, with norm^2 = p
        forms[:, 0, 0] = p * np.array([V[0, 1], *P[0, 1]])
        forms[:, 1:, 1:] = bulk.functionals(hats[0, 0], lam + hats[0, 1])[2:]
        return forms[:1], forms[None, 1:]

    none = np.zeros_like(e.k)
    test, train, overlap, q, V, steps = saddle_point.solve_overlaps(
        e,
        functionals,
        stiffness,
        squares=e.squares,
        flat=np.stack([e.kappa0, e.k * e.kappa1, slope_in_c(activation, r * e.k, c), none], axis=1),
        tilted=np.stack([none, none, none, e.kappa1], axis=1),
        ratio=np.array([ratio]),
        start=np.array([[np.mean(bulk.eigenvalues), 1.0]]) / lam,
        setting={"beta": np.array([bulk.beta]), "lam": np.array([lam])},
    )
    return Solution(test[0], train[0], *overlap[0, [0, 1, 3]], *q[0], *V[0], steps[0])
