r"""Tangent kernels of networks of finite width, and the wide limit of one hidden layer with biases.

``Θ(x, z) = Σ_w ∂f(x)/∂w ∂f(z)/∂w`` over the weights asked for, a plain sum, in the network's own parametrisation.
For the one-hidden-layer network ``f = (1/h) Σ_n β_n σ(ω_n·x/√d + b_n)``, ``σ = √2 ReLU`` (mean-field scale), it is

.. math:: Θ = h^{-2} Σ_n [σ(u_n) σ(v_n) + β_n² σ'(u_n) σ'(v_n) (1 + x·z/d)],

the terms being those of ``beta``, then of ``b`` (the 1) and ``omega`` (the ``x·z/d``); it falls off as ``1/h``, and
``h Θ`` has a limit.

Everything is computed tile by tile, so that beside the result no more than ``memory`` bytes are in use; a Gram matrix
costs its upper triangle only. Weights, inputs and result share a leading axis of independent realisations.

Source: paper A, Sec. 2.4 and App. D.
"""

import math
from collections.abc import Collection, Iterator

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from regimes import validate
from regimes.kernels.infinite import infinite_ntk
from regimes.models.one_hidden import GAIN, Network
from regimes.validate import InputError

MEMORY = 2**28  # bytes of temporaries: a few tiles beyond the cache, far below a laptop's memory
TILE = {"cpu": 256, "cuda": 2048}  # side of a tile: its features fit in a core's cache, or fill a GPU


def ntk(
    network: torch.nn.Module | Network,
    x: Tensor,
    z: Tensor | None = None,
    *,
    params: Collection[str] | None = None,
    memory: int = MEMORY,
) -> Tensor:
    """The tangent kernel ``Θ(x, z)`` of a network at its present weights, initial or trained.

    Args:
        network: one-hidden-layer networks, ``E`` realisations (closed form); or any torch module that maps
            ``(n, ...)`` to ``n`` numbers, each from its own row (per-sample gradients).
        x: inputs ``(n, d)``, the same for all realisations, or ``(E, n, d)``; for a module ``(n, ...)``.
        z: other inputs, likewise with ``m`` rows; ``None`` for ``x`` itself (Gram matrix, exactly symmetric).
        params: names of the parameters to differentiate by: for one hidden layer out of ``omega``, ``b``, ``beta``,
            where ``{"beta"}`` is the last-layer kernel; for a module out of ``named_parameters()``. ``None``: all that
            are trained.
        memory: bytes of temporaries beside the result.

    Returns:
        ``(E, n, m)``, or ``(n, m)`` for a module, in the inputs' dtype, on their device.

    Raises:
        InputError: for unknown or no parameters, shapes that do not fit, or a module with several outputs a point.

    Source: paper A, Sec. 2.4 (definition) and App. D (closed form).
    """
    validate.integer(1, memory=memory)
    if isinstance(network, torch.nn.Module):
        validate.arrays(x=("... n d", x), **({} if z is None else {"z": ("... m d", z)}))
        return _autograd_ntk(network, x, z, params, memory)
    wanted = _chosen(params, ("omega", "b", "beta") if network.bias else ("omega", "beta"))
    _needs_points_of(network, x, z)
    return _one_hidden_ntk(network, x, z, wanted, memory)


def _needs_points_of(network: Network, x: Tensor, z: Tensor | None) -> None:
    """Points of the network's dimension and dtype, for all realisations or for each."""
    count, d = network.omega.shape[0], network.d
    for name, points in (("x", x), ("z", x if z is None else z)):
        validate.arrays(**{name: ("...", points)})
        if points.ndim < 2 or points.shape[-1] != d or points.shape[:-2] not in ((), (1,), (count,)):
            raise InputError(
                f"{name} must be points (..., n, {d}) as the {count} networks take, got {tuple(points.shape)}"
            )
        if points.dtype != network.omega.dtype:
            raise InputError(f"{name} must be {network.omega.dtype} as the network is, got {points.dtype}")


def wide_one_hidden_ntk(x: Tensor, z: Tensor | None = None) -> Tensor:
    """``lim h Θ`` for ``h → ∞`` of the one-hidden-layer network with all weights standard normal, biases included.

    With ``x̃ = (x/√d, 1)`` it is ``2 |x̃| |z̃| Θ̄^(2)(x̃, z̃)``: a bias is the weight of a constant input, and the
    normalised two-layer kernel depends on the angle alone. Frozen dynamics on it take ``h`` times less time than on
    ``Θ`` itself.

    Args:
        x: inputs ``(..., n, d)``, float64.
        z: inputs ``(..., m, d)``; ``None`` for ``x`` itself.

    Returns:
        ``(..., n, m)``.

    Raises:
        InputError: for what ``regimes.kernels.infinite_ntk`` refuses.

    Source: paper A, Sec. 2.2 and 2.4; the arc-cosine kernels of orders 0 and 1.
    """
    validate.arrays(x=("... n d", x), **({} if z is None else {"z": ("... m d", z)}))
    x = _augmented(x)
    z = None if z is None else _augmented(z)
    right = x if z is None else z
    return 2 * x.norm(dim=-1)[..., :, None] * right.norm(dim=-1)[..., None, :] * infinite_ntk(x, z, depth=2)


