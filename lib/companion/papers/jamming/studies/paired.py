"""Chapter 3, the lazy regime: networks that are trained, and a linear program that says whether each can fit."""

import math

import torch

from companion.lab.record import FirstOf, record
from companion.lab.sweep import Rows, study
from companion.papers.jamming.studies._ensembles import (
    ENSEMBLE,
    IMAGES,
    RANDOM,
    Networks,
    steps_of_fits,
    swish_networks,
    training_set,
)
from regimes.measures.separability import SEPARABLE, largest_margin

CHAPTER = "03"


@record
class Paired(Networks):
    """Ensembles of one width, on images or random points."""

    data: FirstOf[(RANDOM, *IMAGES)]


@study(version=1, rtol=0.1, nonfinite=("needed",), **ENSEMBLE | {"device": "cpu"})
def trained_and_decided(s: Paired, seeds: list[int]) -> Rows:
    r"""The same networks and labels twice: by training, and by a linear program; one row per network (``member``).

    ``margin``: the largest that a direction of the weights gives all points, of tangent features at the start of norm
    1, and ``separable``: whether it is positive, 0 or 1. ``needed``: steps of the flow after which training had fitted
    all points, infinite where that did not come about in ``steps`` attempts. ``parameters`` N.

    Source: paper B, Sec. 2, at a large output scale.
    """
    sets = [training_set(s, seed) for seed in seeds]
    model = swish_networks(s, s.h, seeds)
    x = torch.stack([points for points, _, _ in sets]).repeat_interleave(s.members, 0)
    y = torch.stack([labels for _, labels, _ in sets]).repeat_interleave(s.members, 0)
    fitted = steps_of_fits(s, model, x, y)
    exact = model.to(dtype=torch.float64)
    rows = []
    for i, (seed, (points, labels, source)) in enumerate(zip(seeds, sets, strict=True)):
        for member in range(s.members):
            k = i * s.members + member
            features = exact[k : k + 1].tangents(points.double()).jacobian()[0].cpu().numpy()
            margin = largest_margin(features, labels.double().cpu().numpy())
            needed, _ = fitted.get(k, (math.inf, math.inf))
            row = {"seed": seed, "member": member, "parameters": s.parameters, "source": source, "margin": margin}
            rows.append(row | {"separable": int(margin > SEPARABLE), "needed": float(needed)})
    return rows
