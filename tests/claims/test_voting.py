"""Claims of chapter 3 on means and votes, on made rows: where norms have no variance, and where they do."""

import numpy as np
import pandas as pd
import pytest
import torch

from companion.book import ledger
from companion.papers.jamming.claims.voting import hill_index
from companion.papers.jamming.studies._ensembles import poll

SETS, MEMBERS = range(8), 20


def verdict(name, **tables):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    result = claim.function(**{**claim.given, **tables})
    estimate = result[0] if isinstance(result, tuple) else result
    return ledger.judge(claim, estimate, "laptop")


def ensembles(index, centre=5):
    """Predictors of which seven in ten points are right, with norms whose tail has an index at jamming."""
    rows = []
    for seed in SETS:
        for h in (3, 4, 5, 6, 7, 8, 10, 12, 14):
            random = np.random.default_rng([seed, h])
            # each point has a chance of its own to be right
            odds = random.beta(3, 1, size=8000)
            right = np.where(random.random((MEMBERS, 8000)) < odds, 1.0, -1.0)
            near = index if abs(h - centre) <= 2 else 40
            sizes = (1 - random.random(MEMBERS)) ** (-1 / near)
            polled = poll(torch.from_numpy(right * sizes[:, None]), torch.ones(8000, dtype=torch.float64))
            rows.append({"seed": seed, "h": h, "fitted": float(h > centre) / 2 + float(h >= centre) / 2} | polled)
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("index", "expected"), [(0.7, "reproduced"), (40, "not reproduced")])
def test_a_mean_fails_where_norms_have_no_variance(index, expected):
    rows = ensembles(index)
    assert verdict("B.Fig6-vote", rows=rows) == expected
    assert verdict("B.Fig6-vote-far", rows=rows) == "reproduced"
    assert verdict("B.Fig6-vote-bump", large=rows) == "reproduced"


@pytest.mark.parametrize(("index", "expected"), [(0.7, "not reproduced"), (40, "reproduced")])
def test_networks_that_learn_features_are_judged_at_rest(index, expected):
    """At scale 12 the statement is that the mean loses nothing; before rest it is the other way round."""
    at_rest = ensembles(index).assign(newton_steps=1600)
    before = ensembles(40.7 - index).assign(newton_steps=0)
    rows = pd.concat([before, at_rest])
    assert verdict("B.Fig6-vote-features", rows=rows) == expected
    assert verdict("B.Fig6-vote-below", rows=rows) == {"reproduced": "not reproduced"}.get(expected, "reproduced")
    assert verdict("B.Sec2-norm-tail-features", rows=rows) == expected


@pytest.mark.parametrize(("index", "expected"), [(1.2, "reproduced"), (8, "not reproduced")])
def test_the_tail_of_norms(index, expected):
    rows = ensembles(index)
    assert verdict("B.Sec2-norm-tail", rows=rows) == expected
    assert verdict("B.Sec2-norm-tail-far", rows=rows) == "reproduced"


def test_hills_index_is_that_of_a_power_law():
    samples = (1 - np.random.default_rng(0).random(40_000)) ** (-1 / 1.5)
    assert hill_index(samples) == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize(("ratio", "expected"), [(0.97, "reproduced"), (0.66, "not reproduced")])
def test_isostatic_and_not(ratio, expected):
    random = np.random.default_rng(0)
    rows = []
    for seed in SETS:
        for h in (6, 8, 10, 11, 14, 22):
            sizes = (1 - 0.1 * random.random(20)) * 10 / h
            row = {"seed": seed, "h": h, "fitted": float(h > 10), "holding": [1.4] * 20, "weights": [1000.0] * 20}
            if h > 10:
                row |= {"holding": list(ratio * sizes * h / 10), "weights": list(100 * sizes)}
            rows.append(row)
    assert verdict("B.Fig8B-lazy", large=pd.DataFrame(rows)) == expected


@pytest.mark.parametrize(("factor", "expected"), [(1.0, "reproduced"), (0.12, "not reproduced")])
def test_a_norm_beside_theory(factor, expected):
    random = np.random.default_rng(0)
    rows = []
    for seed in SETS:
        for n in (150, 300, 900):
            outlier = 1 if n < 900 else 9
            weights = factor * 1000 / n * np.exp(0.1 * random.standard_normal(20)) * outlier
            row = {"seed": seed, "p": 250, "parameters": n, "predicted": 1000.0 / n, "weights": list(weights)}
            rows.append(row)
    # beyond four times the parameters nothing counts
    assert verdict("B.Sec2-gardner", random=pd.DataFrame(rows)) == expected


def test_a_vote_that_is_even_is_half_an_error():
    outputs = torch.tensor([[1.0, 3.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    row = poll(outputs, torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert row["vote_error"] == 0.25 and row["mean_error"] == 0.5 and row["error"] == 0.25
