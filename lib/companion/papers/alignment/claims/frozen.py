"""Claims of chapter 6 on the law of lazy training, and on what features add to it."""

import numpy as np

from companion.book.claims import claim
from companion.estimates import mean
from companion.papers.alignment.studies.alignment import correlations, lazy_predictions

CHAPTER = "06"
SECOND = {"rows": correlations["slow"], "layer": 2}
SLOWLY = {"rate": 0.0125}
SOURCE = "paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it"


def alignment_curves(rows, scale, layer=1):
    """``(seeds, steps)`` each: the C-NFA of a layer at a scale of the initial weights, and its law of lazy training."""
    rows = rows[(rows.layer == layer) & (rows.scale == scale) & (rows.step > 0)]
    alignment = rows.pivot(index="seed", columns="step", values="c")
    law = rows.pivot(index="seed", columns="step", values="frozen")
    return alignment, law


@claim(
    "D.Fig2-law", SOURCE, kind="beyond", accept=(0, 0.06), rival=(0.15, "an alignment that stays what it is early"),
    figure="fig-d-frozen", short="C-NFA off its lazy law, scale 1", at={"scales": 1.0},
    given={"rows": correlations["frozen"]},
)  # fmt: skip
@claim(
    "D.Fig2-law-slow", SOURCE, kind="beyond", accept=(0, 0.06), rival=(0.12, "the distance at the rate 0.05"),
    figure="fig-d-frozen", short="the same at a quarter of the rate", at={"scales": 1.0} | SLOWLY,
    statement="At a quarter of the rate the first layer's alignment follows the law of lazy training from scale 1.",
    given={"rows": correlations["slow"]},
)  # fmt: skip
def distance_from_the_law(rows):
    r"""At scale 1 the alignment follows the law of lazy training.

    root mean square over training of the C-NFA of the first layer less its value in gradient flow with the kernel of
    the start
    """
    c, law = alignment_curves(rows, 1.0)
    return mean(np.sqrt(((c - law) ** 2).mean(axis=1)))


@claim(
    "D.Fig2-law-end", SOURCE, kind="beyond", accept=(0.4, 0.65), rival=(0.8, "the alignment stays what it is early"),
    figure="fig-d-frozen", short="lazy law at the end, scale 1", at={"scales": 1.0},
)  # fmt: skip
def end_of_the_law(frozen=correlations["frozen"]):
    r"""Lazy training on the chain monomial loses a part of the early alignment.

    the law at the end of training, scale 1
    """
    _, law = alignment_curves(frozen, 1.0)
    return mean(law.iloc[:, -1])


@claim(
    "D.Fig2-regained", SOURCE, kind="beyond", accept=(0.05, 1), rival=(0, "the alignment only grows, or only falls"),
    figure="fig-d-frozen", short="end over least C-NFA, scale 0.1", at={"scales": 0.1}, headline=True,
    given={"rows": correlations["frozen"], "layer": 1},
)  # fmt: skip
@claim(
    "D.Fig2-second-regained", SOURCE, kind="beyond", accept=(0, 0.05), rival=(0.16, "what the first layer regains"),
    figure="tab-d-end", short="slowly, layer 2: the same", at={"scales": 0.1} | SLOWLY, given=SECOND,
    statement="The second layer loses so little of its early alignment that there is little to regain.",
    measure="The same of the second layer, at a quarter of the rate.",
)  # fmt: skip
def regained_alignment(rows, *, layer):
    r"""At scale 0.1 the early alignment is first lost, then regained.

    C-NFA of the first layer at the end of training less its least value on the way; it also falls from the first
    measured step to that value
    """
    c, _ = alignment_curves(rows, 0.1, layer)
    minimum = c.min(axis=1)
    return mean(np.minimum(c.iloc[:, -1] - minimum, c.iloc[:, 0] - minimum))


@claim(
    "D.Fig2-features", SOURCE, kind="beyond", accept=(0.2, 1), rival=(0, "lazy training: the kernel stays as it is"),
    figure="fig-d-frozen", short="end less the lazy law, scale 0.01", at={"scales": 0.01}, headline=True,
    given={"rows": correlations["frozen"], "layer": 1, "scale": 0.01},
)  # fmt: skip
@claim(
    "D.Fig2-second-features", SOURCE, kind="beyond", accept=(0.05, 1), rival=(0, "the second layer's kernel stays"),
    figure="tab-d-end", short="slowly, layer 2: end less law, scale 0.1", at={"scales": 0.1} | SLOWLY,
    statement="In the second layer, too, features leave the alignment above the law of lazy training.",
    measure="C-NFA of the second layer at the end of training less its law, scale 0.1, a quarter of the rate.",
    given=SECOND | {"scale": 0.1},
)  # fmt: skip
@claim(
    "D.Fig2-second-large", SOURCE, kind="beyond", accept=(0.05, 1),
    rival=(0, "as at the rate 0.05: from scale 1 it ends at its law"),
    figure="tab-d-end", short="slowly, layer 2: end less law, scale 1", at={"scales": 1.0} | SLOWLY,
    statement="From scale 1, too, the second layer ends above its law where no network becomes unstable.",
    measure="The same at scale 1.", given=SECOND | {"scale": 1.0},
)  # fmt: skip
def sign_of_features(rows, *, scale, layer):
    r"""Networks that learn features end with more alignment than the law of lazy training.

    C-NFA of the first layer at the end of training less its law, scale 0.01; at this rate the step alone makes about
    a tenth, by which networks of scale 1 end beyond the law
    """
    c, law = alignment_curves(rows, scale, layer)
    return mean(c.iloc[:, -1] - law.iloc[:, -1])


def final_laws(tasks):
    """``(seeds, tasks)``: the law of the first layer when the least share of the loss is left."""
    ends = tasks[(tasks.layer == 1) & (tasks.remains == tasks.remains.min())]
    return ends.pivot(index="seed", columns="task", values="c")


@claim(
    "D.Lazy-task", "derived from paper D, Sec. 2.3", kind="beyond", accept=(0.1, 1),
    rival=(0, "lazy training loses the same on every task"), figure="tab-d-lazy",
    short="lazy end, stripe less chain monomial",
)  # fmt: skip
def lazy_end_in_task(tasks=lazy_predictions["tasks"]):
    r"""What lazy training leaves of the early alignment depends on the task: on the stripe more than on the chain
    monomial.

    the law of the first layer when a hundredth of the loss is left, stripe less chain monomial of isotropic points;
    same networks and sizes
    """
    laws = final_laws(tasks)
    return mean(laws["stripe"] - laws["isotropic"])
