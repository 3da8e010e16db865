"""What one figure of a chapter needs, and what changes it."""

import re
import shlex
from types import SimpleNamespace

import jupytext
import pytest

from companion import describe, runner
from companion.book import changes, claims, figures, views
from companion.lab import catalogue, cli, parameters, schedule, sweep
from companion.lab.store import Result
from companion.lab.study import Design
from regimes.validate import InputError

pytestmark = pytest.mark.usefixtures("read_once")
PAGE = """\
# %% [markdown]
# (a-page)=
# # A page
# Much text.
# %% tags=["parameters"]
x = 1  # a number
# %%
from companion.book.chapter import Chapter

chapter = Chapter("99", globals())
# %% [markdown]
# Words above the first.
# %%
rows = chapter.rows(studies.growth, "planes")
chapter.figure(plt.figure(), "fig-x", rows)
# %% [markdown] tags=["caption"]
# **It rises.** With x.
# %% [markdown]
# Words above the second.
# %%
chapter.rows(studies.growth, "planes")
chapter.rows(studies.courses)
chapter.table(x * rows, "tab-y", "Numbers of fig-x.")
"""


def test_a_figure_alone_has_the_title_the_parameters_the_imports_and_its_caption():
    whole = jupytext.reads(PAGE, "py:percent")
    cells = figures.on_its_own(whole, "fig-x").cells
    assert cells[0].source == "(a-page)=\n# A page\n\nThe part that `fig-x` needs."
    assert [cell.source.split()[0] for cell in cells[1:]] == ["x", "from", "Words", "rows", "**It"]
    cells = figures.on_its_own(jupytext.reads(PAGE, "py:percent"), "tab-y").cells
    assert [cell.source.split()[0] for cell in cells[1:]] == ["x", "from", "Words", "chapter.rows(studies.growth,"]
    assert cells[3].source == "Words above the second."


def test_what_a_cell_shows_asks_for_and_uses():
    code = [cell.source for cell in jupytext.reads(PAGE, "py:percent").cells if cell.cell_type == "code"]
    assert [figures.labels_shown(source) for source in code] == [[], [], ["fig-x"], ["tab-y"]]
    assert figures.designs_asked(code[2]) == {"growth": {"planes"}}
    assert figures.designs_asked(code[3]) == {"growth": {"planes"}, "courses": {""}}
    assert figures.Figure(None, code[3]).names == {"chapter", "studies", "x", "rows"}


def test_the_seconds_of_a_study_are_those_stored_and_those_expected(monkeypatch):
    number, item = catalogue.find("depth.biases")
    grid = catalogue.grids(number, parameters.resolve(number, "smoke"), item)[item]
    asked = sweep.cells(item, grid)
    stored = SimpleNamespace(records={cell.key(): Result(cell, [], {"seconds": 20.0}) for cell in asked[:2]})
    left = len(schedule.chunks({item.name: item}, asked[2:]))
    monkeypatch.setattr(changes.Results, "of", lambda study: stored)
    monkeypatch.setattr(changes.schedule, "recorded", lambda study: {})
    monkeypatch.setattr(changes.schedule, "seconds", lambda chunk: 3.0)
    assert left > 0 and changes._seconds(item, grid) == pytest.approx(2 * 20 + 3 * left)
    monkeypatch.setattr(changes.schedule, "recorded", lambda study: {"known": 3.0})
    every = len(schedule.chunks({item.name: item}, asked))
    assert changes._seconds(item, grid) == pytest.approx(3 * every), "what its cells take, where that is known"


def test_what_changes_a_figure_and_what_its_studies_take():
    found = changes.changes("05")
    curves = found["fig-c-rate"]
    assert [knob.name for knob in curves.knobs] == ["curve_rho", "curve_depth"]
    assert [study.name for study in curves.studies] == ["depth.normalised_kernel"]
    assert 1 < found["fig-c-deep"].seconds < 600
    assert not found["fig-sketch-cobweb"].knobs and not found["fig-sketch-cobweb"].studies
    assert curves.of({"curve_rho"}) and curves.of({"05.normalised_kernel.main.seeds"})
    assert not curves.of({"tab2_n", "05.near_duplicates.main.gap"})
    laws = found["fig-c-laws"]
    assert [knob.name for knob in laws.knobs] == ["corpus"] and laws.of(["05.sphere_laws.main.n"])
    assert laws.of(["05.deep_prediction.balanced.n"]), "the others extend it"


def test_a_design_that_a_figure_does_not_show_does_not_change_it():
    found = changes.changes("07", ["fig-e-map", "fig-e-net"])
    assert found.keys() == {"fig-e-map", "fig-e-net"}
    assert "net_d" not in [knob.name for knob in found["fig-e-map"].knobs], "its design has sizes of its own"
    assert "net_d" in [knob.name for knob in found["fig-e-net"].knobs]
    assert not found["fig-e-net"].of(["07.departure.map.d"]) and found["fig-e-map"].of(["07.departure.map.d"])


