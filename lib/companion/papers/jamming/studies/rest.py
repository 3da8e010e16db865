"""Chapter 3: networks trained until they fit or lie at a minimum, not until a number of steps is spent."""

import numpy as np
import torch
from torch import Tensor

from companion.lab.record import Count, Increasing, Number, Positive, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.jamming.studies._ensembles import (
    ENSEMBLE,
    Draw,
    Networks,
    OnImages,
    Width,
    draw_sets,
    norms_and_errors,
    parameters_of,
    repeated,
    spectrum_row,
    swish_networks,
    train_to_verdict,
)
from companion.papers.jamming.theory import jamming
from regimes import models
from regimes.models import Model
from regimes.models.fully_connected import FullyConnected
from regimes.seeds import draw_seeds
from regimes.training.newton import newton
from regimes.training.run import run
from regimes.training.state import Ended, after

CHAPTER = "03"
Counts = Increasing[Count[1, 1_000_000]]


@record
class PeakAtJamming(Networks):
    """Ensembles on images, and the numbers of ``rounds`` of Newton's method after which they are looked at."""

    rounds: Counts


@record
class MinimaAtJamming(Networks):
    """Ensembles on images, the ``decays`` of their weights, and the most ``rounds`` of Newton's method under each."""

    decays: Increasing[Number[1e-8, 1], 2]
    rounds: Count[1, 1_000_000]


@record
class Stochastic(OnImages):
    """Ensembles of width ``h`` on images.

    Attributes:
        batch: points drawn at a step.
        rate: of a step, over one that would fit a single point of the mean kernel at the start.
        looks: numbers of steps after which networks are looked at.
    """

    h: Width
    batch: Count[1, 10_000]
    rate: Positive
    looks: Counts


def _ensemble_at_start(s: Networks, seed: int) -> tuple[Draw, FullyConnected, Tensor, Tensor]:
    """The sets of a realisation, its networks at the start, and points and labels for each of these."""
    sets = draw_sets(s, seed)
    x, y = repeated([sets.train], s.members)
    return sets, swish_networks(s, s.h, [seed]), x, y


def _to_rest(
    s: Networks, x: Tensor, y: Tensor, start: FullyConnected, rounds: list[int]
) -> dict[int, tuple[Model, list[Ended]]]:
    """Networks after ``steps`` of the flow (0), and taken on to a minimum, after ``rounds`` of Newton's method."""
    flow = train_to_verdict(s, start, x, y)
    stages = {0: (flow.model, [why.kind for why in flow.ended])}
    options = {"alpha": s.scale, "loss": s.loss, "initial": start, "steps": rounds[-1]}
    done = run(newton(flow.model, x, y, **options), events={f"{n:g}": after(n) for n in rounds})
    for n in rounds:
        snapshots = done.events.get(f"{n:g}", {})
        networks, kinds = [], []
        for e, why in enumerate(done.ended):  # those that had ended by then are as they ended
            networks.append(snapshots[e].model if e in snapshots else done.model[e : e + 1])
            unfinished = e in snapshots and float(done.t[e]) > n
            kinds.append(Ended.STEPS if unfinished else why.kind)
        stages[n] = models.join(networks), kinds
    return stages


@study(
    version=1,
    rtol=0.1,
    columns=dict.fromkeys(["fitted", "jammed", "fluctuation", "quadratic_hinge", "unsatisfied", "norm"], STATISTICAL),
    device="any",
)
def peak_at_jamming(s: PeakAtJamming, seeds: list[int]) -> Rows:
    r"""Ensembles on one training set on their way to rest; one row per training set and number of ``newton_steps``.

    ``steps`` of the flow (row of 0 Newton steps), then each of ``rounds``, numbers of steps of Newton's method:
    ``fitted`` and ``jammed``, the shares of the members that fit and that lie at a minimum that does not, so far.
    ``parameters`` N; ``unsatisfied``, ``quadratic_hinge``, ``norm``, ``error``, ``ensemble_error`` and ``fluctuation``
    as in ``jamming.ensembles``.

    Source: paper B, Fig. 6 and Sec. 2.
    """
    rows = []
    for seed in seeds:
        sets, start, x, y = _ensemble_at_start(s, seed)
        f0 = start(sets.test.x)
        for n, (model, ended) in _to_rest(s, x, y, start, s.rounds).items():
            gaps = (1 - y * s.scale * (model(x) - start(x))).clamp(min=0)
            F = s.scale * (model(sets.test.x) - f0)
            fitted = sum(kind in (Ended.FITTED, Ended.UNTIL) for kind in ended)
            row = {
                "seed": seed,
                "newton_steps": n,
                "source": sets.train.source,
                "parameters": s.parameters,
                "fitted": fitted / len(ended),
                "jammed": ended.count(Ended.JAMMED) / len(ended) if n else 0.0,
                "unsatisfied": float(jamming.unsatisfied(1 - gaps).double().mean()),
                "quadratic_hinge": float(gaps.square().mean() / 2),
                "fluctuation": float(jamming.fluctuation(F)),
            }
            rows.append(row | norms_and_errors(F, sets.test.y))
    return rows


