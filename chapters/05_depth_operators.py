# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (depth-operators)=
# # What holds of paper C's other statements
# The {ref}`story <chapter-05>` corrects the rate of Theorem 2. What does this leave of the paper's other statements?
# Its recipe, its Table 2 and the rate of the projectors stand. What it says of stability stands in one of two senses,
# and thirty layers do not show the limit.
#
# ## The norm of the operator stays below one
# Paper C stops training to control the norm of its projection operator: the Euclidean norm of the vector
# {eq}`eq:C:operator`, averaged over fresh points. On the data of its Fig. 6 the norm is below one at every time. If
# training never stops, it is {claim}`C.Fig6-early` times that at $t=1$, on average over data sizes, on the sphere or on
# images, whichever is less. (On the sphere this factor goes up and down with the data size.) The paper bounds the norm
# by $O(n)$ for $t\in o(1/\lambda_n)$, with $\lambda_n$ the smallest eigenvalue of $\bar\Theta(X,X)$. But for every
# kernel with unit diagonal, every data set, depth and point,
#
# $$
# \|\mathrm{op}_t(x)\|_2 \le \Bigl(\max_u \frac{(1-e^{-u})^2}{u}\Bigr)^{1/2}\sqrt t = 0.638\ldots\sqrt t ,
# $$ (eq:C:norm)
#
# because $k_x^\top\bar\Theta^{-1}k_x\le\bar\Theta(x,x)=1$. At $t=1/\lambda_n$ the data size therefore enters through
# $\lambda_n$ alone. The last of the paper's times, $\lceil1/\lambda_n\rceil$, keeps at least $1-1/e$ of every mode, so
# that stopping there hardly lowers the norm; stopping at $t=1$, the first time that predicts anything, lowers it most.
#
# **Near-duplicates** (Theorem 3 b). Two points at a small angle $\phi$ have the kernel $1-(L-1)\phi/(2\pi)$. With the
# angle $\lambda_n\simeq(L-1)\,\phi_{\min}/(2\pi)$ tends to 0, and the bound $\lambda_n^{-1/2}$ of the norm to infinity.
# The norm itself stays: where each of twenty points on a sphere has a second one at a small angle, its largest value
# beyond the pairs is this angle to the power {claim}`C.Thm3-duplicates`. The reason is that near angle 0 the kernel is
# that of a path of independent steps, which is not extrapolated.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
corpus = "mnist"  # images of figures 5-8 and table 2 (paper C: MNIST)
tab2_n = 500  # training points (paper C, Tab. 2: 500)
tab2_test = 2000  # test points (paper C: not stated)
n0 = 128  # dimension of the sphere's space (paper C: 128)
tab2_depths = [2, 5, 10, 30, 100]  # depths (paper C, Tab. 2: 30)
eigen_n = [50, 100, 200, 500, 1000]  # data sizes of the smallest eigenvalue (paper C, Fig. 7: not stated)
# fmt: on
# %%
import numpy as np
import pandas as pd

from companion.book import claims, plots, stated
from companion.book.chapter import Chapter
from companion.papers.depth.claims.depth_kernel import LIMITS
from companion.papers.depth.studies import depth as studies

