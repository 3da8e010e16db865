r"""The hinge flow of a frozen kernel, exactly: straight lines between events.

With margins ``m = α y f``, ``Q = (α/p) diag(y) K diag(y)`` and forces ``q ∈ -∂ max(0, 1 - m)``, the flow is

``dm/dt = Q q``,   ``q = 1`` where ``m < 1``, ``q = 0`` where ``m > 1``, ``0 <= q <= 1`` where ``m = 1``.

A point that reaches the margin either passes it or stays, *held* by the force that stops it. Between two events (a
point reaches the margin, from either side) all forces are constant, so that margins move in straight lines and the time
of the next event is known. An event changes one force at a time, along the direction that leaves the held points at
rest. A held point is released when its force reaches 0 or 1. With ``s`` held points an event costs ``O(p s)`` and reads
one row of ``Q``; there is no step size and no tolerance. Events are in C (``hinge.c``): 17 times as fast as on
arrays of numpy at 500 points, 4 times at 2000. Those are the reference, and take over where there is no compiler.

Source: the flow is paper A, Eq. 4 at a fixed kernel; the method is ours.
"""

import ctypes
import functools
from enum import IntEnum
from pathlib import Path

import numpy as np

from regimes import compiler
from regimes.training.state import Ended, Ending

ROUND_OFF = 1e-13  # velocities below, relative to the sum of the forces' contributions, are zero in float64
LOST = 1e-6  # round-off in the margins beyond which a path is not reported as fitted
EVENTS = 50  # per point, after which a path is given up: kernels without an eigenvalue below zero take one to three
STILL = 1e-14  # velocities below, relative to the largest on the diagonal, leave a held point at rest
REFINED = 3  # rounds, at most, in which a solution of the held points' equations is improved by its residual
BROKEN = 1e-6  # part of a held point's velocity that the inverse fails to cancel, beyond which it is computed anew
DEPENDENT = 1e-12  # a point whose row is, to this part of its diagonal, a combination of the held ones'

NAME = "hinge.c"
CODE = compiler.Code(
    "hinge",
    {NAME: Path(__file__).with_name(NAME).read_text(encoding="utf-8")},
    # sums and products are rounded alike on every processor
    (*compiler.FLAGS, "-ffp-contract=off", "-fno-trapping-math", "-fno-math-errno"),
    "the flow of a frozen kernel goes from event to event in numpy, not in C, several times as slowly",
)


class Met(IntEnum):
    """What ends a walk from event to event, as in ``hinge.c``."""

    MOVED = 0
    JAMMED = 1
    OVERFLOW = 2
    FITTED = 3
    FULL = 4
    STALE = 5


@functools.cache
def compiled() -> ctypes.CDLL | None:
    """The compiled events, if there is a compiler."""
    return CODE.load()


