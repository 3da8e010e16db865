"""Learning with the frozen kernel of some of a network's parameters, such as its last layer's.

Source: paper A, Fig. 9.
"""

from collections.abc import Collection

import torch

from regimes import validate
from regimes.data.tasks import Task
from regimes.kernels import ntk
from regimes.measures.errors import wrong
from regimes.measures.lazy import Lazy, in_words, tangent_predictor
from regimes.models import Model
from regimes.training import kernel_flow

MEMORY = 2**27  # bytes of the tangents of a block of points, with what making them takes


@torch.no_grad()
def frozen(model: Model, train: Task, test: Task, *, params: Collection[str] | None = None, ridge: float = 0.0) -> Lazy:
    """The hinge flow with the tangent kernel frozen at the model's present weights, to its end.

    As :func:`regimes.measures.lazy.lazy`, for any model and any of its parameters. It runs in float64 for models of any
    precision: in float32 a kernel of few features would seem to have as many as points.

    Args:
        model: ``E`` realisations, initial or trained.
        train: points ``(E, p, d)`` and labels ``(E, p)``; for a fair test, other points than trained the model.
        test: points ``(E, n, d)`` and labels.
        params: names of the parameters that move, ``None`` for all.
        ridge: of ``regimes.training.kernel_flow``; a kernel of fewer features than points needs it for a unique end.

    Source: paper A, Eq. 4 and Fig. 9.
    """
    count = len(model.parameters()[0])
    for name, task in (("train", train), ("test", test)):
        validate.arrays(**{f"{name}.x": (f"{count} n d", task.x)})
        validate.arrays(**{f"{name}.y": (" ".join(map(str, task.x.shape[:2])), task.y)})
    model, train, test = (one.to(dtype=torch.float64) for one in (model, train, test))
    fit = kernel_flow.fit(ntk(model, train.x, params=params), train.y, ridge=ridge)
    f = tangent_predictor(model, train.x, fit.coefficients, test.x, params=params, memory=MEMORY)
    return Lazy(wrong(f, test.y), tuple(in_words(fit.ended[row]) for row in range(count)), f)
