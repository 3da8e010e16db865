# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-03)=
# # Jamming is where solutions cease to exist
# A network with too few parameters cannot fit its data. What happens at the number of parameters where it just can?
#
# ## What we find
# - **In the lazy regime jamming is a theorem, and isostatic.** A lazy network is linear in its $N$ parameters: it fits if its tangent
#   features can be separated. Random labels therefore need half a parameter a point ({claim}`B.Sec2-cover` times $P/2$), by Cover's
#   theorem. One would expect digits to need fewer, for their labels follow the data, and they do: $N^*\propto P^\gamma$ with $\gamma$
#   {claim}`B.Fig8A-rest-lazy`. As the margin vanishes, as many points hold a network as it has parameters: {claim}`B.Fig8B-lazy` of $N$.
# - **With features fewer parameters are enough, and fewer points hold a network.** Next to the cross-over (output scale 12) the exponent
#   differs by {claim}`B.Fig8A-rest-features`, as far as networks of two layers came to rest. Networks of three layers that are held at
#   jamming there have {claim}`B.Fig8B-jump` points per parameter, not one.
# - **Because the margin vanishes near lazy jamming, a few huge norms spoil the mean of networks; divided by its norm each counts alike.** A norm
#   is one over a margin. On 250 digits, from jamming to half as wide again, its tail has the index {claim}`B.Sec2-norm-tail`, and below 2 no
#   variance exists. This window closes as the data grow: on 1000 digits it is open at jamming, and shut where networks are a fifth wider. As the
#   largest of twenty networks speaks for their mean there, we expected a bump of the mean alone, and it came: at jamming of 250 digits the mean
#   has {claim}`B.Fig6-vote` percentage points more errors than a vote, at twice the width {claim}`B.Fig6-vote-far`. On 1000
#   digits a vote makes more errors than the mean there.
# - **Single networks, too, have a peak of the error at jamming if trained to rest.** On 5000 digits it is {claim}`B.Fig6-rest-cusp` points above
#   the least error of narrower networks at scale 12, and {claim}`B.Fig6-rest-lazy` in the lazy regime. Norms are not the reason, because the
#   sign of a single network does not depend on its norm. Whether stopping early lowers it, or moves it to wider networks, is undecided
#   ({claim}`B.Fig6-rest-stop` points, each peak at its own jamming).
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
# {cite}`dascoli2020`; {cite}`deng2019` have the peak of the largest margin for Gaussian features. New as far as we know are the tail
# of the norms, which makes the vote differ from the mean, the two exponents of the line at rest, and its two kinds of contacts.
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
import matplotlib.pyplot as plt
import numpy as np

from companion.book import plots, sketches, stated
from companion.book.chapter import Chapter
from companion.papers.jamming.claims.jamming import parameters_at_jamming
from companion.papers.jamming.claims.rest import followed_longest, parameters_at_rest
from companion.papers.jamming.claims.voting import mean_width_at_jamming
from companion.papers.jamming.studies import jamming as studies
from companion.papers.jamming.studies import rest as at_rest
from companion.papers.jamming.studies import voting
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
# or their vote? Add neurons until all points are fitted.
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
# the black band, is jamming: the width at which half of the networks fit.
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
# kernel over its norm, thick: 1. Circles: within half a per cent of the least error; dotted: the cuts of {numref}`fig-b-6` (paper B, Fig. 4).
# %% [markdown]
# With the loss divided by $\alpha^2$ the training time does not depend on a large output scale: its exponent in $\alpha$ is
# {claim}`B.Fig4-time`. One budget of steps therefore serves the whole map.
#
# Paper B finds the best performance on MNIST near the cross-over. On average over the three widths the error there is lower than at
# either end of the scales, by {claim}`B.Fig4-best-near` percentage points. At the largest width alone, on other training sets, the
# difference is {claim}`B.Fig4-best-near-widest`.
#
# ## Features bend the line of jamming
# At rest the number of parameters $N^*$ at jamming grows as three powers of the number of points ({numref}`fig-b-lines`). For random labels
# it is $P/2$, [a theorem](#lazy-jamming). Lazy networks need fewer for digits, with a smaller power. Networks that learn features have a
# smaller one still, so that they jam later on few points and earlier on many.
# %%
random = chapter.rows(studies.fitting_width, "lazy")
lazy = chapter.rows(at_rest.peak_at_jamming, "lazy"), chapter.rows(at_rest.peak_at_jamming, "whole_lazy")
middle = chapter.rows(at_rest.peak_at_jamming, "sizes"), chapter.rows(at_rest.peak_at_jamming, "whole")
lines = {"digits, lazy": parameters_at_rest(*lazy), "digits, scale 12": parameters_at_rest(*middle)}
fig, ax = plt.subplots()
for (label, rows), colour in zip(lines.items(), (plots.COLOURS["lazy"], plots.COLOURS["feature"])):
    ax.plot(rows.p, rows.parameters, "o", color=colour, markersize=4, label=label)
    means = np.log(rows.groupby("p").parameters.mean())
    if len(means) > 2:
        power, level = np.polyfit(np.log(means.index), means, 1)
        ax.plot(means.index, np.exp(level) * means.index**power, color=colour, linewidth=1)
