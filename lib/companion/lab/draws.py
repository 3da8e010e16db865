"""Which realisations are drawn: the first seed that a design counts from.

The seeds from ``RESERVED`` on are those of the registered run (``companion.book.registration``), the same for all
designs. No smoke, laptop or test run draws them.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from regimes import validate

RESERVED = 1_200_000  # a multiple of all studies' chunks
_FIRST: ContextVar[int] = ContextVar("first seed", default=0)


def first() -> int:
    """The first seed of every design: 0, or what ``drawn_from`` says."""
    return _FIRST.get()


@contextlib.contextmanager
def drawn_from(seed: int = RESERVED) -> Iterator[None]:
    """Inside, designs that count their seeds count from ``seed``, and listed seeds are moved by as much."""
    validate.integer(0, seed=seed)
    token = _FIRST.set(seed)
    try:
        yield
    finally:
        _FIRST.reset(token)
