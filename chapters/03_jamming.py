# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-03)=
# # Jamming is where solutions cease to exist
# :::{div} guess
# **Guess first.** Twenty lazy networks have just enough parameters to fit their 1000 images of digits. You may average
# their outputs, or let each of them vote. Which makes fewer errors on new images?
#
# - the average
# - **the vote**
# - both alike
#
# Measured: the average makes {interval}`B.Fig6-vote-large` percentage points more errors. A few of the networks have
# huge outputs, which decide the average alone.
# :::
#
# A network with too few parameters cannot fit its data. What happens at the number of parameters where it just can?
#
# ## What we find
# - How many parameters a lazy network needs can be counted without training: on 250 digits the count is
#   {claim}`B.Fig8A-cone` times what linear programs find ([how](#your-own-labels)).
# - With features fewer parameters are enough on many digits: for networks of two layers next to the lazy regime the
#   exponent of their number in the digits differs from the lazy one by {interval}`B.Fig8A-rest-features`
#   ([how](#features-bend-the-line)).
# - At lazy jamming of 1000 digits a few of twenty networks have huge norms, so their mean makes
#   {interval}`B.Fig6-vote-large` percentage points more errors than their vote: divide each by its norm, then average
#   ([how](#divide-by-the-norm)).
#
# ## Overview
# A network with too few parameters ends its training with some points on the wrong side of the {term}`margin`, as
# grains get stuck when a box is filled. With a few more parameters it fits every point. Paper B {cite}`geiger2021`
# calls the line between the two {term}`jamming`. At this line the {term}`predictor` diverges and its error has a cusp;
# beyond it the error falls again, the {term}`second descent <double descent>`.
#
# This chapter follows one quantity, the largest margin that a network of norm 1 can have. Jamming is where it vanishes,
# and for a lazy network, which is linear in its parameters, you can count where that is. Because its norm is one over
# this margin, a few networks at jamming have huge norms. So their mean fails, although a mean over norms does not.
#
# You need to know what a margin and a {term}`tangent kernel` are (chapter 1). [When lazy](#lazy-jamming) has the
# theorem and the peak of the error, [the details](#jamming-details) what was known before and further statements of
# paper B. We train several thousand small networks by implicit steps of {term}`gradient flow`
# (`regimes.training.gauss_newton`). An ensemble is several networks that differ in their initial weights alone.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | meaning |
# |---|---|---|---|
# | $P$, $d$ | `p`, `components` | | training points; dimension, principal components of the images |
# | $h$, $L$, $N$ | `h`, `layers`, `parameters` | | width; hidden layers; parameters, $dh+(L-1)h^2+h$ |
# | $f$ | `model(x)` | $(P)$ | output, mean-field scale $1/h$, no biases |
# | $F=\tilde\alpha(f-f_0)$ | `F` | $(P)$ | predictor; the output {term}`scale <alpha>` $\tilde\alpha$ is $\sqrt h\,\alpha$ in paper B's notation |
# | $\Delta_\mu=1-y_\mu F(x_\mu)$ | | $(P)$ | gap: a point is not fitted where it is positive |
# | $N_\Delta$ | `unsatisfied` | | points with $\Delta>10^{-4}$ at the end |
# | $N^*$, $h^*$ | `transition` | | parameters, width at which half of the networks fit |
# | $\kappa$ | | | largest margin at norm 1 |
# | $\langle F\rangle$ | `ensemble_error` | | mean output of an ensemble; `ensemble_error` is its test error |
# :::
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
map_stop = 1.0  # fraction of the margins at which errors are taken: 0.5, 0.9, 0.98, or 1, the end (paper B: 1)
# fmt: on
# %%
import math

import numpy as np

from companion.book import plots, sketches, stated
from companion.book.chapter import Chapter
from companion.papers.jamming.claims.counting import cones_and_programs
from companion.papers.jamming.claims.rest import followed_longest, parameters_at_rest
from companion.papers.jamming.claims.separability import points_per_parameter
from companion.papers.jamming.claims.voting import (
    index_of_gaussian_margins,
    mean_width_at_jamming,
    parameters_at_the_end,
    tails_beyond_jamming,
)
from companion.papers.jamming.studies import counting, separability, voting
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.theory import jamming

