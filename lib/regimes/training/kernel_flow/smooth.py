r"""The flow of a frozen kernel under a smooth loss: Runge-Kutta-Chebyshev steps of second order.

``dm/dt = Q q(m)``, ``q = -l'(m)``, is stiff with a real spectrum, for ``-Q l''`` is similar to a symmetric matrix. A
Chebyshev step of ``s`` stages costs ``s`` products with ``Q``, ``O(s p²)``, and is stable ``s²/2`` times longer than
an Euler step. The steps keep the local error of every margin within the tolerance.

Source: the flow is paper A, Eq. 4; the method is RKC of Sommeijer, Shampine and Verwer, J. Comput. Appl. Math. 88
(1998) 315.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from regimes.models.losses import Loss
from regimes.training.state import Ended, Ending

SAFETY = 1.3  # the stiffness is estimated by power iterations from below, and at the start of the step
REST = 1e-3  # at rest: a doubling of the time moves no margin by more than this part of the tolerance
STAGES = 500  # most stages a step: beyond, round-off of the recursion would show


class SmoothPath:
    """One realisation on its way; :meth:`step` makes one step of the method.

    Attributes:
        t: time.
        state: margins ``m`` and integrals ``a = ∫ q dt``, so that ``m = Q a``; ``(2, p)``.
        events: accepted steps so far.
        ended: why it ended, ``None`` while it runs.
    """

    def __init__(self, Q: Tensor, loss: Loss, *, tolerance: float) -> None:
        self.Q, self.loss, self.tolerance = Q, loss, tolerance
        self.t, self.events, self.ended = 0.0, 0, None
        self.state = Q.new_zeros(2, len(Q))
        self._rate = self._flow(self.state)
        self._direction = self._rate[0] + Q.diagonal() / len(Q)
        self._stiffness = self._power(10)
        self._length = 0.1 * tolerance**0.5 / max(float(self._rate[0].abs().max()), self._stiffness, 1e-300)

    def step(self) -> None:
        """One accepted step; sets ``ended`` when every margin is met, or when nothing moves any more."""
        while True:
            new, rate = self._chebyshev(self.state)
            gap = 0.8 * (self.state[0] - new[0]) + 0.4 * self._length * (self._rate[0] + rate[0])
            error = float(gap.abs().max()) / self.tolerance
            length = self._length
            self._length *= min(3.0, max(0.2, 0.8 * (error + 1e-12) ** (-1 / 3)))
            if error <= 1:
                break
        self.t, self.events = self.t + length, self.events + 1
        self.state, self._rate = new, rate
        self._stiffness = self._power(2)
        unmet = int((~self.loss.fitted(new[0], self.tolerance)).sum())
        if not unmet:
            self.ended = Ending(Ended.FITTED)
        elif float(rate[0].abs().max()) * self.t < REST * self.tolerance:
            self.ended = Ending(Ended.JAMMED, f" with {unmet} points below the margin: the kernel cannot fit them")

    def _flow(self, state: Tensor) -> Tensor:
        q = -self.loss.slope(state[0])
        return torch.stack([self.Q @ q, q])

    def _power(self, iterations: int) -> float:
        """Largest eigenvalue of ``Q l''`` at the present margins, by power iterations from the last direction."""
        root = self.loss.curvature(self.state[0]).sqrt()
        size = 0.0
        for _ in range(iterations):
            self._direction = root * (self.Q @ (root * self._direction))
            size = float(self._direction.norm())
            if size == 0:
                self._direction = self._rate[0] + self.Q.diagonal() / len(self.Q)
                return 0.0
            self._direction = self._direction / size
        return size

    def _chebyshev(self, start: Tensor) -> tuple[Tensor, Tensor]:
        """The state after one step of the present length, shortened to what ``STAGES`` allow, and the rate there."""
        stiffness = SAFETY * self._stiffness
        self._length = min(self._length, (STAGES**2 - 1) / 1.54 / max(stiffness, 1e-300))
        stages = max(2, math.ceil(math.sqrt(1 + 1.54 * self._length * stiffness)))
        first, rows = _coefficients(stages)
        before, now = start, start + first * self._length * self._rate
        for μ, ν, μt, γt in rows:
            rate = self._flow(now)
            after = (1 - μ - ν) * start + μ * now + ν * before + self._length * (μt * rate + γt * self._rate)
            before, now = now, after
        return now, self._flow(now)


@lru_cache
def _coefficients(stages: int) -> tuple[float, list[tuple[float, float, float, float]]]:
    """``μ̃_1`` and the rows ``(μ, ν, μ̃, γ̃)`` of the stages 2 to ``s``. Source: Sommeijer et al. 1998, Eq. 2.3."""
    w0 = 1 + 2 / 13 / stages**2
    T, T1, T2 = [1.0, w0], [0.0, 1.0], [0.0, 0.0]  # Chebyshev polynomials at w0 with two derivatives
    for _ in range(2, stages + 1):
        T2.append(2 * w0 * T2[-1] - T2[-2] + 4 * T1[-1])
        T1.append(2 * w0 * T1[-1] - T1[-2] + 2 * T[-1])
        T.append(2 * w0 * T[-1] - T[-2])
    w1 = T1[stages] / T2[stages]
    b = [T2[max(j, 2)] / T1[max(j, 2)] ** 2 for j in range(stages + 1)]
    rows = []
    for j in range(2, stages + 1):
        μt = 2 * b[j] * w1 / b[j - 1]
        rows.append((2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2], μt, -(1 - b[j - 1] * T[j - 1]) * μt))
    return b[1] * w1, rows
