# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-02)=
# # Compression grows as the square root of the number of training points
# :::{div} guess
# **Guess first.** While a network learns features, the weights along directions that do not matter become small
# relative to the others. Give it sixteen times as many training points. When a tenth of them is fitted, what has
# happened to this ratio?
#
# - it stays the same
# - it doubles
# - **it grows four times**
# - it grows sixteen times
#
# Measured: it grows as a power of their number with the exponent {interval}`A.Fig6-star-d5`, where four times would be
# one half.
# :::
#
# Before a network fits its data, {term}`feature learning` shrinks the weights along irrelevant input directions,
# relative to the others. What limits this? Not time, and not the width, but the noise of the training set.
#
# ## What we find
# - On planes with balanced labels in five dimensions, a network that has fitted a tenth of its $p$ points has
#   {term}`compressed <compression>` the uninformative weights by a factor that grows as $p$ to the power
#   {claim}`A.Fig6-star-d5` ({numref}`fig-a-6-p`).
# - What stops the compression is [the noise of the training set](#noise-limit): from it theory gives the factor itself,
#   without a fitted number, and on the larger of these sets we measure {claim}`A.AppC-constant` times that
#   ({numref}`fig-a-time`).
# - It takes a [small output scale](#fig-a-late) and balanced labels: in five dimensions the compression is halved once
#   the labels' mean times $\sqrt d$ is {claim}`A.Sec3-balance-d5`, because neurons that find no plane then keep up
#   ({numref}`fig-a-balance`).
#
# ## The argument in four steps
# Paper A {cite}`paccolat2021` explains the compression one neuron at a time. Its example is the stripe: Gaussian points
# whose label depends on $x_1$ alone and changes at two planes. The argument has four steps.
#
# 1. Until the first {term}`margin` is met, that is, until the first point has $yF\ge1$ for the predictor $F$, all
#    neurons evolve independently.
# 2. Each neuron converges to one of a few fixed points on the {term}`informative <informative direction>` axis.
# 3. A finite training set adds noise of relative size $1/\sqrt p$, which keeps the uninformative weights from
#    vanishing.
# 4. So the ratio of informative to uninformative weights saturates, at a value proportional to $\sqrt p$.
#
# Hence more points give a stronger compression ({numref}`fig-sketch-compression`), and a stronger compression makes the
# {term}`learning curve` steeper, which chapter 1 tests. The model is that of chapter 1; the {ref}`details page
# <compression-details>` tests each formula by itself.
#
# Others have seen neurons align in a few directions before the outputs have grown. {cite}`maennel2018` find these
# directions from the data for any small initial weights; for planes we have their number and their growth rates in
# closed form. {cite}`min2023` bound the time of the alignment for data that two directions separate, whereas here the
# noise of the training set is the limit, not the time. {cite}`boursier2025` show that the alignment can end training at
# a poor minimum; chapter 1 measures what it does to the test error.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | meaning |
# |---|---|---|---|
# | $p$, $h$, $\alpha$ | `p`, `h`, `alpha` | | training points, width, output scale |
# | $\omega=(\omega_1,\omega_\perp)$, $b$, $\beta$ | `omega`, `b`, `beta` | $(h,d)$, $(h)$, $(h)$ | weights, bias and readout, $\mathcal N(0,1)$ at the start |
# | $\Lambda$, $\Lambda^*$, $\Lambda_{\max}$ | `amplification` | | equation {eq}`eq:A:amplification`; at $t^*$; largest over time |
# | $\lambda=\omega_1/\vert\omega_\perp\vert$ | | $(h)$ | amplification of one neuron |
# | $z=-\sqrt d\,b\,\omega/\vert\omega\vert^2$ | `neuron_vector` | $(h,d)$ | foot of the neuron's hyperplane |
# | $\zeta=-\sqrt d\,b/\omega_1$ | `zeta` | $(h)$ | intercept: where the hyperplane meets the first axis |
# | $\tau=h\sqrt{d/2}$ | `time_unit` | | unit of all times here |
# | $t^*$ | `t_star` | | first time at which 10 % of the points have $yF\ge1$ |
# | $C_1^\pm, C_b^\pm, D_\perp^\pm$ | `Stripe.c_1`, `.c_b`, `.d_perp` | | averages over the active half line; $\pm$ is the sign of $\lambda$ |
# :::
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
alpha = 1e-6  # network scale (paper A: 1e-6)
interfaces = [-0.3, 1.18549]  # positions of the stripe's planes (paper A: -0.3, 1.18549)
cylinder_radius = 1.1774100225154747  # radius of the cylinder (paper A: sqrt(2 ln 2), equiprobable labels)
tolerance = 0.05  # of a step of the gradient flow (paper A: not stated)
finer_tolerance = 0.005  # of runs that go on after t*
growth_p = [128, 256, 512, 1024, 2048, 4096, 8192, 16384]  # sizes trained to t* (paper A, Fig. 6: to 10^4)
growth_h = 100  # their width (paper A: 10000)
growth_seeds = 4  # their realisations (paper A: 20; 49 of the cylinder)
growth_from = 1024  # smallest size of the fitted exponents (paper A, Fig. 6: 411 is the smallest it names)
stop = 0.98  # satisfied fraction until which the largest amplification is sought
stop_p = [256, 1024, 4096]  # sizes trained that far
# fmt: on
# %%
import numpy as np
import pandas as pd

