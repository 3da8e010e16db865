"""Kept rows: those of ``chapters/profiles/kept.toml``, all of them, and what the code as it is computes again."""

import numpy as np
import pytest

from regimes import paths
from regimes import studies as registry
from regimes.studies import __main__ as command
from regimes.sweeps.parameters import read_toml
from regimes.sweeps.store import Cell, Store
from regimes.sweeps.sweep import sweep
from regimes.sweeps.table import CELL, read_csv

KEPT = read_toml(paths.profile_file("kept"))
# computed again in every run of the tests: seconds in all; the others every week
CHEAP = {
    "spiked.agreement", "depth.finite_kernel", "lazy_feature.finite_curve", "compression.growth", "jamming.stripes",
}  # fmt: skip
COMPUTED = [name if name in CHEAP else pytest.param(name, marks=pytest.mark.weekly) for name in sorted(KEPT)]


def grid_of(name):
    number, item = registry.find(name)
    grids = {}
    registry.resolve(number, "laptop", KEPT[name], study=item, grids=grids)
    return item, grids[name]


def test_every_kept_table_is_declared():
    assert {path.stem for path in paths.results().glob("*.csv")} == set(KEPT)


@pytest.mark.parametrize("name", COMPUTED)
def test_kept_rows_are_those_of_the_declared_grid_and_agree_with_the_code_as_it_is(name, tmp_path):
    item, grid = grid_of(name)
    kept = read_csv(paths.results() / f"{name}.csv", version=item.version)
    cells = {Cell(name, item.version, {k: v for k, v in s.items() if k != "seeds"}, seed).key(): (s, seed)
             for s in grid for seed in s["seeds"]}  # fmt: skip
    assert set(kept[CELL]) == set(cells), "python -m regimes.studies keep"
    setting, seed = cells[kept.loc[kept.seconds.idxmin(), CELL]]  # the cheapest
    block = range(seed // item.chunk * item.chunk, (seed // item.chunk + 1) * item.chunk)
    seeds = [one for one in setting["seeds"] if one in block]
    fresh = sweep(item, [setting | {"seeds": seeds}], store=Store(tmp_path), jobs=1)
    again = kept[kept[CELL].isin(fresh[CELL])]
    numbers = fresh.select_dtypes("number").columns.drop("seconds")
    there, here = (rows.sort_values(CELL, kind="stable")[numbers].to_numpy(float) for rows in (fresh, again))
    assert np.allclose(here, there, rtol=max(item.rtol, 1e-6), equal_nan=True)


def test_keep_computes_and_writes_the_declared_rows(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        command.main(["keep", "no.study"])
    assert "study must be one of" in capsys.readouterr().err
    name = "depth.kernel_shape"
    monkeypatch.setenv("REGIMES_STORE", str(tmp_path / "cells"))
    monkeypatch.setattr(command.paths, "results", lambda: tmp_path)
    monkeypatch.setattr(command, "read_toml", lambda path: {name: {}})
    assert command.main(["keep", "--jobs", "1"]) == 0 and "0 cells missing" in capsys.readouterr().out
    assert len(read_csv(tmp_path / f"{name}.csv", version=registry.find(name)[1].version))
