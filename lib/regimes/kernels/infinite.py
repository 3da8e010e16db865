"""The tangent kernel of infinitely wide, deep ReLU networks: normalised to a unit diagonal, or plain.

The network is fully connected, in NTK parametrisation: ``depth = L`` layers of weights drawn from N(0, 1), each layer's
input divided by the root of its width, and biases ``beta b`` in every layer, with ``b`` drawn from N(0, 1); one output.
With ``q`` the variance of a pre-activation and ``Θ(x, x) = q`` in the first layer, ``|x|²/d + beta²``, each further one
takes ``q -> q/2 + beta²`` and ``Θ(x, x) -> Θ(x, x)/2 + q``: a ReLU halves the square, and nothing makes up for it. The
function of this module returns

``Θ̄(x, z) = Θ(x, z) / √(Θ(x, x) Θ(z, z))``, or ``Θ`` itself.

Without biases ``Θ̄`` depends on the angle ``phi`` only and equals the paper's ``n_0 2^(L-1) Θ / L`` on the unit sphere.
It is a smooth function of ``t = ln(1 + L phi/(3π))``: at any depth a Chebyshev interpolant of degree 20 to 80 replaces
the layers. A Gram matrix costs some 2·degree multiply-adds per entry of its upper triangle, in tiles that stay in
cache. With biases it takes the layers (:mod:`regimes.kernels.biased`). Besides the result it needs memory for the
normalised inputs and a few tiles.

Sources: paper C, Theorem 1, Definition 4, Propositions 2 and 5; the interpolant is ours.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy.fft
import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import biased, relu_recursion, tiles
from regimes.validate import InputError

NODES = 192  # Chebyshev nodes of the fit; the degree kept is found from the coefficients
ROUND_OFF = 4e-16  # coefficients below, relative to the largest, are noise of float64
CLOSE = 1e-3  # pairs with 1 - rho below: the angle is taken from |x - z|, which does not cancel
# side of a tile: 176² entries stay in a core's L2, below the size at which torch splits an operation over cores
TILE = {"cpu": 176, "cuda": 4096}
FAR = 2.0**400  # rows with entries beyond, or all below the inverse, are scaled before they are squared
SHIFT = 2.0**600
WIDE = 1e30  # |x|/√d over the bias, or the inverse, beyond which the kernel is that of the limit to round-off

Tile = Callable[[slice, slice], Tensor]  # rows and columns of the kernel


def infinite_ntk(
    x: Tensor, z: Tensor | None = None, *, depth: int, bias: float = 0.0, normalised: bool = True
) -> Tensor:
    """The infinite-width tangent kernel between the rows of ``x`` and ``z``, normalised to a unit diagonal by default.

    ``normalised=False`` gives the plain ``Θ^(L)``, to which :func:`regimes.ntk` of a wide ReLU network in NTK
    parametrisation tends, such as ``fully_connected(widths, seeds=seeds, gain=1)``. Weights drawn from N(0, g²) and no
    biases make it ``g^(2L-2)`` times as large, and a gain ``g`` in every layer ``g^(2L)`` times.

    Args:
        x: inputs ``(..., n, d)``, float64; leading axes are independent realisations. A zero point has a kernel with
            ``bias`` or without normalisation only.
        z: inputs ``(..., m, d)``; ``None`` for ``x`` itself, whose normalised diagonal is exactly 1.
        depth: number of weight layers ``L``, at least 1; without ``bias`` it does not affect the cost.
        bias: standard deviation ``beta`` of the biases, at least 0; the paper's kernel has 0.
        normalised: whether to divide by ``√(Θ(x, x) Θ(z, z))``.

    Returns:
        ``(..., n, m)``; normalised, its values are in [-1, 1].

    Raises:
        InputError: for points of other shapes or precision, zero ones where the kernel needs their direction, and where
            the plain kernel leaves the range of float64.

    Source: paper C, Theorem 1, Definition 4 and Prop. 5.
    """
    depth = relu_recursion.needs_depth(depth)
    validate.at_least(0, bias=bias)
    x, z = _needs_points(x, z, zero=bool(bias) or not normalised)
    n, m = x.shape[-2], (x if z is None else z).shape[-2]
    validate.memory(x.shape[:-2].numel() * n * m * 8, f"the kernel of {n} × {m} points", x.device)
    roots_x = None if normalised else _roots(x, depth, bias)
    roots_z = roots_x if z is None or normalised else _roots(z, depth, bias)
    out = torch.empty(*x.shape[:-1], m, dtype=torch.float64, device=x.device)
    mirrored = z is None
    for index in np.ndindex(*x.shape[:-2]):
        pair = x[index], x[index] if z is None else z[index]
        tile = _biased(*pair, depth, bias) if bias else _angular(*pair, depth)
        for rows, columns in _tiles(n, m, x.device.type, mirrored):
            values = tile(rows, columns)
            if roots_x is not None and roots_z is not None:
                values = values.mul_(roots_x[index][rows].unsqueeze(-1) * roots_z[index][columns])
            tiles.write(out[index], rows.start, columns.start, values, mirrored)
    if mirrored:
        out.diagonal(dim1=-2, dim2=-1).copy_(torch.ones_like(out[..., 0]) if roots_x is None else roots_x.square())
    return out


def _roots(points: Tensor, depth: int, bias: float) -> Tensor:
    """``√Θ(x, x) (..., n)``, checked to be within float64."""
    points, scale = _scaled(points)
    size = (points.norm(dim=-1, keepdim=True) / scale).squeeze(-1) / math.sqrt(points.shape[-1])
    if bias:
        kept = (size / bias).clamp_max(WIDE)
        beyond = torch.where(size > kept * bias, size / (kept * bias), 1.0)
        roots = _diagonal(kept**2, depth, 1.0).sqrt() * bias * beyond
    else:
        roots = size * math.sqrt(depth) * 2.0 ** ((1 - depth) / 2)
    squares = roots * roots
    if not bool(((squares > 0) | (size == 0)).all() and torch.isfinite(squares).all()):
        raise InputError(f"the plain kernel at depth {depth} leaves the range of float64: ask for the normalised one")
    return roots


def _diagonal(square: Tensor, depth: int, variance: float) -> Tensor:
    """``Θ(x, x)`` from ``|x|²/d``, in the paper's scale. After ``settled`` layers the sums are constant, or zero."""
    q = theta = square + variance
    settled = biased.SETTLED if variance else depth
    for _ in range(min(depth, settled) - 1):
        q = q / 2 + variance
        theta = theta / 2 + q
    return theta


