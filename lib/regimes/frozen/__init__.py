r"""Gradient flow of a frozen kernel: the lazy limit, and kernel learning with any Gram matrix.

``df/dt = (1/p) Σ_μ K(x, x_μ) y_μ q_μ``,   ``q_μ = -l'(α y_μ f(x_μ))``,   ``f = 0`` at the start,

in the time unit of paper A, Eq. 2 and 4: with ``K`` the network's tangent kernel this is the flow of the network as
long as its kernel does not move (the per-sample loss being ``l(α y f)/α``). ``α`` sets the unit of time alone. With
``c_μ = (1/p) ∫ y_μ q_μ dt`` the learnt function is ``f(x) = Σ_μ K(x, x_μ) c_μ``.

The hinge loss is followed exactly, from event to event (:mod:`regimes.frozen.hinge`); smooth losses by adaptive steps
(:mod:`regimes.frozen.smooth`). Realisations of an ensemble have their own time and are independent to the last bit.

Source: paper A, Eq. 4 and Sec. 2.4.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regimes import check, losses
from regimes.check import InputError
from regimes.frozen.hinge import HingePath
from regimes.frozen.smooth import SmoothPath
from regimes.losses import Loss
from regimes.tasks import needs_both_labels

EQUAL = 1e-12  # squared distance of two points in feature space, relative to their norms, below which they are equal


@dataclass(frozen=True)
class State:
    """A frozen-kernel flow at one moment; leading axes are those of the Gram matrix.

    Attributes:
        t: time ``(...)``, paper A's unit.
        margins: ``α y f`` on the training points ``(..., p)``.
        coefficients: dual coefficients ``c (..., p)``: ``f = K c``.
        steps: events (hinge) or accepted steps (smooth losses) so far, of all realisations together.
        ended: for each realisation (a single one for a ``(p, p)`` Gram matrix) why it ended, empty while it runs:
            ``"zero loss"``, ``"at rest …"``, ``"wall limit …"``.
    """

    t: Tensor
    margins: Tensor
    coefficients: Tensor
    steps: int
    ended: tuple[str, ...]

    def predict(self, cross: Tensor) -> Tensor:
        """The learnt function ``f (..., n)`` at points with kernel ``cross (..., n, p)`` to the training points."""
        return (cross.to(self.coefficients) @ self.coefficients[..., None])[..., 0]


def flow(
    gram: Tensor,
    y: Tensor,
    *,
    alpha: float = 1.0,
    loss: str | Loss = "hinge",
    tolerance: float = 1e-3,
    slack: float | None = None,
    wall: float | None = None,
) -> Iterator[State]:
    """The gradient flow of a frozen kernel, to zero loss; the caller may stop before.

    Args:
        gram: ``K (..., p, p)``, symmetric, positive semi-definite; leading axes are independent realisations.
        y: labels ``(..., p)`` in {-1, +1}.
        alpha: ``α > 0``.
        loss: a name in ``regimes.losses.LOSSES`` or a loss. The hinge's path is exact, followed on the CPU; the
            others go by adaptive steps, with the Gram matrix on its device. Both in float64.
        tolerance: smooth losses: local error of a step in any margin. Of no effect for the hinge.
        slack: the quadratic hinge and the square loss, whose margins only tend to 1, end when all are as close to it;
            ``None``: the tolerance. Of no effect for the others, which end when all margins are at least 1.
        wall: seconds after which the realisations that still run are stopped and marked.

    Yields:
        The state at the start, and after every event or step of each realisation that still runs. Between two states
        of the hinge flow margins and coefficients are linear in time.

    Raises:
        InputError: for shapes that do not match, fewer than two points, NaN, labels that are not ±1 or a single
            class, ``alpha <= 0``, a tolerance or slack outside (0, 1), a Gram matrix that is not symmetric or has no
            positive diagonal, and equal points with opposite labels.

    Source: paper A, Eq. 4.
    """
    ensemble = _Ensemble(gram, y, alpha, loss, tolerance, slack, wall)
    return ensemble.states()


def fit(
    gram: Tensor,
    y: Tensor,
    *,
    alpha: float = 1.0,
    loss: str | Loss = "hinge",
    tolerance: float = 1e-3,
    slack: float | None = None,
    wall: float | None = None,
) -> State:
    """The last state of :func:`flow`, with the same arguments: the kernel method trained to zero loss."""
    ensemble = _Ensemble(gram, y, alpha, loss, tolerance, slack, wall)
    for _ in ensemble.rounds():
        pass
    return ensemble.state()


class _Ensemble:
    """The realisations' paths, advanced in turn."""

    def __init__(
        self,
        gram: Tensor,
        y: Tensor,
        alpha: float,
        loss: str | Loss,
        tolerance: float,
        slack: float | None,
        wall: float | None,
    ) -> None:
        slack = tolerance if slack is None else slack
        gram, y, self.shape = _checked(gram, y, alpha, tolerance, slack, wall)
        loss = losses.pick(loss)
        self.paths = [_path(k, labels, alpha, loss, tolerance, slack) for k, labels in zip(gram, y)]
        self.signed, self.wall = y / y.shape[-1], wall

    def rounds(self) -> Iterator[None]:
        """One event or step of every realisation that still runs, until none does."""
        started = time.monotonic()
        while running := [path for path in self.paths if not path.ended]:
            for path in running:
                path.step()
            if self.wall is not None and time.monotonic() - started > self.wall:
                for path in running:
                    path.ended = path.ended or f"wall limit of {self.wall:g} s reached after {path.events} steps"
            yield

    def states(self) -> Iterator[State]:
        yield self.state()
        for _ in self.rounds():
            yield self.state()

    def state(self) -> State:
        now = torch.stack([torch.as_tensor(path.state) for path in self.paths]).to(self.signed)  # a copy
        t = torch.tensor([path.t for path in self.paths], dtype=now.dtype, device=now.device).reshape(self.shape[:-1])
        margins, coefficients = now[:, 0].reshape(self.shape), (now[:, 1] * self.signed).reshape(self.shape)
        return State(t, margins, coefficients, sum(p.events for p in self.paths), tuple(p.ended for p in self.paths))


