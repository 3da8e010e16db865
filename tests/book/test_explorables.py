"""What computes in a page, in Chromium: the engine's numbers from the same weights and data, closed forms, keyboard."""

import os
import re

import numpy as np
import pytest
import torch
from playwright.sync_api import sync_playwright
from scipy import stats

from companion import estimates
from companion.book import ledger, views
from companion.papers.compression.theory import amplification, planes
from companion.papers.depth.theory import deep_limit
from companion.papers.depth.theory.deep_limit import depth_ridge
from companion.papers.jamming.theory import margins
from companion.papers.jamming.theory.separability import largest_margin, separable_share
from companion.papers.one_step.theory import measure
from companion.papers.one_step.theory.conditional_map import equivalent
from regimes.data.tasks import STRIPE, Task
from regimes.kernels import relu_recursion
from regimes.kernels.relu_recursion import along_depth
from regimes.models.activations import activation
from regimes.models.one_hidden import Network
from regimes.training.gradient_flow import gradient_flow
from tests.measure_pages import CHROMIUM
from tests.references import ROOT

if CHROMIUM is None and os.environ.get("CI") != "true":
    pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")
STATIC = ROOT / "_static"
FILES = sorted((STATIC / "explore").glob("*.js"))
NAMES = ["depth", "jam", "spike", "stripe"]  # with sliders
WEIGHT = 10_000  # bytes of one
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{static}/book.css"><body><figure class="explore" id="explore-{name}" data-name="{name}">
</figure>
<script src="{static}/book.js"></script></body></html>"""
PATIENCE = 180_000  # milliseconds: a busy machine draws few pictures a second
# counted in the page: a picture's millions of numbers need not reach Python
DRAWN = "one => new Set(one.getContext('2d').getImageData(0, 0, one.width, one.height).data).size > 2"
SAID = "() => document.querySelector('.said')?.textContent.length > 1"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def explore(browser):
    """A page that holds what all of them compute, as ``Explore``, and draws nothing."""
    page = browser.new_context(offline=True).new_page()
    first = [STATIC / "explore" / f"{name}.js" for name in ("kit", "stripe")]
    for path in (*first, *(path for path in FILES if path not in first)):
        page.add_script_tag(path=path)
    return page


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_is_small_and_needs_nothing(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) <= WEIGHT
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import[ (]", text)


@pytest.mark.parametrize(
    "name, width, scheme, motion",
    [
        *((name, 390, "dark", "reduce") for name in NAMES),
        ("spike", 1280, "light", "no-preference"),
        *(
            pytest.param(name, 1280, "light", "no-preference", marks=pytest.mark.weekly)
            for name in NAMES
            if name != "spike"
        ),
    ],
)
def test_it_begins_by_itself_follows_the_keyboard_and_comes_back_by_its_address(
    browser, tmp_path, name, width, scheme, motion
):
    """At a small width nothing is wider than the screen; where motion is not wanted the end alone is drawn."""
    file = tmp_path / "page.html"
    file.write_text(PAGE.format(static=STATIC.as_uri(), name=name), encoding="utf-8")
    viewport = {"width": width, "height": 900}
    with browser.new_context(offline=True, viewport=viewport, color_scheme=scheme, reduced_motion=motion) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        moves(page, file, width)
        knob = page.locator(".explore input").last
        knob.focus()
        page.keyboard.press("Home")
        words, address = knob.get_attribute("aria-valuetext"), page.url
        assert f"#explore-{name}?" in address
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(".explore.is-live")
        assert page.locator(".explore input").last.get_attribute("aria-valuetext") == words


def moves(page, file, width):
    problems = []
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_function(SAID, timeout=PATIENCE)
    first, knob = page.locator(".said").inner_text(), page.locator(".explore input").first
    words = knob.get_attribute("aria-valuetext")
    knob.focus()
    page.keyboard.press("End")
    assert knob.get_attribute("aria-valuetext") != words
    page.wait_for_function(SAID, timeout=PATIENCE)
    assert page.locator(".said").inner_text() != first
    assert all(one.evaluate(DRAWN) for one in page.locator(".explore canvas").all())
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width and not problems, problems


@pytest.mark.parametrize("name", NAMES)
def test_paper_has_it_at_the_end_in_dark_ink(browser, tmp_path, name):
    """Where it was never seen on the screen, too; without what only a screen can do."""
    file = tmp_path / "page.html"
    below = PAGE.format(static=STATIC.as_uri(), name=name).replace(
        "<body>", "<body><div style='height:3000px'></div>", 1
    )
    file.write_text(below, encoding="utf-8")
    with browser.new_context(offline=True, viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        page.wait_for_selector(".explore.is-live")
        page.evaluate("() => { document.documentElement.dataset.theme = 'dark'; }")
        page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        canvas = page.locator(".explore canvas")
        assert all(one.evaluate(DRAWN) for one in canvas.all()) and canvas.first.is_visible()
        assert not page.locator(".explore .knobs").is_visible()


# points, neurons, log10 alpha, times
FLOWS = [(48, 40, -4, [1000, 3000, 9000]), (48, 40, 3, [1, 10, 100]), (64, 40, -1, [400, 2000, 5000])]


@pytest.mark.parametrize("p, h, exponent, times", FLOWS)
def test_the_network_of_the_page_is_that_of_the_engine(explore, p, h, exponent, times):
    """From the same weights and points, at the same times: amplification and test error within 2 %."""
    given = explore.evaluate(
        """([p, h, exponent, times]) => {
        const own = Explore.stripe.draw(p, h, Explore.stripe.PLANES[2], 3), out = [];
        const it = Explore.stripe.flow(own, 10 ** exponent, 0.01, 0.005);
        times.forEach((t) => {
            while (it.t < t && it.step(t));
            out.push([it.amplification(), Explore.stripe.error(it, Explore.stripe.PLANES[2])]);
        });
        return {x: [...own.x], y: [...own.y], weights: [...own.weights], out};
    }""",
        [p, h, exponent, times],
    )
    weights = torch.tensor(given["weights"], dtype=torch.float64).reshape(1, h, 4)
    start = Network(weights[..., :2].contiguous(), weights[..., 2].clone(), weights[..., 3].clone())
    x = torch.tensor(given["x"], dtype=torch.float64).reshape(p, 2)
    task = Task(x, torch.tensor(given["y"], dtype=torch.float64), "drawn in the page")
    found, wanted, before = [], list(times), 0.0
    for state in gradient_flow(start, task, alpha=10.0**exponent, tolerance=1e-3, dtype=torch.float64):
        now = float(state.t[0])
        while wanted and now >= wanted[0]:
            there = state.inside(torch.tensor([(wanted.pop(0) - before) / (now - before)], dtype=torch.float64))
            found.append([float(amplification(there.model.omega, 1)[0]), gaussian_error(there.model, start)])
        before = now
        if not wanted:
            break
    np.testing.assert_allclose(given["out"], found, rtol=0.02)


def gaussian_error(network, start):
    """The test error on the stripe: rows across the planes, quantiles along them."""
    along, across = stats.norm.ppf((np.arange(4000) + 0.5) / 4000), np.linspace(-3, 3, 61)
    points = torch.tensor(np.stack(np.meshgrid(along, across), -1).reshape(-1, 2))
    F = (network(points) - start(points))[0].reshape(len(across), -1).numpy()
    label = np.where((along > STRIPE[0]) & (along < STRIPE[1]), -1, 1)
    return float(np.average((F * label <= 0).mean(1), weights=stats.norm.pdf(across)))


def test_the_error_and_the_law_in_closed_form(explore):
    assert explore.evaluate("() => Explore.stripe.PLANES[2]") == list(STRIPE)
    moved = explore.evaluate(
        "() => Explore.stripe.error({at: (x1) => x1 - 0.2, kinks: () => []}, [0])"
    )  # wrong sign everywhere but between 0 and 0.2
    assert moved == pytest.approx(1 - (stats.norm.cdf(0.2) - 0.5), abs=1e-6)
    law = explore.evaluate("() => Explore.stripe.law(20, 128, 3)")
    assert law == pytest.approx(planes.placing_constant(3) * np.sqrt(20 * 2) / 128, rel=1e-12)


def test_the_kernel_of_two_inputs_and_the_ridge_at_any_depth(explore):
    """To 1e-6, relative: the layers of the page against the engine's series, which jump."""
    depths, degrees = [1, 2, 5, 30, 300, 100_000], [0.01, 5, 60, 120, 180]
    given = np.array(explore.evaluate("([d, L]) => d.map((one) => Explore.depth.along(one, L))", [degrees, depths]))
    kernel, gap = along_depth(torch.tensor(degrees, dtype=torch.float64).deg2rad(), depths)
    np.testing.assert_allclose(given[..., 1].T, kernel, rtol=1e-6)
    np.testing.assert_allclose(2 * np.sin(np.deg2rad(given[..., 2].T) / 2) ** 2, gap, rtol=1e-6)
    ridges = explore.evaluate("(L) => L.map(Explore.depth.ridge)", depths[2:])
    np.testing.assert_allclose(ridges, [depth_ridge(depth) for depth in depths[2:]], rtol=1e-6)


