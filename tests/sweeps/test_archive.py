"""Archives: all or none, known studies only; the commands that pack, add, export and restore."""

import gzip
import io
import json
import sys
import tarfile

import pytest

from regimes import studies
from regimes.studies import __main__ as command
from regimes.sweeps import archive
from regimes.sweeps.store import Cell, Store, encode
from regimes.validate import InputError

MADE = {"device": "d", "class": "cpu", "revision": "r", "versions": {}, "seconds": 1.0, "digest": "old"}
KNOWN = {"room.study": 1}
CELL = Cell("room.study", 1, {"n": 1}, 0)


def filled(folder, *cells):
    store = Store(folder)
    for cell in cells or (CELL,):
        store.save(cell, [{"seed": cell.seed, "x": 1.5}], MADE)
    return store


def names(store):
    return sorted(str(path.relative_to(store.folder)) for path in store.folder.rglob("*") if path.is_file())


def test_an_archive_carries_the_cells_a_store_lacks(tmp_path):
    cells = [Cell("room.study", 1, {"n": n}, 0) for n in (1, 2, 3)]
    one, other = filled(tmp_path / "one", *cells[:2]), filled(tmp_path / "other", *cells[1:])
    assert archive.pack(one, tmp_path / "cells.tar.gz", KNOWN) == (2, 0)
    assert (
        archive.add(other, tmp_path / "cells.tar.gz", KNOWN) == 1
        and archive.add(other, tmp_path / "cells.tar.gz", KNOWN) == 0
    )
    assert all(other.load(cell) for cell in cells)


def test_a_damaged_cell_is_replaced_from_an_archive(tmp_path):
    one, other = filled(tmp_path / "one"), filled(tmp_path / "other")
    archive.pack(one, tmp_path / "cells.tar.gz", KNOWN)
    (other.folder / CELL.name).write_text("{}")
    assert archive.add(other, tmp_path / "cells.tar.gz", KNOWN) == 1 and other.load(CELL)


def test_pack_leaves_out_what_add_would_not_take(tmp_path, monkeypatch):
    store = filled(tmp_path / "one", CELL, Cell("room.gone", 1, {}, 0), Cell("room.study", 2, {}, 0))
    (store.folder / "room.study/v1" / f"{'0' * 24}.json").write_text("{}")
    (store.folder / "room.study/v1" / "notes.json").mkdir()
    assert archive.pack(store, tmp_path / "cells.tar.gz", KNOWN) == (1, 4)
    assert archive.add(Store(tmp_path / "other"), tmp_path / "cells.tar.gz", KNOWN) == 1
    monkeypatch.setattr(archive, "MAX_CELL", 10)
    assert archive.pack(store, tmp_path / "cells.tar.gz", KNOWN) == (0, 5)
    with pytest.raises(InputError, match="cannot be written: No such file"):
        archive.pack(store, tmp_path / "nowhere" / "cells.tar.gz", KNOWN)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells.tar.gz", "one", "other"]


