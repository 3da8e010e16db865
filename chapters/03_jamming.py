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
# **Guess first.** Twenty lazy networks have just enough parameters to fit their 1000 images of digits. You may average their outputs, or let each of them vote. Which makes fewer errors on new images?
#
# - the average
# - **the vote**
# - both alike
#
# Measured: the average makes {interval}`B.Fig6-vote-large` percentage points more errors. A few of the networks have huge outputs, and drown the others.
# :::
#
# A network with too few parameters cannot fit its data. What happens at the number of parameters where it just can?
#
# ## What we find
# - A lazy network fits if a plane can separate its tangent features by their labels, so the number of parameters that digits need is counted
#   without training: {claim}`B.Fig8A-cone` times what linear programs find ([how](#your-own-labels)).
# - Features bend the line of jamming: for two-layer networks at rest next to the lazy regime, parameters grow more slowly with the number of
#   digits, and their exponent differs from the lazy one by {interval}`B.Fig8A-rest-features` ([how](#features-bend-the-line)).
# - At lazy jamming of a thousand digits a few networks have huge norms, so the mean of twenty makes {interval}`B.Fig6-vote-large` percentage points
#   more errors than their vote: divide each by its norm, then average ([how](#divide-by-the-norm)).
#
# ## Overview
# Training a network with too few parameters gets stuck with some points on the wrong side of the {term}`margin`, as grains get stuck
# when a box is filled, whereas with a few more parameters it fits every point. Paper B {cite}`geiger2021` calls the line between the
# two {term}`jamming`. There the {term}`predictor` blows up and its error has a cusp; beyond it the error falls again, the
# {term}`second descent <double descent>`. A second line separates {term}`feature learning` from the {term}`lazy regime`.
#
# Before us, {cite}`spigler2019` found the cusp at jamming, which early stopping removes. {cite}`geiger2020` have the exponent
# $N^{-1/4}$, the divergence, and an ensemble just beyond jamming in place of one large network. {cite}`belkin2019` have double
# descent elsewhere. In random features the peak is the variance over initial weights and label noise, which averaging removes
# {cite}`dascoli2020`; {cite}`deng2019` have the peak of the largest margin for Gaussian features, and {cite}`candes2020` where
# maximum likelihood, which needs points that cannot be separated, exists if labels follow the data; {cite}`gherardi2021` counts
# separable labels of structured data. Majority votes of classifiers that fit their points are studied by {cite}`theisen2023` and
# {cite}`kim2024`, ensembles along double descent by {cite}`rathmanakidis2022`. New as far as we know are the tail of the norms, which makes
# the vote differ from the mean, and the window in which it does; the two exponents of the line at rest, and its two kinds of contacts.
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
# | $\Delta_\mu=1-y_\mu F(x_\mu)$ | | $(P)$ | gap: a point is not fitted where it is positive |
# | $N_\Delta$ | `unsatisfied` | | points with $\Delta>10^{-4}$ at the end |
# | $N^*$, $h^*$ | `transition` | | parameters, width at which half of the networks fit |
# | $H_0$, $H_p$, $N_-$ | `hessian` | $(N,N)$ | the parts of the Hessian; negative eigenvalues of $H_p$ |
# | $\lVert\Delta\Theta\rVert/\lVert\Theta_0\rVert$ | `kernel_change` | | change of the tangent kernel in training |
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
from companion.papers.jamming.claims.voting import each_network, mean_width_at_jamming, parameters_at_the_end
from companion.papers.jamming.studies import counting, separability, voting
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.theory import jamming

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
# **Guess first:** how many neurons do 64 points need, and which is worst where they are just enough: a single network, the mean of fifteen,
# their vote, or the mean of each over its norm? Add neurons until all points are fitted.
#
# <div class="explore" data-name="jam">
#
# Only the readout learns here, so that the network is lazy and a neuron is a parameter. The label is the sign of one of ten coordinates;
# some labels are flipped. Left: green points hold the network, orange ones are left. Middle: the share of fifteen networks that fit, and of
# points that are left; dashed: [Cover's theorem](#lazy-jamming) for random labels. Right: test errors, on one training set.
#
# </div>
#
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
# A network *fits* when every gap is below $10^{-4}$. It is *jammed* when its loss cannot fall further and some gaps remain. This is
# harder to decide, because most networks that do not fit still move slowly when we stop, after 200 steps. Paper B stopped its networks
# by the clock. Our line, too, depends on the training budget ([details](#how-long-is-long-enough)). The section on networks at rest
# removes the budget.
#
# ## The map: two lines, one for jamming and one for laziness
# Training changes the tangent kernel by its own norm at an output scale near 9 ({numref}`fig-b-4`). Above this scale learning is
# lazy. The line hardly depends on the width far from jamming, although it bends up by a factor of about 4 near it. The other line,
# the black band in {numref}`fig-b-4`, is jamming: the width at which half of the networks fit.
# %% tags=["key"]
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
# **Left of the black line fewer than half of the networks fit in time; above the thick white line learning is lazy.** Colour: test error
# of the ensemble's mean output. Black: jamming, where half of the networks fit, mean and range over training sets. White: change of the
# kernel over its norm, thick: 1. Circles: within half a per cent of the least error; dotted: the cuts of {numref}`fig-b-local` (paper B, Fig. 4).
# %% [markdown]
# With the loss divided by $\alpha^2$ the training time does not depend on a large output scale: its exponent in $\alpha$ is
# {claim}`B.Fig4-time`. One budget of steps therefore serves the whole map.
#
# Paper B finds the best performance on MNIST near the cross-over. On average over three widths the error there is lower than at
# either end of the scales, by {claim}`B.Fig4-best-near` percentage points, on 1000 points.
#
# (features-bend-the-line)=
# ## Features bend the line of jamming
# How many points does a parameter fit ({numref}`fig-b-lines`)? With random labels two, [a theorem](#lazy-jamming). With their own labels
# more, and the more the larger the training set: for lazy networks that is [the dimension of a cone](#your-own-labels), which is counted
# from the tangent features and the labels alone. Its exponent in $P$ is {glue:text}`cone-exponent`, without a fitted number, where convex programs find
# {claim}`B.Fig8A-rest-lazy`. The rest is what features change. On the same training sets the count less the parameters that networks with features
# need is {glue:text}`features-few` on 250 points, and {glue:text}`features-many` on 2000. On few points they jam later, on many earlier.
#
# Paper B finds that jamming needs fewer parameters where the error of ensembles is small. Over the scales of the map, on 250 points, the
# two go together (correlation {claim}`B.Fig4-jamming`). There lazy networks jam first, and at width 128 they have the smaller
# error. Between 250 and 1000 points both change: at rest scale 12 jams first, and the error of lazy networks less that at scale 12 has grown by
# {claim}`B.Fig4-jamming-points` percentage points. On 5000 points, at rest, scale 12 needs {glue:text}`line-ratio` of the parameters of lazy
# networks, and at the widest its ensemble has {glue:text}`error-ratio` of their error, on one training set. At narrower widths scale 12 is better on
# 250 points, too.
# %%
random = [chapter.rows(separability.random_labels, name) for name in ("deep", "wide")]
voters = [chapter.rows(voting.votes, name) for name in ("small", "large", "largest")]
lazy = chapter.rows(at_rest.peak_at_jamming, "lazy"), chapter.rows(at_rest.peak_at_jamming, "whole_lazy")
middle = chapter.rows(at_rest.peak_at_jamming, "sizes"), chapter.rows(at_rest.peak_at_jamming, "whole")
lines = {"digits, lazy": parameters_at_rest(*lazy), "digits, scale 12": parameters_at_rest(*middle)}
cones = chapter.rows(counting.cones)
line = chapter.rows(counting.cones, "line").rename(columns={"dimension": "parameters"})
programs = chapter.rows(counting.programs)
fig, axes = plots.panels(2)
for (label, rows), colour in zip(lines.items(), (plots.COLOURS["lazy"], plots.COLOURS["feature"])):
    axes[0].plot(rows.p, rows.p / rows.parameters, "o", color=colour, markersize=4, label=f"{label}, at rest")