p, transitions = parameters_at_jamming(random[random.steps == random.steps.max()])
ax.plot(np.repeat(p[None], len(transitions), 0), transitions, "s", color="0.4", markersize=4)
ax.plot([], [], "s", color="0.4", markersize=4, label="random labels, lazy")
counts = np.array(sorted({*lines["digits, lazy"].p, *p}))
ax.plot(counts, counts / 2, color=plots.COLOURS["theory"], label="theorem, $N^*=P/2$")
plots.curve_axes(ax, counts)
ax.set(xlabel="training points $P$", ylabel="parameters $N^*$ at jamming")
ax.legend(fontsize="small")
alt = "Parameters at jamming against points on logarithmic axes: random labels on the theorem's line, digits below it and less steep, "
alt += "and least steep at output scale 12, where the line crosses that of lazy networks."
chapter.figure(fig, "fig-b-lines", random, *lazy, *middle, alt=alt)
# %% [markdown] tags=["caption"]
# **Lazy networks and those that learn features jam on lines of two powers, which cross.** Parameters of which half of the networks fit, at
# rest (digits) or after the most steps (squares), one point per training set; thin lines: power laws; black: Cover's theorem (paper B,
# Fig. 8A).
# %% [markdown]
# ## Lazy networks jam isostatically
# If no weights give all points a margin, the least loss balances the gradients of the points that still have a gap. A balance of vectors in
# $N$ dimensions needs more than $N$ of them. If some do, the least weights that fit rest on at most $N$. Hence lazy networks on the two
# sides of jamming have more and fewer points with a gap than parameters, and meet at one ({numref}`fig-b-isostatic`). One would expect the
# same of all networks, as of frictionless spheres. It is not so for networks that learn features, because the curvature of their output
# holds them, too ([the landscape](#the-landscape)).
# %%
voters = chapter.rows(voting.votes, "large")
rows = chapter.rows(at_rest.minima_at_jamming, "sizes")
jammed = jamming.networks_at_jamming(rows[rows.members == rows.members.max()])
fig, axes = plots.panels(2)
h_star = mean_width_at_jamming(voters)
for h, group in voters.groupby("h"):
    ratios = np.concatenate([*group.holding])
    for side, colour in ((ratios[ratios <= 1], plots.COLOURS["lazy"]), (ratios[ratios > 1], "0.6")):
        if len(side):
            bars = np.abs(np.quantile(side, [0.1, 0.9]) - side.mean())[:, None]
            axes[0].errorbar(h / h_star, side.mean(), bars, fmt="o", color=colour, markersize=4)
axes[0].set(xlabel="width over that at jamming", ylabel=r"points with a gap, $N_\Delta/N$", ylim=(0, 3))
ratios = np.concatenate([*voters.holding])
weights = np.concatenate([*voters.weights])
fits = ratios <= 1
axes[1].plot(weights[fits], ratios[fits], ".", color=plots.COLOURS["lazy"], markersize=3, alpha=0.5, label="lazy, fits")
if len(jammed):
    low, high = (jammed.unsatisfied / jammed.parameters).quantile([0.1, 0.9])
    label = "scale 12, held at jamming"
    axes[1].axhspan(low, high, color=plots.COLOURS["feature"], alpha=0.3, linewidth=0, label=label)
