"""The sums over pairs of ``products.h`` as Triton kernels: on CUDA, too, no array holds an entry for a pair.

Each program finds the gates of a tile of neurons and points again, in registers. Long sums are cut into pieces of a
fixed size that are added in their order, so that a sum has the same bits each time. Inputs are those of
:mod:`regimes.training.gradient_flow.pairs`, contiguous.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

SUMMED, KEPT = 4, 256  # rows and columns of a tile: a thread has all rows of its columns, and adds them alone
PIECE = 1024  # neurons or points that one program adds up


@triton.jit
def _products(w, x, n, i, h, p, K: tl.constexpr):
    """``w_n x_i``, 0 beyond the last ones, for neurons ``n`` and points ``i``, one a column and the other a row."""
    z = tl.load(w + n * K, mask=n < h, other=0.0) * tl.load(x + i, mask=i < p, other=0.0)
    for j in tl.static_range(1, K):
        z += tl.load(w + n * K + j, mask=n < h, other=0.0) * tl.load(x + j * p + i, mask=i < p, other=0.0)
    return z


@triton.jit
def _own(x, u, beta, f, h, p, K: tl.constexpr, N: tl.constexpr, P: tl.constexpr, SIZE: tl.constexpr):
    """``f_i = sum_n beta_n max(0, u_n x_i)`` over one piece of the neurons."""
    e, piece, count = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.num_programs(2)
    x, u, beta = x + e * K * p, u + e * h * K, beta + e * h
    i = tl.program_id(0) * P + tl.arange(0, P)
    total = tl.zeros((P,), dtype=f.dtype.element_ty)
    for first in range(piece * SIZE, min(piece * SIZE + SIZE, h), N):
        n = first + tl.arange(0, N)[:, None]
        z = _products(u, x, n, i[None, :], h, p, K)
        total += tl.sum(tl.load(beta + n, mask=n < h, other=0.0) * tl.where(z > 0, z, 0.0), axis=0)
    tl.store(f + (piece * count + e) * p + i, total, mask=i < p)


@triton.jit
def _outputs(x, gates, slopes, f, h, p, K: tl.constexpr, N: tl.constexpr, P: tl.constexpr, SIZE: tl.constexpr):
    """``f_i = sum_n [gates_n x_i > 0] slopes_n x_i`` over one piece of the neurons."""
    e, piece, count = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.num_programs(2)
    x, gates, slopes = x + e * K * p, gates + e * h * K, slopes + e * h * K
    i = tl.program_id(0) * P + tl.arange(0, P)
    total = tl.zeros((P,), dtype=f.dtype.element_ty)
    for first in range(piece * SIZE, min(piece * SIZE + SIZE, h), N):
        n = first + tl.arange(0, N)[:, None]
        z = _products(gates, x, n, i[None, :], h, p, K)
        total += tl.sum(tl.where(z > 0, _products(slopes, x, n, i[None, :], h, p, K), 0.0), axis=0)
    tl.store(f + (piece * count + e) * p + i, total, mask=i < p)


@triton.jit
def _field(
    x, c, u, G, h, p, K: tl.constexpr, COLUMNS: tl.constexpr, N: tl.constexpr, P: tl.constexpr, SIZE: tl.constexpr
):
    """``G_n = sum_i [u_n x_i > 0] c_i x_i`` over one piece of the points; ``COLUMNS`` is K or more."""
    e, piece, count = tl.program_id(2).to(tl.int64), tl.program_id(1), tl.num_programs(2)
    x, c, u = x + e * K * p, c + e * p, u + e * h * K
    n, column = tl.program_id(0) * N + tl.arange(0, N)[None, :], tl.arange(0, COLUMNS)[:, None]
    total = tl.zeros((COLUMNS, N), dtype=G.dtype.element_ty)
    for first in range(piece * SIZE, min(piece * SIZE + SIZE, p), P):
        i = first + tl.arange(0, P)[:, None]
        z = _products(u, x, n, i, h, p, K)
        open_ = tl.where(z > 0, tl.load(c + i, mask=i < p, other=0.0), 0.0)
        for j in tl.static_range(K):
            part = tl.sum(open_ * tl.load(x + j * p + i, mask=i < p, other=0.0), axis=0)
            total += tl.where(column == j, part[None, :], 0.0)
    place = ((piece * count + e) * h + n) * K + column
    tl.store(G + place, total, mask=(n < h) & (column < K))


def own(xt: Tensor, u: Tensor, beta: Tensor) -> Tensor:
    """``(e, p)``: the sum over neurons of ``beta_n max(0, u_n x)``."""
    return _by_points(_own, xt, u, beta)


def outputs(xt: Tensor, gates: Tensor, slopes: Tensor) -> Tensor:
    """As ``pairs.outputs``."""
    return _by_points(_outputs, xt, gates, slopes)


def _by_points(kernel: triton.JITFunction, xt: Tensor, *weights: Tensor) -> Tensor:
    """The sums ``(e, p)`` over neurons, piece by piece."""
    (e, p, k), h = xt.shape, weights[0].shape[1]
    pieces = triton.cdiv(h, PIECE)
    f = torch.empty(pieces, e, p, dtype=xt.dtype, device=xt.device)
    arrays = [xt.mT.contiguous(), *(it.contiguous() for it in weights)]
    kernel[triton.cdiv(p, KEPT), pieces, e](*arrays, f, h, p, K=k, N=SUMMED, P=KEPT, SIZE=PIECE)
    return f.sum(0)


def field(xt: Tensor, c: Tensor, weights: Tensor, scale: float) -> Tensor:
    """As ``pairs.field``."""
    (e, p, k), h = xt.shape, weights.shape[1]
    pieces = triton.cdiv(p, PIECE)
    G = torch.empty(pieces, e, h, k, dtype=xt.dtype, device=xt.device)
    arrays = xt.mT.contiguous(), c.contiguous(), weights.contiguous()
    sizes = {"K": k, "COLUMNS": triton.next_power_of_2(k), "N": KEPT, "P": SUMMED, "SIZE": PIECE}
    _field[triton.cdiv(h, KEPT), pieces, e](*arrays, G, h, p, **sizes)
    return G.sum(0).mul_(scale)
