"""Following a stream of states until a stopping rule, and keeping what the caller asks for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regimes import models, validate
from regimes.models import Model
from regimes.training.state import Ended, Ending, Rule, State, fitted, locate, t_star
from regimes.validate import InputError


class Snapshot(NamedTuple):
    """A state of one realisation without the solver's arrays.

    Attributes:
        t: the time, in the solver's unit.
        model: one realisation.
        F: the predictor on the training points ``(p,)``.
        margins: ``(p,)``.
        loss: the mean loss.
        satisfied: the fitted fraction, the share of points with ``y F >= 1``.
    """

    t: float
    model: Model
    F: Tensor
    margins: Tensor
    loss: float
    satisfied: float


def snapshot(state: State) -> Snapshot:
    """The snapshot of a state of one realisation, its model in the caller's precision."""
    model = state.returned(state.model)
    return Snapshot(float(state.t), model, state.F[0], state.margins[0], float(state.loss), float(state.satisfied))


@dataclass
class Trajectory:
    """The record that :func:`run` keeps of a training of ``E`` realisations.

    Attributes:
        model: the models at the end, ``(E, ...)``, in the precision of those that the solver was given.
        initial: the models at time 0, likewise.
        t: final times ``(E,)``.
        F: final predictor on the training points ``(E, p)``.
        ended: why each realisation ended, one line each with its ``kind`` (:class:`regimes.training.state.Ended`).
        events: event name -> realisation -> its :class:`Snapshot`, if it happened there.
        path: one row per realisation and observed state: ``realisation``, ``t``, and the observer's columns.
        saved: realisation -> what ``save`` gave for its states, in order.
    """

    model: Model
    initial: Model
    t: Tensor
    F: Tensor
    ended: list[Ending]
    events: dict[str, dict[int, Snapshot]]
    path: list[dict[str, Any]]
    saved: dict[int, list[Any]]

    def at(self, name: str) -> tuple[list[int], Tensor, Model | None, Tensor]:
        """The realisations, times ``(n,)``, models and ``F (n, p)`` at the event ``name``.

        Raises:
            InputError: for an event that was not followed.
        """
        validate.one_of(self.events, name=name)
        rows = sorted(self.events[name])
        if not rows:
            return rows, torch.empty(0), None, torch.empty(0)
        snapshots = [self.events[name][row] for row in rows]
        times = torch.tensor([snapshot.t for snapshot in snapshots], dtype=torch.float64)
        networks = models.join([snapshot.model for snapshot in snapshots])
        return rows, times, networks, torch.stack([snapshot.F for snapshot in snapshots])


Observer = Callable[[State], Mapping[str, Tensor]]
"""What to measure on a state: name -> one number per realisation, ``(e,)``."""


