"""Claims of chapter 6 on trained networks: alignment along training, at its end, and under other descents."""

import math

import numpy as np
import pandas as pd

from companion.book.claims import again, claim
from companion.estimates import Estimate, jackknife, least, mean, median, ratio
from companion.papers.alignment.studies import alignment as studies

CHAPTER = "06"
BOTH_LAYERS = {"rows": studies.correlations["throughout"], "layers": (1, 2)}
SLOWLY = {"rows": studies.correlations["slow"]}  # a quarter of the paper's rate
INDEPENDENT = 0.53  # correlation with a random matrix of $K$'s spectrum, as printed for Fig. 1
SMALL = 0.01  # scale of the first layer at which outputs are near 0
FACES = ("celeba", "faces")


def _per_seed(rows, column, by="scale"):
    """One row per seed, one column per scale, or per scale and layer."""
    return rows.pivot(index="seed", columns=by, values=column)


def _in_both_layers(rows, column):
    """One row per seed, one column per scale and layer."""
    return _per_seed(rows, column, ["scale", "layer"])


def _at(rows, step, layer=None):
    """The rows of a step, of one layer or of both."""
    at_step = rows[rows.step == step]
    return at_step if layer is None else at_step[at_step.layer == layer]


def _end(rows, layer=None):
    """The rows of the end of training."""
    return _at(rows, rows.step.max(), layer)


def _largest_scale(rows):
    """The rows of the largest scale."""
    return rows[rows["scale"] == rows["scale"].max()]


def _range(values):
    """How far the means over seeds lie apart, largest minus smallest."""
    return np.ptp(values.mean(0))


def _robustness(rows):
    """How much further the UC-NFA spreads over scales than the C-NFA, of the rows of one step and layer."""
    uncentred_and_centred = np.stack([_per_seed(rows, name).to_numpy() for name in ("uc", "c")], 1)
    return jackknife(uncentred_and_centred, lambda values: _range(values[:, 0]) - _range(values[:, 1]))


def _extreme_median(values, choose):
    """The smallest (or largest) of the medians over networks, each with its interval."""
    medians = [median(column) for column in np.asarray(values, dtype=float).T]
    value = choose(estimate.value for estimate in medians)
    low = choose(estimate.low for estimate in medians)
    high = choose(estimate.high for estimate in medians)
    return Estimate(value, low, high, len(values), "extreme of medians, order statistics")


def _largest(values):
    """The largest of several means, with the interval of ``least``."""
    return -least(-np.asarray(values, dtype=float))


@claim(
    "D.Fig1-agop", accept=(0.88, 0.98), stated=0.93, rival=0.53, headline=True, figure="tab-d-1", given={"column": "uc"}
)
@again(
    "D.Fig1-random",
    accept=(0.43, 0.63),
    stated=0.53,
    rival=(0.93, "the network's own $K$, as printed"),
    given={"column": "random"},
    statement=(
        "With a random matrix of $K$'s spectrum in place of $K$ the correlation of neural feature matrix "
        "and AGOP is 0.53."
    ),
    short="the same with a random $K$",
)
@again(
    "D.Fig1-spread",
    accept=(4.9, 6.9),
    stated=None,
    rival=(0.58, r"Gaussian derivatives, $\sqrt{k/n}$ (Marchenko-Pastur)"),
    given={"column": "spread"},
    source="paper D, Sec. 2.2",
    statement="The eigenvalues of $K$ have standard deviation over mean 5.9.",
    short="spread of the eigenvalues of $K$",
)
@again(
    "D.Fig1-egop",
    accept=(0.8, 1),
    stated=None,
    rival=(0.32, "a multiple of the identity, nothing learned"),
    given={"column": "egop_agop"},
    source="paper D, Fig. 1",
    statement="The AGOP resembles the EGOP of the task.",
    measure="Correlation of the two after training.",
    short="AGOP and the EGOP of the task",
)
@again(
    "D.Sec21-nfm",
    accept=(0.8, 1),
    stated=None,
    rival=(0.32, "a multiple of the identity, nothing learned"),
    given={"column": "egop_nfm"},
    source='paper D, Sec. 2.1: "the NFM also resembles the EGOP"',
    statement="The neural feature matrix resembles the EGOP of the task.",
    measure="Correlation of the two after training.",
    short="NFM and the EGOP of the task",
)
def correlation_when_trained(trained=studies.learned_features["main"], *, column):
    """After training the neural feature matrix and the AGOP have correlation 0.93 (first layer).

    Rival: a random matrix of $K$'s spectrum in its place, as printed
    Source: paper D, Fig. 1 and Sec. 2.2
    Short: NFM and AGOP, trained, layer 1
    """
    first = trained[trained.layer == 1]
    return mean(first[column]), first


