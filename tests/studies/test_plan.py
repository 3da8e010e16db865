"""What a profile would take: laws of known exponents are found, what nobody measured is called a guess."""

import contextlib
import math

import numpy as np
import pytest

from companion import paths, studies
from companion.data.images import WHOLE, shape
from companion.lab import parameters, plan
from companion.lab.store import Cell, Store
from companion.lab.study import study
from companion.studies import main
from regimes import devices, validate
from regimes.data import datasets
from regimes.validate import InputError


@study(version=1, grid=lambda p: [])
def nothing(setting, seeds):
    """Nothing."""


def took(p, h, loss="hinge"):
    return 1e-6 * p**2 * h * (3.0 if loss == "square" else 1.0)


KNOWN = [
    ({"p": p, "h": h, "alpha": 1e-6, "loss": loss, "d": 5}, took(p, h, loss))
    for p in (16, 64, 256, 1024)
    for h in (10, 100, 1000)
    for loss in ("hinge", "square")
]


def test_a_power_law_is_found_and_extrapolated():
    law = plan.fit_law(KNOWN)
    for loss in ("hinge", "square"):
        far = {"p": 8192, "h": 5000, "alpha": 1e-6, "loss": loss, "d": 5}
        assert law.seconds(far) == pytest.approx(took(8192, 5000, loss), rel=0.3)


def test_one_cell_gives_a_law_of_few_exponents():
    law = plan.fit_law(KNOWN[:1])
    assert law.seconds(KNOWN[0][0]) == pytest.approx(KNOWN[0][1])
    assert law.seconds(KNOWN[0][0] | {"p": 32}) == pytest.approx(2 * KNOWN[0][1])  # a guess


def test_the_largest_cells_are_predicted_from_smaller_ones():
    dear = ({"p": 4096, "h": 1000, "alpha": 1e-6, "loss": "hinge", "d": 5}, 1e6)  # no law of the others gives that
    found = plan.left_out([*KNOWN, dear])
    assert found.sizes == {"p": 4096, "h": 1000} and found.seconds == 1e6
    assert found.predicted == pytest.approx(took(4096, 1000), rel=0.2)
    both = plan.left_out(KNOWN)
    assert both.seconds == pytest.approx((took(1024, 1000) + took(1024, 1000, "square")) / 2)
    assert both.predicted == pytest.approx(both.seconds, rel=0.2)
    assert plan.left_out(KNOWN[:5]) is None and plan.left_out([]) is None


def test_an_overhead_does_not_hide_an_exponent():
    """Seconds that any cell takes make the power law of the smaller ones flat."""
    known = [({"p": p}, 0.5 + 1e-9 * p**3) for p in (50, 100, 200, 400, 800, 1600, 3200)]
    flat = np.polyfit(*np.log([(setting["p"], seconds) for setting, seconds in known[:-1]]).T, 1)
    assert np.exp(np.polyval(flat, np.log(3200))) < 0.2 * known[-1][1]
    assert plan.left_out(known).predicted == pytest.approx(known[-1][1], rel=0.3)


def test_a_size_that_hardly_varies_has_the_exponent_one():
    """Three cells of which one has somewhat fewer test points and took less: the fourth power would explain that."""
    cells = (25, 2000, 25.0), (800, 2000, 961.0), (1600, 1700, 627.0)
    law = plan.fit_law([({"p": p, "test": test}, seconds) for p, test, seconds in cells])
    assert law.parts[1][1]["test"] == pytest.approx(1) and law.alike == {"test"}
    assert 0.2 < law.parts[1][1]["p"] < 2


PARTS = "1e-8 p^2 h + 1e-6 lines h shares + 1e-7 test h"


def parts_took(p, h, lines, test, loss="hinge"):
    flow, along, points = 1e-8 * p**2 * h, 1e-6 * lines * h * 3, 1e-7 * test * h
    return 2.0 * (flow + along + points) * (3.0 if loss == "square" else 1.0)


def test_parts_add_where_a_power_law_multiplies():
    """Ten times the lines and ten times the test points are not a hundred times the cell."""
    small = {"lines": 300, "test": 10_000, "shares": [0.1, 0.5, 1.0]}
    known = [
        (small | {"p": p, "h": 500, "loss": loss}, parts_took(p, 500, 300, 10_000, loss))
        for p in (128, 512, 2048)
        for loss in ("hinge", "square")
    ]
    far = {"lines": 3000, "test": 100_000, "shares": [0.1, 0.5, 1.0], "p": 8192, "h": 10_000}
    for loss in ("hinge", "square"):
        right = parts_took(8192, 10_000, 3000, 100_000, loss)
        assert plan.fit_law(known, PARTS).seconds(far | {"loss": loss}) == pytest.approx(right, rel=0.05)
    assert plan.fit_law(known).seconds(far | {"loss": "hinge"}) > 5 * parts_took(8192, 10_000, 3000, 100_000)


