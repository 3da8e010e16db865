"""Figures on a screen: sharp at any size, in one column on a phone, animated under a slider.

A finished figure is stored in the notebook as pictures; ``figure_html`` turns them into the book's HTML. It needs no
network, and an animation has a still for paper.
"""

import base64
import contextlib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.ticker import NullLocator
from matplotlib.transforms import Bbox
from PIL import Image

from companion.book import views
from regimes import validate
from regimes.validate import InputError

if TYPE_CHECKING:  # a chapter would wait for it for seconds, and makes no notebook
    from nbformat import NotebookNode

DPI = 110  # of a PNG, and CSS pixels to an inch of a figure on a wide page
COLUMN_WIDTH = 8.1  # inches: wider figures lose legible exponents in the column of a wide page, 768 CSS pixels
PHONE = 4.75  # inches: the column of a phone 390 CSS pixels wide, where a point is a pixel
LIGHT = 200_000  # bytes: a heavier SVG, one of thousands of points, becomes pixels, at twice the resolution
FILM = 250_000  # bytes of all frames of a slider, beyond which they are less sharp
QUALITY = 75  # of a WebP
COLOURS = 32  # of a light picture, of which a knob has several
SMALL = 2.6  # inches: panels below, more than four of them, stand two and two
ROWS = 6  # at most in one column; a taller figure scrolls sideways instead
LEGIBLE = 8  # CSS pixels of the smallest font on a phone
SECONDS = 0.4  # a frame, while it plays
_POINTS_WIDE = re.compile(r'<svg [^>]*?\bwidth="([\d.]+)pt"')
_ENDS = {"image/svg+xml": "svg", "image/webp": "webp", "image/png": "png"}  # the first that a figure has is shown


def pictures(fig: Figure, *, png: bool = False, light: bool = False) -> dict[str, str]:
    """A figure for a notebook and its page, MIME type -> text (base64 for pixels), by one layout and one drawing.

    That is an SVG; of a heavy figure a WebP, with a PNG for programs that show no WebP. A figure too wide for the page
    is narrowed; its fonts keep their size.

    Args:
        fig: the figure.
        png: a PNG, too, which takes another drawing where there is none: for a card, and to compare a knob's pictures.
        light: a WebP of few colours in place of the SVG.
    """
    fig.set_figwidth(min(fig.get_figwidth(), COLUMN_WIDTH))
    _drop_unseen_ticks(fig)
    with _settled(fig) as box:
        drawn = _few_colours(fig, box) if light else _drawn(fig, box)
        return drawn if not png or "image/png" in drawn else drawn | {"image/png": _png(_pixels(fig, box, DPI))}


