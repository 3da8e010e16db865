"""Where things lie: the one module that knows the book's folders."""

import re
from pathlib import Path

from regimes.validate import InputError


def root() -> Path:
    """The book's folder: the nearest one at or above the working directory with ``chapters``, else this checkout.

    Raises:
        InputError: if there is none.
    """
    for folder in (Path.cwd(), *Path.cwd().parents, Path(__file__).parents[2]):
        if (folder / "chapters" / "profiles").is_dir():
            return folder
    raise InputError("no book here: run this inside a checkout, where chapters/ is")


def chapters_folder() -> Path:
    """The chapters' sources, and the notebooks that a build lays beside them."""
    return root() / "chapters"


def code_folder() -> Path:
    """The sources of the packages that run, the engine's and the companion's."""
    return Path(__file__).parents[1]


def profile_file(profile: str) -> Path:
    """The values by which a profile differs from the laptop's."""
    return chapters_folder() / "profiles" / f"{profile}.toml"


def build_folder(profile: str) -> Path:
    """Executed notebooks, ledgers and pages of one profile."""
    return root() / "build" / profile


def store_folder() -> Path:
    """The cell store where ``$REGIMES_STORE`` names no other."""
    return root() / "build" / "cells"


def run_folder(name: str) -> Path:
    """A run with changed parameters.

    Raises:
        InputError: for a name that is not one plain folder's.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]+", name) or name.startswith((".", "-")):
        raise InputError(
            f"name must be a folder's: letters, digits, '_', '-' and '.', none of '.-' first; got {name!r}"
        )
    return root() / "runs" / name


def results() -> Path:
    """What is kept under version control: the ledger of the last full run, tables at the papers' sizes."""
    return root() / "results"


def paper_ledger() -> Path:
    """What the chapters measured that were run at the paper profile, under version control."""
    return results() / "ledger.paper.json"


def seconds_file(profile: str = "laptop") -> Path:
    """What cells took, by study and setting: the queue begins with the longest, and plans rest on them."""
    return results() / ("seconds.json" if profile == "laptop" else f"seconds.{profile}.json")


def claims_folder() -> Path:
    """The declared claims: a file a chapter, and ``history.yml``."""
    return root() / "book" / "claims"


def errata_file() -> Path:
    """The errata."""
    return root() / "book" / "errata.yml"


def generated() -> Path:
    """Parts of pages that are written from the ledger."""
    return root() / "book" / "_generated"
