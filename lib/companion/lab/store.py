"""The cell store: one small JSON file per finished cell, written atomically, with its provenance.

A file holds its key and a checksum. Files that are truncated, edited or of another cell are moved to ``damaged/``,
cells that changed code has made void to ``void/``. Nothing is deleted.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import platform
import re
import secrets
import subprocess
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from filelock import FileLock, Timeout

from companion import paths
from companion.lab.record import described
from regimes import devices
from regimes.validate import InputError

# what a result says of where its rows come from, at least
_PROVENANCE = {"device": str, "class": str, "revision": str, "versions": dict, "seconds": float, "digest": str}
_COMPACT = (",", ":")
_WRITERS = 8  # threads that write cells at once: each waits for the disk


class Damaged(ValueError):
    """The file under a cell's name is not that cell; the message says why."""


@dataclass(frozen=True)
class Cell:
    """One unit of stored work: a study's version at one setting and one seed."""

    study: str
    version: int
    setting: dict[str, Any]
    seed: int

    def __hash__(self) -> int:
        return hash(self._key)  # thousands of cells in one set differ in their settings alone

    def key(self, *, seed: bool = True) -> str:
        """Digest of what identifies the cell (without the seed: of its setting)."""
        return self._key if seed else self._setting_key

    @classmethod
    def of_seeds(cls, study: str, version: int, setting: dict[str, Any], seeds: Iterable[int]) -> list["Cell"]:
        """The cells of one setting, whose text is made once for the keys of all."""
        cells = [cls(study, version, setting, seed) for seed in seeds]
        for cell in cells[1:]:
            vars(cell)["_text"] = cells[0]._text
        return cells

    @functools.cached_property
    def _text(self) -> str:
        return json.dumps([self.study, self.version, self.setting], sort_keys=True)

    @functools.cached_property
    def _key(self) -> str:
        return _digest(f"{self._text[:-1]}, {json.dumps(self.seed)}]")

    @functools.cached_property
    def _setting_key(self) -> str:
        return _digest(self._text)

    @property
    def name(self) -> str:
        """Where its file lies in a store or an archive."""
        return f"{self.study}/v{self.version}/{self.key()}.json"

    @property
    def description(self) -> str:
        """Its key, with the numbers and words of its setting and its seed, for messages."""
        settings = ", ".join(filter(None, [described(self.setting), f"seed = {self.seed}"]))
        return f"cell {self.key()} ({settings})"


class Result(NamedTuple):
    """A finished cell: its rows, and their provenance.

    Attributes:
        cell: which cell.
        rows: as its study returned them.
        provenance: the ``device`` that computed it and its ``class``, ``revision`` of the code and its ``digest``,
            ``versions`` of Python and packages with what decides rounding, ``seconds``.
    """

    cell: Cell
    rows: list[dict[str, Any]]
    provenance: dict[str, Any]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def encode(cell: Cell, rows: list[dict[str, Any]], provenance: dict[str, Any]) -> str:
    """A cell's file: the cell, its rows and provenance, its key, and behind it the checksum of all this."""
    result = {"key": cell.key(), "study": cell.study, "version": cell.version, "setting": cell.setting}
    result |= {"seed": cell.seed, "rows": rows, "provenance": provenance}
    text = json.dumps(json.loads(json.dumps(result, default=_plain)), separators=_COMPACT)
    return f"{text[:-1]}{_signature(_sha(text))}"


def decode(text: str, name: str = "") -> Result:
    """The result that a text holds: a whole, unchanged cell, and the one that its file's ``name`` says, if it has one.

    Raises:
        Damaged: if it is not, with why.
    """
    try:
        fields = json.loads(text)
        cell = Cell(fields["study"], fields["version"], fields["setting"], fields["seed"])
        checksum = fields.pop("checksum")
        content = text.removesuffix(_signature(checksum)) + "}"
        if checksum != _sha(content) and checksum != _checksum(fields):
            raise Damaged("its checksum is not that of its content")
        if fields["key"] != cell.key() or name not in ("", cell.name):
            raise Damaged("it is another cell's")
        result = Result(cell, fields["rows"], fields["provenance"])
        if not _is_complete(result):
            raise Damaged("it lacks rows or provenance")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise error if isinstance(error, Damaged) else Damaged("it is not a whole cell") from None
    return result


