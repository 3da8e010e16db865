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
# **Guess first.** Take the first ten principal components of a network's tangent kernel. Before training none of them
# says much about whether an image shows an even digit, which is one bit. By how many bits does the best of them improve
# when the network is trained on 400 images?
#
# - by less than a twentieth
# - **by about a third**
# - by nearly one
#
# Measured: by {interval}`A.Fig10-gain-mnist` bits. The label moves into the first components, but not into one of them
# alone.
# :::
#
# The principal components of a network's {term}`tangent kernel` carry almost nothing of the label before training and
# much of it afterwards. This holds on a synthetic task and on images of digits.
#
# ## What we find
# - Training moves the label into the first components: on images of digits, with even or odd as the label, the best of
#   ten gains {claim}`A.Fig10-gain-mnist` bits of {term}`mutual information` with it ([how](#gain-information)).
# - {term}`Frozen <frozen kernel>` after training, this kernel beats the network if it learns from as many *other*
#   images; at equal totals of 50 and 200 images the network wins, by a log error of {interval}`A.Fig9-equal-totals`
#   ([how](#frozen-after-training)).
# - While the last half of the points is fitted, the first centred component turns towards the label on images, but away
#   from it on planes, where the label's log projection changes by {interval}`A.Fig10-late-stripe`
#   ([how](#kernel-along-training)).
#
# ## Why look at the kernel
# Chapters 1 and 2 study the weights, which {term}`compress <compression>` irrelevant directions. On images we know of
# no such directions. So how can you see there whether a network has learnt features? Paper A {cite}`paccolat2021` looks
# at the tangent kernel, which every network has: at the {term}`principal components <kernel principal component>` of
# its Gram matrix, and at how much each of them says about the label.
#
# We do so for two networks. One has a single hidden layer and learns the stripe of chapter 1, at small output scale
# $\alpha$. The other is paper A's convolutional network with sixteen layers (23 251 parameters, no batch norm), and
# learns whether a digit is even. Both are trained until every point has a {term}`margin` of at least 1. Then we compute
# the kernel on $n$ points that were not used in training. The {ref}`details page <kernel-components-details>` has the
# estimators, the numerics and further statements of the papers.
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
# (gain-information)=
# ## The first components gain information
# A component $\varphi_r$ is an eigenvector of the Gram matrix $K_{\mu\nu}=\psi(x_\mu)\cdot\psi(x_\nu)$, whose features
# $\psi=\partial_Wf$ are the gradients of the network in its weights. {numref}`fig-a-10` shows for each of the first ten
# the estimated information $\hat I(\varphi_r;y)$ about the label $y=\pm1$, and the label's projection
# $\omega_r^2=(\frac1n\sum_\mu\varphi_r(x_\mu)y_\mu)^2$ on it.
#
# Before training no component does, and none stands out: the largest estimate of ten is {claim}`A.Fig10-init` bits,
# where no information gives {glue:text}`no-information`. From the first to the tenth it changes by
# {claim}`A.Fig10-flat`. Paper A says "small and essentially independent of $r$".
#
# Training raises the largest of ten by {claim}`A.Fig10-gain-stripe` bits on the stripe, and by
# {claim}`A.Fig10-gain-mnist` on images. Is that much? A component that followed one of the stripe's two planes would
# gain 0.44 bits, and one that told two of the ten digits from the others 0.12. So neither task is learnt from a single
# detail. The width hardly matters, since at so small an output scale wide networks are not lazy: at paper A's width of
# $10^4$ (2048 points) the gain on the stripe is {claim}`A.Fig10-gain-wide`. The components of the last layer gain
# {claim}`A.Fig10-last-layer` bits on images, and more on the stripe.
#
# Paper B says of its Fig. 11 that the projections "get large after learning". They do: the first ten components
# together hold more of the label, by {claim}`B.Fig11-projects` of it on images and by more on the stripe. Paper A says
# that before training the projection "does not show a significant trend with rank". On images it has one, because over
# the ten components it changes by {interval}`A.Fig10-trend` of its mean; on the stripe by {glue:text}`stripe-trend`.
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
# components (paper A, Fig. 10; paper B, Fig. 11). Lines: means over seeds, which lie below the gains in the text, those
# of the largest of ten; bands: confidence intervals. Dashed: the estimate where there is no information.
# %% [markdown]
# ## Of ten components the first has most of the label only if the kernel is centred
# The paper says that after learning "most of the projection occurs along the first mode of the NTK alone". Of the
# projection on ten components the first has {claim}`A.Fig10-projection` on images, and less on the stripe. Why so
# little? The features $\psi$ have a mean. So the first component is nearly constant at the start, and after training it
# mixes the constant and the label. Most of the projection then falls on the second component on the stripe, and on
# several on images ({ref}`erratum <erratum-a-centred>`, exercise 2). There the second has
# {interval}`A.Fig10-sizable-mnist` times the projection that a component has before training, in agreement with the
# paper's "sizable projection".
#
# Kernel PCA usually subtracts the mean. Then the first component has {claim}`A.Fig10-centred-first` of the projection
# on images, and more on the stripe. The caption of the paper's Fig. 11 says that on the stripe "only the first
# eigenvector of the final kernel contains information on the labels". For the centred kernel this is nearly so, as the
# second has only {glue:text}`second-centred` bits above the bias, whereas for the matrix of the text it has
# {claim}`A.Fig11-only-first-matrix-stripe` bits.
#
# ## Two components separate the classes, on images in part
# Does the plane of two components contain the label ({numref}`fig-a-11`)? We look for the straight line in it that
# separates the labels best, on one half of the points, and test it on the other. Before training the line is right on a
# share {claim}`A.Fig11-init` of the images, little better than chance, and on fewer of the stripe's points. Training
# raises the share to {claim}`A.Fig11-after-mnist` on images and to {claim}`A.Fig11-after-stripe` on the stripe, in the
# plane of the paper's uncentred matrix. The stripe's label changes at two values of $x_1$, and a line that followed
# only one of them would be right on {glue:text}`one-plane`. So the plane contains both.
#
# The last layer shows why two are needed. In its plane a line is right on {claim}`A.Fig11-last-centred-stripe` of the
# stripe's points, but its first component alone follows one change only, since the best threshold is right on
# {claim}`A.Fig11-one-stripe`. So two components "are necessary", as the caption of the paper's Fig. 11 says. A
# {ref}`table <kernel-components-planes>` of the details has all shares.
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
# (frozen-after-training)=
# ## The kernel frozen after training is better than the network only if it learns from other images
# Does training improve the kernel, or only the output? {numref}`fig-a-9` compares the network with its kernels, of all
# parameters and of the last layer, frozen before or after training. Each kernel then learns from a training set of its
# own, so that paper A's comparison is between $2p$ images and $p$.
#
# Trained on 400 images and given 400 others, the kernel makes fewer errors than the initial one, by
# {claim}`A.Fig9-final-gain` in the natural logarithm, where 0.7 is a factor of two. It even makes fewer than the
# network, by {claim}`A.Fig9-final-kernel`. Paper A says that this kernel performs "as well as the network ... and even
# once again slightly better for the largest $p$", which is reproduced. Paper B calls the two "essentially identical",
# which is not.
#
# But is that fair? At equal totals the network is better: with 50 and with 200 images in all the kernel's log error is
# larger by {interval}`A.Fig9-equal-totals`. The order at 800 is not decided, because the difference is smaller there.
# And if the kernel learns from the very 400 images that trained it, the log ratio is {interval}`A.Fig9-own-images`,
# hence no gain. So for images it is the second set that helps. On the stripe chapter 1 found a kernel that beats the
# network at equal totals, too, but one that is frozen *before* the last points are fitted.
#
# The network is better than its *initial* kernel, by a log error of {claim}`B.Fig9-cnn`: "For CNN architectures,
# feature learning outperforms the NTK regime" (paper B, Sec. 4). For fully connected networks the same paper finds the
# opposite. A plausible reason is that few features make a less smooth function of the image, while the label is smooth
# under small deformations {cite}`petrini2022`. The kernel of the trained *last layer* does "well but generally less so
# than the network itself" (paper A, Sec. 5.2): its log error is larger by {claim}`A.Fig9-last-layer`.
# %%
curves = chapter.rows(studies.image_curves, "main")
styles = {
    "network": ("network", "end", "feature", "-"),
    "kernel, start": ("full", "start", "lazy", "--"),
    "kernel, end": ("full", "end", "final", "-"),
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
fig.legend(loc="outside lower center", ncols=4, fontsize="small")
chapter.figure(fig, "fig-a-9", curves)
# %% [markdown] tags=["caption"]
# **Given as many other images, the full kernel frozen after training has the smallest error; at equal totals the
# network has.**
# Test error of the convolutional network and of its frozen kernels (paper A, Fig. 9; paper B, Fig. 9 right). Medians,
# with quartiles as bands. Thin dashes: the paper's slopes.
# %% [markdown]
# The learning curve of the network is steeper than that of its initial kernel, by {interval}`A.Fig9-gain` in the
# exponent. That it is steeper is what both papers say. We do not test by how much, nor the exponents themselves,
# because the papers fit them on up to 6944 images, and our curves still bend at 400 (the table).
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
# (kernel-along-training)=
# ## On the stripe the kernel is best before the end of training
# Is the kernel best when the network is? On images it is: its alignment with the label grows to the end. The alignment
# is $y^\top Ky/(\lVert K\rVert_F\lVert y\rVert^2)$, between 0 and 1. On the stripe, in contrast, it peaks earlier, and
# the log of its peak exceeds that of its final value by {interval}`A.Fig10-peak-split` ({numref}`fig-4-course`).
# Fitting the last points lowers it, and raises the kernel's test error.
#
# Eigenvalues alone could do this, if the kernel were only stretched along fixed components. But the first component
# itself turns. Late in training the log of the label's projection on the first centred component changes by
# {claim}`A.Fig10-late-stripe` on the stripe, away from the label, and by {claim}`A.Fig10-late-mnist` on images, towards
# it, on seeds whose course we had not seen. A reason on the stripe is that the last points to be fitted lie near the
# two planes, and only they still drive the weights (chapter 1, {numref}`fig-a-one-stop`). Images probably have no such
# place. That is open, as we have not exchanged the last images for others.
#
# One would also expect that a kernel in which the label has a smaller norm learns better. Late in training this fails
# on the stripe: from 90 % of fitted points to the end the norm still falls, yet the kernel's log error grows by
# {interval}`A.Fig10-norm-error` ({ref}`details <norm-of-the-label>`).
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
# $1-(H_{40}-H_{20})/\ln2=0.0178$ bits; {numref}`fig-a-appe` has the curve, and a button for twenty neighbours. The other bias grows:
# where the label jumps, more information is missing.
#
# </details>
#
# ## Try it yourself
# - `make chapter-04 NAME=one PARAMS='-p stripe_d 2'` shows a kernel whose first components are informative before
#   training.
# - `-p data fashion_mnist` puts clothes in place of digits.
