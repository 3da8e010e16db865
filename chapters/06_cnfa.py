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
# **Guess first.** After a few steps of training, what a layer has learnt is aligned with the gradients of the output: the
# correlation is above 0.8. Now suppose that no features are learnt, so that the kernel stays what it was at the start. What is
# the correlation at the end of training?
#
# - higher
# - as high
# - **lower, near a half**
#
# Measured: {interval}`D.Fig2-law-end`. So training alone does not keep the alignment. Features bring it back.
# :::
#
# Training adds something to the weights of a network. Paper D says that this addition is aligned with the network's gradients
# from the first step on, and stays so. When does this hold, why does it fail, and is it a sign that features are learnt?
#
# ## What we find
# - After five steps the change of the weights and the gradients through it are aligned at every initial scale tried: on
#   isotropic data, without weight decay, the median correlation is at least {claim}`D.Fig2-cnfa` ([how](#early-at-every-scale)).
# - If the kernel stays frozen, this alignment is lost: on the chain monomial a formula has it fall to {claim}`D.Fig2-law-end` in
#   the first layer, and networks with large initial weights follow it if the step is small ([how](#lost-and-regained)).
# - Features bring it back: from small initial weights and with a small step, the first layer ends {claim}`D.Fig2-excess` above
#   the formula. So the sign of features is alignment beyond it, not alignment alone ([how](#lost-and-regained)).
#
# ## Overview
# Two matrices show which inputs a network uses. The {term}`neural feature matrix` (NFM) is made of the first layer's weights,
# the {term}`average gradient outer product` (AGOP) of the gradients of the output by the input. In trained networks the two are
# alike: this is the neural feature ansatz {cite}`radhakrishnan2024`. Why should they be? Paper D {cite}`beaglehole2024` answers
# with the {term}`centred ansatz <centred neural feature ansatz>`: the change of the weights since the start is aligned with the
# gradients by the pre-activations. One would like to read this alignment as a sign of features. But it comes early whether
# features are learnt or not, so we ask what it is without them.
#
# You need to know what a gradient of a network is; chapter 2 explains {term}`compression`. The [details](#cnfa-details) hold
# the derivations, the random matrices and the other figures of paper D.
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
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.book import plots
from companion.book.chapter import Chapter
from companion.papers.alignment.claims import alignment
from companion.papers.alignment.studies import alignment as studies

