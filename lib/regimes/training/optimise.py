"""Plain full-batch descent with fixed steps: gradient descent and Adam, for any ensemble of networks.

The loss of one realisation is ``(1/2n) Σ_i |f(x_i) - y_i|²``; realisations do not interact. One step of gradient
descent is ``w ← w - rate ∂loss/∂w``: in the unit of the gradient flow ``dw/dt = -∂loss/∂w``, ``rate`` units of time.

Source: paper C, Sec. 5 (which names neither optimiser nor rate).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from regimes import validate
from regimes.validate import InputError

OPTIMISERS = ("gd", "adam")


class Network(Protocol):
    """What can be trained: maps ``(n, d)`` to ``(s, n, k)``, and lists its parameters."""

    def outputs(self, x: Tensor) -> Tensor:
        """All outputs ``(s, n, k)``."""

    def parameters(self) -> list[Tensor]:
        """The tensors to train."""


@dataclass(frozen=True)
class State:
    """The network after ``step`` steps: ``output (s, n, k)`` and ``loss (s,)`` on the training points."""

    step: int
    loss: Tensor
    output: Tensor


def descend(network: Network, x: Tensor, y: Tensor, *, rate: float | Tensor, optimiser: str = "gd") -> Iterator[State]:
    """Trains in place and yields the state at step 0, 1, 2, …; the caller stops by no longer asking.

    Args:
        network: trained in place.
        x: inputs ``(n, d)``.
        y: targets ``(n, k)`` or ``(s, n, k)``.
        rate: of each step; for ``gd`` also ``(s,)``, one for each realisation.
        optimiser: ``gd``, or ``adam`` (Kingma and Ba, with their constants 0.9, 0.999 and 1e-8).

    Raises:
        InputError: for an unknown optimiser, a rate that is not positive, one rate a realisation with Adam, whose step
            does not depend on the scale of the loss, inputs or targets that are no numbers; and before the first step
            for targets that are not of the output's shape.
    """
    validate.one_of(OPTIMISERS, optimiser=optimiser)
    validate.arrays(x=("... n d", x))
    validate.arrays(y=(f"... {x.shape[-2]} k", y))
    if isinstance(rate, Tensor):
        if optimiser != "gd" or not bool((rate > 0).all()):
            raise InputError(f"one rate a realisation is for gd alone, and must be positive; got {rate.tolist()}")
    else:
        validate.positive(rate=rate)
    return _steps(network, x, y, rate, optimiser)


def _steps(network: Network, x: Tensor, y: Tensor, rate: float | Tensor, optimiser: str) -> Iterator[State]:
    parameters = [weight.requires_grad_(True) for weight in network.parameters()]
    if optimiser == "adam":
        # fused: one pass over the weights, no temporaries of their size
        method, weight = torch.optim.Adam(parameters, lr=rate, fused=True), 1.0
    else:
        method, weight = torch.optim.SGD(parameters, lr=1.0, foreach=False), rate
    step = 0
    while True:
        output = network.outputs(x)
        if y.shape not in (output.shape, output.shape[1:]):
            raise InputError(f"y must have the shape {tuple(output.shape[1:])} of the output, got {tuple(y.shape)}")
        loss = 0.5 * ((output - y) ** 2).sum(-1).mean(-1)
        yield State(step, loss.detach(), output.detach())
        method.zero_grad(set_to_none=False)
        (weight * loss).sum().backward()
        method.step()
        step += 1
