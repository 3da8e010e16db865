"""Result 3.3 for ridge regression: the saddle point of spiked random features, solved as the triangle it is.

``alpha = n/d``, ``beta = p/d``; the readout minimises ``sum_mu (y - a·φ/sqrt(p))^2 + lam |a|^2`` (a sum, no ``1/n``).
Three steps: a two-dimensional fixed point for ``(V1, V2)`` by a monotone Newton iteration, a linear system for the
overlaps ``(m, zeta)``, a linear system for the norms ``(q1, q2)``. The matrix of the last one is the Jacobian of the
first, so that it comes for nothing. Everything is vectorised over settings.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from companion.theory.spiked import triangle
from companion.theory.spiked.conditional_map import Channel, channel, stack
from companion.theory.spiked.functions import Function, function, odd
from companion.theory.spiked.triangle import Solution
from regimes import validate
from regimes.validate import InputError

ORDER_PARAMETERS = tuple(name for name in Solution.__dataclass_fields__ if name != "sign_error")
_BATCH = 500  # settings solved together: bounds the memory and stays near the cache


def marchenko_pastur(B: np.ndarray, s: np.ndarray, c: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The functionals of ``S = s + B D``: ``V = (E D/S, E 1/S) (..., 2)`` and minus its derivatives ``P (..., 2, 2)``.

    ``D = c D_0`` with the limiting spectrum of ``W_0 W_0^T`` (``p x p``, rows of unit norm, ``p/d = beta``);
    ``P = [[E D^2/S^2, E D/S^2], [E D/S^2, E 1/S^2]]``. The root of ``1/g = s + c B / (1 + beta c B g)`` is taken in the
    form without cancellation.
    """
    load = c * B
    b = load * (1 - beta) + s
    disc = np.sqrt(b**2 + 4 * beta * load * s)
    with np.errstate(divide="ignore", invalid="ignore"):
        g = np.where(b > 0, 2 / (b + disc), (disc - b) / (2 * beta * load * s))
    u = 1 + beta * load * g
    w = 1 / g**2 - beta * load**2 / u**2
    cross = c / (u**2 * w)
    P = np.stack([cross * c / u**2 + beta * (c * g / u) ** 2, cross, cross, 1 / w], axis=-1)
    return np.stack([c * g / u, g], axis=-1), P.reshape(*np.shape(g), 2, 2)


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
    found = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ORDER_PARAMETERS}
    return Solution(**{name: values.reshape(given[0].shape)[()] for name, values in found.items()})


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
    ratio = alpha / beta

    def functionals(hats: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return marchenko_pastur(hats[:, 0], lam[rows] + hats[:, 1], c[rows], beta[rows])

    start, setting = np.stack([c / lam, 1 / lam], axis=1), {"alpha": alpha, "beta": beta, "lam": lam, "c": c}
    V, one, steps = triangle.variances(functionals, e.squares, e.weight, ratio, start, setting)
    (V1, V2), P = V.T, functionals(triangle.hats(e.squares, e.weight, one, ratio), np.arange(len(V)))[1]
    m, zeta = _overlaps(e, one, V2, alpha, beta, c, width)
    C = e.kappa0 * m[:, None] + e.k * e.kappa1 * zeta[:, None]
    psi_hat = ratio * e.mean(e.kappa1 * e.h_s / one)
    psi = beta * V1 * psi_hat
    known = e.h2 - 2 * C * e.h + C**2 - 2 * e.kappa1 * psi[:, None] * e.h_s
    # along the directions: beta psi_hat^2, beta c zeta_hat^2, p m_hat^2
    spread = np.stack([beta * psi_hat**2, zeta**2 / (beta * c * V2**2) + m**2 / (width * V2**2)], axis=1)
    along = (P @ spread[..., None])[..., 0]
    q, test, train = triangle.readout_norms(P, e.squares, e.weight, one, known, ratio, along)
    return Solution(test - noise, train, m, zeta, psi, q[:, 0], q[:, 1], V1, V2, steps)


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
