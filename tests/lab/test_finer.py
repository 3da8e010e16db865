"""How much of an error is numerical: measured of studies whose bias and scatter are known."""

import json

import numpy as np
import pytest

from benchmarks import finer
from benchmarks.finer import numerical_changes, refined
from companion import paths
from companion.lab import catalogue
from companion.lab.parameters import resolve
from companion.lab.record import Positive, record
from companion.lab.sweep import study
from regimes.validate import InputError
from tests.sizes import Size

BIAS, SCATTER = 3.0, 0.5
# of several tolerances; of lists alone; of networks as another study has
DRAWN = {
    "sensitivity.numerics", "compression.neuron_paths", "kernel_pca.stripe_spectra", "kernel_pca.stripe_norms",
    "kernel_pca.stripe_lines", "placing.placed",
}  # fmt: skip


@record
class Tolerated(Size):
    """A size, and what numerics may be off by."""

    tolerance: Positive


@study(version=1, chunk=40)
def biased(setting: Tolerated, seeds):
    """A mean of 10; one column is off in proportion to the tolerance, one scatters with it, one is exact."""
    rows = []
    for seed in seeds:
        noise, other = np.random.default_rng(seed).normal(size=2)
        x = 10 + SCATTER * noise
        amplified = x + setting.tolerance * other
        rows.append({"seed": seed, "off": x + BIAS * setting.tolerance, "late": amplified, "exact": x, "n_": 3})
    return rows


GRID = biased.grid.of(n=[1, 2], tolerance=0.1, seeds=40)


def test_what_is_made_finer():
    setting = {"tolerance": 0.05, "steps": 7, "dtype": "float32", "seeds": [1]}
    assert refined(setting, {"tolerance": 0.1, "steps": 2, "dtype": "float64", "rate": 0.5}) == {
        **setting,
        "tolerance": pytest.approx(0.005),
        "steps": 14,
        "dtype": "float64",
    }


def test_the_share_is_bias_over_statistical_error():
    table = numerical_changes(biased, GRID, {"tolerance": 0.1}, many=100, jobs=1).set_index("column")
    assert sorted(table.index) == ["exact", "late", "off"] and (table.pairs == 80).all()
    scatter = np.std([np.random.default_rng(seed).normal() for seed in range(40)], ddof=1) * SCATTER
    assert table.share["off"] == pytest.approx(BIAS * 0.09 / (1.96 * scatter / 10), rel=1e-6)
    assert table.bias["off"] == pytest.approx(BIAS * 0.09 / 10.3, rel=0.01) and table.error["off"] < 1e-12
    assert table.most["off"] == pytest.approx(table.share["off"]) and table.most["late"] > table.share["late"]
    assert table.share["exact"] == table.most["exact"] == table.bias["exact"] == 0
    assert table.share["late"] < 0.3 and table.error["late"] == pytest.approx(0.09 / 40**0.5 / 10, rel=0.3)


def test_the_last_rows_alone():
    grid = growing.grid.of(n=1, tolerance=0.1, seeds=6)
    found = numerical_changes(growing, grid, {"tolerance": 0.5}, many=9, last=True, jobs=1)
    table = found.set_index("column")
    assert table.pairs["x"] == 6 and table.bias["x"] * 13.9 == pytest.approx(BIAS * 0.05, rel=0.01)


@study(version=1)
def growing(setting: Tolerated, seeds):
    """More rows where the tolerance is finer."""
    times = np.arange(0, 1 + 1e-9, setting.tolerance)
    return [{"seed": s, "x": 10 + t + s + BIAS * setting.tolerance} for s in seeds for t in times]


def test_too_few_seeds_or_nothing_to_make_finer():
    with pytest.raises(InputError, match="needs 4 seeds and one of tolerance"):
        numerical_changes(biased, biased.grid.of(n=1, tolerance=0.1, seeds=3), {"tolerance": 0.1}, many=9, jobs=1)
    with pytest.raises(InputError, match="one of rate, got"):
        numerical_changes(biased, GRID, {"rate": 0.1}, many=9, jobs=1)


def test_every_study_with_a_tolerance_is_tried_and_the_stored_numbers_are_of_these():
    ways = catalogue.finer()
    for number in catalogue.modules():
        for item, grid in catalogue.grids(number, resolve(number, "smoke")).items():
            name = item.name
            assert name in ways or name in DRAWN or not any("tolerance" in s for s in grid), name
            assert name not in ways or any(set(ways[name]) & set(s) for s in grid), name
    stored = json.loads((paths.results() / "finer.json").read_text(encoding="utf-8"))
    assert {one["study"] for one in stored} == set(ways)
    assert all(one["columns"] and "+" not in one["revision"] for one in stored)


def test_the_command_writes_what_it_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "results", lambda: tmp_path)
    monkeypatch.setattr(finer, "needs_commit", lambda what: None)
    monkeypatch.setattr(finer, "measure", lambda name, settings, jobs: {"study": name, "columns": [{"share": 0.25}]})
    assert finer.main(["output_scale.predictors"]) == 0
    assert json.loads((tmp_path / "finer.json").read_text())[0]["study"] == "output_scale.predictors"
    assert "0.25 of the statistical error" in capsys.readouterr().out
