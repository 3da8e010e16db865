# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (chapter-04)=
# # Learning moves the label into the first components of the kernel
# :::{div} guess
# **Guess first.** Take the first ten principal components of a network's tangent kernel. Before training none of them says much about whether an image shows an even digit, which is one bit. By how
# many bits does the best of them improve when the network is trained on 400 images?
#
# - by less than a twentieth
# - **by about a third**
# - by nearly one
#
# Measured: by {interval}`A.Fig10-gain-mnist` bits. The label moves into the first components, but not into one of them alone.
# :::
#
# The principal components of a network's {term}`tangent kernel` carry almost nothing of the label before training and
# much of it afterwards. This holds on a synthetic task and on images of digits.
#
# ## What we find
# - Training moves the label into the tangent kernel's first components: on images of digits, with even or odd as the label, the best of ten gains
#   {claim}`A.Fig10-gain-mnist` bits of {term}`mutual information` with it ({numref}`fig-a-10`).
# - {term}`Frozen <frozen kernel>` after training, this kernel beats the network if it learns from as many other images; at equal totals, on small sets, the
#   logarithm of its error is larger by {interval}`A.Fig9-equal-totals` ({numref}`fig-a-9`).
# - While the second half of the points is fitted, the first centred component turns towards the label on images, but away from it on planes, where the
#   label's log projection changes by {interval}`A.Fig10-late-stripe` ({numref}`fig-4-course`).
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
profile = "laptop"  # chosen with --profile
data = "mnist"  # images, labelled by the parity of their class (paper A: MNIST)
test = 1000  # test points (paper A's code: 10000)
stripe_d = 10  # dimension of the stripe (paper A, Fig. 10: not stated)
stripe_p = 512  # its training points (paper A: not stated)
stripe_h = 300  # width (paper A: 10000)
stripe_alpha = 1e-6  # scale (paper A: 1e-6)
stripe_seeds = 4  # realisations
image_p = [25, 100, 400]  # training images of the learning curves (paper A: 42 to 6944)
image_h = 10  # width of the convolutional network (paper A: 10)
alpha = 1.0  # its scale (paper A: 2e-3)
image_seeds = 2  # realisations of the learning curves (paper A: 5)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

from companion.book import plots, stated
from companion.book.chapter import Chapter
from companion.papers.compression.theory.learning_curves import beta, beta_difference
from companion.papers.kernel_pca.claims import kernel_pca as claims
from companion.papers.kernel_pca.studies import kernel_pca as studies
from regimes.measures import information

chapter = Chapter("04", globals())
# %% [markdown]
# ## The first components gain information
# Training raises the largest mutual information of the first ten components by {claim}`A.Fig10-gain-stripe` bits on
# the stripe and by {claim}`A.Fig10-gain-mnist` bits on the images. For comparison, a component that followed one of the stripe's two
# planes would gain 0.44 bits, and one that told two of the ten digits from the others 0.12. Wide networks learn as much, because at so
# small an output scale training is not lazy at any of these widths. At paper A's width of $10^4$ (2048 points) the gain on the stripe
# is {claim}`A.Fig10-gain-wide` bits. The components of the last layer gain {claim}`A.Fig10-last-layer` bits on images, and more on the
# stripe.
#
# **Guess first:** how many of the first ten components of the trained network's kernel carry information about the label?
#
# A component $\varphi_r$ is an eigenvector of the Gram matrix $K_{\mu\nu}=\psi(x_\mu)\cdot\psi(x_\nu)$. The features
# $\psi=\partial_Wf$ are the gradients of the network in its weights. {numref}`fig-a-10` shows the estimated
# information $\hat I(\varphi_r;y)$ of each component about the label $y=\pm1$. It also shows the label's projection
# $\omega_r^2=(\frac1n\sum_\mu\varphi_r(x_\mu)y_\mu)^2$ on it. The means there lie below the numbers above, since the largest of ten
# noisy estimates is on average larger than each of them.
#
# Before training no component is informative, and none stands out. The largest estimate of ten is {claim}`A.Fig10-init` bits, where no
# information gives {glue:text}`no-information`, and from the first to the tenth it changes by {claim}`A.Fig10-flat` bits. Paper A says
# "small and essentially independent of $r$". After training the first components are informative, in the kernel of all parameters and
# in that of the last layer alone. The part of the label that the first ten hold together grows by {claim}`B.Fig11-projects` on images,
# and by more on the stripe. So the projections "get large after learning", as paper B says of its Fig. 11.
#
# Paper A says that before training the projection "does not show a significant trend with rank". On images it does: over the ten
# components the projection changes by {claim}`A.Fig10-trend` of its mean. On the stripe the change is {glue:text}`stripe-trend`.
# %% tags=["key"]
stripes = chapter.rows(studies.stripes, "main").query("kernel != 'network'")
images = chapter.rows(studies.image_curves, "main").query("kernel != 'network' and p == p.max()")
kernels = {
    "kernel, start": ("full", "start", "lazy"),
    "kernel, end": ("full", "end", "final"),
    "last layer, end": ("last", "end", "last"),
}
quantities = {
    "information": r"$\hat I(\varphi_r;y)$ (bits)",
    "projections": r"$\omega_r^2$, paper's matrix",
    "projections_centred": r"$\omega_r^2$, centred",
}
no_information = information.null_bias()
fig, axes = plots.panels(6, columns=3, height=3.1)
for row, (task, rows) in enumerate({"stripe": stripes, "images": images}.items()):
    for ax, (quantity, words) in zip(axes[3 * row :], quantities.items()):
        for label, (kernel, moment, colour) in kernels.items():
            values = claims.by_component(claims.kernel_at(rows, kernel, moment), quantity)
            plots.by_rank(ax, values, color=plots.COLOURS[colour], label=label)
        ax.set_title(f"{task}: {words}", fontsize="small")
    axes[3 * row].axhline(no_information, color=plots.COLOURS["theory"], linestyle="--", linewidth=1)