from companion.book import plots, sketches, stated
from companion.book.chapter import Chapter
from companion.papers.compression.claims import balance as unequal
from companion.papers.compression.studies import compression as studies
from companion.papers.compression.theory import Stripe
from companion.papers.compression.theory.stripe import imbalance_limit

chapter = Chapter("02", globals())
# %%
paths = chapter.rows(studies.neuron_paths, "main")
snapshots = []
for moment in (0, -1):
    z = np.array([path[moment] for path in paths["z"]])
    omega_1, omega_2, _, beta = np.array([weights[moment] for weights in paths["weights"]]).T
    snapshots.append((z, abs(beta) * np.hypot(omega_1, omega_2)))
chapter.figure(
    sketches.compression(*snapshots, interfaces),
    "fig-sketch-compression",
    paths,
    alt="Two squares with three vertical bands labelled plus, minus, plus, crossed by lines. Before training the lines "
    "run in all directions; after it the dark ones are vertical and bundle at a few places.",
)
# %% [markdown] tags=["caption"]
# **Training aligns the neurons that matter with $x_1$, the only direction on which the label depends.** Each line is
# the hyperplane of one neuron, before training and at $t^*$ (a tenth of the points fitted). Darker lines carry a larger
# share of the output. Shading: the label.
# %% [markdown]
# ## The weights align with the informative axis
# In $d=2$ you can see it: {numref}`fig-a-2` draws each neuron as an arrow $\beta_n\omega_n$, its length the neuron's
# share of the output. At small $\alpha$ the output starts near zero, so the weights must grow, and those along the
# first axis grow most: by $t^*$ {claim}`A.Fig1-inflation` times as much as the others. At the end a share
# {claim}`A.Fig2-feature` of $\sum_n(\beta_n\omega_n)^2$ lies along this axis, where isotropic weights have $\frac12$.
# The {term}`lazy <lazy regime>` network, in contrast, fits the same points without turning its weights: its share
# changes by {claim}`A.Fig2-lazy`. On the cylinder, which has two informative directions, the weights turn in the same
# way ({numref}`fig-a-7`).
#
# Why call this a compression? The network depends on the uninformative coordinates through $\omega_\perp\cdot x_\perp$
# alone. So the function stays the same if all $\omega_\perp$ are multiplied by $\Lambda$ and all $x_\perp$ divided by
# it: a network with compressed weights is one with isotropic weights on compressed data (paper A, Fig. 1).
# %%
feature = chapter.rows(studies.weight_snapshots, "feature").query("seed == seed.min()")
lazy = chapter.rows(studies.weight_snapshots, "lazy").query("seed == seed.min()")
moments = {"start": feature.iloc[0], "feature learning, end": feature.iloc[-1], "lazy, end": lazy.iloc[-1]}
fig, flat = plots.panels(3, columns=3, height=3.2, sharex=True, sharey=True)
for ax, (title, row) in zip(flat, moments.items()):
    plots.weights(ax, row)
    plots.boundaries(ax, interfaces)
    ax.set_title(title, fontsize="medium")
