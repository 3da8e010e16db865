"""The page of the registered run: what is declared and how far it is; once judged, exploratory against registered."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr, ndtri

from companion import estimates, paths
from companion.book import ledger, plots, registration, views
from companion.estimates import EXACT, SPAN, Estimate
from companion.site import start

NOT_DRAWN = (EXACT, SPAN)  # intervals that are not over realisations
FURTHEST = 100.0  # of the picture's axes
# how often the interval of one of two independent estimates of equal error holds the other
EQUAL = 1 - 2 * float(ndtr(-ndtri((1 + estimates.LEVEL) / 2) / math.sqrt(2)))


@dataclass(frozen=True)
class Pair:
    """A claim on exploratory rows and on those of the registered run.

    Attributes:
        now: its entry in the ledger.
        before: what of its exploratory entry was kept (``registration.KEPT``).
    """

    now: Mapping[str, Any]
    before: Mapping[str, Any]

    @property
    def is_changed(self) -> bool:
        """Whether its verdict changed."""
        return self.now["verdict"] != self.before["verdict"]

    @property
    def measured(self) -> tuple[Estimate, Estimate]:
        """What was measured, before and now."""
        before, now = (ledger.estimates_of({"late": None} | dict(one))[0] for one in (self.before, self.now))
        return before, now

    @property
    def cause(self) -> str:
        """Why its verdict changed, by its intervals; empty if it did not."""
        if not self.is_changed:
            return ""
        before, now = self.measured
        if now.low > before.high or now.high < before.low:
            return "the intervals are disjoint: the value moved"
        if self.before["verdict"] == "undecided":
            return (
                f"decided by {now.n} in place of {before.n} realisations"
                if now.n > before.n
                else "as many realisations decide now"
            )
        if self.now["verdict"] == "undecided":
            low, high = (sign * math.inf if end is None else end for end, sign in zip(self.now["accept"], (-1, 1)))
            of_larger = "of the larger sizes alone " if self.now["late"] and low <= now.low <= now.high <= high else ""
            return f"the interval {of_larger}reaches over the edge of the band"
        return "the intervals meet, the rule gives another verdict"

    @property
    def places(self) -> tuple[float, float]:
        """How far inside the band the value lay before and lies now, by how far outside the rival lies."""
        before, now = (place(one["value"], self.now["accept"], self.now["alternative"]["value"]) for one in self._both)
        return before, now

    @property
    def _both(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return self.before, self.now


def place(value: float, accept: Sequence[float | None], rival: float) -> float:
    """The distance of a value inside a band from its nearest end, below 0 outside, over that of the rival outside."""
    low, high = (sign * math.inf if end is None else end for end, sign in zip(accept, (-1, 1), strict=True))
    return min(value - low, high - value) / max(low - rival, rival - high)


def pairs(entries: Sequence[Mapping[str, Any]], exploratory: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """The claims that were measured before and now."""
    before = {entry["id"]: entry for entry in exploratory if entry["value"] is not None}
    return [
        Pair(entry, before[entry["id"]]) for entry in entries if entry["id"] in before and entry["value"] is not None
    ]


def moves(changed: Sequence[Pair]) -> list[tuple[str, str, int]]:
    """From which verdict to which the changed ones went, and how many; the most first."""
    counts = Counter(tuple(one["verdict"] or "no verdict" for one in (pair.before, pair.now)) for pair in changed)
    return [(before, now, count) for (before, now), count in counts.most_common()]


def opposite(changed: Sequence[Pair]) -> str:
    """The claims that were refuted after they had been reproduced, or the other way round, in a sentence."""
    both = {"reproduced", "not reproduced"}
    names = [pair.now["id"] for pair in changed if {pair.before["verdict"], pair.now["verdict"]} == both]
    return f"The opposite came out for {', '.join(names)}." if names else "No verdict turned into its opposite."


def coverage(found: Sequence[Pair]) -> dict[str, float]:
    """How many exploratory intervals hold the registered value, and how many should.

    Returns:
        ``count``: pairs of intervals over realisations; ``held``: the share of those whose first one holds the second
        value; ``expected``: that share if both are right and independent, by their widths; ``equal``: if both were
        as wide.
    """
    drawn = [pair.measured for pair in found if _is_drawn(pair)]
    if not drawn:
        return {"count": 0, "held": math.nan, "expected": math.nan, "equal": EQUAL}
    held = [before.low <= now.value <= before.high for before, now in drawn]
    apart = [math.hypot(*map(estimates.standard_error, both)) for both in drawn]
    chances = [
        float(ndtr((before.high - before.value) / error) - ndtr((before.low - before.value) / error))
        for (before, _), error in zip(drawn, apart, strict=True)
    ]
    shares = {"held": float(np.mean(held)), "expected": float(np.mean(chances))}
    return {"count": len(drawn), "equal": EQUAL} | shares


def _is_drawn(pair: Pair) -> bool:
    return all(
        one["interval"] not in NOT_DRAWN and it.low < it.high and math.isfinite(it.high - it.low)
        for one, it in zip(pair._both, pair.measured, strict=True)
    )


def picture(found: Sequence[Pair]) -> Figure:
    """All claims: how far inside its band each lay before, and lies now."""
    plots.style()
    fig, ax = plt.subplots(figsize=(6.2, 6.0))
    ax.axhline(0, color=plots.COLOURS["theory"], linewidth=1)
    ax.axvline(0, color=plots.COLOURS["theory"], linewidth=1, label="edge of the band")
    ends = [-FURTHEST, -1.0, 0.0, 1.0, FURTHEST]
    ax.plot(ends, ends, color=plots.COLOURS["paper"], linewidth=1, label="same value")
    kinds = {"paper": ("papers' statements", plots.PALETTE[3]), "beyond": ("beyond the papers", plots.PALETTE[0])}
    alike = np.array([pair.places for pair in found if not pair.is_changed]).reshape(-1, 2).clip(-FURTHEST, FURTHEST)
    ax.plot(*alike.T, ".", color="0.7", markersize=4, label="same verdict")
    for kind, (words, colour) in kinds.items():
        changed = [pair for pair in found if pair.is_changed and pair.now["kind"] == kind]
        x, y = np.array([pair.places for pair in changed]).reshape(-1, 2).clip(-FURTHEST, FURTHEST).T
        ax.plot(x, y, "o", color=colour, markerfacecolor="none", label=f"another verdict: {words}")
    scale = {"linthresh": 1.0, "linscale": 1.5}
    ax.set_xscale("symlog", **scale)
    ax.set_yscale("symlog", **scale)
    ticks = [-100, -10, -1, 0, 1, 10, 100]
    names = ["−100", "−10", "rival", "edge", "1", "10", "100"]
    ax.set_xticks(ticks, names)
    ax.set_yticks(ticks, names)
    ax.minorticks_off()
    ax.set(xlabel="inside the band, exploratory rows", ylabel="inside the band, registered rows")
    fig.legend(loc="outside lower center", ncols=2, fontsize="small")
    return fig


def page(entries: Sequence[Mapping[str, Any]], exploratory: Sequence[Mapping[str, Any]]) -> str:
    """The page as Markdown: before a registration, while the run is on, and once it is judged.

    Args:
        entries: of the laptop's ledger.
        exploratory: what was kept of the ledger of exploratory rows.
    """
    known = registration.registered()
    state = "judged" if "judged" in known else "running" if known else "none"
    values: dict[str, Any] = {"state": state, "known": known}
    if state == "running":
        there = registration.counted()
        values["studies"] = sorted(
            ((name, sum(plan["cells"].values()), there.get(name, 0)) for name, plan in known["studies"].items()),
            key=lambda row: (row[2] >= row[1], -row[1]),
        )
    if state == "judged":
        found = pairs(entries, exploratory)
        changed = [pair for pair in found if pair.is_changed]
        changed.sort(key=lambda pair: (pair.now["kind"] != "paper", pair.cause, pair.now["id"]))
        alt = "Each claim as a mark, by where its value lay in its band before and lies now."
        values |= {"found": found, "changed": changed, "coverage": coverage(found), "moves": moves(changed)}
        values |= {"opposite": opposite(changed)}
        values |= {"published": any(pair.now["value"] != pair.before["value"] for pair in found)}
        values |= {"shown": start.shown(picture(found), "registered", alt) if found else ""}
    return views.markdown("registered", **values)


def kept_exploratory() -> list[dict[str, Any]]:
    """What was kept of the ledger of exploratory rows; empty before a registered run is judged."""
    return ledger.read(paths.results() / "exploratory.json")
