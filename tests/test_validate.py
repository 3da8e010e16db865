"""Each check names the parameter, what was given, and what is allowed, and lets good values pass."""

import math

import numpy as np
import pytest
import torch

from regimes import validate
from regimes.validate import InputError
from tests.cases import for_each, refused

BAD = [
    (validate.integer, (1,), 0),
    (validate.integer, (1,), 2.0),
    (validate.integer, (1,), True),
    (validate.integer, (1,), "3"),
    (validate.at_least, (0,), -1e-9),
    (validate.at_least, (0,), math.nan),
    (validate.positive, (), 0.0),
    (validate.positive, (), math.inf),
    (validate.within, (0, 1), 1.0),
    (validate.within, (0, 1), "half"),
    (validate.one_of, (["a", "b"],), "c"),
    (validate.increasing, (), [1, 1]),
    (validate.increasing, (), []),
    (validate.increasing, (), [0, math.nan]),
    (validate.increasing, (), 3),
    (validate.at_least, (0,), 10**400),
    (validate.length, (1, 2), []),
    (validate.distinct, (), ["a", "a"]),
]


@pytest.mark.parametrize(("function", "args", "value"), BAD)
def test_bad_values_are_named(function, args, value):
    with pytest.raises(InputError, match=r"^width .*") as raised:
        function(*args, width=value)
    assert validate.shown(value) in str(raised.value) and "\n" not in str(raised.value)


def test_what_is_shown_of_a_value_is_one_short_line():
    for value in (10**400, 10**5000, list(range(1000)), "a\n" * 99, [[[[[[[[1]]]]]]]], {"a": [1] * 50}):
        assert len(validate.shown(value)) < 200 and "\n" not in validate.shown(value)


def test_what_no_float_holds_is_no_number():
    assert not any(map(validate.is_number, [10**400, math.nan, math.inf, True, "1", None, [1], 1j]))
    assert all(map(validate.is_number, [0, -1.5, 10**300]))


def test_good_values_pass():
    validate.integer(1, a=1, b=10**9)
    validate.at_least(0, a=0, b=1e300)
    validate.positive(a=1e-300)
    validate.within(0, 1, a=0.5)
    validate.one_of({"a": 1}, a="a")
    validate.increasing(a=[-1, 0.5, 2], b=(3,))
    validate.length(1, 2, a=[1], b=[1, 1])
    validate.distinct(a=[1, 2])


ONES = np.ones((3, 4))
FITS = {
    "a matrix": {"a": ("n d", ONES)},
    "leading axes": {"a": ("... d", np.ones((2, 3, 4)))},
    "no leading axis": {"a": ("... n d", ONES)},
    "any shape": {"a": ("...", np.ones(()))},
    "equal sizes": {"a": ("n d", ONES), "b": ("n", np.ones(3)), "c": ("d n", ONES.T)},
    "a size": {"a": ("n 4", ONES)},
    "a sum beyond float64": {"a": ("n", np.full(3, 1e308))},
}
FAILS = {
    "an axis too few": ({"a": ("... n d", np.ones(3))}, r"a must have shape \(... n d\), got \(3,\)"),
    "an axis too many": ({"a": ("n", ONES)}, r"a must have shape \(n\), got \(3, 4\)"),
    "sizes alone": ({"a": ("3 5", ONES)}, r"a must have shape \(3, 5\), got \(3, 4\)"),
    "another size": ({"a": ("n 5", ONES)}, r"a must have shape \(n 5\), got \(3, 4\)"),
    "sizes that differ": (
        {"a": ("n d", ONES), "b": ("d", np.ones(3))},
        r"b must have shape \(d\) with d = 4, got \(3,\)",
    ),
    "sizes that differ in one": ({"a": ("n n", ONES)}, r"a must have shape \(n n\), got \(3, 4\)"),
    "an empty axis": ({"a": ("n d", ONES[:0])}, r"a must have shape \(n d\), got \(0, 4\)"),
    "whole numbers": (
        {"a": ("n d", ONES.astype(int))},
        "a must be an array .n d. of floating-point numbers, got (torch.)?int64",
    ),
    "NaN": ({"a": ("n", np.array([1.0, math.nan]))}, "a must hold finite numbers"),
    "infinity": ({"a": ("n", np.array([1.0, -math.inf]))}, "a must hold finite numbers"),
    "both infinities": ({"a": ("n", np.array([math.inf, -math.inf]))}, "a must hold finite numbers"),
    "two precisions": (
        {"a": ("n", torch.ones(3)), "b": ("n", torch.ones(3).double())},
        "b must be torch.float32 as the arrays before it, got torch.float64",
    ),
}


@for_each({name: (given,) for name, given in FITS.items()})
def test_arrays_that_fit_pass(given):
    validate.arrays(**given)
    for (_, array), tensor in zip(given.values(), validate.tensors(**given), strict=True):
        assert isinstance(tensor, torch.Tensor) and tensor.numpy().dtype == array.dtype
        assert (tensor.numpy() == array).all()


@for_each(FAILS)
def test_arrays_that_do_not_fit_are_refused(given, words):
    refused(lambda: validate.arrays(**given), words)
    refused(lambda: validate.tensors(**given), words)


def test_arrays_of_numpy_may_have_two_precisions():
    validate.arrays(a=("n d", ONES), b=("n d", ONES.astype(np.float32)))


def test_a_tensor_made_of_an_array_is_a_copy():
    array = np.zeros(3)
    (tensor,) = validate.tensors(x=("n", array))
    array += 1
    assert tensor.tolist() == [0, 0, 0]


def test_a_refused_shape_leaves_no_size_behind():
    """``n`` is that of the first array that fits, not of one that did not."""
    sizes = {}
    assert not validate._fits(["n", "n"], (3, 4), sizes) and sizes == {}
    assert validate._fits(["n", "4"], (3, 4), sizes) and sizes == {"n": 3}


GIB = 2**30
CONTAINERS = {  # 8 GiB allowed, 7.8 in use, of which 7.3 are files that were read
    "second": {
        "sys/fs/cgroup/memory.max": f"{8 * GIB}\n",
        "sys/fs/cgroup/memory.current": f"{7.8 * GIB:.0f}\n",
        "sys/fs/cgroup/memory.stat": f"anon 500\nfile 900\ninactive_file {7.3 * GIB:.0f}\nactive_file 5\n",
    },
    "first": {
        "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{8 * GIB}\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{7.8 * GIB:.0f}\n",
        "sys/fs/cgroup/memory/memory.stat": f"inactive_file 7\ntotal_inactive_file {7.3 * GIB:.0f}\n",
    },
}


@pytest.mark.parametrize("version", CONTAINERS)
def test_files_that_were_read_leave_a_containers_memory_free(version, tmp_path, monkeypatch):
    monkeypatch.setattr(validate, "Path", lambda path: tmp_path / path.lstrip("/"))
    files = CONTAINERS[version] | {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {100 * GIB // 1024} kB\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert validate.free_memory() == pytest.approx(7.5 * GIB, abs=2)
    limit, used, statistics = list(files)[:3]
    (tmp_path / statistics).unlink()
    assert validate.free_memory() == pytest.approx(0.2 * GIB, abs=2)
    (tmp_path / used).write_text(f"{9 * GIB}\n")
    assert validate.free_memory() == 0
    (tmp_path / limit).write_text("max\n" if version == "second" else f"{2**63 - 4096}\n")
    assert validate.free_memory() == 100 * GIB
