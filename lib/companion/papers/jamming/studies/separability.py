"""Chapter 3, the lazy regime: whether the tangent features of a network at its start can separate random labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from companion.data.images import first_there
from companion.lab.record import Count, FirstOf, Increasing, Positive, Setting, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.jamming.studies._ensembles import (
    DRAWN,
    IMAGES,
    RANDOM,
    parameters_of,
    projected_images,
    swish_networks,
    words_of,
)
from regimes.data import datasets, tasks
from regimes.measures.separability import SEPARABLE, largest_margin
from regimes.seeds import draw_seeds

CHAPTER = "03"


@record
class Tangents(Setting):
    """Networks at their start, on points of random labels, so many for each parameter.

    Attributes:
        data: random points, or images; the labels are random in any case.
        words: what tells data of this name from others of it.
        components: dimension of the points.
        layers: hidden layers of a network.
        h: their width.
        ratios: points ``P`` over parameters ``N``.
    """

    data: FirstOf[(RANDOM, *IMAGES)]
    words: str = derived()
    components: Count[2, 1000]
    layers: Count[1, 8]
    h: Count[2, 1000]
    ratios: Increasing[Positive]

    members = 1

    @property
    def parameters(self) -> int:
        """N of a network."""
        return parameters_of(self.components, self.h, self.layers)

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the first of its data sets that is on this machine."""
        name = first_there(self.data, words_of)
        return replace(self, data=name, words=words_of(name))


@study(version=1, seeds=Count[0, 1000], chunk=8, device="cpu")
def random_labels(s: Tangents, seeds: list[int]) -> Rows:
    r"""Whether a lazy network can fit random labels, by a linear program; one row per network and ratio of points.

    Each network has its own points and labels; of fewer points it sees the first ones. ``points`` P, ``parameters`` N,
    ``margin``: the largest that a direction of weights of at most 1 gives all points, of features of norm 1;
    ``separable``: whether it is positive, 0 or 1.

    Source: paper B, Sec. 2 and Fig. 4, in the limit of a large output scale.
    """
    rows = []
    for seed in seeds:
        network = swish_networks(s, s.h, [seed]).to(dtype=torch.float64)
        counts = [round(ratio * s.parameters) for ratio in s.ratios]
        x, source = _points(s, seed, max(counts))
        features = network.tangents(x.double()).jacobian()[0].numpy()
        labels = np.sign(np.random.default_rng(draw_seeds("labels", [seed])[0]).standard_normal(max(counts)))
        for ratio, count in zip(s.ratios, counts, strict=True):
            margin = largest_margin(features[:count], labels[:count])
            row = {"seed": seed, "ratio": ratio, "points": count, "parameters": s.parameters, "margin": margin}
            rows.append(row | {"separable": int(margin > SEPARABLE), "source": source})
    return rows


def _points(s: Tangents, seed: int, count: int) -> tuple[Tensor, str]:
    """The points of a network, and what they are called."""
    (drawn,) = draw_seeds("train", [seed])
    if s.data == RANDOM:
        return tasks.gaussian_points(count, s.components, seed=drawn), DRAWN
    (part,) = datasets.split(projected_images(s.data, s.words, s.components), [count], seed=drawn)
    return part.x, part.source