@claim("D.Prop2-alignment", accept=(0.05, 2), rival=0, figure="tab-d-1")
def alignment_beyond_spectrum(trained=studies.learned_features["main"]):
    """The eigenvectors of $K$, not its spectrum alone, make the neural feature ansatz.

    Correlation with the trained $K$ less that with its eigenvectors drawn at random (second layer).

    Rival: the spectrum alone makes the correlation
    Source: paper D, Proposition 2 and Sec. 2.2
    Short: $K$ less a random matrix, layer 2
    """
    second = trained[trained.layer == 2]
    return mean(second.uc - second.random), second


def share_unstable(paths):
    """The share of networks of the largest scale whose training loss at step ``EARLY`` is above that at the start."""
    first = paths[paths.layer == 1].pivot(index=["scale", "seed"], columns="step", values="train_loss")
    return float((first[studies.EARLY] > first[0]).loc[paths["scale"].max()].mean())


@claim("D.Fig2-cnfa", accept=(0.75, 1), rival=0.53, headline=True, figure="fig-d-2", at={"spectrum": "isotropic"})
def early_centred_alignment(first_steps=studies.correlations["first_steps"]):
    """Early in training the C-NFA is high at every initialisation scale.

    Smallest correlation over scales and layers at step 5, isotropic data.

    Rival: $K$ independent of the weights, the correlation printed for Fig. 1
    Elsewhere: at rest under penalty 0.03 0.71
    Source: paper D, Fig. 2 and Sec. 2.3
    Short: C-NFA at step 5, smallest
    """
    early = _at(first_steps, studies.EARLY)
    return _extreme_median(_in_both_layers(early, "c"), min), early


@claim(
    "D.Fig2-throughout",
    accept=(0.5, 1.5),
    rival=0,
    erratum="d-scale-one",
    figure="fig-d-2",
    given=BOTH_LAYERS | {"scale": 1.0},
    at={"scales": 1.0},
)
@again(
    "D.Fig2-throughout-thousandth",
    part_of="D.Fig2-throughout",
    given=BOTH_LAYERS | {"scale": 0.001},
    at={"scales": 0.001},
    statement="From scale 0.001 the C-NFA remains high throughout training.",
    short="early C-NFA kept, scale 0.001",
)
@again(
    "D.Fig2-throughout-small-step",
    part_of="D.Fig2-throughout",
    figure="fig-d-frozen",
    given=SLOWLY | {"layers": (1,), "scale": 1.0},
    at={"scales": 1.0, "rate": 0.0125},
    statement="At a quarter of the rate, too, the first layer's C-NFA remains high throughout training from scale 1.",
    measure="The same of the first layer alone, at a quarter of the rate.",
    short="slowly, layer 1: C-NFA kept, scale 1",
)
@again(
    "D.Fig2-throughout-small-tenth",
    part_of="D.Fig2-throughout",
    figure="fig-d-frozen",
    given=SLOWLY | {"layers": (1,), "scale": 0.1},
    at={"scales": 0.1, "rate": 0.0125},
    statement="At a quarter of the rate, too, the first layer's C-NFA remains high throughout training from scale 0.1.",
    measure="The same of the first layer alone, at a quarter of the rate.",
    short="slowly, layer 1: C-NFA kept, scale 0.1",
)
@again(
    "D.Fig2-throughout-slow",
    rival=(0.26, "the same at the rate 0.05, where networks become unstable"),
    erratum=None,
    part_of="D.Fig2-throughout",
    figure="tab-d-end",
    given=SLOWLY | {"layers": (2,), "scale": 1.0},
    at={"scales": 1.0, "rate": 0.0125},
    source=('paper D, Sec. 2.3: "remains high throughout training across initialization scale", Fig. 2, bottom row'),
    statement="At a quarter of the rate the second layer's C-NFA remains high throughout training from scale 1.",
    measure="The same of the second layer alone.",
    short="slowly, layer 2: C-NFA kept, scale 1",
)
def alignment_kept_throughout(rows, *, scale, layers):
    """From scale 1 the C-NFA remains high throughout training.

    The least C-NFA over the course from step 5 on, mean over networks, as a part of the C-NFA at step 5; both above
    0.53, the value printed for a $K$ independent of the weights; the smaller of the two layers. At least half is kept
    if it remains high.

    Rival: $K$ independent of the weights: the alignment falls to 0.53, the correlation printed for Fig. 1
    Source: paper D, Sec. 2.3: "remains high throughout training across initialization scale"
    Short: early C-NFA kept, scale 1
    """
    rows = rows[(rows.scale == scale) & (rows.step >= studies.EARLY) & rows.layer.isin(layers)]
    paths = [layer.pivot(index="seed", columns="step", values="c").to_numpy() for _, layer in rows.groupby("layer")]
    if not paths:
        return None

    def smallest_share(values):
        means = values.mean(0)  # (layers, steps)
        return ((means.min(1) - INDEPENDENT) / (means[:, 0] - INDEPENDENT)).min()

    return jackknife(np.stack(paths, 1), smallest_share), rows


