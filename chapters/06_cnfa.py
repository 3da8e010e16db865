# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-06)=
# # Alignment is early, is lost while the kernel is frozen, and features bring it back
# :::{div} guess
# **Guess first.** In the first steps of training, the changes of a layer's weights and the gradients of the output are aligned: their correlation is above 0.8. Now suppose that no features are learnt, so that the kernel stays what
# it was at the start. What is the correlation at the end of training?
#
# - higher
# - as high
# - **lower, near a half**
#
# Measured: {interval}`D.Fig2-law-end`. It is features that bring the alignment back, and not training as such.
# :::
#
# Training adds to the weights of a network. Paper D says that this addition is aligned with the network's gradients from the first
# step, and stays so. We measure when this holds, why it fails, and what it is a sign of.
#
# ## What we find
# - After five steps the changes of the weights and the gradients through them are aligned at every initial scale tried: on isotropic data, without
#   weight decay, the median correlation is at least {claim}`D.Fig2-cnfa` ([how](#early-at-every-scale)).
# - With a frozen kernel this alignment is lost: on the chain monomial a formula has it fall to {claim}`D.Fig2-law-end` in the first layer,
#   and networks with large initial weights follow if the step is small ([how](#lost-and-regained)).
# - Features bring it back: from small initial weights and with a small step, the first layer ends {claim}`D.Fig2-excess` above the formula, so the
#   sign of features is alignment beyond it, not alignment alone ([how](#lost-and-regained)).
#
# ## Overview
# Two matrices show which inputs a network uses. The {term}`neural feature matrix` (NFM) is made of the first layer's weights. The
# {term}`average gradient outer product` (AGOP) is made of the gradients of the output by the input. In trained networks the two are alike: this is
# the neural feature ansatz {cite}`radhakrishnan2024`. Paper D {cite}`beaglehole2024` explains it by the
# {term}`centred ansatz <centred neural feature ansatz>`: the change of the weights since the start is aligned with the gradients by the
# pre-activations.
#
# You need to know what a gradient of a network is; chapter 2 explains {term}`compression`. The [details](#cnfa-details) hold the derivations, the
# other figures of paper D and its single statements.
#
# Before us: a later version of paper D has a proof in high dimension {cite}`beaglehole2024v4`. In linear networks a power of the ansatz holds that depends on the
# depth, and some networks fit their data without it {cite}`tansley2025`. What holds at convergence is derived in {cite}`boixadsera2025`. Instabilities of the loss raise the
# alignment {cite}`zhu2024`, and the AGOP makes classes collapse {cite}`beaglehole2024collapse`. New as far as we know are the law of lazy training; the corrected
# formulas with closed moments; data that oppose NFM and AGOP without a few dominant directions; a centring that takes out weight decay, on which compare
# {cite}`tansley2025`; and the comparison of the ansatz with compression.
#
# :::{dropdown} Symbols
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
# :::
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
d = 32  # dimension of the chain monomial's points (paper D: 32)
rank = 5  # its relevant coordinates (paper D: 5)
rate = 0.05  # step of gradient descent on half the mean square (paper D: 0.05)
n = 256  # training points along training (paper D, Fig. 2: 256)
k = 256  # width (paper D, Fig. 2: 256)
scales = [1.0, 0.1, 0.01, 0.001]  # of the first layer's initial variance (paper D, Fig. 2: not stated)
steps = 800  # of gradient descent (paper D: 800)
seeds = 6  # networks with data of their own
stripe_alpha = [1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4]  # output scales on the stripe, feature to lazy
reversal_n = 256  # points, dimensions and neurons of the alignment-reversing data (paper D: 1024)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.papers.alignment.claims import alignment
from companion.papers.alignment.studies import alignment as studies
from companion.papers.alignment.studies import initial_alignment as initial

