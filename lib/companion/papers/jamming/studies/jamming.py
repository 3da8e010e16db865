"""Chapter 3: which networks fit their data, what they have learnt then, and what averaging them gains."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import pandas as pd
import torch

from companion.lab.record import Count, Increasing, Number, Setting, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.jamming.studies._ensembles import (
    DRAWN,
    ENSEMBLE,
    Draw,
    Networks,
    OnImages,
    Width,
    draw_sets,
    norms_and_errors,
    repeated,
    steps_of_fits,
    swish_networks,
    train_to_verdict,
)
from companion.papers.jamming.theory import jamming
from regimes import validate
from regimes.data import tasks
from regimes.kernels import ntk
from regimes.measures.errors import wrong
from regimes.models.activations import activation
from regimes.models.fully_connected import FullyConnected, fully_connected
from regimes.seeds import draw_seeds
from regimes.training.run import Trajectory
from regimes.training.state import Ended
from regimes.validate import InputError

CHAPTER = "03"


@record
class Ensemble(Networks):
    """Ensembles on images that are looked at on the way.

    Attributes:
        stops: satisfied fractions at which a network is looked at.
        decay: of the weights, in units of the rate at which a network learns a single point.
        fewer: members of smaller ensembles.
    """

    stops: Increasing[Number[0.05, 0.99]]
    decay: Number[0, None]
    fewer: Count[100] | None = None

    def completed(self, seeds: Sequence[int]) -> Self:
        """As on images; an ensemble of all its members is the ensemble."""
        if self.fewer and self.fewer > self.members:
            raise InputError(f"fewer must be at most members = {self.members}, got {self.fewer}")
        setting = super().completed(seeds)
        return replace(setting, fewer=None) if self.fewer == self.members else setting


@record
class InitialNetworks(Setting):
    """Networks of ``layers`` of width ``h`` at their start, on ``p`` random points in ``d`` dimensions."""

    d: Count[2, 1000]
    p: Count[10, 10_000]
    layers: Count[1, 8]
    h: Count[2, 30]


@record
class Starts(OnImages):
    """Ensembles of width ``h`` at their start, on images."""

    h: Width


# where networks end that fit in vain for long, or fit late; on another processor, in one training set of four hundred
_LATE = "jammed quadratic_hinge unsatisfied fluctuation kernel_change norm error ensemble_error".split()
END = 1.0  # the ``stop`` of networks as they end


@study(
    version=5,
    rtol=1e-2,
    columns=dict.fromkeys(_LATE, STATISTICAL),
    nonfinite=["fewer_error"],  # of the large ensembles alone
    **ENSEMBLE,
)
def ensembles(s: Ensemble, seeds: list[int]) -> Rows:
    r"""Ensembles of networks on one training set, trained to a verdict; one row per training set and ``stop``.

    ``parameters`` N; ``fitted``: share of the members that fit; ``unsatisfied``: their mean :math:`N_\Delta`;
    ``quadratic_hinge``: half the mean square of the gaps :math:`\max(0, 1 - yF)` of the training points, whatever loss
    was trained on; ``fluctuation`` ‖F - ⟨F⟩‖; ``kernel_change`` ‖ΔΘ‖/‖Θ₀‖ (mean of the logarithms). Where the setting
    has ``fewer``, ``fewer_error``: mean error of ensembles of so many of the members, each in one of them. All these
    are of the end, in every row. ``norm``: root mean square of F on the test points, mean over the members, ``error``
    of the members and ``ensemble_error`` of their mean output are those where the fraction ``stop`` of the margins is
    beyond 0.9 (members that did not get there count as they ended); ``stop`` = 1 is the end, and comes first.

    Source: paper B, Fig. 4, 6, 8D and Sec. 2 and 3.
    """
    data = [draw_sets(s, seed) for seed in seeds]
    count = s.members
    model = swish_networks(s, s.h, seeds)
    x, y = repeated([sets.train for sets in data], count)
    # a point's kernel is of order 1/h
    done = train_to_verdict(s, model, x, y, s.stops, decay=s.decay * s.scale / (s.h * s.p))
    rows = []
    for i, (seed, sets) in enumerate(zip(seeds, data, strict=True)):
        block = slice(i * count, (i + 1) * count)
        rows += [{"seed": seed, "source": sets.train.source} | row for row in _ensemble(s, model, done, block, sets)]
    return rows


def _ensemble(s: Ensemble, start: FullyConnected, done: Trajectory, block: slice, sets: Draw) -> Rows:
    """The rows of one training set, whose members are the realisations ``block``."""
    members = range(block.start, block.stop)
    untrained = start[block]
    trained = done.model[block]
    f0 = untrained(sets.test.x)
    F = s.scale * (trained(sets.test.x) - f0)
    margins = done.F[block] * sets.train.y
    gaps = (1 - margins).clamp(min=0)
    ended = [done.ended[e].kind for e in members]
    row = {
        "parameters": s.parameters,
        "fitted": float(np.mean([kind == Ended.FITTED for kind in ended])),
        "jammed": float(np.mean([kind == Ended.JAMMED for kind in ended])),
        "unsatisfied": float(jamming.unsatisfied(margins).double().mean()),
        "quadratic_hinge": float(gaps.square().mean() / 2),
        "fluctuation": float(jamming.fluctuation(F)),
    }
    if s.fewer:
        groups = [group for group in F.split(s.fewer) if len(group) == s.fewer]
        errors = [float(wrong(group.mean(0), sets.test.y)) for group in groups]
        row["fewer_error"] = float(np.mean(errors))
    change = jamming.kernel_change(ntk(untrained, sets.kernel.x), ntk(trained, sets.kernel.x))
    row["kernel_change"] = float(change.log().mean().exp())
    predictors = {END: F}
    for stop in s.stops:
        reached = done.events[f"{stop:g}"]
        outputs = []
        for k, e in enumerate(members):
            outputs.append(s.scale * (reached[e].model(sets.test.x)[0] - f0[k]) if e in reached else F[k])
        predictors[stop] = torch.stack(outputs)
    return [row | {"stop": stop} | norms_and_errors(F, sets.test.y) for stop, F in predictors.items()]


def at_stop(rows: pd.DataFrame, stop: float) -> pd.DataFrame:
    """The rows of :data:`ensembles` whose errors are those at that fraction of the margins; 1 is the end."""
    validate.one_of(sorted({*rows.stop}), stop=stop)
    return rows[rows.stop == stop]


def at_end(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of :data:`ensembles` that are of the end."""
    return at_stop(rows, END)


