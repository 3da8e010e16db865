# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-04)=
# # Learning moves the label into the first components of the kernel
# The principal components of a network's {term}`tangent kernel` carry almost nothing of the label before training and
# much of it afterwards. This holds on a synthetic task and on images of digits.
#
# ## What we find
# - **The first components gain information.** Training raises the largest {term}`mutual information` with the label
#   among the first ten components. It grows by {claim}`A.Fig10-gain-stripe` bits on the {term}`stripe` ($d=10$, 512 points, width 300) and
#   by {claim}`A.Fig10-gain-mnist` bits on the parity of MNIST (400 images; paper A trains on 42 to 6944).
# - **Training improves the kernel.** At 400 images the {term}`kernel frozen <frozen kernel>` after training has a
#   smaller test error than the initial kernel and than the network (the logarithms of the ratios are
#   {claim}`A.Fig9-final-gain` and {claim}`A.Fig9-final-kernel`). The exponent of the network's learning
#   curve exceeds the initial kernel's by {claim}`A.Fig9-gain`; paper A has 0.2, over larger sizes.
# - **Three statements of paper A need a condition.** Of the label's projection on ten components most is on the *first* only
#   if the kernel is centred, that is, if the features' mean is subtracted. On the stripe the first then has
#   {claim}`A.Fig10-centred-first-stripe` of it, and {claim}`A.Fig10-projection-stripe` as the paper defines the kernel. In one dimension the estimate of information is
#   {claim}`A.AppE-bias` bits off at worst, where the paper finds agreement. A function that leaves half of the label has a smaller
#   squared norm in the kernel after training: its logarithm changes by {claim}`A.Fig10-norm-half`. That of a function with
#   the network's own hinge loss changes by {claim}`A.Fig10-norm-own`. If a fiftieth of the loss may be left, it rises, by
#   {claim}`A.Fig10-norm-last`.
#
# ## Why look at the kernel
# Chapters 1 and 2 study the weights, which {term}`compress <compression>` irrelevant directions. On images we know of
# no such directions. Paper A {cite}`paccolat2021` therefore studies the tangent kernel, which every network has. It
# takes the kernel's Gram matrix on some data and finds its {term}`principal components <kernel principal component>`.
# It then measures how much each component says about the label.
#
# We do so for two networks. One has a single hidden layer and learns the stripe of chapter 1 at small output scale
# $\alpha$. The other is paper A's convolutional network with sixteen layers (23 251 parameters, no batch norm), and
# learns whether a digit is even. Both are trained until every point has a {term}`margin` of at least 1. We then
# compute the kernel on $n$ points that were not used in training. The {ref}`details page <kernel-components-details>`
# has the estimators, the numerics and the single statements.
#
# :::{dropdown} Symbols
# | symbol | in code | shape | meaning |
# |---|---|---|---|
# | $\Theta(x,z)$, $K$ | `ntk` | $(n,n)$ | tangent kernel, its Gram matrix on $n$ points |
# | $\lambda_r,\varphi_r$ | `values`, `vectors` | $(r)$, $(n,r)$ | eigenvalues of $K/n$; components, with mean square 1 on the points |
# | $\omega_r^2=(\frac1n\sum_\mu\varphi_r(x_\mu)y_\mu)^2$ | `projections` | $(r)$ | the label's projections; all $n$ of them sum to 1 |
# | $\hat I(\varphi_r;y)$ | `information` | $(r)$ | estimated mutual information, in bits, from $k=5$ neighbours |
# | $(\sum\lambda)^2/\sum\lambda^2$ | `dimension` | | effective dimension of the kernel |
# | $y^\top Ky/(\lVert K\rVert_F\lVert y\rVert^2)$ | `alignment` | | of kernel and label, 0 to 1 {cite}`cristianini2001` |
# | $\min\lVert f\rVert_\Theta^2$ | `norms` | (4) | over functions with a given mean hinge loss, or square distance from the label; times the mean of $\Theta(x,x)$ |
# :::
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
# fmt: on
# %%
from companion.estimates import mean, ratio
from companion.report import papers, plots, sketches
from companion.report.chapter import Chapter
from companion.studies import far_images
from companion.studies import kernel_pca as studies
from companion.theory.learning_curves import beta, by_size
from regimes.data import datasets
from regimes.measures import information

