"""Claims of chapter 6 on the law of lazy training, and on what features add to it."""

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import mean
from companion.papers.alignment.studies.alignment import correlations, lazy_predictions

CHAPTER = "06"
SECOND = {"rows": correlations["slow"], "layer": 2}
SLOWLY = {"rate": 0.0125}


def alignment_curves(rows, scale, layer=1):
    """``(seeds, steps)`` each: the C-NFA of a layer at a scale of the initial weights, and its law of lazy training."""
    rows = rows[(rows.layer == layer) & (rows.scale == scale) & (rows.step > 0)]
    alignment = rows.pivot(index="seed", columns="step", values="c")
    law = rows.pivot(index="seed", columns="step", values="frozen")
    return alignment, law


@claim(
    "D.Fig2-law",
    kind="beyond",
    accept=(0, 0.06),
    rival=0.15,
    figure="fig-d-frozen",
    given={"rows": correlations["frozen"]},
    at={"scales": 1.0},
)
@again(
    "D.Fig2-law-slow",
    rival=(0.12, "the distance at the rate 0.05"),
    given={"rows": correlations["slow"]},
    at={"scales": 1.0} | SLOWLY,
    statement=("At a quarter of the rate the first layer's alignment follows the law of lazy training from scale 1."),
    short="the same at a quarter of the rate",
)
def distance_from_the_law(rows):
    """At scale 1 the alignment follows the law of lazy training.

    root mean square over training of the C-NFA of the first layer less its value in gradient flow with the kernel of
    the start

    Rival: an alignment that stays what it is early
    Elsewhere: rate 0.0125 0.03
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: C-NFA off its lazy law, scale 1
    """
    c, law = alignment_curves(rows, 1.0)
    return mean(np.sqrt(((c - law) ** 2).mean(axis=1)))


@claim("D.Fig2-law-end", kind="beyond", accept=(0.4, 0.65), rival=0.8, figure="fig-d-frozen", at={"scales": 1.0})
def end_of_the_law(frozen=correlations["frozen"]):
    """Lazy training on the chain monomial loses a part of the early alignment.

    the law at the end of training, scale 1

    Rival: the alignment stays what it is early
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: lazy law at the end, scale 1
    """
    _, law = alignment_curves(frozen, 1.0)
    return mean(law.iloc[:, -1])


@claim(
    "D.Fig2-regained",
    kind="beyond",
    accept=(0.05, 1),
    rival=0,
    headline=True,
    figure="fig-d-frozen",
    given={"rows": correlations["frozen"], "layer": 1},
    at={"scales": 0.1},
)
@again(
    "D.Fig2-second-regained",
    accept=(0, 0.05),
    rival=(0.16, "what the first layer regains"),
    figure="tab-d-end",
    given=SECOND,
    at={"scales": 0.1} | SLOWLY,
    statement="The second layer loses so little of its early alignment that there is little to regain.",
    measure="The same of the second layer, at a quarter of the rate.",
    short="slowly, layer 2: the same",
)
def regained_alignment(rows, *, layer):
    """At scale 0.1 the early alignment is first lost, then regained.

    C-NFA of the first layer at the end of training less its least value on the way; it also falls from the first
    measured step to that value

    Rival: the alignment only grows, or only falls
    Elsewhere: spectrum $1/(1+k^2)$, 6400 steps, 0.004
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: end over least C-NFA, scale 0.1
    """
    c, _ = alignment_curves(rows, 0.1, layer)
    minimum = c.min(axis=1)
    return mean(np.minimum(c.iloc[:, -1] - minimum, c.iloc[:, 0] - minimum))


@claim(
    "D.Fig2-features",
    kind="beyond",
    accept=(0.2, 1),
    rival=0,
    headline=True,
    figure="fig-d-frozen",
    given={"rows": correlations["frozen"], "layer": 1, "scale": 0.01},
    at={"scales": 0.01},
)
@again(
    "D.Fig2-second-features",
    accept=(0.05, 1),
    rival=(0, "the second layer's kernel stays"),
    figure="tab-d-end",
    given=SECOND | {"scale": 0.1},
    at={"scales": 0.1} | SLOWLY,
    statement="In the second layer, too, features leave the alignment above the law of lazy training.",
    measure="C-NFA of the second layer at the end of training less its law, scale 0.1, a quarter of the rate.",
    short="slowly, layer 2: end less law, scale 0.1",
)
@again(
    "D.Fig2-second-large",
    accept=(0.05, 1),
    rival=(0, "as at the rate 0.05: from scale 1 it ends at its law"),
    figure="tab-d-end",
    given=SECOND | {"scale": 1.0},
    at={"scales": 1.0} | SLOWLY,
    statement="From scale 1, too, the second layer ends above its law where no network becomes unstable.",
    measure="The same at scale 1.",
    short="slowly, layer 2: end less law, scale 1",
)
def sign_of_features(rows, *, scale, layer):
    """Networks that learn features end with more alignment than the law of lazy training.

    C-NFA of the first layer at the end of training less its law, scale 0.01; at this rate the step alone makes about a
    tenth, by which networks of scale 1 end beyond the law

    Rival: lazy training: the kernel stays as it is
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: end less the lazy law, scale 0.01
    """
    c, law = alignment_curves(rows, scale, layer)
    return mean(c.iloc[:, -1] - law.iloc[:, -1])


def final_laws(tasks):
    """``(seeds, tasks)``: the law of the first layer when the least share of the loss is left."""
    ends = tasks[(tasks.layer == 1) & (tasks.remains == tasks.remains.min())]
    return ends.pivot(index="seed", columns="task", values="c")


@claim("D.Lazy-task", accept=(0.1, 1), rival=0, figure="tab-d-lazy")
def lazy_end_in_task(tasks=lazy_predictions["tasks"]):
    """What lazy training leaves of the early alignment depends on the task: on the stripe more than on the chain
    monomial.

    the law of the first layer when a hundredth of the loss is left, stripe less chain monomial of isotropic points;
    same networks and sizes

    Rival: lazy training loses the same on every task
    Source: derived from paper D, Sec. 2.3
    Short: lazy end, stripe less chain monomial
    """
    laws = final_laws(tasks)
    return mean(laws["stripe"] - laws["isotropic"])