chapter = Chapter("06", globals())
# %% [markdown]
# ## What training adds is correlated with the gradients after one step
# The weights that training adds and the gradients through them are correlated after the first step, long before the task is
# learnt (lower two rows of {numref}`fig-d-picture`). The correlation is not full, and need not grow. All weights and all
# gradients (upper two rows), in contrast, look like noise at the start, and their correlation grows while the task is learnt. **Guess first:** which
# pair is more alike at the end? The network is narrower than those of the next sections. Each image of {numref}`fig-d-picture` is a matrix over
# pairs of inputs, dark where its entry is large.
# %% tags=["key"]
frames = chapter.rows(studies.first_layer_snapshots, "main").sort_values("step")
matrices = {"nfm": "all weights", "agop": "all gradients"}
matrices |= {"moved": "what training\nhas added", "centred": "gradients\nthrough it"}
columns = 1 + len(frames)
fig, axes = plt.subplots(4, columns, figsize=(1.35 * columns, 5.2))
images = [(axes[0, 0], frames.egop.iloc[0])]
for column, (_, frame) in zip(axes[:, 1:].T, frames.iterrows()):
    images += [(ax, frame[name]) for ax, name in zip(column, matrices)]
    for ax, first, second in ((column[1], "nfm", "agop"), (column[3], "moved", "centred")):
        norms = np.linalg.norm(frame[first]) * np.linalg.norm(frame[second])
        ax.set_xlabel(rf"$\rho$ = {np.dot(frame[first], frame[second]) / norms:.2f}", fontsize="small")
    column[0].set_title(f"step {frame.step}")
for ax, values in images:
    image = np.abs(np.reshape(values, (round(len(values) ** 0.5), -1)))
    ax.imshow(image / image.max(), cmap="magma_r", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[])
    ax.grid(False)
for ax, label in zip(axes[:, 1], matrices.values()):
    ax.set_ylabel(label)
axes[0, 0].set_title("the task")
for ax in axes[1:, 0]:
    ax.set_visible(False)
