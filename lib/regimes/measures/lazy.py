"""Learning with a frozen tangent kernel, of a network or of an infinitely wide one.

At finite width the predictor follows from the displacement of the weights, ``f(z) = Σ_μ c_μ Θ(z, x_μ) = ∇f(z)·ΔW`` with
``ΔW = Σ_μ c_μ ∇f(x_μ)``: ``O(h d)`` per test point for one hidden layer, instead of ``O(h p)`` with the kernel.

Source: paper A, Sec. 2.4 and Eq. 4 at a fixed kernel.
"""

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import Task
from regimes.kernels import ntk, wide_one_hidden_ntk
from regimes.measures.errors import wrong
from regimes.models import Model, blocks, checked
from regimes.models.tangents import chosen
from regimes.training import kernel_flow
from regimes.training.state import Ended, Ending
from regimes.validate import InputError

BLOCK = 2**24  # entries of the infinitely wide kernel of one block of test points
MEMORY = 2**24  # bytes of the tangents of a block of points, with what making them takes: a few times a cache


@dataclass(frozen=True)
class Lazy:
    """What a frozen kernel has learnt, for each realisation.

    Attributes:
        error: test errors ``(S,)``.
        ended: how each flow ended, ``"zero loss"`` or the reason why not.
        f: the learnt function on the test points ``(S, n)``.
    """

    error: Tensor
    ended: tuple[str, ...]
    f: Tensor


def in_words(why: Ending) -> str:
    """How a flow of the hinge loss ended, as stored in a row: ``"zero loss"``, or the reason why not."""
    return "zero loss" if why.kind == Ended.FITTED else str(why)


def wide_lazy(train: Task, test: Task) -> Lazy:
    """Learning with the kernel of the infinitely wide network; tasks with a leading axis ``(S, ., d)``, float64.

    Source: paper A, Sec. 2.4 (NTK regime).
    """
    _needs_tasks(train, test)
    fitted = kernel_flow.fit(wide_one_hidden_ntk(train.x), train.y)
    coefficients = fitted.coefficients.to(train.x)
    f = torch.stack([wide_predictor(x, c, z) for x, c, z in zip(train.x, coefficients, test.x, strict=True)])
    return Lazy(wrong(f, test.y), tuple(in_words(fitted.ended[row]) for row in fitted.rows), f)


