"""A small set of studies as another processor computes it, which is to say with other instructions.

The variables of ``OTHER`` make torch and MKL round as a machine without this one's vector units. ``COMPARED`` says
which columns are numbers that do not feel it, and to how much; a column that becomes one is added there. What comes
after ``t*`` is not among them. The weekly test computes every cell of the smoke profile anew, and compares as far as
each study says that its numbers hold.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from companion import studies as registry
from companion.lab import parameters, schedule
from companion.lab.compare import differences
from companion.lab.store import Store
from companion.lab.sweep import cells
from companion.papers.compression.studies import compression, lazy_feature
from companion.papers.kernel_pca.studies import kernel_pca
from tests.references import ROOT

OTHER = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "REGIMES_COMPILED": "0"}
# study -> chapter, what differs from its smoke profile, and the relative tolerance of each column
COMPARED = {
    lazy_feature.networks: (
        "01", {"01.networks.stripe.p": 32, "curve_h": 30, "01.networks.stripe.lines": 10, "test": 100,
         "01.networks.stripe.tolerance": 0.005},
        {"t_star": 1e-5, "amplification_star": 1e-5},
    ),
    lazy_feature.finite_width_lazy: (
        "01", {"01.finite_width_lazy.stripe.p": 32, "lazy_h": [20], "test": 100}, {"error": 1e-6},
    ),
    compression.amplification_scaling: (
        "02", {"growth_p": [16, 32, 48]}, {"t_star": 1e-5, "star": 1e-5, "start": 1e-6, "predicted": 1e-6},
    ),
    kernel_pca.kernel_along_training: (
        "04", {"stripe_p": 20, "stripe_h": 20, "04.kernel_along_training.stripe.frames": 3},
        {"error": 1e-6, "alignment": 1e-5, "norm": 1e-5},
    ),
}  # fmt: skip


def computed():
    """The first row of one cell of each study, by its name: before the network was trained, where rows follow it."""
    found = {}
    for study, (number, changed, _) in COMPARED.items():
        setting = study.grid(parameters.resolve(number, "smoke", changed))[0]
        found[study.name] = study({k: v for k, v in setting.items() if k != "seeds"}, list(setting["seeds"])[:1])[0]
    return found


@pytest.fixture(scope="module")
def here():
    return computed()


# torch and MKL without vectors and nothing compiled, then each alone; test_sensitivity.py has a flow for every day
TOGETHER_AND_ALONE = [tuple(OTHER), *((variable,) for variable in OTHER)]


@pytest.mark.weekly
@pytest.mark.parametrize("variables", TOGETHER_AND_ALONE, ids=" ".join)
def test_another_processor_computes_the_same_numbers(here, variables):
    without = {variable: OTHER[variable] for variable in variables}
    env = os.environ | without
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_processors"], env=env, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    there, apart = json.loads(done.stdout), []
    for study, (_, _, columns) in COMPARED.items():
        for name, rtol in columns.items():
            one, other = (rows[study.name][name] for rows in (here, there))
            if other != pytest.approx(one, rel=rtol, abs=0):
                apart.append(f"{study.name}, {name}: {one} here, {other} with {without}")
    assert not apart, "\n".join(apart)


def all_cells(store):
    """All cells of the smoke profile, computed where the store lacks them: their rows by study and cell."""
    asked = {}
    for number in parameters.chapters():
        grids = registry.grids(number, parameters.resolve(number, "smoke"))
        asked |= {item: cells(item, grid) for item, grid in grids.items()}
    held = schedule.fill(asked, store)
    return {study: {cell: held[cell].rows for cell in own} for study, own in asked.items()}


@pytest.mark.weekly
@pytest.mark.parametrize("variable", OTHER)
def test_another_processor_computes_every_cell_to_the_tolerances_that_studies_state(variable, tmp_path):
    env = os.environ | {variable: OTHER[variable]}
    command = [sys.executable, "-m", "tests.test_processors", str(tmp_path)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    here, there = all_cells(Store.default()), all_cells(Store(tmp_path))  # the second is there
    apart = {study.name: differences(study, own, there[study]) for study, own in here.items()}
    assert not any(apart.values()), {name: said for name, said in apart.items() if said}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        all_cells(Store(sys.argv[1]))
    else:
        print(json.dumps(computed(), default=lambda value: np.asarray(value).tolist()))