chapter.figure(fig, "fig-d-picture", frames)
# %% [markdown] tags=["caption"]
# **What training adds is correlated with the gradients from the first step on; of all weights and all gradients the correlation is high
# only at the end.** Matrices over pairs of inputs, each scaled by its largest entry, along the training of one network. Upper two rows:
# weights of the first layer, and gradients of the output by the input. Lower two: what training has added, and the gradients through
# that. Below each pair its correlation $\rho$.
# %% [markdown]
# ## Weights and gradients of a trained network agree
# The NFM $F=W^\top W$ and the AGOP $\bar G$ have correlation {claim}`D.Fig1-agop` after training; paper D prints 0.93 in its Fig. 1.
# Here $W$ are the first layer's weights, and the correlation is the cosine
# $\rho(A,B)=\operatorname{tr}(A^\top B)/(\lVert A\rVert\lVert B\rVert)$.
#
# Let $\delta$ be the gradients of the output by the pre-activations at the $n$ training points, and $K=\delta^\top\delta$. Since the gradient
# by the inputs is $\delta W$, $\bar G=W^\top KW/n$ holds exactly (Prop. 2): only $K$ stands between the two matrices. With a random matrix
# $Q$ of the same eigenvalues in place of $K$ the correlation is {claim}`D.Fig1-random`. It cannot be 0, because the mean of $Q$ over its
# eigenvectors is a multiple of the identity, for which $W^\top QW$ is the NFM itself. One draw of $Q$ is far from this mean, because few
# eigenvalues count: they spread by {claim}`D.Fig1-spread` times their own mean.
#
# The task is the chain monomial, $y\propto\sum_{j<r}x_jx_{j+1}$ on a ring of $r$ of the $d$ coordinates. Two hidden ReLU layers without
# biases learn the task, with small initial weights in the first layer. The EGOP is the expected gradient outer product of the task
# ([details](#egop-of-the-task)): the first image of {numref}`fig-d-picture`. After training the AGOP has correlation {claim}`D.Fig1-egop` with it, and the
# NFM {claim}`D.Sec21-nfm`: the weights have learnt which inputs the task uses.
# %%
trained = chapter.rows(studies.learned_features, "main")
means = trained.groupby("layer")[["uc", "random", "egop_agop", "egop_nfm", "spread"]].mean().reset_index()
means.columns = ["layer", "NFM, AGOP", "NFM, $W^\\top QW$", "EGOP, AGOP", "EGOP, NFM", "spread of $K$'s eigenvalues"]
chapter.table(
    means,
    "tab-d-1",
    "The eigenvectors of $K$ make weights and gradients agree: with random ones, $Q$, the correlation is lower. Correlations of "
    "the matrices of trained networks, and standard deviation over mean of the eigenvalues of $K$; means (paper D, Fig. 1).",
    trained,
    digits=2,
)
# %% [markdown]
# (early-at-every-scale)=
# ## The C-NFA is high early at every scale, and does not remain so from scale 1
# At step 5 the C-NFA, in the median over networks, is at least {claim}`D.Fig2-cnfa` ({numref}`fig-d-2`). Its range over the scales of the
# initial weights is smaller than that of the UC-NFA by {claim}`D.Fig2-contrast`. We take medians because at this rate some networks become
# unstable: {glue:text}`share-unstable` of those from the largest scale have a larger training loss at step 5 than at the start.
#
# It "remains high throughout training across initialization scale", says paper D. We compare the least value over the course with that at
# step 5, both beyond 0.53, the correlation with a random matrix in its Fig. 1. At the paper's rate the part kept is {claim}`D.Fig2-throughout`
# from scale 1 and {claim}`D.Fig2-throughout-thousandth` from 0.001. Some networks are unstable at this rate. The next section takes a smaller step,
# at which none is.
#
# *Centring.* The UC-NFA is $\rho(F,\bar G)$. The initial weights $W_0$ are part of both its matrices. Centring replaces $W$ by
# $\bar W=W-W_0$ and leaves $K$ unchanged, so that the C-NFA is $\rho(\bar W^\top\bar W,\bar W^\top K\bar W)$. At step 0, where
# $\bar W=0$, we plot its limit, with the velocity $\dot W$ in place of $\bar W$.
#
# *Settings.* All networks start from the same random weights, up to a factor $s_0$ on the variance of the first layer. The covariance of
# the points is the identity, or has eigenvalues $1/(1+k)$ or $1/(1+k^2)$ in a random eigenbasis, $k\ge1$: then a large exponent leaves one
# direction, the projector of App. C. The paper states neither where $k$ starts, nor its scales, nor whether the loss has a factor ½ at its
# rate of 0.05. Ours has it, because without it more networks become unstable.
# %%
rows = pd.concat([chapter.rows(studies.correlations, "isotropic"), chapter.rows(studies.correlations, "decaying")])
measured_steps = sorted({0, studies.EARLY, 20, 40, 60, 80, 120, 160, 240, 400, 600, rows.step.max()} & {*rows.step})
rows = rows[rows.step.isin(measured_steps)]
highest = rows.groupby(["spectrum", "scale", "step"]).test_loss.median().max()
fig, axes = plots.panels(9, columns=3, width=2.3, height=1.9, sharex=True)


def draw(frame):
    at_step = rows[rows.step == measured_steps[frame]]
    for column, (spectrum, networks) in enumerate(at_step.groupby("spectrum", sort=False)):
        for ax, (layer, part) in zip(axes[column::3], networks.groupby("layer")):
            plots.over_seeds(ax, part, "scale", "uc", color=plots.COLOURS["uncentred"], label="UC-NFA")
            plots.over_seeds(ax, part, "scale", "c", color=plots.COLOURS["centred"], linestyle="--", label="C-NFA")
            ax.set(xscale="log", ylim=(0, 1.02), ylabel=f"ansatz, layer {layer}")
        plots.over_seeds(axes[6 + column], networks[networks.layer == 1], "scale", "test_loss", color="0.2")
        axes[6 + column].set(xscale="log", ylim=(0, 1.3 * highest), ylabel="test loss", xlabel="scale $s_0$")
        axes[column].set_title(f"${spectrum}$" if "/" in spectrum else spectrum)
    for ax in axes:
        ax.label_outer()
    axes[0].legend(loc="lower left", fontsize="small")