for p, sizes in parameters_at_the_end(*voters).items():
    axes[0].plot([p] * len(sizes), p / sizes, "_", color=plots.COLOURS["lazy"], markersize=9)
axes[0].plot([], [], "_", color=plots.COLOURS["lazy"], markersize=9, label="digits, lazy, convex programs")
means = [rows.groupby("p").parameters.mean() for rows in (line, lines["digits, scale 12"])]
axes[0].plot(means[0].index, means[0].index / means[0], color=plots.COLOURS["lazy"], label="digits, lazy, counted")
shared = sorted(set(means[0].index) & set(means[1].index))
if shared:
    ends = [np.array(shared) / of[shared].to_numpy() for of in means]
    axes[0].fill_between(shared, *ends, color="0.5", alpha=0.25, linewidth=0, label="what features give")
fits = points_per_parameter(*random)
p = fits.ratio * fits.parameters
axes[0].plot(p, fits.ratio, "s", color="0.4", markersize=4, label="random labels, linear programs")
counts = sorted({*lines["digits, lazy"].p, *line.p})
axes[0].axhline(2, color=plots.COLOURS["theory"], label="random labels, theorem")
plots.curve_axes(axes[0], counts)
axes[0].set(xlabel="training points $P$", ylabel="points per parameter at jamming, $P/N^*$")
axes[0].set_ylim(1.6, 40)
axes[0].legend(fontsize="small", loc="upper left")
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
middle_sizes = lines["digits, scale 12"].set_index(keys).parameters
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
chapter.figure(fig, "fig-b-lines", *random, *voters, *lazy, *middle, cones, programs, alt=alt)
# %% [markdown] tags=["caption"]
# **A parameter fits two points of random labels, and more of digits, as many as a cone's dimension says; features change that.** Left:
# points per parameter at jamming; a dot or dash for each training set of digits, at rest or by convex programs; line: counted; squares:
# random labels. Right: the
# count for single training sets of 250 and 1000 digits against the mean number of parameters from which on linear programs find a
# margin (paper B, Fig. 8A).
# %% [markdown]
# ## Lazy networks jam isostatically
# If no weights give all points a margin, the least loss balances the gradients of the points that still have a gap. A balance of vectors in
# $N$ dimensions needs more than $N$ of them. If some do, the least weights that fit rest on at most $N$. Hence lazy networks on the two
# sides of jamming have more and fewer points with a gap than parameters, and meet at one ({numref}`fig-b-isostatic`): where a network fits with
# the largest norm the ratio is {claim}`B.Fig8B-lazy-fits`, with three layers {claim}`B.Fig8B-lazy-deep`. The widest networks that do not fit
# are a little off, {glue:text}`stuck-ratio`, as no whole width lies at jamming. One would expect the same of all networks, as of frictionless spheres. It is not so for networks that learn
# features, because the curvature of their output holds them, too ([the landscape](#the-landscape)).
# %%
voters = chapter.rows(voting.votes, "largest")
deep = chapter.rows(voting.votes, "deep")
rows = chapter.rows(at_rest.minima_at_jamming, "sizes")
jammed = jamming.networks_at_jamming(rows[rows.members == rows.members.max()])
fig, axes = plots.panels(2)
sides = {1: (plots.COLOURS["lazy"], "fit"), 0: ("0.6", "do not fit")}
networks = each_network(voters)
h_star = mean_width_at_jamming(voters)
stuck = networks[networks.fits == 0]
widest = stuck[stuck.h == stuck.groupby("seed").h.transform("max")]
chapter.glue("stuck-ratio", float(widest.groupby("seed").holding.mean().mean()))
for (h, fits), ratios in networks.groupby(["h", "fits"]).holding:
    bars = np.abs(np.quantile(ratios, [0.1, 0.9]) - ratios.mean())[:, None]
    axes[0].errorbar(h / h_star, ratios.mean(), bars, fmt="o", color=sides[fits][0], markersize=4)
