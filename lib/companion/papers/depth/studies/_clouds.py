"""Points of paper C on the sphere as several studies take them: their records, draws and memory."""

import functools
from collections.abc import Iterator
from typing import Any, Literal

import torch

from companion.data.images import identity, needs
from companion.lab.record import Count, Setting, derived, record
from companion.papers.depth.theory import pairs
from regimes import validate
from regimes.data import datasets
from regimes.data.tasks import Task
from regimes.seeds import draw_seeds
from regimes.validate import InputError

POINTS = 16  # bytes per coordinate: the points and a copy
Corpus = Literal["mnist", "fashion_mnist", "cifar10", "digits"]
Dimensions = Count[3, 10_000]  # of the sphere's space


@record
class Cloud(Setting):
    """Points drawn in a ``cloud`` of ``n0`` dimensions, on the sphere."""

    cloud: Literal["sphere", "cube", "positive cube"]
    n0: Dimensions


@record
class CloudOrImages(Cloud):
    """Points of a cloud, or images.

    Attributes:
        corpus: whose images; with ``data``, which tells it from others of its name.
    """

    cloud: Literal["sphere", "cube", "positive cube", "images"]
    corpus: Corpus | None = None
    data: str = derived()

    def _words(self, names: str, needed: int) -> str | None:
        """The words for its images, if it has any, of which ``names`` say how many it takes."""
        if self.corpus is None and self.cloud == "images":
            raise InputError("images need a corpus")
        return self.corpus and corpus_identity(self.corpus, names, needed)


def corpus_identity(corpus: str, names: str, needed: int) -> str:
    """The words for a corpus, which must hold the images that ``names`` count: other data are other cells."""
    try:
        words = identity(corpus)
    except InputError as error:
        raise InputError(f"corpus {corpus} cannot be used: {error}") from None
    needs(corpus, needed, names)
    return words


def points_fit(n: int, n0: int, more: int = 0) -> None:
    """Memory must hold points and ``more`` bytes."""
    validate.memory(more + POINTS * n * n0, f"n = {n} with n0 = {n0}")


@functools.lru_cache(maxsize=2)
def images_on_sphere(corpus: str) -> Task:
    """All images of a corpus, on the sphere."""
    return datasets.to_sphere(datasets.load(corpus))


def clouds(
    kind: str, d: int, n: int, seeds: list[int], corpus: str | None = None
) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
    """For each seed points of a named cloud on the sphere, and how its rows begin: ``seed``, ``source``.

    The first points are those of a smaller ``n``: those for training and fresh ones are parts of one draw.
    """
    for seed, draw in zip(seeds, draw_seeds("train", seeds)):
        if kind == "images":
            pool = images_on_sphere(corpus)
            x = datasets.split(pool, [n], seed=draw)[0].x
            source = pool.source
        elif kind == "sphere":
            x = pairs.sphere(n, d, seed=draw)
            source = f"uniform on the unit sphere of R^{d}"
        else:
            low = {"cube": -1.0, "positive cube": 0.0}[kind]
            x = pairs.cube(n, d, seed=draw, low=low)
            source = f"uniform in [{low:g}, 1]^{d}, on the sphere"
        yield x, {"seed": seed, "source": source}


def relative_distance(g: torch.Tensor, f: torch.Tensor) -> float:
    """The distance of two predictors ``(n, k)`` on the same points, over the variation of ``f``."""
    return float((g - f).norm() / (f - f.mean(0)).norm())