@pytest.mark.parametrize("flipped, widths", [(0.1, [12, 20, 24, 28, 40, 90]), (0.5, [16, 28, 32, 36, 60])])
def test_a_lazy_network_of_the_page_ends_where_the_engine_ends(explore, flipped, widths):
    """From the same neurons, points and labels: points left, outputs on new points, and whether a program can fit."""
    given = explore.evaluate(
        """([widths, flipped]) => {
        const normal = Explore.normal(7), row = () => Float64Array.from({length: 10}, normal);
        const rows = (count) => Array.from({length: count}, row), x = rows(64), fresh = rows(200), neurons = rows(100);
        const y = x.map((one) => Math.sign(one[0]) * (Explore.below(normal()) < flipped ? -1 : 1));
        const found = widths.map((h) => {
            const own = neurons.slice(0, h), signed = Explore.jam.hidden(x, own);
            const {weights, left} = Explore.jam.fit(signed.map((one, m) => one.map((value) => value * y[m])));
            const outputs = Explore.jam.hidden(fresh, own).map((one) => one.map((value, k) => value * weights[k]));
            return {left, F: outputs.map((one) => one.reduce((a, b) => a + b))};
        });
        const plain = (all) => all.map((one) => [...one]);
        return {x: plain(x), fresh: plain(fresh), neurons: plain(neurons), y, found};
    }""",
        [widths, flipped],
    )
    x, fresh, neurons = (torch.tensor(given[name], dtype=torch.float64) for name in ("x", "fresh", "neurons"))
    relu = activation("relu", normalised=True)
    fitted = 0
    for h, found in zip(widths, given["found"]):
        features, tested = (relu.value(points @ neurons[:h].T / 10**0.5).numpy() for points in (x, fresh))
        weights, gaps = margins.least_hinge(features, np.array(given["y"]))
        assert found["left"] == (gaps >= margins.SLACK).sum()
        assert (found["left"] == 0) == (largest_margin(features, np.array(given["y"])) > 1e-9)
        fitted += found["left"] == 0
        wanted = tested @ weights
        assert np.linalg.norm(found["F"] - wanted) <= 0.02 * np.linalg.norm(wanted)
    assert 0 < fitted < len(widths)  # both sides of jamming


