"""The cell store: what identifies a cell, comparison of rows, the digest of the code behind a study."""

import numpy as np

from regimes import store
from regimes.store import Cell, Store, agree


def test_key_ignores_the_order_of_settings_and_nothing_else():
    one = Cell("room.study", 1, {"a": 1, "b": [2, 3]}, 0)
    assert one.key() == Cell("room.study", 1, {"b": [2, 3], "a": 1}, 0).key()
    others = [
        Cell("room.study", 2, one.setting, 0),
        Cell("room.study", 1, one.setting, 1),
        Cell("room.x", 1, one.setting, 0),
    ]
    assert (
        len({one.key(), *(cell.key() for cell in others), Cell("room.study", 1, {"a": 1, "b": [3, 2]}, 0).key()}) == 5
    )


def test_floats_survive_the_store_bit_for_bit(tmp_path):
    values = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    cell = Cell("room.study", 1, {}, 0)
    saved = Store(tmp_path).save(cell, [{"seed": 0, "values": values, "n": np.int64(3), "nan": float("nan")}], {})
    loaded = Store(tmp_path).load(cell)
    assert loaded["rows"][0]["values"] == values.tolist() and loaded["rows"][0]["n"] == 3
    assert agree(saved["rows"], loaded["rows"], 0.0)


def test_agree():
    row = {"x": 1.0, "name": "a", "seconds_spent": 1.0, "list": [1.0, 2.0]}
    assert agree([row], [row | {"x": 1 + 1e-9, "seconds_spent": 9.0}], 1e-6)
    assert not agree([row], [row | {"x": 1 + 1e-3}], 1e-6)
    assert not agree([row], [row | {"name": "b"}], 1e-6)
    assert not agree([row], [row | {"list": [1.0]}], 1e-6)
    assert not agree([row], [{k: v for k, v in row.items() if k != "x"}], 1e-6)


def test_digest_sees_code_and_not_comments(tmp_path, monkeypatch):
    package = tmp_path / "regimes_probe"
    package.mkdir()
    source = package / "room.py"

    def tree(text):
        source.write_text(text)
        return store._bare_tree("regimes_probe.room")

    import ast

    monkeypatch.syspath_prepend(str(tmp_path))
    plain = ast.dump(tree('def f(x):\n    """Doc."""\n    return 2 * x\n'))
    assert plain == ast.dump(tree('"""Module."""\n# why\ndef f(x):\n    """Other."""\n\n    return 2 * x\n'))
    assert plain != ast.dump(tree("def f(x):\n    return 3 * x\n"))


def test_digest_follows_imports_inside_the_library():
    seen = store._imported("regimes.tasks", set())
    assert "regimes.tasks" in seen and "regimes.check" not in seen and "regimes.sweep" not in seen


def test_provenance_names_device_revision_versions():
    stamp = store.provenance()
    assert stamp["device"] and stamp["revision"] and {"numpy", "scipy", "torch", "python"} <= set(stamp["versions"])
