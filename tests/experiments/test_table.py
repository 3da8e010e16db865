"""Provenance of rows: after filters, concat and merge exactly that of the rows left; lost and unknown cells refused."""

import dataclasses
import gzip
import json
import math

import numpy as np
import pandas as pd
import pytest

from companion.experiments import table as module
from companion.experiments.store import Store
from companion.experiments.sweep import product, study, sweep
from companion.experiments.table import names_cell, provenance, read_cells, rows_by_cell, sources, write_csv
from regimes.validate import InputError


def read_csv(path, *, version):
    """The rows of a table whose cells are all whole; InputError for the first that is not."""
    rows, origins, refused = read_cells(path, version=version)
    if refused:
        raise InputError(next(iter(refused.values())))
    module.remember({key: origin for key, origin in origins.items() if key not in module._ORIGINS})
    return rows


@study(version=1, grid=lambda p: product(n=[1, 2, 3], k=["a"], seeds=range(2)), data="counted")
def one(setting, seeds):
    return [{"seed": s, "t": t, "x": setting["n"] * t} for s in seeds for t in (1, 2)]


@study(version=1, grid=lambda p: product(n=[1, 2], seeds=range(3)))
def other(setting, seeds):
    return [{"seed": s, "y": setting["n"], "source": f"drawn at n = {setting['n']}"} for s in seeds]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("cells"))
    return sweep(one, one.grid({}), store=store, jobs=1), sweep(other, other.grid({}), store=store, jobs=1)


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
    @study(version=1, grid=lambda p: product(n=[1], seeds=[0]))
    def taken(setting, seeds):
        return [{"seed": 0, name: 1}]

    with pytest.raises(InputError, match=f"names a setting or column '{name}'"):
        sweep(taken, taken.grid({}), store=Store(tmp_path), jobs=1)
    with pytest.raises(InputError, match=f"names a setting or column '{name}'"):
        sweep(one, product(**{name: 1}, seeds=[0]), store=Store(tmp_path), jobs=1)
    assert names_cell("cell") and names_cell("cell_left") and not names_cell("cells") and not names_cell("x_cell")


def test_a_table_written_and_read_has_the_same_provenance(tables, tmp_path, monkeypatch):
    first, _ = tables
    found = provenance(first)
    write_csv(first, tmp_path / "one.csv")
    monkeypatch.setattr(module, "_ORIGINS", {})  # as in another process
    back = read_csv(tmp_path / "one.csv", version=1)
    assert provenance(back) == found and list(back.x) == list(first.x) and set(back) == set(first)
    assert provenance(back[back.n == 1]).axes()[1] == {"k": ["a"], "n": [1]}
    assert read_csv(tmp_path / "one.csv", version=2).empty  # its numbers are not those of the study as it is
    later = {key: dataclasses.replace(origin, seconds=100.0) for key, origin in module._ORIGINS.items()}
    monkeypatch.setattr(module, "_ORIGINS", later)  # as where a sweep has computed the cells anew
    assert provenance(read_csv(tmp_path / "one.csv", version=1)).seconds == 600
    (tmp_path / "one.cells.json.gz").unlink()
    with pytest.raises(
        InputError, match=r"^one.csv lies in .* without its one.cells.json.gz; take both files from git"
    ):
        read_csv(tmp_path / "one.csv", version=1)


def test_short_lists_are_kept_and_long_ones_left_out(tmp_path):
    @study(version=1, grid=lambda p: product(n=[1, 2], shape=[[3, 4]], seeds=range(2)))
    def listed(setting, seeds):
        many = list(range(module.LONG + 1))
        short = [{"seed": s, "few": [0.1, [None, s]], "many": many, "word": "a, b"} for s in seeds]
        return short + [{"seed": s, "x": 1 / 3} for s in seeds]

    table = sweep(listed, listed.grid({}), store=Store(tmp_path), jobs=1)
    write_csv(table, tmp_path / "l.csv", nonfinite=["few", "word", "x"])
    back = read_csv(tmp_path / "l.csv", version=1)
    assert set(table) - set(back) == {"many"} and back["shape"].tolist() == table["shape"].tolist()
    few, again = table.few.dropna(), back.few.dropna()
    assert list(few) == list(again) and back.x.isna().equals(table.x.isna()) and set(back.word.dropna()) == {"a, b"}


