r"""Gradient flow of one-hidden-layer networks, to a stated tolerance on the path and to the end of training.

Exact rotations integrate the hinge loss; smooth losses and other models use :mod:`regimes.training.gauss_newton`. For
the predictor :math:`F = \alpha (f - f_0)` the flow is

.. math:: \dot W = -\frac{1}{\alpha}\,\partial_W \frac1p \sum_\mu \ell(y_\mu F(x_\mu))
          = -\frac1p \sum_\mu \partial_W f(x_\mu)\, y_\mu\, \ell'(y_\mu F(x_\mu)).

**Time unit.** Paper A's (its Eq. 2), for all flows of this library: :math:`\dot F = -\frac{\alpha}{p}\Theta\, y\,\ell'`
with :math:`\Theta = \partial_W f\cdot\partial_W f` of the network with its ``1/h``. Paper B writes the output with
:math:`1/\sqrt h` and divides the loss by its :math:`\alpha^2`: the same path at :math:`\alpha_B = \alpha/\sqrt h`, with
:math:`t_A = h\,t_B/\alpha = \sqrt h\,t_B/\alpha_B`.

**Tolerance.** A step's local error is held below ``tolerance`` in the weights (relative, root mean square) from
changing gates, and below ``tolerance`` times a fixed factor in the margins from changing multipliers. Tests measure the
error of the whole path: the time t* within twice the tolerance (relative), margins within twelve times the tolerance
until most points are fitted. Later, nearby paths diverge, as they reach kinks and margins in another order, which
amplifies both the tolerance and rounding. Chapter 1 measures by how much. On a few hundred points, float64 with a
tolerance of 0.005 determines the end of training.

**Precision.** ``dtype="auto"`` takes float64 wherever the steps are taken in C, which is faster than float32 on
tensors; elsewhere float32 where it gives the same path to the tolerance until t* (see :func:`precision`).

Source: paper A, Sec. 2.2 and 2.5.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from regimes import devices, validate
from regimes.data.tasks import Task, needs_both_labels
from regimes.models import Model, losses
from regimes.models.losses import Loss
from regimes.models.one_hidden import Network
from regimes.training.gauss_newton import ImplicitState, gauss_newton
from regimes.training.gauss_newton import together as at_once
from regimes.training.gradient_flow import pairs
from regimes.training.gradient_flow.batch import GATES, Batch, start
from regimes.training.gradient_flow.compiled import Step
from regimes.training.gradient_flow.state import FlowState
from regimes.training.gradient_flow.step import walk
from regimes.training.state import Ended, Ending, needs_resolution
from regimes.validate import InputError

TOLERANCE = 1e-2
STEPS = 100_000  # attempted steps of a realisation before it is given up
BURST = 16  # steps of one realisation before the next one's turn, on the CPU: keeps its arrays in cache
ARRAYS = 64  # of weights and of inputs that a compiled flow holds at once
STILL = 100.0  # times the age of the flow without a change of the points that are not fitted: stationary
HINGE = losses.named("hinge")


def gradient_flow(
    network: Model,
    task: Task,
    *,
    alpha: float,
    loss: str | Loss = "hinge",
    tolerance: float = TOLERANCE,
    dtype: str | torch.dtype = "auto",
    device: str | torch.device | None = None,
    together: int | None = None,
) -> Iterator[FlowState | ImplicitState]:
    r"""Gradient flow of :math:`F = \alpha(f - f_0)` on a task, one :class:`FlowState` per accepted step.

    Each realisation keeps its own time and step. It leaves the batch when all its points are fitted, when nothing moves
    it any more, or when the caller finishes it (``State.finish``). It takes the same steps alone or in a batch, up to
    rounding and its later amplification.

    Args:
        network: ``E`` realisations; other models than one hidden ReLU layer, and smooth losses, take linearly implicit
            steps (:mod:`regimes.training.gauss_newton`), in the model's precision, on its device.
        task: points ``x (p, d)`` or ``(1, p, d)`` shared by all, or ``(E, p, d)``; labels likewise.
        alpha: scale of the predictor, small for feature learning, large for the lazy regime.
        loss: a name in :data:`regimes.models.losses.LOSSES`, or a :class:`regimes.models.losses.Loss`.
        tolerance: of a step, see the module; smaller is slower.
        dtype: precision of the steps; ``"auto"`` follows :func:`precision`. :func:`regimes.run` gives models back in
            the network's own precision.
        device: where to compute, the network's own by default; ``"auto"`` picks CUDA if the machine has it.
        together: number of realisations in a state; by default one on the CPU, whose cache it fits; on CUDA as many as
            its memory holds.

    Raises:
        InputError: before computing, for invalid data, labels, scale or tolerance, for two equal points with opposite
            labels, or for too little memory for the gates or for a smooth loss's linear system; during the flow, for
            too little memory for the system of the points at the hinge's corner, whose number is not known before.

    Source: paper A, Eq. (2).
    """
    loss = losses.named(loss)
    validate.model(network, "network")
    if not isinstance(task, Task):
        raise InputError(f"task must be a Task, got {type(task).__name__}: Task(x, y, source) makes one")
    if isinstance(network, Network):
        _check_task(network, task)
    if not (isinstance(network, Network) and loss.corner):
        like = network.parameters()[0]
        x = task.x.to(like) if task.x.is_floating_point() else task.x.to(like.device)  # tokens stay whole
        return gauss_newton(network, x, task.y, alpha=alpha, loss=loss, tolerance=tolerance)
    validate.positive(alpha=alpha)
    validate.between(1e-200, 1e12, alpha=alpha)
    validate.within(0, 1, tolerance=tolerance)
    validate.between(1e-12, 1, tolerance=tolerance)
    validate.one_of(("auto", torch.float32, torch.float64), dtype=dtype)
    if together is not None:
        validate.integer(1, together=together)
    place = devices.pick(network.omega.device if device is None else device)
    count = len(network.omega)
    given = network.omega.dtype
    chosen = precision(alpha, tolerance, place) if isinstance(dtype, str) else dtype
    network = network.to(dtype=chosen, device=place)
    x = task.x.to(network.omega).expand(count, *task.x.shape[-2:])
    y = task.y.to(network.omega).expand(count, task.y.shape[-1])
    if alpha * torch.finfo(x.dtype).eps > 1e-6:  # else outputs would have to be beyond a million
        for e in range(count):
            needs_resolution(float(alpha), network[e : e + 1](x[e : e + 1]))
    network_bytes = flow_memory(network.h, x.shape[-2], network.d, dtype=x.dtype, device=x.device)
    if together is None:
        together = at_once(network_bytes, place) if place.type == "cuda" else 1
    size = min(count, together)
    devices.reuse_memory()
    validate.memory(size * network_bytes, "the arrays of a flow", x.device)
    return _steps(network, x, y, size, given, {"alpha": float(alpha), "tolerance": float(tolerance)})


def flow_memory(
    h: int, p: int, d: int, *, dtype: torch.dtype = torch.float64, device: str | torch.device = "cpu"
) -> int:
    """The bytes that the flow of one network needs: the gates on tensors, else some arrays of weights and of inputs.

    Args:
        h: width.
        p: points.
        d: input dimension.
        dtype: precision.
        device: where it computes.
    """
    if pairs.holds_none(dtype, torch.device(device), d + 1):
        return ARRAYS * (h + p) * (d + 1) * dtype.itemsize
    return GATES * h * p * dtype.itemsize


def precision(alpha: float, tolerance: float, place: torch.device) -> torch.dtype:
    """The precision that ``dtype="auto"`` takes: float64 on a CPU, in C several times as fast as float32 on tensors.

    On a card it is float32 for ``1e-10 <= alpha <= 1`` and tolerances from 0.01, else float64. At
    larger ``alpha`` the weights' increments of order ``1/alpha`` are lost in float32's rounding. At smaller ``alpha``
    neurons come so close to their fixed points that rounding decides their gates. After t*, rounding in float32 moves
    the final error by several per cent at any tolerance, differently on each type of CPU.

    Args:
        alpha: scale of the predictor.
        tolerance: of a step.
        place: device.
    """
    if place.type == "cpu":
        return torch.float64
    return torch.float32 if 1e-10 <= alpha <= 1.0 and tolerance >= 1e-2 else torch.float64


def _check_task(network: Network, task: Task) -> None:
    """Raises :class:`InputError` for data on which no flow is possible."""
    x, y = task.x, task.y
    for name, weights in (("omega", network.omega), ("b", network.b), ("beta", network.beta)):
        if not bool(torch.isfinite(weights).all()):
            raise InputError(f"the network's {name} holds NaN or infinite values")
    if y.ndim < 1 or x.ndim not in (2, 3) or y.shape[-1] < 2 or x.shape[-2] != y.shape[-1]:
        raise InputError(
            f"a flow needs at least 2 points and a label for each, got x {tuple(x.shape)}, y {tuple(y.shape)}"
        )
    if y.shape[:-1] not in ((), (1,), (len(network.omega),)):
        raise InputError(f"the task's labels must be (p,) or ({len(network.omega)}, p), got {tuple(y.shape)}")
    if x.shape[-1] != network.d:
        raise InputError(f"the network takes inputs of dimension {network.d}, the task has {x.shape[-1]}")
    if x.ndim == 3 and len(x) not in (1, len(network.omega)):
        raise InputError(f"the task holds {len(x)} realisations, the network {len(network.omega)}")
    if not x.is_floating_point():
        raise InputError(f"the task's x must hold floating-point numbers, got {x.dtype}")
    if not bool(torch.isfinite(x).all() and torch.isfinite(y).all()):
        raise InputError("the task holds NaN or infinite values")
    needs_both_labels(y)
    draws = max(len(x) if x.ndim == 3 else 1, len(y) if y.ndim == 2 else 1)
    for points, labels in zip(x.expand(draws, *x.shape[-2:]), y.expand(draws, y.shape[-1])):
        _check_fittable(points, labels)


def _check_fittable(points: Tensor, labels: Tensor) -> None:
    """Raises :class:`InputError` for two equal points with opposite labels."""
    if len(torch.unique(points[:, 0])) == len(points):  # all differ in one coordinate already
        return
    _, group = torch.unique(points, dim=0, return_inverse=True)
    size = int(group.max()) + 1
    has_label = torch.zeros(2, size, dtype=torch.bool, device=group.device)
    has_label[0, group[labels > 0]] = True
    has_label[1, group[labels < 0]] = True
    clash = (has_label[0] & has_label[1]).nonzero().flatten()
    if len(clash):
        i, *others = (group == clash[0]).nonzero().flatten().tolist()
        j = next(k for k in others if labels[k] != labels[i])
        raise InputError(f"points {i} and {j} are equal and have opposite labels: no network fits them")


def _steps(network: Network, x: Tensor, y: Tensor, size: int, given: torch.dtype, options: dict) -> Iterator[FlowState]:
    """The initial states of all realisations, then states in turns of ``BURST`` steps of ``size`` realisations."""
    ended: dict[int, Ending] = {}
    rows = list(range(len(x)))
    turns = [_one_turn(network, x, y, rows[i : i + size], ended, given, options) for i in range(0, len(x), size)]
    for turn in turns:
        yield next(turn)
    while turns:
        for turn in list(turns):
            for _ in range(BURST):
                state = next(turn, None)
                if state is None:
                    turns.remove(turn)
                    break
                yield state


def _one_turn(
    network: Network, x: Tensor, y: Tensor, rows: list[int], ended: dict[int, Ending], given: torch.dtype, options: dict
) -> Iterator[FlowState]:
    """The states of the realisations ``rows`` until each has ended."""
    part = slice(rows[0], rows[-1] + 1)
    batch = start(network[part], x[part], y[part], **options)
    state = FlowState(tuple(rows), HINGE, batch.problem.tolerance, batch, network[part], given, ended=ended)
    marks: dict[int, tuple[float, Tensor]] = {}
    ahead: list[tuple[Batch | Step, Tensor]] = []
    yield state
    for _ in range(STEPS):
        running = state.running
        if not running:
            return
        if len(running) < len(state.rows):
            state = state.part(running)
        ahead = ahead or walk(state.at)
        at, moved = ahead.pop(0)
        state = FlowState(state.rows, HINGE, state.slack, at, state.start, given, ended=ended)
        if any(moved.tolist()):
            _end(state, marks)
            yield state
    state.finish(torch.ones(len(state.rows), dtype=torch.bool), Ending(Ended.STEPS, f" after {STEPS} steps"))


def _end(state: FlowState, marks: dict[int, tuple[float, Tensor]]) -> None:
    """Ends the realisations that are fitted or no longer move."""
    p = state.y.shape[-1]
    for e, (row, (t, largest, count, finite, moves)) in enumerate(zip(state.rows, state.at.numbers())):
        still = _stationary(state, marks, e, t, largest)
        why = None
        if count == p:
            why = Ending(Ended.FITTED)
        elif not finite:
            why = Ending(Ended.OVERFLOW, ": the weights left the range of the precision")
        elif not moves:
            why = Ending(Ended.NO_GRADIENT, f": no neuron is active on the {p - count:.0f} points below the margin")
        elif still:
            why = Ending(Ended.STATIONARY, f" with {p - count:.0f} points below the margin")
        if why is not None:
            state.ended.setdefault(row, why)


def _stationary(state: FlowState, marks: dict[int, tuple[float, Tensor]], e: int, t: float, largest: float) -> bool:
    """Whether the unfitted points of realisation ``e`` have kept their margins while the time grew ``STILL``-fold.

    This applies once margins are of order one; before, at small ``alpha``, they hardly move for a long time.
    """
    since, earlier = marks.get(state.rows[e], (t, None))
    if earlier is not None and (largest < 0.5 or t <= STILL * since):
        return False
    m = state.margins_to(1)[e]
    marks[state.rows[e]] = (t, m)
    if earlier is None:
        return False
    change = (m - earlier)[~(m >= 1)].abs()
    return bool((change < 0.1 * state.at.problem.tolerance).all())
