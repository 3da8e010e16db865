"""Progress of a sweep: a bar on a terminal, a line per minute elsewhere, the log file inside a notebook."""

import os
import sys
import time

LINE_EVERY = 60.0  # seconds between progress lines where there is no terminal


def say(text: str, *, quiet: bool = False) -> None:
    """One line on stderr; inside a notebook, whose stderr would land on the page, in the file ``$REGIMES_LOG``.

    The runner shows what that file says; ``quiet`` lines go there alone.
    """
    if path := os.environ.get("REGIMES_LOG"):
        with open(path, "a", encoding="utf-8") as log:
            print(text, file=log)
    elif not quiet:
        print(text, file=sys.stderr, flush=True)


class Progress:
    """Counts the cells of one queue; silent if they are finished soon.

    Args:
        name: of the queue.
        missing: cells to be computed.
        total: those, and the stored ones.
        seconds: expected time of the missing ones; 0 if unknown.
    """

    def __init__(self, name: str, missing: int, total: int, seconds: float = 0.0) -> None:
        self.name, self.missing, self.done = name, missing, 0
        self.seconds, self.spent = seconds, 0.0
        self.start = self.last = time.monotonic()
        if 0 < missing < total:
            say(f"{name}: {total - missing} of {total} cells were stored", quiet=True)

    def step(self, cells: int, seconds: float = 0.0) -> None:
        """Counts finished cells and their expected seconds."""
        self.done += cells
        self.spent += seconds
        now = time.monotonic()
        share = self.spent / self.seconds if self.spent else self.done / self.missing
        left = (now - self.start) * max(1 / share - 1, 0)
        text = f"{self.name}: {self.done}/{self.missing} cells, {now - self.start:.0f} s, about {left:.0f} s left"
        if not os.environ.get("REGIMES_LOG") and sys.stderr.isatty():
            print(f"\r{text:79}", end="\n" if self.done == self.missing else "", file=sys.stderr, flush=True)
        elif now - self.last > LINE_EVERY or (self.done == self.missing and now - self.start > LINE_EVERY):
            self.last = now
            say(text)
