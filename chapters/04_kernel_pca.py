# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-04)=
# # After learning the first kernel components hold the label, but which one depends on centring
# ## Overview
# Learning moves the label into the first principal components of the {term}`tangent kernel`, as paper A says; but of its kernel,
# whose features have a mean, it is not the first component that holds most of it, and its estimate of information is biased
# where it was thought not to be.
#
# Chapters 1 and 2 look at the weights: they turn, and {term}`compress <compression>` what does not matter. In a deep network on images there is
# no direction to look for. Paper A {cite}`paccolat2021` therefore looks at the tangent kernel, which every network has:
# take its Gram matrix on some data, find its {term}`principal components <kernel principal component>`, and ask what each tells of the label. Before training
# little; afterwards the first ones tell much, and learning with the kernel {term}`frozen <frozen kernel>` *after* training is far better than
# with the one from before. The {term}`stripe` and a deep convolutional network on images of digits behave alike.
#
# What such a network is set against, a kernel that knows no direction, we measure on MNIST and CIFAR-10 as paper B
# {cite}`geiger2021` quotes it: its exponents are about 0.4 and 0.1, whatever the kernel.
#
# We measure all of that on data that have trained nothing. Four things come out differently: which component holds the
# label, how far the estimate of {term}`information <mutual information>` can be trusted, what the whole label costs in the kernel's
# space, and, on the stripe, when the kernel is best.
#
# | symbol | in code | shape | unit, scale |
# |---|---|---|---|
# | $\Theta(x,z)$, $K$ | `ntk` | $(n,n)$ | tangent kernel, its Gram matrix on $n$ points |
# | $\lambda_r,\varphi_r$ | `values`, `vectors` | $(r)$, $(n,r)$ | of $K/n$; $\varphi_r$ has mean square 1 on the points |
# | $\omega_r^2=(\frac1n\sum_\mu\varphi_r(x_\mu)y_\mu)^2$ | `projections` | $(r)$ | all $n$ of them sum to 1 |
# | $\hat I(\varphi_r;y)$ | `information` | $(r)$ | mutual information, bits, from $k=5$ neighbours |
# | $(\sum\lambda)^2/\sum\lambda^2$ | `dimension` | | effective dimension of the kernel |
# | $y^\top Ky/(\lVert K\rVert_F\lVert y\rVert^2)$ | `alignment` | | of kernel and label, 0 to 1 {cite}`cristianini2001` |
# | $\min\lVert f\rVert_\Theta^2$ | `norms` | (2) | of functions at a mean square distance 0.5, and 0.1, from the label, times the mean of $\Theta(x,x)$ |
# %% tags=["parameters"]
# fmt: off
profile: "one of smoke, laptop, paper" = "laptop"  # chosen with --profile
data: "one of mnist, fashion_mnist, digits" = "mnist"  # images, labelled by the parity of their class (paper A: MNIST)
test: "count from 50 to 1e5" = 1000  # test points (paper A's code: 10000)
stripe_d: "count from 2 to 30" = 10  # dimension of the stripe (paper A, Fig. 10: not stated)
stripe_p: "count from 16 to 1e5" = 512  # its training points (paper A: not stated)
stripe_h: "count from 10 to 1e5" = 300  # width (paper A: 10000)
stripe_alpha: "number from 1e-16 to 1" = 1e-6  # scale (paper A: 1e-6)
stripe_seeds: "count to 1000" = 4  # realisations
image_p: "3 or more increasing counts from 20 to 1e5" = [25, 100, 400]  # training images of the learning curves (paper A: 42 to 6944)
image_h: "count from 2 to 40" = 10  # width of the convolutional network (paper A: 10)
alpha: "number from 1e-4 to 1e6" = 1.0  # its scale (paper A: 2e-3)
image_seeds: "count to 1000" = 2  # realisations of the learning curves (paper A: 5)
neighbours: "count to 100" = 5  # of the estimate of information on synthetic data (paper A: 5)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch

import regimes
from companion.estimates import jackknife, mean, ratio, slopes
from companion.report import plots, sketches
from companion.report.chapter import Chapter
from companion.site import components
from companion.studies import far_images, isotropic
from companion.studies import kernel_pca as studies
from companion.theory.kernel_pca import harmonics
from companion.theory.learning_curves import beta, beta_difference, by_size, drift
from regimes.data import datasets
from regimes.measures import information

chapter = Chapter("04", globals())
# %% [markdown]
# ## In one picture
# A kernel draws every data set on a plane of its own, that of its first two components. {numref}`fig-sketch-plane` shows how
# much that plane tells of the label, before and after a compression.
# %%
chapter.figure(
    sketches.kernel_plane(),
    "fig-sketch-plane",
    "The stripe in ten dimensions as a kernel sees it: points in the plane of its first two components (centred, infinite width). "
    "Left: all directions count alike, and labels mix. Right: the nine directions that tell nothing are divided by eight, which is "
    "what feature learning does to the data, and labels part.",
    alt="Two clouds of points in the plane of two components. On the left circles and triangles are mixed; on the right the points "
    "lie along a bent band, in pieces of one label each.",
)
# %% [markdown]
# ## How much does a number tell of a label?
# For labels of equal frequency $I(x;y)=1-\mathbb E_x h_2(P(+|x))$ bits, with the binary entropy $h_2$. Appendix E of the
# paper estimates $P(+|x)$ from the distances $r_\pm$ of $x$ to its $k$-th nearest point of either label,
#
# $$
# \hat q_+(x)=\frac1{1+(r_+/r_-)^d},
# $$ (eq:A:estimator)
#
# and names two flaws: in large $d$ the estimate leans to $\frac12$, and for points on a manifold, with $d$ that of the
# space, to the extremes. In one dimension, where it is used, these are absent. Two others are there. If $x$ tells
# nothing, both distances are those of Poisson points, $\hat q$ is a Beta$(k,k)$ variable, and the estimate is
# $1-(H_{2k}-H_k)/\ln2$, however many points there are. And if the label jumps, $\hat q$ goes to 0 and 1 only as a ratio of
# distances: the estimate lacks about $\frac k{2n}\log_2^2\frac nk$ a jump. scikit-learn's estimate
# {cite}`kraskov2004,ross2014`, of nearest neighbours too, has neither.
# %%
lines, wide = (chapter.rows(studies.estimators, design) for design in ("one_dimension", "more_dimensions"))
samples = sorted(chapter.design(studies.estimators, "one_dimension")["n"])
flat, steep = information.null_bias(neighbours), [information.sharp_loss(n, neighbours) for n in samples]
kinds = {"estimate": "paper A, text", "code": "paper A, code", "nearest": "scikit-learn"}


def estimated(ax, rows, kind, over, label):
    """Mean errors of an estimate against ``n`` or ``d``; bars: one standard deviation."""
    errors = (rows[kind] - rows.exact).groupby(rows[over]).agg(["mean", "std"])
    ax.errorbar(errors.index, errors["mean"], errors["std"], marker="o", markersize=4, label=label)
    ax.axhline(0, color=plots.COLOURS["theory"], linewidth=0.8)


# %%
fig, axes = plots.panels(3, columns=3, height=3.8)
for ax, kind in zip(axes, ("estimate", "nearest")):
    for case, rows in lines.groupby("case", sort=False):
        estimated(ax, rows, kind, "n", f"{case}, {rows.exact.mean():.2f} bits")
    ax.set(xlabel="points $n$", title=kinds[kind], ylim=(-0.5, 0.2))
    plots.curve_axes(ax, samples, errors=False)
axes[0].plot(samples, np.full(len(samples), flat), "--", color=plots.COLOURS["theory"])
axes[0].plot(samples, [-loss for loss in steep], "--", color=plots.COLOURS["theory"], label="derived")
axes[0].set_ylabel("estimate − exact (bits)")
for case, name in (("filled", "points fill the space"), ("line", "points on a line")):
    estimated(axes[2], wide[wide.case == case], "estimate", "d", name)
