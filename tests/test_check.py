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
]


@pytest.mark.parametrize(("function", "args", "value"), BAD)
def test_bad_values_are_named(function, args, value):
    with pytest.raises(InputError, match=r"^width .*") as raised:
        function(*args, width=value)
    assert repr(value) in str(raised.value) and "\n" not in str(raised.value)


def test_good_values_pass():
    check.integer(1, a=1, b=10**9)
    check.at_least(0, a=0, b=1e300)
    check.positive(a=1e-300)
    check.within(0, 1, a=0.5)
    check.one_of({"a": 1}, a="a")
    check.increasing(a=[-1, 0.5, 2], b=(3,))