chapter = Chapter("04", globals())
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from scipy import stats

import regimes
from companion.claims import kernel_pca as claims
from companion.claims.kernel_pca import by_component, first_share, kernel_at, largest_information

# %% [markdown]
# ## One picture: compression separates the labels
# The first two components of a kernel map every data set to a plane. {numref}`fig-sketch-plane` shows how well this
# plane separates the labels, before and after a compression of the data.
# %%
chapter.figure(
    sketches.kernel_plane(),
    "fig-sketch-plane",
    "**Compressing the data separates the labels in the plane of two components.** The stripe in ten dimensions, in the plane of the first two "
    "components of an isotropic kernel (centred, infinite width). Left: all directions count alike. Right: the nine irrelevant directions are "
    "divided by eight, as feature learning does.",
    alt="Two clouds of points in the plane of two components. On the left circles and triangles are mixed; on the right the points "
    "lie along a bent band, in pieces of one label each.",
)
# %% [markdown]
# ## The first components gain information
# %%
# more realisations than a laptop trains in minutes are kept in results/; where a parameter is
# changed, the seeds that all sizes have
stripes, curves = chapter.rows(studies.stripes, "main"), chapter.rows(studies.curves, "main")
on_stripe, on_images = (chapter.design(study, "main") for study in (studies.stripes, studies.curves))
stripe_n, stripe_many, image_n = on_stripe["n"][0], on_stripe["many"][0], on_images["n"][0]
stops, half = on_stripe["stops"][0], f"{on_images['stops'][0][0]:g}"
largest = curves[curves.p == image_p[-1]]
images_are = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}.get(data, data)
both = {"stripe": stripes, images_are: largest}
flat = information.null_bias()  # what the estimate of components shows where there is no information


# %%
risen = [
    f"from {mean(largest_information(rows, 'full', 'start')):.2f} to {mean(largest_information(rows, 'full', 'end')):.2f} bits ({name})"
    for name, rows in both.items()
]
chapter.say(
    "Training raises the largest mutual information of the first ten components "
    + " and ".join(risen)
    + " (in each seed the largest of ten noisy estimates; the means in the figure are lower). "
    f"The estimate is {flat:.3f} bits where there is no information. It stays below 1 bit for a perfectly informative component."
)
# %% [markdown]
# A component $\varphi_r$ is an eigenvector of the Gram matrix $K_{\mu\nu}=\psi(x_\mu)\cdot\psi(x_\nu)$. The features
# $\psi=\partial_Wf$ are the gradients of the network in its weights. {numref}`fig-a-10` shows the estimated
# information $\hat I(\varphi_r;y)$ of each component about the label $y=\pm1$. It also shows the label's projection
# $\omega_r^2=(\frac1n\sum_\mu\varphi_r(x_\mu)y_\mu)^2$ on it.
#
# Before training no component is informative, and none stands out. After training the first components are
# informative, in the kernel of all parameters and in the kernel of the last layer alone. The stripe and the images
# behave alike.
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
    "information": (r"$\hat I(\varphi_r;y)$, bits", "information, paper's matrix"),
    "projections": (r"$\omega_r^2$", "projection, paper's matrix"),
    "projections_centred": (r"$\omega_r^2$", "projection, centred"),
}
# %% tags=["key"]
fig, axes = plots.panels(6, columns=3, height=3.1)
for row, (name, rows) in enumerate(both.items()):
    for ax, (column, (words, title)) in zip(axes[3 * row : 3 * row + 3], columns.items()):
        for label, (kernel, moment, colour) in views.items():
            plots.by_rank(ax, by_component(kernel_at(rows, kernel, moment), column), color=colour, label=label)
        ax.set(title=f"{name}: {title}", ylabel=words)
        ax.title.set_fontsize("small")
