# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-03)=
# # Test error peaks at jamming where training reaches rest
# A network with too few parameters cannot fit its data. We ask what happens at the number of parameters where it just can.
#
# ## What we find
# - **Two lines divide the phase diagram of paper B.** Both appear with small networks on 250 digits: jamming, and the lazy regime
#   above an output scale near 9. In the lazy regime the predictor's norm diverges as $1/(N-N^*)$, with the measured exponent
#   {claim}`B.Sec2-norm`. Here $N$ is the number of parameters, $N^*$ its value at jamming.
# - **The test error of single networks peaks at jamming when they are trained towards rest**, by up to 1600 rounds of Newton's method. On
#   5000 points the peak is {claim}`B.Fig6-rest-cusp` percentage points high at output scale 12, and {claim}`B.Fig6-rest-lazy` in the
#   lazy regime. There nearly all networks that do not fit then lie at a minimum; at scale 12 half of them or more still move. On 250
#   points, after 200 steps, only the largest output scale shows a small peak.
# - **At output scale 12, stopping early lowers the error at the peak, and an ensemble of twenty has no bump there.** At the two widths of
#   the peak at rest, networks stopped after 200 steps have a peak lower by {claim}`B.Fig6-rest-stop` points (5000 points). They may have
#   one of their own at larger widths. In the lazy regime ensembles at rest keep a bump. Stopping early and weight decay also remove the
#   divergence. Far from jamming the fluctuations over initial weights fall as $N^{-1/4}$. The error that they add to single networks is
#   not yet their square: the exponent is {claim}`B.Sec3-quadratic`, not 2.
#
# ## Overview
# Training a network with too few parameters gets stuck with some points on the wrong side of the {term}`margin`, as grains get stuck
# when a box is filled. With a few more parameters it fits every point. Paper B {cite}`geiger2021` calls the line between the two
# {term}`jamming`. There the {term}`predictor` blows up and its error has a cusp; beyond it the error falls again, the
# {term}`second descent <double descent>`. A second line separates {term}`feature learning` from the {term}`lazy regime`.
#
# Before us, {cite}`spigler2019` found the cusp at jamming, which early stopping removes. {cite}`geiger2020` have the exponent
# $N^{-1/4}$, the divergence, and an ensemble just beyond jamming in place of one large network. {cite}`belkin2019` have double
# descent elsewhere. In random features the peak is the variance over initial weights and label noise, which averaging removes
# {cite}`dascoli2020`. New as far as we know is the peak against the number of points and steps, with networks at rest.
#
# The two lines lie on one map: the width $h$ to the right, the output {term}`scale <alpha>` $\tilde\alpha$ upwards. We train
# several thousand small networks until each fits or we stop it. An ensemble is several networks that differ in their initial weights
# alone. All follow implicit steps of {term}`gradient flow` (`regimes.training.gauss_newton`), a whole ensemble at a time. You need to
# know what a margin and a {term}`tangent kernel` are (chapter 1). The [details](#jamming-details) hold further statements;
# [when lazy](#lazy-jamming), jamming is a theorem without a fitted number.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | unit, scale |
# |---|---|---|---|
# | $P$, $d$ | `p`, `components` | | training points; dimension, principal components of the images |
# | $h$, $L$, $N$ | `h`, `layers`, `parameters` | | width; hidden layers; parameters, $dh+(L-1)h^2+h$ |
# | $f$ | `model(x)` | $(P)$ | output, mean-field scale $1/h$, no biases |
# | $F=\tilde\alpha(f-f_0)$ | `F` | $(P)$ | predictor; $\tilde\alpha=\sqrt h\,\alpha$ in paper B's notation |
# | $\Delta_\mu=1-y_\mu F(x_\mu)$ | | $(P)$ | gap: a point is unsatisfied where it is positive |
# | $N_\Delta$ | `unsatisfied` | | points with $\Delta>10^{-4}$ at the end |
# | $N^*$, $h^*$ | `transition` | | parameters, width at which half of the networks fit |
# | $H_0$, $H_p$, $N_-$ | `hessian` | $(N,N)$ | the parts of the Hessian; negative eigenvalues of $H_p$ |
# | $\lVert\Delta\Theta\rVert/\lVert\Theta_0\rVert$ | `kernel_change` | | change of the tangent kernel in training |
# | $\langle F\rangle$ | `ensemble_error` | | mean output of an ensemble; `ensemble_error` is its test error |
# :::
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
data: "one of mnist, fashion_mnist, cifar10, digits" = "mnist"  # images, labelled by the parity of their class (paper B: MNIST)
components: "count from 2 to 1000" = 10  # principal components of the images (paper B: 10)
layers: "count from 1 to 8" = 2  # hidden layers (paper B, Fig. 4: 2)
loss: "one of quadratic_hinge, soft_hinge" = "quadratic_hinge"  # (paper B's text: hinge or quadratic hinge; its commands: soft hinge)
steps: "count from 10 to 1e5" = 200  # attempted steps after which a network has not fitted (paper B: hours of wall time)
members: "count from 2 to 100" = 5  # networks of an ensemble (paper B: 15 and 20)
test: "count from 10 to 1e5" = 4000  # test points (paper B: 40000)
map_p: "count from 10 to 1e5" = 250  # training points (paper B: 5000)
map_scales: "3 or more increasing positives" = [0.00390625, 0.5, 2.0, 12.0, 256.0, 1048576.0]  # scales of the map (paper B: 3e-4 to 3e7)
map_h: "3 or more increasing counts from 2 to 1e4" = [4, 6, 8, 12, 16, 32, 128]  # widths of the map (paper B: 20 to 1248)
map_seeds: "count to 100" = 4  # training sets (paper B: 1)
sizes_p: "2 or more increasing counts from 10 to 1e5" = [60, 120, 250, 500]  # training points with which the best region is followed
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np

