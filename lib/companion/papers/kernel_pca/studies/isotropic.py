"""Chapter 4, kernels that know no direction: what their components tell in many dimensions; how they learn images."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import torch
from torch import Tensor

from companion.data.images import centred, identity, needs
from companion.lab.record import Count, Setting, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.kernel_pca.theory import harmonics as theory
from companion.papers.tasks import DRAWN
from regimes.data import datasets, tasks
from regimes.data.tasks import STRIPE, Task
from regimes.kernels import infinite_ntk, wide_one_hidden_ntk
from regimes.measures.errors import wrong
from regimes.measures.information import paper_a_information
from regimes.measures.kernel_pca import COUNT, diagnose
from regimes.seeds import draw_seeds

CHAPTER = "04"
KERNELS = {"laplace": 1, "gaussian": 2, "ntk": 0}  # of exp(-2 distance^exponent); the last is none of these
DEPTH = 3  # weight layers of the network whose kernel is "ntk": two hidden ones, as paper B's
WIDTHS = 2.0  # bandwidths between two images at the typical distance; the paper does not state it
HARD = 1e12  # bound on the coefficients of a machine with a hard margin


@record
class StripePoints(Setting):
    """``n`` points of the stripe in ``d`` dimensions."""

    d: Count[2, 100]
    n: Count[60, 20_000]


@record
class ImageSample(Setting):
    """``p`` images of a data set to learn, and ``test`` others; ``words`` tell it from others of its name."""

    data: Literal["mnist", "cifar10", "digits"]
    words: str = derived()
    p: Count[20, 100_000]
    test: Count[50, 100_000]

    def completed(self, seeds: Sequence[int]) -> Self:
        """With the words for its images, which need not be here where no realisation is asked for."""
        if not seeds:
            return replace(self, words="")
        needs(self.data, self.test + self.p, "test + p")
        return replace(self, words=identity(self.data))


@study(version=1, rtol=1e-3, data=DRAWN)
def initial_components(s: StripePoints, seeds: list[int]) -> Rows:
    """What the first components of the infinitely wide, untrained kernel tell of the stripe, in ``d`` dimensions.

    ``information``: the estimate's mean over the first ``min(d, 10)`` centred ones, which are nearly linear functions;
    ``exact``: the mean information of such along random directions.

    Source: paper A, Sec. 5.1.
    """
    rows = []
    for seed in seeds:
        drawn = tasks.stripe(s.n, s.d, interfaces=STRIPE, seed=draw_seeds("pairs", [seed], size=s.n)[0])
        gram = wide_one_hidden_ntk(drawn.x)[None]
        diagnosis = diagnose(gram, drawn.y, count=min(s.d, COUNT), centred=True, estimate=paper_a_information)
        information = float(diagnosis.information.mean())
        rows.append({"seed": seed, "information": information, "exact": theory.linear_information(s.d)})
    return rows


@study(version=1, seeds=Count[0, 1000], rtol=1e-5)
def kernels_on_images(s: ImageSample, seeds: list[int]) -> Rows:
    """Isotropic kernels on ``p`` images, one row per ``kernel``: test errors and the distance of neighbours.

    ``error``: of the machine with a hard margin; ``regression`` and ``square``: share of wrong labels and mean square
    error of regression without a ridge; ``nearest``: mean distance of a training image to the nearest, over that of two
    images at a right angle.

    Source: paper B, Sec. 5; Spigler et al., J. Stat. Mech. (2020) 124001.
    """
    pool = centred(s.data, s.words)
    rows = []
    for seed in seeds:
        train, test = datasets.split(pool, [s.p, s.test], seed=draw_seeds("train", [seed])[0])
        x = torch.cat([train.x, test.x])
        distances = (1 - train.x @ x.T / x.shape[1]).clamp(min=0).sqrt()
        nearest = float(distances[:, : s.p].fill_diagonal_(math.inf).amin(1).mean())
        distances.fill_diagonal_(0)
        for kernel, exponent in KERNELS.items():
            gram = torch.exp(-WIDTHS * distances**exponent) if exponent else infinite_ntk(train.x, x, depth=DEPTH)
            row = {"seed": seed, "nearest": nearest, "kernel": kernel, "source": train.source}
            rows.append(row | _learnt(gram, train, test))
    return rows


def _learnt(gram: Tensor, train: Task, test: Task) -> dict[str, Any]:
    """The machine and the regression of a kernel between ``p`` training points and them with the test points."""
    from sklearn.svm import SVC

    inner = gram[:, : len(train.y)]
    cross = gram[:, len(train.y) :].T
    machine = SVC(C=HARD, kernel="precomputed", cache_size=1000).fit(inner.numpy(), train.y.numpy())
    margin = torch.from_numpy(machine.decision_function(cross.numpy()))
    f = cross @ torch.linalg.solve(inner, train.y)
    return {
        "error": float(wrong(margin[None], test.y[None])),
        "regression": float(wrong(f[None], test.y[None])),
        "square": float((f - test.y).square().mean()),
        "vectors": len(machine.support_),
    }
