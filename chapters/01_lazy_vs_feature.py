# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-01)=
# # Training selects features, then fits with them
# A network that learns features needs far fewer data than the kernel method it starts from. We measure why, step by step.
#
# ## What we find
# - **Select: until the time $t^*$ a network selects planes.** At $t^*$ a tenth of its $p$ training points in $d$ dimensions are fitted. We
#   freeze its {term}`tangent kernel` there and start again, on the same points. The test error is {claim}`A.Fig3-own-constant` times $d/p$
#   ($d=5$ and 10, 1024 and 2048 points). On fresh points it is {claim}`A.Fig3-star-constant-d5` times $d/p$ in $d=5$ and
#   {claim}`A.Fig3-star-constant-d10` times in $d=10$. This holds for planes, for labels that balance to within $0.4/\sqrt d$, and for an
#   output scale far below $1/p$ ([chapter 2](#label-balance)). On the cylinder the same kernel has {claim}`A.Fig8-star-initial` times the
#   error of the initial one on up to 4096 points. This factor falls with the size, as a power {claim}`A.Fig8-star-trend` of $p$, and at
#   8192 points and width $10^4$ it can not be told from 1.
# - **Place: then it moves these planes.** From 90 to 98 % of fitted points, with $n\ge8d$ of them left, its error is close to
#   $\sqrt{nd/\pi}/p$, a law without a fitted number. The measured constant is {claim}`A.Fig3-planes-constant` times $\sqrt{nd}/p$, theory's
#   0.54 times (two planes, $d=5$ and 10, width 500; the law was found on these networks). With 95 % fitted the error should then fall as
#   $p^{-1/2}$: we measure {claim}`A.Fig3-share-d5` in $d=5$ and {claim}`A.Fig3-share-d10` in $d=10$, whose interval lies above one half. On
#   up to $50d$ points the network ends at {claim}`A.Fig3-planes-end` times $d/p$.
# - **Over-fit: the last points spoil it.** From 98 % of fitted points to all, the test error grows by the factors
#   {claim}`A.Fig3-overfit-d5` ($d=5$) and {claim}`A.Fig3-overfit-d10` ($d=10$). The compression of the weights falls to
#   {claim}`A.Fig6-amplification-end` and {claim}`A.Fig6-amplification-end-d10` of its value at $t^*$ (8192 points, width 500). On more than
#   $100d$ points it ends at {claim}`A.Fig3-end-law` times $\sqrt{d/p}$ ($d\ge5$), a factor that
#   still falls with $p$ and that we cannot derive.
# - **Curved boundaries can use little compression.** On data compressed by $\sqrt p$ a support vector machine has {claim}`A.Sec4-ball-removed`
#   times its error without the uninformative directions if three are informative, {claim}`A.Sec4-ball-4-removed` times if four are ($d=8$, from
#   1024 points). At large $p$ the exponent of such a kernel can therefore not exceed $d_\parallel/(3d_\parallel-2)$, whereas paper A's
#   does for $d_\parallel\ge3$ ({numref}`fig-a-curved`). We trained no network there.
#
# ## The question
# Why does a network that learns features need fewer data than a kernel? With a large {term}`output scale <alpha>`, a factor before its
# output, a network is {term}`lazy <lazy regime>`: its weights hardly move, so that it learns as a kernel method does. With a vanishing
# output scale, in contrast, its weights must move far, and it {term}`learns features <feature learning>`.
#
# Paper A {cite}`paccolat2021` answers for labels that do not depend on most directions of the input. Training shrinks the
# weights along uninformative directions relative to the others. This is a {term}`compression`, by a factor of about
# $\sqrt p$ for $p$ training points. "Assuming that the main effect of feature learning is this compression" (Sec. 3.1), the
# paper derives the exponent of the {term}`learning curve`. Paper B {cite}`geiger2021` repeats the argument with another exponent.
#
# We test the assumption on the {term}`stripe`, where the label changes at planes across the first direction, and on the {term}`cylinder`,
# where it changes at a circle in the first two. Most of our networks have 500 neurons; paper A has $10^4$. You need to know gradient
# descent and kernel methods. Chapter 2 explains where the compression comes from.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | unit, scale |
# |---|---|---|---|
# | $d$, $d_\parallel$, $d_\perp = d-d_\parallel$ | `d`, `d_parallel` | | directions: all, informative, uninformative |
# | $x$, $y$ | `x`, `y` | $(p,d)$, $(p)$ | standard normal points, labels $\pm1$ |
# | $p$, $h$ | `p`, `h` | | training points; width |
# | $\omega_n, b_n, \beta_n$ | `omega`, `b`, `beta` | $(h,d)$, $(h)$, $(h)$ | weights, $\mathcal N(0,1)$ at the start |
# | $f$, $F = \alpha(f-f_0)$ | `F` | $(p)$ | network output, mean-field scale $1/h$; predictor, $f_0$ the network at the start |
# | $\Theta$ | `ntk` | $(p,p)$ | plain sum over weights, falls as $1/h$ |
# | $t^*$ | `t_star` | | first time that 10 % of the points have $yF>1$; paper A's unit |
# | $\Lambda$, $\Lambda^*$, $\Lambda_{\max}$ | `amplification` | | {eq}`eq:A:amplification`; at $t^*$; largest |
# | $\varepsilon\sim p^{-\beta}$ | `error`, `beta` | | probability of $yF\le0$; its exponent $\beta$, while $\beta_n$ is a weight |
# :::
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
interfaces = [-0.3, 1.18549]  # positions of the stripe's planes (paper A: -0.3, 1.18549)
test = 10000  # test points of kernels (paper A: not stated)
tolerance = 0.05  # of a step of the gradient flow until t*; to the end it is finer (paper A: not stated)
wide_p = [64, 128, 256, 512, 1024, 2048]  # training sizes of the infinitely wide kernel
curve_d = [5, 10]  # dimensions of the stripe (paper A, Fig. 3: 5, 10)
curve_p = [128, 256, 512, 1024]  # training sizes of the stripe (paper A, Fig. 3: up to 10000)
curve_h = 500  # width (paper A: 10000)
curve_alpha = 1e-6  # output scale of feature learning (paper A: 1e-6)
curve_seeds = 4  # seeds (paper A: 20)
stop = 0.98  # fitted fraction of the early stop, declared before the run
fit_from = 100  # smallest training size of the fitted exponents (paper A: guides to the eye)
# fmt: on
# %%
import numpy as np
import pandas as pd

