"""Claims of chapter 6 on the law of lazy training, and on what features add to it."""

import numpy as np

from companion.book.claims import again, claim
from companion.estimates import jackknife, least, mean
from companion.papers.alignment.studies.alignment import correlations, lazy_layers

CHAPTER = "06"
SLOWLY = {"rate": 0.0125}  # a quarter of the paper's step: no network's loss rises


def alignment_curves(rows, scale):
    """``(seeds, steps)`` each: the first layer's C-NFA from a scale of the initial weights, and its law when lazy."""
    rows = rows[(rows.layer == 1) & (rows.scale == scale) & (rows.step > 0)]
    alignment = rows.pivot(index="seed", columns="step", values="c")
    law = rows.pivot(index="seed", columns="step", values="frozen")
    return alignment, law


def excesses(rows, layer=1):
    """``(seeds, scales)``: the C-NFA of a layer at the end of training less its law of lazy training."""
    end = rows[(rows.layer == layer) & (rows.step == rows.step.max())]
    return end.assign(excess=end.c - end.frozen).pivot(index="seed", columns="scale", values="excess")


@claim(
    "D.Fig2-law-slow", kind="beyond", accept=(0, 0.06), rival=0.12, figure="fig-d-frozen", at={"scales": 1.0} | SLOWLY
)
def distance_from_the_law(slow=correlations["slow"]):
    """At scale 1 the alignment follows the law of lazy training, if the step is so small that the loss never rises.

    root mean square over training of the C-NFA of the first layer less its value in gradient flow with the kernel of
    the start, at a quarter of the paper's rate

    Rival: the distance at the paper's rate
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: C-NFA off its lazy law, scale 1
    """
    c, law = alignment_curves(slow, 1.0)
    return mean(np.sqrt(((c - law) ** 2).mean(axis=1)))


@claim("D.Fig2-law-end", kind="beyond", accept=(0.4, 0.65), rival=0.8, figure="fig-d-frozen", at={"scales": 1.0})
def end_of_the_law(slow=correlations["slow"]):
    """Lazy training on the chain monomial loses a part of the early alignment.

    the law at the end of training, scale 1

    Rival: the alignment stays what it is early
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: lazy law at the end, scale 1
    """
    _, law = alignment_curves(slow, 1.0)
    return mean(law.iloc[:, -1])


@claim("D.Abs-speed", kind="beyond", accept=(0.8, 1.25), rival=0, figure="fig-d-frozen", at={"scales": 1.0} | SLOWLY)
def speed_of_the_fall(slow=correlations["slow"]):
    """The law of lazy training gives the speed at which the alignment develops at scale 1.

    fall of the first layer's C-NFA from step 5 until the law has made half of its fall, over that of the law; means
    over networks

    Rival: the C-NFA stays what the second derivatives at the start make it, all that paper D computes
    Source: paper D, abstract: "the speed of NFA development can be predicted analytically"
    Short: early fall of the C-NFA over the law's
    """
    curves = np.stack(alignment_curves(slow, 1.0), 1)  # (seeds, two, steps)
    law = curves[:, 1].mean(0)
    half = int(np.argmax(law[0] - law >= (law[0] - law[-1]) / 2))

    def fall(values):
        network, flow = values[..., 0].mean(0) - values[..., half].mean(0)
        return network / flow

    return jackknife(curves, fall)


@claim(
    "D.Fig2-regained-slow",
    kind="beyond",
    accept=(0.05, 1),
    rival=0,
    headline=True,
    figure="fig-d-frozen",
    at={"scales": 0.1} | SLOWLY,
)
def regained_alignment(slow=correlations["slow"]):
    """At scale 0.1 the early alignment is first lost, then regained.

    C-NFA of the first layer at the end of training less its least value on the way; it also falls from the first
    measured step to that value

    Rival: the alignment only grows, or only falls
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: end over least C-NFA, scale 0.1
    """
    c, _ = alignment_curves(slow, 0.1)
    minimum = c.min(axis=1)
    return mean(np.minimum(c.iloc[:, -1] - minimum, c.iloc[:, 0] - minimum))