@claim("D.AppB-large", accept=(-2, -0.1), rival=0, figure="fig-d-4", at={"scales": [0.001, 1]})
def double_centred_in_scale(throughout=studies.correlations["throughout"]):
    """Where the initialisation is large the double-centred term contributes less.

    Its ratio to the centred term at the end of training, largest scale less smallest, the larger of the two layers.

    Rival: the scale does not matter to the double-centred term
    Source: paper D, App. B: "do not significantly contribute [...] when initialization is large"
    Short: double-centred ratio, largest less smallest scale
    """
    end = _end(throughout)
    ratios = [_per_seed(layer, "double") for _, layer in end.groupby("layer")]
    differences = [ratio[max(ratio)] - ratio[min(ratio)] for ratio in ratios]  # largest scale less smallest
    return _largest(np.stack(differences, axis=1)), end


@claim("D.Sec23-contained", accept=(0.25, 1.5), rival=0, figure="tab-d-end", at={"scales": 0.01})
def share_of_the_centred(throughout=studies.correlations["throughout"]):
    """The centred term is a good part of the numerator of the neural feature ansatz.

    Its share at the end of training, first layer: a quarter or more is a good part.

    Rival: the initial weights make all of the numerator
    Source: paper D, Sec. 2.3: "the numerator of the NFA correlation [...] contains the term" of the centred weights
    Short: centred share, scale 0.01
    """
    end = _end(throughout, 1)
    end = end[end["scale"] == SMALL]
    return (mean(end.contained), end) if len(end) else None


@claim("D.Fig2-contrast", accept=(0.02, math.inf), rival=0, figure="fig-d-2")
def early_robustness(first_steps=studies.correlations["first_steps"]):
    """The C-NFA is more robust to the scale than the UC-NFA.

    Range of the UC-NFA minus range of the C-NFA over scales, early (first layer).

    Rival: both depend on the scale alike
    Elsewhere: rate 0.0125 -0.011
    Source: paper D, Sec. 2.3
    Short: UC-NFA varies more than C-NFA, early
    """
    return _robustness(_at(first_steps, studies.EARLY, 1)), _at(first_steps, studies.EARLY)


@claim("D.Fig8-test-loss", accept=(0.005, math.inf), rival=0, figure="fig-d-2", given={"spectrum": "1/(1+k^2)"})
def loss_in_scale(decaying=studies.correlations["decaying"], *, spectrum):
    """The test loss improves for smaller initialisation (spectrum $1/(1+k^2)$).

    Largest scale minus smallest scale, after the paper's 800 steps.

    Rival: the scale does not matter
    Source: paper D, App. G
    Short: test loss, largest less smallest scale, $1/(1+k^2)$
    """
    end = _end(decaying[decaying.spectrum == spectrum], 1)
    losses = _per_seed(end, "test_loss")
    return mean(losses[max(losses)] - losses[min(losses)]), end