chapter = Chapter("05", globals())
# %% [markdown]
# ## With more data predictions vary faster, and are no noisier
# The paper says that at fixed depth "as the dataset size $n$ becomes large, the smallest eigenvalue of the NTK will
# become arbitrarily close to zero, leading to highly unstable predictions as $t\to+\infty$". The eigenvalue does fall,
# with the exponent {claim}`C.Sec6-eigenvalue` on the 2-sphere. But "unstable" can mean two things.
#
# *Sensitive to the input.* Then the paper is right: the gradient of a fully trained prediction over label noise is $n$
# to the power {claim}`C.Sec6-sensitive` ({numref}`fig-c-noise`, right). One expects 1/2, because a prediction that
# passes through noisy labels varies by a fixed amount over the distance of neighbours, which is of order
# $n^{-1/(n_0-1)}$.
#
# *Sensitive to the labels.* Then it is not. A prediction is a sum of labels with the weights $\mathrm{op}_\infty(x)$,
# and the norm of these is the spread of the prediction over that of a label. It is at most $\lambda_n^{-1/2}$, but it
# stays far below ({numref}`fig-c-noise`, left). Neither does the spread grow with $n$, nor the largest change of a
# prediction where no label changes by more than 1: the larger of the two exponents is {claim}`C.Sec6-unstable`.
#
# This is a property of power-law spectra, which pass on noise by a constant {cite}`mallinar2022`. With eigenvalues that
# fall as the index to the power $-\alpha$ the mean square is $\alpha-1$, and ours have $\alpha=n_0/(n_0-1)$ at every
# fixed depth. Hence
#
# $$
# \|\mathrm{op}_\infty(x)\|_2 \to \frac1{\sqrt{n_0-1}} \qquad (n\to\infty) .
# $$ (eq:C:noise)
#
# At 5000 points we find {claim}`C.Sec6-tempered` times this number, in three or five dimensions, whichever is further
# off. A Gaussian kernel, in contrast, whose eigenvalues fall faster than any power, does become unstable.
#
# Early stopping does help with noise: at $t=1$ the spread falls with $n$, with the exponent {claim}`C.Thm3-stopped`. So
# Theorem 3 b), that the norm "remains in $O(n)$" for $t\in o(1/\lambda_n)$, holds with room to spare.
# %%
main = chapter.rows(studies.label_noise, "main")
five = chapter.rows(studies.label_noise, "five")
stopped = chapter.rows(studies.label_noise, "stopped")
smooth = chapter.rows(studies.label_noise, "smooth")
slope = chapter.rows(studies.label_noise, "slope")
fig, (ax, right) = plots.panels(2, width=4.3, height=3.9)
for depth, marker in ((2, "o"), (3, "s")):
    ax.plot(main[main.depth == depth].groupby("n").norm.mean(), f"{marker}-", color="C0", label=f"$n_0=3$, $L={depth}$")
    spread = stopped[stopped.depth == depth].groupby("n").norm.mean()
    ax.plot(spread, f"{marker}:", color="C0", fillstyle="none", label=f"$L={depth}$, stopped at 1")
ax.plot(five.groupby("n").norm.mean(), "s-", color="C1", label="$n_0=5$, $L=3$")
for space, colour in ((3, "C0"), (5, "C1")):
    ax.axhline((space - 1) ** -0.5, color=colour, linewidth=0.8)
bound = main[main.depth == 3].groupby("n").smallest.mean() ** -0.5
ax.plot(bound, "--", color=plots.COLOURS["theory"], label=r"$\lambda_n^{-1/2}$, $L=3$")
ax.plot(smooth.groupby("n").norm.median(), "^-", color="C2", label="Gaussian kernel")
ax.set(yscale="log", xlabel="data size n", ylabel="spread over that of a label")
plots.curve_axes(ax, main.n.unique(), errors=False)
ax.set_title("Sensitive to the labels?")
for depth, marker in ((2, "o"), (3, "s")):
    right.plot(slope[slope.depth == depth].groupby("n").slope.mean(), f"{marker}-", color="C0")
