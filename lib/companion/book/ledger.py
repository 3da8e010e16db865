"""Claims and verdicts: the declarations, the measurements, and how the two compare.

Papers declare claims, chapters measure them, ``judge`` gives the verdicts. Pages, README and tests read all entries
from ``build/<profile>/ledger.json``.
"""

import functools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from companion import estimates, paths
from companion.book.claims import KINDS, TYPED, Claim, all_claims, band
from companion.book.errata import Erratum, errata, read_yaml
from companion.estimates import EXACT, SPAN, Drift, Estimate
from companion.lab.store import write_atomically
from regimes import validate
from regimes.validate import InputError

IN_PART = "in part"  # of a statement: its claims have several verdicts
NEAR = "reproduced without the stated number in the interval"  # of a statement
VERDICTS = ("reproduced", "corrected", "not reproduced", "not yet asymptotic", "undecided")
ENDS = ("value", "low", "high")  # of an entry: what was measured
ROUND_OFF = 1e-9  # by which a zero may differ
MANY = 100.0  # times as many seeds: beyond, another way must be found
ABSENT = "stored rows: the data are not on this machine"  # in an entry's data, where it is so
SAME, CHANGED, MOVED = "same code as measured", "code changed since", "verdict moved"  # since the kept ledger
MARKS = {
    "reproduced": "✔", "corrected": "✎", "not reproduced": "✘", "not yet asymptotic": "…", "undecided": "?",
    IN_PART: "◐", None: "·",
}  # fmt: skip


@functools.cache
def claims() -> dict[str, Claim]:
    """All claims of the book by id, checked to be unique and in agreement with the errata."""
    declared: dict[str, Claim] = {}
    for _, claim in all_claims():
        if claim.id in declared:
            raise InputError(f"claim {claim.id} is declared twice")
        declared[claim.id] = claim
    for claim in declared.values():
        main = declared.get(claim.part_of) if claim.part_of else claim
        if main is None or (main is not claim and main.part_of) or main.kind != claim.kind:
            raise InputError(f"{claim.id}: {claim.part_of} is no claim of that kind that stands for others")
        if claim.erratum and claim.erratum not in errata():
            raise InputError(f"{claim.id}: {claim.erratum} is no erratum")
    for erratum in errata().values():
        _decided(erratum, declared)
    return declared


def of_book(claim: Claim) -> Claim:
    """The claim of the book that a chapter measures; one that is typed into a notebook as it is.

    Raises:
        InputError: for one typed there under an id of the book, or with what stands in the book alone.
    """
    if claim.function.__module__.startswith("companion.papers."):  # other papers' claims load what they import
        return claim
    in_book = claims().get(claim.id)
    if in_book is None and (claim.erratum or claim.part_of):
        raise InputError(f"claim {claim.id} is of a notebook: an erratum and part_of need one of the book")
    if in_book and in_book.function.__module__ != claim.function.__module__:
        raise InputError(f"claim {claim.id} is declared twice")
    return in_book or claim


def _decided(erratum: Erratum, declared: Mapping[str, Claim]) -> None:
    """Checks that an erratum names all claims that point to it; an error has a ``corrected`` band or says why not."""
    if unknown := [name for name in erratum.claims if name not in declared]:
        raise InputError(f"errata.yml, {erratum.id}: {unknown[0]} is no claim")
    pointing = [claim for claim in declared.values() if claim.erratum == erratum.id]
    if unlisted := [claim.id for claim in pointing if claim.id not in erratum.claims]:
        raise InputError(f"errata.yml, {erratum.id}: {unlisted[0]} points to it and is not among its claims")
    if erratum.drawer == "error" and not erratum.uncorrected and not any(claim.corrected for claim in pointing):
        raise InputError(f"errata.yml, {erratum.id}: an error needs a claim with a corrected band, or uncorrected")


