"""The limit of the normalised kernel for layers other than ReLU: ``1/(1 + k)``, with ``k`` from the layer map.

Inputs and variances are such that every layer keeps the variance 1. A critical layer map touches the identity at
correlation 1. With ``e = 1 - rho``,

``1 - h(1 - e) = e - A e^(1+q) + …``, hence ``e_L^q ≈ 1/(A q L)``, ``h' ≈ 1 - k/L`` with ``k = (1 + q)/q``,

and ``dS/dL = 1 - k S/L`` has the solution ``S = L/(1 + k)``. A non-smooth activation has ``q = 1/2``: ``k = 3``, limit
1/4. A smooth one has ``q = 1``: ``k = 2``, limit 1/3. With ``e_L^q = 1/(A q (L + b ln L + …))`` the next order is
``b ln L / ((1 + k) L)``: ``b = 3/2`` if non-smooth, ``1 - B/A²`` with ``B = h'''(1)/6`` for a smooth one.

Deep layers depend on the pair only by ``c = lim 1/(A q e_L^q) - L - b ln L``, with ``(1 + k) S = L + b ln L + c + d``.
So regression has the kernel ``c`` and a ridge of about ``k L`` (``d = -1/2`` if non-smooth).

Source: Hayou et al. 2019 for the non-zero limit and the roles of smoothness and residual connections; the constants and
the logarithms are derived here.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from regimes import gaussian, validate
from regimes.models.activations import activation
from regimes.validate import InputError

ORDER = 200  # Hermite coefficients of a smooth activation; those of tanh and swish are below 1e-8 beyond
BELOW_ONE = 1 - 2.0**-53  # in place of 1, whose correlation 0 has no logarithm
DEEP = 400  # layers after which the offset is read off, and again after as many
SMALL = 0.3  # below, sin phi - phi cos phi is summed as a series: the difference would cancel


@dataclass(frozen=True)
class Layer:
    """One critical layer: its map of a pair, and its weight.

    Attributes:
        loss: ``e -> (1 - h(1 - e), 1 - h'(1 - e))``, on arrays ``(n,)`` of ``e = 1 - rho``.
        limit: ``1/(1 + k)``, the limit of the normalised kernel.
        log: ``b/(1 + k)``, the coefficient of ``ln L/L``.
        share: variance of the new layer beside the skipped one, 1 without a skip connection.
        unit: ``e -> 1/(A q e^q)``, which grows by one per layer at large depth.
        shift: ``d`` of the module head.
    """

    loss: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    limit: float
    log: float
    share: float
    unit: Callable[[np.ndarray], np.ndarray]
    shift: float


def kinked(slope: float = 0.0, *, share: float = 1.0) -> Layer:
    """The leaky ReLU of a negative ``slope`` from -1 to below 1, at which it would be linear.

    ``h - rho`` is that of the ReLU times ``(1 - a)²/(1 + a²)``. With a ``share`` in ``(0, 1]`` below 1 it is
    ``x -> √(1 - share) x + √share W σ(x)``; ``share = 1/2`` is the plain sum of both, rescaled.
    """
    validate.between(-1, 1, slope=slope)
    validate.positive(share=share, **{"1 - slope": 1 - slope})
    validate.between(0, 1, share=share)
    bend = (1 - slope) ** 2 / (1 + slope**2)
    unit = 3 * math.pi / (bend * share)
    return Layer(lambda e: _kinked(e, bend), 1 / 4, 3 / 8, share, lambda e: unit / _angle(e), -0.5)


def smooth(name: str) -> Layer:
    """A smooth activation ``s (σ(z) + c)``, scaled and shifted so that ``E σ² = E σ'² = 1``: its critical form.

    Such ``s`` and ``c`` exist for every ``σ`` (Poincaré's inequality), and ``h(rho) = Σ_k w_k rho^k`` with weights
    ``w_k ∝ a_k²`` of the Hermite coefficients ``a_k``, ``Σ k w_k = 1``, the rest at ``k = 0``.

    Args:
        name: ``tanh``, ``erf``, ``quadratic`` or ``swish``.
    """
    validate.one_of(("tanh", "erf", "quadratic", "swish"), name=name)
    k = np.arange(1.0, ORDER)
    w = _hermite_weights(name)
    a = (k * (k - 1) * w).sum() / 2
    b = (k * (k - 1) * (k - 2) * w).sum() / 6

    def loss(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_rho = np.log1p(-np.minimum(e, BELOW_ONE))[:, None]
        return -np.expm1(k * log_rho) @ w, -np.expm1((k - 1) * log_rho) @ (k * w)

    log = 1 - b / a**2
    return Layer(loss, 1 / 3, log / 3, 1.0, lambda e: 1 / (a * e), 3 * (1 - log - 1 / a - log / 3) / 2)


def along_depth(layer: Layer, rho: np.ndarray, depths: Sequence[int]) -> np.ndarray:
    """``Θ̄^(L)`` at several depths, one layer at a time, ``(len(depths), n)``.

    With the share ``s``: ``S' = (1 - s) S + s (h' S + h)``, ``e' = (1 - s) e + s (1 - h)``, and the diagonal is
    ``1 + s (L - 1)``.

    Args:
        layer: the network's layer.
        rho: input correlations ``(n,)``, not negative for a smooth layer.
        depths: strictly increasing.

    """
    validate.arrays(rho=("n", rho))
    validate.integer(1, **{f"depths[{i}]": depth for i, depth in enumerate(depths)})
    validate.increasing(depths=list(depths))
    low = 0 if layer.limit == 1 / 3 else -1
    if not (rho.min() >= low and rho.max() <= 1):
        raise InputError(f"rho must lie from {low} to 1 for this layer, got {rho.min():g} to {rho.max():g}")
    e = 1 - rho
    s = rho.copy()
    share = layer.share
    reached = 1
    kernels = []
    for depth in depths:
        for _ in range(depth - reached):
            new, slope = layer.loss(e)
            s = s + share * (1 - new - slope * s)
            e = e + share * (new - e)
        reached = depth
        kernels.append(s / (1 + share * (depth - 1)))
    return np.stack(kernels)


def offset(layer: Layer, rho: np.ndarray) -> np.ndarray:
    """``c`` of pairs of correlations ``rho (n,)`` below 1, to about 1e-3, from two depths.

    Source: derived here; for the ReLU :func:`regimes.kernels.relu_recursion.offset`.
    """
    validate.arrays(rho=("n", rho))
    if not rho.max() < 1:
        raise InputError(f"rho must be below 1 for the offset to be finite, got {rho.max():g}")
    e = 1 - rho
    b = layer.log / layer.limit
    estimates = []
    for depth in range(1, 2 * DEEP + 1):
        if depth in (DEEP, 2 * DEEP):
            m = layer.unit(e)
            estimates.append(m - b * np.log(m) - depth)
        e = e + layer.share * (layer.loss(e)[0] - e)
    return 2 * estimates[1] - estimates[0]  # the error falls as 1/L


def of_layer_offset(layer: Layer, c: np.ndarray, depth: int) -> np.ndarray:
    """``Θ̄^(L)`` of pairs of different inputs to first order: ``limit (L + b ln L + c + d)/(L - 1 + 1/share)``.

    Source: derived here; for the ReLU it is :func:`companion.papers.depth.theory.deep_limit.of_offset`.
    """
    validate.integer(1, depth=depth)
    grown = depth + layer.log / layer.limit * math.log(depth) + c + layer.shift
    return layer.limit * grown / (depth - 1 + 1 / layer.share)


def _angle(e: np.ndarray) -> np.ndarray:
    return 2 * np.arcsin(np.sqrt(e / 2))


def _kinked(e: np.ndarray, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """``e - bend (sin phi - phi cos phi)/π`` and ``bend phi/π``."""
    phi = _angle(e)
    lost = np.sin(phi) - phi * np.cos(phi)
    if phi.min() < SMALL:
        p = phi * phi
        series = phi * p * (1 / 3 - p * (1 / 30 - p * (1 / 840 - p * (1 / 45360 - p / 3991680))))
        lost = np.where(phi < SMALL, series, lost)
    return np.maximum(e - bend * lost / math.pi, 0), bend * phi / math.pi


def _hermite_weights(name: str) -> np.ndarray:
    """``a_k² / Σ k a_k²`` for ``k = 1 … ORDER - 1``, by quadrature against orthonormal Hermite polynomials."""
    x, w = gaussian.rule(step=0.25)
    value = w * activation(name).value(torch.from_numpy(x)).numpy()
    before = np.zeros_like(x)
    h = np.ones_like(x)
    a = []
    for k in range(1, ORDER):
        following = (x * h - math.sqrt(k - 1) * before) / math.sqrt(k)
        before = h
        h = following
        a.append(value @ h)
    k = np.arange(1.0, ORDER)
    squares = np.array(a) ** 2
    return squares / (k * squares).sum()
