"""Chapter 3, the lazy regime by counting: the rank of tangent features, and the dimension of a cone of the labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor

from companion.data.images import first_there, needs
from companion.lab.record import Count, FirstOf, Increasing, Positive, Setting, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.jamming.studies._architectures import ARCHITECTURES, fullest_part
from companion.papers.jamming.studies._ensembles import (
    DRAWN,
    IMAGES,
    STEEPNESS,
    parameters_of,
    projected_images,
    swish_networks,
    words_of,
)
from companion.papers.jamming.theory.separability import layer_counts, width_of
from regimes.data import datasets
from regimes.data.tasks import Task
from regimes.measures.separability import SEPARABLE, cone_dimension, largest_margin, tangent_covariance, tangent_rank
from regimes.models.activations import activation
from regimes.models.fully_connected import fully_connected
from regimes.models.module import module
from regimes.seeds import draw_seeds

CHAPTER = "03"
ROUNDS = 2  # in which the width that weights the layers follows the dimension
ROUND_OFF = {"dimension": (0.005, 1.0), "error": (0.1, 0.1), "of_kernel": (0.005, 1.0)}  # a count may move by one


@record
class Modules(Setting):
    """Torch modules at their start, on normal points of random labels.

    Attributes:
        architecture: one of eight.
        ratios: points over the rank.
    """

    architecture: Literal[tuple(ARCHITECTURES)]  # type: ignore[valid-type]
    ratios: Increasing[Positive]


@study(version=2, seeds=Count[0, 1000], chunk=8, device="cpu", data=DRAWN)
def architectures(s: Modules, seeds: list[int]) -> Rows:
    r"""Whether lazy modules can fit random labels, by a linear program; one row per network and ratio of points.

    ``parameters`` N; ``rank`` R of the tangent features at 2N of the points; ``symmetries``: the dimension of the
    continuous symmetries, by hand; ``fullest``: that of ``_architectures.fullest_part``, at 2R points; ``points`` P;
    ``margin`` and ``separable`` as of ``separability.random_labels``.
    """
    rows = []
    for seed in seeds:
        build, shape, symmetries = ARCHITECTURES[s.architecture]
        (weights,) = draw_seeds("weights", [seed])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(weights)
            built = build().double()
        network = module(built, shape=shape)
        parameters = sum(tensor[0].numel() for tensor in network.parameters())
        counts = [round(ratio * (parameters - symmetries)) for ratio in s.ratios]
        random = np.random.default_rng(draw_seeds("train", [seed])[0])
        x = torch.from_numpy(random.standard_normal((max(2 * parameters, *counts), *shape)))
        labels = np.sign(np.random.default_rng(draw_seeds("labels", [seed])[0]).standard_normal(len(x)))
        features = network.tangents(x).jacobian()[0].detach().numpy()
        shared = {"seed": seed, "parameters": parameters, "symmetries": symmetries}
        shared["rank"] = tangent_rank(features[: 2 * parameters])
        twice = slice(0, 2 * (parameters - symmetries))
        shared["fullest"] = fullest_part(built, x[twice], features[twice])
        for ratio, count in zip(s.ratios, counts, strict=True):
            margin = largest_margin(features[:count], labels[:count])
            found = {"ratio": ratio, "points": count, "margin": margin, "separable": int(margin > SEPARABLE)}
            rows.append(shared | found)
    return rows


@record
class OwnLabels(Setting):
    """Training sets of images with their own labels; those of ``rest.peak_at_jamming`` at the same sizes and seeds.

    Attributes:
        data: their name; with ``words``, which tell data of this name from others of it.
        components: principal components of the images that a network sees.
        layers: hidden layers of a network.
        p: points of a training set.
        test: points that are set aside before.
    """

    data: FirstOf[IMAGES]
    words: str = derived()
    components: Count[2, 1000]
    layers: Count[1, 8]
    p: Count[10, 10_000]
    test: Count[1, 100_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the first of its data sets that is on this machine, whose images must suffice."""
        name = first_there(self.data, words_of)
        needs(name, self.test + 1 + self.p, "test + 1 + p")
        return replace(self, data=name, words=words_of(name))


