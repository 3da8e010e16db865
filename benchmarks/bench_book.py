"""Wall time of every chapter at the smoke profile, cold (no cell stored) and warm, and of the HTML build."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 300.0  # seconds: the smoke book, warm, when all chapters stand


def seconds(*command: str, **env: str) -> float:
    """Wall seconds of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(
        command, cwd=ROOT, env=os.environ | env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - start


def main() -> None:
    """Prints a line a chapter and the total against the limit."""
    totals = [0.0, 0.0]
    print(f"{'chapter':28} {'cold s':>8} {'warm s':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted((ROOT / "chapters").glob("[0-9][0-9]_*.py")):
            run = (
                sys.executable,
                "-m",
                "regimes.runner",
                source.name[:2],
                "--profile",
                "smoke",
                "--name",
                "bench",
                "--no-page",
            )
            times = [seconds(*run, REGIMES_STORE=folder) for _ in range(2)]
            totals = [total + t for total, t in zip(totals, times)]
            print(f"{source.stem:28} {times[0]:8.1f} {times[1]:8.1f}")
    pages = seconds("make", "html", "PROFILE=smoke")
    print(f"{'pages':28} {pages:8.1f} {pages:8.1f}")
    print(f"{'smoke book':28} {totals[0] + pages:8.1f} {totals[1] + pages:8.1f}   (limit {LIMIT:.0f} s warm)")


if __name__ == "__main__":
    main()
