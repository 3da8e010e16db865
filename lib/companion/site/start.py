"""The start page's computed parts: what holds at which size (ledgers), and where the experiments lie (designs)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import nbformat
import numpy as np
from matplotlib.figure import Figure

from companion import paths
from companion.book import ledger, plots, screen, stated, views
from companion.lab import catalogue, parameters, results

LAZY = "B.Fig4-crossover"  # the claim on where the kernel changes by its own norm
LOW, FROZEN = 1e-20, 1e11  # the map's lower end, and the height at which it shows the kernel before training


def holds(entries: Sequence[Mapping[str, Any]], titles: Mapping[str, tuple[str, str]], profile: str) -> str:
    """The papers' statements by chapter and verdict, here and at their size, as Markdown.

    At that size are claims of a run at the paper profile, and those here whose rows have a size that the paper states.
    ``titles``: title and page of each chapter, by number.
    """
    here = [entry for entry in entries if entry["kind"] == "paper"]
    apart = [entry for entry in ledger.read(paths.paper_ledger()) if entry["kind"] == "paper"]
    verdicts = {entry["id"]: entry["verdict"] for entry in here}
    moved = [entry for entry in apart if verdicts.get(entry["id"]) != entry["verdict"]]
    large = {entry["id"]: entry for entry in [*filter(stated.at_size, here), *apart]}.values()
    return views.markdown("holds", own=here, large=large, moved=moved, titles=titles, profile=profile)


def places(entries: Sequence[Mapping[str, Any]], titles: Mapping[str, tuple[str, str]], profile: str) -> str:
    """Where the experiments lie, as Markdown; the pictures are written beside the pages."""
    networks = experiments(profile)
    alt = "Marks over width and output scale, on both sides of a line."
    picture = shown(place_map(networks, entries), "places", alt)
    settings = [setting["values"] for entry in entries for setting in entry["settings"] or ()]
    widest = max((width for values in settings for width in ledger.flat(values.get("h", []))), default=0)
    absent = [int(number) for number in titles if number not in networks]
    theirs = stated.value("A.width")
    return views.markdown("places", shown=picture, absent=absent, profile=profile, widest=widest, theirs=theirs)


def shown(fig: Figure, name: str, alt: str) -> str:
    """A figure of this page as HTML; the pictures are written beside the pages, as those of chapters."""
    about: dict[str, Any] = {"name": name, "alt": alt}
    data = screen.pictures(fig)
    about |= {"font": screen.smallest_font(fig), "narrow": screen.phone_variant(fig)}
    plt.close(fig)
    output = nbformat.v4.new_output("display_data", data, metadata={"regimes": about})
    return screen.figure_html(output, paths.generated() / "extra" / "figures", "../figures/")


def experiments(profile: str) -> dict[str, set[tuple[int, float]]]:
    """Width and output scale of all networks of each chapter that has both, from its designs.

    The laptop's claims are judged on stored rows, too, so that the networks of these are among them. The scale
    multiplies an output divided by the width; it is infinite where the kernel before training is used.
    """
    networks: dict[str, set[tuple[int, float]]] = {}
    for number in parameters.chapters():
        values = parameters.resolve(number, profile)
        settings: list[Mapping[str, Any]] = []
        for study in catalogue.of(number).values():
            if "h" in study.grid.axes:
                settings += study.grid.axes_alone()(values)  # axes alone, no data
                kept = results.Results.of(study).finished.values() if profile == "laptop" else ()
                settings += [entry.cell.setting for entry in kept if "h" in entry.cell.setting]
        for setting in settings:
            scale = setting.get("alpha", setting.get("scale", math.inf))  # studies have two names for it
            networks.setdefault(number, set()).add((int(setting["h"]), float(scale)))
    return networks


def place_map(networks: Mapping[str, set[tuple[int, float]]], entries: Sequence[Mapping[str, Any]]) -> Figure:
    """Where the experiments lie: output scale over width, one mark per setting, and the line between the regimes.

    Source: paper B, Sec. 4: that line lies at a mean-field scale of order one.
    """
    plots.style()
    fig, ax = plt.subplots(figsize=(7.2, 5.2))
    for ends, name in (((LOW / 1e3, 1), "feature"), ((1, FROZEN / 100), "lazy")):
        ax.axhspan(*ends, color=plots.COLOURS[name], alpha=0.08, linewidth=0)
        middle = {"xy": (1.02, (ends[0] * ends[1]) ** 0.5), "xycoords": ("axes fraction", "data")}
        ax.annotate("feature learning" if name == "feature" else name, **middle, rotation=90, va="center", color="0.3")
    ax.axhline(1, color=plots.COLOURS["theory"], label=r"regimes meet: $\tilde\alpha\sim1$ (theory)")
    for exponent in [entry["value"] for entry in entries if entry["id"] == LAZY and entry["value"] is not None]:
        ax.axhline(10**exponent, color=plots.COLOURS["theory"], linestyle=":", label="… measured, chapter 3")
    for (number, pairs), marker, colour in zip(networks.items(), "os^DvPX", plots.PALETTE):
        h, scale = np.array(sorted(pairs)).T
        heights = np.where(np.isinf(scale), FROZEN, np.maximum(scale, LOW))
        ax.plot(h, heights, marker, color=colour, markerfacecolor="none", label=f"chapter {int(number)}")
        if scale.min() < LOW:
            words = f"to $10^{{{math.log10(scale.min()):.0f}}}$"
            ax.annotate(words, (h[scale.argmin()], LOW / 30), ha="center", va="top", fontsize="small")
    grey = {"color": plots.COLOURS["paper"], "linewidth": 6, "alpha": 0.6}
    ax.plot([stated.value("A.width")] * 2, stated.value("A.scales"), **grey, label="paper A")
    ax.set(xscale="log", yscale="log", ylim=(LOW / 1e3, 30 * FROZEN), xlabel="width $h$")
    powers = range(-20, 9, 4)
    ax.set_yticks([*(10.0**k for k in powers), FROZEN], [*(f"$10^{{{k}}}$" for k in powers), "frozen kernel"])
    ax.set_ylabel(r"output scale $\tilde\alpha=\sqrt{h}\,\alpha$")
    ax.minorticks_off()
    fig.legend(loc="outside lower center", ncols=3, fontsize="small")
    return fig
