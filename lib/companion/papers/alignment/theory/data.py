r"""Data sets that set ``XᵀX`` against ``XᵀYX``, and the target of full rank.

Appendix F of paper D asks for :math:`X_2^\top X_2=(X_1^\top X_1)^{-2}` from ``γn`` rows ``X_1`` in ``d = n``
dimensions, an inverse that does not exist. :func:`reversing` builds four readings of it. :func:`spike_free` builds data
of the same design on which theory and observation can be compared.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from regimes import validate
from regimes.data import tasks
from regimes.data.tasks import Task

READINGS = ("pseudo-inverse", "float32 inverse", "scaled", "subsample")
NOISE = 1e-2  # ε₂; Source: paper D, App. F
DIAGONAL = 0.5  # ε₁
SHIFT = 1e-5  # of all labels


def reversing(n: int, *, balance: float, reading: str, seed: int) -> Task:
    r"""The alignment-reversing data as far as they can be built, ``n`` points in ``n`` dimensions.

    ``X_1`` (labels 1) is drawn from :math:`N(0,\mathbf 1\mathbf 1^\top+\varepsilon_1)`. ``X_2`` (labels 0) is
    :math:`V_2S_1^{-1}U_1^\top`, with the eigenvectors ``U_1`` and eigenvalues ``S_1`` of ``X_1ᵀX_1`` and the left
    singular vectors ``V_2`` of another draw. Noise is added to all points, and ``1e-5`` to all labels. The readings:

    - ``pseudo-inverse``: zero eigenvalues stay zero.
    - ``float32 inverse``: rounding errors of single precision replace them and are inverted.
    - ``scaled``: the pseudo-inverse, after ``X_1`` has been divided by its largest singular value.
    - ``subsample``: ``X_1`` and ``X_2`` have ``n`` rows each, so that the inverse exists; then ``γn`` and ``(1-γ)n`` of
      them are kept.

    Args:
        n: points and dimensions, at least 2.
        balance: ``γ`` in (0, 1], the share of ``X_1``; at 1 there is no ``X_2``.
        reading: one of :data:`READINGS`.
        seed: of all draws.

    Source: paper D, App. F.
    """
    validate.integer(2, n=n)
    validate.one_of(READINGS, reading=reading)
    first = _first_part(balance, n)
    draws = tasks.gaussian_points(3 * n, n + 1, seed=seed)
    x1, second_draw = (_correlated(part) for part in draws[: 2 * n].split(n))
    if reading != "subsample":
        x1 = x1[:first]
        second_draw = second_draw[: n - first]
    if reading == "scaled":
        x1 = x1 / torch.linalg.matrix_norm(x1, 2)
    if len(second_draw):
        x2 = _inverse_rows(x1, second_draw, single=reading == "float32 inverse")
    else:
        x2 = second_draw
    x = torch.cat([x1[:first], x2[: n - first]]) + NOISE * draws[2 * n :, :n]
    y = torch.full((n,), SHIFT, dtype=x.dtype)
    y[:first] += 1
    return Task(x, y, f"alignment-reversing data ({reading}), n=d={n}, {first} points of label 1")


def _correlated(normal: Tensor) -> Tensor:
    """Rows of covariance ``11ᵀ + ε₁`` from standard normal ones; the last column is the common part."""
    return DIAGONAL**0.5 * normal[:, :-1] + normal[:, -1:]


def _inverse_rows(x1: Tensor, second_draw: Tensor, *, single: bool) -> Tensor:
    """``V_2 S_1^{-1} U_1ᵀ``, with as many of the largest ``S_1`` as ``V_2`` has columns."""
    gram = x1.mT @ x1
    if single:
        _, s, vh = torch.linalg.svd(gram.float())
        inverse = s.clamp_min(torch.finfo(s.dtype).tiny).double().reciprocal()
        vh = vh.double()
    else:
        _, s, vh = torch.linalg.svd(x1, full_matrices=False)
        inverse = s**-2
    v2 = torch.linalg.svd(second_draw, full_matrices=False)[0]
    count = min(v2.shape[-1], len(inverse))
    return _oriented(v2[:, :count]) * inverse[:count] @ _oriented(vh[:count].mT).mT


def _oriented(vectors: Tensor) -> Tensor:
    """Columns whose largest entry is positive: a singular vector's sign is the library's choice."""
    return vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()


def spike_free(n: int, *, balance: float, floor: float, seed: int) -> Task:
    r"""Data of that design without spikes, ``n`` points in ``n`` dimensions.

    :math:`M = X_1^\top X_1` has eigenvalues spread evenly in their logarithm over ``[m_0, 1]`` on ``γn`` random
    directions, and :math:`X_2^\top X_2 = M^{-2} - M` there, so that :math:`X^\top X = M^{-2}` and
    :math:`MX^\top XM` is the projector on these directions whatever ``m_0``, while the NFM's ``M²`` spreads over
    ``[m_0², 1]``. Labels are 1 on ``X_1`` and 0 on ``X_2``.

    Args:
        n: points and dimensions, at least 4.
        balance: ``γ`` in (0, 1/2]: both parts need ``γn`` points.
        floor: ``m_0`` in (0, 1]; at 1 the data are isotropic on their directions.
        seed: of the directions and of the points' places in them.

    Source: derived here, in place of paper D, App. F.
    """
    validate.integer(4, n=n)
    count = _first_part(balance, n)
    validate.whole(2, n // 2, **{"round(balance * n)": count})
    validate.between(1e-100, 1, floor=floor)
    directions = tasks.rotation(n, seed=2 * seed)[:count]
    points = tasks.rotation(n, seed=2 * seed + 1)
    values = floor ** torch.linspace(0, 1, count, dtype=torch.float64)
    x = torch.zeros(n, n, dtype=torch.float64)
    x[:count] = _frame(points, count, count) * values.sqrt() @ directions
    x[count:] = _frame(points, n - count, count) * (values**-2 - values).sqrt() @ directions
    y = (torch.arange(n) < count).double()
    return Task(x, y, f"alignment-reversing data without spikes, n=d={n}, {count} points of label 1")


def _frame(rotation: Tensor, rows: int, columns: int) -> Tensor:
    """Orthonormal columns in ``rows`` dimensions, from a block of random numbers."""
    return torch.linalg.qr(rotation[:rows, :columns])[0]


def full_rank(p: int, d: int, *, decay: float, basis: int, mixing: int, seed: int | Sequence[int] = 0) -> Task:
    """The target ``y = |Qx|²`` on the points of :func:`regimes.data.tasks.chain_monomial`, at unit sample deviation.

    Args:
        p: points, at least 2.
        d: dimension, at least 2.
        decay: ``α`` of the covariance's eigenvalues ``1/(1 + k^α)``.
        basis: seed of its eigenbasis.
        mixing: seed of ``Q (d, d)``, standard normal.
        seed: of the points, one or several.

    Source: paper D, App. H.
    """
    validate.integer(2, p=p)
    drawn = tasks.chain_monomial(p, d, r=2, decay=decay, basis=basis, seed=seed)
    mix = tasks.gaussian_points(d, d, seed=mixing)
    y = (drawn.x @ mix.mT).square().sum(-1)
    source = f"|Qx|², d={d}, p={p}, covariance 1/(1 + k^{decay:g})"
    return replace(drawn, y=y / y.std(-1, keepdim=True), label=None, d_parallel=None, source=source)


def _first_part(balance: float, n: int) -> int:
    """The points of ``X_1``."""
    validate.between(0, 1, balance=balance)
    first = round(balance * n)
    validate.integer(1, **{"round(balance * n)": first})
    return first
