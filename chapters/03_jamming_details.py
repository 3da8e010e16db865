# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (jamming-details)=
# # Jamming in detail: budgets, exponents, landscape
# How far do the statements of chapter 3 go? Here are other data and losses, the training budget, what stopping early
# does, the landscape at jamming and the fluctuations far from it, and what is open.
#
# ## What was known before
# The cusp at jamming, which early stopping removes, is due to {cite}`spigler2019`. {cite}`geiger2020` have the exponent
# $N^{-1/4}$, the divergence, and an ensemble just beyond jamming in place of one large network; {cite}`belkin2019` have
# double descent elsewhere. In random features the peak is the variance over initial weights and label noise, which
# averaging removes {cite}`dascoli2020`. {cite}`deng2019` have the peak of the largest margin for Gaussian features.
#
# When points can be separated is a question of its own. {cite}`candes2020` answer it for maximum likelihood if labels
# follow the data, and {cite}`gherardi2021` counts separable labels of structured data in a solvable model. Majority
# votes of classifiers that fit their points are studied by {cite}`theisen2023` and {cite}`kim2024`, ensembles along
# double descent by {cite}`rathmanakidis2022`.
#
# New as far as we know are the tail of the norms, which makes the vote differ from the mean, and the window in which it
# does; the two exponents of jamming for fully trained networks, and its two kinds of contacts.
#
# ## Other data, other losses and larger ensembles change little
# - At twice the width of jamming averaging lowers the error on both data sets and at each output scale, by
#   {interval}`B.Fig6-gain-both` percentage points or more.
# - With the soft hinge or cross-entropy in place of the quadratic hinge, each trained until all margins reach one, the
#   error changes by {claim}`B.Fig6-losses` percentage points at most (the middle cut of the map).
# - Several narrow networks are better than a wide one, as paper B advises, because beyond jamming an ensemble gains
#   from width only a share of {claim}`B.Fig4-weakly` of what single networks gain. Twenty networks of width 16 beat one
#   of the largest width by {claim}`B.Sec3-limited-width` percentage points, although the one has more parameters than
#   the twenty together.
# - Paper B finds the best performance on MNIST near the cross-over. So do we on 1000 points: on average over three
#   widths the error there is lower than at either end of the scales, by {interval}`B.Fig4-best-near` percentage points.
# - For fully connected networks paper B finds the lazy regime better than features on all data but the ten components
#   of MNIST. On 250 points the lazy end is better there, too ({numref}`fig-b-4`); on Fashion-MNIST by
#   {interval}`B.Fig9-fc` percentage points.
# - At the smallest output scale the mean of six fully trained networks has no peak either
#   ({interval}`B.Fig6-rest-ensemble-feature` points).
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
# A network that has not fitted may lie at a minimum, or be on its way. Those that just fit take
# {interval}`B.Fig4-slowing` times as many steps as wide ones, so a budget cuts off the networks next to jamming: the
# number of parameters there falls with the number of steps, with the exponent {claim}`B.Fig4-step-budget`
# ({numref}`fig-b-effort`). It is smaller still for fully trained networks ({numref}`fig-b-rest`).
#
# One budget can serve all output scales, however large, because the loss is divided by $\alpha^2$: the training time
# then has the exponent {claim}`B.Fig4-time` in $\alpha$.
# %%
budgets = chapter.rows(studies.steps_to_fit, "step_budget")
transitions = parameters_by_budget(budgets)
fig, ax = plt.subplots(figsize=(5.2, 3.6))
reached = transitions.dropna(axis=1)
if reached.shape[1]:
    plots.realisations(ax, reached.columns, reached)