axes[1].set(xscale="log", xlabel="norm of the weights' motion")
for ax in axes:
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
axes[1].legend(fontsize="small")
alt = "Left, points with a gap per parameter, below one right of jamming and above one left of it. Right, the ratio approaches one "
alt += "from below as the norm grows; a band well below one for networks that learn features."
chapter.figure(fig, "fig-b-isostatic", voters, rows, alt=alt)
# %% [markdown] tags=["caption"]
# **As the margin of lazy networks vanishes, as many points hold one as it has parameters.** Left: mean and middle eight tenths of the networks
# that fit (blue) and that do not (grey), 1000 digits. Right: each network that fits, against its norm; band: eight tenths of the networks of
# {numref}`fig-b-8bc` (paper B, Fig. 8B).
# %% [markdown]
# ## At rest the error peaks at jamming
# We reach rest by Newton's method with the whole Hessian in a trust region (`regimes.training.newton`). It continues the
# training of networks that do not fit until they fit or lie at a minimum, for up to 1600 rounds. The error then peaks at
# jamming ({numref}`fig-b-rest`), with up to 5000 points, as many as in paper B. Since networks stopped after 200 steps jam at
# larger widths, we read their peak at their own jamming: it is lower by {claim}`B.Fig6-rest-stop` points.
# [Details](#heights-of-the-peak) have the heights on other training sets.
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
# ## Divide by the norm, then average
# Near lazy jamming a mean of twenty networks has a bump, whereas a vote of the same networks has none, nor has their mean if each is first divided by
# its norm ({numref}`fig-b-vote`). The predictor is one over the margin $\kappa$ in size. At jamming, among networks that differ in their initial
# weights, $\kappa$ has a finite density at zero. Hence norms exceed $x$ with a probability of order $1/x$, so that a mean of $M$ networks is about
# its largest member, for any $M$. The tail that we measure has an index just below the 1 of this law. Beyond jamming $\kappa$ soon keeps away from
# zero, the sooner the more points there are. On 1000 points the mean has at jamming {claim}`B.Fig6-vote-large` points more errors than the vote, and
# on Fashion-MNIST {claim}`B.Fig6-vote-second`; the bump of the vote is {claim}`B.Fig6-vote-bump`. *Which to take?* Far from jamming a vote gains
# nothing over a mean. The mean over norms has at no width more errors than either beyond the scatter, and on digits, over all widths, fewer than the
# vote. We find the end of lazy training by a convex program, on other training sets than those on which we saw the difference first.
#
# Paper B finds that averaging "eliminates the double descent" in both regimes (Fig. 6). At scale 12, at rest, ensembles of twenty have no bump
# ({claim}`B.Fig6-rest-twenty` points); in the lazy regime, trained and without a convex program, they have one of {claim}`B.Fig6-rest-twenty-lazy`.
# Since norms stay finite where networks learn features, we expected mean and vote to be alike there. At jamming of 250 digits they differ by
# {claim}`B.Fig6-vote-features` points, far fewer than at lazy jamming, and where networks are a fifth narrower by {claim}`B.Fig6-vote-below`.
# %%
voters = chapter.rows(voting.votes, "small")
fig, axes = plots.panels(2)
kinds = {"error": "single", "mean_error": "mean", "normalised_error": "mean, norms divided out", "vote_error": "vote"}
h_star = mean_width_at_jamming(voters)
for (column, label), colour in zip(kinds.items(), plots.PALETTE):
    errors = 100 * voters.groupby("h")[column].agg(["mean", "sem"])
    relative = errors.index / h_star
    axes[0].errorbar(relative, errors["mean"], 2 * errors["sem"], fmt="o-", color=colour, markersize=3, label=label)
axes[0].axvline(1, color="0.5", linestyle=":")
axes[0].set(xlabel="width over that at jamming", ylabel="test error (%)")
axes[0].legend(fontsize="small", loc="center right")
for h, rows in voters.groupby("h"):
    if h >= h_star:
        over_median = [np.array(norms) / np.median(norms) for norms in rows.norms]
        norms = np.sort(np.concatenate(over_median))
        share = 1 - np.arange(len(norms)) / len(norms)
        shade = min(int(4 * (h / h_star - 1)), 11)
        axes[1].plot(norms, share, color=plots.shades(12)[shade], label=f"{h / h_star:.1f}")
plots.slope_guide(axes[1], (2, 20), 0.4, -1, "$-1$", above=True)
axes[1].set(xscale="log", yscale="log", xlabel="norm over its median, $x$", ylabel="share of norms beyond $x$")
axes[1].legend(title="width over jamming", fontsize="small")
alt = "Left, error of single networks and of their mean, which has a bump at jamming, above a mean over norms and a vote, which have "
alt += "none. Right, distributions of norms, along a line of slope minus one near jamming and steep far from it."
chapter.figure(fig, "fig-b-vote", voters, alt=alt)
# %% [markdown] tags=["caption"]
# **Near lazy jamming a mean of networks fails, whereas their vote and their mean over norms do not.** Left: test error on 250 points, mean and
# two standard errors over training sets, ensembles of twenty. Right: distribution of the norms at widths beyond jamming, all training sets;
# dashed: the tail of one over a margin, which has no variance (paper B, Fig. 6).
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
# - The exponents of $N^*$, the bumps of trained ensembles and the peak of stopped networks were found on the rows that judge them.
# - The details have what is open about [random labels](#random-labels) and [fluctuations](#far-from-jamming).
#
# ## Try it yourself
# - `make chapter-03 NAME=patient PARAMS='-p steps 800'` gives every network four times the steps. How far does the black line move?
# - `-p loss soft_hinge` takes the loss of paper B's public code.
# - `-p components 20` gives the networks more principal components. Which of the two lines of the map moves?
