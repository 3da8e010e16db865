"""The data sets of images that several modules take: each is read once a process, though every grid asks."""

import functools

from regimes.data import datasets
from regimes.validate import InputError

identity = functools.lru_cache(maxsize=None)(datasets.identity)


@functools.cache
def shape(name: str) -> tuple[int, int]:
    """Images and pixels of a data set."""
    return tuple(datasets.load(name).x.shape)


def needs(name: str, points: int, what: str) -> None:
    """A data set must hold the ``points`` that the parameters ``what`` ask for."""
    count, _ = shape(name)
    if points > count:
        raise InputError(f"{what} must be at most {count}, the images of {name}, got {points}")
