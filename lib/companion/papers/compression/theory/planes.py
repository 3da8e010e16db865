r"""How well a network places planes: the error of feature learning while few points are left unfitted.

A network that has compressed its data sees ``m`` planes, and little else can still be wrong with it but where these
stand: an offset and ``d - 1`` tilts each. Let ``n`` of ``p`` points be left, those with :math:`yF<1`. They lie in a
band about each plane. The flow moves a plane until the pulls of the points in its band, ``± (1, x_⊥)``, cancel. A
displacement :math:`\delta` of plane ``k`` changes the sum of the pulls by :math:`-2\varphi_k p\,\delta`, where
:math:`\varphi_k` is the density of the points at the plane. The sum itself fluctuates with the variance :math:`n_k` in
each of the ``d`` directions, so that

.. math:: \delta_i\sim\mathcal N\bigl(0,\ n_k/(2\varphi_kp)^2\bigr),\qquad
    \varepsilon=\sum_k\varphi_k\,\mathbb E|\delta\cdot(1,x_\perp)|
    =\sum_k\frac{\sqrt{n_k}}{p}\,\frac{r_d}{\sqrt{2\pi}},\qquad r_d=\mathbb E\sqrt{1+\chi^2_{d-1}}\approx\sqrt d.

Any loss does the same with :math:`n_{\rm eff}=\sum_\mu(\ell'(m_\mu)/\ell'(0))^2` of the margins :math:`m_\mu` in place
of ``n``: a point pulls with the force :math:`g=-\ell'(m)`. At a displaced plane :math:`m` is near zero, so that the
mean pull changes by :math:`-2\varphi_kp\,g(0)\,\delta`; the variance of the sum of pulls is :math:`\sum_\mu g_\mu^2`.

The densities cancel; they enter through :math:`n_k` alone. With :math:`n_k=n/m` this is
:math:`\varepsilon=\sqrt{m/2\pi}\,\sqrt{nd}/p`. A plane cannot be known better than from the :math:`O(d)` points that
hold it, which gives :math:`\varepsilon\approx md/2p` at the end.

Derived here; paper A has no formula for the network's own error.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats
from torch import Tensor

from regimes import validate
from regimes.models.losses import Loss
from regimes.validate import InputError


def reach(d: int) -> float:
    r""":math:`r_d=\mathbb E\sqrt{1+\chi^2_{d-1}}`: the reach of a displacement at a point of its plane, about ``√d``.

    Raises:
        InputError: for ``d < 1``.
    """
    validate.integer(1, d=d)
    return 1.0 if d == 1 else float(stats.chi2(d - 1).expect(lambda square: np.sqrt(1 + square)))


def effective_points(loss: Loss, margins: Tensor) -> Tensor:
    r"""How many points pull, each with the square of its force: :math:`\sum_\mu(\ell'(m_\mu)/\ell'(0))^2`.

    For the hinge these are the points with ``yF < 1``, for the quadratic hinge ``2 p`` times the training loss.

    Args:
        loss: of the margin.
        margins: ``y F (..., p)``.

    Returns:
        ``(...)``, float64.

    Raises:
        InputError: for margins that are not finite numbers.
    """
    validate.arrays(margins=("... p", margins))
    force = loss.slope(margins.double())
    return (force / loss.slope(force.new_zeros(()))).square().sum(-1)


def placing_error(d: int, p: int, n: float, densities: Sequence[float]) -> float:
    r"""The error of a network that is to place planes, with ``n`` of ``p`` points unfitted.

    :math:`\varepsilon=\sum_k\sqrt{n_k}\,r_d/(p\sqrt{2\pi})` with :math:`n_k` in proportion to the densities at the
    planes, whose margins are alike.

    Args:
        d: the dimension.
        p: training points.
        n: those with ``yF < 1``, for other losses than the hinge :func:`effective_points`.
        densities: of the coordinate across each plane, at the plane.

    Raises:
        InputError: for sizes below 1, or densities that are not positive.
    """
    validate.integer(1, p=p)
    validate.at_least(0, n=n)
    for density in densities:
        validate.positive(density=density)
    parts = np.sqrt(np.asarray(densities, float) / sum(densities) * n)
    return float(parts.sum()) * reach(d) / (p * math.sqrt(2 * math.pi))


def placing_constant(m: int) -> float:
    r"""``ε p/√(n d)`` of ``m`` planes with equally many points left at each: :math:`\sqrt{m/2\pi}`.

    Raises:
        InputError: for ``m < 1``.
    """
    validate.integer(1, m=m)
    return math.sqrt(m / (2 * math.pi))


def gaussian_constant(interfaces: Sequence[float], d: int) -> float:
    r"""``ε p/√(n d)`` of planes across the first coordinate of normal points, with the densities there.

    Args:
        interfaces: where the planes stand.
        d: the dimension.

    Raises:
        InputError: for no plane, or ``d < 1``.
    """
    if not len(interfaces):
        raise InputError("interfaces must hold a plane at least, got none")
    return placing_error(d, 1, 1, stats.norm.pdf(interfaces).tolist()) / math.sqrt(d)


def last_error(d: int, p: int, m: int = 2) -> float:
    r"""The error :math:`md/2p` of planes that are held by ``O(d)`` points each.

    Raises:
        InputError: for sizes below 1.
    """
    validate.integer(1, d=d, p=p, m=m)
    return m * d / (2 * p)
