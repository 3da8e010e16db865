"""The sketches: what they compute is the library's, each draws with words on its axes, each use tells it in words."""

import ast
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from companion.book import plots, sketches
from companion.lab import parameters
from companion.papers.depth.theory import rate
from regimes.data import tasks

FEET, SIZES = np.array([[0.5, 0.2], [-1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1e-6, 2.0])
DRAWN = {
    "compression": lambda: sketches.compression((FEET, SIZES), (FEET[::-1], SIZES), tasks.STRIPE),
    "cobweb": sketches.cobweb,
    "spike": sketches.spike,
    "jamming": sketches.jamming,
}


@pytest.fixture(autouse=True)
def closed():
    plots.style()
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWN)
def test_every_sketch_is_as_wide_as_a_phone_and_names_its_axes(name):
    fig = DRAWN[name]()
    fig.canvas.draw()
    assert fig.get_figwidth() == sketches.WIDTH
    for ax in (ax for ax in fig.axes if ax.axison):
        shares = ax.get_subplotspec().colspan.start > 0  # the label of the panel to its left
        assert ax.get_xlabel() and (ax.get_ylabel() or shares), f"{name}: an axis without a name"
    sizes = [text.get_fontsize() for text in fig.findobj(plt.Text) if text.get_text()]
    assert min(sizes) >= 12


def test_a_sketch_leaves_the_style_as_it_was():
    before = plt.rcParams["font.size"]
    sketches.cobweb()
    assert plt.rcParams["font.size"] == before


def uses():
    """Every figure of the chapters whose label calls it a sketch."""
    for path in (page for number in parameters.chapters() for page in parameters.page_sources(number)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "figure":
                label = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
                if str(label).startswith("fig-sketch-"):
                    yield label, node


def test_every_use_has_a_label_of_its_own_and_words_for_who_cannot_see_it():
    found = list(uses())
    assert len({label for label, _ in found}) == len(found) >= 4
    for label, node in found:
        (alt,) = [keyword.value for keyword in node.keywords if keyword.arg == "alt"] or [None]
        assert alt is not None and len(alt.value) > 80, label


def test_the_cobweb_goes_up_to_the_map_and_across_to_the_identity():
    corners = sketches.staircase(-0.4, 5)
    assert corners.shape == (11, 2) and tuple(corners[0]) == (-0.4, -0.4)
    x, y = torch.from_numpy(corners[1::2]).T
    assert torch.allclose(rate.correlation_map(x), y, atol=1e-15) and bool((y > x).all())
    assert np.array_equal(corners[2::2, 0], corners[2::2, 1]) and np.array_equal(corners[1::2, 0], corners[:-1:2, 0])
    assert sketches.staircase(1.0, 2) == pytest.approx(1.0)


def test_the_landscape_has_a_flat_floor_at_zero_where_two_points_agree_and_a_positive_one_else():
    w = np.linspace(-2, 2, 4001)
    satisfied, jammed = sketches.landscape(w, -0.7, 0.7), sketches.landscape(w, 0.7, -0.7)
    assert (satisfied == 0).mean() == pytest.approx(1.4 / 4, abs=1e-3)
    assert jammed.min() == pytest.approx(0.7**2) and w[jammed.argmin()] == pytest.approx(0, abs=1e-3)


def test_a_plane_passes_its_foot_and_stands_on_the_way_to_it():
    _, ax = plt.subplots()
    sketches.planes(ax, FEET, SIZES)
    assert len(ax.lines) == 2  # a foot at the origin tells no direction
    assert ax.lines[0].get_alpha() == pytest.approx(0.8 * 0.5**0.5) and ax.lines[1].get_alpha() == 0.1
    for line, foot in zip(ax.lines, FEET):
        (here, there) = np.array([line.get_xy1(), line.get_xy2()])
        assert np.allclose(here, foot) and math.isclose((there - here) @ foot, 0, abs_tol=1e-12)


def test_regions_carry_the_labels_of_the_task():
    _, ax = plt.subplots()
    sketches.regions(ax, tasks.STRIPE)
    label = tasks.stripe(1, 2).label
    for text in ax.texts:
        at = torch.tensor([[text.get_position()[0], 0.0]], dtype=torch.float64)
        assert text.get_text() == f"${int(label(at)):+d}$"
    assert len(ax.texts) == len(tasks.STRIPE) + 1
