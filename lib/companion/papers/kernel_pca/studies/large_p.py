"""Chapter 4: errors of kernels that learn from the images of their own network."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from companion.lab.record import Count, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.kernel_pca.studies import kernel_pca
from companion.papers.kernel_pca.studies.kernel_pca import Descending, statistical_columns
from regimes.measures.errors import wrong
from regimes.training.run import run

CHAPTER = "04"


@record
class LargeTrainingSets(Descending):
    """A setting of ``image_curves`` at which no components are measured, and no kernel on the way."""

    p: Count[20, 100_000]
    stops: list[float] = derived()
    panels: bool = derived()

    def completed(self, seeds: Sequence[int]) -> Self:
        """As its base, without stops and panels."""
        return replace(super().completed(seeds), stops=[], panels=False)


@study(version=1, chunk=1, rtol=2e-2, device="any", columns=statistical_columns())
def own_images(s: LargeTrainingSets, seeds: list[int]) -> Rows:
    """The kernel frozen at the end of training, on the network's own images and on others; one row per ``curve``.

    ``network``: its own ``error``; ``own`` and ``fresh``: of its kernel of all parameters, frozen at the end of
    training, with the ridge of ``image_curves``. Networks and images are those of ``image_curves``.

    Source: paper A, Sec. 5.2, which takes "different data"; own images are not in the paper.
    """
    sets = kernel_pca.draw_images(s, seeds)
    path = run(kernel_pca.descend(s, kernel_pca.convolutional_networks(s, seeds), sets["train"], s.descent))
    rows = []
    for e, seed in enumerate(seeds):
        model, start = path.model[e : e + 1], path.initial[e : e + 1]
        x, y = sets["test"].x[e : e + 1], sets["test"].y[e : e + 1]
        row = {"seed": seed, "source": sets["test"].source}
        ended = str(path.ended[e].kind)
        rows.append(row | {"curve": "network", "error": float(wrong(model(x) - start(x), y)), "ended": ended})
        for curve, learnt in {"own": "train", "fresh": "fresh"}.items():
            found = kernel_pca.frozen_error(model, sets[learnt], sets["test"], e)
            rows.append(row | {"curve": curve} | found)
    return rows