class HingePath:
    """The path of one realisation; :meth:`step` goes to the next event.

    Attributes:
        t: time.
        state: margins ``m`` and integrals ``a = ∫ q dt``, so that ``m = Q a``; ``(2, p)``.
        rate: their rates, velocities ``v = Q q`` and forces ``q``; ``(2, p)``.
        events: their number so far.
        ended: why it ended, ``None`` while it runs.
    """

    def __init__(self, Q: np.ndarray) -> None:
        p = len(Q)
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        self.Q = Q
        self.t = 0.0
        self.events = 0
        self.ended: Ending | None = None
        self.state = np.zeros((2, p))
        self.rate = np.ones((2, p))
        self.m, self.a = self.state
        self.v, self.q = self.rate
        self.v[:] = Q @ self.q
        self.side = np.ones(p)  # 1 below the margin, -1 above, 0 held at it
        self.scale = ROUND_OFF * float(Q.diagonal().max())
        self.held = _Held(Q)
        self._events = _Events(self) if compiled() else None

    def step(self, count: float = 1) -> None:
        """Goes on by ``count`` events; sets ``ended`` when all points are fitted, or when nothing moves any more."""
        p = len(self.m)
        most, between = EVENTS * (p + 20), p // 2 + 50
        until = self.events + count
        while self.ended is None and self.events < until:
            pause = int(min(until, int(most) + 1, self.events + between - self.events % between))
            met = self._events.walk(self, pause) if self._events else self._next()
            if met == Met.JAMMED:
                below = int((self.side > 0).sum())
                self.ended = Ending(Ended.JAMMED, f" with {below} points below the margin: the kernel cannot fit them")
            elif met == Met.OVERFLOW or self.events > most:
                lost = f": given up after {self.events} events, the kernel is not definite enough"
                self.ended = Ending(Ended.ROUND_OFF, lost)
            elif met == Met.FITTED:
                self.ended = Ending(Ended.FITTED)
                self._finish()
            elif self.events % between == 0:
                self._refresh()

    def _next(self) -> int:
        """Goes to the next event, on arrays of numpy; what it met."""
        j = self._advance()
        if j < 0:
            return Met.JAMMED
        self.events += 1
        if not self._resolve(j):
            return Met.OVERFLOW
        return Met.MOVED if (self.side > 0).any() else Met.FITTED

    def _advance(self) -> int:
        """Moves to the next event in time; returns its point, or -1 if there is none."""
        toward = self.v * self.side
        moving = np.flatnonzero(toward > self.scale * self.q.sum())
        if not len(moving):
            return -1
        waits = np.maximum((1 - self.m[moving]) / self.v[moving], 0)
        k = int(waits.argmin())
        self.t += waits[k]
        self.state += waits[k] * self.rate
        self.m[self.held.points] = 1  # where round-off would move them
        self.m[moving[k]] = 1
        return int(moving[k])

    def _resolve(self, j: int) -> bool:
        """Changes the force on ``j`` until it rests at the margin, or has the force of the side it moves to.

        False if numbers left the range of float64.
        """
        held = self.held
        sign = -self.side[j]
        while True:
            response, change = held.response(j)
            rest = abs(self.v[j]) / change[j] if change[j] > DEPENDENT * self.Q[j, j] else np.inf
            bound = self.q[j] if sign < 0 else 1 - self.q[j]
            k, release = held.first_release(self.q, sign * response)
            length = min(rest, bound, release)
            if not np.isfinite(self.v[j] + change[j] + length):
                return False
            self.q[held.points] += sign * length * response
            self.q[j] += sign * length
            self.v += sign * length * change
            if release > length:
                break
            self._let_go(k, upward=sign * response[k] < 0)
        if rest <= bound:
            self.side[j] = 0
            held.add(j, response, change[j])
        else:
            self.q[j] = max(sign, 0)
            self.side[j] = sign
        self.v[held.points] = 0
        return True

    def _let_go(self, k: int, upward: bool) -> None:
        s = self.held.points[k]
        self.q[s] = 0.0 if upward else 1.0
        self.side[s] = -1.0 if upward else 1.0
        self.held.drop(k)

    def _refresh(self) -> None:
        """Recomputes what was updated event by event, against accumulated round-off; ``O(p²)``."""
        held = self.held
        held.refresh()
        self.q[held.points] = 0
        self.q[held.points] = np.clip(held.solve(-held.rows @ self.q), 0, 1)
        self.v[:] = self.Q @ self.q
        self.m[:] = self.Q @ self.a
        self.v[held.points] = 0
        self.m[held.points] = 1

    def _finish(self) -> None:
        """Margins from the integrals; those that round-off left some 1e-11 below the margin are lifted onto it."""
        self.q[:] = 0
        self.m[:] = self.Q @ self.a
        lowest = float(self.m.min())
        if lowest < 1 - LOST:
            detail = f": margins known to {1 - lowest:.1e} only, the kernel is too ill-conditioned"
            self.ended = Ending(Ended.ROUND_OFF, detail)
        self.state *= max(1, (1 + 4 * np.finfo(float).eps) / lowest)