@study(version=1, grid=lambda p: product(n=[1, 2], seeds=range(3)))
def stored_ones(setting, seeds):
    """Two rows a cell: a number, a list, a word, a switch, and what may be infinite."""
    return [
        {"seed": s, "t": t, "x": (s + 1) / 3, "few": [s / 3, [t]], "word": "None", "on": bool(t), "needed": math.inf}
        for s in seeds
        for t in (0, 1)
    ]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A stored table, read by another process than the one that wrote it."""
    table = sweep(stored_ones, stored_ones.grid({}), store=Store(tmp_path / "cells"), jobs=1)
    write_csv(table, tmp_path / "s.csv", nonfinite=["needed"])
    monkeypatch.setattr(module, "_ORIGINS", {})
    return tmp_path / "s.csv"


def test_other_line_ends_are_named(files):
    files.write_bytes(files.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(InputError, match="its line ends were changed, as git does"):
        read_csv(files, version=1)


def told(path, change):
    """Changes what lies beside a table, as somebody with an editor would."""
    beside = path.with_suffix(module.BESIDE)
    held = json.loads(gzip.decompress(beside.read_bytes()))
    change(held)
    beside.write_bytes(gzip.compress(json.dumps(held).encode()))


def lines(change):
    """A change of the lines of the CSV file, the first of which names the columns."""
    return lambda path: path.write_text("".join(f"{line}\n" for line in change(path.read_text().split("\n")[:-1])))


def first_cell(change):
    return lambda path: told(path, lambda held: change(next(iter(held["cells"].values()))))


def cut_gz(path):
    beside = path.with_suffix(module.BESIDE)
    beside.write_bytes(beside.read_bytes()[:-20])


def flip_gz(path):
    beside, raw = path.with_suffix(module.BESIDE), path.with_suffix(module.BESIDE).read_bytes()
    beside.write_bytes(raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 255]) + raw[len(raw) // 2 + 1 :])


ROWS = r"cell [0-9a-f]{24} \(.*\): its rows, or where they come from, were changed"
ORIGIN = "cell [0-9a-f]{24}: where it comes from is damaged"
DAMAGED, OTHER = r"^s.cells.json.gz is damaged", r"^s.csv is refused: its columns hold other things than was written"
FORGED = {
    "a factor": (lines(lambda all: [all[0], *(one.replace("0.333333333", "0.5") for one in all[1:])]), ROWS),
    "an entry of a list": (lines(lambda all: [one.replace("[0.666666667, [1]]", "[0.6, [1]]") for one in all]), ROWS),
    "a word": (lines(lambda all: [one.replace("None", "forged") for one in all]), ROWS),
    "one digit": (lines(lambda all: [*all[:-1], all[-1].replace("0.666666667", "0.666666668")]), ROWS),
    "columns changed about": (lines(lambda all: [all[0].replace("t,x", "x,t"), *all[1:]]), ROWS),
    "half a file": (lines(lambda all: all[: len(all) // 2]), "2 rows were written, [01] are there"),
    "the last row 51 times": (lines(lambda all: [*all, *[all[-1]] * 50]), "2 rows were written, 52 are there"),
    "a row twice for another": (lines(lambda all: [*all[:-1], all[-2]]), ROWS),
    "a row cut": (lines(lambda all: [*all[:-1], all[-1][:9]]), "2 rows were written, 1 are there"),
    "a row of no cell": (lines(lambda all: [*all, "0" + all[-1][:-24] + 24 * "0"]), "no such cell was written"),
    "no number": (lines(lambda all: [*all[:-1], all[-1].replace("0.666666667", "abc")]), ROWS),
    "NaN": (lines(lambda all: [*all[:-1], all[-1].replace("0.666666667", "nan")]), ROWS),
    "nothing": (lines(lambda all: [*all[:-1], all[-1].replace("0.666666667", "")]), ROWS),
    "rows moved": (lines(lambda all: [all[0], *all[3:], *all[1:3]]), "its rows were moved"),
    "an empty file": (lambda path: path.write_text(""), "2 rows were written, 0 are there"),
    "bytes": (lambda path: path.write_bytes(b"\xff\xfe"), "^s.csv cannot be read"),
    "another setting": (first_cell(lambda cell: cell["setting"].update(n=7)), "its setting is another cell's"),
    "another seed": (first_cell(lambda cell: cell.update(seed=7)), "its setting is another cell's"),
    "another version": (first_cell(lambda cell: cell.update(version=2)), "its setting is another cell's"),
    **{
        f"another {name}": (first_cell(lambda cell, name=name, value=value: cell.update({name: value})), ROWS)
        for name, value in {"device": "NVIDIA H200", "revision": "0" * 12, "data": "ImageNet", "seconds": 1.0}.items()
    },
    "another digest": (first_cell(lambda cell: cell.update(digest="0" * 16)), ROWS),
    "other versions": (first_cell(lambda cell: cell["versions"].update(numpy="1.0")), ROWS),
    "a cut gz": (cut_gz, r"^s.cells.json.gz is damaged"),
    "a flipped gz": (flip_gz, r"^s.cells.json.gz is damaged"),
    "no gz": (lambda path: path.with_suffix(module.BESIDE).write_bytes(b"{}"), r"^s.cells.json.gz is damaged"),
    "a gz of an older book": (lambda path: told(path, lambda held: held.pop("csv")), r"^s.cells.json.gz is damaged"),
    "a cell less told": (first_cell(lambda cell: cell.pop("digest")), ORIGIN),
    **{
        f"{name} is {value}": (first_cell(lambda cell, name=name, value=value: cell.update({name: value})), ORIGIN)
        for name, value in [
            ("setting", None), ("versions", None), ("versions", {"numpy": 2}), ("seconds", -1.0), ("seconds", 0.0),
            ("seconds", math.inf), ("seconds", "1"), ("device", None), ("seed", "0"), ("seed", True), ("rows", None),
            ("designs", None), ("designs", [1]),
        ]
    },
    **{
        f"{name} are {value}": (
            lambda path, name=name, value=value: told(path, lambda held: held.update({name: value})), said,
        )
        for name, value, said in [
            ("words", None, DAMAGED), ("words", [1], DAMAGED), ("lists", 3, DAMAGED), ("nonfinite", None, DAMAGED),
            ("words", ["seed"], OTHER), ("words", ["cell", "word", "x"], OTHER), ("words", [], OTHER),
            ("lists", [], OTHER), ("lists", ["few", "x"], OTHER), ("nonfinite", ["no column"], OTHER),
        ]
    },
    "no words": (lambda path: told(path, lambda held: held.pop("words")), DAMAGED),
    "a cell is a list": (lambda path: told(path, lambda held: held["cells"].update(a=[])), DAMAGED),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), FORGED.values(), ids=FORGED)
def test_a_stored_table_that_was_changed_is_refused_in_one_line(files, change, words):
    before = files.read_bytes(), files.with_suffix(module.BESIDE).read_bytes()
    change(files)
    assert before != (files.read_bytes(), files.with_suffix(module.BESIDE).read_bytes())
    with pytest.raises(InputError, match=words) as said:
        read_csv(files, version=1)
    assert "\n" not in str(said.value) and str(said.value).startswith("s.c")
    assert "keep s" in str(said.value)


def test_a_stored_table_comes_back_as_it_was(files):
    back = read_csv(files, version=1)
    assert set(back.word) == {"None"} and list(back.on[:2]) == [False, True] and np.isinf(back.needed).all()
    assert back.few[1] == [0.0, [1]] and back.x[2] == pytest.approx(2 / 3, rel=1e-9)
    again = rows_by_cell(back)
    assert {cell.seed for cell in again} == {0, 1, 2} and all(len(rows) == 2 for rows in again.values())
    assert all(
        {"n", "seed", "t", "x", "few", "word", "on", "needed"} == set(row) for rows in again.values() for row in rows
    )


def test_what_a_study_does_not_declare_is_not_written(tmp_path):
    for value, words in (
        (math.inf, "x holds inf"),
        (math.nan, "x holds nothing or NaN"),
        (None, "x holds nothing or NaN"),
    ):

        @study(version=1, grid=lambda p: product(n=[1], seeds=range(2)))
        def gaps(setting, seeds, value=value):
            return [{"seed": s, "x": value if s else 1.0} for s in seeds]

        table = sweep(gaps, gaps.grid({}), store=Store(tmp_path / words), jobs=1)
        with pytest.raises(InputError, match=rf"^g.csv is not written, cell \w+: {words}, and its study"):
            write_csv(table, tmp_path / "g.csv")
        assert not list(tmp_path.glob("g.*"))
        write_csv(table, tmp_path / "g.csv", nonfinite=gaps.nonfinite or ["x"])
        assert len(read_csv(tmp_path / "g.csv", version=1)) == 2
        for path in tmp_path.glob("g.*"):
            path.unlink()


@pytest.mark.parametrize("word", ["1", "nan", "True", "[1]"])
def test_words_that_would_be_read_as_numbers_are_not_written(tmp_path, word):
    @study(version=1, grid=lambda p: product(n=[1], seeds=range(2)))
    def named(setting, seeds):
        return [{"seed": s, "x": word} for s in seeds]

    table = sweep(named, named.grid({}), store=Store(tmp_path / "cells"), jobs=1)
    with pytest.raises(InputError, match=r"^w.csv is not written: the words in x would be read as numbers or lists$"):
        write_csv(table, tmp_path / "w.csv")
    assert not list(tmp_path.glob("w.*"))


def test_a_writer_that_is_stopped_leaves_no_mixed_pair(files, monkeypatch):
    """Whichever file was written when it ended: the old table, or a refusal."""
    table = read_csv(files, version=1).assign(x=2.0)
    old = files.read_bytes()
    real, left = module.write_atomically, [1]

    def write(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(module, "write_atomically", write)
    with pytest.raises(KeyboardInterrupt):
        write_csv(table, files, nonfinite=["needed"])
    assert files.read_bytes() != old and not list(files.parent.glob(".*"))
    with pytest.raises(InputError, match=ROWS):
        read_csv(files, version=1)


def test_the_same_table_gives_the_same_bytes(files):
    table, before = read_csv(files, version=1), files.with_suffix(module.BESIDE).read_bytes()
    write_csv(table, files, nonfinite=["needed"])
    assert files.with_suffix(module.BESIDE).read_bytes() == before


def test_a_damaged_cell_is_refused_by_name_and_no_other_is_lost(files):
    whole = read_csv(files, version=1)
    key = whole.cell.iloc[-1]
    lines(lambda all: [*all[:-1], all[-1].replace("0.666666667", "abc")])(files)
    rows, origins, refused = read_cells(files, version=1)
    ((named, why),) = refused.items()
    assert named == key and why.startswith(
        f"s.csv is refused, cell {key} (n = 2, seed = 2): its rows, or where they come"
    )
    others = whole[whole.cell != key]
    pd.testing.assert_frame_equal(rows, others)
    assert set(origins) == set(others.cell)
    told(files, lambda held: held["cells"][others.cell.iloc[0]].pop("digest"))
    assert len(read_cells(files, version=1)[1]) == 4
    lines(lambda all: all[:1])(files)
    rows, origins, refused = read_cells(files, version=1)
    assert rows.empty and not origins and len(refused) == 6


def test_a_cell_says_for_which_designs_it_is_stored(files):
    table = read_csv(files, version=1)
    first, second, *_ = table.cell.unique()

    def designs():
        return {key: tuple(one.designs) for key, one in read_cells(files, version=1)[1].items() if one.designs}

    write_csv(table, files, nonfinite=["needed"], designs={"a": {first, second}, "b": {first}})
    assert designs() == {first: ("a", "b"), second: ("a",)}
    module.remember(read_cells(files, version=1)[1])
    write_csv(table, files, nonfinite=["needed"], designs={"a": {second}})
    assert designs() == {first: ("b",), second: ("a",)}
    first_cell(lambda cell: cell.update(designs=["a"]))(files)
    with pytest.raises(InputError, match=ROWS):
        read_csv(files, version=1)


def test_a_table_without_cells_is_not_written(tmp_path):
    with pytest.raises(InputError, match="has no column 'cell'"):
        write_csv(pd.DataFrame({"x": [1.0]}), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_distinct_sorts_what_can_be_sorted_and_keeps_the_order_of_the_rest():
    assert module.distinct([3, 1, 3, 2]) == [1, 2, 3] and module.distinct(["b", 1, "b", [2]]) == ["b", 1, [2]]


@study(version=1, grid=lambda p: product(n=[1, 2], drawn=[False, True], seeds=range(1)))
def switched(setting, seeds):
    return [{"seed": s, "y": setting["n"]} for s in seeds]


def test_a_switch_is_no_axis_but_is_told_where_it_is_the_same_throughout(tmp_path):
    rows = sweep(switched, switched.grid({}), store=Store(tmp_path), jobs=1)
    assert provenance(rows).axes()[:2] == ({"n": [1, 2]}, {})
    assert provenance(rows[rows.drawn]).axes()[:2] == ({"n": [1, 2]}, {"drawn": [True]})