axes[2].set(xlabel="dimension $d$", title="two flaws of the text")
axes[2].legend(fontsize="small", loc="upper right", bbox_to_anchor=(1, 0.66))
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=4, fontsize="small")
chapter.figure(
    fig,
    "fig-a-appe",
    "Errors of estimates of mutual information in one dimension, paper A's (left) and scikit-learn's nearest-neighbour "
    "estimate (middle), and paper A's in more dimensions (right); bars: one standard deviation. "
    "Dashed: the two biases derived above, for nothing told and for one sharp jump.",
    lines,
    wide,
    alt="Errors of three estimates of information against points and dimension: paper A's is biased where nothing "
    "is told and at a sharp jump, along dashed lines; scikit-learn's is near zero.",
)
# %%
most = lines[lines.n == samples[-1]]
worst = (most.estimate - most.exact).groupby(most.case).mean().abs().idxmax()
told = {case: most[most.case == case] for case in studies.CASES}
errors = told[worst].estimate - told[worst].exact
chapter.check("A.AppE-bias", mean(errors * np.sign(errors.mean())), told[worst], figure="fig-a-appe")
chapter.check("A.AppE-null", mean(told["null"].estimate), told["null"], figure="fig-a-appe")
chapter.check("A.AppE-code", mean(told["null"].code), told["null"], figure="fig-a-appe")
chapter.check("A.AppE-sharp", mean((1 - told["sharp"].estimate) / steep[-1]), told["sharp"], figure="fig-a-appe")
far = wide[wide.d == wide.d.max()]
filled, line = far[far.case == "filled"], far[far.case == "line"]
chapter.check("A.AppE-dimension", mean(filled.estimate - filled.exact), filled, figure="fig-a-appe")
chapter.check("A.AppE-manifold", mean(line.estimate - line.exact), line, figure="fig-a-appe")
# %%
spread = [
    {"estimator": kinds[kind], "case": case, "bits": rows.exact.mean(), "bias": (rows[kind] - rows.exact).mean(),
     "scatter": rows[kind].std()}
    for case, rows in told.items() for kind in kinds
]  # fmt: skip
chapter.table(
    pd.DataFrame(spread),
    "tab-a-appe",
    "Bias and standard deviation of three estimates at the most points, in bits.",
    most,
    digits=2,
)
# %% [markdown]
# Read the information below with that in mind: 0.07 bits is nothing, and a component that tells everything does not
# show 1.
#
# ## In many dimensions an untrained component tells little
# Before training the kernel of a fully connected network is isotropic. After the constant come the $d$ linear functions, of one
# eigenvalue: components $u\cdot x$, and $u$ points anywhere. Along $u$ the stripe shows by $u_1^2\sim1/d$, and what such a
# function tells is on the average $c/d$ bits with $c\approx0.1$. Of that little the estimate shows a part. Where the label's
# log odds are $s$ those of the estimate are $s+L$, with $L$ the logit of a Beta$(k,k)$ variable, and to second order in $s$
#
# $$
# \hat I-\hat I_0=\frac{2k^2}{(2k+1)(k+1)}\,I,\qquad\hat I_0=1-\frac{H_{2k}-H_k}{\ln2},
# $$ (eq:A:little)
#
# 0.758 of it for $k=5$: the bias is not the same whatever a variable tells ({numref}`fig-4-initial`).
# %%
untrained = chapter.rows(isotropic.initial, "main")
dimensions = sorted(untrained.d.unique())
excess = untrained.pivot(index="seed", columns="d", values="information") - flat
exact = untrained.groupby("d").exact.first()
# %%
fig, ax = plt.subplots(figsize=(6.0, 4.0))
means = [mean(excess[d]) for d in dimensions]
bars = np.array([[one.value - one.low, one.high - one.value] for one in means]).T
ax.errorbar(dimensions, [one.value for one in means], bars, fmt="o", color=plots.COLOURS["lazy"], label="estimated")
ax.plot(dimensions, exact, ":", color=plots.COLOURS["theory"], label="linear functions, exact")
shown_part = harmonics.little_shown(neighbours)
ax.plot(dimensions, shown_part * exact, "--", color=plots.COLOURS["theory"], label="what the estimate shows of it")
ax.set(xscale="log", yscale="log", xlabel="dimension $d$", ylabel=r"$\hat I-\hat I_0$, bits", ylim=(1e-3, 1))
ax.set_xticks(dimensions, [f"{d}" for d in dimensions])
ax.minorticks_off()
ax.legend()
chapter.figure(
    fig,
    "fig-4-initial",
    "What the first components of the untrained kernel of infinite width tell of the stripe, less the estimate's bias, against the "
    "dimension: the mean over the first ten centred ones, or $d$ if these are fewer; bars: 95 % intervals. Dotted: what linear "
    "functions of random directions tell; dashed: the part of it that the estimate shows where it is little.",
    untrained,
    alt="Information of untrained components against the dimension, falling as its inverse along a dashed line.",
)
# %%
many = [d for d in dimensions if d >= 10]
falling = jackknife(
    excess.to_numpy(), lambda rows: np.polyfit(np.log(dimensions), np.log(rows.mean(0).clip(1e-6)), 1)[0]
)
chapter.check("A.Fig10-init-dimension", falling, untrained, figure="fig-4-initial")
part = mean(excess[many].sum(axis=1) / exact[many].sum())
chapter.check("A.AppE-little", part, untrained[untrained.d.isin(many)], figure="fig-4-initial")
# %% [markdown]
# ## Before and after: the stripe and the images
# A network with one hidden layer learns the stripe of chapter 1 at small $\alpha$; paper A's network of sixteen convolutions,
# 23 251 parameters without batch norm, learns whether a digit is even. Both go to {term}`zero loss`, where every point has a
# {term}`margin` of 1. Then we take $n$ new points, and the kernel of *all* parameters and that of the *last layer* alone, whose
# components are those of the features it sees. On the stripe the steps of the flow are ten times finer than the usual ones of
# chapters 1 and 2, and in float64: kernels are looked at late, where a coarser flow leads to other networks
# ({numref}`fig-a-sensitivity`). From the usual steps in float32 to these, numbers that claims on the stripe are about moved by 0.03
# at most, that of A.Fig10-peak-stripe by 0.08, that of A.AppD-form by 0.17. The error of a step goes to zero with its tolerance:
# about a ninth of that is left, less than separates each interval from the end of its band, but for A.AppD-harmonics (0.003
# against 0.002). A.Fig10-norm-tenth is a matter of the smallest eigenvalues and certain in its sign alone.
#
# A last layer has few features, or many of little weight. Its Gram matrix then has eigenvalues as small as rounding errors, and
# a flow along their eigenvectors ends differently on each type of processor. We therefore add a small *ridge*
# $\epsilon\mathbf 1$ to the Gram matrix of every frozen kernel: besides the features of the kernel, each training point has
# one of its own that no other point sees. The end is then unique, and what the kernel fits with eigenvalues far above
# $\epsilon$ is unchanged: half or twice the ridge moves test errors by 0.005 at most.
#
# The paper's matrix is $K_{\mu\nu}=\psi(x_\mu)\cdot\psi(x_\nu)$ with the gradients $\psi$ as they are. Kernel PCA usually
# subtracts their mean. We do both, for a reason.
# %%
# more realisations than a laptop trains in minutes are kept in results/; they join those of the same settings, and a
# changed parameter leaves them out
stripes, curves = chapter.rows(studies.stripes, "main"), chapter.rows(studies.curves, "main")
on_stripe, on_images = (chapter.design(study, "main") for study in (studies.stripes, studies.curves))
stripe_n, stripe_many, image_n = on_stripe["n"][0], on_stripe["many"][0], on_images["n"][0]
stops, half = on_stripe["stops"][0], f"{on_images['stops'][0][0]:g}"
largest = curves[curves.p == image_p[-1]]
both = {"stripe": stripes, data: largest}


