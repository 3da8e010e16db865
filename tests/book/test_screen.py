"""Figures on a screen: the same bytes each time, light or twice as sharp, stacked for a phone, frames in place."""

import base64
import io
import re
from collections import Counter

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from companion.book import plots, screen
from regimes.validate import InputError


@pytest.fixture(autouse=True)
def figures():
    plots.style()
    yield
    plt.close("all")


def drawn(count=1, points=3, columns=4, **kwargs):
    fig, axes = plots.panels(count, columns=columns, **kwargs)
    for ax in axes:
        ax.plot(np.linspace(0, 1, points), np.random.default_rng(0).random(points), ".")
    return fig, axes


def size(picture):
    return Image.open(io.BytesIO(base64.b64decode(picture))).size


def test_the_same_figure_gives_the_same_bytes():
    (one, _), (two, _) = drawn(2), drawn(2)
    assert screen.pictures(one) == screen.pictures(two)
    assert not re.search(r"<dc:date>|Matplotlib v", screen.pictures(one)["image/svg+xml"])


def test_a_figure_is_laid_out_once_and_keeps_its_layout(monkeypatch):
    fig, _ = drawn(2)
    engine, done = fig.get_layout_engine(), []
    usual = engine.execute
    monkeypatch.setattr(engine, "execute", lambda fig: done.append(fig) or usual(fig))
    screen.pictures(fig)
    assert len(done) == 1 and fig.get_layout_engine() is engine


@pytest.fixture
def counted(monkeypatch):
    """How often figures were laid out and drawn, by whatever engine or renderer."""
    counts = Counter()

    def count(cls, name):
        usual = getattr(cls, name)
        monkeypatch.setattr(cls, name, lambda *given: counts.update([name]) or usual(*given))

    count(ConstrainedLayoutEngine, "execute")
    count(Figure, "draw")
    return counts


@pytest.mark.parametrize(
    ("points", "how", "drawings"),
    [
        (3, {}, 2),
        (3, {"light": True}, 2),
        (3, {"png": True}, 3),  # of a card, or of a figure with a knob
        (5000, {}, 3),  # one is given up when it is too heavy
    ],
)
def test_a_figure_is_laid_out_and_drawn_once_for_a_page_and_once_for_a_phone(counted, points, how, drawings):
    fig, _ = drawn(2, points=points)
    pictures = screen.pictures(fig, **how)
    assert counted["execute"] == 1
    light = how.get("light", False)
    assert screen.phone_variant(fig, light=light, heavy="image/svg+xml" not in pictures)
    assert counted == {"execute": 2, "draw": drawings}


def test_a_slider_is_laid_out_once_and_drawn_once_a_frame(counted):
    fig, (ax,) = drawn(1, width=3.0)
    screen.draw_frames(fig, lambda i: ax.plot([i, 1]), 4)
    assert counted == {"execute": 1, "draw": 4}


def test_a_light_figure_is_drawn_and_a_heavy_one_twice_as_sharp():
    light, heavy = screen.pictures(drawn()[0]), screen.pictures(drawn(points=5000)[0])
    assert light["image/svg+xml"].lstrip().startswith("<?xml") and "image/svg+xml" not in heavy
    assert set(light) == {"image/svg+xml"}
    png = screen.pictures(drawn()[0], png=True)["image/png"]
    assert size(heavy["image/webp"])[0] == pytest.approx(2 * size(png)[0], rel=0.01)
    assert size(heavy["image/png"])[0] == pytest.approx(size(png)[0], rel=0.01), "for programs that show no WebP"
    assert screen._width(light) == pytest.approx(size(png)[0], abs=1), "a page knows how wide it is"


def test_a_picture_of_little_weight_has_few_colours_and_shows_them_as_they_are():
    fig, (ax,) = drawn(1)
    ax.imshow(np.random.default_rng(0).random((40, 40)), aspect="auto", cmap="viridis")
    picture = screen.pictures(fig, light=True)["image/webp"]
    shown = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    assert 8 < len(shown.getcolors(1 << 20)) <= screen.COLOURS


