"""What a study says that a call takes, beside what it takes: the peak of a process, at three sizes per family."""

import json
import subprocess
import sys

import pytest

from tests.references import ROOT

# parameters at three sizes, the smallest first: arrays of tens of MB, which go back to the system when they are dropped
CASES = {
    "lazy_feature.finite_width_lazy": [
        {"01.finite_width_lazy.stripe.p": [16, 32, n], "lazy_h": [20]} for n in (1500, 2000, 2500)
    ],
    "lazy_feature.infinite_width_lazy_large_p": [
        {"01.infinite_width_lazy_large_p.stripe.p": [16, 32, n]} for n in (1500, 2000, 2500)
    ],
    "compression.attractor_shares": [
        {"02.attractor_shares.main.p": 2000, "02.attractor_shares.main.h": h} for h in (3000, 4000, 5000)
    ],
    "spiked.gaussian_map": [{"07.gaussian_map.main.d": d, "07.gaussian_map.main.seeds": 8} for d in (200, 300, 400)],
    "spiked.learning_curves": [{"fig2_d": [40, d], "fig2_seeds": [8, 8]} for d in (200, 250, 300)],
    "spiked.network_kernels": [{"07.network_kernels.main.d": d} for d in (100, 150, 200)],
    "alignment.learned_features": [
        {"06": {"learned_features": {"main": {"n": n, "k": 512, "steps": 10}}}} for n in (1500, 2000, 3000)
    ],
    "jamming.ensembles": [
        {"map_p": p, "map_h": [2, 4, 48], "steps": 10, "03.ensembles.map.members": 4} for p in (800, 1200, 1600)
    ],
    "depth.smallest_eigenvalue": [
        {"eigen_n": [50, n], "05.smallest_eigenvalue.main.seeds": 1} for n in (2000, 2500, 3000)
    ],
    "depth.mnist_regression": [
        {"tab2_n": n, "05.mnist_regression.main.seeds": 1, "tab2_depths": [2, 3]} for n in (1500, 2000, 2500)
    ],
    "depth.text_training": [{"05.text_training.gd_ntk.width": [64, width]} for width in (1024, 2048, 3000)],
}
# prints, for each size, the bytes that the study asks for, and the peak of the process over that of a small call
MEASURE = """
import json, re, sys
from pathlib import Path
from regimes import devices, validate
from companion.lab import catalogue
from companion.lab import parameters

def peak():  # of this program; the maximum that getrusage tells is that of the process which started it, too
    return 1024 * int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])

def call(setting):
    setting = dict(setting)
    item(setting, setting.pop("seeds")[: item.chunk])

name, *sizes = json.loads(sys.argv[1])
devices.reuse_memory()
check = validate.memory
requests = []

def recorded(needed, *words):
    requests.append(needed)
    check(needed, *words)

validate.memory = recorded
number, item = catalogue.find(name)
call(catalogue.grids(number, parameters.resolve(number, "smoke"), item)[item][0])
at_start = peak()
axes = ("d", "width", "depth", "p", "h", "alpha0", "n")
measured = []
for given in sizes:
    requests.clear()
    grid = catalogue.grids(number, parameters.resolve(number, "smoke", given), item)[item]
    stated = max(requests)
    call(max(grid, key=lambda setting: [setting.get(axis, 0) for axis in axes]))
    measured.append([stated, peak() - at_start])
print(json.dumps(measured))
"""


@pytest.mark.weekly
@pytest.mark.parametrize("name", CASES)
def test_a_call_takes_what_its_study_says(name):
    command = [sys.executable, "-c", MEASURE, json.dumps([name, *CASES[name]])]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    measured = json.loads(process.stdout.splitlines()[-1])
    assert all(0.5 <= stated / taken <= 2 for stated, taken in measured), measured
