"""Progress of a sweep: a bar on a terminal, a line per minute elsewhere."""

import sys
import time
from typing import TextIO

LINE_EVERY = 60.0  # seconds between progress lines where there is no terminal
terminal: TextIO | None = None  # of a run, in whose cells ``sys.stderr`` is the notebook's


def say(text: str) -> None:
    """One line on stderr."""
    print(text, file=terminal or sys.stderr, flush=True)


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

    def step(self, cells: int, seconds: float = 0.0) -> None:
        """Counts finished cells and their expected seconds."""
        self.done += cells
        self.spent += seconds
        now = time.monotonic()
        share = self.spent / self.seconds if self.spent else self.done / self.missing
        remaining = (now - self.start) * max(1 / share - 1, 0)
        text = f"{self.name}: {self.done}/{self.missing} cells, {now - self.start:.0f} s, about {remaining:.0f} s left"
        stream = terminal or sys.stderr
        if stream.isatty():
            print(f"\r{text:79}", end="\n" if self.done == self.missing else "", file=stream, flush=True)
        elif now - self.last > LINE_EVERY or (self.done == self.missing and now - self.start > LINE_EVERY):
            self.last = now
            say(text)