@claim("D.Prop3-early", accept=(0.9, 1.1), rival=0.67, figure="fig-d-2")
def early_over_start(first_steps=studies.correlations["first_steps"]):
    r"""The C-NFA of the first steps is set at initialisation.

    Correlation at step 5 over that of $2\dot W^\top\dot W$ and $2\dot W^\top K\dot W$ at step 0 (first layer).

    Rival: $K$ independent of the weights, 0.53 as printed, over 0.79, a first run at initialisation
    Elsewhere: rate 0.0125 1.00; penalty 0.03 0.91
    Source: paper D, Proposition 3 and Sec. 3.1
    Short: C-NFA at step 5 over step 0
    """
    early = _at(first_steps, studies.EARLY, 1)
    start = _at(first_steps, 0, 1)
    factor = _per_seed(early, "c") / _per_seed(start, "c")
    return ratio(np.exp(np.log(factor).mean(axis=1))), early, start


@claim("D.Prop4-labels", accept=(0.95, 1.05), rival=0.81, figure="fig-d-2", at={"scales": 0.01})
def labels_for_residuals(first_steps=studies.correlations["first_steps"]):
    """Where the outputs are near 0 the labels may replace the residuals.

    The correlation of Eq. 4 with the labels over the one with the residuals (first layer, scale 0.01).

    Rival: constant labels, a first run at initialisation
    Source: paper D, Proposition 4, Eq. 4
    Short: labels in place of residuals
    """
    start = _at(first_steps, 0, 1)
    nearest = (start["scale"] - SMALL).abs().argmin()
    small = start[start["scale"] == start["scale"].iloc[nearest]]
    return ratio(small.c_labels / small.c), small


@claim(
    "D.Fig2-ucnfa-layer-2",
    accept=(0.3, 1),
    corrected=(0, 0.15),
    rival=0,
    erratum="d-second-row",
    figure="tab-d-end",
    given={"layer": 2},
)
def range_of_uncentred(isotropic=studies.correlations["isotropic"], *, layer):
    """The UC-NFA can be extremely sensitive to the initialisation scale, as in the second row of Fig. 2.

    Largest minus smallest correlation over scales of the first layer (second layer).

    Rival: the first layer's scale does not matter to the second layer
    Elsewhere: rate 0.0125 0.059
    Source: paper D, Fig. 2 and Sec. 2.3
    Short: range of the UC-NFA, layer 2
    """
    end = _end(isotropic, layer)
    return jackknife(_per_seed(end, "uc"), _range), end


@claim(
    "D.Fig2-all-layers",
    accept=(0.5, 1),
    corrected=(0, 0.3),
    rival=0.14,
    erratum="d-all-layers",
    headline=True,
    figure="tab-d-end",
    at={"spectrum": "isotropic"},
)
def ansatz_in_second_layer(isotropic=studies.correlations["isotropic"]):
    """The NFM and the AGOP are highly correlated in all layers of trained networks.

    UC-NFA of the second layer at the end of training, the largest over scales of the first; half would be high.

    Rival: the second layer's value at the start: training does nothing for it
    Elsewhere: with weight decay, penalty 0.03, at rest 0.95
    Source: paper D, Sec. 1: "highly correlated in all layers of trained neural networks", and Ansatz 1
    Short: UC-NFA, layer 2, largest over scales
    """
    end = _end(isotropic, 2)
    return _largest(_per_seed(end, "uc")), end


