r"""Tangent kernels of ReLU networks of a finite width at their start, without their weights.

A layer's weights act on the ``n`` vectors that the points bring, and their transpose on the ``n`` that come back. Given
the first, the second are Gaussian but for a part that is known: so a layer costs some products of ``(width, n)`` with
``(n, n)``, not of ``(width, width)``, and the kernel has exactly the law of one of a network with drawn weights.

Source: derived here; conditioning on what the weights have been applied to is from Bolthausen (2014) and Yang (2020).
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from companion.papers.depth.theory import pairs
from regimes import validate
from regimes.kernels import relu_recursion, residual
from regimes.validate import InputError


def finite_kernel(
    x: Tensor, *, depth: int, width: int, seed: int, shares: Sequence[float] | np.ndarray | None = None
) -> Tensor:
    r"""The tangent kernel of one network at its start, over its mean on the diagonal.

    ``(1/L) Σ_l (b_l·b'_l)(a_{l-1}·a'_{l-1})`` with the activations ``a_l = √(2/m) σ(z_l)``, ``z_l = W_l a_{l-1}``, and
    the derivatives ``b_l = √(2/m) σ'(z_l) W_{l+1}ᵀ b_{l+1}`` of the output, which is ``z_L``. A layer of the share
    ``s`` is ``z_l = √(1 - s) z_{l-1} + √s W_l a_{l-1}``, where ``a_{l-1}`` has the ReLU of ``z_{l-1}`` divided by its
    root mean square over the neurons; it adds ``s`` times its term, and the sum is over ``1 + Σ s_l``.

    Args:
        x: unit points ``(n, d)``, float64, no two of them equal.
        depth: layers of weights ``L``, at least 2.
        width: neurons ``m`` of each hidden layer, at least ``n``.
        seed: of the weights.
        shares: of the layers after the input layer, ``(depth - 1)`` numbers above 0, the last of them 1 (a readout);
            they make it a network with skips whose layers are normalised before the ReLU. ``None``: a plain network.

    Returns:
        ``(n, n)``; it tends to ``infinite_ntk(x, depth=depth)``, or ``residual_ntk(x, shares=shares)``, as the width
        grows.

    Source: paper C, Sec. 2 (the kernel); derived here (its law, module head).
    """
    pairs.needs_sphere(x)
    validate.integer(2, depth=depth)
    validate.integer(1, width=width)
    n = len(x)
    if width < n:
        raise InputError(f"width must be at least {n}, the number of points, got {width}")
    share = [1.0] * (depth - 1) if shares is None else [float(s) for s in shares]
    if len(share) != depth - 1 or not all(0 < s <= 1 for s in share) or share[-1] != 1:
        raise InputError(f"shares must be {depth - 1} numbers above 0 and up to 1, the last of them 1, got {shares!r}")
    random = torch.Generator().manual_seed(seed)

    def normal(columns: int) -> Tensor:
        return torch.randn(width, columns, dtype=torch.float64, generator=random)

    def hidden(z: Tensor) -> tuple[Tensor, Tensor]:
        """What the neurons multiply their pre-activations by, and what they pass on, ``(width, n)`` each, scaled."""
        on = (z > 0).to(z.dtype).mul_(math.sqrt(2 / width))
        if shares is not None:
            on = on / z.square().mean(0).sqrt()
        return on, z * on

    grams, roots, draws = [x @ x.mT], [x.mT], [normal(x.shape[1])]
    streams = [draws[0] @ x.mT]
    for layer in range(1, depth):
        _, passed = hidden(streams[-1])
        grams.append(passed.mT @ passed)
        if layer < depth - 1:
            root, failed = torch.linalg.cholesky_ex(grams[-1], upper=True)
            if bool(failed):
                raise InputError(f"a layer of width {width} merges two points: take a larger width")
            roots.append(root)
            draws.append(normal(n))
            following, s = draws[-1] @ root, share[layer - 1]
            streams.append(following if s == 1 else math.sqrt(1 - s) * streams[-1] + math.sqrt(s) * following)

    def before(z: Tensor, on: Tensor, back: Tensor) -> Tensor:
        """The derivative by the pre-activations from that by what the weights are applied to."""
        back = on * back
        if shares is not None:  # nothing comes back along the stream, whose norm is divided out
            back = back - z * ((z * back).sum(0) / z.square().sum(0))
        return back

    on, _ = hidden(streams[-1])
    back = before(streams[-1], on, normal(1))
    kernel = grams[-1].clone()
    for layer in range(depth - 1, 0, -1):
        inner = back.mT @ back
        s = 1.0 if layer == 1 else share[layer - 2]
        kernel += inner * grams[layer - 1] if s == 1 else s * inner * grams[layer - 1]
        if layer > 1:
            on, passed = hidden(streams[layer - 2])
            new = normal(n) @ symmetric_root(inner)  # what other weights would bring back
            frame = torch.linalg.solve_triangular(roots[layer - 1], passed, upper=True, left=False)  # orthonormal
            brought = before(streams[layer - 2], on, new + frame @ (draws[layer - 1].mT @ back - frame.mT @ new))
            back = brought if s == 1 else math.sqrt(1 - s) * back + math.sqrt(s) * brought
    return kernel / (1 + sum(share))


def symmetric_root(gram: Tensor) -> Tensor:
    r"""The positive root ``R`` of a covariance, ``R R = gram``; ``(n, n)``, also of a singular matrix.

    What it makes of given normal numbers does not depend on the signs and bases of eigenvectors, which each library
    chooses: this root is unique, and continuous in the matrix.
    """
    values, vectors = torch.linalg.eigh(gram)
    return (vectors * values.clamp_min(0).sqrt()) @ vectors.mT


def offset_variance(phi: Tensor, *, depth: int, width: int) -> Tensor:
    r"""Variance of ``3π/phi_L`` over plain networks of a finite width, to first order in ``1/width``.

    A layer's correlation is a mean over its neurons, of variance ``v(φ)/m``, ``v = E(2σ(u)σ(v) - h (σ(u)² + σ(v)²))²``.
    The layers behind multiply an error of the angle by ``(1 - φ/π) sin φ_l/sin φ_{l+1}`` each. For small angles the
    relative error of an angle has the variance ``2/m``, and later layers keep what it adds to ``3π/φ``: ``(2/m) Σ_l
    (3π/φ_l)²``, about ``2L³/(3m)``. Orders beyond the first add a tenth at depth 12 and width 500.

    Args:
        phi: angles of pairs of inputs in ``(0, π)``, any shape.
        depth: ``L``; there are ``L - 1`` layers of neurons before the angle ``phi_L``.
        width: ``m``.

    Source: derived here.
    """
    validate.arrays(phi=("...", phi))
    validate.integer(2, depth=depth)
    validate.integer(1, width=width)
    total = torch.zeros_like(phi)
    for _ in range(depth - 1):
        following = relu_recursion.angle(relu_recursion.contract(2 * torch.sin(phi / 2) ** 2, phi))
        kept = (1 - phi / math.pi) * phi.sin() / following.sin()
        total = total * kept**2 + _correlation_noise(phi) / (width * following.sin() ** 2)
        phi = following
    return total * (3 * math.pi / phi**2) ** 2


def _correlation_noise(phi: Tensor) -> Tensor:
    """``v(φ)`` of :func:`offset_variance`, from the moments of rectified Gaussian pairs of that angle."""
    rho, sine = phi.cos(), phi.sin()
    left = math.pi - phi
    h = (sine + left * rho) / math.pi
    even = (3 * rho * sine + (1 + 2 * rho**2) * left) / (2 * math.pi)  # E σ(u)² σ(v)²
    fourth = 3 * left / 8 + (2 * phi).sin() / 4 - (4 * phi).sin() / 32  # of the cosine, where both are positive
    odd = 4 / math.pi * (rho * fourth + sine**5 / 4)  # E σ(u)³ σ(v)
    # by differences of the order of φ² of numbers of order 1
    return (4 * even - 8 * h * odd + h**2 * (3 + 2 * even)).clamp_min(0)


def small_angle_walk(phi: Tensor, *, shares: Sequence[float] | np.ndarray, width: int) -> Tensor:
    r"""Variance of ``3π/phi_L`` of networks with skips by the walk of small angles, ``(2/m) Σ_l s_l (3π/φ_l)²``.

    A layer of the share ``s`` gives a small angle a relative error of variance ``2s/m``: about ``2τ³/3m`` in all. It
    takes a layer's neurons for new ones, which they are the less the more they share with those before.

    Args:
        phi: angles of pairs of inputs in ``(0, π)``, any shape.
        shares: of the layers after the input layer.
        width: ``m``.

    Source: derived here.
    """
    validate.arrays(phi=("...", phi))
    validate.integer(1, width=width)
    total = torch.zeros_like(phi)
    for s in shares:
        phi = residual.kernel_of_angle(phi, [s])[1]
        total = total + s * (3 * math.pi / phi) ** 2
    return 2 / width * total


def pair_angle(phi: float, *, shares: Sequence[float] | np.ndarray, width: int, draws: int, seed: int) -> np.ndarray:
    """``phi_L`` of two inputs in ``draws`` networks of a finite width with these shares, ``(draws,)``.

    Layers are normalised before the ReLU, which in plain ones (shares of 1) changes no angle. No weights are drawn:
    given what a layer receives, its outputs at two points are Gaussian pairs.

    Args:
        phi: angle of the inputs, between 0 and π.
        shares: of the layers after the input layer.
        width: ``m``.
        draws: number of networks.
        seed: of the draws.

    Source: derived here (module head).
    """
    validate.within(0, math.pi, phi=phi)
    validate.integer(2, width=width)
    validate.integer(1, draws=draws)
    random = np.random.default_rng(seed)
    first = np.array([[1, math.cos(phi)], [0, math.sin(phi)]])
    angles = []
    for _ in range(draws):
        z = random.standard_normal((width, 2)) @ first
        for place, s in enumerate(shares):
            a = np.maximum(z / np.sqrt(np.mean(z * z, axis=0)), 0) * math.sqrt(2 / width)
            if s == 1 and place == len(shares) - 1:
                z = a  # of the same angle, in the mean over the last weights
            else:
                root = np.linalg.cholesky(a.T @ a).T
                z = math.sqrt(1 - s) * z + math.sqrt(s) * (random.standard_normal((width, 2)) @ root)
        unit = z / np.linalg.norm(z, axis=0)
        angles.append(2 * math.asin(min(1.0, float(np.linalg.norm(unit[:, 0] - unit[:, 1])) / 2)))
    return np.array(angles)
