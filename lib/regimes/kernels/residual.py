r"""The tangent kernel of infinitely wide ReLU networks with skip connections and normalised layers: one share a layer.

A layer with the *share* ``s`` turns its input, of variance 1, into ``√(1 - s) x + √s (W σ(x) + β b)/√(1 + β²)``, with
``σ = √2 ReLU``. A plain layer has ``s = 1``; ``x + β W σ(x)`` over its root mean square has ``s = β²/(1 + β²)``; in a
pre-norm network ``x + β W σ(LN x)`` the stream's variance is ``1 + β² l``, so that layer ``l`` has
``s_l = β²/(1 + β² l)``. Each layer takes correlation and kernel of two inputs at the angle ``φ = arccos ρ`` to

.. math:: ρ \to (1-s)\,ρ + s\,k(ρ), \qquad S \to (1-s)\,S + s\,\big(k'(ρ)\,S + k(ρ)\big), \qquad
   k = \frac{h + β²}{1 + β²}, \quad h' = 1 - \frac φπ,

from ``S = ρ`` after the linear input layer. Without biases ``S`` on the diagonal is ``τ = 1 + Σ s_l``: a plain network
has ``τ = L``, one of share ``s`` about ``s L``, a pre-norm one the harmonic number ``1 + 1/2 + … + 1/L``, about
``ln L``. For small shares the layers are the steps of the flow ``dS/dτ = h - (φ/π) S``, ``dρ/dτ = h - ρ``.

At infinite width the norms of a layer's inputs do not fluctuate, so that a LayerNorm before the ReLU does nothing but
set the share. One *after* the ReLU does: it takes off the mean, which all inputs have in common, and ``h`` becomes
``(h - 1/π)/(1 - 1/π)``, of slope ``π/(π - 1) > 1`` at 1. Such layers drive all pairs apart.

Source: derived here; paper C, Theorem 1 and Prop. 5 at the share 1.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import scipy.fft
import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import infinite, relu_recursion, tiles
from regimes.validate import InputError

NODES = 256  # Chebyshev nodes of the fit in the angle
RESOLVED = 1e-11  # coefficients at the end, relative to the largest, below which the fit stands for the layers
SMALL = 0.3  # below, sin phi - phi cos phi is summed as a series: the difference would cancel
APART = math.pi / (math.pi - 1)  # one over the variance of √2 ReLU of a standard normal number
MOST = 10_000_000  # layers
STEPS = 400  # of the flow, per factor of ten in tau

Fit = tuple[tuple[float, ...], float, float]  # of infinite._interpolant


def skip_shares(depth: int, scale: float = 1.0) -> np.ndarray:
    """Shares ``β²/(1 + β²)`` of the ``depth - 1`` layers ``x + β W σ(x)`` after the input layer, ``(depth - 1,)``.

    The same holds where a LayerNorm follows the sum. Source: derived here (module head).
    """
    _needs_layers(depth, scale)
    return np.full(depth - 1, scale**2 / (1 + scale**2))


def pre_norm_shares(depth: int, scale: float = 1.0) -> np.ndarray:
    """Shares ``β²/(1 + β² l)``, ``l = 1 … depth - 1``, of layers ``x + β W σ(LN x)`` after the input layer.

    With a weight ``g`` of the LayerNorm ``β`` is ``g β``: the ReLU is homogeneous. Source: derived here (module head).
    """
    _needs_layers(depth, scale)
    return scale**2 / (1 + scale**2 * np.arange(1.0, depth))


def _needs_layers(depth: int, scale: float) -> None:
    validate.whole(1, MOST, depth=depth)
    validate.positive(scale=scale)


def residual_ntk(
    x: Tensor,
    z: Tensor | None = None,
    *,
    shares: Sequence[float] | np.ndarray,
    bias: float = 0.0,
    centred: bool = False,
    normalised: bool = True,
) -> Tensor:
    """The infinite-width tangent kernel of a network with one share a layer, between the rows of ``x`` and ``z``.

    The output is one number of the last layer. ``[1.0] * (L - 1)`` gives the plain network ``infinite_ntk(x,
    depth=L)``; ``[*shares, 1.0]`` has a last ReLU and a trained readout.

    Args:
        x: inputs ``(n, d)``, float64; only their directions count, as if they had one norm. No zero points.
        z: inputs ``(m, d)``; ``None`` for ``x`` itself.
        shares: of the layers after the linear input layer, from 0 to 1 (:func:`skip_shares`,
            :func:`pre_norm_shares`); their number hardly affects the cost of large matrices.
        bias: standard deviation of the biases, in units of that of what they are added to, at least 0.
        centred: whether a LayerNorm follows each ReLU.
        normalised: whether to divide by the diagonal; else without biases and centring it is ``τ = 1 + Σ s_l``.

    Returns:
        ``(n, m)``.

    Raises:
        InputError: for points of other shapes or precision, zero points, and shares that are no numbers from 0 to 1.

    Source: derived here (module head); paper C, Prop. 5 at the share 1.
    """
    shares = _needs_shares(shares)
    validate.at_least(0, bias=bias)
    top = 1.0 if normalised else diagonal(shares, bias=bias, centred=centred)
    fits = _interpolants(shares.tobytes(), float(bias), bool(centred))

    def layered(phi: Tensor) -> Tensor:
        return torch.as_tensor(_through_layers(phi.cpu().numpy(), shares, float(bias), bool(centred))[0]).to(phi)

    return _of_fit(x, z, layered if fits is None else fits[0], top)


def kernel_of_angle(
    phi: Tensor, shares: Sequence[float] | np.ndarray, *, bias: float = 0.0, centred: bool = False
) -> tuple[Tensor, Tensor]:
    """The normalised kernel of unit inputs at angles ``phi``, and their angle after the last layer.

    Args:
        phi: angles in ``[0, π]``, float64, any shape.
        shares: as in :func:`residual_ntk`, likewise ``bias`` and ``centred``.
        bias: see there.
        centred: see there.

    Returns:
        ``S/S(0)`` and ``phi_L``, both of the shape of ``phi``.

    Source: derived here (module head).
    """
    relu_recursion.needs_angles(phi)
    shares = _needs_shares(shares)
    validate.at_least(0, bias=bias)
    fits = None
    if phi.numel() > NODES:
        fits = _interpolants(shares.tobytes(), float(bias), bool(centred))
    if fits is not None:
        kernel, angle = (infinite._clenshaw(phi.clone(), *fit) for fit in fits)
        return kernel, angle.clamp_min_(0)
    through = _through_layers(phi.cpu().numpy(), shares, float(bias), bool(centred))
    return torch.as_tensor(through[0], device=phi.device), torch.as_tensor(through[1], device=phi.device)


def _through_layers(angle: np.ndarray, shares: np.ndarray, bias: float, centred: bool) -> tuple[np.ndarray, np.ndarray]:
    """:func:`kernel_of_angle` layer by layer."""
    kept = _slope(bias, centred)
    e = 2 * np.sin(angle / 2) ** 2
    s = np.cos(angle)
    for share in shares.tolist():
        lost = (e - _lost(angle) / math.pi) * kept  # 1 - k
        gain = kept * (1 - angle / math.pi)
        s = s + share * ((gain - 1) * s + 1 - lost)
        e = e + share * (lost - e)
        angle = _angle(e)
    return s / diagonal(shares, bias=bias, centred=centred), angle


def diagonal(shares: Sequence[float] | np.ndarray, *, bias: float = 0.0, centred: bool = False) -> float:
    """``S`` of equal inputs: ``τ = 1 + Σ s_l`` without biases and centring. Arguments as in :func:`residual_ntk`."""
    shares = _needs_shares(shares)
    kept = _slope(bias, centred)
    if kept == 1:
        return 1 + float(shares.sum())
    top = 1.0
    for share in shares.tolist():
        top = top + share * ((kept - 1) * top + 1)
    return top


def flow_ntk(x: Tensor, z: Tensor | None = None, *, tau: float) -> Tensor:
    """:func:`residual_ntk` in the limit of small shares that sum to ``tau - 1``: the flow at ``τ``, from ``τ = 1``.

    ``dS/dτ = h - (φ/π) S``, ``dρ/dτ = h - ρ``, ``S(1) = ρ(1)``, over ``τ``.

    Args:
        x: inputs ``(n, d)``, float64; only their directions count. No zero points.
        z: inputs ``(m, d)``; ``None`` for ``x`` itself.
        tau: at least 1.

    Returns:
        ``(n, m)``, of unit diagonal. Raises what :func:`residual_ntk` raises.

    Source: derived here (module head).
    """
    validate.at_least(1, tau=tau)
    return _of_fit(x, z, _flow_interpolant(float(tau)), 1.0)


def _of_fit(x: Tensor, z: Tensor | None, fit: Fit | Callable[[Tensor], Tensor], top: float) -> Tensor:
    """A kernel of the angle from its interpolant or, where there is none, a function of the angles, times ``top``."""
    x, z = infinite._needs_points(x, z, zero=False)
    if x.ndim != 2:
        raise InputError(f"x must have shape (n, d), got {tuple(x.shape)}")
    n, m = len(x), len(x if z is None else z)
    validate.memory(n * m * 8, f"the kernel of {n} × {m} points", x.device)
    mine = infinite._directions(infinite._scaled(x)[0])
    theirs = mine if z is None else infinite._directions(infinite._scaled(z)[0])
    out = torch.empty(n, m, dtype=torch.float64, device=x.device)
    for rows, columns in infinite._tiles(n, m, x.device.type, z is None):
        phi = infinite._angles(mine[rows], theirs[columns])
        tile = fit(phi) if callable(fit) else infinite._clenshaw(phi, *fit)
        tiles.write(out, rows.start, columns.start, tile.mul_(top), z is None)
    if z is None:
        out.fill_diagonal_(top)
    return out


def flow_of_angle(phi: Tensor, tau: float, *, steps: int = STEPS) -> tuple[Tensor, Tensor]:
    """The flow of :func:`flow_ntk` at angles ``phi``, by Runge and Kutta in ``ln τ``.

    Args:
        phi: angles in ``[0, π]``, float64, any shape.
        tau: at least 1.
        steps: of the integrator, per factor of ten in ``τ``, and at least as many.

    Returns:
        ``S/τ`` and the angle, both of the shape of ``phi``.

    Source: derived here (module head).
    """
    relu_recursion.needs_angles(phi)
    validate.at_least(1, tau=tau)
    validate.integer(1, steps=steps)
    angle = phi.cpu().numpy()
    state = np.stack([2 * np.sin(angle / 2) ** 2, np.cos(angle)])
    count = math.ceil(steps * max(1, math.log10(tau)))
    h = math.log(tau) / count
    for i in range(count):
        k = np.zeros_like(state)
        total = np.zeros_like(state)
        for at, weight in ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)):
            k = math.exp((i + at) * h) * _velocity(state + at * h * k)
            total = total + weight * k
        state = state + h * total
    return torch.as_tensor(state[1] / tau, device=phi.device), torch.as_tensor(_angle(state[0]), device=phi.device)


def _velocity(state: np.ndarray) -> np.ndarray:
    e, s = state
    phi = _angle(e)
    approach = _lost(phi) / math.pi  # h - rho
    return np.stack([-approach, 1 - e + approach - phi / math.pi * s])


def _angle(e: np.ndarray) -> np.ndarray:
    return 2 * np.arcsin(np.sqrt(np.clip(e / 2, 0, 1)))


def _lost(phi: np.ndarray) -> np.ndarray:
    """``sin phi - phi cos phi``, without cancellation."""
    p = phi * phi
    series = phi * p * (1 / 3 - p * (1 / 30 - p * (1 / 840 - p * (1 / 45360 - p / 3991680))))
    return np.where(phi < SMALL, series, np.sin(phi) - phi * np.cos(phi))


def _slope(bias: float, centred: bool) -> float:
    """``k'(1)``: by this factor ``1 - k`` and ``k'`` are those of the plain ReLU."""
    return (APART if centred else 1.0) / (1 + bias**2)


@lru_cache(maxsize=64)
def _interpolants(shares: bytes, bias: float, centred: bool) -> tuple[Fit, Fit] | None:
    """The kernel and the last angle, fitted; ``None`` if that many nodes do not resolve them."""
    table = np.frombuffer(shares)
    kept = _slope(bias, centred)
    if kept > 1:  # an angle grows by the root of this until it is of order one
        stretch = math.exp(min(0.5 * float(np.log1p(table * (kept - 1)).sum()), 300))
    else:
        stretch = (1 + float(table.sum())) / (3 * math.pi)
    kernel, angle = _through_layers(_nodes(stretch), table, bias, centred)
    of_kernel, of_angle = _fitted(kernel, stretch), _fitted(angle, stretch)
    return None if of_kernel is None or of_angle is None else (of_kernel, of_angle)


@lru_cache(maxsize=64)
def _flow_interpolant(tau: float) -> Fit:
    stretch = tau / (3 * math.pi)
    fit = _fitted(flow_of_angle(torch.from_numpy(_nodes(stretch)), tau)[0].numpy(), stretch)
    if fit is None:
        raise InputError(f"the flow at tau = {tau} has no interpolant")
    return fit


def _nodes(stretch: float) -> np.ndarray:
    """Angles at which a kernel is fitted, in ``[0, π]``."""
    node = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    return np.clip(np.expm1((node + 1) / 2 * math.log1p(stretch * math.pi)) / stretch, 0, math.pi)


def _fitted(values: np.ndarray, stretch: float) -> Fit | None:
    """Coefficients as in :func:`infinite._interpolant`, or nothing if their end is not small."""
    c = scipy.fft.dct(values) / NODES
    c[0] /= 2
    if abs(c[-NODES // 8 :]).max() > RESOLVED * abs(c).max():
        return None
    (significant,) = np.nonzero(abs(c) > infinite.ROUND_OFF * abs(c).max())
    terms = int(significant.max(initial=0)) + 1  # all are zero where no two inputs are alike to round-off
    return tuple(c[:terms].tolist()), stretch, math.log1p(stretch * math.pi)


def _needs_shares(shares: Sequence[float] | np.ndarray) -> np.ndarray:
    try:
        table = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"shares must be a list of numbers from 0 to 1, got {shares!r}") from None
    if table.ndim != 1 or not bool(((table >= 0) & (table <= 1)).all()):
        raise InputError(f"shares must be a list of numbers from 0 to 1, got {shares!r}")
    return np.ascontiguousarray(table)
