"""The book's one figure style: a white grid, a colour-blind palette, sizes that fit the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import colorConverter, to_rgb
from matplotlib.figure import Figure

from companion.book import screen
from companion.estimates import Estimate, mean

STYLE = Path(__file__).with_name("templates") / "book.mplstyle"
PALETTE = [
    to_rgb(f"#{colour}") for colour in "0173B2 DE8F05 029E73 D55E00 CC78BC CA9161 FBAFE4 949494 ECE133 56B4E9".split()
]
# the same thing has the same colour in every chapter
COLOURS = {
    "feature": PALETTE[3],  # a network that learns features
    "lazy": PALETTE[0],  # the kernel before training, and what learns with it
    "infinite": "black",  # that kernel at infinite width
    "compressed": PALETTE[9],  # the same on compressed data
    "final": PALETTE[4],  # the kernel after training
    "last": PALETTE[5],  # the kernel of the last layer alone
    "amplification": PALETTE[2],  # how far uninformative weights have shrunk
    "uncentred": PALETTE[1],  # the neural feature ansatz
    "centred": PALETTE[4],  # the same of what training has added
    "plus": PALETTE[0],  # points of label +1
    "minus": PALETTE[1],  # points of label -1
    "theory": "0.25",
    "paper": "0.6",
}
DIGIT = 0.08  # inches of a digit of a tick's small number
REACH = 3.5  # beyond it a component, whose mean square is 1, is drawn at the edge of a plane
FITTED = {0.1: "10%", 0.9: "90%", 0.98: "98%", 1.0: "end"}  # fractions of fitted points that an axis names
LABELS = ((1, "plus", "o"), (-1, "minus", "^"))  # how points are drawn: label, name of its colour, marker


def style() -> None:
    """Sets the figure style, from matplotlib's defaults; every chapter begins with it (through ``Chapter``)."""
    matplotlib.rcdefaults()  # not from the reader's matplotlibrc
    plt.style.use(STYLE)
    letters = zip("bgrmyck", [*(PALETTE[i] for i in (0, 2, 3, 4, 8, 9)), (0.1, 0.1, 0.1)], strict=True)
    for letter, colour in letters:  # ``"k--"`` is the palette's black
        colorConverter.colors[letter] = colour


def shades(count: int) -> list[tuple[float, ...]]:
    """Colours from dark to light for so many curves, without the ends of the map."""
    return [tuple(colour) for colour in plt.get_cmap("viridis")(np.linspace(0, 1, count + 2)[1:-1])[:, :3]]


def panels(count: int, *, columns: int = 2, width: float | None = None, height: float = 3.4, **kwargs: object) -> tuple:
    """``count`` axes in rows of ``columns``; unused ones are hidden. Returns figure and a flat list of axes.

    A row is at most ``screen.COLUMN_WIDTH`` inches wide: type in a wider one is too small on a page.
    """
    rows = -(-count // columns)
    columns = min(columns, count)
    width = min(width or 4.4, screen.COLUMN_WIDTH / columns)
    fig, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False, **kwargs)
    flat = list(axes.flat)
    for axis in flat[count:]:
        axis.set_visible(False)
    return fig, flat[:count]


def frame(fig: Figure, title: str = "", columns: int = 0) -> None:
    """What panels share: a ``title`` above them; below, in ``columns``, a legend.

    It is that of the panel that names most curves and has no legend of its own.
    """
    if title:
        fig.suptitle(title, fontsize="medium")
    if columns:
        others = (ax for ax in fig.axes if ax.get_legend() is None)
        named = max((ax.get_legend_handles_labels() for ax in others), key=lambda named: len(named[1]))
        fig.legend(*named, loc="outside lower center", ncols=columns, fontsize="small")


def from_feature_to_lazy(count: int) -> np.ndarray:
    """Colours ``(count, 3)`` of growing scales, from that of feature learning to that of the lazy regime."""
    share = np.linspace(0, 1, count)[:, None]
    return (1 - share) * np.array(COLOURS["feature"]) + share * np.array(COLOURS["lazy"])