def test_panels_stack_in_one_column_and_say_what_their_row_said():
    fig, axes = drawn(3, sharey=True)
    axes[0].set_ylabel("error")
    for ax in axes:
        ax.set(xlabel="$p$")
    fig.draw_without_rendering()
    assert not axes[1].yaxis.get_tick_params()["labelleft"]
    assert screen.stack_panels(fig) and fig.get_figwidth() == screen.PHONE
    fig.draw_without_rendering()
    boxes = [ax.get_position() for ax in axes]
    assert all(below.y1 < above.y0 for above, below in zip(boxes, boxes[1:])) and len({box.x0 for box in boxes}) == 1
    assert all(ax.get_ylabel() == "error" and ax.yaxis.get_tick_params()["labelleft"] for ax in axes)


def test_a_panel_of_its_own_axis_takes_no_others_label():
    fig, axes = drawn(2)
    axes[0].set_ylabel("error")
    assert screen.stack_panels(fig) and axes[1].get_ylabel() == ""


def test_small_panels_stack_in_two_columns_and_colour_bars_stay_beside_theirs():
    fig, axes = drawn(6, width=2.6, height=2.6)
    image = axes[0].imshow(np.eye(3))
    bar = fig.colorbar(image, ax=axes[0]).ax
    assert screen.stack_panels(fig)
    fig.draw_without_rendering()
    place = [ax.get_subplotspec().get_gridspec() for ax in axes]
    assert (place[0].nrows, place[0].ncols) == (3, 2)
    own, beside, next_to = axes[0].get_position(), bar.get_position(), axes[1].get_position()
    assert own.x1 < beside.x0 < beside.x1 < next_to.x0
    assert beside.y0 < own.y0 + own.height / 2 < beside.y1


def test_what_does_not_stack_is_left_as_it_is():
    for fig, axes in (drawn(8, columns=2), drawn(1)):
        if len(axes) == 1:
            plots.picture(axes[0], np.eye(3).ravel())
        before = fig.get_size_inches().tolist()
        assert (
            not screen.stack_panels(fig)
            and screen.phone_variant(fig) is None
            and fig.get_size_inches().tolist() == before
        )


@pytest.mark.parametrize(
    "place",
    [
        lambda fig, ax: fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2),
        lambda fig, ax: ax.legend(loc="center left", bbox_to_anchor=(1, 0.5)),
    ],
)
def test_a_legend_beside_the_panels_stands_above_the_column(place):
    fig, axes = drawn(2)
    axes[0].plot([0, 1], [0, 1], label="a rather long entry of a legend")
    axes[0].plot([0, 1], [1, 0], label="another")
    place(fig, axes[0])
    fig.draw_without_rendering()
    assert screen.stack_panels(fig)
    fig.draw_without_rendering()
    (legend,) = fig.legends
    box = legend.get_window_extent()
    assert box.y0 >= axes[0].get_window_extent().y1 and 0 <= box.x0 and box.x1 <= fig.bbox.width
    assert [text.get_text() for text in legend.get_texts()] == ["a rather long entry of a legend", "another"]


def test_photographs_and_maps_keep_their_colours():
    def paint(draw):
        fig, (ax,) = drawn()
        draw(ax)
        return screen.has_raster(fig)

    assert paint(lambda ax: plots.picture(ax, np.eye(3).ravel())) and paint(lambda ax: ax.pcolormesh(np.eye(3)))
    assert paint(lambda ax: ax.figure.colorbar(ax.contourf(np.eye(3)), ax=ax))
    assert not paint(lambda ax: ax.scatter([0, 1], [0, 1], c=[0, 1])) and not paint(
        lambda ax: ax.fill_between([0, 1], 1)
    )
    fig, (ax,) = drawn()
    assert 'class="slider painted"' in screen.slider(fig, lambda i: ax.imshow(i + np.eye(3)), ["a", "b"], knob="k")