plots.curve_axes(ax, [50, 100, 200, 500, 1000, 2000])
ax.set(xlabel="steps allowed", ylabel="parameters $N^*$ at jamming")
chapter.figure(fig, "fig-b-effort", budgets)
# %% [markdown] tags=["caption"]
# **The jamming point falls with the number of steps allowed.** Number of parameters at which half of the networks fit
# within so many steps; median and quartiles over training sets. Not in paper B, whose Fig. 4 has three lines for three
# wall times.
# %% [markdown]
# ## Stopping early and weight decay remove the divergence, stochastic descent does for 400 epochs
# Gradient flow to the end forces every margin to one, whatever norm this takes. Stopping early does not, nor does a
# penalty on the distance from the initial weights, paper B's weight decay. So the norm need not diverge at jamming, and
# it does not ({numref}`fig-b-sec2`): its exponent is {claim}`B.Sec2-early-stopping` with stopping, and
# {claim}`B.Sec2-weight-decay` with decay. After 400 epochs of stochastic descent it is {claim}`B.Sec2-stochastic`. But
# there it is a matter of time. Stochastic descent fits no network near jamming in 4000 epochs, and its norm still grows
# from 40 epochs to 4000. Whether its noise or its slowness regularises is open.
#
# Paper B expects that stopping helps most near jamming, because it removes the divergence there. We stopped when half
# of the points had a margin above nine tenths. At the largest scale this lowers the error at jamming by
# {claim}`B.Sec2-near-jamming-lazy` percentage points more than at eight times the width, and by
# {claim}`B.Sec2-near-jamming-middle` at output scale 12. At the smallest scale, where the norm does not diverge, a stop
# helps as much far from jamming as near.
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
# **Stopped early, with weight decay or after few epochs the norm does not diverge; where it does, a stop gains most.**
# Left: norm of the predictor on test points in the lazy regime against the number of parameters; grey: jamming. Right:
# by how much a stop at half of the margins lowers the error of single networks at three scales. Medians and quartiles
# (paper B, Sec. 2).
# %% [markdown]
# (random-labels)=
# ## With random labels the parameters at lazy jamming are in proportion to the points
# Paper B finds $N^*\propto P$ for random labels. In the lazy regime [Cover's theorem](#lazy-jamming) says so, and
# linear programs for networks of three layers give the exponent {claim}`B.Fig8A-random` in the number of points.
# Networks that learn features would have to be fully trained: after a given number of steps the line bends, because a
# network next to jamming is still on its way.
#
# Two settings are not stated in paper B. It does not say at which output scale its Fig. 8 was measured; where networks
# learn features ours is 12, the `scale` of `minima_at_jamming.sizes`. Nor does it say how strong its weight decay was;
# ours is the `decay` of `ensembles.weight_decay`.
# %% [markdown]
# (the-landscape)=
# ## With features fewer points hold a network at jamming than it has parameters
# How many points have a gap, per parameter, where networks begin to fit? For spheres it would be one: as many contacts
# as degrees of freedom. For lazy networks [it is](#isostatic). With features it need not be, because the Hessian of
# $U=\frac12\sum\Delta^2$ has a second part:
#
# $$
# H = H_0 + H_p,\qquad H_0=\sum_{\Delta_\mu>0}\nabla\Delta_\mu\nabla\Delta_\mu^\top,\qquad
# H_p=\sum_{\Delta_\mu>0}\Delta_\mu\nabla^2\Delta_\mu .
# $$ (eq:B:hessian)
#
# $H_0$ has rank $N_\Delta$ at most. So $N_\Delta<N$ leaves $N-N_\Delta$ flat directions, a delta at zero in its
# spectrum, which only $H_p$ can make stable or unstable. A minimum therefore needs $N_\Delta\ge N_-$, the number of
# negative eigenvalues of $H_p$. Before training these are half of all that are not zero, since then
# $H_p=-\sum_\mu y_\mu\nabla^2F(x_\mu)$ and the labels $-y$ are as likely as $y$. For single ReLU networks on random
# points the share departs from one half by {claim}`B.Sec2-half-negative`, root mean square. At jamming $N_-$ is
# {claim}`B.Sec2-stable` of $N_\Delta$, so minima are more stable than they must be.
#
# These statements hold at minima, and where a quarter of the networks fits, hardly any of the others comes to lie at
# one. How can you keep a network at jamming? We add a weight decay and let it fall to zero, as one compresses particles
# at a vanishing pressure (paper B, footnote 8). The network then lies at a minimum whether it can fit or not. If it
# can, the loss goes with the square of the decay, and $N_\Delta$ counts the points that hold it there, its support
# vectors.
#
# Their number per parameter jumps to {claim}`B.Fig8B-jump`, where spheres have 1 ({numref}`fig-b-8bc`). It rises slowly
# with the number of parameters, and whether it stays below 1 for far larger networks is open. The gap of $H_0$ does not
# close as networks grow (exponent {interval}`B.Fig8C-gap`), and the share of unstable directions of $H_p$ stays
# (exponent {claim}`B.Sec2-unstable`).
#
# From $N_-\le N_\Delta\le P$ paper B has the bound $N^*\le P/C_0$, with $C_0=N_-/N$. It is far from tight: our networks
# jam at {glue:text}`bound-few` of it on the fewest points, and at {glue:text}`bound-many` on the most.
# %%
table = chapter.rows(at_rest.minima_at_jamming, "sizes").assign(ratio=lambda t: t.unsatisfied / t.parameters)
table = table[table.members == table.members.max()]  # the stored ones, where they are there
jammed = jamming.networks_at_jamming(table)
fig, axes = plots.panels(4)
for (decay, rows), colour in zip(table[table.ended == "jammed"].groupby("decay"), plots.PALETTE):
    axes[0].scatter(rows.quadratic_hinge, rows.ratio, s=10, color=colour, label=rf"$\lambda={plots.number(decay)}$")