axes[0].set(xlabel="width over that at jamming", ylabel=r"points with a gap, $N_\Delta/N$", ylim=(0, 3))
for fits, group in networks.groupby("fits"):
    colour, label = sides[fits]
    axes[1].plot(group.weights, group.holding, ".", color=colour, markersize=3, alpha=0.5, label=f"lazy, {label}")
three = each_network(deep).query("fits == 1")
axes[1].plot(three.weights, three.holding, "x", color=plots.PALETTE[4], markersize=3, label="three layers, fit")
if len(jammed):
    low, high = (jammed.unsatisfied / jammed.parameters).quantile([0.1, 0.9])
    label = "scale 12, held at jamming"
    axes[1].axhspan(low, high, color=plots.COLOURS["feature"], alpha=0.3, linewidth=0, label=label)
axes[1].set(xscale="log", xlabel="norm of the weights' motion", ylim=(0, 3))
for ax in axes:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
axes[1].legend(fontsize="small")
alt = "Left, points with a gap per parameter, below one right of jamming and above one left of it. Right, the ratio approaches one "
alt += "from below, and of networks that do not fit from above, as the norm grows; a band well below one for networks with features."
chapter.figure(fig, "fig-b-isostatic", voters, deep, rows, alt=alt)
# %% [markdown] tags=["caption"]
# **As the margin of lazy networks vanishes, as many points hold one as it has parameters.** Left: mean and middle eight tenths of the networks
# that fit (blue) and that do not (grey), 2000 digits. Right: each network against its norm, and networks of three layers that fit, 1000
# digits; band: eight tenths of the networks of three layers of {numref}`fig-b-8bc` (paper B, Fig. 8B).
# %% [markdown]
# ## At rest the error peaks at jamming
# We reach rest by Newton's method with the whole Hessian in a trust region (`regimes.training.newton`). It continues the
# training of networks that do not fit until they fit or lie at a minimum, for up to 1600 rounds. The error then peaks at
# jamming ({numref}`fig-b-rest`), with up to 5000 points, as many as in paper B. Networks that were stopped after 200 steps jam at
# larger widths. Whether their peak is lower there, or only elsewhere, is not decided: it would take nineteen training sets, three hours of a
# core. [When lazy](#heights-of-the-peak) has the heights on other training sets.
# %%
middle = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("sizes", "whole")])
lazy = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("lazy", "whole_lazy")])
fig, axes = plots.panels(2)
for ax, (title, rows) in zip(axes, {"scale 12": middle, "lazy": lazy}.items()):
    for (p, group), colour in zip(rows.groupby("p"), plots.PALETTE):
        stages = 100 * group.pivot_table(index="h", columns="newton_steps", values="error")  # means over training sets
        last = stages.columns[-1]
        ax.plot(stages[0], ":", color=colour)
        ax.plot(stages[last], "-", color=colour, label=f"$P = {p}$")
        for steps, face in ((0, "w"), (last, colour)):
            fitted = group[group.newton_steps == steps].groupby("h").fitted.mean()
            half = (fitted - 0.5).abs().idxmin()
            ax.plot(half, stages[steps][half], "o", color=colour, markerfacecolor=face)
    plots.curve_axes(ax, [4, 8, 16], errors=False)
    ax.set(xlabel="width $h$", ylabel="error of single networks (%)", title=title)