def test_the_smallest_font_is_measured_against_the_width():
    fig, (ax,) = drawn(1, width=5.0)
    for label in ax.get_xticklabels() + ax.get_yticklabels():
        label.set_fontsize(9)
    ax.set_title("small", fontsize=6)
    fig.draw_without_rendering()
    ax.text(0, 0, "hidden", fontsize=2).set_visible(False)
    ax.text(0, 0, " ", fontsize=3)
    assert screen.smallest_font(fig) == pytest.approx(6 / 360), "of what is seen"
    assert screen.smallest_font(plt.figure(figsize=(5, 2))) == pytest.approx(10 / 360), "matplotlib's, of no text"


def test_a_figure_wider_than_the_column_is_narrowed_and_its_fonts_stay():
    fig, ax = plt.subplots(figsize=(12, 4))
    small, _ = plt.subplots(figsize=(5, 4))
    ax.set_title("a title", fontsize=10)
    screen.pictures(fig)
    screen.pictures(small)
    assert fig.get_size_inches().tolist() == [screen.COLUMN_WIDTH, 4] and small.get_figwidth() == 5
    assert ax.title.get_fontsize() == 10


def test_frames_are_drawn_into_panels_that_stay():
    fig, (ax,) = drawn(1, width=3.0)
    places = []

    def draw(i):
        ax.plot([0, 1], [0, 10.0**i])
        ax.set_ylabel("value")
        places.append(ax.get_position().bounds)

    found = screen.draw_frames(fig, draw, 4, start=1)
    pictures = [Image.open(io.BytesIO(frame)) for frame in found]
    assert len({picture.size for picture in pictures}) == 1 and len(set(found)) == 4
    assert pictures[0].size[0] == pytest.approx(1.5 * screen.DPI * 3, abs=1)
    assert len(set(places[1:])) == 1 and ax.lines[0].get_ydata()[1] == 10  # the start is what it shows


def test_frames_keep_nothing_of_those_before():
    fig, axes = plots.panels(2, width=3.0, sharex=True)

    def draw(i):
        axes[0].errorbar([1, 2], [i, 10 * i + 1], [1, 1], label="bars")
        axes[0].fill_between([1, 2], 0, 1)
        axes[1].plot([1, 3 + i], [i, 20])
        if i:
            axes[0].set(title=f"{i}", ylim=(-i, 30))
            axes[0].legend()
            axes[0].text(1, 1, "words")
            axes[1].set(xlabel="of some frames")

    order = [0, 1, 0, 2, 1]
    frames = screen.draw_frames(fig, lambda k: draw(order[k]), len(order))
    assert frames[2] == frames[0] and frames[4] == frames[1] and len(set(frames)) == 3


def test_frames_have_room_for_what_stands_beside_their_panels():
    fig, ax = plt.subplots(figsize=(2, 2), layout="constrained")
    screen.draw_frames(fig, lambda i: ax.set(ylabel="two\nlines\nof a label", ylim=(1e6, 1e6 + i + 1)), 2)
    assert ax.get_tightbbox().x0 >= 0 and ax.get_tightbbox().y0 >= 0


def test_a_film_that_weighs_much_is_less_sharp(monkeypatch):
    fig, (ax,) = drawn(1, width=3.0)
    monkeypatch.setattr(screen, "FILM", 1000)
    (frame, _) = screen.draw_frames(fig, lambda i: ax.plot([i, 1]), 2)
    assert Image.open(io.BytesIO(frame)).size[0] == pytest.approx(3 * screen.DPI, abs=1)


