"""Real data: what each source holds, checksums, stratified disjoint splits, preprocessing against its definition."""

import gzip
import hashlib
import pickle

import numpy as np
import pytest
import torch

from regimes.data import datasets
from regimes.validate import InputError


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("REGIMES_DATA", raising=False)
    datasets._images.cache_clear()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path))
    return tmp_path


def idx(array):
    """An array as IDX bytes, by the format's definition."""
    return bytes([0, 0, 8, array.ndim]) + b"".join(n.to_bytes(4, "big") for n in array.shape) + array.tobytes()


def test_mnist_from_the_package():
    task = datasets.load("mnist")
    assert task.x.shape == (5000, 784) and task.x.dtype == torch.float64
    assert task.x.min() == 0 and task.x.max() == 1 and "5000" in task.source
    assert torch.equal(task.y.bincount(), torch.full((10,), 500))
    parity = datasets.load("mnist", labels="parity")
    assert torch.equal(parity.y == 1, task.y % 2 == 0) and parity.y.dtype == torch.float64


def test_splits_are_disjoint_stratified_and_seeded():
    pool = datasets.load("digits")
    pool = datasets.replace(pool, x=torch.arange(len(pool.y), dtype=torch.float64)[:, None])  # a point is its number
    first, second = datasets.split(pool, [200, 300], seed=3)
    assert len(set(first.x.flatten().tolist()) | set(second.x.flatten().tolist())) == 500
    expected = pool.y.bincount() / len(pool.y)
    for part in (first, second):
        assert ((part.y.bincount() - len(part.y) * expected).abs() <= 2).all()
        assert torch.equal(part.y, pool.y[part.x.flatten().long()])
    repeated = datasets.split(pool, [200], seed=3)[0]
    other = datasets.split(pool, [200], seed=4)[0]
    assert torch.equal(first.x, repeated.x)
    shared = set(first.x.flatten().tolist()) & set(other.x.flatten().tolist())
    assert len(shared) < 60  # 22 expected of 200 among 1797
    few = {tuple(sorted(datasets.split(pool, [3], seed=s)[0].y.tolist())) for s in range(5)}
    assert len(few) > 1  # a subset smaller than the number of classes favours none of them
    assert "200 points of scikit-learn" in first.source


def test_preprocessing_follows_its_definition():
    task = datasets.load("digits")
    torch.testing.assert_close(datasets.to_sphere(task).x.norm(dim=-1), torch.ones(len(task.y), dtype=torch.float64))
    flat = datasets.centred(task)
    torch.testing.assert_close(flat.x.norm(dim=-1), torch.full((len(task.y),), 8.0, dtype=torch.float64))
    from sklearn.decomposition import PCA

    ours = datasets.principal_components(flat, 6).x
    theirs = torch.from_numpy(PCA(6, svd_solver="full").fit_transform(flat.x.numpy()))
    scale = (ours[:, 0] @ ours[:, 0]).sqrt() / (theirs[:, 0] @ theirs[:, 0]).sqrt()
    torch.testing.assert_close(ours.abs(), scale * theirs.abs(), rtol=1e-7, atol=1e-9)
    assert ours.var(0).mean().item() == pytest.approx(1)


def test_idx_files_of_the_folder_are_read_and_checked(folder, monkeypatch):
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 256, (n, 28, 28), dtype=np.uint8) for n in (20, 10)]
    labels = [rng.integers(0, 10, n, dtype=np.uint8) for n in (20, 10)]
    raws = [idx(a) for a in (arrays[0], labels[0], arrays[1], labels[1])]
    monkeypatch.setitem(datasets._SHA256, "mnist", tuple(hashlib.sha256(raw).hexdigest() for raw in raws))
    for name, raw in zip(datasets._IDX, raws):
        (folder / f"{name}.gz").write_bytes(gzip.compress(raw))
    task = datasets.load("mnist")
    assert task.x.shape == (30, 784) and torch.equal(task.y, torch.from_numpy(np.concatenate(labels)).long())
    np.testing.assert_allclose(task.x[20].numpy(), arrays[1][0].reshape(-1) / 255)
    datasets._images.cache_clear()
    (folder / f"{datasets._IDX[2]}.gz").write_bytes(gzip.compress(raws[2][:-1] + b"\0"))
    with pytest.raises(InputError, match="has checksum"):
        datasets.load("mnist")
    (folder / f"{datasets._IDX[2]}.gz").write_bytes(gzip.compress(raws[2])[:-9])
    with pytest.raises(InputError, match="is no whole gzip file"):
        datasets.load("mnist")
    (folder / f"{datasets._IDX[2]}.gz").unlink()
    with pytest.raises(InputError, match=f"lacks {datasets._IDX[2]}"):
        datasets.load("mnist")


@pytest.mark.skipif(not datasets.DEBIAN_FASHION.is_dir(), reason="Debian's dataset-fashion-mnist is not installed")
def test_fashion_mnist_from_debian():
    task = datasets.load("fashion_mnist")
    assert task.x.shape == (70000, 784) and torch.equal(task.y.bincount(), torch.full((10,), 7000))


def batch(path, count, extra=None):
    data = {b"data": np.full((count, 3072), 7, np.uint8), b"labels": list(range(count)), b"extra": extra}
    path.parent.mkdir(exist_ok=True)
    raw = pickle.dumps(data, protocol=2).replace(b"numpy._core", b"numpy.core")  # as numpy 1 wrote it
    path.write_bytes(raw)
    return hashlib.md5(raw).hexdigest()