chapter.glue("no-information", no_information)
chapter.glue("stripe-trend", str(claims.relative_trend(claims.kernel_at(stripes, *claims.START))))
trained = claims.kernel_at(stripes, *claims.END)
chapter.glue("second-centred", claims.excess_of_the_second(trained, "information_centred"))
chapter.figure(fig, "fig-a-10", stripes, images, legend=3)
# %% [markdown] tags=["caption"]
# **Training lifts the first components; on the stripe the second of the paper's uncentred matrix has most of the
# projection, and the first of the centred one.** Information (by the paper's matrix) and projection of the first ten
# components (paper A, Fig. 10; paper B, Fig. 11). Lines: means; bands: confidence intervals. Dashed: the estimate
# where there is no information, {glue:text}`no-information` bits.
# %% [markdown]
# ## Of ten components the first has most of the label only if the kernel is centred
# If the kernel is centred, the first component holds a share {claim}`A.Fig10-centred-first` of the label's projection on ten
# components on images, and more on the stripe. For the kernel as the paper defines it, the share is {claim}`A.Fig10-projection` on
# images, and less on the stripe.
#
# The paper says that after learning "most of the projection occurs along the first mode of the NTK alone". Its features $\psi$,
# however, have a mean, so that the first component is nearly constant at the start. After training it mixes the constant and the
# label. On the stripe most of the projection then falls on the second component, and on images on several ({ref}`erratum
# <erratum-a-centred>`, exercise 2). There the projection on the second is {claim}`A.Fig10-sizable-mnist` times that on a
# component before training, which agrees with the paper's "sizable projection".
#
# Kernel PCA usually subtracts the mean, and then the first component has most of the projection. The caption of the paper's Fig. 11
# says that on the stripe "only the first eigenvector of the final kernel contains information on the labels". For the centred kernel
# this is nearly so, as the second component has only {glue:text}`second-centred` bits above the bias. For the matrix of the text it is
# not, as the second has {claim}`A.Fig11-only-first-matrix-stripe` bits.
#
# ## Two components separate the classes, on images in part
# We look for the straight line in the plane of two components that separates the labels best, on one half of the
# points, and test it on the other. Before training the line is right on a share {claim}`A.Fig11-init` of the images and on fewer
# of the stripe's points, little better than chance. Training raises this share to {claim}`A.Fig11-after-stripe` on the stripe and
# {claim}`A.Fig11-after-mnist` on images, in the plane of the paper's uncentred matrix. On the stripe the label changes at two values of
# $x_1$. A line that followed only one of the changes would be right on {glue:text}`one-plane` of the points, so the plane of two
# components contains both.
#
# In the plane of the last layer a line is right on {claim}`A.Fig11-last-centred-stripe` of the stripe's points. The first component
# alone follows one of the two changes: its best threshold is right on {claim}`A.Fig11-one-stripe`. So two components "are necessary",
# as the caption of the paper's Fig. 11 says. A {ref}`table <kernel-components-planes>` of the details has all shares.
# %%
stripes = chapter.rows(studies.stripes, "main").query("kernel != 'network'")
images = chapter.rows(studies.image_curves, "main").query("kernel != 'network' and p == p.max()")
kernels = {"kernel, start": ("full", "start"), "kernel, end": ("full", "end"), "last layer, end": ("last", "end")}
fig, axes = plots.panels(6, columns=3, width=2.7, height=2.8)
for row, (task, rows) in enumerate({"stripe": stripes, "images": images}.items()):
    for ax, (label, (kernel, moment)) in zip(axes[3 * row :], kernels.items()):
        drawn = claims.kernel_at(rows, kernel, moment).iloc[0]
        plots.component_plane(ax, drawn.plane_centred, drawn.labels)
        ax.set_title(f"{task}, {label}", fontsize="small")