def test_a_slider_shows_one_frame_and_says_which():
    fig, (ax,) = drawn()
    text = screen.slider(fig, lambda i: ax.plot([i]), ["α = 1", "α = 2", 'α = "3"'], knob="scale", start=1)
    assert text.count("<img") == 3 and text.count(" hidden ") == 2 and 'aria-valuetext="α = 2"' in text
    assert "<output>α = 2</output>" in text and 'value="1"' in text and 'max="2"' in text and "&#34;3&#34;" in text
    assert 'aria-label="scale"' in text and "http" not in text and "<script" not in text


def shown(**about):
    fig, _ = drawn(2)
    data = screen.pictures(fig)
    regimes = {"name": "fig-x", "alt": 'a "line"', "font": screen.smallest_font(fig)}
    regimes |= {"narrow": screen.phone_variant(fig) if about.pop("stacks", True) else None} | about
    return nbformat.v4.new_output("display_data", data, metadata={"regimes": regimes})


def test_a_page_has_the_pictures_as_files_one_for_a_phone(tmp_path):
    text = screen.figure_html(shown(), tmp_path / "figures", "../figures/")
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"fig-x.svg", "fig-x-phone.svg"}
    assert 'srcset="../figures/fig-x-phone.svg"' in text and 'src="../figures/fig-x.svg"' in text
    assert 'alt="a &#34;line&#34;"' in text and 'class="drawn stacked"' in text
    text = screen.figure_html(shown(stacks=False, painted=True), tmp_path / "other", "")
    assert {path.name for path in (tmp_path / "other").iterdir()} == {"fig-x.svg"}
    assert 'class="drawn wide painted"' in text and "--legible:" in text and "<source" not in text


@pytest.mark.parametrize("low, high, labels", [(2, 8, True), (2, 80, True), (2, 120, False), (1, 5000, False)])
def test_ticks_are_dropped_where_nobody_sees_them(low, high, labels):
    plots.style()
    drawn = []
    for drop in (False, True):
        fig, ax = plt.subplots()
        ax.loglog([low, high], [low, high])
        if drop:
            screen._drop_unseen_ticks(fig)
        fig.canvas.draw()
        drawn.append(np.asarray(fig.canvas.buffer_rgba()).copy())
        assert bool([one for one in ax.get_xticklabels(minor=True) if one.get_text()]) == labels
    assert np.array_equal(*drawn)
    assert bool(ax.get_xticklabels(minor=True)) == labels
    plt.close("all")


def test_one_panel_stands_alone_with_its_labels_and_the_legend(tmp_path):
    """Cut from the phone's picture: its own axes, and the legend of another panel where it has none."""
    fig, axes = plots.panels(2, sharey=True)
    for ax, name in zip(axes, ("first", "second"), strict=True):
        ax.plot([1, 2], [3, 4], label="a line")
        ax.set(xlabel="across", title=name)
    axes[0].set_ylabel("upwards")
    axes[0].legend()
    fig.canvas.draw()
    narrow = screen.phone_variant(fig)
    about = {"name": "fig-two", "narrow": narrow}
    output = nbformat.from_dict({"metadata": {"regimes": about}, "data": {}})
    (left, top, width, height), (_, second, _, _) = narrow["panels"]
    assert 0 <= left < 0.1 and top < second and 0.9 < left + width <= 1 and 0.3 < height < 0.6
    assert narrow["legends"] == [] and narrow["within"][0] and narrow["within"][1] == []
    file = tmp_path / screen.panel(output, 2, tmp_path)
    assert file.name == "fig-two-panel-2.svg"
    parts = re.findall(r'class="part".*?viewBox="([^"]*)"', file.read_text("utf-8"))
    assert len(parts) == 2, "the legend of the first panel, then the second panel"
    assert re.findall(r'class="part"', (tmp_path / screen.panel(output, 1, tmp_path)).read_text("utf-8")) == [
        'class="part"'
    ]
    with pytest.raises(InputError, match="fig-two has 2 panels that can stand alone, got panel 3"):
        screen.panel(output, 3, tmp_path)