from companion.claims.rest import followed_longest, heights_of_peak
from companion.report import papers, plots, sketches
from companion.report.chapter import Chapter
from companion.studies import jamming as studies
from companion.studies import rest as at_rest
from companion.theory import jamming

chapter = Chapter("03", globals())
# %% [markdown]
# ## In one picture
# With too few parameters for the points, training ends at a positive loss; with enough, at zero ({numref}`fig-sketch-jamming`).
# %%
chapter.figure(
    sketches.jamming(),
    "fig-sketch-jamming",
    alt="A square of points against parameters, cut by a rising line called jamming into not fitted, above, and fitted, below; "
    "under it two valleys of the loss: one whose bottom lies above zero, and one with a flat bottom at zero.",
)
# %% [markdown] tags=["caption"]
# **With too few parameters the least loss lies above zero; with enough the bottom is flat at zero.** A sketch. Above: the two phases and
# the line between them, jamming. Below: the loss over the weights in each phase.
# %% [markdown]
# ## The model, and when it counts as jammed
# We train fully connected networks without biases, of $L$ hidden layers of width $h$:
#
# $$
# h_0=x,\quad h_l=\sigma\Bigl(\frac{W_l h_{l-1}}{\sqrt{n_{l-1}}}\Bigr),\quad f=\frac{1}{h}\,W_{L+1}\cdot h_L,
# $$ (eq:B:network)
#
# Layer $l$ has $n_{l-1}$ inputs, and $\sigma(z)\propto z/(1+e^{-10z})$ has $\mathbb E\,\sigma^2=1$ for standard normal $z$.
# The labels $y_\mu=\pm1$ of the $P$ training points are the parity of digits, and the inputs are their first principal components. The
# predictor is $F=\tilde\alpha(f-f_0)$, with $f_0$ the output at the start. A point has the margin $y_\mu F(x_\mu)$ and the *gap*
# $\Delta_\mu=1-y_\mu F(x_\mu)$. Training is gradient flow of the quadratic hinge loss
# $\frac1{\tilde\alpha P}\sum_\mu\frac12\max(0,\Delta_\mu)^2$. Paper B's text names this loss. The commands of its public code
# take the soft hinge for Figs. 4 and 6, with the same verdicts where all margins are met. The parameter `loss` chooses.
#
# A network *fits* when every gap is below $10^{-4}$. Deciding that a network cannot fit is harder. It is *jammed* when its loss cannot
# fall further and some gaps remain. Most networks that do not fit still move slowly when we stop, after 200 steps. Paper B stopped its
# networks by the clock. Our line, too, depends on the training budget ([details](#how-long-is-long-enough)). The section
# on networks at rest removes the budget.
#
# ## The map: two lines, one for jamming and one for laziness
# Training changes the tangent kernel by its own norm at an output scale near 9 ({numref}`fig-b-4`). Above this scale learning is
# lazy. The line hardly depends on the width far from jamming, and bends up by a factor of about 4 near it. The
# other line, the black band, is jamming: the width at which half of the networks fit.
# %% tags=["key"]
on_map = studies.at_end(chapter.rows(studies.ensembles, "map"))
second_map = studies.at_end(chapter.rows(studies.ensembles, "second_data"))
fig, axes = plots.panels(2, height=4.2)
for ax, rows in zip(axes, (on_map, second_map)):
    plots.phase_map(ax, rows, jamming.transitions(rows, "h"))
    images = rows.words.iloc[0].partition(",")[0]
    points = papers.beside(rows.p.iloc[0], "B.points")
    ax.set_title(f"{images}, {rows.components.iloc[0]} components\n{points}")
