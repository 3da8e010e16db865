# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (lazy-jamming)=
# # When lazy, jamming is Cover's theorem
# A lazy network is linear in its $N$ parameters. So it fits if and only if some direction $w$ gives every point a positive margin
# $y_\mu\,w\cdot\nabla f(x_\mu)$: its tangent features must be linearly separable. For random labels Cover {cite}`cover1965` counted how
# often that is so, whatever the features, as long as any $N$ of them are linearly independent:
#
# $$
# P(\text{fit})=2^{1-P}\sum_{k<N}\binom{P-1}{k}.
# $$ (eq:B:cover)
#
# It is one half at $P=2N$. A lazy network thus jams at $N^*=P/2$ with random labels, without a fitted number, at every depth, and on
# images as on random points. A linear program decides it for each network, of one to three hidden layers ({numref}`fig-b-cover`):
# $2N^*/P$ is {claim}`B.Sec2-cover`.
#
# What counts are independent features. A continuous symmetry of the parameters leaves the output of every point as it is, so that all
# gradients are orthogonal to its direction: it takes one dimension from them. A unit that is homogeneous, as paper B's ReLU, has one such
# symmetry, a factor before it and one over it behind: $hL$ of $N$ do not count. A layer norm does not see a shift or a factor of its inputs. In a
# head of attention a matrix between queries and keys can be undone, and one between values and outputs. With the rank $R$ of the tangent features in
# place of $N$ the theorem holds for six architectures, in which two to thirty-three of a hundred parameters do not count: $2R^*/P$ is
# {claim}`B.Sec2-cover-rank`; if $N$ counted it would be {glue:text}`cover-by-parameters`. The rank is computed, and is that by hand in
# {glue:text}`rank-by-hand` of the networks; where it is not, a unit is on at all points.
#
# General position is a condition, and can fail. On a linear piece of a network of leaky units, where none changes its side, gradients span few
# dimensions. Where many points share a piece fewer labels can be separated: in two more architectures $2R^*/P$ is
# {glue:text}`cover-crowded`. One sees this without labels, since a part of the points has more points for its rank than all have. ReLU, too, obeys the
# theorem as long as no point turns off all units of a layer, for such a point has no gradient.
#
# The theorem also says how far training is from its end. Where the loss is convex nothing but the number of steps can move the line. We
# train networks and ask the linear program of the same networks and labels: of those that it can separate a share of
# {claim}`B.Fig4-cover-paired` is fitted within 3200 steps, and none beyond. After 200 steps, the budget of the map, it is
# {glue:text}`fit-soon`: the line of the map lies at too many parameters even there. Training asks for a margin of one, the program for
# any. So a network that cannot meet a margin of one cannot have a vanishing one, as paper B says.
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
from companion.papers.jamming.claims.voting import (
    index_of_gaussian_margins,
    mean_parameters_at_jamming,
    mean_width_at_jamming,
    tails_beyond_jamming,
)
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
axes[0].legend(fontsize="small")
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
# **Lazy networks fit random labels up to two points per independent feature, and training finds each fit.** Left: share whose tangent features
# a linear program can separate, of fully connected networks and of six architectures, against points over the features' rank; line:
# Cover's theorem. Right: of these, with the same labels, the share that training at the largest output
# scale fits within a number of steps; dotted: the steps of the map (paper B, Fig. 4).
# %% [markdown]
# (your-own-labels)=
# ## Own labels: the dimension of a cone
# Labels that follow the data need fewer parameters, for the signs of the features are not random then. How many can be counted, too. The values
# $u_\mu=w\cdot\nabla f(x_\mu)$ that fit form a cone, $y_\mu u_\mu>0$, and $N$ features span a plane of $N$ dimensions. If the features are
# independent Gaussian columns whose covariance over points is $K$, the geometry of cones {cite}`amelunxen2014` knows from which $N$ on a
# random plane meets the cone:
#
# $$
# N^*=\mathbb E\,\lVert\Pi(g)\rVert^2,\qquad \Pi\ \text{the projection on the cone spanned by}\ -y_\mu K^{1/2}e_\mu,
# $$ (eq:B:cone)
#
# with $g$ standard normal. For each $g$ this is a non-negative least-squares problem. The cones of all labels tile space, so that the average over
# random labels is $P/2$: Cover's theorem again. {cite}`gherardi2021` counts separable labels of structured data in a solvable model.
#
# For the tangent features of a network this is a prediction, because its columns are neither Gaussian nor independent. One choice matters. A linear
# network does not see the scale of a parameter, so that each column has to count alike: $K$ is the mean of
# $\varphi\varphi^\top/\lvert\varphi\rvert^2$ over columns. It hardly depends on the width. Nothing is trained and nothing fitted. On training sets of
# 250 digits, with one to three hidden layers, the number that is counted over that from which on linear programs find a margin is
# {interval}`B.Fig8A-cone`, on 1000 digits {interval}`B.Fig8A-cone-large` ({numref}`fig-b-lines`). The count knows which training set needs more
# (correlation {interval}`B.Fig8A-cone-sets`). With the tangent kernel itself as $K$, in which a column counts by its square, the ratio is
# {glue:text}`cone-of-kernel`.
#
# It is exact nowhere. With depth the ratio falls, from {glue:text}`cone-1` in one layer to {glue:text}`cone-3` in three; a single set of 250 digits
# is off by up to {glue:text}`cone-worst` per cent. {py:func}`regimes.measures.separability.parameters_to_fit` counts all this for
# [your own network](../book/yours.md), in a second for 250 points and less than three for 1000.
# %% [markdown]
# (the-predictor-blows-up)=
# ## The predictor diverges at jamming
# Three quantities diverge at lazy jamming ({numref}`fig-b-8d`): the norm of the predictor, its fluctuation over initial weights, and the
# change of the kernel. As $N$ falls towards $N^*$ a network can meet its margins only with an ever larger predictor, which depends ever more
# on its initial weights. The kernel changes with the predictor, with the exponent {claim}`B.Fig4-change-diverges` in $N-N^*$ on 250 points, so
# that close enough to jamming any network leaves the lazy regime. Ours do not come so close: at this scale the change stays far below the
# norm of the kernel.
#
# The exponent $-1$ belongs to the limit $N\to N^*$. Gardner {cite}`gardner1988` has the margin $\kappa$ of random labels with $N$ features
# of equal variance, $N/P=(1+\kappa^2)\Phi(\kappa)+\kappa\varphi(\kappa)$. In our window of $N/N^*$, up to four, the norm
# $1/\kappa$ has an exponent of {glue:text}`gardner-window`. So we compare with Gardner's curve, on the most points that we have, at the end of lazy
# training: on 2000 digits the exponent of the norm less Gardner's is {claim}`B.Sec2-norm-law`, that of the fluctuation
# {claim}`B.Fig8D-quadratic-law`. Both are read from medians over networks, since a mean square is that of the few largest norms. On fewer
# points the norm grows faster, since features are far from Gaussian there.
#
# At scale 12, at rest, the exponent is {claim}`B.Sec2-norm-middle-points`, mean over 500 to 2000 points, and smaller in size on more points. A
# divergence like $1/(N-N^*)$ is not reproduced there.
#
# For features of any spectrum theory gives the norm as well (`companion.papers.jamming.theory.margins`). For random labels, next to jamming,
# the norms of our networks are {claim}`B.Sec2-gardner-near` times as large, on a share of {glue:text}`gardner-share` of the training sets larger than
# one: not reproduced. With four times the parameters theory is nearer ({numref}`fig-b-8d`). Tangent features are products of few neurons, not Gaussian.
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
    label = f"scale 12, $P={rest.p.iloc[0]}$"
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
axes[2].legend(fontsize="small", loc="center right")
chapter.glue("gardner-window", norm_exponent_of_random_labels(*jamming.WINDOW))
alt = "Norm and fluctuation of the predictor against the distance from jamming on three numbers of points, beside Gardner's curve, "
alt += "and the change of the kernel at three output scales, all growing towards jamming in the lazy regime. Norms for random "
alt += "labels over those of theory, above one, most so near jamming."
chapter.figure(fig, "fig-b-8d", *voters.values(), slices, random, rest, alt=alt)
# %% [markdown] tags=["caption"]
# **At lazy jamming norm, fluctuation and the kernel's change diverge; on 2000 points nearly with the slope of Gardner's norm.** Norm of the predictor on
# test points and its fluctuation over initial weights, against the relative distance from jamming: at the end of lazy training, and at scale 12 at rest; black:
# Gardner's norm. Bottom, 250 points: change of the kernel; norm for random labels over that of Gaussian features (paper B, Fig. 8D, Sec. 2 and 4).
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
    axes[0].legend(title="width over jamming", fontsize="small")
