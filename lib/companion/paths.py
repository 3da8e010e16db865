"""The book's folders, which no other module names."""

import re
from pathlib import Path

from regimes import validate
from regimes.validate import InputError


def root() -> Path:
    """The book's folder: the nearest one at or above the working directory with ``chapters``, else this checkout."""
    for folder in (Path.cwd(), *Path.cwd().parents, Path(__file__).parents[2]):
        if (folder / "chapters" / "designs").is_dir():
            return folder
    raise InputError("no book here: run this inside a checkout, where chapters/ is")


def chapters_folder() -> Path:
    """The chapters' sources, and the notebooks that a build puts beside them."""
    return root() / "chapters"


def designs_file(number: str) -> Path:
    """The designs of a chapter's studies, and the values in which its profiles differ from the laptop's."""
    return chapters_folder() / "designs" / f"{number}.toml"


def papers() -> Path:
    """The code of the papers, a folder each."""
    return Path(__file__).parent / "papers"


def build_folder(profile: str) -> Path:
    """Executed notebooks, ledgers and pages of one profile."""
    return root() / "build" / profile


def run_folder(name: str) -> Path:
    """A run with changed parameters."""
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name):
        allowed = "at most 100 letters, digits, '_', '-' and '.', none of '.-' first"
        raise InputError(f"name must be a folder's: {allowed}; got {validate.shown(name)}")
    return root() / "runs" / name


def results() -> Path:
    """Results under version control: the ledger of the last full run, and stored tables."""
    return root() / "results"


def paper_ledger() -> Path:
    """The measurements of chapters run at the paper profile, under version control."""
    return results() / "ledger.paper.json"


def seconds_file(profile: str = "laptop") -> Path:
    """The seconds that cells took, by study and setting, for the order of the queue and for plans."""
    return results() / ("seconds.json" if profile == "laptop" else f"seconds.{profile}.json")


def errata_file() -> Path:
    """The errata."""
    return root() / "book" / "errata.yml"


def generated() -> Path:
    """Parts of pages that are written from the ledger."""
    return root() / "book" / "_generated"
