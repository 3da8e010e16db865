# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent, format_version: '1.3'}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# (depth-details)=
# # What comes of the ridge: nearby inputs, learning curves, other layers
# The {ref}`story <chapter-05>` ends with a ridge near $3L$ for inputs further apart than $3\pi/L$. Here we follow what
# comes of it. Nearer inputs are not resolved, which is why high and low degrees behave differently, and a learning
# curve has two powers. The ridge decides what early stopping does, which depth is best, and what very deep networks
# keep. And other layers than the ReLU have one, too.
#
# ## Nearby inputs need depths beyond their inverse angle
# How deep must a network be for two nearby inputs? Corollary 1 says that the rate shows once $L\gg
# 1/\sqrt{1-\rho^{(2)}}$. But the whole path of a pair at a small angle $\phi$ has a closed form. Keep
# $\phi_{L+1}=\phi_L-\phi_L^2/(3\pi)$ alone. Then $\phi_L = \phi/(1+u)$ and
#
# $$
# \bar\Theta^{(L)} \to F(u) = \frac{(1+u) - (1+u)^{-3}}{4u}, \qquad u = \frac{L\phi}{3\pi} ,
# $$ (eq:C:crossover)
#
# with $F(0)=1$, $F(\infty)=1/4$ and $F - 1/4\simeq 1/(4u)$. So the unit of depth is
# $(3\pi/\sqrt2)/\sqrt{1-\rho^{(2)}}$, the corollary's scaling with a constant of 6.66. Half of the way is done at 2.975
# of the corollary's units. Its "$\gg$" allows such a constant, but its proof does not: it lets $1/\sqrt{e_L}$ grow by
# $\sqrt2/\pi=0.450$ a layer, where Theorem 2 has $\sqrt2/(3\pi)$. It grows by {claim}`C.Cor1-slope`.
# %% tags=["parameters"]
# fmt: off
profile = "laptop"  # chosen with --profile
corpus = "mnist"  # images of figures 5-8 and table 2 (paper C: MNIST)
# fmt: on
# %%
import matplotlib.pyplot as plt
import numpy as np

from companion.book import plots
from companion.book.chapter import Chapter
from companion.papers.depth.studies import depth as studies
from companion.papers.depth.studies import depth_scales as scales
from companion.papers.depth.theory import curves, degrees

chapter = Chapter("05", globals())
# %% [markdown]
# ## Below the degree $L/3\pi$ deep is not shallow
# "Deep equals shallow" {cite}`bietti2021`, as paper C cites ({cite}`holzmueller2025` for other activations), because at
# every fixed depth the eigenvalues of high degrees fall as those of two layers do, as $\ell^{-n_0}$. One would expect
# depth to change nothing but a constant. But in five dimensions the power of $\ell+\frac{n_0}2-1$ is higher by
# {claim}`C.Thm3-powers` for 30000 layers than for ten ({numref}`fig-c-degrees`).
#
# The reason is again the angle $3\pi/L$. Above it the kernel is $c\simeq3\pi/\phi$, a Riesz kernel, whose eigenvalues
# fall as $\ell^{-(n_0-2)}$. Below it the pole ends, by {eq}`eq:C:crossover`, and a cusp is left. Since angles and
# degrees are inverse to each other,
#
# $$
# \mu_\ell \propto \ell^{-(n_0-2)} \quad (\ell\ll L/3\pi), \qquad \mu_\ell \propto \ell^{-n_0} \quad (\ell\gg L/3\pi) .
# $$ (eq:C:degrees)
#
# So depth adds two powers to the low degrees, and yet a deep network learns them more slowly, because of its ridge. The
# two ranges are new as far as we know; compare {cite}`bietti2021`, and {cite}`terjek2025spectrum` for the pole. We
# computed the eigenvalues by quadrature (Funk and Hecke).
# %%
at = [2 * round(degree / 2) for degree in np.geomspace(2, 600, 25)]
fig, axes = plots.panels(2, width=4.3, height=3.8)
for space, ax in zip((3, 5), axes):
    limit = degrees.degree_eigenvalues(space, at)
    for depth, marker in zip((10, 30, 100, 1000), "ov^s"):
        share = degrees.degree_eigenvalues(space, at, depth) / limit
        seen = share > 1e-6  # below, round-off of the quadrature
        ax.plot(np.array(at)[seen] * 3 * np.pi / depth, share[seen], marker, markersize=4, label=f"$L = {depth}$")
    x = np.geomspace(3, 300, 2)
    ax.plot(x, 2 * x**-2.0, color=plots.COLOURS["theory"], linewidth=1, label="slope $-2$")
    ax.set(xscale="log", yscale="log", xlabel=r"degree over $L/3\pi$", title=f"$n_0 = {space}$")
