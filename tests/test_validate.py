"""Each check names the parameter, what was given, and what is allowed, and lets good values pass."""

import math

import pytest

from regimes import validate
from regimes.validate import InputError

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
