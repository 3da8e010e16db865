"""Sketches that explain a chapter's idea before anything is measured: large type, few words, as wide as a phone.

Curves, points and densities in them are computed by the library; what is schematic is called so in its caption.
"""

import functools
import math
from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from companion.book import plots
from companion.papers.depth.theory import rate
from companion.papers.one_step.theory import spectrum
from companion.papers.one_step.theory.conditional_map import equivalent
from regimes.data import tasks

WIDTH = 5.0  # inches: hardly smaller on a phone than drawn
SIZES = {"font.size": 13, "axes.labelsize": 14, "axes.titlesize": 14, "legend.fontsize": 12}
SIZES |= {"xtick.labelsize": 12, "ytick.labelsize": 12}
ARROW = {"arrowstyle": "-|>", "color": "0.15", "lw": 2, "shrinkA": 0, "shrinkB": 0}


def _large(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """A sketch drawn with large type."""

    @functools.wraps(draw)
    def drawn(*args: object, **kwargs: object) -> Figure:
        with plt.rc_context(SIZES):
            fig = draw(*args, **kwargs)
            for ax in fig.axes:
                ax.tick_params(labelsize=SIZES["xtick.labelsize"])
        return fig

    return drawn


def _canvas(rows: int, columns: int, height: float, **kwargs: object) -> tuple[Figure, list[Axes]]:
    fig, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, layout="constrained", **kwargs)
    return fig, list(axes.flat)


def planes(ax: Axes, feet: np.ndarray, sizes: np.ndarray) -> None:
    """The planes of neurons in two dimensions, each through its point ``z (n, 2)`` nearest to the origin.

    The larger its size ``(n,)``, above 0, the darker a plane, down to a tenth.
    """
    for z, share in zip(feet, np.sqrt(sizes / sizes.max())):
        if np.linalg.norm(z) > 1e-9:  # through the origin itself the foot does not tell the direction
            ax.axline(z, z + [-z[1], z[0]], color="black", linewidth=1, alpha=max(0.8 * share, 0.1))


def regions(ax: Axes, interfaces: Sequence[float]) -> None:
    """The label of each region between planes, as a tint and a sign: +1 before the first."""
    reach = 3.0
    edges = [-reach, *interfaces, reach]
    for i, (low, high) in enumerate(zip(edges, edges[1:])):
        sign, name, _ = plots.LABELS[i % 2]
        ax.axvspan(low, high, color=plots.COLOURS[name], alpha=0.2, linewidth=0)
        ax.text((low + high) / 2, 0.9 * reach, f"${sign:+d}$", ha="center", va="top", weight="bold", fontsize=16)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.grid(False)


@_large
def compression(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], interfaces: Sequence[float]
) -> Figure:
    """Neurons' planes before and after, from their feet ``z (n, 2)`` and sizes ``(n,)``, over the stripe's labels."""
    fig, axes = _canvas(1, 2, 2.9, sharey=True)
    for ax, neurons, title in zip(axes, (before, after), ("before", "after")):
        regions(ax, interfaces)
        planes(ax, *neurons)
        ax.set(title=title, xlabel="$x_1$ matters")
    axes[0].set_ylabel("$x_2$ does not")
    return fig


def staircase(rho: float, layers: int) -> np.ndarray:
    """The corners ``(2 layers + 1, 2)`` of a cobweb of the layer map ``h``: to the curve, across to the identity.

    Source: paper C, Definition 5.
    """
    corners = [(rho, rho)]
    for _ in range(layers):
        before = corners[-1][0]
        after = float(rate.correlation_map(torch.tensor(before, dtype=torch.float64)))
        corners += [(before, after), (after, after)]
    return np.array(corners)


