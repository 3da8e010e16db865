r"""Mutual information of a variable and a binary label: paper A's estimator, and exact values to compare it with.

.. math:: I(x; y) = 1 - \mathbb E_x\, h_2\bigl(P(+|x)\bigr) \text{ bits},\qquad
          \hat q_+(x) = \frac{1}{1 + (r_+(x)/r_-(x))^d},

for labels of equal frequency, with the binary entropy :math:`h_2` and the distance :math:`r_\pm(x)` to the ``k``-th
nearest point of a label, whose density is taken as uniform in the ball of its ``k`` nearest points.

**Bias.** If ``x`` and ``y`` are independent, :math:`\hat q` is a Beta(k, k) variable, not 1/2. The mean estimate is
then :func:`null_bias`, 0.069 bits for ``k = 5``, at any number of points.

Source: paper A, App. E.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from scipy import special
from scipy.spatial import cKDTree
from torch import Tensor

from regimes import gaussian, validate
from regimes.data.tasks import STRIPE, needs_both_labels
from regimes.validate import InputError

NEIGHBOURS = 5  # Source: paper A, App. E


def mutual_information(x: Tensor, y: Tensor, *, neighbours: int = NEIGHBOURS, counts_itself: bool = False) -> float:
    r"""``Î(x; y)`` of one variable and a label, in bits; the scale of ``x`` has no effect.

    Args:
        x: ``(n,)``, or points ``(n, d)``.
        y: labels ``(n,)`` in {-1, +1}, of about equal frequency.
        neighbours: ``k``.
        counts_itself: whether a point is among its own neighbours, as in paper A's code but not in its text.

    Source: paper A, App. E, Eq. 18.
    """
    validate.arrays(x=("n" if x.ndim == 1 else "n d", x))
    needs_both_labels(y)
    if y.shape != x.shape[:1]:
        raise InputError(f"y must hold one label a point, ({len(x)},), got {tuple(y.shape)}")
    validate.integer(1, neighbours=neighbours)
    points, label = x.reshape(len(x), -1).double().cpu().numpy(), y.cpu().numpy() > 0
    fewest = int(min(label.sum(), (~label).sum())) - (not counts_itself)
    if neighbours > fewest:
        raise InputError(f"neighbours must be at most {fewest}, the other points of the rarer label, got {neighbours}")
    plus, minus = (_radius(points, label == side, neighbours, counts_itself) for side in (True, False))
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = points.shape[1] * (np.log(minus) - np.log(plus))
    return float(1 - entropy(special.expit(np.nan_to_num(odds, posinf=np.inf, neginf=-np.inf))).mean())


def _radius(points: np.ndarray, chosen: np.ndarray, k: int, counts_itself: bool) -> np.ndarray:
    """Distances ``(n,)`` of all points to the ``k``-th nearest among the chosen ones."""
    tree, own = cKDTree(points[chosen]), chosen & (not counts_itself)
    found = np.empty(len(points))
    found[~own] = tree.query(points[~own], [k])[0][:, 0]
    if own.any():
        found[own] = tree.query(points[own], [k + 1])[0][:, 0]  # the nearest of all is the point itself
    return found


def entropy(q: np.ndarray) -> np.ndarray:
    """``h_2(q)``, the binary entropy in bits."""
    return (special.entr(q) + special.entr(1 - q)) / math.log(2)


def informations(vectors: Tensor, y: Tensor) -> Tensor:
    """``Î(φ_r; y)`` of each component ``vectors (..., n, r)`` with labels ``y (..., n)``: ``(..., r)``, in bits."""
    n, r = vectors.shape[-2:]
    flat, labels = vectors.reshape(-1, n, r), y.expand(vectors.shape[:-1]).reshape(-1, n)
    found = [[mutual_information(one[:, i], label) for i in range(r)] for one, label in zip(flat, labels)]
    return torch.tensor(found, dtype=torch.float64).reshape(*vectors.shape[:-2], r)


def null_bias(neighbours: int = NEIGHBOURS, *, counts_itself: bool = False) -> float:
    r"""The mean of the estimate in one dimension for independent ``x`` and ``y``, in bits.

    The mean of :math:`1 - h_2(q)` for a Beta(a, b) variable, :math:`1 - [H_{a+b} - (a H_a + b H_b)/(a+b)]/\ln 2` with
    harmonic numbers ``H``: ``a = k``, and ``b = k``, or ``k - 1`` if a point is among its own neighbours.

    Source: derived here; ratios of distances to the ``k``-th points of two Poisson processes.
    """
    validate.integer(1 + counts_itself, neighbours=neighbours)
    a, b = neighbours, neighbours - counts_itself
    harmonic = [special.digamma(m + 1) for m in (a + b, a, b)]
    return float(1 - (harmonic[0] - (a * harmonic[1] + b * harmonic[2]) / (a + b)) / math.log(2))


def sharp_loss(n: int, neighbours: int = NEIGHBOURS) -> float:
    r"""The deficit of the estimate from one bit for a label that is the sign of a uniform variable, on ``n`` points.

    A point at the distance ``s`` from the jump has the ``k``-th point of its own label at ``k/n`` (farther near an end)
    and of the other at ``s + 2k/n``, up to fluctuations. The deficit is the mean of ``h_2`` over ``s``, about
    ``(k/n) (log₂ n/k)²/2``.

    Source: derived here, from paper A, Eq. 18.
    """
    validate.whole(1, n // 2, neighbours=neighbours)
    s = (np.arange(200_000) + 0.5) / 200_000
    unit = neighbours / n
    own = np.maximum(unit, 2 * unit - np.minimum(s, 1 - s))
    return float(entropy(own / (own + s + 2 * unit)).mean())


def shifted_gaussians(shift: float) -> float:
    """``I(x; y)`` of ``x = y shift + z`` for a standard normal ``z`` and equally frequent labels, in bits."""
    validate.between(0, 20, shift=shift)
    x, w = gaussian.trapezoid(2000)
    return float(1 - w @ entropy(special.expit(2 * shift * (x + shift))))


def stripe_information(cosine: float, interfaces: Sequence[float] = STRIPE) -> float:
    r"""``I(u·x; y)`` of Gaussian points and the stripe's label along a direction ``u`` at an angle to ``e_1``; in bits.

    The bound for a component that is linear in ``x``: for random ``u`` in ``d`` dimensions ``cosine²`` is ``1/d`` on
    average.

    Args:
        cosine: ``u·e_1``, from 0 to 1.
        interfaces: of the stripe.
    """
    validate.between(0, 1, cosine=cosine)
    validate.increasing(interfaces=interfaces)
    sine, walls = math.sqrt(1 - cosine**2), np.array(interfaces)[:, None]
    blur = [sine / cosine] * len(interfaces) if cosine else []
    s, w = gaussian.rule([b / cosine for b in interfaces] if cosine else [], blur)
    below = special.ndtr((walls - cosine * s) / sine) if sine else (s < walls).astype(float)
    signs = (-1.0) ** np.arange(len(walls))[:, None]  # of planes in their order, the label is +1 before the first
    share = np.clip((signs * below).sum(0) + (len(walls) % 2 == 0), 0, 1)
    return float(entropy(np.array(w @ share)) - w @ entropy(share))
