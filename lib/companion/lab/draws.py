"""Which realisations are drawn: the first seed that a design counts from.

The seeds from ``RESERVED`` on are those of the registered run (``companion.book.registration``), the same for all
designs. Before it no run draws them. Once it is judged they are the book's, at the laptop's and the papers' sizes.
"""

import contextlib
import functools
import json
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from companion import paths
from regimes import validate

RESERVED = 1_200_000  # a multiple of all studies' chunks
OF_BOOK = ("laptop", "paper")  # profiles
_FIRST: ContextVar[int | None] = ContextVar("first seed", default=None)


def first(profile: str = "") -> int:
    """The first seed of every design of a profile: that of ``drawn_from``, else the book's."""
    chosen = _FIRST.get()
    if chosen is None:
        return RESERVED if profile in OF_BOOK and is_judged() else 0
    return chosen


def is_first(seed: int) -> bool:
    """Whether a seed is the first one that designs count: only of that realisation some studies keep pictures."""
    return seed in (0, RESERVED)


@contextlib.contextmanager
def drawn_from(seed: int = RESERVED) -> Iterator[None]:
    """Inside, designs that count their seeds count from ``seed``, and listed seeds are moved by as much."""
    validate.integer(0, seed=seed)
    token = _FIRST.set(seed)
    try:
        yield
    finally:
        _FIRST.reset(token)


def registered_file() -> Path:
    """What is registered."""
    return paths.results() / "registered.json"


def is_judged() -> bool:
    """Whether the book is judged on the cells of its registered run."""
    path = registered_file()
    return path.exists() and _says_judged(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)
def _says_judged(path: Path, written: int) -> bool:
    """As a file says that was ``written`` at a time: designs ask hundreds of times."""
    return "judged" in json.loads(path.read_text(encoding="utf-8"))
