"""The C of the gradient flow under the compiler's sanitisers: no step reads or writes beside its arrays, or races."""

import subprocess

import pytest

from regimes.training.gradient_flow import compiled, constants, pairs
from tests.references import ROOT

SOURCE = ROOT / "tests" / "training" / "sanitised.c"
FOLDER = ROOT / "lib" / "regimes" / "training" / "gradient_flow"
STEPS = {"address,undefined": 1500, "thread": 60}  # of a flow


def constants_of_a_step():
    values = {name: getattr(constants, name.upper()) for name in compiled.NAMES}
    values |= {"rounds": constants.ROUNDS, "large_band": constants.LARGE_BAND, "largest": 2000}
    return ", ".join(f".{name} = {value!r}" for name, value in values.items())


@pytest.mark.weekly
@pytest.mark.skipif(pairs.routines() is None, reason="no C compiler here")
@pytest.mark.parametrize("kind", STEPS)
def test_flows_of_many_sizes_and_poisoned_inputs(kind, tmp_path):
    compiler, *flags = (flag for flag in pairs.CODE._command() if flag not in ("-shared", "-fPIC", "-O3"))
    flags += ["-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-fsanitize={kind}", "-fno-sanitize-recover=all"]
    made = [f"-I{FOLDER}", f"-DMOST_STEPS={STEPS[kind]}", f"-DCONSTANTS={constants_of_a_step()}", str(SOURCE)]
    built = subprocess.run(
        [compiler, *flags, *made, "-o", str(tmp_path / "run"), "-lm"], capture_output=True, text=True
    )
    if "cannot find -l" in built.stderr or "unsupported option" in built.stderr:
        pytest.skip(f"this compiler has no sanitiser of {kind}")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    *sizes, last = done.stdout.splitlines()
    counts = {word for word in last.replace(",", "").split() if word.isdigit()}
    assert len(sizes) == 9 and len(counts) == 1, last
    assert sum(int(line.split()[-2]) for line in sizes) > 5 * STEPS[kind] // 2