def _angular(x: Tensor, z: Tensor, depth: int) -> Tile:
    """Tiles without biases: the interpolant in the angle."""
    x, z = _directions(_scaled(x)[0]), _directions(_scaled(z)[0])

    def tile(rows: slice, columns: slice) -> Tensor:
        return _clenshaw(_angles(x[rows], z[columns]), *_interpolant(depth))

    return tile


def _biased(x: Tensor, z: Tensor, depth: int, bias: float) -> Tile:
    """Tiles with biases, the unit: layer by layer, free of cancellation for nearby inputs of any norm."""
    x, turns_x, over_x = _split(x, depth, bias)
    z, turns_z, over_z = _split(z, depth, bias)

    def tile(rows: slice, columns: slice) -> Tensor:
        layers = biased.layers(_gaps(x[rows], z[columns]), turns_x.at(rows), turns_z.at(columns), depth)
        return layers.mul_(over_x[rows].unsqueeze(-1)).mul_(over_z[columns]).clamp_max_(1)

    return tile


def _split(points: Tensor, depth: int, bias: float) -> tuple[Tensor, biased.Turns, Tensor]:
    """Directions ``(n, d)``, what the biases do to their lengths, and ``√(q/Θ(x, x)) (n,)``."""
    points, scale = _scaled(points)
    size = (points.norm(dim=-1, keepdim=True) / scale).squeeze(-1) / math.sqrt(points.shape[-1])
    square = (size / bias).clamp(1 / WIDE, WIDE) ** 2
    turns = biased.Turns(square, depth)
    return _directions(points), turns, (turns.variance / _diagonal(square, depth, 1.0)).sqrt()


def _directions(points: Tensor) -> Tensor:
    """Unit rows; a zero row stays as it is."""
    norm = points.norm(dim=-1, keepdim=True)
    return points / torch.where(norm > 0, norm, 1.0)