@claim("D.Fig2-second-scale", accept=(0.3, 1), rival=0, figure="tab-d-end")
def range_in_second_scale(
    second_layer=studies.correlations["second_layer"], isotropic=studies.correlations["isotropic"]
):
    """The second layer's UC-NFA is sensitive to its own scale.

    Largest minus smallest correlation over scales of the second layer.

    Rival: the scale does not matter
    Elsewhere: over the scales 0.01 and 0.1 alone 0.26
    Source: derived from paper D, Fig. 2
    Short: UC-NFA over its own scale, layer 2
    """
    at_unit_scale = isotropic[isotropic["scale"].isin(second_layer["scale"]) & isotropic.seed.isin(second_layer.seed)]
    rows = pd.concat([second_layer[second_layer.second != 1], at_unit_scale])
    end = _end(rows.assign(scale=rows.second), 2)
    return jackknife(_per_seed(end, "uc"), _range), end


@claim(
    "D.Fig2-robust",
    accept=(0.02, math.inf),
    rival=0,
    erratum="d-appendix-g",
    figure="tab-d-end",
    given={"rows": studies.correlations["isotropic"], "layer": 1},
    at={"scales": [0.001, 1], "spectrum": "isotropic"},
)
@again(
    "D.AppG-robust",
    erratum=None,
    given={"rows": studies.correlations["decaying"], "layer": 1},
    at={"spectrum": ["1/(1+k)", "1/(1+k^2)"]},
    source='paper D, App. G: "similar to Figure 2, we observe that the C-NFA is more robust"',
    statement="On data with a decaying spectrum the C-NFA is more robust to the scale than the UC-NFA.",
    measure="The same on both decaying spectra, the smaller difference.",
    short="UC-NFA varies more, decaying spectra, layer {layer}",
)
def late_robustness(rows, *, layer):
    """On isotropic data the C-NFA is more robust to the scale than the UC-NFA at the end of training, too.

    Range of the UC-NFA minus range of the C-NFA over scales from 1 to 0.001, first layer.

    Rival: both depend on the scale alike
    Source: paper D, Fig. 2 and App. G
    Short: UC-NFA varies more, isotropic, layer {layer}
    """
    end = _end(rows, layer)
    by_spectrum = [part for _, part in end.groupby("spectrum")]
    return min(map(_robustness, by_spectrum), key=lambda estimate: estimate.value), end


@claim("D.Fig7-grows", accept=(0.1, math.inf), rival=0, erratum="d-appendix-g", figure="tab-d-end", at={"scales": 1})
def growth_of_uncentred(decaying=studies.correlations["decaying"]):
    """On data with a decaying spectrum the UC-NFA becomes high through training, while being small at initialisation.

    Its value at the end minus that at the start, from scale 1, least over layers and both spectra.

    Rival: training leaves the UC-NFA as it was
    Source: paper D, App. G
    Short: UC-NFA grows in training, scale 1
    """
    largest = _largest_scale(decaying)
    parts = [largest[largest.spectrum == spectrum] for spectrum in studies.SPECTRA if spectrum != "isotropic"]
    growth = [_in_both_layers(_end(part), "uc") - _in_both_layers(_at(part, 0), "uc") for part in parts]
    return least(np.hstack(growth)), *map(_end, parts)


@claim("D.Fig4-early", accept=(0, 0.1), rival=1, figure="fig-d-4")
def early_double_centred(first_steps=studies.correlations["first_steps"]):
    """The double-centred term is not significant early in training.

    Largest ratio over scales and layers at step 5.

    Rival: $K$ is all change, $K$ at initialisation counts for nothing
    Elsewhere: rate 0.0125 0.0025; penalty 0.03 0.0041
    Source: paper D, Fig. 4 and App. B
    Short: double-centred share at step 5, largest
    """
    early = _at(first_steps, studies.EARLY)
    return _extreme_median(_in_both_layers(early, "double"), max), early


@claim("D.Fig4-late", accept=(0.1, math.inf), rival=0, figure="fig-d-4")
def late_double_centred(isotropic=studies.correlations["isotropic"]):
    """The double-centred term becomes relevant over longer periods.

    Largest ratio at the end.

    Rival: $K$ does not change, lazy learning
    Source: paper D, App. B
    Short: double-centred share at the end, largest
    """
    end = _end(isotropic)
    return _largest(_in_both_layers(end, "double")), end