from companion.book import plots
from companion.book.chapter import Chapter
from companion.papers.compression.claims import learning_curves as claims
from companion.papers.compression.claims import planes
from companion.papers.compression.studies import hard_margin, output_scale, selection
from companion.papers.compression.studies import lazy_feature as studies
from companion.papers.compression.theory.planes import placing_constant

chapter = Chapter("01", globals())
# %% [markdown]
# ## One parameter decides how far the weights move
# In {numref}`fig-a-knob` the same network learns the same points of the stripe in $d=2$ at each output scale $\alpha$. At a
# small one its weights must grow far before the points are fitted, and those along the uninformative direction stay behind.
# At a large one, in contrast, a small step is enough, so that the network stays near its tangent at the start.
# %%
rows = chapter.rows(output_scale.predictors, "main").sort_values("alpha")
fig, axes = plots.panels(2, width=3.2, height=3.3)


def draw(i):
    """What the network has learnt at the scale number ``i``, and its weights."""
    row = rows.iloc[i]
    side = np.linspace(-output_scale.REACH, output_scale.REACH, output_scale.SIDE)
    signs = np.sign(row.F).reshape(len(side), -1).T
    colours = [plots.COLOURS["minus"], plots.COLOURS["plus"]]
    axes[0].contourf(side, side, signs, levels=[-2, 0, 2], colors=colours, alpha=0.25)
    plots.data_points(axes[0], np.array(row.points), row.labels, markersize=3, alpha=1)
    plots.boundaries(axes[0], interfaces)
    arrows = np.array(row.arrows)
    axes[1].quiver(*np.zeros((2, len(arrows))), *arrows.T, angles="xy", scale_units="xy", scale=1, width=0.006)
    axes[0].set(xlabel="$x_1$", ylabel="$x_2$", title=f"error on {100 * row.wrong:.0f} % of the square")
    axes[1].set(xlabel=r"$\beta\omega_1$", ylabel=r"$\beta\omega_2$", title=rf"$\Lambda={row.amplification:.2g}$")
    for ax in axes:
        ax.set(xlim=side[[0, -1]], ylim=side[[0, -1]], aspect="equal")