@study(
    version=1,
    rtol=0.1,
    columns=dict.fromkeys(
        ["ended", "unsatisfied", "negative", "quadratic_hinge", "gap", "eigenvalues", "flat", "strength"], STATISTICAL
    ),
    device="any",
)
def minima_at_jamming(s: MinimaAtJamming, seeds: list[int]) -> Rows:
    r"""Networks that a falling weight decay holds at a minimum; one row per network (``member``) and ``decay``.

    After ``steps`` of the flow Newton's method goes to a minimum under each of ``decays``, the strongest first, in at
    most ``rounds`` each: ``ended`` is ``jammed`` there. Decays are in the unit of ``jamming.ensembles``. Where a
    network can fit, its ``quadratic_hinge`` U/P goes with the square of the decay, and the ``unsatisfied`` N_Δ become
    those that hold it at jamming. ``parameters`` N, ``negative`` N₋ (eigenvalues of H_p below zero), ``flat``: share of
    the eigenvalues of H_0 that are zero, at most 64 of the others as ``eigenvalues``, and their ``gap``; ``strength``:
    largest eigenvalue of H_p, in size, over that of H_0.

    Source: paper B, Fig. 7, 8B and C, Eq. 12 to 14 and footnote 8.
    """
    rows = []
    for seed in seeds:
        sets, start, x, y = _ensemble_at_start(s, seed)
        scale = s.scale
        f0 = start(x)
        model = train_to_verdict(s, start, x, y).model
        options = {"alpha": scale, "loss": s.loss, "initial": start, "steps": s.rounds}
        for decay in reversed(s.decays):
            states = newton(model, x, y, **options, decay=decay * scale / (s.h * s.p))
            done = run(states, until=after(s.rounds + 1))  # also where all points are within the slack
            model = done.model
            gaps = (1 - y * scale * (model(x) - f0)).clamp(min=0)
            H0, Hp = jamming.hessian(model, sets.train.x, sets.train.y, alpha=scale, start=start(sets.train.x))
            below, _ = jamming.negative(Hp)
            values0 = torch.linalg.eigvalsh(H0).cpu().numpy()
            values_p = torch.linalg.eigvalsh(Hp).cpu().numpy()
            for k, why in enumerate(done.ended):
                row = {
                    "seed": seed,
                    "member": k,
                    "decay": decay,
                    "source": sets.train.source,
                    "ended": str(why.kind),
                    "unsatisfied": int((gaps[k] > 0).sum()),
                    "quadratic_hinge": float(gaps[k].square().mean() / 2),
                    "parameters": len(values0[k]),
                    "negative": int(below[k]),
                    "gap": jamming.gap(values0[k]),
                    "strength": float(abs(values_p[k]).max() / values0[k, -1]),
                }
                rows.append(row | spectrum_row(values0[k]))
    return rows


@study(version=1, rtol=0.1, columns=dict.fromkeys(["fitted", "norm", "error"], STATISTICAL), **ENSEMBLE)
def stochastic(s: Stochastic, seeds: list[int]) -> Rows:
    r"""The networks of ``jamming.ensembles`` by stochastic gradient descent; one row per training set and ``look``.

    A step goes along the gradient of the quadratic hinge at ``batch`` points drawn anew, ``rate`` times as far as would
    fit a single point of the mean tangent kernel at the start. After each of ``looks`` steps: ``fitted``, ``norm``,
    ``error`` of the members, as in ``ensembles``.

    Source: paper B, end of Sec. 2.
    """
    data = [draw_sets(s, seed) for seed in seeds]
    count = s.members
    scale = s.scale
    start = swish_networks(s, s.h, seeds)
    x, y = repeated([sets.train for sets in data], count)
    numbers = [seed * count + member for seed in seeds for member in range(count)]
    generators = [np.random.default_rng(seed) for seed in draw_seeds("batch", numbers)]
    kernel = start.tangents(x).gram().diagonal(dim1=-2, dim2=-1).mean(-1)
    time = s.rate / (scale * s.batch * kernel)
    f0 = start(x)
    network = torch.arange(len(x), device=x.device).unsqueeze(-1)
    model = start
    rows = []
    for step in range(1, s.looks[-1] + 1):
        drawn = np.stack([rng.integers(s.p, size=s.batch) for rng in generators])
        batch = torch.from_numpy(drawn).to(x.device)
        points = x[network, batch]
        labels = y[network, batch]
        gaps = (1 - labels * scale * (model(points) - f0[network, batch])).clamp(min=0)
        moves = model.tangents(points).vjp(time.unsqueeze(-1) * gaps * labels)
        model = model.with_parameters([w + move for w, move in zip(model.parameters(), moves, strict=True)])
        if step in s.looks:
            fits = (jamming.unsatisfied(y * scale * (model(x) - f0)) == 0).double()
            for i, (seed, sets) in enumerate(zip(seeds, data, strict=True)):
                block = slice(i * count, (i + 1) * count)
                F = scale * (model[block](sets.test.x) - start[block](sets.test.x))
                row = {"seed": seed, "look": step, "source": sets.train.source, "fitted": float(fits[block].mean())}
                row["parameters"] = parameters_of(s.components, s.h, s.layers)
                rows.append(row | norms_and_errors(F, sets.test.y))
    return rows
