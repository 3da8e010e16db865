"""Numbers that the papers state, to draw beside ours: ``book/papers.yml`` has them with quotation and place."""

import functools
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes

from companion.book import ledger, plots
from regimes import validate


@functools.cache
def _entries() -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for paper in ledger.about_papers().values() for entry in paper["stated"]}


def value(name: str) -> Any:
    """The number, or numbers, that a paper states; the name begins with the paper's letter."""
    validate.one_of(sorted(_entries()), **{"what papers state": name})
    return _entries()[name]["value"]


def at_size(entry: Mapping[str, Any]) -> bool:
    """Whether a ledger entry rests on rows of a size that its paper states, one with an ``axis`` of the studies."""
    sizes = {
        stated["axis"]: stated["value"]
        for name, stated in _entries().items()
        if name[0] == entry["item"][0] and "axis" in stated
    }
    values = [(axis, setting["values"].get(axis, ())) for setting in entry["settings"] or () for axis in sizes]
    return any(sizes[axis] in ledger.flat(found) for axis, found in values)


def mark(ax: Axes, name: str, x: float | None = None, **style: Any) -> None:
    """Draws a stated number, named for a legend: a star at ``x``, or a line across the axes at that height."""
    number = value(name)
    label = f"paper {name[0]}, {_entries()[name]['what']}"
    shared = {"color": plots.COLOURS["paper"], "zorder": 5, "label": label}
    if x is None:
        line = {"linestyle": (0, (6, 2)), **shared, **style}
        ax.axhline(number, **line)
    else:
        star = {"linestyle": "none", "marker": "*", "markersize": 13, "markeredgewidth": 2, **shared, **style}
        ax.plot(x, number, **star)


def both_sizes(ours: float, name: str) -> str:
    """Our size and the paper's, for a title: ``250 points (paper B: 5000)``."""
    return f"{ours:g} {_entries()[name]['what']} (paper {name[0]}: {value(name):g})"
