"""A reader's own verdict on a claim: ``python -m companion replicate A.Fig2-feature --seeds 12``.

The rows of the claim are drawn at seeds that no other run of the book draws, at the smallest size that its words allow,
and judged by the claim's own rule.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from companion import estimates
from companion.book import ledger
from companion.book.claims import Claim, band
from companion.estimates import Drift, Estimate
from companion.lab import parameters, schedule
from companion.lab.design import Entries
from companion.lab.parameters import Kind
from companion.lab.results import Results, finished_cells
from companion.lab.store import Cell
from companion.lab.study import Study
from companion.lab.sweep import cells
from companion.lab.table import tabulate
from companion.lab.verify import in_order
from regimes.validate import InputError

OWN = 2_000_000  # the first seed that is a reader's
LAST = 2**31  # beyond the last one


@dataclass
class Drawn:
    """A page whose rows are drawn at a reader's seeds.

    Attributes:
        number: the chapter's.
        parameters: its parameters.
        first: the first seed.
        seeds: how many, of each setting.
        jobs: worker processes, by default one per core.
    """

    number: str
    parameters: Mapping[str, Any]
    first: int
    seeds: int
    jobs: int | None = None
    _tables: dict[tuple[str, str], pd.DataFrame] = field(default_factory=dict)

    def settings(self, study: Study, design: str = "") -> list[Entries]:
        """The settings of one design of a study, or of all, each at the reader's seeds."""
        drawn = [*range(self.first, self.first + self.seeds)]
        given = study.grid.settings(self.parameters, design) if design else study.grid(self.parameters)
        return [setting | {"seeds": drawn} for setting in given]

    def cells(self, study: Study, design: str = "") -> dict[str, Cell]:
        """The cells of one design of a study, or of all, by their keys."""
        return in_order(cells(study, self.settings(study, design)))

    def rows(self, study: Study, design: str = "") -> pd.DataFrame:
        """The rows of one design of a study, or of all."""
        if (study.name, design) not in self._tables:
            found = finished_cells(study, [*self.cells(study, design).values()], jobs=self.jobs)
            self._tables[study.name, design] = tabulate(study, found.values())
        return self._tables[study.name, design]


def page_for(
    claim: Claim, number: str, *, first: int, seeds: int, jobs: int | None = None, stored: bool = False
) -> Drawn:
    """The smallest page that tests a claim: the laptop's sizes, or where its words name larger ones those stored.

    ``stored``: at once those stored, on which the book is judged.

    Raises:
        InputError: if no size has the values that its words name, or its data are not on this machine.
    """
    Kind.of("count", 2, 1000).checked("seeds", seeds)
    Kind.of("count", OWN, LAST).checked("first", first)
    of_book = parameters.designs(number, "stored")
    for sizes in (of_book,) if stored else ({}, of_book):
        page = Drawn(number, parameters.resolve(number, "laptop", sizes), first, seeds, jobs)
        values = [{"values": {axis: [value] for axis, value in setting.items()}} for setting in _settings(claim, page)]
        if not (lacking := ledger.lacks(claim, values)):
            return page
    raise InputError(f"claim {claim.id}: no size of its designs has {', '.join(lacking)}")


def _settings(claim: Claim, page: Drawn) -> Iterator[Entries]:
    for study, designs in claim.designs.items():
        for design in designs:
            yield from page.settings(study, design)


def smaller(claim: Claim, page: Drawn) -> str:
    """Where a page draws other sizes than those that the book is judged on, in words; empty where it draws these."""
    try:
        of_book = page_for(claim, page.number, first=page.first, seeds=page.seeds, stored=True)
    except InputError:  # its data are not on this machine
        return ""
    both = [*_differing(_settings(claim, page), _settings(claim, of_book))]
    said = "; ".join(f"{axis} = {_listed(own)} (the book: {_listed(theirs)})" for axis, own, theirs in both)
    return f"not at the book's sizes: {said}. With --stored you draw those of the book" if said else ""


def _listed(values: Sequence[Any]) -> str:
    ends = f"{values[0]} … {values[-1]}"
    return ", ".join(map(str, values)) if len(values) < 4 else f"{ends}, {len(values)} values"


def _differing(own: Iterable[Entries], theirs: Iterable[Entries]) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """The axes whose single values are not the same in two lists of settings, with both."""
    here, there = _single_values(own), _single_values(theirs)
    for axis in sorted(here.keys() & there.keys()):
        if here[axis] != there[axis]:
            yield axis, sorted(here[axis], key=_in_order), sorted(there[axis], key=_in_order)


def _single_values(settings: Iterable[Entries]) -> dict[str, set[Any]]:
    """The values of each axis but the seeds, those inside lists one by one."""
    found: dict[str, set[Any]] = {}
    for setting in settings:
        for axis, value in setting.items():
            found.setdefault(axis, set()).update(ledger.flat(value))
    found.pop("seeds", None)
    return found


def _in_order(value: Any) -> tuple[bool, Any]:
    """Numbers before words."""
    return isinstance(value, str), value


def seconds(claim: Claim, page: Drawn) -> float:
    """The expected core seconds of a claim's rows on a page; what is stored already takes none."""
    total = 0.0
    for study, designs in claim.designs.items():
        Results.of(study)  # which knows what its settings take
        wanted = in_order(cell for design in designs for cell in page.cells(study, design).values())
        total += sum(map(schedule.seconds, schedule.chunks({study.name: study}, wanted.values())))
    return total


def side_by_side(claim: Claim, kept: Mapping[str, Any], own: Estimate | Drift) -> Iterator[str]:
    """What the paper says, what the book measured, and what the reader did, in a line each, with the verdicts."""
    paper = "" if claim.stated is None else f"{estimates.plain(f'{claim.stated:g}')}, "
    yield f"{'paper' if claim.kind == 'paper' else 'expected'}: {paper}accepted {band(claim.accept)}"
    yield f"book: {ledger.measured_value(kept)}, {ledger.word(kept)}, n = {kept['n']}"
    whole = own if isinstance(own, Estimate) else own.whole
    yield f"you: {whole}, {ledger.judge(claim, own, 'laptop')}, n = {whole.n}"


def enough(claim: Claim, kept: Mapping[str, Any], seeds: int) -> str:
    """That so many seeds may leave a claim undecided, by the scatter that the book found; empty if they do not."""
    if kept["value"] is None:
        return ""
    found = ledger.estimates_of(kept)
    needed = max(estimates.seeds_to_decide(one, claim.accept, claim.alternative["value"]) for one in found)
    if needed <= seeds:
        return ""
    return f"{seeds} seeds may leave it undecided: {needed:g} would decide its band in nine of ten draws"


def own_first() -> int:
    """A first seed that is the reader's own, drawn at random."""
    return OWN + secrets.randbelow(LAST - OWN - 10_000)