def at(rows, kernel, moment):
    """The rows of one kernel at one moment."""
    return rows[(rows.kernel == kernel) & (rows.moment == moment)]


def ranks(rows, name):
    """A quantity of the components, ``(realisations, rank)``."""
    return np.array(rows[name].tolist(), dtype=float)


# %%
trained_on = (
    f"Stripe: {stripe_p} training points in $d={stripe_d}$, width {stripe_h}, scale $10^{{{np.log10(stripe_alpha):.3g}}}$, components on {stripe_n} "
    f"other points. Images: {image_p[-1]} training images, width {image_h}, scale {alpha:g}, components on {image_n} others."
)
views = {
    "kernel, start": ("full", "start", plots.COLOURS["lazy"]),
    "kernel, end": ("full", "end", plots.COLOURS["final"]),
    "last layer, end": ("last", "end", plots.COLOURS["last"]),
}
columns = {
    "information": r"$\hat I(\varphi_r;y)$, bits",
    "projections": r"$\omega_r^2$, paper's matrix",
    "projections_centred": r"$\omega_r^2$, centred",
}
# %%
fig, axes = plots.panels(6, columns=3, height=3.1)
for row, (name, rows) in enumerate(both.items()):
    for ax, (column, title) in zip(axes[3 * row : 3 * row + 3], columns.items()):
        for label, (kernel, moment, colour) in views.items():
            components.by_rank(ax, ranks(at(rows, kernel, moment), column), color=colour, label=label)
        ax.set(title=name, ylabel=title)
axes[0].axhline(flat, color=plots.COLOURS["theory"], linestyle="--", linewidth=1)
axes[3].axhline(flat, color=plots.COLOURS["theory"], linestyle="--", linewidth=1)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(
    fig,
    "fig-a-10",
    "What each of the first ten components tells of the label, and the label's projection on it, for the stripe (above) "
    "and images (below); paper A, Fig. 10; paper B, Fig. 11. Dashed: the estimate where nothing is told. "
    "Training lifts the first components. On the stripe the projection is on the second component of the paper's "
    "matrix, and on the first of the centred one. Lines: means; bands: 95 % intervals. "
    f"{trained_on}",
    stripes[stripes.kernel != "network"],
    largest[largest.kernel != "network"],
    alt="Information and projections of the first ten components, before and after training: flat and low before; "
    "after it the first components tell most. Stripe above, images below.",
)


# %%
def largest_information(rows, kernel, moment):
    """The most that one of the first ten components tells, one number a realisation."""
    return ranks(at(rows, kernel, moment), "information").max(1)


def first_share(rows, column):
    """The first component's share of the ten after training, one number a realisation."""
    found = ranks(at(rows, "full", "end"), column)
    return found[:, 0] / found.sum(1)


# %%
for name, rows in (("stripe", stripes), ("mnist", largest)):
    before = at(rows, "full", "start")
    begun = largest_information(rows, "full", "start")
    slope = np.polyfit(np.arange(10), ranks(before, "information").T, 1)[0]
    chapter.check(f"A.Fig10-init-{name}", mean(begun), before, figure="fig-a-10")
    chapter.check(f"A.Fig10-flat-{name}", mean(9 * slope), before, figure="fig-a-10")
    for claim, kernel in (("gain", "full"), ("last-layer", "last")):
        gained = mean(largest_information(rows, kernel, "end") - begun)
        chapter.check(f"A.Fig10-{claim}-{name}", gained, before, at(rows, kernel, "end"), figure="fig-a-10")
    after = at(rows, "full", "end")
    chapter.check(f"A.Fig10-projection-{name}", mean(first_share(rows, "projections")), after, figure="fig-a-10")
    centred = mean(first_share(rows, "projections_centred"))
    chapter.check(f"A.Fig10-centred-first-{name}", centred, after, figure="fig-a-10")
    held, held_before = (ranks(one, "projections").sum(1) for one in (after, before))
    chapter.check(f"B.Fig11-projects-{name}", mean(held - held_before), before, after, figure="fig-a-10")
# %% [markdown]
# The caption of the paper's Fig. 11 says that of the stripe's components the first alone tells of the label.
# %%
trained = at(stripes, "full", "end")
for claim, column in (("only-first", "information_centred"), ("only-first-matrix", "information")):
    second = ranks(trained, column)[:, 1]
    chapter.check(f"A.Fig11-{claim}-stripe", mean(second - flat), trained, figure="fig-a-10")
# %% [markdown]
# Why the second? The features of the paper's matrix have a mean, and its first component is what that mean makes of every
# point: nearly a constant at the start ({numref}`fig-a-11`, first and third row). After training it is a mixture of the constant and the label, which lie in one
# plane; whatever of the label is orthogonal to it falls on the second ({ref}`erratum <erratum-a-centred>`).
#
# ## The plane of the first two
# %%
fig, axes = plots.panels(12, columns=3, width=2.55, height=2.75)
matrices = [(name, rows, end) for name, rows in both.items() for end in ("", "_centred")]
for row, (name, rows, ending) in enumerate(matrices):
    for ax, (label, (kernel, moment, _)) in zip(axes[3 * row : 3 * row + 3], views.items()):
        one = at(rows, kernel, moment).iloc[0]
        components.plane(ax, one[f"plane{ending}"], one.labels)
        words = f"{name}{ending.replace('_', ', ')}\n{label}"
        ax.set_title(f"{words}\nbest line {100 * one[f'separable{ending}']:.0f} %", fontsize="small")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
chapter.figure(
    fig,
    "fig-a-11",
    "New points in the plane of the first two components, coloured by label, one realisation; of the matrix as the text has "
    "it, and centred (paper A, Fig. 11). The best line is found on one half of the points and judged on the other. "
    "Of the two only the centred kernel's plane looks like noise at the start, as the paper describes its figure. "
    f"{trained_on}",
    *(at(rows, kernel, moment) for rows in both.values() for kernel, moment, _ in views.values()),
    alt="Twelve scatter plots of points in the plane of two components, coloured by label: mixed at the start, in "
    "two groups after training.",
)
# %% [markdown]
# On $n$ points, components whose eigenvalues lie near each other come out mixed. The second component of the stripe's
# trained kernel lies little above a row of others, and in its plane a line is right less often on a thousand points than
# on many. A product of the kernel with a vector, $K v=J(J^\top v)$, takes no more than a gradient of all points does, so
# that the first components can be had without the matrix, on six times the points. The stripe's plane after training and
# the two kinds of components below are judged on these.
#
# Of the last layer the paper takes the "principal components" of its activations. These have their mean subtracted, and so
# have those that are judged here. Of the full kernel it takes the eigenvectors of its matrix, which has a mean.
# %%
for name, rows, column in (("stripe", stripes, "separable_many"), ("mnist", largest, "separable")):
    begun, after, last = (at(rows, kernel, moment) for kernel, moment, _ in views.values())
    chapter.check(f"A.Fig11-init-{name}", mean(begun.separable), begun, figure="fig-a-11")
    chapter.check(f"A.Fig11-after-{name}", mean(after[column]), after, figure="fig-a-11")
    chapter.check(f"A.Fig11-last-centred-{name}", mean(last.separable_centred), last, figure="fig-a-11")
    chapter.check(f"A.Fig11-line-{name}", mean(last.dimension_centred), last, figure="tab-a-11")