def test_a_cell_of_a_busy_machine_does_not_move_the_law():
    known = [({"p": p, "h": 500}, 1e-8 * p**2 * 500) for p in (64, 128, 256, 512, 1024, 2048)]
    known[0] = (known[0][0], 50.0)
    law = plan.fit_law(known, "1e-8 p^2 h")
    assert law.seconds({"p": 8192, "h": 500}) == pytest.approx(1e-8 * 8192**2 * 500, rel=0.1)


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("name", plan.PARTS)
def test_the_law_of_parts_predicts_cells_that_it_has_not_seen(name):
    number, item = studies.find(name)
    known, _ = plan._known(number, item, [])
    axes = set().union(*(setting for setting, _ in known))
    for _, powers in plan._terms(plan.PARTS[name]):
        assert {*powers} <= {*axes, "frozen", "shares"}, "an axis that the study does not have"
    found = plan.left_out(known, plan.PARTS[name])
    if found is not None:
        assert 0.5 < found.predicted / found.seconds < 2


def test_images_that_are_not_here_are_planned_as_fetched(monkeypatch, capsys, read_once):
    monkeypatch.setenv("REGIMES_DATA", "")
    images, found = shape("mnist"), plan.of_chapter("03", "paper")
    own = {one.study.name: one for one in found[0]}
    cusp, starts = own["rest.peak_at_jamming"], own["jamming.initialisation"]
    assert not found[1] and "must be at most 5000, the images of mnist" in cusp.to_fetch and cusp.hours > 1
    assert not starts.to_fetch and shape("mnist") == images
    said = plan.cost_table({"03": found}).splitlines()
    assert [line for line in said if "`rest.peak_at_jamming` \\* | 114 |" in line] and any(
        line.endswith("first.") for line in said
    )
    monkeypatch.setattr(plan, "of_chapter", lambda number, profile, *given: {("03", "paper"): found}[number, profile])
    assert main(["plan", "03", "--profile", "paper"]) == 0 and capsys.readouterr().out.splitlines() == said
    for name, (words, _) in WHOLE.items():
        with contextlib.suppress(InputError):
            assert words == datasets.identity(name) or name == "mnist"


def test_sizes_far_beyond_those_measured_are_guesses():
    for p, guessed in ((4096, ()), (8192, ("p",))):
        grid = [KNOWN[-1][0] | {"p": p, "seeds": [0]}]
        assert plan.plan(nothing, grid, KNOWN, set(), 0).guessed == guessed


def test_the_page_shows_the_whole_paper_profile_as_it_is_now():
    """``make publish-ledger`` writes the table; times follow the stored results, cells and memory the parameters."""
    lines = (paths.results() / "plan.md").read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|")[1:-1]] for line in lines]
    of_studies = {found[1].split("`")[1]: found for found in parts if found and found[0].isdigit()}
    for number in parameters.chapters():
        values = parameters.resolve(number, "paper")
        for name, item in studies.of(number).items():
            chapter, _, cells, _, _, _, memory, *_ = of_studies.pop(name)
            assert chapter == str(int(number)), name
            try:
                with validate.memory_asked() as asked:
                    grid = item.grid(values)
            except InputError:  # data that are not here
                continue
            if cells.isdigit():  # else they were not there
                now = sum(len(setting["seeds"]) for setting in grid), max(asked, default=0)
                assert (int(cells), memory) == (now[0], plan.in_gigabytes(now[1])), f"{name}: make publish-ledger"
    assert not of_studies


def test_largest_cells_of_nine_studies_in_ten_are_predicted_within_a_factor_of_five():
    lines = (paths.results() / "plan.md").read_text(encoding="utf-8").splitlines()
    ratios = [float(line.split("|")[-2]) for line in lines if line.startswith("| `")]
    assert len(ratios) == plan.SHOWN and sum(0.2 < ratio < 5 for ratio in ratios) >= 0.9 * plan.SHOWN
    assert 0.5 < np.median(ratios) < 2


def test_a_plan_counts_what_is_left_and_names_what_is_guessed():
    setting = KNOWN[-1][0] | {"d": 50}
    held = {Cell(nothing.name, 1, setting, 0).key()}
    found = plan.plan(nothing, [setting | {"seeds": range(4)}], KNOWN, held, 2**30)
    assert (found.cells, found.stored, found.memory, found.guessed) == (4, 1, 2**30, ("d",))
    assert found.longest == pytest.approx(10 * KNOWN[-1][1], rel=0.1) and found.hours == pytest.approx(
        3 * found.longest / 3600
    )
    whole = plan.plan(nothing, [setting | {"seeds": [0]}], KNOWN, held, 0)
    assert whole.hours == 0 and whole.longest == 0 and not whole.guessed
    unknown = plan.plan(nothing, [setting | {"seeds": [1]}], [], held, 0)
    assert math.isnan(unknown.hours) and "?" in plan.cost_table({"01": ([unknown], {})})


