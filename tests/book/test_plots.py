"""The book's figure style: guides, plain numbers, labels and colours."""

import subprocess
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn
from matplotlib.colors import to_rgb

from companion.book import plots, screen
from companion.estimates import Estimate
from tests import drawn, stored_ledger


@pytest.fixture
def ax():
    plots.style()
    _, ax = plt.subplots()
    yield ax
    plt.close("all")


def test_the_style_starts_from_matplotlibs_defaults():
    """Whatever the reader's matplotlibrc says."""
    plots.style()
    usual = dict(plt.rcParams)
    plt.rcParams.update({"text.usetex": True, "font.size": 33, "axes.formatter.use_locale": True, "lines.marker": "x"})
    plots.style()
    assert dict(plt.rcParams) == usual


def test_a_row_of_panels_is_never_wider_than_a_page_can_show():
    for columns, width in ((1, None), (2, None), (3, 5), (4, None)):
        fig, axes = plots.panels(5, columns=columns, width=width)
        assert len(axes) == 5 and fig.get_figwidth() <= screen.COLUMN_WIDTH
        plt.close(fig)


@pytest.mark.parametrize("exponent", [-1, 0.5])
@pytest.mark.parametrize("above", [False, True])
def test_a_guide_has_its_slope_and_its_label_inside_its_ends(ax, exponent, above):
    ax.set(xscale="log", yscale="log")
    plots.slope_guide(ax, (10, 1000), 2.0, exponent, "slope", above=above)
    (x, y), (text,) = ax.lines[0].get_data(), ax.texts
    assert np.diff(np.log(y)) / np.diff(np.log(x)) == pytest.approx(exponent)
    assert text.xy == (pytest.approx(100), pytest.approx(2 * 10**exponent))
    assert (text.get_verticalalignment() == "bottom") == above
    # away from the line: left of a falling one where below it, right of it where above
    assert (text.get_horizontalalignment() == "left") == ((exponent < 0) == above)


@pytest.mark.parametrize(
    ("low", "high", "words"), [(1, 1e4, "1 10 100 1000 10000"), (0.02, 0.5, "0.02 0.05 0.1 0.2 0.5")]
)
def test_ticks_are_at_plain_numbers(ax, low, high, words):
    ax.set(yscale="log", ylim=(low, high))
    plots.plain_numbers(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == words.split()


def test_a_narrow_range_has_ticks_too(ax):
    ax.set(xscale="log", xlim=(1.1, 6))
    plots.plain_numbers(ax, "x")
    assert len(ax.get_xticks()) > 3


def test_ticks_of_a_narrow_range_keep_their_distance(ax):
    ax.set(yscale="log", ylim=(95, 260))
    plots.plain_numbers(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == "100 125 150 175 200 250".split()


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.00390625, "0.0039"), (12.0, "12"), (256.0, "256"), (2.0**20, "10^{6}"), (3.3e-5, r"3.3 \times 10^{-5}")],
)
def test_numbers_of_a_formula(value, words):
    assert plots.number(value) == words


def test_crowded_sizes_keep_their_ticks_without_numbers(ax):
    plots.curve_axes(ax, [4, 6, 8, 12, 14, 16, 20, 24, 32, 48])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == "4 6 8 12  16  24 32 48".split(" ")
    powers = [2**k for k in range(11)]
    plots.curve_axes(ax, powers, errors=False)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [str(power) for power in powers]


def test_small_ticks_say_all_their_digits(ax):
    ax.set(yscale="log", ylim=(3e-5, 7e-4))
    plots.plain_numbers(ax)
    words = [tick.get_text() for tick in ax.get_yticklabels()]
    assert words == [r"$5 \times 10^{-5}$", "0.0001", "0.0002", "0.0005"]


