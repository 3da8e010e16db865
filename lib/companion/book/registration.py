"""The registered run: every claim is declared, then all of its rows are drawn anew, once, and decide.

``results/registered.json`` is written from a commit before the first of its cells is computed. It holds for each claim
the digest of what it computes with, its band and its rival, for each study its code and the settings and seeds of its
designs. The seeds are reserved (``companion.lab.draws``). Cells go to ``results/registered/``, a file a study, as they
are computed; nobody looks at their numbers before all are there.
"""

import functools
import json
import math
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from companion import estimates, paths
from companion.book import everywhere, ledger
from companion.book.claims import Claim, Page, all_claims
from companion.estimates import Estimate
from companion.lab import catalogue, draws, parameters, schedule
from companion.lab.progress import say
from companion.lab.results import SUFFIX, Results, write_results
from companion.lab.store import Cell, Store, committed, needs_commit, revision, write_atomically
from companion.lab.study import Study
from companion.lab.sweep import cells
from companion.lab.verify import in_order
from regimes.validate import InputError

KEPT = ("id", "value", "low", "high", "n", "interval", "verdict")  # of an exploratory entry
ROUND = 600.0  # seconds of a run after which what is finished is written


def folder() -> Path:
    """The cells of the registered run, until all are there."""
    return paths.results() / "registered"


def registered() -> dict[str, Any]:
    """What is registered; empty if nothing is."""
    return json.loads(draws.registered_file().read_text(encoding="utf-8")) if draws.registered_file().exists() else {}


@dataclass(frozen=True)
class Refusal:
    """Why a claim cannot be registered."""

    claim: str
    why: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.why}"


def refusals(page_of: Mapping[str, Page], *, kept: Mapping[str, Mapping[str, Any]]) -> Iterator[Refusal]:
    """Why claims cannot be registered, one by one: no measurement, other code, too few seeds, unnamed conditions.

    Args:
        page_of: has the rows of each chapter that is looked at, by its number.
        kept: the entries of the ledger of exploratory rows, by their claims.
    """
    for number, claim in all_claims():
        if number not in page_of:
            continue
        entry = kept.get(claim.id)
        if entry is None or (entry["value"] is None and entry["settings"]):
            yield Refusal(claim.id, "it was never measured")
            continue
        if entry["digest"] != claim.measured_by["digest"]:
            yield Refusal(claim.id, "its code is not that of its entry in the ledger: publish the ledger first")
        if why := _too_few(claim, entry):
            yield Refusal(claim.id, why)
        found = everywhere.everywhere(claim, page_of[number], kept=entry)
        for other in everywhere.unnamed(claim, *found) if found else ():
            yield Refusal(claim.id, f"{other.rows} gives {other.estimate}, and its words do not name this condition")


def _too_few(claim: Claim, entry: Mapping[str, Any]) -> str:
    """That the designs of a claim have too few seeds to decide its band; empty if they have enough."""
    if entry["value"] is None:
        return ""
    needed = max(estimates.seeds_to_decide(it, claim.accept, claim.alternative["value"]) for it in estimates_of(entry))
    if needed <= (drawn := planned(claim, entry["n"])):
        return ""
    words = f"{needed}" if math.isfinite(needed) else f"more than {estimates.MOST}"
    return f"{words} seeds would decide its band in nine of ten draws, and it has {drawn}"


def planned(claim: Claim, n: int) -> int:
    """How many realisations a claim will have in the registered run, by the ``n`` that it has on what is stored."""
    stored, registered = [], []
    for study, designs in claim.designs.items():
        number = catalogue.find(study.name)[0]
        for values, fewest in ((_stored(number), stored), (_values(number), registered)):
            for design in study.grid.names(values) if "" in designs else designs:  # one without a name stands for all
                fewest.append(min(map(len, study.grid.values(values, design)["seeds"])))
    return n * min(registered) // min(stored) if stored and min(stored) else n


