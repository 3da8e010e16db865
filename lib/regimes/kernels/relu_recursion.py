"""The deep ReLU kernel of unit vectors as a function of one angle, at any depth.

Two unit vectors at angle ``phi`` have after ``L`` layers the angle ``phi_L`` and the kernel ``S_L = L Θ̄``:

``e_{L+1} = e_L - (sin phi_L - phi_L cos phi_L)/π``,   ``S_{L+1} = (1 - phi_L/π) S_L + 1 - e_{L+1}``,
``e = 1 - cos phi``,

from ``phi_1 = phi``, ``S_1 = cos phi``. In ``e`` nothing cancels, and the diagonal stays exactly 1. Beyond ``WARM_UP``
layers all angles are small, and :mod:`regimes.kernels.relu_asymptotics` jumps to any depth.

Source: paper C, Prop. 5 and Definition 5.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import scipy.fft
import torch
from torch import Tensor

from regimes import validate
from regimes.kernels import relu_asymptotics
from regimes.validate import InputError

WARM_UP = 150  # layers after which every angle is below 0.06, where the series of ``parabolic`` hold to round-off
DEEPEST = 10**15  # whole numbers beyond are not exact in float64
ROUNDING = 1e-6  # by which an angle may exceed π, as float32's does
OFFSET_NODES = 40  # of the interpolant of the offset: beyond some 30 its coefficients are round-off
SMALL = 0.3  # below, sin phi - phi cos phi is summed as a series: the difference would cancel


def layer(phi: Tensor, e: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One layer: ``(phi_L, e_L, S_L) -> (phi_{L+1}, e_{L+1}, S_{L+1})``, any shape. Source: paper C, Prop. 5.

    The angle is not recomputed from ``e``, which would lose half the digits near ``phi = π``.
    """
    e = contract(e, phi)
    return angle(e), e, (1 - phi / math.pi) * s + (1 - e)


def angle(e: Tensor) -> Tensor:
    """The angle ``phi`` with ``1 - cos phi = e``, to full relative precision where ``e`` is small."""
    return 2 * torch.asin(torch.sqrt(e.clamp(0, 2) / 2))


def contract(e: Tensor, phi: Tensor) -> Tensor:
    """``1 - h(1 - e)``, the next layer's ``1 - rho``, without cancellation. Source: paper C, Definition 5."""
    square = phi * phi
    series = torch.zeros_like(phi)
    for k in range(7, 0, -1):  # sin p - p cos p = p³ Σ_k (-1)^(k+1) 2k p^(2k-2) / (2k+1)!
        series = series * square + (-1) ** (k + 1) * 2 * k / math.factorial(2 * k + 1)
    lost = torch.where(phi < SMALL, series * square * phi, torch.sin(phi) - phi * torch.cos(phi))
    return (e - lost / math.pi).clamp_min(0)


def kernel_of_angle(phi: Tensor, depth: int) -> tuple[Tensor, Tensor]:
    """The normalised kernel at one depth: ``Θ̄^(L) = S_L / L`` and the correlation's distance from 1.

    Args:
        phi: angles between unit inputs, in ``[0, π]``, float64, any shape.
        depth: ``L``, at least 1; the cost stops growing at ``WARM_UP`` layers.

    Returns:
        ``Θ̄^(L)`` and ``e_L = 1 - rho^(L)``, both of the shape of ``phi``.

    Source: paper C, Prop. 5.
    """
    kernel, gap = along_depth(phi, [depth])
    return kernel[0], gap[0]


def along_depth(phi: Tensor, depths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """:func:`kernel_of_angle` at several depths in one pass, each ``(len(depths), *phi.shape)``.

    Args:
        phi: angles as there.
        depths: strictly increasing.
    """
    needs_angles(phi)
    depths = [needs_depth(depth) for depth in depths]
    validate.increasing(depths=depths)
    e = 2 * torch.sin(phi / 2) ** 2
    s = torch.cos(phi)
    layers = 1
    kernels, gaps = [], []
    for depth in depths:
        while layers < min(depth, WARM_UP):
            phi, e, s = layer(phi, e, s)
            layers += 1
        if depth <= WARM_UP:
            kernels.append(s / depth)
            gaps.append(e)
        else:
            phi_late, s_late = relu_asymptotics.jump(phi, s, depth - WARM_UP)
            kernels.append(s_late / depth)
            gaps.append(2 * torch.sin(phi_late / 2) ** 2)
    return torch.stack(kernels), torch.stack(gaps)


def offset(phi: Tensor) -> Tensor:
    """The offset ``c = lim 3π/phi_L - L - (3/2) ln L``, all that order ``1/L`` keeps of the input; to 1e-12, relative.

    ``c - 3π/phi - (3/2) ln phi`` is smooth on ``[0, π]``: a Chebyshev interpolant of 40 nodes replaces the layers.

    Args:
        phi: angles in ``(0, π]``, float64, any shape.

    Returns:
        ``c``, of the shape of ``phi``; infinite at ``phi = 0``.

    Source: derived here, from the Abel function of the layer map.
    """
    needs_angles(phi)
    first, *higher = _smooth_offset()
    twice = phi * (4 / math.pi) - 2
    new, old = torch.zeros_like(phi), torch.zeros_like(phi)
    for c in reversed(higher):  # Clenshaw's recurrence
        new, old = new * twice - old + c, new
    smooth = first + new * twice / 2 - old
    return smooth + 3 * math.pi / phi + 1.5 * phi.clamp_min(relu_asymptotics.SMALLEST).log()


@lru_cache(maxsize=1)
def _smooth_offset() -> tuple[float, ...]:
    """Chebyshev coefficients in ``2 phi/π - 1`` of ``c - 3π/phi - (3/2) ln phi``."""
    node = np.cos(np.pi * (np.arange(OFFSET_NODES) + 0.5) / OFFSET_NODES)
    phi = torch.from_numpy((node + 1) / 2 * math.pi)
    smooth = layered_offset(phi) - 3 * math.pi / phi - 1.5 * phi.log()
    c = scipy.fft.dct(smooth.numpy()) / OFFSET_NODES
    c[0] /= 2
    return tuple(c.tolist())


def layered_offset(phi: Tensor) -> Tensor:
    """:func:`offset` layer by layer, for angles above 0, to which the interpolant is fitted."""
    needs_angles(phi)
    e = 2 * torch.sin(phi / 2) ** 2
    for _ in range(WARM_UP):
        e = contract(e, phi)
        phi = angle(e)
    return relu_asymptotics.abel(phi) - WARM_UP - 1 - 1.5 * math.log(3 * math.pi)


def needs_angles(phi: Tensor) -> None:
    """Raises :class:`InputError` unless ``phi`` holds float64 angles in ``[0, π]``."""
    validate.arrays(phi=("...", phi))
    if phi.dtype != torch.float64 or not (float(phi.min()) >= 0 and float(phi.max()) <= math.pi + ROUNDING):
        raise InputError(
            f"phi must hold float64 angles from 0 to π, got {phi.dtype}, {float(phi.min()):g} to {float(phi.max()):g}"
        )


def needs_depth(depth: int) -> int:
    """A depth as a plain whole number; raises :class:`InputError` unless it lies between 1 and 10^15."""
    validate.whole(1, DEEPEST, depth=depth)
    return int(depth)
