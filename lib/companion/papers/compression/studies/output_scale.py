"""Chapter 1, to be seen: what one network learns in the plane as its scale is turned."""

import torch

from companion.lab.record import Count, Share, record
from companion.lab.sweep import STATISTICAL, Rows, study
from companion.papers.compression.studies._flows import Scales, train_network
from companion.papers.compression.theory import amplification
from companion.papers.tasks import DRAWN, ByFlow, StripeSet, draw_tasks, networks_of
from regimes.training.state import satisfied

CHAPTER = "01"
REACH = 3.0  # half the side of the square that is drawn
SIDE = 61  # points along a side of it
SHOWN = 60  # neurons whose weights are stored


@record
class ScaledPlane(ByFlow, StripeSet):
    """Networks in the plane at six or more scales ``alpha``, trained until the share ``until`` of the points is met."""

    d: Count[2, 2]
    alpha: Scales
    until: Share


@study(
    version=1,
    rtol=1e-2,
    columns=dict.fromkeys(("F", "arrows", "wrong", "amplification"), STATISTICAL),  # another device ends elsewhere
    data=DRAWN,
    device="any",
)
def predictors(s: ScaledPlane, seeds: list[int]) -> Rows:
    """The predictor of one network in ``d = 2``, trained until the share ``until`` of its points is met.

    ``F``: on the square of half side ``REACH``, flattened, to four digits; ``wrong``: the share of the square where its
    sign is. ``arrows``: ``βω`` of the first neurons over the root mean square of all. ``points`` and ``labels`` of the
    training set, and the ``amplification``. Data and initial weights are the same for all ``alpha``.

    Source: paper A, Fig. 2 and 12.
    """
    (seed,) = seeds
    (task,) = draw_tasks(s, seeds, "train")
    network = networks_of(s, seeds)
    trained = train_network(network, task, s, until=satisfied(s.until)).network
    side = torch.linspace(-REACH, REACH, SIDE, dtype=torch.float64).to(trained.omega)
    x = torch.cartesian_prod(side, side)
    F = s.alpha * (trained(x) - network(x))[0]
    arrows = trained.beta[0, :, None] * trained.omega[0]
    arrows = arrows / arrows.square().sum(-1).mean().sqrt()
    row = {
        "seed": seed,
        "F": [float(f"{f:.4g}") for f in F.tolist()],
        "arrows": arrows[:SHOWN].tolist(),
        "points": task.x[0].tolist(),
        "labels": task.y[0].tolist(),
        "wrong": float((F * task.label(x) <= 0).double().mean()),
        "amplification": float(amplification(trained.omega, 1)),
    }
    return [row]
