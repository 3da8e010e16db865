# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (jamming-details)=
# # Jamming in detail: budgets, exponents, landscape
# This page holds what the story of chapter 3 leaves out: further statements of paper B and their small print.
#
#
# ## Other data, other losses and larger ensembles change little
# - On the second data set, too, averaging lowers the error at twice the width of jamming, by {claim}`B.Fig6-gain-second` percentage
#   points or more.
# - The middle cut was trained with the soft hinge and with cross-entropy, each until all margins reach one. The error changes by
#   {claim}`B.Fig6-losses` percentage points at most.
# - Predictors near jamming differ much in size, so that the largest dominates a mean of few. At the largest scale, on 250 points,
#   ensembles of twenty keep a bump of {claim}`B.Fig6-twenty` percentage points, less than half of that of five.
# - Beyond jamming the ensemble gains from width a share of {claim}`B.Fig4-weakly` of what single networks gain. So several narrow
#   networks beat a wide one, as paper B advises: twenty of width 16 beat one of the largest width by {claim}`B.Sec3-limited-width`
#   percentage points. The single network has more parameters than the twenty together.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
data = "mnist"  # images, labelled by the parity of their class (paper B: MNIST)
components = 10  # principal components of the images (paper B: 10)
layers = 2  # hidden layers (paper B, Fig. 4: 2)
loss = "quadratic_hinge"  # (paper B's text: hinge or quadratic hinge; its commands: soft hinge)
steps = 200  # attempted steps after which a network has not fitted (paper B: hours of wall time)
members = 5  # networks of an ensemble (paper B: 15 and 20)
test = 4000  # test points (paper B: 40000)
map_p = 250  # training points (paper B: 5000)
map_scales = [0.00390625, 0.5, 2.0, 12.0, 256.0, 1048576.0]  # scales of the map (paper B: 3e-4 to 3e7)
map_h = [4, 6, 8, 12, 16, 32, 128]  # widths of the map (paper B: 20 to 1248)
sizes_p = [60, 120, 250, 500]  # training points with which the best region is followed
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.papers.jamming.claims.jamming import parameters_at_jamming, parameters_by_budget
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.theory import jamming

chapter = Chapter("03", globals())
# %% [markdown]
# (how-long-is-long-enough)=
# ## The jamming point depends on the number of training steps
# The number of parameters at jamming falls with the number of steps, exponent {claim}`B.Fig4-step-budget`
# ({numref}`fig-b-effort`). Networks that just fit take {claim}`B.Fig4-slowing` times as many steps as wide ones. At rest the number is
# smaller still ({numref}`fig-b-rest`). A network that has not fitted may be at rest, or on its way. The table tells them apart, after the
# steps of the map.
# %%
budgets = chapter.rows(studies.steps_to_fit, "step_budget")
transitions = parameters_by_budget(budgets)
allowed = transitions.columns
fig, axes = plots.panels(2)
for (h, rows), colour in zip(budgets.groupby("h"), plots.shades(budgets.h.nunique())):
    shares = [(rows.needed <= count).mean() for count in allowed]
    axes[0].plot(allowed, shares, "o-", markersize=3, color=colour, label=h)