chapter = Chapter("03", globals())
# %% [markdown]
# ## In one picture
# With too few parameters for the points, training ends at a positive loss; with enough, at zero
# ({numref}`fig-sketch-jamming`).
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
# **Guess first:** how many neurons do 64 points need, and what fails where they are just enough, the mean of fifteen
# networks or their vote? Add neurons until all points are fitted.
#
# <div class="explore" data-name="jam">
#
# Only the readout learns here, so the network is lazy and a neuron is a parameter. The label is the sign of one of ten
# coordinates, and some labels are flipped. Left: green points lie on the margin, orange ones are not fitted. Middle:
# the share of fifteen networks that fit, and of points that are not fitted; dashed: [Cover's theorem](#lazy-jamming)
# for random labels. Right: test errors, on one training set.
#
# </div>
#
# ## When a network counts as jammed
# We train fully connected networks without biases, of $L$ hidden layers of width $h$:
#
# $$
# h_0=x,\quad h_l=\sigma\Bigl(\frac{W_l h_{l-1}}{\sqrt{n_{l-1}}}\Bigr),\quad f=\frac{1}{h}\,W_{L+1}\cdot h_L,
# $$ (eq:B:network)
#
# where layer $l$ has $n_{l-1}$ inputs, and $\sigma(z)\propto z/(1+e^{-10z})$ has $\mathbb E\,\sigma^2=1$ for standard
# normal $z$. The inputs are the first principal components of images, and the labels $y_\mu=\pm1$ the parity of the
# digit. The predictor is $F=\tilde\alpha(f-f_0)$, with $f_0$ the output at the start. A point has the margin
# $y_\mu F(x_\mu)$ and the *gap* $\Delta_\mu=1-y_\mu F(x_\mu)$. Training is gradient flow of the quadratic hinge loss
# $\frac1{\tilde\alpha P}\sum_\mu\frac12\max(0,\Delta_\mu)^2$. This is the loss of paper B's text; its public code takes
# a soft hinge for Figs. 4 and 6, which gives the same verdicts where all margins are met.
#
# A network *fits* when every gap is below $10^{-4}$. It is *jammed* when its loss cannot fall further and some gaps are
# left. That is harder to decide, because most networks that do not fit still move slowly when we stop them, after 200
# steps. So the line on the map depends on the training budget ([details](#how-long-is-long-enough)), as did paper B's,
# which stopped by the clock. Elsewhere we go on until nothing moves. For lazy networks linear and convex programs find
# the end of training; others follow Newton's method with the whole Hessian in a trust region
# (`regimes.training.newton`), until they fit or lie at a minimum. We call such networks *fully trained*.
#
# ## The map has two lines, one for jamming and one for laziness
# At an output scale near 9 training changes the tangent kernel by its own norm ({numref}`fig-b-4`). Above this scale
# learning is lazy. Far from jamming the line hardly depends on the width, although near jamming it bends up by a factor
# of about 4. The other line, the black band, is jamming: the width at which half of the networks fit.
# %%
on_map = studies.at_stop(chapter.rows(studies.ensembles, "map"), map_stop)
second_map = studies.at_stop(chapter.rows(studies.ensembles, "second_data"), map_stop)
fig, axes = plots.panels(2, height=4.2)
for ax, rows in zip(axes, (on_map, second_map)):
    plots.phase_map(ax, rows, jamming.transitions(rows, "h"))
    images = rows.words.iloc[0].partition(",")[0]
    points = stated.both_sizes(rows.p.iloc[0], "B.points")
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
# **Left of the black line fewer than half of the networks fit in time; above the thick white line learning is lazy.**
# Colour: test error of the ensemble's mean output. Black: jamming, mean and range over training sets. White: change of
# the kernel over its norm, thick: 1. Circles: within half a per cent of the least error. Dotted: the cuts of
# {numref}`fig-b-local` (paper B, Fig. 4).
# %% [markdown]
# (features-bend-the-line)=
# ## On many digits features lower the line of jamming
# How many points does a parameter fit ({numref}`fig-b-lines`)? If labels are random it is two, by [a
# theorem](#lazy-jamming). If the labels are the images' own it is more, and the more the larger the training set,
# because such labels follow the data. For lazy networks the number is given by [the dimension of a
# cone](#your-own-labels), which is computed from the tangent features and the labels alone. Without a fitted parameter
# the count grows with the exponent {glue:text}`cone-exponent` in $P$, where convex programs find
# {claim}`B.Fig8A-rest-lazy`.
#
# Features make a network depart from this count. On the same training sets the count, less the parameters of fully
# trained networks next to the cross-over (output scale 12), is {glue:text}`features-few` on 250 digits, and
# {glue:text}`features-many` on 2000. So features make a network jam later if points are few, and earlier if they are
# many.
#
# Paper B finds that jamming needs fewer parameters where ensembles have a smaller error. Here the two go together as
# well: over the scales of the map they are correlated ({claim}`B.Fig4-jamming`), and with more points both change
# sides. On 250 points lazy networks jam first, and at width 128 they have the smaller error. From 250 to 1000 points
# their error, less that next to the cross-over, grows by {interval}`B.Fig4-jamming-points` percentage points. On 5000
# points networks next to the cross-over need {glue:text}`line-ratio` times the parameters of lazy ones, and their
# widest ensemble has {glue:text}`error-ratio` times the lazy error, each on one training set.
# %%
random = [chapter.rows(separability.random_labels, name) for name in ("deep", "wide")]
voters = [chapter.rows(voting.votes, name) for name in ("small", "large", "largest")]
lazy = chapter.rows(at_rest.peak_at_jamming, "lazy"), chapter.rows(at_rest.peak_at_jamming, "whole_lazy")
middle = chapter.rows(at_rest.peak_at_jamming, "sizes"), chapter.rows(at_rest.peak_at_jamming, "whole")
lines = {"lazy": parameters_at_rest(*lazy), "output scale 12": parameters_at_rest(*middle)}
cones = chapter.rows(counting.cones)
line = chapter.rows(counting.cones, "line").rename(columns={"dimension": "parameters"})
programs = chapter.rows(counting.programs)
fig, axes = plots.panels(2)
for (label, rows), colour in zip(lines.items(), (plots.COLOURS["lazy"], plots.COLOURS["feature"])):
    axes[0].plot(rows.p, rows.p / rows.parameters, "o", color=colour, markersize=4, label=f"{label}, fully trained")
