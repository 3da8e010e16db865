# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-06)=
# # The centred neural feature ansatz
# ## Overview
# What has a network learnt to look at? Two matrices answer. One is made of the first layer's weights alone, the *neural
# feature matrix*; the other of the gradients of the output by the input, the *average gradient outer product*. In
# trained networks the two look alike, which is called the neural feature ansatz. Paper D {cite}`beaglehole2024` asks why,
# and finds the answer in what training adds to the weights: the update is aligned with the tangents of the
# pre-activations from its first step on, at every scale of the initial weights.
#
# We assume that you know what a gradient of a network is; chapter 2 helps where compression is spoken of.
#
# | symbol | in code | shape | scale |
# |---|---|---|---|
# | $h_\ell=W^{(\ell)}x_\ell$, $x_{\ell+1}=\phi(h_\ell)$ | `sites(model, x)` | | layer, $\ell=0,1$; "layer 1" is $\ell=0$ |
# | $s_\ell$ | `scale`, `second` | | $W^{(\ell)}_{ij}\sim\mathcal N(0,s_\ell/k_\ell)$, $k_\ell$ inputs: it scales the variance |
# | $\delta=\partial f(X)/\partial h_\ell$ | `delta` | $(n,k)$ | pre-activation tangents |
# | $F=W^\top W$ | `nfm` | $(d,d)$ | neural feature matrix, NFM |
# | $K=\delta^\top\delta$, $\mathcal K=\delta\delta^\top$ | `ptk_covariance`, `ptk_kernel` | $(k,k)$, $(n,n)$ | pre-activation tangent kernel, PTK; sums over points |
# | $\bar G=\frac1nW^\top KW$ | `agop` | $(d,d)$ | average gradient outer product, AGOP |
# | $\rho(A,B)$ | `correlation` | | cosine, $\operatorname{tr}(A^\top B)/(\lVert A\rVert\lVert B\rVert)$ |
# | $\bar W=W-W_0$, $\bar K$ | | $(k,d)$, $(k,k)$ | change of the weights; $K$ of the change of $\delta$ |
# | $\rho(F,\bar G)$ | `uc` | | uncentred ansatz, UC-NFA |
# | $\rho(\bar W^\top\bar W,\bar W^\top K\bar W)$ | `c` | | centred ansatz, C-NFA |
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
d: "count from 2 to 1e4" = 32  # dimension of the chain monomial's points (paper D: 32)
rank: "count from 2 to 1e4" = 5  # its relevant coordinates (paper D: 5)
test: "count from 10 to 1e5" = 1000  # test points (paper D: not stated)
rate: "positive to 100" = 0.05  # step of gradient descent on half the mean square (paper D: 0.05)
n: "count from 10 to 1e5" = 256  # training points (paper D, Fig. 2: 256)
k: "count from 2 to 1e4" = 256  # width (paper D, Fig. 2: 256)
scales: "3 or more distinct positives to 1e4" = [1.0, 0.1, 0.01, 0.001]  # of the first layer's initial variance (paper D, Fig. 2: not stated)
steps: "count from 10 to 1e5" = 800  # of gradient descent (paper D: 800)
every: "count to 1e5" = 20  # steps between measurements (paper D: 5)
seeds: "count to 100" = 6  # networks with data of their own, isotropic data
early_seeds: "count from 6 to 1000" = 64  # such networks of which only the first steps are looked at
other_seeds: "count to 100" = 4  # networks with data of their own, for all else; at most seeds
second_scales: "distinct positives to 1e4" = [0.1, 0.01]  # of the second layer's variance, beside 1
second_at: "positive to 1e4" = 0.1  # scale of the first layer there, one of scales
other_scale: "positive to 1e4" = 0.1  # scale of the first layer under other ways to descend, one of scales
adam_rate: "positive to 100" = 0.001  # step of Adam
penalties: "increasing positives to 100" = [0.01, 0.03]  # weight decay of gradient descent
adam_penalty: "positive to 100" = 1.0  # weight decay of Adam
fig1_n: "count from 10 to 1e5" = 384  # training points (paper D, Fig. 1: 384)
fig1_k: "count from 2 to 1e4" = 128  # width (paper D, Fig. 1: 128)
fig1_scale: "positive to 1e4" = 0.01  # scale of the first layer (paper D, Fig. 1: 0.01)
fig1_steps: "count from 10 to 1e5" = 800  # of gradient descent (paper D, Fig. 1: not stated)
fig1_draws: "count to 1000" = 10  # random matrices a network (paper D, Fig. 1: 1)
fig1_seeds: "count to 100" = 6  # networks with data of their own (paper D, Fig. 1: 1)
frames: "2 or more increasing counts to 1e5" = [1, 20, 100, 200, 800]  # steps at which a network is pictured
frames_scale: "positive to 1e4" = 0.01  # scale of its first layer
interfaces: "increasing numbers from -8 to 8" = [-0.3, 1.18549]  # of the stripe (paper A)
stripe_d: "count from 2 to 1000" = 10  # dimension of the stripe's points
stripe_p: "count from 10 to 1e5" = 300  # training points
stripe_h: "count from 2 to 1e5" = 200  # width
stripe_alpha: "3 or more increasing positives from 1e-12 to 1e12" = [1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4]  # output scales, feature to lazy
stripe_seeds: "count to 100" = 5  # networks with data of their own
tolerance: "share" = 0.03  # of a step of the flow
pictures: "distinct any of celeba, faces, mnist, digits" = ["celeba", "faces", "mnist"]  # images: the first of these that is on this machine (paper D: CelebA)
fig9_n: "count from 20 to 1e5" = 400  # images at most, an even number for CelebA (paper D: 7500)
fig9_share: "share" = 0.75  # of the people, or images, that are trained on
fig9_k: "count from 2 to 1e4" = 128  # width (paper D: 128)
fig9_scale: "positive to 1e4" = 0.02  # scale of the first layer (paper D: 0.02)
fig9_rate: "positive to 100" = 0.0001  # step of Adam (paper D: 1e-4)
fig9_steps: "count from 10 to 1e6" = 500  # full-batch steps (paper D: 500 epochs, batch not stated)
fig9_draws: "count to 1000" = 10  # random matrices a network (paper D: 1)
fig9_seeds: "count to 100" = 5  # networks, each with a split of its own
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

