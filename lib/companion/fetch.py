"""The full data sets in one command: ``python -m companion.fetch [NAME ...]``, which is ``make data``.

They go into the folder that ``regimes.data.datasets`` reads: ``$REGIMES_DATA``, else ``data/`` of the book. Each file
comes from the first of its addresses that has it, and its published checksums are checked before it is unpacked. Files
that exist are not fetched again, so that a stopped command resumes.
"""

import functools
import hashlib
import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from companion import paths
from companion.book import ledger
from companion.lab.cli import Parser, one_line_errors
from regimes import validate
from regimes.data import datasets
from regimes.validate import InputError

SECONDS = 30  # for a server to answer
SETS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def fetch(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Fetches data sets of ``SETS`` into ``folder``, which is created; returns the reason for each that failed."""
    for name in names:
        validate.one_of(SETS, data=name)
    try:
        import pooch
    except ModuleNotFoundError:
        raise InputError("data sets are fetched by the package pooch: pip install 'regimes-companion[data]'") from None
    folder.mkdir(parents=True, exist_ok=True)
    pooch.get_logger().setLevel("ERROR")  # what could not be fetched is said once, below
    reasons = {name: [_one(pooch, file, SETS[name], folder) for file in SETS[name]["files"]] for name in names}
    return {name: next(filter(None, of_files)) for name, of_files in reasons.items() if any(of_files)}


def _one(pooch, file: str, wanted: Mapping[str, Any], folder: Path) -> str | None:
    """One file from the first home that has it, or the reason why the last one failed."""
    reason, place, checksums = None, folder / wanted["folder"], wanted["files"][file]
    strongest = next(reversed(checksums))

    def accept(path: str, action: str, _) -> None:
        _check(Path(path), checksums)
        if wanted["unpack"]:
            _unpack(Path(path))

    for home in wanted["homes"]:
        ask = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=SECONDS)
        known = f"{strongest}:{checksums[strongest]}"
        try:
            pooch.retrieve(f"{home}/{file}", known, fname=file, path=place, processor=accept, downloader=ask)
            return None
        except OSError:  # and all of requests' errors
            reason = f"{file} of {home} could not be fetched"
        except ValueError:  # another checksum
            reason = f"{file} of {home} is not the published one"
    return reason


def _check(path: Path, checksums: Mapping[str, str]) -> None:
    """ValueError, and the file is gone, unless it has all of its checksums: pooch compares one."""
    for method, digest in checksums.items():
        with path.open("rb") as file:
            if hashlib.file_digest(file, method).hexdigest() != digest:
                path.unlink()
                raise ValueError


def _unpack(archive: Path) -> None:
    """Writes the plain files of a zip or tar beside it, but those that are there; nothing else, and nowhere else.

    Python 3.11's tarfile takes links and names that lead out of the folder unless it is told, and pooch tells it from
    Python 3.12 on, not in all of its versions.
    """
    folder = archive.parent.resolve()
    for name, size, content in _members(archive):
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise ValueError
        if not path.is_file() or path.stat().st_size != size:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content())


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Name, size and content of each plain file."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for member in packed.infolist():
                if not member.is_dir():
                    yield member.filename, member.file_size, functools.partial(packed.read, member)
    else:
        with tarfile.open(archive) as packed:
            for entry in packed:
                if entry.isfile():
                    yield entry.name, entry.size, packed.extractfile(entry).read


def _instead(name: str) -> str:
    """The claims of ``results/ledger.json`` on a data set, which stored results judge without it."""
    entries = ledger.read(paths.results() / "ledger.json")
    named = rf"(?<![\w-]){re.escape(SETS[name]['said'])}"
    claims = ", ".join(entry["id"] for entry in entries if re.search(named, str(entry["data"])))
    return f"the stored results judge {claims}" if claims else "no claim of the ledger rests on it"


def main(args: Sequence[str] | None = None) -> int:
    """The command; its exit code is 0 if all data are there, 1 if not, and 2 for bad input."""
    parser = Parser(prog="python -m companion.fetch", description="Fetches full data sets.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SETS)} (default: all)")
    chosen = parser.parse_args(args).names or list(SETS)
    with one_line_errors():
        folder = datasets.default_folder()
        missing = fetch(chosen, folder)
    for name in chosen:
        if name not in missing:
            print(f"{name}: {folder / SETS[name]['folder']}")
    if missing:
        reasons = [f"{name} ({why}; {_instead(name)})" for name, why in missing.items()]
        print(f"missing: {'; '.join(reasons)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
