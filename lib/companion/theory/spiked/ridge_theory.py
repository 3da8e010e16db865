"""Result 3.3 for ridge regression: the saddle point of spiked random features, solved as the triangle it is.

``alpha = n/d``, ``beta = p/d``; the readout minimises ``sum_mu (y - a·φ/sqrt(p))^2 + lam |a|^2`` (a sum, no ``1/n``).
Three steps: a two-dimensional fixed point for ``(V1, V2)`` by a monotone Newton iteration, a linear system for the
overlaps ``(m, zeta)``, a linear system for the norms ``(q1, q2)``. The matrix of the last one is the Jacobian of the
first, so that it comes for nothing. Everything is vectorised over settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from companion.theory.spiked import triangle
from companion.theory.spiked.conditional_map import Channel, channel, stack
from companion.theory.spiked.functions import Function, function, odd
from companion.theory.spiked.triangle import NotConverged
from regimes import validate
from regimes.validate import InputError

_TOLERANCE = 1e-12  # relative residual of (V1, V2) at which the iteration ends
_ITERATIONS = 500
_BATCH = 500  # settings solved together: bounds the memory and stays near the cache


@dataclass(frozen=True)
class Solution:
    """Order parameters of the trained readout and its errors; every array has the settings' common shape.

    Attributes:
        test_error: ``E (σ*(theta·x) - f(x))^2`` against the clean target.
        train_error: mean squared residual on the training set, without the penalty.
        m: ``1·a / sqrt(p)``.
        zeta: ``a·W_b v / sqrt(p)``.
        psi: ``a·W_b theta_perp / sqrt(p)``.
        q1: ``a·Omega a / p``, ``Omega = W_b (1 - v v^T) W_b^T``.
        q2: ``|a|^2 / p``.
        V1: ``tr(Omega S^-1) / p``.
        V2: ``tr(S^-1) / p``, ``S = lam + V2_hat + V1_hat Omega``.
        iterations: Newton steps taken.

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


@dataclass(frozen=True)
class Bulk:
    """Marchenko–Pastur functionals of ``S = s + B D``: ``V1 = E D/S``, ``V2 = E 1/S`` and minus their derivatives.

    ``D = c D_0`` with the limiting spectrum of ``W_0 W_0^T`` (``p x p``, rows of unit norm, ``p/d = beta``);
    ``P = [[E D^2/S^2, E D/S^2], [E D/S^2, E 1/S^2]]``. The root of ``1/g = s + c B / (1 + beta c B g)`` is taken in the
    form without cancellation.
    """

    V1: np.ndarray
    V2: np.ndarray
    P: np.ndarray

    @classmethod
    def at(cls, B: np.ndarray, s: np.ndarray, c: np.ndarray, beta: np.ndarray) -> "Bulk":
        """The functionals at ``B = V1_hat``, ``s = lam + V2_hat``; all arrays ``(n,)``."""
        load = c * B
        b = load * (1 - beta) + s
        disc = np.sqrt(b**2 + 4 * beta * load * s)
        with np.errstate(divide="ignore", invalid="ignore"):
            g = np.where(b > 0, 2 / (b + disc), (disc - b) / (2 * beta * load * s))
        u = 1 + beta * load * g
        w = 1 / g**2 - beta * load**2 / u**2
        cross = c / (u**2 * w)
        P = np.stack([cross * c / u**2 + beta * (c * g / u) ** 2, cross, cross, 1 / w], axis=-1)
        return cls(c * g / u, g, P.reshape(*np.shape(g), 2, 2))


