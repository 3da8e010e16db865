r"""A network that uses its samples twice, *given* these samples: random features whose neurons alone are drawn.

After the step row ``i`` is a function of its own initial row ``w0_i`` and of the samples. So the neurons are
independent, and the readout is a random-feature model: what counts are the second moments of a neuron's output ``g``,
over ``w0``, on the samples and on fresh points. With ``z = w0·x``, ``t = σ'(z) - h1`` and, off the diagonal,
``H = step/n X X^T diag(y)``, the argument at sample ``mu`` is

``r k_mu + z_mu + (H t)_mu + step/n |x_mu|^2 y_mu σ'(z_mu)``:

the projection on the spike of the *other* samples, the initial row, the noise of the bulk and the leaked label. The
second moments are those of the linear parts,

``S = kappa0 kappa0^T + Z Z^T/d + h1_check B B^T``, ``Z = D_1 X + D_c 1 (2 h3/h1 r v)^T``, ``B = D_n H + D_t``,

and on the diagonal that of ``g``. The diagonal matrices hold averages of ``g``: ``D_1`` its slope in ``z``, ``D_n``
that in the noise, ``D_c`` that in the squared norm of the row, ``D_t`` the part along ``t``. Nothing is assumed of the
samples: the spike is their own correlation with their labels, so that nothing linear is left in them across it.
"""

import numpy as np
from scipy.optimize import brentq

from companion.papers.one_step.theory.conditional_map import channel, slope_in_c
from companion.papers.one_step.theory.functions import Function, Hermite, derivative, function, hermite, needs_step
from regimes import gaussian, validate
from regimes.validate import InputError

_INNER = 40, 24  # nodes over z and over the noise
_CHUNK = 2000  # samples whose averages are taken at a time


def predict_reuse_given(
    activation: str | Function,
    target: str | Function,
    *,
    x: np.ndarray,
    y: np.ndarray,
    theta: np.ndarray,
    step: float,
    width: int,
    lam: float,
    spike: np.ndarray | None = None,
) -> float:
    """The test error of a network whose step and whose readout take the same samples, averaged over initial weights.

    Args:
        activation: odd and smooth.
        target: function of ``theta·x``.
        x: ``(n, d)``.
        y: ``(n,)``.
        theta: ``(d,)``, unit norm.
        step: ``eta / p``.
        width: number of neurons ``p``.
        lam: ridge penalty.
        spike: ``r v``, ``(d,)``, of other samples in place of these samples' own ``step h1/n x^T y``.

    Source: derived here, from Eqs. 1-5 of paper E.
    """
    activation, target = function(activation, "activation"), function(target, "target")
    needs_step(activation)
    if activation.breaks:
        raise InputError(f"activation must be smooth, got {activation.name}")
    validate.integer(1, width=width)
    validate.positive(lam=lam)
    validate.between(0, 1e50, step=step)
    validate.arrays(x=("n d", x), y=("n", y), theta=("d", theta))
    if spike is not None:
        validate.arrays(spike=(f"{x.shape[1]}", spike))
    if abs(np.linalg.norm(theta) - 1) > 1e-9:
        raise InputError(f"theta must have unit norm, got {np.linalg.norm(theta):.6g}")
    n, d = x.shape
    h = hermite(activation, target)
    square = (x * x).sum(1)
    leak = step / n * square * y
    shift = step * h.h1 / n * x @ (y @ x) - h.h1 * leak if spike is None else x @ spike
    spike = step * h.h1 / n * (y @ x) if spike is None else spike
    r = float(np.linalg.norm(spike))
    v = spike / r if r else theta
    to_noise = step / n * x.T * y  # (d, n): the noise at x is x·to_noise t
    H = x @ to_noise
    np.fill_diagonal(H, 0.0)
    spread = np.sqrt(h.h1_check * (H * H).sum(1))
    mean, in_z, in_noise, in_c, along_t, second = _averages(activation, h, shift, np.sqrt(square / d), spread, leak)
    norms = 2 * h.h3 / h.h1 * spike
    Z = in_z[:, None] * x + np.outer(in_c, norms)
    B = in_noise[:, None] * H + np.diag(along_t / h.h1_check)
    S = np.outer(mean, mean) + Z @ Z.T / d + h.h1_check * B @ B.T
    np.fill_diagonal(S, second)

    # moments with a fresh point, whose output is kappa0 + kappa1 (z + noise) + dkappa0/dc (norm), each a function of k
    gamma = float(np.clip(v @ theta, -1, 1))
    c = 1 + h.h1_check * float((to_noise * to_noise).sum())
    e = channel(activation, target, r=r, c=c, gamma=gamma)
    k, weight, kappa0, kappa1, kappa2, h_k, h_s, h2 = (getattr(e, name)[0] for name in e.__dataclass_fields__)
    rows = Z / d + h.h1_check * B @ to_noise.T  # (n, d): with z + noise at a fresh point
    parts = np.stack([mean, rows @ v, Z @ norms / d], axis=1)
    functions = np.stack([kappa0, k * kappa1, slope_in_c(activation, r * k, c)])
    rows = rows - np.outer(rows @ v, v)
    across = (theta - gamma * v) / max(np.sqrt(1 - gamma**2), 1e-150)
    with_target = parts @ functions @ (weight * h_k) + rows @ across * (weight @ (kappa1 * h_s))
    with_fresh = parts @ ((functions * weight) @ functions.T) @ parts.T + (weight @ kappa1**2) * rows @ rows.T
    fresh = float(weight @ (kappa0**2 + c * kappa1**2 + kappa2))
    return float(weight @ h2) + random_feature_excess(
        S, y, with_target=with_target, with_fresh=with_fresh, fresh=fresh, width=width, lam=lam
    )


