r"""The early C-NFA of a quadratic network, with weights that are free of the data.

A network :math:`f=a^\top(Wx)^2` with ``a ~ N(0, 1)`` and ``W ~ N(0, 1/k)`` has the tangent kernel
:math:`\mathcal K = XRX^\top`, up to factors that cancel in ``ρ``. With

.. math:: R = W^\top\mathrm{diag}(a^2)W,\quad M = X^\top YX,\quad A = M^2,\quad B = X^\top X

the C-NFA at initialisation is

.. math:: \rho = \frac{\operatorname{tr}(ARARBR)}{\sqrt{\operatorname{tr}(ARAR)\,\operatorname{tr}(ARBRARBR)}} .

``R`` becomes free of ``{A, B}`` as all sizes grow. Each trace is then a polynomial in the moments
:math:`r_j=\operatorname{tr}R^j` and in traces of ``A`` and ``B``. Here ``tr`` is the mean of the eigenvalues.

Source: paper D, Sec. 3.2 and App. E; the exponent of Eq. 10, the last terms of Eqs. 19 and 28 and the closed moments
are ours.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from regimes import validate

GAUSSIAN = (1.0, 3.0, 15.0, 105.0)  # E a², E a⁴, E a⁶, E a⁸ of a standard normal readout
PRINTINGS = ("corrected", "printed", "literal")


class Traces(NamedTuple):
    """Normalised traces of the data, numbers or one per realisation ``(...)``; ``Ā = A - tr A``, ``B̄ = B - tr B``."""

    a: Tensor  # tr A
    b: Tensor  # tr B
    aa: Tensor  # tr Ā²
    bb: Tensor  # tr B̄²
    ab: Tensor  # tr ĀB̄
    aab: Tensor  # tr Ā²B̄
    abb: Tensor  # tr ĀB̄²
    abab: Tensor  # tr (ĀB̄)²


def data_matrices(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """``A = (XᵀYX)²`` and ``B = XᵀX``, each ``(..., d, d)``.

    Args:
        x: inputs ``(..., n, d)``.
        y: labels ``(..., n)``.

    Source: paper D, Eq. 16.
    """
    validate.arrays(x=("... n d", x), y=("... n", y))
    m = x.mT @ (x * y.unsqueeze(-1))
    return m @ m, x.mT @ x


def matrix_traces(a: Tensor, b: Tensor) -> Traces:
    """The traces that the formulas need, of symmetric ``A`` and ``B (..., d, d)``."""
    validate.arrays(a=("... d d", a), b=("... d d", b))
    mean_a = _trace(a)
    mean_b = _trace(b)
    a = _centred(a, mean_a)
    b = _centred(b, mean_b)
    ab = a @ b
    return Traces(
        a=mean_a,
        b=mean_b,
        aa=_inner(a, a),
        bb=_inner(b, b),
        ab=_inner(a, b),
        aab=_inner(a, ab),
        abb=_inner(ab, b),
        abab=_inner(ab, ab.mT),
    )


def moments(matrix: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``tr M``, ``tr M²``, ``tr M³`` and ``tr M⁴`` of symmetric matrices ``(..., d, d)``, each ``(...)``."""
    validate.arrays(matrix=("... d d", matrix))
    square = matrix @ matrix
    return _trace(matrix), _trace(square), _inner(matrix, square), _inner(square, square)


def readout_matrix(weights: Tensor, readout: Tensor) -> Tensor:
    """``R = Wᵀ diag(a²) W (..., d, d)`` of ``W (..., k, d)`` and ``a (..., k)``.

    Source: paper D, Eq. 16.
    """
    validate.arrays(weights=("... k d", weights), readout=("... k", readout))
    scaled = weights * readout.unsqueeze(-1)
    return scaled.mT @ scaled


def readout_moments(ratio: float, powers: Sequence[float] = GAUSSIAN) -> tuple[float, float, float, float]:
    r"""The limits of ``r_1 … r_4``: moments of a compound free Poisson law.

    Its free cumulants are :math:`\kappa_m = c^{m-1}\,\mathbb E\,a^{2m}`, which gives for a standard normal readout
    ``1``, ``1 + 3c``, ``1 + 9c + 15c²`` and ``1 + 18c + 78c² + 105c³``.

    Args:
        ratio: ``c = d/k``, dimension over width.
        powers: ``E a², E a⁴, E a⁶, E a⁸``; those of one network's readout remove its fluctuation.

    Source: derived here, for the averages over 30 networks of paper D, App. H.
    """
    validate.positive(ratio=ratio)
    validate.length(4, 4, powers=powers)
    validate.positive(**{f"powers[{i}]": power for i, power in enumerate(powers)})
    k1, k2, k3, k4 = (ratio**m * power for m, power in enumerate(powers))
    return (k1, k2 + k1**2, k3 + 3 * k2 * k1 + k1**3, k4 + 4 * k3 * k1 + 2 * k2**2 + 6 * k2 * k1**2 + k1**4)


