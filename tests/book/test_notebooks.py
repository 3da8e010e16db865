"""The chapters as papermill executed them at the smoke profile, against stored references; nothing runs twice."""

import gzip
import json
import math
import re

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pandas as pd
import pytest
from pytest_notebook.diffing import diff_notebooks, diff_to_string

from companion import paths
from companion.book import ledger, screen
from companion.book.captions import GLUED
from companion.book.chapter import THEORY
from companion.lab import catalogue, parameters
from companion.lab.store import Store, stamp
from companion.lab.sweep import STATISTICAL
from tests import stored_ledger
from tests.references import FOLDER, LEDGER, SMOKE, described, executed, measured, numbers, without_numbers

PAGES = [page.stem for number in parameters.chapters() for page in parameters.page_sources(number)]
EARLY, ALIKE = 0.05, 0.005  # of the reference's interval, and of the value
MOVED, WIDER, SAME = 0.5, 1.45, 1e-5  # of the wider interval; its width; of the value: six digits are held


@pytest.mark.parametrize("stem", PAGES)
def test_shows_what_the_reference_lists(stem):
    reference = nbformat.read(FOLDER / f"{stem}.ipynb", as_version=4)
    diff = diff_notebooks(reference, described(executed(stem[:2])[stem]))
    assert not diff, "\n" + diff_to_string(reference, diff, use_color=False) + "\nif this is meant: make references"


# lines with times or round-off, whose numbers are of no use; and those in which another processor moves numbers more
NOISE = ("data and weights turn", "a cell takes")
MOVES = ("from $t^*$ to the end", "fig-a-sensitivity", "At this training loss")


@pytest.mark.parametrize("number", parameters.chapters())
def test_sentences_and_figures_have_the_numbers_of_the_reference(number):
    """Numbers to a hundredth or a tenth, and where lines lie; nine lines in ten on a processor of another name."""
    made, *was = (FOLDER / f"{number}.smoke.txt").read_text(encoding="utf-8").splitlines()
    now = [line for notebook in executed(number).values() for line in numbers(notebook)]
    apart = []
    for one, other in zip(now, was):
        if not any(words in other for words in NOISE):
            apart += stored_ledger.unlike([one], [other], 0.1 if any(words in other for words in MOVES) else 0.01)
    allowed = 0 if made == stamp()["device"] else len(was) // 10
    assert len(now) == len(was) and len(apart) <= allowed, "\n".join([*apart, "if this is meant: make references"])


def late():
    """The claims on studies with statistical columns: another processor gives them other values and intervals."""
    items = {name: item for number in catalogue.modules() for name, item in catalogue.of(number).items()}
    drawn = {name for name, item in items.items() if STATISTICAL in item.columns.values()}
    records = ledger.read(paths.results() / "ledger.json")
    return {one["id"] for one in records if drawn & {setting["study"] for setting in one["settings"] or ()}}


def unlike(now, was, is_late):
    """How an estimate is not the reference's, if it is not; a late one may have a wider interval, and lie further."""
    wider = max(now.high - now.low, was.high - was.low)
    if is_late and math.isfinite(wider):
        most = MOVED * wider + SAME * abs(was.value) + ledger.ROUND_OFF
        return "" if abs(now.value - was.value) <= most else f"value {now.value:.6g} for {was.value:.6g}"
    told = ledger.deviations(now, was, EARLY, same=ALIKE)
    narrower = min(now.high - now.low, was.high - was.low)
    if math.isfinite(wider) and wider > WIDER * narrower + SAME * abs(was.value) + ledger.ROUND_OFF:
        told.append(f"an interval of width {now.high - now.low:.3g} for {was.high - was.low:.3g}")
    return ", ".join(told)


def test_an_estimate_that_is_not_the_references_is_noticed():
    """Estimates of the smoke book, multiplied with their intervals, or with intervals that have no ends."""
    reference = pd.read_csv(LEDGER, index_col="id", keep_default_na=False)
    reference = reference.astype({"value": float, "low": float, "high": float})[["value", "low", "high"]]
    early = reference.drop(index=list(late()), errors="ignore")
    for factor, least in ((1, 0), (1.5, 0.95), (2, 0.95), (-1, 0.5), (0, 0.95)):
        seen = [bool(unlike((factor * was).fillna(0), was, False)) for _, was in early.iterrows()]
        assert (np.mean(seen) >= least) if least else not any(seen), f"{factor}: {np.mean(seen):.0%} of {len(seen)}"
    assert len(early) > len(reference) / 2
    nowhere = {"low": -math.inf, "high": math.inf}
    for is_late in (True, False):
        others = reference[reference.value != 0].iterrows()
        assert all(unlike(pd.Series({"value": 100 * was.value} | nowhere), was, is_late) for _, was in others)