for ax in flat[1:]:
    ax.set_ylabel("")
chapter.figure(fig, "fig-a-2", feature, lazy, title="Where do the weights point?", legend=3)
# %% [markdown] tags=["caption"]
# **Feature learning turns the weights towards the informative axis; lazy training leaves them isotropic.** Arrows
# $\beta\omega$ of sixty neurons, scaled by their root mean square, over the training points, at the start and at the
# end of either training (paper A, Fig. 2; paper B, Fig. 10 left). Dash-dotted: the planes at which the label changes.
# %% [markdown]
# ## Most neurons converge to one of three fixed points
# At $t^*$ the neurons' hyperplanes meet the first axis at a distance {claim}`A.Fig5-attractors` from the nearest fixed
# point for their sign of $\omega_1$, on average over neurons with the weight $(\beta\omega)^2$. Where do these points
# come from?
#
# Before the first margin is met, all points enter the gradient with the same weight. Therefore the {term}`flow
# <gradient flow>` {eq}`eq:A:flow` decouples into independent neurons. For $p\to\infty$ the sums over points become
# averages $\langle\cdot\rangle$ over the Gaussian $x_1$. A neuron with weights $\omega=(\omega_1,\omega_\perp)$, bias
# $b$ and readout $\beta$ obeys
#
# $$
# \begin{aligned}
# \tau\dot\omega_1&=\beta\,\langle y\,x_1\,g_\lambda(x_1-\zeta)\rangle,\\
# \tau\dot b&=\sqrt d\,\beta\,\langle y\,g_\lambda(x_1-\zeta)\rangle,\\
# \beta^2&=|\omega|^2+b^2+\text{const}.
# \end{aligned}
# $$ (eq:A:neuron)
#
# Here $\tau=h\sqrt{d/2}$ is the unit of time and $y=\pm1$ the label. The intercept $\zeta=-\sqrt d\,b/\omega_1$ is the
# point where the neuron's hyperplane meets the first axis. The neuron's own amplification is
# $\lambda=\omega_1/|\omega_\perp|$. The function $g_\lambda(x)$ is the normal distribution function of $\lambda x$, a
# smooth step. As $|\lambda|$ grows it becomes the step function $\theta$, and the intercept moves by itself:
#
# $$
# \begin{aligned}
# \dot\zeta&=-\frac{\beta}{\tau\,\omega_1}\bigl[d\,C_b^\pm(\zeta)+\zeta\,C_1^\pm(\zeta)\bigr],\\
# C_1^\pm&=\langle y\,x_1\,\theta(\pm(x_1-\zeta))\rangle,\qquad C_b^\pm=\langle y\,\theta(\pm(x_1-\zeta))\rangle,
# \end{aligned}
# $$ (eq:A:zeta)
#
# where $\pm$ is the sign of $\lambda$. So a neuron can stay at a zero $z^*$ of the bracket, if $\zeta$ is stable there
# and $|\lambda|$ grows ({numref}`fig-a-4`). The second condition is $|C_1^\pm|>\pm\,{\rm
# sgn}(C_1^\pm)\,y(z^*)\,e^{-z^{*2}/2}/\sqrt{2\pi}$, with $y(z^*)$ the label there.
# %%
stripe = Stripe(interfaces, 2)
places = [point.z for point in stripe.attractors()]
paths = chapter.rows(studies.neuron_paths, "main")
colours = {1: plots.PALETTE[0], -1: plots.PALETTE[1]}
zeta = np.linspace(-3, 3, 601)
fig, (left, right) = plots.panels(2, width=4.0, height=3.4)
for sign, colour in colours.items():
    velocity = stripe.velocity(zeta, sign)
    amplifies = stripe.amplifies(zeta, sign)
    left.plot(zeta, np.where(amplifies, velocity, np.nan), color=colour, label=rf"$\lambda$ of sign ${sign:+d}$")
    left.plot(zeta, np.where(amplifies, np.nan, velocity), "--", color=colour, linewidth=1)
