"""What a chapter shows: notes that name data, settings and profile; verdicts; errors before any computing."""

import json
import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from companion.book import captions, ledger, plots, views
from companion.book import chapter as page
from companion.book.chapter import Chapter
from companion.book.claims import Claim
from companion.estimates import Estimate
from companion.lab import catalogue, results, verify
from companion.lab.record import Count, derived, record
from companion.lab.sweep import study, sweep
from companion.lab.table import origin
from regimes.data.datasets import Absent
from regimes.validate import InputError
from tests.forged import change_lines, sign
from tests.sizes import Size

NAMESPACE = {"profile": "laptop", "size": 3, "scale": 0.5, "sizes": [1, 2]}


@record
class Counted(Size):
    """A size in a dimension."""

    d: Count


@study(version=1, data="counted")
def counts(setting: Counted, seeds):
    """Counts."""
    return [{"seed": s, "x": setting.n + s} for s in seeds]


@study(version=1, data="counted")
def sized(setting: Size, seeds):
    """Counts to a size."""
    return [{"seed": s, "x": setting.n + s} for s in seeds]


COUNTED = """
[counts.main]
n = [1, 2, 3, 4, 5]
d = 7
seeds = 3
[sized.main]
n = [0, "$size"]
seeds = 2
"""


def three(rows=counts):
    """There are three."""
    return Estimate.exact(3)


SIZE = Claim(
    id="Z.Fig1-size",
    item="Z.Fig1",
    kind="paper",
    statement="There are three.",
    source="paper Z, Fig. 1",
    accept=(3, 3),
    alternative={"value": 2, "what": "one was lost"},
    profiles=("smoke", "laptop", "paper"),
    function=three,
    figure="fig-x",
)


@pytest.fixture
def shown(monkeypatch):
    """What the chapter displays, instead of a notebook."""
    items = []
    monkeypatch.setattr(page, "display", lambda item, metadata=None, raw=False: items.append((item, metadata)))
    return items


@pytest.fixture
def opened(mini_book, monkeypatch):
    monkeypatch.setenv("REGIMES_RUN", str(mini_book / "run"))
    monkeypatch.delenv("REGIMES_STORE", raising=False)
    designs = mini_book / "chapters" / "designs" / "99.toml"
    designs.write_text(designs.read_text() + COUNTED)
    return Chapter("99", NAMESPACE)


def test_a_figure_names_what_varies_over_the_rows_drawn_and_folds_the_rest_away(opened, shown):
    table = opened.rows(counts)
    fig, _ = plt.subplots()
    opened.figure(fig, "fig-x", table, alt="A line")
    ((_, metadata),) = shown
    about = metadata["regimes"]
    assert about["name"] == "fig-x" and about["alt"] == "A line"
    assert about["settings"].startswith("Data: counted. Here $n$ = 1 … 5 (5); 3 seeds. Profile: laptop. ")
    assert "d = 7" in about["settings"] and "15 cells" in about["settings"]
    assert not plt.fignum_exists(fig.number)


def test_caption_of_some_rows_is_of_those_rows(opened):
    table = opened.rows(counts)
    some = table[(table.n >= 4) & (table.seed == 0)]
    assert opened.note(some) == "Data: counted. Here $n$ = 4, 5; 1 seed. Profile: laptop."
    assert opened.note(some[some.n == 5]) == "Data: counted. Here 1 seed. Profile: laptop."
    # order of computing is not the order of the caption
    assert "$n$ = 1, 3, 5" in opened.note(pd.concat([table[table.n == 5], table[table.n == 3], table[table.n == 1]]))
    assert opened.note() == ""


def test_a_caption_says_once_what_several_numbers_of_points_are_of():
    said = ["500 points of digits, 3 components", "drawn here", "60 points of digits, 3 components"]
    assert page._once(said) == ["60, 500 points of digits, 3 components", "drawn here"]


def test_table_carries_label_and_caption(opened, shown):
    table = opened.rows(counts)
    opened.table(pd.DataFrame({"x": [0.123456, None]}), "tab-x", "Numbers.", table)
    text = shown[0][0].data
    assert (
        'id="tab-x"' in text
        and "<caption>Numbers.</caption>" in text
        and "Data: counted." in text
        and "0.1235" in text
        and "—" in text
    )
    opened.table(table, "tab-y", "Rows.", table)
    assert table.cell[0] not in shown[1][0].data and "revision" in shown[1][0].data  # folded, not a column