for p, sizes in parameters_at_the_end(*voters).items():
    axes[0].plot([p] * len(sizes), p / sizes, "_", color=plots.COLOURS["lazy"], markersize=9)
axes[0].plot([], [], "_", color=plots.COLOURS["lazy"], markersize=9, label="lazy, convex programs")
means = [rows.groupby("p").parameters.mean() for rows in (line, lines["output scale 12"])]
axes[0].plot(means[0].index, means[0].index / means[0], color=plots.COLOURS["lazy"], label="lazy, counted")
shared = sorted(set(means[0].index) & set(means[1].index))
if shared:
    ends = [np.array(shared) / of[shared].to_numpy() for of in means]
    axes[0].fill_between(shared, *ends, color="0.5", alpha=0.25, linewidth=0, label="what features change")
fits = points_per_parameter(*random)
p = fits.ratio * fits.parameters
axes[0].plot(p, fits.ratio, "s", color="0.4", markersize=4, label="random labels, linear programs")
counts = sorted({*lines["lazy"].p, *line.p})
axes[0].axhline(2, color=plots.COLOURS["theory"], label="random labels, theorem")
plots.curve_axes(axes[0], counts)
axes[0].set(xlabel="training points $P$", ylabel="points per parameter, $P/N^*$")
axes[0].set_ylim(1.6, 12)
pairs = cones_and_programs(cones, programs)
for (layers, rows), marker, colour in zip(pairs.groupby("layers"), "o^s", plots.PALETTE):
    word = "layer" if layers == 1 else "layers"
    axes[1].plot(rows.found, rows.dimension, marker, color=colour, markersize=4, label=f"{layers} hidden {word}")