for _, neuron in paths.iterrows():
    z = np.array(neuron["z"])
    right.plot(*z.T, linewidth=0.7, color=colours[np.sign(neuron["weights"][-1][0])])
    right.plot(*z[0], "k.", markersize=2)
for ax in (left, right):
    plots.boundaries(ax, interfaces)
    ax.plot(places, np.zeros(len(places)), "ko", label="fixed points")
left.set(xlabel=r"intercept $\zeta$", ylabel=r"velocity $\tau\,\dot\zeta$", ylim=(-2, 2))
left.set_title("Where can a neuron rest?")
right.set(xlabel="$z_1$", ylabel="$z_2$", xlim=(-3, 3), ylim=(-3, 3), title="Do neurons arrive there?")
alt = "Left, two curves of a neuron's velocity that cross zero at three fixed points. Right, paths that run to them."
chapter.figure(fig, "fig-a-4", paths, legend=4, alt=alt)
# %% [markdown] tags=["caption"]
# **Most neurons reach a fixed point before $t^*$; some are still on their way.** Left: velocity of the intercept of a
# neuron with large $|\lambda|$; dashed where $|\lambda|$ would fall. Right: paths of sixty neurons until $t^*$, each
# drawn at its hyperplane's point $z$ nearest to the origin; colour: the final sign of $\omega_1$; small dots: starts
# (paper A, Fig. 4b, c).
# %% [markdown]
# With the noise of the training set included, these equations follow the network closely: by $t^*$ the median neuron
# departs from their solution by {claim}`A.Fig4-ode` of its norm ({numref}`fig-a-4-error`).
#
# (noise-limit)=
# ## Noise sets the amplification to the square root of $p$
# At a fixed point the mean force on the uninformative weights nearly cancels, which is why the noise of the training
# set matters there:
#
# $$
# \tau\dot\omega_\perp=\beta\Bigl[\frac{e^{-z^{*2}/2}}{\sqrt{2\pi}}\frac{\omega_\perp}{|\omega|}\,y(z^*)
# +N\sqrt{\frac{D_\perp^\pm}{p}}\Bigr],\qquad
# D_\perp^\pm=\langle\theta(\pm(x_1-z^*))\rangle.
# $$ (eq:A:noise)
#
# The first term is the force of the label $y(z^*)$ at the fixed point. In the second term $D_\perp^\pm$ is the fraction
# of points on the active side. The training set fixes the vector $N$, whose components have variance one. The paper
# prints $D_\perp$ in place of its root ({ref}`erratum <erratum-a-noise>`).
#
# At first $|\omega_\perp|$ grows more slowly than $\omega_1$. But the force of the noise grows with $\beta$, as
# $\omega_1$ does. Once it dominates, both grow at the same rate, so that their ratio saturates at
#
# $$
# \begin{aligned}
# \lambda^*&=\frac{c\sqrt p}{|N(z^*)|},\qquad \Lambda^*\simeq\sqrt{d-1}\,\lambda^*,\\
# c&=\frac{|C_1^\pm|\mp{\rm sgn}(C_1^\pm)\,y(z^*)\,e^{-z^{*2}/2}/\sqrt{2\pi}}{\sqrt{D_\perp^\pm}} .
# \end{aligned}
# $$ (eq:A:constant)
#
# Exercise 1 derives it. Since the label's force is of the same order as the other terms, it enters the constant $c$,
# although App. C.3 of the paper drops it. The relation for $\Lambda^*$ holds when the neurons of the fastest fixed
# point outweigh the others.
#
# Much of the scatter of $\Lambda^*$ between training sets comes from $|N|$, which is known for each set. We therefore
# fit the exponent to $\Lambda^*|N|$, on other training sets than those of {numref}`fig-a-6-p`. Below about a thousand
# points the curves there are steeper, because the growth rates themselves depend on the training set. The largest
# amplification, which the network reaches later, follows nearly the same law ({ref}`table <compression-exponents>`).
# %% tags=["key"]
growth = pd.concat([chapter.rows(studies.amplification_scaling, shape) for shape in ("stripe", "cylinder")])
maxima = [chapter.rows(studies.amplification_scaling, f"{shape}_maximum") for shape in ("stripe", "cylinder")]
maxima = pd.concat(maxima)
tasks = growth.groupby(["shape", "d"], sort=False)
green = plots.COLOURS["amplification"]
hollow = {"color": green, "linestyle": ":", "markerfacecolor": "none"}
fig, flat = plots.panels(len(tasks), columns=3, width=3.5, height=3.6, sharey=True)
for ax, ((shape, d), rows) in zip(flat, tasks):
    plots.over_seeds(ax, rows, "p", "star", color=green, label=r"$\Lambda^*$, at $t^*$")
    largest = maxima.query("shape == @shape and d == @d")
    plots.over_seeds(ax, largest, "p", "largest", label=r"$\Lambda_{\max}$, to 98 % fitted", **hollow)
    theory = rows.groupby("p").predicted.median()
    ax.plot(theory, "--", color=plots.COLOURS["theory"], label=r"theory of $\Lambda^*$")
    exponent = stated.value("A.amplification")
    plots.slope_guide(ax, (growth_p[0], growth_p[-1]), rows.star.median() / 8, exponent, "paper A: 1/2")
    ax.set(xlabel="training points $p$", title=f"{shape}, $d={d}$")
    plots.curve_axes(ax, growth_p)