def estimates_of(entry: Mapping[str, Any]) -> Iterator[Estimate]:
    """What an entry measured: over all sizes, and over the larger ones alone."""
    for one in (entry, entry["late"]):
        if one:
            low, high = (sign * math.inf if one[end] is None else one[end] for end, sign in (("low", -1), ("high", 1)))
            yield Estimate(one["value"], low, high, entry["n"], entry["interval"])


def register() -> dict[str, Any]:
    """Writes what is registered, from committed code.

    Raises:
        InputError: if the code is in no commit, or cells of an earlier registration are not judged yet.
    """
    needs_commit("a registration")
    if folder().exists():
        raise InputError(f"{folder()} holds cells of an earlier registration: judge or remove them first")
    entries = {
        "revision": revision(),
        "first seed": draws.RESERVED,
        "claims": {claim.id: _declaration(claim) for _, claim in all_claims()},
        "studies": {study.name: _plan(number, study) for number, study in _studies()},
    }
    write_atomically(draws.registered_file(), json.dumps(entries, indent=1, ensure_ascii=False))
    return entries


def _declaration(claim: Claim) -> dict[str, Any]:
    """What of a claim its rows must not change."""
    entry = ledger.entry_of(claim)
    names = ("kind", "statement", "accept", "corrected", "alternative", "stated", "at", "headline", "digest")
    known = {name: entry[name] for name in names if name in entry}
    designs = {study.name: sorted(designs) for study, designs in claim.designs.items()}
    return known | {"profiles": list(claim.profiles), "designs": designs}


def _studies() -> Iterator[tuple[str, Study]]:
    for number in catalogue.modules():
        for study in catalogue.of(number).values():
            yield number, study


def _stored(number: str) -> dict[str, Any]:
    """A chapter's parameters at the sizes that are judged: the laptop's with what is stored beside them."""
    return parameters.resolve(number, "laptop", parameters.designs(number, "stored"))


def _values(number: str) -> dict[str, Any]:
    """These with what the registered run draws in place of what is stored."""
    return parameters.resolve(
        number, "laptop", parameters.designs(number, "stored"), parameters.designs(number, "registered")
    )


def _plan(number: str, study: Study) -> dict[str, Any]:
    """A study's code and tolerances, and what its designs draw."""
    values = _values(number)
    with draws.drawn_from():
        designs = {design: study.grid.values(values, design) for design in study.grid.names(values)}
    tolerances = {"rtol": study.rtol} | dict(study.columns)
    return {"version": study.version, "digest": study.code.digest, "tolerances": tolerances, "designs": designs}


def asked(number: str, study: Study) -> dict[str, Cell]:
    """The cells that the registered run draws of a study, by their keys."""
    values = _values(number)
    with draws.drawn_from():
        return in_order(cells(study, catalogue.grids(number, values, study)[study]))


def needs_registration() -> dict[str, Any]:
    """What is registered, if the claims and studies of this tree are what was registered.

    Raises:
        InputError: if nothing is registered, it is in no commit, or a claim or a study has changed since.
    """
    known = registered()
    if not known:
        raise InputError("nothing is registered: python -m companion register")
    needs_commit("cells of a registered run")
    if not is_tracked(draws.registered_file()):
        raise InputError(f"{draws.registered_file().name} is in no commit: commit it before its first cell")
    now = {claim.id: claim.measured_by["digest"] for _, claim in all_claims()}
    changed = [name for name, claim in known["claims"].items() if now.get(name) != claim["digest"]]
    codes = {study.name: (study.version, study.code.digest) for _, study in _studies()}
    changed += [name for name, it in known["studies"].items() if codes.get(name) != (it["version"], it["digest"])]
    if changed:
        raise InputError(f"{len(changed)} claims or studies are not as they were registered: {', '.join(changed[:5])}")
    return known


@dataclass(frozen=True)
class Done:
    """How far the registered run is with a study."""

    study: Study
    cells: int
    finished: int
    seconds_left: float


