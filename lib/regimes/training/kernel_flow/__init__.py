r"""Gradient flow of a frozen kernel under the hinge loss: the lazy limit, and kernel learning with any Gram matrix.

``df/dt = (1/p) Σ_μ K(x, x_μ) y_μ q_μ``,   ``q_μ = -l'(α y_μ f(x_μ))``,   ``f = 0`` at the start,

in the time unit of paper A, Eq. 2 and 4. With the network's tangent kernel ``K`` this is the flow of the network as
long as its kernel does not change (with the per-sample loss ``l(α y f)/α``). ``α`` sets only the unit of time. With
``c_μ = (1/p) ∫ y_μ q_μ dt`` the learnt function is ``f(x) = Σ_μ K(x, x_μ) c_μ``.

A kernel of few features, such as a last layer's, has eigenvalues that are zero to rounding. Along their eigenvectors
the path follows rounding errors, which depend on the processor. A *ridge* makes the end unique: ``K + ε 1`` on the
training points, with ``ε = ridge · mean_μ K(x_μ, x_μ)``. It gives each training point a feature ``√ε`` of its own:
``f`` is ``K c`` as before, and the margins are ``α y_μ (f(x_μ) + ε c_μ)``. All points can be fitted, and rounding moves
the path by a negligible ``δK/ε``. Directions with eigenvalues far above ``ε`` are fitted as before; the fit of those
far below goes to the points' own features and does not generalise.

The end is not that of a support vector machine: the flow's ``y c`` only grow, while a machine makes the margin largest
and has an intercept. At 250 points both take as long, at 1000 a machine two fifths of the path's time. On the stripe in
five dimensions it errs more, by a fifth at 1000 points (.0395 against .0330, with a paired error of .0008;
``benchmarks/bench_kernel_flow.py``).

The path is exact, from event to event (``kernel_flow.hinge``). Realisations of an ensemble have independent times, and
are independent to the last bit.

Source: paper A, Eq. 4 and Sec. 2.4.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import needs_both_labels
from regimes.models import losses
from regimes.training import state
from regimes.training.kernel_flow.hinge import HingePath
from regimes.training.state import Ending
from regimes.validate import InputError

LARGEST_RIDGE = 1e12  # beyond it float64 loses the kernel beside the ridge
EQUAL = 1e-12  # squared distance of two points in feature space, relative to their norms, below which they are equal


@dataclass(frozen=True)
class Expansion:
    """The function that a kernel method has learnt, ``f(x) = Σ_μ K(x, x_μ) c_μ``.

    Attributes:
        coefficients: ``c (E, p)``.
    """

    coefficients: Tensor

    def __call__(self, cross: Tensor) -> Tensor:
        """``f (E, n)`` at points with kernel ``cross (n, p)`` or ``(E, n, p)`` to the training points.

        Of ``C`` outputs it is ``(E, n, C)`` for ``cross (n, C, p, C)`` or ``(E, n, C, p, C)``.
        """
        cross = cross.to(self.coefficients)
        if cross.ndim < 4:
            return (cross @ self.coefficients[..., None])[..., 0]
        flat = cross.flatten(-2).flatten(-3, -2)
        return (flat @ self.coefficients[..., None])[..., 0].unflatten(-1, cross.shape[-4:-2])

    def __getitem__(self, rows: slice | Tensor) -> "Expansion":
        """The realisations ``rows``."""
        return Expansion(self.coefficients[rows])


@dataclass(frozen=True)
class KernelState(state.State):
    """A frozen-kernel flow at one moment, see :class:`regimes.training.state.State`.

    Attributes:
        t: the time ``(e,)`` in paper A's unit; ``margins`` are ``α y f`` on the training points ``(e, p)``.
        y: labels ``(e, p)``.
        coefficients: dual coefficients ``c (e, p)``: ``f = K c``.
        steps: events so far, of all realisations together.
        before: time, margins and coefficients at the last state.
    """

    t: Tensor
    margins: Tensor
    y: Tensor
    coefficients: Tensor
    steps: int
    before: tuple[Tensor, Tensor, Tensor]

    @property
    def model(self) -> Expansion:
        """The learnt function."""
        return Expansion(self.coefficients)

    @property
    def initial(self) -> Expansion:
        """The zero function."""
        return Expansion(torch.zeros_like(self.coefficients))

    def inside(self, share: Tensor) -> "KernelState":
        """The state at ``share (e,)`` of the last step, exact because the path is straight between events."""
        ends = zip(self.before, (self.t, self.margins, self.coefficients), strict=True)
        t, margins, coefficients = (torch.lerp(old, new, state.expand_like(share, new)) for old, new in ends)
        return replace(self, t=t, margins=margins, coefficients=coefficients)


def kernel_flow(gram: Tensor, y: Tensor, *, alpha: float = 1.0, ridge: float = 0.0) -> "KernelStates":
    """The gradient flow of a frozen kernel until the hinge loss is zero; the caller may stop it before.

    Equal points with opposite labels are refused, because no function of the kernel fits both.

    Args:
        gram: ``K (p, p)`` or ``(E, p, p)``, symmetric, positive semi-definite; ``E`` independent realisations. Of ``C``
            outputs ``(p, C, p, C)`` or ``(E, p, C, p, C)``: each pair of a point and an output is a point of the flow,
            and a state's model takes ``cross (n, C, p, C)`` or ``(E, n, C, p, C)``.
        y: labels ``(p,)`` or ``(E, p)`` in {-1, +1}; of ``C`` outputs ``(p, C)`` or ``(E, p, C)``.
        alpha: ``α > 0``.
        ridge: ``ε`` over the mean of the kernel's diagonal, from 0 to 1e12. Margins are those of ``K + ε 1``; a state's
            ``model`` takes ``K`` alone, on training points as on others.

    Yields:
        The state at the start, and after an event of each realisation that still runs, on the CPU in float64. Between
        two states margins and coefficients are linear in time.

    Source: paper A, Eq. 4.
    """
    validate.between(0, LARGEST_RIDGE, ridge=ridge)
    validate.between(1e-200, 1e200, alpha=alpha)
    gram, y = _checked(gram, y, ridge)
    paths = []
    for kernel, labels in zip(gram, y):
        Q = (kernel * (labels * alpha / len(labels))).mul_(labels[:, None])
        paths.append(HingePath(Q.cpu().numpy()))
    return KernelStates(paths, y)


def fit(gram: Tensor, y: Tensor, **options: Any) -> KernelState:
    """The last state of :func:`kernel_flow` with the same arguments: the kernel method at the end of training."""
    ensemble = kernel_flow(gram, y, **options)
    ensemble.step(math.inf)
    return ensemble.state()


class KernelStates(Iterator[KernelState]):
    """The states of a flow: the realisations' paths, advanced in turn."""

    def __init__(self, paths: list[HingePath], y: Tensor) -> None:
        self.paths, self.y = paths, y
        self.ended: dict[int, Ending] = {}
        self.last: KernelState | None = None

    def __next__(self) -> KernelState:
        if self.last is not None and not self.step():
            raise StopIteration
        self.last = self.state()
        return self.last

    def step(self, count: float = 1) -> bool:
        """Advances every running realisation by ``count`` events; whether any was running."""
        running = [row for row in range(len(self.paths)) if row not in self.ended]
        for row in running:
            self.paths[row].step(count)
            if (ending := self.paths[row].ended) is not None:
                self.ended[row] = ending
        return bool(running)

    def state(self) -> KernelState:
        """The current state of the paths."""
        states = torch.stack([torch.as_tensor(path.state) for path in self.paths]).to(self.y)  # a copy
        t = torch.tensor([path.t for path in self.paths], dtype=states.dtype, device=states.device)
        margins = states[:, 0]
        coefficients = states[:, 1] * self.y / self.y.shape[-1]
        last = self.last
        before = (last.t, last.margins, last.coefficients) if last else (t, margins, coefficients)
        rows = tuple(range(len(self.paths)))
        events = sum(path.events for path in self.paths)
        moment = (t, margins, self.y, coefficients, events, before)
        return KernelState(rows, losses.named("hinge"), 0.0, *moment, ended=self.ended)