flat[0].set_ylabel(r"amplification $\Lambda$")
legend = fig.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
legend.set_title(rf"$\Lambda^*$: {stated.both_sizes(growth_h, 'A.width')}", {"size": "small"})
alt = "Amplification against training points for three tasks, at the characteristic time and at its maximum: both rise."
chapter.figure(fig, "fig-a-6-p", growth, maxima, title=r"Does the compression grow as $\sqrt{p}$?", alt=alt)
# %% [markdown] tags=["caption"]
# **The amplification at $t^*$ grows as $\sqrt p$, on the stripe at the height that theory gives.** Medians and
# quartiles over seeds. Thick dashes: theory with the noise of the same training sets, without a fitted number; thin
# dashes: the slope 1/2. Largest amplification: open symbols (paper A, Fig. 6 bottom and Fig. 8 top).
# %% [markdown]
# (label-balance)=
# ## The labels must balance to within $0.4/\sqrt d$
# The paper's planes give either label to half of the points. Does it matter? A neuron that is active on all points has
# the averages $C_1=\langle y\,x_1\rangle$ and $C_b=\langle y\rangle$. By {eq}`eq:A:neuron` its $(\omega_1,b)$ grows
# along $(C_1,\sqrt d\,\langle y\rangle)$, at the rate
#
# $$
# \frac{\tau}{\tau_0}=\sqrt{C_1^2+d\,\langle y\rangle^2} .
# $$ (eq:A:everywhere)
#
# The fastest fixed point of the stripe has the rate 0.44 in any dimension. Since $t^*$ comes when the fastest neurons
# have grown, a constant fits the first tenth of the points once {eq}`eq:A:everywhere` is larger, at $|\langle
# y\rangle|$ near $0.4/\sqrt d$. **Guess first:** is a mean label that does no harm in five dimensions small enough in
# twenty?
#
# It is not ({numref}`fig-a-balance`): $\Lambda^*$ is halved at a mean label that is {claim}`A.Sec3-balance-dimension`
# times smaller in $d=20$ than in $d=5$. In $d=5$ it is {claim}`A.Sec3-balance-d5` over $\sqrt d$, a little before the
# rates cross, since at a finite $t^*$ neurons of both kinds have grown. Beyond the crossing no neuron has found a
# plane. Yet $\Lambda^*$ still grows as $\sqrt p$: it is {claim}`A.Sec3-balance-constant` times the theoretical value
# for neurons that are active on all points. That a majority slows the learning of a minority is known
# {cite}`francazi2023`; for compression we know of no earlier condition.
#
# How balanced are the planes of this page? Their mean label times $\sqrt d$ is {glue:text}`balance`. If yours are not,
# take a $t^*$ for each label ([chapter 1](#own-points)).
# %%
balance = unequal.unbalanced(chapter.rows(studies.amplification_scaling, "balance"))
dimensions = chapter.design(studies.amplification_scaling, "stripe")["d"]
chapter.glue("balance", unequal.balance_in_words(interfaces, dimensions))
fig, axes = plots.panels(2, width=4.0, height=3.4, sharey=True)
for (d, rows), colour in zip(balance.groupby("d"), plots.PALETTE):
    for ax, column in zip(axes, ("imbalance", "scaled")):
        part = np.exp(unequal.relative_amplification(rows, column))
        plots.realisations(ax, part.columns, part, color=colour, label=f"$d={d}$")
    planes = rows.interfaces[rows.imbalance.idxmin()]
    axes[1].axvline(imbalance_limit(planes, d) * np.sqrt(d), color=colour, linestyle=":")
