"""What a figure shows, as text: of each panel its labels, scales and limits, its words, and where its marks lie.

Places are in units of the panel, from 0 to 1, on the scale of its axes: what another processor rounds otherwise is the
same to a unit of the last digit. Marks of a kind are one line: how many, of how many points, their mean place, the mean
place that counts later points more, and the mean colour. Usual ticks, fonts and the layout are left out.
Counts and ticks are joined to a word, and so not compared as what is measured, but to the letter.
"""

import numpy as np
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgba_array
from matplotlib.ticker import FixedLocator

SMALL = 1e-7  # of the largest: smaller numbers are round-off


def lines(fig):
    """The lines of a figure, panel after panel."""
    return [f"[{i}] {line}" for i, ax in enumerate(fig.axes, 1) if ax.get_visible() for line in _panel(ax)]


def _panel(ax):
    entries = ax.get_legend().get_texts() if ax.get_legend() else []
    words = [ax.get_title(), *(text.get_text() for text in entries), *(_word(ax, text) for text in ax.texts)]
    about = "; ".join(map(_axis, (ax.xaxis, ax.yaxis)))
    yield " | ".join(filter(None, [about, *words])).replace("\n", " ")
    for kind, marks in (("lines", ax.lines), ("areas", ax.collections), ("patches", ax.patches)):
        places = [_places(ax, mark) for mark in marks]
        if places:
            points = np.concatenate(places)
            moments = _numbers(_moments(points))
            colour = np.nanmean(np.concatenate([_colours(mark) for mark in marks]), 0)
            styles = {str(style) for mark in ax.lines for style in (mark.get_linestyle(), mark.get_marker())}
            looks = [_numbers(colour, 2), *sorted(styles)] if kind == "lines" else [_numbers(colour, 2)]
            yield f"{len(places)}_{kind} of {len(points)}_points at {moments}, colour {' '.join(looks)}"
    for image in (*ax.images, *ax.collections):
        if image.get_array() is not None:
            shades = np.ma.filled(np.ma.asarray(image.get_array(), dtype=float), np.nan).reshape(-1, 1)
            largest = np.nanmax(np.abs(shades))
            yield f"{len(shades)}_shades at {_numbers(_moments(shades / (largest or 1)))} of {largest:.3g}"


def _word(ax, text):
    """A word beside what it stands at."""
    if hasattr(text, "xy"):
        position = ax.transData.transform(text.xy)
    else:
        position = text.get_transform().transform(text.get_position())
    is_relative = getattr(text, "xycoords", "data") != "data"
    return f"{text.get_text()} at {_numbers(text.xy if is_relative else ax.transAxes.inverted().transform(position))}"


def _places(ax, mark):
    """The points ``(n, 2)`` of a mark, in units of the panel."""
    if isinstance(mark, PathCollection):
        points = mark.get_offset_transform().transform(np.ma.filled(mark.get_offsets(), np.nan))
    else:
        paths = mark.get_paths() if hasattr(mark, "get_paths") else [mark.get_path()]
        points = np.concatenate([np.empty((0, 2)), *(mark.get_transform().transform(path.vertices) for path in paths)])
    return ax.transAxes.inverted().transform(points).reshape(-1, 2)


def _colours(mark):
    """The colours ``(n, 4)`` of a mark: of faces and edges, or of a line."""
    colours = [mark.get_color()] if hasattr(mark, "get_color") else [mark.get_facecolor(), mark.get_edgecolor()]
    return np.concatenate([to_rgba_array(colour) for colour in colours])


def _moments(points):
    """The mean of points ``(n, k)`` that are numbers, and the mean with weights 0 … 2 in their order."""
    weights = np.linspace(0, 2, len(points))[:, None]
    points = np.where(np.isfinite(points), points, 0)
    return [*points.mean(0), *(weights * points).mean(0)] if len(points) else []


def _axis(axis):
    """An axis: its label, scale, limits, and ticks where a chapter sets them."""
    limits, scale = axis.get_view_interval(), axis.get_scale()
    smallest = SMALL * max(map(abs, limits)) if scale == "linear" else 0
    ends = " to ".join(f"{limit if abs(limit) > smallest else 0:.3g}" for limit in limits)
    is_set = isinstance(axis.get_major_locator(), FixedLocator)
    ticks = [tick.get_text() for tick in axis.get_ticklabels()] if is_set else []
    return f"{axis.get_label_text()} ({scale} {ends}{''.join(f' _{tick}' for tick in ticks if tick)})"


def _numbers(values, digits=3):
    return " ".join(f"{value:.{digits}f}" for value in values).replace("-0.000", "0.000")