for (p, rows), colour in zip(jammed.groupby("p"), plots.PALETTE[3:]):
    spectra = [np.array(spectrum) / np.mean(spectrum) for spectrum in rows.eigenvalues]
    axes[1].scatter(rows.parameters, rows.ratio, s=12, color=colour, label=f"$P={p}$")
    axes[2].hist(np.log10(np.concatenate(spectra)), bins=24, histtype="step", color=colour, density=True)
    axes[3].scatter(rows.parameters, rows.negative / rows.unsatisfied, s=12, color=colour)
axes[0].set(xscale="log", xlabel="loss $U/P$", ylabel=r"points with a gap, $N_\Delta/N$")
axes[1].set(xscale="log", xlabel="parameters $N$ at jamming", ylabel=r"points with a gap, $N_\Delta/N$")
axes[2].set(xlabel=r"$\log_{10}$ eigenvalue of $H_0$ over the mean", ylabel="density")
axes[3].set(xscale="log", xlabel="parameters $N$ at jamming", ylabel=r"unstable directions, $N_-/N_\Delta$")
for ax in (axes[0], axes[1], axes[3]):
    ax.axhline(1, color="0.4", linestyle="--", linewidth=1)
    ax.set_ylim(0, None)
    if ax.get_legend_handles_labels()[0]:  # at few points no network may sit at jamming
        ax.legend(fontsize="small")
for ax in (axes[1], axes[3]):
    plots.plain_numbers(ax, "x")
alt = "Points with a gap per parameter against the loss: where it vanishes they stay below one; the same at jamming against "
alt += "parameters. Histograms of eigenvalues, alike for all numbers of points. Unstable directions over points with a gap, about one half."
bound = (jammed.negative / jammed.p).groupby(jammed.p).mean()
for name, at in (("few", 0), ("many", -1)):
    chapter.glue(f"bound-{name}", float(bound.iloc[at]) if len(bound) else np.nan)