axes[0].set(xlabel=r"mean label $\langle y\rangle$", ylabel=r"$\Lambda^*$ over that of balanced labels")
axes[1].set(xlabel=r"$\langle y\rangle\sqrt{d}$", yscale="log")
plots.plain_numbers(axes[0])
axes[0].legend(fontsize="small")
alt = "Two falling curves, apart against the mean label, together against it times the root of the dimension."
chapter.figure(fig, "fig-a-balance", balance, title="How unequal may the labels be?", alt=alt)
# %% [markdown] tags=["caption"]
# **The limit of the mean label falls as $1/\sqrt d$.** $\Lambda^*$ as the right plane moves inwards from where the
# labels balance, geometric mean over 1024 to 4096 points; medians and quartiles over seeds. Dotted: where the growth
# rates cross, without a fitted number (not in the paper).
# %% [markdown]
# ## The findings, with sizes and exceptions
# - **The square root holds, on the stripe with its constant.** With the noise of each training set divided out, the
#   exponent of the {term}`amplification` at $t^*$ is {claim}`A.Fig6-star-d5` on the {term}`stripe` in $d=5$ ($p$ from
#   1024 to 16 384, width 100), {claim}`A.Fig6-star-d10` in $d=10$, and {claim}`A.Fig8-star` on the {term}`cylinder`.
#   Paper A predicts $\frac12$, and shows it at width $10^4$. At that width we find {claim}`A.Fig6-wide`, a mean over
#   the three tasks up to 8192 points. On the stripe in $d=5$, from 4096 points on, $\Lambda^*$ is
#   {claim}`A.AppC-constant` times its theoretical value.
# - **Three printed formulas need a correction.** The noise of the training set has the amplitude $\sqrt{D_\perp}$, not
#   $D_\perp$. One time constant is {claim}`A.AppC-tau-perp` times the printed one, and the time $t^*$ is half of the
#   printed one.
# - **The output scale must fall nearly as $1/p$.** Paper A says that "the larger the training set size, the smaller
#   $\alpha$ needs to be" (footnote 3). This is reproduced: to reach $\sqrt p$, the scale must fall as a power of $p$
#   with the exponent {claim}`A.Fig6-scale` (stripe, $d=5$, 4096 to 65 536 points). The paper's condition
#   $\tau_\perp<t^*$ is necessary but not sufficient, because it concerns a single growing neuron. With its prefactors,
#   {eq}`eq:A:late`, it gives a smaller power.
# - **The labels must balance to within about $0.4/\sqrt d$.** Otherwise neurons that are active on all points grow
#   fastest, so that a constant fits the first tenth of the points, and no planes are selected by $t^*$. In $d=5$,
#   $\Lambda^*$ is halved when $\langle y\rangle\sqrt d$ is {claim}`A.Sec3-balance-d5`, a little before the growth rates
#   cross at 0.39. In $d=20$ this mean label is smaller by the factor {claim}`A.Sec3-balance-dimension` (theory: 2.24).
# - **On the cylinder the number of directions grows with $p$.** Paper A expects "a finite number of fixed points" in
#   all such problems. But on the cylinder each rotation of a fixed point is a fixed point. So the number of directions
#   that neurons have at $t^*$ grows, with the exponent {claim}`A.Fig8-directions` in $p$ (512 to 32 768 points;
#   {numref}`fig-a-ring`).
# %% [markdown]
# ## Exercises
# **1. The balance.** Derive {eq}`eq:A:constant` from {eq}`eq:A:neuron` and {eq}`eq:A:noise`.
#
# <details class="solution"><summary>Solution</summary>
#
# At large $|\lambda|$ one has $|\omega|\simeq|\omega_1|$ and $\tau\dot\omega_1=\beta C_1^\pm$. A neuron that grows has
# ${\rm sgn}\,\beta\,{\rm sgn}\,C_1^\pm={\rm sgn}\,\omega_1=\pm1$. Hence $|\omega_1|$ grows at the rate
# $\frac{|\beta|}{\tau|\omega|}|C_1^\pm|$. Multiply {eq}`eq:A:noise` by $\omega_\perp/|\omega_\perp|^2$, with
# $\omega_\perp$ along $\beta N$, the direction of the noise force. Then $|\omega_\perp|$ grows at the rate
#
# $$
# \frac{|\beta|}{\tau|\omega|}\Bigl[\pm{\rm sgn}(C_1^\pm)\,y(z^*)\frac{e^{-z^{*2}/2}}{\sqrt{2\pi}}
# +\frac{|\omega|}{|\omega_\perp|}\,|N|\sqrt{\frac{D_\perp^\pm}p}\Bigr].
# $$
#
# The ratio stays where the two rates are equal; there $|\omega|/|\omega_\perp|=\lambda^*$, which is
# {eq}`eq:A:constant`. The balance is stable, since a larger $\lambda$ makes the second term larger. Without the first
# term the constant would be $|C_1^\pm|/\sqrt{D_\perp^\pm}$.
#
# </details>
#
# **2. The ring's constants.** The cylinder has a ring of fixed points, {eq}`eq:A:soft`. For $d_\parallel=2$ and
# equiprobable labels, $R^2=2\ln2$, find $|C_1|=0.167$ and $c=0.530$ by hand.
#
# <details class="solution"><summary>Solution</summary>
#
# The soft label $\bar y$ averages over the other informative coordinate. Hence $C_1=\langle y\,a\,\theta(a)\rangle$ is
# an average over the plane of label $+1$ outside the circle and $-1$ inside. In polar coordinates the half disk has
# $\langle a\,\theta(a)\rangle_{r<R}=\frac1\pi\int_0^Rr^2e^{-r^2/2}dr$, and
#
# $$
# \begin{aligned}
# C_1&=\frac1{\sqrt{2\pi}}-\frac2\pi\int_0^Rr^2e^{-r^2/2}dr\\
# &=\frac1{\sqrt{2\pi}}-\frac2\pi\Bigl[\sqrt{\tfrac\pi2}\,{\rm erf}\tfrac R{\sqrt2}-R\,e^{-R^2/2}\Bigr]=0.1666 .
# \end{aligned}
# $$
#
# On the ring $\bar y(0)=1-2\,{\rm erf}(R/\sqrt2)=-0.522$ and $D_\perp=\frac12$. The neuron's own label *slows*
# $\omega_\perp$, and $c=(0.1666+0.522/\sqrt{2\pi})\sqrt2=0.530$. Without it $c$ would be $0.1666\sqrt2=0.236$, the
# ledger's alternative to A.Fig8-ring.
#
# </details>
#
# **3. A prediction.** Leave one plane, at 0.4. How many fixed points are there, and where?
#
# ```sh
# make chapter-02 PROFILE=smoke NAME=one PARAMS='-p interfaces "[0.4]"' FIGURE=fig-a-4
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# Two, one on either side of the plane, and each with the plane in its active half line. By the zeros of {eq}`eq:A:zeta`
# they are, in $d=2$, at $z^*=-0.331$ for $\lambda>0$ and at $z^*=1.368$ for $\lambda<0$. The far one is the faster
# ($\tau/\tau^*$ is 0.807 against 0.369). With the plane at 0 a reflection exchanges the two, and they are at
# $\mp0.813$. The run reports the neurons' distance from them at $t^*$ as A.Fig5-attractors.
#
# </details>
#
# ## Try it yourself
# - `make chapter-02 NAME=mine PARAMS='-p alpha 1e-12'`: how many neurons have arrived at $t^*$ now?
# - `-p growth_h 3000` widens the networks of {numref}`fig-a-6-p`. Is the scatter at small $p$ from width or data?
