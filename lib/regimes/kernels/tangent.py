r"""Tangent kernels of networks of finite width, and the wide limit of one hidden layer with biases.

``Θ(x, z) = Σ_w ∂f(x)/∂w ∂f(z)/∂w``, a plain sum over the chosen weights in the network's own parametrisation, is the
product of two Jacobians, in the form that :mod:`regimes.models.tangents` keeps. For the one-hidden-layer network
``f = (1/h) Σ_n β_n σ(ω_n·x/√d + b_n)``, ``σ = √2 ReLU`` (mean-field scale), it is

.. math:: Θ = h^{-2} Σ_n [σ(u_n) σ(v_n) + β_n² σ'(u_n) σ'(v_n) (1 + x·z/d)],

with the term of ``beta``, then those of ``b`` (the 1) and ``omega`` (``x·z/d``). It falls as ``1/h``, and ``h Θ`` has a
limit.

Kernels are computed tile by tile, in at most ``memory`` bytes besides the result, and of a Gram matrix only the upper
triangle. Weights, inputs and result share a leading axis of independent realisations.

Source: paper A, Sec. 2.4 and App. D.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from regimes import devices, validate
from regimes.kernels import tiles
from regimes.kernels.infinite import infinite_ntk
from regimes.models import WORK, Model, checked, needs_finite
from regimes.models.differentiated import Differentiated
from regimes.models.layers import UncertifiedError
from regimes.models.module import ModuleModel
from regimes.models.outputs import opened
from regimes.models.tangents import Tangents, chosen

Points = Tensor | tuple | list | Mapping  # one tensor, or several of one row a point
MEMORY = 2**28  # bytes of temporaries: a few tiles beyond the cache, far below a laptop's memory
TILE = {"cpu": 256, "cuda": 2048}  # side of a tile: its features fit in a core's cache, or fill a GPU


@torch.no_grad()
def ntk(
    model: Model,
    x: Points,
    z: Points | None = None,
    *,
    params: Collection[str] | None = None,
    memory: int = MEMORY,
    outputs: str = "sum",
) -> Tensor:
    """The tangent kernel ``Θ(x, z)`` of a network at its current weights, initial or trained.

    For a module of ``C`` outputs ``Θ_cd(x, z) = ∂f_c(x)·∂f_d(z)`` it is ``Σ_c Θ_cc``, or what ``outputs`` says.

    Args:
        model: ``E`` realisations; ``regimes.module`` makes one of a torch module.
        x: points ``(n, ...)``, the same for all realisations, or ``(E, n, ...)``: each as a vector, or of the shape
            that the model has for them (:func:`regimes.models.inputs`); for a torch module also a tuple, list or
            dictionary of tensors ``(n, ...)``, the arguments of its ``forward``.
        z: other points, likewise ``m``; ``None`` for ``x`` itself (Gram matrix, exactly symmetric).
        params: parameters to differentiate with respect to, out of ``model.names``: for one hidden layer ``omega``,
            ``b``, ``beta``, for fully connected networks ``W1``, ``b1``, …, ``WL`` (``WL`` alone gives the last-layer
            kernel). ``None``: all that are trained.
        memory: bytes of temporaries, for a torch module with what a forward pass keeps for the backward one; one point
            of one realisation is computed at any cost.
        outputs: of a module with several: ``"sum"`` of their kernels, ``"each"`` kernel, or ``"all"`` pairs.

    Returns:
        ``(E, n, m)``, in the weights' dtype, on their device; ``(E, C, n, m)`` for ``"each"``, ``(E, n, C, m, C)`` for
        ``"all"``.

    Raises:
        InputError: for what is no model, points that do not fit it, and unknown parameters.

    Source: paper A, Sec. 2.4 (definition) and App. D (closed form for one hidden layer).
    """
    validate.one_of(("sum", "each", "all"), outputs=outputs)
    validate.integer(1, memory=memory)
    validate.model(model)
    single, (mine, theirs), count = opened(model, x, z)
    if outputs == "all":
        return _of_pairs(single, mine, theirs, params, memory)
    if count == 1:
        kernel = _ntk(single, mine, theirs, params, memory)
        return kernel.unsqueeze(1) if outputs == "each" else kernel
    kernels = (_ntk(single.output(c), mine, theirs, params, memory) for c in range(count))
    return torch.stack(list(kernels), 1) if outputs == "each" else functools.reduce(Tensor.add_, kernels)


def _of_pairs(model: Any, x: Tensor, z: Tensor | None, params: Collection[str] | None, memory: int) -> Tensor:
    """``Θ_cd (E, n, C, m, C)``: the kernel of all pairs of a point and an output."""
    if not hasattr(model, "paired"):
        return _ntk(model, x, z, params, memory)[:, :, None, :, None]
    single, mine, count = model.paired(x)
    theirs = None if z is None else model.paired(z, "z")[1]
    kernel = _ntk(single, mine, theirs, params, memory)
    return kernel.unflatten(2, (-1, count)).unflatten(1, (-1, count))


def _ntk(model: Model, x: Tensor, z: Tensor | None, params: Collection[str] | None, memory: int) -> Tensor:
    """The kernel of a model of one output."""
    x = checked(model, x)
    z = None if z is None else checked(model, z, "z")
    params = chosen(params, model.names)
    kernel = _kernel(model, x, z, params, memory)
    needs_finite(kernel, "kernel", model, x if z is None else z)
    return kernel


def _kernel(model: Model, x: Tensor, z: Tensor | None, params: Collection[str], memory: int) -> Tensor:
    first = model.parameters()[0]
    shape = (len(first), x.shape[1], (x if z is None else z).shape[1])
    validate.memory(math.prod(shape) * first.element_size(), f"a kernel of shape {shape}", first.device)
    out = torch.empty(shape, dtype=first.dtype, device=first.device)
    if not isinstance(model, ModuleModel):
        return _tiled(out, model, params, x, z, model.tangent_size, model.tangent_size, memory)
    model = model.only(params)
    if dense_names := model.dense_names(x):
        dense = model.only(dense_names)
        making = max(model.tangent_size, 2 * dense.dense_size)
        with contextlib.suppress(UncertifiedError):
            _tiled(out, dense, dense_names, x, z, making, 2 * dense.dense_size, memory)
            others = [name for name in model.names if name not in dense_names]
            return out.add_(_by_rows(model.only(others), x, z, memory)) if others else out
    del out
    return _by_rows(model, x, z, memory)


def _by_rows(model: ModuleModel, x: Tensor, z: Tensor | None, memory: int) -> Tensor:
    """The kernel of a torch module from the gradients of single points."""
    devices.reuse_memory()
    mine = Differentiated(model, x, memory)
    return mine.gram(mine if z is None else Differentiated(model, z, memory))


def _tiled(
    out: Tensor, model: Model, params: Collection[str], x: Tensor, z: Tensor | None, making: int, held: int, memory: int
) -> Tensor:
    """``out``, with the kernel written into it tile by tile; see :func:`_plan`."""
    together, side, stored = _plan(making, held, out, memory)
    for start in range(0, len(out), together):
        e = slice(start, start + together)
        tangents = functools.partial(_tangents, model[e], params)
        _fill(out[e], tangents, _of(x, e), None if z is None else _of(z, e), side, stored)
    return out


def _tangents(model: Model, params: Collection[str], x: Tensor) -> Tangents:
    return (model.dense(x) if isinstance(model, ModuleModel) else model.tangents(x)).only(params)


def _of(x: Tensor, e: slice) -> Tensor:
    """The points of the realisations ``e``."""
    return x[e] if len(x) > 1 else x


def _plan(making: int, held: int, out: Tensor, memory: int) -> tuple[int, int, int]:
    """The number of realisations at a time, the side of a tile, and the number of row tiles stored while columns pass.

    ``held`` is the count of numbers in the tangents of one point, ``making`` that while they are made.
    Half of the memory is for stored tiles, the rest for making one more and for the products.
    """
    side = min(TILE.get(out.device.type, 1024), max(out.shape[-2:]))

    def passing() -> int:
        return 2 * out.element_size() * side * (WORK * making + 4 * side)

    while side > 1 and passing() > memory:
        side //= 2
    together = max(1, min(len(out), memory // passing()))
    return together, side, max(1, memory // (2 * out.element_size() * together * side * held))


def _fill(
    out: Tensor, tangents: Callable[[Tensor], Tangents], x: Tensor, z: Tensor | None, side: int, stored: int
) -> None:
    """Writes the kernel into ``out``; ``stored`` tiles of rows are held at a time until all columns have passed."""
    mirrored = z is None
    rows = x.split(side, 1)
    columns = (x if z is None else z).split(side, 1)
    tangents_of_rows: dict[int, Tangents] = {}
    for first in range(0, len(rows), stored):
        tangents_of_rows.clear()  # before the next ones take their memory
        tangents_of_rows.update((i, tangents(rows[i])) for i in range(first, min(first + stored, len(rows))))
        for j in range(first if mirrored else 0, len(columns)):
            theirs = tangents_of_rows[j] if mirrored and j in tangents_of_rows else tangents(columns[j])
            for i in tangents_of_rows:
                if i <= j or not mirrored:
                    tiles.write(out, i * side, j * side, tangents_of_rows[i].gram(theirs), mirrored)


def wide_one_hidden_ntk(x: Tensor, z: Tensor | None = None) -> Tensor:
    """``lim h Θ`` for ``h → ∞`` of the one-hidden-layer network with all weights standard normal, biases included.

    With ``x̃ = (x/√d, 1)`` it is ``2 |x̃| |z̃| Θ̄^(2)(x̃, z̃)``: a bias is the weight of a constant input. Frozen
    dynamics take ``h`` times less time on it than on ``Θ``.

    Args:
        x: inputs ``(..., n, d)``, float64.
        z: inputs ``(..., m, d)``; ``None`` for ``x`` itself.

    Returns:
        ``(..., n, m)``.

    Source: paper A, Sec. 2.2 and 2.4; the arc-cosine kernels of orders 0 and 1.
    """
    validate.arrays(x=("... n d", x), **({} if z is None else {"z": ("... m d", z)}))
    x = _augmented(x)
    z = None if z is None else _augmented(z)
    right = x if z is None else z
    return 2 * x.norm(dim=-1)[..., :, None] * right.norm(dim=-1)[..., None, :] * infinite_ntk(x, z, depth=2)


def _augmented(x: Tensor) -> Tensor:
    return torch.cat([x / math.sqrt(x.shape[-1]), torch.ones_like(x[..., :1])], dim=-1)
