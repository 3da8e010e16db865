r"""Mutual information of a variable and a label in bits: estimates, and exact values to compare them with.

:func:`mutual_information` is for any labels, and for continuous variables, discrete ones and mixtures. For each point
it takes the smallest ball that holds ``k`` others of the point's label. Of the ``n_y`` points with this label ``k̃``
others lie in that ball, of all ``n`` points ``m`` others:

.. math:: \hat I(x; y) = \psi(n) + \langle \psi(\tilde k) - \psi(n_y) - \psi(m) \rangle

with the digamma function :math:`\psi` and the mean over points; :math:`\tilde k > k` only where several points are at
the same distance. A value that so many points share that more than ``k`` of the label are expected among them is a ball
of its own, in which the point itself counts, too.

:func:`paper_a_information` is what chapter 4 tests:

.. math:: I(x; y) = 1 - \mathbb E_x\, h_2\bigl(P(+|x)\bigr),\qquad
          \hat q_+(x) = \frac{1}{1 + (r_+(x)/r_-(x))^d},

for continuous variables and two labels of equal frequency, with the binary entropy :math:`h_2` and the distance
:math:`r_\pm(x)` to the ``k``-th nearest point of a label, whose density is taken as uniform in the ball of its ``k``
nearest points. If ``x`` and ``y`` are independent, :math:`\hat q` is a Beta(k, k) variable, not 1/2. The mean estimate
is then :func:`null_bias`, 0.069 bits for ``k = 5``, at any number of points.

Source: paper A, App. E (the second); Ross, PLoS ONE 9 (2014) e87357 (the first without ties); Gao, Kannan, Oh and
Viswanath, NeurIPS 30 (2017) (ties; that a shared value is a ball where fewer than ``k`` points have it is ours).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from scipy import special
from scipy.spatial import cKDTree
from torch import Tensor

from regimes import gaussian, validate
from regimes.data.tasks import STRIPE, needs_both_labels
from regimes.validate import InputError

NEIGHBOURS = 5  # Source: paper A, App. E
RAREST = 0.2  # share of a label: four standard deviations below one half for 40 points

Estimate = Callable[[Tensor, Tensor], float]
"""An estimator of the information in bits of ``x (n,)`` and labels ``(n,)``."""


def mutual_information(x: Tensor, y: Tensor, *, neighbours: int = NEIGHBOURS) -> float:
    r"""``Î(x; y)`` of a variable and a label, in bits, from 0 to the entropy of the labels; the scale of ``x`` is free.

    For independent ``x`` and ``y`` it is 0 on average, up to the cut at 0.

    Args:
        x: ``(n,)``, or points ``(n, d)``, whose distance is the largest difference of a coordinate in units of its
            standard deviation: a coordinate of large numbers counts no more than another.
        y: labels ``(n,)`` of any number and frequency: real, whole or boolean numbers, each at least twice.
        neighbours: ``k``; for a label of fewer other points, their number.

    Raises:
        InputError: for values that are not finite, a single label, and a label that only one point has.

    Source: Ross (2014); Gao et al. (2017) for ties.
    """
    points, labels = _points_and_labels(x, y)
    validate.integer(1, neighbours=neighbours)
    needs_repeated(labels)
    points = _of_one_scale(points) if points.shape[1] > 1 else points
    n = len(points)
    total = 0.0
    _, value, shares = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    value = value.reshape(n)
    for label in np.unique(labels):
        chosen = labels == label
        count = int(chosen.sum())
        within = shares[value[chosen]]  # points with the same value, of any label
        same = np.bincount(value[chosen])[value[chosen]]
        alone = within * count <= neighbours * n
        if alone.any():
            same[alone], within[alone] = _in_balls(points, chosen, alone, min(neighbours, count - 1))
        logarithms = special.digamma(same) - special.digamma(within)
        total += logarithms.sum() + count * (special.digamma(n) - special.digamma(count))
    return float(np.clip(total / n / math.log(2), 0, label_entropy(labels)))


def _of_one_scale(points: np.ndarray) -> np.ndarray:
    """Points ``(n, d)`` whose coordinates have the standard deviation 1; what is constant stays so."""
    scaled = points / np.abs(points).max(0, initial=0.0).clip(min=np.finfo(float).tiny)  # squares may overflow
    spread = scaled.std(0)
    return scaled / np.where(spread > 0, spread, 1.0)


def _in_balls(points: np.ndarray, chosen: np.ndarray, alone: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """How many others, chosen ones and of all, lie around each chosen point that is ``alone``, up to its ``k``-th."""
    same_label = points[chosen]
    centres = same_label[alone]
    label_tree = cKDTree(same_label)
    radius = label_tree.query(centres, [k + 1], p=np.inf)[0][:, 0]  # the nearest of all is the point itself
    same = label_tree.query_ball_point(centres, radius, np.inf, return_length=True)
    within = cKDTree(points).query_ball_point(centres, radius, np.inf, return_length=True)
    return same - 1, within - 1


def label_entropy(labels: np.ndarray) -> float:
    """The entropy of labels ``(n,)``, in bits, by their frequencies."""
    _, counts = np.unique(labels, return_counts=True)
    return float(special.entr(counts / len(labels)).sum() / math.log(2))


def needs_repeated(labels: np.ndarray) -> None:
    """Raises ``InputError`` unless there are at least two labels, each of at least two points."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) < 2:
        raise InputError(f"y must hold at least two labels, got {values[0]} alone")
    if counts.min() < 2:
        raise InputError(f"y must hold each label at least twice, got {values[counts.argmin()]} once")