class _Held:
    """The held points, their rows of ``Q`` and the inverse of ``Q`` among them, updated one point at a time."""

    def __init__(self, Q: np.ndarray) -> None:
        self.Q = Q
        self.count = 0
        self.still = STILL * float(Q.diagonal().max())
        self._points = np.zeros(16, dtype=np.intp)
        self._rows = np.empty((16, len(Q)))
        self._inverse = np.empty((16, 16))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points, rows and inverse with the room for more."""
        return self._points, self._rows, self._inverse

    @property
    def points(self) -> np.ndarray:
        return self._points[: self.count]

    @property
    def rows(self) -> np.ndarray:
        return self._rows[: self.count]

    @property
    def inverse(self) -> np.ndarray:
        return self._inverse[: self.count, : self.count]

    def response(self, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Change of the held forces, and of all velocities, for one unit of force on ``j``."""
        if not self.count:
            return np.empty(0), self.Q[j]
        response = -self.inverse @ self.Q[j, self.points]
        change = self.Q[j] + response @ self.rows
        if abs(change[self.points]).max() > BROKEN * self.Q[j, j]:
            self.refresh()
        for _ in range(REFINED):  # the inverse is known to round-off times its condition
            if abs(change[self.points]).max() <= self.still:
                break
            correction = -self.inverse @ change[self.points]
            response += correction
            change += correction @ self.rows
        return response, change

    def solve(self, v: np.ndarray) -> np.ndarray:
        """The forces on the held points that give them the velocities ``v``."""
        block = self.rows[:, self.points]
        forces = self.inverse @ v
        for _ in range(REFINED):
            forces += self.inverse @ (v - block @ forces)
        return forces

    def first_release(self, q: np.ndarray, rate: np.ndarray) -> tuple[int, float]:
        """Which held force reaches 0 or 1 first if all change at ``rate``, and after how long."""
        if not self.count:
            return -1, np.inf
        rate = rate + 1e-300  # a force that does not change is never released
        waits = ((rate > 0) - q[self.points]) / rate
        k = int(waits.argmin())
        return k, max(float(waits[k]), 0.0)

    def add(self, j: int, response: np.ndarray, schur: float) -> None:
        """Bordering: ``response`` and ``schur`` are those of :meth:`response` at ``j``."""
        n = self.count
        if n == len(self._points):
            self.grow()
        self._points[n] = j
        self._rows[n] = self.Q[j]
        self._inverse[:n, :n] += np.multiply.outer(response, response / schur)
        self._inverse[n, :n] = self._inverse[:n, n] = response / schur
        self._inverse[n, n] = 1 / schur
        self.count = n + 1

    def drop(self, k: int) -> None:
        """Downdating; the last point takes the place of the ``k``-th."""
        inverse = self.inverse
        last = self.count - 1
        column = inverse[:, k].copy()
        inverse -= np.multiply.outer(column, column / column[k])
        inverse[k], inverse[:, k] = inverse[last], inverse[:, last]
        inverse[k, k] = inverse[last, last]
        self._points[k], self._rows[k] = self._points[last], self._rows[last]
        self.count = last

    def refresh(self) -> None:
        """Computes the inverse anew; of a singular block it is no number, which ends the path."""
        try:
            self.inverse[:] = np.linalg.inv(self.rows[:, self.points])
        except np.linalg.LinAlgError:
            self.inverse[:] = np.nan

    def grow(self) -> None:
        """Makes room for twice as many points."""
        n = self.count
        points, rows, inverse = self.arrays
        self._points = np.zeros(2 * n, dtype=np.intp)
        self._rows = np.empty((2 * n, rows.shape[1]))
        self._inverse = np.empty((2 * n, 2 * n))
        self._points[:n], self._rows[:n], self._inverse[:n, :n] = points, rows, inverse


class _Path(ctypes.Structure):
    """``Path`` of ``hinge.c``."""

    _fields_ = [
        *[(name, ctypes.c_ssize_t) for name in "p held room events under_way refined".split()],
        *[(name, ctypes.c_double) for name in "t round_off still broken dependent".split()],
        *[(name, ctypes.c_void_p) for name in "Q m a v q side".split()],
        *[(name, ctypes.c_void_p) for name in "points rows inverse response change wrong correction".split()],
    ]


class _Events:
    """The events of a path in C, on its own arrays."""

    def __init__(self, path: HingePath) -> None:
        self.change = np.empty(len(path.Q))
        self.record = _Path(
            p=len(path.Q), under_way=-1,
            refined=REFINED, round_off=path.scale, still=path.held.still, broken=BROKEN, dependent=DEPENDENT,
        )  # fmt: skip
        self._point_to(Q=path.Q, m=path.m, a=path.a, v=path.v, q=path.q, side=path.side, change=self.change)
        self._make_room(path.held)

    def walk(self, path: HingePath, until: int) -> int:
        """Goes on until there were ``until`` events, or until the path ends; what it met."""
        library, record, held = compiled(), self.record, path.held
        assert library is not None
        while True:
            record.events, record.t, record.held = path.events, path.t, held.count
            met = int(library.hinge_walk(ctypes.byref(record), ctypes.c_ssize_t(until)))
            path.events, path.t, held.count = record.events, record.t, record.held
            if met == Met.FULL:
                held.grow()
                self._make_room(held)
            elif met == Met.STALE:
                held.refresh()
            else:
                return met

    def _make_room(self, held: _Held) -> None:
        """For as many held points as their arrays have room for."""
        points, rows, inverse = held.arrays
        self.record.room = len(points)
        self.scratch = np.empty((3, len(points)))
        response, wrong, correction = self.scratch
        self._point_to(points=points, rows=rows, inverse=inverse)
        self._point_to(response=response, wrong=wrong, correction=correction)

    def _point_to(self, **arrays: np.ndarray) -> None:
        for name, array in arrays.items():
            setattr(self.record, name, array.ctypes.data)
