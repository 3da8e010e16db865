# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (lazy-jamming)=
# # When lazy, jamming is Cover's theorem
# When does a lazy network fit its points? It is linear in its $N$ parameters, so it fits if and only if some direction
# $w$ gives every point a positive margin $y_\mu\,w\cdot\nabla f(x_\mu)$: its tangent features must be linearly
# separable. For random labels Cover {cite}`cover1965` counted how often that is so, whatever the features, as long as
# any $N$ of them are linearly independent:
#
# $$
# P(\text{fit})=2^{1-P}\sum_{k<N}\binom{P-1}{k}.
# $$ (eq:B:cover)
#
# It is one half at $P=2N$. A lazy network thus jams at $N^*=P/2$ with random labels, at every depth, and on images as
# on random points. A linear program decides it for each network, of one to three hidden layers ({numref}`fig-b-cover`):
# $2N^*/P$ is {claim}`B.Sec2-cover`.
#
# But not every parameter counts. If a continuous symmetry of the parameters leaves the output of every point as it is,
# all gradients are orthogonal to its direction, and it takes one dimension from them. A ReLU, for example, does not
# change if its incoming weights are multiplied by a factor and its outgoing ones divided by it. So $hL$ of the $N$
# parameters do not count. Layer norms and heads of attention have such symmetries, too. With the rank $R$ of the
# tangent features in place of $N$ the theorem holds for six architectures, in which two to thirty-three of a hundred
# parameters do not count: $2R^*/P$ is {claim}`B.Sec2-cover-rank`, whereas with $N$ it would be
# {glue:text}`cover-by-parameters`. The symmetries give the rank by hand in {glue:text}`rank-by-hand` of the networks;
# in the others a unit is on at all points.
#
# The condition on independence can fail. Gradients on one linear piece of a network of leaky units span few dimensions,
# so where many points share a piece fewer labels can be separated: in two more architectures $2R^*/P$ is
# {glue:text}`cover-crowded`. You can see this without labels, because some of the points then have more points for
# their rank than all have together.
#
# Does training find every fit that there is? It should, because the loss is convex and only the number of steps can
# stop it. We trained networks and asked the linear program about the same networks and labels. Of those that it can
# separate, a share of {claim}`B.Fig4-cover-paired` is fitted within 3200 steps, and of the others none. After 200
# steps, the budget of the map, it is {glue:text}`fit-soon`. So even in the lazy regime the map's line lies at too many
# parameters.
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
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np

from companion.book import plots
from companion.book.chapter import Chapter
from companion.papers.jamming.claims.counting import cones_and_programs, over_rank
from companion.papers.jamming.claims.rest import followed_longest, heights_of_peak
from companion.papers.jamming.claims.voting import each_network, mean_parameters_at_jamming, mean_width_at_jamming
from companion.papers.jamming.studies import counting, paired, separability, voting
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.margins import gardner_margin, norm_exponent_of_random_labels
from companion.papers.jamming.theory.separability import separable_share

chapter = Chapter("03", globals())
# %%
programs = chapter.rows(separability.random_labels)
six, crowded = (chapter.rows(counting.architectures, name) for name in ("six", "crowded"))
twice = chapter.rows(paired.trained_and_decided, "random")
fig, axes = plots.panels(2)
loads = np.linspace(1.6, 2.4, 81)
parameters = int(programs.parameters.max())
theory = separable_share(np.round(loads * parameters), parameters)
axes[0].plot(loads, theory, color=plots.COLOURS["theory"], label=f"Cover, $R={parameters}$")
for _, rows in programs.groupby(["layers", "data"]):
    axes[0].plot(rows.groupby("ratio").separable.mean(), "o", color="0.6", markersize=4)
axes[0].plot([], [], "o", color="0.6", markersize=4, label="fully connected, swish")
for marker, (name, rows) in zip("sD^vP*", six.groupby("architecture")):
    axes[0].plot(rows.groupby("ratio").separable.mean(), marker, markersize=5, label=name)