labels = [f"α = {alpha:g}" for alpha in rows.alpha]
chapter.slider(fig, draw, labels, "fig-a-knob", rows, knob="output scale α")
# %% [markdown] tags=["caption"]
# **Small $\alpha$ turns the weights along the first axis, and the boundaries straighten.** Left: where the predictor is
# positive (blue) and negative (orange), with the training points and the planes where the label changes (dash-dotted). Right:
# arrows $\beta\omega$ of sixty neurons over their root mean square. Trained until 98 % of the points are fitted.
# %% [markdown]
# ## The model
# The network has one hidden layer of $h$ neurons and is trained on the hinge loss by {term}`gradient flow`:
#
# $$
# \begin{aligned}
# f(x) &= \frac1h\sum_{n=1}^h \beta_n\,\sigma\Bigl(\frac{\omega_n\cdot x}{\sqrt d}+b_n\Bigr),\\
# \sigma(z) &= \sqrt2\max(0,z),\\
# \dot W &= \frac1{p}\sum_\mu y_\mu\,\partial_W f(x_\mu)\,\theta\bigl(1 - y_\mu F(x_\mu)\bigr).
# \end{aligned}
# $$ (eq:A:flow)
#
# Here $W$ stands for all weights $\omega_n,b_n,\beta_n$ and $\theta$ is the step function. The predictor is
# $F=\alpha(f-f_0)$, where $f_0$ is the network at the start and $\alpha$ the output scale. A point is
# fitted when its {term}`margin` $yF$ reaches 1.
#
# At large $\alpha$ an infinitesimal displacement of the weights fits all points. Then the tangent kernel
#
# $$
# \Theta(x,z)=\partial_W f(x)\cdot\partial_W f(z)
# $$ (eq:A:ntk)
#
# does not change, so that the flow is a kernel method, whereas at small $\alpha$ the weights must grow by orders of
# magnitude. Those along uninformative directions then shrink relative to the others. The {term}`amplification`
# measures this compression:
#
# $$
# \Lambda^2 = \frac{\sum_n |\omega_{n,\parallel}|^2/d_\parallel}{\sum_n|\omega_{n,\perp}|^2/d_\perp},
# $$ (eq:A:amplification)
#
# the ratio of mean squared weights along informative ($\parallel$) and uninformative ($\perp$) directions. It is near 1
# at the start. Paper A's unit of time is $t^*$, when the {term}`fitted fraction` of the training points reaches 10 %;
# there $\Lambda=\Lambda^*$.
# %% [markdown]
# ## Given fresh points, the kernel at $t^*$ learns faster than the network
# {numref}`fig-a-learners` compares the initial kernel of an infinitely wide network, the same kernel on data whose uninformative coordinates we
# divided by $\Lambda^*$, the network, at the {term}`end of training` and when 98 % of its points are fitted, and the network's {term}`frozen kernel`
# at $t^*$, trained on $p$ fresh points. **Guess first:** will compressed data serve the initial kernel as well as training serves the one at $t^*$?
# %% tags=["key"]
networks = chapter.rows(studies.networks, "stripe").query("curve == 'feature'")
initial = chapter.rows(studies.infinite_width_lazy, "stripe")
larger_sets = chapter.rows(studies.infinite_width_lazy_large_p, "stripe")
initial = pd.concat([initial, larger_sets]).drop_duplicates(["d", "p", "seed"])
kernels = chapter.rows(hard_margin.star_kernel, "stripe").query("learner == 'flow'")
learners = {
    "initial kernel": (initial, "infinite", "-"),
    "on compressed data": (claims.curve_of(kernels, "compressed"), "compressed", "--"),
    "network, end of training": (networks[networks.share == 1], "feature", ":"),
    f"network, {stop:.0%} fitted": (networks[networks.share == stop], "feature", "-"),
    "kernel at $t^*$": (claims.curve_of(kernels, "star"), "final", "-"),
}
fig, axes = plots.panels(len(curve_d), width=4.4, height=4.6, sharey=True)
for ax, d in zip(axes, curve_d):
    for label, (rows, colour, line) in learners.items():
        medians = rows[rows.d == d].groupby("p").error.median()
        ax.loglog(medians, line, marker="o", color=plots.COLOURS[colour], label=label)
    plots.slope_guide(ax, (networks.p.min(), networks.p.max()), 0.6 * d / networks.p.min(), -1, "$-1$")
    plots.curve_axes(ax, networks.p.unique())
    ax.set(xlabel="training points $p$", title=f"stripe, $d={d}$")