@claim(
    "D.Fig2-excess",
    kind="beyond",
    accept=(0.2, 1),
    rival=0.12,
    headline=True,
    figure="fig-d-frozen",
    given={"rows": correlations["slow"], "scale": 0.01},
    at={"scales": 0.01} | SLOWLY,
)
@again(
    "D.Fig2-excess-one",
    accept=(-0.05, 0.05),
    given={"rows": correlations["slow"], "scale": 1.0},
    at={"scales": 1.0} | SLOWLY,
    statement="From scale 1 the first layer's alignment ends on its lazy law.",
    measure="The same at scale 1.",
    short="end less the lazy law, scale 1",
)
@again(
    "D.Fig2-step",
    accept=(0.06, 1),
    rival=(0.014, "the same at a quarter of the rate"),
    given={"rows": correlations["frozen"], "scale": 1.0},
    at={"scales": 1.0, "rate": 0.05},
    statement="At the paper's rate the step itself raises the alignment above its lazy law.",
    measure="The same at scale 1 and the rate 0.05.",
    short="the same at the paper's rate",
)
def end_beyond_the_law(rows, *, scale):
    """Networks that learn features end with more alignment than the law of lazy training.

    C-NFA of the first layer at the end of training less its law, scale 0.01, at a quarter of the paper's rate

    Rival: what the paper's step makes of networks of scale 1
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: end less the lazy law, scale 0.01
    """
    return mean(excesses(rows)[scale])


@claim(
    "D.Fig2-excess-order",
    kind="beyond",
    accept=(0.005, 1),
    rival=0,
    figure="fig-d-frozen",
    at={"scales": [1.0, 0.1, 0.01, 0.001]} | SLOWLY,
)
def order_of_excesses(slow=correlations["slow"]):
    """The smaller the scale, the more alignment a network has beyond its lazy law.

    excess of a scale less that of the next larger one, the least of all pairs, first layer, at a quarter of the rate

    Rival: some smaller scale adds nothing
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: excess, smaller less larger scale, least
    """
    excess = excesses(slow)
    return least(-np.diff(excess[sorted(excess)].to_numpy(), axis=1))


@claim(
    "D.Fig2-second-excess",
    kind="beyond",
    accept=(0.03, 1),
    rival=0,
    figure="tab-d-end",
    at={"scales": [1.0, 0.1, 0.01, 0.001]} | SLOWLY,
)
def excess_of_second_layer(slow=correlations["slow"]):
    """In the second layer, too, the alignment ends above its lazy law, at every scale.

    C-NFA of the second layer at the end of training less its law, the least over scales, at a quarter of the rate

    Rival: instability hides it, as at the paper's rate and scale 1
    Source: paper D, Sec. 2.3 and Fig. 2, which shows the alignment and no law for it
    Short: slowly, layer 2: end less law, least
    """
    return least(excesses(slow, 2).to_numpy())


@claim(
    "D.Lazy-attention",
    accept=(0.85, 1),
    rival=0.53,
    headline=True,
    figure="tab-d-layers",
    given={"layers": ("queries", "keys")},
    at={"architecture": "attention"},
)
def lazy_end_of_layers(architectures=lazy_layers["main"], *, layers):
    """Queries and keys of attention keep a high alignment in lazy training, so that it is no sign of features.

    the law when a hundredth of the loss is left, the lower of the two layers

    Rival: a random matrix of the same spectrum, as printed for Fig. 1
    Source: derived from paper D, Sec. 1: "neural networks of general architectures"
    Short: lazy end, queries and keys
    """
    ends = architectures[(architectures.remains == architectures.remains.min()) & architectures.layer.isin(layers)]
    ends = ends[ends.architecture == "attention"]
    return least(ends.pivot(index="seed", columns="layer", values="c")), ends