def test_estimates_are_those_of_the_reference():
    """To half a per cent, or a twentieth of the interval; of a late one elsewhere, half the wider interval.

    A verdict that stays the same however the interval is widened by its own width is the same here.
    """
    reference, found = pd.read_csv(LEDGER, index_col="id", keep_default_na=False), measured()
    assert list(found.index) == list(reference.index), "if this is meant: make references"
    made = (FOLDER / "01.smoke.txt").read_text(encoding="utf-8").partition("\n")[0]
    moved, moves = [], set() if made == stamp()["device"] else late()
    for name, was in reference.astype({"value": float, "low": float, "high": float}).iterrows():
        now = found.loc[name]
        if told := unlike(now, was, name in moves):
            moved.append(f"{name}: {told}")
        width = max(was.high - was.low, now.high - now.low)
        wide = ledger.Estimate(was.value, was.low - width, was.high + width, 1)
        sure = ledger.judge(ledger.claims()[name], wide, "smoke")
        if sure == was.verdict != now.verdict:
            moved.append(f"{name}: {was.verdict}, now {now.verdict}")
    assert not moved, "\n".join([*moved, "if this is meant: make references"])


@pytest.mark.parametrize("number", parameters.chapters())
def test_every_cell_ran_without_a_warning_on_the_page(number):
    """Nor does a cell print the value of its last line, such as a legend."""
    for cell in (cell for notebook in executed(number).values() for cell in notebook.cells):
        for output in cell.get("outputs", []):
            assert output.output_type not in ("error", "execute_result"), (cell.source, output)
            assert output.get("name") != "stderr", (cell.source, output)


@pytest.mark.parametrize("number", parameters.chapters())
def test_every_verdict_follows_from_its_numbers(number):
    records = ledger.read(SMOKE / f"{number}.ledger.json")
    assert records, "a chapter judges at least one claim"
    for record in records:
        assert record["profile"] == "smoke" and record["verdict"] == stored_ledger.judged(record), record["id"]
        assert record["data"] and record["figure"] and record["device"] and record["revision"], record["id"]


@pytest.fixture(scope="module")
def cell_of():
    """A cell by its key, by a way of its own: its line of stored results, or its file in the store."""
    stored = {path.stem: path for path in Store.default().folder.glob("*/v*/*.json")}
    kept = {}
    for path in paths.results().glob("*.jsonl.gz"):
        held = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        kept |= {cell["key"]: cell for cell in held}

    def found(key):  # results/ stands before the store
        return kept[key] if key in kept else json.loads(stored[key].read_text(encoding="utf-8"))

    return found


@pytest.mark.parametrize("number", parameters.chapters())
def test_every_records_settings_are_those_of_the_cells_it_judged(number, cell_of):
    for entry in ledger.read(SMOKE / f"{number}.ledger.json"):
        cells = [cell_of(key) for key in entry["cells"]]
        assert bool(cells) == (entry["data"] != THEORY), entry["id"]
        assert {cell["study"] for cell in cells} == {setting["study"] for setting in entry["settings"]}, entry["id"]
        for setting in entry["settings"]:
            own = [cell for cell in cells if cell["study"] == setting["study"]]
            assert setting["seeds"] == len({cell["seed"] for cell in own}), entry["id"]
            names = {name for cell in own for name in cell["setting"]}
            assert names == set(setting["values"]), entry["id"]
            for name, values in setting["values"].items():
                found = {json.dumps(cell["setting"][name]) for cell in own if name in cell["setting"]}
                assert found == {json.dumps(value) for value in values} and len(found) == len(values), entry["id"]
        assert entry["seconds"] == pytest.approx(sum(cell["provenance"]["seconds"] for cell in cells)), entry["id"]
        assert {cell["provenance"]["device"] for cell in cells} <= set(entry["device"].split(", ")), entry["id"]


# what a claim's name says of its rows: the review found the stripe's claims to be "measured on stripe and cylinder"
NAMED = {
    "A.Fig3-beta-lazy-d5": {"shape": ["stripe"], "d": [5]},
    "A.Fig3-beta-lazy-d10": {"shape": ["stripe"], "d": [10]},
    "A.Fig8-star-trend": {"shape": ["cylinder"]},
}