def test_the_share_of_random_labels_that_can_be_fitted(explore):
    cases = [(P, N) for P in (32, 48, 64) for N in (1, 10, 16, 24, 32, 40, 64, 96)]
    given = explore.evaluate("(all) => all.map(([P, N]) => Explore.jam.cover(P, N))", cases)
    np.testing.assert_allclose(given, separable_share(*np.array(cases).T), rtol=1e-6)


# target, step size, samples for the step and for the readout
STEPS = [(0, 3, 4, 2), (1, 3, 4, 2), (1, 10, 64, 8), (2, 8, 1, 4), (0, 0.1, 0.25, 1), (1, 0.1, 1, 0.5), (2, 30, 64, 16)]


@pytest.mark.parametrize("target, step, alpha0, alpha", STEPS)
def test_the_saddle_point_of_one_step(explore, target, step, alpha0, alpha):
    """The spike to 1e-6; overlaps and test error, on other nodes, to 1e-4; the output, interpolated, to 5e-3."""
    t = [-2.5, -1.0, 0.5, 2.0]
    given = explore.evaluate(
        """([target, step, alpha0, alpha, t]) => {
        const it = Explore.spike.theory(target, step, alpha0, alpha, 0.1), {r, gamma, c, m, psi, error} = it;
        return {spike: [r, gamma, c], found: [m, psi, error], learned: t.map((one) => Explore.spike.learned(it, one))};
    }""",
        [target, step, alpha0, alpha, t],
    )
    setting = {"activation": "tanh", "target": ("sin", "sign", "He1+He3")[target], "beta": 1.0, "lam": 0.1}
    setting |= {"step": step, "alpha0": alpha0, "alpha": alpha}
    spike = equivalent(setting["activation"], setting["target"], alpha0=alpha0, step=step)
    np.testing.assert_allclose(given["spike"], [spike.r, spike.gamma, spike.c], rtol=1e-6)
    found = measure.theory(setting)
    np.testing.assert_allclose(given["found"], [found.m, found.psi, found.test_error], rtol=1e-4)
    np.testing.assert_allclose(given["learned"], measure.learned(setting, np.array(t)), rtol=5e-3)


