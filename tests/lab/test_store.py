"""The cell store: what identifies a cell, damage, full disks, void cells, locks, comparison of rows."""

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from companion.lab import store as module
from companion.lab.store import Cell, Damaged, Store, decode, encode, free, stamp, write_atomically
from regimes.validate import InputError

MADE = {"device": "d", "class": "cpu", "revision": "r", "versions": {}, "seconds": 1.0, "digest": "old"}
CELL = Cell("room.study", 1, {"a": 1, "b": [2, 3]}, 0)

FILE = (  # of older versions
    '{"key": "2b3c524bda303fb9235a5ab8", "study": "room.study", "version": 1, "setting": {"b": [2, 0.1], "a": null}, '
    '"seed": 3, "rows": [{"seed": 3, "x": 1e-300, "at": "\\u00fc"}], '
    '"provenance": {"device": "d", "class": "cpu", "revision": "r", "versions": {}, "seconds": 1.0, "digest": "old"}, '
    '"checksum": "ab83d2f4cd614a712f5a887213f95184"}'
)
NOW = (
    FILE.replace(": ", ":")
    .replace(", ", ",")
    .replace("ab83d2f4cd614a712f5a887213f95184", "ac4d7da228ec6188188f6ca230499821")
)


def saved(store, cell=CELL, **made):
    return store.save((cell, [{"seed": cell.seed, "x": 0.25}], MADE | made))[0]


def files(store, under="."):
    return sorted(str(p.relative_to(store.folder / under)) for p in (store.folder / under).rglob("*") if p.is_file())


def test_key_ignores_the_order_of_settings_and_nothing_else():
    assert CELL.key() == Cell("room.study", 1, {"b": [2, 3], "a": 1}, 0).key()
    others = [
        Cell("room.study", 2, CELL.setting, 0),
        Cell("room.study", 1, CELL.setting, 1),
        Cell("room.x", 1, CELL.setting, 0),
        Cell("room.study", 1, {"a": 1, "b": [3, 2]}, 0),
    ]
    assert len({CELL.key(), *(cell.key() for cell in others)}) == 5
    assert len({cell.key(seed=False) for cell in [CELL, *others]}) == 4  # the seed alone does not count here
    assert CELL.name == f"room.study/v1/{CELL.key()}.json"


def test_floats_survive_the_store_bit_for_bit(tmp_path):
    values = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    rows = [{"seed": 0, "values": values, "n": np.int64(3), "nan": float("nan")}]
    (kept,) = Store(tmp_path).save((CELL, rows, MADE))
    loaded = Store(tmp_path).load(CELL)
    assert loaded.rows[0]["values"] == values.tolist() and loaded.rows[0]["n"] == 3
    assert repr(kept.rows) == repr(loaded.rows) and loaded.provenance == MADE
    assert CELL in Store(tmp_path) and Cell("room.study", 1, {}, 0) not in Store(tmp_path)


def test_what_cannot_be_stored_is_one_line(tmp_path):
    with pytest.raises(InputError, match="holds object, which cannot be stored"):
        Store(tmp_path).save((CELL, [{"seed": 0, "x": object()}], MADE))


def edit(change):
    def damage(path):
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))

    return damage


def signed(change):
    """A change whose checksum is right."""

    def damage(path):
        record = json.loads(path.read_text())
        record.pop("checksum")
        change(record)
        path.write_text(json.dumps(record | {"checksum": module._checksum(record)}))

    return damage


def foreign(path):
    path.write_text(encode(Cell("room.study", 1, CELL.setting, 7), [], MADE))


def folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("x")


