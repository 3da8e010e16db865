"""All or nothing: a folder is made beside the last good one and takes its place by one rename, of a link.

``link`` is a symbolic link; the folders it points at in turn lie beside it, ``.name-…``. Whoever is killed on the way
leaves the link alone, and the next one clears the remains. Only the holder of a lock may call these.
"""

import os
import shutil
import time
from pathlib import Path

from companion.experiments.store import sync


def fresh(link: Path) -> Path:
    """An empty folder that may take the place of what ``link`` points at; leftovers of killed runs are deleted."""
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


def _clear(link: Path, kept: Path) -> None:
    """Removes all folders that were made for ``link``, but for the one that is, or holds, ``kept``."""
    kept = kept.resolve()
    for folder in link.parent.glob(f"{_stem(link)}*"):
        if folder.resolve() not in (kept, *kept.parents):
            shutil.rmtree(folder, ignore_errors=True)


def drop(folder: Path) -> None:
    """Removes a folder that will not take any place."""
    shutil.rmtree(folder, ignore_errors=True)


def point(link: Path, target: Path) -> None:
    """Makes ``link`` a symbolic link to ``target`` (seen from the link's folder), by one rename."""
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    os.replace(new, link)
