"""Numbers that the papers state, to draw beside ours: ``book/papers.yml`` has them with quotation and place."""

import functools
from typing import Any

from matplotlib.axes import Axes

from companion.book import plots
from companion.book.ledger import about_papers
from regimes import validate


@functools.cache
def _all() -> dict[str, dict[str, Any]]:
    return {entry["id"]: entry for paper in about_papers().values() for entry in paper["stated"]}


def stated(name: str) -> Any:
    """The number, or numbers, that a paper states; the name begins with the paper's letter."""
    validate.one_of(sorted(_all()), **{"what papers state": name})
    return _all()[name]["value"]


def mark(ax: Axes, name: str, x: float | None = None, **style: Any) -> None:
    """Draws a stated number, named for a legend: a star at ``x``, or a line across the axes at that height."""
    look: dict[str, Any] = {"color": plots.COLOURS["paper"], "zorder": 5, "marker": "*", "linestyle": "none"}
    look |= {"markersize": 13, "markeredgewidth": 2, "label": f"paper {name[0]}, {_all()[name]['what']}"}
    if x is None:
        ax.axhline(stated(name), **look | {"linestyle": (0, (6, 2)), "marker": ""} | style)
    else:
        ax.plot(x, stated(name), **look | style)


def beside(ours: float, name: str) -> str:
    """Our size and the paper's, for a title: ``250 points (paper B: 5000)``."""
    return f"{ours:g} {_all()[name]['what']} (paper {name[0]}: {stated(name):g})"