sizes = np.array(sorted(slope.n.unique()))
start = slope[(slope.depth == 3) & (slope.n == sizes[0])].slope.mean()
right.plot(sizes, 0.8 * start * (sizes / sizes[0]) ** 0.5, "--", color=plots.COLOURS["theory"], label=r"$\sqrt{n}$")
right.set(yscale="log", xlabel="data size n", ylabel="gradient of a prediction", title="Sensitive to the input?")
plots.curve_axes(right, sizes, errors=False)
right.set_yticks([5, 10, 20], ["5", "10", "20"])
right.legend(loc="lower right")
chapter.figure(
    fig,
    "fig-c-noise",
    main,
    five,
    stopped,
    smooth,
    slope,
    title="Do more data make predictions unstable?",
    legend=4,
    alt="Left, spread against data size: level lines of the tangent kernels below one, falling dotted ones where training stops, and far "
    "above them rising lines of the bound and of a Gaussian kernel. Right, two lines of the gradient that rise with slope one half.",
)
# %% [markdown] tags=["caption"]
# **With more data the spread of predictions stays, and their gradient grows as $\sqrt n$.** Standard deviation (left)
# and gradient (right) of a fully trained prediction over label noise of size 1, at fresh points of a sphere; dotted:
# stopped at $t=1$; thin lines: {eq}`eq:C:noise`; dashed: the bound, and the distance of neighbours. Right: $n_0=3$.
# Means over data sets, of the Gaussian kernel medians.
# %% [markdown]
# ## The smallest eigenvalue still rises at depth 30
# The paper says: "For large values of $n$, a depth of 5 stabilizes the smallest eigenvalue". This is right if it means
# that the eigenvalue is away from 0: at the largest $n$ it is {claim}`C.Fig7-away` there. But it has not settled, since
# to depth 30 it still grows by a factor of {claim}`C.Fig7-stabilised`. It rises towards 3/4, as $\frac34-\frac38\ln
# L/L$, whereas the proof's lower bound $\Omega(1/L)$ falls with depth. With $n$ it falls at every depth, because the
# matrix of fewer points is a block of that of more, and eigenvalues interlace.
#
# **The prescribed depth stays below 2 on the sphere.** Theorem 3 asks for $L\in O(\max_{ij} 1/\sqrt{1-h(x_i\cdot
# x_j)})$. Fig. 8 of the paper plots this number, and its Fig. 6 takes it for the depth. On the paper's sphere data it
# grows as $n$ to the power {claim}`C.Fig8-trend` and is {claim}`C.Fig8-invertible` at the largest $n$. Rounded up it is
# 2, the least depth at which the kernel of points without antipodes is invertible.
#
# **On the sphere the kernel is invertible from three layers on,** not "for $L\geq2$", as the paper has it. At $L=2$ the
# odd part of the kernel is the inner product, of rank $n_0$, as for every network of two layers without biases
# {cite}`bietti2019`. So $N>n_0$ points with their antipodes have $N-n_0$ zero eigenvalues: for 30 points in ten
# dimensions the smallest is {claim}`C.Sec4-invertible`.
# %% [markdown]
# ## The accuracy at depth 30 is reproduced
# Table 2 of the paper reports kernel regression on 500 MNIST digits at depth 30. The accuracy is
# {claim}`C.Tab2-accuracy` and the F1 score {claim}`C.Tab2-f1` here, beside the paper's 0.874 and 0.870. Its "average
# error", 6.435, is not what App. D calls it: the mean squared error is {claim}`C.Tab2-error`. But ten times the mean
# norm of the residual is {claim}`C.Tab2-residual`.
#
# The paper does not name the targets, the test set, the initial function or the stopping time. We take one-hot targets,
# $f_0 = 0$, infinite time, and disjoint splits of the 5000 digits that ship with a package, classes in equal parts.
# Fewer layers do better, as in {numref}`fig-c-recipe`.
# %%
rows = chapter.rows(studies.mnist_regression, "main")
tenfold = rows.assign(residual=10 * rows.residual)
scores = tenfold.groupby("depth")[["accuracy", "f1", "mse", "residual"]]
table = scores.agg(lambda values: f"{values.mean():.3f} ± {values.std():.3f}")
table = table.reset_index().astype(object)
table.loc[len(table)] = [
    f"{stated.value('C.depth')}, paper C",
    *(stated.value(name) for name in ("C.accuracy", "C.f1")),
    "",
    "",
]
chapter.table(
    table.rename(columns={"f1": "F1", "mse": "mean squared error", "residual": "ten times the residual's norm"}),
    "tab-c-tab2",
    "Depth 30 has the paper's accuracy. Kernel regression on images, mean and standard deviation over splits. The last row is Table 2 of paper C.",
    rows,
)
# %% [markdown]
# ## Eigenprojectors converge like $1/L$, the matrix does not
# Theorem 3 compares the operator {eq}`eq:C:operator` with that of the limit $\frac14\mathbf 1\mathbf 1^\top+\frac34 I$.
# Its first statement has the rate of Theorem 2, and is corrected with it: $L$ times the distance of the matrix over $n$
# grows as {claim}`C.Thm3-perturbation` times $\ln L$ on images. Its second statement, that the eigenprojectors converge
# like $1/L$, is true: their distance falls with the exponent {claim}`C.Thm3-projector`. But the paper's proof does not
# show it, because it rests on the first.
#
# Why are the projectors faster? The logarithm is the same for every pair, so that it shifts all off-diagonal entries
# and leaves the eigenvectors unchanged. Only the offsets $c(\rho_{ij})$ of {eq}`eq:C:rate` turn them. To first order,
# with a gap of $n/4$,
#
# $$
# L\,\|P^{(L)}-P\|_2 \to \operatorname{sd}_i\Bigl(\frac1n\sum_{j\ne i} c(\rho_{ij})\Bigr) .
# $$ (eq:C:projector)
#
# The paper's bound, $4\pi$, lies far above: at every depth and on all data, $L$ times the distance is at most
# {claim}`C.Thm3-constant`.
# %% [markdown]
# ## Operators of two points differ by the order $\sqrt n/L$
# The smallest difference that we find is {claim}`C.Thm3-nontrivial` over the depth. The first two terms of
# {eq}`eq:C:matrix` have the inverse $(I-\beta\mathbf 1\mathbf 1^\top)/(1-a)$ with the number $\beta = a/(1+(n-1)a)$.
# Hence to first order in $C/L$,
#
# $$
# \mathrm{op}_\infty(x) = \beta\mathbf 1 + \frac{(I-\beta\mathbf 1\mathbf 1^\top)(c_x-\beta C\mathbf 1)}{4(1-a)L}
# + O\Bigl(\frac{\ln^2L}{L^2}\Bigr), \qquad (c_x)_i = c(x\cdot x_i) .
# $$ (eq:C:deep-operator)
#
# In the limit $\beta\to1/(n+3)$ and $4(1-a)\to3$. Applied to targets $y$ of mean $\bar y$ this is the *closed law*
#
# $$
# f_\infty(x) = n\beta\,\bar y + \frac1{3L}\sum_i\Bigl[c(x\cdot x_i)-\frac1{n+3}\sum_{j\ne i}c_{ij}\Bigr]
# \Bigl(y_i-\frac{n}{n+3}\,\bar y\Bigr) + o\Bigl(\frac1L\Bigr) .
# $$ (eq:C:deep)
#
# The logarithm remains only in $n\beta$, and is absent for targets of mean zero. Two statements of the paper follow,
# where $L$ is large against the offsets times $n$.
#
# - **The operators of two points.** $L\,\|\mathrm{op}(x)-\mathrm{op}(x')\|\to\frac13\bigl\|\bigl(I-\frac{\mathbf
#   1\mathbf 1^\top}{n+3}\bigr)(c_x-c_{x'})\bigr\|$ is of order $\sqrt n$. Equation (5) of the paper bounds it from
#   below by $\Omega(1/L)$, with a constant that may depend on $n$.
# - **The distance from $\hat f_t$,** the predictor with the operator $\hat{\mathrm{op}}$ of the limit kernel. Theorem 3
#   a) says $|f_t-\hat f_t|\in O(n)$. For the worst targets of size 1 the distance is
#   $\sum_i|\mathrm{op}_i-\hat{\mathrm{op}}_i|$, of order $n/L$, but for random ones it is of order $\sqrt n/L$.
#
# At depth 30 this expansion is no approximation, the less so the more data there are. The ridge law {eq}`eq:C:ridge` is
# one there.
# %% [markdown]
# ## Thirty layers do not show the limit of the tangent kernel
# Figures 4 and 5 of the paper follow three kernels over 30 layers, for pairs of data and for a fresh point. They are
# $\bar\Theta$, the correlation $\rho$, and
#
# $$
# \eta^{(L+1)} = \bigl(1+e^{-\eta^{(L)}}\bigr)^{-2}, \qquad \eta^{(1)} = x\cdot x' .
# $$ (eq:C:eta)
#
# The paper says of thirty layers: "This depth limit is sufficient to show convergence", and of digits that the limit
# "is well approximated at such depths". We ask the same of all three: is less than a tenth of the mean distance from
# the limit left? This holds for $\rho$, which converges like $1/L^2$, and for $\eta$, whose map is a contraction. But
# $\bar\Theta$ converges like $\log L/L$, and on digits {claim}`C.Fig5-theta` of its distance is left
# ({numref}`fig-c-fig4`). Of the cube the paper says less, as it calls the convergence of $\bar\Theta$ sublinear; there
# the curves cross the limit after some four layers and come back from above. "Uniform" points can be in either cube,
# $[-1,1]^{128}$ or $[0,1]^{128}$; we take the first.
# %%
cube = chapter.rows(studies.trajectories, "cube")
images = chapter.rows(studies.trajectories, "images")
names = {"theta": r"$\bar\Theta^{(L)}$", "rho": r"$\rho^{(L)}$", "eta": r"$\eta^{(L)}$"}
fig, axes = plots.panels(2, height=3.9, sharey=True)
for ax, rows, title in zip(axes, (cube, images), ("Cube", "Images")):
    pairs = rows.explode("pair").astype({"pair": float})
    distance = (pairs.pair - pairs.kernel.map(LIMITS)).abs()
    table = pairs.assign(distance=distance).pivot_table(index="depth", columns="kernel", values="distance")
    for kernel, name in names.items():
        ax.plot(table[kernel] / table[kernel].iloc[0], label=name)
    ax.axhline(0.1, color=plots.COLOURS["theory"], linewidth=1, label="a tenth")
    ax.set(yscale="log", xlabel=r"depth $L$", ylim=(1e-4, 2), title=title)
    plots.curve_axes(ax, [1, 2, 5, 10, 30], errors=False)
