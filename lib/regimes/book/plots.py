"""The book's one figure style: seaborn's whitegrid, a colour-blind palette, sizes that fit the page."""

from collections.abc import Sequence

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

PALETTE = sns.color_palette("colorblind")
# the same thing has the same colour in every chapter
COLOURS = {"feature": PALETTE[3], "lazy": PALETTE[0], "theory": "0.25", "paper": "0.6"}


def style() -> None:
    """Sets the figure style; every chapter begins with it (through ``Chapter``)."""
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        palette="colorblind",
        rc={
            "figure.figsize": (7.2, 4.2),
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "figure.constrained_layout.use": True,
            "axes.grid.which": "major",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.6,
            "legend.frameon": False,
            "mathtext.fontset": "cm",
        },
    )
    matplotlib.rcParams["svg.hashsalt"] = "regimes"  # the same figure gives the same bytes


def panels(count: int, *, columns: int = 2, width: float = 4.4, height: float = 3.4, **kwargs: object) -> tuple:
    """``count`` axes in rows of ``columns``; unused ones are hidden. Returns figure and a flat list of axes."""
    rows = -(-count // columns)
    columns = min(columns, count)
    fig, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **kwargs)
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.set_visible(False)
    return fig, flat[:count]


def slope_guide(ax: Axes, x: tuple[float, float], y: float, exponent: float, label: str) -> None:
    """A dashed power law through ``(x[0], y)`` on logarithmic axes, with its exponent as label."""
    ends = [y, y * (x[1] / x[0]) ** exponent]
    ax.plot(x, ends, "--", color=COLOURS["theory"], linewidth=1)
    ax.annotate(label, (x[1], ends[1]), textcoords="offset points", xytext=(4, 0), va="center", fontsize="small")


def realisations(ax: Axes, x: object, y: object, **style: object) -> None:
    """The median over realisations ``y (n, k)`` against ``x (k,)``, with the quartiles as a band of the same colour."""
    low, middle, high = np.quantile(np.asarray(y, dtype=float), [0.25, 0.5, 0.75], axis=0)
    (line,) = ax.plot(x, middle, **{"marker": "o", "markersize": 4} | style)
    ax.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)


def curve_axes(ax: Axes, sizes: Sequence[float], *, errors: bool = True) -> None:
    """Logarithmic axes of a learning curve with plain numbers: ``sizes`` on the abscissa, 1-2-5 steps of the errors."""
    ax.set_xscale("log")
    ax.set_xticks(list(sizes), [f"{size:g}" for size in sizes], fontsize="small")
    if errors:
        ax.set_yscale("log")
        low, high = ax.get_ylim()
        ticks = [step * 10.0**k for k in range(-6, 5) for step in (1, 2, 5) if low <= step * 10.0**k <= high]
        ax.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def picture(ax: Axes, pixels: np.ndarray) -> None:
    """An image from its pixels ``(n² ,)`` in grey or ``(3 n²,)`` in colour, of any range, without axes."""
    side = round((len(pixels) if round(len(pixels) ** 0.5) ** 2 == len(pixels) else len(pixels) / 3) ** 0.5)
    low, high = pixels.min(), pixels.max()
    shade = (pixels - low) / (high - low)
    ax.imshow(shade.reshape(side, side, -1).squeeze(), cmap="gray")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(False)


def hover_rows(cells: pd.DataFrame) -> str:
    """The HTML rows of a grid whose cells tell their numbers on hover; see ``Chapter.hover``."""
    shown = cells.columns[0]
    grid = cells[shown].unstack()
    low, high = float(grid.min(axis=None)), float(grid.max(axis=None))
    rows, columns = cells.index.names
    colour = matplotlib.colormaps["viridis_r"]
    lines = []
    for key in sorted(grid.index, reverse=True):
        line = [f"<th scope='row'>{key:.3g}</th>"]
        for column in grid.columns:
            values = cells.loc[(key, column)]
            told = "; ".join(
                [f"{rows} {key:.3g}", f"{columns} {column:g}", *(f"{n} {v:.3g}" for n, v in values.items())]
            )
            share = (values[shown] - low) / max(high - low, 1e-300)
            ink = "white" if share > 0.5 else "black"
            style = f"background:{matplotlib.colors.to_hex(colour(share))};color:{ink}"
            line.append(f"<td tabindex='0' title='{told}' style='{style}'>{100 * values[shown]:.1f}</td>")
        lines.append(f"<tr>{''.join(line)}</tr>")
    foot = "".join(f"<th scope='col'>{column:g}</th>" for column in grid.columns)
    return f"{''.join(lines)}<tr><th>{rows} \\ {columns}</th>{foot}</tr>"