fig.suptitle("Which components carry the label?", fontsize="medium")
axes[0].axhline(flat, color=plots.COLOURS["theory"], linestyle="--", linewidth=1)
axes[3].axhline(flat, color=plots.COLOURS["theory"], linestyle="--", linewidth=1)
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(
    fig,
    "fig-a-10",
    "**Training lifts the first components; on the stripe the second of the paper's uncentred matrix has most of the projection, and the first "
    "of the centred one.** Information and projection of the first ten components (paper A, Fig. 10; paper B, Fig. 11). Dashed: the estimate where there is no "
    f"information. Lines: means; bands: 95 % intervals. {trained_on}",
    stripes[stripes.kernel != "network"],
    largest[largest.kernel != "network"],
    alt="Information and projections of the first ten components, before and after training: flat and low before; "
    "after it the first components carry most of the information. Stripe above, images below.",
)


# %% [markdown]
# ## Of ten components the first has most of the label only if the kernel is centred
# %%
held = [
    f"{mean(first_share(rows, 'projections_centred')):.2g} if the kernel is centred and {mean(first_share(rows, 'projections')):.2g} as the "
    f"paper defines it ({name})"
    for name, rows in both.items()
]
chapter.say("The first component holds a part of the label's projection on ten components: " + "; ".join(held) + ".")
# %% [markdown]
# The paper says that after learning "most of the projection occurs along the first mode of the NTK alone". Its
# features $\psi$ have a mean, and the first component reflects this mean: it is nearly constant at the start. After
# training it mixes the constant and the label. On the stripe most of the projection on ten components then falls on the
# second; on images it is spread over several ({ref}`erratum <erratum-a-centred>`, exercise 2).
#
# Kernel PCA usually subtracts the mean. Then the first component has most of what ten components hold. The caption of
# the paper's Fig. 11 says that on the stripe "only the first eigenvector of the final kernel contains information on the
# labels". For the centred kernel this is nearly so: the second component has {claim}`A.Fig11-only-first-stripe` bits
# above the bias, little but not nothing.
#
# ## Two components separate the classes, on images in part
# %%
course = {
    name: chapter.rows(studies.courses, design) for name, design in (("stripe", "stripe"), (images_are, "images"))
}
course_p = chapter.design(studies.courses, "images")["p"][0]
lines_of = [
    f"from {mean(100 * kernel_at(rows, 'full', 'start').separable):.0f} to {mean(100 * kernel_at(rows, 'full', 'end')[column]):.0f} % ({name})"
    for (name, rows), column in zip(both.items(), ("separable_many", "separable"))
]
chapter.say(
    "Training raises the accuracy of the best straight line in the plane of the first two components of the paper's matrix "
    + " and ".join(lines_of)
    + ". "
    f"In the plane of the last layer's components it is {mean(100 * kernel_at(stripes, 'last', 'end').separable_centred):.0f} % (stripe) and "
    f"{mean(100 * kernel_at(largest, 'last', 'end').separable_centred):.0f} % ({images_are})."
)
# %% [markdown]
# We find the line on one half of the points and test it on the other. On the stripe the label changes at two values of
# $x_1$. The details {ref}`list all accuracies <kernel-components-planes>`.
# %%
beyond = 1 - stats.norm.cdf(np.abs(course["stripe"].interfaces.iloc[0]).max())
chapter.say(f"A line that follows only one of the changes is right on {1 - beyond:.0%} of the stripe's points.")
# %%
moving = [rows[rows.seed == 0].sort_values("frame") for rows in course.values()]
longest = max(map(len, moving))


def shown(ax, row, words):
    """The plane of one frame, with what is fitted."""
    plots.component_plane(ax, row.plane_centred, row.labels)
    ax.set_title(f"{words}: {100 * row.satisfied:.0f} % fitted", fontsize="small")


