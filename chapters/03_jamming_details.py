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
# - Averaging lowers the error at twice the width of jamming, on both data sets and at each output scale, by
#   {claim}`B.Fig6-gain-both` percentage points or more.
# - The middle cut was trained with the soft hinge and with cross-entropy, each until all margins reach one. The error changes by
#   {claim}`B.Fig6-losses` percentage points at most.
# - Beyond jamming the ensemble gains from width a share of {claim}`B.Fig4-weakly` of what single networks gain. So several narrow
#   networks beat a wide one, as paper B advises: twenty of width 16 beat one of the largest width by {claim}`B.Sec3-limited-width`
#   percentage points. The single network has more parameters than the twenty together.
# - At the smallest output scale the mean of six networks at rest has no peak either: {claim}`B.Fig6-rest-ensemble-feature` points.
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
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.papers.jamming.claims.jamming import parameters_by_budget
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
tenth = on_map.assign(kernel_change=10 * on_map.kernel_change)
lines = {h: jamming.crossings(rows).mean() for h, rows in tenth.groupby("h")}
wide = [h for h in lines if h >= (min(lines) * max(lines)) ** 0.5]
slope = np.polyfit(np.log10(wide), [lines[h] for h in wide], 1)[0] if len(wide) > 1 else np.nan
chapter.glue("line-of-a-tenth", float(slope))
chapter.table(
    shares.rename(columns=columns),
    "tab-b-verdicts",
    "How ensembles end after the steps of the map: share of networks that fit, that are at rest with points unsatisfied, and the "
    "mean number of those, by how many fit at their width.",
    on_map,
    digits=2,
)
# %% [markdown]
# ## Stopping early and weight decay remove the divergence, stochastic descent does for 400 epochs
# All three bring the norm's exponent near 0 ({numref}`fig-b-sec2`). Stopping early gives {claim}`B.Sec2-early-stopping`, weight
# decay {claim}`B.Sec2-weight-decay` and 400 epochs of stochastic descent {claim}`B.Sec2-stochastic`. Gradient flow to the end forces
# every margin to one, whatever norm this takes. Stopping early does not, nor does a penalty on the distance from the initial weights,
# paper B's weight decay. Stochastic descent fits no network near jamming in 4000 epochs, and its norm still grows there from 40 epochs
# to 4000. Whether its noise or its slowness regularises is open.
#
# Paper B expects that stopping helps most near jamming, where it removes the divergence. We stop when half of the points have a margin
# above nine tenths. At the largest scale this lowers the error at jamming by {claim}`B.Sec2-near-jamming-lazy` percentage points more
# than at eight times the width, at scale 12 by {claim}`B.Sec2-near-jamming-middle`. At the smallest scale the norm does not diverge, and
# a stop helps as much far from jamming as near.
# %%
slices = chapter.rows(studies.ensembles, "slices")
lazy = slices[slices["scale"] == slices["scale"].max()]
at_end = studies.at_end(lazy)
stochastic = chapter.rows(at_rest.stochastic, "lazy").assign(epochs=lambda t: t["look"] * t.batch // t.p)
decayed = studies.at_end(chapter.rows(studies.ensembles, "weight_decay"))
kinds = {"to the end": at_end, "half of the margins": lazy[lazy.stop == lazy.stop.min()], "weight decay": decayed}
for epochs, rows in stochastic.groupby("epochs"):
    kinds[f"stochastic, {epochs} epochs"] = rows
fig, axes = plots.panels(2)
for (label, rows), colour in zip(kinds.items(), plots.PALETTE):
    plots.over_seeds(axes[0], rows, "parameters", "norm", color=colour, label=label)
jammed = jamming.transitions(at_end, "parameters").squeeze()
axes[0].axvspan(jammed.min(), jammed.max(), color="0.5", alpha=0.25, linewidth=0, label="jamming")
axes[0].set(xscale="log", yscale="log", xlabel="parameters $N$", ylabel=r"norm of the predictor $\Vert F\Vert$")
axes[0].legend(fontsize="small")
early = slices[slices.stop == slices.stop.min()].set_index("cell").error
ends = studies.at_end(slices)
ends = ends.assign(gain=ends.error - ends.cell.map(early))
for (scale, rows), colour in zip(ends.groupby("scale"), plots.from_feature_to_lazy(3)):
    jammed = jamming.transitions(rows, "h")[scale].mean()
    relative = rows.assign(width=rows.h / jammed)
    label = rf"$\tilde\alpha={plots.number(scale)}$"
    plots.over_seeds(axes[1], relative, "width", "gain", factor=100, color=colour, label=label)
axes[1].axvline(1, color="0.5", linestyle=":")
axes[1].set(xscale="log", xlabel="$h/h^*$", ylabel="gain of stopping early (%)")
plots.plain_numbers(axes[1], "x")
axes[1].legend(fontsize="small")
alt = "Left, norm of the predictor against parameters, which grows towards jamming at the end of training alone. Right, what a stop "
alt += "gains against the width over that at jamming, most at jamming for the largest scale."
chapter.figure(fig, "fig-b-sec2", slices, decayed, stochastic, alt=alt)
# %% [markdown] tags=["caption"]
# **Stopped early, with weight decay or after few epochs the norm does not diverge; where it does, a stop gains most.** Left: norm of the
# predictor on test points in the lazy regime against the number of parameters; grey: jamming. Right: by how much a stop at half of the
# margins lowers the error of single networks at three scales (paper B, Sec. 2).
# %% [markdown]
# (random-labels)=
# ## With random labels the parameters at lazy jamming are in proportion to the points
# Paper B finds $N^*\propto P$ for random labels. For lazy networks of three layers, with 138 to 546 parameters, linear programs give an exponent of
# {claim}`B.Fig8A-random` in the number of points, as [Cover's theorem](#lazy-jamming) has it. Networks that learn features would have to be
# trained until they rest. After a given number of steps the line bends, because a network next to jamming is still on its way.
#
# Paper B does not say at which output scale its Fig. 8 was measured; where networks learn features ours is 12, the `scale` of
# `minima_at_jamming.sizes`. Nor does it say how strong its weight decay was; ours is the `decay` of `ensembles.weight_decay`.
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
# spectrum. A stable end needs $N_\Delta\ge N_-$, the number of negative eigenvalues of $H_p$. Before training these are half of all that are
# not zero: the share of single ReLU networks on random points is apart from one half by {claim}`B.Sec2-half-negative`, root mean square.
# At jamming $N_-$ is {claim}`B.Sec2-stable` of $N_\Delta$: minima are twice as stable as they must be.
#
# Both statements hold at minima. Where a quarter of the networks fits, hardly any of the others comes to rest at one. To hold
# a network exactly at jamming we add a weight decay and let it fall to zero, as one compresses particles at a vanishing
# pressure (paper B, footnote 8). It then lies at a minimum whether it can fit or not. If it can, the loss goes with the square of the
# decay, and $N_\Delta$ counts the points that hold the network there: its support vectors. Their number per
# parameter jumps to {claim}`B.Fig8B-jump`; for spheres it would be 1. Whether it stays below 1 for far larger networks is open: on the
# top right of {numref}`fig-b-8bc` it rises slowly. The gap of $H_0$ does not close as networks grow (exponent {claim}`B.Fig8C-gap`), and
# the share of unstable directions of $H_p$ stays ({claim}`B.Sec2-unstable`).
#
# Paper B's sketch (Fig. 7) has $H_p$ grow as the root of the loss. At the weakest decay we find the exponent {glue:text}`curvature-in-loss`, from width to
# width. Whether it is one half is not decided, and would take hundreds of training sets, each ten minutes of a core. From
# $N_-\le N_\Delta\le P$ paper B has the bound $N^*\le P/C_0$, with $C_0=N_-/N$. It follows from what is tested here, and is far from tight: our
# networks jam at {glue:text}`bound-few` of it on the fewest points and at {glue:text}`bound-many` on the most.
# %%
table = chapter.rows(at_rest.minima_at_jamming, "sizes").assign(ratio=lambda t: t.unsatisfied / t.parameters)
table = table[table.members == table.members.max()]  # the stored ones, where they are there
jammed = jamming.networks_at_jamming(table)
start = chapter.rows(studies.initialisation, "widths")
fig, axes = plots.panels(6)
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
for (h, rows), colour in zip(start.groupby("h"), plots.PALETTE):
    axes[4].hist(rows.negative, bins=np.linspace(0.45, 0.55, 41), histtype="step", color=colour, label=f"$h={h}$")
axes[4].set(xlabel="negative share of $H_p$, before training", ylabel="networks")
axes[4].legend(fontsize="small")
for (_, rows), colour in zip(jammed.groupby("p"), plots.PALETTE[3:]):
    axes[5].scatter(rows.parameters, rows.negative / rows.unsatisfied, s=12, color=colour)
axes[5].axhline(1, color="0.4", linestyle="--", linewidth=1)
axes[5].set(xscale="log", xlabel="parameters $N$ at jamming", ylabel=r"$N_-/N_\Delta$", ylim=(0, None))
plots.plain_numbers(axes[1], "x")
plots.plain_numbers(axes[5], "x")
for ax in axes[:2]:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    ax.set(ylabel=r"unsatisfied points $N_\Delta/N$", ylim=(0, None))
    if ax.get_legend_handles_labels()[0]:  # at few points no network may sit at jamming
        ax.legend(fontsize="small")
alt = "Unsatisfied points per parameter against the loss: where it vanishes they stay below one; the same at jamming against "
alt += "parameters. Histograms of eigenvalues. The size of the second part of the Hessian, which falls with the loss. Shares of "
alt += "negative eigenvalues before training, close to one half, and unstable directions over unsatisfied points, about one half."
bound = (jammed.negative / jammed.p).groupby(jammed.p).mean()
for name, at in (("few", 0), ("many", -1)):
    chapter.glue(f"bound-{name}", float(bound.iloc[at]) if len(bound) else np.nan)
weakest = table[(table.ended == "jammed") & (table.decay == table.decay.min())]
weakest = weakest[~jamming.can_fit(table)[weakest.index]]
logs = np.log(weakest[["quadratic_hinge", "strength"]].astype(float))
logs -= logs.groupby([weakest.seed, weakest.p]).transform("mean")
slope = np.polyfit(*logs.to_numpy().T, 1)[0] if len(logs) > 1 else np.nan
chapter.glue("curvature-in-loss", float(slope))
chapter.figure(fig, "fig-b-8bc", table, start, alt=alt)
# %% [markdown] tags=["caption"]
# **Fewer points hold a network at jamming than it has parameters.** Top: unsatisfied points per parameter of networks at a minimum;
# dashed: one. Left: under three weight decays; right: where a quarter fit. Middle: a regular sample of the non-zero eigenvalues
# of $H_0$; the largest of $H_p$, in size, over that of $H_0$. Bottom: share of those of $H_p$ that are negative before training; unstable
# directions over unsatisfied points, with the bound (paper B, Fig. 7, 8B and C, Eq. 14).
# %% [markdown]
# (far-from-jamming)=
# ## Far from jamming fluctuations fall as $N^{-1/4}$
# They do in both regimes: {claim}`B.Fig8D-far-feature` and {claim}`B.Fig8D-far-lazy`. In the lazy regime the output takes them over from
# the tangent kernel, as paper B says: its exponent in the width is that of the kernel's fluctuation at the start up to
# {claim}`B.Sec3-same`. Paper B also expects $-\frac12$ for the excess of
# single networks' error over the ensemble's, the square. {numref}`fig-b-local` shows how slowly the first is reached. The excess falls
# with the exponent {claim}`B.Sec3-far-excess`, more slowly than the square of the fluctuation; its exponent in this,
# {claim}`B.Sec3-quadratic`, grows with the width, and whether it ends at 2 is open. Single networks improve to the last, as paper B says: from
# width 128 to 256 by {claim}`B.Sec3-improves` percentage points, mean over three scales. Nor is the fluctuation a function of $h/h^*$ alone: at
# twice the width of jamming it grows with $P$.
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
# %% [markdown]
# (not-tested)=
# ## What paper B says that is not tested here
# - *Other values of the ratio* of the kernel's change to its norm do "not affect qualitatively the geometry" of the cross-over (Fig. 4): there is no number to
#   compare with. The line of a tenth bends up near jamming, too, and is steeper between the widest networks, with the slope {glue:text}`line-of-a-tenth`.
# - *The bound* $N^*\le P/C_0$ (Sec. 2) follows from $N_-\le N_\Delta$, which is tested ([the landscape](#the-landscape)).
# - *Linear and polynomial activations* are an exception to the conjecture on $C_0$ (footnote 9): all our networks have a swish or a ReLU.
# - *The critical number at a given margin*, $N^*(\epsilon)$, is smooth (Sec. 2): that is assumed in paper B's argument. What follows from it, the
#   divergence of the norm, [is tested](#the-predictor-blows-up).
# - *Fewer principal components* do not change the diagram, and in the full dimension of MNIST lazy networks are better (Fig. 4 and Sec. 4): jamming there asks for
#   networks of a few neurons on 784 pixels, where it can hardly be seen, and we did not train them.
# - *In regression the peak lies where the parameters match the data* (Sec. 1.4): that is exact for least squares
#   ([exercise 1](#chapter-03)), and no network was trained on it.
# - *A preactivation moves the output by* $\alpha/\sqrt h$, moves by $1/(\alpha\sqrt h)$ itself, and laziness ends where that is of order one
#   (Sec. 4): these are steps of an argument. What it ends in is tested: the cross-over lies at an output scale of order
#   one (log10 {claim}`B.Fig4-crossover`), whatever the width (slope {claim}`B.Fig4-flat`), and bends up near jamming ({claim}`B.Fig4-bends`).
# - *With cross-entropy* the training time is independent of $\alpha$ "at any finite time" alone (Sec. 4): we train it until all margins are one,
#   which is a finite time.
# - *With one hidden layer* the density of the parameters fluctuates as $N^{-1/4}$ by the central limit theorem, before training and after (Sec. 3): the
#   networks that we train have two layers or more.
