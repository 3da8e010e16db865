"""Stored results: what is written comes back; cells that were changed are refused by name, and no other is lost."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from companion.lab import results as module
from companion.lab import table as tables
from companion.lab.record import Count, Increasing, record
from companion.lab.results import Results, finished_cells, write_results
from companion.lab.store import Store
from companion.lab.sweep import cells, study
from companion.lab.table import provenance, tabulate
from regimes.validate import InputError
from tests.forged import change_lines, sign
from tests.sizes import Size


@study(version=1, nonfinite=["needed"], data="counted")
def kept(setting: Size, seeds):
    """Two rows a cell: a number, a list, words, a switch, and what may be infinite."""
    numbers = {"word": "None", "digit": "1", "needed": math.inf}
    return [
        {"seed": s, "t": t, "x": (s + 1) / 3, "few": [s / 3, [t]], "on": bool(t)} | numbers
        for s in seeds
        for t in (0, 1)
    ]


def computed(item, folder, **design):
    grid = item.grid.of(**{"n": [1, 2], "seeds": 3} | design)
    return [*finished_cells(item, cells(item, grid), store=Store(folder / "cells"), jobs=1).values()]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file of stored results, read by another process than the one that wrote it."""
    records = computed(kept, tmp_path)
    write_results(kept, records, tmp_path / "k.gz")
    monkeypatch.setattr(tables, "_FINISHED", {})
    return tmp_path / "k.gz"


def test_results_come_back_as_they_were_with_their_provenance(file, tmp_path):
    records = computed(kept, tmp_path)
    before = tabulate(kept, records)
    found = provenance(before)
    tables._FINISHED.clear()
    rows = Results(kept, file).rows
    assert provenance(rows) == found and provenance(rows[rows.n == 1]).axes()[1] == {"n": [1]}
    assert list(rows) == list(before) and rows.few[3] == [0.333333333, [1]] and set(rows.digit) == {"1"}
    assert set(rows.word) == {"None"} and list(rows.on[:2]) == [False, True] and np.isinf(rows.needed).all()
    assert rows.x[2] == 0.666666667 and list(rows.cell) == list(before.cell)


def test_the_same_cells_give_the_same_bytes(file):
    before, found = file.read_bytes(), Results(kept, file)
    write_results(kept, [*found.finished.values()], file)
    assert file.read_bytes() == before and before[4:8] == bytes(4)  # no time


def test_results_of_another_version_are_none(file):
    later = study(version=2, nonfinite=["needed"])(kept.function)
    found = Results(later, file)
    assert not found.finished and not found.refused and Results(kept, file.with_name("none.gz")).rows.empty


def test_short_lists_are_kept_and_long_ones_left_out(tmp_path):
    @record
    class Shaped(Size):
        shape: Increasing[Count]

    @study(version=1, nonfinite=["few", "x", "word"])
    def listed(setting: Shaped, seeds):
        short = [{"seed": s, "few": [0.1, [None, s]], "many": [*range(module.LONG + 1)], "word": "a, b"} for s in seeds]
        return short + [{"seed": s, "x": 1 / 3} for s in seeds]

    records = computed(listed, tmp_path, shape=[3, 4], seeds=2)
    write_results(listed, records, tmp_path / "l.gz")
    before, rows = tabulate(listed, records), Results(listed, tmp_path / "l.gz").rows
    assert set(before) - set(rows) == {"many"} and rows["shape"].tolist() == before["shape"].tolist()
    assert rows.few.dropna().tolist() == before.few.dropna().tolist() and rows.x.isna().equals(before.x.isna())
    assert not Results(listed, tmp_path / "l.gz").differences({record.cell.key(): record for record in records})


@pytest.mark.parametrize(
    ("value", "words"), [(math.inf, "x holds inf"), (math.nan, "x holds nothing or NaN"), (None, "x holds nothing")]
)
def test_what_a_study_does_not_declare_is_not_written(tmp_path, value, words):
    def gaps(setting: Size, seeds):
        return [{"seed": s, "x": value if s else 1.0} for s in seeds]

    silent, declared = (study(version=1, nonfinite=names)(gaps) for names in ((), ("x",)))
    records = computed(silent, tmp_path, n=1, seeds=2)
    with pytest.raises(InputError, match=rf"^g.gz is not written, cell \w+ \(n = 1, seed = 1\): {words}.*, and its"):
        write_results(silent, records, tmp_path / "g.gz")
    assert not (tmp_path / "g.gz").exists()
    write_results(declared, records, tmp_path / "g.gz")
    assert len(Results(declared, tmp_path / "g.gz").rows) == 2
    write_results(silent, records, tmp_path / "drawn.gz", as_drawn=True)
    assert len(Results(silent, tmp_path / "drawn.gz").rows) == 2, "a registered run loses nothing that it drew"


def test_a_cell_may_lack_an_observable_that_its_design_did_not_ask_for(tmp_path):
    def observed(setting: Size, seeds):
        return [{"seed": s, "x": 1.0} | ({"rank": 2.0} if setting.n == 2 else {}) for s in seeds]

    own = study(version=1)(observed)
    write_results(own, computed(own, tmp_path, seeds=2), tmp_path / "o.gz")
    rows = Results(own, tmp_path / "o.gz").rows
    assert rows["rank"].isna().tolist() == [True, True, False, False]


def first(change):
    """A change of the first cell's record, by somebody who does not know of its checksum."""

    def edit(lines):
        held = json.loads(lines[0])
        change(held)
        return [json.dumps(held), *lines[1:]]

    return edit


def made(**parts):
    return lambda held: held["provenance"].update(parts)


