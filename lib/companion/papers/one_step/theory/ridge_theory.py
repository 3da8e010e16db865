"""Result 3.3 for ridge regression: the saddle point of spiked random features, in stages, vectorised over settings.

``alpha = n/d``, ``beta = p/d``; the readout minimises ``sum_mu (y - a·φ/sqrt(p))^2 + lam |a|^2`` (a sum, no ``1/n``).
"""

import numpy as np

from companion.papers.one_step.theory import saddle_point
from companion.papers.one_step.theory.conditional_map import Channel, channel, stack
from companion.papers.one_step.theory.functions import Function, function, needs_odd
from companion.papers.one_step.theory.saddle_point import Solution
from regimes import validate
from regimes.validate import InputError

ORDER_PARAMETERS = tuple(name for name in Solution.__dataclass_fields__ if name != "sign_error")
FINITE = 1e50  # the width that stands for an infinite one
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

    Source: paper E, Eqs. 17–25 (App. C.8 for noise and bias); the finite-width rule is ours.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    if bias is None:
        needs_odd(activation)
    names = ("alpha", "beta", "lam", "r", "c", "gamma", "noise", "bias", "width")
    numbers = (alpha, beta, lam, r, c, gamma, noise, 0.0 if bias is None else bias, width)
    given = _settings(names, numbers)
    flat = {name: array.reshape(-1) for name, array in zip(names, given)}
    for extreme in (np.min, np.max):
        finite = extreme(flat["width"], initial=1.0, where=~np.isposinf(flat["width"]))
        needs_ratios(width=finite, **{name: extreme(flat[name]) for name in ("alpha", "beta", "lam")})
    maps, map_index = _channels(activation, target, flat)
    parts = []
    for start in range(0, given[0].size, _BATCH):
        rows = slice(start, start + _BATCH)
        piece = {name: flat[name][rows] for name in ("alpha", "beta", "lam", "c", "width", "noise")}
        parts.append(solve_channels(maps.take(map_index[rows]), **piece))
    shape = given[0].shape
    solved = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ORDER_PARAMETERS}
    return Solution(**{name: values.reshape(shape)[()] for name, values in solved.items()})


def _settings(names: tuple[str, ...], numbers: tuple) -> list[np.ndarray]:
    """The numbers as arrays of one shape; one line for what is no number, or shapes that do not fit."""
    try:
        given = np.broadcast_arrays(*(np.asarray(number, float) for number in numbers))
    except (TypeError, ValueError) as error:
        raise InputError(f"{', '.join(names)} must be numbers, or arrays that broadcast: {error}") from None
    if not given[0].size:
        raise InputError(f"{', '.join(names)} must hold at least one setting, got an empty array")
    return given


def needs_ratios(*, width: float = np.inf, **ratios: float) -> None:
    """Raises ``InputError`` for ratios that are no numbers in ``[1e-50, 1e50]``, or such a width below 1e-3.

    Beyond, products of the order parameters leave float64.
    """
    validate.positive(**ratios)
    validate.between(1e-50, 1e50, **ratios)
    if width != np.inf and not (validate.is_number(width) and 1e-3 <= width <= 1e50):
        raise InputError(f"width must be a number of neurons, or infinite for the limit, got {width!r}")


def _channels(activation: Function, target: Function, flat: dict[str, np.ndarray]) -> tuple[Channel, np.ndarray]:
    """One conditional map for each distinct ``(r, c, gamma, noise, bias)``, and the map's index of each setting."""
    names = ("r", "c", "gamma", "noise", "bias")
    settings = np.stack([flat[name] for name in names], axis=1)
    distinct, map_index = np.unique(settings, axis=0, return_inverse=True)
    maps = [channel(activation, target, **dict(zip(names, map(float, row)))) for row in distinct]
    return stack(maps), map_index.reshape(-1)


def solve_channels(
    e: Channel,
    *,
    alpha: np.ndarray,
    beta: np.ndarray,
    lam: np.ndarray,
    c: np.ndarray,
    width: np.ndarray,
    noise: np.ndarray,
) -> Solution:
    """The equations on given conditional maps; every array ``(B,)``, as the maps.

    Source: paper E, Eqs. 17-25.
    """

    def functionals(hats: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return marchenko_pastur(hats[:, 0], lam[rows] + hats[:, 1], c[rows], beta[rows])

    stiffness = np.zeros((len(alpha), 3, 3, 2))  # of all ones, W_b v and W_b theta_perp by V1 and V2
    stiffness[:, 0, 0, 1] = np.minimum(width, FINITE)
    stiffness[:, 1, 1, 1] = beta * c
    stiffness[:, 2, 2, 0] = beta
    none = np.zeros_like(e.k)
    test, train, overlap, q, V, steps = saddle_point.solve_overlaps(
        e,
        functionals,
        saddle_point.linear(stiffness),
        squares=e.squares,
        flat=np.stack([e.kappa0, e.k * e.kappa1, none], axis=1),
        tilted=np.stack([none, none, e.kappa1], axis=1),
        ratio=alpha / beta,
        start=np.stack([c / lam, 1 / lam], axis=1),
        setting={"alpha": alpha, "beta": beta, "lam": lam, "c": c},
    )
    return Solution(test - noise, train, *overlap.T, *q.T, *V.T, steps)