@pytest.mark.parametrize("name", NAMED)
def test_a_record_names_the_data_of_its_claim(name):
    (entry,) = (
        r for number in parameters.chapters() for r in ledger.read(SMOKE / f"{number}.ledger.json") if r["id"] == name
    )
    assert {key: entry["settings"][0]["values"][key] for key in NAMED[name]} == NAMED[name]


def test_references_hold_no_number_that_a_processor_may_move():
    text = "β = 0.38 [-1.2e-16, inf] at $p=40$, $10^{-6}$ and fig-a-2; 3, 4 and 5 of 7 networks; paper A, Fig. 2b"
    assert without_numbers(text) == "β = # [#] at $p=#$, $#^#$ and fig-a-2; # of # networks; paper A, Fig. 2b"


def test_a_reference_lists_figures_tables_claims_and_sentences():
    def display(data, **about):
        return nbformat.v4.new_output("display_data", data, metadata={"regimes": about} if about else {})

    verdict = '<div class="verdict"><code>A.Fig{}-x</code></div>'
    table = '<table id="tab-x"><caption>Two <b>numbers</b>.</caption><thead><th>p</th><th>error</th></thead></table>'
    outputs = [
        display({"text/plain": "Figure"}, name="fig-x", caption="A line of 3 points."),
        *(display({"text/html": verdict.format(n)}) for n in (1, 2)),
        display({"text/html": table}),
        display({"text/markdown": "It is 0.5."}),
    ]
    shown = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=outputs), nbformat.v4.new_code_cell()])
    (cell,) = described(shown).cells
    assert cell.source.splitlines() == [
        "fig-x: A line of # points.",
        "claim A.Fig1-x, A.Fig2-x",
        "tab-x: Two numbers . [p | error]",
        "It is #.",
    ]


def test_the_places_of_lines_and_the_numbers_of_sentences_are_listed():
    def listed(*heights, size=(6, 4), top=1.0, **style):
        fig, ax = plt.subplots(figsize=size)
        ax.plot([1, 2], heights, **style)
        ax.scatter([1, 2], [0, 1])
        ax.axvspan(1.2, top)
        shown = nbformat.v4.new_output("display_data", screen.pictures(fig), metadata={"regimes": {"name": "fig-x"}})
        plt.close(fig)
        about = {"scrapbook": {"name": "it", "mime_prefix": GLUED}}
        said = nbformat.v4.new_output("display_data", {f"{GLUED}text/plain": "0.500"}, metadata=about)
        return numbers(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[shown, said])]))

    places, sentence = listed(0, 1)
    assert sentence == "it: 0.500" and re.fullmatch(r"fig-x: \d+ \d+ pt( 0\.\d{3}){8} drawn_[\da-f_.]+", places)
    assert not stored_ledger.unlike(listed(0, 1), [places, sentence], share=0.01)
    assert stored_ledger.unlike(listed(0, 0.9), [places, sentence], share=0.01)
    for changed in (
        {"size": (6, 3.8)},
        {"top": 1.5},
        {"linewidth": 2},
        {"linestyle": ":"},
        {"alpha": 0.4},
        {"color": "C1"},
    ):
        assert stored_ledger.unlike(listed(0, 1, **changed), [places, sentence], share=0.01), changed
    assert stored_ledger.unlike(["it: 0.511"], [sentence], share=0.01)
    assert not stored_ledger.unlike(["it: 0.504"], [sentence], share=0.01)


def test_the_pictures_of_a_film_are_listed_by_their_ink():
    """Of the first, the middle one and the last: they have no marks to list."""
    fig, ax = plt.subplots(figsize=(2, 2))
    text = screen.slider(fig, lambda i: ax.plot([0, 1], linewidth=3 * i), ["a", "b", "c"], knob="width")
    shown = {"text/html": text, "image/svg+xml": "<svg viewBox='0 0 9 9'/>"}
    film = nbformat.v4.new_output("display_data", shown, metadata={"regimes": {"name": "fig-x"}})
    plt.close(fig)
    size, ink = numbers(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[film])]))
    first, middle, last = (float(one) for one in ink.removeprefix("fig-x, film: ").split())
    assert size == "fig-x: 9 9 pt drawn" and first < 0.99 * middle and middle < 0.99 * last
