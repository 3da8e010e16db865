r"""The kernel of a network without uninformative weights, and the even and the odd sector of its components.

After learning, :math:`\omega_{n\perp} \to 0` and the kernel of the one-hidden-layer network becomes

.. math:: Θ(x, z) = Θ_1(x_∥, z_∥) + Θ_2(x_∥, z_∥)\,x_⊥·z_⊥.

For independent :math:`x_⊥` of mean zero and equal variance, its components are functions :math:`φ(x_∥)` of the
informative directions (the even sector, paper A's first kind) or :math:`φ(x_∥)\,u·x_⊥` (the odd sector, its second
kind).

Source: paper A, Sec. 5.1 and App. D.
"""

import numpy as np
import torch
from scipy.interpolate import BSpline
from torch import Tensor

from regimes import validate
from regimes.kernels import ntk
from regimes.models.one_hidden import Network

PIECES = 10  # of the splines in x_1 that stand for any function of it


def sector_kernels(network: Network, x: Tensor, d_parallel: int = 1) -> tuple[Tensor, Tensor]:
    r"""``Θ_1`` and ``Θ_2`` of a network with its uninformative weights set to zero, each ``(E, n, n)``.

    Their sum ``Θ_1 + Θ_2 x_⊥·z_⊥`` is the exact tangent kernel of that network. The network's own kernel differs by the
    effect of its uninformative weights.

    Args:
        network: ``E`` realisations.
        x: points ``(n, d)`` or ``(E, n, d)``.
        d_parallel: number of informative directions, the first ones.

    Raises:
        InputError: for ``d_parallel`` outside ``1 … d``, or points that do not fit.

    Source: paper A, App. D.
    """
    validate.whole(1, network.d, d_parallel=d_parallel)
    omega = network.omega.clone()
    omega[..., d_parallel:] = 0
    projected = x.clone()
    projected[..., d_parallel:] = 0
    compressed = Network(omega, network.b, network.beta)
    # the derivatives by a bias are those by a weight without its input
    return ntk(compressed, projected), ntk(compressed, projected, params=("b",)) / network.d


def relative_residual(network: Network, x: Tensor, d_parallel: int = 1) -> Tensor:
    """``‖Θ - Θ_1 - Θ_2 x_⊥·z_⊥‖/‖Θ‖`` on points ``x``, Frobenius norms: ``(E,)``."""
    even, odd = sector_kernels(network, x, d_parallel)
    across = x[..., d_parallel:]
    kernel = ntk(network, x)
    residual = kernel - even - odd * (across @ across.mT)
    return residual.norm(dim=(-1, -2)) / kernel.norm(dim=(-1, -2))


def sector_shares(vectors: Tensor, x: Tensor) -> Tensor:
    """The shares of the even and the odd sector in each component, ``(r, 2)``, for one informative direction.

    They are shares of the variance about zero that least squares explain, corrected for degrees of freedom: with
    splines in ``x_1`` of ten pieces, and with these times each ``x_⊥``. Noise has a mean share of 0.

    Args:
        vectors: ``φ (n, r)``.
        x: the points ``(n, d)``, ``d >= 2``, the first direction informative.

    Raises:
        InputError: for shapes that do not fit, or fewer points than four times the unknowns of the fit.

    Source: paper A, App. D.
    """
    validate.arrays(vectors=("n r", vectors), x=("n d", x))
    validate.integer(2, **{"dimension of x": x.shape[1]})
    even = _splines(x[:, 0])
    odd = (even.unsqueeze(-1) * x[:, 1:].unsqueeze(1)).flatten(1)
    validate.integer(4 * odd.shape[1], points=len(x))
    return torch.stack([_explained(even, vectors), _explained(odd, vectors)], -1)


def _splines(s: Tensor) -> Tensor:
    """Cubic splines of equally many points per piece at ``s (n,)``: ``(n, pieces + 3)``."""
    knots = np.quantile(s.numpy(), np.linspace(0, 1, PIECES + 1))
    padded = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3])
    return torch.from_numpy(BSpline.design_matrix(s.numpy(), padded, 3).toarray())


def _explained(basis: Tensor, values: Tensor) -> Tensor:
    """``1 - (Σ e²/(n - q))/(Σ v²/n)`` with the errors ``e`` of a linear fit with ``q`` unknowns, ``(r,)``."""
    n, unknowns = basis.shape
    q = torch.linalg.qr(basis)[0]
    residual = (values - q @ (q.mT @ values)).square().sum(0) / (n - unknowns)
    return 1 - residual / values.square().mean(0)
