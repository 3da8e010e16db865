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
# $2N^*/P$ is {claim}`B.Sec2-cover` on random points and {claim}`B.Sec2-cover-images` on images. Labels that follow the data are
# another matter, for then the signs of the features are not random, and fewer parameters are enough.
#
# The theorem also says how far training is from its end. Where the loss is convex nothing but the number of steps can move the line. After
# 200 steps, the budget of the map, $2N^*/P$ is {claim}`B.Fig4-cover-stopped`: the line of the map lies at too many parameters even there.
# After 3200 steps it is {claim}`B.Fig4-cover-trained`, on eight training sets too few to say so within three per cent.
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
from companion.papers.jamming.claims.rest import followed_longest, heights_of_peak
from companion.papers.jamming.claims.separability import trained_over_half
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.studies import separability
from companion.papers.jamming.theory import jamming
from companion.papers.jamming.theory.margins import norm_exponent_of_random_labels
from companion.papers.jamming.theory.separability import separable_share

chapter = Chapter("03", globals())
# %%
programs = chapter.rows(separability.random_labels)
trained = chapter.rows(studies.fitting_width, "lazy")
fig, axes = plots.panels(2)
loads = np.linspace(1.6, 2.4, 81)
parameters = int(programs.parameters.max())
theory = separable_share(np.round(loads * parameters), parameters)
axes[0].plot(loads, theory, color=plots.COLOURS["theory"], label=f"Cover, $N={parameters}$")
for (layers, data), rows in programs.groupby(["layers", "data"]):
    axes[0].plot(rows.groupby("ratio").separable.mean(), "o", label=f"{layers} hidden, {data}")
axes[0].set(xlabel="points over parameters, $P/N$", ylabel="share of networks that can fit")
axes[0].legend(fontsize="small")
budgets = sorted(set(trained.steps))
for p, rows in trained.groupby("p"):
    estimates = [trained_over_half(rows, steps) for steps in budgets]
    ratios = np.array([estimate.value for estimate in estimates])
    below = ratios - [estimate.low for estimate in estimates]
    above = [estimate.high for estimate in estimates] - ratios
    axes[1].errorbar(budgets, ratios, [below, above], fmt="o-", capsize=3, label=f"$P={p}$")
axes[1].axhline(1, color=plots.COLOURS["theory"], linewidth=1)
axes[1].set(xscale="log", xlabel="steps", ylabel="$2N^*/P$ of trained networks")
plots.plain_numbers(axes[1], "x")
axes[1].legend()
chapter.figure(
    fig,
    "fig-b-cover",
    programs,
    trained,
    alt="Left, the share of networks that can fit falls from one to nothing around two points per parameter, along Cover's curve. "
    "Right, parameters at jamming over half of the points, falling towards one with more steps.",
)
# %% [markdown] tags=["caption"]
# **Lazy networks fit random labels up to two points per parameter.** Left: share whose tangent features a linear program can separate; line:
# Cover's theorem. Right: parameters at jamming of trained networks at the largest output scale over half of the points, against the
# budget of steps; line: the theorem (paper B, Fig. 4).
# %% [markdown]
# (the-predictor-blows-up)=
# ## The predictor diverges at jamming
# At the largest output scale three quantities diverge with an exponent near $-1$ in $N-N^*$ ({numref}`fig-b-8d`). The exponents
# are {claim}`B.Sec2-norm` for the norm of the predictor, {claim}`B.Fig8D-quadratic` for its fluctuation over initial weights and
# {claim}`B.Fig4-change-diverges` for the change of the kernel. As $N$ falls towards $N^*$ a network can meet its margins only with an
# ever larger predictor, which depends ever more on its initial weights. The kernel changes with the predictor, so that close enough to
# jamming any network leaves the lazy regime. Ours do not come so close: at this scale the change stays far below the norm of the
# kernel. At scale 12 the norm's exponent is {claim}`B.Sec2-norm-middle`: no such divergence within 200 steps.
#
# The exponent $-1$ belongs to the limit $N\to N^*$. Gardner {cite}`gardner1988` has the margin $\kappa$ of random labels with $N$ features
# of equal variance, $N/P=(1+\kappa^2)\Phi(\kappa)+\kappa\varphi(\kappa)$. In our window of $N/N^*$, up to four, the norm
# $1/\kappa$ has an exponent of {glue:text}`gardner-window`. So an exponent near $-1$ at these sizes is partly luck. For features of any spectrum theory
# gives the norm as well (`companion.papers.jamming.theory.margins`). The norms of our networks are {claim}`B.Sec2-gardner` times as large: equal
# variances would be far off, and tangent features are not quite Gaussian.
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
chapter.glue("gardner-window", norm_exponent_of_random_labels(*jamming.WINDOW))
chapter.figure(fig, "fig-b-8d", slices, legend=3)
# %% [markdown] tags=["caption"]
# **At the largest scale all three grow alike towards jamming.** Norm of the predictor on test points, its fluctuation over initial
# weights, and the change of the kernel, against $N-N^*$, the parameters beyond those at jamming; one colour per output scale (paper B,
# Fig. 8D, Sec. 2 and 4).
# %% [markdown]
# (heights-of-the-peak)=
# ## The peak is higher in the lazy regime
# The height of the peak is the error where the norm is largest minus the least error of narrower networks. Both widths were chosen
# on these networks, and the height is measured on other training sets ({numref}`fig-b-heights`). At the widths of the peak at rest it
# is lower for networks that were stopped, which jam at larger widths, and for ensembles of scale 12. At the smallest
# scale it is {claim}`B.Fig6-rest-feature` points, and whether there is a peak is undecided.
# Whether it grows from 1000 to 5000 points is open.
# %%
middle = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("fresh", "fresh_whole")])
lazy = followed_longest(*[chapter.rows(at_rest.peak_at_jamming, name) for name in ("fresh_lazy", "fresh_whole_lazy")])
last = lazy.newton_steps.max()
heights = {
    "lazy": heights_of_peak(lazy, last),
    "scale 12": heights_of_peak(middle, last),
    "scale 12, stopped": heights_of_peak(middle, 0),
    "scale 12, ensemble": heights_of_peak(middle, last, "ensemble_error"),
}
fig, ax = plt.subplots()
for i, (label, peaks) in enumerate(heights.items()):
    bars = [peaks.height - peaks.low, peaks.high - peaks.height]
    ax.errorbar(peaks.p * 1.03**i, peaks.height, bars, fmt="o", capsize=3, color=plots.PALETTE[i], label=label)
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
