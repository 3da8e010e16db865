"""Provenance of rows: after filters, concat and merge exactly that of the rows left; lost and unknown cells refused."""

import pandas as pd
import pytest

from companion.lab import table as module
from companion.lab.record import record
from companion.lab.store import Store
from companion.lab.sweep import study, sweep
from companion.lab.table import names_cell, provenance, sources
from regimes.validate import InputError
from tests.sizes import Size


@record
class Named(Size):
    """A size, and a word beside it."""

    k: str


@study(version=1, data="counted")
def one(setting: Named, seeds):
    return [{"seed": s, "t": t, "x": setting.n * t} for s in seeds for t in (1, 2)]


@study(version=1)
def other(setting: Size, seeds):
    return [{"seed": s, "y": setting.n, "source": f"drawn at n = {setting.n}"} for s in seeds]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("cells"))
    first = sweep(one, one.grid.of(n=[1, 2, 3], k="a", seeds=2), store=store, jobs=1)
    return first, sweep(other, other.grid.of(n=[1, 2], seeds=3), store=store, jobs=1)


def test_a_table_has_the_provenance_of_its_cells_each_counted_once(tables):
    first, _ = tables
    found = provenance(first)
    assert len(first) == 12 and len(found.cells) == 6 == len(set(first.cell))
    assert found.seconds == pytest.approx(first.groupby("cell").seconds.first().sum())  # two rows a cell, one time
    assert found.axes() == ({"n": [1, 2, 3]}, {"k": ["a"]}, [2]) and found.data == ("counted",)
    assert found.settings == ({"study": one.name, "values": {"k": ["a"], "n": [1, 2, 3]}, "seeds": 2},)
    assert found.device == first.device[0] and found.revision == first.revision[0]
    assert {"numpy", "python"} <= set(found.versions)
    assert provenance(first, first) == found


def test_a_filter_leaves_the_provenance_of_its_rows(tables):
    first, _ = tables
    rows = first[(first.n >= 2) & (first.seed == 1) & (first.t == 1)]
    found = provenance(rows)
    assert found.cells == tuple(sorted(rows.cell)) and len(found.cells) == 2
    assert found.axes() == ({"n": [2, 3]}, {"k": ["a"]}, [1])
    assert found.seconds == pytest.approx(rows.seconds.sum()) and found.seconds < provenance(first).seconds


def test_concat_and_several_tables_join_their_provenance(tables):
    first, second = tables
    both = provenance(pd.concat([first, second]))
    assert both.cells == provenance(first, second).cells and len(both.cells) == 12
    assert [setting["study"] for setting in both.settings] == sorted([one.name, other.name])
    assert both.axes()[2] == [2, 3] and both.axes()[0] == {"n": [1, 2, 3]}
    assert provenance(first, second).data == ("counted", "drawn at n = 1", "drawn at n = 2")


def test_merge_keeps_the_cells_of_both_sides(tables):
    first, second = tables
    merged = first.merge(second, on=["n", "seed"])
    assert {"cell_x", "cell_y"} <= set(merged.columns) and "cell" not in merged
    found = provenance(merged)
    assert set(found.cells) == set(merged.cell_x) | set(merged.cell_y) and len(found.cells) == 8
    outer = first.merge(second, on=["n", "seed"], how="outer")  # one side of a row may be missing
    assert len(provenance(outer).cells) == 12


def test_the_data_are_those_of_the_rows(tables):
    first, second = tables
    assert sources(second[second.n == 2]) == ["drawn at n = 2"] and sources(first) == ["counted"]


def test_averages_rows_without_cells_and_unknown_cells_are_refused(tables):
    first, _ = tables
    with pytest.raises(InputError, match="has no column 'cell': pass the rows of the sweep, not their averages"):
        provenance(first.groupby("n", as_index=False)["x"].mean())
    with pytest.raises(InputError, match="holds no row"):
        provenance(first[first.n > 5])
    with pytest.raises(InputError, match="with the columns none holds no row"):
        provenance(pd.DataFrame())
    lost = first.copy()
    lost.loc[[0, 3], "cell"] = None
    with pytest.raises(InputError, match=r"^2 rows of a table name no cell$"):
        provenance(lost)
    lost.loc[[0, 3], "cell"] = "made up"
    with pytest.raises(InputError, match="names the cell 'made up', which no sweep of this process has returned"):
        provenance(lost)


@pytest.mark.parametrize("name", ["cell", "cell_x", "seconds", "device", "revision"])
def test_names_that_a_table_adds_are_reserved(tmp_path, name):
    @study(version=1)
    def taken(setting: Size, seeds):
        return [{"seed": 0, name: 1}]

    with pytest.raises(InputError, match=f"names a setting or column '{name}'"):
        sweep(taken, taken.grid.of(n=1, seeds=1), store=Store(tmp_path), jobs=1)
    with pytest.raises(InputError, match=f"names a setting or column '{name}'"):
        sweep(one, [{name: 1, "seeds": [0]}], store=Store(tmp_path), jobs=1)
    assert names_cell("cell") and names_cell("cell_left") and not names_cell("cells") and not names_cell("x_cell")


def test_distinct_sorts_what_can_be_sorted_and_keeps_the_order_of_the_rest():
    assert module.distinct([3, 1, 3, 2]) == [1, 2, 3] and module.distinct(["b", 1, "b", [2]]) == ["b", 1, [2]]


@record
class Switched(Size):
    """A size, and a switch."""

    drawn: bool


@study(version=1)
def switched(setting: Switched, seeds):
    return [{"seed": s, "y": setting.n} for s in seeds]


def test_a_switch_is_no_axis_but_is_told_where_it_is_the_same_throughout(tmp_path):
    rows = sweep(switched, switched.grid.of(n=[1, 2], drawn=[False, True], seeds=1), store=Store(tmp_path), jobs=1)
    assert provenance(rows).axes()[:2] == ({"n": [1, 2]}, {})
    assert provenance(rows[rows.drawn]).axes()[:2] == ({"n": [1, 2]}, {"drawn": [True]})
