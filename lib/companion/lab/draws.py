"""Which realisations are drawn: the first seed that a design counts from.

The seeds from ``RESERVED`` on are those of the first registered run (``companion.book.registration``), the same for all
designs; the next one's begin ``BETWEEN`` later. Before it no run draws them. Once it is judged they are the
book's, at the laptop's and the papers' sizes.
"""

import contextlib
import functools
import json
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from companion import paths
from regimes import validate

RESERVED, BETWEEN = 1_200_000, 120_000  # the first of all, and of one run to the next: multiples of all studies' chunks
OF_BOOK = ("laptop", "paper")  # profiles
_FIRST: ContextVar[int | None] = ContextVar("first seed", default=None)


def first(profile: str = "") -> int:
    """The first seed of every design of a profile: that of ``drawn_from``, else the book's."""
    chosen = _FIRST.get()
    if chosen is None:
        return of_book() if profile in OF_BOOK else 0
    return chosen


def of_book() -> int:
    """The first seed of the book's rows: that of the registered run that was judged last; 0 before any was."""
    known = _registered()
    return known["first seed"] if "judged" in known else known.get("before", 0)


def of_run() -> int:
    """The first seed of the registered run that is declared, or where it is judged, of the next one."""
    known = _registered()
    return known["first seed"] + BETWEEN if "judged" in known else known.get("first seed", RESERVED)


def is_first(seed: int) -> bool:
    """Whether a seed is the first one that designs count: only of that realisation some studies keep pictures."""
    return seed == 0 or (seed >= RESERVED and (seed - RESERVED) % BETWEEN == 0)


@contextlib.contextmanager
def drawn_from(seed: int) -> Iterator[None]:
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
    """Whether the book is judged on the cells of a registered run."""
    return of_book() > 0


def _registered() -> dict[str, int]:
    """What the file of the last registration says of seeds, and whether it is judged."""
    path = registered_file()
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@functools.lru_cache(maxsize=2)
def _read(path: Path, written: int) -> dict[str, int]:
    """As a file says that was ``written`` at a time: designs ask hundreds of times."""
    known = json.loads(path.read_text(encoding="utf-8"))
    return {name: known[name] for name in ("first seed", "before", "judged") if name in known}