chapter = Chapter("06", globals())
# %% [markdown]
# ## What training adds is correlated with the gradients after one step
# Look at the lower two rows of {numref}`fig-d-picture`: the weights that training adds and the gradients through them are
# correlated after the first step, long before the task is learnt. The upper two
# rows, all weights and all gradients, look like noise at that time, because nearly all of these weights are those of the start.
# **Guess first:** which pair is more alike at the end? Each image is a matrix over pairs of inputs, dark where its entry is large.
# The network is narrower than those of the next sections.
# %%
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
# **What training adds is correlated with the gradients from the first step on; of all weights and all gradients the correlation is
# high only at the end.** Matrices over pairs of inputs, each scaled by its largest entry, along the training of one network. Upper
# two rows: weights of the first layer, and gradients of the output by the input. Lower two: what training has added, and the
# gradients through that. Below each pair its correlation $\rho$.
# %% [markdown]
# ## Weights and gradients of a trained network agree
# After training the NFM $F=W^\top W$ and the AGOP $\bar G$ have correlation {claim}`D.Fig1-agop`; paper D prints 0.93 in its
# Fig. 1. Here $W$ are the first layer's weights, and the correlation is the cosine
# $\rho(A,B)=\operatorname{tr}(A^\top B)/(\lVert A\rVert\lVert B\rVert)$.
#
# Why do they agree? Let $\delta$ be the gradients of the output by the pre-activations at the $n$ training points, and
# $K=\delta^\top\delta$. The gradient by the inputs is $\delta W$, so $\bar G=W^\top KW/n$ holds exactly (Prop. 2), and only $K$
# stands between the two matrices. Put a random matrix $Q$ of the same eigenvalues in its place, and the correlation falls to
# {claim}`D.Fig1-random`: it is the eigenvectors of $K$ that make weights and gradients agree.
#
# The correlation with $Q$ is not 0, because the mean of $Q$ over its eigenvectors is a multiple of the identity, for which
# $W^\top QW$ is the NFM itself. But one draw is far from this mean, since few eigenvalues count: they spread by
# {claim}`D.Fig1-spread` times their mean.
#
# The task is the chain monomial, $y\propto\sum_{j<r}x_jx_{j+1}$ on a ring of $r$ of the $d$ coordinates. The network has two
# hidden ReLU layers without biases, and small initial weights in the first. What should it learn? The expected gradient outer
# product of the task, its EGOP, is the first image of {numref}`fig-d-picture` ([derived here](#egop-of-the-task)). With it the
# AGOP has correlation {claim}`D.Fig1-egop` after training, and the NFM {claim}`D.Sec21-nfm`: the weights have learnt which
# inputs the task uses.
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
# The *uncentred* ansatz (UC-NFA) is $\rho(F,\bar G)$, and both of its matrices contain the initial weights $W_0$. The *centred* one
# (C-NFA) replaces $W$ by its change $\bar W=W-W_0$ and leaves $K$ as it is: $\rho(\bar W^\top\bar W,\bar W^\top K\bar W)$. At step
# 0, where $\bar W=0$, we plot its limit, with the velocity $\dot W$ in place of $\bar W$.
#
# At step 5 the C-NFA, in the median over networks, is at least {claim}`D.Fig2-cnfa` at every scale $s_0$ of the first layer's
# initial variance ({numref}`fig-d-2`). It depends less on the scale than the UC-NFA does: its range is smaller by
# {claim}`D.Fig2-contrast`. We take medians because some networks become unstable at this rate: {glue:text}`share-unstable` of those
# from the largest scale have a larger training loss at step 5 than at the start.
#
# Does it last? It "remains high throughout training across initialization scale", says paper D. We compare its least value
# during training with that at step 5, both beyond 0.53, the correlation with a random matrix in the paper's Fig. 1. At the
# paper's rate the part kept is {claim}`D.Fig2-throughout` from scale 1, but {claim}`D.Fig2-throughout-thousandth` from 0.001.
# Since some networks are unstable at this rate, the section after next takes a smaller step, at which none is.
# %%
rows = pd.concat([chapter.rows(studies.correlations, "isotropic"), chapter.rows(studies.correlations, "decaying")])
measured_steps = sorted({0, studies.EARLY, 20, 40, 60, 80, 120, 160, 240, 400, 600, rows.step.max()} & {*rows.step})
rows = rows[rows.step.isin(measured_steps)]
highest = rows.groupby(["spectrum", "scale", "step"]).test_loss.median().max()
fig, axes = plots.panels(9, columns=3, width=2.1, height=1.9, sharex=True)


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
# **Early the C-NFA hardly depends on the scale; at the end it falls at large scales.** Ansatz of both layers, uncentred and
# centred, and test loss, against the scale of the first layer's initial weights, on data of three spectra. Medians and quartiles
# over networks (paper D, Fig. 2, 7 and 8). Move the slider along training.
# %% [markdown]
# ## Why so early: one kernel factor separates the two sides at the start
# How can there be alignment before anything is learnt? The velocity $\dot W$ at initialisation has it already: the C-NFA at
# step 5 is {claim}`D.Prop3-early` times its value at step 0. To second order in the time $t$, from $\bar W=0$ (Prop. 3),
#
# $$
# \bar W^\top\bar W=t^2\,\dot W^\top\dot W+\dots,\qquad \bar W^\top K\bar W=t^2\,\dot W^\top K\dot W+\dots
# $$ (eq:D:second)
#
# The velocity is $\dot W=\delta^\top YX$, with the inputs $X$ of the layer and the diagonal matrix $Y$ of the residuals. So,
# with the kernel $\mathcal K=\delta\delta^\top$ (Prop. 4),
#
# $$
# \dot W^\top\dot W=X^\top Y\mathcal KYX,\qquad \dot W^\top K\dot W=X^\top Y\mathcal K^2YX .
# $$ (eq:D:fourth)
#
# The two sides differ by one factor $\mathcal K$ alone. If $\mathcal K$ is a multiple of a projector, this factor changes
# nothing and the C-NFA is 1. Both lines of {eq}`eq:D:fourth` are identities at any time and for any loss; our tests verify them
# to rounding, and compare {eq}`eq:D:second` with finite differences of a {term}`gradient flow`. While the outputs are near zero
# the labels may replace the residuals (Eq. 4): this changes the correlation by a factor {claim}`D.Prop4-labels`.
# %% [markdown]
# (lost-and-regained)=
# ## The early alignment is lost while the kernel is frozen, and features bring it back
# What happens if no features are learnt? Then the tangent kernel $\Theta$ stays that of the start, gradient flow leaves the
# residuals $e^{-\Theta s/n}\,r_0$ at time $s$, and the C-NFA has a closed form. The first layer's change is
# $\bar W\propto\delta^\top CX$, where $C$ is the diagonal matrix of the residuals summed over time,
#
# $$
# c=\int_0^te^{-\Theta s/n}\,r_0\,ds=\Bigl(\frac\Theta n\Bigr)^{-1}\bigl(1-e^{-\Theta t/n}\bigr)\,r_0 .
# $$ (eq:D:lazy)
#
# So the dual coefficients $c$ take the place of the labels in Eq. 4 of paper D. Early, $c$ is proportional to the residuals
# $r_0$. Late it is proportional to $\Theta^{-1}r_0$, which gives most weight to the directions that are learnt last. With it
# the alignment falls, on this task to {claim}`D.Fig2-law-end` at scale 1. The law gives the speed, too: by the time at which it
# has made half of its fall, networks of scale 1 have fallen {claim}`D.Abs-speed` times as far. Paper D's abstract promises the
# speed, but its formulas have only the value at the start.
#
# {numref}`fig-d-frozen` compares networks with this law at a quarter of paper D's rate, at which no network's loss rises. At
# every scale they follow it down at first. Then the kernel turns, and alignment returns: at scale 0.1 it rises by
# {claim}`D.Fig2-regained-slow` from its least value. The smaller the scale, the further above its law a network ends: at scale
# 1, where the kernel hardly moves, it is {claim}`D.Fig2-excess-one`, and each further scale adds at least
# {claim}`D.Fig2-excess-order`.
#
# *The step should be small.* Where the largest eigenvalue of the kernel times the rate is above 2, descent itself changes the
# kernel {cite}`zhu2024`, and one would take this for features. At paper D's rate networks of scale 1 end {claim}`D.Fig2-step`
# above the law; the registered rows do not decide whether this is more than at a quarter of the rate. In the second layer the
# same instability lowers the alignment, and hides what features add ([details](#end-of-training)).
# %% tags=["key"]
rows = chapter.rows(studies.correlations, "slow").query("layer == 1 and step > 0")
fig, axes = plots.panels(rows["scale"].nunique(), columns=4, width=2.3, height=2.6, sharey=True)
law = {"color": plots.COLOURS["theory"], "linestyle": "--", "marker": "", "label": "frozen kernel"}
for ax, (scale, networks) in zip(axes, rows.groupby("scale", sort=False)):
    plots.over_seeds(ax, networks, "step", "c", color=plots.COLOURS["centred"], marker="", label="network")
    plots.over_seeds(ax, networks, "step", "frozen", **law)
    ax.set(xscale="log", xlabel="step", title=f"$s_0={scale:g}$", ylim=(0.4, 1))
