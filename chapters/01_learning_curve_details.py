# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (learning-curve-details)=
# # Learning curves, link by link
# The papers' exponent of feature learning has three parts: the lazy exponent, the gain of a compression, and the growth of
# the compression $\Lambda$ with the number $p$ of training points. We derive and measure the first two; chapter 2 has the
# third. If the last exponent alone agreed with the papers, this would prove little.
#
# ## The scaling argument
# The theory gives the lazy exponent $\beta_{\rm lazy}=d/(3d-2)$, about 0.4, and a gain $g$ that adds $g/2$ to it.
#
# **The lazy exponent.** A support vector classifier puts its support vectors into a layer of width $\Delta$ about the
# boundary. Its error is $\varepsilon\sim\Delta$. The layer holds about $p\Delta$ support vectors. Along the boundary they are
# at a distance $r\sim(p\Delta)^{-1/(d-1)}$ from each other. Each has a coefficient of size $c$. Two conditions fix $c$ and
# $\Delta$.
#
# *Across* the boundary, coefficients of opposite sign at $\pm\Delta$ make a function $f\approx p\Delta\,c\,\Delta\,x_1 k$. It
# must have $|f|=1$ where $|x_1|=\Delta$. Here $k$ is the second derivative along $x_1$ of the kernel, averaged over the
# boundary. *Along* the boundary, each support vector must correct $f$ by something of order one between its neighbours. Near
# $r=0$ the kernel has a cusp, $K(r)\approx K_0-r$, and so each vector corrects by $c\,r$. Hence
#
# $$
# p\,\Delta^3 c\,k\sim1,\quad c\,r\sim1
# \qquad\Rightarrow\qquad \Delta^{\frac{3d-2}{d-1}}\sim \frac{p^{-\frac d{d-1}}}{k\,s},
# $$ (eq:A:layer)
#
# where $s$ is the factor by which a compression divides $r$. Without one $s=1$ and $k\sim1$, which gives $\beta_{\rm lazy}$.
#
# **The gain.** Divide all $d_\perp$ uninformative coordinates by $\Lambda$. Of the $d-1$ directions along the boundary
# $d_\perp$ shrink. Support vectors come nearer to each other by the factor $s=\Lambda^{d_\perp/(d-1)}$. For planes all $d-1$
# directions shrink, $s=\Lambda$, and the kernel also bends more sharply. Across a boundary of extent $1/\Lambda$ the mean of
# $\partial_1^2\sqrt{x_1^2+r^2}=1/r$ is $k\sim\Lambda$. A curved boundary keeps its extent in $d_\parallel-1$ directions, so
# that $k\sim1$. Inserted into {eq}`eq:A:layer`, this gives $\varepsilon\sim\Lambda^{-g}$ with
#
# $$
# g=\frac{2(d-1)}{3d-2}\ (d_\parallel=1),\qquad g=\frac{d_\perp}{3d-2}\ (d_\parallel>1).
# $$ (eq:A:gain)
#
# Paper B uses the second formula for planes too. It leaves out the bending, and with it half the gain ({ref}`erratum
# <erratum-b-planar-exponent>`).
#
# **The chain.** Suppose that training compresses by $\Lambda\sim\sqrt p$ and does nothing else. Then
#
# $$
# \beta_{\rm feature}=\beta_{\rm lazy}+\frac g2=\frac{2d-1}{3d-2}\ (d_\parallel=1),\qquad
# \frac{d+d_\perp/2}{3d-2}\ (d_\parallel>1).
# $$ (eq:A:beta)
#
# The second formula can hold for $d_\parallel=2$ only, where we test it. For $d_\parallel\ge3$ it exceeds
# $d_\parallel/(3d_\parallel-2)$, the lazy exponent of the informative coordinates alone: the compressed extent $1/\Lambda$
# falls below the distance $r$ of the support vectors, and compressing further gains nothing.
#
# ## Compression gains about what paper A says
# The error of the support vector machine falls with the exponents {claim}`B.Sec5-machine-gain-d5` and
# {claim}`B.Sec5-machine-gain-d10` on planes (paper A has 0.62 and 0.64), and {claim}`A.Fig8-machine-gain` on the cylinder,
# where both papers have 0.14. In {numref}`fig-a-gain` we compress the *same* training sets by a given $\Lambda$, without a
# network. Theory speaks of the machine; the gradient flow of our networks' kernels gains as much.
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
lazy_h = [100, 1000]  # widths of frozen kernels (paper A: 10000)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.estimates import ratio
from companion.papers.compression.claims import learning_curves as claims
from companion.papers.compression.claims import statements
from companion.papers.compression.studies import hard_margin, sensitivity
from companion.papers.compression.studies import lazy_feature as studies
from companion.papers.compression.theory import learning_curves as theory