axes[0].set_ylabel(r"eigenvalue over that of $c$")
axes[0].legend(fontsize="small")
chapter.figure(fig, "fig-c-degrees", title="From which degree on is a deep kernel like a shallow one?")
# %% [markdown] tags=["caption"]
# **Up to the degree $L/3\pi$ the eigenvalues are those of $c$; beyond it they fall by two more powers, as at small
# depth.** Eigenvalues of $4L\bar\Theta^{(L)}$ on the sphere in $n_0$ dimensions over those of $c$, by even degree.
# Nothing is fitted; the line shows the slope.
# %% [markdown]
# **So a learning curve has two powers.** Let a target on the sphere have the power $P_\ell\sim\ell^{-s}$ in its degree.
# At low degrees the eigenvalues $\ell^{-(n_0-2)}$ compete with a ridge of $3L$, so that $n$ points learn the degrees up
# to $\ell\sim(n/L)^{1/(n_0-2)}$. All higher degrees are the error, which therefore falls with another power than at
# fixed depth:
#
# $$
# E \sim (n/L)^{-(s-1)/(n_0-2)} \quad (L\ll n\ll L^{n_0-1}), \qquad E \sim n^{-(s-1)/(n_0-1)} \quad (n\gg L^{n_0-1}) .
# $$ (eq:C:curves)
#
# On the 2-sphere with $s=2$ these powers are $-1$ and $-\frac12$. We measure {claim}`C.Thm3-curve-below` at depth 300
# and {claim}`C.Thm3-curve-above` at depth 5 ({numref}`fig-c-curves`). Do not read a steeper curve as better learning:
# at every $n$ here the deeper network has the larger error.
#
# The lines in the figure are the usual average over data {cite}`bordelon2020` with our eigenvalues. The average is off
# by at most {glue:text}`off-deep` on deep networks, but by {glue:text}`off-shallow` on five layers, because it takes
# eigenfunctions for independent Gaussians, and those of a 2-sphere are not. With Gaussians of the same spectrum in
# their place it is off by {glue:text}`off-gaussian`. We know of no such curves before; compare
# {cite}`bordelon2020,bietti2021`.
# %%
rows = chapter.rows(scales.sphere_curves, "main")
gaussian = chapter.rows(scales.sphere_curves, "gaussian")
for name, of in (
    ("shallow", rows[rows.depth == 5]),
    ("deep", rows[rows.depth > 5]),
    ("gaussian", gaussian[gaussian.depth == 5]),
):
    ratio = of.groupby(["depth", "n"]).error.mean() / of.groupby(["depth", "n"]).law.first() - 1
    chapter.glue(f"off-{name}", f"{100 * abs(ratio).max():.1f} %")
points = np.geomspace(30, 40_000, 25).round().astype(int)
fig, axes = plots.panels(2, width=4.3, height=3.8, sharey=True)
for depth, colour in zip((5, 30, 300, 3000), plots.PALETTE):
    law = [curves.ridgeless_error(int(n), depth, 3, 2.0) for n in points]
    measured = rows[rows.depth == depth].groupby("n").error.mean()
    for ax, unit in zip(axes, (1, depth)):
        ax.plot(points / unit, law, color=colour, linewidth=1, label=f"$L = {depth}$")
        ax.plot(measured.index / unit, measured, "o", color=colour, markersize=5)
        ax.set(xscale="log", yscale="log")
