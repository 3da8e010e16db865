"""States of the flow of one-hidden-layer networks, with the exact path inside each step."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regimes.models.one_hidden import Network
from regimes.training import state
from regimes.training.gradient_flow.batch import Batch, rotate


@dataclass(frozen=True)
class FlowState(state.State):
    """See :class:`regimes.training.state.State`. Properties are computed when asked for.

    Attributes:
        batch: the integrator's own record.
        start: the networks at time 0, ``(e, ...)``.
    """

    batch: Batch
    start: Network

    @property
    def t(self) -> Tensor:
        """Times ``(e,)``, float64, in the unit of :mod:`regimes.training.gradient_flow`."""
        return self.batch.t

    @property
    def y(self) -> Tensor:
        """Labels ``(e, p)``."""
        return self.batch.problem.y

    @property
    def margins(self) -> Tensor:
        """``y F`` at the training points ``(e, p)``."""
        return self.batch.now.m

    @property
    def model(self) -> Network:
        """The networks now."""
        return _network(self.batch.now.u, self.batch.now.beta, self.start.bias)

    @property
    def initial(self) -> Network:
        """The networks at time 0."""
        return self.start

    @property
    def multipliers(self) -> Tensor:
        """The mean of ``-l'`` over the last step, ``(e, p)``: which points drive the flow."""
        return self.batch.now.q

    @property
    def open_gates(self) -> Tensor:
        """How many training points activate each neuron, ``(e, h)``."""
        return self.batch.problem.open_gates(self.batch.now.u).sum(-1).to(torch.int64)

    def predict(self, x: Tensor) -> Tensor:
        """The predictor ``F = alpha (f - f_0)`` at other points ``x (n, d)`` or ``(e, n, d)``: ``(e, n)``."""
        return self.batch.problem.alpha * (self.model(x) - self.initial(x))

    def inside(self, share: Tensor) -> "FlowState":
        """The state at ``share (e,)`` of the last step, 0 its start and 1 its end; on the integrator's own path."""
        batch, problem, past = self.batch, self.batch.problem, self.batch.past
        u, beta = rotate(past.u, past.beta, past.mean * (share * past.dt).to(past.u.dtype)[:, None, None])
        m = problem.margins(problem.open_gates(u), u, beta)
        now = replace(batch.now, u=u, beta=beta, m=m)
        return replace(self, batch=replace(batch, now=now, t=batch.t - (1 - share) * past.dt))


def _network(u: Tensor, beta: Tensor, bias: bool) -> Network:
    if bias:
        return Network(u[..., :-1], u[..., -1], beta)
    return Network(u, torch.zeros_like(beta), beta, False)
