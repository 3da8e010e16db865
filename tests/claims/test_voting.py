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
    found = claim.function(**{**claim.given, **tables})
    return ledger.judge(claim, found[0] if isinstance(found, tuple) else found, "laptop")


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


@pytest.mark.parametrize(("index", "said"), [(0.7, "reproduced"), (40, "not reproduced")])
def test_a_mean_fails_where_norms_have_no_variance(index, said):
    rows = ensembles(index)
    assert verdict("B.Fig6-vote", rows=rows) == said
    assert verdict("B.Fig6-vote-far", rows=rows) == "reproduced"
    assert verdict("B.Fig6-vote-bump", large=rows) == "reproduced"


@pytest.mark.parametrize(("index", "said"), [(0.7, "not reproduced"), (40, "reproduced")])
def test_networks_that_learn_features_are_judged_at_rest(index, said):
    """At scale 12 the statement is that the mean loses nothing; before rest it is the other way round."""
    rest, before = (ensembles(one).assign(newton_steps=n) for one, n in ((index, 1600), (40.7 - index, 0)))
    rows = pd.concat([before, rest])
    assert verdict("B.Fig6-vote-features", rows=rows) == said
    assert verdict("B.Fig6-vote-below", rows=rows) == {"reproduced": "not reproduced"}.get(said, "reproduced")
    assert verdict("B.Sec2-norm-tail-features", rows=rows) == said


@pytest.mark.parametrize(("index", "said"), [(1.2, "reproduced"), (8, "not reproduced")])
def test_the_tail_of_norms(index, said):
    rows = ensembles(index)
    assert verdict("B.Sec2-norm-tail", rows=rows) == said
    assert verdict("B.Sec2-norm-tail-far", rows=rows) == "reproduced"


def test_hills_index_is_that_of_a_power_law():
    samples = (1 - np.random.default_rng(0).random(40_000)) ** (-1 / 1.5)
    assert hill_index(samples) == pytest.approx(1.5, abs=0.05)


@pytest.mark.parametrize(("held", "said"), [(0.97, "reproduced"), (0.66, "not reproduced")])
def test_isostatic_and_not(held, said):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"seed": seed, "h": h, "fitted": float(h > 10), "holding": holding, "weights": weights}
        for seed in SETS
        for h in (6, 8, 10, 11, 14, 22)
        for sizes in [(1 - 0.1 * random.random(20)) * 10 / h]
        for weights in [list(100 * sizes) if h > 10 else [1000.0] * 20]
        for holding in [list(held * sizes * h / 10) if h > 10 else [1.4] * 20]
    )
    assert verdict("B.Fig8B-lazy", large=rows) == said


@pytest.mark.parametrize(("factor", "said"), [(1.0, "reproduced"), (0.12, "not reproduced")])
def test_a_norm_beside_theory(factor, said):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"seed": seed, "p": 250, "parameters": n, "predicted": 1000.0 / n, "weights": list(weights)}
        for seed in SETS
        for n in (150, 300, 900)
        for weights in [factor * 1000 / n * np.exp(0.1 * random.standard_normal(20)) * (1 if n < 900 else 9)]
    )
    assert verdict("B.Sec2-gardner", random=rows) == said, "beyond four times the parameters nothing counts"


def test_a_vote_that_is_even_is_half_an_error():
    outputs = torch.tensor([[1.0, 3.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], dtype=torch.float64)
    found = poll(outputs, torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert found["vote_error"] == 0.25 and found["mean_error"] == 0.5 and found["error"] == 0.25