def test_numbers_that_a_cell_says_have_one_form(opened, shown):
    opened._say("by -0.72, 1e-05 and -8.2e-05 of 65536 at 98%, $d=-5$, `-p x -1`, Fig. 3.4, 1-2-5")
    assert shown[0][0].data == (
        "by −0.72, 10⁻⁵ and −8.2\u202f×\u202f10⁻⁵ of 65\u202f536 at 98\u202f%, $d=-5$, `-p x -1`, Fig. 3.4, 1-2-5"
    )
    assert views.typeset("**It falls by -0.5.** From 16 384 points.") == (
        "**It falls by −0.5.** From 16\u202f384 points."
    )
    opened.table(pd.DataFrame({"x": [-1.25e-7], "n": [40000]}), "tab-x", "At $x$ = -1.")
    table = shown[1][0].data
    assert "−1.25\u202f×\u202f10⁻⁷" in table and "40\u202f000" in table and "= −1." in table


def test_symbols_of_a_table_are_typeset_and_those_of_a_picture_are_words(opened, shown):
    opened.table(pd.DataFrame({"$a<b$": ["5 $"]}), "tab-x", "At $t^*$, 1 < 2.")
    text = shown[0][0].data
    assert "\\(t^*\\)</span>, 1 &lt; 2." in text and "\\(a&lt;b\\)</span></th>" in text and "<td>5 $</td>" in text
    assert captions.drawn(r"**They turn.** Arrows $\beta\omega_1$ at $t^{*}$. More.") == "Arrows beta omega_1 at t^*"


def test_what_a_caption_shows_is_its_second_sentence_with_those_of_other_panels():
    drawn = r"Left: errors (paper A, Fig. 2 and App. B), {eq}`eq:A:x`. Right: times, $n\ge2d_\perp$"
    said = captions.drawn(f"**They fall.** {drawn}. Dashed: law.")
    assert said == "Left: errors (paper A, Fig. 2 and App. B). Right: times, n ≥ 2d_perp"
    assert captions.drawn("**They fall.**") == "They fall." and captions.drawn("**They fall.** Errors.") == "Errors."


def test_a_figure_has_the_title_and_the_legend_of_its_panels():
    fig, (first, second, third) = plt.subplots(1, 3)
    first.plot([1, 2], label="a")
    for ax, names in ((second, "bc"), (third, "def")):
        for name in names:
            ax.plot([1, 2], label=name)
    third.legend()
    plots.frame(fig, "Which?", 2)
    assert fig.get_suptitle() == "Which?" and [text.get_text() for text in fig.legends[0].get_texts()] == ["b", "c"]
    fig = plt.figure()
    plots.frame(fig)
    assert not fig.legends and not fig.get_suptitle()
    plt.close("all")


def test_a_figure_is_kept_for_a_page_a_phone_and_a_card(opened, shown):
    fig, axes = plt.subplots(1, 2)
    axes[0].set_ylabel("error")
    opened.figure(fig, "fig-x")
    ((data, metadata),) = shown
    about = metadata["regimes"]
    assert set(data) == {"text/plain", "image/svg+xml"} and data["text/plain"].startswith("<Figure size")
    assert not about["painted"] and 0 < about["font"] < about["narrow"]["font"] < 0.1
    assert set(about["narrow"]["pictures"]) == {"image/svg+xml"}


def test_a_slider_is_frames_and_a_still(opened, shown):
    table, (fig, ax) = opened.rows(counts), plt.subplots(figsize=(3, 3))
    draw = lambda i: ax.plot([0, i + 1])  # noqa: E731
    opened.slider(fig, draw, ["n = 1", "n = 2", "n = 3"], "fig-y", table, alt="It moves", knob="n", start=2)
    ((data, metadata),) = shown
    about, text = metadata["regimes"], data["text/html"]
    assert text.startswith('<div class="slider"') and text.count("data:image/webp") == 3 and "http" not in text
    assert about["still"] and about["alt"] == "It moves"
    assert about["narrow"] is None and "image/svg+xml" in data and not plt.get_fignums()
    assert 'aria-label="n" aria-valuetext="n = 3"' in text