axes[0].set(xlabel="points over rank, $P/R$", ylabel="share of networks that can fit")
axes[0].set_xlim(1.6, 3.25)
axes[0].set_xticks([1.6, 2, 2.4])
axes[0].legend(fontsize="small", loc="upper right")
can = twice[twice.separable == 1]
budgets = np.geomspace(20, twice.steps.max(), 41)
for (p, rows), colour in zip(can.groupby("p"), plots.PALETTE):
    shares = [(rows.needed <= count).mean() for count in budgets]
    axes[1].plot(budgets, shares, color=colour, label=f"$P={p}$, {len(rows)} that can fit")
axes[1].axhline(1, color=plots.COLOURS["theory"], linewidth=1)
axes[1].axvline(steps, color="0.5", linestyle=":")
axes[1].set(xscale="log", xlabel="steps", ylabel="share of them that training fits", ylim=(0, 1.05))
plots.plain_numbers(axes[1], "x")
axes[1].legend(fontsize="small")
cones = chapter.rows(counting.cones, "sets")
decided = [chapter.rows(counting.programs, name) for name in ("one", "two", "three")]
pairs = cones_and_programs(cones, *decided)
by_depth = np.exp(np.log(pairs.dimension / pairs.found).groupby(pairs.layers).mean())
for layers in (1, 3):
    chapter.glue(f"cone-{layers}", float(by_depth.get(layers, np.nan)))
chapter.glue("cone-of-kernel", float(np.exp(np.log(pairs.of_kernel / pairs.found).mean())))
chapter.glue("cone-worst", float(100 * np.abs(np.log(pairs.dimension / pairs.found)).max()))
by_parameters = six.assign(rank=six.parameters)
chapter.glue("cover-by-parameters", over_rank(by_parameters).value)
chapter.glue("cover-crowded", over_rank(crowded).value)
chapter.glue("rank-by-hand", float((six["rank"] == six.parameters - six.symmetries).mean()))
chapter.glue("fit-soon", float((can.needed <= steps).mean()))
chapter.figure(
    fig,
    "fig-b-cover",
    programs,
    six,
    crowded,
    twice,
    alt="Left, the share of networks that can fit falls from one to nothing around two points per independent feature, along Cover's curve. "
    "Right, of the networks that can fit the share that training fits, which rises to one with the steps.",
)
# %% [markdown] tags=["caption"]
# **Lazy networks fit random labels up to two points per independent feature, and training finds each fit.** Left: share
# of networks whose tangent features a linear program can separate, fully connected and of six other architectures,
# against points over the features' rank; line: Cover's theorem. Right: of these, with the same labels, the share that
# training at the largest output scale fits within a number of steps; dotted: the steps of the map (paper B, Fig. 4).
# %% [markdown]
# (your-own-labels)=
# ## For your own labels the number is the dimension of a cone
# Labels that follow the data need fewer parameters, because the signs of the features are not random then. How many?
# The values $u_\mu=w\cdot\nabla f(x_\mu)$ that fit form a cone, $y_\mu u_\mu>0$, and $N$ features span a plane of $N$
# dimensions. If the features are independent Gaussian columns whose covariance over points is $K$, the geometry of
# cones {cite}`amelunxen2014` gives the $N$ from which on a random plane meets the cone:
#
# $$
# N^*=\mathbb E\,\lVert\Pi(g)\rVert^2,\qquad \Pi\ \text{the projection on the cone spanned by}\ -y_\mu K^{1/2}e_\mu,
# $$ (eq:B:cone)
#
# with $g$ standard normal. For each $g$ this is a non-negative least-squares problem. The cones of all labels tile
# space, so the average over random labels is $P/2$: Cover's theorem again.
#
# For the tangent features of a network the formula is only a prediction, because its columns are neither Gaussian nor
# independent. One choice matters. A linear classifier does not see the scale of a parameter, so each column has to
# count alike: $K$ is the mean of $\varphi\varphi^\top/\lvert\varphi\rvert^2$ over columns, and hardly depends on the
# width.
#
# Nothing is trained and no parameter is fitted. Still, with one to three hidden layers and 250 digits, the count over
# the number from which on linear programs find a margin is {interval}`B.Fig8A-cone`, and {interval}`B.Fig8A-cone-large`
# on 1000 digits ({numref}`fig-b-lines`). It even tells which training set needs more (correlation
# {interval}`B.Fig8A-cone-sets`). If $K$ is the tangent kernel itself, in which a column counts by its square, the ratio
# is {glue:text}`cone-of-kernel`.
#
# The count is exact nowhere. Its ratio falls from {glue:text}`cone-1` in one layer to {glue:text}`cone-3` in three, and
# for a single set of 250 digits it is off by up to {glue:text}`cone-worst` per cent. You can count for [your own
# network](../book/yours.md) with {py:func}`regimes.measures.separability.parameters_to_fit`; it takes a second for 250
# points.
# %% [markdown]
# (isostatic)=
# ## Lazy networks jam isostatically
# At jamming as many points hold a lazy network as it has parameters. Why? If no weights give all points a margin, the
# least loss balances the gradients of the points that still have a gap, and a balance of vectors in $N$ dimensions
# needs more than $N$ of them. If some weights do, the least of them are determined by at most $N$ points. So on the two
# sides of jamming the numbers are more and fewer than $N$, and meet at $N$ ({numref}`fig-b-isostatic`). Where a network
# fits with the largest norm the ratio is {claim}`B.Fig8B-lazy-fits`, with three layers {claim}`B.Fig8B-lazy-deep`. The
# widest networks that do not fit are at {glue:text}`stuck-ratio`, since no whole width lies at jamming.
#
# One would expect the same of all networks, as of frictionless spheres. Networks that learn features are different: the
# curvature of their output holds them, too, so fewer points are enough ([the landscape](#the-landscape)).
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
    axes[1].plot(group.weights, group.holding, ".", color=colour, markersize=3, alpha=0.5)
    axes[1].plot([], [], "o", color=colour, markersize=5, label=f"lazy, two layers, {label}")
