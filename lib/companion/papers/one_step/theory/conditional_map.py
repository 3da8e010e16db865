"""Results 3.1 and 3.2: the spiked random features equivalent to a trained network, and their conditional map.

Scales: inputs ``x ~ N(0, I_d)``; network ``f(x) = a·σ(W x) / sqrt(p)``; rows of the bulk have norm ``sqrt(c)``; the
spike is ``r 1_p v^T`` with ``|v| = 1``; ``alpha0 = n0/d``. The step size is ``eta = step * p`` (the gradient's ``1/p``
cancels).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from companion.papers.one_step.theory.functions import Function, function, hermite, needs_step
from regimes import gaussian, validate
from regimes.validate import InputError

STRONGEST = 1e4  # spike that the nodes resolve: 66 of them a unit of it
WIDEST = 1e8  # bulk variance, whose root gaussian.WIDEST bounds
PANEL = 1.6  # length of a panel times the spike: twice the distance of the features' poles, at which 16 nodes are exact


@dataclass(frozen=True)
class Spiked:
    """Parameters of spiked random features: bulk variance ``c``, spike strength ``r``, alignment ``gamma``."""

    c: float
    r: float
    gamma: float


def equivalent(activation: str | Function, target: str | Function, *, alpha0: float, step: float) -> Spiked:
    """The spiked random features equivalent to a network after one gradient step of size ``eta = step * p``.

    ``r = step h1 sqrt(t1^2 + t2/alpha0)``, ``gamma = t1 / sqrt(t1^2 + t2/alpha0)``,
    ``c = 1 + step^2 t2 h1_check/alpha0``.

    Args:
        activation: odd; ``companion.papers.one_step.theory.functions.FUNCTIONS`` names some.
        target: function of ``theta·x``.
        alpha0: samples of the first step over ``d``; ``inf`` for perfect alignment, 0 for no step.
        step: ``eta / p``.

    Source: paper E, Eqs. 9–12.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    needs_step(activation)
    if not validate.is_number(alpha0) and alpha0 != np.inf:
        raise InputError(f"alpha0 must be a number of at least 0, or infinite, got {alpha0!r}")
    validate.at_least(0, alpha0=0 if alpha0 == np.inf else alpha0)
    validate.between(0, 1e50, step=step)
    h = hermite(activation, target)
    if alpha0 == 0 or step == 0:
        return Spiked(1.0, 0.0, 0.0)
    if alpha0 < 1e-50:
        raise InputError(f"alpha0 must be 0, or at least 1e-50 (less than a sample), got {alpha0!r}")
    scatter = h.t2 / alpha0
    length = np.sqrt(h.t1**2 + scatter)
    if length == 0:
        return Spiked(1.0, 0.0, 0.0)
    return Spiked(float(1 + step**2 * scatter * h.h1_check), float(step * h.h1 * length), float(h.t1 / length))