def test_a_slider_may_have_a_still_of_its_own(opened, shown):
    (fig, ax), (still, _) = plt.subplots(figsize=(3, 3)), plt.subplots(1, 2)
    opened.slider(fig, lambda i: ax.plot([i]), ["a", "b"], "fig-y", knob="n", still=still)
    ((data, metadata),) = shown
    assert not metadata["regimes"]["still"] and metadata["regimes"]["narrow"] and "2 Axes" in data["text/plain"]
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("labels", "more", "said"),
    [
        ([], {}, "labels of 2 frames or more"),
        (["a"], {}, "labels of 2 frames or more"),
        (["a", "b"], {"start": 2}, "start must be a whole number from 0 to 1"),
    ],
)
def test_a_slider_without_frames_is_an_error_before_anything_is_drawn(opened, labels, more, said):
    fig, _ = plt.subplots()
    with pytest.raises(InputError, match=said):
        opened.slider(fig, None, labels, "fig-y", knob="n", **more)
    plt.close(fig)


def test_a_label_is_used_once_but_a_cell_may_run_again_by_hand(opened, shown, mini_book, monkeypatch):
    opened.figure(plt.figure(), "fig-x")
    with pytest.raises(InputError, match="label fig-x is in use: another figure of chapter 99 has it"):
        opened.figure(plt.figure(), "fig-x")
    plt.close("all")
    monkeypatch.delenv("REGIMES_RUN")
    by_hand = Chapter("99", NAMESPACE)
    for _ in range(2):
        by_hand.figure(plt.figure(), "fig-x")


def records(mini_book):
    return json.loads((mini_book / "run" / "99.ledger.json").read_text())


def test_a_verdict_is_a_record_and_one_line(opened, shown, mini_book):
    opened._judge(SIZE)
    (record,) = records(mini_book)
    values = {"n": [1, 2, 3, 4, 5], "d": [7]}
    assert record["settings"] == [{"study": counts.name, "values": values, "seeds": 3}] and record["data"] == "counted"
    assert record["chapter"] == "99" and record["kind"] == "paper" and record["interval"] == "no scatter"
    assert record["seconds"] >= 0 and record["device"] and record["versions"]["torch"]
    said = shown[0][0].data
    assert said.startswith('<div class="verdict verdict-reproduced">') and "\n" not in said
    assert (
        "<b>reproduced</b>" in said
        and "<code>Z.Fig1-size</code>" in said
        and "counter-hypothesis 2 (one was lost)" in said
    )
    rows = views.show("verdicts", [record, record | {"short": "There are three", "stated": 4}], views.ERRATA)
    assert rows.count("<details") == rows.count(said) == 2, "each opens itself"
    assert "<span>Z.Fig1-size</span><span><b>3</b></span>" in rows
    assert "<span>There are three</span><span><b>3</b> (paper 4)</span>" in rows


@pytest.mark.parametrize(
    "select",
    [
        lambda t: t[t.n == 2],
        lambda t: pd.concat([t[t.n == 2], t[t.n == 2]]),
        lambda t: t[t.n == 2].merge(t[(t.n == 2) & (t.seed == 1)][["n", "x"]], on="n"),
        lambda t: t[t.n == 2].assign(n=99).drop(columns=["d", "seconds", "device", "revision"]).sort_values("x"),
    ],
    ids=["filter", "concat", "merge", "changed columns"],
)
def test_the_record_is_of_the_rows_that_were_judged(opened, mini_book, shown, select):
    def some(rows=counts):
        return Estimate.exact(3), select(rows)

    opened._judge(replace(SIZE, function=some))
    whole = opened.rows(counts)
    (record,) = records(mini_book)
    assert record["settings"] == [{"study": counts.name, "values": {"n": [2], "d": [7]}, "seeds": 3}]
    assert record["seconds"] == pytest.approx(whole[whole.n == 2].seconds.sum()) and len(record["cells"]) == 3


@pytest.mark.parametrize(
    ("lose", "words"),
    [
        (lambda t: t.groupby("n", as_index=False).x.mean(), "columns n, x has .*'cell'"),
        (
            lambda t: t.pivot(index="seed", columns="n", values="x"),
            "'cell': pass the rows of the sweep, not their averages",
        ),
        (lambda t: t[t.n > 99], "holds no row"),
        (lambda t: pd.concat([t, pd.DataFrame({"x": [1]})]), "1 rows of a table name no cell"),
        (lambda t: t.assign(cell="elsewhere"), "'elsewhere', which no sweep of this process has returned"),
    ],
)
def test_a_table_without_its_cells_is_an_error_and_never_theory_alone(opened, shown, lose, words):
    def lost(rows=counts):
        return Estimate.exact(3), lose(rows)

    with pytest.raises(InputError, match=words):
        opened._judge(replace(SIZE, function=lost))
    with pytest.raises(InputError, match=words):
        opened.note(lose(opened.rows(counts)))