for (name, table), colour in zip(tables.items(), plots.PALETTE):
    found = tails_beyond_jamming(table)
    label = f"{table.words.iloc[0].partition(',')[0]}, $P={table.p.iloc[0]}$" if len(table) else name
    axes[1].plot(found.scatter, found["index"], "o", color=colour, markersize=4, label=label)
scatter = np.linspace(0, 8, 41)
gaussian = [index_of_gaussian_margins([value]) for value in scatter]
axes[1].plot(scatter, gaussian, color=plots.COLOURS["theory"], label=r"$1/|\mu+\sigma g|$")
axes[1].axhline(2, color="0.5", linestyle=":")
axes[1].set(
    yscale="log", xlabel=r"mean margin over its scatter, $\mu/\sigma$", ylabel="index of the tail", xlim=(-0.5, 8)
)
plots.plain_numbers(axes[1])
axes[1].legend(fontsize="small", loc="upper left")
alt = "Left, distributions of norms, along a line of slope minus one at jamming and steep far from it. Right, the index of the tail "
alt += "against the mean margin over its scatter: points of three numbers of points and two data sets along one rising curve."
chapter.figure(fig, "fig-b-tail", *tables.values(), alt=alt)
# %% [markdown] tags=["caption"]
# **Norms have the tail of one over a Gaussian margin: no variance at jamming, and a thin tail where the margin exceeds its scatter.** Left:
# distribution of the norms at widths from jamming on, 2000 digits; dashed: index 1. Right: index of the tail of each width against the mean of
# the margins over their standard deviation; line: normal margins; dotted: the index below which no variance exists.
# %% [markdown]
# (heights-of-the-peak)=
# ## The peak is higher in the lazy regime
# The height of the peak is the error where the norm is largest minus the least error of narrower networks. Both widths were chosen
# on other training sets than those on which the height is measured ({numref}`fig-b-heights`). At the widths of the peak at rest it
# is lower for networks that were stopped, which jam at larger widths, and for ensembles of scale 12. At the smallest scale it is
# {glue:text}`feature-height` points on 1000 digits; whether single networks have a peak there is not decided, as it would take 24 training sets,
# more than an hour of a core. Whether the peak grows from 1000 to 5000 points is open.
# %%
feature, middle, lazy = (
    followed_longest(chapter.rows(at_rest.peak_at_jamming, name))
    for name in ("fresh_feature", "fresh_whole", "fresh_whole_lazy")
)
last = lazy.newton_steps.max()
heights = {
    "lazy": heights_of_peak(lazy, last),
    "scale 12": heights_of_peak(middle, last),
    "scale 12, stopped": heights_of_peak(middle, 0),
    "scale 12, ensemble": heights_of_peak(middle, last, "ensemble_error"),
}
at_feature = heights_of_peak(feature[feature.p == feature.p.max()], feature.newton_steps.max()).height
chapter.glue("feature-height", float(at_feature.mean()))
fig, ax = plt.subplots()
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
# **The peak is higher in the lazy regime, and lower for networks that were stopped.** Error at jamming minus the least of narrower
# networks, mean and interval over six training sets, drawn from all images.
