"""States of the flow of one-hidden-layer networks, with the exact path inside each step."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from regimes.models.one_hidden import Network
from regimes.training import state
from regimes.training.gradient_flow.batch import Batch, rotate
from regimes.training.gradient_flow.compiled import Step


@dataclass(frozen=True)
class FlowState(state.State):
    """A state of the flow, see :class:`regimes.training.state.State`. Properties are computed on demand.

    Attributes:
        at: the integrator's own record, whose arrays are made when somebody looks at them; ``batch`` is all of it.
        start: the networks at time 0, ``(e, ...)``.
        dtype: the precision of the caller's networks.
    """

    at: Batch | Step
    start: Network
    dtype: torch.dtype

    @property
    def batch(self) -> Batch:
        """The record with all its arrays."""
        return self.at.batch

    @property
    def t(self) -> Tensor:
        """Times ``(e,)``, float64, in the unit of :mod:`regimes.training.gradient_flow`."""
        return self.at.t

    @property
    def y(self) -> Tensor:
        """Labels ``(e, p)``."""
        return self.at.problem.y

    @cached_property
    def margins(self) -> Tensor:
        """``y F`` at the training points ``(e, p)``."""
        return self.batch.exact().now.m

    def margins_to(self, level: float) -> Tensor:
        """See :meth:`regimes.training.state.State.margins_to`; up to the hinge's corner without computing any."""
        return self.at.m if level <= 1 else self.margins

    @property
    def fitted(self) -> Tensor:
        """See :attr:`regimes.training.state.State.fitted`; the step has counted."""
        return self.at.fitted

    @property
    def model(self) -> Network:
        """The networks now."""
        u = self.batch.now.u
        return Network(u[..., :-1], u[..., -1], self.batch.now.beta)

    @property
    def initial(self) -> Network:
        """The networks at time 0."""
        return self.start

    @property
    def given(self) -> torch.dtype:
        """The precision of the caller's networks."""
        return self.dtype

    def inside(self, share: Tensor) -> "FlowState":
        """The state at ``share (e,)`` of the last step, 0 its start and 1 its end, on the integrator's path."""
        batch, past = self.batch, self.batch.past
        push = past.mean * (share * past.dt).to(past.u.dtype)[:, None, None]
        u, beta = rotate(past.u, past.beta, push)
        now = replace(batch.now, u=u, beta=beta, m=batch.problem.own_margins(u, beta))
        t = batch.t - (1 - share) * past.dt
        return replace(self, at=replace(batch, now=now, t=t, screen=None, signs=None))