def _drop_unseen_ticks(fig: Figure) -> None:
    """Drops the minor ticks of axes that show two powers of ten: without mark or label, they take half of the time."""
    for axis in [axis for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        if axis.get_scale() == "log" and np.floor(np.log10(high)) > np.ceil(np.log10(low)):
            axis.set_minor_locator(NullLocator())


class _Heavy(Exception):
    """An SVG is heavier than ``LIGHT``."""


class _Scale(io.BytesIO):
    """A file that takes ``LIGHT`` bytes: what is heavier is not drawn to its end."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        if self.tell() + len(data) > LIGHT:
            raise _Heavy
        return super().write(data)


def _drawn(fig: Figure, box: Bbox, heavy: bool = False) -> dict[str, str]:
    """The picture that a page shows, with a PNG beside pixels; the same bytes each time. A ``heavy`` one is pixels."""
    if not heavy:
        with contextlib.suppress(_Heavy):
            file = _Scale()
            fig.savefig(file, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
            return {"image/svg+xml": file.getvalue().decode()}
    sharp = _pixels(fig, box, 2 * DPI)
    return {"image/webp": _base64(_webp(sharp)), "image/png": _png(sharp.reduce(2))}


def _few_colours(fig: Figure, box: Bbox) -> dict[str, str]:
    """A picture of little weight, with the PNG that it is made of."""
    drawn = _pixels(fig, box, DPI)
    few = drawn.quantize(COLOURS, dither=0).convert("RGB")
    return {"image/webp": _base64(_webp(few, lossless=True)), "image/png": _png(drawn)}


@contextlib.contextmanager
def _settled(fig: Figure) -> Iterator[Bbox]:
    """Lays a figure out once and yields its extent; within, it is drawn without another layout."""
    fig.set_dpi(DPI)
    engine = fig.get_layout_engine() if fig.axes else None
    if engine is not None:
        engine.execute(fig)
    # within, too: after each saving matplotlib asks the settings for an engine, and would lay the figure out again
    with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)
        try:
            yield fig.get_tightbbox().padded(rcParams["savefig.pad_inches"])
        finally:
            if engine is not None:
                fig.set_layout_engine(engine)


def phone_variant(fig: Figure, *, light: bool = False, heavy: bool = False) -> dict[str, object] | None:
    """A drawn figure, which is changed, as a phone shows it; ``None`` where it scrolls.

    It has ``pictures``, ``font``, and the boxes of its ``panels`` with their labels, of its ``legends`` beside panels,
    and of those ``within`` each.

    ``heavy``: its SVG is known to be.
    """
    if not stack_panels(fig):
        return None
    with _settled(fig) as box:
        drawn = _few_colours(fig, box) if light else _drawn(fig, box, heavy)
        drawn = {kind: picture for kind, picture in drawn.items() if kind != "image/png"}
        return {"pictures": drawn, "font": smallest_font(fig), **_boxes(fig, box)}


def _boxes(fig: Figure, box: Bbox) -> dict[str, list[list[float]]]:
    """Where panels with all that is written around them, and legends beside panels, stand in a picture.

    Left, top, width and height, as shares of the picture's. It is the part ``box`` (inches) of the figure.
    """
    renderer = fig.canvas.get_renderer()

    def share(*artists: Any) -> list[float]:
        seen = Bbox.union([artist.get_tightbbox(renderer) for artist in artists]).padded(0.03 * fig.dpi)
        left, right = ((x / fig.dpi - box.x0) / box.width for x in (seen.x0, seen.x1))
        top, low = ((box.y1 - y / fig.dpi) / box.height for y in (seen.y1, seen.y0))
        left, right, top, low = (min(max(value, 0.0), 1.0) for value in (left, right, top, low))
        return [round(value, 4) for value in (left, top, right - left, low - top)]

    panels = [ax for ax in fig.axes if ax.get_visible() and ax.get_subplotspec()]
    bars = {ax: getattr(ax, "_colorbar_info", {"parents": ()})["parents"] for ax in fig.axes}
    boxes = [share(ax, *(bar for bar, parents in bars.items() if ax in parents)) for ax in panels]
    within = [share(ax.get_legend()) if ax.get_legend() else [] for ax in panels]
    return {"panels": boxes, "legends": [share(legend) for legend in fig.legends], "within": within}


def panel(output: "NotebookNode", number: int, folder: Path) -> str:
    """Writes one panel of a figure, the first is 1, with its legends; returns the file's name.

    These are those that stand beside panels, or within another panel if there are no others.

    Raises:
        InputError: if the figure has no such panel of its own.
    """
    about = output.metadata.regimes
    narrow = about.get("narrow") or {}
    panels = narrow.get("panels", [])
    if not 1 <= number <= len(panels):
        raise InputError(f"{about.name} has {len(panels)} panels that can stand alone, got panel {number}")
    within = narrow.get("within", [])
    others = [] if narrow.legends or any(within[number - 1 : number]) else [box for box in within if box]
    boxes = [*narrow.legends, *others, panels[number - 1]]
    kind, data = shown(narrow.pictures)
    file = folder / f"{about.name}-panel-{number}.{_ENDS[kind]}"
    file.write_bytes(_parts_of_svg(data.decode(), boxes).encode() if kind == "image/svg+xml" else _parts(data, boxes))
    return file.name


_SVG = re.compile(r'(?s)<svg [^>]*?\bwidth="([\d.]+)pt"[^>]*?>(.*)</svg>')


def _parts_of_svg(picture: str, boxes: Sequence[Sequence[float]]) -> str:
    """An SVG with parts of another one below each other."""
    height = float(re.search(r'<svg [^>]*?\bheight="([\d.]+)pt"', picture)[1])
    width, inside = float(_SVG.search(picture)[1]), _SVG.search(picture)[2]
    parts, low = [], 0.0
    widest = max(box[2] for box in boxes) * width
    for left, top, share, tall in boxes:
        size = f'width="{share * width:.2f}" height="{tall * height:.2f}"'
        at = f'x="{(widest - share * width) / 2:.2f}" y="{low:.2f}"'
        view = f'viewBox="{left * width:.2f} {top * height:.2f} {share * width:.2f} {tall * height:.2f}"'
        parts.append(f'<svg class="part" {at} {size} {view}><use href="#whole"/></svg>')
        low += tall * height + 2
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head = f'<svg {names} width="{widest:.2f}pt" height="{low:.2f}pt" viewBox="0 0 {widest:.2f} {low:.2f}">'
    return f'{head}<defs><g id="whole">{inside}</g></defs>{"".join(parts)}</svg>'


def _parts(picture: bytes, boxes: Sequence[Sequence[float]]) -> bytes:
    """The same of pixels."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    width, height = whole.size
    pieces = [
        whole.crop((round(x * width), round(y * height), round((x + w) * width), round((y + h) * height)))
        for x, y, w, h in boxes
    ]
    joined = Image.new("RGB", (max(one.width for one in pieces), sum(one.height for one in pieces)), "white")
    low = 0
    for one in pieces:
        joined.paste(one, ((joined.width - one.width) // 2, low))
        low += one.height
    return _webp(joined)


def _pixels(fig: Figure, box: Bbox, dpi: float) -> Image.Image:
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=dpi, bbox_inches=box, pil_kwargs={"compress_level": 0})
    return Image.open(buffer).convert("RGB")


def _png(picture: Image.Image) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, "png")
    return _base64(buffer.getvalue())


def _webp(picture: Image.Image, lossless: bool = False) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "webp", quality=QUALITY, lossless=lossless)
    return buffer.getvalue()


