"""Expectations over standard normal variables, exact to rounding for functions that are smooth between known breaks.

The trapezoidal rule converges geometrically for analytic functions, but only linearly in the step for discontinuous
ones. Functions with breaks are therefore integrated by Gauss–Legendre panels whose edges are the breaks.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from regimes import validate
from regimes.validate import InputError

REACH = 9.0  # the rules end at ±REACH: the mass beyond is 2e-19
WIDEST = 1e4  # deviation up to which a function smooth on the scale of 1 is resolved: 64 nodes per unit
_DENSITY = 1 / np.sqrt(2 * np.pi)
_CHUNK = 2_000_000  # elements of one temporary: 16 MB stays near the cache

_legendre = functools.lru_cache(maxsize=16)(np.polynomial.legendre.leggauss)

Scalar = Callable[[np.ndarray], np.ndarray]


@functools.lru_cache(maxsize=256)
def trapezoid(nodes: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights ``(nodes,)`` of the trapezoidal rule for the standard normal measure; no node at 0.

    The error for a function analytic within ``a`` of the real axis is of order ``exp(-2 pi a / h)``, ``h`` the step.
    """
    if not validate.is_whole(nodes) or nodes < 2 or nodes % 2:
        raise InputError(f"nodes must be even, so that none falls on 0, got {nodes!r}")
    x = np.linspace(-REACH, REACH, nodes)
    w = np.exp(-(x**2) / 2)
    w /= w.sum()
    x.flags.writeable = w.flags.writeable = False  # shared by all callers
    return x, w


def panels(edges: np.ndarray, order: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre nodes and weights ``(..., (edges - 1) * order)`` for the normal measure between sorted edges.

    Args:
        edges: ``(..., E)``, sorted along the last axis; equal edges make an empty panel.
        order: nodes in each panel.
    """
    x, w = _legendre(order)
    half = np.diff(edges)[..., None] / 2
    nodes = (edges[..., :-1, None] + half) + half * x
    weights = half * w * np.exp(-(nodes**2) / 2) * _DENSITY
    flat = (*edges.shape[:-1], -1)
    return nodes.reshape(flat), weights.reshape(flat)


def rule(breaks: Sequence[float] = (), widths: Sequence[float] = (), *, step: float = 0.5) -> tuple:
    """A composite rule ``(x, w)`` whose panels end at the breaks and shrink towards blurred ones.

    Args:
        breaks: where the integrand jumps or has a kink.
        widths: the width over which each break is blurred, to which the panels around it shrink; 0 for a jump.
        step: length of the panels elsewhere.
    """
    _needs_breaks(breaks)
    validate.at_least(0, **{f"widths[{i}]": width for i, width in enumerate(widths)})
    validate.between(1e-6, REACH, step=step)
    edges: list[np.ndarray | list[float]] = [np.arange(-REACH, REACH + step / 2, step)]
    for i, at in enumerate(breaks):
        width = widths[i] if i < len(widths) else 0.0
        rungs = max(1, np.ceil(np.log2(step / width))) if 0 < width < step else 0
        ladder = width * 2.0 ** np.arange(0, rungs)
        edges += [[at], at + ladder, at - ladder]
    # the grid runs from -REACH to REACH; a break outside has no mass and is dropped
    inside = np.unique(np.concatenate([np.asarray(e, dtype=float) for e in edges]))
    return panels(inside[np.abs(inside) <= REACH], order=16)


def expect(f: Scalar, *, breaks: Sequence[float] = ()) -> float:
    """``E f(z)`` for ``z ~ N(0, 1)``; ``breaks`` are the points where ``f`` jumps or has a kink."""
    x, w = rule(breaks)
    return float(w @ f(x))


def moments(f: Scalar, mean: np.ndarray, std: np.ndarray, *, breaks: Sequence[float] = ()) -> tuple:
    """``E f(y)``, ``E z f(y)``, ``E f(y)^2`` for ``y = mean + std z``, ``z ~ N(0, 1)``, at every element of ``mean``.

    Exact to about 1e-12 for functions that are smooth on the scale of 1 between the breaks; ``std = 0`` is allowed.

    Args:
        f: a vectorised function.
        mean: ``(...)``.
        std: broadcastable to ``mean``, not negative.
        breaks: where ``f`` jumps or has a kink.
    """
    _needs_breaks(breaks)
    mean, std = np.broadcast_arrays(np.asarray(mean, dtype=float), np.asarray(std, dtype=float))
    flat, scale = mean.reshape(-1), std.reshape(-1)
    if not (np.isfinite(flat).all() and ((scale >= 0) & (scale <= WIDEST)).all()):
        raise InputError(
            f"mean must hold finite numbers and std numbers from 0 to {WIDEST:g}, got {mean!r} and {std!r}"
        )
    # a function smooth on the scale of 1 has structure on the scale 1/std in z
    nodes = 2 * int(np.ceil(32 * max(1.0, scale.max(initial=0.0))))
    size = max(1, _CHUNK // nodes)
    parts = [
        _moments(f, flat[i : i + size], scale[i : i + size], breaks, nodes) for i in range(0, max(1, flat.size), size)
    ]
    return tuple(np.concatenate(column).reshape(mean.shape) for column in zip(*parts))


def _needs_breaks(breaks: Sequence[float]) -> None:
    validate.number(**{f"breaks[{i}]": at for i, at in enumerate(breaks)})


def _moments(f: Scalar, mean: np.ndarray, std: np.ndarray, breaks: Sequence[float], nodes: int) -> tuple:
    if not len(breaks):
        z, w = trapezoid(nodes)
        y = f(mean[:, None] + std[:, None] * z)
        return y @ w, y @ (w * z), (y * y) @ w
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = np.nan_to_num((np.sort(breaks) - mean[:, None]) / std[:, None], nan=REACH)
    ends = np.full((len(mean), 1), REACH)
    z, w = panels(np.concatenate([-ends, np.clip(cuts, -REACH, REACH), ends], axis=1), order=48)
    y = f(mean[:, None] + std[:, None] * z)
    return (w * y).sum(1), (w * z * y).sum(1), (w * y * y).sum(1)