def _points_and_labels(x: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Points ``(n, d)`` in float64, zeros without a sign, and one label for each ``(n,)``."""
    x = validate.points("x", x)
    y = validate.tensor("y", y)
    if x.ndim not in (1, 2):
        raise InputError(f"x must be values (n,) or points (n, d), got {tuple(x.shape)}")
    if y.shape != x.shape[:1]:
        raise InputError(f"y must hold one label a point, ({len(x)},), got {tuple(y.shape)}")
    unsigned = x.reshape(len(x), -1).double() + 0.0  # -0 + 0 is 0
    points = unsigned.detach().cpu().numpy()
    labels = y.detach().cpu().numpy()
    if not np.isfinite(labels).all():
        raise InputError("y must hold labels, got NaN or infinity among them")
    return points, labels


def paper_a_information(x: Tensor, y: Tensor, *, neighbours: int = NEIGHBOURS, counts_itself: bool = False) -> float:
    r"""``Î(x; y)`` by paper A's estimator, in bits; the scale of ``x`` has no effect.

    It is for continuous variables: where several points are equal, it says nothing about them.

    Args:
        x: ``(n,)``, or points ``(n, d)``.
        y: labels ``(n,)`` in {-1, +1}, of equal frequency up to their drawing.
        neighbours: ``k``.
        counts_itself: whether a point is among its own neighbours, as in paper A's code but not in its text.

    Raises:
        InputError: for fewer points of a label than neighbours, and where less than a fifth of the points have it.

    Source: paper A, App. E, Eq. 18.
    """
    points, labels = _points_and_labels(x, y)
    needs_both_labels(torch.from_numpy(labels))
    validate.integer(1, neighbours=neighbours)
    label = labels > 0
    rarer = int(min(label.sum(), (~label).sum()))
    fewest = rarer - (not counts_itself)
    if neighbours > fewest:
        raise InputError(f"neighbours must be at most {fewest}, the other points of the rarer label, got {neighbours}")
    if rarer < RAREST * len(label):
        shares = f"got {rarer} of {len(label)} points for one: mutual_information takes any"
        raise InputError(f"y must hold two labels of about equal frequency, {shares}")
    plus = _radius(points, label, neighbours, counts_itself)
    minus = _radius(points, ~label, neighbours, counts_itself)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = points.shape[1] * (np.log(minus) - np.log(plus))
    odds = np.nan_to_num(odds, posinf=np.inf, neginf=-np.inf)
    return float(1 - entropy(special.expit(odds)).mean())


def _radius(points: np.ndarray, chosen: np.ndarray, k: int, counts_itself: bool) -> np.ndarray:
    """Distances ``(n,)`` of all points to the ``k``-th nearest among the chosen ones."""
    tree = cKDTree(points[chosen])
    members = chosen & (not counts_itself)
    radius = np.empty(len(points))
    radius[~members] = tree.query(points[~members], [k])[0][:, 0]
    if members.any():
        radius[members] = tree.query(points[members], [k + 1])[0][:, 0]  # the nearest of all is the point itself
    return radius


def entropy(q: np.ndarray) -> np.ndarray:
    """``h_2(q)``, the binary entropy in bits."""
    return (special.entr(q) + special.entr(1 - q)) / math.log(2)


def informations(vectors: Tensor, y: Tensor, estimate: Estimate = mutual_information) -> Tensor:
    """``Î(φ_r; y)`` of each component ``vectors (..., n, r)`` with labels ``y (..., n)``: ``(..., r)``, in bits.

    A component that is not a number has no information, NaN.
    """
    n, r = vectors.shape[-2:]
    flat = vectors.reshape(-1, n, r)
    labels = y.expand(vectors.shape[:-1]).reshape(-1, n)
    exists = ~flat.isnan().any(1)
    estimates = torch.full(exists.shape, math.nan, dtype=torch.float64)
    for e, i in exists.nonzero().tolist():
        estimates[e, i] = estimate(flat[e, :, i], labels[e])
    return estimates.reshape(*vectors.shape[:-2], r)


def null_bias(neighbours: int = NEIGHBOURS, *, counts_itself: bool = False) -> float:
    r"""The mean of paper A's estimate in one dimension for independent ``x`` and ``y``, in bits.

    The mean of :math:`1 - h_2(q)` for a Beta(a, b) variable, :math:`1 - [H_{a+b} - (a H_a + b H_b)/(a+b)]/\ln 2` with
    harmonic numbers ``H``: ``a = k``, and ``b = k``, or ``k - 1`` if a point is among its own neighbours.

    Source: derived here; ratios of distances to the ``k``-th points of two Poisson processes.
    """
    validate.integer(1 + counts_itself, neighbours=neighbours)
    a, b = neighbours, neighbours - counts_itself
    H_sum, H_a, H_b = (special.digamma(m + 1) for m in (a + b, a, b))
    return float(1 - (H_sum - (a * H_a + b * H_b) / (a + b)) / math.log(2))


def sharp_loss(n: int, neighbours: int = NEIGHBOURS) -> float:
    r"""How far paper A's estimate on ``n`` points is below one bit, for a label that is a uniform variable's sign.

    A point at the distance ``s`` from the jump has the ``k``-th point of its own label at ``k/n`` (farther near an end)
    and of the other at ``s + 2k/n``, up to fluctuations. The deficit is the mean of ``h_2`` over ``s``, about
    ``(k/n) (log₂ n/k)²/2``.

    Source: derived here, from paper A, Eq. 18.
    """
    validate.whole(1, n // 2, neighbours=neighbours)
    s = (np.arange(200_000) + 0.5) / 200_000
    unit = neighbours / n
    same_label = np.maximum(unit, 2 * unit - np.minimum(s, 1 - s))
    return float(entropy(same_label / (same_label + s + 2 * unit)).mean())


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
    sine = math.sqrt(1 - cosine**2)
    walls = np.array(interfaces)[:, None]
    blur = [sine / cosine] * len(interfaces) if cosine else []
    s, w = gaussian.rule([b / cosine for b in interfaces] if cosine else [], blur)
    below = special.ndtr((walls - cosine * s) / sine) if sine else (s < walls).astype(float)
    signs = (-1.0) ** np.arange(len(walls))[:, None]  # of planes in their order, the label is +1 before the first
    share = np.clip((signs * below).sum(0) + (len(walls) % 2 == 0), 0, 1)
    return float(entropy(np.array(w @ share)) - w @ entropy(share))