three = each_network(deep).query("fits == 1")
axes[1].plot(three.weights, three.holding, "x", color=plots.PALETTE[4], markersize=3)
axes[1].plot([], [], "x", color=plots.PALETTE[4], markersize=5, label="lazy, three layers, fit")
if len(jammed):
    low, high = (jammed.unsatisfied / jammed.parameters).quantile([0.1, 0.9])
    label = "output scale 12, three layers, at jamming"
    axes[1].axhspan(low, high, color=plots.COLOURS["feature"], alpha=0.3, linewidth=0, label=label)
axes[1].set(xscale="log", xlabel="norm of the weights' motion", ylim=(0, 3))
for ax in axes:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
alt = "Left, points with a gap per parameter, below one right of jamming and above one left of it. Right, the ratio approaches one "
alt += "from below, and of networks that do not fit from above, as the norm grows; a band well below one for networks with features."
chapter.figure(fig, "fig-b-isostatic", voters, deep, rows, legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **As the margin of lazy networks vanishes, as many points hold one as it has parameters.** Left: points with a gap per
# parameter, mean and middle eight tenths of the networks that fit (blue) and that do not (grey), 2000 digits. Right:
# each network against its norm, and networks of three layers that fit 1000 digits. Band: eight tenths of the networks
# with features of {numref}`fig-b-8bc` (paper B, Fig. 8B).
# %% [markdown]
# (the-predictor-blows-up)=
# ## The predictor diverges at jamming
# As $N$ falls towards $N^*$ a network can meet its margins only with an ever larger predictor, which depends ever more
# on its initial weights. So three quantities diverge at lazy jamming ({numref}`fig-b-8d`): the norm of the predictor,
# its fluctuation over initial weights, and the change of the kernel. The last has the exponent
# {claim}`B.Fig4-change-diverges` in $N-N^*$ on 250 points, which means that close enough to jamming any network leaves
# the lazy regime. Ours stay far from that: at the largest scale no whole width is so near to jamming that the change
# reaches the norm of the kernel.
#
# Paper B's exponent $-1$ belongs to the limit $N\to N^*$, and we look at widths up to $4N^*$. To compare there we take
# Gardner's margin {cite}`gardner1988` of random labels with $N$ features of equal variance,
# $N/P=(1+\kappa^2)\Phi(\kappa)+\kappa\varphi(\kappa)$. Its norm $1/\kappa$ has the exponent {glue:text}`gardner-window`
# in this window. At the end of lazy training on 2000 digits the exponent of the norm less Gardner's is
# {interval}`B.Sec2-norm-law`, and that of the fluctuation {interval}`B.Fig8D-quadratic-law`. Both are read from medians
# over networks, because a few huge norms decide a mean square. On fewer points the norm grows faster.
#
# At output scale 12 the norm of fully trained networks has only the exponent {claim}`B.Sec2-norm-middle-points`, mean
# over 500 to 2000 points, and less in size on more points. A divergence like $1/(N-N^*)$ is not reproduced there.
#
# Theory also gives the size of the norm, for features of any spectrum (`companion.papers.jamming.theory.margins`). It
# is too small: for random labels next to jamming our norms are {interval}`B.Sec2-gardner-near` times as large, and
# larger on a share of {glue:text}`gardner-share` of the training sets, probably because tangent features are products
# of few neurons and hence not Gaussian. With four times the parameters theory is nearer.
# %%
voters = {name: chapter.rows(voting.votes, name) for name in ("small", "large", "largest")}
slices = studies.at_end(chapter.rows(studies.ensembles, "slices"))
random = chapter.rows(voting.votes, "random")
rest = chapter.rows(at_rest.peak_at_jamming, "sizes")
rest = rest[(rest.newton_steps == rest.newton_steps.max()) & (rest.p == rest.p.max())]
fig, axes = plots.panels(4)
for (name, table), colour in zip(voters.items(), plots.shades(3)):
    n_star = mean_parameters_at_jamming(table)
    rows = table[table.parameters > n_star]
    rows = rows.assign(beyond=rows.parameters / n_star - 1, norm=rows.norms.map(np.median))
    label = f"lazy, $P={table.p.iloc[0]}$" if len(table) else name
    for ax, column in zip(axes, ("norm", "fluctuation") if len(rows) else ()):
        plots.over_seeds(ax, rows, "beyond", column, color=colour, label=label)
jammed = jamming.transitions(rest, "parameters").iloc[:, 0].mean()
rest = rest[rest.parameters > jammed].assign(beyond=lambda t: t.parameters / jammed - 1)
for ax, column in zip(axes, ("norm", "fluctuation") if len(rest) else ()):
    label = f"output scale 12, $P={rest.p.iloc[0]}$"
    plots.over_seeds(ax, rest, "beyond", column, color=plots.COLOURS["feature"], label=label)
beyond = np.geomspace(0.05, 3, 40)
norms = np.array([1 / gardner_margin((1 + value) / 2) for value in beyond])
for ax in axes[:2]:
    ax.plot(beyond, norms, color=plots.COLOURS["theory"], label="Gardner")
    ax.set(xscale="log", yscale="log", xlabel="$N/N^*-1$")
jammed = jamming.transitions(slices, "parameters").mean()
changes = slices.assign(beyond=slices.parameters / slices["scale"].map(jammed) - 1).query("beyond > 0")
for (scale, rows), colour in zip(changes.groupby("scale"), plots.from_feature_to_lazy(3)):
    label = rf"$\tilde\alpha={plots.number(scale)}$"
    plots.over_seeds(axes[2], rows, "beyond", "kernel_change", color=colour, label=label)
axes[2].set(xscale="log", yscale="log", xlabel="$N/N^*-1$", ylabel="change of the kernel")
over_theory = random.weights.map(lambda norms: float(np.exp(np.log(norms).mean()))) / random.predicted
random = random.assign(over=over_theory, load=2 * random.parameters / random.p)
plots.over_seeds(axes[3], random, "load", "over", color=plots.PALETTE[4])
axes[3].axhline(1, color=plots.COLOURS["theory"])
chapter.glue("gardner-share", float((random[random.h == random.h.min()].over > 1).mean()))
axes[3].set(xlabel="$N/N^*$, random labels", ylabel="norm over theory's", ylim=(0, None))
axes[0].set_ylabel(r"$\Vert F\Vert$")
axes[1].set_ylabel(r"$\Vert F-\langle F\rangle\Vert$")
axes[0].legend(fontsize="small")
axes[2].legend(fontsize="small", loc="upper right", bbox_to_anchor=(1, 0.9))
chapter.glue("gardner-window", norm_exponent_of_random_labels(*jamming.WINDOW))
alt = "Norm and fluctuation of the predictor against the distance from jamming on three numbers of points, beside Gardner's curve, "
alt += "and the change of the kernel at three output scales, all growing towards jamming in the lazy regime. Norms for random "
alt += "labels over those of theory, above one, most so near jamming."
chapter.figure(fig, "fig-b-8d", *voters.values(), slices, random, rest, alt=alt)
# %% [markdown] tags=["caption"]
# **At lazy jamming norm, fluctuation and the kernel's change diverge; on 2000 points the norm nearly with the slope of
# Gardner's.** Norm of the predictor on test points and its fluctuation over initial weights, against the relative
# distance from jamming: at the end of lazy training, and fully trained at output scale 12; black: Gardner's norm.
# Bottom, 250 points: change of the kernel; norm for random labels over that of Gaussian features (paper B, Fig. 8D,
# Sec. 2 and 4).
# %% [markdown]
# (peak-at-jamming)=
# ## Fully trained, single networks have a peak at jamming
# From about 1000 points on the error of single networks peaks at jamming, if they are trained until they fit or lie at
# a minimum ({numref}`fig-b-rest`). On 5000 digits, as many as in paper B, the peak exceeds the least error of narrower
# networks by {interval}`B.Fig6-rest-lazy` percentage points in the lazy regime, and by {interval}`B.Fig6-rest-cusp` at
# output scale 12.
#
# Is the norm its reason? Paper B says that it "is responsible in the cusp". Among networks of one width near jamming
# those with larger norms do have more errors (rank correlation {interval}`B.Sec2-norm-cusp`), but this leaves most of
# the scatter. And it cannot be the cause: divided by its norm a network makes the same errors. Norm and error grow
# together, because both change as a network comes near its own jamming.
#
# What changes the errors is the direction. Two networks agree less at jamming than at 1.5 times its width, by
# {claim}`B.Fig6-overlap` of the cosine of their predictors. On 1000 points of Fashion-MNIST the error rises towards
# jamming as well, by {interval}`B.Fig6-cusp-second` points from two thirds of its width.
# %%
middle = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("sizes", "whole")])
lazy = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("lazy", "whole_lazy")])
voters = [chapter.rows(voting.votes, name) for name in ("largest", "second_data")]
fig, axes = plots.panels(3, columns=3, height=3.4)
for ax, (title, rows) in zip(axes, {"output scale 12": middle, "lazy": lazy}.items()):
    rows = rows[rows.newton_steps == rows.newton_steps.max()]
    for (p, group), colour in zip(rows.groupby("p"), plots.PALETTE):
        errors = 100 * group.pivot_table(index="seed", columns="h", values="error")
        ax.plot(errors.columns, errors.mean(), "-", color=colour, label=f"$P = {p}$")
        ax.fill_between(errors.columns, errors.min(), errors.max(), color=colour, alpha=0.15, linewidth=0)
        half = (group.groupby("h").fitted.mean() - 0.5).abs().idxmin()
        ax.plot(half, errors.mean()[half], "o", color=colour)
    plots.curve_axes(ax, [4, 8, 16], errors=False)
    ax.set(xlabel="width $h$", title=title)
