"""The saddle point of any convex loss through the proximal map, for regression and classification.

The readout minimises ``sum_mu l(y, a·φ/sqrt(p)) + lam/2 |a|^2``. With the square loss ``l = (y - f)^2 / 2`` this is
Result 3.3. Expectations run over ``k`` (the spike), ``s`` (the rest of the target, split where the target jumps) and
``xi`` (the rest of the network), so that a jump of the label never falls inside a panel.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from companion.papers.one_step.theory import ridge_theory
from companion.papers.one_step.theory.conditional_map import feature_moments, nodes
from companion.papers.one_step.theory.functions import Function, function, needs_odd
from companion.papers.one_step.theory.ridge_theory import marchenko_pastur
from companion.papers.one_step.theory.saddle_point import NotConverged, Solution
from regimes import gaussian, validate
from regimes.validate import InputError

_TOLERANCE = 1e-8
_ITERATIONS = 1000
_XI = 32  # nodes over the rest of the network where a loss has no closed form
_EDGES = np.array([-9.0, -4.5, -1.5, 1.5, 4.5, 9.0])  # panels over s, to which the jumps are added
_ORDER, _SMOOTH = 12, 40  # nodes in each, and where there is no jump
_FINE = 0.7  # share of the ridge's nodes over k: errors of 1e-8 in place of 1e-12
_PATIENCE = 30  # steps after which that share falls
_MIX = 0.7  # share of the new state in a plain step, which may oscillate for piecewise losses
_MEMORY = 5  # steps that Anderson's mixing combines


_ORDER_PARAMETERS = ("m", "zeta", "psi", "q1", "q2", "V1", "V2")
_POSITIVE = slice(3, 7)

Moments = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Loss:
    """A convex loss through its proximal map ``f = argmin l(y, f) + (f - omega)^2 / (2 V)``.

    Attributes:
        name: its name in captions.
        moments: ``(y, mean, spread, V) -> E g, E g^2, E dg`` over ``omega = mean + spread xi``, ``xi`` normal, with
            ``g = (f - omega)/V`` and ``dg`` its derivative by ``omega``.
        slopes: for a smooth loss on labels -1 and +1, ``(y, omega, V) -> g, dg`` at given outputs.
        labels: whether it needs labels -1 and +1.
    """

    name: str
    moments: Moments
    slopes: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]] | None = None
    labels: bool = False


def huber(delta: float) -> Loss:
    """``u^2/2`` for ``|u| <= delta``, ``delta |u| - delta^2/2`` beyond, ``u = y - f``; infinite: the square loss.

    ``g`` is ``(y - omega)/(1 + V)`` clipped at ``±delta``: the moments of a clipped Gaussian, in closed form.
    """
    if not (isinstance(delta, float) and delta == np.inf):
        validate.positive(delta=delta)

    def moments(y: np.ndarray, mean: np.ndarray, spread: np.ndarray, V: np.ndarray) -> tuple:
        first, second, inside = _clipped((y - mean) / (1 + V), spread / (1 + V), -delta, delta)
        return first, second, -inside / (1 + V)

    return Loss("square" if delta == np.inf else f"Huber({delta:g})", moments)


def hinge() -> Loss:
    """``max(0, 1 - y f)`` for labels -1 and +1: ``g`` is ``y`` times ``(1 - y omega)/V`` clipped to ``[0, 1]``."""

    def moments(y: np.ndarray, mean: np.ndarray, spread: np.ndarray, V: np.ndarray) -> tuple:
        first, second, inside = _clipped((1 - y * mean) / V, spread / V, 0.0, 1.0)
        return y * first, second, -inside / V

    return Loss("hinge", moments, labels=True)


def _clipped(centre: np.ndarray, width: np.ndarray, low: float, high: float) -> tuple:
    """First and second moment of a normal variable clipped to ``[low, high]``, and its probability to lie within."""
    width = np.maximum(width, 1e-300)
    lower = (low - centre) / width
    upper = (high - centre) / width
    below = special.ndtr(lower)
    above = special.ndtr(-upper)
    inside = 1 - below - above
    d_lower = _normal(lower)
    d_upper = _normal(upper)
    first = centre * inside + width * (d_lower - d_upper)
    # E u^2 inside: integrate by parts; x density(x) vanishes at infinity
    edges = _times(lower, d_lower) - _times(upper, d_upper)
    second = centre**2 * inside + 2 * centre * width * (d_lower - d_upper) + width**2 * (inside + edges)
    low, high = (0.0 if np.isinf(bound) else bound for bound in (low, high))
    return first + low * below + high * above, second + low**2 * below + high**2 * above, inside


def _normal(x: np.ndarray) -> np.ndarray:
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def _times(x: np.ndarray, density: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(x), 0.0, np.where(np.isinf(x), 0.0, x) * density)


def logistic() -> Loss:
    """``log(1 + exp(-y f))`` for labels -1 and +1."""
    xi, w = gaussian.trapezoid(_XI)

    def moments(y: np.ndarray, mean: np.ndarray, spread: np.ndarray, V: np.ndarray) -> tuple:
        g, dg = _logistic(y[..., None], mean[..., None] + spread[..., None] * xi, V[..., None])
        return g @ w, g**2 @ w, dg @ w

    return Loss("logistic", moments, _logistic, labels=True)


def _logistic(y: np.ndarray, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``g`` and ``dg``: the margin ``t = y f`` solves ``t - V expit(-t) = y omega``.

    Halley's rule, which is cubic, inside a shrinking bracket; from the ``t`` whose ``expit`` alone makes up for
    ``y omega`` where ``V`` is large, from a Newton step where it is small.
    """
    base = y * omega
    low, high = base.copy(), base + V
    t = base + V * _expit(-base) / (1 + V / 4)
    if (V >= 8).any():
        share = np.clip(-base / V, 1e-9, 1 - 1e-9)
        t = np.where(V < 8, t, np.log(1 / share - 1))
    np.clip(t, low, high, out=t)
    for _ in range(60):
        slope = _expit(-t)
        curvature = V * slope * (1 - slope)
        value = t - base - V * slope
        first = 1 + curvature
        np.copyto(low, t, where=value < 0)
        np.copyto(high, t, where=value > 0)
        new = t - value / (first - value * curvature * (slope - 0.5) / first)
        outside = (new < low) | (new > high)
        if outside.any():
            new = np.where(outside, (low + high) / 2, new)
        moved = np.abs(new - t).max()
        t = new
        if moved < 1e-4:  # the next move would be of the order of its cube
            break
    slope = _expit(-t)
    curvature = slope * (1 - slope)
    return y * slope, -curvature / (1 + V * curvature)


