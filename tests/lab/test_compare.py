"""Rows compared column by column: tolerances, and samples whose false alarms and detections are counted."""

import functools
import math

import numpy as np
import pytest

from companion.lab import compare
from companion.lab.compare import FEWEST, differences, telling
from companion.lab.store import Cell
from companion.lab.sweep import STATISTICAL, study
from regimes.validate import InputError
from tests.sizes import Size

ROW = {"x": 1.0, "name": "a", "seconds_spent": 1.0, "list": [1.0, 2.0]}


def of(rtol=1e-6, **columns):
    @study(version=1, rtol=rtol, columns=columns)
    def made(setting: Size, seeds):
        return []

    return made


def cell(seed=0, **setting):
    return Cell("room.made", 1, setting, seed)


def said(one, other, item=None, **options):
    return differences(item or of(), {cell(): one}, {cell(): other}, **options)


def test_rows_within_the_tolerance_agree():
    assert not said([ROW], [ROW | {"x": 1 + 1e-9, "seconds_spent": 9.0}])
    assert not said([ROW], [ROW | {"x": np.float64(1.0), "list": np.array([1.0, 2.0])}])
    assert not said([ROW | {"x": math.nan}], [ROW | {"x": None}])  # as a table holds what is not there
    assert not said([ROW | {"x": math.inf}], [ROW | {"x": math.inf}])
    assert not said([{"x": 0.0}], [{"x": 1e-301}]) and not said([{"n": 1}], [{"n": 1.0 + 1e-9}])
    assert not said([{"a": {"b": [1.0, [2.0]]}}], [{"a": {"b": [1.0, [2.0]]}}])