def test_cifar_pickles_are_read_without_running_what_they_hold(folder, monkeypatch):
    for name in list(datasets._CIFAR_MD5):
        monkeypatch.setitem(datasets._CIFAR_MD5, name, batch(folder / "cifar-10-batches-py" / name, 2))
    assert datasets.load("cifar10").x.shape == (12, 3072)
    datasets._images.cache_clear()
    code = batch(folder / "cifar-10-batches-py" / "test_batch", 2, extra=exec)
    monkeypatch.setitem(datasets._CIFAR_MD5, "test_batch", code)
    with pytest.raises(InputError, match=r"exec, which no published batch does"):
        datasets.load("cifar10")
    (folder / "cifar-10-batches-py" / "data_batch_3").unlink()
    with pytest.raises(InputError, match="lacks data_batch_3"):
        datasets.load("cifar10")


def archive(folder, monkeypatch, name, **arrays):
    """An archive under a published name, with its own checksum declared."""
    np.savez(folder / name, **arrays)
    monkeypatch.setitem(datasets._ARCHIVES, name, hashlib.sha256((folder / name).read_bytes()).hexdigest())


def test_archives_of_the_folder(folder, monkeypatch):
    rng = np.random.default_rng(1)
    images = {f"x_{s}": rng.integers(0, 200, (n, 4, 4), dtype=np.uint8) for s, n in (("train", 6), ("test", 3))}
    labels = {f"y_{s}": rng.integers(0, 10, n, dtype=np.uint8) for s, n in (("train", 6), ("test", 3))}
    archive(folder, monkeypatch, "mnist.npz", **images, **labels)
    task = datasets.load("mnist")
    np.testing.assert_allclose(task.x[6:].numpy(), images["x_test"].reshape(3, 16) / 255)
    np.testing.assert_array_equal(task.classes.numpy(), np.concatenate([labels["y_train"], labels["y_test"]]))
    glasses = np.array([0, 1, 1, 0], np.uint8)
    subject = np.array([1, 1, 2, 2], np.uint8)
    archive(folder, monkeypatch, "faces.npz", x=images["x_train"][:4], glasses=glasses, subject=subject)
    faces = datasets.load("faces")
    assert faces.y.tolist() == [-1, 1, 1, -1] and faces.classes.tolist() == [1, 1, 2, 2]
    np.testing.assert_allclose(faces.x.numpy(), images["x_train"][:4].reshape(4, 16) / 255)  # not its brightest pixel


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "cifar10"])
def test_an_archive_of_the_folder_stands_in_place_of_what_ships(folder, monkeypatch, name):
    pixels = np.random.default_rng(2).integers(0, 256, (5, 4, 4), dtype=np.uint8)
    file = "cifar10_subset.npz" if name == "cifar10" else f"{name}.npz"
    parts = {"x_train": pixels[:3], "x_test": pixels[3:], "y_train": np.arange(3), "y_test": np.arange(3, 5)}
    archive(folder, monkeypatch, file, **parts)
    task = datasets.load(name)
    np.testing.assert_allclose(task.x.numpy(), pixels.reshape(5, -1) / 255)
    assert task.classes.tolist() == [0, 1, 2, 3, 4] and "images" in task.source


def test_text_of_the_folder(folder, monkeypatch):
    raw = gzip.compress(b"anarchism is a political")
    (folder / "wiki_text8style.txt.gz").write_bytes(raw)
    monkeypatch.setitem(datasets._ARCHIVES, "wiki_text8style.txt.gz", hashlib.sha256(raw).hexdigest())
    assert datasets.corpus("wiki_text8style").text == "anarchism is a political"


def test_corpus_holds_letters_and_single_spaces():
    text = datasets.corpus("pydoc").text
    assert set(text) == set("abcdefghijklmnopqrstuvwxyz ") and "  " not in text and len(text) > 100_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: datasets.load("minst"),
            "data must be one of mnist, fashion_mnist, cifar10, digits, faces; got 'minst'",
        ),
        (lambda: datasets.load("mnist", labels="odd"), "labels must be one of class, parity"),
        (lambda: datasets.load("cifar10"), "cifar10 ships with no package"),
        (lambda: datasets.load("faces"), "faces ships with no package"),
        (lambda: datasets.corpus("text8"), "corpus must be one of wiki_text8style, pydoc"),
        (lambda: datasets.corpus("wiki_text8style"), "needs wiki_text8style.txt.gz"),
        (lambda: datasets.split(datasets.load("digits"), [1000, 1000], seed=0), "at most 1797"),
        (lambda: datasets.split(datasets.load("digits"), [0], seed=0), "size must be a whole number of at least 1"),
        (
            lambda: datasets.principal_components(datasets.load("digits"), 65),
            "count must be a whole number from 1 to 64",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_folder_that_is_not_there_or_holds_something_else(monkeypatch, tmp_path):
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match=r"REGIMES_DATA must name a folder"):
        datasets.load("mnist")
    monkeypatch.setenv("REGIMES_DATA", str(tmp_path))
    (tmp_path / "mnist.npz").write_bytes(b"something else")
    with pytest.raises(InputError, match=r"mnist\.npz has checksum .* published file has 06af5d"):
        datasets.load("mnist")