def slope_guide(
    ax: Axes, x: tuple[float, float], y: float, exponent: float, label: str, *, above: bool = False
) -> None:
    """A dashed power law through ``(x[0], y)`` on logarithmic axes, its exponent as label below its middle or above."""
    ends = [y, y * (x[1] / x[0]) ** exponent]
    ax.plot(x, ends, "--", color=COLOURS["theory"], linewidth=1)
    middle = (x[0] * x[1]) ** 0.5, (ends[0] * ends[1]) ** 0.5
    free = {"ha": "right" if (exponent < 0) != above else "left", "va": "bottom" if above else "top"}
    offset = (2 if free["ha"] == "left" else -2, 2 if above else -2)
    ax.annotate(label, middle, textcoords="offset points", xytext=offset, fontsize="small", **free)


def plain_numbers(ax: Axes, axis: str = "y") -> None:
    """Ticks of a logarithmic axis at plain numbers: of powers of ten, 1-2-5 and finer steps the first with four."""
    low, high = sorted(getattr(ax, f"get_{axis}lim")())
    fine = (1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)
    finest = [1 + k / 10 for k in range(10)] + [2 + k / 4 for k in range(32)]
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), fine, finest):
        ticks = [step * 10.0**k for k in range(-12, 13) for step in steps if low <= step * 10.0**k <= high]
        if len(ticks) > 3:
            break
    words = [f"{tick:g}" if 1e-4 <= tick <= 1e4 else f"${number(tick)}$" for tick in ticks]
    getattr(ax, f"set_{axis}ticks")(ticks, words)
    ax.minorticks_off()


def data_points(ax: Axes, points: np.ndarray, labels: Sequence[float], **style: object) -> None:
    """Points ``(n, 2)`` of the labels +1 (circles) and -1 (triangles), each kind named for a legend."""
    for sign, name, marker in LABELS:
        selected = np.asarray(points)[np.asarray(labels) == sign].T
        marks = {"color": COLOURS[name], "markersize": 4, "alpha": 0.6, "markeredgewidth": 0} | style
        ax.plot(*selected, marker, label=f"$y={sign:+d}$", **marks)


def boundaries(ax: Axes, positions: Sequence[float], *, label: str = "label changes") -> None:
    """The planes at which the label changes, as dash-dotted lines across the first axis, named for a legend."""
    for i, at in enumerate(positions):
        ax.axvline(at, color=COLOURS["theory"], linestyle="-.", linewidth=1.2, label=None if i else label)


def weights(ax: Axes, row: pd.Series, *, axes: tuple[int, int] = (0, 1), reach: float = 3.2) -> None:
    """The arrows ``βω`` of a network's neurons over its training points, in the plane of two input axes.

    The longest ends within the plot. ``row`` is one of ``studies.compression.weight_snapshots``.
    Source: paper A, Fig. 2 and 7.
    """
    points, arrows = np.array(row["points"]), np.array(row["arrows"])
    data_points(ax, points[:, axes], row["labels"], markersize=3)
    x, y = arrows[:, axes].T * min(1.0, reach / max(abs(arrows).max(), 1e-9))
    ax.quiver(0 * x, 0 * y, x, y, angles="xy", scale_units="xy", scale=1, width=0.008)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel=f"$x_{axes[0] + 1}$", ylabel=f"$x_{axes[1] + 1}$")


def realisations(ax: Axes, x: object, y: object, **style: object) -> None:
    """The median over realisations ``y (n, k)`` against ``x (k,)``, with a band of the quartiles in the same colour."""
    low, middle, high = np.quantile(np.asarray(y, dtype=float), [0.25, 0.5, 0.75], axis=0)
    (line,) = ax.plot(x, middle, **{"marker": "o", "markersize": 4} | style)
    ax.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)


