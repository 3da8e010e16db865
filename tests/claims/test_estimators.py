"""Every claim on stored rows: what its estimator must not see does not matter, and what it says it takes does."""

import itertools
import math

import numpy as np
import pytest

from companion.book import claims
from companion.book.everywhere import Others
from companion.estimates import Drift
from companion.lab import parameters, schedule
from companion.lab.table import CELL, STAMP, origin
from tests.stored_ledger import NotStoredError, Stored, refuse

SIZES, COMMON = (1.0, 3.0), (1.0, 1e-6, 1e6, -1.0)  # factors of nonsense: in each row, in all; until one matters
# of two tasks that furthest from the statement, which of shares is the same one whatever the other holds
FURTHEST = {"A.Fig10-projection", "A.Fig10-centred-first"}
SWITCH = "task"  # an argument that says which of its tables a claim is about


def ends(result):
    """The numbers of an estimate."""
    measured = result[0]
    parts = (measured.whole, measured.late) if isinstance(measured, Drift) else (measured,)
    return [end for part in parts for end in (part.value, part.low, part.high)]


def taken(claim):
    return [(study, design) for study, designs in claim.designs.items() for design in sorted(designs)]


def shuffled(table, rng):
    """The same rows in another order under other labels, with a column that nobody asked for."""
    table = table.sample(frac=1, random_state=int(rng.integers(2**31)))
    table.index = rng.permutation(10 * len(table))[: len(table)]
    return table.assign(foreign=rng.normal(size=len(table)))


def without_a_seed(table):
    seeds = sorted(table.seed.unique()) if "seed" in table else []
    return table[table.seed != seeds[-1]] if len(seeds) > 3 else table


def turned_to_nonsense(table, rng, size, common):
    """What was measured, times a random factor of its own in each row, and a common one; switches turned at random."""
    setting = origin(table[CELL].iloc[0]).cell.setting if len(table) else {}
    measured = [name for name in table if name not in {*setting, "seed", CELL, *STAMP}]
    table = table.copy()
    for name in measured:
        if table[name].dtype == bool:
            table[name] = rng.permutation(~table[name].to_numpy())
        elif table[name].dtype.kind in "fi":
            table[name] = table[name] * common * np.exp(size * rng.normal(size=len(table)))
        else:
            table[name] = [_noisy(value, rng, common) for value in table[name]]
    return table


def _noisy(entry, rng, common):
    if isinstance(entry, list) and entry and all(type(one) is float for one in entry):  # often, and long
        return (np.array(entry) * common * np.exp(rng.normal(size=len(entry)))).tolist()
    if isinstance(entry, list):
        return [_noisy(one, rng, common) for one in entry]
    return entry * common * math.exp(rng.normal()) if isinstance(entry, float) else entry


def matters(claim, page, nonsense, value):
    """Whether an estimate is another one than ``value`` on tables of nonsense, which it may refuse."""
    try:
        return ends(claim.measured(Others(page, nonsense))) != value
    except Exception:
        return True


@pytest.mark.parametrize("number", parameters.chapters())
def test_every_estimator(number, monkeypatch):
    monkeypatch.setattr(schedule, "fill", refuse)
    page, rng, count, faults = Stored(number), np.random.default_rng(0), 0, []
    for claim in claims.claims_of(number):
        try:
            tables = {(study.name, design): page.rows(study, design) for study, design in taken(claim)}
        except NotStoredError:
            continue
        if not tables or not all(map(len, tables.values())):
            continue
        value = ends(claim.measured(page))
        count += 1
        other = ends(claim.measured(Others(page, {key: shuffled(table, rng) for key, table in tables.items()})))
        if not np.allclose(other, value, rtol=1e-7, atol=1e-12, equal_nan=True):
            faults.append(f"{claim.id}: {value} hangs on the order of rows, their labels or a foreign column: {other}")
        fewer = claim.measured(Others(page, {key: without_a_seed(table) for key, table in tables.items()}))
        if fewer is None or max(value[1], ends(fewer)[1]) > min(value[2], ends(fewer)[2]):
            faults.append(f"{claim.id}: one seed less moves it from {value} to {fewer and ends(fewer)}")
        idle = [
            key
            for key, table in tables.items()
            # the least of several numbers may be another table's at small factors
            if not any(
                matters(claim, page, {key: turned_to_nonsense(table, rng, size, common)}, value)
                for size, common in itertools.product(SIZES, COMMON)
            )
        ]
        if idle and claim.id not in FURTHEST and not (SWITCH in claim.given and len(idle) < len(tables)):
            faults.append(f"{claim.id}: what these hold does not matter: {idle}")
    assert not faults, "\n".join(faults)
    assert count > 5
