"""Rows made by hand, in which a claim's number is known, and what the claim says of them.

Each maker makes the tables of one or several claims: the rows that a statement is about have a ``number``, and all
others (other dimensions, sizes, kernels, stops) have the ``other`` one. A claim must reproduce the statement's number
among rows with its rival's, and refuse the rival's among rows with the statement's. The number is the claim's own, or
one that decides it, such as the index of a tail.
"""

import inspect
import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd

from companion.book import ledger

SEEDS = range(12)


def verdict(name, **arguments):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **arguments})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate, "laptop")


def table(fill, *, scatter=0.01, plus=0.0, draw=0, **axes):
    """A row for each combination of axes, with the columns that ``fill`` makes of it.

    Numbers scatter relatively by ``scatter`` and by ``plus``; lists and words do not. Tables of another ``draw`` have
    another scatter.
    """
    rng, rows = np.random.default_rng(draw), []
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, values))
        columns = fill(SimpleNamespace(**row))
        for name, value in columns.items():
            if isinstance(value, (int, float)):
                row[name] = value * (1 + scatter * rng.standard_normal()) + plus * rng.standard_normal()
            else:
                row[name] = value
        rows.append(row)
    return pd.DataFrame(rows)


class Made(dict):
    """Makers of rows by the names of the claims that they are for."""

    def __call__(self, *names, holds=None, fails=None):
        """Decorator: claims on these rows hold at one number, by default the stated one, and not at their rival's."""

        def wrap(maker):
            for name in names:
                assert name not in self, name
                self[name] = (maker, holds, fails)
            return maker

        return wrap

    def check(self, name):
        """A claim reproduces its statement, and refuses its rival."""
        maker, holds, fails = self[name]
        claim = ledger.claims()[name]
        holds = claim.stated if holds is None else holds
        fails = claim.alternative["value"] if fails is None else fails
        wanted = {key: it for key, it in claim.given.items() if key in inspect.signature(maker).parameters}
        assert verdict(name, **maker(holds, fails, **wanted)) == "reproduced"
        assert verdict(name, **maker(fails, holds, **wanted)) == refused(claim, fails)


def refused(claim, number):
    """What is said of a number outside what a claim accepts."""
    low, high = claim.corrected or (1, -1)
    corrects = claim.erratum and ledger.errata()[claim.erratum].drawer == "error"
    return "corrected" if corrects and low <= number <= high else "not reproduced"