weakest = table[(table.ended == "jammed") & (table.decay == table.decay.min())]
weakest = weakest[~jamming.can_fit(table)[weakest.index]]
logs = np.log(weakest[["quadratic_hinge", "strength"]].astype(float))
logs -= logs.groupby([weakest.seed, weakest.p]).transform("mean")
slope = np.polyfit(*logs.to_numpy().T, 1)[0] if len(logs) > 1 else np.nan
chapter.glue("curvature-in-loss", float(slope))
chapter.figure(fig, "fig-b-8bc", table, alt=alt)
# %% [markdown] tags=["caption"]
# **Fewer points hold a network with features at jamming than it has parameters.** Top: points with a gap per parameter
# at output scale 12, three layers; left: at minima under three weight decays $\lambda$, against the loss; right: where
# a quarter of the networks fit. Bottom: a regular sample of the non-zero eigenvalues of $H_0$; unstable directions over
# points with a gap, which at a minimum is at most 1 (paper B, Fig. 8B and C, Eq. 14).
# %% [markdown]
# (far-from-jamming)=
# ## Far from jamming fluctuations fall as $N^{-1/4}$
# The fluctuation over initial weights falls with {claim}`B.Fig8D-far-feature` at the smallest output scale and
# {claim}`B.Fig8D-far-lazy` at the largest, where paper B has $-\frac14$. In the lazy regime the output takes this over
# from the tangent kernel, as the paper says: its exponent in the width is that of the kernel's fluctuation at the
# start, up to {claim}`B.Sec3-same`.
#
# If the excess of single networks' error over the ensemble's were the square of the fluctuation, as paper B expects, it
# would fall with $-\frac12$. It falls more slowly, with {claim}`B.Sec3-far-excess`, but {numref}`fig-b-local` shows how
# late the limits are reached. As a power of the fluctuation it has the exponent {claim}`B.Sec3-quadratic`, which grows
# with the width, and whether it ends at 2 is open. Nor is the fluctuation a function of $h/h^*$ alone, since at twice
# the width of jamming it grows with $P$.
#
# Single networks improve to the last, as paper B says: from width 128 to 256 by {claim}`B.Sec3-improves` percentage
# points, mean over three scales.
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
# **The fluctuation's exponent rises towards $-\frac14$; that of the excess has no clear limit.** Left and middle:
# exponents in $N$ of the fluctuation and of the error of single networks above that of the ensemble, between
# neighbouring widths, against the width over that at jamming; dashed: paper B's (Sec. 3). Right: the excess against the
# fluctuation, one point for each width beyond jamming; dashed: its square.
# %% [markdown]
# (not-tested)=
# ## What paper B says that is not tested here
# - *Other values of the ratio* of the kernel's change to its norm do "not affect qualitatively the geometry" of the
#   cross-over (Fig. 4): there is no number to compare with.
# - *The bound* $N^*\le P/C_0$ (Sec. 2) follows from $N_-\le N_\Delta$, which is tested ([the
#   landscape](#the-landscape)).
# - *$H_p$ grows as the root of the loss* in the sketch of Fig. 7. At the weakest decay our networks have the exponent
#   {glue:text}`curvature-in-loss`, and it would take hundreds of training sets to tell it from one half.
# - *Linear and polynomial activations* are an exception to the conjecture on $C_0$ (footnote 9): all our networks have
#   a swish or a ReLU.
# - *The critical number at a given margin*, $N^*(\epsilon)$, is smooth (Sec. 2): paper B's argument assumes it. What
#   follows from it, the divergence of the norm, [is tested](#the-predictor-blows-up).
# - *Fewer principal components* do not change the diagram, and in the full dimension of MNIST lazy networks are better
#   (Fig. 4 and Sec. 4). Jamming there asks for networks of a few neurons on 784 pixels, where it can hardly be seen, so
#   we did not train them.
# - *In regression the peak lies where the parameters match the data* (Sec. 1.4): that is exact for least squares
#   ([exercise 1](#chapter-03)), and no network was trained on it.
# - *A preactivation moves the output by* $\alpha/\sqrt h$, moves by $1/(\alpha\sqrt h)$ itself, and laziness ends where
#   that is of order one (Sec. 4). These are steps of an argument, and its end is tested: the cross-over lies at an
#   output scale of order one (log10 {claim}`B.Fig4-crossover`), whatever the width (slope {claim}`B.Fig4-flat`), and
#   bends up near jamming ({claim}`B.Fig4-bends`).
# - *With cross-entropy* the training time is independent of $\alpha$ "at any finite time" alone (Sec. 4): we train
#   until all margins are one, which is a finite time.
# - *With one hidden layer* the density of the parameters fluctuates as $N^{-1/4}$ by the central limit theorem (Sec.
#   3): the networks that we train have two layers or more.
#
# ## Open points
# - The jamming line of the map depends on the number of steps, and full training has not ended everywhere. Just left of
#   the line up to nine in ten networks at output scale 12 still move after 1600 iterations of Newton's method, with
#   weights that grow; whether they have a minimum at all is open. So do most near jamming at the smallest scale. The
#   line therefore still falls, most on few points, and its exponent may grow.
# - At output scale 12 and 1000 points the error near jamming still rises from 400 to 1600 iterations; at 2000 points
#   its peak is the same after both. Newton's method may lead to other minima than the flow would.
# - Training sets of at most 2000 points are drawn from 5000 images, so two of 2000 points share two fifths. Those of
#   5000 points for the peak are drawn from all 70000 images. In the lazy regime the claim compares the peak with width
#   20; we tried width 18 later, and its error is lower. So the peak is higher than the claim says.
# - The exponents of $N^*$ and the bump of trained ensembles were found on the rows that they are tested on.