def _path(gram: Tensor, y: Tensor, alpha: float, loss: Loss, tolerance: float, slack: float) -> HingePath | SmoothPath:
    Q = y[:, None] * gram * (y * alpha / len(y))
    if loss.corner:
        return HingePath(np.ascontiguousarray(Q.cpu().numpy()))
    return SmoothPath(Q, loss, tolerance=tolerance, slack=slack)


def _checked(
    gram: Tensor, y: Tensor, alpha: float, tolerance: float, slack: float, wall: float | None
) -> tuple[Tensor, Tensor, torch.Size]:
    check.positive(alpha=alpha, **({} if wall is None else {"wall": wall}))
    check.within(0, 1, tolerance=tolerance, slack=slack)
    p = y.shape[-1] if y.ndim else 0
    if gram.shape != (*y.shape, p) or p < 2:
        raise InputError(
            f"gram must be (..., p, p) and y (..., p) with p >= 2, got {tuple(gram.shape)} and {tuple(y.shape)}"
        )
    shape, gram, y = y.shape, gram.double().reshape(-1, p, p), y.double().to(gram.device).reshape(-1, p)
    if not bool(torch.isfinite(gram).all()):
        raise InputError("gram holds NaN or infinity")
    needs_both_labels(y)
    for k, labels in zip(gram, y):
        _needs_fittable(k, labels)
    return gram, y, shape


def _needs_fittable(gram: Tensor, y: Tensor) -> None:
    """Symmetric with a positive diagonal, and no two equal points with opposite labels."""
    diagonal = gram.diagonal()
    if not bool((diagonal > 0).all()) or float((gram - gram.T).abs().max()) > 1e-5 * float(diagonal.max()):
        raise InputError("gram must be symmetric with a positive diagonal")
    plus, minus = (y > 0).nonzero()[:, 0], (y < 0).nonzero()[:, 0]
    scale = diagonal[plus, None] + diagonal[minus]
    equal = scale - 2 * gram[plus][:, minus] <= EQUAL * scale
    if bool(equal.any()):
        i, j = equal.nonzero()[0].tolist()
        raise InputError(
            f"points {int(plus[i])} and {int(minus[j])} are equal to the kernel but have opposite labels: "
            f"no function of it fits both ({int(equal.sum())} such pairs)"
        )