def test_a_claim_on_formulas_says_so(opened, shown, mini_book):
    def formula():
        return Estimate.exact(3)

    opened._judge(replace(SIZE, function=formula))
    (record,) = records(mini_book)
    assert record["data"] == "none: theory alone" and record["settings"] == [] and record["versions"]["numpy"]


def test_a_figure_judges_the_claims_that_show_it_each_once(opened, shown, monkeypatch):
    others = [replace(SIZE, id="Z.Fig1-second"), replace(SIZE, id="Z.Fig2-other", figure="fig-y")]
    monkeypatch.setattr(page.claims, "claims_of", lambda number: [SIZE, *others])
    opened.figure(plt.figure(), "fig-x")
    assert list(opened.entries) == ["Z.Fig1-size", "Z.Fig1-second"]
    opened.table(pd.DataFrame({"x": [1]}), "fig-y", "Numbers.")
    assert list(opened.entries)[2:] == ["Z.Fig2-other"]
    with pytest.raises(InputError, match=r"claim Z\.Fig2-other was judged already"):
        opened.table(pd.DataFrame({"x": [1]}), "fig-y", "Numbers.")


def test_a_changed_run_tests_no_claim_whose_words_name_what_its_rows_lack(opened, shown, mini_book):
    """``at`` of a claim: with it another size, or none, is no verdict; other parameters may change."""

    def number(rows=sized):
        return Estimate.exact(3)

    found = {}
    for at in ({}, {"n": 3}, {"n": [0, 3]}, {"n": [0, 5]}, {"depth": 3}):
        for size in (3, 2):
            chapter = Chapter("99", NAMESPACE | {"size": size, "scale": 0.5 if size == 3 else 0.25})
            chapter.entries = {}
            chapter._judge(replace(SIZE, at=at, function=number))
            found[str(at), size] = ledger.word(chapter.entries[SIZE.id])
    others = {key: word for key, word in found.items() if word != "reproduced"}
    named = [{"n": 3}, {"n": [0, 3]}, {"n": [0, 5]}, {"depth": 3}]
    assert others == {(str(at), 2): "not tested at this size" for at in named}, "the book's own run is not asked"
    assert ">not tested at this size</b>" in shown[-1][0].data


def test_a_claim_that_cannot_be_measured_fails_the_books_own_run_alone(opened, shown):
    def fails(rows=counts):
        return rows.y

    def finds_nothing(rows=counts):
        return None

    for function, words in ((fails, "cannot be measured: AttributeError: .*'y'"), (finds_nothing, "finds nothing on")):
        claim = replace(SIZE, function=function)
        with pytest.raises(InputError, match=rf"claim Z\.Fig1-size.* {words}"):
            opened._judge(claim)
        changed = Chapter("99", NAMESPACE | {"size": 2})
        changed._judge(claim)
        assert "`Z.Fig1-size`: not tested at these parameters" in shown[-1][0].data and not changed.entries


def test_by_hand_a_cell_that_judges_may_run_again(mini_book, shown, monkeypatch):
    monkeypatch.delenv("REGIMES_RUN", raising=False)
    opened = Chapter("99", NAMESPACE | {"profile": "laptop"})

    def number(value):
        return Estimate.exact(value)

    for value in (3, 4):
        opened._judge(replace(SIZE, function=number, given={"value": value}))
    assert opened.entries["Z.Fig1-size"]["value"] == 4


def test_a_chapter_opened_by_hand_obeys_its_profile_line(mini_book, monkeypatch):
    monkeypatch.delenv("REGIMES_RUN", raising=False)
    names = NAMESPACE | {"profile": "smoke", "scale": 4.0}
    opened = Chapter("99", names)
    assert opened.parameters["size"] == names["size"] == 2  # the profile's
    assert opened.parameters["scale"] == names["scale"] == 4.0  # the reader's


@pytest.mark.parametrize(
    ("given", "said"),
    [({"size": "three"}, "size must be a whole number"), ({"profile": "huge"}, "profile must be one of")],
)
def test_parameters_changed_by_hand_in_jupyter_are_checked_too(mini_book, given, said):
    with pytest.raises(InputError, match=said):
        Chapter("99", NAMESPACE | given)


