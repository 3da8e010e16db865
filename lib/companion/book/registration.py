"""The registered run: every claim is declared, then all of its rows are drawn anew, once, and decide.

``results/registered.json`` is written from a commit before the first of its cells is computed. It holds for each claim
the digest of what it computes with, its band and its rival, for each study its code and the settings and seeds of its
designs. The seeds are reserved (``companion.lab.draws``). Cells go to ``results/registered/``, a file a study, as they
are computed; nobody looks at their numbers before all are there.
"""

import contextlib
import datetime
import functools
import gzip
import json
import math
import subprocess
import time
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import pandas as pd

from companion import estimates, paths
from companion.book import everywhere, ledger
from companion.book.claims import Claim, Page, all_claims
from companion.data.images import identity
from companion.lab import catalogue, draws, parameters, schedule
from companion.lab.progress import say
from companion.lab.results import SUFFIX, Results, files, write_results
from companion.lab.store import Cell, Store, committed, needs_commit, revision, write_atomically
from companion.lab.study import Study
from companion.lab.sweep import cells
from companion.lab.verify import in_order
from companion.lab.workers import Chunk
from regimes.data import datasets
from regimes.data.datasets import Absent
from regimes.validate import InputError

FROZEN = ("kind", "accept", "corrected", "alternative", "stated", "at", "digest", "profiles", "designs")  # of a claim
DECLARED = {"accept": "band", "corrected": "corrected band", "alternative": "rival", "stated": "stated number"}
KEPT = ("id", "value", "low", "high", "n", "interval", "verdict")  # of an exploratory entry
ROUND = 600.0  # seconds of a run after which what is finished is written
NOTHING: Mapping[str, Any] = {"data": {}, "cells": {}}  # of a study
# of each data set that is drawn from
SEEN = "finite: split anew, at seeds of its own, but the exploratory rows drew from it, too; no point of it is new"


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
    """Why claims cannot be registered, one by one.

    No measurement; other code; too few seeds; seeds known by their numbers; unnamed conditions.

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
        if claim.tables and entry["value"] is not None and not _reads_reserved(claim, page_of[number]):
            yield Refusal(claim.id, "it finds nothing on reserved seeds: it knows seeds by their numbers")
        found = everywhere.everywhere(claim, page_of[number], kept=entry)
        for other in everywhere.unnamed(claim, *found) if found else ():
            yield Refusal(claim.id, f"{other.rows} gives {other.estimate}, and its words do not name this condition")


def _too_few(claim: Claim, entry: Mapping[str, Any]) -> str:
    """That the designs of a claim have too few seeds to decide its band; empty if they have enough."""
    if entry["value"] is None:
        return ""
    found = ledger.estimates_of(entry)
    needed = max(estimates.seeds_to_decide(one, claim.accept, claim.alternative["value"]) for one in found)
    if needed <= (drawn := planned(claim, entry["n"])):
        return ""
    words = f"{needed}" if math.isfinite(needed) else f"more than {estimates.MOST}"
    return f"{words} seeds would decide its band in nine of ten draws, and it has {drawn}"


@dataclass(frozen=True)
class Moved:
    """A page whose rows have reserved seeds in place of their own."""

    page: Page

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the page."""
        return self.page.parameters

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""
        return moved(self.page.rows(study, design))


