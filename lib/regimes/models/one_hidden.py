r"""The one-hidden-layer network of paper A, with a leading axis of independent realisations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regimes import devices, validate
from regimes.models import Realisations, inputs, matching
from regimes.models.tangents import Layer, Readout, Tangents

ENTRIES = 2**26  # of a hidden layer at a time
GAIN = math.sqrt(2.0)  # of the activation, so that E[sigma(z)^2] = 1 for standard normal z


@dataclass(frozen=True)
class Network(Realisations):
    r""":math:`f(x) = \frac1h \sum_n \beta_n\, \sigma(\omega_n \cdot x/\sqrt d + b_n)` with
    :math:`\sigma(z) = \sqrt2 \max(0, z)`, mean-field scaling (``1/h``).

    Attributes:
        omega: first-layer weights ``(E, h, d)``, ``E`` realisations.
        b: biases ``(E, h)``.
        beta: last-layer weights ``(E, h)``.

    Source: paper A, Eq. (1).
    """

    omega: Tensor
    b: Tensor
    beta: Tensor

    @property
    def h(self) -> int:
        """The width."""
        return self.omega.shape[-2]

    @property
    def d(self) -> int:
        """The input dimension."""
        return self.omega.shape[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """``omega, b, beta``."""
        return ("omega", "b", "beta")

    @property
    def tangent_size(self) -> int:
        """``d + 2h``."""
        return self.d + 2 * self.h

    def points(self, x: Tensor, name: str = "x") -> Tensor:
        """Points as the network takes them, see :func:`regimes.models.inputs`."""
        return inputs(x, (self.d,), self.omega, name=name)

    def __call__(self, x: Tensor) -> Tensor:
        """Outputs ``f (E, p)`` at points ``x (p, d)`` shared by all realisations, or ``(E, p, d)``, of any dtype."""
        x = self.points(validate.tensor("x", x).to(self.omega)).expand(len(self.b), -1, -1)
        return torch.cat([self._block(x[:, rows]) for rows in self._blocks(x.shape[-2])], -1)

    def tangents(self, x: Tensor) -> Tangents:
        r"""The derivatives of the output with respect to the parameters.

        With :math:`u_n = \omega_n\cdot x/\sqrt d + b_n` the first layer has
        :math:`\delta_n = \sqrt2\,\beta_n\,1(u_n > 0)/h` (the left derivative at a kink), and :math:`\beta_n` has
        :math:`\sqrt2\max(0, u_n)/h`.
        """
        x = self.points(x).expand(len(self.b), -1, -1)
        u = torch.baddbmm(self.b[:, None, :], x, self.omega.mT, alpha=self.d**-0.5)
        delta = (u > 0) * (self.beta * (GAIN / self.h))[:, None, :]
        first = Layer(x, delta, self.d**-0.5, True, names=self.names[:-1])
        return Tangents((first, Readout(u.relu(), GAIN / self.h, ("beta",))))

    def parameters(self) -> list[Tensor]:
        """``omega``, ``b``, ``beta``."""
        return [self.omega, self.b, self.beta]

    def with_parameters(self, parameters: Sequence[Tensor]) -> "Network":
        """The same network with other weights, of the same shapes."""
        return Network(*matching(parameters, self.parameters()))

    def _block(self, x: Tensor) -> Tensor:
        hidden = torch.baddbmm(self.b[:, :, None], self.omega, x.mT, alpha=self.d**-0.5).clamp_(min=0)
        return (self.beta[:, None, :] @ hidden).squeeze(1) * (GAIN / self.h)

    def _blocks(self, p: int) -> list[slice]:
        """Slices of the points whose hidden layer holds at most ``ENTRIES`` numbers."""
        size = max(1, ENTRIES // (self.omega.shape[0] * self.h))
        return [slice(start, start + size) for start in range(0, p, size)] or [slice(0, 0)]

    def _map(self, change: Callable[[Tensor], Tensor]) -> "Network":
        return Network(*map(change, self.parameters()))


def one_hidden(d: int, h: int, *, seeds: int | Sequence[int], device: str | torch.device = "cpu") -> Network:
    """Networks with standard normal weights, one realisation per seed.

    A seed gives the same weights alone or among others, on every device and, up to rounding, in every precision.

    Args:
        d: input dimension.
        h: width.
        seeds: one seed or several; realisation ``e`` is drawn from ``seeds[e]`` alone.
        device: of the weights; ``"auto"`` picks CUDA if the machine has it.

    Source: paper A, Sec. 2.2.
    """
    validate.integer(1, d=d, h=h)
    all_seeds = [seeds] if isinstance(seeds, int) else seeds
    validate.seeds(all_seeds)
    validate.memory(16 * len(all_seeds) * h * (d + 2), f"{len(all_seeds)} networks of width {h}")
    draws = np.stack([np.random.default_rng(seed).standard_normal((h, d + 2)) for seed in all_seeds])
    weights = torch.from_numpy(draws).to(devices.pick(device))
    omega = weights[..., :d].contiguous()
    b = weights[..., d].clone()
    beta = weights[..., d + 1].clone()
    return Network(omega, b, beta)
