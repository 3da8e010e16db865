"""Learning with the frozen kernel of some of a network's parameters, such as its last layer's.

Source: paper A, Fig. 9.
"""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures.errors import wrong
from regimes.measures.lazy import Lazy, in_words
from regimes.models import Model, blocks
from regimes.models.tangents import chosen
from regimes.training import kernel_flow

MEMORY = 2**27  # bytes of the tangents of a block of points, with what making them takes


def frozen(model: Model, train: Task, test: Task, *, params: Collection[str] | None = None, ridge: float = 0.0) -> Lazy:
    """The hinge flow with the tangent kernel frozen at the model's present weights, to its end.

    As :func:`regimes.measures.lazy.lazy`, for any model and any of its parameters. All is done in float64,
    whatever the model's precision: in float32 a kernel of few features would seem to have as many as points.

    Args:
        model: ``E`` realisations, initial or trained.
        train: points ``(E, p, d)`` and labels ``(E, p)``; other ones than trained the model, for a fair judgement.
        test: points ``(E, n, d)`` and labels.
        params: names of the parameters that move, ``None`` for all.
        ridge: of ``regimes.training.kernel_flow``; a kernel of fewer features than points has no unique end without.

    Source: paper A, Eq. 4 and Fig. 9.
    """
    return frozen_each(model, train, test, [params], ridge=ridge)[0]


@torch.no_grad()
def frozen_each(
    model: Model, train: Task, test: Task, choices: Sequence[Collection[str] | None], *, ridge: float = 0.0
) -> list[Lazy]:
    """:func:`frozen` for several choices of parameters, whose tangents at the test points are made once.

    Source: paper A, Fig. 9.
    """
    count, names = len(model.parameters()[0]), [chosen(params, model.names) for params in choices]
    for name, task in (("train", train), ("test", test)):
        validate.arrays(**{f"{name}.x": (f"{count} n d", task.x)})
        validate.arrays(**{f"{name}.y": (" ".join(map(str, task.x.shape[:2])), task.y)})
    model, train, test = (one.to(dtype=torch.float64) for one in (model, train, test))
    fits = [kernel_flow.fit(ntk(model, train.x, params=some), train.y, ridge=ridge) for some in names]
    moved = [_moved(model, train.x, some, fit.coefficients) for some, fit in zip(names, fits)]
    found: list[list[Tensor]] = [[] for _ in names]
    for rows in blocks(model, test.x, MEMORY):
        tangents = model.tangents(test.x[:, rows])
        for f, some, move in zip(found, names, moved):
            f.append(tangents.only(some).jvp(move))
    outputs = [torch.cat(f, -1) for f in found]
    ends = [tuple(in_words(fit.ended[row]) for row in range(count)) for fit in fits]
    return [Lazy(wrong(f, test.y), ended, f) for f, ended in zip(outputs, ends)]


def _moved(model: Model, x: Tensor, names: Collection[str], c: Tensor) -> list[Tensor]:
    """How far the flow has moved the parameters, ``Jᵀ c``."""
    parts = [model.tangents(x[:, rows]).only(names).vjp(c[:, rows]) for rows in blocks(model, x, MEMORY)]
    return [sum(tensors) for tensors in zip(*parts)]