def solve(
    activation: str | Function,
    target: str | Function,
    *,
    alpha: float,
    beta: float,
    lam: float,
    r: float,
    c: float = 1.0,
    gamma: float = 1.0,
    noise: float = 0.0,
    bias: float | None = None,
    width: float = np.inf,
) -> Solution:
    """Errors and overlaps of ridge regression on spiked random features, for arrays of settings.

    Args:
        activation: applied to ``W x`` (plus the bias).
        target: function of ``theta·x``.
        alpha: samples over dimension, ``> 0``.
        beta: width over dimension, ``> 0``.
        lam: ridge penalty, ``> 0``; 1e-6 stands for the ridgeless limit.
        r: spike strength.
        c: bulk variance.
        gamma: cosine between spike and target.
        noise: variance of the label noise.
        bias: uniform bias of the features; a number allows activations that are not odd.
        width: number of neurons ``p`` for the finite-width rule; infinite for the limit.

    Every number may be an array; they broadcast.

    Raises:
        InputError: for a parameter that makes no sense.
        NotConverged: with the state, if a saddle point was not found.

    Source: paper E, Eqs. 17–25 (App. C.8 for noise and bias); the finite-width rule is ours.
    """
    activation, target = function(activation, "activation"), function(target, "target")
    odd(activation, bias)
    names = ("alpha", "beta", "lam", "r", "c", "gamma", "noise", "bias", "width")
    numbers = (alpha, beta, lam, r, c, gamma, noise, 0.0 if bias is None else bias, width)
    given = _settings(names, numbers)
    flat = {name: array.reshape(-1) for name, array in zip(names, given)}
    needs_ratios(flat)
    maps, which = _channels(activation, target, flat)
    parts = []
    for start in range(0, given[0].size, _BATCH):
        rows = slice(start, start + _BATCH)
        piece = {name: flat[name][rows] for name in ("alpha", "beta", "lam", "c", "width", "noise")}
        parts.append(saddle_point(maps.take(which[rows]), **piece))
    fields = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Solution.__dataclass_fields__}
    return Solution(**{name: values.reshape(given[0].shape)[()] for name, values in fields.items()})


def _settings(names: tuple[str, ...], numbers: tuple) -> list[np.ndarray]:
    """The numbers as arrays of one shape; one line for what is no number, or shapes that do not fit."""
    try:
        given = np.broadcast_arrays(*(np.asarray(number, float) for number in numbers))
    except (TypeError, ValueError) as error:
        raise InputError(f"{', '.join(names)} must be numbers, or arrays that broadcast: {error}") from None
    if not given[0].size:
        raise InputError(f"{', '.join(names)} must hold at least one setting, got an empty array")
    return given


def needs_ratios(given: Mapping[str, Any]) -> None:
    """Raises ``InputError`` for ``alpha``, ``beta``, ``lam`` outside ``[1e-50, 1e50]`` or a ``width`` not above 0.

    Beyond, products of the order parameters leave float64.
    """
    for name in ("alpha", "beta", "lam"):
        for value in np.unique(given[name]) if isinstance(given[name], np.ndarray) else [given[name]]:
            validate.positive(**{name: value})
            validate.between(1e-50, 1e50, **{name: value})
    if not (isinstance(given["width"], np.ndarray) or validate.is_number(given["width"]) or given["width"] == np.inf):
        raise InputError(f"width must be above 0, or infinite for the limit, got {given['width']!r}")
    if not np.all((given["width"] == np.inf) | ((1e-3 <= given["width"]) & (given["width"] <= 1e50))):
        raise InputError(f"width must be a number of neurons, or infinite for the limit, got {given['width']!r}")


def _channels(activation: Function, target: Function, flat: dict[str, np.ndarray]) -> tuple[Channel, np.ndarray]:
    """One conditional map for each distinct ``(r, c, gamma, noise, bias)``, and which setting uses which."""
    names = ("r", "c", "gamma", "noise", "bias")
    distinct, which = np.unique(np.stack([flat[name] for name in names], axis=1), axis=0, return_inverse=True)
    maps = [channel(activation, target, **dict(zip(names, map(float, row)))) for row in distinct]
    return stack(maps), which.reshape(-1)