chapter.glue("share-unstable", f"{alignment.share_unstable(chapter.rows(studies.correlations, 'first_steps')):.0%}")
labels = [f"step {step}" for step in measured_steps]
chapter.slider(fig, draw, labels, "fig-d-2", rows, knob="training step", start=len(labels) - 1)
# %% [markdown] tags=["caption"]
# **Early the C-NFA hardly depends on the scale; at the end it falls at large scales.** Ansatz of both layers, uncentred and centred, and
# test loss, against the scale of the first layer's initial weights, on data of three spectra. Medians and quartiles over networks
# (paper D, Fig. 2, 7 and 8). Move the slider along training.
# %% [markdown]
# (lost-and-regained)=
# ## The early alignment is lost while the kernel is frozen, and features bring it back
# With the tangent kernel $\Theta$ frozen at the start, the C-NFA has a closed form at every time. Gradient flow leaves the residuals
# $e^{-\Theta s/n}\,r_0$. The first layer's change is then $\bar W\propto\delta^\top CX$, where $C$ is the diagonal matrix of the
# residuals summed over time,
#
# $$
# c=\int_0^te^{-\Theta s/n}\,r_0\,ds=\Bigl(\frac\Theta n\Bigr)^{-1}\bigl(1-e^{-\Theta t/n}\bigr)\,r_0 .
# $$ (eq:D:lazy)
#
# This is Eq. 4 of paper D with the dual coefficients $c$ for the labels. Early, $c$ is proportional to the residuals $r_0$. Late it is
# proportional to $\Theta^{-1}r_0$, and weighs the directions that are learnt last. With it the alignment falls, on this task to
# {claim}`D.Fig2-law-end` at scale 1. It gives the speed, too: until the law has made half of its fall, networks of scale 1 have fallen
# {claim}`D.Abs-speed` times as far. Paper D's abstract promises the speed, and its formulas have the value at the start.
#
# {numref}`fig-d-frozen` compares networks with this law at a quarter of paper D's rate, at which no network's loss rises. At every scale they follow it down
# at first. Then the kernel turns, and alignment returns: at scale 0.1 it rises by {claim}`D.Fig2-regained-slow` from its least value. What a network has beyond
# its law at the end grows as the scale falls: from each scale to the next smaller one by at least {claim}`D.Fig2-excess-order`, from
# {claim}`D.Fig2-excess-one` at scale 1, where the kernel hardly moves.
#
# *The condition.* At paper D's rate networks of scale 1 end {claim}`D.Fig2-step` above the law. A quarter of the step removes this. So it is no feature: where
# the largest eigenvalue of the kernel times the rate is above 2, descent itself changes the kernel {cite}`zhu2024`. In the second layer
# the same instability lowers the alignment, and hides what features add ([details](#end-of-training)).
# %%
rows = chapter.rows(studies.correlations, "slow").query("layer == 1 and step > 0")
fig, axes = plots.panels(rows["scale"].nunique(), columns=4, width=2.3, height=2.6, sharey=True)
law = {"color": plots.COLOURS["theory"], "linestyle": "--", "marker": "", "label": "frozen kernel"}
for ax, (scale, networks) in zip(axes, rows.groupby("scale", sort=False)):
    plots.over_seeds(ax, networks, "step", "c", color=plots.COLOURS["centred"], marker="", label="network")
    plots.over_seeds(ax, networks, "step", "frozen", **law)
    ax.set(xscale="log", xlabel="step", title=f"$s_0={scale:g}$", ylim=(0.4, 1))
