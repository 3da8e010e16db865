"""Claims of chapter 2: the compression of paper A, and its square root."""

import math

from companion.estimates import mean
from companion.report.claims import claim
from companion.studies import compression as studies

CHAPTER = "02"


def at_last_frame(rows, column):
    """``(seeds,)``: a column at the last frame of each run."""
    return rows.sort_values("frame").groupby("seed")[column].last().to_numpy()


@claim(
    "A.Fig2-feature",
    "paper A, Fig. 2 right; paper B, Fig. 10 left",
    accept=(0.9, math.inf),
    rival=(0.5, "isotropic weights, $1/d$"),
    figure="fig-a-2",
    short="weight along the informative axis",
)
def aligned_share(feature=studies.frames["feature"]):
    r"""At the end of feature learning the weights have aligned with $e_1$.

    share of $\sum(\beta\omega)^2$ along $e_1$
    """
    return mean(at_last_frame(feature, "share"))