@claim(
    "D.Fig5-isotropic",
    accept=(-2, -0.02),
    corrected=(0.02, 2),
    rival=0,
    erratum="d-scale-one",
    figure="fig-d-4",
    at={"scales": 1, "spectrum": "isotropic"},
)
def fall_of_kernel_centred(isotropic=studies.correlations["isotropic"]):
    """The PTK-centred correlation decreases through training on isotropic data from scale 1, too.

    Late minus early, largest over layers.

    Rival: the correlation stays as it is
    Elsewhere: rate 0.0125 0.048; penalty 0.03 -0.16
    Source: paper D, Fig. 5a and App. B
    Short: PTK-centred correlation falls, scale 1
    """
    rows = _largest_scale(isotropic)
    early, end = _at(rows, studies.EARLY), _end(rows)
    return _largest(_in_both_layers(end, "ptk") - _in_both_layers(early, "ptk")), early, end


def _rank_correlations(rows, ansatz):
    """The rank correlation over scales of the test loss and an ansatz, one per network."""
    loss_ranks = _per_seed(rows, "test_loss").rank(axis=1).to_numpy()
    alignment_ranks = _per_seed(rows, ansatz).rank(axis=1).to_numpy()
    return np.array([np.corrcoef(loss, alignment)[0, 1] for loss, alignment in zip(loss_ranks, alignment_ranks)])


@claim("D.Fig7-loss-alignment", accept=(-1, -0.5), rival=0, figure="fig-d-2")
def loss_against_alignment(decaying=studies.correlations["decaying"]):
    """The test loss is smaller where the C-NFA and UC-NFA are higher (spectrum $1/(1+k)$).

    Rank correlation over the scales at the end of training, the larger of the two (first layer).

    Rival: the loss does not depend on the alignment
    Source: paper D, App. G
    Short: loss against alignment, $1/(1+k)$
    """
    end = _end(decaying[decaying.spectrum == "1/(1+k)"], 1)
    correlations = [_rank_correlations(end, ansatz) for ansatz in ("uc", "c")]
    return _largest(np.stack(correlations, axis=1)), end


def with_star(stripes):
    """The flow on the stripe with the time ``t_star`` of each network; without the networks that have none."""
    star = stripes[stripes.moment == "star"].set_index(["alpha", "seed"]).t
    return stripes.join(star.rename("t_star"), on=["alpha", "seed"]).dropna(subset="t_star")


@claim("D.Stripe-lazy", accept=(0.75, 1), rival=0.45, figure="fig-d-stripe", at={"alpha": 10000.0})
def lazy_centred_alignment(stripes=studies.stripes["main"]):
    r"""On the stripe the centred ansatz is no sign of compression.

    C-NFA at the end of training in the lazy regime, where nothing is compressed (paper A's network on the stripe,
    largest $\alpha$).

    Rival: the UC-NFA there, which stays that of the initial weights, a first run
    Source: derived from paper D, Sec. 2.3, and paper A, Fig. 4
    Short: C-NFA in the lazy regime
    """
    flow = with_star(stripes)
    lazy = flow[(flow.moment == "end") & (flow.alpha == stripes.alpha.max())]
    return mean(lazy.c), lazy


@claim("D.Stripe-uncentred", accept=(0.3, 1), rival=0, headline=True, figure="fig-d-stripe")
def uncentred_of_feature_and_lazy(stripes=studies.stripes["main"]):
    r"""The uncentred ansatz holds where the network compresses.

    UC-NFA at the end of training, smallest $\alpha$ minus largest.

    Rival: alignment has nothing to do with compression
    Source: derived from paper D, Sec. 2.1, and paper A, Fig. 4
    Short: UC-NFA, feature less lazy
    """
    flow = with_star(stripes)
    ends = flow[flow.moment == "end"]
    feature, lazy = (ends[ends.alpha == alpha] for alpha in (stripes.alpha.min(), stripes.alpha.max()))
    gain = feature.set_index("seed").uc - lazy.set_index("seed").uc
    return mean(gain.dropna()), feature, lazy


