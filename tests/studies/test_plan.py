"""What a profile would take: laws of known exponents are found, and the page shows what the laws give."""

import contextlib
import math
import re

import numpy as np
import pytest

from companion import paths
from companion.data.images import WHOLE, shape
from companion.lab import catalogue, parameters, plan
from companion.lab.store import Cell, Store
from companion.studies import main
from regimes import devices, validate
from regimes.data import datasets
from regimes.validate import InputError

KNOWN = [
    ({"p": p, "h": h, "alpha": 1e-6, "d": 5}, 1e-6 * p**2 * h) for p in (16, 64, 256, 1024) for h in (10, 100, 1000)
]


def test_a_power_law_is_found_and_extrapolated():
    law = plan.fit_law(KNOWN)
    assert law({"p": 8192, "h": 5000, "alpha": 1e-6, "d": 5}) == pytest.approx(1e-6 * 8192**2 * 5000, rel=0.3)
    one = plan.fit_law(KNOWN[:1])
    assert one(KNOWN[0][0] | {"p": 32}) == pytest.approx(2 * KNOWN[0][1]), "a guess: the exponent 1"
    assert plan.fit_law([({"loss": "hinge"}, 2.0)])({"loss": "hinge"}) == pytest.approx(2.0), "of no size"


def test_an_overhead_does_not_hide_an_exponent():
    """Seconds that any cell takes make the power law of the smaller ones flat."""
    known = [({"p": p}, 0.5 + 1e-9 * p**3) for p in (50, 100, 200, 400, 800, 1600, 3200)]
    flat = np.polyfit(*np.log([(setting["p"], seconds) for setting, seconds in known[:-1]]).T, 1)
    assert np.exp(np.polyval(flat, np.log(3200))) < 0.2 * known[-1][1]
    assert plan.left_out(known) == pytest.approx(1, rel=0.3)


def test_a_size_that_hardly_varies_has_the_exponent_one():
    """Three cells of which one has somewhat fewer test points and took less: the fourth power would explain that."""
    law = plan.fit_law(
        [({"p": p, "test": n}, s) for p, n, s in ((25, 2000, 25.0), (800, 2000, 961.0), (1600, 1700, 627.0))]
    )
    assert law({"p": 800, "test": 4000}) == pytest.approx(2 * law({"p": 800, "test": 2000}))


def test_the_largest_cells_are_predicted_from_smaller_ones():
    assert plan.left_out(KNOWN) == pytest.approx(1, rel=0.2)
    dear = ({"p": 4096, "h": 1000, "alpha": 1e-6, "d": 5}, 1e6)  # no law of the others gives that
    assert plan.left_out([*KNOWN, dear]) == pytest.approx(1e-6 * 4096**2 * 1000 / 1e6, rel=0.2)
    assert math.isnan(plan.left_out(KNOWN[:5])) and math.isnan(plan.left_out(KNOWN[:1]))


def test_parts_add_where_a_power_law_multiplies():
    """Ten times the lines and ten times the test points are not a hundred times the cell."""
    parts = "1e-8 p^2 h + 1e-6 lines h shares + 1e-7 test h"

    def took(setting):
        flow = 1e-8 * setting["p"] ** 2 * setting["h"] + 3e-6 * setting["lines"] * setting["h"]
        return 2.0 * (flow + 1e-7 * setting["test"] * setting["h"]) * (3.0 if setting["loss"] == "square" else 1.0)

    small = {"lines": 300, "test": 10_000, "shares": [0.1, 0.5, 1.0], "h": 500}
    known = [small | {"p": p, "loss": loss} for p in (128, 512, 2048) for loss in ("hinge", "square")]
    measured = [(setting, took(setting)) for setting in known]
    far = known[-1] | {"lines": 3000, "test": 100_000, "p": 8192, "h": 10_000}
    assert plan.fit_law(measured, parts)(far) == pytest.approx(took(far), rel=0.05)
    assert plan.fit_law(measured)(far) > 5 * took(far)


@pytest.mark.parametrize("name", plan.parts_of_studies())
def test_the_parts_are_those_of_a_study_that_there_is(name):
    axes = {*catalogue.find(name)[1].grid.axes, "frozen", "shares"}
    terms = plan.parts_of_studies()[name].split(" + ")
    assert {size.partition("^")[0] for term in terms for size in term.split()[1:]} <= axes


def test_images_that_are_not_here_are_planned_as_fetched(monkeypatch, capsys):
    monkeypatch.setenv("REGIMES_DATA", "")
    images, found = shape("mnist"), plan.of_chapter("03", "paper")
    own = {one.study.name: one for one in found[0]}
    cusp, starts = own["rest.peak_at_jamming"], own["jamming.initialisation"]
    assert not found[1] and "must be at most 5000, the images of mnist" in cusp.to_fetch and sum(cusp.seconds) > 1800
    assert not starts.to_fetch and shape("mnist") == images
    said = plan.cost_table({"03": found}).splitlines()
    assert [line for line in said if "`rest.peak_at_jamming` \\* | " in line]
    assert any(line.endswith("first.") for line in said)
    monkeypatch.setattr(plan, "of_chapter", lambda number, profile, *given: {("03", "paper"): found}[number, profile])
    assert main(["plan", "03", "--profile", "paper"]) == 0 and capsys.readouterr().out.splitlines() == said
    for name, (words, _) in WHOLE.items():
        with contextlib.suppress(InputError):
            assert words == datasets.identity(name) or name == "mnist"