def test_a_narrow_panel_writes_fewer_sizes():
    fig, axes = plots.panels(3, columns=3)
    plots.curve_axes(axes[0], [64, 128, 256, 512, 1024, 2048], errors=False)
    written = [tick.get_text() for tick in axes[0].get_xticklabels()]
    plt.close(fig)
    assert written[0] == "64" and len(list(filter(None, written))) <= 4


def test_points_and_boundaries_are_named_once_for_a_legend(ax):
    plots.data_points(ax, np.eye(3)[:, :2], [1, -1, -1])
    plots.boundaries(ax, [-1, 0, 1])
    assert ax.get_legend_handles_labels()[1] == ["$y=+1$", "$y=-1$", "label changes"]
    assert [len(line.get_xdata()) for line in ax.lines] == [1, 2, 2, 2, 2]


def test_fitted_fractions_stand_at_equal_distances_and_some_have_names(ax):
    rows = pd.DataFrame({"share": [0.1, 0.5, 1.0] * 2, "seed": [0] * 3 + [1] * 3, "error": [3.0, 2, 1, 5, 4, 3]})
    plots.along_training(ax, rows, "error")
    assert [*ax.lines[0].get_xdata()] == [0, 1, 2] and [*ax.lines[0].get_ydata()] == [4, 3, 2]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["10%", "", "end"]


def test_estimates_have_their_intervals(ax):
    plots.intervals(ax, {128: Estimate(1.0, 0.5, 3.0), 256: Estimate(2.0, 1.0, 2.5)})
    plots.intervals(ax, {})
    line, _, (bars,) = ax.containers[0]
    assert [*line.get_xdata()] == [128, 256]
    assert np.allclose([segment[:, 1] for segment in bars.get_segments()], [(0.5, 3.0), (1.0, 2.5)])


def test_scales_run_from_the_colour_of_feature_learning_to_that_of_the_lazy_regime():
    colours = plots.from_feature_to_lazy(3)
    assert tuple(colours[0]) == to_rgb(plots.COLOURS["feature"]) and tuple(colours[-1]) == to_rgb(plots.COLOURS["lazy"])
    assert np.allclose(colours[1], (colours[0] + colours[2]) / 2)


def test_a_phase_map_names_its_levels_and_marks_where_networks_jam(ax):
    widths, scales = [8, 16, 32, 64], [1e-2, 1.0, 1e2]
    rows = [(s, h, 0.1 + 0.01 * i, 10.0 ** (2 * j - 2)) for i, s in enumerate(scales) for j, h in enumerate(widths)]
    rows = pd.DataFrame(rows, columns=["scale", "h", "ensemble_error", "kernel_change"])
    jammed = pd.DataFrame({s: [8.0 * 2**i, 16.0 * 2**i] for i, s in enumerate(scales)})
    plots.phase_map(ax, rows, jammed)
    assert {text.get_text() for text in ax.texts} >= {"$10^{-1}$", "$10^{0}$", "$10^{1}$"}
    best, means = ax.lines
    assert [*best.get_xdata()] == [3, 4, 5, 6] and {*best.get_ydata()} == {-2}
    assert np.allclose(means.get_xdata(), np.log2([12, 24, 48])) and [*means.get_ydata()] == [-2, 0, 2]
    (band,) = [one for one in ax.collections if len(one.get_facecolor()) and (one.get_facecolor()[0, :3] == 0).all()]
    assert band.get_datalim(ax.transData).intervalx.tolist() == [3, 6]


def test_what_one_figure_may_show_together_differs_in_colour():
    """``final`` and ``centred`` are both of a trained network, and points are told by their markers, too."""
    kernels = ["feature", "lazy", "infinite", "compressed", "final", "last", "theory", "paper"]
    ansatz = ["feature", "lazy", "centred", "uncentred", "amplification"]
    for names in (kernels, ansatz, ["plus", "minus"]):
        assert len({matplotlib.colors.to_hex(plots.COLOURS[name]) for name in names}) == len(names)


