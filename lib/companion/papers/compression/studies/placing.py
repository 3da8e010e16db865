r"""Chapter 1, planes under any loss: the test error of a network against the forces of its training points."""

from collections.abc import Callable, Sequence
from typing import Literal, Self

import torch
from torch import Tensor

from companion.lab.record import Count, Increasing, Positive, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import Followed, OnLines, lines
from companion.papers.compression.theory.planes import effective_points
from companion.papers.tasks import DRAWN, StripeSet, draw_tasks, networks_of
from regimes.measures.errors import line_error
from regimes.models import losses
from regimes.training.gradient_flow import gradient_flow
from regimes.training.run import run
from regimes.training.state import State
from regimes.validate import InputError

CHAPTER = "01"


@record
class Placing(OnLines, Followed, StripeSet):
    """Networks on the stripe that a gradient flow of one loss trains until few points pull.

    Attributes:
        loss: what is minimised.
        per_direction: effective points a dimension, at which the networks are looked at when they are first so few.
    """

    loss: Literal["hinge", "quadratic_hinge", "logistic"]
    per_direction: Increasing[Positive]

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its task says; at the start all points pull, so that fewer must be asked for."""
        most = self.per_direction[-1] * self.d
        if most >= self.p:
            raise InputError(f"per_direction times d must stay below p = {self.p}, got {most:g}")
        return super().completed(seeds)


@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    data=DRAWN,
    device="any",
    columns=dict.fromkeys(("error", "effective", "unfitted", "train_loss", "ended"), STATISTICAL),
)
def placed(s: Placing, seeds: list[int]) -> Rows:
    r"""A network under one loss: a row per number of effective points a dimension, where there are first so few.

    ``effective``: :math:`n_{\rm eff}=\sum_\mu(\ell'(y_\mu F_\mu)/\ell'(0))^2` of the training points; ``unfitted``:
    those with ``yF < 1``; ``train_loss``: their mean loss; ``error``: the test error, exact along the first axis.
    A number that a run never met has no row.

    Source: derived from paper A, Eq. 2 and Sec. 2.5.
    """
    return [row for seed in seeds for row in _placed(s, seed)]


def _placed(s: Placing, seed: int) -> Rows:
    (train,) = draw_tasks(s, [seed], "train")
    network = networks_of(s, [seed])
    loss = losses.named(s.loss)

    def at_most(count: float) -> Callable[[State], Tensor]:
        return lambda state: count - effective_points(loss, state.margins)

    rules = {f"{n:g}": at_most(n * s.d) for n in s.per_direction}
    path = run(
        gradient_flow(network, train, alpha=s.alpha, loss=loss, tolerance=s.tolerance),
        events=rules,
        until=rules[f"{s.per_direction[0]:g}"],
    )
    across, edges = lines(s, [seed])
    rows = []
    for n in reversed(s.per_direction):
        stop = path.events[f"{n:g}"].get(0)
        if stop is None:
            continue
        model = stop.model.to(dtype=torch.float64)
        row = {"seed": seed, "at": n, "effective": float(effective_points(loss, stop.margins))}
        row |= {"unfitted": int((stop.margins < 1).sum()), "train_loss": stop.loss}
        row |= {"error": float(line_error(model, network, across, edges)), "ended": str(path.ended[0].kind)}
        rows.append(row)
    return rows
