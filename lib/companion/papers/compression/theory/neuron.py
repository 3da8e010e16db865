r"""Single neurons before the first point is fitted: equations of motion for infinitely many points, and their noise.

Until then every point exerts its full force and neurons evolve independently. With ``λ = ω_1/|ω_⊥|``,
``ζ = -√d b/ω_1``, ``ω = |(ω_1, ω_⊥)|`` and the normal distribution function ``g_λ`` of ``λ`` times its argument,

``τ dω_1/dt = β ⟨y x_1 g_λ(x_1 - ζ)⟩``,   ``τ db/dt = √d β ⟨y g_λ(x_1 - ζ)⟩``,

``τ dω_⊥/dt = β [ω_⊥/ω e^(-d b²/2ω²)/√(2π) ⟨y(ω_⊥ x_1/ω + ω_1² ζ/ω²)⟩ + drift]``,

and ``τ dβ/dt = ω·(force on ω) + b (force on b)``, which conserves ``β² - |ω|² - b²``. All averages are closed forms
with Owen's function, for any ``λ``. The ``drift`` is ``√(D_⊥/p) N(z*)``, the finite-size term of Eq. 8.

Source: paper A, Eq. 5, 6 and 8 and App. C.1.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ndtr, owens_t

from companion.papers.compression.theory.stripe import FixedPoint, Stripe, normal_pdf
from regimes import validate
from regimes.validate import InputError

TINY = 1e-300  # in place of an exact zero, where Owen's function takes a ratio


@dataclass(frozen=True)
class Neurons:
    """Weights of ``n`` neurons: ``omega (..., n, d)``, ``b`` and ``beta (..., n)``; a leading axis holds times."""

    omega: np.ndarray
    b: np.ndarray
    beta: np.ndarray


def follow(stripe: Stripe, start: Neurons, times: np.ndarray, *, drift: np.ndarray | float = 0.0) -> Neurons:
    """Integrates the equations of motion, by Dormand-Prince of order 8 to a relative error of about 1e-8.

    Args:
        stripe: interfaces and dimension.
        start: ``n`` neurons at time 0.
        times: increasing times in units of ``τ``, from 0 or later; ``(k,)``.
        drift: ``√(D_⊥/p) N(z*)``, ``(n, d - 1)`` or broadcastable; 0 for infinitely many points.

    Returns:
        The neurons at the times, leading axis ``k``.

    Raises:
        InputError: for shapes that do not fit, values that are no numbers, times that do not increase from at least 0,
            or a time at which the neurons have outgrown float64.

    Source: paper A, Eq. 6 and 8.
    """
    validate.arrays(omega=("n d", start.omega), b=("n", start.b), beta=("n", start.beta))
    n, d = start.omega.shape
    times = np.asarray(times, dtype=float)
    drift = _drift(drift, n, d)
    if d != stripe.d or d < 2 or start.b.shape != (n,) or start.beta.shape != (n,):
        raise InputError(f"neurons must have ω (n, {stripe.d}) with d >= 2, b and β (n,), got ω {start.omega.shape}")
    if times.ndim != 1 or not len(times) or not (0 <= times[0] and times[-1] < np.inf) or (np.diff(times) <= 0).any():
        raise InputError("times must be an increasing list of numbers of at least 0")

    def rate(_: float, flat: np.ndarray) -> np.ndarray:
        state = flat.reshape(n, d + 2)
        ω, b, β = state[:, :d], state[:, d], state[:, d + 1]
        force = forces(stripe, ω, b)
        force[:, 1:d] += drift
        growth = (ω * force[:, :d]).sum(1) + b * force[:, d]
        return np.column_stack([β[:, None] * force, growth]).ravel()

    if times[-1] == 0:
        return Neurons(start.omega[None], start.b[None], start.beta[None])
    first = np.column_stack([start.omega, start.b, start.beta]).ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        path = solve_ivp(rate, (0, times[-1]), first, "DOP853", times, rtol=1e-9, atol=1e-10)
    if not path.success or not np.isfinite(path.y).all():
        raise InputError(f"times must end before the neurons outgrow float64, got {times[-1]:g} ({path.message})")
    state = path.y.T.reshape(len(times), n, d + 2)
    return Neurons(state[..., :d], state[..., d], state[..., d + 1])


def _drift(drift: np.ndarray | float, n: int, d: int) -> np.ndarray:
    try:
        drift = np.broadcast_to(np.asarray(drift, dtype=float), (n, d - 1))
    except (TypeError, ValueError):
        raise InputError(f"drift must be a number or an array ({n}, {d - 1}), got {drift!r}") from None
    if not np.isfinite(drift).all():
        raise InputError("drift must hold finite numbers")
    return drift


def predicted_paths(stripe: Stripe, start: Neurons, x: np.ndarray, y: np.ndarray, times: np.ndarray) -> Neurons:
    """The paths of neurons on a training set: :func:`follow` with the noise ``N(z*)`` of each neuron's fixed point.

    Args:
        stripe: interfaces and dimension.
        start: ``n`` neurons at time 0.
        x: training points ``(p, d)``.
        y: labels ``(p,)``.
        times: increasing times in units of ``τ``.

    Returns:
        The neurons at the times, leading axis ``k``.

    Source: paper A, Fig. 4a.
    """
    times = np.asarray(times, dtype=float).reshape(-1)
    validate.arrays(times=("k", times), x=(f"p {stripe.d}", x), y=("p", np.asarray(y, dtype=float)))
    free = follow(stripe, start, times[-1:])
    drift = np.zeros((len(start.b), stripe.d - 1))
    for point, members in attracted(stripe, Neurons(free.omega[0], free.b[0], free.beta[0])):
        scale = math.sqrt(stripe.d_perp(point.z, point.sign) / len(x))
        drift[members] = scale * stripe.noise(x, y, point)
    return follow(stripe, start, times, drift=drift)


def attracted(stripe: Stripe, neurons: Neurons) -> list[tuple[FixedPoint, np.ndarray]]:
    """Each stable fixed point with the neurons to which it is the nearest of their sign of ``λ``."""
    attractors = stripe.attractors()
    ζ = -math.sqrt(stripe.d) * neurons.b / neurons.omega[:, 0]
    if not attractors:
        return []
    sign = np.sign(neurons.omega[:, 0])
    gap = np.array([np.where(sign == point.sign, abs(ζ - point.z), np.inf) for point in attractors])
    nearest = np.where(np.isfinite(gap.min(0)), gap.argmin(0), -1)
    return [(point, np.flatnonzero(nearest == k)) for k, point in enumerate(attractors)]


def forces(stripe: Stripe, ω: np.ndarray, b: np.ndarray) -> np.ndarray:
    """``τ dW/dt / β`` for the weights ``(ω, b)`` at infinitely many points.

    Args:
        stripe: interfaces and dimension.
        ω: ``(n, d)``.
        b: ``(n,)``.

    Returns:
        The forces on ``ω_1``, on the components of ``ω_⊥`` and on ``b``, ``(n, d + 1)``.

    Source: paper A, Eq. 6 and App. C.1.
    """
    root = math.sqrt(stripe.d)
    across = np.maximum(np.linalg.norm(ω[:, 1:], axis=1), TINY)
    size = np.hypot(ω[:, 0], across)
    shift, slope = root * b / across, ω[:, 0] / across
    on_1 = _mean(stripe, lambda k: _first_moment(k, shift, slope))
    on_b = root * _mean(stripe, lambda k: _zeroth_moment(k, shift, slope))
    middle = -root * b * ω[:, 0] / size**2
    at_plane = _mean(stripe, lambda k: ndtr((k - middle) * size / across))
    on_perp = normal_pdf(root * b / size) / size * at_plane
    return np.column_stack([on_1, on_perp[:, None] * ω[:, 1:], on_b])


def _mean(stripe: Stripe, primitive) -> np.ndarray:
    """``⟨y f⟩`` from the primitive ``∫_{-∞}^k f``: the ends, and a jump at each interface."""
    total = primitive(np.inf) * stripe.label(np.inf)
    return total + sum(jump * primitive(k) for jump, k in zip(stripe.jumps, stripe.interfaces))


def _zeroth_moment(k: float, a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """``∫_{-∞}^k ρ(x) Φ(a + s x) dx``, a bivariate normal probability.

    Source: Owen, Annals of Mathematical Statistics 27 (1956) 1075.
    """
    h = a / np.sqrt(1 + s * s)
    if np.isinf(k):
        return ndtr(h)
    a = np.where(a == 0, TINY, a)
    h = np.where(h == 0, TINY, h)
    k = k or TINY
    at = a + s * k
    crossed = np.where(h * k > 0, 0.0, 0.5)
    with np.errstate(over="ignore"):  # where a is zero the ratio is infinite, which Owen's function takes
        ratio = (k + s * at) / a
    return (ndtr(h) + ndtr(k)) / 2 - owens_t(h, ratio) - owens_t(k, at / k) - crossed


def _first_moment(k: float, a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """``∫_{-∞}^k x ρ(x) Φ(a + s x) dx``, by parts."""
    root = np.sqrt(1 + s * s)
    if np.isinf(k):
        return s / root * normal_pdf(a / root)
    return s / root * normal_pdf(a / root) * ndtr(k * root + a * s / root) - normal_pdf(k) * ndtr(a + s * k)