axes[0].set_ylabel(r"test error $\varepsilon$")
chapter.figure(fig, "fig-a-learners", networks, kernels, initial, title="Who learns fastest?", legend=3)
# %% [markdown] tags=["caption"]
# **Given fresh points, the kernel at $t^*$ learns faster than the network, nearly as $1/p$ (dashed guide).** Medians of the test error against
# training points. Above it lie, at large $p$, the network and the initial kernel. The initial kernel on compressed data ends
# above it in $d=5$ and level with it in $d=10$. All but the network are kernel methods.
# %% [markdown]
# Two differences matter. First, on large training sets the network has a larger error than its own kernel at $t^*$. The kernel has $p$ fresh points beside the
# network's $p$, however. On 8192 points in all, half of them for the kernel, it has {claim}`A.Fig3-equal-points-d5` ($d=5$) and {claim}`A.Fig3-equal-points-d10`
# ($d=10$) of the error of the network with 98 % fitted, and both intervals reach 1. Frozen at 90 %, in contrast, it has a smaller error than the network in both
# dimensions. Second, the error on compressed data falls more slowly than the kernel's, although paper A takes compression for the main effect, by which the two
# would be alike. At 8192 points the kernel at $t^*$ has {claim}`A.Fig3-star-beats-d5` of it in $d=5$ and {claim}`A.Fig3-star-beats-d10` in $d=10$, where the two do
# not differ within the scatter of {term}`seeds <seed>`.
#
# ## The kernel at $t^*$ has an error near $d/p$: it places few planes
# By $t^*$ most neurons point along a few directions, and the neurons of each switch on at a common plane (chapter 2). The kernel frozen
# there therefore offers functions that are linear in $x$ on each side of these planes, with finitely many parameters. To learn with this
# kernel means to place one plane at each of the two changes of the label. A plane in $\mathbb R^d$ has $d$ parameters. Learnt from $P$
# points, the plane with the largest margin is wrong on about $\frac12 d/P$ of new points {cite}`opper1990`. Its support vectors fix its $d$
# parameters and its margin, so in general there are $d+1$. Two planes, learnt from $P_1+P_2=p$ points, then have the error
#
# $$
# \varepsilon \simeq \frac{P_1}{p}\,\frac{d}{2P_1} + \frac{P_2}{p}\,\frac{d}{2P_2} = \frac dp ,
# $$ (eq:A:planes)
#
# however the points are divided, and $\beta=1$. {numref}`fig-a-star-kernel` compares with the initial kernel on compressed
# data, which has no such planes, and for which theory has $\beta=(2d-1)/(3d-2)<1$, see {eq}`eq:A:beta`.
# %%
rows = chapter.rows(hard_margin.star_kernel, "stripe").assign(scaled=lambda rows: rows.error * rows.p / rows.d)
learners = {
    "star": ("final", "the network's kernel at $t^*$, plain data"),
    "compressed": ("infinite", "initial kernel, $h=\\infty$, compressed data"),
}
fig, axes = plots.panels(2 * len(curve_d), columns=len(curve_d), height=2.9)
for d, upper, lower in zip(curve_d, axes, axes[len(curve_d) :]):
    for curve, (colour, label) in learners.items():
        kernel = rows[(rows.d == d) & (rows.curve == curve)]
        style = {"color": plots.COLOURS[colour], "label": label}
        plots.over_seeds(upper, kernel[kernel.learner == "flow"], "p", "scaled", **style)
        plots.over_seeds(lower, kernel[kernel.learner == "machine"], "p", "vectors", **style)
    upper.axhline(1, color=plots.COLOURS["theory"], linestyle="--", label="two planes: 1, and $2(d+1)$ vectors")
    lower.axhline(2 * (d + 1), color=plots.COLOURS["theory"], linestyle="--")
    upper.set(title=f"stripe, $d={d}$", ylabel=r"error $\times\,p/d$")
    lower.set(xlabel="training points $p$", ylabel="support vectors")
    plots.curve_axes(upper, rows.p.unique())
    plots.curve_axes(lower, rows.p.unique(), errors=False)