def frames_at(i):
    """The frames of both after the same share of all; ``i`` counts those of the longer film."""
    return [rows.iloc[round(i * (len(rows) - 1) / (longest - 1))] for rows in moving]


def both_planes(i):
    """Both planes then."""
    for ax, name, frame in zip(screens, course, frames_at(i)):
        shown(ax, frame, name)


# %%
film, screens = plots.panels(2, width=2.9, height=3.0)
frames = [
    "fitted: " + ", ".join(f"{100 * one.satisfied:.0f} % of {name}" for name, one in zip(course, frames_at(i)))
    for i in range(longest)
]
fig, axes = plots.panels(6, columns=3, width=2.7, height=2.8)
for row, (name, rows) in enumerate(both.items()):
    for ax, (label, (kernel, moment, _)) in zip(axes[3 * row : 3 * row + 3], views.items()):
        one = kernel_at(rows, kernel, moment).iloc[0]
        plots.component_plane(ax, one.plane_centred, one.labels)
        ax.set_title(f"{name}, {label}", fontsize="small")
fig.suptitle("Does the plane of two components separate the classes?", fontsize="medium")
legend = fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
# %%
chapter.slider(
    film,
    both_planes,
    frames,
    "fig-a-11",
    "**The classes are mixed before training and largely separate after it, most in the last layer.** New points in the plane of the first two centred components (paper A, "
    f"Fig. 11). Circles: $y=+1$; triangles: $y=-1$. Slider: one training on the stripe and one on {course_p} images. Below: start, end and "
    "last layer, one seed.",
    *moving,
    *(kernel_at(rows, kernel, moment) for rows in both.values() for kernel, moment, _ in views.values()),
    knob="training",
    still=fig,
)


# %% [markdown]
# ## The kernel frozen after training beats the initial kernel and the network
# %%
def paired(first, second, rows=largest):
    """Log of errors, first over second, over the seeds of which both ended."""
    return claims.log_error_ratio(rows, first, second)[0]


network, lazy = kernel_at(curves, "network", "end"), kernel_at(curves, "full", "start")
start, early = ("full", "start"), ("full", "end")
chapter.say(
    f"At {image_p[-1]} images the error of the kernel frozen after training is {ratio(np.exp(paired(early, start))):.2f} of the initial kernel's and "
    f"{ratio(np.exp(paired(early, ('network', 'end')))):.2f} of the network's. The exponents of the learning curves are {beta(network):.2f} for the network and "
    f"{beta(lazy):.2f} for the initial kernel."
)
# %% [markdown]
# {numref}`fig-a-9` has the network, its kernel of all parameters and its kernel of the last layer. Each kernel is
# frozen before or after training, and learns from a training set of its own. Paper A reports exponents of about 0.5
# and 0.3, from 42 to 6944 images. Ours are over 25 to 400 images and are not tested against these at this size.
#
# The paper also says that kernels frozen at the end "perform as well as the network in the feature learning regime, and even
# once again slightly better for the largest $p$". From 25 to 400 images the kernel is ahead. The kernel of the last layer stays
# behind the network, as the paper says.
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
diamonds = (
    "Diamonds: single seeds at larger sizes (hollow: start; narrow: on the way). " if reached[-1] > image_p[-1] else ""
)
fig, ax = plt.subplots(figsize=(6.4, 4.6))
for (kernel, moment), style in styles.items():
    plots.realisations(ax, *by_size(kernel_at(curves, kernel, moment)), **style)
    there = kernel_at(pd.concat([beyond, larger]), kernel, moment).query("p > @image_p[-1]")
    inside = "none" if moment == "start" else style["color"]
    ax.plot(
        there.p, there.error, "d" if moment == half else "D", color=style["color"], markersize=4, markerfacecolor=inside
    )
p, errors = by_size(kernel_at(curves, "network", "end"))
for name, height, at_top in (("A.images-feature", 0.85, False), ("A.images-lazy", 2.0, True)):
    theirs = papers.stated(name)
    plots.slope_guide(ax, (p[0], p[-1]), height * np.median(errors[:, 0]), -theirs, f"A: $-{theirs}$", above=at_top)