@claim("D.Fig9-agop", accept=(0.7, 1), rival=0.04, figure="tab-d-9")
def diagonals_of_faces(faces=studies.saliency_maps["main"]):
    """On faces with glasses the diagonals of neural feature matrix and AGOP have Pearson correlation 0.91.

    ORL faces for CelebA, so high is what can be asked.

    Rival: a random matrix of $K$'s spectrum in its place, as printed
    Source: paper D, Fig. 9
    Short: NFM and AGOP of faces, diagonals
    """
    return mean(faces.agop) if faces.data.iloc[0] in FACES else None


@claim("D.Fig9-contrast", accept=(0.3, 1.5), stated=0.87, rival=0, figure="tab-d-9")
def diagonals_beyond_random(faces=studies.saliency_maps["main"]):
    """A random matrix of $K$'s spectrum in place of $K$ disrupts the correspondence.

    Pearson correlation of the diagonals with the network's own $K$ minus that with random ones (ORL faces for CelebA,
    so large is what can be asked).

    Rival: the spectrum of $K$ alone makes the correlation
    Source: paper D, App. H and Fig. 9
    Short: faces, $K$ less a random matrix
    """
    return mean(faces.agop - faces.random) if faces.data.iloc[0] in FACES else None


@claim(
    "D.Descent-penalty",
    accept=(-1.5, -0.3),
    rival=0,
    figure="tab-d-descent",
    at={"penalty": 0.03, "spectrum": "isotropic"},
)
def alignment_lost_to_decay(
    weight_decay=studies.correlations["weight_decay"], isotropic=studies.correlations["isotropic"]
):
    """Weight decay breaks the ansatz centred at the initial weights.

    C-NFA at the end with the penalty 0.03 minus that without (second layer, gradient descent, isotropic data).

    Rival: weight decay does not matter
    Source: derived from paper D, Sec. 2.3
    Short: C-NFA lost to weight decay
    """
    end = _end(weight_decay, 2)
    strongest = end[end.penalty == end.penalty.max()]
    without = isotropic[isotropic["scale"].isin(strongest["scale"]) & isotropic.seed.isin(strongest.seed)]
    loss = _per_seed(strongest, "c") - _per_seed(_end(without, 2), "c")
    return mean(loss.iloc[:, 0]), strongest, _end(without, 2)


@claim("D.Descent-decayed-weights", accept=(0.85, 1), rival=0.27, figure="tab-d-descent")
def alignment_with_decay_centred_out(weight_decay=studies.correlations["weight_decay"]):
    """Centred at what decay alone leaves of the initial weights the ansatz holds again.

    C-NFA at the end, least over penalties (second layer, gradient descent).

    Rival: centred at the initial weights, the smaller penalty, a first run
    Elsewhere: penalty 0.01 0.972; at rest 0.9445
    Source: derived from paper D, Sec. 2.3
    Short: C-NFA with decay centred out, least
    """
    end = _end(weight_decay, 2)
    return least(_per_seed(end, "c_shrunk", "penalty")), end


@claim("D.Descent-converged", accept=(0.8, 1), rival=0.21, figure="tab-d-descent", at={"penalty": 0.03, "steps": 2400})
def alignment_at_convergence(converged=studies.correlations["converged"]):
    """Under weight decay the ansatz holds in the second layer, too: nothing of the initial weights is left.

    UC-NFA of the second layer when the weights are at rest (penalty 0.03, gradient descent)

    Rival: the largest value without decay, where the initial weights remain
    Source: derived from paper D, Ansatz 1
    Short: UC-NFA, layer 2, converged under decay
    """
    end = _end(converged, 2)
    return mean(end.uc), end


@claim("D.Descent-fact", accept=(0.005, 1), rival=0, figure="tab-d-descent", at={"penalty": 0.03, "steps": 2400})
def converged_beyond_the_ansatz(converged=studies.correlations["converged"]):
    """At convergence under weight decay the features-at-convergence theorem is nearer to the weights than the ansatz.

    correlation of the NFM with the theorem's matrix less that with the AGOP, the lesser of the two layers

    Rival: the AGOP is as near
    Source: derived from paper D, Ansatz 1, and the features at convergence theorem
    Short: converged NFM: theorem less ansatz, least
    """
    end = _end(converged)
    return least(_per_seed(end.assign(nearer=end.fact - end.uc), "nearer", "layer")), end
