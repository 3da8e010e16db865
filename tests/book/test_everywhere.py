"""An estimator on all rows that it can read: where these contradict a claim, this is seen."""

import pytest

from companion import __main__ as command
from companion.book import claims
from companion.book.everywhere import Elsewhere, everywhere
from companion.estimates import Estimate
from companion.lab import parameters


@pytest.fixture(scope="module")
def of_norm():
    """What the estimator of a divergence finds: it is one of lazy networks, and none of others."""
    (norm,) = [one for one in claims.claims_of("03") if one.id == "B.Sec2-norm"]
    return everywhere(norm, command.Rows("03", parameters.resolve("03")))


def test_other_designs_and_other_settings_are_looked_at(of_norm):
    judged, others = of_norm
    by_rows = {other.rows: other for other in others}
    assert judged.low < -0.968 < judged.high
    agrees, lazy = by_rows["design large_ensemble for slices"], by_rows["scale = 12.0"]
    assert not agrees.contradicts(judged), "at 1000 points as at 250"
    assert lazy.contradicts(judged) and -0.4 < lazy.estimate.value < -0.2, "with features the norm hardly diverges"


def test_a_selection_with_the_same_cells_is_no_other(of_norm):
    assert "scale = 1048576.0" not in {other.rows for other in of_norm[1]}, "the claim is judged at this scale"


def test_disjoint_means_a_gap_on_either_side():
    judged = Estimate(1.0, 0.9, 1.1)
    for low, high, gap in ((0.5, 0.89, True), (1.11, 1.2, True), (0.5, 0.9, False), (1.05, 1.06, False)):
        assert Elsewhere("", Estimate((low + high) / 2, low, high)).contradicts(judged) == gap