axes[0].set(xlabel="points $n$", ylabel="share of the variance left", title="Against the points")
axes[1].set(xlabel="points over depth, $n/L$", xlim=(0.3, 1e3), title="Against points over depth")
axes[0].legend(fontsize="small")
chapter.figure(
    fig,
    "fig-c-curves",
    rows,
    gaussian,
    title="What does depth do to a learning curve?",
    alt="Falling lines for four depths with dots on them. Against the points over the depth those of large depths are one steep line, "
    "which each leaves for a flatter one, shallow networks first.",
)
# %% [markdown] tags=["caption"]
# **Against $n/L$ deep networks share one steep curve, and each leaves it at some $n\sim L^2$.** Share of a target's
# variance left on the 2-sphere, $s=2$. Dots: regression on points; lines: theory.
# %% [markdown]
# ## What early stopping selects, and why the error depends on $n/L$
# A deep predictor that is stopped early is ridge regression stopped at the same time, by {eq}`eq:C:ridge`. So the part
# along an eigenvector of $C+4La\mathbf1\mathbf1^\top$ with eigenvalue $\mu$ is learnt as $1-e^{-t(\mu+\Lambda)/4L}$.
# One would expect stopping to keep the easy parts and drop the hard ones. In deep networks it hardly does, since all
# parts with $\mu\ll L$ are learnt at one time, $t\approx\frac43$.
#
# **A function of $n/L$.** At the same $n/L$ a thousand images have at most {claim}`C.Thm3-collapse-all` times the error
# of an eighth of them ({numref}`fig-c-collapse`). This is so because the eigenvalues of $C$ grow as $n$ times those of
# the operator $c$, for random points, while the ridge grows as $3L$: what is learnt depends on $3L/n$. On a sphere we
# can say more. There the operator has one eigenvalue $\mu_\ell$ for each degree $\ell$, with $N_\ell$ polynomials.
# Averaged over data {cite}`bordelon2020`, the share of a target of degree $\ell$ that is not learnt is
#
# $$
# E_\ell = \frac{1}{1-\gamma}\Bigl(\frac{\kappa}{\mu_\ell+\kappa}\Bigr)^2, \qquad
# n = \sum_\ell \frac{N_\ell\,\mu_\ell}{\mu_\ell+\kappa}, \qquad
# \gamma = \frac1n\sum_\ell N_\ell\Bigl(\frac{\mu_\ell}{\mu_\ell+\kappa}\Bigr)^2 ,
# $$ (eq:C:curve)
#
# with the eigenvalues of $4L\bar\Theta$, those behind {numref}`fig-c-curves`. Since the highest degrees hold most of
# the diagonal $4L$, $\kappa\to3L/n$ for large $n$ and $L$, where $\gamma$ is of order $1/n$.
# %%
images = chapter.rows(studies.size_over_depth, "images")
sphere = chapter.rows(studies.size_over_depth, "sphere")
fig, axes = plots.panels(2, width=4.3, height=3.8)
for n, rows in images.groupby("n"):
    axes[0].plot(rows.groupby("ratio").left.mean(), "o-", markersize=4, label=f"n = {n}")
for (degree, shares), colour in zip(sphere.groupby("degree"), plots.PALETTE):
    for (_, rows), marker in zip(shares.groupby("n"), "^so"):
        axes[1].plot(rows.groupby("ratio").left.mean(), marker, color=colour, markersize=4, fillstyle="none")
    axes[1].plot(rows.groupby("ratio").law.first(), color=colour, label=f"degree {degree}")
for ax, title in zip(axes, ("Images, ten classes", "Sphere")):
    ax.set(xlabel="points over depth, n/L", ylim=(0, 1), title=title)
    plots.curve_axes(ax, images.ratio.unique(), errors=False)
    ax.legend(fontsize="small")