@pytest.mark.parametrize("n", [2, 5, 6, 12, 25])
def test_a_readers_interval_is_the_books_that_holds_however_often_one_looks(explore, n):
    ratios = np.random.default_rng(n).lognormal(0.8, 0.4, size=n)
    for name, estimate in {"ratio": estimates.ratio, "mean": estimates.mean}.items():
        found = explore.evaluate("([name, ratios]) => Explore.judge[name](ratios)", [name, ratios.tolist()])
        wanted = estimate(ratios).anytime()
        np.testing.assert_allclose(
            [found["value"], found["low"], found["high"]], [wanted.value, wanted.low, wanted.high], 1e-6
        )


def test_a_readers_verdict_needs_five_training_sets_and_an_interval_on_one_side(explore):
    ends = [(4, 1.6, 3), (5, 1.6, 3), (5, 1.4, 3), (5, 0.9, 1.4), (5, 1.5, 2)]
    words = explore.evaluate("all => all.map(([n, low, high]) => Explore.twin.verdict({ n, low, high }))", ends)
    assert words == ["undecided", "reproduced", "undecided", "not reproduced", "reproduced"]
    ends = [(5, 0.36, 0.38), (5, 0.36, 0.5), (5, 0.5, 0.6), (5, -0.1, 0.37)]
    judged = "all => all.map(([n, low, high]) => Explore.judge.verdict({ n, low, high }, [-0.01, 0.01], [0.35, 0.39]))"
    assert explore.evaluate(judged, ends) == ["corrected", "undecided", "not reproduced", "undecided"]


def test_an_address_holds_the_training_sets_and_several_are_pooled(explore):
    text = "a.html#twin?p=128&seeds=7-9&guess=1 b.html#twin?p=128&seeds=9&seeds=12 seeds=0-2 seeds=99999999"
    seeds = explore.evaluate("text => Explore.judge.seedsIn(text)", text)
    assert seeds == [7, 8, 9, 12, 1, 2]
    assert explore.evaluate("seeds => Explore.judge.listed(seeds)", seeds) == "seeds=1-2&seeds=7-9&seeds=12"


@pytest.mark.parametrize(
    "width, scheme, motion",
    [pytest.param(1280, "light", "no-preference", marks=pytest.mark.weekly), (390, "dark", "reduce")],
)
def test_a_reader_guesses_first_and_gets_a_verdict(browser, tmp_path, width, scheme, motion):
    """Nothing is told before an answer is pressed; a link brings the same training sets and numbers back."""
    file, problems = tmp_path / "page.html", []
    text = PAGE.replace(' data-name="{name}">', ' data-uses="stripe" data-name="{name}">')
    file.write_text(text.format(static=STATIC.as_uri(), name="twin"), encoding="utf-8")
    viewport = {"width": width, "height": 900}
    with browser.new_context(offline=True, viewport=viewport, color_scheme=scheme, reduced_motion=motion) as context:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(file.as_uri() + "#explore-twin?p=64&seeds=1-4")
        page.wait_for_selector(".guesses button")
        assert not page.locator(".said").is_visible() and not page.locator(".explore canvas").first.is_visible()
        page.locator(".guesses button").nth(1).click()
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('from 4 training sets')")
        assert "undecided" in page.locator(".card").inner_text()
        assert page.locator(".share button").all_inner_texts() == ["Copy link", "Copy BibTeX", "Save card"]
        page.locator(".explore input").fill("#twin?p=64&seeds=4-6")
        page.locator(".explore input").blur()
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('from 6 training sets')")
        told, address = page.locator(".said").inner_text(), page.url
        assert address.endswith("#explore-twin?p=64&seeds=1-6&guess=1")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        again = context.new_page()
        again.set_default_timeout(PATIENCE)
        again.goto(address)
        again.wait_for_function("() => document.querySelector('.said')?.textContent.includes('from 6 training sets')")
        assert again.locator(".said").inner_text() == told and not problems, problems


