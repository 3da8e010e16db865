r"""The flow of a frozen kernel under a smooth loss, in adaptive steps.

``dm/dt = Q q(m)``, ``q = -l'(m)``, is stiff with a real spectrum, for ``-Q l''`` is similar to a symmetric matrix. A
step is of the kind that takes less work: linearly implicit on the points whose force changes in it
(``kernel_flow.rodas``), ``O(s³)`` for ``s`` of them, where these are few; else a Runge-Kutta-Chebyshev step of second
order, which with ``s`` stages costs ``s`` products with ``Q``, ``O(s p²)``, and is stable ``s²/2`` times longer
than an Euler step. Both keep the local error of every margin within the tolerance.

Source: the flow is paper A, Eq. 4; RKC is by Sommeijer, Shampine and Verwer, J. Comput. Appl. Math. 88 (1998) 315.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from torch import Tensor

from regimes.models.losses import Loss
from regimes.training.kernel_flow import rodas
from regimes.training.kernel_flow.rodas import of
from regimes.training.kernel_flow.symmetric import Symmetric
from regimes.training.state import Ended, Ending

SAFETY = 1.3  # the stiffness is estimated by power iterations from below, and at the start of the step
REST = 1e-3  # at rest: a doubling of the time moves no margin by more than this part of the tolerance
STAGES = 500  # most stages a step: beyond, round-off of the recursion would show
KNOWN = 0.1  # an Euler step knows margins so well
BUDGET = 2.0  # tolerances that the held forces may cost if all act in one direction; what they do is in the local error
HELD = 0.8  # the largest part of the points whose force is held: to solve for fewer of the others would save little
AIM = 0.75  # the next step is shorter by this than the last error promises: one that is refused costs as much
LAST = 0.99  # the last step ends on a straight line at this part of it or later; an earlier end is sought by a new step


class SmoothPath:
    """One realisation on its way; :meth:`step` makes one step of the method.

    Attributes:
        t: time.
        state: margins ``m`` and integrals ``a = ∫ q dt``, so that ``m = Q a``; ``(2, p)``.
        events: accepted steps so far.
        ended: why it ended, ``None`` while it runs.
    """

    def __init__(self, Q: Tensor, loss: Loss, *, tolerance: float, slack: float) -> None:
        self.Q, self.loss, self.tolerance, self.slack = Symmetric(Q), loss, tolerance, slack
        self.t, self.events = 0.0, 0
        self.ended: Ending | None = None
        self.state = np.zeros((2, len(Q)))
        self._rate = self._flow(self.state)
        self._direction = self._rate[0] + self.Q.diagonal / len(Q)
        self._length = 0.3 * tolerance**0.5 / max(float(abs(self._rate[0]).max()), self._power(10), 1e-300)

    def step(self) -> None:
        """One accepted step; sets ``ended`` when every margin is met, or when nothing moves any more."""
        while True:
            new = self._trial()
            error = float(abs(new.gap).max()) / self.tolerance
            self._length = new.length * min(3.0, max(0.2, AIM * (error + 1e-12) ** (-1 / new.order)))
            if not error <= 1:  # nor where it is not a number
                continue
            unmet = int((~self._met(new.state[0])).sum())
            part = 1.0 if unmet else self._crossing(new.state[0])
            if part >= LAST or float(abs(new.state[0] - self.state[0]).max()) <= self.tolerance:
                break
            self._length = part * new.length
        self.t, self.events = self.t + part * new.length, self.events + 1
        self.state, self._rate = _between(self.state, new.state, part), new.rate
        if not unmet:
            self.ended = Ending(Ended.FITTED)
        elif float(abs(self._rate[0]).max()) * self.t < REST * self.tolerance:
            self.ended = Ending(Ended.JAMMED, f" with {unmet} points below the margin: the kernel cannot fit them")

    def _crossing(self, m: np.ndarray) -> float:
        """The part of the way to the margins ``m``, a straight line, after which all are met."""
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            met = self._met(_between(self.state[0], m, middle)).all()
            low, high = (low, middle) if met else (middle, high)
        return high

    def _met(self, m: np.ndarray) -> np.ndarray:
        return of(lambda margins: self.loss.fitted(margins, self.slack), m)

    def _flow(self, state: np.ndarray) -> np.ndarray:
        q = -of(self.loss.slope, state[0])
        return np.stack([self.Q @ q, q])

    def _trial(self) -> "_Trial":
        """A step of the present length, of the kind that takes less work; half of the points cost some 20 products."""
        active, p = self._active(), len(self.Q)
        if 2 * len(active) > p:
            stages = self._stages()
            if len(active) ** 3 > 6 * stages * p**2:
                return self._chebyshev(stages)
        return self._rosenbrock(active)

    def _active(self) -> np.ndarray:
        """The points whose force is not held: that of the others changes too little in the step.

        A held force that changes by ``Δq_i`` costs margins up to ``h Q_ii |Δq_i| / 2``. It is estimated by an Euler
        step, and whether all was well is seen in the local error.
        """
        (m, _), (v, q), h = self.state, self._rate, self._length
        change = abs(of(self.loss.slope, m + h * v) + q) + KNOWN * of(self.loss.curvature, m)
        cost = h / 2 * self.Q.diagonal * change
        order = cost.argsort()
        held = np.searchsorted(cost[order].cumsum(), BUDGET * self.tolerance, side="right")
        return np.sort(order[min(held, int(HELD * len(m))) :])

    def _rosenbrock(self, active: np.ndarray) -> "_Trial":
        h, (v, q) = self._length, self._rate
        rows = self.Q.rows(active)
        beyond, error = rodas.step(rows.take(active, 1), self.loss, self.state[0, active], v[active], q[active], h)
        if np.isinf(error).any():
            return _Trial(h, self.state, self._rate, error, rodas.ORDER)
        state = self.state + h * self._rate
        state[0] += beyond @ rows
        state[1, active] += beyond
        rate = self._flow(state)
        change = h / 2 * (rate - self._rate)
        gap = change[0] + (error - change[1, active]) @ rows
        return _Trial(h, state, rate, gap, rodas.ORDER)

    def _stages(self) -> int:
        """Stages of a Chebyshev step of the present length, which is shortened to what ``STAGES`` allow."""
        stiffness = SAFETY * self._power(2)
        self._length = min(self._length, (STAGES**2 - 1) / 1.54 / max(stiffness, 1e-300))
        return max(2, math.ceil(math.sqrt(1 + 1.54 * self._length * stiffness)))

    def _power(self, iterations: int) -> float:
        """Largest eigenvalue of ``Q l''`` at the present margins, by power iterations from the last direction."""
        root = np.sqrt(of(self.loss.curvature, self.state[0]))
        size = 0.0
        for _ in range(iterations):
            self._direction = root * (self.Q @ (root * self._direction))
            size = float(np.linalg.norm(self._direction))
            if size == 0:
                self._direction = self._rate[0] + self.Q.diagonal / len(self.Q)
                return 0.0
            self._direction = self._direction / size
        return size

    def _chebyshev(self, stages: int) -> "_Trial":
        h, start = self._length, self.state
        first, rows = _coefficients(stages)
        before, now = start, start + first * h * self._rate
        for μ, ν, μt, γt in rows:
            rate = self._flow(now)
            after = (1 - μ - ν) * start + μ * now + ν * before + h * μt * rate + h * γt * self._rate
            before, now = now, after
        rate = self._flow(now)
        return _Trial(h, now, rate, 0.8 * (start[0] - now[0]) + 0.4 * h * (self._rate[0] + rate[0]), 3)


@dataclass(frozen=True)
class _Trial:
    """A step that may be taken: its length, state and rate at its end, local error of the margins, and their order."""

    length: float
    state: np.ndarray
    rate: np.ndarray
    gap: np.ndarray
    order: int


def _between(start: np.ndarray, end: np.ndarray, part: float) -> np.ndarray:
    return end if part == 1 else start + part * (end - start)


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