def progress() -> list[Done]:
    """How far the registered run is, study by study, the longest first."""
    found = []
    for number, study in _studies():
        wanted, held = asked(number, study), _held(study)
        Results.of(study)  # which knows what its settings take
        left = [cell for key, cell in wanted.items() if key not in held.finished]
        seconds = sum(map(schedule.seconds, schedule.chunks({study.name: study}, left))) if left else 0.0
        found.append(Done(study, len(wanted), len(wanted) - len(left), seconds))
    return sorted(found, key=lambda one: -one.seconds_left)


def _held(study: Study) -> Results:
    """The cells of a study that the registered run has computed."""
    return Results(study, folder() / f"{study.name}{SUFFIX}")


def run(*, budget: float | None = None, jobs: int | None = None) -> list[Done]:
    """Computes the registered cells that are not there, the longest first, and writes them as it goes.

    Args:
        budget: seconds after which no further cell is begun; ``None`` for all.
        jobs: worker processes, by default one per core.

    Returns:
        How far it is. No number that a claim judges is printed.
    """
    needs_registration()
    folder().mkdir(parents=True, exist_ok=True)
    end = math.inf if budget is None else time.monotonic() + budget
    wanted = {study: asked(number, study) for number, study in _studies()}
    for study in wanted:
        Results.of(study)  # which knows what its settings take: the longest go first
    store = Store.default()
    while True:
        left = {study: _missing(study, keys) for study, keys in wanted.items()}
        left = {study: missing for study, missing in left.items() if missing}
        remaining = end - time.monotonic()
        if not left or remaining <= 0:
            return progress()
        schedule.fill(left, store, budget=min(ROUND, remaining), jobs=jobs)
        for study in left:
            _write(study, wanted[study], store)


def judge() -> dict[str, Any]:
    """Puts the registered cells in place of the exploratory ones, on which the book is judged from then on.

    What the ledger of these found stays in ``results/exploratory.json``.

    Raises:
        InputError: if a cell is missing, or comes from code that is older than the registration.
    """
    known = needs_registration()
    if left := [one for one in progress() if one.finished < one.cells]:
        raise InputError(f"{left[0].study.name} has {left[0].finished} of {left[0].cells} cells: register --run")
    for _, study in _studies():
        for result in _held(study).finished.values():
            if not descends(result.provenance["revision"], known["revision"]):
                raise InputError(f"{result.cell.description} comes from code that is older than its registration")
    before = [{name: entry[name] for name in KEPT} for entry in ledger.read(paths.results() / "ledger.json")]
    ledger.write(paths.results() / "exploratory.json", before)
    for file in sorted(folder().glob(f"*{SUFFIX}")):
        file.replace(paths.results() / file.name)
    folder().rmdir()
    write_atomically(draws.registered_file(), json.dumps(known | {"judged": revision()}, indent=1, ensure_ascii=False))
    return known


def is_tracked(path: Path) -> bool:
    """Whether git knows a file: one that it does not is no change of the checkout."""
    git = ["git", "-C", str(paths.root()), "ls-files", "--error-unmatch", str(path)]
    return subprocess.run(git, capture_output=True).returncode == 0


@functools.cache
def descends(later: str, earlier: str) -> bool:
    """Whether a commit is another one, or descends from it."""
    git = ["git", "-C", str(paths.root()), "merge-base", "--is-ancestor", earlier, later]
    return subprocess.run(git, capture_output=True).returncode == 0


def _missing(study: Study, wanted: Mapping[str, Cell]) -> Sequence[Cell]:
    held = _held(study)
    return [cell for key, cell in wanted.items() if key not in held.finished]


def _write(study: Study, wanted: Mapping[str, Cell], store: Store) -> None:
    """Writes the cells of a study that are there, of those that are wanted."""
    known = _held(study).finished
    found = {key: known.get(key) or store.load(cell) for key, cell in wanted.items()}
    finished = [result for result in found.values() if result is not None]
    if loose := [result for result in finished if not committed(result.provenance["revision"])]:
        raise InputError(f"{loose[0].cell.description} comes from code that no commit holds")
    if len(finished) > len(known):
        write_results(study, finished, folder() / f"{study.name}{SUFFIX}")
        say(f"{study.name}: {len(finished)} of {len(wanted)} cells")