@_large
def cobweb() -> Figure:
    """The layer map as a cobweb: pairs that start at the correlations -0.9 and 0.3, over eight layers.

    Source: paper C, Fig. 3.
    """
    fig, (ax,) = _canvas(1, 1, 4.4)
    rho = torch.linspace(-1, 1, 401, dtype=torch.float64)
    ax.plot(rho, rate.correlation_map(rho), color="black", linewidth=2.5, label="one layer, $h$")
    ax.plot(rho, rho, "--", color=plots.COLOURS["theory"], label="no change")
    for start, colour in zip((-0.9, 0.3), plots.PALETTE):
        corners = staircase(start, layers=8)
        ax.plot(*corners.T, color=colour, linewidth=1.5, label=rf"from $\rho={start:g}$")
        ax.plot(start, start, "o", color=colour, markersize=8)
    ax.set(xlabel="correlation before a layer", ylabel="after it", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.legend(loc="upper left")
    return fig


@_large
def spike() -> Figure:
    """One step adds the same vector to all neurons' weights, and leaves one eigenvalue far outside the bulk.

    Above: rows of ``W = W_b + r 1 vᵀ`` (tanh network, sine target, ``p = 4 d``) along ``v`` and across, before the
    step and after it. Below: density of the feature covariance at ``n = 2 d``, ``p = d``, with its isolated eigenvalue.

    Source: paper E, Eqs. 9-12 and Fig. 8.
    """
    s, d = equivalent("tanh", "sin", alpha0=4.0, step=3.0), 100
    rows = tasks.gaussian_points(4 * d, d, seed=0).numpy()
    rows = rows[:, :2] / np.linalg.norm(rows, axis=1, keepdims=True)
    fig, axes = _canvas(2, 1, 4.8)
    for shift, size, name, words in ((0, 1, "lazy", "before"), (s.r, math.sqrt(s.c), "feature", "after one step")):
        axes[0].plot(*(size * rows + [shift, 0]).T, ".", color=plots.COLOURS[name], markersize=4, alpha=0.6)
        axes[0].annotate(words, (shift, 0.42), ha="center", color=plots.COLOURS[name])
    axes[0].annotate("", (s.r, 0), (0, 0), arrowprops=ARROW)
    axes[0].annotate("spike $r\\,v$", (s.r / 2, 0.06), ha="center")
    axes[0].set(xlabel="weights along $v$", ylabel="across", xlim=(-1.2, s.r + 1.2), ylim=(-0.6, 0.65), aspect="equal")
    parameters = {"alpha": 2.0, "beta": 1.0, "r": s.r, "c": s.c}
    x = np.geomspace(1e-3, 10, 200)
    bulk, top = x * spectrum.density("tanh", x, **parameters), spectrum.outlier("tanh", p=d, **parameters)
    axes[1].fill_between(x, bulk, color=plots.COLOURS["lazy"], alpha=0.5, linewidth=0)
    axes[1].plot([top, top], [0, 0.5 * bulk.max()], color=plots.COLOURS["feature"], linewidth=3)
    axes[1].annotate("spike", (top, 0.55 * bulk.max()), ha="right", color=plots.COLOURS["feature"])
    axes[1].annotate("bulk", (x[bulk.argmax()], 1.05 * bulk.max()), ha="center", color=plots.COLOURS["lazy"])
    axes[1].set(
        xscale="log", xlabel="eigenvalue of the features", ylabel="share", yticks=[], ylim=(0, 1.3 * bulk.max())
    )
    return fig


def landscape(w: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """The quadratic hinge of two points on one weight, ``½ max(0, lower - w)² + ½ max(0, w - upper)²``.

    Where ``lower <= upper`` both hold between; else nowhere.
    """
    return np.square(np.maximum(lower - w, 0)) / 2 + np.square(np.maximum(w - upper, 0)) / 2


@_large
def jamming() -> Figure:
    """The two phases over parameters and points, and what the loss of each looks like."""
    fig, axes = plt.subplot_mosaic(
        [["phases", "phases"], ["not fitted", "fitted"]],
        figsize=(WIDTH, 5.0),
        height_ratios=(1.2, 1),
        layout="constrained",
    )
    colours = {"not fitted": plots.COLOURS["minus"], "fitted": plots.COLOURS["plus"]}
    line = np.array([0, 1])
    axes["phases"].fill_between(line, line, 1, color=colours["not fitted"], alpha=0.25, linewidth=0)
    axes["phases"].fill_between(line, 0, line, color=colours["fitted"], alpha=0.25, linewidth=0)
    axes["phases"].plot(line, line, color="black", linewidth=2.5)
    axes["phases"].text(0.27, 0.8, "not fitted", ha="center")
    axes["phases"].text(0.73, 0.15, "fitted", ha="center")
    axes["phases"].text(0.52, 0.5, "jamming", rotation=27, ha="left", va="top")
    axes["phases"].set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], xlabel="parameters $N$", ylabel="points $P$")
    w = np.linspace(-2, 2, 201)
    for (name, colour), gap in zip(colours.items(), (-0.7, 0.7)):
        axes[name].plot(w, landscape(w, -gap, gap), color=colour, linewidth=3)
        axes[name].set(ylim=(-0.1, 1.6), xticks=[], yticks=[0], xlabel="weights", title=name)
    axes["not fitted"].set_ylabel("loss")
    return fig