# %%
own = at(largest, "network", "end")
chapter.say(
    f"On images the network itself is right on {mean(100 * (1 - own.error))} % of the test points after {image_p[-1]} "
    f"training images, the best line in the plane of its kernel on {mean(100 * at(largest, 'full', 'end').separable)} % (centred: "
    f"{mean(100 * at(largest, 'full', 'end').separable_centred)} %), in that of its last layer on "
    f"{mean(100 * at(largest, 'last', 'end').separable)} % (centred: {mean(100 * at(largest, 'last', 'end').separable_centred)} %)."
)
at_end = at(stripes, "last", "end")
chapter.say(
    f"On the stripe a line in the plane of the last layer's components is right on {mean(100 * at_end.separable_centred)} % of the "
    f"points, and on {mean(100 * at_end.separable)} % where the mean is left in; the network itself is right on "
    f"{mean(100 * (1 - at(stripes, 'network', 'end').error))} %."
)
after = at(stripes, "full", "end")
chapter.say(
    f"On the stripe the best line in the plane of the trained kernel is right on {mean(100 * after.separable)} % of {stripe_n} "
    f"points, and on {mean(100 * after.separable_many)} % of {stripe_many}."
)
features = at(largest, "last", "end")
chapter.check("A.Fig11-dimension", mean(features.distances), features, figure="tab-a-11")
# %%
told = [
    {"task": name, "kernel": label, "effective dimension": str(mean(one.dimension)), "centred": str(mean(one.dimension_centred)),
     "by distances": str(mean(one.distances)), "alignment": str(mean(one.alignment))}
    for name, rows in both.items()
    for label, (kernel, moment, _) in views.items()
    for one in [at(rows, kernel, moment)]
]  # fmt: skip
chapter.table(
    pd.DataFrame(told),
    "tab-a-11",
    "Dimension of the kernels by their eigenvalues, as in the text and centred, and by the distances of nearest neighbours "
    "(paper A, footnote 5); alignment with the label. Stripe: after "
    f"{stripe_p} points, on {stripe_n} others; images: after {image_p[-1]}, on {image_n} others.",
    *(at(rows, kernel, moment) for rows in both.values() for kernel, moment, _ in views.values()),
)
# %% [markdown]
# ## Two kinds of components
# If the weights have lost the uninformative directions the stripe's kernel is (App. D of the paper)
#
# $$
# \Theta(x,z)=\Theta_1(x_\parallel,z_\parallel)+\Theta_2(x_\parallel,z_\parallel)\,x_\perp\cdot z_\perp ,
# $$ (eq:A:two-kinds)
#
# and its components are functions of $x_\parallel$ or such a function times $u\cdot x_\perp$. We fit each component by
# splines in $x_1$, and by splines times each $x_\perp$, and count what is explained beyond what the fit's unknowns would
# explain of noise.
#
# Little of that needs learning. The first $d+1$ components of an isotropic kernel are the constant and the linear functions,
# and all of these are of the two kinds, but for a mixing: where eigenvalues are equal $x_1$ lies anywhere among the linear
# functions, and the least share of one kind among the first ten is 0.66 on the average. Then come
# $\frac12d(d+1)-1$ second harmonics, of which only $d$ are of the two kinds, $x_1^2$ and the $x_1x_i$: 0.185 of them for
# $d=10$. The next $d+1$ components therefore tell whether a kernel has learnt, and their mean share does not depend on how
# equal eigenvalues mix.
# %%
full, spectra = stripes[stripes.kernel == "full"], chapter.rows(studies.stripe_spectra, "main")
moments = ["start", *(f"{stop:g}" for stop in stops), "end"]
shares = {moment: ranks(full[full.moment == moment], "kinds") for moment in moments}
further = {moment: ranks(spectra[spectra.moment == moment], "kinds") for moment in moments}
departure = full.pivot(index="seed", columns="moment", values="departure")
# %%
fig, axes = plots.panels(len(moments), height=2.8, sharex=True, sharey=True)
kinds_of = {r"$\varphi(x_1)$": plots.PALETTE[0], r"$\varphi(x_1)\,u\cdot x_\perp$": plots.PALETTE[1]}
for ax, moment in zip(axes, moments):
    share = further[moment].clip(0).mean(0)
    for part, bottom, (label, colour) in zip(share.T, (0, share[:, 0]), kinds_of.items()):
        ax.bar(np.arange(1, len(share) + 1), part, bottom=bottom, color=colour, label=label)
    when = moment if moment in ("start", "end") else f"{float(moment):.0%} satisfied"
    ax.axvline(stripe_d + 1.5, color=plots.COLOURS["theory"], linestyle=":")
    ax.set(title=f"{when}: departs by {departure[moment].mean():.2f}", ylim=(0, 1.05))
fig.supxlabel("rank $r$", fontsize="medium")
fig.supylabel("share explained", fontsize="medium")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, fontsize="small")
chapter.figure(
    fig,
    "fig-a-appd",
    "Shares of the first components of the stripe's kernel that the two kinds explain, at the start, at satisfied "
    "fractions and at the end, means over realisations; above each panel the relative distance of the kernel from its "
    "two-kind form (paper A, App. D). Left of the dotted line are as many components as constant and linear functions, which are of "
    f"the two kinds before training, too. {stripe_p} training points, width {stripe_h}; components on {stripe_many} other points.",
    spectra,
    full,
    alt="Stacked bars of components at four moments of training: shares explained by functions of the informative "
    "coordinate and by such functions times the others. At the start the second half of the bars is low.",
)
# %%
end = full[full.moment == "end"]
least = {moment: shares[moment].max(-1).min(-1) for moment in moments}
next_ones = {moment: further[moment][:, stripe_d + 1 :].sum(-1).mean(-1) for moment in moments}
chapter.check("A.AppD-two-kinds", mean(least["end"]), end, figure="fig-a-appd")
chapter.check("A.AppD-harmonics", mean(next_ones["end"]), spectra[spectra.moment == "end"], figure="fig-a-appd")
chapter.check("A.AppD-form", ratio(departure["end"] / departure["start"]), full, figure="fig-a-appd")


# %%
def told_by_kind(rows):
    """Information of the first ten components, means weighted by their shares of either kind, ``(realisations, 2)``."""
    weights, bits = ranks(rows, "kinds").clip(0), ranks(rows, "information")
    return (weights * bits[..., None]).sum(1) / weights.sum(1)


begun = full[full.moment == "start"].sort_values("seed")
end = end.sort_values("seed")
first, second = told_by_kind(end).T
chapter.check("A.AppD-first-kind", mean(first - second), end, figure="fig-a-appd")
untold = ranks(begun, "information").mean(1)
chapter.check("A.AppD-second-kind", mean(second - untold), begun, end, figure="fig-a-appd")
chapter.say(
    f"After learning components of the first kind tell {mean(first)} bits, those of the second {mean(second)}; before, the first "
    f"ten {mean(untold)}, where {flat:.3f} is nothing. The function of $x_1$ in a component of the second kind says how large it is, "
    "whatever its sign."
)
# %%
late = at(stripes, "full", "end").set_index("seed").error / at(stripes, "full", f"{stops[0]:g}").set_index("seed").error
chapter.say(
    f"On the stripe the kernel frozen at the end errs {ratio(late)} times as much as the one frozen when {100 * stops[0]:g} % of "
    "the points were satisfied."
)
chapter.say(
    "The smallest share of one kind among the first ten is "
    + ", ".join(f"{mean(values)} at {moment}" for moment, values in least.items())
    + f". Of the {stripe_d + 1} components after constant and linear functions both kinds together explain "
    + ", ".join(f"{mean(values)} at {moment}" for moment, values in next_ones.items())
    + "."
)
# %% [markdown]
# The components become what the paper says, then, beyond what they were before. The kernel as a whole does not come near its form
# ({numref}`fig-a-appd`, above the panels): its distance is larger half-way than at the start. At the start the constant and
# the linear functions hold nearly all of the kernel's norm, and what is not of the form has little of it; neurons point
# anywhere, and their deviations average. After learning they point to few places, where a small $\omega_\perp$ moves the kinks of
# all together. We expect that to change the sides of a part of the points of order $1/\Lambda$, and hence a distance of order
# $\Lambda^{-1/2}$: the limit is far.
# %%
there = full[full.moment == f"{stops[-1]:g}"]
logs = np.log(there[["amplification", "departure"]].to_numpy())
if len(logs) > 2:
    slope = jackknife(logs, lambda rows: np.polyfit(*rows.T, 1)[0])
    chapter.say(
        f"Between realisations, when {100 * stops[-1]:g} % of the points are satisfied, the distance goes as $\\Lambda$ to the "
        f"power {slope}; there $\\Lambda$ is {ratio(there.amplification)}, at the end {ratio(end.amplification)}."
    )
