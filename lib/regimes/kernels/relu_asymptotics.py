"""Many layers at once: the deep ReLU recursion near its parabolic fixed point.

For small angles the layer map is ``f(phi) = phi - phi²/(3π) + …``. It has an Abel function

``A(phi) = 3π/phi + (3/2) ln phi + Σ_{k≥1} a_k phi^k``,   ``A(f(phi)) = A(phi) + 1``,

so that any number of layers is one equation for the last angle. The kernel ``S = L Θ̄`` obeys
``S' = (1 - phi/π) S + cos f(phi)``, hence ``S = G(phi) + C H(phi)`` with ``H(f) = (1 - phi/π) H`` and

``H = phi³ (1 + Σ h_k phi^k)``,   ``G = 3π/(4 phi) + Σ_{k≥0} g_k phi^k + r H ln phi``;

with a logarithm because ``phi³`` is resonant: the operator on the left loses that order. The coefficients follow from
triangular linear systems in power series. The series are asymptotic, and exact to round-off at ``phi < 0.06``.

Source: derived here; checked against mpmath and against the plain recursion.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from regimes import validate
from regimes.validate import InputError

TERMS = 12  # of each series
LARGEST = 0.0601  # angle at which the series hold to round-off; no angle is larger after 150 layers
SMALLEST = 1e-300  # angle whose inverse is within float64
SWEEPS = 9  # of the fixed-point iteration for the last angle; it contracts by 0.06 · 1.5/(3π) < 1/100


class Series(NamedTuple):
    """Coefficients of ``A``, ``H`` and ``G`` (module head); ``a[0] = g[3] = 0``, ``h[0] = 1``."""

    log: float
    a: list[float]
    h: list[float]
    pole: float
    g: list[float]
    resonance: float


def abel(phi: Tensor) -> Tensor:
    """The Abel function ``A(phi)``, with ``A(f(phi)) = A(phi) + 1``; any shape, ``0 < phi < 0.06``."""
    _needs_small(phi, SMALLEST)
    series = local_series()
    return 3 * math.pi / phi + series.log * phi.log() + _horner(series.a, phi)


def jump(phi: Tensor, s: Tensor, layers: int) -> tuple[Tensor, Tensor]:
    """Many layers in one step: ``(phi, S) -> (phi', S')``, without cancellation even at ``phi = 0``.

    With ``phi' = phi/(1 + v)`` the Abel equation is
    ``v/phi = (layers + (3/2) ln(1 + v) + Σ a_k (phi^k - phi'^k)) / (3π)``, solved by iteration.

    Args:
        phi: angles below 0.06, float64, any shape.
        s: ``S = L Θ̄`` at the same layer, same shape.
        layers: their number, at least 0.
    """
    _needs_small(phi, 0.0)
    validate.arrays(phi=("...", phi), s=("...", s))
    validate.whole(0, 10**15, layers=layers)
    if s.shape != phi.shape:
        raise InputError(f"s must have the shape {tuple(phi.shape)} of phi, got {tuple(s.shape)}")
    layers = int(layers)
    series = local_series()
    late = phi
    for _ in range(SWEEPS):
        ratio = torch.where(late > 0, phi / torch.where(late > 0, late, 1), 1)  # 1 + v
        growth = (layers + series.log * ratio.log() + _horner(series.a, phi) - _horner(series.a, late)) / (3 * math.pi)
        late = phi / (1 + growth * phi)
    v = growth * phi
    shrink = (1 + v) ** -3
    h = _horner(series.h, phi)
    h_late = _horner(series.h, late)
    carried = shrink * h_late / h  # H(phi')/H(phi)
    bend = sum(c * phi ** (k - 1) * ((1 + v) ** -k - 1) for k, c in enumerate(series.h) if k)  # (h(phi') - h(phi))/phi
    pole = series.pole * shrink * (growth * (4 + v * (6 + v * (4 + v))) - bend / h)
    regular = _horner(series.g, late) - _horner(series.g, phi) * carried
    resonant = -series.resonance * late**3 * h_late * torch.log1p(v)
    return late, pole + regular + resonant + carried * s


def _needs_small(phi: Tensor, low: float) -> None:
    validate.arrays(phi=("...", phi))
    if not (float(phi.min()) >= low and float(phi.max()) <= LARGEST):
        raise InputError(f"phi must lie between 0 and 0.06, got {float(phi.min()):g} to {float(phi.max()):g}")


@lru_cache(maxsize=1)
def local_series() -> Series:
    """The coefficients, from the power series of ``f`` and three triangular systems; a millisecond, once."""
    size = TERMS + 6
    q, cosine = _layer_map(size)  # f(phi)/phi and cos f(phi)
    unit = np.eye(size)[0]
    log_q = _log(q)
    damping = unit - np.eye(size)[1] / math.pi  # 1 - phi/π

    a_columns = [log_q] + [_times_power(_power(q, k) - unit, k) for k in range(1, TERMS)]
    target = -3 * math.pi * np.append(_power(q, -1)[1:], 0) + unit
    log, *a = _triangular(a_columns, target, first=1)

    h_columns = [_times_power(_power(q, 3 + k) - damping, k) for k in range(TERMS)]
    h = [1.0, *_triangular(h_columns[1:], -h_columns[0], first=2)]

    g_columns = [_times_power(_power(q, k) - damping, k + 1) for k in range(-1, TERMS)]  # all times phi
    resonant = np.convolve(np.convolve(damping, np.pad(h, (0, size - TERMS)))[:size], log_q)[:size]
    g_columns[4] = _times_power(resonant, 4)
    pole, *g = _triangular(g_columns, _times_power(cosine, 1), first=1)
    resonance, g[3] = g[3], 0.0
    return Series(log, [0.0, *a], h, pole, g, resonance)


def _layer_map(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Power series of ``f(phi)/phi`` and ``cos f(phi)``."""
    u = np.zeros(size)  # 1 - cos f = (phi²/2) u
    for j in range(size // 2):  # 1 - cos phi, then (sin phi - phi cos phi)/π
        u[2 * j] = 2 * (-1) ** j / math.factorial(2 * j + 2)
        if 2 * j + 1 < size:
            u[2 * j + 1] = -2 * (-1) ** j * (2 * j + 2) / math.factorial(2 * j + 3) / math.pi
    cosine = np.zeros(size)
    cosine[0] = 1
    cosine[2:] = -u[:-2] / 2
    square = _times_power(u, 2) / 4  # f = 2 asin(y), y² = phi² u/4
    asin = 1.0
    q = np.zeros(size)
    for j in range(size // 2):
        q += asin * _whole_power(square, j)
        asin *= (2 * j + 1) ** 2 / ((2 * j + 2) * (2 * j + 3))
    return np.convolve(q, _power(u, 0.5))[:size], cosine


def _triangular(columns: list[np.ndarray], target: np.ndarray, first: int) -> list[float]:
    """Coefficients of the combination of ``columns`` that equals ``target`` from order ``first`` on."""
    rows = slice(first, first + len(columns))
    return np.linalg.solve(np.stack(columns, axis=1)[rows], target[rows]).tolist()


def _times_power(series: np.ndarray, k: int) -> np.ndarray:
    """``phi^k`` times a power series, truncated."""
    return np.concatenate([np.zeros(k), series[: len(series) - k]])


def _whole_power(series: np.ndarray, k: int) -> np.ndarray:
    """A power series to the ``k``-th power, truncated."""
    result = np.eye(len(series))[0]
    for _ in range(k):
        result = np.convolve(result, series)[: len(series)]
    return result


def _power(series: np.ndarray, exponent: float) -> np.ndarray:
    """A power series with constant term 1 to a real power (recurrence from ``v' u = exponent v u'``)."""
    result = np.eye(len(series))[0]
    for n in range(1, len(series)):
        k = np.arange(1, n + 1)
        result[n] = ((exponent * k - n + k) * series[k] * result[n - k]).sum() / n
    return result


def _log(series: np.ndarray) -> np.ndarray:
    """Logarithm of a power series with constant term 1."""
    result = np.zeros(len(series))
    for n in range(1, len(series)):
        k = np.arange(1, n)
        result[n] = series[n] - (k * result[k] * series[n - k]).sum() / n
    return result


def _horner(coefficients: list[float], x: Tensor) -> Tensor:
    value = torch.zeros_like(x)
    for c in reversed(coefficients):
        value = value * x + c
    return value