def moved(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows as if their seeds were reserved ones: what is measured on them may not hang on that."""
    return rows.assign(seed=rows.seed + draws.RESERVED) if "seed" in rows else rows.copy()


def _reads_reserved(claim: Claim, page: Page) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):
            return claim.measured(Moved(page)) is not None
    except Exception:  # of rows that it does not find anything may fail
        return False


def planned(claim: Claim, n: int) -> int:
    """How many realisations a claim will have in the registered run, by the ``n`` that it has on what is stored.

    As many as the least of the designs that have as many or more now; where none has ``n``, which then counts something
    else, as many times ``n`` as the design does that changes least.
    """
    counts = []
    for study, designs in claim.designs.items():
        number = catalogue.find(study.name)[0]
        for design in study.grid.names(_values(number)) if "" in designs else designs:
            both = [study.grid.values(values, design)["seeds"] for values in (_stored(number), _values(number))]
            counts.append([min(map(len, seeds)) for seeds in both])
    if any(stored == n for stored, _ in counts):
        return min(registered for stored, registered in counts if stored >= n)
    return math.floor(min((n * registered / stored for stored, registered in counts if stored), default=n))


def register() -> dict[str, Any]:
    """Writes what is registered, from committed code.

    A design is registered where the data of its stored rows are, so that the run changes nothing but the draws; a
    second call, on a machine with other data, adds those that the first one lacked (``unregistered``).

    Raises:
        InputError: if the code is in no commit, was registered as it was then, or cells of an earlier registration are
            not judged yet.
    """
    needs_commit("a registration")
    if folder().exists():
        raise InputError(f"{folder()} holds cells of an earlier registration: judge or remove them first")
    before = registered()
    if before and "judged" not in before:
        if changed := changes(before):
            raise InputError(f"{changed[0]} is not as it was registered: remove {draws.registered_file().name} first")
    else:
        before = {}
    known = before.get("studies", {})
    studies = {study.name: _plan(number, study, known.get(study.name, NOTHING)) for number, study in _studies()}
    entries = {
        "revision": before.get("revision") or revision(),
        "date": before.get("date") or datetime.date.today().isoformat(),
        "first seed": draws.of_run(),
        "before": draws.of_book(),
        "data": before.get("data", {})
        | {one: SEEN for plan in studies.values() for one in filter(_is_finite, plan["cells"])},
        "claims": {claim.id: _declaration(claim) for _, claim in all_claims()},
        "studies": studies,
    }
    write_atomically(draws.registered_file(), json.dumps(entries, indent=1, ensure_ascii=False))
    return entries


def unregistered(known: Mapping[str, Any]) -> list[str]:
    """The designs that are not registered yet, because their data are on another machine: ``study, design``."""
    return [
        f"{name}, {design}"
        for name, plan in known["studies"].items()
        for design in plan["designs"]
        if design not in plan["data"]
    ]


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


def _plan(number: str, study: Study, known: Mapping[str, Any]) -> dict[str, Any]:
    """A study's code and tolerances, what its designs draw, and of those whose data are here the data and the cells.

    ``known``: what of it was registered elsewhere.
    """
    designs = _designs(number, study)
    stored = catalogue.kept_cells(number, Results.of(study))
    found: dict[str, dict[str, Cell]] = {}
    for design in designs.keys() - known["data"].keys():
        if all(catalogue.is_here(cell.setting) for cell in stored.get(design, {}).values()):
            with contextlib.suppress(Absent):
                found[design] = _drawn(number, study, [design])
    data = {design: sorted({_words(cell) for cell in own.values()}) for design, own in found.items()} | known["data"]
    before = _drawn(number, study, [name for name, words in known["data"].items() if all(map(_is_here, words))])
    every = before | {key: cell for own in found.values() for key, cell in own.items()}
    counts = Counter(map(_words, every.values())) | Counter(known["cells"])  # the larger of both
    return {
        "version": study.version,
        "digest": study.code.digest,
        "tolerances": {"rtol": study.rtol} | dict(study.columns),
        "designs": designs,
        "data": {design: data[design] for design in designs if design in data},
        "cells": dict(sorted(counts.items())),
    }


def _designs(number: str, study: Study) -> dict[str, Any]:
    """What the registered run draws of each design of a study: the values of its axes, and its seeds."""
    values = _values(number)
    with draws.drawn_from(draws.of_run()):
        return {design: study.grid.values(values, design) for design in study.grid.names(values)}


def _words(cell: Cell) -> str:
    """What the data of a cell are called; empty for those that are drawn."""
    named = cell.setting.get("words") or cell.setting.get("data")
    return named if isinstance(named, str) else ""


def _is_finite(words: str) -> bool:
    """Whether data are of a data set, of which there are so many points and no more."""
    for name in datasets.NAMES:
        with contextlib.suppress(InputError):
            if identity(name) in words:
                return True
    return False


def _drawn(number: str, study: Study, designs: Iterable[str]) -> dict[str, Cell]:
    """The cells that the registered run draws of some designs of a study, by their keys."""
    values = _values(number)
    with draws.drawn_from(draws.of_run()):
        grid = [one for design in designs for one in study.grid.settings(values, design)]
        return in_order(cells(study, grid)) if grid else {}


def asked(number: str, study: Study, known: Mapping[str, Any]) -> dict[str, Cell]:
    """The cells that the registered run draws of a study with the data of this machine, by their keys.

    Args:
        number: the study's chapter.
        study: one that is registered.
        known: what is registered.
    """
    data = known["studies"][study.name]["data"]
    return _drawn(number, study, [name for name, words in data.items() if all(map(_is_here, words))])


def _is_here(words: str) -> bool:
    return catalogue.is_here({"words": words})


def changes(known: Mapping[str, Any]) -> list[str]:
    """The claims and studies of this tree that are not what was registered, by name: code, bands, rivals, designs."""
    now = {claim.id: json.loads(json.dumps(_declaration(claim))) for _, claim in all_claims()}
    changed = [name for name, claim in known["claims"].items() if _frozen(now.get(name, {})) != _frozen(claim)]
    plans = {
        study.name: {"version": study.version, "digest": study.code.digest, "designs": _designs(number, study)}
        for number, study in _studies()
    }
    return changed + [name for name, it in known["studies"].items() if not _same(it, plans.get(name, {}))]


def _same(known: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    """Whether a study is what was registered of it; a design that is new is not drawn, and no change."""
    if any(known[part] != plan.get(part) for part in ("version", "digest")):
        return False
    designs = {name: plan["designs"].get(name) for name in known["designs"]}
    # as text, in which values that are not numbers are equal, too
    return json.dumps(designs, sort_keys=True) == json.dumps(known["designs"], sort_keys=True)


def _frozen(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {name: declaration.get(name) for name in FROZEN}


def needs_registration() -> dict[str, Any]:
    """What is registered, if the claims and studies of this tree are what was registered.

    Raises:
        InputError: if nothing is registered, or not all, it is in no commit, or a claim or a study has changed since.
    """
    known = registered()
    if not known:
        raise InputError("nothing is registered: python -m companion register")
    if left := unregistered(known):
        where = "register again where its data are ($REGIMES_DATA)"
        raise InputError(f"{len(left)} designs are not registered yet, {left[0]} among them: {where}")
    needs_commit("cells of a registered run")
    if not is_tracked(draws.registered_file()):
        raise InputError(f"{draws.registered_file().name} is in no commit: commit it before its first cell")
    if changed := changes(known):
        raise InputError(f"{len(changed)} claims or studies are not as they were registered: {', '.join(changed[:5])}")
    return known


@dataclass(frozen=True)
class Done:
    """How far the registered run is with a study.

    Attributes:
        name: the study's.
        cells: how many are registered.
        finished: how many are there.
        seconds_left: what those take that lack, and whose data are on this machine.
        elsewhere: how many lack whose data are on another machine.
    """

    name: str
    cells: int
    finished: int
    seconds_left: float
    elsewhere: int


def progress(names: Collection[str] = ()) -> list[Done]:
    """How far the registered run is, study by study, the longest first; by default with all studies."""
    known, found = registered(), []
    for number, study in _studies():
        if names and study.name not in names:
            continue
        wanted, held = asked(number, study, known), _held(study)
        Results.of(study)  # which knows what its settings take
        left = [cell for key, cell in wanted.items() if key not in held.finished]
        seconds = sum(map(schedule.seconds, schedule.chunks({study.name: study}, left))) if left else 0.0
        count = sum(known["studies"][study.name]["cells"].values())
        found.append(Done(study.name, count, len(held.finished), seconds, count - len(held.finished) - len(left)))
    return sorted(found, key=lambda one: -one.seconds_left)


def counted() -> dict[str, int]:
    """The cells of each study that the registered run has written, without looking into them."""
    texts = {path: gzip.decompress(path.read_bytes()) for path in sorted(folder().glob(f"*{SUFFIX}"))}
    return {path.name.removesuffix(SUFFIX): text.count(b"\n") for path, text in texts.items()}


def is_running() -> bool:
    """Whether claims are registered, and not judged yet."""
    known = registered()
    return bool(known) and "judged" not in known


def running(claim: Claim) -> str:
    """How far the registered run is with the studies of a claim, in words, without a number that it finds."""
    if claim.id not in registered()["claims"]:
        return "not registered: declared after the registration"
    if not claim.designs:
        return "registered: a computation without draws"
    done = progress({study.name for study in claim.designs})
    finished, wanted = sum(one.finished for one in done), sum(one.cells for one in done)
    return f"registered, running: {finished} of {wanted} cells of {', '.join(sorted(one.name for one in done))}"


def _held(study: Study) -> Results:
    """The cells of a study that the registered run has computed."""
    return Results(study, folder() / f"{study.name}{SUFFIX}")


def run(*, budget: float | None = None, jobs: int | None = None) -> list[Done]:
    """Computes the registered cells that are not there, the longest first, and writes them as it goes.

    What was computed and not written before a run was killed is in the store, and is taken from there.

    Args:
        budget: seconds after which no further cell is begun; ``None`` for all.
        jobs: worker processes, by default one per core.

    Returns:
        How far it is. No number that a claim judges is printed.
    """
    known, wanted = needs_registration(), {}
    folder().mkdir(parents=True, exist_ok=True)
    for number, study in _studies():
        Results.of(study)  # which knows what its settings take: the longest go first
        wanted[study] = asked(number, study, known)
    writing = _Writing(wanted, Store.default(), jobs or joblib.cpu_count())
    try:
        if writing.left:
            left = {study: [*by_key.values()] for study, by_key in writing.left.items()}
            schedule.fill(left, writing.store, budget=budget, jobs=jobs, done=writing.note)
    finally:
        writing.write()
    return progress()


class _Writing:
    """The cells of a run, which go to their files every ``ROUND`` seconds; at first those that are in the store.

    Attributes:
        wanted: the cells of each study by their keys.
        store: where they are kept as soon as they are computed.
        jobs: worker processes.
        left: those that are not there.
    """

    def __init__(self, wanted: Mapping[Study, Mapping[str, Cell]], store: Store, jobs: int) -> None:
        self.wanted, self.store, self.jobs = wanted, store, jobs
        self.written, self.new = time.monotonic(), {*wanted}  # studies with cells that may not be in their files
        held = self.write()
        lacking = {it: {key: cell for key, cell in wanted[it].items() if key not in held[it]} for it in wanted}
        self.left = {study: by_key for study, by_key in lacking.items() if by_key}

    def note(self, chunk: Chunk) -> None:
        """Cells are in the store."""
        self.new.add(chunk.study)
        for cell in chunk.cells:
            self.left[chunk.study].pop(cell.key(), None)
        if time.monotonic() - self.written > ROUND:
            self.write()
            self.written = time.monotonic()
            say(f"registered run: {sum(map(len, self.left.values()))} cells left, about {self.hours():.1f} h")

    def hours(self) -> float:
        """What the cells that are left take on all workers."""
        by_name = {study.name: study for study in self.left}
        cells_left = [cell for by_key in self.left.values() for cell in by_key.values()]
        return sum(map(schedule.seconds, schedule.chunks(by_name, cells_left))) / self.jobs / 3600

    def write(self) -> dict[Study, Collection[str]]:
        """Writes what is in the store and in no file; returns the keys of what the files then hold."""
        held = {study: _write(study, self.wanted[study], self.store) for study in self.new}
        self.new.clear()
        return held


def judge(because: str = "") -> dict[str, Any]:
    """Puts the registered cells in place of the exploratory ones, on which the book is judged from then on.

    Those of studies on which no claim rests, and of which no results are stored, are left to the history: pictures.

    What the ledger of these found stays in ``results/exploratory.json``; the rows stay in the history, at its commit.

    Args:
        because: why cells come from other code than was registered, if some do; their page says it.

    Raises:
        InputError: if a cell is missing, comes from a commit that does not hold this registration, or from other code
            than was registered without a ``because``.
    """
    known = needs_registration()
    held = {study: _held(study).finished for _, study in _studies()}
    for study, finished in held.items():
        count = sum(known["studies"][study.name]["cells"].values())
        if len(finished) != count:
            raise InputError(f"{study.name} has {len(finished)} of {count} cells: register --run")
        for result in finished.values():
            made_at = result.provenance["revision"]
            if not descends(made_at, known["revision"]) or declared_at(made_at) != known:
                raise InputError(f"{result.cell.description} comes from code that is older than its registration")
    others = [
        f"{study.name}, {result.cell.description}"
        for study, finished in held.items()
        for result in finished.values()
        if result.provenance["digest"] != known["studies"][study.name]["digest"]
    ]
    if bool(others) != bool(because):
        which = "; ".join([f"{len(others)} cells come from other code than was registered", *others[:3]])
        raise InputError(f"{which}: because must say why, and only then, got {because!r}")
    kept = {study.name for _, claim in all_claims() for study in claim.designs} | catalogue.stored_sizes().keys()
    before = [{name: entry[name] for name in KEPT} for entry in ledger.read(paths.results() / "ledger.json")]
    ledger.write(paths.results() / "exploratory.json", before)
    for file in files().values():
        file.unlink()
    for file in sorted(folder().glob(f"*{SUFFIX}")):
        if file.name.removesuffix(SUFFIX) in kept:
            file.replace(paths.results() / file.name)
        else:
            file.unlink()
    folder().rmdir()
    made = [result.provenance for finished in held.values() for result in finished.values()]
    known |= {"core hours": round(sum(it["seconds"] for it in made) / 3600, 1)}
    known |= {"devices": sorted({it["device"] for it in made}), "judged": revision()}
    known |= {"deviations": {"cells": others, "because": because}} if others else {}
    write_atomically(draws.registered_file(), json.dumps(known, indent=1, ensure_ascii=False))
    return known


def note_found(entries: Iterable[Mapping[str, Any]]) -> None:
    """Notes what each claim found on the registered rows, by the code that was registered; once, after they are judged.

    Args:
        entries: of the first ledger that is published then.
    """
    known = registered()
    if "judged" not in known or "found" in known:
        return
    declared = known["claims"]
    own = [entry for entry in entries if entry["value"] is not None and entry["id"] in declared]
    same = [entry for entry in own if entry["digest"] == declared[entry["id"]]["digest"]]
    known["found"] = {entry["id"]: {end: entry[end] for end in ledger.ENDS} for entry in same}
    write_atomically(draws.registered_file(), json.dumps(known, indent=1, ensure_ascii=False))


def exploratory(entry: Mapping[str, Any]) -> str:
    """Why a claim of a judged book is exploratory, in words; empty for one that was registered as it is judged.

    Code that is written anew and finds the same on the registered rows changes no claim.
    """
    file = draws.registered_file()
    known = _read(file, file.stat().st_mtime_ns) if file.exists() else {}
    if "judged" not in known:
        return ""
    if not (declared := known["claims"].get(entry["id"])):
        return "declared after the registration"
    if changed := [words for name, words in DECLARED.items() if entry[name] != declared.get(name)]:
        return f"another {' and '.join(changed)} since the registration"
    if entry["digest"] == declared["digest"] or entry["value"] is None:
        return ""
    found = known.get("found", {}).get(entry["id"])
    is_same = found is not None and not ledger.deviations(entry, found, 1e-3)
    return "" if is_same else "another estimator since the registration"


@functools.lru_cache(maxsize=2)
def _read(path: Path, written: int) -> dict[str, Any]:
    """A file that was ``written`` at a time: pages ask for every claim."""
    return json.loads(path.read_text(encoding="utf-8"))


def is_tracked(path: Path) -> bool:
    """Whether git knows a file: one that it does not is no change of the checkout."""
    git = ["git", "-C", str(paths.root()), "ls-files", "--error-unmatch", str(path)]
    return subprocess.run(git, capture_output=True).returncode == 0


@functools.cache
def declared_at(commit: str) -> dict[str, Any]:
    """What a commit holds as registered; empty if nothing."""
    file = draws.registered_file().relative_to(paths.root()).as_posix()
    git = ["git", "-C", str(paths.root()), "show", f"{commit}:{file}"]
    shown = subprocess.run(git, capture_output=True, text=True)
    return json.loads(shown.stdout) if shown.returncode == 0 else {}


@functools.cache
def descends(later: str, earlier: str) -> bool:
    """Whether a commit is another one, or descends from it."""
    git = ["git", "-C", str(paths.root()), "merge-base", "--is-ancestor", earlier, later]
    return subprocess.run(git, capture_output=True).returncode == 0


def _write(study: Study, wanted: Mapping[str, Cell], store: Store) -> Collection[str]:
    """Writes the cells of a study that are there, of those that are wanted; returns the keys of all that are."""
    known = _held(study).finished
    found = {key: known.get(key) or store.load(cell) for key, cell in wanted.items()}
    finished = known | {key: result for key, result in found.items() if result is not None}
    if loose := [result for result in finished.values() if not committed(result.provenance["revision"])]:
        raise InputError(f"{loose[0].cell.description} comes from code that no commit holds")
    if len(finished) > len(known):
        write_results(study, [*finished.values()], folder() / f"{study.name}{SUFFIX}", as_drawn=True)
    return finished.keys()