@pytest.mark.parametrize("number", parameters.chapters())
def test_the_command_below_a_figure_changes_it_and_says_how(number):
    """Each figure that depends on anything has one; its values are none of the book's, used, and possible."""
    found = changes.changes(number)
    shown = {label for label, change in found.items() if label.startswith("fig-") and (change.knobs or change.designs)}
    assert changes.examples(number).keys() == shown
    usual = parameters.resolve(number)
    for label in shown:
        sets, see = found[label].example
        values = parameters.resolve(number, "laptop", sets)
        assert len(sets) < 3 and len(see.split()) > 3 and see.endswith((".", "?")), label
        for name in sets:
            assert values[name] != usual.get(name) and found[label].of([name]), (label, name)
        for study in found[label].studies:
            catalogue.grids(number, values, study)


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("number", parameters.chapters())
def test_a_knob_has_three_to_five_choices_whose_cells_are_stored_or_cheap(number):
    """One is the book's; each of the others changes a parameter of the figure, and computes for seconds at most."""
    knobs, own = changes.knobs(number), {one.function.__name__: one for one in catalogue.of(number).values()}
    assert 1 <= len(knobs) <= 2, "the key figures of each chapter have one"
    found, every = changes.changes(number, knobs), figures.figures(number)
    for label, knob in knobs.items():
        names, sets, said = zip(*((one["name"], one.get("sets", {}), one["see"]) for one in knob["choices"]))
        assert 3 <= len(names) <= 5 and sets.count({}) == 1, label
        assert len({*names}) == len({*said}) == len(names) and all(see.endswith((".", "?")) for see in said), label
        for one in filter(None, sets):
            values = parameters.resolve(number, "laptop", one)
            assert all(found[label].of([name]) for name in one), (label, one)
            for name, designs in figures.designs_asked(every[label].code).items():
                asked = catalogue.asked(number, own[name], values)
                drawn = set().union(*(asked.designs[design] for design in designs & asked.designs.keys()))
                left = [cell for cell in asked.new if cell.key() in drawn]
                assert sum(map(schedule.seconds, schedule.chunks({own[name].name: own[name]}, left))) < 4, one