@study(version=1, data="counted")
def designed(setting: Size, seeds):
    """Rows of named designs."""
    return [{"seed": s, "x": setting.n + s} for s in seeds]


FEW, MANY = "[designed.few]\nn = [1, 2]\nseeds = 2\n", "[designed.many]\nn = [2, 3]\nseeds = 3\n"
MORE = "stored.seeds = 5\n"
LARGER = "stored.n = [1, 2, 9]\nstored.seeds = 5\n"


def opened_with(mini_book, text=FEW + MANY, **designs):
    """The chapter with these designs at the laptop profile, and changed entries of them."""
    (mini_book / "chapters" / "designs" / "99.toml").write_text(text)
    return Chapter("99", NAMESPACE | {"designs": {f"99.designed.{name}": value for name, value in designs.items()}})


def seeds(chapter, design, study=designed):
    return {n: sorted(own) for n, own in chapter.rows(study, design).groupby("n").seed}


def store(mini_book, item, table):
    """Stores the rows of a study."""
    (mini_book / "results").mkdir(exist_ok=True)
    file = mini_book / "results" / f"{item.name}{results.SUFFIX}"
    results.write_results(item, [origin(key) for key in table.cell.unique()], file)
    return file


def test_stored_results_are_the_data_and_a_sample_is_computed_again(opened, mini_book, shown, monkeypatch):
    assert len(opened_with(mini_book).rows(designed)) == 8  # none stored; what both hold, once
    more = sweep(designed, designed.grid.of(n=[1, 2, 9], seeds=5))
    store(mini_book, designed, more)
    monkeypatch.setenv("REGIMES_STORE", str(mini_book / "none"))
    monkeypatch.setattr(verify, "SECONDS", 0.0)
    chapter = opened_with(mini_book, FEW + LARGER + MANY)
    found = chapter.rows(designed, "few")
    assert len(found) == 15 and found.cell.is_unique and set(found.cell) == set(more.cell) and not shown
    assert len(list((mini_book / "none").glob("*/v*/*.json"))) == 1  # the cheapest one
    said = "Data: counted. Here $n$ = 1, 2, 9; 5 seeds. Profile: laptop, with rows kept in results/."
    assert chapter.note(found) == said
    # another design finds by their keys the cells that it asks for
    assert seeds(chapter, "many") == {2: [0, 1, 2], 3: [0, 1, 2]}
    assert len(list((mini_book / "none").glob("*/v*/*.json"))) == 1 + 3


def test_stored_results_that_this_machine_does_not_compute_are_said(opened, mini_book, shown, monkeypatch):
    """On the ledger's page, and by hand, where there is none, below the cell."""
    table = sweep(designed, designed.grid.of(n=[1, 2], seeds=5))
    sign(store(mini_book, designed, table), lambda held: held["rows"][0].update(x=-1))
    opened_with(mini_book, FEW + MORE).rows(designed, "few")
    said = json.loads((mini_book / "run" / "99.sampled.json").read_text())[designed.name]
    assert "x is " in said[0] and not shown
    monkeypatch.delenv("REGIMES_RUN")
    opened_with(mini_book, FEW + MORE).rows(designed, "few")
    assert f"`{designed.name}` are not what this machine computes: " in shown[-1][0].data


def test_a_damaged_cell_is_computed_and_said_and_no_other(opened, mini_book, monkeypatch):
    table = sweep(designed, designed.grid.of(n=[1, 2], seeds=5))
    path = store(mini_book, designed, table)
    key = table.cell[(table.n == 2) & (table.seed == 1)].iloc[0]
    change_lines(path, lambda lines: [line.replace('"x":3', '"x":4') if key in line else line for line in lines])
    monkeypatch.setenv("REGIMES_STORE", str(mini_book / "none"))
    chapter = opened_with(mini_book, FEW + MORE)
    found = chapter.rows(designed, "few")
    assert found.x[found.cell == key].tolist() == [3] and len(found) == 10
    (said,) = json.loads((mini_book / "run" / "99.sampled.json").read_text())[designed.name]
    assert said.startswith(f"{path.name} is refused, cell {key} (n = 2, seed = 1): its checksum is not ")
    later = table.cell[(table.n == 2) & (table.seed == 4)].iloc[0]  # one that the laptop does not ask for
    change_lines(path, lambda lines: [line.replace('"x":6', '"x":7') if later in line else line for line in lines])
    assert len(opened_with(mini_book, FEW + MORE).rows(designed, "few")) == 9