# %% [markdown]
# ## What the label costs
# A kernel learns well, the paper argues, where the label's squared norm in its space is small, and learning reduces
# $\lVert y\rVert_\Theta^2=\sum_r\omega_r^2/\lambda_r$. For a label that jumps the sum has no limit: more components, on more
# points, always add to it. Nor do its first terms compare kernels: after learning they hold more of the label and sum to more. We
# therefore ask for the least norm of a function that leaves a given part of the label, $\langle(f-y)^2\rangle=0.5$ or 0.1, on new
# points.
# %%
norms = {moment: ranks(spectra[spectra.moment == moment].sort_values("seed"), "norms") for moment in moments}
change = np.log(norms["end"] / norms["start"])
told = [
    {"moment": moment} | {f"{left:g} left": str(ratio(values[:, i])) for i, left in enumerate(studies.LEFT)}
    for moment, values in norms.items()
]
chapter.table(
    pd.DataFrame(told),
    "tab-4-norms",
    "Least squared norm, times the mean of $\\Theta(x,x)$, of a function in the space of the stripe's kernel that leaves a part "
    f"of the label, along training; {stripe_p} training points, {stripe_n} others on which the function is taken. What is above "
    "$10^{10}$ hangs on rounding errors of the smallest eigenvalues.",
    spectra,
)
for name, column in zip(("half", "tenth"), change.T):
    chapter.check(f"A.Fig10-norm-{name}", mean(column), spectra, figure="tab-4-norms")
# %% [markdown]
# The first half of the label becomes cheap, and the last tenth dear: the kernel has turned from most directions, and the points near an
# interface can be told apart only with what is left of them. A kernel that learns well need not give the whole label a small norm.
#
# ## Learning curves of a deep network and its kernels
# Five curves on images ({numref}`fig-a-9`): the network, and its full and last-layer kernels frozen before and after
# training. A kernel from after training learns from a training set that did not make it. Thin lines: kernels frozen on
# the way, at the first of the satisfied fractions.
#
# As paper A we descend with momentum in continuous time, in larger steps than its code's. Implicit steps of the flow
# itself (chapter 3) end at networks that err as much, as the table below says, and serve for the scan of the scale.
# %%
thin = {"linewidth": 0.7, "markersize": 2}
styles = {
    ("network", "end"): {"color": plots.COLOURS["feature"], "label": "network"},
    ("full", "start"): {"color": plots.COLOURS["lazy"], "linestyle": "--", "label": "kernel, start"},
    ("full", "end"): {"color": plots.COLOURS["final"], "label": "kernel, end"},
    ("last", "start"): {"color": plots.COLOURS["last"], "linestyle": "--", "label": "last layer, start"},
    ("last", "end"): {"color": plots.COLOURS["last"], "label": "last layer, end"},
    ("full", half): {"color": plots.COLOURS["final"], "label": "kernel, on the way", **thin},
    ("last", half): {"color": plots.COLOURS["last"], "label": "last layer, on the way", **thin},
}
# %%
beyond, larger = (chapter.rows(far_images.far, design) for design in ("images", "larger"))
beyond, larger = (rows[rows.p == rows.p.max()] for rows in (beyond, larger))  # the largest size alone
far_p, far_count = beyond.p.iloc[0], beyond.seed.nunique()
reached = sorted({*image_p, *beyond.p, *larger.p})
# %%
fig, ax = plt.subplots(figsize=(6.4, 4.6))
for (kernel, moment), style in styles.items():
    plots.realisations(ax, *by_size(at(curves, kernel, moment)), **style)
    there = at(pd.concat([beyond, larger]), kernel, moment)
    ax.plot(there.p, there.error, "D", color=style["color"], markersize=3, alpha=0.6)
p, errors = by_size(at(curves, "network", "end"))
plots.slope_guide(ax, (p[0], p[-1]), 0.85 * np.median(errors[:, 0]), -1 / 2, "$-1/2$")
plots.slope_guide(ax, (p[0], p[-1]), 1.5 * np.median(errors[:, 0]), -1 / 3, "$-1/3$", above=True)
ax.set(xlabel="training points $p$", ylabel=r"test error $\varepsilon$")
plots.curve_axes(ax, reached)
fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(
    fig,
    "fig-a-9",
    "Test error of the convolutional network and of its frozen kernels against the number of training images, as in paper "
    f"A, Fig. 9, and paper B, Fig. 9 right; thin: kernels frozen when {100 * float(half):g} % of the points are satisfied. Width "
    f"{image_h}, scale {alpha:g}, {test} test images. Medians, with quartiles as bands. Diamonds: single realisations at sizes "
    "beyond.",
    curves,
    beyond,
    larger,
    alt="Learning curves on images with two dashed slopes: the kernels from before training highest, below them the network, and the "
    "kernels from after training close to it.",
)


# %%
ENDED = ("zero loss", "fitted")  # of a frozen kernel, of a network


def gap(first, second, rows=largest):
    """Difference of log errors at the largest size, first minus second, paired over realisations that both ended."""
    one, two = (at(rows, *which).set_index("seed", drop=False) for which in (first, second))
    ended = one.ended.isin(ENDED) & two.ended.isin(ENDED)
    return mean(np.log(one.error / two.error)[ended]), one[ended], two[ended]