ends = [pairs.found.min() * 0.95, pairs.found.max() * 1.05] if len(pairs) else [1, 2]
axes[1].plot(ends, ends, color=plots.COLOURS["theory"], linewidth=1)
plots.curve_axes(axes[1], sorted({50, 70, 100, 140, 200} if len(pairs) else {1, 2}))
axes[1].set(xlabel="$N^*$ by linear programs", ylabel="$N^*$ counted, without training")
axes[1].legend(fontsize="small")
alt = "Left, points per parameter at jamming against points: two for random labels; for digits more, rising, dots of lazy networks on the "
alt += "counted line, and steeper for output scale 12. Right, the count against linear programs, one dot a training set, along the diagonal."
keys = ["p", "seed", "words"]
middle_sizes = lines["output scale 12"].set_index(keys).parameters
gives = (line.set_index(keys).parameters - middle_sizes).dropna().groupby("p").mean()
for name, at in (("few", 0), ("many", -1)):
    chapter.glue(f"features-{name}", float(gives.iloc[at]) if len(gives) else math.nan)
slope = np.polyfit(np.log(means[0].index), np.log(means[0]), 1)[0] if len(means[0]) > 1 else math.nan
chapter.glue("cone-exponent", float(slope))
pair = [followed_longest(*tables) for tables in (middle, lazy)]
pair = [rows[(rows.newton_steps == rows.newton_steps.max()) & (rows.p == rows.p.max())] for rows in pair]
both = sorted(set(pair[0].h) & set(pair[1].h) if set(pair[0].seed) & set(pair[1].seed) else ())
ratios = [math.nan, math.nan]
if both:
    sizes = [parameters_at_rest(*tables).query("p == @pair[0].p.max()").parameters.mean() for tables in (middle, lazy)]
    errors = [rows[rows.h == both[-1]].ensemble_error.mean() for rows in pair]
    ratios = [sizes[0] / sizes[1], errors[0] / errors[1]]
for name, value in zip(("line-ratio", "error-ratio"), ratios):
    chapter.glue(name, value)
chapter.figure(fig, "fig-b-lines", *random, *voters, *lazy, *middle, cones, programs, legend=3, alt=alt)
# %% [markdown] tags=["caption"]
# **A parameter fits two points of random labels, and more of digits: as many as a cone's dimension says, and with
# features more or fewer.** Left: points per parameter at jamming. Dots and dashes: one training set of digits each;
# line: counted. Right: the count for single training sets of 250 and 1000 digits, against the mean number of parameters
# from which on linear programs find a margin (paper B, Fig. 8A).
# %% [markdown]
# (norms-at-jamming)=
# ## At jamming norms have no variance, because the margin vanishes
# At lazy jamming the largest margin $\kappa$ at norm 1 vanishes, and as many points lie on it as there are parameters
# ([isostaticity](#isostatic)). The network must meet the margin 1, so its norm is $1/\kappa$. But each network has its
# own initial weights, hence its own $\kappa$. Suppose that $\kappa$ has the mean $\mu$, the standard deviation
# $\sigma$, and a density that does not vanish at zero. Then norms exceed $x$ with a probability of order $1/x$. They
# have no variance, and a mean of $M$ networks is about its largest member, for any $M$ (exercise 2).
#
# Far from jamming $\mu$ is much larger than $\sigma$, and the tail is thin. One curve should hold from one end to the
# other: the tail of $1/|\mu+\sigma g|$, with $g$ normal. It does. At all widths, on 250 to 2000 points and two data
# sets, the index of the tail is {claim}`B.Sec2-norm-curve` times that of the curve ({numref}`fig-b-tail`). At jamming
# the curve has the index 1, and the largest quarter of the norms gives {interval}`B.Sec2-norm-index`. As points are
# added $\sigma$ falls, so the window without a variance closes: its width in $N/N^*-1$ goes as $P$ to the power
# {interval}`B.Sec2-norm-window`.
# %%
tables = {name: chapter.rows(voting.votes, name) for name in ("small", "large", "largest", "second_data")}
h_star = mean_width_at_jamming(tables["largest"])
fig, axes = plots.panels(2)
for h, rows in tables["largest"].groupby("h"):
    if h >= h_star - 0.5:
        norms = np.sort(np.concatenate([np.array(norms) / np.median(norms) for norms in rows.norms]))
        share = 1 - np.arange(len(norms)) / len(norms)
        shade = min(int(12 * (h / h_star - 0.9)), 11)
        axes[0].plot(norms, share, color=plots.shades(12)[max(shade, 0)], label=f"{h / h_star:.2f}")