DAMAGE = {
    "truncated": lambda path: path.write_text(path.read_text()[:-20]),
    "empty": lambda path: path.write_text(""),
    "garbage": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "no record": lambda path: path.write_text("[1, 2]"),
    "deep": lambda path: path.write_text("[" * 100000),
    "a folder": folder,
    "an edited number": edit(lambda r: r["rows"][0].update(x=0.5)),
    "an edited number to NaN": edit(lambda r: r["rows"][0].update(x=math.nan)),
    "edited provenance": edit(lambda r: r["provenance"].update(digest="new")),
    "an edited seed": edit(lambda r: r.update(seed=3)),
    "of an older format": edit(lambda r: r.pop("checksum")),
    "another cell's": foreign,
    "another seed's, signed": signed(lambda r: r.update(seed=3)),
    "another setting's, signed": signed(lambda r: r.update(setting={})),
    "another study's, signed": signed(lambda r: r.update(study="room.other")),
    "another key, signed": signed(lambda r: r.update(key="0" * 24)),
    "without provenance, signed": signed(lambda r: r["provenance"].pop("class")),
    "without rows, signed": signed(lambda r: r.update(rows=None)),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_set_aside_and_never_believed(tmp_path, damage):
    store = Store(tmp_path)
    saved(store)
    damage(tmp_path / CELL.name)
    before = files(store)
    assert store.load(CELL) is None and CELL not in store
    assert [name for name, _ in store.aside] == [CELL.name] and store.aside[0][1].startswith("it")
    assert files(store) == [f"damaged/{name}" for name in before]  # nothing is deleted
    saved(store)
    assert store.load(CELL).rows == [{"seed": 0, "x": 0.25}]


def test_a_second_damaged_cell_does_not_replace_the_first(tmp_path):
    store = Store(tmp_path)
    for text in ("one", "two"):
        saved(store)
        (tmp_path / CELL.name).write_text(text)
        store.load(CELL)
    assert {path.read_text() for path in (tmp_path / "damaged" / CELL.name).parent.iterdir()} == {"one", "two"}


def test_records_skips_what_is_damaged(tmp_path):
    store = Store(tmp_path)
    saved(store)
    (tmp_path / "room.study/v1/x.json").write_text("{}")
    assert [name for name, _ in store.finished("room.study", 1)] == [CELL.name]
    assert store.names() == [CELL.name] and files(store, "damaged") == ["room.study/v1/x.json"]


def test_writes_are_synced_file_first_then_folder(tmp_path, monkeypatch):
    calls = []
    real = {"fsync": os.fsync, "replace": os.replace}
    monkeypatch.setattr(os, "fsync", lambda fd: calls.append(os.readlink(f"/proc/self/fd/{fd}")) or real["fsync"](fd))
    monkeypatch.setattr(os, "replace", lambda a, b: calls.append("replace") or real["replace"](a, b))
    write_atomically(tmp_path / "sub" / "file", "text")
    assert (tmp_path / "sub" / "file").read_text() == "text"
    assert "sub/.file" in calls[0] and calls[1] == "replace" and calls[2] == str(tmp_path / "sub") and len(calls) == 3


def test_a_full_disk_is_one_line_and_leaves_nothing_behind(tmp_path, monkeypatch):
    store = Store(tmp_path)
    saved(store)

    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    others = [Cell("room.study", 1, {}, seed) for seed in range(20)]
    with pytest.raises(InputError, match=r"cannot be written: No space left on device; what is stored stays$"):
        store.save(*((cell, [{"seed": cell.seed}], MADE) for cell in others))
    assert files(store) == [CELL.name] and store.load(CELL)


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, "old")
    monkeypatch.setattr(os, "replace", lambda a, b: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_store_that_vanishes_is_one_line(tmp_path):
    store = Store(tmp_path / "cells")
    shutil.rmtree(tmp_path / "cells")
    with pytest.raises(InputError, match="it has vanished"):
        saved(store)
    with pytest.raises(InputError, match="it has vanished"):
        store.claim("x")
    assert not (tmp_path / "cells").exists()


def test_a_store_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        Store(tmp_path / "file" / "cells")


def test_the_default_store_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "mine"))
    assert Store.default().folder == tmp_path / "mine"
    monkeypatch.delenv("REGIMES_STORE")
    (tmp_path / "chapters" / "designs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert Store.default().folder == tmp_path / "build" / "cells"


def several(store, count=3, **made):
    cells = [Cell("room.study", 1, {}, seed) for seed in range(count)]
    for cell in cells:
        saved(store, cell, **made)
    return cells


def test_void_cells_are_kept(tmp_path):
    store = Store(tmp_path)
    cells = several(store)
    other = saved(store, Cell("room.study", 1, {"of": "a GPU"}, 0), **{"class": "cuda"})
    newer = saved(store, Cell("room.study", 1, {"of": "newer code"}, 0), digest="new")
    assert store.void("room.study", 1, lambda r: (r["digest"], r["class"]) == ("old", "cpu")) == 3
    assert [store.load(cell) for cell in cells] == [None] * 3
    assert {record.cell for _, record in store.finished("room.study", 1)} == {other.cell, newer.cell}
    assert len(files(store, "void/old")) == 3 and not store.aside


def test_what_was_accepted_is_noted_for_a_pair_of_digests(tmp_path):
    store = Store(tmp_path)
    assert store.accepted("room.study", "a", "b") == set()
    store.accept("room.study", "a", "b", {"n=1"})
    store.accept("room.study", "a", "b", {"n=2"})
    assert store.accepted("room.study", "a", "b") == {"n=1", "n=2"} and not store.accepted("room.study", "b", "a")
    (tmp_path / "room.study" / "agree" / "a-b").write_text("")  # as older versions wrote it, or cut
    assert store.accepted("room.study", "a", "b") == set()


def test_a_lock_excludes_others_and_leaves_no_file(tmp_path):
    one, other = Store(tmp_path), Store(tmp_path)
    lock = one.claim("block")
    assert lock is not None and other.claim("block") is None and other.claim("another") is not None
    free(lock)
    again = other.claim("block")
    assert again is not None
    free(again)
    assert files(one) == ["locks/another.lock"]


def test_a_lock_dies_with_its_process(tmp_path):
    store = Store(tmp_path)
    free(store.claim("block"))
    code = "import sys, time, filelock; lock = filelock.FileLock(sys.argv[1]); lock.acquire()\n"
    code += "print(1, flush=True); time.sleep(60)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "locks" / "block.lock")], stdout=subprocess.PIPE
    )
    holder.stdout.readline()
    assert store.claim("block") is None
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    assert store.claim("block") is not None