network, lazy = at(curves, "network", "end"), at(curves, "full", "start")
start, early = ("full", "start"), ("full", "end")
chapter.check("A.Fig9-order", *gap(start, ("network", "end")), figure="fig-a-9")
chapter.check("A.Fig9-final-gain", *gap(start, early), figure="fig-a-9")
chapter.check("A.Fig9-final-kernel", *gap(("network", "end"), early), figure="fig-a-9")
chapter.check("A.Fig9-last-layer", *gap(("last", "end"), ("network", "end")), figure="fig-a-9")
chapter.check("A.Fig9-last-layer-gain", *gap(("last", "start"), ("last", "end")), figure="fig-a-9")
chapter.check("A.Fig9-early", *gap(early, ("full", half)), figure="fig-a-9")
chapter.check("A.Fig9-feature", drift(beta, network), network, figure="fig-a-9")
chapter.check("A.Fig9-lazy", drift(beta, lazy), lazy, figure="fig-a-9")
chapter.check("A.Fig9-gain", drift(beta_difference, network, lazy), network, lazy, figure="fig-a-9")
chapter.check("B.Fig9-cnn", drift(beta_difference, network, lazy), network, lazy, figure="fig-a-9")
chapter.check("B.Fig9-beta-feature", drift(beta, network), network, figure="fig-a-9")
chapter.check("B.Fig9-beta-lazy", drift(beta, lazy), lazy, figure="fig-a-9")
# %%
difference = beta_difference(network, lazy)
octaves = np.log2(image_p[-1] / min(image_p))
chapter.say(
    f"Over these {octaves:.1f} octaves the exponents are {beta(network)} for the network and {beta(lazy)} for its initial "
    f"kernel; they differ by {difference}, in the papers by 0.2 and by 1/6. Which is the larger is judged at these sizes; the "
    f"exponents themselves need range: paper A's sizes go to 6944, {6944 / image_p[-1]:.0f} times further than here."
)
# %% [markdown]
# One size beyond, with the paper's question for the largest $p$: is the kernel frozen at the end as good as the network, or better?
# %%
chapter.check("B.Sec5-identical-mnist", *gap(("network", "end"), early, beyond), figure="fig-a-9")
chapter.check("A.Fig9-better-far", *gap(("network", "end"), early, beyond), figure="fig-a-9")
before_it = curves[curves.p.isin(image_p[1:]) & curves.seed.isin(beyond.seed)]
longer = [pd.concat([at(rows, *which) for rows in (before_it, beyond)]) for which in (("network", "end"), start)]
chapter.check("A.Fig9-gain-far", drift(beta_difference, *longer), before_it, beyond, figure="fig-a-9")
order = [("network", "end"), start, early]
errors = [ratio(100 * at(beyond, *which).error) for which in order]
chapter.say(
    f"After {far_p} images the network errs on {errors[0]} % of the test points, its kernel on {errors[1]} % before training "
    f"and on {errors[2]} % after (geometric means of {far_count} realisations)."
)
if larger.p.iloc[0] > far_p:
    errors = [f"{100 * np.exp(np.log(at(larger, *which).error).mean()):.2g} %" for which in order]
    chapter.say(
        f"After {larger.p.iloc[0]} images it is {errors[0]}, {errors[1]} and {errors[2]} (realisations: {larger.seed.nunique()}, too few to judge)."
    )
# %%
routes = chapter.rows(studies.routes, "main")
by_route = {how: routes[routes.descent == how].set_index("seed") for how in studies.DESCENTS}
told = [
    {"descent": how, "test error": str(mean(rows.error)), "steps": str(mean(rows.steps)), "satisfied": rows.satisfied.mean(),
     "alignment": str(mean(rows.alignment))}
    for how, rows in by_route.items()
]  # fmt: skip
chapter.table(
    pd.DataFrame(told),
    "tab-a-route",
    "The same networks on the same images by two descents: steps, share of points with margin 1, test error, and the "
    f"alignment of the kernel; {chapter.design(studies.routes, 'main')['p'][0]} training images.",
    routes,
)
chapter.check(
    "A.Fig9-route", mean(np.log(by_route["momentum"].error / by_route["settle"].error)), routes, figure="tab-a-route"
)
# %% [markdown]
# ## Kernels that know no direction
# How much of a learning curve is the data's? Paper B recalls what isotropic kernels make of images {cite}`spigler2020`:
# $\beta\approx0.4$ on MNIST and 0.1 on CIFAR-10, from data whose neighbours come nearer as $p^{-1/d_{\rm int}}$ with
# $d_{\rm int}\approx14$ and 30. We take the Laplace and the Gaussian kernel of images on the sphere, whose bandwidth is half the
# distance of two images at a right angle, and the tangent kernel of an infinitely wide network with two hidden layers. The label
# is the parity of the class; each kernel learns it by the machine with a hard margin, and by regression without a ridge.
# %%
sets = {"mnist": "MNIST", "cifar10": "CIFAR-10", "digits": "small digits"}
images_of = {name: chapter.rows(isotropic.images, name) for name in sets}
words = {"laplace": "Laplace", "gaussian": "Gauss", "ntk": "NTK"}
hues = {kernel: plots.PALETTE[i] for i, kernel in enumerate(words)}
dashes = {"mnist": "-", "cifar10": "--", "digits": ":"}
seen = {"error": "test error", "square": "mean square error", "nearest": "distance of the nearest"}
# %%
fig, axes = plots.panels(3, columns=3, height=4.0)
for name, rows in images_of.items():
    for kernel, hue in hues.items():
        own = rows[rows.kernel == kernel]
        look = {"color": hue, "linestyle": dashes[name], "markersize": 3}
        plots.realisations(axes[0], *by_size(own), label=f"{sets[name]}, {words[kernel]}", **look)
        plots.realisations(axes[1], *by_size(own, "square"), **look)
    look = {"color": plots.COLOURS["theory"], "linestyle": dashes[name], "markersize": 3}
    plots.realisations(
        axes[2], *by_size(rows[rows.kernel == "laplace"], "nearest"), **look, label=f"{sets[name]}, nearest"
    )
for ax, title in zip(axes, seen.values()):
    plots.curve_axes(ax, sorted({*pd.concat(images_of.values()).p}))
    ax.set(xlabel="images $p$", title=title)