def _is_complete(result: Result) -> bool:
    """Whether a result has rows, and all parts of its provenance, each of its kind."""
    made = result.provenance
    kinds = {name: type(made.get(name)) for name in _PROVENANCE}
    words = {type(version) for version in made.get("versions", {}).values()}
    return isinstance(result.rows, list) and kinds == _PROVENANCE and words <= {str} and 0 < made["seconds"] < math.inf


def _checksum(result: dict[str, Any]) -> str:
    """That of a file of older versions: of its content in order, not as it is written."""
    return _sha(json.dumps(result, sort_keys=True, separators=_COMPACT))


def _signature(checksum: str) -> str:
    return f',"checksum":"{checksum}"}}'


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Store:
    """A folder of cells, ``folder/study/vN/key.json``, which is made; what cannot be written is an InputError.

    Attributes:
        folder: of the cells.
        aside: names moved to ``damaged/`` by this object, with reasons.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.aside: list[tuple[str, str]] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the cell store {self.folder} cannot be made: {error.strerror}") from None

    @classmethod
    def default(cls) -> "Store":
        """``$REGIMES_STORE`` where set, else ``build/cells`` in the book's folder."""
        return cls(os.environ.get("REGIMES_STORE") or paths.root() / "build" / "cells")

    def __contains__(self, cell: Cell) -> bool:
        return (self.folder / cell.name).exists()

    def load(self, cell: Cell | str) -> Result | None:
        """The stored result of a cell, or of a file by name, or ``None``.

        What is damaged is moved aside.
        """
        name = cell if isinstance(cell, str) else cell.name
        try:
            return decode((self.folder / name).read_text(encoding="utf-8"), name)
        except FileNotFoundError:
            return None
        except (Damaged, OSError, UnicodeDecodeError) as error:
            self._move(name, "damaged")
            self.aside.append((name, str(error) if isinstance(error, Damaged) else "it is no file that can be read"))
            return None

    def _move(self, name: str, to: str) -> None:
        """Moves a file into a folder of the store, under a new name if that is taken; ignores a missing file."""
        with _writing(self.folder):
            target = self._place(f"{to}/{name}")
            while target.exists():
                target = target.with_name(f"{name.rpartition('/')[2]}.{secrets.token_hex(3)}")
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.folder / name, target)

    def save(self, *cells: tuple[Cell, list[dict[str, Any]], dict[str, Any]]) -> list[Result]:
        """Stores finished cells, with their rows and provenance, and returns their results, as ``load`` would.

        Each is whole or not at all, and on disk when this returns.
        """
        texts = {item[0].name: encode(*item) for item in cells}
        with _writing(self.folder), ThreadPoolExecutor(min(_WRITERS, len(texts))) as pool:
            list(pool.map(lambda name: _replace(self._place(name), texts[name]), texts))
        return [decode(text) for text in texts.values()]

    def _place(self, name: str) -> Path:
        """Where a file of the store goes; makes its folders, but never the store, which may have vanished."""
        path = self.folder
        for part in name.split("/")[:-1]:
            path /= part
            path.mkdir(exist_ok=True)
        return self.folder / name

    def claim(self, name: str, *, wait: bool = False) -> FileLock | None:
        """The lock of that name, to be released with ``free``; ``None`` if another process holds it.

        A lock dies with the process that holds it.
        """
        with _writing(self.folder), contextlib.suppress(Timeout):
            lock = FileLock(self._place(f"locks/{name}.lock"), thread_local=False)
            return lock.acquire(blocking=wait).lock
        return None

    def names(self, under: str = "*/v[0-9]*") -> list[str]:
        """The names of all cells, in order, or of those in some folders."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob(f"{under}/*.json"))

    def finished(self, study: str, version: int) -> Iterator[tuple[str, Result]]:
        """Names and results of all whole cells of a study; what is damaged is moved aside."""
        for name in self.names(f"{study}/v{version}"):
            result = self.load(name)
            if result is not None:
                yield name, result

    def void(self, study: str, version: int, unwanted: Callable[[dict[str, Any]], bool]) -> int:
        """Moves a study's cells of ``unwanted`` provenance to ``void/``; returns how many there were."""
        old = {n: r.provenance for n, r in self.finished(study, version) if unwanted(r.provenance)}
        for name, provenance in old.items():
            self._move(name, f"void/{provenance['digest']}")
        return len(old)

    def accept(self, study: str, old: str, new: str, values: set[str]) -> None:
        """Notes that cells of digest ``old`` with these values of axes stand under the code of digest ``new``."""
        noted = sorted(values | self.accepted(study, old, new))
        with _writing(self.folder):
            _replace(self._place(f"{study}/agree/{old}-{new}"), json.dumps(noted))

    def accepted(self, study: str, old: str, new: str) -> set[str]:
        """What ``accept`` has noted for this pair."""
        try:
            noted = json.loads((self.folder / f"{study}/agree/{old}-{new}").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return set()
        return set(noted) if isinstance(noted, list) else set()


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turns an OSError while the store in ``folder`` is written into one line."""
    try:
        yield
    except OSError as error:
        why = error.strerror if folder.exists() else "it has vanished"
        raise InputError(f"the cell store {folder} cannot be written: {why}; what is stored stays") from None


def free(lock: FileLock) -> None:
    """Releases a lock and removes its file; a process that has just opened the file takes a new one."""
    with contextlib.suppress(OSError):
        os.unlink(lock.lock_file)
    lock.release()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes a file whole or not at all; it is on disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, content)


def _replace(path: Path, content: str | bytes) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Has the disk hold what was written, before a name points at it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _plain(value: Any) -> Any:
    """Scalars and arrays of numpy and torch as plain Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InputError(f"a study's row holds {type(value).__name__}, which cannot be stored")


def stamp(used: set[torch.device] | None = None) -> dict[str, Any]:
    """Where a number comes from: the device used (the CPU by default), git revision, versions of what computed it."""
    cuda = {"cuda": str(torch.version.cuda)} if any(device.type == "cuda" for device in used or ()) else {}
    versions = libraries() | arithmetic() | cuda
    return {"device": devices.names(used or set()), "revision": revision(), "versions": versions}


@functools.cache
def libraries() -> dict[str, str]:
    """The versions of Python and the libraries that compute."""
    versions = {package: metadata.version(package) for package in ("numpy", "scipy", "torch")}
    return versions | {"python": platform.python_version()}


def arithmetic() -> dict[str, str]:
    """What decides how this process rounds: the processor's model, its instructions in use, the BLAS of each package.

    Two processors of one marketing name may round differently. ``$ATEN_CPU_CAPABILITY`` and ``$MKL_CBWR`` make one
    machine round like another.
    """
    bound = os.environ.get("MKL_CBWR")
    isa = torch.backends.cpu.get_cpu_capability() + (f", MKL_CBWR={bound}" if bound else "")
    return {"cpu": _cpu_model(), "isa": isa, **_blas()}


@functools.cache
def _cpu_model() -> str:
    """Maker, family, model and stepping, such as ``AuthenticAMD 25.17.1``."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    names = ("vendor_id", "cpu family", "model", "stepping")
    matches = [re.search(rf"^{name}\s*: (.*)$", text, re.M) for name in names]
    if not all(matches):
        return platform.processor() or platform.machine()
    maker, *numbers = (match[1] for match in matches)
    return f"{maker} {'.'.join(numbers)}"


@functools.cache
def _blas() -> dict[str, str]:
    """The versions of the linear algebra inside numpy and torch."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    mkl = re.search(r"Math Kernel Library Version (\S+)", torch.__config__.show())
    return {"numpy blas": f"{blas['name']} {blas['version']}", "torch blas": f"mkl {mkl[1]}" if mkl else "not mkl"}


def committed(revision: str) -> bool:
    """Whether a revision, as ``revision`` gives it, names a commit that holds all of the code."""
    return not revision.endswith("+") and revision != "unknown"


def needs_commit(what: str) -> None:
    """Raises InputError if there are uncommitted changes: results under version control name their commit."""
    if not committed(revision()):
        raise InputError(f"{what} name the commit they come from, and this is {revision()!r}: commit all changes first")


@functools.cache
def revision() -> str:
    """The checkout's commit, with ``+`` where it holds uncommitted changes; ``unknown`` outside git.

    A copy without its history, as in a container or a folder of another repository, is told its commit:
    ``$REGIMES_REVISION``. The digest of the code in every cell shows whether that is so. The cells of a registered run
    (``results/registered/``), which grow while it is on, are no changes.
    """
    try:
        root = paths.root()
        git = ["git", "-C", str(root)]
        top = subprocess.run([*git, "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=True)
        if Path(top.stdout.strip()).resolve() != root.resolve():
            raise InputError(f"{root} is no repository of its own")
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        status = [*git, "status", "--porcelain", "-uno", "--", ".", ":(exclude)results/registered"]
        dirty = subprocess.run(status, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError, InputError):
        return os.environ.get("REGIMES_REVISION", "unknown")
    return commit.stdout.strip() + ("+" if dirty.stdout.strip() else "")