def _expit(t: np.ndarray) -> np.ndarray:
    """``1/(1 + exp(-t))``, three times as fast as scipy's; 0 where the exponential is beyond the range."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-t))


def solve_loss(
    activation: str | Function,
    target: str | Function,
    loss: Loss,
    *,
    alpha: float,
    beta: float,
    lam: float,
    r: float,
    c: float = 1.0,
    gamma: float = 1.0,
    bias: float | None = None,
    width: float = np.inf,
) -> Solution:
    """Errors and overlaps of a convex loss on spiked random features.

    Arguments as :func:`companion.papers.one_step.theory.ridge_theory.solve`, of one setting; the penalty is
    ``lam/2 |a|^2``, and a loss on labels needs the target ``sign``.

    Source: paper E, App. C.5, Eqs. 118–120.
    """
    activation = function(activation, "activation")
    target = function(target, "target")
    if bias is None:
        needs_odd(activation)
    ridge_theory.needs_ratios(alpha=alpha, beta=beta, lam=lam, width=width)
    if loss.labels:
        validate.one_of(("sign",), target=target.name)
        if abs(gamma) == 1 and width == np.inf:  # the output along the spike separates the labels, and costs nothing
            raise InputError("width must be finite at |gamma| = 1: labels that the spike separates leave m no minimum")
    ridge = ridge_theory.solve(
        activation, target, alpha=alpha, beta=beta, lam=lam, r=r, c=c, gamma=gamma, bias=bias, width=width
    )
    grid = _Grid.build(activation, target, r, c, gamma, bias or 0.0)
    x = np.array([float(getattr(ridge, name)) for name in _ORDER_PARAMETERS])

    def step(x: np.ndarray) -> dict[str, float]:
        return _update(grid, loss, dict(zip(_ORDER_PARAMETERS, x)), alpha, beta, lam, c, width)

    x, gap, steps = _fixed_point(step, x)
    state = dict(zip(_ORDER_PARAMETERS, map(float, x)))
    if gap <= _TOLERANCE:
        test, signs = _errors(grid, state)
        return Solution(test, np.nan, *state.values(), steps, signs)
    words = ", ".join(f"{name}={value:.4g}" for name, value in state.items())
    raise NotConverged(f"{loss.name} saddle point not found after {_ITERATIONS} steps (gap {gap:.1e}): {words}")


def _fixed_point(step: Callable[[np.ndarray], dict[str, float]], x: np.ndarray) -> tuple[np.ndarray, float, int]:
    """``x = step(x)`` by Anderson's mixing, the relative gap it was left with, and the steps.

    The last steps are combined so that their residuals, each relative to its order parameter, cancel best. A point
    where a variance would not be positive, and one that lets the gap grow tenfold, gives way to a plain step.

    Source: Walker and Ni, SIAM Journal on Numerical Analysis 49 (2011) 1715.
    """
    points: list[np.ndarray] = []
    moves: list[np.ndarray] = []
    smallest_gap = np.inf
    for i in range(_ITERATIONS):
        new = np.array([*step(x).values()])
        scale = np.abs(new) + 1e-6
        gap = float((np.abs(new - x) / scale).max())
        if gap <= _TOLERANCE:
            return new, gap, i + 1
        if gap > 10 * smallest_gap:
            points, moves = [], []
        smallest_gap = min(gap, smallest_gap)
        points = [*points[-_MEMORY:], x]
        moves = [*moves[-_MEMORY:], new - x]
        plain = x + _MIX / (1 + i // _PATIENCE) * (new - x)
        x = _mixed(points, moves, scale) if len(moves) > 1 else plain
        if not (x[_POSITIVE] > 0).all():
            points, moves, x = [], [], plain
    return x, gap, _ITERATIONS


def _mixed(points: list[np.ndarray], moves: list[np.ndarray], scale: np.ndarray) -> np.ndarray:
    """The last point and its move, minus the combination of earlier differences that leaves the least residual."""
    by_move = np.diff(np.stack(moves, 1), axis=1)
    by_point = np.diff(np.stack(points, 1), axis=1)
    weights = np.linalg.lstsq(by_move / scale[:, None], moves[-1] / scale, rcond=1e-10)[0]
    return points[-1] + moves[-1] - (by_point + by_move) @ weights


@dataclass(frozen=True)
class _Grid:
    """Nodes over ``(k, s)``, with axes in that order, and functions of ``k`` and ``s`` alone.

    Panels end where the label jumps or changes its sign; along ``k`` they follow the width of the kernel, ``1/r``.
    """

    k: np.ndarray
    kappa0: np.ndarray
    kappa1: np.ndarray
    kappa2: np.ndarray
    s: np.ndarray
    y: np.ndarray
    w: np.ndarray  # weights over both axes
    cut: np.ndarray  # the s at which gamma k + sqrt(1 - gamma^2) s changes its sign

    @classmethod
    def build(cls, activation: Function, target: Function, r: float, c: float, gamma: float, bias: float) -> "_Grid":
        k, wk = nodes(_cuts(target), r, gamma, fine=_FINE)
        kappa = feature_moments(activation, r * k + bias, c)
        across = np.sqrt(max(0.0, 1 - gamma**2))
        s, ws = _across(_cuts(target), gamma * k, across)
        y = target.array(gamma * k[:, None] + across * s)
        with np.errstate(divide="ignore"):
            cut = -gamma * k / across
        return cls(*(a[:, None] for a in (k, *kappa)), s, y, wk[:, None] * ws, cut[:, None])


def _across(cuts: tuple[float, ...], mean: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights over ``s`` at each ``k``, both ``(K, N)``: cut where ``mean + spread s`` meets a jump."""
    if spread == 0:  # the label is known from k, and nothing is learned along s
        return np.zeros((len(mean), 1)), np.ones((len(mean), 1))
    if not cuts:
        s, w = gaussian.trapezoid(_SMOOTH)
        return np.tile(s, (len(mean), 1)), np.tile(w, (len(mean), 1))
    ends = np.clip((np.array(cuts) - mean[:, None]) / spread, -gaussian.REACH, gaussian.REACH)
    edges = np.concatenate([np.tile(_EDGES, (len(mean), 1)), ends], axis=1)
    return gaussian.panels(np.sort(edges, axis=1), _ORDER)


