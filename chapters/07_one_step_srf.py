# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-07)=
# # One gradient step gives one direction, and its samples serve the readout too
# :::{div} guess
# **Guess first.** A network makes one large gradient step on $4d$ samples in $d$ dimensions. Then its readout is fitted to the
# *same* samples, which theory avoids. The target is the sign of one coordinate. What is the network's test error beside that of the
# best linear regression on these samples?
#
# - larger: the samples were used twice
# - **a few per cent smaller**
# - half of it
#
# Measured: {interval}`E.Reuse-linear` times. Using the samples twice does harm, but splitting them does more.
# :::
#
# A network with an untrained first layer learns only a linear function from a number of samples in proportion to the dimension.
# What does one large gradient step change? What does paper E's model of this step predict, and where does the model fail?
#
# ## What we find
# - One large step gives a network one direction, the {term}`spike`, along which it can be non-linear; in large dimensions
#   simulations of paper E's model have {claim}`E.Res3-mean` times the test error of [its equations](#scalar-equations).
# - The step's samples can [serve the readout, too](#used-twice): at the sign target, on four samples per dimension, the network has
#   {claim}`E.Reuse-linear` times the error of the best linear regression; with split samples it is behind.
# - After a long step the network departs from the model even in large dimensions: at the sine target its error is
#   {claim}`E.Net-strong-apart` times the model's with few samples for the step, and smaller with many ({numref}`fig-e-map`).
#
# ## Overview
# Samples, neurons and dimension $d$ grow together, in fixed proportions. One large gradient step gives all weights a common
# direction, the spike, close to the direction of the target. So the network can then learn a non-linear function of the input's
# projection on the spike. Paper E {cite}`cui2024` models the network after the step by {term}`spiked random features`, and a few
# scalar equations give their {term}`learning curves <learning curve>` without a simulation.
#
# You need {term}`ridge` regression and Gaussian integrals, but no replica calculation. Two pages hold the details. [The
# first](#spiked-features-details) has the equations and paper E's further figures. [The second](#where-the-model-ends) has what the
# model leaves out, several steps, several readout values, and earlier work.
#
# Since our text of paper E lacks the displayed equations and the settings in the captions, we derived the equations again and
# tested them by simulation. **The settings of all figures are ours**, chosen to show the effect.
#
# :::{dropdown} Symbols
# | symbol | code | shape | unit, scale |
# |---|---|---|---|
# | $x,\ \theta$ | `x`, `theta` | $(n,d)$, $(d)$ | $x\sim\mathcal N(0,I_d)$, $\lVert\theta\rVert=1$ |
# | $y=\sigma_*(\theta\cdot x)$ | `y` | $(n)$ | target, a function of one projection; "cubic": $k+(k^3-3k)/\sqrt6$, the first two odd Hermite polynomials of norm one, `He1+He3` |
# | $f(x)=a\cdot\sigma(Wx)/\sqrt p$ | `feature_map` | | initial readout $a=\mathbf 1/\sqrt p$ |
# | $\alpha_0, \alpha, \beta$ | `alpha0`, `alpha`, `beta` | | $n_0/d,\ n/d,\ p/d$: samples for the step, samples for the readout, width |
# | $\tilde\eta$ | `step` | | step size $\eta=\tilde\eta\,p$ |
# | $\lambda$ | `lam` | | ridge penalty beside a *sum* over samples |
# | $r, \gamma, c$ | `r`, `gamma`, `c` | | spike strength, its cosine with $\theta$, bulk variance |
# | $k=v\cdot x$ | `k` | $(K)$ | projection of the input on the spike $v$, on $K$ nodes of a quadrature |
# | $s$ | `s` | | rest of the target's projection, $\theta\cdot x=\gamma k+\sqrt{1-\gamma^2}\,s$ |
# | $\kappa_0,\kappa_1,\kappa_*^2$ | `kappa0`, `kappa1`, `kappa2` | $(K)$ | mean, slope, rest of the features |
# | $m,\zeta,\psi,q_1,q_2$ | same | | overlaps and norms of the trained readout |
# | $V_1, V_2$ | same | | traces of the resolvent over $p$ |
# | $\hat V,\hat m,\hat\zeta,\hat\psi$ | | | with a hat: the variable conjugate to the one without |
# :::
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
activation = "tanh"  # odd activation of the network (paper E: odd)
fig2_targets = ["tanh", "sign"]  # of the learning curves, left and right panel
fig2_alpha0 = [0.0, 1.0, 4.0, 16.0]  # samples for the step over dimension
fig2_alphas = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]  # samples for the readout over dimension
fig2_d = [50, 100, 200]  # their sizes, p equals d
fig2_seeds = [96, 48, 48]  # seeds at each size
split_target = "sign"  # target of networks on the same samples, and of kernels
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from companion.book import plots, sketches
from companion.book.chapter import Chapter
from companion.papers.one_step.claims import reuse, spiked_features, stepped_networks
from companion.papers.one_step.studies import spiked as studies
from companion.papers.one_step.theory import bounds, kernel_baseline, measure, row_covariance