def test_a_changed_design_is_its_own_affair(opened, mini_book, monkeypatch):
    """It keeps the stored seeds that all of its settings have, and every cell that it asks for; no other moves."""
    of = designed.grid.of
    store(mini_book, designed, sweep(designed, of(n=[1, 2], seeds=6) + of(n=3, seeds=4) + of(n=4, seeds=[7])))
    text = f"{FEW}stored.seeds = 6\n{MANY}stored.seeds = 6\n"
    usual = opened_with(mini_book, text)
    assert seeds(usual, "few") == {1: [*range(6)], 2: [*range(6)]}
    assert seeds(usual, "many") == {2: [*range(6)], 3: [*range(4)]}
    monkeypatch.setenv("REGIMES_STORE", str(mini_book / "none"))

    def computed():
        return len(list((mini_book / "none").glob(f"{designed.name}/v*/*.json")))

    monkeypatch.setattr("companion.book.chapter.sample", lambda *args: [])
    for given, found in (
        ({"few.n": [2]}, {2: [*range(6)]}),  # fewer sizes
        ({"few.n": [1, 3]}, {1: [*range(4)], 3: [*range(4)]}),  # another's
        ({"few.n": [1, 4]}, {1: [0, 1], 4: [0, 1]}),  # a new one: two are computed
        ({"few.seeds": 3}, {1: [*range(6)], 2: [*range(6)]}),
        ({"few.seeds": [5, 3]}, {1: [3, 5], 2: [3, 5]}),  # those that are listed, and no others
    ):
        changed = opened_with(mini_book, text, **given)
        assert seeds(changed, "few") == found, given
        assert seeds(changed, "many") == seeds(usual, "many"), given
        assert computed() == 2 * (4 in found or "few.seeds" in given)


def test_other_profiles_take_the_stored_seeds_of_their_own_settings(opened, mini_book):
    store(mini_book, designed, sweep(designed, designed.grid.of(n=[1, 2, 9], seeds=5)))
    opened_with(mini_book, FEW + LARGER)
    chapter = Chapter("99", NAMESPACE | {"profile": "smoke"})
    assert seeds(chapter, "few") == {1: [*range(5)], 2: [*range(5)]}


@study(version=1, seeds=Count[0, 10], data="counted")
def optional(setting: Size, seeds):
    """A study whose designs may ask for no realisation."""
    return [{"seed": s, "x": setting.n} for s in seeds]


def test_a_design_without_a_cell_says_which(opened, mini_book, capfd):
    some, none = "[optional.some]\nn = 1\nseeds = 1\n", "[optional.none]\nn = 2\nseeds = 0\n"
    chapter = opened_with(mini_book, some + none)
    assert len(chapter.rows(optional, "some")) == len(chapter.rows(optional)) == 1
    assert chapter.rows(optional, "none").empty and "x" in chapter.rows(optional, "none")
    assert f"design none of {optional.name} has no cell: results/ holds none, and its " in capfd.readouterr().err
    wanting_none = some + none + "smoke.seeds = 0\n"
    (mini_book / "chapters" / "designs" / "99.toml").write_text(wanting_none)
    smoke = Chapter("99", NAMESPACE | {"profile": "smoke"})
    assert smoke.rows(optional, "none").empty and not capfd.readouterr().err
    with pytest.raises(InputError, match=f"^{optional.name} has no cell: results/ holds none, and its parameters ask"):
        opened_with(mini_book, none).rows(optional, "none")


HERE = ["best"]


@record
class Pictured(Size):
    """A size, and the data set that is here."""

    data: str = derived()
    words: str = derived()

    def completed(self, seeds):
        return replace(self, data=HERE[0], words=f"{HERE[0]}, all of them")


@study(version=1)
def pictures(setting: Pictured, seeds):
    """Rows that depend on the data set."""
    return [{"seed": s, "x": len(setting.data) + s, "source": setting.data} for s in seeds]