def test_the_page_shows_the_whole_paper_profile_as_it_is_now():
    """``make publish-ledger`` writes the table; times follow the stored results, cells and memory the parameters."""
    lines = (paths.results() / "plan.md").read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|")[1:-1]] for line in lines]
    of_studies = {found[1].split("`")[1]: found for found in parts if found and found[0].isdigit()}
    for number in parameters.chapters():
        values = parameters.resolve(number, "paper")
        for name, item in catalogue.of(number).items():
            chapter, _, cells, _, _, _, memory = of_studies.pop(name)
            assert chapter == str(int(number)), name
            try:
                grid = item.grid(values)
            except InputError:  # data that are not here
                continue
            bytes_asked = max(map(item.grid.memory, grid))
            gigabytes = f"{bytes_asked / 2**30:.1f} GiB" if bytes_asked > 2**28 else ""
            now = sum(len(setting["seeds"]) for setting in grid), gigabytes
            assert not cells.isdigit() or (int(cells), memory) == now, f"{name}: make publish-ledger"
    assert not of_studies
    count, close = map(int, re.search(r"Of (\d+) studies .* of (\d+) within a factor of two", lines[-1]).groups())
    assert count > 40 and close > 0.6 * count


def test_a_gpus_time_is_that_of_the_cells_a_gpu_computed(monkeypatch):
    _, item = catalogue.find("lazy_feature.networks")
    on_a_gpu = {"any": "cuda", "cpu": "cpu"}.get
    with monkeypatch.context() as before_any_ran_there:
        before_any_ran_there.setattr(devices, "kind", on_a_gpu)
        known, card = plan.measured_cells("01", item, [])
        assert known and not card  # the seconds of the CPU are what is known
    results = plan.Results(item)
    for key, one in results.finished.items():
        if one.cell.setting["p"] > 500:
            results.finished[key] = one._replace(provenance=one.provenance | {"seconds": 1.0, "class": "cuda"})
    monkeypatch.setattr(plan.Results, "of", lambda study: results)
    monkeypatch.setattr(devices, "kind", on_a_gpu)
    known, card = plan.measured_cells("01", item, [])
    assert card and {seconds for _, seconds in known} == {1.0} and min(one["p"] for one, _ in known) > 500
    one = plan.Plan(item, 1, 0, [7200.0], 0, math.nan)
    said = plan.cost_table({"01": ([one, one._replace(card=True, seconds=[3 * 3600.0])], {"other": "no data"})})
    assert "| 3 h of a GPU |" in said and "2 h on one core" in said and "Beside it 3 h of a GPU." in said
    assert "| 1 | `other` | `no data` |" in said and "?" in plan.cost_table(
        {"01": ([one._replace(seconds=[math.nan])], {})}
    )


def test_recorded_seconds_are_of_settings_that_are_not_stored(monkeypatch):
    """Of those that are stored the stored cells tell, whatever a run of this machine recorded."""
    _, item = catalogue.find("lazy_feature.networks")
    new = {"p": 600, "seeds": [0, 1]}
    key = Cell(item.name, item.version, {"p": 600}, 0).key(seed=False)
    kept = next(iter(plan.Results.of(item).settings))
    monkeypatch.setattr(plan.schedule, "recorded", lambda study: {key: 1e6, kept: 1e6})
    known, _ = plan.measured_cells("01", item, [new])
    assert [setting for setting, seconds in known if seconds == 1e6] == [{"p": 600}]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.5, "0.5 s"), (59.9, "60 s"), (60, "1 min"), (99, "1.6 min"), (3599, "60 min"), (3600, "1 h"),
        (9000, "2.5 h"), (3600 * 99.4, "99 h"), (3600 * 99.5, "100 h"), (3600 * 1234, "1234 h"), (math.nan, "?"),
    ],
)  # fmt: skip
def test_times_are_said_in_the_unit_of_their_size(seconds, said):
    assert plan.in_words(seconds) == said


def test_memory_is_asked_for_and_not_refused():
    with validate.memory_asked() as asked:
        validate.memory(10**18, "a universe")
    assert asked == [(10**18, "a universe", "cpu")]
    with pytest.raises(InputError, match="a universe"):
        validate.memory(10**18, "a universe")


def test_stored_are_the_cells_that_a_run_finds(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path))
    found = {one.study.name: one for one in plan.of_chapter("05", "laptop")[0]}
    kept, fresh = found["depth.operator_distances"], found["depth.colinear_points"]
    assert 0 < kept.stored < kept.cells and fresh.stored == 0  # but for the sample that is computed again
    setting = fresh.study.grid(parameters.resolve("05"))[0]
    own = {k: v for k, v in setting.items() if k != "seeds"}
    made = {"device": "", "class": "cpu", "revision": "", "versions": {}, "seconds": 1.0, "digest": ""}
    cell = Cell(fresh.study.name, fresh.study.version, own, setting["seeds"][0])
    Store.default().save((cell, [{"seed": cell.seed}], made))
    assert {one.study.name: one.stored for one in plan.of_chapter("05", "laptop")[0]}["depth.colinear_points"] == 1
    assert main(["plan", "05", "--profile", "smoke"]) == 0
    said = capsys.readouterr().out
    assert all(f"`{name}`" in said for name in catalogue.of("05")) and "cells are to be computed" in said
    with pytest.raises(SystemExit, match="2"):
        main(["plan", "77"])
    assert capsys.readouterr().err.startswith("error: chapter must be one of")
