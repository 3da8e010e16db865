"""The book by stage: CPU and wall seconds cold (no cell stored, no page built), again with nothing changed, one figure.

python benchmarks/bench_book.py [smoke | laptop]
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURE = ("05", "--figure", "tab-c-tab2", "-p", "tab2_n", "200")  # the README's
LIMIT = 300.0  # CPU seconds: the smoke book, with its cells stored
NUMBERS = sorted({path.name[:2] for path in (ROOT / "chapters").glob("[0-9][0-9]_*.py")})


def seconds(*command: str, **env: str) -> tuple[float, float]:
    """CPU and wall seconds of a command that must succeed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, cwd=ROOT, env=os.environ | env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start


def main() -> None:
    """Prints the profile's cells and drawing, pages, the book when nothing has changed, one knob of one figure."""
    profile = sys.argv[1] if len(sys.argv) > 1 else "smoke"
    run = [sys.executable, "-m", "companion.runner", *NUMBERS, "--profile", profile, "--name", "bench"]
    figure = [sys.executable, "-m", "companion.runner", *FIGURE, "--profile", profile, "--name", "bench-figure"]
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (seconds(*run, REGIMES_STORE=folder) for _ in range(2))
        _, one_figure = (seconds(*figure, REGIMES_STORE=folder) for _ in range(2))
    seconds("make", "html", f"PROFILE={profile}")  # the chapters, where they are not there
    shutil.rmtree(ROOT / "build" / profile / ".sphinx", ignore_errors=True)
    (ROOT / "build" / profile / ".pages").unlink(missing_ok=True)
    pages, unchanged = (seconds("make", "html", f"PROFILE={profile}") for _ in range(2))
    cells = tuple(cold_seconds - warm_seconds for cold_seconds, warm_seconds in zip(cold, warm))
    total = tuple(map(sum, zip(cold, pages)))
    rows = {"cells of all studies": cells, "chapters drawn": warm, "pages": pages}
    rows |= {f"cold {profile} book": total, "nothing changed": unchanged, "one figure, cells stored": one_figure}
    print(f"{'stage':24} {'CPU s':>8} {'wall s':>8}")
    for name, (cpu, wall) in rows.items():
        print(f"{name:24} {cpu:8.1f} {wall:8.1f}")
    if profile == "smoke":
        print(f"drawn and built, with its cells stored: {warm[0] + pages[0]:.0f} CPU s (limit {LIMIT:.0f})")


if __name__ == "__main__":
    main()
