"""The cell store: one small JSON file a finished cell, written whole or not at all, with where it came from."""

import ast
import functools
import hashlib
import importlib.util
import inspect
import json
import math
import os
import platform
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from regimes import devices, paths
from regimes.check import InputError

# the house around a study: a change here does not change its numbers
_NOT_NUMERICS = {
    "regimes",
    "regimes.sweep",
    "regimes.store",
    "regimes.check",
    "regimes.parameters",
    "regimes.paths",
    "regimes.table",
}


@dataclass(frozen=True)
class Cell:
    """One unit of stored work: a study's version at one setting and one seed."""

    study: str
    version: int
    setting: dict[str, Any] = field(hash=False)
    seed: int

    def key(self, *, seed: bool = True) -> str:
        """Digest of what identifies the cell (without the seed: of its setting)."""
        parts = [self.study, self.version, self.setting] + ([self.seed] if seed else [])
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


class Store:
    """A folder of cells, ``folder/study/vN/key.json``.

    Raises:
        InputError: if the folder cannot be made.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the cell store {self.folder} cannot be made: {error.strerror}") from None

    @classmethod
    def default(cls) -> "Store":
        """``$REGIMES_STORE`` where set, else ``build/cells`` in the book's folder."""
        return cls(os.environ.get("REGIMES_STORE") or paths.cells())

    def _path(self, cell: Cell) -> Path:
        return self.folder / cell.study / f"v{cell.version}" / f"{cell.key()}.json"

    def load(self, cell: Cell) -> dict[str, Any] | None:
        """The stored record ``{cell fields, rows, provenance}``, or ``None``."""
        path = self._path(cell)
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def save(self, cell: Cell, rows: list[dict[str, Any]], stamp: dict[str, Any]) -> dict[str, Any]:
        """Stores a finished cell atomically and returns its record, as ``load`` would."""
        record = {
            "study": cell.study,
            "version": cell.version,
            "setting": cell.setting,
            "seed": cell.seed,
            "rows": rows,
            "provenance": stamp,
        }
        text = json.dumps(record, default=_plain)
        write_atomically(self._path(cell), text)
        return json.loads(text)

    def _records(self, study: str, version: int) -> Iterator[tuple[Path, dict[str, Any]]]:
        for path in sorted((self.folder / study / f"v{version}").glob("*.json")):
            yield path, json.loads(path.read_text(encoding="utf-8"))

    def cheapest_by_digest(self, study: str, version: int) -> dict[str, Cell]:
        """For each code digest among a study's cells, the one that took the least time."""
        best: dict[str, tuple[float, Cell]] = {}
        for _, record in self._records(study, version):
            stamp = record["provenance"]
            cell = Cell(study, version, record["setting"], record["seed"])
            if stamp["digest"] not in best or stamp["seconds"] < best[stamp["digest"]][0]:
                best[stamp["digest"]] = (stamp["seconds"], cell)
        return {code: cell for code, (_, cell) in best.items()}

    def void(self, study: str, version: int, code: str) -> int:
        """Removes a study's cells of one digest; returns how many there were."""
        old = [path for path, record in self._records(study, version) if record["provenance"]["digest"] == code]
        for path in old:
            path.unlink()
        return len(old)

    def _agreement(self, study: str, old: str, new: str) -> Path:
        return self.folder / study / "agree" / f"{old}-{new}"

    def accept(self, study: str, old: str, new: str) -> None:
        """Notes that cells of digest ``old`` were found to agree with the code of digest ``new``."""
        write_atomically(self._agreement(study, old, new), "")

    def accepted(self, study: str, old: str, new: str) -> bool:
        """Whether ``accept`` has noted this pair."""
        return self._agreement(study, old, new).exists()

    def pack(self, archive: str | Path) -> int:
        """Writes all cells into one ``.tar.gz``; returns how many."""
        paths = sorted(self.folder.glob("*/v*/*.json"))
        with tarfile.open(archive, "w:gz") as tar:
            for path in paths:
                tar.add(path, arcname=str(path.relative_to(self.folder)))
        return len(paths)

    def add(self, archive: str | Path) -> int:
        """Adds the cells of an archive that this store lacks; returns how many.

        Raises:
            InputError: if the archive cannot be read.
        """
        try:
            with tarfile.open(archive) as tar:
                fresh = [m for m in tar.getmembers() if m.isfile() and not (self.folder / m.name).exists()]
                tar.extractall(self.folder, members=fresh, filter="data")
        except (OSError, tarfile.TarError) as error:
            raise InputError(f"the cell archive {archive} cannot be read: {error}") from None
        return len(fresh)


def write_atomically(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _plain(value: Any) -> Any:
    """Scalars and arrays of numpy and torch as plain Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a study's row holds {type(value).__name__}, which cannot be stored")


def agree(one: Any, other: Any, rtol: float) -> bool:
    """Whether two sets of rows hold the same numbers within ``rtol`` (keys that begin with ``seconds`` are ignored)."""
    if hasattr(other, "tolist"):
        other = other.tolist()
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {k for k in one.keys() | other.keys() if not k.startswith("seconds")}
        return all(k in one and k in other and agree(one[k], other[k], rtol) for k in keys)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(agree(a, b, rtol) for a, b in zip(one, other))
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=rtol, abs_tol=1e-300) or (math.isnan(one) and math.isnan(other))
    return one == other


@functools.cache
def digest(function: Callable[..., Any]) -> str:
    """Digest of the code a study's numbers come from: its module and all it imports of this library.

    Comments and docstrings do not count. A function defined in a notebook is digested alone.
    """
    module = function.__module__
    if not module.startswith("regimes."):
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    trees = {name: _bare_tree(name) for name in sorted(_imported(module, set()))}
    text = "\n".join(f"{name} {ast.dump(tree)}" for name, tree in trees.items())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _bare_tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def _imported(module: str, seen: set[str]) -> set[str]:
    """``module`` and, recursively, the modules of this library that it imports."""
    seen.add(module)
    for node in ast.walk(_bare_tree(module)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "regimes":
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("regimes.")]
        for name in names:
            if name not in seen | _NOT_NUMERICS and _is_module(name):
                _imported(name, seen)
    return seen


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def stamp() -> dict[str, Any]:
    """Where a number comes from: device, git revision, versions of what computed it."""
    device = devices.pick()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()
    versions = {package: metadata.version(package) for package in ("numpy", "scipy", "torch")}
    return {"device": name, "revision": revision(), "versions": versions | {"python": platform.python_version()}}


@functools.cache
def _processor() -> str:
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


@functools.cache
def revision() -> str:
    """The checkout's commit, with ``+`` where it holds uncommitted changes; ``unknown`` outside git."""
    try:
        git = ["git", "-C", str(paths.root())]
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        dirty = subprocess.run([*git, "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError, InputError):
        return "unknown"
    return commit.stdout.strip() + ("+" if dirty.stdout.strip() else "")