# %%
curves_of, nearest_of = (list(zip(*ax.get_legend_handles_labels())) for ax in (axes[0], axes[2]))
entries = [
    one for i, own in enumerate(nearest_of) for one in (*curves_of[3 * i : 3 * i + 3], own)
]  # a column a data set
fig.legend(*zip(*entries), loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(
    fig,
    "fig-4-isotropic",
    "Learning curves of isotropic kernels on images: test error with a hard margin (left), mean square error of regression without "
    "a ridge (middle), and the mean distance of an image to its nearest, in units of that of two at a right angle (right). Medians, "
    "with quartiles as bands.",
    *images_of.values(),
    alt="Three panels of curves that fall with the number of images: steeply for digits, slowly for photographs.",
)


# %%
def dimension(rows):
    """The intrinsic dimension by the distance of the nearest, ``p^(-1/d)``, a realisation a slope."""
    return mean(-1 / slopes(*by_size(rows, "nearest")))


def square(rows):
    """The exponent of the mean square error."""
    return mean(-slopes(*by_size(rows, "square")))


fell = []
for name in ("mnist", "cifar10"):
    laplace, gaussian = (images_of[name][images_of[name].kernel == kernel] for kernel in ("laplace", "gaussian"))
    found = {"": (beta, laplace), "-gaussian": (beta, gaussian), "-square": (square, laplace)}
    for ending, (measure, rows) in found.items():
        chapter.check(f"B.Sec5-isotropic-{name}{ending}", drift(measure, rows), rows, figure="fig-4-isotropic")
    chapter.check(f"B.Sec5-dimension-{name}", drift(dimension, laplace), laplace, figure="fig-4-isotropic")
# %%
for name, rows in images_of.items():
    measures = {f"error, {words[kernel]}": (beta, rows[rows.kernel == kernel]) for kernel in hues}
    one = rows[rows.kernel == "laplace"]
    measures |= {"square, Laplace": (square, one), "$d_{\\rm int}$": (dimension, one)}
    sizes = np.sort(one.p.unique())
    for what, (measure, own) in measures.items():
        local = [f"{measure(own[own.p.isin(pair)]).value:.2g}" for pair in zip(sizes[:-1], sizes[1:])]
        late = own[own.p >= sizes[len(sizes) // 2]]
        fell.append({"images": sets[name], "of": what, "all sizes": str(measure(own)), "larger half": str(measure(late)),
                     "from size to size": " ".join(local)})  # fmt: skip
chapter.table(
    pd.DataFrame(fell),
    "tab-4-isotropic",
    "Exponents of the curves, and intrinsic dimensions by the distance of neighbours: over all sizes, over the larger half of them, "
    "and between neighbouring sizes.",
    *images_of.values(),
)
# %% [markdown]
# ## From feature learning to the lazy regime
# Ensembles of the convolutional network at one size, against the scale $\alpha$ of the output. Paper B finds that
# convolutional networks, unlike fully connected ones, do better when they learn features.
# %%
scan, scanned = chapter.rows(studies.scans, "main"), chapter.design(studies.scans, "main")
scales = scanned["alpha"]
tall = {name: scan.pivot(index="seed", columns="alpha", values=name) for name in ("error", "ensemble_error", "change")}
# %%
fig, axes = plots.panels(2, width=4.2, height=3.4)
red = plots.COLOURS["feature"]
plots.realisations(axes[0], scales, 100 * tall["error"], color=red, linestyle="--", label="one network")
plots.realisations(axes[0], scales, 100 * tall["ensemble_error"], color=red, label="ensemble")
plots.realisations(axes[1], scales, tall["change"], color=plots.COLOURS["feature"])
axes[1].axhline(1, color=plots.COLOURS["theory"], linestyle="--")
axes[0].set(ylabel="test error (%)", ylim=(0, None))
axes[1].set(ylabel=r"$\Vert\Delta\Theta\Vert/\Vert\Theta_0\Vert$", yscale="log")
for ax in axes:
    ax.set(xlabel=r"scale $\alpha$", xscale="log")
axes[0].legend()
chapter.figure(
    fig,
    "fig-b-9-cnn",
    "Test error of single networks and of the mean of an ensemble against the scale (left), and the change of the tangent "
    "kernel in training (right), for the convolutional network; paper B, Fig. 9 centre. "
    f"{scanned['p'][0]} training images, {scanned['members'][0]} networks an ensemble. Medians, with quartiles as bands.",
    scan,
    alt="Left, test error of single networks and ensembles against the scale, rising towards the lazy side. Right, "
    "change of the kernel, falling with the scale.",
)
# %%
slow, fast = scan[scan.alpha == scales[0]], scan[scan.alpha == scales[-1]]
lost = 100 * (tall["ensemble_error"][scales[-1]] - tall["ensemble_error"][scales[0]])
chapter.check("B.Fig9-cnn-scan", mean(lost), slow, fast, figure="fig-b-9-cnn")
# %% [markdown]
# ## The kernel on its way
# The same quantities along one training each, from one state of the solver to the next.
# %%
course = {name: chapter.rows(studies.courses, design) for name, design in (("stripe", "stripe"), (data, "images"))}
course_p = chapter.design(studies.courses, "images")["p"][0]
looks = {
    "alignment": {"color": plots.COLOURS["final"], "label": "kernel"},
    "error": {"color": plots.COLOURS["final"], "label": "kernel frozen then"},
    "network": {"color": plots.COLOURS["feature"], "label": "network"},
}
ylabels = (r"$\hat I(\varphi_r;y)$, bits", r"projection $\omega_r^2$", "alignment", "test error")
START = -0.15  # where the start is drawn, left of the first states at which no point is satisfied yet


def along(panels, rows):
    """Four panels of one task along training."""
    met = rows.groupby("frame").satisfied.mean()
    met.loc[met.index == 0] = START
    for panel, column in zip(panels, ("information_centred", "projections_centred")):
        for r, values in enumerate(ranks(rows, column).T[:3], 1):
            found = pd.Series(values, rows.index).groupby(rows.frame).mean()
            panel.plot(met, found, "o-", markersize=3, label=f"$r={r}$")
    for panel, quantity in zip((panels[2], panels[3], panels[3]), looks):
        wide = rows.pivot(index="seed", columns="frame", values=quantity)
        plots.realisations(panel, met, wide, **looks[quantity])
    panels[3].set(yscale="log", xlabel="satisfied share of the training points")
    panels[3].set_xticks([START, 0, 0.5, 1], ["start", "0", "0.5", "1"])
    plots.plain_numbers(panels[3])


# %%
fig, axes = plots.panels(8, height=2.4, sharex="col")
for column, (name, rows) in enumerate(course.items()):
    along(axes[column::2], rows)
    axes[column].set_title(name)
for panel, words in zip(axes[::2], ylabels):
    panel.set_ylabel(words)
    panel.legend(fontsize="small")
chapter.figure(
    fig,
    "fig-4-course",
    "Along training, for the stripe (left) and images (right): information of the first three centred components and the label's "
    "projection on them, alignment of kernel and label, and the test "
    "errors of the network and of its kernel frozen then, against the satisfied share of the training points. On the stripe the "
    "kernel is aligned most, and learns best, long before the loss is zero; on images the alignment grows to the end. Much is learnt "
    "before the first point is satisfied. Ten states of each training, at equal numbers of the solver's steps. "
    f"Stripe: {stripe_p} training points; images: {course_p}. Information and projections: means; the others: medians, with "
    "quartiles as bands.",
    pd.concat(course.values()),
    alt="Information, projection, alignment and test error along training, stripe in the left column, images in "
    "the right one. On the stripe the alignment peaks long before the end.",
)
# %%
path = course["stripe"].pivot(index="seed", columns="frame", values="alignment").to_numpy()
peak = np.log(np.nanmax(path, 1) / np.array([row[~np.isnan(row)][-1] for row in path]))
chapter.check("A.Fig10-peak-stripe", mean(peak), course["stripe"], figure="fig-4-course")
halfway, ended = (at(largest, "full", moment).set_index("seed", drop=False) for moment in (half, "end"))
grown = mean(np.log(halfway.alignment / ended.alignment))
chapter.check("A.Fig10-halfway-mnist", grown, halfway, ended, figure="tab-a-11")
# %%
moving = [rows[rows.seed == 0].sort_values("frame") for rows in course.values()]
longest = max(map(len, moving))


def shown(ax, row, words):
    """The plane of one frame, with what is satisfied."""
    components.plane(ax, row.plane_centred, row.labels)
    ax.set_title(f"{words}: {100 * row.satisfied:.0f} % satisfied", fontsize="small")


# %%
film, screens = plots.panels(2, width=2.9, height=3.0)


def frames_at(i):
    """The frames of both after the same share of all; ``i`` counts those of the longer film."""
    return [rows.iloc[round(i * (len(rows) - 1) / (longest - 1))] for rows in moving]


def moment(i):
    """Both planes then."""
    for ax, name, frame in zip(screens, course, frames_at(i)):
        shown(ax, frame, name)


# %%
fig, axes = plots.panels(6, columns=3, width=3.0, height=3.2)
for row, rows in enumerate(moving):
    for ax, i in zip(axes[3 * row : 3 * row + 3], np.linspace(0, len(rows) - 1, 3).round().astype(int)):
        shown(ax, rows.iloc[i], ("stripe", data)[row])
chapter.slider(
    film,
    moment,
    [
        " and ".join(f"{100 * one.satisfied:.0f} % of {name}" for name, one in zip(course, frames_at(i))) + " satisfied"
        for i in range(longest)
    ],
    "fig-4-film",
    "New points in the plane of the first two centred components during training, stripe above, images below; in per cent the "
    f"satisfied share of the training points. Circles: $y=+1$; triangles: $y=-1$. Stripe: {stripe_p} training points; images: "
    f"{course_p}; one realisation of each.",
    *moving,
    knob="training",
    still=fig,
)
# %% [markdown]
# ## Bring your own network
# Any torch module that gives one number a point, and labelled data that did not train it: `regimes.kernel_pca` returns
# what the figures above show. Here a small convolutional network whose output starts small, trained with Adam until every
# training point has a margin of 1; put your own in its place.
# %%
images = datasets.centred(datasets.load(data, labels="parity"))
side = int(images.x.shape[-1] ** 0.5)
x = images.x.unflatten(-1, (1, side, side))
order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
training, fresh = order[:300], order[300:600]
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 8, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(8, 16, 3, stride=2, padding=1),
    torch.nn.ReLU(),
    torch.nn.Flatten(),
    torch.nn.Linear(16 * ((side + 3) // 4) ** 2, 50),
    torch.nn.ReLU(),
    torch.nn.Linear(50, 1),
).double()
with torch.no_grad():
    net[-1].weight.mul_(0.1)
    net[-1].bias.zero_()
# %%
before = regimes.kernel_pca(net, x[fresh], images.y[fresh], centred=True)
optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(2000):
    margins = images.y[training] * net(x[training])[:, 0]
    if bool((margins >= 1).all()):
        break
    optimiser.zero_grad()
    torch.relu(1 - margins).mean().backward()
    optimiser.step()
after = regimes.kernel_pca(net, x[fresh], images.y[fresh], centred=True)
# %%
fig, axes = plots.panels(4, width=3.8, height=3.4)
looks = {
    name: {"color": plots.COLOURS[colour], "label": name} for name, colour in (("before", "lazy"), ("after", "final"))
}
components.diagnosis_panels([axes[0], axes[1], axes[2]], before, images.y[fresh], **looks["before"])
components.diagnosis_panels([axes[0], axes[1], axes[3]], after, images.y[fresh], **looks["after"])
axes[0].legend()
for ax, title in zip(axes[2:], ("before", "after")):
    ax.set_title(title)
chapter.figure(
    fig,
    "fig-4-own",
    f"The panels for a network of the reader's own: here a small one on {data}, before training and at zero loss, on "
    "300 images that did not train it, centred. Circles: $y=+1$; triangles: $y=-1$.",
    alt="Information and projection of ten components before and after training a small network, and the plane of "
    "the first two: labels are mixed before and part after training.",
)
# %%
chapter.say(
    f"Its kernel's alignment with the label went from {float(before.alignment):.2f} to {float(after.alignment):.2f}, its "
    f"effective dimension from {float(before.dimension):.0f} to {float(after.dimension):.0f}, and the best line in the plane of two "
    f"components from {100 * float(before.separable):.0f} % of the points on the right side to {100 * float(after.separable):.0f} %; "
    f"the network itself is right on {100 * float((images.y[fresh] * net(x[fresh])[:, 0] > 0).double().mean()):.0f} %."
)
# %% [markdown]
# ## Did every run end at zero loss?
# %%
every = [rows.assign(runs=name) for name, rows in (("stripe", stripes), (data, curves))]
ends = pd.concat(every)
ends["ended"] = ends.ended.str.replace(r":.*| with .*", "", regex=True)
chapter.table(
    ends.groupby(["runs", "kernel", "moment", "ended"]).size().rename("count").reset_index(),
    "tab-4-ended",
    f"How the runs ended. Frozen kernels have a ridge of $10^{{{np.log10(studies.RIDGE):.0f}}}$ of their mean eigenvalue, and their zero "
    "loss is that of margins to which each training point's own ridge adds. A kernel that did not end has the error of its last "
    "state: it is in the curves, and in no claim about the largest size.",
    stripes,
    curves,
)
# %% [markdown]
# ## Exercises
# **1. Nothing is 0.07 bits.** Show that where $x$ tells nothing the estimate from {eq}`eq:A:estimator` with $d=1$ has
# the mean $1-(H_{2k}-H_k)/\ln2$, $H_k=1+\frac12+\dots+\frac1k$, whatever the density of $x$.
#
# <details class="solution"><summary>Solution</summary>
#
# Near $x$ the points of either label are Poisson points of one density. Their distances, in units of the mean
# spacing, are sums of $k$ exponential variables: $r_+\propto G$ and $r_-\propto G'$ with independent Gamma$(k)$
# variables. The density cancels in $\hat q_+=G'/(G+G')$, a Beta$(k,k)$ variable. For it $\mathbb E[q\ln
# q]=\frac12\,\mathbb E_{{\rm Beta}(k+1,k)}\ln q=\frac12(H_k-H_{2k})$, since $\mathbb E_{{\rm Beta}(a,b)}\ln q$ is the
# digamma function at $a$ less that at $a+b$. The same again for $1-q$: $\mathbb E\,h_2(\hat q)=(H_{2k}-H_k)/\ln2$
# bits. For $k=5$ the estimate is 0.0685 bits, and for large $k$ it falls as $1/(4k\ln2)$.
#
# </details>
#
# **2. Why the second component?** In the plane of the constant $\mathbf 1/\sqrt n$ and the label $y/\sqrt n$ (equal
# frequencies) let $K/n$ be $\bigl(\begin{smallmatrix}a&c\\c&b\end{smallmatrix}\bigr)$, with $a>b$. What share of the
# label's projection falls on the first component? What does centring do?
#
# <details class="solution"><summary>Solution</summary>
#
# The first component is $\cos\vartheta\,\mathbf 1+\sin\vartheta\,y$ with $\tan2\vartheta=2c/(a-b)$, so that its share
# is
#
# $$
# \sin^2\vartheta=\tfrac12\Bigl(1-\frac{a-b}{\sqrt{(a-b)^2+4c^2}}\Bigr),
# $$
#
# less than one half as long as $a>b$, and nothing where $c=0$: the rest is on the second. Subtracting the features'
# mean sets $a=c=0$. The label is then the first component, its eigenvalue $b$.
#
# </details>
#
# **3. A prediction.** With twenty neighbours in place of five, what does the estimate of exercise 1 say where nothing
# is told, and what happens to the verdict A.AppE-null?
#
# ```sh
# make chapter-04 PROFILE=smoke NAME=more PARAMS='-p neighbours 20'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# $1-(H_{40}-H_{20})/\ln2=0.0178$ bits. The run measures it as A.AppE-null, whose band is that of five neighbours and excludes
# it. The other bias grows: where the label jumps more is missing (A.AppE-bias).
#
# </details>
# %% [markdown]
# ## Errata and open points
# - Most of the label's projection on ten components is on the first of the *centred* kernel; on images not after every
#   training ({ref}`erratum <erratum-a-centred>`).
# - The estimator of mutual information is biased in one dimension too
#   ({ref}`erratum <erratum-a-information>`), and where a variable tells little it shows three quarters of that.
# - Isotropic kernels learn images with the exponents that paper B quotes, by the hard margin and by regression, with Laplace's
#   kernel and with Gauss's. The bandwidth, which the paper does not state, is ours; the intrinsic dimension still grows with the
#   number of images.
# - The convolutional network's learning curve is steeper than that of its initial kernel, as both papers say. How much steeper
#   at their sizes is open: here the difference is smaller than theirs, and over the larger half of our sizes both exponents are
#   larger than over all.
# - Trainings on a few hundred images differ from one to the next more than the curves lie apart. Those that are kept tell
#   which curve is ahead, and leave open how much of the parity a line sees in the plane of the trained kernel.
# - The last points to be fitted, which make the amplification fall on the stripe, do the network's kernel on images no harm that
#   we can see: it errs no more frozen at the end than when half of them are met.
# - On the stripe two clouds part in the plane, and each component tells much, but the label changes twice along $x_1$: a
#   line sees little more than one of the two planes. It takes the last layer's two principal components to see both.
# - Components of the stripe's kernel become of the two kinds, beyond those that are so before training; the kernel as a whole
#   is nearly as far from that form as before. How large must $p$ be for it?
# - Learning makes half of the label cheap in the kernel's space, and its last tenth dear. Is it so on images?
# - How many points does a component need? Where eigenvalues lie near each other it needs many, and what a kernel's
#   plane shows changes with their number.
# - Why does the alignment fall late in training on the stripe, and not on images? The last points to be fitted are few;
#   what they do to the kernel is chapter 1's open point seen from another side.
#
# ## Try it yourself
# - `make chapter-04 NAME=one PARAMS='-p stripe_d 2'` shows a kernel whose first components tell much before training.
# - `-p data fashion_mnist` asks whether clothes behave as digits do.