axes[0].set_ylabel("C-NFA, layer 1")
alt = "One panel per scale. The solid curve falls with the dashed one, then turns and rises above it, the further the smaller the scale."
chapter.figure(fig, "fig-d-frozen", rows, title="Does the alignment last?", legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **Lazy training loses a part of the alignment; features bring it back, the more the smaller the scale.** The alignment (C-NFA)
# of the first layer along training at four scales $s_0$ (solid), and its value with the kernel of the start, {eq}`eq:D:lazy`
# (dashed), at a quarter of paper D's rate. Medians and quartiles over networks, on isotropic data.
# %% [markdown]
# ## A high alignment alone is no sign of features: queries and keys keep it when lazy
# The law is the null hypothesis of a test for features, and it can itself be high. It holds for any layer that acts at several
# *positions* of a point, at tokens or at the patches of a picture, because all positions of a point have its dual coefficient.
# `companion.papers.alignment.theory.lazy.lazy_alignment` gives its value for any torch module, without training, and names the
# layers that have none. In our tests each layer of three lazily trained networks ends on its law to a thousandth.
#
# The layers differ much (table). The layer on top of attention loses alignment as a perceptron does, but queries and keys do
# not: the lower of the two keeps {claim}`D.Lazy-attention`. A convolution and the dense layer on it lose little, too. So the
# high correlation reported in trained transformers {cite}`radhakrishnan2024` need not be a sign of features. The task matters
# as well as the layer ([six tasks](#lazy-tasks)).
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
# (stripe-and-alignment)=
# ## Beyond the paper: on the stripe the uncentred ansatz is high only where weights are compressed
# If the centred ansatz is no sign of features, is the uncentred one? On paper A's stripe (chapter 2) it is: the UC-NFA is
# larger by {claim}`D.Stripe-uncentred` in the feature regime, while the C-NFA is high in both ({numref}`fig-d-stripe`). At a
# small output scale $\alpha$ the network compresses the uninformative directions by a factor $\Lambda$, the
# {term}`amplification`; at a large one, when lazy, it does not.
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
axes[1].set(
    xscale="log", xlabel="$t/t^*$", ylabel="ansatz", title="UC-NFA; dashed C-NFA", xlim=(1e-2, None), ylim=(0, 1.02)
)
ends = flow[flow.moment == "end"]
plots.over_seeds(axes[2], ends, "alpha", "uc", color=plots.COLOURS["uncentred"], label="UC-NFA")
plots.over_seeds(axes[2], ends, "alpha", "c", color=plots.COLOURS["centred"], linestyle="--", label="C-NFA")
axes[2].set(xscale="log", xlabel=r"scale $\alpha$", ylabel="ansatz at the end", ylim=(0, 1.02))
axes[2].legend()
alt = "Amplification and ansatz against time; at the end the uncentred ansatz falls from feature learning to lazy, the centred one does not."
chapter.figure(fig, "fig-d-stripe", flow, title="Which ansatz follows compression?", legend=3, alt=alt)
# %% [markdown] tags=["caption"]
# **On the stripe the uncentred ansatz is high only where weights are compressed; the centred one holds without that.** Paper A's
# stripe, from feature learning (small output scale $\alpha$) to lazy. Left and middle: along training, one network for each scale;
# dots: 98 % of the points are fitted. Right: at the end of training, medians and quartiles over networks.
# %% [markdown]
# The uncentred ansatz comes with compression: both grow until the time $t^*$, when a tenth of the points have a margin above 1.
# Then the ansatz is saturated, although $\Lambda$ grows on. The centred ansatz weakens after $t^*$, because the points that are
# not yet fitted drive the weights with another velocity.
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **Alignment is early, whatever the scale.** At step 5 the median C-NFA is at least {interval}`D.Fig2-cnfa` at every initial
#   scale from 1 to 0.001.
# - **It is lost while the kernel is frozen.** One would expect it to remain, as paper D says. But the first layer's lazy law
#   falls to {interval}`D.Fig2-law-end`. Networks of scale 1 follow it within {interval}`D.Fig2-law-slow`, if the loss never
#   rises. Of what they have early beyond a random matrix they keep {interval}`D.Fig2-throughout-small-step` at the lowest
#   point.
# - **Features bring it back, if the step is small.** From scale 0.1 it rises again by {interval}`D.Fig2-regained-slow`. From 0.01
#   it ends {interval}`D.Fig2-excess` above the law, but from 1 {interval}`D.Fig2-excess-one`. At paper D's step, four times as
#   large, networks of scale 1 end {interval}`D.Fig2-step` above it, which does not decide whether the step does this.
# - **A high alignment alone is no sign of features.** Queries and keys keep at least {interval}`D.Lazy-attention` in lazy training.
#   On the stripe, lazy training with the hinge ends at {interval}`D.Stripe-lazy`, though nothing is compressed.
# - **Not in all layers.** In the second layer the uncentred alignment ends at {interval}`D.Fig2-all-layers` at most, whatever the
#   scale of the first. Paper D says "in all layers"; here the initial weights remain most of that layer's weights.
# - **Random matrices predict single networks.** They give the initial C-NFA with an error of {interval}`D.Fig3-well-posed`, once
#   two formulas are corrected ([details](#single-networks)).
# %% [markdown]
# ## Exercises
# **1. The first step.** Why does the lazy law of {numref}`fig-d-frozen` begin at the paper's Eq. 4, which has the labels in
# place of dual coefficients?
#
# <details class="solution"><summary>Solution</summary>
#
# At small $t$ the coefficients $c(t)=(\Theta/n)^{-1}(1-e^{-\Theta t/n})\,r_0$ are $t\,r_0$ to first order. The outputs are near
# zero, so that $r_0$ is the labels, and $\rho$ does not depend on the factor $t$.
#
# </details>
#
# **2. A prediction.** A network that has learnt nothing has an AGOP near a multiple of the identity. Its correlation with the EGOP
# is 0.32 for the paper's $r=5$ in $d=32$, the alternative of the claim on the EGOP. Derive it. What is it for $r=4$, and what else
# changes in {numref}`fig-d-picture`?
#
# ```sh
# make chapter-06 PROFILE=smoke NAME=four PARAMS='-p rank 4'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# By {eq}`eq:D:egop` the EGOP has 2 on the diagonal of its $r$ coordinates, and off it, for $r\ge5$, two entries 1 in each row: its
# trace is $2r$ and its squared norm $6r$. The cosine with the identity is $2r/\sqrt{6rd}=\sqrt{2r/(3d)}$, 0.323 for $r=5$. For
# $r=4$ the two neighbours at distance two are one point, the entry is 2, the eigenvalues are 4, 4, 0, 0, and the cosine is
# $8/\sqrt{32\cdot32}=\frac14$. D.Fig1-egop of the run compares the AGOP of trained networks with it. The EGOP falls into two pairs
# of coordinates that do not depend on each other.
#
# </details>
#
# **3. Alignment without features.** Let $\bar W=\dot W t$ with $\dot W=\delta^\top\mathrm{diag}(r)X/n$ for fixed tangents
# $\delta$, residuals $r$ and isotropic data. Show that $\bar W^\top\bar W$ and $\bar W^\top K\bar W$, $K=\delta^\top\delta$,
# share their eigenvectors if $\delta$ has rank one. What is the C-NFA then?
#
# <details class="solution"><summary>Solution</summary>
#
# With $\delta=u\,v^\top$, $u$ over the points and $v$ over the neurons, $\dot W=v\,(u\circ r)^\top X/n$ has rank one. So have
# both matrices, along $X^\top(u\circ r)$, and their correlation is 1 at all times. Yet no feature was learnt: the tangents are
# fixed. So a high C-NFA alone is no sign of features.
#
# </details>
# %% [markdown]
# ## Earlier and later work
# A later version of paper D has a proof in high dimension {cite}`beaglehole2024v4`. In linear networks a power of the ansatz holds
# that depends on the depth, and some networks fit their data without it {cite}`tansley2025`. What holds at convergence is derived
# in {cite}`boixadsera2025`. Instabilities of the loss raise the alignment {cite}`zhu2024`, and the AGOP makes classes collapse
# {cite}`beaglehole2024collapse`.
#
# New as far as we know are the law of lazy training and the comparison of the ansatz with compression. So are the corrected
# formulas with closed moments, and data that oppose NFM and AGOP without a few dominant directions. A centring that takes out
# weight decay is new, too; compare {cite}`tansley2025`.
#
# ## Errata and open points
# - The paper does not state the scales of its Figs. 2, 7 and 8, nor steps and rate of Fig. 1. Scale 1 decides several statements.
# - It does not say either whether the loss has a factor ½ at its rate of 0.05. Ours has it, because without it more networks become
#   unstable. Nor does it say where $k$ starts in the spectra $1/(1+k)$ and $1/(1+k^2)$; ours start at 1, in a random eigenbasis.
# - Our faces are not the paper's: those with glasses differ in hair and background as well.
# - Two sentences of paper D are not tested. That "similar decompositions exist for the denominator terms" of Eq. 4 is an
#   identity. That a kernel method's AGOP recovers the NFM "on real datasets" is a result of {cite}`radhakrishnan2024`.
# - The paper does not say at which balances App. F's data were made, nor what was taken for $\mathbb E\mathcal K$ in App. C.
#
# ## Try it yourself
# - `make chapter-06 NAME=loud PARAMS='-p rate 0.1'` takes the loss without its factor ½. What happens at $s_0=1$?
