"""The full data sets in one command: ``python -m companion.fetch [NAME ...]``, which is ``make data``.

They go into the folder where ``regimes.data.datasets`` looks: ``$REGIMES_DATA``, else ``data/`` of the book. Each
file comes from the first of its addresses that has it, with its published checksum; what is there already is not
fetched again, so that a command that was stopped goes on with the file at which it stood.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from companion import paths
from regimes import validate
from regimes.data import datasets
from regimes.validate import InputError

SECONDS = 30  # for a server to answer


@dataclass(frozen=True)
class Download:
    """A data set as it is published.

    Args:
        files: name -> checksum, as pooch writes it.
        homes: addresses below which the files lie, tried in this order.
        folder: where they go, below that of all data.
        said: what captions and the ledger call the data.
        unpack: whether the file is an archive.
    """

    files: dict[str, str]
    homes: tuple[str, ...]
    folder: str
    said: str
    unpack: bool = False


def _published() -> dict[str, Download]:
    """What ``fetch.toml`` lists."""
    listed = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {name: Download(**entry | {"homes": tuple(entry["homes"])}) for name, entry in listed.items()}


SETS = _published()


def fetch(names: Sequence[str], folder: Path) -> dict[str, str]:
    """Fetches data sets, and says what could not be.

    Args:
        names: of ``SETS``.
        folder: where they go; it is made.

    Returns:
        dict: data set -> why it is not there, of those that are not.

    Raises:
        InputError: for an unknown name, a folder that cannot be made, or where pooch is not installed.
    """
    for name in names:
        validate.one_of(SETS, data=name)
    try:
        import pooch
    except ModuleNotFoundError:
        raise InputError("data sets are fetched by the package pooch: pip install 'regimes-companion[data]'") from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from None
    pooch.get_logger().setLevel("ERROR")  # what could not be fetched is said once, below
    missing = {}
    for name in names:
        wanted = SETS[name]
        reasons = [_one(pooch, file, known, wanted, folder / wanted.folder) for file, known in wanted.files.items()]
        if any(reasons):
            missing[name] = next(filter(None, reasons))
    return missing


def _one(pooch, file: str, known: str, wanted: Download, folder: Path) -> str | None:
    """One file from the first home that has it; else why the last one did not give it."""
    reason = None
    unpack = {".zip": pooch.Unzip, ".gz": pooch.Untar}[Path(file).suffix](extract_dir=".") if wanted.unpack else None
    for home in wanted.homes:
        ask = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=SECONDS)
        try:
            pooch.retrieve(f"{home}/{file}", known, fname=file, path=folder, processor=unpack, downloader=ask)
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            wrong = isinstance(error, ValueError)
            reason = f"{file} of {home} " + ("is not the published one" if wrong else "could not be fetched")
        else:
            return None
    return reason


def judged(name: str) -> list[str]:
    """The claims whose records in ``results/ledger.json`` rest on a data set: stored results judge them without it."""
    file = paths.results() / "ledger.json"
    records = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return [record["id"] for record in records if SETS[name].said in str(record["data"])]


def main(args: Sequence[str] | None = None) -> int:
    """The command; its exit code is 0 where all is there, else 1, and 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m companion.fetch", description="Fetches full data sets.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SETS)} (default: all)")
    chosen = parser.parse_args(args).names or list(SETS)
    try:
        folder = datasets.default_folder()
        missing = fetch(chosen, folder)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name in chosen:
        if name not in missing:
            print(f"{name}: {folder / SETS[name].folder}")
    if missing:
        parts = []
        for name, why in missing.items():
            claims = judged(name)
            stead = f"the stored results judge {', '.join(claims)}" if claims else "no claim of the ledger rests on it"
            parts.append(f"{name} ({why}; {stead})")
        print(f"missing: {'; '.join(parts)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