def _checked(gram: Tensor, y: Tensor, ridge: float) -> tuple[Tensor, Tensor]:
    """Gram matrices ``(E, p, p)`` with their ridge and labels ``(E, p)``, float64, without a gradient's graph."""
    gram = validate.tensor("gram", gram).detach()
    y = validate.tensor("y", y).detach()
    if gram.ndim in (4, 5) and gram.shape[-4:] == y.shape[-2:] * 2 and gram.ndim - y.ndim == 2:
        gram, y = gram.flatten(-4, -3).flatten(-2), y.flatten(-2)
    p = y.shape[-1] if y.ndim else 0
    if gram.shape != (*y.shape, p) or p < 2 or y.ndim > 2:
        raise InputError(
            "gram must be (p, p) or (E, p, p) and y (p,) or (E, p) with p >= 2, "
            f"got {tuple(gram.shape)} and {tuple(y.shape)}"
        )
    gram = gram.reshape(-1, p, p)
    y = y.double().to(gram.device).reshape(-1, p)
    validate.arrays(gram=("E p p", gram))
    gram = gram.double()
    needs_both_labels(y)
    if ridge:
        epsilon = ridge * gram.diagonal(dim1=-2, dim2=-1).mean(-1)
        gram = gram + epsilon[:, None, None] * torch.eye(p).to(gram)
    for k, labels in zip(gram, y):
        _needs_fittable(k, labels)
    return gram, y


def _needs_fittable(gram: Tensor, y: Tensor) -> None:
    """Checks for a symmetric kernel with a positive diagonal, and for no equal points with opposite labels."""
    diagonal = gram.diagonal()
    stripes = zip(gram.split(128), gram.split(128, 1))  # not the whole difference at once
    skew = max(float((rows - columns.T).abs().max()) for rows, columns in stripes)
    if not bool((diagonal > 0).all()) or skew > 1e-5 * float(diagonal.max()):
        raise InputError("gram must be symmetric with a positive diagonal")
    plus = (y > 0).nonzero()[:, 0]
    minus = (y < 0).nonzero()[:, 0]
    scale = diagonal[plus, None] + diagonal[minus]
    equal = scale - 2 * gram[plus][:, minus] <= EQUAL * scale
    if bool(equal.any()):
        i, j = equal.nonzero()[0].tolist()
        raise InputError(
            f"points {int(plus[i])} and {int(minus[j])} are equal to the kernel but have opposite labels: "
            f"no function of it fits both ({int(equal.sum())} such pairs)"
        )