@study(version=3, rtol=0.1, nonfinite=("needed", "time"), **ENSEMBLE)
def steps_to_fit(s: Networks, seeds: list[int]) -> Rows:
    """How many steps networks need to fit; one row per network (``member``).

    ``needed``: its own steps, and ``time``: of the flow, after which all points were fitted; both infinite where that
    did not come about in ``steps`` attempts. ``parameters`` N.

    Source: paper B, Fig. 4 (its three lines of jamming, for three wall times).
    """
    count = s.members
    data = [draw_sets(s, seed).train for seed in seeds]
    model = swish_networks(s, s.h, seeds)
    x, y = repeated(data, count)
    fitted = steps_of_fits(s, model, x, y)
    rows = []
    for i, (seed, train) in enumerate(zip(seeds, data, strict=True)):
        for member in range(count):
            needed, time = fitted.get(i * count + member, (math.inf, math.inf))
            row = {"seed": seed, "member": member, "parameters": s.parameters, "source": train.source}
            rows.append(row | {"needed": needed, "time": time})
    return rows


@study(version=2, seeds=Count[6, 10_000], chunk=25, data=DRAWN)
def initialisation(s: InitialNetworks, seeds: list[int]) -> Rows:
    """Networks at their start: ``negative`` share of the non-zero eigenvalues of H_p; ReLU networks on random data.

    Source: paper B, Sec. 2 (N₋ ≈ N/2).
    """
    widths = [s.d, *[s.h] * s.layers, 1]
    x = tasks.gaussian_points(s.p, s.d, seed=draw_seeds("test", [0])[0])
    sigma = activation("relu", normalised=True)
    weight_seeds = draw_seeds("weights", seeds, size=s.h)
    label_seeds = draw_seeds("labels", seeds, size=s.h)
    rows = []
    for seed, weight_seed, label_seed in zip(seeds, weight_seeds, label_seeds, strict=True):
        y = torch.from_numpy(np.sign(np.random.default_rng(label_seed).standard_normal(len(x))))
        model = fully_connected(widths, seeds=[weight_seed], sigma=sigma, parametrisation="mean-field", gain=1.0)
        _, Hp = jamming.hessian(model, x, y, alpha=1.0, start=model(x))
        below, nonzero = jamming.negative(Hp)
        rows.append({"seed": seed, "negative": float(below / nonzero)})
    return rows


@study(version=1, **ENSEMBLE)
def kernels(s: Starts, seeds: list[int]) -> Rows:
    """Tangent kernels of the networks of ``ensembles`` at their start; one row per draw of points.

    ``fluctuation`` of the kernel on ``kernel_p`` images over the members, relative to its mean.

    Source: paper B, Sec. 3.
    """
    networks = swish_networks(s, s.h, seeds)
    rows = []
    for i, seed in enumerate(seeds):
        sets = draw_sets(s, seed)
        grams = ntk(networks[i * s.members : (i + 1) * s.members], sets.kernel.x)
        samples = grams.flatten(1).double().cpu().numpy()
        rows.append({"seed": seed, "source": sets.kernel.source, "fluctuation": jamming.relative_fluctuation(samples)})
    return rows