def saddle_point(
    e: Channel,
    *,
    alpha: np.ndarray,
    beta: np.ndarray,
    lam: np.ndarray,
    c: np.ndarray,
    width: np.ndarray,
    noise: np.ndarray,
) -> Solution:
    """The triangle of equations on given conditional maps; every array ``(B,)``, as the maps.

    Source: paper E, Eqs. 17-25.
    """
    V, iterations = variances(e, alpha=alpha, beta=beta, lam=lam, c=c)
    bulk, _, one = _step(e, V, alpha, beta, lam, c)
    m, zeta = _overlaps(e, one, bulk.V2, alpha, beta, c, width)
    ratio = alpha / beta
    C = e.kappa0 * m[:, None] + e.k * e.kappa1 * zeta[:, None]
    psi_hat = ratio * e.mean(e.kappa1 * e.h_s / one)
    psi = beta * bulk.V1 * psi_hat
    known = e.h2 - 2 * C * e.h + C**2 - 2 * e.kappa1 * psi[:, None] * e.h_s
    # along the directions: beta psi_hat^2, beta c zeta_hat^2, p m_hat^2
    spread = np.stack([beta * psi_hat**2, zeta**2 / (beta * c * bulk.V2**2) + m**2 / (width * bulk.V2**2)], axis=1)
    along = (bulk.P @ spread[..., None])[..., 0]
    q, test, train = triangle.norms(bulk.P, e.squares, e.weight, one, known, ratio, along)
    return Solution(test - noise, train, m, zeta, psi, q[:, 0], q[:, 1], V[:, 0], V[:, 1], iterations)


def _step(e: Channel, V: np.ndarray, alpha: np.ndarray, beta: np.ndarray, lam: np.ndarray, c: np.ndarray) -> tuple:
    """One pass ``V -> hats -> V``: the functionals there, the curvature ``A`` of the hats, and ``1 + V(k)``."""
    one = 1 + (V[..., None] * e.squares).sum(-2)
    B = triangle.hats(e.squares, e.weight, one, alpha / beta)
    A = triangle.curvature(e.squares, e.weight, one, alpha / beta)
    return Bulk.at(B[:, 0], lam + B[:, 1], c, beta), A, one


def variances(
    e: Channel, *, alpha: np.ndarray, beta: np.ndarray, lam: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The fixed point ``(V1, V2)``, array ``(B, 2)``, and the Newton steps each setting took.

    The map is increasing and starts above its fixed point, at ``(c, 1)/lam``; Newton's step is taken where it stays
    positive and below the plain one, the plain one elsewhere.

    Raises:
        NotConverged: with the state of the worst setting.
    """
    V = np.stack([c / lam, 1 / lam], axis=1)
    steps = np.zeros(len(V), dtype=int)
    active = np.arange(len(V))
    for _ in range(_ITERATIONS):
        part = e if len(active) == len(V) else e.take(active)
        now = V[active]
        bulk, A, _ = _step(part, now, alpha[active], beta[active], lam[active], c[active])
        plain = np.stack([bulk.V1, bulk.V2], axis=1)
        newton = now - np.linalg.solve(np.eye(2) - bulk.P @ A, (now - plain)[..., None])[..., 0]
        good = ((newton > 0) & np.isfinite(newton)).all(1, keepdims=True)
        V[active] = np.where(good, newton, plain)
        steps[active] += 1
        gap = np.abs(plain / now - 1).max(1)
        active = active[~(gap <= _TOLERANCE)]
        if not len(active):
            return V, steps
    i = active[0]
    raise NotConverged(
        f"saddle point not found after {_ITERATIONS} steps: alpha={alpha[i]:g}, beta={beta[i]:g}, lam={lam[i]:g}, "
        f"c={c[i]:g}, V1={V[i, 0]:g}, V2={V[i, 1]:g}, relative residual {gap.max():.1e}"
    )


def _overlaps(
    e: Channel, one: np.ndarray, V2: np.ndarray, alpha: np.ndarray, beta: np.ndarray, c: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """``(m, zeta)`` from their linear system; with a finite width the all-ones direction costs ``m / (p V2)``."""
    slope = e.k * e.kappa1
    a00 = e.mean(e.kappa0**2 / one) + beta / (alpha * width * V2)
    a01 = e.mean(e.kappa0 * slope / one)
    gain = alpha * c * V2
    a11 = 1 + gain * e.mean(slope**2 / one)
    b0, b1 = e.mean(e.kappa0 * e.h / one), gain * e.mean(slope * e.h / one)
    silent = a00 < 1e-24  # no spike: the mean of the features vanishes and m is not defined
    a00 = np.where(silent, 1.0, a00)
    a01, b0 = np.where(silent, 0.0, a01), np.where(silent, 0.0, b0)
    determinant = a00 * a11 - gain * a01**2
    return (b0 * a11 - a01 * b1) / determinant, (a00 * b1 - gain * a01 * b0) / determinant