def test_where_the_data_are_not_here_stored_results_judge_and_it_is_said(opened, mini_book, shown, monkeypatch):
    text = "[pictures.main]\nn = [1, 2]\nseeds = 2\nstored.n = [1, 2, 3]\nstored.seeds = 8\n"
    store(mini_book, pictures, sweep(pictures, pictures.grid.of(n=[1, 2, 3], seeds=8)))
    monkeypatch.setattr(catalogue, "is_here", lambda setting: True)
    opened = opened_with(mini_book, text)
    assert opened.note(opened.rows(pictures)).endswith("Profile: laptop, with rows kept in results/.")
    monkeypatch.setattr(sys.modules[__name__], "HERE", ["other"])
    monkeypatch.setattr(catalogue, "is_here", lambda setting: setting.get("data") != "best")
    opened = opened_with(mini_book, text)
    found = opened.rows(pictures)
    assert set(found.data) == {"best"} and len(found) == 24  # none of the data that stand in for them
    assert opened.note(found).endswith("Profile: laptop, with stored rows: the data are not on this machine.")

    def number(rows=pictures):
        return Estimate.exact(3)

    opened._judge(replace(SIZE, function=number))
    assert opened.entries["Z.Fig1-size"]["data"] == "best (stored rows: the data are not on this machine)"


@record
class Worn(Size):
    """A size, and a data set that a machine may lack."""

    data: str

    def completed(self, seeds):
        if self.data == "clothes":
            raise Absent("data clothes ships with no package")
        return self


@study(version=1)
def worn(setting: Worn, seeds):
    """Rows of such a data set."""
    return [{"seed": s, "x": setting.n} for s in seeds]


def test_a_design_whose_data_are_absent_is_its_stored_rows_or_empty_and_one_sentence_says_so(
    opened, mini_book, shown, capfd
):
    text = '[worn.here]\nn = [1, 2]\ndata = "digits"\nseeds = 2\n[worn.none]\nextends = "here"\ndata = "clothes"\n'
    chapter = opened_with(mini_book, text)
    assert len(chapter.rows(worn, "here")) == 4 and not shown
    assert chapter.rows(worn, "none").empty and "x" in chapter.rows(worn, "none")
    assert f"The design `none` of `{worn.name}` is empty: its data are not on this machine." in shown[-1][0].data
    assert "99.worn.none: data clothes ships with no package" in capfd.readouterr().err

    def first(rows=worn["none"]):
        return Estimate.exact(float(rows.x.iloc[0]))

    chapter._judge(replace(SIZE, function=first))
    assert "`Z.Fig1-size`: not tested, its data are not on this machine." in shown[-1][0].data and not chapter.entries
    one_more = worn.grid.axes_alone().of(n=[1, 2, 3], data="clothes", seeds=3)
    store(mini_book, worn, sweep(worn, one_more))
    chapter = opened_with(mini_book, text + "stored.n = [1, 2, 3]\nstored.seeds = 3\n")
    assert len(chapter.rows(worn, "none")) == 9 and len(chapter.rows(worn, "here")) == 4
    chapter._judge(replace(SIZE, function=first))
    assert chapter.entries["Z.Fig1-size"]["value"] == 1
    with pytest.raises(Absent, match=r"^99\.worn\.none: data clothes"):  # a design that a reader has changed
        Chapter("99", NAMESPACE | {"designs": {"99.worn.none.n": [1]}}).rows(worn, "none")
    with pytest.raises(Absent, match=r"^99\.worn\.here: data clothes"):  # data that a reader asks for
        Chapter("99", NAMESPACE | {"designs": {"99.worn.here.data": "clothes"}}).rows(worn, "here")
    with pytest.raises(Absent, match=r"^99\.worn\.none: data clothes"):
        Chapter("99", NAMESPACE | {"profile": "paper"}).rows(worn, "none")


def test_rows_are_those_of_one_design_and_what_is_stored_for_it(opened, mini_book):
    chapter = opened_with(mini_book)
    assert chapter.design(designed, "few") == {"n": [1, 2], "seeds": [[0, 1]]}
    assert len(chapter.rows(designed)) == 8  # what both hold, once
    assert seeds(chapter, "few") == {1: [0, 1], 2: [0, 1]} and seeds(chapter, "many") == {2: [0, 1, 2], 3: [0, 1, 2]}
    assert seeds(opened_with(mini_book, **{"few.n": [5]}), "few") == {5: [0, 1]}
    with pytest.raises(InputError, match="a design of designed must be one of few, many; got 'none'"):
        chapter.rows(designed, "none")