chapter = Chapter("07", globals())
# %% [markdown]
# ## One step moves all weights along one vector
#
# At the start the readout is the same for all neurons. So their gradients have one part in common: the correlation of the samples
# with their labels, a single vector, the spike ({numref}`fig-sketch-spike`). What differs from neuron to neuron is noise. Formula
# {eq}`eq:E:equivalent` below predicts the strength $r$ of the spike and its alignment $\gamma$ with the target. Trained networks
# have both within {claim}`E.Res1-r` and {claim}`E.Res1-gamma`, relative, over four targets.
# %%
chapter.figure(
    sketches.spike(),
    "fig-sketch-spike",
    alt="Above, two clouds of dots: one about the origin and a slightly larger one moved to the right by an arrow called the spike. "
    "Below, on a logarithmic axis, a hill called bulk and far to its right a single bar called spike.",
)
# %% [markdown] tags=["caption"]
# **The step moves all weights by nearly the same vector, the spike.** Above: weights of 400 neurons in 100 dimensions, along the
# spike's direction $v$ and across it, before and after a step (tanh network, sine target, $\alpha_0=4$, $\tilde\eta=3$). Below: the
# eigenvalues of the features after the step, by theory. One lies far outside the bulk. Along it the network can be non-linear.
# %% [markdown]
# *Network and target.* Inputs are $x\sim\mathcal N(0,I_d)$ and labels $y=\sigma_*(\theta\cdot x)$, with a unit vector $\theta$. The
# network is $f(x)=\frac1{\sqrt p}\sum_ia_i\,\sigma(w_i\cdot x)$, with $p=\beta d$ neurons and an odd activation $\sigma$. Its rows
# $w_i^0$ start uniform on the unit sphere, its readout at $a_i=1/\sqrt p$.
#
# *The step.* One full-batch gradient step on the squared loss uses $n_0=\alpha_0d$ samples and the size $\eta=\tilde\eta\,p$:
#
# $$
# w_i = w_i^{0} +
# \frac{\tilde\eta}{n_0}\sum_{\mu\le n_0}\bigl(y^\mu-f^0(x^\mu)\bigr)\,\sigma'(w_i^0\cdot x^\mu)\,x^\mu .
# $$ (eq:E:step)
#
# *The readout* is then trained by ridge regression on $n=\alpha d$ fresh samples, with penalty $\lambda$:
#
# $$
# \hat a=\arg\min_a\sum_{\mu\le n}\Bigl(y^\mu-\tfrac1{\sqrt p}\,a\cdot\sigma(Wx^\mu)\Bigr)^2+\lambda\lVert a\rVert^2 ,\qquad
# \varepsilon_g=\mathbb E_x\bigl(\sigma_*(\theta\cdot x)-f(x)\bigr)^2 .
# $$ (eq:E:ridge)
#
# *The model.* Spiked random features have the weights
#
# $$
# W=W_b+r\,\mathbf 1v^\top .
# $$ (eq:E:srf)
#
# The rows of the *bulk* $W_b$ are independent and uniform on the sphere of radius $\sqrt c$. The spike has the strength $r$ and the
# direction $v$, a unit vector at the cosine $\gamma=v\cdot\theta$ with the target.
#
# *The step in the model.* How strong is the spike, and how well does it point? Four Gaussian averages over
# $z\sim\mathcal N(0,1)$ decide. Those of the activation are $h_1=\mathbb E\sigma'$ and
# $\check h_1=\mathbb E\sigma'^2-h_1^2$. Those of the target are $h_1^\star=\mathbb E[z\sigma_*]$, its linear slope, and
# $h_2^\star=\mathbb E[\sigma_*^2]$, its size. Then (Result 3.1)
#
# $$
# r=\tilde\eta h_1\sqrt{h_1^{\star2}+\tfrac{h_2^\star}{\alpha_0}},\qquad
# \gamma=\frac{h_1^\star}{\sqrt{h_1^{\star2}+h_2^\star/\alpha_0}},\qquad
# c=1+\tilde\eta^2\frac{h_2^\star\check h_1}{\alpha_0}.
# $$ (eq:E:equivalent)
#
# A longer step, that is a larger $\tilde\eta$, makes the spike stronger but the bulk noisier, whereas more samples turn the spike
# towards the target. The [details](#three-formulas) derive the three formulas.
#
# Test errors of simulations are averages over all inputs, not over test points: for given weights they are integrals in closed
# form or over one variable.
#
# (scalar-equations)=
# ## A few scalar equations give the test error
#
# Simulated spiked features have {claim}`E.Res3-mean` times the predicted test error, the mean over 12 settings in the limit of
# large dimension. How can a few numbers stand for a network? Fix the projection $k=v\cdot x$ of the input on the spike. Given
# $k$, the features $\varphi(x)=\sigma(Wx)$ are those of a network whose neurons all have the bias $rk$. For the readout they
# are {term}`equivalent to Gaussian ones <Gaussian equivalence>` (Result 3.2):
#
# $$
# \begin{aligned}
# \varphi(x)\;&\to\;\kappa_0(k)\,\mathbf 1+\kappa_1(k)\,W_bx+\kappa_*(k)\,\xi,\\
# \kappa_0&=\mathbb E_z\sigma(rk+\sqrt c z),\quad \kappa_1=\mathbb E_z\sigma'(rk+\sqrt cz),\quad
# \kappa_*^2=\mathbb E_z\sigma^2(rk+\sqrt cz)-\kappa_0^2-c\,\kappa_1^2 .
# \end{aligned}
# $$ (eq:E:map)
#
# Here $\xi$ is independent normal noise, one number per neuron. So the readout can form the non-linear functions $\kappa_0(k)$ and
# $k\,\kappa_1(k)$ along the spike, but only linear functions along all other directions. Without a step the learned function is a
# line; after one on $16d$ samples its non-linear share is {claim}`E.Fig1-nonlinear` of the target's
# ([details](#learned-function)). The test error depends on the trained readout through five
# {term}`order parameters <order parameter>`, three overlaps and two norms, which solve the equations of [the details
# page](#theory-details).
#
# Your browser solves these equations. **Guess first:** on the sign target, how many samples must the step have until the model
# beats the best linear estimator, and is a longer step a better one? Move the sliders.
#
# <div class="explore" data-name="spike">
#
# More samples turn the spike towards the target, whereas a longer step makes spike and bulk larger. All is the model's, with
# $p=d$ and $\lambda=0.1$; networks depart from it after long steps ({numref}`fig-e-map`). Left: the spike, as long as its
# strength $r$, beside a circle of the bulk's radius $\sqrt c$. Middle: the mean output, as in {numref}`fig-e-1`. Right: the
# test error.
#
# </div>
#
# ## With many samples for the step the network beats the best linear estimator
#
# The best linear estimator has the error $h_2^\star-h_1^{\star2}$ (dashed in {numref}`fig-e-2`), the size of the target's
# non-linear part, and no rotation-invariant kernel does better with a number of samples in proportion to $d$. Nor does a
# network without a step: its error is larger by at least {claim}`E.Fig2-random-features`. But with the most samples for the
# step, at the sign target, the network's error is smaller than the linear one by {claim}`E.Fig2-beats-linear`.
#
# The error is lowest in the limit of infinitely many samples for the step (last colour). With the most that we take, at the
# sign target, the networks' error is still {claim}`E.Fig2-infinite` above it. In this limit the spike has the target's
# direction, and the model's bulk is unchanged by the step, $c=1$, so that one would expect the network to become spiked
# features. It does not: by the [corrected theory](#corrected-theory) its error is the dotted line.
# %%
networks = chapter.rows(studies.learning_curves, "main")
alphas = np.linspace(min(fig2_alphas) * 0.6, max(fig2_alphas), 60)
batches = [*sorted(fig2_alpha0), np.inf]
colours = plots.shades(len(batches))
fig, axes = plots.panels(2, width=5.0, height=4.2)
for ax, (target, rows) in zip(axes, networks.groupby("target", sort=False)):
    setting = rows.iloc[0][["activation", "target", "step", "beta", "lam"]]
    for colour, alpha0 in zip(colours, batches):
        label = rf"$\alpha_0={alpha0:g}$".replace("inf", r"\infty")
        ax.plot(alphas, measure.theory(setting, alpha0=alpha0, alpha=alphas).test_error, color=colour, label=label)
        plots.means_by_size(ax, rows[rows["alpha0"] == alpha0], "alpha", color=colour)
    limit = [row_covariance.predict_infinite_batch(**setting, alpha=alpha).test_error for alpha in alphas[::4]]
    ax.plot(alphas[::4], limit, ":", color=colours[-1], label=r"network, $\alpha_0=\infty$")
    ax.axhline(bounds.best_linear(target), color="k", linestyle="--", linewidth=1, label="best linear")
    ax.set(yscale="log", xlabel=r"$\alpha=n/d$", ylabel="test error", title=f"target {target}")
