# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (depth-width)=
# # Width in detail: how far training moves a wide network
# At infinite width training changes neither the kernel nor the features. Paper C looks at how far the last hidden layer
# moves, and takes its motion for feature learning. But what counts is how far it moves relative to itself, and this
# vanishes with the width, in ReLU networks more slowly than in smooth ones.
#
# ## A finite last layer moves, and its features hardly change
# With all other widths infinite the norm of the last hidden layer's motion does not change with its width: the exponent
# is {claim}`C.Prop4-last-norm` ({numref}`fig-c-last-layer`). Nor does the change of its inner products, whose exponent
# is {claim}`C.Prop4-last-inner`. From these two paper C argues that the {term}`lazy regime` learns features: "we study
# the layer norm variation $h_t$ when we have a finite dimension $n_{L-1}$ for the last hidden layer, while the widths
# of the other hidden layers are taken to infinity" (Sec. 5). One would expect that such a layer escapes the regime. It
# does only if it is narrow. Relative to the inner products themselves their change has the exponent
# {claim}`C.Prop4-last-features`: at the smallest width it is {glue:text}`share-narrow`, at the largest
# {glue:text}`share-wide`.
#
# Above infinitely wide layers the pre-activations $z_i$ of the $m=n_{L-1}$ neurons are Gaussian processes. They move
# with the kernel of the layers below, which stays as it is. With the residuals $r=f-y$, in units in which $z_i$ has
# variance 1,
#
# $$
# f = \sqrt{\tfrac2m}\sum_i w_i\sigma(z_i), \qquad
# \partial_t z_i(x) = -\sqrt{\tfrac2m}\sum_j S_{L-1}(x,x_j)\,\sigma'(z_i(x_j))\,w_ir_j ,
# $$ (eq:C:last-layer)
#
# and $w_i$ by its gradient. The paper writes this without $\sigma'$. In the limit of large $m$ the motion has a law.
# Let $R=(L\bar\Theta)^{-1}(f_0-y)$ be the residual summed over time, and $P$ the probability that three pre-activations
# are positive. Then
#
# $$
# \|h_t-h_0\|^2 \to 2\sum_{jk} S_{L-1}(x,x_j)\,R_j\,P(x,x_j,x_k)\,R_k\,S_{L-1}(x_k,x) .
# $$ (eq:C:last-motion)
#
# At width 4096 the norm is {claim}`C.Prop4-last-law` times its square root. With a readout of order $1/m$, the
# mean-field scaling, the relative change hardly falls with the width. So the scale of the readout decides, and not
# which layers are wide.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
text = "pydoc"  # corpus of table 1 (paper C: text8, which no package ships)
# fmt: on
# %%
import numpy as np
import pandas as pd

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.estimates import slopes
from companion.papers.depth.claims.depth_training import width_exponents
from companion.papers.depth.studies import depth as studies
from companion.papers.depth.studies import depth_scales as scales

chapter = Chapter("05", globals())
# %%
ntk = chapter.rows(studies.finite_last_layer, "main")
mean_field = chapter.rows(studies.finite_last_layer, "mean_field")
networks = chapter.rows(studies.finite_last_layer, "networks")
fig, (left, right) = plots.panels(2, width=4.3, height=3.6)
left.plot(ntk.groupby("width").law.mean(), "--", color=plots.COLOURS["theory"], label="law of the norm")
for column, marker, words in (("norm", "o", "norm of the motion"), ("inner", "s", "change of inner products")):
    left.plot(ntk.groupby("width")[column].mean(), marker, label=words)
for rows, marker, words in ((ntk, "o-", r"readout $1/\sqrt{m}$"), (mean_field, "^-", "readout $1/m$")):
    right.plot(rows.groupby("width").relative.mean(), marker, label=words)
share = ntk.groupby("width").relative.mean()
chapter.glue("share-narrow", share.iloc[0])
chapter.glue("share-wide", share.iloc[-1])
chapter.glue("crossed", np.exp(np.log(ntk[ntk.width == ntk.width.max()].crossed).mean()))
spread = networks.groupby("width").spread.mean()
left.plot(spread, "^:", color="C3", label="its spread over networks")
for name, i in (("narrow", 0), ("wide", -1)):
    chapter.glue(f"spread-{name}", spread.iloc[i])