ax.set(xlabel="training images $p$", ylabel=r"test error $\varepsilon$", title="Which learns images best?")
plots.curve_axes(ax, reached)
legend = fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
# %%
chapter.figure(
    fig,
    "fig-a-9",
    "**The full kernel frozen after training has the smallest error, the initial kernel a larger one than the network.** Test error of the convolutional network and of its frozen "
    f"kernels (paper A, Fig. 9; paper B, Fig. 9 right). Thin: kernels frozen when {100 * float(half):g} % of the points are fitted. Medians, with "
    f"quartiles as bands. {diamonds}Width {image_h}, scale {alpha:g}, {test} test images. Dashed: the papers' slopes.",
    curves,
    beyond,
    larger,
    alt="Learning curves on images with two dashed slopes: the kernels from before training highest, below them the network, and the "
    "kernels from after training close to it.",
)
# %% [markdown]
# ## On the stripe the kernel is best before the end of training
# %%
peak = np.nanmax(claims.alignment_ahead(course["stripe"]), 1)
halfway, ended = (kernel_at(largest, "full", moment).set_index("seed", drop=False) for moment in (half, "end"))
late = (
    kernel_at(stripes, "full", "end").set_index("seed").error
    / kernel_at(stripes, "full", f"{stops[0]:g}").set_index("seed").error
)
chapter.say(
    f"On the stripe the alignment of kernel and label peaks at {ratio(np.exp(peak)):.2g} times its final value. The kernel frozen at the end has {ratio(late):.2g} "
    f"times the test error of the one frozen when {100 * stops[0]:g} % of the points are fitted. After {image_p[-1]} images the alignment "
    f"half-way is {ratio(halfway.alignment / ended.alignment):.2g} of its final value."
)
# %% [markdown]
# {numref}`fig-4-course` follows both networks through training. The alignment is $y^\top Ky/(\lVert K\rVert_F\lVert
# y\rVert^2)$, from 0 to 1, for the label $y$ and the Gram matrix $K$. On the stripe the last points to be fitted lower the
# alignment; on images they do no measurable harm. Why the two differ is open. Chapter 1 studies the same late phase in
# the weights ({numref}`fig-a-stop`).
# %%
looks = {
    "alignment": {"color": plots.COLOURS["final"], "label": "kernel"},
    "error": {"color": plots.COLOURS["final"], "label": "kernel frozen then"},
    "network": {"color": plots.COLOURS["feature"], "label": "network"},
}
START = -0.15  # where the start is drawn, left of the first states at which no point is fitted yet


def along(panels, rows):
    """Two panels of one task along training: alignment, and errors."""
    met = rows.groupby("frame").satisfied.mean()
    met.loc[met.index == 0] = START
    for panel, quantity in zip((panels[0], panels[1], panels[1]), looks):
        wide = rows.pivot(index="seed", columns="frame", values=quantity)
        plots.realisations(panel, met, wide, **looks[quantity])
    panels[1].set(yscale="log", xlabel="fitted share of the training points")
    panels[1].set_xticks([START, 0, 0.5, 1], ["start", "0", "0.5", "1"])
    plots.plain_numbers(panels[1])


# %%
fig, axes = plots.panels(4, height=2.7, sharex="col")
for column, (name, rows) in enumerate(course.items()):
    along(axes[column::2], rows)
    axes[column].set_title(f"When is the kernel best? {name}", fontsize="medium")
for panel, words in zip(axes[::2], ("alignment with the label", "test error")):
    panel.set_ylabel(words)