def over_seeds(
    ax: Axes, rows: pd.DataFrame, x: str, y: str, *, per: str = "seed", factor: float = 1, **style: object
) -> None:
    """A column of rows against another: ``realisations`` of ``factor`` times ``y``, one for each value of ``per``."""
    by_realisation = factor * rows.pivot(index=per, columns=x, values=y)
    realisations(ax, by_realisation.columns, by_realisation, **style)


def with_scatter(ax: Axes, rows: pd.DataFrame, x: str, y: str, **style: object) -> None:
    """Means of a column of rows against another, with bars of one standard deviation."""
    moments = rows.groupby(x)[y].agg(["mean", "std"])
    ax.errorbar(moments.index, moments["mean"], moments["std"], **{"marker": "o", "markersize": 4} | style)


def along_training(ax: Axes, rows: pd.DataFrame, value: str, **style: object) -> None:
    """A column of rows against their fitted ``share``, at equal distances: medians and quartiles over seeds."""
    shares = sorted(set(rows.share))
    over_seeds(ax, rows.assign(place=rows.share.map(shares.index)), "place", value, **style)
    ax.set_xticks(range(len(shares)), [FITTED.get(share, "") for share in shares], fontsize="small")
    ax.set_xlabel("fitted points")


def intervals(ax: Axes, estimates: Mapping[float, Estimate], **style: object) -> None:
    """Estimates against what they are of, such as a size: points with their intervals."""
    values = [it.value for it in estimates.values()]
    bars = [[it.value - it.low for it in estimates.values()], [it.high - it.value for it in estimates.values()]]
    ax.errorbar([*estimates], values, bars, **{"fmt": "o-", "capsize": 2} | style)


def means_by_size(
    ax: Axes, rows: pd.DataFrame, x: str, y: str = "test_error", *, label: str | None = None, **style: object
) -> None:
    """Means over seeds against ``x``, with two standard errors: the largest dimension ``d`` filled, the next hollow.

    Where ``x`` is the dimension, all are shown. ``label`` names the filled points for a legend.
    """
    sizes = sorted(rows["d"].unique())
    for d in sizes if x == "d" else sizes[-2:]:
        moments = rows[rows["d"] == d].groupby(x)[y].agg(["mean", "sem"])
        marks = {"fmt": "o", "markersize": 5, "elinewidth": 1} | style
        marks |= {"label": label} if d == sizes[-1] else {"markerfacecolor": "white"}
        ax.errorbar(moments.index, moments["mean"], 2 * moments["sem"], **marks)