def _train(s: OwnLabels, seed: int) -> tuple[Task, Tensor, np.ndarray]:
    """A training set, its points and its labels."""
    pool = projected_images(s.data, s.words, s.components)
    _, _, train = datasets.split(pool, [s.test, 1, s.p], seed=draw_seeds("train", [seed])[0])
    return train, train.x.double(), train.y.double().numpy()


@record
class Cones(OwnLabels):
    """Training sets, and networks that give the covariance of tangent features.

    Attributes:
        h: width of these networks.
        networks: their number.
        pairs: of Gaussian vectors.
    """

    h: Count[2, 1000]
    networks: Count[2, 1000]
    pairs: Count[2, 1000]


@study(version=1, seeds=Count[0, 1000], device="cpu", columns=ROUND_OFF)
def cones(s: Cones, seeds: list[int]) -> Rows:
    r"""Parameters at lazy jamming by counting, from the points and labels alone; one row per training set.

    ``dimension``: the number ``N*`` of :func:`regimes.measures.separability.cone_dimension` for the covariance of the
    columns of tangent features, each of norm 1; layers count by their weights at the width of ``N*`` parameters.
    ``error``: its standard error. ``of_kernel``: the same with the tangent kernel itself as the covariance, in which a
    column counts by its square.

    Source: derived in this chapter (Amelunxen, Lotz, McCoy and Tropp 2014); paper B, Fig. 8A.
    """
    rows = []
    for seed in seeds:
        train, x, labels = _train(s, seed)
        sigma = activation("swish", steepness=STEEPNESS, normalised=True)
        widths = [s.components, *[s.h] * s.layers, 1]
        drawn = draw_seeds("weights", range(seed * s.networks, (seed + 1) * s.networks), size=s.h)
        networks = fully_connected(widths, seeds=drawn, sigma=sigma, parametrisation="mean-field", gain=1.0)
        number = s.p / 4
        for _ in range(ROUNDS):
            counts = layer_counts(s.components, width_of(number, s.components, s.layers), s.layers)
            cone = cone_dimension(tangent_covariance(networks, x, counts), labels, pairs=s.pairs, seed=seed)
            number = cone.value
        kernel = networks.tangents(x).gram().mean(0).numpy()
        plain = cone_dimension(kernel, labels, pairs=s.pairs, seed=seed).value
        row = {"seed": seed, "dimension": cone.value, "error": cone.error, "of_kernel": plain}
        rows.append(row | {"source": train.source})
    return rows


@record
class Programs(OwnLabels):
    """Networks at their start on training sets.

    Attributes:
        h: their width.
        members: networks on one training set.
    """

    h: Count[2, 1000]
    members: Count[2, 1000]

    @property
    def parameters(self) -> int:
        """N of a network."""
        return parameters_of(self.components, self.h, self.layers)


@study(version=1, seeds=Count[0, 1000], device="cpu", columns={"separable": (1e-6, 0.1)})
def programs(s: Programs, seeds: list[int]) -> Rows:
    r"""The share of networks whose tangent features at the start separate the images' own labels, by linear programs.

    One row per training set: ``parameters`` N, ``separable`` the share of the members.

    Source: paper B, Fig. 8A, in the limit of a large output scale.
    """
    rows = []
    for seed in seeds:
        train, x, labels = _train(s, seed)
        networks = swish_networks(s, s.h, [seed]).to(dtype=torch.float64, device="cpu")
        margins = []
        for k in range(s.members):
            features = networks[k : k + 1].tangents(x).jacobian()[0].numpy()
            margins.append(largest_margin(features, labels))
        share = float(np.mean(np.array(margins) > SEPARABLE))
        rows.append({"seed": seed, "parameters": s.parameters, "separable": share, "source": train.source})
    return rows
