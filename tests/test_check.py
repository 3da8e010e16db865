"""Each check names the parameter, what was given, and what is allowed, and lets good values pass."""

import math

import pytest

from regimes import check
from regimes.check import InputError

BAD = [
    (check.integer, (1,), 0),
    (check.integer, (1,), 2.0),
    (check.integer, (1,), True),
    (check.integer, (1,), "3"),
    (check.at_least, (0,), -1e-9),
    (check.at_least, (0,), math.nan),
    (check.positive, (), 0.0),
    (check.positive, (), math.inf),
    (check.within, (0, 1), 1.0),
    (check.within, (0, 1), "half"),
    (check.one_of, (["a", "b"],), "c"),
    (check.increasing, (), [1, 1]),
    (check.increasing, (), []),
    (check.increasing, (), [0, math.nan]),
    (check.increasing, (), 3),
    (check.at_least, (0,), 10**400),
    (check.length, (1, 2), []),
    (check.distinct, (), ["a", "a"]),
]


@pytest.mark.parametrize(("function", "args", "value"), BAD)
def test_bad_values_are_named(function, args, value):
    with pytest.raises(InputError, match=r"^width .*") as raised:
        function(*args, width=value)
    assert check.shown(value) in str(raised.value) and "\n" not in str(raised.value)


def test_what_is_shown_of_a_value_is_one_short_line():
    for value in (10**400, 10**5000, list(range(1000)), "a\n" * 99, [[[[[[[[1]]]]]]]], {"a": [1] * 50}):
        assert len(check.shown(value)) < 200 and "\n" not in check.shown(value)


def test_what_no_float_holds_is_no_number():
    assert not any(map(check.is_number, [10**400, math.nan, math.inf, True, "1", None, [1], 1j]))
    assert all(map(check.is_number, [0, -1.5, 10**300]))


def test_good_values_pass():
    check.integer(1, a=1, b=10**9)
    check.at_least(0, a=0, b=1e300)
    check.positive(a=1e-300)
    check.within(0, 1, a=0.5)
    check.one_of({"a": 1}, a="a")
    check.increasing(a=[-1, 0.5, 2], b=(3,))
    check.length(1, 2, a=[1], b=[1, 1])
    check.distinct(a=[1, 2])