cuts = np.log10(chapter.design(studies.ensembles, "slices")["scale"])
for cut in cuts:
    axes[0].axhline(cut, color="0.2", linestyle=":", linewidth=1.5)
axes[0].set_ylim(min(cuts) - 0.3, max(cuts) + 0.3)  # no cut on the frame
inside = {"transform": axes[0].transAxes, "ha": "right"}
axes[0].text(0.96, 0.9, "lazy", **inside)
axes[0].text(0.96, 0.08, "features", **inside)
axes[0].text(0.1, 0.6, "no fit", color="w", rotation=90, **inside)
chapter.figure(
    fig,
    "fig-b-4",
    on_map,
    second_map,
    alt="Two maps of ensemble error over width and output scale: jamming on the left, flat lines of kernel change to the right.",
)
# %% [markdown] tags=["caption"]
# **Left of the black line fewer than half of the networks fit in time; above the thick white line learning is lazy.** Colour: test error
# of the ensemble's mean output. Black: jamming, where half of the networks fit, mean and range over training sets. White: change of the
# kernel over its norm, thick: 1. Circles: within half a per cent of the least error; dotted: the cuts of the next figure (paper B, Fig. 4).
# %% [markdown]
# With the loss divided by $\alpha^2$ the training time does not depend on a large output scale: its exponent in $\alpha$ is
# {claim}`B.Fig4-time`. So one budget of steps serves the whole map.
#
# Paper B finds the best performance on MNIST near the cross-over. On average over the three widths the error there is lower than at
# either end of the scales, by {claim}`B.Fig4-best-near` percentage points. At the largest width alone, on other training sets, the
# difference is {claim}`B.Fig4-best-near-widest`.
#
# ## Stopped networks on 250 points show hardly a peak
# The error of networks stopped after 200 steps falls through jamming; at the largest output scale alone it peaks there
# ({numref}`fig-b-6`, along the dotted cuts of the map). At scale 12 the error at jamming minus that at two thirds of its width is
# {claim}`B.Fig6-peak` points, a mean over 60 to 500 points; it is nearer to 0 on more points. Averaging an ensemble lowers the error
# by {claim}`B.Fig6-gain` percentage points or more at twice the width of jamming.
# %%
slices = studies.at_end(chapter.rows(studies.ensembles, "slices"))
jammed = jamming.transitions(slices, "h")
fig, axes = plots.panels(3, columns=3, sharey=True)
colours = plots.from_feature_to_lazy(3)
for ax, (scale, rows), colour in zip(axes, slices.groupby("scale"), colours):
    plots.over_seeds(ax, rows, "h", "error", factor=100, color=colour, label="single networks")
    plots.over_seeds(ax, rows, "h", "ensemble_error", factor=100, color=colour, linestyle="--", label="ensemble")
    ax.axvspan(jammed[scale].min(), jammed[scale].max(), color="0.5", alpha=0.25, linewidth=0, label="jamming")
    plots.curve_axes(ax, [4, 8, 16, 32, 64], errors=False)
    ax.set(xlabel="width $h$", title=rf"$\tilde\alpha = {plots.number(scale)}$")