@lru_cache(maxsize=256)
def _interpolant(depth: int) -> tuple[tuple[float, ...], float, float]:
    """Chebyshev coefficients of ``Θ̄^(L)`` in ``2t/span - 1``, ``t = ln(1 + stretch phi)`` in ``[0, span]``."""
    stretch = depth / (3 * math.pi)
    span = math.log1p(stretch * math.pi)

    node = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    phi = torch.from_numpy(np.expm1((node + 1) / 2 * span) / stretch).clamp(0, math.pi)
    c = scipy.fft.dct(relu_recursion.kernel_of_angle(phi, depth)[0].numpy()) / NODES
    c[0] /= 2
    (significant,) = np.nonzero(abs(c) > ROUND_OFF * abs(c).max())
    terms = int(significant.max()) + 1
    return tuple(c[:terms].tolist()), stretch, span


def _clenshaw(phi: Tensor, coefficients: tuple[float, ...], stretch: float, span: float) -> Tensor:
    """The interpolant at ``phi``, whose memory is overwritten; Clenshaw's recurrence with three buffers."""
    twice = phi.mul_(stretch).add_(1).log_().mul_(4 / span).sub_(2)  # 2 (2t/span - 1)
    new = torch.zeros_like(twice)
    old = torch.zeros_like(twice)
    for c in reversed(coefficients[1:]):
        following = torch.sub(c, old, out=old).addcmul_(new, twice)
        new, old = following, new
    return torch.sub(coefficients[0], old, out=old).addcmul_(new, twice, value=0.5)


def _angles(x: Tensor, z: Tensor) -> Tensor:
    """Angles ``(n, m)`` between unit rows; those of nearby inputs from their distance."""
    rho = (x @ z.mT).clamp_(-1, 1)
    close = (rho > 1 - CLOSE).nonzero()
    phi = rho.acos_()
    for pairs in close.split(2**15):
        i, j = pairs.unbind(1)
        phi[i, j] = 2 * torch.asin(((x[i] - z[j]).norm(dim=-1) / 2).clamp_max(1))
    return phi


def _gaps(x: Tensor, z: Tensor) -> Tensor:
    """``1 - x·z (n, m)`` of unit rows; those of nearby inputs from their distance."""
    e = (x @ z.mT).neg_().add_(1)
    for pairs in (e < CLOSE).nonzero().split(2**15):
        i, j = pairs.unbind(1)
        e[i, j] = (x[i] - z[j]).square().sum(-1) / 2
    return e


def _tiles(n: int, m: int, device: str, mirrored: bool) -> list[tuple[slice, slice]]:
    side = TILE.get(device, 1024)
    pairs = []
    for i in range(0, n, side):
        for j in range(i if mirrored else 0, m, side):
            pairs.append((slice(i, min(i + side, n)), slice(j, min(j + side, m))))
    return pairs


def _scaled(points: Tensor) -> tuple[Tensor, Tensor | float]:
    """Rows whose squares stay within float64, and the powers of two they were multiplied by: exact."""
    largest = points.abs().amax(-1, keepdim=True)
    if bool(((largest <= FAR) & (largest >= 1 / FAR)).all()):
        return points, 1.0
    scale = torch.ones_like(largest)
    scale[largest > FAR] = 1 / SHIFT
    scale[largest < 1 / FAR] = SHIFT
    return points * scale, scale


def _needs_points(x: Tensor, z: Tensor | None, *, zero: bool) -> tuple[Tensor, Tensor | None]:
    """The points as tensors, checked: float64, of one dimension, finite, and not ``zero`` unless that is allowed."""
    x = validate.tensor("x", x)
    z = None if z is None else validate.tensor("z", z)
    for name, points in (("x", x), ("z", x if z is None else z)):
        if points.requires_grad:
            raise InputError(f"{name} asks for a gradient, which this kernel does not carry: pass {name}.detach()")
        shape = tuple(points.shape)
        if (
            len(shape) < 2
            or 0 in shape
            or points.dtype != torch.float64
            or shape[-1] != x.shape[-1]
            or shape[:-2] != x.shape[:-2]
        ):
            raise InputError(f"{name} must be float64 points (..., n, d) matching x, got {points.dtype} {shape}")
        if not bool(torch.isfinite(points).all()):
            raise InputError(f"{name} holds a non-finite point")
        if not zero and not bool((points.abs().amax(-1) > 0).all()):
            raise InputError(
                f"{name} holds a zero point: without biases the normalised kernel needs a direction of each"
            )
    return x, z