plots.slope_guide(axes[0], (2, 20), 0.4, -1, "$-1$", above=True)
axes[0].set(xscale="log", yscale="log", xlabel="norm over its median, $x$", ylabel="share of norms beyond $x$")
if len(axes[0].get_legend_handles_labels()[0]):
    axes[0].legend(title="$h/h^*$", fontsize="small", loc="lower left")
for (name, table), colour in zip(tables.items(), plots.PALETTE):
    found = tails_beyond_jamming(table)
    label = f"{table.words.iloc[0].partition(',')[0]}, $P={table.p.iloc[0]}$" if len(table) else name
    axes[1].plot(found.scatter, found["index"], "o", color=colour, markersize=4, label=label)
scatter = np.linspace(0, 8, 41)
gaussian = [index_of_gaussian_margins([value]) for value in scatter]
axes[1].plot(scatter, gaussian, color=plots.COLOURS["theory"], label=r"$1/|\mu+\sigma g|$")
axes[1].axhline(2, color="0.5", linestyle=":")
axes[1].set(
    yscale="log",
    xlabel=r"mean margin over its scatter, $\mu/\sigma$",
    ylabel="index of the tail",
    xlim=(-0.5, 8),
    ylim=(0.25, 15),
)
plots.plain_numbers(axes[1])
axes[1].legend(fontsize="small", loc="lower right")
alt = "Left, distributions of norms, along a line of slope minus one at jamming and steep far from it. Right, the index of the tail "
alt += "against the mean margin over its scatter: points of three numbers of points and two data sets along one rising curve."
chapter.figure(fig, "fig-b-tail", *tables.values(), alt=alt)
# %% [markdown] tags=["caption"]
# **Norms have the tail of one over a Gaussian margin: without a variance at jamming, and thin where the margin exceeds
# its scatter.** Left: distribution of the norms at widths from jamming on, 2000 digits; dashed: index 1. Right: index
# of the tail at each width against the mean of the margins over their standard deviation; line: normal margins; dotted:
# the index below which no variance exists.
# %% [markdown]
# (divide-by-the-norm)=
# ## Divide by the norm, then average
# That is why the mean fails ({numref}`fig-b-vote`). At lazy jamming of 1000 digits the mean of twenty networks makes
# {interval}`B.Fig6-vote-large` percentage points more errors than a vote, in which all count alike; on 1000 points of
# Fashion-MNIST it is {interval}`B.Fig6-vote-second`. The vote has no bump at jamming of 2000 digits
# ({claim}`B.Fig6-vote-bump`); training sets of this size differ so much that some thirty would be needed to compare it
# with the mean there.
#
# *Which should you take?* Far from jamming a vote gains nothing over a mean. So keep the mean, but first divide each
# network by its norm. Over all widths of 2000 digits this makes {interval}`B.Fig6-normalised` points fewer errors than
# the vote. At no width does it make more than the plain mean, beyond the scatter.
#
# Paper B finds that averaging "eliminates the double descent" in both regimes (Fig. 6). At output scale 12 it does:
# fully trained, the mean of twenty networks has no bump ({interval}`B.Fig6-rest-twenty`). In the lazy regime it has one of
# {interval}`B.Fig6-rest-twenty-lazy` points on 1000 digits, hence this is not reproduced. *Single* networks have a peak
# in both regimes, if fully trained, but huge norms cannot be its reason, because the sign of an output does not depend
# on them ([the peak](#peak-at-jamming)).
# %% tags=["key"]
tables = [chapter.rows(voting.votes, name) for name in ("large", "largest", "second_data")]
fig, axes = plots.panels(3, columns=3, height=3.2)
kinds = {"mean_error": "mean", "vote_error": "vote", "normalised_error": "mean, each over its norm"}
colours = (plots.PALETTE[3], plots.PALETTE[0], plots.PALETTE[2])
for ax, rows in zip(axes, tables):
    h_star = mean_width_at_jamming(rows)
    for (column, label), colour, marker in zip(kinds.items(), colours, "os^"):
        errors = 100 * rows.groupby("h")[column].agg(["mean", "sem"])
        style = {"fmt": f"{marker}-", "color": colour, "markersize": 4, "label": label}
        ax.errorbar(errors.index / h_star, errors["mean"], 2 * errors["sem"], **style)
    ax.axvline(1, color="0.5", linestyle=":")
    ax.set_xlabel("width over that at jamming")
    if len(rows):
        ax.set_title(f"{rows.words.iloc[0].partition(',')[0]}, $P={rows.p.iloc[0]}$", fontsize="medium")