GOOD = 'sets = {d = 3}\nsee = "It moves."\n'


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("see = 'It moves.'", "[99.fig-y] must hold sets (a table), see (text): sets is missing"),
        ("sets = 3\nsee = 'It moves.'", "[99.fig-y] must hold sets (a table), see (text): sets is"),
        ("sets = {d = 3}\nse = 'It moves.'", "[99.fig-y] must hold sets (a table), see (text): see is"),
        (GOOD + "more = 1", "[99.fig-y] must hold sets (a table), see (text): more is missing, unknown"),
        (GOOD + "knob = 3", "[99.fig-y.knob] must hold turns (text), choices (a list): turns is"),
        (GOOD + "knob.turns = 'd'", "[99.fig-y.knob] must hold turns (text), choices (a list): choices is"),
        (GOOD + "knob = {turns = 'd', choices = ['3']}", "[99.fig-y.knob.choices] must hold name (text)"),
        (GOOD + "knob = {turns = 'd', choices = [{name = '3', set = {d = 3}, see = 'a'}]}", "see (text): set is"),
        (GOOD + "knob = {turns = 'd', choices = [{name = 3, see = 'a'}]}", "see (text): name is"),
    ],
)
def test_a_malformed_table_of_changes_gets_one_line(mini_book, written, words):
    (mini_book / "chapters" / "changes.toml").write_text(f"[99.fig-y]\n{written}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        changes.knobs("99")
    assert str(caught.value).startswith("changes.toml, [99.fig-y") and words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_whole_table_of_changes_is_read(mini_book):
    knob = "knob = {turns = 'd', choices = [{name = '3', sets = {d = 3}, see = 'a'}, {name = '2', see = 'b'}]}"
    (mini_book / "chapters" / "changes.toml").write_text(f"[99.fig-y]\n{GOOD}{knob}\n", encoding="utf-8")
    assert changes.examples("99")["fig-y"] == changes.Example({"d": 3}, "It moves.")
    assert "sets" not in changes.knobs("99")["fig-y"]["choices"][1], "the book's own"


def test_a_command_survives_make_and_the_shell():
    """Inside ``PARAMS='...'``: a list is one word, and its names are in double quotes."""
    sets = {"a": 1e-6, "b": [1, 2.5], "c": "erf(x/√2)", "d": ["sin", "He1+He3"], "05.x.y.z": "digits"}
    said = views.command(changes.Example(sets, "Look."))
    words = shlex.split(shlex.split(f"make PARAMS='{said}'")[1].removeprefix("PARAMS="))
    assert words[1::3] == [*sets] and words[::3] == ["-p"] * 5
    assert [cli._literal(word) for word in words[2::3]] == [*sets.values()]


TYPED = """\
@study(version=1)
def averages(setting: Counted, seeds): ...
# %%
rows = chapter.rows(averages, "large")
chapter.figure(plt.figure(), "fig-typed", rows)
"""
TYPED_DESIGNS = """
[averages]
main.n = "$size"
main.seeds = 2
large = {extends = "main", seeds = 3}
small = {extends = "main", n = "$sizes"}
"""


def test_a_figure_follows_the_designs_of_studies_that_its_page_types(mini_book):
    page = mini_book / "chapters" / "99_mini.py"
    page.write_text(page.read_text(encoding="utf-8") + "# %%\n" + TYPED, encoding="utf-8")
    designs = mini_book / "chapters" / "designs" / "99.toml"
    designs.write_text(designs.read_text(encoding="utf-8") + TYPED_DESIGNS, encoding="utf-8")
    found = changes.changes("99", ["fig-typed"])["fig-typed"]
    assert {*found.designs} == {"averages.large", "averages.main"}
    assert {knob.name for knob in found.knobs} == {"size"} and not found.studies
    entries = ["99.averages.main.n", "99.averages.large.seeds"]
    assert runner._asked("99", "fig-typed", ["size", *entries]) == {}
    assert not found.of(["99.averages.small.n"])


def test_help_says_which_figures_a_design_feeds():
    text = describe.describe("03")
    assert all(len(line) <= 120 for line in text.partition("Designs and")[2].splitlines()[1:])
    words = " ".join(text.split())
    for size in ("laptop", *parameters.SIZES):  # lists are whole: a reader copies and changes them
        for name, value in parameters.designs("03", size).items():
            assert f"{name.rpartition('.')[2]}={value}" in words, (size, name)
    assert re.search(r"^ensembles\.slices +fig-b-4, .*fig-b-8d", text, re.M)
    assert "-p kernels.widths.seeds" in text
    found = changes.changes("03")
    feeds = figures.figures_of_designs("03")
    for design, labels in feeds.items():
        assert all(found[label].of([f"03.{design}.seeds"]) for label in labels), design


def test_a_figure_shows_the_designs_that_its_claims_rest_on():
    feeds, judged = figures.figures_of_designs("03"), 0
    for claim in claims.claims_of("03"):
        for wanted in claim.tables.values():
            if isinstance(wanted, Design) and claim.figure:
                assert claim.figure in feeds[f"{wanted.study.function.__name__}.{wanted.name}"], claim.id
                judged += 1
    assert judged > 20


@pytest.mark.parametrize("number", parameters.chapters())
def test_designs_hold_as_many_values_as_their_figures_need(number):
    own = {study.function.__name__: study for study in catalogue.of(number).values()}
    for profile in parameters.PROFILES:
        runner._needs_values(number, parameters.resolve(number, profile), own.values(), None)


def test_a_page_shows_the_designs_of_its_figures():
    found = changes.changes("03")
    labels = [label for label, one in figures.figures("03").items() if one.page.stem == "03_lazy_jamming"]
    shown = runner._asked("03", "03_lazy_jamming", [])
    assert {study: {*designs} for study, designs in shown.items()} == {
        study: {name for label in labels for name in found[label].shown.get(study, ())}
        for study in {study for label in labels for study in found[label].studies}
    }
    assert len(labels) > 2 and len(shown) < len(catalogue.of("03"))


@pytest.mark.usefixtures("read_once")
def test_a_design_that_a_figure_cannot_draw_is_refused_before_anything_is_computed(capsys, monkeypatch):
    monkeypatch.setattr(runner.schedule, "fill", lambda *given: pytest.fail("computed"))
    for more in ([], ["--figure", "fig-b-8d"]):
        with pytest.raises(SystemExit):
            runner.main(["03", "-p", "slices.h", "[4]", *more])
        assert re.search(
            r"03\.ensembles\.slices\.h must hold 3 .*: .*fig-b-8d.* cannot be drawn", capsys.readouterr().err
        )


def test_a_list_that_one_setting_holds_needs_its_values_too(capsys):
    with pytest.raises(SystemExit):
        runner.main(["06", "-p", "scales", "[0.1, 1.0]", "--check"])
    assert "06.correlations.isotropic.scales must hold 3 or more values" in capsys.readouterr().err


@pytest.mark.parametrize("number", parameters.chapters())
def test_the_designs_of_a_figures_claims_are_those_that_they_are_measured_on(number):
    """Read from the text, as quickly as from the claims themselves, whose modules take seconds to load."""
    measured = {}
    for claim in claims.claims_of(number):
        for one in claim.tables.values():
            study, design = (one.study, one.name) if isinstance(one, Design) else (one, "")
            measured.setdefault(claim.figure, {}).setdefault(study.function.__name__, set()).add(design)
    assert {label: figures.designs_judged(number, label) for label in measured} == measured