def _augmented(x: Tensor) -> Tensor:
    return torch.cat([x / math.sqrt(x.shape[-1]), torch.ones_like(x[..., :1])], dim=-1)


def _one_hidden_ntk(network: Network, x: Tensor, z: Tensor | None, wanted: tuple[str, ...], memory: int) -> Tensor:
    h, d = network.h, network.d
    right = x if z is None else z
    batch = torch.broadcast_shapes(network.omega.shape[:-2], x.shape[:-2], right.shape[:-2])
    out = torch.empty(*batch, x.shape[-2], right.shape[-2], dtype=x.dtype, device=x.device)
    side = min(TILE.get(x.device.type, 1024), max(out.shape[-2:]))
    # Eight arrays of a tile's side by the block of neurons: pre-activations, both features and a mask, left and right.
    block = min(h, max(1, memory // (8 * side * x.element_size() * max(1, batch.numel()))))
    for rows, columns in _tiles(*out.shape[-2:], side, z is None):
        a, b = x[..., rows, :], right[..., columns, :]
        tile = _one_hidden_tile(network, a, b, wanted, block, a @ b.mT / d) / h**2
        _write(out, rows, columns, tile, z is None)
    return out


def _one_hidden_tile(
    network: Network, a: Tensor, b: Tensor, wanted: tuple[str, ...], block: int, inner: Tensor
) -> Tensor:
    """``h² Θ`` of one tile; ``inner`` is ``a·b/d``."""
    last, first = torch.zeros((), dtype=a.dtype, device=a.device), None
    for start in range(0, network.h, block):
        n = slice(start, start + block)
        ω, bias, β = network.omega[..., n, :], network.b[..., None, n], network.beta[..., None, n]
        u, v = (points @ ω.mT / math.sqrt(points.shape[-1]) + bias for points in (a, b))
        if "omega" in wanted or "b" in wanted:
            masked = ((u > 0) * β) @ ((v > 0) * β).mT
            first = masked if first is None else first.add_(masked)
        if "beta" in wanted:
            last = last + u.relu_() @ v.relu_().mT
    if first is not None:
        last = last + first * (inner * ("omega" in wanted) + float("b" in wanted))
    return GAIN**2 * last


def _autograd_ntk(
    module: torch.nn.Module, x: Tensor, z: Tensor | None, params: Collection[str] | None, memory: int
) -> Tensor:
    every = {name: value.detach() for name, value in module.named_parameters()}
    wanted = {name: every[name] for name in _chosen(params, tuple(every))}
    fixed = {name: value for name, value in every.items() if name not in wanted}
    right = x if z is None else z

    def output(weights: dict[str, Tensor], point: Tensor) -> Tensor:
        found = functional_call(module, {**fixed, **weights}, (point[None],))
        if found.numel() != 1:
            raise InputError(f"the kernel needs one output a point, the module gives {tuple(found.shape)} for one")
        return found.reshape(())

    def jacobian(points: Tensor) -> Tensor:
        rows = vmap(grad(output), in_dims=(None, 0))(wanted, points)
        return torch.cat([rows[name].flatten(1) for name in wanted], dim=1)

    size = sum(value.numel() for value in wanted.values()) * x.element_size()
    held = max(1, memory // (4 * size))  # rows kept while all columns pass by: fewest Jacobians for the memory
    passing = max(1, held // 4)  # their gradients and the copies made on the way are alive together
    out = torch.empty(len(x), len(right), dtype=x.dtype, device=x.device)
    for top in range(0, len(x), held):
        kept = torch.cat([jacobian(part) for part in x[top : top + held].split(passing)])
        for left in range(top if z is None else 0, len(right), passing):
            if z is None and left + passing <= top + len(kept):
                theirs = kept[left - top : left - top + passing]
            else:
                theirs = jacobian(right[left : left + passing])
            _write(out, slice(top, top + held), slice(left, left + passing), kept @ theirs.T, False)
    return out if z is not None else out.triu() + out.triu(1).T


def _chosen(params: Collection[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    wanted = names if params is None else tuple(params)
    if isinstance(params, str) or not wanted or not set(wanted) <= set(names):
        raise InputError(f"params must be some of {', '.join(names)}; got {params!r}")
    return wanted


def _tiles(n: int, m: int, side: int, mirrored: bool) -> Iterator[tuple[slice, slice]]:
    for i in range(0, n, side):
        for j in range(i if mirrored else 0, m, side):
            yield slice(i, min(i + side, n)), slice(j, min(j + side, m))


def _write(out: Tensor, rows: slice, columns: slice, tile: Tensor, mirrored: bool) -> None:
    if mirrored and rows == columns:
        tile = tile.triu() + tile.triu(1).mT  # a product need not be symmetric to the last bit
    out[..., rows, columns] = tile
    if mirrored and rows != columns:
        out[..., columns, rows] = tile.mT
