"""What one network learns in the plane: signs against the stripe counted anew, weights that turn or stay."""

import numpy as np
import pytest

from companion.papers.compression.studies import output_scale
from companion.papers.compression.theory import amplification
from regimes.models.one_hidden import one_hidden
from regimes.seeds import draw_seeds

SETTING = {"shape": "stripe", "interfaces": [-0.3, 1.18549], "d": 2, "p": 60, "h": 60, "tolerance": 0.05, "until": 0.98}


@pytest.fixture(scope="module")
def rows():
    return {alpha: output_scale.predictors(SETTING | {"alpha": alpha}, [0])[0] for alpha in (1e-6, 1e6)}


@pytest.mark.parametrize("alpha", [1e-6, 1e6])
def test_signs_are_those_of_the_stripe_but_for_the_share_said(rows, alpha):
    side = np.linspace(-output_scale.REACH, output_scale.REACH, output_scale.SIDE)
    label = np.where((side > -0.3) & (side < 1.18549), -1, 1)[:, None]  # the first axis comes first
    F = np.reshape(rows[alpha]["F"], (output_scale.SIDE, output_scale.SIDE))
    wrong = (F * label <= 0).mean()
    assert wrong == pytest.approx(rows[alpha]["wrong"], abs=1e-9) and wrong < 0.25
    across = (F.T * label <= 0).mean()
    assert across > wrong + 0.1  # the other axis is not the informative one


def test_small_scales_turn_the_weights_and_large_ones_leave_them(rows):
    weights = one_hidden(2, SETTING["h"], seeds=draw_seeds("weights", [0], size=SETTING["p"]))
    start = float(amplification(weights.omega, 1))
    assert rows[1e6]["amplification"] == pytest.approx(start, rel=0.05) and rows[1e-6]["amplification"] > 2 * start
    arrows = {alpha: np.array(row["arrows"]) for alpha, row in rows.items()}
    along = {alpha: (a[:, 0] ** 2).sum() / (a**2).sum() for alpha, a in arrows.items()}
    assert along[1e-6] > 0.9 and along[1e6] < 0.75
    assert rows[1e-6]["points"] == rows[1e6]["points"]