chapter.figure(fig, "fig-e-2", networks, title="How much does one step lower the error?", legend=4)
# %% [markdown] tags=["caption"]
# **More samples for the step lower the error below that of the best linear estimator (dashed).** Test error against the samples for
# the readout, one colour for each number of samples for the step. Points: networks, the two larger sizes (hollow, filled), two
# standard errors. Lines: theory of spiked features. Dotted: corrected theory in the limit of infinitely many samples for the step.
# %% [markdown]
# Do networks follow the model's lines? Without a step, and from $4d$ samples for the step on, yes: their mean error along a curve
# tends to the theory's within {claim}`E.Fig2-theory` of it. With fewer samples it lies above, because there the rows' covariance
# matters ({numref}`fig-e-map`).
#
# (used-twice)=
# ## Used twice, the samples of the step serve the readout as well
#
# Theory needs fresh samples for the readout, so paper E splits them. What is lost if the readout takes the samples of the step
# again? Less than by the split. Used twice, the network passes the best linear ridge regression from {claim}`E.Reuse-crossing`
# $d$ samples on; with the split it takes {claim}`E.Reuse-crossing-split` $d$ ({numref}`fig-e-reuse`). On $4d$ samples used
# twice its error is {claim}`E.Reuse-linear` times the linear one's, and {claim}`E.Reuse-kernels` times that of the better of
# [its own kernels](#own-kernels). All learners have the same samples, and the network its best step and penalty by theory.
#
# *Two causes.* One would expect that a readout on the samples of the step overfits. It does, in two ways. First, a label
# *leaks*: the step moves all weights along each of its samples, so that at a sample the features hold the sample's own label.
# Second, the spike has *spent* the samples' correlation with their labels: it is this correlation,
# $v\propto\sum_\mu y^\mu x^\mu$, so that across it the inputs have none left. The readout could learn linear functions along
# all these directions, but finds nothing there.
#
# By theory the leak alone adds {glue:text}`leak-few` of the error on $2d$ samples, and {glue:text}`leak-many` on $8d$. With the
# spent correlation as well it is {glue:text}`excess-few` and {glue:text}`excess-many`. This theory adds one term to the
# equations of the model, [derived here](#leaked-label), and fits nothing. In the limit of large $d$ networks have
# {claim}`E.Reuse-theory` times its error. With fresh samples for the readout they have {claim}`E.Reuse-theory-fresh` times that
# of the model.
#
# *The test of the second cause.* Is it really the spike? We swap the spike alone for that of other samples. Samples, leak, the
# noise of the bulk and each sample's own part of the spike stay. Then the network has {claim}`E.Reuse-swap` times the error of
# the theory with the leak alone. So the spike is the second cause, and not the noise of the bulk, although this stems from the
# same samples.
#
# *More samples.* From $2d$ to $8d$ samples the excess error of samples used twice changes by {claim}`E.Reuse-falls`, because
# the leak and the part of the labels that is linear across the spike both fade. That of the split changes by
# {claim}`E.Reuse-split-rises`, so the more samples there are, the more a split loses against their second use. We had declared
# an excess of less than a tenth for samples used twice; on $2d$ samples, where it is largest, it is {claim}`E.Reuse-price`. As
# far as we know both causes and their theory are new.
# %% tags=["key"]
shared = chapter.rows(studies.reuse, "shared")
spike = chapter.rows(studies.reuse, "spike")
ways = {"split": "split", "same": "used twice", "swapped": "used twice, spike of others"}
tables = {name: shared[shared["samples"] == name].assign(name=name) for name in ("split", "same")}
tables["swapped"] = spike.assign(name="swapped", test_error=spike["swapped"])
alphas = np.geomspace(0.9, 8.8, 40)
fig, axes = plots.panels(2, width=5.0, height=4.2)
axes[0].plot(alphas, kernel_baseline.linear_error(split_target, alphas), "k:", label="best linear ridge, theory")
for colour, (name, label) in zip(("0.5", plots.PALETTE[3], plots.PALETTE[0]), ways.items()):
    rows = tables[name]
    theory = reuse.theory_of_sharing(rows)
    plots.means_by_size(axes[0], rows, "alpha", color=colour, label=label)
    axes[0].plot(theory.index, theory, color=colour, linewidth=1)
    fresh = reuse.error_with_fresh_samples(shared).reindex(theory.index).dropna()
    axes[1].plot(fresh.index, theory[fresh.index] / fresh - 1, color=colour, linewidth=1)
    excess = rows[rows["alpha"].isin(fresh.index)]
    excess = excess.assign(excess=excess["test_error"] / excess["alpha"].map(fresh) - 1)
    plots.means_by_size(axes[1], excess, "alpha", "excess", color=colour)