from regimes.book import plots
from regimes.book.chapter import Chapter
from regimes.estimates import Estimate, jackknife, least, mean, median, ratio
from regimes.studies import alignment as studies

chapter = Chapter("06", globals())
EARLY = studies.EARLY


# %%
def wide(rows, column, by="scale"):
    """One row a seed, one column a scale, or a scale and layer."""
    return rows.pivot(index="seed", columns=by, values=column)


def spread(values):
    """How far the means over seeds lie apart, largest minus smallest."""
    return np.ptp(values.mean(0))


def at(rows, step, layer=None):
    """The rows of a step, of one layer or both."""
    there = rows[rows.step == step]
    return there if layer is None else there[there.layer == layer]


def shown_matrix(ax, values, title=""):
    """A matrix as an image over its largest entry."""
    side = round(len(values) ** 0.5)
    image = np.abs(np.reshape(values, (side, side)))
    ax.imshow(image / image.max(), cmap="magma_r", vmin=0, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
    ax.grid(False)


# %% [markdown]
# ## One picture, no formula
# A network learns a function of the first few of its inputs; the others do not matter. Each image below has the inputs
# along both sides, and is dark where two of them belong together; the task's own image is the first. Read the rows in
# pairs. The upper pair is what the ansatz compares: what the weights of the first layer say, and what the output depends
# on. They start as two kinds of noise, and agree only when the task has been learnt. The lower pair is the same two
# questions asked of *what training has added* to the weights alone. They agree after the first step, long before anything
# has been learnt, and what they agree on changes with time. This is the centred ansatz: training adds to the weights where
# the network's gradients look.
# %%
pictured = chapter.sweep(studies.frames).sort_values("step")
names = {
    "nfm": "all weights",
    "agop": "all gradients",
    "moved": "what training\nhas added",
    "centred": "gradients\nthrough it",
}
fig, axes = plt.subplots(4, 1 + len(frames), figsize=(1.8 * (1 + len(frames)), 7.2), squeeze=False)
shown_matrix(axes[0, 0], pictured.egop.iloc[0], "the task")
for ax in axes[1:, 0]:
    ax.set_visible(False)
for column, (_, row) in zip(axes[:, 1:].T, pictured.iterrows()):
    for ax, name in zip(column, names):
        shown_matrix(ax, row[name], f"step {row.step}" if name == "nfm" else "")
for ax, label in zip(axes[:, 1], names.values()):
    ax.set_ylabel(label)
chapter.figure(
    fig,
    "fig-d-picture",
    "One network on its way: the weights of its first layer and the gradients of its output by the input, as matrices over "
    "pairs of inputs, each scaled by its largest entry; below, what training has added to these weights, and the gradients "
    "that pass through that. The lower pair agrees from the first step on, the upper one at the end.",
    pictured,
    alt="Four rows of square images over training steps. The first two differ until late and then show the same block in "
    "the upper left corner; the last two are alike in every column.",
)
# %% [markdown]
# ## What a network has learnt, read twice
# Paper D's task is the chain monomial, $y\propto\sum_{j<r}x_jx_{j+1}$ on a ring of $r$ of the $d$ coordinates, learnt by
# two hidden ReLU layers without biases from a small first layer. Its expected gradient outer product (EGOP), the NFM and
# the AGOP are below. The gradient by the inputs is $\delta W$, so that the AGOP is $W^\top KW/n$ exactly (Prop. 2): what
# relates it to $W^\top W$ is $K$. The last image has a random matrix $Q$ of the same eigenvalues in place of $K$.
# %%
features = chapter.sweep(studies.features)
first, deeper = features[features.layer == 1], features[features.layer == 2]
panels = {
    "egop": "EGOP",
    "nfm": r"NFM, $W^\top W$",
    "agop": r"AGOP, $W^\top KW/n$",
    "random_agop": r"$W^\top QW$",
}
fig, axes = plt.subplots(1, 4, figsize=(11, 3))
for ax, (name, title) in zip(axes, panels.items()):
    shown_matrix(ax, first[first.seed == 0][name].iloc[0], title)
chapter.figure(
    fig,
    "fig-d-1",
    "What the target depends on, and what a trained network's first layer says of it, by its weights, by the network's "
    "gradients, and with a random matrix of K's eigenvalues (paper D, Fig. 1). The random matrix spoils the structure: it "
    "is the eigenvectors of K that fit the weights.",
    first,
)
# %%
chapter.check("D.Fig1-agop", mean(first.uc), first, figure="fig-d-1")
chapter.check("D.Fig1-random", mean(first.random), first, figure="fig-d-1")
chapter.check("D.Fig1-spread", mean(first.spread), first, figure="fig-d-1")
chapter.check("D.Fig1-egop", mean(first.egop_agop), first, figure="fig-d-1")
chapter.check("D.Fig1-nfm-egop", mean(first.egop_nfm), first, figure="fig-d-1")
chapter.check("D.Prop2-alignment", mean(deeper.uc - deeper.random), deeper, figure="fig-d-1")
chapter.say(
    f"A random $Q$ does not give 0, and it cannot: averaged over its eigenvectors $Q$ is a multiple of the identity, "
    f"for which $W^\\top QW$ is the NFM itself. The more of $K$'s eigenvalues count, the nearer to that one draw is; the "
    f"{first.random.mean():.2f} here are those of a $K$ whose eigenvalues spread by {first.spread.mean():.1f} times their mean."
)
# %% [markdown]
# ## Centring
# The initial weights are in both matrices, and blur them: how much depends on how large they were. Centring takes them
# out, $W\to\bar W=W-W_0$, and leaves $K$ as it is. Below, networks that start from the same random weights, but for a
# factor on those of the first layer. Each loss is divided by its largest value, as in the paper. At step 0, where nothing
# has moved, the C-NFA is its limit, with the velocity $\dot W$ for $\bar W$.
#
# The paper states a rate of 0.05 and not whether the loss has a factor ½. Ours does: without it more networks leap.
# %%
paths = chapter.sweep(studies.paths)
first_steps, paths = paths[paths.steps == EARLY], paths[paths.steps == steps]
plain = paths[(paths.method == "gd") & (paths.penalty == 0) & (paths.second == 1)]
by_spectrum = {name: plain[plain.spectrum == name] for name in studies.SPECTRA}
iso = by_spectrum["isotropic"]
hues = dict(zip(sorted(scales, reverse=True), sns.color_palette("viridis", len(scales))))


def draw_paths(ax, rows, column, *, relative=False):
    """One column of a study of paths against the step, a line a scale."""
    for size, colour in hues.items():
        lines = wide(rows[rows["scale"] == size].dropna(subset=column), column, "step")
        values = lines.div(lines.max(axis=1), axis=0) if relative else lines
        plots.realisations(ax, lines.columns, values, color=colour, marker="", label=f"$s_0$ = {size:g}")
    ax.set_xscale("symlog", linthresh=EARLY)
    ax.set_xlim(0, steps)
    ticks = [0, EARLY, *(tick for tick in (20, 100) if 2 * tick < steps), steps]
    ax.set_xticks(ticks, [f"{tick}" for tick in ticks])


def path_figure(name, rows, caption):
    """UC-NFA, C-NFA, train and test loss for both layers."""
    fig, axes = plt.subplots(2, 4, figsize=(12.5, 5.6), sharex=True)
    columns = {"uc": "UC-NFA", "c": "C-NFA", "train_loss": "train loss", "test_loss": "test loss"}
    for layer, row in enumerate(axes, start=1):
        for ax, (column, title) in zip(row, columns.items()):
            draw_paths(ax, rows[rows.layer == layer], column, relative=column.endswith("loss"))
            ax.set(ylim=(0, 1.02), title=title if layer == 1 else "", xlabel="step" if layer == 2 else "")
        row[0].set_ylabel(f"layer {layer}")
    axes[1, 0].legend(fontsize="small")
    chapter.figure(fig, name, caption, rows)


path_figure(
    "fig-d-2",
    iso,
    "The ansatz along training, uncentred and centred, from several scales of the first layer's initial weights; upper "
    "row: layer 1, lower row: layer 2; the losses are the same in both (paper D, Fig. 2). Early, the C-NFA hardly knows "
    "the scale.",
)


# %%
def robustness(rows, step):
    """How much further the UC-NFA spreads over scales than the C-NFA, first layer."""
    both = np.stack([wide(at(rows, step, 1), name).to_numpy() for name in ("uc", "c")], 1)
    return jackknife(both, lambda values: spread(values[:, 0]) - spread(values[:, 1]))


early, end = at(first_steps, EARLY), at(iso, steps)
both_layers = ["scale", "layer"]


def furthest(values, choose=min):
    """The smallest (or largest) of the medians over networks, each with its interval."""
    medians = [median(column) for column in np.asarray(values, dtype=float).T]
    ends = (choose(getattr(one, name) for one in medians) for name in ("value", "low", "high"))
    return Estimate(*ends, len(values), "extreme of medians, order statistics")


chapter.check("D.Fig2-cnfa", furthest(wide(early, "c", both_layers)), early, figure="fig-d-2")
leaping = wide(at(first_steps, EARLY, 1), "train_loss") > wide(at(first_steps, 0, 1), "train_loss")
chapter.say(
    f"At this rate some networks leap: {leaping[max(scales)].mean():.0%} of those that start at the largest scale have a "
    f"larger training loss at step {EARLY} than at the start, {leaping[min(scales)].mean():.0%} of those that start at the "
    "smallest. What is measured early is therefore a median over networks."
)
chapter.check("D.Fig2-cnfa-late", least(wide(end, "c", both_layers)), end, figure="fig-d-2")
for claim, layer in (("D.Fig2-ucnfa", 1), ("D.Fig2-ucnfa-layer-2", 2)):
    there = at(iso, steps, layer)
    chapter.check(claim, jackknife(wide(there, "uc"), spread), there, figure="fig-d-2")
chapter.check("D.Fig2-contrast", robustness(first_steps, EARLY), early, figure="fig-d-2")


def improvement(rows):
    """Test loss at the largest scale less that at the smallest."""
    losses = wide(at(rows, steps, 1), "test_loss")
    return mean(losses[max(scales)] - losses[min(scales)])


chapter.check("D.Fig2-test-loss", improvement(iso), at(iso, steps, 1), figure="fig-d-2")
dip = iso[(iso.layer == 1) & (iso.step > 0)].groupby(["scale", "step"]).c.mean().unstack("scale").min()
chapter.say(
    "Between its early value and the end the first layer's C-NFA dips: its smallest values, over the measured steps, are "
    + ", ".join(f"{value:.2f} from $s_0$ = {size:g}" for size, value in dip.items())
    + ". It stays high throughout only where the first layer starts small, and in the second layer."
)
# %% [markdown]
# The first steps are those of the initial velocity (Prop. 3): the C-NFA at step 5 is that of $\dot W$ at step 0. And where
# the outputs start near zero, labels may stand for residuals in it (Eq. 4).
# %%
limit, layer1 = at(first_steps, 0, 1), at(first_steps, EARLY, 1)
factor = wide(layer1, "c") / wide(limit, "c")
chapter.check("D.Prop3-early", ratio(np.exp(np.log(factor).mean(axis=1))), layer1, limit, figure="fig-d-2")
small = limit[limit["scale"] == limit["scale"].iloc[(limit["scale"] - 0.01).abs().argmin()]]
chapter.check("D.Prop4-labels", ratio(small.c_labels / small.c), small, figure="fig-d-2")
# %% [markdown]
# ### Whose scale?
# The paper calls the final UC-NFA "extremely sensitive" to the scale, "e.g. second row", where only the first layer's
# scale is varied. We find the second layer's UC-NFA indifferent to that. It is sensitive to the second layer's own.
# %%
swept = pd.concat([paths[paths.second != 1], iso[(iso["scale"] == second_at) & (iso.seed < other_seeds)]])
own = at(swept, steps, 2)
fig, axes = plots.panels(2, sharey=True)
for ax, rows, by, label in (
    (axes[0], at(iso, steps, 2), "scale", "first layer's scale $s_0$"),
    (axes[1], own, "second", "second layer's scale $s_1$"),
):
    for column, name, style in (("uc", "UC-NFA", "-"), ("c", "C-NFA", "--")):
        values = wide(rows, column, by)
        plots.realisations(ax, values.columns, values, linestyle=style, label=name)
    ax.set(xscale="log", xlabel=label, ylim=(0, 1.02))
axes[0].set_ylabel("layer 2, end of training")
axes[0].legend()
chapter.figure(
    fig,
    "fig-d-2-second",
    f"The second layer's ansatz at the end of training against the scale of the first layer ($s_1$ = 1) and against its own "
    f"($s_0$ = {second_at:g}).",
    at(iso, steps, 2),
    own,
)
chapter.check("D.Fig2-second-scale", jackknife(wide(own, "uc", "second"), spread), own, figure="fig-d-2-second")
# %% [markdown]
# ## What changes: the weights or the kernel?
# Weights may align with the tangents, or the tangents with the weights. Two more centrings tell: the share of the centred
# covariance that is due to change of $K$, $\operatorname{tr}(\bar W^\top\bar W\bar W^\top\bar K\bar W)/
# \operatorname{tr}(\bar W^\top\bar W\bar W^\top K\bar W)$, and the alignment of that change with the initial weights,
# $\rho(W_0^\top W_0,W_0^\top\bar KW_0)$.
# %%
decaying = by_spectrum["1/(1+k^2)"]
fig, axes = plt.subplots(2, 3, figsize=(11, 5.6), sharex=True)
for layer, row in enumerate(axes, start=1):
    views = (
        (iso, "double", "double-centred ratio"),
        (iso, "ptk", "PTK-centred"),
        (decaying, "ptk", "PTK-centred, $1/(1+k^2)$"),
    )
    for ax, (rows, column, title) in zip(row, views):
        draw_paths(ax, rows[(rows.layer == layer) & (rows.step > 0)], column)
        ax.set(title=title if layer == 1 else "", xlabel="step" if layer == 2 else "", ylim=(0, 1.02))
    row[0].set_ylabel(f"layer {layer}")
axes[0, 0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-d-4",
    "Left: the share of the centred covariance that is due to change of the PTK (paper D, Fig. 4). Middle and right: "
    "alignment of the PTK's change with the initial weights, on isotropic data and on data of spectrum 1/(1+k²) (paper D, "
    "Fig. 5). Early on the weights move and the kernel does not; late both have.",
    iso,
    decaying,
)


# %%
def largest(values):
    """The largest of several means, with the interval of ``least``."""
    return -least(-np.asarray(values, dtype=float))


def later(rows):
    """PTK-centred correlation at the end less that early on, scales and layers side by side."""
    return wide(at(rows, steps), "ptk", both_layers) - wide(at(rows, EARLY), "ptk", both_layers)


chapter.check("D.Fig4-early", furthest(wide(early, "double", both_layers), max), early, figure="fig-d-4")
chapter.check("D.Fig4-late", largest(wide(end, "double", both_layers)), end, figure="fig-d-4")
chapter.check("D.Fig5-isotropic", largest(later(iso)), at(iso, EARLY), end, figure="fig-d-4")
tiny = iso[iso["scale"] <= 0.01]
if len(tiny):
    chapter.check("D.Fig5-small-scale", largest(later(tiny)), at(tiny, EARLY), at(tiny, steps), figure="fig-d-4")
ends = at(decaying, EARLY), at(decaying, steps)
chapter.check("D.Fig5-decaying", largest(later(decaying)), *ends, figure="fig-d-4")
# %% [markdown]
# ## Other data
# The same on points whose covariance has eigenvalues $1/(1+k^\alpha)$ in a random eigenbasis.
# %%
path_figure("fig-d-7", by_spectrum["1/(1+k)"], "As {numref}`fig-d-2`, on data of spectrum $1/(1+k)$ (paper D, Fig. 7).")
# %%
path_figure("fig-d-8", decaying, "As {numref}`fig-d-2`, on data of spectrum $1/(1+k^2)$ (paper D, Fig. 8).")
# %%
for item, rows in (("D.Fig7", by_spectrum["1/(1+k)"]), ("D.Fig8", decaying)):
    figure = item.lower().replace(".fig", "-")
    chapter.check(f"{item}-robust", robustness(rows, steps), at(rows, steps, 1), figure=f"fig-{figure}")
    chapter.check(f"{item}-test-loss", improvement(rows), at(rows, steps, 1), figure=f"fig-{figure}")
left = at(decaying, steps, 1).groupby("scale")[["train_loss", "test_loss"]].mean()
chapter.say(
    "On the second of these spectra training is not over where the paper stops. Mean squared errors left, training and test: "
    + "; ".join(f"{row.train_loss:.3f} and {row.test_loss:.3f} from $s_0$ = {size:g}" for size, row in left.iterrows())
    + "."
)
# %% [markdown]
# ## The first moments of training
# D.Prop3, D.Prop4
# %% [markdown]
# ## Random matrices predict it
# D.Prop10, D.Eq20, D.Eq22, D.Eq28, D.Fig3
# %% [markdown]
# ## Depth and other activations
# D.Fig6
# %% [markdown]
# ## Faces
# Paper D repeats its first figure on celebrities {cite:p}`liu2015` with and without glasses. Which pixels does a network look at, by its
# weights and by its gradients? Compared are the diagonals of the two matrices, by their Pearson correlation. CelebA cannot
# be shipped; put its folder into `$REGIMES_DATA` (`regimes.data.celeba` says how) to see the paper's own faces. Else we
# take the first images that are on this machine, and the caption says which. Faces are split by person: on a random split
# a network may know the person.
# %%
seen = chapter.sweep(studies.glasses)
one = seen[seen.seed == 0].iloc[0]
maps = {"shown_mean": "mean image", "shown_contrast": "labels +1 less −1", "shown_nfm": "NFM", "shown_agop": "AGOP"}
maps |= {"shown_random": r"$W^\top QW$"}
fig, axes = plt.subplots(1, 5, figsize=(12.5, 3))
for ax, (name, title) in zip(axes, maps.items()):
    ax.imshow(np.reshape(one[name], (int(one.height), -1)), cmap="gray" if name == "shown_mean" else "magma")
    ax.set(title=title, xticks=[], yticks=[])
    ax.grid(False)
chapter.figure(
    fig,
    "fig-d-9",
    "Where a network looks: the mean training image, the difference of the two labels' means, and the diagonals of the "
    "first layer's NFM, AGOP, and the latter with a random matrix of K's spectrum (paper D, Fig. 9).",
    seen,
)
# %%
if one["data"] in ("celeba", "faces"):
    chapter.check("D.Fig9-agop", mean(seen.agop), seen, figure="fig-d-9")
    chapter.check("D.Fig9-random", mean(seen.random), seen, figure="fig-d-9")
single = np.concatenate([np.asarray(draws) for draws in seen.single])
chapter.say(
    f"Pearson correlation of the diagonals: {seen.agop.mean():.2f} with the AGOP. With a random matrix in place of $K$ the mean "
    f"is {seen.random.mean():.2f}, but single draws lie anywhere between {single.min():.2f} and {single.max():.2f}: a few "
    f"eigenvalues make up $K$, so that a draw picks a few directions. The paper shows one draw; {np.mean(single < 0.1):.0%} of "
    f"ours are below 0.1. Mean error on what was not trained on: {seen.error.mean():.0%}, where always saying the "
    f"commoner label would give {seen.chance.mean():.0%}."
)
# %% [markdown]
# ## Beyond the paper: does it hold exactly where compression happens?
# Paper A's network on the stripe (chapter 2) compresses the uninformative directions by a factor $\Lambda$ when its output
# scale $\alpha$ is small, and does not when it is large. We follow the ansatz of its first layer along the same gradient
# flow. If alignment *is* compression, the two should come and go together.
# %%
flow = chapter.sweep(studies.stripes)
star = flow[flow.moment == "star"].set_index(["alpha", "seed"]).t
flow = flow.join(star.rename("t_star"), on=["alpha", "seed"]).dropna(subset="t_star")
fig, axes = plots.panels(3, columns=3, width=4.2)
shades = dict(zip(sorted(stripe_alpha), sns.color_palette("coolwarm_r", len(stripe_alpha))))
for alpha, rows in flow[(flow.seed == 0) & (flow.t > 0)].groupby("alpha"):
    line = rows.sort_values("t")
    axes[0].plot(line.t / line.t_star, line["size"], color=shades[alpha], label=rf"$\alpha$ = {alpha:g}")
    axes[1].plot(line.t / line.t_star, line.uc, color=shades[alpha])
    axes[1].plot(line.t / line.t_star, line.c, "--", color=shades[alpha])
    late = line[line.moment == "late"]
    for ax, column in ((axes[0], "size"), (axes[1], "uc")):
        ax.plot(late.t / late.t_star, late[column], "o", color=shades[alpha], markersize=5)
axes[0].set(xscale="log", yscale="log", xlabel="$t/t^*$", ylabel=r"amplification $\Lambda$", xlim=(1e-2, None))
axes[0].legend(fontsize="small")
axes[1].set(xscale="log", xlabel="$t/t^*$", ylabel="UC-NFA (full), C-NFA (dashed)", xlim=(1e-2, None))
fitted = flow[flow.moment == "end"]
for column, label in (("uc", "UC-NFA"), ("c", "C-NFA")):
    plots.realisations(axes[2], sorted(stripe_alpha), wide(fitted, column, "alpha"), label=label)
axes[2].set(xscale="log", xlabel=r"$\alpha$", ylabel="at zero loss", ylim=(0, 1.02))
axes[2].legend()
chapter.figure(
    fig,
    "fig-d-stripe",
    "Compression and the ansatz on paper A's stripe, from feature learning (small α) to lazy. Left and middle: along "
    "training, one network a scale; dots: 98 % of the points are fitted. Right: at zero loss, all networks. The uncentred "
    "ansatz follows the amplification; the centred one holds without it.",
    flow[flow.moment != "path"],
)
# %%
compressing = [alpha for alpha in stripe_alpha if alpha <= 1] or stripe_alpha[:1]
moments = {name: flow[flow.moment == name] for name in ("late", "end")}
late, fitted = (rows[rows.alpha.isin(compressing)] for rows in moments.values())
lazy = moments["end"][moments["end"].alpha == max(stripe_alpha)]
feature = moments["end"][moments["end"].alpha == min(stripe_alpha)]
chapter.check("D.Stripe-lazy", mean(lazy.c), lazy, figure="fig-d-stripe")
gain = feature.set_index("seed").uc - lazy.set_index("seed").uc
chapter.check("D.Stripe-uncentred", mean(gain.dropna()), feature, lazy, figure="fig-d-stripe")
rising = flow[flow.alpha.isin(compressing) & (flow.satisfied <= studies.LATE) & (flow.moment != "start")]
ranks = rising.groupby(["seed", "alpha"])[["size", "uc"]].apply(lambda g: g.rank().corr().iloc[0, 1]).unstack()
chapter.check("D.Stripe-together", least(ranks.dropna()), rising, figure="fig-d-stripe")
change = wide(moments["end"], "c", "alpha") - wide(moments["late"], "c", "alpha")
chapter.check("D.Stripe-last", least(change.dropna()), *moments.values(), figure="fig-d-stripe")


def geometric(values):
    """The geometric mean over scales of each seed."""
    return ratio(np.exp(np.log(values.dropna()).mean(axis=1)))


shrinking = wide(fitted, "size", "alpha") / wide(late, "size", "alpha")
chapter.check("D.Stripe-last-size", geometric(shrinking), late, fitted, figure="fig-d-stripe")
steeper = wide(fitted, "size_gradient", "alpha") / wide(fitted, "size", "alpha")
chapter.check("D.Stripe-gradient", geometric(steeper), fitted, figure="fig-d-stripe")
# %% [markdown]
# So the answer depends on which ansatz is asked. The *centred* one is no sign of compression: it holds at all scales, in
# the lazy regime too, where the weights hardly move, because what moves them is the same velocity. The
# *uncentred* one comes with compression. Neither breaks when the last points are fitted, though $\Lambda$ falls there:
# a correlation near 1 says that the one large direction agrees, and little about how small the others are. The same
# number can hide that the gradients are compressed further than the weights (last verdict). Where the centred ansatz does
# weaken it is in the lazy regime, after $t^*$: the velocity of the points that are left is no longer that of the start.
# %% [markdown]
# ## Beyond the paper: other ways to descend
# The theory of the centred ansatz is one of gradient descent. Under Adam the first steps are not along $\dot W$ but along
# its signs. Under weight decay $\bar W$ contains what decay has taken away from $W_0$, which knows nothing of the data; to
# centre at what decay alone would have left, $W-(1-\eta\lambda)^tW_0$, takes that out.
# %%
single = paths[(paths.spectrum == "isotropic") & (paths.second == 1) & (paths["scale"] == other_scale)]
single = single[single.seed < other_seeds]
decayed = single[(single.method == "gd") & (single.penalty > 0)]
undecayed = single[(single.method == "gd") & (single.penalty == 0)]
adam = single[(single.method == "adam") & (single.penalty == 0)]
fig, axes = plots.panels(2, sharey=True)
ways = [("gradient descent", undecayed, "c", "-"), ("Adam", adam, "c", "-")]
adam_decayed = single[(single.method == "adam") & (single.penalty > 0)]
ways += [(rf"Adam, $\lambda$ = {adam_penalty:g}", adam_decayed, "c", "-")]
for ax, layer in zip(axes, (1, 2)):
    for (label, rows, column, style), colour in zip(ways, plots.PALETTE):
        lines = wide(rows[(rows.layer == layer) & (rows.step > 0)], column, "step")
        plots.realisations(ax, lines.columns, lines, color=colour, linestyle=style, marker="", label=label)
    for penalty, colour in zip(penalties, plots.PALETTE[3:]):
        rows = decayed[(decayed.penalty == penalty) & (decayed.layer == layer) & (decayed.step > 0)]
        for column, style in (("c", "-"), ("c_shrunk", "--")):
            lines = wide(rows, column, "step")
            label = rf"descent, $\lambda$ = {penalty:g}" if column == "c" else None
            plots.realisations(ax, lines.columns, lines, color=colour, linestyle=style, marker="", label=label)
    ax.set(xscale="log", xlabel="step", title=f"layer {layer}", ylim=(0, 1.02))
axes[0].set_ylabel("C-NFA")
axes[0].legend(fontsize="x-small")
chapter.figure(
    fig,
    "fig-d-descent",
    "The centred ansatz under gradient descent, under Adam, and with weight decay; dashed: centred at what decay alone "
    "leaves of the initial weights. Weight decay breaks the ansatz that is centred at the initial weights, and not the "
    "other.",
    single,
)
# %%
gap = wide(at(adam, steps, 1), "c") - wide(at(undecayed, steps, 1), "c")
chapter.check(
    "D.Descent-adam", mean(gap.iloc[:, 0]), at(adam, steps, 1), at(undecayed, steps, 1), figure="fig-d-descent"
)
strongest = at(decayed[decayed.penalty == max(penalties)], steps, 2)
loss = wide(strongest, "c") - wide(at(undecayed, steps, 2), "c")
chapter.check("D.Descent-penalty", mean(loss.iloc[:, 0]), strongest, at(undecayed, steps, 2), figure="fig-d-descent")
kept = at(decayed, steps, 2)
chapter.check("D.Descent-shrunk", least(wide(kept, "c_shrunk", "penalty")), kept, figure="fig-d-descent")
# %% [markdown]
# ## Claims
# %%
chapter.ledger()
# %% [markdown]
# ## Errata and open points
# - The paper does not state the scales of its Fig. 2, the number of test points, whether the loss has a factor ½, nor the
#   steps and rate of Fig. 1. Ours are in the parameters cell.
# - Its faces are not ours unless you have them, and the 400 images of 40 people that we have {cite:p}`samaria1994` are few:
#   people with glasses differ in hair and background as well. The figure on faces is a qualitative one.
# - What the random matrix gives on faces differs from draw to draw by more than the paper's number: its 0.04 is one such
#   draw, ours is a mean over many.
# - That the test loss improves for smaller initialisation is not what we find on the spectrum $1/(1+k^2)$ after the
#   paper's 800 steps, where the small scales have the larger training loss still to lose. What is left at convergence is
#   open at this size (`-p steps 6400`).
#
# ## Try it yourself
# - `make chapter-06 NAME=loud PARAMS='-p rate 0.1'` takes the loss without its factor ½. What happens at $s_0=1$?
# - `-p rank 3` makes the EGOP's eigenvalues fewer. Does the random matrix do better or worse?
# - Why must the C-NFA of a layer with a single neuron be 1, and what does that say about narrow layers?