axes[0].set_ylabel("test error (%)")
curves = axes[0].get_legend_handles_labels()
points = papers.beside(map_p, "B.points")
fig.legend(*curves, title=points, title_fontsize="small", loc="outside lower center", ncols=3)
chapter.figure(
    fig,
    "fig-b-6",
    slices,
    alt="Test error against width at three scales: single networks above, the ensemble below, both falling through grey jamming.",
)
# %% [markdown] tags=["caption"]
# **Single networks improve with width far beyond jamming; averaging removes most of that.** Test error of single networks and of the
# ensemble's mean output against width at three scales; grey: jamming, range over training sets (paper B, Fig. 6). At the largest scale
# the error peaks at jamming.
# %% [markdown]
# ## At rest the error peaks at jamming
# At scale 12 and at rest the peak is {claim}`B.Fig6-rest-cusp` percentage points high; in the lazy regime it is {claim}`B.Fig6-rest-lazy`
# ({numref}`fig-b-rest`). Here the networks learn up to 5000 points, as many as in paper B.
#
# We reach rest by Newton's method with the whole Hessian in a trust region (`regimes.training.newton`). It continues the training of
# networks that do not fit until they fit or lie at a minimum. One round gets as far as tens of steps of the flow. The peak needs this
# long training. An ensemble does not always remove it: the mean output of lazy networks keeps a bump (right), since their norms
# differ much near jamming and the largest dominates the mean.
# %%
middle = followed_longest(*[chapter.rows(at_rest.cusp, name) for name in ("sizes", "whole")])
lazy = followed_longest(*[chapter.rows(at_rest.cusp, name) for name in ("lazy", "whole_lazy")])
shown = {"scale 12": (middle, "error"), "lazy": (lazy, "error"), "lazy, ensembles": (lazy, "ensemble_error")}
fig, axes = plots.panels(3, columns=3)
for ax, (title, (rows, column)) in zip(axes, shown.items()):
    for (p, group), colour in zip(rows.groupby("p"), plots.PALETTE):
        stages = 100 * group.pivot_table(index="h", columns="newton_steps", values=column)  # means over training sets
        at_end = stages.iloc[:, -1]
        ax.plot(stages[0], ":", color=colour)
        ax.plot(at_end, "o-", color=colour, markersize=3, label=f"$P = {p}$")
        fitted = group[group.newton_steps == stages.columns[-1]].groupby("h").fitted.mean()
        half = (fitted - 0.5).abs().idxmin()
        ax.plot(half, at_end[half], "o", color=colour, markersize=10, markerfacecolor="none")
    plots.curve_axes(ax, [4, 8, 16], errors=False)
    ax.set(xlabel="width $h$", ylabel="error (%)", title=title)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
chapter.figure(
    fig,
    "fig-b-rest",
    middle,
    lazy,
    alt="Three panels of error against width: peaked at rest, most so in the lazy regime, where ensembles have a bump as well.",
)
# %% [markdown] tags=["caption"]
# **Trained to rest, the error of single networks peaks at jamming, and that of lazy ensembles keeps a bump.** Error against the width for
# growing numbers of points, after the steps of the map (dotted) and after the last round (full); right: of the ensemble's mean output.
# Circles: the width at which most nearly half of the networks fit in the end.
# %% [markdown]
# The height of the peak is the error where the norm is largest minus the least error of narrower networks. Both widths were chosen
# on these networks, and the height is measured on other training sets ({numref}`fig-b-heights`). There it is lower for networks that
# were stopped, and for ensembles of scale 12: {claim}`B.Fig6-rest-twenty` of that of single networks. At the smallest scale it is
# {claim}`B.Fig6-rest-feature` points, and whether there is a peak is undecided. Whether it grows from 1000 to 5000 points is open.
# %%
middle = followed_longest(*[chapter.rows(at_rest.cusp, name) for name in ("fresh", "fresh_whole")])
lazy = followed_longest(*[chapter.rows(at_rest.cusp, name) for name in ("fresh_lazy", "fresh_whole_lazy")])
last = lazy.newton_steps.max()
heights = {
    "lazy": heights_of_peak(lazy, last),
    "scale 12": heights_of_peak(middle, last),
    "scale 12, stopped": heights_of_peak(middle, 0),
    "scale 12, ensemble": heights_of_peak(middle, last, "ensemble_error"),
}
fig, ax = plt.subplots()
for i, (label, found) in enumerate(heights.items()):
    bars = [found.height - found.low, found.high - found.height]
    ax.errorbar(found.p * 1.03**i, found.height, bars, fmt="o", capsize=3, color=plots.PALETTE[i], label=label)