axes[1].axhline(0, color="k", linewidth=1)
for ax, samples in zip(axes, (shared, spike)):
    plots.curve_axes(ax, sorted(samples["alpha"].unique()), errors=False)
    ax.set_xlabel("all samples over $d$")
axes[0].set_ylabel("test error")
axes[1].set_ylabel("excess over fresh samples")
for place, alpha in {"few": 2.0, "many": 8.0}.items():
    chapter.glue(f"leak-{place}", reuse.excess_by_theory(shared, alpha, spent=False))
    chapter.glue(f"excess-{place}", reuse.excess_by_theory(shared, alpha))
alt = "Left: three falling curves, split samples highest. Right: the excess of the split rises, that of samples used twice falls, and "
alt += "with the spike of others it is near zero."
title = "Should the readout see the samples of the step?"
chapter.figure(fig, "fig-e-reuse", shared, spike, title=title, legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Used twice, the samples raise the error by less than the split does, and theory (lines) has all of it.** Left: test error
# against all samples, of networks whose readout has the other samples of a split or all samples, and of networks whose spike
# alone is that of other samples. Right: the same over theory's error with as many fresh samples for the readout, less 1.
# Points: networks, the two larger sizes (hollow, filled), two standard errors.
# %% [markdown]
# ## After a long step the network departs from the model
#
# Paper E says that its model ignores "possible non-trivial structures in the row covariance", and that it is "quantitatively
# close" for "all probed" settings (Sec. 3.1). It is after a step of size $\tilde\eta=3$ on $4d$ samples (target tanh): in the
# limit of large $d$ the network's error is {claim}`E.Net-weak-step` times the model's. But at the sine target it is
# {claim}`E.Net-strong-apart` times on $d/2$ samples, and after a step of size 8 on $32d$ samples
# {claim}`E.Net-large-batch-apart` times.
#
# The model leaves out two effects, and neither vanishes as $d$ grows. First, the rows of the bulk share a covariance that is
# larger along the spike. Second, the rows' norms vary with the initial weight along the spike. Our [corrected
# theory](#corrected-theory) keeps both.
#
# {numref}`fig-e-map` shows where each effect acts. At few samples and long steps (top left) the covariance makes the network
# worse than the model. At many samples and long steps (top right) the norms make it better. In between the two effects cancel,
# so that the agreement there is an accident. Only after short steps (bottom) does the model hold at any number of samples, in
# the limit of large $d$. At the map's size the right column still departs from the corrected theory: at the bottom because of
# the [finite size](#short-steps), and at the top because the corrected theory is not yet accurate there.
# %%
scan = chapter.rows(studies.departure, "map")
scan = scan.assign(measured=scan["network"] / scan["features"], theory=scan["corrected"] / scan["srf"])
cells = scan.groupby(["step", "alpha0"])[["measured", "theory"]].mean()
maps = {
    "network\nover spiked features": cells["measured"],
    "corrected\nover spiked features": cells["theory"],
    "network\nover corrected": cells["measured"] / cells["theory"],
}
fig, axes = plots.panels(3, columns=3, height=3.6, sharey=True)
for ax, (title, ratio) in zip(axes, maps.items()):
    style = {"annot": True, "annot_kws": {"fontsize": "small"}, "fmt": ".2f", "cmap": "vlag", "vmin": 0.8, "vmax": 1.2}
    sns.heatmap(ratio.unstack().sort_index(ascending=False), ax=ax, cbar=False, **style)
    ax.set_title(title, fontsize="medium")
    ax.set(xlabel="", ylabel="")
axes[0].set_ylabel(r"step size $\tilde\eta$")
axes[1].set_xlabel(r"samples for the step, $n_0/d$")
bar = fig.colorbar(axes[0].collections[0], ax=axes, ticks=[0.8, 1, 1.2], pad=0.02)
bar.ax.set_yticklabels(["smaller", "equal", "larger"], fontsize="small")
chapter.glue("map-uncertainty", scan.groupby(["step", "alpha0"])["measured"].sem().max())
chapter.figure(fig, "fig-e-map", scan, title="Where does the network follow the model?")
# %% [markdown] tags=["caption"]
# **After long steps the network is worse than spiked features on few samples and better on many.** Ratios of test errors over
# the number of samples for the step and its size. Left: network over spiked features on the same draws. Middle: corrected
# theory over spiked features. Right: left over middle, 1 where the corrected theory explains the network; the last column
# departs, because $d$ is too small there. Means, with standard errors up to {glue:text}`map-uncertainty`.
# %% [markdown]
# ## Several short steps learn more than a long one
#
# It is better to make several short steps, each on its own share of the samples: at the sine target eight have
# {claim}`E.Net-steps-best` times the error of one, each at its best size, and 400 have {claim}`E.Net-steps-limit` times the
# error of eight ({numref}`fig-e-many`). Why? The first step follows the target, but a later one follows the residual, the part
# not yet fitted. So the spike's strength approaches, with many steps, the value that fits the target best, whereas one long
# step passes this value. The [details](#several-steps) give the recursion and its limit of infinitely many steps.
#
# We have no corrected theory of several steps: it would have to explain what separates the points from their curves.
# %%
networks = chapter.rows(studies.multiple_steps, "best")
largest = spiked_features.largest_size(networks)
setting = largest.iloc[0]
sizes = np.geomspace(2, 50, 40)
fig, ax = plt.subplots()
for colour, (count, rows) in zip(plots.shades(5), largest.groupby("count")):
    steps = np.inf if count == largest["count"].max() else count
    cases = [(setting["target"], setting["alpha0"], size) for size in sizes]
    errors = [stepped_networks.recursion_of_steps(case, rows, [steps], setting["d"])[1] for case in cases]
    ax.plot(sizes, errors, color=colour, label=r"$\infty$" if steps == np.inf else str(count))
    ax.errorbar(rows["step"].iloc[0], rows["test_error"].mean(), 2 * rows["test_error"].sem(), fmt="o", color=colour)
ax.set(xscale="log", yscale="log", xlabel=r"size of all steps $\tilde\eta$", ylabel="test error")
ax.set_title("How many steps?")
plots.plain_numbers(ax, "x")
plots.plain_numbers(ax)
ax.legend(title="steps")
chapter.figure(fig, "fig-e-many", networks)
# %% [markdown] tags=["caption"]
# **With more steps the smallest error is lower, and the best size of all steps is larger.** Test error against the size of all
# steps together, target sine, on the same samples in all. Lines: theory of spiked features. Points: networks at the best size
# of each, two standard errors; those with the most steps stand beside the limit of infinitely many.
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **One step gives one direction, and the model's equations hold.** Simulated spiked features have {claim}`E.Res3-mean` times the
#   test error of paper E's equations, over 12 settings. Yet the network does not become spiked features.
# - **The samples of the step can serve the readout, too.** If the readout takes all samples, the error exceeds that with as many
#   fresh ones by at most {claim}`E.Reuse-price` of it; with the split it is at least {claim}`E.Reuse-split`. Networks have
#   {claim}`E.Reuse-theory` times the error of a theory with the leak and the spent correlation, in which nothing is fitted (target
#   sign, as many neurons as dimensions, $2d$ to $8d$ samples). On $4d$ samples the network has {claim}`E.Reuse-linear` times the
#   error of the best linear regression on them, whereas with the split it is behind.
# - **After long steps the network departs from the model**, because the bulk's rows share a covariance and their norms
#   fluctuate. At the sine target its error is {claim}`E.Net-strong-apart` times the model's after a strong step on few samples,
#   but {claim}`E.Net-large-batch-apart` times after a long one on many. After a modest step, at the target tanh, it is
#   {claim}`E.Net-weak-step` times. The gap does not close as the dimension grows.
# - **Several short steps, and two readout values, learn more.** At the sine target eight steps have {claim}`E.Net-steps-best` times
#   the error of one, each at its best size. In the model [two values](#readout-values) of the initial readout have
#   {claim}`E.Fig6-best` times the error of one, at a cubic target and the largest width that we simulate.
# ## Try it yourself
#
# - `make chapter-07 NAME=mine PARAMS='-p fig2_targets "[\"erf\", \"He1+He3\"]"'` draws other targets.
# - `make chapter-07 NAME=wide PARAMS='-p net_d "[200, 400, 800]"'` trains larger networks beside the model
#   ({numref}`fig-e-net`).
# %% [markdown]
# ## Exercises
#
# **1. One step is nearly rank one.** At the start the readout is the same for all neurons and the outputs are near zero. Show
# that the gradient of the square loss by the weights $w_i$ is, up to a factor, near
# $-\frac1n\sum_\mu y_\mu\,\sigma'(w_i\cdot x_\mu)\,x_\mu$, and that its mean over the neurons has one direction. Which one, for
# many samples and $y=\sigma_*(\theta\cdot x)$?
#
# <details class="solution"><summary>Solution</summary>
#
# $\sigma'$ has a mean, $h_1$, and a part that averages to zero over normal inputs. The mean gives
# $h_1\frac1n\sum_\mu y_\mu x_\mu$ to every neuron, one direction. For many samples it is
# $h_1\,\mathbb E[y\,x]=h_1h_1^\star\theta$ by Stein's identity. The other part differs from neuron to neuron and is noise of
# the bulk.
#
# </details>
#
# **2. How many samples point.** The direction is estimated from $n_0=\alpha_0d$ samples. Show that the squared cosine with
# $\theta$ is $t_1^2/(t_1^2+t_2/\alpha_0)$, $t_1=\mathbb E[y\,\theta\cdot x]$, $t_2=\mathbb E[y^2]$. At which $\alpha_0$ is the
# angle 45° for the target sign?
#
# <details class="solution"><summary>Solution</summary>
#
# $\frac1{n_0}\sum y_\mu x_\mu$ is $t_1\theta$ along $\theta$; across it has $d$ components of variance $t_2/n_0$ each, of
# squared length $t_2d/n_0=t_2/\alpha_0$. For the sign $t_1^2=2/\pi$, $t_2=1$: equal parts at $\alpha_0=\pi/2$. Move the slider
# *samples, step* of the picture: at $2d$ the angle is 41°.
#
# </details>
#
# **3. A prediction.** What must the right panel of {numref}`fig-e-4` and the claim E.Fig4-alignment show at spike strength 0?
#
# ```sh
# make chapter-07 PROFILE=smoke NAME=flat PARAMS='-p 07.spikes.alignments.r 0.0'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# Without a spike its direction is a mere name: one curve for all alignments, and no drop from one to the next but noise.
#
# </details>