alt = "Above, error times p over d: level near one for the kernel at t*, rising for compressed data; so the vectors below."
chapter.figure(fig, "fig-a-star-kernel", rows, title="Does the kernel at $t^*$ place two planes?", legend=1, alt=alt)
# %% [markdown] tags=["caption"]
# **The error of the kernel at $t^*$ agrees with $d/p$; its support vectors start at $2(d+1)$ and grow slowly.** Pink: the
# kernel frozen at $t^*$. Black: the infinitely wide initial kernel on data compressed by the same network's $\Lambda^*$. Both
# learn from one fresh set of $p$ points. Top: error times $p/d$; a level line is $\beta=1$. Bottom: support vectors of the
# hard-margin machine. Medians and quartiles.
# %% [markdown]
# Its error has the exponents {claim}`A.Fig3-star-kernel-d5` and {claim}`A.Fig3-star-kernel-d10`, which over the larger sizes leave 1 open.
# The number of support vectors grows with {claim}`A.Fig3-star-vectors-d5` and {claim}`A.Fig3-star-vectors-d10`. The cylinder is the
# control: its neurons point along a whole circle of directions, so there is no finite set of planes. There the exponent is
# {claim}`A.Fig8-star-kernel`, well below 1.
# %% [markdown]
# (own-points)=
# ## The points that chose the kernel serve again
# The kernel at $t^*$ was chosen by $p$ points. One would expect that these are spent: if half of them counted, the error would
# double. It does not: on its own points the kernel has {claim}`A.Fig3-own-points` times the error that it has on fresh ones
# ({numref}`fig-a-own-points`), and on 1024 and 2048 points a smaller one than the network. So train to $t^*$, freeze, and start again on the same points.
# Trained networks' kernels are known to learn images {cite}`long2021`; here the moment matters ({numref}`fig-a-stop`).
#
# The labels must balance, however. Otherwise a constant fits the first tenth of the points, before planes are selected
# ([chapter 2](#label-balance)). We move one plane and freeze the kernel later, when a tenth of *each* label is fitted. Its error is
# {claim}`A.Fig3-each-label` of that at the paper's $t^*$, and {claim}`A.Fig3-each-label-constant` times $d/p$.
# %%
designs = ("own", "stripe", "unequal", "unequal_each_label")
kernels = [claims.learnt_by(chapter.rows(hard_margin.star_kernel, design), "star") for design in designs]
own_points, fresh_points, *unequal = [rows.eval("scaled = error * p / d") for rows in kernels]
fig, (left, right) = plots.panels(2, height=3.6)
for d, line in zip(curve_d, ("-", ":")):
    for rows, colour, words in ((fresh_points, "infinite", "fresh points"), (own_points, "final", "own points")):
        part = rows[(rows.d == d) & rows.p.isin(own_points.p)]
        if len(part):
            style = {"color": plots.COLOURS[colour], "linestyle": line, "label": f"{words}, $d={d}$"}
            plots.over_seeds(left, part, "p", "scaled", **style)
