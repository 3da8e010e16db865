"""Learning with the frozen kernel of some of a network's parameters, such as its last layer's.

Source: paper A, Fig. 9.
"""

from collections.abc import Collection

import torch

from regimes import validate
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.models import Model, blocks
from regimes.models.tangents import chosen
from regimes.themes.learning_curves import Lazy, in_words, wrong
from regimes.training import kernel_flow

MEMORY = 2**27  # bytes of the tangents of a block of points, with what making them takes


@torch.no_grad()
def frozen(model: Model, train: Task, test: Task, *, params: Collection[str] | None = None) -> Lazy:
    """The hinge flow with the tangent kernel frozen at the model's present weights, to its end.

    As :func:`regimes.themes.learning_curves.lazy`, for any model and any of its parameters. The kernel is made in the
    model's precision, the flow is followed in float64.

    Args:
        model: ``E`` realisations, initial or trained.
        train: points ``(E, p, d)`` and labels ``(E, p)``; other ones than trained the model, for a fair judgement.
        test: points ``(E, n, d)`` and labels.
        params: names of the parameters that move, ``None`` for all.

    Raises:
        InputError: for unknown parameters, points that do not fit the model, and as
            ``regimes.training.kernel_flow.fit``.

    Source: paper A, Eq. 4 and Fig. 9.
    """
    count, names = len(model.parameters()[0]), chosen(params, model.names)
    for name, task in (("train", train), ("test", test)):
        validate.arrays(**{f"{name}.x": (f"{count} n d", task.x)})
        validate.arrays(**{f"{name}.y": (" ".join(map(str, task.x.shape[:2])), task.y)})
    fitted = kernel_flow.fit(ntk(model, train.x, params=names).double(), train.y.double())
    c = fitted.coefficients.to(train.x)
    moved = None
    for rows in blocks(model, train.x, MEMORY):
        more = model.tangents(train.x[:, rows]).only(names).pull(c[:, rows])
        moved = more if moved is None else [a + b for a, b in zip(moved, more, strict=True)]
    found = [model.tangents(test.x[:, rows]).only(names).push(moved) for rows in blocks(model, test.x, MEMORY)]
    f = torch.cat(found, -1)
    return Lazy(wrong(f, test.y), tuple(in_words(fitted.ended[row]) for row in range(count)), f)
