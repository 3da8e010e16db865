"""The tests without a plugin that an environment may lack."""

import subprocess
import sys

from tests.references import ROOT


def test_they_run_without_xdist():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--collect-only"]
    done = subprocess.run([*command, "tests/test_gaussian.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "test_gaussian.py" in done.stdout, done.stdout + done.stderr
