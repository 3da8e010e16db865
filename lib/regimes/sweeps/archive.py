"""Archives of cells, ``.tar.gz``: packed on the machine that computed, added on another.

A checksum shows damage; it is no signature. Whoever can write an archive can write numbers, so add only those of people
you trust: a cell of the present code is not computed again.
"""

import io
import re
import secrets
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from regimes.sweeps.store import Damaged, Store, decode, writing
from regimes.validate import InputError

MAX_CELL = 16 * 2**20  # bytes of one cell
MAX_ALL = 2 * 2**30  # bytes of all cells of an archive


def pack(store: Store, archive: str | Path, known: Mapping[str, int]) -> tuple[int, int]:
    """Writes the cells of known studies into one archive, whole or not at all.

    Args:
        store: where they lie.
        archive: the file to write.
        known: the studies' names with their versions.

    Returns:
        How many it holds, and how many files were left out: those that ``add`` would not take.

    Raises:
        InputError: if the archive cannot be written.
    """
    archive, names, taken = Path(archive), store.names(), 0
    partial = archive.with_name(f".{archive.name}.{secrets.token_hex(4)}")
    try:
        with tarfile.open(partial, "x:gz") as tar:
            for name in names:
                content = _content(store.folder / name)
                if content is not None and not _refusal(name, content, known):
                    tar.addfile(_member(name, len(content)), io.BytesIO(content))
                    taken += 1
        partial.replace(archive)
    except OSError as error:
        raise InputError(f"the cell archive {archive} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return taken, len(names) - taken


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.stat().st_size <= MAX_CELL else None
    except OSError:
        return None


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member


def add(store: Store, archive: str | Path, known: Mapping[str, int]) -> int:
    """Adds the cells of an archive that the store lacks; returns how many.

    The whole archive is read first. One member that is no whole cell of a known study, or is too large, and none is
    taken. One that is stopped while it writes leaves some of the cells, each whole; started again it adds the rest.

    Args:
        store: where they go.
        archive: a file that ``pack`` wrote.
        known: the studies' names with their versions.

    Raises:
        InputError: if the archive cannot be read, holds anything else than cells, or the store cannot be written.
    """
    fresh = []
    for name, content in _members(archive):
        reason = _refusal(name, content, known)
        if reason:
            raise InputError(f"the cell archive {archive} is refused, nothing was added: {name!r} {reason}")
        if store.load_name(name) is None:
            fresh.append(name)
    try:
        for name, content in _members(archive):
            if name in fresh:
                store.write({name: content.decode()})
    except InputError:
        with writing(store.folder):
            for name in fresh:
                (store.folder / name).unlink(missing_ok=True)
        raise
    return len(fresh)


def _members(archive: str | Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents, one after another.

    Raises:
        InputError: for anything but plain files within the limits, and for an archive that cannot be read.
    """
    total = 0
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                total += member.size
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                    raise InputError(f"the cell archive {archive} is refused: {member.name!r} is no plain file")
                if member.size > MAX_CELL or total > MAX_ALL:
                    raise InputError(
                        f"the cell archive {archive} is refused: {member.name!r} takes it above "
                        f"{MAX_CELL >> 20} MiB a cell or {MAX_ALL >> 30} GiB in all"
                    )
                yield member.name, tar.extractfile(member).read()
            while tar.fileobj.read(2**20):  # to the end, where the checksum of the whole is
                pass
    except InputError:
        raise
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no whole .tar.gz file"
        raise InputError(f"the cell archive {archive} cannot be read: {why}") from None


def _refusal(name: str, content: bytes, known: Mapping[str, int]) -> str | None:
    """Why a member is not taken; ``None`` for a whole cell of a known study."""
    match = re.fullmatch(r"([\w.-]+)/v(\d+)/[0-9a-f]{24}\.json", name)
    if not match:
        return "is not the name of a cell"
    study, version = match[1], int(match[2])
    if known.get(study) != version:
        return f"is of {study} version {version}, which this book does not have"
    try:
        decode(content.decode(), name)
    except (Damaged, UnicodeDecodeError) as error:
        return f"is damaged: {error}"
    return None
