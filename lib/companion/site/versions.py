"""Atomic replacement: a new folder is filled beside the last good one and replaces it by one rename of a link.

``link`` is a symbolic link; the folders that it points at lie beside it, ``.name-…``. A process that is killed leaves
the link as it was, and the next one deletes the remains. Only the holder of a lock may call these functions.
"""

import os
import shutil
import time
from pathlib import Path

from companion.lab.store import sync


def fresh(link: Path) -> Path:
    """A new empty folder for ``link`` to point at later; leftovers of killed runs are deleted."""
    link.parent.mkdir(parents=True, exist_ok=True)
    _clear(link, link)
    folder = link.with_name(f"{_stem(link)}{os.getpid()}-{time.time_ns()}")
    folder.mkdir()
    return folder


def swap(folder: Path, link: Path) -> None:
    """Makes ``link`` point at ``folder``, which ``fresh`` made or a folder inside it; the old target is deleted."""
    for path in (*folder.iterdir(), folder):
        sync(path)
    if link.is_dir() and not link.is_symlink():  # from before there were links
        shutil.rmtree(link)
    point(link, Path(os.path.relpath(folder, link.parent)))
    sync(link.parent)
    _clear(link, folder)


def _stem(link: Path) -> str:
    return f".{link.name.lstrip('.')}-"


def _clear(link: Path, current: Path) -> None:
    """Deletes all folders made for ``link`` except the one that is, or contains, ``current``."""
    current = current.resolve()
    for folder in link.parent.glob(f"{_stem(link)}*"):
        if folder.resolve() not in (current, *current.parents):
            shutil.rmtree(folder, ignore_errors=True)


def point(link: Path, target: Path) -> None:
    """Makes ``link`` a symbolic link to ``target`` (seen from the link's folder), by one rename."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)
