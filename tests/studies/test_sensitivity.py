"""The end of a flow: in float64 it does not hang on the processor, and it converges with the tolerance."""

import os

import numpy as np
import pytest

from companion.papers.compression.studies import sensitivity
from companion.papers.compression.studies.sensitivity import PROCESSORS, numerics

SETTING = {
    "shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 5, "p": 32, "h": 40, "alpha": 1e-6, "lines": 40,
    "dtype": "float64", "processor": "this one",
}  # fmt: skip


def other_processor():
    """One that this machine, as its environment makes it, is not."""
    names = [name for name in PROCESSORS if name != "this one"]
    if PROCESSORS["no vector instructions"].items() <= os.environ.items():
        names.remove("no vector instructions")
    return names[0]


def test_another_processor_ends_where_this_one_does():
    rows = numerics(SETTING | {"tolerance": 0.01}, [0])
    other_rows = numerics(SETTING | {"tolerance": 0.01, "processor": other_processor()}, [0])
    assert len(rows) == len(other_rows) == len(sensitivity.SHARES)
    assert rows != other_rows  # it did round otherwise
    for row, other_row in zip(rows, other_rows, strict=True):
        for name in ("t_star", "amplification_star"):
            assert other_row[name] == pytest.approx(row[name], rel=1e-6)
        for name in ("error", "amplification"):  # the compiled flow takes other steps later on, within the tolerance
            assert other_row[name] == pytest.approx(row[name], rel=0.01)


def test_the_end_converges_with_the_tolerance():
    amplification = {}
    for tolerance in (0.05, 0.005, 0.002):
        ends = numerics(SETTING | {"tolerance": tolerance}, [0, 1])[4::5]
        amplification[tolerance] = np.array([row["amplification"] for row in ends])
    change = {t: abs(amplification[t] / amplification[0.002] - 1).max() for t in (0.05, 0.005)}
    assert change[0.005] < 0.02 and change[0.005] < change[0.05] / 2


def test_a_processor_that_cannot_be_imitated_is_one_line(monkeypatch):
    monkeypatch.setitem(PROCESSORS, "oldest linear algebra", {"PYTHONHOME": "/nowhere"})
    with pytest.raises(sensitivity.InputError, match="PYTHONHOME") as error:
        numerics(SETTING | {"tolerance": 0.05, "processor": "oldest linear algebra"}, [0])
    assert "\n" not in str(error.value)
