"""Writing one tile of a kernel matrix, for all kernels that are computed tile by tile."""

from torch import Tensor


def write(out: Tensor, top: int, left: int, tile: Tensor, mirrored: bool) -> None:
    """Writes ``tile (..., a, b)`` at row ``top`` and column ``left`` of ``out (..., n, m)``.

    Args:
        out: the matrix.
        top: row of the tile's first entry.
        left: its column, at least ``top`` if ``mirrored``.
        tile: the values.
        mirrored: whether ``out`` is a Gram matrix given by its upper triangle: the tile is also written transposed, and
            one on the diagonal is made exactly symmetric.
    """
    if mirrored and top == left:
        tile = tile.triu() + tile.triu(1).mT  # a product need not be symmetric to the last bit
    elif mirrored:
        out[..., left : left + tile.shape[-1], top : top + tile.shape[-2]] = tile.mT
    out[..., top : top + tile.shape[-2], left : left + tile.shape[-1]] = tile
