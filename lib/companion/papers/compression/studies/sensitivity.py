"""Chapter 1, its numerics: what tolerance, precision and processor do to the end of a gradient flow."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Literal

import torch

from companion.lab.record import Count, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import OnLines, lines, train_network
from companion.papers.compression.theory import amplification
from companion.papers.tasks import DRAWN, ByFlow, TaskSet, draw_tasks, networks_of
from regimes.measures.errors import line_error
from regimes.validate import InputError

CHAPTER = "01"
SHARES = [0.1, 0.5, 0.9, 0.98, 1.0]  # satisfied fractions
# what makes this machine round as another type of processor would
PROCESSORS = {
    "this one": {},
    "no vector instructions": {"ATEN_CPU_CAPABILITY": "default", "REGIMES_COMPILED": "0"},
    "oldest linear algebra": {"MKL_CBWR": "COMPATIBLE"},
}


@record
class Numerics(OnLines, ByFlow, TaskSet):
    """Networks to zero loss, in a ``dtype`` with the arithmetic of a ``processor``."""

    dtype: Literal["float64", "float32"]
    processor: Literal[tuple(PROCESSORS)]


# in float32 the end of training is another one on another processor, which is what is measured here
_LATE = dict.fromkeys(("error", "amplification"), STATISTICAL)


@study(
    version=1,
    seeds=Count[0, 1000],  # of a design that results/ alone may hold
    chunk=6,
    rtol=1e-2,
    columns=_LATE,
    data=DRAWN,
)
def numerics(s: Numerics, seeds: list[int]) -> Rows:
    """One network to zero loss at a ``tolerance``, in a ``dtype``, with the arithmetic of a ``processor``.

    One row per satisfied ``share``: ``error`` and ``amplification``, with ``t_star`` and ``amplification_star``. Data
    and initial weights are those of ``lazy_feature.networks`` of the same size and seed.
    """
    variables = PROCESSORS[s.processor]
    if all(os.environ.get(name) == value for name, value in variables.items()):
        return _trained(s, seeds)
    return _in_process(s, seeds, variables)


def _trained(s: Numerics, seeds: list[int]) -> Rows:
    (train,) = draw_tasks(s, seeds, "train")
    network = networks_of(s, seeds)
    trained = train_network(network, train, s, dtype=getattr(torch, s.dtype), shares=SHARES)
    across, edges = lines(s, seeds)
    rows = []
    for i, seed in enumerate(seeds):
        realisation = slice(i, i + 1)
        of_network = {"seed": seed, "t_star": trained.t_star[i], "amplification_star": trained.star[i]}
        for share, stop in trained.stops[i].items():
            error = line_error(stop, network[realisation], across[realisation], edges[realisation])
            size = amplification(stop.omega, train.d_parallel)
            rows.append(of_network | {"share": share, "error": float(error), "amplification": float(size)})
    return rows


def _in_process(s: Numerics, seeds: list[int], variables: Mapping[str, str]) -> Rows:
    """The same in a process of its own: what decides the arithmetic is read once, when torch is imported."""
    code = f"import json, sys; from {__name__} import numerics; print(json.dumps(numerics(*json.load(sys.stdin))))"
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    process = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([s.entries(), seeds]),
        env=os.environ | threads | variables,
        capture_output=True,
        text=True,
    )
    if process.returncode:
        raise InputError(f"a run with {dict(variables)} failed: {process.stderr.strip().splitlines()[-1]}")
    return json.loads(process.stdout)