@functools.lru_cache(maxsize=64)
def _cuts(target: Function) -> tuple[float, ...]:
    """Where the label jumps, has a kink or changes its sign."""
    x = np.linspace(-gaussian.REACH, gaussian.REACH, 2000)  # 0 is no node
    y = target.array(x)
    smooth = []
    for i in np.flatnonzero(y[:-1] * y[1:] < 0):
        root = optimize.brentq(target.array, x[i], x[i + 1])
        if all(abs(root - jump) > 1e-6 for jump in target.breaks):
            smooth.append(root)
    return tuple(sorted([*target.breaks, *smooth])) if target.breaks or len(smooth) > 1 else ()


def _update(
    e: _Grid, loss: Loss, x: dict[str, float], alpha: float, beta: float, lam: float, c: float, width: float
) -> dict[str, float]:
    """One pass through the proximal map: the hats, then the order parameters they give."""
    k, kappa0, kappa1, kappa2 = (column[:, 0] for column in (e.k, e.kappa0, e.kappa1, e.kappa2))
    mean_g, mean_g2, mean_dg, mean_sg = _labelled(e, loss, x) if loss.slopes else _averages(e, loss, x)
    ratio = alpha / beta
    squares = np.stack([kappa1**2, kappa2])
    V_hat = -ratio * squares @ mean_dg
    q_hat = ratio * squares @ mean_g2
    V, P = marchenko_pastur(V_hat[0], lam + V_hat[1], np.asarray(c), np.asarray(beta))
    V1, V2 = map(float, V)
    m = _newton(x["m"], kappa0, mean_g, mean_dg, ratio, width * V2)
    zeta = _newton(x["zeta"], k * kappa1, mean_g, mean_dg, ratio, beta * c * V2)
    psi_hat = ratio * float(kappa1 @ mean_sg - x["psi"] * kappa1**2 @ mean_dg)
    source = q_hat + [beta * psi_hat**2, zeta**2 / (beta * c * V2**2) + m**2 / (width * V2**2)]
    q1, q2 = P @ source
    return {"m": m, "zeta": zeta, "psi": beta * V1 * psi_hat, "q1": float(q1), "q2": float(q2), "V1": V1, "V2": V2}