def judge(claim: Claim, measured: Estimate | Drift, profile: str) -> str | None:
    """The verdict on an interval; ``None`` if the profile may not judge the claim.

    Inside ``accept``: *reproduced*. Disjoint from it and inside ``corrected``, if the erratum is an error: *corrected*.
    Disjoint from both, or from ``accept`` if the erratum is a limit or a reading: *not reproduced*. Anything else, and
    an interval from too few realisations or from equal ones: *undecided*. Of a claim on large sizes the larger ones
    decide. If their interval is disjoint from that of all sizes, and their value nearer to the paper's: *not yet
    asymptotic*, unless both lie inside ``accept``. If it is further away: their verdict alone. If the intervals meet:
    the common verdict, else *undecided*.
    """
    if profile not in claim.profiles:
        return None
    if isinstance(measured, Estimate):
        return _verdict(claim, measured)
    verdict, late = _verdict(claim, measured.whole), _verdict(claim, measured.late)
    if late == verdict == "reproduced":
        return verdict
    if measured.disjoint():
        return "not yet asymptotic" if _distance(claim, measured.late) < _distance(claim, measured.whole) else late
    return verdict if late == verdict else "undecided"


def _verdict(claim: Claim, estimate: Estimate) -> str:
    if not estimate.judges:
        return "undecided"
    if _inside(estimate, claim.accept):
        return "reproduced"
    if not _disjoint(estimate, claim.accept):
        return "undecided"
    if not _corrects(claim.erratum, claim.corrected) or _disjoint(estimate, claim.corrected):
        return "not reproduced"
    return "corrected" if _inside(estimate, claim.corrected) else "undecided"


def _corrects(erratum: str | None, band: Sequence[float | None] | None) -> bool:
    """Whether a band is that of a corrected statement: of an error, and not of a limit or a reading."""
    return band is not None and erratum is not None and errata()[erratum].drawer == "error"


def _distance(claim: Claim, estimate: Estimate) -> float:
    """How far a value lies from the number that the paper states, or where it states none from what is accepted."""
    low, high = claim.accept if claim.stated is None else (claim.stated, claim.stated)
    return max(low - estimate.value, estimate.value - high, 0.0)


def _inside(estimate: Estimate, band: tuple[float, float]) -> bool:
    return band[0] <= estimate.low and estimate.high <= band[1]


def _disjoint(estimate: Estimate, band: tuple[float, float]) -> bool:
    return estimate.high < band[0] or estimate.low > band[1]


def lacks(claim: Claim, settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The values that a claim's words name and rows of these ``settings`` (a ``Provenance``'s) lack: ``p = 8192``."""
    present: dict[str, set[Any]] = {}
    for setting in settings:
        for axis, values in setting["values"].items():
            present.setdefault(axis, set()).update(flat(values))
    named = [(axis, value) for axis, values in claim.at.items() for value in flat(values)]
    return [f"{axis} = {value}" for axis, value in named if value not in present.get(axis, ())]


def flat(values: Any) -> Iterator[Any]:
    """The single values of a list of lists, or one value alone."""
    if not isinstance(values, (list, tuple)):
        yield values
        return
    for value in values:
        yield from flat(value)


def entry_of(claim: Claim, **measured: Any) -> dict[str, Any]:
    """A ledger entry: the declaration and the measurement, whose fields are ``None`` before it is made."""
    keys = "chapter value low high n interval numerical late verdict profile data settings figure"
    not_measured = dict.fromkeys(f"{keys} seconds device revision versions".split())
    names = "id item kind statement short measure elsewhere source stated part_of headline"
    entry = {name: getattr(claim, name) for name in names.split()} | claim.measured_by
    entry |= {"accept": _bounds(claim.accept), "corrected": _bounds(claim.corrected) if claim.corrected else None}
    entry |= {"alternative": dict(claim.alternative), "erratum": claim.erratum}
    return entry | not_measured | measured


def late(claim: Claim, drift: Drift) -> dict[str, Any]:
    """An entry's fields on the larger sizes alone, and the size that would decide (``None``: cannot be foreseen)."""
    low, high, size = _bounds((drift.late.low, drift.late.high, drift.size(claim.accept)))
    ends = [drift.late_sizes[0], drift.late_sizes[-1]]
    return {"value": drift.late.value, "low": low, "high": high, "sizes": ends, "decides": size}


def _bounds(interval: Sequence[float]) -> list[float | None]:
    """The ends of an interval for JSON: ``null`` if infinite."""
    return [None if math.isinf(end) else end for end in interval]