axes[0].set_ylabel("C-NFA, layer 1")
alt = "One panel per scale. The solid curve falls with the dashed one, then turns and rises above it, the further the smaller the scale."
chapter.figure(fig, "fig-d-frozen", rows, legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **Lazy training loses a part of the alignment; features bring it back, the more the smaller the scale.** C-NFA of the first layer along
# training at four scales $s_0$ (solid), and its value with the kernel of the start, {eq}`eq:D:lazy` (dashed), at a quarter of paper D's rate. Medians
# and quartiles over networks, on isotropic data.
# %% [markdown]
# ## How much is lost depends on the task and on the layer
# The first table has the law on six tasks, for networks of one size and the square loss. On the stripe less is left than on the chain monomial.
# We had expected more, because lazy training on the stripe ends high [below](#stripe-and-alignment). There the loss is a hinge, which leaves
# fitted points alone, and the network has one hidden layer. Which of the two makes the difference is open.
#
# The law holds for any layer that acts at several *positions* of a point: at tokens, or at the patches of a picture. All positions of
# a point have its dual coefficient. `companion.papers.alignment.theory.lazy.lazy_alignment` gives the value for any torch module, without training,
# and names the layers that have none. Our tests train a perceptron on tokens, an attention block with layer norm and a convolutional network
# lazily: each layer ends on its law to a thousandth.
#
# The layers differ much (second table). The layer on top of attention loses alignment as a perceptron does. Queries and keys do not: the lower of
# the two keeps {claim}`D.Lazy-attention`. A convolution and the dense layer on it lose little, too. One would take such a number for a sign of features, if a threshold were the test; in trained transformers a high
# correlation has been reported {cite}`radhakrishnan2024`. The law is the null hypothesis, and where it is high little room is left above it.
# %%
laws = pd.concat([chapter.rows(studies.lazy_predictions, "tasks"), chapter.rows(studies.lazy_predictions, "digits")])
means = laws.query("layer == 1").pivot_table("c", "task", "remains", sort=False).sort_index(axis=1, ascending=False)
means.columns = ["start"] + [f"{share:g} of the loss" for share in means.columns[1:]]
chapter.table(
    means.rename(lambda task: f"chain monomial, {task}" if task in studies.SPECTRA else task).reset_index(),
    "tab-d-lazy",
    "Lazy training loses alignment on every task, more on some. The C-NFA of the first layer with the kernel of the start, "
    "before training and when so much of the loss is left; means over networks of one size, none of them trained.",
    laws,
    digits=2,
)
# %%
layers = chapter.rows(studies.lazy_layers, "main")
means = layers.pivot_table("c", ["architecture", "layer"], "remains", sort=False).sort_index(axis=1, ascending=False)
means.columns = ["start"] + [f"{share:g} of the loss" for share in means.columns[1:]]
chapter.table(
    means.reset_index(),
    "tab-d-layers",
    "Queries, keys and convolutions keep their alignment in lazy training, perceptrons do not. The C-NFA of layers of three networks, with "
    "the kernel of the start, before training and when so much of the loss is left; means over networks, none of them trained.",
    layers,
    digits=2,
)
# %% [markdown]
# ## One kernel factor separates the two sides at the start
# The C-NFA at step 5 is {claim}`D.Prop3-early` times its value at step 0. Hence the velocity $\dot W$ at initialisation sets the early C-NFA. To
# second order in the time $t$, from $\bar W=0$ (Prop. 3),
#
# $$
# \bar W^\top\bar W=t^2\,\dot W^\top\dot W+\dots,\qquad \bar W^\top K\bar W=t^2\,\dot W^\top K\dot W+\dots
# $$ (eq:D:second)
#
# The velocity is $\dot W=\delta^\top YX$, with the inputs $X$ of the layer and the diagonal matrix $Y$ of the residuals. So, with the kernel
# $\mathcal K=\delta\delta^\top$ (Prop. 4),
#
# $$
# \dot W^\top\dot W=X^\top Y\mathcal KYX,\qquad \dot W^\top K\dot W=X^\top Y\mathcal K^2YX .
# $$ (eq:D:fourth)
#
# The two sides differ by one factor $\mathcal K$. The C-NFA is 1 where $\mathcal K$ is a multiple of a projector. Both lines are identities,
# {eq}`eq:D:fourth` at any time and for any loss. Our tests compare {eq}`eq:D:second` with finite differences of a {term}`gradient flow`, and
# verify {eq}`eq:D:fourth` to rounding. When the outputs are near zero the labels may replace the residuals (Eq. 4). This changes the
# correlation by a factor {claim}`D.Prop4-labels`.
# %% [markdown]
# (stripe-and-alignment)=
# ## Beyond the paper: the uncentred ansatz is high only where weights are compressed
# On the stripe the UC-NFA is larger by {claim}`D.Stripe-uncentred` in the feature regime, the C-NFA high in both
# ({numref}`fig-d-stripe`). We follow them along the gradient flow of paper A's network (chapter 2). At a small output scale $\alpha$ it
# compresses the uninformative directions by a factor $\Lambda$, the {term}`amplification`; at a large one, when lazy, it does not.
# %%
flow = alignment.with_star(chapter.rows(studies.stripes, "main"))
flow = flow.assign(time=flow.t / flow.t_star)
colours = plots.from_feature_to_lazy(flow.alpha.nunique())
fig, axes = plots.panels(3, columns=3, height=3.8)
for (alpha, network), colour in zip(flow[(flow.seed == flow.seed.min()) & (flow.t > 0)].groupby("alpha"), colours):
    path = network.sort_values("time")
    fitted = network[network.moment == "late"]
    axes[0].plot(path.time, path["size"], color=colour, label=rf"$\alpha={plots.number(alpha)}$")
    axes[0].plot(fitted.time, fitted["size"], "o", color=colour, markersize=5)
    axes[1].plot(path.time, path.uc, color=colour)
    axes[1].plot(path.time, path.c, "--", color=colour)
    axes[1].plot(fitted.time, fitted.uc, "o", color=colour, markersize=5)
axes[0].set(xscale="log", yscale="log", xlabel="$t/t^*$", ylabel=r"amplification $\Lambda$", xlim=(1e-2, None))
axes[1].set(xscale="log", xlabel="$t/t^*$", ylabel="ansatz", title="UC-NFA; dashed C-NFA", xlim=(1e-2, None))
ends = flow[flow.moment == "end"]
plots.over_seeds(axes[2], ends, "alpha", "uc", color=plots.COLOURS["uncentred"], label="UC-NFA")
plots.over_seeds(axes[2], ends, "alpha", "c", color=plots.COLOURS["centred"], linestyle="--", label="C-NFA")
axes[2].set(xscale="log", xlabel=r"scale $\alpha$", ylabel="ansatz at the end", ylim=(0, 1.02))
axes[2].legend()
alt = "Amplification and ansatz against time; at the end the uncentred ansatz falls from feature learning to lazy, the centred one does not."
chapter.figure(fig, "fig-d-stripe", flow, title="Which ansatz follows compression?", legend=3, alt=alt)
# %% [markdown] tags=["caption"]
# **On the stripe the uncentred ansatz is high only where weights are compressed; the centred one holds without that.** Paper A's stripe,
# from feature learning (small output scale $\alpha$) to lazy. Left and middle: along training, one network for each scale; dots: 98 % of
# the points are fitted. Right: at the end of training, all networks.
# %% [markdown]
# The centred ansatz weakens after the time $t^*$, when a tenth of the points have a margin above 1, because the remaining points drive the weights
# with another velocity. The uncentred ansatz comes with compression: both grow until $t^*$, where it is saturated, while $\Lambda$ grows on.
# %% [markdown]
# ## Random matrices predict single networks
# The prediction of the C-NFA at initialisation has a root mean square error of {claim}`D.Fig3-well-posed` for single networks ({numref}`fig-d-3`);
# they scatter by {claim}`D.Fig3-self-averaging` about their mean. We take a quadratic network $f=a^\top(Wx)^2$ with $a\sim\mathcal N(0,1)$ and
# $W\sim\mathcal N(0,1/k)$, and as many neurons $k$ as points $n$ and dimensions $d$. At step 0 the C-NFA is
#
# $$
# \begin{aligned}
# \rho&=\frac{\operatorname{tr}(ARARBR)}{\sqrt{\operatorname{tr}(ARAR)\,\operatorname{tr}(ARBRARBR)}},\\
# R&=W^\top\mathrm{diag}(a^2)W,\quad A=(X^\top YX)^2,\quad B=X^\top X .
# \end{aligned}
# $$ (eq:D:correlation)
#
# Here $A$ and $B$ are given by the data and $R$ is random, independent of them. Free probability, the calculus of moments of such large
# matrices, gives the three traces from the moments of $A$, $B$ and $R$ (App. E of paper D). We corrected two formulas
# ([details](#random-matrices)). We have the moments of $R$ in closed form; paper D averages 30 networks.
#
# *The data* are made such that NFM and AGOP differ much, as App. F of paper D intends. A share $\gamma$ of the points, the *balance*, has
# label 1 and the matrix $M=X_1^\top X_1$. Its eigenvalues are spread evenly in their logarithm between a *floor* $m_0$ and 1, on
# $\gamma n$ directions. The other points have label 0, and $X_2^\top X_2=M^{-2}-M$ on these directions. So the part
# $X^\top YX\,X^\top X\,X^\top YX$ of the AGOP is exactly a projector, and the NFM is $M^2$. App. F's own data cannot be built as written, and this part
# cannot be "close to identity", because its rank is at most $\gamma n$ ({ref}`erratum <erratum-d-reversing>`). Labels alone do not suffice:
# on isotropic data the prediction (Eq. 6) is at least 0.87, whatever their distribution.
#
# *The first order* (dashed) has $\mathbb E\mathcal K$ in place of $\mathcal K$. At a small floor it lies far below the observed values. With
# as many neurons as dimensions the fluctuation of $\mathcal K$, the covariance in Eq. 5, keeps the two matrices aligned.
# %%
rows = chapter.rows(initial.reversal, "spike_free")
rows = rows[rows.n == rows.n.max()]
styles = {"predicted": ("-", "predicted"), "printed": (":", "Eq. 28 as printed"), "first_order": ("--", "first order")}
fig, axes = plots.panels(rows.balance.nunique() + 1)
for ax, (balance, networks), colour in zip(axes, rows.groupby("balance"), plots.PALETTE):
    for column, (style, label) in styles.items():
        line = networks.groupby("floor")[column].mean()
        ax.plot(line.index, line, style, color=plots.COLOURS["theory"], linewidth=1.2, label=label)
    ax.plot(networks.floor, networks.observed, ".", color=colour, alpha=0.4, label="observed")
    ax.axhline(1, color="0.7", linewidth=0.8)
    ax.set(xscale="log", xlabel="floor $m_0$", ylim=(0.4, 1.5), title=rf"balance $\gamma={balance:g}$")
    axes[-1].plot(networks.predicted, networks.observed, ".", color=colour, alpha=0.4, label=rf"$\gamma={balance:g}$")
for ax in axes[:-1:2]:
    ax.set_ylabel("C-NFA at initialisation")
ends = [rows.predicted.min(), rows.predicted.max()]
axes[-1].plot(ends, ends, color=plots.COLOURS["theory"], linewidth=1)
axes[-1].set(xlabel="predicted", ylabel="observed", title=stated.both_sizes(int(rows.n.iloc[0]), "D.reversal"))
axes[-1].legend(fontsize="small")
alt = "Observed alignment as dots against the floor, on the predicted line and below a dotted line that exceeds one."
chapter.figure(fig, "fig-d-3", rows, title="Do random matrices predict single networks?", legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Free probability predicts single networks; Eq. 28 as printed exceeds 1, and the first order is too low.** Data without dominant
# directions, at the largest size: each dot is a network on a data set. Lines: free probability with closed moments (full), the same with
# Eq. 28 as printed (dotted), and the first order, with the expected kernel alone (dashed). Last panel: observed against predicted
# (paper D, Fig. 3).
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **Alignment is early, whatever the scale.** The *centred* alignment (C-NFA) correlates the added weights with the gradients. At
#   step 5 its median over networks is at least {interval}`D.Fig2-cnfa` at every scale of the initial weights from 1 to 0.001, because one
#   factor, a kernel, separates the two sides.
# - **It is lost while the kernel is frozen.** One would expect it to remain, as paper D says. With the kernel frozen at the start, however, the
#   first layer's alignment has a closed form, the *lazy law*, and falls to {interval}`D.Fig2-law-end`. Networks of scale 1 follow this law within
#   {interval}`D.Fig2-law-slow` if the step is so small that the loss never rises. Of what they have early beyond a random matrix
#   they keep {interval}`D.Fig2-throughout-small-step` at the lowest point, and those of scale 0.1 keep {interval}`D.Fig2-throughout-small-tenth`.
# - **Features bring it back.** From scale 0.1 it rises again by {interval}`D.Fig2-regained-slow`. From 0.01 it ends
#   {interval}`D.Fig2-excess` above the lazy law, from 1 {interval}`D.Fig2-excess-one`. So the sign of feature learning is the alignment
#   beyond the law, if the step is small. At paper D's step, four times as large, networks of scale 1 end
#   {interval}`D.Fig2-step` above the law as well, which the smaller step removes.
# - **A high alignment alone is no sign of features.** Queries and keys of an attention layer keep at least {interval}`D.Lazy-attention` in lazy training. On the
#   stripe, lazy training with the hinge ends at {interval}`D.Stripe-lazy`, though nothing is compressed. The *uncentred* alignment (UC-NFA), of all the
#   weights, is larger there by {interval}`D.Stripe-uncentred` where the network compresses.
# - **Not in all layers.** In the second layer the uncentred alignment ends at {interval}`D.Fig2-all-layers` at most, whatever the scale of
#   the first. Paper D says "in all layers"; here the initial weights remain most of that layer's weights.
# - **Random matrices predict single networks.** At initialisation they give the C-NFA with an error of {interval}`D.Fig3-well-posed`, once two formulas
#   are corrected. The trace of Eq. 28 is {interval}`D.Eq28-free` times its value as printed. Proposition 10 as printed has a relative error of
#   {interval}`D.Prop10-expectation`.
# %% [markdown]
# ## Exercises
# **1. The first step.** Why does the lazy law of {numref}`fig-d-frozen` begin at the paper's Eq. 4, which has the labels in place of dual coefficients?
#
# <details class="solution"><summary>Solution</summary>
#
# At small $t$ the coefficients $c(t)=\Theta^{-1}(1-e^{-\Theta t})y$ are $ty$ to first order, and $\rho$ does not depend on the factor $t$.
#
# </details>
#
# **2. A prediction.** A network that has learnt nothing has an AGOP near a multiple of the identity. Its correlation
# with the EGOP is 0.32 for the paper's $r=5$ in $d=32$, the alternative of the claim on the EGOP. Derive it. What is it for
# $r=4$, and what else changes in {numref}`fig-d-picture`?
#
# ```sh
# make chapter-06 PROFILE=smoke NAME=four PARAMS='-p rank 4'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# By {eq}`eq:D:egop` the EGOP has 2 on the diagonal of its $r$ coordinates, and off it, for $r\ge5$, two entries 1 in each row: its trace is $2r$ and its
# squared norm $6r$. The cosine with the identity is $2r/\sqrt{6rd}=\sqrt{2r/(3d)}$, 0.323 for $r=5$. For $r=4$ the two neighbours at distance two
# are one point, the entry is 2, the eigenvalues are 4, 4, 0, 0, and the cosine is $8/\sqrt{32\cdot32}=\frac14$. D.Fig1-egop of the run compares the
# AGOP of trained networks with it. The EGOP falls into two pairs of coordinates that do not depend on each other.
#
# </details>
#
# **3. Alignment without features.** Let $\bar W=\dot W t$ with $\dot W=\delta^\top rX/n$ for fixed tangents $\delta$, residuals $r$ and isotropic data. Show that $\bar W^\top\bar W$ and $\bar W^\top K\bar W$, $K=\delta^\top\delta$, share
# their eigenvectors if $\delta$ has rank one. What is the C-NFA then?
#
# <details class="solution"><summary>Solution</summary>
#
# With $\delta=u\,v^\top$, $u$ over the points and $v$ over the neurons, $\dot W=v\,(u\circ r)^\top X/n$ has rank one, and so have both matrices, along $X^\top(u\circ r)$. Their correlation is 1 at all times. No feature was
# learnt: the tangents are fixed. So a high C-NFA alone is no sign of features.
#
# </details>
# %% [markdown]
# ## Errata and open points
# - The paper does not state the scales of its Figs. 2, 7 and 8, nor steps and rate of Fig. 1. Scale 1 decides several statements.
# - Our faces are not the paper's: those with glasses differ in hair and background as well.
# - Two sentences of paper D are not tested: that "similar decompositions exist for the denominator terms" of Eq. 4, which is an
#   identity, and that a kernel method's AGOP recovers the NFM "on real datasets", which is a result of {cite}`radhakrishnan2024`.
# - The paper does not say at which balances App. F's data were made, nor what was taken for $\mathbb E\mathcal K$ in App. C.
#
# ## Try it yourself
# - `make chapter-06 NAME=loud PARAMS='-p rate 0.1'` takes the loss without its factor ½. What happens at $s_0=1$?
