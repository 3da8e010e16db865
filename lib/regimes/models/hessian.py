r"""Second derivatives of a fully connected network's output with respect to all weights, in matrix products.

A weight of layer ``l`` moves only :math:`z_l`, by :math:`m_l h_{l-1}`. So each point needs the output's derivatives
with respect to the pre-activations alone. With :math:`\delta_l = \partial f/\partial z_l`,
:math:`G_l = \partial z_{l+1}/\partial z_l` and :math:`C_{lm} = \partial^2 f/\partial z_l\,\partial z_m`,

.. math:: C_{ll} = G_l^\top C_{l+1,l+1} G_l + \mathrm{diag}\bigl(\sigma''(z_l)\; m_{l+1} W_{l+1}^\top\delta_{l+1}\bigr),
          \qquad C_{lm} = G_l^\top C_{l+1,m} \quad (l < m),

and the block of two layers is :math:`m_l m_m \sum_\mu (C_{lm})_{ik}\,h_{l-1,j}\,h_{m-1,n}`, for :math:`l < m` with
:math:`m_l m_m \sum_\mu h_{l-1,j}\,(\delta_m)_k\,\partial h_{m-1,n}/\partial z_{l,i}` added. Any sum
:math:`\sum_\mu (u_\mu\nabla^2 f_\mu + v_\mu\nabla f_\mu\nabla f_\mu^\top)` costs as many operations as
:math:`J^\top J` alone: ``2 p P²`` for ``P`` weights.
"""

import torch
from torch import Tensor

from regimes import validate
from regimes.models.activations import Activation
from regimes.models.fully_connected import FullyConnected
from regimes.models.tangents import total
from regimes.validate import InputError

HELD = 2**18  # numbers of a product at once: what a core's cache holds


def hessian(model: FullyConnected, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
    r""":math:`\sum_\mu (u_\mu\nabla^2 f(x_\mu) + v_\mu\nabla f(x_\mu)\nabla f(x_\mu)^\top)`, ``(E, P, P)``.

    Plain sums over the points; weights in the order of ``model.parameters()``, flattened.

    Args:
        model: without biases, one output.
        x: points ``(p, d)`` or ``(E, p, d)``.
        u: weights of the second derivatives ``(E, p)``.
        v: weights of the products of first derivatives ``(E, p)``.
    """
    if model.biases or model.widths[-1] != 1:
        raise InputError("hessian needs a network without biases and with one output")
    validate.arrays(u=("E p", u), v=("E p", v))
    width = max(model.widths)
    points = min(u.shape[-1], max(64, HELD // width**2))
    together = max(1, HELD // (points * width**2)) if u.device.type == "cpu" else len(u)
    x = x.expand(len(u), *x.shape[-2:])
    with torch.no_grad():
        groups = [slice(e, e + together) for e in range(0, len(u), together)]
        return torch.cat([_summed(model[rows], x[rows], u[rows], v[rows], points) for rows in groups])


def _summed(model: FullyConnected, x: Tensor, u: Tensor, v: Tensor, points: int) -> Tensor:
    parts = zip(x.split(points, 1), u.split(points, 1), v.split(points, 1))
    return total(_assembled(model, *part) for part in parts)


def _assembled(model: FullyConnected, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
    m, W, depth = model.multipliers, model.weights, model.depth
    hidden, before = model._forward(x)
    slopes = [model.sigma.slope(z) for z in before]
    G = [(W[l + 1] * m[l + 1]).unsqueeze(1) * slopes[l].unsqueeze(-2) for l in range(depth - 1)]  # (E, p, n', n)
    delta = [torch.ones_like(hidden[-1][..., :1])]
    C: dict[tuple[int, int], Tensor] = {}
    for l in range(depth - 2, -1, -1):
        pulled = (delta[0] @ W[l + 1]) * m[l + 1]
        direct = torch.diag_embed(pulled * _curvature(model.sigma, before[l]))
        C[l, l] = direct if l == depth - 2 else direct + G[l].mT @ C[l + 1, l + 1] @ G[l]
        for k in range(l + 1, depth - 1):
            C[l, k] = G[l].mT @ C[l + 1, k]
        delta.insert(0, pulled * slopes[l])
    sizes = [weight[0].numel() for weight in W]
    matrix = u.new_zeros(len(u), sum(sizes), sum(sizes))
    starts = [sum(sizes[:l]) for l in range(depth)]
    for l in range(depth):
        Z = torch.eye(W[l].shape[-2]).to(u)  # ∂z_{k-1}/∂z_l
        for k in range(l, depth):
            block = _products(v.unsqueeze(-1) * delta[l], delta[k], C.get((l, k)), u, hidden[l], hidden[k])
            if k > l:
                answer = slopes[k - 1].unsqueeze(-1) * Z
                block = block + _answers(u.unsqueeze(-1) * hidden[l], delta[k], answer)
                Z = G[k - 1] @ Z if k < depth - 1 else Z
            block = (block * (m[l] * m[k])).flatten(3).flatten(1, 2)
            rows = slice(starts[l], starts[l] + sizes[l])
            columns = slice(starts[k], starts[k] + sizes[k])
            matrix[:, rows, columns] = block
            if k > l:
                matrix[:, columns, rows] = block.mT
    return matrix


def _products(a: Tensor, b: Tensor, C: Tensor | None, u: Tensor, h: Tensor, h_other: Tensor) -> Tensor:
    """``Σ (a_i b_k + u C_ik) h_j h'_n`` in the order ``(E, i, j, k, n)``."""
    left = a.unsqueeze(-1) * b.unsqueeze(-2)
    if C is not None:
        left = left + u[..., None, None] * C
    right = h.unsqueeze(-1) * h_other.unsqueeze(-2)
    product = left.flatten(2).mT @ right.flatten(2)
    return product.unflatten(-1, right.shape[2:]).unflatten(1, left.shape[2:]).transpose(2, 3)


def _answers(h: Tensor, delta: Tensor, answer: Tensor) -> Tensor:
    """``Σ h_j δ_k (∂h'_n/∂z_i)`` in the order ``(E, i, j, k, n)``, for ``answer (E, p, n, i)``."""
    left = (h.unsqueeze(-1) * delta.unsqueeze(-2)).flatten(2).mT
    product = left @ answer.flatten(2)
    product = product.unflatten(-1, answer.shape[2:]).unflatten(1, (h.shape[-1], delta.shape[-1]))
    return product.permute(0, 4, 1, 2, 3)


def _curvature(sigma: Activation, z: Tensor) -> Tensor:
    """``σ''``; zero where the slope is flat."""
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        (slope,) = torch.autograd.grad(sigma(z).sum(), z, create_graph=True)
        if not slope.requires_grad:
            return torch.zeros_like(z)
        return torch.autograd.grad(slope.sum(), z)[0]