def merge(folder: Path) -> list[dict[str, Any]]:
    """Merges the chapters' ledgers in ``folder`` into its ``ledger.json``, with every claim not measured there.

    Entries of claims that are typed into a notebook come last. Each entry's ``cells`` stay in the chapter's ledger.
    """
    files = sorted(folder.glob("[0-9][0-9].ledger.json"))
    measured = {entry["id"]: without_cells(entry) for path in files for entry in read(path)}
    typed = [name for name, entry in measured.items() if entry.get("function", "").startswith(f"{TYPED}.")]
    for name in measured:
        validate.one_of([*claims(), *typed], claim=name)
    merged = [measured.pop(name, None) or entry_of(claim) for name, claim in claims().items()] + [*measured.values()]
    write(folder / "ledger.json", merged)
    return merged


def without_cells(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry as it stands in a merged ledger: it does not list its cells."""
    return {name: value for name, value in entry.items() if name != "cells"}


def read(path: Path) -> list[dict[str, Any]]:
    """The entries of a ledger file; empty if there is no file."""
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [_with_ends(entry, _tuple) for entry in entries if entry["id"]]
    except (ValueError, TypeError, AttributeError, KeyError):
        raise InputError(f"{path} is not a ledger: take it from git again, or make it again") from None


def write(path: Path, entries: Iterable[dict[str, Any]]) -> None:
    """Writes a ledger file whole or not at all."""
    entries = [_with_ends(entry, _bounds) for entry in entries]
    write_atomically(path, json.dumps(entries, indent=1, ensure_ascii=False, allow_nan=False))


def _with_ends(entry: dict[str, Any], change: Callable[[tuple], Sequence]) -> dict[str, Any]:
    """An entry with the ends of its interval, if it has one, mapped; those of a single realisation are infinite."""
    if entry.get("value") is None:
        return entry
    low, high = change((entry["low"], entry["high"]))
    return {**entry, "low": low, "high": high}


def summary(entries: Sequence[Mapping[str, Any]]) -> str:
    """One sentence for each kind of claim, the papers' first, that counts the verdicts on statements.

    Claims that are parts or repetitions of one statement count once: with their verdict where all have the same, as
    *in part* where they differ. Those whose interval leaves out the paper's number are counted apart.
    """
    parts = []
    for kind, words in KINDS.items():
        groups = statements(entry for entry in entries if entry["kind"] == kind)
        if not groups:
            continue
        verdicts = Counter(NEAR if is_near(group) else _in_common(group) for group in groups)
        order = ["reproduced", NEAR, *VERDICTS[1:], IN_PART, "not tested at this size", "not measured yet"]
        counts = [f"{verdicts[word]} {word}" for word in order if verdicts[word]]
        claims_of = sum(map(len, groups))
        total = f", in {claims_of} claims" * (claims_of > len(groups))
        parts.append(f"{words} ({len(groups)}{total}): {', '.join(counts)}.")
    return " ".join(parts)


def deviations(
    entry: Mapping[str, Any], reference: Mapping[str, Any], share: float, *, same: float = 1e-3
) -> list[str]:
    """Which of ``value``, ``low`` and ``high`` of an entry are not those of a reference, with both numbers.

    They may differ by a ``share`` of the *reference's* interval and by ``same``, a part of its value. Where that
    interval has no end, its value stands for it; what has no end there has none here.
    """
    value, low, high = (reference[name] for name in ENDS)
    if value is None or entry["value"] is None:
        return [] if value is entry["value"] else [f"value {entry['value']} for {value}"]
    width = high - low if math.isfinite(high - low) else abs(value)
    most = share * width + same * abs(value) + ROUND_OFF
    pairs = {name: (entry[name], reference[name]) for name in ENDS}
    # equal infinite ends have no difference
    moved = {name: (a, b) for name, (a, b) in pairs.items() if a != b and not abs(a - b) <= most}
    return [f"{name} {number:.6g} for {expected:.6g}" for name, (number, expected) in moved.items()]


def statements(entries: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The entries of each statement, its parts and repetitions together."""
    by_statement: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_statement.setdefault(entry["part_of"] or entry["id"], []).append(entry)
    return list(by_statement.values())


def _in_common(entries: Sequence[Mapping[str, Any]]) -> str:
    """The common verdict of a statement's claims, without those that were not judged here."""
    judged = {entry["verdict"] for entry in entries if entry["verdict"]}
    if not judged:
        return word(entries[0])
    return judged.pop() if len(judged) == 1 else IN_PART


def is_near(entries: Sequence[Mapping[str, Any]]) -> bool:
    """Whether all claims of a statement are reproduced, and the number stated in one lies outside its interval."""
    return _in_common(entries) == "reproduced" and any(map(misses_stated, entries))


def misses_stated(entry: Mapping[str, Any]) -> bool:
    """Whether the paper's stated number lies outside an interval over seeds."""
    if entry["stated"] is None or entry["value"] is None or entry["interval"] in (EXACT, SPAN):
        return False
    return not entry["low"] <= entry["stated"] <= entry["high"]


def _late(late: Mapping[str, Any]) -> str:
    """The result of the larger sizes alone, in words."""
    ends = " to ".join(f"{size:g}" for size in late["sizes"])
    return f"at sizes {ends} alone: {Estimate(late['value'], *_tuple((late['low'], late['high'])))}"


def over_stated(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of each number that papers state: what was measured over it, in increasing order, with its 95 % interval.

    Each has its ``entry``, ``value``, ``low`` and ``high``. Left out are stated zeros, what has another sign than
    stated, what was not measured, and what we expected and no paper states.
    """
    ratios = []
    for entry in entries:
        if entry["kind"] != "paper" or entry["value"] is None or not entry["stated"]:
            continue
        if entry["value"] / entry["stated"] <= 0:
            continue
        low, high = sorted(entry[end] / entry["stated"] for end in ("low", "high"))
        ratios.append({"entry": entry, "value": entry["value"] / entry["stated"], "low": low, "high": high})
    return sorted(ratios, key=lambda ratio: ratio["value"])


def on_axis(ratio: float, widest: float = 4.0) -> float:
    """Where a ratio lies on a logarithmic axis from 1/``widest`` to ``widest``, in per cent; at an end if beyond."""
    return 50 + 50 * max(-1.0, min(1.0, math.log(max(ratio, 1e-300)) / math.log(widest)))


def standing(entry: Mapping[str, Any], kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Whether a claim's code and verdict are those of the ledger that is ``kept``, in words; empty if it is not there.

    What was not judged here has no verdict that could have moved.
    """
    if not (there := kept.get(entry["id"])):
        return ""
    if entry["verdict"] and entry["verdict"] != there["verdict"]:
        return MOVED
    return SAME if entry["digest"] == there["digest"] else CHANGED


def estimates_of(entry: Mapping[str, Any]) -> list[Estimate]:
    """What a measured entry found: over all its sizes; of a claim on large sizes then over the larger ones alone."""
    found = [one for one in (entry, entry["late"]) if one]
    method = entry["n"], entry["interval"] or EXACT
    return [Estimate(one["value"], *_tuple((one["low"], one["high"])), *method) for one in found]


def what_decides(entry: Mapping[str, Any]) -> str:
    """What would decide a claim that is undecided (by the width of its interval) or drifts; empty for any other."""
    if entry["verdict"] == "not yet asymptotic":
        size = entry["late"]["decides"]
        needed = f"sizes of {float(f'{size:.2g}'):.0f} or more, if it goes on so" if size else "larger sizes"
        return f"to decide: {needed}"
    if entry["verdict"] != "undecided":
        return ""
    if entry["interval"] in (EXACT, SPAN):
        return "to decide: larger sizes, where the settings agree; more seeds change nothing"
    estimate, *late = estimates_of(entry)
    if not estimate.judges:
        return f"to decide: {estimates.FEWEST} seeds or more, not all equal"
    is_corrected = _corrects(entry["erratum"], entry["corrected"])
    bands = [_tuple(entry[name]) for name in ("accept", "corrected")[: 1 + is_corrected]]
    at_sizes = ""
    if late and all(_inside(estimate, band) or _disjoint(estimate, band) for band in bands):
        (estimate,), at_sizes = late, " " + _late(entry["late"]).partition(":")[0]
    factor = min(estimates.deciding(estimate, band) for band in bands)
    if not math.isfinite(factor) or factor > MANY:
        return "to decide: larger sizes or a sharper estimator; the value lies on the edge of what is accepted"
    needed = math.ceil(round(factor * entry["n"], 6))
    return f"to decide: about {needed} seeds in place of {entry['n']}{at_sizes}, if the value stays"


def _tuple(bounds: Sequence[float | None]) -> tuple[float, float]:
    low, high = bounds
    return -math.inf if low is None else low, math.inf if high is None else high


def measured_value(entry: Mapping[str, Any]) -> str:
    """The measured value with its interval, or a dash."""
    if entry["value"] is None:
        return "—"
    return str(Estimate(entry["value"], entry["low"], entry["high"], entry["n"]))


def in_text(entry: Mapping[str, Any], *, interval: bool = False) -> str:
    """The measured value in a sentence, or a dash: two digits, three where two would leave the interval.

    An exact whole number, a count, is written as one. With its ``interval`` the ends have two digits, too.
    """
    if entry["value"] is None:
        return "—"
    if entry["low"] == entry["high"] and float(entry["value"]).is_integer():
        return estimates.plain(f"{entry['value']:.0f}")
    digits = 2 if entry["low"] <= float(f"{entry['value']:.2g}") <= entry["high"] else 3
    value = estimates.significant(entry["value"], digits)
    if not interval:
        return value
    return f"{value} [{', '.join(estimates.significant(entry[end]) for end in ('low', 'high'))}]"


def words(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry for a reader: each part as text, empty if it has none, and its ``erratum``, if any."""
    absent = f"; {ABSENT}" if ABSENT in (entry["data"] or "") else ""
    kind = "" if entry["kind"] == "paper" else f" · {KINDS[entry['kind']].lower()}"
    erratum = entry["erratum"] if entry["value"] is not None else None
    return {
        "short": entry["short"] or entry["id"],
        "word": word(entry),
        "mark": MARKS[entry["verdict"]],
        "kind": kind + (f" · counted with {entry['part_of']}" if entry["part_of"] else ""),
        "accepted": band(entry["accept"]),
        "corrected": band(entry["corrected"]) if entry["corrected"] else "",
        "rival": f"counter-hypothesis {entry['alternative']['value']:.4g} ({entry['alternative']['what']})",
        "measured": measured_value(entry),
        "value": in_text(entry),
        "whose": "paper" if entry["kind"] == "paper" else "expected",
        "stated": "" if entry["stated"] is None else estimates.plain(f"{entry['stated']:.3g}"),
        "count": f"n = {entry['n']}, {entry['interval']}{absent}" if entry["n"] else "",
        "late": _late(entry["late"]) if entry["late"] else "",
        "missed": f"the stated {entry['stated']:.3g} lies outside the interval" if misses_stated(entry) else "",
        "absent": absent,
        "decides": what_decides(entry),
        "erratum": errata()[erratum] if erratum else None,
    }


def tally(entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each verdict on statements that occurs: ``kind``, ``mark``, ``word`` and ``count``."""
    common = [_in_common(statement) for statement in statements(entries)]
    counts = Counter(verdict if verdict in MARKS else None for verdict in common)
    return [
        {"kind": it or "none", "mark": mark, "word": it or "not tested or measured here", "count": counts[it]}
        for it, mark in MARKS.items()
        if counts[it]
    ]


def counted(entries: Iterable[Mapping[str, Any]]) -> str:
    """The number of claims with each verdict, in order of appearance: ``✎ 2 corrected, ✔ 1 reproduced``."""
    verdicts = Counter((MARKS[entry["verdict"]], word(entry)) for entry in entries)
    return ", ".join(f"{mark} {count} {word}" for (mark, word), count in verdicts.items())


def marks(entries: Iterable[Mapping[str, Any]]) -> str:
    """The number of statements with each verdict, as marks alone: ``✔ 12, ✎ 2``."""
    return ", ".join(f"{row['mark']}\u00a0{row['count']}" for row in tally(entries))


def by_paper(entries: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The entries of each paper, by its letter in alphabetical order; those not measured come last."""
    entries_of: dict[str, list[dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda one: (one["item"][0], one["value"] is None)):
        entries_of.setdefault(entry["item"][0], []).append(entry)
    return entries_of


@functools.cache
def about_papers() -> dict[str, dict[str, Any]]:
    """What the book says of each paper, by its letter: ``book/papers.yml``; empty where there is none."""
    path = paths.root() / "book" / "papers.yml"
    return {entry["paper"]: entry for entry in (read_yaml(path) if path.exists() else [])}


def paper_title(letter: str) -> str:
    """The heading of a section on a paper."""
    title = about_papers().get(letter, {}).get("title")
    return f"Paper {letter}: {title}" if title else f"Paper {letter}"


def word(entry: Mapping[str, Any] | None) -> str:
    """The verdict of an entry, or why there is none."""
    if entry is None:
        return "not declared"
    return entry["verdict"] or ("not measured yet" if entry["value"] is None else "not tested at this size")