axes[0].set_ylabel("error of single networks (%)")
for table, colour in zip(voters, (plots.PALETTE[3], "0.4")):
    overlaps = table.groupby("h").overlap.agg(["mean", "sem"])
    relative = overlaps.index / mean_width_at_jamming(table)
    label = f"{table.words.iloc[0].partition(',')[0]}\n$P={table.p.iloc[0]}$" if len(table) else ""
    axes[2].errorbar(relative, overlaps["mean"], 2 * overlaps["sem"], fmt="o-", color=colour, markersize=3, label=label)
axes[2].axvline(1, color="0.5", linestyle=":")
axes[2].set(xlabel="width over that at jamming", title="overlap of two, lazy", xlim=(None, 4.6))
axes[2].legend(fontsize="small", loc="lower right", handlelength=1)
chapter.figure(
    fig,
    "fig-b-rest",
    middle,
    lazy,
    *voters,
    legend=5,
    alt="Two panels of error against width, peaked at jamming, most so in the lazy regime. Third panel: the overlap of two predictors, "
    "lowest at jamming.",
)
# %% [markdown] tags=["caption"]
# **Fully trained, single networks have a peak of the error at jamming from about 1000 points on, and two of them agree
# least there.** Left, middle: mean over training sets; bands: their range, three sets up to 1000 points; one set beyond.
# Circles: the width at which most nearly half of the networks fit. Right: mean cosine between the predictors of two
# networks on test points, with two standard errors (paper B, Fig. 6).
# %% [markdown]
# (heights-of-the-peak)=
# ## The peak is higher in the lazy regime, and lower for networks that were stopped
# How high is the peak? We take the error at the width where the norm is largest, less the least error of narrower
# networks. Both widths were chosen on other training sets than those on which the height is measured
# ({numref}`fig-b-heights`). At these widths it is lower for networks that were stopped and for ensembles at output
# scale 12. But stopped networks jam at larger widths, so their peak may only lie elsewhere; to decide it would take
# nineteen training sets.
#
# At the smallest scale the height is {glue:text}`feature-height` points on 1000 digits. Whether single networks have a
# peak there, and whether peaks grow from 1000 to 5000 points, is open.
# %%
feature, middle, lazy = (
    followed_longest(chapter.rows(at_rest.peak_at_jamming, name))
    for name in ("fresh_feature", "fresh_whole", "fresh_whole_lazy")
)
last = lazy.newton_steps.max()
heights = {
    "lazy": heights_of_peak(lazy, last),
    "output scale 12": heights_of_peak(middle, last),
    "output scale 12, stopped": heights_of_peak(middle, 0),
    "output scale 12, ensemble": heights_of_peak(middle, last, "ensemble_error"),
}
at_feature = heights_of_peak(feature[feature.p == feature.p.max()], feature.newton_steps.max()).height
chapter.glue("feature-height", float(at_feature.mean()))
fig, ax = plt.subplots(figsize=(5.6, 3.6))
for i, (label, peaks) in enumerate(heights.items()):
    bars = [peaks.height - peaks.low, peaks.high - peaks.height]
    ax.errorbar(peaks.p * 1.03**i, peaks.height, bars, fmt="o", capsize=3, color=plots.PALETTE[i], label=label)
ax.axhline(0, color="0.4", linewidth=1)
plots.curve_axes(ax, sorted(set(lazy.p)), errors=False)
ax.set(xlabel="training points $P$", ylabel="height of the peak (%)")
ax.legend(fontsize="small", loc="upper center")
chapter.figure(
    fig,
    "fig-b-heights",
    feature,
    middle,
    lazy,
    alt="Height of the peak against the number of points: highest in the lazy regime, lowest for stopped networks and ensembles.",
)
# %% [markdown] tags=["caption"]
# **The peak is higher in the lazy regime, and lower for networks that were stopped.** Error at jamming minus the least
# of narrower networks, mean and interval over six training sets, drawn from all images.
