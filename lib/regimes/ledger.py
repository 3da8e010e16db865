"""Claims and verdicts: what was declared before a run, what was measured, and how the two compare.

``book/claims.yml`` declares, a chapter measures, ``judge`` decides; ``build/<profile>/ledger.json`` holds all
records. Pages, README and tests read that file, and nothing is typed twice.
"""

import functools
import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from regimes import check, parameters
from regimes.check import InputError
from regimes.scaling import Estimate
from regimes.store import write_atomically

VERDICTS = ("reproduced", "corrected", "not reproduced", "undecided")
MARKS = {"reproduced": "✔", "corrected": "✎", "not reproduced": "✘", "undecided": "?", None: "·"}


@dataclass(frozen=True)
class Claim:
    """One statement of a paper, with what would count as reproducing it, declared before it is measured.

    Attributes:
        id: ``item-slug``.
        item: the figure, table or statement, as in the papers' list.
        statement: the claim in words.
        source: paper and place.
        accept: ``(low, high)`` of the measured interval that reproduces it; either may be infinite.
        profiles: the profiles at which it may be judged.
        corrected: ``(low, high)`` of the corrected statement, if there is one.
        erratum: its entry in ``book/errata.yml``.
    """

    id: str
    item: str
    statement: str
    source: str
    accept: tuple[float, float]
    profiles: tuple[str, ...]
    corrected: tuple[float, float] | None = None
    erratum: str | None = None


@functools.cache
def claims() -> dict[str, Claim]:
    """All declared claims by id.

    Raises:
        InputError: for a declaration that is incomplete or declared twice.
    """
    path = parameters.root() / "book" / "claims.yml"
    found: dict[str, Claim] = {}
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        for key in ("accept", "corrected", "profiles"):
            if entry.get(key) is not None:
                entry[key] = tuple(entry[key])
        try:
            claim = Claim(**entry)
        except TypeError as error:
            raise InputError(f"claims.yml, {entry.get('id')}: {error}") from None
        if claim.id in found:
            raise InputError(f"claims.yml declares {claim.id} twice")
        found[claim.id] = claim
    return found


def judge(claim: Claim, estimate: Estimate, profile: str) -> str | None:
    """The verdict on an interval; ``None`` where the profile may not judge the claim.

    Inside ``accept``: *reproduced*. Disjoint from it and inside ``corrected``: *corrected*. Disjoint from both:
    *not reproduced*. Anything else: *undecided*.
    """
    if profile not in claim.profiles:
        return None
    if _inside(estimate, claim.accept):
        return "reproduced"
    if not _disjoint(estimate, claim.accept):
        return "undecided"
    if claim.corrected is None or _disjoint(estimate, claim.corrected):
        return "not reproduced"
    return "corrected" if _inside(estimate, claim.corrected) else "undecided"


def _inside(estimate: Estimate, band: tuple[float, float]) -> bool:
    return band[0] <= estimate.low and estimate.high <= band[1]


def _disjoint(estimate: Estimate, band: tuple[float, float]) -> bool:
    return estimate.high < band[0] or estimate.low > band[1]


def record(claim: Claim, **measured: Any) -> dict[str, Any]:
    """A ledger record: the declaration, and what was measured (``None`` throughout for a claim not measured yet)."""
    keys = ("value", "low", "high", "n", "verdict", "profile", "data", "settings", "figure", "seconds")
    empty = dict.fromkeys((*keys, "device", "revision", "versions"))
    declared = {
        "id": claim.id,
        "item": claim.item,
        "statement": claim.statement,
        "source": claim.source,
        "accept": _bounds(claim.accept),
        "corrected": _bounds(claim.corrected) if claim.corrected else None,
    }
    return declared | empty | measured


def _bounds(interval: tuple[float, float]) -> list[float | None]:
    """An interval as JSON holds it: ``null`` for an infinite end."""
    return [None if math.isinf(end) else end for end in interval]


def merge(folder: Path) -> list[dict[str, Any]]:
    """Merges the chapters' ledgers in ``folder`` into its ``ledger.json``, with every claim not measured there.

    Raises:
        InputError: for a record of a claim that is no longer declared.
    """
    measured = {r["id"]: r for path in sorted(folder.glob("[0-9][0-9].ledger.json")) for r in read(path)}
    for name in measured:
        check.one_of(claims(), claim=name)
    merged = [measured.get(name) or record(claim) for name, claim in claims().items()]
    write(folder / "ledger.json", merged)
    return merged


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a ledger file; none if it is not there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Writes a ledger file whole or not at all."""
    write_atomically(path, json.dumps(list(records), indent=1, ensure_ascii=False, allow_nan=False))


def summary(records: list[dict[str, Any]]) -> str:
    """One sentence that counts the verdicts."""
    counts = {verdict: sum(r["verdict"] == verdict for r in records) for verdict in VERDICTS}
    unjudged = sum(r["verdict"] is None and r["value"] is not None for r in records)
    rest = sum(r["value"] is None for r in records)
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    small = f"; {unjudged} measured but not judged at this size" if unjudged else ""
    return f"{len(records)} claims: {said}{small}; {rest} not measured yet."


def band(bounds: Sequence[float | None]) -> str:
    """An accept band as a reader writes it: ``0.85 … 0.9``, ``≥ 0``, ``≤ 1``; ``None`` or infinity is no bound."""
    low, high = (None if end is None or math.isinf(end) else end for end in bounds)
    if low is None or high is None:
        return "any" if low is high else f"≥ {low:.4g}" if high is None else f"≤ {high:.4g}"
    return f"{low:.4g} … {high:.4g}"


def measured(entry: dict[str, Any]) -> str:
    """The measured value with its interval, or a dash."""
    if entry["value"] is None:
        return "—"
    return str(Estimate(entry["value"], entry["low"], entry["high"], entry["n"]))


def html_table(
    records: Iterable[dict[str, Any]], links: Mapping[str, str] | None = None, *, errata: str = "errata.html"
) -> str:
    """The ledger as an HTML table: claim, accepted band, measured interval, verdict.

    Args:
        records: ledger records.
        links: for a claim's id, where the figure that shows it stands.
        errata: the errata page, seen from the page that holds the table.
    """
    head = "<tr><th>claim</th><th>accepted</th><th>measured (95 %)</th><th>verdict</th></tr>"
    rows = "".join(_html_row(record, (links or {}).get(record["id"]), errata) for record in records)
    return f'<table class="ledger"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _html_row(entry: dict[str, Any], link: str | None, errata: str) -> str:
    word = entry["verdict"] or ("not measured yet" if entry["value"] is None else "not judged at this size")
    name = f"<code>{entry['id']}</code>"
    name = f'<a href="{link}">{name}</a>' if link else name
    erratum = claims()[entry["id"]].erratum
    shown = f'<a href="{errata}#erratum-{erratum}">{word}</a>' if erratum and entry["value"] is not None else word
    corrected = f"<br><small>corrected: {band(entry['corrected'])}</small>" if entry["corrected"] else ""
    count = f"<br><small>n = {entry['n']}</small>" if entry["n"] else ""
    return (
        f'<tr class="verdict-{word.replace(" ", "-")}">'
        f"<td>{name} <small>{html.escape(entry['source'])}</small><br>"
        f"{html.escape(entry['statement'])}</td><td>{band(entry['accept'])}{corrected}</td>"
        f"<td>{measured(entry)}{count}</td><td>{MARKS[entry['verdict']]} {shown}</td></tr>"
    )