chapter.figure(
    fig,
    "fig-b-rest",
    middle,
    lazy,
    legend=5,
    alt="Two panels of error against width: peaked at jamming at rest, most so in the lazy regime; flatter for stopped networks.",
)
# %% [markdown] tags=["caption"]
# **Trained to rest, the error of single networks peaks at jamming, from about 1000 points on.** Error against the width after the steps
# of the map (dotted) and after the last round (full): means over three training sets up to 1000 points, one training set beyond, without bands.
# Circles: the width at which most nearly half of the networks fit, open after the steps of the map.
# %% [markdown]
# (divide-by-the-norm)=
# ## Divide by the norm, then average
# Near lazy jamming a mean of twenty networks has a bump, whereas a vote of the same networks has none, nor has their mean if each is
# first divided by its norm ({numref}`fig-b-vote`). At jamming of 1000 digits the mean has {claim}`B.Fig6-vote-large` percentage points
# more errors than the vote, and {claim}`B.Fig6-vote-second` on 1000 points of Fashion-MNIST. Training sets of 2000 digits differ so much
# that it would take thirty to tell, two and a half hours of a core. There the bump of the vote is {claim}`B.Fig6-vote-bump`. *Which to take?* Far from jamming a vote gains nothing over a
# mean. The mean over norms has over all widths {claim}`B.Fig6-normalised` points fewer errors than the vote, and at no width more than
# the mean, beyond the scatter. So divide by the norm, then average. The end of lazy training is found by a convex program.
#
# The predictor is one over the margin $\kappa$ in size ({numref}`fig-b-tail`). Among networks that differ in their initial weights $\kappa$ has a mean $\mu$
# and a standard deviation $\sigma$, and a density that does not vanish at zero if $\mu$ is not much larger than $\sigma$. Then norms exceed $x$ with a
# probability of order $1/x$, so that a mean of $M$ networks is about its largest member, for any $M$. This law has the index 1. At jamming the
# largest quarter of the norms gives {claim}`B.Sec2-norm-index`, mean over three numbers of points. Beyond it $\mu$ grows with $N-N^*$, and
# $\sigma$ falls as points are added. So the window in which norms have no variance closes: its width in $N/N^*-1$ goes as $P$ to the power
# {claim}`B.Sec2-norm-window`. At all widths, numbers of points and on both data sets the index is {claim}`B.Sec2-norm-curve` times that of
# $1/|\mu+\sigma g|$ with a normal $g$: one curve, without a fitted number.
#
# Paper B says that the norm "is responsible in the cusp" of single networks' error. Among networks of one width near jamming those with
# larger norms do have more errors (rank correlation {claim}`B.Sec2-norm-cusp`), but most of the scatter has another reason. Nor can the norm be the
# cause, since a share of wrong signs does not depend on it: divided by its norm each network makes the same errors. Both grow as a network comes
# near to its own jamming. What changes there is the direction: two predictors agree less at jamming than at 1.5 times the width,
# by {claim}`B.Fig6-overlap` of their cosine. On 1000 points of Fashion-MNIST, too, the error rises towards jamming, by
# {claim}`B.Fig6-cusp-second` points from two thirds of its width.
#
# Paper B finds that averaging "eliminates the double descent" in both regimes (Fig. 6). At scale 12, at rest, the mean of twenty networks has no bump
# ({claim}`B.Fig6-rest-twenty` points). In the lazy regime it has one of {claim}`B.Fig6-rest-twenty-lazy` on 1000 digits, at the end of training: not reproduced.
# %%
voters = chapter.rows(voting.votes, "largest")
second = chapter.rows(voting.votes, "second_data")
fig, axes = plots.panels(2)
kinds = {"error": "single", "mean_error": "mean", "normalised_error": "mean, norms divided out", "vote_error": "vote"}
h_star = mean_width_at_jamming(voters)
for (column, label), colour in zip(kinds.items(), plots.PALETTE):
    errors = 100 * voters.groupby("h")[column].agg(["mean", "sem"])
    relative = errors.index / h_star
    axes[0].errorbar(relative, errors["mean"], 2 * errors["sem"], fmt="o-", color=colour, markersize=3, label=label)
