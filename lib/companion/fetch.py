"""The full data sets in one command: ``python -m companion.fetch [NAME ...]``, which is ``make data``.

They go into the folder that ``regimes.data.datasets`` reads: ``$REGIMES_DATA``, else ``data/`` of the book. Each file
comes from the first of its addresses that has it, and its published checksum is checked. Files that exist are not
fetched again, so that a stopped command resumes.
"""

import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
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
    reason, place, checksum = None, folder / wanted["folder"], wanted["files"][file]
    unpack = {".zip": pooch.Unzip, ".gz": pooch.Untar}[Path(file).suffix](extract_dir=".") if wanted["unpack"] else None
    for home in wanted["homes"]:
        ask = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=SECONDS)
        try:
            pooch.retrieve(f"{home}/{file}", checksum, fname=file, path=place, processor=unpack, downloader=ask)
            return None
        except OSError:  # and all of requests' errors
            reason = f"{file} of {home} could not be fetched"
        except ValueError:  # another checksum
            reason = f"{file} of {home} is not the published one"
    return reason


def _instead(name: str) -> str:
    """The claims of ``results/ledger.json`` on a data set, which stored results judge without it."""
    records = ledger.read(paths.results() / "ledger.json")
    named = rf"(?<![\w-]){re.escape(SETS[name]['said'])}"
    claims = ", ".join(record["id"] for record in records if re.search(named, str(record["data"])))
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