def test_decode_wants_the_name_it_lies_under():
    text = encode(CELL, [], MADE)
    assert decode(text, CELL.name).provenance == MADE
    with pytest.raises(Damaged, match="another cell's"):
        decode(text, CELL.name.replace("v1", "v2"))


def test_the_format_of_a_cell_file_stays_what_it_is():
    """A cell stored by this version is read by the next ones."""
    text = encode(Cell("room.study", 1, {"b": [2, 0.1], "a": None}, 3), [{"seed": 3, "x": 1e-300, "at": "ü"}], MADE)
    found = decode(FILE, "room.study/v1/2b3c524bda303fb9235a5ab8.json")
    assert text == NOW and found == decode(NOW, "room.study/v1/2b3c524bda303fb9235a5ab8.json")


def test_stamp_names_device_revision_versions():
    found = stamp()
    assert found["device"] and found["revision"] and found["versions"].items() >= module.arithmetic().items()
    libraries = {"numpy", "scipy", "torch", "python"}
    arithmetic = {"cpu", "isa", "numpy blas", "torch blas"}
    assert set(found["versions"]) == libraries | arithmetic and all(found["versions"].values())


def test_the_instructions_in_use_are_those_that_the_environment_allows(monkeypatch):
    code = "from companion.lab.store import arithmetic; print(arithmetic()['isa'])"
    told = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | told, capture_output=True, text=True)
    plain = {
        f"{isa}, MKL_CBWR=COMPATIBLE" for isa in ("DEFAULT", "NO AVX")
    }  # in the words of this torch or an older one
    assert done.stdout.strip() in plain
    if not told.keys() & os.environ.keys():
        assert module.arithmetic()["isa"] not in plain


def test_revision_says_what_is_not_committed(tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    (tmp_path / "chapters" / "designs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert module.revision.__wrapped__() == "unknown"
    (tmp_path / "file").write_text("1")
    for args in (["init", "-q"], ["add", "file"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], check=True)
    clean = module.revision.__wrapped__()
    assert len(clean) == 12 and not clean.endswith("+")
    (tmp_path / "file").write_text("2")
    assert module.revision.__wrapped__() == clean + "+"


def test_a_copy_inside_another_repository_takes_not_its_commit(tmp_path, monkeypatch):
    """A zip unpacked in a thesis, say, is of no commit of the thesis."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    book = tmp_path / "book"
    (book / "chapters" / "designs").mkdir(parents=True)
    (book / "file").write_text("1")
    for args in (["init", "-q"], ["add", "book/file"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], check=True)
    monkeypatch.chdir(book)
    assert module.revision.__wrapped__() == "unknown"
    with pytest.raises(InputError, match="'unknown': commit all changes first"):
        monkeypatch.setattr(module, "revision", module.revision.__wrapped__)
        module.needs_commit("results")
    subprocess.run(["git", "init", "-q", str(book)], check=True)
    subprocess.run([*git[:5], "-C", str(book), "add", "file"], check=True)
    subprocess.run([*git[:5], "-C", str(book), "commit", "-qm", "one"], check=True)
    link = tmp_path / "link"
    link.symlink_to(book)
    monkeypatch.chdir(link)
    assert module.committed(module.revision())


def test_the_growing_cells_of_a_registered_run_are_no_change_of_the_code(tmp_path, monkeypatch):
    """They are committed as they grow; a run that is begun again finds them changed since."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", str(tmp_path)]
    code, rows = tmp_path / "chapters" / "designs" / "file", tmp_path / "results" / "registered" / "rows"
    for path in (code, rows):
        path.parent.mkdir(parents=True)
        path.write_text("1")
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], check=True)
    monkeypatch.chdir(tmp_path)
    for path, clean in ((rows, True), (code, False)):
        path.write_text("2")
        assert module.committed(module.revision.__wrapped__()) == clean


def test_a_copy_without_its_history_is_told_its_revision(tmp_path, monkeypatch):
    (tmp_path / "chapters" / "designs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGIMES_REVISION", "0123456789ab")
    assert module.revision.__wrapped__() == "0123456789ab"
