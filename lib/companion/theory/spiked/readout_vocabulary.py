"""Readout drawn from a finite vocabulary (App. D): the saddle point with one set of order parameters a letter.

Initial readout ``u_i / sqrt(p)`` with ``u_i`` in ``values`` (fractions ``pi_j``): after one step the neurons of letter
``j`` have the spike ``r u_j`` and bulk variance ``c_j = 1 + u_j^2 (c - 1)``. For nearly collinear letters the limit
``p -> inf`` is out of reach of any simulation; the finite-width rule is what to compare with.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from companion.theory.spiked import triangle
from companion.theory.spiked.conditional_map import Channel, channel, stack
from companion.theory.spiked.functions import Function, function, odd
from companion.theory.spiked.ridge_theory import needs_ratios
from companion.theory.spiked.triangle import Solution
from regimes import validate
from regimes.validate import InputError

_ITERATIONS = 20000
_TINY = 1e-30  # complex step: derivatives without cancellation


@dataclass(frozen=True)
class Vocabulary:
    """Fractions, bulk variances and kind of bulk of the letters.

    Attributes:
        fractions: ``pi_j``, summing to 1.
        c: ``c_j``.
        beta: ``p/d``.
        orthogonal: rows orthogonal (``beta = 1``, App. D.3) instead of independent.
    """

    fractions: np.ndarray
    c: np.ndarray
    beta: float
    orthogonal: bool = False

    def functionals(self, B: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``V1 (..., J, J)`` and ``V2 (..., J)`` of ``S = sum_j s_j P_j + sum_jl B_jl P_j Omega P_l``.

        Independent rows: ``R = B (1 + beta Delta B)^-1``, ``g_j = 1/(s_j + c_j R_jj)``, ``Delta = diag(pi c g)``.
        """
        eye = np.eye(len(self.c))
        if self.orthogonal:
            V2 = self.fractions / (s + self.c * np.einsum("...jj->...j", B))
            return eye * (self.c * V2)[..., None], V2
        g = 1 / s
        for _ in range(_ITERATIONS):
            weight = self.fractions * self.c * g
            R = B @ np.linalg.inv(eye + self.beta * weight[..., None] * B)
            new = 1 / (s + self.c * np.einsum("...jj->...j", R))
            done = np.abs(new - g).max() <= 1e-14 * np.abs(new).max() and np.abs((new - g).imag).max() <= 1e-14 * max(
                np.abs(new.imag).max(), 1e-300
            )
            g = (new + g) / 2
            if done:
                break
        delta = eye * (self.fractions * self.c * g)[..., None]
        return delta @ np.linalg.inv(eye + self.beta * B @ delta), self.fractions * g

    def jacobian(self, B: np.ndarray, s: np.ndarray) -> np.ndarray:
        """Minus the derivative of ``(V1, V2)`` (flattened, ``J^2 + J``) by ``(B, s)``, by complex steps."""
        size = len(s)
        directions = np.eye(size**2 + size)
        steps = 1j * _TINY * directions
        V1, V2 = self.functionals(B + steps[:, : size**2].reshape(-1, size, size), s + steps[:, size**2 :])
        return -np.concatenate([V1.reshape(len(steps), -1), V2], axis=1).imag.T / _TINY