outer = np.abs(stripes.interfaces.iloc[0]).max()
chapter.glue("one-plane", float(stats.norm.cdf(outer)))
chapter.figure(
    fig, "fig-a-11", stripes, images, title="Does the plane of two components separate the classes?", legend=2
)
# %% [markdown] tags=["caption"]
# **The classes are mixed before training and largely separate after it, most in the last layer.** New points in the
# plane of the first two centred components, one seed (paper A, Fig. 11). Circles: $y=+1$; triangles: $y=-1$.
# %% [markdown]
# On the way the plane turns while the points are fitted ({numref}`fig-4-planes`).
# %%
films = {
    "stripe": chapter.rows(studies.kernel_along_training, "stripe").query("seed == seed.min()").sort_values("frame"),
    "images": chapter.rows(studies.kernel_along_training, "images").query("seed == seed.min()").sort_values("frame"),
}
count = max(len(rows) for rows in films.values())
fig, axes = plots.panels(2, width=2.9, height=3.0)


def draw(i):
    for ax, (task, rows) in zip(axes, films.items()):
        frame = rows.iloc[min(i, len(rows) - 1)]
        plots.component_plane(ax, frame.plane_centred, frame.labels)
        ax.set_title(f"{task}: {100 * frame.satisfied:.0f} % fitted", fontsize="small")


chapter.slider(
    fig,
    draw,
    [f"state {i + 1} of {count}" for i in range(count)],
    "fig-4-planes",
    *films.values(),
    knob="training",
    start=count - 1,
)
# %% [markdown] tags=["caption"]
# **The classes come apart while the points are fitted.** Slider: states of one training on the stripe and one on
# images, at equal numbers of steps. New points; axes and symbols as in the figure above.
# %% [markdown]
# ## The kernel frozen after training is better than the network only if it learns from other images
# On 400 images the kernel frozen after training, given 400 others, has a smaller test error than the initial kernel and than the
# network. The natural logarithms of the ratios are {claim}`A.Fig9-final-gain` and {claim}`A.Fig9-final-kernel`, where 0.7 is a
# factor of two. Paper A says that this kernel performs "as well as the network ... and even once again slightly better for the
# largest $p$", which is reproduced. Paper B calls the two "essentially identical", which is not. {numref}`fig-a-9` compares the
# network, its kernel of all parameters and its kernel of the last layer. Each kernel is frozen before or after training.
# Then it learns from a training set of its own, so that paper A's comparison is between $2p$ images and $p$.
#
# What if we count all images? At equal totals the kernel is worse than the network: with 50 and with 200 images in all its log error
# is larger by {claim}`A.Fig9-equal-totals`. The order at 800 is not decided, because the difference is smaller there; some 35 networks
# trained on 800 images, nine core hours, would decide it. And what if the kernel learns from the very images that trained it? Then the
# log of the network's error over the kernel's is {claim}`A.Fig9-own-images` on 400 images, hence no gain. So for images it is the
# second set that helps. Chapter 1 found a kernel that beats the network at equal totals, too: on the stripe, and frozen *before* the
# last points are fitted.
#
# The network is better than its *initial* kernel, by a log error of {claim}`B.Fig9-cnn` at 400 images: "For CNN architectures, feature
# learning outperforms the NTK regime" (paper B, Sec. 4). For fully connected networks the same paper finds the opposite. A plausible
# reason is that few features make a less smooth function of the image, while the label is smooth under small deformations
# {cite}`petrini2022`. The kernel of the trained *last layer* has a larger error than the network: "well but generally less so than the
# network itself" (paper A, Sec. 5.2). The logarithm of the ratio is {claim}`A.Fig9-last-layer`.
# %%
curves = chapter.rows(studies.image_curves, "main")
styles = {
    "network": ("network", "end", "feature", "-"),
    "kernel, start": ("full", "start", "lazy", "--"),
    "kernel, end": ("full", "end", "final", "-"),
    "last layer, start": ("last", "start", "last", "--"),
    "last layer, end": ("last", "end", "last", "-"),
}
fig, ax = plt.subplots(figsize=(6.4, 4.6))
for label, (kernel, moment, name, line) in styles.items():
    colour = plots.COLOURS[name]
    plots.over_seeds(
        ax, claims.kernel_at(curves, kernel, moment), "p", "error", color=colour, linestyle=line, label=label
    )