@dataclass(frozen=True)
class Channel:
    """Conditional means at each projection ``k = v·x`` of the input on the spike, for the saddle point; ``(B, K)``.

    Attributes:
        k: nodes.
        weight: weights of the normal measure.
        kappa0: conditional mean of the features, ``E_z σ(r k + b + sqrt(c) z)``.
        kappa1: their linear coefficient, ``E_z σ'(...)``.
        kappa2: variance of the rest, ``kappa_*^2 = E σ^2 - kappa0^2 - c kappa1^2``.
        h: ``E_s σ*(gamma k + sqrt(1 - gamma^2) s)``.
        h_s: ``E_s[s σ*(...)]``.
        h2: ``E_s[σ*(...)^2]`` plus the variance of the noise.

    Source: paper E, Eqs. 15, 21–24, 131.
    """

    k: np.ndarray
    weight: np.ndarray
    kappa0: np.ndarray
    kappa1: np.ndarray
    kappa2: np.ndarray
    h: np.ndarray
    h_s: np.ndarray
    h2: np.ndarray

    @functools.cached_property
    def squares(self) -> np.ndarray:
        """``kappa1^2`` and ``kappa_*^2``, ``(B, 2, K)``, the factors of the two traces and the two norms."""
        return np.stack([self.kappa1**2, self.kappa2], axis=1)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """``E_k`` of an array ``(B, K)``: ``(B,)``."""
        return (self.weight * values).sum(-1)

    def take(self, rows: np.ndarray) -> "Channel":
        """The channels of the settings ``rows``."""
        return Channel(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def channel(
    activation: Function,
    target: Function,
    *,
    r: float,
    c: float,
    gamma: float,
    noise: float = 0.0,
    bias: float = 0.0,
    resolve: float | None = None,
) -> Channel:
    """The conditional map of one setting (``B = 1``), on nodes that resolve the spike strength ``resolve`` (``r``)."""
    validate.between(0, 1e50, noise=noise)
    validate.between(-STRONGEST, STRONGEST, r=r, resolve=r if resolve is None else resolve)
    validate.between(-1e50, 1e50, bias=bias)
    needs_alignment(gamma)
    k, weight = nodes(target.breaks, r if resolve is None else resolve, gamma)
    kappa = feature_moments(activation, r * k + bias, c)
    h, h_s, h2 = gaussian.moments(target.array, gamma * k, np.sqrt(max(0.0, 1 - gamma**2)), breaks=target.breaks)
    return Channel(*(column[None] for column in (k, weight, *kappa, h, h_s, h2 + noise)))


def stack(channels: list[Channel]) -> Channel:
    """Several settings as one batch; shorter rules are padded with zero weights."""
    length = max(setting.k.shape[1] for setting in channels)
    columns = []
    for name in Channel.__dataclass_fields__:
        column = np.zeros((len(channels), length))
        for row, setting in zip(column, channels):
            values = getattr(setting, name)[0]
            row[: len(values)] = values
        columns.append(column)
    return Channel(*columns)


def channels_of_values(
    activation: Function, target: Function, values: Sequence[float], *, r: float, c: float, **kind: float
) -> Channel:
    """The maps of several readout values ``u`` on common nodes: spike ``r u``, bulk variance ``1 + u^2 (c - 1)``."""
    validate.number(r=r, c=c, **{f"values[{i}]": u for i, u in enumerate(values)})
    kind = {"gamma": 1.0, "resolve": r * max(map(abs, values))} | kind
    return stack([channel(activation, target, r=r * u, c=1 + u**2 * (c - 1), **kind) for u in values])


def feature_moments(activation: Function, shift: np.ndarray, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``kappa0``, ``kappa1``, ``kappa_*^2`` at the arguments ``shift + sqrt(c) z``; same shape as ``shift``."""
    validate.between(1e-50, WIDEST, c=c)
    first, slope, second = gaussian.moments(activation.array, shift, np.sqrt(c), breaks=activation.breaks)
    # what is left of the variance is a difference of near-equal numbers where σ saturates
    return first, slope / np.sqrt(c), np.maximum(second - first**2 - slope**2, 0.0)


def slope_in_c(activation: Function, shift: np.ndarray, c: float) -> np.ndarray:
    """``dkappa0/dc = E[(z^2 - 1) σ(shift + sqrt(c) z)] / (2 c)``, same shape as ``shift``."""
    z, w = gaussian.trapezoid(120)
    return activation.array(shift[..., None] + np.sqrt(c) * z) @ (w * (z**2 - 1)) / (2 * c)


def needs_alignment(gamma: float) -> None:
    """Raises ``InputError`` unless ``gamma`` is a number in ``[-1, 1]``."""
    if not validate.is_number(gamma) or abs(gamma) > 1:
        raise InputError(f"gamma is the cosine between spike and target, so it must lie in [-1, 1], got {gamma!r}")


def nodes(breaks: Sequence[float], r: float, gamma: float, *, fine: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights over ``k``: trapezoid where all is smooth, panels at the target's jumps, which ``gamma`` blurs.

    Their density follows the spike: ``1/(1 + V(k))`` has poles ``pi/(4 r)`` from the real axis, and where the features
    saturate, V falls as ``exp(-4 r k)``. ``fine`` multiplies it.
    """
    spread = np.sqrt(max(0.0, 1 - gamma**2))
    if not len(breaks) or abs(gamma) < 0.99:
        return gaussian.trapezoid(2 * max(60, int(33 * fine * abs(r)) + 1))
    step = min(0.5, PANEL / fine / max(abs(r), 1e-300))
    return gaussian.rule([b / gamma for b in breaks], [spread / abs(gamma)] * len(breaks), step=step)