for place, rows in enumerate(unequal):
    right.plot([place] * len(rows), rows.scaled, "o", color=plots.COLOURS["final"], alpha=0.6)
for ax in (left, right):
    ax.axhline(1, color=plots.COLOURS["theory"], linestyle="--")
    ax.set_ylabel(r"error $\times\,p/d$")
left.set(xlabel="training points $p$", title="equal labels", ylim=(0, 2.5))
plots.curve_axes(left, sorted({*own_points.p} or {*fresh_points.p}), errors=False)
right.set_xticks((0, 1), ["$t^*$", "$t^*$ of each label"])
right.set(title="unequal labels", xlim=(-0.5, 1.5), yscale="log")
plots.plain_numbers(right)
alt = "Left, curves near one for own and fresh points. Right, dots far above one, and with t* of each label near one."
chapter.figure(
    fig,
    "fig-a-own-points",
    *filter(len, (own_points, fresh_points, *unequal)),
    title="What does the kernel at $t^*$ need?",
    legend=2,
    alt=alt,
)
# %% [markdown] tags=["caption"]
# **No fresh points, but a tenth of each label.** Test error of the kernel frozen at $t^*$ times $p/d$. Left: trained on the
# network's own points or on as many fresh ones (planes as above, medians and quartiles). Right: planes at -0.3 and 0.5,
# $d=5$, 512 points, frozen when a tenth of all points or of each label is fitted; one dot per seed.
# %% [markdown]
# (unfitted-points)=
# ## From 90 to 98 % of fitted points, the network's error is $\sqrt{nd/\pi}/p$
# In this window the network does one thing: it places the two planes. Let $n$ of the $p$ training points be unfitted,
# $yF<1$. They lie in a band about the planes. The flow moves a plane until the pulls of the points in its band,
# $\pm(1,x_\perp)$, cancel. These are $d$ conditions, for one offset and $d-1$ tilts.
#
# A displacement $\delta$ of plane $k$ changes the sum of its pulls by $-2\varphi_kp\,\delta$, where $\varphi_k$ is the
# density of the points at the plane. The sum itself fluctuates, with the variance $n_k$ in each direction for $n_k$ points in
# the band. Hence
#
# $$
# \delta_i\sim\mathcal N\Bigl(0,\frac{n_k}{(2\varphi_kp)^2}\Bigr),\qquad
# \varepsilon=\sum_k\varphi_k\,\langle|\delta\cdot(1,x_\perp)|\rangle\approx\sum_k\sqrt{\frac{n_kd}{2\pi}}\,\frac1p .
# $$ (eq:A:placing)
#
# With $m$ planes and $n/m$ points at each, $\varepsilon=\sqrt{m/2\pi}\,\sqrt{nd}/p$, which is $\sqrt{nd/\pi}/p$ for two
# planes. There is no number to fit. The law begins late, since the planes must first come into balance: when half of the points are
# fitted, the error is still {glue:text}`half-fitted` times as large. It ends when each plane is held by about $d$ points: there
# $\varepsilon\approx d/p$, the error of the kernel at $t^*$.
# %%
networks = chapter.rows(studies.networks, "stripe").query("curve == 'feature'")
tasks = {
    "two planes": networks[networks.p >= 512],
    "two planes, fresh": chapter.rows(selection.boundary, "fresh"),
    "uneven planes": chapter.rows(selection.boundary, "uneven_planes"),
    "one plane": chapter.rows(selection.boundary, "one_plane"),
    "three planes": chapter.rows(selection.boundary, "three_planes"),
}
fig, (ax, right) = plots.panels(2, height=3.8)
law = planes.unfitted(networks).query("left > 0 and share >= 0.9")
for (d, rows), colour in zip(law.groupby("d"), plots.PALETTE):
    middle = rows.groupby(["p", "share"])[["per_direction", "reduced"]].median()
    ax.plot(middle.per_direction, middle.reduced, "o", color=colour, markersize=4, label=f"$d={d}$")
