"""Seeds of all draws: each has a kind, a size and a realisation, and no two of them share a generator.

Equal draws, such as the training set of a network and of its kernel, have the same three.
"""

from collections.abc import Sequence

import numpy as np

from regimes import validate

# what is drawn; new kinds go to the end, so that the numbers of the others stay
KINDS = ("train", "test", "fresh", "weights", "rotation", "labels", "pairs", "batch", "direction", "noise")


def draw_seeds(kind: str, seeds: Sequence[int], *, size: int = 0) -> list[int]:
    """The generators' seeds of one kind of draw, one per realisation, independent of all other kinds and sizes.

    Args:
        kind: what is drawn, one of ``KINDS``.
        seeds: realisations, whole numbers from 0 on.
        size: separates draws of one kind and realisation, such as training sets of different sizes; 0 for sets of
            which larger ones extend smaller ones.
    """
    validate.one_of(KINDS, kind=kind)
    validate.integer(0, size=size, **{f"seeds[{i}]": seed for i, seed in enumerate(seeds)})
    return [int(np.random.SeedSequence([KINDS.index(kind), size, s]).generate_state(1)[0]) for s in seeds]