axes[2].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-4-course",
    "**On the stripe the kernel is aligned most, and learns best, long before all points are fitted; on images the alignment grows to the end.** Alignment of kernel "
    "and label (top); test errors of the network and of its kernel frozen then (bottom); at the start the network's output is 0, which counts as wrong. Medians, with quartiles as bands. Ten states of each "
    f"training. Stripe: {stripe_p} training points; images: {course_p}.",
    pd.concat(course.values()),
    alt="Alignment and test error along training, stripe in the left column, images in "
    "the right one. On the stripe the alignment peaks long before the end.",
)
# %% [markdown]
# ## Use it on your own network
# `regimes.kernel_pca` takes any torch module with one output, and labelled data that were not used in training. It
# returns the quantities of the figures above. The example is a small convolutional network with a small initial
# output. It is trained with Adam until every training point has a margin of 1. Put your own network in its place.
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
plots.diagnosis_panels([axes[0], axes[1], axes[2]], before, images.y[fresh], **looks["before"])
plots.diagnosis_panels([axes[0], axes[1], axes[3]], after, images.y[fresh], **looks["after"])
axes[0].legend()
for ax, title in zip(axes[2:], ("before", "after")):
    ax.set_title(title)
chapter.figure(
    fig,
    "fig-4-own",
    f"**Your own network, before and after training.** Here a small one on {images_are}, before training and after it, on 300 images "
    "that were not used in training, centred. Circles: $y=+1$; triangles: $y=-1$.",
    alt="Information and projection of ten components before and after training a small network, and the plane of "
    "the first two: labels are mixed before and part after training.",
)
# %%
chapter.say(
    f"Its alignment with the label went from {float(before.alignment):.2f} to {float(after.alignment):.2f}, and its "
    f"effective dimension from {float(before.dimension):.0f} to {float(after.dimension):.0f}. The best line in the plane of two "
    f"components is right on {100 * float(before.separable):.0f} % of the points before and on {100 * float(after.separable):.0f} % after training; "
    f"the network itself is right on {100 * float((images.y[fresh] * net(x[fresh])[:, 0] > 0).double().mean()):.0f} %."
)
# %% [markdown]
# ## Exercises
# **1. No information gives 0.07 bits.** Show that where $x$ carries no information the estimate from {eq}`eq:A:estimator` with $d=1$ has
# the mean $1-(H_{2k}-H_k)/\ln2$, $H_k=1+\frac12+\dots+\frac1k$, whatever the density of $x$.
#
# <details class="solution"><summary>Solution</summary>
#
# Near $x$ the points of either label are Poisson points of one density. Their distances, in units of the mean
# spacing, are sums of $k$ exponential variables: $r_+\propto G$ and $r_-\propto G'$ with independent Gamma$(k)$
# variables. The density cancels in $\hat q_+=G'/(G+G')$, a Beta$(k,k)$ variable. For it $\mathbb E[q\ln
# q]=\frac12\,\mathbb E_{{\rm Beta}(k+1,k)}\ln q=\frac12(H_k-H_{2k})$, since $\mathbb E_{{\rm Beta}(a,b)}\ln q$ is the
# digamma function at $a$ less that at $a+b$. The same holds for $1-q$: $\mathbb E\,h_2(\hat q)=(H_{2k}-H_k)/\ln2$
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
# less than one half as long as $a>b$, and zero where $c=0$: the rest is on the second. Subtracting the features'
# mean sets $a=c=0$. The label is then the first component, with the eigenvalue $b$.
#
# </details>
#
# **3. A prediction.** With twenty neighbours in place of five, what is the estimate of exercise 1,
# and what happens to the other bias, that of a sharp jump?
#
# ```sh
# make chapter-04 PROFILE=smoke NAME=more PARAMS='-p neighbours 20'
# ```
#
# <details class="solution"><summary>Solution</summary>
#
# $1-(H_{40}-H_{20})/\ln2=0.0178$ bits; the run says what it measures at most points. The other bias grows: where the label
# jumps, more information is missing.
#
# </details>
#
# ## Try it yourself
# - `make chapter-04 NAME=one PARAMS='-p stripe_d 2'` shows a kernel whose first components are informative before training.
# - `-p data fashion_mnist` asks whether clothes behave as digits do.
