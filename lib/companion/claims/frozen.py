"""Claims of chapter 6 on the law of lazy training, and on what features add to it."""

import numpy as np

from companion.estimates import mean
from companion.report.claims import claim
from companion.studies.alignment import lazy_ends, paths

CHAPTER = "06"
SOURCE = "paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it"


def first_layer(rows, scale):
    """``(seeds, steps)`` each: the C-NFA of the first layer at a scale, and its law of lazy training."""
    rows = rows[(rows.layer == 1) & (rows.scale == scale) & (rows.step > 0)]
    return rows.pivot(index="seed", columns="step", values="c"), rows.pivot(
        index="seed", columns="step", values="frozen"
    )


@claim(
    "D.Fig2-law", SOURCE, kind="beyond", accept=(0, 0.06), rival=(0.15, "an alignment that stays what it is early"),
    figure="fig-d-frozen", short="C-NFA off its lazy law, scale 1", at={"scales": 1.0},
)  # fmt: skip
def distance_from_the_law(frozen=paths["frozen"]):
    r"""At scale 1 the alignment follows the law of lazy training.

    root mean square over training of the C-NFA of the first layer less its value in gradient flow with the kernel of
    the start
    """
    c, law = first_layer(frozen, 1.0)
    return mean(np.sqrt(((c - law) ** 2).mean(axis=1)))


@claim(
    "D.Fig2-law-end", SOURCE, kind="beyond", accept=(0.4, 0.65), rival=(0.8, "the alignment stays what it is early"),
    figure="fig-d-frozen", short="lazy law at the end, scale 1", at={"scales": 1.0},
)  # fmt: skip
def end_of_the_law(frozen=paths["frozen"]):
    r"""Lazy training on the chain monomial loses a part of the early alignment.

    the law at the end of training, scale 1
    """
    _, law = first_layer(frozen, 1.0)
    return mean(law.iloc[:, -1])


@claim(
    "D.Fig2-regained", SOURCE, kind="beyond", accept=(0.05, 1), rival=(0, "the alignment only grows, or only falls"),
    figure="fig-d-frozen", short="end over least C-NFA, scale 0.1", at={"scales": 0.1}, headline=True,
)  # fmt: skip
def regained_alignment(frozen=paths["frozen"]):
    r"""At scale 0.1 the early alignment is first lost, then regained.

    C-NFA of the first layer at the end of training less its least value on the way; it also falls from the first
    measured step to that value
    """
    c, _ = first_layer(frozen, 0.1)
    least = c.min(axis=1)
    return mean(np.minimum(c.iloc[:, -1] - least, c.iloc[:, 0] - least))


@claim(
    "D.Fig2-features", SOURCE, kind="beyond", accept=(0.2, 1), rival=(0, "lazy training: the kernel stays as it is"),
    figure="fig-d-frozen", short="end less the lazy law, scale 0.01", at={"scales": 0.01}, headline=True,
)  # fmt: skip
def sign_of_features(frozen=paths["frozen"]):
    r"""What the alignment has at the end beyond the law of lazy training is the sign of feature learning.

    C-NFA of the first layer at the end of training less its law, scale 0.01
    """
    c, law = first_layer(frozen, 0.01)
    return mean(c.iloc[:, -1] - law.iloc[:, -1])


def ends_of_laws(tasks):
    """``(seeds, tasks)``: the law of the first layer when the least share of the loss is left."""
    ends = tasks[(tasks.layer == 1) & (tasks.remains == tasks.remains.min())]
    return ends.pivot(index="seed", columns="task", values="c")


@claim(
    "D.Lazy-task", "derived from paper D, Sec. 2.3", kind="beyond", accept=(0.1, 1),
    rival=(0, "lazy training loses the same on every task"), figure="tab-d-lazy",
    short="lazy end, stripe less chain monomial",
)  # fmt: skip
def lazy_end_in_task(tasks=lazy_ends["tasks"]):
    r"""What lazy training leaves of the early alignment depends on the task: on the stripe more than on the chain
    monomial.

    the law of the first layer when a hundredth of the loss is left, stripe less chain monomial of isotropic points;
    same networks and sizes
    """
    ends = ends_of_laws(tasks)
    return mean(ends["stripe"] - ends["isotropic"])