CHECKSUM, OTHER = "its checksum is not that of its content", "it is another cell's"
LACKS, WHOLE = "it lacks rows or provenance", "it is not a whole cell"
CHANGED = {
    "a number": (lambda held: held["rows"][0].update(x=0.5), CHECKSUM),
    "an entry of a list": (lambda held: held["rows"][0]["few"].append(2), CHECKSUM),
    "a word": (lambda held: held["rows"][0].update(word="forged"), CHECKSUM),
    "NaN": (lambda held: held["rows"][0].update(x=math.nan), CHECKSUM),
    "a row less": (lambda held: held["rows"].pop(), CHECKSUM),
    "n is 7": (lambda held: held["setting"].update(n=7), CHECKSUM),
    "the seed is 7": (lambda held: held.update(seed=7), CHECKSUM),
    "another device": (made(device="NVIDIA H200"), CHECKSUM),
    "another revision": (made(revision="0" * 12), CHECKSUM),
    "other seconds": (made(seconds=1.0), CHECKSUM),
    "no checksum": (lambda held: held.pop("checksum"), WHOLE),
}
SIGNED = {
    "another setting": (lambda held: held["setting"].update(n=7), OTHER),
    "another version": (lambda held: held.update(version=2), OTHER),
    "another study": (lambda held: held.update(study="room.other"), OTHER),
    "no rows": (lambda held: held.update(rows=None), LACKS),
    "no digest": (lambda held: held["provenance"].pop("digest"), LACKS),
    **{
        f"{name} is {value}": (made(**{name: value}), LACKS)
        for name, value in [
            ("versions", {"numpy": 2}), ("seconds", -1.0), ("seconds", 0.0), ("seconds", math.inf), ("seconds", "1"),
            ("device", None), ("revision", 1),
        ]
    },
    "no versions": (made(versions=None), WHOLE),
    "no setting": (lambda held: held.update(setting=None), OTHER),
}  # fmt: skip


def refused(file, reason):
    """That the first cell alone is refused, by its name, in one line that says why and what to do."""
    found = Results(kept, file)
    ((key, line),) = found.refused.items()
    assert len(found.finished) == 5 and key not in found.finished and "\n" not in line
    assert line.startswith(f"k.gz is refused, cell {key}") and f": {reason}; take it from git again, or " in line
    assert line.endswith(f"companion.studies store-results {kept.name}")
    return line


@pytest.mark.parametrize("name", CHANGED)
def test_a_cell_that_was_changed_is_refused_by_name_and_no_other(file, name):
    change, reason = CHANGED[name]
    whole = Results(kept, file)
    change_lines(file, first(change))
    assert (" (n = 1, seed = 0): " in refused(file, reason)) == ("7" not in name)  # else its setting is not its own
    pd.testing.assert_frame_equal(Results(kept, file).rows, whole.rows[2:].reset_index(drop=True))


@pytest.mark.parametrize(("change", "reason"), SIGNED.values(), ids=SIGNED)
def test_a_cell_that_was_forged_with_its_checksum_is_refused(file, change, reason):
    key = next(iter(Results(kept, file).finished))
    sign(file, lambda held: change(held) if held["key"] == key else None)
    refused(file, reason)


LINES = {
    "cut": (lambda lines: [lines[0][:-40], *lines[1:]], WHOLE),
    "a byte": (lambda lines: [lines[0].replace("None", "\udcff"), *lines[1:]], CHECKSUM),
    "twice": (lambda lines: [lines[0], *lines], "there are several of it"),
}


@pytest.mark.parametrize(("change", "reason"), LINES.values(), ids=LINES)
def test_a_line_that_was_damaged_is_refused_by_the_name_of_its_cell(file, change, reason):
    change_lines(file, change)
    refused(file, reason)


def test_a_line_without_a_name_is_refused_by_its_number(file):
    change_lines(file, lambda lines: [*lines, "[1, 2]", ""])
    found = Results(kept, file)
    assert len(found.finished) == 6 and found.refused["line 7"].startswith(f"k.gz is refused, line 7: {WHOLE}; take")


def test_a_cell_of_another_study_is_refused(file):
    @study(version=1)
    def other(setting: Size, seeds):
        """Nothing."""

    assert {line.partition("): ")[2].partition(";")[0] for line in Results(other, file).refused.values()} == {
        "it is of another study"
    }


def test_a_line_of_older_versions_is_the_same_cell(file):
    """Its checksum is that of its content in order, however it is written."""
    whole = Results(kept, file)
    sign(file, lambda held: held)
    assert Results(kept, file).finished == whole.finished and not Results(kept, file).refused


def test_cells_may_be_in_any_order(file):
    whole = Results(kept, file)
    change_lines(file, lambda lines: lines[::-1])
    assert list(Results(kept, file).finished) == list(whole.finished)[::-1]


DAMAGED = {
    "cut": lambda raw: raw[:-20],
    "flipped": lambda raw: raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 255]) + raw[len(raw) // 2 + 1 :],
    "not packed": lambda raw: b"{}",
    "empty": lambda raw: b"",
}


@pytest.mark.parametrize("change", DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_cannot_be_unpacked_is_one_line(file, change):
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(InputError, match=r"^k.gz is damaged, or was not written by this book; take it from git.*$"):
        Results(kept, file)


def test_a_table_for_spreadsheets_has_settings_and_lists(file, tmp_path):
    Results(kept, file).export(tmp_path / "k.csv")
    found = pd.read_csv(tmp_path / "k.csv", keep_default_na=False)
    assert list(found) == list(Results(kept, file).rows) and {"n", "seed", "x", "cell", "revision"} <= {*found}
    assert found.few[1] == "[0.0, [1]]" and found.word[0] == "None" and len(found) == 12
    assert set(found.x.round(9)) == {0.333333333, 0.666666667, 1.0}