CHANGES = [{"x": 1 + 1e-3}, {"x": math.nan}, {"x": None}, {"x": "1"}, {"x": math.inf}, {"name": "b"}, {"y": 1}]
CHANGES += [{"list": [1.0]}, {"list": [1.0, 2.1]}, {"list": [[1.0], 2.0]}, {"list": 1.0}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_every_change_is_named_whichever_side_it_is_on(change):
    for one, other in (([ROW], [ROW | change]), ([ROW | change], [ROW])):
        found = said(one, other)
        (column,) = change
        assert found and all(f"{column} is " in line and cell().key() in line for line in found)


def test_a_lost_column_another_number_of_rows_and_whole_numbers_are_compared():
    assert said([ROW], [{k: v for k, v in ROW.items() if k != "x"}])[0].endswith("x is 1 in row 1, computed empty")
    assert said([ROW], [ROW, ROW])[0].endswith(": 1 rows are stored, 2 computed")
    assert said([{"n": 1000000}], [{"n": 1000001}], of(1e-3)) and not said([{"n": 3}], [{"n": 3}])


def test_no_absolute_tolerance_hides_behind_a_relative_one():
    assert said([{"x": 0.0}], [{"x": 1e-12}]) and said([{"x": 1e-12}], [{"x": 2e-12}])
    assert not said([{"x": 1e-13, "y": 1.0}], [{"x": -2e-13, "y": 1.0}], of(x=(1e-6, 1e-12)))
    assert said([{"x": 1e-13, "y": 1e-13}], [{"x": -2e-13, "y": 2e-13}], of(x=(1e-6, 1e-12)))


def test_a_column_has_the_tolerance_that_it_declares():
    item = of(1e-3, x=1e-9, y=0.1)
    row = {"x": 1.0, "y": 1.0, "z": 1.0}
    assert not said([row], [row | {"y": 1.05, "z": 1.0005}], item)
    assert [line.split(": ")[1][0] for line in said([row], [{"x": 1 + 1e-6, "y": 1.2, "z": 1.01}], item)] == list("xyz")


@pytest.mark.parametrize("tolerance", [0, -1.0, "loose", (1e-3,), (1e-3, 0.0), math.nan, True])
def test_what_is_no_tolerance_is_one_line(tolerance):
    with pytest.raises(InputError, match=r"^the tolerance of x must be above 0, a pair or STATISTICAL, got"):
        of(x=tolerance)


CHAOS, SEEDS, SETTINGS = 0.3, 40, 4
DRAWN = of(error=STATISTICAL, end=STATISTICAL, values=STATISTICAL)


def stored_rows(rng, spread=0.5):
    """Two rows a cell whose late numbers vary by factors from one realisation to the next."""
    found = {}
    for n in range(SETTINGS):
        for seed in range(SEEDS):
            size = 10.0**n * np.exp(spread * rng.normal(size=2))
            word = rng.choice(["zero loss", "jammed", "round-off"], p=[0.6, 0.3, 0.1])
            found[cell(seed, n=n)] = [
                {"t_star": 3.0 + seed, "error": float(e), "end": str(word), "values": [float(e), 1.0]} for e in size
            ]
    return found


def on_another_processor(rng, rows, chaos=CHAOS, turned=0.1):
    """The same rows as round-off of another processor leaves them: independently for stored and fresh."""

    def again(row):
        word = rng.choice(["zero loss", "jammed", "round-off"]) if rng.random() < turned else row["end"]
        error = row["error"] * math.exp(chaos * rng.normal())
        return row | {"error": error, "end": str(word), "values": [error, 1.0]}

    return {cell: [again(row) for row in found] for cell, found in rows.items()}


def forged(rows, change):
    return {cell: [row | change(row) for row in found] for cell, found in rows.items()}


def some(rng, rows, count):
    cells = list(rows)
    return {cells[i]: rows[cells[i]] for i in rng.choice(len(cells), count, replace=False)}


@functools.cache
def on_two_processors(seed, chaos=CHAOS):
    """A table as two processors compute it."""
    rng = np.random.default_rng(seed)
    truth = stored_rows(rng)
    return on_another_processor(rng, truth, chaos), on_another_processor(rng, truth, chaos)


@pytest.mark.parametrize("chaos", [1e-9, 0.01, 0.3, 1.0])
@pytest.mark.parametrize("count", [1, 8, 60])
@pytest.mark.parametrize("often", [15, pytest.param(60, marks=pytest.mark.weekly)])
def test_round_off_of_another_processor_is_no_alarm(chaos, count, often):
    """At most one in a thousand comparisons may be: sixty of each kind show none."""
    rng = np.random.default_rng(0)
    alarms = 0
    for seed in range(often):
        there, here = on_two_processors(seed, chaos)
        alarms += bool(differences(DRAWN, there, some(rng, here, count)))
    assert alarms == 0


def test_a_word_alarms_in_one_cell_if_no_stored_row_of_its_column_has_it():
    ends = ["zero loss", "jammed", math.nan]
    rows = {cell(seed): [{"end": end}, {"end": end}] for seed, end in enumerate(ends)}
    for word in ("jammed", math.nan):  # rare, and two draws in a row may be
        assert not differences(DRAWN, rows, {cell(0): [{"end": word}, {"end": word}]})
    for word in ("forged", 1.0):
        assert differences(DRAWN, rows, {cell(0): [{"end": word}, {"end": word}]})
    full = {one: rows[one] for one in (cell(0), cell(1))}
    assert differences(DRAWN, full, {cell(0): [{"end": math.nan}, {"end": math.nan}]})


@pytest.mark.parametrize("columns", [pytest.param(1, marks=pytest.mark.weekly), 20])
@pytest.mark.parametrize("cells", [12, pytest.param(40, marks=pytest.mark.weekly)])
@pytest.mark.parametrize(("draws", "off"), [(500, 0.03), pytest.param(2000, 0.015, marks=pytest.mark.weekly)])
def test_the_chance_of_a_lean_is_exact_for_differences_of_any_distribution(cells, columns, draws, off, monkeypatch):
    """In many draws a chance of 5 % or less comes to 5 %, for one column and for many that depend on each other."""
    monkeypatch.setattr(compare, "TURNS", 99)  # drawn from 7 cells on
    rng = np.random.default_rng(1)
    for scale in (np.ones(cells), np.exp(2 * rng.normal(size=cells))):
        drawn = rng.normal(size=(draws, cells, 1)) + 0.5 * rng.normal(size=(draws, cells, columns))
        smallest = [compare.chances(one * scale[:, None]).min() for one in drawn]
        assert abs(np.mean(np.array(smallest) <= 0.05) - 0.05) <= off


def test_the_chance_of_few_cells_is_counted_over_all_turns():
    one = np.array([[1.0], [2.0], [3.0]])  # sums 6, 4, 2, 0 with either sign
    assert compare.chances(one)[0] == 2 / 8 and compare.chances(np.array([[1.0], [2.0], [-3.0]]))[0] == 1.0
    both = np.concatenate([one, [[-1.0], [2.0], [3.0]]], axis=1)
    assert compare.chances(both).tolist() == [4 / 8, 4 / 8]  # each leans as far under a turn of its own
    assert compare.chances(np.ones((12, 3))).tolist() == [2 / 2**12] * 3


@pytest.mark.parametrize(
    ("change", "count"),
    [
        (lambda row: {"error": 1.5 * row["error"]}, 60),
        (lambda row: {"error": row["error"] / 1.5}, 60),
        (lambda row: {"values": [1.5 * row["values"][0], 1.0]}, 60),
        (lambda row: {"values": [row["values"][0]]}, 60),
        (lambda row: {"error": 0.123}, 8),
        (lambda row: {"error": 1e6 * row["error"]}, 4),
        (lambda row: {"error": -row["error"]}, 60),
        (lambda row: {"error": math.nan}, 1),
        (lambda row: {"end": "forged"}, 1),
        (lambda row: {"end": "zero loss"}, 120),
        (lambda row: {"t_star": 1.5 * row["t_star"]}, 1),
        (lambda row: {"t_star": row["t_star"] + 1e-4}, 1),
    ],
    ids="x1.5 /1.5 list short constant x1e6 sign empty word words exact bit".split(),
)
def test_a_forged_column_is_found(change, count):
    """Of 50 forged tables at least 49, at the round-off that trained networks show."""
    rng, found = np.random.default_rng(2), 0
    for seed in range(50):
        there, here = on_two_processors(seed)
        found += bool(differences(DRAWN, forged(there, change), some(rng, here, count)))
    assert found >= 49


def test_where_numbers_repeat_a_single_cell_shows_a_factor():
    rows = stored_rows(np.random.default_rng(3))
    there = forged(rows, lambda row: {"error": 1.5 * row["error"]})
    one = cell(0, n=0)
    assert not differences(DRAWN, there, {one: rows[one]})
    assert not differences(DRAWN, rows, {one: rows[one]}, repeated=[one])
    found = differences(DRAWN, there, {one: rows[one]}, repeated=[one])
    assert found and all("error is " in line and "n = 0, seed = 0" in line for line in found)


def test_a_shift_says_how_large_it_is_and_a_tiny_one_of_one_sign_is_none():
    rows = stored_rows(np.random.default_rng(4))
    there = forged(rows, lambda row: {"error": row["error"] / 1.5})
    assert differences(DRAWN, there, rows) == ["error: over 160 cells the mean difference is +40% of what is stored"]
    near = forged(rows, lambda row: {"error": row["error"] * (1 + 1e-4)})  # another library's last digits, all upwards
    assert not differences(DRAWN, near, rows)


def test_a_cell_shows_a_factor_in_the_statistical_columns_that_hold_a_number_other_than_zero():
    row = {"x": 0.0, "error": 1.0, "end": "jammed", "values": [0.0, 0.0], "other": math.nan}
    assert telling(DRAWN, [row]) == {"error"} and telling(of(), [row]) == set()
    assert telling(DRAWN, [row, {"values": [0.0, -1e-9]}]) == {"error", "values"}
    rows = {cell(seed): [row | {"values": [[2.0], -1.0]}] for seed in range(FEWEST)}
    assert not differences(DRAWN, rows, rows) and not differences(DRAWN, rows, rows, forged="end")
    for column in ("error", "values"):
        found = differences(DRAWN, rows, rows, forged=column)[-1]
        assert found == f"{column}: over 12 cells the mean difference is -40% of what is stored"
    below = {one: [{"error": -1.0}] for one in rows}
    assert differences(DRAWN, below, below, forged="error")[0].startswith("error: over 12 cells the mean difference is")


def test_how_few_cells_tell_a_factor():
    assert FEWEST == 12
    rows = {cell(seed): [{"error": 1.0}] for seed in range(40)}
    twice = forged(rows, lambda row: {"error": 1.5})
    item, count = of(error=STATISTICAL), FEWEST
    few = {key: rows[key] for key in list(rows)[: count - 1]}
    assert not [line for line in differences(item, twice, few) if "mean difference" in line]
    assert differences(item, twice, {key: rows[key] for key in list(rows)[:count]})


def path_rows(rng, count, factor=1.0):
    """A flow's path, whose steps another processor chooses otherwise."""
    return [{"seed": 0, "t": factor * float(t), "moment": "path"} for t in 10 + rng.normal(size=count)]


def test_rows_that_differ_in_number_are_compared_by_their_means_where_all_they_hold_is_statistical():
    rng, item = np.random.default_rng(5), of(t=STATISTICAL, moment=STATISTICAL)
    stored = {cell(seed): path_rows(rng, 20) for seed in range(20)}
    fresh = {one: path_rows(rng, 19 + one.seed % 3) for one in stored}
    assert not differences(item, stored, fresh)
    tall = {one: path_rows(rng, 19 + one.seed % 3, 1.5) for one in stored}
    assert [line.partition(":")[0] for line in differences(item, stored, tall)] == ["t"]
    assert len(differences(of(t=STATISTICAL), stored, fresh)) == 13  # a word of the rows is not: refused
    first = cell(0)
    assert "20 rows are stored, 19 computed" in differences(item, stored, {first: fresh[first]}, repeated=[first])[0]