axes[0].set_ylabel("share of the variance left")
chapter.figure(fig, "fig-c-collapse", images, sphere, title="Does the error depend on $n/L$ alone?")
# %% [markdown] tags=["caption"]
# **On images four times the data in a network four times as deep learn the same; on the sphere the errors approach
# theory.** Share of a target's variance that is left at infinite time, against points over depth. Left: images, a line
# for each number of them. Right: polynomials on the sphere in six dimensions; triangles, squares and circles: more and
# more points; lines: theory for the most points.
# %% [markdown]
# ## Non-smooth activations have the limit 1/4, smooth ones 1/3
# What is special about the ReLU? Only the number 3 of {eq}`eq:C:quarter`. Of eight kinds of layers the one furthest off
# has {claim}`C.Thm2-classes` times the limit of its class, at the largest depth ({numref}`fig-c-layers`). Let a layer
# keep the variance of its input, and let its map touch the identity at 1 as $1-h(1-e) = e - A\,e^{1+q}$. Then $e_L^q =
# 1/(AqL)$ and $h'(1-e_L) = 1-k/L$ with $k = (1+q)/q$. (The numbers $A$, $B$, $b$, $k$ and $q$ belong to this section.)
# Hence
#
# $$
# \frac{dS}{dL} = 1 - k\,\frac SL, \qquad \bar\Theta^{(L)} \to \frac1{1+k} = \frac{q}{1+2q} .
# $$ (eq:C:universal)
#
# An activation with a kink, here called *non-smooth*, has $q=\frac12$ and $k=3$, a smooth one $q=1$ and $k=2$. The
# leaky ReLU and a residual layer $\sqrt{1-s}\,x+\sqrt s\,W\sigma(x)$ only slow the ReLU's map down by a factor, so that
# $q$ and the limit stay. A smooth activation keeps the variance and has $h'(1)=1$ after a scale and a shift that make
# $\mathbb E\sigma^2=\mathbb E\sigma'^2=1$; these always exist.
#
# *The rate.* Let $e_L^q = 1/\bigl(Aq(L+b\ln L+\dots)\bigr)$. The steps that led to 3/8 lead to
#
# $$
# \bar\Theta^{(L)} = \frac1{1+k}\Bigl(1 + b\,\frac{\ln L}{L}\Bigr) + O(1/L) .
# $$ (eq:C:universal-log)
#
# All non-smooth activations have $b=\frac32$. For smooth ones, in contrast, $b = 1-B/A^2$ is not universal and has
# either sign; $A=h^{(2)}(1)/2$ and $B=h^{(3)}(1)/6$ come from the derivatives of $h$ at 1.
#
# {cite}`hayou2019` have the two classes of activations and the rate of residual layers, {cite}`terjek2025spectrum` the
# rate of layers $as+b|s|$ by $b^2/(a^2+b^2)$. The limit 1/3 may stand in a table of {cite}`xiao2020`, which we could
# not read.
# %%
rows = chapter.rows(studies.layer_kernels, "main")
fig, axes = plots.panels(2, width=4.3, height=4.2)
kinds = {1 / 4: ("C1", "-", "non-smooth"), 1 / 3: ("C0", "--", "smooth")}
for layer, paths in rows[rows.rho == 0.5].groupby("layer", sort=False):
    limit = paths.limit.iloc[0]
    colour, style, kind = kinds.get(limit, ("0.5", ":", layer))
    axes[0].plot(paths.depth, paths.kernel, style, color=colour, label=kind)
    deep = paths[(paths.depth >= 10) & paths.limit.notna()]
    if len(deep):
        ends = deep.depth * (deep.kernel - limit)
        axes[1].plot(deep.depth, ends, style, color=colour)
        place = (deep.depth.iloc[-1], ends.iloc[-1])
        axes[1].annotate(layer, place, (4, 0), textcoords="offset points", va="center", fontsize="small")
for limit in rows.limit.dropna().unique():
    axes[0].axhline(limit, color=plots.COLOURS["theory"], linewidth=0.8)