half = planes.unfitted(networks).query("share == 0.5").groupby(["d", "p"]).constant.median() / placing_constant(2)
chapter.glue("half-fitted", f"{half.min():#.2g} to {half.max():.2g}")
x = np.geomspace(0.1, 200, 50)
ax.plot(x, placing_constant(2) * np.sqrt(x), "--", color=plots.COLOURS["theory"], label=r"$\sqrt{n/\pi d}$")
ax.axhline(1, color=plots.COLOURS["theory"], linestyle=":", label="$d/p$")
ax.set(xscale="log", yscale="log", xlabel="points left for each direction $n/d$", ylabel="error in units of $d/p$")
plots.plain_numbers(ax)
constants = planes.constants(tasks)
plots.intervals(right, dict(enumerate(constants.measured)), fmt="ko", markersize=4)
right.plot(range(len(constants)), constants.theory, "_", color=plots.COLOURS["theory"], markersize=14)
right.set_xticks(range(len(constants)), constants.index, rotation=40, ha="right", fontsize="small")
right.set(ylabel=r"$\varepsilon p/\sqrt{nd}$", ylim=(0, 1.2))
chapter.figure(fig, "fig-a-collapse", *filter(len, tasks.values()), legend=4)
# %% [markdown] tags=["caption"]
# **From 90 to 98 % of fitted points one line without a fitted number describes two planes in $d=5$ and 10 to about a tenth.**
# Left: networks with 90 to 99 % of 128 to 8192 points fitted, medians over seeds; at 99 % or below $n=8d$ they lie above. Right: the constant from
# 90 to 98 % while $n\ge8d$ (95 % intervals), and theory's with the densities at the planes (bars). The last five tasks were declared before
# they were run.
# %% [markdown]
# {numref}`fig-a-collapse` puts all dimensions, sizes and shares on this line. In other dimensions than those on which we found the law its constant
# is {claim}`A.Fig3-planes-fresh` (theory 0.53), for one plane {claim}`A.Fig3-planes-one` (0.38) and for three {claim}`A.Fig3-planes-three` (0.66).
# Three planes leave the window earlier, because $8d$ points are few for each: their constant lies below theory's or at it up to 95 %, and far above
# it at 98 %. A plane in the tail of the data enters late. At densities of 0.40 and 0.05 the constant is {claim}`A.Fig3-planes-density`, twice
# theory's; at 90 % the far plane is not yet found, whereas from 95 % on the constant exceeds theory's by a third at most.
#
# At a *fixed share* of fitted points $n$ grows as $p$, so that by the law the error falls as $p^{-1/2}$ in any dimension, whereas paper A has larger
# exponents. The measured ones grow with the share, from about one half at 90 % on. The function is compressed as $p/\sqrt n$, and paper A's $\sqrt p$
# is this law at a fixed share: from 90 to 95 % its compression grows {claim}`A.Fig3-function-share` times.
#
# ## The last points undo the compression of the weights, and part of the function's
# Paper A writes of the last points that "the previous predictions are not significantly altered during this final regime"
# (Sec. 2.5). We measured two compressions ({numref}`fig-a-function`). That of the weights is $\Lambda$. For that of the
# function we take the root mean square gradient of $F$ on the true boundary, its component along an informative direction over
# that along an uninformative one. The two agree if all neurons are compressed alike.
# %%
rows = pd.concat([chapter.rows(selection.boundary, "stripe"), chapter.rows(selection.boundary, "cylinder")])
tasks = rows[rows.p == rows.p.max()].groupby(["shape", "d"], sort=False)
fig, axes = plots.panels(len(tasks), columns=3, width=3.7, height=3.6, sharey=True)
for ax, ((shape, d), task) in zip(axes, tasks):
    style = {"color": plots.COLOURS["amplification"], "label": r"of the weights, $\Lambda$"}
    plots.along_training(ax, task, "weights", **style)
    style = {"color": plots.COLOURS["feature"], "label": "of the function, on the boundary"}
    plots.along_training(ax, task, "function", **style)
    ax.set(yscale="log", title=f"{shape}, $d={d}$")
    plots.plain_numbers(ax)