def test_the_style_is_seaborns_without_seaborn():
    """It takes a second to load, in every run of a chapter; only chapter 7 draws with it."""
    own = {"figure.figsize": [7.2, 4.2], "figure.dpi": 110, "savefig.dpi": 110, "grid.linewidth": 0.6}
    own |= {"lines.linewidth": 1.6, "legend.frameon": False, "mathtext.fontset": "cm"}
    own |= {"figure.constrained_layout.use": True, "svg.hashsalt": "regimes", "image.cmap": "viridis"}
    plots.style()
    mine, colours = dict(matplotlib.rcParams), [to_rgb(letter) for letter in "bgrmyck"]
    matplotlib.rcdefaults()
    seaborn.set_theme(context="notebook", style="whitegrid", palette="colorblind", rc=own)
    theirs = dict(matplotlib.rcParams)
    cycles = [list(map(to_rgb, one.pop("axes.prop_cycle").by_key()["color"])) for one in (mine, theirs)]
    assert {k: (mine[k], theirs[k]) for k in mine if mine[k] != theirs[k]} == {} and cycles[0] == cycles[1]
    assert colours == [to_rgb(letter) for letter in "bgrmyck"]
    assert plots.shades(3) == list(seaborn.color_palette("viridis", 3))


def test_a_chapter_loads_neither_seaborn_nor_the_studies_of_others():
    code = "import sys, companion.book.chapter; from companion.lab import catalogue; catalogue.of('05'); "
    dear = "{'seaborn', 'nbformat', 'companion.papers.jamming.studies.jamming', 'companion.papers.depth.studies.depth'}"
    code += f"print(sorted({dear} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "['companion.papers.depth.studies.depth']\n", done.stderr


CHANGES = {  # what a chapter's figure may show otherwise
    "a label": lambda ax: ax.set_xlabel("time"),
    "a scale": lambda ax: ax.set_yscale("log"),
    "a tick": lambda ax: ax.set_yticks([1, 3]),
    "a limit": lambda ax: ax.set_xlim(0, 11),
    "a title": lambda ax: ax.set_title("errors"),
    "a name in the legend": lambda ax: ax.legend(["network", "theory"]),
    "no legend": lambda ax: ax.get_legend().remove(),
    "a word": lambda ax: ax.texts[0].set_text("half"),
    "a word's place": lambda ax: setattr(ax.texts[0], "xy", (6, 5)),
    "values": lambda ax: ax.lines[0].set_ydata([1, 4, 8.2]),
    "their order": lambda ax: ax.lines[0].set_ydata([9, 4, 1]),
    "a colour": lambda ax: ax.lines[1].set_color(plots.COLOURS["paper"]),
    "a line's style": lambda ax: ax.lines[1].set_linestyle(":"),
    "a marker": lambda ax: ax.lines[0].set_marker("s"),
    "a line more": lambda ax: ax.axhline(2),
    "a point less": lambda ax: ax.collections[0].set_offsets([(2, 3)]),
    "a band": lambda ax: ax.fill_between([1, 9], 1, 2),
    "a bar": lambda ax: ax.bar([5], [2]),
    "a shade": lambda ax: ax.images[0].set_data([[0, 1], [1, 0]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_references_hold_what_a_figure_shows(ax, change):
    ax.plot([1, 4, 9], [1, 4, 9], "o-", label="network")
    ax.plot([1, 9], [2, 2], "--", label="law")
    ax.scatter([2, 8], [3, 7])
    ax.imshow([[0, 1], [2, 3]], extent=(0, 10, 0, 10))
    ax.annotate("middle", (5, 5))
    ax.legend()
    ax.set(xlabel="x", xlim=(0, 10), ylim=(0, 10), yticks=[1, 2])
    before = drawn.lines(ax.figure)
    assert not stored_ledger.unlike(drawn.lines(ax.figure), before)
    CHANGES[change](ax)
    assert stored_ledger.unlike(drawn.lines(ax.figure), before)
