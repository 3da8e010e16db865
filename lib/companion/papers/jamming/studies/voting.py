"""Chapter 3, the end of lazy training by convex programs: what a mean of networks, and what a vote of them, says."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
import torch

from companion.data.images import first_there, needs
from companion.lab.record import Count, Distinct, FirstOf, Setting, derived, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.jamming.studies._ensembles import (
    IMAGES,
    parameters_of,
    poll,
    projected_images,
    swish_networks,
    words_of,
)
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.margins import SLACK, least_hinge, norm_of_random_labels
from regimes import validate
from regimes.data import datasets
from regimes.measures.errors import wrong
from regimes.seeds import draw_seeds

CHAPTER = "03"


@record
class Voters(Setting):
    """Ensembles of networks at their start, on images.

    Attributes:
        data: their name; with ``words``, which tell data of this name from others of it.
        components: principal components of the images that a network sees.
        layers: hidden layers of a network.
        h: their width.
        members: networks on one training set.
        test: points of the test set.
        p: points of a training set.
        labels: of the training set: the images' own, or random ones.
        observe: what else is measured: ``members``, one by one and two by two.
    """

    data: FirstOf[IMAGES]
    words: str = derived()
    components: Count[2, 1000]
    layers: Count[1, 8]
    h: Count[2, 1000]
    members: Count[2, 100]
    test: Count[1, 100_000]
    p: Count[10, 10_000]
    labels: Literal["parity", "random"]
    observe: Distinct[Literal["members"]] | None = None

    @property
    def parameters(self) -> int:
        """N of a network."""
        return parameters_of(self.components, self.h, self.layers)

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the first of its data sets that is on this machine, whose images must suffice."""
        name = first_there(self.data, words_of)
        needs(name, self.test + 1 + self.p, "test + 1 + p")
        return replace(self, data=name, words=words_of(name))


# whether a network at jamming just fits, and by how many points, round-off decides: there its weights are 1e6 and more
AT_JAMMING = dict.fromkeys("fitted holding weights norms fits errors fluctuation".split(), STATISTICAL)


@study(
    version=1, rtol=1e-3, seeds=Count[0, 1000], nonfinite=("predicted",), device="cpu",
    columns=AT_JAMMING | {"mean_error": (1e-3, 0.01)},
)  # fmt: skip
def votes(s: Voters, seeds: list[int]) -> Rows:
    r"""Networks at the end of lazy training, and four ways to ask an ensemble of them; one row per training set.

    Each network is linear in its tangent features at the start, with the least weights of the least hinge loss
    (``margins.least_hinge``); points and networks are those of ``rest.peak_at_jamming``. ``parameters`` N; ``fitted``:
    share of the members that fit; ``norms``: root mean squares of the predictors on the test points; ``weights``: norms
    of the weights' motion; ``holding``: of each member the points with a gap, over N. Test errors: ``error`` of the
    members, ``mean_error`` of their mean output, ``normalised_error`` of the mean of predictors over their norms,
    ``vote_error`` of the majority, where a tie is half an error. ``predicted``, for random labels alone: the norm of
    the weights that theory gives for Gaussian features of a member's spectrum (geometric mean over members).
    Where the setting observes members, ``fits``: 1 for each member that fits, and ``errors``, a list, too; ``overlap``:
    mean over pairs of members of the cosine between their predictors on the test points; ``fluctuation``: as in
    ``jamming.ensembles``.

    Source: paper B, Sec. 2 and Fig. 6, in the limit of a large output scale.
    """
    return [{"seed": seed} | _voted(s, seed) for seed in seeds]


def _voted(s: Voters, seed: int) -> dict[str, object]:
    """The row of one training set."""
    pool = projected_images(s.data, s.words, s.components)
    test, _, train = datasets.split(pool, [s.test, 1, s.p], seed=draw_seeds("train", [seed])[0])
    networks = swish_networks(s, s.h, [seed]).to(dtype=torch.float64)
    labels = train.y.double()
    if s.labels == "random":
        drawn = np.random.default_rng(draw_seeds("labels", [seed])[0]).standard_normal(s.p)
        labels = torch.from_numpy(np.sign(drawn))
    outputs, norms, gaps, predicted = [], [], [], []
    for k in range(s.members):
        tangents = networks[k : k + 1].tangents
        features = tangents(train.x.double()).jacobian()[0].numpy()
        test_features = tangents(test.x.double()).jacobian()[0].numpy()
        weights, member_gaps = least_hinge(features, labels.numpy())
        outputs.append(torch.from_numpy(test_features @ weights))
        norms.append(float(np.linalg.norm(weights)))
        gaps.append(member_gaps)
        if s.labels == "random":
            singular = np.linalg.svd(np.concatenate([features, test_features]), compute_uv=False)
            predicted.append(norm_of_random_labels(s.p, singular**2 / (s.p + s.test)))
    row = {
        "source": train.source,
        "parameters": s.parameters,
        "fitted": float(np.mean([member_gaps.max() < SLACK for member_gaps in gaps])),
        "weights": norms,
        "holding": [float((member_gaps > 0).sum()) / s.parameters for member_gaps in gaps],
        "predicted": float(np.exp(np.log(predicted).mean())) if predicted else None,
    }
    F = torch.stack(outputs)
    target = test.y.double()
    if s.observe:
        row["fits"] = [int(member_gaps.max() < SLACK) for member_gaps in gaps]
        row["errors"] = wrong(F, target.expand_as(F)).tolist()
        row["overlap"] = overlap(F)
        row["fluctuation"] = float(jamming.fluctuation(F))
    return row | poll(F, target)


def overlap(F: torch.Tensor) -> float:
    r"""The mean cosine between two different members' predictors ``F (E, n)``, whatever their norms.

    With :math:`u_e=F_e/\lVert F_e\rVert` it is :math:`(\lVert\sum u_e\rVert^2-E)/(E(E-1))`.

    Raises:
        InputError: for fewer than two members, or a predictor that is zero.
    """
    validate.arrays(F=("E n", F))
    validate.integer(2, members=len(F))
    norms = torch.linalg.vector_norm(F, dim=-1)
    validate.positive(norm=float(norms.min()))
    count = len(F)
    together = float((F / norms[:, None]).sum(0).square().sum())
    return (together - count) / (count * (count - 1))