chapter = Chapter("01", globals())
# %%
flow = [chapter.rows(studies.compressed_by_factor, "stripe"), chapter.rows(studies.compressed_by_factor, "cylinder")]
machine = [chapter.rows(studies.support_vectors, "stripe"), chapter.rows(studies.support_vectors, "cylinder")]
by_learner = [pd.concat(machine).assign(learner="machine"), pd.concat(flow).assign(learner="flow")]
rows = pd.concat(by_learner).fillna({"d_parallel": 1})
tasks = rows.groupby(["shape", "d", "d_parallel"], sort=False)
counts = sorted(rows.p.unique())
colours = dict(zip(counts, plots.from_feature_to_lazy(len(counts))))
fig, axes = plots.panels(len(tasks), columns=3, width=3.5, height=3.9, sharey=True)
for ax, ((shape, d, d_parallel), task) in zip(axes, tasks):
    for (learner, p), part in task.groupby(["learner", "p"], sort=False):
        factors, errors = theory.by_factor(part)
        line = "-" if learner == "machine" else ":"
        style = {"color": colours[p], "linestyle": line, "label": f"{learner}, $p={p}$"}
        plots.realisations(ax, factors, errors / errors[:, :1], **style)
    gain = theory.compression_gain(int(d), int(d_parallel))
    plots.slope_guide(ax, (1, factors[-1]), 1, -gain, "A", above=True)
    if d_parallel == 1:
        plots.slope_guide(ax, (1, factors[-1]), 1, -gain / 2, "B", above=True)
    ax.set(xlabel=r"imposed compression $\Lambda$", title=f"{shape}, $d={d}$")
    plots.curve_axes(ax, factors)