def random_feature_excess(
    S: np.ndarray,
    y: np.ndarray,
    *,
    with_target: np.ndarray,
    with_fresh: np.ndarray,
    fresh: float,
    width: int,
    lam: float,
) -> float:
    """Test error less the target's square of a ridge readout of ``width`` independent features, by their moments.

    With ``Q = (S + nu)^-1`` and ``lam = nu (1 - tr S Q/p)`` the mean readout is kernel ridge regression at the penalty
    ``nu``, and the scatter of the features adds ``y·Q S Q y/(p - tr S Q S Q) E (s0 - s·Q s - nu |Q s|^2)``, where ``s``
    are the moments of a fresh point with the samples.

    Args:
        S: second moments of a feature on the samples, ``(n, n)``.
        y: ``(n,)``.
        with_target: ``E s σ*``, ``(n,)``.
        with_fresh: ``E s s^T``, ``(n, n)``.
        fresh: ``E s0``, second moment at a fresh point.
        width: ``p``.
        lam: penalty beside a sum over samples, features over ``sqrt(p)``.

    Source: derived here; the deterministic equivalents of a sample covariance, whose samples are the neurons.
    """
    values, vectors = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)

    def excess(log_nu: float) -> float:
        nu = np.exp(log_nu)
        return nu * (1 - (values / (values + nu)).sum() / width) - lam

    nu = float(np.exp(brentq(excess, np.log(lam), np.log(lam + values.sum() / width) + 1e-9, xtol=1e-13)))
    q = 1 / (values + nu)
    labels, target = vectors.T @ y, vectors.T @ with_target
    moments = vectors.T @ with_fresh @ vectors
    mean = q * labels
    left = fresh - (q + nu * q**2) @ moments.diagonal()
    scatter = (values * mean**2).sum() / (width - (values * q) @ (values * q)) * left
    return float(mean @ moments @ mean - 2 * target @ mean + scatter)


def _averages(
    activation: Function, h: Hermite, shift: np.ndarray, size: np.ndarray, spread: np.ndarray, leak: np.ndarray
) -> np.ndarray:
    """Averages ``(6, n)`` of ``g = σ(shift + z + noise + leak σ'(z))``: mean, slopes, ``E t g``, ``E g^2``.

    ``z`` has the deviation ``size``, the noise ``spread``; the slopes are those in ``z``, in the noise and in the
    variance of their sum.
    """
    (u, wu), (m, wm) = (gaussian.trapezoid(count) for count in _INNER)
    parts = []
    for i in range(0, len(shift), _CHUNK):
        some = slice(i, i + _CHUNK)
        z = size[some, None] * u
        slope = derivative(activation)(z)
        inner = (shift[some, None] + z + leak[some, None] * slope)[..., None] + spread[some, None, None] * m
        g = activation.array(inner)
        over_noise = g @ wm  # (n, z)
        by_noise = derivative(activation)(inner) @ wm  # the slope in the noise
        columns = [
            over_noise @ wu,
            over_noise @ (wu * u) / size[some],
            by_noise @ wu,
            by_noise @ (wu * u) / size[some] / 2,
            (over_noise * (slope - h.h1)) @ wu,
            (g * g) @ wm @ wu,
        ]
        parts.append(np.stack(columns))
    return np.concatenate(parts, axis=1)