axes[0].set(xscale="log", xlabel=r"depth $L$", ylabel=r"$\bar\Theta^{(L)}$", ylim=(0.2, 0.55), title="Which limit?")
axes[1].set(xscale="log", xlabel=r"depth $L$", ylabel=r"$L\,(\bar\Theta^{(L)} - 1/(1+k))$", title="Which rate?")
axes[1].set(xlim=(8, 2500 * rows.depth.max()), xticks=[1e1, 1e2, 1e3, 1e4])  # room for the names
handles, labels = axes[0].get_legend_handles_labels()
named = dict(zip(labels, handles))
axes[0].legend(named.values(), named.keys(), fontsize="small")
chapter.figure(
    fig,
    "fig-c-layers",
    rows,
    alt="Left, kernels of nine kinds of layers against depth, which run to one quarter or to one third, but for one. Right, rescaled "
    "distances: straight lines in the logarithm of depth, parallel for activations with a kink.",
)
# %% [markdown] tags=["caption"]
# **Two limits, and one logarithm for all non-smooth activations.** Input correlation 1/2. Left: non-smooth activations
# (full) go to 1/4, smooth ones (dashed) to 1/3, the thin lines; residual branches whose share is $1/L$ (dotted) keep
# the input. Right: depth times the distance from the limit; non-smooth ones end with one slope, 3/8, smooth ones each
# with its own.
# %% [markdown]
# Residual branches of share $1/L$ (the dotted line) are not in the paper. Since they end at $\tau=2$ of the flow
# {eq}`eq:C:flow`, the kernel of an infinitely deep network still depends on its input.
#
# *The ridge is as general.* Let $c=\lim_L\, 1/(Aq\,e_L^q)-L-b\ln L$ be the offset of the layer. The steps that led to
# {eq}`eq:C:rate` lead to
#
# $$
# (1+k)\,L\,\bar\Theta^{(L)} = L + b\ln L + c(\rho) + d + o(1), \qquad \text{ridge}\quad k\,L - b\ln L - d .
# $$ (eq:C:every-layer)
#
# The number $d$ is $-\frac12$ for non-smooth activations and $\frac32\bigl(1-b-\frac1A-\frac b3\bigr)$ for smooth ones.
# Near angle 0 the kernel $c$ of a non-smooth activation has the ReLU's pole divided by the factor in front of its map;
# smooth layers have a pole $2/(A\phi^2)$. At depth 300 the predictor on images is ridge regression beside these offsets
# to {claim}`C.Thm3-ridge-layers` for eight kinds of layers.
# %% [markdown]
# ## The argmax need not forget the data
# Paper C says that too large a depth makes predictions independent of the data. For a single output this is right. But
# at depth $10^6$ the accuracy is {claim}`C.Thm3-accuracy-balanced` with ten classes in equal parts, whereas it is
# {claim}`C.Thm3-accuracy-drawn` with classes as they are drawn ({numref}`fig-c-deep`). The kernel's next order in $1/L$
# explains both.
#
# The flow $\partial_t f = -\bar\Theta(\cdot,X)(f(X)-y)$ predicts $f_t(x) = f_0(x) + \mathrm{op}_t(x)\cdot(y-f_0(X))$
# (Props. 3, 6). Here the projection operator, one weight for each training target, is
#
# $$
# \mathrm{op}_t(x) = \bar\Theta(x,X)\,\bar\Theta(X,X)^{-1}\bigl(1-e^{-t\bar\Theta(X,X)}\bigr) .
# $$ (eq:C:operator)
#
# At depths far above the number of images the inverse is explicit, and gives the *closed law* {eq}`eq:C:deep`. Its
# limit is the constant $\frac n{n+3}\bar y$ with the mean target $\bar y$, as the paper says; its next order is a
# regression with the kernel $c$, which does not depend on depth. If classes come in equal parts, $\bar y$ is the same
# for all of them, so that this next order decides at *every* depth, and the accuracy tends to that of the kernel $c$.
# If classes are as they are drawn, their means differ by some $1/\sqrt n$. In very deep networks this is more than
# $1/L$, which is why the largest class is predicted everywhere.
# %%
balanced = chapter.rows(studies.deep_prediction, "balanced")
drawn = chapter.rows(studies.deep_prediction, "drawn")
fig, ax = plt.subplots()
for rows, words in ((balanced, "in equal parts"), (drawn, "as drawn")):
    accuracy = rows.groupby("depth")[["accuracy", "law_accuracy"]].mean()
    (line,) = ax.plot(accuracy.accuracy, "o-", markersize=4, label=words)
    ax.plot(accuracy.law_accuracy, "--", color=line.get_color(), linewidth=1, label="closed law")
