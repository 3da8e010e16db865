"""The data sets of images that several modules take: each is read once a process, though every grid asks."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence

from regimes.data import datasets
from regimes.data.datasets import Absent
from regimes.data.tasks import Task
from regimes.validate import InputError

WHOLE = {  # what ``make data`` fetches: its words, images and pixels
    "mnist": ("MNIST, all 70000 images", (70_000, 784)),
    "fashion_mnist": ("Fashion-MNIST, all 70000 images", (70_000, 784)),
    "cifar10": ("CIFAR-10, all 60000 images", (60_000, 3072)),
}
_assumed: dict[str, tuple[str, tuple[int, int]]] = {}


@contextlib.contextmanager
def as_fetched() -> Iterator[None]:
    """As if ``make data`` had fetched all images, for a plan, which loads none."""
    before = dict(_assumed)
    _assumed.update(WHOLE)
    try:
        yield
    finally:
        _assumed.clear()
        _assumed.update(before)


def identity(name: str) -> str:
    """What captions call a data set."""
    return _assumed[name][0] if name in _assumed else _identity(name)


_identity = functools.lru_cache(maxsize=None)(datasets.identity)


@functools.lru_cache(maxsize=2)
def centred(data: str, words: str) -> Task:
    """All images, centred and scaled; labels are parities of the class. Source: paper A, Fig. 9 (its code)."""
    return datasets.centred(datasets.load(data, labels="parity"))


def shape(name: str) -> tuple[int, int]:
    """Images and pixels of a data set."""
    return _assumed[name][1] if name in _assumed else _shape(name)


@functools.cache
def _shape(name: str) -> tuple[int, int]:
    return tuple(datasets.load(name).x.shape)


def needs(name: str, points: int, what: str) -> None:
    """A data set must hold the ``points`` that the parameters ``what`` ask for."""
    count, _ = shape(name)
    if points > count:
        more = f" (make data fetches {WHOLE[name][1][0]})" if name in WHOLE and count < WHOLE[name][1][0] else ""
        raise InputError(f"{what} must be at most {count}, the images of {name} here{more}, got {points}")


def first_there(names: Sequence[str], look: Callable[[str], object] = identity) -> str:
    """The first of these data sets that is on this machine, as ``look`` finds; Absent if none is.

    A damaged file, or a package of the environment that is missing, is an error: no other data replace it.
    """
    for name in names:
        try:
            look(name)
        except Absent as error:
            lacking = error
        else:
            return name
    raise Absent(f"none of {', '.join(names)} is on this machine: {lacking}")