def test_a_gpus_time_is_that_of_the_cells_a_gpu_computed(monkeypatch):
    _, item = studies.find("lazy_feature.networks")
    with monkeypatch.context() as before_any_ran_there:
        before_any_ran_there.setattr(devices, "kind", {"any": "cuda", "cpu": "cpu"}.get)
        known, card = plan._known("01", item, [])
        assert known and not card  # the seconds of the CPU are what is known
    results = plan.Results(item)
    for key, one in results.records.items():
        if one.cell.setting["p"] > 500:
            results.records[key] = one._replace(provenance=one.provenance | {"seconds": 1.0, "class": "cuda"})
    monkeypatch.setattr(plan, "Results", lambda study: results)
    with monkeypatch.context() as on_a_gpu:
        on_a_gpu.setattr(devices, "kind", {"any": "cuda", "cpu": "cpu"}.get)
        known, card = plan._known("01", item, [])
        assert card and {seconds for _, seconds in known} == {1.0} and min(one["p"] for one, _ in known) > 500
    known, card = plan._known("01", item, [])
    assert not card and max(setting["p"] for setting, _ in known) < 513
    grid = [{"p": 600, "seeds": [0]}]
    one = plan.plan(item, grid, [], set(), 0)._replace(hours=2.0)
    lines = plan.cost_table({"01": ([one, one._replace(card=True, hours=3.0)], {})})
    assert "| 3 h of a GPU |" in lines and "2 h on one core" in lines and "Beside it 3 h of a GPU." in lines


def test_recorded_seconds_are_of_settings_that_are_not_stored(monkeypatch):
    """Of those that are stored the stored cells tell, whatever a run of this machine recorded."""

    class Recorded(dict):
        def get(self, key):
            return 1e6

        __getitem__ = get

    def known():
        found, _ = plan._known("01", item, [{"p": 600, "seeds": [0, 1]}])
        return {Cell(item.name, item.version, setting, 0).key(seed=False): seconds for setting, seconds in found}

    _, item = studies.find("lazy_feature.networks")
    monkeypatch.setattr(plan.schedule, "recorded", lambda study: {})
    stored = known()
    monkeypatch.setattr(plan.schedule, "recorded", lambda study: Recorded())
    now = known()
    assert now.items() > stored.items() and {now[key] for key in now.keys() - stored.keys()} == {1e6}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.5, "0.5 s"), (59.9, "60 s"), (60, "1 min"), (99, "1.6 min"), (3599, "60 min"), (3600, "1 h"),
        (9000, "2.5 h"), (3600 * 99.4, "99 h"), (3600 * 99.5, "100 h"), (3600 * 1234, "1234 h"), (math.nan, "?"),
    ],
)  # fmt: skip
def test_times_are_said_in_the_unit_of_their_size(seconds, said):
    assert plan.in_words(seconds / 3600) == said


def test_memory_is_said_from_a_quarter_of_a_unit_on():
    assert [plan.in_gigabytes(size * 2**26) for size in (0, 4, 5, 48)] == ["", "", "0.3 GiB", "3.0 GiB"]


def test_memory_is_asked_for_and_not_refused():
    with validate.memory_asked() as asked:
        validate.memory(10**18, "a universe")
    assert asked == [10**18]
    with pytest.raises(InputError, match="a universe"):
        validate.memory(10**18, "a universe")


def test_the_command_lists_every_study_of_a_chapter(capsys, read_once):
    assert main(["plan", "05", "--profile", "smoke"]) == 0
    said = capsys.readouterr().out
    assert all(f"`{name}`" in said for name in studies.of("05")) and "cells are to be computed" in said


def test_stored_are_the_cells_that_a_run_finds(tmp_path, monkeypatch, read_once):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path))
    found = {one.study.name: one for one in plan.of_chapter("05", "laptop")[0]}
    kept, fresh = found["depth.text_training"], found["depth.colinear_points"]
    assert 0 < kept.stored < kept.cells  # but for the sample that is computed again
    paper = {one.study.name: one for one in plan.of_chapter("05", "paper")[0]}
    assert fresh.stored == 0 and paper["depth.colinear_points"].stored == 0
    assert 0 < paper["depth.smallest_eigenvalue"].stored < paper["depth.smallest_eigenvalue"].cells  # in results/
    setting = fresh.study.grid(parameters.resolve("05"))[0]
    own = {k: v for k, v in setting.items() if k != "seeds"}
    made = {"device": "", "class": "cpu", "revision": "", "versions": {}, "seconds": 1.0, "digest": ""}
    cell = Cell(fresh.study.name, fresh.study.version, own, setting["seeds"][0])
    Store.default().save((cell, [{"seed": cell.seed}], made))
    assert {one.study.name: one.stored for one in plan.of_chapter("05", "laptop")[0]}["depth.colinear_points"] == 1


def test_an_unknown_chapter_is_one_line(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["plan", "77"])
    assert capsys.readouterr().err.startswith("error: chapter must be one of")