def by_rank(ax: Axes, values: np.ndarray, **style: object) -> None:
    """Means over realisations ``(E, r)`` against the rank 1 … r, with 95 % intervals where there are several."""
    values = np.atleast_2d(np.asarray(values, dtype=float))
    rank, means = np.arange(1, values.shape[1] + 1), [mean(column) for column in values.T]
    (line,) = ax.plot(rank, [estimate.value for estimate in means], **{"marker": "o", "markersize": 4} | style)
    if len(values) > 1:
        low, high = [max(estimate.low, 0) for estimate in means], [estimate.high for estimate in means]
        ax.fill_between(rank, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.set_xticks(rank)
    top = max(estimate.high if len(values) > 1 else estimate.value for estimate in means)
    ax.set(xlabel="rank $r$", ylim=(0, max(1.05 * top, ax.get_ylim()[1] if len(ax.lines) > 1 else 0)))


def component_plane(ax: Axes, points: Sequence[Sequence[float]], labels: Sequence[float]) -> None:
    """Points ``(n, 2)`` in the plane of two components, coloured by label; those beyond ``REACH`` at the edge."""
    data_points(ax, np.clip(points, -REACH, REACH), labels, markersize=3, markeredgewidth=None)
    ax.set(xlim=(-1.05 * REACH, 1.05 * REACH), ylim=(-1.05 * REACH, 1.05 * REACH), aspect="equal")
    ax.set(xlabel=r"$\varphi_1$", ylabel=r"$\varphi_2$")


def phase_map(ax: Axes, rows: pd.DataFrame, jammed: pd.DataFrame) -> None:
    """The ensemble's error over width and scale, with jamming and lines of equal change of the kernel.

    Circles mark errors within half a per cent of the best. Source: paper B, Fig. 4.

    Args:
        ax: the axes.
        rows: with ``scale``, ``h``, ``ensemble_error`` and ``kernel_change``.
        jammed: width at jamming, one row per training set, one column per scale.
    """
    rows = rows[np.isfinite(rows.kernel_change) & (rows.kernel_change > 0)]
    table = rows.groupby(["scale", "h"])[["ensemble_error", "kernel_change"]].mean().unstack()
    scales, widths = table.index.to_numpy(float), table.columns.levels[1].to_numpy(float)
    x, y = np.meshgrid(np.log2(widths), np.log10(scales))
    error = 100 * table["ensemble_error"].to_numpy()
    plt.colorbar(ax.contourf(x, y, error, levels=14, cmap="viridis_r"), ax=ax, label="ensemble error (%)")
    change = np.log10(table["kernel_change"].to_numpy())
    lines = ax.contour(x, y, change, levels=[-2, -1, 0, 1, 2], colors="white", linewidths=[0.8, 0.8, 2, 0.8, 0.8])
    ax.clabel(lines, fmt=lambda level: f"$10^{{{level:.0f}}}$", fontsize="medium")
    best = error <= error.min() + 0.5
    ax.plot(x[best], y[best], "o", markerfacecolor="none", markeredgecolor="0.1", markersize=8, clip_on=False)
    jamming_widths = np.log2(jammed.dropna(axis=1))
    heights = np.log10(jamming_widths.columns.to_numpy(float))
    ax.fill_betweenx(heights, jamming_widths.min(), jamming_widths.max(), color="black", alpha=0.35, linewidth=0)
    ax.plot(np.log2((2**jamming_widths).mean()), heights, "k-")
    ax.set_xticks(np.log2(widths), with_room(ax, widths))
    ax.set(xlabel="width $h$", ylabel=r"$\log_{10}\tilde\alpha$")


def number(value: float) -> str:
    r"""A number of a formula, of two digits or whole: ``0.0039``, ``256``, ``10^{6}``, ``3.3 \times 10^{-5}``."""
    words = f"{value:.0f}" if 100 <= value < 1e4 else f"{value:.2g}"
    digits, _, power = words.partition("e")
    ten = f"10^{{{int(power or 0)}}}"
    return words if not power else ten if digits == "1" else rf"{digits} \times {ten}"


def with_room(ax: Axes, sizes: Sequence[float]) -> list[str]:
    """Labels of increasing sizes on a logarithmic abscissa; no words where a narrow panel has no room, or after ten."""
    labels, written = [], 0.0
    room = ax.get_position().width * ax.figure.get_figwidth() / (DIGIT * (len(f"{sizes[-1]:g}") + 1))
    step = (sizes[-1] / sizes[0]) ** (0.999 / max(1, min(10, room)))
    for size in sizes:
        labels.append(f"{size:g}" if size >= step * written else "")
        written = size if labels[-1] else written
    return labels


def curve_axes(ax: Axes, sizes: Sequence[float], *, errors: bool = True) -> None:
    """Logarithmic axes of a learning curve with plain numbers: ``sizes`` on the abscissa, 1-2-5 steps of the errors."""
    ax.set_xscale("log")
    ax.set_xticks(sorted(sizes), with_room(ax, sorted(sizes)), fontsize="small")
    if errors:
        ax.set_yscale("log")
        plain_numbers(ax)
    ax.minorticks_off()


def picture(ax: Axes, pixels: np.ndarray) -> None:
    """An image from its pixels ``(n² ,)`` in grey or ``(3 n²,)`` in colour, of any range, without axes."""
    side = round((len(pixels) if round(len(pixels) ** 0.5) ** 2 == len(pixels) else len(pixels) / 3) ** 0.5)
    low, high = pixels.min(), pixels.max()
    shade = (pixels - low) / (high - low)
    ax.imshow(shade.reshape(side, side, -1).squeeze(), cmap="gray")
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