left.set(xscale="log", ylim=(0, 1.1), xlabel="width $m$", title="Does the layer move?")
right.set(
    xscale="log", yscale="log", xlabel="width $m$", ylabel="over the inner products", title="Do its features change?"
)
left.legend(fontsize="small")
right.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-c-last-layer",
    ntk,
    mean_field,
    networks,
    alt="Left, norm and change of inner products, and the spread of the latter, are level in the width, and a dashed line lies on the "
    "norm. Right, the relative change falls with slope minus one for one readout, and is level for the other.",
)
# %% [markdown] tags=["caption"]
# **The layer moves as far at every width, and its inner products change by one over the width of themselves.** A last
# hidden layer of width $m$ above an infinitely wide one, trained until the labels are fitted. Left: norm of the motion,
# its law {eq}`eq:C:last-motion`, change of inner products, and its standard deviation over networks at the same points.
# Right: relative change of inner products, and a control.
# %% [markdown]
# **What Proposition 4 says.** That inner products keep changing by $O(1)$ is reproduced, as above. But they are
# themselves $O(m)$, so that the relative change vanishes.
#
# *The proof* splits the change into two terms $h_0\cdot(h_t-h_0)$ and the product of both motions. What drives neuron
# $i$ is $d_{s,i}=w_i(f_s-f^*)/\sqrt m$. In the two terms the proof has $d_{s,i}(X)\to h_{0,i}(X)$, "where we used the
# law of large numbers", so that they "will remain constant". But a readout weight is independent of all neurons at the
# start: $d_{s,i}$ is {claim}`C.Prop4-cross` times as large as $h_{0,i}$ at width 4096, and tends to 0 as $1/\sqrt m$.
# Each of the two terms is a sum of $m$ such numbers of either sign times $h_{0,i}$, and therefore of order one:
# together they are {glue:text}`crossed` times the whole change.
#
# *Nor does the change concentrate.* The proof ends with "the empirical trajectory concentrates tightly around its
# deterministic, infinite-width counterpart". If it did, the standard deviation of an inner product's change over
# networks, at the same points, would fall as a mean over neurons does, with the exponent $-1/2$. But its exponent is
# {claim}`C.Prop4-concentrates`: the spread is {glue:text}`spread-narrow` at the smallest width and
# {glue:text}`spread-wide` at the largest.
#
# *Which inner products change.* "Having a high correlation between $\Theta_\infty^{(L-1)}(Xx)$ and
# $\Theta_\infty^{(L-1)}(Xx')$ drives a variation in statistical dependency relevant to the task, e.g., word2vec with
# one-hot encoding". Over pairs of fresh inputs the cosine of the kernel rows has the correlation {claim}`C.Prop4-rows`
# with the size of the change. The sign is right, but this explains about a hundredth of the variance; and for one-hot
# inputs it decides nothing, since all pairs have the same cosine.
#
# *Footnote 5* is right: orthogonal inputs, such as one-hot words, have uncorrelated neurons in the first hidden layer,
# and neurons of correlation $h(0)=1/\pi$ in the second.
# %% [markdown]
# ## Kinks delay the lazy regime
# Training moves a network's predictor away from that of its kernel at the start. In smooth networks one expects this
# motion to vanish as $1/m$, the order of the kernel's change (compare {cite}`hanin2020` on the mean of the first step).
# In ReLU networks it vanishes more slowly: with three layers its power of $m$ is higher by {claim}`C.Thm3-kinks` than
# with swish in place of the ReLU ({numref}`fig-c-kinks`).
#
# Why? During training each pre-activation moves by $m^{-1/2}$. Hence about $\sqrt m$ of the $m$ neurons cross the kink
# of their ReLU at a given point: in networks of two layers we count {claim}`C.Thm3-kinks-count` for the exponent. Each
# contributes $1/m$ to the kernel there, but with either sign, so that together they change it by $m^{1/4}/m=m^{-3/4}$.
# We find {claim}`C.Thm3-kinks-balance`.
#
# However, the predictor of these networks does not follow with this power but with {claim}`C.Thm3-kinks-two`. So kinks
# delay the lazy regime, but we do not know by which power; other activations would test a law that we do not have. One
# candidate for the missing step is a sign. At a point that is learnt a neuron above its kink is pushed by the point
# itself and one below it is not, so that more switch off than on. The excess is {glue:text}`excess-narrow` of all that
# switch there at the smallest width, and {glue:text}`excess-wide` at the largest. Its part in the kernel is of order
# $m^{-1/2}$, but small. (The norm of the kernel's change does not show the kinks, since its larger part is the regular
# one.) We found nothing of this before.
# %%
motions = chapter.rows(scales.linearisations, "main")
switched = chapter.rows(scales.linearisations, "switched")
fig, axes = plots.panels(2, width=4.3, height=3.6)
curves = {
    "ReLU": motions[motions.activation == "relu"],
    "swish, without a kink": motions[motions.activation == "swish"],
    "ReLU, two layers": switched,
}
for (label, rows), style in zip(curves.items(), ("o-", "^-", "o:")):
    motion = rows.groupby("width").moved.agg(["mean", "sem"])
    axes[0].errorbar(motion.index, motion["mean"], motion["sem"], fmt=style, capsize=2, label=label)