def solve_readout_values(
    activation: str | Function,
    target: str | Function,
    *,
    alpha: float,
    beta: float,
    lam: float,
    r: float,
    c: float = 1.0,
    values: Sequence[float] = (1.0,),
    fractions: Sequence[float] = (1.0,),
    gamma: float = 1.0,
    width: float = np.inf,
    orthogonal: bool = False,
) -> Solution:
    """Errors of ridge regression when the initial readout takes several values.

    Args:
        activation: odd.
        target: function of ``theta·x``.
        alpha: ``n/d``.
        beta: ``p/d``.
        lam: ridge penalty.
        r: spike strength of the letter 1.
        c: bulk variance of the letter 1.
        values: the letters ``u_j``.
        fractions: their shares, summing to 1.
        gamma: cosine between spike and target.
        width: ``p`` for the finite-width rule, which the comparison with simulations needs.
        orthogonal: orthogonal bulk rows (``beta = 1``): the special case D.3.

    Raises:
        InputError: for letters that do not match their fractions, or numbers that make no sense.
        NotConverged: with the state.

    Source: paper E, App. D; the closed form for independent rows and the finite-width rule are ours.
    """
    activation, target = function(activation, "activation"), function(target, "target")
    odd(activation)
    validate.positive(alpha=alpha, beta=beta, lam=lam, c=c)
    needs_ratios({"alpha": alpha, "beta": beta, "lam": lam, "width": width})
    validate.number(r=r, **{f"values[{i}]": u for i, u in enumerate(values)})
    validate.number(**{f"fractions[{i}]": share for i, share in enumerate(fractions)})
    u, pi = np.asarray(values, float), np.asarray(fractions, float)
    if u.shape != pi.shape or u.ndim != 1 or not (pi > 0).all() or abs(pi.sum() - 1) > 1e-9:
        raise InputError(
            f"fractions must be positive, sum to 1, one a letter; got {list(fractions)} for {list(values)}"
        )
    if orthogonal and beta != 1:
        raise InputError(f"orthogonal rows are solved at beta = 1, got {beta!r}")
    vocabulary = Vocabulary(pi, 1 + u**2 * (c - 1), beta, orthogonal)
    strongest = r * float(np.abs(u).max())
    letters = [
        channel(activation, target, r=r * uj, c=cj, gamma=gamma, resolve=strongest) for uj, cj in zip(u, vocabulary.c)
    ]
    return _solve(vocabulary, stack(letters), alpha / beta, lam, width)


def _solve(v: Vocabulary, e: Channel, ratio: float, lam: float, width: float) -> Solution:
    size, w = len(v.c), e.weight[0]
    kappa1, kappa2, h, h_s = e.kappa1, e.kappa2, e.h[0], e.h_s[0]
    # what multiplies (V1, V2) and (Q, q2) in the sums over letters
    pairs = np.concatenate([(kappa1[:, None] * kappa1[None]).reshape(size**2, -1), kappa2])

    def functionals(hats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        B, s = hats[: size**2].reshape(size, size), lam + hats[size**2 :]
        V1, V2 = v.functionals(B, s)
        return np.concatenate([V1.ravel(), V2]), v.jacobian(B, s)

    start = np.concatenate([np.diag(v.fractions * v.c).ravel(), v.fractions]) / lam
    V, one, steps = triangle.variances_of_one(functionals, pairs, w, ratio, start, {"beta": v.beta, "lam": lam})
    _, P = functionals(triangle.hats(pairs, w, one, ratio))
    V1, V2 = V[: size**2].reshape(size, size), V[size**2 :]
    means = np.concatenate([e.kappa0, e.k * kappa1])
    stiff = np.concatenate([width * V2, v.beta * v.c * V2])
    overlap, hat = _overlaps(means, stiff, w / one, h, ratio)
    m, zeta = overlap[:size], overlap[size:]
    psi_hat = ratio * kappa1 @ (w / one * h_s)
    psi = v.beta * V1 @ psi_hat
    C = overlap @ means
    known = e.h2[0] - 2 * C * h + C**2 - 2 * h_s * (psi @ kappa1)
    # along the means: width m_hat^2 each neuron of the letter, beta c zeta_hat^2
    spread = m**2 / (width * V2**2) + v.beta * v.c * hat[size:] ** 2
    along = P @ np.concatenate([v.beta * np.outer(psi_hat, psi_hat).ravel(), spread])
    q, test, train = triangle.readout_norms(P, pairs, w, one, known, ratio, along)
    Q = q[: size**2].reshape(size, size)
    return Solution(test, train, m, zeta, psi, Q, q[size**2 :], V1, V2, steps)


def _overlaps(means: np.ndarray, stiff: np.ndarray, over: np.ndarray, h: np.ndarray, ratio: float) -> tuple:
    """Overlaps with the mean directions and their hats; infinite stiffness sets the hat to zero.

    Dependent letters (``u`` and ``-u``, or 0) leave the limit's system singular: the least-squares solution.
    """
    A, b = ratio * (means * over) @ means.T, ratio * means @ (over * h)
    overlap = np.linalg.lstsq(A + np.diag(1 / stiff), b, rcond=1e-13)[0]
    return overlap, b - A @ overlap
