r"""Tangent kernels of ReLU networks of a finite width at their start, without their weights.

A layer's weights act on the ``n`` vectors that the points bring, and their transpose on the ``n`` that come back. Given
the first, the second are Gaussian but for a part that is known: so a layer costs some products of ``(width, n)`` with
``(n, n)``, not of ``(width, width)``, and the kernel has exactly the law of one of a network with drawn weights.

Source: derived here; conditioning on what the weights have been applied to is from Bolthausen (2014) and Yang (2020).
"""

import math

import torch
from torch import Tensor

from companion.papers.depth.theory import pairs
from regimes import validate
from regimes.kernels import relu_recursion
from regimes.validate import InputError


def finite_kernel(x: Tensor, *, depth: int, width: int, seed: int) -> Tensor:
    r"""The tangent kernel of one network at its start, over its mean on the diagonal.

    ``(1/L) Σ_l (b_l·b'_l)(a_{l-1}·a'_{l-1})`` with the activations ``a_l = √(2/m) σ(z_l)``, ``z_l = W_l a_{l-1}``, and
    the derivatives ``b_l = √(2/m) σ'(z_l) W_{l+1}ᵀ b_{l+1}`` of the output, which is ``z_L``.

    Args:
        x: unit points ``(n, d)``, float64, no two of them equal.
        depth: layers of weights ``L``, at least 2.
        width: neurons ``m`` of each hidden layer, at least ``n``.
        seed: of the weights.

    Returns:
        ``(n, n)``; it tends to ``infinite_ntk(x, depth=depth)`` as the width grows.

    Source: paper C, Sec. 2 (the kernel); derived here (its law, module head).
    """
    pairs.needs_sphere(x)
    validate.integer(2, depth=depth)
    validate.integer(1, width=width)
    n = len(x)
    if width < n:
        raise InputError(f"width must be at least {n}, the number of points, got {width}")
    random = torch.Generator().manual_seed(seed)

    def normal(columns: int) -> Tensor:
        return torch.randn(width, columns, dtype=torch.float64, generator=random)

    def hidden(drawn: Tensor, root: Tensor) -> tuple[Tensor, Tensor]:
        """Where neurons are active, and what they pass on, ``(width, n)`` each, scaled."""
        z = drawn @ root
        on = (z > 0).to(z.dtype).mul_(math.sqrt(2 / width))
        return on, z * on

    grams, roots, draws = [x @ x.mT], [x.mT], [normal(x.shape[1])]
    for layer in range(1, depth):
        _, passed = hidden(draws[-1], roots[-1])
        grams.append(passed.mT @ passed)
        if layer < depth - 1:
            root, failed = torch.linalg.cholesky_ex(grams[-1], upper=True)
            if bool(failed):
                raise InputError(f"a layer of width {width} merges two points: take a larger width")
            roots.append(root)
            draws.append(normal(n))
    on, _ = hidden(draws[-1], roots[-1])
    back = on * normal(1)
    kernel = grams[-1].clone()
    for layer in range(depth - 1, 0, -1):
        inner = back.mT @ back
        kernel += inner * grams[layer - 1]
        if layer > 1:
            on, passed = hidden(draws[layer - 2], roots[layer - 2])
            new = normal(n) @ symmetric_root(inner)  # what other weights would bring back
            frame = torch.linalg.solve_triangular(roots[layer - 1], passed, upper=True, left=False)  # orthonormal
            back = on * (new + frame @ (draws[layer - 1].mT @ back - frame.mT @ new))
    return kernel / depth


def symmetric_root(gram: Tensor) -> Tensor:
    r"""The positive root ``R`` of a covariance, ``R R = gram``; ``(n, n)``, also of a singular matrix.

    What it makes of given normal numbers does not depend on the signs and bases of eigenvectors, which each library
    chooses: this root is unique, and continuous in the matrix.
    """
    values, vectors = torch.linalg.eigh(gram)
    return (vectors * values.clamp_min(0).sqrt()) @ vectors.mT


def offset_variance(phi: Tensor, *, depth: int, width: int) -> Tensor:
    r"""Variance of ``3π/phi_L`` over networks of a finite width, to first order in ``1/width``; about ``2L³/(3m)``.

    A layer gives a small angle a relative error of variance ``2/m``: that of ``|a - a'|²`` is ``5/m``, that of ``|a|²``
    as well, and their covariance ``1/m``. What it adds to ``3π/phi`` later layers keep, so that it is a sum,
    ``(2/m) Σ_l (3π/phi_l)²``.

    Args:
        phi: angles of pairs of inputs, any shape.
        depth: ``L``; there are ``L - 1`` layers of neurons before the angle ``phi_L``.
        width: ``m``.

    Source: derived here.
    """
    validate.arrays(phi=("...", phi))
    validate.integer(2, depth=depth)
    validate.integer(1, width=width)
    total = torch.zeros_like(phi)
    for _ in range(depth - 1):
        phi = relu_recursion.angle(relu_recursion.contract(2 * torch.sin(phi / 2) ** 2, phi))
        total = total + (3 * math.pi / phi) ** 2
    return 2 / width * total