def numerator(t: Traces, r: Sequence[Tensor | float]) -> Tensor:
    """``tr(ARARBR)``, from ``r = (r_1, …, r_4)``. Source: paper D, Eq. 20."""
    r1, r2, r3, _ = r
    return t.a**2 * t.b * r3 + 2 * t.a * r1 * r2 * t.ab + t.b * r1 * r2 * t.aa + r1**3 * t.aab


def first_denominator(t: Traces, r: Sequence[Tensor | float]) -> Tensor:
    """``tr(ARAR)``. Source: paper D, Eq. 22."""
    r1, r2, *_ = r
    return t.aa * r1**2 + t.a**2 * r2  # tr A² = tr Ā² + (tr A)²


def second_denominator(t: Traces, r: Sequence[Tensor | float], *, printing: str = "corrected") -> Tensor:
    """``tr(ARBRARBR)``.

    Args:
        t: of the data.
        r: ``(r_1, …, r_4)``.
        printing: the last term: ``corrected`` has ``(tr B)² tr Ā² r_2²``, which follows from Eq. 27; ``printed`` the
            paper's ``(tr Ā)² tr B² r_2²``, which is 0; ``literal`` ``tr Ā² tr B² r_2²``, the square inside the trace.

    Source: paper D, Eqs. 27 and 28.
    """
    validate.one_of(PRINTINGS, printing=printing)
    r1, r2, r3, r4 = r
    total = r1**4 * t.abab + 2 * r1**2 * (r2 - r1**2) * t.ab**2 + 2 * r1**2 * r2 * (t.b * t.aab + t.a * t.abb)
    total = total + 4 * t.a * t.b * r1 * r3 * t.ab + t.a**2 * t.b**2 * r4 + t.a**2 * r2**2 * t.bb
    last_factor = {"corrected": t.b**2 * t.aa, "printed": 0.0 * t.aa, "literal": (t.bb + t.b**2) * t.aa}
    return total + last_factor[printing] * r2**2


def correlation(t: Traces, r: Sequence[Tensor | float], *, printing: str = "corrected") -> Tensor:
    """The C-NFA at initialisation as all sizes grow, ``(...)``.

    The traces are replaced by their averages; arguments as of :func:`second_denominator`.

    Source: paper D, Eq. 10, whose two factors in the denominator need the exponent +1/2, and Assumptions 7 to 9.
    """
    below = first_denominator(t, r) * second_denominator(t, r, printing=printing)
    return numerator(t, r) / below.sqrt()


def covariance_share(t: Traces, ratio: float) -> Tensor:
    r"""The share of Eq. 5's second term, a covariance over networks, in the left side, ``(...)``.

    The first term is :math:`\operatorname{tr}(\mathbb E[\dot W^\top\dot W]\,\mathbb E[\dot W^\top K\dot W])
    =3c\operatorname{tr}(B)\operatorname{tr}(A^2)+\operatorname{tr}(A^2B)`; it is the whole as ``c = d/k`` falls to 0.

    Source: derived from paper D, Eq. 5, Prop. 10 and Eq. 20.
    """
    square = t.aa + t.a**2  # tr A²
    first = 3 * ratio * t.b * square + t.aab + 2 * t.a * t.ab + t.b * square
    return 1 - first / numerator(t, readout_moments(ratio))


def observed_traces(a: Tensor, b: Tensor, r: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``tr(ARARBR)``, ``tr(ARAR)`` and ``tr(ARBRARBR)`` of given matrices ``(..., d, d)``, without assuming freeness.

    Source: paper D, Eqs. 17, 21 and 23.
    """
    validate.arrays(a=("... d d", a), b=("... d d", b), r=("... d d", r))
    ar = a @ r
    br = b @ r
    arbr = ar @ br
    return _inner(ar.mT, arbr), _inner(ar.mT, ar), _inner(arbr.mT, arbr)


def isotropic(spread: float, ratio: float) -> float:
    r"""The C-NFA for isotropic data, ``XᵀX = 1``: :math:`(r_3+r_2q)/\sqrt{(r_2+q)(r_4+r_2^2q)}`.

    Args:
        spread: ``q``, the variance of ``y²`` over its squared mean; 2 for normal labels, 0 for labels ±1.
        ratio: ``c = d/k``.

    Source: paper D, Eq. 6.
    """
    validate.at_least(0, spread=spread)
    _, r2, r3, r4 = readout_moments(ratio)
    return (r3 + r2 * spread) / math.sqrt((r2 + spread) * (r4 + r2**2 * spread))


def _trace(matrix: Tensor) -> Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1).mean(-1)


def _centred(matrix: Tensor, mean: Tensor) -> Tensor:
    return matrix - mean[..., None, None] * torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)


def _inner(left: Tensor, right: Tensor) -> Tensor:
    """``tr(LᵀR)``: the trace of a product without forming it."""
    return torch.linalg.vecdot(left.flatten(-2), right.flatten(-2)) / left.shape[-1]