axes[0].set_ylabel("compression")
alt = "In three panels two curves rise together; then that of the weights falls far, that of the function much less."
chapter.figure(fig, "fig-a-function", rows, title="What do the last points undo?", legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **All of the weights' compression since $t^*$, and part of the function's.** Both against the fitted fraction of the training
# points, on the largest training sets. Medians and quartiles.
# %% [markdown]
# $\Lambda$ is largest "during the fitting regime" (Sec. 3.2.2): at $t^*$ and at the end it is at most {claim}`A.Fig6-during` of its largest
# value (cylinder; on the stripe it is less). It does not keep that value, although the paper writes that the longer evolution "doesn't alter
# significantly the picture". The predictions change too. The function ends {claim}`A.Fig6-function-end-d5` ($d=5$) and
# {claim}`A.Fig6-function-end-d10` ($d=10$) times as compressed as at $t^*$. But the last two per cent of the points leave
# {claim}`A.Fig6-function-falls-d5` and {claim}`A.Fig6-function-falls-d10` of the compression that it had before them, and raise the test
# error ({numref}`fig-a-stop`).
#
# ## At the end of training the network's exponent lies below paper A's
# - **Lazy learning** should have $\beta=d/(3d-2)$, which is 0.385 in $d=5$ and 0.357 in $d=10$. Over all sizes we measure
#   {claim}`A.Fig3-beta-lazy-d5` and {claim}`A.Fig3-beta-lazy-d10`: not yet asymptotic. Theory approximates the kernel between neighbouring
#   support vectors by its cusp at distance zero, for which they are still too far apart ({numref}`fig-a-layer`).
# - **Feature learning** should have $\beta=(2d-1)/(3d-2)$, which is 0.692 and 0.679. At the end of training we measure
#   {claim}`A.Fig3-beta-feature-d5` and {claim}`A.Fig3-beta-feature-d10`. Both intervals exclude these numbers. Over the larger sizes the
#   exponent is smaller still. There the intervals hold paper B's 0.538 and 0.518, although its argument is {ref}`wrong <erratum-b-planar-exponent>`.
#   When 98 % of the points are fitted, we measure {claim}`A.Fig3-beta-stop-d5` and {claim}`A.Fig3-beta-stop-d10`. Stopping there
#   therefore changes the exponent by as much as the papers differ.
# - **The gain,** the network's exponent less the lazy one on the same data, is {claim}`A.Fig3-gain-d5` and {claim}`A.Fig3-gain-d10`. Paper
#   A has 0.31 and 0.32, which is not reproduced, although a compression of given data alone brings about what the paper says
#   ({numref}`fig-a-gain`).
#
# {ref}`Learning curves, link by link <learning-curve-details>` tests each step of the papers' argument.
# {ref}`Scale, width and the end of training <lazy-feature-checks>` has the passage between the regimes and the exercises.
#
# ## Try it yourself
# - `make chapter-01 NAME=two PARAMS='-p interfaces "[-1.0, 0.0, 1.0]"'` learns three planes.
# - `-p curve_alpha 1.0` trains between the regimes. Where does the curve of the network go?
# - `-p stop 0.95` moves the early stop. Which claims depend on it?