def wide_predictor(x: Tensor, c: Tensor, z: Tensor) -> Tensor:
    """``Σ_μ c_μ Θ(z, x_μ)`` with the infinitely wide network's kernel, in blocks; ``x (p, d)``, ``z (n, d)``."""
    validate.arrays(x=("p d", x), c=("p", c), z=("n d", z))
    x, c = x[c != 0], c[c != 0]  # few points support a hinge loss's predictor
    step = max(1, BLOCK // max(1, len(x)))
    return torch.cat([wide_one_hidden_ntk(part, x) @ c for part in z.split(step)])


def lazy(
    model: Model,
    train: Task,
    test: Task,
    *,
    params: Collection[str] | None = None,
    ridge: float = 0.0,
    memory: int | None = None,
) -> Lazy:
    """Learning with the tangent kernel frozen at the model's current weights, initial or trained.

    The kernel cannot fit a training point that activates no neuron; ``ended`` says how many there are. In float32 a
    kernel of few features seems to have as many as there are points: take such a model to float64.

    Args:
        model: ``S`` realisations.
        train: points ``(S, p, ...)``, or ``(p, ...)`` shared by all, as the model takes them
            (:func:`regimes.models.inputs`), and labels ``(S, p)`` or ``(p,)``; for a fair test, other points than
            trained the model.
        test: points and labels likewise.
        params: names of the parameters that move, ``None`` for all.
        ridge: of ``regimes.training.kernel_flow``; a kernel of fewer features than points needs it for a unique end.
        memory: bytes of temporaries, of the kernel as of the predictor (:func:`tangent_predictor`); ``None`` for
            the bound that each has by itself. The kernel of the training points, ``p²`` numbers, is no temporary.

    Raises:
        InputError: for points that do not fit the model, and labels that are not one per point.

    Source: paper A, Eq. 4 at a fixed kernel, and Fig. 9.
    """
    x, y = _as_taken(model, "train", train)
    z, labels = _as_taken(model, "test", test)
    grams = ntk(model, x, params=params) if memory is None else ntk(model, x, params=params, memory=memory)
    fits = [_fit_seen(gram, train_labels, ridge) for gram, train_labels in zip(grams, y, strict=True)]
    c = torch.stack([coefficients for coefficients, _ in fits])
    f = tangent_predictor(model, x, c, z, params=params, memory=MEMORY if memory is None else memory)
    return Lazy(wrong(f, labels), tuple(why for _, why in fits), f)


def _as_taken(model: Model, name: str, task: Task) -> tuple[Tensor, Tensor]:
    """Points ``(1, p, ...)`` or ``(S, p, ...)`` and labels ``(S, p)`` of a task, checked."""
    x = checked(model, task.x, f"{name}.x")
    y = validate.points(f"{name}.y", task.y)
    first = model.parameters()[0]
    count = len(first)
    if y.shape not in ((count, x.shape[1]), (x.shape[1],)):
        wanted = f"({count}, {x.shape[1]}) or ({x.shape[1]},)"
        raise InputError(f"{name}.y must hold one label a point, {wanted}, got {tuple(y.shape)}")
    if not y.is_floating_point():
        y = y.to(first.dtype)
    return x, y.expand(count, -1)


def _fit_seen(gram: Tensor, y: Tensor, ridge: float) -> tuple[Tensor, str]:
    """Dual coefficients ``(p,)`` and why the flow ended; points that activate no neuron keep ``f = 0``."""
    seen = (gram.diagonal() > 0) | (ridge > 0)
    if len(y[seen].unique()) < 2:
        count = f"{int(seen.sum())} of {len(y)} training points activate a neuron"
        raise InputError(f"{count}, and the kernel learns from these alone: they must have both labels")
    fitted = kernel_flow.fit(gram[seen][:, seen], y[seen], ridge=ridge)
    c = gram.new_zeros(len(y))
    c[seen] = fitted.coefficients[0].to(c)
    blind = int((~seen).sum())
    why = in_words(fitted.ended[0])
    return c, f"{why}, but for points that activate no neuron: {blind}" if blind else why


@torch.no_grad()
def tangent_predictor(
    model: Model, x: Tensor, c: Tensor, z: Tensor, *, params: Collection[str] | None = None, memory: int = MEMORY
) -> Tensor:
    """``f(z) = Σ_μ c_μ Θ(z, x_μ)`` with the kernel at the current weights, through their displacement ``Jᵀ c``.

    Args:
        model: ``S`` realisations.
        x: training points ``(S, p, ...)``, or ``(p, ...)`` shared by all, as the model takes them.
        c: dual coefficients ``(S, p)``.
        z: points ``(S, n, ...)`` or ``(n, ...)``.
        params: names of the parameters that move, ``None`` for all.
        memory: bytes of the tangents of a block of points, temporaries included.

    Returns:
        ``(S, n)``.

    Source: paper A, Eq. 1 and Sec. 2.4.
    """
    x = checked(model, x)
    z = checked(model, z, "z")
    count = len(model.parameters()[0])
    (c,) = validate.tensors(c=(f"{count} {x.shape[1]}", c))
    names = chosen(params, model.names)
    weights = dict(zip(model.names, model.parameters()))
    displacement = [torch.zeros_like(weight) for name, weight in weights.items() if name in names]
    for rows in blocks(model, x, memory):
        pulled = model.tangents(x[:, rows]).only(names).vjp(c[:, rows])
        for total, part in zip(displacement, pulled, strict=True):
            total += part
    parts = [model.tangents(z[:, rows]).only(names).jvp(displacement) for rows in blocks(model, z, memory)]
    return torch.cat(parts, -1)


def _needs_tasks(train: Task, test: Task) -> None:
    """Checks that training and test have equal numbers of realisations and dimensions."""
    validate.arrays(**{"train.x": ("S p d", train.x), "test.x": ("S n d", test.x)})
    for name, task in (("train", train), ("test", test)):
        validate.arrays(**{f"{name}.y": (" ".join(map(str, task.x.shape[:2])), task.y)})
