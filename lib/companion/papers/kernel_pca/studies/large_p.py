"""Chapter 4, learning curves on images at sizes beyond ``kernel_pca.image_curves``: the network and its kernel."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from companion.lab.record import Count, derived, record
from companion.lab.sweep import Rows, study
from companion.papers.kernel_pca.studies.kernel_pca import Descending, image_curves, statistical_columns

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
def image_errors(s: LargeTrainingSets, seeds: list[int]) -> Rows:
    """As ``kernel_pca.image_curves``, errors alone: the network at the end, its kernels at the start and at the end.

    Source: paper A, Fig. 9; paper B, Sec. 5.
    """
    return image_curves.function(s, seeds)