ax.axhline(0, color="0.4", linewidth=1)
plots.curve_axes(ax, sorted(set(lazy.p)), errors=False)
ax.set(xlabel="training points $P$", ylabel="height of the peak (%)")
ax.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-b-heights",
    middle,
    lazy,
    alt="Height of the peak against the number of points: highest in the lazy regime, lowest for stopped networks and ensembles.",
)
# %% [markdown] tags=["caption"]
# **The peak is higher in the lazy regime, and lower for networks that were stopped.** Error at jamming minus the least of narrower
# networks, mean and interval over training sets. Where two values stand, training sets were drawn from a part of the images and from all.
# %% [markdown]
# (the-predictor-blows-up)=
# ## The predictor diverges at jamming
# At the largest output scale three quantities diverge with an exponent near $-1$ in $N-N^*$ ({numref}`fig-b-8d`). The exponents
# are {claim}`B.Sec2-norm` for the norm of the predictor, {claim}`B.Fig8D-quadratic` for its fluctuation over initial weights and
# {claim}`B.Fig4-change-diverges` for the change of the kernel. As $N$ falls towards $N^*$ a network can meet its margins only with an
# ever larger predictor, which depends ever more on its initial weights. The kernel changes with the predictor, so that close enough to
# jamming any network leaves the lazy regime. Ours do not come so close: at this scale the change stays far below the norm of the
# kernel. At scale 12 the norm's exponent is {claim}`B.Sec2-norm-middle`: no such divergence within 200 steps.
# %%
slices = studies.at_end(chapter.rows(studies.ensembles, "slices"))
jammed = jamming.transitions(slices, "parameters").mean()
slices = slices.assign(beyond=slices.parameters - slices["scale"].map(jammed)).query("beyond > 0")
fig, axes = plots.panels(3, columns=3)
colours = plots.from_feature_to_lazy(3)
for ax, column in zip(axes, ("norm", "fluctuation", "kernel_change")):
    for (scale, rows), colour in zip(slices.groupby("scale"), colours):
        plots.over_seeds(ax, rows, "beyond", column, color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$")
    nearest = rows.beyond.min()  # at the largest scale
    height = 2 * rows[rows.beyond == nearest][column].median()
    plots.slope_guide(ax, (nearest, 10 * nearest), height, -1, "$-1$", above=True)
    ax.set(xscale="log", yscale="log", xlabel="$N-N^*$")
    ax.tick_params(which="minor", labelbottom=False, labelleft=False)
axes[0].set_ylabel(r"$\Vert F\Vert$")
axes[1].set_ylabel(r"$\Vert F-\langle F\rangle\Vert$")
axes[2].set_ylabel("change of the kernel")
for ax in axes[:2]:
    plots.plain_numbers(ax)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
alt = "Norm, fluctuation and change of the kernel against the parameters beyond jamming, a curve a scale: those of the "
alt += "largest scale rise to the left along a dashed line of slope minus one."
chapter.figure(fig, "fig-b-8d", slices, alt=alt)
# %% [markdown] tags=["caption"]
# **At the largest scale all three grow alike towards jamming.** Norm of the predictor on test points, its fluctuation over initial
# weights, and the change of the kernel, against $N-N^*$, the parameters beyond those at jamming; a colour an output scale (paper B,
# Fig. 8D, Sec. 2 and 4).
# %% [markdown]
# ## Exercises
# **1. Why $1/(N-N^*)$?** Let the largest margin that a predictor of norm 1 can have on all points at once be
# $\kappa(N)$, zero at jamming and growing linearly beyond. What is the norm of a predictor that meets all margins?
# Why does stopping early remove the divergence?
#
# <details class="solution"><summary>Solution</summary>
#
# $F=\lVert F\rVert u$ with $u$ of norm 1, and $\min_\mu y_\mu F_\mu\le\lVert F\rVert\,\kappa(N)$. All margins of 1 ask for $\lVert
# F\rVert\ge1/\kappa(N)\propto1/(N-N^*)$. The worst point alone sets the scale. Early stopping asks for the margins of the better half of
# the points only. Their margin does not vanish at $N^*$.
#
# In least squares, where the labels are to be met exactly by $N$ linear parameters, it is the *squared* norm of the
# parameters that diverges: for $P$ Gaussian points in $N>P+1$ dimensions and random labels its mean is $P/(N-P-1)$,
# the trace of an inverse Wishart matrix. That is the alternative of B.Sec2-norm, exponent $-\frac12$.
#
# </details>
#
# **2. Half of the eigenvalues.** Show that at the start, with labels drawn at random, as many eigenvalues of $H_p$
# are negative as positive on average; and that with one hidden ReLU layer it is so for every draw.
#
# <details class="solution"><summary>Solution</summary>
#
# At the start $F=0$, all $\Delta_\mu$ are 1, and $H_p=\sum_\mu\nabla^2\Delta_\mu=-\sum_\mu y_\mu\nabla^2F(x_\mu)$.
# The labels $-y$ are as likely as $y$ and turn $H_p$ into $-H_p$. With $f=\frac1h\sum_n\beta_n\sigma(\omega_n\cdot
# x)$ and a ReLU the second derivatives within a layer vanish almost everywhere, so that
# $H_p=\bigl(\begin{smallmatrix}0&B\\B^\top&0\end{smallmatrix}\bigr)$: its non-zero eigenvalues are plus and minus the
# singular values of $B$, whatever the labels.
#
# </details>
#
# **3. A prediction.** Which networks fit depends on the number of steps. Give every network of the map a quarter of the steps,
#
# ```sh
# make chapter-03 PROFILE=smoke NAME=hasty PARAMS='-p steps 15'
# ```
#
# Which way does the black line move? By which factor in $N^*$, if $N^*$ goes as the number of steps to the power
# $-0.2$, about the exponent that [the ledger](../book/ledger.md) has for the step budget (B.Fig4-step-budget)?
#
# <details class="solution"><summary>Solution</summary>
#
# To the right: with fewer steps it takes wider networks to fit. $(15/60)^{-0.2}=1.3$, since the smoke profile has 60
# steps. The run shows its line next to the book's; with two training sets and widths that double from one to the next, no
# more than the direction can be told there.
#
# </details>
#
# ## Errata and open points
# - At the largest output scale our networks stay lazy even near jamming. The divergence says how near they would have to be for the
#   norm to reach the scale: no whole width is that near.
# - The jamming line on the map depends on the number of steps. Trained on to rest, narrower networks fit ({numref}`fig-b-rest`). Just
#   left of the line up to nine in ten networks still move after the last round at scale 12, with weights that grow. Whether they have
#   a minimum at all is open. So do most near jamming at the smallest scale, whose claim is about where they are then.
# - At scale 12 and 1000 points the error near jamming still rises from 400 to 1600 rounds. At 2000 points its peak is the same after
#   both. Newton's method also leads to other minima than the flow would. In the lazy regime the loss is convex, but 200 steps do not
#   reach its minimum near jamming either.
# - The training sets of 2000 points and fewer are drawn from 5000 images, so that two of 2000 share two fifths. Those of the claims at
#   rest on 5000 points are drawn from all 70000. In the lazy regime there the claim compares the peak with width 20. We tried width 18
#   later, and its error is lower. So the peak is higher than the claim says.
# - At the largest scale the mean output of five networks keeps a bump at jamming, that of twenty a smaller one. Whether a mean of
#   predictors scaled to one norm has a bump is not measured here.
# - The details have what is open about [random labels](#random-labels) and [fluctuations](#far-from-jamming).
#
# ## Try it yourself
# - `make chapter-03 NAME=patient PARAMS='-p steps 800'` gives every network four times the steps. How far does the black line move?
# - `-p loss soft_hinge` takes the loss of paper B's public code.
# - `-p components 20` gives the networks more principal components. Which of the two lines of the map moves?
