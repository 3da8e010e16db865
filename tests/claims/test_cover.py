"""Claims on Cover's theorem on made rows: reproduced where half fit at P = 2N, not where networks need more."""

import numpy as np
import pandas as pd
import pytest

from companion.book import ledger
from companion.papers.jamming.theory.separability import separable_share

SEEDS, N = range(48), 210
RATIOS = (1.75, 1.9, 2.0, 2.1, 2.25)


def verdict(name, **tables):
    """The verdict that a claim's function gives on these rows."""
    claim = ledger.claims()[name]
    return ledger.judge(claim, claim.function(**tables)[0], "laptop")


def programs(needed, h=10):
    """Networks of which half fit where they have ``needed`` times P/2 parameters."""
    random = np.random.default_rng(h)
    return pd.DataFrame(
        {"seed": seed, "h": h, "points": points, "parameters": N, "separable": int(random.random() < share)}
        for seed in SEEDS
        for points in (round(ratio * N) for ratio in RATIOS)
        for share in [separable_share(points, N / needed)]
    )


@pytest.mark.parametrize(("needed", "said"), [(1.0, "reproduced"), (1.11, "not reproduced")])
def test_linear_programs_at_covers_size(needed, said):
    rows = {"points": programs(needed, 10), "shallow": programs(needed, 20), "deep": programs(needed, 8)}
    tried_first = {name: pd.concat([own, programs(1.5, 7)]) for name, own in rows.items()}
    assert verdict("B.Sec2-cover", **tried_first) == said, "widths on which it was tried first do not count"
    assert verdict("B.Sec2-cover-images", images=pd.concat(rows)) == said


@pytest.mark.parametrize(
    ("needed", "stopped", "longest"), [(1.0, "not reproduced", "reproduced"), (1.11, "reproduced", "not reproduced")]
)
def test_trained_networks_at_covers_size(needed, stopped, longest):
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {"seed": seed, "p": p, "steps": steps, "members": 4, "parameters": n, "fitted": random.binomial(4, share) / 4}
        for seed in range(24)
        for steps in (200, 3200)
        for p in (240, 480)
        for n in (p * 9 // 20, p // 2, p * 11 // 20, p * 6 // 10)
        for share in [separable_share(p, n / needed)]
    )
    assert verdict("B.Fig4-cover-stopped", lazy=rows) == stopped
    assert verdict("B.Fig4-cover-trained", lazy=rows) == longest