LONG = {"A.Fig2-feature", "A.Fig2-lazy", "B.Sec2-cover"}  # five training sets take seconds


def ran(explore, claim, seeds):
    """The numbers of a claim that the page measures itself, and their estimate."""
    return explore.evaluate(
        """([claim, seeds]) => {
        const about = Explore.live[claim];
        const values = seeds.map((seed) => {
            const it = about.one(seed);
            for (;;) { const step = it.next(); if (step.done) return step.value; }
        });
        return {values, ...Explore.judge[about.kind](values)};
    }""",
        [claim, seeds],
    )


@pytest.mark.parametrize(
    "claim", [pytest.param(one, marks=pytest.mark.weekly) if one in LONG else one for one in views.live()]
)
def test_a_claim_that_a_page_measures_itself_is_one_of_the_book_and_lies_in_its_band(explore, claim):
    """Five training sets: the rival is told from what is found, and no interval lies outside what was accepted."""
    declared = ledger.claims()[claim]
    assert 5 <= len(views.live()) <= 12 and explore.evaluate("claim => Explore.live[claim].here.length", claim) > 20
    found = ran(explore, claim, [1, 2, 3, 4, 5])
    low, high = declared.corrected or declared.accept
    assert low <= found["value"] <= high, found
    if not declared.corrected:
        assert found["low"] <= high and found["high"] >= low
    assert ran(explore, claim, [2])["values"] == found["values"][1:2], "a seed gives its number again"


def test_the_law_of_few_dimensions_in_the_page_is_that_of_the_engine(explore):
    angles = torch.tensor([0.02, 0.05, 0.3, 1.0, 2.0, 3.1], dtype=torch.float64)
    given = explore.evaluate(
        "all => all.map(phi => [Explore.dense.offset(phi), Explore.dense.law(phi, 20)])", angles.tolist()
    )
    offsets = relu_recursion.offset(angles)
    np.testing.assert_allclose(np.array(given)[:, 0], offsets, atol=2e-3)
    np.testing.assert_allclose(np.array(given)[:, 1], deep_limit.of_offset(offsets, 20, "uniform"), rtol=3e-5)


def test_a_reader_tests_a_claim_and_pools_the_links_of_others(browser, tmp_path):
    """Press, one dot a training set, a card beside the book's number; a link brings the same numbers back."""
    file, claim = tmp_path / "page.html", "C.Thm2-rate"
    about = f'id="try-{claim}" data-claim="{claim}" data-uses="{views.live()[claim]}" data-ours="0.375 [0.374, 0.375]"'
    bands = 'data-accept="-0.01 0.01" data-corrected="0.365 0.385" data-rival="0.375" data-short="slope"'
    text = PAGE.replace('<figure class="explore" id="explore-{name}"', f'<figure class="explore try" {about} {bands}')
    file.write_text(text.format(static=STATIC.as_uri(), name="try"), encoding="utf-8")
    with browser.new_context(offline=True) as context:
        page, problems = context.new_page(), []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(file.as_uri())
        page.get_by_role("button", name="Test it yourself").click()
        page.wait_for_function("() => document.querySelector('.card')?.textContent.includes('corrected, by you too')")
        assert (
            "This book: 0.375" in page.locator(".card").inner_text() and "from 6" in page.locator(".said").inner_text()
        )
        assert page.locator("canvas").evaluate(DRAWN)
        size = page.evaluate(
            "() => { const c = Explore.share.card(document.querySelector('.explore')); return [c.width, c.height]; }"
        )
        assert size == [1200, 630]
        assert claim in page.evaluate("Explore.share.bibtex()") and "seeds=" in page.url
        pooled = context.new_page()
        pooled.goto(f"{file.as_uri()}#try-{claim}?seeds=1-2")
        pooled.locator(".explore input").fill("a#x?seeds=2-4 b#y?seeds=9")
        pooled.locator(".explore input").blur()
        pooled.wait_for_function("() => document.querySelector('.said').textContent.includes('from 5 training sets')")
        assert pooled.url.endswith("seeds=1-4&seeds=9") and not problems, problems