ax.set(xscale="log", ylim=(0, 1), xlabel=r"depth $L$", ylabel="accuracy on fresh images")
ax.set_title("Are the data forgotten?")
ax.legend(loc="lower left")
chapter.figure(fig, "fig-c-deep", balanced, drawn)
# %% [markdown] tags=["caption"]
# **With classes in equal parts the accuracy stops falling; with classes as drawn it ends at chance.** Accuracy of
# kernel regression at infinite time (circles) and of its closed law (dashed).
# %% [markdown]
# ## The depth that the paper prescribes is a good one
# On 500 digits the accuracy at the prescribed depth, {glue:text}`recipe-depths`, is above that of depth 30 by
# {claim}`C.Thm3-recipe-depth` ({numref}`fig-c-recipe`). Thirty layers give too large a ridge, and the recipe avoids
# this. The top is flat, so that neighbouring depths do as well.
#
# The paper prescribes the depth $L=\max_{ij}1/\sqrt{1-h(x_i\cdot x_j)}$, with the layer map $h$ of {eq}`eq:C:h`, and
# training times up to $\lceil1/\lambda_n\rceil$, with $\lambda_n$ the smallest eigenvalue of the kernel matrix. It
# calls this the "Goldilocks" zone "where the NTK is stable, yet it retains its expressivity". We round the depth up,
# and draw the digits without regard to their classes.
# %%
rows = chapter.rows(studies.recipe, "main")
prescribed = rows[rows.depth == 0]
along_depth = rows[rows.depth > 0].groupby("depth")
fig, ax = plt.subplots()
for time, words in (("accuracy", "t = ∞"), ("stopped", "t = ⌈1/λ⌉"), ("early", "t = 1")):
    score = along_depth[time].agg(["mean", "sem"])
    line = ax.errorbar(score.index, score["mean"], score["sem"], fmt="o-", markersize=4, capsize=2, label=words)
    star = {"markersize": 15, "markeredgecolor": "black", "zorder": 9}
    ax.plot(prescribed.layers.mean(), prescribed[time].mean(), "*", color=line[0].get_color(), **star)
ax.set(xlabel=r"depth $L$", ylabel="accuracy on fresh images", title="Is the prescribed depth (stars) a good one?")
plots.curve_axes(ax, score.index, errors=False)
ax.legend()
chapter.glue("recipe-depths", f"{prescribed.layers.min()} to {prescribed.layers.max()}")
chapter.figure(
    fig,
    "fig-c-recipe",
    rows,
    alt="Three curves of accuracy against depth with a flat top between three and six layers, where the stars lie, falling from "
    "eight layers on; that of the first time lies below the others.",
)
# %% [markdown] tags=["caption"]
# **The prescribed depth is near the best, and the last stopping time changes little.** Accuracy against depth at
# infinite time and at two stopping times; stars: the prescribed depth, at its mean. Bars are standard errors over draws
# of the images, which all depths share.
# %% [markdown]
# (depth-before)=
# ## What was known
# In the three phases of initialisation the deep tangent kernel and its predictor become independent of the data
# {cite}`xiao2020`. {cite}`hayou2019` have rates, which {cite}`hayou2022` characterise fully. For layers $as+b|s|$ the
# entries approach inverse cosine distances {cite}`terjek2025spectrum`. Widths are in {cite}`terjek2025concentration`
# and {cite}`hanin2020`. On skips and norms, {cite}`tian2024` say which scales of the branches cannot be learnt from,
# {cite}`doshi2023` that pre-norm networks are critical at every initialisation, and {cite}`belfer2021` when kernels get
# spiky. One number for all of them we found nowhere. But we read only an early version of {cite}`hayou2019`, and
# abstracts of the others: they may have some of our constants.
#
# ## More exercises
# **1. Nearby inputs.** Derive {eq}`eq:C:crossover` from {eq}`eq:C:recursion`. At which $u$ is half the way to 1/4 done?
#
# <details class="solution"><summary>Solution</summary>
#
# With $d\phi_L/dL=-\phi_L^2/(3\pi)$ and $\phi$ at the start, $\phi_L=\phi/(1+u)$ with $u=L\phi/(3\pi)$. Then
# $dS/dL=1-\phi_LS/\pi$ is, in $u$,
#
# $$
# \frac{dS}{du}=\frac{3\pi}\phi-\frac{3S}{1+u},\qquad\text{solved by}\qquad S=\frac{3\pi}{4\phi}\bigl[(1+u)-(1+u)^{-3}\bigr],\quad S(0)=0 ,
# $$
#
# and $\bar\Theta=S/L=\phi S/(3\pi u)$. Half of the way is $F=\frac58$: $(1+u)-(1+u)^{-3}=\frac52u$ at $u=0.4463$.
#
# </details>