axes[0].set_ylabel("relative error")
alt = "Relative error falling with an imposed compression in three panels, least on the cylinder."
chapter.figure(fig, "fig-a-gain", rows, title="How much does a compression gain?", legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **Near paper A's gain, above it in $d=10$; on planes about twice paper B's.** Error of the infinitely wide initial kernel on
# data compressed by an imposed factor, over that on plain data, learnt by support vector machine (solid) and gradient flow
# (dotted). Medians and quartiles. Dashed: the papers' gains, A and B, which agree on the cylinder.
# %% [markdown]
# ## The lazy exponent is not reached at 8192 points
# The kernel of the infinitely wide network has a closed form, so we need no network for its learning curve
# ({numref}`fig-a-lazy`, black). Its slope still decreases towards the asymptote at the largest sizes. A network with $h$
# neurons has a noisy copy of this kernel. With $p\ll h$ points the noise does not matter. With more points the kernel method
# fits the noise along with the data, and the curve flattens (blue). So a narrow network's curve has theory's slope somewhere,
# but because of its width. At paper A's width, $10^4$, the exponent changes by {claim}`A.Fig3-beta-lazy-width-d5` and
# {claim}`A.Fig3-beta-lazy-width-d10` up to 1024 points, too little to reach theory.
# %%
frozen = chapter.rows(studies.finite_width_lazy, "stripe")
infinite = chapter.rows(studies.infinite_width_lazy, "stripe")
larger_sets = chapter.rows(studies.infinite_width_lazy_large_p, "stripe")
widths = sorted(frozen.h.unique())
blues = plt.get_cmap("Blues")(np.linspace(0.45, 0.85, len(widths)))
shades = dict(zip(widths, blues))
fig, axes = plots.panels(len(curve_d), height=3.7, sharey=True)
for ax, d in zip(axes, curve_d):
    for h, rows in frozen[frozen.d == d].groupby("h"):
        plots.over_seeds(ax, rows, "p", "error", color=shades[h], label=f"$h={h}$")
    style = {"color": plots.COLOURS["infinite"]}
    plots.over_seeds(ax, infinite[infinite.d == d], "p", "error", label=r"$h=\infty$", **style)
    rows = claims.last_sizes(larger_sets[larger_sets.d == d])
    style |= {"linestyle": "--", "marker": "D", "markerfacecolor": "white"}
    plots.over_seeds(ax, rows, "p", "error", label=r"$h=\infty$, more points", **style)
    ends = (rows.p.min(), rows.p.max())
    slope = -theory.lazy_exponent(d)
    plots.slope_guide(ax, ends, 0.6 * rows[rows.p == ends[0]].error.median(), slope, f"${slope:.3f}$")
    ax.set(xlabel="training points $p$", title=f"stripe, $d={d}$")
    plots.curve_axes(ax, sorted({*infinite.p, *larger_sets.p}))
axes[0].set_ylabel(r"test error $\varepsilon$")
chapter.figure(fig, "fig-a-lazy", infinite, larger_sets, frozen, title="How does the frozen kernel learn?", legend=5)
# %% [markdown] tags=["caption"]
# **Faster than theory's slope at these sizes (dashed), and slower for narrow networks.** Lazy learning of the stripe with the
# frozen kernel of networks of several widths (blue) and of the infinitely wide one (black): medians, quartiles as bands. The
# narrower the network, the earlier its curve leaves the black one.
# %% [markdown]
# (curves-of-figure-3)=
# ## The curves of paper A, Fig. 3
# {numref}`fig-a-fig3` repeats the paper's figure with networks trained to the end. One is the network at small $\alpha$, trained to the end:
# its error falls with the exponents {claim}`A.Fig3-beta-feature-d5` ($d=5$) and {claim}`A.Fig3-beta-feature-d10` ($d=10$).
# This is less than its parts add up to at these sizes, the lazy exponent and half the gain (in $d=5$
# {claim}`A.Fig3-beta-lazy-d5` and half of {claim}`B.Sec5-machine-gain-d5`). Any agreement of the network's exponent with
# theory is then due to cancelling errors.
#
# Another curve is the infinitely wide initial kernel on the data, a third the same kernel on data compressed by $\Lambda^*$. The fourth is the
# network's kernel, frozen at the end of training and trained from scratch on an independent set of the same size. With 98 % of the points
# fitted the network's exponent is near paper A's on 512 to 8192 points ({numref}`fig-a-one-stop`), and smaller beyond: from 4096 to 16 384
# points it is {glue:text}`stop-late`.
# %%
networks = chapter.rows(studies.networks, "stripe")
larger = chapter.rows(sensitivity.numerics, "larger")
kernels = chapter.rows(hard_margin.star_kernel, "stripe").query("learner == 'flow'")
initial = [chapter.rows(studies.infinite_width_lazy, "stripe")]
initial.append(chapter.rows(studies.infinite_width_lazy, "stripe_networks"))
initial.append(chapter.rows(studies.infinite_width_lazy_large_p, "stripe"))
stopped = [claims.network_exponent(networks, larger, d=d, share=stop, sizes=(4096, 16384)) for d in curve_d]
chapter.glue("stop-late", " and ".join(str(found[0]) for found in stopped if found) or "—")
fig, axes = plots.panels(len(curve_d), width=4.6, height=4.6, sharey=True)
for ax, d in zip(axes, curve_d):
    trained = networks[networks.d == d]
    end = claims.stripe_networks(trained, larger[larger.d == d], 1.0, fit_from)
    curves = {
        "initial kernel, $h=\\infty$": (claims.same_sets(end, *initial), "infinite", "-"),
        r"data compressed by $\Lambda^*$": (claims.curve_of(kernels[kernels.d == d], "compressed"), "compressed", "--"),
        "kernel after training": (claims.curve_of(trained, "final", 1.0), "final", "-"),
        "network": (end, "feature", "-"),
    }
    for label, (rows, colour, line) in curves.items():
        plots.over_seeds(ax, rows, "p", "error", color=plots.COLOURS[colour], linestyle=line, label=label)
    slope = -theory.feature_exponent(d, 1)
    start = 0.3 * end[end.p == end.p.min()].error.median()
    plots.slope_guide(ax, (end.p.min(), end.p.max()), start, slope, f"${slope:.3f}$")
    ax.set(xlabel="training points $p$", title=f"stripe, $d={d}$")
    plots.curve_axes(ax, end.p.unique())
axes[0].set_ylabel(r"test error $\varepsilon$")
alt = "From above: the initial kernel, the kernel after training, the network, the initial kernel on compressed data."
title = f"Which curve has the network's error? {stated.both_sizes(curve_h, 'A.width')}"
chapter.figure(fig, "fig-a-fig3", networks, larger, kernels, *initial, title=title, legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **None: data compressed by $\Lambda^*$ give a smaller error, the kernel after training a larger one.** Test error against training
# size, as in paper A, Fig. 3 (width $10^4$, up to $10^4$ points): medians and quartiles over seeds. The dashed line has paper A's slope
# for feature learning.
# %% [markdown]
# The kernel after training "outperforms the NTK at initialization" (paper A, Sec. 5.2): its error is
# {claim}`A.Fig3-final-initial-d5` ($d=5$) and {claim}`A.Fig3-final-initial-d10` ($d=10$) times that of the initial kernel. It
# does not reach the network's error: over all sizes the ratio is {claim}`A.Fig3-final-kernel-d5` and
# {claim}`A.Fig3-final-kernel-d10`, and it grows with the size. Paper A writes "very similar to that of the neural net in the
# feature learning regime, except for the largest training set size where it even outperforms it". Paper B writes of
# "essentially identical performance".
#
# ## Compressed data have the network's error at 98 % of fitted points
# The paper compresses by $\Lambda^*$ in its text, and by $\Lambda^*/\sqrt{d_\perp}$ in its public code. Its learner is the frozen kernel of a
# network of width $10^4$. If feature learning were nothing but this compression, this kernel on compressed data would have the network's error,
# "very similar performance" for paper B (Fig. 10, right panel: {claim}`B.Fig10-own-learner`). At the end of training, on 8192 points, the ratio is
# {claim}`A.Fig3-own-learner-d5` and {claim}`A.Fig3-own-learner-d10` with the text's factor, and {claim}`A.Fig3-own-learner-code-d5` and
# {claim}`A.Fig3-own-learner-code-d10` with the code's. When 98 % of the points are fitted it is {claim}`A.Fig3-own-learner-stop-d5` and
# {claim}`A.Fig3-own-learner-stop-d10` with the text's factor; on 1024 points compressed data still have the smaller error
# ({numref}`fig-b-fig10`). The infinitely wide kernel has {glue:text}`infinite-learner` of the network's error at the end of training. What a finite
# width loses grows with the points a neuron: at width $10^4$ this loss is {claim}`A.Fig3-own-learner-width` times as large on 8192 points as on 1024.
# %%
wide = chapter.rows(studies.networks, "wide")
kernel = chapter.rows(studies.compressed_with_initial_kernel, "stripe")
finite, infinite = (kernel[kernel.learner == learner] for learner in ("finite", "infinite"))
ends = {1.0: ("compressed", "end of training"), stop: ("feature", f"{stop:.0%} fitted")}
curves = {"compressed": (r"by $\Lambda^*$", "o-"), "compressed_code": (r"by $\Lambda^*/\sqrt{d_\perp}$", "s:")}
of_infinite = {}
fig, axes = plots.panels(len(curve_d), width=4.4, height=4.0, sharey=True)
for ax, d in zip(axes, curve_d):
    for curve, (label, style) in curves.items():
        for share, (colour, words) in ends.items():
            network = claims.curve_of(wide[wide.d == d], "feature", share)
            ratios = theory.error_ratios(claims.curve_of(finite[finite.d == d], curve), network)
            plots.intervals(ax, ratios, fmt=style, color=plots.COLOURS[colour], label=f"{label}; {words}")
    at_end = theory.error_ratios(
        claims.curve_of(infinite[infinite.d == d], "compressed"), claims.curve_of(wide[wide.d == d], "feature", 1.0)
    )
    of_infinite |= {d: at_end[max(at_end)]} if at_end else {}
    ax.axhline(1, color=plots.COLOURS["theory"], lw=1)
    ax.set(yscale="log", xlabel="training points $p$", title=f"stripe, $d={d}$")
    plots.curve_axes(ax, sorted(wide.p.unique()))
axes[0].set_ylabel("test error over the network's")
chapter.glue("infinite-learner", " and ".join(f"{ratio:#.2g} ($d={d}$)" for d, ratio in of_infinite.items()) or "—")
alt = "Ratios of two errors against training points: those at 98 % with the text's factor rise to one at 8192 points."
title = "Does a compression explain the network?"
chapter.figure(fig, "fig-b-fig10", wide, kernel, title=title, legend=2, alt=alt)
# %% [markdown] tags=["caption"]
# **On 8192 points it does: with 98 % fitted by the text's factor, at the end of training nearly by the code's.** Test error of the frozen kernel of
# width $10^4$ on compressed data over that of networks of this width, at the end of training or with 98 % of the points fitted. The kernel learns the
# network's training set. Geometric means with 95 % intervals.
# %% [markdown]
# ## The cylinder's exponents exceed theory's
# The network's exponent is {claim}`A.Fig8-beta-feature`, where theory has 1/2. The lazy exponent is {claim}`A.Fig8-lazy`, where
# theory has 3/7. One uninformative direction leaves little to gain. In three dimensions points are denser, and the lazy
# exponent is nearer to its asymptote. {numref}`fig-a-fig8` is the error panel of Fig. 8 of paper A; chapter 2 has its
# amplification panel. The kernel at $t^*$ is worse than the initial one on few points: few directions help where the boundary has no
# flat pieces as little as where the target is smooth {cite}`petrini2022`. On more points its neurons hold more directions
# ([chapter 2](#fig-a-ring)), and the ratio falls: at width $10^4$ and 8192 points it is {glue:text}`ring-star`.
# %%
tube = chapter.rows(studies.networks, "cylinder")
kernels = chapter.rows(hard_margin.star_kernel, "cylinder")
compressed, star = (claims.learnt_by(kernels, curve) for curve in ("compressed", "star"))
infinite = chapter.rows(studies.infinite_width_lazy, "cylinder")
infinite_of_networks = chapter.rows(studies.infinite_width_lazy, "cylinder_networks")
network = claims.curve_of(tube, "feature", 1.0)
initial = claims.same_sets(network, infinite, infinite_of_networks)
curves = {
    "initial kernel, $h=\\infty$": (initial, "infinite", "-"),
    r"data compressed by $\Lambda^*$": (compressed, "compressed", "--"),
    "kernel after training": (claims.curve_of(tube, "final", 1.0), "final", "-"),
    "kernel at $t^*$": (star, "final", ":"),
    "network": (network, "feature", "-"),
}
fig, ax = plt.subplots(figsize=(5.6, 4.2))
for label, (rows, colour, line) in curves.items():
    plots.over_seeds(ax, rows, "p", "error", color=plots.COLOURS[colour], linestyle=line, label=label)
ends = (network.p.min(), network.p.max())
start = network[network.p == ends[0]].error.median()
plots.slope_guide(ax, ends, 0.3 * start, -theory.feature_exponent(3, 2), "$-1/2$")
plots.slope_guide(ax, ends, 2.2 * start, -theory.lazy_exponent(3), "$-3/7$", above=True)
ax.set(xlabel="training points $p$", ylabel=r"test error $\varepsilon$", title="Who learns the cylinder fastest?")
plots.curve_axes(ax, sorted(network.p.unique()))
wide = chapter.rows(studies.networks, "wide_cylinder")
ratios = statements.star_over_initial(wide, infinite_of_networks)
if len(ratios) > 1:
    chapter.glue("ring-star", str(ratio(ratios[ratios.columns.max()])))
else:
    chapter.glue("ring-star", "not measured in this run")
chapter.figure(fig, "fig-a-fig8", tube, compressed, star, infinite, infinite_of_networks, legend=2)
# %% [markdown] tags=["caption"]
# **The kernel on compressed data, then the network; the kernel at $t^*$ is the worst.** Test error of the cylinder, as in the
# error panel of paper A, Fig. 8: medians and quartiles. Dashed: theory's slopes, lazy above and feature learning below the
# data. On few points the network has a larger error than the infinitely wide initial kernel, on many a smaller one.