medians = claims.kernel_at(curves, "network", "end").groupby("p").error.median()
for name, height, is_above in (("A.images-feature", 0.85, False), ("A.images-lazy", 2.0, True)):
    exponent = stated.value(name)
    ends = (image_p[0], image_p[-1])
    plots.slope_guide(ax, ends, height * medians.iloc[0], -exponent, f"A: $-{exponent}$", above=is_above)
ax.set(xlabel="training images $p$", ylabel=r"test error $\varepsilon$", title="Which learns images best?")
plots.curve_axes(ax, {*curves.p})
fig.legend(loc="outside lower center", ncols=3, fontsize="small")
chapter.figure(fig, "fig-a-9", curves)
# %% [markdown] tags=["caption"]
# **Given as many other images, the full kernel frozen after training has the smallest error; at equal totals the network has.**
# Test error of the convolutional network and of its frozen kernels (paper A, Fig. 9; paper B, Fig. 9 right). Medians,
# with quartiles as bands. Thin dashes: the paper's slopes.
# %% [markdown]
# The exponent of the network exceeds that of its initial kernel by {claim}`A.Fig9-gain`. That it is larger is what both papers say.
# We do not test how much larger, nor the exponents themselves: the papers fit them on up to 6944 images, and the curves still bend at
# ours (the table). Five networks at each of paper A's sizes would take some forty core hours.
# %%
curves = chapter.rows(studies.image_curves, "main")
exponents = []
for sizes in (image_p, image_p[len(image_p) // 2 :]):
    network = claims.kernel_at(curves[curves.p.isin(sizes)], "network", "end")
    kernel = claims.kernel_at(curves[curves.p.isin(sizes)], "full", "start")
    row = {"images": f"{sizes[0]} to {sizes[-1]}"}
    row["network"] = str(beta(network))
    row["initial kernel"] = str(beta(kernel))
    row["difference"] = str(beta_difference(network, kernel))
    exponents.append(row)
exponents.append({"images": "paper A, 42 to 6944", "network": "0.5", "initial kernel": "0.3", "difference": "0.2"})
exponents.append({"images": "paper B", "network": "1/2", "initial kernel": "1/3", "difference": "1/6"})
chapter.table(
    pd.DataFrame(exponents),
    "tab-4-exponents",
    "Exponents of the learning curves of the convolutional network and of its initial kernel.",
    curves,
)
# %% [markdown]
# ## On the stripe the kernel is best before the end of training
# On the stripe the alignment of kernel and label peaks before the end of training, and the logarithm of its peak exceeds that of its
# final value by {claim}`A.Fig10-peak-split` ({numref}`fig-4-course`). The alignment is $y^\top Ky/(\lVert K\rVert_F\lVert
# y\rVert^2)$, between 0 and 1, for the label $y$ and the Gram matrix $K$. Fitting the last points lowers it and raises the kernel's
# test error. On images, in contrast, both improve to the end.
#
# The eigenvalues alone could do this, if the kernel were only stretched along fixed components. This is not the case. Late in
# training the logarithm of the label's projection on the first centred component changes by {claim}`A.Fig10-late-stripe` on the
# stripe and by {claim}`A.Fig10-late-mnist` on images, on seeds whose course we had not seen. Hence the first component itself turns,
# away from the label or towards it. On the stripe the last points to be fitted lie near the two planes, and only they still
# drive the weights (chapter 1, {numref}`fig-a-one-stop`). Images probably have no such place. That is open, as we have not
# exchanged the last images for others.
# %%
courses = {
    "stripe": chapter.rows(studies.kernel_along_training, "stripe"),
    "images": chapter.rows(studies.kernel_along_training, "images"),
}
fig, axes = plots.panels(4, height=2.7, sharex="col")
for (task, rows), top, bottom in zip(courses.items(), axes[:2], axes[2:]):
    fitted = rows.groupby("frame").satisfied.mean()
    fitted.loc[0] = -0.15  # the start, left of the states at which the first points are fitted
    paths = rows.pivot(index="seed", columns="frame")
    plots.realisations(top, fitted, paths["alignment"], color=plots.COLOURS["final"])
    plots.realisations(bottom, fitted, paths["error"], color=plots.COLOURS["final"], label="kernel frozen then")
    plots.realisations(bottom, fitted, paths["network"], color=plots.COLOURS["feature"], label="network")
    top.set_title(f"When is the kernel best? {task}", fontsize="medium")
    bottom.set(yscale="log", xlabel="fitted share of the training points")
    bottom.set_xticks([-0.15, 0, 0.5, 1], ["start", "0", "0.5", "1"])
    plots.plain_numbers(bottom)
axes[0].set_ylabel("alignment with the label")
axes[2].set_ylabel("test error")
axes[2].legend(fontsize="small")
chapter.figure(fig, "fig-4-course", *courses.values())
# %% [markdown] tags=["caption"]
# **On the stripe the kernel is aligned most, and learns best, long before all points are fitted; on images the alignment
# grows to the end.** Alignment of kernel and label (top); test errors of the network and of its kernel frozen then
# (bottom). At the start the network's output is 0, which counts as wrong. Medians over seeds, with quartiles as bands.
# %% [markdown]
# ## Use it on your own network
# `regimes.kernel_pca` takes any torch module with one output, and labelled data that were not used in training. It
# returns the quantities of the figures above: [Use it on your model](../book/yours.md) has a complete program.
#
# ## The findings, with sizes and exceptions
# - **The first components gain information.** Training raises the largest mutual information with the label
#   among the first ten components. It grows by {claim}`A.Fig10-gain-stripe` bits on the {term}`stripe` ($d=10$, 512
#   points, width 300) and by {claim}`A.Fig10-gain-mnist` bits on the parity of MNIST (400 images; paper A trains on
#   42 to 6944).
# - **Training improves the kernel, but the images that train it count.** The kernel frozen after training on
#   400 images, which then learns from 400 *others*, has a smaller test error than the initial kernel: the logarithm of the ratio is
#   {claim}`A.Fig9-final-gain` (MNIST parity). This is paper A's protocol. At equal totals the network wins. Trained on 25 and 25 or on
#   100 and 100 images, the kernel has a log error that is larger by {claim}`A.Fig9-equal-totals` than that of a network of 50 or 200.
#   On the network's own 400 images the difference is {claim}`A.Fig9-own-images` (positive if the kernel is better).
# - **The network's learning curve is steeper than that of its initial kernel.** The exponents differ by {claim}`A.Fig9-gain` from 25
#   to 400 images. Paper A has 0.2 from 42 to 6944 images and paper B one sixth; we did not run those sizes.
# - **The last points turn the first component away from the label on the stripe, and towards it on images.** On the stripe the
#   alignment of kernel and label peaks before the end of training, whereas on images it grows to the end. While the second half of the
#   points is fitted, the logarithm of the label's projection on the first centred component changes by {claim}`A.Fig10-late-stripe` on
#   the stripe and by {claim}`A.Fig10-late-mnist` on images. We expected that only the eigenvalues would change.
# - **Late in training a smaller norm does not mean a better kernel.** Learning changes the logarithm of the label's squared norm in
#   the kernel's space by {claim}`A.Fig10-norm-half`, for a function that leaves half of the label. From 90 % of fitted points to the
#   end the norm still falls, yet the log error of the kernel grows by {claim}`A.Fig10-norm-error` (stripe, $d=10$, 512 points).
#
# ## Exercises
# **1. No information gives 0.07 bits.** Show that where $x$ carries no information the estimate from
# {eq}`eq:A:estimator` with $d=1$ has the mean $1-(H_{2k}-H_k)/\ln2$, $H_k=1+\frac12+\dots+\frac1k$, whatever the
# density of $x$.
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
# $1-(H_{40}-H_{20})/\ln2=0.0178$ bits; the table below {numref}`fig-a-appe` has what is measured. The other bias grows:
# where the label jumps, more information is missing.
#
# </details>
#
# ## Try it yourself
# - `make chapter-04 NAME=one PARAMS='-p stripe_d 2'` shows a kernel whose first components are informative before
#   training.
# - `-p data fashion_mnist` puts clothes in place of digits.
