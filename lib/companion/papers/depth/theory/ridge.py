"""What the deep kernel learns of given points, beside its laws (:mod:`companion.papers.depth.theory.deep_limit`)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from companion.papers.depth.theory import deep_limit, regression
from regimes.kernels import infinite_ntk


def predictions(x: Tensor, fresh: Tensor, y: Tensor, depths: Sequence[int]) -> dict[str, Tensor]:
    """Outputs at infinite time of the ``deep`` kernel, of ``ridge`` regression, and of the law ``expanded`` in ``C/L``.

    Args:
        x: unit points to learn ``(n, d)``, float64.
        fresh: unit points to predict ``(m, d)``, none of them in ``x``.
        y: targets ``(n, k)``.
        depths: each a value of ``L``.

    Returns:
        ``(len(depths), m, k)`` by name. Source: derived here (``deep_limit.ridge_kernels``, ``deep_limit.operator``).
    """
    c = deep_limit.offsets(x), deep_limit.offsets(fresh, x)
    outputs: dict[str, list[Tensor]] = {"deep": [], "ridge": [], "expanded": []}
    for depth in depths:
        gram = infinite_ntk(x, depth=depth)
        cross = infinite_ntk(fresh, x, depth=depth)
        outputs["deep"].append(regression.kernel_flow_prediction(gram, cross, y))
        gram, cross = deep_limit.ridge_kernels(*c, depth)
        outputs["ridge"].append(cross @ torch.linalg.solve(gram, y))  # the law's matrix need not be positive
        outputs["expanded"].append(deep_limit.operator(*c, depth) @ y)
    return {name: torch.stack(along_depth) for name, along_depth in outputs.items()}


def learnt_shares(x: Tensor, depths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Shares that the deep kernel learns of the eigenvectors of the centred ``C``; the ridge learns ``mu/(mu + Λ)``.

    It is ``1 - (1 - a) v·Θ̄⁻¹v`` for the eigenvector ``v``. Source: derived here (head of ``deep_limit``).

    Args:
        x: unit points ``(n, d)``, float64.
        depths: each a value of ``L``.

    Returns:
        The eigenvalues ``mu (n)``, increasing, and the shares ``(len(depths), n)``.
    """
    c = deep_limit.offsets(x)
    strength, modes = torch.linalg.eigh(c - c.mean(0) - c.mean(1, keepdim=True) + c.mean())
    shares = []
    for depth in depths:
        inverse = torch.linalg.solve(infinite_ntk(x, depth=depth), modes)
        shares.append(1 - deep_limit.depth_ridge(depth) / (4 * depth) * (modes * inverse).sum(0))
    return strength, torch.stack(shares)