axes[0].set_ylabel("share of the distance left")
axes[0].legend()
chapter.figure(fig, "fig-c-fig4", cube, images)
# %% [markdown] tags=["caption"]
# **Correlation and $\eta$ reach their limits; the tangent kernel keeps more than a tenth of its distance.** Three
# kernels of paper C, Figs. 4 and 5, over 30 layers: their mean distance from the limit over pairs of data, relative to
# the first layer.
# %% [markdown]
# ## Single statements
# The table has the paper's statements without a figure here, and the rows below it what we find. Where one is
# corrected, its erratum says why: {ref}`range and monotonicity <erratum-c-range>`, {ref}`invertible from three layers
# on <erratum-c-invertible>`, {ref}`angle or inner product <erratum-c-angle>`, {ref}`the kernels eta <erratum-c-eta>`,
# {ref}`biases <erratum-c-biases>`, {ref}`the toy network <erratum-c-example-1>`, {ref}`which other kernels
# <erratum-c-criteria>`, {ref}`how many layers for all pairs <erratum-c-componentwise>` and {ref}`in 128 dimensions
# <erratum-c-depth-30>`. Some have no number:
#
# - *The toy network* (Example 1). From the number of paths the paper has a "gradient contribution" of order
#   $m^{-2\alpha}$, for $m$ neurons at $m^{-1-\alpha}$. It does not give the readout weights. If these are of order one,
#   the tangent kernel has a part of the first weights that is of order one at every $\alpha$, and parts of
#   $m^{-2-2\alpha}$. So the point of the example stands, but its power does not.
# - *The ordered phase* (Secs. 2.2 and 7). The kernel "falls into the category of the ordered phase". It does by the
#   variance, which halves in a layer. But since the ReLU is homogeneous, correlations and predictors are those of
#   weights of twice the variance, which are critical: correlations tend to 1 as $1/L^2$, not geometrically, and the
#   limit is invertible.
# - *Large depth and short times* (footnote 7, Remark 1, Prop. 6). At large $L$ all eigenvalues but the largest are 3/4.
#   The paper has them "approximately mapped to $-t$"; they are mapped to $-\frac43(1-e^{-3t/4})$, which is $-t$ only
#   for $t\ll\frac43$. Remark 1 says that it omits the factor $1/n$ in the exponential, and then writes it; Prop. 6 is
#   without.
# - *Projectors* (Theorem 3, footnote 7, Prop. 6). The footnote on the sine of the angle between the subspaces has the
#   matrix of ones in place of the limit. Its $v_1\cdot\tilde v_1\approx1-4\pi/L$ is $1-O(L^{-2})$, the cosine of an
#   angle of order $1/L$. The rotation that takes the eigenspaces of the matrix to those of the limit is close to the
#   identity, as the text before Prop. 6 has it.
# - *Data off the sphere* (Secs. 4 and 6). Since the ReLU is homogeneous, the prediction at $x$ is $|x|$ times that at
#   $x/|x|$ from the labels $y_i/|x_i|$. So deep predictions depend on the norm of the input at every depth.
# - *Data without correlation* (footnote 7). Inputs orthogonal to all data have one and the same prediction at every
#   depth. "Applying the eigendecomposition of $\mathbf 1_n\mathbf 1_n^\top$ directly" gives the mean label for it,
#   where the limit gives $n/(n+3)$ of it.
# %%
checked = [claim for claim in claims.claims_of("05") if claim.figure == "tab-c-checked"]
papers = [claim for claim in checked if claim.kind == "paper"]
statements = [{"statement": claim.statement, "of": claim.source} for claim in papers]
chapter.table(
    pd.DataFrame(statements),
    "tab-c-checked",
    "Statements of the paper without a figure here, and where they stand. What we find is below.",
    chapter.rows(studies.biases, "main"),
    chapter.rows(studies.colinear_points, "main"),
)
# %% [markdown]
# ## Other errata, and open points
# Two corrections follow from the corrected rate ({ref}`erratum <erratum-c-rate>`): the unit of {ref}`nearby inputs
# <erratum-c-corollary-1>` and the {ref}`projectors <erratum-c-projector>`. On width there is {ref}`what
# concentrates <erratum-c-concentrates>`. *Limits* of statements are {ref}`depth 30 <erratum-c-depth-30>`,
# {ref}`norms <erratum-c-norm>` and {ref}`widths <erratum-c-narrow>`. Where the paper leaves something open, these
# are our *interpretations*: {ref}`depth 5 <erratum-c-depth-5>`, {ref}`the bound on the depth
# <erratum-c-depth-bound>`, {ref}`operators of two points <erratum-c-nontrivial>`, {ref}`what a deep predictor
# forgets <erratum-c-data-independent>`, {ref}`unstable predictions <erratum-c-unstable>`, {ref}`Table 1
# <erratum-c-table-1>`, {ref}`Proposition 4 <erratum-c-proposition-4>` and {ref}`Table 2 <erratum-c-table-2>`.
#
# *Open*: the paper's settings for Tables 1 and 2; a proof of the law of $L+c$ uniform in $n$; by which power kinks
# delay the lazy regime. *Left out*: the remark on mean-field particles (Sec. 6), and convolutional networks (Secs. 6
# and 7).
#
# ## Try it yourself
# - `make chapter-05 NAME=mine PARAMS='-p curve_rho "[0.3, 0.6, 0.95, 0.999]"'` draws other pairs.
# - `-p corpus fashion_mnist` repeats everything on clothes.
# - `-p text wiki_text8style` reads Wikipedia in {ref}`Table 1 <depth-width>`, where it is in `$REGIMES_DATA`.
# - `-p 05.size_over_depth.images.ratio "[1.0, 50.0]"` goes to networks as deep as there are images, and to shallow
#   ones. Where does the collapse end?
# - Derive {eq}`eq:C:universal-log` with $b=\frac32$ at every kink: what does the factor in front of the ReLU's map do?
