"""The data sets of images that several modules take: each is read once a process, though every grid asks."""

import functools
from collections.abc import Callable, Sequence

from regimes.data import datasets
from regimes.data.tasks import Task
from regimes.validate import InputError

identity = functools.lru_cache(maxsize=None)(datasets.identity)


@functools.lru_cache(maxsize=2)
def centred(data: str, words: str) -> Task:
    """All images, centred and scaled; labels are parities of the class. Source: paper A, Fig. 9 (its code)."""
    return datasets.centred(datasets.load(data, labels="parity"))


@functools.cache
def shape(name: str) -> tuple[int, int]:
    """Images and pixels of a data set."""
    return tuple(datasets.load(name).x.shape)


def needs(name: str, points: int, what: str) -> None:
    """A data set must hold the ``points`` that the parameters ``what`` ask for."""
    count, _ = shape(name)
    if points > count:
        raise InputError(f"{what} must be at most {count}, the images of {name}, got {points}")


def first_there(names: Sequence[str], look: Callable[[str], object] = identity) -> str:
    """The first of these data sets that is on this machine: those are not that ``look`` refuses."""
    for name in names:
        try:
            look(name)
        except InputError as error:
            lacking = error
        else:
            return name
    raise InputError(f"none of {', '.join(names)} is on this machine: {lacking}")