axes[0].set(xlabel="width over that at jamming", ylabel="test error (%)")
for table, colour in ((voters, plots.PALETTE[2]), (second, plots.PALETTE[4])):
    overlaps = table.groupby("h").overlap.agg(["mean", "sem"])
    relative = overlaps.index / mean_width_at_jamming(table)
    label = f"{table.words.iloc[0].partition(',')[0]}, $P={table.p.iloc[0]}$" if len(table) else ""
    axes[1].errorbar(relative, overlaps["mean"], 2 * overlaps["sem"], fmt="o-", color=colour, markersize=3, label=label)
axes[1].set(xlabel="width over that at jamming", ylabel="overlap of two predictors")
for ax in axes:
    ax.axvline(1, color="0.5", linestyle=":")
    ax.legend(fontsize="small")
alt = "Left, error of single networks and of their mean, which has a bump at jamming, above a mean over norms and a vote, which have "
alt += "none. Right, overlap of two predictors against the width, low up to jamming and growing beyond."
chapter.figure(fig, "fig-b-vote", voters, second, alt=alt)
# %% [markdown] tags=["caption"]
# **Near lazy jamming a mean of networks fails, whereas their vote and their mean over norms do not.** Left: test error on 2000 digits, mean and
# two standard errors over training sets, ensembles of twenty. Right: mean cosine between the predictors of two networks on test points (paper
# B, Fig. 6).
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **In the lazy regime jamming is a theorem, and isostatic.** A lazy network is linear in its $N$ parameters: it fits if a plane
#   separates its tangent features by their labels. Random labels therefore need half an independent feature a point, by Cover's theorem, in any
#   architecture ({interval}`B.Sec2-cover-rank` times $P/2$, in general position). Digits need fewer, for their labels follow the data: their $N^*$ is
#   the dimension of a cone, counted without training ({interval}`B.Fig8A-cone` of what linear programs find), and grows as
#   $P^\gamma$ with $\gamma$ {interval}`B.Fig8A-rest-lazy`. Where the margin vanishes, as many points hold a network as it has parameters:
#   {interval}`B.Fig8B-lazy-fits` of $N$.
# - **With features fewer parameters are enough on many points, and fewer points hold a network.** Next to the cross-over (output scale 12) the exponent
#   differs by {interval}`B.Fig8A-rest-features`, as far as networks of two layers came to rest. Networks of three layers that are
#   held at jamming there have {interval}`B.Fig8B-jump` points per parameter, lazy ones of three layers {interval}`B.Fig8B-lazy-deep`.
# - **Near lazy jamming a few huge norms spoil the mean of networks. Divide each by its norm, then average.** A norm is one over a
#   margin, and margins vanish there. The tail of the norms has the index of one over a Gaussian margin, times {interval}`B.Sec2-norm-curve`, on 250 to
#   2000 points and two data sets: norms have no variance at jamming, and all moments far from it. The window without a variance closes as
#   the data grow: its width in $N/N^*-1$ falls as $P$ to the power {interval}`B.Sec2-norm-window`. Inside it the largest of twenty networks
#   decides their mean, which has {interval}`B.Fig6-vote-large` percentage points more errors than a vote, at jamming of 1000 digits. Outside
#   it a vote gains nothing over the mean. The mean over norms has fewer errors than the vote, by {interval}`B.Fig6-normalised` points
#   over all widths of 2000 digits.
# - **Single networks, too, have a peak of the error at jamming if trained to rest, where two networks agree least.** On 5000 digits it is
#   {interval}`B.Fig6-rest-cusp` points above the least error of narrower networks at scale 12, and {interval}`B.Fig6-rest-lazy` in the lazy
#   regime. The norm cannot be the reason, because the sign of a network does not depend on it. The direction can: from jamming to 1.5 times
#   its width the overlap of two predictors grows by {interval}`B.Fig6-overlap`.
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
# - At scale 12 the line of jamming still falls with the rounds, most on few points. So its exponent is provisional, and may grow.
# - The exponents of $N^*$ and the bump of trained ensembles were found on the rows that they are tested on.
# - Theory for Gaussian features has the norm of networks that fit random labels too small by a factor {claim}`B.Sec2-gardner-near` next to
#   jamming ([when lazy](#the-predictor-blows-up)): tangent features are products of few neurons, not Gaussian.
# - The details have what is open about [fluctuations](#far-from-jamming), and what of paper B [is not tested](#not-tested).
#
# ## Try it yourself
# - `make chapter-03 NAME=patient PARAMS='-p steps 800'` gives every network four times the steps. How far does the black line move?
# - `-p loss soft_hinge` takes the loss of paper B's public code.
# - `-p components 20` gives the networks more principal components. Which of the two lines of the map moves?
