r"""Compression of uninformative directions: its measures, and the theory of the stripe.

The first ``d_parallel`` coordinates are informative, the other ``d_perp = d - d_parallel`` are not. First-layer weights
``ω (..., h, d)`` and biases ``b (..., h)`` are those of ``f = (1/h) Σ_n β_n σ(ω_n·x/√d + b_n)``. Leading axes are
independent realisations, networks at several times, or both.

:mod:`companion.papers.compression.theory.stripe` has the limits of infinite amplification and the fixed points of
neurons, :mod:`companion.papers.compression.theory.neuron` the equations of motion of single neurons before the first
point is fitted.

Source: paper A, Sec. 2.3, 2.5 and 3.2.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from companion.papers.compression.theory.stripe import FixedPoint, Stripe
from regimes import validate
from regimes.validate import InputError

MEANS = ("quadratic", "arithmetic")

__all__ = [
    "FixedPoint",
    "Stripe",
    "amplification",
    "attractor_distance",
    "neuron_amplification",
    "neuron_vector",
    "sees_data",
]


def amplification(omega: Tensor, d_parallel: int, *, mean: str = "quadratic") -> Tensor:
    """The global amplification ``Λ``: informative over uninformative size of all first-layer weights.

    With ``r_j = √(mean_n ω_nj²)``, ``quadratic`` is the paper's ``√(mean_∥ r_j² / mean_⊥ r_j²)``, and ``arithmetic``
    the original code's ``mean_∥ r_j / mean_⊥ r_j``, which the paper plots. Both are near 1 at the start, by isotropy.
    With one informative direction ``arithmetic`` is never smaller.

    Args:
        omega: ``ω (..., h, d)``.
        d_parallel: number of informative directions, at least 1 and below ``d``.
        mean: ``quadratic`` or ``arithmetic``.

    Returns:
        ``(...)``.

    Raises:
        InputError: for a ``d_parallel`` outside ``1 … d - 1``, an unknown mean, or weights that are no numbers or have
            no uninformative part.

    Source: paper A, Eq. 3 and 10 (quadratic).
    """
    validate.one_of(MEANS, mean=mean)
    _needs_both_kinds(omega, d_parallel)
    square = omega.square().mean(-2)
    _needs_across(square[..., d_parallel:].sum(-1))
    size = square if mean == "quadratic" else square.sqrt()
    ratio = size[..., :d_parallel].mean(-1) / size[..., d_parallel:].mean(-1)
    return ratio.sqrt() if mean == "quadratic" else ratio


def neuron_amplification(omega: Tensor, d_parallel: int) -> Tensor:
    """``λ_n = rms of ω_n,∥ / rms of ω_n,⊥`` of each neuron, ``(..., h)``.

    For single neurons of the stripe the paper uses the same letter for ``ω_1/|ω_⊥| = ± λ_n/√(d - 1)``.

    Source: paper A, Eq. 3.
    """
    _needs_both_kinds(omega, d_parallel)
    square = omega.square()
    _needs_across(square[..., d_parallel:].sum(-1))
    return (square[..., :d_parallel].mean(-1) / square[..., d_parallel:].mean(-1)).sqrt()


def neuron_vector(omega: Tensor, b: Tensor) -> Tensor:
    """``z_n = -√d b_n ω_n / |ω_n|²``, the point of a neuron's hyperplane nearest to the origin, ``(..., h, d)``.

    Source: paper A, Sec. 2.5.
    """
    validate.arrays(omega=("... h d", omega), b=("... h", b))
    if not bool((omega.square().sum(-1) > 0).all()):
        raise InputError("omega must not vanish: a neuron without weights has no hyperplane")
    return -math.sqrt(omega.shape[-1]) * b[..., None] * omega / omega.square().sum(-1, keepdim=True)


def sees_data(omega: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Which neurons are active on at least one point, ``(..., h)``; the others do not move.

    Args:
        omega: ``ω (..., h, d)``.
        b: ``(..., h)``.
        x: points ``(..., p, d)``.
    """
    validate.arrays(omega=("... h d", omega), b=("... h", b), x=("... p d", x))
    return (x @ omega.mT / math.sqrt(x.shape[-1])).amax(-2) + b > 0


def attractor_distance(omega: Tensor, b: Tensor, x: Tensor, attractors: Sequence[FixedPoint]) -> Tensor:
    """The distance of each active neuron's vector ``z_n`` from the nearest stable fixed point of its sign of ``λ``.

    Args:
        omega: ``ω (h, d)``.
        b: ``(h,)``.
        x: training points ``(p, d)``.
        attractors: from :meth:`Stripe.attractors`; a neuron is compared with those of the sign of its ``ω_1``.

    Returns:
        ``|z_n - (z*, 0)| (h,)``, NaN for neurons without active points, infinity if no fixed point has the sign.

    Source: paper A, Fig. 4c.
    """
    validate.arrays(omega=("h d", omega), b=("h", b), x=("p d", x))
    seen = sees_data(omega, b, x)
    if not bool(seen.any()):
        raise InputError("no neuron sees data: every hyperplane leaves all training points on its inactive side")
    z = neuron_vector(omega, b)
    nearest = torch.full_like(b, torch.inf)
    for point in attractors:
        along = (z[..., 0] - point.z).square() + z[..., 1:].square().sum(-1)
        nearest = torch.where(torch.sign(omega[..., 0]) == point.sign, torch.minimum(nearest, along.sqrt()), nearest)
    return torch.where(seen, nearest, torch.nan)


def _needs_both_kinds(omega: Tensor, d_parallel: int) -> None:
    validate.integer(1, d_parallel=d_parallel)
    validate.arrays(omega=("... h d", omega))
    if d_parallel >= omega.shape[-1]:
        raise InputError(
            f"d_parallel must be below d = {omega.shape[-1]} to leave an uninformative direction: {d_parallel}"
        )


def _needs_across(square: Tensor) -> None:
    if not bool(((square > 0) & (square < torch.inf)).all()):
        raise InputError(
            "omega must have an uninformative part whose square is within the precision: its ratio is asked"
        )