def smallest_font(fig: Figure) -> float:
    """The size of a drawn figure's smallest font over the figure's width."""
    sizes = [text.get_fontsize() for text in fig.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return min(sizes, default=10.0) / (72 * fig.get_figwidth())


def has_raster(fig: Figure) -> bool:
    """Whether a figure shows photographs or maps, whose colours a dark page must not invert."""
    areas = [area for ax in fig.axes for area in (*ax.images, *ax.collections)]
    return any(isinstance(area, (AxesImage, QuadMesh)) or getattr(area, "colorbar", None) for area in areas)


def stack_panels(fig: Figure) -> bool:
    """Turns a finished figure's panels into one column as wide as a phone, many small ones into two.

    A panel takes over the labels and the title of the row or column whose axis it shares. Returns
    ``False``, and leaves the figure as it is, where more than ``ROWS`` rows would be needed, or the panels are pictures
    without ticks.
    """
    panels = [ax for ax in fig.axes if ax.get_visible() and ax.get_subplotspec()]
    place = panels[0].get_subplotspec().get_gridspec() if panels else None
    if place is None or any(len(ax.get_xticks()) == 0 for ax in panels):
        return False
    width, height = fig.get_figwidth() / place.ncols, fig.get_figheight() / place.nrows
    columns = 2 if len(panels) > 4 and width < SMALL else 1
    rows = -(-len(panels) // columns)
    if rows > ROWS:
        return False
    _label(panels)
    _take_over(fig, panels)
    fig.suptitle("").set_in_layout(False)  # legends stand in its place
    for ax in [ax for ax in fig.axes if not ax.get_visible()]:
        ax.remove()
    tall = PHONE / columns * min(max(height / width, 0.7), 0.9) + 0.4 * (columns - 1)  # their labels take as much space
    fig.set_size_inches(PHONE, rows * tall + _legends(fig))
    grid = fig.add_gridspec(rows, columns)
    for i, ax in enumerate(panels):
        ax.set_subplotspec(grid[i // columns, i % columns])
    return True


def _label(panels: Sequence[Axes]) -> None:
    """Gives each panel the labels and title of the row or column whose axis it shares."""
    at = {(s.rowspan.start, s.colspan.start): ax for ax in panels for s in [ax.get_subplotspec()]}
    for (row, column), ax in at.items():
        first, top = at.get((row, 0), ax), at.get((0, column), ax)
        last = [panel for (_, c), panel in at.items() if c == column][-1]
        if ax.get_shared_y_axes().joined(ax, first):
            ax.set_ylabel(ax.get_ylabel() or first.get_ylabel())
        if ax.get_shared_x_axes().joined(ax, last):
            ax.set_xlabel(ax.get_xlabel() or last.get_xlabel())
            ax.set_title(ax.get_title() or top.get_title())
        ax.tick_params(labelleft=True, labelbottom=True)


def _take_over(fig: Figure, panels: Sequence[Axes]) -> None:
    """Gives each panel the labels that stand beside all of them."""
    for name, whole in (("xlabel", fig.get_supxlabel()), ("ylabel", fig.get_supylabel())):
        for ax in panels if whole else ():
            ax.set(**{name: getattr(ax, f"get_{name}")() or whole})
        if whole:
            getattr(fig, f"sup{name}")("").set_in_layout(False)


def _legends(fig: Figure) -> float:
    """Sets the legends that stand beside panels above them, in columns that fit; returns their height in inches."""
    inside = [(ax, ax.get_legend()) for ax in fig.axes if ax.get_legend()]
    outside = [legend for ax, legend in inside if legend.get_bbox_to_anchor().x0 >= ax.bbox.x1 - 1]
    tall = 0.0
    for old in [*fig.legends, *outside]:
        handles, labels, title = old.legend_handles, [text.get_text() for text in old.get_texts()], old.get_title()
        columns = 2 if max(map(len, labels), default=0) < 22 else 1
        old.remove()
        style = {"fontsize": "small", "title": title.get_text() or None}
        fig.legend(handles, labels, loc="outside upper center", ncols=columns, **style)
        tall += 0.25 * -(-len(labels) // columns)
    return tall


def draw_frames(fig: Figure, draw: Callable[[int], None], count: int, *, start: int = 0) -> list[bytes]:
    """Pictures (WebP) of a figure that ``draw(i)`` draws for ``i`` below ``count``, into emptied panels.

    The panels keep the places, and until they are set again the scales and ticks, of the frame ``start``, which the
    figure shows at the end. Frames are sharp on any screen if all of them stay below ``FILM`` bytes; else they have the
    resolution of a PNG.
    """
    _draw_anew(fig, draw, start)
    if engine := fig.get_layout_engine():
        engine.execute(fig)
    fig.set_layout_engine("none")
    fig.set_dpi(1.5 * DPI)
    canvas, frames = FigureCanvasAgg(fig), []
    for i in range(count):
        _draw_anew(fig, draw, i)
        canvas.draw()
        frames.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB"))
    _draw_anew(fig, draw, start)
    sharp: list[bytes] = []
    for picture in frames:
        sharp.append(_webp(picture))
        if sum(map(len, sharp)) > FILM:
            size = tuple(round(side / 1.5) for side in picture.size)
            return [_webp(picture.resize(size)) for picture in frames]
    return sharp


def _draw_anew(fig: Figure, draw: Callable[[int], None], i: int) -> None:
    for ax in fig.axes:
        _empty(ax)
    draw(i)
    _drop_unseen_ticks(fig)


def _empty(ax: Axes) -> None:
    """Takes away what is drawn in axes and written around them; ticks stay, which ``clear`` would make again."""
    legend = [ax.get_legend()] if ax.get_legend() else []
    for artist in [*ax.containers, *legend]:
        artist.remove()
    for artist in [*ax.lines, *ax.collections, *ax.patches, *ax.texts, *ax.images, *ax.artists]:
        artist.remove()
    ax.set(title="", xlabel="", ylabel="")
    ax.set_prop_cycle(None)
    ax.relim()
    ax.autoscale()


def slider(fig: Figure, draw: Callable[[int], None], labels: Sequence[str], *, knob: str, start: int = 0) -> str:
    """HTML of frames, one of them shown, above a slider and a button that plays; it needs no script of the page.

    Args:
        fig: the figure, which shows the frame ``start`` at the end.
        draw: as for :func:`draw_frames`.
        labels: what the slider says at each frame, such as ``α = 0.1``: two or more.
        knob: the quantity that the slider changes, in words.
        start: the frame shown first.
    """
    if len(labels) < 2:
        raise InputError(f"a slider needs the labels of 2 frames or more, got {list(labels)}")
    validate.whole(0, len(labels) - 1, start=start)
    frames = list(zip(map(_base64, draw_frames(fig, draw, len(labels), start=start)), labels))
    width = round(DPI * fig.get_figwidth())
    return views.show("slider", frames, knob, start, round(1000 * SECONDS), width, smallest_font(fig), has_raster(fig))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def figure_html(output: "NotebookNode", folder: Path, link: str) -> str:
    """A figure of a notebook as HTML: its pictures, written into ``folder``, and its animation above them.

    ``output`` is what ``Chapter.figure`` left; ``link`` leads from the page to the folder.
    """
    about, moving = output.metadata.regimes, output.data.get("text/html", "")
    folder.mkdir(parents=True, exist_ok=True)
    wide_file, narrow = _write(output.data, folder / about.name), about.get("narrow")
    phone = narrow and link + _write(narrow.pictures, folder / f"{about.name}-phone")
    width = _width(output.data)
    font_share = (narrow or about).font
    legible = None if narrow or LEGIBLE / font_share <= 72 * PHONE else round(LEGIBLE / font_share)
    page = moving + views.show("figure", about, link + wide_file, phone, width, font_share, legible)
    return page + _knob_html(about, folder, link) if about.get("knob") else page


def _knob_html(about: Mapping[str, Any], folder: Path, link: str) -> str:
    """The choices below a figure, with the addresses of their pictures; the book's own has none."""
    files: list[dict[str, str]] = [{} for _ in about.knob.choices]
    for i, choice in enumerate(about.knob.choices):
        if output := choice.get("output"):
            variants = {"": output.data, "-phone": (output.metadata.regimes.narrow or {}).get("pictures")}
            names = {end: _write(it, folder / f"{about.name}-{i}{end}") for end, it in variants.items() if it}
            files[i] = {end: link + name for end, name in names.items()}
    return views.show("knob", about, files)


def shown(pictures: Mapping[str, str]) -> tuple[str, bytes]:
    """The MIME type and the bytes of the picture that a page shows."""
    kind = next(kind for kind in _ENDS if kind in pictures)
    return kind, pictures[kind].encode() if kind == "image/svg+xml" else base64.b64decode(pictures[kind])


def address(pictures: Mapping[str, str]) -> str:
    """The picture that a page shows, as an address that holds it."""
    kind, data = shown(pictures)
    return f"data:{kind};base64,{_base64(data)}"


def _width(pictures: Mapping[str, str]) -> int:
    """The width of a figure on a wide page, in CSS pixels."""
    if "image/png" in pictures:
        return Image.open(io.BytesIO(base64.b64decode(pictures["image/png"]))).width
    return round(float(_POINTS_WIDE.search(pictures["image/svg+xml"])[1]) * DPI / 72)


def _write(pictures: Mapping[str, str], path: Path) -> str:
    """Writes the picture that a page shows; returns its file's name."""
    kind, data = shown(pictures)
    file = path.with_name(f"{path.name}.{_ENDS[kind]}")
    file.write_bytes(data)
    return file.name
