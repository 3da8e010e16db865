"""Test errors of a predictor: over points, or exact along lines.

Source: paper A, Eq. 1.
"""

import torch
from torch import Tensor

from regimes import validate
from regimes.models.one_hidden import Network
from regimes.validate import InputError

LINES = 2**24  # lines times neurons of one block; some fifteen arrays of it


def wrong(f: Tensor, y: Tensor) -> Tensor:
    """The share of points with ``f y <= 0``, over the last axis; ties are errors, as in the original code."""
    validate.arrays(f=("... n", f))
    validate.arrays(y=("... n", y))
    if f.shape != y.shape:
        raise InputError(f"y must have the shape {tuple(f.shape)} of f, got {tuple(y.shape)}")
    return (f * y <= 0).double().mean(-1)


def line_error(network: Network, initial: Network, across: Tensor, edges: Tensor) -> Tensor:
    r"""Test error of ``α(f - f_0)``, exact along the first axis: a mean over ``n`` lines of a Gaussian measure.

    On a line the predictor is linear between the kinks of its neurons, so that its zeros are known. A few hundred
    sampled lines give a small error as precisely as ``10^5`` points.

    Args:
        network: at the end of training, ``S`` realisations.
        initial: at time 0, the same shapes.
        across: the other coordinates of each line, standard normal, ``(S, n, d - 1)``.
        edges: where the label changes on a line, ``(S, n, k)``, increasing; +1 before the first. Equal edges cancel.

    Returns:
        ``(S,)``.

    Source: paper A, Eq. 1; the zeros are derived here.
    """
    count = len(network.beta)
    validate.arrays(across=(f"{count} n {network.d - 1}", across), edges=(f"{count} n k", edges))
    if edges.shape[1] != across.shape[1] or initial.omega.shape != network.omega.shape:
        raise InputError("edges must be given for every line, and initial must have the shapes of network")
    weights = [torch.cat([getattr(net, name) for net in (network, initial)], 1).double() for name in ("omega", "b")]
    beta = torch.cat([network.beta, -initial.beta], 1).double()
    rows = zip(*weights, beta, across, edges, strict=True)
    return torch.stack([_line_errors(*row).mean() for row in rows])


def _line_errors(omega: Tensor, b: Tensor, beta: Tensor, across: Tensor, edges: Tensor) -> Tensor:
    """The errors of one predictor ``Σ_n β_n max(0, ω_n·x/√d + b_n)`` on each line, ``(n,)``, some lines at a time."""
    size = max(1, LINES // len(beta))
    pairs = zip(across.split(size), edges.split(size), strict=True)
    return torch.cat([_on_lines(omega, b, beta, *pair) for pair in pairs])


def _on_lines(omega: Tensor, b: Tensor, beta: Tensor, across: Tensor, edges: Tensor) -> Tensor:
    slope = omega[:, 0] / omega.shape[1] ** 0.5
    slope = torch.where(slope == 0, 1e-300, slope)  # a neuron that is constant along the line
    offset = across @ omega[:, 1:].mT / omega.shape[1] ** 0.5 + b
    cuts, order = torch.cat([-offset / slope, edges], 1).sort(1)
    turns = torch.cat([(beta * slope.abs()).expand_as(offset), torch.zeros_like(edges)], 1).gather(1, order)
    jumps = torch.cat([beta * slope.sign() * offset, torch.zeros_like(edges)], 1).gather(1, order)
    passed = torch.cat([torch.zeros_like(offset), torch.ones_like(edges)], 1).gather(1, order)
    active = beta * (slope < 0)  # far to the left
    linear = torch.cat([(active * slope).sum().expand(len(cuts), 1), turns], 1).cumsum(1)
    constant = torch.cat([(active * offset).sum(1, keepdim=True), jumps], 1).cumsum(1)
    changes = torch.cat([torch.zeros_like(cuts[:, :1]), passed], 1).cumsum(1)  # of the label, up to each piece
    y = 1 - 2 * torch.remainder(changes, 2)
    infinite = torch.full_like(cuts[:, :1], torch.inf)
    ends = torch.cat([-infinite, cuts, infinite], 1)
    left, right = ends[:, :-1], ends[:, 1:]
    flat = linear == 0
    zero = torch.where(flat, right, -constant / torch.where(flat, 1.0, linear)).clamp(left, right)
    below, at, above = (torch.special.ndtr(x) for x in (left, zero, right))
    wrong_before = torch.where(flat, constant, -linear) * y <= 0  # the zero of the predictor
    wrong_after = linear * y <= 0
    return (wrong_before * (at - below) + wrong_after * (above - at)).sum(1)
