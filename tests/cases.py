"""One property over many cases as one test: a case costs no collection, and every one that fails is named."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from regimes.validate import InputError


def for_each(cases: Mapping[str, Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Makes one test of a function and its cases: it is called with each case's value, a tuple as its arguments.

    Raises:
        ExceptionGroup: with what went wrong in each case that fails, which carries the case's name.
    """

    def made(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert cases
            failed = []
            for name, case in cases.items():
                try:
                    check(*case if isinstance(case, tuple) else (case,))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"the case: {name}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)

        test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
        return test

    return made


def refused(call: Callable[[], Any], words: str) -> None:
    """Asserts that a call is refused with an ``InputError`` of one line that has these words."""
    with pytest.raises(InputError, match=words) as raised:
        call()
    assert "\n" not in str(raised.value)