axes[0].set(xscale="log", xlabel="steps allowed", ylabel="share that fits")
axes[0].legend(title="width", fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
reached = transitions.dropna(axis=1)
if reached.shape[1]:
    plots.realisations(axes[1], reached.columns, reached)
plots.curve_axes(axes[1], [50, 100, 200, 500, 1000, 2000])
axes[1].set(xlabel="steps allowed", ylabel="parameters $N^*$ at jamming")
chapter.figure(fig, "fig-b-effort", budgets)
# %% [markdown] tags=["caption"]
# **At small budgets the jamming point falls with the number of steps.** Left: share of the networks that fit within a number of steps,
# by width. Right: the number of parameters at which half of them do; median and quartiles over training sets. Not in paper B, whose
# Fig. 4 has three lines for three wall times.
# %%
on_map = studies.at_end(chapter.rows(studies.ensembles, "map"))
near = np.select([on_map.fitted == 0, on_map.fitted == 1], ["none fits", "all fit"], "some fit")
columns = {"jammed": "at rest", "near": "at this width"}
shares = on_map.assign(near=near).groupby(["scale", "near"])[["fitted", "jammed", "unsatisfied"]].mean().reset_index()
chapter.table(
    shares.rename(columns=columns),
    "tab-b-verdicts",
    "How ensembles end after the steps of the map: share of networks that fit, that are at rest with points unsatisfied, and the "
    "mean number of those, by how many fit at their width.",
    on_map,
    digits=2,
)
# %% [markdown]
# ## Stopped networks on 250 points show hardly a peak
# The error of networks stopped after 200 steps falls through jamming; at the largest output scale alone it peaks there
# ({numref}`fig-b-6`). At scale 12 the error at jamming minus that at two thirds of its width is
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
points = stated.both_sizes(map_p, "B.points")
fig.legend(*curves, title=points, title_fontsize="small", loc="outside lower center", ncols=3)
chapter.figure(fig, "fig-b-6", slices)
# %% [markdown] tags=["caption"]
# **Single networks improve with width far beyond jamming; averaging removes most of that.** Test error of single networks and of the
# ensemble's mean output against width at three scales; grey: jamming, range over training sets (paper B, Fig. 6). At the largest scale
# the error peaks at jamming.
# %% [markdown]
# ## Stopping early and weight decay remove the divergence, stochastic descent does for 400 epochs
# All three bring the norm's exponent near 0 ({numref}`fig-b-sec2`). Stopping early gives {claim}`B.Sec2-early-stopping`, weight
# decay {claim}`B.Sec2-weight-decay` and 400 epochs of stochastic descent {claim}`B.Sec2-stochastic`. Gradient flow to the end forces
# every margin to one, whatever norm this takes. Stopping early does not, nor does a penalty on the distance from the initial weights,
# paper B's weight decay. Where the norm diverges, stopping also lowers the error most near jamming ({numref}`fig-b-gain`). Stochastic
# descent fits no network near jamming in 4000 epochs, and its norm still grows there from 40 epochs to 4000. Whether its noise or
# its slowness regularises is open.
# %%
slices = chapter.rows(studies.ensembles, "slices")
slices = slices[slices["scale"] == slices["scale"].max()]
at_end = studies.at_end(slices)
stochastic = chapter.rows(at_rest.stochastic, "lazy").assign(epochs=lambda t: t["look"] * t.batch // t.p)
decayed = studies.at_end(chapter.rows(studies.ensembles, "weight_decay"))
kinds = {"to the end": at_end, "half of the margins": slices[slices.stop == slices.stop.min()], "weight decay": decayed}
for epochs, rows in stochastic.groupby("epochs"):
    kinds[f"stochastic, {epochs} epochs"] = rows
fig, ax = plt.subplots()
for (label, rows), colour in zip(kinds.items(), plots.PALETTE):
    plots.over_seeds(ax, rows, "parameters", "norm", color=colour, label=label)
jammed = jamming.transitions(at_end, "parameters").squeeze()
ax.axvspan(jammed.min(), jammed.max(), color="0.5", alpha=0.25, linewidth=0, label="jamming")
ax.set(xscale="log", yscale="log", xlabel="parameters $N$", ylabel=r"norm of the predictor $\Vert F\Vert$")
ax.legend(fontsize="small")
chapter.figure(fig, "fig-b-sec2", slices, decayed, stochastic)
# %% [markdown] tags=["caption"]
# **Stopped early, with weight decay or after few epochs the norm does not diverge.** Norm of the predictor on test points in the lazy
# regime against the number of parameters; grey: jamming. Early is where half of the margins are near one (paper B, Sec. 2).
# %% [markdown]
# ## Where the norm diverges, stopping helps most near jamming
# We stop when half of the points have a margin above nine tenths. Paper B expects that this helps most near jamming, where it
# removes the divergence of the norm. At the largest scale it lowers the error at jamming by {claim}`B.Sec2-near-jamming-lazy`
# percentage points more than at eight times the width ({numref}`fig-b-gain`). At the smallest scale the norm does not diverge, and a
# stop helps as much far from jamming as near: the excess is {claim}`B.Sec2-near-jamming` points, the least of three scales. At scale 12
# it is {claim}`B.Sec2-near-jamming-middle`. Paper B's sentence rests on the divergence, and holds where there is one.
# %%
slices = chapter.rows(studies.ensembles, "slices")
early = slices[slices.stop == slices.stop.min()].set_index("cell").error
ends = studies.at_end(slices)
ends = ends.assign(gain=ends.error - ends.cell.map(early))
fig, ax = plt.subplots()
for (scale, rows), colour in zip(ends.groupby("scale"), plots.from_feature_to_lazy(3)):
    jammed = jamming.transitions(rows, "h")[scale].mean()
    relative = rows.assign(width=rows.h / jammed)
    plots.over_seeds(
        ax, relative, "width", "gain", factor=100, color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$"
    )
ax.axvline(1, color="0.5", linestyle=":")
ax.set(xscale="log", xlabel="$h/h^*$", ylabel="gain of stopping early (%)")
plots.plain_numbers(ax, "x")
ax.legend(fontsize="small")
chapter.figure(fig, "fig-b-gain", slices)
# %% [markdown] tags=["caption"]
# **At the largest scale stopping early gains most near jamming.** By how much a stop at half of the margins lowers the error of single
# networks, against the width over that at jamming (paper B, Sec. 2).
# %% [markdown]
# (random-labels)=
# ## With random labels the parameters at jamming approach proportion to the points
# Paper B finds $N^*\propto P$ for random labels and less for digits. Over all sizes the exponent for random labels is
# {claim}`B.Fig8A-random`, and it grows with the points; that for digits is smaller by {claim}`B.Fig8A-fewer`
# ({numref}`fig-b-8a`). On few points an offset weighs, the parameters of a narrow network. Narrow layers may fail there before the
# count of parameters does; we do not separate the two. We go to 3840 points, paper B to 70,000. For each training set we bisect the
# width, from both sides, until neighbouring widths have been trained.
#
# Paper B does not say at which output scale its Fig. 8 was measured; ours is 12, the `scale` of `fitting_width.images`. Nor does it
# say how strong its weight decay was; ours is the `decay` of `ensembles.weight_decay`.
# %%
digits = chapter.rows(studies.fitting_width, "images")
random = chapter.rows(studies.fitting_width, "random")
fig, ax = plt.subplots()
for rows, label, colour in ((digits, "digits", plots.PALETTE[2]), (random, "random labels", plots.PALETTE[4])):
    p, transitions = parameters_at_jamming(rows)
    plots.realisations(ax, p, transitions, color=colour, label=label)
ax.plot(p, p, ":", color="0.4", label="$N = P$")
plots.curve_axes(ax, p)
ax.set(xlabel="training points $P$", ylabel="parameters $N^*$ at jamming")
ax.legend()
chapter.figure(fig, "fig-b-8a", digits, random)
# %% [markdown] tags=["caption"]
# **Digits need fewer parameters than random labels.** Number of parameters at which half of the networks fit, against the number of
# points, for digits and for random points with random labels; median and quartiles over training sets (paper B, Fig. 8A).
# %% [markdown]
# (the-landscape)=
# ## The landscape at jamming
# How many points are unsatisfied, per parameter, where networks begin to fit? For spheres it would be one: as many contacts
# as degrees of freedom. The Hessian of $U=\frac12\sum\Delta^2$ is
#
# $$
# H = H_0 + H_p,\qquad H_0=\sum_{\Delta_\mu>0}\nabla\Delta_\mu\nabla\Delta_\mu^\top,\qquad
# H_p=\sum_{\Delta_\mu>0}\Delta_\mu\nabla^2\Delta_\mu .
# $$ (eq:B:hessian)
#
# $H_0$ has rank $N_\Delta$ at most, so that $N_\Delta<N$ leaves $N-N_\Delta$ flat directions: a delta at zero in its
# spectrum. A stable end needs $N_\Delta\ge N_-$, the number of negative eigenvalues of $H_p$.
#
# Both statements hold at minima. Where a quarter of the networks fits, hardly any of the others comes to rest at one. To hold
# a network exactly at jamming we add a weight decay and let it fall to zero, as one compresses particles at a vanishing
# pressure (paper B, footnote 8). It then lies at a minimum whether it can fit or not. If it can, the loss goes with the square of the
# decay, and $N_\Delta$ counts the points that hold the network there: its support vectors. Their number per
# parameter jumps to {claim}`B.Fig8B-jump`; for spheres it would be 1. Whether it stays below 1 for far larger networks is open: on the
# top right of {numref}`fig-b-8bc` it rises slowly. Whether $H_p$ grows as the root of the loss is undecided, too: at the weakest decay
# the exponent, from width to width, is {claim}`B.Sec2-strength`. The gap of $H_0$
# does not close as networks grow (exponent {claim}`B.Fig8C-gap`), and the share of unstable directions of $H_p$ stays
# ({claim}`B.Sec2-unstable`).
# %%
table = chapter.rows(at_rest.minima_at_jamming, "sizes").assign(ratio=lambda t: t.unsatisfied / t.parameters)
table = table[table.members == table.members.max()]  # the stored ones, where they are there
jammed = jamming.networks_at_jamming(table)
fig, axes = plots.panels(4)
for (decay, rows), colour in zip(table[table.ended == "jammed"].groupby("decay"), plots.PALETTE):
    axes[0].scatter(rows.quadratic_hinge, rows.ratio, s=10, color=colour, label=rf"$\lambda={plots.number(decay)}$")
    axes[3].scatter(rows.quadratic_hinge, rows.strength, s=10, color=colour)
for (p, rows), colour in zip(jammed.groupby("p"), plots.PALETTE[3:]):
    spectra = [np.array(spectrum) / np.mean(spectrum) for spectrum in rows.eigenvalues]
    axes[1].scatter(rows.parameters, rows.ratio, s=12, color=colour, label=f"$P={p}$")
    axes[2].hist(np.log10(np.concatenate(spectra)), bins=24, histtype="step", color=colour, density=True)
axes[0].set(xscale="log", xlabel="loss $U/P$")
axes[1].set(xscale="log", xlabel="parameters $N$ at jamming")
axes[2].set(xlabel=r"$\log_{10}$ eigenvalue of $H_0$ over the mean", ylabel="density")
axes[3].set(xscale="log", yscale="log", xlabel="loss $U/P$", ylabel="size of $H_p$ over that of $H_0$")
plots.plain_numbers(axes[1], "x")
for ax in axes[:2]:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    ax.set(ylabel=r"unsatisfied points $N_\Delta/N$", ylim=(0, None))
    if ax.get_legend_handles_labels()[0]:  # at few points no network may sit at jamming
        ax.legend(fontsize="small")
alt = "Unsatisfied points per parameter against the loss: where it vanishes they stay below one; the same at jamming against "
alt += "parameters. Histograms of eigenvalues. The size of the second part of the Hessian, which falls with the loss."
chapter.figure(fig, "fig-b-8bc", table, alt=alt)
# %% [markdown] tags=["caption"]
# **Fewer points hold a network at jamming than it has parameters.** Top: unsatisfied points per parameter of networks at a minimum;
# dashed: one, as for spheres. Left: against the loss, under three weight decays $\lambda$; right: at the weakest, where a quarter fit.
# Bottom left: a regular sample of the ordered non-zero eigenvalues of $H_0$ of the latter. Bottom right: the largest eigenvalue of
# $H_p$, in size, over that of $H_0$ (paper B, Fig. 7, 8B and C).
# %% [markdown]
# (far-from-jamming)=
# ## Far from jamming fluctuations fall as $N^{-1/4}$
# They do in both regimes: {claim}`B.Fig8D-far-feature` and {claim}`B.Fig8D-far-lazy`. Paper B also expects $-\frac12$ for the excess of
# single networks' error over the ensemble's, the square. {numref}`fig-b-local` shows how slowly the first is reached. The excess falls
# with the exponent {claim}`B.Sec3-far-excess`, more slowly than the square of the fluctuation; its exponent in this,
# {claim}`B.Sec3-quadratic`, grows with the width, and whether it ends at 2 is open. Nor is the fluctuation a function of $h/h^*$ alone:
# at twice the width of jamming it grows with $P$.
# %%
slices = studies.at_end(chapter.rows(studies.ensembles, "slices"))
slices = slices.assign(excess=100 * (slices.error - slices.ensemble_error))
jammed = jamming.transitions(slices, "h").mean()
fig, axes = plots.panels(3, columns=3)
for (scale, rows), colour in zip(slices.groupby("scale"), plots.from_feature_to_lazy(3)):
    for ax, column in zip(axes, ("fluctuation", "excess")):
        local = jamming.exponents_by_width(rows, column)
        bars = [local.exponent - local.low, local.high - local.exponent]
        ax.errorbar(local.h / jammed[scale], local.exponent, bars, fmt="o-", color=colour, markersize=3)
    means = rows[rows.h > jammed[scale]].groupby("h")[["fluctuation", "excess"]].mean()
    axes[2].plot(means.fluctuation, means.excess, "o-", color=colour, label=rf"$\tilde\alpha={plots.number(scale)}$")
for ax, name in zip(axes, ("fluctuation", "excess")):
    stated.mark(ax, f"B.{name}")
    ax.legend()
    ax.set(xscale="log", xlim=(1, None), ylim=(-1.5, 0.1), xlabel="$h/h^*$", title=name)
    plots.plain_numbers(ax, "x")
axes[0].set_ylabel("local exponent in $N$")
smallest = means.min()
plots.slope_guide(axes[2], (smallest.fluctuation, 3 * smallest.fluctuation), smallest.excess / 2, 2, "2")
axes[2].set(xscale="log", yscale="log", xlabel="fluctuation", ylabel="excess error (%)")
for axis in "xy":
    plots.plain_numbers(axes[2], axis)
chapter.figure(fig, "fig-b-local", slices, legend=3)
# %% [markdown] tags=["caption"]
# **The fluctuation's exponent rises towards $-\frac14$; that of the excess has no clear limit.** Left and middle: exponents in $N$ of
# the fluctuation and of the error of single networks above that of the ensemble, between neighbouring widths, against the width over
# that at jamming; dashed: paper B's (Sec. 3). Right: the excess against the fluctuation, one point for each width beyond jamming;
# dashed: its square.
# %% [markdown]
# (pre-activations)=
# ## Pre-activations move as $1/\alpha$; only the widest networks have the factor $1/\sqrt h$
# The exponent of their motion is {claim}`B.Fig4-preactivations` in $\alpha$. At one output scale $\tilde\alpha=\sqrt h\,\alpha$ it is
# {claim}`B.Fig4-preactivations-width` in $h$ over all widths, and nearer 0 for the widest ({numref}`fig-b-preactivations`). Paper B derives
# the line of laziness from this motion: the NTK regime "must thus break down when $\Delta a\sim1$" (Sec. 4).
# %%
scales = chapter.rows(at_rest.preactivations, "scales")
wider = chapter.rows(at_rest.preactivations, "wide")
rows = pd.concat([scales, wider]).drop_duplicates("cell")
geometric_means = [np.exp(np.log(by_layer).mean()) for by_layer in rows.moved]
rows = rows.assign(moved=geometric_means)
fig, ax = plt.subplots()
for (h, group), colour in zip(rows.groupby("h"), plots.PALETTE):
    plots.over_seeds(ax, group, "scale", "moved", color=colour, label=f"$h={h}$")
ax.axhline(1, color="0.5", linewidth=1)
lazy = rows[rows["scale"].between(64, 4096)]
ends = lazy["scale"].min(), lazy["scale"].max()
plots.slope_guide(ax, ends, 0.5 * lazy[lazy["scale"] == ends[0]].moved.min(), -1, "$-1$")
ax.set(xscale="log", yscale="log", xlabel=r"output scale $\tilde\alpha$", ylabel=r"motion $\Delta a/a$")
ax.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-b-preactivations",
    rows,
    alt="Motion of the pre-activations against the output scale, curves of several widths, the widest nearly on top of each other, "
    "falling along a dashed line of slope minus one at large scales and less steeply at small ones.",
)
# %% [markdown] tags=["caption"]
# **Pre-activations move as $1/\tilde\alpha$ beyond the cross-over, nearly the same for the widest networks.** Root mean square of their
# motion in training over their size at the start, geometric mean over both layers, against the output scale; line: motion by their own
# size (paper B, Sec. 4).
# %% [markdown]
# ## Before training
# The tangent kernel of a network of width $h$ fluctuates around that of the infinitely wide one. Its relative fluctuation at the start falls
# as a power of $h$ with the exponent {claim}`B.Sec3-kernel`; paper B has $-\frac12$.
# %%
networks = chapter.rows(studies.initialisation, "widths").sort_values("seed")
by_width = {}
for h, rows in networks.groupby("h"):
    kernels = np.array(rows.kernel.tolist())
    by_width[h] = jamming.relative_fluctuation(kernels)
fluctuations = pd.Series(by_width)
fig, ax = plt.subplots()
ax.loglog(fluctuations, "o-", color=plots.COLOURS["lazy"])
widths = networks.h.min(), networks.h.max()
plots.slope_guide(ax, widths, 1.3 * fluctuations.iloc[0], -0.5, "$-1/2$")
ax.set(xlabel="width $h$", ylabel="relative fluctuation of the kernel")
plots.plain_numbers(ax)
plots.plain_numbers(ax, "x")
chapter.glue("widest-kernel", fluctuations.iloc[-1])
chapter.figure(fig, "fig-b-sec3", networks)
# %% [markdown] tags=["caption"]
# **The kernel fluctuates as the inverse root of the width.** Fluctuation of the tangent kernel over initial weights, relative to its
# mean, against width (paper B, Sec. 3); at the largest it is {glue:text}`widest-kernel`.
# %% [markdown]
# ## The lazy regime is better on both data sets
# For fully connected networks paper B finds the lazy regime better than feature learning on all data but the ten components of MNIST.
# On 250 points the lazy end is better there, too; on the second data set by {claim}`B.Fig9-fc` percentage points.
# %%
first = studies.at_end(chapter.rows(studies.ensembles, "map"))
second = studies.at_end(chapter.rows(studies.ensembles, "second_data"))
fig, ax = plt.subplots()
for rows, colour in ((first, plots.PALETTE[2]), (second, plots.PALETTE[4])):
    widest = rows[rows.h == rows.h.max()]
    plots.over_seeds(ax, widest, "scale", "ensemble_error", factor=100, color=colour, label=rows.data.iloc[0])
ax.set(xscale="log", xlabel=r"scale $\tilde\alpha$", ylabel="ensemble error (%)")
ax.legend()
chapter.figure(fig, "fig-b-9", first, second)
# %% [markdown] tags=["caption"]
# **Lazy networks do better on both data sets.** Ensemble error of the widest networks against the scale (paper B, Fig. 9 left).