axes[0].set_ylabel("test error (%)")
alt = "Test errors of ensembles against the width in three panels: the mean has a bump at jamming, whereas the vote and the mean over norms "
alt += "lie on one another and fall."
chapter.figure(fig, "fig-b-vote", *tables, legend=3, alt=alt)
# %% [markdown] tags=["caption"]
# **At lazy jamming the mean of twenty networks fails, whereas their vote and the mean over norms do not.** Test error
# of ensembles of twenty lazy networks against the width over that at which half of the networks fit (dotted): mean and
# two standard errors over training sets (paper B, Fig. 6).
# %% [markdown]
# ## Exercises
# **1. Why $1/(N-N^*)$?** Let the largest margin that a predictor of norm 1 can have on all points at once be
# $\kappa(N)$, zero at jamming and growing linearly beyond. What is the norm of a predictor that meets all margins?
# Why does stopping early remove the divergence?
#
# <details class="solution"><summary>Solution</summary>
#
# $F=\lVert F\rVert u$ with $u$ of norm 1, and $\min_\mu y_\mu F_\mu\le\lVert F\rVert\,\kappa(N)$. All margins of 1 ask for $\lVert
# F\rVert\ge1/\kappa(N)\propto1/(N-N^*)$. The worst point alone sets the scale. Early stopping asks for the margins of
# the better half of the points only, and their margin does not vanish at $N^*$.
#
# In least squares, where the labels are to be met exactly by $N$ linear parameters, it is the *squared* norm of the
# parameters that diverges: for $P$ Gaussian points in $N>P+1$ dimensions and random labels its mean is $P/(N-P-1)$,
# the trace of an inverse Wishart matrix. So the norm has the exponent $-\frac12$ there, in place of $-1$.
#
# </details>
#
# **2. Why more networks do not help.** Let norms $r\ge1$ exceed $x$ with the probability $1/x$, and let the signs of
# the outputs at a test point be random. How large is the largest of $M$ norms, and how large the sum of $M$ outputs?
# What changes if the probability is $1/x^3$?
#
# <details class="solution"><summary>Solution</summary>
#
# The largest is where one of $M$ is expected beyond, $M/x=1$, so it is near $M$. The sum of outputs with random signs
# has the size $\bigl(\sum r^2\bigr)^{1/2}$, and up to the largest norm
# $\sum r^2\approx M\int_1^M x^2\,x^{-2}\,dx\approx M^2$. So the sum, too, is of order $M$: one network decides it,
# however many there are. With $1/x^3$ the largest is near $M^{1/3}$ and the sum near $\sqrt{3M}$, which leaves the
# largest a share of $M^{-1/6}$ that vanishes.
#
# </details>
#
# **3. A prediction.** Which networks fit depends on the number of steps. Give every network of the map a quarter of
# the steps,
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
# ## Try it yourself
# - `make chapter-03 NAME=patient PARAMS='-p steps 800'` gives every network four times the steps. How far does the black line move?
# - `-p loss soft_hinge` takes the loss of paper B's public code.
# - `-p components 20` gives the networks more principal components. Which of the two lines of the map moves?
