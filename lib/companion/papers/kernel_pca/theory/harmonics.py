"""Information of an isotropic kernel's components on the stripe before training, and the part that the estimate shows.

The first components after the constant are linear, ``u·x``, with ``u`` in random directions.

Source: paper A, Sec. 5.1 and App. E.
"""

import numpy as np
from scipy.special import betaincinv

from regimes import validate
from regimes.measures.information import NEIGHBOURS, stripe_information

DIRECTIONS = 400  # equally likely angles of a random direction


def linear_information(d: int) -> float:
    """The mean of ``I(u·x; y)`` over random directions ``u`` in ``d`` dimensions, in bits; falls as ``1/d``.

    ``(u·e_1)²`` is a Beta(1/2, (d-1)/2) variable. Source: derived here, for paper A, Sec. 5.1.
    """
    validate.integer(2, d=d)
    quantiles = (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
    cosines = np.sqrt(betaincinv(0.5, (d - 1) / 2, quantiles))
    return float(np.mean([stripe_information(float(cosine)) for cosine in cosines]))


def estimated_fraction(neighbours: int = NEIGHBOURS) -> float:
    """The part of a small information that the estimate shows beyond its bias, ``2k²/((2k+1)(k+1))``.

    If the label's log odds are ``s``, the estimate's are ``s + L`` with the logit ``L`` of a Beta(k, k) variable ``q``.
    For small ``s`` the part is the mean curvature of ``h_2`` in its logit over the curvature at 0,
    ``4 E[q(1-q)(1 + L(1-2q))]``, with ``E[q(1-q)] = k/(2(2k+1))`` and, of Beta(k+1, k+1), ``E[L(1-2q)] = -1/(k+1)``.

    Source: derived here, for paper A, App. E.
    """
    validate.integer(1, neighbours=neighbours)
    k = neighbours
    return 2 * k * k / ((2 * k + 1) * (k + 1))
