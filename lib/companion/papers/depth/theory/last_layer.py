r"""A network whose last hidden layer has ``m`` neurons, and all layers below infinitely many.

The pre-activations ``z_i`` of the ``m`` neurons are Gaussian processes. Each moves with the tangent kernel of the
layers below, which does not change, so that training is an equation for ``z`` at the points and for the readout ``w``:

``f = s √(2/m) Σ_i w_i σ(z_i)``, ``∂_t z_i(x) = -(1/s) √(2/m) Σ_j K(x, x_j) σ'(z_i(x_j)) w_i r_j``,
``∂_t w_i = -(1/s) √(2/m) Σ_j σ(z_i(x_j)) r_j`` with the residuals ``r = f - y``.

With ``s = 1`` this is the NTK parametrisation, with ``s ~ m^(-1/2)`` the mean-field one. Kernels have the units in
which a pre-activation has variance 1.

Source: paper C, Sec. 5 and Prop. 4 (the regime; the factor ``σ'`` is from Jacot et al. 2018).
"""

import math

import torch
from torch import Tensor

from companion.papers.depth.theory import pairs
from companion.papers.depth.theory.finite import symmetric_root
from regimes import validate
from regimes.kernels import relu_recursion
from regimes.validate import InputError

STEP = 0.5  # of the midpoint rule, over the largest eigenvalue of the infinite kernel
MOST_STEPS = 100_000


def below_last_layer(x: Tensor, *, depth: int) -> tuple[Tensor, Tensor]:
    """Correlations of the last hidden layer's pre-activations, and the tangent kernel ``K`` that moves them.

    Args:
        x: unit points ``(n, d)``, float64.
        depth: layers of weights ``L`` of the network, at least 2; below that layer there are ``L - 1``.

    Returns:
        ``ρ^(L-1)`` and ``S_(L-1)``, both ``(n, n)``.

    Source: paper C, Prop. 2 and Prop. 5.
    """
    pairs.needs_sphere(x)
    validate.integer(2, depth=depth)
    phi = torch.acos((x @ x.mT).clamp(-1, 1)).fill_diagonal_(0)
    kernel, gap = relu_recursion.along_depth(phi, [depth - 1])
    return 1 - gap[0], (depth - 1) * kernel[0]


def gaussian_layer(rho: Tensor, width: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Draws of the pre-activations ``(n, width)`` of covariance ``rho``, and of readout weights ``(width)``."""
    validate.arrays(rho=("n n", rho))
    validate.integer(1, width=width)
    random = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(rho), width, dtype=torch.float64, generator=random)
    readout = torch.randn(width, dtype=torch.float64, generator=random)
    return symmetric_root(rho) @ drawn, readout


def train_layer(
    kernel: Tensor, z: Tensor, readout: Tensor, y: Tensor, *, scale: float = 1.0, slack: float, step: float = STEP
) -> tuple[Tensor, Tensor]:
    """The layer and its readout after gradient flow, once all residuals are below ``slack``, by the midpoint rule.

    Args:
        kernel: ``K (p, p)``.
        z: pre-activations ``(p, m)`` at the start, the points to learn first.
        readout: ``(m)``.
        y: labels ``(n)`` of the first points.
        scale: ``s`` of the output.
        slack: largest residual at the end.
        step: of the rule, over the largest eigenvalue of the tangent kernel at the start.

    Source: paper C, Sec. 5 (module head).
    """
    n, width = len(y), len(readout)
    validate.arrays(kernel=("p p", kernel), z=("p m", z), readout=("m", readout), y=("n", y))
    validate.positive(scale=scale, slack=slack, step=step)
    root = math.sqrt(2 / width)
    active = (z[:n] > 0) * readout
    hidden = z[:n].relu()
    tangent = root**2 * (kernel[:n, :n] * (active @ active.mT) + hidden @ hidden.mT)
    h = step / float(torch.linalg.eigvalsh(tangent)[-1])

    def velocities(z: Tensor, readout: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of the pre-activations and of the readout, and the residuals."""
        hidden = z[:n].relu()
        r = scale * root * (hidden @ readout) - y
        dz = -(root / scale) * (kernel[:, :n] @ ((z[:n] > 0) * r[:, None] * readout))
        dw = -(root / scale) * (r @ hidden)
        return dz, dw, r

    for _ in range(MOST_STEPS):
        dz, dw, r = velocities(z, readout)
        if float(r.abs().max()) < slack:
            return z, readout
        dz, dw, _ = velocities(z + h / 2 * dz, readout + h / 2 * dw)
        z = z + h * dz
        readout = readout + h * dw
    raise InputError(f"slack {slack:g} is not reached in {MOST_STEPS} steps: two points may be nearly the same")


def layer_motion(rho: Tensor, kernel: Tensor, residual: Tensor) -> Tensor:
    r"""The Euclidean norm of the change of the layer's activations in the limit ``m → ∞``, at each point, ``(p)``.

    A neuron moves by ``σ'(z(x)) √(2/m) w Σ_j K(x, x_j) σ'(z(x_j)) R_j`` with ``R`` the residual summed over time, so
    that the squared norm is ``2 Σ_jk K(x, x_j) R_j P(x, x_j, x_k) R_k K(x_k, x)``; ``P``: three Gaussians are positive,
    ``1/2 - (φ_1 + φ_2 + φ_3)/4π`` with their angles.

    Args:
        rho: correlations ``(p, p)``.
        kernel: ``K (p, p)``.
        residual: ``R = Θ^-1 (f_0 - y)`` of the points to learn, the first ``n``; ``(n)``.

    Source: derived here.
    """
    validate.arrays(rho=("p p", rho), kernel=("p p", kernel), residual=("n", residual))
    n = len(residual)
    phi = torch.acos(rho.clamp(-1, 1)).fill_diagonal_(0)
    chance = 0.5 - (phi[:, :n, None] + phi[:, None, :n] + phi[None, :n, :n]) / (4 * math.pi)
    reach = kernel[:, :n] * residual
    return (2 * torch.einsum("pj,pjk,pk->p", reach, chance, reach)).sqrt()