for column, marker, words in (
    ("switched", "o", "neurons that switch"),
    ("balance", "s", r"their part in the kernel, times $m$"),
):
    rows = switched[column] * (switched.width if column == "balance" else 1)
    count = rows.groupby(switched.width).agg(["mean", "sem"])
    axes[1].errorbar(count.index, count["mean"], count["sem"], fmt=marker, capsize=2, label=words)
    power = 1 / 2 if column == "switched" else 1 / 4
    ends = (switched.width.min(), switched.width.max())
    plots.slope_guide(axes[1], ends, 1.25 * count["mean"].iloc[0], power, rf"${power:g}$", above=True)
axes[0].set(
    yscale="log", xlabel="width $m$", ylabel="over the predictor's variation", title="How far does the predictor move?"
)
axes[1].set(yscale="log", xlabel="width $m$", title="How many neurons switch?")
for ax in axes:
    plots.curve_axes(ax, sorted({*motions.width, *switched.width}))
    ax.legend(fontsize="small")
excess = switched.groupby("width").excess.mean()
chapter.glue("excess-narrow", excess.iloc[0])
chapter.glue("excess-wide", excess.iloc[-1])
chapter.figure(
    fig,
    "fig-c-kinks",
    motions,
    switched,
    alt="Left, the motion of ReLU networks falls less steeply than that of smooth ones. Right, the number of neurons that switch rises as the "
    "root of the width, and what they change more slowly.",
)
# %% [markdown] tags=["caption"]
# **With kinks the predictor comes to its linearisation more slowly than as $1/m$; about $\sqrt m$ neurons switch.**
# Left: distance of the trained predictor from that of the kernel at the start, over the latter's variation, three
# layers unless said. Right: neurons of a hidden layer that switch at a fresh point, and $m$ times what they change in
# the kernel. Lines show slopes. Means over networks with standard errors.
# %% [markdown]
# ## Several networks are as wide as one with all their neurons
# Can many narrow networks replace a wide one? The mean predictor of eight is {claim}`C.Thm3-ensemble` times as far from
# infinite width as that of one network with all their neurons, of depths 12 and 24 where this is further from 1: it is
# as near, or nearer.
#
# ## Table 1 of the paper excludes the lazy regime
# In the lazy regime the norm of the layer's change does not vanish with the width: its exponent is
# {claim}`C.Tab1-norm`, for next-word frequencies or for single next words as targets, whichever is further from 0. This
# statement of paper C is reproduced. Single neurons, in contrast, stay near their start: the largest change has the
# exponent {claim}`C.Tab1-individual`. But Table 1, the paper's evidence for both, says otherwise of the second: from
# its first width to its second single neurons move *more*, with the exponent {claim}`C.Tab1-neurons`.
#
# The table is from two hidden ReLU layers trained on text. Words, targets, optimiser, rate and number of steps are not
# given. Our tokens are the most frequent words, one-hot. The target of a token is the distribution of the next one
# (bigrams), or the likeliest next word (words), or zero; with target zero nothing is learnt, and the initial function
# $f_0$ is only unlearnt. In the NTK parametrisation gradient descent has a rate that keeps the kernel's speed the same
# at every width. Theory then has the exponents 0 and $-\frac12$, up to logarithms.
# %%
rows = chapter.rows(studies.text_training)
widths = np.array(stated.value("C.widths"))
paper = {"optimiser": "paper C"}
for measure, name in (("norm", "C.norms"), ("largest", "C.largest"), ("ratio", "C.ratios")):
    paper[measure] = slopes(widths, np.array([stated.value(name)]))[0].round(3)
table = pd.concat([width_exponents(rows).astype(object), pd.DataFrame([paper])])
lazy = rows.query("optimiser == 'gd' and parametrisation == 'ntk' and step == 20 and width == width.max()")
moved = lazy.groupby("targets").norm.mean()
chapter.glue("unlearnt-frequencies", moved.zero / moved.bigrams)
chapter.glue("unlearnt-words", moved.zero / moved.words)
chapter.table(
    table.fillna("—"),
    "tab-c-tab1",
    "Exponents depend on the training. Exponents in the width of the three measures of paper C, Tab. 1, with intervals over "
    "initialisations: norm of the change of the last hidden layer, its largest entry, and their ratio.",
    rows,
)
# %% [markdown]
# A table of two widths does not say which training it is from. Plain gradient descent at one rate for all widths gives
# such exponents after a few steps, Adam after some tens. Each passes on to others as training goes on: under Adam the
# norm's exponent falls by {claim}`C.Tab1-steps` from the first step to the 80th. But the table excludes gradient
# descent at a rate that keeps the kernel's speed, and this is the lazy regime of the theory.
#
# How much is learnt depends on the targets. Next-word frequencies are vectors of mean norm 0.4, beside an $f_0$ of
# order one, so that nearly all motion is unlearning: at the largest width the layer moves
# {glue:text}`unlearnt-frequencies` times as far towards zero as towards them. With single next words, of norm one, this
# ratio is {glue:text}`unlearnt-words`. That the norm stays is therefore no evidence against laziness: it stays in the
# lazy regime, too.
