"""Mutual exclusion: ``python -m companion.site.locks FILE WHAT COMMAND...`` runs a command under an exclusive lock.

The operating system holds the lock (``flock``), so that it is released when its holder is killed.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from companion.lab.cli import one_line_errors


@contextlib.contextmanager
def alone(file: Path, work: str) -> Iterator[None]:
    """Holds the lock ``file``; if another process has it, says so in one line and waits.

    Args:
        file: the lock; its folder is made.
        work: the other process's work, such as ``the book is being built``.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        acquired = lock.acquire(timeout=0)
    except Timeout:
        print(f"{work} by another process; waiting until it has ended", file=sys.stderr, flush=True)
        acquired = lock.acquire()
    with acquired:
        yield


def run_command(command: list[str]) -> int:
    """Runs a command, passing on signals and make's job slots; returns its exit code."""
    process = subprocess.Popen(command, close_fds=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # a terminal's Ctrl-C reaches the command by itself; the other two are passed on
        signal.signal(number, lambda got, _: got != signal.SIGINT and process.send_signal(got))
    code = process.wait()
    return code if code >= 0 else 128 - code


def main(argv: list[str] | None = None) -> int:
    """Entry point; returns the command's exit code."""
    file, work, *command = sys.argv[1:] if argv is None else argv
    with one_line_errors(), alone(Path(os.path.abspath(file)), work):
        return run_command(command)


if __name__ == "__main__":
    sys.exit(main())