def member(name, content=b"{}", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def cell(number, **made):
    item = Cell("room.study", 1, {"n": number}, 0)
    return member(item.name, encode(item, [], MADE | made).encode())


EDITED = encode(CELL, [], MADE).replace('"seed": 0', '"seed": 1')
UNSIGNED = {"study": "room.study", "version": 1, "setting": {}, "seed": 0, "rows": []}
BAD = {
    "a path upwards": member("../evil.json"),
    "an absolute path": member("/tmp/evil.json"),
    "any file": member("room.study/v1/evil.py"),
    "a file of the store": member("locks/x.lock"),
    "a link": member(CELL.name, b"", tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a folder": member("room.study/v1", b"", tarfile.DIRTYPE),
    "a device": member(CELL.name, b"", tarfile.CHRTYPE),
    "no JSON": member(CELL.name, b"no json"),
    "bytes": member(CELL.name, b"\xff\xfe"),
    "an edited cell": member(CELL.name, EDITED.encode()),
    "another cell's name": member(cell(7)[0].name, encode(CELL, [], MADE).encode()),
    "no provenance": member(CELL.name, json.dumps(UNSIGNED).encode()),
    "an unknown study": member("room.other/v1/" + "0" * 24 + ".json"),
    "another version": member("room.study/v2/" + "0" * 24 + ".json"),
    "a large file": member(CELL.name, b"0" * (2**16 + 1)),
}


def written(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_one_bad_member_and_none_is_taken(tmp_path, bad, monkeypatch):
    monkeypatch.setattr(archive, "MAX_CELL", 2**16)
    store = filled(tmp_path / "cells")
    before = names(store)
    path = written(tmp_path / "cells.tar.gz", [cell(2), bad, cell(3)])
    with pytest.raises(InputError, match=r"^the cell archive .* is refused") as said:
        archive.add(store, path, KNOWN)
    assert "\n" not in str(said.value) and names(store) == before


def test_the_whole_archive_has_a_limit(tmp_path, monkeypatch):
    path = written(tmp_path / "cells.tar.gz", [cell(n) for n in range(10)])
    monkeypatch.setattr(archive, "MAX_ALL", 2000)
    with pytest.raises(InputError, match=r"is refused: 'room.study/v1/.*' takes it above"):
        archive.add(Store(tmp_path / "cells"), path, KNOWN)
    assert names(Store(tmp_path / "cells")) == []


def flipped(raw):
    return raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 255]) + raw[len(raw) // 2 + 1 :]


BROKEN = {
    "truncated": lambda raw: raw[: len(raw) * 2 // 3],
    "cut in its first bytes": lambda raw: raw[:5],
    "empty": lambda raw: b"",
    "flipped": flipped,
    "no archive": lambda raw: b"hello" * 1000,
    "gzip of no archive": lambda raw: gzip.compress(b"hello" * 1000),
    "cut within the tar": lambda raw: gzip.compress(gzip.decompress(raw)[:5000]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_archive_that_cannot_be_read_adds_nothing(tmp_path, broken):
    path = written(tmp_path / "cells.tar.gz", [cell(n) for n in range(20)])
    path.write_bytes(broken(path.read_bytes()))
    store = Store(tmp_path / "cells")
    with pytest.raises(InputError, match=r"^the cell archive .* (cannot be read|is refused)") as said:
        archive.add(store, path, KNOWN)
    assert "\n" not in str(said.value) and names(store) == []


def test_a_store_that_is_full_takes_back_what_was_added(tmp_path, monkeypatch):
    store = filled(tmp_path / "cells")
    path = written(tmp_path / "cells.tar.gz", [cell(n) for n in range(2, 10)])
    real, left = Store.write, [3]

    def write(self, texts):
        left[0] -= 1
        if left[0] < 0:
            raise InputError("the cell store is full")
        real(self, texts)

    monkeypatch.setattr(Store, "write", write)
    with pytest.raises(InputError, match="is full"):
        archive.add(store, path, KNOWN)
    assert names(store) == [CELL.name]


STUDY = "depth.normalised_kernel"


def run(*args):
    with pytest.raises(SystemExit) as ended:
        sys.exit(command.main(list(args)))
    return ended.value.code


@pytest.fixture
def commands(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    monkeypatch.delenv("REGIMES_SCHEDULER", raising=False)
    return Store(tmp_path / "cells")


def test_the_commands_pack_add_and_restore(commands, tmp_path, monkeypatch, capsys):
    assert run("run", STUDY, "--profile", "smoke", "--jobs", "1", "--csv", str(tmp_path / "t.csv")) == 0
    (header, *lines), count = (tmp_path / "t.csv").read_text().splitlines(), len(commands.names())
    (row, *_), *more = (record["rows"] for _, record in commands.records(STUDY, 1))
    assert {*row} < {*header.split(",")} and all(header.split(",")) and len(lines) > len(more)  # every column is named
    assert run("pack", str(tmp_path / "a.tar.gz")) == 0 and f"{count} cells\n" in capsys.readouterr().out
    code = studies.find(STUDY)[1].code.digest
    assert commands.void(STUDY, 1, code, "cpu") == count and commands.names() == []
    assert run("restore", STUDY) == 0 and f"{STUDY}: {count} void cells are back" in capsys.readouterr().out
    assert len(commands.names()) == count
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "other"))
    assert run("add", str(tmp_path / "a.tar.gz")) == 0 and capsys.readouterr().out == f"{count} cells\n"
    assert run("restore", "nothing") == 2 and "study must be one of" in capsys.readouterr().err


def test_export_touches_no_cell(commands, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command.paths, "results", lambda: tmp_path / "results")
    assert run("export", STUDY, "--profile", "smoke") == 2 and "no cell of" in capsys.readouterr().err
    assert run("run", STUDY, "--profile", "smoke", "--jobs", "1") == 0
    for _, record in list(commands.records(STUDY, 1)):  # as if of other code, and wrong
        made = record["provenance"] | {"digest": "other"}
        rows = [row | {"value": -1.0} for row in record["rows"]]
        commands.save(Cell(STUDY, 1, record["setting"], record["seed"]), rows, made)
    before = {path: path.read_bytes() for path in commands.folder.rglob("*") if path.is_file()}
    assert run("export", STUDY, "--profile", "smoke") == 0 and "0 cells missing" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in commands.folder.rglob("*") if path.is_file()} == before
    assert (tmp_path / "results" / f"{STUDY}.csv").exists()
