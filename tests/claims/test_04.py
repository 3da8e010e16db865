"""Measures of chapter 4's claims and figures on made rows."""

import pandas as pd
import pytest

from companion.papers.kernel_pca.claims import kernel_pca as claims


def test_the_power_of_the_distance_is_that_of_the_last_share_before_the_end():
    powers = {"start": 1, "0.5": 2, "0.9": -0.5, "end": 3}
    rows = [
        {"moment": moment, "amplification": factor, "departure": 0.1 * factor**power}
        for moment, power in powers.items()
        for factor in (10, 20, 50)
    ]
    assert claims.departure_power(pd.DataFrame(rows)) == pytest.approx(-0.5)
