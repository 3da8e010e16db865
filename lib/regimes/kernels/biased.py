r"""The layers of the infinitely wide ReLU network with biases, for pairs of points of any norms.

With biases of variance 1 a point's variance goes from ``v`` to ``w v + 1``, with ``w = 1`` at the inputs and ``1/2``
after a ReLU: as the square of the norm of a vector ``√(w v) u`` with a unit vector ``u``, to which a coordinate 1 is
added. It turns every vector by an angle ``θ``, ``tan θ = √(w v)``, towards the same direction.
So ``z = (1 - ρ)/2``, with the correlation ``ρ`` of two points, at the angle ``sin²(φ/2) = z``, follows

.. math:: z \to g\,\Big(z - \frac{\sin\varphi - \varphi\cos\varphi}{2\pi}\Big) + \sin^2\frac{\theta_1-\theta_2}2, \qquad
   g = \sin\theta_1\sin\theta_2,

and the kernel over the roots of both variances ``τ -> g (1 - φ/π) τ + 1 - 2z``. Nothing cancels for nearby points, and
the ``θ`` are those of points, not of pairs. They are constant to round-off after some 60 layers: what is left is
repeated, until ``τ`` is constant, too.

Source: paper C, Theorem 1 and App. A; the angles are ours.
"""

import ctypes
import functools
from pathlib import Path

import torch
from torch import Tensor

from regimes import compiler
from regimes.kernels import relu_recursion

NAME = "biased.c"
CODE = compiler.Code(
    "kernels",
    {NAME: Path(__file__).with_name(NAME).read_text(encoding="utf-8")},
    # numbers are finite here; sums stay in their order
    (*compiler.FLAGS, "-fno-math-errno", "-fno-trapping-math", "-ffinite-math-only", "-fno-signed-zeros"),
    "the kernel with biases is computed on tensors, not in C, many times as slowly",
)
MOST = 320  # layers after which the variances of norms up to 1e30 are constant
SETTLED = 2200  # layers after which everything is


class Turns:
    """Half the angles ``θ`` of points, layer by layer.

    Attributes:
        sines: ``sin(θ/2) (layers, n)``; the last row repeats in deeper layers.
        cosines: ``cos(θ/2) (layers, n)``.
        variance: after the last layer ``(n,)``.
    """

    def __init__(self, squares: Tensor, depth: int) -> None:
        """From ``|x|²/d`` in units of the biases' variance, ``(n,)``."""
        sines, cosines = [], []
        variance, weight = squares, 1.0
        for _ in range(min(depth, MOST)):
            half = (weight * variance).sqrt().atan() / 2
            sines.append(half.sin())
            cosines.append(half.cos())
            variance, weight = weight * variance + 1, 0.5
        self.sines, self.cosines = torch.stack(sines), torch.stack(cosines)
        self.variance = variance

    def at(self, points: slice) -> tuple[Tensor, Tensor]:
        """Sines and cosines ``(layers, n)`` of some points, contiguous."""
        return self.sines[:, points].contiguous(), self.cosines[:, points].contiguous()


@functools.cache
def compiled() -> ctypes.CDLL | None:
    """The compiled layers, if there is a compiler."""
    return CODE.load()


def layers(e: Tensor, x: tuple[Tensor, Tensor], z: tuple[Tensor, Tensor], depth: int) -> Tensor:
    """``τ (n, m)`` after ``depth`` layers; ``e``, contiguous, is overwritten.

    Args:
        e: ``1 - cos`` of the angles between the points' directions, ``(n, m)``, float64.
        x: of the rows, from :class:`Turns`.
        z: of the columns.
        depth: number of layers.
    """
    depth = min(depth, SETTLED)
    half = e.mul_(0.5).mul_(_gain(x, z, 0)).add_(_turned(x, z, 0))  # no ReLU before the first bias
    library = compiled() if e.device.type == "cpu" else None
    if library is None:
        return _on_tensors(half, x, z, depth)
    sizes = [ctypes.c_long(size) for size in (*half.shape, half.stride(0), depth, len(x[0]))]
    library.biased_layers(*sizes, *(ctypes.c_void_p(array.data_ptr()) for array in (*x, *z, half)))
    return half


def _gain(x: tuple[Tensor, Tensor], z: tuple[Tensor, Tensor], layer: int) -> Tensor:
    """``sin θ sin θ'`` of all pairs."""
    mine, theirs = (2 * sines[layer] * cosines[layer] for sines, cosines in (x, z))
    return mine.unsqueeze(-1) * theirs


def _turned(x: tuple[Tensor, Tensor], z: tuple[Tensor, Tensor], layer: int) -> Tensor:
    """``sin² (θ - θ')/2`` of all pairs."""
    (p, q), (b, c) = ([table[layer] for table in tables] for tables in (x, z))
    return (p.unsqueeze(-1) * c).sub_(q.unsqueeze(-1) * b).square_()


def _on_tensors(half: Tensor, x: tuple[Tensor, Tensor], z: tuple[Tensor, Tensor], depth: int) -> Tensor:
    """As ``biased.c``."""
    theta = 1 - 2 * half
    for layer in range(1, depth):
        row = min(layer, len(x[0]) - 1)
        phi = relu_recursion.angle(2 * half)
        gain = _gain(x, z, row)
        half = (relu_recursion.contract(2 * half, phi) / 2).mul_(gain).add_(_turned(x, z, row))
        before = theta
        theta = gain.mul_(1 - phi / torch.pi).mul_(theta).add_(1 - 2 * half)
        if layer > len(x[0]) and torch.equal(before, theta):
            break
    return theta