def _averages(e: _Grid, loss: Loss, x: dict[str, float]) -> list[np.ndarray]:
    """``g``, ``g^2``, ``dg`` and ``s g`` averaged at each ``k``, times its weight."""
    g, g2, dg = loss.moments(e.y, *_fields(e, x))
    return [(e.w * a).sum(1) for a in (g, g2, dg, g * e.s)]


def _labelled(e: _Grid, loss: Loss, x: dict[str, float]) -> list[np.ndarray]:
    """The same for the labels ``sign(gamma k + sqrt(1 - gamma^2) s)``: one normal variable in place of two.

    ``s`` and the output ``omega = C + total u`` have the correlation ``rho``, so that given ``u`` the label's
    probability and the mean of ``s`` on either side are closed.
    """
    u, weight = gaussian.trapezoid(2 * _XI)
    C = e.kappa0 * x["m"] + e.k * e.kappa1 * x["zeta"]
    total = np.sqrt(np.maximum(e.kappa1**2 * max(x["q1"], x["psi"] ** 2) + e.kappa2 * x["q2"], 1e-300))
    rho = np.clip(e.kappa1 * x["psi"] / total, -1 + 1e-12, 1 - 1e-12)
    spread = np.sqrt(1 - rho**2)  # of s given u
    edge = (rho * u - e.cut) / spread
    omega = C + total * u
    V = e.kappa1**2 * x["V1"] + e.kappa2 * x["V2"]
    sums = np.zeros((4, len(e.k)))
    for y in (1.0, -1.0):
        share = special.ndtr(y * edge)
        mean = y * spread * _normal(edge)
        g, dg = loss.slopes(np.full_like(u, y), omega, V)
        found = share * g
        sums += [a @ weight for a in (found, found * g, share * dg, rho * u * found + mean * g)]
    return list(e.w.sum(1) * sums)


def _fields(e: _Grid, x: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and spread of the output given ``(k, s)``, and ``V(k)``."""
    spread = np.sqrt(np.maximum(e.kappa1**2 * (x["q1"] - x["psi"] ** 2) + e.kappa2 * x["q2"], 0.0))
    mean = e.kappa0 * x["m"] + e.k * e.kappa1 * x["zeta"] + e.kappa1 * x["psi"] * e.s
    return mean, spread, e.kappa1**2 * x["V1"] + e.kappa2 * x["V2"]


def _newton(overlap: float, f: np.ndarray, g: np.ndarray, dg: np.ndarray, ratio: float, stiffness: float) -> float:
    """Newton's step for ``overlap = stiffness * ratio E[f g]``; an infinite stiffness asks for ``E[f g] = 0``."""
    slope = ratio * float(f**2 @ dg) - 1 / stiffness
    if abs(slope) < 1e-24:  # no spike and no finite-width term: the direction does not exist
        return 0.0
    step = (ratio * float(f @ g) - overlap / stiffness) / slope
    reach = 1 + abs(overlap)  # a clipped loss is flat far off
    return overlap - float(np.clip(step, -reach, reach))


def _errors(e: _Grid, x: dict[str, float]) -> tuple[float, float]:
    """Mean squared error, and the probability that output and target differ in sign."""
    mean, spread, _ = _fields(e, x)
    wrong = special.ndtr(-np.sign(e.y) * mean / np.maximum(spread, 1e-300))
    return float((e.w * ((e.y - mean) ** 2 + spread**2)).sum()), float((e.w * wrong).sum())