@dataclass
class _Record:
    """The record of :func:`run` in the making, realisation by realisation."""

    events: Mapping[str, Rule]
    until: Rule
    observer: Observer | None
    save: Callable[[State], Any] | None
    spacing: float
    happened: dict[str, dict[int, Snapshot]] = field(default_factory=dict)
    latest: dict[int, tuple[State, int]] = field(default_factory=dict)  # with the place of the realisation in it
    observed: list[dict] = field(default_factory=list)
    saved: dict[int, list[Any]] = field(default_factory=dict)
    due: dict[int, float] = field(default_factory=dict)
    seen: dict[int, float] = field(default_factory=dict)

    def detect_events(self, state: State) -> None:
        """Notes the events that happened in the step to a state, and ends the realisations that meet ``until``."""
        known: dict[int, list[bool]] = {}  # of rules: one may be an event and the end, too
        for name, rule in self.events.items():
            snapshots = self.happened.setdefault(name, {})
            if all(row in snapshots for row in state.rows):
                continue
            known[id(rule)] = met = known.get(id(rule)) or _met(rule, state)
            for row, e in [(row, e) for e, row in enumerate(state.rows) if met[e] and row not in snapshots]:
                snapshots[row] = snapshot(locate(_alone(state, e), rule))
        met = known.get(id(self.until)) or _met(self.until, state)
        if any(met):
            state.finish(torch.tensor(met), Ending(Ended.UNTIL))

    def store_latest(self, state: State) -> None:
        """Stores the latest state per realisation; copies out finished ones, so that the batch can be freed."""
        for e, row in enumerate(state.rows):
            self.latest[row] = (_alone(state, e), 0) if row in state.ended else (state, e)

    def observe_state(self, state: State) -> None:
        """Observes and saves the realisations that have moved and whose time has come."""
        if self.observer is None and self.save is None:
            return
        times = state.t.tolist()
        moved = [e for e, row in enumerate(state.rows) if times[e] > self.seen.get(row, -1.0)]
        self.seen.update((state.rows[e], times[e]) for e in moved)
        due = [e for e in moved if times[e] >= self.due.get(state.rows[e], 0.0) or state.rows[e] in state.ended]
        columns = self.observer(state) if due and self.observer else {}
        measured = {name: torch.as_tensor(column).double().tolist() for name, column in columns.items()}
        for e in due:
            row = state.rows[e]
            self.due[row] = times[e] * self.spacing
            if measured:
                values = {name: column[e] for name, column in measured.items()}
                self.observed.append({"realisation": row, "t": times[e], **values})
            if self.save is not None:
                self.saved.setdefault(row, []).append(self.save(self._exact(row)))

    def single(self, row: int) -> State:
        """The latest state of one realisation."""
        return _alone(*self.latest[row])

    def _exact(self, row: int) -> State:
        """The latest state of a realisation, or the exact point if the caller's rule is met."""
        latest = self.single(row)
        return locate(latest, self.until) if float(self.until(latest)) >= 0 else latest


def _met(rule: Rule, state: State) -> list[bool]:
    """Which realisations are at or past an event."""
    if rule is fitted:  # asked at each of many states
        return state.fitted.tolist()
    return [value >= 0 for value in rule(state).tolist()]


def _alone(state: State, e: int) -> State:
    return state.part([e]) if len(state.rows) > 1 else state


def run(
    states: Iterator[State],
    *,
    until: Rule = fitted,
    observe: Observer | None = None,
    save: Callable[[State], Any] | None = None,
    spacing: float = 1.0,
    events: Mapping[str, Rule] | None = None,
) -> Trajectory:
    """Follows a training until a stopping rule, and keeps what the caller asks for.

    Args:
        states: from a solver, the initial state of every realisation before any later state.
        until: the stopping rule: ``t_star``, ``fitted`` (the end of training), ``satisfied``, ``after``, or any
            function of a state; the final state is the first at or past it (an event gives the exact point).
        observe: from a state to numbers, the columns of ``Trajectory.path``.
        save: from a state of one realisation to what is kept: arrays, models, :func:`snapshot`. If ``until`` ends it,
            the last is the exact point.
        spacing: least ratio of successive observed or saved times; 1 takes every state.
        events: further rules, such as ``after(time)``, each located inside its step and kept as a snapshot; ``t_star``
            is always among them.

    Raises:
        InputError: for a spacing below 1.
    """
    validate.at_least(1.0, spacing=spacing)
    rules = {"t_star": t_star, **(events or {})}
    record = _Record(rules, until, observe, save, spacing)
    for state in states:
        record.detect_events(state)
        record.store_latest(state)
        record.observe_state(state)
    if not record.latest:
        raise InputError("the flow has no states")
    ends = [record.single(row) for row in sorted(record.latest)]
    cut_off = Ending(Ended.STEPS, ": its states were cut off")
    return Trajectory(
        model=models.join([end.returned(end.model) for end in ends]),
        initial=models.join([end.returned(end.initial) for end in ends]),
        t=torch.cat([end.t for end in ends]),
        F=torch.cat([end.F for end in ends]),
        ended=[end.ended.get(end.rows[0], cut_off) for end in ends],
        events=record.happened,
        path=record.observed,
        saved=record.saved,
    )
